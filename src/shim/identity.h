/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The three data symbols by which Slurm's loader knows a plugin. They are arrays, not pointers: the loader
 * takes the address of the symbol itself for the text. The version is that of the headers compiled against,
 * and slurmctld refuses a plugin whose version is not its own to the patch level.
 */
#ifndef SURGENT_IDENTITY_H
#define SURGENT_IDENTITY_H

#include "compat.h"

/* Everything else in a shim is hidden (-fvisibility=hidden), so that it meets no symbol of slurmctld's. */
#define SURGENT_HOOK __attribute__((visibility("default")))

#define SURGENT_IDENTITY(type, name)                                                                           \
	SURGENT_HOOK extern const char plugin_name[];                                                          \
	SURGENT_HOOK extern const char plugin_type[];                                                          \
	SURGENT_HOOK extern const uint32_t plugin_version;                                                     \
	const char plugin_name[] = name;                                                                       \
	const char plugin_type[] = type;                                                                       \
	const uint32_t plugin_version = SLURM_VERSION_NUMBER

#endif
