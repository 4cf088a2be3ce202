//! sp_helplogins: the logins, and their users in the databases.

use types::Msg;

use super::{TextProcedure, run};
use crate::procedure::{SystemProcedure, text};
use ::catalog::name::Name;
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(super) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_helplogins", id: 0, run: help_logins }];

/// `sp_helplogins [@LoginNamePattern]`: in spite of its name, the argument is a login's name.
///
/// # Errors
/// 15007 if there is no such login, 15247 if the caller is not in securityadmin.
fn help_logins(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let (rights, catalog) = (&cx.session.identity.rights, &cx.session.catalog);
    if !rights.is_in_server_role(catalog, "securityadmin") {
        return Err(Msg::NoPermissionForAction.into());
    }
    if let Some(name) = text(arguments, 0, "@LoginNamePattern", cx)? {
        let mut logins = cx.session.catalog.logins.values();
        if !logins.any(|login| Name::same(&login.name, &name)) {
            return Err(Msg::InvalidLogin(&name).into());
        }
    }
    run(&LOGINS, arguments, cx)
}

/// One query per database, combined: views of another database are read by their full name.
static LOGINS: TextProcedure = TextProcedure {
    name: "sp_helplogins",
    parameters: &[("@LoginNamePattern", "sysname")],
    text: "
DECLARE @mapped nvarchar(max), @text nvarchar(max)
SELECT @mapped = STRING_AGG(REPLACE(REPLACE(CAST(N'
SELECT l.name AS LoginName, CAST(%s AS sysname) AS DBName, u.name AS UserName, CAST(''User'' AS char(8)) AS UserOrAlias
FROM sys.server_principals AS l JOIN %d.sys.database_principals AS u ON u.sid = l.sid WHERE l.type = ''S''
UNION ALL
SELECT l.name, CAST(%s AS sysname), r.name, CAST(''MemberOf'' AS char(8))
FROM sys.server_principals AS l JOIN %d.sys.database_principals AS u ON u.sid = l.sid
    JOIN %d.sys.database_role_members AS m ON m.member_principal_id = u.principal_id
    JOIN %d.sys.database_principals AS r ON r.principal_id = m.role_principal_id WHERE l.type = ''S''' AS nvarchar(max)),
    N'%s', N'N' + QUOTENAME(d.name, '''')), N'%d', QUOTENAME(d.name)), N' UNION ALL ')
FROM sys.databases AS d WHERE HAS_DBACCESS(d.name) = 1
SET @text = N'
SELECT l.name AS LoginName, l.sid AS SID, l.default_database_name AS DefDBName, l.default_language_name AS DefLangName,
    CAST(CASE WHEN l.name IN (SELECT m.LoginName FROM (' + @mapped + N') AS m) THEN ''yes'' ELSE ''NO'' END AS char(5)) AS AUser,
    CAST(''no'' AS char(7)) AS ARemote
FROM sys.server_principals AS l WHERE l.type = ''S'' AND (@login IS NULL OR l.name = @login) ORDER BY 1
SELECT m.LoginName, m.DBName, m.UserName, m.UserOrAlias FROM (' + @mapped + N') AS m
WHERE @login IS NULL OR m.LoginName = @login ORDER BY 1, 2, 4 DESC, 3'
EXEC sp_executesql @text, N'@login sysname', @LoginNamePattern",
};
