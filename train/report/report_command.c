#include "train/report/report_command.h"

#include "common/files/file.h"
#include "train/report/page.h"

struct report_settings {
    char *output;
};

/* What is read from a run's folder. */
struct source {
    struct metrics metrics;
    struct buf text; /* config.yaml: lines "# NAME: TEXT", then the settings */
};

static int read_run(struct source *s, struct page_run *run, const char *dir)
{
    SCOPED(buf) path = file_path(dir, "config.yaml");
    if (metrics_read(&s->metrics, dir) < 0 || file_read(path.data, &s->text) < 0)
        return -1;
    char *settings = s->text.data;
    while (*settings == '#')
        settings += strcspn(settings, "\n") + (strchr(settings, '\n') != NULL);
    if (settings > s->text.data)
        settings[-1] = '\0'; /* the end of the lines before */
    *run = (struct page_run){ .name = dir,
                              .title = dir,
                              .about = settings > s->text.data ? s->text.data : "",
                              .config = settings,
                              .machine = "",
                              .metrics = &s->metrics };
    return 0;
}

static int report(int argc, char **argv, void *given)
{
    const struct report_settings *settings = given;
    SCOPED_MEM struct source *sources = mem_zalloc((size_t)argc, sizeof *sources);
    SCOPED_MEM struct page_run *runs = mem_zalloc((size_t)argc, sizeof *runs);
    int result = tool_may_replace(settings->output, NULL, "report");
    for (int i = 0; i < argc && !result; i++) {
        buf_init(&sources[i].text);
        result = read_run(&sources[i], &runs[i], argv[i]);
    }
    if (!result)
        result = page_write(settings->output, runs, (size_t)argc);
    for (int i = 0; i < argc; i++) {
        metrics_close(&sources[i].metrics);
        buf_release(&sources[i].text);
    }
    return result;
}

static const struct opt options[] = {
    { 'o', "output", OPT_TEXT, offsetof(struct report_settings, output), "FILE",
      "the page; default: report.html" },
    { 0 },
};

static const struct report_settings report_default = { "report.html" };

const struct tool_command report_command = {
    .name = "report",
    .args = "RUN...",
    .summary = "Write a page that shows the curves of several training runs over one another.",
    TOOL_OPTIONS(options, report_default),
    .common = TOOL_FORCE,
    .run = report,
};
