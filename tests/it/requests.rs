//! Requests of well-behaved clients: batches, calls, attention, resets, many connections.

use std::thread;
use std::time::Duration;

use tds::client::{self, EnvChanged, RpcBuilder, Token};
use tds::{DoneStatus, Login7, ProcedureId, Reset, TdsVersion};
use types::data_type::Length;
use types::{DataType, Value};

use crate::client::{
    Client, assert_logged_in, column_type, error_numbers, evaluation, login_of_sa, output_value,
    tcp,
};
use crate::server::{PASSWORD, ServerProcess, command_after, pause};

fn final_status(tokens: &[Token]) -> DoneStatus {
    match tokens.last() {
        Some(Token::Done(done)) => done.status,
        other => panic!("the last token is {other:?}"),
    }
}

#[test]
fn login_tells_what_drivers_need() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::connect(server.address);
    client.prelogin(tds::Encryption::Off);
    let tokens = client.login(&Login7 { packet_size: 8000, ..login_of_sa() });
    let has = |wanted: &dyn Fn(&Token) -> bool| tokens.iter().any(wanted);
    let number =
        |number| move |token: &Token| matches!(token, Token::Message(m) if m.number == number);
    assert!(has(
        &|t| matches!(t, Token::EnvChange(EnvChanged::Database(name)) if name == "master")
    ));
    assert!(has(&number(5701)) && has(&number(5703)));
    assert!(has(&|t| matches!(t, Token::EnvChange(EnvChanged::Collation(_)))));
    assert!(has(
        &|t| matches!(t, Token::EnvChange(EnvChanged::Language(name)) if name == "us_english")
    ));
    assert!(has(&|t| matches!(t, Token::EnvChange(EnvChanged::PacketSize(8000)))));
    let ack = tokens.iter().find_map(|token| match token {
        Token::LoginAck { version_code, program, program_version } => {
            Some((*version_code, program.as_str(), *program_version))
        }
        _ => None,
    });
    assert_eq!(ack, Some((0x7400_0004, "Microsoft SQL Server", [16, 0, 3, 232])));
    // No feature was asked for, so none is acknowledged: tedious 4 to 11 end a login that has an empty list.
    assert!(!has(&|t| matches!(t, Token::FeatureExtAck(_))));
    assert_eq!(final_status(&tokens), DoneStatus::FINAL);
}

/// MS-TDS 2.2.6.4: fChangePassword, and the new password behind the old one.
#[test]
fn a_login_changes_its_password() {
    let server = ServerProcess::start(&[]);
    let log_in = |login: &Login7| {
        let mut client = Client::connect(server.address);
        client.prelogin(tds::Encryption::Off);
        client.login(login)
    };
    let change = |password: &str, new_password: &str| {
        let mut login = Login7 {
            password: password.to_owned(),
            new_password: new_password.to_owned(),
            ..login_of_sa()
        };
        login.flags.option3 |= 0x01;
        log_in(&login)
    };
    let old = login_of_sa().password;
    assert_eq!(error_numbers(&change("wrong", "New-secret-1!")), [18456]);
    assert_eq!(error_numbers(&change(&old, "")), [18464]);
    assert_logged_in(&log_in(&login_of_sa()));
    assert_logged_in(&change(&old, "New-secret-1!"));
    assert_eq!(error_numbers(&log_in(&login_of_sa())), [18456]);
    let login = Login7 { password: "New-secret-1!".to_owned(), ..login_of_sa() };
    assert_logged_in(&log_in(&login));
}

