//! Tests PRELOGIN, the encryption decision, and TLS inside packets.

use tds::encryption::{EncryptionPolicy, Origin, TlsScope, decide};
use tds::tls_wrap::{Unwrapped, Unwrapper, wrap};
use tds::{Cursor, Encryption, Prelogin, ProtocolError};

use crate::support::read_one;

#[test]
fn recorded_prelogin_of_the_specification_is_read() {
    // [MS-SSTDS] 4.1.
    let bytes = [
        0x12, 0x01, 0x00, 0x34, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x15, 0x00, 0x06, 0x01, 0x00,
        0x1B, 0x00, 0x01, 0x02, 0x00, 0x1C, 0x00, 0x0C, 0x03, 0x00, 0x28, 0x00, 0x04, 0xFF, 0x08,
        0x00, 0x01, 0x55, 0x00, 0x00, 0x00, 0x4D, 0x53, 0x53, 0x51, 0x4C, 0x53, 0x65, 0x72, 0x76,
        0x65, 0x72, 0x00, 0x80, 0x19, 0x00, 0x00,
    ];
    let message = read_one(&bytes).unwrap();
    let prelogin = Prelogin::parse(Cursor::new(&message.payload)).unwrap();
    assert_eq!(prelogin.version, [8, 0, 1, 0x55, 0, 0]);
    assert_eq!(prelogin.encryption, Some(Encryption::Off));
    assert_eq!(prelogin.instance.as_deref(), Some(&b"MSSQLServer"[..]));
    assert_eq!(prelogin.thread_id, Some(0x8019_0000));
    assert_eq!((prelogin.mars, prelogin.federated_auth_required), (None, None));
}

#[test]
fn prelogin_comes_back_as_it_went() {
    let prelogin = Prelogin {
        version: [16, 0, 3, 232, 0, 0],
        encryption: Some(Encryption::Required),
        instance: Some(b"CLEARWAY".to_vec()),
        thread_id: Some(77),
        mars: Some(true),
        trace_id: Some([5; 36]),
        federated_auth_required: Some(true),
        nonce: Some([9; 32]),
    };
    let payload = prelogin.to_client_payload();
    assert_eq!(Prelogin::parse(Cursor::new(&payload)).unwrap(), prelogin);
    let answer = Prelogin::parse(Cursor::new(&prelogin.to_server_payload())).unwrap();
    assert_eq!(answer.encryption, prelogin.encryption);
    assert_eq!(answer.instance.as_deref(), Some(&b""[..]), "INSTOPT 0: the instance is right");
    assert_eq!((answer.thread_id, answer.mars), (None, Some(true)));
}

#[test]
fn answer_grants_mars_and_echoes_the_question_of_federated_authentication() {
    let client = Prelogin {
        mars: Some(true),
        federated_auth_required: Some(true),
        encryption: Some(Encryption::Off),
        ..Prelogin::default()
    };
    let payload = client.answer([16, 0, 3, 232, 0, 0], Encryption::NotSupported);
    let answer = Prelogin::parse(Cursor::new(&payload)).unwrap();
    assert_eq!(answer.version, [16, 0, 3, 232, 0, 0]);
    assert_eq!(answer.encryption, Some(Encryption::NotSupported));
    assert_eq!((answer.mars, answer.federated_auth_required), (Some(true), Some(true)));
    let silent = Prelogin::default().answer([16, 0, 3, 232, 0, 0], Encryption::On);
    let answer = Prelogin::parse(Cursor::new(&silent)).unwrap();
    assert_eq!((answer.mars, answer.federated_auth_required), (Some(false), None));
}

