//! Measures what the ledger's calls cost, in ns: the least of many rounds; and one clock read for
//! comparison. `cargo run --release -p sos --example ledger_cost`
#![expect(clippy::print_stdout, reason = "it is a measuring tool")]

use std::hint::black_box;

use sos::clock;
use sos::ledger::{self, Accounts, Label, SourceChoice, State};
use sos::sync::Arc;
use sos::sys::SysCause;
use sos::thread;

const ROUNDS: u32 = 400;
const CALLS: u32 = 2_000;

/// The least time of one call, in ns.
fn ns<R>(mut call: impl FnMut() -> R) -> f64 {
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        let began = clock::now_ticks();
        for _ in 0..CALLS {
            black_box(call());
        }
        least = least.min(clock::now_ticks() - began);
    }
    clock::ticks_to_ns(least * 1000) as f64 / 1000.0 / f64::from(CALLS)
}

fn print(what: &str, ns: f64) {
    println!("{what:<44} {ns:>7.1} ns");
}

fn measure() {
    print("one reading of the clock", ns(clock::now_ticks));
    ledger::to(State::Running);
    print("to, there and back (two edges)", {
        ns(|| {
            ledger::to(State::Kernel(SysCause::Books));
            ledger::to(State::Running);
        })
    });
    print("label", ns(|| ledger::label(Label::Row)));
    print("labelled, until the guard is dropped", ns(|| drop(ledger::labelled(Label::Bind))));
    print("spent", ns(ledger::spent));
    print("now_at_edge", ns(ledger::now_at_edge));
    print("request without edges", ns(|| ledger::request(None, || 0)));
    let books = ledger::SessionBooks::default();
    print("request with a session's books", ns(|| ledger::request(Some(&books), || ())));
    print("request, its three edges, four labels", {
        ns(|| {
            ledger::to(State::Running);
            ledger::request(Some(&books), || {
                for label in [Label::Parse, Label::Bind, Label::Row, Label::Encode] {
                    ledger::label(label);
                }
                ledger::to(State::Kernel(SysCause::Send));
                ledger::to(State::Scheduling);
            });
        })
    });
}

fn main() {
    for choice in [SourceChoice::Auto, SourceChoice::Switches, SourceChoice::Wall] {
        let accounts = Arc::new(Accounts::new(choice));
        println!("source: {}", accounts.source());
        let handle = thread::spawn(&accounts, "measure", measure).expect("starts a thread");
        handle.join().expect("ends");
    }
    println!("an account takes {} bytes", size_of::<ledger::Account>());
}
