//! Measures what an event costs its thread, for each target. Without a session: `bench events`.

use sos::ledger::Accounts;
use sos::sync::Arc;
use sos::xe::{CALLSTACK, EventSpec, Hub, Operation, OwnedValue, Predicate, Retention, TargetData};

use super::{MEASURED, compare, data, fire, folder, on_thread, session, spec, target};

/// The CPU nanoseconds of the calling thread per call, over `count` calls.
fn cpu_ns_each(count: u64, run: impl Fn(u64)) -> f64 {
    let before = sos::sys::thread_cpu_ns();
    (0..count).for_each(run);
    (sos::sys::thread_cpu_ns() - before) as f64 / count as f64
}

#[test]
#[ignore = "a measurement: run it alone, in release"]
fn measure_what_an_event_costs() {
    let accounts = Arc::<Accounts>::default();
    let inner = Arc::clone(&accounts);
    on_thread(&accounts, move || {
        let accounts = inner;
        let folder = folder("measured");
        let file = format!("{folder}/m.xel");
        let by_name =
            [("source", "name"), ("source_type", "0"), ("filtering_event_name", "MEASURED")];
        let by_stack = [("source", "package0.callstack")];
        let file = [("filename", &*file)];
        let none = Predicate::Not(Box::new(compare(
            &MEASURED,
            "number",
            Operation::GreaterEqual,
            OwnedValue::Int(0),
        )));
        let cases = [
            ("rejected", target("ring_buffer", &[]), vec![], Some(none)),
            ("event_counter", target("event_counter", &[]), vec![], None),
            ("histogram by a field", target("histogram", &by_name), vec![], None),
            ("histogram by callstack", target("histogram", &by_stack), vec![&CALLSTACK], None),
            ("ring_buffer", target("ring_buffer", &[]), vec![], None),
            ("event_file", target("event_file", &file), vec![], None),
        ];
        for (name, target, actions, predicate) in cases {
            let event = EventSpec { actions, predicate, ..EventSpec::all(&MEASURED) };
            Hub::start(&accounts, spec(vec![event], vec![target])).expect("it starts");
            let started = sos::clock::monotonic_ns();
            const COUNT: u64 = 2_000_000;
            let ns = cpu_ns_each(COUNT, |n| fire(&MEASURED, n, "name", 1));
            let wall = sos::clock::monotonic_ns() - started;
            let totals = session(&accounts).totals;
            eprintln!(
                "{name}: {ns:.0} ns of the emitter's CPU, {:.2} million/s, {:.1} % dropped",
                COUNT as f64 * 1e3 / wall as f64,
                totals.dropped as f64 * 100.0 / COUNT as f64
            );
            accounts.events().stop("s").expect("it runs");
        }
        let mut lossless = spec(vec![EventSpec::all(&MEASURED)], vec![target("event_file", &file)]);
        lossless.options.retention = Retention::NoEventLoss;
        Hub::start(&accounts, lossless).expect("it starts");
        let started = sos::clock::monotonic_ns();
        const COUNT: u64 = 3_000_000;
        (0..COUNT).for_each(|n| fire(&MEASURED, n, "name", 1));
        let blocked = session(&accounts).blocked_ns;
        let TargetData::File(state) = data(&accounts, 0) else { panic!("a file") };
        assert_eq!((state.events, state.lost, state.error), (COUNT, 0, None));
        accounts.events().stop("s").expect("it runs");
        let wall = sos::clock::monotonic_ns() - started;
        eprintln!(
            "event_file, nothing lost: {:.2} million/s, blocked {} ms of {} ms",
            COUNT as f64 * 1e3 / wall as f64,
            blocked / 1_000_000,
            wall / 1_000_000
        );
        std::fs::remove_dir_all(folder).expect("it can be removed");
    });
}
