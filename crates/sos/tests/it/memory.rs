//! The allocator's books.

use sos::memory::{self, Allocator, Extent, MemoryClerk, with_clerk};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn held(clerk: MemoryClerk) -> u64 {
    memory::clerks()[clerk.index()].bytes
}

#[test]
fn big_blocks_are_given_back_to_whom_they_were_taken_from() {
    let clerk = MemoryClerk::ColumnStore;
    let before = held(clerk);
    let block = with_clerk(clerk, || vec![0_u8; 1 << 20]);
    assert!((1 << 20..(1 << 20) + 64).contains(&(held(clerk) - before)));
    let mut block = with_clerk(MemoryClerk::General, move || block);
    block.extend_from_slice(&[1; 1 << 20]);
    assert!(held(clerk) - before >= 2 << 20, "growing stays with the clerk");
    assert_eq!((block[0], block[1 << 20], block.len()), (0, 1, 2 << 20));
    drop(block);
    assert_eq!(held(clerk), before);
}

#[test]
fn blocks_keep_their_contents_across_every_size() {
    for size in [1, 100, 1008, 1023, 1024, 1025, 4096, 8191, 8192, 100_000] {
        let mut bytes = vec![7_u8; size];
        bytes.reserve_exact(3000);
        bytes.shrink_to_fit();
        assert!(bytes.len() == size && bytes.iter().all(|&byte| byte == 7), "{size}");
    }
    #[repr(align(256))]
    #[derive(Clone, Copy)]
    struct Aligned([u8; 2048]);
    let aligned = vec![Aligned([9; 2048]); 3];
    assert_eq!(aligned.as_ptr() as usize % 256, 0);
    assert!(aligned.iter().all(|block| block.0 == [9; 2048]));
}

#[test]
fn extents_are_zeroed_pages_of_their_clerk() {
    let clerk = MemoryClerk::LogPool;
    let before = memory::clerks()[clerk.index()];
    let mut extent = Extent::new(clerk, 100_000).expect("is under the limit");
    assert!(extent.len() >= 100_000 && extent.iter().all(|&byte| byte == 0));
    assert_eq!(extent.as_ptr() as usize % 4096, 0);
    extent[99_999] = 1;
    let after = memory::clerks()[clerk.index()];
    assert!(after.page_bytes - before.page_bytes >= 100_000);
    drop(extent);
    assert_eq!(memory::clerks()[clerk.index()], before);
}

#[test]
fn limit_refuses_growth_until_memory_is_given_back() {
    assert_eq!(memory::check(), Ok(()));
    let headroom = 256 << 20;
    memory::set_limit_bytes(memory::used_bytes() + headroom);
    let huge = vec![1_u8; 300 << 20];
    assert!(memory::check().is_err());
    assert!(Extent::new(MemoryClerk::Xtp, 1 << 20).is_err());
    drop(huge);
    assert_eq!(memory::check(), Ok(()));
    memory::set_limit_bytes(u64::MAX);
}

#[test]
fn memory_that_all_threads_read_shares_no_line_with_others() {
    let make = || (Box::new(1_u8), Box::new([0_u8; 65]));
    let (small, longer) = with_clerk(MemoryClerk::SqlPlans, make);
    assert_eq!((&raw const *small).addr() % 64, 0);
    assert_eq!((&raw const *longer).addr() % 64, 0);
    let own: Vec<_> = (0..64).map(|_| Box::new(2_u8)).collect();
    let line = |at: *const u8| at.addr() / 64;
    assert!(own.iter().all(|byte| line(&raw const **byte) != line(&raw const *small)));
    let mut grown = with_clerk(MemoryClerk::SqlPlans, || vec![0_u8; 10]);
    with_clerk(MemoryClerk::SqlPlans, || grown.reserve_exact(200));
    assert_eq!(grown.as_ptr().addr() % 64, 0);
}
