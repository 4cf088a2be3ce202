//! The rules over made readings: for each cause the readings in which it is there, and what
//! readings support no verdict.

mod made;

use made::{Made, SECONDS};
use verdict::recording::Subject;
use verdict::{Cause, Grade, Outcome, judge, report};

/// Session 61 waits for session 60, for a row.
const ROW_WAIT: &str = "61\tLCK_M_X\t5\t60\txactlock session=60 id=lock1 mode=X";
/// Session 60 runs a statement in a transaction.
const RUNNING: &str = "60\t0\t5\trunning\t\\N\t0\t9\t0\t0\t0\tapp\tsa\thost\tshop\t1\t0\t0x1\t0\t-1\tUPDATE t\tUPDATE";
/// Session 60 has a transaction and no request.
const IDLE: &str = "60\t\\N\t9000\tsleeping\t\\N\t\\N\t9\t0\t0\t\\N\tapp\tsa\thost\tshop\t1\t\\N\t\\N\t\\N\t\\N\tUPDATE t\t\\N";
/// Session 60 waits for its client.
const UNREAD: &str = "60\t0\t5\tsuspended\tASYNC_NETWORK_IO\t9\t9\t0\t0\t0\tapp\tsa\thost\treports\t0\t0\t0x1\t0\t-1\tSELECT *\tSELECT";
/// Session 60 lets time pass.
const PAUSING: &str = "60\t0\t5\tsuspended\tWAITFOR\t9\t9\t0\t0\t0\tapp\tsa\thost\tshop\t0\t0\t0x1\t0\t-1\tWAITFOR\tWAITFOR";
/// Session 61 waits for a row of session 60.
const LOCKED: &str = "61\t0\t5\tsuspended\tLCK_M_X\t9\t9\t0\t0\t60\tapp\tsa\thost\tshop\t1\t0\t0x1\t0\t-1\tUPDATE t\tUPDATE";
/// Session 60 creates a table.
const CREATING: &str = "60\t0\t5\trunning\t\\N\t0\t9\t0\t0\t0\tapp\tsa\thost\tshop\t0\t0\t0x1\t0\t-1\tCREATE TABLE t\tCREATE TABLE";

/// Session 60 copies a database.
const BACKING_UP: &str = "60\t0\t5\tsuspended\tIO_COMPLETION\t9\t9\t0\t0\t0\tapp\tsa\thost\tnightly\t0\t0\t0x1\t0\t-1\tBACKUP\tBACKUP DATABASE";
/// Session 60 makes a database from a copy.
const RESTORING: &str = "60\t0\t5\tsuspended\tIO_COMPLETION\t9\t9\t0\t0\t0\tapp\tsa\thost\tnightly\t0\t0\t0x1\t0\t-1\tRESTORE\tRESTORE";
/// A plan that compares each row with each of another table.
const LOOPS: &str = "<RelOp PhysicalOp=\"Nested Loops\"><RelOp PhysicalOp=\"Table Scan\"><TableScan><Object Database=\"[app]\" Schema=\"[dbo]\" Table=\"[t]\"/>";

fn locked(made: Made) -> Made {
    made.with("wait", "LCK_M_X", 4_000.0, 800).rows(Subject::Waiters, ROW_WAIT)
}

/// Every cause with readings that show it.
fn cases() -> Vec<(Cause, Made)> {
    [cases_of_locks(), cases_of_statements(), cases_around(), cases_of_classes()].concat()
}