#[test]
fn hostile_prelogins_are_refused() {
    let parse = |payload: &[u8]| Prelogin::parse(Cursor::new(payload)).unwrap_err();
    assert_eq!(parse(&[]), ProtocolError::Truncated);
    assert_eq!(parse(&[0xFF]), ProtocolError::Prelogin("the version option is missing"));
    assert_eq!(parse(&[0, 0xFF, 0xFF, 0, 6, 0xFF]), ProtocolError::Truncated);
    assert_eq!(parse(&[2, 0, 0, 0xFF, 0xFF, 0xFF]), ProtocolError::Truncated);
    assert_eq!(parse(&[1, 0, 0, 0, 2]), ProtocolError::Prelogin("an option has a wrong length"));
    let many = [9, 0, 0, 0, 0].repeat(40);
    assert_eq!(parse(&many), ProtocolError::Prelogin("it has too many options"));
}

#[test]
fn loopback_stays_plain_for_those_who_can_do_without() {
    let answer = |client| decide(client, EncryptionPolicy::Optional, Origin::Loopback);
    let plain = (Encryption::NotSupported, TlsScope::None);
    let full = (Encryption::On, TlsScope::Full);
    assert_eq!(answer(Some(Encryption::Off)), plain);
    assert_eq!(answer(Some(Encryption::NotSupported)), plain);
    assert_eq!(answer(None), plain);
    assert_eq!(answer(Some(Encryption::On)), full);
    assert_eq!(answer(Some(Encryption::Required)), full);
}

#[test]
fn remote_password_is_not_sent_in_clear() {
    let answer = |client| decide(client, EncryptionPolicy::Optional, Origin::Remote);
    assert_eq!(answer(Some(Encryption::Off)), (Encryption::Off, TlsScope::LoginOnly));
    assert_eq!(answer(Some(Encryption::On)), (Encryption::On, TlsScope::Full));
}

#[test]
fn required_encryption_refuses_those_who_cannot() {
    let answer = |client| decide(client, EncryptionPolicy::Required, Origin::Loopback);
    assert_eq!(answer(Some(Encryption::NotSupported)), (Encryption::Required, TlsScope::Refuse));
    assert_eq!(answer(Some(Encryption::Off)), (Encryption::Required, TlsScope::Full));
    assert_eq!(answer(Some(Encryption::On)), (Encryption::On, TlsScope::Full));
}

#[test]
fn strict_never_answers_off_and_never_starts_tls_within_tls() {
    use Encryption::{NotSupported, Off, On, Required};
    for policy in [EncryptionPolicy::Off, EncryptionPolicy::Optional, EncryptionPolicy::Required] {
        for client in [None, Some(Off), Some(On), Some(NotSupported), Some(Required)] {
            let (encryption, scope) = decide(client, policy, Origin::Strict);
            assert_ne!(encryption, Off);
            assert_eq!(scope, TlsScope::None);
        }
    }
}

#[test]
fn wrapped_handshake_comes_out_as_it_went_in_however_it_arrives() {
    let flight: Vec<u8> = (0..10_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut wrapped = Vec::new();
    wrap(&flight, &mut wrapped);
    assert_eq!(&wrapped[..4], [0x12, 0, 0x10, 0]);
    // A record without packet follows directly.
    wrapped.extend([0x17, 3, 3, 0, 5]);
    for piece in [1, 7, 8, 4_096, 4_100, 20_000] {
        let mut unwrapper = Unwrapper::new();
        let mut unwrapped = Vec::new();
        let mut bare = Vec::new();
        for mut part in wrapped.chunks(piece) {
            while !part.is_empty() {
                match unwrapper.next(part).unwrap() {
                    Unwrapped::Handshake { used, payload } => {
                        unwrapped.extend_from_slice(payload);
                        part = &part[used..];
                    }
                    Unwrapped::Bare => {
                        bare.extend_from_slice(part);
                        part = &[];
                    }
                }
            }
        }
        assert_eq!(unwrapped, flight, "{piece}");
        assert_eq!(&bare[..1], [0x17]);
    }
}

#[test]
fn other_packets_within_a_handshake_are_refused() {
    let error = Unwrapper::new().next(&[1, 1, 0, 8, 0, 0, 1, 0]).unwrap_err();
    assert_eq!(error, ProtocolError::UnexpectedMessage(tds::PacketType::SqlBatch));
}
