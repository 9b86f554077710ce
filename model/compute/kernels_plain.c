/* The kernels for any processor. */
#define KERNELS      kernels_plain
#define KERNELS_NAME "portable kernels"
#define KERNELS_WORD "portable"
#define REGISTERS    16
#define WIDTH        4
#include "model/compute/kernels.inc"
