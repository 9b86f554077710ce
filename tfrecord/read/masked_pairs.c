#include "tfrecord/read/masked_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"
#include "tfrecord/formats/megatron.h"
#include "tfrecord/formats/npy.h"
#include "tfrecord/formats/pyrandom.h"
#include "tfrecord/read/dataset.h"

static const double MASKED = 0.15;    /* share of the tokens to predict */
enum { LONGEST_RUN = 3 };             /* most words that are masked together */
enum { SPECIAL = 3 };                 /* [CLS] and two [SEP] */
enum { FIRST, END, TARGET, COLUMNS }; /* columns of the map */
static const uint64_t MOST_TARGET = 1u << 20;

struct masked_pairs {
    char *map_path;
    struct dataset *data;
    const struct megatron *pair; /* of `data` */
    struct npy map;
    uint32_t target;
    double epoch;

    /* working memory */
    uint32_t *text; /* tokens of the sentences */
    size_t text_cap;
    uint32_t *places; /* [target + 3] places of the words' tokens in the sample, word by word */
    uint32_t *starts; /* [target + 4] starts of the words in `places` */
    uint32_t *order;  /* [target + 3] the words, shuffled */
    unsigned char *chosen; /* [target + 3] 1: the token is predicted */
};

/* Tokens [begin, end) of the sentences of a sample. */
struct part {
    uint64_t begin, end;
};

static uint64_t size(struct part a)
{
    return a.end - a.begin;
}

/* ---- the map ------------------------------------------------------------------------------ */

static int check_row(const struct masked_pairs *p, uint64_t row, const uint64_t *documents)
{
    const uint64_t first = npy_at(&p->map, row, FIRST), end = npy_at(&p->map, row, END);
    const uint64_t target = npy_at(&p->map, row, TARGET);
    if (first >= end || end > p->pair->sequences)
        return err_set("has sentences %" PRIu64 " to %" PRIu64 ", but %s.idx has %" PRIu64
                       " sentences",
                       first, end, p->pair->prefix, p->pair->sequences);
    if (end - first < 2)
        return err_set("has one sentence, but a pair needs two: make the map with 2 sentences or "
                       "more per sample");
    if (target < 2 || target > MOST_TARGET)
        return err_set("has the target length %" PRIu64, target);
    for (uint64_t i = first + 1; i < end; i++)
        if (documents[i / 64] >> i % 64 & 1)
            return err_set("has sentences %" PRIu64 " to %" PRIu64
                           ", which are of two documents of %s.idx: it is the map of another pair",
                           first, end, p->pair->prefix);
    return 0;
}

/* Checks the rows of the map, and sets p->target and p->epoch from them. Bit i of `documents` is 1
 * if sentence i is the first of a document. Sets bit i of `seen` to 1 if a row has sentence i.
 * Returns 0, or -1 with an error. */