/// What came with DBSherlock's classes.
fn cases_of_classes() -> Vec<(Cause, Made)> {
    let made = Made::healthy;
    vec![
        (
            Cause::BadJoin,
            made()
                .with("user", "execute", 400.0, 0)
                .statement("SELECT COUNT(*) FROM t JOIN u ON t.a < u.b", 50, 400, 50)
                .plan(LOOPS),
        ),
        (Cause::IndexMaintenance, made().with("user", "index maintenance", 400.0, 0)),
        (Cause::Backup, made().rows(Subject::Requests, BACKING_UP)),
        (Cause::Restore, made().rows(Subject::Requests, RESTORING)),
        (
            Cause::Checkpoints,
            made().with("wait", "WAIT_XTP_CKPT_CLOSE", 900.0, 20).rows(
                Subject::Requests,
                "60\t0\t5\tsuspended\tWAIT_XTP_CKPT_CLOSE\t9\t9\t0\t0\t0\tapp\tsa\thost\tjob\t0\t0\t0x1\t0\t-1\tCHECKPOINT\tCHECKPOINT",
            ),
        ),
        (
            Cause::WorkloadSpike,
            made()
                .with("runnable", "send", 2_000.0, 0)
                .rows(Subject::History, "the half minute before\t24000\t2400"),
        ),
    ]
}

#[test]
fn spike_needs_full_cpus_and_a_load_before_it() {
    let before = "the half minute before\t24000\t2400";
    let calm = Made::healthy().rows(Subject::History, before);
    assert_eq!(judge(&calm.recording()).outcome, Outcome::Healthy);
    let busy = |history| {
        let made = Made::healthy().with("runnable", "send", 2_000.0, 0);
        judge(&made.rows(Subject::History, history).recording()).outcome
    };
    assert_eq!(busy(before), Outcome::Cause(Cause::WorkloadSpike));
    let no_spike = Outcome::Cause(Cause::CpuElsewhere);
    assert_eq!(busy("the half minute before\t24000\t2"), no_spike, "it was idle before");
    assert_eq!(busy("the half minute before\t4000\t400"), no_spike, "too short to know");
    assert_eq!(busy("the hour before\t3000000\t2000000"), no_spike, "half as many more");
    // Answers that leave together are no fewer requests, and work of one's own is enough.
    let mut together = Made::healthy().with("user", "execute", 1_000.0, 0);
    together.ledger.retain(|(_, name, ..)| *name != "send");
    let verdict = judge(&together.rows(Subject::History, before).recording());
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::WorkloadSpike), "{}", verdict.sentence);
}

#[test]
fn thread_woken_by_a_request_waits_for_a_cpu() {
    let polls = |entries| {
        let made = Made::healthy().with("kernel", "poll", 5.0, entries);
        judge(&made.with("runnable", "poll", 2_000.0, 0).recording()).outcome
    };
    assert_eq!(polls(1_000), Outcome::Cause(Cause::CpuElsewhere), "each poll found a request");
    assert_eq!(polls(40_000), Outcome::Healthy, "most polls found none");
}

#[test]
fn plan_says_which_table_is_read() {
    let made = Made::healthy()
        .statement("SELECT s FROM t WHERE n = 7", 50, 400, 50)
        .plan(LOOPS.split_once("><").map_or("", |(_, scan)| scan));
    let verdict = judge(&made.recording());
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::MissingIndex), "{}", verdict.sentence);
    assert!(report::text(&verdict).contains("its plan reads all of [dbo].[t]"));
    let seek = Made::healthy()
        .with("user", "scan", 400.0, 0)
        .statement("SELECT s FROM t WHERE n = 7", 50, 400, 50)
        .plan("<RelOp PhysicalOp=\"Index Seek\">");
    assert_eq!(judge(&seek.recording()).outcome, Outcome::Healthy, "it looks by a key");
}

fn cases_of_locks() -> Vec<(Cause, Made)> {
    let made = Made::healthy;
    vec![
        (Cause::HotRow, locked(made()).rows(Subject::Requests, RUNNING)),
        (Cause::IdleBlocker, locked(made()).rows(Subject::Requests, IDLE)),
        (
            Cause::Deadlocks,
            locked(made()).rows(Subject::Requests, RUNNING).rate("Number of Deadlocks/sec", 50),
        ),
        (
            Cause::ApplicationLock,
            made().with("wait", "LCK_M_X", 4_000.0, 800).rows(
                Subject::Waiters,
                "61\tLCK_M_X\t5\t60\tapplicationlock hash=0a dbid=5 id=lock1 mode=X",
            ),
        ),
        (Cause::SchemaLock, made().with("wait", "LCK_M_SCH_S", 4_000.0, 80)),
    ]
}

