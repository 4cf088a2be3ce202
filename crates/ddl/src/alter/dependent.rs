//! What depends on a column: constraints, computed columns and modules prevent its change.

use types::{Msg, Result};

use super::{database_of, say_first};
use ::binder::Binder;
use ::catalog::TableDef;
use ::executor::Cx;
use compile::binding::over_columns;

/// Whether the default of a column prevents a change of the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnDefault {
    /// It does, as the type changes or the column goes.
    Blocks,
    /// It does not: only the length, precision, scale or nullability changes.
    Stays,
}

/// Refuses to change a column that another object depends on.
pub(super) fn check_free(
    table: &TableDef,
    (ordinal, own): (u16, OwnDefault),
    statement: &str,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let column = &table.columns[usize::from(ordinal)];
    let name = column.name.clone();
    let default = match own {
        OwnDefault::Blocks => column.default.as_ref().map(|d| ("object", d.name.clone())),
        OwnDefault::Stays => None,
    };
    let database = cx.session.catalog.database_by_id(table.database_id);
    let place = (table.schema.as_str(), table.name.as_str());
    let bound = database.and_then(|d| crate::rename::bound_module(d, place, Some(&name)));
    let bound = bound.map(|module| ("object", module));
    let dependent = dependent(table, ordinal, cx).or(default).or(bound);
    let Some((kind, object)) = dependent else { return Ok(()) };
    say_first(Msg::ObjectDependsOn(kind, &object, &format!("column '{name}'")).into(), cx)?;
    Err(Msg::ObjectsAccess(statement, &name, "column").into())
}

/// Finds an object that depends on a column: its kind and name.
fn dependent(table: &TableDef, ordinal: u16, cx: &Cx<'_>) -> Option<(&'static str, String)> {
    let statistics = table.statistics.iter().find(|s| s.columns.contains(&ordinal));
    if let Some(statistics) = statistics {
        return Some(("statistics", statistics.name.clone()));
    }
    if table.placements().any(|on| on.column == ordinal) {
        return Some(("object", table.name.clone()));
    }
    let index = table.all_indexes().find(|i| {
        i.keys.iter().any(|(c, _)| *c == ordinal)
            || i.included.contains(&ordinal)
            || i.filter.as_ref().is_some_and(|filter| filter.reads(ordinal))
    });
    if let Some(index) = index {
        return Some((
            if index.constraint.is_some() { "object" } else { "index" },
            index.name.clone(),
        ));
    }
    let mut column_indexes = table.column_index.iter().chain(&table.disabled_columns);
    let column_index = column_indexes.find(|i| i.columns.contains(&ordinal));
    if let Some(index) = column_index {
        return Some(("index", index.name.clone()));
    }
    if table.period_columns().any(|column| column == ordinal) {
        return Some(("period", "SYSTEM_TIME".to_owned()));
    }
    let key = table.foreign_keys.iter().find(|k| k.columns.contains(&ordinal));
    if let Some(key) = key {
        return Some(("object", key.name.clone()));
    }
    let database = cx.session.catalog.database_by_id(table.database_id);
    let referring = database.into_iter().flat_map(|d| d.tables()).find_map(|other| {
        let refers = |k: &&::catalog::ForeignKeyDef| {
            k.referenced == table.id && k.referenced_columns.contains(&ordinal)
        };
        other.foreign_keys.iter().find(refers).map(|k| k.name.clone())
    });
    if let Some(key) = referring {
        return Some(("object", key));
    }
    reader(table, ordinal, cx)
}

/// Finds a constraint or computed column whose expression reads a column.
pub(crate) fn reader(
    table: &TableDef,
    ordinal: u16,
    cx: &Cx<'_>,
) -> Option<(&'static str, String)> {
    let column = &table.columns[usize::from(ordinal)];
    let database = database_of(table, cx);
    let context = compile::binding::bare_context(cx.session, &database);
    let reads = |text: &dyn Fn(&mut Binder<'_>) -> Result<::plan::expr::Expr>| {
        let bound = over_columns(&mut context.binder(), &table.name, &table.columns, text);
        let register = ::plan::expr::Register(u32::from(ordinal));
        bound.is_ok_and(|e| ::plan::walk::reads(&e).contains(register))
    };
    let check = table
        .checks
        .iter()
        .find(|check| reads(&|binder| ::binder::expr::bind_condition(binder, &check.text.tree)));
    if let Some(check) = check {
        return Some(("object", check.name.clone()));
    }
    let computed = table.columns.iter().find(|other| {
        other.name != column.name
            && other
                .computed
                .as_ref()
                .is_some_and(|text| reads(&|binder| ::binder::expr::bind_expr(binder, &text.tree)))
    });
    computed.map(|c| ("column", c.name.clone()))
}
