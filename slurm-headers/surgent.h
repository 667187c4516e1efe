/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * surgent.h - the contract between the shims (C, one build per Slurm release) and the core
 * (libsurgent.so, Rust, one build for all releases). Read by cc for the shims and by bindgen for the core.
 *
 * Rules
 *  - Every struct that one side makes for the other begins with `size`, filled in by the side that makes it, save those
 *    that stand in arrays. The core takes one that is shorter than it is here for none, and then lets Slurm do as it likes.
 *  - So every change of a struct, also a field that is appended, raises SURGENT_ABI; a shim and a core of different
 *    SURGENT_ABI refuse each other and say so in the log. For that, surgent_core_abi() and surgent_host_t up to `log` stay
 *    as they are in all contracts.
 *  - Views are borrowed: they and all they point to are valid only during the call. Each side copies what it keeps.
 *  - Strings are NUL-terminated bytes of no promised encoding, or NULL for "none".
 *  - Slurm's sentinels (NO_VAL, INFINITE ...) end in the shims. Here, an unknown or absent number is
 *    SURGENT_NONE32 / SURGENT_NONE64, and nothing else.
 *  - Times are Unix seconds; 0 means "not set".
 *  - No function of the core blocks, and none may be called from within a callback of a snapshot.
 */
#ifndef SURGENT_H
#define SURGENT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SURGENT_ABI 6u
#define SURGENT_NONE32 0xffffffffu
#define SURGENT_NONE64 0xffffffffffffffffull

/* Which shim is speaking. */
#define SURGENT_SHIM_JOB_SUBMIT 1u
#define SURGENT_SHIM_PREEMPT 2u
#define SURGENT_SHIM_SITE_FACTOR 3u

/* Levels of surgent_host_t.log. */
#define SURGENT_LOG_ERROR 1u
#define SURGENT_LOG_INFO 2u
#define SURGENT_LOG_VERBOSE 3u
#define SURGENT_LOG_DEBUG 4u

/* An amount of one generic resource, e.g. name "gpu", type "a100" or NULL, count 4. */
typedef struct surgent_gres {
	const char *name;
	const char *type;
	uint64_t count;
} surgent_gres_t;

/* surgent_node_view_t.flags */
#define SURGENT_NODE_DOWN 0x01u       /* down, failing, not responding or of unknown state */
#define SURGENT_NODE_DRAIN 0x02u      /* takes no new jobs */
#define SURGENT_NODE_COMPLETING 0x04u /* an ended job is still being cleaned up */
#define SURGENT_NODE_RESERVED 0x08u   /* in a maintenance or other reservation now */
#define SURGENT_NODE_POWERING_DOWN 0x10u
#define SURGENT_NODE_IDLE 0x20u /* by Slurm's own count no job is on it */

/* One node as the scheduler sees it. */
typedef struct surgent_node_view {
	uint32_t size;
	uint32_t index; /* position in Slurm's node table; what the other views refer to */
	uint32_t flags;
	uint32_t cpus;       /* CPUs that jobs may use */
	uint64_t memory_mib; /* memory that jobs may use */
	const char *name;
	const char *features;       /* active features, comma separated */
	const surgent_gres_t *gres; /* what the node has for jobs, used or not */
	uint32_t gres_count;
	uint32_t cpus_per_core; /* CPUs of one core; a job holds whole cores */
} surgent_node_view_t;

/* What a running job holds on one node. */
typedef struct surgent_holding {
	uint32_t node_index;
	uint32_t cpus; /* that others cannot have; none while the job is suspended */
	uint64_t memory_mib;
	const surgent_gres_t *gres;
	uint32_t gres_count;
	uint32_t reserved0;
} surgent_holding_t;

/* One generic resource that a waiting job asks for; each count is 0 where not asked. */
typedef struct surgent_gres_request {
	const char *name;
	const char *type;
	uint64_t per_node;
	uint64_t per_job;
	uint64_t per_task;
	uint64_t per_socket;
	uint64_t memory_each_mib; /* memory that comes with each; 0: none */
	uint32_t cpus_each;       /* CPUs that come with each; 0: none */
	uint32_t cpus_by_job;     /* 1: it is the job that says so, not a default */
} surgent_gres_request_t;

/* surgent_choice_t.flags */
#define SURGENT_CHOICE_WHOLE_NODE 0x1u /* it gives whole nodes only */
#define SURGENT_CHOICE_USER_NODE 0x2u  /* it gives nodes to one user at a time */
#define SURGENT_CHOICE_SHARED 0x4u     /* jobs share CPUs there, up to `jobs_per_cpu` of them */

