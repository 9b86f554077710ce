/* Parses any bytes as wikitext, as a page and as a template, and expands them with a few templates
 * that pass arguments on, call each other in circles, and fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/expand/preprocess.h"
#include "wikiprep/text/visible.h"

enum { GROWTH_MAX = 8 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char wiki[] =
    "<mediawiki xml:lang=\"en\"><siteinfo><base>https://en.example.org/wiki/A</base></siteinfo>"
    "<page><title>Template:A</title><text>{{{1|}}}{{{x|{{{2}}}}}}{{B|{{{1}}}|y={{{x}}}}}</text></page>"
    "<page><title>Template:B</title><text>[{{{1}}}]{{#if:{{{y|}}}|{{A|{{{y}}}}}}}</text></page>"
    "<page><title>Template:C</title><text>{{C|{{{1}}}{{{1}}}}}</text></page>"
    "<page><title>Template:D</title><text>{{{1}}}{{{1}}}{{{1}}}{{{1}}}</text></page>"
    "<page><title>Template:Lang</title><text>{{#invoke:Lang|x|{{{1}}}}}</text></page>"
    "<page><title>Template:F</title><text>{{#tag:pre|{{{1}}}{{{1}}}|a={{{2}}}}}</text></page>"
    "<page><title>Template:G</title><text>{{#invoke:String|{{{1}}}|{{{2}}}|{{{3}}}|{{{4}}}}}</text>"
    "</page><page><title>Template:E</title><text>#REDIRECT [[Template:D]]</text></page></mediawiki>";

static enum template_choice choose(const struct template_page *, struct span name)
{
    return span_is(name, "Lang") ? TEMPLATE_EXPANDED_FIRST : TEMPLATE_EXPANDED;
}

static struct library *new_library(void)
{
    char path[] = "/tmp/fuzz-expand-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, wiki, sizeof wiki - 1) != sizeof wiki - 1)
        __builtin_trap();
    close(fd);
    struct library *l = library_read(&(struct file_names){ (char *[]){ (char *)path }, 1, 1 }, NULL,
                                     1, NULL);
    unlink(path);
    if (!l)
        __builtin_trap();
    return l;
}

/* Checks that the links between nodes are valid indices, and that text nodes lie in the source. */
static void check(const struct tree *t, size_t size)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct node *n = &t->nodes[i];
        if (n->next >= t->count || n->child >= t->count)
            __builtin_trap();
        if (n->kind == NODE_TEXT && (n->begin > n->end || n->end > size))
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct library *library;
    static struct expander *x;
    static struct preprocessor *p;
    static struct tree tree;
    static struct buf out = BUF_INIT;
    const struct template_page page = { "en", "Talk:A/b", "1", "2",
                                        .timestamp = "2011-04-09T00:00:00Z" };
    if (!library) {
        library = new_library();
        x = expander_new(library, choose);
        p = preprocessor_new(1);
    }
    const char *text = (const char *)data;
    preprocess(p, &tree, text, size, PREPROCESS_INCLUDED);
    check(&tree, size);
    preprocess(p, &tree, text, size, PREPROCESS_PAGE);
    check(&tree, size);
    expand_text(x, &page, text, size, &out);
    if (out.len > size + GROWTH_MAX)
        __builtin_trap();
    visible_filter(&out, 0);
    return 0;
}
