/* The part of plan_make for the tokenizer, the data, and the settings of lengths and masks. */
#include "train/plan_parts.h"

#include <math.h>

#include "common/base/least.h"
#include "common/base/log.h"
#include "common/files/file.h"
#include "common/formats/gguf.h"
#include "tokenizer/chat.h"

/* Returns 1 if a model folder or a GGUF file holds a tokenizer, 0 if not, or -1 with an error. */
static int has_tokenizer(const char *dir)
{
    SCOPED_BY(gguf_close) struct gguf g = { 0 };
    if (gguf_is(dir))
        return gguf_open(&g, dir) < 0 ? -1 : gguf_find(&g, "tokenizer.ggml.model") != NULL;
    static const char *const names[] = { "tokenizer.json", "tekken.json", "vocab.json", "vocab.txt",
                                         "tokenizer.model" };
    const int count = sizeof names / sizeof *names, found = file_first(dir, names, count);
    return found < 0 ? -1 : found < count;
}

static int load_tokenizer(struct plan *p, const char *path)
{
    SCOPED(buf) from = BUF_INIT;
    p->tokenizer = tokenizer_load(path);
    return p->tokenizer ? chat_template(&p->chat, &from, path) : -1;
}

int plan_data_find_tokenizer(struct plan *p)
{
    const struct settings *s = p->settings;
    if (s->vocab)
        return load_tokenizer(p, s->vocab);
    int beside = s->start_from ? has_tokenizer(s->start_from) : 0;
    return beside > 0 ? load_tokenizer(p, s->start_from) : beside;
}

/* If no tokenizer was loaded (plan_data_find_tokenizer), loads the one that is kept with the data,
 * if there is one. */
static int take_tokenizer_of_data(struct plan *p)
{
    if (p->tokenizer || !p->data || !p->data->facts.tokenizers.count)
        return 0;
    log_info("vocabulary: %s", p->data->facts.tokenizers.names[0]);
    if (load_tokenizer(p, p->data->facts.tokenizers.names[0]) < 0)
        return -1;
    tokenizer_want_end_of_text(
        p->tokenizer, (int64_t)p->data->facts.end_of_text); /* a tokenizer.json may not say it */
    return 0;
}

static int is_generated(const struct settings *s)
{
    for (size_t i = 0; i < s->data.count; i++)
        if (!strcmp(s->data.items[i], "generated"))
            return 1;
    return 0;
}

/* Refuses `what` if the checksum of its vocabulary is not that of the run's; 0: not known. */
static int check_checksum(const struct plan *p, uint64_t checksum, const char *what)
{
    uint64_t own = p->tokenizer ? tokenizer_checksum(p->tokenizer) : 0;
    if (!p->tokenizer || !checksum || checksum == own)
        return 0;
    return err_set("vocabularies differ: %s was made with a vocabulary of checksum %016" PRIx64
                   ", but that of the tokenizer is %016" PRIx64,
                   what, checksum, own);
}

/* Appends the ids of a text in which rules for case, accents, digits and spaces show, if the
 * tokenizer can encode it. */
static void encode_example(const struct tokenizer *t, struct ids *out)
{
    static const char text[] = "The MOON's 1969 \u00C9t\u00E9:\n\n  384,400 km, \u6708";
    struct encoder *e = encoder_new(t);
    if (encoder_encode(e, text, sizeof text - 1, TOKENIZER_ORDINARY, out) < 0)
        out->count = 0;
    encoder_free(e);
}

/* Warns if data was made by other rules, those of the tokenizer `path`, than the run's tokenizer
 * has: a checksum is that of the tokens alone. Returns 0, or -1 with an error. */
static int compare_rules(const struct plan *p, const char *path, const char *what)
{
    SCOPED(ids) own = { 0 }, theirs = { 0 };
    SCOPED_TOKENIZER t = tokenizer_load(path);
    if (!t)
        return -1;
    encode_example(p->tokenizer, &own);
    encode_example(t, &theirs);
    if (own.count && theirs.count &&
        (own.count != theirs.count ||
         memcmp(own.data, theirs.data, own.count * sizeof *own.data) != 0))
        log_warn("%s was made by other rules for texts, those of '%s', than the tokenizer has: the "
                 "tokens are the same, but texts get other ids (--vocab chooses the tokenizer)",
                 what, path);
    return 0;
}

/* Compares the run's tokenizer with those beside the data `d`, from number `first` on. */
static int compare_all_rules(const struct plan *p, const struct samples *d, size_t first,
                             const char *what)
{
    int result = 0;
    for (size_t i = first; d && p->tokenizer && i < d->facts.tokenizers.count && !result; i++)
        result = compare_rules(p, d->facts.tokenizers.names[i], what);
    return result;
}

int plan_check_vocabulary(const struct plan *p, const char *dir, const char *what)
{
    const int has = dir && p->tokenizer ? has_tokenizer(dir) : 0;
    if (has <= 0)
        return has;
    SCOPED_TOKENIZER t = tokenizer_load(dir);
    return t ? check_checksum(p, tokenizer_checksum(t), what) : -1;
}

