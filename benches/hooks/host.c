/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays the part of slurmctld that asks who may be preempted: loads the installed Slurm's own preempt plugins and
 * Surgent's, and asks each about the same records, one question for each running job, in turn.
 *
 *   host STOCK_PLUGINS SURGENT_PLUGINS
 *
 * Ends with 1, after a sentence, where an answer is wrong or a question of Surgent's allocates or locks.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "counters.h"
#include "jobs.h"

#define ROUNDS 101
#define WARMING_PASSES 3
/* More than a cache of the third level holds. */
#define FLUSH_BYTES (64ul << 20)
#define CACHE_LINE_BYTES 64

#define NORMAL_ID 500001
#define URGENT_ID 500002
#define OTHER_URGENT_ID 500003
#define VICTIMS 50

/* What the plugins take from slurmctld itself while they load. */
surgent_list_t job_list;
surgent_list_t resv_list;
slurmctld_config_t slurmctld_config;
time_t control_time;

typedef bool (*preemptable_fn)(job_record_t *preemptee, job_record_t *preemptor);
typedef void (*open_gate_fn)(uint32_t urgent_id, uint32_t first_victim_id, uint32_t count, int64_t start_time);

typedef struct contender {
	const char *name;
	preemptable_fn ask;
	job_record_t *preemptor;
	uint32_t gate_of; /* whose gate is open; 0: nobody's */
	int begun;        /* so many running jobs have their preemption begun */
	int yes;          /* how often it is to answer yes */
	unsigned long allocations;
	unsigned long locks;
	double ns[ROUNDS]; /* of a question */
} contender_t;

static open_gate_fn open_gate;
static unsigned char *flush;

static void *symbol_of(const char *directory, const char *plugin, const char *symbol)
{
	char path[4096];
	void *library;
	void *found;

	snprintf(path, sizeof(path), "%s/%s", directory, plugin);
	/* Lazily, as slurmctld does: what the other hooks would call is not there. */
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	found = library ? dlsym(library, symbol) : NULL;
	if (!found) {
		fprintf(stderr, "%s cannot be loaded: %s\n", path, dlerror());
		exit(1);
	}
	return found;
}

