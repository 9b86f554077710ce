/* Compares BERT's tokenizer with Hugging Face's ids and with a simple search for the longest
 * match. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "tests/unit/golden.h"
#include "tests/unit/look.h"
#include "tokenizer/cut/normalize.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/wordpiece.h"
#include "tokenizer/tokenizer.h"
#include "unicode/unicode.h"

static void encode(struct encoder *e, const struct js *text, enum tokenizer_special special,
                   struct ids *ids)
{
    size_t n = 0;
    const char *s = js_text(text, &n);
    ids->count = 0;
    cr_assert_eq(encoder_encode(e, s, n, special, ids), 0, "%s", err_get());
}

static void check_ids(const char *vocabulary, const char *name, const char *key, int google,
                      int at_least)
{
    struct tokenizer *t = golden_tokenizer(vocabulary, google);
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    struct golden l;
    golden_open(&l, name);
    for (const struct js *o; (o = golden_next(&l));) {
        encode(e, js_get(o, "text"), TOKENIZER_ORDINARY, &ids);
        golden_expect(&l, js_get(o, key), &ids);
    }
    golden_close(&l, at_least);
    ids_release(&ids);
    encoder_free(e);
    tokenizer_free(t);
}

Test(wordpiece, uncased_ids)
{
    check_ids("bert-base-uncased-vocab.txt", "golden_bert_uncased.jsonl", "ids", 0, 1400);
    check_ids("bert-base-uncased-tokenizer.json", "golden_bert_uncased.jsonl", "ids", 0, 1400);
}

Test(wordpiece, cased_ids)
{
    check_ids("bert-base-cased-vocab.txt", "golden_bert_cased.jsonl", "ids", 0, 1400);
    check_ids("bert-base-cased-tokenizer.json", "golden_bert_cased.jsonl", "ids", 0, 1400);
}

Test(wordpiece, where_google_differs)
{
    static const char vocabulary[] = "bert-base-uncased-vocab.txt";
    static const char name[] = "golden_bert_uncased_divergent.jsonl";
    check_ids(vocabulary, name, "ids_hf", 0, 5);
    check_ids(vocabulary, name, "ids_google_py311_max100", 1, 5);
}

static void check_pipeline(const char *name, const char *first, const char *second, int at_least)
{
    struct tokenizer *t = golden_tokenizer("bert-base-uncased-tokenizer.json", 0);
    struct encoder *e = encoder_new(t);
    struct ids a = { 0 }, b = { 0 }, ids = { 0 }, types = { 0 };
    struct buf text = BUF_INIT;
    struct golden l;
    golden_open(&l, name);
    for (const struct js *o; (o = golden_next(&l));) {
        ids.count = types.count = 0;
        encode(e, js_get(o, first), TOKENIZER_SPECIAL, &a);
        if (second)
            encode(e, js_get(o, second), TOKENIZER_SPECIAL, &b);
        tokenizer_assemble(t, &a, second ? &b : NULL, &ids, &types);
        golden_expect(&l, js_get(o, "ids"), &ids);
        golden_expect(&l, js_get(o, "type_ids"), &types);
        const char *decoded = js_text(js_get(o, "decoded"), NULL);
        buf_clear(&text);
        cr_assert_eq(tokenizer_decode(t, ids.data, ids.count, 1, &text), 0);
        cr_assert(!decoded || !strcmp(decoded, text.data), "%s line %d: '%s', not '%s'", name,
                  l.number, text.data, decoded);
    }
    golden_close(&l, at_least);
    ids_release(&a);
    ids_release(&b);
    ids_release(&ids);
    ids_release(&types);
    buf_release(&text);
    encoder_free(e);
    tokenizer_free(t);
}

Test(wordpiece, special_tokens_and_types)
{
    check_pipeline("golden_bert_uncased_special.jsonl", "text", NULL, 250);
}

Test(wordpiece, pairs)
{
    check_pipeline("golden_bert_uncased_pairs.jsonl", "a", "b", 60);
}

Test(wordpiece, decoding)
{
    struct tokenizer *t = golden_tokenizer("bert-base-uncased-vocab.txt", 0);
    struct ids ids = { 0 };
    struct buf text = BUF_INIT;
    struct golden l;
    golden_open(&l, "golden_bert_uncased_decode.jsonl");
    for (const struct js *o; (o = golden_next(&l));) {
        golden_ids(js_get(o, "ids"), &ids);
        buf_clear(&text);
        cr_assert_eq(tokenizer_decode(t, ids.data, ids.count, 0, &text), 0, "%s", err_get());
        cr_assert_str_eq(text.data, js_text(js_get(o, "decoded_cleanup"), NULL));
        buf_clear(&text);
        cr_assert_eq(tokenizer_decode(t, ids.data, ids.count, 1, &text), 0);
        cr_assert_str_eq(text.data, js_text(js_get(o, "decoded_skip_special"), NULL));
    }
    golden_close(&l, 480);
    ids_release(&ids);
    buf_release(&text);
    tokenizer_free(t);
}

/* ---- every code point ------------------------------------------------------------------------ */

