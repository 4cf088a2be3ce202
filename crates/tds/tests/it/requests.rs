//! Tests requests: procedure calls, transactions, headers.

use tds::client::{self, ClientSettings, RpcBuilder};
use tds::message::Message;
use tds::transaction::{Begin, IsolationLevel};
use tds::{
    Cursor, PacketType, ParameterValue, Procedure, ProcedureId, ProtocolError, Request, Reset,
    RpcReader, TdsVersion, TransactionAction, utf16,
};
use types::{DataType, Length, Value};

use crate::support::{column_type, nvarchar, read_one};

fn decode(kind: PacketType, payload: &[u8], version: TdsVersion) -> tds::Result<Request<'_>> {
    Request::decode(Message { kind, reset: Reset::No, body: Cursor::new(payload) }, version)
}

fn rpc(payload: &[u8], version: TdsVersion) -> RpcReader<'_> {
    match decode(PacketType::Rpc, payload, version).unwrap() {
        Request::Rpc(reader) => reader,
        other => panic!("{other:?}"),
    }
}

/// Puts a call of a procedure named `p` around the bytes of its parameters, in TDS 7.1.
fn call_with(parameters: &[u8]) -> Vec<u8> {
    let mut payload = vec![1, 0, b'p', 0, 0, 0];
    payload.extend_from_slice(parameters);
    payload
}

fn only_value(parameters: &[u8]) -> tds::Result<(DataType, ParameterValue)> {
    let payload = call_with(&[&[0, 0], parameters].concat());
    let mut reader = rpc(&payload, TdsVersion::V7_1);
    reader.next_call()?;
    let parameter = reader.next_parameter()?.unwrap();
    assert_eq!(reader.next_parameter()?, None);
    Ok((parameter.column_type.data_type, parameter.value))
}