/// The documentation of RAISERROR: severities from 20 on end the connection; WITH LOG writes to the log.
#[test]
fn raiserror_of_severity_20_ends_the_connection() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    assert_eq!(error_numbers(&client.batch("RAISERROR ('small', 11, 1) WITH LOG")), [50_000]);
    server.wait_for_log("Error: 50000, Severity: 11, State: 1. small");
    let tokens = client.batch("RAISERROR ('big', 20, 1) WITH LOG SELECT 1");
    assert_eq!(error_numbers(&tokens), [2745, 50_000, 596]);
    assert_eq!(client.drain(), 0, "the connection ends");
    assert_logged_in(&{
        let mut other = Client::connect(server.address);
        other.prelogin(tds::Encryption::Off);
        other.login(&login_of_sa())
    });
}

#[test]
fn wrong_password_is_18456_with_state_1_and_the_log_knows() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::connect(server.address);
    client.prelogin(tds::Encryption::Off);
    let tokens = client.login(&Login7 { password: "wrong".to_owned(), ..login_of_sa() });
    let error = crate::client::errors(&tokens)[0];
    assert_eq!((error.number, error.severity, error.state), (18456, 14, 1));
    assert!(final_status(&tokens).has(DoneStatus::ERROR));
    assert_eq!(client.drain(), 0, "the connection ends");
    let line = server.wait_for_log("Login refused to 'sa'");
    assert!(line.contains("state 8"), "the log names a wrong password as the cause: {line}");
}

#[test]
fn unknown_database_is_4060_then_18456() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::connect(server.address);
    client.prelogin(tds::Encryption::Off);
    let tokens = client.login(&Login7 { database: "nowhere".to_owned(), ..login_of_sa() });
    assert_eq!(error_numbers(&tokens), [4060, 18456]);
}

#[test]
fn select_one_is_a_row_of_one_column() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let tokens = client.batch("SELECT 1 AS one");
    let [Token::Columns(columns), Token::Row(row), Token::Done(done)] = tokens.as_slice() else {
        panic!("{tokens:?}")
    };
    assert_eq!(columns[0].name, "one");
    assert_eq!(columns[0].column_type.data_type, DataType::Int);
    assert_eq!(row, &[Value::Int(1)]);
    assert_eq!((done.row_count, done.status), (Some(1), DoneStatus::FINAL));
}

#[test]
fn tds_7_1_logs_in_without_prelogin() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::connect(server.address);
    client.settings.version = TdsVersion::V7_1;
    let version_code = TdsVersion::V7_1.code();
    assert_logged_in(&client.login(&Login7 { version_code, packet_size: 0, ..login_of_sa() }));
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn error_leaves_the_connection_usable() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let tokens = client.batch("SELEC 1");
    assert!(!error_numbers(&tokens).is_empty());
    assert!(final_status(&tokens).has(DoneStatus::ERROR));
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn several_calls_in_one_message_are_answered_one_by_one() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let packets = RpcBuilder::new(client.settings)
        .call("sp_reset_connection")
        .call("sp_reset_connection")
        .call("sp_reset_connection")
        .finish();
    client.send(&packets);
    let tokens = client.response();
    let ends: Vec<_> = tokens
        .iter()
        .filter_map(|token| match token {
            Token::Done(done) if done.kind == tds::DoneKind::Proc => Some(done.status),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 3, "{tokens:?}");
    assert!(ends[..2].iter().all(|status| status.has(DoneStatus::MORE)), "{tokens:?}");
    assert!(!ends[2].has(DoneStatus::MORE), "{tokens:?}");
}

#[test]
fn attention_stops_a_running_statement() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    client.send(&client::batch("WAITFOR DELAY '00:00:30'", client.settings));
    for _ in 0..20 {
        pause();
    }
    client.send(&client::attention());
    let cancelled = client.response();
    let tokens = if final_status(&cancelled).has(DoneStatus::ATTENTION) {
        cancelled
    } else {
        client.response()
    };
    assert!(final_status(&tokens).has(DoneStatus::ATTENTION), "{tokens:?}");
    assert_eq!(client.value_of("1"), Value::Int(1));
}

