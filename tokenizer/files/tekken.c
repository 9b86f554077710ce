/* Reads tekken.json, Mistral's form of a file of ranks:
 *
 *     config          pattern, default_vocab_size, default_num_special_tokens
 *     special_tokens  names; may be missing or too few. Special tokens have the ids from 0 on.
 *     vocab           rank and token_bytes (base64) of each token. The id is the rank plus the
 *                     number of special tokens; tokens whose id is beyond the size are not used.
 */

#include "common/base/base64.h"
#include "common/base/choice.h"
#include "common/formats/js.h"
#include "tokenizer/files/files.h"

/* The special tokens of files of versions before 11, which have no list of them. */
static const char older[] =
    "<unk>|<s>|</s>|[INST]|[/INST]|[AVAILABLE_TOOLS]|[/AVAILABLE_TOOLS]|[TOOL_RESULTS]|"
    "[/TOOL_RESULTS]|[TOOL_CALLS]|[IMG]|<pad>|[IMG_BREAK]|[IMG_END]|[PREFIX]|[MIDDLE]|[SUFFIX]|"
    "[SYSTEM_PROMPT]|[/SYSTEM_PROMPT]|[TOOL_CONTENT]";
enum { OLDER = 20 }; /* their number */

/* Adds `count` special tokens, with the ids from 0 on. Those that the list does not name have the
 * names that Mistral's library gives them. Returns 0, or -1 with an error. */
static int put_specials(struct vocabulary *v, const struct js *list, int64_t count)
{
    const int64_t named = js_is_array(list) ? (int64_t)js_count(list) : OLDER;
    char filler[32];
    for (int64_t id = 0; id < count; id++) {
        size_t n = 0;
        const char *name = filler;
        if (id >= named)
            n = (size_t)snprintf(filler, sizeof filler, "<SPECIAL_%d>", (int)id);
        else if (js_is_array(list))
            name = js_text(js_get(js_at(list, (size_t)id), "token_str"), &n);
        else
            name = choice_at(older, (size_t)id, &n);
        if (!name || !n)
            return err_set("special_tokens: item %d has no token_str", (int)id);
        /* in the model: else Hugging Face gives it an id after the others */
        if (vocabulary_put_special(v, id, name, n, 1) < 0)
            return err_in("special_tokens");
    }
    if (named > count)
        return err_set("%s %lld special tokens, but default_num_special_tokens is %lld",
                       js_is_array(list) ? "special_tokens has" : "without special_tokens, it has",
                       (long long)named, (long long)count);
    return 0;
}

static int put_tokens(struct vocabulary *v, const struct js *list, int64_t first, int64_t size)
{
    SCOPED(buf) bytes = BUF_INIT;
    int result = 0;
    for (size_t i = 0; i < js_count(list) && !result; i++) {
        size_t n;
        int64_t rank;
        const char *text = js_text(js_get(js_at(list, i), "token_bytes"), &n);
        buf_clear(&bytes);
        if (!text || base64_decode(&bytes, text, n) < 0 ||
            js_int(js_get(js_at(list, i), "rank"), &rank) < 0 || rank < 0)
            result = err_set("vocab: item %zu has no rank or no token_bytes in base64", i);
        else if (rank < size - first &&
                 vocabulary_put(v, first + rank, bytes.data, bytes.len, TOKEN_MODEL) < 0)
            result = err_in("vocab: item %zu", i);
    }
    return result;
}

static int read_root(struct vocabulary *v, const struct js *root)
{
    const struct js *config = js_get(root, "config");
    int64_t size, specials;
    size_t n;
    const char *pattern = js_text(js_get(config, "pattern"), &n);
    if (!pattern || js_int(js_get(config, "default_vocab_size"), &size) < 0 ||
        js_int(js_get(config, "default_num_special_tokens"), &specials) < 0)
        return err_set("config has no pattern, default_vocab_size or default_num_special_tokens");
    if (specials < 0 || specials > size || size > VOCABULARY_MAX)
        return err_set("config: %lld tokens, %lld of them special", (long long)size,
                       (long long)specials);
    if (put_specials(v, js_get(root, "special_tokens"), specials) < 0 ||
        put_tokens(v, js_get(root, "vocab"), specials, size) < 0 || vocabulary_check_full(v) < 0 ||
        vocabulary_derive_merges(v) < 0)
        return -1;
    v->end_of_text = vocabulary_find(v, "</s>", 4);
    post_processor_put(v, vocabulary_find(v, "<s>", 3), -1);
    return splitter_add(&v->splitter, SPLIT_PATTERN, pattern, n);
}

int tekken_is(const char *text, size_t n)
{
    static const char key[] = "\"default_num_special_tokens\":";
    return memmem(text, n, key, sizeof key - 1) != NULL;
}

int tekken_parse(struct vocabulary *v, const char *text, size_t n, const char *name)
{
    SCOPED_JS root = js_parse(text, n, name);
    vocabulary_expect(v, n);
    return !root ? -1 : read_root(v, root) < 0 ? err_in("%s", name) : 0;
}