/* Writes the words of text[n] to `out`, with a space between them. */
static void join_words(struct words *w, const char *text, size_t n, struct buf *out)
{
    struct pieces list;
    buf_clear(out);
    words_begin(w, text, n);
    while (words_next(w, &list))
        for (size_t i = 0; i < list.count; i++) {
            buf_adds(out, out->len ? " " : "");
            buf_add(out, list.text + list.begins[i], list.ends[i] - list.begins[i]);
        }
}

struct range {
    uint32_t first, last;
};

static int is_in(const struct range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return 1;
    return 0;
}

struct classes {
    struct range punctuation[400], spaces[20];
    size_t punctuation_count, space_count;
};

static void read_classes(struct classes *c)
{
    struct buf path = BUF_INIT;
    struct input in;
    char *line;
    size_t n;
    c->punctuation_count = c->space_count = 0;
    cr_assert_eq(
        input_open(&in, golden_path(&path, "tokenizers/unicode/hf_bert_pretok_classes.tsv")), 0);
    while (input_line(&in, &line, &n) > 0) {
        struct range r;
        char kind;
        if (sscanf(line, "%c\t%x\t%x", &kind, &r.first, &r.last) != 3)
            continue;
        if (kind == 'p')
            c->punctuation[c->punctuation_count++] = r;
        else
            c->spaces[c->space_count++] = r;
    }
    input_close(&in);
    buf_release(&path);
}

/* Appends the code point c as the pre-tokenizer cuts it: spaces as ' ', punctuation with a space on
 * both sides. */
static void add_cut(const struct classes *classes, struct buf *out, uint32_t c)
{
    if (is_in(classes->spaces, classes->space_count, c)) {
        buf_addc(out, ' ');
    } else if (is_in(classes->punctuation, classes->punctuation_count, c)) {
        buf_addc(out, ' ');
        utf8_add(out, c);
        buf_addc(out, ' ');
    } else {
        utf8_add(out, c);
    }
}

static void squeeze(struct buf *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] != ' ' || (kept && b->data[kept - 1] != ' '))
            b->data[kept++] = b->data[i];
    buf_truncate(b, kept);
    buf_rtrim(b);
}

static void sweep(const char *name, const struct bert_rules *rules)
{
    struct buf path = BUF_INIT, want = BUF_INIT, got = BUF_INIT, text = BUF_INIT;
    struct buf change = BUF_INIT;
    static struct classes classes;
    if (!look(golden_path(&path, name))) {
        buf_release(&path);
        cr_skip_test("%s is absent", name);
    }
    read_classes(&classes);
    struct normalizer *n = normalizer_new(rules);
    struct words *w = words_new(n);
    struct input in;
    char *line = NULL, *rest;
    size_t len;
    uint32_t changed = 0;
    cr_assert_eq(input_open(&in, path.data), 0);
    for (uint32_t c = 0, next = 0; c < UNICODE_LIMIT; c++) {
        if (c >= 0xD800 && c < 0xE000)
            continue;
        if (next <= c && (!changed || next < c) && input_line(&in, &line, &len) > 0) {
            buf_clear(&change);
            buf_add(&change, line, len);
            next = (uint32_t)strtoul(change.data, &rest, 16);
            changed = 1;
        }
        buf_clear(&want);
        buf_addc(&want, 'a');
        if (next == c && changed)
            for (char *at = rest; *at;) {
                uint32_t part = (uint32_t)strtoul(at, &rest, 16);
                if (rest == at)
                    break;
                add_cut(&classes, &want, part);
                at = rest;
            }
        else
            add_cut(&classes, &want, c);
        buf_addc(&want, 'b');
        squeeze(&want);
        buf_clear(&text);
        buf_addc(&text, 'a');
        utf8_add(&text, c);
        buf_addc(&text, 'b');
        join_words(w, text.data, text.len, &got);
        cr_assert_str_eq(got.data, want.data, "U+%04X: '%s', not '%s'", c, got.data, want.data);
    }
    input_close(&in);
    words_free(w);
    normalizer_free(n);
    buf_release(&path);
    buf_release(&want);
    buf_release(&got);
    buf_release(&text);
    buf_release(&change);
}

