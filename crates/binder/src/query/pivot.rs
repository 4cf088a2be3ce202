//! PIVOT turns values into columns; UNPIVOT turns columns into values.

use smol_str::SmolStr;
use tsql::ast::{self, Ident, TableAlias, TableRef};
use types::value::ColumnType;
use types::{DataType, Length, Mode, Msg, Result, Value};

use super::from::{Lateral, SourceName, add_source, bind_table_ref};
use crate::dml::is_nested;
use crate::expr::{bind_expr, compare, convert_to, is_not_null};
use crate::names::NameSet;
use crate::{Binder, Level, Source, SourceColumn};
use catalog::name::Name;
use plan::expr::{CompareOp, Expr, ExprKind, Register};
use plan::query::{Aggregate, AggregateCall, Node, ValuesScan};
use plan::sink::Traits;
use plan::walk;

/// The source of a PIVOT or UNPIVOT, bound in a separate level.
struct Turned {
    node: Node,
    columns: Vec<SourceColumn>,
}

/// Binds the source and, while its columns are in scope, runs `inner`.
fn with_source<T>(
    binder: &mut Binder<'_>,
    source: &TableRef,
    inner: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<(Turned, T)> {
    if is_nested(source) {
        return Err(Msg::NestedInPivot.into());
    }
    binder.within(Level::default(), |binder| {
        let node = bind_table_ref(binder, source, Lateral::No)?;
        // Columns that are not named are read too, since rows are grouped by them.
        binder.level.sources.iter().try_for_each(Source::check_reads)?;
        let inner = inner(binder)?;
        let sources = std::mem::take(&mut binder.level.sources);
        let columns = sources.into_iter().flat_map(|source| source.columns).collect();
        Ok((Turned { node, columns }, inner))
    })
}

fn alias_of(alias: Option<&TableAlias>) -> Result<&TableAlias> {
    alias.ok_or_else(|| Msg::SyntaxNear(")").into())
}

fn column_expr(column: &ast::ColumnName) -> ast::Expr {
    let span = column.column.span;
    ast::Expr { kind: ast::ExprKind::Column(Box::new(column.clone())), span }
}

/// Binds PIVOT: groups by the columns that are not named, with one aggregate for each value.
pub(crate) fn bind_pivot(binder: &mut Binder<'_>, pivot: &ast::Pivot) -> Result<Node> {
    let alias = alias_of(pivot.alias.as_ref())?;
    let call = &pivot.aggregate;
    let name = call.name.object.to_ascii_uppercase();
    let function = functions::find_aggregate(&name).filter(|_| call.name.as_simple().is_some());
    let Some(function) = function else {
        return Err(Msg::NotRecognized(&call.name.object, "aggregate function").into());
    };
    let (turned, (key, arguments, ty)) = with_source(binder, &pivot.source, |binder| {
        let key = bind_expr(binder, &column_expr(&pivot.column))?;
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            if matches!(argument.kind, ast::ExprKind::Star) {
                return Err(Msg::SyntaxNear("*").into());
            }
            arguments.push(bind_expr(binder, argument)?);
        }
        let ty = (function.bind)(&mut arguments)?;
        Ok((key, arguments, ty))
    })?;
    let mut used = walk::reads(&key);
    arguments.iter().for_each(|argument| used.extend(&walk::reads(argument)));
    let mut columns: Vec<SourceColumn> =
        turned.columns.into_iter().filter(|c| !used.contains(c.register)).collect();
    let keys: Vec<(Expr, Register)> = columns
        .iter()
        .map(|c| (Expr::new(ExprKind::Column(c.register), c.ty), c.register))
        .collect();
    let mut aggregates = Vec::with_capacity(pivot.values.len());
    let names: Vec<SmolStr> = columns.iter().map(|column| column.name.clone()).collect();
    let mut seen = NameSet::of(names.iter().map(SmolStr::as_str));
    for value in &pivot.values {
        if !seen.insert(value) {
            return Err(Msg::PivotColumnConflict(value, "PIVOT", "PIVOT").into());
        }
        let register = binder.new_register();
        aggregates.push(AggregateCall {
            function,
            arguments: arguments.clone(),
            distinct: call.distinct,
            order: Vec::new(),
            filter: Some(is_value(&key, value)?),
            ty,
            register,
        });
        columns.push(new_column(value, ty, register));
    }
    let all = (0..keys.len()).filter_map(|k| u16::try_from(k).ok()).collect();
    let scalar = keys.is_empty();
    let node = Node::Aggregate(Box::new(Aggregate {
        input: turned.node,
        keys,
        sets: vec![all],
        scalar,
        aggregates,
        grouping_id: None,
    }));
    add_turned(binder, alias, columns)?;
    Ok(node)
}

