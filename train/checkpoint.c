#include "train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/file.h"
#include "common/kv.h"
#include "common/mem.h"
#include "common/temp.h"
#include "model/folder/folder.h"
#include "model/formats/safetensors.h"
#include "train/samples/batches.h"
#include "train/store/sharing.h"
#include "train/sums.h"

static const char unfinished[] = ".tmp";       /* suffix of an unfinished checkpoint's folder */
static const char damaged_name[] = ".damaged"; /* suffix of a damaged checkpoint's folder */
static const char moments_name[] = "training/optimizer.safetensors";

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the step in a name like "step-000100", or -1 for any other name. */
static int64_t step_of_name(const char *name)
{
    if (strncmp(name, "step-", 5))
        return -1;
    char *end;
    errno = 0;
    long long step = strtoll(name + 5, &end, 10);
    return errno || end == name + 5 || *end || step < 0 ? -1 : step;
}

static int by_step(const void *a, const void *b)
{
    int64_t x = step_of_name(*(char *const *)a), y = step_of_name(*(char *const *)b);
    return (x > y) - (x < y);
}

/* Sets *out to the names of the checkpoints in `folder`, ordered by step. Removes unfinished
 * checkpoints of killed runs. Returns 0, or -1 with an error. */
static int list(const char *folder, struct file_names *out)
{
    *out = (struct file_names){ 0 };
    enum file_kind kind;
    if (file_look(folder, &kind) < 0)
        return -1;
    if (kind != FILE_FOLDER)
        return 0;
    struct file_names all;
    if (file_list(&all, folder, "") < 0)
        return -1;
    struct buf path = BUF_INIT;
    int result = 0;
    for (size_t i = 0; i < all.count && !result; i++) {
        file_join(&path, folder, all.names[i]);
        if (file_ends_with(all.names[i], unfinished))
            result = file_remove_tree(path.data);
        else
            result = file_look(path.data, &kind);
        if (!result && kind == FILE_FOLDER && step_of_name(all.names[i]) >= 0) {
            mem_grow(out->names, out->cap, out->count + 1);
            out->names[out->count++] = mem_strdup(all.names[i]);
        }
    }
    file_names_free(&all);
    buf_release(&path);
    if (out->count)
        qsort(out->names, out->count, sizeof *out->names, by_step);
    return result;
}

int checkpoint_latest(const char *out, struct buf *path)
{
    struct buf folder = BUF_INIT;
    struct file_names names;
    file_join(&folder, out, "checkpoints");
    int result = list(folder.data, &names);
    if (!result && names.count) {
        file_join(path, folder.data, names.names[names.count - 1]);
        result = 1;
    }
    file_names_free(&names);
    buf_release(&folder);
    return result;
}

/* Sets *loss to the validation loss in the state of the checkpoint `name`, or to INFINITY if it has
 * none. Returns 0, or -1 with an error. */
static int validation_of(const char *folder, const char *name, double *loss)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    struct kv state = KV_INIT;
    *loss = INFINITY;
    buf_addf(&path, "%s/%s/training/state", folder, name);
    enum file_kind kind;
    int result = file_look(path.data, &kind), there = kind != FILE_NONE;
    if (!result && there)
        result = file_read(path.data, &text);
    if (!result && there)
        result = kv_parse(&state, text.data, text.len);
    if (!result && kv_get(&state, "validation"))
        *loss = strtod(kv_get(&state, "validation"), NULL);
    kv_release(&state);
    buf_release(&text);
    buf_release(&path);
    return result;
}

/* Sets *best to the checkpoint with the lowest validation loss, the latest of equal ones, or to
 * names->count if none has a loss. Returns 0, or -1 with an error. */
static int best_of(const char *folder, const struct file_names *names, size_t *best)
{
    double lowest = INFINITY, loss;
    *best = names->count;
    for (size_t i = 0; i < names->count; i++) {
        if (validation_of(folder, names->names[i], &loss) < 0)
            return -1;
        if (loss <= lowest && isfinite(loss)) {
            *best = i;
            lowest = loss;
        }
    }
    return 0;
}

