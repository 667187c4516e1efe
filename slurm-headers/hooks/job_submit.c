/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only checked by the compiler: Slurm's own table of job_submit plugins' hooks, which is in no header, holds ours. */
#include "../../src/shim/job_submit_surgent.c"

#if SURGENT_SLURM_FROM(23, 2)
#include <src/interfaces/job_submit.c>
#else
#include <src/slurmctld/job_submit.c>
#endif

const slurm_submit_ops_t surgent_hooks = { job_submit, job_modify };
