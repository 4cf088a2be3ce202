//! Tests that calls which repeat, whose names and parameters the server has worked out before
//! (`connection/calls.rs`), notice whatever changes what they mean.
//!
//! One test, since it counts the calls that took the known path in a counter of the whole process.

use std::io::Write;
use std::net::TcpStream;

use sos::sync::Ordering;
use tds::Login7;
use tds::client::{ClientSettings, RpcBuilder, Token};
use types::{ColumnType, DataType, Length, Value};

use crate::Server;
use crate::connection::KNOWN_CALLS;
use crate::containment::{PASSWORD, batch, errors, log_in, log_in_as, response, server};

fn int() -> ColumnType {
    ColumnType::nullable(DataType::Int)
}

fn big() -> ColumnType {
    ColumnType::nullable(DataType::BigInt)
}

fn text() -> ColumnType {
    ColumnType::nullable(DataType::NVarChar(Length::Limited(10)))
}

/// What a call was answered with.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    errors: Vec<i32>,
    rows: Vec<Vec<Value>>,
    outputs: Vec<(u16, String, Value)>,
    status: Vec<i32>,
}

fn read(stream: &mut TcpStream) -> Answer {
    let mut answer = Answer::default();
    for token in response(stream).expect("an answer") {
        match token {
            Token::Message(message) if message.severity > 10 => answer.errors.push(message.number),
            Token::Row(row) => answer.rows.push(row),
            Token::ReturnValue { ordinal, name, value, .. } => {
                answer.outputs.push((ordinal, name, value));
            }
            Token::ReturnStatus(status) => answer.status.push(status),
            _ => {}
        }
    }
    answer
}

fn send(stream: &mut TcpStream, call: RpcBuilder) -> Answer {
    stream.write_all(&call.finish()).expect("sent");
    read(stream)
}

fn call(name: &str) -> RpcBuilder {
    RpcBuilder::new(ClientSettings::default()).call(name)
}

/// The usual call: doubles a number, and repeats a text.
fn usual(number: i32, value: &str) -> RpcBuilder {
    call("dbo.p")
        .input("@n", int(), &Value::Int(number))
        .output("@twice", int(), &Value::Null)
        .input("@text", text(), &Value::nvarchar(value))
}

fn answered(number: i32, text: &str) -> Answer {
    Answer {
        errors: Vec::new(),
        rows: vec![vec![Value::nvarchar(text)]],
        outputs: vec![(1, "@twice".to_owned(), Value::Int(2 * number))],
        status: vec![number],
    }
}

fn of_errors(answer: &Answer) -> &[i32] {
    &answer.errors
}

/// Calls until the call takes the known path.
fn warm(stream: &mut TcpStream) {
    let before = KNOWN_CALLS.load(Ordering::Relaxed);
    for number in 0..2_000 {
        assert_eq!(send(stream, usual(number, "warm")), answered(number, "warm"));
        if KNOWN_CALLS.load(Ordering::Relaxed) > before {
            return;
        }
    }
    panic!("2,000 calls and none was known");
}

/// Runs `work`, and returns how many calls of it took the known path.
fn known(work: impl FnOnce()) -> u64 {
    let before = KNOWN_CALLS.load(Ordering::Relaxed);
    work();
    KNOWN_CALLS.load(Ordering::Relaxed) - before
}

fn run(stream: &mut TcpStream, text: &str) {
    assert_eq!(errors(stream, text), [], "{text}");
}

const PROCEDURE: &str = "PROCEDURE dbo.p @n int, @twice int OUTPUT, @text nvarchar(4) = N'none' AS \
                         SET NOCOUNT ON SET @twice = 2 * @n SELECT @text AS t RETURN @n";

fn create(stream: &mut TcpStream) {
    run(stream, &format!("CREATE OR ALTER {PROCEDURE}"));
}

#[test]
fn known_calls_notice_what_changes_their_meaning() {
    let server = server();
    let mut admin = log_in(&server);
    create(&mut admin);
    let mut client = log_in(&server);
    values_differ(&mut client);
    parameters_differ(&mut client);
    errors_and_transactions(&mut client);
    definitions_change(&mut client, &mut admin);
    database_and_options_change(&mut client);
    principals_and_permissions_change(&server, &mut admin);
    temporary_procedures(&server);
    event_sessions_see_all(&mut client, &mut admin);
    server.stop(sos::sys::Stop::Terminate);
}

