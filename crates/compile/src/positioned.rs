//! WHERE CURRENT OF: UPDATE and DELETE of the row that a cursor is positioned on.
//!
//! An updatable cursor's query returns, after its own columns, a key for each table of its FROM
//! clause: the columns of a unique index, or the whole row where a table has none. The positioned
//! statement is rewritten to one with a condition on that key.

use tsql::ast::{
    self, ColumnRef, CompareOp, Condition, ConditionKind, Ident, ObjectName, QueryBody, Quoting,
    SelectItem, SelectItemKind, SetItemKind, Span, Statement, StatementKind, TableRef,
    TableRefKind, Target, TargetKind,
};
use types::value::ColumnType;
use types::{DataType, Msg, Result, Value};

use ::binder::Binder;
use ::binder::query::{Resolved, resolve_table};
use ::catalog::TableDef;
use ::catalog::name::Name;
use ::plan::expr::{Expr, ExprKind};
use ::plan::program::{Leaf, LeafAst};
use ::session::cursor::{Cursor, KeyTable};

/// Adds the keys of the tables to a cursor's query; `None` if the query's rows are not rows of
/// tables (GROUP BY, UNION and the like).
pub fn with_keys(query: &Statement, binder: &mut Binder<'_>) -> Option<(Statement, Vec<KeyTable>)> {
    let mut query = query.clone();
    let StatementKind::Select(select) = &mut query.kind else { return None };
    if select.query.for_clause.is_some() {
        return None;
    }
    let QueryBody::Select(spec) = &mut select.query.body else { return None };
    if spec.distinct || spec.group_by.is_some() || spec.having.is_some() || spec.into.is_some() {
        return None;
    }
    let mut tables = Vec::new();
    for source in &spec.from {
        add_tables(source, binder, &mut tables);
    }
    for (name, table) in &tables {
        for (column, _) in &table.columns {
            let span = spec.span;
            let column = Ident::new(column.as_str(), Quoting::Brackets, span);
            let expr = column_of(name, column);
            spec.items.push(SelectItem { kind: SelectItemKind::Expr { expr, alias: None }, span });
        }
    }
    let tables: Vec<KeyTable> = tables.into_iter().map(|(_, table)| table).collect();
    (!tables.is_empty()).then_some((query, tables))
}

fn column_of(table: &ObjectName, column: Ident) -> ast::Expr {
    let span = column.span;
    let column = ColumnRef { column, table: Some(table.clone()) };
    ast::Expr { kind: ast::ExprKind::Column(Box::new(column)), span }
}

fn add_tables(
    source: &TableRef,
    binder: &mut Binder<'_>,
    tables: &mut Vec<(ObjectName, KeyTable)>,
) {
    match &source.kind {
        // Rows of FOR SYSTEM_TIME can't be updated.
        TableRefKind::Table(table) if table.system_time.is_some() => {}
        TableRefKind::Table(table) => {
            let Ok(Resolved::Table(definition)) = resolve_table(binder, &table.name) else {
                return;
            };
            let name = match &table.alias {
                Some(alias) => ObjectName {
                    object: alias.clone(),
                    schema: None,
                    database: None,
                    server: None,
                    span: table.name.span,
                },
                None => table.name.clone(),
            };
            tables.push((name, key_of(&definition)));
        }
        TableRefKind::Joined { first, joins } => {
            add_tables(first, binder, tables);
            joins.iter().for_each(|join| add_tables(&join.right, binder, tables));
        }
        TableRefKind::Variable { .. }
        | TableRefKind::Function(_)
        | TableRefKind::Bulk(_)
        | TableRefKind::Method { .. }
        | TableRefKind::Derived { .. }
        | TableRefKind::Values { .. }
        | TableRefKind::Pivot(_)
        | TableRefKind::Unpivot(_)
        | TableRefKind::Dml { .. } => {}
    }
}

fn key_of(table: &TableDef) -> KeyTable {
    let key = table.indexes.iter().find(|index| index.is_key());
    let named = |ordinal: usize| {
        let column = &table.columns[ordinal];
        (column.name.clone(), column.ty)
    };
    let columns = match key {
        Some(index) => index.keys.iter().map(|(c, _)| named(usize::from(*c))).collect(),
        None => {
            let all = (0..table.columns.len()).map(named);
            all.filter(|(_, ty)| is_comparable(&ty.data_type)).collect()
        }
    };
    KeyTable { id: table.id, columns, unique: key.is_some(), place: 0 }
}

fn is_comparable(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Text | DataType::NText | DataType::Image | DataType::Xml)
}

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

/// Rewrites a positioned statement to a condition on the key of the cursor's row.
///
/// # Errors
/// 16916, 16917, 16929 and 16931 about the cursor, 16933 about the table, 16932 about a column of
/// SET.
pub fn on_key(statement: &Statement, cursor: &Cursor, table: i32) -> Result<Positioned> {
    let (row, tables, updatable) = cursor.current()?;
    let key = tables.iter().find(|key| key.id == table).ok_or(Msg::CursorTableNotIncluded)?;
    let mut statement = statement.clone();
    let (target, filter, top) = match &mut statement.kind {
        StatementKind::Update(update) => {
            check_columns(&update.set, updatable)?;
            (&update.target, &mut update.filter, &mut update.top)
        }
        StatementKind::Delete(delete) => (&delete.target, &mut delete.filter, &mut delete.top),
        _ => return Err(Msg::InternalError.into()),
    };
    let TargetKind::Name(target) = &target.kind else {
        return Err(Msg::CursorTableNotIncluded.into());
    };
    let span = target.span;
    let mut given = Vec::with_capacity(key.columns.len());
    let mut tests = Vec::with_capacity(key.columns.len());
    for (place, (column, ty)) in key.columns.iter().enumerate() {
        let variable = format!("@current of {place}");
        let value = row.get(key.place + place).cloned().unwrap_or(Value::Null);
        tests.push(test(target, column, ty, &variable));
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
