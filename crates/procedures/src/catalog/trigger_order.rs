//! sp_settriggerorder: makes a trigger the first or the last to fire for a statement.

use types::Msg;

use crate::procedure::{SystemProcedure, text};
use ::catalog::{DdlEvent, TriggerPlace};
use ::ddl::trigger_order::{self, Namespace, Wanted};
use ::executor::Cx;
use interpreter::{Argument, Stop};

pub(super) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_settriggerorder", id: 0, run }];

/// `sp_settriggerorder @triggername, @order, @stmttype [, @namespace]`.
///
/// # Errors
/// 201 for a missing argument, 15600 for an unknown order, statement or namespace, and those of
/// [`trigger_order::set`].
fn run(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    const NAME: &str = "sp_settriggerorder";
    let missing = |name: &str| Stop::from(Msg::ParameterNotSupplied(NAME, name));
    let invalid = || Stop::from(Msg::InvalidProcedureOption("sys.sp_settriggerorder"));
    let trigger = text(arguments, 0, "@triggername", cx)?.ok_or_else(|| missing("@triggername"))?;
    let order = text(arguments, 1, "@order", cx)?.ok_or_else(|| missing("@order"))?;
    let statement = text(arguments, 2, "@stmttype", cx)?.ok_or_else(|| missing("@stmttype"))?;
    let namespace = match text(arguments, 3, "@namespace", cx)? {
        None => Namespace::Table,
        Some(name) if name.eq_ignore_ascii_case("DATABASE") => Namespace::Database,
        Some(name) if name.eq_ignore_ascii_case("SERVER") => Namespace::Server,
        Some(_) => return Err(invalid()),
    };
    let place = TriggerPlace::find(&order).ok_or_else(invalid)?;
    let event = statement.to_ascii_uppercase();
    let is_known = match namespace {
        Namespace::Table => ["INSERT", "UPDATE", "DELETE"].contains(&event.as_str()),
        Namespace::Database | Namespace::Server => {
            DdlEvent::find(&event).is_some_and(|event| !event.is_group())
        }
    };
    if !is_known {
        return Err(invalid());
    }
    let wanted = Wanted { trigger: &trigger, order: &order, place, statement: &statement };
    let mark = cx.session.mark_definitions();
    let done = trigger_order::set(namespace, &wanted, cx);
    cx.session.end_definition(&mark, done.is_err());
    done?;
    cx.session.refresh_catalog();
    Ok(0)
}
