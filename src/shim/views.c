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

/*
 * Reasons to wait that say nothing against a start as soon as there is room. All others (dependencies, limits,
 * licences, reservations, nodes that are down ...) would outlast the room that victims make.
 */
static bool freed_nodes_mend(uint32_t state_reason)
{
	return state_reason == WAIT_NO_REASON || state_reason == WAIT_PRIORITY || state_reason == WAIT_RESOURCES ||
	       state_reason == FAIL_DEFER;
}

static bool wants_whole_nodes(const job_record_t *job)
{
	if (job->job_resrcs)
		return SURGENT_IS_WHOLE_NODE(job->job_resrcs->whole_node);
	/* A partition with OverSubscribe=EXCLUSIVE gives whole nodes to all; Slurm notes it only when it tries the job. */
	return (job->details && SURGENT_IS_WHOLE_NODE(job->details->whole_node)) ||
	       (job->part_ptr && job->part_ptr->max_share == 0);
}

static uint32_t job_flags(const job_record_t *job)
{
	uint32_t flags = surgent_view_restart_flags(job);

	if (wants_whole_nodes(job))
		flags |= SURGENT_JOB_WHOLE_NODE;
	if (job->job_state & JOB_COMPLETING)
		flags |= SURGENT_JOB_COMPLETING;
	if (job->job_state & (JOB_CONFIGURING | JOB_POWER_UP_NODE))
		flags |= SURGENT_JOB_CONFIGURING;
	if (job->het_job_id)
		flags |= SURGENT_JOB_HET;
	if (surgent_view_state(job) == SURGENT_STATE_PENDING) {
		if (job->priority == 0)
			flags |= SURGENT_JOB_HELD;
		if (!freed_nodes_mend(job->state_reason))
			flags |= SURGENT_JOB_BLOCKED;
		if (job->state_reason == WAIT_NO_REASON)
			flags |= SURGENT_JOB_UNTESTED;
	}
	return flags;
}

static uint32_t time_limit_min(const job_record_t *job)
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
		.user_id = job->user_id,
		.state = surgent_view_state(job),
		.flags = job_flags(job),
		.priority = job->priority,
		.restart_count = job->restart_cnt,
		.time_limit_min = time_limit_min(job),
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
	if (state & (NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN | NODE_STATE_POWERING_UP |
		     NODE_STATE_POWER_DOWN))
		flags |= SURGENT_NODE_POWERED_DOWN;
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
	};
}
