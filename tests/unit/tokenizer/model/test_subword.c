#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/subword.h"
#include "tokenizer/parts.h"
#include "tokenizer/tokenizer.h"

/* With ignore_merges, some pieces are tokens, which their merges do not give, and others are merged
 * several at a time. The ids of all must be in the order of the pieces. */
Test(subword, pieces_that_are_tokens_stand_among_merged_ones)
{
    static const char file[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
        "\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":{\"a\":0,\"b\":1,\"c\":2,"
        "\"ab\":3,\"abc\":4,\"cab\":5},\"merges\":[[\"a\",\"b\"]]}}";
    static const char text[] = "abcbaabcabcabab";
    static const size_t bounds[] = { 0, 3, 5, 7, 10, 13, 15 };
    static const uint32_t want[] = { 4, 1, 0, 3, 5, 5, 3 };
    static const size_t want_ends[] = { 1, 3, 4, 5, 6, 7 };
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, file, strlen(file), "x"), 0, "%s", err_get());
    struct tokenizer *t = tokenizer_from_vocabulary(&v);
    struct subword_scratch scratch = { 0 };
    struct pieces p = { text, strlen(text), bounds, bounds + 1, 6, NULL };
    struct ids got = { 0 };
    size_t ends[6];
    cr_assert(t, "%s", err_get());
    cr_assert_eq(subword_encode_all(t->subword, &scratch, &p, &got, ends), 0, "%s", err_get());
    cr_assert_eq(got.count, 7);
    cr_expect(!memcmp(got.data, want, sizeof want));
    cr_expect(!memcmp(ends, want_ends, sizeof ends));
    p = (struct pieces){ "abcbxab", 7,   (const size_t[]){ 0, 3, 5 }, (const size_t[]){ 3, 5, 7 },
                         3,         NULL };
    cr_expect_eq(subword_encode_all(t->subword, &scratch, &p, &got, ends), -1, "x has no token");
    subword_scratch_release(&scratch);
    ids_release(&got);
    tokenizer_free(t);
}
