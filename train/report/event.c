#include "train/report/event.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/base/le.h"
#include "common/base/protobuf.h"
#include "tfrecord/formats/record.h"

/* ---- protocol buffers, as needed for these messages ------------------------------------------ */

static void put_tag(struct buf *out, unsigned field, enum protobuf_wire wire)
{
    protobuf_add_varint(out, field << 3 | wire);
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t n)
{
    put_tag(out, field, PROTOBUF_BYTES);
    protobuf_add_varint(out, n);
    buf_add(out, bytes, n);
}

static void put_number(struct buf *out, unsigned field, uint64_t v)
{
    put_tag(out, field, PROTOBUF_VARINT);
    protobuf_add_varint(out, v);
}

static void put_double(struct buf *out, unsigned field, double v)
{
    put_tag(out, field, PROTOBUF_64);
    le_add_f64(out, v);
}

/* Returns the step of an Event, 0 if the field is absent as in the first record, or -1 if the bytes
 * are not an Event. */
static int64_t step_of(const unsigned char *p, uint64_t n)
{
    const unsigned char *end = p + n;
    struct protobuf_field f;
    uint64_t step = 0;
    int more;
    while ((more = protobuf_next(&p, end, &f)) > 0)
        if (f.number == 2 && f.wire == PROTOBUF_VARINT)
            step = f.value;
    return more < 0 ? -1 : (int64_t)step;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Sets *bytes to the length of the undamaged records at the beginning of the file, up to `step`. */
static int sound_bytes(const char *path, int64_t step, uint64_t *bytes)
{
    SCOPED_BY(file_unmap) struct file_map map = { 0 };
    struct record r;
    *bytes = 0;
    if (file_map(&map, path) < 0)
        return -1;
    while (record_read(&map, *bytes, &r) > 0) {
        int64_t at = step_of(r.data, r.bytes);
        if (at < 0 || at > step)
            break;
        *bytes = record_end(&r);
    }
    return 0;
}

/* Appends an Event with bytes[n] in its field `field`. The first record has no step: -1. */
static int write_event(struct file_log *log, int64_t step, unsigned field, const void *bytes,
                       size_t n)
{
    SCOPED(buf) message = BUF_INIT, record = BUF_INIT;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    put_double(&message, 1, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
    if (step >= 0)
        put_number(&message, 2, (uint64_t)step);
    put_bytes(&message, field, bytes, n);
    record_frame(&record, message.data, message.len);
    return file_log_add(log, record.data, record.len);
}

int event_open(struct file_log *log, const char *path, int64_t step)
{
    static const char version[] = "brain.Event:2";
    uint64_t bytes = 0;
    *log = (struct file_log){ 0 };
    const int there = file_look(path);
    if (there < 0 || (step > 0 && there && sound_bytes(path, step, &bytes) < 0) ||
        file_log_open(log, path) < 0)
        return -1;
    if (AGAIN(ftruncate(fileno(log->file), (off_t)bytes)) < 0)
        return err_set("cannot open '%s': %s", path, strerror(errno));
    return bytes ? 0 : write_event(log, -1, 3, version, sizeof version - 1);
}

void event_add(struct buf *summary, const char *tag, double number)
{
    SCOPED(buf) value = BUF_INIT;
    put_bytes(&value, 1, tag, strlen(tag));
    put_tag(&value, 2, PROTOBUF_32);
    le_add_f32(&value, (float)number);
    put_bytes(summary, 1, value.data, value.len);
}

int event_write(struct file_log *log, int64_t step, const struct buf *summary)
{
    return write_event(log, step, 5, summary->data, summary->len);
}

/* Writes a value for a plug-in: its tensor and the plug-in's own data. */
static int write_for(struct file_log *log, int64_t step, const char *tag, const char *plugin,
                     const struct buf *data, const struct buf *tensor)
{
    enum { TENSORS = 2 }; /* TensorBoard's DataClass */
    SCOPED(buf) summary = BUF_INIT, value = BUF_INIT, named = BUF_INIT, metadata = BUF_INIT;
    put_bytes(&named, 1, plugin, strlen(plugin));
    put_bytes(&named, 2, data->data, data->len);
    put_bytes(&metadata, 1, named.data, named.len);
    put_number(&metadata, 4, TENSORS);
    put_bytes(&value, 1, tag, strlen(tag));
    put_bytes(&value, 8, tensor->data, tensor->len);
    put_bytes(&value, 9, metadata.data, metadata.len);
    put_bytes(&summary, 1, value.data, value.len);
    return event_write(log, step, &summary);
}

int event_write_text(struct file_log *log, int64_t step, const char *tag, const char *text)
{
    enum { STRING = 7 }; /* tensorflow's DataType */
    SCOPED(buf) tensor = BUF_INIT;
    put_number(&tensor, 1, STRING);
    put_bytes(&tensor, 2, "", 0); /* the shape of a scalar */
    put_bytes(&tensor, 8, text, strlen(text));
    return write_for(log, step, tag, "text", &(struct buf)BUF_INIT, &tensor);
}

/* Appends a setting to the map of a SessionStartInfo, as a number, a truth value or a text. */
static void put_setting(struct buf *out, const char *key, size_t key_bytes, const char *text)
{
    SCOPED(buf) value = BUF_INIT, entry = BUF_INIT;
    char *end;
    const double number = strtod(text, &end);
    if (*text && !*end)
        put_double(&value, 2, number);
    else if (!strcmp(text, "true") || !strcmp(text, "false"))
        put_number(&value, 4, *text == 't');
    else
        put_bytes(&value, 3, text, strlen(text));
    put_bytes(&entry, 1, key, key_bytes);
    put_bytes(&entry, 2, value.data, value.len);
    put_bytes(out, 1, entry.data, entry.len);
}

int event_write_settings(struct file_log *log, int64_t step, const char *config)
{
    enum { FLOAT = 1 }; /* tensorflow's DataType */
    SCOPED(buf) start = BUF_INIT, data = BUF_INIT, tensor = BUF_INIT, text = BUF_INIT;
    for (const char *line = config; *line;) {
        const size_t n = strcspn(line, "\n"), key = strcspn(line, ":\n");
        buf_clear(&text);
        size_t from = key + 2, quoted = from + 1 < n && line[from] == '\'' && line[n - 1] == '\'';
        for (size_t i = from + quoted; i + quoted < n; i++) {
            buf_addc(&text, line[i]);
            i += quoted && line[i] == '\''; /* in quotes, a quote is written twice */
        }
        put_setting(&start, line, key, text.data);
        line += n + (line[n] == '\n');
    }
    put_bytes(&data, 3, start.data, start.len); /* session_start_info of HParamsPluginData */
    put_number(&tensor, 1, FLOAT);
    put_bytes(&tensor, 2, "\x12", 2); /* the shape of an empty vector: one dimension of size 0 */
    return write_for(log, step, "_hparams_/session_start_info", "hparams", &data, &tensor);
}
