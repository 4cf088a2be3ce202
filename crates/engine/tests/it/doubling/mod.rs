//! `make doubling`: how the cost of each operation grows when its input doubles.
//!
//! A client chooses how long a text is, how many rows a statement changes, how many tables a database
//! has. An operation whose cost grows with the square of such a number lets one request keep a
//! scheduler for hours. Each case here runs one operation over sizes that double, and reports the
//! exponent `e` of `cost = n^e`: 1 for linear work, about 1.1 for sorting, 2 for nested scans.
//!
//! The cost is the CPU time of the process. A case ends at the first size that takes `ENOUGH_NS`, or when
//! the engine refuses the size, or its preparation, which bounds the cost as well; a case whose first
//! size is refused or takes longer measures nothing and fails. The exponent is that of the last two
//! doublings, where what does not grow weighs least. `docs/doubling.md` has the results.

mod objects;
mod rows;
mod sessions;
mod strings;
mod syntax;
mod xml_json;

use std::fmt::Write as _;

use sos::sys::cpu_times;

use crate::client::{instance, login};
use engine::session::Session;
use engine::sink::FirstError;

/// A size that takes this long is the last one.
const ENOUGH_NS: u64 = 400_000_000;
/// As does this with what goes before it.
const ENOUGH_WITH_START_NS: u64 = 3_000_000_000;
/// Most sizes of a case.
const SIZES_MAX: usize = 9;
/// Costs below this are not compared: a timer's tick and the first use of memory weigh too much.
const TOO_SHORT_NS: u64 = 4_000_000;
/// Two costs of this and more are enough for an exponent.
const LONG_NS: u64 = 100_000_000;
/// Greatest exponent of a case that states none. Noise of a busy machine included.
const EXPONENT_MAX: f64 = 1.45;

/// Batches of a size.
type Batches = Box<dyn Fn(usize) -> Vec<String>>;

/// One operation over inputs that double.
pub(crate) struct Case {
    name: &'static str,
    /// The size at which the case starts.
    first: usize,
    /// Batches that run before and are not measured.
    before: Batches,
    run: Batches,
    /// The greatest exponent, and why it is above that of other cases.
    bound: Option<(f64, &'static str)>,
}

impl Case {
    /// Returns a case that runs one batch.
    fn new(name: &'static str, first: usize, run: impl Fn(usize) -> String + 'static) -> Self {
        Self::many(name, first, move |n| vec![run(n)])
    }

    /// Returns a case that runs several batches.
    fn many(
        name: &'static str,
        first: usize,
        run: impl Fn(usize) -> Vec<String> + 'static,
    ) -> Self {
        Self { name, first, before: Box::new(|_| Vec::new()), run: Box::new(run), bound: None }
    }

    /// Runs batches before, which are not measured.
    fn after(mut self, before: impl Fn(usize) -> Vec<String> + 'static) -> Self {
        self.before = Box::new(before);
        self
    }

    /// Allows a greater exponent, for a reason.
    fn at_most(mut self, exponent: f64, reason: &'static str) -> Self {
        self.bound = Some((exponent, reason));
        self
    }
}

/// What a case took at each size.
struct Outcome {
    costs: Vec<(usize, u64)>,
    /// The error at the size behind the last one, if the engine refused it.
    refused: Option<String>,
}

impl Outcome {
    /// Returns the exponent of the last two doublings, or of one if both costs are long; `None` if
    /// too little was measured.
    fn exponent(&self) -> Option<f64> {
        let long: Vec<u64> =
            self.costs.iter().map(|(_, ns)| *ns).filter(|ns| *ns >= TOO_SHORT_NS).collect();
        let (first, last, doublings) = match long.as_slice() {
            [.., first, _, last] => (first, last, 2.0),
            [first, last] if *first >= LONG_NS => (first, last, 1.0),
            _ => return None,
        };
        #[expect(clippy::cast_precision_loss, reason = "a ratio of costs needs few digits")]
        let ratio = *last as f64 / *first as f64;
        Some(ratio.log2() / doublings)
    }

