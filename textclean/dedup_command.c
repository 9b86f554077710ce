/* dedup_command.c - textclean dedup: leaves out what occurred before. */
#include "textclean/commands.h"

#include "common/base/le.h"
#include "common/base/lines.h"
#include "common/base/log.h"
#include "common/base/xxh64.h"
#include "common/files/paths.h"
#include "textclean/firsts.h"
#include "textclean/flow.h"
#include "textclean/minhash.h"
#include "unicode/whitespace.h"

enum by { BY_NEAR, BY_DOCUMENT, BY_PARAGRAPH, BY_LINE, BY_SPAN }; /* the last 3: in parts */
#define BY "near|document|paragraph|line|span"

/* C4's numbers: sentences of a span, and the least that stays of a document that lost spans. */
enum { SPAN = 3, LEAST_SENTENCES = 3, LEAST_WORDS = 50 };

struct dedup {
    struct flow_options flow;
    int by, recipe;
    int64_t shingle, bands, rows, hash_seed;
    uint64_t memory_bytes;
    const char *clusters_path, *keys_path;
    struct opt_list keys;
};

static const struct dedup defaults = { .flow = FLOW_DEFAULTS,
                                       .hash_seed = 1,
                                       .memory_bytes = UINT64_C(1) << 30 };

/* How published corpora were made: words or characters of a shingle, bands, rows. */
#define RECIPES "fineweb|refinedweb|slimpajama|dclm|nemo|dolma"
static const struct {
    int64_t shingle;
    int characters;
    int64_t bands, rows;
} recipes[] = {
    { 5, 0, 14, 8 },  { 5, 0, 450, 20 }, { 13, 0, 9, 13 },
    { 5, 0, 93, 15 }, { 24, 1, 20, 13 }, { 5, 0, 26, 11 },
};

#define AT(member) offsetof(struct dedup, member)
static const struct opt options[] = {
    { 0, "by", OPT_CHOICE, AT(by), BY,
      "what is left out: documents that are nearly an earlier one, or equal to one but for white "
      "space; or paragraphs, lines or spans of three sentences that occurred before in any document" },
    { 0, "recipe", OPT_CHOICE | OPT_ONLY, AT(recipe), RECIPES,
      "near: shingles, bands and rows as the corpus of this name was made" },
    { 0, "shingle", OPT_INT | OPT_ONLY, AT(shingle), "N",
      "near: words (nemo: characters) of a shingle; 0: as the recipe has it", 0, 1000 },
    { 0, "bands", OPT_INT | OPT_ONLY, AT(bands), "N",
      "near: number of bands; 0: as the recipe has it", 0, 10000 },
    { 0, "rows", OPT_INT | OPT_ONLY, AT(rows), "N",
      "near: hashes of a band; 0: as the recipe has it", 0, 1000 },
    { 0, "hash-seed", OPT_INT | OPT_ONLY, AT(hash_seed), "N", "near: chooses the hash functions", 0,
      4294967295.0 },
    { 0, "memory", OPT_SIZE, AT(memory_bytes), "SIZE",
      "memory for hashes; those of files go to temporary files beyond it", 1 << 20, 1e15 },
    { 0, "clusters", OPT_TEXT, AT(clusters_path), "FILE",
      "near, document: write the numbers of documents that are alike to FILE, as JSON lines" },
    { 0, "keys-to", OPT_TEXT, AT(keys_path), "FILE",
      "near, document: write the hashes of the input, a part of a corpus, to FILE, and stop" },
    { 0, "keys", OPT_LIST, AT(keys), "FILE",
      "files or folders with the hashes of all parts; the input is one part, named as for --keys-to" },
    FLOW_ROWS(struct dedup),
    { 0 },
};

enum { REASON_NEAR, REASON_EQUAL, REASON_NOTHING_LEFT, REASON_SHORT, REASONS };
static const char *const reasons[REASONS] = { "near-duplicate", "duplicate", "nothing-left",
                                              "too-short" };

