/*
 * amx.h - AMX's tile registers in plain C, for tests on processors that lack them. The compiler
 * reads it before kernels_avx512_bf16.c and kernels.c (make check-amx). Source: Intel 64 and IA-32
 * Architectures Software Developer's Manual, volume 2: TILELOADD, TDPBF16PS, TDPBSSD. Differs from
 * the processor in subnormal numbers only, which TDPBF16PS takes for zeros.
 */
#pragma once
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The processor has AMX, and Linux enables it. */
#define __get_cpuid_count(leaf, part, a, b, c, d) (*(a) = *(b) = *(c) = 0, *(d) = ~0u, 1)
#define syscall(...)                              0

enum { AMX_TILES = 8, AMX_MOST_ROWS = 16, AMX_MOST_BYTES = 64 };

/* The operand of LDTILECFG, and the registers of a thread. Rows and bytes beyond a tile's shape are
 * 0. */
static __thread struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_shape;
static __thread union {
    float f[16];
    int32_t i[16];
    uint16_t h[32];
    int8_t b[AMX_MOST_BYTES];
} amx_tiles[AMX_TILES][AMX_MOST_ROWS];

static inline void emulated_zero(int t)
{
    memset(amx_tiles[t], 0, sizeof amx_tiles[t]);
}

static inline void emulated_configure(const void *shapes)
{
    memcpy(&amx_shape, shapes, sizeof amx_shape);
    for (int t = 0; t < AMX_TILES; t++)
        emulated_zero(t);
}

static inline void emulated_load(int t, const void *from, size_t ld)
{
    emulated_zero(t);
    for (int r = 0; r < amx_shape.rows[t]; r++)
        memcpy(&amx_tiles[t][r], (const char *)from + (size_t)r * ld, amx_shape.row_bytes[t]);
}

static inline void emulated_store(int t, void *to, size_t ld)
{
    for (int r = 0; r < amx_shape.rows[t]; r++)
        memcpy((char *)to + (size_t)r * ld, &amx_tiles[t][r], amx_shape.row_bytes[t]);
}

static inline float emulated_bf16(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Products of even and of odd numbers have sums of their own. */
static inline void emulated_bf16_products(int to, int a, int b)
{
    for (int m = 0; m < amx_shape.rows[to]; m++) {
        float even[16] = { 0 }, odd[16] = { 0 };
        for (int k = 0; k < amx_shape.row_bytes[a] / 4; k++)
            for (int n = 0; n < amx_shape.row_bytes[to] / 4; n++) {
                even[n] += emulated_bf16(amx_tiles[a][m].h[2 * k]) *
                           emulated_bf16(amx_tiles[b][k].h[2 * n]);
                odd[n] += emulated_bf16(amx_tiles[a][m].h[2 * k + 1]) *
                          emulated_bf16(amx_tiles[b][k].h[2 * n + 1]);
            }
        for (int n = 0; n < amx_shape.row_bytes[to] / 4; n++)
            amx_tiles[to][m].f[n] += even[n] + odd[n];
    }
}

static inline void emulated_int8_products(int to, int a, int b)
{
    for (int m = 0; m < amx_shape.rows[to]; m++)
        for (int k = 0; k < amx_shape.row_bytes[a] / 4; k++)
            for (int n = 0; n < amx_shape.row_bytes[to] / 4; n++)
                for (int i = 0; i < 4; i++)
                    amx_tiles[to][m].i[n] += amx_tiles[a][m].b[4 * k + i] *
                                             amx_tiles[b][k].b[4 * n + i];
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#define _tile_loadconfig(shapes) emulated_configure(shapes)
#define _tile_release()          ((void)0)
#define _tile_zero(t)            emulated_zero(t)
#define _tile_loadd(t, from, ld) emulated_load(t, from, ld)
#define _tile_stored(t, to, ld)  emulated_store(t, to, ld)
#define _tile_dpbf16ps(to, a, b) emulated_bf16_products(to, a, b)
#define _tile_dpbssd(to, a, b)   emulated_int8_products(to, a, b)
