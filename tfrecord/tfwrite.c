/*
 * tfwrite - token streams to training data: TFRecord shards of the layouts gpt, bert,
 * bert-tf1 and bert-packed, or a Megatron pair; also index,
 * index-map, verify, repair and show for such files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/compress.h"
#include "common/crc32c.h"
#include "common/err.h"
#include "common/file.h"
#include "common/log.h"
#include "common/tool.h"
#include "tfrecord/check/listing.h"
#include "tfrecord/check/repair.h"
#include "tfrecord/check/verify.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/manifest.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/record_file.h"
#include "tfrecord/layouts/bert_shards.h"
#include "tfrecord/layouts/indexmap.h"
#include "tfrecord/layouts/intake.h"
#include "tfrecord/publish/shard_folder.h"
#include "tfrecord/publish/stage.h"

enum layout { LAYOUT_GPT, LAYOUT_BERT, LAYOUT_BERT_TF1, LAYOUT_BERT_PACKED, LAYOUT_MEGATRON };
enum remainder { REMAINDER_DROP, REMAINDER_PAD };

static const char *output;
static int layout, remainder_kind, compression, resume, append_eod = 1, shuffle = 1, allow_empty;
static int64_t sequence_length = 128, stride, shards = 4, seed = -1;
static double validation;
static int64_t mask_tokens = 20, duplication = 5, group;
static double mlm_probability = 0.15, short_probability = 0.1;
static const char *whole_words;

static uint64_t seed_or(uint64_t usual)
{
    return seed < 0 ? usual : (uint64_t)seed;
}

/* ---- a folder of shards ------------------------------------------------------------------- */

static const char *const layout_names[] = { "gpt", "bert", "bert-tf1", "bert-packed", "megatron" };

static struct shard_folder make_folder(void)
{
    return (struct shard_folder){
        .dir = output,
        .force = tool_force,
        .resume = resume,
        .provenance = tool_provenance(),
        .watch = { progress_begin, progress_end },
    };
}

static int run_gpt(struct intake *s)
{
    struct shard_folder f = make_folder();
    struct windows w = {
        .sequence_length = (uint32_t)sequence_length,
        .stride = (uint64_t)(stride ? stride : sequence_length),
        .pad = remainder_kind == REMAINDER_PAD,
        .keep_order = !shuffle,
        .group = group == OPT_WORD ? WINDOWS_ALL : (uint64_t)group,
        .validation = validation,
        .end_of_text = s->end_of_text,
        .seed = seed_or(1234),
        .shards = (uint32_t)shards,
        .compression = (enum compression)compression,
        .resume = resume,
        .allow_empty = allow_empty,
        .threads = (int)tool_threads,
        .written = progress_to,
    };
    uint64_t records;
    int result = shard_folder_gpt(&f, s, &w, &records);
    tool_count("records", records);
    return result;
}

static int run_bert(struct intake *s)
{
    struct shard_folder f = make_folder();
    struct bert_shards b = {
        .layout = (enum bert_layout)(layout - LAYOUT_BERT),
        .recipe = { .sequence_length = (uint32_t)sequence_length,
                    .mask_tokens = (uint32_t)mask_tokens,
                    .passes = (uint32_t)duplication,
                    .mlm = mlm_probability,
                    .short_sequence = short_probability,
                    .seed = seed_or(1984) },
        .words = whole_words,
        .group = group == OPT_WORD ? 0 : (uint64_t)group, /* 0: all, too */
        .shards = (uint32_t)shards,
        .compression = (enum compression)compression,
        .resume = resume,
        .allow_empty = allow_empty,
        .threads = (int)tool_threads,
        .written = progress_to,
    };
    int result = shard_folder_bert(&f, s, &b);
    if (!result && b.records && b.layout == BERT_PACKED)
        log_info("%" PRIu64 " sequences in %" PRIu64
                 " rows: %.4f per row, %.2f%% of the positions used",
                 b.sequences, b.records, (double)b.sequences / (double)b.records,
                 100 * bert_shards_efficiency(&b));
    if (!result && b.single)
        log_warn("%" PRIu64 " of %" PRIu64
                 " documents have only one sentence: they teach nothing about "
                 "which sentence follows",
                 b.single, b.documents);
    tool_count("records", b.records);
    return result;
}