static struct samples_config samples_config(const struct plan *p)
{
    const struct settings *s = p->settings;
    const int loose = s->loose_length && s->sequence_length && !is_generated(s);
    const int64_t most = s->model.positions;
    struct samples_config c = s->samples;
    c.T = loose ? 0 : s->sequence_length;
    c.longest = most ? most : 10000000; /* as many as there may be */
    c.usual = loose ? s->sequence_length : most ? most : p->task->length;
    c.mask_tokens = s->loose_masks && !is_generated(s) ? 0 : s->mask_tokens;
    c.seed = p->engine.seed;
    c.vocabulary = s->model.vocabulary;
    c.tokenizer = p->tokenizer;
    c.classes = &p->config.classes;
    return c;
}

static int open_data(struct plan *p, struct samples **out, const struct opt_list *paths,
                     const char *what)
{
    struct samples_config c = samples_config(p);
    *out = samples_open_blend(p->task->open, &c, paths, what);
    return *out ? 0 : -1;
}

int plan_data_check_length(const struct plan *p)
{
    const struct settings *s = p->settings;
    if (s->model.positions && s->sequence_length > s->model.positions)
        return err_set("sequence-length %" PRId64 " is more than the model's positions, %" PRId64,
                       s->sequence_length, s->model.positions);
    if (s->sequence_length && s->mask_tokens > s->sequence_length)
        return err_set("mask-tokens %" PRId64 " is more than sequence-length %" PRId64,
                       s->mask_tokens, s->sequence_length);
    return 0;
}

/* Sets the sequence length if it is not given: to that of the data, else to the number of
 * positions, else to the task's default. */
static int settle_length(struct plan *p)
{
    struct settings *s = p->settings;
    if ((!s->sequence_length || s->loose_length) && p->data) {
        s->sequence_length = p->data->T;
        log_info("sequence length: %" PRId64, s->sequence_length);
    }
    if (s->loose_masks && p->data)
        s->mask_tokens = p->data->mask_tokens;
    s->loose_length = s->loose_masks = 0; /* from here on fixed, also for the validation data */
    if (!s->sequence_length)
        s->sequence_length = s->model.positions ? s->model.positions : p->task->length;
    if (!s->model.positions)
        s->model.positions = s->sequence_length;
    p->engine.T = s->sequence_length;
    return plan_data_check_length(p);
}

/* Sets the classes of the model: those of the folder, or of the training data. */
static int settle_classes(struct plan *p)
{
    struct labels *c = &p->config.classes;
    if (p->data && !p->data->classes)
        return err_set("the data must be one file, not a blend");
    if (p->data)
        *c = *p->data->classes;
    else if (!c->count && labels_add(c, "0", 1) == 0)
        labels_add(c, "1", 1);
    return c->count > 1 || c->regression
               ? 0
               : err_set("all labels are '%s': give another --label-column or file", c->names);
}

int plan_data_open(struct plan *p, int want_data)
{
    static const char training[] = "the data", validation[] = "the validation data";
    const struct settings *s = p->settings;
    const size_t own = p->tokenizer ? 0 : 1; /* tokenizers of the data that are the run's */
    if (is_generated(s) && s->data.count > 1)
        return err_set("generated data cannot be mixed with files");
    if (is_generated(s) && s->samples.documents)
        return err_usage("--document-attention cannot be used with generated data, which has no "
                         "documents");
    if (!s->data.count && want_data)
        return err_usage("no data: give --data PATH or --data generated");
    if (s->data.count && !is_generated(s) && open_data(p, &p->data, &s->data, training) < 0)
        return -1;
    if ((p->task->head == HEAD_CLASSES && settle_classes(p) < 0) || settle_length(p) < 0 ||
        take_tokenizer_of_data(p) < 0)
        return -1;
    if (s->validation.count && open_data(p, &p->validation, &s->validation, validation) < 0)
        return -1;
    if ((p->data && check_checksum(p, p->data->facts.checksum, training) < 0) ||
        (p->validation && check_checksum(p, p->validation->facts.checksum, validation) < 0))
        return -1;
    return compare_all_rules(p, p->data, own, training) < 0
               ? -1
               : compare_all_rules(p, p->validation, 0, validation);
}

int plan_data_make(struct plan *p)
{
    struct settings *s = p->settings;
    if (!s->mask_tokens)
        s->mask_tokens = p->data ? p->data->mask_tokens
                                 : (int64_t)ceil(p->task->masked * (double)p->engine.T);
    struct samples_config c = samples_config(p);
    if (is_generated(s))
        p->data = samples_make(&c, p->task->made);
    struct samples *all[] = { p->data, p->validation };
    for (int i = 0; i < 2; i++)
        if (all[i]) {
            all[i]->ids = s->model.vocabulary;
            p->engine.most = larger(p->engine.most, p->engine.B * all[i]->most);
        }
    return 0;
}
