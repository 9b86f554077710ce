/* libtextmill-tokenizer: implements textmill-tokenizer.h, with threads for batches. */
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/base.h"
#include "common/base/choice.h"
#include "common/base/utf8.h"
#include "common/files/usage.h"
#include "library/textmill-tokenizer.h"
#include "tokenizer/chat.h"
#include "tokenizer/tokenizer.h"

enum { ENCODERS = 64, CHATS = 8, UNIT_BYTES = 1 << 18, THREADS_MOST = 1024 };

struct textmill_tokenizer {
    struct tokenizer *t;
    char *path;
    pthread_mutex_t lock;
    struct chat *chats[CHATS];      /* by number in CHAT_FORMS; NULL before the first use */
    struct encoder *idle[ENCODERS]; /* not in use; the one used last is at the end */
    size_t idle_count;
};

/* ---- errors -------------------------------------------------------------------------------- */

/* Runs work(ctx) and returns its result. If memory runs out, returns -1 with an error instead of
 * ending the program. */
static int guarded(int (*work)(void *ctx), void *ctx)
{
    jmp_buf here, *const outer = mem_escape(&here);
    int result = -1;
    if (setjmp(here))
        err_set("out of memory");
    else
        result = work(ctx);
    mem_escape(outer);
    return result;
}

static int say_why(struct textmill_error *why)
{
    if (why)
        snprintf(why->text, sizeof why->text, "%s", err_get());
    return -1;
}

/* ---- a vocabulary -------------------------------------------------------------------------- */

/* Sets one option, given as name=value. Returns 0, or -1 with an error. */
static int set_option(struct tokenizer_options *o, const char *text, size_t n)
{
    static const struct {
        const char *name, *words;
        size_t at; /* of the number of the word */
    } options[] = {
        { "pattern", TOKENIZER_PATTERNS, offsetof(struct tokenizer_options, pattern) },
        { "missing", "error|drop", offsetof(struct tokenizer_options, drop_missing) },
        { "rules", "hf|google", offsetof(struct tokenizer_options, google_rules) },
        { "case", "auto|uncased|cased", offsetof(struct tokenizer_options, letters) },
    };
    const char *equals = memchr(text, '=', n);
    size_t len = equals ? (size_t)(equals - text) : n;
    for (size_t i = 0; i < sizeof options / sizeof *options && equals; i++) {
        if (!bytes_are(text, len, options[i].name))
            continue;
        int value = choice_find(options[i].words, equals + 1, n - len - 1);
        if (value < 0)
            return err_set("option %s is one of %s, not '%.*s'", options[i].name, options[i].words,
                           (int)(n - len - 1), equals + 1);
        *(int *)((char *)o + options[i].at) = value;
        return 0;
    }
    return err_set("no option '%.*s': pattern=, missing=, rules= and case= are", (int)n, text);
}

static int read_options(struct tokenizer_options *o, const char *text)
{
    *o = (struct tokenizer_options){ 0 };
    for (size_t n; text && *text; text += n + (text[n] == ','))
        if (set_option(o, text, n = strcspn(text, ",")) < 0)
            return -1;
    return 0;
}

struct opening {
    const char *path, *options;
    struct textmill_tokenizer *made;
};

static int open_tokenizer(void *ctx)
{
    struct opening *o = ctx;
    struct tokenizer_options how;
    struct tokenizer *t;
    if (read_options(&how, o->options) < 0 || !(t = tokenizer_load_with(o->path, &how)))
        return -1;
    struct textmill_tokenizer *made = mem_zalloc(1, sizeof *made);
    made->t = t;
    /* a chat's template is looked for later, when the caller may be in another folder */
    SCOPED_MEM char *here = *o->path == '/' ? NULL : getcwd(NULL, 0);
    struct buf path = buf_format("%s%s%s", here ? here : "", here ? "/" : "", o->path);
    made->path = buf_detach(&path);
    pthread_mutex_init(&made->lock, NULL);
    o->made = made;
    return 0;
}

struct textmill_tokenizer *textmill_open(const char *path, const char *options,
                                         struct textmill_error *why)
{
    struct opening o = { path, options, NULL };
    if (guarded(open_tokenizer, &o) < 0)
        say_why(why);
    return o.made;
}

static void free_chat(struct chat *c)
{
    if (c)
        chat_close(c);
    free(c);
}

