//! Segment headers: what was written is read, damage is detected, a newer format refused by name.

use log::{BLOCK_BYTES, DatabaseId, Epoch, FORMAT_VERSION, Problem, SegmentHeader};

const HEADER: SegmentHeader = SegmentHeader {
    database: DatabaseId(*b"sixteen bytes..."),
    number: 7,
    generation: 2,
    segment_bytes: 64 << 20,
    first_batch: 1200,
    previous_crc: 0x1234_5678,
    last_epoch: Epoch(77),
};

#[test]
fn segment_header_comes_back() {
    assert_eq!(SegmentHeader::decode(&HEADER.encode()), Ok(HEADER));
}

#[test]
fn every_changed_bit_is_detected() {
    let mut block = HEADER.encode();
    for bit in 0..BLOCK_BYTES * 8 {
        block[bit / 8] ^= 1 << (bit % 8);
        assert!(SegmentHeader::decode(&block).is_err(), "bit {bit}");
        block[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn newer_version_is_refused_by_name() {
    let mut block = HEADER.encode();
    block[8..12].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
    let error = SegmentHeader::decode(&block).unwrap_err();
    assert_eq!(error.problem, Problem::Version(2));
    let text = "at offset 8: it has log format version 2; this version of Clearway reads up to 1";
    assert_eq!(error.to_string(), text);
}

#[test]
fn impossible_sizes_and_numbers_are_refused() {
    let bad = [
        SegmentHeader { segment_bytes: 0, ..HEADER },
        SegmentHeader { segment_bytes: (64 << 20) + 1, ..HEADER },
        SegmentHeader { number: 0, ..HEADER },
        SegmentHeader { generation: 0, ..HEADER },
        SegmentHeader { first_batch: 0, ..HEADER },
    ];
    for header in bad {
        let error = SegmentHeader::decode(&header.encode()).unwrap_err();
        assert!(matches!(error.problem, Problem::Field(_)), "{header:?}: {error}");
    }
}
