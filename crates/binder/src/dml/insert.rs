//! INSERT from VALUES, a query, DEFAULT VALUES, or rows passed by the caller (EXEC, bulk load).

use std::sync::Arc;

use tsql::ast::{self, Ident, ObjectName, Target, TargetKind};
use types::value::ColumnType;
use types::{DataType, Error, Msg, Result, Value};

use super::output::{self, Pseudo};
use super::trigger::{self, Event, Images};
use super::update::percent_of;
use super::{full_name, in_level, instead, row, view};
use crate::Binder;
use crate::expr::{bind_expr, compute_next_values, share_next_values};
use crate::hint::check_target_hints;
use crate::names::NameLists;
use crate::query::{Resolved, bind_query, check_readable, resolve_table, top_of};
use crate::require::require_crossing;
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Node, OutputColumn, Query, TableSource, ValuesScan};
use plan::statement::{Course, Insert, InsertSource, InsertValue, Purpose, ViewCheck, table_of};
use plan::walk;

/// The most rows of VALUES in an INSERT.
const VALUES_ROWS_MAX: usize = 1_000;

/// Binds an INSERT statement.
pub fn bind_insert(binder: &mut Binder<'_>, insert: &ast::Insert) -> Result<Insert> {
    in_level(binder, insert.with.as_ref(), |binder| {
        let Resolution { target, columns, check } = resolve_columns(binder, insert)?;
        let definition = Arc::clone(table_of(&target));
        check_history(binder, &definition)?;
        row::check_indexed(binder, &definition, "INSERT")?;
        let top = insert.top.as_ref().map(|t| top_of(binder, t)).transpose()?;
        let mut bound = match &insert.source {
            ast::InsertSource::Values(rows) if rows.len() == 1 => {
                values_row(binder, target, &columns, &rows[0], insert)?
            }
            ast::InsertSource::Values(rows) if rows.len() > VALUES_ROWS_MAX => {
                return Err(Msg::TooManyRowValues.into());
            }
            ast::InsertSource::Values(rows) => values(binder, target, &columns, rows, insert)?,
            ast::InsertSource::Query(query) => {
                let query = bind_source(binder, query)?;
                from_query(binder, target, &columns, query, insert)?
            }
            ast::InsertSource::DefaultValues => {
                make(binder, target, InsertSource::Default, Vec::new(), Vec::new())?
            }
            ast::InsertSource::Execute(_) | ast::InsertSource::ExecuteString(_) => {
                return Err(Msg::NotSupported("INSERT .. EXEC here").into());
            }
        };
        share_next_values_of(binder, &mut bound);
        bound.top = match top {
            Some(top) if top.percent => {
                limit_source(&mut bound.source, top.count);
                None
            }
            top => top.map(|t| t.count),
        };
        bound.row.views = check.map(|(predicates, scanned)| {
            let swaps = scanned.into_iter();
            let swaps = swaps.map(|(i, register)| (register, bound.first.plus(i))).collect();
            Box::new(ViewCheck { predicates, swaps })
        });
        bound.output = bind_output(binder, &definition, &insert.output, bound.first)?;
        add_triggers(binder, &mut bound)?;
        finish(binder, &mut bound)?;
        Ok(bound)
    })
}

/// Checks that a statement does not insert into a history table, which only the system may.
pub(crate) fn check_history(binder: &Binder<'_>, table: &TableDef) -> Result<()> {
    if table.is_history() {
        return Err(Msg::InsertHistory(&full_name(binder, table)).into());
    }
    Ok(())
}

/// Limits the source to a percentage of its rows.
fn limit_source(source: &mut InsertSource, percent: Expr) {
    let query = match std::mem::replace(source, InsertSource::Default) {
        InsertSource::Query(query) => query,
        InsertSource::Default => Query { root: Node::OneRow, output: Vec::new() },
    };
    let root = percent_of(query.root, percent);
    *source = InsertSource::Query(Query { root, ..query });
}

/// Values and defaults of one row that use NEXT VALUE FOR of the same sequence get the same value.
fn share_next_values_of(binder: &mut Binder<'_>, insert: &mut Insert) {
    let mut values: Vec<&mut Expr> = insert.columns.iter_mut().filter_map(value).collect();
    let shared = share_next_values(binder, &mut values);
    if shared.is_empty() {
        return;
    }
    match &mut insert.source {
        InsertSource::Query(query) => compute_next_values(&mut query.root, shared),
        InsertSource::Default => {
            let mut root = Node::OneRow;
            compute_next_values(&mut root, shared);
            insert.source = InsertSource::Query(Query { root, output: Vec::new() });
        }
    }
}

