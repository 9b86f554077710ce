/* The kernels for x86-64 with AVX2 and FMA (2013 and later). */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,prfchw"))),             \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,prfchw")
#endif
#define KERNELS      kernels_avx2
#define KERNELS_NAME "AVX2 kernels"
#define KERNELS_WORD "avx2"
#define REGISTERS    16
#define WIDTH        8
#include "model/compute/kernels.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
