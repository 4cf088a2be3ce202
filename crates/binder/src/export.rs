//! Binds CREATE EXTERNAL TABLE .. AS SELECT: a query whose rows are written to a file.

use tsql::ast::{self, QueryBody};
use types::{Msg, Result};

use super::Binder;
use super::external;
use super::query::{bind_query, declare_ctes};
use plan::expr::{Expr, ExprKind};
use plan::query::{Node, Query};
use plan::sink::Traits;
use plan::statement::{Bound, Export, SelectInto};

/// Binds the statement.
///
/// # Errors
/// 46501 and 46505 for its options, 262 and 4834 without permission, 46518 for a type that files
/// lack, and errors of the query.
pub(crate) fn bind(binder: &mut Binder<'_>, create: &ast::CreateExternalTable) -> Result<Bound> {
    binder.session_bound = true;
    let Some(select) = &create.query else { return Err(Msg::InternalError.into()) };
    let name = create.name.database.as_deref().unwrap_or(binder.database);
    let database = binder.catalog.database(name).ok_or(Msg::DatabaseNotFound(name))?;
    if let Some(rights) = binder.rights {
        external::check_table_permission(rights, binder.catalog, database)?;
        let schema = create.name.schema.as_deref();
        let schema = schema.unwrap_or_else(|| rights.default_schema(database));
        if let Some(schema) = database.schema(schema)
            && !rights.has_on_schema(database, schema, "ALTER")
        {
            return Err(Msg::SchemaNotFound(&schema.name).into());
        }
    }
    let (place, compression) = external::place(&create.options, database)?;
    let mut query = bind_rows(binder, select)?;
    let columns = columns(create, &query)?;
    compute_output(binder, &mut query);
    optimizer::query(&mut binder.statement(), &mut query)?;
    let export = Some(Box::new(Export { place, compression }));
    let (target, registers) = (create.name.clone(), binder.registers);
    Ok(Bound::SelectInto(SelectInto { query, target, columns, export, registers }))
}

/// Adds an operator that computes the output, so that batches and parallel schedulers compute it.
fn compute_output(binder: &mut Binder<'_>, query: &mut Query) {
    let mut computed = Vec::new();
    for column in &mut query.output {
        if !matches!(column.expr.kind, ExprKind::Column(_)) {
            let register = binder.new_register();
            let ty = column.expr.ty;
            let value =
                std::mem::replace(&mut column.expr, Expr::new(ExprKind::Column(register), ty));
            computed.push((register, value));
        }
    }
    if !computed.is_empty() {
        let root = std::mem::replace(&mut query.root, Node::Empty);
        query.root = Node::Compute(Box::new((root, computed)));
    }
}

fn bind_rows(binder: &mut Binder<'_>, select: &ast::SelectStatement) -> Result<Query> {
    let query = &select.query;
    if query.for_clause.is_some() {
        return Err(Msg::SyntaxNear("FOR").into());
    }
    if let QueryBody::Select(spec) = &query.body
        && spec.into.is_some()
    {
        return Err(Msg::SyntaxNear("INTO").into());
    }
    super::hint::set_hints(binder, &select.options)?;
    let ctes = binder.ctes.len();
    if let Some(with) = &select.with {
        declare_ctes(binder, with)?;
    }
    let bound = bind_query(binder, query);
    binder.ctes.truncate(ctes);
    bound
}

/// Returns the columns of the table: the query's, with the names that the statement lists, if it
/// does.
fn columns(
    create: &ast::CreateExternalTable,
    query: &Query,
) -> Result<Vec<(String, types::value::ColumnType, Traits)>> {
    let listed = &create.columns;
    if listed.iter().any(|column| column.data_type.is_some()) {
        return Err(Msg::ExternalOptions("CREATE EXTERNAL TABLE AS SELECT").into());
    }
    match listed.len() {
        0 => {}
        named if named < query.output.len() => {
            return Err(Msg::MoreColumnsThanList(&create.name.object).into());
        }
        named if named > query.output.len() => {
            return Err(Msg::FewerColumnsThanList(&create.name.object).into());
        }
        _ => {}
    }
    let mut columns = Vec::with_capacity(query.output.len());
    for (i, column) in query.output.iter().enumerate() {
        let name = listed.get(i).map_or(&*column.name, |listed| &listed.name);
        if name.is_empty() {
            return Err(Msg::NameMissing.into());
        }
        let mut ty = column.expr.ty;
        if parquet_io::check_type(name, &ty).is_err() {
            return Err(Msg::ExternalNotSupported("type", &ty.data_type.to_string()).into());
        }
        // Columns of files are nullable, since other programs may write NULL there.
        ty.nullable = true;
        columns.push((name.to_owned(), ty, column.traits.derived()));
    }
    Ok(columns)
}
