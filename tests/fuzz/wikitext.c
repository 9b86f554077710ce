/* Cleans any bytes as HTML, and as wikitext of one of the larger wikis, with every option, and
 * splits the result into sentences. */
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "wikiprep/sentences/sentence.h"
#include "wikiprep/text/template.h"
#include "wikiprep/text/wikitext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) /* none of the bytes in between is left */
        if ((unsigned char)text->data[i] < 0x20 && text->data[i] != '\n')
            __builtin_trap();
    if (text->len && text->data[text->len - 1] == '\n')
        __builtin_trap();
}

/* Each part is JSON. */
static void check_parts(const struct page_parts *parts)
{
    struct buf json = BUF_INIT;
    for (int i = 0; i < PAGE_PARTS; i++) {
        buf_clear(&json);
        buf_addf(&json, "[%s]", parts->json[i].data);
        struct js *root = js_parse(json.data, json.len, "part");
        if (!root)
            __builtin_trap();
        js_free(root);
    }
    buf_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct names *names;
    static struct sentence_model *model;
    static struct wikitext *cleaners[3];
    static struct page_parts parts;
    static const char *const langs[] = { "en", "de", "fr", "es", "it", "ja", "pl", "pt", "ru" };
    static struct template_page page = { .title = "Moon",
                                         .timestamp = "2020-01-31",
                                         .hatnotes = 1 };
    static struct variants *variants[2];
    static struct buf text = BUF_INIT, sentences = BUF_INIT, categories = BUF_INIT;
    if (!names) {
        names = names_new(1);
        model = sentence_model_new("en");
        variants[0] = variants_new("zh", "zh-tw");
        variants[1] = variants_new("sr", "sr-ec");
        cleaners[0] = wikitext_new(names, &(struct wikitext_options){ 0 });
        cleaners[1] = wikitext_new(names, &(struct wikitext_options){ .no_lists = 1,
                                                                      .no_headings = 1,
                                                                      .tables = 1,
                                                                      .categories = &categories,
                                                                      .render = template_render,
                                                                      .page = &page,
                                                                      .render_ctx = &page });
        page_parts_each(&parts, buf_init);
        page.parts = &parts;
        cleaners[2] = wikitext_new(names, &(struct wikitext_options){ .tables = 1,
                                                                      .formulas = 1,
                                                                      .markdown = 1,
                                                                      .parts = &parts,
                                                                      .wanted = ~0u,
                                                                      .page = &page,
                                                                      .render = template_render,
                                                                      .render_ctx = &page });
    }
    page_parts_each(&parts, buf_clear);
    page.variants = variants[size % 2];
    page.lang = langs[size % (sizeof langs / sizeof *langs)];
    for (int i = 0; i < 3; i++) {
        wikitext_clean(cleaners[i], (const char *)data, size, &text);
        for (size_t k = 0; i == 2 && k < text.len; k++) /* code may have tabs */
            text.data[k] = text.data[k] == '\t' ? ' ' : text.data[k];
        check(&text);
        sentence_split_text(model, &sentences, text.data, text.len);
        check(&sentences);
    }
    wikitext_clean_html(cleaners[2], (const char *)data, size, &text);
    for (size_t k = 0; k < text.len; k++)
        text.data[k] = text.data[k] == '\t' ? ' ' : text.data[k];
    check(&text);
    if (utf8_valid((const char *)data, size) == size)
        check_parts(&parts);
    return 0;
}
