//! The table that a statement changes: named directly, by an alias of FROM, or behind a view or
//! CTE.

use std::sync::Arc;

use tsql::ast::{self, ObjectName, TableRef, Target, TargetKind};
use types::{Msg, Result};

use super::nested::is_nested;
use crate::hint::check_target_hints;
use crate::query::{
    Resolved, SourceName, add_table_source, bind_from, bind_named_source, guard_target, scan_hints,
};
use crate::{Binder, Source};
use catalog::name::Name;
use catalog::security::Securable;
use catalog::{DBO_SCHEMA, TableDef};
use optimizer::inner_join;
use plan::children;
use plan::expr::Register;
use plan::query::{Node, Scan, ScanHints, TableSource, Whole};
use plan::statement::table_of;

/// A bound target with the rows that the statement applies to.
pub(crate) struct Bound {
    /// The FROM clause, including the target.
    pub from: Node,
    /// Index of the target among the level's sources.
    pub source: usize,
}

/// The table behind a target.
#[derive(Clone)]
pub(crate) struct Base {
    /// The table, or the table variable.
    pub table: TableSource,
    /// Definition of that table.
    pub definition: Arc<TableDef>,
    /// Row number of the table's scan.
    pub row: u32,
    /// First register of its columns.
    pub old: Register,
}

/// Binds the target of UPDATE or DELETE with the FROM clause, in the innermost level.
pub(crate) fn bind_with_from(
    binder: &mut Binder<'_>,
    target: &Target,
    from: &[TableRef],
) -> Result<Bound> {
    check_target_hints(&target.hints)?;
    let hints = scan_hints(&target.hints);
    if from.is_empty() {
        let node = add_target(binder, target, hints)?;
        return Ok(Bound { from: with_hints(node, hints, &binder.level.sources, 0), source: 0 });
    }
    if from.iter().any(is_nested) {
        return Err(Msg::NestedInFrom.into());
    }
    let node = bind_from(binder, from)?;
    let sources = &binder.level.sources;
    if let Some(source) = find(binder, target)? {
        return Ok(Bound { from: with_hints(node, hints, sources, source), source });
    }
    let source = sources.len();
    let added = add_target(binder, target, hints)?;
    let added = with_hints(added, hints, &binder.level.sources, source);
    Ok(Bound { from: inner_join(node, added), source })
}

/// Adds the target as a source if FROM does not contain it.
pub(crate) fn add_target(
    binder: &mut Binder<'_>,
    target: &Target,
    hints: ScanHints,
) -> Result<Node> {
    match &target.kind {
        TargetKind::Variable(variable) => {
            let (slot, definition) = binder
                .table_variable(&variable.name)
                .ok_or(Msg::MustDeclareTable(&variable.name))?;
            let name = SourceName { alias: &variable.name, schema: None };
            add_table_source(binder, TableSource::Variable(slot, definition), name, hints)
        }
        TargetKind::Name(name) => {
            let is_cte = |simple: &ast::Ident| binder.ctes.find(simple).is_some();
            if name.as_simple().is_some_and(is_cte) {
                return bind_named_source(binder, name, None, &target.hints);
            }
            // The statement's permission was checked in `statement.rs`.
            let rights = binder.rights.take();
            let node = bind_named_source(binder, name, None, &target.hints);
            binder.rights = rights;
            if node.is_ok() {
                guard_target(binder, name);
            }
            node
        }
        TargetKind::Function(call) => {
            Err(Msg::NotSupported(&format!("{} as a target", call.name)).into())
        }
    }
}

/// Finds the source that the target names: by alias first, then by the table's name.
fn find(binder: &Binder<'_>, target: &Target) -> Result<Option<usize>> {
    let sources = &binder.level.sources;
    let name = match &target.kind {
        TargetKind::Variable(variable) => {
            return Ok(sources.iter().position(|s| Name::same(&s.alias, &variable.name)));
        }
        TargetKind::Name(name) => name,
        TargetKind::Function(_) => return Ok(None),
    };
    if let Some(alias) = name.as_simple()
        && let Some(place) = sources.iter().position(|s| Name::same(&s.alias, alias))
    {
        return Ok(Some(place));
    }
    let database = binder.catalog.database(name.database.as_deref().unwrap_or(binder.database));
    let schema = database.map_or(DBO_SCHEMA, |database| binder.schema_of(database, name));
    let mut found = sources.iter().enumerate().filter(|(_, s)| is_table(s, name, schema));
    let first = found.next().map(|(i, _)| i);
    if found.next().is_some() {
        return Err(Msg::AmbiguousTable(&name.to_string()).into());
    }
    Ok(first)
}

fn is_table(source: &Source, name: &ObjectName, schema: &str) -> bool {
    let (own, own_schema) = match (&source.table, &source.view) {
        (Some(table), _) => (&table.name, &table.schema),
        (None, Some(view)) => (&view.module.name, &view.module.schema),
        (None, None) => return false,
    };
    Name::same(own, &name.object) && (name.is_temporary() || Name::same(own_schema, schema))
}

