//! Old procedures that create logins, users and members: each runs the statement that its
//! documentation recommends instead.

use super::{TextProcedure, run};
use crate::procedure::SystemProcedure;

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_addlogin", id: 0, run: |a, cx| run(&ADD_LOGIN, a, cx) },
    SystemProcedure { name: "sp_addrole", id: 0, run: |a, cx| run(&ADD_ROLE, a, cx) },
    SystemProcedure { name: "sp_addrolemember", id: 0, run: |a, cx| run(&ADD_MEMBER, a, cx) },
    SystemProcedure {
        name: "sp_addsrvrolemember",
        id: 0,
        run: |a, cx| run(&ADD_SERVER_MEMBER, a, cx),
    },
    SystemProcedure { name: "sp_adduser", id: 0, run: |a, cx| run(&ADD_USER, a, cx) },
    SystemProcedure { name: "sp_changedbowner", id: 0, run: |a, cx| run(&CHANGE_OWNER, a, cx) },
    SystemProcedure { name: "sp_defaultdb", id: 0, run: |a, cx| run(&DEFAULT_DATABASE, a, cx) },
    SystemProcedure {
        name: "sp_defaultlanguage",
        id: 0,
        run: |a, cx| run(&DEFAULT_LANGUAGE, a, cx),
    },
    SystemProcedure { name: "sp_droplogin", id: 0, run: |a, cx| run(&DROP_LOGIN, a, cx) },
    SystemProcedure { name: "sp_droprole", id: 0, run: |a, cx| run(&DROP_ROLE, a, cx) },
    SystemProcedure { name: "sp_droprolemember", id: 0, run: |a, cx| run(&DROP_MEMBER, a, cx) },
    SystemProcedure {
        name: "sp_dropsrvrolemember",
        id: 0,
        run: |a, cx| run(&DROP_SERVER_MEMBER, a, cx),
    },
    SystemProcedure { name: "sp_dropuser", id: 0, run: |a, cx| run(&DROP_USER, a, cx) },
    SystemProcedure { name: "sp_grantdbaccess", id: 0, run: |a, cx| run(&GRANT_ACCESS, a, cx) },
    SystemProcedure { name: "sp_password", id: 0, run: |a, cx| run(&PASSWORD, a, cx) },
    SystemProcedure { name: "sp_revokedbaccess", id: 0, run: |a, cx| run(&REVOKE_ACCESS, a, cx) },
];