fn cases_of_statements() -> Vec<(Cause, Made)> {
    let made = Made::healthy;
    vec![
        (Cause::MetadataSpin, made().with("spin", "CMED_HASH_SET", 300.0, 9_000)),
        (Cause::AllocatorSpin, made().with("spin", "SOS_LARGEPAGE_ALLOCATOR", 300.0, 9_000)),
        (Cause::OtherSpin, made().with("spin", "SOS_SCHEDULER", 300.0, 9_000)),
        (
            Cause::PagePerRow,
            made()
                .with("kernel", "page_populate", 200.0, 90_000)
                .with("user", "hash functions", 50.0, 0)
                .rate("Page Allocations/sec", 90_000),
        ),
        (Cause::Decommit, made().with("kernel", "decommit", 200.0, 90)),
        (
            Cause::PlanCache,
            made().with("user", "parse", 150.0, 0).rate("SQL Compilations/sec", 900),
        ),
        (
            Cause::Definitions,
            made()
                .with("user", "plan", 150.0, 0)
                .rate("Definition Changes/sec", 90)
                .rows(Subject::Requests, CREATING),
        ),
        (
            Cause::TemporaryTables,
            made()
                .with("user", "plan", 150.0, 0)
                .rate("Temp Tables Creation Rate", 500)
                .rate("Definition Changes/sec", 0),
        ),
    ]
}

fn cases_around() -> Vec<(Cause, Made)> {
    let made = Made::healthy;
    vec![
        (
            Cause::MissingIndex,
            made().with("user", "scan", 400.0, 0).statement(
                "SELECT s FROM t WHERE n = 7",
                50,
                400,
                50,
            ),
        ),
        (Cause::MemoryGrants, made().with("wait", "RESOURCE_SEMAPHORE", 900.0, 9)),
        (
            Cause::MemoryLimit,
            made()
                .rate("Out-of-Memory Errors/sec", 9)
                .level("Total Server Memory (KB)", 99_000)
                .level("Target Server Memory (KB)", 100_000),
        ),
        (Cause::Logins, made().with("user", "login", 300.0, 0).rate("Logins/sec", 300)),
        (
            Cause::SlowReader,
            made().with("wait", "ASYNC_NETWORK_IO", 900.0, 9).rows(Subject::Requests, UNREAD),
        ),
        (Cause::EventSession, Made { published: 9_000, ..made().with("user", "events", 200.0, 0) }),
        (Cause::LogDevice, made().with("wait", "WRITELOG", 3_000.0, 300)),
        (
            Cause::OldSnapshot,
            made()
                .with("user", "versions", 200.0, 0)
                .rows(Subject::Transactions, "60\t5\t90000\treports"),
        ),
        (
            Cause::CpuQuota,
            Made {
                environment: vec![("cpu_throttled_periods", 9), ("cpu_throttled_us", 500_000)],
                ..made()
            },
        ),
        (Cause::CpuElsewhere, made().with("runnable", "send", 2_000.0, 0)),
        (Cause::WorkerThreads, made().level("Worker Waits", 90).rows(Subject::Requests, PAUSING)),
        (Cause::LateAnswers, Made { late: vec![(Subject::Requests, 2)], ..made() }),
    ]
}

#[test]
fn every_cause_is_named_from_readings_that_show_it() {
    let cases = cases();
    for cause in Cause::ALL {
        let (_, made) = cases.iter().find(|(known, _)| *known == cause).expect("a case for each");
        let verdict = judge(&made.recording());
        assert_eq!(verdict.outcome, Outcome::Cause(cause), "{}", report::text(&verdict));
        assert_eq!(verdict.findings[0].grade, Grade::Suspected, "{cause:?}: nothing was tested");
        assert!(!verdict.ruled_out.iter().any(|(other, _)| *other == cause), "{cause:?}");
    }
}

