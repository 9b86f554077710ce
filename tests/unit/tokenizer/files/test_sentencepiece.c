/* Models of SentencePiece, made here by hand: how they change spaces, their merges, and what is
 * refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/le.h"
#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED }; /* types of pieces */
#define LOW "\u2581"

static void put_varint(struct buf *out, uint64_t x)
{
    for (; x > 0x7F; x >>= 7)
        buf_addc(out, (int)(x & 0x7F) | 0x80);
    buf_addc(out, (int)x);
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t n)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, n);
    buf_add(out, bytes, n);
}

static void put_piece(struct buf *model, const char *text, float score, unsigned type)
{
    SCOPED(buf) piece = BUF_INIT;
    uint32_t bits;
    put_bytes(&piece, 1, text, strlen(text));
    buf_addc(&piece, 2 << 3 | 5);
    memcpy(&bits, &score, sizeof bits);
    le_add_u32(&piece, bits);
    put_varint(&piece, 3 << 3);
    put_varint(&piece, type);
    put_bytes(model, 1, piece.data, piece.len);
}

/* Begins a model with nine pieces. */
static void begin(struct buf *model)
{
    buf_clear(model);
    put_piece(model, "<unk>", 0, UNKNOWN);
    put_piece(model, "<s>", 0, CONTROL);
    put_piece(model, "</s>", 0, CONTROL);
    put_piece(model, LOW "a", -1, NORMAL);
    put_piece(model, "a", -2, NORMAL);
    put_piece(model, LOW, -3, NORMAL);
    put_piece(model, "a" LOW, -1.5f, NORMAL);
    put_piece(model, " a", -1, NORMAL);
    put_piece(model, " ", -3, NORMAL);
}

static void expect_ids(const struct buf *model, const char *text, const char *want)
{
    struct vocabulary v;
    struct ids ids = { 0 };
    SCOPED(buf) got = BUF_INIT;
    vocabulary_init(&v);
    cr_assert_eq(sentencepiece_parse(&v, model->data, model->len, "x"), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    cr_assert(t, "%s", err_get());
    struct encoder *e = encoder_new(t);
    cr_assert_eq(encoder_encode(e, text, strlen(text), TOKENIZER_ORDINARY, &ids), 0, "%s",
                 err_get());
    for (size_t i = 0; i < ids.count; i++)
        buf_addf(&got, "%s%u", i ? " " : "", ids.data[i]);
    cr_expect_str_eq(got.data, want);
    ids_release(&ids);
    encoder_free(e);
    tokenizer_free(t);
}

/* The options say whether a space is put before (or behind) a text, whether spaces at its ends and
 * repeated ones are removed, and whether a space becomes U+2581. */
Test(sentencepiece, spaces)
{
    static const struct {
        const char *trainer, *normalizer; /* fields; each has one byte of a number */
        const char *ids;
    } cases[] = {
        { "", "", "3 3" },
        { "", "\x18\0", "4 3" },         /* add_dummy_prefix */
        { "", "\x20\0", "5 5 3 5 3 5" }, /* remove_extra_whitespaces */
        { "", "\x18\0\x20\0", "5 3 5 3 5" },
        { "\xC0\x01\x01", "", "6 6" }, /* treat_whitespace_as_suffix */
        { "", "\x28\0", "7 7" },       /* escape_whitespaces */
        { "\x18\x02", "", "3 3" },     /* model_type: BPE */
    };
    static const size_t sizes[][2] = { { 0, 0 }, { 0, 2 }, { 0, 2 }, { 0, 4 },
                                       { 3, 0 }, { 0, 2 }, { 2, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) model = BUF_INIT;
        begin(&model);
        put_bytes(&model, 2, cases[i].trainer, sizes[i][0]);
        put_bytes(&model, 3, cases[i].normalizer, sizes[i][1]);
        expect_ids(&model, "  a  a ", cases[i].ids);
    }
}

Test(sentencepiece, the_piece_that_ends_a_text)
{
    static const struct {
        const char *name;
        int64_t end;
    } cases[] = { { "", 2 }, { "<s>", 1 }, { "a", -1 }, { "none", -1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) model = BUF_INIT, trainer = BUF_INIT;
        struct vocabulary v;
        begin(&model);
        if (*cases[i].name)
            put_bytes(&trainer, 47, cases[i].name, strlen(cases[i].name));
        put_bytes(&model, 2, trainer.data, trainer.len);
        vocabulary_init(&v);
        cr_assert_eq(sentencepiece_parse(&v, model.data, model.len, "x"), 0, "%s", err_get());
        cr_expect_eq(v.end_of_text, cases[i].end, "'%s'", cases[i].name);
        cr_expect(v.roles[TOKENIZER_UNKNOWN] == 0 && v.hides && v.fuse_unknown);
        for (uint32_t id = 0; id < v.count; id++)
            cr_expect_eq(vocabulary_is_special(&v, id), id < 3);
        vocabulary_release(&v);
    }
}

/* Each division of a piece into two is a merge; those of the highest score come first. */
Test(sentencepiece, merges)
{
    static const struct bpe_merge want[] = {
        { 1, 2, 4, 0 }, { 2, 3, 5, 1 }, { 1, 5, 6, 0 }, { 4, 3, 6, 1 }
    };
    SCOPED(buf) model = BUF_INIT;
    struct vocabulary v;
    put_piece(&model, "<unk>", 0, UNKNOWN);
    put_piece(&model, "a", -5, NORMAL);
    put_piece(&model, "b", -5, NORMAL);
    put_piece(&model, "c", -5, NORMAL);
    put_piece(&model, "ab", -1, NORMAL);
    put_piece(&model, "bc", -1, NORMAL);
    put_piece(&model, "abc", -2, NORMAL);
    put_piece(&model, "ca", -1, USER); /* no merge makes it */
    put_bytes(&model, 2, "\x18\x02", 2);
    vocabulary_init(&v);
    cr_assert_eq(sentencepiece_parse(&v, model.data, model.len, "x"), 0, "%s", err_get());
    cr_assert_eq(v.merge_count, sizeof want / sizeof *want);
    for (size_t i = 0; i < v.merge_count; i++)
        cr_expect(v.merges[i].left == want[i].left && v.merges[i].right == want[i].right &&
                      v.merges[i].id == want[i].id && v.merges[i].tied == want[i].tied,
                  "merge %zu: %u and %u", i, v.merges[i].left, v.merges[i].right);
    cr_expect(!vocabulary_is_special(&v, 7) && v.added_count == 2);
    vocabulary_release(&v);
}

static void refused(const struct buf *model, const char *error)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_expect_eq(sentencepiece_parse(&v, model->data, model->len, "x"), -1, "not: %s", error);
    cr_expect_str_eq(err_get(), error);
    vocabulary_release(&v);
}

