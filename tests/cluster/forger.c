/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A SPANK plugin that sends slurmctld, as a value of --urgency, whatever the variable FORGED says. */
#include <stdlib.h>

const char plugin_name[] = "forger";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_RELEASE;
const unsigned int spank_plugin_version = 1;

int spank_job_control_setenv(void *spank, const char *name, const char *value, int overwrite);

int slurm_spank_init_post_opt(void *spank, int count, char **arguments)
{
	const char *forged = getenv("FORGED");

	(void)count;
	(void)arguments;
	return forged ? spank_job_control_setenv(spank, "_SLURM_SPANK_OPTION_surgent_urgency", forged, 1) : 0;
}
