//! The cases of the permission tests: for each line of the page a text, its errors without
//! permission, and the grants that allow it.
//!
//! `{d}` is the case's database, `{u}` its user. After a grant: the errors that remain.

/// A case of one line.
pub(super) struct Case {
    /// Line of the page that it proves.
    pub(super) line: &'static str,
    /// Statements that sa runs first, in the case's database.
    pub(super) prepare: &'static [&'static str],
    /// Text that is tested.
    pub(super) text: &'static str,
    /// Errors of the text without permissions.
    pub(super) refused: &'static [i32],
    /// Statements that sa runs next, and the errors after each.
    pub(super) grants: &'static [(&'static str, &'static [i32])],
}

pub(super) const fn case(
    line: &'static str,
    text: &'static str,
    refused: &'static [i32],
    grants: &'static [(&'static str, &'static [i32])],
) -> Case {
    Case { line, prepare: &[], text, refused, grants }
}

pub(super) const fn after(prepare: &'static [&'static str], case: Case) -> Case {
    Case { prepare, ..case }
}

/// A procedure about another login, which ALTER ANY LOGIN allows.
const fn of_login(line: &'static str, text: &'static str) -> Case {
    let prepare = &["CREATE LOGIN some_{d} WITH PASSWORD = 'Secret-1'"];
    after(prepare, case(line, text, &[15151], &[(LOGINS, &[])]))
}

const IN_DBO: &str = "GRANT ALTER ON SCHEMA::dbo TO {u}";
pub(super) const INSERT_T: &str = "USE {d}; GRANT INSERT ON t TO {u}";
pub(super) const ALTER_T: &str = "GRANT ALTER ON t TO {u}";
pub(super) const FILES: &str = "USE master; GRANT ADMINISTER BULK OPERATIONS TO {u}";
const LOGINS: &str = "USE master; GRANT ALTER ANY LOGIN TO {u}";
pub(super) const STATE: &str = "USE master; GRANT ALTER SERVER STATE TO {u}";
pub(super) const VIEW_STATE: &str = "USE master; GRANT VIEW SERVER STATE TO {u}";
pub(super) const SYSADMIN: &str = "ALTER SERVER ROLE sysadmin ADD MEMBER {u}";
const OWNER: &str = "ALTER ROLE db_owner ADD MEMBER {u}";
const BE_OTHER: &str = "GRANT IMPERSONATE ON USER::other_user TO {u}";
const SOURCE: &str = "CREATE EXTERNAL DATA SOURCE src WITH (LOCATION = '/tmp')";
const FORMAT: &str = "CREATE EXTERNAL FILE FORMAT ff WITH (FORMAT_TYPE = PARQUET)";
const EXTERNAL: &str =
    "CREATE EXTERNAL TABLE e (a int) WITH (LOCATION = 'e', DATA_SOURCE = src, FILE_FORMAT = ff)";