fn value(parameters: &[u8]) -> (DataType, Value) {
    match only_value(parameters).unwrap() {
        (data_type, ParameterValue::Value(value)) => (data_type, value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn named_call_with_output_parameters_is_read() {
    let text = DataType::NVarChar(Length::Limited(88));
    let settings = ClientSettings { transaction: 42, ..ClientSettings::default() };
    let packets = RpcBuilder::new(settings)
        .call("dbo.TempGetStateItem3")
        .input("@id", column_type(text), &nvarchar("abc"))
        .output("@locked", column_type(DataType::Bit), &Value::Null)
        .default_value("@flags", column_type(DataType::Int))
        .finish();
    let message = read_one(&packets).unwrap();
    let mut reader = rpc(&message.payload, TdsVersion::V7_4);
    assert_eq!(reader.transaction, 42);
    let call = reader.next_call().unwrap().unwrap();
    let Procedure::Name(name) = call.procedure else { panic!("called by name") };
    assert_eq!(utf16::to_string(&name), "dbo.TempGetStateItem3");
    let id = reader.next_parameter().unwrap().unwrap();
    assert_eq!(utf16::to_string(&id.name), "@id");
    assert_eq!((id.is_output, id.column_type.data_type), (false, text));
    assert_eq!(id.value, ParameterValue::Value(nvarchar("abc")));
    let locked = reader.next_parameter().unwrap().unwrap();
    assert!(locked.is_output);
    assert_eq!(locked.value, ParameterValue::Value(Value::Null));
    let flags = reader.next_parameter().unwrap().unwrap();
    assert_eq!(flags.value, ParameterValue::Default);
    assert_eq!(reader.next_parameter().unwrap(), None);
    assert_eq!(reader.next_call().unwrap(), None);
}

#[test]
fn value_behind_a_known_head_is_read_and_another_head_is_left_alone() {
    let call = |name: &str, value: i32| {
        RpcBuilder::new(ClientSettings::default())
            .call("p")
            .input(name, column_type(DataType::Int), &Value::Int(value))
            .output("@b", column_type(DataType::Bit), &Value::Null)
            .default_value("@c", column_type(DataType::Int))
            .finish()
    };
    let first = read_one(&call("@a", 1)).unwrap();
    let mut reader = rpc(&first.payload, TdsVersion::V7_4);
    reader.next_call().unwrap();
    let a = reader.next_head().unwrap();
    assert_eq!(utf16::to_string(a.name()), "@a");
    assert_eq!((a.is_output(), a.column_type().data_type), (false, DataType::Int));
    reader.next_parameter().unwrap();
    let b = reader.next_head().unwrap();
    assert!(b.is_output());
    reader.next_parameter().unwrap();
    // A default has no value, so there is nothing to read behind its head.
    assert!(reader.next_head().is_none());

    let again = read_one(&call("@a", 2)).unwrap();
    let mut reader = rpc(&again.payload, TdsVersion::V7_4);
    assert_eq!(reader.next_value(&a), Ok(None), "a call comes first");
    reader.next_call().unwrap();
    assert_eq!(reader.next_value(&b), Ok(None));
    assert_eq!(reader.next_value(&a), Ok(Some(Value::Int(2))));
    assert_eq!(reader.next_value(&b), Ok(Some(Value::Null)));
    assert_eq!(reader.next_value(&b), Ok(None));
    assert_eq!(reader.next_parameter().unwrap().unwrap().value, ParameterValue::Default);
    assert_eq!(reader.next_value(&b), Ok(None));
    assert_eq!(reader.next_call().unwrap(), None);

    let other = read_one(&call("@x", 3)).unwrap();
    let mut reader = rpc(&other.payload, TdsVersion::V7_4);
    reader.next_call().unwrap();
    assert_eq!(reader.next_value(&a), Ok(None));
    let parameter = reader.next_parameter().unwrap().unwrap();
    assert_eq!(utf16::to_string(&parameter.name), "@x");
    assert_eq!(parameter.value, ParameterValue::Value(Value::Int(3)));
}

#[test]
fn several_calls_in_one_message_are_told_apart() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let settings = ClientSettings { version, ..ClientSettings::default() };
        let handle = column_type(DataType::Int);
        let packets = RpcBuilder::new(settings)
            .call_id(ProcedureId::Execute)
            .input("", handle, &Value::Int(1))
            .call_id(ProcedureId::Unprepare)
            .input("", handle, &Value::Int(2))
            .call("sp_reset_connection")
            .finish();
        let message = read_one(&packets).unwrap();
        let mut reader = rpc(&message.payload, version);
        let first = reader.next_call().unwrap().unwrap();
        assert_eq!(first.procedure, Procedure::Id(ProcedureId::Execute));
        // Parameters that are not read are skipped.
        let second = reader.next_call().unwrap().unwrap();
        assert_eq!(second.procedure, Procedure::Id(ProcedureId::Unprepare));
        let parameter = reader.next_parameter().unwrap().unwrap();
        assert_eq!(parameter.value, ParameterValue::Value(Value::Int(2)));
        assert_eq!(reader.next_parameter().unwrap(), None);
        assert!(reader.has_more_calls());
        assert!(matches!(reader.next_call().unwrap().unwrap().procedure, Procedure::Name(_)));
        assert_eq!(reader.next_parameter().unwrap(), None);
        assert!(!reader.has_more_calls());
        assert_eq!(reader.next_call().unwrap(), None);
    }
}

#[test]
fn recorded_prepare_of_a_tds_7_1_driver_is_read() {
    // A trace from the FreeTDS list, 2003-07-17: sp_prepare with an OUTPUT handle, an ntext NULL,
    // and text as ntext.
    let mut payload = vec![0xFF, 0xFF, 0x0B, 0, 0, 0, 0, 1, 0x26, 4, 4, 0xFF, 0xFF, 0xFF, 0xFF];
    payload.extend([0, 0, 0x63, 0, 0, 0, 0, 9, 4, 0, 1, 0x32, 0xFF, 0xFF, 0xFF, 0xFF]);
    payload.extend([0, 0, 0x63, 6, 0, 0, 0, 9, 4, 0, 1, 0x32, 6, 0, 0, 0]);
    payload.extend(b"d\0e\0c\0");
    payload.extend([0, 0, 0x26, 4, 4, 1, 0, 0, 0]);
    let mut reader = rpc(&payload, TdsVersion::V7_1);
    let call = reader.next_call().unwrap().unwrap();
    assert_eq!(call.procedure, Procedure::Id(ProcedureId::Prepare));
    let handle = reader.next_parameter().unwrap().unwrap();
    assert_eq!((handle.is_output, handle.value), (true, ParameterValue::Value(Value::Int(-1))));
    let mut next = || reader.next_parameter().unwrap().unwrap();
    let declarations = next();
    assert_eq!(declarations.column_type.data_type, DataType::NText);
    assert_eq!(declarations.value, ParameterValue::Value(Value::Null));
    assert_eq!(next().value, ParameterValue::Value(nvarchar("dec")));
    assert_eq!(next().value, ParameterValue::Value(Value::Int(1)));
}

#[test]
fn fixed_types_are_read_without_a_length() {
    assert_eq!(value(&[0x30, 200]), (DataType::TinyInt, Value::TinyInt(200)));
    assert_eq!(value(&[0x32, 1]), (DataType::Bit, Value::Bit(true)));
    assert_eq!(value(&[0x34, 0xFE, 0xFF]), (DataType::SmallInt, Value::SmallInt(-2)));
    assert_eq!(value(&[0x38, 1, 0, 0, 0]), (DataType::Int, Value::Int(1)));
    assert_eq!(value(&[0x7F, 1, 0, 0, 0, 0, 0, 0, 0x80]).1, Value::BigInt(i64::MIN + 1));
    // money: the high half first. 2.2.5.5.1.2
    assert_eq!(value(&[0x3C, 0, 0, 0, 0, 0x10, 0x27, 0, 0]).1, Value::Money(10_000));
    assert_eq!(value(&[0x7A, 0xFF, 0xFF, 0xFF, 0xFF]).1, Value::Money(-1));
    assert_eq!(value(&[0x3E, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F]).1, Value::Float(1.5));
    assert_eq!(value(&[0x3A, 2, 0, 3, 0]).1, Value::SmallDateTime { days: 2, minutes: 3 });
}

#[test]
fn legacy_and_untyped_parameters_are_read() {
    assert_eq!(value(&[0x1F]).1, Value::Null);
    let collation = [0, 0, 0, 0, 0];
    let old_varchar = [&[0x27, 10][..], &collation, &[3], b"abc"].concat();
    assert_eq!(value(&old_varchar).1, Value::VarChar(b"abc"[..].into()));
    let old_binary = [0x2D, 4, 2, 7, 8];
    assert_eq!(value(&old_binary), (DataType::Binary(4), Value::VarBinary([7, 8][..].into())));
    // decimal(5, 2) -1.23: length, sign, 32-bit magnitude.
    let (data_type, decimal) = value(&[0x6C, 5, 5, 2, 5, 0, 123, 0, 0, 0]);
    assert_eq!(data_type, DataType::Decimal { precision: 5, scale: 2 });
    let Value::Decimal(decimal) = decimal else { panic!("{decimal:?}") };
    assert_eq!((decimal.mantissa(), decimal.scale), (-123, 2));
    // mssql-jdbc and jTDS send a decimal in as few bytes as it has.
    let (_, decimal) = value(&[0x6A, 17, 38, 3, 3, 1, 0x39, 0x30]);
    assert_eq!(decimal, Value::Decimal(types::Decimal::new(12_345, 38, 3)));
    let length = |length| Err(ProtocolError::InvalidLength { what: "decimal", length });
    assert_eq!(only_value(&[0x6A, 17, 38, 3, 1, 1]), length(1));
    assert_eq!(only_value(&[&[0x6A, 17, 38, 3, 18][..], &[0; 18]].concat()), length(18));
}

#[test]
fn all_zero_collation_is_accepted() {
    // tiberius sends its statement in this form.
    let bytes = [&[0xE7, 0x40, 0x1F, 0, 0, 0, 0, 0, 2, 0][..], b"x\0"].concat();
    assert_eq!(value(&bytes), (DataType::NVarChar(Length::Limited(4_000)), nvarchar("x")));
}

#[test]
fn partial_value_of_unknown_length_is_put_together() {
    let unknown = 0xFFFF_FFFF_FFFF_FFFE_u64.to_le_bytes();
    let head = [&[0xA5, 0xFF, 0xFF][..], &unknown].concat();
    let chunks = [&[2, 0, 0, 0][..], b"ab", &[1, 0, 0, 0], b"c", &[0; 4]];
    let bytes = [head.clone(), chunks.concat()].concat();
    assert_eq!(value(&bytes).1, Value::VarBinary(b"abc"[..].into()));
    let endless = [head, u32::MAX.to_le_bytes().to_vec()].concat();
    assert_eq!(only_value(&endless), Err(ProtocolError::Truncated));
    // A total that differs from the sum of the chunks.
    let lie = [&[0xA5, 0xFF, 0xFF][..], &9_u64.to_le_bytes(), &chunks.concat()].concat();
    assert_eq!(only_value(&lie), Err(ProtocolError::InvalidLength { what: "(max)", length: 9 }));
}

#[test]
fn invalid_values_are_refused_by_name() {
    let invalid = |what| Err(ProtocolError::InvalidValue(what));
    assert_eq!(only_value(&[0x6D, 8, 8, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F]), invalid("float"));
    assert_eq!(only_value(&[0x28, 3, 0xFF, 0xFF, 0xFF]), invalid("date"));
    assert_eq!(only_value(&[0x29, 0, 3, 0x80, 0x51, 0x01]), invalid("time"));
    assert_eq!(only_value(&[0x3D, 0, 0, 0, 0, 0, 0x82, 0x8B, 0x01]), invalid("datetime"));
    assert_eq!(only_value(&[0x3A, 0, 0, 0xA0, 0x05]), invalid("smalldatetime"));
    assert_eq!(only_value(&[0x6A, 5, 2, 0, 5, 1, 100, 0, 0, 0]), invalid("decimal"));
    let length = |what, length| Err(ProtocolError::InvalidLength { what, length });
    assert_eq!(only_value(&[0x26, 3]), length("int", 3));
    assert_eq!(only_value(&[0x26, 4, 2, 0, 0]), length("int", 2));
    assert_eq!(only_value(&[0xA5, 4, 0, 5, 0, 1, 2, 3, 4, 5]), length("varbinary", 5));
    assert_eq!(only_value(&[0x29, 8]), length("time", 8));
    assert_eq!(only_value(&[0xE7, 4, 0, 0, 0, 0, 0, 0, 3, 0, 1, 2, 3]), length("nvarchar", 3));
    assert_eq!(only_value(&[0x99]), Err(ProtocolError::UnknownType(0x99)));
    assert_eq!(only_value(&[0xF0]), Err(ProtocolError::Unsupported("CLR user-defined types")));
}

#[test]
fn malformed_calls_are_refused() {
    let calls = |payload: &[u8]| {
        let mut reader = rpc(payload, TdsVersion::V7_1);
        loop {
            match reader.next_call() {
                Ok(Some(_)) => {}
                other => return other.unwrap_err(),
            }
        }
    };
    let unknown = [0xFF, 0xFF, 16, 0, 0, 0];
    assert_eq!(calls(&unknown), ProtocolError::Rpc("The procedure number is unknown"));
    assert_eq!(calls(&[]), ProtocolError::Truncated);
    assert_eq!(calls(&[0xFE, 0xFF, b'p', 0]), ProtocolError::Truncated);
    let long_name = [&call_with(&[])[..], &[0x81]].concat();
    assert_eq!(calls(&long_name), ProtocolError::Rpc("A parameter name is too long"));
    let many = call_with(&[0, 0, 0x1F].repeat(2_101));
    assert_eq!(calls(&many), ProtocolError::TooManyParameters(2_100));
    let encrypted = call_with(&[0, 8, 0x1F]);
    assert_eq!(calls(&encrypted), ProtocolError::Unsupported("encrypted parameters"));
}

#[test]
fn table_valued_parameter_is_read() {
    let name = |text: &str| [&[text.len().to_le_bytes()[0]][..], &utf16::from_str(text)].concat();
    let int_column = [0, 0, 0, 0, 1, 0, 0x26, 4, 0];
    let defaulted = [0, 0, 0, 0, 0, 2, 0x26, 4, 0];
    let bytes = [
        &[0xF3, 0][..],
        &name("dbo"),
        &name("Ids"),
        &[2, 0],
        &int_column,
        &defaulted,
        &[0x10, 1, 0, 1, 0, 1], // Ordered by column 1.
        &[0],
        &[1, 4, 7, 0, 0, 0],
        &[1, 0],
        &[0],
    ]
    .concat();
    let (_, ParameterValue::Table(table)) = only_value(&bytes).unwrap() else { panic!("a table") };
    assert_eq!((table.schema.as_str(), table.name.as_str()), ("dbo", "Ids"));
    assert!(table.columns[1].is_default && !table.columns[0].is_default);
    let rows: Vec<_> = table.rows().collect();
    assert_eq!(rows, [[Value::Int(7), Value::Null], [Value::Null, Value::Null]]);
    let none = [&[0xF3, 0][..], &name(""), &name("Ids"), &[0xFF, 0xFF, 0, 0]].concat();
    let payload = call_with(&[&[0, 2][..], &none].concat());
    let mut reader = rpc(&payload, TdsVersion::V7_1);
    reader.next_call().unwrap();
    assert_eq!(reader.next_parameter().unwrap().unwrap().value, ParameterValue::Default);
    let (_, ParameterValue::Table(table)) = only_value(&none).unwrap() else { panic!("a table") };
    assert_eq!(table.rows().count(), 0);
}

#[test]
fn transaction_requests_come_back_as_they_went() {
    let name = |text: &str| utf16::from_str(text).into();
    let begin = || Begin { isolation: IsolationLevel::Snapshot, name: name("t1") };
    let actions = [
        TransactionAction::GetDtcAddress,
        TransactionAction::Propagate(vec![1, 2, 3].into()),
        TransactionAction::Begin(begin()),
        TransactionAction::Promote,
        TransactionAction::Commit { name: name(""), then: None },
        TransactionAction::Commit { name: name(""), then: Some(begin()) },
        TransactionAction::Rollback { name: name("s"), then: None },
        TransactionAction::Rollback { name: name(""), then: Some(begin()) },
        TransactionAction::Save(name("s")),
    ];
    for action in actions {
        let settings = ClientSettings { transaction: 9, ..ClientSettings::default() };
        let message = read_one(&client::transaction(&action, settings)).unwrap();
        assert_eq!(message.kind, PacketType::Transaction);
        let request = decode(message.kind, &message.payload, TdsVersion::V7_4).unwrap();
        let Request::Transaction(request) = request else { panic!("{request:?}") };
        assert_eq!((request.transaction, &request.action), (9, &action));
    }
    let unknown = decode(PacketType::Transaction, &[4, 0, 0, 0, 3, 0], TdsVersion::V7_4);
    assert_eq!(unknown.unwrap_err(), ProtocolError::UnknownTransactionRequest(3));
}

#[test]
fn request_headers_are_checked_and_others_skipped() {
    let text = b"s\0";
    let batch = |headers: &[u8]| {
        let payload = [headers, text].concat();
        match decode(PacketType::SqlBatch, &payload, TdsVersion::V7_4) {
            Ok(Request::Batch(batch)) => Ok((batch.transaction, batch.text.into_owned())),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        }
    };
    assert_eq!(batch(&[4, 0, 0, 0]).unwrap(), (0, text.to_vec()));
    // Query notifications (1) before the transaction (2).
    let mut headers = vec![4 + 8 + 18, 0, 0, 0, 8, 0, 0, 0, 1, 0, 1, 2];
    headers.extend([18, 0, 0, 0, 2, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(batch(&headers).unwrap(), (5, text.to_vec()));
    assert!(matches!(batch(&[3, 0, 0, 0]), Err(ProtocolError::Headers(_))));
    assert!(matches!(batch(&[10, 0, 0, 0, 5, 0, 0, 0, 1, 0]), Err(ProtocolError::Headers(_))));
    assert!(matches!(batch(&[9, 0, 0, 0, 6, 0, 0, 0, 1, 0]), Err(ProtocolError::Headers(_))));
    assert_eq!(batch(&[0xFF; 4]), Err(ProtocolError::Truncated));
}

#[test]
fn activity_of_a_client_comes_with_its_request() {
    let guid = [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 8, 9, 10, 11, 12, 13, 14, 15];
    let header = |bytes: u8| [&[4 + bytes, 0, 0, 0, bytes, 0, 0, 0, 3, 0][..], &guid].concat();
    let payload = [header(26), vec![7, 0, 0, 0], b"s\0".to_vec()].concat();
    let message = |payload| Message {
        kind: PacketType::SqlBatch,
        reset: Reset::No,
        body: Cursor::new(payload),
    };
    let (_, activity) = Request::decode_traced(message(&payload), TdsVersion::V7_4).unwrap();
    let activity = activity.unwrap();
    let text = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 8, 9, 10, 11, 12, 13, 14, 15];
    assert_eq!((activity.guid, activity.sequence), (text, 7));
    // [MS-TDS] 2.2.5.3.3: not before TDS 7.4.
    let early = Request::decode_traced(message(&payload), TdsVersion::V7_3B).unwrap_err();
    assert!(matches!(early, ProtocolError::Headers(_)));
    let short = [header(22), b"s\0".to_vec()].concat();
    let short = Request::decode_traced(message(&short), TdsVersion::V7_4).unwrap_err();
    assert!(matches!(short, ProtocolError::Headers(_)));
    let none = Request::decode_traced(message(b"\x04\0\0\0s\0"), TdsVersion::V7_4).unwrap();
    assert_eq!(none.1, None);
}

#[test]
fn what_is_not_a_request_is_refused() {
    for kind in [PacketType::Response, PacketType::Login7, PacketType::Prelogin] {
        let error = decode(kind, &[], TdsVersion::V7_4).unwrap_err();
        assert_eq!(error, ProtocolError::UnexpectedMessage(kind));
    }
    for kind in [PacketType::Sspi, PacketType::FederatedToken] {
        let error = decode(kind, &[], TdsVersion::V7_4).unwrap_err();
        assert!(matches!(error, ProtocolError::Unsupported(_)));
        assert_eq!(error.to_error().number, 40_517);
    }
}
