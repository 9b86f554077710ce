#include "tokenizer/chat.h"

#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/formats/gguf.h"
#include "common/formats/js.h"
#include "tokenizer/cut/steps.h"
#include "tokenizer/input/mend.h"
#include "tokenizer/parts.h"
#include "unicode/whitespace.h"

struct form {
    int number; /* in CHAT_FORMS */
    const char *name;
    const char *begin;              /* before the first message */
    const char *open, *close, *end; /* texts before a message, after it, and after `close` */
    enum {
        STRIPS = 1,
        JOINS = 2
    } how; /* white space at a message's ends is removed; the system's message joins the user's */
};

/* A form comes before every form whose special tokens are a subset of its own. */
static const struct form forms[] = {
    { 3, "phi4", "", "<|im_start|>%<|im_sep|>", "<|im_end|>", "", 0 },
    { 2, "chatml", "", "<|im_start|>%\n", "<|im_end|>", "\n", 0 },
    { 4, "llama3", "<|begin_of_text|>", "<|start_header_id|>%<|end_header_id|>\n\n", "<|eot_id|>",
      "", STRIPS },
    { 5, "nanochat", "<|bos|>", "<|%_start|>", "<|%_end|>", "", JOINS },
    { 6, "text", "", "", "", "", 0 },
};

enum { ASSISTANT, USER, SYSTEM, ROLES };
static const char *const roles[ROLES] = { "assistant", "user", "system" };

/* ---- encoding ------------------------------------------------------------------------------- */

/* A conversation that is being encoded. Text between two special tokens is encoded as one. */
struct talk {
    const struct chat *chat;
    struct encoder *encoder;
    struct ids *ids, *spans;
    struct buf text; /* since the last special token */
    size_t plain;    /* bytes of `text` before the first that is a label; SIZE_MAX: none is */
    struct buf system;
};

/* Extends the spans to the first `end` ids. Ids after the last span are labels if `counts` is 1. */
static void add_span(struct talk *k, size_t end, size_t counts)
{
    struct ids *s = k->spans;
    if (!s->count && counts)
        ids_add(s, 0);
    if (s->count && (s->count - 1) % 2 == counts)
        s->data[s->count - 1] = (uint32_t)end;
    else
        ids_add(s, (uint32_t)end);
}

/* Returns 1 if the tokens' bytes, joined, are the text; 0 if not, also if bytes were dropped. */
static int tiles(const struct tokenizer *t, const struct ids *ids, size_t first, size_t n)
{
    size_t len;
    for (size_t i = first; i < ids->count; i++)
        n -= tokenizer_token(t, ids->data[i], &len) ? len : 0;
    return tokenizer_tiles(t) && !n;
}

/* Adds the tokens of k->text, without the white space that the special tokens around it absorb: the
 * last id, and `next`, which is -1 at the end. Tokens that reach beyond the first k->plain bytes
 * are labels. Bytes are counted by the tokens where these tile the text, else by their places. */
static int put_text(struct talk *k, int64_t next)
{
    const struct tokenizer *t = k->chat->t;
    SCOPED(placed) own = { 0 };
    size_t at = k->ids->count, begin, end, len;
    const uint32_t before = at ? t->v.tokens[k->ids->data[at - 1]].added : 0,
                   behind = next >= 0 ? t->v.tokens[next].added : 0;
    const struct step strip = { .left = before && t->v.added[before - 1].rstrip,
                                .right = behind && t->v.added[behind - 1].lstrip };
    steps_strip(&strip, k->text.data, k->text.len, &begin, &end);
    const char *text = k->text.data + begin;
    const size_t n = end - begin;
    if (encoder_encode(k->encoder, text, n, TOKENIZER_ORDINARY, k->ids) < 0)
        return -1;
    if (k->plain < end && !tiles(t, k->ids, at, n)) {
        if (encoder_encode_places(k->encoder, text, n, TOKENIZER_ORDINARY, &own) < 0)
            return -1;
        encoder_places_in_bytes(text, n, &own, 0);
    }
    for (size_t i = 0, reached = begin; at < k->ids->count; i++) {
        reached += tokenizer_token(t, k->ids->data[at], &len) ? len : 0;
        if (i < own.ends.count)
            reached = begin + own.ends.data[i];
        add_span(k, ++at, reached > k->plain);
    }
    buf_clear(&k->text);
    k->plain = SIZE_MAX;
    return 0;
}

