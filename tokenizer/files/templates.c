/* Reads and writes the post-processors of tokenizer.json: the special tokens around texts. */

#include "common/formats/js.h"
#include "tokenizer/files/files.h"

static int add_part(struct template *t, int64_t id, uint32_t type)
{
    if (t->count == TEMPLATE_MAX)
        return err_set("a template of more than %d parts", TEMPLATE_MAX);
    t->parts[t->count++] = (struct template_part){ id, type };
    return 0;
}

/* Puts the token `begin` before each text and `end` after it (v->single); -1: no token. */
static void set_single(struct vocabulary *v, int64_t begin, int64_t end)
{
    v->single.count = 0;
    if (begin >= 0)
        add_part(&v->single, begin, 0);
    add_part(&v->single, TEMPLATE_A, 0);
    if (end >= 0)
        add_part(&v->single, end, 0);
}

/* Sets v->single and v->pair, the templates: cls A sep, and for a pair cls A sep B sep, with
 * `between` times sep between A and B. B and the sep after it have the type id `second_type`, all
 * others 0. */
static void fill_templates(struct vocabulary *v, int64_t cls, int64_t sep, int between,
                           uint32_t second_type)
{
    set_single(v, cls, sep);
    v->pair = v->single;
    for (int i = 1; i < between; i++)
        add_part(&v->pair, sep, 0);
    add_part(&v->pair, TEMPLATE_B, second_type);
    add_part(&v->pair, sep, second_type);
}

int64_t vocabulary_begin_of_text(const struct vocabulary *v)
{
    const int pieces = v->model == VOCABULARY_UNIGRAM || v->hides; /* of SentencePiece */
    const int64_t usual = pieces ? vocabulary_find(v, "<s>", 3) : -1;
    if (v->single.count && v->single.parts[0].id >= 0)
        return v->single.parts[0].id;
    if (v->begin_of_text >= 0)
        return v->begin_of_text;
    return usual >= 0 && vocabulary_is_special(v, (uint32_t)usual) ? usual : v->end_of_text;
}

void bert_templates(struct vocabulary *v)
{
    if (v->roles[TOKENIZER_CLS] >= 0 && v->roles[TOKENIZER_SEP] >= 0)
        fill_templates(v, v->roles[TOKENIZER_CLS], v->roles[TOKENIZER_SEP], 1, 1);
}

/* Adds a part to the template for each id of the special token `name`. */
static int read_special(struct template *t, const struct js *token, const char *name, uint32_t type)
{
    const struct js *ids = js_get(token, "ids");
    if (!js_count(ids))
        return err_set("special token '%s' has no ids", name);
    for (size_t i = 0; i < js_count(ids); i++) {
        int64_t id;
        if (js_int(js_at(ids, i), &id) < 0 || id < 0)
            return err_set("special token '%s' has an invalid id", name);
        if (add_part(t, id, type) < 0)
            return -1;
    }
    return 0;
}

/* Reads a list of {"SpecialToken": {"id", "type_id"}} and {"Sequence": {"id": "A"|"B", "type_id"}}.
 * Returns 0, or -1 with an error. */
static int read_template(struct template *t, const struct js *list, const struct js *tokens)
{
    t->count = 0;
    for (size_t i = 0; i < js_count(list); i++) {
        const struct js *special = js_get(js_at(list, i), "SpecialToken");
        const struct js *part = special ? special : js_get(js_at(list, i), "Sequence");
        const char *name = js_text(js_get(part, "id"), NULL);
        int64_t type = 0;
        if (!name || js_int(js_get(part, "type_id"), &type) < 0 || type < 0 || type > UINT32_MAX)
            return err_set("part %zu of a template has no id or type_id", i);
        const int64_t id = strcmp(name, "B") ? TEMPLATE_A : TEMPLATE_B;
        if ((special ? read_special(t, js_get(tokens, name), name, (uint32_t)type)
                     : add_part(t, id, (uint32_t)type)) < 0)
            return -1;
    }
    return 0;
}

static int check_template(const struct vocabulary *v, const struct template *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->parts[i].id >= (int64_t)v->count)
            return err_set("id %" PRId64 " is not in the vocabulary", t->parts[i].id);
        if (t->parts[i].id == TEMPLATE_B && t == &v->single)
            return err_set("the template of a single text has a second text");
    }
    return 0;
}

/* Reads the members "sep": ["[SEP]", 102] and "cls": ["[CLS]", 101] of BertProcessing or
 * RobertaProcessing. `between`: the number of separators between two texts; second_type: the token
 * type of the second text. Returns 0, or -1 with an error. */