static double now_ns(void)
{
	struct timespec time;

	/* Of this thread: other programs' turns do not count. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int ask_all(preemptable_fn ask, job_record_t *preemptor)
{
	int yes = 0;

	for (int at = 0; at < JOBS; at++)
		yes += ask(running[at], preemptor);
	return yes;
}

static void check(const contender_t *contender, int yes)
{
	if (yes == contender->yes)
		return;
	fprintf(stderr, "%s: %d times yes instead of %d\n", contender->name, yes, contender->yes);
	exit(1);
}

static void empty_caches(void)
{
	for (size_t at = 0; at < FLUSH_BYTES; at += CACHE_LINE_BYTES)
		((volatile unsigned char *)flush)[at]++;
}

static void measure(contender_t *contender, bool cold, int round)
{
	unsigned long allocations;
	unsigned long locks;
	double begin;
	int yes;

	open_gate(contender->gate_of, FIRST_JOB_ID, contender->gate_of ? VICTIMS : 0, START_TIME);
	for (int at = 0; at < VICTIMS; at++)
		running[at]->preempt_time = at < contender->begun ? START_TIME + 1 : 0;
	if (cold)
		empty_caches();
	for (int pass = 0; !cold && pass < WARMING_PASSES; pass++)
		check(contender, ask_all(contender->ask, contender->preemptor));

	allocations = counted_allocations;
	locks = counted_locks;
	begin = now_ns();
	yes = ask_all(contender->ask, contender->preemptor);
	contender->ns[round] = (now_ns() - begin) / JOBS;
	contender->allocations += counted_allocations - allocations;
	contender->locks += counted_locks - locks;
	check(contender, yes);
}

static int by_size(const void *one, const void *other)
{
	const double left = *(const double *)one;
	const double right = *(const double *)other;

	return (left > right) - (left < right);
}

static double median(const double *values)
{
	double sorted[ROUNDS];

	memcpy(sorted, values, sizeof(sorted));
	qsort(sorted, ROUNDS, sizeof(*sorted), by_size);
	return sorted[ROUNDS / 2];
}

/* The median of what each round says: both were measured within milliseconds of each other. */
static double ratio(const contender_t *contender, const contender_t *to)
{
	double ratios[ROUNDS];

	for (int round = 0; round < ROUNDS; round++)
		ratios[round] = contender->ns[round] / to->ns[round];
	return median(ratios);
}

static void shuffle(int *order, int count)
{
	/* The same each time. */
	static unsigned int seed = 1;

	for (int at = count - 1; at > 0; at--) {
		const int other = rand_r(&seed) % (at + 1);
		const int swapped = order[at];

		order[at] = order[other];
		order[other] = swapped;
	}
}

/*
 * All of them in each round, and in another order each time: what else the machine does, and what the one before has left
 * in the caches, meets all alike. The first two are what the others are compared with.
 */
static void compare(contender_t *contenders, int contender_count, bool cold)
{
	int order[contender_count];

	printf("preemptable, %d running jobs, caches %s before each pass over them\n", JOBS, cold ? "emptied" : "warm");
	printf("  %-35s %9s %7s %16s %12s %6s\n", "", "ns a call", "x qos", "x partition_prio", "allocations", "locks");
	for (int at = 0; at < contender_count; at++)
		order[at] = at;
	for (int round = 0; round < ROUNDS; round++) {
		shuffle(order, contender_count);
		for (int at = 0; at < contender_count; at++)
			measure(&contenders[order[at]], cold, round);
	}
	for (int at = 0; at < contender_count; at++)
		printf("  %-35s %9.1f %7.2f %16.2f %12lu %6lu\n", contenders[at].name, median(contenders[at].ns),
		       ratio(&contenders[at], &contenders[0]), ratio(&contenders[at], &contenders[1]),
		       contenders[at].allocations, contenders[at].locks);
}

int main(int count, char **arguments)
{
	const char *stock = count == 3 ? arguments[1] : "";
	const char *surgent = count == 3 ? arguments[2] : "";
	const char *hook = "preempt_p_preemptable";
	preemptable_fn ours = (preemptable_fn)symbol_of(surgent, "preempt_surgent.so", hook);
	preemptable_fn qos = (preemptable_fn)symbol_of(stock, "preempt_qos.so", hook);
	preemptable_fn partition = (preemptable_fn)symbol_of(stock, "preempt_partition_prio.so", hook);
	job_record_t *plain = make_waiting_job(NORMAL_ID, NULL);
	job_record_t *normal = make_waiting_job(NORMAL_ID, "surgent{class=normal first=1764410000}");
	job_record_t *urgent = make_waiting_job(URGENT_ID, "surgent{class=urgent first=1764410000}");
	contender_t contenders[] = {
		{ "stock preempt/qos", qos, normal, .yes = 0 },
		{ "stock preempt/partition_prio", partition, normal, .yes = JOBS },
		{ "stock preempt/qos, once more", qos, normal, .yes = 0 },
		{ "normal job without a record", ours, plain, .yes = 0 },
		{ "normal job", ours, normal, .yes = 0 },
		{ "normal job, another's gate open", ours, normal, .gate_of = OTHER_URGENT_ID },
		{ "normal job, preemptions have begun", ours, normal, .begun = VICTIMS, .yes = VICTIMS },
		{ "urgent job, no gate open", ours, urgent, .yes = 0 },
		{ "urgent job, another's gate open", ours, urgent, .gate_of = OTHER_URGENT_ID },
		{ "urgent job, its own gate open", ours, urgent, .gate_of = URGENT_ID, .yes = VICTIMS },
	};
	const int contender_count = sizeof(contenders) / sizeof(*contenders);

	open_gate = (open_gate_fn)symbol_of(surgent, "libsurgent.so", "surgent_bench_open_gate");
	flush = malloc(FLUSH_BYTES);
	make_running_jobs();
	/* Slurm's list locks itself: that shows whether locks are counted. */
	job_list = list_create(NULL);
	list_append(job_list, running[0]);
	if (!flush || counted_allocations < JOBS || counted_locks == 0) {
		fprintf(stderr, "allocations or locks are not counted, or memory is out\n");
		return 1;
	}

	compare(contenders, contender_count, false);
	compare(contenders, contender_count, true);
	for (int at = 0; at < contender_count; at++) {
		if (contenders[at].allocations || contenders[at].locks) {
			fprintf(stderr, "%s: allocates or locks\n", contenders[at].name);
			return 1;
		}
	}
	return 0;
}