/* ---- layout megatron ---------------------------------------------------------------------- */

/* One sequence a sentence, or one a document; end-of-text belongs to the last. */
static int add_document(struct megatron_writer *w, struct intake *s)
{
    size_t begin = 0, n = s->count;
    for (size_t i = 0; i < s->sentences; i++) {
        size_t end = s->sentence_ends[i];
        if (end >= n)
            break; /* the last one takes what is left */
        if (end > begin && megatron_add(w, s->ids + begin, end - begin) < 0)
            return -1;
        begin = end;
    }
    if (append_eod)
        s->ids[n++] = (uint32_t)s->end_of_text;
    if (megatron_add(w, s->ids + begin, n - begin) < 0)
        return -1;
    megatron_end_document(w);
    return 0;
}

static int write_megatron(struct intake *s, struct megatron_writer *w, const char *dir,
                          const char *name)
{
    int result;
    progress_begin("documents", 0);
    for (; (result = intake_next(s)) > 0; progress_to(s->documents))
        if (add_document(w, s) < 0)
            return -1;
    progress_end();
    if (!result && !s->documents)
        result = err_set("%s: no documents", s->in.path);
    if (result < 0 || megatron_finish(w) < 0)
        return -1;
    struct kv m = KV_INIT;
    kv_add(&m, "layout", "megatron");
    kv_addf(&m, "documents", "%" PRIu64, s->documents);
    kv_addf(&m, "tokens", "%" PRIu64, w->bin.bytes / (uint64_t)w->width);
    kv_addf(&m, "records", "%zu", w->sequences);
    intake_describe(s, &m);
    manifest_add_shard(&m, &w->bin);
    manifest_add_shard(&m, &w->idx);
    struct buf path = BUF_INIT, tokenizer = BUF_INIT;
    buf_addf(&tokenizer, "%s.tokenizer.json", name);
    result = manifest_add_tokenizer(&m, dir, tokenizer.data, &s->stream.tokenizer);
    intake_provenance(s, &m, tool_provenance());
    buf_addf(&path, "%s/%s.manifest", dir, name);
    if (!result)
        result = manifest_write(&m, path.data);
    buf_release(&path);
    buf_release(&tokenizer);
    kv_release(&m);
    tool_count("sequences", w->sequences);
    return result;
}

static int check_pair(const char *prefix)
{
    static const char *const endings[] = { ".bin", ".idx", ".tokenizer.json", ".manifest" };
    struct buf path = BUF_INIT;
    int result = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !result; i++) {
        buf_clear(&path);
        buf_addf(&path, "%s%s", prefix, endings[i]);
        result = tool_may_replace(path.data, NULL, NULL);
    }
    buf_release(&path);
    return result;
}

/* An index by itself must not stand beside another's tokens, not for a moment. */
static int publish_megatron(struct stage *stage, const char *manifest)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s.idx", output);
    int result = stage_forget(stage->dir, manifest);
    if (!result)
        result = file_remove_tree(path.data);
    if (!result)
        result = stage_publish(stage, "", manifest);
    buf_release(&path);
    return result;
}

static int run_megatron(struct intake *s)
{
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    struct buf dir = BUF_INIT, manifest = BUF_INIT;
    struct megatron_writer w = { .bytes = BUF_INIT };
    struct stage stage;
    enum file_kind kind;
    if (file_look(output, &kind) < 0)
        return -1;
    if (!*name || kind == FILE_FOLDER)
        return err_usage("--output %s is a folder; the megatron layout needs a prefix, such as %s",
                         output, "data/corpus");
    if (append_eod && intake_want_end_of_text(s, "--append-eod") < 0)
        return -1;
    buf_add(&dir, output, (size_t)(name - output));
    buf_addf(&manifest, "%s.manifest", name);
    int result = stage_open(&stage, dir.len ? dir.data : ".", name);
    if (!result) {
        result = check_pair(output);
        if (!result)
            result = megatron_create(&w, stage.work, name, s->stream.vocabulary);
        if (!result)
            result = write_megatron(s, &w, stage.work, name);
        if (!result)
            result = publish_megatron(&stage, manifest.data);
        megatron_release(&w);
        stage_close(&stage, result < 0);
    }
    buf_release(&dir);
    buf_release(&manifest);
    return result;
}