static int read_fixed(struct vocabulary *v, const struct js *post, int between,
                      uint32_t second_type)
{
    int64_t cls, sep;
    if (js_int(js_at(js_get(post, "cls"), 1), &cls) < 0 || cls < 0 ||
        js_int(js_at(js_get(post, "sep"), 1), &sep) < 0 || sep < 0)
        return err_set("no cls or no sep");
    fill_templates(v, cls, sep, between, second_type);
    const int64_t mask = vocabulary_find(v, "<mask>", 6);
    if (between == 2 && mask >= 0) { /* the roles of RoBERTa's tokens */
        v->roles[TOKENIZER_CLS] = cls;
        v->roles[TOKENIZER_SEP] = sep;
        v->roles[TOKENIZER_PAD] = vocabulary_find(v, "<pad>", 5);
        v->roles[TOKENIZER_MASK] = mask;
    }
    return 0;
}

/* Reads how the post-processor reports the ranges of tokens. */
static void read_places(struct vocabulary *v, const struct js *post)
{
    if (!js_flag(post, "trim_offsets", 1))
        return;
    v->trims_places = 1;
    v->keeps_first_space = js_flag(post, "add_prefix_space", 1);
}

/* Reads a post-processor. *done counts the steps that add special tokens; more than one is an
 * error. Returns 0, or -1 with an error. */
static int read_processor(struct vocabulary *v, const struct js *post, int *done)
{
    const struct js *type = js_get(post, "type"), *list = js_get(post, "processors");
    const struct js *tokens = js_get(post, "special_tokens");
    int byte_level = js_text_is(type, "ByteLevel"), roberta = js_text_is(type, "RobertaProcessing");
    int result = 0;
    if (js_text_is(type, "Sequence")) {
        for (size_t i = 0; i < js_count(list) && !result; i++)
            result = read_processor(v, js_at(list, i), done);
        return result;
    }
    if (byte_level || roberta)
        read_places(v, post);
    if (byte_level)
        return 0;
    if ((*done)++)
        return err_set("post_processor: more than one adds special tokens");
    if (js_text_is(type, "BertProcessing"))
        result = read_fixed(v, post, 1, 1);
    else if (roberta)
        result = read_fixed(v, post, 2, 0);
    else if (!js_text_is(type, "TemplateProcessing"))
        return err_set("post_processor '%s' is not supported",
                       js_text(type, NULL) ? js_text(type, NULL) : "?");
    else if (read_template(&v->single, js_get(post, "single"), tokens) < 0 ||
             read_template(&v->pair, js_get(post, "pair"), tokens) < 0)
        result = -1;
    if (!result && (check_template(v, &v->single) < 0 || check_template(v, &v->pair) < 0))
        result = -1;
    return result < 0 ? err_in("post_processor") : 0;
}

int post_processor_read(struct vocabulary *v, const struct js *post)
{
    int done = 0;
    v->trims_places = 0;
    return post && !js_is_null(post) ? read_processor(v, post, &done) : 0;
}

/* ---- written --------------------------------------------------------------------------------- */

static void print_template(const struct vocabulary *v, const struct template *t, struct buf *out)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < t->count; i++) {
        const struct template_part *p = &t->parts[i];
        buf_adds(out, i ? ", " : "");
        if (p->id >= 0) {
            buf_adds(out, "{\"SpecialToken\": {\"id\": ");
            token_print(v, (uint32_t)p->id, out);
        } else {
            buf_addf(out, "{\"Sequence\": {\"id\": \"%c\"", p->id == TEMPLATE_A ? 'A' : 'B');
        }
        buf_addf(out, ", \"type_id\": %u}}", p->type);
    }
    buf_addc(out, ']');
}

static void print_template_tokens(const struct vocabulary *v, struct buf *out)
{
    int printed = 0;
    for (size_t i = 0; i < v->single.count; i++) {
        SCOPED(buf) name = BUF_INIT;
        int64_t id = v->single.parts[i].id;
        int before = id < 0;
        for (size_t k = 0; k < i; k++)
            before |= v->single.parts[k].id == id;
        if (before)
            continue;
        token_print(v, (uint32_t)id, &name);
        buf_addf(out, "%s%s: {\"id\": %s, \"ids\": [%u], \"tokens\": [%s]}", printed++ ? ", " : "",
                 name.data, name.data, (uint32_t)id, name.data);
    }
}

void templates_print(const struct vocabulary *v, struct buf *out)
{
    buf_adds(out, "{\"type\": \"TemplateProcessing\",\n    \"single\": ");
    print_template(v, &v->single, out);
    buf_adds(out, ",\n    \"pair\": ");
    print_template(v, &v->pair, out);
    buf_adds(out, ",\n    \"special_tokens\": {");
    print_template_tokens(v, out);
    buf_adds(out, "}}");
}

void post_processor_put(struct vocabulary *v, int64_t begin, int64_t end)
{
    struct buf text = BUF_INIT;
    if (begin < 0 && end < 0)
        return;
    set_single(v, begin, end);
    v->pair = v->single;
    for (size_t i = 0; i < v->single.count; i++)
        add_part(&v->pair, v->single.parts[i].id < 0 ? TEMPLATE_B : v->single.parts[i].id, 1);
    templates_print(v, &text);
    free(v->json[POST_PROCESSOR]);
    v->json[POST_PROCESSOR] = buf_detach(&text);
    v->trims_places = 0;
}
