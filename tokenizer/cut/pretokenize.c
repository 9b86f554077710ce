#include "tokenizer/cut/pretokenize.h"

#include "tokenizer/cut/automaton.h"
#include "tokenizer/cut/gpt2.h"
#include "tokenizer/cut/regex.h"
#include "tokenizer/cut/scan.h"

const char gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* ---- rules -------------------------------------------------------------------------------- */

static int is_gpt2_pattern(const char *text, size_t n)
{
    /* The second spelling occurs in some tokenizer.json files; both match the same. */
    static const char *const spellings[] = {
        gpt2_pattern,
        "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (bytes_are(text, n, spellings[i]))
            return 1;
    return 0;
}

/* Makes the automaton of a rule. Returns NULL if that is not possible. */
static struct automaton *automaton_of(const struct split_rule *r)
{
    SCOPED(buf) pattern = BUF_INIT;
    if (r->kind == SPLIT_GPT2)
        buf_adds(&pattern, gpt2_pattern);
    else if (r->kind == SPLIT_PATTERN)
        buf_add(&pattern, r->text, r->len);
    for (size_t i = 0; i < r->len && r->kind == SPLIT_STRING; i++) {
        if (r->text[i] && strchr("\\^$.|?*+()[]{}", r->text[i]))
            buf_addc(&pattern, '\\');
        buf_addc(&pattern, r->text[i]);
    }
    struct automaton *a = automaton_new(pattern.data, pattern.len, regex_class);
    return a;
}

int splitter_add(struct splitter *s, enum split_kind kind, const char *text, size_t n)
{
    if (s->count == SPLIT_RULES_MAX)
        return err_set("more than %d rules of pre-tokenization", SPLIT_RULES_MAX);
    struct split_rule r = { .kind = kind };
    if (kind == SPLIT_PATTERN && is_gpt2_pattern(text, n))
        r.kind = SPLIT_GPT2;
    if (kind == SPLIT_STRING && !n) /* as the empty expression: at each character */
        r.kind = SPLIT_PATTERN;
    if (r.kind == SPLIT_PATTERN && !(r.regex = regex_new_cut(text, n)))
        return -1;
    if (r.kind != SPLIT_GPT2) {
        r.text = mem_strndup(text, n);
        r.len = n;
    }
    s->rules[s->count++] = r;
    for (int i = 0; i < s->count && !splitter_is_gpt2(s); i++)
        if (!s->automata[i])
            s->automata[i] = automaton_of(&s->rules[i]);
    return 0;
}

int splitter_of_bytes(struct splitter *s, const uint32_t points[256])
{
    if (!splitter_scans(s))
        return -1;
    automaton_of_bytes(s->automata[s->count - 1], points);
    return 0;
}

int splitter_covers(const struct splitter *s)
{
    const struct automaton *a = s->automata[s->count - 1];
    return a && a->covers;
}

void splitter_release(struct splitter *s)
{
    for (int i = 0; i < s->count; i++) {
        automaton_free(s->automata[i]);
        s->automata[i] = NULL;
        regex_free(s->rules[i].regex);
        free(s->rules[i].text);
    }
    s->count = 0;
}

int splitter_is_gpt2(const struct splitter *s)
{
    return s->count == 1 && s->rules[0].kind == SPLIT_GPT2;
}

int splitter_scans(const struct splitter *s)
{
    for (int i = 0; i < s->count; i++)
        if (!s->automata[i])
            return 0;
    return s->count > 0;
}

/* ---- iteration over pieces ----------------------------------------------------------------- */

/* The state of one rule: it cuts [begin, end), and the pieces before `at` have been returned. */
struct level {
    size_t begin, end, at;
    size_t match_begin, match_end; /* the next match, when match_end > at */
    struct gpt2 gpt2;              /* iterates over [begin, end) */
};

struct split_walk {
    const struct splitter *splitter;
    struct regex_scratch *scratch;
    struct scan *scan; /* NULL: rules are applied one by one */
    const char *text;
    struct level levels[SPLIT_RULES_MAX + 1]; /* levels[i].at: end of rule i's piece */
};

struct split_walk *split_new(const struct splitter *splitter)
{
    struct split_walk *s = mem_zalloc(1, sizeof *s);
    s->splitter = splitter;
    if (splitter_scans(splitter) && !splitter_is_gpt2(splitter))
        s->scan = scan_new((const struct automaton *const *)splitter->automata, splitter->count);
    for (int i = 0; i < splitter->count; i++)
        if (splitter->rules[i].regex && !s->scratch)
            s->scratch = regex_scratch_new();
    return s;
}

void split_free(struct split_walk *s)
{
    if (!s)
        return;
    regex_scratch_free(s->scratch);
    scan_free(s->scan);
    free(s);
}

/* Prepares rule i to cut the bytes [begin, end) of the text. */
static void level_begin(struct split_walk *s, int i, size_t begin, size_t end)
{
    struct level *l = &s->levels[i];
    l->begin = l->at = l->match_begin = l->match_end = begin;
    l->end = end;
    if (i < s->splitter->count && s->splitter->rules[i].kind == SPLIT_GPT2)
        gpt2_begin(&l->gpt2, s->text + begin, end - begin);
}

void split_begin(struct split_walk *s, const char *text, size_t n)
{
    s->text = text;
    if (s->scan) {
        scan_begin(s->scan, text, n);
        return;
    }
    for (int i = 0; i < s->splitter->count; i++)
        s->levels[i].at = s->levels[i].end = 0;
    level_begin(s, 0, 0, n);
}

void split_also_at(struct split_walk *s, const size_t *offsets, size_t count)
{
    scan_also_at(s->scan, offsets, count);
}

/* Sets l->match_begin and l->match_end to the first match at or after l->at, or both to l->end if
 * there is none. Returns 0, or -1 with an error. */
static int find_match(struct split_walk *s, const struct split_rule *r, struct level *l)
{
    const char *text = s->text + l->begin;
    size_t n = l->end - l->begin, from = l->at - l->begin, begin = n, end = n;
    if (r->kind == SPLIT_STRING) {
        const char *hit = memmem(text + from, n - from, r->text, r->len);
        begin = hit ? (size_t)(hit - text) : n;
        end = hit ? begin + r->len : n;
    } else {
        int got = regex_find(r->regex, s->scratch, text, n, from, &begin, &end);
        if (got < 0)
            return err_in("at byte %zu of the text", l->at);
        if (!got)
            begin = end = n;
    }
    l->match_begin = l->begin + begin;
    l->match_end = l->begin + end;
    return 0;
}

/* Moves l->at to the end of the rule's next piece. Requires l->at < l->end. */
static int advance(struct split_walk *s, const struct split_rule *r, struct level *l)
{
    if (r->kind == SPLIT_GPT2) {
        gpt2_next(&l->gpt2, &l->at, 1);
        l->at += l->begin;
        return 0;
    }
    if (l->match_end <= l->at && find_match(s, r, l) < 0)
        return -1;
    l->at = l->match_begin > l->at ? l->match_begin : l->match_end;
    return 0;
}

/* Moves rule i to the end of its next piece (s->levels[i].at). Returns 1, 0 at the end of the text,
 * or -1 with an error. */
static int next_piece(struct split_walk *s, int i)
{
    struct level *l = &s->levels[i];
    if (l->at == l->end) {
        if (!i)
            return 0;
        size_t begin = s->levels[i - 1].at;
        int got = next_piece(s, i - 1);
        if (got <= 0)
            return got;
        level_begin(s, i, begin, s->levels[i - 1].at);
    }
    return advance(s, &s->splitter->rules[i], l) < 0 ? -1 : 1;
}

int split_next(struct split_walk *s, size_t *ends, int max)
{
    int last = s->splitter->count - 1;
    if (s->scan)
        return scan_next(s->scan, ends, max);
    if (splitter_is_gpt2(s->splitter))
        return gpt2_next(&s->levels[0].gpt2, ends, max);
    if (last < 0) { /* no rules: the text is one piece */
        int more = s->levels[0].at < s->levels[0].end && max > 0;
        s->levels[0].at = ends[0] = s->levels[0].end;
        return more;
    }
    int count = 0, got = 1;
    while (count < max && (got = next_piece(s, last)) > 0)
        ends[count++] = s->levels[last].at;
    return got < 0 ? -1 : count;
}
