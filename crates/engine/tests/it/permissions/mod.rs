//! docs/permissions.md: the permissions that each statement needs, and tests that it needs them.
//!
//! Each case runs one text as a user without permissions, who is refused with SQL Server's error
//! number, and then after each GRANT until none is missing. The lines of the page are the engine's
//! ([`asked`]); the test fails if a line has no case, a procedure has no line, or the page differs
//! from the generated one. `make permissions` writes it.
//!
//! The permissions are those in the Permissions section of each page of SQL Server's documentation;
//! the error numbers are those of its messages.

mod cases;
mod changes;
mod cursors;
mod dba;
mod diagnosis;
mod loads;
mod partitions;
mod query_store;
mod secrets;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use engine::instance::Instance;
use engine::permissions::{self as asked, Kind, Line};
use engine::session::Session;

use crate::client::{errors, instance, login, run};
use crate::security::login_as;
use cases::{CASES, Case};
use cursors::CURSORS;
use dba::DBA;
use diagnosis::DIAGNOSIS;
use loads::LOADS;
use partitions::PARTITIONS;
use query_store::QUERY_STORE;

/// The environment variable that makes the test write the page.
const WRITE: &str = "CLEARWAY_WRITE_PERMISSIONS";

/// Objects that the texts use; each case has its own database and user.
const SETUP: [&str; 16] = [
    "CREATE TABLE t (id int IDENTITY CONSTRAINT pk_t PRIMARY KEY, a int, note text)",
    "CREATE TABLE t2 (a int)",
    "CREATE INDEX ix ON t (a)",
    "CREATE STATISTICS st ON t (a)",
    "CREATE VIEW v AS SELECT a FROM t",
    "CREATE PROCEDURE p AS SELECT a FROM t",
    "CREATE FUNCTION f (@x int) RETURNS int AS BEGIN RETURN @x END",
    "CREATE FUNCTION tf (@x int) RETURNS TABLE AS RETURN SELECT @x AS x",
    "CREATE TRIGGER tr ON t AFTER UPDATE AS PRINT 'changed'",
    "CREATE SEQUENCE s",
    "CREATE SYNONYM syn FOR t",
    "CREATE TYPE ty FROM int",
    "CREATE SCHEMA other",
    "CREATE ROLE r",
    "CREATE USER other_user WITHOUT LOGIN",
    "EXEC sp_addextendedproperty 'old', 'v', 'SCHEMA', 'dbo', 'TABLE', 't'",
];

/// Creates the database and the user of a case; returns the user's session.
fn prepare(instance: &Arc<Instance>, sa: &mut Session, number: usize, case: &Case) -> Session {
    let fill = |text: &str| fill(text, number);
    run(sa, &fill("USE master; CREATE DATABASE {d}; CREATE LOGIN {u} WITH PASSWORD = 'Secret-1'"));
    run(sa, &fill("CREATE USER {u}"));
    run(sa, &fill("USE {d}; CREATE USER {u}"));
    SETUP.iter().chain(case.prepare).for_each(|text| {
        run(sa, &fill(text));
    });
    let mut poor = login_as(instance, &fill("{u}"));
    run(&mut poor, &fill("USE {d}"));
    poor
}

fn fill(text: &str, number: usize) -> String {
    text.replace("{d}", &format!("d{number}")).replace("{u}", &format!("u{number}"))
}

fn all_cases() -> impl Iterator<Item = &'static Case> {
    CASES
        .iter()
        .chain(LOADS)
        .chain(CURSORS)
        .chain(DBA)
        .chain(DIAGNOSIS)
        .chain(PARTITIONS)
        .chain(QUERY_STORE)
}