/// On one scheduler, which the query does not leave of itself: a cross join of small tables, so that no one
/// operator reads many rows at a time.
#[test]
fn long_query_lets_others_work_and_is_stopped_by_an_attention() {
    let server = ServerProcess::start(&["--schedulers", "1"]);
    let mut client = Client::log_in(server.address);
    let fill = "CREATE TABLE t (i int); INSERT t SELECT value FROM GENERATE_SERIES(1, 50)";
    assert_eq!(error_numbers(&client.batch(fill)), []);
    let tables: Vec<_> = (0..12).map(|number| format!("t AS t{number}")).collect();
    let query = format!("SELECT COUNT_BIG(*) FROM {} OPTION (FORCE ORDER)", tables.join(", "));
    client.send(&client::batch(&query, client.settings));
    let mut witness = Client::log_in(server.address);
    for _ in 0..5 {
        assert_eq!(witness.value_of("1"), Value::Int(1));
    }
    client.send(&client::attention());
    let mut responses = Responses::default();
    while !responses.acknowledged {
        responses.read(&mut client);
    }
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn attention_right_behind_its_request_stops_it() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let mut bytes = client::batch("WAITFOR DELAY '00:00:30'", client.settings);
    bytes.extend_from_slice(&client::attention());
    client.send(&bytes);
    let mut responses = Responses::default();
    while !responses.acknowledged {
        responses.read(&mut client);
    }
    assert_eq!(client.value_of("1"), Value::Int(1));
}

/// Reads responses until one acknowledges an attention; two may come in one piece.
#[derive(Default)]
struct Responses {
    acknowledged: bool,
}

impl Responses {
    fn read(&mut self, client: &mut Client) {
        self.acknowledged |= final_status(&client.response()).has(DoneStatus::ATTENTION);
    }
}

#[test]
fn attention_after_the_response_is_acknowledged() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    for _ in 0..3 {
        assert_eq!(client.value_of("1"), Value::Int(1));
        client.send(&client::attention());
        assert!(final_status(&client.response()).has(DoneStatus::ATTENTION));
    }
    assert_eq!(client.value_of("1"), Value::Int(1), "it cancels nothing later");
}

#[test]
fn reset_bit_ends_the_transaction_says_so_and_is_acknowledged_before_the_answer() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let begun = client.batch("BEGIN TRAN");
    let [Token::EnvChange(EnvChanged::BeginTransaction(transaction)), ..] = begun[..] else {
        panic!("{begun:?}")
    };
    assert_eq!(client.value_of("@@TRANCOUNT"), Value::Int(1));
    let mut packets = evaluation("@@TRANCOUNT", client.settings);
    client::set_reset(&mut packets, Reset::Session);
    client.send(&packets);
    let tokens = client.response();
    // [MS-TDS] 2.2.7.9, types 10 and 18.
    let expected = [EnvChanged::EndTransaction(transaction), EnvChanged::ResetDone];
    assert_eq!(tokens[..2], expected.map(Token::EnvChange));
    assert_eq!(output_value(&tokens), Value::Int(0));
    let mut packets = evaluation("@@TRANCOUNT", client.settings);
    client::set_reset(&mut packets, Reset::Session);
    client.send(&packets);
    let tokens = client.response();
    assert_eq!(tokens.first(), Some(&Token::EnvChange(EnvChanged::ResetDone)), "nothing to end");
}

#[test]
fn reset_but_keep_transaction_keeps_it() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    client.batch("BEGIN TRAN");
    let mut packets = evaluation("@@TRANCOUNT", client.settings);
    client::set_reset(&mut packets, Reset::KeepTransaction);
    client.send(&packets);
    let tokens = client.response();
    assert_eq!(tokens.first(), Some(&Token::EnvChange(EnvChanged::ResetDone)));
    assert_eq!(output_value(&tokens), Value::Int(1));
    assert!(final_status(&tokens).has(DoneStatus::IN_TRANSACTION));
}

