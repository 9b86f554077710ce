#include "common/formats/yaml.h"

#include <yaml.h>

#include "common/base/choice.h"
#include "common/base/linked.h"
#include "common/files/file.h"

LINKED_LIBRARY(yaml, "libyaml", yaml_get_version_string())

enum { DEEPEST = 16, LABELS = 1000, PAIRS = 4096, FILE_MOST = 1 << 20, VALUES_MOST = 4 << 20 };

struct walk {
    yaml_document_t *doc;
    struct yaml *out;
    const char *name;
    int depth;
    size_t pairs, bytes; /* pairs of key and value, and bytes of values, that were visited so far */
    size_t joined;       /* values of the list so far */
};

/* Returns the text of a scalar, which is empty for null, or NULL for another node. */
static const char *scalar(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE)
        return NULL;
    const char *text = (const char *)n->data.scalar.value;
    const int is_null = choice_find("~|null|Null|NULL", text, strlen(text)) >= 0;
    return is_null && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? "" : text;
}

static int line_of(const yaml_node_t *n)
{
    return (int)n->start_mark.line + 1;
}

static int too_deep(const char *name, int line)
{
    return err_set("%s:%d: nested too deeply", name, line);
}

/* Counts a visit to a value. An alias is visited as often as it is written, so a short file may
 * stand for a huge list. */
static int visit(struct walk *w, const yaml_node_t *n)
{
    w->bytes += 1 + (scalar(n) ? n->data.scalar.length : 0);
    return w->bytes <= VALUES_MOST ? 0
                                   : err_set("%s:%d: more than %d bytes of values, each alias "
                                             "being counted as what it stands for",
                                             w->name, line_of(n), VALUES_MOST);
}

/* Adds the item key: value of line `line`; `list` as in struct yaml_item. It is an error if the key
 * exists. */
static int put(struct walk *w, const char *key, const char *value, int line, int list)
{
    if (yaml_find(w->out, key))
        return err_set("%s:%d: key '%s' is given twice", w->name, line, key);
    mem_next(w->out->items, w->out->count,
             w->out->cap) = (struct yaml_item){ mem_strdup(key), mem_strdup(value), line, list };
    return 0;
}

/* Appends a value of a list to `out`, with a comma before it unless it is the first. */
static void join_one(struct walk *w, struct buf *out, const char *value)
{
    buf_adds(out, w->joined++ ? "," : "");
    for (; *value; value++) {
        if (*value == ',' || *value == '\\')
            buf_addc(out, '\\');
        buf_addc(out, *value);
    }
}

/* Appends the values of a list, and of the lists in it, to `out` with commas between them. */
static int join(struct walk *w, const yaml_node_t *sequence, struct buf *out)
{
    if (++w->depth > DEEPEST)
        return too_deep(w->name, line_of(sequence));
    for (const yaml_node_item_t *i = sequence->data.sequence.items.start;
         i < sequence->data.sequence.items.top; i++) {
        const yaml_node_t *n = yaml_document_get_node(w->doc, *i);
        if (visit(w, n) < 0)
            return -1;
        if (n->type == YAML_MAPPING_NODE)
            return err_set("%s:%d: a list may hold only plain values", w->name, line_of(n));
        if (scalar(n))
            join_one(w, out, scalar(n));
        else if (join(w, n, out) < 0)
            return -1;
    }
    w->depth--;
    return 0;
}

static int map(struct walk *w, const yaml_node_t *node, const char *prefix, int merged);

static int merge(struct walk *w, const yaml_node_t *value, const char *prefix)
{
    if (value->type == YAML_MAPPING_NODE)
        return map(w, value, prefix, 1);
    if (value->type != YAML_SEQUENCE_NODE)
        return err_set("%s:%d: the merge key '<<' needs a mapping", w->name, line_of(value));
    for (const yaml_node_item_t *i = value->data.sequence.items.start;
         i < value->data.sequence.items.top; i++)
        if (map(w, yaml_document_get_node(w->doc, *i), prefix, 1) < 0)
            return -1;
    return 0;
}

