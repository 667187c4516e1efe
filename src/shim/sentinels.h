/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where Slurm's NO_VAL and INFINITE of every width end: behind the shims there is only SURGENT_NONE*. */
#ifndef SURGENT_SENTINELS_H
#define SURGENT_SENTINELS_H

#include "compat.h"
#include "surgent.h"

static inline uint32_t surgent_u32(uint32_t value)
{
	return value == NO_VAL || value == INFINITE ? SURGENT_NONE32 : value;
}

/* For numbers where Slurm also writes 0 for "not given". */
static inline uint32_t surgent_u32_given(uint32_t value)
{
	return value ? surgent_u32(value) : SURGENT_NONE32;
}

static inline uint32_t surgent_u16_given(uint16_t value)
{
	return value == 0 || value == NO_VAL16 || value == INFINITE16 ? SURGENT_NONE32 : value;
}

/* For amounts, of which none is 0. */
static inline uint64_t surgent_amount(uint64_t value)
{
	return value == NO_VAL64 || value == INFINITE64 ? 0 : value;
}

#endif
