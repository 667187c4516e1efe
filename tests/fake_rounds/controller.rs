// SPDX-License-Identifier: GPL-2.0-or-later
//! slurmctld as far as its plugins see it: a process that has loaded the real core, calls its hooks for the model and takes
//! looks at the model for it. It keeps nothing itself, and may be killed at any moment.

use crate::shim::{self, size};
use crate::wire::{self, Answer, Ask, JobLook, Look};
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::ptr;
use std::sync::OnceLock;
use surgent::host::abi::*;
use surgent::host::exports::*;

/// Of each node.
const CPUS: u32 = 8;
const SHIMS: [u32; 3] = [
    SURGENT_SHIM_JOB_SUBMIT,
    SURGENT_SHIM_PREEMPT,
    SURGENT_SHIM_SITE_FACTOR,
];

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

fn folder() -> &'static Path {
    FOLDER.get().expect("set first of all")
}

/// Answers, line by line, what it is asked on its standard input, until that ends.
pub fn run(program: &Path) -> ExitCode {
    FOLDER
        .set(
            program
                .ancestors()
                .nth(2)
                .expect("ROUND/sbin/slurmctld")
                .to_owned(),
        )
        .expect("set once");
    init();
    let mut input = BufReader::new(std::io::stdin());
    while input.fill_buf().is_ok_and(|more| !more.is_empty()) {
        let Ok(ask) = wire::read::<Ask>(&mut input) else {
            break;
        };
        let answer = answer(&ask);
        if wire::write(std::io::stdout(), &answer).is_err() || matches!(ask, Ask::End) {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn init() {
    let path = |name: &str| CString::new(folder().join(name).display().to_string()).expect("no NUL");
    let (slurm_conf, state_dir) = (path("slurm.conf"), path("state"));
    for shim in SHIMS {
        let mut host = surgent_host_t {
            slurm_conf: slurm_conf.as_ptr(),
            state_dir: state_dir.as_ptr(),
            ..shim::host(shim, log)
        };
        match shim {
            SURGENT_SHIM_PREEMPT => {
                host.snapshot = Some(snapshot);
                host.nudge = Some(nudge);
                host.use_base = Some(use_base);
                host.in_control_since = Some(in_control_since);
            }
            SURGENT_SHIM_SITE_FACTOR => host.reprioritize = Some(reprioritize),
            _ => {}
        }
        // SAFETY: a whole struct whose functions stay.
        assert_eq!(unsafe { surgent_attach(&host) }, 0, "the core takes the shims");
    }
}

fn answer(ask: &Ask) -> Answer {
    match ask {
        Ask::Submit { comment, flags, user } => {
            let comment = text(comment);
            let request = surgent_request_view_t {
                size: size::<surgent_request_view_t>(),
                flags: *flags,
                user_id: *user,
                by_user_id: *user,
                comment: comment.as_ptr(),
                ..Default::default()
            };
            // SAFETY: whole structs that live through the call.
            answered(|slots| unsafe { surgent_job_submit(&request, slots) })
        }
        Ask::Modify {
            job,
            state,
            by_user,
            comment,
            admin_comment,
            was,
        } => {
            let [comment, admin_comment] = [comment, admin_comment].map(|new| new.as_deref().map(text));
            let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
            let change = surgent_request_view_t {
                size: size::<surgent_request_view_t>(),
                by_user_id: *by_user,
                comment: pointer(&comment),
                admin_comment: pointer(&admin_comment),
                ..Default::default()
            };
            let was = text(was);
            let subject = surgent_subject_view_t {
                size: size::<surgent_subject_view_t>(),
                job_id: *job,
                state: *state,
                admin_comment: was.as_ptr(),
                ..Default::default()
            };
            // SAFETY: as above.
            answered(|slots| unsafe { surgent_job_modify(&change, &subject, slots) })
        }
        Ask::Preemptable {
            preemptor,
            admin_comment,
            runs,
        } => {
            let admin_comment = text(admin_comment);
            let ask = |(job, start): &(u32, i64)| {
                let pair = surgent_pair_view_t {
                    size: size::<surgent_pair_view_t>(),
                    preemptee_id: *job,
                    preemptor_id: *preemptor,
                    preemptee_flags: SURGENT_JOB_BATCH | SURGENT_JOB_REQUEUE,
                    preemptee_state: SURGENT_STATE_RUNNING,
                    preemptee_start_time: *start,
                    preemptor_admin_comment: admin_comment.as_ptr(),
                    ..Default::default()
                };
                // SAFETY: as above.
                unsafe { surgent_preemptable(&pair) }
            };
            Answer {
                preemptable: runs.iter().map(ask).collect(),
                ..Answer::default()
            }
        }
        Ask::Mode { job, start } => Answer {
            mode: surgent_preempt_mode(*job, *start),
            ..Answer::default()
        },
        Ask::Reload | Ask::End => {
            SHIMS.into_iter().for_each(|shim| surgent_detach(shim));
            if matches!(ask, Ask::Reload) {
                init();
            }
            Answer::default()
        }
    }
}

fn answered(hook: impl FnOnce(*const surgent_answer_t) -> c_int) -> Answer {
    let answer = shim::answer(hook);
    let text = |text: Option<Vec<u8>>| text.map(|text| String::from_utf8_lossy(&text).into_owned());
    Answer {
        refused: answer.message.filter(|_| answer.code != 0),
        comment: text(answer.comment),
        admin_comment: text(answer.admin_comment),
        priority: answer.priority,
        ..Answer::default()
    }
}

fn owned(text: *const c_char) -> String {
    // SAFETY: the core hands over C strings.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn log(level: u32, line: *const c_char) {
    if level <= SURGENT_LOG_VERBOSE {
        wire::log(folder(), &owned(line));
    }
}

unsafe extern "C" fn nudge() {
    // Where the model does not answer it goes down.
    let _ = wire::call::<Result<String, String>>(folder(), &["nudge".to_owned()]);
}

unsafe extern "C" fn reprioritize() {
    surgent_queue_moment();
}

unsafe extern "C" fn use_base(_: u32) {}

unsafe extern "C" fn in_control_since() -> i64 {
    1
}

unsafe extern "C" fn snapshot(sink: *const surgent_sink_t) -> c_int {
    let look: Look = wire::call(folder(), &["look".to_owned()]).unwrap_or(Look {
        outcome: SURGENT_SNAPSHOT_NOT_READY,
        ..Look::default()
    });
    // SAFETY: the core lends its sink for this call.
    let sink = unsafe { &*sink };
    // SAFETY: the sink's own functions and context, and whole views that live through each call.
    unsafe {
        sink.expect.expect("a whole sink")(sink.context, look.nodes.len() as u32, look.jobs.len() as u32);
    }
    for (index, flags) in (0..).zip(&look.nodes) {
        put_node(sink, index, *flags);
    }
    for (at, job) in look.jobs.iter().enumerate() {
        put_job(sink, job, look.unreadable && at == look.jobs.len() / 2);
    }
    // SAFETY: as above.
    unsafe { sink.locked.expect("a whole sink")(sink.context, 1000, 1000) };
    look.outcome as c_int
}

fn put_node(sink: &surgent_sink_t, index: u32, flags: u32) {
    let name = text(&format!("n{index}"));
    let view = surgent_node_view_t {
        size: size::<surgent_node_view_t>(),
        index,
        flags,
        cpus: CPUS,
        memory_mib: 1000,
        name: name.as_ptr(),
        cpus_per_core: 1,
        ..Default::default()
    };
    // SAFETY: as above.
    unsafe { sink.node.expect("a whole sink")(sink.context, &view) };
}

fn put_job(sink: &surgent_sink_t, job: &JobLook, is_cut_short: bool) {
    let texts = [&job.partition, &job.comment, &job.admin_comment].map(|part| text(part));
    let holding = |node: &u32| surgent_holding_t {
        node_index: *node,
        cpus: CPUS,
        memory_mib: 1000,
        ..Default::default()
    };
    let holdings: Vec<_> = job.nodes.iter().map(holding).collect();
    let nodes = [0, 1, 2, 3];
    let choice = surgent_choice_t {
        partition: texts[0].as_ptr(),
        nodes: nodes.as_ptr(),
        node_count: nodes.len() as u32,
        min_nodes: 1,
        max_nodes: SURGENT_NONE32,
        ..Default::default()
    };
    let mut view = surgent_job_view_t {
        size: size::<surgent_job_view_t>(),
        job_id: job.id,
        array_job_id: job.array.map_or(0, |(array, _)| array),
        array_task_id: job.array.map_or(SURGENT_NONE32, |(_, task)| task),
        het_job_id: job.het.map_or(0, |(leader, ..)| leader),
        het_job_offset: job.het.map_or(0, |(_, offset, _)| offset),
        het_components: job
            .het
            .map_or(0, |(_, offset, of)| if offset == 0 { of } else { 0 }),
        user_id: job.user,
        state: job.state,
        flags: job.flags | SURGENT_JOB_BATCH | SURGENT_JOB_REQUEUE | SURGENT_JOB_WHOLE_NODE,
        priority: job.priority,
        restart_count: job.restarts,
        time_limit_min: SURGENT_NONE32,
        hindrance: job.hindrance,
        submit_time: job.submit,
        begin_time: job.begin,
        start_time: job.start,
        end_time: job.end,
        partition: texts[0].as_ptr(),
        comment: texts[1].as_ptr(),
        admin_comment: texts[2].as_ptr(),
        holdings: holdings.as_ptr(),
        holding_count: holdings.len() as u32,
        array_tasks: 1,
        array_waiting: 1,
        ..Default::default()
    };
    if is_cut_short {
        view.size = 8;
    }
    // SAFETY: as above.
    unsafe {
        if view.state == SURGENT_STATE_PENDING
            && !sink.concerns.expect("a whole sink")(sink.context, view.job_id, view.admin_comment)
        {
            return;
        }
        if view.state == SURGENT_STATE_PENDING
            && sink.wants_request.expect("a whole sink")(sink.context, &view)
        {
            view.request_min_nodes = job.want;
            view.request_max_nodes = job.want;
            view.request_min_cpus = job.want * CPUS;
            view.request_tasks = SURGENT_NONE32;
            view.request_tasks_per_node = SURGENT_NONE32;
            view.request_cpus_per_task = SURGENT_NONE32;
            view.request_cpus_per_node = CPUS;
            view.request_cpus_per_core = SURGENT_NONE32;
            view.request_sockets = SURGENT_NONE32;
            view.choices = &choice;
            view.choice_count = 1;
        }
        sink.job.expect("a whole sink")(sink.context, &view);
    }
}

fn text(text: &str) -> CString {
    CString::new(text).expect("no NUL")
}
