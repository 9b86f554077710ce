/*
 * kernels_avx512_bf16.c - the kernels for x86-64 with AVX-512 F, BW, DQ, VL, VNNI and BF16 (2020
 * and later), and those for AMX (2023), which differ only in their products in bf16, with weights
 * in bf16 and of blocks of integers.
 */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,f16c,bmi,bmi2,prfchw,avx512f,avx512bw,"                        \
                          "avx512dq,avx512vl,avx512vnni,avx512bf16,amx-tile,amx-bf16,amx-int8"))), \
    apply_to = function)
#else
#pragma GCC target(                                                                                \
    "avx2,fma,f16c,bmi,bmi2,prfchw,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,amx-tile,amx-bf16,amx-int8")
#pragma GCC target("prefer-vector-width=512")
#endif
#define KERNELS      kernels_avx512_bf16
#define KERNELS_NAME "AVX-512 BF16 kernels"
#define KERNELS_WORD "avx512-bf16"
#define REGISTERS    32
#define WIDTH        16
#define HAS_BF16
#define HAS_VNNI
#define HAS_AMX
#include "model/compute/kernels.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
