//! Statements for partitions: SWITCH as an INSERT and a DELETE of the same rows, the DELETE of
//! TRUNCATE TABLE .. WITH (PARTITIONS ..), and the rows of a partition.
//!
//! None of them fires triggers or checks constraints: ALTER TABLE .. SWITCH has proven that they
//! hold.

use std::sync::Arc;

use types::{DataType, Result, Value};

use super::rewrite::{Rewrite, bind_copy, scan};
use super::target::base_of;
use super::update::filtered;
use super::{add_reads, in_level};
use crate::Binder;
use crate::expr::condition::predicate;
use crate::expr::partition;
use catalog::TableDef;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::Node;
use plan::statement::{Course, Delete, Insert};
use plan::walk::Registers;

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
        let number = partition::of_value(binder, (self.database, self.function), value)?;
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
