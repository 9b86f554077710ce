#include "wikiprep/sentences/sentence_model.h"

#include "common/base/choice.h"
#include "common/base/lines.h"
#include "common/files/file.h"
#include "common/files/nameset.h"

static const char FIRST_LINE[] = "textmill sentences 1";

/* By byte: 1 for the first bytes of « » and of LETTER_END and LETTER_FULL_END marks (letter.h). */
static const unsigned char common_first_bytes[256] = {
    ['.'] = 1,  ['!'] = 1,  ['?'] = 1,  [0xC2] = 1, [0xCD] = 1, [0xD6] = 1, [0xD8] = 1, [0xDB] = 1,
    [0xDF] = 1, [0xE0] = 1, [0xE1] = 1, [0xE2] = 1, [0xE3] = 1, [0xEA] = 1, [0xEF] = 1,
};

/* ---- words ---------------------------------------------------------------------------------- */

unsigned sentence_model_word(const struct sentence_model *m, const char *word, size_t n)
{
    int may = n && n <= SENTENCE_WORD_MAX_BYTES;
    const unsigned *kinds = may ? nameset_get(m->words, word, n) : NULL;
    return kinds ? *kinds : 0;
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
        *(unsigned *)nameset_put(m->words, word, n) |= kind;
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
    *(unsigned *)nameset_put(m->words, pair, n1 + 1 + n2) |= SENTENCE_PAIR;
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

static int add_line(struct sentence_model *m, const char *s, const char *end, const char *name,
                    size_t line)
{
    static const char kinds[] = "title|number|abbreviation|opener"; /* as in enum sentence_word */
    const char *word;
    size_t n = next_word(&s, end, &word);
    if (!n || *word == '#')
        return 0;
    const int kind = choice_find(kinds, word, n);
    if (kind >= 0)
        return add_words(m, 1u << kind, s, end, name, line);
    if (bytes_are(word, n, "pair"))
        return add_pair(m, s, end, name, line);
    if (bytes_are(word, n, "ordinals")) {
        m->marks.ordinals = 1;
        return !next_word(&s, end, &word)
                   ? 0
                   : err_set("'%s': line %zu: 'ordinals' must stand alone", name, line);
    }
    int pause = bytes_are(word, n, "pause");
    if (pause || bytes_are(word, n, "end") || bytes_are(word, n, "question"))
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
    if (!lines_next_text(&l))
        return err_set("'%s' is not a sentence model: it is empty", name);
    if (!bytes_are(l.line, l.len, FIRST_LINE))
        return err_set("'%s' is not a sentence model: its first line is not '%s'", name,
                       FIRST_LINE);
    while (lines_next(&l))
        if (add_line(m, l.line, l.line + l.len, name, l.number) < 0)
            return -1;
    return 0;
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
        if (bytes_are(lang, n, d->lang))
            sentence_model_parse(m, d->text, strlen(d->text),
                                 d->lang); /* cannot fail: tests parse all built-in models */
    }
}

struct sentence_model *sentence_model_new(const char *lang)
{
    struct sentence_model *m = mem_zalloc(1, sizeof *m);
    m->words = nameset_new(sizeof(unsigned));
    memcpy(m->marks.first_bytes, common_first_bytes, sizeof m->marks.first_bytes);
    add_built_in(m, "", 0);
    add_built_in(m, lang, strcspn(lang, "-"));
    return m;
}

void sentence_model_free(struct sentence_model *m)
{
    if (!m)
        return;
    nameset_free(m->words);
    free(m);
}
