//! Permissions of logins other than `sa`. Each test names the rule of SQL Server's documentation
//! that it checks.

use std::sync::Arc;

use crate::client::{Answer, batch, errors, instance, login, run};
use engine::instance::Instance;
use engine::session::{ClientInfo, LoginRequest, Rpc, RpcTarget, Session};

pub(crate) fn login_as(instance: &Arc<Instance>, user: &str) -> Session {
    let request = LoginRequest {
        user: user.to_owned(),
        password: "Secret-1".to_owned(),
        new_password: None,
        database: String::new(),
        language: String::new(),
        client: ClientInfo { odbc: true, ..ClientInfo::default() },
    };
    Session::login(instance, request).map_err(|e| format!("{e:?}")).unwrap()
}

fn server() -> (Arc<Instance>, Session, Session) {
    let instance = instance();
    let mut sa = login(&instance);
    for text in [
        "CREATE LOGIN poor WITH PASSWORD = 'Secret-1'; CREATE USER poor",
        "CREATE TABLE dbo.t (a int)",
        "INSERT dbo.t VALUES (1)",
        "CREATE PROCEDURE dbo.p AS SELECT a FROM dbo.t",
        "CREATE VIEW dbo.v AS SELECT a FROM dbo.t",
    ] {
        run(&mut sa, text);
    }
    let poor = login_as(&instance, "poor");
    (instance, sa, poor)
}

#[test]
fn the_state_of_the_server_takes_view_server_state() {
    let (_instance, mut sa, mut poor) = server();
    let read = "SELECT COUNT(*) FROM sys.dm_os_wait_stats";
    let answer = batch(&mut poor, read);
    let told: Vec<(i32, &str)> =
        answer.errors.iter().map(|e| (e.number, e.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (300, "VIEW SERVER STATE permission was denied on object 'server', database 'master'."),
            (297, "The user does not have permission to perform this action.")
        ]
    );
    // The same text, run before and after by a login that may.
    run(&mut sa, read);
    assert_eq!(errors(&mut poor, read), [300, 297]);
    run(&mut sa, "GRANT VIEW SERVER STATE TO poor");
    run(&mut poor, read);
    run(&mut sa, "DENY VIEW SERVER STATE TO poor");
    assert_eq!(errors(&mut poor, read), [300, 297]);
    run(&mut sa, "REVOKE VIEW SERVER STATE TO poor");
    assert_eq!(errors(&mut poor, "SELECT * FROM sys.dm_exec_query_stats"), [300, 297]);
    run(&mut sa, "ALTER SERVER ROLE sysadmin ADD MEMBER poor");
    run(&mut poor, read);
    run(&mut sa, "ALTER SERVER ROLE sysadmin DROP MEMBER poor");
    assert_eq!(errors(&mut poor, read), [300, 297]);
}

#[test]
fn a_try_block_catches_the_refusal() {
    let (_instance, _sa, mut poor) = server();
    let text = "BEGIN TRY SELECT * FROM sys.dm_os_wait_stats END TRY \
                BEGIN CATCH SELECT ERROR_NUMBER() END CATCH";
    assert_eq!(run(&mut poor, text).sets.last().unwrap()[0][0], "297");
}

#[test]
fn everybody_sees_their_own_session() {
    let (_instance, mut sa, mut poor) = server();
    let count = "SELECT COUNT(*), MAX(session_id) - @@SPID FROM sys.dm_exec_sessions";
    assert_eq!(run(&mut poor, count).sets[0][0], ["1", "0"]);
    let all: i32 = run(&mut sa, count).sets[0][0][0].parse().unwrap();
    assert!(all >= 2);
}

