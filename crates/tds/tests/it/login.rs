//! Tests LOGIN7: all fields encoded and decoded, and hostile offsets.

use tds::login7::{Feature, LoginFlags, feature};
use tds::{Cursor, Login7, ProtocolError, TdsVersion, client};

use crate::support::read_one;

fn login() -> Login7 {
    Login7 {
        version_code: TdsVersion::V7_4.code(),
        packet_size: 8_000,
        client_version: 7,
        client_pid: 4_711,
        flags: LoginFlags { option1: 0xE0, option2: 0x03, types: 0x20, option3: 0x10 },
        time_zone: -60,
        lcid: 0x409,
        host: "web01".into(),
        user: "sa".into(),
        password: "pässwörd \u{1F511}".into(),
        application: "state server".into(),
        server: "localhost".into(),
        library: "test".into(),
        language: "us_english".into(),
        database: "ASPState".into(),
        client_id: [1, 2, 3, 4, 5, 6],
        attach_file: String::new(),
        new_password: "next".into(),
        sspi: Vec::new(),
        features: vec![
            Feature { id: feature::SESSION_RECOVERY, data: vec![0; 4] },
            Feature { id: feature::UTF8_SUPPORT, data: vec![] },
        ],
    }
}

fn parse(packets: &[u8]) -> tds::Result<Login7> {
    Login7::parse(Cursor::new(&read_one(packets)?.payload))
}

#[test]
fn login_comes_back_as_it_went() {
    let read = parse(&client::login(&login())).unwrap();
    assert_eq!(read, login());
    assert!(read.flags.database_is_required() && read.flags.is_odbc() && read.flags.is_read_only());
    assert!(read.has_feature(feature::UTF8_SUPPORT));
    assert_eq!(read.unsupported_authentication(), None);
}

#[test]
fn login_of_tds_7_1_has_a_shorter_fixed_part() {
    let old = Login7 {
        version_code: 0x7100_0001,
        features: vec![],
        new_password: String::new(),
        flags: LoginFlags::default(),
        ..login()
    };
    assert_eq!(parse(&client::login(&old)).unwrap(), old);
    assert_eq!(old.version().unwrap(), TdsVersion::V7_1);
}

#[test]
fn password_is_hidden_as_the_specification_says() {
    // 2.2.6.4: swap the halves of each byte, XOR 0xA5: 'a' = 0x61 gives 0x16 ^ 0xA5 = 0xB3.
    let packets = client::login(&Login7 { password: "a".into(), ..login() });
    let payload = read_one(&packets).unwrap().payload;
    let at = usize::from(u16::from_le_bytes([payload[44], payload[45]]));
    assert_eq!(payload[at..at + 2], [0xB3, 0xA5]);
}

#[test]
fn integrated_and_federated_logins_are_named() {
    let integrated = Login7 { sspi: vec![1, 2, 3], ..login() };
    let read = parse(&client::login(&integrated)).unwrap();
    assert_eq!(
        read.unsupported_authentication(),
        Some(ProtocolError::Unsupported("integrated (SSPI) authentication"))
    );
    let features = vec![Feature { id: feature::FEDERATED_AUTH, data: vec![2] }];
    let read = parse(&client::login(&Login7 { features, ..login() })).unwrap();
    assert_eq!(
        read.unsupported_authentication(),
        Some(ProtocolError::Unsupported("federated authentication"))
    );
}

#[test]
fn versions_are_negotiated_down_but_not_below_7_1() {
    let version = |code| TdsVersion::negotiate(code);
    assert_eq!(version(0x7400_0004), Ok(TdsVersion::V7_4));
    assert_eq!(version(0x730A_0003), Ok(TdsVersion::V7_3A));
    assert_eq!(version(0x730B_0003), Ok(TdsVersion::V7_3B));
    assert_eq!(version(0x7209_0002), Ok(TdsVersion::V7_2));
    assert_eq!(version(0x7100_0001), Ok(TdsVersion::V7_1));
    assert_eq!(version(0x0800_0000), Ok(TdsVersion::V8_0));
    assert_eq!(version(0x7000_0000), Err(ProtocolError::Version(0x7000_0000)));
    assert_eq!(version(0), Err(ProtocolError::Version(0)));
}

#[test]
fn every_offset_and_length_may_be_hostile() {
    let good = read_one(&client::login(&login())).unwrap().payload;
    for at in (36..94).chain([0, 2, 4]) {
        for hostile in [0x0000_u16, 0x0001, 0x7FFF, 0xFFFE, 0xFFFF] {
            let mut payload = good.clone();
            payload[at..at + 2].copy_from_slice(&hostile.to_le_bytes());
            // Reads a login or refuses it; the fields are no longer than what was sent.
            if let Ok(read) = Login7::parse(Cursor::new(&payload)) {
                assert!(read.user.len() <= payload.len() * 3);
            }
        }
    }
}

#[test]
fn login_shorter_than_it_says_is_refused() {
    let mut payload = read_one(&client::login(&login())).unwrap().payload;
    payload.pop();
    assert_eq!(Login7::parse(Cursor::new(&payload)), Err(ProtocolError::Truncated));
    let tiny = 20_u32.to_le_bytes().repeat(20);
    assert!(matches!(Login7::parse(Cursor::new(&tiny)), Err(ProtocolError::Login(_))));
}
