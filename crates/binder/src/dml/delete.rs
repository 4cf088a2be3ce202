//! DELETE and TRUNCATE TABLE.

use tsql::ast;
use types::{Msg, Result};

use super::output::{self, Pseudo};
use super::trigger::{self, Event, Images};
use super::update::{bind_top, condition, filtered, is_simple_output, output_reads, point_columns};
use super::{add_reads, full_name, in_level, instead, target};
use crate::Binder;
use crate::query::{Resolved, resolve_table};
use catalog::TableDef;
use plan::query::TableSource;
use plan::statement::{Bound, Course, Delete};
use plan::walk::Registers;

/// Binds a DELETE statement.
pub fn bind_delete(binder: &mut Binder<'_>, delete: &ast::Delete) -> Result<Bound> {
    in_level(binder, delete.with.as_ref(), |binder| {
        let bound = target::bind_with_from(binder, &delete.target, &delete.from)?;
        if let Some(shape) = instead::shape_of_target(binder, &bound, Event::Delete) {
            return instead::delete(binder, delete, bound, &shape).map(Bound::Instead);
        }
        let filter = condition(binder, delete.filter.as_ref())?;
        let base = target::base_of(binder, &bound.from, bound.source, None)?;
        target::require_base(binder, bound.source, &base, "DELETE")?;
        if base.definition.is_history() {
            return Err(Msg::DeleteHistory(&full_name(binder, &base.definition)).into());
        }
        super::row::check_indexed(binder, &base.definition, "DELETE")?;
        let mut root = filtered(bound.from, filter);
        let register = |i: usize| base.old.plus(i);
        let deleted = Pseudo {
            name: "deleted",
            table: &base.definition,
            register: &register,
            optional: false,
            old: Some(base.old),
        };
        let mut output = output::bind(binder, &delete.output, &[deleted], None)?;
        let images = Images { inserted: None, deleted: Some(&register) };
        trigger::add(binder, &base.table, Event::Delete, &images, &|_| false, &mut output)?;
        let top = bind_top(binder, delete.top.as_ref(), &mut root)?;
        optimizer::root(&mut binder.statement(), &mut root)?;
        let mut used = Registers::default();
        output_reads(&output, &mut used);
        let of_output = used.clone();
        add_reads(&root, &mut used);
        optimizer::prune(&mut root, &used);
        let point = optimizer::is_point(&root).is_some()
            && top.is_none()
            && !base.definition.referenced
            && !base.definition.is_versioned()
            && is_simple_output(&output);
        let course = if point { Course::Point } else { Course::General };
        let point_columns = point_columns(&root, course, of_output);
        Ok(Bound::Delete(Delete {
            target: base.table,
            root,
            row: base.row,
            output,
            top,
            registers: binder.registers,
            course,
            point_columns,
        }))
    })
}

/// Binds a TRUNCATE TABLE statement: finds the table. Its partitions are the caller's.
pub fn bind_truncate(binder: &mut Binder<'_>, truncate: &ast::Truncate) -> Result<TableSource> {
    let name = truncate.table.to_string();
    let catalog = binder.catalog;
    // `referenced` stays set when a foreign key is dropped, and includes the table's references to
    // itself, which are allowed.
    let is_referenced = |table: &TableDef| {
        let database = catalog.database_by_id(table.database_id);
        table.referenced && database.is_some_and(|d| d.is_referenced_by_others(table.id))
    };
    match resolve_table(binder, &truncate.table) {
        Ok(Resolved::Table(table)) if table.memory_optimized => {
            Err(Msg::NotSupportedWith("statement", "TRUNCATE TABLE", "memory optimized tables")
                .into())
        }
        Ok(Resolved::Table(table)) if table.is_versioned() => {
            Err(Msg::TruncateVersioned(&full_name(binder, &table)).into())
        }
        Ok(Resolved::Table(table)) if table.external.is_some() => Err(Msg::ExternalDml.into()),
        Ok(Resolved::Table(table)) if is_referenced(&table) => {
            Err(Msg::TruncateReferenced(&table.name).into())
        }
        Ok(Resolved::Table(table)) => match table.disabled_clustered() {
            Some(index) => Err(Msg::OperationOnDisabledClustered(&table.name, &index.name).into()),
            None => Ok(TableSource::Table(table)),
        },
        Ok(Resolved::View(..) | Resolved::System(..)) => Err(Msg::TruncateNotTable(&name).into()),
        Err(error) if error.number == 208 => Err(Msg::TruncateNotFound(&name).into()),
        Err(error) => Err(error),
    }
}