/* One partition that a waiting job may run in; it runs in one of them. */
typedef struct surgent_choice {
	const char *partition;
	/* Indexes of its nodes, rising, less those that the job excludes, or that a reservation keeps from it. */
	const uint32_t *nodes;
	uint32_t node_count;
	uint32_t min_nodes;
	uint32_t max_nodes; /* SURGENT_NONE32: no limit */
	uint32_t flags;
	uint32_t jobs_per_cpu;
	uint32_t reserved0;
} surgent_choice_t;

/* surgent_job_view_t.state */
#define SURGENT_STATE_PENDING 1u
#define SURGENT_STATE_RUNNING 2u
#define SURGENT_STATE_SUSPENDED 3u
#define SURGENT_STATE_ENDED 4u

/* surgent_job_view_t.flags */
#define SURGENT_JOB_BATCH 0x0001u       /* has a batch script (else interactive) */
#define SURGENT_JOB_REQUEUE 0x0002u     /* its user lets it be requeued */
#define SURGENT_JOB_WHOLE_NODE 0x0004u  /* asks for / holds whole nodes (--exclusive) */
#define SURGENT_JOB_COMPLETING 0x0008u  /* ended or requeued, still being cleaned up */
#define SURGENT_JOB_CONFIGURING 0x0010u /* nodes are being booted for it */
#define SURGENT_JOB_HET 0x0020u         /* component of a heterogeneous job */
#define SURGENT_JOB_SHARED 0x0040u      /* lets other jobs of its kind use its CPUs too */
#define SURGENT_JOB_USER_NODE 0x0080u   /* asks for / holds its nodes for its user's jobs alone (--exclusive=user) */
#define SURGENT_JOB_MEM_PER_CPU 0x0100u /* request_memory_mib is per CPU, else per node */
#define SURGENT_JOB_EXEMPT 0x0200u      /* Slurm itself will not let it be preempted now */
#define SURGENT_JOB_ALL_MEMORY 0x0400u  /* pending: only nodes where no job holds any memory will do */
#define SURGENT_JOB_UNTESTED 0x0800u    /* pending, and as far as is known Slurm has not tried to start it yet */
#define SURGENT_JOB_OVERCOMMIT 0x1000u  /* pending: its tasks need no CPUs of their own */
#define SURGENT_JOB_RESERVATION 0x2000u /* pending: it asks for a reservation */
#define SURGENT_JOB_LOSES_PLACE 0x4000u /* running: were it requeued, Slurm would give it a priority behind all others */

/* surgent_job_view_t.hindrance: why a pending job would not start on free nodes either */
#define SURGENT_HINDRANCE_NONE 0u
#define SURGENT_HINDRANCE_HELD 1u
#define SURGENT_HINDRANCE_DATE 2u        /* it is not to start before a date */
#define SURGENT_HINDRANCE_DEPENDENCY 3u  /* it waits for another job */
#define SURGENT_HINDRANCE_LICENSES 4u
#define SURGENT_HINDRANCE_LIMIT 5u       /* of tasks that run at once */
#define SURGENT_HINDRANCE_RESERVATION 6u /* its reservation has not begun, or is over */
#define SURGENT_HINDRANCE_NODES 7u       /* nodes that it must have are down, drained or reserved */
#define SURGENT_HINDRANCE_PARTITION 8u   /* its partition is down, gone, or smaller than the job */
#define SURGENT_HINDRANCE_CONSTRAINTS 9u /* no node is as it wants it */
#define SURGENT_HINDRANCE_OTHER 10u      /* see Slurm's own reason */

/*
 * One job. Of a job that is neither pending nor running or suspended only id, state, flags, times and comments
 * are filled in. `holdings` belong to a running or suspended job; the request_* fields, `choices` and `required` to a
 * pending one of which the core wants them.
 */