struct run {
    const struct dedup *given;
    struct minhash minhash;
    struct firsts firsts;
    struct ids clusters; /* clusters_add */
    int twice, second;   /* the input is read twice; this is the second time */
    int in_parts;        /* parts of documents are left out, not whole documents */
    uint8_t *repeated;   /* one bit for each part, set by the first pass */
    uint64_t parts, parts_cap;
    uint64_t documents;   /* of the first pass, or of the input's part of the corpus */
    uint64_t shorter;     /* documents shorter than a shingle */
    uint64_t before;      /* documents in the parts of the corpus before that one */
    struct output keys;   /* for --keys-to */
    struct output *alike; /* for --clusters */
};

/* What `judge` found: the keys of a document, or its parts with their keys. */
struct found {
    struct part {
        struct key key; /* zeros: none */
        size_t end;     /* in the text; a part begins where the one before ends */
        size_t words;   /* of a sentence */
    } * parts;
    size_t count, cap;
};

/* ---- parts of a text ------------------------------------------------------------------------- */

/* Sets *part to the next line or paragraph from *at on, without white space at its ends, and *at to
 * the start of the one after it. Lines of white space separate paragraphs. Returns 1, or 0 at the
 * end of the text. */
static int next_part(enum by by, const struct buf *text, size_t *at, struct span *part)
{
    const char *s = text->data + *at;
    struct lines l = LINES_OF(s, text->len - *at), ahead;
    if (!lines_next(&l))
        return 0;
    int blank = !whitespace_strip(l.line, l.len).n;
    for (ahead = l; by == BY_PARAGRAPH && lines_next(&ahead); l = ahead) {
        const int is = !whitespace_strip(ahead.line, ahead.len).n;
        if (blank && !is)
            break;
        blank = is;
    }
    *part = whitespace_strip(s, (size_t)(l.at - s));
    *at = (size_t)(l.at - text->data);
    return 1;
}

