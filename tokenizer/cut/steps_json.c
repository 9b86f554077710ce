/* Reads the steps of steps.h from JSON. */

#include "common/base/base64.h"
#include "common/base/choice.h"
#include "common/base/utf8.h"
#include "common/formats/js.h"
#include "tokenizer/cut/charsmap.h"
#include "tokenizer/cut/regex.h"
#include "tokenizer/cut/steps.h"
#include "unicode/unicode.h"

static struct step *add(struct steps *s, struct step step)
{
    mem_next(s->items, s->count, s->cap) = step;
    return &s->items[s->count - 1];
}

/* Returns the index of a word, which may be NULL, in a list "one|two"; -1 if it is not there. */
static int find_word(const char *words, const char *word)
{
    return word ? choice_find(words, word, strlen(word)) : -1;
}

/* Reads the string that is searched for, which errors call `what`. */
static int read_searched(struct step *step, const struct js *value, const char *what)
{
    size_t n;
    const char *text = js_text(value, &n);
    if (!text || !n)
        return err_set(text ? "the %s is empty" : "no %s", what);
    step->text = mem_strndup(text, n);
    step->len = n;
    return 0;
}

/* Reads a pattern: {"Regex": ...} or {"String": ...}. An empty string cuts as an empty expression:
 * at each character. Returns 0, or -1 with an error. */
static int read_pattern(struct step *step, const struct js *pattern)
{
    const int cuts = step->kind == STEP_SPLIT && step->behavior <= STEP_ISOLATED;
    const struct js *string = js_get(pattern, "String"), *regex = js_get(pattern, "Regex");
    size_t n;
    const char *text = js_text(cuts && js_text_is(string, "") ? string : regex, &n);
    if (text)
        return (step->regex = (cuts ? regex_new_cut : regex_new)(text, n)) ? 0 : -1;
    return read_searched(step, string, "pattern");
}

static int read_content(struct step *step, const struct js *value)
{
    size_t n;
    const char *text = js_text(value, &n);
    if (!text)
        return err_set("no content");
    step->content = mem_strndup(text, n);
    step->content_len = n;
    return 0;
}

int steps_read_replace(struct step *step, const struct js *value)
{
    return read_pattern(step, js_get(value, "pattern")) < 0
               ? -1
               : read_content(step, js_get(value, "content"));
}

/* ---- normalizers ----------------------------------------------------------------------------- */

struct bert_rules steps_bert_rules(const struct js *value)
{
    struct bert_rules r = { .clean_text = js_flag(value, "clean_text", 1),
                            .chinese_chars = js_flag(value, "handle_chinese_chars", 1),
                            .lowercase = js_flag(value, "lowercase", 1) };
    r.strip_accents = js_flag(value, "strip_accents", r.lowercase);
    return r;
}

void steps_add_bert(struct steps *s, const struct bert_rules *rules)
{
    if (rules->clean_text)
        add(s, (struct step){ .kind = STEP_CLEAN });
    if (rules->chinese_chars)
        add(s, (struct step){ .kind = STEP_SPACE_CHINESE });
    if (rules->strip_accents) {
        add(s, (struct step){ .kind = STEP_NFD });
        add(s, (struct step){ .kind = STEP_DROP_MARKS });
    }
    if (rules->lowercase)
        add(s, (struct step){ .kind = STEP_LOWERCASE });
}

/* Makes the map keep the texts of a list (charsmap_keep). */
static void keep_texts(struct charsmap *m, const struct js *list)
{
    SCOPED_MEM const char **texts = mem_zalloc(js_count(list), sizeof *texts);
    size_t count = 0, n;
    for (size_t i = 0; i < js_count(list); i++)
        if ((texts[count] = js_text(js_at(list, i), &n)) && n)
            count++;
    charsmap_keep(m, texts, count);
}

static int read_precompiled(struct step *step, const struct js *value)
{
    /* PCRE2 10.42 joins pictographs; before (C) and (R) the map would then replace both by one */
    static const char cluster[] = ".(?=[\u00A9\u00AE])|\\X";
    SCOPED(buf) map = BUF_INIT;
    size_t n;
    const char *text = js_text(js_get(value, "precompiled_charsmap"), &n);
    if (!text || base64_decode(&map, text, n) < 0)
        err_set("precompiled_charsmap is not base64");
    else
        step->map = charsmap_new(map.data, map.len);
    if (step->map)
        keep_texts(step->map, js_get(value, "keep"));
    if (!step->map || js_text_is(js_get(value, "match"), "longest"))
        return step->map ? 0 : -1;
    return (step->regex = regex_new(cluster, sizeof cluster - 1)) ? 0 : -1;
}

static int read_normalizer(struct steps *s, const struct js *value)
{
    static const char names[] = "NFD|NFKD|NFC|NFKC|Lowercase|StripAccents|Nmt|Strip|Replace|"
                                "Prepend|Append|Precompiled";
    const char *type = js_type(value);
    if (!strcmp(type, "Sequence")) {
        const struct js *list = js_get(value, "normalizers");
        for (size_t i = 0; i < js_count(list); i++)
            if (read_normalizer(s, js_at(list, i)) < 0)
                return -1;
        return 0;
    }
    if (!strcmp(type, "BertNormalizer")) {
        const struct bert_rules rules = steps_bert_rules(value);
        steps_add_bert(s, &rules);
        return 0;
    }
    int kind = find_word(names, type);
    if (kind < 0)
        return err_set("normalizer '%s' is not supported", type);
    struct step *step = add(s, (struct step){ .kind = (enum step_kind)(STEP_NFD + kind) });
    step->left = js_flag(value, "strip_left", 1);
    step->right = js_flag(value, "strip_right", 1);
    int result = 0;
    switch (step->kind) {
    case STEP_REPLACE: result = steps_read_replace(step, value); break;
    case STEP_PREPEND: result = read_content(step, js_get(value, "prepend")); break;
    case STEP_APPEND: result = read_content(step, js_get(value, "append")); break;
    case STEP_PRECOMPILED: result = read_precompiled(step, value); break;
    default: break;
    }
    return result < 0 ? err_in("normalizer %s", type) : 0;
}

