#include "wikiprep/input/bunzip.h"

#include <pthread.h>

#include "wikiprep/input/bzpiece.h"
#include "wikiprep/input/bzrun.h"

enum { PIECES_A_THREAD = 4 }; /* pieces decoded ahead, for each thread after the first */

int bunzip_recognises(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    if (n < 5 || memcmp(p, "BZh", 3) || p[3] < '1' || p[3] > '9')
        return 0;
    size_t there = n - 4 < 6 ? n - 4 : 6; /* bytes of BZBLOCK_BEGIN or BZBLOCK_STREAM_END */
    return !memcmp(p + 4, "1AY&SY", there) || !memcmp(p + 4, "\x17rE8P\x90", there);
}

/* ---- working: many threads ---------------------------------------------------------------- */

struct bunzip {
    struct bunzip_source from;
    struct bzcutter cutter;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct bzblock_tables **spare; /* unused tables, at most one per thread */
    int spare_count;
    struct bzpiece *ring;            /* piece i is ring[i mod ring_count] */
    uint64_t ring_count, taken, cut; /* its size; numbers of pieces taken by the reader, and cut */
    int cutting, ended;

    /* Used only by the reader: */
    struct bzpiece piece; /* the current piece */
    uint64_t at;          /* bit position in the file up to which all is read */
    int in_stream, level; /* 1: inside a stream; level of that stream */
    int resumed;          /* reading began inside the stream: its checksum is not checked */
    uint32_t checksum;    /* combined checksum of the stream's blocks */
    size_t place, run;    /* indices in the block: next byte, next run count */
    unsigned repeat;      /* how often to repeat the last byte of the run */
    int giving;           /* a block is being returned */
    char *error;          /* error to report, or NULL */
    uint64_t damage;      /* bit position of the error */
    int starting;         /* the first block must still be found */
    uint64_t mark, given_to_mark;
    uint64_t given;
};

/* Returns 1 if a thread can cut and decode a piece now, else 0. Called with the lock held. A piece
 * that begins at b->mark or later is decoded only if `wanted` is 1: the reader waits for it. */
static int has_job(const struct bunzip *b, int wanted)
{
    return !b->ended && !b->cutting && b->cut - b->taken < b->ring_count &&
           (wanted || b->cutter.begin < b->mark);
}

/* Decodes a block. To be called without the lock held. */
static void decode(struct bunzip *b, struct bzblock *block)
{
    pthread_mutex_lock(&b->lock);
    struct bzblock_tables *tables = b->spare_count ? b->spare[--b->spare_count]
                                                   : bzblock_tables_new();
    pthread_mutex_unlock(&b->lock);
    bzblock_decode(tables, block);
    pthread_mutex_lock(&b->lock);
    b->spare[b->spare_count++] = tables;
    pthread_mutex_unlock(&b->lock);
}

static void do_job(struct bunzip *b)
{
    struct bzpiece *p = &b->ring[b->cut % b->ring_count];
    b->cutting = 1;
    pthread_mutex_unlock(&b->lock);
    int got = bzpiece_cut(&b->cutter, p);
    pthread_mutex_lock(&b->lock);
    p->done = 0;
    b->cut += got > 0;
    b->cutting = 0;
    b->ended = !got;
    pthread_cond_broadcast(&b->changed);
    if (!got)
        return;
    if (p->kind == BZPIECE_BLOCK) {
        pthread_mutex_unlock(&b->lock);
        decode(b, &p->block);
        pthread_mutex_lock(&b->lock);
    }
    p->done = 1;
    pthread_cond_broadcast(&b->changed);
}

int bunzip_help(struct bunzip *b)
{
    pthread_mutex_lock(&b->lock);
    int can = has_job(b, 0);
    if (can)
        do_job(b);
    pthread_mutex_unlock(&b->lock);
    return can;
}

/* Waits for the next piece and returns it decoded; NULL if there are no more. While it waits, the
 * thread works on other pieces. Called with the lock held. */
