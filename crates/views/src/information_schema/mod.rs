//! The views of the schema `INFORMATION_SCHEMA`, one file per view.

pub(crate) mod check_constraints;
pub(crate) mod columns;
pub(crate) mod constraint_column_usage;
pub(crate) mod constraint_table_usage;
pub(crate) mod domains;
pub(crate) mod key_column_usage;
pub(crate) mod parameters;
pub(crate) mod referential_constraints;
pub(crate) mod routines;
pub(crate) mod schemata;
pub(crate) mod sequences;
pub(crate) mod table_constraints;
pub(crate) mod tables;
mod usage;
pub(crate) mod views;
