//! BACKUP LOG and RESTORE LOG: a chain of backups gives back each moment, also on a database under
//! load, and files that do not fit are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::durable::{Folder, Settings};
use engine::instance::Instance;
use engine::session::Session;

use super::backup::Data;
use crate::client::{batch, errors, instance, login, run, sets};

const SETUP: &[&str] = &[
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE t (id int IDENTITY PRIMARY KEY, v int, pad varchar(max))",
    "CREATE INDEX by_v ON t (v)",
    "CREATE TABLE cs (x int, y varchar(20), INDEX ci CLUSTERED COLUMNSTORE)",
    "CREATE TABLE gone (x int)",
    "CREATE SEQUENCE s AS int START WITH 100",
    "INSERT t (v, pad) VALUES (1, REPLICATE(CAST('x' AS varchar(max)), 20000)), (2, NULL)",
    "INSERT cs SELECT value, 'y' FROM GENERATE_SERIES(1, 2000)",
    "ALTER INDEX ci ON cs REBUILD",
    "INSERT gone VALUES (1)",
    "USE master",
];

/// Changes of each kind.
const CHANGES: &[&str] = &[
    "USE d",
    "INSERT t (v, pad) VALUES (3, 'three'); UPDATE t SET v = 20 WHERE v = 2; DELETE t WHERE v = 1",
    "ALTER TABLE t ADD w int NOT NULL DEFAULT 7",
    "UPDATE t SET w = 8 WHERE v = 20",
    "DELETE cs WHERE x <= 500; INSERT cs VALUES (3000, 'z')",
    "CREATE TABLE made (a int PRIMARY KEY); INSERT made VALUES (5)",
    "SELECT NEXT VALUE FOR s",
    "EXEC ('CREATE VIEW vw AS SELECT v FROM t')",
    "USE master",
];

const LOOK: &str = "SELECT id, v, LEN(pad) FROM t ORDER BY id; SELECT v FROM t WITH (INDEX (by_v)) WHERE v > 0 ORDER BY v;
    SELECT COUNT(*), SUM(x), MAX(y) FROM cs; SELECT name FROM sys.objects WHERE type IN ('U', 'V') ORDER BY name";

fn look(session: &mut Session, database: &str) -> Vec<Vec<Vec<String>>> {
    run(session, &format!("USE {database}"));
    let found = sets(session, LOOK);
    run(session, "USE master");
    found
}

fn all(session: &mut Session, texts: &[&str]) {
    texts.iter().for_each(|text| {
        run(session, text);
    });
}

fn state(session: &mut Session, database: &str) -> String {
    let text = format!("SELECT state_desc FROM sys.databases WHERE name = '{database}'");
    sets(session, &text)[0][0][0].clone()
}

