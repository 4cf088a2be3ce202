//! The texts that a definition keeps of its expressions.

use std::sync::Arc;

use tsql::ast::{Condition, Expr};

use super::Shaper;
use ::catalog::ModuleText;

impl Shaper<'_, '_> {
    /// Returns the text of a default or a computed column.
    pub(super) fn text_of_value(&self, expr: &Expr) -> Arc<ModuleText> {
        let source = self.place.source;
        let shown = tsql::definition_of_value(expr, source);
        let quoted = self.binder.options.quoted_identifier;
        Arc::new(ModuleText::new(expr, expr.span.text(source), quoted, shown))
    }

    /// Returns the text of a CHECK constraint.
    pub(super) fn text_of_condition(&self, condition: &Condition) -> Arc<ModuleText<Condition>> {
        let source = self.place.source;
        let shown = tsql::definition_of_condition(condition, source, tsql::Lists::Comparisons);
        let quoted = self.binder.options.quoted_identifier;
        Arc::new(ModuleText::new(condition, condition.span.text(source), quoted, shown))
    }
}
