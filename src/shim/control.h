/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether this slurmctld is the one in control. */
#ifndef SURGENT_CONTROL_H
#define SURGENT_CONTROL_H

#include <stdint.h>

/* surgent_host_t.in_control_since */
int64_t surgent_in_control_since(void);

#endif
