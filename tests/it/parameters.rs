//! Parameters on the wire, in the forms that drivers send: tables without the name of their type, OUTPUT parameters of
//! the caller's types, prepared calls, cursors.

use tds::client::{RpcBuilder, Token};
use tds::{PacketType, ProcedureId};
use types::data_type::Length;
use types::{ColumnType, DataType, Decimal, Value};

use crate::client::{Client, Tokens, column_type, error_numbers, rows};
use crate::server::ServerProcess;

const INT: DataType = DataType::Int;
const TEXT: DataType = DataType::NVarChar(Length::Limited(10));

fn client_with(server: &ServerProcess, batches: &[&str]) -> Client {
    let mut client = Client::log_in(server.address);
    for batch in batches {
        let tokens = client.batch(batch);
        assert_eq!(error_numbers(&tokens), [0; 0], "{batch}");
    }
    client
}

fn call(client: &mut Client, packets: &[u8]) -> Tokens {
    client.send(packets);
    client.response()
}

/// The types and values of the OUTPUT parameters, in order.
fn outputs(tokens: &Tokens) -> Vec<(DataType, Value)> {
    let output = |token: &Token| match token {
        Token::ReturnValue { column_type, value, .. } => {
            Some((column_type.data_type, value.clone()))
        }
        _ => None,
    };
    tokens.iter().filter_map(output).collect()
}

fn given(data_type: DataType) -> (ColumnType, bool) {
    (column_type(data_type), false)
}

fn left(data_type: DataType) -> (ColumnType, bool) {
    (column_type(data_type), true)
}

fn text(value: &str) -> Value {
    Value::nvarchar(value)
}

/// [MS-TDS] 2.2.5.5.5.1: a name of no units is that of the parameter's type. ODBC, JDBC and tedious send so.
#[test]
fn tables_without_a_type_are_of_the_parameters_type() {
    let server = ServerProcess::start(&[]);
    let batches = [
        "CREATE SCHEMA s",
        "CREATE TYPE tt AS TABLE (a int, b nvarchar(10)); CREATE TYPE s.ts AS TABLE (a int, b nvarchar(10))",
        "CREATE PROCEDURE p @t tt READONLY AS SELECT a, b FROM @t",
        "CREATE PROCEDURE s.q @x int, @t s.ts READONLY AS SELECT @x + a, b FROM @t",
    ];
    let mut client = client_with(&server, &batches);
    let settings = client.settings;
    let columns = [given(INT), given(TEXT)];
    let sent = [vec![Value::Int(1), text("x")], vec![Value::Int(2), Value::Null]];
    for (type_name, parameter) in
        [(("", ""), ""), (("", ""), "@t"), (("", "tt"), ""), (("dbo", "TT"), "@t")]
    {
        let packets =
            RpcBuilder::new(settings).call("p").table(parameter, type_name, &columns, &sent);
        assert_eq!(rows(&call(&mut client, &packets.finish())), sent, "{type_name:?}");
    }
    let packets = RpcBuilder::new(settings)
        .call("s.q")
        .input("", column_type(INT), &Value::Int(10))
        .table("", ("", ""), &columns, &sent)
        .finish();
    let tokens = call(&mut client, &packets);
    assert_eq!(rows(&tokens)[1], [Value::Int(12), Value::Null], "{tokens:?}");
    // A type of another name is no type of the parameter (206); one that there is not is 2715.
    for (type_name, number) in [(("s", "ts"), 206), (("", "nowhere"), 2715)] {
        let packets = RpcBuilder::new(settings).call("p").table("", type_name, &columns, &sent);
        assert_eq!(error_numbers(&call(&mut client, &packets.finish())), [number]);
    }
    // No columns: no rows. Another number of columns is 500.
    let packets = RpcBuilder::new(settings).call("p").table("", ("", ""), &columns[..1], &[]);
    assert_eq!(error_numbers(&call(&mut client, &packets.finish())), [500]);
    // A text that is no number: 8114, and 8061 or 8062 that name the parameter, as SQL Server's clients report it.
    let wrong = [vec![text("x"), text("y")]];
    for (parameter, number) in [("@t", 8061), ("", 8062)] {
        let columns = [given(TEXT), given(TEXT)];
        let packets =
            RpcBuilder::new(settings).call("p").table(parameter, ("", ""), &columns, &wrong);
        let numbers = error_numbers(&call(&mut client, &packets.finish()));
        assert_eq!(numbers.last(), Some(&number), "{numbers:?}");
        assert_eq!(numbers.len(), 2, "{numbers:?}");
    }
    assert_eq!(client.value_of("1"), Value::Int(1));
}

