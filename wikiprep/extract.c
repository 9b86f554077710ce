#include "wikiprep/extract.h"

#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "wikiprep/classic/classic.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/sentences/sentence.h"
#include "wikiprep/text/template.h"
#include "wikiprep/text/visible.h"
#include "wikiprep/text/wikitext.h"

struct extract *extract_new(const struct extract_options *how)
{
    struct extract *x = mem_zalloc(1, sizeof *x);
    struct wikitext_options options = { .no_lists = !how->lists,
                                        .no_headings = !how->headings,
                                        .formulas = how->formulas,
                                        .tables = how->tables,
                                        .code = how->code,
                                        .markdown = how->markdown,
                                        .render = template_render,
                                        .render_ctx = &x->page,
                                        .page = &x->page,
                                        .categories = &x->categories,
                                        .parts = &x->parts };
    x->how = how;
    page_parts_each(&x->parts, buf_init);
    const int has_fields = how->format == SINK_JSON || how->format == SINK_ROWS;
    if (has_fields)
        x->wanted = page_json_parts(&how->layout);
    options.wanted = how->library ? x->wanted & ~PARTS_OF_SOURCE : x->wanted;
    x->document = (struct document)DOCUMENT_INIT;
    buf_init(&x->bytes);
    buf_init(&x->expanded);
    buf_init(&x->text);
    buf_init(&x->categories);
    if (!how->classic || how->filter_categories || x->wanted ||
        (has_fields && page_json_has_categories(&how->layout)))
        x->cleaner = wikitext_new(NULL, &options);
    options.wanted = x->wanted & PARTS_OF_SOURCE;
    options.categories = NULL;
    if (how->library && options.wanted)
        x->source = wikitext_new(NULL, &options);
    if (how->classic)
        x->classic = classic_new();
    if (how->library)
        x->expander = expander_new(how->library, template_choose);
    return x;
}

void extract_free(struct extract *x)
{
    if (!x)
        return;
    document_release(&x->document);
    wikitext_free(x->cleaner);
    wikitext_free(x->source);
    page_parts_each(&x->parts, buf_release);
    classic_free(x->classic);
    expander_free(x->expander);
    buf_release(&x->bytes);
    buf_release(&x->expanded);
    buf_release(&x->text);
    buf_release(&x->categories);
    free(x);
}

/* Returns the text of a scanned page without its header and footer, which are in <noinclude> at
 * its ends. */
static struct span scanned_text(const struct buf *text)
{
    static const char open[] = "<noinclude>", close[] = "</noinclude>";
    const char *s = text->data, *end = s + text->len, *at;
    if (!strncmp(s, open, sizeof open - 1) && (at = strstr(s, close)))
        s = at + sizeof close - 1;
    const char *footer = NULL;
    for (at = s; (at = strstr(at, open)); at++)
        footer = at;
    const char *last = footer ? strstr(footer, close) : NULL;
    return span_between(s, last && last + sizeof close - 1 == end ? footer : end);
}

/* Returns the page's wikitext; of a scanned page, without header and footer. An expander expands
 * its templates; then hidden elements are removed (visible.h), such as sort keys in tables. */
static const struct buf *expand(struct extract *x, const struct dump_page *p)
{
    struct span source = { p->text.data, p->text.len };
    if (dump_page_is_scan(p))
        source = scanned_text(&p->text);
    if (!x->expander && source.n == p->text.len &&
        (x->classic || !memmem(source.s, source.n, "display:", strlen("display:"))))
        return &p->text; /* the usual case */
    if (x->expander)
        x->is_cut = expand_text(x->expander, &x->page, source.s, source.n, &x->expanded);
    else
        buf_set(&x->expanded, source.s, source.n);
    visible_filter(&x->expanded, x->how->hatnotes);
    return &x->expanded;
}

/* Runs the cleaner w, unless it is NULL, on `source`: writes the text to *text and fills what the
 * cleaner's options name. */
static void clean(struct wikitext *w, const struct site *site, const struct buf *source,
                  struct buf *text, int is_html)
{
    if (!w)
        return;
    wikitext_set_site(w, site->names, site->wanted, site->unwanted);
    if (is_html)
        wikitext_clean_html(w, source->data, source->len, text);
    else
        wikitext_clean(w, source->data, source->len, text);
}