int checkpoint_prune(const char *out, int64_t keep)
{
    struct buf folder = BUF_INIT, path = BUF_INIT;
    struct file_names names;
    file_join(&folder, out, "checkpoints");
    int result = list(folder.data, &names);
    size_t best = 0;
    if (!result && keep > 0)
        result = best_of(folder.data, &names, &best);
    for (size_t i = 0; !result && keep > 0 && i + (size_t)keep < names.count; i++) {
        if (i == best)
            continue;
        file_join(&path, folder.data, names.names[i]);
        result = file_remove_tree(path.data);
    }
    file_names_free(&names);
    buf_release(&folder);
    buf_release(&path);
    return result;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The tensors of optimizer.safetensors: the first moments of all tensors that have one, then the
 * second moments, then the points of a schedule-free optimizer, where gradients are computed (y in
 * optimizer.h). The caller frees the names in `rows`. */
struct moments {
    struct safetensor *rows;
    struct moment_place {
        enum store_kind kind;
        size_t row; /* row of the tensor table */
    } * places;
    size_t count;
};

static void add_moment(struct moments *m, const struct store *s, enum store_kind kind, size_t row,
                       const char *suffix)
{
    const struct tensor *from = &s->unsplit->rows[row];
    struct buf name = BUF_INIT;
    buf_addf(&name, "%s.%s", from->name, suffix);
    m->places[m->count] = (struct moment_place){ kind, row };
    struct safetensor *to = &m->rows[m->count++];
    *to = (struct safetensor){ .name = buf_detach(&name),
                               .dtype = s->layout.type[kind] == OPS_BF16 ? "BF16" : "F32",
                               .rank = from->rank,
                               .elements = tensor_elements(from) };
    for (int k = 0; k < from->rank; k++)
        to->shape[k] = from->shape[k];
}

/* Adds to m each tensor that the store's arrays of `kind` hold, under its name and the ending
 * `suffix`. */
static void add_moments(struct moments *m, const struct store *s, enum store_kind kind,
                        const char *suffix)
{
    for (size_t i = 0; i < s->tensors->count; i++)
        if (s->layout.offset[kind][i] >= 0)
            add_moment(m, s, kind, i, suffix);
}

/* Lists the tensors of optimizer.safetensors. `point` is the kind of arrays that hold the points of
 * a schedule-free optimizer; -1: there are none. */
static void moments_init(struct moments *m, const struct store *s, int point)
{
    const struct tensor_table *t = s->tensors;
    *m = (struct moments){ .rows = mem_zalloc(3 * t->count, sizeof *m->rows),
                           .places = mem_zalloc(3 * t->count, sizeof *m->places) };
    for (int kind = STORE_MOMENT1; kind <= STORE_MOMENT2; kind++)
        add_moments(m, s, (enum store_kind)kind, kind == STORE_MOMENT1 ? "moment1" : "moment2");
    if (point >= 0)
        add_moments(m, s, (enum store_kind)point, "point");
}

static void moments_release(struct moments *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->rows[i].name);
    free(m->rows);
    free(m->places);
}

/* State for gathering tensors from all ranks. `array` is the whole array of the block `block` of
 * kind `kind`, with the shares of all data-parallel ranks; with tensor-parallel ranks it is this
 * rank's part of the block. Each stage of a pipeline has one collecting rank; that of the first
 * stage is the first rank of the run. `joined`, on the collecting ranks only, is the block or
 * tensor that join_block or join_tensor assembled from the parts of all tensor-parallel ranks or,
 * on the first rank, the one that another stage sent. */
struct gathered {
    struct store *store;
    struct comm *comm;
    enum store_kind kind;
    int block;
    struct ops_array array; /* no array: no block was asked for yet */
    int64_t elements;
    int next; /* parameters: the block after the one asked for last */
    struct ops_array joined;
    int64_t joined_elements;
};

static void release_gathered(struct gathered *g)
{
    ops_buffer_free(g->store->ops, g->array, g->elements);
    ops_buffer_free(g->store->ops, g->joined, g->joined_elements);
}

static int collects(const struct gathered *g)
{
    return !g->comm->rank[COMM_DATA] && !g->comm->rank[COMM_TENSOR];
}

/* Makes room for n elements in g->joined on a collecting rank and returns this array. Returns
 * OPS_NONE on other ranks. */
