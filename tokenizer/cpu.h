/*
 * cpu.h - which instructions the processor has.
 */
#ifndef TEXTMILL_CPU_H
#define TEXTMILL_CPU_H

enum cpu_level {
    CPU_PLAIN, /* what the compiler may use anyway */
    CPU_AVX2,
    CPU_AVX512, /* F, BW and VBMI2 */
    CPU_LEVELS,
};

extern int cpu_chosen; /* -1: not yet */
enum cpu_level cpu_find(void);

/* The best level that the processor has. */
static inline enum cpu_level cpu_level(void)
{
    int level = __atomic_load_n(&cpu_chosen, __ATOMIC_RELAXED);
    return level < 0 ? cpu_find() : (enum cpu_level)level;
}

/* For tests: goes by this level from now on. -1 if the processor is below it. */
int cpu_use(enum cpu_level level);

#endif