Test(normalize, every_code_point_uncased)
{
    sweep("tokenizers/unicode/hf_bert_uncased_norm.tsv", &(struct bert_rules){ 1, 1, 1, 1, 0 });
}

Test(normalize, every_code_point_cased)
{
    sweep("tokenizers/unicode/hf_bert_cased_norm.tsv", &(struct bert_rules){ 1, 1, 0, 0, 0 });
}

/* Combining marks that are kept must be sorted by their combining class, and those of one class
 * must keep their order. U+1D165 and U+1D166 have the class 216, U+302E and U+302F 224, U+1D16D
 * 226. The expected texts are those of Hugging Face's tokenizers. */
Test(normalize, marks_of_one_class_keep_their_order)
{
    static const char *const cases[][2] = {
        { "a\u302F\u302Eb", "a\u302F\u302Eb" },
        { "a\U0001D16D\U0001D165\U0001D166b", "a\U0001D165\U0001D166\U0001D16Db" },
        { "a\U0001D166\u302F\U0001D165\u302Eb", "a\U0001D166\U0001D165\u302F\u302Eb" },
    };
    struct normalizer *n = normalizer_new(&(struct bert_rules){ 1, 1, 1, 1, 0 });
    struct words *w = words_new(n);
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        join_words(w, cases[i][0], strlen(cases[i][0]), &out);
        cr_expect_str_eq(out.data, cases[i][1], "case %zu: %s", i, out.data);
    }
    buf_release(&out);
    words_free(w);
    normalizer_free(n);
}

Test(normalize, many_marks_take_linear_time, .timeout = 60)
{
    struct normalizer *n = normalizer_new(&(struct bert_rules){ 1, 1, 1, 1, 0 });
    struct words *w = words_new(n);
    struct buf text = BUF_INIT, out = BUF_INIT;
    for (int i = 0; i < 1000000; i++)
        buf_adds(&text, "\u302E\U0001D165");
    join_words(w, text.data, text.len, &out);
    cr_expect_eq(out.len, text.len);
    buf_release(&text);
    buf_release(&out);
    words_free(w);
    normalizer_free(n);
}

/* The words must be the same whether a text is read in blocks of 64 bytes or character by
 * character, wherever it begins. */
Test(normalize, blocks_and_characters_agree)
{
    static const char *const parts[] = {
        "a",  "B", " ",  ".",    "don't",        "\n", "XyZ", "\xC3\x89",
        "\t", "7", "  ", "\x01", "\xE4\xB8\xAD", "-",  "word"
    };
    struct bert_rules rules = { 1, 1, 1, 1, 0 };
    struct normalizer *n = normalizer_new(&rules);
    struct words *w = words_new(n);
    struct buf text = BUF_INIT, whole = BUF_INIT, piece = BUF_INIT, joined = BUF_INIT;
    struct rng rng = { .key = rng_key(0, 7) };
    for (int round = 0; round < 2000; round++) {
        buf_clear(&text);
        buf_clear(&joined);
        for (int k = 0; k < 200; k++)
            buf_adds(&text, parts[rng_below(&rng, round % 2 ? 7 : 15)]);
        join_words(w, text.data, text.len, &whole);
        for (size_t at = 0, end; at < text.len; at = end) { /* up to white space: no block */
            end = at + 1;
            while (end < text.len && !strchr(" \n\t", text.data[end - 1]))
                end++;
            join_words(w, text.data + at, end - at, &piece);
            if (piece.len && joined.len)
                buf_addc(&joined, ' ');
            buf_add(&joined, piece.data, piece.len);
        }
        cr_assert_str_eq(whole.data, joined.data);
    }
    words_free(w);
    normalizer_free(n);
    buf_release(&text);
    buf_release(&whole);
    buf_release(&piece);
    buf_release(&joined);
}

/* ---- the longest match ----------------------------------------------------------------------- */

