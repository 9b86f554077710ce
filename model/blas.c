#include "model/blas.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

/* The C interface of BLAS, as OpenBLAS exports it; its header is not needed to load it. */
typedef void sgemm_fn(int order, int a_form, int b_form, int M, int N, int K, float alpha,
                      const float *A, int lda, const float *B, int ldb, float beta, float *C,
                      int ldc);
enum { ROW_MAJOR = 101 };

static sgemm_fn *sgemm;
static char description[96];

/* ---- the environment around the load -------------------------------------------------------- */

/* What OpenBLAS and an OpenMP under it read when they are loaded. */
static const char *const variables[] = { "OPENBLAS_CORETYPE",    "OPENBLAS_L2_SIZE",
                                         "OPENBLAS_BLOCK_FACTOR", "OPENBLAS_NUM_THREADS",
                                         "GOTO_NUM_THREADS",      "OMP_NUM_THREADS",
                                         "OPENBLAS_MAIN_FREE",    "OPENBLAS_VERBOSE" };
enum { VARIABLES = sizeof variables / sizeof *variables };

static void save_environment(char *saved[VARIABLES])
{
    for (int i = 0; i < VARIABLES; i++) {
        const char *value = getenv(variables[i]);
        saved[i] = value ? mem_strdup(value) : NULL;
        unsetenv(variables[i]);
    }
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
#if defined(__x86_64__)
    /* The kernels that OpenBLAS picks by itself on processors with bf16 are 3 to 9 % slower. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
#endif
}

static void restore_environment(char *saved[VARIABLES])
{
    for (int i = 0; i < VARIABLES; i++) {
        if (saved[i])
            setenv(variables[i], saved[i], 1);
        else
            unsetenv(variables[i]);
        free(saved[i]);
    }
}

/* ---- finding it --------------------------------------------------------------------------- */

/* The linker's path first; then where Debian keeps the flavours, the single-threaded first. */
static void *open_library(void)
{
    static const char *const names[] = {
        "libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0",
        "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0",
        "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "libopenblas.so",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

/* dlsym gives an object pointer; POSIX says that it may be copied into a function pointer. */
static void look_up(void *function, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static void describe(void *library)
{
    char *(*config)(void), *(*core)(void);
    look_up(&config, library, "openblas_get_config");
    look_up(&core, library, "openblas_get_corename");
    char version[32] = "";
    if (config)
        sscanf(config(), "%*s %31s", version);
    snprintf(description, sizeof description, "OpenBLAS%s%s%s%s", *version ? " " : "", version,
             core ? " " : "", core ? core() : "");
}

static void load(void)
{
    char *saved[VARIABLES];
    save_environment(saved);
    void *library = open_library();
    if (library)
        look_up(&sgemm, library, "cblas_sgemm");
    if (sgemm) {
        void (*set_threads)(int);
        look_up(&set_threads, library, "openblas_set_num_threads");
        if (set_threads)
            set_threads(1);
        describe(library);
    }
    restore_environment(saved);
}

int blas_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!sgemm)
        return err_set("cannot load the matrix library: no libopenblas.so.0 with cblas_sgemm "
                       "(Debian package libopenblas0-openmp, -serial or -pthread)");
    return 0;
}

const char *blas_describe(void)
{
    return description;
}

void blas_gemm(enum blas_form a_form, enum blas_form b_form, int64_t M, int64_t N, int64_t K,
               float alpha, const float *A, int64_t lda, const float *B, int64_t ldb, float beta,
               float *C, int64_t ldc)
{
    assert(M <= INT_MAX && N <= INT_MAX && K <= INT_MAX && lda <= INT_MAX && ldb <= INT_MAX &&
           ldc <= INT_MAX);
    sgemm(ROW_MAJOR, (int)a_form, (int)b_form, (int)M, (int)N, (int)K, alpha, A, (int)lda, B,
          (int)ldb, beta, C, (int)ldc);
}
