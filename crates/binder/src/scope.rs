//! `CteScope`: the common table expressions that a query can refer to.
//!
//! The query of an expression sees those declared before it, so while it is bound the later ones are
//! hidden. They stay in the list, as moving them away and back would take time for each of them at
//! each reference.
//!
//! ```text
//! WITH a AS (..), b AS (SELECT .. FROM a), c AS (..) SELECT .. FROM b
//! binding the query of b:   all = [a, b, c]   hidden = [1..3]
//! ```

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use catalog::name::Name;

use types::value::ColumnType;

/// A common table expression in scope.
#[derive(Clone)]
pub struct Cte {
    /// Name of the expression.
    pub name: String,
    /// Its column list, if it has one.
    pub columns: Vec<String>,
    /// Syntax tree of its query.
    pub query: Arc<tsql::ast::QueryExpression>,
    /// In its own definition: id and columns of the work table.
    pub recursive: Option<(u32, Vec<(String, ColumnType)>)>,
}

/// Common table expressions in scope, innermost last.
#[derive(Default)]
pub struct CteScope {
    all: Vec<Arc<Cte>>,
    /// Places of the expressions of each folded name, rising.
    places: HashMap<String, Vec<usize>>,
    /// Ranges of places that are hidden, one for each query of an expression that is being bound.
    hidden: Vec<Range<usize>>,
}

impl CteScope {
    /// Returns the number of expressions, hidden ones included.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there is no expression.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds an expression, the innermost from now on.
    pub(crate) fn push(&mut self, cte: Cte) {
        self.places.entry(Name::folded(&cte.name)).or_default().push(self.all.len());
        self.all.push(Arc::new(cte));
    }

    /// Removes all but the first `len` expressions.
    pub fn truncate(&mut self, len: usize) {
        for cte in self.all.drain(len.min(self.all.len())..).rev() {
            let name = Name::folded(&cte.name);
            if let Some(places) = self.places.get_mut(&name) {
                places.pop();
                if places.is_empty() {
                    self.places.remove(&name);
                }
            }
        }
    }

    /// Returns the place of the innermost expression of a name that is not hidden.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        // Most statements have none: their names are not folded.
        if self.all.is_empty() {
            return None;
        }
        let is_hidden = |place: &usize| self.hidden.iter().any(|range| range.contains(place));
        let places = self.places.get(&Name::folded(name))?;
        places.iter().rev().copied().find(|place| !is_hidden(place))
    }

    /// Returns the expression at a place.
    pub(crate) fn at(&self, place: usize) -> &Arc<Cte> {
        &self.all[place]
    }

    /// Hides the expression at `place` and all later ones until the same number of calls of
    /// [`Self::show`].
    pub(crate) fn hide_from(&mut self, place: usize) {
        self.hidden.push(place..self.all.len());
    }

    /// Ends what the last [`Self::hide_from`] began.
    pub(crate) fn show(&mut self) {
        self.hidden.pop();
    }
}
