//! Encryption: what is answered to whom, both ways of TLS, certificates of one's own.

use std::sync::Arc;

use rustls::ClientConfig;
use tds::prelogin::Encryption;
use tds::{Login7, TdsVersion};
use types::Value;

use crate::client::{Client, assert_logged_in, error_numbers, login_of_sa, strict};
use crate::server::ServerProcess;

fn tls_1_2() -> Arc<ClientConfig> {
    load::tls::trusting(&[&rustls::version::TLS12], &[])
}

fn tls_1_3() -> Arc<ClientConfig> {
    load::tls::trusting(&[&rustls::version::TLS13], &[b"tds/8.0"])
}

#[test]
fn loopback_clients_that_can_do_without_stay_in_plain_text() {
    let server = ServerProcess::start(&[]);
    for asked in [Encryption::Off, Encryption::NotSupported] {
        let mut client = Client::connect(server.address);
        assert_eq!(client.prelogin(asked), Some(Encryption::NotSupported));
        assert_logged_in(&client.login(&login_of_sa()));
    }
}

#[test]
fn clients_that_ask_get_tls_in_packets() {
    let server = ServerProcess::start(&[]);
    for asked in [Encryption::On, Encryption::Required] {
        let mut client = Client::connect(server.address);
        assert_eq!(client.prelogin(asked), Some(Encryption::On));
        let mut client = client.into_wrapped_tls(tls_1_2());
        assert_logged_in(&client.login(&login_of_sa()));
        assert_eq!(client.value_of("1"), Value::Int(1));
        let long = format!("DECLARE @a int /* {} */", "x".repeat(100_000));
        assert_eq!(error_numbers(&client.batch(&long)), []);
    }
}

#[test]
fn wrapped_tls_offers_no_1_3() {
    let server = ServerProcess::start(&[]);
    let mut client = Client::connect(server.address);
    client.prelogin(Encryption::On);
    let both = load::tls::trusting(&[&rustls::version::TLS13, &rustls::version::TLS12], &[]);
    let mut client = client.into_wrapped_tls(both);
    assert_logged_in(&client.login(&login_of_sa()));
}

#[test]
fn strict_clients_speak_tds_8_inside_tls_1_3() {
    let server = ServerProcess::start(&[]);
    for inner in [Encryption::On, Encryption::NotSupported, Encryption::Off] {
        let mut client = strict(server.address, tls_1_3());
        assert_ne!(client.prelogin(inner), Some(Encryption::Off), "JDBC would hang up");
        let version_code = TdsVersion::V8_0.code();
        assert_logged_in(&client.login(&Login7 { version_code, ..login_of_sa() }));
        assert_eq!(client.value_of("1"), Value::Int(1));
    }
}

#[test]
fn strict_client_may_speak_tds_7_4() {
    let server = ServerProcess::start(&[]);
    let mut client = strict(server.address, tls_1_3());
    client.settings.version = TdsVersion::V7_4;
    client.prelogin(Encryption::On);
    assert_logged_in(&client.login(&login_of_sa()));
    assert_eq!(client.value_of("1"), Value::Int(1));
}

#[test]
fn attention_inside_tls_stops_a_running_statement() {
    let server = ServerProcess::start(&[]);
    let mut strict_client = strict(server.address, tls_1_3());
    strict_client.prelogin(Encryption::On);
    let mut wrapped = Client::connect(server.address);
    wrapped.prelogin(Encryption::On);
    let wrapped = wrapped.into_wrapped_tls(tls_1_2());
    for mut client in [strict_client, wrapped] {
        client.settings.version = TdsVersion::V7_4;
        assert_logged_in(&client.login(&login_of_sa()));
        client.send(&tds::client::batch("WAITFOR DELAY '00:00:30'", client.settings));
        for _ in 0..20 {
            crate::server::pause();
        }
        client.send(&tds::client::attention());
        client.response();
        client.response();
        assert_eq!(client.value_of("1"), Value::Int(1));
    }
}

#[test]
fn required_refuses_who_has_no_tls() {
    let server = ServerProcess::start(&["--encryption", "required"]);
    let mut client = Client::connect(server.address);
    assert_eq!(client.prelogin(Encryption::NotSupported), Some(Encryption::Required));
    assert_eq!(client.drain(), 0);
    let mut client = Client::connect(server.address);
    assert_eq!(client.prelogin(Encryption::Off), Some(Encryption::Required));
    let mut client = client.into_wrapped_tls(tls_1_2());
    assert_logged_in(&client.login(&login_of_sa()));
    let mut without_prelogin = Client::connect(server.address);
    without_prelogin.send(&tds::client::login(&login_of_sa()));
    assert_eq!(without_prelogin.drain(), 0);
}

#[test]
fn strict_only_refuses_the_rest() {
    let server = ServerProcess::start(&["--encryption", "strict"]);
    let mut client = strict(server.address, tls_1_3());
    client.prelogin(Encryption::On);
    assert_logged_in(&client.login(&login_of_sa()));
    let mut plain = Client::connect(server.address);
    plain.send(&tds::client::prelogin(&tds::Prelogin::default()));
    assert_eq!(plain.drain(), 0);
}

#[test]
fn off_has_no_tls_for_anyone() {
    let server = ServerProcess::start(&["--encryption", "off"]);
    let mut client = Client::connect(server.address);
    assert_eq!(client.prelogin(Encryption::On), Some(Encryption::NotSupported));
    assert_logged_in(&client.login(&login_of_sa()));
    let mut tls = Client::connect(server.address);
    tls.send(&[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]);
    assert_eq!(tls.drain(), 0);
}
