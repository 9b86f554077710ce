#include "classify/classify.h"

#include <math.h>

#include "common/base/utf8.h"
#include "common/files/packed.h"
#include "common/formats/js.h"
#include "common/formats/kinds.h"
#include "unicode/whitespace.h"

struct reader {
    struct classify *c;
    const struct tokenizer *t;
    struct encoder *encoder;
    size_t length, special[2]; /* tokens around one text, and around two */
    int training, collects;    /* collects: the file's labels become the classes */
    struct classify_columns names;
    struct buf where;   /* the file with the number of the line, for errors */
    struct buf header;  /* of a table: its line of names */
    int json, numbered; /* numbered: a table without a line of names */
    int chosen;         /* 1: the names of the columns are known */
    /* the line that is read */
    const struct js *object; /* the line's object; NULL: the line is of a table */
    struct span line;
    struct buf label;         /* a label that JSON has as a number */
    struct ids first, second; /* the tokens of the texts */
};

static const char *const usual_texts[][2] = {
    { "sentence1", "sentence2" }, { "question1", "question2" },
    { "question", "sentence" },   { "premise", "hypothesis" },
    { "#1 String", "#2 String" }, { "text_a", "text_b" },
    { "sentence", NULL },         { "text", NULL },
};
static const char *const usual_labels[] = { "gold_label", "label", "is_duplicate", "Quality",
                                            "score" };

/* ---- columns ------------------------------------------------------------------------------ */

/* Returns column i of a line of a table, from 0 on. */
static struct span column(struct span line, long i)
{
    const char *end = line.s + line.n, *at = line.s, *tab;
    for (; i > 0 && at; i--)
        at = (tab = memchr(at, '\t', (size_t)(end - at))) ? tab + 1 : NULL;
    if (i < 0 || !at)
        return (struct span){ 0 };
    tab = memchr(at, '\t', (size_t)(end - at));
    return (struct span){ at, (size_t)((tab ? tab : end) - at) };
}

/* Returns the index of a column of a table, or -1 if there is none of this name. */
static long index_of(const struct reader *r, const char *name)
{
    const struct span header = { r->header.data, r->header.len };
    struct span x;
    if (r->numbered)
        return strtol(name, NULL, 10) - 1;
    for (long i = 0; (x = column(header, i)).s; i++)
        if (bytes_are(x.s, x.n, name))
            return i;
    return -1;
}

static int has(const struct reader *r, const char *name)
{
    return r->json ? js_is_set(js_get(r->object, name)) : index_of(r, name) >= 0;
}

/* Returns the value that the line has in the column `name`. */
static struct span value_of(const struct reader *r, const char *name)
{
    struct span x = { 0 };
    if (!name)
        return x;
    if (!r->json)
        return column(r->line, index_of(r, name));
    x.s = js_text(js_get(r->object, name), &x.n);
    return x;
}

/* Sets the name of the column of labels, if it was not given. The first texts may have no label. */
static void choose_label(struct reader *r)
{
    for (size_t i = 0; !r->names.label && i < sizeof usual_labels / sizeof *usual_labels; i++)
        if (has(r, usual_labels[i]))
            r->names.label = usual_labels[i];
}

/* Sets the names of columns that were not given, from the first object or the line of names. */
static int choose_columns(struct reader *r)
{
    struct classify_columns *names = &r->names;
    r->chosen = 1;
    for (size_t i = 0; !names->text && i < sizeof usual_texts / sizeof *usual_texts; i++) {
        const char *const *usual = usual_texts[i];
        if (has(r, usual[0]) && (!usual[1] || has(r, usual[1]))) {
            names->text = usual[0];
            names->second = names->second ? names->second : usual[1];
        }
    }
    choose_label(r);
    const char *const all[] = { names->text, names->second, names->label };
    const char *tabs = r->json ? "" : " between tabs";
    for (int i = 0; i < 3; i++)
        if (all[i] && !has(r, all[i]) && !(i == 2 && r->json && js_get(r->object, all[i])))
            return err_set("%s: there is no column or key '%s'%s", r->where.data, all[i], tabs);
    return names->text
               ? 0
               : err_set("%s: nothing%s has a usual name, such as 'sentence': give "
                         "--text-column with a name or, for a table without names, a number",
                         r->where.data, tabs);
}

/* ---- labels ------------------------------------------------------------------------------- */

