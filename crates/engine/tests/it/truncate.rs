//! What other sessions see while TRUNCATE TABLE deletes many rows, and what is there when it does not end
//! well. It pauses between two rows, so they see it on one scheduler as on several.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{Answer, batch, instance_on, login, run, sets, spawn};

const ROWS: usize = 100_000;

/// A table that is being truncated by a session.
struct Stage {
    instance: Arc<Instance>,
    test: Session,
    truncating: i16,
    cancel: Arc<sos::park::Cancel>,
    answer: Receiver<(Session, Answer)>,
}

impl Stage {
    /// Begins `text`, which truncates the table, and returns when some of its rows are deleted and others
    /// are not: that is what a dirty read shows.
    fn begin(text: &str) -> Self {
        let instance = instance_on(1, |_| {});
        let mut test = login(&instance);
        run(&mut test, "CREATE DATABASE d");
        run(
            &mut test,
            "USE d; CREATE TABLE t (id int IDENTITY PRIMARY KEY, n int NOT NULL, INDEX i (n))",
        );
        run(&mut test, &format!("INSERT t SELECT value FROM GENERATE_SERIES(1, {ROWS})"));
        let mut session = login(&instance);
        run(&mut session, "USE d");
        let truncating = session.state().connection.id;
        let cancel = Arc::clone(session.cancel());
        let answer = spawn(&instance, session, text);
        let mut stage = Self { instance, test, truncating, cancel, answer };
        while !(1..ROWS).contains(&stage.count("WITH (NOLOCK)")) {
            assert!(stage.answer.try_recv().is_err(), "it ended before it was seen: too few rows");
        }
        stage
    }

    fn count(&mut self, hint: &str) -> usize {
        sets(&mut self.test, &format!("SELECT COUNT(*) FROM t {hint}"))[0][0][0].parse().unwrap()
    }

    fn end(&mut self) -> (Session, Answer) {
        self.answer.recv().expect("it ends")
    }
}

#[test]
fn readers_see_all_rows_of_a_table_that_is_being_truncated_or_none() {
    let mut stage = Stage::begin("TRUNCATE TABLE t");
    assert_eq!(stage.count(""), ROWS, "by row versions: as it was");
    // By locks: the rows that are deleted so far are the transaction's.
    let read = "SET LOCK_TIMEOUT 0; SELECT COUNT(*) FROM t WITH (READCOMMITTEDLOCK)";
    assert_eq!(batch(&mut stage.test, read).errors[0].number, 1222);
    run(&mut stage.test, "SET LOCK_TIMEOUT -1");
    // A row that is added in between is behind the truncation.
    run(&mut stage.test, "INSERT t VALUES (-1)");
    let seen = loop {
        match stage.count("") {
            1 => break 1,
            other => assert_eq!(other, ROWS + 1, "some rows are gone and others are not"),
        }
    };
    let (_, answer) = stage.end();
    assert!(answer.errors.is_empty(), "{answer:?}");
    assert_eq!(stage.count("WITH (NOLOCK)"), seen);
    assert_eq!(sets(&mut stage.test, "SELECT n FROM t"), [[["-1"]]]);
    assert_eq!(sets(&mut stage.test, "SELECT COUNT(*) FROM t WHERE n > 0"), [[["0"]]]);
}

#[test]
fn a_truncation_that_is_cancelled_or_killed_has_deleted_nothing() {
    for (text, is_kill) in [
        ("TRUNCATE TABLE t", false),
        ("BEGIN TRAN; INSERT t VALUES (-1); TRUNCATE TABLE t", false),
        ("TRUNCATE TABLE t", true),
    ] {
        let mut stage = Stage::begin(text);
        if is_kill {
            let kill = format!("KILL {}", stage.truncating);
            run(&mut stage.test, &kill);
        } else {
            stage.cancel.set();
        }
        let (mut session, answer) = stage.end();
        assert!(answer.errors.is_empty(), "{text}: {answer:?}");
        if text.starts_with("BEGIN") {
            session.cancel().clear();
            let own = "SELECT COUNT(*), @@TRANCOUNT FROM t";
            assert_eq!(sets(&mut session, own), [[[(ROWS + 1).to_string(), "1".to_owned()]]]);
            run(&mut session, "ROLLBACK");
        }
        drop(session);
        assert_eq!(stage.count(""), ROWS, "{text}");
        assert_eq!(stage.count("WITH (INDEX (i)) WHERE n > 0"), ROWS, "{text}");
        // Its rows are free, and the identity goes on.
        run(&mut stage.test, "SET LOCK_TIMEOUT 0; UPDATE t SET n = n; INSERT t VALUES (0)");
        let next = sets(&mut stage.test, "SELECT MAX(id) - COUNT(*) FROM t");
        assert_eq!(next, [[[usize::from(text.starts_with("BEGIN")).to_string()]]], "{text}");
        drop(stage.instance);
    }
}
