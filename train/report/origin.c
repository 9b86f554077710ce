#include "train/report/origin.h"

#include <time.h>
#include <unistd.h>

#include "common/files/file.h"
#include "common/formats/js.h"

/* ---- the machine ----------------------------------------------------------------------------- */

static void add_processor(struct kv *facts)
{
    static const char key[] = "\nmodel name\t: ";
    SCOPED(buf) text = BUF_INIT;
    const char *name = file_read_any("/proc/cpuinfo", &text) < 0 ? NULL : strstr(text.data, key);
    if (name) {
        name += sizeof key - 1;
        kv_addf(facts, "processor", "%.*s", (int)strcspn(name, "\n"), name);
    }
}

int64_t origin_now(void)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    return epoch ? strtoll(epoch, NULL, 10) : (int64_t)time(NULL);
}

void origin_add_machine(struct kv *facts)
{
    const time_t now = (time_t)origin_now();
    char host[256] = "", date[32] = "";
    struct tm utc;
    if (gmtime_r(&now, &utc) && strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc))
        kv_add(facts, "date", date);
    if (gethostname(host, sizeof host - 1) == 0)
        kv_add(facts, "host", host);
    add_processor(facts);
}

/* ---- earlier runs ---------------------------------------------------------------------------- */

int origin_may_replace(const char *path, const char *mark)
{
    SCOPED(buf) text = BUF_INIT;
    const int kind = file_look(path);
    if (kind < 0 || (kind == FILE_PLAIN && file_read(path, &text) < 0))
        return -1;
    return kind == FILE_NONE || strstr(text.data, mark) != NULL;
}

/* Appends the facts at the beginning of a config.yaml. Other comments, of a user, say no facts. */
static void parse(struct kv *facts, const char *text)
{
    for (const char *line = text; *line == '#' || *line == '\n';) {
        const size_t n = strcspn(line, "\n");
        const char *colon = strstr(line, ": ");
        if (!strncmp(line, "# ", 2) && colon && colon < line + n) {
            SCOPED(buf) name = buf_format("%.*s", (int)(colon - line) - 2, line + 2);
            kv_addf(facts, name.data, "%.*s", (int)(line + n - colon) - 2, colon + 2);
        }
        line += n + (line[n] == '\n');
    }
}

/* Returns the latest text of a fact in the list, or NULL if there is none. */
static const char *latest(const struct kv *facts, const char *name)
{
    const size_t n = strlen(name);
    const char *text = NULL;
    for (size_t i = 0; i < facts->count; i++) {
        const char *key = facts->pairs[i].key;
        if (!strncmp(key, name, n) && (!key[n] || !strncmp(key + n, ", from step ", 12)))
            text = facts->pairs[i].value;
    }
    return text;
}

int origin_resume(struct kv *facts, const char *path, int64_t step)
{
    SCOPED(buf) text = BUF_INIT, name = BUF_INIT;
    struct kv all = KV_INIT;
    const int kind = file_look(path);
    int result = kind < 0 ? -1 : kind == FILE_PLAIN ? file_read(path, &text) : 0;
    if (!result)
        parse(&all, text.data);
    const int there = all.count > 0;
    for (size_t i = 0; i < facts->count; i++) {
        const struct kv_pair *own = &facts->pairs[i];
        const char *before = latest(&all, own->key);
        if (before && !strcmp(before, own->value))
            continue;
        buf_setf(&name, there ? "%s, from step %" PRId64 : "%s", own->key, step);
        kv_add(&all, name.data, own->value);
    }
    kv_release(facts);
    *facts = all;
    return result;
}

/* ---- printing -------------------------------------------------------------------------------- */

void origin_print(const struct kv *facts, struct buf *out)
{
    for (size_t i = 0; i < facts->count; i++)
        buf_addf(out, "# %s: %s\n", facts->pairs[i].key, facts->pairs[i].value);
}

void origin_table(const struct kv *facts, int hosts, struct buf *out)
{
    buf_adds(out, "| | |\n|---|---|\n");
    for (size_t i = 0; i < facts->count; i++) {
        if (!hosts && !strncmp(facts->pairs[i].key, "host", 4))
            continue;
        buf_addf(out, "| %s | ", facts->pairs[i].key);
        for (const char *p = facts->pairs[i].value; *p; p++)
            buf_addf(out, strchr("|\\`*_<>[]", *p) ? "\\%c" : "%c", *p);
        buf_adds(out, " |\n");
    }
}

void origin_json(const struct kv *facts, struct buf *out)
{
    for (size_t i = 0; i < facts->count; i++) {
        buf_adds(out, i ? "," : "{");
        js_quote(out, facts->pairs[i].key, strlen(facts->pairs[i].key));
        buf_addc(out, ':');
        js_quote(out, facts->pairs[i].value, strlen(facts->pairs[i].value));
    }
    buf_addc(out, '}');
}
