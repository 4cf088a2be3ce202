//! sp_getapplock and sp_releaseapplock: locks on names that applications choose.
//!
//! The outcome is a return value and never an error, not even for a deadlock: 0 and 1 if the lock
//! was granted, -1 for a timeout, -3 for a deadlock victim, -999 for invalid arguments. If the
//! client cancels the call, there is no return value.

use std::sync::Arc;
use std::time::Duration;

use storage::lock::{Acquired, LockKey, LockScope, Patience};
use types::value::ColumnType;
use types::{DataType, Error, Length, Msg, Value};

use crate::procedure::{SystemProcedure, argument};
use ::executor::Cx;
use interpreter::{Argument, Stop, convert_argument};
use metadata::function::app_lock::{key, parse_mode, parse_scope};
use metadata::function::principal::own_principal;

pub(crate) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_getapplock", id: 0, run: get },
    SystemProcedure { name: "sp_releaseapplock", id: 0, run: release },
];

/// The return value for invalid arguments.
const INVALID: i32 = -999;

/// The name that messages use for both procedures.
const INSIDE: &str = "xp_userlock";

/// An argument: not given, NULL, or a value.
enum Given<T> {
    Missing,
    Null,
    Value(T),
}

impl<T> Given<T> {
    fn map<R>(self, map: impl FnOnce(T) -> R) -> Given<R> {
        match self {
            Self::Missing => Given::Missing,
            Self::Null => Given::Null,
            Self::Value(value) => Given::Value(map(value)),
        }
    }
}

fn converted(
    arguments: &[Argument],
    (position, name): (usize, &str),
    to: DataType,
    cx: &Cx<'_>,
) -> Result<Given<Value>, Stop> {
    let Some(given) = argument(arguments, position, name) else { return Ok(Given::Missing) };
    if given.default {
        return Ok(Given::Missing);
    }
    if given.value.is_null() {
        return Ok(Given::Null);
    }
    let to = ColumnType { data_type: to, collation: cx.session.collation(), nullable: true };
    convert_argument(given.value.clone(), &given.ty, &to, cx.session).map(Given::Value)
}

fn given_text(
    arguments: &[Argument],
    at: (usize, &str),
    cx: &Cx<'_>,
) -> Result<Given<String>, Stop> {
    let given = converted(arguments, at, DataType::NVarChar(Length::Max), cx)?;
    Ok(given.map(|value| value.as_text(cx.session.collation()).unwrap_or_default()))
}

/// Returns the owner of the lock; `None` for an invalid argument, or for Transaction without an
/// open one.
fn scope(arguments: &[Argument], position: usize, cx: &Cx<'_>) -> Result<Option<LockScope>, Stop> {
    let scope = match given_text(arguments, (position, "@LockOwner"), cx)? {
        Given::Missing => Some(LockScope::Transaction),
        Given::Null => None,
        Given::Value(name) => parse_scope(&name),
    };
    let in_transaction = cx.session.transaction.count > 0;
    Ok(scope.filter(|scope| *scope == LockScope::Session || in_transaction))
}

/// Returns the key of the lock and its principal; `None` without a name.
fn target(
    arguments: &[Argument],
    principal_at: usize,
    cx: &Cx<'_>,
) -> Result<Option<(LockKey, String)>, Stop> {
    let name = match given_text(arguments, (0, "@Resource"), cx)? {
        Given::Missing => return Ok(None),
        Given::Null => return Err(invalid(Msg::AppLockResource(INSIDE)).with_state(5).into()),
        Given::Value(name) => name,
    };
    let principal = match given_text(arguments, (principal_at, "@DbPrincipal"), cx)? {
        Given::Missing => "public".to_owned(),
        Given::Null => return Err(invalid(Msg::AppLockPrincipal(INSIDE)).into()),
        Given::Value(principal) => principal,
    };
    match own_principal(cx, &principal) {
        Some(found) => Ok(Some((key(cx.session, found.id, &name), principal))),
        None => Err(invalid(Msg::NotAPrincipal(&principal)).into()),
    }
}

fn invalid(message: Msg<'_>) -> Error {
    Error::from(message).in_procedure(INSIDE)
}

/// Returns how long to wait: the argument, or SET LOCK_TIMEOUT; `None` if negative, which waits
/// forever.
fn timeout(arguments: &[Argument], cx: &Cx<'_>) -> Result<Option<Duration>, Stop> {
    let ms = match converted(arguments, (3, "@LockTimeout"), DataType::Int, cx)? {
        Given::Value(Value::Int(ms)) => ms,
        Given::Missing | Given::Null | Given::Value(_) => cx.session.options.lock_timeout_ms,
    };
    if ms < -1 {
        return Err(invalid(Msg::AppLockTimeout(INSIDE)).with_state(2).into());
    }
    Ok(u64::try_from(ms).ok().map(Duration::from_millis))
}

/// `sp_getapplock @Resource, @LockMode [, @LockOwner] [, @LockTimeout] [, @DbPrincipal]`.
fn get(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let mode = match given_text(arguments, (1, "@LockMode"), cx)? {
        Given::Missing => {
            return Err(Msg::ParameterNotSupplied("sp_getapplock", "@LockMode").into());
        }
        Given::Null => None,
        Given::Value(name) => parse_mode(&name),
    };
    let (Some(mode), Some(scope)) = (mode, scope(arguments, 2, cx)?) else { return Ok(INVALID) };
    let Some((key, _)) = target(arguments, 4, cx)? else { return Ok(INVALID) };
    let timeout = timeout(arguments, cx)?;
    let cancel = Arc::clone(&cx.session.connection.cancel);
    let patience = Patience {
        timeout,
        cancel: Some(&cancel),
        deadlock_priority: cx.session.options.deadlock_priority,
    };
    match cx.session.acquire_lock(&key, (scope, mode), patience) {
        Acquired::AtOnce => Ok(0),
        Acquired::AfterWait => Ok(1),
        Acquired::TimedOut => Ok(-1),
        Acquired::Cancelled => Err(Stop::Cancelled),
        Acquired::Victim => Ok(-3),
    }
}

/// `sp_releaseapplock @Resource [, @LockOwner] [, @DbPrincipal]`.
fn release(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let Some(scope) = scope(arguments, 1, cx)? else { return Ok(INVALID) };
    let Some((key, principal)) = target(arguments, 2, cx)? else { return Ok(INVALID) };
    if cx.session.release_lock(&key, scope) {
        return Ok(0);
    }
    Err(invalid(Msg::AppLockNotHeld(&principal, &key.name)).into())
}
