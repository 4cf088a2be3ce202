//! Walks over old versions, as a reader with an old snapshot does them.

use std::sync::Arc;

use sos::ledger::{self, Accounts, Category, State};
use storage::{Read, TableKind};

use crate::support::{Bank, all};

#[test]
fn a_long_walk_is_named_in_the_ledger_though_no_request_is_timed() {
    let accounts = Arc::new(Accounts::default());
    let body = || {
        let bank = Bank::with(TableKind::MemoryOptimized, [(1, 1, 100)]);
        let tx = bank.begin();
        assert_eq!(all(&tx, &bank, Read::SNAPSHOT), vec![(1, 1, 100)]);
        (0..20_000).for_each(|_| assert!(bank.add(1, 1)));
        ledger::to(State::Running);
        for _ in 0..50 {
            assert_eq!(all(&tx, &bank, Read::SNAPSHOT), vec![(1, 1, 100)]);
        }
        ledger::to(State::Idle);
        tx.commit().expect("it only read");
    };
    sos::thread::spawn(&accounts, "reader", body).expect("starts").join().expect("ends");
    let books = accounts.close();
    let is_walk =
        |row: &&ledger::LedgerRow| (row.category, row.name) == (Category::User, "versions");
    let walk = books.rows.iter().find(is_walk).expect("it was measured");
    // A million versions, at a nanosecond each at least.
    assert!(walk.on_cpu_ns > 1_000_000, "{books:#?}");
}
