//! The system procedure that a statement names, for those who describe the statement and do not run it. The
//! list of procedures has them all, so they ask the library of the instance and not the list.

use catalog::name::Name;
use session::SessionState;
use tsql::ast::ObjectName;

/// Returns the name of the system procedure that is called as `sp_x`, `sys.sp_x`, `master..sp_x` or
/// `dbo.sp_x`; `None` if there is none.
pub(crate) fn system_procedure(
    session: &SessionState,
    called: &ObjectName,
) -> Option<&'static str> {
    if !is_of_system(called) {
        return None;
    }
    let mut names = session.instance.library.procedures().map(|(_, name)| name);
    names.find(|name| Name::same(name, &called.object))
}

/// Returns whether a name may be that of a system procedure.
pub(crate) fn is_of_system(name: &ObjectName) -> bool {
    let schema = name.schema.as_deref().unwrap_or("sys");
    schema.is_empty() || Name::same(schema, "sys") || Name::same(schema, "dbo")
}