Test(sentencepiece, pieces_that_are_refused)
{
    static char longest[2050];
    static const struct {
        const char *text;
        float score;
        unsigned type;
        const char *error;
    } cases[] = {
        { "x", 0, UNUSED, "x: piece 9: its type or score is not supported" },
        { "x", 0, 0, "x: piece 9: its type or score is not supported" },
        { "x", 0, 7, "x: piece 9: its type or score is not supported" },
        { "x", INFINITY, NORMAL, "x: piece 9: its type or score is not supported" },
        { "x", 2e30f, NORMAL, "x: piece 9: its type or score is not supported" },
        { "x", -2e30f, NORMAL, "x: piece 9: its type or score is not supported" },
        { "x", NAN, NORMAL, "x: piece 9: its type or score is not supported" },
        { "", 0, NORMAL, "x: piece 9: it is no text" },
        { "\xC3", 0, NORMAL, "x: piece 9: it is no text" },
        { "a", 0, NORMAL, "x: piece 9: it occurs twice" },
        { longest, 0, NORMAL, "x: piece 9: it is longer than 2048 bytes" },
    };
    SCOPED(buf) model = BUF_INIT;
    memset(longest, 'x', 2049);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&model);
        put_piece(&model, cases[i].text, cases[i].score, cases[i].type);
        refused(&model, cases[i].error);
    }
    longest[2048] = '\0';
    begin(&model);
    put_piece(&model, longest, 0, NORMAL);
    expect_ids(&model, "a", "3");
}

Test(sentencepiece, models_that_are_refused)
{
    SCOPED(buf) model = BUF_INIT;
    put_piece(&model, "a", 0, NORMAL);
    refused(&model, "x: it has no unknown token");
    begin(&model);
    put_bytes(&model, 2, "\x18\x03", 2);
    refused(&model, "x: its model is neither Unigram nor BPE");
    begin(&model);
    put_bytes(&model, 2, "\xC0\x01\x01", 3);
    put_bytes(&model, 3, "\x28\0", 2);
    refused(&model, "x: spaces as suffixes are not supported");
    begin(&model);
    put_bytes(&model, 2, "\x18", 1);
    refused(&model, "x: damaged");
    begin(&model);
    put_bytes(&model, 1, "\x0a", 1);
    refused(&model, "x: piece 9: damaged");
    begin(&model);
    buf_addc(&model, 0x0A);
    refused(&model, "x: the file is damaged or cut off, or no model of SentencePiece");
    begin(&model);
    put_piece(&model, "x  y", 0, USER);
    refused(&model, "x: piece 9 keeps spaces that texts lose: not supported");
}