static struct ops_array join_room(struct gathered *g, enum ops_type type, int64_t n)
{
    if (!collects(g))
        return OPS_NONE;
    ops_buffer_free(g->store->ops, g->joined, g->joined_elements);
    g->joined = ops_buffer(g->store->ops, type, n);
    g->joined_elements = n;
    return g->joined;
}

/* Sends x[n], of the block `block`, from the collecting rank of the stage that owns the block to
 * the first rank, and returns it there. Nothing is sent if these ranks are the same. The result of
 * other ranks has no meaning. */
static struct ops_array bring(struct gathered *g, int block, struct ops_array x, enum ops_type type,
                              int64_t n)
{
    const int owner = g->store->layout.owner[block];
    static const char what[] = "state of a stage";
    struct ops *o = g->store->ops;
    const int stage = g->comm->rank[COMM_PIPE];
    if (!owner || !collects(g) || (stage && stage != owner))
        return x;
    if (stage) {
        comm_end(g->comm, comm_send_begin(g->comm, COMM_PIPE, 0, 0, o, x, n, what));
        return x;
    }
    x = join_room(g, type, n);
    comm_end(g->comm, comm_receive_begin(g->comm, COMM_PIPE, owner, 0, o, x, n, what));
    return x;
}

/* Copies tensor `row` to `to` on the collecting rank; each rank has `part` of it. The ranks of one
 * tensor group have all parts, so ranks of other tensor groups send nothing. */
static void join_tensor(struct gathered *g, struct ops_array to, size_t row, struct ops_array part)
{
    const struct store *s = g->store;
    const int64_t n = tensor_elements(&s->tensors->rows[row]);
    if (!store_is_split(s, row) && collects(g))
        ops_copy(s->ops, to, part, n);
    if (store_is_split(s, row) && !g->comm->rank[COMM_DATA])
        sharing_join(g->comm, s, to, row, part);
}

static void gather_block(struct gathered *g, enum store_kind kind, int block)
{
    const struct store *s = g->store;
    const int64_t *bounds = layout_bounds(&s->layout, kind, block);
    const int rank = s->layout.rank;
    ops_buffer_free(s->ops, g->array, g->elements);
    g->kind = kind;
    g->block = block;
    g->elements = bounds[s->layout.ranks];
    g->array = ops_buffer(s->ops, s->layout.type[kind], g->elements);
    struct ops_array own = store_all(s, kind)[block];
    if (!layout_is_shared(&s->layout, kind))
        own = ops_part(own, bounds[rank]);
    ops_copy(s->ops, ops_part(g->array, bounds[rank]), own, bounds[rank + 1] - bounds[rank]);
    comm_end(g->comm,
             comm_gather_begin(g->comm, COMM_DATA, s->ops, g->array, bounds, "gather of state"));
}

/* Returns a moment or parameter tensor of this process's model: all of it that the ranks of its
 * data-parallel group have together. Gathers it from these ranks if they share it. (Ranks that are
 * tensor-parallel may have other parts of the tensor: unsplit_tensor.) All ranks must ask for the
 * same tensors in the same order. */
static struct ops_array whole_tensor(struct gathered *g, const struct moment_place *p)
{
    const struct store *s = g->store;
    const int block = s->tensors->rows[p->row].block;
    const int shared = s->layout.ranks > 1 && p->kind != STORE_PARAMETERS;
    if (!shared)
        return store_tensor(s, p->kind, store_all(s, p->kind)[block], p->row);
    if (ops_is_none(g->array) || g->kind != p->kind || g->block != block)
        gather_block(g, p->kind, block);
    return ops_part(g->array, s->layout.offset[p->kind][p->row]);
}

/* Returns a tensor that this rank's stage owns, joined from the parts of all ranks that share it.
 * Valid on the collecting rank only. */
static struct ops_array unsplit_tensor(struct gathered *g, const struct moment_place *p)
{
    struct ops_array part = whole_tensor(g, p);
    if (!store_is_split(g->store, p->row))
        return part;
    const int64_t n = tensor_elements(&g->store->unsplit->rows[p->row]);
    struct ops_array to = join_room(g, part.type, n);
    join_tensor(g, to, p->row, part);
    return to;
}