#[test]
fn memory_that_goes_back_near_the_limit_is_the_limits_doing() {
    let made = Made::healthy()
        .with("kernel", "decommit", 200.0, 90)
        .level("Total Server Memory (KB)", 90_000)
        .level("Target Server Memory (KB)", 100_000);
    let verdict = judge(&made.recording());
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::MemoryLimit), "{}", verdict.sentence);
}

#[test]
fn answers_held_until_they_are_durable_wait_for_a_slow_device() {
    // Twenty commits per second, and the milliseconds that each is held, without a thread.
    let held = |ms: i64| {
        let made = Made::healthy().rate("Log waits", 20).rate("Log wait ms", 20 * ms);
        judge(&made.recording())
    };
    let slow = held(120);
    assert_eq!(slow.outcome, Outcome::Cause(Cause::LogDevice), "{}", slow.sentence);
    assert!(slow.sentence.contains("a commit waits 120 ms"), "{}", slow.sentence);
    assert_eq!(held(2).outcome, Outcome::Healthy);
    // A device that is a little slow is seen where the CPUs are free, and not behind a queue for them.
    assert_eq!(held(4).outcome, Outcome::Cause(Cause::LogDevice));
    let made = Made::healthy().rate("Log waits", 20).rate("Log wait ms", 80);
    let short = judge(&made.with("signal", "SOS_SCHEDULER_YIELD", 600.0, 9).recording());
    assert_eq!(short.outcome, Outcome::Healthy, "{}", short.sentence);
}

#[test]
fn memory_that_goes_and_comes_all_the_time_is_known_by_its_count() {
    // A twentieth of the work, which alone would not count.
    let made = |returned, taken| {
        let made = Made::healthy().with("kernel", "page_populate", 20.0, taken);
        judge(&made.with("kernel", "decommit", 6.0, returned).recording()).outcome
    };
    assert_eq!(made(200, 300), Outcome::Cause(Cause::Decommit));
    assert_eq!(made(200, 2), Outcome::Healthy, "the trimmer returns what is not needed");
    assert_eq!(made(2, 300), Outcome::Healthy, "new rows need memory");
}

#[test]
fn requests_that_queue_behind_locks_for_a_worker_wait_for_the_locks() {
    let made = Made::healthy()
        .with("wait", "LCK_M_X", 90_000.0, 9)
        .level("Worker Waits", 90)
        .rows(Subject::Waiters, "61\tLCK_M_X\t900\t60\tkeylock hobtid=1 dbid=5 id=lock1 mode=X associatedObjectId=1 of dbo.stock (id = 7)")
        .rows(Subject::Requests, LOCKED);
    let verdict = judge(&made.recording());
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::HotRow), "{}", verdict.sentence);
    let details = &verdict.findings[0].candidate.details;
    assert!(details.iter().any(|line| line == "the row: dbo.stock (id = 7)"), "{details:?}");
    assert!(verdict.findings.iter().any(|one| one.candidate.cause == Cause::WorkerThreads));
    // A server of which no request ends, since each waits in WAITFOR, is not idle.
    let stands = Made {
        ledger: vec![("wait", "WAITFOR", 90_000.0, 9), ("idle", "poll", 3_000.0, 9)],
        rates: Vec::new(),
        statements: Vec::new(),
        ..Made::healthy().level("Worker Waits", 90).rows(Subject::Requests, PAUSING)
    };
    let verdict = judge(&stands.recording());
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::WorkerThreads), "{}", verdict.sentence);
}

#[test]
fn memory_that_only_grows_is_no_finding() {
    let made = Made::healthy().with("kernel", "page_populate", 200.0, 90);
    assert_eq!(judge(&made.recording()).outcome, Outcome::Healthy);
    let returned = made.with("kernel", "decommit", 20.0, 90);
    assert_eq!(judge(&returned.recording()).outcome, Outcome::Cause(Cause::Decommit));
}

