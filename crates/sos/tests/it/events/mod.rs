//! Tests of extended events sessions: events reach predicates, partitions and targets, memory stays
//! within its limits, and no thread is inside a session that has stopped.

mod files;
mod measure;

use std::time::Duration;

use sos::ledger::{self, Accounts};
use sos::memory::{Extent, MemoryClerk};
use sos::park;
use sos::stack::StackId;
use sos::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use sos::thread;
use sos::wait::WaitType;
use sos::xe::{
    self, ACTIONS, Action, ActionSource, Activity, CALLSTACK, Comparator, Comparison, Event,
    EventSpec, Field, FieldType, Hub, Map, Operation, OwnedValue, PACKAGE0, PREDICATE_SOURCES,
    Package, Predicate, PredicateInput, PredicateSource, Reader, Retention, SessionOptions,
    SessionReport, SessionSpec, Setting, Target, TargetData, TargetSpec, Value, XeError,
};

static PACKAGE: Package =
    Package { name: "test", guid: "00000000-0000-0000-0000-000000000001", description: "Tests" };

static COLOURS: Map =
    Map::listed(&PACKAGE, "colours", "Colours", &[(0, "red"), (1, "green"), (2, "blue")]);

static FIELDS: &[Field] = &[
    Field::new("number", FieldType::UInt64, "A number"),
    Field::new("name", FieldType::UnicodeString, "A name"),
    Field::new("colour", FieldType::Map(&COLOURS), "A colour"),
    Field::new("statement", FieldType::UnicodeString, "Collected on demand"),
];

static SETTINGS: &[Setting] =
    &[Setting::new("collect_statement", "statement", false, "Collects the statement")];

macro_rules! events {
    ($($name:ident)+) => {
        $( static $name: Event =
            Event::new(&PACKAGE, stringify!($name), "A test", FIELDS).with_settings(SETTINGS); )+
    };
}

// Each test has its own events: tests run in parallel, and `enabled` covers all instances.
events! {
    HISTOGRAMS COUNTED RINGED FILED BROKEN ROLLED LARGE BOUNDED CHURNED PAIRED_BEGIN PAIRED_END
    ALTERED CAUSED SUPPLIED LOSSLESS NEWEST TIMED KEPT QUIET WEIGHED TORN REJECTED SAMPLED
    MEASURED ADDRESSED ORDERED
}

static SESSION_ID: Action =
    Action::new(&PACKAGE, "session_id", FieldType::UInt64, Reader::Caller(7), "The session");
static SESSION_SOURCE: PredicateSource = PredicateSource::new(
    &PACKAGE,
    "session_id",
    FieldType::UInt64,
    Reader::Caller(7),
    "The session",
);

fn target(name: &str, parameters: &[(&str, &str)]) -> TargetSpec {
    let parameters = parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    TargetSpec { target: Target::named(name).expect("the target exists"), parameters }
}

fn spec(events: Vec<EventSpec>, targets: Vec<TargetSpec>) -> SessionSpec {
    SessionSpec { name: "s".to_owned(), events, targets, options: SessionOptions::default() }
}

fn action(name: &str) -> &'static Action {
    ACTIONS.iter().find(|action| action.name == name).expect("the action exists")
}

fn compare(event: &Event, field: &str, operation: Operation, value: OwnedValue) -> Predicate {
    let at = event.field(field).expect("the field exists");
    let comparator = Comparator::of(operation, event.fields[at].field_type).expect("it compares");
    Predicate::Compare(Comparison { input: PredicateInput::Field(at), comparator, value })
}

fn folder(name: &str) -> String {
    let path = format!("{}/events-{name}-{}", env!("CARGO_TARGET_TMPDIR"), sos::sys::thread_id());
    std::fs::create_dir_all(&path).expect("the folder can be made");
    path
}

#[inline(never)]
fn fire(event: &'static Event, number: u64, name: &str, colour: u32) {
    if xe::enabled(event) {
        let fields =
            [Value::UInt(number), Value::Text(name), Value::Map(colour), Value::Text("SELECT 1")];
        xe::fire(event, &fields);
    }
}