/// Returns the expression of a column that has a value or a default.
fn value(column: &mut InsertValue) -> Option<&mut Expr> {
    match column {
        InsertValue::Source(value) | InsertValue::Default(Some(value)) => Some(value),
        InsertValue::Default(None)
        | InsertValue::Identity
        | InsertValue::RowVersion
        | InsertValue::Period(_)
        | InsertValue::Computed => None,
    }
}

/// Resolves the target, and the ordinals of the columns that get values; for a view, those of the
/// table behind it.
fn resolve_columns(binder: &mut Binder<'_>, insert: &ast::Insert) -> Result<Resolution> {
    let TargetKind::Name(name) = &insert.target.kind else {
        let target = resolve(binder, &insert.target)?;
        let columns = named_columns(table_of(&target), &insert.columns)?;
        return Ok(Resolution { target, columns, check: None });
    };
    let target = match resolve_table(binder, name)? {
        Resolved::Table(table) => {
            check_readable(&table)?;
            TableSource::Table(table)
        }
        Resolved::System(..) => return Err(Msg::SystemCatalogUpdate.into()),
        Resolved::View(view, _) => 'view: {
            if let Some(shape) = instead::shape(binder, &view, Event::Insert) {
                break 'view TableSource::Table(shape);
            }
            if !insert.output.is_empty() {
                return Err(Msg::NotSupported("OUTPUT of an INSERT into a view").into());
            }
            let through = view::through(binder, name, &insert.columns)?;
            require_crossing(binder, &view, table_of(&through.target), "INSERT")?;
            let columns = named_columns(table_of(&through.target), &through.columns)?;
            return Ok(Resolution { target: through.target, columns, check: through.check });
        }
    };
    // Hints on the target of INSERT do not change the result; others are refused.
    check_target_hints(&insert.target.hints)?;
    let columns = named_columns(table_of(&target), &insert.columns)?;
    Ok(Resolution { target, columns, check: None })
}

/// The resolved target and columns of an INSERT.
struct Resolution {
    /// The table, or the columns of a view whose trigger receives the rows.
    target: TableSource,
    /// Ordinals of the columns that get values.
    columns: Vec<usize>,
    /// WITH CHECK OPTION of the view, if it has one.
    check: Option<view::RowCheck>,
}

/// Adds the table's triggers to the statement; an INSERT counts as naming all columns.
pub(crate) fn add_triggers(binder: &Binder<'_>, insert: &mut Insert) -> Result<()> {
    let first = insert.first;
    let register = |i: usize| first.plus(i);
    let images = Images { inserted: Some(&register), deleted: None };
    let mut output = std::mem::take(&mut insert.output);
    trigger::add(binder, &insert.target, Event::Insert, &images, &|_| true, &mut output)?;
    insert.output = output;
    Ok(())
}

/// Binds the source of INSERT .. SELECT; TOP and ORDER BY belong to the source.
fn bind_source(binder: &mut Binder<'_>, query: &ast::QueryExpression) -> Result<Query> {
    binder.apart(|binder| bind_query(binder, query))
}

/// Whether rows passed by the caller fire triggers: those of a bulk load do not, unless requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triggers {
    /// INSERT triggers fire as usual.
    Fire,
    /// No trigger fires for them.
    Ignore,
}

/// Binds an INSERT of rows of these types that the caller passes: INSERT .. EXEC and bulk load.
///
/// # Errors
/// Errors of names and types.
pub fn bind_insert_rows(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[Ident],
    types: &[ColumnType],
    triggers: Triggers,
) -> Result<Insert> {
    bind_captured_rows(binder, target, columns, types, &[], triggers)
}

/// Like [`bind_insert_rows`], where columns without a type are NULL in every row.
///
/// # Errors
/// Errors of names and types.
pub fn bind_captured_rows(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[Ident],
    types: &[ColumnType],
    untyped: &[bool],
    triggers: Triggers,
) -> Result<Insert> {
    in_level(binder, None, |binder| {
        let mut insert = bind_rows_into(binder, target, columns, types, untyped)?;
        if triggers == Triggers::Fire {
            add_triggers(binder, &mut insert)?;
        }
        finish(binder, &mut insert)?;
        Ok(insert)
    })
}

/// Checks the target of an INSERT .. EXEC and the columns that it names, before the call's columns
/// are known.
///
/// # Errors
/// Errors of names.
pub fn check_target(binder: &mut Binder<'_>, target: &Target, columns: &[Ident]) -> Result<()> {
    let target = resolve(binder, target)?;
    named_columns(table_of(&target), columns).map(drop)
}

