//! Statements that pick rows and lose them (docs/decisions/0434): the seventh round claims what it reads,
//! a cancellation between two rounds leaves the transaction as it was, and two that remove duplicates
//! leave one of each.
//!
//! Two sessions hold the two rows of `gate`, which the statement reads by locks, once in each round. So it
//! stops between its snapshot and its pick, and the test changes the rows of `t` then:
//!
//! ```text
//! consumer   snapshot ─ waits for row 1 ───────── waits for row 2 ───────── picks: lost ─ snapshot ─ ..
//! test                   changes t, frees row 1 ─  holds row 1 again,
//!                                                  frees row 2 ─ holds row 2 again
//! ```

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use engine::instance::Instance;
use engine::session::Session;
use sos::park::Cancel;

use crate::client::{Answer, instance_on, login, run, sets, spawn};

/// The rounds that a statement may lose, and the one in which it claims what it reads.
const ROUNDS: usize = 6 + 1;

/// A session, and the row of `gate` that it holds.
struct Keeper {
    session: Session,
    row: usize,
}

impl Keeper {
    fn new(instance: &Arc<Instance>, row: usize) -> Self {
        let mut session = login(instance);
        run(&mut session, "USE d");
        let mut keeper = Self { session, row };
        keeper.hold();
        keeper
    }

    fn hold(&mut self) {
        run(
            &mut self.session,
            &format!("BEGIN TRAN; UPDATE gate SET v = v WHERE id = {}", self.row),
        );
    }

    fn free(&mut self) {
        run(&mut self.session, "COMMIT");
    }

    fn id(&self) -> i16 {
        self.session.state().connection.id
    }
}

/// A consumer of rows, and the two sessions that stop it.
struct Stage {
    test: Session,
    keepers: [Keeper; 2],
    consumer: i16,
    cancel: Arc<Cancel>,
    answer: Receiver<(Session, Answer)>,
}

impl Stage {
    /// Begins `text` in a session. It has to read `gate` in each of its rounds.
    fn begin(text: &str) -> Self {
        let instance = instance_on(2, |_| {});
        let mut test = login(&instance);
        run(&mut test, "CREATE DATABASE d");
        run(&mut test, "USE d");
        run(
            &mut test,
            "CREATE TABLE t (id int PRIMARY KEY NONCLUSTERED, n int NOT NULL, gone int NOT NULL); \
             INSERT t SELECT value, value, 0 FROM GENERATE_SERIES(1, 20); \
             CREATE TABLE gate (id int PRIMARY KEY, v int NOT NULL); INSERT gate VALUES (1, 500), (2, 500)",
        );
        let keepers = [1, 2].map(|row| Keeper::new(&instance, row));
        let mut session = login(&instance);
        run(&mut session, "USE d");
        let consumer = session.state().connection.id;
        let cancel = Arc::clone(session.cancel());
        let answer = spawn(&instance, session, text);
        Self { test, keepers, consumer, cancel, answer }
    }

    /// Waits until the consumer waits for a keeper; returns its session and answer if it ends instead.
    fn stops_at(&mut self, keeper: usize) -> Option<(Session, Answer)> {
        let sql = format!(
            "SELECT 1 FROM sys.dm_exec_requests WHERE session_id = {} AND blocking_session_id = {}",
            self.consumer,
            self.keepers[keeper].id()
        );
        loop {
            match self.answer.try_recv() {
                Ok(ended) => return Some(ended),
                Err(TryRecvError::Disconnected) => panic!("the consumer has no answer"),
                Err(TryRecvError::Empty) => {}
            }
            if !sets(&mut self.test, &sql)[0].is_empty() {
                return None;
            }
        }
    }

    /// Waits until the consumer waits for no keeper.
    fn runs(&mut self) {
        let sql = format!(
            "SELECT 1 FROM sys.dm_exec_requests WHERE session_id = {} AND blocking_session_id = 0",
            self.consumer
        );
        while sets(&mut self.test, &sql)[0].is_empty() {}
    }

    /// Lets the consumer pick the row of this round, which has been changed since its snapshot. Another
    /// row is the first then.
    fn lose_round(&mut self, round: usize) {
        let next = round + 1;
        let change = format!(
            "UPDATE t SET n = IIF(id = {round}, n, -{round}) WHERE id IN ({round}, {next})"
        );
        run(&mut self.test, &change);
        self.keepers[0].free();
        assert!(self.stops_at(1).is_none(), "it reads both rows of the gate");
        self.keepers[0].hold();
        self.keepers[1].free();
    }
}

const PICK: &str = "WITH c AS (SELECT TOP (1) * FROM t WHERE gone = 0 \
     AND n < (SELECT SUM(v) FROM gate WITH (READCOMMITTEDLOCK)) ORDER BY n, id) UPDATE c SET gone = 1";

