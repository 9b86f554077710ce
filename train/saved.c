#include "train/saved.h"

#include "common/files/file.h"
#include "model/compute/ops_update.h"
#include "model/folder/folder.h"
#include "model/formats/weights.h"
#include "train/sums.h"

static const char training[] = "training/";
static const char base_of_weights[] = "model", base_of_moments[] = "optimizer";

enum saved_files saved_choice(uint64_t bytes)
{
    return bytes > 5000000000 ? SAVED_BLOCK : SAVED_ONE;
}

/* ---- the list of tensors --------------------------------------------------------------------- */

/* The tensors of a set of files, in the order in which they are written. */
struct list {
    struct safetensor *tensors; /* [count], with names that the list owns */
    struct entry {
        enum store_kind kind;
        size_t row; /* of the tensor table */
    } * entries;
    int *file; /* [count]: number of the tensor's file */
    size_t count;
    int files; /* 0: a single file, which has no number */
};

static void list_release(struct list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->tensors[i].name);
    free(l->tensors);
    free(l->entries);
    free(l->file);
}

/* Adds tensor `row` of the arrays of `kind`. The caller describes it in the slot returned. */
static struct safetensor *add_entry(struct list *l, enum store_kind kind, size_t row)
{
    l->entries[l->count] = (struct entry){ kind, row };
    l->file[l->count] = l->files;
    return &l->tensors[l->count++];
}

/* Adds each tensor of the blocks `first` to `last` that the arrays of `kind` hold, under its name
 * and the ending `suffix`. */
static void add_moments(struct list *l, const struct store *s, enum store_kind kind,
                        const char *suffix, int first, int last)
{
    for (size_t i = 0; i < s->tensors->count; i++) {
        const struct tensor *from = &s->unsplit->rows[i];
        if (from->block < first || from->block > last || s->layout.offset[kind][i] < 0)
            continue;
        SCOPED(buf) name = buf_format("%s.%s", from->name, suffix);
        *add_entry(l, kind, i) = safetensors_entry(name.data, s->layout.type[kind], from->rank,
                                                   from->shape);
    }
}

/* Adds blocks `first` to `last`: the weights of m or, if m is NULL, the moments. */
static void add_blocks(struct list *l, const struct store *s, const struct model *m, int first,
                       int last)
{
    for (size_t i = 0; m && i < m->tensors.count; i++)
        if (m->tensors.rows[i].block >= first && m->tensors.rows[i].block <= last)
            folder_describe(add_entry(l, STORE_PARAMETERS, i), m, &m->tensors.rows[i],
                            s->layout.type[STORE_PARAMETERS]);
    if (m)
        return;
    add_moments(l, s, STORE_MOMENT1, "moment1", first, last);
    add_moments(l, s, STORE_MOMENT2, "moment2", first, last);
}

/* Lists all tensors; m is as for add_blocks. A block without tensors has no file. */
static void list_all(struct list *l, const struct store *s, const struct model *m,
                     enum saved_files files)
{
    const int blocks = s->tensors->blocks;
    const size_t most = 2 * s->tensors->count; /* two moments of each */
    *l = (struct list){ .tensors = mem_zalloc(most, sizeof *l->tensors),
                        .entries = mem_zalloc(most, sizeof *l->entries),
                        .file = mem_zalloc(most, sizeof *l->file) };
    if (files == SAVED_ONE)
        add_blocks(l, s, m, 0, blocks - 1);
    for (int b = 0; b < blocks && files == SAVED_BLOCK; b++) {
        const size_t before = l->count;
        add_blocks(l, s, m, b, b);
        l->files += l->count > before;
    }
}

/* ---- the store ------------------------------------------------------------------------------- */

/* Returns 1 if each data-parallel rank has whole arrays of this kind, else 0: then it has a share.
 */
static int is_whole(const struct store *s, enum store_kind kind)
{
    return s->layout.ranks == 1 ||
           (kind == STORE_PARAMETERS && !layout_is_gathered(&s->layout, kind));
}