#[test]
fn objects_take_permissions_of_their_own() {
    let (_instance, mut sa, mut poor) = server();
    let answer = batch(&mut poor, "SELECT * FROM dbo.t");
    assert_eq!(answer.errors[0].number, 229);
    assert_eq!(answer.errors[0].severity, 14);
    assert_eq!(
        answer.errors[0].message,
        "The SELECT permission was denied on the object 't', database 'master', schema 'dbo'."
    );
    for (text, permission) in [
        ("INSERT dbo.t VALUES (2)", "INSERT"),
        ("UPDATE dbo.t SET a = 1", "UPDATE"),
        ("DELETE dbo.t", "DELETE"),
    ] {
        assert_eq!(errors(&mut poor, text), [229], "{text}");
        run(&mut sa, &format!("GRANT {permission} ON dbo.t TO poor"));
        run(&mut poor, text);
    }
    assert_eq!(errors(&mut poor, "DELETE dbo.t WHERE a = 1"), [229]);
    assert_eq!(errors(&mut poor, "TRUNCATE TABLE dbo.t"), [1088]);
    assert_eq!(errors(&mut poor, "CREATE TABLE dbo.x (a int)"), [262]);
    run(&mut poor, "CREATE TABLE #x (a int); INSERT #x VALUES (1); SELECT * FROM #x");
}

#[test]
fn views_and_procedures_stand_for_what_they_read() {
    let (_instance, mut sa, mut poor) = server();
    assert_eq!(errors(&mut poor, "SELECT * FROM dbo.v"), [229]);
    assert_eq!(errors(&mut poor, "EXEC dbo.p"), [229]);
    run(&mut sa, "GRANT SELECT ON dbo.v TO poor; GRANT EXECUTE ON dbo.p TO poor");
    run(&mut poor, "SELECT * FROM dbo.v");
    run(&mut poor, "EXEC dbo.p");
    let call = |session: &mut Session| {
        let mut answer = Answer::default();
        let target = RpcTarget::Name("dbo.p");
        session
            .rpc(Rpc { target, parameters: &mut [], more: false, stream: None }, &mut answer)
            .unwrap();
        answer.errors.iter().map(|e| e.number).collect::<Vec<_>>()
    };
    assert!(call(&mut poor).is_empty());
    assert_eq!(errors(&mut poor, "SELECT * FROM dbo.t"), [229]);
    run(&mut sa, "DENY EXECUTE ON dbo.p TO poor");
    assert_eq!(call(&mut poor), [229]);
    assert!(call(&mut sa).is_empty());
}

#[test]
fn roles_and_schemas_grant_and_a_denial_wins() {
    let (_instance, mut sa, mut poor) = server();
    run(&mut sa, "ALTER ROLE db_datareader ADD MEMBER poor");
    run(&mut poor, "SELECT * FROM dbo.t");
    run(&mut sa, "DENY SELECT ON SCHEMA::dbo TO poor");
    assert_eq!(errors(&mut poor, "SELECT * FROM dbo.t"), [229]);
    run(&mut sa, "REVOKE SELECT ON SCHEMA::dbo TO poor; ALTER ROLE db_datareader DROP MEMBER poor");
    assert_eq!(errors(&mut poor, "SELECT * FROM dbo.t"), [229]);
    run(
        &mut sa,
        "CREATE ROLE readers; ALTER ROLE readers ADD MEMBER poor; GRANT SELECT ON dbo.t TO readers",
    );
    run(&mut poor, "SELECT * FROM dbo.t");
    run(&mut sa, "ALTER ROLE db_owner ADD MEMBER poor");
    run(&mut poor, "CREATE TABLE dbo.y (a int); DROP TABLE dbo.y");
}

#[test]
fn a_database_without_a_user_of_the_login_is_closed_to_it() {
    let (_instance, mut sa, mut poor) = server();
    run(&mut sa, "CREATE DATABASE other");
    assert_eq!(errors(&mut poor, "USE other"), [916]);
    run(&mut sa, "USE other; CREATE USER poor");
    run(&mut poor, "USE other");
    assert_eq!(errors(&mut poor, "GRANT VIEW SERVER STATE TO poor"), [4613]);
    assert_eq!(errors(&mut poor, "CREATE LOGIN friend WITH PASSWORD = 'Secret-1'"), [15247]);
    assert_eq!(errors(&mut poor, "CREATE DATABASE mine"), [262]);
    assert_eq!(errors(&mut sa, "GRANT VIEW SERVER STATE TO poor"), [4621]);
}

