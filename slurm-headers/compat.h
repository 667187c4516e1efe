/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compat.h - every difference between the Slurm releases 22.05 to 26.05 that the shims meet.
 *
 * The shims include this and nothing of Slurm's directly. Everything is keyed on SLURM_VERSION_NUMBER of the
 * tree that is compiled against; a release that is not covered ends the compilation here, not in slurmctld.
 */
#ifndef SURGENT_COMPAT_H
#define SURGENT_COMPAT_H

#include <stddef.h>
#include <stdint.h>

/* Slurm's headers expect the configured tree's config.h before them. */
#include "config.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "slurm/slurm_version.h"
#include "slurm/slurmdb.h"

/* Gives Slurm's helpers their slurm_ names, which cannot collide with libc's (error, for one). */
#include "src/common/slurm_xlator.h"

#include "src/common/assoc_mgr.h"
#include "src/common/bitstring.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/acct_policy.h"
#include "src/slurmctld/job_scheduler.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#define SURGENT_SLURM_FROM(major, minor) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

#if !SURGENT_SLURM_FROM(22, 5) || SURGENT_SLURM_FROM(26, 6)
#error "Surgent's shims know Slurm 22.05 to 26.05 only; this tree is another release (see slurm/slurm_version.h)."
#endif

/* 23.02 moved the plugin interfaces out of common/ and slurmctld/. */
#if SURGENT_SLURM_FROM(23, 2)
#include "src/interfaces/gres.h"
#include "src/interfaces/preempt.h"
#else
#include "src/common/gres.h"
#include "src/slurmctld/preempt.h"
#endif

/* 23.02 gave struct job_details a typedef. */
#if !SURGENT_SLURM_FROM(23, 2)
typedef struct job_details job_details_t;
#endif

/* 24.11 dropped the pointer type List for list_t *, which 22.05 does not know. */
#if SURGENT_SLURM_FROM(23, 2)
typedef list_t *surgent_list_t;
#else
typedef List surgent_list_t;
#endif

/* 22.05 has no way to tell the user why job_modify refuses. */
#define SURGENT_MODIFY_HAS_MESSAGE SURGENT_SLURM_FROM(23, 2)

/* 25.05 split preempt_p_get_data() into one function for each datum. */
#define SURGENT_PREEMPT_HAS_GET_DATA (!SURGENT_SLURM_FROM(25, 5))

/* 24.05 dropped site_factor_p_reconfig(), without which earlier releases do not load the plugin. */
#define SURGENT_SITE_FACTOR_HAS_RECONFIG (!SURGENT_SLURM_FROM(24, 5))

/* 25.11 moved the job id into a step id at the head of the record. */
#if SURGENT_SLURM_FROM(25, 11)
#define SURGENT_JOB_ID(job) ((job)->step_id.job_id)
#else
#define SURGENT_JOB_ID(job) ((job)->job_id)
#endif

/* 24.05 made whole_node a set of bits; before, 3 meant "exclusive for one MCS label", not "1 and 2". */
#if SURGENT_SLURM_FROM(24, 5)
#define SURGENT_IS_WHOLE_NODE(whole_node) (((whole_node) & WHOLE_NODE_REQUIRED) != 0)
#else
#define SURGENT_IS_WHOLE_NODE(whole_node) ((whole_node) == WHOLE_NODE_REQUIRED)
#endif

/* 25.11 renamed the CR_* parameters of the select plugin. */
#if SURGENT_SLURM_FROM(25, 11)
#define SURGENT_SELECT_MEMORY SELECT_MEMORY
#define SURGENT_SELECT_CPUS (SELECT_CPU | SELECT_CORE | SELECT_SOCKET)
#else
#define SURGENT_SELECT_MEMORY CR_MEMORY
#define SURGENT_SELECT_CPUS (CR_CPU | CR_CORE | CR_SOCKET)
#endif

/* The same with 24.05's set of bits, for --exclusive=user. */
#if SURGENT_SLURM_FROM(24, 5)
#define SURGENT_IS_USER_NODE(whole_node) (((whole_node) & WHOLE_NODE_USER) != 0)
#else
#define SURGENT_IS_USER_NODE(whole_node) ((whole_node) == WHOLE_NODE_USER)
#endif

