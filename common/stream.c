#include "common/stream.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

enum { LENGTH_DIGITS = 8, LOOK_BYTES = 64 };

static const char KIND[] = "tokens 1", TOKENIZER[] = "tokenizer";

static void put_u32(char *at, uint32_t v)
{
    v = htole32(v);
    memcpy(at, &v, sizeof v);
}

static void put_u16(char *at, uint32_t v)
{
    uint16_t low = htole16((uint16_t)v);
    memcpy(at, &low, sizeof low);
}

static uint32_t get_u32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static int width_of(const struct kv *header)
{
    const char *dtype = kv_get(header, "dtype");
    if (dtype && !strcmp(dtype, "u16"))
        return 2;
    if (dtype && !strcmp(dtype, "u32"))
        return 4;
    return err_set("token stream: dtype=%s is neither u16 nor u32", dtype ? dtype : "");
}

/* ---- writing ---------------------------------------------------------------------------- */

static void add_length(struct buf *frame, size_t n)
{
    char digits[LENGTH_DIGITS];
    for (int i = LENGTH_DIGITS; i-- > 0; n >>= 4)
        digits[i] = "0123456789abcdef"[n & 15];
    buf_add(frame, digits, sizeof digits);
}

int stream_begin(struct stream_writer *w, struct output *out, const struct kv *header,
                 const struct buf *tokenizer)
{
    *w = (struct stream_writer){ .out = out, .width = width_of(header), .frame = BUF_INIT };
    if (w->width < 0)
        return -1;
    struct buf text = BUF_INIT;
    kv_print(header, &text);
    if (tokenizer)
        buf_addf(&text, "%s=tokenizer.json\n", TOKENIZER);
    add_length(&w->frame, text.len);
    buf_add(&w->frame, text.data, text.len);
    buf_release(&text);
    if (tokenizer) {
        add_length(&w->frame, tokenizer->len);
        buf_add(&w->frame, tokenizer->data, tokenizer->len);
    }
    return output_write(out, w->frame.data, w->frame.len);
}

int stream_frame(struct buf *frame, int width, const uint32_t *ids, size_t n,
                 const uint32_t *sentence_ends, size_t sentences)
{
    size_t bytes = 4 + 4 * sentences + (size_t)width * n;
    if (bytes > STREAM_FRAME_MAX)
        return err_set("document of %zu tokens is too long for a frame", n);
    add_length(frame, bytes);
    buf_reserve(frame, bytes);
    char *p = frame->data + frame->len;
    put_u32(p, (uint32_t)sentences);
    p += 4;
    for (size_t i = 0; i < sentences; i++, p += 4)
        put_u32(p, sentence_ends[i]);
    for (size_t i = 0; i < n && width == 4; i++)
        put_u32(p + 4 * i, ids[i]);
    for (size_t i = 0; i < n && width == 2; i++)
        put_u16(p + 2 * i, ids[i]);
    frame->len += bytes;
    frame->data[frame->len] = '\0';
    return 0;
}

int stream_write(struct stream_writer *w, const uint32_t *ids, size_t n,
                 const uint32_t *sentence_ends, size_t sentences)
{
    buf_clear(&w->frame);
    if (stream_frame(&w->frame, w->width, ids, n, sentence_ends, sentences) < 0)
        return -1;
    return output_write(w->out, w->frame.data, w->frame.len);
}

int stream_end(struct stream_writer *w)
{
    return output_write(w->out, "00000000", LENGTH_DIGITS);
}

