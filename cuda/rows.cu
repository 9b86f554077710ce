/* rows.cu - reads and writes rows by token id or row number; rotary positions. */
#include "cuda/kernel.h"

#include <string.h>

enum { THREADS = 256, EACH = 8 };

/* ---- copying and adding of rows ----------------------------------------------------------- */

enum rows_way { ROWS_GATHER, ROWS_ADD };

struct rows {
    struct view y, x;
    const int64_t *rows;
    int64_t n, C, pieces; /* pieces: groups of eight numbers in a row */
    int way;
};

KERNEL(some_rows, rows, THREADS)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t r = at / a.pieces, i = at % a.pieces * EACH, rest = a.C - i;
    if (r >= a.n)
        return;
    const int64_t other = a.rows[r] * a.C + i, own = r * a.C + i;
    struct eight x = get8(a.x, a.way == ROWS_GATHER ? other : own, rest);
    if (a.way == ROWS_ADD)
        add8(&x, a.y, other, rest);
    put8(a.y, a.way == ROWS_GATHER ? own : other, rest, x);
}

static void run_rows(struct ops *o, enum rows_way way, struct ops_array y, struct ops_array x,
                     struct ops_array rows, int64_t n, int64_t C)
{
    struct rows r;
    r.y = view_rows(y, C);
    r.x = view_rows(x, C);
    r.rows = (const int64_t *)view_of(rows).at;
    r.n = n;
    r.C = C;
    r.pieces = div_up(C, EACH);
    r.way = way;
    LAUNCH(o, some_rows, div_up(n * r.pieces, THREADS), 1, THREADS, 0, r);
}

EXTERN_C void cuda_gather_rows(struct ops *o, struct ops_array y, struct ops_array x,
                               struct ops_array rows, int64_t n, int64_t C)
{
    run_rows(o, ROWS_GATHER, y, x, rows, n, C);
}

EXTERN_C void cuda_scatter_rows(struct ops *o, struct ops_array y, struct ops_array x,
                                struct ops_array rows, int64_t n, int64_t C)
{
    run_rows(o, ROWS_ADD, y, x, rows, n, C);
}

/* ---- embedding ---------------------------------------------------------------------------- */

struct tokens {
    const uint32_t *ids, *places, *segments;
    int64_t N, T, first;
};

static inline struct tokens tokens_of(const struct ops_tokens *t)
{
    struct tokens k;
    k.ids = (const uint32_t *)view_of(t->ids).at;
    k.places = (const uint32_t *)view_of(t->places).at;
    k.segments = (const uint32_t *)view_of(t->segments).at;
    k.N = t->N;
    k.T = t->T;
    k.first = t->first;
    return k;
}

DEVICE int64_t place_of(const struct tokens *t, int64_t n)
{
    return t->places ? t->places[n] : t->first + n % t->T;
}

struct embedding {
    struct tokens t;
    struct view x, words, positions, types;
    int64_t C, pieces;
};

KERNEL(embed, embedding, THREADS)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t n = at / a.pieces, i = at % a.pieces * EACH;
    if (n >= a.t.N)
        return;
    struct eight x = get8(a.words, a.t.ids[n] * a.C + i, a.C - i);
    add8(&x, a.positions, place_of(&a.t, n) * a.C + i, a.C - i);
    add8(&x, a.types, (a.t.segments ? a.t.segments[n] : 0) * a.C + i, a.C - i);
    put8(a.x, n * a.C + i, a.C - i, x);
}

EXTERN_C void cuda_embedding_fwd(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                                 const struct ops_embedding *e)
{
    struct embedding s;
    s.t = tokens_of(t);
    s.x = view_rows(x, e->C);
    s.words = view_rows(e->words, e->C);
    s.positions = view_rows(e->positions, e->C);
    s.types = view_rows(e->types, e->C);
    s.C = e->C;
    s.pieces = div_up(e->C, EACH);
    LAUNCH(o, embed, div_up(t->N * s.pieces, THREADS), 1, THREADS, 0, s);
}

/* Backward of the embedding, without atomic operations. Tokens are sorted by their table row (a
 * stable radix sort, lowest digits first), and pieces of PIECE sorted tokens are summed. If all
 * tokens of a row are in one piece, their sum is added to the table. Otherwise each piece leaves a
 * partial sum, and the partial sums of a row are added in order. */
