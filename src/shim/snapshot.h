/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The planner's two ways into slurmctld. Both only from a thread that holds no Slurm lock. */
#ifndef SURGENT_SNAPSHOT_H
#define SURGENT_SNAPSHOT_H

#include "surgent.h"

/* surgent_host_t.snapshot */
int surgent_snapshot(const surgent_sink_t *sink);

/* surgent_host_t.nudge */
void surgent_nudge(void);

#endif