int steps_read_normalizer(struct steps *s, const struct js *value)
{
    return js_is_set(value) ? read_normalizer(s, value) : 0;
}

/* ---- pre-tokenizers -------------------------------------------------------------------------- */

static int read_behavior(struct step *step, const struct js *value)
{
    static const char names[] = "Removed|Isolated|MergedWithPrevious|MergedWithNext|Contiguous";
    const char *name = js_text(js_get(value, "behavior"), NULL);
    int found = find_word(names, name);
    if (found < 0)
        return err_set("behavior '%s' is not supported", name ? name : "?");
    step->behavior = (enum step_behavior)found;
    return 0;
}

/* Reads a Metaspace. Older files have add_prefix_space instead of prepend_scheme, and str_rep
 * beside replacement. Returns 0, or -1 with an error. */
static int read_metaspace(struct step *step, const struct js *value)
{
    static const char names[] = "never|first|always";
    const char *name = js_text(js_get(value, "prepend_scheme"), NULL);
    int scheme = find_word(names, name);
    size_t len = 0;
    if (name && scheme < 0)
        return err_set("prepend_scheme '%s' is not supported", name);
    step->scheme = name ? (enum step_scheme)scheme : STEP_ALWAYS;
    if (!name && !js_flag(value, "add_prefix_space", 1))
        step->scheme = STEP_NEVER;
    step->split = js_flag(value, "split", 1);
    if (read_content(step, js_get(value, "replacement")) < 0)
        return -1;
    if (step->content_len)
        utf8_get((const unsigned char *)step->content, &len);
    return len && len == step->content_len ? 0 : err_set("the replacement is not one character");
}

static int read_step(struct steps *s, const struct js *value, const char *type)
{
    static const char names[] = "Split|Punctuation|Digits|BertPreTokenizer|Metaspace|Whitespace|"
                                "WhitespaceSplit|CharDelimiterSplit|ByteLevel";
    enum { SPLIT, PUNCTUATION, DIGITS, BERT, METASPACE, WHITESPACE, SPACES, DELIMITER, BYTES };
    struct step *step;
    switch (find_word(names, type)) {
    case SPLIT:
        step = add(s, (struct step){ .kind = STEP_SPLIT, .invert = js_flag(value, "invert", 0) });
        return read_behavior(step, value) < 0 ? -1 : read_pattern(step, js_get(value, "pattern"));
    case PUNCTUATION:
        step = add(s, (struct step){ .kind = STEP_CHARACTERS,
                                     .bits = UNICODE_IS_PUNCTUATION,
                                     .behavior = STEP_ISOLATED });
        return js_get(value, "behavior") ? read_behavior(step, value) : 0;
    case DIGITS:
        add(s, (struct step){ .kind = js_flag(value, "individual_digits", 0) ? STEP_CHARACTERS
                                                                             : STEP_RUNS,
                              .bits = UNICODE_IS_NUMBER,
                              .behavior = STEP_ISOLATED });
        return 0;
    case BERT:
        add(s, (struct step){ .kind = STEP_CHARACTERS, .bits = UNICODE_IS_SPACE });
        add(s, (struct step){ .kind = STEP_CHARACTERS,
                              .bits = UNICODE_IS_PUNCTUATION,
                              .behavior = STEP_ISOLATED });
        return 0;
    case METASPACE: return read_metaspace(add(s, (struct step){ .kind = STEP_METASPACE }), value);
    case WHITESPACE: add(s, (struct step){ .kind = STEP_WHITESPACE }); return 0;
    case SPACES:
        add(s, (struct step){ .kind = STEP_CHARACTERS, .bits = UNICODE_IS_SPACE });
        return 0;
    case DELIMITER:
        return read_searched(add(s, (struct step){ .kind = STEP_SPLIT }),
                             js_get(value, "delimiter"), "delimiter");
    case BYTES:
        add(s, (struct step){ .kind = STEP_BYTE_LEVEL,
                              .split = js_flag(value, "use_regex", 1),
                              .scheme = js_flag(value, "add_prefix_space", 1) ? STEP_ALWAYS
                                                                              : STEP_NEVER });
        return 0;
    default: return err_set("pre_tokenizer '%s' is not supported", type);
    }
}

int steps_read_pre_tokenizer(struct steps *s, const struct js *value, int *byte_level)
{
    const char *type = js_type(value);
    if (!js_is_set(value))
        return 0;
    if (!strcmp(type, "Sequence")) {
        const struct js *list = js_get(value, "pretokenizers");
        for (size_t i = 0; i < js_count(list); i++)
            if (steps_read_pre_tokenizer(s, js_at(list, i), byte_level) < 0)
                return -1;
        return 0;
    }
    if (*byte_level)
        return err_set("pre_tokenizer '%s' after ByteLevel is not supported", type);
    *byte_level = !strcmp(type, "ByteLevel");
    size_t before = s->count;
    if (read_step(s, value, type) == 0)
        return 0;
    return s->count > before ? err_in("pre_tokenizer %s", type) : -1;
}
