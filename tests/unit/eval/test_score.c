#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "eval/items.h"
#include "eval/lambada.h"
#include "eval/report.h"
#include "eval/score.h"
#include "eval/subject.h"
#include "eval/wiki.h"
#include "model/folder/folder.h"
#include "model/network/architecture.h"
#include "tests/unit/arrays.h"
#include "tests/unit/save_model.h"
#include "tokenizer/tokenizer.h"

enum { POSITIONS = 12, VOCABULARY = 37, TOKENS = 101 };

static char dir[] = "/tmp/test-score-XXXXXX";
static struct scorer scorer;
static uint32_t ids[TOKENS];

static const struct model_config usual = { .layers = 2,
                                           .width = 16,
                                           .heads = 2,
                                           .inner = 64,
                                           .positions = POSITIONS,
                                           .vocabulary = VOCABULARY,
                                           .epsilon = 1e-5,
                                           .init_std = .5 };

/* Saves a small random model as a model folder in `dir`, and sets ids[TOKENS]. */
static void make_model(const struct model_config *config)
{
    struct model m;
    struct ops_array blocks[4];
    struct ops *o = ops_open("cpu", 1);
    cr_assert(mkdtemp(dir) && o);
    cr_assert_eq(model_init(&m, config), 0);
    for (int b = 0; b < m.tensors.blocks; b++)
        blocks[b] = ops_buffer(o, OPS_F32, m.tensors.block_size[b]);
    for (size_t i = 0; i < m.tensors.count; i++)
        tensor_initialise(&m.tensors.rows[i], 1, 0, tensor_elements(&m.tensors.rows[i]),
                          floats(blocks[m.tensors.rows[i].block]) + m.tensors.rows[i].offset);
    cr_assert_eq(save_whole_model(&m, o, blocks, dir, -1), 0, "%s", err_get());
    for (int b = 0; b < m.tensors.blocks; b++)
        ops_buffer_free(o, blocks[b]);
    model_release(&m);
    ops_free(o);
    for (int i = 0; i < TOKENS; i++)
        ids[i] = (uint32_t)(i * i + i / 3) % VOCABULARY;
}

static void setup_for(const struct model_config *config)
{
    make_model(config);
    cr_assert_eq(network_open(&scorer.net, dir, HEAD_NEXT, "cpu", 2, OPS_F32, 40), 0, "%s",
                 err_get());
    scorer_init(&scorer);
}

static void setup(void)
{
    setup_for(&usual);
}

static void teardown(void)
{
    scorer_release(&scorer);
    temp_remove(dir);
}

TestSuite(score, .init = setup, .fini = teardown);

/* Returns the loss of ids[i] after ids[begin..i), computed by itself. */
static double loss_of(int64_t begin, int64_t i)
{
    struct window w = { .ids = ids + begin, .count = i - begin + 1, .scored = 1 };
    cr_assert_eq(score_windows(&scorer, &w, 1), 0, "%s", err_get());
    cr_assert_eq(w.right, w.last_right);
    return w.loss;
}

Test(score, windows_side_by_side_equal_windows_alone)
{
    enum { N = 30 };
    struct window w[N];
    for (int i = 0; i < N; i++) {
        int64_t count = 2 + i * 5 % POSITIONS;
        w[i] = (struct window){ .ids = ids + i, .count = count, .scored = 1 + i % (count - 1) };
    }
    cr_assert_eq(score_windows(&scorer, w, N), 0);
    for (int i = 0; i < N; i++) {
        struct window alone = w[i];
        double sum = 0;
        cr_assert_eq(score_windows(&scorer, &alone, 1), 0);
        cr_expect_float_eq(w[i].loss, alone.loss, 1e-4);
        cr_expect_eq(w[i].right, alone.right);
        cr_expect_eq(w[i].last_right, alone.last_right);
        for (int64_t t = w[i].count - w[i].scored; t < w[i].count; t++)
            sum += loss_of(i, i + t);
        cr_expect_float_eq(w[i].loss, sum, 1e-4);
    }
}

/* Several windows in a batch have no more tokens than asked, although the model has more positions.
 */