#[test]
fn after_six_lost_rounds_a_statement_claims_what_it_reads() {
    for text in [PICK.to_owned(), format!("BEGIN TRAN; {PICK}; SELECT @@TRANCOUNT; COMMIT")] {
        let mut stage = Stage::begin(&text);
        let mut rounds = 0;
        let (mut session, answer) = loop {
            if let Some(ended) = stage.stops_at(0) {
                break ended;
            }
            rounds += 1;
            assert!(rounds <= ROUNDS, "it goes on to lose what it picks: {text}");
            if rounds > 1 {
                stage.keepers[1].hold();
            }
            stage.lose_round(rounds);
        };
        assert!(answer.errors.is_empty(), "{text}: {answer:?}");
        assert_eq!(rounds, ROUNDS, "{text}");
        assert_eq!(answer.counts.first(), Some(&1), "{text}");
        assert_eq!(sets(&mut session, "SELECT COUNT(*) FROM t WHERE gone = 1"), [[["1"]]]);
    }
}

/// A statement that has lost its pick and is cancelled before it begins again leaves the transaction to the
/// session. The hash after the gate takes longer than the test needs to cancel it, and ends in no check.
#[test]
fn a_cancellation_between_two_rounds_leaves_the_transaction() {
    let pick = PICK.replace(
        "ORDER BY",
        "AND HASHBYTES('MD2', CONCAT(n, REPLICATE(CONVERT(varchar(max), 'x'), 300000))) <> 0x ORDER BY",
    );
    let text = format!("BEGIN TRAN; INSERT t VALUES (99, 99, 1); {pick}");
    let mut stage = Stage::begin(&text);
    assert!(stage.stops_at(0).is_none());
    stage.lose_round(1);
    stage.runs();
    stage.cancel.set();
    let (mut session, answer) = stage.answer.recv().expect("it ends");
    assert!(answer.errors.is_empty(), "{answer:?}");
    session.cancel().clear();
    assert_eq!(sets(&mut session, "SELECT @@TRANCOUNT, XACT_STATE()"), [[["1", "1"]]]);
    // Its earlier change is there, and no other session sees it before the end.
    let count = "SELECT COUNT(*) FROM t WHERE id = 99";
    assert_eq!(sets(&mut session, count), [[["1"]]]);
    assert_eq!(sets(&mut stage.test, count), [[["0"]]]);
    run(&mut session, "COMMIT");
    assert_eq!(sets(&mut stage.test, count), [[["1"]]]);
    assert_eq!(sets(&mut stage.test, "SELECT COUNT(*) FROM t WHERE gone = 1"), [[["1"]]]);
}

/// Two sessions remove duplicates at the same time, and each would keep another one. On a busy machine the victim of a
/// deadlock may claim its rows again before the other session runs, until its rounds are used up: that is 1205, and
/// the other one's statement holds.
#[test]
fn two_that_remove_duplicates_at_once_leave_one_of_each() {
    const DEDUPE: &str = "WITH d AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id ORDER) AS n \
         FROM t) DELETE d WHERE n > 1";
    for (begin, end) in [("", ""), ("BEGIN TRAN; ", "; COMMIT")] {
        let instance = instance_on(2, |_| {});
        let mut victims = 0;
        let mut test = login(&instance);
        run(&mut test, "CREATE DATABASE d");
        run(&mut test, "USE d");
        run(
            &mut test,
            "CREATE TABLE t (id int PRIMARY KEY NONCLUSTERED, k int NOT NULL); \
             INSERT t SELECT value, value % 500 FROM GENERATE_SERIES(1, 1000)",
        );
        for round in 0..20 {
            let answers = ["ASC", "DESC"].map(|order| {
                let mut session = login(&instance);
                run(&mut session, "USE d");
                let text =
                    format!("{begin}{}{end}", DEDUPE.replace("ORDER)", &format!("{order})")));
                spawn(&instance, session, &text)
            });
            for answer in answers {
                let (_, answer) = answer.recv().expect("it ends");
                assert!(answer.errors.iter().all(|error| error.number == 1205), "{answer:?}");
                victims += answer.errors.len();
            }
            assert!(victims <= 4, "{victims} victims in {round} rounds");
            let left = sets(&mut test, "SELECT COUNT(*), COUNT(DISTINCT k) FROM t");
            assert_eq!(left, [[["500", "500"]]], "round {round}: {begin}");
            run(
                &mut test,
                "INSERT t SELECT value, value % 500 FROM GENERATE_SERIES(1, 1000) \
                 WHERE value NOT IN (SELECT id FROM t)",
            );
        }
    }
}
