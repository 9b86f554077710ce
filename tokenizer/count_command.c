/* The command `tokenize count`: the words of texts, to learn a vocabulary from. */
#include "tokenizer/tokenize_commands.h"

#include "common/files/file.h"
#include "common/program/tool.h"
#include "tokenizer/counting.h"
#include "tokenizer/input/source.h"
#include "tokenizer/learn/word_file.h"

struct count {
    struct counting_options counting;
    const char *output_path;
};

static const struct count defaults = { { .memory_bytes = COUNTING_MEMORY }, "-" };

#define AT(member) offsetof(struct count, member)
static const struct opt options[] = {
    { 'o', "output", OPT_TEXT, AT(output_path), "FILE", "output file; - is standard output" },
    { 0, "model", OPT_CHOICE | COUNTING_NEW, AT(counting.model), "bpe|wordpiece|unigram",
      "kind of vocabulary that will be learned" },
    { 0, "units", OPT_CHOICE | COUNTING_NEW, AT(counting.units), "bytes|characters",
      "BPE: tokens will be built from bytes or from characters" },
    { 0, "pattern", OPT_CHOICE | COUNTING_NEW, AT(counting.pattern), TOKENIZER_PATTERNS,
      "BPE of bytes: split text as this encoding does; auto: as gpt2" },
    { 0, "from", OPT_TEXT, AT(counting.from), "PATH",
      "this vocabulary will be extended: split words as it does" },
    { 0, "case", OPT_CHOICE | COUNTING_NEW, AT(counting.letters), "auto|uncased|cased",
      "WordPiece: keep upper case (cased) or lower it (uncased); auto: uncased" },
    { 0, "counts", OPT_FLAG, AT(counting.counted), NULL,
      "the input is files that tokenize count wrote: add them up" },
    { 0, "format", OPT_CHOICE | COUNTING_TEXT, AT(counting.source.format), SOURCE_FORMATS,
      SOURCE_FORMAT_HELP },
    { 0, "field", OPT_TEXT | COUNTING_TEXT, AT(counting.source.fields), "KEY[,KEY]",
      SOURCE_FIELD_HELP },
    { 0, "memory", OPT_SIZE, AT(counting.memory_bytes), "SIZE",
      "memory for counting words; more words go to temporary files", 1 << 16, 1e15 },
    { 0, "temporary-folder", OPT_TEXT, AT(counting.temporary_folder), "DIR",
      "folder for temporary files; default: $TMPDIR or /var/tmp" },
    { 0 },
};

static int write_counts(const struct count *given, struct output *out, const struct tokenizer *t,
                        struct counting_tables *counted)
{
    SCOPED(buf) rules = BUF_INIT;
    uint64_t words;
    counting_rules(&given->counting, t, &rules);
    const int result = word_file_write(out, rules.data, counted->tables, counted->count, &words);
    if (!result)
        tool_count("different word(s)", words);
    return result;
}

static int run(int argc, char **argv, void *options_given)
{
    struct count *given = options_given;
    SCOPED_BY(counting_release) struct counting_tables counted = { 0 };
    struct output out;
    given->counting.source.output = given->output_path;
    if (counting_check(&given->counting) < 0 ||
        tool_may_replace(given->output_path, NULL, NULL) < 0 ||
        (!strcmp(given->output_path, "-") && tool_binary_stdout() < 0))
        return -1;
    SCOPED_TOKENIZER t = counting_tokenizer(&given->counting);
    if (!t || output_open(&out, given->output_path) < 0)
        return -1;
    return output_end(&out, counting_run(&given->counting, &counted, t, argc, argv) < 0
                                ? -1
                                : write_counts(given, &out, t, &counted));
}

const struct tool_command count_command = {
    .name = "count",
    .args = "[FILE...]",
    .summary = "Count the words of text, to learn a vocabulary from.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run,
};