Test(score, batches)
{
    struct window w[4];
    scorer_release(&scorer);
    cr_assert_eq(network_open(&scorer.net, dir, HEAD_NEXT, "cpu", 2, OPS_F32, 6), 0, "%s",
                 err_get());
    scorer_init(&scorer);
    for (int i = 0; i < 4; i++)
        w[i] = (struct window){ .ids = ids + i, .count = 4, .scored = 1 };
    cr_assert_eq(score_windows(&scorer, w, 4), 0, "%s", err_get());
    cr_expect_eq(scorer.net.inputs.N, 6);
    w[0].count = POSITIONS + 1;
    cr_assert_eq(score_windows(&scorer, w, 1), 0, "%s", err_get());
    cr_expect_eq(scorer.net.inputs.N, POSITIONS);
}

/* LongRoPE has other frequencies for texts of more than 6 tokens, and only for them. */
TestSuite(score_longrope, .fini = teardown);

Test(score_longrope, side_by_side)
{
    struct model_config c = usual;
    c.architecture = &architecture_llama;
    c.activation = OPS_SILU;
    c.rope_stretch = (struct ops_stretch){ .original = 6, .scale = 1.1, .divided = 4 };
    c.rope_longer = c.rope_stretch;
    for (int i = 0; i < 4; i++) {
        c.rope_stretch.divisors[i] = 1;
        c.rope_longer.divisors[i] = 2 + (float)i;
    }
    setup_for(&c);
    struct window w[8];
    for (int i = 0; i < 8; i++)
        w[i] = (struct window){ .ids = ids + i, .count = 4 + i, .scored = 2 };
    cr_assert_eq(score_windows(&scorer, w, 8), 0, "%s", err_get());
    for (int i = 0; i < 8; i++) {
        struct window alone = w[i];
        cr_assert_eq(score_windows(&scorer, &alone, 1), 0);
        cr_expect_float_eq(w[i].loss, alone.loss, 1e-4, "%d: %g and %g", i, w[i].loss, alone.loss);
    }
}

static uint64_t seen;
static void see(uint64_t done)
{
    cr_expect_gt(done, seen);
    seen = done;
}

/* Returns what wiki_score computes for ids[0..TOKENS) as one page. */
static struct wiki_score scored(enum wiki_rule rule, int64_t length, int64_t stride)
{
    struct wiki_page page = { .end = TOKENS, .bytes = 1 };
    struct wiki_text text = {
        .ids = { ids, TOKENS, 0 }, .pages = &page, .count = 1, .tokens = TOKENS, .words = 2
    };
    struct wiki_score got;
    seen = 0;
    cr_assert_eq(wiki_score(&got, &scorer, &text, rule, length, stride, see), 0, "%s", err_get());
    cr_expect_eq(seen, got.scored);
    cr_expect_float_eq(page.nll, got.nll, 1e-9);
    return got;
}

/* With every stride, each target must be scored once, after the context that the header
 * promises. */
Test(score, wiki_windows)
{
    for (int64_t length = 1; length <= POSITIONS; length++)
        for (int64_t stride = 1; stride <= length; stride += 1 + length / 4) {
            struct wiki_score got = scored(WIKI_MEGATRON, length, stride);
            double want = 0, squares = 0, loss;
            for (int64_t i = 1; i < TOKENS; i++) {
                int64_t window = i <= length ? 0 : (i - length + stride - 1) / stride;
                want += loss = loss_of(window * stride, i);
                squares += loss * loss;
            }
            cr_expect_eq(got.scored, TOKENS - 1);
            cr_expect_float_eq(got.weight, TOKENS - 1, 0);
            cr_expect_float_eq(got.nll, want, 1e-2, "length %ld, stride %ld: %f, not %f",
                               (long)length, (long)stride, got.nll, want);
            cr_expect_float_eq(got.losses, want, 1e-2);
            cr_expect_float_eq(got.squares, squares, 1e-1);
        }
}

/* Returns the mean loss by the loop in Hugging Face's guide to perplexity. */
static double strided_loss(int64_t length, int64_t stride)
{
    double sum = 0, weights = 0;
    for (int64_t begin = 0, last = 0, end = 0; end < TOKENS; begin += stride, last = end) {
        double loss = 0, count = 0;
        end = begin + length < TOKENS ? begin + length : TOKENS;
        for (int64_t i = last > begin ? last : begin + 1; i < end; i++, count++)
            loss += loss_of(begin, i);
        if (end - last > 1)
            sum += loss / count * (double)(end - last - 1);
        weights += (double)(end - last - 1);
    }
    return sum / weights;
}

