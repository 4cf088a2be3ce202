//! The compatibility views: system tables of SQL Server 2000, with their names and columns.
//!
//! A column that SQL Server documents as internal is NULL.

pub(crate) mod sysaltfiles;
pub(crate) mod syscolumns;
pub(crate) mod syscomments;
pub(crate) mod sysconfigures;
pub(crate) mod sysconstraints;
pub(crate) mod syscurconfigs;
pub(crate) mod sysfiles;
pub(crate) mod sysforeignkeys;
pub(crate) mod sysindexes;
pub(crate) mod sysindexkeys;
pub(crate) mod syslanguages;
pub(crate) mod syslogins;
pub(crate) mod sysmembers;
pub(crate) mod sysmessages;
pub(crate) mod sysperfinfo;
pub(crate) mod sysprocesses;
pub(crate) mod sysprotects;
pub(crate) mod sysreferences;
pub(crate) mod systypes;
pub(crate) mod sysusers;
