/* emulate.c - blocks of threads on the host: see emulate.h. */
#include "tests/emulate/emulate.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"

enum {
    LANES = 32,
    STACK = 256 * 1024,
    SHARED_MOST = 227 * 1024, /* of an H100 */
    WORD_MOST = 32,           /* bytes */
    COPIES_MOST = 256,        /* of a thread under way */
    APART = 17 * 64, /* bytes; stacks at a distance of 2^18 would share few lines of a cache */
};

/* The state of a thread: able to run, waiting at an exchange of its warp or at a barrier of its
 * block, or ended. */
enum state { READY, AT_WARP, AT_BLOCK, DONE };

struct copy {
    void *to;
    const void *from;
    int valid, group;
};

struct thread {
    void *sp; /* while it does not run */
    char *stack;
    enum state state;
    int line;           /* where it waits */
    unsigned exchanges; /* how often it has waited for its warp */
    int copy_count, groups;
};

struct emulated emulated;

static struct {
    struct thread threads[EMULATED_THREADS];
    struct copy copies[EMULATED_THREADS][COPIES_MOST];
    char words[EMULATED_THREADS / LANES][2][LANES * WORD_MOST]; /* that warps exchange */
    char *shared_end; /* of memory behind which nothing is */
    const struct emulated_kernel *kernel;
    const void *arguments;
    int count, order;
    void *scheduler; /* its stack pointer */
    struct thread *current, *warp;
    int turn; /* of the current thread in its warp */
} e;

/* ---- fibers ------------------------------------------------------------------------------- */

/* Pushes the registers that a call preserves on the stack, stores the stack pointer in *from, and
 * continues on the stack `to`. */
