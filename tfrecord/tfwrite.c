/*
 * tfwrite - turns token streams into training data: TFRecord shards of the layouts gpt, bert,
 * bert-tf1 and bert-packed, or a Megatron pair; also index, index-map, merge, blend, verify, repair
 * and show for such files.
 */
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/ids.h"
#include "common/base/log.h"
#include "common/base/noun.h"
#include "common/files/compress.h"
#include "common/files/file.h"
#include "common/program/tool.h"
#include "tfrecord/check/listing.h"
#include "tfrecord/check/repair.h"
#include "tfrecord/check/verify.h"
#include "tfrecord/formats/index.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/record_file.h"
#include "tfrecord/layouts/bert_shards.h"
#include "tfrecord/layouts/indexmap.h"
#include "tfrecord/layouts/intake.h"
#include "tfrecord/publish/flat_file.h"
#include "tfrecord/publish/megatron_pair.h"
#include "tfrecord/publish/merge_sets.h"
#include "tfrecord/publish/shard_folder.h"
#include "tfrecord/read/dataset.h"

enum layout {
    LAYOUT_GPT,
    LAYOUT_BERT,
    LAYOUT_BERT_TF1,
    LAYOUT_BERT_PACKED,
    LAYOUT_MEGATRON,
    LAYOUT_NANOGPT,
    LAYOUT_LLMC
};
enum remainder { REMAINDER_DROP, REMAINDER_PAD };
enum pack { PACK_NONE, PACK_BEST_FIT };

/* Values of the options for writing. */
struct tfwrite {
    const char *output, *whole_words;
    int layout, remainder, pack, compression, resume, append_eod, shuffle, allow_empty;
    int64_t sequence_length, stride, shards, seed, mask_tokens, duplication, group;
    double validation, mlm_probability, short_probability;
};

static const struct tfwrite write_defaults = {
    .append_eod = 1,
    .shuffle = 1,
    .sequence_length = 128,
    .shards = 4,
    .seed = -1,
    .mask_tokens = 20,
    .duplication = 5,
    .mlm_probability = 0.15,
    .short_probability = 0.1,
};

/* Values of the options of the other commands, each of which has some of them. */
struct others {
    const char *output, *split;
    int64_t shards, samples, epochs, seed, sequence_length, limit;
    int part, wide, split_rule;
};

static const struct others other_defaults = {
    .shards = 4,
    .seed = 1234,
    .sequence_length = 1024,
};

static int may_replace(const char *path)
{
    return tool_may_replace(path, NULL, NULL);
}

static uint64_t seed_or(const struct tfwrite *given, uint64_t usual)
{
    return given->seed < 0 ? usual : (uint64_t)given->seed;
}

/* ---- a folder of shards ------------------------------------------------------------------- */

static const char *const layout_names[] = { "gpt",      "bert",    "bert-tf1", "bert-packed",
                                            "megatron", "nanogpt", "llmc" };

static struct shard_folder make_folder(const struct tfwrite *given)
{
    return (struct shard_folder){
        .set = { .dir = given->output,
                 .count = (uint32_t)given->shards,
                 .compression = (enum compression)given->compression,
                 .resume = given->resume,
                 .allow_empty = given->allow_empty,
                 .threads = (int)tool_threads },
        .force = tool_force,
        .provenance = tool_provenance(),
    };
}

/* Warns if more than twice the wanted share is held out: a held-out document may be huge. */
static void say_held(const struct windows *w, const struct windows_part *all)
{
    const double tokens = (double)all->tokens, held = (double)all->held;
    if (held > 2 * w->validation * tokens && held > 2 * (w->sequence_length + 1.0))
        log_warn("%.1f %% of the tokens are held out for validation, not %g %%: documents are held "
                 "out whole, and one is too long for that share",
                 100 * held / tokens, 100 * w->validation);
}

