// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces in the known forms, with numbers of this project's own.

use super::*;

fn jobs(text: &str) -> Vec<TraceJob> {
    read(text.as_bytes()).expect("a good trace").jobs
}

fn fault(text: &str) -> String {
    read(text.as_bytes()).expect_err("a bad trace").to_string()
}

fn job(line: u64, user: u32, submit_s: i64, run_s: i64, gpus: u32) -> TraceJob {
    TraceJob {
        line,
        user: UserId(user),
        submit_s,
        run_s,
        limit_s: None,
        nodes: None,
        gpus,
        training: None,
        is_urgent: None,
    }
}

const INTERVALS: &str = "u_id,user,gpu_num,cpu_num,node_num,interval,run_time,wall_time,new_status\n";

#[test]
fn helios_and_philly_count_time_from_job_to_job() {
    let text = format!(
        "\u{feff}{INTERVALS}0,7,4,8,1,0,50,0,Pass\n1,9,0,8,1,30,50,0,Pass\n\n2,7,16,8,2,12,60,0,Killed\r\n"
    );
    let trace = read(text.as_bytes()).unwrap();
    let nodes = |nodes, job| TraceJob {
        nodes: Some(nodes),
        ..job
    };
    assert_eq!(
        trace.jobs,
        [nodes(1, job(2, 0, 0, 50, 4)), nodes(2, job(5, 0, 42, 60, 16))]
    );
    assert_eq!(trace.skipped, BTreeMap::from([("held no GPU", 1)]));
}

#[test]
fn muri_has_milliseconds() {
    let text = "job_id,num_gpu,submit_time,iterations,model_name,iteration_time,priority\n0,2,5000,100,x,250,1\n1,1,100,3,y,0.5,0\n";
    let urgent = |is_urgent, job| TraceJob {
        is_urgent: Some(is_urgent),
        ..job
    };
    assert_eq!(
        jobs(text),
        [
            urgent(false, job(3, 0, 0, 1, 1)),
            urgent(true, job(2, 0, 5, 25, 2))
        ]
    );
}

#[test]
fn shockwave_has_epochs() {
    let text = "job_type\tcommand\tworking_directory\tnum_steps_arg\tneeds_data_dir\ttotal_steps\tscale_factor\tmode\tpriority_weight\tSLO\tduration\tarrival_time\n\
                A (batch size 100)\tpython3 m.py --data_dir=%s/cifar10\tw\t-n\t1\t5000\t2\tgns\t1\t-1.0\t700.5\t31\n\
                B (batch size x)\tpython3 m.py\tw\t-n\t1\t5000\t1\tgns\t1\t-1.0\t10\t40\n";
    let training = Some(Training { epochs: 10 });
    assert_eq!(
        jobs(text),
        [
            TraceJob {
                training,
                ..job(2, 0, 31, 701, 2)
            },
            job(3, 0, 40, 10, 1)
        ]
    );
}

#[test]
fn the_standard_workload_format_has_processors() {
    let text = "; Version: 2.2\n1 100 5 60 -1 -1 -1 8 120 -1 1 3 1 1 1 1 -1 -1\n2 90 5 -1 4 -1 -1 4 -1 -1 1 3 1 1 1 1 -1 -1\n";
    let trace = read(text.as_bytes()).unwrap();
    assert_eq!(
        trace.jobs,
        [TraceJob {
            limit_s: Some(120),
            ..job(2, 0, 100, 60, 8)
        }]
    );
    assert_eq!(trace.skipped.values().sum::<u64>(), 1);
}