/*
 * From 24.11.1 on who borrows a reservation (--signal=R) makes way for its owner whatever a plugin says, and is cancelled
 * unless the plugin's mode for it is "requeue".
 */
#define SURGENT_BORROWERS_MAKE_WAY (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 1))

/* 23.02 brought PreemptParameters, and with them min_exempt_priority. */
#define SURGENT_HAS_PREEMPT_PARAMETERS SURGENT_SLURM_FROM(23, 2)

/* 25.05 introduced nodes without a slurmd, on which no job can run. */
#if SURGENT_SLURM_FROM(25, 5)
#define SURGENT_NODE_STATE_EXTERNAL NODE_STATE_EXTERNAL
#else
#define SURGENT_NODE_STATE_EXTERNAL 0u
#endif

/* From 24.05 on Slurm gives a requeued job a new priority, which for priority/basic is the last place. */
#define SURGENT_REQUEUE_TAKES_PLACE SURGENT_SLURM_FROM(24, 5)

/*
 * A field that changed its type must not be read as if it had not: the compiler would convert it without a
 * word, and a sentinel of 16 bits is not one of 32.
 */
#define SURGENT_FIELD_IS(record, field, type)                                                                  \
	_Static_assert(_Generic(((record *)0)->field, type: 1, default: 0),                                    \
		       #record "." #field " is not " #type " in this release of Slurm: adapt the shims")

SURGENT_FIELD_IS(job_record_t, magic, uint32_t);
SURGENT_FIELD_IS(job_record_t, job_state, uint32_t);
SURGENT_FIELD_IS(job_record_t, state_reason, uint32_t);
SURGENT_FIELD_IS(job_record_t, array_job_id, uint32_t);
SURGENT_FIELD_IS(job_record_t, array_task_id, uint32_t);
SURGENT_FIELD_IS(job_record_t, het_job_id, uint32_t);
SURGENT_FIELD_IS(job_record_t, het_job_list, surgent_list_t);
SURGENT_FIELD_IS(job_record_t, het_job_offset, uint32_t);
SURGENT_FIELD_IS(job_record_t, user_id, uint32_t);
SURGENT_FIELD_IS(job_record_t, group_id, uint32_t);
SURGENT_FIELD_IS(job_record_t, tres_per_node, char *);
SURGENT_FIELD_IS(job_record_t, tres_per_job, char *);
SURGENT_FIELD_IS(job_record_t, tres_per_socket, char *);
SURGENT_FIELD_IS(job_record_t, tres_per_task, char *);
SURGENT_FIELD_IS(job_record_t, priority, uint32_t);
SURGENT_FIELD_IS(job_record_t, site_factor, uint32_t);
SURGENT_FIELD_IS(job_record_t, restart_cnt, uint16_t);
SURGENT_FIELD_IS(job_record_t, batch_flag, uint16_t);
SURGENT_FIELD_IS(job_record_t, time_limit, uint32_t);
SURGENT_FIELD_IS(job_record_t, start_time, time_t);
SURGENT_FIELD_IS(job_record_t, end_time, time_t);
SURGENT_FIELD_IS(job_record_t, preempt_time, time_t);
SURGENT_FIELD_IS(job_record_t, comment, char *);
SURGENT_FIELD_IS(job_record_t, admin_comment, char *);
SURGENT_FIELD_IS(job_record_t, gres_list_alloc, surgent_list_t);
SURGENT_FIELD_IS(job_record_t, gres_list_req, surgent_list_t);
SURGENT_FIELD_IS(job_record_t, part_ptr, part_record_t *);
SURGENT_FIELD_IS(job_record_t, details, job_details_t *);
SURGENT_FIELD_IS(job_record_t, part_ptr_list, surgent_list_t);
SURGENT_FIELD_IS(job_record_t, array_recs, job_array_struct_t *);
SURGENT_FIELD_IS(job_record_t, bit_flags, uint64_t);
SURGENT_FIELD_IS(job_record_t, warn_flags, uint16_t);
SURGENT_FIELD_IS(job_record_t, warn_time, uint16_t);
SURGENT_FIELD_IS(job_array_struct_t, task_cnt, uint32_t);
SURGENT_FIELD_IS(job_array_struct_t, max_run_tasks, uint32_t);
SURGENT_FIELD_IS(job_array_struct_t, tot_run_tasks, uint32_t);
SURGENT_FIELD_IS(job_details_t, magic, uint32_t);
SURGENT_FIELD_IS(job_details_t, submit_time, time_t);
SURGENT_FIELD_IS(job_details_t, begin_time, time_t);
SURGENT_FIELD_IS(job_details_t, requeue, uint16_t);
SURGENT_FIELD_IS(job_details_t, whole_node, uint8_t);
SURGENT_FIELD_IS(job_details_t, min_nodes, uint32_t);
SURGENT_FIELD_IS(job_details_t, max_nodes, uint32_t);
SURGENT_FIELD_IS(job_details_t, min_cpus, uint32_t);
SURGENT_FIELD_IS(job_details_t, num_tasks, uint32_t);
SURGENT_FIELD_IS(job_details_t, ntasks_per_node, uint16_t);
SURGENT_FIELD_IS(job_details_t, cpus_per_task, uint16_t);
SURGENT_FIELD_IS(job_details_t, pn_min_cpus, uint32_t);
SURGENT_FIELD_IS(job_details_t, pn_min_memory, uint64_t);
SURGENT_FIELD_IS(job_details_t, mc_ptr, multi_core_data_t *);
SURGENT_FIELD_IS(job_details_t, overcommit, uint8_t);
SURGENT_FIELD_IS(job_details_t, share_res, uint8_t);
SURGENT_FIELD_IS(job_details_t, expanding_jobid, uint32_t);
SURGENT_FIELD_IS(multi_core_data_t, threads_per_core, uint16_t);
SURGENT_FIELD_IS(multi_core_data_t, ntasks_per_core, uint16_t);
SURGENT_FIELD_IS(multi_core_data_t, sockets_per_node, uint16_t);
SURGENT_FIELD_IS(job_resources_t, nhosts, uint32_t);
SURGENT_FIELD_IS(job_resources_t, nodes, char *);
SURGENT_FIELD_IS(job_resources_t, core_bitmap, bitstr_t *);
SURGENT_FIELD_IS(job_resources_t, node_req, uint32_t);
SURGENT_FIELD_IS(job_resources_t, whole_node, uint8_t);
SURGENT_FIELD_IS(job_resources_t, cpus, uint16_t *);
SURGENT_FIELD_IS(job_resources_t, memory_allocated, uint64_t *);
SURGENT_FIELD_IS(part_record_t, magic, uint32_t);
SURGENT_FIELD_IS(part_record_t, max_share, uint16_t);
SURGENT_FIELD_IS(part_record_t, max_time, uint32_t);
SURGENT_FIELD_IS(part_record_t, min_nodes, uint32_t);
SURGENT_FIELD_IS(part_record_t, max_nodes, uint32_t);
SURGENT_FIELD_IS(slurmctld_resv_t, node_bitmap, bitstr_t *);
SURGENT_FIELD_IS(slurmctld_resv_t, start_time, time_t);
SURGENT_FIELD_IS(slurmctld_resv_t, start_time_first, time_t);
SURGENT_FIELD_IS(slurmctld_resv_t, end_time, time_t);
SURGENT_FIELD_IS(slurmctld_resv_t, duration, uint32_t);
SURGENT_FIELD_IS(slurmctld_resv_t, flags, uint64_t);
SURGENT_FIELD_IS(slurmctld_resv_t, max_start_delay, uint32_t);
SURGENT_FIELD_IS(node_record_t, magic, uint32_t);
SURGENT_FIELD_IS(node_record_t, node_state, uint32_t);
SURGENT_FIELD_IS(node_record_t, cpus_efctv, uint16_t);
SURGENT_FIELD_IS(node_record_t, tpc, uint16_t);
SURGENT_FIELD_IS(node_record_t, tot_cores, uint16_t);
SURGENT_FIELD_IS(node_record_t, real_memory, uint64_t);
SURGENT_FIELD_IS(node_record_t, mem_spec_limit, uint64_t);
SURGENT_FIELD_IS(node_record_t, gres_list, surgent_list_t);
SURGENT_FIELD_IS(gres_node_state_t, gres_cnt_avail, uint64_t);
SURGENT_FIELD_IS(gres_node_state_t, type_cnt, uint16_t);
SURGENT_FIELD_IS(gres_node_state_t, type_cnt_avail, uint64_t *);
SURGENT_FIELD_IS(gres_node_state_t, type_name, char **);
SURGENT_FIELD_IS(gres_job_state_t, node_cnt, uint32_t);
SURGENT_FIELD_IS(gres_job_state_t, gres_cnt_node_alloc, uint64_t *);
SURGENT_FIELD_IS(gres_job_state_t, gres_per_node, uint64_t);
SURGENT_FIELD_IS(gres_job_state_t, gres_per_job, uint64_t);
SURGENT_FIELD_IS(gres_job_state_t, gres_per_task, uint64_t);
SURGENT_FIELD_IS(gres_job_state_t, gres_per_socket, uint64_t);
SURGENT_FIELD_IS(gres_job_state_t, cpus_per_gres, uint16_t);
SURGENT_FIELD_IS(gres_job_state_t, def_cpus_per_gres, uint16_t);
SURGENT_FIELD_IS(gres_job_state_t, mem_per_gres, uint64_t);
SURGENT_FIELD_IS(gres_job_state_t, def_mem_per_gres, uint64_t);
SURGENT_FIELD_IS(slurmctld_config_t, shutdown_time, time_t);
SURGENT_FIELD_IS(slurmctld_config_t, thread_id_save, pthread_t);
SURGENT_FIELD_IS(job_desc_msg_t, requeue, uint16_t);
SURGENT_FIELD_IS(job_desc_msg_t, priority, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, het_job_offset, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, spank_job_env, char **);
SURGENT_FIELD_IS(job_desc_msg_t, spank_job_env_size, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, group_id, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, admin_comment, char *);
SURGENT_FIELD_IS(job_desc_msg_t, account, char *);
SURGENT_FIELD_IS(job_desc_msg_t, qos, char *);
SURGENT_FIELD_IS(job_desc_msg_t, partition, char *);
SURGENT_FIELD_IS(job_desc_msg_t, array_inx, char *);
SURGENT_FIELD_IS(job_desc_msg_t, min_nodes, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, min_cpus, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, num_tasks, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, ntasks_per_node, uint16_t);
SURGENT_FIELD_IS(job_desc_msg_t, cpus_per_task, uint16_t);
SURGENT_FIELD_IS(job_desc_msg_t, time_limit, uint32_t);
SURGENT_FIELD_IS(job_desc_msg_t, tres_per_node, char *);
SURGENT_FIELD_IS(job_desc_msg_t, tres_per_job, char *);
SURGENT_FIELD_IS(job_desc_msg_t, tres_per_socket, char *);
SURGENT_FIELD_IS(job_desc_msg_t, tres_per_task, char *);

/*
 * The same of sizes and places, for the releases that are recorded. Those of the tree are right for the slurmctld that was
 * built from it, whatever they are; but a tree that is not what its version says is most often not the one.
 */
#if !defined(SURGENT_SLURM_CHANGED) && UINTPTR_MAX == UINT64_MAX
#define SURGENT_OTHERWISE                                                                                      \
	" is not as in the release of Slurm that this tree says it is. If slurmctld was built from this very tree: "   \
	"make shims SLURM_CHANGED=1"
#define SURGENT_SIZE(record, bytes) _Static_assert(sizeof(record) == (bytes), #record SURGENT_OTHERWISE)
#define SURGENT_AT(record, field, bytes)                                                                       \
	_Static_assert(offsetof(record, field) == (bytes), #record "." #field SURGENT_OTHERWISE)
#include "layouts.h"
#endif

#endif
