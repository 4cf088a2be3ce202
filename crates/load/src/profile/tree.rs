//! Stacks as a tree of calls, with the change against another profile.

use std::collections::BTreeMap;

/// A function as called from its parent.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Its weight with everything below it.
    pub(super) weight: u64,
    /// The same in the profile that it is compared with.
    pub(super) base: u64,
    /// The functions that it calls, by name.
    pub(super) children: BTreeMap<String, Node>,
}

impl Node {
    /// Makes the tree from folded stacks.
    pub(super) fn of(folds: &BTreeMap<String, u64>, base: Option<&BTreeMap<String, u64>>) -> Self {
        let mut root = Self::default();
        for (stack, &weight) in folds {
            root.add(stack, |node| node.weight += weight);
        }
        for (stack, &weight) in base.into_iter().flatten() {
            root.add(stack, |node| node.base += weight);
        }
        root
    }

    fn add(&mut self, stack: &str, add: impl Fn(&mut Self)) {
        let mut node = self;
        add(node);
        for name in stack.split(';') {
            node = node.children.entry(name.to_owned()).or_default();
            add(node);
        }
    }

    /// Returns the number of levels below it.
    pub(super) fn depth(&self, weight_min: u64) -> usize {
        let drawn = self.children.values().filter(|child| child.weight >= weight_min);
        drawn.map(|child| 1 + child.depth(weight_min)).max().unwrap_or(0)
    }
}