/// As SQL Server: a client that gives up while a batch waits has seen no part of the answer.
#[test]
fn batch_that_waits_has_sent_neither_the_reset_nor_rows() {
    let server = ServerProcess::start(&[]);
    let mut witness = Client::log_in(server.address);
    let stream = tcp(server.address);
    let patience = stream.try_clone().expect("a socket");
    let mut client = Client::over(Box::new(stream), TdsVersion::V7_4);
    client.prelogin(tds::Encryption::NotSupported);
    assert_logged_in(&client.login(&login_of_sa()));
    let text = "PRINT 'before' SELECT 1 WAITFOR DELAY '00:00:30'";
    let mut packets = client::batch(text, client.settings);
    client::set_reset(&mut packets, Reset::KeepTransaction);
    client.send(&packets);
    let waits = "(SELECT COUNT(*) FROM sys.dm_exec_requests WHERE wait_type = 'WAITFOR')";
    while witness.value_of(waits) != Value::Int(1) {
        pause();
    }
    patience.set_read_timeout(Some(Duration::from_millis(200))).expect("a socket");
    assert_eq!(client.drain_some(), 0, "bytes before the end of the batch");
    patience.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    client.send(&client::attention());
    let tokens = client.response();
    assert_eq!(tokens.first(), Some(&Token::EnvChange(EnvChanged::ResetDone)));
}

#[test]
fn message_taken_back_is_answered_and_not_run() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let mut packets = client::batch("WAITFOR DELAY '00:00:30'", client.settings);
    packets[1] |= tds::packet::Status::IGNORE.0;
    client.send(&packets);
    client.response();
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn call_returns_output_parameters_by_place_and_name() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let int = column_type(DataType::Int);
    let text = column_type(DataType::NVarChar(Length::Limited(4000)));
    let statement = Value::nvarchar("SET @out = @in + 1");
    let declarations = Value::nvarchar("@in int, @out int OUTPUT");
    let packets = RpcBuilder::new(client.settings)
        .call_id(ProcedureId::ExecuteSql)
        .input("", text, &statement)
        .input("", text, &declarations)
        .input("@in", int, &Value::Int(41))
        .output("@out", int, &Value::Null)
        .finish();
    client.send(&packets);
    let tokens = client.response();
    let value = tokens.iter().find_map(|token| match token {
        Token::ReturnValue { name, value, .. } => Some((name.as_str(), value.clone())),
        _ => None,
    });
    assert_eq!(value, Some(("@out", Value::Int(42))), "{tokens:?}");
    assert!(tokens.contains(&Token::ReturnStatus(0)), "{tokens:?}");
}

#[test]
fn sixty_four_connections_work_side_by_side() {
    let server = ServerProcess::start(&[]);
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut client = Client::log_in(server.address);
                for _ in 0..50 {
                    assert_eq!(client.value_of("1"), Value::Int(1));
                }
            });
        }
    });
}

#[test]
fn login_storm_leaves_nothing_behind() {
    let server = ServerProcess::start(&[]);
    drop(Client::log_in(server.address));
    server.wait_until("the first connection is gone", |s| s.sockets() > 0);
    pause();
    let before = server.sockets();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..50 {
                    drop(Client::log_in(server.address));
                }
            });
        }
    });
    server.wait_until("all connections are gone", |s| s.sockets() <= before);
    assert!(server.resident_kb() < 100 * 1024, "{} KB", server.resident_kb());
}

#[test]
fn killed_session_ends_and_is_told_if_it_waits_for_an_answer() {
    let server = ServerProcess::start(&[]);
    let mut killer = Client::log_in(server.address);
    for running in [None, Some("WAITFOR DELAY '00:00:30'")] {
        let mut victim = Client::log_in(server.address);
        let Value::Int(id) = victim.value_of("@@SPID") else { panic!("an id") };
        if let Some(text) = running {
            victim.send(&client::batch(text, victim.settings));
            for _ in 0..20 {
                pause();
            }
        }
        assert_eq!(error_numbers(&killer.batch(&format!("KILL {id}"))), []);
        let mut answers = Vec::new();
        while let Ok(tokens) = victim.try_response() {
            answers.push(error_numbers(&tokens));
        }
        // One answer, which says that the request was cut off. What comes unasked would be taken for
        // the answer to the next request.
        let expected: &[Vec<i32>] = if running.is_some() { &[vec![596]] } else { &[] };
        assert_eq!(answers, expected, "running: {running:?}");
    }
    assert_eq!(killer.value_of("1"), Value::Int(1));
}

