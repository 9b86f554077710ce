#include "model/folder/gguf_model.h"

#include <math.h>

#include "model/compute/stored.h"
#include "model/network/architecture.h"

enum { KEY_NAME = 96 };

static const struct architecture_gguf *words_of(const struct model_config *c)
{
    return c->architecture->gguf;
}

/* ---- keys --------------------------------------------------------------------------------- */

static void key_name(char out[KEY_NAME], const struct model_config *c, const char *name)
{
    snprintf(out, KEY_NAME, "%s.%s", words_of(c)->name, name);
}

static int read_key(struct model_config *c, const struct gguf *g, const struct config_key *k)
{
    char name[KEY_NAME];
    double x = k->absent;
    key_name(name, c, k->key);
    const struct gguf_key *found = gguf_find(g, name);
    if (!found && k->absent < 0)
        return err_set("%s: no key '%s'", g->path, name);
    if (!found && k > words_of(c)->keys && k[-1].member == k->member)
        return 0; /* the key before has set the same member */
    if (gguf_real(g, name, &x) < 0)
        return -1;
    if (!(x >= 0 && x <= 1e15))
        return err_set("%s: bad %s: %g", g->path, name, x);
    if (k->form == CONFIG_ONLY)
        return x == k->absent ? 0 : err_set("%s: unsupported %s: %g", g->path, name, x);
    const int64_t count = (int64_t)x;
    memcpy((char *)c + k->member, k->form == CONFIG_COUNT ? (const void *)&count : &x, sizeof x);
    return 0;
}

static const struct architecture *row_of(const struct gguf *g, const struct buf *name,
                                         enum model_head head)
{
    const struct architecture *found = NULL;
    for (size_t i = 0; architecture_at(i); i++) {
        const struct architecture *a = architecture_at(i);
        const char *sign = a->gguf ? a->gguf->sign : NULL;
        if (!a->gguf || !a->classes[head] || strcmp(a->gguf->name, name->data) != 0)
            continue;
        if (sign ? gguf_tensor(g, sign) || gguf_find(g, sign) : !found)
            found = a;
    }
    if (found)
        return found;
    err_set("%s: unsupported general.architecture '%s'", g->path, name->data);
    return NULL;
}

/* ---- rotary frequencies ------------------------------------------------------------------- */

struct setting {
    const char *key;
    size_t member;
    double usual; /* 0: the model's number of positions */
};
/* The settings of Llama 3's scaling. Files have them only if textmill wrote them. */
static const struct setting llama3[] = {
    { "textmill.rope.low_freq_factor", CONFIG_AT(rope_stretch.low), 1 },
    { "textmill.rope.high_freq_factor", CONFIG_AT(rope_stretch.high), 4 },
    { "textmill.rope.original_context_length", CONFIG_AT(rope_stretch.original), 8192 },
    { 0 }
};
/* The settings of YaRN, after the architecture's name. The last one is relative to YaRN's scale. */
static const struct setting yarn[] = {
    { "rope.scaling.yarn_beta_fast", CONFIG_AT(rope_stretch.high), 32 },
    { "rope.scaling.yarn_beta_slow", CONFIG_AT(rope_stretch.low), 1 },
    { "rope.scaling.original_context_length", CONFIG_AT(rope_stretch.original), 0 },
    { "rope.scaling.attn_factor", CONFIG_AT(rope_stretch.scale), 1 },
    { 0 }
};
static const struct setting *const longrope = yarn + 2;
static const char *const longrope_names[] = { "rope_factors_short.weight",
                                              "rope_factors_long.weight" };

static int is_llama3(const struct model_config *c)
{
    return c->rope_stretch.original && !c->rope_stretch.yarn && !c->rope_stretch.divided;
}

/* Sets name[] to the key of a setting. Returns the setting's usual value. */
static double setting_key(char name[KEY_NAME], const struct model_config *c,
                          const struct setting *s)
{
    if (c->rope_stretch.yarn || c->rope_stretch.divided)
        key_name(name, c, s->key);
    else
        snprintf(name, KEY_NAME, "%s", s->key);
    return s->usual ? s->usual : (double)c->positions;
}

static int64_t pairs_of(const struct model_config *c)
{
    return (c->head_width ? c->head_width : c->width / (c->heads ? c->heads : 1)) / 2;
}