/* ---- commands ----------------------------------------------------------------------------- */

/* Which layouts an option goes with, a bit each; what others would ignore is an error. */
enum {
    FOR_GPT = 1 << LAYOUT_GPT,
    FOR_BERT = 1 << LAYOUT_BERT | 1 << LAYOUT_BERT_TF1 | 1 << LAYOUT_BERT_PACKED,
    FOR_MEGATRON = 1 << LAYOUT_MEGATRON,
};
static const struct {
    const char *option;
    unsigned layouts;
} goes_with[] = {
    { "sequence-length", FOR_GPT | FOR_BERT },
    { "stride", FOR_GPT },
    { "shards", FOR_GPT | FOR_BERT },
    { "compression", FOR_GPT | FOR_BERT },
    { "resume", FOR_GPT | FOR_BERT },
    { "allow-empty", FOR_GPT | FOR_BERT },
    { "remainder", FOR_GPT },
    { "shuffle", FOR_GPT },
    { "validation", FOR_GPT },
    { "seed", FOR_GPT | FOR_BERT },
    { "mask-tokens", FOR_BERT },
    { "mlm-probability", FOR_BERT },
    { "short-sequence-probability", FOR_BERT },
    { "duplication-factor", FOR_BERT },
    { "whole-word-masking", FOR_BERT },
    { "group", FOR_GPT | FOR_BERT },
    { "append-eod", FOR_MEGATRON },
};

static int check_options(void)
{
    if (!output)
        return err_usage("--output is missing: name a folder, or a prefix with --layout megatron");
    for (size_t i = 0; i < sizeof goes_with / sizeof *goes_with; i++)
        if (tool_given(goes_with[i].option) && !(goes_with[i].layouts >> layout & 1))
            return err_usage("--%s cannot be used with --layout %s", goes_with[i].option,
                             layout_names[layout]);
    if (!(FOR_BERT >> layout & 1))
        return 0;
    if (sequence_length < 5 || mask_tokens > sequence_length - 3)
        return err_usage("--sequence-length %" PRId64
                         " is too short: it must be at least 5, and at least "
                         "--mask-tokens + 3",
                         sequence_length);
    if (layout == LAYOUT_BERT_TF1 && whole_words)
        return err_usage("--whole-word-masking cannot be used with --layout bert-tf1, which needs "
                         "exactly --mask-tokens masked tokens in full sequences");
    return 0;
}

static int run_write(int argc, char **argv)
{
    struct intake s;
    const char *path = argc ? argv[0] : "-";
    if (check_options() < 0 || (!strcmp(path, "-") && tool_binary_stdin() < 0) ||
        intake_open(&s, path) < 0)
        return -1;
    int result = layout == LAYOUT_MEGATRON ? run_megatron(&s)
                 : layout == LAYOUT_GPT    ? run_gpt(&s)
                                           : run_bert(&s);
    tool_count("documents", s.documents);
    tool_count("tokens", s.tokens);
    intake_close(&s);
    return result;
}

static int index_file(const char *path, const char *to)
{
    struct record_file f;
    struct record_index index = { 0 };
    if (record_file_open(&f, path) < 0)
        return -1;
    int result = f.how == COMPRESS_NONE
                     ? index_scan(&index, &f.records, path, 1)
                     : err_set("%s: is compressed (%s), so it cannot have an index: decompress it "
                               "first",
                               path, compress_name(f.how));
    if (!result)
        result = index_write(&index, f.records.bytes, to);
    tool_count("records", index.count);
    tool_count("bytes", f.records.bytes);
    index_release(&index);
    record_file_close(&f);
    return result;
}