/* Adds the mappings of a list: item i has the keys "key.i.…". */
static int numbered(struct walk *w, const char *key, const yaml_node_t *list)
{
    int result = 0;
    const yaml_node_item_t *first = list->data.sequence.items.start;
    for (const yaml_node_item_t *i = first; i < list->data.sequence.items.top && !result; i++) {
        SCOPED(buf) prefix = buf_format("%s.%td", key, i - first);
        result = map(w, yaml_document_get_node(w->doc, *i), prefix.data, 0);
    }
    return result;
}

/* Returns 1 if the value is a list that begins with a mapping, else 0. */
static int is_numbered(const struct walk *w, const yaml_node_t *value)
{
    return value->type == YAML_SEQUENCE_NODE &&
           value->data.sequence.items.start < value->data.sequence.items.top &&
           yaml_document_get_node(w->doc, *value->data.sequence.items.start)->type ==
               YAML_MAPPING_NODE;
}

/* Returns 1 if there is an item of this key, or one in its section or list of mappings. */
static int exists(const struct yaml *y, const char *key)
{
    const size_t n = strlen(key);
    for (size_t i = 0; i < y->count; i++)
        if (!strncmp(y->items[i].key, key, n) && strchr(".", y->items[i].key[n]))
            return 1;
    return 0;
}

static int pair(struct walk *w, const char *key, const yaml_node_t *value, int line)
{
    if (visit(w, value) < 0)
        return -1;
    if (value->type == YAML_MAPPING_NODE)
        return map(w, value, key, 0);
    if (is_numbered(w, value))
        return numbered(w, key, value);
    if (scalar(value))
        return put(w, key, scalar(value), line, 0);
    SCOPED(buf) list = BUF_INIT;
    w->joined = 0;
    return join(w, value, &list) < 0 ? -1 : put(w, key, list.data, line, 1);
}

/* Adds the items of a mapping, with `prefix` and '.' before their keys. `merged` 1: it comes from a
 * merge key ("<<"), and its keys that exist already are left out, with all that is in them (YAML
 * merge key type, 2005). Uses two passes, so that an explicit key takes precedence over a merged
 * one wherever '<<' is. */
static int map(struct walk *w, const yaml_node_t *node, const char *prefix, int merged)
{
    if (node->type != YAML_MAPPING_NODE)
        return err_set("%s:%d: a mapping (key: value) is needed here", w->name, line_of(node));
    if (++w->depth > DEEPEST)
        return too_deep(w->name, line_of(node));
    for (int pass = 0; pass < 2; pass++) {
        for (const yaml_node_pair_t *p = node->data.mapping.pairs.start;
             p < node->data.mapping.pairs.top; p++) {
            const yaml_node_t *k = yaml_document_get_node(w->doc, p->key);
            const yaml_node_t *v = yaml_document_get_node(w->doc, p->value);
            if (!scalar(k))
                return err_set("%s:%d: a key must be a plain value", w->name, line_of(k));
            int is_merge = !strcmp(scalar(k), "<<");
            if (is_merge != pass)
                continue;
            if (++w->pairs > PAIRS)
                return err_set("%s:%d: more than %d keys", w->name, line_of(k), PAIRS);
            SCOPED(buf) key = buf_format("%s%s%s", prefix, *prefix ? "." : "", scalar(k));
            if (merged && !pass && exists(w->out, key.data))
                continue;
            if ((pass ? merge(w, v, prefix) : pair(w, key.data, v, line_of(k))) < 0)
                return -1;
        }
    }
    w->depth--;
    return 0;
}

static int bad_yaml(const yaml_parser_t *parser, const char *name)
{
    if (parser->error == YAML_MEMORY_ERROR || !parser->problem)
        return err_set("%s: memory ran out while this YAML was read", name);
    return err_set("%s:%zu: bad YAML: %s", name, parser->problem_mark.line + 1, parser->problem);
}