void textmill_close(struct textmill_tokenizer *t)
{
    if (!t)
        return;
    while (t->idle_count)
        encoder_free(t->idle[--t->idle_count]);
    for (int i = 0; i < CHATS; i++)
        free_chat(t->chats[i]);
    tokenizer_free(t->t);
    pthread_mutex_destroy(&t->lock);
    free(t->path);
    free(t);
}

uint32_t textmill_vocabulary_size(const struct textmill_tokenizer *t)
{
    return tokenizer_size(t->t);
}

const char *textmill_token(const struct textmill_tokenizer *t, uint32_t id, size_t *n)
{
    return tokenizer_token(t->t, id, n);
}

int textmill_is_special(const struct textmill_tokenizer *t, uint32_t id)
{
    return tokenizer_is_special(t->t, id);
}

int64_t textmill_find(const struct textmill_tokenizer *t, const char *bytes, size_t n)
{
    return tokenizer_find(t->t, bytes, n);
}

int64_t textmill_end_of_text(const struct textmill_tokenizer *t)
{
    return tokenizer_end_of_text(t->t);
}

static struct encoder *take_encoder(struct textmill_tokenizer *t)
{
    pthread_mutex_lock(&t->lock);
    struct encoder *e = t->idle_count ? t->idle[--t->idle_count] : NULL;
    pthread_mutex_unlock(&t->lock);
    return e ? e : encoder_new(t->t);
}

static void give_encoder(struct textmill_tokenizer *t, struct encoder *e)
{
    pthread_mutex_lock(&t->lock);
    const int room = t->idle_count < ENCODERS;
    if (room)
        t->idle[t->idle_count++] = e;
    pthread_mutex_unlock(&t->lock);
    if (!room)
        encoder_free(e);
}

/* ---- a batch over threads -------------------------------------------------------------------- */

/* One piece of work: consecutive texts, and the results for them. */
struct unit {
    struct job *job;
    uint64_t first, count;
    struct placed placed;
    struct buf text;
    uint64_t replaced;
};

struct job {
    struct textmill_tokenizer *t;
    const char *text;          /* all texts, or */
    const char *const *begins; /* [texts] the beginning of each text */
    const uint32_t *ids;
    const uint64_t *ends;
    uint64_t texts;
    size_t bytes_each; /* size of the elements that `ends` counts */
    unsigned how;
    int threads; /* 0: as many as there are processors */
    int (*work)(void *unit);
    void (*join)(struct job *job, uint64_t all); /* joins the units' results, `all` elements */
    struct textmill_tokens *tokens;              /* the result of textmill_encode, or */
    struct textmill_texts *decoded;              /* that of textmill_decode */
    uint64_t *made; /* length of each text's result; at last, the offset where it ends */
    struct unit *units;
    size_t unit_count;
    atomic_size_t next;
    pthread_mutex_t lock;
    size_t failed; /* the first unit that failed, or unit_count */
    struct err why;
};

static uint64_t begin_of(const struct job *j, uint64_t i)
{
    return i ? j->ends[i - 1] : 0;
}

/* Cuts the texts into units of work. For one thread, all texts are one unit, whose array of ids
 * goes to the caller: no memory is returned to the system and requested again. */
static int make_units(struct job *j)
{
    size_t cap = 0, most = j->threads == 1 ? SIZE_MAX : UNIT_BYTES;
    for (uint64_t i = 0, from = 0; i < j->texts; i++) {
        if (j->ends[i] < begin_of(j, i))
            return err_set("text %" PRIu64 " ends before it begins", i);
        if ((j->ends[i] - begin_of(j, from)) * j->bytes_each < most && i + 1 < j->texts)
            continue;
        mem_next(j->units, j->unit_count, cap) = (struct unit){ j, from, i + 1 - from,
                                                                .text = BUF_INIT };
        from = i + 1;
    }
    j->made = mem_zalloc(j->texts + 1, sizeof *j->made);
    j->failed = j->unit_count;
    return 0;
}

static void release_units(struct job *j)
{
    for (size_t i = 0; i < j->unit_count; i++) {
        placed_release(&j->units[i].placed);
        buf_release(&j->units[i].text);
    }
    free(j->units);
    free(j->made);
}

