/* The tokenizer as a library. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/files/file.h"
#include "common/files/temp.h"
#include "library/textmill-tokenizer.h"

static char dir[] = "/tmp/textmill-library-XXXXXX";
static char path[64];
static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes a vocabulary with the ids [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, moon 5, ##s 6, x
 * 7. */
static void make_vocabulary(void)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nmoon\n##s\nx\n";
    cr_assert(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/vocab.txt", dir);
    cr_assert_eq(file_write(path, words, sizeof words - 1), 0);
}

static void remove_vocabulary(void)
{
    temp_remove(dir);
}

TestSuite(textmill_tokenizer, .init = make_vocabulary, .fini = remove_vocabulary);

static struct textmill_tokenizer *open_it(void)
{
    struct textmill_error why;
    struct textmill_tokenizer *t = textmill_open(path, NULL, &why);
    cr_assert(t, "%s", why.text);
    return t;
}

Test(textmill_tokenizer, a_batch_of_texts)
{
    static const char text[] = "MoonsX x";
    static const uint64_t ends[] = { 5, 5, 8 };
    static const uint32_t ids[] = { 5, 6, 7, 7 };
    struct textmill_tokenizer *t = open_it();
    struct textmill_tokens out;
    cr_assert_eq(textmill_encode(t, text, ends, 3, 0, 1, &out, NULL), 0);
    cr_expect(out.texts == 3 && out.ends[0] == 2 && out.ends[1] == 2 && out.ends[2] == 4);
    cr_expect_eq(memcmp(out.ids, ids, sizeof ids), 0);
    cr_expect_null(out.offsets);
    struct textmill_texts back;
    cr_assert_eq(textmill_decode(t, out.ids, out.ends, 3, 0, 1, &back, NULL), 0);
    cr_expect(back.ends[0] == 5 && back.ends[2] == 8 && !memcmp(back.bytes, "moonsx x", 8));
    textmill_texts_free(&back);
    textmill_tokens_free(&out);
    static const char *const apart[] = { "Moons", "", "X x" };
    cr_assert_eq(textmill_encode_texts(t, apart, ends, 3, 0, 1, &out, NULL), 0);
    cr_expect(out.ends[0] == 2 && out.ends[2] == 4 && !memcmp(out.ids, ids, sizeof ids));
    textmill_tokens_free(&out);
    cr_assert_eq(textmill_encode(t, NULL, NULL, 0, 0, 0, &out, NULL), 0);
    cr_expect_eq(out.texts, 0);
    textmill_tokens_free(&out);
    textmill_close(t);
}

Test(textmill_tokenizer, offsets_and_tokens_around_a_text)
{
    static const char text[] = "\xC3\xA9 moons";
    static const uint64_t end = sizeof text - 1;
    static const uint32_t ids[] = { 2, 1, 5, 6, 3 };
    static const uint32_t characters[][2] = { { 0, 0 }, { 0, 1 }, { 2, 6 }, { 6, 7 }, { 0, 0 } };
    static const uint32_t bytes[][2] = { { 0, 0 }, { 0, 2 }, { 3, 7 }, { 7, 8 }, { 0, 0 } };
    struct textmill_tokenizer *t = open_it();
    struct textmill_tokens out;
    cr_assert_eq(textmill_encode(t, text, &end, 1, TEXTMILL_WRAP | TEXTMILL_OFFSETS_CHARACTERS, 1,
                                 &out, NULL),
                 0);
    cr_assert_eq(out.ends[0], 5);
    cr_expect_eq(memcmp(out.ids, ids, sizeof ids), 0);
    cr_expect_eq(memcmp(out.offsets, characters, sizeof characters), 0);
    textmill_tokens_free(&out);
    cr_assert_eq(
        textmill_encode(t, text, &end, 1, TEXTMILL_WRAP | TEXTMILL_OFFSETS_BYTES, 1, &out, NULL),
        0);
    cr_expect_eq(memcmp(out.offsets, bytes, sizeof bytes), 0);
    textmill_tokens_free(&out);
    textmill_close(t);
}

