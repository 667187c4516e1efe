/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "surgent.h"

/* One of Slurm's own plugins. */
typedef struct stock {
	const char *type;
	const char *file;
	void *handle; /* once loaded, for good */
	int (*init)(void);
	void (*fini)(void);
	bool running; /* between its init() and its fini() */
	surgent_base_t hooks;
} stock_t;

_Atomic(const surgent_base_t *) surgent_base_in_force;

/* Below: by the planner's thread, and by Slurm when it loads and drops this plugin. Neither waits under it for a Slurm lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *plugin_dirs;
static stock_t stocks[] = {
	[SURGENT_BASE_QOS] = { .type = "preempt/qos", .file = "preempt_qos.so" },
	[SURGENT_BASE_PARTITION_PRIO] = { .type = "preempt/partition_prio", .file = "preempt_partition_prio.so" },
};

#if SURGENT_PREEMPT_HAS_GET_DATA
uint16_t surgent_base_mode(const surgent_base_t *base, job_record_t *job)
{
	uint16_t mode = PREEMPT_MODE_OFF;

	(void)base->get_data(job, PREEMPT_DATA_MODE, &mode);
	return mode;
}

uint32_t surgent_base_prio(const surgent_base_t *base, job_record_t *job)
{
	uint32_t prio = 0;

	(void)base->get_data(job, PREEMPT_DATA_PRIO, &prio);
	return prio;
}

uint32_t surgent_base_grace_s(const surgent_base_t *base, job_record_t *job)
{
	uint32_t grace_s = 0;

	(void)base->get_data(job, PREEMPT_DATA_GRACE_TIME, &grace_s);
	return grace_s;
}
#else
uint16_t surgent_base_mode(const surgent_base_t *base, job_record_t *job)
{
	return base->get_mode(job);
}

uint32_t surgent_base_prio(const surgent_base_t *base, job_record_t *job)
{
	return base->get_prio(job);
}

uint32_t surgent_base_grace_s(const surgent_base_t *base, job_record_t *job)
{
	return base->get_grace_time(job);
}
#endif

/* Whether all hooks are there. */
static bool find_hooks(stock_t *stock, void *handle)
{
	surgent_base_t *hooks = &stock->hooks;

	stock->init = (int (*)(void))dlsym(handle, "init");
	stock->fini = (void (*)(void))dlsym(handle, "fini");
	hooks->job_preempt_check = (bool (*)(job_queue_rec_t *, job_queue_rec_t *))dlsym(handle, "preempt_p_job_preempt_check");
	hooks->preemptable = (bool (*)(job_record_t *, job_record_t *))dlsym(handle, "preempt_p_preemptable");
#if SURGENT_PREEMPT_HAS_GET_DATA
	hooks->get_data = (int (*)(job_record_t *, slurm_preempt_data_type_t, void *))dlsym(handle, "preempt_p_get_data");
	return hooks->job_preempt_check && hooks->preemptable && hooks->get_data;
#else
	hooks->get_grace_time = (uint32_t (*)(job_record_t *))dlsym(handle, "preempt_p_get_grace_time");
	hooks->get_mode = (uint16_t (*)(job_record_t *))dlsym(handle, "preempt_p_get_mode");
	hooks->get_prio = (uint32_t (*)(job_record_t *))dlsym(handle, "preempt_p_get_prio");
	return hooks->job_preempt_check && hooks->preemptable && hooks->get_grace_time && hooks->get_mode && hooks->get_prio;
#endif
}

/* NULL, or why the plugin cannot be used. Slurm looks at a plugin's version before it calls it, and so do we. */
static const char *load_file(stock_t *stock, const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY);
	const char *type = handle ? dlsym(handle, "plugin_type") : NULL;
	const uint32_t *version = handle ? dlsym(handle, "plugin_version") : NULL;
	const char *why = NULL;

	if (!handle)
		why = dlerror();
	else if (!type || strcmp(type, stock->type) || !version)
		why = "it is not that plugin of Slurm's";
	else if (*version != SLURM_VERSION_NUMBER)
		why = "it is of another Slurm release than this slurmctld";
	else if (!find_hooks(stock, handle))
		why = "it lacks a function that plugins of this Slurm release have";
	if (!why)
		stock->handle = handle;
	else if (handle)
		dlclose(handle);
	return why ? why : stock->handle ? NULL : "it cannot be loaded";
}

/* As Slurm does: the first folder of PluginDir that has one which can be used. */
static bool load(stock_t *stock, char *why, size_t why_size)
{
	char *dirs = strdup(plugin_dirs ? plugin_dirs : ""), *rest = dirs;

	snprintf(why, why_size, "no folder of PluginDir (%.500s) has it", dirs ? dirs : "?");
	for (const char *dir; !stock->handle && (dir = strsep(&rest, ":"));) {
		char path[4096];
		const char *reason;

		snprintf(path, sizeof(path), "%s/%s", dir, stock->file);
		if (access(path, F_OK))
			continue;
		reason = load_file(stock, path);
		if (reason)
			snprintf(why, why_size, "%.400s: %.300s", path, reason);
	}
	free(dirs);
	return stock->handle;
}

static bool start(stock_t *stock)
{
	char line[1024], why[768];

	if (!stock->handle && !load(stock, why, sizeof(why))) {
		snprintf(line, sizeof(line),
			 "surgent: %s cannot be loaded: %s; normal jobs preempt nobody (base = \"none\") until that is "
			 "mended and slurmctld restarted, or base changed in surgent.toml",
			 stock->file, why);
		surgent_host_log(SURGENT_LOG_ERROR, line);
		return false;
	}
	if (!stock->running && stock->init && stock->init() != SLURM_SUCCESS) {
		snprintf(line, sizeof(line),
			 "surgent: %s does not start; normal jobs preempt nobody (base = \"none\")", stock->type);
		surgent_host_log(SURGENT_LOG_ERROR, line);
		return false;
	}
	stock->running = true;
	return true;
}

static void put_in_force(const surgent_base_t *hooks)
{
	atomic_store_explicit(&surgent_base_in_force, hooks, memory_order_release);
}

void surgent_use_base(uint32_t which)
{
	stock_t *stock = which != SURGENT_BASE_NONE && which < sizeof(stocks) / sizeof(*stocks) ? &stocks[which] : NULL;
	const surgent_base_t *hooks;
	char line[256];

	pthread_mutex_lock(&lock);
	hooks = stock && start(stock) ? &stock->hooks : NULL;
	if (hooks != surgent_base()) {
		put_in_force(hooks);
		snprintf(line, sizeof(line), "surgent: %s answers for all jobs but urgent ones",
			 hooks ? stock->type : "nobody");
		surgent_host_log(SURGENT_LOG_INFO, line);
	}
	pthread_mutex_unlock(&lock);
}

void surgent_base_init(void)
{
	pthread_mutex_lock(&lock);
	free(plugin_dirs);
	plugin_dirs = slurm_conf.plugindir ? strdup(slurm_conf.plugindir) : NULL;
	pthread_mutex_unlock(&lock);
}

void surgent_base_fini(void)
{
	pthread_mutex_lock(&lock);
	put_in_force(NULL);
	for (size_t at = 0; at < sizeof(stocks) / sizeof(*stocks); at++) {
		if (stocks[at].running && stocks[at].fini)
			stocks[at].fini();
		stocks[at].running = false;
	}
	pthread_mutex_unlock(&lock);
}