typedef struct surgent_job_view {
	uint32_t size;
	uint32_t job_id;
	uint32_t array_job_id;  /* 0 if not of an array */
	uint32_t array_task_id; /* SURGENT_NONE32 if not one task of an array */
	uint32_t het_job_id;    /* 0 if not heterogeneous */
	uint32_t user_id;
	uint32_t state;
	uint32_t flags;
	uint32_t priority;       /* Slurm's, larger is sooner */
	uint32_t restart_count;  /* times that it was requeued */
	uint32_t time_limit_min; /* SURGENT_NONE32: none */
	uint32_t hindrance;      /* SURGENT_HINDRANCE_*, of a pending job */
	int64_t submit_time;
	int64_t begin_time; /* not before this */
	int64_t start_time;
	int64_t end_time;     /* when Slurm expects or knows it to end */
	int64_t preempt_time; /* when its preemption began */
	const char *name;
	const char *user_name;
	const char *account;
	const char *qos;
	const char *partition;
	const char *comment;
	const char *admin_comment;

	const surgent_holding_t *holdings;
	uint32_t holding_count;

	uint32_t request_min_nodes;
	uint32_t request_max_nodes; /* SURGENT_NONE32: no limit */
	uint32_t request_min_cpus;  /* in all */
	uint32_t request_tasks;     /* SURGENT_NONE32: not given */
	uint32_t request_tasks_per_node;
	uint32_t request_cpus_per_task;
	uint32_t request_cpus_per_node; /* at least, on each node */
	uint64_t request_memory_mib;    /* see SURGENT_JOB_MEM_PER_CPU; 0: not given */
	const surgent_gres_request_t *request_gres;
	uint32_t request_gres_count;
	uint32_t choice_count;
	const surgent_choice_t *choices; /* best first */
	const uint32_t *required;        /* indexes of nodes that it must have */
	uint32_t required_count;
	uint32_t request_cpus_per_core; /* CPUs of each core that it can use; SURGENT_NONE32: all */
	uint32_t request_sockets;       /* sockets that it wants on each node; SURGENT_NONE32: not given */
	uint32_t array_tasks;           /* tasks of an array that this record stands for and that may start; else 1 */
	uint32_t expands_job_id;        /* the job whose allocation it is to enlarge; else 0 */
	uint32_t reserved1;
	const char *request_features; /* the --constraint text */
	const char *request_licenses;
	const char *reservation;
	uint32_t het_job_offset; /* which component of `het_job_id` it is, from 0 on */
	uint32_t het_components; /* of the first component: how many there are; else 0 */
	uint32_t group_id;
	uint32_t array_waiting; /* tasks of an array that this record stands for; else 1 */
} surgent_job_view_t;

/* Where the shim puts what it reads. The core fills this in and hands it to surgent_host_t.snapshot. */
typedef struct surgent_sink {
	uint32_t size;
	/*
	 * A long look is divided into several holds of the locks: one that has taken `hold_ns` and copied `copies_min`
	 * jobs is to end, and another follows. Unless there have been `holds_max` of them already, or the look goes on for
	 * `divide_for_ns`: then the next one is the last, however long it takes.
	 */
	uint32_t copies_min;
	uint32_t holds_max;
	uint32_t reserved0;
	uint64_t hold_ns;
	uint64_t divide_for_ns;
	void *context;
	void (*node)(void *context, const surgent_node_view_t *node);
	/* Whether this pending job is wanted at all. There may be very many, of which nearly none is. */
	bool (*concerns)(void *context, uint32_t job_id, const char *admin_comment);
	/* Whether the request_* fields and choices of this pending job are wanted; they are a lot of work. */
	bool (*wants_request)(void *context, const surgent_job_view_t *job);
	void (*job)(void *context, const surgent_job_view_t *job);
	/* What was given of this running job is no longer so. It may be given again. */
	void (*forget_job)(void *context, uint32_t job_id);
	/* After each hold, without the locks: for how long they were waited for, and then held. */
	void (*locked)(void *context, uint64_t waited_ns, uint64_t held_ns);
	/* Once, before the locks are asked for: about how many nodes and jobs there are to make room for. */
	void (*expect)(void *context, uint32_t nodes, uint32_t jobs);
} surgent_sink_t;

/* surgent_host_t.snapshot */
#define SURGENT_SNAPSHOT_OK 0
#define SURGENT_SNAPSHOT_NOT_READY 1  /* Slurm has not loaded its state yet */
#define SURGENT_SNAPSHOT_BAD_LAYOUT 2 /* a record is not as the shim's headers have it: it does not fit this slurmctld */
#define SURGENT_SNAPSHOT_NO_MEMORY 3  /* memory is out; what was given so far is incomplete */

/* surgent_host_t.use_base: the stock plugin that answers what is not about an urgent job. */
#define SURGENT_BASE_NONE 0u
#define SURGENT_BASE_QOS 1u
#define SURGENT_BASE_PARTITION_PRIO 2u

