//! WHERE CURRENT OF: UPDATE and DELETE of the row that a cursor is positioned on.
//!
//! An updatable cursor's query returns, after its own columns, a key for each table of its FROM
//! clause: the columns of a unique index, or the whole row where a table has none
//! (`cursor.rs`). The positioned statement is rewritten to one with a condition on that key.

use tsql::ast::{
    self, ColumnRef, CompareOp, Condition, ConditionKind, Ident, ObjectName, Quoting, SetItemKind,
    Span, Statement, StatementKind, TableRef, TableRefKind, Target, TargetKind,
};
use types::value::ColumnType;
use types::{Msg, Result, Value};

use ::binder::Binder;
use ::binder::query::{Resolved, resolve_table};
use ::catalog::name::Name;
use ::plan::expr::{Expr, ExprKind};
use ::plan::program::{Leaf, LeafAst};
use ::session::cursor::{Concurrency, Cursor, CursorRow, HiddenColumn, KeyTable};

/// A positioned statement rewritten to a condition on the key, with the values of the key by name.
pub type Positioned = (Statement, Vec<(String, Expr)>);

/// Returns the cursor that a statement's WHERE CURRENT OF names.
pub fn cursor_of(statement: &Statement) -> Option<&ast::CursorRef> {
    let filter = match &statement.kind {
        StatementKind::Update(update) => update.filter.as_ref(),
        StatementKind::Delete(delete) => delete.filter.as_ref(),
        _ => None,
    };
    match &filter?.kind {
        ConditionKind::CurrentOf(cursor) => Some(cursor),
        _ => None,
    }
}

/// Returns true if a leaf is a positioned UPDATE or DELETE.
pub fn is_positioned(leaf: &Leaf) -> bool {
    matches!(&leaf.ast, LeafAst::Statement(statement) if cursor_of(statement).is_some())
}

/// Which rows a positioned statement accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// The row with the cursor's key.
    Key,
    /// That row, if its values are those that were fetched.
    Fetched,
}

/// Rewrites a positioned statement to a condition on the key of a row of the cursor.
///
/// # Errors
/// 16917 and 16929 about the cursor, 16933 about the table, 16932 about a column of SET.
pub fn on_key(
    statement: &Statement,
    cursor: &Cursor,
    row: &CursorRow,
    (table, accepts): (i32, Accepts),
) -> Result<Positioned> {
    let open = cursor.opened()?;
    if cursor.concurrency == Concurrency::ReadOnly || open.tables.is_empty() {
        return Err(Msg::CursorReadOnly.into());
    }
    let key = open.tables.iter().find(|key| key.id == table).ok_or(Msg::CursorTableNotIncluded)?;
    let mut statement = statement.clone();
    let (target, filter, top) = match &mut statement.kind {
        StatementKind::Update(update) => {
            check_columns(&update.set, &cursor.updatable)?;
            (&update.target, &mut update.filter, &mut update.top)
        }
        StatementKind::Delete(delete) => (&delete.target, &mut delete.filter, &mut delete.top),
        _ => return Err(Msg::InternalError.into()),
    };
    if key.unlocked {
        return Err(Msg::CursorNoLock.into());
    }
    let TargetKind::Name(target) = &target.kind else {
        return Err(Msg::CursorTableNotIncluded.into());
    };
    let span = target.span;
    let mut given = Vec::with_capacity(key.key.len());
    let mut tests = Vec::with_capacity(key.key.len());
    let compared = match accepts {
        Accepts::Key => &[],
        Accepts::Fetched => key.checks.as_slice(),
    };
    for place in key.key.iter().chain(compared.iter().filter(|place| !key.key.contains(place))) {
        let HiddenColumn { name, ty } = &open.hidden[*place];
        let variable = format!("@current of {place}");
        let value = row.values.get(open.width() + place).cloned().unwrap_or(Value::Null);
        tests.push(test(target, name, ty, &variable));
        given.push((variable, Expr::new(ExprKind::Constant(value), *ty)));
    }
    if !key.unique {
        let count = ast::ExprKind::Literal(ast::Literal::Int(1));
        let count = ast::Expr { kind: count, span };
        *top = Some(ast::Top { count, percent: false, with_ties: false });
    }
    *filter = Some(match tests.len() {
        1 => tests.remove(0),
        _ => Condition { kind: ConditionKind::And(tests), span },
    });
    Ok((statement, given))
}

/// Returns the places among the hidden columns of the key columns that an UPDATE sets, with the
/// expressions.
pub fn new_key(positioned: &Statement, cursor: &Cursor, table: i32) -> Vec<(usize, ast::Expr)> {
    let StatementKind::Update(update) = &positioned.kind else { return Vec::new() };
    let Some(open) = cursor.open.as_deref() else { return Vec::new() };
    let Some(key) = open.tables.iter().find(|key| key.id == table) else { return Vec::new() };
    let assigned = update.set.iter().filter_map(|item| match &item.kind {
        SetItemKind::Column { column, op: ast::AssignOp::Assign, value } => {
            let is_it = |place: &&usize| Name::same(&open.hidden[**place].name, &column.column);
            key.key.iter().find(is_it).map(|place| (*place, value.clone()))
        }
        _ => None,
    });
    assigned.collect()
}

