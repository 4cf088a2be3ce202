//! Catalog procedures about databases, their files, users, roles and permissions.

use types::{Error, Language, Msg, Value};

use super::{TextProcedure, run};
use crate::procedure::{SystemProcedure, text};
use ::catalog::PrincipalKind;
use ::catalog::name::Name;
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_helpdb", id: 0, run: help_database },
    SystemProcedure { name: "sp_helpfile", id: 0, run: help_file },
    SystemProcedure { name: "sp_helpfilegroup", id: 0, run: |a, cx| run(&FILEGROUPS, a, cx) },
    SystemProcedure { name: "sp_helplanguage", id: 0, run: help_language },
    SystemProcedure { name: "sp_helprole", id: 0, run: help_role },
    SystemProcedure { name: "sp_helprolemember", id: 0, run: help_role_member },
    SystemProcedure { name: "sp_helprotect", id: 0, run: |a, cx| run(&PERMISSIONS, a, cx) },
    SystemProcedure { name: "sp_helpsrvrole", id: 0, run: |a, cx| run(&SERVER_ROLES, a, cx) },
    SystemProcedure {
        name: "sp_helpsrvrolemember",
        id: 0,
        run: |a, cx| run(&SERVER_MEMBERS, a, cx),
    },
    SystemProcedure { name: "sp_helptrigger", id: 0, run: help_trigger },
    SystemProcedure { name: "sp_helpuser", id: 0, run: help_user },
    SystemProcedure { name: "sp_table_privileges", id: 0, run: |a, cx| run(&PRIVILEGES, a, cx) },
    SystemProcedure { name: "xp_msver", id: 0, run: version },
];

/// Returns the name in an argument; `None` if the procedure is to list all.
fn asked(arguments: &[Argument], parameter: &str, cx: &Cx<'_>) -> types::Result<Option<String>> {
    Ok(text(arguments, 0, parameter, cx)?.filter(|name| !name.is_empty()))
}

fn wrong(number: i32, text: &str) -> Stop {
    Error::custom(number, 16, 1, text).into()
}

fn help_database(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(name) = asked(arguments, "@dbname", cx)? else {
        return run(&DATABASES, arguments, cx);
    };
    if cx.session.catalog.database(&name).is_none() {
        let text = format!(
            "The database '{name}' does not exist. Supply a valid database name. To see available \
             databases, use sys.databases."
        );
        return Err(wrong(15_010, &text));
    }
    run(&DATABASES, arguments, cx)?;
    run(&DATABASE_FILES, arguments, cx)
}

fn help_file(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if let Some(name) = asked(arguments, "@filename", cx)? {
        let database = cx.session.catalog.database(&cx.session.identity.database);
        let is_there = database.is_some_and(|d| d.files.iter().any(|f| Name::same(&f.name, &name)));
        if !is_there {
            let text = format!("The current database does not contain a file named '{name}'.");
            return Err(wrong(15_325, &text));
        }
    }
    run(&FILES, arguments, cx)
}

fn help_language(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if let Some(name) = asked(arguments, "@language", cx)?
        && Language::by_name(&name).is_none()
    {
        let text = format!("'{name}' is not a valid official language name.");
        return Err(wrong(15_033, &text));
    }
    run(&LANGUAGES, arguments, cx)
}

/// Returns true if a name is a role of the current database; `None` if it is no principal.
fn is_role(name: &str, cx: &Cx<'_>) -> Option<bool> {
    let database = cx.session.catalog.database(&cx.session.identity.database)?;
    let principal = database.principals.get(&Name::new(name))?;
    Some(principal.kind == PrincipalKind::DatabaseRole)
}

fn check_role(arguments: &[Argument], cx: &Cx<'_>) -> Result<(), Stop> {
    match asked(arguments, "@rolename", cx)? {
        Some(name) if is_role(&name, cx) != Some(true) => {
            Err(wrong(15_409, &format!("'{name}' is not a role.")))
        }
        _ => Ok(()),
    }
}

fn help_role(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_role(arguments, cx)?;
    run(&ROLES, arguments, cx)
}

