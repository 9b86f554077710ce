#include "tokenizer/files/encodings.h"

#include "common/formats/js.h"

#define ENGLISH "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER   "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER   "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define BEFORE  "[^\\r\\n\\p{L}\\p{N}]?"
#define NO_HAN  "&&[^\\p{Han}]"
#define BLANKS  "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define MARKS   "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" BLANKS
#define PATHS   "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" BLANKS
/* a word: any capital letters, then small ones; or else capital letters, then any small ones */
#define WORDS(but, behind)                                                                         \
    BEFORE "[" UPPER but "]*[" LOWER but "]+" behind "|" BEFORE "[" UPPER but "]+[" LOWER but      \
           "]*" behind "|"

/* tiktoken keeps the white space at the end of a text together for cl100k, Llama's code does not */
static const char cl100k[] = ENGLISH "|" BEFORE "\\p{L}+|\\p{N}{1,3}"
                                     "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s+\\z" BLANKS,
                  llama3[] = ENGLISH "|" BEFORE "\\p{L}+|\\p{N}{1,3}" MARKS,
                  qwen[] = ENGLISH "|" BEFORE "\\p{L}+|\\p{N}" MARKS,
                  qwen35[] = ENGLISH "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}"
                                     "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" BLANKS,
                  o200k[] = WORDS("", ENGLISH "?") "\\p{N}{1,3}" PATHS,
                  tekken[] = WORDS("", "") "\\p{N}" PATHS,
                  kimi[] = "[\\p{Han}]+|" WORDS(NO_HAN, ENGLISH "?") "\\p{N}{1,3}" MARKS;

/* Special tokens are in the order of their ids. */
static const struct encoding {
    enum tokenizer_pattern name;
    const char *pattern; /* NULL: GPT-2's */
    const char *class;   /* tokenizer_class of tokenizer_config.json, without "Fast"; NULL: none */
    const char *model;   /* model_type of config.json; NULL: none */
    int end;             /* index of the special token that ends a text */
    int nfc;             /* 1: text is normalized to NFC first */
    struct {
        const char *name;
        uint32_t id;
    } special[16];
} encodings[] = {
    { TOKENIZER_GPT2, .class = "GPT2Tokenizer", .model = "gpt2" },
    { TOKENIZER_GPT2, .class = "CodeGenTokenizer", .model = "codegen" },
    { TOKENIZER_GPT2, .class = "RobertaTokenizer", .model = "roberta" },
    { TOKENIZER_CL100K, cl100k,
      .special = { { "<|endoftext|>", 100257 },
                   { "<|fim_prefix|>", 100258 },
                   { "<|fim_middle|>", 100259 },
                   { "<|fim_suffix|>", 100260 },
                   { "<|endofprompt|>", 100276 } } },
    { TOKENIZER_O200K, o200k,
      .special = { { "<|endoftext|>", 199999 }, { "<|endofprompt|>", 200018 } } },
    { TOKENIZER_QWEN, qwen, "Qwen2Tokenizer", "qwen2", .nfc = 1,
      .special = { { "<|endoftext|>", 151643 },
                   { "<|im_start|>", 151644 },
                   { "<|im_end|>", 151645 } } },
    { TOKENIZER_QWEN35, .pattern = qwen35, .nfc = 1 },
    { TOKENIZER_LLAMA3, llama3, .end = 1,
      .special = { { "<|begin_of_text|>", 128000 },
                   { "<|end_of_text|>", 128001 },
                   { "<|finetune_right_pad_id|>", 128004 },
                   { "<|step_id|>", 128005 },
                   { "<|start_header_id|>", 128006 },
                   { "<|end_header_id|>", 128007 },
                   { "<|eom_id|>", 128008 },
                   { "<|eot_id|>", 128009 },
                   { "<|python_tag|>", 128010 },
                   { "<|image|>", 128011 },
                   { "<|reserved_special_token_245|>", 128255 } } },
    { TOKENIZER_LLAMA4, o200k, .end = 1,
      .special = { { "<|begin_of_text|>", 200000 },
                   { "<|end_of_text|>", 200001 },
                   { "<|fim_prefix|>", 200002 },
                   { "<|fim_middle|>", 200003 },
                   { "<|fim_suffix|>", 200004 },
                   { "<|header_start|>", 200005 },
                   { "<|header_end|>", 200006 },
                   { "<|eom|>", 200007 },
                   { "<|eot|>", 200008 },
                   { "<|step|>", 200009 },
                   { "<|python_start|>", 200016 },
                   { "<|python_end|>", 200017 },
                   { "<|finetune_right_pad|>", 200018 },
                   { "<|image|>", 200090 },
                   { "<|patch|>", 200092 } } },
    { TOKENIZER_KIMI, kimi, "TikTokenTokenizer", .end = 1,
      .special = { { "[BOS]", 163584 }, { "[EOS]", 163585 }, { "<|im_end|>", 163586 } } },
    { TOKENIZER_TEKKEN, .pattern = tekken },
    { TOKENIZER_GLM, llama3, "ChatGLM4Tokenizer", .special = { { "<|endoftext|>", 151329 } } },
};
enum { ENCODINGS = sizeof encodings / sizeof *encodings, SPECIAL_MAX = 16 };