/* Returns the part of a tensor that this rank has in the array of entry e. */
static struct split_part part_here(const struct store *s, struct entry e)
{
    return is_whole(s, e.kind) ? (struct split_part){ 0, tensor_elements(&s->tensors->rows[e.row]) }
                               : layout_share(&s->layout, s->tensors, e.row);
}

/* The array of a block that is fetched at present, whole or only this rank's share. */
struct hand {
    struct store *store;
    struct use use; /* of the array; number -1: none is fetched */
    struct ops_array array;
};

static void let_go(struct hand *h)
{
    if (h->use.number >= 0)
        store_end(h->store, &h->use);
    h->use.number = -1;
}

/* Fetches the array with the tensor of entry e instead of the one before, to read it or to change
 * it. Returns the tensor, or this rank's share of it. It is valid until the next call. */
static struct ops_array hold(struct hand *h, struct entry e, enum use_mode mode)
{
    struct store *s = h->store;
    const int block = s->tensors->rows[e.row].block, whole = is_whole(s, e.kind);
    if (h->use.kind != e.kind || h->use.number != block) {
        let_go(h);
        h->use = (struct use){ .kind = e.kind, .mode = mode, .own = !whole, .number = block };
        h->array = store_begin(s, &h->use);
    }
    return whole ? store_tensor(s, e.kind, h->array, e.row)
                 : store_own_tensor(s, e.kind, h->array, e.row);
}

void saved_scale(struct store *s, size_t first, size_t end, double factor)
{
    struct hand h = { s, .use.number = -1 };
    for (size_t row = first; row < end; row++) {
        const struct entry e = { STORE_PARAMETERS, row };
        if (!layout_owns(&s->layout, s->tensors->rows[row].block))
            continue;
        /* also on a rank without a share, which thus forgets its copy of the whole array */
        const struct ops_array x = hold(&h, e, MODE_WRITE);
        ops_blend(s->ops, x, factor, x, 0, part_here(s, e).count);
    }
    let_go(&h);
}

/* ---- who writes ------------------------------------------------------------------------------ */

/* The rank that writes a file, by its numbers in its groups. Files of one stage with the same turn
 * are written at the same time. */
struct writer {
    int stage, data, tensor, turn;
};

struct saving {
    const struct saved *to;
    const char *sub, *base;
    struct list list;
    struct writer *writers; /* [files], or one */
    struct hand hand;
    struct ops_room shares, part, whole; /* memory in which tensors are assembled, U8 */
    struct comm_work **begun;            /* sends that were begun and not ended */
    size_t count, cap;
    struct safetensors_writer file;
    int result;
};

static struct writer *assign(const struct saving *v)
{
    const struct store *s = v->to->store;
    const struct comm *c = v->to->comm;
    const int data = c->size[COMM_DATA], ranks = data * c->size[COMM_TENSOR];
    struct writer *w = mem_zalloc((size_t)v->list.files + 1, sizeof *w);
    SCOPED_MEM int *files = mem_zalloc((size_t)c->size[COMM_PIPE],
                                       sizeof *files); /* of each stage */
    for (size_t i = 0; i < v->list.count && v->list.files; i++) {
        if (i && v->list.file[i] == v->list.file[i - 1])
            continue;
        const int stage = s->layout.owner[s->tensors->rows[v->list.entries[i].row].block];
        const int k = files[stage]++;
        w[v->list.file[i]] = (struct writer){ stage, k % data, k % ranks / data, k / ranks };
    }
    return w;
}

static const struct writer *writer_of(const struct saving *v, size_t i)
{
    return &v->writers[v->list.file[i]];
}

static int block_of(const struct saving *v, size_t i)
{
    return v->to->store->tensors->rows[v->list.entries[i].row].block;
}