    /// Returns whether its first size took so long that nothing can be compared.
    fn is_too_long(&self) -> bool {
        matches!(self.costs.as_slice(), [(_, only)] if *only > ENOUGH_NS)
    }
}

/// Returns the CPU time of the process so far.
fn cpu_ns() -> u64 {
    let times = cpu_times();
    times.user_ns + times.kernel_ns
}

/// Runs batches; returns the number and text of the first error, at which they end.
fn run_batches(session: &mut Session, batches: &[String]) -> Result<(), String> {
    for sql in batches {
        let mut answer = FirstError::default();
        session.batch(sql, &mut answer).unwrap();
        if let Some(error) = answer.into_error() {
            return Err(format!("{}: {}", error.number, error.message));
        }
    }
    Ok(())
}

fn run_case(case: &Case) -> Outcome {
    let mut outcome = Outcome { costs: Vec::new(), refused: None };
    let mut size = case.first;
    for _ in 0..SIZES_MAX {
        let before = cpu_ns();
        let instance = instance();
        let mut session = login(&instance);
        let mut preparation = vec!["CREATE DATABASE d; USE d".to_owned()];
        preparation.extend((case.before)(size));
        let batches = (case.run)(size);
        let (mut start, mut end) = (before, before);
        let run = run_batches(&mut session, &preparation).and_then(|()| {
            start = cpu_ns();
            let run = run_batches(&mut session, &batches);
            end = cpu_ns();
            run
        });
        // A preparation that is refused bounds the size as well.
        if let Err(refused) = run {
            outcome.refused = Some(refused);
            break;
        }
        outcome.costs.push((size, end - start));
        if end - start > ENOUGH_NS || end - before > ENOUGH_WITH_START_NS {
            break;
        }
        size *= 2;
    }
    outcome
}

fn cases() -> Vec<Case> {
    let mut all = strings::cases();
    all.extend(xml_json::cases());
    all.extend(syntax::cases());
    all.extend(sessions::cases());
    all.extend(rows::cases());
    all.extend(objects::cases());
    all
}

/// Returns the line of a case and whether it keeps its bound.
fn report(case: &Case, outcome: &Outcome) -> (String, bool) {
    let bound = case.bound.map_or(EXPONENT_MAX, |(bound, _)| bound);
    let exponent = outcome.exponent();
    // A first size that is refused or takes long measures nothing: the case is wrong.
    let is_measured = !outcome.costs.is_empty() && !outcome.is_too_long();
    let is_kept = exponent.is_none_or(|e| e <= bound) && is_measured;
    let mut line = format!("{:52}", case.name);
    match exponent {
        Some(e) => write!(line, " {e:5.2}").unwrap(),
        None => line.push_str("     -"),
    }
    line.push_str(if is_kept { "  " } else { " !" });
    for (size, ns) in &outcome.costs {
        write!(line, " {size}:{}", ns / 1_000_000).unwrap();
    }
    if let Some(refused) = &outcome.refused {
        write!(line, " refused: {}", refused.chars().take(60).collect::<String>()).unwrap();
    }
    if let Some((bound, reason)) = case.bound {
        write!(line, " (at most {bound}: {reason})").unwrap();
    }
    (line, is_kept)
}

#[test]
#[ignore = "measures for minutes: `make doubling`"]
fn cost_grows_with_size_and_not_with_its_square() {
    let wanted = std::env::var("DOUBLING").unwrap_or_default();
    let is_wanted = |case: &&Case| wanted.split('|').any(|part| case.name.contains(part));
    let mut worse = Vec::new();
    for case in cases().iter().filter(is_wanted) {
        let outcome = run_case(case);
        let (line, is_kept) = report(case, &outcome);
        println!("{line}");
        if !is_kept {
            worse.push(line);
        }
    }
    assert!(
        worse.is_empty(),
        "these grow faster than their bound, or measure nothing:\n{}",
        worse.join("\n")
    );
}

/// Returns `n` pieces with a separator between them.
fn list(n: usize, separator: &str, piece: impl Fn(usize) -> String) -> String {
    (0..n).map(piece).collect::<Vec<_>>().join(separator)
}

#[test]
fn exponent_is_that_of_the_last_doublings() {
    let outcome = |costs: &[u64]| Outcome {
        costs: costs.iter().enumerate().map(|(at, ms)| (1 << at, ms * 1_000_000)).collect(),
        refused: None,
    };
    assert_eq!(outcome(&[1, 5, 10, 20, 40]).exponent(), Some(1.0));
    assert_eq!(outcome(&[100, 5, 20, 80]).exponent(), Some(2.0));
    assert_eq!(outcome(&[1, 2, 5, 10]).exponent(), None, "two short costs are too few");
    assert_eq!(outcome(&[100, 400]).exponent(), Some(2.0));
    assert!(outcome(&[500]).is_too_long(), "nothing to compare with");
}

#[test]
fn refusals_end_a_case_and_fail_it_at_its_first_size() {
    let of = |first, before: fn(usize) -> Vec<String>| {
        let case = Case::new("refused", first, |_| "SELECT 1".to_owned()).after(before);
        let outcome = run_case(&case);
        let is_kept = report(&case, &outcome).1;
        (outcome.costs.len(), outcome.refused.map(|text| text[..4].to_owned()), is_kept)
    };
    let refused = Some("1702".to_owned());
    let wide = |n: usize| vec![syntax::wide_table(n)];
    assert_eq!(of(300, wide), (2, refused.clone(), true), "sizes before the refused one count");
    assert_eq!(of(1_024, wide), (0, refused, false), "nothing is measured");
}
