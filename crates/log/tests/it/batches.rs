//! Batches: any changed bit and any cut is detected.

use log::{
    BATCH_HEADER_BYTES, BLOCK_BYTES, Batch, BatchBuffer, BatchHeader, DatabaseId, Epoch, Problem,
    decode_batch_header,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::drive;

const HEADER: BatchHeader = BatchHeader {
    database: DatabaseId(*b"sixteen bytes..."),
    generation: 2,
    number: 12,
    group: 11,
    first_epoch: Epoch(100),
    last_epoch: Epoch(101),
    utc_100ns: 639_000_000_000_000_000,
    previous_crc: 0x1234_5678,
    is_last: true,
};

fn seal(payload: &[u8]) -> Vec<u8> {
    let mut buffer = BatchBuffer::default();
    buffer.push(payload);
    buffer.seal(&HEADER).0.to_vec()
}

proptest! {
    #[test]
    fn batch_comes_back(payload in vec(any::<u8>(), 0..10_000)) {
        let bytes = seal(&payload);
        let batch = Batch::decode(&bytes).unwrap();
        prop_assert_eq!((batch.header, batch.payload), (HEADER, &payload[..]));
        prop_assert_eq!(batch.byte_count, bytes.len());
        let whole = (BATCH_HEADER_BYTES + payload.len()).next_multiple_of(BLOCK_BYTES);
        prop_assert_eq!(bytes.len(), whole);
        drive::bytes(&bytes);
    }
}

#[test]
fn every_changed_bit_is_detected() {
    let mut bytes = seal(&drive::sample());
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Batch::decode(&bytes).is_err(), "bit {bit}");
        let is_in_header = bit < BATCH_HEADER_BYTES * 8;
        assert_eq!(decode_batch_header(&bytes).is_err(), is_in_header, "bit {bit}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(Batch::decode(&bytes).is_ok());
}

#[test]
fn every_cut_is_detected() {
    let bytes = seal(&[5; 5000]);
    for cut in 0..bytes.len() {
        let error = Batch::decode(&bytes[..cut]).unwrap_err();
        assert_eq!((error.offset, error.problem), (cut, Problem::Cut));
    }
}

#[test]
fn buffer_is_used_again() {
    let mut buffer = BatchBuffer::default();
    buffer.push(&[1; 9000]);
    buffer.seal(&HEADER);
    buffer.clear();
    assert_eq!(buffer.payload_bytes(), 0);
    buffer.push(&[2; 10]);
    assert_eq!(buffer.seal(&HEADER).0, seal(&[2; 10]));
}
