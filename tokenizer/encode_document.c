#include "tokenizer/encode_document.h"

#include "common/base/utf8.h"
#include "common/formats/stream.h"
#include "tokenizer/parts.h"

static enum tokenizer_special special_of(const struct encode_options *how)
{
    return how->special ? TOKENIZER_SPECIAL : TOKENIZER_ORDINARY;
}

/* Returns the end of the line at text[at], including the line ends that follow. */
static size_t after_line(const char *text, size_t n, size_t at)
{
    const char *lf = memchr(text + at, '\n', n - at);
    at = lf ? (size_t)(lf - text) : n;
    while (at < n && text[at] == '\n')
        at++;
    return at;
}

/* Sets b->sentence_ends to the index in b->ids after the last token of each sentence. That token is
 * the first one that reaches the end of the sentence's line, including the line ends that follow.
 * Returns 0, or -1 with an error if the tokens together do not have as many bytes as the text, or
 * one more (a space in front). */
static int find_sentences(const struct tokenizer *t, struct batch *b, const char *text, size_t n)
{
    const size_t front = t->v.prefix_space && n && text[0] != ' ';
    size_t reached = 0, all = 0, token = 0, len;
    for (size_t i = 0; i < b->ids.count; i++)
        if (tokenizer_token(t, b->ids.data[i], &len))
            all += len;
    if (t->v.drops ? all != n + front : all < n || all > n + 1)
        return err_set(
            "cannot find the ends of sentences: bytes were dropped, or a special token removes spaces");
    for (size_t at = 0; at < n;) {
        at = after_line(text, n, at);
        for (; token < b->ids.count && reached < at + (all - n); token++)
            if (tokenizer_token(t, b->ids.data[token], &len))
                reached += len;
        ids_add(&b->sentence_ends, (uint32_t)token);
    }
    return 0;
}

/* Encodes each line, which is a sentence, by itself, and adds the ids to *b. With BERT's words the
 * ids are the same as those of the whole text, because no token crosses a line end. A line without
 * tokens is not counted as a sentence, as in BERT's create_pretraining_data.py. */
static int encode_lines(const struct encode_options *how, struct encoder *e, struct batch *b,
                        const char *text, size_t n)
{
    for (size_t at = 0, end; at < n; at = end) {
        size_t before = b->ids.count;
        end = after_line(text, n, at);
        if (encoder_encode(e, text + at, end - at, special_of(how), &b->ids) < 0)
            return -1;
        if (b->ids.count > before)
            ids_add(&b->sentence_ends, (uint32_t)b->ids.count);
    }
    return 0;
}

/* As encode_lines for other vocabularies whose tokens do not tile the text. A token belongs to the
 * sentence in whose line, including the line ends that follow, its range ends. */
static int encode_ranges(const struct encode_options *how, struct encoder *e, struct batch *b,
                         const char *text, size_t n)
{
    SCOPED(placed) own = { 0 };
    if (encoder_encode_places(e, text, n, special_of(how), &own) < 0)
        return -1;
    encoder_places_in_bytes(text, n, &own, 0);
    ids_append(&b->ids, own.ids.data, own.ids.count);
    for (size_t at = 0, token = 0; at < n;) {
        const size_t before = token;
        at = after_line(text, n, at);
        while (token < own.ids.count && own.ends.data[token] <= at)
            token++;
        if (token > before)
            ids_add(&b->sentence_ends, (uint32_t)token);
    }
    return 0;
}

static void print_ids(struct buf *out, const struct ids *ids, char between)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (i)
            buf_addc(out, between);
        buf_addu(out, ids->data[i]);
    }
}

static void print_places(struct buf *out, const struct placed *p)
{
    buf_adds(out, "{\"ids\":[");
    print_ids(out, &p->ids, ',');
    buf_adds(out, "],\"offsets\":[");
    for (size_t i = 0; i < p->ids.count; i++)
        buf_addf(out, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "", p->begins.data[i],
                 p->ends.data[i]);
    buf_adds(out, "]}\n");
}

