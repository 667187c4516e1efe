// SPDX-License-Identifier: GPL-2.0-or-later
//! The nodes that a job may use.

use super::ids::NodeIndex;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::Arc;

/// Nodes in their order, each once.
///
/// With thousands of urgent jobs on thousands of nodes most of the jobs may use the same ones: a clone shares the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<NodeIndex>", into = "Vec<NodeIndex>")]
pub struct NodeSet(Arc<[NodeIndex]>);

impl NodeSet {
    /// Whether `node` is one of them.
    pub fn has(&self, node: NodeIndex) -> bool {
        self.position(node).is_some()
    }

    /// Those of them that `may_be_used`.
    pub fn only(&self, may_be_used: impl Fn(NodeIndex) -> bool) -> Self {
        self.iter().copied().filter(|node| may_be_used(*node)).collect()
    }

    /// At which place `node` is.
    pub fn position(&self, node: NodeIndex) -> Option<usize> {
        self.0.binary_search(&node).ok()
    }
}

impl Deref for NodeSet {
    type Target = [NodeIndex];

    fn deref(&self) -> &[NodeIndex] {
        &self.0
    }
}

impl From<Vec<NodeIndex>> for NodeSet {
    fn from(mut nodes: Vec<NodeIndex>) -> Self {
        nodes.sort_unstable();
        nodes.dedup();
        Self(nodes.into())
    }
}

impl From<NodeSet> for Vec<NodeIndex> {
    fn from(nodes: NodeSet) -> Self {
        nodes.to_vec()
    }
}

impl FromIterator<NodeIndex> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeIndex>>(nodes: I) -> Self {
        Vec::from_iter(nodes).into()
    }
}
