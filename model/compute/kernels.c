/* kernels.c - lists the kernels that this processor can run, and chooses one of them. */
#include "model/compute/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static int has_avx512_bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512bf16");
}

/* Returns 1 if AMX can be used. Its registers are large, so Linux enables them only on request. */
static int has_amx(void)
{
    enum { FEATURES = 7, BF16_BIT = 1 << 22, TILE_BIT = 1 << 24, INT8_BIT = 1 << 25 };
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d = 0;
    return has_avx512_bf16() && __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) && d & BF16_BIT &&
           d & TILE_BIT && d & INT8_BIT &&
           !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}

static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); /* and F16C */
}
#endif

static int any(void)
{
    return 1;
}

/* The sets of kernels, the fastest first. */
static const struct {
    const struct kernels *k;
    int (*runs)(void);
    const char *f32, *bf16; /* names of the arithmetic */
} sets[] = {
#if defined(__x86_64__)
    { &kernels_amx, has_amx, "x86", "AMX" },
    { &kernels_avx512_bf16, has_avx512_bf16, "x86", "x86" },
    { &kernels_avx512, has_avx512, "x86", "x86" },
    { &kernels_avx2, has_avx2, "x86", "x86" },
#elif defined(__aarch64__)
    { &kernels_neon, any, "NEON", "NEON" },
#endif
    { &kernels_plain, any, "plain", "plain" },
};

const char *kernels_arithmetic(const struct kernels *k, enum ops_type precision)
{
    size_t s = 0;
    while (sets[s].k != k)
        s++;
    return precision == OPS_BF16 ? sets[s].bf16 : sets[s].f32;
}

const struct kernels *kernels_set(int i)
{
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        if (sets[s].runs() && i-- == 0)
            return sets[s].k;
    return NULL;
}

const struct kernels *kernels_choose(void)
{
    const struct kernels *k;
    const char *wanted = getenv("TEXTMILL_KERNELS");
    if (!wanted)
        return kernels_set(0);
    for (int i = 0; (k = kernels_set(i)); i++)
        if (!strcmp(k->word, wanted))
            return k;
    err_set("cannot use the kernels '%s' of TEXTMILL_KERNELS: this processor does not run them, or "
            "there are none of that name",
            wanted);
    return NULL;
}
