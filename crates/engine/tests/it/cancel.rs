//! Cancellation: an attention ends a waiting request of its client, and KILL ends another
//! session's.

use std::sync::Arc;

use engine::session::Session;

use crate::client::{Answer, batch, instance, login};

/// Longer than any test runs: only a cancellation ends it.
const FOREVER: &str = "WAITFOR DELAY '01:00:00' PRINT 'never'";

/// Runs a wait on a separate thread, and has `stop` end it once the session is waiting.
fn cancelled(mut session: Session, stop: impl FnOnce()) -> (Session, Answer) {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let answer = batch(&mut session, FOREVER);
            (session, answer)
        });
        stop();
        waiting.join().unwrap()
    })
}

#[test]
fn an_attention_ends_a_wait_and_keeps_the_transaction() {
    let instance = instance();
    let mut session = login(&instance);
    batch(&mut session, "BEGIN TRAN");
    let cancel = Arc::clone(session.cancel());
    let (mut session, answer) = cancelled(session, || cancel.set());
    assert!(answer.messages.is_empty() && answer.errors.is_empty(), "{answer:?}");
    session.cancel().clear();
    let answer = batch(&mut session, "SELECT @@TRANCOUNT");
    assert_eq!(answer.sets, [[["1"]]]);
}

#[test]
fn kill_ends_another_sessions_wait() {
    let instance = instance();
    let victim = login(&instance);
    let mut killer = login(&instance);
    let kill = format!("KILL {}", victim.state().connection.id);
    let (_, answer) = cancelled(victim, || {
        let answer = batch(&mut killer, &kill);
        assert!(answer.errors.is_empty(), "{answer:?}");
    });
    assert!(answer.messages.is_empty(), "{answer:?}");
}

#[test]
fn nobody_kills_what_is_not_there_or_oneself() {
    let instance = instance();
    let mut session = login(&instance);
    assert_eq!(batch(&mut session, "KILL 9999").errors[0].number, 6106);
    let own = format!("KILL {}", session.state().connection.id);
    assert_eq!(batch(&mut session, &own).errors[0].number, 6104);
}
