//! Tests `stress` against a server whose every answer and delay is scripted: the report must equal
//! what the server did.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the server is somebody else's: its clock, threads and locks are its own"
)]

mod agents;
mod fake;

use std::time::{Duration, Instant};

use fake::{FakeServer, Reply};
use load::Login;
use load::link::{Encrypt, Target};
use load::stress::{Driver, Pace, Pool, Settings, Tally, Work};

const AS_FAST_AS_CAN_BE: Pace = Pace::Closed { think: Duration::ZERO };
/// A busy machine may be late once; a wrong figure would be wrong every time.
const TRIES: usize = 4;

fn settings(connections: usize) -> Settings {
    Settings {
        connections,
        pace: AS_FAST_AS_CAN_BE,
        pool: Pool::Keep,
        iterations: None,
        login_timeout: Duration::from_secs(2),
        query_timeout: None,
        retries: 0,
        stop_on_error: false,
    }
}

fn target(server: &FakeServer) -> Target {
    let login = Login { user: "sa".to_owned(), password: "x".to_owned(), database: String::new() };
    Target { address: server.address().into(), login, encrypt: Encrypt::Off }
}

fn work() -> Work {
    Work::of_scripts(&[vec!["select 1".to_owned()]]).expect("there is a batch")
}

fn run(server: &FakeServer, settings: Settings, duration: Option<Duration>) -> Tally {
    let work = work();
    let mut driver = Driver::new(target(server), &work, settings).expect("epoll");
    driver.connect().expect("the login");
    driver.run(duration, |_| true, || false)
}

fn iterations(count: u64) -> Option<u64> {
    Some(count)
}

/// Returns a percentile of sorted values as histograms compute it: the least value that `share` of
/// all do not exceed.
fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let count = f64::from(u32::try_from(sorted.len()).expect("few"));
    let wanted = (count * share).ceil().max(1.0);
    let at = (1_u32..).zip(sorted).find(|(place, _)| f64::from(*place) >= wanted);
    at.expect("there are values").1.as_secs_f64()
}

/// Checks that the tool's report equals what the server did, within 1 %.
fn agrees(tally: &Tally, server: &FakeServer) -> Result<(), String> {
    let sorted = server.delays();
    for share in [0.5, 0.9, 0.95, 0.99, 1.0] {
        let said = Duration::from_nanos(tally.latencies.value_at_quantile(share)).as_secs_f64();
        let done = percentile(&sorted, share);
        if (said - done).abs() > done * 0.01 {
            return Err(format!("p{}: {said} of {done}", share * 1e2));
        }
    }
    Ok(())
}

#[test]
fn known_latencies_give_known_percentiles_within_1_percent() {
    let mut found = Err(String::new());
    for _ in 0..TRIES {
        // Of a hundred requests 85 take 150 ms, 10 take 400 ms and 5 take 900 ms.
        let server = FakeServer::start(|n| {
            Reply::after(Duration::from_millis(match n % 100 {
                0..85 => 150,
                85..95 => 400,
                _ => 900,
            }))
        });
        let tally = run(&server, Settings { iterations: iterations(5), ..settings(40) }, None);
        assert_eq!((tally.requests(), tally.troubles()), (200, 0));
        found = agrees(&tally, &server);
        if found.is_ok() {
            break;
        }
    }
    assert_eq!(found, Ok(()));
}

#[test]
fn an_open_loop_reports_a_stall_that_a_closed_one_hides() {
    const RATE: f64 = 200.0;
    let mut found = Err(String::new());
    for _ in 0..TRIES {
        // From 1 s to 2 s of three nothing is answered.
        let server = FakeServer::start_with_stall(Duration::from_secs(1), Duration::from_secs(1));
        let open = Settings { pace: Pace::Open { rate: RATE }, ..settings(4) };
        let tally = run(&server, open, Some(Duration::from_secs(3)));
        assert_eq!((tally.troubles(), tally.never_sent), (0, 0));
        assert!(tally.requests().abs_diff(600) <= 2, "{}", tally.requests());
        // A third of the requests is due in the stall and waits for its end, the first the longest:
        // a tenth of all waits longer than 0.7 s. But only 4 connections feel it while they ask.
        let waited = Duration::from_nanos(tally.latencies.value_at_quantile(0.9)).as_secs_f64();
        let served = Duration::from_nanos(tally.service.value_at_quantile(0.9)).as_secs_f64();
        let is_right = (waited - 0.7).abs() < 0.02 && served < 0.05;
        found = if is_right { Ok(()) } else { Err(format!("{waited} {served}")) };
        if is_right {
            break;
        }
    }
    assert_eq!(found, Ok(()));
}

#[test]
fn a_stall_of_a_second_in_ten_is_in_the_99_9th_percentile_of_an_open_loop_alone() {
    let mut found = Err(String::new());
    for _ in 0..TRIES {
        let server = FakeServer::start_with_stall(Duration::from_secs(4), Duration::from_secs(1));
        let open = Settings { pace: Pace::Open { rate: 300.0 }, ..settings(1) };
        let tally = run(&server, open, Some(Duration::from_secs(10)));
        assert_eq!(tally.troubles(), 0);
        // 300 of 3,000 requests are due in the stall; one of 3,000 is under way when it begins.
        let waited = Duration::from_nanos(tally.latencies.value_at_quantile(0.999)).as_secs_f64();
        let served = Duration::from_nanos(tally.service.value_at_quantile(0.999)).as_secs_f64();
        let is_right = (0.9..1.5).contains(&waited) && served < 0.5;
        found = if is_right { Ok(()) } else { Err(format!("{waited} {served}")) };
        if is_right {
            break;
        }
    }
    assert_eq!(found, Ok(()));
}