fn help_role_member(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    check_role(arguments, cx)?;
    run(&MEMBERS, arguments, cx)
}

fn help_user(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    match asked(arguments, "@name_in_db", cx)? {
        Some(name) if is_role(&name, cx).is_none() => {
            let text = format!("The name supplied ({name}) is not a user, role, or aliased login.");
            Err(wrong(15_198, &text))
        }
        Some(name) if is_role(&name, cx) == Some(true) => run(&USERS_OF_ROLE, arguments, cx),
        _ => run(&USERS, arguments, cx),
    }
}

fn help_trigger(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let name = text(arguments, 0, "@tabname", cx)?.unwrap_or_default();
    super::help::object(&name, cx)?;
    run(&TRIGGERS, arguments, cx)
}

/// The size is NULL: databases are in memory and have no size.
static DATABASES: TextProcedure = TextProcedure {
    name: "sp_helpdb",
    parameters: &[("@dbname", "nvarchar(128)")],
    text: "
SELECT d.name, CAST(NULL AS nvarchar(13)) AS db_size, CAST(SUSER_SNAME(d.owner_sid) AS nvarchar(128)) AS owner,
    CAST(d.database_id AS smallint) AS dbid, CAST(CONVERT(varchar(11), d.create_date) AS nvarchar(11)) AS created,
    CAST('Status=' + d.state_desc + ', Updateability=' + CASE d.is_read_only WHEN 1 THEN 'READ_ONLY' ELSE 'READ_WRITE' END
        + ', UserAccess=' + d.user_access_desc + ', Recovery=' + d.recovery_model_desc
        + ', Collation=' + d.collation_name AS nvarchar(600)) AS status, d.compatibility_level
FROM sys.databases AS d WHERE @dbname IS NULL OR @dbname = N'' OR d.name = @dbname ORDER BY d.name",
};

static DATABASE_FILES: TextProcedure = TextProcedure {
    name: "sp_helpdb",
    parameters: &[("@dbname", "nvarchar(128)")],
    text: "
SELECT f.name, CAST(f.file_id AS smallint) AS fileid, f.physical_name AS filename,
    CAST(CASE f.type WHEN 0 THEN 'PRIMARY' END AS sysname) AS filegroup, CAST('0 KB' AS nvarchar(18)) AS size,
    CAST('Unlimited' AS nvarchar(18)) AS maxsize, CAST('0 KB' AS nvarchar(18)) AS growth,
    CAST(CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS varchar(9)) AS usage
FROM sys.master_files AS f WHERE f.database_id = DB_ID(@dbname) ORDER BY f.file_id",
};

static FILES: TextProcedure = TextProcedure {
    name: "sp_helpfile",
    parameters: &[("@filename", "nvarchar(128)")],
    text: "
SELECT f.name, CAST(f.file_id AS smallint) AS fileid, f.physical_name AS filename, g.name AS filegroup,
    CAST('0 KB' AS nvarchar(15)) AS size, CAST('Unlimited' AS nvarchar(15)) AS maxsize, CAST('0 KB' AS nvarchar(15)) AS growth,
    CAST(CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS varchar(9)) AS usage
FROM sys.database_files AS f LEFT JOIN sys.filegroups AS g ON g.data_space_id = f.data_space_id AND f.type <> 1
WHERE @filename IS NULL OR @filename = N'' OR f.name = @filename ORDER BY f.file_id",
};

static FILEGROUPS: TextProcedure = TextProcedure {
    name: "sp_helpfilegroup",
    parameters: &[("@filegroupname", "nvarchar(128)")],
    text: "
SELECT g.name AS groupname, CAST(g.data_space_id AS smallint) AS groupid,
    (SELECT COUNT(*) FROM sys.database_files AS f WHERE f.data_space_id = g.data_space_id AND f.type <> 1) AS filecount
FROM sys.filegroups AS g WHERE @filegroupname IS NULL OR g.name = @filegroupname ORDER BY g.name",
};