enum {
    DIGITS = 256,
    SORT_THREADS = 64,
    SORT_EACH = 64, /* tokens per thread */
    SORT_BLOCK = SORT_THREADS * SORT_EACH,
    PIECE = 64, /* sorted tokens summed by one block */
};

enum table { TABLE_WORDS, TABLE_POSITIONS, TABLE_TYPES };

struct sort {
    struct tokens t;
    uint32_t *keys, *order, *keys_to, *order_to;
    uint32_t *counts; /* [DIGITS, blocks] */
    int64_t n, blocks;
    int shift, table;
};

KERNEL(sort_keys, sort, THREADS)
{
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= a.n)
        return;
    a.order[n] = (uint32_t)n;
    a.keys[n] = a.table == TABLE_WORDS       ? a.t.ids[n]
                : a.table == TABLE_POSITIONS ? (uint32_t)place_of(&a.t, n)
                : a.t.segments               ? a.t.segments[n]
                                             : 0;
}

DEVICE int digit_of(const struct sort *s, int64_t i)
{
    return s->keys[i] >> s->shift & (DIGITS - 1);
}

/* Counts the tokens of each thread by digit: counts[digit, thread]. */
DEVICE void count_digits(const struct sort *s, uint16_t *counts)
{
    const int64_t first = (int64_t)blockIdx.x * SORT_BLOCK + threadIdx.x * SORT_EACH;
    for (int d = 0; d < DIGITS; d++)
        counts[d * SORT_THREADS + threadIdx.x] = 0;
    for (int64_t i = first; i < first + SORT_EACH && i < s->n; i++)
        counts[digit_of(s, i) * SORT_THREADS + threadIdx.x]++;
}

KERNEL(sort_count, sort, SORT_THREADS)
{
    SHARED(uint16_t, counts);
    count_digits(&a, counts);
    BLOCK_BARRIER();
    for (int d = threadIdx.x; d < DIGITS; d += SORT_THREADS) {
        uint32_t total = 0;
        for (int t = 0; t < SORT_THREADS; t++)
            total += counts[d * SORT_THREADS + t];
        a.counts[d * a.blocks + blockIdx.x] = total;
    }
}

/* Replaces each count by the sum of the counts before it. Each thread handles one digit. */
KERNEL(sort_scan, sort, DIGITS)
{
    SHARED(uint32_t, totals);
    uint32_t *own = a.counts + threadIdx.x * a.blocks, before = 0;
    for (int64_t b = 0; b < a.blocks; b++) {
        uint32_t count = own[b];
        own[b] = before;
        before += count;
    }
    totals[threadIdx.x] = before;
    BLOCK_BARRIER();
    before = 0;
    for (int d = 0; d < (int)threadIdx.x; d++)
        before += totals[d];
    for (int64_t b = 0; b < a.blocks; b++)
        own[b] += before;
}

KERNEL(sort_move, sort, SORT_THREADS)
{
    SHARED(uint16_t, counts);
    const int64_t first = (int64_t)blockIdx.x * SORT_BLOCK + threadIdx.x * SORT_EACH;
    count_digits(&a, counts);
    BLOCK_BARRIER();
    for (int d = threadIdx.x; d < DIGITS; d += SORT_THREADS) {
        uint16_t before = 0;
        for (int t = 0; t < SORT_THREADS; t++) {
            uint16_t count = counts[d * SORT_THREADS + t];
            counts[d * SORT_THREADS + t] = before;
            before += count;
        }
    }
    BLOCK_BARRIER();
    for (int64_t i = first; i < first + SORT_EACH && i < a.n; i++) {
        const int d = digit_of(&a, i);
        const int64_t to = a.counts[d * a.blocks + blockIdx.x] +
                           counts[d * SORT_THREADS + threadIdx.x]++;
        a.keys_to[to] = a.keys[i];
        a.order_to[to] = a.order[i];
    }
}

struct runs {
    const uint32_t *keys, *order;
    struct view dx;
    float *table, *parts; /* parts [pieces, 2, C]: sums for a piece's first and last row */
    int64_t n, C;
};

/* Leaves column i of the sum over a row's sorted tokens begin .. end-1, in the piece from..to-1:
 * adds it to the table if the piece holds all tokens of the row, else stores it in the parts. */
