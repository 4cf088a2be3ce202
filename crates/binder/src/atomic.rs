//! Options of atomic blocks, and the check for blocks that need no transaction: those with one data
//! statement that is followed by nothing that can fail.
//!
//! A single statement is atomic by itself. If it changes one row, it commits on that row, without a
//! transaction's bookkeeping and without visible conflicts. The read procedures of session state
//! are such blocks: some SETs, an UPDATE that reads the item and extends its expiry, and `IF @item
//! IS NOT NULL SELECT @item`. The check is conservative: a block with any other statement needs a
//! transaction.

use catalog::options::IsolationLevel;
use plan::program::AtomicSettings;
use tsql::ast::{
    self, AtomicOption, ConditionKind, DeclarationKind, ExprKind, QueryBody, StatementKind,
};
use types::convert::DateFormat;
use types::{Error, Language, Msg};

/// Returns whether the block can run without a transaction. `source` is the text that spans refer
/// to.
pub(crate) fn commits_alone(body: &[ast::Statement], source: &str) -> bool {
    let mut walk = Walk { source, touched: false };
    let plain = walk.list(body);
    plain && !mentions(source, "@@trancount") && !mentions(source, "xact_state")
}

/// Returns the settings that the options of an atomic block declare.
///
/// # Errors
/// 10784 for a missing option, 40517 for one that is not supported, 2740, 2741 and 2742 for a wrong
/// LANGUAGE, DATEFORMAT and DATEFIRST.
pub(crate) fn settings_of(options: &[AtomicOption]) -> Result<AtomicSettings, Error> {
    let mut isolation = None;
    let mut language = None;
    let (mut date_first, mut date_format) = (None, None);
    let mut is_delayed = false;
    for option in options {
        match option {
            AtomicOption::Isolation(level) => isolation = Some(isolation_of(*level)?),
            AtomicOption::Language(name) => {
                language = Some(Language::by_name(name).ok_or(Msg::SetLanguage(name))?);
            }
            AtomicOption::DateFirst(day) => {
                let first = u8::try_from(*day).ok().filter(|d| (1..=7).contains(d));
                date_first = Some(first.ok_or(Msg::SetDateFirst(i64::from(*day)))?);
            }
            AtomicOption::DateFormat(order) => {
                let format = DateFormat::from_name(order);
                date_format = Some(format.ok_or(Msg::SetDateFormat(order))?);
            }
            AtomicOption::DelayedDurability(delayed) => is_delayed = *delayed,
        }
    }
    match (isolation, language) {
        (Some(isolation), Some(language)) => Ok(AtomicSettings {
            isolation,
            language,
            date_first: date_first.unwrap_or_else(|| language.date_first()),
            date_format: date_format.unwrap_or_else(|| language.date_format()),
            is_delayed,
        }),
        (None, _) => Err(Msg::AtomicNeedsOption("transaction isolation level").into()),
        (Some(_), None) => Err(Msg::AtomicNeedsOption("language").into()),
    }
}

fn isolation_of(level: ast::IsolationLevel) -> Result<IsolationLevel, Error> {
    Ok(match level {
        ast::IsolationLevel::Snapshot => IsolationLevel::Snapshot,
        ast::IsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
        ast::IsolationLevel::Serializable => IsolationLevel::Serializable,
        ast::IsolationLevel::ReadCommitted | ast::IsolationLevel::ReadUncommitted => {
            let what = "READ COMMITTED and READ UNCOMMITTED in an ATOMIC block";
            return Err(Msg::NotSupported(what).into());
        }
    })
}

/// Returns whether a text contains a word; a false positive only costs a transaction.
fn mentions(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|w| w.eq_ignore_ascii_case(word.as_bytes()))
}

struct Walk<'a> {
    source: &'a str,
    /// Whether a data statement may have run before this one.
    touched: bool,
}