/* What a shim offers the core. A slot that a shim has nothing for is NULL. */
typedef struct surgent_host {
	uint32_t size;
	uint32_t abi;           /* SURGENT_ABI that the shim was compiled with */
	uint32_t shim;          /* SURGENT_SHIM_* */
	uint32_t slurm_version; /* major << 16 | minor << 8 | micro */
	const char *slurm_conf; /* path of slurm.conf; copied by the core */
	const char *state_dir;  /* StateSaveLocation; copied by the core */
	/* Writes one line to Slurm's log. Any thread. */
	void (*log)(uint32_t level, const char *line);
	/*
	 * Takes Slurm's read locks, gives every node to sink->node and every job that matters to sink->job, lets go.
	 * Returns SURGENT_SNAPSHOT_*. Only from a thread that holds no Slurm lock.
	 * What was given and not forgotten is of the last hold of the locks: the nodes, the jobs that wait or have ended, and
	 * which jobs run, in which state, since when and with what. What else is said of a running job (texts, limits, how
	 * it may be stopped) may be of an earlier hold of the same look.
	 * Jobs that matter: all that run, are suspended or completing, the pending ones that have a comment and concern the
	 * sink, and urgent ones that have ended.
	 */
	int (*snapshot)(const surgent_sink_t *sink);
	/* Has Slurm's scheduler look at the head of its queue at once. Only from a thread that holds no Slurm lock. */
	void (*nudge)(void);
	/*
	 * Has Slurm compute the priority of every waiting job anew, in one go: calls surgent_queue_moment() and then, for
	 * each, surgent_site_factor(). Takes Slurm's job write lock; only from a thread that holds no Slurm lock.
	 */
	void (*reprioritize)(void);
	/*
	 * From now on SURGENT_BASE_* is the base; the plugin is loaded if it has not been yet. One that cannot be is the same as
	 * SURGENT_BASE_NONE, and the log says why. Reads files; only from a thread that holds no Slurm lock.
	 */
	void (*use_base)(uint32_t base);
	/*
	 * Since when (Unix time) this slurmctld is in control, with all of its state read; 0 while it is not: as long as it
	 * loads, and while it stands by for another one. What the records show is out of date then. Another number is
	 * another time in control, with another slurmctld's in between. Takes no lock.
	 */
	int64_t (*in_control_since)(void);
} surgent_host_t;

/* What job_submit and job_modify may change; each returns nothing and copies the text. */
typedef struct surgent_answer {
	uint32_t size;
	uint32_t reserved0;
	void *context;
	void (*message)(void *context, const char *text); /* shown to the user by sbatch, srun, salloc, scontrol */
	void (*set_admin_comment)(void *context, const char *text);
	void (*set_priority)(void *context, uint32_t priority);
	void (*set_requeue)(void *context, bool requeue);
	void (*set_comment)(void *context, const char *text);
} surgent_answer_t;

/* surgent_request_view_t.flags */
#define SURGENT_REQUEST_REQUEUE_UNSET 0x1u /* the user said neither --requeue nor --no-requeue */
#define SURGENT_REQUEST_HELD 0x2u          /* the user asked for it to be held (priority 0) */
#define SURGENT_REQUEST_BATCH 0x4u         /* comes with a batch script */
#define SURGENT_REQUEST_HET 0x8u           /* component of a heterogeneous job (submissions only) */
#define SURGENT_REQUEST_HET_FIRST 0x10u    /* and the first one */

/*
 * What a job asks for, as far as its user or Slurm has said so: before Slurm has worked it out. In a change, what is absent
 * stays as it is.
 */
typedef struct surgent_ask_view {
	uint32_t size;
	uint32_t group_id;
	uint32_t min_nodes; /* these numbers are SURGENT_NONE32 where not given */
	uint32_t tasks;
	uint32_t tasks_per_node;
	uint32_t cpus_per_task;
	uint32_t min_cpus; /* in all */
	uint32_t time_limit_min;
	uint32_t array_waiting; /* of an array that exists: how many of its jobs wait; else SURGENT_NONE32 */
	uint32_t array_at_once; /* and how many of these may run at a time */
	const char *array;      /* of an array that is submitted: its indexes, as "1-10%2" */
	const char *account;
	const char *qos;
	const char *partition;         /* several are separated by commas */
	const char *default_partition; /* of a submission: where it is put if it says nothing */
	const char *tres_per_node;     /* as "gres:gpu:a100:2,gres/nic=1" */
	const char *tres_per_job;
	const char *tres_per_socket;
	const char *tres_per_task;
} surgent_ask_view_t;

