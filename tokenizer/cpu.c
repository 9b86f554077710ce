#include "tokenizer/cpu.h"

int cpu_chosen = -1;

static int has_level(enum cpu_level level)
{
#if defined(__x86_64__)
    if (level == CPU_AVX512)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
    if (level == CPU_AVX2)
        return __builtin_cpu_supports("avx2");
#endif
    return level == CPU_PLAIN;
}

int cpu_use(enum cpu_level level)
{
    if (!has_level(level))
        return -1;
    __atomic_store_n(&cpu_chosen, (int)level, __ATOMIC_RELAXED);
    return 0;
}

enum cpu_level cpu_find(void)
{
    int level = CPU_LEVELS - 1;
    while (cpu_use((enum cpu_level)level) < 0)
        level--;
    return (enum cpu_level)level;
}
