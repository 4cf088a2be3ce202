//! Runs the seeds of the fuzz targets, and the corpus in `fuzz/corpus`, as plain tests.
//!
//! Seeds are made with the client and by hand. `cargo test -p tds write_corpus -- --ignored` writes
//! them to the corpus, next to what fuzzers have found.

use std::path::{Path, PathBuf};

use tds::client::{self, ClientSettings, RpcBuilder};
use tds::login7::{Feature, LoginFlags, feature};
use tds::transaction::{Begin, IsolationLevel};
use tds::wire_type::{Place, WireType};
use tds::{
    Column, ColumnFlags, Columns, Done, DoneKind, DoneStatus, Encryption, EnvChange, Login7,
    Prelogin, ProcedureId, TdsVersion, TransactionAction, utf16,
};
use types::{DataType, Decimal, Error, Length, Value};

use crate::drive;
use crate::support::{column_type, nvarchar, read_one, respond, settings};

/// A fuzz target: its name, and what it does with its input.
type Target = (&'static str, fn(&[u8]));

/// All targets of this crate.
pub(crate) const TARGETS: [Target; 3] =
    [("packets", drive::packets), ("login", drive::login), ("rpc", drive::rpc)];

/// A seed: its name and its bytes.
type Seed = (String, Vec<u8>);

/// Returns the seeds of a target.
pub(crate) fn seeds(target: &str) -> Vec<Seed> {
    match target {
        "packets" => packet_seeds(),
        "login" => login_seeds(),
        "rpc" => rpc_seeds(),
        other => panic!("no target {other}"),
    }
}

fn seed(name: &str, parts: &[&[u8]]) -> Seed {
    (name.to_owned(), parts.concat())
}

pub(crate) fn every_type() -> Vec<(DataType, Value)> {
    let text = |b: &[u8]| Value::VarChar(b.into());
    let binary = |b: &[u8]| Value::VarBinary(b.into());
    let limited = Length::Limited;
    vec![
        (DataType::Bit, Value::Bit(true)),
        (DataType::TinyInt, Value::TinyInt(200)),
        (DataType::SmallInt, Value::SmallInt(-2)),
        (DataType::Int, Value::Int(70_000)),
        (DataType::BigInt, Value::BigInt(i64::MIN)),
        (
            DataType::Decimal { precision: 38, scale: 10 },
            Value::Decimal(Decimal::new(-12_345, 38, 10)),
        ),
        (DataType::Money, Value::Money(-10_000)),
        (DataType::SmallMoney, Value::Money(5)),
        (DataType::Real, Value::Real(1.5)),
        (DataType::Float, Value::Float(-0.1)),
        (DataType::Date, Value::Date(739_940)),
        (DataType::Time(3), Value::Time(10_000)),
        (DataType::DateTime, Value::DateTime { days: 46_345, ticks: 300 }),
        (DataType::SmallDateTime, Value::SmallDateTime { days: 46_345, minutes: 61 }),
        (DataType::DateTime2(7), Value::DateTime2 { days: 739_940, ticks: 1 }),
        (
            DataType::DateTimeOffset(0),
            Value::DateTimeOffset { days: 739_940, ticks: 0, offset: 60 },
        ),
        (DataType::Char(3), text(b"abc")),
        (DataType::VarChar(limited(10)), text(b"")),
        (DataType::VarChar(Length::Max), text(b"max")),
        (DataType::NChar(2), nvarchar("ab")),
        (DataType::NVarChar(limited(88)), nvarchar("session")),
        (DataType::NVarChar(Length::Max), nvarchar("max")),
        (DataType::Text, text(b"old")),
        (DataType::NText, nvarchar("old")),
        (DataType::Binary(2), binary(&[1, 2])),
        (DataType::VarBinary(limited(7_000)), binary(&[0; 100])),
        (DataType::VarBinary(Length::Max), Value::Null),
        (DataType::Image, binary(&[7; 30])),
        (DataType::UniqueIdentifier, Value::UniqueIdentifier([9; 16])),
        (
            DataType::SqlVariant,
            Value::Variant(Box::new((nvarchar("v"), column_type(DataType::NVarChar(limited(5)))))),
        ),
        (DataType::Xml, nvarchar("<a/>")),
    ]
}

fn rpc_call(settings: ClientSettings) -> Vec<u8> {
    let mut call = RpcBuilder::new(settings).call("dbo.p");
    for (data_type, value) in every_type() {
        call = call.input("@a", column_type(data_type), &value);
    }
    call.call_id(ProcedureId::Execute)
        .output("", column_type(DataType::Int), &Value::Null)
        .default_value("@d", column_type(DataType::Int))
        .finish()
}

fn login_packets(version: TdsVersion) -> Vec<u8> {
    let has_features = version >= TdsVersion::V7_4;
    let features = [
        Feature { id: feature::SESSION_RECOVERY, data: vec![0; 4] },
        Feature { id: feature::UTF8_SUPPORT, data: vec![] },
    ];
    client::login(&Login7 {
        version_code: version.code(),
        packet_size: 4_096,
        flags: LoginFlags { option1: 0xE0, option2: 3, types: 0, option3: 0 },
        host: "host".into(),
        user: "sa".into(),
        password: "secret".into(),
        application: "app".into(),
        server: "server".into(),
        library: "library".into(),
        database: "tempdb".into(),
        features: if has_features { features.to_vec() } else { vec![] },
        ..Login7::default()
    })
}

fn prelogin() -> Prelogin {
    Prelogin {
        version: [16, 0, 0, 0, 0, 0],
        encryption: Some(Encryption::On),
        thread_id: Some(1),
        trace_id: Some([3; 36]),
        federated_auth_required: Some(true),
        ..Prelogin::default()
    }
}

fn response(version: TdsVersion) -> Vec<u8> {
    let cells = every_type();
    let columns: Vec<_> = cells
        .iter()
        .map(|(data_type, _)| Column {
            name: "c",
            column_type: column_type(*data_type),
            flags: ColumnFlags::IDENTITY,
            table: "t",
            numeric: false,
        })
        .collect();
    let columns = Columns::new(&columns, version);
    let values: Vec<_> = cells.into_iter().map(|(_, value)| value).collect();
    respond(settings(version), |writer| {
        writer.env_change(EnvChange::Database("master", ""));
        writer.message(&Error::custom(50_000, 16, 1, "wrong").at_line(3), "server");
        writer.columns(&columns);
        writer.row(&columns, &values);
        writer.row(&columns, &vec![Value::Null; values.len()]);
        let (name, column_type) = (&utf16::from_str("@a"), column_type(DataType::Int));
        let returned = tds::Returned { ordinal: 0, name, column_type, numeric: false };
        writer.return_value(&returned, &Value::Int(1));
        writer.return_status(0);
        let (kind, status) = (DoneKind::Proc, DoneStatus::FINAL);
        writer.done(Done { kind, status, command: 0, row_count: Some(2) });
    })
}

fn begin_after_commit(settings: ClientSettings) -> Vec<u8> {
    let begin = Begin { isolation: IsolationLevel::Snapshot, name: utf16::from_str("t").into() };
    let action = TransactionAction::Commit { name: vec![].into(), then: Some(begin) };
    client::transaction(&action, settings)
}

fn packet_seeds() -> Vec<Seed> {
    let small = ClientSettings { packet_size: 512, ..ClientSettings::default() };
    let bulk = read_one(&response(TdsVersion::V7_4)).unwrap().payload;
    let bulk = &bulk[bulk.iter().position(|&byte| byte == 0x81).unwrap()..];
    let bulk_length = u16::try_from(bulk.len() + 8).unwrap().to_be_bytes();
    let bulk_header = [7, 1, bulk_length[0], bulk_length[1], 0, 0, 1, 0];
    vec![
        seed("good_prelogin", &[&[1], &client::prelogin(&prelogin())]),
        seed("good_login", &[&[0x85], &login_packets(TdsVersion::V7_4)]),
        seed("good_batch", &[&[9], &client::batch("select 1", ClientSettings::default())]),
        seed("good_batch_of_packets", &[&[0xA0], &client::batch(&"x".repeat(600), small)]),
        seed("good_rpc", &[&[20], &rpc_call(small)]),
        seed("good_transaction", &[&[2], &begin_after_commit(small)]),
        seed("good_response", &[&[50], &response(TdsVersion::V7_4)]),
        seed("bulk", &[&[3], &bulk_header, bulk]),
        seed("attention_within", &[&[1], &[1, 0, 0, 9, 0, 0, 1, 0, 7], &client::attention()]),
        seed("cancelled", &[&[1], &[3, 0, 0, 8, 0, 0, 1, 0], &[3, 3, 0, 8, 0, 0, 2, 0]]),
        seed("wrong_length", &[&[1], &[1, 1, 0, 7, 0, 0, 1, 0]]),
        seed("wrong_type", &[&[1], b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"]),
        seed("wrong_order", &[&[1], &[1, 0, 0, 8, 0, 0, 1, 0], &[1, 1, 0, 8, 0, 0, 9, 0]]),
        seed("mixed", &[&[1], &[1, 0, 0, 8, 0, 0, 1, 0], &[3, 1, 0, 8, 0, 0, 2, 0]]),
        seed("both_resets", &[&[1], &[1, 0x19, 0, 8, 0, 0, 1, 0]]),
    ]
}

fn login_seeds() -> Vec<Seed> {
    let mut wrapped = Vec::new();
    tds::tls_wrap::wrap(&[0x16; 5_000], &mut wrapped);
    let long_text = {
        let mut payload = login_packets(TdsVersion::V7_4)[8..].to_vec();
        payload[42..44].copy_from_slice(&[0xFF, 0xFF]);
        payload
    };
    vec![
        seed("good_prelogin", &[&prelogin().to_client_payload()]),
        seed("good_login", &[&login_packets(TdsVersion::V7_4)[8..]]),
        seed("good_login_7_1", &[&login_packets(TdsVersion::V7_1)[8..]]),
        seed("good_handshake", &[&wrapped, &[0x17, 3, 3, 0, 1, 0]]),
        seed("long_text", &[&long_text]),
        seed("options_without_end", &[&[9, 0, 0, 0, 0].repeat(40)]),
        seed("option_beyond_end", &[&[0, 0xFF, 0xFF, 0, 6, 0xFF]]),
    ]
}

fn rpc_seeds() -> Vec<Seed> {
    let payload = |version| {
        let settings = ClientSettings { version, ..ClientSettings::default() };
        read_one(&rpc_call(settings)).unwrap().payload
    };
    let call: &[u8] = &[0, 1, 0, b'p', 0, 0, 0, 0, 0];
    let answer = |version| read_one(&response(version)).unwrap().payload;
    let new = answer(TdsVersion::V7_4);
    let bulk = &new[new.iter().position(|&byte| byte == 0x81).unwrap()..];
    let mut int = Vec::new();
    let wire = WireType::for_output(column_type(DataType::Int), TdsVersion::V7_4);
    wire.encode(&mut int);
    wire.encode_value(&mut int, &Value::Int(5), Place::Parameter);
    let tvp = [0xF3, 0, 0, 1, b'T', 0, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4, 0, 0, 1, 4, 7, 0, 0, 0, 0];
    let begin = begin_after_commit(ClientSettings::default());
    let endless = [0xA5, 0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
    vec![
        seed("good_call", &[&[4], &payload(TdsVersion::V7_4)]),
        seed("good_call_7_1", &[&[0], &payload(TdsVersion::V7_1)]),
        seed("good_transaction", &[&[0x14], &begin[8..]]),
        seed("good_batch", &[&[0x24], &client::batch("select 1", ClientSettings::default())[8..]]),
        seed("good_bulk", &[&[0x34], bulk]),
        seed("good_response", &[&[0x44], &new]),
        seed("good_response_7_1", &[&[0x40], &answer(TdsVersion::V7_1)]),
        seed("int", &[call, &int]),
        seed("table", &[call, &tvp]),
        seed("chunk_without_end", &[call, &endless, &[0xFF; 4]]),
        seed("chunk_of_2_gb", &[call, &endless, &[0xFF, 0xFF, 0xFF, 0x7F, 1]]),
        seed("text_of_4_gb", &[call, &[0x22, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF]]),
        seed("variant_in_variant", &[call, &[0x62, 0, 0, 0, 0, 9, 0, 0, 0, 0x62, 0, 1, 2]]),
        seed("variant_shorter_than_its_type", &[call, &[0x62, 0, 0, 0, 0, 2, 0, 0, 0, 0xA7, 7]]),
        seed("name_without_end", &[&[0, 0xFE, 0xFF, b'p']]),
        seed("many_parameters", &[&call[..7], &[0, 0, 0x1F].repeat(2_200)]),
    ]
}

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

#[test]
fn corpus_is_survived() {
    for (target, run) in TARGETS {
        let files = std::fs::read_dir(corpus(target)).expect("the corpus is in the repository");
        let mut count = 0;
        for file in files {
            run(&std::fs::read(file.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= seeds(target).len(), "{target} has {count} files");
    }
}

#[test]
fn corpus_holds_the_seeds() {
    for (target, _) in TARGETS {
        for (name, bytes) in seeds(target) {
            let file = std::fs::read(corpus(target).join(&name));
            assert_eq!(file.ok(), Some(bytes), "{target}/{name}: run write_corpus");
        }
    }
}

#[test]
#[ignore = "writes to the repository"]
fn write_corpus() {
    for (target, _) in TARGETS {
        std::fs::create_dir_all(corpus(target)).unwrap();
        for (name, bytes) in seeds(target) {
            std::fs::write(corpus(target).join(name), bytes).unwrap();
        }
    }
}
