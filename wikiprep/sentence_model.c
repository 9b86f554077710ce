#include "wikiprep/sentence_model.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/mem.h"

static const char FIRST_LINE[] = "textmill sentences 1";

struct slot {
    uint32_t place; /* of the word in `words`, plus one; 0: empty */
    uint16_t len;
    uint16_t kinds;
};

struct sentence_model {
    struct buf words; /* end to end */
    struct slot *slots;
    size_t count, cap; /* cap: a power of two */
    int ordinals;
    unsigned question; /* 0: none beside "?" */
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
    struct slot *old = m->slots;
    size_t old_cap = m->cap;
    m->cap = old_cap ? 2 * old_cap : 1024;
    m->slots = mem_zalloc(m->cap, sizeof *m->slots);
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].place)
            *find(m, m->words.data + old[i].place - 1, old[i].len) = old[i];
    free(old);
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

int sentence_model_has_ordinals(const struct sentence_model *m)
{
    return m->ordinals;
}

int sentence_model_asks(const struct sentence_model *m, unsigned code)
{
    return code == m->question && code;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* The next word of a line; 0 at its end. */
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
        return err_set("'%s': line %zu is no pair of words", name, line);
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
        if (n == strlen(kinds[i].name) && !memcmp(word, kinds[i].name, n))
            return add_words(m, kinds[i].kind, s, end, name, line);
    if (n == 4 && !memcmp(word, "pair", n))
        return add_pair(m, s, end, name, line);
    int ordinals = n == 8 && !memcmp(word, "ordinals", n);
    int question = n == 8 && !memcmp(word, "question", n);
    const char *mark;
    size_t mark_len = next_word(&s, end, &mark);
    if (ordinals && !mark_len) {
        m->ordinals = 1;
        return 0;
    }
    if (question && mark_len == 1) {
        m->question = (unsigned char)*mark;
        return 0;
    }
    if (question || ordinals)
        return err_set("'%s': line %zu: '%.8s' takes %s", name, line, word,
                       question ? "one ASCII character" : "nothing");
    return err_set("'%s': line %zu begins with '%.*s', which is no kind of word", name, line,
                   (int)(n < 40 ? n : 40), word);
}

int sentence_model_parse(struct sentence_model *m, const char *s, size_t n, const char *name)
{
    const char *end = s + n;
    for (size_t line = 1; s < end; line++) {
        const char *lf = memchr(s, '\n', (size_t)(end - s));
        const char *line_end = lf ? lf : end;
        if (line > 1) {
            if (add_line(m, s, line_end, name, line) < 0)
                return -1;
        } else if ((size_t)(line_end - s) != strlen(FIRST_LINE) ||
                   memcmp(s, FIRST_LINE, strlen(FIRST_LINE)) != 0)
            return err_set("'%s' is no table of sentences: its first line is not '%s'", name,
                           FIRST_LINE);
        s = line_end + 1;
    }
    return n ? 0 : err_set("'%s' is no table of sentences: it is empty", name);
}

int sentence_model_read(struct sentence_model *m, const char *path)
{
    struct buf text = BUF_INIT;
    int result = file_read(path, &text);
    if (!result)
        result = sentence_model_parse(m, text.data, text.len, path);
    buf_release(&text);
    return result;
}

/* ---- built in ---------------------------------------------------------------------------------
 */

static void add_built_in(struct sentence_model *m, const char *lang, size_t n)
{
    for (size_t i = 0; i < sentence_data_count; i++) {
        const struct sentence_data *d = &sentence_data[i];
        if (strlen(d->lang) == n && !memcmp(d->lang, lang, n))
            sentence_model_parse(m, d->text, strlen(d->text),
                                 d->lang); /* right: the tests see to it */
    }
}

struct sentence_model *sentence_model_new(const char *lang)
{
    struct sentence_model *m = mem_zalloc(1, sizeof *m);
    buf_init(&m->words);
    grow(m);
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