/* Returns the number by which Llama 3's scaling divides the frequency of rotary pair i. */
static double divisor(const struct model_config *c, int64_t i)
{
    struct ops_rotary plain = { .HS = 2 * pairs_of(c), .base = c->rope_theta }, scaled = plain;
    scaled.stretch = c->rope_stretch;
    return ops_rotary_frequency(&plain, i) / ops_rotary_frequency(&scaled, i);
}

int64_t gguf_model_divisors(float *out, const char **name, const struct model_config *c, int k)
{
    const int divided = c->rope_stretch.divided && k < 2;
    *name = divided ? longrope_names[k] : "rope_freqs.weight";
    const int64_t n = divided || (is_llama3(c) && !k) ? pairs_of(c) : 0;
    for (int64_t i = 0; i < n && out; i++)
        out[i] = !divided ? (float)divisor(c, i)
                          : (k ? &c->rope_longer : &c->rope_stretch)->divisors[i];
    return n;
}

static int read_settings(struct model_config *c, const struct gguf *g, const struct setting *s)
{
    for (; s->key; s++) {
        char name[KEY_NAME];
        double x = setting_key(name, c, s);
        if (gguf_real(g, name, &x) < 0)
            return -1;
        if (!(x > 0 && x < 1e9))
            return err_set("%s: bad %s: %g", g->path, name, x);
        memcpy((char *)c + s->member, &x, sizeof x);
    }
    return 0;
}

static void write_settings(struct gguf_writer *w, const struct model_config *c)
{
    const struct ops_stretch *r = &c->rope_stretch;
    const struct setting *s = r->yarn ? yarn : r->divided ? longrope : is_llama3(c) ? llama3 : NULL;
    struct model_config relative = *c;
    relative.rope_stretch.scale /= ops_yarn_scale(r->factor, 1);
    for (; s && s->key; s++) {
        char name[KEY_NAME];
        double x;
        const double usual = setting_key(name, c, s);
        memcpy(&x, (const char *)&relative + s->member, sizeof x);
        if (!s->usual)
            gguf_add_u32(w, name, (uint32_t)x); /* llama.cpp takes no other type */
        else if (is_llama3(c) || fabs(x - usual) > 1e-7)
            gguf_add_f32(w, name, (float)x);
    }
}

/* Returns the data of t, a tensor of divisors of frequencies; NULL with an error if malformed. */
static const unsigned char *divisors_of(const struct model_config *c, const struct gguf *g,
                                        const struct gguf_tensor *t)
{
    if (t->type == GGUF_TENSOR_F32 && t->rank == 1 && t->shape[0] == pairs_of(c))
        return g->map.data + t->offset;
    err_set("%s: bad shape or type of tensor '%s', whose data is at byte %llu", g->path, t->name,
            (unsigned long long)t->offset);
    return NULL;
}

/* Reads LongRoPE's settings and its two tensors. */
static int read_longrope(struct model_config *c, const struct gguf *g)
{
    struct ops_stretch *s = &c->rope_stretch;
    s->divided = pairs_of(c);
    if (s->divided > OPS_DIVISORS)
        return err_set("%s: unsupported LongRoPE of %lld pairs a head, at most %d", g->path,
                       (long long)s->divided, OPS_DIVISORS);
    if (read_settings(c, g, longrope) < 0)
        return -1;
    c->rope_longer = *s;
    for (int k = 0; k < 2; k++) {
        const struct gguf_tensor *t = gguf_tensor(g, longrope_names[k]);
        const unsigned char *data = t ? divisors_of(c, g, t) : NULL;
        if (!data)
            return t ? -1 : err_set("%s: no tensor '%s'", g->path, longrope_names[k]);
        stored_read(OPS_F32, (k ? &c->rope_longer : s)->divisors, data, t->elements);
    }
    return 0;
}

/* Reads the kind of rotary scaling, and its settings. */
static int read_scaling(struct model_config *c, const struct gguf *g)
{
    struct ops_stretch *s = &c->rope_stretch;
    SCOPED(buf) type = BUF_INIT;
    char name[KEY_NAME];
    key_name(name, c, "rope.scaling.type");
    const struct gguf_key *k = gguf_find(g, name);
    int failed = k ? gguf_text(g, k, &type) : 0;
    if (k && !failed && !strcmp(type.data, "none")) {
        s->factor = 0;
    } else if (k && !failed && !strcmp(type.data, "yarn")) {
        s->yarn = s->whole = 1;
        s->factor = s->factor ? s->factor : 1;
        failed = read_settings(c, g, yarn);
        s->scale *= ops_yarn_scale(s->factor, 1);
    } else if (k && !failed && !strcmp(type.data, "longrope")) {
        failed = read_longrope(c, g);
    } else if (k && !failed && strcmp(type.data, "linear")) {
        failed = err_set("%s: unsupported %s", g->path, name);
    }
    return failed;
}

