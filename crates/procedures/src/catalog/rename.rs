//! sp_rename: renames an object, column, index or type, and fires DDL triggers.

use types::{Error, Msg};

use crate::procedure::{SystemProcedure, text};
use ::ddl::rename::{self, Renamed};
use ::executor::Cx;
use interpreter::definition_trigger;
use interpreter::{Argument, Stop};

pub(super) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_rename", id: 0, run }];

/// `sp_rename @objname, @newname [, @objtype]`. Raises the event RENAME, whose text is a call with
/// these values.
fn run(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let missing = |name: &str| Stop::from(Msg::ParameterNotSupplied("sp_rename", name));
    let old = text(arguments, 0, "@objname", cx)?.ok_or_else(|| missing("@objname"))?;
    let new = text(arguments, 1, "@newname", cx)?.ok_or_else(|| missing("@newname"))?;
    let kind = text(arguments, 2, "@objtype", cx)?.unwrap_or_default();
    let kind = match kind.to_ascii_uppercase().as_str() {
        "" | "OBJECT" => Renamed::Object,
        "COLUMN" => Renamed::Column,
        "INDEX" => Renamed::Index,
        "USERDATATYPE" => Renamed::Type,
        other => return Err(Msg::NotSupported(&format!("sp_rename of a {other}")).into()),
    };
    let caution =
        "Caution: Changing any part of an object name could break scripts and stored procedures.";
    let given = arguments.iter().filter_map(|a| a.value.as_text(cx.session.collation()));
    let given: Vec<String> = given.collect();
    let quoted = |one: &String| format!("N'{}'", one.replace('\'', "''"));
    let text = given.iter().map(quoted).collect::<Vec<_>>().join(", ");
    let events =
        |cx: &Cx<'_>| rename::event_of(kind, (&old, &new), given, cx).into_iter().collect();
    let watched = definition_trigger::watched_events(events, cx);
    let begun = (!watched.is_empty()).then(|| definition_trigger::begin(cx));
    let mark = cx.session.mark_definitions();
    let renamed = rename::run(kind, &old, &new, cx);
    cx.session.end_definition(&mark, renamed.is_err());
    if let (Err(_), Some(begun)) = (&renamed, begun) {
        definition_trigger::give_up(begun, cx);
    }
    renamed?;
    cx.session.refresh_catalog();
    if let Some(begun) = begun {
        cx.statement_text = format!("EXEC sp_rename {text}");
        definition_trigger::fire(&watched, begun, cx)?;
        cx.session.refresh_catalog();
    }
    cx.sink.message(&Error::custom(15_477, 0, 1, caution))?;
    Ok(0)
}
