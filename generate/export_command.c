#include "generate/export_command.h"

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/formats/gguf.h"
#include "generate/export_vocabulary.h"
#include "model/compute/stored.h"
#include "model/folder/folder.h"
#include "model/folder/gguf_export.h"
#include "tokenizer/chat.h"
#include "tokenizer/tokenizer.h"

struct exporting {
    const char *model_dir, *vocab, *output;
    int format, weights, verify;
    struct tokenizer *tokenizer;
};

enum { GGUF, MAPPED }; /* values of --format */

static const struct exporting defaults = { .model_dir = "model", .verify = 1 };

/* Adds the tokens that end a text by the model's own files, beside the tokenizer's end-of-text.
 * GGUF has names for two. */
static int add_ends(const struct exporting *e, struct gguf_writer *w, int64_t vocabulary)
{
    static const char *const keys[] = { "tokenizer.ggml.eot_token_id",
                                        "tokenizer.ggml.eom_token_id" };
    SCOPED(ids) ends = { 0 };
    int result = folder_ends(&ends, NULL, e->model_dir);
    for (size_t i = 0, used = 0; i < ends.count && !result; i++) {
        const int64_t id = ends.data[i];
        if (id == tokenizer_end_of_text(e->tokenizer) || id >= vocabulary)
            continue;
        if (used < 2)
            gguf_add_u32(w, keys[used++], (uint32_t)id);
        else
            log_warn("token %lld ends a text, too, but the file has no key for it", (long long)id);
    }
    return result;
}

static int add_tokenizer(void *ctx, struct gguf_writer *w, int64_t vocabulary)
{
    const struct exporting *e = ctx;
    const char *doubt, *dir = e->vocab ? e->vocab : e->model_dir;
    SCOPED(buf) chat = BUF_INIT, from = BUF_INIT;
    if (export_vocabulary(w, e->tokenizer, vocabulary, &doubt) < 0 ||
        add_ends(e, w, vocabulary) < 0 || chat_template(&chat, &from, dir) < 0)
        return -1;
    if (chat.len) /* without it llama.cpp would take another model's */
        gguf_add_text(w, "tokenizer.chat_template", chat.data, chat.len);
    if (doubt && e->format == GGUF)
        log_warn("%s", doubt);
    return 0;
}

static int run(int, char **, void *options_given)
{
    struct exporting *e = options_given;
    if (!e->output)
        return err_usage("no output: give --output FILE");
    if (!gguf_is(e->output))
        return err_usage("--output '%s' must end in .gguf", e->output);
    if (tool_may_replace(e->output, NULL, "model") < 0 || folder_check(e->model_dir) < 0)
        return -1;
    e->tokenizer = tokenizer_load(e->vocab ? e->vocab : e->model_dir);
    const struct gguf_export how = { stored_type(e->weights), e->format == MAPPED,
                                     (int)tool_threads, add_tokenizer, e };
    int result = !e->tokenizer || (e->verify && folder_verify(e->model_dir, 0, 1) < 0)
                     ? -1
                     : gguf_export(e->model_dir, e->output, &how);
    tokenizer_free(e->tokenizer);
    return result;
}

#define AT(member) offsetof(struct exporting, member)

static const struct opt options[] = {
    { 'm', "model", OPT_TEXT, AT(model_dir), "DIR", "model folder" },
    { 0, "vocab", OPT_TEXT, AT(vocab), "PATH", "tokenizer, if it is not in the model folder" },
    { 'o', "output", OPT_TEXT, AT(output), "FILE", "file to write, NAME.gguf" },
    { 0, "format", OPT_CHOICE, AT(format), "gguf|mapped",
      "form of the file: for all programs, or for textmill alone, which uses it as it is" },
    { 0, "weights", OPT_CHOICE, AT(weights), STORED_WORDS, "type of the weights in the file" },
    { 0, "verify", OPT_FLAG, AT(verify), NULL,
      "check the model's weights against the checksums that are stored with them" },
    { 0 },
};

const struct tool_command export_command = {
    .name = "export",
    .args = "",
    .summary = "Write a model and its tokenizer as a GGUF file, which llama.cpp reads.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_FORCE,
    .run = run,
};
