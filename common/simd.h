/*
 * simd.h - which instructions the processor has.
 */
#ifndef TEXTMILL_COMMON_SIMD_H
#define TEXTMILL_COMMON_SIMD_H

enum simd_level {
    SIMD_PLAIN, /* what the compiler may use anyway */
    SIMD_AVX2,
    SIMD_AVX512, /* F, BW, VBMI and VBMI2 */
    SIMD_LEVELS,
};

extern int simd_chosen; /* -1: not yet */
enum simd_level simd_find(void);

/* The best level that the processor has. */
static inline enum simd_level simd_level(void)
{
    int level = __atomic_load_n(&simd_chosen, __ATOMIC_RELAXED);
    return level < 0 ? simd_find() : (enum simd_level)level;
}

/* For tests: goes by this level from now on. -1 if the processor is below it. */
int simd_use(enum simd_level level);

#endif