static int run_index(int argc, char **argv)
{
    struct buf path = BUF_INIT;
    int result = 0;
    if (output && argc > 1)
        return err_usage("--output needs exactly one FILE");
    for (int i = 0; i < argc && !result; i++) {
        index_path(&path, argv[i]);
        const char *to = output ? output : path.data;
        result = tool_may_replace(to, NULL, NULL) < 0 ? -1 : index_file(argv[i], to);
    }
    buf_release(&path);
    return result;
}

static void print_good(const char *line)
{
    puts(line);
}

static void print_bad(const char *error)
{
    fflush(stdout);
    log_error("%s", error);
}

static int run_verify(int argc, char **argv)
{
    struct verify v = { .good = print_good, .bad = print_bad };
    for (int i = 0; i < argc; i++)
        verify_path(&v, argv[i]);
    tool_count("files", v.files);
    tool_count("bytes", v.bytes);
    return v.failed ? err_set("%" PRIu64 " of %" PRIu64 " files are bad", v.failed, v.files) : 0;
}

static int run_repair(int argc, char **argv)
{
    struct repair r = { .told = print_bad };
    (void)argc;
    if (!output)
        return err_usage("--output is missing: name a file for the good records");
    if (tool_may_replace(output, NULL, NULL) < 0 || repair_file(&r, argv[0], output) < 0)
        return -1;
    printf("%s: %" PRIu64 " records of %s, without %" PRIu64 " bad ones of %" PRIu64 " bytes\n",
           output, r.good, argv[0], r.bad, r.lost_bytes);
    tool_count("records", r.good);
    return 0;
}

static int64_t samples, epochs, map_seed = 1234, map_length = 1024;
static const char *split;
static int part, wide, split_rule;

static int may_replace_maps(const char *name)
{
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s_doc_idx.npy", name);
    int result = tool_may_replace(path.data, NULL, NULL);
    buf_release(&path);
    return result;
}

static int write_maps(const char *prefix)
{
    struct indexmap x = { .sequence_length = (uint32_t)map_length,
                          .seed = (uint32_t)map_seed,
                          .samples = (uint64_t)samples,
                          .epochs = (uint64_t)epochs,
                          .wide = wide };
    struct megatron m;
    struct buf name = BUF_INIT;
    const char *shares = split ? split : samples ? "969,30,1" : "997,3,0";
    if (megatron_open_index(&m, prefix) < 0)
        return -1;
    if (output)
        buf_adds(&name, output);
    else
        indexmap_name(&name, &x, prefix, part);
    enum indexmap_rule rule = samples ? (enum indexmap_rule)split_rule : INDEXMAP_CUT;
    int result = may_replace_maps(name.data);
    if (!result)
        result = indexmap_split(&x, m.sequences, shares, part, rule);
    if (!result)
        result = indexmap_write(&x, &m, name.data);
    if (!result)
        printf("%s: %" PRIu64 " samples, %" PRIu64 " epochs of %" PRIu64 " documents%s\n",
               name.data, x.made, x.epochs, x.end - x.first, x.apart ? ", the last apart" : "");
    tool_count("samples", x.made);
    buf_release(&name);
    megatron_close(&m);
    return result;
}

static int run_index_map(int argc, char **argv)
{
    struct buf prefix = BUF_INIT;
    (void)argc;
    if (!samples == !epochs)
        return err_usage("give either --samples or --epochs");
    if (epochs && tool_given("split-rule"))
        return err_usage("--split-rule needs --samples");
    int result = megatron_prefix(&prefix, argv[0]) < 0 ? -1 : write_maps(prefix.data);
    buf_release(&prefix);
    return result;
}

static int64_t limit;

