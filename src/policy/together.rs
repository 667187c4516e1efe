// SPDX-License-Identifier: GPL-2.0-or-later
//! The plan for a heterogeneous job: one set of victims after which all components fit at once, on nodes of their own.
//!
//! Component after component is given the set that is best for it, as if it were alone on what the earlier ones left:
//! their victims are gone already and cost nothing more, their nodes are taken, and the waiting for them is waited
//! anyway. That depends on the order, so several are tried. In the end everybody is spared without whom all components
//! fit as well. How far this may be from the best is in `docs/policy.md`.

use super::facts::WaitingJob;
use super::fit::{Demand, Ledger};
use super::ids::NodeIndex;
use super::looks::Looks;
use super::outlook::Outlook;
use super::places::{self, Places};
use super::plan::{Case, ComponentPlace, Constraints, Outcome, Plan};
use super::resources::Amounts;
use super::select::{Candidate, Selection, Terms, compare_totals, select};
use standing::Standing;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

mod standing;

/// With more jobs than this that may be stopped, not all sets are tried.
const EXACT_JOBS_MAX: usize = 28;
/// So many sets are tried at most.
const EXACT_SETS_MAX: usize = 2000;
/// Looks at nodes that the plan for one job may take.
const LOOKS: u64 = 6_000_000;
/// Nodes that are copied in the time that one look takes.
const COPIES_PER_LOOK: usize = 4;

/// Decides what to do for the heterogeneous job of `components` (by offset), given what `ledger` says is free.
pub fn plan(
    outlook: &Outlook<'_>,
    ledger: &Ledger,
    components: &[&WaitingJob],
    constraints: &Constraints,
) -> Outcome {
    let demands: Vec<Demand> = components.iter().map(|job| Demand::of(&job.request)).collect();
    let demands = places::apart(&demands);
    let looks = &outlook.looks;
    looks.with_at_most(LOOKS, || {
        plan_within(outlook, ledger, components, &demands, constraints)
    })
}

/// The same within what looks are left.
fn plan_within(
    outlook: &Outlook<'_>,
    ledger: &Ledger,
    components: &[&WaitingJob],
    demands: &[Demand],
    constraints: &Constraints,
) -> Outcome {
    if let Some(places) = places::find(ledger, demands, &outlook.looks) {
        return Outcome::Fits {
            nodes: places.concat(),
        };
    }
    let may_use = |node| demands.iter().any(|demand| demand.may_use(node));
    let case = Case::new(outlook, ledger, components[0], constraints, may_use);
    let field = case.field();
    let mut choice = Choice {
        ledger,
        demands,
        candidates: &field.candidates,
        holders: BTreeMap::new(),
        wait_weight: outlook.settings.urgent.wait_weight,
        looks: &outlook.looks,
    };
    for (at, candidate) in field.candidates.iter().enumerate() {
        for holding in &candidate.job.holdings {
            let here = choice.holders.entry(holding.node).or_default();
            here.push((at, &holding.amounts));
        }
    }
    match choice.best() {
        Some((selection, places)) => Outcome::Stop(Plan {
            components: components
                .iter()
                .zip(places)
                .map(|(job, nodes)| ComponentPlace { job: job.id, nodes })
                .collect(),
            ..case.plan(selection, field)
        }),
        None => Outcome::NoSet {
            refused: field.refused,
        },
    }
}

/// What a set is chosen from.
struct Choice<'a> {
    ledger: &'a Ledger,
    demands: &'a [Demand],
    candidates: &'a [Candidate<'a>],
    /// Who of them holds what on each node.
    holders: BTreeMap<NodeIndex, Vec<(usize, &'a Amounts)>>,
    wait_weight: f64,
    looks: &'a Looks,
}

/// A set, as places among the candidates, in order.
type Set = BTreeSet<usize>;

/// A set after whose leaving all components fit.
struct Found {
    set: Set,
    total_gpu_s: f64,
    /// Where they fit.
    places: Places,
}

