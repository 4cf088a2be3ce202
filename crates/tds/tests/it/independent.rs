//! Tests our codec against `tds-protocol`, a codec by other authors: each reads what the other
//! writes.

use bytes::{Bytes as Buffer, BytesMut};
use tds_protocol::rpc::RpcParam;
use tds_protocol::token::{EnvChangeType, Token, TokenParser};
use tds_protocol::tvp::{TvpColumnDef, TvpEncoder, TvpWireType};
use tds_protocol::{ProcId, RpcRequest, RpcTypeInfo};

use tds::message::Message;
use tds::{
    Column, ColumnFlags, Columns, Cursor, Done, DoneKind, DoneStatus, Encryption, EnvChange,
    Login7, PacketType, ParameterValue, Prelogin, Procedure, ProcedureId, Request, Reset,
    TdsVersion, utf16,
};
use types::{Collation, DataType, Decimal, Error, Length, Value};

use crate::corpus::every_type;
use crate::support::{column_type, nvarchar, read_one, respond, settings};

const VERSION: TdsVersion = TdsVersion::V7_4;

/// Reads a response's tokens with the other codec.
fn read(packets: &[u8]) -> Vec<Token> {
    let payload = read_one(packets).unwrap().payload;
    let mut parser = TokenParser::new(Buffer::from(payload));
    let mut tokens = Vec::new();
    let mut columns = None;
    while let Some(token) = parser.next_token_with_metadata(columns.as_ref()).unwrap() {
        if let Token::ColMetaData(metadata) = &token {
            columns = Some(metadata.clone());
        }
        tokens.push(token);
    }
    assert!(!parser.has_remaining());
    tokens
}

fn done() -> Done {
    Done { kind: DoneKind::Proc, status: DoneStatus::MORE, command: 0xC1, row_count: Some(7) }
}

/// Our type's token on the wire, by the specification's table (2.2.5.4).
fn code_of(data_type: DataType) -> u8 {
    match data_type {
        DataType::Bit => 0x68,
        DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt => 0x26,
        DataType::Decimal { .. } => 0x6A,
        DataType::Money | DataType::SmallMoney => 0x6E,
        DataType::Real | DataType::Float => 0x6D,
        DataType::Date => 0x28,
        DataType::Time(_) => 0x29,
        DataType::DateTime | DataType::SmallDateTime => 0x6F,
        DataType::DateTime2(_) => 0x2A,
        DataType::DateTimeOffset(_) => 0x2B,
        DataType::Char(_) => 0xAF,
        DataType::VarChar(_) => 0xA7,
        DataType::NChar(_) => 0xEF,
        DataType::NVarChar(_) => 0xE7,
        DataType::Text => 0x23,
        DataType::NText => 0x63,
        DataType::Binary(_) | DataType::RowVersion => 0xAD,
        DataType::VarBinary(_) => 0xA5,
        DataType::Image => 0x22,
        DataType::UniqueIdentifier => 0x24,
        DataType::SqlVariant => 0x62,
        DataType::Xml => 0xF1,
    }
}

#[test]
fn they_read_our_rows_of_every_type() {
    let cells = every_type();
    let names: Vec<_> = (0..cells.len()).map(|n| format!("column {n}")).collect();
    let columns: Vec<_> = cells
        .iter()
        .zip(&names)
        .map(|((data_type, _), name)| Column {
            name,
            column_type: column_type(*data_type),
            flags: ColumnFlags::UPDATABLE,
            table: "dbo.t",
            numeric: false,
        })
        .collect();
    let encoded = Columns::new(&columns, VERSION);
    let values: Vec<_> = cells.iter().map(|(_, value)| value.clone()).collect();
    let nulls = vec![Value::Null; values.len()];
    let packets = respond(settings(VERSION), |writer| {
        writer.columns(&encoded);
        writer.row(&encoded, &values);
        writer.row(&encoded, &nulls);
        writer.done(done());
    });
    let tokens = read(&packets);
    let [Token::ColMetaData(read), Token::Row(row), Token::NbcRow(empty), Token::DoneProc(done)] =
        &tokens[..]
    else {
        panic!("{tokens:?}")
    };
    for ((column, name), (data_type, _)) in read.columns.iter().zip(&names).zip(&cells) {
        assert_eq!((&column.name, column.col_type), (name, code_of(*data_type)));
        assert!(column.is_nullable());
        if let DataType::Decimal { precision, scale } = data_type {
            let info = &column.type_info;
            assert_eq!((info.precision, info.scale), (Some(*precision), Some(*scale)));
        }
    }
    assert!(row.data.len() > 300);
    assert!((0..values.len()).all(|index| empty.is_null(index)));
    assert!(done.status.more && done.status.count && !done.status.error);
    assert_eq!((done.cur_cmd, done.row_count), (0xC1, 7));
}