static int run_show(int argc, char **argv)
{
    struct buf prefix = BUF_INIT;
    struct output out;
    uint64_t shown = 0;
    (void)argc;
    int pair = megatron_prefix(&prefix, argv[0]), result = pair < 0 ? -1 : output_open(&out, "-");
    if (!result)
        result = pair ? listing_sequences(prefix.data, (uint64_t)limit, &out, &shown)
                      : listing_records(argv[0], (uint64_t)limit, &out, &shown);
    /* what came before an error is shown too */
    struct err why = err_keep();
    if (pair >= 0 && output_close(&out) < 0 && !result)
        result = -1;
    else if (result < 0)
        err_restore(&why);
    tool_count(pair ? "sequences" : "records", shown);
    buf_release(&prefix);
    return result;
}

/* ---- tables ------------------------------------------------------------------------------- */

static const struct opt write_options[] = {
    { 'o', "output", OPT_TEXT, &output, "DIR",
      "output folder for the shards; with --layout megatron a prefix "
      "of file names",
      0, 0 },
    { 0, "layout", OPT_CHOICE, &layout, "gpt|bert|bert-tf1|bert-packed|megatron",
      "kind of records to write", 0, 0 },
    { .help = "Layouts other than megatron:" },
    { 0, "resume", OPT_FLAG, &resume, NULL,
      "continue an interrupted run; the result is the same, byte for "
      "byte",
      0, 0 },
    { 0, "allow-empty", OPT_FLAG, &allow_empty, NULL,
      "if no record can be made, write a finished set without records", 0, 0 },
    { 0, "sequence-length", OPT_INT, &sequence_length, "N",
      "tokens per sequence; gpt records hold one more, the last label", 1, 1 << 24 },
    { 0, "shards", OPT_INT, &shards, "N", "number of shard files to write", 1, 99999 },
    { 0, "compression", OPT_CHOICE, &compression, "none|gzip|zlib|zstd", "compress each shard file",
      0, 0 },
    { 0, "seed", OPT_INT, &seed, "N",
      "seed of all random choices; -1: 1234 for gpt, 1984 for bert "
      "layouts",
      -1, 9e15 },
    { 0, "group", OPT_INT, &group, "N|all",
      "documents to shuffle at a time; 0: a million tokens' worth "
      "for gpt, all for bert layouts",
      0, 4e9 },
    { .help = "Layout gpt:" },
    { 0, "stride", OPT_INT, &stride, "N",
      "gpt: tokens from the start of one record to the next; 0: the "
      "sequence length",
      0, 1e15 },
    { 0, "remainder", OPT_CHOICE, &remainder_kind, "drop|pad",
      "gpt: drop a last record that is too short, or pad it with "
      "end-of-text",
      0, 0 },
    { 0, "shuffle", OPT_FLAG, &shuffle, NULL,
      "gpt: shuffle documents and records; --no-shuffle keeps their "
      "order",
      0, 0 },
    { 0, "validation", OPT_REAL, &validation, "SHARE",
      "gpt: share of the tokens to hold out in DIR/validation", 0, 0.9 },
    { .help = "Layouts bert, bert-tf1, bert-packed:" },
    { 0, "mask-tokens", OPT_INT, &mask_tokens, "N",
      "bert: maximum number of masked tokens per sequence", 1, 1 << 24 },
    { 0, "mlm-probability", OPT_REAL, &mlm_probability, "P", "bert: share of tokens to mask", 0,
      1 },
    { 0, "short-sequence-probability", OPT_REAL, &short_probability, "P",
      "bert: share of documents to cut into shorter sequences", 0, 1 },
    { 0, "duplication-factor", OPT_INT, &duplication, "N",
      "bert: passes over the documents, each with other masks", 1, 1000 },
    { 0, "whole-word-masking", OPT_TEXT, &whole_words, "FILE",
      "bert: mask whole words; FILE is the vocabulary, vocab.txt", 0, 0 },
    { .help = "Layout megatron:" },
    { 0, "append-eod", OPT_FLAG, &append_eod, NULL, "megatron: end each document with end-of-text",
      0, 0 },
    { 0 },
};
static const struct opt index_options[] = {
    { 'o', "output", OPT_TEXT, &output, "FILE",
      "output file, with one input FILE; - is standard output", 0, 0 },
    { 0 },
};
static const struct opt index_map_options[] = {
    { 'o', "output", OPT_TEXT, &output, "NAME", "prefix of the names of the index-map files (.npy)",
      0, 0 },
    { 0, "samples", OPT_INT, &samples, "N", "number of samples in the index maps; 0: use --epochs",
      0, 4e9 },
    { 0, "epochs", OPT_INT, &epochs, "N", "number of epochs in the index maps; 0: use --samples", 0,
      1e9 },
    { 0, "sequence-length", OPT_INT, &map_length, "N",
      "tokens per sequence; gpt records hold one more, the last label", 1, 1 << 24 },
    { 0, "seed", OPT_INT, &map_seed, "N",
      "seed of all random choices; -1: 1234 for gpt, 1984 for bert "
      "layouts",
      0, UINT32_MAX },
    { 0, "split", OPT_TEXT, &split, "A,B,C", "shares of training, validation and test parts", 0,
      0 },
    { 0, "split-rule", OPT_CHOICE, &split_rule, "core|older",
      "how the bounds of the parts are rounded: as Megatron Core "
      "does, or as older versions did",
      0, 0 },
    { 0, "part", OPT_CHOICE, &part, "train|valid|test", "part of the data to write index maps for",
      0, 0 },
    { 0, "wide", OPT_FLAG, &wide, NULL,
      "write sample_idx with 64-bit numbers, as some Megatron "
      "versions do",
      0, 0 },
    { 0 },
};
static const struct opt repair_options[] = {
    { 'o', "output", OPT_TEXT, &output, "FILE", "output file for the good records", 0, 0 },
    { 0 },
};
static const struct opt show_options[] = {
    { 'n', "limit", OPT_INT, &limit, "N", "maximum number of records to print; 0: all", 0, 9e15 },
    { 0 },
};

