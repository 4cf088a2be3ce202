//! SMP frames: headers, cutting, counting, and bytes that are none.

use tds::ProtocolError;
use tds::smp::{
    FrameHeader, FrameKind, FrameReader, PAYLOAD_BYTES_MAX, SMP_HEADER_BYTES, WINDOW_INITIAL,
    Windows,
};

const KINDS: [FrameKind; 4] = [FrameKind::Syn, FrameKind::Ack, FrameKind::Fin, FrameKind::Data];

fn header(kind: FrameKind, sequence: u32, window: u32) -> FrameHeader {
    FrameHeader { kind, session: 7, payload_bytes: 0, sequence, window }
}

fn opened(window: u32) -> Windows {
    Windows::open(&header(FrameKind::Syn, 0, window)).expect("a SYN")
}

#[test]
fn header_has_the_layout_of_the_specification() {
    let data = FrameHeader {
        kind: FrameKind::Data,
        session: 0x0102,
        payload_bytes: 0x0506 - SMP_HEADER_BYTES,
        sequence: 0x0708_090A,
        window: 0x0B0C_0D0E,
    };
    let bytes =
        [0x53, 8, 0x02, 0x01, 0x06, 0x05, 0, 0, 0x0A, 0x09, 0x08, 0x07, 0x0E, 0x0D, 0x0C, 0x0B];
    assert_eq!(data.to_bytes(), bytes);
    for kind in KINDS {
        let header = header(kind, 3, 9);
        assert_eq!(FrameHeader::parse(&header.to_bytes()), Ok(header));
    }
}

#[test]
fn headers_that_are_none_are_refused() {
    let whole = header(FrameKind::Ack, 0, 4).to_bytes();
    for (at, byte) in [(0, 0x52), (1, 0), (1, 3), (1, 16), (1, 0xFF), (4, 15), (4, 17), (7, 1)] {
        let mut bytes = whole;
        bytes[at] = byte;
        let parsed = FrameHeader::parse(&bytes);
        assert!(matches!(parsed, Err(ProtocolError::Smp(_))), "{at} {byte}: {parsed:?}");
    }
    let most = FrameHeader { payload_bytes: PAYLOAD_BYTES_MAX, ..header(FrameKind::Data, 1, 4) };
    assert_eq!(FrameHeader::parse(&most.to_bytes()), Ok(most));
    let more = FrameHeader { payload_bytes: PAYLOAD_BYTES_MAX + 1, ..most };
    assert!(FrameHeader::parse(&more.to_bytes()).is_err());
}

/// Feeds bytes in pieces of a length; returns the frames with their payloads.
fn cut(bytes: &[u8], piece: usize) -> Result<Vec<(FrameHeader, Vec<u8>)>, ProtocolError> {
    let mut reader = FrameReader::default();
    let mut frames = Vec::new();
    for mut part in bytes.chunks(piece) {
        while !part.is_empty() {
            let (used, frame) = reader.feed(part)?;
            assert!(used > 0, "each call goes on");
            frames.extend(frame.map(|frame| (frame, reader.payload().to_vec())));
            part = &part[used..];
        }
    }
    assert!(!reader.is_mid_frame());
    Ok(frames)
}

#[test]
fn frames_are_cut_wherever_the_bytes_arrive() {
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for (index, payload_bytes) in [0, 1, 15, 16, 17, 4096, 0, 3].into_iter().enumerate() {
        let sequence = u32::try_from(index).expect("few") + 1;
        let kind = if payload_bytes == 0 { FrameKind::Ack } else { FrameKind::Data };
        let frame = FrameHeader { payload_bytes, ..header(kind, sequence, 4) };
        let payload = vec![u8::try_from(index).expect("few"); payload_bytes];
        bytes.extend_from_slice(&frame.to_bytes());
        bytes.extend_from_slice(&payload);
        expected.push((frame, payload));
    }
    for piece in [1, 2, 7, 15, 16, 17, 100, bytes.len()] {
        assert_eq!(cut(&bytes, piece), Ok(expected.clone()), "in pieces of {piece}");
    }
}

#[test]
fn random_bytes_never_panic_and_end_at_the_first_wrong_one() {
    let mut random: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for round in 0..20_000 {
        let length = usize::try_from(next() % 64).expect("small");
        let mut bytes: Vec<u8> = (0..length).map(|_| next().to_le_bytes()[0]).collect();
        // Half of them begin as a frame does.
        if round % 2 == 0 && length > 8 {
            bytes[..2].copy_from_slice(&[0x53, 1 << (next() % 4)]);
            bytes[4..8].copy_from_slice(&u32::try_from(next() % 80).expect("small").to_le_bytes());
        }
        let mut reader = FrameReader::default();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let Ok((used, _)) = reader.feed(rest) else { break };
            assert!(used > 0);
            rest = &rest[used..];
        }
        if bytes.first().is_some_and(|&first| first != 0x53) {
            assert!(FrameReader::default().feed(&bytes).is_err(), "{bytes:?}");
        }
    }
}

#[test]
fn window_stops_the_sender_and_an_acknowledgement_lets_it_go_on() {
    let mut windows = opened(WINDOW_INITIAL);
    for sequence in 1..=WINDOW_INITIAL {
        let sent = windows.send(10).expect("the window is open");
        assert_eq!((sent.sequence, sent.payload_bytes, sent.session), (sequence, 10, 7));
    }
    assert_eq!(windows.send(1), None);
    windows.take_ack(&header(FrameKind::Ack, 0, 6)).expect("an ACK");
    assert!(windows.send(1).is_some() && windows.send(1).is_some());
    assert_eq!(windows.send(1), None);
    let fin = windows.finish();
    assert_eq!((fin.kind, fin.sequence), (FrameKind::Fin, 6));
}

#[test]
fn receiver_acknowledges_every_second_frame_that_was_taken() {
    let mut windows = opened(WINDOW_INITIAL);
    for sequence in 1..=WINDOW_INITIAL {
        windows.take_data(&header(FrameKind::Data, sequence, 4)).expect("in the window");
    }
    let beyond = windows.take_data(&header(FrameKind::Data, 5, 4));
    assert_eq!(beyond, Err(ProtocolError::Smp("A frame is beyond the window")));
    assert_eq!(windows.taken(), None);
    let ack = windows.taken().expect("the second");
    assert_eq!((ack.kind, ack.sequence, ack.window), (FrameKind::Ack, 0, 6));
    // DATA says it as well, so no ACK is due.
    assert_eq!(windows.taken(), None);
    assert_eq!(windows.send(0).expect("open").window, 7);
    assert_eq!(windows.taken(), None);
    windows.take_data(&header(FrameKind::Data, 5, 4)).expect("in the window");
}

#[test]
fn frames_out_of_order_and_narrowed_windows_are_refused() {
    for sequence in [0, 2, u32::MAX] {
        assert!(opened(4).take_data(&header(FrameKind::Data, sequence, 4)).is_err());
    }
    assert!(opened(4).take_data(&header(FrameKind::Data, 1, 3)).is_err());
    assert!(opened(4).take_ack(&header(FrameKind::Ack, 0, 3)).is_err());
    assert!(opened(4).take_ack(&header(FrameKind::Ack, 1, 4)).is_err());
    assert!(Windows::open(&header(FrameKind::Syn, 1, 4)).is_err());
}