/* Returns 1 if w and this rank have equal numbers in COMM_DATA and, with_tensor 1, COMM_TENSOR. */
static int is_in(const struct saving *v, const struct writer *w, int with_tensor)
{
    const struct comm *c = v->to->comm;
    return c->rank[COMM_DATA] == w->data && (!with_tensor || c->rank[COMM_TENSOR] == w->tensor);
}

/* ---- putting tensors together ---------------------------------------------------------------- */

static const char what[] = "state for a checkpoint";

/* Returns an array of n elements in *r, whose old contents are lost. Memory that is large enough is
 * used again: freed memory of other sizes stays with the process, so the process would grow with
 * each size. */
static struct ops_array make_room(struct saving *v, struct ops_room *r, enum ops_type type,
                                  int64_t n)
{
    struct ops_array x = ops_room(v->to->store->ops, r, OPS_U8, n * (int64_t)ops_type_bytes(type));
    x.type = type;
    return x;
}

static void begin_send(struct saving *v, enum comm_group group, int to, struct ops_array x,
                       int64_t n)
{
    mem_next(v->begun, v->count, v->cap) = comm_transfer_begin(v->to->comm, group, 1, to, 0,
                                                               v->to->store->ops, x, n, what);
}

/* Sends x[n] to a rank or receives it from there. */
static void transfer(struct saving *v, enum comm_group group, int sends, int peer,
                     struct ops_array x, int64_t n)
{
    struct comm *c = v->to->comm;
    comm_end(c, comm_transfer_begin(c, group, sends, peer, 0, v->to->store->ops, x, n, what));
}

/* Begins to send the part of tensor i that this rank has to the rank that needs it: its share or,
 * if data-parallel ranks share nothing, its part of a tensor that tensor-parallel ranks share. So
 * the ranks that write at the same time do not wait for each other's disks. */
static void begin_sends(struct saving *v, size_t i)
{
    const struct store *s = v->to->store;
    const struct entry e = v->list.entries[i];
    const struct writer *w = writer_of(v, i);
    const int whole = is_whole(s, e.kind), split = store_is_split(s, e.row);
    if (!layout_owns(&s->layout, block_of(v, i)))
        return;
    if (whole && split && is_in(v, w, 0) && !is_in(v, w, 1))
        begin_send(v, COMM_TENSOR, w->tensor, hold(&v->hand, e, MODE_READ),
                   tensor_elements(&s->tensors->rows[e.row]));
    const struct split_part own = layout_share(&s->layout, s->tensors, e.row);
    if (!whole && !is_in(v, w, 0) && own.count &&
        (split || v->to->comm->rank[COMM_TENSOR] == w->tensor))
        begin_send(v, COMM_DATA, w->data, hold(&v->hand, e, MODE_READ), own.count);
}

/* Returns the tensor that the data-parallel ranks have together; tensor-parallel ranks have other
 * parts of it. */
static struct ops_array join_shares(struct saving *v, struct entry e)
{
    const struct store *s = v->to->store;
    const int64_t n = tensor_elements(&s->tensors->rows[e.row]);
    struct ops_array own = hold(&v->hand, e, MODE_READ);
    if (is_whole(s, e.kind) || layout_share(&s->layout, s->tensors, e.row).count == n)
        return own;
    struct ops_array to = make_room(v, &v->shares, s->layout.type[e.kind], n);
    for (int q = 0; q < s->layout.ranks; q++) {
        const struct split_part p = layout_share_of(&s->layout, s->tensors, e.row, q);
        if (p.count && q == s->layout.rank)
            ops_copy(s->ops, ops_part(to, p.first), own, p.count);
        else if (p.count)
            transfer(v, COMM_DATA, 0, q, ops_part(to, p.first), p.count);
    }
    return to;
}