static void *work_units(void *ctx)
{
    struct job *j = ctx;
    for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->unit_count;) {
        if (guarded(j->work, &j->units[i]) == 0)
            continue;
        pthread_mutex_lock(&j->lock);
        if (i < j->failed) {
            j->failed = i;
            j->why = err_keep();
        }
        pthread_mutex_unlock(&j->lock);
        break; /* only the first error counts; other threads process the units before this one */
    }
    return NULL;
}

/* Processes all units of work of the job. Uses fewer threads if the system cannot start more.
 * Returns 0, or -1 with the error of the first unit that failed. */
static int run_units(struct job *j)
{
    pthread_t ids[THREADS_MOST];
    int started = 0, wanted = j->threads < THREADS_MOST ? j->threads : THREADS_MOST;
    atomic_init(&j->next, 0);
    pthread_mutex_init(&j->lock, NULL);
    while (started + 1 < wanted && (size_t)started + 1 < j->unit_count &&
           pthread_create(&ids[started], NULL, work_units, j) == 0)
        started++;
    work_units(j);
    while (started)
        pthread_join(ids[--started], NULL);
    pthread_mutex_destroy(&j->lock);
    return j->failed < j->unit_count ? err_restore(&j->why) : 0;
}

static int run_batch(void *ctx)
{
    struct job *j = ctx;
    /* Short texts are one unit of work; to count the processors for them, for which files are read,
     * would take longer than to encode them. */
    if (j->threads <= 0)
        j->threads = begin_of(j, j->texts) * j->bytes_each < UNIT_BYTES ? 1 : usage_cpus(0);
    if (make_units(j) < 0 || run_units(j) < 0)
        return -1;
    for (uint64_t i = 1; i < j->texts; i++)
        j->made[i] += j->made[i - 1];
    j->join(j, j->texts ? j->made[j->texts - 1] : 0);
    j->made = NULL;
    return 0;
}

/* ---- encode -------------------------------------------------------------------------------- */

enum { OFFSETS = TEXTMILL_OFFSETS_CHARACTERS | TEXTMILL_OFFSETS_BYTES };

/* Appends the tokens of a text, with special tokens around them, to those of the unit of work u. */
static void wrap(const struct job *j, struct unit *u, const struct placed *one)
{
    if (j->how & OFFSETS)
        tokenizer_assemble_places(j->t->t, one, &u->placed);
    else
        tokenizer_assemble(j->t->t, &one->ids, NULL, &u->placed.ids, NULL);
}

static int encode_one(const struct job *j, struct encoder *e, const char *text, size_t n,
                      struct placed *out)
{
    enum tokenizer_special special = j->how & TEXTMILL_SPECIAL ? TOKENIZER_SPECIAL
                                                               : TOKENIZER_ORDINARY;
    size_t good = j->how & (OFFSETS | TEXTMILL_STRICT) ? utf8_valid(text, n) : n;
    size_t before = out->ids.count;
    if (good < n)
        return err_set("byte %zu is not UTF-8 (0x%02X)", good, (unsigned char)text[good]);
    if (!(j->how & OFFSETS))
        return encoder_encode(e, text, n, special, &out->ids);
    if (encoder_encode_places(e, text, n, special, out) < 0)
        return -1;
    if (j->how & TEXTMILL_OFFSETS_BYTES)
        encoder_places_in_bytes(text, n, out, before);
    return 0;
}

/* Encodes text i. `one` is working memory: the text's tokens before special tokens are put around
 * it. */
static int encode_text(const struct job *j, struct unit *u, struct encoder *e, struct placed *one,
                       uint64_t i)
{
    const char *text = j->begins ? j->begins[i] : j->text + begin_of(j, i);
    size_t n = j->ends[i] - begin_of(j, i), before = u->placed.ids.count;
    int wraps = (j->how & TEXTMILL_WRAP) != 0;
    one->ids.count = one->begins.count = one->ends.count = 0;
    if (encode_one(j, e, text, n, wraps ? one : &u->placed) < 0)
        return err_in("text %" PRIu64, i);
    if (wraps)
        wrap(j, u, one);
    j->made[i] = u->placed.ids.count - before;
    return 0;
}

