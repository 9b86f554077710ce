/* Reads a JSON line as textclean does, judges and changes its text, and writes it again. What is
 * written is JSON that the tree's parser reads, with the mark and the text. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/formats/js.h"
#include "textclean/entry.h"
#include "textclean/personal.h"
#include "textclean/rules.h"

static void judge(struct entry *r)
{
    struct rules rules;
    struct rules_tools tools;
    struct buf text = BUF_INIT;
    uint64_t lines = 0;
    int set = rules_set(&rules, "repetition,gopher,c4,fineweb,mc4", NULL, NULL, 0);
    assert(!set);
    rules_tools_init(NULL, &tools);
    for (int failed; (failed = rules_judge(&rules, &tools, r->document.text.data,
                                           r->document.text.len, &lines)) >= 0;) {
        assert(failed < (int)rules.count && !isnan(rules.limits[failed]));
        rules.limits[failed] = NAN; /* off, so that the rules after it see the text, too */
    }
    rules_tools_release(&tools);
    if (personal_replace(&text, r->document.text.data, r->document.text.len, PERSONAL_REPLACE)) {
        buf_clear(&r->document.text);
        buf_add(&r->document.text, text.data, text.len);
        r->changed = 1;
    }
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct entry r;
    struct buf out = BUF_INIT;
    entry_init(&r);
    r.file = "fuzz";
    buf_add(&r.raw, data, size);
    if (!memchr(r.raw.data, '\n', r.raw.len) && !entry_parse(&r, ENTRY_JSONL, "text")) {
        judge(&r);
        entry_put(&r, ENTRY_JSONL, "a \"b\"", &out);
        struct js *root = js_parse(out.data, out.len, "out");
        size_t n = 0;
        const char *text = root ? js_text(js_get(root, "text"), &n) : NULL;
        if (root) { /* else the other parser refuses it: a key occurs twice, or half a pair */
            assert(text || js_is_null(js_get(root, "text"))); /* no text: an empty one */
            assert(n == r.document.text.len && (!n || !memcmp(text, r.document.text.data, n)));
            assert(js_text_is(js_get(root, "textclean"), "a \"b\""));
        }
        js_free(root);
    }
    entry_release(&r);
    buf_release(&out);
    return 0;
}
