//! Backups in the crash test. A copy is written to one file again and again; a chain has a full backup and
//! backups of the log since. A client writes marks and notes a moment between each two of them. After
//! each restart the copy is restored, and the chain to one of these moments:
//!
//! - what is restored has no transaction in part, and nothing that a crash has taken;
//! - it has each mark that was acknowledged before the moment, and none after it.

#![expect(clippy::disallowed_types, reason = "as in the crash test")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::instance::Instance;
use engine::session::Session;
use simdisk::Random;
use sos::park;
use sos::wait::WaitType;

use super::backup::Data;
use super::crash::{Client, LOAD, SUM, WRITERS, ask, first_number, rows_of};

/// Backups of the log after which the next full one is made.
const LOGS: usize = 5;

/// What was backed up and acknowledged, over all lives.
#[derive(Debug)]
pub(crate) struct Backups {
    /// They are on a disk that does not crash.
    data: Data,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    chain: Option<Chain>,
    /// The number of backups that were begun: each has another file.
    begun: u64,
    /// Marks that were acknowledged: the number, and a moment after it and before the next one.
    marks: Vec<(i64, String)>,
    last_mark: i64,
}

/// A full backup, those of the log since, and which marks lie in the log.
#[derive(Clone, Debug)]
struct Chain {
    full: String,
    logs: Vec<String>,
    first_mark: usize,
    end_mark: usize,
    /// Whether a backup of the log came to an unknown end: it may be a part of the chain.
    is_ended: bool,
}

impl Backups {
    pub(crate) fn new(name: &str) -> Self {
        Self { data: Data::new(name), state: Mutex::default() }
    }

    fn copy(&self) -> String {
        self.data.file("copy.bak")
    }

    /// Returns the name of a file that no other backup has.
    fn next_file(&self) -> String {
        let mut state = self.state.lock().unwrap();
        state.begun += 1;
        self.data.file(&format!("{}.bak", state.begun))
    }

    /// Writes backups until the client stops.
    pub(crate) fn write(&self, mut my: Client<'_>) {
        for turn in 0_u64.. {
            if !my.goes_on() {
                return;
            }
            if turn.is_multiple_of(4) {
                let text =
                    format!("BACKUP DATABASE d TO DISK = '{}' WITH INIT, COPY_ONLY", self.copy());
                back_up(&mut my, &text);
            }
            self.extend(&mut my);
            park::sleep(Duration::from_millis(20), WaitType::SleepTask, None);
        }
    }

    /// Writes a backup of the log, or a full one if there is none or the chain is long.
    fn extend(&self, my: &mut Client<'_>) {
        let (chain, marks) = {
            let state = self.state.lock().unwrap();
            (state.chain.clone(), state.marks.len())
        };
        let file = self.next_file();
        let extended = match chain.filter(|chain| !chain.is_ended && chain.logs.len() < LOGS) {
            None => back_up(my, &format!("BACKUP DATABASE d TO DISK = '{file}'")).then(|| {
                let marks = self.state.lock().unwrap().marks.len();
                Chain {
                    full: file,
                    logs: Vec::new(),
                    first_mark: marks,
                    end_mark: marks,
                    is_ended: false,
                }
            }),
            Some(mut chain) => {
                if back_up(my, &format!("BACKUP LOG d TO DISK = '{file}'")) {
                    chain.logs.push(file);
                    chain.end_mark = marks;
                } else {
                    chain.is_ended = true;
                }
                Some(chain)
            }
        };
        if extended.is_some() {
            self.state.lock().unwrap().chain = extended;
        }
    }

    /// Writes marks until the client stops.
    pub(crate) fn mark(&self, mut my: Client<'_>) {
        let pause = || park::sleep(Duration::from_millis(2), WaitType::SleepTask, None);
        while my.goes_on() {
            let mark = {
                let mut state = self.state.lock().unwrap();
                state.last_mark += 1;
                state.last_mark
            };
            if my.ask(&format!("INSERT marks VALUES ({mark})")).is_none() {
                return;
            }
            pause();
            let text = "SELECT CONVERT(varchar(40), SYSUTCDATETIME(), 126)";
            let Some(answer) = my.ask(text) else { return };
            let moment = answer.sets[0][0][0].clone();
            self.state.lock().unwrap().marks.push((mark, moment));
            pause();
        }
    }

