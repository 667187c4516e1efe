/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fit.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host.h"
#include "surgent.h"

#define NAME(kind, type) [kind] = #type,
static const char *const names[SURGENT_KINDS] = { SURGENT_RECORDS(NAME) };
#undef NAME

#define SIZE(kind, type) [kind] = sizeof(type),
static const size_t sizes[SURGENT_KINDS] = { SURGENT_RECORDS(SIZE) };
#undef SIZE

atomic_bool surgent_known[SURGENT_KINDS];
static atomic_bool misfit;
/* Set in init(), before all else. */
static size_t cookie;

bool surgent_has_misfit(void)
{
	return atomic_load_explicit(&misfit, memory_order_relaxed);
}

/* The first misfit of all plugins is told; the others follow from it. */
static bool tell_misfit(const char *name, size_t here, size_t expected)
{
	char line[512], found[64] = "is none";

	atomic_store(&misfit, true);
	if (!surgent_misfit())
		return false;
	if (here)
		snprintf(found, sizeof(found), "has %zu bytes", here);
	snprintf(line, sizeof(line),
		 "surgent: a %s of this slurmctld %s, and in the headers that this plugin was built with it has %zu: they are not "
		 "the ones that slurmctld was built with, though they say the same version. Build the plugins with those "
		 "(SLURM_SRC). Surgent steps aside until slurmctld is restarted, Slurm goes on as without it",
		 name, found, expected);
	surgent_host_log(SURGENT_LOG_ERROR, line);
	return false;
}

/* --- records that slurmctld has allocated --- */

/* What Slurm's allocator keeps before each block. */
typedef struct block_head {
	size_t cookie; /* the same for all blocks */
	size_t bytes;  /* as asked for */
} block_head_t;

/*
 * Whether these eight bytes are there to be read. The kernel looks at the set of signals before it refuses what is to be
 * done with it, so nothing is done.
 */
static bool is_readable(const size_t *word)
{
	const int kept = errno;
	const bool readable = syscall(SYS_rt_sigprocmask, ~0, word, NULL, sizeof(*word)) == 0 || errno != EFAULT;

	errno = kept;
	return readable;
}

/* The cookie, learnt from a block of our own; 0 if this Slurm's allocator works otherwise. */
static size_t learn_cookie(void)
{
	const size_t odd_size = 1031;
	void *block = slurm_xcalloc(1, odd_size, true, false, __FILE__, __LINE__, __func__);
	const block_head_t head = ((const block_head_t *)block)[-1];

	slurm_xfree(&block);
	return head.bytes == odd_size ? head.cookie : 0;
}

/* How many bytes slurmctld asked for; 0 if this is not where a block begins. */
static size_t block_bytes(const void *record)
{
	const block_head_t *head = (const block_head_t *)record - 1;

	if ((uintptr_t)record % sizeof(size_t) || (uintptr_t)record < sizeof(*head) || !is_readable(&head->cookie) ||
	    !is_readable(&head->bytes))
		return 0;
	return head->cookie == cookie ? head->bytes : 0;
}

bool surgent_find_out(surgent_kind_t kind, const void *record)
{
	size_t bytes;

	if (surgent_has_misfit() || !record)
		return false;
	/* Without a cookie nothing can be said; the magic numbers are left. */
	bytes = cookie ? block_bytes(record) : sizes[kind];
	/* Slurm hands these over itself, so one that it did not allocate says nothing of the others. */
	if (!bytes && (kind == SURGENT_JOB || kind == SURGENT_QUEUE_ENTRY))
		return false;
	if (bytes != sizes[kind])
		return tell_misfit(names[kind], bytes, sizes[kind]);
	atomic_store(&surgent_known[kind], true);
	return true;
}

bool surgent_job_fits(const job_record_t *job)
{
	const job_details_t *details;

	if (!surgent_fits(SURGENT_JOB, job) || job->magic != JOB_MAGIC)
		return false;
	details = job->details;
	if (details && !(surgent_fits(SURGENT_DETAILS, details) && details->magic == DETAILS_MAGIC &&
			 SURGENT_FITS_OR_NULL(SURGENT_MULTI_CORE, details->mc_ptr)))
		return false;
	if (job->part_ptr && !(surgent_fits(SURGENT_PARTITION, job->part_ptr) && job->part_ptr->magic == PART_MAGIC))
		return false;
	return SURGENT_FITS_OR_NULL(SURGENT_ARRAY, job->array_recs) &&
	       SURGENT_FITS_OR_NULL(SURGENT_RESOURCES, job->job_resrcs);
}

/* --- global variables --- */

static bool variable_fits(const void *variable, const char *name, size_t expected)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	/* Nothing can be said of one that the linker does not know. */
	if (!dladdr1(variable, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || info.dli_saddr != variable ||
	    !symbol->st_size || symbol->st_size == expected)
		return true;
	return tell_misfit(name, symbol->st_size, expected);
}

bool surgent_globals_fit(void)
{
	cookie = learn_cookie();
	return variable_fits(&slurm_conf, "slurm_conf_t", sizeof(slurm_conf)) &&
	       variable_fits(&slurmctld_config, "slurmctld_config_t", sizeof(slurmctld_config));
}

/* --- descriptions of jobs --- */

bool surgent_descriptions_fit(void)
{
	enum { FILLING = 0xa5, ROOM = 4 };
	static job_desc_msg_t descriptions[ROOM];
	const unsigned char *bytes = (const unsigned char *)descriptions;
	size_t size = sizeof(descriptions);

	/* Slurm clears all of one and writes its NO_VALs into it. */
	memset(descriptions, FILLING, sizeof(descriptions));
	slurm_init_job_desc_msg(descriptions);
	while (size && bytes[size - 1] == FILLING)
		size--;
	return size == sizeof(*descriptions) || tell_misfit("job_desc_msg_t", size, sizeof(*descriptions));
}