static LANGUAGES: TextProcedure = TextProcedure {
    name: "sp_helplanguage",
    parameters: &[("@language", "nvarchar(128)")],
    text: "
SELECT l.langid, l.dateformat, l.datefirst, l.upgrade, l.name, l.alias, l.months, l.shortmonths, l.days, l.lcid, l.msglangid
FROM sys.syslanguages AS l WHERE @language IS NULL OR @language IN (l.name, l.alias) ORDER BY l.langid",
};

static ROLES: TextProcedure = TextProcedure {
    name: "sp_helprole",
    parameters: &[("@rolename", "nvarchar(128)")],
    text: "
SELECT p.name AS RoleName, CAST(p.principal_id AS smallint) AS RoleId, CAST(0 AS int) AS IsAppRole
FROM sys.database_principals AS p WHERE p.type = 'R' AND (@rolename IS NULL OR p.name = @rolename) ORDER BY p.principal_id",
};

static MEMBERS: TextProcedure = TextProcedure {
    name: "sp_helprolemember",
    parameters: &[("@rolename", "nvarchar(128)")],
    text: "
SELECT r.name AS DbRole, m.name AS MemberName, m.sid AS MemberSID
FROM sys.database_role_members AS x JOIN sys.database_principals AS r ON r.principal_id = x.role_principal_id
    JOIN sys.database_principals AS m ON m.principal_id = x.member_principal_id
WHERE @rolename IS NULL OR r.name = @rolename ORDER BY 1, 2",
};

static SERVER_ROLES: TextProcedure = TextProcedure {
    name: "sp_helpsrvrole",
    parameters: &[("@srvrolename", "nvarchar(128)")],
    text: "
SELECT r.name AS ServerRole, CAST(r.description AS nvarchar(35)) AS Description
FROM (VALUES (N'bulkadmin', N'Bulk Insert Administrators'), (N'dbcreator', N'Database Creators'), (N'diskadmin', N'Disk Administrators'),
    (N'processadmin', N'Process Administrators'), (N'securityadmin', N'Security Administrators'),
    (N'serveradmin', N'Server Administrators'), (N'setupadmin', N'Setup Administrators'),
    (N'sysadmin', N'System Administrators')) AS r (name, description)
WHERE @srvrolename IS NULL OR r.name = @srvrolename ORDER BY r.name",
};

static SERVER_MEMBERS: TextProcedure = TextProcedure {
    name: "sp_helpsrvrolemember",
    parameters: &[("@srvrolename", "nvarchar(128)")],
    text: "
SELECT r.name AS ServerRole, m.name AS MemberName, m.sid AS MemberSID
FROM sys.server_role_members AS x JOIN sys.server_principals AS r ON r.principal_id = x.role_principal_id
    JOIN sys.server_principals AS m ON m.principal_id = x.member_principal_id
WHERE @srvrolename IS NULL OR r.name = @srvrolename ORDER BY 1, 2",
};

/// One row per role of a user; public if the user is in no other.
macro_rules! users {
    ($where:literal) => {
        concat!(
            "
SELECT u.name AS UserName, ISNULL(r.name, N'public') AS RoleName, l.name AS LoginName, l.default_database_name AS DefDBName,
    u.default_schema_name AS DefSchemaName, CAST(u.principal_id AS char(10)) AS UserID, u.sid AS SID
FROM sys.database_principals AS u LEFT JOIN sys.database_role_members AS m ON m.member_principal_id = u.principal_id
    LEFT JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
    LEFT JOIN sys.server_principals AS l ON l.sid = u.sid
WHERE u.type = 'S' AND ",
            $where,
            " ORDER BY 1, 2"
        )
    };
}

static USERS: TextProcedure = TextProcedure {
    name: "sp_helpuser",
    parameters: &[("@name_in_db", "nvarchar(128)")],
    text: users!("(@name_in_db IS NULL OR u.name = @name_in_db)"),
};