Test(score, wiki_windows_strided)
{
    for (int64_t length = 2; length <= POSITIONS; length++)
        for (int64_t stride = 1; stride <= length; stride += 1 + length / 4) {
            if (stride == 1)
                continue; /* every later window has the weight 0 */
            struct wiki_score got = scored(WIKI_STRIDED, length, stride);
            double want = strided_loss(length, stride);
            cr_expect_float_eq(got.nll / got.weight, want, 1e-4,
                               "length %ld, stride %ld: %f, not %f", (long)length, (long)stride,
                               got.nll / got.weight, want);
        }
}

/* Windows have `length` targets. The last window begins earlier, so that it has as many. */
Test(score, wiki_windows_of_words)
{
    for (int64_t length = 1; length <= POSITIONS; length++) {
        struct wiki_score got = scored(WIKI_WORDS, length, 0);
        double want = 0;
        for (int64_t i = 1; i < TOKENS; i++) {
            int64_t end = ((i - 1) / length + 1) * length + 1;
            end = end < TOKENS ? end : TOKENS;
            want += loss_of(end > length ? end - length - 1 : 0, i);
        }
        cr_expect_eq(got.scored, TOKENS - 1);
        cr_expect_float_eq(got.nll, want, 1e-2, "length %ld: %f, not %f", (long)length, got.nll,
                           want);
    }
}

/* Each page begins anew, and scoring a text again gives the same. */
Test(score, wiki_pages_are_scored_apart)
{
    enum { LENGTH = 5, MIDDLE = 40 };
    struct wiki_page pages[2] = { { .end = MIDDLE, .bytes = 1 },
                                  { .begin = MIDDLE, .end = TOKENS, .bytes = 1 } };
    struct wiki_text text = {
        .ids = { ids, TOKENS, 0 }, .pages = pages, .count = 2, .tokens = TOKENS - 2, .words = 2
    };
    for (int pass = 0; pass < 2; pass++) {
        struct wiki_score got;
        seen = 0;
        cr_assert_eq(wiki_score(&got, &scorer, &text, WIKI_WORDS, LENGTH, 0, see), 0, "%s",
                     err_get());
        cr_expect(got.scored == TOKENS - 2 && got.weight == TOKENS - 2);
        for (int p = 0; p < 2; p++) {
            const int64_t n = (int64_t)(pages[p].end - pages[p].begin);
            double want = 0;
            for (int64_t i = 1; i < n; i++) {
                int64_t end = ((i - 1) / LENGTH + 1) * LENGTH + 1;
                end = end < n ? end : n;
                want += loss_of((int64_t)pages[p].begin + (end > LENGTH ? end - LENGTH - 1 : 0),
                                (int64_t)pages[p].begin + i);
            }
            cr_expect_float_eq(pages[p].nll, want, 1e-2, "page %d: %f, not %f", p, pages[p].nll,
                               want);
        }
    }
}

Test(score, standard_error)
{
    double x[] = { 1, 4, 2, 8, 5 }, sum = 20, squares = 110; /* variance 7.5 */
    cr_expect_float_eq(score_error(sum, squares, sizeof x / sizeof *x), sqrt(7.5 / 5), 1e-12);
    cr_expect_eq(score_error(3, 9, 1), 0);
    cr_expect_eq(score_error(6, 18, 2), 0);
    cr_expect_float_eq(score_error(4, 10, 2), 1, 1e-12); /* of 1 and 3 */
}

/* Two pages of 10 and 30 bytes with the losses 8 and 12: together 20 / 40 nats per byte. Their
 * differences from this ratio are 3 and -3, so the error of the ratio is sqrt(18 * 2) / 40. */
Test(score, error_of_a_ratio)
{
    struct wiki_page pages[] = { { .bytes = 10, .nll = 8 }, { .bytes = 30, .nll = 12 } };
    struct wiki_text text = { .pages = pages, .count = 2 };
    cr_expect_float_eq(wiki_bits_error(&text), sqrt(36) / 40 / log(2), 1e-12);
    text.count = 1;
    cr_expect_eq(wiki_bits_error(&text), 0);
}