static int run_gpt(const struct tfwrite *given, struct intake *s)
{
    struct shard_folder f = make_folder(given);
    struct windows w = {
        .sequence_length = (uint32_t)given->sequence_length,
        .stride = (uint64_t)(given->pack     ? 1
                             : given->stride ? given->stride
                                             : given->sequence_length),
        .pad = given->remainder == REMAINDER_PAD,
        .best_fit = given->pack == PACK_BEST_FIT,
        .keep_order = !given->shuffle,
        .group = given->group == OPT_WORD ? WINDOWS_ALL : (uint64_t)given->group,
        .validation = given->validation,
        .end_of_text = s->end_of_text | (s->masked ? IDS_UNCOUNTED : 0),
        .seed = seed_or(given, 1234),
    };
    struct windows_part all;
    int result = shard_folder_gpt(&f, s, &w, &all);
    if (!result && w.best_fit && all.records)
        log_info("%" PRIu64 " document%s in %" PRIu64
                 " row%s: %.2f%% of the places filled, %.2f%% of the documents cut",
                 all.documents, noun_end(all.documents), all.records, noun_end(all.records),
                 100 * (double)all.filled / ((double)all.records * w.sequence_length),
                 100 * (double)all.cut / (double)all.documents);
    if (!result)
        say_held(&w, &all);
    tool_count("record(s)", all.records);
    return result;
}

static int run_bert(const struct tfwrite *given, struct intake *s)
{
    struct shard_folder f = make_folder(given);
    struct bert_shards b = {
        .layout = (enum bert_layout)(given->layout - LAYOUT_BERT),
        .recipe = { .sequence_length = (uint32_t)given->sequence_length,
                    .mask_tokens = (uint32_t)given->mask_tokens,
                    .passes = (uint32_t)given->duplication,
                    .mlm = given->mlm_probability,
                    .short_sequence = given->short_probability,
                    .seed = seed_or(given, 1984) },
        .words = given->whole_words,
        .group = given->group == OPT_WORD ? 0 : (uint64_t)given->group, /* the word is "all" */
    };
    int result = shard_folder_bert(&f, s, &b);
    if (!result && b.records && b.layout == BERT_PACKED)
        log_info("%" PRIu64 " sequence%s in %" PRIu64
                 " row%s: %.4f per row, %.2f%% of the positions used",
                 b.sequences, noun_end(b.sequences), b.records, noun_end(b.records),
                 (double)b.sequences / (double)b.records, 100 * bert_shards_efficiency(&b));
    if (!result && b.single)
        log_warn("documents with only one sentence: %" PRIu64 " of %" PRIu64
                 "; such a document teaches nothing about which sentence follows",
                 b.single, b.documents);
    tool_count("record(s)", b.records);
    return result;
}

/* ---- layout megatron ---------------------------------------------------------------------- */

static int run_megatron(const struct tfwrite *given, struct intake *s)
{
    struct megatron_pair p = { .prefix = given->output,
                               .append_eod = given->append_eod,
                               .provenance = tool_provenance(),
                               .may_replace = may_replace };
    progress_begin("document(s)", 0);
    int result = megatron_pair_write(&p, s);
    progress_end();
    tool_count("sequence(s)", p.sequences);
    return result;
}

/* ---- layouts nanogpt and llmc ------------------------------------------------------------- */

static int run_flat(const struct tfwrite *given, struct intake *s)
{
    struct flat_file f = { .path = given->output, .llmc = given->layout == LAYOUT_LLMC };
    if (may_replace(given->output) < 0)
        return -1;
    progress_begin("document(s)", 0);
    int result = flat_file_write(&f, s);
    progress_end();
    return result;
}

/* ---- commands ----------------------------------------------------------------------------- */

/* Sets the output to ./shards, which must not exist unless --resume or --force is given. */
static int choose_output(struct tfwrite *given)
{
    given->output = "shards";
    if (given->layout >= LAYOUT_MEGATRON)
        return err_usage("--output is missing: name a %s",
                         given->layout == LAYOUT_MEGATRON ? "prefix of file names" : "file");
    if (given->resume || tool_force)
        return 0;
    const int there = file_look(given->output);
    return there <= 0 ? there : err_set("'shards' exists: give --output DIR for another folder");
}

