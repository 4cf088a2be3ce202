//! Cycles of a directed graph: its strongly connected components of two nodes or more (Tarjan's algorithm).

use std::collections::{BTreeMap, BTreeSet};

/// What the search knows of a graph's nodes, in the order in which it met them.
struct Search<'g, N> {
    edges: &'g BTreeMap<N, BTreeSet<N>>,
    /// Of each node met: its number, and the lowest number that it reaches on the path.
    met: BTreeMap<&'g N, (usize, usize)>,
    path: Vec<&'g N>,
    cycles: Vec<Vec<N>>,
}

/// Returns the cycles, the largest first, each sorted.
pub(super) fn cycles<N: Ord + Clone>(edges: &BTreeMap<N, BTreeSet<N>>) -> Vec<Vec<N>> {
    let mut search = Search { edges, met: BTreeMap::new(), path: Vec::new(), cycles: Vec::new() };
    for node in edges.keys() {
        if !search.met.contains_key(node) {
            search.visit(node);
        }
    }
    search.cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    search.cycles
}

impl<'g, N: Ord + Clone> Search<'g, N> {
    /// Returns the lowest number that the node reaches. Recursive: no deeper than a crate has files.
    fn visit(&mut self, node: &'g N) -> usize {
        let number = self.met.len();
        self.met.insert(node, (number, number));
        self.path.push(node);
        let mut lowest = number;
        for next in self.edges.get(node).into_iter().flatten() {
            match self.met.get(next) {
                None => lowest = lowest.min(self.visit(next)),
                Some((other, _)) if self.path.contains(&next) => lowest = lowest.min(*other),
                Some(_) => {}
            }
        }
        self.met.insert(node, (number, lowest));
        if lowest == number {
            let start = self.path.iter().position(|n| *n == node).expect("the node is on the path");
            let mut cycle: Vec<N> = self.path.drain(start..).cloned().collect();
            if cycle.len() > 1 {
                cycle.sort();
                self.cycles.push(cycle);
            }
        }
        lowest
    }
}

#[test]
fn a_cycle_is_found_and_what_leads_to_it_is_not_in_it() {
    let edge = |from, to: &[u8]| (from, to.iter().copied().collect());
    let edges = BTreeMap::from([
        edge(1, &[2]),
        edge(2, &[3, 5]),
        edge(3, &[4]),
        edge(4, &[2]),
        edge(5, &[]),
        edge(6, &[7]),
        edge(7, &[6, 1]),
    ]);
    assert_eq!(cycles(&edges), [vec![2, 3, 4], vec![6, 7]]);
}
