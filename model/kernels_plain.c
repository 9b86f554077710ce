/* The kernels for any processor. */
#define KERNELS      kernels_plain
#define KERNELS_NAME "portable kernels"
#define WIDTH        4
#include "model/kernels.inc"

const struct kernels *kernels_choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512bf16") ? &kernels_avx512_bf16 : &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_plain;
}
