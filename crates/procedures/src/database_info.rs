//! `DBCC DBINFO [(database)] [WITH TABLERESULTS]`: what the first page of a database says in SQL
//! Server. There is no such page: the fields shown are those that have a meaning here. Scripts
//! read `dbi_dbccLastKnownGood`, the time of the last CHECKDB that found no error.

use tsql::ast;
use types::convert::convert;
use types::date::Moment;
use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg, Value};

use super::check::find_database;
use ::binder::shape_of;
use ::catalog::{BackupFacts, Database};
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use interpreter::{Stop, done};
use metadata::backup::{CHECKED, moment_100ns, time};

/// Style of CONVERT: `yyyy-mm-dd hh:mi:ss.mmm`.
const ODBC_STYLE: i32 = 121;
/// What SQL Server has for a time that has not come.
const NEVER: &str = "1900-01-01 00:00:00.000";
/// The trace flag that sends the output of such commands to the client.
const TO_CLIENT: i32 = 3_604;
/// The heading of the fields.
const HEADING: &str = "DBINFO STRUCTURE:";

/// Runs DBINFO. Without TABLERESULTS it is silent, unless trace flag 3604 is on.
///
/// # Errors
/// 911 for an unknown database.
pub(crate) fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    if dbcc.arguments.len() > 1 {
        return Err(Msg::DbccParameterCount.into());
    }
    let database = find_database(dbcc, cx)?;
    let fields = fields(&database, cx);
    if dbcc.options.iter().any(|(name, _)| name.as_ref() == "TABLERESULTS") {
        return send(&fields, cx);
    }
    let session = &cx.session;
    let flags = [&*session.catalog.trace_flags, &*session.connection.trace_flags];
    if !flags.iter().any(|flags| flags.contains(&TO_CLIENT)) {
        return Ok(());
    }
    let lines = fields.iter().map(|(name, value)| format!("{name} = {value}"));
    let text = [HEADING.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
    cx.sink.message(&Error::custom(0, 0, 1, text))?;
    Ok(())
}

fn fields(database: &Database, cx: &Cx<'_>) -> Vec<(&'static str, String)> {
    let catalog = cx.session.instance.catalog.load();
    let known = catalog.backups.of_database(database).cloned().unwrap_or_default();
    let is_log = |facts: &BackupFacts| {
        facts.get("type") == "L"
            && ::catalog::name::Name::same(facts.get("database"), &database.name)
    };
    let logs = catalog.backups.backups.values().rev();
    let last_log = logs.map(|facts| &**facts).find(|facts| is_log(facts));
    vec![
        ("dbi_dbid", database.id.to_string()),
        ("dbi_dbname", database.name.clone()),
        ("dbi_crdate", written(&database.created, cx)),
        ("dbi_cmptlevel", database.options.compatibility_level.to_string()),
        ("dbi_familyGUID", known.get("family").to_owned()),
        ("dbi_LastLogBackupTime", or_never(last_log.map(|facts| time(facts, "ended")), cx)),
        ("dbi_dbccLastKnownGood", or_never(Some(time(&known, CHECKED)), cx)),
    ]
}

/// Writes a time; that of SQL Server for never, if there is none.
fn or_never(time: Option<Value>, cx: &Cx<'_>) -> String {
    match time {
        None | Some(Value::Null) => NEVER.to_owned(),
        Some(time) => written(&time, cx),
    }
}

fn written(time: &Value, cx: &Cx<'_>) -> String {
    let from = ColumnType::nullable(DataType::DateTime);
    let to = cx.session.text_type();
    let options = cx.session.convert_options();
    let text = convert(time, &from, &to, ODBC_STYLE, Mode::Explicit, &options);
    text.ok().and_then(|text| text.as_text(to.collation)).unwrap_or_default()
}

fn send(fields: &[(&str, String)], cx: &mut Cx<'_>) -> Result<(), Stop> {
    let data_type = DataType::NVarChar(Length::Limited(255));
    let column_type = ColumnType { data_type, ..cx.session.text_type() };
    let column = |name: &str| {
        let name = name.into();
        ColumnInfo { name, column_type, traits: Traits::default(), updatable: false }
    };
    let names = ["ParentObject", "Object", "Field", "VALUE"];
    cx.sink.columns(&shape_of(names.map(column).into()))?;
    for (name, value) in fields {
        let row = [HEADING, "DBINFO", name, value].map(Value::nvarchar);
        cx.sink.row(&row)?;
    }
    Ok(done(cx, Command::SELECT, u64::try_from(fields.len()).ok(), false)?)
}

/// Remembers that CHECKDB has found no error.
///
/// # Errors
/// The error of a log that has failed.
pub(crate) fn remember_check(database: &Database, cx: &Cx<'_>) -> Result<(), Stop> {
    let now: Moment = ::catalog::clock::clock();
    cx.session.instance.catalog.change_aside(|catalog| {
        let history = std::sync::Arc::make_mut(&mut catalog.backups);
        let known = history.of_database(database).cloned().unwrap_or_default();
        let mut known = BackupFacts::clone(&known);
        known.set(CHECKED, moment_100ns(now).unwrap_or(0));
        history.set_database(database, known);
        Ok(())
    })?;
    Ok(())
}