#[test]
fn they_read_our_login_answer_and_messages() {
    let error = Error::custom(2_627, 14, 1, "Violation of PRIMARY KEY").at_line(12);
    let packets = respond(settings(VERSION), |writer| {
        writer.env_change(EnvChange::Database("ASPState", "master"));
        writer.env_change(EnvChange::Collation(Collation::default()));
        writer.env_change(EnvChange::PacketSize(8_000, 4_096));
        writer.env_change(EnvChange::BeginTransaction(5));
        writer.env_change(EnvChange::RollbackTransaction(5));
        writer.env_change(EnvChange::ResetDone);
        writer.login_ack("Microsoft SQL Server", [16, 0, 3, 232]);
        writer.feature_ext_ack();
        writer.message(&error.clone().in_procedure("dbo.p"), "server");
        writer.message(&Error::custom(5_701, 0, 2, "Changed"), "server");
        writer.order(&[3]);
        writer.return_status(-4);
        let (name, column_type) = (&utf16::from_str("@x"), column_type(DataType::Int));
        let returned = tds::Returned { ordinal: 1, name, column_type, numeric: false };
        writer.return_value(&returned, &Value::Int(9));
        writer.done(done());
    });
    let tokens = read(&packets);
    let kinds: Vec<_> = tokens
        .iter()
        .filter_map(|token| match token {
            Token::EnvChange(change) => Some(change.env_type),
            _ => None,
        })
        .collect();
    let expected = [
        EnvChangeType::Database,
        EnvChangeType::SqlCollation,
        EnvChangeType::PacketSize,
        EnvChangeType::BeginTransaction,
        EnvChangeType::RollbackTransaction,
        EnvChangeType::ResetConnectionCompletionAck,
    ];
    assert_eq!(kinds, expected);
    let Token::EnvChange(database) = &tokens[0] else { panic!("{tokens:?}") };
    assert_eq!(database.new_database(), Some("ASPState"));
    let [
        Token::LoginAck(ack),
        Token::FeatureExtAck(features),
        Token::Error(read),
        Token::Info(info),
        Token::Order(order),
        Token::ReturnStatus(-4),
        Token::ReturnValue(value),
        Token::DoneProc(_),
    ] = &tokens[6..]
    else {
        panic!("{tokens:?}")
    };
    // It reads the version little-endian; that number alone is big-endian, and all recorded drivers
    // expect 74 00 00 04.
    assert_eq!(ack.tds_version.to_le_bytes(), [0x74, 0, 0, 4]);
    assert_eq!(ack.prog_name, "Microsoft SQL Server");
    assert_eq!(features.features.len(), 1);
    assert_eq!((read.number, read.class, read.state, read.line), (2_627, 14, 1, 12));
    assert_eq!((read.message.as_str(), read.procedure.as_str()), (&*error.message, "dbo.p"));
    assert_eq!((info.number, info.message.as_str()), (5_701, "Changed"));
    assert_eq!(order.columns, [3]);
    assert_eq!((value.param_ordinal, value.param_name.as_str()), (1, "@x"));
    assert_eq!(&value.value[..], [4, 9, 0, 0, 0]);
}

#[test]
fn they_read_our_prelogin() {
    let ours = Prelogin {
        version: [16, 0, 3, 232, 0, 0],
        encryption: Some(Encryption::On),
        ..Prelogin::default()
    };
    let read = tds_protocol::PreLogin::decode(Buffer::from(ours.to_server_payload())).unwrap();
    assert_eq!(read.encryption, tds_protocol::EncryptionLevel::On);
    assert!(!read.mars);
}