#[test]
fn statements_that_fail_for_memory_that_queries_hold_need_grants() {
    let said = |granted| {
        let made = Made::healthy()
            .with("wait", "MEMORY_ALLOCATION_EXT", 900.0, 90)
            .rate("Out-of-Memory Errors/sec", 9)
            .level("Granted Workspace Memory (KB)", granted)
            .level("Total Server Memory (KB)", 90_000)
            .level("Target Server Memory (KB)", 100_000);
        judge(&made.recording()).outcome
    };
    assert_eq!(said(70_000), Outcome::Cause(Cause::MemoryGrants));
    assert_eq!(said(10_000), Outcome::Cause(Cause::MemoryLimit));
}

#[test]
fn healthy_load_has_no_cause() {
    let verdict = judge(&Made::healthy().recording());
    assert_eq!(verdict.outcome, Outcome::Healthy, "{}", verdict.sentence);
    assert!(
        verdict.sentence.contains("the limit is outside of the server"),
        "{}",
        verdict.sentence
    );
    assert_eq!(verdict.ruled_out.len(), 3);
}

#[test]
fn requests_that_are_at_work_all_the_time_are_not_waited_for() {
    // Half of two schedulers, and as long again in the queue for the machine's CPUs.
    let busy = Made::healthy().with("user", "execute", 500.0, 0).with("runnable", "send", 500.0, 0);
    let verdict = judge(&busy.recording());
    assert_eq!(verdict.outcome, Outcome::Healthy, "{}", verdict.sentence);
    assert!(verdict.sentence.contains("their own work"), "{}", verdict.sentence);
    assert!(!verdict.sentence.contains("outside"), "{}", verdict.sentence);
}

#[test]
fn search_inside_an_insert_of_a_trigger_is_named() {
    let text = "INSERT dbo.audit SELECT (SELECT COUNT(*) FROM t WHERE a = 1)";
    let made = Made::healthy().with("user", "scan", 600.0, 0).statement(text, 100, 600, 100);
    let plan = "<RelOp PhysicalOp=\"Table Scan\"><Object Schema=\"[dbo]\" Table=\"[t]\"/>";
    let verdict = judge(&made.plan(plan).recording());
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::MissingIndex), "{}", verdict.sentence);
    // A plan without a search is that of a plain insert.
    let made = Made::healthy().with("user", "row", 600.0, 0).statement(
        "INSERT dbo.audit VALUES (@a)",
        100,
        600,
        100,
    );
    let plan = "<RelOp PhysicalOp=\"Insert\"><RelOp PhysicalOp=\"Constant Scan\">";
    assert_eq!(judge(&made.plan(plan).recording()).outcome, Outcome::Healthy);
}

#[test]
fn many_errors_are_a_warning_and_no_cause() {
    let verdict = judge(&Made::healthy().rate("Errors/sec", 500).recording());
    assert_eq!(verdict.outcome, Outcome::Healthy);
    assert!(verdict.warnings[0].starts_with("500.0 errors per second"), "{:?}", verdict.warnings);
    assert_eq!(judge(&Made::healthy().rate("Errors/sec", 5).recording()).warnings.len(), 0);
}

#[test]
fn parts_add_up_to_the_whole_and_the_bar_to_a_hundred_percent() {
    for (cause, made) in cases() {
        let window = judge(&made.recording()).window;
        let sum: f64 = window.parts.iter().map(|part| part.active).sum();
        assert!((sum - window.active).abs() < 1e-9, "{cause:?}");
        // Per request, too: the whole is what the threads did, over the requests.
        let us: f64 = window.parts.iter().map(|part| part.per_request.mean).sum();
        assert!((us - window.active * 1e6 / window.requests.mean).abs() < 1e-3, "{cause:?}: {us}");
        let bar: u32 = window.bar().iter().map(|part| part.1).sum();
        assert_eq!(bar, 1_000, "{cause:?}");
        assert!((window.requests.mean - 1_000.0).abs() < 1e-6, "its own five are not counted");
    }
}