static int check_options(struct tfwrite *given)
{
    if (!given->output && choose_output(given) < 0)
        return -1;
    const char *other = tool_misplaced(OPT_ONLY << given->layout);
    if (other)
        return err_usage("--%s cannot be used with --layout %s", other,
                         layout_names[given->layout]);
    if (given->pack) {
        static const char *const unused[] = { "stride", "remainder" };
        for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
            if (tool_given(unused[i]))
                return err_usage("--%s cannot be used with --pack best-fit", unused[i]);
        if (!given->shuffle)
            return err_usage("--no-shuffle cannot be used with --pack best-fit");
        if (given->group == OPT_WORD)
            return err_usage("--group all cannot be used with --pack best-fit: give --group N");
    }
    if (given->layout == LAYOUT_GPT || given->layout >= LAYOUT_MEGATRON)
        return 0;
    if (given->sequence_length < 5 || given->mask_tokens > given->sequence_length - 3)
        return err_usage("--sequence-length %" PRId64
                         " is too short: it must be at least 5, and at least --mask-tokens + 3",
                         given->sequence_length);
    if (given->layout == LAYOUT_BERT_TF1 && given->whole_words)
        return err_usage("--whole-word-masking cannot be used with --layout bert-tf1, which needs "
                         "exactly --mask-tokens masked tokens in full sequences");
    return 0;
}

static int run_write(int argc, char **argv, void *options)
{
    struct tfwrite *given = options;
    struct intake s;
    const char *path = argc ? argv[0] : "-";
    if (check_options(given) < 0 || (!strcmp(path, "-") && tool_binary_stdin() < 0) ||
        intake_open(&s, path) < 0)
        return -1;
    int result = s.masked && given->layout != LAYOUT_GPT
                     ? err_set("%s: says which tokens are labels (tokenize --chat), which layout "
                               "%s cannot keep: give --layout gpt",
                               s.in.path, layout_names[given->layout])
                 : given->layout >= LAYOUT_NANOGPT  ? run_flat(given, &s)
                 : given->layout == LAYOUT_MEGATRON ? run_megatron(given, &s)
                 : given->layout == LAYOUT_GPT      ? run_gpt(given, &s)
                                                    : run_bert(given, &s);
    tool_count("document(s)", s.documents);
    tool_count("token(s)", s.tokens);
    intake_close(&s);
    return result;
}

static int index_file(const char *path, const char *to)
{
    SCOPED_BY(record_file_close) struct record_file f = { 0 };
    SCOPED_BY(index_release) struct record_index index = { 0 };
    if (record_file_open(&f, path) < 0)
        return -1;
    int result = f.how == COMPRESS_NONE
                     ? index_scan(&index, &f.records, path, 1)
                     : err_set("%s: is compressed (%s), so it cannot have an index: decompress it "
                               "first",
                               path, compress_name(f.how));
    if (!result)
        result = index_write(&index, f.records.bytes, to);
    tool_count("record(s)", index.count);
    tool_count("byte(s)", f.records.bytes);
    return result;
}

static int run_index(int argc, char **argv, void *options)
{
    const struct others *given = options;
    int result = 0;
    if (given->output && argc > 1)
        return err_usage("--output needs exactly one FILE");
    for (int i = 0; i < argc && !result; i++) {
        SCOPED(buf) path = index_path(argv[i]);
        const char *to = given->output ? given->output : path.data;
        result = may_replace(to) < 0 ? -1 : index_file(argv[i], to);
    }
    return result;
}

static void print_bad(const char *error)
{
    fflush(stdout);
    log_error("%s", error);
}

static int run_verify(int argc, char **argv, void *)
{
    struct verify v = { .good = puts, .bad = print_bad };
    for (int i = 0; i < argc; i++)
        verify_path(&v, argv[i]);
    manifest_release(&v.beside);
    tool_count("file(s)", v.files);
    tool_count("byte(s)", v.bytes);
    return v.failed ? err_set("bad files: %" PRIu64 " of %" PRIu64, v.failed, v.files) : 0;
}