static int encode_unit(void *unit)
{
    struct unit *u = unit;
    struct job *j = u->job;
    struct encoder *e = take_encoder(j->t);
    SCOPED(placed) one = { 0 };
    uint64_t before = encoder_replaced(e);
    int result = 0;
    for (uint64_t i = 0; i < u->count && !result; i++)
        result = encode_text(j, u, e, &one, u->first + i);
    u->replaced = encoder_replaced(e) - before;
    give_encoder(j->t, e);
    return result;
}

/* Concatenates the ids of all units of work. The ids of a single unit are taken over without a
 * copy. */
static void join_ids(struct job *j, uint64_t all)
{
    struct textmill_tokens *out = j->tokens;
    uint64_t at = 0;
    int single = j->unit_count == 1 && j->units[0].placed.ids.data;
    uint32_t *ids = single ? j->units[0].placed.ids.data : mem_alloc(all * sizeof *ids);
    if (j->how & OFFSETS)
        out->offsets = mem_alloc(all * sizeof *out->offsets);
    for (size_t i = 0; i < j->unit_count; i++) {
        const struct unit *u = &j->units[i];
        if (!single && u->placed.ids.count)
            memcpy(ids + at, u->placed.ids.data, u->placed.ids.count * sizeof *ids);
        for (size_t k = 0; k < u->placed.begins.count; k++) {
            out->offsets[at + k][0] = u->placed.begins.data[k];
            out->offsets[at + k][1] = u->placed.ends.data[k];
        }
        at += u->placed.ids.count;
        out->replaced += u->replaced;
    }
    if (single)
        j->units[0].placed.ids = (struct ids){ 0 };
    out->ids = ids;
    out->texts = j->texts;
    out->ends = j->made;
}

static int run_encode(struct job j, struct textmill_error *why)
{
    j.work = encode_unit;
    j.join = join_ids;
    *j.tokens = (struct textmill_tokens){ 0 };
    int result = (j.how & OFFSETS) == OFFSETS
                     ? err_set("offsets are in characters or in bytes, not in both")
                     : guarded(run_batch, &j);
    if (result < 0) {
        say_why(why);
        textmill_tokens_free(j.tokens);
    }
    release_units(&j);
    return result;
}

int textmill_encode(struct textmill_tokenizer *t, const char *text, const uint64_t *ends,
                    uint64_t texts, unsigned how, int threads, struct textmill_tokens *out,
                    struct textmill_error *why)
{
    return run_encode(
        (struct job){ t, text, NULL, NULL, ends, texts, 1, how, threads, .tokens = out }, why);
}

int textmill_encode_texts(struct textmill_tokenizer *t, const char *const *texts,
                          const uint64_t *ends, uint64_t count, unsigned how, int threads,
                          struct textmill_tokens *out, struct textmill_error *why)
{
    return run_encode(
        (struct job){ t, NULL, texts, NULL, ends, count, 1, how, threads, .tokens = out }, why);
}

void textmill_tokens_free(struct textmill_tokens *tokens)
{
    free(tokens->ids);
    free(tokens->ends);
    free(tokens->offsets);
    *tokens = (struct textmill_tokens){ 0 };
}

/* ---- conversations ------------------------------------------------------------------------- */

/* Returns the chat for form number `form`, opened at its first use; NULL with an error. */
static const struct chat *chat_of(struct textmill_tokenizer *t, int form)
{
    pthread_mutex_lock(&t->lock);
    struct chat *c = t->chats[form];
    pthread_mutex_unlock(&t->lock);
    if (c)
        return c;
    c = mem_alloc(sizeof *c);
    if (chat_open(c, form, t->t, t->path) < 0) {
        free_chat(c);
        return NULL;
    }
    pthread_mutex_lock(&t->lock);
    struct chat *other = t->chats[form]; /* opened by another thread in the meantime */
    t->chats[form] = other ? other : c;
    pthread_mutex_unlock(&t->lock);
    free_chat(other ? c : NULL);
    return other ? other : c;
}

struct conversation {
    struct textmill_tokenizer *t;
    const char *form, *line;
    size_t n;
    enum textmill_chat_use use;
    struct textmill_tokens *out;
};

