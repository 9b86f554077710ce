/* Changes inputs of the fuzz targets so that they keep their form. libFuzzer changes bytes; a
 * length, or a bracket, that no longer fits then hides what follows it from the parser. Here an
 * input is a tree of units, found by its form: fields of a protocol buffer (SentencePiece,
 * TensorFlow, TFRecord), keys of a GGUF file, the header of a safetensors file, and in texts (JSON,
 * YAML, wikitext) brackets, quoted texts, numbers, words and lines. A unit is removed, doubled,
 * copied over another or changed; the lengths of all units around it follow. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1024, DEEPEST = 32 };
enum length { NO_LENGTH, U64, VARINT };

struct unit {
    size_t length_at, begin, end;
    enum length length; /* how it is written, just before `begin` */
    int parent;         /* the unit around it, or -1 */
};

struct units {
    struct unit of[MOST];
    int count;
};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static int add(struct units *u, int parent, size_t begin, size_t end)
{
    if (u->count < MOST)
        u->of[u->count++] = (struct unit){ .begin = begin, .end = end, .parent = parent };
    return u->count - 1;
}

static int add_sized(struct units *u, int parent, enum length length, size_t at, size_t begin,
                     size_t end)
{
    int unit = add(u, parent, begin, end);
    u->of[unit].length = length;
    u->of[unit].length_at = at;
    return unit;
}

/* Reads a varint (an integer of protocol buffers, 7 bits in each byte). Returns its size in bytes,
 * or 0 if data[0..size) does not begin with one. */
static size_t varint(const uint8_t *data, size_t size, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < size && i < 10; i++) {
        *value |= (uint64_t)(data[i] & 0x7F) << (7 * i);
        if (data[i] < 0x80)
            return i + 1;
    }
    return 0;
}

/* Adds the fields of the message data[at..end). Returns 1, or 0 if these bytes are no message. */
static int protobuf(struct units *u, int parent, const uint8_t *data, size_t at, size_t end,
                    int deep)
{
    static const size_t fixed[] = { 0, 8, 0, 0, 0, 4 };
    int before = u->count;
    while (at < end && u->count < MOST - 2) {
        uint64_t tag, value = 0;
        size_t field = at, n = varint(data + at, end - at, &tag), wire = tag & 7;
        if (!n || wire > 5 || wire == 3 || wire == 4 || tag >> 3 == 0 || tag >> 3 > 1000)
            break;
        at += n;
        size_t length_at = at;
        n = wire == 0 || wire == 2 ? varint(data + at, end - at, &value) : fixed[wire];
        if (!n || n > end - at || (wire == 2 && value > end - at - n))
            break;
        at += n;
        if (wire == 2) {
            int whole = add(u, parent, field, at + value);
            int inside = add_sized(u, whole, VARINT, length_at, at, at + value);
            if (deep < DEEPEST && value > 1)
                protobuf(u, inside, data, at, at + value, deep + 1);
            at += value;
        } else {
            int whole = add(u, parent, field, at);
            add(u, whole, length_at, at);
        }
    }
    if (at < end && u->count < MOST - 2)
        u->count = before;
    return u->count > before;
}

static uint64_t little(const uint8_t *data, size_t at)
{
    uint64_t x;
    memcpy(&x, data + at, sizeof x);
    return x;
}

/* Adds the names and texts of a GGUF file: each a length and bytes. They are searched for, whatever
 * stands between them. */
static void gguf(struct units *u, const uint8_t *data, size_t size)
{
    for (size_t at = 24; at + 8 < size && u->count < MOST; at++) {
        uint64_t n = little(data, at);
        if (n == 0 || n > size - at - 8 || n > 4096)
            continue;
        int whole = add(u, -1, at, at + 8 + n);
        add_sized(u, whole, U64, at, at + 8, at + 8 + n);
        at += 7 + n;
    }
}

static int letter(uint8_t c)
{
    return c > 0x7F || (c | 0x20) - 'a' < 26u || c - '0' < 10u || c == '_' || c == '-' ||
           c == '.' || c == '+';
}

/* Adds the lines, brackets, quoted texts, and words and numbers of a text. */
static void text(struct units *u, int parent, const uint8_t *data, size_t begin, size_t end)
{
    static const char open[] = "([{<", close[] = ")]}>";
    struct {
        size_t at;
        int unit;
    } stack[DEEPEST];
    int deep = 0;
    size_t line = begin, quote = 0;
    for (size_t i = begin; i < end && u->count < MOST; i++) {
        int around = deep ? stack[deep - 1].unit : parent;
        const char *opens = memchr(open, data[i], 4), *closes = memchr(close, data[i], 4);
        if (data[i] == '"') {
            if (quote)
                add(u, around, quote, i);
            quote = quote ? 0 : i + 1;
        } else if (opens && deep < DEEPEST && u->count < MOST - 2) {
            int unit = add(u, around, i, i); /* its end follows */
            stack[deep++] = (typeof(*stack)){ i, unit };
        } else if (closes && deep && data[stack[deep - 1].at] == open[closes - close]) {
            u->of[stack[--deep].unit].end = i + 1;
        } else if (letter(data[i]) && (i == begin || !letter(data[i - 1]))) {
            size_t word = i;
            while (word < end && letter(data[word]))
                word++;
            add(u, around, i, word);
        } else if (data[i] == '\n') {
            add(u, parent, line, i + 1);
            line = i + 1;
        }
    }
}

