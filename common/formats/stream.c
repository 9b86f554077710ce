#include "common/formats/stream.h"

#include "common/base/crc32c.h"
#include "common/base/ids.h"
#include "common/base/le.h"

enum { DIGITS = 8, LOOK_BYTES = 64 };

static const char KIND[] = "tokens 2", OLD_KIND[] = "tokens 1", TOKENIZER[] = "tokenizer";

/* The number of the tokenizer's frame. No document has it. */
static const uint64_t NUMBER_TOKENIZER = UINT64_MAX;

static int width_of(const struct kv *header)
{
    const char *dtype = kv_get(header, "dtype");
    if (dtype && !strcmp(dtype, "u16"))
        return 2;
    if (dtype && !strcmp(dtype, "u32"))
        return 4;
    return err_set("token stream: dtype=%s is neither u16 nor u32", dtype ? dtype : "");
}

/* Returns a frame's checksum: the CRC of its number and length in binary, and of the payload. */
static uint32_t checksum_of(uint64_t number, size_t length, const void *payload)
{
    unsigned char head[12];
    le_put_u64(head, number);
    le_put_u32(head + 8, (uint32_t)length);
    return crc32c(crc32c(0, head, sizeof head), payload, length);
}

/* ---- writing ---------------------------------------------------------------------------- */

static char *put_digits(char *at, uint32_t n)
{
    for (int i = DIGITS; i-- > 0; n >>= 4)
        at[i] = "0123456789abcdef"[n & 15];
    return at + DIGITS;
}

static void add_frame(struct buf *out, uint64_t number, const struct buf *payload)
{
    buf_addf(out, "%0*x%0*x", DIGITS, (uint32_t)payload->len, DIGITS,
             checksum_of(number, payload->len, payload->data));
    buf_add(out, payload->data, payload->len);
}

int stream_begin(struct output *out, const struct kv *header, const struct buf *tokenizer)
{
    SCOPED(buf) text = buf_format("textmill=%s\n", KIND), frames = BUF_INIT;
    kv_print(header, &text);
    if (tokenizer)
        buf_addf(&text, "%s=tokenizer.json\n", TOKENIZER);
    add_frame(&frames, 0, &text);
    if (tokenizer)
        add_frame(&frames, NUMBER_TOKENIZER, tokenizer);
    return output_write(out, frames.data, frames.len);
}

int stream_frame(struct buf *frame, uint64_t number, int width, const uint32_t *ids, size_t n,
                 const uint32_t *sentence_ends, size_t sentences)
{
    size_t bytes = 4 + 4 * sentences + (size_t)width * n;
    if (bytes > STREAM_FRAME_MAX)
        return err_set("a document of %zu tokens is too long: divide it, or give --format lines",
                       n);
    buf_reserve(frame, 2 * DIGITS + bytes);
    char *head = frame->data + frame->len, *p = head + 2 * DIGITS;
    le_put_u32(p, (uint32_t)sentences);
    p += 4;
    for (size_t i = 0; i < sentences; i++, p += 4)
        le_put_u32(p, sentence_ends[i]);
    ids_put(p, width, ids, n);
    p = put_digits(head, (uint32_t)bytes);
    put_digits(p, checksum_of(number, bytes, head + 2 * DIGITS));
    frame->len += 2 * DIGITS + bytes;
    frame->data[frame->len] = '\0';
    return 0;
}

int stream_end(struct output *out, uint64_t documents)
{
    SCOPED(buf) mark = BUF_INIT;
    add_frame(&mark, documents + 1, &(struct buf)BUF_INIT);
    return output_write(out, mark.data, mark.len);
}

/* ---- reading ---------------------------------------------------------------------------- */

static int64_t digit_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the `count` numbers of DIGITS hex digits that begin the next frame into numbers[]. */
static int read_digits(struct stream_reader *r, uint32_t *numbers, int count)
{
    struct input *in = r->in;
    unsigned long long at = in->offset;
    int64_t want = (int64_t)count * DIGITS, n = input_peek(in, (size_t)want);
    if (n < 0)
        return -1;
    for (int64_t i = 0; i < want && i < n; i++) {
        int64_t digit = digit_value(in->data[in->begin + (size_t)i]);
        if (digit < 0)
            return err_set(at ? "%s: token stream is damaged: bad frame length at byte %llu"
                              : "%s: not a token stream, or packed: bad frame length at byte %llu; "
                                "'tokenize' makes one of a text",
                           in->path, at);
        uint32_t *number = &numbers[i / DIGITS];
        *number = (i % DIGITS ? *number << 4 : 0) | (uint32_t)digit;
    }
    if (n < want)
        return err_set("%s: token stream ends at byte %llu without its end mark, after %llu "
                       "documents: the program that writes it failed",
                       in->path, at + (unsigned long long)n, (unsigned long long)r->documents);
    input_skip(in, (size_t)want);
    return 0;
}

/* Reads the head of frame `number` and sets *bytes to the length of its payload, which is then in
 * memory at in->data + in->begin. */
