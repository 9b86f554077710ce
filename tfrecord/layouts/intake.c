#include "tfrecord/layouts/intake.h"

#include "common/base/ids.h"

static int read_header(struct intake *s)
{
    uint64_t id;
    s->masked = kv_get(&s->stream.header, "spans") != NULL;
    if (s->masked && s->stream.vocabulary > IDS_UNCOUNTED)
        return err_set("%s: vocabulary=%" PRIu64 " is too large for a stream with spans",
                       s->in.path, s->stream.vocabulary);
    if (!kv_get(&s->stream.header, "end_of_text"))
        return 0;
    if (kv_get_u64(&s->stream.header, "end_of_text", &id) < 0)
        return err_in("%s", s->in.path);
    if (id >= s->stream.vocabulary)
        return err_set("%s: end_of_text=%" PRIu64 " is not below vocabulary=%" PRIu64, s->in.path,
                       id, s->stream.vocabulary);
    s->end_of_text = (int64_t)id;
    return 0;
}

int intake_open(struct intake *s, const char *path)
{
    *s = (struct intake){ .end_of_text = -1 };
    if (input_open(&s->in, path) < 0)
        return -1;
    if (stream_open(&s->stream, &s->in) < 0 || read_header(s) < 0) {
        intake_close(s);
        return -1;
    }
    return 0;
}

void intake_close(struct intake *s)
{
    stream_reader_release(&s->stream);
    input_close(&s->in);
    *s = (struct intake){ 0 };
}

/* Sets IDS_UNCOUNTED in the ids that are no labels: labels are in every second span. */
static void mark(const struct stream_document *d)
{
    for (size_t k = 0, i = 0; i < d->count; k++) {
        const size_t end = k < d->sentences ? d->sentence_ends[k] : d->count;
        const uint32_t bit = k < d->sentences && k % 2 ? 0 : IDS_UNCOUNTED;
        for (; i < end; i++)
            d->ids[i] |= bit;
    }
}

int intake_next(struct intake *s)
{
    const struct stream_document *d = &s->stream.document;
    for (;;) {
        int result = stream_read(&s->stream);
        if (result <= 0)
            return result;
        size_t n = d->count;
        while (n && d->ids[n - 1] == s->end_of_text)
            n--;
        if (!n && !s->keeps_empty)
            continue;
        const int begun = s->masked && n && d->ids[0] == s->end_of_text;
        s->end = (uint32_t)s->end_of_text;
        if (s->masked) {
            mark(d);
            s->end = n < d->count ? d->ids[n] : s->end | IDS_UNCOUNTED;
        }
        s->ids = d->ids + begun;
        s->count = n -= (size_t)begun;
        s->sentence_ends = d->sentence_ends;
        s->sentences = s->masked ? 0 : d->sentences;
        s->documents++;
        s->tokens += n;
        return 1;
    }
}

int intake_want_end_of_text(const struct intake *s, const char *who)
{
    if (s->end_of_text < 0)
        return err_set("%s: its vocabulary has no end-of-text token (eos_token), which %s needs",
                       s->in.path, who);
    return 0;
}

void intake_describe(const struct intake *s, struct kv *manifest)
{
    static const char *const copied[] = { "vocabulary", "checksum", "end_of_text" };
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        const char *value = kv_get(&s->stream.header, copied[i]);
        if (value)
            kv_add(manifest, copied[i], value);
    }
}

void intake_provenance(const struct intake *s, struct kv *manifest, const char *self)
{
    const struct kv *header = &s->stream.header;
    for (size_t i = 0; i < header->count; i++)
        if (!strcmp(header->pairs[i].key, "pg"))
            kv_add(manifest, "pg", header->pairs[i].value);
    kv_add(manifest, "pg", self);
}
