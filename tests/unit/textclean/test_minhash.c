/* Signatures beside those of datatrove 0.10.1: the same numbers for texts of several scripts. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/simd.h"
#include "textclean/minhash.h"

static const char *const texts[] = {
    "The Moon goes around the Earth, and both go around the Sun.",
    "In 1969, 3.5 billion people\u2026 couldn\u2019t \u201csee\u201d it; cannot, won't: 27,000 km\u00b2 \u2013 na\u00efve caf\u00e9s!\nIM not sure it\u2019s 5km.",
    "\u0397 \u03a3\u03b5\u03bb\u03ae\u03bd\u03b7 \u03b5\u03af\u03bd\u03b1\u03b9 \u03bf \u039c\u039f\u039d\u039f\u03a3 \u03c6\u03c5\u03c3\u03b9\u03ba\u03cc\u03c2 \u03b4\u03bf\u03c1\u03c5\u03c6\u03cc\u03c1\u03bf\u03c2 \u03c4\u03b7\u03c2 \u0393\u03b7\u03c2.",
    "\ub2ec\uc740 \uc9c0\uad6c\uc758 \uc720\uc77c\ud55c \uc790\uc5f0 \uc704\uc131\uc774\ub2e4. \u0663\u066b\u0665 \u0130stanbul \u00c5ngstr\u00f6m e\u0301 \u2603 x",
};

/* Numbers 0, 55 and 111 of the signature, and the sum of all. */
static const uint64_t expected[][4] = {
    { UINT64_C(142714617009317726), UINT64_C(1123631505144763462), UINT64_C(153972511434017513),
      UINT64_C(13028161490220565830) },
    { UINT64_C(4873398718671426), UINT64_C(10010029133188655), UINT64_C(74202687893654186),
      UINT64_C(12061156182758867048) },
    { UINT64_C(147432783427180541), UINT64_C(161195900708963220), UINT64_C(893001696185309619),
      UINT64_C(11079427465168366763) },
    { UINT64_C(291519013644185215), UINT64_C(444257708127636014), UINT64_C(138409027640411913),
      UINT64_C(14120730142799364079) },
};

static void check(const struct minhash *m)
{
    struct minhash_tools t;
    minhash_tools_init(&t, m);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t sum = 0;
        cr_assert(minhash_sign(m, &t, texts[i], strlen(texts[i])) > 0);
        for (size_t k = 0; k < m->count; k++)
            sum += t.signature[k];
        cr_expect(t.signature[0] == expected[i][0] && t.signature[55] == expected[i][1] &&
                      t.signature[111] == expected[i][2] && sum == expected[i][3],
                  "text %zu", i);
    }
    cr_expect(minhash_sign(m, &t, "one two, three - four!", 22) == 0);
    minhash_tools_release(&t);
}

Test(minhash, signatures_are_those_of_datatrove)
{
    struct minhash m = { .shingle = 5, .bands = 14, .rows = 8 };
    minhash_init(&m, 1);
    check(&m);
    simd_use(SIMD_PLAIN);
    check(&m);
    minhash_release(&m);
}

Test(minhash, shingles_of_characters)
{
    struct minhash m = { .shingle = 3, .characters = 1, .bands = 2, .rows = 2 };
    struct minhash_tools t;
    uint64_t first;
    minhash_init(&m, 1);
    minhash_tools_init(&t, &m);
    cr_expect(minhash_sign(&m, &t, "ab", 2) == 0);
    cr_expect(minhash_sign(&m, &t, "abc", 3) == 1);
    first = minhash_band(&m, &t, 0);
    cr_expect(minhash_sign(&m, &t, "A, B", 4) == 1);
    cr_expect(minhash_band(&m, &t, 0) != first &&
              minhash_band(&m, &t, 0) != minhash_band(&m, &t, 1));
    cr_expect(minhash_sign(&m, &t, "\u00c4bC", 4) == 1 && minhash_band(&m, &t, 0) == first);
    minhash_tools_release(&t);
    minhash_release(&m);
}