#[test]
fn empty_server_has_nothing_to_diagnose() {
    let made = Made {
        ledger: vec![
            ("idle", "SLEEP_TASK", 4_000.0, 9),
            ("user", "background", 2.0, 0),
            ("kernel", "decommit", 2.0, 9),
        ],
        rates: vec![("Batch Requests/sec", 5)],
        ..Made::default()
    };
    let verdict = judge(&made.recording());
    assert_eq!(verdict.outcome, Outcome::Healthy);
    assert!(verdict.sentence.starts_with("Nothing to diagnose"), "{}", verdict.sentence);
    let nothing = judge(&Made::default().recording());
    assert!(nothing.sentence.starts_with("Nothing to diagnose"), "{}", nothing.sentence);
}

#[test]
fn dark_time_supports_no_verdict() {
    let verdict = judge(&locked(Made::healthy()).with("dark", "unlabelled", 900.0, 0).recording());
    assert_eq!(verdict.outcome, Outcome::Abstained);
    assert!(verdict.sentence.contains("dark"), "{}", verdict.sentence);
}

#[test]
fn two_causes_of_one_size_support_no_verdict() {
    let made = Made::healthy().with("wait", "RESOURCE_SEMAPHORE", 1_000.0, 9).with(
        "wait",
        "ASYNC_NETWORK_IO",
        1_000.0,
        9,
    );
    let verdict = judge(&made.recording());
    assert_eq!(verdict.outcome, Outcome::Abstained);
    assert!(verdict.sentence.contains("two causes"), "{}", verdict.sentence);
    assert_eq!(verdict.findings.len(), 2, "both are shown all the same");
}

#[test]
fn restart_and_standing_clocks_support_no_verdict() {
    let made = Made::healthy();
    let mut recording = made.recording();
    recording.readings[4].clock.start_ticks_ms = 99;
    assert!(judge(&recording).sentence.contains("restarted"));
    let mut recording = made.recording();
    for reading in &mut recording.readings {
        reading.clock.ticks_ms = 5;
        reading.clock.local_ns = 5;
    }
    assert!(judge(&recording).sentence.contains("no time passed"));
    recording.readings.truncate(1);
    assert!(judge(&recording).sentence.contains("too short"));
}

#[test]
fn late_answers_come_behind_what_makes_them_late() {
    let late = vec![(Subject::Statements, 2)];
    let made = Made { late, ..locked(Made::healthy()).rows(Subject::Requests, RUNNING) };
    let verdict = judge(&made.recording());
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::HotRow), "{}", verdict.sentence);
    let text = report::text(&verdict);
    assert!(text.contains("sys.dm_exec_query_stats: 2 late answers"), "{text}");
}

#[test]
fn server_that_stops_answering_is_said_beside_the_verdict() {
    let mut recording = locked(Made::healthy()).recording();
    recording.has_gone_silent = true;
    let verdict = judge(&recording);
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::HotRow));
    let end = "The server has stopped answering: this is of the 8.0 s before.";
    assert!(verdict.sentence.ends_with(end), "{}", verdict.sentence);
}

#[test]
fn readings_without_some_answers_are_compared_by_the_others() {
    let missing = |subject: Subject, places: &[usize]| {
        let made = Made::healthy()
            .with("user", "versions", 200.0, 0)
            .rows(Subject::Transactions, "60\t5\t90000\treports");
        let mut recording = made.recording();
        for place in places {
            recording.readings[*place] = made.reading_without(*place as i64, subject);
        }
        judge(&recording)
    };
    let old_snapshot = Outcome::Cause(Cause::OldSnapshot);
    for places in [&[0][..], &[4, 5], &[8]] {
        let verdict = missing(Subject::Counters, places);
        assert_eq!(verdict.outcome, old_snapshot, "{places:?}: {}", verdict.sentence);
        let requests = verdict.window.requests.mean;
        assert!((850.0..1_010.0).contains(&requests), "{places:?}: {requests}");
        let verdict = missing(Subject::Transactions, places);
        assert_eq!(verdict.outcome, old_snapshot, "{places:?}: {}", verdict.sentence);
    }
    // A difference to nothing is no growth.
    let verdict = missing(Subject::Statements, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(verdict.window.statements.is_empty());
}

#[test]
fn server_clock_that_jumps_back_is_replaced_by_ours() {
    let mut recording = locked(Made::healthy()).rows(Subject::Requests, RUNNING).recording();
    recording.readings[5].clock.ticks_ms = 1_000;
    let verdict = judge(&recording);
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::HotRow), "{}", verdict.sentence);
    // Back by 3 s: 1 s by ours; then forward by 5 s.
    assert_eq!(verdict.window.windows as i64, SECONDS);
    assert!((verdict.window.seconds - 12.0).abs() < 1e-9, "{}", verdict.window.seconds);
}

