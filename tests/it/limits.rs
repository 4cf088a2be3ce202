//! Named limits: slow clients, big messages, too many connections.

use std::io::Write;

use tds::client::{self, RpcBuilder};
use tds::{Encryption, Prelogin, ProcedureId};
use types::data_type::Length;
use types::{DataType, Value};

use crate::client::{Client, column_type, error_numbers, evaluation, output_value, tcp};
use crate::data_folder::Data;
use crate::server::{PASSWORD, ServerProcess, command_after, pause};

#[test]
fn silent_client_is_closed_after_the_login_timeout() {
    let server = ServerProcess::start(&["--login-timeout", "300ms"]);
    let mut client = Client::connect(server.address);
    assert_eq!(client.drain(), 0);
    server.wait_for_log("login timeout");
}

#[test]
fn half_a_login_is_closed_after_the_login_timeout() {
    let server = ServerProcess::start(&["--login-timeout", "300ms"]);
    let mut client = Client::connect(server.address);
    client.prelogin(Encryption::Off);
    client.send(&[0x10, 1, 1, 0]);
    client.drain();
    server.wait_for_log("login timeout");
}

#[test]
fn client_that_drips_is_closed_after_the_login_timeout() {
    let server = ServerProcess::start(&["--login-timeout", "400ms"]);
    let mut stream = tcp(server.address);
    let bytes = client::prelogin(&Prelogin::default());
    let mut closed = false;
    for byte in bytes.iter().cycle().take(400) {
        closed |= stream.write_all(&[*byte]).is_err();
        pause();
        if closed {
            break;
        }
    }
    assert!(closed, "a drip of bytes keeps no connection open");
}

#[test]
fn half_a_request_is_closed_after_the_packet_timeout() {
    let server = ServerProcess::start(&["--packet-timeout", "300ms"]);
    let mut client = Client::log_in(server.address);
    let bytes = evaluation("1", client.settings);
    client.send(&bytes[..bytes.len() / 2]);
    client.drain();
    server.wait_for_log("packet timeout");
}

#[test]
fn idle_connection_stays() {
    let server = ServerProcess::start(&["--packet-timeout", "100ms", "--login-timeout", "100ms"]);
    let mut client = Client::log_in(server.address);
    for _ in 0..100 {
        pause();
    }
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn request_in_many_small_pieces_is_put_together() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    for chunk in evaluation("1", client.settings).chunks(5) {
        client.send(chunk);
        pause();
    }
    assert_eq!(output_value(&client.response()), Value::Int(1));
}

#[test]
fn batch_of_many_megabytes_is_run() {
    let server = ServerProcess::start(&[]);
    let run = |letter: &str| {
        let mut client = Client::log_in(server.address);
        let text = format!("DECLARE @a int /* {} */", letter.repeat(4 << 20));
        assert_eq!(error_numbers(&client.batch(&text)), []);
    };
    run("x");
    // Its memory stays with the process, and the next ones have it again: no plan of so long a text is kept.
    let after_one = server.resident_kb();
    "abcdefgh".chars().for_each(|letter| run(&letter.to_string()));
    let most = after_one + (16 << 10);
    server.wait_until("their memory is used again", |s| s.resident_kb() < most);
}

#[test]
fn message_too_long_for_the_memory_is_701_and_the_session_goes_on() {
    let server = ServerProcess::start(&["--max-memory", "64MB"]);
    let mut client = Client::log_in(server.address);
    let text = format!("DECLARE @a int /* {} */", "x".repeat(100 << 20));
    assert_eq!(error_numbers(&client.batch(&text)), [701]);
    assert!(server.resident_kb() < 200 * 1024, "{} KB", server.resident_kb());
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn one_connection_too_many_is_closed() {
    let server = ServerProcess::start(&["--max-connections", "2"]);
    let first = Client::log_in(server.address);
    let _second = Client::log_in(server.address);
    let mut third = Client::connect(server.address);
    assert_eq!(third.drain(), 0);
    drop(first);
    server.wait_for_log("Too many connections");
    for _ in 0..200 {
        pause();
        let mut again = Client::connect(server.address);
        again.send(&client::prelogin(&Prelogin::default()));
        if again.drain_some() > 0 {
            return;
        }
    }
    panic!("a place that was given back is never free");
}

#[test]
fn clients_leave_descriptors_for_the_files_of_the_log() {
    let data = Data::new("descriptors");
    let usual = ["serve", "--port", "0", "--sa-password", PASSWORD, "--data", data.path()];
    let server = ServerProcess::start_command(command_after("ulimit -n 80", &usual));
    let mut first = Client::log_in(server.address);
    let others: Vec<_> = (0..80).map(|_| Client::connect(server.address)).collect();
    let line = server.wait_for_log("Connections are refused: file descriptors run short");
    assert!(line.contains("may have 80 of them") && line.contains("--max-connections"), "{line}");
    // More than a segment of the log, a checkpoint and a backup.
    let fill =
        "CREATE DATABASE d; CREATE TABLE d.dbo.t (a int IDENTITY PRIMARY KEY, b varbinary(8000))";
    assert_eq!(error_numbers(&first.batch(fill)), [] as [i32; 0]);
    for _ in 0..10 {
        let rows = "INSERT d.dbo.t (b) SELECT CRYPT_GEN_RANDOM(8000) FROM GENERATE_SERIES(1, 1000)";
        assert_eq!(error_numbers(&first.batch(rows)), [] as [i32; 0]);
    }
    assert_eq!(error_numbers(&first.batch("CHECKPOINT")), [] as [i32; 0]);
    drop(others);
    server.wait_until("a client is served again", |server| {
        let mut again = Client::connect(server.address);
        again.send(&client::prelogin(&Prelogin::default()));
        again.drain_some() > 0
    });
}

#[test]
fn client_that_takes_no_answer_is_closed_after_the_send_timeout() {
    let server = ServerProcess::start(&["--send-timeout", "500ms"]);
    let mut client = Client::log_in(server.address);
    let long = column_type(DataType::VarChar(Length::Max));
    let text = column_type(DataType::NVarChar(Length::Limited(4000)));
    let value = Value::nvarchar("SET @v = REPLICATE(CONVERT(varchar(max), 'x'), 64000000)");
    let packets = RpcBuilder::new(client.settings)
        .call_id(ProcedureId::ExecuteSql)
        .input("", text, &value)
        .input("", text, &Value::nvarchar("@v varchar(max) OUTPUT"))
        .output("@v", long, &Value::Null)
        .finish();
    client.send(&packets);
    server.wait_for_log("send timeout");
}

#[test]
fn many_idle_connections_are_cheap() {
    let server = ServerProcess::start(&[]);
    drop(Client::log_in(server.address));
    pause();
    let before_kb = server.resident_kb();
    let clients: Vec<_> = (0..500).map(|_| Client::log_in(server.address)).collect();
    let each_kb = (server.resident_kb() - before_kb) / 500;
    assert!(each_kb <= 24, "{each_kb} KB per idle connection");
    drop(clients);
}