static int take_number(const struct reader *r, struct classify_text *text, struct span label)
{
    char digits[64] = "", *end;
    memcpy(digits, label.s, label.n < sizeof digits ? label.n : 0);
    text->value = strtof(digits, &end);
    text->label = 0;
    return *digits && !*end && isfinite(text->value)
               ? 0
               : err_set("%s: the label '%.*s' is not a number", r->where.data,
                         label.n > 64 ? 64 : (int)label.n, label.s);
}

static int take_label(struct reader *r, struct classify_text *text)
{
    struct labels *c = &r->c->classes;
    const struct js *v = r->json && r->names.label ? js_get(r->object, r->names.label) : NULL;
    struct span label = value_of(r, r->names.label);
    if (js_is_array(v) || js_is_object(v))
        return err_set("%s: '%s' is no string or number", r->where.data, r->names.label);
    if (!label.s && js_is_set(v)) {
        buf_clear(&r->label);
        js_print(&r->label, v);
        label = (struct span){ r->label.data, r->label.len };
    }
    text->label = CLASSIFY_UNLABELLED;
    if (!label.n)
        return 0;
    if (c->regression)
        return take_number(r, text, label);
    text->label = (int32_t)labels_find(c, label.s, label.n);
    if (text->label >= 0 || bytes_are(label.s, label.n, "-") || bytes_are(label.s, label.n, "-1"))
        return 0;
    text->label = (int32_t)c->count;
    if (!r->collects)
        return err_set("%s: the label '%.*s' is none of the model's classes, such as '%s'",
                       r->where.data, label.n > 64 ? 64 : (int)label.n, label.s, c->names);
    return labels_add(c, label.s, label.n) < 0
               ? err_in("%s: is '%s' the column of labels? --task regression learns numbers",
                        r->where.data, r->names.label)
               : 0;
}

/* Orders the classes that were collected, and numbers the labels anew. */
static void sort_labels(struct classify *c)
{
    const struct labels before = c->classes;
    labels_sort(&c->classes);
    for (size_t i = 0; i < c->count; i++)
        if (c->texts[i].label >= 0) {
            const char *name = labels_name(&before, c->texts[i].label);
            c->texts[i].label = (int32_t)labels_find(&c->classes, name, strlen(name));
        }
}

/* ---- rows --------------------------------------------------------------------------------- */

static size_t count_special(const struct tokenizer *t, int pair)
{
    const struct ids none = { 0 };
    SCOPED(ids) special = { 0 };
    tokenizer_assemble(t, &none, pair ? &none : NULL, &special, NULL);
    return special.count;
}

/* Shortens two texts to `room` tokens in all; b may be empty. Returns 1 if it cut any, else 0. */
static int cut(struct ids *a, struct ids *b, size_t room)
{
    if (a->count + b->count <= room)
        return 0;
    struct ids *shorter = a->count <= b->count ? a : b, *longer = shorter == a ? b : a;
    if (shorter->count > room / 2)
        shorter->count = room / 2;
    longer->count = room - shorter->count;
    return 1;
}

static int encode(struct reader *r, struct span text, struct ids *out)
{
    const size_t valid = utf8_valid(text.s, text.n);
    out->count = 0;
    if (valid < text.n)
        return err_set("%s: not valid UTF-8 at byte %zu of a text", r->where.data, valid);
    return encoder_encode(r->encoder, text.s, text.n, TOKENIZER_ORDINARY, out) < 0
               ? err_in("%s", r->where.data)
               : 0;
}

