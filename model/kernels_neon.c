/* The kernels for ARM64, where every processor has NEON. */
#if defined(__aarch64__)
#define KERNELS      kernels_neon
#define KERNELS_NAME "NEON kernels"
#define KERNELS_WORD "neon"
#define REGISTERS    32
#define WIDTH        4
#include "model/kernels.inc"
#endif
