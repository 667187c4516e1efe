// SPDX-License-Identifier: GPL-2.0-or-later
//! Forms and their mistakes, and what follows from options.

use super::forms::{array, count, gpus, gres, memory_mib, nodes, time_limit_s};
use super::*;
use crate::policy::units::Seconds;

#[test]
fn the_forms_of_sbatch_are_read() {
    let node_count = |min, max| Ok(NodeCount { min, max });
    assert_eq!(nodes("2"), node_count(2, Some(2)));
    assert_eq!(nodes("2-4"), node_count(2, Some(4)));
    assert_eq!(nodes("2-"), node_count(2, None));
    assert_eq!(nodes("1k"), node_count(1024, Some(1024)));
    assert_eq!(memory_mib("4000"), Ok(4000));
    assert_eq!(memory_mib("4G"), Ok(4096));
    assert_eq!(memory_mib("4gb"), Ok(4096));
    assert_eq!(memory_mib("1025K"), Ok(2));
    assert_eq!(memory_mib("1T"), Ok(1 << 20));
    assert_eq!(memory_mib("0"), Ok(0));
    let one = |name: &str, model: Option<&str>, count| GresCount {
        name: name.to_owned(),
        model: model.map(str::to_owned),
        count,
    };
    assert_eq!(gres("gpu"), Ok(vec![one("gpu", None, 1)]));
    assert_eq!(gres("gpu:4"), Ok(vec![one("gpu", None, 4)]));
    assert_eq!(gres("gpu:a100"), Ok(vec![one("gpu", Some("a100"), 1)]));
    assert_eq!(
        gres("gpu:a100:2,shard:1"),
        Ok(vec![one("gpu", Some("a100"), 2), one("shard", None, 1)])
    );
    assert_eq!(gres("mps:1k,gpu:0"), Ok(vec![one("mps", None, 1024)]));
    assert_eq!(gres("none"), Ok(Vec::new()));
    assert_eq!(gpus("3"), Ok(vec![one("gpu", None, 3)]));
    assert_eq!(
        gpus("a100:2,3090:1"),
        Ok(vec![one("gpu", Some("a100"), 2), one("gpu", Some("3090"), 1)])
    );
    for (text, limit_s) in [
        ("90", Some(5400.0)),
        ("1:30", Some(120.0)),
        ("2:00:00", Some(7200.0)),
        ("1-0", Some(86_400.0)),
        ("1-12:30", Some(131_400.0)),
        ("1-0:0:1", Some(86_460.0)),
        ("0", None),
        ("UNLIMITED", None),
    ] {
        assert_eq!(time_limit_s(text), Ok(limit_s.map(Seconds)), "{text}");
    }
    let tasks = |text: &str| array(text).map(|count| (count.tasks, count.at_once));
    assert_eq!(tasks("0-15"), Ok((16, 16)));
    assert_eq!(tasks("1,3,5-7%2"), Ok((5, 2)));
    assert_eq!(tasks("1-9:4,1"), Ok((3, 3)));
}

#[test]
fn mistakes_get_a_sentence_that_names_them() {
    fn check<T: std::fmt::Debug>(read: impl Fn(&str) -> Result<T, String>, wrong: &[&str]) {
        for text in wrong {
            let sentence = read(text).unwrap_err();
            assert!(
                sentence.contains(&format!("{text:?}")) && sentence.contains("write"),
                "{sentence}"
            );
        }
    }
    check(count, &["", "0", "-1", "1.5", "two", "99999999999"]);
    check(nodes, &["", "0", "4-2", "-2", "1-2-3", "n1", "2x"]);
    check(
        memory_mib,
        &["", "G", "-1G", "4X", "4 G", "1.5G", "99999999999999T", "4Gx"],
    );
    check(
        gres,
        &[
            "",
            ":",
            "gpu:",
            "gpu::1",
            "gpu:a100:",
            "gpu:a100:x",
            "gpu:a:b:2",
            "g pu:1",
            "2",
        ],
    );
    check(gpus, &["", ":", "a100:", ":2", "a100:x", "a b", "-1"]);
    check(
        time_limit_s,
        &[
            "",
            "x",
            "1:2:3:4",
            "-5",
            "1-",
            "1-2-3",
            "99999999999999999999",
            "1.5",
        ],
    );
    check(array, &["", "x", "5-1", "1:0", "1-2%x", "1-99999999"]);
}