/// Makes a query for values of the row that a positioned statement changes.
pub fn probe(positioned: &Statement, values: Vec<ast::Expr>) -> Option<Statement> {
    let (target, from, filter) = match &positioned.kind {
        StatementKind::Update(update) => (&update.target, &update.from, &update.filter),
        StatementKind::Delete(delete) => (&delete.target, &delete.from, &delete.filter),
        _ => return None,
    };
    let TargetKind::Name(name) = &target.kind else { return None };
    let span = positioned.span;
    let from = if from.is_empty() { vec![named(name, Vec::new())] } else { from.clone() };
    let item = |expr| {
        let kind = ast::SelectItemKind::Expr { expr, alias: None };
        ast::SelectItem { kind, span }
    };
    let kind = select(values.into_iter().map(item).collect(), from, filter.clone(), span);
    Some(Statement { kind, span, line: positioned.line })
}

/// Makes a query for hidden columns of a row of the cursor, or for a lock on it.
pub fn reread(
    cursor: &Cursor,
    row: &CursorRow,
    (table, lock): (&KeyTable, bool),
    places: &[usize],
) -> Option<Positioned> {
    let open = cursor.open.as_deref()?;
    let span = table.name.span;
    let item = |place: &usize| {
        let column = Ident::new(open.hidden[*place].name.as_str(), Quoting::Brackets, span);
        let kind = ast::SelectItemKind::Expr { expr: column_of(&table.name, column), alias: None };
        ast::SelectItem { kind, span }
    };
    let mut given = Vec::new();
    let mut tests = Vec::new();
    for place in &table.key {
        let HiddenColumn { name, ty } = &open.hidden[*place];
        let variable = format!("@current of {place}");
        let value = row.values.get(open.width() + place).cloned().unwrap_or(Value::Null);
        tests.push(test(&table.name, name, ty, &variable));
        given.push((variable, Expr::new(ExprKind::Constant(value), *ty)));
    }
    let filter = match tests.len() {
        1 => tests.remove(0),
        _ => Condition { kind: ConditionKind::And(tests), span },
    };
    let kind = ast::TableHintKind::Word(ast::TableHintWord::UpdLock);
    let hints = if lock { vec![ast::TableHint { kind, span }] } else { Vec::new() };
    let from = vec![named(&table.name, hints)];
    let kind = select(places.iter().map(item).collect(), from, Some(filter), span);
    let line = cursor.source.query.line;
    Some((Statement { kind, span, line }, given))
}

fn named(name: &ObjectName, hints: Vec<ast::TableHint>) -> TableRef {
    let table = ast::TableSource {
        name: name.clone(),
        alias: None,
        hints,
        system_time: None,
        sample: None,
    };
    TableRef { kind: TableRefKind::Table(Box::new(table)), span: name.span }
}

fn select(
    items: Vec<ast::SelectItem>,
    from: Vec<TableRef>,
    filter: Option<Condition>,
    span: Span,
) -> StatementKind {
    let spec = ast::QuerySpec {
        distinct: false,
        top: None,
        items,
        into: None,
        from,
        filter,
        group_by: None,
        having: None,
        windows: Vec::new(),
        span,
    };
    let query = ast::QueryExpression {
        body: ast::QueryBody::Select(Box::new(spec)),
        order_by: Vec::new(),
        offset: None,
        for_clause: None,
        span,
    };
    StatementKind::Select(Box::new(ast::SelectStatement { with: None, query, options: Vec::new() }))
}

fn column_of(table: &ObjectName, column: Ident) -> ast::Expr {
    let span = column.span;
    let column = ColumnRef { column, table: Some(table.clone()) };
    ast::Expr { kind: ast::ExprKind::Column(Box::new(column)), span }
}

fn test(target: &ObjectName, column: &str, ty: &ColumnType, variable: &str) -> Condition {
    let span: Span = target.span;
    let left = Box::new(column_of(target, Ident::new(column, Quoting::Brackets, span)));
    let value = ast::Variable { name: variable.into(), span };
    let right = Box::new(ast::Expr { kind: ast::ExprKind::Variable(value), span });
    let kind = match ty.nullable {
        true => ConditionKind::IsDistinct { negated: true, left, right },
        false => ConditionKind::Compare { op: CompareOp::Equal, left, right },
    };
    Condition { kind, span }
}

/// Checks the columns of SET against the cursor's FOR UPDATE list, if it has one.
fn check_columns(set: &[ast::SetItem], updatable: &[String]) -> Result<()> {
    let allowed = |name: &Ident| {
        updatable.is_empty() || updatable.iter().any(|column| Name::same(column, name))
    };
    for item in set {
        let column = match &item.kind {
            SetItemKind::Column { column, .. } | SetItemKind::VariableAndColumn { column, .. } => {
                &column.column
            }
            SetItemKind::Write { column, .. } => column,
            SetItemKind::Mutate { column, .. } => &column.column,
            SetItemKind::Variable { .. } => continue,
        };
        if !allowed(column) {
            return Err(Msg::CursorColumnNotInList.into());
        }
    }
    Ok(())
}

/// Finds the table that a positioned statement names, possibly by an alias in its FROM clause.
pub fn table_of(statement: &Statement, binder: &mut Binder<'_>) -> Result<i32> {
    let (target, from): (&Target, &[TableRef]) = match &statement.kind {
        StatementKind::Update(update) => (&update.target, &update.from),
        StatementKind::Delete(delete) => (&delete.target, &delete.from),
        _ => return Err(Msg::InternalError.into()),
    };
    let TargetKind::Name(name) = &target.kind else {
        return Err(Msg::CursorTableNotIncluded.into());
    };
    let aliased = name.as_simple().and_then(|alias| ::binder::require::named(from, alias));
    match resolve_table(binder, aliased.unwrap_or(name))? {
        Resolved::Table(table) => Ok(table.id),
        Resolved::View(..) | Resolved::System(..) => Err(Msg::CursorTableNotIncluded.into()),
    }
}
