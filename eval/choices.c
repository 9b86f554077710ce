#include "eval/choices.h"

#include "common/base/choice.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/formats/js.h"
#include "unicode/letter_case.h"
#include "unicode/whitespace.h"

const struct choices_row choices_forms[CHOICES_FORMS] = {
    { .name = "auto" },
    { "plain", "context, choices, label", "id", "{context}", "{#}", "label", .array = "choices",
      .norm = 1 },
    { "hellaswag", "activity_label, ctx_a, ctx_b, endings, label",
      "ctx, ind, source_id, split, split_type", "{activity_label}: {ctx_a} {capitalize ctx_b}",
      "{#}", "label", .array = "endings", .norm = 1, .wikihow = 1 },
    { "piqa", "goal, sol1, sol2, label", "id", "Question: {goal}\nAnswer:", "{sol1}|{sol2}",
      "label", .norm = 1 },
    { "arc", "question, choices, answerKey", "id", "Question: {question}\nAnswer:", "{#}",
      "answerKey", "choices.label", "choices.text", .norm = 1 },
    { "winogrande", "sentence, option1, option2, answer", "qID",
      "{before sentence}{option1}|{before sentence}{option2}", "{after sentence}|{after sentence}",
      "answer", .first = 1 },
    { "mmlu", "question, subject, choices, answer", "",
      "{strip question}\nA. {choices.0}\nB. {choices.1}\nC. {choices.2}\n"
      "D. {choices.3}\nAnswer:",
      "A|B|C|D", "answer", .array = "choices",
      .description = "The following are multiple choice questions (with answers) "
                     "about {spaces subject}.\n\n" },
    { "boolq", "passage, question, label", "idx",
      "{passage}\nQuestion: {question}?\nAnswer:", "no|yes", .gold = "label" },
    { "sciq", "support, question, distractor1, distractor2, distractor3, correct_answer", "",
      "{lstrip support}\nQuestion: {question}\nAnswer:",
      "{distractor1}|{distractor2}|{distractor3}|{correct_answer}", .norm = 1 },
    { "openbookqa", "question_stem, choices, answerKey", "id", "{question_stem}", "{#}",
      "answerKey", "choices.label", "choices.text", .norm = 1 },
    { "copa", "premise, question, choice1, choice2, label", "idx",
      "{unstop premise} {connect question}", " {uncapitalize choice1}| {uncapitalize choice2}",
      .gold = "label" },
    { "social_iqa", "context, question, answerA, answerB, answerC, label", "",
      "Q: {context} {question}\nA:", "{answerA}|{answerB}|{answerC}", "label", .first = 1 },
    { "commonsense_qa", "question, question_concept, choices, answerKey", "id",
      "Question: {strip question}\nA. {choices.text.0}\n"
      "B. {choices.text.1}\nC. {choices.text.2}\n"
      "D. {choices.text.3}\nE. {choices.text.4}\nAnswer:",
      "A|B|C|D|E", "answerKey", "choices.label", .array = "choices.text" },
};

/* ---- functions of templates ----------------------------------------------------------------- */

static int put_strip(struct buf *out, struct span s)
{
    s = whitespace_strip(s.s, s.n);
    buf_add(out, s.s, s.n);
    return 0;
}

static struct span strip_left(struct span s)
{
    for (size_t width; (width = whitespace_at(s.s, s.n)); s.s += width)
        s.n -= width;
    return s;
}

static int put_strip_left(struct buf *out, struct span s)
{
    s = strip_left(s);
    buf_add(out, s.s, s.n);
    return 0;
}

static int put_spaces(struct buf *out, struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        buf_addc(out, s.s[i] == '_' ? ' ' : s.s[i]);
    return 0;
}

/* Appends the text as Python's str.capitalize() returns it: the first character in title case, the
 * others in lower case. */
static int put_capitalized(struct buf *out, struct span text)
{
    const char *s = text.s;
    const size_t n = text.n;
    SCOPED(buf) lower = BUF_INIT, first = BUF_INIT;
    size_t width = n ? utf8_offset(s, n, 1) : 0;
    letter_case_put(out, s, width, letter_case_title);
    letter_case_put(&first, s, width, letter_case_lower);
    letter_case_put(&lower, s, n, letter_case_lower); /* a sigma's form depends on the word */
    buf_add(out, lower.data + first.len, lower.len - first.len);
    return 0;
}

/* Appends the text with its first character in lower case. */
static int put_uncapitalized(struct buf *out, struct span s)
{
    size_t width = s.n ? utf8_offset(s.s, s.n, 1) : 0;
    letter_case_put(out, s.s, width, letter_case_lower);
    buf_add(out, s.s + width, s.n - width);
    return s.n ? 0 : err_set("is empty");
}