/* Returns the whole tensor on the first rank; the result of other ranks has no meaning. All ranks
 * must call it for the same tensors. */
static struct ops_array collect_tensor(struct gathered *g, const struct moment_place *p)
{
    const struct store *s = g->store;
    const int block = s->tensors->rows[p->row].block;
    struct ops_array x = layout_owns(&s->layout, block) ? unsplit_tensor(g, p) : OPS_NONE;
    return bring(g, block, x, s->layout.type[p->kind], tensor_elements(&s->unsplit->rows[p->row]));
}

/* Writes optimizer.safetensors. `result` is the result of the previous work: if it is an error,
 * nothing is written, but this rank still takes part in the gathers. Only the first rank writes.
 * Returns 0, or -1 with an error. */
static int write_moments(const char *path, const struct checkpoint *c, struct store *s,
                         struct comm *comm, int result)
{
    struct safetensors_writer w;
    struct moments m;
    struct gathered g = { .store = s, .comm = comm };
    const int first = comm_is_first(comm);
    moments_init(&m, s, c->rate_squares > 0 ? STORE_GRADIENTS : -1);
    int created = first && !result && !(result = safetensors_create(&w, path, m.rows, m.count));
    for (size_t i = 0; i < m.count; i++) {
        struct ops_array tensor = collect_tensor(&g, &m.places[i]);
        const int64_t n = m.rows[i].elements;
        if (!created || result)
            continue;
        void *data = ops_map(s->ops, tensor, n);
        result = safetensors_write(&w, data, n, ops_type_bytes(tensor.type));
        ops_unmap(s->ops, tensor, n, data);
    }
    if (created && !result)
        result = safetensors_finish(&w);
    else if (created)
        safetensors_abandon(&w);
    release_gathered(&g);
    moments_release(&m);
    return result;
}

static int write_state(const char *dir, const struct checkpoint *c)
{
    struct kv state = KV_INIT;
    kv_add(&state, "textmill", "checkpoint 1");
    kv_addf(&state, "step", "%" PRId64, c->step);
    kv_addf(&state, "position", "%" PRIu64, c->position);
    kv_addf(&state, "order", "%d", BATCHES_ORDER);
    kv_addf(&state, "tokens", "%" PRIu64, c->tokens);
    kv_addf(&state, "sequences", "%" PRIu64, c->sequences);
    if (c->blend)
        kv_addf(&state, "blend", "%" PRIu64, c->blend);
    kv_addf(&state, "milliseconds", "%.0f", c->seconds * 1e3);
    if (isfinite(c->validation))
        kv_addf(&state, "validation", "%.6f", c->validation);
    if (c->rate_squares > 0)
        kv_addf(&state, "rate_squares", "%.17g", c->rate_squares);
    if (c->loss_scale > 0) {
        kv_addf(&state, "loss_scale", "%.17g", c->loss_scale);
        kv_addf(&state, "scale_good", "%" PRId64, c->scale_good);
    }
    int result = sums_add(&state, dir, "");
    if (!result)
        result = sums_add(&state, dir, "training/");
    struct buf text = BUF_INIT, path = BUF_INIT;
    kv_print(&state, &text);
    file_join(&path, dir, "training/state");
    if (!result)
        result = file_write(path.data, text.data, text.len);
    kv_release(&state);
    buf_release(&text);
    buf_release(&path);
    return result;
}

/* Assembles a block of parameters on the collecting rank, from the parts `own` that the
 * tensor-parallel ranks have, and returns it there. */
static struct ops_array join_block(struct gathered *g, int block, struct ops_array own)
{
    const struct store *s = g->store;
    struct ops_array to = join_room(g, own.type, s->unsplit->block_size[block]);
    for (size_t i = 0; i < s->tensors->count; i++)
        if (s->tensors->rows[i].block == block)
            join_tensor(g, ops_part(to, s->unsplit->rows[i].offset), i,
                        ops_part(own, s->tensors->rows[i].offset));
    return to;
}

/* Returns the whole of a block of parameters that this rank's stage owns. Valid on the collecting
 * rank only. */
static struct ops_array own_parameters(struct gathered *g, int block)
{
    struct ops_array a = store_view(g->store, STORE_PARAMETERS, block);
    store_release(g->store, STORE_PARAMETERS, block);
    return g->store->split ? join_block(g, block, a) : a;
}

