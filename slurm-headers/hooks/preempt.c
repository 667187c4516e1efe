/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only checked by the compiler: Slurm's own table of preempt plugins' hooks, which is in no header, holds ours. */
#include "../../src/shim/preempt_surgent.c"

#if SURGENT_SLURM_FROM(23, 2)
#include <src/interfaces/preempt.c>
#else
#include <src/slurmctld/preempt.c>
#endif

const slurm_preempt_ops_t surgent_hooks = {
	preempt_p_job_preempt_check,
	preempt_p_preemptable,
#if SURGENT_PREEMPT_HAS_GET_DATA
	preempt_p_get_data,
#else
	preempt_p_get_grace_time,
	preempt_p_get_mode,
	preempt_p_get_prio,
#endif
};
