#include "wikiprep/sentences/sentence_model.h"

#include "common/base/hash.h"
#include "common/base/lines.h"
#include "common/files/file.h"

static const char FIRST_LINE[] = "textmill sentences 1";

struct slot {
    uint32_t place; /* 1 + offset of the word in `words`; 0: empty */
    uint16_t len;
    uint16_t kinds;
};

struct sentence_model {
    struct buf words; /* the words, without separators */
    struct slot *slots;
    size_t count, cap; /* cap: a power of two */
    struct sentence_marks marks;
};

/* By byte: 1 for the first bytes of LETTER_END and LETTER_FULL_END marks (letter.h). */
static const unsigned char common_first_bytes[256] = {
    ['.'] = 1,  ['!'] = 1,  ['?'] = 1,  [0xCD] = 1, [0xD6] = 1, [0xD8] = 1,
    [0xDB] = 1, [0xE0] = 1, [0xE1] = 1, [0xE2] = 1, [0xE3] = 1, [0xEF] = 1,
};

/* ---- a table of words ----------------------------------------------------------------------- */

static struct slot *find(const struct sentence_model *m, const char *word, size_t n)
{
    size_t i = hash_bytes(word, n) & (m->cap - 1);
    while (m->slots[i].place &&
           (m->slots[i].len != n || memcmp(m->words.data + m->slots[i].place - 1, word, n) != 0))
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

static void grow(struct sentence_model *m)
{
    SCOPED_MEM struct slot *old = m->slots;
    size_t old_cap = m->cap;
    m->cap = old_cap ? 2 * old_cap : 1024;
    m->slots = mem_zalloc(m->cap, sizeof *m->slots);
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].place)
            *find(m, m->words.data + old[i].place - 1, old[i].len) = old[i];
}

static void add(struct sentence_model *m, const char *word, size_t n, unsigned kind)
{
    if (2 * m->count >= m->cap)
        grow(m);
    struct slot *s = find(m, word, n);
    if (!s->place) {
        s->place = (uint32_t)m->words.len + 1;
        s->len = (uint16_t)n;
        buf_add(&m->words, word, n);
        m->count++;
    }
    s->kinds |= (uint16_t)kind;
}

unsigned sentence_model_word(const struct sentence_model *m, const char *word, size_t n)
{
    if (!n || n > SENTENCE_WORD_MAX_BYTES)
        return 0;
    const struct slot *s = find(m, word, n);
    return s->place ? s->kinds : 0;
}