/* Assembles a tensor from the parts of the tensor-parallel ranks; `own` is this rank's part. */
static struct ops_array join_parts(struct saving *v, struct entry e, struct ops_array own)
{
    const struct store *s = v->to->store;
    const enum ops_type type = s->layout.type[e.kind];
    const int64_t n = tensor_elements(&s->unsplit->rows[e.row]);
    struct ops_array to = make_room(v, &v->whole, type, n);
    void *all = ops_fill(s->ops, to, n);
    for (int q = 0; q < split_all(s->split); q++) {
        const struct split_runs runs = store_runs(s, e.row, q);
        const int64_t some = split_elements(&runs);
        struct ops_array part = own;
        if (q != split_number(s->split)) {
            part = make_room(v, &v->part, type, some);
            transfer(v, COMM_TENSOR, 0, q, part, some);
        }
        void *from = ops_map(s->ops, part, some);
        split_join(all, from, &runs, ops_type_bytes(type));
        ops_unmap(s->ops, part, some, from);
    }
    ops_unmap(s->ops, to, n, all);
    return to;
}

/* Returns tensor i on one rank of its stage: the one with the writer's numbers. All ranks of the
 * stage must call it; the result on the others has no meaning. */
static struct ops_array join(struct saving *v, size_t i)
{
    const struct store *s = v->to->store;
    const struct entry e = v->list.entries[i];
    const struct writer *w = writer_of(v, i);
    const int split = store_is_split(s, e.row), whole = is_whole(s, e.kind);
    if (!is_in(v, w, !split) || (whole && !is_in(v, w, 1)))
        return OPS_NONE;
    struct ops_array x = join_shares(v, e);
    if (split && is_in(v, w, 1))
        return join_parts(v, e, x);
    if (split)
        transfer(v, COMM_TENSOR, 1, w->tensor, x, tensor_elements(&s->tensors->rows[e.row]));
    return x;
}

/* Sends x, tensor i, from the stage that owns it to that of the writer, and returns it there. */
static struct ops_array carry(struct saving *v, size_t i, struct ops_array x)
{
    const struct store *s = v->to->store;
    const struct writer *w = writer_of(v, i);
    const int stage = v->to->comm->rank[COMM_PIPE], owner = s->layout.owner[block_of(v, i)];
    const int64_t n = tensor_elements(&s->unsplit->rows[v->list.entries[i].row]);
    if (owner == w->stage || !is_in(v, w, 1))
        return x;
    if (stage == owner)
        transfer(v, COMM_PIPE, 1, w->stage, x, n);
    if (stage == w->stage) {
        x = make_room(v, &v->whole, s->layout.type[v->list.entries[i].kind], n);
        transfer(v, COMM_PIPE, 0, owner, x, n);
    }
    return x;
}

