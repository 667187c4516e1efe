// SPDX-License-Identifier: GPL-2.0-or-later
//! Nodes that Slurm is still cleaning up after a job.

use crate::policy::facts::{Availability, Facts};
use crate::policy::ids::NodeIndex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// For so long a node that completes counts as one that will be free in a moment: a default `KillWait` (30 s) and
/// `UnkillableStepTimeout` (60 s), after which Slurm drains a node whose processes do not end. An epilog has no such limit
/// by default.
const CLEANS_UP_FOR: Duration = Duration::from_secs(90);

/// Since when each node that completes has been seen to.
#[derive(Debug, Default)]
pub(super) struct Cleaning(BTreeMap<NodeIndex, Instant>);

impl Cleaning {
    /// Takes those that have been `completing` for too long for nodes that take no job, as Slurm lets none start there.
    pub(super) fn look(&mut self, completing: &[NodeIndex], now: Instant, facts: &mut Facts) {
        let since = |node: &NodeIndex| (*node, self.0.get(node).copied().unwrap_or(now));
        self.0 = completing.iter().map(since).collect();
        for node in &mut facts.nodes {
            let since = self.0.get(&node.index);
            if since.is_some_and(|since| now.duration_since(*since) > CLEANS_UP_FOR) {
                node.availability = Availability::Completing;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::facts::Node;
    use crate::policy::resources::Amounts;
    use crate::policy::units::UnixTime;

    const NODE: NodeIndex = NodeIndex(3);

    fn look(cleaning: &mut Cleaning, completing: &[NodeIndex], now: Instant) -> Availability {
        let mut facts = Facts::at(UnixTime(0));
        facts.nodes.push(Node::new(NODE, "n3", Amounts::default()));
        cleaning.look(completing, now, &mut facts);
        facts.nodes[0].availability
    }

    #[test]
    fn a_node_is_counted_on_until_it_has_been_cleaned_up_for_too_long() {
        let mut cleaning = Cleaning::default();
        let begin = Instant::now();
        let after = |more: u64| begin + CLEANS_UP_FOR + Duration::from_secs(more);
        assert_eq!(look(&mut cleaning, &[NODE], begin), Availability::Up);
        assert_eq!(look(&mut cleaning, &[NODE], after(0)), Availability::Up);
        assert_eq!(look(&mut cleaning, &[NODE], after(1)), Availability::Completing);
        assert_eq!(look(&mut cleaning, &[], after(2)), Availability::Up);
        assert_eq!(
            look(&mut cleaning, &[NODE], after(3)),
            Availability::Up,
            "after another job"
        );
    }
}