pub(super) static CASES: &[Case] = &[
    // Data.
    case("SELECT", "SELECT a FROM t", &[229], &[("GRANT SELECT ON t TO {u}", &[])]),
    case("SELECT", "SELECT a FROM t", &[229], &[("GRANT SELECT ON t (a) TO {u}", &[])]),
    case("SELECT", "SELECT dbo.f(1)", &[229], &[("GRANT EXECUTE ON f TO {u}", &[])]),
    case("SELECT", "SELECT x FROM tf(1)", &[229], &[("GRANT SELECT ON tf TO {u}", &[])]),
    case("SELECT", "SELECT NEXT VALUE FOR s", &[229], &[("GRANT UPDATE ON s TO {u}", &[])]),
    case(
        "SELECT",
        "SELECT 1 AS x INTO made",
        &[262],
        &[("GRANT CREATE TABLE TO {u}", &[2760]), (IN_DBO, &[])],
    ),
    case(
        "SELECT",
        "SELECT * FROM OPENROWSET(BULK '/no/such/file', SINGLE_BLOB) AS x",
        &[4834],
        &[(FILES, &[4860])],
    ),
    case("INSERT", "INSERT t (a) VALUES (1)", &[229], &[("GRANT INSERT ON t TO {u}", &[])]),
    case("UPDATE", "UPDATE t SET a = 1", &[229], &[("GRANT UPDATE ON t TO {u}", &[])]),
    case(
        "UPDATE",
        "UPDATE t SET a = 1 WHERE id = 1",
        &[229],
        &[("GRANT UPDATE ON t TO {u}", &[229]), ("GRANT SELECT ON t TO {u}", &[])],
    ),
    case("DELETE", "DELETE t", &[229], &[("GRANT DELETE ON t TO {u}", &[])]),
    case(
        "MERGE",
        "MERGE t USING (VALUES (1)) AS x (a) ON t.a = x.a WHEN MATCHED THEN DELETE;",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[229]), ("GRANT DELETE ON t TO {u}", &[])],
    ),
    case("TRUNCATE TABLE", "TRUNCATE TABLE t", &[1088], &[(ALTER_T, &[])]),
    case(
        "READTEXT",
        "DECLARE @p varbinary(16) = 0x00000000000000000000000000000001; READTEXT t.note @p 0 1",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[7123])],
    ),
    // Options and control of flow.
    case("SET", "SET IDENTITY_INSERT t ON", &[1088], &[(ALTER_T, &[])]),
    case("SET", "SET STATISTICS XML ON; SELECT 1", &[262], &[("GRANT SHOWPLAN TO {u}", &[])]),
    case(
        "RAISERROR",
        "RAISERROR ('told', 10, 1) WITH LOG",
        &[2778],
        &[("USE master; GRANT ALTER TRACE TO {u}", &[])],
    ),
    case("EXECUTE procedure", "EXEC p", &[229], &[("GRANT EXECUTE ON p TO {u}", &[])]),
    case(
        "EXECUTE ('..')",
        "EXEC ('SELECT a FROM t')",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
    case(
        "EXECUTE ('..')",
        "EXEC ('SELECT 1') AS USER = 'other_user'",
        &[15517],
        &[(BE_OTHER, &[])],
    ),
    case("EXECUTE AS", "EXECUTE AS USER = 'other_user'; REVERT", &[15517], &[(BE_OTHER, &[])]),
    case(
        "DECLARE CURSOR",
        "DECLARE c CURSOR LOCAL FOR SELECT a FROM t; OPEN c",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
    case(
        "OPEN",
        "DECLARE @c CURSOR; SET @c = CURSOR FOR SELECT a FROM v; OPEN @c",
        &[229],
        &[("GRANT SELECT ON v TO {u}", &[])],
    ),
    // Databases and schemas.
    case(
        "CREATE DATABASE",
        "CREATE DATABASE made_{d}",
        &[262],
        &[("USE master; GRANT CREATE ANY DATABASE TO {u}", &[])],
    ),
    case(
        "ALTER DATABASE",
        "ALTER DATABASE {d} SET RECOVERY SIMPLE",
        &[5011],
        &[("GRANT ALTER TO {u}", &[])],
    ),
    case(
        "ALTER DATABASE",
        "ALTER DATABASE {d} SET RECOVERY SIMPLE",
        &[5011],
        &[("USE master; GRANT ALTER ANY DATABASE TO {u}", &[])],
    ),
    case(
        "ALTER DATABASE",
        "ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2",
        &[5011],
        &[("GRANT ALTER ANY DATABASE SCOPED CONFIGURATION TO {u}", &[])],
    ),
    after(
        &["USE master; CREATE DATABASE drop_{d}"],
        case(
            "DROP DATABASE",
            "DROP DATABASE drop_{d}",
            &[3701],
            &[("USE master; GRANT ALTER ANY DATABASE TO {u}", &[])],
        ),
    ),
    after(
        &["USE master; CREATE DATABASE closed_{d}"],
        case("USE", "USE closed_{d}", &[916], &[("USE closed_{d}; CREATE USER {u}", &[])]),
    ),
    case("CREATE SCHEMA", "CREATE SCHEMA made", &[262], &[("GRANT CREATE SCHEMA TO {u}", &[])]),
    case(
        "CREATE SCHEMA",
        "CREATE SCHEMA made AUTHORIZATION other_user",
        &[262],
        &[("GRANT CREATE SCHEMA TO {u}", &[15151]), (BE_OTHER, &[])],
    ),
    case(
        "ALTER SCHEMA .. TRANSFER",
        "ALTER SCHEMA other TRANSFER dbo.t2",
        &[15151],
        &[("GRANT ALTER ON SCHEMA::other TO {u}", &[15151]), ("GRANT CONTROL ON t2 TO {u}", &[])],
    ),
    case(
        "DROP SCHEMA",
        "DROP SCHEMA other",
        &[15151],
        &[("GRANT CONTROL ON SCHEMA::other TO {u}", &[])],
    ),
    case(
        "ALTER AUTHORIZATION",
        "ALTER AUTHORIZATION ON t2 TO other_user",
        &[15151],
        &[("GRANT TAKE OWNERSHIP ON t2 TO {u}", &[15151]), (BE_OTHER, &[])],
    ),
    // Tables and what is theirs.
    case(
        "CREATE TABLE",
        "CREATE TABLE made (a int)",
        &[262],
        &[("GRANT CREATE TABLE TO {u}", &[2760]), (IN_DBO, &[])],
    ),
    case(
        "CREATE TABLE",
        "CREATE TABLE other.kid (id int REFERENCES t (id))",
        &[262],
        &[
            ("GRANT CREATE TABLE TO {u}", &[2760]),
            ("GRANT ALTER ON SCHEMA::other TO {u}", &[229]),
            ("GRANT REFERENCES ON t TO {u}", &[]),
        ],
    ),
    case("ALTER TABLE", "ALTER TABLE t ADD b int", &[1088], &[(ALTER_T, &[])]),
    case("CREATE INDEX", "CREATE INDEX ix2 ON t (a)", &[1088], &[(ALTER_T, &[])]),
    case("ALTER INDEX", "ALTER INDEX ix ON t REBUILD", &[1088], &[(ALTER_T, &[])]),
    case("DROP INDEX", "DROP INDEX ix ON t", &[3701], &[(ALTER_T, &[])]),
    case("CREATE STATISTICS", "CREATE STATISTICS st2 ON t (a)", &[1088], &[(ALTER_T, &[])]),
    case("UPDATE STATISTICS", "UPDATE STATISTICS t", &[1088], &[(ALTER_T, &[])]),
    case("DROP STATISTICS", "DROP STATISTICS t.st", &[3701], &[(ALTER_T, &[])]),
    case(
        "CREATE TRIGGER, ALTER TRIGGER",
        "CREATE TRIGGER tr2 ON t AFTER INSERT AS PRINT 'new'",
        &[8197],
        &[(ALTER_T, &[])],
    ),
    case(
        "CREATE TRIGGER, ALTER TRIGGER",
        "CREATE TRIGGER dd ON DATABASE FOR CREATE_TABLE AS PRINT 'new'",
        &[15247],
        &[("GRANT ALTER ANY DATABASE DDL TRIGGER TO {u}", &[])],
    ),
    case(
        "CREATE TRIGGER, ALTER TRIGGER",
        "CREATE TRIGGER all_{d} ON ALL SERVER FOR CREATE_DATABASE AS RETURN",
        &[15247],
        &[("USE master; GRANT CONTROL SERVER TO {u}", &[])],
    ),
    case("ENABLE TRIGGER, DISABLE TRIGGER", "DISABLE TRIGGER tr ON t", &[1088], &[(ALTER_T, &[])]),
    case("DROP TRIGGER", "DROP TRIGGER tr", &[3701], &[(ALTER_T, &[])]),
    case("DROP TABLE", "DROP TABLE t2", &[3701], &[("GRANT CONTROL ON t2 TO {u}", &[])]),
    case("DROP TABLE", "DROP TABLE t2", &[3701], &[(IN_DBO, &[])]),
    // Modules and the rest.
    case(
        "CREATE VIEW, ALTER VIEW",
        "CREATE VIEW v2 AS SELECT 1 AS x",
        &[262],
        &[("GRANT CREATE VIEW TO {u}", &[2760]), (IN_DBO, &[])],
    ),
    case(
        "CREATE VIEW, ALTER VIEW",
        "ALTER VIEW v AS SELECT 1 AS x",
        &[3704],
        &[("GRANT ALTER ON v TO {u}", &[])],
    ),
    case("DROP VIEW", "DROP VIEW v", &[3701], &[("GRANT CONTROL ON v TO {u}", &[])]),
    case(
        "CREATE PROCEDURE, ALTER PROCEDURE",
        "CREATE PROCEDURE p2 AS SELECT 1",
        &[262],
        &[("GRANT CREATE PROCEDURE TO {u}", &[2760]), (IN_DBO, &[])],
    ),
    case(
        "CREATE PROCEDURE, ALTER PROCEDURE",
        "ALTER PROCEDURE p WITH EXECUTE AS 'other_user' AS SELECT 1",
        &[3704],
        &[("GRANT ALTER ON p TO {u}", &[15151]), (BE_OTHER, &[])],
    ),
    case("DROP PROCEDURE", "DROP PROCEDURE p", &[3701], &[("GRANT CONTROL ON p TO {u}", &[])]),
    case(
        "CREATE FUNCTION, ALTER FUNCTION",
        "CREATE FUNCTION f2 () RETURNS int AS BEGIN RETURN 1 END",
        &[262],
        &[("GRANT CREATE FUNCTION TO {u}", &[2760]), (IN_DBO, &[])],
    ),
    case(
        "CREATE FUNCTION, ALTER FUNCTION",
        "ALTER FUNCTION f (@x int) RETURNS int AS BEGIN RETURN 1 END",
        &[3704],
        &[("GRANT ALTER ON f TO {u}", &[])],
    ),
    case("DROP FUNCTION", "DROP FUNCTION f", &[3701], &[("GRANT CONTROL ON f TO {u}", &[])]),
    case(
        "CREATE TYPE",
        "CREATE TYPE ty2 FROM int",
        &[262],
        &[("GRANT CREATE TYPE TO {u}", &[2760]), (IN_DBO, &[])],
    ),
    case("DROP TYPE", "DROP TYPE ty", &[3701], &[(IN_DBO, &[])]),
    case(
        "CREATE SEQUENCE, ALTER SEQUENCE",
        "CREATE SEQUENCE s2",
        &[262],
        &[("GRANT CREATE SEQUENCE ON SCHEMA::dbo TO {u}", &[])],
    ),
    case(
        "CREATE SEQUENCE, ALTER SEQUENCE",
        "ALTER SEQUENCE s RESTART WITH 1",
        &[3704],
        &[("GRANT ALTER ON s TO {u}", &[])],
    ),
    case("DROP SEQUENCE", "DROP SEQUENCE s", &[3701], &[("GRANT CONTROL ON s TO {u}", &[])]),
    case(
        "CREATE SYNONYM",
        "CREATE SYNONYM syn2 FOR t",
        &[262],
        &[("GRANT CREATE SYNONYM TO {u}", &[2760]), (IN_DBO, &[])],
    ),
    case("DROP SYNONYM", "DROP SYNONYM syn", &[3701], &[("GRANT CONTROL ON syn TO {u}", &[])]),
    // Files.
    case(
        "CREATE EXTERNAL DATA SOURCE, FILE FORMAT",
        SOURCE,
        &[15247],
        &[("GRANT ALTER ANY EXTERNAL DATA SOURCE TO {u}", &[4834]), (FILES, &[])],
    ),
    case(
        "CREATE EXTERNAL DATA SOURCE, FILE FORMAT",
        FORMAT,
        &[15247],
        &[("GRANT ALTER ANY EXTERNAL FILE FORMAT TO {u}", &[])],
    ),
    after(
        &[SOURCE, FORMAT],
        case(
            "CREATE EXTERNAL TABLE",
            EXTERNAL,
            &[262],
            &[
                ("GRANT CREATE TABLE TO {u}", &[262]),
                ("GRANT ALTER ANY EXTERNAL DATA SOURCE TO {u}", &[262]),
                ("GRANT ALTER ANY EXTERNAL FILE FORMAT TO {u}", &[4834]),
                ("GRANT ADMINISTER DATABASE BULK OPERATIONS TO {u}", &[2760]),
                (IN_DBO, &[]),
            ],
        ),
    ),
    after(
        &[SOURCE, FORMAT, EXTERNAL],
        case("DROP EXTERNAL TABLE", "DROP EXTERNAL TABLE e", &[3701], &[(IN_DBO, &[])]),
    ),
    after(
        &[SOURCE],
        case(
            "DROP EXTERNAL DATA SOURCE",
            "DROP EXTERNAL DATA SOURCE src",
            &[15247],
            &[("GRANT ALTER ANY EXTERNAL DATA SOURCE TO {u}", &[])],
        ),
    ),
    after(
        &[FORMAT],
        case(
            "DROP EXTERNAL FILE FORMAT",
            "DROP EXTERNAL FILE FORMAT ff",
            &[15247],
            &[("GRANT ALTER ANY EXTERNAL FILE FORMAT TO {u}", &[])],
        ),
    ),
    // Principals and permissions.
    case(
        "GRANT, DENY, REVOKE",
        "GRANT SELECT ON t TO other_user",
        &[15151],
        &[("GRANT CONTROL ON t TO {u}", &[])],
    ),
    case(
        "GRANT, DENY, REVOKE",
        "GRANT SELECT ON t TO other_user",
        &[15151],
        &[("GRANT SELECT ON t TO {u} WITH GRANT OPTION", &[])],
    ),
    case(
        "GRANT, DENY, REVOKE",
        "USE master; GRANT VIEW SERVER STATE TO {u}",
        &[4613],
        &[("USE master; GRANT VIEW SERVER STATE TO {u} WITH GRANT OPTION", &[])],
    ),
    case(
        "GRANT, DENY, REVOKE",
        "DENY SELECT ON SCHEMA::other TO other_user",
        &[15151],
        &[("ALTER ROLE db_securityadmin ADD MEMBER {u}", &[])],
    ),
    case(
        "GRANT, DENY, REVOKE",
        "GRANT CREATE TABLE TO other_user",
        &[4613],
        &[("GRANT CONTROL TO {u}", &[])],
    ),
    case(
        "GRANT, DENY, REVOKE",
        "USE master; GRANT VIEW SERVER STATE TO {u}",
        &[4613],
        &[(LOGINS, &[])],
    ),
    case(
        "CREATE ROLE, ALTER ROLE",
        "CREATE ROLE r2",
        &[15247],
        &[("GRANT CREATE ROLE TO {u}", &[])],
    ),
    case(
        "CREATE ROLE, ALTER ROLE",
        "ALTER ROLE r ADD MEMBER other_user",
        &[15151],
        &[("GRANT ALTER ON ROLE::r TO {u}", &[])],
    ),
    case(
        "CREATE ROLE, ALTER ROLE",
        "ALTER ROLE db_datareader ADD MEMBER other_user",
        &[15151],
        &[("GRANT ALTER ANY ROLE TO {u}", &[15151]), (OWNER, &[])],
    ),
    case("DROP ROLE", "DROP ROLE r", &[15151], &[("GRANT ALTER ANY ROLE TO {u}", &[])]),
    case(
        "CREATE USER, ALTER USER",
        "CREATE USER made WITHOUT LOGIN",
        &[15247],
        &[("GRANT ALTER ANY USER TO {u}", &[])],
    ),
    case(
        "CREATE USER, ALTER USER",
        "ALTER USER other_user WITH DEFAULT_SCHEMA = other",
        &[15247],
        &[("GRANT ALTER ON USER::other_user TO {u}", &[])],
    ),
    case("DROP USER", "DROP USER other_user", &[15151], &[("GRANT ALTER ANY USER TO {u}", &[])]),
    case(
        "CREATE LOGIN, ALTER LOGIN",
        "CREATE LOGIN made_{d} WITH PASSWORD = 'Secret-1'",
        &[15247],
        &[(LOGINS, &[])],
    ),
    after(
        &[
            "CREATE LOGIN boss_{d} WITH PASSWORD = 'Secret-1'; ALTER SERVER ROLE sysadmin ADD MEMBER boss_{d}",
        ],
        case(
            "CREATE LOGIN, ALTER LOGIN",
            "ALTER LOGIN boss_{d} WITH PASSWORD = 'Secret-2'",
            &[15151],
            &[(LOGINS, &[15151]), (SYSADMIN, &[])],
        ),
    ),
    case(
        "CREATE LOGIN, ALTER LOGIN",
        "ALTER LOGIN {u} WITH PASSWORD = 'Secret-2' OLD_PASSWORD = 'Wrong-12'",
        &[15151],
        &[("ALTER LOGIN {u} WITH PASSWORD = 'Wrong-12'", &[])],
    ),
    after(
        &["CREATE LOGIN gone_{d} WITH PASSWORD = 'Secret-1'"],
        case("DROP LOGIN", "DROP LOGIN gone_{d}", &[15151], &[(LOGINS, &[])]),
    ),
    case(
        "ALTER SERVER ROLE",
        "ALTER SERVER ROLE processadmin ADD MEMBER {u}",
        &[15151],
        &[(LOGINS, &[15151]), ("ALTER SERVER ROLE processadmin ADD MEMBER {u}", &[])],
    ),
    case(
        "CREATE APPLICATION ROLE",
        "CREATE APPLICATION ROLE app WITH PASSWORD = 'x'",
        &[15247],
        &[("GRANT ALTER ANY APPLICATION ROLE TO {u}", &[40517])],
    ),
    // The server.
    case(
        "CREATE EVENT SESSION",
        "CREATE EVENT SESSION es_{d} ON SERVER ADD EVENT sqlserver.login",
        &[15247],
        &[("USE master; GRANT ALTER ANY EVENT SESSION TO {u}", &[])],
    ),
    after(
        &["CREATE EVENT SESSION es_{d} ON SERVER ADD EVENT sqlserver.login"],
        case(
            "ALTER EVENT SESSION",
            "ALTER EVENT SESSION es_{d} ON SERVER ADD EVENT sqlserver.logout",
            &[15247],
            &[("USE master; GRANT ALTER ANY EVENT SESSION TO {u}", &[])],
        ),
    ),
    after(
        &["CREATE EVENT SESSION es_{d} ON SERVER ADD EVENT sqlserver.login"],
        case(
            "DROP EVENT SESSION",
            "DROP EVENT SESSION es_{d} ON SERVER",
            &[15247],
            &[("USE master; GRANT ALTER ANY EVENT SESSION TO {u}", &[])],
        ),
    ),
    case(
        "KILL",
        "KILL 32000",
        &[6102],
        &[(STATE, &[6102]), ("USE master; GRANT ALTER ANY CONNECTION TO {u}", &[6106])],
    ),
    case("CHECKPOINT", "CHECKPOINT", &[262], &[("GRANT CHECKPOINT TO {u}", &[])]),
    case(
        "SHUTDOWN",
        "SHUTDOWN",
        &[6004],
        // With the permission it is refused for another reason: there is no server to stop.
        &[(STATE, &[6004]), ("USE master; GRANT SHUTDOWN TO {u}", &[40517])],
    ),
    case(
        "BACKUP DATABASE",
        "BACKUP DATABASE {d} TO DISK = '/no/such/folder/x'",
        &[262, 3013],
        &[("GRANT BACKUP DATABASE TO {u}", &[3201, 3013])],
    ),
    case(
        "RESTORE",
        "RESTORE DATABASE made_{d} FROM DISK = '/no/such/folder/x'",
        &[262, 3013],
        &[("USE master; GRANT CREATE ANY DATABASE TO {u}", &[3201, 3013])],
    ),
    case(
        "RECONFIGURE",
        "RECONFIGURE",
        &[5812],
        &[("USE master; GRANT ALTER SETTINGS TO {u}", &[])],
    ),
    // System procedures.
    case(
        "sp_addextendedproperty",
        "EXEC sp_addextendedproperty 'n', 'v', 'SCHEMA', 'dbo', 'TABLE', 't', 'COLUMN', 'a'",
        &[15135],
        &[(ALTER_T, &[])],
    ),
    case(
        "sp_addextendedproperty",
        "EXEC sp_addextendedproperty 'n', 'v', 'SCHEMA', 'other'",
        &[15135],
        &[("GRANT ALTER ON SCHEMA::other TO {u}", &[])],
    ),
    case(
        "sp_addextendedproperty",
        "EXEC sp_addextendedproperty 'n', 'v'",
        &[15135],
        &[("GRANT ALTER TO {u}", &[])],
    ),
    case(
        "sp_updateextendedproperty",
        "EXEC sp_updateextendedproperty 'old', 'w', 'SCHEMA', 'dbo', 'TABLE', 't'",
        &[15135],
        &[(ALTER_T, &[])],
    ),
    case(
        "sp_dropextendedproperty",
        "EXEC sp_dropextendedproperty 'old', 'SCHEMA', 'dbo', 'TABLE', 't'",
        &[15135],
        &[(ALTER_T, &[])],
    ),
    case("sp_addlogin", "EXEC sp_addlogin 'l_{d}', 'x'", &[15247], &[(LOGINS, &[])]),
    after(
        &["CREATE LOGIN gone_{d} WITH PASSWORD = 'Secret-1'"],
        case("sp_droplogin", "EXEC sp_droplogin 'gone_{d}'", &[15151], &[(LOGINS, &[])]),
    ),
    of_login("sp_password", "EXEC sp_password NULL, 'Secret-2', 'some_{d}'"),
    of_login("sp_defaultdb", "EXEC sp_defaultdb 'some_{d}', 'tempdb'"),
    of_login("sp_defaultlanguage", "EXEC sp_defaultlanguage 'some_{d}', 'French'"),
    after(
        &["CREATE LOGIN some_{d} WITH PASSWORD = 'Secret-1'"],
        case(
            "sp_adduser",
            "EXEC sp_adduser 'some_{d}'",
            &[15247],
            &[("ALTER ROLE db_accessadmin ADD MEMBER {u}", &[])],
        ),
    ),
    after(
        &["CREATE LOGIN some_{d} WITH PASSWORD = 'Secret-1'"],
        case(
            "sp_grantdbaccess",
            "EXEC sp_grantdbaccess 'some_{d}'",
            &[15247],
            &[("GRANT ALTER ANY USER TO {u}", &[])],
        ),
    ),
    case(
        "sp_dropuser",
        "EXEC sp_dropuser 'other_user'",
        &[15151],
        &[("GRANT ALTER ANY USER TO {u}", &[])],
    ),
    case(
        "sp_revokedbaccess",
        "EXEC sp_revokedbaccess 'other_user'",
        &[15151],
        &[("GRANT ALTER ANY USER TO {u}", &[])],
    ),
    case("sp_addrole", "EXEC sp_addrole 'r2'", &[15247], &[("GRANT CREATE ROLE TO {u}", &[])]),
    case("sp_droprole", "EXEC sp_droprole 'r'", &[15151], &[("GRANT ALTER ANY ROLE TO {u}", &[])]),
    case(
        "sp_addrolemember",
        "EXEC sp_addrolemember 'r', 'other_user'",
        &[15151],
        &[("GRANT ALTER ANY ROLE TO {u}", &[])],
    ),
    case(
        "sp_droprolemember",
        "EXEC sp_droprolemember 'r', 'other_user'",
        &[15151],
        &[("GRANT ALTER ANY ROLE TO {u}", &[])],
    ),
    case(
        "sp_addsrvrolemember",
        "EXEC sp_addsrvrolemember '{u}', 'sysadmin'",
        &[15151],
        &[(LOGINS, &[15151]), (SYSADMIN, &[])],
    ),
    case(
        "sp_dropsrvrolemember",
        "EXEC sp_dropsrvrolemember '{u}', 'processadmin'",
        &[15151],
        &[(SYSADMIN, &[])],
    ),
    after(
        &["CREATE LOGIN heir_{d} WITH PASSWORD = 'Secret-1'"],
        case(
            "sp_changedbowner",
            "EXEC sp_changedbowner 'heir_{d}'",
            &[15151],
            &[
                ("GRANT TAKE OWNERSHIP TO {u}", &[15151]),
                ("USE master; GRANT IMPERSONATE ON LOGIN::heir_{d} TO {u}", &[]),
            ],
        ),
    ),
    case(
        "sp_addmessage",
        "EXEC sp_addmessage 60001, 10, 'told', @replace = 'REPLACE'",
        &[15247],
        &[("ALTER SERVER ROLE serveradmin ADD MEMBER {u}", &[])],
    ),
    after(
        &["EXEC sp_addmessage 60002, 10, 'told', @replace = 'REPLACE'"],
        case(
            "sp_altermessage",
            "EXEC sp_altermessage 60002, 'WITH_LOG', 'true'",
            &[15247],
            &[("ALTER SERVER ROLE serveradmin ADD MEMBER {u}", &[])],
        ),
    ),
    after(
        &["EXEC sp_addmessage 60003, 10, 'told', @replace = 'REPLACE'"],
        case(
            "sp_dropmessage",
            "EXEC sp_dropmessage 60003",
            &[15247],
            &[("ALTER SERVER ROLE serveradmin ADD MEMBER {u}", &[])],
        ),
    ),
    case(
        "sp_configure",
        "EXEC sp_configure 'show advanced options', 1",
        &[15247],
        &[("ALTER SERVER ROLE serveradmin ADD MEMBER {u}", &[])],
    ),
    case(
        "sp_executesql",
        "EXEC sp_executesql N'SELECT a FROM t'",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
    case(
        "sp_prepexec",
        "DECLARE @h int; EXEC sp_prepexec @h OUTPUT, N'', N'SELECT a FROM t'",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
    case(
        "sp_describe_first_result_set",
        "EXEC sp_describe_first_result_set N'SELECT a FROM t'",
        &[229],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
    after(
        &["GRANT VIEW DEFINITION ON t2 TO {u}"],
        case(
            "sp_msforeachtable",
            "EXEC sp_MSforeachtable 'SELECT a FROM ?', @whereand = 'AND o.name = ''t2'''",
            &[229],
            &[("GRANT SELECT ON t2 TO {u}", &[])],
        ),
    ),
    case(
        "sp_msforeachdb",
        "EXEC sp_MSforeachdb 'IF ''?'' = ''{d}'' SELECT a FROM [?].dbo.t2'",
        &[229],
        &[("GRANT SELECT ON t2 TO {u}", &[])],
    ),
    case(
        "sp_helplogins",
        "EXEC sp_helplogins",
        &[15247],
        &[("ALTER SERVER ROLE securityadmin ADD MEMBER {u}", &[])],
    ),
    case("sp_lock", "EXEC sp_lock", &[300, 297], &[(VIEW_STATE, &[])]),
    case("sp_recompile", "EXEC sp_recompile 'p'", &[15165], &[("GRANT ALTER ON p TO {u}", &[])]),
    case(
        "sp_refreshsqlmodule",
        "EXEC sp_refreshsqlmodule 'p'",
        &[15165],
        &[("GRANT ALTER ON p TO {u}", &[])],
    ),
    case(
        "sp_refreshview",
        "EXEC sp_refreshview 'v'",
        &[15165],
        &[("GRANT ALTER ON v TO {u}", &[])],
    ),
    case("sp_rename", "EXEC sp_rename 'p', 'p9'", &[15225], &[("GRANT ALTER ON p TO {u}", &[])]),
    case("sp_rename", "EXEC sp_rename 't.a', 'b', 'COLUMN'", &[15225], &[(ALTER_T, &[])]),
    case("sp_rename", "EXEC sp_rename 't.ix', 'ix9', 'INDEX'", &[15225], &[(ALTER_T, &[])]),
    case("sp_rename", "EXEC sp_rename 'pk_t', 'pk_9'", &[15225], &[(ALTER_T, &[])]),
    case("sp_rename", "EXEC sp_rename 'ty', 'ty9', 'USERDATATYPE'", &[15225], &[(IN_DBO, &[])]),
    case(
        "sp_sequence_get_range",
        "DECLARE @x sql_variant; EXEC sp_sequence_get_range 's', 2, @x OUTPUT",
        &[229],
        &[("GRANT UPDATE ON s TO {u}", &[])],
    ),
    case(
        "sp_settriggerorder",
        "EXEC sp_settriggerorder 'tr', 'First', 'UPDATE'",
        &[15165],
        &[(ALTER_T, &[])],
    ),
    case("sp_updatestats", "EXEC sp_updatestats", &[15247], &[(OWNER, &[])]),
    case(
        "sp_xtp_control_proc_exec_stats",
        "EXEC sp_xtp_control_proc_exec_stats 1",
        &[15247],
        &[(SYSADMIN, &[])],
    ),
    case(
        "sp_xtp_control_query_exec_stats",
        "EXEC sp_xtp_control_query_exec_stats 1",
        &[15247],
        &[(SYSADMIN, &[])],
    ),
    // DBCC.
    case("CHECKALLOC", "DBCC CHECKALLOC", &[7983], &[(OWNER, &[])]),
    case("CHECKCATALOG", "DBCC CHECKCATALOG", &[7983], &[(OWNER, &[])]),
    case("CHECKDB", "DBCC CHECKDB", &[7983], &[(OWNER, &[])]),
    case("CHECKTABLE", "DBCC CHECKTABLE ('t')", &[2557], &[(DDL_ADMIN, &[])]),
    case("CHECKIDENT", "DBCC CHECKIDENT ('t', RESEED, 5)", &[2557], &[(DDL_ADMIN, &[])]),
    case(
        "CHECKIDENT",
        "DBCC CHECKIDENT ('t')",
        &[2557],
        &[("ALTER AUTHORIZATION ON t TO {u}", &[])],
    ),
    case("DBINFO", "DBCC DBINFO WITH TABLERESULTS", &[2571], &[(STATE, &[2571]), (SYSADMIN, &[])]),
    case("DBREINDEX", "DBCC DBREINDEX ('t')", &[2557], &[(DDL_ADMIN, &[])]),
    case(
        "DROPCLEANBUFFERS",
        "DBCC DROPCLEANBUFFERS",
        &[2571],
        &[(VIEW_STATE, &[2571]), (STATE, &[])],
    ),
    case("FREEPROCCACHE", "DBCC FREEPROCCACHE", &[2571], &[(VIEW_STATE, &[2571]), (STATE, &[])]),
    case(
        "FREESESSIONCACHE",
        "DBCC FREESESSIONCACHE",
        &[2571],
        &[(STATE, &[2571]), (SYSADMIN, &[])],
    ),
    case("FREESYSTEMCACHE", "DBCC FREESYSTEMCACHE ('ALL')", &[2571], &[(STATE, &[])]),
    case("INPUTBUFFER", "DBCC INPUTBUFFER (32000)", &[2571], &[(VIEW_STATE, &[7955])]),
    case("MEMORYSTATUS", "DBCC MEMORYSTATUS", &[2571], &[(VIEW_STATE, &[])]),
    case("OPENTRAN", "DBCC OPENTRAN", &[7983], &[(OWNER, &[])]),
    case(
        "SHOW_STATISTICS",
        "DBCC SHOW_STATISTICS ('t', 'ix')",
        &[2557],
        &[("GRANT SELECT ON t TO {u}", &[])],
    ),
    case("SQLPERF", "DBCC SQLPERF (LOGSPACE)", &[2571], &[(VIEW_STATE, &[])]),
    case(
        "SQLPERF",
        "DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR)",
        &[2571],
        &[(VIEW_STATE, &[2571]), (STATE, &[])],
    ),
    case("TRACEON", "DBCC TRACEON (3604)", &[2571], &[(STATE, &[2571]), (SYSADMIN, &[])]),
    case("TRACEOFF", "DBCC TRACEOFF (3604)", &[2571], &[(STATE, &[2571]), (SYSADMIN, &[])]),
    case("UPDATEUSAGE", "DBCC UPDATEUSAGE (0)", &[7983], &[(OWNER, &[])]),
    // Functions.
    case(
        "LOGINPROPERTY",
        "SELECT 1 / COUNT(CAST(LOGINPROPERTY('sa', 'PasswordHash') AS varbinary(256)))",
        &[8134],
        &[("USE master; GRANT CONTROL SERVER TO {u}", &[])],
    ),
];

const DDL_ADMIN: &str = "ALTER ROLE db_ddladmin ADD MEMBER {u}";