/// Like [`bind_insert_rows`], within an existing level: OUTPUT .. INTO.
pub(crate) fn bind_rows_into(
    binder: &mut Binder<'_>,
    target: &Target,
    columns: &[Ident],
    types: &[ColumnType],
    untyped: &[bool],
) -> Result<Insert> {
    crate::require::require_target(binder, target, &[], &["INSERT"])?;
    let target = resolve(binder, target)?;
    let definition = Arc::clone(table_of(&target));
    check_history(binder, &definition)?;
    let columns = named_columns(&definition, columns)?;
    if columns.len() != types.len() {
        return Err(Msg::InsertColumnCount.into());
    }
    let first = binder.new_registers(types.len());
    let registers: Vec<Register> = (0..types.len()).map(|i| first.plus(i)).collect();
    let value = |(i, (r, ty)): (usize, (&Register, &ColumnType))| match untyped.get(i) {
        Some(true) => Expr::constant(Value::Null, DataType::Int),
        Some(false) | None => Expr::new(ExprKind::Column(*r), *ty),
    };
    let values = registers.iter().zip(types).enumerate().map(value).collect();
    let named = assign_named(binder, &definition, &columns, values)?;
    make(binder, target, InsertSource::Default, registers, named)
}

/// Resolves the target of an INSERT to a table.
pub(crate) fn resolve(binder: &mut Binder<'_>, target: &Target) -> Result<TableSource> {
    match &target.kind {
        TargetKind::Variable(variable) => {
            let found = binder.table_variable(&variable.name);
            let (slot, table) = found.ok_or(Msg::MustDeclareTable(&variable.name))?;
            Ok(TableSource::Variable(slot, table))
        }
        TargetKind::Name(name) => {
            // Hints on the target of INSERT do not change the result; others are refused.
            check_target_hints(&target.hints)?;
            resolve_name(binder, name)
        }
        TargetKind::Function(call) => {
            Err(Msg::NotSupported(&format!("{} as a target", call.name)).into())
        }
    }
}

/// Returns whether a name is that of a view or of a common table expression.
pub(crate) fn is_view(binder: &mut Binder<'_>, name: &ObjectName) -> bool {
    let is_cte = |simple: &Ident| binder.ctes.find(simple).is_some();
    name.as_simple().is_some_and(is_cte)
        || matches!(resolve_table(binder, name), Ok(Resolved::View(..)))
}

fn resolve_name(binder: &mut Binder<'_>, name: &ObjectName) -> Result<TableSource> {
    match resolve_table(binder, name)? {
        Resolved::Table(table) if table.external.is_some() => Err(Msg::ExternalDml.into()),
        Resolved::Table(table) => {
            check_readable(&table)?;
            Ok(TableSource::Table(table))
        }
        Resolved::System(..) => Err(Msg::SystemCatalogUpdate.into()),
        Resolved::View(view, _) => match instead::shape(binder, &view, Event::Insert) {
            Some(shape) => Ok(TableSource::Table(shape)),
            None => Err(Msg::NotSupported("INSERT .. EXEC and bulk loads into a view").into()),
        },
    }
}

/// Returns the ordinals that an INSERT names, or of all columns that accept a value.
pub(crate) fn named_columns(table: &TableDef, names: &[Ident]) -> Result<Vec<usize>> {
    if names.is_empty() {
        let takes = |c: &catalog::ColumnDef| {
            c.computed.is_none()
                && c.identity.is_none()
                && !c.hidden
                && c.ty.data_type != DataType::RowVersion
        };
        let all = table.columns.iter().enumerate();
        return Ok(all.filter(|(_, c)| takes(c)).map(|(i, _)| i).collect());
    }
    let defined = || table.columns.iter().map(|column| column.name.as_str());
    let lists = NameLists::new(defined(), names.len());
    let place = |name: &Ident| lists.find(defined(), name).first().copied();
    let unknown = names.iter().filter(|name| place(name).is_none());
    if let Some(error) = Error::all(unknown.map(|name| Msg::InvalidColumn(name).into()).collect()) {
        return Err(error);
    }
    let mut ordinals = Vec::with_capacity(names.len());
    let mut is_named = vec![false; table.columns.len()];
    for name in names {
        let ordinal = place(name).ok_or(Msg::InvalidColumn(name))?;
        let column = &table.columns[ordinal];
        if std::mem::replace(&mut is_named[ordinal], true) {
            return Err(Msg::ColumnSpecifiedTwice(name).into());
        }
        if column.computed.is_some() {
            return Err(Msg::ColumnCannotBeModified(name).into());
        }
        ordinals.push(ordinal);
    }
    Ok(ordinals)
}