/// Runs a closure on a new thread of these accounts.
fn on_thread(accounts: &Arc<Accounts>, run: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(accounts, "test", run).expect("a thread starts");
    thread.join().expect("the thread ends well");
}

fn session(accounts: &Arc<Accounts>) -> SessionReport {
    accounts.events().sessions().into_iter().next().expect("the session runs")
}

fn data(accounts: &Arc<Accounts>, target: usize) -> TargetData {
    accounts.events().target_data("s", target).expect("the target is there")
}

fn ring(accounts: &Arc<Accounts>, target: usize) -> sos::xe::RingData {
    match data(accounts, target) {
        TargetData::Ring(ring) => ring,
        other => panic!("a ring buffer is {other:?}"),
    }
}

fn histogram(accounts: &Arc<Accounts>, target: usize) -> sos::xe::HistogramData {
    match data(accounts, target) {
        TargetData::Histogram(histogram) => histogram,
        other => panic!("a histogram is {other:?}"),
    }
}

fn numbers(ring: &sos::xe::RingData) -> Vec<OwnedValue> {
    ring.events.iter().map(|event| event.fields[0].value.clone()).collect()
}

fn balance(report: &SessionReport) {
    let all = report.totals;
    assert_eq!(all.seen, all.rejected + all.dropped + all.published, "{report:?}");
}

#[test]
fn histogram_counts_by_value_and_says_what_it_left_out() {
    let accounts = Arc::<Accounts>::default();
    let parameters = [
        ("slots", "3"),
        ("source", "name"),
        ("source_type", "0"),
        ("filtering_event_name", "test.HISTOGRAMS"),
    ];
    let by_colour =
        [("source", "colour"), ("source_type", "0"), ("filtering_event_name", "HISTOGRAMS")];
    let targets =
        vec![target("histogram", &parameters), target("asynchronous_bucketizer", &by_colour)];
    Hub::start(&accounts, spec(vec![EventSpec::all(&HISTOGRAMS)], targets)).expect("it starts");
    on_thread(&accounts, || {
        for number in 0..20 {
            ["a", "b", "c", "d", "e"].iter().for_each(|name| fire(&HISTOGRAMS, number, name, 2));
        }
    });
    let names = histogram(&accounts, 0);
    assert_eq!((names.buckets, names.slots.len(), names.truncated), (4, 4, 20));
    assert!(names.slots.iter().all(|slot| slot.events == 20));
    let colours = histogram(&accounts, 1);
    assert_eq!(colours.slots[0].value, OwnedValue::Map(2));
    assert_eq!(colours.map.and_then(|map| map.text_of(2)), Some("blue"));
    let report = session(&accounts);
    assert_eq!((report.totals.seen, report.totals.published), (100, 100));
    accounts.events().stop_all();
}

#[test]
fn histogram_is_weighted_by_a_numeric_field() {
    let accounts = Arc::<Accounts>::default();
    let parameters = [
        ("source", "name"),
        ("source_type", "0"),
        ("filtering_event_name", "WEIGHED"),
        ("weight", "number"),
    ];
    let wrong = [
        ("source", "name"),
        ("source_type", "0"),
        ("filtering_event_name", "WEIGHED"),
        ("weight", "name"),
    ];
    let event = || vec![EventSpec::all(&WEIGHED)];
    let refused = Hub::start(&accounts, spec(event(), vec![target("histogram", &wrong)]));
    assert!(matches!(refused, Err(XeError::ParameterValue { parameter: "weight", .. })));
    let targets = vec![target("histogram", &parameters)];
    Hub::start(&accounts, spec(event(), targets)).expect("it starts");
    on_thread(&accounts, || {
        (0..10).for_each(|_| fire(&WEIGHED, 1, "many", 0));
        fire(&WEIGHED, 1000, "heavy", 0);
    });
    let slots: Vec<_> =
        histogram(&accounts, 0).slots.into_iter().map(|s| (s.value, s.events, s.weight)).collect();
    let text = |text: &str| OwnedValue::Text(text.to_owned());
    assert_eq!(slots, [(text("heavy"), 1, 1000), (text("many"), 10, 10)]);
    accounts.events().stop_all();
}

