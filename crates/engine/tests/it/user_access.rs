//! ALTER DATABASE .. SET SINGLE_USER, RESTRICTED_USER, MULTI_USER with several sessions: which
//! sessions may enter, which are ended, and DROP DATABASE while a session uses it, as SQL Server's
//! documentation describes.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sos::park;
use sos::wait::WaitType;

use crate::client::{batch, errors, instance, login, run};
use engine::instance::{Instance, Nudge};
use engine::session::{ClientInfo, LoginRequest, Session};

fn enter(instance: &Arc<Instance>, user: &str, database: &str) -> Result<Session, Vec<i32>> {
    let request = LoginRequest {
        user: user.to_owned(),
        password: "Secret-1".to_owned(),
        new_password: None,
        database: database.to_owned(),
        language: String::new(),
        client: ClientInfo { odbc: true, ..ClientInfo::default() },
    };
    Session::login(instance, request).map_err(|told| told.iter().map(|e| e.number).collect())
}

fn access(session: &mut Session) -> Vec<String> {
    let read = "SELECT user_access, user_access_desc, DATABASEPROPERTYEX('d', 'UserAccess') FROM sys.databases WHERE name = 'd'";
    run(session, read).sets[0][0].clone()
}

/// A session in `d` whose connection ends when it is killed, as a server's does.
fn guest(instance: &Arc<Instance>) -> Receiver<()> {
    let session = enter(instance, "sa", "d").expect("gets in");
    let (kill, killed) = channel();
    session.on_nudge(Arc::new(move |nudge| {
        if nudge == Nudge::End {
            kill.send(()).unwrap_or_default();
        }
    }));
    let (gone, left) = channel();
    let leave = move || {
        killed.recv().expect("is killed");
        drop(session);
        gone.send(()).expect("the test waits");
    };
    instance.machine.spawn("guest", leave).expect("starts");
    left
}

/// Runs something a moment later, while a statement of the test waits.
fn soon(instance: &Arc<Instance>, act: impl FnOnce() + Send + 'static) {
    let wait = move || {
        park::sleep(Duration::from_millis(60), WaitType::WaitFor, None);
        act();
    };
    instance.machine.spawn("soon", wait).expect("starts");
}

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn single_user_puts_the_others_out_and_lets_one_in() {
    let instance = instance();
    let mut sa = login(&instance);
    run(&mut sa, "CREATE DATABASE d");
    let left = guest(&instance);
    assert_eq!(errors(&mut sa, "DROP DATABASE d"), [3702]);
    // NO_WAIT gives up, reports why, and leaves the access unchanged.
    let told = batch(&mut sa, "ALTER DATABASE d SET SINGLE_USER WITH NO_WAIT");
    let told: Vec<i32> = told.errors.iter().map(|e| e.number).collect();
    assert_eq!(told, [5070, 5069]);
    assert_eq!(access(&mut sa), ["0", "MULTI_USER", "MULTI_USER"]);

    run(&mut sa, "ALTER DATABASE d SET SINGLE_USER WITH ROLLBACK IMMEDIATE");
    left.recv_timeout(PATIENCE).expect("was put out");
    assert_eq!(access(&mut sa), ["1", "SINGLE_USER", "SINGLE_USER"]);

    // No session is in it: the next one that enters is the single one.
    let mut one = enter(&instance, "sa", "d").expect("gets in");
    assert_eq!(errors(&mut sa, "USE d"), [924]);
    assert_eq!(enter(&instance, "sa", "d").err(), Some(vec![4060, 18456]));
    run(&mut one, "USE master");
    run(&mut sa, "USE d");
    assert_eq!(errors(&mut one, "USE d"), [924]);
    run(&mut sa, "ALTER DATABASE d SET MULTI_USER");
    run(&mut one, "USE d");
    run(&mut sa, "USE master");
    assert_eq!(errors(&mut sa, "DROP DATABASE d"), [3702]);
    drop(one);
    run(&mut sa, "DROP DATABASE d");
}

#[test]
fn without_a_clause_the_statement_waits_and_an_attention_puts_all_back() {
    let instance = instance();
    let mut sa = login(&instance);
    run(&mut sa, "CREATE DATABASE d");
    let inside = enter(&instance, "sa", "d").expect("gets in");
    let cancel = Arc::clone(sa.cancel());
    soon(&instance, move || cancel.set());
    let answer = batch(&mut sa, "ALTER DATABASE d SET SINGLE_USER");
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    sa.cancel().clear();
    assert_eq!(access(&mut sa), ["0", "MULTI_USER", "MULTI_USER"]);

    soon(&instance, move || drop(inside));
    run(&mut sa, "ALTER DATABASE d SET SINGLE_USER");
    assert_eq!(access(&mut sa)[0], "1");
    // ROLLBACK AFTER lets other sessions end by themselves first.
    run(&mut sa, "ALTER DATABASE d SET MULTI_USER");
    let left = guest(&instance);
    run(&mut sa, "ALTER DATABASE d SET SINGLE_USER WITH ROLLBACK AFTER 1 SECONDS");
    left.recv_timeout(PATIENCE).expect("was put out");
}

#[test]
fn restricted_user_is_for_owners() {
    let instance = instance();
    let mut sa = login(&instance);
    for text in [
        "CREATE DATABASE d",
        "CREATE LOGIN poor WITH PASSWORD = 'Secret-1'",
        "CREATE LOGIN owner WITH PASSWORD = 'Secret-1'",
        "USE d",
        "CREATE USER poor; CREATE USER owner; ALTER ROLE db_owner ADD MEMBER owner",
        "USE master",
    ] {
        run(&mut sa, text);
    }
    let poor = enter(&instance, "poor", "d").expect("gets in");
    let owner = enter(&instance, "owner", "d").expect("gets in");
    assert_eq!(errors(&mut sa, "ALTER DATABASE d SET RESTRICTED_USER WITH NO_WAIT"), [5070, 5069]);
    drop(poor);
    // Owners may stay, so NO_WAIT succeeds.
    run(&mut sa, "ALTER DATABASE d SET RESTRICTED_USER WITH NO_WAIT");
    assert_eq!(access(&mut sa), ["2", "RESTRICTED_USER", "RESTRICTED_USER"]);
    drop(owner);
    assert_eq!(enter(&instance, "poor", "d").err(), Some(vec![4060, 18456]));
    let mut poor = enter(&instance, "poor", "").expect("gets in to master");
    assert_eq!(errors(&mut poor, "USE d"), [923]);
    drop(enter(&instance, "owner", "d").expect("gets in"));
    assert_eq!(errors(&mut sa, "ALTER DATABASE master SET SINGLE_USER"), [5058]);
}
