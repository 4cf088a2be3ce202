//! ALTER TABLE of tables with a period, and the matching change of the history table.

use std::sync::Arc;

use tsql::ast::{
    self, AlterTableAction, ColumnKind, ColumnOption, ConstraintKind, DropElementKind, KeyKind,
    TableElement,
};
use types::{Msg, Result};

use super::super::{refuse, versioning};
use ::binder::dml::Rewrite;
use ::catalog::{ColumnDef, TableDef, Versioning};
use ::executor::Cx;

/// Refuses changes of a history table, and of a table while it is system-versioned.
///
/// # Errors
/// 13548, 13550, 13551, 13558 and 13564 for a history table; 13599 for a column of a period; 13597
/// for a second period; 13704 and 13724 for a system-versioned table.
pub(super) fn check(table: &TableDef, action: &AlterTableAction, cx: &mut Cx<'_>) -> Result<()> {
    if table.is_history() {
        return check_history(table, action, cx);
    }
    let name = cx.qualified(table);
    match action {
        AlterTableAction::AlterColumn(column) => {
            let is_end = |ordinal: u16| {
                ::catalog::name::Name::same(&table.columns[usize::from(ordinal)].name, &column.name)
            };
            if table.period_columns().any(is_end) {
                return Err(Msg::AlterPeriodColumn(&column.name).into());
            }
            Ok(())
        }
        AlterTableAction::Add { elements, .. } => {
            for element in elements {
                match element {
                    TableElement::Period(..) if table.period.is_some() => {
                        return Err(Msg::PeriodExists(&name).into());
                    }
                    TableElement::Column(column) if table.is_versioned() => {
                        check_new_column(table, column, cx)?;
                    }
                    TableElement::Period(..)
                    | TableElement::Column(_)
                    | TableElement::Constraint(_)
                    | TableElement::Index(_) => {}
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_new_column(table: &TableDef, column: &ast::ColumnDefinition, cx: &Cx<'_>) -> Result<()> {
    if matches!(column.kind, ColumnKind::Computed { .. }) {
        return Err(Msg::AddComputedVersioned.into());
    }
    if column.options.iter().any(|option| matches!(option, ColumnOption::Identity(_))) {
        let history = versioning::history_of(table, cx);
        let name = history.map(|history| cx.qualified(&history)).unwrap_or_default();
        return Err(Msg::AddIdentityVersioned(&name).into());
    }
    Ok(())
}

fn check_history(table: &TableDef, action: &AlterTableAction, cx: &mut Cx<'_>) -> Result<()> {
    let name = cx.qualified(table);
    match action {
        AlterTableAction::AlterColumn(column) => {
            Err(Msg::AlterHistoryColumn(&column.name, &name).into())
        }
        AlterTableAction::Drop(elements)
            if elements.iter().any(|element| element.kind == DropElementKind::Column) =>
        {
            Err(Msg::DropHistoryColumn(&name).into())
        }
        AlterTableAction::Add { elements, .. } => {
            elements.iter().try_for_each(|element| check_history_element(&name, element, cx))
        }
        AlterTableAction::Set(_) => Err(Msg::VersioningNotOn(&name).into()),
        _ => Ok(()),
    }
}

fn check_history_element(name: &str, element: &TableElement, cx: &mut Cx<'_>) -> Result<()> {
    let constraint = match element {
        TableElement::Column(_) | TableElement::Period(..) => {
            return Err(Msg::AddHistoryColumn(name).into());
        }
        TableElement::Index(index) if index.unique => {
            return refuse("unique indexes of a history table");
        }
        TableElement::Index(_) => return Ok(()),
        TableElement::Constraint(constraint) => constraint,
    };
    let why = match &constraint.kind {
        ConstraintKind::Key { kind: KeyKind::Primary, .. } => Msg::HistoryPrimaryKey(name),
        ConstraintKind::Check { .. } => Msg::HistoryCheck(name),
        ConstraintKind::Default { .. } => return Ok(()),
        ConstraintKind::Key { .. }
        | ConstraintKind::ForeignKey { .. }
        | ConstraintKind::Connection(_) => {
            return refuse("UNIQUE and FOREIGN KEY constraints of a history table");
        }
    };
    super::say_first(why.into(), cx)?;
    Err(Msg::ConstraintNotCreated.into())
}

/// Checks the rows of a table to which the statement adds a period.
pub(super) fn check_period(before: &TableDef, after: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    if before.period.is_some() || after.period.is_none() {
        return Ok(());
    }
    cx.session.instance.note_periods();
    versioning::check_open(after, cx)
}

/// Returns the history table's definition after a change of its table. Both tables have the same
/// columns at the same ordinals before and after, so `sources` applies to both.
///
/// # Errors
/// 40517 where an index of the history table needs a dropped column.
pub(super) fn follow(
    history: &TableDef,
    after: &TableDef,
    sources: &[Rewrite],
) -> Result<TableDef> {
    let mut next = TableDef::clone(history);
    next.columns = after.columns.iter().map(of_history).collect();
    let place = |old: u16| {
        let at = sources.iter().position(|source| *source == Rewrite::Keep(usize::from(old)));
        at.and_then(|at| u16::try_from(at).ok())
    };
    for index in next.all_indexes_mut() {
        let included = index.included.iter_mut();
        for column in index.keys.iter_mut().map(|(column, _)| column).chain(included) {
            let Some(moved) = place(*column) else {
                return refuse("dropping a column that an index of the history table has");
            };
            *column = moved;
        }
        if index.filter.is_some() {
            return refuse("changing the columns of a table whose history has a filtered index");
        }
    }
    for on in next.placements_mut() {
        let Some(moved) = place(on.column) else {
            return refuse("dropping the partition column of the history table");
        };
        on.column = moved;
    }
    next.statistics.retain_mut(|statistics| {
        let moved = statistics.columns.iter().map(|column| place(*column));
        let moved: Option<Vec<u16>> = moved.collect();
        statistics.columns = moved.unwrap_or_default();
        !statistics.columns.is_empty()
    });
    Ok(next)
}

/// Returns a column as the history table gets it: with its default, until existing rows are filled.
fn of_history(column: &ColumnDef) -> ColumnDef {
    ColumnDef {
        identity: None,
        not_for_replication: false,
        computed: None,
        row_guid: false,
        generated: None,
        hidden: false,
        ..column.clone()
    }
}

/// Replaces the definitions of both tables.
pub(super) fn publish(current: TableDef, mut history: TableDef, cx: &mut Cx<'_>) -> Result<()> {
    history.columns.iter_mut().for_each(|column| column.default = None);
    let versioning = Versioning::Current { history: history.id, rows: Arc::clone(&history.rows) };
    let referenced: Vec<i32> = current.foreign_keys.iter().map(|key| key.referenced).collect();
    let database_id = current.database_id;
    versioning::replace(TableDef { versioning, ..current }, history, cx)?;
    super::table::mark_all_referenced(database_id, &referenced, cx)?;
    cx.session.refresh_catalog();
    Ok(())
}

/// Runs `ALTER COLUMN c ADD | DROP HIDDEN`.
///
/// # Errors
/// 4924 for an unknown column, 40517 for one that is not generated.
pub(super) fn set_hidden(
    table: &TableDef,
    column: &ast::Ident,
    hidden: bool,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let ordinal = super::ordinal_of(table, column, "ALTER TABLE ALTER COLUMN")?;
    let mut next = TableDef::clone(table);
    let changed = &mut next.columns[usize::from(ordinal)];
    if changed.generated.is_none() {
        return refuse("HIDDEN of a column that is not generated");
    }
    changed.hidden = hidden;
    super::publish(next, cx)
}

/// Runs `DROP PERIOD FOR SYSTEM_TIME`: its columns become ordinary ones.
///
/// # Errors
/// 40517 while the table is system-versioned, 4924 if it has no period.
pub(super) fn drop_period(table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    if table.is_versioned() {
        return refuse("DROP PERIOD FOR SYSTEM_TIME while SYSTEM_VERSIONING is ON");
    }
    if table.period.is_none() {
        return Err(Msg::AlterColumnNotFound("DROP PERIOD", "SYSTEM_TIME", &table.name).into());
    }
    let mut next = TableDef::clone(table);
    for column in next.columns.iter_mut().filter(|column| column.generated.is_some()) {
        column.generated = None;
        column.hidden = false;
    }
    next.period = None;
    super::publish(next, cx)
}
