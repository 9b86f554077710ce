/* Cleans any bytes as wikitext of one of the larger wikis, with every option, and splits the result
 * into sentences. */
#include <stdint.h>
#include <string.h>

#include "common/base/buf.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct names *names;
    static struct sentence_model *model;
    static struct wikitext *cleaners[2];
    static const char *const langs[] = { "en", "de", "fr", "es", "it", "ja", "pl", "pt", "ru" };
    static struct template_page page = { .title = "Moon",
                                         .timestamp = "2020-01-31",
                                         .hatnotes = 1 };
    static struct buf text = BUF_INIT, sentences = BUF_INIT, categories = BUF_INIT;
    if (!names) {
        names = names_new();
        model = sentence_model_new("en");
        cleaners[0] = wikitext_new(names, &(struct wikitext_options){ 0 });
        cleaners[1] = wikitext_new(names, &(struct wikitext_options){ .no_lists = 1,
                                                                      .no_headings = 1,
                                                                      .tables = 1,
                                                                      .categories = &categories,
                                                                      .render = template_render,
                                                                      .render_ctx = &page });
    }
    page.lang = langs[size % (sizeof langs / sizeof *langs)];
    for (int i = 0; i < 2; i++) {
        wikitext_clean(cleaners[i], (const char *)data, size, &text);
        check(&text);
        sentence_split_text(model, &sentences, text.data, text.len);
        check(&sentences);
    }
    return 0;
}
