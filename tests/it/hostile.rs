//! Bytes that no driver sends: that connection ends, the others notice nothing, nothing leaks.

use tds::client;
use tds::{Login7, Prelogin};
use types::Value;

use crate::client::{Client, error_numbers, login_of_sa};
use crate::server::ServerProcess;

/// Hostile openings: what is sent as the first bytes of a connection.
fn openings() -> Vec<Vec<u8>> {
    let prelogin = client::prelogin(&Prelogin::default());
    let login = client::login(&login_of_sa());
    let mut too_short = prelogin.clone();
    too_short[2..4].copy_from_slice(&3_u16.to_be_bytes());
    let mut too_long = prelogin.clone();
    too_long[2..4].copy_from_slice(&0xFFFF_u16.to_be_bytes());
    let mut wild_offsets = prelogin.clone();
    wild_offsets[9..13].fill(0xFF);
    let mut wild_login = login.clone();
    for byte in &mut wild_login[8 + 36..8 + 90] {
        *byte = 0xFE;
    }
    let mut long_login = login.clone();
    long_login[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    vec![
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        vec![0; 64],
        vec![0xFF; 4096],
        vec![0x12, 1, 0, 8, 0, 0, 1, 0],
        vec![0x16; 64],
        vec![0x16, 3, 1, 0xFF, 0xFF, 1],
        too_short,
        too_long,
        wild_offsets,
        wild_login,
        long_login,
        client::attention().to_vec(),
        client::batch("SELECT 1", client::ClientSettings::default()),
        [prelogin.clone(), prelogin.clone()].concat(),
        [prelogin.clone(), client::batch("SELECT 1", client::ClientSettings::default())].concat(),
        [prelogin, vec![0x10, 0, 0, 8, 0, 0, 9, 0], vec![0x12, 1, 0, 8, 0, 0, 3, 0]].concat(),
    ]
}

/// Hostile messages of a client that is logged in.
fn messages() -> Vec<Vec<u8>> {
    let settings = client::ClientSettings::default();
    let batch = client::batch("SELECT 1", settings);
    let mut odd = batch.clone();
    odd.pop();
    let length = u16::try_from(odd.len()).expect("short");
    odd[2..4].copy_from_slice(&length.to_be_bytes());
    let mut wild_headers = batch.clone();
    wild_headers[8..12].copy_from_slice(&0x7FFF_FFFF_u32.to_le_bytes());
    let mut both_resets = batch.clone();
    both_resets[1] |= 0x18;
    let mut unknown = batch.clone();
    unknown[0] = 0x42;
    let mut response = batch.clone();
    response[0] = 0x04;
    let mut rpc = batch.clone();
    rpc[0] = 0x03;
    let mut transaction = batch.clone();
    transaction[0] = 0x0E;
    let mut bulk = batch.clone();
    bulk[0] = 0x07;
    let mut login = batch.clone();
    login[0] = 0x10;
    let mut out_of_order = batch.clone();
    out_of_order[1] = 0;
    out_of_order.extend_from_slice(&[0x01, 1, 0, 8, 0, 0, 77, 0]);
    let mut mixed = batch;
    mixed[1] = 0;
    mixed.extend_from_slice(&[0x03, 1, 0, 8, 0, 0, 2, 0]);
    vec![
        odd,
        wild_headers,
        both_resets,
        unknown,
        response,
        rpc,
        transaction,
        bulk,
        login,
        out_of_order,
        mixed,
        vec![0x06, 1, 0, 9, 0, 0, 1, 0, 0],
        vec![0x03, 1, 0, 8, 0, 0, 1, 0],
    ]
}

#[test]
fn hostile_openings_end_their_connection_and_no_other() {
    let server = ServerProcess::start(&["--login-timeout", "2s"]);
    let mut witness = Client::log_in(server.address);
    for (index, bytes) in openings().into_iter().enumerate() {
        let mut client = Client::connect(server.address);
        client.send(&bytes);
        client.drain();
        assert_eq!(witness.value_of("1"), Value::Int(1), "after opening {index}");
    }
}

#[test]
fn hostile_messages_get_an_error_or_the_end() {
    let server = ServerProcess::start(&["--packet-timeout", "2s"]);
    let mut witness = Client::log_in(server.address);
    for (index, bytes) in messages().into_iter().enumerate() {
        let mut client = Client::log_in(server.address);
        client.send(&bytes);
        if let Ok(tokens) = client.try_response() {
            assert!(!error_numbers(&tokens).is_empty(), "message {index}: {tokens:?}");
        }
        assert_eq!(witness.value_of("1"), Value::Int(1), "after message {index}");
    }
}

#[test]
fn every_cut_of_a_login_is_survived() {
    let server = ServerProcess::start(&[]);
    let mut whole = client::prelogin(&Prelogin::default());
    whole.extend_from_slice(&client::login(&login_of_sa()));
    whole.extend_from_slice(&client::batch("SELECT 1", client::ClientSettings::default()));
    for length in (0..whole.len()).step_by(7) {
        let mut client = Client::connect(server.address);
        client.send(&whole[..length]);
    }
    let mut client = Client::log_in(server.address);
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn every_flipped_byte_of_a_login_is_survived() {
    let server = ServerProcess::start(&["--login-timeout", "500ms"]);
    let login = client::login(&Login7 { database: "x".to_owned(), ..login_of_sa() });
    for index in (8..login.len()).step_by(3) {
        let mut bytes = client::prelogin(&Prelogin::default());
        bytes.extend_from_slice(&login);
        let place = bytes.len() - login.len() + index;
        bytes[place] ^= 0xFF;
        let mut client = Client::connect(server.address);
        client.send(&bytes);
    }
    let mut client = Client::log_in(server.address);
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn nothing_leaks_through_hostile_connections() {
    let server = ServerProcess::start(&["--login-timeout", "1s", "--packet-timeout", "1s"]);
    let round = || {
        for bytes in openings() {
            Client::connect(server.address).send(&bytes);
        }
        for bytes in messages() {
            Client::log_in(server.address).send(&bytes);
        }
    };
    round();
    server.wait_until("the first connections are gone", |s| s.sockets() < 40);
    let (descriptors, memory_kb) = (server.sockets(), server.resident_kb());
    for _ in 0..20 {
        round();
    }
    server.wait_until("all connections are gone", |s| s.sockets() <= descriptors + 2);
    let grown_kb = server.resident_kb().saturating_sub(memory_kb);
    assert!(grown_kb < 8 * 1024, "grown by {grown_kb} KB from {memory_kb} KB");
}
