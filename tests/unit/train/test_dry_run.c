/* The lines of a plan, beside each other and beside plain calculations. */
#include "train/dry_run.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "common/base/err.h"

static struct buf out;

/* Sets `out` to the lines for a tiny model of generated data. */
static void print(const struct settings *change)
{
    const char *generated = "generated";
    struct settings s = *change;
    struct plan p;
    buf_release(&out);
    out = buf_format("\n");
    s.data = (struct opt_list){ &generated, 1, 1 };
    s.dry_run = 1;
    s.tensor_parallel = s.tensor_parallel ? s.tensor_parallel : 1;
    s.tensor_width = s.pipeline_parallel = s.pipeline_interleave = 1;
    s.leaf_rounds = 1;
    s.model.layers = 2;
    s.model.width = 16;
    s.model.heads = 2;
    s.model.vocabulary = 50;
    s.sequence_length = 8;
    s.micro_batch_size = 2;
    s.global_batch_size = 16;
    cr_assert_eq(plan_make(&p, &s, 1, 0), 0, "%s", err_get());
    cr_assert_eq(dry_run_print(&p, &out), 0, "%s", err_get());
    plan_release(&p);
}

/* Returns the number of a line, or -1 if there is none. */
static double value(const char *key)
{
    SCOPED(buf) line = buf_format("\n%s=", key);
    const char *at = strstr(out.data, line.data);
    return at ? strtod(at + line.len, NULL) : -1;
}

/* Adds the lines of memory, in a store that is in memory or in files. */
static double sum_of_parts(int files)
{
    static const char *const stores[][8] = {
        { "memory_parameters", "memory_gradients", "memory_moments", "memory_window", "memory_x",
          "memory_dx", "memory_layer_caches" },
        { "store_memory", "store_window" },
    };
    double sum = fmax(value("memory_communication_bytes"), 0) + value("memory_batches_bytes") +
                 value("memory_kernels_bytes");
    for (const char *const *part = stores[files]; *part; part++) {
        SCOPED(buf) key = buf_format("%s_bytes", *part);
        sum += fmax(value(key.data), 0);
    }
    return sum;
}

Test(dry_run, the_parts_of_the_memory_are_all_of_it)
{
    static const struct {
        int64_t ranks, tensor, zero;
        const char *files;
    } all[] = { { 1, 1, 0, NULL }, { 4, 1, 0, NULL }, { 2, 1, 1, NULL },
                { 2, 1, 3, NULL }, { 1, 2, 0, NULL }, { 1, 1, 0, "x" } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct settings s = settings_default;
        s.data_parallel = all[i].ranks;
        s.tensor_parallel = all[i].tensor;
        s.zero = all[i].zero;
        s.memmap_dir = all[i].files;
        print(&s);
        cr_expect_eq(value("memory_bytes"), sum_of_parts(all[i].files != NULL), "row %zu: %s", i,
                     out.data);
        cr_expect_eq(value("memory_communication_bytes") > 0, all[i].ranks * all[i].tensor > 1);
    }
}

/* GPT-2: 12 C^2 weights in a layer, and a tied table; attention sees half of the places. */
Test(dry_run, a_step_beside_a_plain_calculation)
{
    const double C = 16, L = 2, V = 50, T = 8, tokens = 16 * T;
    const double parameters = V * C + T * C + L * (12 * C * C + 13 * C) + 2 * C;
    const double flops = 6 * (L * 12 * C * C + V * C) + 6 * L * T * C;
    struct settings s = settings_default;
    s.data_parallel = 4;
    print(&s);
    cr_expect_eq(value("parameters"), parameters);
    cr_expect_eq(value("memory_gradients_bytes"), 4 * parameters);
    cr_expect_eq(value("memory_moments_bytes"), 8 * parameters);
    cr_expect_eq(value("tokens_per_step"), tokens);
    cr_expect_eq(value("flops_per_token"), flops);
    cr_expect_eq(value("flops_per_step"), flops * tokens);
    cr_expect_eq(value("accumulation"), 2);
    cr_expect_eq(value("steps"), -1, "generated data has no end");
    /* a ring sends 3/4 of the gradients, and then of their sums */
    cr_expect_eq(value("data_parallel_bytes_per_step"), 4 * parameters * 2 * 3 / 4);
}