#[test]
fn a_chain_gives_back_each_backup() {
    let data = Data::new("chain");
    let file = |name: &str| data.file(name);
    let (full, one, two) = (file("full"), file("one"), file("two"));
    let (first, second, third);
    {
        let instance = data.open();
        let mut session = login(&instance);
        all(&mut session, SETUP);
        run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{full}'"));
        first = look(&mut session, "d");
        all(&mut session, CHANGES);
        run(&mut session, &format!("BACKUP LOG d TO DISK = '{one}' WITH COMPRESSION"));
        second = look(&mut session, "d");
        run(
            &mut session,
            "USE d; DROP TABLE gone; DELETE t WHERE v = 3; INSERT t (v) VALUES (4); USE master",
        );
        // The log goes on over a restart.
        instance.durable().unwrap().stop();
    }
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "INSERT d.dbo.t (v) VALUES (5)");
    run(&mut session, &format!("BACKUP LOG d TO DISK = '{two}'"));
    third = look(&mut session, "d");
    run(&mut session, "INSERT d.dbo.t (v) VALUES (6)");
    for (name, logs, expected) in
        [("a", vec![], &first), ("b", vec![&one], &second), ("c", vec![&one, &two], &third)]
    {
        let text = format!("RESTORE DATABASE {name} FROM DISK = '{full}' WITH NORECOVERY, REPLACE");
        run(&mut session, &text);
        assert_eq!(state(&mut session, name), "RESTORING");
        assert_eq!(errors(&mut session, &format!("USE {name}")), [927]);
        assert_eq!(errors(&mut session, &format!("SELECT * FROM {name}.dbo.t")), [927]);
        for log in logs {
            let text = format!("RESTORE LOG {name} FROM DISK = '{log}' WITH NORECOVERY");
            run(&mut session, &text);
        }
        run(&mut session, &format!("RESTORE DATABASE {name} WITH RECOVERY"));
        assert_eq!(state(&mut session, name), "ONLINE");
        assert_eq!(&look(&mut session, name), expected, "{name}");
    }
    // The copy lives: counters go on, constraints hold, and it can be changed and backed up.
    run(&mut session, "USE c; INSERT t (v) VALUES (9)");
    let values =
        sets(&mut session, "SELECT IIF(MAX(id) > 5, 1, 0) FROM t; SELECT NEXT VALUE FOR s");
    assert_eq!(values, [[["1"]], [["101"]]]);
    assert_eq!(errors(&mut session, "INSERT made VALUES (5)"), [2627]);
    run(&mut session, "USE master");
    assert_eq!(
        errors(&mut session, &format!("BACKUP LOG c TO DISK = '{}'", file("x"))),
        [4214, 3013]
    );
    instance.durable().unwrap().stop_at_once();
    drop(session);
    drop(instance);
    let instance = data.open();
    let mut session = login(&instance);
    assert_eq!(look(&mut session, "b"), second, "after a restart");
    let text = "SELECT type, begins_log_chain FROM msdb.dbo.backupset ORDER BY backup_set_id;
                SELECT COUNT(*) FROM msdb.dbo.backupset a JOIN msdb.dbo.backupset b
                ON a.last_lsn = b.first_lsn AND a.type = 'L' AND b.type = 'L';
                SELECT restore_type, recovery FROM msdb.dbo.restorehistory
                WHERE destination_database_name = 'b' ORDER BY restore_history_id";
    let shown = sets(&mut session, text);
    assert_eq!(shown[0], [["D", "0"], ["L", "1"], ["L", "0"]]);
    assert_eq!(shown[1], [["1"]]);
    assert_eq!(shown[2], [["D", "0"], ["L", "0"]]);
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let data = Data::new("unfit");
    let file = |name: &str| data.file(name);
    let [full, full2, one, two, other] = ["full", "full2", "one", "two", "other"].map(file);
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE TABLE d.dbo.t (a int); CREATE DATABASE simple");
    run(&mut session, "ALTER DATABASE simple SET RECOVERY SIMPLE");
    let log = |path: &str| format!("BACKUP LOG d TO DISK = '{path}'");
    assert_eq!(errors(&mut session, &log(&one)), [4214, 3013]);
    assert_eq!(errors(&mut session, &format!("BACKUP LOG simple TO DISK = '{one}'")), [4208, 3013]);
    assert_eq!(errors(&mut session, &format!("BACKUP LOG master TO DISK = '{one}'")), [4212, 3013]);
    let reason =
        "SELECT log_reuse_wait_desc, recovery_model_desc FROM sys.databases WHERE name = 'd';
                  SELECT log_truncation_holdup_reason FROM sys.dm_db_log_stats(DB_ID('d'));
                  SELECT IIF(last_log_backup_lsn IS NULL, 0, 1) FROM sys.database_recovery_status
                  WHERE database_id = DB_ID('d')";
    assert_eq!(
        sets(&mut session, reason),
        [vec![vec!["NOTHING", "FULL"]], vec![vec!["NOTHING"]], vec![vec!["0"]]]
    );
    // A copy begins no chain.
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{other}' WITH COPY_ONLY"));
    assert_eq!(errors(&mut session, &log(&one)), [4214, 3013]);
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{full}'"));
    run(&mut session, "INSERT d.dbo.t VALUES (1); EXEC sys.sp_flush_log");
    assert_eq!(
        sets(&mut session, reason),
        [vec![vec!["LOG_BACKUP", "FULL"]], vec![vec!["LOG_BACKUP"]], vec![vec!["1"]]]
    );
    run(&mut session, &log(&one));
    run(&mut session, "INSERT d.dbo.t VALUES (2)");
    run(&mut session, &log(&two));
    let restore = |what: &str| format!("RESTORE {what}");
    let steps = [
        (format!("LOG none FROM DISK = '{one}'"), vec![3118, 3013]),
        (format!("LOG d FROM DISK = '{one}'"), vec![3117, 3013]),
        ("DATABASE d WITH RECOVERY".to_owned(), vec![3153, 3013]),
        (format!("DATABASE c FROM DISK = '{one}'"), vec![40517, 3013]),
        (format!("DATABASE c FROM DISK = '{full}' WITH NORECOVERY"), vec![]),
        (format!("LOG c FROM DISK = '{full}'"), vec![3135, 3013]),
        (format!("LOG c FROM DISK = '{two}' WITH NORECOVERY"), vec![4305, 3013]),
        (
            format!("LOG c FROM DISK = '{one}' WITH NORECOVERY, STOPAT = '2001-01-01'"),
            vec![4335, 3013],
        ),
        (format!("LOG c FROM DISK = '{one}' WITH NORECOVERY"), vec![]),
        (format!("LOG c FROM DISK = '{one}' WITH NORECOVERY"), vec![4326, 3013]),
        // The log ends before that time: the database waits for more.
        (format!("LOG c FROM DISK = '{two}' WITH RECOVERY, STOPAT = '9001-01-01'"), vec![]),
    ];
    for (text, expected) in steps {
        assert_eq!(errors(&mut session, &restore(&text)), expected, "{text}");
    }
    assert_eq!(state(&mut session, "c"), "RESTORING");
    run(&mut session, "RESTORE DATABASE c WITH RECOVERY");
    assert_eq!(sets(&mut session, "SELECT a FROM c.dbo.t ORDER BY a"), [[["1"], ["2"]]]);
    // Another chain: SIMPLE has ended the first one.
    run(&mut session, "ALTER DATABASE d SET RECOVERY SIMPLE; ALTER DATABASE d SET RECOVERY FULL");
    assert_eq!(errors(&mut session, &log(&other)), [4214, 3013]);
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{full2}'"));
    run(&mut session, &format!("RESTORE DATABASE e FROM DISK = '{full2}' WITH NORECOVERY"));
    assert_eq!(errors(&mut session, &format!("RESTORE LOG e FROM DISK = '{two}'")), [4330, 3013]);
    // A file that is gone is missed when it is needed, and the database waits on.
    std::fs::remove_file(&full2).unwrap();
    assert_eq!(errors(&mut session, "RESTORE DATABASE e WITH RECOVERY"), [3201, 3013]);
    assert_eq!(state(&mut session, "e"), "RESTORING");
    run(&mut session, "DROP DATABASE e");
}