DEVICE void leave_sum(const struct runs *a, int64_t i, int64_t from, int64_t to, int64_t begin,
                      int64_t end, float sum)
{
    const uint32_t key = a->keys[begin];
    float *parts = a->parts + (int64_t)blockIdx.x * 2 * a->C;
    if (begin == from && from > 0 && a->keys[from - 1] == key)
        parts[i] = sum;
    else if (end == to && to < a->n && a->keys[to] == key)
        parts[a->C + i] = sum;
    else
        a->table[key * a->C + i] += sum;
}

/* Each thread sums one column. */
KERNEL(sum_runs, runs, THREADS)
{
    const int64_t i = (int64_t)blockIdx.y * THREADS + threadIdx.x;
    const int64_t from = (int64_t)blockIdx.x * PIECE, to = least(from + PIECE, a.n);
    if (i >= a.C)
        return;
    float sum = 0;
    int64_t begin = from;
    for (int64_t j = from; j < to; j++) {
        if (a.keys[j] != a.keys[begin]) {
            leave_sum(&a, i, from, to, begin, j, sum);
            begin = j;
            sum = 0;
        }
        sum += get(a.dx, a.order[j] * a.C + i);
    }
    leave_sum(&a, i, from, to, begin, to, sum);
}

/* Adds the partial sums of a row that begins in this piece and continues in the next. */
KERNEL(join_runs, runs, THREADS)
{
    const int64_t i = (int64_t)blockIdx.y * THREADS + threadIdx.x;
    const int64_t from = (int64_t)blockIdx.x * PIECE, end = from + PIECE;
    if (i >= a.C || end >= a.n || a.keys[end] != a.keys[end - 1])
        return;
    const uint32_t key = a.keys[end];
    if (from > 0 && a.keys[from - 1] == key) /* the row began in an earlier piece */
        return;
    float sum = a.parts[(int64_t)blockIdx.x * 2 * a.C + a.C + i];
    for (int64_t piece = blockIdx.x + 1; piece * PIECE < a.n && a.keys[piece * PIECE] == key;
         piece++)
        sum += a.parts[piece * 2 * a.C + i];
    a.table[key * a.C + i] += sum;
}

/* Adds each row of dx to its row of `table`, the gradient of the embedding's table `kind`. bits:
 * size of a row number in bits. */
static void table_bwd(struct ops *o, struct ops_array table, int kind, struct ops_array dx,
                      int64_t C, const struct ops_tokens *t, int bits)
{
    const int64_t n = t->N, pieces = div_up(n, PIECE);
    struct sort s;
    s.blocks = div_up(n, SORT_BLOCK);
    uint32_t *work = (uint32_t *)view_of(cuda_room(o, ROOM_SUMS, OPS_U32,
                                                   4 * n + DIGITS * s.blocks + pieces * 2 * C))
                         .at;
    s.t = tokens_of(t);
    s.keys = work;
    s.order = work + n;
    s.keys_to = work + 2 * n;
    s.order_to = work + 3 * n;
    s.counts = work + 4 * n;
    s.n = n;
    s.table = kind;
    LAUNCH(o, sort_keys, div_up(n, THREADS), 1, THREADS, 0, s);
    for (s.shift = 0; s.shift < bits; s.shift += 8) {
        const size_t shared = DIGITS * SORT_THREADS * sizeof(uint16_t);
        LAUNCH(o, sort_count, s.blocks, 1, SORT_THREADS, shared, s);
        LAUNCH(o, sort_scan, 1, 1, DIGITS, DIGITS * sizeof(uint32_t), s);
        LAUNCH(o, sort_move, s.blocks, 1, SORT_THREADS, shared, s);
        uint32_t *keys = s.keys, *order = s.order;
        s.keys = s.keys_to;
        s.order = s.order_to;
        s.keys_to = keys;
        s.order_to = order;
    }
    struct runs r;
    r.keys = s.keys;
    r.order = s.order;
    r.dx = view_of(dx);
    r.table = floats(view_of(table));
    r.parts = (float *)(s.counts + DIGITS * s.blocks);
    r.n = n;
    r.C = C;
    LAUNCH(o, sum_runs, pieces, div_up(C, THREADS), THREADS, 0, r);
    LAUNCH(o, join_runs, pieces, div_up(C, THREADS), THREADS, 0, r);
}

static int bits_of(int64_t rows)
{
    int bits = 0;
    while (rows > (int64_t)1 << bits)
        bits++;
    return bits;
}

