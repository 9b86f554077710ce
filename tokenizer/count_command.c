#include "tokenizer/count_command.h"

#include <string.h>

#include "common/file.h"
#include "common/tool.h"
#include "tokenizer/counting.h"
#include "tokenizer/input/source.h"
#include "tokenizer/learn/word_file.h"

static const char *output_path = "-";

const struct opt count_command_options[] = {
    { 'o', "output", OPT_TEXT, &output_path, "FILE", "output file; - is standard output", 0, 0 },
    { 0, "model", OPT_CHOICE, &counting_options.model, "bpe|wordpiece",
      "kind of vocabulary that will be learned", 0, 0 },
    { 0, "units", OPT_CHOICE, &counting_options.units, "bytes|characters",
      "BPE: tokens will be built from bytes or from characters", 0, 0 },
    { 0, "from", OPT_TEXT, &counting_options.from, "PATH",
      "this vocabulary will be extended: split words as it does", 0, 0 },
    { 0, "case", OPT_CHOICE, &counting_options.letters, "auto|uncased|cased",
      "WordPiece: keep upper case (cased) or lower it (uncased); auto: uncased", 0, 0 },
    { 0, "counts", OPT_FLAG, &counting_options.counted, NULL,
      "the input is files that tokenize count wrote: add them up", 0, 0 },
    { 0, "format", OPT_CHOICE, &counting_options.format, SOURCE_FORMATS,
      "format of the input; auto detects documents, JSON lines or plain text", 0, 0 },
    { 0, "field", OPT_TEXT, &counting_options.fields, "KEY[,KEY]",
      "JSON lines: the strings that are a document; outer.inner names an inner one", 0, 0 },
    { 0, "memory", OPT_SIZE, &counting_options.memory_bytes, "SIZE",
      "memory for counting words; more words go to temporary files", 1 << 16, 1e15 },
    { 0, "temporary-folder", OPT_TEXT, &counting_options.temporary_folder, "DIR",
      "folder for temporary files; default: $TMPDIR or /var/tmp", 0, 0 },
    { 0 },
};

static int write_counts(const struct tokenizer *t, struct counting_tables *counted)
{
    struct buf rules = BUF_INIT;
    struct output out;
    uint64_t words;
    counting_rules(&rules, t);
    int result = output_open(&out, output_path);
    if (!result && word_file_write(&out, rules.data, counted->tables, counted->count, &words) < 0) {
        output_abandon(&out);
        result = -1;
    } else if (!result) {
        tool_count("words", words);
        result = output_close(&out);
    }
    buf_release(&rules);
    return result;
}

int count_command(int argc, char **argv)
{
    struct counting_tables counted;
    if (counting_check() < 0 || tool_may_replace(output_path, NULL, NULL) < 0 ||
        (!strcmp(output_path, "-") && tool_binary_stdout() < 0))
        return -1;
    struct tokenizer *t = counting_tokenizer();
    if (!t)
        return -1;
    int result = counting_run(&counted, t, argc, argv);
    if (!result)
        result = write_counts(t, &counted);
    counting_release(&counted);
    tokenizer_free(t);
    return result;
}
