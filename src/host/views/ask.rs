// SPDX-License-Identifier: GPL-2.0-or-later
//! What a submission or a change asks for, from its view.

use super::raw::{bytes, number};
use crate::host::abi;
use crate::policy::admission::applicant::{Applicant, Label};
use crate::policy::admission::ask::Ask;
use crate::policy::ids::{GroupId, UserId};
use std::ffi::c_char;

/// Slurm takes no text of a request that is longer than 4,096 bytes, but looks at that only after it has asked, with its
/// locks held all the while.
const TEXT_MAX_BYTES: usize = 16 * 1024;

/// Whether Slurm will refuse a request with this comment for the length of its texts, so that they are not to be read.
pub fn is_oversize(comment: Option<&[u8]>, ask: Option<&abi::surgent_ask_view_t>) -> bool {
    let of_ask = ask.map(|ask| {
        [
            &ask.array,
            &ask.account,
            &ask.qos,
            &ask.partition,
            &ask.tres_per_node,
            &ask.tres_per_job,
            &ask.tres_per_socket,
            &ask.tres_per_task,
        ]
    });
    let texts = of_ask.into_iter().flatten().filter_map(bytes).chain(comment);
    texts.into_iter().any(|text| text.len() > TEXT_MAX_BYTES)
}

/// A submission as the rules see it.
pub fn submitted(user: UserId, view: Option<&abi::surgent_ask_view_t>) -> Applicant<'_> {
    let said = |name: Option<_>| name.map_or(Label::Unsaid, Label::Is);
    let partition =
        view.and_then(|view| name_of(&view.partition).or_else(|| name_of(&view.default_partition)));
    Applicant {
        user,
        group: view.and_then(group),
        account: said(view.and_then(|view| name_of(&view.account))),
        qos: said(view.and_then(|view| name_of(&view.qos))),
        partition: said(partition),
        need: view.map(ask).unwrap_or_default().need(),
    }
}

/// A job as it is, and as it is to become, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// As it is.
    pub before: Applicant<'a>,
    /// As it is to become.
    pub after: Applicant<'a>,
}

impl<'a> Changed<'a> {
    /// What `change` makes of `job`.
    pub fn new(
        user: UserId,
        change: Option<&'a abi::surgent_ask_view_t>,
        job: Option<&'a abi::surgent_ask_view_t>,
    ) -> Self {
        let is = job.map(ask).unwrap_or_default();
        let asked = change.map(ask).unwrap_or_default();
        let of = |name: Option<&'a *const c_char>| name.and_then(name_of).map(Label::Is);
        let before = Applicant {
            user,
            group: job.and_then(group),
            account: of(job.map(|view| &view.account)).unwrap_or(Label::Absent),
            qos: Label::Unseen,
            partition: of(job.map(|view| &view.partition)).unwrap_or(Label::Absent),
            need: is.need(),
        };
        let after = Applicant {
            account: of(change.map(|view| &view.account)).unwrap_or(before.account),
            qos: of(change.map(|view| &view.qos)).unwrap_or(before.qos),
            partition: of(change.map(|view| &view.partition)).unwrap_or(before.partition),
            need: asked.or(is).need(),
            ..before
        };
        Self { before, after }
    }

    /// Whether account, QOS or partition become others, or the job larger.
    pub fn alters(&self) -> bool {
        let Self { before, after } = self;
        let size = |applicant: &Applicant<'_>| {
            let need = applicant.need;
            [
                need.waiting,
                need.at_once,
                need.gpus_at_once(),
                need.nodes_at_once(),
            ]
        };
        let grows = size(before)
            .iter()
            .zip(size(after))
            .any(|(is, becomes)| becomes > *is);
        grows || (before.account, before.qos, before.partition) != (after.account, after.qos, after.partition)
    }
}

fn ask(view: &abi::surgent_ask_view_t) -> Ask<'_> {
    Ask {
        min_nodes: number(view.min_nodes),
        tasks: number(view.tasks),
        tasks_per_node: number(view.tasks_per_node),
        cpus_per_task: number(view.cpus_per_task),
        min_cpus: number(view.min_cpus),
        time_limit_min: number(view.time_limit_min),
        array: number(view.array_waiting).zip(number(view.array_at_once)),
        array_text: bytes(&view.array).filter(|text| !text.is_empty()),
        tres_per_node: bytes(&view.tres_per_node),
        tres_per_job: bytes(&view.tres_per_job),
        tres_per_socket: bytes(&view.tres_per_socket),
        tres_per_task: bytes(&view.tres_per_task),
    }
}

fn group(view: &abi::surgent_ask_view_t) -> Option<GroupId> {
    number(view.group_id).map(GroupId)
}

/// A name; one that is not UTF-8 is a name that no setting has.
fn name_of(text: &*const c_char) -> Option<&str> {
    let bytes = bytes(text).filter(|bytes| !bytes.is_empty())?;
    Some(std::str::from_utf8(bytes).unwrap_or("\u{fffd}"))
}