#[test]
fn what_can_not_be_sent_in_time_is_named() {
    let server = FakeServer::start(|_| Reply::after(Duration::from_millis(100)));
    let open = Settings { pace: Pace::Open { rate: 100.0 }, ..settings(1) };
    let tally = run(&server, open, Some(Duration::from_secs(1)));
    // One connection answers ten a second of a hundred.
    let all = tally.requests() + tally.never_sent;
    assert!(all.abs_diff(100) <= 2, "{all}");
    assert!(tally.requests() <= 11, "{}", tally.requests());
}

#[test]
fn errors_are_counted_by_number_and_retries_apart() {
    let server = FakeServer::start(|n| match n {
        0 | 1 => Reply::error(1205),
        2 => Reply::ok(),
        3 => Reply::error(8134),
        _ => Reply::ok(),
    });
    let settings = Settings { iterations: iterations(4), retries: 2, ..settings(1) };
    let tally = run(&server, settings, None);
    assert_eq!(tally.errors.iter().collect::<Vec<_>>(), [(&8134, &1)]);
    assert_eq!(tally.retries.iter().collect::<Vec<_>>(), [(&1205, &2)]);
    assert_eq!((tally.requests(), tally.failed, tally.kind_failures[0]), (4, 1, 1));
    assert_eq!(server.requests(), 6);
}

#[test]
fn the_first_error_ends_a_run_that_asks_for_it() {
    let server = FakeServer::start(|n| if n == 3 { Reply::error(50_000) } else { Reply::ok() });
    let settings = Settings { stop_on_error: true, ..settings(1) };
    let tally = run(&server, settings, Some(Duration::from_secs(20)));
    assert_eq!((tally.requests(), tally.failed), (4, 1));
}

#[test]
fn an_error_in_the_midst_of_an_answer_is_seen() {
    // The final DONE does not mention the error before it.
    let server =
        FakeServer::start(|n| if n == 1 { Reply::error_before_end(208) } else { Reply::ok() });
    let tally = run(&server, Settings { iterations: iterations(3), ..settings(1) }, None);
    assert_eq!(tally.errors.iter().collect::<Vec<_>>(), [(&208, &1)]);
}

#[test]
fn what_takes_too_long_is_cancelled_and_the_connection_goes_on() {
    let server = FakeServer::start(|n| if n == 0 { Reply::never() } else { Reply::ok() });
    let limit = Some(Duration::from_millis(200));
    let settings = Settings { iterations: iterations(3), query_timeout: limit, ..settings(1) };
    let tally = run(&server, settings, None);
    assert_eq!((tally.timeouts, tally.requests(), server.attentions()), (1, 2, 1));
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_lost_connection_is_counted_and_opened_anew() {
    let server = FakeServer::start(|n| if n == 2 { Reply::close() } else { Reply::ok() });
    let tally = run(&server, Settings { iterations: iterations(5), ..settings(1) }, None);
    assert_eq!(tally.faults.values().sum::<u64>(), 1, "{:?}", tally.faults);
    assert_eq!((tally.requests(), server.connections()), (4, 2));
}

#[test]
fn half_an_answer_and_what_is_no_tds_are_faults() {
    for reply in [Reply::half, Reply::garbage] {
        let server = FakeServer::start(move |n| if n == 1 { reply() } else { Reply::ok() });
        let tally = run(&server, Settings { iterations: iterations(3), ..settings(1) }, None);
        assert_eq!(tally.faults.values().sum::<u64>(), 1, "{:?}", tally.faults);
        assert_eq!(tally.requests(), 2);
    }
}

#[test]
fn a_server_that_never_answers_does_not_hold_the_end_up() {
    let server = FakeServer::start(|_| Reply::never());
    let begin = Instant::now();
    let tally = run(&server, settings(2), Some(Duration::from_millis(100)));
    assert_eq!((tally.requests(), tally.faults.values().sum::<u64>()), (0, 2));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_cut_ends_a_run_at_once() {
    let server = FakeServer::start(|_| Reply::never());
    let work = work();
    let mut driver = Driver::new(target(&server), &work, settings(2)).expect("epoll");
    driver.connect().expect("the login");
    let begin = Instant::now();
    driver.run(None, |_| true, || begin.elapsed() > Duration::from_millis(300));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn a_refused_login_says_why() {
    let server = FakeServer::start_refusing(18_456);
    let work = work();
    let mut driver = Driver::new(target(&server), &work, settings(2)).expect("epoll");
    let why = driver.connect().expect_err("nobody may log in");
    assert!(why.contains("18456"), "{why}");
}

#[test]
fn a_pool_resets_or_reconnects_between_iterations() {
    let server = FakeServer::start(|_| Reply::ok());
    let settings = Settings { iterations: iterations(4), pool: Pool::Reconnect, ..settings(1) };
    let tally = run(&server, settings.clone(), None);
    assert_eq!((tally.requests(), tally.troubles(), server.connections()), (4, 0, 4));
    assert_eq!(server.resets(), 0);

    let server = FakeServer::start(|_| Reply::ok());
    let work = work().with_reset();
    let settings = Settings { pool: Pool::Reset, ..settings };
    let mut driver = Driver::new(target(&server), &work, settings).expect("epoll");
    driver.connect().expect("the login");
    driver.run(None, |_| true, || false);
    assert_eq!((server.resets(), server.connections()), (4, 1));
}

#[test]
fn thinking_connections_ask_less() {
    let server = FakeServer::start(|_| Reply::ok());
    let pace = Pace::Closed { think: Duration::from_millis(100) };
    let tally = run(&server, Settings { pace, ..settings(3) }, Some(Duration::from_secs(1)));
    // Three connections, ten times a second at most.
    assert!((15..=33).contains(&tally.requests()), "{}", tally.requests());
}
