/* The kernels for ARM64, where every processor has NEON. A tile of 12 rows and 2 vectors takes 24
 * of the 32 registers for its sums, 3 for A and 2 for B: a step loads 5 registers for 24
 * multiply-adds (6 rows and 2 vectors: 8 for 12). In GCC 12's code the loop over steps has 1.6
 * instructions a multiply-add, and 2.1 with the portable tile. */
#if defined(__aarch64__)
#define KERNELS      kernels_neon
#define KERNELS_NAME "NEON kernels"
#define KERNELS_WORD "neon"
#define REGISTERS    32
#define WIDTH        4
#include "model/compute/kernels.inc"
#endif
