/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job_parts.h"

#include "bits.h"
#include "gres_views.h"
#include "sentinels.h"
#include "views.h"

/* A job holds whole cores, also where it can use one thread of each only. `first` is the first of the node's cores. */
static uint32_t held_cpus(const job_resources_t *held, uint32_t host, const node_record_t *node, int first)
{
	if (!(slurm_conf.select_type_param & SURGENT_SELECT_CPUS))
		return 0;
	if (!held->core_bitmap || first + node->tot_cores > slurm_bit_size(held->core_bitmap))
		return held->cpus[host];
	return (uint32_t)slurm_bit_set_count_range(held->core_bitmap, first, first + node->tot_cores) * node->tpc;
}

static bitoff_t first_node(const job_resources_t *held, const surgent_node_names_t *names)
{
	const bitoff_t found =
		held->nhosts == 1 && held->nodes ? surgent_node_names_find(names, held->nodes, held->node_bitmap) : -1;

	return found >= 0 ? found : slurm_bit_ffs(held->node_bitmap);
}

bool surgent_view_holdings(const job_record_t *job, const surgent_node_names_t *names, surgent_arena_t *arena,
			   surgent_job_view_t *view)
{
	const job_resources_t *held = job->job_resrcs;
	const bool stopped = surgent_view_is_stopped(job);
	surgent_holding_t *holdings;
	bitoff_t inx, end;
	uint32_t count = 0;
	int first_core = 0;

	if (!held || !held->node_bitmap || !held->nhosts || !held->cpus)
		return true;
	holdings = surgent_arena_alloc(arena, held->nhosts, sizeof(*holdings));
	if (!holdings)
		return false;
	/* The arrays of job_resources have one entry for each set bit, in order; core_bitmap the cores of each. */
	end = slurm_bit_size(held->node_bitmap);
	for (inx = first_node(held, names); inx >= 0 && inx < end;) {
		const node_record_t *node = node_record_table_ptr[inx];

		holdings[count] = (surgent_holding_t){
			.node_index = (uint32_t)inx,
			.cpus = stopped || !node ? 0 : held_cpus(held, count, node, first_core),
			.memory_mib = held->memory_allocated ? surgent_amount(held->memory_allocated[count]) : 0,
		};
		first_core += node ? node->tot_cores : 0;
		/* To look for a bit behind the last one would take as long as to find it. */
		if (++count >= held->nhosts)
			break;
		inx = surgent_next_bit(held->node_bitmap, inx + 1, end - 1);
	}
	view->holdings = holdings;
	view->holding_count = count;
	return surgent_view_held_gres(job, arena, holdings, count);
}