/* Returns the whole of a block of parameters. Valid on the first rank only. All ranks must call it
 * for the same blocks. */
static struct ops_array parameters_of(const void *ctx, int block)
{
    struct gathered *g = *(struct gathered *const *)ctx;
    const struct layout *l = &g->store->layout;
    struct ops_array a = layout_owns(l, block) ? own_parameters(g, block) : OPS_NONE;
    g->next = block + 1;
    return bring(g, block, a, l->type[STORE_PARAMETERS], g->store->unsplit->block_size[block]);
}

/* Writes the model folder `dir`. `result` is the result of the previous work, as for write_moments.
 * Returns 0, or -1 with an error. */
static int write_model(const char *dir, const struct model *m, struct store *s, struct comm *comm,
                       int64_t end_of_text, int result)
{
    struct gathered g = { .store = s, .comm = comm }, *at = &g;
    struct folder_blocks from = { parameters_of, &at, s->layout.type[STORE_PARAMETERS] };
    if (comm_is_first(comm) && !result)
        result = folder_save_from(m, s->ops, &from, dir, end_of_text);
    while (g.next < s->tensors->blocks)
        parameters_of(&at, g.next);
    release_gathered(&g);
    return result;
}

int checkpoint_save_model(const char *dir, const struct model *m, struct store *s,
                          struct comm *comm, int64_t end_of_text)
{
    return write_model(dir, m, s, comm, end_of_text, 0);
}

/* Writes all files of the checkpoint into the folder `dir`. `result` is the result of the previous
 * work, as for write_moments. Returns 0, or -1 with an error. */
static int write_folder(const char *dir, const struct checkpoint *c, const struct model *m,
                        struct store *s, struct comm *comm, const struct tokenizer *tokenizer,
                        const char *config, int result)
{
    int64_t end = tokenizer ? tokenizer_end_of_text(tokenizer) : -1;
    struct buf path = BUF_INIT;
    file_join(&path, dir, "training");
    if (!result)
        result = file_mkdirs(path.data);
    result = write_model(dir, m, s, comm, end, result);
    if (!result && tokenizer)
        result = tokenizer_save(tokenizer, dir);
    file_join(&path, dir, moments_name);
    result = write_moments(path.data, c, s, comm, result);
    file_join(&path, dir, "training/config.yaml");
    if (!result)
        result = file_write(path.data, config, strlen(config));
    if (!result)
        result = write_state(dir, c);
    if (!result)
        result = file_sync_dir(path.data); /* the names in training/ */
    file_join(&path, dir, "training");
    if (!result)
        result = file_sync_dir(path.data); /* the names in dir */
    buf_release(&path);
    return result;
}

/* Removes an unfinished folder and keeps the previous error. */
static void drop(const char *folder)
{
    struct err why = err_keep();
    file_remove_tree(folder);
    err_restore(&why);
}