Test(textmill_tokenizer, errors_are_text)
{
    struct textmill_error why;
    struct textmill_tokens out;
    struct textmill_texts back;
    static const uint64_t falls[] = { 3, 2 };
    static const uint32_t bad_id = 8;
    static const uint64_t one = 1, two = 2;
    cr_expect_null(textmill_open("/nonexistent", NULL, &why));
    cr_expect(strstr(why.text, "/nonexistent"), "%s", why.text);
    cr_expect_null(textmill_open(path, "pattern=gpt9", &why));
    cr_expect(strstr(why.text, "pattern is one of auto|gpt2|"), "%s", why.text);
    cr_expect_null(textmill_open(path, "rules", &why));
    cr_expect(strstr(why.text, "no option 'rules'"), "%s", why.text);
    struct textmill_tokenizer *t = textmill_open(path, "rules=google,case=cased", &why);
    cr_assert(t, "%s", why.text);
    cr_expect_eq(textmill_encode(t, "abc", falls, 2, 0, 1, &out, &why), -1);
    cr_expect(strstr(why.text, "text 1 ends before"), "%s", why.text);
    cr_expect_eq(textmill_encode(t, "a\xFF", &two, 1, TEXTMILL_STRICT, 1, &out, &why), -1);
    cr_expect_str_eq(why.text, "text 0: byte 1 is not UTF-8 (0xFF)");
    cr_expect_null(out.ids);
    cr_expect_eq(textmill_decode(t, &bad_id, &one, 1, 0, 1, &back, &why), -1);
    cr_expect(strstr(why.text, "text 0: id 8"), "%s", why.text);
    cr_expect(textmill_find(t, "x", 1) == 7 && textmill_find(t, "y", 1) == -1);
    cr_expect_eq(textmill_vocabulary_size(t), 8);
    cr_expect(textmill_is_special(t, (uint32_t)textmill_find(t, "[CLS]", 5)));
    cr_expect(!textmill_is_special(t, 7) && !textmill_is_special(t, 8));
    textmill_close(t);
}

Test(textmill_tokenizer, conversations_and_a_tokenizer_json)
{
    static const char line[] = "{\"prompt\": \"1\", \"answer\": \"2\"}", ids[] = { '1', '2' };
    char ranks[64], text[256 * 10] = "";
    struct textmill_error why;
    struct textmill_tokens out;
    struct textmill_texts json;
    for (int i = 0; i < 256; i++) /* one line for each byte, in base64 */
        snprintf(text + strlen(text), 20, "%c%c== %d\n", BASE64[i >> 2], BASE64[(i & 3) << 4], i);
    snprintf(ranks, sizeof ranks, "%s/bytes.tiktoken", dir);
    cr_assert_eq(file_write(ranks, text, strlen(text)), 0);
    struct textmill_tokenizer *t = textmill_open(ranks, "pattern=gpt2", &why);
    cr_assert(t, "%s", why.text);
    for (int turn = 0; turn < 2; turn++) {
        cr_assert_eq(
            textmill_encode_chat(t, "text", line, sizeof line - 1, TEXTMILL_CHAT_LEARN, &out, &why),
            0, "%s", why.text);
        cr_expect(out.texts == 2 && out.ends[0] == 1 && out.ends[1] >= 2);
        cr_expect(out.ids[0] == (uint32_t)ids[0] && out.ids[1] == (uint32_t)ids[1]);
        textmill_tokens_free(&out);
    }
    cr_expect_eq(
        textmill_encode_chat(t, "none", line, sizeof line - 1, TEXTMILL_CHAT_READ, &out, &why), -1);
    cr_expect(strstr(why.text, "auto|chatml|") && !out.ids, "%s", why.text);
    cr_expect_eq(textmill_encode_chat(t, "chatml", line, 1, TEXTMILL_CHAT_READ, &out, &why), -1);
    cr_expect(strstr(why.text, "<|im_start|>"), "%s", why.text);
    cr_assert_eq(textmill_json(t, &json, &why), 0, "%s", why.text);
    textmill_close(t);
    snprintf(ranks, sizeof ranks, "%s/tokenizer.json", dir);
    cr_assert_eq(file_write(ranks, json.bytes, json.ends[0]), 0);
    textmill_texts_free(&json);
    cr_assert((t = textmill_open(ranks, NULL, &why)), "%s", why.text);
    textmill_close(t);
}

