//! Statements for ALTER TABLE: an INSERT that fills the rebuilt table, and a scan that checks
//! constraints over existing rows.
//!
//! Also for partitions: SWITCH as an INSERT and a DELETE of the same rows, and the DELETE of TRUNCATE
//! TABLE .. WITH (PARTITIONS ..). They fire no triggers and check no constraints: ALTER TABLE .. SWITCH
//! has proven that they hold.

use std::sync::Arc;

use types::{DataType, Result, Value};

use super::insert::{finish, make};
use super::target::base_of;
use super::update::filtered;
use super::{add_reads, in_level, row};
use crate::Binder;
use crate::expr::{partition_number, predicate};
use crate::query::{SourceName, add_table_source};
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{Node, Query, ScanHints, TableSource};
use plan::statement::{Course, Delete, Insert, InsertSource, InsertValue, Purpose, Validation};
use plan::walk::Registers;

/// The source of a column of the rebuilt table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// A column of the old table, by ordinal.
    Keep(usize),
    /// The value that an INSERT without the column would give it.
    Default,
    /// NULL, unless the system generates the value (computed, identity, rowversion).
    NullUnlessMade,
}

/// Binds the INSERT that fills `after` from the rows of `before`. Old constraints are not checked
/// again; new ones are checked if `validate` says so.
pub fn bind_rewrite(
    binder: &mut Binder<'_>,
    before: &Arc<TableDef>,
    after: &Arc<TableDef>,
    sources: &[Rewrite],
    validate: bool,
) -> Result<Insert> {
    bind_copy(binder, (before, after), sources, validate, |_, node, _| Ok(node))
}

/// As [`bind_rewrite`], of the rows that `of` makes from all rows of the first table and their
/// registers.
fn bind_copy(
    binder: &mut Binder<'_>,
    (before, after): (&Arc<TableDef>, &Arc<TableDef>),
    sources: &[Rewrite],
    validate: bool,
    of: impl FnOnce(&mut Binder<'_>, Node, &[Register]) -> Result<Node>,
) -> Result<Insert> {
    in_level(binder, None, |binder| {
        let (node, registers) = scan(binder, before)?;
        let node = of(binder, node, &registers)?;
        let mut named = Vec::with_capacity(sources.len());
        for (ordinal, (source, column)) in sources.iter().zip(&after.columns).enumerate() {
            let made = column.computed.is_some()
                || column.identity.is_some()
                || column.ty.data_type == DataType::RowVersion;
            let value = match source {
                Rewrite::Keep(_) if column.computed.is_some() => continue,
                Rewrite::Keep(old) => {
                    let ty = before.columns[*old].ty;
                    Expr::new(ExprKind::Column(registers[*old]), ty)
                }
                // A column that becomes generated has its default in existing rows.
                Rewrite::Default if column.generated.is_some() && column.default.is_some() => {
                    row::default_value(binder, after, column)?
                }
                Rewrite::Default => continue,
                Rewrite::NullUnlessMade if made => continue,
                Rewrite::NullUnlessMade => Expr::new(ExprKind::Constant(Value::Null), column.ty),
            };
            let value = super::row::stored(value, column)?;
            named.push((ordinal, InsertValue::Source(value)));
        }
        let source = InsertSource::Query(Query { root: node, output: Vec::new() });
        let target = TableSource::Table(Arc::clone(after));
        let mut insert = make(binder, target, source, Vec::new(), named)?;
        let is_new = |name: &str| validate && !before.constraint_names().any(|n| n == name);
        insert.row.checks.retain(|(name, _)| is_new(name));
        insert.row.foreign.retain(|lookup| is_new(&lookup.constraint));
        insert.purpose = Purpose::Rebuild;
        finish(binder, &mut insert)?;
        Ok(insert)
    })
}

/// Binds a scan of all rows of a table, with the registers of its columns.
fn scan(binder: &mut Binder<'_>, table: &Arc<TableDef>) -> Result<(Node, Vec<Register>)> {
    let name = SourceName { alias: &table.name, schema: None };
    let source = TableSource::Table(Arc::clone(table));
    let node = add_table_source(binder, source, name, ScanHints::default())?;
    Ok((node, binder.level.last().columns.iter().map(|c| c.register).collect()))
}

/// Binds a check of all rows against the constraints with these names.
pub fn bind_validation(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    names: &[&str],
) -> Result<Validation> {
    in_level(binder, None, |binder| {
        let (root, registers) = scan(binder, table)?;
        let mut enabled = TableDef::clone(table);
        enabled.checks.iter_mut().for_each(|c| c.enabled = true);
        enabled.foreign_keys.iter_mut().for_each(|k| k.enabled = true);
        let enabled = Arc::new(enabled);
        let mut row = row::new_row(binder, &enabled, &|i| registers[i], &|_| true)?;
        row.computed.clear();
        row.checks.retain(|(name, _)| names.contains(&name.as_str()));
        row.foreign.retain(|lookup| names.contains(&lookup.constraint.as_str()));
        Ok(Validation { table: Arc::clone(table), root, row, registers: binder.registers })
    })
}

/// Some partitions of a table.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// `database_id` of the partition function.
    pub database: i16,
    /// `function_id` of the partition function.
    pub function: i32,
    /// Ordinal of the partition column.
    pub column: usize,
    /// Numbers of the partitions.
    pub numbers: Vec<i32>,
}

