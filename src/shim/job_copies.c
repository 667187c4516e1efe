/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job_copies.h"

#include <stdlib.h>
#include <string.h>

#include "views.h"

#define ROOM_MIN 64

surgent_stamp_t surgent_stamp(const job_record_t *job)
{
	const job_resources_t *held = job->job_resrcs;

	return (surgent_stamp_t){
		.job_id = SURGENT_JOB_ID(job),
		.job_state = job->job_state,
		.start_time = job->start_time,
		.preempt_time = job->preempt_time,
		.held = held,
		.host_count = held ? held->nhosts : 0,
		.restart_count = job->restart_cnt,
		.is_stopped = surgent_view_is_stopped(job),
	};
}

bool surgent_stamps_equal(const surgent_stamp_t *stamp, const surgent_stamp_t *other)
{
	return stamp->job_id == other->job_id && stamp->job_state == other->job_state &&
	       stamp->start_time == other->start_time && stamp->preempt_time == other->preempt_time &&
	       stamp->held == other->held && stamp->host_count == other->host_count &&
	       stamp->restart_count == other->restart_count && stamp->is_stopped == other->is_stopped;
}

/* Job ids follow one another, so their low bits are as good as any hash. */
static size_t slot_of(const surgent_job_copies_t *copies, uint32_t job_id)
{
	size_t at = job_id & copies->mask;

	while (copies->slots[at] && copies->entries[copies->slots[at] - 1].stamp.job_id != job_id)
		at = (at + 1) & copies->mask;
	return at;
}

/* Has room for `capacity` entries, and twice as many slots. */
static bool make_room(surgent_job_copies_t *copies, size_t capacity)
{
	surgent_job_copy_t *entries = realloc(copies->entries, capacity * sizeof(*entries));
	size_t slots = 2 * ROOM_MIN;

	if (!entries)
		return false;
	copies->entries = entries;
	while (slots < 2 * capacity)
		slots *= 2;
	free(copies->slots);
	copies->slots = calloc(slots, sizeof(*copies->slots));
	if (!copies->slots)
		return false;
	copies->mask = slots - 1;
	copies->capacity = capacity;
	for (size_t i = 0; i < copies->count; i++)
		copies->slots[slot_of(copies, entries[i].stamp.job_id)] = (uint32_t)i + 1;
	return true;
}

bool surgent_job_copies_init(surgent_job_copies_t *copies, size_t jobs)
{
	if (!make_room(copies, jobs + ROOM_MIN))
		return false;
	/* Written to, or the kernel would give the memory only when Slurm waits for its locks. */
	memset(copies->entries, 0, copies->capacity * sizeof(*copies->entries));
	memset(copies->slots, 0, (copies->mask + 1) * sizeof(*copies->slots));
	return true;
}

void surgent_job_copies_free(surgent_job_copies_t *copies)
{
	free(copies->entries);
	free(copies->slots);
	*copies = (surgent_job_copies_t){ 0 };
}

surgent_job_copy_t *surgent_job_copies_find(const surgent_job_copies_t *copies, uint32_t job_id)
{
	const uint32_t entry = copies->slots[slot_of(copies, job_id)];

	return entry ? &copies->entries[entry - 1] : NULL;
}

bool surgent_job_copies_add(surgent_job_copies_t *copies, surgent_job_copy_t copy)
{
	if (copies->count == copies->capacity && !make_room(copies, 2 * copies->capacity))
		return false;
	copies->entries[copies->count++] = copy;
	copies->slots[slot_of(copies, copy.stamp.job_id)] = (uint32_t)copies->count;
	return true;
}

void surgent_job_copies_clear(surgent_job_copies_t *copies)
{
	copies->count = 0;
	if (copies->slots)
		memset(copies->slots, 0, (copies->mask + 1) * sizeof(*copies->slots));
}