static int put_special(struct talk *k, int64_t id, size_t counts)
{
    if (put_text(k, id) < 0)
        return -1;
    ids_add(k->ids, (uint32_t)id);
    add_span(k, k->ids->count, counts);
    return 0;
}

/* Sets *token to the special token at the beginning of `text`, with each % replaced by `role`.
 * Returns its length in `text`, or 0 if there is none. */
static size_t special_at(const char *text, const char *role, struct buf *token)
{
    const char *end = strncmp(text, "<|", 2) ? NULL : strstr(text, "|>");
    buf_clear(token);
    for (const char *p = text; end && p < end + 2; p++)
        buf_add(token, *p == '%' ? role : p, *p == '%' ? strlen(role) : 1);
    return end ? (size_t)(end + 2 - text) : 0;
}

/* Adds `part` of the form, with `role` for %. Its special tokens are labels if `counts` is 1. */
static int put_form(struct talk *k, const char *part, const char *role, size_t counts)
{
    SCOPED(buf) token = BUF_INIT;
    int result = 0;
    for (size_t n; *part && !result; part += n ? n : 1)
        if ((n = special_at(part, role, &token)))
            result = put_special(k, tokenizer_find(k->chat->t, token.data, token.len), counts);
        else
            buf_add(&k->text, *part == '%' ? role : part, *part == '%' ? strlen(role) : 1);
    return result;
}

/* Adds a message. What it says, and the token that ends it, are labels if `counts` is 1. */
static int put_message(struct talk *k, int role, size_t counts, const char *content, size_t n)
{
    const struct form *f = k->chat->form;
    struct span s = f->how == STRIPS ? whitespace_strip(content, n) : (struct span){ content, n };
    if (role == SYSTEM && f->how == JOINS) {
        buf_add(&k->system, s.s, s.n);
        buf_adds(&k->system, "\n\n");
        return 0;
    }
    if (role != USER && k->system.len)
        return err_set("it follows one of the system, which form '%s' joins to the user's",
                       f->name);
    if (put_form(k, f->open, roles[role], 0) < 0)
        return -1;
    buf_add(&k->text, k->system.data, k->system.len);
    buf_clear(&k->system);
    k->plain = counts ? k->text.len : SIZE_MAX;
    buf_add(&k->text, s.s, s.n);
    if (put_form(k, f->close, roles[role], counts) < 0)
        return -1;
    return put_form(k, f->end, roles[role], 0);
}

/* Returns -1 with an error if the member `key`, which no form writes, says something, else 0. */
static int refuse(const struct js *object, const char *key)
{
    size_t n = 0;
    const struct js *v = js_get(object, key);
    return js_count(v) || (js_text(v, &n) && n)
               ? err_set("its \"%s\" would be lost: write it in the content of a message", key)
               : 0;
}