static int plain_match(const struct vocabulary *v, const char *word, size_t n, struct ids *out)
{
    char piece[64] = "##";
    for (size_t at = 0, len; at < n; at += len) {
        int64_t id = -1;
        for (len = n - at; len; len--) {
            memcpy(piece + 2, word + at, len);
            id = at ? vocabulary_find(v, piece, len + 2) : vocabulary_find(v, word, len);
            if (id >= 0)
                break;
        }
        if (!len)
            return 0;
        ids_add(out, (uint32_t)id);
    }
    return 1;
}

static void random_word(struct rng *rng, struct buf *out, size_t max)
{
    for (size_t n = 1 + rng_below(rng, max); n; n--)
        buf_addc(out, "ab#"[rng_below(rng, 3)]);
}

Test(wordpiece, the_automaton_matches_the_longest)
{
    struct rng rng = { .key = rng_key(0, 3) };
    struct ids want = { 0 }, got = { 0 };
    struct buf word = BUF_INIT;
    int cut = 0;
    for (int round = 0; round < 200; round++) {
        struct vocabulary v;
        vocabulary_init(&v);
        for (uint32_t i = 0, tokens = 4 + (uint32_t)round % 40; i < tokens; i++) {
            buf_clear(&word);
            buf_adds(&word, rng_below(&rng, 2) ? wordpiece_prefix : "");
            random_word(&rng, &word, 5);
            if (vocabulary_find(&v, word.data, word.len) < 0)
                vocabulary_put(&v, v.count, word.data, word.len, TOKEN_MODEL);
        }
        struct wordpiece *w = wordpiece_new(&v, 1000, 30);
        for (int i = 0; i < 200; i++) {
            buf_clear(&word);
            random_word(&rng, &word, 12);
            want.count = got.count = 0;
            if (plain_match(&v, word.data, word.len, &want)) {
                cut++;
            } else {
                want.count = 0;
                ids_add(&want, 1000);
            }
            wordpiece_encode(w, word.data, word.len, &got);
            cr_assert_eq(want.count, got.count, "%s: %zu, not %zu", word.data, got.count,
                         want.count);
            cr_assert(!memcmp(want.data, got.data, got.count * sizeof *got.data));
        }
        wordpiece_free(w);
        vocabulary_release(&v);
    }
    cr_assert_gt(cut, 1000);
    ids_release(&want);
    ids_release(&got);
    buf_release(&word);
}

/* A word of up to max_chars characters is divided into tokens; a longer word is unknown. Characters
 * count, not bytes. */
Test(wordpiece, words_beyond_max_chars_are_unknown)
{
    enum { MAX = 5, UNKNOWN = 1000 };
    static const char *const letters[] = { "a", "\xC3\xA9", "\xE4\xB8\x80" };
    for (size_t k = 0; k < 3; k++) {
        struct vocabulary v;
        struct buf word = BUF_INIT;
        struct ids got = { 0 };
        vocabulary_init(&v);
        vocabulary_put(&v, 0, letters[k], strlen(letters[k]), TOKEN_MODEL);
        buf_addf(&word, "%s%s", wordpiece_prefix, letters[k]);
        vocabulary_put(&v, 1, word.data, word.len, TOKEN_MODEL);
        struct wordpiece *w = wordpiece_new(&v, UNKNOWN, MAX);
        buf_clear(&word);
        for (size_t n = 1; n <= MAX + 2; n++) {
            buf_adds(&word, letters[k]);
            got.count = 0;
            wordpiece_encode(w, word.data, word.len, &got);
            cr_expect_eq(got.count, n <= MAX ? n : 1, "%zu of '%s'", n, letters[k]);
            cr_expect_eq(got.data[0], n <= MAX ? 0 : UNKNOWN, "%zu of '%s'", n, letters[k]);
        }
        wordpiece_free(w);
        vocabulary_release(&v);
        buf_release(&word);
        ids_release(&got);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void refuse(const char *text, const char *why)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_lt(vocab_txt_parse(&v, text, strlen(text), "vocab.txt"), 0);
    cr_assert_not_null(strstr(err_get(), why), "%s", err_get());
    vocabulary_release(&v);
}

Test(wordpiece, bad_vocabularies)
{
    refuse("[UNK]\na\n\nb\n", "line 3 is empty");
    refuse("[UNK]\na\na\n", "line 3");
    refuse("[unk]\na\n", "no token '[UNK]'");
}