/* A submission, or a change that somebody asks for (then each absent string means "unchanged"). */
typedef struct surgent_request_view {
	uint32_t size;
	uint32_t flags;
	uint32_t user_id;   /* whose job it is */
	uint32_t by_user_id; /* who asks */
	const char *comment;
	const char *admin_comment;
	/* Submissions only: the value of --urgency, as the user's side sent it; and a different one that came with it. */
	const char *urgency_option;
	const char *urgency_option_other;
	const surgent_ask_view_t *ask;
} surgent_request_view_t;

/* The job that somebody wants to change, as it is now. */
typedef struct surgent_subject_view {
	uint32_t size;
	uint32_t job_id;
	uint32_t state; /* SURGENT_STATE_* */
	uint32_t user_id;
	const char *comment;
	const char *admin_comment;
	const surgent_ask_view_t *ask; /* the QOS is not in it */
} surgent_subject_view_t;

/* What surgent_job_submit and surgent_job_modify want the shim to return to Slurm. */
#define SURGENT_ACCEPT 0
#define SURGENT_REFUSE 1

/* One question of Slurm's about one pair of jobs. */
typedef struct surgent_pair_view {
	uint32_t size;
	uint32_t preemptee_id;
	uint32_t preemptor_id;
	uint32_t preemptee_flags; /* SURGENT_JOB_BATCH, _REQUEUE */
	uint32_t preemptee_state; /* SURGENT_STATE_* */
	uint32_t reserved0;
	int64_t preemptee_start_time;
	int64_t preemptee_preempt_time;
	const char *preemptor_admin_comment;
} surgent_pair_view_t;

/*
 * How the AdminComment of every urgent job begins. Only an urgent job may preempt others. So of a preemptor whose
 * AdminComment begins otherwise a shim need not ask surgent_preemptable: the answer is the base's, and without a base it is
 * whether the preemptee's preempt_time is set.
 */
#define SURGENT_URGENT_MARK "surgent{class=urgent"

/* A waiting job, for its place in the queue. */
typedef struct surgent_queue_view {
	uint32_t size;
	uint32_t time_limit_min; /* SURGENT_NONE32: none */
	uint64_t gpus;		 /* that it asks for, on all nodes */
	uint32_t cpus;		 /* the same of CPUs */
	uint32_t reserved0;
	int64_t submit_time; /* or when it was last requeued */
	const char *comment;
	const char *admin_comment;
} surgent_queue_view_t;

/* surgent_preempt_mode */
#define SURGENT_MODE_BASE 0u /* it is no victim of Surgent's: as the base says */
#define SURGENT_MODE_REQUEUE 1u

/* Exported by the core. surgent_core_abi is the one that must never change its type. */
uint32_t surgent_core_abi(void);

/*
 * Called by a shim's init(), once or many times. Returns 0 if the core accepts the shim; else the shim must
 * fail its init(). The core has then logged why.
 */
int surgent_attach(const surgent_host_t *host);
/*
 * Called by a shim that finds a record of Slurm's to be other than its headers say. The core steps aside until slurmctld is
 * restarted. Returns false if it had done so before; else the shim is to log why. May be called before surgent_attach().
 */
bool surgent_misfit(void);
/* Called by a shim's fini(). After the last detach the core's thread ends by itself; nothing waits for it. */
void surgent_detach(uint32_t shim);

int surgent_job_submit(const surgent_request_view_t *request, const surgent_answer_t *answer);
int surgent_job_modify(const surgent_request_view_t *change, const surgent_subject_view_t *subject,
		       const surgent_answer_t *answer);

/*
 * Whether urgent jobs are Surgent's business now. If not, as in the modes "shadow" and "off" and after a fault, they are to
 * Slurm as all others are, and the base is asked about them too.
 */
bool surgent_acts(void);
bool surgent_preemptable(const surgent_pair_view_t *pair);
/* Any thread, Slurm's read locks at most. start_time tells one run of a job from the next. */
uint32_t surgent_preempt_mode(uint32_t job_id, int64_t start_time);
/* Without a base. Smaller is taken first. */
uint32_t surgent_preempt_priority(uint32_t job_id, int64_t preempt_time);

/*
 * What is to be added to the priority of a waiting job, within the range of int32_t. Returns false, and leaves `factor`
 * alone, if the job's factor is to stay as it is. Under Slurm's job write lock.
 */
bool surgent_site_factor(const surgent_queue_view_t *job, int64_t *factor);
/*
 * From now on the wait of all jobs is counted up to a later moment. To be called under the job write lock under which
 * surgent_site_factor() is then asked of every waiting job.
 */
void surgent_queue_moment(void);

#ifdef __cplusplus
}
#endif

#endif