#[test]
fn without_a_folder_there_is_no_log_to_back_up() {
    let data = Data::new("memory");
    let (full, one) = (data.file("full"), data.file("one"));
    let instance = instance();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE TABLE d.dbo.t (a int); INSERT d.dbo.t VALUES (1)");
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{full}'"));
    assert_eq!(errors(&mut session, &format!("BACKUP LOG d TO DISK = '{one}'")), [40517, 3013]);
    run(&mut session, &format!("RESTORE DATABASE c FROM DISK = '{full}' WITH NORECOVERY"));
    run(&mut session, "RESTORE DATABASE c");
    assert_eq!(sets(&mut session, "SELECT a FROM c.dbo.t"), [[["1"]]]);
}

/// Moves money between accounts while `run_it` runs: the sum stays as it is.
fn under_load<R>(instance: &Arc<Instance>, run_it: impl FnOnce() -> R) -> R {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in 0..3_u32 {
            let (stop, instance) = (&stop, Arc::clone(instance));
            scope.spawn(move || {
                let mut session = login(&instance);
                let mut n = client;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    let (from, to) = (n % 7, n % 5);
                    let text = format!(
                        "BEGIN TRAN; UPDATE d.dbo.bank SET v = v - {n} WHERE id = {from};
                         UPDATE d.dbo.bank SET v = v + {n} WHERE id = {to}; COMMIT"
                    );
                    // Two clients may be in each other's way.
                    let answer = batch(&mut session, &text);
                    assert!(answer.errors.iter().all(|error| error.number == 1205), "{answer:?}");
                }
            });
        }
        let done = run_it();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