static USERS_OF_ROLE: TextProcedure = TextProcedure {
    name: "sp_helpuser",
    parameters: &[("@name_in_db", "nvarchar(128)")],
    text: "
SELECT r.name AS Role_name, CAST(r.principal_id AS char(10)) AS Role_id, u.name AS Users_in_role, CAST(u.principal_id AS char(10)) AS Userid
FROM sys.database_role_members AS m JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id
    JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
WHERE r.name = @name_in_db ORDER BY 1, 3",
};

static PERMISSIONS: TextProcedure = TextProcedure {
    name: "sp_helprotect",
    parameters: &[
        ("@name", "nvarchar(776)"),
        ("@username", "nvarchar(128)"),
        ("@grantorname", "nvarchar(128)"),
        ("@permissionarea", "varchar(10)"),
    ],
    text: "
SELECT CAST(ISNULL(OBJECT_SCHEMA_NAME(p.object_id), N'.') AS nvarchar(128)) AS Owner,
    CAST(ISNULL(OBJECT_NAME(p.object_id), N'.') AS nvarchar(128)) AS Object, USER_NAME(p.grantee_principal_id) AS Grantee,
    USER_NAME(p.grantor_principal_id) AS Grantor, CAST(CASE p.state WHEN 'D' THEN 'Deny' ELSE 'Grant' END AS char(10)) AS ProtectType,
    CAST(CASE p.class WHEN 0 THEN p.permission_name ELSE UPPER(LEFT(p.permission_name, 1)) + LOWER(SUBSTRING(p.permission_name, 2, 60)) END AS nvarchar(60)) AS Action,
    CAST(CASE WHEN p.minor_id > 0 THEN COL_NAME(p.major_id, p.minor_id) WHEN p.class = 1 AND p.permission_name IN ('SELECT', 'UPDATE', 'REFERENCES') THEN '(All+New)' ELSE '.' END AS nvarchar(128)) AS [Column]
FROM (SELECT d.*, CASE d.class WHEN 1 THEN d.major_id END AS object_id FROM sys.database_permissions AS d WHERE d.class IN (0, 1)) AS p
WHERE (@name IS NULL OR p.object_id = OBJECT_ID(@name) OR (p.class = 0 AND p.permission_name = @name))
    AND (@username IS NULL OR p.grantee_principal_id = USER_ID(@username))
    AND (@grantorname IS NULL OR p.grantor_principal_id = USER_ID(@grantorname))
    AND (CHARINDEX('o', ISNULL(@permissionarea, 'o s')) > 0 OR p.class = 0)
    AND (CHARINDEX('s', ISNULL(@permissionarea, 'o s')) > 0 OR p.class = 1)
ORDER BY 1, 2, 3, 4, 5, 6, p.minor_id",
};

static PRIVILEGES: TextProcedure = TextProcedure {
    name: "sp_table_privileges",
    parameters: &[
        ("@table_name", "nvarchar(384)"),
        ("@table_owner", "nvarchar(384)"),
        ("@table_qualifier", "nvarchar(128)"),
        ("@fUsePattern", "bit"),
    ],
    text: "
SELECT DB_NAME() AS TABLE_QUALIFIER, s.name AS TABLE_OWNER, o.name AS TABLE_NAME, CAST('dbo' AS sysname) AS GRANTOR, p.grantee AS GRANTEE,
    CAST(p.privilege AS varchar(32)) AS PRIVILEGE, CAST(p.grantable AS varchar(3)) AS IS_GRANTABLE
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    CROSS APPLY (SELECT CAST('dbo' AS sysname) AS grantee, v.privilege, 'YES' AS grantable
            FROM (VALUES ('DELETE'), ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS v (privilege)
        UNION ALL
        SELECT USER_NAME(d.grantee_principal_id), d.permission_name, 'NO' FROM sys.database_permissions AS d
        WHERE d.class = 1 AND d.major_id = o.object_id AND d.minor_id = 0 AND d.state = 'G'
            AND d.permission_name IN ('DELETE', 'INSERT', 'REFERENCES', 'SELECT', 'UPDATE')) AS p
WHERE o.type IN ('U', 'V') AND (@table_qualifier IS NULL OR @table_qualifier = DB_NAME())
    AND (@table_name IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND o.name LIKE @table_name ESCAPE '\\')
        OR (@fUsePattern = 0 AND o.name = @table_name))
    AND (@table_owner IS NULL OR (ISNULL(@fUsePattern, 1) = 1 AND s.name LIKE @table_owner ESCAPE '\\')
        OR (@fUsePattern = 0 AND s.name = @table_owner))
ORDER BY 1, 2, 3, 5, 6",
};

