/*
 * stored_grids.h - ggml's types IQ1, IQ2 and IQ3, whose blocks hold indices into a grid: a table
 * of vectors of 8 (IQ3: 4) numbers, which is a part of the format.
 *
 * An entry of a table has 2 (IQ3: 3) bits for each number, the first number in the lowest bits.
 * They are an index into a few values (stored_grids.c). scripts/make-grids writes the tables.
 */
#pragma once

#include "model/compute/stored.h"

extern const uint16_t stored_grid_iq2_xxs[256], stored_grid_iq2_xs[512], stored_grid_iq2_s[1024],
    stored_grid_iq3_xxs[256], stored_grid_iq3_s[512], stored_grid_iq1_s[2048];

/* Returns what stored_blocks returns for these types; NULL for another type. */
const struct stored_blocks *stored_grids(enum ops_type type);
