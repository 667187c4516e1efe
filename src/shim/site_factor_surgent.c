/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site_factor/surgent: what waiting jobs get added to their priority by priority/multifactor.
 *
 * Slurm calls these hooks under its job write lock.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "compat.h"
#include "fit.h"
#include "host.h"
#include "identity.h"
#include "queue.h"
#include "surgent.h"
#include "views.h"

SURGENT_IDENTITY("site_factor/surgent", "Surgent: the place of training jobs in the queue");

#define GO_ON 0
#define STOP (-1)

/* Short of Slurm's NO_VAL and INFINITE. */
#define FACTOR_MAX 0x7ffffff0ll

static bool is_waiting(const job_record_t *job)
{
	return job && surgent_job_fits(job) && surgent_view_state(job) == SURGENT_STATE_PENDING;
}

static void set_factor(job_record_t *job)
{
	const surgent_queue_view_t view = surgent_view_queue(job);
	int64_t factor = 0;

	if (!surgent_site_factor(&view, &factor))
		return;
	if (factor > FACTOR_MAX)
		factor = FACTOR_MAX;
	if (factor < -FACTOR_MAX)
		factor = -FACTOR_MAX;
	job->site_factor = (uint32_t)((int64_t)NICE_OFFSET + factor);
}

static int set_factor_if_waiting(void *item, void *context)
{
	(void)context;
	if (is_waiting(item))
		set_factor(item);
	return GO_ON;
}

SURGENT_HOOK extern void site_factor_p_set(job_record_t *job)
{
	/* A running job is updated at each report of its monitor, and its place in the queue is of no interest. */
	if (is_waiting(job))
		set_factor(job);
}

/* Slurm computes all priorities right after this. */
SURGENT_HOOK extern void site_factor_p_update(void)
{
	if (!job_list)
		return;
	surgent_queue_moment();
	slurm_list_for_each_ro(job_list, set_factor_if_waiting, NULL);
}

#if SURGENT_SITE_FACTOR_HAS_RECONFIG
SURGENT_HOOK extern void site_factor_p_reconfig(void)
{
}
#endif

/* --- the same, where Slurm does not do so by itself --- */

/* The plugin is being unloaded, and priority/multifactor with it. */
static atomic_bool closing;
/* reprioritize() is calling priority/multifactor. */
static atomic_bool busy;

/*
 * slurmctld, before it saves its state for the last time, has priority/multifactor free what that computes with, under no
 * lock that is held here and before fini() is called. It has decided to end a while before that.
 */
static bool must_stop(void)
{
	return atomic_load(&closing) || slurmctld_config.shutdown_time;
}

static int set_priority_if_waiting(void *item, void *context)
{
	job_record_t *job = item;

	(void)context;
	if (must_stop())
		return STOP;
	/* 0 stands for "held". */
	if (is_waiting(job) && job->priority)
		set_job_prio(job);
	return GO_ON;
}

/* 23.02 loads this plugin whatever PriorityType is, and with priority/basic each new priority is the last place. */
static bool is_multifactor(void)
{
	return slurm_conf.priority_type && strstr(slurm_conf.priority_type, "multifactor");
}

/*
 * May be called as soon as this plugin has attached, which is in the middle of priority/multifactor's own init. From
 * 23.02 on Slurm loads its jobs after that, so there is none yet; 22.05 has set_job_prio() wait until it is ready.
 */
static void reprioritize(void)
{
	/* What priority/multifactor itself takes for this, and the settings. */
	const slurmctld_lock_t locks = {
		.conf = READ_LOCK,
		.job = WRITE_LOCK,
		.node = READ_LOCK,
		.part = READ_LOCK,
	};

	lock_slurmctld(locks);
	atomic_store(&busy, true);
	if (!must_stop() && job_list && is_multifactor()) {
		surgent_queue_moment();
		slurm_list_for_each_ro(job_list, set_priority_if_waiting, NULL);
	}
	atomic_store(&busy, false);
	unlock_slurmctld(locks);
}

SURGENT_HOOK extern int init(void)
{
	const surgent_offers_t offers = { .reprioritize = reprioritize };

	atomic_store(&closing, false);
	return surgent_host_attach(SURGENT_SHIM_SITE_FACTOR, offers);
}

SURGENT_HOOK extern void fini(void)
{
	/* Who is busy now ends with the job at hand, in microseconds; whoever comes later finds the door shut. */
	atomic_store(&closing, true);
	for (int ms = 0; ms < 1000 && atomic_load(&busy); ms++)
		usleep(1000);
	surgent_detach(SURGENT_SHIM_SITE_FACTOR);
}
