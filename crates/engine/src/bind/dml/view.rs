//! INSERT through a view: the table behind it, and which of its columns the view's columns are.

use tsql::ast::{Ident, ObjectName, Quoting};
use types::{DataType, Msg, Result};

use super::in_level;
use super::target::scan_of;
use crate::bind::Binder;
use crate::bind::query::bind_named_source;
use crate::catalog::name::Name;
use crate::plan::query::TableSource;
use crate::plan::statement::table_of;

/// What an INSERT into a view is an INSERT into.
pub(super) struct Through {
    /// The table.
    pub(super) target: TableSource,
    /// The table's columns that get values, in the order of the INSERT.
    pub(super) columns: Vec<Ident>,
}

/// A column of a view: its name, and the table and ordinal that it is, if it is one.
type Column = (String, Option<(TableSource, usize)>);

/// Finds the table that an INSERT of these columns into a view changes.
///
/// # Errors
/// 4405 where the columns are of several tables, 4406 where one is no table's, 207 for an unknown one.
pub(super) fn through(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    named: &[Ident],
) -> Result<Through> {
    let columns = in_level(binder, None, |binder| columns_of(binder, name))?;
    let wanted: Vec<&Column> = match named {
        [] => columns.iter().filter(|column| takes_value(column)).collect(),
        named => {
            let find = |wanted: &Ident| {
                let found = columns.iter().find(|column| Name::same(&column.0, wanted));
                found.ok_or_else(|| Msg::InvalidColumn(wanted).into())
            };
            named.iter().map(find).collect::<Result<_>>()?
        }
    };
    let view = name.object.as_str();
    let mut target: Option<&TableSource> = None;
    let mut found = Vec::with_capacity(wanted.len());
    for (_, column) in wanted {
        let Some((table, ordinal)) = column else { return Err(Msg::ViewDerivedField(view).into()) };
        if target.is_some_and(|other| table_of(other).id != table_of(table).id) {
            return Err(Msg::ViewMultipleTables(view).into());
        }
        target = Some(table);
        let base = &table_of(table).columns[*ordinal];
        found.push(Ident::new(base.name.as_str(), Quoting::Brackets, name.span));
    }
    let target = target.ok_or(Msg::ViewMultipleTables(view))?;
    Ok(Through { target: target.clone(), columns: found })
}

/// A list that is not written leaves out what the system makes.
fn takes_value(column: &Column) -> bool {
    let Some((table, ordinal)) = &column.1 else { return true };
    let base = &table_of(table).columns[*ordinal];
    base.computed.is_none() && base.identity.is_none() && base.ty.data_type != DataType::RowVersion
}

fn columns_of(binder: &mut Binder<'_>, name: &ObjectName) -> Result<Vec<Column>> {
    let node = bind_named_source(binder, name, None, &[])?;
    let source = binder.levels.last().and_then(|level| level.sources.last());
    let columns = source.map(|source| &source.columns[..]).unwrap_or_default();
    let base = |register| {
        let scan = scan_of(&node, register)?;
        let (ordinal, _) = scan.columns.iter().find(|(_, filled)| *filled == register)?;
        Some((scan.table.clone(), usize::from(*ordinal)))
    };
    Ok(columns.iter().map(|column| (column.name.clone(), base(column.register))).collect())
}
