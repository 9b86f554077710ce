/* The command `wikiprep expand`: prints a text with its templates expanded. */
#include "wikiprep/wikiprep_commands.h"

#include "common/base/log.h"
#include "common/files/file.h"
#include "common/program/tool.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/input/dump_files.h"
#include "wikiprep/site/language.h"
#include "wikiprep/text/template.h"

struct expand {
    struct opt_list templates;
    const char *page_title, *language;
};

static const struct expand defaults = { .page_title = "Page" };

#define AT(member) offsetof(struct expand, member)
static const struct opt options[] = {
    { 0, "templates", OPT_LIST, AT(templates), "FILE",
      "template pages: a dump, or a file that --save-templates wrote" },
    { 0, "language", OPT_TEXT, AT(language), "CODE",
      "language code of the wiki; overrides what the dump says" },
    { 0, "title", OPT_TEXT, AT(page_title), "TITLE",
      "title of the page that is expanded, for {{PAGENAME}} and similar words" },
    { 0 },
};

/* Chooses as template_choose does, but never TEMPLATE_GUESSED: a missing template becomes a link,
 * as in MediaWiki. */
static enum template_choice choose(const struct template_page *page, struct span name)
{
    enum template_choice choice = template_choose(page, name);
    return choice == TEMPLATE_GUESSED ? TEMPLATE_EXPANDED : choice;
}

static int expand_file(const struct expand *given, struct library *library, const char *path)
{
    SCOPED(buf) text = BUF_INIT, expanded = BUF_INIT;
    struct template_page page = { .lang = library_facts(library)->site.lang.data,
                                  .title = given->page_title,
                                  .id = "",
                                  .revid = "",
                                  .timestamp = library_facts(library)->date.data,
                                  .hatnotes = 1 };
    struct expander *x = expander_new(library, choose);
    int result = file_read_any(path, &text);
    if (!result && expand_text(x, &page, text.data, text.len, &expanded))
        log_warn("%s: " EXPAND_CUT, path);
    if (!result)
        result = file_write("-", expanded.data, expanded.len);
    expander_free(x);
    return result;
}

static int run(int argc, char **argv, void *options_given)
{
    const struct expand *given = options_given;
    if (!given->templates.count)
        return err_usage(
            "--templates is missing: name a dump, or a file that --save-templates wrote");
    char *path = argc ? argv[0] : "-";
    if (dump_files_check_stdin(&given->templates, &path, 1) < 0)
        return -1;
    SCOPED(file_names) in = { 0 };
    int result = 0;
    for (size_t i = 0; i < given->templates.count && !result; i++)
        result = dump_files_add(&in, given->templates.items[i]);
    struct library *library = result ? NULL
                                     : library_read(&in, given->language, (int)tool_threads, NULL);
    SCOPED(buf) doubt = BUF_INIT;
    if (library && language_lacks_data(library_facts(library)->site.lang.data, &doubt))
        log_warn("%s", doubt.data);
    result = library ? expand_file(given, library, path) : -1;
    library_free(library);
    return result;
}

const struct tool_command expand_command = {
    .name = "expand",
    .args = "[FILE]",
    .summary = "Print wikitext with its templates expanded.",
    TOOL_OPTIONS(options, defaults),
    .common = TOOL_THREADS,
    .run = run,
};