static int encode_conversation(void *ctx)
{
    const struct conversation *v = ctx;
    const int form = choice_find(CHAT_FORMS, v->form, strlen(v->form));
    if (form < CHAT_AUTO)
        return err_set("the form of a chat is one of %s, not '%s'", strchr(CHAT_FORMS, '|') + 1,
                       v->form);
    const struct chat *opened = chat_of(v->t, form);
    if (!opened)
        return -1;
    struct chat chat = *opened;
    struct ids ids = { 0 }, spans = { 0 };
    struct encoder *e = take_encoder(v->t);
    const uint64_t before = encoder_replaced(e);
    chat.use = (enum chat_use)v->use; /* both enums have the same values */
    const int result = chat_encode(&chat, e, v->line, v->n, &ids, &spans);
    v->out->replaced = encoder_replaced(e) - before;
    give_encoder(v->t, e);
    v->out->ids = ids.data;
    v->out->texts = spans.count;
    v->out->ends = mem_alloc((spans.count + 1) * sizeof *v->out->ends);
    for (size_t i = 0; i < spans.count; i++)
        v->out->ends[i] = spans.data[i];
    ids_release(&spans);
    return result;
}

int textmill_encode_chat(struct textmill_tokenizer *t, const char *form, const char *line, size_t n,
                         enum textmill_chat_use use, struct textmill_tokens *out,
                         struct textmill_error *why)
{
    struct conversation v = { t, form, line, n, use, out };
    *out = (struct textmill_tokens){ 0 };
    if (guarded(encode_conversation, &v) == 0)
        return 0;
    textmill_tokens_free(out);
    return say_why(why);
}

/* ---- decode -------------------------------------------------------------------------------- */

static int decode_unit(void *unit)
{
    struct unit *u = unit;
    struct job *j = u->job;
    const int skip = (j->how & TEXTMILL_SKIP_SPECIAL) != 0;
    for (uint64_t i = u->first; i < u->first + u->count; i++) {
        const uint32_t *ids = j->ids + begin_of(j, i);
        size_t n = j->ends[i] - begin_of(j, i), before = u->text.len;
        if (tokenizer_decode(j->t->t, ids, n, skip, &u->text) < 0)
            return err_in("text %" PRIu64, i);
        j->made[i] = u->text.len - before;
    }
    return 0;
}

static void join_texts(struct job *j, uint64_t all)
{
    uint64_t at = 0;
    int single = j->unit_count == 1 && j->units[0].text.cap;
    j->decoded->bytes = single ? buf_detach(&j->units[0].text) : mem_alloc(all + 1);
    for (size_t i = 0; i < j->unit_count && !single; at += j->units[i++].text.len)
        if (j->units[i].text.len)
            memcpy(j->decoded->bytes + at, j->units[i].text.data, j->units[i].text.len);
    j->decoded->texts = j->texts;
    j->decoded->ends = j->made;
}

int textmill_decode(struct textmill_tokenizer *t, const uint32_t *ids, const uint64_t *ends,
                    uint64_t texts, unsigned how, int threads, struct textmill_texts *out,
                    struct textmill_error *why)
{
    struct job j = { .t = t,
                     .ids = ids,
                     .ends = ends,
                     .texts = texts,
                     .bytes_each = sizeof *ids,
                     .how = how,
                     .threads = threads,
                     .work = decode_unit,
                     .join = join_texts,
                     .decoded = out };
    *out = (struct textmill_texts){ 0 };
    int result = guarded(run_batch, &j);
    if (result < 0) {
        say_why(why);
        textmill_texts_free(out);
    }
    release_units(&j);
    return result;
}

struct printing {
    const struct tokenizer *t;
    struct textmill_texts *out;
};

static int print(void *ctx)
{
    const struct printing *p = ctx;
    struct buf text = BUF_INIT;
    tokenizer_print(p->t, &text);
    p->out->texts = 1;
    p->out->ends = mem_alloc(sizeof *p->out->ends);
    p->out->ends[0] = text.len;
    p->out->bytes = buf_detach(&text);
    return 0;
}

int textmill_json(const struct textmill_tokenizer *t, struct textmill_texts *out,
                  struct textmill_error *why)
{
    struct printing p = { t->t, out };
    /* the caller's locale may have decimal commas, and JSON has none */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), own = uselocale(plain);
    *out = (struct textmill_texts){ 0 };
    const int result = guarded(print, &p);
    uselocale(own);
    freelocale(plain);
    return result < 0 ? say_why(why) : 0;
}

void textmill_texts_free(struct textmill_texts *texts)
{
    free(texts->bytes);
    free(texts->ends);
    *texts = (struct textmill_texts){ 0 };
}