static struct key key_of(const char *s, size_t n)
{
    return (struct key){ xxh64(s, n, 0), xxh64(s, n, 1) };
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void tools_init(void *ctx, void *tools)
{
    const struct run *r = ctx;
    minhash_tools_init(tools, &r->minhash);
}

static struct part *add(struct found *f, struct key key, size_t end)
{
    mem_grow(f->parts, f->cap, f->count + 1);
    f->parts[f->count] = (struct part){ .key = key, .end = end };
    return &f->parts[f->count++];
}

static int has_key(const struct part *part)
{
    return part->key.high || part->key.low;
}

static void find_bands(const struct run *r, struct minhash_tools *t, const struct buf *text,
                       struct found *f)
{
    size_t bands = minhash_sign(&r->minhash, t, text->data, text->len) ? r->minhash.bands : 0;
    for (size_t i = 0; i < bands; i++)
        add(f, (struct key){ minhash_band(&r->minhash, t, i), i }, 0);
}

/* Adds the whole text as one part. For its key, each run of white space is one blank. */
static void find_whole(struct minhash_tools *t, const struct buf *text, struct found *f)
{
    struct buf *to = &t->joined;
    buf_clear(to);
    for (size_t at = 0, k; at < text->len; at += k)
        if (!(k = whitespace_at(text->data + at, text->len - at))) {
            k = whitespace_word(text->data + at, text->len - at);
            buf_adds(to, to->len ? " " : "");
            buf_add(to, text->data + at, k);
        }
    add(f, key_of(to->data, to->len), 0);
}

/* Adds each sentence as a part. Its key is of the normal forms of SPAN sentences from it on. */
static void find_spans(struct minhash_tools *t, const struct buf *text, struct found *f)
{
    const struct words *w = &t->words;
    words_split(&t->words, text->data, text->len);
    for (size_t i = 0, next; i < w->count; i = next) {
        next = words_sentence(w, i, w->count);
        size_t begin = w->list[i].at, end = w->list[next - 1].at + w->list[next - 1].bytes;
        normal_set(&t->normal, text->data + begin, end - begin);
        struct key key = { 0 };
        if (t->normal.text.len)
            key = key_of(t->normal.text.data, t->normal.text.len);
        add(f, key, next < w->count ? end : text->len)->words = next - i;
    }
    for (size_t i = 0; i < f->count; i++) {
        struct key keys[SPAN] = { 0 };
        int any = 0;
        for (size_t k = 0; k < SPAN && i + SPAN <= f->count; k++) {
            keys[k] = f->parts[i + k].key;
            any |= has_key(&f->parts[i + k]);
        }
        f->parts[i].key = any ? key_of((const char *)keys, sizeof keys) : (struct key){ 0 };
    }
}

static void find_parts(enum by by, const struct buf *text, struct found *f)
{
    struct span part;
    for (size_t at = 0; next_part(by, text, &at, &part);)
        add(f, part.n ? key_of(part.s, part.n) : (struct key){ 0 }, at);
}

/* Leaves the document out unless it is the first of its cluster. */
static void judge_cluster(const struct run *r, struct flow_item *item)
{
    size_t number = r->before + item->entry.number - 1;
    if (number < r->clusters.count && clusters_first(&r->clusters, number) != number)
        item->reason = r->given->by == BY_NEAR ? REASON_NEAR : REASON_EQUAL;
}

static int judge(void *ctx, void *tools, struct flow_item *item)
{
    const struct run *r = ctx;
    enum by by = (enum by)r->given->by;
    const struct buf *text = &item->entry.document.text;
    struct found *f = item->result = mem_zalloc(1, sizeof *f);
    if (by == BY_SPAN)
        find_spans(tools, text, f);
    else if (r->in_parts)
        find_parts(by, text, f);
    else if (r->second)
        judge_cluster(r, item);
    else if (by == BY_NEAR)
        find_bands(r, tools, text, f);
    else
        find_whole(tools, text, f);
    return 0;
}

/* ---- documents in order ---------------------------------------------------------------------- */

/* Marks part `number` as repeated, or joins document `number` to the cluster of `first`. */
static void note(void *ctx, uint64_t number, uint64_t first)
{
    struct run *r = ctx;
    if (!r->in_parts) {
        clusters_join(&r->clusters, number, first);
        return;
    }
    if (number >= r->parts_cap) {
        uint64_t before = r->parts_cap / 8, bytes = 2 * (number / 8 + 1);
        r->repeated = mem_resize(r->repeated, bytes, 1);
        memset(r->repeated + before, 0, bytes - before);
        r->parts_cap = 8 * bytes;
    }
    r->repeated[number / 8] |= (uint8_t)(1 << number % 8);
}

/* Removes the repeated parts of a document. `number` is the number of its first part with a key. */
static void cut(struct run *r, struct flow_item *item, uint64_t number)
{
    const struct found *f = item->result;
    struct buf *text = &item->entry.document.text;
    SCOPED(buf) left = BUF_INIT;
    size_t begin = 0, until = 0, sentences = 0, words = 0;
    const int spans = r->given->by == BY_SPAN;
    for (size_t i = 0; i < f->count; begin = f->parts[i++].end) {
        const struct part *part = &f->parts[i];
        const uint64_t bit = number;
        number += (uint64_t)has_key(part);
        if (bit < number && bit < r->parts_cap && r->repeated[bit / 8] >> bit % 8 & 1) {
            until = i + (spans ? SPAN : 1);
            item->pieces++;
        }
        if (i < until)
            continue;
        buf_add(&left, text->data + begin, part->end - begin);
        sentences++;
        words += part->words;
    }
    struct span stripped = whitespace_strip(left.data, left.len);
    if (item->pieces && !stripped.n) {
        item->reason = REASON_NOTHING_LEFT;
    } else if (item->pieces && spans && (sentences < LEAST_SENTENCES || words < LEAST_WORDS)) {
        item->reason = REASON_SHORT;
    } else if (item->pieces) {
        size_t blanks = spans ? (size_t)(stripped.s - left.data) : 0;
        entry_change(&item->entry, left.data + blanks, left.len - blanks);
    }
}

/* Adds the keys of a document. A key's number is that of its part or of the document. */
static int add_keys(struct run *r, const struct found *f, uint64_t document)
{
    if (!r->in_parts && document > UINT32_MAX)
        return err_set("more than 4,294,967,296 documents");
    if (!r->in_parts)
        clusters_add(&r->clusters, document + 1);
    uint64_t part = r->parts;
    for (size_t i = 0; i < f->count; i++) {
        if (!has_key(&f->parts[i]))
            continue;
        uint64_t number = r->in_parts ? part++ : document, first = number;
        if (firsts_add(&r->firsts, &f->parts[i].key, number, &first) < 0)
            return -1;
        if (first != number)
            note(r, number, first);
    }
    return 0;
}

/* ---- parts of a corpus ----------------------------------------------------------------------- */

/* A file with the keys of a part:
 *
 *     "textmill keys 1 " checksum " " options " " hash of the operands and --field "\n"
 *     for each document its keys, each u64 high, u64 low; zeros if it has none
 *
 * The checksum is as output_begin_summed has it. */
static const char KEYS[] = "textmill keys 1 ";
enum { KEYS_SUM_AT = sizeof KEYS - 1, KEYS_REST = KEYS_SUM_AT + FILE_SUM_DIGITS, KEYS_HASH = 17 };

static size_t keys_of_document(const struct run *r)
{
    return r->given->by == BY_NEAR ? r->minhash.bands : 1;
}

/* Sets *head to the first line of a file of keys. */
static void set_head(const struct run *r, int argc, char **argv, struct buf *head)
{
    const struct minhash *m = &r->minhash;
    SCOPED(buf) operands = BUF_INIT;
    for (int i = 0; i < argc; i++)
        buf_add(&operands, argv[i], strlen(argv[i]) + 1);
    if (strcmp(r->given->flow.field, defaults.flow.field))
        buf_adds(&operands, r->given->flow.field);
    buf_addf(head, "%s%0*d %d %zu %d %zu %zu %" PRId64 " %016" PRIx64 "\n", KEYS, FILE_SUM_DIGITS,
             0, r->given->by, m->shingle, m->characters, m->bands, m->rows, r->given->hash_seed,
             xxh64(operands.data, operands.len, 0));
}

static int write_keys(struct run *r, const struct found *found)
{
    unsigned char bytes[16] = { 0 };
    int result = 0;
    for (size_t i = 0; i < keys_of_document(r) && !result; i++) {
        le_put_u64(bytes, i < found->count ? found->parts[i].key.high : 0);
        le_put_u64(bytes + 8, i < found->count ? found->parts[i].key.low : 0);
        result = output_write(&r->keys, bytes, sizeof bytes);
    }
    return result;
}

/* Adds the keys data[0..n) of a part of a corpus. Adds its documents to *documents. */
static int add_part(struct run *r, const unsigned char *data, uint64_t n, uint64_t *documents)
{
    const size_t count = keys_of_document(r);
    struct found f = { 0 };
    int result = 0;
    for (uint64_t at = 0; at + 16 * count <= n && !result; at += 16 * count) {
        f.count = 0;
        for (size_t i = 0; i < count && le_u64(data + at); i++)
            add(&f, (struct key){ le_u64(data + at + 16 * i), le_u64(data + at + 16 * i + 8) }, 0);
        result = add_keys(r, &f, (*documents)++);
    }
    free(f.parts);
    return result;
}

static int read_part(struct run *r, const struct file_map *map, const struct buf *head,
                     uint64_t *documents)
{
    const uint64_t before = *documents;
    const size_t hash_at = head->len - KEYS_HASH;
    if (map->bytes < head->len || memcmp(map->data, KEYS, KEYS_SUM_AT))
        return err_set("no hashes that textclean dedup --keys-to wrote");
    if (file_map_check(map, KEYS_SUM_AT) < 0)
        return -1;
    if (memcmp(map->data + KEYS_REST, head->data + KEYS_REST, hash_at - KEYS_REST))
        return err_set("its hashes were made with other options of dedup");
    if (add_part(r, map->data + head->len, map->bytes - head->len, documents) < 0)
        return -1;
    if (memcmp(map->data + hash_at, head->data + hash_at, KEYS_HASH))
        return 0;
    if (r->second++)
        return err_set("these are hashes of the input, too");
    r->before = before;
    r->documents = *documents - before;
    return 0;
}

/* Reads the keys of all parts in place of a first pass. */
static int read_parts(struct run *r, int argc, char **argv)
{
    const struct opt_list *given = &r->given->keys;
    SCOPED(file_names) names = { 0 };
    SCOPED(buf) head = BUF_INIT;
    uint64_t documents = 0;
    set_head(r, argc, argv, &head);
    int result = paths_expand(&names, (char *const *)given->items, (int)given->count);
    for (size_t i = 0; i < names.count && !result; i++) {
        struct file_map map;
        result = file_map(&map, names.names[i]);
        if (!result && read_part(r, &map, &head, &documents) < 0)
            result = err_in("%s", names.names[i]);
        file_unmap(&map);
    }
    if (!result && !r->second)
        result = err_usage(
            "--keys has no hashes of the input: name it as for --keys-to, with its --field");
    return result ? result : firsts_finish(&r->firsts, note, r);
}

static void forget_found(void *result)
{
    struct found *found = result;
    free(found->parts);
    free(found);
}

static int settle(void *ctx, struct flow_item *item)
{
    struct run *r = ctx;
    const struct found *found = item->result;
    r->shorter += !r->second && r->given->by == BY_NEAR && !found->count;
    int result = r->second             ? 0
                 : r->given->keys_path ? write_keys(r, found)
                                       : add_keys(r, found, item->entry.number - 1);
    if (r->second && item->entry.number > r->documents)
        result = err_set("%s: the input grew after it was read first", item->entry.file);
    if (!result && r->in_parts) {
        if (r->second || !r->twice)
            cut(r, item, r->parts);
        for (size_t i = 0; i < found->count; i++)
            r->parts += (uint64_t)has_key(&found->parts[i]);
    } else if (!result && !r->twice && !r->given->keys_path) {
        judge_cluster(r, item);
    }
    return result;
}

/* Writes the keys of the documents of a part. */
static int write_part(struct run *r, struct flow *flow, int argc, char **argv)
{
    SCOPED(buf) head = BUF_INIT;
    flow->silent = 1;
    if (output_open(&r->keys, r->given->keys_path) < 0)
        return -1;
    set_head(r, argc, argv, &head);
    int result = r->keys.temp ? output_begin_summed(&r->keys, head.data, head.len, KEYS_SUM_AT)
                              : err_usage("--keys-to: '%s' is no file", r->given->keys_path);
    if (!result && !(result = flow_run(flow, argc, argv)))
        tool_count("document(s)", flow->read);
    return output_end(&r->keys, result);
}

/* ---- report ---------------------------------------------------------------------------------- */

/* Writes a line for each set of more than one document. */
static int write_clusters(void *ctx)
{
    const struct run *r = ctx;
    const struct ids *c = &r->clusters;
    SCOPED(buf) line = BUF_INIT;
    SCOPED_MEM uint32_t *next = mem_zalloc(c->count + 1, sizeof *next);
    SCOPED_MEM uint32_t *last = mem_zalloc(c->count + 1, sizeof *last);
    int result = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t first = clusters_first(c, i);
        if (first != i)
            next[last[first] ? last[first] : first] = (uint32_t)i;
        last[first] = (uint32_t)i;
    }
    for (size_t i = 0; i < c->count && !result; i++) {
        if (!next[i] || clusters_first(c, i) != i)
            continue;
        buf_setf(&line, "{\"kept\": %zu, \"left_out\": [", i + 1);
        for (uint32_t k = next[i]; k; k = next[k])
            buf_addf(&line, "%s%" PRIu32, k == next[i] ? "" : ", ", k + 1);
        buf_adds(&line, "]}\n");
        result = output_write(r->alike, line.data, line.len);
    }
    return result;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int first_pass(struct run *r, struct flow *flow, int argc, char **argv)
{
    struct flow first = *flow;
    first.silent = 1;
    const int result = flow_run(&first, argc, argv) < 0 ? -1 : firsts_finish(&r->firsts, note, r);
    r->documents = first.read;
    r->parts = 0;
    r->second = 1;
    return result;
}

static int run_passes(struct run *r, int argc, char **argv)
{
    struct flow flow = { .options = &r->given->flow,
                         .judge = judge,
                         .settle = settle,
                         .end = write_clusters,
                         .forget = forget_found,
                         .ctx = r,
                         .tools_bytes = sizeof(struct minhash_tools),
                         .tools_init = tools_init,
                         .tools_release = minhash_tools_release,
                         .report_path = r->given->keys_path ? r->given->keys_path
                                                            : r->given->clusters_path,
                         .reasons = reasons,
                         .reason_count = REASONS };
    static const char *const pieces[] = { NULL, NULL, "paragraph(s) left out", "line(s) left out",
                                          "span(s) left out" };
    flow.piece = pieces[r->given->by];
    r->alike = &flow.report;
    int result = r->given->keys_path    ? 0
                 : r->given->keys.count ? read_parts(r, argc, argv)
                 : r->twice             ? first_pass(r, &flow, argc, argv)
                                        : 0;
    flow.blind = r->second && !flow.piece;
    flow.least = r->second ? r->documents : 0;
    return result                ? result
           : r->given->keys_path ? write_part(r, &flow, argc, argv)
                                 : flow_run(&flow, argc, argv);
}

static void set_minhash(struct run *r)
{
    const struct dedup *given = r->given;
    r->minhash = (struct minhash){
        .shingle = (size_t)(given->shingle ? given->shingle : recipes[given->recipe].shingle),
        .characters = recipes[given->recipe].characters,
        .bands = (size_t)(given->bands ? given->bands : recipes[given->recipe].bands),
        .rows = (size_t)(given->rows ? given->rows : recipes[given->recipe].rows),
    };
    minhash_init(&r->minhash, (uint32_t)given->hash_seed);
}

static int run_dedup(int argc, char **argv, void *given_options)
{
    struct run r = { .given = given_options };
    r.in_parts = r.given->by >= BY_PARAGRAPH;
    const char *other = r.given->by == BY_NEAR ? NULL : tool_misplaced(0);
    if (other)
        return err_usage("--%s is for --by near", other);
    if (r.in_parts && (r.given->clusters_path || r.given->keys_path || r.given->keys.count))
        return err_usage("--clusters, --keys-to and --keys are for --by near and --by document");
    const struct flow_options *flow = &r.given->flow;
    if (r.given->keys_path &&
        (strcmp(flow->output_path, "-") || flow->rejected_path || flow->summary_path ||
         flow->mark || r.given->clusters_path || r.given->keys.count))
        return err_usage(
            "--keys-to writes no documents: give no other output, no --mark, no --keys");
    if (paths_can_read_twice(argv, argc, &r.twice) < 0)
        return -1;
    r.twice |= r.given->keys.count > 0;
    set_minhash(&r);
    firsts_init(&r.firsts, r.given->memory_bytes, r.twice);
    int result = run_passes(&r, argc, argv);
    if (!result && r.shorter) /* as in Thai, which has no blanks between words */
        log_info("documents shorter than a shingle of %zu %s, which all stay: %" PRIu64 "%s",
                 r.minhash.shingle, r.minhash.characters ? "characters" : "words", r.shorter,
                 r.minhash.characters ? "" : "; --recipe nemo compares characters");
    firsts_release(&r.firsts);
    ids_release(&r.clusters);
    minhash_release(&r.minhash);
    free(r.repeated);
    return result;
}

const struct tool_command dedup_command = {
    .name = "dedup",
    .args = "[FILE...]",
    .summary = "Leave out documents, paragraphs or lines that occurred before.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS | TOOL_PROGRESS | TOOL_FORCE,
    .run = run_dedup,
};