/* Reads the divisors of frequencies, which must be those of Llama 3's scaling by some factor. */
static int read_divisors(struct model_config *c, const struct gguf *g)
{
    const struct gguf_tensor *t = gguf_tensor(g, "rope_freqs.weight");
    if (!t)
        return 0;
    const struct ops_stretch *s = &c->rope_stretch;
    if (s->yarn || s->divided || (s->factor && s->factor != 1))
        return err_set("%s: unsupported tensor 'rope_freqs.weight' beside other rotary scaling",
                       g->path);
    const unsigned char *data = divisors_of(c, g, t);
    if (!data)
        return -1;
    float x, most = 1;
    for (int64_t i = 0; i < t->elements; i++) {
        stored_read(OPS_F32, &x, data + 4 * i, 1);
        most = x > most ? x : most;
    }
    c->rope_stretch.factor = most;
    if (read_settings(c, g, llama3) < 0)
        return -1;
    for (int64_t i = 0; i < t->elements; i++) {
        stored_read(OPS_F32, &x, data + 4 * i, 1);
        if (!(fabs(x - divisor(c, i)) <= 1e-4 * x))
            return err_set("%s: unsupported tensor 'rope_freqs.weight': number %lld, at byte %llu, "
                           "is %g, and Llama 3's scaling has %g",
                           g->path, (long long)i, (unsigned long long)t->offset + 4 * (uint64_t)i,
                           x, divisor(c, i));
    }
    return 0;
}

/* ---- configuration ------------------------------------------------------------------------ */

/* Refuses keys that change the computation in a way that we do not support. */
static int check_unknown(const struct gguf *g, const struct model_config *c)
{
    const struct {
        const char *key;
        double fine;
    } refused[] = { { "expert_count", 0 },
                    { "attention.causal", c->head == HEAD_NEXT },
                    { "attention.scale", 0 },
                    { "logit_scale", 0 },
                    { "rope.dimension_count", 2.0 * (double)pairs_of(c) },
                    { "rope.scale_linear", 1 },
                    { "rope.scaling.yarn_log_multiplier", 0 },
                    { "rope.scaling.yarn_ext_factor", 1 },
                    { "rope.scaling.yarn_attn_factor", 1 },
                    { 0 } };
    char name[KEY_NAME];
    for (int i = 0; refused[i].key; i++) {
        key_name(name, c, refused[i].key);
        double x = refused[i].fine;
        if (gguf_real(g, name, &x) < 0)
            return -1;
        if (x != refused[i].fine)
            return err_set("%s: unsupported %s", g->path, name);
    }
    return 0;
}

static int read_config(struct model_config *c, const struct gguf *g)
{
    for (const struct config_key *k = words_of(c)->keys; k->key; k++)
        if (read_key(c, g, k) < 0)
            return -1;
    const struct gguf_tensor *words = gguf_tensor(g, "token_embd.weight");
    if (!words)
        return err_set("%s: no tensor 'token_embd.weight'", g->path);
    const struct gguf_tensor *types = gguf_tensor(g, "token_types.weight");
    c->vocabulary = words->shape[0];
    c->types = types ? types->shape[0] : 0;
    c->activation = c->architecture->activation;
    c->qkv_bias = gguf_tensor(g, "blk.0.attn_q.bias") != NULL;
    c->out_bias = c->qkv_bias && gguf_tensor(g, "blk.0.attn_output.bias");
    c->mlp_bias = gguf_tensor(g, "blk.0.ffn_gate.bias") != NULL;
    return check_unknown(g, c) < 0 || read_scaling(c, g) < 0 ? -1 : read_divisors(c, g);
}

/* Returns 1 if the decoder has its own table, else 0. The table of a tied decoder may be in the
 * file, too, as a copy of another type; then the key textmill.tied is set. */
static int is_untied(const struct gguf *g)
{
    double tied = 0;
    return !(gguf_real(g, "textmill.tied", &tied) == 0 && tied) && gguf_tensor(g, "output.weight");
}

