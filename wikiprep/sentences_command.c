/* The command `wikiprep sentences`: splits texts into sentences. */
#include "wikiprep/wikiprep_commands.h"

#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/packed.h"
#include "common/formats/kinds.h"
#include "common/program/tool.h"
#include "unicode/whitespace.h"
#include "wikiprep/sentences/sentence.h"
#include "wikiprep/sentences/sentence_train.h"
#include "wikiprep/site/language.h"

struct sentences {
    const char *language, *model_path, *train_path;
};

static const struct sentences defaults = { .language = "en" };

#define AT(member) offsetof(struct sentences, member)
static const struct opt options[] = {
    { 0, "language", OPT_TEXT, AT(language), "CODE", "language code of the text" },
    { 0, "sentence-model", OPT_TEXT, AT(model_path), "FILE",
      "more abbreviations and sentence openers for this language" },
    { 0, "train-sentences", OPT_TEXT, AT(train_path), "FILE",
      "write no text; learn a --sentence-model from the input into FILE" },
    { 0 },
};

/* Reads a file line by line. Adds each line to the trainer, or, without one, writes the line's
 * sentences and a blank line to `out`. Returns 0, or -1 with an error. */
static int read_paragraphs(const char *path, const struct sentence_model *m,
                           struct sentence_trainer *t, struct output *out)
{
    struct packed packed;
    struct input in;
    SCOPED(buf) split = BUF_INIT;
    char *line;
    size_t n, lines = 0, odd = 0;
    int got = 0;
    if (packed_open(&packed, &in, path) < 0)
        return -1;
    while (!got && (got = input_line(&in, &line, &n)) > 0) {
        if (!lines && kinds_check(in.path, line, n) < 0) {
            got = -1;
            break;
        }
        const size_t mark = lines++ ? 0 : utf8_mark(line, n);
        line += mark, n -= mark;
        n -= n && line[n - 1] == '\r';
        odd += utf8_valid(line, n) < n;
        tool_count("paragraph(s)", whitespace_strip(line, n).n > 0);
        got = 0;
        if (t) {
            sentence_trainer_add(t, line, n);
            continue;
        }
        buf_clear(&split);
        sentence_split(m, &split, line, n);
        if (split.len)
            buf_addc(&split, '\n');
        got = output_write(out, split.data, split.len);
    }
    if (odd)
        log_warn("%s: lines in another encoding than UTF-8: %zu of %zu; iconv makes UTF-8 of it",
                 in.path, odd, lines);
    packed_close(&packed, &in);
    return got;
}

static int run(int argc, char **argv, void *options_given)
{
    const struct sentences *given = options_given;
    struct output out = { 0 };
    if (given->train_path && (given->model_path || tool_given("language")))
        return err_usage("--train-sentences cannot be used with --sentence-model or --language: it "
                         "learns from the text alone");
    if (given->train_path && tool_may_replace(given->train_path, NULL, NULL) < 0)
        return -1;
    if (!given->train_path && !language_has_data(given->language, strcspn(given->language, "-")))
        log_warn("no data for the language '%s': sentences end by the rules of all languages",
                 given->language);
    struct sentence_model *m = sentence_model_new(given->language);
    struct sentence_trainer *t = given->train_path ? sentence_trainer_new() : NULL;
    int result = given->model_path ? sentence_model_read(m, given->model_path) : 0;
    if (!result && !t)
        result = output_open(&out, "-");
    for (int i = 0; i < argc + !argc && !result; i++)
        result = read_paragraphs(argc ? argv[i] : "-", m, t, &out);
    if (t)
        result = result ? result : sentence_trainer_write(t, given->train_path);
    else
        result = output_end(&out, result);
    sentence_model_free(m);
    sentence_trainer_free(t);
    return result;
}

const struct tool_command sentences_command = {
    .name = "sentences",
    .args = "[FILE...]",
    .summary = "Split plain text, a paragraph a line, into sentences.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_FORCE,
    .run = run,
};