fn values_differ(client: &mut TcpStream) {
    warm(client);
    let count = known(|| {
        for number in [7, -1, 0, i32::MAX / 2] {
            assert_eq!(send(client, usual(number, "abc")), answered(number, "abc"));
        }
        let null =
            call("dbo.p").input("@n", int(), &Value::Null).output("@twice", int(), &Value::Null);
        let answer = send(client, null.input("@text", text(), &Value::Null));
        assert_eq!(answer.outputs, [(1, "@twice".to_owned(), Value::Null)]);
        assert_eq!(answer.rows, [vec![Value::Null]]);
    });
    assert_eq!(count, 5);
    // A value that has to be cut takes the general path; so does one after it that is as long as before.
    let count = known(|| {
        assert_eq!(send(client, usual(3, "abcdef")), answered(3, "abcd"));
        assert_eq!(send(client, usual(4, "abcdefg")), answered(4, "abcd"));
    });
    assert_eq!(count, 0);
    // Two calls in one message: each has its own answer.
    warm(client);
    let both = usual(5, "five").call("dbo.p").input("@n", int(), &Value::Int(6));
    let both =
        both.output("@twice", int(), &Value::Null).input("@text", text(), &Value::nvarchar("six"));
    let answer = send(client, both);
    assert_eq!(answer.rows, [vec![Value::nvarchar("five")], vec![Value::nvarchar("six")]]);
    assert_eq!(answer.status, [5, 6]);
}

fn parameters_differ(client: &mut TcpStream) {
    warm(client);
    let begun =
        || call("dbo.p").input("@n", int(), &Value::Int(8)).output("@twice", int(), &Value::Null);
    let answer = send(client, begun());
    assert_eq!(answer, answered(8, "none"), "the default of what is left out");
    let x = Value::nvarchar("x");
    let more = begun().input("@text", text(), &x).input("@more", int(), &Value::Int(1));
    assert_eq!(of_errors(&send(client, more)), [8145]);
    let other = begun().input("@other", text(), &x);
    assert_eq!(of_errors(&send(client, other)), [8145]);
    let swapped = call("dbo.p").input("@text", text(), &Value::nvarchar("swap"));
    let swapped = swapped.output("@twice", int(), &Value::Null).input("@n", int(), &Value::Int(9));
    assert_eq!(send(client, swapped), answered(9, "swap"));
    let wide = call("dbo.p").input("@n", big(), &Value::BigInt(10));
    let wide = wide.output("@twice", big(), &Value::Null).input("@text", text(), &x);
    assert_eq!(send(client, wide).outputs, [(1, "@twice".to_owned(), Value::BigInt(20))]);
    let unasked =
        call("dbo.p").input("@n", int(), &Value::Int(11)).input("@twice", int(), &Value::Null);
    assert_eq!(send(client, unasked.input("@text", text(), &x)).outputs, []);
    assert_eq!(send(client, usual(12, "back")), answered(12, "back"));
}

fn errors_and_transactions(client: &mut TcpStream) {
    run(
        client,
        "CREATE OR ALTER PROCEDURE dbo.f @n int AS IF @n = 1 THROW 50001, 'one', 1 \
         IF @n = 2 BEGIN TRANSACTION IF @n = 3 SELECT 1 / 0 RETURN @n",
    );
    let ask =
        |client: &mut TcpStream, n| send(client, call("dbo.f").input("@n", int(), &Value::Int(n)));
    for _ in 0..4 {
        assert_eq!(ask(client, 0).status, [0]);
    }
    let count = known(|| {
        assert_eq!(of_errors(&ask(client, 1)), [50_001]);
        assert_eq!(ask(client, 0).status, [0]);
        assert_eq!(of_errors(&ask(client, 3)), [8134]);
        // 266 has severity 16: the transaction count differs.
        assert_eq!(of_errors(&ask(client, 2)), [266]);
    });
    assert_eq!(count, 4);
    run(client, "IF @@TRANCOUNT <> 1 THROW 50000, 'no transaction', 1; ROLLBACK");
}

fn definitions_change(client: &mut TcpStream, admin: &mut TcpStream) {
    warm(client);
    // By another session: parameters in another order, another result.
    run(
        admin,
        "ALTER PROCEDURE dbo.p @text nvarchar(10), @n int, @twice int OUTPUT AS \
         SET @twice = 3 * @n SELECT @text + N'!' AS t RETURN 1",
    );
    let answer = send(client, usual(2, "two"));
    assert_eq!(answer.rows, [vec![Value::nvarchar("two!")]]);
    assert_eq!(answer.outputs, [(1, "@twice".to_owned(), Value::Int(6))]);
    create(admin);
    warm(client);
    run(admin, "DROP PROCEDURE dbo.p");
    assert_eq!(of_errors(&send(client, usual(2, "two"))), [2812]);
    create(admin);
    assert_eq!(send(client, usual(2, "two")), answered(2, "two"));
    warm(client);
    // By the session itself, in a transaction that is rolled back.
    run(client, "BEGIN TRANSACTION");
    run(client, "ALTER PROCEDURE dbo.p @n int, @twice int OUTPUT, @text nvarchar(4) AS RETURN -7");
    assert_eq!(send(client, usual(2, "two")).status, [-7]);
    run(client, "ROLLBACK");
    assert_eq!(send(client, usual(2, "two")), answered(2, "two"));
    warm(client);
    run(client, "EXEC sp_recompile N'dbo.p'");
    assert_eq!(send(client, usual(2, "two")), answered(2, "two"));
    warm(client);
    run(admin, "DBCC FREEPROCCACHE");
    assert_eq!(send(client, usual(2, "two")), answered(2, "two"));
}

