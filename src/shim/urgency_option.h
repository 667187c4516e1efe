/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the option of spank_surgent.so comes to slurmctld. */
#ifndef SURGENT_URGENCY_OPTION_H
#define SURGENT_URGENCY_OPTION_H

#define SURGENT_URGENCY_OPTION "urgency"

/* Slurm makes this name, of a used option's plugin and its own. Behind it there is "=VALUE". */
#define SURGENT_URGENCY_ENTRY "_SLURM_SPANK_OPTION_surgent_" SURGENT_URGENCY_OPTION

#endif