#[test]
fn we_read_their_prelogin_and_login() {
    let prelogin = tds_protocol::PreLogin::new()
        .with_encryption(tds_protocol::EncryptionLevel::Required)
        .with_mars(true)
        .encode();
    let read = Prelogin::parse(Cursor::new(&prelogin)).unwrap();
    assert_eq!((read.encryption, read.mars), (Some(Encryption::Required), Some(true)));

    let login = tds_protocol::Login7::new()
        .with_sql_auth("sa", "gehe1m \u{20AC}")
        .with_database("ASPState")
        .with_hostname("web01")
        .with_app_name("app")
        .with_packet_size(8_000)
        .with_feature(tds_protocol::login7::FeatureExtension {
            feature_id: tds_protocol::login7::FeatureId::Utf8Support,
            data: Buffer::new(),
        })
        .encode();
    let read = Login7::parse(Cursor::new(&login)).unwrap();
    assert_eq!((read.user.as_str(), read.password.as_str()), ("sa", "gehe1m \u{20AC}"));
    assert_eq!((read.database.as_str(), read.host.as_str()), ("ASPState", "web01"));
    assert_eq!((read.application.as_str(), read.packet_size), ("app", 8_000));
    assert_eq!(read.version().unwrap(), VERSION);
    assert!(read.has_feature(tds::login7::feature::UTF8_SUPPORT));
}

#[test]
fn we_read_their_batch() {
    let batch = tds_protocol::sql_batch::SqlBatch::new("select N'\u{FC}'").encode();
    let body = Cursor::new(&batch);
    let message = Message { kind: PacketType::SqlBatch, reset: Reset::No, body };
    let Request::Batch(read) = Request::decode(message, VERSION).unwrap() else {
        panic!("a batch")
    };
    assert_eq!(utf16::to_string(&read.text), "select N'\u{FC}'");
}

/// Reads the parameters of their request with our codec: types and values.
fn parameters(
    request: &[u8],
    procedure: &Procedure<'_>,
) -> Vec<(String, DataType, ParameterValue)> {
    let body = Cursor::new(request);
    let message = Message { kind: PacketType::Rpc, reset: Reset::No, body };
    let Request::Rpc(mut reader) = Request::decode(message, VERSION).unwrap() else {
        panic!("a call")
    };
    assert_eq!(&reader.next_call().unwrap().unwrap().procedure, procedure);
    let mut read = Vec::new();
    while let Some(parameter) = reader.next_parameter().unwrap() {
        let name = utf16::to_string(&parameter.name);
        read.push((name, parameter.column_type.data_type, parameter.value));
    }
    assert!(reader.next_call().unwrap().is_none());
    read
}

#[test]
fn we_read_their_calls() {
    let sql = "select @p1, @p2";
    let values = vec![RpcParam::int("@p1", 42), RpcParam::nvarchar("@p2", "z\u{20AC}")];
    let read = parameters(
        &RpcRequest::execute_sql(sql, values).encode(),
        &Procedure::Id(ProcedureId::ExecuteSql),
    );
    let value = |index: usize| read[index].2.clone();
    assert_eq!(value(0), ParameterValue::Value(nvarchar(sql)));
    assert_eq!((read[2].1, value(2)), (DataType::Int, ParameterValue::Value(Value::Int(42))));
    assert_eq!(value(3), ParameterValue::Value(nvarchar("z\u{20AC}")));
    assert_eq!(read[3].0, "@p2");
}

