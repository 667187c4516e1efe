/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "fetch_ahead.h"
#include "fit.h"
#include "job_parts.h"
#include "look.h"
#include "request.h"
#include "views.h"

/* Slurm's list function goes on with the next. */
#define GO_ON 0

typedef struct walk {
	surgent_look_t *look;
	job_record_t **jobs; /* all of them, in the order of Slurm's list; of those walked, the ones that are kept for later */
	size_t count;
	size_t capacity;
	size_t later_count;
	job_record_t **to_copy; /* room for those of one group */
	uint32_t copied; /* in this hold */
} walk_t;

/* --- one job --- */

static bool has_text(const char *text)
{
	return text && text[0];
}

/* Of a job that holds nothing. */
static bool matters(const surgent_look_t *look, const job_record_t *job)
{
	if (job->job_state & JOB_COMPLETING)
		return true;
	if (surgent_view_state(job) == SURGENT_STATE_PENDING)
		return (has_text(job->comment) || has_text(job->admin_comment)) &&
		       look->sink->concerns(look->sink->context, SURGENT_JOB_ID(job), job->admin_comment);
	return surgent_view_is_urgent(job);
}

/* Slurm's own rules about who is not preempted, beside what the plugin says. */
static bool is_exempt(job_record_t *job, time_t now)
{
#if SURGENT_HAS_PREEMPT_PARAMETERS
	static const char key[] = "min_exempt_priority=";
	const char *limit = slurm_conf.preempt_params ? strcasestr(slurm_conf.preempt_params, key) : NULL;

	if (limit && strtoul(limit + sizeof(key) - 1, NULL, 10) < job->priority)
		return true;
#endif
	return now < acct_policy_get_preemptable_time(job);
}

static bool view_parts(surgent_look_t *look, job_record_t *job, surgent_job_view_t *view)
{
	const surgent_sink_t *sink = look->sink;

	if (view->state == SURGENT_STATE_ENDED)
		return true;
	surgent_view_job_names(job, view);
	view->qos = job->qos_ptr && surgent_fits(SURGENT_QOS, job->qos_ptr) ? job->qos_ptr->name : NULL;
	if (view->state == SURGENT_STATE_PENDING)
		return !sink->wants_request(sink->context, view) || surgent_view_request(job, &look->arena, &look->known_nodes, view);
	if (is_exempt(job, look->now))
		view->flags |= SURGENT_JOB_EXEMPT;
	if (look->loses_place)
		view->flags |= SURGENT_JOB_LOSES_PLACE;
	return surgent_view_holdings(job, &look->names, &look->arena, view);
}

static bool fail(surgent_look_t *look, int result)
{
	look->result = result;
	return false;
}

static bool give(surgent_look_t *look, job_record_t *job)
{
	surgent_job_view_t view;

	if (!surgent_job_fits(job))
		return fail(look, SURGENT_SNAPSHOT_BAD_LAYOUT);
	view = surgent_view_job(job);
	if (!view_parts(look, job, &view))
		return fail(look, SURGENT_SNAPSHOT_NO_MEMORY);
	if (surgent_has_misfit())
		return fail(look, SURGENT_SNAPSHOT_BAD_LAYOUT);
	look->sink->job(look->sink->context, &view);
	surgent_arena_reset(&look->arena);
	return true;
}

/* --- those that hold something --- */

static bool is_copied(surgent_look_t *look, const job_record_t *job)
{
	const surgent_stamp_t stamp = surgent_stamp(job);
	surgent_job_copy_t *copy = surgent_job_copies_find(&look->copies, stamp.job_id);

	if (!copy || !surgent_stamps_equal(&copy->stamp, &stamp))
		return false;
	copy->seen_in = look->hold;
	return true;
}