/// A column with fDefault has no value in the rows ([MS-TDS] 2.2.5.5.5.2); identity columns take none (1077).
#[test]
fn columns_of_tables_may_be_left_to_the_type() {
    let server = ServerProcess::start(&[]);
    let batches = [
        "CREATE TYPE ti AS TABLE (id int IDENTITY(10, 5), a int, b varchar(4) DEFAULT 'none', c AS a * 2, CHECK (a < 100))",
        "CREATE PROCEDURE p @t ti READONLY AS SELECT id, a, b, c FROM @t ORDER BY id",
    ];
    let mut client = client_with(&server, &batches);
    let settings = client.settings;
    let columns = [left(INT), given(INT), left(TEXT), left(INT)];
    let table = |rows: &[Vec<Value>]| {
        RpcBuilder::new(settings).call("p").table("@t", ("", ""), &columns, rows).finish()
    };
    let tokens = call(&mut client, &table(&[vec![Value::Int(7)], vec![Value::Int(8)]]));
    let shown = rows(&tokens);
    assert_eq!(shown.len(), 2, "{tokens:?}");
    assert_eq!(shown[0][..2], [Value::Int(10), Value::Int(7)]);
    assert_eq!(shown[1][..2], [Value::Int(15), Value::Int(8)]);
    assert_eq!(shown[1][3], Value::Int(16));
    assert_eq!(shown[1][2].string_bytes(), Some(&b"none"[..]));
    assert_eq!(error_numbers(&call(&mut client, &table(&[vec![Value::Int(100)]]))), [547, 8061]);
    let columns = [given(INT), given(INT), left(TEXT), left(INT)];
    let sent = [vec![Value::Int(1), Value::Int(2)]];
    let packets = RpcBuilder::new(settings).call("p").table("@t", ("", ""), &columns, &sent);
    assert_eq!(error_numbers(&call(&mut client, &packets.finish())), [1077, 8061]);
}

/// ODBC prepares with the type in the declarations and executes by places.
#[test]
fn tables_are_arguments_of_prepared_statements() {
    let server = ServerProcess::start(&[]);
    let mut client = client_with(&server, &["CREATE TYPE tt AS TABLE (a int, b nvarchar(10))"]);
    let settings = client.settings;
    let long = column_type(DataType::NVarChar(Length::Max));
    let declared = "@x int, @t [dbo].[tt] READONLY, @y int";
    let packets = RpcBuilder::new(settings)
        .call_id(ProcedureId::Prepare)
        .output("", column_type(INT), &Value::Null)
        .input("", long, &text(declared))
        .input("", long, &text("SELECT @x + a + @y FROM @t"))
        .input("", column_type(INT), &Value::Int(1))
        .finish();
    let handle = outputs(&call(&mut client, &packets)).remove(0).1;
    let sent = [vec![Value::Int(5), Value::Null]];
    let packets = RpcBuilder::new(settings)
        .call_id(ProcedureId::Execute)
        .input("", column_type(INT), &handle)
        .input("", column_type(INT), &Value::Int(100))
        .table("", ("dbo", "tt"), &[given(INT), given(TEXT)], &sent)
        .input("", column_type(INT), &Value::Int(20))
        .finish();
    let tokens = call(&mut client, &packets);
    assert_eq!(rows(&tokens), [[Value::Int(125)]], "{tokens:?}");
}

