/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether Slurm's records are in this slurmctld as they are in the headers that the plugin was built with.
 *
 * Slurm refuses a plugin of another patch level by itself. But two trees may say the same patch level and differ: a site's
 * own patch, a distribution's, a branch between two releases. To read a record by the wrong headers could crash slurmctld, so
 * the first of each kind is looked at from outside before it is read: Slurm's allocator knows how many bytes slurmctld asked
 * for, and the linker how large its global variables are. A field more or less shows in that, wherever it stands.
 *
 * Once a kind is known to fit, all this is one load of a byte. If one does not, the core is told, the log says which, and the
 * functions here answer false from then on.
 */
#ifndef SURGENT_FIT_H
#define SURGENT_FIT_H

#include <stdatomic.h>

#include "compat.h"

/* Each kind of record that the shims read in memory of slurmctld's. */
#define SURGENT_RECORDS(X)                                                                                     \
	X(SURGENT_JOB, job_record_t)                                                                           \
	X(SURGENT_QUEUE_ENTRY, job_queue_rec_t)                                                                \
	X(SURGENT_DETAILS, job_details_t)                                                                      \
	X(SURGENT_ARRAY, job_array_struct_t)                                                                   \
	X(SURGENT_MULTI_CORE, multi_core_data_t)                                                               \
	X(SURGENT_RESOURCES, job_resources_t)                                                                  \
	X(SURGENT_PARTITION, part_record_t)                                                                    \
	X(SURGENT_RESERVATION, slurmctld_resv_t)                                                               \
	X(SURGENT_QOS, slurmdb_qos_rec_t)                                                                      \
	X(SURGENT_NODE, node_record_t)                                                                         \
	X(SURGENT_GRES, gres_state_t)                                                                          \
	X(SURGENT_NODE_GRES, gres_node_state_t)                                                                \
	X(SURGENT_JOB_GRES, gres_job_state_t)

#define SURGENT_NAME_KIND(kind, type) kind,
typedef enum surgent_kind { SURGENT_RECORDS(SURGENT_NAME_KIND) SURGENT_KINDS } surgent_kind_t;
#undef SURGENT_NAME_KIND

extern atomic_bool surgent_known[SURGENT_KINDS];

/* Whether records of this kind are known to fit. */
static inline bool surgent_is_known(surgent_kind_t kind)
{
	return atomic_load_explicit(&surgent_known[kind], memory_order_relaxed);
}

/* Finds out by this one. */
bool surgent_find_out(surgent_kind_t kind, const void *record);

/* Whether this record, which need not be one, may be read. */
static inline bool surgent_fits(surgent_kind_t kind, const void *record)
{
	return surgent_is_known(kind) || surgent_find_out(kind, record);
}

/* The same of one that may be NULL; the pointer is not even looked at where its kind is known. */
#define SURGENT_FITS_OR_NULL(kind, pointer) (surgent_is_known(kind) || !(pointer) || surgent_find_out(kind, pointer))

/* The job record and all single records that it points to, but its QOS, which is another lock's. */
bool surgent_job_fits(const job_record_t *job);

/* The counts of a generic resource, which are of this kind; NULL if there are none, or if they may not be read. */
static inline void *surgent_gres_counts(const gres_state_t *gres, surgent_kind_t kind)
{
	return surgent_fits(SURGENT_GRES, gres) && SURGENT_FITS_OR_NULL(kind, gres->gres_data) ? gres->gres_data : NULL;
}

/* slurm_conf and slurmctld_config. To be asked first of all, in init(). */
bool surgent_globals_fit(void);

/* The description of a job that is submitted or changed, which comes from memory of any kind. To be asked in init(). */
bool surgent_descriptions_fit(void);

/* Whether anything was found not to fit. */
bool surgent_has_misfit(void);

#endif