static int open_parser(yaml_parser_t *parser, const char *text, size_t n, const char *name)
{
    if (!yaml_parser_initialize(parser))
        return bad_yaml(parser, name);
    yaml_parser_set_input_string(parser, (const unsigned char *)text, n);
    return 0;
}

/* What check_event has counted so far in a text. */
struct seen {
    int depth, labels, documents;
};

/* Checks one event and counts what it begins. */
static int check_event(const yaml_event_t *e, const char *name, struct seen *seen)
{
    const int line = (int)e->start_mark.line + 1;
    const void *anchor = NULL;
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT: seen->documents++; break;
    case YAML_ALIAS_EVENT: anchor = e->data.alias.anchor; break;
    case YAML_SCALAR_EVENT: anchor = e->data.scalar.anchor; break;
    case YAML_SEQUENCE_START_EVENT: anchor = e->data.sequence_start.anchor; break;
    case YAML_MAPPING_START_EVENT: anchor = e->data.mapping_start.anchor; break;
    default: break;
    }
    seen->labels += anchor != NULL;
    seen->depth += e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT;
    seen->depth -= e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT;
    if (seen->depth > DEEPEST)
        return too_deep(name, line);
    if (seen->documents > 1)
        return err_set("%s:%d: a second document begins here ('---'): give one", name, line);
    return seen->labels <= LABELS
               ? 0
               : err_set("%s:%d: more than %d anchors and aliases", name, line, LABELS);
}

/* Parses the text without keeping it, and checks what libyaml takes quadratic time for: nested
 * lists, and anchors. */
static int check_text(const char *text, size_t n, const char *name)
{
    yaml_parser_t parser;
    struct seen seen = { 0 };
    int ended = 0, result = open_parser(&parser, text, n, name);
    if (result < 0)
        return -1;
    while (!result && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            result = bad_yaml(&parser, name);
            break;
        }
        result = check_event(&event, name, &seen);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return result;
}

int yaml_parse(struct yaml *y, const char *text, size_t n, const char *name)
{
    *y = (struct yaml){ 0 };
    yaml_parser_t parser;
    yaml_document_t doc;
    if (check_text(text, n, name) < 0 || open_parser(&parser, text, n, name) < 0)
        return -1;
    if (!yaml_parser_load(&parser, &doc)) {
        bad_yaml(&parser, name);
        yaml_parser_delete(&parser);
        return -1;
    }
    struct walk w = { .doc = &doc, .out = y, .name = name };
    const yaml_node_t *root = yaml_document_get_root_node(&doc);
    int result = root ? map(&w, root, "", 0) : 0;
    yaml_document_delete(&doc);
    yaml_parser_delete(&parser);
    if (result < 0)
        yaml_release(y);
    return result;
}

int yaml_load(struct yaml *y, const char *path)
{
    SCOPED(buf) text = BUF_INIT;
    *y = (struct yaml){ 0 };
    return file_read_most(path, FILE_MOST, &text) < 0 ? -1
                                                      : yaml_parse(y, text.data, text.len, path);
}

void yaml_remove(struct yaml *y, size_t i)
{
    free(y->items[i].key);
    free(y->items[i].value);
    memmove(&y->items[i], &y->items[i + 1], (--y->count - i) * sizeof *y->items);
}

void yaml_release(struct yaml *y)
{
    while (y->count)
        yaml_remove(y, y->count - 1);
    free(y->items);
    *y = (struct yaml){ 0 };
}

void yaml_drop(struct yaml *y, const char *key)
{
    const struct yaml_item *item = yaml_find(y, key);
    if (item)
        yaml_remove(y, (size_t)(item - y->items));
}

struct yaml_item *yaml_find(const struct yaml *y, const char *key)
{
    for (size_t i = 0; i < y->count; i++)
        if (!strcmp(y->items[i].key, key))
            return &y->items[i];
    return NULL;
}

const char *yaml_get(const struct yaml *y, const char *key)
{
    const struct yaml_item *item = yaml_find(y, key);
    return item ? item->value : NULL;
}
