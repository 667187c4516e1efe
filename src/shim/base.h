/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The base: one of Slurm's own preemption plugins, which answers what is not about an urgent job. It is loaded beside this
 * plugin and never unloaded, so that the answer of a thread that is in it stays whole when another one takes its place.
 */
#ifndef SURGENT_BASE_H
#define SURGENT_BASE_H

#include <stdatomic.h>

#include "compat.h"

/* The hooks of such a plugin, which are those that preempt/surgent itself exports. */
typedef struct surgent_base {
	bool (*job_preempt_check)(job_queue_rec_t *sooner, job_queue_rec_t *later);
	bool (*preemptable)(job_record_t *preemptee, job_record_t *preemptor);
#if SURGENT_PREEMPT_HAS_GET_DATA
	int (*get_data)(job_record_t *job, slurm_preempt_data_type_t data_type, void *data);
#else
	uint32_t (*get_grace_time)(job_record_t *job);
	uint16_t (*get_mode)(job_record_t *job);
	uint32_t (*get_prio)(job_record_t *job);
#endif
} surgent_base_t;

extern _Atomic(const surgent_base_t *) surgent_base_in_force;

/* NULL: none. Any thread. */
static inline const surgent_base_t *surgent_base(void)
{
	return atomic_load_explicit(&surgent_base_in_force, memory_order_acquire);
}

uint16_t surgent_base_mode(const surgent_base_t *base, job_record_t *job);
uint32_t surgent_base_prio(const surgent_base_t *base, job_record_t *job);
uint32_t surgent_base_grace_s(const surgent_base_t *base, job_record_t *job);

/* Notes where Slurm's plugins are; for init(), where slurm.conf is not being read again. */
void surgent_base_init(void);
/* As surgent_host_t.use_base. */
void surgent_use_base(uint32_t which);
/* From now on there is no base, and the stock plugins are told that they are done. */
void surgent_base_fini(void);

#endif