/* Extracts the page's text into x->document. Returns EXTRACT_WRITTEN, or the reason why the page is
 * left out. */
static enum extract_result extract_text(struct extract *x, const struct site *site,
                                        const struct dump_page *p)
{
    const struct extract_options *how = x->how;
    struct buf *text = how->sentences || x->classic ? &x->text : &x->document.text;
    int is_html = !strcmp(p->model.data, "html");
    if (how->filter_disambiguation &&
        (is_html ? strstr(p->text.data, "mw:PageProp/disambiguation") != NULL
                 : dump_disambiguates(p->text.data, p->text.len)))
        return EXTRACT_DISAMBIGUATION;
    x->page = (struct template_page){ .lang = site->lang,
                                      .title = p->title.data,
                                      .id = p->id.data,
                                      .revid = p->revid.data,
                                      .timestamp = p->timestamp.data,
                                      .variants = site->variants,
                                      .hatnotes = how->hatnotes,
                                      .formulas = how->formulas,
                                      .markdown = how->markdown };
    page_parts_each(&x->parts, buf_clear);
    x->page.parts = x->source || !how->library ? &x->parts : NULL;
    if (p->wikidata.len)
        js_quote(&x->parts.json[PART_WIKIDATA], p->wikidata.data, p->wikidata.len);
    clean(x->source, site, &p->text, text, is_html);
    if (x->source)
        x->page.parts = NULL;
    const struct buf *source = is_html ? &p->text : expand(x, p);
    if (how->filter_disambiguation && source != &p->text &&
        dump_disambiguates(source->data, source->len)) /* its templates say so */
        return EXTRACT_DISAMBIGUATION;
    clean(x->cleaner, site, source, text, is_html);
    if (!site_takes_categories(site, x->categories.data))
        return EXTRACT_CATEGORY;
    if (p->redirect) {
        buf_clear(&x->document.text);
        buf_clear(&x->parts.json[PART_SECTIONS]);
        return EXTRACT_WRITTEN;
    }
    if (x->classic) {
        text = &x->document.text;
        classic_clean(x->classic, p->title.data, source->data, source->len, text);
    }
    if (!text->len && !x->classic)
        return EXTRACT_NO_TEXT;
    if (how->min_length && (int64_t)utf8_count(text->data, text->len) < how->min_length)
        return text->len ? EXTRACT_TOO_SHORT : EXTRACT_NO_TEXT;
    if (how->sentences)
        sentence_split_text(site->model, &x->document.text, text->data, text->len);
    return EXTRACT_WRITTEN;
}

static void put_document(struct extract *x, const struct site *site, const struct dump_page *p)
{
    struct document *d = &x->document;
    buf_set(&d->id, p->id.data, p->id.len);
    buf_setf(&d->url, "%s?curid=%s", site->base, p->id.data);
    buf_clear(&d->title);
    if (x->classic)
        document_escape(&d->title, p->title.data, p->title.len, 1); /* as in dumps */
    else
        buf_add(&d->title, p->title.data, p->title.len);
    const struct page_json_source from = { d, p, x->categories.data, &x->parts };
    if (x->how->format == SINK_JSON)
        page_json_put(&x->bytes, &x->how->layout, &from);
    else if (x->how->format == SINK_ROWS)
        page_json_put_row(&x->bytes, &x->how->layout, &from);
    else if (x->classic)
        classic_put(&x->bytes, d);
    else
        document_put(&x->bytes, d);
}

enum extract_result extract_page(struct extract *x, const struct site *site,
                                 const struct dump_page *page)
{
    buf_clear(&x->bytes);
    x->is_cut = 0;
    enum extract_result result = extract_text(x, site, page);
    if (result != EXTRACT_WRITTEN)
        return result;
    if (x->how->format == SINK_TEXT)
        buf_add(&x->bytes, x->document.text.data, x->document.text.len);
    else
        put_document(x, site, page);
    return x->bytes.len ? EXTRACT_WRITTEN : EXTRACT_NO_TEXT;
}
