/* Makes a tokenizer.json without merges of CLIP's vocab.json, which does not say that text is in
 * lower case, how it is split, and which tokens stand around it. */

#include "common/formats/js.h"
#include "tokenizer/files/files.h"

static const char begin[] = "<|startoftext|>", end[] = "<|endoftext|>";

/* What Hugging Face's CLIPTokenizer adds to the two files. */
static const char frame[] =
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" \"},"
    "{\"type\":\"Lowercase\"}]},"
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":"
    "{\"Regex\":\"<\\\\|startoftext\\\\|>|<\\\\|endoftext\\\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\\\p{L}]+|"
    "[\\\\p{N}]|[^\\\\s\\\\p{L}\\\\p{N}]+\"},\"behavior\":\"Removed\",\"invert\":true},"
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}]},"
    "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true},";

int clip_is(const char *text, size_t n)
{
    static const char suffix[] = "</w>\"", special[] = "\"<|startoftext|>\"";
    return memmem(text, n, suffix, sizeof suffix - 1) &&
           memmem(text, n, special, sizeof special - 1);
}

int clip_parse(struct vocabulary *v, const struct buf *tokens, const char *name)
{
    SCOPED(buf) json = BUF_INIT;
    SCOPED_JS root = js_parse(tokens->data, tokens->len, name);
    const char *const names[] = { begin, end };
    int64_t ids[2];
    if (!root)
        return -1;
    if (js_int(js_get(root, begin), &ids[0]) < 0 || js_int(js_get(root, end), &ids[1]) < 0)
        return err_set("%s: has no ids of '%s' and '%s', which CLIP puts around a text", name,
                       begin, end);
    for (int i = 0; i < 2; i++)
        buf_addf(&json,
                 "%s{\"id\":%" PRId64 ",\"content\":\"%s\",\"special\":true,\"normalized\":false}",
                 i ? "," : "{\"added_tokens\":[", ids[i], names[i]);
    buf_addf(&json,
             "],%s\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"%s\",%" PRId64
             "],\"cls\":[\"%s\",%" PRId64 "],\"trim_offsets\":false,\"add_prefix_space\":false},"
             "\"model\":{\"type\":\"BPE\",\"unk_token\":\"%s\",\"continuing_subword_prefix\":\"\","
             "\"end_of_word_suffix\":\"</w>\",\"fuse_unk\":false,\"vocab\":",
             frame, end, ids[1], begin, ids[0], end);
    buf_add(&json, tokens->data, tokens->len);
    buf_adds(&json, ",\"merges\":[]}}");
    return tokenizer_json_parse(v, json.data, json.len, name);
}
