/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views.h"

#include "sentinels.h"

uint32_t surgent_view_state(const job_record_t *job)
{
	switch (job->job_state & JOB_STATE_BASE) {
	case JOB_PENDING:
		return SURGENT_STATE_PENDING;
	case JOB_RUNNING:
		return SURGENT_STATE_RUNNING;
	case JOB_SUSPENDED:
		return SURGENT_STATE_SUSPENDED;
	default:
		return SURGENT_STATE_ENDED;
	}
}

uint32_t surgent_view_restart_flags(const job_record_t *job)
{
	return (job->batch_flag ? SURGENT_JOB_BATCH : 0) |
	       (job->details && job->details->requeue ? SURGENT_JOB_REQUEUE : 0);
}

uint32_t surgent_view_hindrance(const job_record_t *job)
{
	if (job->priority == 0)
		return SURGENT_HINDRANCE_HELD;
	switch (job->state_reason) {
	case WAIT_NO_REASON:
	case WAIT_PRIORITY:
	case WAIT_RESOURCES:
	case FAIL_DEFER:
		return SURGENT_HINDRANCE_NONE;
	case WAIT_HELD:
	case WAIT_HELD_USER:
		return SURGENT_HINDRANCE_HELD;
	case WAIT_TIME:
		return SURGENT_HINDRANCE_DATE;
	case WAIT_DEPENDENCY:
	case WAIT_DEP_INVALID:
		return SURGENT_HINDRANCE_DEPENDENCY;
	case WAIT_LICENSES:
		return SURGENT_HINDRANCE_LICENSES;
	case WAIT_ARRAY_TASK_LIMIT:
		return SURGENT_HINDRANCE_LIMIT;
	case WAIT_RESERVATION:
	case WAIT_RESV_DELETED:
		return SURGENT_HINDRANCE_RESERVATION;
	case WAIT_NODE_NOT_AVAIL:
		return SURGENT_HINDRANCE_NODES;
	case WAIT_PART_NODE_LIMIT:
	case WAIT_PART_TIME_LIMIT:
	case WAIT_PART_DOWN:
	case WAIT_PART_INACTIVE:
	case WAIT_PART_CONFIG:
	case FAIL_DOWN_PARTITION:
		return SURGENT_HINDRANCE_PARTITION;
	case FAIL_BAD_CONSTRAINTS:
		return SURGENT_HINDRANCE_CONSTRAINTS;
	default:
		/* Limits of accounts and QOS, for the most part. */
		return SURGENT_HINDRANCE_OTHER;
	}
}

/*
 * Slurm's main scheduler passes components of heterogeneous jobs by, at most naming "Priority" as the reason; only the
 * backfill scheduler looks at them. That it has shows in the reason "Resources", in an expected start, or until the
 * main scheduler's next round in a flag.
 */
static bool is_untested(const job_record_t *job)
{
	if (!job->het_job_id)
		return job->state_reason == WAIT_NO_REASON;
	return (job->state_reason == WAIT_NO_REASON || job->state_reason == WAIT_PRIORITY) && !job->start_time &&
	       !(job->bit_flags & BACKFILL_SCHED);
}

static uint32_t pending_flags(const job_record_t *job)
{
	const job_details_t *details = job->details;

	return (is_untested(job) ? SURGENT_JOB_UNTESTED : 0) |
	       (job->resv_name ? SURGENT_JOB_RESERVATION : 0) |
	       (details && details->overcommit ? SURGENT_JOB_OVERCOMMIT : 0) |
	       (details && SURGENT_IS_WHOLE_NODE(details->whole_node) ? SURGENT_JOB_WHOLE_NODE : 0) |
	       (details && SURGENT_IS_USER_NODE(details->whole_node) ? SURGENT_JOB_USER_NODE : 0);
}

bool surgent_view_is_stopped(const job_record_t *job)
{
	/* Gang scheduling suspends jobs as well, with their priority untouched, and lets them keep all that they hold. */
	return surgent_view_state(job) == SURGENT_STATE_SUSPENDED && job->priority == 0;
}

static uint32_t running_flags(const job_record_t *job)
{
	const job_details_t *details = job->details;
	const job_resources_t *held = job->job_resrcs;
	uint32_t flags = 0;

	if (held && SURGENT_IS_WHOLE_NODE(held->whole_node) && !surgent_view_is_stopped(job))
		flags |= SURGENT_JOB_WHOLE_NODE;
	if (held && held->node_req == NODE_CR_AVAILABLE)
		flags |= SURGENT_JOB_SHARED;
	if ((details && SURGENT_IS_USER_NODE(details->whole_node)) ||
	    (job->part_ptr && (job->part_ptr->flags & PART_FLAG_EXCLUSIVE_USER)))
		flags |= SURGENT_JOB_USER_NODE;
	return flags;
}

