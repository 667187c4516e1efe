// SPDX-License-Identifier: GPL-2.0-or-later
//! Amounts of CPUs, memory and generic resources.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Stands for one kind of generic resource in a [`GresTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GresId(pub u32);

/// A kind of generic resource: `gpu`, or `gpu` of model `a100`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GresKind {
    /// Slurm's name for it, e.g. `gpu`.
    pub name: String,
    /// Slurm's "type", e.g. `a100`; `None` means of whatever model.
    pub model: Option<String>,
}

/// The kinds of generic resources that occur in a set of facts.
///
/// A model counts twice: two `gpu:a100` are two `gpu:a100` and also two `gpu`. So "any gpu" and "an a100" are
/// both plain comparisons of counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GresTable {
    kinds: Vec<GresKind>,
}

impl GresTable {
    /// The id of a kind; the same kind always gets the same id.
    pub fn id(&mut self, name: &str, model: Option<&str>) -> GresId {
        let known = self
            .kinds
            .iter()
            .position(|kind| kind.name == name && kind.model.as_deref() == model);
        let index = known.unwrap_or_else(|| {
            self.kinds.push(GresKind {
                name: name.to_owned(),
                model: model.map(str::to_owned),
            });
            self.kinds.len() - 1
        });
        // Kinds come from gres.conf; a site has a handful.
        GresId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Whether there is such a kind.
    pub fn has(&self, id: GresId) -> bool {
        (id.0 as usize) < self.kinds.len()
    }

    /// Adds `count` of a kind to `amounts`, and to its name as a whole where a model is given.
    pub fn add(&mut self, amounts: &mut Amounts, name: &str, model: Option<&str>, count: u64) {
        amounts.add_gres(self.id(name, None), count);
        if model.is_some() {
            amounts.add_gres(self.id(name, model), count);
        }
    }

    /// The kinds whose name is `name` whatever their model, summed in `amounts`.
    pub fn total_of(&self, amounts: &Amounts, name: &str) -> u64 {
        self.kinds
            .iter()
            .position(|kind| kind.name == name && kind.model.is_none())
            .and_then(|index| u32::try_from(index).ok())
            .map_or(0, |index| amounts.gres(GresId(index)))
    }
}

/// What a node has, a job holds or a job needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// CPUs as Slurm counts them (threads or cores, by the site's choice).
    pub cpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Generic resources, sorted by id, none of count 0.
    ///
    /// In place for as many kinds as most sites have: a plan copies amounts far too often to allocate for each.
    gres: SmallVec<[(GresId, u64); 2]>,
}

impl Amounts {
    /// CPUs and memory, no generic resources.
    pub fn new(cpus: u32, memory_mib: u64) -> Self {
        Self {
            cpus,
            memory_mib,
            gres: SmallVec::new(),
        }
    }

    /// How many of `id` there are.
    pub fn gres(&self, id: GresId) -> u64 {
        match self.gres.binary_search_by_key(&id, |entry| entry.0) {
            Ok(at) => self.gres[at].1,
            Err(_) => 0,
        }
    }

    /// Every kind with its count.
    pub fn gres_counts(&self) -> &[(GresId, u64)] {
        &self.gres
    }

    /// Adds `count` of `id`.
    pub fn add_gres(&mut self, id: GresId, count: u64) {
        if count == 0 {
            return;
        }
        match self.gres.binary_search_by_key(&id, |entry| entry.0) {
            Ok(at) => self.gres[at].1 = self.gres[at].1.saturating_add(count),
            Err(at) => self.gres.insert(at, (id, count)),
        }
    }

    /// Leaves at most `most` of `id`.
    pub fn keep_gres(&mut self, id: GresId, most: u64) {
        if let Ok(at) = self.gres.binary_search_by_key(&id, |entry| entry.0) {
            self.gres[at].1 = self.gres[at].1.min(most);
            if most == 0 {
                self.gres.remove(at);
            }
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        self.cpus = self.cpus.saturating_add(other.cpus);
        self.memory_mib = self.memory_mib.saturating_add(other.memory_mib);
        for &(id, count) in &other.gres {
            self.add_gres(id, count);
        }
    }

    /// Takes `other` away, down to zero: an over-subscribed node has nothing free, not less than nothing.
    pub fn take(&mut self, other: &Self) {
        self.cpus = self.cpus.saturating_sub(other.cpus);
        self.memory_mib = self.memory_mib.saturating_sub(other.memory_mib);
        for &(id, count) in &other.gres {
            if let Ok(at) = self.gres.binary_search_by_key(&id, |entry| entry.0) {
                self.gres[at].1 = self.gres[at].1.saturating_sub(count);
            }
        }
        self.gres.retain(|entry| entry.1 > 0);
    }

    /// Makes each amount no less than that of `other`.
    pub fn raise_to(&mut self, other: &Self) {
        self.cpus = self.cpus.max(other.cpus);
        self.memory_mib = self.memory_mib.max(other.memory_mib);
        for &(id, count) in &other.gres {
            let have = self.gres(id);
            self.add_gres(id, count.saturating_sub(have));
        }
    }

    /// Makes each amount no more than that of `other`.
    pub fn lower_to(&mut self, other: &Self) {
        self.cpus = self.cpus.min(other.cpus);
        self.memory_mib = self.memory_mib.min(other.memory_mib);
        for entry in &mut self.gres {
            entry.1 = entry.1.min(other.gres(entry.0));
        }
        self.gres.retain(|entry| entry.1 > 0);
    }

    /// Whether `need` is within these amounts.
    pub fn covers(&self, need: &Self) -> bool {
        self.cpus >= need.cpus
            && self.memory_mib >= need.memory_mib
            && need.gres.iter().all(|&(id, count)| self.gres(id) >= count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_counts_as_its_name_too() {
        let mut table = GresTable::default();
        let mut node = Amounts::new(8, 1000);
        table.add(&mut node, "gpu", Some("a100"), 4);
        assert_eq!(table.total_of(&node, "gpu"), 4);

        let mut any_two = Amounts::default();
        table.add(&mut any_two, "gpu", None, 2);
        let mut two_h100 = Amounts::default();
        table.add(&mut two_h100, "gpu", Some("h100"), 2);
        assert!(node.covers(&any_two));
        assert!(!node.covers(&two_h100));
    }

    #[test]
    fn taking_more_than_there_is_leaves_nothing() {
        let mut table = GresTable::default();
        let mut free = Amounts::new(2, 10);
        table.add(&mut free, "gpu", None, 1);
        let mut held = Amounts::new(5, 50);
        table.add(&mut held, "gpu", None, 3);
        free.take(&held);
        assert_eq!(free, Amounts::default());
    }
}