static int run_repair(int, char **argv, void *options)
{
    const struct others *given = options;
    struct repair r = { .told = print_bad };
    if (!given->output)
        return err_usage("--output is missing: name a file for the good records");
    if (!strcmp(given->output, "-"))
        return err_usage("--output -: standard output has no place for the records' index");
    /* with --force it may be repaired in its place */
    const int same = tool_force ? file_same(given->output, argv[0]) : 0;
    if (same < 0 || (!same && may_replace(given->output) < 0) ||
        repair_file(&r, argv[0], given->output) < 0)
        return -1;
    printf("%s: %" PRIu64 " record%s of %s, without %" PRIu64 " bad one%s of %" PRIu64 " byte%s\n",
           given->output, r.good, noun_end(r.good), argv[0], r.bad, noun_end(r.bad), r.lost_bytes,
           noun_end(r.lost_bytes));
    tool_count("record(s)", r.good);
    return 0;
}

/* Checks the files NAME_MAP.npy of `count` maps, as tool_may_replace does. */
static int may_replace_maps(const char *name, const char *const *maps, size_t count)
{
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        SCOPED(buf) path = buf_format("%s_%s.npy", name, maps[i]);
        result = may_replace(path.data);
    }
    return result;
}

static int write_maps(const struct others *given, const char *prefix)
{
    static const char *const maps[] = { "doc_idx", "sample_idx", "shuffle_idx" };
    struct indexmap x = { .sequence_length = (uint32_t)given->sequence_length,
                          .seed = (uint32_t)given->seed,
                          .samples = (uint64_t)given->samples,
                          .epochs = (uint64_t)given->epochs,
                          .wide = given->wide };
    SCOPED_BY(megatron_close) struct megatron m = { 0 };
    SCOPED(buf) name = BUF_INIT;
    const char *shares = given->split ? given->split : given->samples ? "969,30,1" : "997,3,0";
    if (megatron_open_index(&m, prefix) < 0)
        return -1;
    if (given->output)
        buf_adds(&name, given->output);
    else
        indexmap_name(&name, &x, prefix, given->part);
    enum indexmap_rule rule = given->samples ? (enum indexmap_rule)given->split_rule : INDEXMAP_CUT;
    if (may_replace_maps(name.data, maps, 3) < 0 ||
        indexmap_split(&x, m.sequences, shares, given->part, rule) < 0 ||
        indexmap_write(&x, &m, name.data) < 0)
        return -1;
    const uint64_t documents = x.end - x.first;
    printf("%s: %" PRIu64 " sample%s, %" PRIu64 " epoch%s of %" PRIu64 " document%s%s\n", name.data,
           x.made, noun_end(x.made), x.epochs, noun_end(x.epochs), documents, noun_end(documents),
           x.apart ? ", the last apart" : "");
    tool_count("sample(s)", x.made);
    return 0;
}

static int check_maps(const struct others *given)
{
    if (!given->samples == !given->epochs)
        return err_usage("give either --samples or --epochs");
    if (given->epochs && tool_given("split-rule"))
        return err_usage("--split-rule needs --samples");
    return 0;
}

static int run_index_map(int, char **argv, void *options)
{
    const struct others *given = options;
    SCOPED(buf) prefix = BUF_INIT;
    if (check_maps(given) < 0)
        return -1;
    return megatron_prefix(&prefix, argv[0]) < 0 ? -1 : write_maps(given, prefix.data);
}

/* Returns what merge_sets.h needs. Sets `pg` to this program's pg= line, up to and including
 * `command`, which begins with a space (" merge"). The arguments after it are left out, because
 * they are paths, and the manifest describes sets by content, not by path. */
static struct merge_sets make_merge(const struct others *given, struct buf *pg, const char *command)
{
    const char *all = tool_provenance(), *found = strstr(all, command);
    buf_set(pg, all, found ? (size_t)(found - all) + strlen(command) : strlen(all));
    return (struct merge_sets){ .output = given->output,
                                .force = tool_force,
                                .shards = (uint32_t)given->shards,
                                .provenance = pg->data,
                                .may_replace = may_replace };
}

static int run_merge(int argc, char **argv, void *options)
{
    const struct others *given = options;
    SCOPED(buf) prefix = BUF_INIT, self = BUF_INIT;
    uint64_t records = 0;
    if (!given->output)
        return err_usage("--output is missing: name a folder, or a prefix for Megatron pairs");
    int pair = megatron_prefix(&prefix, argv[0]);
    if (pair > 0 && tool_given("shards"))
        return err_usage("--shards cannot be used with Megatron pairs");
    const struct merge_sets m = make_merge(given, &self, " merge");
    int result = pair < 0
                     ? -1
                     : (pair ? merge_sets_pairs : merge_sets_folders)(&m, argv, argc, &records);
    tool_count(pair ? "pair(s)" : "set(s)", (uint64_t)argc);
    tool_count(pair ? "sequence(s)" : "record(s)", records);
    return result;
}

