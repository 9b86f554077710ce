/* Reads pre-tokenizers of tokenizer.json that cut byte-level text without changing it: lists of
 * Split, Punctuation and Digits around ByteLevel. They become rules of pretokenize.h. */

#include "common/formats/js.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/alphabet.h"
#include "unicode/unicode.h"

struct reading {
    struct splitter *splitter;
    int bytes; /* ByteLevel has been read: later steps cut text in the byte alphabet */
    int prefix_space;
    int plain;
};

static int add(struct reading *r, enum split_kind kind, const char *text, size_t n)
{
    uint32_t alphabet[256];
    if (splitter_add(r->splitter, kind, text, n) < 0)
        return -1;
    if (!r->bytes)
        return 1;
    r->plain = 0;
    for (unsigned b = 0; b < 256; b++)
        alphabet[b] = alphabet_char((unsigned char)b);
    return splitter_of_bytes(r->splitter, alphabet) == 0;
}

/* Adds a rule that cuts at each character with one of these bits (unicode.h) or, with `rows` 1, at
 * runs of such characters. Returns 1, 0 if the rule cannot be added here, or -1 with an error. */
static int add_characters(struct reading *r, unsigned bits, int rows)
{
    SCOPED(buf) pattern = BUF_INIT;
    buf_addc(&pattern, '[');
    for (uint32_t c = 0; c < UNICODE_LIMIT; c++) {
        uint32_t first = c;
        while (c < UNICODE_LIMIT && (c < 0xD800 || c >= 0xE000) && unicode_is(c, bits))
            c++;
        if (c > first)
            buf_addf(&pattern, "\\x{%X}-\\x{%X}", first, c - 1);
    }
    buf_adds(&pattern, rows ? "]+" : "]");
    r->plain = 0;
    return add(r, SPLIT_PATTERN, pattern.data, pattern.len);
}

/* Reads a Split. With `invert` and "Removed", text between matches is removed; that is only
 * supported if the matches cover every text. Returns 1, 0 if it is not supported here, or -1 with
 * an error. */
static int read_split(struct reading *r, const struct js *step)
{
    const struct js *pattern = js_get(step, "pattern"), *behavior = js_get(step, "behavior");
    int invert = js_flag(step, "invert", 0), isolated = js_text_is(behavior, "Isolated");
    size_t n;
    const char *text = js_text(js_get(pattern, "Regex"), &n);
    enum split_kind kind = text ? SPLIT_PATTERN : SPLIT_STRING;
    if (!text)
        text = js_text(js_get(pattern, "String"), &n);
    if (!text || !(isolated || (invert && js_text_is(behavior, "Removed"))))
        return 0;
    r->plain &= isolated && !invert;
    int got = add(r, kind, text, n);
    if (got < 0)
        return err_in("pre_tokenizer Split");
    return !got || isolated ? got : splitter_covers(r->splitter);
}

static int read_step(struct reading *r, const struct js *step);

static int read_sequence(struct reading *r, const struct js *steps)
{
    int got = 1;
    for (size_t i = 0; i < js_count(steps) && got > 0; i++)
        got = read_step(r, js_at(steps, i));
    return got;
}

static int read_punctuation(struct reading *r, const struct js *step)
{
    const struct js *behavior = js_get(step, "behavior");
    int rows = js_text_is(behavior, "Contiguous");
    if (behavior && !rows && !js_text_is(behavior, "Isolated"))
        return 0;
    return add_characters(r, UNICODE_IS_PUNCTUATION, rows);
}

/* Reads a ByteLevel. It puts a space before each piece; that is only supported if the whole text is
 * one piece. Returns 1, 0 if it is not supported here, or -1 with an error. */
static int read_byte_level(struct reading *r, const struct js *step)
{
    int prefix = js_flag(step, "add_prefix_space", 1);
    if (r->bytes || (prefix && r->splitter->count))
        return 0;
    r->prefix_space = prefix;
    int got = js_flag(step, "use_regex", 1) ? add(r, SPLIT_GPT2, NULL, 0) : 1;
    r->bytes = 1;
    return got;
}

/* Reads a step. Returns 1, 0 if it is not supported here, -1 with an error. */
static int read_step(struct reading *r, const struct js *step)
{
    const char *type = js_text(js_get(step, "type"), NULL);
    if (!type || r->splitter->count == SPLIT_RULES_MAX)
        return 0;
    if (!strcmp(type, "Sequence"))
        return read_sequence(r, js_get(step, "pretokenizers"));
    if (!strcmp(type, "Split"))
        return read_split(r, step);
    if (!strcmp(type, "Punctuation"))
        return read_punctuation(r, step);
    if (!strcmp(type, "Digits"))
        return add_characters(r, UNICODE_IS_NUMBER, !js_flag(step, "individual_digits", 0));
    return !strcmp(type, "ByteLevel") ? read_byte_level(r, step) : 0;
}

int splits_read(struct vocabulary *v, const struct js *value, int *plain)
{
    struct splitter splitter = { .count = 0 };
    struct reading r = { .splitter = &splitter, .plain = 1 };
    int got = read_step(&r, value);
    if (got > 0 && r.bytes) {
        v->splitter = splitter;
        v->prefix_space = r.prefix_space;
        *plain = r.plain;
        return 1;
    }
    splitter_release(&splitter);
    return got < 0 ? -1 : 0;
}
