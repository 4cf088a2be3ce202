//! The codes that the catalog views use for permissions and their states.

use ::catalog::Permission;

/// Returns the `type` of a permission; `None` for a permission that SQL Server does not have.
pub fn permission_type(permission: &str) -> Option<&'static str> {
    let found = TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(permission));
    found.map(|(_, code)| *code)
}

/// Returns `state` and `state_desc` of a permission.
pub fn state(permission: &Permission) -> (&'static str, &'static str) {
    match (permission.granted, permission.with_option) {
        (true, true) => ("W", "GRANT_WITH_GRANT_OPTION"),
        (true, false) => ("G", "GRANT"),
        (false, _) => ("D", "DENY"),
    }
}

const TYPES: &[(&str, &str)] = &[
    ("ADMINISTER BULK OPERATIONS", "ADBO"),
    ("ADMINISTER DATABASE BULK OPERATIONS", "DABO"),
    ("ALTER", "AL"),
    ("ALTER ANY CONNECTION", "ALCO"),
    ("ALTER ANY DATABASE", "ALDB"),
    ("ALTER ANY DATASPACE", "ALDS"),
    ("ALTER ANY EVENT SESSION", "AAES"),
    ("ALTER ANY EXTERNAL DATA SOURCE", "AEDS"),
    ("ALTER ANY EXTERNAL FILE FORMAT", "AEFF"),
    ("ALTER ANY LOGIN", "ALLG"),
    ("ALTER ANY ROLE", "ALRL"),
    ("ALTER ANY SCHEMA", "ALSM"),
    ("ALTER ANY USER", "ALUS"),
    ("ALTER RESOURCES", "ALRS"),
    ("ALTER SERVER STATE", "ALSS"),
    ("ALTER SETTINGS", "ALST"),
    ("ALTER TRACE", "ALTR"),
    ("AUTHENTICATE", "AUTH"),
    ("BACKUP DATABASE", "BADB"),
    ("BACKUP LOG", "BALO"),
    ("CHECKPOINT", "CP"),
    ("CONNECT", "CO"),
    ("CONNECT ANY DATABASE", "CADB"),
    ("CONNECT SQL", "COSQ"),
    ("CONTROL", "CL"),
    ("CONTROL SERVER", "CL"),
    ("CREATE ANY DATABASE", "CRDB"),
    ("CREATE DATABASE", "CRDB"),
    ("CREATE DEFAULT", "CRDF"),
    ("CREATE FUNCTION", "CRFN"),
    ("CREATE PROCEDURE", "CRPR"),
    ("CREATE ROLE", "CRRL"),
    ("CREATE RULE", "CRRU"),
    ("CREATE SCHEMA", "CRSM"),
    ("CREATE SEQUENCE", "CRSO"),
    ("CREATE SYNONYM", "CRSN"),
    ("CREATE TABLE", "CRTB"),
    ("CREATE TYPE", "CRTY"),
    ("CREATE VIEW", "CRVW"),
    ("DELETE", "DL"),
    ("EXECUTE", "EX"),
    ("IMPERSONATE", "IM"),
    ("INSERT", "IN"),
    ("REFERENCES", "RF"),
    ("SELECT", "SL"),
    ("SHOWPLAN", "SPLN"),
    ("SHUTDOWN", "SHDN"),
    ("TAKE OWNERSHIP", "TO"),
    ("UNMASK", "UMSK"),
    ("UPDATE", "UP"),
    ("VIEW ANY DATABASE", "VWDB"),
    ("VIEW ANY DEFINITION", "VWAD"),
    ("VIEW CHANGE TRACKING", "VWCT"),
    ("VIEW DATABASE STATE", "VWDS"),
    ("VIEW DEFINITION", "VW"),
    ("VIEW SERVER STATE", "VWSS"),
];

/// Returns (`role_principal_id`, `member_principal_id`) of all memberships.
pub fn role_members(database: &catalog::Database) -> Vec<(i32, i32)> {
    let members = database.principals.values();
    members.flat_map(|p| p.member_of.iter().map(|role| (*role, p.id))).collect()
}
