/* The first byte selects rules; the rest is a text. BERT's words, found in one pass, must be those
 * of its single steps, and the normalization forms must agree with each other. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "tokenizer/cut/normalize.h"
#include "tokenizer/cut/steps.h"
#include "unicode/forms.h"

enum { RULES = 1 << 5 };

/* Appends the words, each followed by a NUL. */
static void add_pieces(struct buf *out, const struct pieces *p)
{
    for (size_t i = 0; i < p->count; i++) {
        buf_add(out, p->text + p->begins[i], p->ends[i] - p->begins[i]);
        buf_addc(out, '\0');
    }
}

static void words_at_once(struct buf *out, const char *text, size_t n,
                          const struct bert_rules *rules, unsigned bits)
{
    static struct normalizer *normalizers[RULES];
    if (!normalizers[bits])
        normalizers[bits] = normalizer_new(rules);
    struct words *w = words_new(normalizers[bits]);
    struct pieces p;
    words_begin(w, text, n);
    while (words_next(w, &p)) {
        for (size_t i = 0; i < p.count; i++)
            assert(p.begins[i] < p.ends[i] && p.ends[i] + 64 <= p.readable);
        add_pieces(out, &p);
    }
    words_free(w);
}

static void words_by_steps(struct buf *out, const char *text, size_t n,
                           const struct bert_rules *rules)
{
    static const char cutter[] = "{\"type\":\"BertPreTokenizer\"}";
    struct js *value = js_parse(cutter, strlen(cutter), "cutter");
    struct steps normalizer = { 0 }, cuts = { 0 };
    struct pieces p;
    struct buf normal = BUF_INIT;
    int byte_level = 0, lost, failed = steps_read_pre_tokenizer(&cuts, value, &byte_level);
    steps_add_bert(&normalizer, rules);
    struct stepper *s = stepper_new(&normalizer, &cuts);
    failed |= stepper_normalize(s, text, n, &normal, &lost, NULL);
    assert(!failed && utf8_valid(normal.data, normal.len) == normal.len);
    failed = stepper_cut(s, normal.data, normal.len, 1, &p);
    assert(!failed);
    add_pieces(out, &p);
    stepper_free(s);
    steps_release(&normalizer);
    steps_release(&cuts);
    js_free(value);
    buf_release(&normal);
}

static void check_words(const char *text, size_t n, unsigned bits)
{
    struct bert_rules rules = { bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1,
                                bits >> 4 & 1 };
    struct buf a = BUF_INIT, b = BUF_INIT;
    words_at_once(&a, text, n, &rules, bits);
    assert(utf8_valid(a.data, a.len) == a.len);
    if (!rules.google) {
        words_by_steps(&b, text, n, &rules);
        assert(a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len)));
    }
    buf_release(&a);
    buf_release(&b);
}

/* Checks that form `second` of form `first` of the text equals its form `want`. */
static void check_form(const char *text, size_t n, enum form first, enum form second,
                       enum form want)
{
    struct buf one = BUF_INIT, two = BUF_INIT, direct = BUF_INIT;
    forms_normalize(&one, text, n, first);
    forms_normalize(&two, one.data, one.len, second);
    forms_normalize(&direct, text, n, want);
    assert(utf8_valid(one.data, one.len) == one.len);
    assert(two.len == direct.len && (!two.len || !memcmp(two.data, direct.data, two.len)));
    buf_release(&one);
    buf_release(&two);
    buf_release(&direct);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = BUF_INIT;
    if (!size)
        return 0;
    utf8_repair(&text, (const char *)data + 1, size - 1);
    check_words(text.data, text.len, data[0] % RULES);
    for (int compatible = 0; compatible < 2; compatible++) {
        enum form d = compatible ? FORM_NFKD : FORM_NFD, c = compatible ? FORM_NFKC : FORM_NFC;
        check_form(text.data, text.len, c, d, d);
        check_form(text.data, text.len, d, c, c);
        check_form(text.data, text.len, c, c, c);
    }
    buf_release(&text);
    return 0;
}