static TRIGGERS: TextProcedure = TextProcedure {
    name: "sp_helptrigger",
    parameters: &[("@tabname", "nvarchar(776)"), ("@triggertype", "char(6)")],
    text: "
SELECT t.name AS trigger_name, CAST('dbo' AS sysname) AS trigger_owner, x.isupdate, x.isdelete, x.isinsert,
    CAST(1 - t.is_instead_of_trigger AS int) AS isafter, CAST(t.is_instead_of_trigger AS int) AS isinsteadof,
    OBJECT_SCHEMA_NAME(t.object_id) AS trigger_schema
FROM sys.triggers AS t CROSS APPLY (SELECT
        MAX(CASE e.type_desc WHEN 'UPDATE' THEN 1 ELSE 0 END) AS isupdate, MAX(CASE e.type_desc WHEN 'DELETE' THEN 1 ELSE 0 END) AS isdelete,
        MAX(CASE e.type_desc WHEN 'INSERT' THEN 1 ELSE 0 END) AS isinsert
    FROM sys.trigger_events AS e WHERE e.object_id = t.object_id) AS x
WHERE t.parent_id = OBJECT_ID(@tabname)
    AND (@triggertype IS NULL OR (@triggertype = 'UPDATE' AND x.isupdate = 1) OR (@triggertype = 'DELETE' AND x.isdelete = 1)
        OR (@triggertype = 'INSERT' AND x.isinsert = 1))
ORDER BY t.name",
};

/// `xp_msver [@optname]`. The machine's numbers are passed as arguments, since every login may call
/// it.
fn version(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if arguments.len() > 1 {
        return Err(Msg::TooManyArguments("xp_msver").into());
    }
    let number = |name: &str, n: u64| Argument {
        name: name.to_owned(),
        ty: crate::procedure::int_type(),
        value: Value::Int(i32::try_from(n).unwrap_or(i32::MAX)),
        output: false,
        default: false,
        table: None,
        cursor: None,
    };
    let cpus = u64::try_from(sos::sys::topology().cpus).unwrap_or(u64::MAX);
    let mut all = vec![number("@cpus", cpus), number("@mb", sos::sys::total_memory_bytes() >> 20)];
    all.extend(arguments.iter().cloned());
    all.rotate_left(2);
    run(&VERSION, &mut all, cx)
}

/// The entries of SQL Server's xp_msver that apply to this server.
static VERSION: TextProcedure = TextProcedure {
    name: "xp_msver",
    parameters: &[("@optname", "nvarchar(128)"), ("@cpus", "int"), ("@mb", "int")],
    text: "
SELECT CAST(v.place AS smallint) AS [Index], CAST(v.name AS sysname) AS Name, CAST(v.number AS int) AS Internal_Value,
    CAST(v.text AS nvarchar(256)) AS Character_Value
FROM sys.dm_os_host_info AS h CROSS APPLY (VALUES
    (1, N'ProductName', NULL, N'Microsoft SQL Server'),
    (2, N'ProductVersion', CAST(PARSENAME(CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(40)), 4) AS int) * 65536,
        CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(40))),
    (3, N'Language', 1033, N'English (United States)'),
    (4, N'Platform', NULL, h.host_platform + N' (' + ISNULL(h.host_architecture, N'') + N')'),
    (15, N'WindowsVersion', NULL, ISNULL(h.host_release, N'')),
    (16, N'ProcessorCount', @cpus, CAST(@cpus AS nvarchar(20))),
    (19, N'PhysicalMemory', @mb, CAST(@mb AS nvarchar(20)))
) AS v (place, name, number, text)
WHERE @optname IS NULL OR v.name = @optname ORDER BY 1",
};
