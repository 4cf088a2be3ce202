//! APPLOCK_MODE and APPLOCK_TEST, and the keys of application locks.

use std::sync::Arc;

use storage::lock::{LockKey, LockMode, LockScope};
use types::{DataType, Error, Length, Msg, Result, Value};

use crate::function::entry::{of, text};
use crate::function::principal::own_principal;
use crate::function::session::session_of;
use crate::function::{Call, Collating, Evaluate, Function};
use ::plan::function::Context;
use ::session::SessionState;

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "APPLOCK_MODE",
        arity: (3, 3),
        bind: |_| Ok(of(DataType::NVarChar(Length::Limited(32)))),
        eval: Evaluate::Full(mode),
        deterministic: false,
        collation: Collating::Apart,
    },
    Function {
        name: "APPLOCK_TEST",
        arity: (4, 4),
        bind: |_| Ok(of(DataType::SmallInt)),
        eval: Evaluate::Full(test),
        deterministic: false,
        collation: Collating::Apart,
    },
];

/// Significant characters of a lock's name, in UTF-16 units.
const NAME_LENGTH_MAX: usize = 255;

/// Makes the key of a lock in the session's database.
pub fn key(session: &SessionState, principal: i32, name: &str) -> LockKey {
    // Counted as SQL Server stores them: in UTF-16.
    let mut length = 0;
    let end = name.char_indices().find(|(_, c)| {
        length += c.len_utf16();
        length > NAME_LENGTH_MAX
    });
    let name: Arc<str> = end.map_or(name, |(at, _)| &name[..at]).into();
    let database =
        session.catalog.database(&session.identity.database).map_or(0, |d| i32::from(d.id));
    LockKey { database, principal, name }
}

/// Parses a lock mode that sp_getapplock accepts; `None` for other names.
pub fn parse_mode(name: &str) -> Option<LockMode> {
    let modes = [
        LockMode::Shared,
        LockMode::Update,
        LockMode::IntentShared,
        LockMode::IntentExclusive,
        LockMode::Exclusive,
    ];
    modes.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name))
}

/// Parses the lock owner, `Session` or `Transaction`; `None` for other names.
pub fn parse_scope(name: &str) -> Option<LockScope> {
    match name {
        _ if name.eq_ignore_ascii_case("Transaction") => Some(LockScope::Transaction),
        _ if name.eq_ignore_ascii_case("Session") => Some(LockScope::Session),
        _ => None,
    }
}

/// Reads the arguments that both functions share: principal and name first, the owner last.
fn target(
    cx: &Context<'_>,
    call: &Call<'_>,
    values: &[Value],
    function: &str,
) -> Result<(LockKey, LockScope)> {
    let (owner_at, required) = (values.len() - 1, values.len() - 1);
    if let Some(at) = values[..required].iter().position(Value::is_null) {
        let number = i64::try_from(at + 1).unwrap_or(0);
        return Err(Msg::InvalidArgumentType("NULL", number, function).into());
    }
    let principal = text(call, values, 0)?.unwrap_or_default();
    let name = text(call, values, 1)?.unwrap_or_default();
    let scope = match text(call, values, owner_at)? {
        None => LockScope::Transaction,
        Some(owner) => parse_scope(&owner).ok_or(Msg::AppLockOwner(function))?,
    };
    if scope == LockScope::Transaction && session_of(cx).transaction.count == 0 {
        return Err(Msg::NeedsUserTransaction.into());
    }
    let found = own_principal(cx, &principal);
    let principal = found.ok_or_else(|| Error::from(Msg::NotAPrincipal(&principal)))?.id;
    Ok((key(session_of(cx), principal, &name), scope))
}

/// APPLOCK_MODE: the mode in which the session holds a lock, or `NoLock`.
fn mode(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (key, scope) = target(cx, call, values, "applock_mode")?;
    let session = session_of(cx).tag().number;
    let held = session_of(cx).instance.store.locks().held(&key, session, scope);
    Ok(Value::nvarchar(held.map_or("NoLock", LockMode::name)))
}

/// APPLOCK_TEST: 1 if the session could take the lock without waiting, otherwise 0.
fn test(cx: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (key, scope) = target(cx, call, values, "applock_test")?;
    let asked = text(call, values, 2)?.unwrap_or_default();
    let Some(mode) = parse_mode(&asked) else {
        return Err(Msg::AppLockMode("applock_test").into());
    };
    let session = session_of(cx).tag().number;
    let would = session_of(cx).instance.store.locks().would_grant(&key, session, scope, mode);
    Ok(Value::SmallInt(i16::from(would)))
}