static int next_frame(struct stream_reader *r, uint64_t number, size_t *bytes)
{
    struct input *in = r->in;
    unsigned long long at = in->offset;
    uint32_t head[2];
    if (read_digits(r, head, r->unchecked ? 1 : 2) < 0)
        return -1;
    uint32_t length = head[0];
    if (length > STREAM_FRAME_MAX)
        return err_set("%s: frame of %u bytes at byte %llu is too long", in->path, length, at);
    int64_t n = input_peek(in, length);
    if (n < 0)
        return -1;
    if (n < length)
        return err_set(
            "%s: token stream is truncated: the frame of %u bytes at byte %llu has only %lld",
            in->path, length, at, (long long)n);
    if (!r->unchecked && checksum_of(number, length, in->data + in->begin) != head[1])
        return err_set(
            "%s: token stream is damaged: the checksum of the frame at byte %llu is wrong",
            in->path, at);
    *bytes = length;
    return 0;
}

/* Reads the second frame, the tokenizer, if the header announces it. */
static int read_tokenizer(struct stream_reader *r)
{
    size_t n;
    if (!kv_get(&r->header, TOKENIZER))
        return 0;
    if (next_frame(r, NUMBER_TOKENIZER, &n) < 0)
        return err_in("%s: tokenizer", r->in->path);
    if (!n)
        return err_set(
            "%s: token stream has no tokenizer, although its header says that it has one",
            r->in->path);
    buf_add(&r->tokenizer, r->in->data + r->in->begin, n);
    input_skip(r->in, n);
    return 0;
}

/* Returns 1 if a stream is of version 1, else 0. Such streams have no checksums: the header follows
 * its length directly. */
static int is_old(const char *data, size_t n)
{
    static const char begins[] = "textmill=";
    return n >= DIGITS + sizeof begins - 1 && !memcmp(data + DIGITS, begins, sizeof begins - 1);
}

int stream_open(struct stream_reader *r, struct input *in)
{
    *r = (struct stream_reader){ .in = in, .header = KV_INIT, .tokenizer = BUF_INIT };
    size_t n;
    int64_t there = input_peek(in, LOOK_BYTES);
    if (there < 0 || file_check_pointer(in->path, in->data + in->begin, (size_t)there) < 0)
        return -1;
    r->unchecked = is_old(in->data + in->begin, (size_t)there);
    if (next_frame(r, 0, &n) < 0)
        return -1;
    if (kv_parse(&r->header, in->data + in->begin, n) < 0)
        return err_in("%s: token stream header", in->path);
    input_skip(in, n);
    const char *kind = kv_get(&r->header, "textmill");
    if (!kind || strcmp(kind, r->unchecked ? OLD_KIND : KIND))
        return err_set("%s: a stream of '%s', not a token stream of version %d", in->path,
                       kind ? kind : "?", r->unchecked ? 1 : 2);
    r->width = width_of(&r->header);
    if (r->width < 0 || kv_get_u64(&r->header, "vocabulary", &r->vocabulary) < 0)
        return err_in("%s", in->path);
    return read_tokenizer(r);
}

static int decode(struct stream_reader *r, const unsigned char *p, size_t bytes)
{
    struct stream_document *d = &r->document;
    size_t sentences = bytes >= 4 ? le_u32(p) : 0;
    if (bytes < 4 || (bytes - 4) / 4 < sentences || (bytes - 4 - 4 * sentences) % (size_t)r->width)
        return err_set("frame of %zu bytes is malformed", bytes);
    d->sentences = sentences;
    d->count = (bytes - 4 - 4 * sentences) / (size_t)r->width;
    mem_grow(d->sentence_ends, r->ends_cap, sentences + 1);
    mem_grow(d->ids, r->ids_cap, d->count + 1);
    p += 4;
    for (size_t i = 0, before = 0; i < sentences; i++, p += 4) {
        d->sentence_ends[i] = le_u32(p);
        if (d->sentence_ends[i] < before || d->sentence_ends[i] > d->count)
            return err_set("sentence %zu ends at token %u of %zu", i, d->sentence_ends[i],
                           d->count);
        before = d->sentence_ends[i];
    }
    uint32_t most = 0;
    ids_get(d->ids, r->width, p, d->count);
    for (size_t i = 0; i < d->count; i++)
        most = d->ids[i] > most ? d->ids[i] : most;
    if (most < r->vocabulary || !d->count)
        return 0;
    size_t i = 0;
    while (d->ids[i] < r->vocabulary)
        i++;
    return err_set("token %zu has id %u, vocabulary has %llu", i, d->ids[i],
                   (unsigned long long)r->vocabulary);
}

int stream_read(struct stream_reader *r)
{
    size_t n;
    unsigned long long at = r->in->offset;
    if (next_frame(r, r->documents + 1, &n) < 0)
        return -1;
    if (!n) { /* nothing may follow: the second of two concatenated streams would be lost */
        int64_t more = input_peek(r->in, 1);
        return more > 0
                   ? err_set("%s: data after the end mark, at byte %" PRIu64 ": give one stream",
                             r->in->path, r->in->offset)
                   : (int)more;
    }
    if (decode(r, (const unsigned char *)r->in->data + r->in->begin, n) < 0)
        return err_in("%s: document %llu at byte %llu", r->in->path,
                      (unsigned long long)r->documents, at);
    input_skip(r->in, n);
    r->documents++;
    return 1;
}

void stream_reader_release(struct stream_reader *r)
{
    kv_release(&r->header);
    buf_release(&r->tokenizer);
    free(r->document.ids);
    free(r->document.sentence_ends);
    *r = (struct stream_reader){ 0 };
}
