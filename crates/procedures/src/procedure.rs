//! A system procedure, and how it reads its arguments: what each file of this crate uses.

use types::Msg;
use types::Value;
use types::value::ColumnType;

use ::catalog::name::Name;
use ::executor::Cx;
use interpreter::{Argument, Stop};

/// A system procedure: name, ProcID and code.
pub struct SystemProcedure {
    /// The procedure's name, in lower case.
    pub name: &'static str,
    /// Its ProcID in RPC requests; 0 if it has none. `[MS-TDS] 2.2.6.6`
    pub id: u16,
    /// Runs the procedure; returns its return status.
    pub run: fn(&mut [Argument], &mut Cx<'_>) -> Result<i32, Stop>,
}

/// Checks that the session is a sysadmin's.
///
/// # Errors
/// 15247 for anyone else.
pub(crate) fn check_sysadmin(cx: &Cx<'_>) -> Result<(), Stop> {
    match cx.session.identity.rights.is_all() {
        true => Ok(()),
        false => Err(Msg::NoPermissionForAction.into()),
    }
}

/// Finds an argument by name (with `@`), otherwise by its position among the unnamed arguments.
pub(crate) fn argument<'a>(
    arguments: &'a [Argument],
    position: usize,
    name: &str,
) -> Option<&'a Argument> {
    let named = |a: &&Argument| {
        Name::same(&a.name, name) || Name::same(&a.name, name.trim_start_matches('@'))
    };
    arguments.iter().find(named).or_else(|| arguments.get(position).filter(|a| a.name.is_empty()))
}

/// Returns an argument's text; `None` if it is missing or NULL.
///
/// # Errors
/// 701 if there is no memory for a long one.
pub(crate) fn text(
    arguments: &[Argument],
    position: usize,
    name: &str,
    cx: &Cx<'_>,
) -> types::Result<Option<String>> {
    let given = argument(arguments, position, name).map(|argument| &argument.value);
    given.map_or(Ok(None), |value| plan::long::text(value, cx.session.collation()))
}

/// Returns an argument's whole number; `None` if it is missing, NULL or not a number.
pub(crate) fn whole(arguments: &[Argument], position: usize, name: &str) -> Option<i64> {
    match argument(arguments, position, name).map(|a| &a.value)? {
        Value::Bit(b) => Some(i64::from(*b)),
        Value::TinyInt(n) => Some(i64::from(*n)),
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    }
}

/// The type `int`, nullable.
pub(crate) fn int_type() -> ColumnType {
    ColumnType {
        data_type: types::DataType::Int,
        collation: types::Collation::default(),
        nullable: true,
    }
}