/* Adds to *b one line of JSON with the tokens and their ranges in the text. */
static int encode_places(const struct encode_options *how, struct encoder *e, struct batch *b,
                         const char *text, size_t n)
{
    SCOPED(placed) own = { 0 }, wrapped = { 0 };
    size_t good = utf8_valid(text, n);
    int result = good < n ? err_set("byte %zu of its text is not UTF-8: it has no offsets", good)
                          : encoder_encode_places(e, text, n, special_of(how), &own);
    if (!result) {
        if (how->offsets == OFFSETS_BYTES)
            encoder_places_in_bytes(text, n, &own, 0);
        if (how->wrap)
            tokenizer_assemble_places(how->t, &own, &wrapped);
        b->tokens += own.ids.count;
        print_places(&b->out, how->wrap ? &wrapped : &own);
    }
    return result;
}

static void print_labels(struct buf *out, const struct ids *ids, const struct ids *spans)
{
    buf_adds(out, "{\"ids\":[");
    print_ids(out, ids, ',');
    buf_adds(out, "],\"mask\":[");
    for (size_t k = 0, i = 0; k < spans->count; k++)
        for (; i < spans->data[k]; i++)
            buf_addf(out, "%s%d", i ? "," : "", (int)(k % 2));
    buf_adds(out, "]}\n");
}

static int encode_chat(const struct encode_options *how, struct encoder *e, struct batch *b,
                       uint64_t number, const char *text, size_t n)
{
    if (chat_encode(how->chat, e, text, n, &b->ids, &b->sentence_ends) < 0)
        return err_in("conversation %" PRIu64, number);
    if (how->as_ids) {
        print_labels(&b->out, &b->ids, &b->sentence_ends);
        return 0;
    }
    return stream_frame(&b->out, number, how->width, b->ids.data, b->ids.count,
                        b->sentence_ends.data, b->sentence_ends.count);
}

static int encode(const struct encode_options *how, struct encoder *e, struct batch *b,
                  uint64_t number, const char *text, size_t n)
{
    const struct vocabulary *v = &how->t->v;
    const int ends = b->sentences && !how->as_ids, tiles = tokenizer_tiles(how->t);
    const int by_line = ends && v->model == VOCABULARY_WORDPIECE && !v->general;
    const int by_range = ends && !tiles && !by_line;
    if (ends && !by_line) {
        buf_clear(&b->repaired);
        b->replaced += utf8_repair(&b->repaired, text, n);
        text = b->repaired.data;
        n = b->repaired.len;
    }
    if (by_line    ? encode_lines(how, e, b, text, n) < 0
        : by_range ? encode_ranges(how, e, b, text, n) < 0
                   : encoder_encode(e, text, n, special_of(how), &b->ids) < 0)
        return -1;
    if (how->as_ids) {
        b->wrapped.count = 0;
        if (how->wrap)
            tokenizer_assemble(how->t, &b->ids, NULL, &b->wrapped, NULL);
        print_ids(&b->out, how->wrap ? &b->wrapped : &b->ids, ' ');
        buf_addc(&b->out, '\n');
        return 0;
    }
    if (ends && tiles && find_sentences(how->t, b, text, n) < 0)
        return -1;
    return stream_frame(&b->out, number, how->width, b->ids.data, b->ids.count,
                        b->sentence_ends.data, b->sentence_ends.count);
}

int encode_document(const struct encode_options *how, struct encoder *e, struct batch *b,
                    uint64_t number, const char *text, size_t n)
{
    uint64_t before = encoder_replaced(e), repaired = b->replaced;
    const size_t good = how->mend == MEND_NONE ? utf8_valid(text, n) : n; /* --invalid error */
    if (good < n)
        return err_set("document %" PRIu64 ": byte %zu of its text is not UTF-8 (0x%02X)", number,
                       good, (unsigned char)text[good]);
    if (how->offsets)
        return encode_places(how, e, b, text, n) < 0 ? err_in("document %" PRIu64, number) : 0;
    b->ids.count = b->sentence_ends.count = 0;
    if ((how->chat ? encode_chat : encode)(how, e, b, number, text, n) < 0)
        return -1;
    b->tokens += b->ids.count;
    b->replaced += encoder_replaced(e) - before;
    if (mend_check(how->mend, b->replaced - repaired, n) < 0)
        return err_in("document %" PRIu64, number);
    return 0;
}
