// SPDX-License-Identifier: GPL-2.0-or-later
//! Beside other job_submit plugins: each sees what those before it made of a job.

use super::{prompt, whole_nodes};
use crate::on_cluster;
use crate::shapes::TOML;
use crate::shapes::crowd::{Crowd, Shape};
use crate::support::{Builder, Cluster, Job, JobId, Outcome};

/// What it does goes by the job's name.
const LUA: &str = r#"
function slurm_job_submit(job, partitions, uid)
	if job.name == "raised" then
		job.comment = "urgency=urgent by the site"
	elseif job.name == "lowered" then
		job.comment = "not by night"
	elseif job.name == "noted" then
		job.admin_comment = "seen by lua"
	elseif job.name == "garbled" then
		job.comment = "urgency=soon"
	elseif job.name == "refused" then
		slurm.log_user("not here")
		return slurm.ERROR
	end
	if job.comment and string.find(job.comment, "west") then
		job.partition = "west"
	end
	return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
	return slurm.SUCCESS
end
"#;

fn plugins(list: &str) -> Builder {
    prompt()
        .conf(&format!("JobSubmitPlugins={list}"))
        .conf("PartitionName=west Nodes=n1,n2")
        .conf("PartitionName=east Nodes=n3,n4")
}

fn held(cluster: &Cluster, name: &str, comment: &str) -> Outcome<Job> {
    let (name, comment) = (format!("--job-name={name}"), format!("--comment={comment}"));
    let job = cluster.sbatch(&["--hold", &name, &comment], "true")?;
    cluster.job(job)
}

fn is_urgent(job: &Job) -> bool {
    job.get("AdminComment").starts_with("surgent{class=urgent")
}

fn assert_refused(answer: Outcome<JobId>, word: &str) {
    let refusal = answer.expect_err("it is to be refused").to_string();
    assert!(refusal.contains(word), "{refusal}");
}

/// What holds in either order.
fn works_beside_lua(cluster: &Cluster) -> Outcome {
    assert_refused(
        cluster.sbatch(&["-Jrefused", "--comment=urgency=urgent"], "true"),
        "not here",
    );
    assert_refused(
        cluster.sbatch(&["-Jx", "--comment=urgency=later"], "true"),
        "urgency",
    );
    assert_eq!(cluster.ask("squeue", &["-h"])?, "", "nothing of them is left");

    let crowd = Crowd::gather(cluster, whole_nodes())?;
    let moved = Shape::starts("moved by lua", &["--exclusive", "--comment=urgency=urgent west"]);
    assert_eq!(
        crowd.try_one(&moved)?,
        "m1",
        "the cheapest of the partition that lua wants"
    );
    Ok(())
}

#[test]
fn behind_lua_it_judges_what_lua_made_of_a_job() -> Outcome {
    on_cluster(plugins("lua,surgent").file("job_submit.lua", LUA), |cluster| {
        assert!(is_urgent(&held(cluster, "raised", "mine")?));
        let lowered = held(cluster, "lowered", "urgency=urgent")?;
        assert_eq!(
            (lowered.get("Comment").trim(), lowered.get("AdminComment")),
            ("not by night", "")
        );
        let noted = held(cluster, "noted", "urgency=urgent")?;
        assert!(is_urgent(&noted) && noted.get("AdminComment").trim().ends_with("} seen by lua"));
        assert_refused(cluster.sbatch(&["-Jgarbled"], "true"), "urgency");
        cluster.ask("scancel", &["-u", "root"])?;
        works_beside_lua(cluster)
    })
}

#[test]
fn before_lua_it_judges_what_the_user_said() -> Outcome {
    on_cluster(plugins("surgent,lua").file("job_submit.lua", LUA), |cluster| {
        let raised = held(cluster, "raised", "mine")?;
        assert_eq!(raised.get("AdminComment"), "", "lua spoke too late");
        assert!(is_urgent(&held(cluster, "lowered", "urgency=urgent")?));
        let noted = held(cluster, "noted", "urgency=urgent")?;
        assert_eq!(
            noted.get("AdminComment").trim(),
            "seen by lua",
            "lua wrote over the record"
        );
        assert!(cluster.sbatch(&["-Jgarbled"], "true").is_ok());
        cluster.ask("scancel", &["-u", "root"])?;
        works_beside_lua(cluster)
    })
}

#[test]
fn partitions_and_time_limits_by_other_plugins_count() -> Outcome {
    let rules = format!("{TOML}[admission]\nallow_partitions = [\"all\", \"west\"]\n");
    let urgent = |name: &'static str, more: &[&str]| {
        let options: Vec<&str> = ["--exclusive", "--time=5"].iter().chain(more).copied().collect();
        Shape::starts(name, &options)
    };
    for order in [
        "all_partitions,require_timelimit,surgent",
        "surgent,all_partitions,require_timelimit",
    ] {
        on_cluster(plugins(order).toml(&rules), |cluster| {
            assert_refused(
                cluster.sbatch(&["--comment=urgency=urgent", "-pwest"], "true"),
                "Time limit",
            );
            let crowd = Crowd::gather(
                cluster,
                whole_nodes()
                    .into_iter()
                    .map(|member| member.with("-pall"))
                    .collect(),
            )?;
            assert_eq!(crowd.try_one(&urgent("where it may", &["-pwest"]))?, "m1");
            let everywhere = ["--exclusive", "--time=5"];
            match order.starts_with("surgent") {
                true => crowd.try_one(&Shape::waits(
                    "everywhere",
                    "it may not be urgent by [admission]",
                    &everywhere,
                ))?,
                false => crowd.try_one(&Shape::refused("everywhere", &everywhere))?,
            };
            Ok(())
        })?;
    }
    Ok(())
}