/* Returns 0, or -1 with an error if the file is an adapter, or one of several, as llama-gguf-split
 * writes them, or if this version does not know its textmill.layout. */
static int check_layout(const struct gguf *g)
{
    double layout = GGUF_MODEL_LAYOUT, files = 1;
    if (gguf_real(g, "textmill.layout", &layout) < 0 || gguf_real(g, "split.count", &files) < 0)
        return -1;
    if (gguf_find(g, "adapter.type"))
        return err_set("%s: an adapter: merge it into its model with llama-export-lora", g->path);
    if (files > 1)
        return err_set("%s: one of %g files of a model: join them with llama-gguf-split --merge",
                       g->path, files);
    return layout == GGUF_MODEL_LAYOUT
               ? 0
               : err_set("%s: unsupported textmill.layout %g, only %d: export the model again",
                         g->path, layout, GGUF_MODEL_LAYOUT);
}

int gguf_model_config(struct model_config *c, const struct gguf *g, enum model_head head)
{
    SCOPED(buf) name = BUF_INIT;
    const struct gguf_key *k = gguf_find(g, "general.architecture");
    *c = (struct model_config){ .head = head, .init_std = 0.02 };
    if (check_layout(g) < 0 || (!k && err_set("%s: no key 'general.architecture'", g->path)))
        return -1;
    c->untied = is_untied(g);
    return gguf_text(g, k, &name) < 0 || !(c->architecture = row_of(g, &name, head))
               ? -1
               : read_config(c, g);
}

/* Refuses a configuration that GGUF cannot express. */
static int check_config(const struct model_config *c)
{
    const char *what = NULL;
    if (!words_of(c))
        return err_set("GGUF has no models of architecture '%s' with this head",
                       c->architecture->name);
    if (c->activation != c->architecture->activation)
        what = "activation";
    else if (c->unscaled || c->scale_by_layer)
        what = "scale of attention";
    else if (c->rope_stretch.yarn && !c->rope_stretch.whole)
        what = "rounding of YaRN's limits";
    else if (c->rope_stretch.divided && strcmp(words_of(c)->name, "llama") != 0)
        what = "rotary scaling, such as LongRoPE";
    else if (c->rope_pause && c->rope_pause != 4)
        what = "interval of layers without rotary positions than 4";
    return what ? err_set("GGUF's '%s' has no other %s", words_of(c)->name, what) : 0;
}

int gguf_model_keys(struct gguf_writer *w, const struct model *m)
{
    const struct model_config *c = &m->config;
    char name[KEY_NAME];
    if (check_config(c) < 0)
        return -1;
    gguf_add_text(w, "general.architecture", words_of(c)->name, strlen(words_of(c)->name));
    for (const struct config_key *k = words_of(c)->keys; k->key; k++) {
        int64_t count;
        double real;
        key_name(name, c, k->key);
        memcpy(&count, (const char *)c + k->member, sizeof count);
        memcpy(&real, (const char *)c + k->member, sizeof real);
        if (k->member == CONFIG_AT(rope_stretch.factor) && is_llama3(c))
            continue; /* it is in rope_freqs.weight */
        if (k->text && (k->form == CONFIG_COUNT ? (double)count : real) == k->absent)
            continue;
        if (k->form == CONFIG_COUNT)
            gguf_add_u32(w, name, (uint32_t)count);
        else if (k->form == CONFIG_ONLY)
            gguf_add_bool(w, name, k->absent != 0);
        else
            gguf_add_f32(w, name, (float)real);
    }
    if ((c->rope_stretch.factor && !is_llama3(c)) || c->rope_stretch.divided) {
        const char *type = c->rope_stretch.yarn      ? "yarn"
                           : c->rope_stretch.divided ? "longrope"
                                                     : "linear";
        key_name(name, c, "rope.scaling.type");
        gguf_add_text(w, name, type, strlen(type));
    }
    write_settings(w, c);
    if (c->types) /* llama.cpp has it among the tokenizer's keys */
        gguf_add_u32(w, "tokenizer.ggml.token_type_count", (uint32_t)c->types);
    gguf_add_bool(w, "textmill.tied", m->tied);
    return 0;
}

/* ---- names -------------------------------------------------------------------------------- */

