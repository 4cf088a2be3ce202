//! CPU by subsystem and by system call: compares the ledger's shares with those of `perf record`,
//! which samples stacks from outside without using the ledger's labels.

use std::collections::BTreeMap;
use std::time::Duration;

use load::{Result, ServerProcess};

use super::calls::cause_of;
use super::compare::float;
use super::inside::Inside;
use super::loads::{Load, NAMES};
use super::tools::{Tool, stacks};
use crate::setup::connect;

/// How long the load runs while it is sampled.
const WINDOW: Duration = Duration::from_millis(2_000);
/// The largest difference of the shares, in addition to the sampling error of both.
pub(crate) const TOLERANCE: f64 = 0.02;
/// The smallest share that is shown.
const SHARE_MIN: f64 = 0.002;

/// The ledger's name for the work of a function: the first rule that matches the innermost function
/// for which any rule matches. Functions without a rule belong to their caller, as they do under a
/// label.
const RULES: [(&str, &str); 39] = [
    ("sos::ledger", "observation: observing"),
    ("views::", "user: view"),
    ("tds::response", "user: encode"),
    ("tds::value::encode", "user: encode"),
    ("server::sink", "user: encode"),
    ("tds::login7", "user: login"),
    ("server::connection::login", "user: login"),
    ("tds::message", "user: decode"),
    ("tds::rpc", "user: decode"),
    ("tds::request", "user: decode"),
    ("tds::bulk", "user: decode"),
    ("tds::value::decode", "user: decode"),
    ("tsql::", "user: parse"),
    ("binder::", "user: bind"),
    ("optimizer::", "user: plan"),
    ("storage::index", "user: index"),
    ("storage::primitives::epoch", "user: collect"),
    ("storage::store::garbage", "user: collect"),
    ("sos::epoch", "user: collect"),
    ("storage::transaction::Transaction", "user: commit"),
    ("storage::transaction::validate", "user: commit"),
    ("storage::", "user: row"),
    ("engine::", "user: execute"),
    ("executor::", "user: execute"),
    ("interpreter::", "user: execute"),
    ("procedures::", "user: execute"),
    ("ddl::", "user: execute"),
    ("explain::", "user: execute"),
    ("vectorized::", "user: execute"),
    ("metadata::", "user: execute"),
    ("compile::", "user: execute"),
    ("plan::", "user: plan"),
    ("functions::", "user: execute"),
    ("catalog::", "user: execute"),
    ("server::connection", "user: decode"),
    ("session::", "user: execute"),
    ("sos::sched", "user: scheduling"),
    ("sos::sys", "user: scheduling"),
    ("sos::", "user: background"),
];

/// The shares on either side, by the ledger's category and name.
pub(crate) struct Profile {
    pub(crate) load: &'static str,
    pub(crate) samples: usize,
    pub(crate) rows: Vec<Share>,
}

/// A part of all CPU time.
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) ledger: f64,
    pub(crate) perf: f64,
    /// One standard deviation of perf's share.
    pub(crate) error: f64,
}

impl Share {
    /// Returns whether the two agree.
    pub(crate) fn agrees(&self) -> bool {
        (self.ledger - self.perf).abs() <= TOLERANCE + 2.0 * self.error
    }
}

/// Runs the first load under `perf record` and compares the shares.
pub(crate) fn sample(server: &ServerProcess) -> Result<Profile> {
    let mut load = Load::open(NAMES[0], server)?;
    let mut reader = connect(server, "")?;
    let perf = Tool::stacks(server.id())?;
    let before = Inside::read(&mut reader)?;
    load.generator.run(&load.script, WINDOW)?;
    let after = Inside::read(&mut reader)?;
    let places: Vec<String> = stacks(perf)?.iter().map(|stack| place(stack)).collect();
    let rows = shares(&after.since(&before), &places);
    Ok(Profile { load: load.name, samples: places.len(), rows })
}

fn shares(inside: &Inside, places: &[String]) -> Vec<Share> {
    let mut names: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let total = float(inside.total().on_cpu_ns).max(1.0);
    for (place, amounts) in &inside.rows {
        let name = format!("{}: {}", place.category, place.name);
        names.entry(name).or_default().0 += float(amounts.on_cpu_ns) / total;
    }
    let samples = float(i64::try_from(places.len()).unwrap_or(i64::MAX)).max(1.0);
    for place in places {
        names.entry(place.clone()).or_default().1 += 1.0 / samples;
    }
    names.retain(|_, (ledger, perf)| ledger.abs().max(*perf) >= SHARE_MIN);
    let share = |(name, (ledger, perf)): (String, (f64, f64))| {
        let error = (perf * (1.0 - perf) / samples).sqrt();
        Share { name, ledger, perf, error }
    };
    names.into_iter().map(share).collect()
}

/// Returns where the ledger should account a stack, given from the innermost function outwards.
fn place(stack: &[(String, String)]) -> String {
    let in_kernel = stack.first().is_some_and(|(address, _)| address.starts_with("ffff"));
    if in_kernel {
        let call = stack.iter().find_map(|(_, symbol)| symbol.split_once("_sys_"));
        return match call {
            Some((_, name)) => format!("kernel: {}", cause_of(name)),
            None => "kernel: unwrapped".to_owned(),
        };
    }
    let rule = |symbol: &str| RULES.iter().find(|(part, _)| symbol.contains(part));
    let found = stack.iter().find_map(|(_, symbol)| rule(symbol));
    found.map_or("user: ?", |(_, label)| label).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(symbols: &[(&str, &str)]) -> Vec<(String, String)> {
        symbols.iter().map(|(at, symbol)| ((*at).to_owned(), (*symbol).to_owned())).collect()
    }

    #[test]
    fn a_stack_belongs_to_its_innermost_known_function() {
        let outer = ("5c", "interpreter::Runner::statement");
        let found = |inner: &[(&str, &str)]| place(&stack(&[inner, &[outer]].concat()));
        assert_eq!(found(&[]), "user: execute");
        assert_eq!(found(&[("7f", "__memmove_avx")]), "user: execute");
        assert_eq!(found(&[("5c", "<storage::index::hash::HashIndex>::find")]), "user: index");
        let send = [("ffffffff81", "tcp_sendmsg"), ("ffffffff82", "__x64_sys_sendto")];
        assert_eq!(found(&send), "kernel: send");
        assert_eq!(found(&[("ffffffff81", "asm_exc_page_fault")]), "kernel: unwrapped");
    }

    #[test]
    fn shares_of_both_sides_stand_side_by_side() {
        let mut inside = Inside::default();
        for (name, on_cpu_ns) in [("row", 750), ("bind", 250)] {
            let place =
                super::super::inside::Place { category: "user".to_owned(), name: name.to_owned() };
            let amounts = super::super::inside::Amounts { on_cpu_ns, ..Default::default() };
            inside.rows.insert(place, amounts);
        }
        let places = ["user: row", "user: row", "user: parse", "user: row"].map(str::to_owned);
        let shares = shares(&inside, &places);
        let found: Vec<_> =
            shares.iter().map(|share| (share.name.as_str(), share.ledger, share.perf)).collect();
        let wanted =
            [("user: bind", 0.25, 0.0), ("user: parse", 0.0, 0.25), ("user: row", 0.75, 0.75)];
        assert_eq!(found, wanted);
    }
}