/// Converts values to the types of the named columns.
pub(crate) fn assign_named(
    binder: &Binder<'_>,
    table: &TableDef,
    columns: &[usize],
    values: Vec<Expr>,
) -> Result<Vec<(usize, InsertValue)>> {
    let mut named = Vec::with_capacity(columns.len());
    for (&ordinal, value) in columns.iter().zip(values) {
        let column = &table.columns[ordinal];
        if column.ty.data_type == DataType::RowVersion {
            return Err(Msg::CannotInsertTimestamp.into());
        }
        if column.generated.is_some() {
            return Err(Msg::InsertGenerated(&full_name(binder, table)).into());
        }
        named.push((ordinal, InsertValue::Source(row::stored(value, column)?)));
    }
    Ok(named)
}

/// Builds the statement; columns that are not named get their default.
pub(crate) fn make(
    binder: &mut Binder<'_>,
    target: TableSource,
    source: InsertSource,
    source_registers: Vec<Register>,
    named: Vec<(usize, InsertValue)>,
) -> Result<Insert> {
    let definition = Arc::clone(table_of(&target));
    let first = binder.new_registers(definition.columns.len());
    let mut given: Vec<Option<InsertValue>> = definition.columns.iter().map(|_| None).collect();
    for (ordinal, value) in named {
        given[ordinal] = Some(value);
    }
    let mut columns = Vec::with_capacity(given.len());
    for (value, column) in given.into_iter().zip(&definition.columns) {
        columns.push(match value {
            Some(value) => value,
            None => row::unnamed(binder, &definition, column)?,
        });
    }
    let row = row::new_row(binder, &definition, &|i| first.plus(i), &|_| true)?;
    Ok(Insert {
        target,
        columns,
        source,
        source_registers,
        first,
        row,
        top: None,
        output: Vec::new(),
        registers: 0,
        course: Course::General,
        purpose: Purpose::Insert,
    })
}

pub(crate) fn check_count(
    table: &TableDef,
    columns: usize,
    values: usize,
    insert: &ast::Insert,
) -> Result<()> {
    if columns == values {
        return Ok(());
    }
    let from_values = matches!(insert.source, ast::InsertSource::Values(_));
    // Without a list the identity column has no value: one value too many is taken for its.
    let identity = table.columns.iter().any(|column| column.identity.is_some());
    Err(match (insert.columns.is_empty(), from_values, values < columns) {
        (true, ..) if identity && values == columns + 1 => {
            Msg::IdentityNeedsColumnList(&table.name)
        }
        (true, _, _) => Msg::InsertColumnCount,
        (false, true, true) => Msg::InsertMoreColumns,
        (false, true, false) => Msg::InsertFewerColumns,
        (false, false, true) => Msg::InsertSelectFewer,
        (false, false, false) => Msg::InsertSelectMore,
    }
    .into())
}

/// Binds one row of VALUES: its expressions are the columns' values.
fn values_row(
    binder: &mut Binder<'_>,
    target: TableSource,
    columns: &[usize],
    values: &[ast::Expr],
    insert: &ast::Insert,
) -> Result<Insert> {
    check_count(table_of(&target), columns.len(), values.len(), insert)?;
    let definition = Arc::clone(table_of(&target));
    let mut named = Vec::with_capacity(values.len());
    for (&ordinal, value) in columns.iter().zip(values) {
        let column = &definition.columns[ordinal];
        if matches!(value.kind, ast::ExprKind::Default) {
            if column.identity.is_some() {
                return Err(Msg::DefaultForIdentity.into());
            }
            named.push((ordinal, row::unnamed(binder, &definition, column)?));
            continue;
        }
        let value = bind_expr(binder, value)?;
        named.extend(assign_named(binder, &definition, &[ordinal], vec![value])?);
    }
    let query = Query { root: Node::OneRow, output: Vec::new() };
    make(binder, target, InsertSource::Query(query), Vec::new(), named)
}