/* A program whose user writes decimal commas, as in German. */
Test(textmill_tokenizer, json_has_no_decimal_commas)
{
    static const char json[] = "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": "
                               "[[\"<unk>\", 0.0], [\"a\", -1.5]]}}";
    char file[64], command[128];
    struct textmill_error why;
    struct textmill_texts made;
    snprintf(command, sizeof command, "localedef -i de_DE -f ISO-8859-1 %s/de_DE 2>&1", dir);
    if (system(command) || setenv("LOCPATH", dir, 1) || !setlocale(LC_ALL, "de_DE"))
        cr_skip_test("no locale de_DE");
    snprintf(file, sizeof file, "%s/tokenizer.json", dir);
    cr_assert_eq(file_write(file, json, sizeof json - 1), 0);
    struct textmill_tokenizer *t = textmill_open(file, NULL, &why);
    cr_assert(t, "%s", why.text);
    cr_assert_eq(textmill_json(t, &made, &why), 0, "%s", why.text);
    cr_expect(memmem(made.bytes, made.ends[0], ", -1.5]", 7), "%s", made.bytes);
    char point[8];
    snprintf(point, sizeof point, "%.1f", 1.5);
    cr_expect_str_eq(point, "1,5", "the caller's locale is as before");
    textmill_texts_free(&made);
    textmill_close(t);
}

static void *allocate_behind(size_t n)
{
    char *p = malloc(n + 16);
    return p ? p + 16 : NULL;
}

static void free_behind(void *p)
{
    if (p)
        free((char *)p - 16);
}

/* A program whose JSON, by jansson, is in memory that only its own function can free. */
Test(textmill_tokenizer, json_of_the_program_stays_its_own)
{
    static const char json[] = "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}";
    char file[64];
    struct textmill_error why;
    json_malloc_t allocate;
    json_free_t release;
    json_set_alloc_funcs(allocate_behind, free_behind);
    json_t *own = json_string("made before");
    snprintf(file, sizeof file, "%s/tokenizer.json", dir);
    cr_assert_eq(file_write(file, json, sizeof json - 1), 0);
    struct textmill_tokenizer *t = textmill_open(file, NULL, &why);
    cr_assert(t, "%s", why.text);
    textmill_close(t);
    json_get_alloc_funcs(&allocate, &release);
    cr_assert(allocate == allocate_behind && release == free_behind);
    json_decref(own);
}

/* The path was relative to a folder that the caller has left. */
Test(textmill_tokenizer, a_chat_template_is_found_from_another_folder)
{
    static const char line[] = "{\"messages\": []}", date[] = "<|im_start|><|im_end|>strftime_now";
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 1, \"content\": \"<|im_start|>\", \"special\": true},"
        " {\"id\": 2, \"content\": \"<|im_end|>\", \"special\": true}],"
        " \"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}";
    struct textmill_error why;
    struct textmill_tokens out;
    cr_assert_eq(chdir(dir), 0);
    cr_assert_eq(file_write("tokenizer.json", json, sizeof json - 1), 0);
    cr_assert_eq(file_write("chat_template.jinja", date, sizeof date - 1), 0);
    struct textmill_tokenizer *t = textmill_open("tokenizer.json", NULL, &why);
    cr_assert(t, "%s", why.text);
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(
        textmill_encode_chat(t, "auto", line, sizeof line - 1, TEXTMILL_CHAT_READ, &out, &why), -1);
    cr_expect(strstr(why.text, "strftime_now"), "%s", why.text);
    textmill_close(t);
}

enum { LINES = 20000, CALLERS = 4 };

struct caller {
    struct textmill_tokenizer *t;
    const char *text;
    const uint64_t *ends;
    int threads;
    struct textmill_tokens out;
};

static void *call(void *ctx)
{
    struct caller *c = ctx;
    struct textmill_error why;
    if (textmill_encode(c->t, c->text, c->ends, LINES, 0, c->threads, &c->out, &why) < 0)
        cr_assert_fail("%s", why.text);
    return NULL;
}

/* Several callers, each with 1 to 4 threads, must get the same results from one tokenizer. */
Test(textmill_tokenizer, threads_share_it)
{
    static const char line[] = "moons x moon s moonsx moons moons moons x x x moon ";
    char *text = malloc(LINES * sizeof line);
    uint64_t *ends = malloc(LINES * sizeof *ends), at = 0;
    struct caller callers[CALLERS];
    pthread_t ids[CALLERS];
    struct textmill_tokenizer *t = open_it();
    for (size_t i = 0; i < LINES; i++) {
        size_t n = i * 7 % (sizeof line);
        memcpy(text + at, line, n);
        ends[i] = at += n;
    }
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){ .t = t, .text = text, .ends = ends, .threads = i + 1 };
        pthread_create(&ids[i], NULL, call, &callers[i]);
    }
    for (int i = 0; i < CALLERS; i++) {
        const struct textmill_tokens *a = &callers[0].out, *b = &callers[i].out;
        pthread_join(ids[i], NULL);
        cr_assert_eq(a->ends[LINES - 1], b->ends[LINES - 1]);
        cr_expect_gt(a->ends[LINES - 1], LINES);
        cr_expect_eq(memcmp(a->ends, b->ends, LINES * sizeof *ends), 0);
        cr_expect_eq(memcmp(a->ids, b->ids, a->ends[LINES - 1] * sizeof *a->ids), 0);
    }
    for (int i = 0; i < CALLERS; i++)
        textmill_tokens_free(&callers[i].out);
    textmill_close(t);
    free(text);
    free(ends);
}