static int put_messages(struct talk *k, const struct js *list)
{
    size_t said = 0;
    for (size_t i = 0, n; i < js_count(list); i++) {
        const struct js *message = js_at(list, i);
        const char *content = js_text(js_get(message, "content"), &n);
        const char *name = js_text(js_get(message, "role"), NULL);
        int role = 0, result = 0;
        double weight = 1;
        js_real(js_get(message, "weight"), &weight);
        while (name && role < ROLES && strcmp(name, roles[role]) != 0)
            role++;
        const size_t counts = role == ASSISTANT && weight != 0;
        if (refuse(message, "tool_calls") < 0)
            result = -1;
        else if (!name || !content)
            result = err_set("it has no string \"%s\"", name ? "content" : "role");
        else if (role == ROLES)
            result = err_set("role \"%s\" is none of system, user and assistant", name);
        if (result < 0 || put_message(k, role, counts, content, n) < 0)
            return err_in("message %zu", i + 1);
        said |= counts;
    }
    if (k->system.len)
        return err_set("the last message is the system's, which form '%s' joins to the user's",
                       k->chat->form->name);
    return said || k->chat->use != CHAT_LEARN
               ? 0
               : err_set("no message is the assistant's, or all have weight 0: nothing is a label");
}

static int put_answer(struct talk *k, const struct js *root)
{
    const struct js *answer = js_get(root, "answer");
    size_t n, m;
    const char *prompt = js_text(js_get(root, "prompt"), &n);
    const char *said = js_text(js_is_set(answer) ? answer : js_get(root, "completion"), &m);
    if (!prompt || !said)
        return err_set("neither a list \"messages\" nor strings \"prompt\" and \"answer\" or "
                       "\"completion\"");
    if (put_message(k, USER, 0, prompt, n) < 0 || put_message(k, ASSISTANT, 1, said, m) < 0)
        return -1;
    return *k->chat->form->close || k->chat->end_of_text < 0
               ? 0
               : put_special(k, k->chat->end_of_text, 1);
}

static int put_conversation(struct talk *k, const struct js *root)
{
    const struct form *f = k->chat->form;
    const struct buf *usual = &k->chat->system;
    const struct js *messages = js_get(root, "messages");
    const int listed = js_is_array(messages);
    const int told = js_text_is(js_get(js_at(messages, 0), "role"), roles[SYSTEM]);
    /* some files have the system message twice: in "messages" and in "system" */
    if (refuse(root, "tools") < 0 || (!told && refuse(root, "system") < 0))
        return -1;
    if (listed && !*f->close)
        return err_set("form '%s' has no marks for messages: give --chat another form", f->name);
    if (put_form(k, f->begin, "", 0) < 0 ||
        (!told && usual->len && put_message(k, SYSTEM, 0, usual->data, usual->len) < 0) ||
        (listed ? put_messages(k, messages) : put_answer(k, root)) < 0 ||
        (k->chat->use == CHAT_ASK && put_form(k, f->open, roles[ASSISTANT], 0) < 0))
        return -1;
    return put_text(k, -1);
}

int chat_encode(const struct chat *c, struct encoder *e, const char *line, size_t n,
                struct ids *ids, struct ids *spans)
{
    struct talk k = { c, e, ids, spans, BUF_INIT, SIZE_MAX, BUF_INIT };
    const size_t mark = utf8_mark(line, n);
    const struct span stripped = whitespace_strip(line + mark, n - mark);
    if (!stripped.n)
        return 0;
    if (*stripped.s == '[')
        return err_set("a JSON array: jq -c '.[]' makes lines of it");
    SCOPED_JS root = js_parse_line(line + mark, n - mark, "JSON");
    SCOPED(buf) mended = BUF_INIT;
    const uint64_t replaced = root ? 0 : mend_json(&mended, line + mark, n - mark);
    if (replaced && (root = js_parse_line(mended.data, mended.len, "JSON")))
        e->replaced += replaced;
    int result = root ? put_conversation(&k, root) : -1;
    buf_release(&k.text);
    buf_release(&k.system);
    return result;
}

/* ---- the form ------------------------------------------------------------------------------- */

/* Returns 1 if t has each special token of the form or, if t is NULL, the template contains each of
 * them except those of f->begin. Else returns 0 and sets *token to a missing one. */