/* Prints how many samples the blend takes of each source (taken[i]) and, unless `of` is NULL, how
 * many epochs that is; of[i] is the number of samples of source i. */
static void print_blend(const struct blend *b, const uint64_t *taken, const uint64_t *of)
{
    for (size_t i = 0; i < b->count; i++) {
        printf("%s: weight %.6g, %" PRIu64 " sample%s", b->paths[i], b->weights[i], taken[i],
               noun_end(taken[i]));
        if (of && of[i])
            printf(", %.4f epochs", (double)taken[i] / (double)of[i]);
        putchar('\n');
    }
}

/* Sets of[i] to the number of records of source i. Returns their sum, or -1 with an error. */
static int64_t count_records(const struct blend *b, uint64_t *of)
{
    int64_t all = 0;
    for (size_t i = 0; i < b->count; i++) {
        struct dataset *d = dataset_open((const char *const *)&b->paths[i], 1, 0);
        if (!d)
            return -1;
        of[i] = dataset_count(d);
        all += (int64_t)of[i];
        dataset_close(d);
    }
    return all;
}

/* Returns 0, or -1 with an error if the output folder is one of the blend's sources. The blend must
 * not replace a source, because it may not have all of its records. */
static int is_no_source(const struct blend *b, const char *output)
{
    SCOPED_MEM char *folder = NULL;
    if (file_real_path(&folder, output) < 0)
        return -1;
    for (size_t i = 0; i < b->count && folder; i++) {
        SCOPED_MEM char *source = NULL;
        if (file_real_path(&source, b->paths[i]) < 0)
            return -1;
        if (source && !strcmp(source, folder))
            return err_set("'%s' is a source of the blend: give --output another folder", output);
    }
    return 0;
}

/* Writes the blend of folders as one folder. Sets of[i] to the number of records of source i, and
 * taken[i] to the number that the blend takes of it. Returns 0, or -1 with an error. */
static int blend_folders(const struct others *given, struct blend *b, uint64_t *taken, uint64_t *of)
{
    SCOPED(buf) self = BUF_INIT;
    uint64_t records;
    int64_t all = is_no_source(b, given->output) < 0 ? -1 : count_records(b, of);
    if (all < 0)
        return -1;
    struct merge_sets m = make_merge(given, &self, " blend");
    m.blend = b;
    m.samples = (uint64_t)(given->samples ? given->samples : all);
    m.taken = taken;
    blend_count(b, m.samples, taken);
    int result = merge_sets_folders(&m, b->paths, (int)b->count, &records);
    tool_count("record(s)", records);
    return result;
}

/* Checks that the pairs of a blend are whole and not empty. */
static int check_pairs(const struct blend *b)
{
    int result = 0;
    for (size_t i = 0; i < b->count && !result; i++) {
        SCOPED(buf) prefix = BUF_INIT;
        SCOPED_BY(megatron_close) struct megatron m = { 0 };
        result = megatron_prefix(&prefix, b->paths[i]) < 0 ? -1 : megatron_open(&m, prefix.data);
        if (!result && !m.tokens)
            result = err_set("%s.idx: the pair has no tokens", prefix.data);
    }
    return result;
}

/* Writes the index files of the blend of Megatron pairs, and sets taken[i] to the number of samples
 * that it takes of source i. Returns 0, or -1 with an error. */
static int blend_pairs(const struct others *given, struct blend *b, uint64_t *taken)
{
    static const char *const maps[] = { "dataset_index", "dataset_sample_index" };
    const uint64_t samples = (uint64_t)given->samples;
    if (!samples)
        return err_usage("a blend of Megatron pairs needs --samples");
    if (tool_given("shards"))
        return err_usage("--shards cannot be used with Megatron pairs");
    if (may_replace_maps(given->output, maps, 2) < 0 || check_pairs(b) < 0)
        return -1;
    blend_count(b, samples, taken);
    tool_count("sample(s)", samples);
    return blend_write(b, samples, given->output);
}

