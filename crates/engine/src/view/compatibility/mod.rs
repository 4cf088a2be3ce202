//! The compatibility views: system tables of SQL Server 2000 by their names and columns.
//!
//! A column that SQL Server documents as internal is NULL.

pub(super) mod sysaltfiles;
pub(super) mod syscolumns;
pub(super) mod syscomments;
pub(super) mod sysconfigures;
pub(super) mod sysconstraints;
pub(super) mod syscurconfigs;
pub(super) mod sysfiles;
pub(super) mod sysforeignkeys;
pub(super) mod sysindexes;
pub(super) mod sysindexkeys;
pub(super) mod syslanguages;
pub(super) mod syslogins;
pub(super) mod sysmembers;
pub(super) mod sysmessages;
pub(super) mod sysperfinfo;
pub(super) mod sysprocesses;
pub(super) mod sysprotects;
pub(super) mod sysreferences;
pub(super) mod systypes;
pub(super) mod sysusers;