#[test]
fn each_line_is_refused_without_its_permission_and_runs_with_it() {
    let instance = instance();
    let mut sa = login(&instance);
    let mut wrong = Vec::new();
    for (number, case) in all_cases().enumerate() {
        let mut poor = prepare(&instance, &mut sa, number, case);
        let mut check = |when: &str, poor: &mut Session, wanted: &[i32]| {
            let found = errors(poor, &fill(case.text, number));
            if found != wanted {
                wrong.push(format!("{}, {when}: {found:?} and not {wanted:?}", case.text));
            }
        };
        check("without rights", &mut poor, case.refused);
        for (grant, then) in case.grants {
            run(&mut sa, &fill("USE {d}", number));
            run(&mut sa, &fill(grant, number));
            check(grant, &mut poor, then);
        }
        drop(poor);
        run(&mut sa, "USE master");
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_line_has_a_case_and_each_procedure_a_line() {
    let shown: BTreeSet<&str> = all_cases().map(|case| case.line).collect();
    let lines: Vec<Line> = asked::lines().collect();
    let names: BTreeSet<&str> = lines.iter().map(|line| line.name).collect();
    let unknown: Vec<_> = shown.difference(&names).collect();
    assert!(unknown.is_empty(), "cases of what has no line: {unknown:?}");
    // The test below reads all views; lines that only refer to others are covered by those.
    let needs_case = |line: &&Line| {
        !line.asks.is_empty() && line.kind != Kind::View && !line.asks.starts_with("as the lines")
    };
    let bare = lines.iter().filter(needs_case).filter(|line| !shown.contains(line.name));
    let bare: Vec<&str> = bare.map(|line| line.name).collect();
    assert!(bare.is_empty(), "lines without a case: {bare:?}");
    let procedures: BTreeSet<&str> =
        lines.iter().filter(|line| line.kind == Kind::Procedure).map(|line| line.name).collect();
    let built: BTreeSet<&str> = asked::procedure_names().collect();
    let missing: Vec<_> = built.symmetric_difference(&procedures).collect();
    assert!(missing.is_empty(), "procedures without a line, or lines without one: {missing:?}");
}

#[test]
fn views_of_the_server_s_state_take_view_server_state_and_no_others() {
    let instance = instance();
    let mut sa = login(&instance);
    run(&mut sa, "CREATE LOGIN poor WITH PASSWORD = 'Secret-1'; CREATE USER poor");
    let mut poor = login_as(&instance, "poor");
    let list = "SELECT CASE WHEN v.schema_id = 3 THEN 'INFORMATION_SCHEMA' ELSE 'sys' END, v.name \
                FROM sys.system_views AS v";
    let views = run(&mut sa, list).sets.remove(0);
    assert!(views.len() > 150, "{}", views.len());
    let that_ask = |asks: &str| -> BTreeSet<&str> {
        let lines = asked::lines().filter(|line| line.kind == Kind::View && line.asks == asks);
        lines.map(|line| line.name).collect()
    };
    let of_server = that_ask("VIEW SERVER STATE");
    let of_database = that_ask("VIEW DATABASE STATE");
    assert!(of_database.contains("dm_db_partition_stats"));
    let read = |row: &[String]| format!("SELECT COUNT(*) FROM {}.{}", row[0], row[1]);
    for row in &views {
        let name = row[1].as_str();
        // Functions check the database that their arguments name: tested in `security.rs`.
        if name.starts_with("dm_db_index_") && name.ends_with("al_stats") {
            continue;
        }
        let wanted: &[i32] = match (of_server.contains(name), of_database.contains(name)) {
            (true, _) => &[300, 297],
            (_, true) => &[262, 297],
            (false, false) => &[],
        };
        assert_eq!(errors(&mut poor, &read(row)), wanted, "{row:?}");
    }
    run(&mut sa, "GRANT VIEW DATABASE STATE TO poor");
    let of_database = |row: &&Vec<String>| {
        of_database.contains(row[1].as_str()) && !row[1].starts_with("dm_db_index_")
    };
    for row in views.iter().filter(of_database) {
        assert_eq!(errors(&mut poor, &read(row)), [0; 0], "{row:?}");
    }
    run(&mut sa, "REVOKE VIEW DATABASE STATE TO poor; GRANT VIEW SERVER STATE TO poor");
    for row in &views {
        assert_eq!(errors(&mut poor, &read(row)), [0; 0], "{row:?}");
    }
}

#[test]
fn page_is_what_is_asked() {
    let page = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/permissions.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/permissions.md is stale: run `make permissions`");
}

/// Headings of the page.
const HEADINGS: [(Kind, &str); 5] = [
    (Kind::Statement, "Statements"),
    (Kind::Procedure, "System procedures"),
    (Kind::Dbcc, "DBCC commands"),
    (Kind::Function, "Functions"),
    (Kind::View, "Views"),
];

const INTRODUCTION: &str = "# Permissions that statements, views and procedures need

Made by `make permissions` from the engine's registry (crates/engine/src/permissions.rs) and the cases of its test
(crates/engine/tests/it/permissions), which runs each text as a user without permissions and then after each GRANT. *Refused
with* has the error without the permission; *runs with* has the grants of the test.

- A member of sysadmin, and a login with CONTROL SERVER, needs no permission. Members of db_owner need none in their database.
- An object belongs to its schema's owner, unless ALTER AUTHORIZATION has given it another. Owners of the
  object and of its schema may do everything with it; GRANT CONTROL gives the same.
- A module needs no permission on data of the module's owner: a caller that may execute it may do what it does. An object of another
  owner breaks this ownership chain, and so does one of another database, unless DB_CHAINING is on in both and one login owns both
  objects. For definitions, dynamic SQL, DBCC and the server's state the caller always needs the permission.
- A synonym has its own permissions. Those of its target are asked for as well if the two have different owners.
- System views and metadata functions show the objects that the caller owns or has any permission on, and the text of modules with ALTER,
  CONTROL, TAKE OWNERSHIP or VIEW DEFINITION; of users, roles and logins, the caller's, those of the system, and those that the caller may
  manage. DENY VIEW DEFINITION hides. With VIEW DEFINITION in the database, or VIEW ANY DEFINITION, everything is shown.
";

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (kind, heading) in HEADINGS {
        let mut lines: Vec<Line> = asked::lines().filter(|line| line.kind == kind).collect();
        lines.sort_by_key(|line| line.name);
        lines.dedup_by_key(|line| line.name);
        let (asking, open): (Vec<&Line>, Vec<&Line>) =
            lines.iter().partition(|line| !line.asks.is_empty());
        write!(page, "\n## {heading}\n").unwrap();
        if kind == Kind::View {
            page.push_str("\n| what | asks for |\n|---|---|\n");
            asking.iter().for_each(|l| writeln!(page, "| {} | {} |", l.name, l.asks).unwrap());
        } else {
            page.push_str("\n| what | asks for | refused with | runs with |\n|---|---|---|---|\n");
            asking.iter().for_each(|line| page.push_str(&row(line)));
        }
        let open: Vec<&str> = open.iter().map(|line| line.name).collect();
        write!(page, "\nThese ask for nothing: {}.\n", open.join(", ")).unwrap();
    }
    page
}

fn row(line: &Line) -> String {
    let cases = || all_cases().filter(|case| case.line == line.name);
    let mut refused: Vec<String> = Vec::new();
    for number in cases().filter_map(|case| case.refused.first()) {
        let number = number.to_string();
        if !refused.contains(&number) {
            refused.push(number);
        }
    }
    let grants = cases().map(|case| {
        let grants: Vec<&str> = case.grants.iter().map(|(grant, _)| *grant).collect();
        grants.join("; ").replace("USE master; ", "").replace("{u}", "u").replace("{d}", "d")
    });
    let grants: Vec<String> = grants.filter(|grants| !grants.is_empty()).collect();
    let asks = line.asks;
    format!("| {} | {asks} | {} | {} |\n", line.name, refused.join(", "), grants.join("<br>"))
}