static void find(struct units *u, const uint8_t *data, size_t size)
{
    u->count = 0;
    if (size > 24 && !memcmp(data, "GGUF", 4)) {
        gguf(u, data, size);
    } else if (size > 9 && data[8] == '{' && little(data, 0) <= size - 8) {
        size_t end = 8 + little(data, 0);
        int header = add_sized(u, -1, U64, 0, 8, end);
        text(u, header, data, 8, end);
        add(u, -1, end, size);
    } else if (size < 2 || !protobuf(u, -1, data, 0, size, 0)) {
        text(u, -1, data, 0, size);
    }
}

/* Replaces n bytes at `at`. Returns the new size, or 0 if it is more than `most`. */
static size_t splice(uint8_t *data, size_t size, size_t most, size_t at, size_t n,
                     const uint8_t *by, size_t by_n)
{
    if (size - n + by_n > most)
        return 0;
    memmove(data + at + by_n, data + at + n, size - at - n);
    memcpy(data + at, by, by_n);
    return size - n + by_n;
}

/* Writes the new lengths of a unit that has grown by `grown` bytes, and of all units around it.
 * Returns the new size of the input, or 0 if it is more than `most`. */
static size_t fit(uint8_t *data, size_t size, size_t most, const struct units *u, int unit,
                  ptrdiff_t grown)
{
    for (; unit >= 0 && size; unit = u->of[unit].parent) {
        const struct unit *of = &u->of[unit];
        uint64_t n = of->end - of->begin + (size_t)grown;
        uint8_t bytes[10];
        size_t count = 0;
        if (of->length == U64) {
            memcpy(data + of->length_at, &n, sizeof n);
        } else if (of->length == VARINT) {
            for (uint64_t rest = n; rest > 0x7F; rest >>= 7)
                bytes[count++] = (uint8_t)(rest | 0x80);
            bytes[count] = (uint8_t)(n >> (7 * count));
            count++;
            size = splice(data, size, most, of->length_at, of->begin - of->length_at, bytes, count);
            grown += (ptrdiff_t)count - (ptrdiff_t)(of->begin - of->length_at);
        }
    }
    return size;
}

/* Chooses at random what replaces the unit, and writes it to `to`, which has room for `most` bytes.
 * Returns the number of bytes written. */
static size_t replacement(uint8_t *to, size_t most, const uint8_t *data, const struct units *u,
                          const struct unit *of)
{
    static const char *const words[] = { "0",
                                         "-1",
                                         "1",
                                         "255",
                                         "256",
                                         "65536",
                                         "2147483647",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "9223372036854775807",
                                         "18446744073709551615",
                                         "1e308",
                                         "-0.0",
                                         "NaN",
                                         "0.5",
                                         "null",
                                         "true",
                                         "[]",
                                         "{}",
                                         "\"\"",
                                         "~" };
    const struct unit *other = &u->of[rand() % u->count];
    size_t n = of->end - of->begin, m = other->end - other->begin;
    const char *word = words[(size_t)rand() % (sizeof words / sizeof *words)];
    switch (rand() % 6) {
    case 0: return 0;
    case 1: /* twice */
        if (2 * n > most)
            return 0;
        memcpy(to, data + of->begin, n);
        memcpy(to + n, data + of->begin, n);
        return 2 * n;
    case 2:
        if (m > most)
            return 0;
        memcpy(to, data + other->begin, m);
        return m;
    case 3: memcpy(to, word, strlen(word)); return strlen(word);
    default:
        n = n < most ? n : most;
        memcpy(to, data + of->begin, n);
        return LLVMFuzzerMutate(to, n, n + 64 < most ? n + 64 : most);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static struct units units;
    static uint8_t by[1 << 16], changed[1 << 17];
    srand(seed);
    if (rand() % 4 || size > sizeof by)
        return LLVMFuzzerMutate(data, size, most);
    find(&units, data, size);
    if (!units.count)
        return LLVMFuzzerMutate(data, size, most);
    int unit = rand() % units.count;
    const struct unit *of = &units.of[unit];
    size_t old = of->end - of->begin, n = replacement(by, sizeof by, data, &units, of),
           room = most < sizeof changed ? most : sizeof changed;
    memcpy(changed, data, size);
    size_t now = splice(changed, size, room, of->begin, old, by, n);
    now = now ? fit(changed, now, room, &units, unit, (ptrdiff_t)n - (ptrdiff_t)old) : 0;
    if (!now)
        return LLVMFuzzerMutate(data, size, most);
    memcpy(data, changed, now);
    return now;
}