#[test]
fn counters_that_were_reset_count_from_zero() {
    let mut recording = Made::healthy().recording();
    let fresh = Made::healthy().reading(1, 8_000);
    recording.readings[8] = fresh;
    let verdict = judge(&recording);
    assert!(verdict.window.requests.mean > 0.0 && verdict.window.active < 10.0);
}

/// SQL Server 2019 has no ledger, and its waits are in milliseconds.
#[test]
fn server_of_another_kind_gets_a_suspicion_at_most() {
    let made = Made {
        is_foreign: true,
        ledger: vec![("wait", "LCK_M_X", 4_000.0, 800), ("signal", "LCK_M_X", 10.0, 800)],
        ..locked(Made::healthy()).rows(Subject::Requests, RUNNING)
    };
    let mut recording = made.recording();
    recording.missing = vec!["the time ledger".to_owned()];
    let verdict = judge(&recording);
    assert_eq!(verdict.outcome, Outcome::Cause(Cause::HotRow));
    assert_eq!(verdict.findings[0].grade, Grade::Suspected);
    assert!(verdict.warnings.iter().any(|warning| warning.contains("the time ledger")));
    let has_cpu = verdict.window.parts.iter().any(|part| part.name == "process");
    assert!(has_cpu, "the CPU of the process stands in for the ledger");
}

#[test]
fn intervention_decides_the_grade() {
    let recording = locked(Made::healthy()).rows(Subject::Requests, RUNNING).recording();
    let mut verdict = judge(&recording);
    verdict.confirm(true, "33 % were foretold".to_owned());
    assert_eq!(verdict.findings[0].grade, Grade::Confirmed);
    assert!(verdict.sentence.contains("(confirmed)"), "{}", verdict.sentence);
    verdict.confirm(false, "it changed nothing".to_owned());
    assert_eq!(verdict.findings[0].grade, Grade::Observed);
    assert!(report::text(&verdict).contains("it changed nothing"));
}

#[test]
fn reports_have_every_column_and_no_resource_from_elsewhere() {
    let made = locked(Made::healthy()).rows(Subject::Requests, RUNNING).statement(
        "SELECT '<b>' & \"x\"",
        1,
        1,
        1,
    );
    let verdict = judge(&made.recording());
    let text = report::text(&verdict);
    for head in [
        "Priority",
        "Group",
        "Finding",
        "Impact",
        "Evidence",
        "What to do",
        "How to check",
        "Ruled out",
        "Statements that use most CPU time",
    ] {
        assert!(text.contains(head), "{head} in {text}");
    }
    let html = report::html(&verdict);
    for forbidden in ["<script", "http://", "https://", "src=", "@import", "<b>"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert!(html.contains("<th>How to check</th>"));
    let json = report::json(&verdict);
    assert!(json.starts_with("{\"outcome\":\"cause\",\"cause\":\"hot-row\""), "{json}");
    let opening = json.matches(['{', '[']).count();
    assert_eq!(opening, json.matches(['}', ']']).count());
    assert!(!json.contains("inf") && !json.contains("NaN"), "{json}");
}

/// Each advice, check and evidence is there, and evidence is a SELECT.
#[test]
fn every_cause_says_what_to_do() {
    for cause in Cause::ALL {
        let entry = cause.entry();
        assert!(entry.evidence.starts_with("SELECT "), "{cause:?}");
        for text in [entry.finding, entry.advice, entry.check, entry.group] {
            assert!(text.len() > 2, "{cause:?}");
        }
    }
}