/* Appends the sentence without its last character, the full stop. */
static int put_unstopped(struct buf *out, struct span s)
{
    s = whitespace_strip(s.s, s.n);
    size_t characters = utf8_count(s.s, s.n);
    buf_add(out, s.s, characters ? utf8_offset(s.s, s.n, characters - 1) : 0);
    return 0;
}

/* Appends the word that joins a sentence and its cause or effect. */
static int put_connector(struct buf *out, struct span s)
{
    static const char *const words[][2] = { { "cause", "because" }, { "effect", "therefore" } };
    for (int i = 0; i < 2; i++)
        if (bytes_are(s.s, s.n, words[i][0])) {
            buf_adds(out, words[i][1]);
            return 0;
        }
    return err_set("is neither 'cause' nor 'effect'");
}

/* Appends the text before the '_' of a sentence, or (put_after) the text after it, stripped. */
static int put_before(struct buf *out, struct span s)
{
    const char *blank = memchr(s.s, '_', s.n);
    if (!blank)
        return err_set("has no '_'");
    buf_add(out, s.s, (size_t)(blank - s.s));
    return 0;
}

static int put_after(struct buf *out, struct span s)
{
    const char *blank = memchr(s.s, '_', s.n);
    struct span rest = { s.s + s.n, 0 };
    if (blank)
        rest = whitespace_strip(blank + 1, (size_t)(s.s + s.n - blank) - 1);
    buf_add(out, rest.s, rest.n);
    return rest.n ? 0 : err_set("has nothing behind its '_'");
}

