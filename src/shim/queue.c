/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "queue.h"

#include <string.h>

#include "fit.h"
#include "sentinels.h"
#include "views.h"

#define GO_ON 0

typedef struct gpus {
	const job_details_t *details;
	uint64_t count;
} gpus_t;

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int count_gpus(void *item, void *context)
{
	const gres_state_t *gres = item;
	const gres_job_state_t *job_gres = surgent_gres_counts(gres, SURGENT_JOB_GRES);
	gpus_t *gpus = context;
	const job_details_t *details = gpus->details;
	const uint64_t nodes = larger(details->min_nodes, 1);
	const uint32_t tasks = surgent_u32_given(details->num_tasks);
	const uint32_t sockets = details->mc_ptr ? surgent_u16_given(details->mc_ptr->sockets_per_node) : SURGENT_NONE32;
	uint64_t count;

	if (!job_gres || !gres->gres_name || strcmp(gres->gres_name, "gpu"))
		return GO_ON;
	count = larger(surgent_amount(job_gres->gres_per_job), surgent_amount(job_gres->gres_per_node) * nodes);
	count = larger(count, surgent_amount(job_gres->gres_per_task) * (tasks == SURGENT_NONE32 ? 1 : tasks));
	count = larger(count, surgent_amount(job_gres->gres_per_socket) * nodes *
				      (sockets == SURGENT_NONE32 ? 1 : sockets));
	/* Each type has an entry of its own. */
	gpus->count += count;
	return GO_ON;
}

surgent_queue_view_t surgent_view_queue(const job_record_t *job)
{
	const job_details_t *details = job->details;
	gpus_t gpus = { .details = details };

	if (details && job->gres_list_req)
		slurm_list_for_each_ro(job->gres_list_req, count_gpus, &gpus);
	return (surgent_queue_view_t){
		.size = sizeof(surgent_queue_view_t),
		.time_limit_min = surgent_view_time_limit_min(job),
		.gpus = gpus.count,
		.cpus = details ? details->min_cpus : 0,
		.submit_time = details ? details->submit_time : 0,
		.comment = job->comment,
		.admin_comment = job->admin_comment,
	};
}
