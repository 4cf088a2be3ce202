//! Cancellation: an attention ends a waiting request of its client, and KILL ends another
//! session's.

use std::sync::Arc;

use engine::session::Session;

use crate::client::{Answer, batch, instance, login, sets};

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

/// The first row of the result sends the attention; the second call of the function meets it in the
/// search for the first result set. Without an attention there are two rows.
#[test]
fn an_attention_ends_the_search_for_a_first_result_set() {
    const TWO_CALLS: &str = "SELECT d.name FROM (VALUES (1), (2)) AS v (n) CROSS APPLY \
        sys.dm_exec_describe_first_result_set(CONCAT(N'SELECT 1 AS c', n), NULL, 0) AS d";
    let mut session = login(&instance());
    assert_eq!(sets(&mut session, TWO_CALLS), [[["c1"], ["c2"]]]);
    let cancel = Arc::clone(session.cancel());
    let mut answer = Answer { cancelled_by_row: Some(cancel), ..Answer::default() };
    session.batch(TWO_CALLS, &mut answer).unwrap();
    assert_eq!(answer.sets, [[["c1"]]]);
    assert!(answer.errors.is_empty(), "{answer:?}");
}

/// A text of which only some is read: the rest would be a syntax error, or a result.
#[test]
fn an_attention_ends_a_text_while_it_is_parsed() {
    let mut session = login(&instance());
    let wrong = "aB1,".repeat(50_000);
    let right = format!("SELECT 1 WHERE 1 IN (1{})", ",1".repeat(50_000));
    for text in
        [&wrong, &right, &format!("EXEC ('{wrong}')"), &format!("EXEC sp_executesql N'{wrong}'")]
    {
        session.cancel().set();
        let answer = batch(&mut session, text);
        assert!(answer.errors.is_empty() && answer.sets.is_empty(), "{answer:?}");
        session.cancel().clear();
    }
    assert_eq!(batch(&mut session, &wrong).errors[0].number, 102);
    assert_eq!(sets(&mut session, &right), [[["1"]]]);
}
