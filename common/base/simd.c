#include "common/base/simd.h"

int simd_chosen = -1;

static int has_level(enum simd_level level)
{
#if defined(__x86_64__)
    if (level == SIMD_AVX512)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
               __builtin_cpu_supports("avx512vbmi2");
    if (level == SIMD_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("pclmul");
#endif
    return level == SIMD_PLAIN;
}

int simd_use(enum simd_level level)
{
    if (!has_level(level))
        return -1;
    __atomic_store_n(&simd_chosen, (int)level, __ATOMIC_RELAXED);
    return 0;
}

enum simd_level simd_find(void)
{
    int level = SIMD_LEVELS - 1;
    while (simd_use((enum simd_level)level) < 0)
        level--;
    return (enum simd_level)level;
}
