//! Tests of the allocator: the counters of clerks, the memory limit, and the contents of blocks.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};

use sos::ledger::Accounts;
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

/// A size class that no other test uses.
const LAST_BYTES: usize = 1_790 << 10;

/// Takes an extent on a thread that frees it as it ends; returns the address.
fn freed_at_the_end_of_a_thread() -> usize {
    thread_local! {
        static LAST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let (send, receive) = mpsc::channel();
    let accounts = Arc::new(Accounts::default());
    let thread = sos::thread::spawn(&accounts, "short", move || {
        let block = vec![1; LAST_BYTES];
        send.send(block.as_ptr().addr()).expect("the test waits");
        // Freed when the thread's locals are, long after its body.
        LAST.set(block);
    });
    thread.expect("the system has one").join().expect("it does not panic");
    receive.recv().expect("it was sent")
}

/// A thread keeps free extents for itself; those that it frees as it ends must not be lost.
#[test]
fn what_a_thread_frees_in_its_last_moments_is_there_for_others() {
    // While the test of the limit makes memory short, an extent goes to the units, which give out
    // a lower one first: then another attempt finds it. A lost one is found by none.
    let is_found = || {
        let left = freed_at_the_end_of_a_thread();
        let taken: Vec<_> = (0..4).map(|_| vec![2_u8; LAST_BYTES]).collect();
        taken.iter().any(|block| block.as_ptr().addr() == left)
    };
    assert!((0..20).any(|_| is_found()), "an extent is lost with each thread");
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

/// A page of mimalloc's heap is a slice of 64 KB with blocks of one size.
#[test]
fn rows_are_never_in_one_page_with_anything_else() {
    #[repr(align(32))]
    #[derive(Clone, Copy)]
    struct Aligned([u8; 64]);
    type Blocks = (Box<[u8; 64]>, Vec<u8>, Box<Aligned>, Vec<u8>);
    // In every way to take a block: plain, zeroed, aligned, and grown to its size.
    let take = |clerk| -> Blocks {
        with_clerk(clerk, || {
            let mut grown = Vec::with_capacity(24);
            grown.resize(24, 1_u8);
            // The block grows while another clerk is current.
            with_clerk(MemoryClerk::General, || grown.reserve_exact(40));
            (Box::new([1_u8; 64]), vec![0_u8; 64], Box::new(Aligned([1; 64])), grown)
        })
    };
    let pages = |blocks: &[Blocks]| {
        let addresses = blocks.iter().flat_map(|(plain, zeros, aligned, grown)| {
            [plain.as_ptr(), zeros.as_ptr(), aligned.0.as_ptr(), grown.as_ptr()]
        });
        addresses.map(|address| address.addr() >> 16).collect::<BTreeSet<_>>()
    };
    let (mut rows, mut others) = (Vec::new(), Vec::new());
    for round in 0..40 {
        rows.extend((0..500).map(|_| take(MemoryClerk::Xtp)));
        others.extend((0..5).map(|_| take(MemoryClerk::General)));
        others.extend((0..5).map(|_| take(MemoryClerk::Metadata)));
        let (of_rows, of_others) = (pages(&rows), pages(&others));
        assert!(of_rows.is_disjoint(&of_others), "{round}: {of_rows:x?} {of_others:x?}");
        // Makes holes, which the next blocks fill.
        let mut at = 0_usize;
        rows.retain(|_| {
            at += 1;
            at % 3 == round % 3
        });
    }
    for (.., grown) in rows.iter().chain(&others) {
        assert!(grown.capacity() >= 64 && grown.iter().all(|&byte| byte == 1));
    }
}

/// One test, because the limit is that of the process.
#[test]
fn extents_are_pages_of_their_clerk_and_the_limit_refuses_growth_until_memory_is_given_back() {
    extents_are_pages_of_their_clerk();
    limit_refuses_growth_until_memory_is_given_back();
}

fn extents_are_pages_of_their_clerk() {
    let clerk = MemoryClerk::LogPool;
    let before = memory::clerks()[clerk.index()];
    for (asked, taken) in
        [(1, 8 << 10), (8 << 10, 8 << 10), (100_000, 112 << 10), (2 << 20, 2 << 20)]
    {
        let mut extent = Extent::new(clerk, asked).expect("is under the limit");
        assert_eq!((extent.len(), extent.as_ptr() as usize % 8192), (taken, 0));
        extent.fill(7);
        let after = memory::clerks()[clerk.index()];
        assert_eq!(after.page_bytes - before.page_bytes, taken as u64);
        drop(extent);
        assert_eq!(memory::clerks()[clerk.index()], before);
    }
    // Larger than a unit: 8 KB more than two of them.
    let extent = Extent::new(clerk, (4 << 20) + 1).expect("is under the limit");
    assert_eq!(extent.len(), (4 << 20) + (8 << 10));
}

#[test]
fn blocks_of_zeros_are_zeros_though_their_memory_was_used_before() {
    for size in [64 << 10, 200_000, 2 << 20, 5 << 20] {
        for _ in 0..3 {
            let mut used = vec![0_u8; size];
            assert!(used.iter().all(|&byte| byte == 0), "{size}");
            used.fill(9);
        }
    }
}

#[test]
fn small_blocks_have_memory_from_the_named_call() {
    let blocks: Vec<_> = (0..60_000_u32).map(|i| Box::new([i; 250])).collect();
    let (_, populated) = memory::populated_bytes();
    assert!(populated >= 60_000 * 1000, "{populated}");
    assert!(blocks.iter().zip(0..).all(|(block, i)| block[249] == i));
}

#[test]
fn blocks_grow_and_shrink_between_all_kinds_of_memory() {
    let mut bytes: Vec<u8> = Vec::new();
    for target in [10, 2_000, 70_000, 300_000, 3 << 20, 9 << 20, 300_000, 66_000, 2_000, 10] {
        let kept = bytes.len().min(target);
        bytes.truncate(target);
        bytes.shrink_to_fit();
        bytes.reserve_exact(target - kept);
        for at in kept..target {
            bytes.push(u8::try_from(at % 251).unwrap());
        }
        assert!(bytes.iter().enumerate().all(|(at, &byte)| usize::from(byte) == at % 251));
    }
}

#[test]
fn threads_hand_extents_over_and_nobody_writes_into_anothers() {
    let accounts = Arc::new(Accounts::default());
    let (sender, receiver) = std::sync::mpsc::channel::<(u8, Vec<u8>)>();
    let makers: Vec<_> = (0..3_u8)
        .map(|mark| {
            let sender = sender.clone();
            let make = move || {
                for round in 0..400_usize {
                    let block = vec![mark; (64 << 10) + round % 40 * (16 << 10)];
                    let own = vec![!mark; 64 << 10];
                    sender.send((mark, block)).unwrap();
                    assert!(own.iter().all(|&byte| byte == !mark));
                }
            };
            sos::thread::spawn(&accounts, "maker", make).unwrap()
        })
        .collect();
    drop(sender);
    let mut held = Vec::new();
    for (mark, block) in receiver {
        held.push((mark, block));
        if held.len() > 50 {
            let (mark, block) = held.swap_remove(held.len() / 2);
            assert!(block.iter().all(|&byte| byte == mark));
        }
    }
    assert!(held.iter().all(|(mark, block)| block.iter().all(|byte| byte == mark)));
    for maker in makers {
        maker.join().unwrap();
    }
}

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

#[test]
fn small_blocks_go_back_to_their_clerk_whoever_frees_them() {
    // No other test uses these clerks.
    let (maker, other) = (MemoryClerk::Metadata, MemoryClerk::ConnectionPool);
    let before = [held(maker), held(other)];
    let make = || (0..20_000_u64).map(|n| Box::new([n; 8])).collect::<Vec<_>>();
    let made = with_clerk(maker, make);
    let bytes = held(maker) - before[0];
    assert!(bytes >= 20_000 * 64, "{bytes}");
    let accounts = Arc::new(Accounts::default());
    let free = move || with_clerk(other, || drop(made));
    sos::thread::spawn(&accounts, "freer", free).unwrap().join().unwrap();
    assert_eq!([held(maker), held(other)], before);
}

#[test]
fn block_that_grows_stays_with_its_clerk() {
    // No other test uses these clerks.
    let (maker, other) = (MemoryClerk::QueryReservations, MemoryClerk::Optimizer);
    let before = [held(maker), held(other)];
    let mut made: Vec<Vec<u8>> = with_clerk(maker, || (0..5_000).map(|_| vec![1; 10]).collect());
    with_clerk(other, || made.iter_mut().for_each(|bytes| bytes.reserve_exact(500)));
    with_clerk(other, || made.iter_mut().for_each(|bytes| bytes.reserve_exact(2_000)));
    assert_eq!(held(other), before[1]);
    assert!(held(maker) - before[0] >= 5_000 * 2_010);
    with_clerk(other, || made.iter_mut().for_each(Vec::shrink_to_fit));
    assert!(held(maker) - before[0] < 5_000 * 100, "what shrinks is given back to it");
    drop(made);
    assert_eq!([held(maker), held(other)], before);
}

#[test]
fn tiniest_blocks_have_clerks_of_their_own() {
    // No other test uses these clerks.
    let clerks = [MemoryClerk::ObjectPlans, MemoryClerk::StorageEngine, MemoryClerk::LockManager];
    let before = clerks.map(held);
    let mut blocks = Vec::with_capacity(3 * 30_000);
    for n in 0..30_000_u32 {
        blocks.extend(clerks.map(|clerk| with_clerk(clerk, || Box::new(n))));
    }
    for (clerk, before) in clerks.iter().zip(before) {
        let bytes = held(*clerk) - before;
        assert_eq!(bytes, 4 * 30_000, "{clerk:?}");
    }
    drop(blocks);
    assert_eq!(clerks.map(held), before);
}

#[test]
fn page_is_counted_when_it_is_taken_and_not_when_it_is_given_back() {
    // Other tests take pages at the same time: what is counted here is never less.
    let before = memory::page_allocations();
    for _ in 0..1_000 {
        drop(std::hint::black_box(vec![0_u8; 8 << 10]));
    }
    let after = memory::page_allocations();
    assert!(after - before >= 1_000, "{before} to {after}");
    let small = memory::page_allocations();
    assert!(small - after < 1_000, "{after} to {small}: a reading takes none");
}