    /// Restores the copy and the chain under other names, and compares them with themselves and with
    /// what is there now. Without one there is nothing to do: the first crash came before its end.
    pub(crate) fn check(
        &self,
        session: &mut Session,
        instance: &Arc<Instance>,
        random: &mut Random,
    ) {
        if std::fs::exists(self.copy()).unwrap() {
            let text =
                format!("RESTORE DATABASE copied FROM DISK = '{}' WITH REPLACE", self.copy());
            must(session, instance, &text);
            check_restored(session, instance, "copied");
        }
        let state = self.state.lock().unwrap();
        if let Some(chain) = &state.chain {
            check_chain(session, instance, (chain, &state.marks), random);
        }
    }
}

/// Runs a backup; returns whether it was acknowledged.
fn back_up(my: &mut Client<'_>, text: &str) -> bool {
    let Some(answer) = ask(&mut my.session, my.instance, text) else { return false };
    // 3203: the disk went down while the log was read. 3961: a table was redefined while it was read.
    let is_known = |number: i32| [3203, 3961, 9001, 9002].contains(&number);
    let errors = answer.errors;
    assert!(errors.first().is_none_or(|error| is_known(error.number)), "{text}: {errors:?}");
    errors.is_empty()
}

/// Runs what must succeed.
fn must(session: &mut Session, instance: &Instance, text: &str) {
    rows_of(session, instance, text);
}

/// Restores a chain to a moment between two marks, or to its end if no mark is in its log.
fn check_chain(
    session: &mut Session,
    instance: &Instance,
    (chain, marks): (&Chain, &[(i64, String)]),
    random: &mut Random,
) {
    let full =
        format!("RESTORE DATABASE chained FROM DISK = '{}' WITH NORECOVERY, REPLACE", chain.full);
    must(session, instance, &full);
    let covered = chain.end_mark.saturating_sub(chain.first_mark);
    let at = (covered > 0).then(|| chain.first_mark + random.index(covered));
    let stop = at.map_or(String::new(), |at| format!(", STOPAT = '{}'", marks[at].1));
    for log in &chain.logs {
        if !is_restoring(session, instance) {
            break;
        }
        let how = if at.is_some() { "RECOVERY" } else { "NORECOVERY" };
        let text = format!("RESTORE LOG chained FROM DISK = '{log}' WITH {how}{stop}");
        must(session, instance, &text);
    }
    if at.is_none() {
        must(session, instance, "RESTORE DATABASE chained WITH RECOVERY");
    }
    assert!(!is_restoring(session, instance), "the moment is in no log: {chain:?}, {at:?}");
    if let Some(at) = at {
        let rows = rows_of(session, instance, "SELECT n FROM chained.dbo.marks");
        let here: BTreeSet<i64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
        let last = marks[at].0;
        assert!(here.iter().all(|mark| *mark <= last), "after {:?}: {here:?}", marks[at]);
        let missing: Vec<i64> = marks[..=at]
            .iter()
            .map(|(mark, _)| *mark)
            .filter(|mark| !here.contains(mark))
            .collect();
        assert_eq!(missing, [] as [i64; 0], "before {:?}", marks[at]);
    }
    check_restored(session, instance, "chained");
}

fn is_restoring(session: &mut Session, instance: &Instance) -> bool {
    let text = "SELECT state_desc FROM sys.databases WHERE name = 'chained'";
    rows_of(session, instance, text) == [["RESTORING"]]
}

/// Compares a restored database with itself and with what is there now.
fn check_restored(session: &mut Session, instance: &Instance, name: &str) {
    let mut all = |text: &str| rows_of(session, instance, text);
    let sum = all(&format!("SELECT SUM(balance) FROM {name}.dbo.bank"));
    assert_eq!(sum, [[SUM.to_string()]], "the bank's sum in {name}");
    for client in 0..WRITERS {
        let of = |database: &str| {
            format!(
                "SELECT COUNT(*), ISNULL(MAX(n), 0) FROM {database}.dbo.journal WHERE client = {client}"
            )
        };
        let (then, now) = (all(&of(name)), all(&of("d")));
        assert_eq!(then[0][0], then[0][1], "a gap in {name}, client {client}");
        let is_earlier = first_number(&then) <= first_number(&now);
        assert!(is_earlier, "{name}, client {client}: {then:?} {now:?}");
        let by_n = format!(
            "SELECT COUNT(*) FROM {name}.dbo.journal WITH (INDEX (by_n)) WHERE client = {client} AND n > 0"
        );
        assert_eq!(all(&by_n)[0][0], then[0][0], "the index of {name}");
    }
    let loads = all(&format!(
        "SELECT COUNT(*) % {LOAD}, ISNULL(SUM(n), 0) - COUNT(*) / {LOAD} * {} FROM {name}.dbo.loads",
        LOAD * (LOAD + 1) / 2
    ));
    assert_eq!(loads, [["0", "0"]], "a load is in {name} in part");
}
