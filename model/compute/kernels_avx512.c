/* The kernels for x86-64 with AVX-512 F, BW, DQ and VL. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,f16c,bmi,bmi2,prfchw,avx512f,avx512bw,"                        \
                          "avx512dq,avx512vl"))),                                                  \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,prfchw,avx512f,avx512bw,avx512dq,avx512vl")
#pragma GCC target("prefer-vector-width=512")
#endif
#define KERNELS      kernels_avx512
#define KERNELS_NAME "AVX-512 kernels"
#define KERNELS_WORD "avx512"
#define REGISTERS    32
#define WIDTH        16
#include "model/compute/kernels.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
