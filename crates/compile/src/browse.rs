//! FOR BROWSE and SET NO_BROWSETABLE ON: a query returns, behind its own columns, the key of each
//! table and its rowversion column, so that a client can change the rows.
//!
//! Clients ask for it to learn keys: .NET's `CommandBehavior.KeyInfo`, on which its command builders
//! rest. A query that groups, unites or removes duplicates is left as it is.

use tsql::ast::{ForMode, QueryBody, SelectStatement, Statement, StatementKind};
use types::{DataType, Result};

use crate::cursor::{Found, FromTable, hidden_item, key_index, origins};
use ::binder::{Binder, new_shape};
use ::plan::sink::BrowseColumn;
use ::plan::statement::{Bound, Browse};
use ::session::cursor::ColumnOrigin;

/// Number of the error of a column beside an aggregate.
const NOT_GROUPED: i32 = 8120;

/// A query without its FOR BROWSE, and what is added to its columns.
pub(crate) struct Browsed {
    query: Statement,
    /// The same without the added columns.
    plain: Statement,
    tables: Vec<Vec<String>>,
    origins: Vec<ColumnOrigin>,
    /// Number of columns at the end that the client has not asked for.
    hidden: usize,
}

/// Returns the query of a SELECT in browse mode; `None` for any other statement.
pub(crate) fn of(statement: &Statement, binder: &mut Binder<'_>) -> Option<Browsed> {
    let StatementKind::Select(select) = &statement.kind else { return None };
    match &select.query.for_clause {
        Some(clause) if clause.mode == ForMode::Browse => {}
        None if binder.meaning.browses() => {}
        _ => return None,
    }
    let mut query = statement.clone();
    let StatementKind::Select(select) = &mut query.kind else { return None };
    select.query.for_clause = None;
    let plain = query.clone();
    let StatementKind::Select(select) = &mut query.kind else { return None };
    let (tables, origins, hidden) = add_keys(select, binder).unwrap_or_default();
    Some(Browsed { query, plain, tables, origins, hidden })
}

/// Adds the keys that the client has not asked for. `None` if rows of the result are not rows of
/// tables.
fn add_keys(
    select: &mut SelectStatement,
    binder: &mut Binder<'_>,
) -> Option<(Vec<Vec<String>>, Vec<ColumnOrigin>, usize)> {
    let QueryBody::Select(spec) = &mut select.query.body else { return None };
    if spec.distinct || spec.group_by.is_some() || spec.having.is_some() || spec.into.is_some() {
        return None;
    }
    let mut found = Found { with: select.with.as_ref(), tables: Vec::new(), plain: true };
    spec.from.iter().for_each(|source| found.source(source, binder));
    let Found { tables, plain, .. } = found;
    if tables.is_empty() {
        return None;
    }
    let mut origins = origins(&spec.items, &tables, plain)?;
    let asked = origins.len();
    for (place, table) in tables.iter().enumerate() {
        for (ordinal, key) in wanted(table) {
            let column = &table.definition.columns[ordinal];
            let column_id = i32::try_from(ordinal).unwrap_or(i32::MAX).saturating_add(1);
            let number = place + 1;
            let is_it = |o: &ColumnOrigin| o.table == number && o.column_id == column_id;
            if origins[..asked].iter().any(is_it) {
                continue;
            }
            let hidden = origins.len() - asked;
            spec.items.push(hidden_item(&table.called, &column.name, hidden, spec.span));
            origins.push(ColumnOrigin { table: number, name: column.name.clone(), column_id, key });
        }
    }
    let hidden = origins.len() - asked;
    Some((tables.iter().map(parts).collect(), origins, hidden))
}

/// Returns the ordinals of a table's key and its rowversion column, and whether each is in the key.
fn wanted(table: &FromTable) -> Vec<(usize, bool)> {
    let definition = &*table.definition;
    let Some(index) = key_index(definition) else { return Vec::new() };
    let mut all: Vec<(usize, bool)> =
        index.keys.iter().map(|(ordinal, _)| (usize::from(*ordinal), true)).collect();
    let is_version = |c: &::catalog::ColumnDef| c.ty.data_type == DataType::RowVersion;
    if let Some(version) = definition.columns.iter().position(is_version)
        && all.iter().all(|(ordinal, _)| *ordinal != version)
    {
        all.push((version, false));
    }
    all
}

/// Returns a table as the parts of its name, as written.
fn parts(table: &FromTable) -> Vec<String> {
    let name = &table.name;
    let qualifiers = [&name.server, &name.database, &name.schema].into_iter();
    let given = qualifiers.skip_while(|part| part.is_none());
    let given = given.map(|part| part.as_deref().unwrap_or_default().to_owned());
    given.chain([name.object.to_string()]).collect()
}

/// Binds the query.
///
/// # Errors
/// Those of the query.
pub(crate) fn bind(browsed: Browsed, binder: &mut Binder<'_>) -> Result<Bound> {
    let Browsed { query, plain, tables, origins, hidden } = browsed;
    let mut bound = match ::binder::bind_statement(binder, &query) {
        // An aggregate without GROUP BY: no row of a table is behind the result.
        Err(error) if hidden > 0 && error.number == NOT_GROUPED => {
            return ::binder::bind_statement(binder, &plain);
        }
        other => other?,
    };
    if let Bound::Select(select) = &mut bound
        && select.query.output.len() == origins.len()
    {
        let asked = origins.len() - hidden;
        for (column, origin) in select.query.output[asked..].iter_mut().zip(&origins[asked..]) {
            column.name = origin.name.as_str().into();
        }
        select.shape = new_shape(&select.query.output);
        let columns = origins.into_iter().zip(&select.query.output).enumerate();
        let columns = columns.map(|(place, (origin, column))| BrowseColumn {
            table: origin.table,
            name: (origin.table != 0 && *origin.name != *column.name).then_some(origin.name),
            is_key: origin.key,
            is_hidden: place >= asked,
        });
        select.browse = Some(Box::new(Browse { tables, columns: columns.collect() }));
    }
    Ok(bound)
}