#ifndef SANITIZED /* a sanitizer ends the process when memory runs out */
/* Encodes with too little memory. The call must fail, in whichever thread memory runs out, and the
 * process must go on. Returns 0 if it does, otherwise the number of the step that failed. */
static int encode_without_memory(int threads)
{
    enum { BYTES = 64 << 20, TEXTS = 64 };
    struct textmill_error why = { "" };
    struct textmill_tokens out;
    struct textmill_tokenizer *t = open_it();
    char *text = malloc(BYTES);
    uint64_t ends[TEXTS];
    memset(text, 'x', BYTES);
    for (size_t i = 0; i < BYTES; i += 2)
        text[i] = ' ';
    for (size_t i = 0; i < TEXTS; i++)
        ends[i] = (i + 1) * (BYTES / TEXTS);
    const struct rlimit most = { 160 << 20, 160 << 20 };
    if (setrlimit(RLIMIT_AS, &most) < 0)
        return 2;
    if (textmill_encode(t, text, ends, TEXTS, 0, threads, &out, &why) == 0)
        return 3;
    if (!strstr(why.text, "out of memory"))
        return 4;
    free(text);
    uint64_t end = 3;
    return textmill_encode(t, " x ", &end, 1, 0, 1, &out, &why) == 0 && out.ids[0] == 7 ? 0 : 5;
}

/* Encodes many texts in one thread, with `room` bytes of memory more than the process has. Returns
 * 0 if that fails for want of memory and the library still works; 3 if the memory is enough; else
 * another number. */
static int encode_within(rlim_t room)
{
    enum { TEXTS = 1 << 22 }; /* so many that malloc maps each array by itself */
    struct textmill_error why = { "" };
    struct textmill_tokens out;
    struct textmill_tokenizer *t = open_it();
    char *text = malloc(TEXTS);
    uint64_t *ends = malloc(TEXTS * sizeof *ends);
    long pages = 0;
    memset(text, 'x', TEXTS);
    for (size_t i = 0; i < TEXTS; i++)
        ends[i] = i + 1;
    if (textmill_encode(t, text, ends, 1, TEXTMILL_OFFSETS_BYTES, 1, &out, &why) < 0)
        return 1;
    textmill_tokens_free(&out);
    FILE *f = fopen("/proc/self/statm", "r");
    const int got = f && fscanf(f, "%ld", &pages) == 1;
    if (f)
        fclose(f);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + room;
    const struct rlimit most = { bytes, bytes };
    if (!got || setrlimit(RLIMIT_AS, &most) < 0)
        return 2;
    if (textmill_encode(t, text, ends, TEXTS, TEXTMILL_OFFSETS_BYTES, 1, &out, &why) == 0)
        return 3;
    if (!strstr(why.text, "out of memory"))
        return 4;
    return textmill_encode(t, text, ends, 1, 0, 1, &out, &why) == 0 && out.ids[0] == 7 ? 0 : 5;
}

/* Returns the exit status of a process that calls encode_without_memory(threads) or, if `threads`
 * is 0, encode_within(room). */
static int without_memory(int threads, rlim_t room)
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(threads ? encode_without_memory(threads) : encode_within(room));
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(textmill_tokenizer, out_of_memory_is_an_error)
{
    for (int threads = 1; threads <= 4; threads += 3)
        cr_expect_eq(without_memory(threads, 0), 0, "%d threads", threads);
    /* Memory runs out at each step in turn, also when the results are joined at the end. */
    int status = 0;
    for (rlim_t room = 0; room < 512 << 20 && !status; room += 16 << 20) {
        status = without_memory(0, room);
        cr_expect(status == 0 || status == 3, "%llu bytes: status %d", (unsigned long long)room,
                  status);
    }
    cr_expect_eq(status, 3);
}
#endif
