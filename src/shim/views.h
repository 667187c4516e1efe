/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's records as the core sees them: the parts that need no memory. The strings stay Slurm's. */
#ifndef SURGENT_VIEWS_H
#define SURGENT_VIEWS_H

#include <string.h>

#include "compat.h"
#include "surgent.h"

/* SURGENT_STATE_* of a job. */
uint32_t surgent_view_state(const job_record_t *job);

/* Whether the job runs or is suspended, so that it holds resources. */
static inline bool surgent_view_holds(const job_record_t *job)
{
	const uint32_t state = surgent_view_state(job);

	return state == SURGENT_STATE_RUNNING || state == SURGENT_STATE_SUSPENDED;
}

/* SURGENT_JOB_BATCH and SURGENT_JOB_REQUEUE: whether the job can be started again. */
uint32_t surgent_view_restart_flags(const job_record_t *job);

/* SURGENT_HINDRANCE_* of a pending job. */
uint32_t surgent_view_hindrance(const job_record_t *job);

/* How long it may run, or SURGENT_NONE32. */
uint32_t surgent_view_time_limit_min(const job_record_t *job);
/* How many jobs of an array that a record stands for may start now; 1 for a job that is no array. */
uint32_t surgent_startable_tasks(const job_record_t *job);

/* Whether the job is urgent by Surgent's own record of it. Never false for an urgent job; the core looks more closely. */
static inline bool surgent_view_is_urgent(const job_record_t *job)
{
	return job->admin_comment &&
	       !strncmp(job->admin_comment, SURGENT_URGENT_MARK, sizeof(SURGENT_URGENT_MARK) - 1);
}

/* Whether the job was suspended by hand: it keeps its memory and generic resources, and its CPUs are free. */
bool surgent_view_is_stopped(const job_record_t *job);

/* Of a job in any state: ids, state, flags, times and comments. */
surgent_job_view_t surgent_view_job(const job_record_t *job);

/* Of a pending, running or suspended job: what it is called and whose it is. Not its QOS, which needs a lock. */
void surgent_view_job_names(const job_record_t *job, surgent_job_view_t *view);

/* All of a node but its generic resources. */
surgent_node_view_t surgent_view_node(const node_record_t *node, uint32_t index);

#endif
