//! Parses MERGE.

use types::{Msg, Result};

use super::Parser;
use crate::ast::{Merge, MergeAction, MergeClause, MergeKind, With};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn merge(&mut self, with: Option<With>) -> Result<Merge> {
        self.expect(Kw::Merge)?;
        let top = self.top()?;
        self.eat(Kw::Into);
        let mut target = self.target()?;
        let alias = self.simple_alias()?;
        target.hints.extend(self.optional_hints()?);
        self.expect(Kw::Using)?;
        let source = self.table_ref()?;
        self.expect(Kw::On)?;
        let on = self.condition()?;
        let mut clauses = vec![self.merge_clause()?];
        while self.at(Kw::When) {
            clauses.push(self.merge_clause()?);
        }
        let output = self.output()?;
        let options = self.options()?;
        self.check_merge_clauses(&clauses)?;
        // A nested MERGE needs no semicolon: its parenthesis ends it.
        if matches!(self.kind(), TokenKind::End | TokenKind::Word) {
            let last = self.tokens[self.position - 1];
            return Err(self.error_at(Msg::MergeNeedsSemicolon, last.start));
        }
        Ok(Merge { with, top, target, alias, source, on, clauses, output, options })
    }

    /// Checks the WHEN clauses: of each kind only the last may lack a condition, and no action may
    /// appear twice.
    fn check_merge_clauses(&self, clauses: &[MergeClause]) -> Result<()> {
        for (place, clause) in clauses.iter().enumerate() {
            let before = clauses[..place].iter().filter(|other| other.kind == clause.kind);
            for other in before {
                let (name, start) = (name_of(clause.kind), clause.span.start);
                let same = |a: &MergeAction| std::mem::discriminant(a);
                if same(&other.action) == same(&clause.action) {
                    let action = match clause.action {
                        MergeAction::Update(_) => "UPDATE",
                        MergeAction::Delete => "DELETE",
                        MergeAction::Insert { .. } => "INSERT",
                    };
                    return Err(self.error_at(Msg::MergeActionTwice(action, name), start));
                }
                if other.condition.is_none() {
                    return Err(self.error_at(Msg::MergeClauseOrder(name, name), start));
                }
            }
        }
        Ok(())
    }

    fn merge_clause(&mut self) -> Result<MergeClause> {
        let start = self.start();
        self.expect(Kw::When)?;
        let kind = self.merge_kind()?;
        let condition = if self.eat(Kw::And) { Some(self.condition()?) } else { None };
        self.expect(Kw::Then)?;
        let action = self.merge_action()?;
        Ok(MergeClause { kind, condition, action, span: self.span_from(start) })
    }

    fn merge_kind(&mut self) -> Result<MergeKind> {
        if self.eat(Kw::Matched) {
            return Ok(MergeKind::Matched);
        }
        self.expect_all(&[Kw::Not, Kw::Matched])?;
        if !self.eat(Kw::By) {
            return Ok(MergeKind::NotMatchedByTarget);
        }
        if self.eat(Kw::Source) {
            return Ok(MergeKind::NotMatchedBySource);
        }
        self.expect(Kw::Target)?;
        Ok(MergeKind::NotMatchedByTarget)
    }

    fn merge_action(&mut self) -> Result<MergeAction> {
        if self.eat(Kw::Delete) {
            return Ok(MergeAction::Delete);
        }
        if self.eat(Kw::Update) {
            self.expect(Kw::Set)?;
            return Ok(MergeAction::Update(self.comma_list(Self::set_item)?));
        }
        self.expect(Kw::Insert)?;
        let columns = if self.at_kind(TokenKind::LeftParen) {
            self.paren_list(|parser| Ok(parser.column_ref()?.column))?
        } else {
            Vec::new()
        };
        if self.eat(Kw::Default) {
            self.expect(Kw::Values)?;
            return Ok(MergeAction::Insert { columns, values: None });
        }
        self.expect(Kw::Values)?;
        let values = self.paren_list(Self::expr_or_default)?;
        Ok(MergeAction::Insert { columns, values: Some(values) })
    }
}

/// Returns a kind of clause as error messages name it.
fn name_of(kind: MergeKind) -> &'static str {
    match kind {
        MergeKind::Matched => "WHEN MATCHED",
        MergeKind::NotMatchedByTarget => "WHEN NOT MATCHED",
        MergeKind::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
    }
}