fn database_and_options_change(client: &mut TcpStream) {
    run(client, "CREATE DATABASE other");
    run(client, "USE other");
    run(client, "CREATE PROCEDURE dbo.p @n int, @twice int OUTPUT, @text nvarchar(4) AS RETURN -5");
    run(client, "USE master");
    warm(client);
    run(client, "USE other");
    assert_eq!(send(client, usual(1, "a")).status, [-5]);
    run(client, "USE master");
    assert_eq!(send(client, usual(1, "a")), answered(1, "a"));
    // A procedure that reads an option of the session: each call sees the one of now.
    run(
        client,
        "CREATE OR ALTER PROCEDURE dbo.o @n int AS \
         IF NULL + N'a' IS NULL RETURN 1 ELSE RETURN 2",
    );
    let ask = |client: &mut TcpStream| {
        let answer = send(client, call("dbo.o").input("@n", int(), &Value::Int(0)));
        assert_eq!(answer.errors, [], "{answer:?}");
        answer.status
    };
    for _ in 0..4 {
        assert_eq!(ask(client), [1]);
    }
    run(client, "SET CONCAT_NULL_YIELDS_NULL OFF");
    assert_eq!(ask(client), [2]);
    run(client, "SET CONCAT_NULL_YIELDS_NULL ON");
    assert_eq!(ask(client), [1]);
}

fn principals_and_permissions_change(server: &Server, admin: &mut TcpStream) {
    run(
        admin,
        &format!(
            "CREATE LOGIN guest_one WITH PASSWORD = '{PASSWORD}'; CREATE USER guest_one; \
             CREATE USER nothing WITHOUT LOGIN; GRANT EXECUTE ON dbo.p TO guest_one"
        ),
    );
    let login = Login7 { user: "guest_one".to_owned(), ..Login7::default() };
    let mut guest = log_in_as(server, login);
    warm(&mut guest);
    run(admin, "DENY EXECUTE ON dbo.p TO guest_one");
    assert_eq!(of_errors(&send(&mut guest, usual(1, "a"))), [229]);
    run(admin, "GRANT EXECUTE ON dbo.p TO guest_one");
    assert_eq!(send(&mut guest, usual(1, "a")), answered(1, "a"));
    // What one login may do says nothing of another on the same worker.
    warm(admin);
    run(admin, "REVOKE EXECUTE ON dbo.p FROM guest_one");
    warm(admin);
    assert_eq!(of_errors(&send(&mut guest, usual(1, "a"))), [229]);
    run(admin, "EXECUTE AS USER = 'nothing'");
    assert_eq!(of_errors(&send(admin, usual(1, "a"))), [229]);
    run(admin, "REVERT");
    assert_eq!(send(admin, usual(1, "a")), answered(1, "a"));
}

fn temporary_procedures(server: &Server) {
    for number in [1, 2] {
        let mut client = log_in(server);
        run(&mut client, &format!("CREATE PROCEDURE #t @n int AS RETURN {number}"));
        for _ in 0..4 {
            let answer = send(&mut client, call("#t").input("@n", int(), &Value::Int(0)));
            assert_eq!(answer.status, [number]);
        }
    }
}

fn event_sessions_see_all(client: &mut TcpStream, admin: &mut TcpStream) {
    warm(client);
    run(
        admin,
        "CREATE EVENT SESSION calls ON SERVER ADD EVENT sqlserver.rpc_completed \
         ADD TARGET package0.event_counter; ALTER EVENT SESSION calls ON SERVER STATE = START",
    );
    let count = known(|| {
        for _ in 0..5 {
            assert_eq!(send(client, usual(1, "a")), answered(1, "a"));
        }
    });
    assert_eq!(count, 0, "an event session needs calls as they were sent");
    run(admin, "DROP EVENT SESSION calls ON SERVER");
    warm(client);
    drop(batch(admin, "PRINT 'alive'"));
}
