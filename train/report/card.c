#include "train/report/card.h"

#include <math.h>

#include "common/base/log.h"
#include "common/files/file.h"

static const char mark[] = "<!-- train writes this file anew as long as this line is in it. -->";

/* Sets *free to 1 if the file may be written: it is not there, or this program wrote it. */
static int look(const char *path, int *free)
{
    SCOPED(buf) text = BUF_INIT;
    const int kind = file_look(path);
    const int result = kind < 0 ? -1 : kind == FILE_PLAIN ? file_read(path, &text) : 0;
    *free = kind == FILE_NONE || strstr(text.data, mark) != NULL;
    return result;
}

static void print_losses(struct buf *out, const struct page_run *p)
{
    const struct metrics *m = p->metrics;
    const char *unit = strstr(p->config, "task: regression\n") ? "" : " nats";
    double loss = NAN, validation = NAN;
    for (size_t i = 0; i < m->count; i++) {
        loss = m->points[i].loss;
        validation = isnan(m->points[i].validation) ? validation : m->points[i].validation;
    }
    if (isfinite(loss))
        buf_addf(out, "- training loss at the end: %.4f%s\n", loss, unit);
    if (isfinite(validation))
        buf_addf(out, "- validation loss at the end: %.4f%s\n", validation, unit);
}

static void print_use(struct buf *out)
{
    buf_adds(out, "\n## Use\n\n```sh\ngenerate --model . 'A text to continue'\n```\n\n"
                  "```python\nfrom transformers import pipeline\n\n"
                  "print(pipeline('text-generation', '.')('A text to continue'))\n```\n");
}

int card_write(const char *dir, const struct page_run *p, const struct kv *origin, int generates)
{
    SCOPED(buf) path = file_path(dir, "README.md"), text = BUF_INIT;
    char parameters[32], tokens[32];
    int free;
    if (look(path.data, &free) < 0)
        return -1;
    if (!free)
        log_info("'%s' stays: it was not written by train", path.data);
    buf_addf(&text, "---\nlibrary_name: transformers\n%stags:\n- textmill\n---\n%s\n\n# %s\n\n",
             generates ? "pipeline_tag: text-generation\n" : "", mark, p->title);
    buf_addf(&text, "- parameters: %s\n- updates: %lld\n- tokens seen: %s\n",
             log_count(parameters, (uint64_t)p->parameters), (long long)p->steps,
             log_count(tokens,
                       p->metrics->count ? p->metrics->points[p->metrics->count - 1].tokens : 0));
    print_losses(&text, p);
    if (p->calibrated.factor > 0)
        buf_addf(&text, "- then the logits were multiplied by %.4f: validation loss %.4f nats\n",
                 p->calibrated.factor, p->calibrated.loss);
    if (generates)
        print_use(&text);
    buf_adds(&text, "\n## Where it comes from\n\n");
    origin_table(origin, 0, &text);
    return free ? file_write(path.data, text.data, text.len) : 0;
}
