/*
 * simd.h - finds the vector instructions that the processor has.
 */
#pragma once

enum simd_level {
    SIMD_PLAIN,  /* instructions that every processor of this architecture has */
    SIMD_AVX2,   /* also BMI 1 and 2, and products without carry */
    SIMD_AVX512, /* F, BW, DQ, VL, VBMI and VBMI2 */
    SIMD_LEVELS,
};

extern int simd_chosen;          /* the level in use; -1: not determined yet */
enum simd_level simd_find(void); /* for simd_level: finds the best level and stores it */

/* Returns the level in use: the processor's best one, or the one set by simd_use. */
static inline enum simd_level simd_level(void)
{
    int level = __atomic_load_n(&simd_chosen, __ATOMIC_RELAXED);
    return level < 0 ? simd_find() : (enum simd_level)level;
}

/* For tests: uses this level from now on. Returns 0, or -1, without an error set, if the
 * processor does not support it. */
int simd_use(enum simd_level level);
