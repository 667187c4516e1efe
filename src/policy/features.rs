// SPDX-License-Identifier: GPL-2.0-or-later
//! Features of nodes: what `--constraint` asks for, in Slurm's own reading of it.
//!
//! `a&b` (or `a,b`) nodes with both; `a|b` with either; `[a|b]` all nodes with the same one of them; `a*2` at least two
//! of the nodes with it; `[a*2&b*1]` the same with different nodes for each; `(a|b)` in the place of a feature.

use super::ids::NodeIndex;
use super::node_set::NodeSet;
use super::request::Counted;

/// With more counted features than this, whether one node serves for two of them is not looked at.
const DISTINCT_MAX: usize = 4;

/// How a feature is joined to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    And,
    Or,
    /// `|` within brackets.
    OneKind,
    /// `&` within brackets.
    Each,
    End,
}

/// A feature, or several in parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    features: Vec<(String, Joint)>,
    count: u32,
    joint: Joint,
}

/// What a constraint asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    groups: Vec<Group>,
}

/// Nodes that satisfy a constraint together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suitable {
    /// The nodes to choose from.
    pub nodes: NodeSet,
    /// What there must be among those chosen.
    pub counted: Vec<Counted>,
}

impl Constraint {
    /// Reads a constraint; `None` if it is malformed, which Slurm would have refused.
    pub fn parse(text: &str) -> Option<Self> {
        let mut groups = Vec::new();
        let mut features = Vec::new();
        let (mut in_parentheses, mut in_brackets) = (false, false);
        let mut count = 0;
        let mut name = String::new();
        let mut rest = text.trim().chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '(' if name.is_empty() && !in_parentheses => in_parentheses = true,
                '[' if name.is_empty() && !in_brackets => in_brackets = true,
                ')' if in_parentheses => in_parentheses = false,
                ']' if in_brackets => in_brackets = false,
                '*' => {
                    let mut digits = String::new();
                    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                        digits.push(digit);
                    }
                    count = digits
                        .parse()
                        .ok()
                        .filter(|count| *count > 0 && !in_parentheses)?;
                }
                '&' | ',' | '|' if !name.is_empty() => {
                    let joint = match (c, in_parentheses, in_brackets) {
                        ('|', false, true) => Joint::OneKind,
                        ('|', ..) => Joint::Or,
                        (_, false, true) => Joint::Each,
                        _ => Joint::And,
                    };
                    features.push((std::mem::take(&mut name), joint));
                    if !in_parentheses {
                        groups.push(Group {
                            features: std::mem::take(&mut features),
                            count: std::mem::take(&mut count),
                            joint,
                        });
                    }
                }
                '(' | ')' | '[' | ']' | '&' | ',' | '|' => return None,
                _ => name.push(c),
            }
        }
        if name.is_empty() || in_parentheses || in_brackets {
            return None;
        }
        features.push((name, Joint::End));
        groups.push(Group {
            features,
            count,
            joint: Joint::End,
        });
        Some(Self { groups })
    }

    /// The sets of `nodes` of which each satisfies this; `has` tells whether a node has a feature.
    pub fn suitable(&self, nodes: &[NodeIndex], has: impl Fn(NodeIndex, &str) -> bool) -> Vec<Suitable> {
        let of = |group: &Group| -> Vec<bool> { nodes.iter().map(|node| group.holds(*node, &has)).collect() };
        let with = |wanted: &[bool]| -> NodeSet {
            let chosen = nodes.iter().zip(wanted).filter(|(_, wanted)| **wanted);
            chosen.map(|(node, _)| *node).collect()
        };
        let mut base = vec![true; nodes.len()];
        let mut kinds = Vec::new();
        let mut last = Joint::And;
        for group in &self.groups {
            let set = of(group);
            let in_brackets = |joint| matches!(joint, Joint::OneKind | Joint::Each);
            if in_brackets(group.joint) || in_brackets(last) {
                kinds.push(set);
            } else {
                for (all, one) in base.iter_mut().zip(set) {
                    *all = if last == Joint::Or {
                        *all || one
                    } else {
                        *all && one
                    };
                }
            }
            last = group.joint;
        }
        let counted: Vec<Counted> = self
            .groups
            .iter()
            .filter(|group| group.count > 0)
            .map(|group| Counted {
                at_least: group.count,
                nodes: with(&of(group)),
            })
            .collect();
        if counted.is_empty() && !kinds.is_empty() {
            let both = |kind: &Vec<bool>| base.iter().zip(kind).map(|(a, b)| *a && *b).collect::<Vec<_>>();
            return kinds
                .iter()
                .map(|kind| Suitable {
                    nodes: with(&both(kind)),
                    counted: Vec::new(),
                })
                .collect();
        }
        // With counts, Slurm lets the other nodes be of any kind, or of any of those in the brackets.
        let any_kind = |at: usize| kinds.is_empty() || kinds.iter().any(|kind| kind[at]);
        let allowed: Vec<bool> = match counted.is_empty() {
            true => base,
            false => (0..nodes.len()).map(any_kind).collect(),
        };
        let distinct = self
            .groups
            .iter()
            .any(|group| group.count > 0 && group.joint == Joint::Each);
        vec![Suitable {
            nodes: with(&allowed),
            counted: if distinct { of_their_own(counted) } else { counted },
        }]
    }
}