/* Returns 1 if all sources are Megatron pairs, 0 if none is, or -1 with an error. */
static int are_pairs(const struct blend *b)
{
    SCOPED(buf) prefix = BUF_INIT;
    int all = 0, one = 0;
    for (size_t i = 0; i < b->count && one >= 0; i++) {
        one = megatron_prefix(&prefix, b->paths[i]);
        if (i && one >= 0 && one != all)
            one = err_set("'%s' is %s Megatron pair, but '%s' is %s: a blend has only one kind",
                          b->paths[i], one ? "a" : "no", b->paths[0], all ? "one" : "none");
        all = one;
    }
    return one < 0 ? -1 : all;
}

static int run_blend(int argc, char **argv, void *options)
{
    const struct others *given = options;
    struct blend b;
    if (!given->output)
        return err_usage("--output is missing: name a folder, or a prefix for Megatron pairs");
    int blends = blend_parse(&b, (const char *const *)argv, (size_t)argc);
    if (!blends)
        blends = err_usage("'%s' has no weight: write PATH:WEIGHT for each source", argv[0]);
    int pairs = blends < 0 ? -1 : are_pairs(&b), result = pairs < 0 ? -1 : 0;
    SCOPED_MEM uint64_t *taken = mem_zalloc(2 * b.count, sizeof *taken);
    if (!result)
        result = pairs ? blend_pairs(given, &b, taken)
                       : blend_folders(given, &b, taken, taken + b.count);
    if (!result)
        print_blend(&b, taken, pairs ? NULL : taken + b.count);
    tool_count("source(s)", b.count);
    blend_release(&b);
    return result;
}