#[test]
fn sacct_tells_class_and_epochs_by_the_comment() {
    let text = "JobID|User|Submit|ElapsedRaw|NNodes|AllocTRES|TimelimitRaw|Comment\n\
                7|eve|2026-01-31T12:00:00|3600|2|billing=8,cpu=8,gres/gpu:a100=8,gres/gpu=8,node=2|60|urgency=urgent a|b\n\
                7.batch||2026-01-31T12:00:00|3600|1|cpu=8|60|\n\
                8_1|bob|1769860860|30|1|cpu=8,gres/gpu:h100=2|UNLIMITED|epochs=12\n\
                9|bob|1769860860|0|1||UNLIMITED|\n";
    let trace = read(text.as_bytes()).unwrap();
    let first = TraceJob {
        limit_s: Some(3600),
        nodes: Some(2),
        is_urgent: Some(true),
        ..job(2, 0, 1_769_860_800, 3600, 8)
    };
    let second = TraceJob {
        nodes: Some(1),
        training: Some(Training { epochs: 12 }),
        is_urgent: Some(false),
        ..job(4, 1, 1_769_860_860, 30, 2)
    };
    assert_eq!(trace.jobs, [first, second]);
    assert_eq!(
        trace.skipped,
        BTreeMap::from([("a step of a job", 1), ("ran for no time", 1)])
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let interval = |row: &str| format!("{INTERVALS}0,7,4,8,1,0,50,0,Pass\n{row}\n");
    for (text, place, words) in [
        (String::new(), "the trace is empty", ""),
        ("\n\n".to_owned(), "the trace is empty", ""),
        (
            "a,b,c\n1,2,3\n".to_owned(),
            "line 1: ",
            "begins no trace that is known",
        ),
        (INTERVALS.to_owned(), "no job in the trace", ""),
        (
            interval("1,9,4,8"),
            "line 3: ",
            "4 fields, where the first line names 9",
        ),
        (
            interval("1,9,4,8,1,-30,50,0,Pass"),
            "line 3: ",
            "interval is \"-30\"",
        ),
        (
            interval("1,9,4,8,1,30,-1,0,Pass"),
            "line 3: ",
            "run_time is \"-1\"",
        ),
        (
            interval("1,9,four,8,1,30,1,0,Pass"),
            "line 3: ",
            "gpu_num is \"four\"",
        ),
        (interval("1,9,4,8,1,99999999999,1,0,Pass"), "line 3: ", "interval"),
        (interval(&"9".repeat(100_000)), "line 3: ", "longer than"),
        (
            interval("1,9,4,8,1,30,50,0,Pass,1"),
            "line 3: ",
            "more fields than the 9",
        ),
        (
            format!("{INTERVALS}0,7,4,8,1,0,50,0,Pass\n1,9,4,8,1,0,50,0,Pa"),
            "line 3: ",
            "the last line has no end",
        ),
        (
            INTERVALS.replace("gpu_num", "gpus"),
            "line 1: ",
            "no column is named gpu_num; needed are",
        ),
        (
            "JobID|User|Submit|Elapsed|NNodes|AllocTRES\n".to_owned(),
            "line 1: ",
            "no column is named ElapsedRaw",
        ),
        (
            "JobID|User|Submit|ElapsedRaw|NNodes|AllocTRES|Comment|TimelimitRaw\n".to_owned(),
            "line 1: ",
            "Comment has to be the last column",
        ),
        ("BZh91AY&SY\n".to_owned(), "line 1: ", "compressed by bzip2"),
        ("1 2 3\n".to_owned(), "line 1: ", "begins no trace that is known"),
        ("; SWF\n1 2 3\n".to_owned(), "line 2: ", "not the 18 numbers"),
        (
            "; SWF\n1 -5 5 60 -1 -1 -1 8 120 -1 1 3 1 1 1 1 -1 -1\n".to_owned(),
            "line 2: ",
            "submit time",
        ),
        (
            "JobID|User|Submit|ElapsedRaw|NNodes|AllocTRES\n7|eve|yesterday|1|1|gres/gpu=1\n".to_owned(),
            "line 2: ",
            "Submit",
        ),
        (
            "JobID|User|Submit|ElapsedRaw|NNodes|AllocTRES\n7|eve|5|1|1|gpu\n".to_owned(),
            "line 2: ",
            "AllocTRES",
        ),
    ] {
        let fault = fault(&text);
        assert!(fault.starts_with(place) && fault.contains(words), "{fault}");
        assert!(!fault.contains('\n') && fault.len() < 1000, "{fault}");
    }
}