/* Returns GGUF's name of the tensors of weight i of a row of a layer's list. In lists that begin
 * with maps, norms follow attention and the MLP. */
static const char *name_of(const struct architecture *a, const struct layer_row *row, int i)
{
    static const char *const names[LAYER_ARRAYS] = {
        [AT_NORMED] = "attn_norm",
        [AT_QUERIES] = "attn_q",
        [AT_KEYS] = "attn_k",
        [AT_VALUES] = "attn_v",
        [AT_NORMED_QUERIES] = "attn_q_norm",
        [AT_NORMED_KEYS] = "attn_k_norm",
        [AT_HEADS] = "attn_output",
        [AT_BRANCH] = "ffn_norm",
        [AT_INNER] = "ffn_up",
        [AT_UP] = "ffn_up",
        [AT_ACTIVE] = "ffn_down",
        [AT_OUTPUT] = "layer_output_norm",
    };
    const enum layer_array at = row->kind == LAYER_RESIDUAL ? row->in[0]
                                                            : row->out + (enum layer_array)i;
    if (at == AT_BRANCH && a->layer->kind == LAYER_MAPS)
        return "attn_output_norm";
    return row->joined ? "attn_qkv" : at == AT_INNER && row->weights[1] ? "ffn_gate" : names[at];
}

/* Returns 1 if ours, which may lack the end after its last dot, has the first n bytes of a name, up
 * to the name's last dot, else 0. */
static int has_stem(const char *ours, const char *name, size_t n)
{
    return ours && !strncmp(ours, name, n) && (!ours[n] || ours[n] == '.');
}

void gguf_model_name(char out[TENSOR_NAME], const struct model *m, size_t row)
{
    const struct tensor *t = &m->tensors.rows[row];
    const struct architecture *a = m->config.architecture;
    const int next = m->config.head == HEAD_NEXT;
    /* GGUF has no name for the head for questions, which is only in files for textmill. */
    const char *const pairs[][2] = {
        { a->names.words, "token_embd" },      { a->names.positions, "position_embd" },
        { a->names.types, "token_types" },     { a->names.norm, "token_embd_norm" },
        { a->names.last_norm, "output_norm" }, { next ? a->names.decoder : NULL, "output" },
        { "qa_outputs", "qa_outputs" },
    };
    const char *end = strrchr(t->name, '.');
    char start[TENSOR_NAME];
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* it is the architecture's own */
    const size_t n = (size_t)snprintf(start, sizeof start, a->names.layer, t->block - 1LL);
    out[0] = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (has_stem(pairs[i][0], t->name, (size_t)(end - t->name)))
            snprintf(out, TENSOR_NAME, "%.40s%.12s", pairs[i][1], end);
    for (const struct layer_row *r = a->layer; r->kind && !strncmp(start, t->name, n); r++)
        for (int i = 0; i < LAYER_READS; i++)
            if (has_stem(r->weights[i], t->name + n, (size_t)(end - t->name) - n))
                snprintf(out, TENSOR_NAME, "blk.%d.%.30s%.12s", t->block - 1, name_of(a, r, i),
                         end);
}

int gguf_model_has(const struct gguf *g, const struct model *m, size_t row)
{
    char name[TENSOR_NAME];
    gguf_model_name(name, m, row);
    return gguf_tensor(g, name) != NULL;
}

