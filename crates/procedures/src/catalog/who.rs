//! Catalog procedures about sessions, databases and the text of modules.

use ::session::session_context::Refused;
use types::{Error, Msg, Value};

use super::{TextProcedure, run};
use crate::procedure::{SystemProcedure, argument, text, whole};
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_who", id: 0, run: |a, cx| run(&WHO, a, cx) },
    SystemProcedure { name: "sp_who2", id: 0, run: |a, cx| run(&WHO2, a, cx) },
    SystemProcedure { name: "sp_databases", id: 0, run: |a, cx| run(&DATABASES, a, cx) },
    SystemProcedure { name: "sp_helptext", id: 0, run: help_text },
    SystemProcedure { name: "sp_set_session_context", id: 0, run: set_session_context },
];

/// sp_who: as SQL Server's, a reading of sysprocesses, so that a session's command and state are those of its request.
static WHO: TextProcedure = TextProcedure {
    name: "sp_who",
    parameters: &[("@loginame", "nvarchar(128)")],
    text: "
SELECT p.spid, p.ecid, p.status, CAST(RTRIM(p.loginame) AS nvarchar(128)) AS loginame, p.hostname,
    CAST(ISNULL(p.blocked, 0) AS char(5)) AS blk, DB_NAME(p.dbid) AS dbname, p.cmd, p.request_id
FROM sys.sysprocesses AS p
WHERE @loginame IS NULL OR p.loginame = @loginame OR CAST(p.spid AS nvarchar(128)) = @loginame
    OR (@loginame = 'active' AND p.cmd <> 'AWAITING COMMAND')
ORDER BY p.spid",
};

/// sp_who2: sp_who with the additional columns that SQL Server's tools read. A state other than sleeping is in capitals.
static WHO2: TextProcedure = TextProcedure {
    name: "sp_who2",
    parameters: &[("@loginame", "nvarchar(128)")],
    text: "
SELECT CAST(p.spid AS char(5)) AS SPID,
    CAST(CASE p.status WHEN 'sleeping' THEN p.status ELSE UPPER(p.status) END AS nvarchar(30)) AS Status,
    CAST(RTRIM(p.loginame) AS nvarchar(128)) AS Login,
    CAST(CASE p.hostname WHEN '' THEN '  .' ELSE RTRIM(p.hostname) END AS nvarchar(128)) AS HostName,
    CAST(CASE ISNULL(p.blocked, 0) WHEN 0 THEN '  .' ELSE CAST(p.blocked AS char(5)) END AS char(5)) AS BlkBy,
    DB_NAME(p.dbid) AS DBName, CAST(RTRIM(p.cmd) AS nvarchar(26)) AS Command,
    p.cpu AS CPUTime, p.physical_io AS DiskIO,
    CAST(SUBSTRING(CONVERT(varchar(23), p.last_batch, 121), 6, 5) + ' '
        + SUBSTRING(CONVERT(varchar(23), p.last_batch, 121), 12, 8) AS varchar(15)) AS LastBatch,
    CAST(RTRIM(p.program_name) AS nvarchar(128)) AS ProgramName, CAST(p.spid AS char(5)) AS SPID,
    CAST(p.request_id AS char(5)) AS REQUESTID
FROM sys.sysprocesses AS p
WHERE @loginame IS NULL OR p.loginame = @loginame OR CAST(p.spid AS nvarchar(128)) = @loginame
    OR (@loginame = 'active' AND p.cmd <> 'AWAITING COMMAND')
ORDER BY p.spid",
};

/// The size is NULL: databases are in memory and have no size.
static DATABASES: TextProcedure = TextProcedure {
    name: "sp_databases",
    parameters: &[],
    text: "
SELECT d.name AS DATABASE_NAME, CAST(NULL AS int) AS DATABASE_SIZE, CAST(NULL AS varchar(254)) AS REMARKS
FROM sys.databases AS d ORDER BY d.name",
};

/// sp_helptext: one row per line of the text, each with its line end.
static HELP_TEXT: TextProcedure = TextProcedure {
    name: "sp_helptext",
    parameters: &[("@objname", "nvarchar(776)")],
    text: "
SELECT CAST(s.value + CASE WHEN s.ordinal < COUNT(*) OVER () THEN NCHAR(10) ELSE N'' END AS nvarchar(255)) AS [Text]
FROM STRING_SPLIT(OBJECT_DEFINITION(OBJECT_ID(@objname)), NCHAR(10), 1) AS s ORDER BY s.ordinal",
};

fn help_text(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let name = text(arguments, 0, "@objname", cx)?.unwrap_or_default();
    let object = super::help::object(&name, cx)?;
    let database = cx.session.catalog.database(&cx.session.identity.database);
    match database.and_then(|d| metadata::objects::definition(&cx.session.sees(d), object.id)) {
        None if database.is_some_and(|d| d.is_encrypted(object.id)) => {
            super::help::say(15_471, &format!("The text for object '{name}' is encrypted."), cx)
        }
        None => {
            let text = format!("There is no text for object '{name}'.");
            Err(Error::custom(15_197, 16, 1, &text).into())
        }
        Some(_) => run(&HELP_TEXT, arguments, cx),
    }
}

/// `sp_set_session_context @key, @value [, @read_only]`.
fn set_session_context(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(key) = text(arguments, 0, "@key", cx)?.filter(|k| !k.is_empty()) else {
        let expected = Msg::ProcedureExpectsParameter("@key", "nvarchar(128)");
        return Err(Error::from(expected).into());
    };
    let read_only = whole(arguments, 2, "@read_only").unwrap_or(0) != 0;
    let value = match argument(arguments, 1, "@value") {
        None => Value::Null,
        Some(given) => match &given.value {
            value @ (Value::Null | Value::Variant(_)) => value.clone(),
            value => Value::Variant(Box::new((value.clone(), given.ty))),
        },
    };
    let is_trace = key.eq_ignore_ascii_case(::session::trace::KEY);
    let traced = is_trace.then(|| value.clone());
    match cx.session.held.session_context.set(key.clone(), value, read_only) {
        Ok(()) => {}
        Err(Refused::ReadOnly) => {
            let text = format!(
                "Cannot set key '{key}' in the session context. The key has been set as read_only \
                 for this session."
            );
            return Err(Error::custom(15_664, 16, 1, &text).into());
        }
        Err(Refused::Full) => {
            let text = "The value was not set for key because the total size of keys and values \
                        in the session context would exceed the 1 MB limit.";
            return Err(Error::custom(15_665, 16, 1, text).into());
        }
    }
    if let Some(traced) = traced {
        cx.session.accounting.trace.set(&traced);
    }
    Ok(0)
}
