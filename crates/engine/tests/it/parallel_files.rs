//! Parquet files read by several schedulers: row groups are distributed one by one, across files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::instance::ExecutionMode;
use engine::instance::Instance;
use engine::session::Session;

use crate::client::{batch, describe, instance_on, login, run};
use crate::export::{Folder, make_files};

/// Rows of the files: enough to be shared, and one file with two row groups.
const FILES: [i64; 5] = [20_000, 1, 270_000, 15_000, 30_000];

struct Files {
    instance: Arc<Instance>,
    session: Session,
    paths: Vec<PathBuf>,
    _folder: Folder,
}

/// Returns an engine with two schedulers that runs every possible statement in parallel, and the
/// external table `f` over files.
fn files() -> Files {
    let instance = instance_on(2, |_| {});
    instance.set_execution_mode(ExecutionMode::Vector);
    let mut session = login(&instance);
    let folder = Folder::new();
    let paths = make_files(&mut session, &folder, &FILES);
    run(
        &mut session,
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE;
         EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE",
    );
    Files { instance, session, paths, _folder: folder }
}

/// Returns the rows of a statement, sorted, and whether it ran on two schedulers.
fn rows(session: &mut Session, text: &str) -> (Vec<String>, bool) {
    run(session, "SET STATISTICS XML ON");
    let answer = run(session, text);
    run(session, "SET STATISTICS XML OFF");
    let mut rows: Vec<String> = answer.sets[0].iter().map(|row| row.join(" | ")).collect();
    rows.sort();
    let plan = answer.sets.last().unwrap()[0][0].clone();
    (rows, plan.contains("DegreeOfParallelism=\"2\""))
}

/// Returns the rows of a file, as OPENROWSET reads them.
fn rowset(path: &Path) -> String {
    format!("OPENROWSET(BULK '{}', FORMAT = 'PARQUET') AS r", path.display())
}

fn assert_nobody_works_on(session: &mut Session) {
    let tasks = "SELECT COUNT(*) FROM sys.dm_os_tasks WHERE exec_context_id > 0";
    assert_eq!(run(session, tasks).sets[0][0][0], "0");
    let used = "SELECT SUM(used_memory_kb) FROM sys.dm_exec_query_resource_semaphores";
    assert_eq!(run(session, used).sets[0][0][0], "0");
}

#[test]
fn rows_are_the_same_on_one_scheduler_and_on_two() {
    let mut files = files();
    let session = &mut files.session;
    run(
        session,
        "CREATE TABLE names (k int NOT NULL, name varchar(10) NOT NULL); INSERT names SELECT value, CONCAT('n', value % 7) FROM GENERATE_SERIES(0, 999)",
    );
    let large = rowset(&files.paths[2]);
    let texts = [
        "SELECT COUNT(*), SUM(v), MIN(id), MAX(id) FROM f".to_owned(),
        "SELECT k, COUNT(*), SUM(v) FROM f GROUP BY k".to_owned(),
        "SELECT id, v FROM f WHERE k = 17".to_owned(),
        "SELECT id FROM f WHERE id BETWEEN 19000 AND 20100 OR v > 334500".to_owned(),
        "SELECT n.name, COUNT(*), SUM(f.v) FROM f JOIN names AS n ON n.k = f.k GROUP BY n.name"
            .to_owned(),
        "DECLARE @least int = 300000; SELECT SUM(v) FROM f WHERE id >= @least".to_owned(),
        format!("SELECT COUNT(*), SUM(v), MAX(id) FROM {large}"),
        format!("SELECT k, MIN(id) FROM {large} WHERE id > 20001 GROUP BY k"),
    ];
    let mut parallel = vec![false; texts.len()];
    for _ in 0..30 {
        for (text, parallel) in texts.iter().zip(&mut parallel) {
            let (one, was) = rows(session, &format!("{text} OPTION (MAXDOP 1)"));
            assert!(!was, "{text}");
            let (two, was) = rows(session, &format!("{text} OPTION (MAXDOP 2)"));
            assert_eq!(one, two, "{text}");
            *parallel |= was;
        }
        if parallel.iter().all(|was| *was) {
            break;
        }
    }
    assert!(parallel.iter().all(|was| *was), "{parallel:?} of {texts:?} ran on two schedulers");
    assert_nobody_works_on(session);
}

#[test]
fn row_groups_that_are_passed_over_are_counted_once() {
    let mut files = files();
    let session = &mut files.session;
    run(session, "SET STATISTICS IO ON");
    for degree in [1, 2] {
        let text = format!("SELECT COUNT(*) FROM f WHERE id <= 20000 OPTION (MAXDOP {degree})");
        for _ in 0..10 {
            let answer = run(session, &text);
            assert_eq!(answer.sets[0][0][0], "20000");
            let told = answer.messages.iter().map(describe).collect::<String>();
            assert!(told.contains("Segment reads 1, segment skipped 5."), "{told}");
        }
    }
}

#[test]
fn a_row_group_that_is_damaged_is_one_error_whoever_reads_it() {
    let mut files = files();
    let session = &mut files.session;
    run(session, "CREATE TABLE target (id int, k int, v bigint, INDEX c CLUSTERED COLUMNSTORE)");
    // The last page of the last row group is just before the footer.
    let path = &files.paths[2];
    let mut bytes = std::fs::read(path).unwrap();
    let tail = bytes.len() - 8;
    let footer = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap());
    let end = tail - usize::try_from(footer).unwrap();
    bytes[end - 300..end - 100].fill(0xFF);
    std::fs::write(path, bytes).unwrap();
    let texts = [
        "SELECT k, COUNT(*), SUM(v) FROM f GROUP BY k".to_owned(),
        "SELECT id, v FROM f WHERE v % 3 = 1".to_owned(),
        "INSERT target WITH (TABLOCK) SELECT id, k, v FROM f".to_owned(),
        format!("SELECT SUM(v) FROM {}", rowset(path)),
    ];
    for round in 0..24 {
        let degree = 1 + round % 2;
        let text = format!("{} OPTION (MAXDOP {degree})", texts[round / 2 % texts.len()]);
        let answer = batch(session, &text);
        let told: Vec<String> = answer.errors.iter().map(describe).collect();
        assert_eq!(told.len(), 1, "{text}: {told:?}");
        assert_eq!(answer.errors[0].number, 15813, "{told:?}");
        assert!(told[0].contains("column v, row group 1, page"), "{told:?}");
        assert!(told[0].contains("p2.parquet"), "{told:?}");
    }
    assert_eq!(run(session, "SELECT COUNT(*) FROM target").sets[0][0][0], "0");
    assert_nobody_works_on(session);
}

#[test]
fn a_helper_is_a_task_while_it_works() {
    let mut files = files();
    let mut watcher = login(&files.instance);
    let text = "SELECT k, COUNT(*), SUM(v), MAX(HASHBYTES('SHA2_256', CAST(v AS varbinary(8)))) FROM f GROUP BY k";
    let over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let session = &mut files.session;
        let over = &over;
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                run(session, text);
            }
        });
        let tasks = "SELECT COUNT(*) FROM sys.dm_os_tasks WHERE exec_context_id > 0 AND parent_task_address IS NOT NULL";
        let seen = (0..20_000).any(|_| run(&mut watcher, tasks).sets[0][0][0] == "1");
        over.store(true, Ordering::Relaxed);
        seen
    });
    assert!(seen, "no helper was seen at work");
    assert_nobody_works_on(&mut files.session);
}