static struct bzpiece *await_piece(struct bunzip *b)
{
    struct bzpiece *next = &b->ring[b->taken % b->ring_count];
    for (;;) {
        int there = b->cut > b->taken;
        if (there && next->done)
            return next;
        if (!there && b->ended)
            return NULL;
        if (has_job(b, !there))
            do_job(b);
        else
            pthread_cond_wait(&b->changed, &b->lock);
    }
}

/* ---- reading: in order -------------------------------------------------------------------- */

static int fail_at(struct bunzip *b, uint64_t bit, const char *why)
{
    b->damage = bit;
    uint64_t at = b->from.place ? b->from.place(b->from.ctx, bit / 8) : bit / 8;
    return err_set("cannot unpack '%s' at byte %" PRIu64 " (%" PRIu64 " unpacked): %s",
                   b->from.name, at, b->given, why);
}

static int fail_cut_short(struct bunzip *b)
{
    if (b->cutter.error) /* reading failed, before the end of the file */
        return err_set("%s", b->cutter.error);
    return fail_at(b, b->piece.end, "truncated bzip2 input");
}

/* Makes the next piece the current one or, with `join` 1, appends it to the current one. Returns 1,
 * or 0 at the end of the file. */
static int next_piece(struct bunzip *b, int join)
{
    pthread_mutex_lock(&b->lock);
    struct bzpiece *next = await_piece(b);
    if (next) {
        struct bzpiece keep = b->piece;
        if (join) {
            bzpiece_join(&b->piece, next);
        } else {
            b->piece = *next;
            *next = keep;
        }
        b->taken++;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return next != NULL;
}

/* Returns 1 if n more bits are available, else 0. Joins further pieces if needed. */
static int has_bits(struct bunzip *b, uint64_t n)
{
    while (b->piece.end - b->at < n)
        if (!next_piece(b, 1))
            return 0;
    return 1;
}

static uint32_t get(struct bunzip *b, int n)
{
    uint32_t v = bzblock_bits(b->piece.packed, b->at - 8 * bzpiece_offset(&b->piece), n);
    b->at += (uint64_t)n;
    return v;
}

/* Returns 1 if the block whose marker is at bit `at` of the current piece is undamaged, on the
 * assumption that it ends at the next marker. Else returns 0. */
static int is_whole(struct bunzip *b, uint64_t at)
{
    struct bzpiece *p = &b->piece;
    struct bzblock *block = &p->block;
    uint64_t magic, next = bzpiece_find(p, at + 1, &magic);
    bzpiece_set_block(p, at, next == UINT64_MAX ? p->end : next);
    decode(b, block);
    return block->state == BZBLOCK_GOOD;
}

/* Returns the position of the first undamaged block at or after bit `from` in the current piece;
 * UINT64_MAX if there is none. */
static uint64_t whole_block(struct bunzip *b, uint64_t from)
{
    for (uint64_t at, magic;; from = at + 1) {
        at = bzpiece_find(&b->piece, from, &magic);
        if (at == UINT64_MAX || (magic == BZBLOCK_BEGIN && is_whole(b, at)))
            return at;
    }
}

/* Returns the position of the first undamaged block after the damage, in this piece or a later one;
 * UINT64_MAX if there is none. */
static uint64_t find_block(struct bunzip *b)
{
    const struct bzpiece *p = &b->piece;
    uint64_t at = whole_block(b, b->damage);
    while (at == UINT64_MAX && next_piece(b, 0))
        if (p->kind == BZPIECE_BLOCK && p->block.state == BZBLOCK_GOOD)
            at = p->begin;
    return at;
}

/* Skips zero bytes between streams and reads a stream header. Returns 1, 0 at the end of the file,
 * or -1 with the error set. */
static int read_header(struct bunzip *b)
{
    static const char no_stream[] = "neither a bzip2 stream nor the end of the file";
    uint64_t begin;
    uint32_t byte;
    do {
        if (b->at == b->piece.end && !next_piece(b, 0))
            return b->cutter.error ? fail_cut_short(b) : 0;
        begin = b->at;
        if (!has_bits(b, 8))
            return fail_cut_short(b);
    } while (!(byte = get(b, 8)));
    for (const char *s = "BZh"; *s; s++) {
        if (byte != (uint8_t)*s)
            return fail_at(b, begin, no_stream);
        if (!has_bits(b, 8))
            return fail_cut_short(b);
        byte = get(b, 8);
    }
    if (byte < '1' || byte > '9')
        return fail_at(b, begin, no_stream);
    b->level = (int)byte - '0';
    b->in_stream = 1;
    b->resumed = 0;
    b->checksum = 0;
    return 1;
}

static int end_stream(struct bunzip *b)
{
    uint64_t begin = b->at, end = (begin + 80 + 7) / 8 * 8;
    if (!has_bits(b, end - begin))
        return fail_cut_short(b);
    b->at += 48;
    if (get(b, 32) != b->checksum && !b->resumed)
        return fail_at(b, begin, "the stream's checksum does not match");
    b->at = end;
    b->in_stream = 0;
    return 0;
}

/* Decodes the block that begins at b->at, unless a helper did. If it continues after the current
 * piece because a marker was data, joins more pieces. The joined size at least doubles each time,
 * so a file full of false markers cannot take forever. Returns 0, or -1 with an error. */
static int decode_here(struct bunzip *b)
{
    struct bzpiece *p = &b->piece;
    struct bzblock *block = &p->block;
    uint64_t magic;
    int decoded = p->kind == BZPIECE_BLOCK && p->begin == b->at;
    for (;;) {
        if (!decoded) {
            bzpiece_set_block(p, b->at, p->end);
            decode(b, block);
        }
        if (block->state != BZBLOCK_CUT)
            return 0;
        uint64_t had = p->end;
        has_bits(b, 2 * (had - b->at));
        if (p->end == had && bzpiece_find(p, b->at + 1, &magic) != UINT64_MAX)
            return fail_at(b, b->at, "damaged bzip2 block: it has no end");
        if (p->end == had)
            return fail_cut_short(b);
        decoded = 0;
    }
}

/* Decodes the block that begins at b->at and prepares it for give(). Returns 0, or -1 on error. */
static int take_block(struct bunzip *b)
{
    struct bzblock *block = &b->piece.block;
    if (decode_here(b) < 0)
        return -1;
    if (block->state == BZBLOCK_GOOD && block->count > 100000 * (size_t)b->level) {
        block->state = BZBLOCK_BAD;
        block->why = "damaged bzip2 block: it is longer than its stream's level allows";
    }
    if (block->state == BZBLOCK_BAD)
        return fail_at(b, b->at, block->why);
    if (b->at >= b->mark && b->given_to_mark == UINT64_MAX)
        b->given_to_mark = b->given;
    b->checksum = (b->checksum << 1 | b->checksum >> 31) ^ block->crc;
    b->at = block->after + 8 * bzpiece_offset(&b->piece);
    b->place = b->repeat = 0;
    b->run = bzrun_next(block->bytes, 0, block->count);
    b->giving = 1;
    return 0;
}

/* Moves b->at to the first block of the current piece that decodes without damage: a marker may be
 * data. Returns 1, 0 if there is none, or -1 with the error set. */
static int start_in_piece(struct bunzip *b)
{
    uint64_t magic;
    for (b->at = b->piece.begin; (b->at = bzpiece_find(&b->piece, b->at, &magic)) != UINT64_MAX;
         b->at++) {
        if (magic != BZBLOCK_BEGIN)
            continue;
        if (decode_here(b) < 0)
            return -1;
        if (b->piece.block.state == BZBLOCK_GOOD)
            return 1;
    }
    return 0;
}

/* Moves to the first good block in the input, which begins inside a file. Skips damaged blocks: the
 * reader of the part before reads them too. Returns 1, 0 if there is no good block, or -1 with the
 * error set. */
static int start(struct bunzip *b)
{
    int found = 0;
    while (!found && next_piece(b, 0))
        found = start_in_piece(b);
    b->starting = !found;
    b->in_stream = b->resumed = 1;
    b->level = BZBLOCK_MAX / 100000; /* the stream's level is unknown: allow the largest */
    return found || !b->cutter.error ? found : fail_cut_short(b);
}

/* Moves to the next block. Returns 1, 0 at the end of the file, or -1 with the error set. */
static int next_block(struct bunzip *b)
{
    int started = b->starting ? start(b) : 1;
    if (started <= 0)
        return started;
    for (;;) {
        int in_stream = b->in_stream ? 1 : read_header(b);
        if (in_stream <= 0)
            return in_stream;
        if ((b->at == b->piece.end && !next_piece(b, 0)) || !has_bits(b, 48))
            return fail_cut_short(b);
        uint64_t begin = b->at, magic = (uint64_t)get(b, 24) << 24;
        magic |= get(b, 24);
        b->at = begin;
        if (magic == BZBLOCK_BEGIN)
            return take_block(b) < 0 ? -1 : 1;
        if (magic != BZBLOCK_STREAM_END)
            return fail_at(b, begin, "neither a bzip2 block nor the end of a stream");
        if (end_stream(b) < 0)
            return -1;
    }
}

/* Copies at most `room` bytes of the current block to `out`, with runs expanded. Returns their
 * number. */
static size_t give(struct bunzip *b, uint8_t *out, size_t room)
{
    const struct bzblock *block = &b->piece.block;
    const size_t whole = room;
    while (room) {
        size_t n = b->repeat ? b->repeat : b->run - b->place;
        if (n > room)
            n = room;
        if (b->repeat) {
            memset(out, block->bytes[b->place - 2], n);
            b->repeat -= (unsigned)n;
        } else {
            memcpy(out, block->bytes + b->place, n);
            b->place += n;
        }
        out += n;
        room -= n;
        if (b->repeat || b->place < b->run)
            continue;
        if (b->place == block->count) {
            b->giving = 0;
            break;
        }
        if (b->place == b->run) {
            b->repeat = block->bytes[b->place++];
            b->run = bzrun_next(block->bytes, b->place, block->count);
        }
    }
    return whole - room;
}

int64_t bunzip_read(struct bunzip *b, void *bytes, size_t n)
{
    size_t got = 0;
    while (!got && n) {
        if (b->error)
            return err_set("%s", b->error);
        if (b->giving) {
            got = give(b, bytes, n);
            b->given += got;
            continue;
        }
        int more = next_block(b);
        if (more < 0)
            b->error = mem_strdup(err_get());
        if (more <= 0)
            return more;
    }
    return (int64_t)got;
}

int bunzip_resume(struct bunzip *b)
{
    if (!b->error || b->cutter.error)
        return 0;
    uint64_t at = find_block(b);
    if (at == UINT64_MAX)
        return 0;
    b->at = at;
    b->in_stream = b->resumed = 1;
    b->level = BZBLOCK_MAX / 100000; /* the stream's level is unknown: allow the largest */
    free(b->error);
    b->error = NULL;
    return 1;
}

void bunzip_set_part(struct bunzip *b, int in_middle, uint64_t end)
{
    b->starting = in_middle;
    b->mark = 8 * end;
}

uint64_t bunzip_part_end(const struct bunzip *b)
{
    return b->given_to_mark;
}

uint64_t bunzip_packed(const struct bunzip *b)
{
    return b->at / 8;
}

/* ---- life --------------------------------------------------------------------------------- */

struct bunzip *bunzip_new(const struct bunzip_source *from, int threads)
{
    struct bunzip *b = mem_zalloc(1, sizeof *b);
    b->from = *from;
    b->cutter = (struct bzcutter){ .pull = from->pull, .ctx = from->ctx };
    b->mark = b->given_to_mark = UINT64_MAX;
    b->spare = mem_zalloc((size_t)threads, sizeof *b->spare);
    b->ring_count = 1 + (uint64_t)PIECES_A_THREAD * (uint64_t)(threads - 1);
    b->ring = mem_zalloc((size_t)b->ring_count, sizeof *b->ring);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    return b;
}

void bunzip_free(struct bunzip *b)
{
    if (!b)
        return;
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    for (uint64_t i = 0; i < b->ring_count; i++)
        bzpiece_release(&b->ring[i]);
    bzpiece_release(&b->piece);
    while (b->spare_count)
        bzblock_tables_free(b->spare[--b->spare_count]);
    free(b->spare);
    bzcutter_release(&b->cutter);
    free(b->error);
    free(b->ring);
    free(b);
}
