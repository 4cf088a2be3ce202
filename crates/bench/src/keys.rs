//! The works of `clearway race` that consist of one call each: get, set and counter, sent to one
//! server.

use load::{Answer, Result, ServerProcess};
use race::calls;

use crate::setup::connect;
use crate::work::{Asked, Work};

/// The name of each work in the benchmark, and its kind in the race.
const WORKS: [(&str, race::Work); 3] = [
    ("race get", race::Work::Get),
    ("race set", race::Work::Set),
    ("race counter", race::Work::Counter),
];

/// Creates the tables, rows and procedures of the race.
pub(crate) fn prepare(server: &ServerProcess) -> Result<()> {
    let mut client = connect(server, "")?;
    let calls = calls(race::Work::Get).ok_or("a get needs no answer before")?;
    for message in &calls.setup {
        Answer::decode(&client.ask(message)?)?.check()?;
    }
    Ok(())
}

/// Returns the works. They have no goal here: `make race` compares them with Redis.
pub(crate) fn works() -> Vec<Work> {
    let work = |(name, kind)| {
        let check = |_: usize, answer: &Answer| match answer.tokens.is_empty() {
            true => Err("an empty answer".to_owned()),
            false => Ok(()),
        };
        let requests = calls(kind)?.requests;
        let measured = Asked { requests, check: Box::new(check) };
        Some(Work { name, ratio_max: f64::INFINITY, database: "", measured, after: None })
    };
    WORKS.into_iter().filter_map(work).collect()
}
