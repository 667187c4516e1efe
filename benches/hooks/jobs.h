/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cluster full of running jobs, and jobs that wait, in Slurm's own records. */
#ifndef JOBS_H
#define JOBS_H

#include "compat.h"

#define JOBS 40000
#define FIRST_JOB_ID 1000
#define START_TIME 1764410000

/* In the order in which they were submitted, as in Slurm's list. */
extern job_record_t *running[JOBS];

/* Fills `running`. The jobs run in a QOS and a partition that those who wait may not, and may, preempt. */
void make_running_jobs(void);

/* A job that waits; `admin_comment` may be NULL. */
job_record_t *make_waiting_job(uint32_t job_id, const char *admin_comment);

#endif
