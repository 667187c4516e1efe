/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walking the set bits of Slurm's bitmaps with the functions that every release has. */
#ifndef SURGENT_BITS_H
#define SURGENT_BITS_H

#include "compat.h"

/* The first set bit from `from` to `last`, or a number above `last`. */
static inline bitoff_t surgent_next_bit(bitstr_t *map, bitoff_t from, bitoff_t last)
{
	while (from <= last && !slurm_bit_test(map, from))
		from++;
	return from;
}

/* for (each set bit of `map`); of an empty map both ends are -1. */
#define SURGENT_FOR_BITS(bit, map)                                                                             \
	for (bitoff_t bit = slurm_bit_ffs(map), last_##bit = slurm_bit_fls(map);                               \
	     bit >= 0 && bit <= last_##bit; bit = surgent_next_bit(map, bit + 1, last_##bit))

#endif