/// Error 18456 with its internal state, as SQL Server's error_reported shows it.
#[test]
fn a_failed_login_is_an_event() {
    let (instance, mut sa, _poor) = server();
    run(
        &mut sa,
        "CREATE EVENT SESSION failed ON SERVER ADD EVENT sqlserver.error_reported \
         (WHERE error_number = 18456 AND state = 8) ADD TARGET package0.event_counter; \
         ALTER EVENT SESSION failed ON SERVER STATE = START",
    );
    // On a thread of the machine, like a worker: events belong to the machine of the thread.
    let (tell, told) = std::sync::mpsc::channel();
    let on = Arc::clone(&instance);
    let attempts = move || {
        for (user, password) in [("poor", "wrong"), ("nobody", "Secret-1"), ("poor", "Secret-1")] {
            let request = LoginRequest {
                user: user.to_owned(),
                password: password.to_owned(),
                new_password: None,
                database: String::new(),
                language: String::new(),
                client: ClientInfo::default(),
            };
            tell.send(Session::login(&on, request).is_ok()).unwrap();
        }
    };
    instance.machine.spawn("attempts", attempts).unwrap();
    assert_eq!(told.iter().collect::<Vec<_>>(), [false, false, true]);
    let counted = "SELECT CAST(t.target_data AS xml).value('(//Event/@count)[1]', 'int') \
                   FROM sys.dm_xe_session_targets AS t JOIN sys.dm_xe_sessions AS s \
                   ON s.address = t.event_session_address WHERE s.name = 'failed'";
    assert_eq!(run(&mut sa, counted).sets[0][0][0], "1");
    let rows =
        "SELECT name, failure_count, last_state FROM sys.dm_server_login_failures ORDER BY name";
    assert_eq!(run(&mut sa, rows).sets[0], [["nobody", "1", "5"], ["poor", "1", "8"]]);
}

/// Logs in; returns the errors if that fails.
fn login_errors(
    instance: &Arc<Instance>,
    user: &str,
    password: &str,
    new: Option<&str>,
) -> Vec<i32> {
    let request = LoginRequest {
        user: user.to_owned(),
        password: password.to_owned(),
        new_password: new.map(str::to_owned),
        database: String::new(),
        language: String::new(),
        client: ClientInfo::default(),
    };
    let refused = Session::login(instance, request).err().unwrap_or_default();
    refused.iter().map(|error| error.number).collect()
}

/// "ALTER LOGIN": MUST_CHANGE, DISABLE, CHECK_POLICY, DEFAULT_DATABASE, UNLOCK; numbers of
/// "Database Engine events and errors".
#[test]
fn options_of_a_login_are_asked_when_it_logs_in() {
    let (instance, mut sa, _poor) = server();
    let log_in = |password, new| login_errors(&instance, "aging", password, new);
    run(
        &mut sa,
        "CREATE LOGIN aging WITH PASSWORD = 'Secret-1' MUST_CHANGE, CHECK_EXPIRATION = ON",
    );
    assert_eq!(log_in("Secret-1", None), [18488]);
    assert_eq!(log_in("Secret-1", Some("short")), [18464]);
    assert_eq!(log_in("Secret-1", Some("longenough")), [18466]);
    assert_eq!(log_in("wrong", Some("Secret-2")), [18456]);
    assert_eq!(log_in("Secret-1", Some("Secret-2")), [0; 0]);
    assert_eq!(log_in("Secret-2", None), [0; 0]);
    run(&mut sa, "ALTER LOGIN aging DISABLE");
    assert_eq!(log_in("Secret-2", None), [18470]);
    assert_eq!(log_in("wrong", None), [18456]);
    run(&mut sa, "ALTER LOGIN aging ENABLE; CREATE DATABASE gone");
    run(&mut sa, "ALTER LOGIN aging WITH DEFAULT_DATABASE = gone; DROP DATABASE gone");
    assert_eq!(log_in("Secret-2", None), [4064, 18456]);
    run(&mut sa, "ALTER LOGIN aging WITH DEFAULT_DATABASE = master");
    let count = "SELECT CAST(LOGINPROPERTY('aging', 'BadPasswordCount') AS int)";
    assert_eq!(run(&mut sa, count).sets[0][0][0], "2");
    run(&mut sa, "ALTER LOGIN aging WITH PASSWORD = 'Secret-3' UNLOCK");
    assert_eq!(run(&mut sa, count).sets[0][0][0], "0");
    assert_eq!(log_in("Secret-3", None), [0; 0]);
}