static const struct {
    const char *name;
    int (*put)(struct buf *out, struct span s);
} functions[] = {
    { "strip", put_strip },
    { "lstrip", put_strip_left },
    { "spaces", put_spaces },
    { "capitalize", put_capitalized },
    { "uncapitalize", put_uncapitalized },
    { "unstop", put_unstopped },
    { "connect", put_connector },
    { "before", put_before },
    { "after", put_after },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- the texts of WikiHow ------------------------------------------------------------------- */

/* Removes each pair of brackets and the text in it, if both brackets are on one line. */
static void drop_brackets(struct buf *text)
{
    size_t kept = 0, i = 0;
    while (i < text->len) {
        const char *open = text->data + i, *close = NULL;
        if (*open == '[')
            close = memchr(open, ']', text->len - i);
        if (close && !memchr(open, '\n', (size_t)(close - open)))
            i += (size_t)(close + 1 - open);
        else
            text->data[kept++] = text->data[i++];
    }
    buf_truncate(text, kept);
}

/* Removes from the text the white space at both ends and the marks that HellaSwag's source,
 * WikiHow, left. */
static void clean(struct buf *text)
{
    struct span inner = whitespace_strip(text->data, text->len);
    SCOPED(buf) next = BUF_INIT;
    buf_add_replaced(&next, inner.s, inner.n, " [title]", 8, ". ", 2);
    drop_brackets(&next);
    buf_clear(text);
    buf_add_replaced(text, next.data, next.len, "  ", 2, " ", 1);
}

/* ---- templates ------------------------------------------------------------------------------ */

/* A question that is being read: the row of its form, its JSON object, and a name for its line in
 * error messages. */
struct source {
    const struct choices_row *row;
    const struct js *root;
    const char *name;
};

/* Returns the value of a path of keys and indices such as choices.text.0, or NULL. */
static const struct js *find(const struct js *v, struct span path)
{
    char key[32];
    while (path.n) {
        const char *dot = memchr(path.s, '.', path.n);
        size_t n = dot ? (size_t)(dot - path.s) : path.n, skip = n + !!dot;
        snprintf(key, sizeof key, "%.*s", (int)n, path.s);
        v = js_is_array(v) ? js_at(v, strtoul(key, NULL, 10)) : js_get(v, key);
        path = (struct span){ path.s + skip, path.n - skip };
    }
    return v;
}

static const struct js *find_word(const struct js *v, const char *path)
{
    return find(v, (struct span){ path, strlen(path) });
}

/* Returns part i of a list "a|b|c", or the last part if the list has fewer parts. */
static struct span part(const char *list, size_t i)
{
    struct span word;
    word.s = choice_at(list, i, &word.n);
    return word;
}

/* Appends the value of a slot "key" or "function key". For the key # it is element i of the row's
 * array. */
static int put_slot(struct buf *out, const struct source *q, struct span slot, size_t i)
{
    const char *space = memchr(slot.s, ' ', slot.n);
    size_t word = space ? (size_t)(space - slot.s) : 0, skip = space ? word + 1 : 0;
    struct span key = { slot.s + skip, slot.n - skip }, text;
    int element = *key.s == '#';
    text.s = js_text(element ? js_at(find_word(q->root, q->row->array), i) : find(q->root, key),
                     &text.n);
    if (!text.s && element)
        return err_set("%s: %s[%zu] is no string", q->name, q->row->array, i);
    if (!text.s)
        return err_set("%s: the object has no string \"%.*s\"", q->name, (int)key.n, key.s);
    for (int f = 0; f < FUNCTIONS; f++)
        if (bytes_are(slot.s, word, functions[f].name)) {
            int result = functions[f].put(out, text);
            return result < 0 ? err_in("%s: \"%.*s\"", q->name, (int)key.n, key.s) : 0;
        }
    assert(!word);
    buf_add(out, text.s, text.n);
    return 0;
}

/* Appends a template with the values of its slots for choice i. */
static int put(struct buf *out, const struct source *q, struct span template, size_t i)
{
    const char *at = template.s, *end = at + template.n, *open;
    while ((open = memchr(at, '{', (size_t)(end - at)))) {
        const char *close = memchr(open, '}', (size_t)(end - open));
        buf_add(out, at, (size_t)(open - at));
        if (put_slot(out, q, (struct span){ open + 1, (size_t)(close - open) - 1 }, i) < 0)
            return -1;
        at = close + 1;
    }
    buf_add(out, at, (size_t)(end - at));
    return 0;
}

/* ---- a line --------------------------------------------------------------------------------- */

static struct choices_option *add_option(struct choices_question *q)
{
    struct choices_option *o = &mem_next(q->options, q->count, q->cap);
    if (q->count > q->made) {
        *o = (struct choices_option){ BUF_INIT, BUF_INIT, 0 };
        q->made = q->count;
    }
    buf_clear(&o->context);
    buf_clear(&o->ending);
    buf_addc(&o->ending, ' ');
    return o;
}

void choices_release(struct choices_question *q)
{
    for (size_t i = 0; i < q->made; i++) {
        buf_release(&q->options[i].context);
        buf_release(&q->options[i].ending);
    }
    buf_release(&q->description);
    free(q->options);
    *q = (struct choices_question){ 0 };
}

/* Sets *count to the number of choices. */
static int count_choices(const struct source *q, size_t *count)
{
    const char *array = q->row->array;
    *count = 1;
    for (const char *s = q->row->choices; (s = strchr(s, '|')); s++)
        ++*count;
    if (!array)
        return 0;
    const struct js *texts = find_word(q->root, array);
    size_t n = js_is_array(texts) ? js_count(texts) : 0;
    if (n < 2)
        return err_set("%s: \"%s\" is no array of at least two choices", q->name, array);
    if (*count > 1 && n != *count)
        return err_set("%s: \"%s\" has %zu choices, but questions of the form %s have %zu", q->name,
                       array, n, q->row->name, *count);
    *count = n;
    return 0;
}

/* Returns the number of the right choice, counted from 0 and below `count`, from a member that is a
 * number, its digits, false (0) or true (1); or -1 with an error. */
static int64_t numbered_gold(const struct source *q, int64_t count)
{
    const struct js *v = js_get(q->root, q->row->gold);
    int64_t label = js_flag(q->root, q->row->gold, -1), first = q->row->first;
    const char *s = js_text(v, NULL);
    char *end = NULL;
    if (!js_is_set(v))
        return err_set("%s: the object has no \"%s\"", q->name, q->row->gold);
    if (s)
        label = strtoll(s, &end, 10);
    if (s ? end == s || *end : label < 0 && js_int(v, &label) < 0)
        return err_set("%s: \"%s\" is no number of a choice", q->name, q->row->gold);
    if (label < first || label - first >= count)
        return err_set("%s: \"%s\" is %lld, but the choices are %lld to %lld", q->name,
                       q->row->gold, (long long)label, (long long)first,
                       (long long)(first - 1 + count));
    return label - first;
}

/* Returns the number of the right choice, counted from 0 and below `count`, from a member that is
 * one of the strings in the array row->labels; or -1 with an error. */
static int64_t labelled_gold(const struct source *q, int64_t count)
{
    const struct js *labels = find_word(q->root, q->row->labels);
    struct span answer;
    answer.s = js_text(js_get(q->root, q->row->gold), &answer.n);
    if (!answer.s)
        return err_set("%s: the object has no string \"%s\"", q->name, q->row->gold);
    if (js_count(labels) != (size_t)count)
        return err_set("%s: %s and %s differ in length", q->name, q->row->labels, q->row->array);
    answer = strip_left(answer);
    for (int64_t i = 0; i < count; i++)
        if (js_text_is(js_at(labels, (size_t)i), answer.s))
            return i;
    return err_set("%s: \"%s\" is '%s', which is not in %s", q->name, q->row->gold, answer.s,
                   q->row->labels);
}

/* Adds choice i with its context. */
static int take_option(struct choices_question *q, const struct source *from, size_t i)
{
    struct choices_option *o = add_option(q);
    SCOPED(buf) ending = BUF_INIT;
    if (put(&o->context, from, part(from->row->prompt, i), i) < 0 ||
        put(&ending, from, part(from->row->choices, i), i) < 0)
        return -1;
    if (from->row->wikihow) {
        clean(&o->context);
        clean(&ending);
    }
    buf_add(&o->ending, ending.data, ending.len);
    o->characters = utf8_count(ending.data, ending.len);
    return o->characters ? 0 : err_set("%s: choice %zu is empty", from->name, i);
}

static int take_question(struct choices_question *q, const struct source *from)
{
    size_t count;
    buf_clear(&q->description);
    q->count = 0;
    if (count_choices(from, &count) < 0 ||
        (from->row->description && put(&q->description, from, part(from->row->description, 0), 0)))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (take_option(q, from, i) < 0)
            return -1;
    int64_t right = (int64_t)count - 1;
    if (from->row->gold)
        right = from->row->labels ? labelled_gold(from, right + 1) : numbered_gold(from, right + 1);
    q->right = (size_t)right;
    return right < 0 ? -1 : 0;
}

/* ---- forms ---------------------------------------------------------------------------------- */

static int is_listed(const char *list, const char *key)
{
    return choice_listed(list, key, strlen(key));
}

/* Returns how well the keys of an object are those of a form: 1 for each key that the form needs,
 * COMPLETE if it has all of them, and FITS if it has no other keys than those of the form. */
enum { COMPLETE = 1000, FITS = 10000 };
static int compare_keys(const struct choices_row *row, const struct js *root)
{
    size_t need = 1, has = 0, others = 0;
    for (const char *s = row->keys; (s = strchr(s, ',')); s++)
        need++;
    for (void *it = js_first(root); it; it = js_next(root, it)) {
        has += (size_t)is_listed(row->keys, js_key(it, NULL));
        others += (size_t)is_listed(row->others, js_key(it, NULL));
    }
    return (int)has + (has == need) * COMPLETE + (has + others == js_count(root)) * FITS;
}

static int unknown_form(const struct source *q, int rank)
{
    if (rank >= COMPLETE && rank < FITS)
        for (void *it = js_first(q->root); it; it = js_next(q->root, it)) {
            const char *key = js_key(it, NULL);
            if (!is_listed(q->row->keys, key) && !is_listed(q->row->others, key))
                return err_set("%s: unknown question format: it has the key '%s', but the keys of "
                               "%s are %s%s%s: give --form %s if it is one nevertheless",
                               q->name, key, q->row->name, q->row->keys,
                               *q->row->others ? ", " : "", q->row->others, q->row->name);
        }
    SCOPED(buf) keys = BUF_INIT;
    for (void *it = js_first(q->root); it; it = js_next(q->root, it))
        buf_addf(&keys, "%s%s", keys.len ? ", " : "", js_key(it, NULL));
    return err_set("%s: unknown question format: its keys '%s' are those of no form; evaluate(1) "
                   "has the keys of each form, and --form names one",
                   q->name, keys.data);
}

/* Sets *form to the only form whose keys include all those of the object. If the form needs others,
 * too, its error will name them. Returns 0, or -1 with an error if no form fits, or several do. */
static int find_form(int *form, const struct js *root, const char *name)
{
    int best = 0, equal = 0;
    for (int f = CHOICES_AUTO + 1; f < CHOICES_FORMS; f++) {
        int rank = compare_keys(&choices_forms[f], root);
        equal = rank == best ? 1 : rank > best ? 0 : equal;
        if (rank > best) {
            best = rank;
            *form = f;
        }
    }
    struct source q = { &choices_forms[*form], root, name };
    return best > FITS && !equal ? 0 : unknown_form(&q, equal ? 0 : best);
}

int choices_parse(struct choices_question *q, int *form, const char *line, size_t n,
                  const char *name)
{
    SCOPED_JS root = js_parse_line(line, n, name);
    if (!root)
        return -1;
    if (js_is_array(root))
        return err_set("%s: a JSON array: jq -c '.[]' makes lines of it", name);
    if (*form == CHOICES_AUTO && find_form(form, root, name) < 0)
        return -1;
    return take_question(q, &(struct source){ &choices_forms[*form], root, name });
}
