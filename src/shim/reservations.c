/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm's own job_test_resv() answers this too, but changes the job and the reservation on the way, which a thread with
 * read locks must not do.
 */
#include "reservations.h"

#include "bits.h"
#include "fit.h"

#define GO_ON 0
#define YEAR_S (365L * 24 * 60 * 60)

typedef struct question {
	const job_record_t *job;
	const part_record_t *part;
	const slurmctld_resv_t *own; /* the job's reservation, or NULL */
	time_t now;
	time_t job_end;
	bool *usable;
} question_t;

time_t surgent_job_duration_s(const job_record_t *job, const part_record_t *part)
{
	uint32_t limit_min = job->time_limit == NO_VAL ? part->max_time : job->time_limit;

	return limit_min == INFINITE || limit_min == NO_VAL ? YEAR_S : (time_t)limit_min * 60;
}

static bool is_now(const slurmctld_resv_t *resv, time_t now, time_t until)
{
	time_t begin = resv->start_time_first;
	time_t end = resv->end_time;

	/* The times of a floating reservation are counted from now; it never comes. */
	if (resv->flags & RESERVE_FLAG_TIME_FLOAT) {
		begin = now + resv->start_time;
		if (resv->duration == INFINITE)
			end = begin + YEAR_S;
		else if (resv->duration && resv->duration != NO_VAL)
			end = begin + (time_t)resv->duration * 60;
		else if (begin > end)
			begin = end;
	}
	return begin < until && end > now;
}

static void clear(bool *usable, bitstr_t *nodes)
{
	SURGENT_FOR_BITS(inx, nodes) {
		if (inx < node_record_count)
			usable[inx] = false;
	}
}

static void clear_all(bool *usable)
{
	for (int i = 0; i < node_record_count; i++)
		usable[i] = false;
}

bool surgent_has_say_in_reservations(const job_record_t *job)
{
	return job->resv_name || (job->warn_flags & KILL_JOB_RESV);
}

/* A reservation in the way of a job without one. */
static void keep_out(const question_t *question, const slurmctld_resv_t *resv)
{
	const job_record_t *job = question->job;

	if (job->warn_time <= resv->max_start_delay && (job->warn_flags & KILL_JOB_RESV))
		return;
	/* Nodes that other jobs of the partition may be given are not told apart from these. */
	if ((resv->flags & RESERVE_FLAG_ALL_NODES) ||
	    ((resv->flags & RESERVE_FLAG_PART_NODES) && resv->part_ptr == question->part))
		clear_all(question->usable);
	else
		clear(question->usable, resv->node_bitmap);
}

static int visit_other(void *item, void *context)
{
	const slurmctld_resv_t *resv = item;
	const question_t *question = context;
	const slurmctld_resv_t *own = question->own;

	if (!surgent_fits(SURGENT_RESERVATION, resv) || !resv->node_bitmap || resv == own || !is_now(resv, question->now, question->job_end))
		return GO_ON;
	if (!own)
		keep_out(question, resv);
	else if (!(own->flags & RESERVE_FLAG_MAINT) &&
		 (!(own->flags & RESERVE_FLAG_OVERLAP) || (resv->flags & RESERVE_FLAG_MAINT)))
		clear(question->usable, resv->node_bitmap);
	return GO_ON;
}

static int visit_to_find(void *item, void *context)
{
	const slurmctld_resv_t *resv = item;
	question_t *question = context;

	if (surgent_fits(SURGENT_RESERVATION, resv) && resv->name && !strcmp(resv->name, question->job->resv_name))
		question->own = resv;
	return GO_ON;
}

static void stay_within(const question_t *question)
{
	const slurmctld_resv_t *own = question->own;

	if (own->flags & RESERVE_FLAG_FLEX)
		return;
	if (question->now < own->start_time || question->now > own->end_time) {
		clear_all(question->usable);
		return;
	}
	if (own->flags & RESERVE_FLAG_ANY_NODES)
		return;
	for (int i = 0; i < node_record_count; i++) {
		if (!own->node_bitmap || !slurm_bit_test(own->node_bitmap, i))
			question->usable[i] = false;
	}
}

void surgent_apply_reservations(const job_record_t *job, const part_record_t *part, bool *usable)
{
	question_t question = { .job = job, .part = part, .now = time(NULL), .usable = usable };

	if (!resv_list)
		return;
	question.job_end = question.now + surgent_job_duration_s(job, part);
	if (job->resv_name) {
		slurm_list_for_each_ro(resv_list, visit_to_find, &question);
		/* Deleted, or one of several; Slurm chooses among those. */
		if (!question.own) {
			clear_all(usable);
			return;
		}
		stay_within(&question);
	}
	slurm_list_for_each_ro(resv_list, visit_other, &question);
}