/// "ALTER LOGIN", Permissions: "A principal can change the password, default language, and default
/// database for its own login."
#[test]
fn a_login_may_change_its_own_database_and_nothing_that_protects_it() {
    let (_instance, _sa, mut poor) = server();
    run(&mut poor, "ALTER LOGIN poor WITH DEFAULT_DATABASE = tempdb");
    run(&mut poor, "ALTER LOGIN poor WITH PASSWORD = 'Secret-2' OLD_PASSWORD = 'Secret-1'");
    for text in [
        "ALTER LOGIN poor WITH CHECK_POLICY = OFF",
        "ALTER LOGIN poor WITH PASSWORD = 'Secret-3' OLD_PASSWORD = 'Secret-2' UNLOCK",
        "ALTER LOGIN poor DISABLE",
    ] {
        assert_eq!(errors(&mut poor, text), [15151], "{text}");
    }
}

/// The pages of the views: VIEW DATABASE STATE, which VIEW SERVER STATE implies;
/// sys.dm_db_index_physical_stats: of a database that the arguments name, of all with VIEW SERVER
/// STATE.
#[test]
fn the_state_of_a_database_takes_view_database_state() {
    let (_instance, mut sa, mut poor) = server();
    let read = "SELECT COUNT(*) FROM sys.dm_db_partition_stats";
    let answer = batch(&mut poor, read);
    let told: Vec<(i32, &str)> =
        answer.errors.iter().map(|e| (e.number, e.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (262, "VIEW DATABASE STATE permission denied in database 'master'."),
            (297, "The user does not have permission to perform this action.")
        ]
    );
    let of_master = "SELECT COUNT(*) FROM sys.dm_db_index_physical_stats(DB_ID('master'), NULL, NULL, NULL, NULL)";
    let of_all = "SELECT COUNT(*) FROM sys.dm_db_index_operational_stats(NULL, NULL, NULL, NULL)";
    assert_eq!(errors(&mut poor, of_master), [262, 297]);
    assert_eq!(errors(&mut poor, of_all), [300, 297]);
    for view in ["dm_db_xtp_memory_consumers", "dm_db_xtp_table_memory_stats"] {
        run(&mut poor, &format!("SELECT COUNT(*) FROM sys.{view}"));
    }
    run(&mut sa, "GRANT VIEW DATABASE STATE TO poor");
    run(&mut poor, read);
    run(&mut poor, of_master);
    assert_eq!(errors(&mut poor, of_all), [300, 297]);
    assert_eq!(errors(&mut poor, "SELECT COUNT(*) FROM sys.dm_db_index_usage_stats"), [300, 297]);
    run(&mut sa, "CREATE DATABASE other; USE other; CREATE USER poor; CREATE TABLE t (a int)");
    assert_eq!(
        errors(&mut poor, "SELECT COUNT(*) FROM other.sys.dm_db_partition_stats"),
        [262, 297]
    );
    run(&mut sa, "USE master; GRANT VIEW SERVER STATE TO poor");
    run(&mut poor, of_all);
    run(&mut poor, "SELECT COUNT(*) FROM other.sys.dm_db_partition_stats");
}

/// "sp_spaceused": "Permission to execute sp_spaceused is granted to the public role."
#[test]
fn space_used_is_for_everybody() {
    let (_instance, mut sa, mut poor) = server();
    let all = run(&mut sa, "EXEC sp_spaceused").sets;
    assert_eq!(run(&mut poor, "EXEC sp_spaceused").sets.len(), all.len());
    run(&mut sa, "GRANT SELECT ON dbo.t TO poor");
    assert_eq!(run(&mut poor, "EXEC sp_spaceused 'dbo.t'").sets[0][0][0], "t");
    for procedure in ["sp_who", "sp_helpdb", "sp_help", "sp_helpfile"] {
        run(&mut poor, &format!("EXEC {procedure}"));
    }
}