/// The same with a node serving for one of them only: then any few of them together need as many nodes as they sum up
/// to (Hall's theorem).
fn of_their_own(counted: Vec<Counted>) -> Vec<Counted> {
    if counted.len() > DISTINCT_MAX {
        return counted;
    }
    (1u32..1 << counted.len())
        .map(|subset| {
            let is_in = |(at, _): &(usize, &Counted)| subset & (1 << at) != 0;
            let few = || counted.iter().enumerate().filter(is_in).map(|(_, one)| one);
            Counted {
                at_least: few().fold(0, |sum, one| sum.saturating_add(one.at_least)),
                nodes: few().flat_map(|one| one.nodes.iter().copied()).collect(),
            }
        })
        .collect()
}

impl Group {
    fn holds(&self, node: NodeIndex, has: &impl Fn(NodeIndex, &str) -> bool) -> bool {
        let mut holds = true;
        let mut last = Joint::And;
        for (name, joint) in &self.features {
            let one = has(node, name);
            holds = if last == Joint::Or {
                holds || one
            } else {
                holds && one
            };
            last = *joint;
        }
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes 0 to 3: `old,ib`, `old`, `new,ib`, `new`.
    fn suitable(text: &str) -> Vec<Suitable> {
        let features = ["old,ib", "old", "new,ib", "new"];
        let nodes: Vec<_> = (0..4).map(NodeIndex).collect();
        let has = |node: NodeIndex, name: &str| features[node.0 as usize].split(',').any(|one| one == name);
        Constraint::parse(text).unwrap().suitable(&nodes, has)
    }

    fn numbers(nodes: &[NodeIndex]) -> Vec<u32> {
        nodes.iter().map(|node| node.0).collect()
    }

    #[test]
    fn nodes_are_found_as_slurm_finds_them() {
        for (text, sets) in [
            ("old", vec![vec![0, 1]]),
            ("old&ib", vec![vec![0]]),
            ("old,ib", vec![vec![0]]),
            ("ib|old", vec![vec![0, 1, 2]]),
            ("pink", vec![vec![]]),
            ("(old|new)&ib", vec![vec![0, 2]]),
            ("ib&(old|new)", vec![vec![0, 2]]),
            ("[old|new]", vec![vec![0, 1], vec![2, 3]]),
            ("ib&[old|new]", vec![vec![0], vec![2]]),
            ("old*2", vec![vec![0, 1, 2, 3]]),
            ("[old*1&new*1]", vec![vec![0, 1, 2, 3]]),
        ] {
            let found: Vec<_> = suitable(text).iter().map(|one| numbers(&one.nodes)).collect();
            assert_eq!(found, sets, "{text}");
        }
    }

    #[test]
    fn counts_are_of_the_nodes_that_have_the_feature() {
        let counts = |text| -> Vec<(u32, Vec<u32>)> {
            let one = suitable(text).remove(0);
            one.counted
                .iter()
                .map(|counted| (counted.at_least, numbers(&counted.nodes)))
                .collect()
        };
        assert_eq!(counts("old*2"), [(2, vec![0, 1])]);
        assert_eq!(counts("old*1&ib*2"), [(1, vec![0, 1]), (2, vec![0, 2])]);
        assert_eq!(counts("(new&ib)*1"), [(1, vec![2])]);
        // A node of its own for each: together they need three.
        assert_eq!(
            counts("[old*1&ib*2]"),
            [(1, vec![0, 1]), (2, vec![0, 2]), (3, vec![0, 1, 2])]
        );
        assert!(counts("old&ib").is_empty());
    }

    #[test]
    fn what_slurm_refuses_is_no_constraint() {
        for text in [
            "", "&a", "a&", "(a", "a)", "[a|b", "a|", "a*0", "(a*2)", "a*x", "((a)",
        ] {
            assert_eq!(Constraint::parse(text), None, "{text}");
        }
    }
}
