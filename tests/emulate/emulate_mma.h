/*
 * emulate_mma.h - tensor core products and asynchronous copies for a C compiler (emulate.h).
 * cuda/mma.h, which includes it, says what the functions do.
 */
#pragma once

DEVICE float half_of(uint32_t word, int high)
{
    return from_bf16((uint16_t)(high ? word >> 16 : word));
}

DEVICE void warp_mma(float *d, const uint32_t *a, const uint32_t *b)
{
    uint32_t mine[6];
    memcpy(mine, a, 4 * sizeof *a);
    memcpy(mine + 4, b, 2 * sizeof *b);
    const uint32_t(*all)[6] = (const uint32_t(*)[6])emulated_gather(mine, sizeof mine, __LINE__);
    const int g = (int)threadIdx.x % WARP / 4, t = (int)threadIdx.x % 4;
    for (int i = 0; i < 4; i++) {
        const int row = g, below = i / 2, column = 2 * t + i % 2;
        for (int k = 0; k < 16; k++) {
            const int lane = k % 8 / 2, word = k / 8;
            const float x = half_of(all[row * 4 + lane][2 * word + below], k & 1);
            const float y = half_of(all[column * 4 + lane][4 + word], k & 1);
            d[i] += x * y;
        }
    }
}

DEVICE void load_matrices(uint32_t *out, const uint16_t *row, int turned)
{
    const uint16_t *const *rows = (const uint16_t *const *)emulated_gather(&row, sizeof row,
                                                                           __LINE__);
    const int g = (int)threadIdx.x % WARP / 4, t = (int)threadIdx.x % 4;
    for (int i = 0; i < 4; i++) {
        const uint16_t *low = turned ? rows[8 * i + 2 * t] + g : rows[8 * i + g] + 2 * t;
        const uint16_t *high = turned ? rows[8 * i + 2 * t + 1] + g : low + 1;
        out[i] = *low | (uint32_t)*high << 16;
    }
}

DEVICE void warp_load(uint32_t *out, const uint16_t *row)
{
    load_matrices(out, row, 0);
}

DEVICE void warp_load_turned(uint32_t *out, const uint16_t *row)
{
    load_matrices(out, row, 1);
}

#define async_copy         emulated_copy
#define ASYNC_COMMIT()     emulated_commit()
#define ASYNC_WAIT(groups) emulated_wait(groups)
