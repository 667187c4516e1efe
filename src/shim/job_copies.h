/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which running jobs the core has been given in this look, and by what it shows that each of them still holds what it held
 * then. A look may let go of Slurm's locks and take them again; between two holds jobs start, end and change.
 */
#ifndef SURGENT_JOB_COPIES_H
#define SURGENT_JOB_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "compat.h"

/*
 * What differs when a job holds other resources than before, or holds them otherwise.
 *  - It stops, ends, is suspended or resumed, or its nodes are ready: the state. Suspended by hand, it keeps less.
 *  - It ran, stopped, and runs again: a requeue counts restart_cnt up.
 *  - It gives nodes back: Slurm takes them out of its job_resources one by one, each time counting nhosts down.
 *  - It takes another job's over: Slurm makes new job_resources while the old ones are there, and sets nhosts of the
 *    other job to 0.
 */
typedef struct surgent_stamp {
	uint32_t job_id;
	uint32_t job_state;
	time_t start_time;
	time_t preempt_time;
	const void *held; /* where its job_resources were: a number, never followed */
	uint32_t host_count;
	uint16_t restart_count;
	bool is_stopped;
} surgent_stamp_t;

typedef struct surgent_job_copy {
	surgent_stamp_t stamp;
	uint32_t seen_in; /* the last hold in which the job was found to be as it was copied */
} surgent_job_copy_t;

/* Starts as {0}. One entry for each job that was given and not forgotten. */
typedef struct surgent_job_copies {
	surgent_job_copy_t *entries;
	size_t count;
	size_t capacity;
	uint32_t *slots; /* by job id: number of an entry, plus one */
	size_t mask;     /* number of slots, a power of two, less one */
} surgent_job_copies_t;

/* Of a running or suspended job that fits, job_resources included. Reads few of its cache lines. */
surgent_stamp_t surgent_stamp(const job_record_t *job);
bool surgent_stamps_equal(const surgent_stamp_t *stamp, const surgent_stamp_t *other);

/* Room for so many jobs; false when memory is out. */
bool surgent_job_copies_init(surgent_job_copies_t *copies, size_t jobs);
void surgent_job_copies_free(surgent_job_copies_t *copies);

/* The entry of this job, or NULL. */
surgent_job_copy_t *surgent_job_copies_find(const surgent_job_copies_t *copies, uint32_t job_id);
/* For a job that has none. Makes more room where needed; false when memory is out. */
bool surgent_job_copies_add(surgent_job_copies_t *copies, surgent_job_copy_t copy);
/* Empties it and keeps the room. */
void surgent_job_copies_clear(surgent_job_copies_t *copies);

#endif