/// Binds several rows of VALUES: each value is converted to its column's type within its row.
fn values(
    binder: &mut Binder<'_>,
    target: TableSource,
    columns: &[usize],
    rows: &[Vec<ast::Expr>],
    insert: &ast::Insert,
) -> Result<Insert> {
    let definition = Arc::clone(table_of(&target));
    let mut bound = Vec::with_capacity(rows.len());
    for values in rows {
        check_count(&definition, columns.len(), values.len(), insert)?;
        let mut row_values = Vec::with_capacity(values.len());
        for (&ordinal, value) in columns.iter().zip(values) {
            let column = &definition.columns[ordinal];
            row_values.push(match value.kind {
                ast::ExprKind::Default => row::default_value(binder, &definition, column)?,
                _ if column.generated.is_some() => {
                    return Err(Msg::InsertGenerated(&full_name(binder, &definition)).into());
                }
                _ => row::stored(bind_expr(binder, value)?, column)?,
            });
        }
        bound.push(row_values);
    }
    let first = binder.new_registers(columns.len());
    let registers: Vec<Register> = (0..columns.len()).map(|i| first.plus(i)).collect();
    let scan = ValuesScan {
        rows: bound,
        registers: registers.clone(),
        target: Some((Arc::clone(&definition), columns.to_vec())),
    };
    let query = Query { root: Node::Values(Box::new(scan)), output: Vec::new() };
    // For a generated column the rows contain DEFAULT: it is generated as if it were not named.
    let values = columns.iter().zip(&registers);
    let values = values.filter(|(c, _)| definition.columns[**c].generated.is_none());
    let (columns, values): (Vec<usize>, Vec<Expr>) = values
        .map(|(&c, r)| {
            let ty = ColumnType { nullable: true, ..definition.columns[c].ty };
            (c, Expr::new(ExprKind::Column(*r), ty))
        })
        .unzip();
    let named = assign_named(binder, &definition, &columns, values)?;
    make(binder, target, InsertSource::Query(query), Vec::new(), named)
}

fn from_query(
    binder: &mut Binder<'_>,
    target: TableSource,
    columns: &[usize],
    query: Query,
    insert: &ast::Insert,
) -> Result<Insert> {
    check_count(table_of(&target), columns.len(), query.output.len(), insert)?;
    let definition = Arc::clone(table_of(&target));
    let value = |column: &OutputColumn| match column.traits.untyped {
        true => Expr::constant(Value::Null, DataType::Int),
        false => column.expr.clone(),
    };
    let values = query.output.iter().map(value).collect();
    let named = assign_named(binder, &definition, columns, values)?;
    let query = Query { root: query.root, output: Vec::new() };
    make(binder, target, InsertSource::Query(query), Vec::new(), named)
}

pub(crate) fn bind_output(
    binder: &mut Binder<'_>,
    definition: &Arc<TableDef>,
    outputs: &[ast::Output],
    first: Register,
) -> Result<Vec<plan::statement::OutputClause>> {
    let register = |i: usize| first.plus(i);
    let inserted = Pseudo {
        name: "inserted",
        table: definition,
        register: &register,
        optional: false,
        old: None,
    };
    output::bind(binder, outputs, &[inserted], None)
}

/// Removes unread columns from the source, and decides whether the statement is a point statement.
///
/// # Errors
/// 8631 if the source is too deep.
pub(crate) fn finish(binder: &mut Binder<'_>, insert: &mut Insert) -> Result<()> {
    if let InsertSource::Query(query) = &mut insert.source {
        let values = insert.columns.iter_mut().filter_map(|column| match column {
            InsertValue::Source(e) | InsertValue::Default(Some(e)) => Some(e),
            InsertValue::Default(None)
            | InsertValue::Identity
            | InsertValue::RowVersion
            | InsertValue::Period(_)
            | InsertValue::Computed => None,
        });
        optimizer::rows(&mut binder.statement(), &mut query.root, &mut values.collect::<Vec<_>>())?;
    }
    let mut used = walk::Registers::default();
    let mut see = |e: &Expr| {
        if let ExprKind::Column(register) = e.kind {
            used.insert(register);
        }
    };
    let mut subquery = false;
    for column in &insert.columns {
        if let InsertValue::Source(e) | InsertValue::Default(Some(e)) = column {
            walk::visit(e, &mut see);
            subquery |= walk::has_subquery(e);
        }
    }
    for output in &insert.output {
        output.columns.iter().for_each(|c| walk::visit(&c.expr, &mut see));
    }
    if let InsertSource::Query(query) = &mut insert.source {
        super::add_reads(&query.root, &mut used);
        optimizer::prune(&mut query.root, &used);
    }
    let one_row = match &insert.source {
        InsertSource::Query(query) => matches!(query.root, Node::OneRow),
        InsertSource::Default => insert.source_registers.is_empty(),
    };
    let table = matches!(insert.target, TableSource::Table(_));
    let simple = row::is_simple(&insert.row) && !subquery && insert.top.is_none();
    let outputs =
        insert.output.iter().all(|o| matches!(o.target, plan::statement::OutputTarget::Client(_)));
    if one_row && table && simple && outputs && !table_of(&insert.target).has_ignore_dup_key() {
        insert.course = Course::Point;
    }
    insert.registers = binder.registers;
    Ok(())
}
