//! An index of expressions by what they compute, so that a list of n keys is searched n times in
//! linear time.
//!
//! The hash of an expression covers a few levels only: expressions that [`walk::same`] calls the
//! same have equal hashes, and a long chain costs no more than a short one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

use crate::expr::{Expr, ExprKind};
use crate::walk;

/// Levels of an expression that its hash covers.
const LEVELS_HASHED: u32 = 6;

/// Places of an index that are compared one by one, which is cheaper than a hash.
const PLACES_COMPARED_MAX: usize = 8;

/// Finds the places of expressions in a list.
#[derive(Debug, Default)]
pub struct SameIndex {
    /// The first places of a list.
    few: Vec<usize>,
    /// All others, by hash.
    places: HashMap<u64, Vec<usize>>,
}

impl SameIndex {
    /// Returns an index of these expressions, whose places count from 0.
    pub fn of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Self {
        let mut index = Self::default();
        exprs.into_iter().enumerate().for_each(|(place, expr)| index.insert(expr, place));
        index
    }

    /// Adds an expression at a place of the list.
    pub fn insert(&mut self, expr: &Expr, place: usize) {
        if self.few.len() < PLACES_COMPARED_MAX {
            self.few.push(place);
        } else {
            self.places.entry(hash(expr)).or_default().push(place);
        }
    }

    /// Returns the first place whose expression, which `at` returns, is the same as this one.
    pub fn find<'e>(&self, expr: &Expr, at: impl Fn(usize) -> &'e Expr) -> Option<usize> {
        let is_same = |place: &usize| walk::same(at(*place), expr);
        let found = self.few.iter().copied().find(is_same);
        if found.is_some() || self.places.is_empty() {
            return found;
        }
        self.places.get(&hash(expr))?.iter().copied().find(is_same)
    }
}

/// Returns a hash that is equal for expressions that are the same.
fn hash(expr: &Expr) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(expr, LEVELS_HASHED, &mut hasher);
    hasher.finish()
}

fn add(expr: &Expr, levels: u32, hasher: &mut DefaultHasher) {
    expr.ty.data_type.hash(hasher);
    discriminant(&expr.kind).hash(hasher);
    if levels == 0 {
        return;
    }
    match &expr.kind {
        ExprKind::Constant(value) => format!("{value:?}").hash(hasher),
        ExprKind::Variable(slot) => slot.hash(hasher),
        ExprKind::Column(register) => register.hash(hasher),
        ExprKind::Call(function, _) => function.name.hash(hasher),
        // Each side has its own register for what a `Let` names.
        ExprKind::Let(..) => return,
        _ => {}
    }
    walk::operands(expr, &mut |operand| add(operand, levels - 1, hasher));
}
