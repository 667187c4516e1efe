// SPDX-License-Identifier: GPL-2.0-or-later
//! Most waiting jobs may use the nodes that others may use, too.

use crate::policy::ids::NodeIndex;
use crate::policy::node_set::NodeSet;

/// So many are remembered: one for each of the partitions that a job may name, and then some.
const SETS_MAX: usize = 64;

/// Sets of nodes that were met in this look, the last ones first.
#[derive(Debug, Default)]
pub struct KnownSets(Vec<NodeSet>);

impl KnownSets {
    /// These nodes, by their numbers in order, in the memory of a set that was met before where that is possible.
    pub fn share(&mut self, indices: &[u32]) -> NodeSet {
        let is_same = |set: &NodeSet| {
            set.len() == indices.len() && set.iter().zip(indices).all(|(node, index)| node.0 == *index)
        };
        match self.0.iter().position(is_same) {
            Some(at) => self.0[..=at].rotate_right(1),
            None => {
                self.0.truncate(SETS_MAX - 1);
                self.0.insert(0, indices.iter().copied().map(NodeIndex).collect());
            }
        }
        self.0[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_shared(a: &NodeSet, b: &NodeSet) -> bool {
        std::ptr::eq(a.as_ptr(), b.as_ptr())
    }

    #[test]
    fn who_may_use_the_same_nodes_shares_them_and_not_many_sets_are_remembered() {
        let mut known = KnownSets::default();
        let first = known.share(&[1, 2, 3]);
        assert_eq!(*known.share(&[1, 2]), [NodeIndex(1), NodeIndex(2)]);
        assert!(are_shared(&first, &known.share(&[1, 2, 3])));
        for index in 10..10 + SETS_MAX as u32 {
            known.share(&[index]);
        }
        let again = known.share(&[1, 2, 3]);
        assert_eq!(first, again);
        assert!(!are_shared(&first, &again));
        assert_eq!(known.0.len(), SETS_MAX);
    }
}