static int run_show(int, char **argv, void *options)
{
    const struct others *given = options;
    SCOPED(buf) prefix = BUF_INIT;
    struct output out;
    uint64_t shown = 0;
    int pair = megatron_prefix(&prefix, argv[0]), result = pair < 0 ? -1 : output_open(&out, "-");
    if (!result)
        result = pair ? listing_sequences(prefix.data, (uint64_t)given->limit, &out, &shown)
                      : listing_records(argv[0], (uint64_t)given->limit, &out, &shown);
    /* records before an error are shown, too */
    struct err why = err_keep();
    if (pair >= 0 && output_close(&out) < 0 && !result)
        result = -1;
    else if (result < 0)
        err_restore(&why);
    tool_count(pair ? "sequence(s)" : "record(s)", shown);
    return result;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Which layouts an option is for. */
enum {
    FOR_GPT = OPT_ONLY << LAYOUT_GPT,
    FOR_BERT = OPT_ONLY << LAYOUT_BERT | OPT_ONLY << LAYOUT_BERT_TF1 |
               OPT_ONLY << LAYOUT_BERT_PACKED,
    FOR_SHARDS = FOR_GPT | FOR_BERT,
    FOR_MEGATRON = OPT_ONLY << LAYOUT_MEGATRON,
};

#define AT(member) offsetof(struct tfwrite, member)
static const struct opt write_options[] = {
    { 'o', "output", OPT_TEXT, AT(output), "DIR",
      "output folder for the shards, default ./shards; with --layout megatron a prefix of file "
      "names, with nanogpt and llmc a file" },
    { 0, "layout", OPT_CHOICE, AT(layout), "gpt|bert|bert-tf1|bert-packed|megatron|nanogpt|llmc",
      "kind of records to write" },
    { .help = "Layouts gpt, bert, bert-tf1, bert-packed:" },
    { 0, "resume", OPT_FLAG | FOR_SHARDS, AT(resume), NULL,
      "continue an interrupted run; the result is the same, byte for byte" },
    { 0, "allow-empty", OPT_FLAG | FOR_SHARDS, AT(allow_empty), NULL,
      "if no record can be made, write a finished set without records" },
    { 0, "sequence-length", OPT_INT | FOR_SHARDS, AT(sequence_length), "N",
      "tokens per sequence; gpt records hold one more, the last label", 1, 1 << 24 },
    { 0, "shards", OPT_INT | FOR_SHARDS, AT(shards), "N", "number of shard files to write", 1,
      99999 },
    { 0, "compression", OPT_CHOICE | FOR_SHARDS, AT(compression), "none|gzip|zlib|zstd",
      "compress each shard file" },
    { 0, "seed", OPT_INT | FOR_SHARDS, AT(seed), "N",
      "seed of all random choices; -1: 1234 for gpt, 1984 for bert layouts", -1, 9e15 },
    { 0, "group", OPT_INT | FOR_SHARDS, AT(group), "N|all",
      "documents to shuffle at a time; 0: a million tokens' worth for gpt, all for bert layouts", 0,
      4e9 },
    { .help = "Layout gpt:" },
    { 0, "stride", OPT_INT | FOR_GPT, AT(stride), "N",
      "gpt: tokens from the start of one record to the next; 0: the sequence length", 0, 1e15 },
    { 0, "remainder", OPT_CHOICE | FOR_GPT, AT(remainder), "drop|pad",
      "gpt: drop a last record that is too short, or pad it with end-of-text" },
    { 0, "pack", OPT_CHOICE | FOR_GPT, AT(pack), "none|best-fit",
      "gpt: best-fit fills records with whole documents, and cuts only those longer than a record" },
    { 0, "shuffle", OPT_FLAG | FOR_GPT, AT(shuffle), NULL,
      "gpt: shuffle documents and records; --no-shuffle keeps their order" },
    { 0, "validation", OPT_REAL | FOR_GPT, AT(validation), "SHARE",
      "gpt: share of the tokens to hold out in DIR/validation", 0, 0.9 },
    { .help = "Layouts bert, bert-tf1, bert-packed:" },
    { 0, "mask-tokens", OPT_INT | FOR_BERT, AT(mask_tokens), "N",
      "bert: maximum number of masked tokens per sequence", 1, 1 << 24 },
    { 0, "mlm-probability", OPT_REAL | FOR_BERT, AT(mlm_probability), "P",
      "bert: share of tokens to mask", 0, 1 },
    { 0, "short-sequence-probability", OPT_REAL | FOR_BERT, AT(short_probability), "P",
      "bert: share of documents to cut into shorter sequences", 0, 1 },
    { 0, "duplication-factor", OPT_INT | FOR_BERT, AT(duplication), "N",
      "bert: passes over the documents, each with other masks", 1, 1000 },
    { 0, "whole-word-masking", OPT_TEXT | FOR_BERT, AT(whole_words), "FILE",
      "bert: mask whole words; FILE is the vocabulary, vocab.txt" },
    { .help = "Layout megatron:" },
    { 0, "append-eod", OPT_FLAG | FOR_MEGATRON, AT(append_eod), NULL,
      "megatron: end each document with end-of-text" },
    { 0 },
};
static const struct opt index_options[] = {
    { 'o', "output", OPT_TEXT, offsetof(struct others, output), "FILE",
      "output file, with one input FILE; - is standard output" },
    { 0 },
};
static const struct opt index_map_options[] = {
    { 'o', "output", OPT_TEXT, offsetof(struct others, output), "NAME",
      "prefix of the names of the index-map files (.npy)" },
    { 0, "samples", OPT_INT, offsetof(struct others, samples), "N",
      "number of samples in the index maps; 0: use --epochs", 0, 4e9 },
    { 0, "epochs", OPT_INT, offsetof(struct others, epochs), "N",
      "number of epochs in the index maps; 0: use --samples", 0, 1e9 },
    { 0, "sequence-length", OPT_INT, offsetof(struct others, sequence_length), "N",
      "tokens per sequence; gpt records hold one more, the last label", 1, 1 << 24 },
    { 0, "seed", OPT_INT, offsetof(struct others, seed), "N",
      "seed of the order of documents and samples", 0, UINT32_MAX },
    { 0, "split", OPT_TEXT, offsetof(struct others, split), "A,B,C",
      "shares of training, validation and test parts" },
    { 0, "split-rule", OPT_CHOICE, offsetof(struct others, split_rule), "core|older",
      "how the bounds of the parts are rounded: as Megatron Core does, or as older versions did" },
    { 0, "part", OPT_CHOICE, offsetof(struct others, part), "train|valid|test",
      "part of the data to write index maps for" },
    { 0, "wide", OPT_FLAG, offsetof(struct others, wide), NULL,
      "write sample_idx with 64-bit numbers, as some Megatron versions do" },
    { 0 },
};
static const struct opt repair_options[] = {
    { 'o', "output", OPT_TEXT, offsetof(struct others, output), "FILE",
      "output file for the good records" },
    { 0 },
};
static const struct opt merge_options[] = {
    { 'o', "output", OPT_TEXT, offsetof(struct others, output), "DIR",
      "output folder for the shards; for Megatron pairs a prefix of file names" },
    { 0, "shards", OPT_INT, offsetof(struct others, shards), "N", "number of shard files to write",
      1, 99999 },
    { 0 },
};
static const struct opt blend_options[] = {
    { 'o', "output", OPT_TEXT, offsetof(struct others, output), "DIR",
      "output folder for the shards; for Megatron pairs a prefix of file names" },
    { 0, "samples", OPT_INT, offsetof(struct others, samples), "N",
      "number of samples in the blend; 0: as many as the sources have", 0, 1e12 },
    { 0, "shards", OPT_INT, offsetof(struct others, shards), "N", "number of shard files to write",
      1, 99999 },
    { 0 },
};
static const struct opt show_options[] = {
    { 'n', "limit", OPT_INT, offsetof(struct others, limit), "N",
      "maximum number of records to print; 0: all", 0, 9e15 },
    { 0 },
};

static const struct tool_command write_command = {
    .args = "[FILE]",
    .summary = "Write a token stream as training data.",
    TOOL_OPTIONS(write_options, write_defaults),
    .common = TOOL_FILE_OPERAND | TOOL_THREADS | TOOL_CONFIG | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_write,
};
static const struct tool_command index_command = {
    .name = "index",
    .args = "FILE...",
    .summary = "Write the index of TFRecord files, as tfrecord2idx does.",
    TOOL_OPTIONS(index_options, other_defaults),
    .common = TOOL_FORCE,
    .run = run_index,
};
static const struct tool_command index_map_command = {
    .name = "index-map",
    .args = "PREFIX",
    .summary = "Write the index maps of a Megatron pair.",
    TOOL_OPTIONS(index_map_options, other_defaults),
    .common = TOOL_FORCE,
    .run = run_index_map,
};
static const struct tool_command verify_command = {
    .name = "verify",
    .args = "FILE|DIR...",
    .summary = "Check checksums, indexes and manifests.",
    .run = run_verify,
};
static const struct tool_command repair_command = {
    .name = "repair",
    .args = "FILE",
    .summary = "Write the good records of a damaged TFRecord file.",
    TOOL_OPTIONS(repair_options, other_defaults),
    .common = TOOL_FORCE,
    .run = run_repair,
};
static const struct tool_command merge_command = {
    .name = "merge",
    .args = "DIR|PREFIX...",
    .summary = "Make one data set of several, in their order.",
    TOOL_OPTIONS(merge_options, other_defaults),
    .common = TOOL_PROGRESS | TOOL_FORCE,
    .run = run_merge,
};
static const struct tool_command blend_command = {
    .name = "blend",
    .args = "PATH:WEIGHT...",
    .summary = "Make one data set of several, by their weights.",
    TOOL_OPTIONS(blend_options, other_defaults),
    .common = TOOL_PROGRESS | TOOL_FORCE,
    .run = run_blend,
};
static const struct tool_command show_command = {
    .name = "show",
    .args = "FILE",
    .summary = "Print records as JSON lines.",
    TOOL_OPTIONS(show_options, other_defaults),
    .run = run_show,
};

static const struct tool_command *const commands[] = {
    &write_command,  &index_command,  &index_map_command, &merge_command, &blend_command,
    &verify_command, &repair_command, &show_command,      NULL,
};

static const char *detail(void)
{
    static char text[64];
    snprintf(text, sizeof text, "crc32c: %s", crc32c_path());
    return text;
}

static const struct tool tool = {
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