impl Choice<'_> {
    fn best(&self) -> Option<(Selection, Places)> {
        let everybody: Set = (0..self.candidates.len()).collect();
        // Most often, where there is no set, this alone shows it.
        let at_all = self.places_without(&everybody)?;
        let mut at_least_gpu_s: f64 = 0.0;
        let mut best: Option<Found> = None;
        let orders = places::orders(self.demands);
        let mut found_any = false;
        for (tried, order) in orders.iter().enumerate() {
            if found_any && self.looks.are_spent() {
                break;
            }
            // None of them may leave nothing for the others.
            self.looks.with_share(orders.len() - tried + 1, || {
                // As much is for sparing whoever is not needed.
                let in_turn = || self.in_turn(self.demands, order, &mut at_least_gpu_s);
                let set = self.looks.with_share(2, in_turn);
                let set = set.and_then(|set| Some((self.places_without(&set)?, set)));
                if let Some((places, set)) = set {
                    found_any = true;
                    self.keep_better(&mut best, set, places);
                }
            });
        }
        if !found_any {
            let set = self.on_places(&at_all).unwrap_or(everybody);
            let places = self.places_without(&set).unwrap_or(at_all);
            self.keep_better(&mut best, set, places);
        }
        let few = self.candidates.len() <= EXACT_JOBS_MAX;
        if few && self.try_cheapest(&mut best) && places::are_few(self.demands) {
            at_least_gpu_s = best.as_ref()?.total_gpu_s;
        }
        let Found { set, places, .. } = best?;
        // Nobody is spare where the looks for an order did, which is soon seen; else there are some left for that.
        let (set, places) = self.give_back(set, places);
        let places = self.places_without(&set).unwrap_or(places);
        let (total_gpu_s, victims) = self.terms(&set);
        let selection = Selection {
            victims,
            nodes: places.concat(),
            total_gpu_s,
            at_least_gpu_s: at_least_gpu_s.min(total_gpu_s),
        };
        Some((selection, places))
    }

    /// Keeps `set`, without whom all fit on `places`, less those who are not needed, if it is better than `best`.
    fn keep_better(&self, best: &mut Option<Found>, set: Set, places: Places) {
        let (set, places) = self.give_back(set, places);
        let (total_gpu_s, _) = self.terms(&set);
        // Of two that cost the same, the one with the lower ids.
        let beats = |known: &Found| match compare_totals(total_gpu_s, known.total_gpu_s) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => set < known.set,
        };
        if best.as_ref().is_none_or(beats) {
            *best = Some(Found {
                set,
                total_gpu_s,
                places,
            });
        }
    }

    /// Tries all sets by their prices, the cheapest first, as long as one may be better than `best`; `false` if there are
    /// too many.
    fn try_cheapest(&self, best: &mut Option<Found>) -> bool {
        let mut by_price: Vec<(f64, usize)> = (0..self.candidates.len())
            .map(|at| (self.price(at), at))
            .collect();
        by_price.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // Each set is reached once: from the one with its last member in the place before, or from the one without it.
        let mut next: Vec<(f64, Vec<usize>)> = by_price
            .first()
            .map(|first| (first.0, vec![0]))
            .into_iter()
            .collect();
        for _ in 0..EXACT_SETS_MAX {
            if self.looks.are_spent() {
                return false;
            }
            let cheapest = (0..next.len()).min_by(|a, b| next[*a].0.total_cmp(&next[*b].0));
            let Some((price, places)) = cheapest.map(|at| next.swap_remove(at)) else {
                return true;
            };
            if best
                .as_ref()
                .is_some_and(|known| compare_totals(price, known.total_gpu_s).is_gt())
            {
                return true;
            }
            let set: Set = places.iter().map(|place| by_price[*place].1).collect();
            let no_dearer = best
                .as_ref()
                .is_none_or(|known| compare_totals(self.terms(&set).0, known.total_gpu_s).is_le());
            if no_dearer && let Some(places) = self.places_without(&set) {
                self.keep_better(best, set, places);
            }
            if let Some(last) = places.last().copied().filter(|last| last + 1 < by_price.len()) {
                let mut longer = places.clone();
                longer.push(last + 1);
                next.push((price + by_price[last + 1].0, longer));
                let mut moved = places;
                moved.pop();
                moved.push(last + 1);
                next.push((price - by_price[last].0 + by_price[last + 1].0, moved));
            }
        }
        false
    }

    /// The least that it costs to stop the candidate in place `at`.
    fn price(&self, at: usize) -> f64 {
        let prices = self.candidates[at].terms.iter().map(|terms| terms.price_gpu_s);
        prices.fold(f64::INFINITY, f64::min)
    }

    /// Gives each of `demands` its best set in this order. Raises `at_least_gpu_s` to what the first one costs at least
    /// when it is alone: the others make that no less.
    fn in_turn(&self, demands: &[Demand], order: &[usize], at_least_gpu_s: &mut f64) -> Option<Set> {
        let mut ledger = self.ledger.clone();
        let mut taken: BTreeSet<NodeIndex> = BTreeSet::new();
        let mut gone = Set::new();
        let mut waited_s: f64 = 0.0;
        for (turn, &at) in order.iter().enumerate() {
            let demand = demands[at].on(|node| !taken.contains(&node));
            if let Some(nodes) = ledger.fits_counted(&demand, self.looks) {
                taken.extend(nodes);
                continue;
            }
            let (origins, left) = self.left(&gone, waited_s);
            let ways = demand.ways().count() * (order.len() - turn);
            let found = demand.ways().enumerate().filter_map(|(tried, way)| {
                let select = || select(&ledger, way, &left, self.wait_weight, self.looks);
                self.looks.with_share(ways - tried, select)
            });
            let found: Vec<Selection> = found.collect();
            if turn == 0 {
                let bounds = found.iter().map(|selection| selection.at_least_gpu_s);
                *at_least_gpu_s = at_least_gpu_s.max(bounds.fold(f64::INFINITY, f64::min));
            }
            let best = found
                .into_iter()
                .min_by(|a, b| a.total_gpu_s.total_cmp(&b.total_gpu_s))?;
            let mut ready_s: f64 = 0.0;
            for &(place, way) in &best.victims {
                ledger.release(left[place].job);
                gone.insert(origins[place]);
                ready_s = ready_s.max(left[place].terms[way].ready_s);
            }
            waited_s += ready_s;
            taken.extend(best.nodes);
        }
        Some(gone)
    }

    /// Who is still there, with their places among all candidates, where `waited_s` are waited anyway.
    fn left(&self, gone: &Set, waited_s: f64) -> (Vec<usize>, Vec<Candidate<'_>>) {
        let left = self.candidates.iter().enumerate();
        left.filter(|(at, _)| !gone.contains(at))
            .map(|(at, candidate)| {
                let terms = candidate.terms.iter().map(|terms| Terms {
                    ready_s: (terms.ready_s - waited_s).max(0.0),
                    ..*terms
                });
                let terms = terms.collect();
                (at, Candidate { terms, ..*candidate })
            })
            .unzip()
    }

    /// Where no order does: the best set for each on `places`, where all fit once everybody is gone.
    fn on_places(&self, places: &[Vec<NodeIndex>]) -> Option<Set> {
        let on = |(demand, nodes): (&Demand, &Vec<NodeIndex>)| demand.on(|node| nodes.contains(&node));
        let demands: Vec<Demand> = self.demands.iter().zip(places).map(on).collect();
        let given: Vec<usize> = (0..demands.len()).collect();
        // What these cost says nothing of other nodes.
        self.in_turn(&demands, &given, &mut 0.0)
    }

    /// Spares everybody without whom all components fit as well, beginning with the dearest: on `places`, or elsewhere.
    fn give_back(&self, set: Set, places: Places) -> (Set, Places) {
        let mut dearest: Vec<usize> = set.iter().copied().collect();
        dearest.sort_by(|a, b| self.price(*b).total_cmp(&self.price(*a)).then(b.cmp(a)));
        let mut standing = Standing::new(self, set, places);
        loop {
            let before = standing.len();
            for at in &dearest {
                standing.spare(*at);
            }
            // Where there are so many nodes that they are not shared out in every way, one that was needed may not be so
            // without another one.
            if standing.len() == before || self.looks.are_spent() {
                return standing.into_parts();
            }
        }
    }

    /// Who of the candidates holds what on `node`.
    fn on(&self, node: NodeIndex) -> &[(usize, &Amounts)] {
        self.holders.get(&node).map_or(&[], Vec::as_slice)
    }

    fn places_without(&self, gone: &Set) -> Option<Places> {
        places::find(&self.without(gone), self.demands, self.looks)
    }

    fn without(&self, gone: &Set) -> Ledger {
        self.looks.take((self.ledger.size() / COPIES_PER_LOOK) as u64);
        let mut ledger = self.ledger.clone();
        for at in gone {
            ledger.release(self.candidates[*at].job);
        }
        ledger
    }

    /// What it costs to stop `set`, with the waiting for the last one, in the cheapest way; and which way that is of each.
    fn terms(&self, set: &Set) -> (f64, Vec<(usize, usize)>) {
        let mut times: Vec<f64> = set
            .iter()
            .flat_map(|at| self.candidates[*at].terms.iter().map(|terms| terms.ready_s))
            .collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let by = |ready_s: f64| {
            let mut total = self.wait_weight * ready_s;
            let mut ways = Vec::with_capacity(set.len());
            for at in set {
                let in_time = self.candidates[*at].terms.iter().enumerate();
                let in_time = in_time.filter(|(_, terms)| terms.ready_s <= ready_s);
                let (way, terms) =
                    in_time.min_by(|(_, a), (_, b)| a.price_gpu_s.total_cmp(&b.price_gpu_s))?;
                total += terms.price_gpu_s;
                ways.push((*at, way));
            }
            Some((total, ways))
        };
        let all = times.into_iter().filter_map(by);
        // Nobody in the set: nothing to pay, nothing to wait for.
        all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default()
    }
}
