//! How long a start takes with a folder that is new.

use load::process::Place;
use load::{Answer, Result};
use sos::clock;
use tds::client::{ClientSettings, batch};

use super::Bed;
use super::figure::Figure;
use crate::pairs::float;
use crate::report::median;
use crate::setup::connect;

/// Starts that are measured, and the limit in milliseconds.
const STARTS: usize = 20;
const READY_MAX_MS: f64 = 50.0;

/// Measures the time to the ready line, and to the first answer.
pub(super) fn measure(bed: &Bed<'_>) -> Result<Vec<Figure>> {
    let starts = if bed.is_smoke { 2 } else { STARTS };
    let (mut ready_ms, mut answer_ms) = (Vec::new(), Vec::new());
    for number in 0..starts {
        let began_ns = clock::monotonic_ns();
        let server = bed.start(&format!("start-{number}"), &[], Place::Anywhere)?;
        let mut client = connect(&server, "")?;
        Answer::decode(&client.ask(&batch("SELECT 1", ClientSettings::default()))?)?.check()?;
        answer_ms.push(float(clock::monotonic_ns() - began_ns) / 1e6);
        ready_ms.push(float(server.ready_ns()) / 1e6);
        drop(server);
        bed.remove(&format!("start-{number}"))?;
    }
    let what = "start with a new folder to the ready line";
    let note = format!(
        "median of {starts}; the first answer to a query comes after {:.1} ms",
        median(&answer_ms)
    );
    Ok(vec![Figure::at_most(what, READY_MAX_MS, "ms", median(&ready_ms)).noting(&note)])
}