/// Returns `column = value`, where the value is written as a name.
fn is_value(key: &Expr, value: &Ident) -> Result<Expr> {
    let text = Value::nvarchar(value);
    let units = u16::try_from(value.encode_utf16().count()).unwrap_or(4_000);
    let mut literal = Expr::constant(text, DataType::NVarChar(Length::Limited(units.max(1))));
    literal.ty.collation = key.ty.collation;
    let to = ColumnType { nullable: true, ..key.ty };
    compare(CompareOp::Equal, key.clone(), convert_to(literal, &to, Mode::Explicit)?)
}

fn new_column(name: &str, ty: ColumnType, register: Register) -> SourceColumn {
    SourceColumn {
        name: name.to_owned().into(),
        ty,
        register,
        used: false,
        traits: Traits::default(),
    }
}

fn add_turned(
    binder: &mut Binder<'_>,
    alias: &TableAlias,
    mut columns: Vec<SourceColumn>,
) -> Result<()> {
    for (column, name) in columns.iter_mut().zip(&alias.columns) {
        column.name = name.to_string().into();
    }
    add_source(binder, SourceName { alias: &alias.name, schema: None }, columns, None)
}

/// Binds UNPIVOT: returns one row for each listed column that is not NULL.
pub(crate) fn bind_unpivot(binder: &mut Binder<'_>, unpivot: &ast::Unpivot) -> Result<Node> {
    let alias = alias_of(unpivot.alias.as_ref())?;
    let (turned, values) = with_source(binder, &unpivot.source, |binder| {
        let columns = unpivot.columns.iter();
        columns.map(|column| bind_expr(binder, &column_expr(column))).collect::<Result<Vec<_>>>()
    })?;
    let Some(first) = values.first() else { return Err(Msg::SyntaxNear(")").into()) };
    let ty = ColumnType { nullable: false, ..first.ty };
    let name_ty = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(128)),
        collation: binder.database_collation(),
        nullable: false,
    };
    let mut used = walk::Registers::default();
    let mut rows = Vec::with_capacity(values.len());
    for (value, column) in values.into_iter().zip(&unpivot.columns) {
        let same = value.ty.data_type == ty.data_type
            && (!ty.data_type.is_string() || value.ty.collation == ty.collation);
        if !same {
            return Err(Msg::UnpivotType(&column.column).into());
        }
        used.extend(&walk::reads(&value));
        let name = Expr::new(ExprKind::Constant(Value::nvarchar(&column.column)), name_ty);
        rows.push(vec![value, name]);
    }
    let mut columns: Vec<SourceColumn> =
        turned.columns.into_iter().filter(|c| !used.contains(c.register)).collect();
    for name in [&unpivot.value, &unpivot.name] {
        if columns.iter().any(|c| Name::same(&c.name, name)) {
            return Err(Msg::PivotColumnConflict(name, "UNPIVOT", "UNPIVOT").into());
        }
    }
    let (value, name) = (binder.new_register(), binder.new_register());
    columns.push(new_column(&unpivot.value, ty, value));
    columns.push(new_column(&unpivot.name, name_ty, name));
    let values =
        Node::Values(Box::new(ValuesScan { rows, registers: vec![value, name], target: None }));
    let there = is_not_null(Expr::new(ExprKind::Column(value), ty));
    let right = Node::Filter(Box::new((values, there)));
    add_turned(binder, alias, columns)?;
    Ok(optimizer::inner_join(turned.node, right))
}