/// RETURNVALUE has the type of the parameter as it was sent: clients read it into what they have bound.
#[test]
fn output_parameters_come_back_in_the_callers_types() {
    let server = ServerProcess::start(&[]);
    let batch = "CREATE PROCEDURE p @d decimal(10, 2) OUTPUT, @s varchar(max) OUTPUT, @n int OUTPUT AS \
                 SELECT @d = 12.34, @s = 'a long text', @n = 7";
    let mut client = client_with(&server, &[batch]);
    let wide = DataType::Decimal { precision: 20, scale: 6 };
    let short = DataType::NVarChar(Length::Limited(6));
    let expected = [
        (wide, Value::Decimal(Decimal::new(12_340_000, 20, 6))),
        (short, text("a long")),
        (DataType::BigInt, Value::BigInt(7)),
    ];
    let settings = client.settings;
    let with_outputs = |builder: RpcBuilder| {
        builder
            .output("@d", column_type(wide), &Value::Null)
            .output("@s", column_type(short), &Value::Null)
            .output("@n", column_type(DataType::BigInt), &Value::Null)
            .finish()
    };
    let packets = with_outputs(RpcBuilder::new(settings).call("p"));
    assert_eq!(outputs(&call(&mut client, &packets)), expected);
    let long = column_type(DataType::NVarChar(Length::Max));
    let declared = "@d decimal(10, 2) OUTPUT, @s varchar(max) OUTPUT, @n int OUTPUT";
    let statement = RpcBuilder::new(settings)
        .call_id(ProcedureId::ExecuteSql)
        .input("", long, &text("EXEC p @d OUTPUT, @s OUTPUT, @n OUTPUT"))
        .input("", long, &text(declared));
    assert_eq!(outputs(&call(&mut client, &with_outputs(statement))), expected);
    // The old large types are none of OUTPUT parameters: 8018.
    let packets = RpcBuilder::new(settings)
        .call("p")
        .output("@d", column_type(wide), &Value::Null)
        .output("@s", column_type(DataType::Text), &Value::Null)
        .finish();
    assert_eq!(error_numbers(&call(&mut client, &packets)), [8018]);
    assert_eq!(client.value_of("1"), Value::Int(1));
}

/// `sp_prepexecrpc handle OUTPUT, RPCCall, bound_param, ..`: ProcID 14, documented for SQL Server 2008 R2.
#[test]
fn a_call_is_prepared_and_executed() {
    let server = ServerProcess::start(&[]);
    let batch = "CREATE PROCEDURE p @a int, @b int OUTPUT, @c int = 5 AS \
                 SELECT @a AS a; SET @b = @a + @c; RETURN 4";
    let mut client = client_with(&server, &[batch]);
    let settings = client.settings;
    let long = column_type(DataType::NVarChar(Length::Max));
    let int = column_type(INT);
    let status = |tokens: &Tokens| {
        let status = |token: &Token| match token {
            Token::ReturnStatus(status) => Some(*status),
            _ => None,
        };
        tokens.iter().filter_map(status).collect::<Vec<_>>()
    };
    let packets = RpcBuilder::new(settings)
        .call_id(ProcedureId::PrepExecRpc)
        .output("", int, &Value::Null)
        .input("", long, &text("{?=call p(?, ?)}"))
        .input("", int, &Value::Int(1))
        .output("", int, &Value::Null)
        .finish();
    let tokens = call(&mut client, &packets);
    assert_eq!(rows(&tokens), [[Value::Int(1)]], "{tokens:?}");
    assert_eq!(status(&tokens), [4]);
    let values = outputs(&tokens);
    assert_eq!(values[1], (INT, Value::Int(6)));
    let packets = RpcBuilder::new(settings)
        .call_id(ProcedureId::Execute)
        .input("", int, &values[0].1)
        .input("", int, &Value::Int(10))
        .output("", int, &Value::Null)
        .finish();
    let tokens = call(&mut client, &packets);
    assert_eq!(rows(&tokens), [[Value::Int(10)]], "{tokens:?}");
    assert_eq!((status(&tokens), outputs(&tokens)), (vec![4], vec![(INT, Value::Int(15))]));
    // Microsoft's ODBC driver sends the name alone; markers are then all that is bound.
    let packets = RpcBuilder::new(settings)
        .call_id(ProcedureId::PrepExecRpc)
        .output("", int, &Value::Null)
        .input("", long, &text("p"))
        .input("@a", int, &Value::Int(2))
        .output("@b", int, &Value::Null)
        .input("@c", int, &Value::Int(7))
        .finish();
    let tokens = call(&mut client, &packets);
    assert_eq!(
        (status(&tokens), &outputs(&tokens)[1]),
        (vec![4], &(INT, Value::Int(9))),
        "{tokens:?}"
    );
    for (text_of_call, number) in [("{call nothing}", 2812), ("a b", 2812), ("{call p(?)}", 137)] {
        let packets = RpcBuilder::new(settings)
            .call_id(ProcedureId::PrepExecRpc)
            .output("", int, &Value::Null)
            .input("", long, &text(text_of_call))
            .finish();
        assert_eq!(error_numbers(&call(&mut client, &packets)), [number], "{text_of_call}");
    }
}