static int check_rows(struct masked_pairs *p, const uint64_t *documents, uint64_t *seen)
{
    uint64_t all = 0, different = 0;
    for (uint64_t row = 0; row < p->map.rows; row++) {
        if (check_row(p, row, documents) < 0)
            return err_in("%s: row %" PRIu64, p->map_path, row);
        const uint64_t first = npy_at(&p->map, row, FIRST), end = npy_at(&p->map, row, END);
        const uint32_t target = (uint32_t)npy_at(&p->map, row, TARGET);
        p->target = target > p->target ? target : p->target;
        all += end - first;
        for (uint64_t i = first; i < end; i++) {
            different += ~seen[i / 64] >> i % 64 & 1;
            seen[i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    p->epoch = (double)p->map.rows * (double)different / (double)all;
    return 0;
}

static int check_map(struct masked_pairs *p)
{
    if (p->map.columns != COLUMNS || !p->map.rows)
        return err_set("%s: has %" PRIu64 " rows of %" PRIu64
                       " numbers, but a map of sentences has rows of 3: first sentence, end, "
                       "target length",
                       p->map_path, p->map.rows, p->map.columns);
    const struct megatron *m = p->pair;
    uint64_t *bits = mem_zalloc(2 * (m->sequences / 64 + 1), sizeof *bits);
    for (uint64_t d = 0; d < m->documents; d++) {
        const uint64_t i = megatron_document(m, d);
        bits[i / 64] |= UINT64_C(1) << i % 64;
    }
    int result = check_rows(p, bits, bits + m->sequences / 64 + 1);
    free(bits);
    return result;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* Returns the place of the @ in PREFIX@MAP.npy, or NULL. */
static const char *find_map(const char *path)
{
    static const char ending[] = ".npy";
    const char *at = strrchr(path, '@');
    const size_t n = strlen(path), ends = sizeof ending - 1;
    return at && at > path && n > ends && !strcmp(path + n - ends, ending) ? at : NULL;
}

int masked_pairs_named(const char *path)
{
    return find_map(path) != NULL;
}

static int open_files(struct masked_pairs *p, const char *path)
{
    struct buf pair = BUF_INIT, prefix = BUF_INIT;
    const char *at = find_map(path);
    p->map_path = mem_strdup(at + 1);
    buf_add(&pair, path, (size_t)(at - path));
    int result = megatron_prefix(&prefix, pair.data);
    buf_adds(&prefix, ".idx"); /* a folder may have the name of the prefix */
    if (result >= 0)
        p->data = dataset_open((const char *const *)&prefix.data, 1, 2);
    p->pair = p->data ? dataset_megatron(p->data) : NULL;
    buf_release(&pair);
    buf_release(&prefix);
    return p->pair && npy_map(&p->map, p->map_path) == 0 ? check_map(p) : -1;
}

struct masked_pairs *masked_pairs_open(const char *path)
{
    struct masked_pairs *p = mem_zalloc(1, sizeof *p);
    if (open_files(p, path) < 0) {
        masked_pairs_close(p);
        return NULL;
    }
    const size_t length = p->target + SPECIAL;
    p->places = mem_zalloc(length, sizeof *p->places);
    p->starts = mem_zalloc(length + 1, sizeof *p->starts);
    p->order = mem_zalloc(length, sizeof *p->order);
    p->chosen = mem_zalloc(length, 1);
    return p;
}

void masked_pairs_close(struct masked_pairs *p)
{
    if (!p)
        return;
    dataset_close(p->data);
    npy_close(&p->map);
    free(p->map_path);
    free(p->text);
    free(p->places);
    free(p->starts);
    free(p->order);
    free(p->chosen);
    free(p);
}

uint64_t masked_pairs_count(const struct masked_pairs *p)
{
    return p->map.rows;
}

uint32_t masked_pairs_target(const struct masked_pairs *p)
{
    return p->target;
}

double masked_pairs_epoch(const struct masked_pairs *p)
{
    return p->epoch;
}

uint64_t masked_pairs_checksum(const struct masked_pairs *p)
{
    return dataset_checksum(p->data);
}

uint64_t masked_pairs_vocabulary(const struct masked_pairs *p)
{
    return dataset_vocabulary(p->data);
}

const char *masked_pairs_tokenizer(const struct masked_pairs *p)
{
    return dataset_tokenizer(p->data);
}

/* ---- masking ------------------------------------------------------------------------------ */

/* What the making of one sample needs. */
struct maker {
    struct masked_pairs *p;
    const struct masked_pairs_recipe *recipe;
    struct bert_row *row;
    struct pyrandom random;
};

/* Sets p->places and p->starts to the words of the sample. A piece continues the word before it,
 * even if a special token is between them. Returns the number of words. */
static uint32_t find_words(const struct maker *x)
{
    const struct masked_pairs_recipe *r = x->recipe;
    struct masked_pairs *p = x->p;
    uint32_t words = 0, n = 0;
    for (uint32_t i = 0; i < x->row->length; i++) {
        const uint32_t id = x->row->ids[i];
        if (id == r->cls || id == r->sep)
            continue;
        if (!r->continues[id] || !words)
            p->starts[words++] = n;
        p->places[n++] = i;
    }
    p->starts[words] = n;
    return words;
}

/* Draws the number of words to mask together, from 1 to LONGEST_RUN, as
 * numpy.random.RandomState.choice does. */
static uint32_t draw_run(struct pyrandom *random)
{
    double share[LONGEST_RUN], sum = 0, upto = 0;
    for (int n = 0; n < LONGEST_RUN; n++)
        sum += share[n] = 1.0 / (n + 1);
    for (int n = 0; n < LONGEST_RUN; n++)
        share[n] /= sum;
    sum = share[0] + share[1] + share[2];
    for (int n = 0; n < LONGEST_RUN; n++)
        share[n] = upto += share[n] / sum;
    const double drawn = pyrandom_real(random);
    uint32_t run = 1;
    while (run < LONGEST_RUN && share[run - 1] / upto <= drawn)
        run++;
    return run;
}

/* Returns the most tokens to predict in a sample of `length` tokens, if the longest has `target`.
 * The number need not be whole. */
static double most_masked(double target, double length)
{
    double most = rint(MASKED * length);
    most = most < 1 ? 1 : most;
    return MASKED * target < most ? MASKED * target : most;
}

uint32_t masked_pairs_most(uint32_t target)
{
    return (uint32_t)most_masked(target, (double)target + SPECIAL);
}

static void mask_token(struct maker *x, uint32_t place)
{
    const struct masked_pairs_recipe *r = x->recipe;
    uint32_t *id = &x->row->ids[place];
    x->p->chosen[place] = 1;
    x->row->labels[place] = (int32_t)*id;
    if (pyrandom_real(&x->random) < 0.8)
        *id = r->mask;
    else if (pyrandom_real(&x->random) >= 0.5)
        *id = (uint32_t)pyrandom_below_numpy(&x->random, r->vocabulary);
}

/* Masks a run of random length that begins at word `word` of `words`, shortened until it has at
 * most `room` tokens. Returns the number of masked tokens; 0 if not even one word fits, or if a
 * part of the run is masked already. */
static uint32_t mask_run(struct maker *x, uint32_t word, uint32_t words, double room)
{
    const struct masked_pairs *p = x->p;
    uint32_t run = draw_run(&x->random), first = p->starts[word], end;
    do {
        const uint32_t last = run < words - word ? word + run : words;
        end = p->starts[last];
    } while (end - first > room && --run);
    if (!run)
        return 0;
    for (uint32_t i = first; i < end; i++)
        if (p->chosen[p->places[i]])
            return 0;
    for (uint32_t i = first; i < end; i++)
        mask_token(x, p->places[i]);
    return end - first;
}

static void mask(struct maker *x, uint32_t target)
{
    struct masked_pairs *p = x->p;
    const uint32_t words = find_words(x);
    double most = most_masked(target, x->row->length);
    if (x->recipe->mask_tokens && x->recipe->mask_tokens < most)
        most = x->recipe->mask_tokens;
    for (uint32_t i = 0; i < words; i++)
        p->order[i] = i;
    pyrandom_shuffle_numpy(&x->random, p->order, words);
    memset(p->chosen, 0, x->row->length);
    uint32_t masked = 0;
    for (uint32_t i = 0; i < words && masked < most; i++)
        masked += mask_run(x, p->order[i], words, most - masked);
}

/* ---- samples ------------------------------------------------------------------------------ */

static void truncate_pair(struct pyrandom *random, struct part *a, struct part *b, uint64_t target)
{
    while (size(*a) + size(*b) > target) {
        struct part *longer = size(*a) > size(*b) ? a : b;
        if (pyrandom_real(random) < 0.5)
            longer->begin++;
        else
            longer->end--;
    }
}

static void put_part(struct maker *x, struct part a, uint32_t segment)
{
    struct bert_row *row = x->row;
    const uint32_t from = row->length;
    memcpy(row->ids + from, x->p->text + a.begin, size(a) * sizeof *row->ids);
    row->length += (uint32_t)size(a);
    row->ids[row->length++] = x->recipe->sep;
    for (uint32_t i = from; i < row->length; i++)
        row->segments[i] = segment;
}

/* Reads the tokens of sentences [first, end) into p->text, sets *tokens to their number, and checks
 * that the vocabulary has them. Returns 0, or -1 with an error. */
static int read_text(struct masked_pairs *p, uint64_t first, uint64_t end, uint32_t vocabulary,
                     uint64_t *tokens)
{
    uint64_t begin, last;
    megatron_sequence(p->pair, first, &begin);
    const uint32_t rest = megatron_sequence(p->pair, end - 1, &last);
    *tokens = last + rest - begin;
    mem_grow(p->text, p->text_cap, *tokens + 1);
    if (megatron_read(p->pair, begin, *tokens, p->text) < 0)
        return -1;
    for (uint64_t i = 0; i < *tokens; i++)
        if (p->text[i] >= vocabulary)
            return err_set("%s.bin: token %" PRIu64 " at byte %" PRIu64 " is %" PRIu32
                           ", but the vocabulary has only %" PRIu32 " tokens",
                           p->pair->prefix, begin + i, (begin + i) * (uint64_t)p->pair->width,
                           p->text[i], vocabulary);
    return 0;
}

/* Cuts the sentences [first, end), which have `tokens` tokens, into two parts at a random sentence,
 * and sets *a and *b to these in random order. Returns 1 if the second part is a, else 0. */
static int cut_pair(struct maker *x, uint64_t first, uint64_t end, uint64_t tokens, struct part *a,
                    struct part *b)
{
    uint64_t before = 1, begin, second;
    if (end - first > 2)
        before += pyrandom_below_numpy(&x->random, end - first - 1);
    megatron_sequence(x->p->pair, first, &begin);
    megatron_sequence(x->p->pair, first + before, &second);
    const struct part start = { 0, second - begin }, rest = { second - begin, tokens };
    const int changed = pyrandom_real(&x->random) < 0.5;
    *a = changed ? rest : start;
    *b = changed ? start : rest;
    return changed;
}

int masked_pairs_read(struct masked_pairs *p, const struct masked_pairs_recipe *recipe, uint64_t k,
                      struct bert_row *row)
{
    struct maker x = { .p = p, .recipe = recipe, .row = row };
    const uint64_t i = k % p->map.rows, first = npy_at(&p->map, i, FIRST);
    const uint64_t end = npy_at(&p->map, i, END);
    const uint32_t target = (uint32_t)npy_at(&p->map, i, TARGET);
    uint64_t tokens;
    struct part a, b;
    if (read_text(p, first, end, recipe->vocabulary, &tokens) < 0)
        return -1;
    pyrandom_seed_numpy(&x.random, (uint32_t)(recipe->seed + k));
    row->next = cut_pair(&x, first, end, tokens, &a, &b);
    truncate_pair(&x.random, &a, &b, target);
    row->length = 1;
    row->ids[0] = recipe->cls;
    row->segments[0] = 0;
    put_part(&x, a, 0);
    if (size(b))
        put_part(&x, b, 1);
    mask(&x, target);
    return 0;
}