void emulated_switch(void **from, void *to);
#if defined(__x86_64__)
__asm__(".globl emulated_switch\n.hidden emulated_switch\n.type emulated_switch, @function\n"
        "emulated_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
enum { SAVED = 7, RETURN = 6 }; /* words of a stack that waits; where to go on */
#elif defined(__aarch64__)
__asm__(".globl emulated_switch\n.hidden emulated_switch\n.type emulated_switch, %function\n"
        "emulated_switch:\n"
        "sub sp, sp, #176\n"
        "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #176\nret\n");
enum { SAVED = 22, RETURN = 11 };
#else
#error "no fibers for this processor"
#endif

/* Returns the number of the thread, warp or block (of n) whose turn comes as number `turn`. */
static int64_t in_order(int64_t turn, int64_t n)
{
    return e.order == 1 ? n - 1 - turn : e.order == 2 ? (turn + n / 2) % n : turn;
}

/* Continues the next thread of the warp that can run, or else the scheduler. */
static void run_next(void **from)
{
    while (++e.turn < LANES) {
        e.current = &e.warp[in_order(e.turn, LANES)];
        if (e.current->state == READY) {
            emulated.thread.x = (unsigned)(e.current - e.threads);
            emulated_switch(from, e.current->sp);
            return;
        }
    }
    if (from != &e.scheduler)
        emulated_switch(from, e.scheduler);
}

static void leave(enum state state, int line)
{
    struct thread *t = e.current;
    t->state = state;
    t->line = line;
    run_next(&t->sp);
}

static void run_thread(void)
{
    e.kernel->run(e.arguments);
    leave(DONE, 0);
    abort(); /* it is not asked for again */
}

static void begin_thread(struct thread *t)
{
    if (!t->stack) {
        t->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (t->stack == MAP_FAILED)
            log_fatal("out of memory");
    }
    /* an odd number: the return address of a call is what makes the stack even */
    void **top = (void **)(void *)(t->stack + STACK - (t - e.threads) % 64 * APART - 64) -
                 (SAVED + SAVED % 2);
    memset(top, 0, SAVED * sizeof *top);
    top[RETURN] = (void *)(uintptr_t)run_thread;
    t->sp = top;
    t->state = READY;
    t->exchanges = 0;
    t->copy_count = t->groups = 0;
}

/* ---- warps and blocks --------------------------------------------------------------------- */

static void fail(const char *what, const struct thread *a, const struct thread *b)
{
    log_fatal("kernel %s: %s: thread %d at line %d, thread %d at line %d", e.kernel->name, what,
              (int)(a - e.threads), a->line, (int)(b - e.threads), b->line);
}

/* Checks that all n threads wait at the same place. */
static void check_together(const struct thread *t, int n, const char *what)
{
    for (int i = 1; i < n; i++)
        if (t[i].state != t[0].state || t[i].line != t[0].line)
            fail(what, &t[0], &t[i]);
}

/* Runs a warp until its threads are at a barrier of the block or have ended. */
static void run_warp(int first)
{
    struct thread *t = e.warp = &e.threads[first];
    for (;;) {
        int together = 0;
        e.turn = -1;
        run_next(&e.scheduler);
        for (int i = 0; i < LANES; i++)
            together += t[i].state == AT_WARP;
        if (!together)
            return;
        check_together(t, LANES, "a warp parts before what it does together");
        for (int i = 0; i < LANES; i++)
            t[i].state = READY;
    }
}

static void run_block(void)
{
    for (int i = 0; i < e.count; i++)
        begin_thread(&e.threads[i]);
    for (;;) {
        for (int w = 0; w < e.count / LANES; w++)
            run_warp((int)in_order(w, e.count / LANES) * LANES);
        check_together(e.threads, e.count, "threads of a block wait at different barriers");
        if (e.threads[0].state == DONE)
            return;
        for (int i = 0; i < e.count; i++)
            e.threads[i].state = READY;
    }
}

static char *shared_memory(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (SHARED_MOST + page - 1) / page * page;
    if (!e.shared_end) {
        char *at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
        if (at == MAP_FAILED || mprotect(at + room, page, PROT_NONE) < 0)
            log_fatal("out of memory");
        e.shared_end = at + room;
    }
    return e.shared_end - (bytes + 15) / 16 * 16;
}

void emulated_run(const struct emulated_kernel *k, const void *arguments, int64_t x, int64_t y,
                  int threads, size_t shared, int order)
{
    e.kernel = k;
    e.arguments = arguments;
    e.count = threads;
    e.order = order;
    if (threads % LANES || shared > SHARED_MOST)
        log_fatal("kernel %s cannot be emulated with %d threads and %zu bytes", k->name, threads,
                  shared);
    emulated.blocks = (struct emulated_dim){ (unsigned)x, (unsigned)y };
    emulated.threads = (struct emulated_dim){ (unsigned)threads, 1 };
    emulated.shared = shared_memory(shared);
    for (int64_t i = 0; i < x * y; i++) {
        int64_t block = in_order(i, x * y);
        emulated.block = (struct emulated_dim){ (unsigned)(block % x), (unsigned)(block / x) };
        memset(emulated.shared, 0xff, shared);
        run_block();
    }
}

void emulated_block_barrier(int line)
{
    leave(AT_BLOCK, line);
}

/* Most words have 4 bytes: the compiler copies these without a call of memcpy. */
static inline void copy_word(void *to, const void *from, size_t bytes)
{
    if (bytes == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, bytes);
}

/* Gives the thread's word to its warp, and waits until all threads of the warp have given theirs.
 * Returns the words of the warp. A thread may reach its next exchange before others have read its
 * word of this one, but no further, so two places are enough. */
static const char *meet(const void *word, size_t bytes, int line)
{
    size_t i = (size_t)(e.current - e.threads);
    char *words = e.words[i / LANES][e.current->exchanges++ % 2];
    assert(bytes <= WORD_MOST);
    copy_word(words + i % LANES * bytes, word, bytes);
    leave(AT_WARP, line);
    return words;
}

void emulated_exchange(void *word, size_t bytes, unsigned lane, int line)
{
    copy_word(word, meet(word, bytes, line) + lane % LANES * bytes, bytes);
}

const void *emulated_gather(const void *word, size_t bytes, int line)
{
    return meet(word, bytes, line);
}

/* ---- asynchronous copies ------------------------------------------------------------------ */

void emulated_copy(void *to, const void *from, int valid)
{
    struct thread *t = e.current;
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16)
        log_fatal("kernel %s: a copy of 16 bytes is not aligned", e.kernel->name);
    assert(t->copy_count < COPIES_MOST);
    e.copies[t - e.threads][t->copy_count++] = (struct copy){ to, from, valid, t->groups };
}

void emulated_commit(void)
{
    e.current->groups++;
}

void emulated_wait(int groups)
{
    struct thread *t = e.current;
    struct copy *copies = e.copies[t - e.threads];
    int kept = 0;
    for (int i = 0; i < t->copy_count; i++) {
        struct copy *c = &copies[i];
        if (c->group >= t->groups - groups)
            copies[kept++] = *c;
        else if (c->valid)
            memcpy(c->to, c->from, 16);
        else
            memset(c->to, 0, 16);
    }
    t->copy_count = kept;
}

/* ---- alignment ---------------------------------------------------------------------------- */

/* The compiler adds a check to each access of memory in a kernel (-fsanitize=alignment), which
 * calls this function. GCC and clang pass this description of the place. */
struct access {
    const char *file;
    uint32_t line, column;
};

void __ubsan_handle_type_mismatch_v1_abort(const struct access *a, uintptr_t at);
void __ubsan_handle_type_mismatch_v1_abort(const struct access *a, uintptr_t at)
{
    log_fatal("kernel %s: an access of memory at %zx is not aligned: %s:%u",
              e.kernel ? e.kernel->name : "?", (size_t)at, a->file, a->line);
}