impl Walk<'_> {
    fn list(&mut self, statements: &[ast::Statement]) -> bool {
        statements.iter().all(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &ast::Statement) -> bool {
        match &statement.kind {
            StatementKind::Block(body) => self.list(body),
            StatementKind::Declare(declarations) => declarations.iter().all(|d| match &d.kind {
                DeclarationKind::Scalar { value: None, .. } => true,
                DeclarationKind::Scalar { value: Some(value), .. } => self.free(value.span),
                DeclarationKind::Table(_) | DeclarationKind::Cursor => false,
            }),
            StatementKind::SetVariable(set) => match &set.value {
                ast::SetVariableValue::Expr(ast::AssignOp::Assign, value) => {
                    is_literal(value) || self.free(value.span)
                }
                ast::SetVariableValue::Expr(_, value) => self.free(value.span),
                ast::SetVariableValue::Cursor(_) | ast::SetVariableValue::Method(..) => false,
            },
            StatementKind::If(branches) => self.branches(branches),
            StatementKind::Return(None) => true,
            StatementKind::Return(Some(value)) => is_literal(value),
            StatementKind::Select(select) => {
                is_plain_select(select) || !std::mem::replace(&mut self.touched, true)
            }
            StatementKind::Insert(insert) => {
                let plain = !matches!(
                    insert.source,
                    ast::InsertSource::Execute(_) | ast::InsertSource::ExecuteString(_)
                );
                plain && !std::mem::replace(&mut self.touched, true)
            }
            StatementKind::Update(_) | StatementKind::Delete(_) => {
                !std::mem::replace(&mut self.touched, true)
            }
            _ => false,
        }
    }

    /// Only one branch runs, so each begins in the state before the IF.
    fn branches(&mut self, branches: &ast::If) -> bool {
        for branch in &branches.branches {
            if !is_null_test(&branch.condition) && !self.free(branch.condition.span) {
                return false;
            }
        }
        let before = self.touched;
        let mut after = before;
        let bodies = branches.branches.iter().map(|b| &b.then).chain(branches.otherwise.as_ref());
        for body in bodies {
            self.touched = before;
            if !self.statement(body) {
                return false;
            }
            after |= self.touched;
        }
        self.touched = after;
        true
    }

    /// Returns whether an expression is harmless here: it may fail as long as there is nothing to
    /// undo; one with a subquery counts as a data statement.
    fn free(&self, span: ast::Span) -> bool {
        let text = span.text(self.source);
        !self.touched && !text.is_empty() && !mentions(text, "select")
    }
}

fn is_literal(expr: &ast::Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(ast::Literal::Int(_) | ast::Literal::Null))
}

/// Matches `@v IS [NOT] NULL`.
fn is_null_test(condition: &ast::Condition) -> bool {
    match &condition.kind {
        ConditionKind::IsNull { operand, .. } => matches!(operand.kind, ExprKind::Variable(_)),
        _ => false,
    }
}

/// Matches `SELECT @a, 1`, which reads no table and can't fail.
fn is_plain_select(select: &ast::SelectStatement) -> bool {
    let QueryBody::Select(spec) = &select.query.body else { return false };
    let simple = |item: &ast::SelectItem| match &item.kind {
        ast::SelectItemKind::Expr { expr, .. } => {
            is_literal(expr) || matches!(&expr.kind, ExprKind::Variable(v) if !v.is_global())
        }
        _ => false,
    };
    select.with.is_none()
        && spec.from.is_empty()
        && spec.into.is_none()
        && spec.filter.is_none()
        && spec.items.iter().all(simple)
}

#[cfg(test)]
mod tests {
    use super::commits_alone;
    use tsql::ast::{RoutineBody, StatementKind};

    fn alone(body: &str) -> bool {
        let text = format!(
            "create procedure p @id int, @x int output with native_compilation, schemabinding as \
             begin atomic with (transaction isolation level = snapshot, language = N'us_english') \
             {body} end"
        );
        let batch = tsql::parse(&text, tsql::QuotedIdentifier::On).expect("the body parses");
        let StatementKind::CreateProcedure(create) = &batch.statements[0].kind else {
            panic!("a procedure")
        };
        let RoutineBody::Statements(body) = &create.body else { panic!("statements") };
        let StatementKind::AtomicBlock(block) = &body[0].kind else { panic!("a block") };
        commits_alone(&block.body, &text)
    }

    #[test]
    fn one_update_and_a_select_of_a_variable_needs_no_transaction() {
        assert!(alone(
            "declare @i varbinary(max) declare @now datetime set @now = getutcdate() \
             update t set @x = a, @i = b where id = @id if @i is not null begin select @i end"
        ));
        assert!(alone("insert t values (@id)"));
        assert!(alone("if @id = 1 delete t where id = 1 else update t set a = 1 where id = @id"));
    }

    #[test]
    fn two_data_statements_need_a_transaction() {
        assert!(!alone("update t set a = 1 where id = @id update t set a = 2 where id = @id"));
        assert!(!alone("select @x = a from t where id = @id if @x = 1 delete t where id = @id"));
        assert!(!alone("if exists (select * from t where id = @id) delete t where id = @id"));
        assert!(!alone("if @id = 1 delete t where id = 1 update t set a = 1 where id = @id"));
    }

    #[test]
    fn what_may_fail_behind_a_change_needs_a_transaction() {
        assert!(!alone("update t set @x = a where id = @id set @x = @x / 0"));
        assert!(!alone("update t set @x = a where id = @id if 1 / @x = 1 return"));
        assert!(!alone("update t set @x = a where id = @id select @x / 0"));
        assert!(!alone("update t set a = 1 where id = @id exec q"));
        assert!(!alone("while @id < 3 update t set a = 1 where id = @id"));
    }

    #[test]
    fn who_asks_for_the_transaction_gets_one() {
        assert!(!alone("set @x = @@trancount update t set a = @x where id = @id"));
    }
}
