//! Tests of event files: written and read back without their session, incomplete, damaged, rolled
//! over, refused.

use sos::ledger::Accounts;
use sos::sync::Arc;
use sos::xe::{
    self, CALLSTACK, EventFileReader, EventSpec, Hub, OwnedValue, Retention, TargetData, XeError,
};

use super::{
    BROKEN, FILED, ORDERED, ROLLED, TORN, action, data, fire, folder, on_thread, ring, spec, target,
};

fn read(path: &str) -> (Vec<sos::xe::EventRecord>, Option<u64>) {
    let mut reader = EventFileReader::open(path).expect("the file opens");
    let mut events = Vec::new();
    while let Some(block) = reader.next_block().expect("the file is good") {
        events.extend(block.events);
    }
    (events, reader.torn_at())
}

#[test]
fn file_is_read_back_without_the_session_that_wrote_it() {
    let accounts = Arc::<Accounts>::default();
    let folder = folder("round");
    let name = format!("{folder}/trace.xel");
    let event = EventSpec {
        actions: vec![action("event_sequence"), &CALLSTACK, action("callstack_rva")],
        ..EventSpec::all(&FILED)
    };
    let targets = vec![target("event_file", &[("filename", &name)]), target("ring_buffer", &[])];
    Hub::start(&accounts, spec(vec![event], targets)).expect("it starts");
    on_thread(&accounts, || (0..500).for_each(|n| fire(&FILED, n, "née", (n % 3) as u32)));
    let expected = ring(&accounts, 1);
    let TargetData::File(state) = data(&accounts, 0) else { panic!("a file") };
    assert_eq!((state.events, &state.error), (500, &None));
    accounts.events().stop_all();
    let files = xe::event_files(&format!("{folder}/trace*.xel")).expect("the folder is there");
    assert_eq!(files, [state.path]);
    let (events, torn_at) = read(&files[0]);
    assert_eq!((events.len(), torn_at), (500, None));
    for (read, kept) in events.iter().zip(&expected.events) {
        assert_eq!((&read.fields, read.timestamp_100ns), (&kept.fields, kept.timestamp_100ns));
        assert_eq!(read.actions[0], kept.actions[0]);
        // The stack names the function that fires; another action has it as addresses.
        let OwnedValue::Text(text) = &read.actions[1].value else { panic!("{read:?}") };
        assert!(text.lines().next().is_some_and(|line| line.contains("fire+0x")), "{text}");
        let OwnedValue::Text(text) = &read.actions[2].value else { panic!("{read:?}") };
        assert!(text.lines().all(|line| line.starts_with("0x")), "{text}");
    }
    std::fs::remove_dir_all(folder).expect("it can be removed");
}

#[test]
fn torn_file_is_read_to_where_it_is_good_and_a_damaged_one_is_refused() {
    let accounts = Arc::<Accounts>::default();
    let folder = folder("torn");
    let name = format!("{folder}/t");
    let targets = vec![target("event_file", &[("filename", &name)])];
    Hub::start(&accounts, spec(vec![EventSpec::all(&TORN)], targets)).expect("it starts");
    for round in 0..3 {
        on_thread(&accounts, move || (0..10).for_each(|n| fire(&TORN, round * 10 + n, "x", 0)));
        data(&accounts, 0);
    }
    accounts.events().stop_all();
    let path = xe::event_files(&format!("{folder}/*.xel")).expect("it lists").remove(0);
    let whole = std::fs::read(&path).expect("it can be read");
    let mut offsets = Vec::new();
    let mut reader = EventFileReader::open(&path).expect("it opens");
    while let Some(block) = reader.next_block().expect("it is good") {
        offsets.push((block.offset, block.events.len()));
    }
    assert_eq!(offsets.len(), 3, "a block for each time it was written");
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).expect("it can be written");
        let (events, torn_at) = read(&path);
        assert_eq!(events.len() % 10, 0, "whole blocks only");
        assert!(torn_at.is_some_and(|at| at <= length as u64) || events.len() < 30);
    }
    let mut damaged = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&path, &bytes).expect("it can be written");
        let outcome = EventFileReader::open(&path).and_then(|mut reader| {
            while reader.next_block()?.is_some() {}
            Ok(reader.torn_at().is_some())
        });
        damaged += usize::from(!matches!(outcome, Ok(false)));
    }
    assert!(damaged + 16 >= whole.len(), "{damaged} of {} damages were noticed", whole.len());
    std::fs::remove_dir_all(folder).expect("it can be removed");
}

