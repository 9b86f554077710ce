#include "squad/squad.h"

#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/files/nameset.h"
#include "common/formats/js.h"

enum depth { ARTICLE, PARAGRAPH, QUESTION, ANSWER, DEPTHS };
static const char *const lists[DEPTHS] = { "data", "paragraphs", "qas", "answers" };

/* The current position in the file, for error messages. */
struct place {
    const char *name;
    size_t at[DEPTHS]; /* index in the list of each depth */
};

/* Sets the error that the place p has a fault: `before`, the key in quotes and `after`. */
static int bad(const struct place *p, enum depth depth, const char *before, const char *key,
               const char *after)
{
    SCOPED(buf) at = BUF_INIT;
    for (int d = ARTICLE; d <= (int)depth; d++)
        buf_addf(&at, "%s%s[%zu]", d ? "." : "", lists[d], p->at[d]);
    return err_set("%s: %s: %s\"%s\"%s", p->name, at.data, before, key, after);
}

/* ---- positions of answers ------------------------------------------------------------------- */

/* Returns the byte offset after `units` UTF-16 units, or n if that is inside a surrogate pair. */
static size_t utf16_bytes(const char *s, size_t n, uint64_t units)
{
    uint64_t seen = 0;
    size_t i = 0, len;
    for (; i < n && seen < units; i += len)
        seen += 1 + (utf8_get((const unsigned char *)s + i, &len) > 0xFFFF);
    return seen == units ? i : n;
}

static int stands_at(struct span context, struct span text, size_t at)
{
    return at <= context.n && text.n <= context.n - at && !memcmp(context.s + at, text.s, text.n);
}

/* Returns the offset of the occurrence nearest to byte `wanted` (of two, the earlier), or context.n
 * + 1 if there is none. */
static size_t nearest(struct span context, struct span text, size_t wanted)
{
    size_t best = context.n + 1, best_distance = SIZE_MAX;
    const char *end = context.s + context.n, *p = context.s;
    while ((p = memmem(p, (size_t)(end - p), text.s, text.n))) {
        size_t at = (size_t)(p++ - context.s);
        size_t distance = at > wanted ? at - wanted : wanted - at;
        if (distance >= best_distance)
            break; /* later ones are farther away */
        best = at;
        best_distance = distance;
    }
    return best;
}

/* Sets the position of an answer in its context, in characters (code points), and its fit. `start`
 * is answer_start of the file, or negative if it is missing. */
static void locate(struct squad_answer *a, struct span context, int64_t start)
{
    const struct span text = a->text;
    const size_t units = start < 0 ? 0 : (size_t)start;
    const size_t places[] = { [SQUAD_IN_PLACE] = utf8_offset(context.s, context.n, units),
                              [SQUAD_UTF16] = utf16_bytes(context.s, context.n, units),
                              [SQUAD_BYTES] = units };
    int fit = start < 0 ? SQUAD_MOVED : SQUAD_IN_PLACE;
    a->fit = SQUAD_NOWHERE;
    a->begin = a->end = 0;
    if (!text.n)
        return;
    while (fit < SQUAD_MOVED && !stands_at(context, text, places[fit]))
        fit++;
    const size_t at = fit < SQUAD_MOVED ? places[fit] : nearest(context, text, places[0]);
    if (at > context.n)
        return;
    a->fit = (enum squad_fit)fit;
    a->begin = (uint32_t)utf8_count(context.s, at);
    a->end = a->begin + (uint32_t)utf8_count(text.s, text.n);
}

/* ---- the JSON tree -------------------------------------------------------------------------- */

/* Sets *out to the text object[key]. Returns 0, or -1 with an error if there is none. */
static int get_text(struct span *out, const struct js *object, const char *key,
                    const struct place *p, enum depth depth)
{
    out->s = js_text(js_get(object, key), &out->n);
    return out->s ? 0 : bad(p, depth, "no string ", key, "");
}

/* Calls `add` for each item of the object's list of this depth. Returns 0, or -1 with an error,
 * also if there is no such list. */
static int add_list(struct squad *s, const struct js *object, struct place *p, enum depth depth,
                    int (*add)(struct squad *s, const struct js *v, struct place *p))
{
    const struct js *array = js_get(object, lists[depth]);
    size_t *at = &p->at[depth];
    if (!js_is_array(array))
        return bad(p, depth - 1, "no array ", lists[depth], "");
    for (*at = 0; *at < js_count(array); ++*at)
        if (add(s, js_at(array, *at), p) < 0)
            return -1;
    return 0;
}