static bool copy_job(surgent_look_t *look, job_record_t *job)
{
	const surgent_job_copy_t new = { .stamp = surgent_stamp(job), .seen_in = look->hold };
	surgent_job_copy_t *copy = surgent_job_copies_find(&look->copies, new.stamp.job_id);

	if (copy) {
		look->sink->forget_job(look->sink->context, new.stamp.job_id);
		*copy = new;
	} else if (!surgent_job_copies_add(&look->copies, new)) {
		return fail(look, SURGENT_SNAPSHOT_NO_MEMORY);
	}
	return give(look, job);
}

/* A hold copies some in any case, or there might never be a last one. */
static bool is_over(const walk_t *walk)
{
	return walk->copied >= walk->look->sink->copies_min && surgent_clock_ns() >= walk->look->until_ns;
}

/* Whether to go on with the next group. */
static bool walk_group(walk_t *walk, job_record_t **group, size_t count)
{
	surgent_look_t *look = walk->look;
	size_t to_copy_count = 0;

	surgent_fetch_stamps(group, count);
	for (size_t i = 0; i < count; i++) {
		job_record_t *job = group[i];

		if (!surgent_fits(SURGENT_JOB, job) || job->magic != JOB_MAGIC ||
		    !SURGENT_FITS_OR_NULL(SURGENT_RESOURCES, job->job_resrcs))
			return fail(look, SURGENT_SNAPSHOT_BAD_LAYOUT);
		if (!surgent_view_holds(job)) {
			if (matters(look, job))
				walk->jobs[walk->later_count++] = job;
		} else if (!is_copied(look, job)) {
			walk->to_copy[to_copy_count++] = job;
		}
	}
	if (!to_copy_count)
		return true;
	surgent_fetch_jobs(walk->to_copy, to_copy_count, &look->names);
	for (size_t i = 0; i < to_copy_count; i++) {
		if (is_over(walk) || !copy_job(look, walk->to_copy[i]))
			return false;
		walk->copied++;
	}
	return true;
}

void surgent_look_forget_jobs(surgent_look_t *look)
{
	for (size_t i = 0; i < look->copies.count; i++)
		look->sink->forget_job(look->sink->context, look->copies.entries[i].stamp.job_id);
	surgent_job_copies_clear(&look->copies);
}

/* --- all --- */

/* What only the last hold does. */
static void finish(walk_t *walk)
{
	surgent_look_t *look = walk->look;

	for (size_t i = 0; i < look->copies.count; i++) {
		const surgent_job_copy_t *copy = &look->copies.entries[i];

		if (copy->seen_in != look->hold)
			look->sink->forget_job(look->sink->context, copy->stamp.job_id);
	}
	for (size_t i = 0; i < walk->later_count && look->result == SURGENT_SNAPSHOT_OK; i++) {
		if (i % SURGENT_FETCH_GROUP == 0)
			surgent_fetch_jobs(walk->jobs + i, surgent_look_group(i, walk->later_count), &look->names);
		(void)give(look, walk->jobs[i]);
	}
	surgent_known_nodes_free(&look->known_nodes);
}

static int note_job(void *item, void *context)
{
	walk_t *walk = context;

	if (walk->count < walk->capacity)
		walk->jobs[walk->count++] = item;
	return GO_ON;
}

bool surgent_look_at_jobs(surgent_look_t *look)
{
	walk_t walk = { .look = look };
	bool goes_on = true;

	/* Nobody adds to the list or takes from it without the job lock. */
	walk.capacity = (size_t)slurm_list_count(job_list);
	walk.jobs = malloc((walk.capacity + SURGENT_FETCH_GROUP) * sizeof(*walk.jobs));
	if (!walk.jobs)
		return fail(look, SURGENT_SNAPSHOT_NO_MEMORY);
	walk.to_copy = walk.jobs + walk.capacity;
	slurm_list_for_each_ro(job_list, note_job, &walk);
	for (size_t i = 0; i < walk.count && goes_on; i += SURGENT_FETCH_GROUP)
		goes_on = walk_group(&walk, walk.jobs + i, surgent_look_group(i, walk.count));
	if (goes_on)
		finish(&walk);
	free(walk.jobs);
	return goes_on;
}