#[test]
fn files_roll_over_and_old_ones_go() {
    let accounts = Arc::<Accounts>::default();
    let folder = folder("rolled");
    let name = format!("{folder}/roll.xel");
    let parameters = [("filename", &*name), ("max_file_size", "1"), ("max_rollover_files", "2")];
    let targets = vec![target("event_file", &parameters)];
    let mut spec = spec(vec![EventSpec::all(&ROLLED)], targets);
    spec.options.retention = Retention::NoEventLoss;
    Hub::start(&accounts, spec).expect("it starts");
    let text = "z".repeat(1000);
    on_thread(&accounts, move || (0..4_500).for_each(|n| fire(&ROLLED, n, &text, 0)));
    accounts.events().stop_all();
    let files = xe::event_files(&format!("{folder}/roll_0_*.xel")).expect("it lists");
    assert_eq!(files.len(), 2, "{files:?}");
    let mut numbers = Vec::new();
    for path in &files {
        assert!(std::fs::metadata(path).expect("it is there").len() <= 1 << 20);
        numbers.extend(read(path).0.into_iter().map(|event| event.fields[0].value.clone()));
    }
    assert_eq!(numbers.last(), Some(&OwnedValue::UInt(4_499)), "the newest are there");
    let first = 4_500 - numbers.len() as u64;
    assert_eq!(numbers, (first..4_500).map(OwnedValue::UInt).collect::<Vec<_>>());
    std::fs::remove_dir_all(folder).expect("it can be removed");
}

#[test]
fn events_keep_their_order_while_buffers_are_exchanged() {
    let accounts = Arc::<Accounts>::default();
    let folder = folder("ordered");
    let name = format!("{folder}/o.xel");
    let targets = vec![target("event_file", &[("filename", &*name)])];
    let mut spec = spec(vec![EventSpec::all(&ORDERED)], targets);
    spec.options.retention = Retention::NoEventLoss;
    // Small buffers, which are full before the next one is exchanged.
    spec.options.max_memory = 64 << 10;
    Hub::start(&accounts, spec).expect("it starts");
    on_thread(&accounts, || (0..100_000).for_each(|n| fire(&ORDERED, n, "an event", 0)));
    accounts.events().stop_all();
    let files = xe::event_files(&format!("{folder}/o_0_*.xel")).expect("it lists");
    let (events, _) = read(&files[0]);
    let numbers = events.iter().map(|event| event.fields[0].value.clone());
    let wrong = numbers.zip(0..).find(|(number, n)| *number != OwnedValue::UInt(*n));
    assert_eq!((wrong, events.len()), (None, 100_000));
    std::fs::remove_dir_all(folder).expect("it can be removed");
}

#[test]
fn file_that_cannot_be_written_stops_that_target_alone() {
    let accounts = Arc::<Accounts>::default();
    let missing = [("filename", "/nonexistent/folder/x.xel")];
    let event = || vec![EventSpec::all(&BROKEN)];
    let refused = Hub::start(&accounts, spec(event(), vec![target("event_file", &missing)]));
    assert!(matches!(refused, Err(XeError::File { .. })), "{refused:?}");
    let folder = folder("broken");
    let name = format!("{folder}/b.xel");
    let parameters = [("filename", &*name), ("max_file_size", "1")];
    let targets = vec![target("event_file", &parameters), target("ring_buffer", &[])];
    let mut spec = spec(event(), targets);
    spec.options.retention = Retention::NoEventLoss;
    Hub::start(&accounts, spec).expect("it starts");
    // The next file cannot be created any more.
    std::fs::remove_dir_all(&folder).expect("it can be removed");
    let text = "z".repeat(1000);
    on_thread(&accounts, move || (0..1_500).for_each(|n| fire(&BROKEN, n, &text, 0)));
    let TargetData::File(state) = data(&accounts, 0) else { panic!("a file") };
    assert!(
        state.error.as_deref().is_some_and(|error| error.contains("No such file")),
        "{state:?}"
    );
    assert!(state.lost > 0 && state.events + state.lost == 1_500, "{state:?}");
    assert_eq!(ring(&accounts, 1).processed, 1_500, "the other target has them all");
    accounts.events().stop_all();
}
