//! Tests two agents and their coordinator against the scripted server: their joint report must
//! equal what the server did.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use load::agent::{Agent, Crew, Job, Password, Token};
use load::link::Encrypt;
use load::stress::{Pace, Settings, Source, Tally};

use crate::fake::{FakeServer, Reply};
use crate::{TRIES, agrees, iterations, settings};

const TOKEN: &str = "a-token-of-these-tests";

fn token() -> Token {
    Token::new(TOKEN).expect("long enough")
}

/// Starts an agent for the life of the test process.
fn agent() -> (String, SocketAddr) {
    let here = SocketAddr::from(([127, 0, 0, 1], 0));
    let agent = Agent::bind(here, token(), Password("x".to_owned())).expect("a free port");
    let address = agent.address();
    thread::spawn(move || agent.run(|_| (), || false));
    (address.to_string(), address)
}

fn crew(server: &FakeServer, settings: &Settings) -> Result<Crew, String> {
    let job = Job {
        server: format!("127.0.0.1,{}", server.address().port()),
        user: "sa".to_owned(),
        database: String::new(),
        encrypt: Some(Encrypt::Off),
        source: Source::Scripts(vec![("-Q".to_owned(), "select 1".to_owned())]),
        settings: settings.clone(),
        threads: 1,
    };
    Crew::gather(&[agent(), agent()], &token(), &job, 1)
}

fn run(server: &FakeServer, settings: &Settings, duration: Option<Duration>) -> Tally {
    let mut crew = crew(server, settings).expect("two agents");
    crew.connect(settings.connections, &|| false).expect("the logins");
    let tally = crew.run(duration, |_| true, || false).expect("a run");
    assert_eq!(crew.trouble(), None);
    tally
}

#[test]
fn known_latencies_of_two_agents_give_known_percentiles_within_1_percent() {
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
        let settings = Settings { iterations: iterations(5), ..settings(40) };
        let tally = run(&server, &settings, None);
        assert_eq!((tally.requests(), tally.troubles(), server.connections()), (200, 0, 40));
        assert_eq!((tally.threads, tally.kinds[0].len()), (2, 200));
        found = agrees(&tally, &server);
        if found.is_ok() {
            break;
        }
    }
    assert_eq!(found, Ok(()));
}

#[test]
fn errors_and_retries_of_two_agents_are_added_by_number() {
    let server = FakeServer::start(|n| match n % 10 {
        3 => Reply::error(1205),
        7 => Reply::error(8134),
        _ => Reply::ok(),
    });
    let settings = Settings { iterations: iterations(50), retries: 9, ..settings(2) };
    let tally = run(&server, &settings, None);
    assert_eq!((tally.requests(), tally.troubles()), (100, tally.errors[&8134]));
    let sent = 100 + tally.retries[&1205];
    assert_eq!(server.requests(), usize::try_from(sent).expect("few"), "each retry was a request");
}

#[test]
fn the_first_error_of_one_agent_ends_all() {
    let server = FakeServer::start(|n| match n {
        20 => Reply::error(50_000),
        _ => Reply::after(Duration::from_millis(10)),
    });
    let begin = Instant::now();
    let settings = Settings { stop_on_error: true, ..settings(4) };
    let tally = run(&server, &settings, Some(Duration::from_secs(120)));
    assert_eq!(tally.errors.iter().collect::<Vec<_>>(), [(&50_000, &1)]);
    assert!(begin.elapsed() < Duration::from_secs(60), "the other one ends as well");
}

#[test]
fn whoever_asks_for_an_end_is_heard_and_a_cut_waits_for_nothing() {
    let server = FakeServer::start(|_| Reply::after(Duration::from_millis(10)));
    let pace = Pace::Closed { think: Duration::from_millis(10) };
    let settings = Settings { pace, ..settings(4) };
    let mut crew = crew(&server, &settings).expect("two agents");
    crew.connect(4, &|| false).expect("the logins");
    let begin = Instant::now();
    let tally = crew.run(None, |_| false, || false).expect("a run");
    assert!(tally.requests() > 0 && begin.elapsed() < Duration::from_secs(60));
    let silent = FakeServer::start(|_| Reply::never());
    let mut crew = self::crew(&silent, &settings).expect("two agents");
    crew.connect(4, &|| false).expect("the logins");
    let begin = Instant::now();
    let tally =
        crew.run(None, |_| true, || begin.elapsed() > Duration::from_secs(1)).expect("a run");
    assert_eq!((tally.requests(), crew.trouble()), (0, None));
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn what_an_agent_can_not_do_is_said_by_its_name() {
    let server = FakeServer::start_refusing(18_456);
    let mut crew = crew(&server, &settings(2)).expect("two agents");
    let why = crew.connect(2, &|| false).expect_err("nobody may log in");
    assert!(why.starts_with("agent 127.0.0.1:") && why.contains("18456"), "{why}");
}