static const struct tool_command commands[] = {
    { NULL, "[FILE]", "Write a token stream as training data.", write_options,
      TOOL_THREADS | TOOL_CONFIG | TOOL_PROGRESS | TOOL_FORCE, 0, 1, run_write },
    { "index", "FILE...", "Write the index of TFRecord files, as tfrecord2idx does.", index_options,
      TOOL_FORCE, 1, -1, run_index },
    { "index-map", "PREFIX", "Write the index maps of a Megatron pair.", index_map_options,
      TOOL_FORCE, 1, 1, run_index_map },
    { "verify", "FILE|DIR...", "Check checksums, indexes and manifests.", NULL, 0, 1, -1,
      run_verify },
    { "repair", "FILE", "Write the good records of a damaged TFRecord file.", repair_options,
      TOOL_FORCE, 1, 1, run_repair },
    { "show", "FILE", "Print records as JSON lines.", show_options, 0, 1, 1, run_show },
    { 0 },
};

static const char *detail(void)
{
    static char text[64];
    snprintf(text, sizeof text, "crc32c: %s", crc32c_path());
    return text;
}

/* Options of other programs. */
static const char *foreign(const char *option)
{
    static const struct opt_foreign table[] = {
        { "input-file", "the token stream is an operand" },
        { "output-file", "give --output" },
        { "vocab-file", "the token stream carries its vocabulary: tokenize --vocab" },
        { "do-lower-case", "words are made before: tokenize --case uncased" },
        { "mlm-prob", "give --mlm-probability" },
        { "short-seq-prob", "give --short-sequence-probability" },
        { "max-seq-length", "give --sequence-length" },
        { "max-predictions-per-seq", "give --mask-tokens" },
        { "dupe-factor", "give --duplication-factor" },
        { "do-whole-word-mask", "give --whole-word-masking" },
        { 0 },
    };
    return opt_foreign(table, option);
}

static const struct tool tool = {
    .foreign = foreign,
    .name = "tfwrite",
    .examples = "  wikiprep dump.xml.bz2 | tokenize --vocab gpt2 | tfwrite -o shards\n"
                "  tfwrite --layout megatron -o corpus corpus.tokens\n"
                "  tfwrite verify shards\n",
    .commands = commands,
    .version_detail = detail,
};

int main(int argc, char **argv)
{
    return tool_main(&tool, argc, argv);
}
