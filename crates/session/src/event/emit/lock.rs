//! Locks: lock_acquired, lock_released, lock_cancel, lock_timeout, lock_deadlock.

use std::hash::BuildHasher;

use sos::xe::{self, Event, Value};
use storage::lock::{Acquired, LockKey, LockMode, LockScope};

use super::us;
use crate::SessionState;
use crate::awaited::Mode;
use crate::event::context::fire;
use crate::event::list::{LOCK_ACQUIRED, LOCK_CANCEL, LOCK_DEADLOCK, LOCK_RELEASED, LOCK_TIMEOUT};

/// Keys of the maps of `list/lock.rs`.
const OBJECT: u32 = 5;
const APPLICATION: u32 = 10;
const BY_TRANSACTION: u32 = 1;
const BY_SESSION: u32 = 3;

/// Time of a lock request, if an event session collects its outcome.
pub struct Asked(Option<u64>);

/// Notes that a lock is requested.
#[inline]
pub fn asked() -> Asked {
    let events = [&LOCK_ACQUIRED, &LOCK_CANCEL, &LOCK_TIMEOUT, &LOCK_DEADLOCK];
    Asked(events.into_iter().any(xe::enabled).then(sos::clock::now_ticks))
}

/// Fires the event for the outcome of the request.
#[inline]
pub fn answered(
    session: &SessionState,
    asked: &Asked,
    key: &LockKey,
    held: (LockScope, LockMode),
    acquired: Acquired,
) {
    let Some(since) = asked.0 else { return };
    let event = match acquired {
        Acquired::AtOnce | Acquired::AfterWait => &LOCK_ACQUIRED,
        Acquired::TimedOut => &LOCK_TIMEOUT,
        Acquired::Cancelled => &LOCK_CANCEL,
        Acquired::Victim => &LOCK_DEADLOCK,
    };
    if xe::enabled(event) {
        let duration = us(sos::clock::now_ticks().saturating_sub(since));
        tell(session, event, key, held, duration);
    }
}

/// Fires lock_released for a lock.
#[inline]
pub fn released(session: &SessionState, key: &LockKey, scope: LockScope) {
    if xe::enabled(&LOCK_RELEASED) {
        let locks = session.instance.store.locks();
        let mode = locks.held(key, crate::session_number(session.connection.id), scope);
        tell(session, &LOCK_RELEASED, key, (scope, mode.unwrap_or(LockMode::Exclusive)), 0);
    }
}

/// Fires lock_released for all locks of a scope, before they are released.
#[inline]
pub fn released_all(session: &SessionState, scope: LockScope) {
    if xe::enabled(&LOCK_RELEASED) {
        for key in session.locks.keys(scope) {
            released(session, key, scope);
        }
    }
}

#[cold]
fn tell(
    session: &SessionState,
    event: &'static Event,
    key: &LockKey,
    (scope, mode): (LockScope, LockMode),
    duration: u64,
) {
    let is_schema = key.table().is_some();
    let database = u64::try_from(key.database).unwrap_or(0);
    let described = describe_key(key);
    let (owner, transaction) = match scope {
        LockScope::Session => (BY_SESSION, 0),
        LockScope::Transaction => {
            let transaction = session.locks.owner().transaction();
            (BY_TRANSACTION, transaction.map_or(0, |transaction| transaction.number))
        }
    };
    let name = i16::try_from(key.database).ok();
    let name = name.and_then(|id| session.catalog.database_by_id(id)).map(|d| d.name.as_str());
    let values = [
        Value::Map(if is_schema { OBJECT } else { APPLICATION }),
        Value::Map(mode_key(key, mode)),
        Value::Map(owner),
        Value::Int(i64::try_from(transaction).unwrap_or(i64::MAX)),
        Value::UInt(database),
        Value::UInt(u64::from(hash_of(key))),
        Value::UInt(0),
        Value::UInt(0),
        Value::Int(0),
        Value::UInt(0),
        Value::UInt(duration),
        Value::Text(&described),
        name.map_or(Value::Null, Value::Text),
    ];
    fire(session, event, &values);
}

fn hash_of(key: &LockKey) -> u32 {
    let hash = foldhash::fast::FixedState::default().hash_one(key);
    u32::try_from(hash >> 32).unwrap_or(0)
}

fn mode_key(key: &LockKey, mode: LockMode) -> u32 {
    match key.table() {
        Some(_) => Mode::Schema(mode).key(),
        None => Mode::Application(mode).key(),
    }
}

/// Describes an application lock as `sys.dm_tran_locks` does: its principal, the first characters
/// of its name, and a hash of the whole name.
pub fn describe_key(key: &LockKey) -> String {
    format!("{}:{}", key.principal, describe_name(key))
}

/// Describes an application lock without its principal.
pub(super) fn describe_name(key: &LockKey) -> String {
    const CLEAR_CHARACTERS: usize = 32;
    let name: String = key.name.chars().take(CLEAR_CHARACTERS).collect();
    format!("[{name}]:({:08x})", hash(key))
}

/// Returns the FNV-1a hash of a lock's name, to distinguish names with a common prefix.
pub fn hash(key: &LockKey) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    key.name.bytes().fold(0x811c_9dc5, step)
}