#[test]
fn a_request_that_a_stop_cuts_off_ends_with_an_error() {
    let usual = ["serve", "--port", "0", "--sa-password", PASSWORD];
    // The tests themselves may have been started by nohup, which a shell can not undo.
    let hangs_up = "exec env --default-signal=HUP \"$0\" \"$@\"";
    for signal in ["TERM", "INT", "HUP"] {
        let mut server = ServerProcess::start_command(command_after(hangs_up, &usual));
        let mut client = Client::log_in(server.address);
        client.send(&client::batch("WAITFOR DELAY '00:00:30' SELECT 1", client.settings));
        for _ in 0..20 {
            pause();
        }
        server.signal(signal);
        // A plain DONE would mean that all of the batch has run.
        let answer = client.try_response().expect("an answer");
        assert_eq!(error_numbers(&answer), [596], "{signal}");
        assert!(client.try_response().is_err(), "the connection has ended");
        assert!(server.wait().success(), "{signal} stops in order");
        server.wait_for_log(&format!("The server stops on SIG{signal}; 1 connections"));
        server.wait_for_log("The server has stopped in ");
    }
}

#[test]
fn a_hang_up_that_nohup_ignores_does_not_stop_the_server() {
    let usual = ["serve", "--port", "0", "--sa-password", PASSWORD];
    let mut server = ServerProcess::start_command(command_after("trap '' HUP", &usual));
    server.signal("HUP");
    for _ in 0..20 {
        pause();
    }
    assert_eq!(Client::log_in(server.address).value_of("1"), Value::Int(1));
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn client_that_goes_away_cancels_its_request() {
    let server = ServerProcess::start(&[]);
    let mut witness = Client::log_in(server.address);
    let before = server.sockets();
    let mut client = Client::log_in(server.address);
    client.send(&client::batch("WAITFOR DELAY '00:10:00'", client.settings));
    for _ in 0..20 {
        pause();
    }
    drop(client);
    server.wait_until("its connection is gone", |s| s.sockets() <= before);
    assert_eq!(witness.value_of("1"), Value::Int(1));
}

#[test]
fn attention_while_the_answer_waits_for_its_client_is_acknowledged() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let long = "SELECT REPLICATE(CONVERT(varchar(max), 'x'), 32000000)";
    client.send(&client::batch(long, client.settings));
    for _ in 0..40 {
        pause();
    }
    client.send(&client::attention());
    let mut responses = Responses::default();
    while !responses.acknowledged {
        responses.read(&mut client);
    }
    assert_eq!(client.value_of("1"), Value::Int(1));
}

/// Scripts look in the error log for the lines of a start.
#[test]
fn error_log_has_the_start() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let of = |text: &str| {
        format!(
            "CREATE TABLE #lines (at datetime, source nvarchar(50), line nvarchar(4000));
             INSERT #lines EXEC sp_readerrorlog 0, 1, N'{text}'"
        )
    };
    let listening =
        format!("Server is listening on [ 127.0.0.1 <ipv4> {} ]", server.address.port());
    for text in ["Server process ID is", &listening, "is now ready for client connections"] {
        assert!(error_numbers(&client.batch(&of(text))).is_empty(), "{text}");
        assert_eq!(client.value_of("(SELECT COUNT(*) FROM #lines)"), Value::Int(1), "{text}");
        client.batch("DROP TABLE #lines");
    }
}