impl Partitions {
    /// Returns the condition that a row is in one of the partitions.
    fn condition(
        &self,
        binder: &Binder<'_>,
        table: &TableDef,
        registers: &[Register],
    ) -> Result<Expr> {
        let column = ExprKind::Column(registers[self.column]);
        let value = Expr::new(column, table.columns[self.column].ty);
        let number = partition_number(binder, (self.database, self.function), value)?;
        let of = |number: &i32| Expr::constant(Value::Int(*number), DataType::Int);
        let numbers: Vec<Expr> = self.numbers.iter().map(of).collect();
        let collation = number.ty.collation;
        Ok(predicate(ExprKind::InList(collation, Box::new(number), numbers.into())))
    }
}

/// Binds the INSERT of a table's rows, or of those of some partitions, into a table with the same
/// columns.
///
/// # Errors
/// The errors of the tables' computed columns.
pub fn bind_move(
    binder: &mut Binder<'_>,
    source: &Arc<TableDef>,
    target: &Arc<TableDef>,
    only: Option<&Partitions>,
) -> Result<Insert> {
    let columns: Vec<Rewrite> = (0..source.columns.len()).map(Rewrite::Keep).collect();
    bind_copy(binder, (source, target), &columns, false, |binder, node, registers| {
        let filter = only.map(|only| only.condition(binder, source, registers)).transpose()?;
        Ok(filtered(node, filter))
    })
}

/// Binds the DELETE of a table's rows, or of those of some partitions.
///
/// # Errors
/// As [`bind_move`].
pub fn bind_removal(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    only: Option<&Partitions>,
) -> Result<Delete> {
    in_level(binder, None, |binder| {
        let (node, registers) = scan(binder, table)?;
        let filter = only.map(|only| only.condition(binder, table, &registers)).transpose()?;
        let base = base_of(binder, &node, 0, None)?;
        let mut root = filtered(node, filter);
        optimizer::root(&mut binder.statement(), &mut root)?;
        let mut used = Registers::default();
        add_reads(&root, &mut used);
        optimizer::prune(&mut root, &used);
        Ok(Delete {
            target: base.table,
            root,
            row: base.row,
            output: Vec::new(),
            top: None,
            registers: binder.registers,
            course: Course::General,
            point_columns: Vec::new(),
        })
    })
}

/// Binds the rows of a table, or of some of its partitions; also returns the size of the register
/// file.
///
/// # Errors
/// As [`bind_move`].
pub fn bind_rows_of(
    binder: &mut Binder<'_>,
    table: &Arc<TableDef>,
    only: Option<&Partitions>,
) -> Result<(Node, u32)> {
    in_level(binder, None, |binder| {
        let (node, registers) = scan(binder, table)?;
        let filter = only.map(|only| only.condition(binder, table, &registers)).transpose()?;
        let mut root = filtered(node, filter);
        optimizer::root(&mut binder.statement(), &mut root)?;
        Ok((root, binder.registers))
    })
}