int64_t gguf_model_paired(const struct model *m, size_t row)
{
    const struct tensor *t = &m->tensors.rows[row];
    int turned = strstr(t->name, ".q_proj.") || strstr(t->name, ".k_proj.");
    return words_of(&m->config)->paired && turned ? m->config.head_width : 0;
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* The types whose names here differ; I8 stands for the groups of stored.h (in_groups). */
#define OPS_Q4_0        OPS_Q4
#define OPS_Q8_0        OPS_Q8
#define OPS_I8          OPS_F32
#define TYPE(name, ...) [GGUF_TENSOR_##name] = OPS_##name,

static enum ops_type stored_of(const struct gguf_tensor *t)
{
    static const enum ops_type types[] = { GGUF_TENSORS(TYPE) };
    return types[t->type];
}

static int is_ours(const struct gguf *g)
{
    return gguf_find(g, "textmill.layout") != NULL;
}

/* Returns 1 if the shape of the tensor t is that of the matrix *x quantized as Q8 or IQ4_NL, in the
 * layout of stored.h, and sets x->type to that type. Else returns 0. */
static int in_groups(struct matrix *x, const struct gguf_tensor *t)
{
    const enum ops_type types[] = { OPS_Q8, OPS_IQ4_NL };
    for (int i = 0; i < 2; i++)
        if (t->rank == 2 && t->shape[0] == (x->O + STORED_GROUP - 1) / STORED_GROUP &&
            stored_fits(types[i], x->I) &&
            (uint64_t)t->shape[1] == stored_group_bytes(types[i], x->I)) {
            x->type = types[i];
            x->grouped = 1;
        }
    return x->grouped;
}

static int check_shape(struct matrix *x, const struct gguf *g, const struct gguf_tensor *t,
                       int rank)
{
    int fits = rank == 1 ? t->rank == 1 && t->shape[0] == x->I
                         : t->rank == 2 && t->shape[0] == x->O && t->shape[1] == x->I;
    if (t->type == GGUF_TENSOR_I8)
        fits = rank == 2 && is_ours(g) && in_groups(x, t);
    return fits ? 0
                : err_set("%s: bad shape of tensor '%s', whose data is at byte %llu: the keys say "
                          "[%lld,%lld]",
                          g->path, t->name, (unsigned long long)t->offset,
                          (long long)(rank == 1 ? x->I : x->O), (long long)(rank == 1 ? 1 : x->I));
}

int gguf_model_matrix(struct matrix *x, const struct gguf *g, const struct model *m, size_t row,
                      const char *name)
{
    const struct tensor *wanted = &m->tensors.rows[row];
    const int map = model_is_map(m, row);
    char own[TENSOR_NAME];
    gguf_model_name(own, m, row);
    const struct gguf_tensor *t = gguf_tensor(g, name ? name : own);
    *x = (struct matrix){ .path = g->path, .O = 1, .I = wanted->shape[0] };
    if (!t) /* GGUF has no name for the tensors of most heads */
        return err_set("%s: no tensor '%s'", g->path, name ? name : *own ? own : wanted->name);
    if (wanted->rank == 2) {
        x->O = wanted->shape[map];
        x->I = wanted->shape[!map];
    }
    x->type = stored_of(t);
    x->name = t->name;
    x->offset = t->offset;
    x->data = (const char *)g->map.data + t->offset;
    x->pairs = is_ours(g) ? 0 : gguf_model_paired(m, row);
    if (check_shape(x, g, t, wanted->rank) < 0)
        return -1;
    if (x->pairs && wanted->rank == 1) { /* each number is a row */
        x->O = x->I;
        x->I = 1;
    }
    return stored_fits(x->type, x->I)
               ? 0
               : err_set("%s: unsupported type of vector '%s', whose data is at byte %llu", g->path,
                         t->name, (unsigned long long)t->offset);
}

/* Returns 1 for a tensor that changes no output: a head for another task, frequencies, which the
 * keys give or which have been read, or a copy of a tied table. Else returns 0. */
static int is_passed_over(const struct model *m, const char *name)
{
    const struct ops_stretch *s = &m->config.rope_stretch;
    if (!strncmp(name, "rope_factors_", 13))
        return s->divided != 0;
    return !strncmp(name, "cls.", 4) || !strncmp(name, "qa_outputs.", 11) ||
           !strcmp(name, "rope_freqs.weight") || file_ends_with(name, ".attn_rot_embd.weight") ||
           (m->tied && !strcmp(name, "output.weight"));
}

int gguf_model_check(const struct gguf *g, const struct model *m, int *made)
{
    SCOPED_MEM char *used = mem_zalloc(g->tensor_count, 1);
    int missing = 0;
    for (size_t i = 0; i < m->tensors.count; i++) {
        struct matrix x;
        char name[TENSOR_NAME];
        gguf_model_name(name, m, i);
        const struct gguf_tensor *t = gguf_tensor(g, name);
        const int needed = !made || m->tensors.rows[i].block <= m->config.layers;
        if ((needed || t) && gguf_model_matrix(&x, g, m, i, NULL) < 0)
            return -1;
        if (t)
            used[t - g->tensors] = 1;
        missing += !t;
    }
    for (size_t i = 0; i < g->tensor_count; i++)
        if (!used[i] && !is_passed_over(m, g->tensors[i].name))
            return err_set("%s: tensor '%s' is not part of the model", g->path, g->tensors[i].name);
    if (made)
        *made = missing;
    return 0;
}