#[test]
fn a_restore_stops_between_two_transactions_of_a_busy_database() {
    let data = Data::new("stopat");
    let file = |name: &str| data.file(name);
    let (full, one, two) = (file("full"), file("one"), file("two"));
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; USE d; CREATE TABLE bank (id int PRIMARY KEY, v int);
        INSERT bank SELECT value, 100 FROM GENERATE_SERIES(0, 9); CREATE TABLE marks (n int); USE master");
    let moments = under_load(&instance, || {
        run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{full}'"));
        let mut moments = Vec::new();
        for n in 0..6 {
            run(&mut session, &format!("INSERT d.dbo.marks VALUES ({n})"));
            run(&mut session, "WAITFOR DELAY '00:00:00.020'");
            moments.push(
                sets(&mut session, "SELECT CONVERT(varchar(40), SYSUTCDATETIME(), 126)")[0][0][0]
                    .clone(),
            );
            run(&mut session, "WAITFOR DELAY '00:00:00.020'");
            if n == 2 {
                run(&mut session, &format!("BACKUP LOG d TO DISK = '{one}'"));
            }
        }
        run(&mut session, &format!("BACKUP LOG d TO DISK = '{two}'"));
        moments
    });
    for (n, moment) in moments.iter().enumerate() {
        run(
            &mut session,
            &format!("RESTORE DATABASE c FROM DISK = '{full}' WITH NORECOVERY, REPLACE"),
        );
        let text = format!("RESTORE LOG c FROM DISK = '{one}' WITH RECOVERY, STOPAT = '{moment}'");
        run(&mut session, &text);
        if state(&mut session, "c") == "RESTORING" {
            let text = format!(
                "DECLARE @m datetime2 = '{moment}'; RESTORE LOG c FROM DISK = '{two}' WITH STOPAT = @m"
            );
            run(&mut session, &text);
        }
        let shown = sets(
            &mut session,
            "SELECT COUNT(*), MAX(n) FROM c.dbo.marks; SELECT SUM(v) FROM c.dbo.bank",
        );
        assert_eq!(
            shown,
            [vec![vec![(n + 1).to_string(), n.to_string()]], vec![vec!["1000".to_owned()]]]
        );
    }
}

/// Waits until a segment is gone: they are retired in the background, in their order.
fn wait_until_gone(session: &mut Session, first: &dyn Fn() -> u64, segment: u64) {
    while first() <= segment {
        run(session, "WAITFOR DELAY '00:00:00.010'");
    }
}

#[test]
fn segments_stay_until_they_are_backed_up() {
    let data = Data::new("segments");
    let (full, one) = (data.file("full"), data.file("one"));
    let instance = instance();
    let folder = Folder::open(&data.file("data")).unwrap();
    let settings = Settings { segment_bytes: 1 << 16, ..Settings::default() };
    instance.open_database(folder, &settings).unwrap();
    let mut session = login(&instance);
    run(&mut session, "CREATE DATABASE d; CREATE TABLE d.dbo.t (a int, pad varchar(8000))");
    let write = |session: &mut Session| {
        // Each row is another group, so that the log has several segments.
        for n in 0..20 {
            let text =
                format!("INSERT d.dbo.t VALUES ({n}, REPLICATE('x', 8000)); EXEC sys.sp_flush_log");
            run(session, &text);
        }
        run(session, "CHECKPOINT");
    };
    let first = || instance.durable().unwrap().reading().segments().unwrap()[0].number;
    let last = || instance.durable().unwrap().log_stats().segment;
    let before = last();
    write(&mut session);
    wait_until_gone(&mut session, &first, before);
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{full}'"));
    let needed = instance.catalog.load().first_segment_to_back_up().unwrap();
    write(&mut session);
    write(&mut session);
    assert!(first() <= needed && needed < last(), "{} {needed} {}", first(), last());
    run(&mut session, &format!("BACKUP LOG d TO DISK = '{one}'"));
    wait_until_gone(&mut session, &first, needed);
    let restore = format!(
        "RESTORE DATABASE c FROM DISK = '{full}' WITH NORECOVERY; RESTORE LOG c FROM DISK = '{one}'"
    );
    run(&mut session, &restore);
    assert_eq!(sets(&mut session, "SELECT COUNT(*) FROM c.dbo.t"), [[["60"]]]);
    // In the SIMPLE model nothing is kept.
    run(&mut session, "ALTER DATABASE d SET RECOVERY SIMPLE");
    let before = last();
    write(&mut session);
    wait_until_gone(&mut session, &first, before);
}

fn differential(path: &str) -> String {
    format!("BACKUP DATABASE d TO DISK = '{path}' WITH DIFFERENTIAL")
}

/// Returns the size of a backup.
fn size(session: &mut Session, file: &str) -> i64 {
    let shown = sets(session, &format!("RESTORE HEADERONLY FROM DISK = '{file}'"));
    shown[0][0][12].parse().unwrap()
}