void stream_writer_release(struct stream_writer *w)
{
    buf_release(&w->frame);
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Reads a frame's length: 0, or -1. The frame's payload is then at in->data + in->begin. */
static int next_frame(struct stream_reader *r, size_t *bytes)
{
    struct input *in = r->in;
    unsigned long long at = in->offset;
    int64_t n = input_peek(in, LENGTH_DIGITS);
    if (n < 0)
        return -1;
    size_t length = 0;
    for (int i = 0; i < LENGTH_DIGITS && i < n; i++) {
        char c = in->data[in->begin + (size_t)i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return err_set("%s: not a token stream: bad frame length at byte %llu", in->path, at);
        length = length << 4 | (size_t)digit;
    }
    if (n < LENGTH_DIGITS)
        return err_set("%s: token stream ends at byte %llu without its end mark, after %llu "
                       "documents: the program that writes it failed",
                       in->path, at + (unsigned long long)n, (unsigned long long)r->documents);
    if (length > STREAM_FRAME_MAX)
        return err_set("%s: frame of %zu bytes at byte %llu is too long", in->path, length, at);
    input_skip(in, LENGTH_DIGITS);
    n = input_peek(in, length);
    if (n < 0)
        return -1;
    if ((size_t)n < length)
        return err_set("%s: token stream is torn: frame of %zu bytes at byte %llu has %lld",
                       in->path, length, at, (long long)n);
    *bytes = length;
    return 0;
}

/* The second frame, if the header promises it. */
static int read_tokenizer(struct stream_reader *r)
{
    size_t n;
    if (!kv_get(&r->header, TOKENIZER))
        return 0;
    if (next_frame(r, &n) < 0)
        return err_in("%s: tokenizer", r->in->path);
    if (!n)
        return err_set("%s: token stream has no tokenizer, but its header promises one",
                       r->in->path);
    buf_add(&r->tokenizer, r->in->data + r->in->begin, n);
    input_skip(r->in, n);
    return 0;
}

int stream_open(struct stream_reader *r, struct input *in)
{
    *r = (struct stream_reader){ .in = in, .header = KV_INIT, .tokenizer = BUF_INIT };
    size_t n;
    int64_t there = input_peek(in, LOOK_BYTES);
    if (there < 0 || file_check_pointer(in->path, in->data + in->begin, (size_t)there) < 0 ||
        next_frame(r, &n) < 0)
        return -1;
    if (kv_parse(&r->header, in->data + in->begin, n) < 0)
        return err_in("%s: token stream header", in->path);
    input_skip(in, n);
    const char *kind = kv_get(&r->header, "textmill");
    if (!kind || strcmp(kind, KIND))
        return err_set("%s: a stream of '%s', not of tokens", in->path, kind ? kind : "?");
    r->width = width_of(&r->header);
    if (r->width < 0 || kv_get_u64(&r->header, "vocabulary", &r->vocabulary) < 0)
        return err_in("%s", in->path);
    return read_tokenizer(r);
}

static int decode(struct stream_reader *r, const unsigned char *p, size_t bytes)
{
    struct stream_document *d = &r->document;
    size_t sentences = bytes >= 4 ? get_u32(p) : 0;
    if (bytes < 4 || (bytes - 4) / 4 < sentences || (bytes - 4 - 4 * sentences) % (size_t)r->width)
        return err_set("frame of %zu bytes is malformed", bytes);
    d->sentences = sentences;
    d->count = (bytes - 4 - 4 * sentences) / (size_t)r->width;
    mem_grow(d->sentence_ends, r->ends_cap, sentences + 1);
    mem_grow(d->ids, r->ids_cap, d->count + 1);
    p += 4;
    for (size_t i = 0, before = 0; i < sentences; i++, p += 4) {
        d->sentence_ends[i] = get_u32(p);
        if (d->sentence_ends[i] < before || d->sentence_ends[i] > d->count)
            return err_set("sentence %zu ends at token %u of %zu", i, d->sentence_ends[i],
                           d->count);
        before = d->sentence_ends[i];
    }
    for (size_t i = 0; i < d->count; i++, p += r->width) {
        d->ids[i] = r->width == 4 ? get_u32(p) : (uint32_t)p[0] | (uint32_t)p[1] << 8;
        if (d->ids[i] >= r->vocabulary)
            return err_set("token %zu has id %u, vocabulary has %llu", i, d->ids[i],
                           (unsigned long long)r->vocabulary);
    }
    return 0;
}

int stream_read(struct stream_reader *r)
{
    size_t n;
    unsigned long long at = r->in->offset;
    if (next_frame(r, &n) < 0)
        return -1;
    if (!n)
        return 0;
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