#[test]
fn we_read_their_parameters_of_every_type() {
    let with = |info: RpcTypeInfo, bytes: &[u8]| {
        let parameter = RpcParam::new("@p", info, Buffer::copy_from_slice(bytes));
        let request = RpcRequest::by_id(ProcId::Execute).param(parameter).encode();
        let mut read = parameters(&request, &Procedure::Id(ProcedureId::Execute));
        let (_, data_type, value) = read.remove(0);
        let ParameterValue::Value(value) = value else { panic!("{value:?}") };
        (data_type, value)
    };
    let binary = Value::VarBinary([1, 2, 3][..].into());
    let max = DataType::VarBinary(Length::Max);
    assert_eq!(with(RpcTypeInfo::bigint(), &7_i64.to_le_bytes()).1, Value::BigInt(7));
    assert_eq!(with(RpcTypeInfo::bit(), &[1]), (DataType::Bit, Value::Bit(true)));
    assert_eq!(with(RpcTypeInfo::float(), &0.5_f64.to_le_bytes()).1, Value::Float(0.5));
    assert_eq!(with(RpcTypeInfo::real(), &0.5_f32.to_le_bytes()).1, Value::Real(0.5));
    assert_eq!(with(RpcTypeInfo::varbinary_max(), &[1, 2, 3]), (max, binary.clone()));
    assert_eq!(with(RpcTypeInfo::varbinary(8), &[1, 2, 3]).1, binary);
    assert_eq!(with(RpcTypeInfo::varchar(5), b"abc").1, Value::VarChar(b"abc"[..].into()));
    assert_eq!(with(RpcTypeInfo::nvarchar_max(), b"a\0").1, nvarchar("a"));
    assert_eq!(with(RpcTypeInfo::uuid(), &[6; 16]).1, Value::UniqueIdentifier([6; 16]));
    assert_eq!(with(RpcTypeInfo::date(), &[1, 0, 0]).1, Value::Date(1));
    assert_eq!(with(RpcTypeInfo::time(7), &[9, 0, 0, 0, 0]).1, Value::Time(9));
    let date_time = with(RpcTypeInfo::datetime2(0), &[2, 0, 0, 1, 0, 0]).1;
    assert_eq!(date_time, Value::DateTime2 { days: 1, ticks: 20_000_000 });
    let decimal = with(RpcTypeInfo::decimal(9, 2), &[0, 5, 0, 0, 0]).1;
    assert_eq!(decimal, Value::Decimal(Decimal::new(-5, 9, 2)));
    let money = with(RpcTypeInfo::money(), &[0, 0, 0, 0, 1, 0, 0, 0]).1;
    assert_eq!(money, Value::Money(1));
    let null = RpcRequest::by_id(ProcId::Execute)
        .param(RpcParam::null("@p", RpcTypeInfo::nvarchar_max()))
        .encode();
    let read = parameters(&null, &Procedure::Id(ProcedureId::Execute));
    assert_eq!(read[0].2, ParameterValue::Value(Value::Null));
}

#[test]
fn we_read_their_table_valued_parameter() {
    let columns = [
        TvpColumnDef::new(TvpWireType::Int { size: 4 }),
        TvpColumnDef::nullable(TvpWireType::NVarChar { max_length: 100 }),
    ];
    let encoder = TvpEncoder::new("dbo", "Ids", &columns);
    let mut bytes = BytesMut::new();
    encoder.encode_metadata(&mut bytes);
    for n in 1..=3_u8 {
        encoder.encode_row(&mut bytes, |row| {
            row.extend_from_slice(&[4, n, 0, 0, 0]);
            row.extend_from_slice(if n == 2 { &[0xFF, 0xFF] } else { &[2, 0, b'x', 0] });
        });
    }
    encoder.encode_end(&mut bytes);
    // A call of `p` with one unnamed parameter; the other encoder writes everything from the type
    // on.
    let mut request = vec![4, 0, 0, 0, 1, 0, b'p', 0, 0, 0, 0, 0];
    request.extend_from_slice(&bytes);
    let name = Procedure::Name(utf16::from_str("p").into());
    let read = parameters(&request, &name);
    let ParameterValue::Table(table) = &read[0].2 else { panic!("{read:?}") };
    assert_eq!((table.schema.as_str(), table.name.as_str()), ("dbo", "Ids"));
    let rows: Vec<_> = table.rows().collect();
    assert_eq!(rows[0], [Value::Int(1), nvarchar("x")]);
    assert_eq!(rows[1], [Value::Int(2), Value::Null]);
    assert_eq!(rows.len(), 3);
}
