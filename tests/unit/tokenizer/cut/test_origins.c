/* Where each character of a normalized text came from. What is expected is what Hugging Face's
 * tokenizers 0.23 give as offsets. */
#include "tokenizer/cut/origins.h"

#include <criterion/criterion.h>

#include "common/base/err.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"

#define BERT             "{\"type\":\"BertNormalizer\"}"
#define BERT_WITH(rules) "{\"type\":\"BertNormalizer\"," rules "}"
#define FORM(name)       "{\"type\":\"" name "\"}"
#define REPLACE(pattern, content)                                                                  \
    "{\"type\":\"Replace\",\"pattern\":" pattern ",\"content\":\"" content "\"}"

static const struct {
    const char *normalizer, *text, *out;
    const char *origins; /* of each character: the number of a character of the text */
} cases[] = {
    { BERT, "\u200Ba\u200Bb", "ab", "1 3 " },
    { BERT, "\u00C9\u6708b", "e \u6708 b", "0 1 1 1 2 " },
    { BERT, "e\u0301\tX", "e x", "0 2 3 " },
    { BERT_WITH("\"lowercase\":false,\"handle_chinese_chars\":false"), "\u00C9\t\u6708b",
      "\u00C9 \u6708b", "0 1 2 3 " },
    { BERT_WITH("\"lowercase\":false,\"strip_accents\":true"), "\u00C9b", "Eb", "0 1 " },
    { BERT_WITH("\"clean_text\":false,\"strip_accents\":false"), "\1\u00C9", "\1\u00E9", "0 1 " },
    { FORM("NFD"), "a\u00E9b", "ae\u0301b", "0 1 1 2 " },
    { FORM("NFD"), "\u00E9x\u0301", "e\u0301x\u0301", "0 0 1 2 " },
    { FORM("NFC"), "ae\u0301\u0323b", "a\u1EB9\u0301b", "0 1 3 4 " },
    { FORM("NFC"), "\u1100\u1161x", "\uAC00x", "0 2 " },
    { FORM("NFKC"), "\uFB01\u00BDx", "fi1\u20442x", "0 0 1 1 1 2 " },
    { FORM("Lowercase"), "a\u0130B", "ai\u0307b", "0 1 1 2 " },
    { FORM("StripAccents"), "\u0301ae\u0301b", "aeb", "1 2 4 " },
    { FORM("Nmt"), "a\u200Bb\1c", "a bc", "0 1 2 4 " },
    { "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", "  ab ", "ab", "2 3 " },
    { "{\"type\":\"Prepend\",\"prepend\":\"\u2581\u00E9\"}", "ab", "\u2581\u00E9ab", "0 0 0 1 " },
    { REPLACE("{\"Regex\":\" +\"}", "\u2581\u2581"), "a   b c", "a\u2581\u2581b\u2581\u2581c",
      "0 3 3 4 5 5 6 " },
    { REPLACE("{\"String\":\"b\"}", ""), "abbc", "ac", "0 3 " },
    { "{\"type\":\"Sequence\",\"normalizers\":[" FORM("NFD") "," FORM(
          "StripAccents") ",{\"type\":\"Prepend\",\"prepend\":\"_\"}," REPLACE("{\"String\":\"a\"}",
                                                                               "xy") "]}",
      "\u00E9a\u00E9", "_exye", "0 0 1 1 2 " },
    { FORM("NFC"), "", "", "" },
};

Test(origins, as_hugging_face_has_them)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        const size_t n = strlen(text);
        struct steps steps = { 0 }, none = { 0 };
        struct buf out = BUF_INIT, list = BUF_INIT;
        struct ids origins = { 0 };
        int lost;
        struct js *json = js_parse(cases[i].normalizer, strlen(cases[i].normalizer), "x");
        cr_assert(json && !steps_read_normalizer(&steps, json), "%s", err_get());
        struct stepper *s = stepper_new(&steps, &none);
        stepper_keep_origins(s, origins_follow);
        ids_add_range(&origins, 0, (uint32_t)n);
        cr_assert_eq(stepper_normalize(s, text, n, &out, &lost, &origins), 0, "%s", err_get());
        cr_expect_str_eq(out.data, cases[i].out);
        cr_assert_eq(origins.count, out.len);
        for (size_t k = 0; k < out.len; k++)
            if ((out.data[k] & 0xC0) != 0x80)
                buf_addf(&list, "%zu ", utf8_count(text, origins.data[k] + 1) - 1);
        cr_expect_str_eq(list.data, cases[i].origins, "%s of '%s': %s", cases[i].normalizer, text,
                         list.data);
        stepper_free(s);
        steps_release(&steps);
        js_free(json);
        ids_release(&origins);
        buf_release(&out);
        buf_release(&list);
    }
}
