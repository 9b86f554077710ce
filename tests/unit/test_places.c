#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "tokenizer/tokenizer.h"

static struct ids ids, begins, ends;

static void encode(struct tokenizer *t, const char *text, size_t n)
{
    struct encoder *e = encoder_new(t);
    ids.count = begins.count = ends.count = 0;
    cr_assert_eq(encoder_encode_places(e, text, n, &ids, &begins, &ends), 0, "%s", err_get());
    cr_assert(ids.count == begins.count && ids.count == ends.count);
    encoder_free(e);
}

static void expect_place(size_t i, uint32_t id, uint32_t begin, uint32_t end)
{
    cr_expect(ids.data[i] == id && begins.data[i] == begin && ends.data[i] == end,
              "token %zu: %u at %u-%u", i, ids.data[i], begins.data[i], ends.data[i]);
}

Test(places, in_code_points)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nete\n##s\nx\n,\n";
    char path[] = "/tmp/test-places-XXXXXX/vocab.txt", *slash = strrchr(path, '/');
    *slash = '\0';
    cr_assert(mkdtemp(path));
    *slash = '/';
    cr_assert_eq(file_write(path, words, sizeof words - 1), 0);
    struct tokenizer *t = tokenizer_load(path);
    cr_assert(t, "%s", err_get());
    /* Accents of their own and as marks, a control in a word, letters of four bytes that are unknown. */
    static const char text[] = " \xC3\x89te\xCC\x81S, X\xE2\x80\x8B \xF0\x90\x90\x80\xF0\x90\x90\x81 x";
    encode(t, text, sizeof text - 1);
    cr_assert_eq(ids.count, 6);
    expect_place(0, 5, 1, 4);
    expect_place(1, 6, 5, 6);
    expect_place(2, 8, 6, 7);
    expect_place(3, 7, 8, 9);
    expect_place(4, 1, 11, 13);
    expect_place(5, 7, 14, 15);
    tokenizer_free(t);
    *slash = '\0';
    file_remove_tree(path);
}

/* One line: {"text", "ids", "offsets"}, with [CLS] and [SEP] around; nothing if the text names a
 * special token, which is text for us. */
static int compare(struct tokenizer *t, const struct js *v)
{
    size_t n;
    const char *text = js_text(js_get(v, "text"), &n);
    if (memchr(text, '[', n))
        return 0;
    encode(t, text, n);
    cr_expect_eq(js_count(js_get(v, "ids")), ids.count + 2);
    for (size_t i = 0; i < ids.count; i++) {
        int64_t id = -1, begin = -1, end = -1;
        const struct js *place = js_at(js_get(v, "offsets"), i + 1);
        js_int(js_at(js_get(v, "ids"), i + 1), &id);
        js_int(js_at(place, 0), &begin);
        js_int(js_at(place, 1), &end);
        expect_place(i, (uint32_t)id, (uint32_t)begin, (uint32_t)end);
    }
    return 1;
}

Test(places, as_hugging_face_has_them)
{
    const char *root = getenv("TEXTMILL_DATA");
    struct buf path = BUF_INIT, vocab = BUF_INIT;
    file_join(&vocab, root ? root : "../shared/data", "tokenizers/bert-base-uncased-vocab.txt");
    file_join(&path, root ? root : "../shared/data", "tokenizers/golden_bert_uncased_special.jsonl");
    if (!file_exists(path.data))
        cr_skip_test("no %s", path.data);
    struct tokenizer *t = tokenizer_load(vocab.data);
    cr_assert(t, "%s", err_get());
    struct input in;
    char *line;
    size_t n;
    int compared = 0;
    cr_assert_eq(input_open(&in, path.data), 0);
    while (input_line(&in, &line, &n) > 0) {
        struct js *v = js_parse(line, n, path.data);
        cr_assert(v, "%s", err_get());
        compared += compare(t, v);
        js_free(v);
    }
    cr_expect_gt(compared, 200);
    input_close(&in);
    tokenizer_free(t);
    buf_release(&path);
    buf_release(&vocab);
}