EXTERN_C void cuda_embedding_bwd(struct ops *o, const struct ops_embedding *d, struct ops_array dx,
                                 const struct ops_tokens *t)
{
    table_bwd(o, d->words, TABLE_WORDS, dx, d->C, t, 32);
    if (!ops_is_none(d->positions))
        table_bwd(o, d->positions, TABLE_POSITIONS, dx, d->C, t, bits_of(t->first + t->T));
    if (!ops_is_none(d->types))
        table_bwd(o, d->types, TABLE_TYPES, dx, d->C, t, ops_is_none(t->segments) ? 0 : 32);
}

/* ---- rotary positions --------------------------------------------------------------------- */

struct angles {
    float *table;              /* [places, 2, HS/2] cosines and sines */
    const double *frequencies; /* [HS/2] */
    int64_t places, half;
    double scale;
};

KERNEL(make_angles, angles, THREADS)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t place = at / a.half, i = at % a.half;
    if (place >= a.places)
        return;
    const double angle = (double)place * a.frequencies[i];
    a.table[place * 2 * a.half + i] = (float)(a.scale * cos(angle));
    a.table[place * 2 * a.half + a.half + i] = (float)(a.scale * sin(angle));
}

/* Returns the frequencies of the pairs [HS/2] on the device. */
static const double *frequencies_of(struct ops *o, const struct ops_rotary *r)
{
    const int64_t half = r->HS / 2;
    const struct ops_array to = cuda_room(o, ROOM_FREQUENCIES, OPS_F64, half);
    double *frequencies = (double *)device_borrow(o, cuda_bytes(OPS_F64, half));
    for (int64_t i = 0; i < half; i++)
        frequencies[i] = ops_rotary_frequency(r, i);
    device_send(o, to.address, frequencies, cuda_bytes(OPS_F64, half));
    return (const double *)view_of(to).at;
}

/* Returns the table for at least `least` positions. It grows by doubling, so that it is not made
 * again for each token of a text. */
static const float *angles_of(struct ops *o, const struct ops_rotary *r, int64_t least)
{
    struct angles s;
    int64_t places = 64;
    while (places < least)
        places *= 2;
    if (o->angles_places >= places && o->angles_base == r->base && o->angles_HS == r->HS &&
        !memcmp(&o->angles_stretch, &r->stretch, sizeof r->stretch))
        places = o->angles_places;
    else
        o->angles_places = 0;
    s.table = floats(view_of(cuda_room(o, ROOM_ANGLES, OPS_F32, places * r->HS)));
    s.places = places;
    s.half = r->HS / 2;
    s.scale = r->stretch.scale ? r->stretch.scale : 1;
    if (!o->angles_places) {
        cuda_forget_steps(o); /* they need the table as it was */
        s.frequencies = frequencies_of(o, r);
        LAUNCH(o, make_angles, div_up(places * s.half, THREADS), 1, THREADS, 0, s);
    }
    o->angles_base = r->base;
    o->angles_stretch = r->stretch;
    o->angles_HS = r->HS;
    o->angles_places = places;
    return s.table;
}

struct rotation {
    struct tokens t;
    struct view x;
    const float *table;
    int64_t heads, half, ld;
    int back;
};

/* Each thread rotates one pair of numbers. */
KERNEL(rotate, rotation, THREADS)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t i = at % a.half, head = at / a.half % a.heads, n = at / a.half / a.heads;
    if (n >= a.t.N)
        return;
    const float *angle = a.table + place_of(&a.t, n) * 2 * a.half + i;
    const float c = angle[0], s = a.back ? -angle[a.half] : angle[a.half];
    const int64_t low = n * a.ld + head * 2 * a.half + i, high = low + a.half;
    const float x = get(a.x, low), y = get(a.x, high);
    put(a.x, low, x * c - y * s);
    put(a.x, high, y * c + x * s);
}

/* Rotates x in place (ops_rotary). All positions must be below first + T. */
EXTERN_C void cuda_rotate(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                          const struct ops_rotary *r)
{
    struct rotation s;
    s.t = tokens_of(t);
    s.x = view_of(x);
    s.table = angles_of(o, r, t->first + t->T);
    s.heads = r->heads;
    s.half = r->HS / 2;
    s.ld = r->ld;
    s.back = r->back;
    LAUNCH(o, rotate, div_up(t->N * s.heads * s.half, THREADS), 1, THREADS, 0, s);
}
