//! The views of `INFORMATION_SCHEMA`.

pub(super) mod check_constraints;
pub(super) mod columns;
pub(super) mod constraint_column_usage;
pub(super) mod constraint_table_usage;
pub(super) mod domains;
pub(super) mod key_column_usage;
pub(super) mod parameters;
pub(super) mod referential_constraints;
pub(super) mod routines;
pub(super) mod schemata;
pub(super) mod sequences;
pub(super) mod table_constraints;
pub(super) mod tables;
mod usage;
pub(super) mod views;
