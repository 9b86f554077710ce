/* Words, marks and sentences of texts. The words are those of spaCy 3.8, blank("en"). */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/simd.h"
#include "textclean/words.h"

/* The text's words, with | between them. */
static const char *split(struct words *w, struct buf *out, const char *text)
{
    struct buf padded = BUF_INIT;
    buf_adds(&padded, text);
    buf_reserve(&padded, WORDS_PAD);
    words_split(w, padded.data, padded.len);
    buf_clear(out);
    for (size_t i = 0; i < w->count; i++) {
        buf_adds(out, i ? "|" : "");
        buf_add(out, padded.data + w->list[i].at, w->list[i].bytes);
    }
    buf_release(&padded);
    return out->data;
}

Test(words, are_those_of_spacy)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "The cat's (well-known) \"hat\", isn't it?",
          "The|cat|'s|(|well|-|known|)|\"|hat|\"|,|is|n't|it|?" },
        { "He\u2019d say we\u2019re y\u2019all's; don't, can't've, cannot.",
          "He|\u2019d|say|we|\u2019re|y\u2019|all|'s|;|do|n't|,|ca|n't|'ve|,|can|not|." },
        { "im dont id well its", "i|m|do|nt|i|d|well|its" },
        { "Mr. Smith, U-Va., e.g. at 5pm or 3 p.m. (b.)",
          "Mr.|Smith|,|U|-|Va.|,|e.g.|at|5|pm|or|3|p.m.|(|b.|)" },
        { "a.b. U.S. end.The end.the foo.)", "a.b|.|U.S.|end|.|The|end.the|foo|.|)" },
        { "Wait... what..? so\u2026and \u2026\u2026",
          "Wait|...|what|..|?|so|\u2026|and|\u2026|\u2026" },
        { "5km 27\u00a2 $5 20\u00b0C. 3-4 1,000 x=y a/b C++, 10%",
          "5|km|27\u00a2|$|5|20|\u00b0|C|.|3|-|4|1,000|x|=|y|a|/|b|C++|,|10|%" },
        { "See https://a.org/b-c?d=e-f, x@y.org or href=\"https://a.org/b-c",
          "See|https://a.org/b-c?d=e-f|,|x@y.org|or|href=\"https://a.org|/|b|-|c" },
        { ":) x:) (x): 8) --- -5", ":)|x|:)|(|x|):|8)|---|-5" },
        { "a\u00a0b\u2028c\u3000d \u00e9t\u00e9,", "a|b|c|d|\u00e9t\u00e9|," },
    };
    struct words w;
    struct buf out = BUF_INIT;
    words_init(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(split(&w, &out, cases[i][0]), cases[i][1], "%s: %s", cases[i][0],
                         out.data);
    words_release(&w);
    buf_release(&out);
}

Test(words, any_bytes_are_covered_in_order)
{
    struct words w;
    struct buf text = BUF_INIT;
    uint32_t random = 1;
    words_init(&w);
    for (int round = 0; round < 300; round++) {
        buf_clear(&text);
        for (int i = 0; i < 200; i++) {
            random = random * 1664525 + 1013904223;
            buf_addc(&text, "ab.C-,'\"s \n9\xF4\xBF\xC3()"[random >> 24 & 15]);
        }
        buf_reserve(&text, WORDS_PAD);
        simd_use(round % 2 ? SIMD_PLAIN : SIMD_AVX512);
        words_split(&w, text.data, text.len);
        size_t end = 0, bytes = 0, letters = 0;
        for (size_t i = 0; i < w.count; i++) {
            cr_assert(w.list[i].at >= end && w.list[i].bytes > 0);
            end = w.list[i].at + w.list[i].bytes;
            bytes += w.list[i].bytes;
            letters += (w.list[i].flags & WORD_HAS_LETTER) > 0;
        }
        cr_expect(end <= text.len);
        /* a blank behind the text, or another level, changes nothing */
        size_t count = w.count, more = 0;
        buf_addc(&text, ' ');
        buf_reserve(&text, WORDS_PAD);
        simd_use(SIMD_PLAIN);
        words_split(&w, text.data, text.len);
        for (size_t i = 0; i < w.count; i++)
            more += (w.list[i].flags & WORD_HAS_LETTER) > 0;
        cr_expect(w.count == count && more == letters);
        buf_truncate(&text, text.len - 1);
        for (size_t i = 0; i < text.len; i++)
            bytes += text.data[i] == ' ' || text.data[i] == '\n';
        cr_expect(bytes == text.len, "%zu of %zu bytes", bytes, text.len);
    }
    simd_chosen = -1;
    words_release(&w);
    buf_release(&text);
}

Test(words, sentences_and_counts)
{
    struct words w;
    struct buf out = BUF_INIT;
    words_init(&w);
    split(&w, &out, "Mr. A said: \"No.\" The the cat. (Yes!) Then...");
    cr_expect(words_sentences(&w, 0, w.count) == 4, "%zu", words_sentences(&w, 0, w.count));
    cr_expect(words_sentences(&w, 0, 0) == 0);
    cr_expect(words_has(&w, "the") && words_has(&w, "The"));
    cr_expect(!words_has(&w, "dog"));
    words_release(&w);
    buf_release(&out);
}