static int add_answer(struct squad *s, const struct js *v, struct place *p)
{
    struct squad_answer *a = &mem_next(s->answers, s->answer_count, s->answer_cap);
    int64_t start = -1;
    if (get_text(&a->text, v, "text", p, ANSWER) < 0)
        return -1;
    if (js_get(v, "answer_start") && js_int(js_get(v, "answer_start"), &start) < 0)
        return bad(p, ANSWER, "", "answer_start", " is no integer");
    locate(a, s->paragraphs[s->paragraph_count - 1], start);
    s->fits[a->fit]++;
    return 0;
}

static int add_question(struct squad *s, const struct js *v, struct place *p)
{
    struct span id;
    int64_t number;
    int impossible = 0;
    struct squad_question *q = &mem_next(s->questions, s->question_count, s->question_cap);
    *q = (struct squad_question){ .paragraph = s->paragraph_count - 1, .answer = s->answer_count };
    if (js_int(js_get(v, "id"), &number) == 0) /* as in GermanQuAD */
        q->id = buf_format("%lld", (long long)number).data;
    else if (get_text(&id, v, "id", p, QUESTION) < 0)
        return -1;
    else if (strlen(id.s) != id.n)
        return bad(p, QUESTION, "", "id", " holds U+0000");
    else
        q->id = mem_strdup(id.s);
    if (get_text(&q->text, v, "question", p, QUESTION) < 0)
        return -1;
    const struct js *mark = js_get(v, "is_impossible");
    if (mark && js_bool(mark, &impossible) < 0)
        return bad(p, QUESTION, "", "is_impossible", " is neither true nor false");
    s->marks_impossible |= mark != NULL;
    if (js_get(v, "answers") && add_list(s, v, p, ANSWER, add_answer) < 0)
        return -1;
    q->answers = s->answer_count - q->answer;
    q->answerable = q->answers && !impossible;
    s->unanswerable += !q->answerable;
    return 0;
}

static int add_paragraph(struct squad *s, const struct js *v, struct place *p)
{
    struct span *context = &mem_next(s->paragraphs, s->paragraph_count, s->paragraph_cap);
    if (get_text(context, v, "context", p, PARAGRAPH) < 0)
        return -1;
    s->empty_paragraphs += !js_count(js_get(v, "qas")) || !context->n;
    return add_list(s, v, p, QUESTION, add_question);
}

static int add_article(struct squad *s, const struct js *v, struct place *p)
{
    return add_list(s, v, p, PARAGRAPH, add_paragraph);
}

/* ---- ids that occur twice ------------------------------------------------------------------- */

static void mark_repeated(struct squad *s)
{
    struct nameset *ids = nameset_new(sizeof(size_t)); /* 1 + index of the first question */
    for (size_t i = 0; i < s->question_count; i++) {
        struct squad_question *q = &s->questions[i];
        size_t *first = nameset_put(ids, q->id, strlen(q->id));
        s->repeated_ids += *first > 0;
        *first = *first ? *first : i + 1;
        q->same_id = *first - 1;
    }
    nameset_free(ids);
}

/* ---- a file --------------------------------------------------------------------------------- */

static int read_tree(struct squad *s, const char *name)
{
    struct place p = { .name = name };
    if (!js_is_array(js_get(s->json, "data")))
        return err_set("%s: not a SQuAD file: it has no array \"data\"", name);
    if (add_list(s, s->json, &p, ARTICLE, add_article) < 0)
        return -1;
    mark_repeated(s);
    return 0;
}

int squad_parse(struct squad *s, const char *text, size_t n, const char *name)
{
    *s = (struct squad){ .json = js_parse_line(text, n, name) };
    if (s->json && read_tree(s, name) == 0)
        return 0;
    if (!s->json && memmem(text, n, "}\n{", 3)) /* the rows of Hugging Face's datasets */
        err_set("%s: not a SQuAD file: lines of JSON, not one object with \"data\"", name);
    squad_release(s);
    return -1;
}

int squad_read(struct squad *s, const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    *s = (struct squad){ 0 };
    return file_read_any(path, &text) < 0 ? -1 : squad_parse(s, text.data, text.len, path);
}

void squad_ask(struct squad *s, struct span context, struct span question)
{
    *s = (struct squad){ .paragraph_count = 1, .question_count = 1, .unanswerable = 1 };
    s->paragraphs = mem_zalloc(1, sizeof *s->paragraphs);
    s->questions = mem_zalloc(1, sizeof *s->questions);
    s->paragraphs[0] = context;
    s->questions[0] = (struct squad_question){ .id = mem_strdup(""), .text = question };
}

void squad_release(struct squad *s)
{
    for (size_t i = 0; i < s->question_count; i++)
        free(s->questions[i].id);
    free(s->paragraphs);
    free(s->questions);
    free(s->answers);
    js_free(s->json);
    *s = (struct squad){ 0 };
}