/// Bits of `@scrollopt` and `@ccopt` of sp_cursoropen.
const FORWARD_ONLY: i32 = 4;
const PARAMETERIZED: i32 = 0x1000;
const READ_ONLY: i32 = 1;
const ALLOW_DIRECT: i32 = 0x2000;

fn open(client: &Client, statement: &str, concurrency: i32) -> Vec<u8> {
    let long = column_type(DataType::NVarChar(Length::Max));
    let int = column_type(INT);
    RpcBuilder::new(client.settings)
        .call_id(ProcedureId::CursorOpen)
        .output("", int, &Value::Null)
        .input("", long, &text(statement))
        .output("", int, &Value::Int(FORWARD_ONLY | PARAMETERIZED))
        .output("", int, &Value::Int(concurrency))
        .output("", int, &Value::Int(0))
        .input("", long, &text("@n int OUTPUT"))
        .output("@n", int, &Value::Null)
        .finish()
}

#[test]
fn output_parameters_and_messages_come_where_a_cursor_cannot_be_opened() {
    let server = ServerProcess::start(&[]);
    let batches = [
        "CREATE PROCEDURE one @n int AS SELECT 1 AS a UNION ALL SELECT 2",
        "CREATE PROCEDURE two @n int OUTPUT AS SELECT 1 AS a; PRINT 'said'; SET @n = 4; SELECT 2 AS a",
    ];
    let mut client = client_with(&server, &batches);
    let said = |tokens: &Tokens, number| {
        tokens.iter().any(|token| matches!(token, Token::Message(m) if m.number == number))
    };
    let packets = open(&client, "EXEC one @n", READ_ONLY | ALLOW_DIRECT);
    let values = outputs(&call(&mut client, &packets));
    let packets = RpcBuilder::new(client.settings)
        .call_id(ProcedureId::CursorFetch)
        .input("", column_type(INT), &values[0].1)
        .input("", column_type(INT), &Value::Int(2))
        .input("", column_type(INT), &Value::Int(0))
        .input("", column_type(INT), &Value::Int(10))
        .finish();
    assert_eq!(rows(&call(&mut client, &packets)).len(), 2);
    // No cursor can be opened on a procedure that is more than a query: 16937, or with ALLOW_DIRECT its rows and the
    // message 16954.
    let packets = open(&client, "EXEC two @n OUTPUT", READ_ONLY);
    assert_eq!(error_numbers(&call(&mut client, &packets)), [16937]);
    let packets = open(&client, "EXEC two @n OUTPUT", READ_ONLY | ALLOW_DIRECT);
    let tokens = call(&mut client, &packets);
    assert!(said(&tokens, 16954) && said(&tokens, 0), "{tokens:?}");
    assert_eq!(rows(&tokens), [[Value::Int(1)], [Value::Int(2)]]);
    let values = outputs(&tokens);
    assert_eq!(values[0].1, Value::Int(0), "{tokens:?}");
    assert_eq!(values.last(), Some(&(INT, Value::Int(4))));
    let packets = open(&client, "SET @n = 9", READ_ONLY | ALLOW_DIRECT);
    let tokens = call(&mut client, &packets);
    assert_eq!(outputs(&tokens).last(), Some(&(INT, Value::Int(9))), "{tokens:?}");
}

/// [MS-TDS] 2.2.3.1.4: the server puts the session into the header of what it sends.
#[test]
fn packets_carry_the_session() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::log_in(server.address);
    let Value::Int(session) = client.value_of("@@SPID") else { panic!("@@SPID is an int") };
    let packets = tds::client::batch("SELECT 1", client.settings);
    client.send(&packets);
    let header = client.raw(8);
    assert_eq!(header[0], PacketType::Response.code());
    assert_eq!(i32::from(u16::from_be_bytes([header[4], header[5]])), session);
}
