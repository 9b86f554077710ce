/* Google's recipe for training instances: which sentence follows, how many tokens are masked, how
 * pairs are cut. In the texts of these tests an id tells the document, the sentence and the place
 * of its token. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tfrecord/layouts/instances.h"

enum { CLS = 1, SEP = 2, MASK = 3, FIRST = 1000, VOCABULARY = 200000 };
enum { DOCUMENTS = 30, SENTENCES = 4, LONGEST = 50, PASSES = 40 };

static uint32_t id_of(uint32_t document, uint32_t sentence, uint32_t place)
{
    return FIRST + (document * SENTENCES + sentence) * LONGEST + place;
}

static uint32_t sentence_of(uint32_t id) /* over all documents */
{
    return (id - FIRST) / LONGEST;
}

static uint32_t document_of(uint32_t id)
{
    return sentence_of(id) / SENTENCES;
}

/* Makes the instances of DOCUMENTS documents of SENTENCES sentences of `length` tokens each. */
static void make(struct instances *out, uint32_t sequence_length, uint32_t mask_tokens,
                 uint32_t length)
{
    struct sentences s = { 0 };
    uint32_t ids[SENTENCES * LONGEST], ends[SENTENCES];
    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < SENTENCES; k++) {
            for (uint32_t i = 0; i < length; i++)
                ids[n++] = id_of(d, k, i);
            ends[k] = n;
        }
        sentences_add(&s, ids, n, ends, SENTENCES);
    }
    struct instances_recipe r = { .sequence_length = sequence_length,
                                  .mask_tokens = mask_tokens,
                                  .passes = PASSES,
                                  .mlm = 0.15,
                                  .seed = 5,
                                  .vocabulary = VOCABULARY,
                                  .cls = CLS,
                                  .sep = SEP,
                                  .mask = MASK };
    instances_make(out, &r, &s);
    sentences_release(&s);
}

/* Writes to tokens[] the tokens of x as they were before masking. */
static void restore(const struct instances *all, const struct instance *x, uint32_t *tokens)
{
    for (uint32_t i = 0; i < x->length; i++)
        tokens[i] = instance_tokens(all, x)[i];
    for (uint32_t i = 0; i < x->masked; i++)
        tokens[instance_positions(all, x)[i]] = instance_labels(all, x)[i];
}

/* Part B of a pair must continue part A, or be from another document; the label says which of the
 * two. */
Test(instances, the_label_says_whether_b_follows)
{
    struct instances all = { 0 };
    uint32_t tokens[64], random = 0;
    make(&all, 64, 8, 20);
    cr_assert_gt(all.count, 1000);
    for (size_t i = 0; i < all.count; i++) {
        const struct instance *x = &all.list[i];
        restore(&all, x, tokens);
        uint32_t a = tokens[x->second - 2], b = tokens[x->second];
        cr_assert(tokens[0] == CLS && tokens[x->second - 1] == SEP && tokens[x->length - 1] == SEP);
        cr_assert_eq(document_of(a) != document_of(b), x->random);
        cr_assert(x->random || sentence_of(b) == sentence_of(a) + 1);
        random += x->random;
    }
    /* more than half: what is left over after a random B is a pair of its own, often of one
     * sentence */
    cr_expect(random > all.count / 2 && random < all.count * 4 / 5, "%u of %zu", random, all.count);
    instances_release(&all);
}

/* Pairs of sentences of 50 tokens, 39 tokens too many. The longer part must lose tokens, at a tie
 * part B, at its front or back. */
Test(instances, the_longer_part_of_a_pair_is_cut_at_both_ends)
{
    struct instances all = { 0 };
    uint32_t tokens[64], front = 0, back = 0;
    make(&all, 64, 8, LONGEST);
    for (size_t i = 0; i < all.count; i++) {
        const struct instance *x = &all.list[i];
        restore(&all, x, tokens);
        cr_assert_eq(x->length, 64);
        cr_assert_eq(x->second, 1 + 31 + 1); /* 31 tokens of A, 30 of B */
        for (uint32_t k = 1; k + 1 < x->length; k++)
            if (k + 1 != x->second && k != x->second && k != 1)
                cr_assert_eq(tokens[k], tokens[k - 1] + 1, "A and B are one stretch each");
        front += (tokens[1] - FIRST) % LONGEST;
        back += LONGEST - 31 - (tokens[1] - FIRST) % LONGEST;
    }
    double share = (double)front / (front + back);
    cr_expect_float_eq(share, 0.5, 0.03, "%g of what A loses is its beginning", share);
    instances_release(&all);
}

/* The number of masked tokens follows from the length of the sequence (instances.h). Of the masked
 * tokens, eight in ten become [MASK], one stays, one becomes a random token. */
Test(instances, masked_tokens_become_what_their_shares_say)
{
    struct instances all = { 0 };
    uint32_t masked = 0, same = 0, other = 0;
    make(&all, 23, 8, 10);
    for (size_t i = 0; i < all.count; i++) {
        const struct instance *x = &all.list[i];
        uint32_t want = (uint32_t)rint(0.15 * x->length);
        uint32_t least = x->length + 8 > 23 ? x->length + 8 - 23 : 0;
        want = want > least ? want : least;
        cr_assert_eq(x->masked, want < 8 ? want : 8, "%u of %u", x->masked, x->length);
        for (uint32_t k = 0; k < x->masked; k++) {
            uint32_t place = instance_positions(&all, x)[k], label = instance_labels(&all, x)[k];
            uint32_t now = instance_tokens(&all, x)[place];
            cr_assert(label >= FIRST && (!k || place > instance_positions(&all, x)[k - 1]));
            masked += now == MASK;
            same += now == label;
            other += now != MASK && now != label;
        }
    }
    double n = masked + same + other, deviation = 5 * sqrt(0.16 / n);
    cr_expect_float_eq(masked / n, 0.8, deviation, "[MASK]: %g", masked / n);
    cr_expect_float_eq(same / n, 0.1, deviation, "the same: %g", same / n);
    cr_expect_float_eq(other / n, 0.1, deviation, "another: %g", other / n);
    instances_release(&all);
}