static int has_marks(const struct form *f, const struct tokenizer *t, const char *template,
                     struct buf *token)
{
    const char *const parts[] = { f->open, f->close, t ? f->begin : "" };
    for (size_t i = 0; i < 3 * SYSTEM; i++)
        for (const char *p = parts[i / SYSTEM]; *p; p++) {
            if (!special_at(p, roles[i % SYSTEM], token))
                continue;
            int64_t id = t ? tokenizer_find(t, token->data, token->len) : -1;
            if (t ? id < 0 || !tokenizer_is_special(t, (uint32_t)id)
                  : !strstr(template, token->data))
                return 0;
        }
    return 1;
}

static int choose(struct chat *c, int number)
{
    SCOPED(buf) token = BUF_INIT;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !c->form; i++) {
        const struct form *f = &forms[i];
        if (f->number == number || (number == CHAT_AUTO && *f->close))
            c->form = has_marks(f, c->t, NULL, &token) ? f : NULL;
        if (f->number == number && !c->form)
            return err_set("form '%s' needs the special token %s, which the vocabulary lacks",
                           f->name, token.data);
    }
    return c->form ? 0
                   : err_set("the vocabulary has the special tokens of no chat form that is known "
                             "(chatml, phi4, llama3, nanochat): give --chat text for prompts and "
                             "answers");
}

/* Appends the string of a template whose quotation mark is at `at`, as Jinja reads it; without such
 * a mark, the text up to the next {. */
static void read_string(struct buf *out, const char *at)
{
    static const char names[] = "ntr\\'\"", meant[] = "\n\t\r\\'\"";
    const char quote = *at == '\'' || *at == '"' ? *at++ : '{';
    for (const char *name; *at && *at != quote; at++) {
        name = *at == '\\' && at[1] && quote != '{' ? strchr(names, at[1]) : NULL;
        at += name != NULL;
        buf_addc(out, name ? meant[name - names] : *at);
    }
}

/* Sets c->system to the first system message that stands whole in one string of the template, or in
 * one that is given to system_message. */
static void find_system(struct chat *c, const char *template)
{
    static const char given[] = "set system_message = '";
    const struct form *f = c->form;
    SCOPED(buf) open = BUF_INIT, mark = BUF_INIT, string = BUF_INIT;
    buf_add_replaced(&open, f->open, strlen(f->open), "%", 1, roles[SYSTEM], strlen(roles[SYSTEM]));
    buf_set(&mark, open.data, strcspn(open.data, "\n")); /* a string may spell the line end \n */
    for (const char *at = template; !c->system.len && (at = strstr(at, mark.data)); at++) {
        const char *begin = at;
        while (begin > template && !strchr("'\"}", *begin))
            begin--;
        buf_clear(&string);
        read_string(&string, begin);
        const char *said = strstr(string.data, open.data), *end = said ? strstr(said, f->close) : 0;
        if (end)
            buf_add(&c->system, said + open.len, (size_t)(end - said) - open.len);
    }
    const char *set = c->system.len ? NULL : strstr(template, given);
    if (set)
        read_string(&c->system, set + sizeof given - 2);
}

static int check_template(struct chat *c, const char *template, const char *path)
{
    static const char *const unknown[] = {
        "strftime_now", "date_string",   "datetime",  "endmacro",
        "<think>",      "not loop.last", "eos_token", "bos_token"
    };
    const size_t begins = *c->form->begin != '\0'; /* such a form writes bos_token, the last one */
    SCOPED(buf) mark = BUF_INIT;
    if (!has_marks(c->form, NULL, template, &mark))
        return err_set("%s: its chat template lacks %s, so it is not of form '%s'", path, mark.data,
                       c->name);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown - begins; i++)
        if (strstr(template, unknown[i]))
            return err_set("%s: its chat template uses '%s', which is not known here: give "
                           "--chat %s to do without",
                           path, unknown[i], c->name);
    const int strips = strstr(template, "trim") || strstr(template, "strip(");
    if (strips != (c->form->how == STRIPS))
        return err_set("%s: its chat template %s white space at a message's ends, unlike form "
                       "'%s': give --chat %s to do without",
                       path, strips ? "removes" : "keeps", c->name, c->name);
    if (c->form->how != JOINS)
        find_system(c, template);
    return 0;
}

