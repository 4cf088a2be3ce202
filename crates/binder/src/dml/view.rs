//! INSERT through a view: finds the table and the columns behind the view; MERGE into a view whose
//! triggers receive the rows.

use std::sync::Arc;

use tsql::ast::{Ident, ObjectName, Quoting};
use types::{DataType, Msg, Result};

use super::target::scan_of;
use super::trigger::Event;
use super::{in_level, instead};
use crate::Binder;
use crate::names::NameLists;
use crate::query::bind_named_source;
use catalog::TableDef;
use plan::expr::{Expr, Register};
use plan::query::TableSource;
use plan::statement::{ViewCheck, table_of};

/// The table and columns behind an INSERT into a view.
pub(crate) struct Through {
    /// The table that receives the rows.
    pub(crate) target: TableSource,
    /// The table's columns that get values, in the order of the INSERT.
    pub(crate) columns: Vec<Ident>,
    /// WITH CHECK OPTION, over the registers of a scan of the table, one per column by ordinal.
    pub(crate) check: Option<RowCheck>,
}

/// Conditions of views, and the registers of the table's columns (by ordinal) that they read.
pub(crate) type RowCheck = (Vec<Expr>, Vec<(usize, Register)>);

/// Returns the check of a row that is written through the source, if a view requires one.
///
/// # Errors
/// 40517 for a view that joins tables.
pub(crate) fn check(
    binder: &Binder<'_>,
    source: usize,
    swaps: Vec<(Register, Register)>,
) -> Result<Option<Box<ViewCheck>>> {
    let Some(view) = &binder.level.sources[source].view else { return Ok(None) };
    if view.joined {
        return Err(Msg::NotSupported("WITH CHECK OPTION of a view that joins tables").into());
    }
    let predicates = view.checks.clone();
    Ok((!predicates.is_empty()).then(|| Box::new(ViewCheck { predicates, swaps })))
}

/// Columns of a view, its conditions for rows, and the registers of its table's columns.
struct Known {
    columns: Vec<Column>,
    check: Option<Box<ViewCheck>>,
    scanned: Vec<(usize, Register)>,
}

/// A column of a view: its name, and the table and ordinal behind it, if there are.
type Column = (String, Option<(TableSource, usize)>);

/// Finds the table that an INSERT of these columns into a view changes.
///
/// # Errors
/// 4405 for columns of several tables, 4406 for a computed column, 207 for an unknown one.
pub(crate) fn through(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    named: &[Ident],
) -> Result<Through> {
    // The statement's permission on the view was checked in `statement.rs`.
    let rights = binder.rights.take();
    let known = in_level(binder, None, |binder| known(binder, name));
    binder.rights = rights;
    let known = known?;
    let columns = &known.columns;
    let wanted: Vec<&Column> = match named {
        [] => columns.iter().filter(|column| takes_value(column)).collect(),
        named => {
            let names = || columns.iter().map(|column| column.0.as_str());
            let lists = NameLists::new(names(), named.len());
            let find = |wanted: &Ident| match &*lists.find(names(), wanted) {
                [] => Err(Msg::InvalidColumn(wanted).into()),
                [place, ..] => Ok(&columns[*place]),
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
    let check = known.check.map(|check| (check.predicates, known.scanned));
    Ok(Through { target: target.clone(), columns: found, check })
}

/// Returns whether a column belongs to an omitted column list: not if the system generates its
/// value.
fn takes_value(column: &Column) -> bool {
    let Some((table, ordinal)) = &column.1 else { return true };
    let base = &table_of(table).columns[*ordinal];
    base.computed.is_none()
        && base.identity.is_none()
        && base.generated.is_none()
        && base.ty.data_type != DataType::RowVersion
}

fn known(binder: &mut Binder<'_>, name: &ObjectName) -> Result<Known> {
    let node = bind_named_source(binder, name, None, &[])?;
    let columns = &binder.level.last().columns;
    let base = |register| {
        let scan = scan_of(&node, register)?;
        let (ordinal, _) = scan.columns.iter().find(|(_, filled)| *filled == register)?;
        Some((scan.table.clone(), usize::from(*ordinal)))
    };
    let first = columns.iter().find_map(|column| scan_of(&node, column.register));
    let scanned = first.map(|scan| scan.columns.iter().map(|c| (usize::from(c.0), c.1)).collect());
    let named = columns.iter().map(|column| (column.name.to_string(), base(column.register)));
    Ok(Known {
        columns: named.collect(),
        check: check(binder, 0, Vec::new())?,
        scanned: scanned.unwrap_or_default(),
    })
}

/// Returns the columns of the MERGE's target view as a table, if the view's triggers receive the
/// rows.
///
/// # Errors
/// 5316 if triggers replace only some of the actions.
pub(crate) fn merge_shape(binder: &Binder<'_>, events: &[Event]) -> Result<Option<Arc<TableDef>>> {
    let Some(view) = &binder.level.sources[0].view else { return Ok(None) };
    let mut shapes = events.iter().filter_map(|event| instead::shape(binder, &view.module, *event));
    let Some(shape) = shapes.next() else { return Ok(None) };
    if shapes.count() + 1 < events.len() {
        return Err(Msg::MergeInsteadSome(&view.module.name).into());
    }
    Ok(Some(shape))
}
