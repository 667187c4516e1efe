/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host.h"

#include <stdio.h>

#include "compat.h"
#include "fit.h"

static log_level_t slurm_level(uint32_t level)
{
	switch (level) {
	case SURGENT_LOG_ERROR:
		return LOG_LEVEL_ERROR;
	case SURGENT_LOG_INFO:
		return LOG_LEVEL_INFO;
	case SURGENT_LOG_VERBOSE:
		return LOG_LEVEL_VERBOSE;
	default:
		return LOG_LEVEL_DEBUG;
	}
}

void surgent_host_log(uint32_t level, const char *line)
{
	/* "%s": the line may hold text of a user's, which must never be a format. */
	if (line)
		slurm_log_var(slurm_level(level), "%s", line);
}

int surgent_host_attach(uint32_t shim, surgent_offers_t offers)
{
	/* Static, since init() may come again and the core may keep the functions, though not the strings. */
	static surgent_host_t host;
	const uint32_t core_abi = surgent_core_abi();

	if (core_abi != SURGENT_ABI) {
		char line[256];

		snprintf(line, sizeof(line),
			 "surgent: the libsurgent.so beside this plugin speaks contract %u and the plugin %u: "
			 "install plugins and libsurgent.so of one build",
			 core_abi, SURGENT_ABI);
		surgent_host_log(SURGENT_LOG_ERROR, line);
		return SLURM_ERROR;
	}

	/* To fail would end slurmctld. So the plugin loads, and does nothing. */
	if (!surgent_globals_fit())
		return SLURM_SUCCESS;
	host = (surgent_host_t){
		.size = sizeof(host),
		.abi = SURGENT_ABI,
		.shim = shim,
		.slurm_version = SLURM_VERSION_NUMBER,
		.slurm_conf = slurm_conf.slurm_conf,
		.state_dir = slurm_conf.state_save_location,
		.log = surgent_host_log,
		.snapshot = offers.snapshot,
		.nudge = offers.nudge,
		.reprioritize = offers.reprioritize,
		.use_base = offers.use_base,
		.in_control_since = offers.in_control_since,
	};
	if (surgent_attach(&host)) {
		surgent_host_log(SURGENT_LOG_ERROR,
				 "surgent: the core does not accept this plugin (the line before says why), "
				 "so the plugin does not load");
		return SLURM_ERROR;
	}
	return SLURM_SUCCESS;
}
