//! Tests every prefix of every kind of message, and every message with a byte changed: an error or
//! "need more", never a panic.

use tds::{MessageReader, Step};

use crate::corpus;
use crate::drive;

#[test]
fn every_prefix_of_every_seed_is_survived() {
    for (target, run) in corpus::TARGETS {
        for (name, seed) in corpus::seeds(target) {
            assert!(!seed.is_empty(), "{name}");
            for end in 0..seed.len() {
                run(&seed[..end]);
            }
        }
    }
}

#[test]
fn every_seed_with_a_byte_changed_is_survived() {
    for (target, run) in corpus::TARGETS {
        for (_, seed) in corpus::seeds(target).into_iter().filter(|(_, seed)| seed.len() < 2_000) {
            for at in 0..seed.len() {
                for byte in [0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF] {
                    let mut changed = seed.clone();
                    changed[at] = byte;
                    run(&changed);
                }
            }
        }
    }
}

#[test]
fn every_prefix_of_a_message_needs_more() {
    for (name, seed) in corpus::seeds("packets").into_iter().filter(|(n, _)| n.starts_with("good"))
    {
        let stream = &seed[1..];
        for end in 0..stream.len() {
            let mut reader = MessageReader::new();
            let (used, step) = reader.feed(&stream[..end]).unwrap();
            assert!(matches!(step, Step::NeedMore), "{name} up to {end}");
            assert_eq!((used, reader.is_mid_message()), (end, end > 0));
        }
    }
}

#[test]
fn arbitrary_bytes_are_survived() {
    // A linear congruential generator: the same bytes at every run.
    let mut state = 1_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    for _ in 0..20_000 {
        let length = usize::from(next());
        let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
        drive::packets(&bytes);
        drive::login(&bytes);
        drive::rpc(&bytes);
    }
}
