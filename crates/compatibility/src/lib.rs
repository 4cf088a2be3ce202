//! The compatibility views: system tables of SQL Server 2000, with their names and columns.
//!
//! A column that SQL Server documents as internal is NULL. The crate `views` lists them; rows come from
//! `metadata`. Does not know the views of later versions. Start at `sysprocesses.rs`.
#![forbid(unsafe_code)]

mod sysaltfiles;
mod syscolumns;
mod syscomments;
mod sysconfigures;
mod sysconstraints;
mod syscurconfigs;
mod sysfiles;
mod sysforeignkeys;
mod sysindexes;
mod sysindexkeys;
mod syslanguages;
mod syslogins;
mod sysmembers;
mod sysmessages;
mod sysperfinfo;
mod sysprocesses;
mod sysprotects;
mod sysreferences;
mod systypes;
mod sysusers;

use metadata::SystemView;

/// The views of this crate, for the list of all views.
pub static VIEWS: &[&SystemView] = &[
    &syscolumns::VIEW,
    &systypes::VIEW,
    &syscomments::VIEW,
    &sysindexes::VIEW,
    &sysindexkeys::VIEW,
    &sysforeignkeys::VIEW,
    &sysreferences::VIEW,
    &sysconstraints::VIEW,
    &sysusers::VIEW,
    &sysmembers::VIEW,
    &syslogins::VIEW,
    &sysprocesses::VIEW,
    &sysconfigures::VIEW,
    &syscurconfigs::VIEW,
    &sysfiles::VIEW,
    &sysaltfiles::VIEW,
    &sysperfinfo::VIEW,
    &sysprotects::VIEW,
    &sysmessages::VIEW,
    &syslanguages::VIEW,
];
