//! Damaged files: an error with its place or rows, never a panic, and never more memory than the
//! file can be worth.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use parquet_io::{Fault, ParquetFile};

use crate::files::{data, read};

/// Counts what this thread holds, and the most that it has held.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that is ending has nothing left to count in.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

#[expect(clippy::cast_possible_wrap, reason = "no block is so large")]
const fn size(layout: Layout) -> isize {
    layout.size() as isize
}

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-size(layout));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const FILES: [&str; 10] = [
    "types_none",
    "types_snappy",
    "types_gzip",
    "types_zstd",
    "types_lz4",
    "keys_delta",
    "keys_plain",
    "duckdb_v1",
    "duckdb_v2",
    "int96",
];

/// Files that are read with something changed: 200 of each.
const MUTATIONS: u64 = 200;

/// What reading one of these files may hold: the largest is 65 KB, and snappy's pages may claim 32
/// times as much.
const MEMORY_MAX: isize = 64 << 20;

/// Numbers without pattern: xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap() % most
    }
}

fn footer_bytes(file: &[u8]) -> usize {
    let size = &file[file.len() - 8..file.len() - 4];
    usize::try_from(u32::from_le_bytes(size.try_into().unwrap())).unwrap()
}

/// Changes a file: bytes anywhere, bytes of the footer, a piece gone, a piece twice, or the end
/// gone.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let len = bytes.len();
    let footer = footer_bytes(bytes);
    match random.below(6) {
        0 => bytes.truncate(random.below(len)),
        1 => {
            let start = random.below(len);
            bytes.drain(start..(start + 1 + random.below(64)).min(len));
        }
        2 => {
            let start = random.below(len);
            let piece = bytes[start..(start + 1 + random.below(64)).min(len)].to_vec();
            bytes.splice(start..start, piece);
        }
        3 => {
            let start = len - 8 - footer;
            for _ in 0..=random.below(3) {
                let at = start + random.below(len - start);
                bytes[at] = u8::try_from(random.below(256)).unwrap();
            }
        }
        _ => {
            for _ in 0..=random.below(8) {
                let at = random.below(len);
                bytes[at] ^= 1 << random.below(8);
            }
        }
    }
}

#[test]
fn two_thousand_damaged_files_are_errors_or_rows_within_memory() {
    let (mut failed, mut read_whole) = (0, 0);
    for (number, name) in (1_u64..).zip(FILES) {
        let whole = std::fs::read(data(&format!("{name}.parquet"))).unwrap();
        for seed in 0..MUTATIONS {
            let mut random = Random(number * 1_000_003 + seed * 7_919 + 1);
            let mut bytes = whole.clone();
            mutate(&mut bytes, &mut random);
            MOST.set(HELD.get());
            let before = HELD.get();
            match ParquetFile::new(bytes).and_then(bounded) {
                Ok(_) => read_whole += 1,
                Err(error) => {
                    failed += 1;
                    assert!(!matches!(error.fault, Fault::Io(_)), "{name}, {seed}: {error}");
                    assert!(!error.to_string().is_empty());
                }
            }
            let most = MOST.get() - before;
            assert!(most < MEMORY_MAX, "{name}, {seed}: {most} bytes");
        }
    }
    assert!(failed > 800 && read_whole > 50, "{failed} failed, {read_whole} did not");
}

/// Reads the rows, if they are as many as a file of this size can have without being made for it.
fn bounded(file: ParquetFile<Vec<u8>>) -> parquet_io::Result<usize> {
    if file.row_count() > 1_000_000 {
        return Ok(0);
    }
    read(file).map(|rows| rows.len())
}

#[test]
fn every_cut_of_a_file_is_an_error() {
    let whole = std::fs::read(data("int96.parquet")).unwrap();
    for len in 0..whole.len() {
        let error = ParquetFile::new(whole[..len].to_vec()).and_then(bounded).err();
        assert!(error.is_some(), "cut to {len} bytes");
    }
}

#[test]
fn an_error_says_where_it_is() {
    let whole = std::fs::read(data("types_v2.parquet")).unwrap();
    let mut placed = 0;
    for at in (4..whole.len() - 8 - footer_bytes(&whole)).step_by(997) {
        let mut bytes = whole.clone();
        bytes[at..at + 16].fill(0xFF);
        if let Err(error) = ParquetFile::new(bytes).and_then(bounded) {
            let place = error.place.clone();
            assert!(place.column.is_some() && place.row_group.is_some(), "{at}: {error}");
            assert!(place.page.is_some(), "{at}: {error}");
            placed += 1;
        }
    }
    assert!(placed > 50, "{placed} errors");
}

#[test]
fn a_head_that_claims_a_huge_dictionary_takes_no_memory() {
    // The size of the first page's values is the third number of its head; a page head is found by
    // its kind, which is the first: 0x15 0x04 for a dictionary.
    let mut bytes = std::fs::read(data("types_none.parquet")).unwrap();
    assert_eq!(bytes[4..5], [0x15]);
    // 0x15: a number of 32 bits follows. Nine bytes of 0xFF and a 0x0F are as large as such a
    // number gets.
    let claim =
        [0x15, 0x04, 0x15, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F, 0x15, 0xFE, 0xFF, 0xFF, 0xFF, 0x0F];
    bytes[4..4 + claim.len()].copy_from_slice(&claim);
    MOST.set(HELD.get());
    let before = HELD.get();
    let error = ParquetFile::new(bytes).and_then(bounded).err().unwrap();
    assert!(matches!(error.fault, Fault::Damaged(_)), "{error}");
    assert!(MOST.get() - before < 4 << 20, "{} bytes", MOST.get() - before);
}