#[test]
fn counter_counts_what_the_predicate_lets_through() {
    let accounts = Arc::<Accounts>::default();
    let predicate = Some(Predicate::Or(
        Box::new(compare(&COUNTED, "colour", Operation::Equal, OwnedValue::Text("GREEN".into()))),
        Box::new(compare(&COUNTED, "number", Operation::Greater, OwnedValue::Int(97))),
    ));
    let event = EventSpec { predicate, ..EventSpec::all(&COUNTED) };
    Hub::start(&accounts, spec(vec![event], vec![target("event_counter", &[])])).expect("starts");
    on_thread(&accounts, || (0..100).for_each(|n| fire(&COUNTED, n, "x", u32::from(n % 10 == 0))));
    let TargetData::Counter(counter) = data(&accounts, 0) else { panic!("a counter") };
    assert_eq!(counter.events, [(&COUNTED, 12)]);
    let report = session(&accounts);
    assert_eq!((report.totals.seen, report.totals.rejected), (100, 88));
    balance(&report);
    accounts.events().stop_all();
}

#[test]
fn session_that_rejects_everything_says_so() {
    let accounts = Arc::<Accounts>::default();
    let never = compare(&REJECTED, "number", Operation::Less, OwnedValue::Int(0));
    let event = EventSpec { predicate: Some(never), ..EventSpec::all(&REJECTED) };
    Hub::start(&accounts, spec(vec![event], vec![target("ring_buffer", &[])])).expect("it starts");
    on_thread(&accounts, || (0..50).for_each(|n| fire(&REJECTED, n, "x", 0)));
    let report = session(&accounts);
    assert_eq!((report.totals.seen, report.totals.rejected, report.totals.published), (50, 50, 0));
    accounts.events().stop_all();
}