/// Adds the target's hints to its scan, and marks the scan as the target.
pub(crate) fn with_hints(
    mut node: Node,
    hints: ScanHints,
    sources: &[Source],
    source: usize,
) -> Node {
    let mut registers = sources[source].columns.iter().map(|c| c.register);
    let named = registers.find(|r| scan_of(&node, *r).is_some());
    let only = || Some(only_scan(&node, sources)?.columns.first()?.1);
    let Some(register) = named.or_else(only) else { return node };
    change_scan(&mut node, register, false, &mut |scan, picked| {
        scan.hints.target = true;
        scan.hints.picked = picked;
        scan.hints.exclusive |= hints.exclusive;
        scan.hints.alone |= hints.alone;
        if hints.whole != Whole::No {
            scan.hints.whole = hints.whole;
        }
        scan.hints.read_past |= hints.read_past;
        scan.hints.no_wait |= hints.no_wait;
        scan.hints.serializable |= hints.serializable;
        scan.hints.repeatable_read |= hints.repeatable_read;
        scan.hints.snapshot |= hints.snapshot;
        scan.hints.read_committed |= hints.read_committed;
        scan.hints.committed_lock |= hints.committed_lock;
    });
    node
}

/// Finds the table whose scan fills the register of the source's column `column`.
///
/// # Errors
/// 4406 for a column that is computed, 4405 if there is no single table behind the source.
pub(crate) fn base_of(
    binder: &Binder<'_>,
    node: &Node,
    source: usize,
    column: Option<usize>,
) -> Result<Base> {
    let source = &binder.level.sources[source];
    let registers: Vec<Register> = match column {
        Some(column) => vec![source.columns[column].register],
        None => source.columns.iter().map(|c| c.register).collect(),
    };
    let mut found: Option<Base> = None;
    for register in registers {
        let Some(scan) = scan_of(node, register) else {
            if column.is_some() {
                return Err(Msg::ViewDerivedField(&source.alias).into());
            }
            continue;
        };
        if found.as_ref().is_some_and(|f| f.row != scan.row) {
            return Err(Msg::ViewMultipleTables(&source.alias).into());
        }
        // The first column may be computed when read, and so be missing from the scan.
        let Some(&(ordinal, first)) = scan.columns.first() else { continue };
        found = Some(base_behind(scan, ordinal, first));
    }
    if found.is_none()
        && column.is_none()
        && let Some(scan) = only_scan(node, &binder.level.sources)
        && let Some(&(ordinal, first)) = scan.columns.first()
    {
        return Ok(base_behind(scan, ordinal, first));
    }
    found.ok_or_else(|| Msg::ViewMultipleTables(&source.alias).into())
}

fn base_behind(scan: &Scan, ordinal: u16, first: Register) -> Base {
    Base {
        table: scan.table.clone(),
        definition: Arc::clone(table_of(&scan.table)),
        row: scan.row,
        old: Register(first.0 - u32::from(ordinal)),
    }
}

/// Returns the scan behind the only source, whose columns may all be computed: rows that
/// `ROW_NUMBER()` numbers are deleted by their number.
fn only_scan<'n>(node: &'n Node, sources: &[Source]) -> Option<&'n Scan> {
    match node {
        _ if sources.len() != 1 => None,
        Node::Scan(scan) => Some(scan),
        _ => only_scan(children::passed(node)?, sources),
    }
}

/// Checks the permission for changing the table behind a CTE or derived table, which was not
/// checked by name.
///
/// # Errors
/// 229 if it is missing.
pub(crate) fn require_base(
    binder: &Binder<'_>,
    source: usize,
    base: &Base,
    permission: &str,
) -> Result<()> {
    if let Some(view) = &binder.level.sources[source].view {
        return crate::require::require_crossing(
            binder,
            &view.module,
            &base.definition,
            permission,
        );
    }
    if !is_query(binder, source) {
        return Ok(());
    }
    crate::require::require(binder, &Resolved::Table(Arc::clone(&base.definition)), permission)
}

/// Like [`require_base`], for changing these columns.
///
/// # Errors
/// 229, or 230 for a column.
pub(crate) fn require_columns(
    binder: &Binder<'_>,
    source: usize,
    base: &Base,
    named: &dyn Fn(usize) -> bool,
) -> Result<()> {
    require_base(binder, source, base, "UPDATE")?;
    let table = &base.definition;
    if !is_query(binder, source) || table.name.starts_with('#') {
        return Ok(());
    }
    let object = Securable::table(table);
    let columns = table.columns.len();
    let Some(guard) = crate::require::guard(binder, table.database_id, &object, columns) else {
        return Ok(());
    };
    let mut changed = table.columns.iter().enumerate().filter(|(place, _)| named(*place));
    changed.try_for_each(|(place, column)| guard.check_change(place, &column.name))
}

/// Returns whether a source of the innermost level is a query instead of a table, view or table
/// variable.
fn is_query(binder: &Binder<'_>, source: usize) -> bool {
    let source = &binder.level.sources[source];
    source.table.is_none() && source.view.is_none()
}

/// Finds the scan that fills this register and can be changed through the operators above it.
pub(crate) fn scan_of(node: &Node, register: Register) -> Option<&Scan> {
    match node {
        Node::Scan(scan) => fills(scan, register).then_some(scan),
        Node::Join(join) => {
            scan_of(&join.left, register).or_else(|| scan_of(&join.right, register))
        }
        _ => scan_of(children::passed(node)?, register),
    }
}

/// Calls `change` with the scan that fills a register, and with whether TOP or a window function
/// picks among its rows.
fn change_scan(
    node: &mut Node,
    register: Register,
    picked: bool,
    change: &mut dyn FnMut(&mut Scan, bool),
) {
    let picked = picked || matches!(node, Node::Limit(_) | Node::Window(_));
    match node {
        Node::Scan(scan) if fills(scan, register) => change(scan, picked),
        _ => children::inputs_mut(node, &mut |input| change_scan(input, register, picked, change)),
    }
}

fn fills(scan: &Scan, register: Register) -> bool {
    scan.columns.iter().any(|column| column.1 == register)
}
