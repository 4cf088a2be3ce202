//! The codes that the catalog views use for permissions and their states.

use ::catalog::Permission;
use tsql::permission::PERMISSIONS;

/// Returns the `type` of a permission; `None` for one that SQL Server does not have, or whose code is
/// not documented.
pub fn permission_type(permission: &str) -> Option<&'static str> {
    let found = PERMISSIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(permission));
    found.and_then(|(_, code)| *code)
}

/// Returns whether SQL Server has a permission of this name.
pub fn is_permission(name: &str) -> bool {
    PERMISSIONS.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// Returns `state` and `state_desc` of a permission.
pub fn state(permission: &Permission) -> (&'static str, &'static str) {
    match (permission.granted, permission.with_option) {
        (true, true) => ("W", "GRANT_WITH_GRANT_OPTION"),
        (true, false) => ("G", "GRANT"),
        (false, _) => ("D", "DENY"),
    }
}

/// Returns (`role_principal_id`, `member_principal_id`) of all memberships.
pub fn role_members(database: &catalog::Database) -> Vec<(i32, i32)> {
    let members = database.principals.values();
    members.flat_map(|p| p.member_of.iter().map(|role| (*role, p.id))).collect()
}