/* Adds the text, or the pair of texts, of a line. */
static int add(struct reader *r)
{
    struct classify *c = r->c;
    struct classify_text text = { .first = c->ids.count };
    const struct span first = value_of(r, r->names.text), second = value_of(r, r->names.second);
    const int pair = r->names.second != NULL;
    const char *missing = !first.s                                     ? r->names.text
                          : pair && !second.s                          ? r->names.second
                          : !r->json && !value_of(r, r->names.label).s ? r->names.label
                                                                       : NULL;
    c->broken += missing != NULL;
    if (missing)
        return r->training && !r->json
                   ? 0
                   : err_set("%s: there is no column or text '%s'", r->where.data, missing);
    if (take_label(r, &text) < 0)
        return -1;
    c->unlabelled += text.label < 0;
    if (text.label < 0 && r->training)
        return 0;
    if (encode(r, first, &r->first) < 0 || (pair && encode(r, second, &r->second) < 0))
        return -1;
    if (r->length < r->special[pair])
        return err_set("a sequence length of %zu has no room for a text", r->length);
    c->cut += (size_t)cut(&r->first, &r->second, r->length - r->special[pair]);
    tokenizer_assemble(r->t, &r->first, pair ? &r->second : NULL, &c->ids, &c->types);
    text.tokens = (uint32_t)(c->ids.count - text.first);
    mem_next(c->texts, c->count, c->cap) = text;
    return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

/* Reads the first line that is not blank, which may be one of names. */
static int begin(struct reader *r)
{
    char *end = "";
    r->json = *r->line.s == '{';
    r->numbered = !r->json && r->names.text && strtol(r->names.text, &end, 10) > 0 && !*end;
    const struct span label = r->numbered ? value_of(r, r->names.label) : (struct span){ 0 };
    for (size_t i = 0; i < sizeof usual_labels / sizeof *usual_labels; i++)
        if (bytes_are(label.s, label.n, usual_labels[i]))
            return err_set("%s: '%s' is the name of a column: give names, not numbers",
                           r->where.data, usual_labels[i]);
    if (r->json || r->numbered)
        return 0;
    if (*r->line.s == '[')
        return err_set("%s: a JSON array: jq -c '.[]' makes lines of it", r->where.data);
    buf_add(&r->header, r->line.s, r->line.n);
    return choose_columns(r);
}

static int read_object(struct reader *r)
{
    SCOPED_JS object = js_parse_line(r->line.s, r->line.n, r->where.data);
    r->object = object;
    if (!object || (!r->chosen && choose_columns(r) < 0))
        return -1;
    choose_label(r);
    return add(r);
}

static int read_lines(struct reader *r, struct input *in)
{
    char *line;
    size_t n;
    int result = 0, more = 1, begun = 0;
    for (uint64_t number = 1; !result && (more = input_line(in, &line, &n)) > 0; number++) {
        const size_t skip = number == 1 ? utf8_mark(line, n) : 0;
        n -= n > skip && line[n - 1] == '\r';
        r->line = (struct span){ line + skip, n - skip };
        buf_setf(&r->where, "%s:%llu", in->path, (unsigned long long)number);
        if (!(begun && !r->json ? r->line.n : whitespace_strip(r->line.s, r->line.n).n))
            continue;
        if (!begun)
            result = kinds_check(in->path, line, n) < 0 ? -1 : begin(r);
        if (!result && (begun || r->json || r->numbered))
            result = r->json ? read_object(r) : add(r);
        begun = 1;
    }
    return more < 0 ? -1 : result;
}

int classify_read(struct classify *c, const char *path, const struct classify_columns *columns,
                  const struct labels *classes, const struct tokenizer *t, uint32_t length,
                  int training)
{
    struct reader r = { .c = c,
                        .t = t,
                        .length = length,
                        .special = { count_special(t, 0), count_special(t, 1) },
                        .training = training,
                        .collects = !classes->count,
                        .names = *columns };
    struct packed packed;
    struct input in;
    *c = (struct classify){ .classes = *classes };
    if (!r.special[0])
        return err_set("the vocabulary puts no token such as [CLS] before a text");
    if (packed_open(&packed, &in, path) < 0)
        return -1;
    r.encoder = encoder_new(t);
    int result = read_lines(&r, &in);
    packed_close(&packed, &in);
    encoder_free(r.encoder);
    ids_release(&r.first);
    ids_release(&r.second);
    buf_release(&r.where);
    buf_release(&r.header);
    buf_release(&r.label);
    if (!result && !c->count)
        result = err_set("%s: no text%s%s", path, training ? " with a label" : "",
                         c->broken                         ? ": lines have too few columns"
                         : c->unlabelled && !r.names.label ? ": give --label-column"
                                                           : "");
    if (!result && r.collects)
        sort_labels(c);
    if (result < 0)
        classify_release(c);
    return result;
}

void classify_release(struct classify *c)
{
    free(c->texts);
    ids_release(&c->ids);
    ids_release(&c->types);
    *c = (struct classify){ 0 };
}

uint32_t classify_row(const struct classify *c, size_t i, uint32_t *ids, uint32_t *segments)
{
    const struct classify_text *text = &c->texts[i];
    memcpy(ids, c->ids.data + text->first, text->tokens * sizeof *ids);
    memcpy(segments, c->types.data + text->first, text->tokens * sizeof *segments);
    return text->tokens;
}
