//! Permission cases of the cursors of a client's API.

use super::cases::{Case, after, case};

pub(super) static CURSORS: &[Case] = &[
    after(
        &["GRANT SELECT ON t TO {u}"],
        case(
            "sp_cursor",
            "DECLARE @c int; EXEC sp_cursoropen @c OUTPUT, N'SELECT a FROM t'; EXEC sp_cursor @c, 4, 0, N't', N'INSERT t (a) VALUES (1)'",
            &[229],
            &[("GRANT INSERT ON t TO {u}", &[])],
        ),
    ),
    case(
        "sp_cursoropen",
        "DECLARE @c int; EXEC sp_cursoropen @c OUTPUT, N'SELECT a FROM t'",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
    case(
        "sp_cursorprepexec",
        "DECLARE @p int, @c int; EXEC sp_cursorprepexec @p OUTPUT, @c OUTPUT, NULL, N'SELECT a FROM t'",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
];
