//! The views of `INFORMATION_SCHEMA`.

pub(super) mod columns;
pub(super) mod key_column_usage;
pub(super) mod parameters;
pub(super) mod referential_constraints;
pub(super) mod routines;
pub(super) mod schemata;
pub(super) mod table_constraints;
pub(super) mod tables;
pub(super) mod views;