const struct sentence_marks *sentence_model_marks(const struct sentence_model *m)
{
    return &m->marks;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Reads the next word of a line into *word and moves *s after it. Returns its length, or 0 at the
 * end of the line. */
static size_t next_word(const char **s, const char *end, const char **word)
{
    while (*s < end && (**s == ' ' || **s == '\t' || **s == '\r'))
        (*s)++;
    *word = *s;
    while (*s < end && **s != ' ' && **s != '\t' && **s != '\r')
        (*s)++;
    return (size_t)(*s - *word);
}

static int add_words(struct sentence_model *m, unsigned kind, const char *s, const char *end,
                     const char *name, size_t line)
{
    const char *word;
    size_t n, count = 0;
    for (; (n = next_word(&s, end, &word)); count++) {
        if (n > SENTENCE_WORD_MAX_BYTES)
            return err_set("'%s': word %zu of line %zu is longer than %d bytes", name, count + 1,
                           line, SENTENCE_WORD_MAX_BYTES);
        add(m, word, n, kind);
    }
    return count ? 0 : err_set("'%s': line %zu has no words", name, line);
}

static int add_pair(struct sentence_model *m, const char *s, const char *end, const char *name,
                    size_t line)
{
    const char *first, *second, *more;
    size_t n1 = next_word(&s, end, &first), n2 = next_word(&s, end, &second);
    if (!n2 || next_word(&s, end, &more))
        return err_set("'%s': line %zu: 'pair' needs two words", name, line);
    if (n1 + 1 + n2 > SENTENCE_WORD_MAX_BYTES)
        return err_set("'%s': the pair in line %zu is longer than %d bytes", name, line,
                       SENTENCE_WORD_MAX_BYTES);
    char pair[SENTENCE_WORD_MAX_BYTES];
    memcpy(pair, first, n1);
    pair[n1] = ' ';
    memcpy(pair + n1 + 1, second, n2);
    add(m, pair, n1 + 1 + n2, SENTENCE_PAIR);
    return 0;
}

static int add_mark(struct sentence_model *m, unsigned char *marks, const char *s, const char *end)
{
    const char *mark, *more;
    if (next_word(&s, end, &mark) != 1 || next_word(&s, end, &more) || (unsigned char)*mark >= 128)
        return -1;
    marks[(unsigned char)*mark] = 1;
    m->marks.first_bytes[(unsigned char)*mark] = 1;
    return 0;
}

static int is_word(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && !memcmp(s, word, n);
}

static int add_line(struct sentence_model *m, const char *s, const char *end, const char *name,
                    size_t line)
{
    static const struct {
        const char *name;
        unsigned kind;
    } kinds[] = { { "title", SENTENCE_TITLE },
                  { "number", SENTENCE_NUMBER },
                  { "abbreviation", SENTENCE_ABBREVIATION },
                  { "opener", SENTENCE_OPENER } };
    const char *word;
    size_t n = next_word(&s, end, &word);
    if (!n || *word == '#')
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_word(word, n, kinds[i].name))
            return add_words(m, kinds[i].kind, s, end, name, line);
    if (is_word(word, n, "pair"))
        return add_pair(m, s, end, name, line);
    if (is_word(word, n, "ordinals")) {
        m->marks.ordinals = 1;
        return !next_word(&s, end, &word)
                   ? 0
                   : err_set("'%s': line %zu: 'ordinals' must stand alone", name, line);
    }
    int pause = is_word(word, n, "pause");
    if (pause || is_word(word, n, "end") || is_word(word, n, "question"))
        return add_mark(m, pause ? m->marks.pauses : m->marks.ends, s, end)
                   ? err_set("'%s': line %zu: '%.*s' needs one ASCII character", name, line, (int)n,
                             word)
                   : 0;
    return err_set("'%s': line %zu begins with '%.*s', which is not a keyword", name, line,
                   (int)(n < 40 ? n : 40), word);
}

int sentence_model_parse(struct sentence_model *m, const char *s, size_t n, const char *name)
{
    struct lines l = LINES_OF(s, n);
    while (lines_next(&l)) {
        if (l.number > 1) {
            if (add_line(m, l.line, l.line + l.len, name, l.number) < 0)
                return -1;
        } else if (l.len != strlen(FIRST_LINE) || memcmp(l.line, FIRST_LINE, l.len) != 0)
            return err_set("'%s' is not a sentence model: its first line is not '%s'", name,
                           FIRST_LINE);
    }
    return n ? 0 : err_set("'%s' is not a sentence model: it is empty", name);
}

int sentence_model_read(struct sentence_model *m, const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    return file_read_any(path, &text) < 0 ? -1 : sentence_model_parse(m, text.data, text.len, path);
}

/* ---- built-in models ----------------------------------------------------------------------- */

static void add_built_in(struct sentence_model *m, const char *lang, size_t n)
{
    for (size_t i = 0; i < sentence_data_count; i++) {
        const struct sentence_data *d = &sentence_data[i];
        if (strlen(d->lang) == n && !memcmp(d->lang, lang, n))
            sentence_model_parse(m, d->text, strlen(d->text),
                                 d->lang); /* cannot fail: tests parse all built-in models */
    }
}

struct sentence_model *sentence_model_new(const char *lang)
{
    struct sentence_model *m = mem_zalloc(1, sizeof *m);
    buf_init(&m->words);
    grow(m);
    memcpy(m->marks.first_bytes, common_first_bytes, sizeof m->marks.first_bytes);
    add_built_in(m, "", 0);
    if (*lang)
        add_built_in(m, lang, strcspn(lang, "-"));
    return m;
}

void sentence_model_free(struct sentence_model *m)
{
    if (!m)
        return;
    buf_release(&m->words);
    free(m->slots);
    free(m);
}