Test(score_figures, pieces_between_white_space)
{
    cr_expect_eq(wiki_pieces("", 0), 1);
    cr_expect_eq(wiki_pieces(" a \n\xC2\xA0 b\n", 9), 4);
    cr_expect_eq(wiki_pieces("ab", 2), 1);
}

Test(score, refuses_what_the_model_does_not_know)
{
    uint32_t bad[] = { 1, VOCABULARY };
    struct window strange = { .ids = bad, .count = 2, .scored = 1 };
    struct window longer = { .ids = ids, .count = POSITIONS + 2, .scored = 1 };
    cr_expect_eq(score_windows(&scorer, &strange, 1), -1);
    cr_expect(strstr(err_get(), "token 37"));
    cr_expect_eq(score_windows(&scorer, &longer, 1), -1);
    cr_expect(strstr(err_get(), "12 positions"));
}

/* The last tokens of an item must be scored after as much of it as the model has positions for. */
Test(score, items_keep_all_the_context_that_fits)
{
    struct items g = ITEMS_INIT(&scorer, NULL, NULL);
    ids_add_range(&g.ids, 0, 20);
    cr_assert_eq(items_add(&g, 0, 20, 4, 0), 0, "%s", err_get());
    cr_expect(g.windows->count == POSITIONS + 1 && g.windows->begin == 20 - (POSITIONS + 1));
    cr_assert_eq(items_add(&g, 8, 20, 4, 0), 0, "%s", err_get());
    cr_expect(g.windows[1].count == 12 && g.windows[1].begin == 8 && g.windows[1].scored == 4);
    items_release(&g);
}

Test(score_figures, perplexity)
{
    cr_expect_float_eq(score_perplexity(log(50257)), 50257, 1e-6);
    cr_expect_float_eq(score_perplexity(21), exp(20), 1e-6);
    cr_expect_float_eq(score_perplexity(20.5), exp(20), 1e-6);
    cr_expect_float_eq(score_perplexity(19.5), exp(19.5), 1e-6);
}

Test(lambada, parse)
{
    struct buf text = BUF_INIT;
    const char *line = "{\"x\": [1], \"text\": \"a \\u00e9\\n\\u0000b\"}";
    cr_expect_eq(lambada_parse(line, strlen(line), "f:1", &text), 0);
    cr_expect_eq(text.len, 7);
    cr_expect(!memcmp(text.data, "a \xC3\xA9\n\0b", 7));
    static const char *const bad[] = { "",
                                       "{",
                                       "[\"text\"]",
                                       "\"text\"",
                                       "{\"text\": 1}",
                                       "{\"text\": null}",
                                       "{\"text\": \"a\"} x",
                                       "{\"text\": \"\xFF\"}" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(lambada_parse(bad[i], strlen(bad[i]), "file:7", &text), -1, "%s", bad[i]);
        cr_expect(!strncmp(err_get(), "file:7: ", 8), "%s", err_get());
    }
    buf_release(&text);
}

/* With 16 digits, printf writes 9.95 as 9.949999999999999. */
Test(report, digits_are_the_fewest_that_tell_the_number)
{
    SCOPED(buf) out = BUF_INIT;
    report_digits(&out, 9.95);
    cr_expect_str_eq(out.data, "9.95");
}

Test(report, lines_and_json)
{
    for (int json = 0; json < 2; json++) {
        struct report r = REPORT_INIT(json);
        report_text(&r, "file", "a\"b");
        report_count(&r, "n", 1ull << 60);
        report_real(&r, "x", 1.0 / 3);
        report_exact(&r, "y", 1.0 / 3);
        report_exact(&r, "z", 2);
        cr_expect_str_eq(
            report_end(&r),
            json ? "{\"file\": \"a\\\"b\", \"n\": 1152921504606846976, \"x\": 0.3333333333333333, "
                   "\"y\": 0.3333333333333333, \"z\": 2}\n"
                 : "file=a\"b\nn=1152921504606846976\nx=0.333333\ny=0.3333333333333333\nz=2\n");
        report_release(&r);
    }
}

Test(subject, loads_a_tokenizer)
{
    struct subject s = { .vocab = "tests/data/successor" }, none = { .vocab = "/nowhere" };
    cr_assert_eq(subject_load_tokenizer(&s), 0, "%s", err_get());
    cr_assert(s.tokenizer && s.encoder);
    subject_release(&s);
    cr_assert_eq(subject_load_tokenizer(&none), -1);
}