static uint32_t job_flags(const job_record_t *job)
{
	uint32_t flags = surgent_view_restart_flags(job);

	if (job->job_state & JOB_COMPLETING)
		flags |= SURGENT_JOB_COMPLETING;
	if (job->job_state & (JOB_CONFIGURING | JOB_POWER_UP_NODE))
		flags |= SURGENT_JOB_CONFIGURING;
	if (job->het_job_id)
		flags |= SURGENT_JOB_HET;
	switch (surgent_view_state(job)) {
	case SURGENT_STATE_PENDING:
		return flags | pending_flags(job);
	case SURGENT_STATE_RUNNING:
	case SURGENT_STATE_SUSPENDED:
		return flags | running_flags(job);
	default:
		return flags;
	}
}

uint32_t surgent_startable_tasks(const job_record_t *job)
{
	const job_array_struct_t *array = job->array_recs;
	uint32_t free_slots;

	if (!array || !array->task_cnt)
		return 1;
	if (!array->max_run_tasks)
		return array->task_cnt;
	free_slots = array->max_run_tasks > array->tot_run_tasks ? array->max_run_tasks - array->tot_run_tasks : 0;
	return free_slots < array->task_cnt ? free_slots : array->task_cnt;
}

uint32_t surgent_view_time_limit_min(const job_record_t *job)
{
	if (job->time_limit == NO_VAL && job->part_ptr)
		return surgent_u32(job->part_ptr->max_time);
	return surgent_u32(job->time_limit);
}

surgent_job_view_t surgent_view_job(const job_record_t *job)
{
	return (surgent_job_view_t){
		.size = sizeof(surgent_job_view_t),
		.job_id = SURGENT_JOB_ID(job),
		.array_job_id = job->array_job_id,
		.array_task_id = surgent_u32(job->array_task_id),
		.het_job_id = job->het_job_id,
		.het_job_offset = job->het_job_id ? job->het_job_offset : 0,
		.het_components = job->het_job_list ? (uint32_t)slurm_list_count(job->het_job_list) : 0,
		.user_id = job->user_id,
		.group_id = job->group_id,
		.state = surgent_view_state(job),
		.flags = job_flags(job),
		.priority = job->priority,
		.restart_count = job->restart_cnt,
		.time_limit_min = surgent_view_time_limit_min(job),
		.hindrance = surgent_view_hindrance(job),
		.submit_time = job->details ? job->details->submit_time : 0,
		.begin_time = job->details ? job->details->begin_time : 0,
		.start_time = job->start_time,
		.end_time = job->end_time,
		.preempt_time = job->preempt_time,
		.comment = job->comment,
		.admin_comment = job->admin_comment,
	};
}

void surgent_view_job_names(const job_record_t *job, surgent_job_view_t *view)
{
	view->name = job->name;
	view->user_name = job->user_name;
	view->account = job->account;
	view->partition = job->partition;
	view->reservation = job->resv_name;
}

static uint32_t node_flags(uint32_t state)
{
	const uint32_t base = state & NODE_STATE_BASE;
	uint32_t flags = 0;

	if (base == NODE_STATE_UNKNOWN || base == NODE_STATE_DOWN || base == NODE_STATE_FUTURE ||
	    (state & (NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_INVALID_REG | NODE_STATE_REBOOT_ISSUED |
		      SURGENT_NODE_STATE_EXTERNAL)))
		flags |= SURGENT_NODE_DOWN;
	if (state & (NODE_STATE_DRAIN | NODE_STATE_POWER_DRAIN))
		flags |= SURGENT_NODE_DRAIN;
	if (state & NODE_STATE_COMPLETING)
		flags |= SURGENT_NODE_COMPLETING;
	if (state & (NODE_STATE_MAINT | NODE_STATE_RES))
		flags |= SURGENT_NODE_RESERVED;
	/* One that is powered down, or powering up, is given to jobs. */
	if (state & (NODE_STATE_POWERING_DOWN | NODE_STATE_POWER_DOWN))
		flags |= SURGENT_NODE_POWERING_DOWN;
	if (base == NODE_STATE_IDLE)
		flags |= SURGENT_NODE_IDLE;
	return flags;
}

surgent_node_view_t surgent_view_node(const node_record_t *node, uint32_t index)
{
	return (surgent_node_view_t){
		.size = sizeof(surgent_node_view_t),
		.index = index,
		.flags = node_flags(node->node_state),
		.cpus = node->cpus_efctv,
		.memory_mib = node->real_memory > node->mem_spec_limit ? node->real_memory - node->mem_spec_limit : 0,
		.name = node->name,
		.features = node->features_act ? node->features_act : node->features,
		.cpus_per_core = node->tpc,
	};
}