const struct encoding *encoding_named(enum tokenizer_pattern pattern)
{
    for (size_t i = 0; i < ENCODINGS; i++)
        if (encodings[i].name == pattern)
            return &encodings[i];
    return NULL;
}

const char *encoding_pattern(enum tokenizer_pattern pattern)
{
    return encoding_named(pattern)->pattern;
}

size_t class_bytes(const char *name)
{
    const size_t n = name ? strlen(name) : 0;
    return n > 4 && !strcmp(name + n - 4, "Fast") ? n - 4 : n;
}

const struct encoding *encoding_of_class(const char *name)
{
    const size_t n = class_bytes(name);
    for (size_t i = 0; i < ENCODINGS && n; i++) {
        const char *class = encodings[i].class, *model = encodings[i].model;
        if ((class && bytes_are(name, n, class)) || (model && !strcmp(model, name)))
            return &encodings[i];
    }
    return NULL;
}

const struct encoding *encoding_of_tokens(const struct vocabulary *v)
{
    static const struct {
        uint64_t checksum;
        enum tokenizer_pattern pattern;
    } known[] = {
        { 0x058C3E8AF7B5BA38, TOKENIZER_GPT2 },   /* r50k_base, gpt2.tiktoken */
        { 0x477131CD7FFE948A, TOKENIZER_GPT2 },   /* GPT-2's vocab.json, encoder.json */
        { 0xC6CE63EB292E48B4, TOKENIZER_GPT2 },   /* Whisper's multilingual.tiktoken */
        { 0xF27ABD8CE66ED6A2, TOKENIZER_CL100K }, /* cl100k_base */
        { 0xD987F19F1F0FD7D3, TOKENIZER_O200K },  /* o200k_base */
        { 0x8136D7F3823DE90C, TOKENIZER_QWEN },   /* qwen.tiktoken */
        { 0xEA47DE63E5BD19DA, TOKENIZER_LLAMA3 }, /* tokenizer.model of Llama 3 */
        { 0x08EADB33BC8FB7C6, TOKENIZER_LLAMA4 }, /* tokenizer.model of Llama 4 */
    };
    const uint64_t checksum = vocabulary_checksum(v);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].checksum == checksum)
            return encoding_named(known[i].pattern);
    return NULL;
}

int encoding_cut(struct vocabulary *v, const struct encoding *e)
{
    static const char nfc[] = "{\"type\": \"NFC\"}";
    if (e->nfc) {
        SCOPED_JS step = js_parse(nfc, sizeof nfc - 1, "normalizer");
        v->general = 1;
        v->json[NORMALIZER] = mem_strdup(nfc);
        steps_read_normalizer(&v->normalizer, step);
    }
    return e->pattern ? splitter_add(&v->splitter, SPLIT_PATTERN, e->pattern, strlen(e->pattern))
                      : splitter_add(&v->splitter, SPLIT_GPT2, NULL, 0);
}

int encoding_fill(struct vocabulary *v, uint32_t from, int64_t to)
{
    char name[32];
    for (uint32_t id = from; id < to; id++) {
        snprintf(name, sizeof name, "<|unused_%u|>", id);
        if ((id >= v->count || v->tokens[id].kind == TOKEN_HOLE) &&
            vocabulary_put_special(v, id, name, strlen(name), 0) < 0)
            return -1;
    }
    return 0;
}

int encoding_add_specials(struct vocabulary *v, const struct encoding *e)
{
    size_t i = 0;
    if (!e->pattern) {
        v->end_of_text = vocabulary_hole(v);
        return vocabulary_put_special(v, v->end_of_text, end_of_text_name, strlen(end_of_text_name),
                                      1);
    }
    for (; i < SPECIAL_MAX && e->special[i].name; i++)
        if (encoding_fill(v, v->count, e->special[i].id) < 0 ||
            vocabulary_put_special(v, e->special[i].id, e->special[i].name,
                                   strlen(e->special[i].name), 0) < 0)
            return -1;
    if (i)
        v->end_of_text = e->special[e->end].id;
    return 0;
}
