/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every shim does alike: meeting the core, and writing to Slurm's log. */
#ifndef SURGENT_HOST_H
#define SURGENT_HOST_H

#include "surgent.h"

/* What this shim can do for the core, as in surgent_host_t; each may be NULL. */
typedef struct surgent_offers {
	int (*snapshot)(const surgent_sink_t *sink);
	void (*nudge)(void);
	void (*reprioritize)(void);
	void (*use_base)(uint32_t base);
	int64_t (*in_control_since)(void);
} surgent_offers_t;

/*
 * Offers this slurmctld to the core; the body of a shim's init().
 * Returns SLURM_SUCCESS, or SLURM_ERROR after a log line that says why.
 */
int surgent_host_attach(uint32_t shim, surgent_offers_t offers);

/* Writes one line to Slurm's log, whatever characters are in it. Any thread. */
void surgent_host_log(uint32_t level, const char *line);

#endif
