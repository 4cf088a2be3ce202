//! `Work`: the requests that connections send, encoded once.

use tds::Reset;
use tds::client::{self, ClientSettings, RpcBuilder};

use super::input::call_of;
use super::random::Random;
use super::template::Template;
use super::tpcc;

/// Requests of one kind, which are reported under one name.
#[derive(Debug)]
pub struct Kind {
    /// The kind's name in reports.
    pub name: String,
    /// The kind's weight in a mix.
    pub weight: u32,
    /// Its encoded requests; each iteration sends one.
    pub requests: Vec<Vec<u8>>,
    /// The generator of its requests, if each has newly drawn values.
    maker: Option<Maker>,
}

/// A generator of requests.
#[derive(Debug)]
enum Maker {
    Template(Template),
    Tpcc(tpcc::Requests),
}

impl Kind {
    /// Makes a kind of requests that are encoded once.
    pub fn encoded(name: impl Into<String>, weight: u32, requests: Vec<Vec<u8>>) -> Self {
        Self { name: name.into(), weight, requests, maker: None }
    }

    /// Makes a kind of requests whose values are drawn.
    pub(super) fn drawn(name: String, weight: u32, template: Template) -> Self {
        Self { name, weight, requests: Vec::new(), maker: Some(Maker::Template(template)) }
    }

    /// Makes a kind of one of TPC-C's transactions.
    pub(super) fn tpcc(requests: tpcc::Requests) -> Self {
        let (name, weight) = (requests.transaction.name(), requests.transaction.weight());
        let maker = Some(Maker::Tpcc(requests));
        Self { name: name.to_owned(), weight, requests: Vec::new(), maker }
    }
}

/// All requests of a load, and their order.
#[derive(Debug)]
pub struct Work {
    kinds: Vec<Kind>,
    order: Order,
}

/// The requests of one iteration.
#[derive(Clone, Debug)]
enum Order {
    /// One kind, drawn by weight; the sum of all weights.
    Mixed(u32),
    /// All kinds of one script in turn; the first kind of each script. The scripts are divided
    /// among the connections.
    InTurn(Vec<usize>),
}

/// A position in the work: a kind and one of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) kind: usize,
    pub(super) request: usize,
}

impl Work {
    /// Makes work of scripts of batches, all of which are sent in every iteration. A connection
    /// keeps one script, and scripts are divided evenly. A batch that is only an ODBC call (`{call
    /// p}`) is sent as a procedure call.
    ///
    /// # Errors
    /// If a script is empty.
    pub fn of_scripts(scripts: &[Vec<String>]) -> Result<Self, String> {
        let mut kinds = Vec::new();
        let mut starts = Vec::new();
        for batches in scripts {
            if batches.is_empty() {
                return Err("there is nothing to send".to_owned());
            }
            starts.push(kinds.len());
            for text in batches {
                kinds.push(kind_of(kinds.len(), text));
            }
        }
        match kinds.is_empty() {
            true => Err("there is nothing to send".to_owned()),
            false => Ok(Self { kinds, order: Order::InTurn(starts) }),
        }
    }

    /// Makes work of kinds that are drawn by weight, one request per iteration.
    ///
    /// # Errors
    /// If there are no kinds.
    pub fn of_mix(kinds: Vec<Kind>) -> Result<Self, String> {
        let weights = kinds.iter().map(|kind| kind.weight).sum();
        let has_requests =
            kinds.iter().all(|kind| !kind.requests.is_empty() || kind.maker.is_some());
        match weights > 0 && has_requests {
            true => Ok(Self { kinds, order: Order::Mixed(weights) }),
            false => Err("there is nothing to send".to_owned()),
        }
    }

    /// Makes the first request of each iteration reset the connection, as a connection pool does.
    #[must_use]
    pub fn with_reset(mut self) -> Self {
        let firsts: Vec<usize> = match &self.order {
            Order::Mixed(_) => (0..self.kinds.len()).collect(),
            Order::InTurn(starts) => starts.clone(),
        };
        for first in firsts {
            let kind = &mut self.kinds[first];
            match &mut kind.maker {
                Some(Maker::Template(template)) => template.reset = Reset::Session,
                Some(Maker::Tpcc(requests)) => requests.reset = Reset::Session,
                None => {}
            }
            let requests = &mut kind.requests;
            requests.iter_mut().for_each(|request| client::set_reset(request, Reset::Session));
        }
        self
    }

    /// Makes this one of `shares` shares of a load, so that no two draw the same number of a
    /// sequence.
    #[must_use]
    pub fn with_share(mut self, index: u64, shares: u64) -> Self {
        for kind in &mut self.kinds {
            if let Some(Maker::Template(template)) = &mut kind.maker {
                template.share(index, shares);
            }
        }
        self
    }