#[test]
fn a_differential_backup_has_what_has_changed() {
    let data = Data::new("differential");
    let file = |name: &str| data.file(name);
    let [full, one, two, log, later, other] =
        ["full", "one", "two", "log", "later", "other"].map(file);
    let (then, now);
    {
        let instance = data.open();
        let mut session = login(&instance);
        all(&mut session, SETUP);
        run(
            &mut session,
            "USE d; INSERT t (v, pad) SELECT value, REPLICATE('y', 200) FROM GENERATE_SERIES(100, 20000); USE master",
        );
        assert_eq!(errors(&mut session, &differential(&one)), [3035, 3013]);
        run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{full}'"));
        // A copy is no base.
        run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{other}' WITH COPY_ONLY"));
        all(&mut session, CHANGES);
        run(&mut session, &differential(&one));
        then = look(&mut session, "d");
        run(
            &mut session,
            "USE d; DELETE t WHERE v BETWEEN 100 AND 110; DROP TABLE made; UPDATE cs SET y = 'w' WHERE x = 600; USE master",
        );
        run(&mut session, &differential(&two));
        run(&mut session, "INSERT d.dbo.t (v) VALUES (-5)");
        run(&mut session, &format!("BACKUP LOG d TO DISK = '{log}'"));
        now = look(&mut session, "d");
        check_size(&mut session, &data);
        for (name, steps, expected) in [("e", vec![&one], &then), ("f", vec![&two, &log], &now)] {
            run(
                &mut session,
                &format!("RESTORE DATABASE {name} FROM DISK = '{full}' WITH NORECOVERY"),
            );
            for step in steps {
                let what = if *step == log { "LOG" } else { "DATABASE" };
                run(
                    &mut session,
                    &format!("RESTORE {what} {name} FROM DISK = '{step}' WITH NORECOVERY"),
                );
            }
            run(&mut session, &format!("RESTORE DATABASE {name} WITH RECOVERY"));
            assert_eq!(&look(&mut session, name), expected, "{name}");
        }
        for base in [&other, &file("base")] {
            run(
                &mut session,
                &format!("RESTORE DATABASE g FROM DISK = '{base}' WITH NORECOVERY, REPLACE"),
            );
            assert_eq!(
                errors(&mut session, &format!("RESTORE DATABASE g FROM DISK = '{one}'")),
                [3136, 3013]
            );
        }
        instance.durable().unwrap().stop();
    }
    // After a restart it has more than has changed, and it is right.
    let instance = data.open();
    let mut session = login(&instance);
    run(&mut session, "USE d; DELETE big WHERE x > 10; USE master");
    run(&mut session, &format!("BACKUP DATABASE d TO DISK = '{later}' WITH DIFFERENTIAL"));
    run(
        &mut session,
        &format!("RESTORE DATABASE h FROM DISK = '{}' WITH NORECOVERY", file("base")),
    );
    run(&mut session, &format!("RESTORE DATABASE h FROM DISK = '{later}'"));
    assert_eq!(sets(&mut session, "SELECT COUNT(*), MAX(x) FROM h.dbo.big"), [[["10", "10"]]]);
}

/// A differential backup of a large table with one change is small.
fn check_size(session: &mut Session, data: &Data) {
    // ALTER TABLE has made t new: of the other tables only what has changed is there.
    run(
        session,
        "USE d; CREATE TABLE big (x int, pad char(200)); INSERT big SELECT value, 'x' FROM GENERATE_SERIES(1, 20000); USE master",
    );
    let base = data.file("base");
    run(
        session,
        &format!(
            "BACKUP DATABASE d TO DISK = '{base}'; UPDATE d.dbo.big SET pad = 'z' WHERE x = 7"
        ),
    );
    run(session, &differential(&data.file("small")));
    let (whole, part) = (size(session, &base), size(session, &data.file("small")));
    assert!(part * 2 < whole, "{part} of {whole} bytes");
    run(session, &format!("RESTORE DATABASE b FROM DISK = '{base}' WITH NORECOVERY"));
    run(session, &format!("RESTORE DATABASE b FROM DISK = '{}'", data.file("small")));
    let shown = sets(session, "SELECT COUNT(*), COUNT(DISTINCT x), MAX(pad) FROM b.dbo.big");
    assert_eq!(shown[0][0][..2], ["20000", "20000"]);
    assert!(shown[0][0][2].starts_with('z'));
}