static ADD_LOGIN: TextProcedure = TextProcedure {
    name: "sp_addlogin",
    parameters: &[("@loginame", "sysname"), ("@passwd", "sysname"), ("@defdb", "sysname"), ("@deflanguage", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'CREATE LOGIN ' + QUOTENAME(@loginame) + N' WITH PASSWORD = ' + QUOTENAME(ISNULL(@passwd, N''), '''') + N', CHECK_POLICY = OFF' + ISNULL(N', DEFAULT_DATABASE = ' + QUOTENAME(@defdb), N'') + ISNULL(N', DEFAULT_LANGUAGE = ' + QUOTENAME(@deflanguage), N'')
EXEC (@s)",
};

static ADD_ROLE: TextProcedure = TextProcedure {
    name: "sp_addrole",
    parameters: &[("@rolename", "sysname"), ("@ownername", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'CREATE ROLE ' + QUOTENAME(@rolename) + ISNULL(N' AUTHORIZATION ' + QUOTENAME(@ownername), N'')
EXEC (@s)",
};

static ADD_MEMBER: TextProcedure = TextProcedure {
    name: "sp_addrolemember",
    parameters: &[("@rolename", "sysname"), ("@membername", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER ROLE ' + QUOTENAME(@rolename) + N' ADD MEMBER ' + QUOTENAME(@membername)
EXEC (@s)",
};

static DROP_MEMBER: TextProcedure = TextProcedure {
    name: "sp_droprolemember",
    parameters: &[("@rolename", "sysname"), ("@membername", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER ROLE ' + QUOTENAME(@rolename) + N' DROP MEMBER ' + QUOTENAME(@membername)
EXEC (@s)",
};

static ADD_SERVER_MEMBER: TextProcedure = TextProcedure {
    name: "sp_addsrvrolemember",
    parameters: &[("@loginame", "sysname"), ("@rolename", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' ADD MEMBER ' + QUOTENAME(@loginame)
EXEC (@s)",
};

static DROP_SERVER_MEMBER: TextProcedure = TextProcedure {
    name: "sp_dropsrvrolemember",
    parameters: &[("@loginame", "sysname"), ("@rolename", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' DROP MEMBER ' + QUOTENAME(@loginame)
EXEC (@s)",
};

static ADD_USER: TextProcedure = TextProcedure {
    name: "sp_adduser",
    parameters: &[("@loginame", "sysname"), ("@name_in_db", "sysname"), ("@grpname", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'CREATE USER ' + QUOTENAME(ISNULL(@name_in_db, @loginame)) + N' FOR LOGIN ' + QUOTENAME(@loginame) + ISNULL(N'; ALTER ROLE ' + QUOTENAME(@grpname) + N' ADD MEMBER ' + QUOTENAME(ISNULL(@name_in_db, @loginame)), N'')
EXEC (@s)",
};

static GRANT_ACCESS: TextProcedure = TextProcedure {
    name: "sp_grantdbaccess",
    parameters: &[("@loginame", "sysname"), ("@name_in_db", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'CREATE USER ' + QUOTENAME(ISNULL(@name_in_db, @loginame)) + N' FOR LOGIN ' + QUOTENAME(@loginame)
EXEC (@s)",
};

static REVOKE_ACCESS: TextProcedure = TextProcedure {
    name: "sp_revokedbaccess",
    parameters: &[("@name_in_db", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'DROP USER ' + QUOTENAME(@name_in_db)
EXEC (@s)",
};

static DROP_USER: TextProcedure = TextProcedure {
    name: "sp_dropuser",
    parameters: &[("@name_in_db", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'DROP USER ' + QUOTENAME(@name_in_db)
EXEC (@s)",
};

static DROP_ROLE: TextProcedure = TextProcedure {
    name: "sp_droprole",
    parameters: &[("@rolename", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'DROP ROLE ' + QUOTENAME(@rolename)
EXEC (@s)",
};

static DROP_LOGIN: TextProcedure = TextProcedure {
    name: "sp_droplogin",
    parameters: &[("@loginame", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'DROP LOGIN ' + QUOTENAME(@loginame)
EXEC (@s)",
};

static PASSWORD: TextProcedure = TextProcedure {
    name: "sp_password",
    parameters: &[("@old", "sysname"), ("@new", "sysname"), ("@loginame", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(ISNULL(@loginame, SUSER_SNAME())) + N' WITH PASSWORD = ' + QUOTENAME(@new, '''') + ISNULL(N' OLD_PASSWORD = ' + QUOTENAME(@old, ''''), N'')
EXEC (@s)",
};

static DEFAULT_DATABASE: TextProcedure = TextProcedure {
    name: "sp_defaultdb",
    parameters: &[("@loginame", "sysname"), ("@defdb", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(@loginame) + N' WITH DEFAULT_DATABASE = ' + QUOTENAME(@defdb)
EXEC (@s)",
};

static DEFAULT_LANGUAGE: TextProcedure = TextProcedure {
    name: "sp_defaultlanguage",
    parameters: &[("@loginame", "sysname"), ("@language", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(@loginame) + N' WITH DEFAULT_LANGUAGE = ' + QUOTENAME(ISNULL(@language, (SELECT l.name FROM sys.syslanguages AS l JOIN sys.configurations AS c ON c.configuration_id = 124 AND CAST(c.value_in_use AS int) = l.langid)))
EXEC (@s)",
};

static CHANGE_OWNER: TextProcedure = TextProcedure {
    name: "sp_changedbowner",
    parameters: &[("@loginame", "sysname")],
    text: "
DECLARE @s nvarchar(max) = N'ALTER AUTHORIZATION ON DATABASE::' + QUOTENAME(DB_NAME()) + N' TO ' + QUOTENAME(@loginame)
EXEC (@s)",
};