uint64_t saved_bytes(const struct tensor_table *own, const struct tensor_table *whole, int shared,
                     int moved)
{
    int64_t most = 0;
    for (size_t i = 0; i < own->count; i++) {
        const int64_t part = tensor_elements(&own->rows[i]), n = tensor_elements(&whole->rows[i]);
        const int split = split_is_shared(&whole->rows[i], &own->rows[i]);
        const int64_t sum = (shared ? part : 0) + (split ? part : 0) + (split || moved ? n : 0);
        most = sum > most ? sum : most;
    }
    return (uint64_t)most * sizeof(float);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void file_of(const struct saving *v, size_t i, struct buf *name)
{
    char file[WEIGHTS_NAME];
    weights_file_name(file, v->base, v->list.file[i], v->list.files);
    buf_setf(name, "%s%s", v->sub, file);
}

static void open_file(struct saving *v, size_t first)
{
    SCOPED(buf) name = BUF_INIT;
    size_t end = first;
    while (end < v->list.count && v->list.file[end] == v->list.file[first])
        end++;
    file_of(v, first, &name);
    SCOPED(buf) path = file_path(v->to->dir, name.data);
    v->result = safetensors_create(&v->file, path.data, v->list.tensors + first, end - first);
}

/* Adds the file, whose last tensor is `last`, to the files that saved_close completes. */
static void end_file(struct saving *v, size_t last)
{
    struct saved_open *to = v->to->open;
    struct buf name = BUF_INIT;
    v->result = safetensors_complete(&v->file);
    file_of(v, last, &name);
    mem_next(to->files, to->count, to->cap) = (struct saved_file){ v->file, buf_detach(&name) };
}

/* Writes x, tensor i, if nothing has failed so far. */
static void put(struct saving *v, size_t i, struct ops_array x)
{
    const struct list *l = &v->list;
    const struct store *s = v->to->store;
    if (!v->result && (!i || l->file[i] != l->file[i - 1]))
        open_file(v, i);
    if (v->result)
        return;
    struct tensor row = s->unsplit->rows[l->entries[i].row];
    row.transposed &= v->base == base_of_weights; /* moments stay as they are in memory */
    v->result = folder_write_tensor(&v->file, &row, s->ops, x);
    if (v->result < 0)
        safetensors_abandon(&v->file);
    else if (i + 1 == l->count || l->file[i] != l->file[i + 1])
        end_file(v, i);
}

/* Returns the end of the run of tensors, from `first` on, whose sends begin together: those of the
 * files that are written at the same time. The run is one tensor if the ranks write a single file,
 * or if arrays are not all in memory. */
static size_t end_of(const struct saving *v, size_t first)
{
    const struct store *s = v->to->store;
    size_t end = first + 1;
    while (v->list.files && !s->moves && end < v->list.count &&
           writer_of(v, end)->turn == writer_of(v, first)->turn)
        end++;
    return end;
}

static void write_all(struct saving *v)
{
    const struct layout *l = &v->to->store->layout;
    for (size_t first = 0, end; first < v->list.count; first = end) {
        end = end_of(v, first);
        for (size_t i = first; i < end; i++)
            begin_sends(v, i);
        for (size_t i = first; i < end; i++) {
            struct ops_array x = layout_owns(l, block_of(v, i)) ? join(v, i) : OPS_NONE;
            const struct writer *w = writer_of(v, i);
            x = carry(v, i, x);
            if (is_in(v, w, 1) && v->to->comm->rank[COMM_PIPE] == w->stage)
                put(v, i, x);
        }
        for (size_t i = 0; i < v->count; i++)
            comm_end(v->to->comm, v->begun[i]);
        v->count = 0;
    }
    let_go(&v->hand);
}

static void begin_saving(struct saving *v, const struct saved *to, enum saved_what of)
{
    *v = (struct saving){ .to = to, .hand = { to->store, .use.number = -1 } };
    v->sub = of == SAVED_WEIGHTS ? "" : training;
    v->base = of == SAVED_WEIGHTS ? base_of_weights : base_of_moments;
    list_all(&v->list, to->store, of == SAVED_WEIGHTS ? to->model : NULL, to->files);
}

int saved_write(const struct saved *to, enum saved_what of, int result)
{
    struct saving v;
    struct ops *o = to->store->ops;
    begin_saving(&v, to, of);
    v.result = result;
    v.writers = assign(&v);
    write_all(&v);
    ops_room_free(o, &v.shares);
    ops_room_free(o, &v.part);
    ops_room_free(o, &v.whole);
    free(v.begun);
    free(v.writers);
    list_release(&v.list);
    return v.result;
}

int saved_close(const struct saved *to, int result)
{
    struct saved_open *open = to->open;
    for (size_t i = 0; i < open->count; i++) {
        struct saved_file *f = &open->files[i];
        if (result < 0)
            safetensors_abandon(&f->writer);
        else
            result = safetensors_finish(&f->writer);
        if (!result && to->sums)
            result = sums_add_file(to->sums, to->dir, f->name);
        free(f->name);
    }
    free(open->files);
    *open = (struct saved_open){ 0 };
    return result;
}

int saved_index(const struct saved *to, enum saved_what of)
{
    struct saving v;
    begin_saving(&v, to, of);
    const struct list *l = &v.list;
    SCOPED(buf) folder = file_path(to->dir, v.sub), name = BUF_INIT;
    SCOPED_MEM uint32_t *crc = mem_zalloc((size_t)l->files + 1, sizeof *crc); /* of each file */
    for (size_t i = 0; i < l->count && l->files && !v.result; i++) {
        file_of(&v, i, &name);
        if (!sums_of_file(to->sums, name.data, &crc[l->file[i]]))
            v.result = err_set("no rank has written '%s'", name.data);
    }
    if (l->files && !v.result)
        v.result = weights_write_index(folder.data, v.base, l->tensors, l->file, l->count, crc,
                                       l->files);
    list_release(&v.list);
    return v.result;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a whole tensor from the file and copies this rank's part of it to `out`. */
static int read_split(const struct safetensors *file, const struct safetensor *from,
                      const struct store *s, size_t row, float *out)
{
    const struct split_runs runs = store_runs(s, row, split_number(s->split));
    SCOPED_MEM float *all = mem_alloc((size_t)from->elements * sizeof *all);
    if (safetensors_read(file, from, all) < 0)
        return -1;
    split_cut(out, all, &runs, sizeof *all);
    return 0;
}

/* Reads the elements `own` of a tensor into `to`. If `to` is BF16, BF16 numbers of the file keep
 * their bits, and F32 numbers are rounded. */
static int read_tensor(const struct safetensors *file, const struct safetensor *from,
                       const struct store *s, size_t row, struct ops_array to,
                       struct split_part own)
{
    const int split = store_is_split(s, row);
    const int64_t n = split ? tensor_elements(&s->tensors->rows[row]) : own.count;
    struct ops *o = s->ops;
    struct ops_array floats = to;
    ops_scratch_begin(o);
    if (to.type != OPS_F32 || own.count < n)
        floats = ops_scratch(o, OPS_F32, n);
    float *mapped = ops_map(o, floats, n);
    int result = split ? read_split(file, from, s, row, mapped)
                       : safetensors_read_part(file, from, own.first, own.count, mapped);
    ops_unmap(o, floats, n, mapped);
    floats = ops_part(floats, split ? own.first : 0);
    if (!result && to.type != OPS_F32)
        ops_round(o, (struct ops_state){ .at = to }, floats, own.count, 0);
    else if (!result && own.count < n)
        ops_copy(o, to, floats, own.count);
    return result;
}

/* Reads a tensor into its place in the store, or this rank's share of it. Does nothing if this
 * stage of a pipeline does not have it. */
static int read_entry(const struct safetensors *file, const struct safetensor *from, struct entry e,
                      struct hand *h)
{
    const struct store *s = h->store;
    if (!layout_has(&s->layout, e.kind, s->tensors->rows[e.row].block))
        return 0;
    const struct ops_array to = hold(h, e, MODE_WRITE);
    const struct split_part own = part_here(s, e);
    return own.count ? read_tensor(file, from, s, e.row, to, own) : 0;
}

static int read_all(const struct weights *files, const struct list *l, struct store *s)
{
    struct hand h = { s, .use.number = -1 };
    int result = 0;
    for (size_t i = 0; i < l->count && !result; i++) {
        const char *name = l->tensors[i].name;
        const struct safetensors *file;
        const struct safetensor *from = weights_find(files, name, &file);
        if (!from)
            result = err_set("tensor '%s' is missing", name);
        else if (from->elements != l->tensors[i].elements)
            result = err_set("'%s': tensor '%s' is of another size", file->path, name);
        else
            result = read_entry(file, from, l->entries[i], &h);
    }
    let_go(&h);
    return result;
}

int saved_read_moments(const char *dir, struct store *s)
{
    SCOPED(buf) folder = file_path(dir, "training");
    SCOPED_BY(weights_close) struct weights files = { 0 };
    SCOPED(list) l = { 0 };
    list_all(&l, s, NULL, SAVED_ONE);
    if (!l.count) /* an optimizer without moments has no file */
        return 0;
    if (weights_open_base(&files, folder.data, base_of_moments) < 0)
        return -1;
    return read_all(&files, &l, s) < 0 ? err_in("the optimizer's state in '%s'", folder.data) : 0;
}