fn request(options: &Options, required: u32) -> Result<Request, String> {
    let required: Vec<NodeIndex> = (0..required).map(NodeIndex).collect();
    options.request(
        UserId(7),
        &required,
        &Defaults::default(),
        &mut GresTable::default(),
    )
}

fn gpus_of(count: u64) -> Vec<GresCount> {
    vec![GresCount {
        name: "gpu".to_owned(),
        model: None,
        count,
    }]
}

/// Each of these was seen in the facts that slurmctld's plugin kept for the same options of sbatch (22.05).
#[test]
fn what_users_do_not_say_follows_from_what_they_do() {
    let nodes = |min, max| Some(NodeCount { min, max });
    let plain = request(&Options::default(), 0).unwrap();
    assert_eq!(
        (plain.min_nodes, plain.max_nodes, plain.min_cpus, plain.tasks),
        (1, None, 1, None)
    );
    assert_eq!((plain.cpus_per_task, plain.cpus_per_node), (1, 1));

    let three = Options {
        nodes: nodes(3, Some(3)),
        ntasks_per_node: Some(2),
        cpus_per_task: Some(4),
        ..Options::default()
    };
    let three = request(&three, 0).unwrap();
    assert_eq!(
        (three.tasks, three.min_cpus, three.cpus_per_node),
        (Some(6), 24, 8)
    );

    let few_tasks = Options {
        nodes: nodes(4, Some(4)),
        ntasks: Some(2),
        ..Options::default()
    };
    let few_tasks = request(&few_tasks, 0).unwrap();
    assert_eq!((few_tasks.min_nodes, few_tasks.max_nodes), (2, Some(2)));

    let named = request(&Options::default(), 2).unwrap();
    assert_eq!((named.min_nodes, named.max_nodes, named.min_cpus), (2, None, 2));

    let by_task = Options {
        ntasks: Some(4),
        gpus_per_task: gpus_of(2),
        cpus_per_gpu: Some(3),
        ..Options::default()
    };
    let by_task = request(&by_task, 0).unwrap();
    assert_eq!((by_task.gres[0].per_job, by_task.cpus_per_task), (8, 6));

    let both = Options {
        gpus: gpus_of(8),
        gpus_per_node: gpus_of(4),
        ..Options::default()
    };
    let both = request(&both, 0).unwrap();
    assert_eq!((both.min_nodes, both.max_nodes), (2, Some(2)));
}

#[test]
fn what_slurm_would_not_take_is_said() {
    let nodes = Some(NodeCount { min: 2, max: Some(2) });
    for (options, required, words) in [
        (
            Options {
                nodes,
                ..Options::default()
            },
            3,
            "--nodelist names 3 nodes",
        ),
        (
            Options {
                gpus_per_task: gpus_of(1),
                ..Options::default()
            },
            0,
            "needs --ntasks or --gpus",
        ),
        (
            Options {
                gpus: gpus_of(1),
                nodes,
                ..Options::default()
            },
            0,
            "fewer gpu than nodes",
        ),
        (
            Options {
                gpus: gpus_of(5),
                gpus_per_node: gpus_of(2),
                ..Options::default()
            },
            0,
            "do not go into each other",
        ),
        (
            Options {
                memory: Some(Memory::PerGpu(100)),
                ..Options::default()
            },
            0,
            "--mem-per-gpu",
        ),
        (
            Options {
                gpus: gpus_of(2),
                cpus_per_gpu: Some(2),
                cpus_per_task: Some(2),
                ..Options::default()
            },
            0,
            "exclude each other",
        ),
    ] {
        let sentence = request(&options, required).unwrap_err();
        assert!(sentence.contains(words), "{sentence}");
    }
}
