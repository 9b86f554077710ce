#include "wikiprep/input/bzchain.h"

enum {
    CUTS = 1024,
    LANE_BYTES = BZCHAIN_MAX +
                 64 * 7 /* not a power of two, so that lanes use different cache sets */
};

static const uint32_t CUT = UINT32_C(1) << 31;

struct segment {
    const uint8_t *bytes;
    size_t length;
    uint32_t next; /* row at which the next segment begins */
};

struct bzchain {
    /* For each row: (the next row << 8) | its byte in the last column. CUT is set if a segment
     * begins at the row. Row n is its own successor. */
    uint32_t *next;
    uint8_t *lanes; /* output buffers of LANE_BYTES per lane */
    struct segment segments[CUTS + 1];

    /* While segments are followed: */
    uint32_t rows_a_cut, first; /* segments begin at multiples of rows_a_cut, and at `first` */
    uint32_t regular, count;    /* number of segments at multiples, and of all segments */
    uint32_t begun;
    int busy; /* number of lanes that follow a segment */
    struct {
        struct segment *at;
        size_t from; /* offset in the lane's buffer where the segment begins */
    } lane[BZCHAIN_LANES];
};

struct bzchain *bzchain_new(void)
{
    struct bzchain *c = mem_zalloc(1, sizeof *c);
    c->next = mem_huge(BZCHAIN_MAX + 1, sizeof *c->next); /* read at random */
    c->lanes = mem_alloc((size_t)BZCHAIN_LANES * LANE_BYTES);
    return c;
}

void bzchain_free(struct bzchain *c)
{
    if (!c)
        return;
    free(c->next);
    free(c->lanes);
    free(c);
}

/* Sorts the column: sets next[] (bzchain.h), each entry with the row in its upper 24 bits and the
 * column's byte in its lower 8. Two parts of the column are sorted at the same time, because each
 * write for a byte value must wait for the write before it with the same value. */
static void sort_column(uint32_t *next, const struct bzchain_column *column)
{
    const uint8_t *bytes = column->bytes;
    uint32_t low[256], high[256], sum = 0; /* next row for each byte value, per part */
    for (int b = 0; b < 256; b++) {
        low[b] = sum;
        high[b] = sum + column->before[b];
        sum += column->occurs[b];
    }
    uint32_t i = 0, j = (uint32_t)column->middle;
    for (; i < column->middle && j < column->n; i++, j++) {
        next[low[bytes[i]]++] = i << 8 | bytes[i];
        next[high[bytes[j]]++] = j << 8 | bytes[j];
    }
    for (; i < column->middle; i++)
        next[low[bytes[i]]++] = i << 8 | bytes[i];
    for (; j < column->n; j++)
        next[high[bytes[j]]++] = j << 8 | bytes[j];
}

static void cut_cycle(struct bzchain *c, size_t n, uint32_t first)
{
    c->rows_a_cut = (uint32_t)(n / CUTS + 1);
    c->regular = 0;
    for (size_t row = 0; row < n; row += c->rows_a_cut, c->regular++)
        c->next[row] |= CUT;
    c->next[first] |= CUT;
    c->next[n] = (uint32_t)n << 8;
    c->first = first;
    c->count = c->regular + (first % c->rows_a_cut != 0);
    c->begun = 0;
}

/* Gives the lane the next segment that no lane has begun; the segment's output begins at byte
 * `from` of the lane's buffer. Returns the entry of c->next with which the segment begins: the next
 * row in the upper 24 bits, the byte to write in the lower 8, without CUT. If no segment is left,
 * returns an entry that leads to row n, where a lane stays. */
static uint32_t begin_segment(struct bzchain *c, int lane, size_t from, size_t n)
{
    if (c->begun == c->count) {
        c->busy--;
        return (uint32_t)n << 8;
    }
    uint32_t id = c->begun++;
    c->lane[lane].at = &c->segments[id];
    c->lane[lane].from = from;
    return c->next[id < c->regular ? id * c->rows_a_cut : c->first] & ~CUT;
}

/* Ends the segment of a lane that reached `row`, where another segment begins. The segment's output
 * ends before byte `to` of the lane's buffer. Gives the lane another segment, and returns the entry
 * with which that begins, as begin_segment does. */
static uint32_t end_segment(struct bzchain *c, int lane, uint32_t row, size_t to, size_t n)
{
    struct segment *s = c->lane[lane].at;
    s->bytes = c->lanes + (size_t)lane * LANE_BYTES + c->lane[lane].from;
    s->length = to - c->lane[lane].from;
    s->next = row;
    return begin_segment(c, lane, to, n);
}

/* Follows all segments. A lane without a segment stays at row n until all lanes are done. */
static void follow_segments(struct bzchain *c, size_t n)
{
    const uint32_t *next = c->next;
    uint8_t *to = c->lanes;
    uint32_t entry[BZCHAIN_LANES];
    c->busy = BZCHAIN_LANES;
    for (int k = 0; k < BZCHAIN_LANES; k++)
        entry[k] = begin_segment(c, k, 0, n);
    for (size_t i = 0; c->busy; i++) {
#pragma GCC unroll 32
        for (int k = 0; k < BZCHAIN_LANES; k++) {
            to[(size_t)k * LANE_BYTES + i] = (uint8_t)entry[k];
            uint32_t row = entry[k] >> 8, e = next[row];
            entry[k] = __builtin_expect(e & CUT, 0) ? end_segment(c, k, row, i + 1, n) : e;
        }
    }
}

static void join_segments(const struct bzchain *c, size_t n, uint8_t *text)
{
    uint32_t row = c->first;
    for (size_t got = 0; got < n;) {
        uint32_t id = row % c->rows_a_cut ? c->regular : row / c->rows_a_cut;
        const struct segment *s = &c->segments[id];
        size_t length = s->length < n - got ? s->length : n - got;
        memcpy(text + got, s->bytes, length);
        got += length;
        row = s->next;
    }
}

void bzchain_invert(struct bzchain *c, const struct bzchain_column *column, uint32_t first,
                    uint8_t *text)
{
    size_t n = column->n;
    sort_column(c->next, column);
    cut_cycle(c, n, first);
    follow_segments(c, n);
    join_segments(c, n, text);
}
