// SPDX-License-Identifier: GPL-2.0-or-later
//! A set of victims for a heterogeneous job of which one after the other is spared, and nodes on which all components fit
//! without the set.

use super::{Choice, Set};
use crate::policy::fit::{Demand, Ledger};
use crate::policy::ids::NodeIndex;
use crate::policy::places::{self, Places};
use crate::policy::resources::Amounts;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Most often it shows on the nodes that somebody is on whether he is needed, without looking at all others.
pub struct Standing<'c, 'a> {
    choice: &'c Choice<'a>,
    /// Who makes way.
    set: Set,
    /// What is free without the set.
    ledger: Ledger,
    /// Nodes on which all components fit.
    places: Places,
    /// Each component, where only its nodes are to be had.
    there: Vec<Demand>,
    /// Whose node it is.
    owners: BTreeMap<NodeIndex, usize>,
    /// The nodes that are of use to any component.
    usable: BTreeMap<NodeIndex, Use>,
    /// How many nodes are of use to each component.
    counts: Vec<usize>,
    /// What all nodes give at most.
    given: Amounts,
    /// What all components want together.
    wanted: Amounts,
}

/// What a node is of use for.
#[derive(Default)]
struct Use {
    /// To whom.
    components: Vec<usize>,
    /// What it gives to whichever of them it gives most of each.
    most: Amounts,
}

impl<'c, 'a> Standing<'c, 'a> {
    /// Without `set` all components fit on `places`.
    pub fn new(choice: &'c Choice<'a>, set: Set, places: Places) -> Self {
        let mut standing = Self {
            choice,
            ledger: choice.without(&set),
            set,
            places: Vec::new(),
            there: Vec::new(),
            owners: BTreeMap::new(),
            usable: BTreeMap::new(),
            counts: vec![0; choice.demands.len()],
            given: Amounts::default(),
            wanted: choice.demands.iter().fold(Amounts::default(), |mut all, demand| {
                all.add(&least_total(demand));
                all
            }),
        };
        for node in places::nodes(choice.demands.iter().flat_map(Demand::ways)) {
            standing.look(node);
        }
        standing.settle(places);
        standing
    }

    /// Spares the candidate in place `at` if all components fit as well without that one's leaving.
    pub fn spare(&mut self, at: usize) {
        if !self.set.remove(&at) {
            return;
        }
        self.bring_back(at);
        if self.fits(at) {
            return;
        }
        self.set.insert(at);
        let job = self.choice.candidates[at].job;
        self.ledger.release(job);
        for holding in &job.holdings {
            self.look(holding.node);
        }
    }

    /// How many make way.
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Who makes way, and where all components fit then.
    pub fn into_parts(self) -> (Set, Places) {
        (self.set, self.places)
    }

    /// Whether all fit with the candidate in place `at` back again.
    fn fits(&mut self, at: usize) -> bool {
        if self.are_too_few() {
            return false;
        }
        let looks = self.choice.looks;
        let holdings = &self.choice.candidates[at].job.holdings;
        let mut touched: Vec<usize> = holdings
            .iter()
            .filter_map(|holding| self.owners.get(&holding.node).copied())
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let still_fits = |component: &usize| {
            let nodes = self.ledger.fits_counted(&self.there[*component], looks);
            nodes.is_some()
        };
        if touched.iter().all(still_fits) {
            return true;
        }
        if looks.are_spent() {
            return false;
        }
        match places::find(&self.ledger, self.choice.demands, looks) {
            Some(places) => {
                self.settle(places);
                true
            }
            None => false,
        }
    }

    /// Whether there are fewer nodes than the components want, each by itself or all together, or these give less than all
    /// want together.
    fn are_too_few(&self) -> bool {
        if !self.given.covers(&self.wanted) {
            return true;
        }
        let wanted = self.choice.demands.iter().map(least_nodes);
        let each = wanted
            .clone()
            .zip(&self.counts)
            .any(|(wanted, count)| wanted > *count);
        each || wanted.sum::<usize>() > self.usable.len()
    }

    fn settle(&mut self, places: Places) {
        let on = |(demand, nodes): (&Demand, &Vec<NodeIndex>)| {
            let mut nodes = nodes.clone();
            nodes.sort_unstable();
            demand.on(|node| nodes.binary_search(&node).is_ok())
        };
        self.there = self.choice.demands.iter().zip(&places).map(on).collect();
        let owned = places.iter().enumerate();
        self.owners = owned
            .flat_map(|(component, nodes)| nodes.iter().map(move |node| (*node, component)))
            .collect();
        self.places = places;
    }

    /// Puts a candidate that is not in the set any more back onto its nodes.
    fn bring_back(&mut self, at: usize) {
        for holding in &self.choice.candidates[at].job.holdings {
            let node = holding.node;
            self.ledger.restore(node, self.choice.ledger);
            for &(other, held) in self.choice.on(node) {
                if self.set.contains(&other) {
                    self.ledger
                        .release_on(node, self.choice.candidates[other].job.id, held);
                }
            }
            self.look(node);
        }
    }

    /// Sees whom a node is of use to now.
    fn look(&mut self, node: NodeIndex) {
        self.choice.looks.take(self.choice.demands.len() as u64);
        let before = self.usable.remove(&node).unwrap_or_default();
        for component in before.components {
            self.counts[component] -= 1;
        }
        self.given.take(&before.most);
        let mut of_use = Use::default();
        for (component, demand) in self.choice.demands.iter().enumerate() {
            let ways = demand.ways().filter(|way| way.candidates.has(node));
            let offers: SmallVec<[Amounts; 2]> =
                ways.filter_map(|way| self.ledger.offer(node, way)).collect();
            if !offers.is_empty() {
                of_use.components.push(component);
                self.counts[component] += 1;
            }
            for offer in &offers {
                of_use.most.raise_to(offer);
            }
        }
        if !of_use.components.is_empty() {
            self.given.add(&of_use.most);
            self.usable.insert(node, of_use);
        }
    }
}

/// What a component wants in total in whatever way.
fn least_total(demand: &Demand) -> Amounts {
    let mut least = demand.total.clone();
    for way in demand.ways() {
        least.lower_to(&way.total);
    }
    least
}

/// The nodes that a component needs in whatever way.
fn least_nodes(demand: &Demand) -> usize {
    demand.ways().map(|way| way.min_nodes).min().unwrap_or(0)
}