/* Returns the template of a tokenizer_config.json: a string, or the "default" one of a list. */
static const char *template_of(const struct js *root)
{
    const struct js *t = js_get(root, "chat_template");
    for (size_t i = 0; i < js_count(t) && js_is_array(t); i++)
        if (js_text_is(js_get(js_at(t, i), "name"), "default"))
            return js_text(js_get(js_at(t, i), "template"), NULL);
    return js_text(t, NULL);
}

/* Appends the template in a GGUF file, if it has one. Returns 0, or -1 with an error. */
static int read_inside(struct buf *text, const char *path)
{
    SCOPED_BY(gguf_close) struct gguf g = { 0 };
    if (gguf_open(&g, path) < 0)
        return -1;
    const struct gguf_key *k = gguf_find(&g, "tokenizer.chat_template");
    return k ? gguf_text(&g, k, text) : 0;
}

int chat_template(struct buf *text, struct buf *from, const char *vocabulary)
{
    SCOPED(buf) inside = file_path(vocabulary, "");
    SCOPED_JS root = NULL;
    const int kind = file_look(vocabulary);
    const char *beside = kind == FILE_FOLDER ? inside.data : vocabulary;
    buf_setf(from, "%s", vocabulary);
    if (gguf_is(vocabulary) && read_inside(text, vocabulary) < 0)
        return -1;
    if (text->len)
        return 0;
    buf_release(from);
    *from = file_beside(beside, "chat_template.jinja");
    int there = kind < 0 ? -1 : file_look(from->data);
    if (there > 0 && file_read(from->data, text) < 0)
        return -1;
    if (!there) {
        buf_release(from);
        *from = file_beside(beside, "tokenizer_config.json");
        there = file_look(from->data);
        if (there > 0 && !(root = js_load(from->data)))
            return -1;
        buf_adds(text, template_of(root) ? template_of(root) : "");
    }
    return there < 0 ? -1 : 0;
}

/* Checks that texts are encoded without a space in front, so that their parts may be encoded one by
 * one. Returns 0, or -1 with an error. */
static int check_parts(const struct tokenizer *t)
{
    struct encoder *e = encoder_new(t);
    SCOPED(ids) ids = { 0 };
    size_t n = 0;
    int result = encoder_encode(e, "a", 1, TOKENIZER_ORDINARY, &ids);
    if (!result && (ids.count != 1 || !tokenizer_token(t, ids.data[0], &n) || n != 1))
        result = err_set("the vocabulary puts something before a text, which --chat cannot leave "
                         "out between special tokens");
    encoder_free(e);
    return result;
}

int chat_open(struct chat *c, int form, const struct tokenizer *t, const char *path)
{
    static const char *const others[] = { "<|endoftext|>", "<|end_of_text|>", "<|bos|>" };
    SCOPED(buf) text = BUF_INIT, from = BUF_INIT;
    *c = (struct chat){ .t = t, .end_of_text = tokenizer_end_of_text(t), .system = BUF_INIT };
    if (choose(c, form) < 0 || check_parts(t) < 0)
        return -1;
    c->name = c->form->name;
    const int64_t last = tokenizer_find(t, c->form->close, strlen(c->form->close));
    for (int i = 0; i < 3 && (c->end_of_text < 0 || c->end_of_text == last); i++)
        c->end_of_text = tokenizer_find(t, others[i], strlen(others[i]));
    if (form == CHAT_AUTO && path && chat_template(&text, &from, path) < 0)
        return -1;
    return text.len ? check_template(c, text.data, from.data) : 0;
}

void chat_close(struct chat *c)
{
    buf_release(&c->system);
}
