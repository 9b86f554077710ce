/* Reads labelled texts: by GLUE's names of columns and by numbers, to train, to predict and as a
 * regression. Rows fit the length, and labels are classes. */
#include "classify/classify.h"
#include "tests/fuzz/file.h"
#include "tokenizer/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LENGTH = 12 };

static struct tokenizer *make(void)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\nthe\n";
    struct vocabulary v;
    vocabulary_init(&v);
    assert(vocab_txt_parse(&v, words, sizeof words - 1, "words") == 0);
    return tokenizer_from_vocabulary(&v);
}

static void check(const struct classify *c)
{
    uint32_t ids[LENGTH], segments[LENGTH];
    assert(c->count);
    for (size_t i = 0; i < c->count; i++) {
        const struct classify_text *t = &c->texts[i];
        assert(t->tokens <= LENGTH && classify_row(c, i, ids, segments) == t->tokens);
        assert(t->label >= CLASSIFY_UNLABELLED && t->label < c->classes.count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tokenizer *t;
    static const struct classify_columns columns[] = { { 0 }, { "1", NULL, "2" } };
    struct labels number = { 0 };
    char path[64];
    t = t ? t : make();
    labels_set_regression(&number);
    const int fd = fuzz_file(data, size, path);
    for (int i = 0; i < 8; i++) {
        struct classify c;
        const struct labels none = { 0 };
        if (classify_read(&c, path, &columns[i & 1], i & 4 ? &number : &none, t, LENGTH,
                          !!(i & 2)) < 0)
            continue;
        check(&c);
        classify_release(&c);
    }
    close(fd);
    return 0;
}