int checkpoint_save(const char *out, const struct checkpoint *c, const struct model *m,
                    struct store *s, struct comm *comm, const struct tokenizer *tokenizer,
                    const char *config)
{
    struct buf path = BUF_INIT, temp = BUF_INIT;
    const int first = comm_is_first(comm);
    buf_addf(&path, "%s/checkpoints/step-%06" PRId64, out, c->step);
    buf_addf(&temp, "%s%s", path.data, unfinished);
    enum file_kind kind = FILE_NONE;
    int result = first ? file_look(path.data, &kind) : 0;
    int wanted = comm_most(comm, first && !result && kind != FILE_FOLDER);
    if (wanted && !first) {
        write_model(NULL, m, s, comm, -1, 0);
        write_moments(NULL, c, s, comm, 0);
    } else if (wanted) {
        result = file_remove_tree(temp.data);
        temp_add(temp.data, TEMP_GOES);
        result = write_folder(temp.data, c, m, s, comm, tokenizer, config, result);
        if (!result && rename(temp.data, path.data) < 0)
            result = err_set("cannot rename '%s' to '%s': %s", temp.data, path.data,
                             strerror(errno));
        if (result < 0)
            drop(temp.data);
        temp_forget(temp.data);
        if (!result)
            result = file_sync_dir(path.data);
    }
    buf_release(&path);
    buf_release(&temp);
    return result < 0 ? err_in("cannot save the checkpoint of step %" PRId64 "", c->step) : 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Sets *out to the number of the key, which must be above 0, or to 0 if the key is absent. Returns
 * 0, or -1 with an error. */
static int get_real(const struct kv *state, const char *key, double *out)
{
    const char *text = kv_get(state, key);
    char *end = NULL;
    *out = text ? strtod(text, &end) : 0;
    if (text && (end == text || *end || !(*out > 0 && isfinite(*out))))
        return err_set("'%s=%s' is not a number above 0", key, text);
    return 0;
}

static int parse_state(const struct kv *state, struct checkpoint *c)
{
    const char *kind = kv_get(state, "textmill");
    uint64_t step, milliseconds;
    if (!kind || strcmp(kind, "checkpoint 1"))
        return err_set("not a checkpoint of this program");
    if (kv_get_u64(state, "step", &step) < 0 || kv_get_u64(state, "position", &c->position) < 0 ||
        kv_get_u64(state, "tokens", &c->tokens) < 0 ||
        kv_get_u64(state, "sequences", &c->sequences) < 0 ||
        kv_get_u64(state, "milliseconds", &milliseconds) < 0)
        return -1;
    c->order = 1;
    c->blend = 0;
    if ((kv_get(state, "order") && kv_get_u64(state, "order", &c->order) < 0) ||
        (kv_get(state, "blend") && kv_get_u64(state, "blend", &c->blend) < 0))
        return -1;
    c->step = (int64_t)step;
    c->seconds = (double)milliseconds * 1e-3;
    c->validation = NAN;
    if (get_real(state, "rate_squares", &c->rate_squares) < 0 ||
        get_real(state, "loss_scale", &c->loss_scale) < 0)
        return -1;
    c->scale_good = 0;
    if (c->loss_scale > 0) {
        if (kv_get_u64(state, "scale_good", &step) < 0)
            return -1;
        c->scale_good = (int64_t)step;
    }
    return 0;
}

/* Reads the state and the configuration. With `check`, also checks all files. */
static int read_state(const char *path, struct checkpoint *c, struct buf *config, int check)
{
    struct buf name = BUF_INIT, text = BUF_INIT;
    struct kv state = KV_INIT;
    file_join(&name, path, "training/state");
    int result = file_read(name.data, &text);
    if (!result)
        result = kv_parse(&state, text.data, text.len);
    if (!result)
        result = parse_state(&state, c);
    if (!result && check)
        result = sums_check(&state, path);
    if (result < 0)
        err_in("checkpoint '%s'", path);
    file_join(&name, path, "training/config.yaml");
    if (!result)
        result = file_read(name.data, config);
    kv_release(&state);
    buf_release(&name);
    buf_release(&text);
    return result;
}

int checkpoint_read(const char *path, struct checkpoint *c, struct buf *config)
{
    return read_state(path, c, config, 1);
}

int checkpoint_read_state(const char *path, struct checkpoint *c, struct buf *config)
{
    return read_state(path, c, config, 0);
}

static int set_aside(const char *path)
{
    struct buf aside = BUF_INIT;
    buf_addf(&aside, "%s%s", path, damaged_name);
    int result = file_remove_tree(aside.data);
    if (!result && rename(path, aside.data) < 0)
        result = err_set("cannot rename '%s' to '%s': %s", path, aside.data, strerror(errno));
    buf_release(&aside);
    return result;
}

/* Renames the checkpoints names[sound + 1] and later as damaged. Returns 0, or -1 with an error. */
static int set_aside_newer(const char *folder, const struct file_names *names, size_t sound)
{
    struct buf path = BUF_INIT;
    int result = 0;
    for (size_t i = sound + 1; i < names->count && !result; i++) {
        file_join(&path, folder, names->names[i]);
        result = set_aside(path.data);
    }
    buf_release(&path);
    return result;
}

int checkpoint_find(const char *out, struct buf *path, struct checkpoint *c, struct buf *config,
                    struct buf *damaged)
{
    struct buf folder = BUF_INIT;
    struct file_names names;
    struct err newest = { 0 };
    file_join(&folder, out, "checkpoints");
    int result = list(folder.data, &names), found = 0;
    for (size_t i = names.count; !result && !found && i-- > 0;) {
        file_join(path, folder.data, names.names[i]);
        buf_clear(config);
        found = checkpoint_read(path->data, c, config) == 0;
        if (found)
            result = set_aside_newer(folder.data, &names, i);
        else
            buf_addf(damaged, "%s\n", err_get());
        if (!found && i + 1 == names.count)
            newest = err_keep();
    }
    if (!result && names.count && !found)
        result = err_restore(&newest);
    file_names_free(&names);
    buf_release(&folder);
    return result < 0 ? -1 : found;
}

/* Reads a whole tensor from the file and copies this rank's part of it to `out`. Returns 0, or -1
 * with an error. */
static int read_split(const struct safetensors *file, const struct safetensor *from,
                      const struct store *s, size_t row, float *out)
{
    const struct split_runs runs = store_runs(s, row, split_number(s->split));
    float *all = mem_alloc((size_t)from->elements * sizeof *all);
    int result = safetensors_read(file, from, all);
    if (!result)
        split_cut(out, all, &runs, sizeof *all);
    free(all);
    return result;
}

/* Reads a tensor into `to`. If `to` is BF16, BF16 numbers of the file keep their bits, and F32
 * numbers are rounded. Returns 0, or -1 with an error. */
static int load_moment(const struct safetensors *file, const struct safetensor *from,
                       const struct store *s, size_t row, struct ops_array to,
                       struct layout_part own)
{
    const int64_t n = tensor_elements(&s->tensors->rows[row]);
    struct ops *o = s->ops;
    struct ops_array floats = to;
    ops_scratch_begin(o);
    if (to.type != OPS_F32 || own.count < n)
        floats = ops_scratch(o, OPS_F32, n);
    float *mapped = ops_map(o, floats, n);
    int result = store_is_split(s, row) ? read_split(file, from, s, row, mapped)
                                        : safetensors_read(file, from, mapped);
    ops_unmap(o, floats, n, mapped);
    if (!result && to.type != OPS_F32)
        ops_round(o, (struct ops_state){ .at = to }, ops_part(floats, own.first), own.count, 0);
    else if (!result && own.count < n)
        ops_copy(o, to, ops_part(floats, own.first), own.count);
    return result;
}

/* Reads a tensor into its place in the store, or this rank's share of it. Does nothing if this
 * stage of a pipeline does not have it. Returns 0, or -1 with an error. */
static int load_place(const struct safetensors *file, const struct safetensor *from,
                      const struct moment_place *p, const struct store *s)
{
    const int block = s->tensors->rows[p->row].block;
    struct ops_array array = store_all(s, p->kind)[block], to;
    if (!layout_has(&s->layout, p->kind, block))
        return 0;
    struct layout_part own = { 0, tensor_elements(&s->tensors->rows[p->row]) };
    if (layout_is_shared(&s->layout, p->kind)) {
        own = layout_share(&s->layout, s->tensors, p->row);
        to = store_own_tensor(s, p->kind, array, p->row);
    } else {
        to = store_tensor(s, p->kind, array, p->row);
    }
    return own.count ? load_moment(file, from, s, p->row, to, own) : 0;
}

int checkpoint_load_moments(const char *path, const struct checkpoint *c, struct store *s)
{
    struct buf name = BUF_INIT;
    struct safetensors file;
    file_join(&name, path, moments_name);
    int result = safetensors_open(&file, name.data);
    if (!result) {
        struct moments m;
        moments_init(&m, s, c->rate_squares > 0 ? STORE_PARAMETERS : -1);
        for (size_t i = 0; i < m.count && !result; i++) {
            const struct safetensor *t = safetensors_find(&file, m.rows[i].name);
            if (!t || t->elements != m.rows[i].elements)
                result = err_set("'%s': tensor '%s' is %s", name.data, m.rows[i].name,
                                 t ? "of another size" : "missing");
            else
                result = load_place(&file, t, &m.places[i], s);
        }
        moments_release(&m);
        safetensors_close(&file);
    }
    buf_release(&name);
    return result;
}