#[test]
fn ring_keeps_the_newest_with_names_types_and_order() {
    let accounts = Arc::<Accounts>::default();
    let event = EventSpec {
        actions: vec![action("event_sequence"), action("system_thread_id"), &CALLSTACK],
        ..EventSpec::all(&RINGED)
    };
    let targets = vec![target("ring_buffer", &[("max_events_limit", "10")])];
    Hub::start(&accounts, spec(vec![event], targets)).expect("it starts");
    on_thread(&accounts, || (0..25).for_each(|n| fire(&RINGED, n, "Größe", 1)));
    let ring = ring(&accounts, 0);
    assert_eq!((ring.processed, ring.events.len()), (25, 10));
    assert_eq!(numbers(&ring), (15..25).map(OwnedValue::UInt).collect::<Vec<_>>());
    let last = &ring.events[9];
    assert_eq!((&*last.package, &*last.name), ("test", "RINGED"));
    assert_eq!(last.fields[1].value, OwnedValue::Text("Größe".to_owned()));
    assert_eq!(
        (&*last.fields[2].type_name, last.fields[2].text.as_deref()),
        ("colours", Some("green"))
    );
    // Not collected unless the session says so.
    assert_eq!(last.fields[3].value, OwnedValue::Null);
    assert_eq!(last.actions[0].value, OwnedValue::UInt(25));
    let OwnedValue::Stack(id) = last.actions[2].value else { panic!("{last:?}") };
    let mut frames = [0; sos::stack::FRAMES_MAX];
    assert!(sos::stack::frames(StackId::of_number(id), &mut frames) > 2);
    let begin = (fire as fn(&'static Event, u64, &str, u32)) as usize;
    assert!((begin..begin + 4096).contains(&frames[0]), "it begins with whoever fires");
    let now = sos::clock::utc_100ns();
    assert!(last.timestamp_100ns <= now && now - last.timestamp_100ns < 600_000_000);
    let times: Vec<u64> = ring.events.iter().map(|event| event.timestamp_100ns).collect();
    assert!(times.is_sorted());
    accounts.events().stop_all();
}

#[test]
fn setting_collects_a_field() {
    let accounts = Arc::<Accounts>::default();
    let at = KEPT.setting("collect_statement").expect("the setting exists");
    let event = EventSpec { settings: vec![(at, true)], ..EventSpec::all(&KEPT) };
    Hub::start(&accounts, spec(vec![event], vec![target("ring_buffer", &[])])).expect("it starts");
    on_thread(&accounts, || fire(&KEPT, 1, "x", 0));
    let value = ring(&accounts, 0).events[0].fields[3].value.clone();
    assert_eq!(value, OwnedValue::Text("SELECT 1".to_owned()));
    accounts.events().stop_all();
}

#[test]
fn pairs_are_matched_and_orphans_stay() {
    let accounts = Arc::<Accounts>::default();
    let parameters = [
        ("begin_event", "test.PAIRED_BEGIN"),
        ("end_event", "test.PAIRED_END"),
        ("begin_matching_columns", "number, name"),
        ("end_matching_columns", "number, name"),
    ];
    let events = vec![EventSpec::all(&PAIRED_BEGIN), EventSpec::all(&PAIRED_END)];
    let targets = vec![target("pair_matching", &parameters)];
    Hub::start(&accounts, spec(events, targets)).expect("it starts");
    on_thread(&accounts, || {
        (0..10).for_each(|n| fire(&PAIRED_BEGIN, n, "x", 0));
        (0..10).filter(|n| n % 5 != 0).for_each(|n| fire(&PAIRED_END, n, "x", 0));
        fire(&PAIRED_END, 5, "another", 0);
    });
    let TargetData::Pairs(pairs) = data(&accounts, 0) else { panic!("pairs") };
    assert_eq!(pairs.matched, 8);
    let orphans: Vec<_> = pairs.orphans.iter().map(|e| e.fields[0].value.clone()).collect();
    assert_eq!(orphans, [OwnedValue::UInt(0), OwnedValue::UInt(5)]);
    accounts.events().stop_all();
}

struct Supplier(AtomicU64);

impl ActionSource for Supplier {
    fn read(&self, number: u16, give: &mut dyn FnMut(Value<'_>)) {
        if number == 7 {
            give(Value::UInt(self.0.load(Ordering::Relaxed)));
        }
    }
}

#[test]
fn layer_above_answers_actions_and_predicates() {
    let accounts = Arc::<Accounts>::default();
    let predicate = Predicate::Compare(Comparison {
        input: PredicateInput::Source(&SESSION_SOURCE),
        comparator: Comparator::named("package0.x")
            .or(Comparator::named("equal_uint64"))
            .expect("it is there"),
        value: OwnedValue::Int(52),
    });
    let event = EventSpec {
        actions: vec![&SESSION_ID],
        predicate: Some(predicate),
        ..EventSpec::all(&SUPPLIED)
    };
    Hub::start(&accounts, spec(vec![event], vec![target("ring_buffer", &[])])).expect("it starts");
    on_thread(&accounts, || {
        fire(&SUPPLIED, 0, "nobody answers", 0);
        let supplier = Supplier(AtomicU64::new(51));
        xe::supplied_by(&supplier, || {
            fire(&SUPPLIED, 1, "another session", 0);
            supplier.0.store(52, Ordering::Relaxed);
            fire(&SUPPLIED, 2, "this one", 0);
        });
        fire(&SUPPLIED, 3, "nobody answers", 0);
    });
    let ring = ring(&accounts, 0);
    assert_eq!(numbers(&ring), [OwnedValue::UInt(2)]);
    assert_eq!(ring.events[0].actions[0].value, OwnedValue::UInt(52));
    accounts.events().stop_all();
}

#[test]
fn counter_in_a_predicate_stops_after_so_many() {
    let accounts = Arc::<Accounts>::default();
    let counter = PREDICATE_SOURCES.iter().find(|s| s.name == "counter").expect("it is there");
    let comparator = Comparator::named("less_than_equal_uint64").expect("it is there");
    let input = PredicateInput::Source(counter);
    let few = Predicate::Compare(Comparison { input, comparator, value: OwnedValue::Int(4) });
    let comparator = Comparator::named("divides_by_uint64").expect("it is there");
    let tenth = Predicate::Compare(Comparison {
        input: PredicateInput::Field(0),
        comparator,
        value: OwnedValue::Int(10),
    });
    let predicate = Some(Predicate::And(Box::new(tenth), Box::new(few)));
    let event = EventSpec { predicate, ..EventSpec::all(&SAMPLED) };
    Hub::start(&accounts, spec(vec![event], vec![target("ring_buffer", &[])])).expect("it starts");
    on_thread(&accounts, || (1..=100).for_each(|n| fire(&SAMPLED, n, "x", 0)));
    let expected: Vec<_> = [10, 20, 30, 40].map(OwnedValue::UInt).into();
    assert_eq!(numbers(&ring(&accounts, 0)), expected);
    accounts.events().stop_all();
}

#[test]
fn altered_session_keeps_what_its_targets_hold() {
    let accounts = Arc::<Accounts>::default();
    let targets = vec![target("ring_buffer", &[]), target("event_counter", &[])];
    let before = spec(vec![EventSpec::all(&ALTERED)], targets.clone());
    Hub::start(&accounts, before).expect("it starts");
    on_thread(&accounts, || fire(&ALTERED, 1, "before", 0));
    let by_name =
        [("source", "name"), ("source_type", "0"), ("filtering_event_name", "test.ALTERED")];
    let more = vec![targets[0].clone(), targets[1].clone(), target("histogram", &by_name)];
    let events = vec![EventSpec::all(&QUIET), EventSpec::all(&ALTERED)];
    accounts.events().alter(spec(events, more)).expect("it is altered");
    on_thread(&accounts, || fire(&ALTERED, 2, "after", 0));
    let ring = ring(&accounts, 0);
    assert_eq!(numbers(&ring), [OwnedValue::UInt(1), OwnedValue::UInt(2)]);
    let TargetData::Counter(counter) = data(&accounts, 1) else { panic!("a counter") };
    assert_eq!(counter.events, [(&QUIET, 0), (&ALTERED, 2)]);
    assert_eq!(histogram(&accounts, 2).slots.len(), 1, "a new target begins empty");
    assert_eq!(session(&accounts).totals.seen, 2);
    accounts.events().stop_all();
}

#[test]
fn causality_numbers_the_events_of_a_task_and_the_first_says_where_it_came_from() {
    let accounts = Arc::<Accounts>::default();
    let mut tracked = spec(vec![EventSpec::all(&CAUSED)], vec![target("ring_buffer", &[])]);
    tracked.options.track_causality = true;
    Hub::start(&accounts, tracked).expect("it starts");
    let from = Activity { guid: *b"clients activity", sequence: 41 };
    on_thread(&accounts, move || {
        ledger::request(None, || {
            fire(&CAUSED, 0, "first", 0);
            fire(&CAUSED, 1, "second", 0);
        });
        ledger::request(None, || {
            xe::goes_on_with(from);
            // An event that no such session wants does not count as the report.
            fire(&QUIET, 9, "elsewhere", 0);
            fire(&CAUSED, 2, "of the client", 0);
            fire(&CAUSED, 3, "further", 0);
        });
        ledger::request(None, || fire(&CAUSED, 4, "another task", 0));
    });
    let ring = ring(&accounts, 0);
    let ids: Vec<_> = ring.events.iter().map(|event| event.actions[0].value.clone()).collect();
    let xfers: Vec<_> = ring.events.iter().map(|event| event.actions[1].value.clone()).collect();
    let OwnedValue::Activity(task, 1) = ids[0] else { panic!("{ids:?}") };
    assert_eq!(ids[1], OwnedValue::Activity(task, 2));
    let OwnedValue::Activity(other, _) = ids[2] else { panic!("{ids:?}") };
    assert_ne!(other, task);
    assert!(matches!(ids[3], OwnedValue::Activity(same, _) if same == other));
    assert_eq!(xfers[2], OwnedValue::Activity(from.guid, 41), "it says where it came from");
    assert!([0, 1, 3, 4].iter().all(|&at| xfers[at] == OwnedValue::Null), "{xfers:?}");
    assert!(matches!(ids[4], OwnedValue::Activity(third, 1) if third != task && third != other));
    accounts.events().stop_all();
}

#[test]
fn event_for_one_session_reaches_no_other() {
    let accounts = Arc::<Accounts>::default();
    let counter = || vec![target("event_counter", &[])];
    let named = |name: &str| SessionSpec {
        name: name.to_owned(),
        ..spec(vec![EventSpec::all(&ADDRESSED)], counter())
    };
    let first = Hub::start(&accounts, named("first")).expect("it starts");
    let second = Hub::start(&accounts, named("second")).expect("it starts");
    let fields = [Value::UInt(1), Value::Text("x"), Value::Map(0), Value::Text("y")];
    on_thread(&accounts, move || {
        xe::fire_at(second, &ADDRESSED, &fields);
        xe::fire_at(second, &ADDRESSED, &fields);
        xe::fire(&ADDRESSED, &fields);
    });
    let seen = |name: &str| {
        let found = accounts.events().sessions().into_iter().find(|s| s.spec.name == name);
        found.expect("it runs").totals.seen
    };
    assert_eq!((seen("first"), seen("second")), (1, 3));
    accounts.events().stop("second").expect("it runs");
    on_thread(&accounts, move || xe::fire_at(second, &ADDRESSED, &fields));
    assert_eq!(seen("first"), 1, "who has stopped is told nothing, nor is anybody else");
    assert_ne!(first, second);
    accounts.events().stop_all();
}

#[test]
fn memory_is_bounded_and_what_found_no_room_is_counted() {
    let accounts = Arc::<Accounts>::default();
    let mut spec = spec(vec![EventSpec::all(&BOUNDED)], vec![target("ring_buffer", &[])]);
    spec.options.max_memory = 64 << 10;
    // Nothing is dispatched before the buffers are full.
    spec.options.max_dispatch_latency = None;
    Hub::start(&accounts, spec).expect("it starts");
    let long = "x".repeat(200);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let long = long.clone();
            let run = move || (0..20_000).for_each(|n| fire(&BOUNDED, n, &long, 0));
            thread::spawn(&accounts, "test", run).expect("a thread starts")
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends well"));
    let report = session(&accounts);
    assert!(report.memory_bytes <= 64 << 10, "{report:?}");
    assert_eq!(report.totals.seen, 80_000);
    balance(&report);
    let ring = ring(&accounts, 0);
    assert_eq!(ring.processed, session(&accounts).totals.published, "all that was published came");
    assert!(ring.memory_bytes <= 64 << 10);
    assert_eq!(report.drops.events(), report.totals.dropped);
    accounts.events().stop_all();
}

#[test]
fn event_larger_than_a_buffer_is_dropped_unless_there_is_a_large_one() {
    let accounts = Arc::<Accounts>::default();
    let text = "y".repeat(100_000);
    for (max_event_size, published) in [(0, 1), (200_000, 2)] {
        let mut spec = spec(vec![EventSpec::all(&LARGE)], vec![target("ring_buffer", &[])]);
        spec.options.max_memory = 1 << 20;
        spec.options.max_event_size = max_event_size;
        spec.targets[0].parameters.push(("max_memory".to_owned(), "1024".to_owned()));
        Hub::start(&accounts, spec).expect("it starts");
        let text = text.clone();
        on_thread(&accounts, move || {
            fire(&LARGE, 1, &text, 0);
            fire(&LARGE, 2, "small", 0);
        });
        let report = session(&accounts);
        assert_eq!(report.totals.published, published, "{report:?}");
        assert_eq!(report.drops.too_large, 2 - published);
        assert_eq!(report.drops.largest_bytes > 100_000, published == 1);
        assert_eq!(ring(&accounts, 0).events.len() as u64, published);
        accounts.events().stop("s").expect("it runs");
    }
    accounts.events().stop_all();
}

#[test]
fn multiple_event_loss_keeps_the_newest() {
    let accounts = Arc::<Accounts>::default();
    let mut spec = spec(vec![EventSpec::all(&NEWEST)], vec![target("ring_buffer", &[])]);
    spec.options.max_memory = 4 << 10;
    spec.options.retention = Retention::MultipleEventLoss;
    Hub::start(&accounts, spec).expect("it starts");
    on_thread(&accounts, || (0..10_000).for_each(|n| fire(&NEWEST, n, "x", 0)));
    let report = session(&accounts);
    balance(&report);
    let ring = ring(&accounts, 0);
    assert_eq!(numbers(&ring).last(), Some(&OwnedValue::UInt(9_999)));
    // Whole buffers are dropped to make room. A single event is dropped only while the dispatcher
    // reads the other buffer.
    assert!(report.drops.full < 100, "{report:?}");
    accounts.events().stop_all();
}

#[test]
fn no_event_loss_waits_for_room_and_books_the_wait() {
    let accounts = Arc::<Accounts>::default();
    let targets =
        vec![target("ring_buffer", &[("max_events_limit", "0"), ("max_memory", "65536")])];
    let mut lossless = spec(vec![EventSpec::all(&LOSSLESS)], targets.clone());
    lossless.options.max_memory = 8 << 10;
    lossless.options.retention = Retention::NoEventLoss;
    let mut refused = lossless.clone();
    refused.events = vec![EventSpec::all(&xe::events::WAIT_INFO)];
    assert_eq!(Hub::check(&refused), Err(XeError::CannotBlock { event: "wait_info" }));
    Hub::start(&accounts, lossless).expect("it starts");
    on_thread(&accounts, || (0..2_000).for_each(|n| fire(&LOSSLESS, n, "x", 0)));
    let ring = ring(&accounts, 0);
    assert_eq!(numbers(&ring), (0..2_000).map(OwnedValue::UInt).collect::<Vec<_>>());
    let report = session(&accounts);
    assert_eq!((report.totals.seen, report.totals.published), (2_000, 2_000));
    assert!(report.blocked_ns > 0, "2,000 events do not fit into 8 KB");
    accounts.events().stop_all();
    let waited = accounts
        .waits()
        .iter()
        .find(|row| row.wait_type == WaitType::XeBufferFree)
        .map(|r| r.count);
    assert!(waited.is_some_and(|count| count > 0), "the wait is on the books");
}

#[test]
fn latency_hands_events_to_the_targets() {
    let accounts = Arc::<Accounts>::default();
    let mut spec = spec(vec![EventSpec::all(&TIMED)], vec![target("ring_buffer", &[])]);
    spec.options.max_dispatch_latency = Some(Duration::from_millis(20));
    Hub::start(&accounts, spec).expect("it starts");
    on_thread(&accounts, || fire(&TIMED, 1, "x", 0));
    let mut executions = 0;
    for _ in 0..200 {
        executions = session(&accounts).targets[0].executions;
        if executions > 0 {
            break;
        }
        park::sleep(Duration::from_millis(10), WaitType::WaitFor, None);
    }
    assert_eq!(executions, 1, "the dispatcher came by itself");
    accounts.events().stop_all();
}

#[test]
fn thousand_sessions_come_and_go_while_threads_fire() {
    let accounts = Arc::<Accounts>::default();
    let over = Arc::new(AtomicBool::new(false));
    let emitter = |_| {
        let over = Arc::clone(&over);
        let run = move || {
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                number += 1;
                fire(&CHURNED, number, "x", 1);
            }
        };
        thread::spawn(&accounts, "test", run).expect("a thread starts")
    };
    let emitters: Vec<_> = (0..3).map(emitter).collect();
    let by_name =
        [("source", "name"), ("source_type", "0"), ("filtering_event_name", "test.CHURNED")];
    let cycle = || {
        let targets = vec![target("ring_buffer", &[]), target("histogram", &by_name)];
        let mut spec = spec(vec![EventSpec::all(&CHURNED)], targets);
        spec.options.max_memory = 256 << 10;
        Hub::start(&accounts, spec).expect("it starts");
        accounts.events().stop("s").expect("it runs");
    };
    let held = || {
        let rows = sos::memory::clerks();
        rows.iter().find(|row| row.clerk == MemoryClerk::ExtendedEvents).map_or(0, |row| row.bytes)
    };
    (0..100).for_each(|_| cycle());
    let before = held();
    (0..1_000).for_each(|_| cycle());
    over.store(true, Ordering::Relaxed);
    emitters.into_iter().for_each(|thread| thread.join().expect("it ends well"));
    // Other tests may have sessions for a moment.
    for _ in 0..500 {
        if held() <= before + (512 << 10) {
            break;
        }
        park::sleep(Duration::from_millis(20), WaitType::WaitFor, None);
    }
    assert!(held() <= before + (512 << 10), "{before} bytes before, {} after", held());
    assert!(!xe::enabled(&CHURNED), "nobody wants it any more");
    assert!(accounts.events().sessions().is_empty());
    accounts.events().stop_all();
}

#[test]
fn pages_are_told_with_their_clerk_and_waits_with_their_type() {
    let accounts = Arc::<Accounts>::default();
    let clerk = OwnedValue::Text("MEMORYCLERK_SQLLOGPOOL".to_owned());
    let pages = |event: &'static Event| EventSpec {
        predicate: Some(compare(event, "memory_clerk_name", Operation::Equal, clerk.clone())),
        ..EventSpec::all(event)
    };
    let wait = &xe::events::WAIT_COMPLETED;
    let is_wait_for =
        compare(wait, "wait_type", Operation::Equal, OwnedValue::Text("WAITFOR".into()));
    let waits = EventSpec { predicate: Some(is_wait_for), ..EventSpec::all(wait) };
    let events = vec![pages(&xe::events::PAGE_ALLOCATED), pages(&xe::events::PAGE_FREED), waits];
    Hub::start(&accounts, spec(events, vec![target("ring_buffer", &[])])).expect("it starts");
    on_thread(&accounts, || {
        let extent = Extent::new(MemoryClerk::LogPool, 32 << 10).expect("there is memory");
        drop(extent);
        park::sleep(Duration::from_millis(30), WaitType::WaitFor, None);
    });
    let ring = ring(&accounts, 0);
    let names: Vec<&str> = ring.events.iter().map(|event| &*event.name).collect();
    assert_eq!(names, ["page_allocated", "page_freed", "wait_completed"]);
    let [taken, given, waited] = &ring.events[..] else { panic!("three events") };
    assert_eq!(taken.fields[1].value, OwnedValue::UInt(4), "pages of 8 KB");
    assert_eq!(taken.fields[3].value, given.fields[3].value, "the same place");
    assert!(matches!(waited.fields[1].value, OwnedValue::UInt(ms) if (30..3_000).contains(&ms)));
    assert_eq!(waited.fields[0].text.as_deref(), Some("WAITFOR"));
    accounts.events().stop_all();
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let accounts = Arc::<Accounts>::default();
    let start = |spec: SessionSpec| Hub::start(&accounts, spec);
    let event = || vec![EventSpec::all(&QUIET)];
    assert_eq!(start(spec(vec![], vec![])), Err(XeError::NoEvent));
    let twice = vec![EventSpec::all(&QUIET), EventSpec::all(&QUIET)];
    assert_eq!(start(spec(twice, vec![])), Err(XeError::DuplicateEvent("QUIET")));
    let unknown = target("ring_buffer", &[("colour", "1")]);
    assert!(matches!(start(spec(event(), vec![unknown])), Err(XeError::UnknownParameter { .. })));
    let missing = target("event_file", &[]);
    assert!(matches!(start(spec(event(), vec![missing])), Err(XeError::MissingParameter { .. })));
    let many = target("histogram", &[("source", "session_id"), ("slots", "many")]);
    assert!(matches!(start(spec(event(), vec![many])), Err(XeError::ParameterValue { .. })));
    let colour = compare(&QUIET, "colour", Operation::Equal, OwnedValue::Text("pink".into()));
    let wrong = EventSpec { predicate: Some(colour), ..EventSpec::all(&QUIET) };
    assert!(matches!(start(spec(vec![wrong], vec![])), Err(XeError::PredicateValue { .. })));
    let comparator = Comparator::named("equal_uint64").expect("it is there");
    let input = PredicateInput::Field(1);
    let value = OwnedValue::Int(1);
    let leaf = Predicate::Compare(Comparison { input, comparator, value });
    let wrong = EventSpec { predicate: Some(leaf), ..EventSpec::all(&QUIET) };
    assert!(matches!(start(spec(vec![wrong], vec![])), Err(XeError::PredicateType { .. })));
    let mut small = spec(event(), vec![target("ring_buffer", &[])]);
    small.options.max_memory = 100;
    assert!(matches!(start(small), Err(XeError::MemoryTooSmall { .. })));
    assert!(accounts.events().sessions().is_empty() && !xe::enabled(&QUIET));
    assert_eq!(accounts.events().stop("s"), Err(XeError::NotStarted("s".to_owned())));
    assert_eq!(PACKAGE0.name, "package0");
}