    /// Returns the kind of TPC-C's New-Orders, if the work is TPC-C.
    pub(super) fn new_orders(&self) -> Option<usize> {
        let is_one = |kind: &Kind| {
            let wanted = ::tpcc::Transaction::NewOrder;
            matches!(&kind.maker, Some(Maker::Tpcc(requests)) if requests.transaction == wanted)
        };
        self.kinds.iter().position(is_one)
    }

    /// Returns the kinds, in the order of reports.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Returns the encoded request of a turn.
    #[inline]
    pub(super) fn request(&self, turn: Turn) -> &[u8] {
        &self.kinds[turn.kind].requests[turn.request]
    }

    /// Returns the request of a connection's turn, if its values are drawn.
    #[inline]
    pub(super) fn drawn(
        &self,
        turn: Turn,
        connection: usize,
        random: &mut Random,
    ) -> Option<Vec<u8>> {
        self.kinds[turn.kind].maker.as_ref().map(|maker| match maker {
            Maker::Template(template) => template.request(random),
            Maker::Tpcc(requests) => requests.request(connection, random),
        })
    }

    /// Returns the first turn of an iteration of a connection.
    #[inline]
    pub(super) fn first(&self, connection: usize, random: &mut Random) -> Turn {
        let weights = match &self.order {
            Order::InTurn(starts) => {
                return Turn { kind: starts[connection % starts.len()], request: 0 };
            }
            Order::Mixed(weights) => *weights,
        };
        let mut drawn = random.below(weights);
        let mut kind = 0;
        while drawn >= self.kinds[kind].weight {
            drawn -= self.kinds[kind].weight;
            kind += 1;
        }
        let requests = u32::try_from(self.kinds[kind].requests.len()).unwrap_or(u32::MAX);
        let request = if requests == 0 { 0 } else { random.below(requests) as usize };
        Turn { kind, request }
    }

    /// Returns the next turn in the same iteration.
    #[inline]
    pub(super) fn next(&self, turn: Turn) -> Option<Turn> {
        let Order::InTurn(starts) = &self.order else { return None };
        let kind = turn.kind + 1;
        (kind < self.kinds.len() && !starts.contains(&kind)).then_some(Turn { kind, request: 0 })
    }
}

fn kind_of(index: usize, text: &str) -> Kind {
    let settings = ClientSettings::default();
    let request = match call_of(text) {
        Some(procedure) => RpcBuilder::new(settings).call(&procedure).finish(),
        None => client::batch(text, settings),
    };
    Kind::encoded(name_of(index, text), 1, vec![request])
}

/// Returns the first line of a batch, shortened for a table.
fn name_of(index: usize, text: &str) -> String {
    const SHOWN: usize = 40;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut name: String = line.chars().take(SHOWN).collect();
    if name.len() < line.len() {
        name.push_str("..");
    }
    format!("{}: {name}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, weight: u32, requests: usize) -> Kind {
        Kind::encoded(name, weight, vec![vec![1; 30]; requests])
    }

    fn two_batches() -> Work {
        let script = vec!["select 1".to_owned(), "select 2".to_owned()];
        Work::of_scripts(&[script.clone(), script]).expect("work")
    }

    #[test]
    fn a_mix_follows_its_weights() {
        let work = Work::of_mix(vec![kind("a", 1, 1), kind("b", 3, 5)]).expect("work");
        let mut random = Random::new(7);
        let mut counts = [0_u32; 2];
        for _ in 0..40_000 {
            let turn = work.first(0, &mut random);
            counts[turn.kind] += 1;
            assert!(turn.request < work.kinds()[turn.kind].requests.len());
            assert_eq!(work.next(turn), None, "an iteration of a mix is one request");
        }
        // Five standard deviations of a binomial of 40,000 and a quarter.
        assert!(counts[0].abs_diff(10_000) < 434, "{counts:?}");
    }

    #[test]
    fn batches_follow_each_other() {
        let work = two_batches();
        let first = work.first(0, &mut Random::new(1));
        let second = work.next(first).expect("a second batch");
        assert_eq!((first.kind, second.kind, work.next(second)), (0, 1, None));
        let of_other = work.first(1, &mut Random::new(1));
        assert_eq!(of_other.kind, 2, "the second connection has the second script");
    }

    #[test]
    fn a_reset_is_asked_for_once_an_iteration() {
        let work = two_batches();
        let work = work.with_reset();
        let bits: Vec<u8> = work.kinds().iter().map(|k| k.requests[0][1] & 0x08).collect();
        assert_eq!(bits, [8, 0, 8, 0]);
    }

    #[test]
    fn nothing_to_send_is_an_error() {
        assert!(Work::of_scripts(&[]).is_err());
        assert!(Work::of_mix(vec![kind("a", 0, 1)]).is_err());
    }
}
