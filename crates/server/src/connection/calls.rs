//! `Calls`: procedure calls by name that a worker's connections repeat, with everything worked out that
//! does not change from call to call: how parameters begin, which variable each value goes to, how
//! OUTPUT values are returned.
//!
//! One cache per worker, as that of parameter heads (`heads.rs`), and for the same reason. A place is
//! found by a hash of name and database. A call is worked out when its name comes a second time,
//! and again when it did not fit, after a number of calls that doubles each time: a name that
//! means something else on every connection costs little.

use engine::session::{Entered, KnownCall, RpcParameter, Session};
use tds::{ParameterHead, ProtocolError, ReturnHead, Returned, RpcReader, TdsVersion};

/// Number of places; a power of two.
const PLACES: usize = 16;
/// The longest name that is cached, in bytes of UTF-16.
const NAME_BYTES_MAX: usize = 512;
/// The most parameters of a call that is cached.
const PARAMETERS_MAX: usize = 32;
/// Most calls that take the general path before a call is worked out again.
const PENALTY_MAX: u32 = 1_023;

/// Number of calls that took the known path.
#[cfg(test)]
pub(crate) static KNOWN_CALLS: sos::sync::AtomicU64 = sos::sync::AtomicU64::new(0);

/// The calls of a worker.
#[derive(Default)]
pub(crate) struct Calls {
    places: Vec<Place>,
}

/// A name and what is known of its call.
#[derive(Default)]
struct Place {
    /// The name in UTF-16LE, as clients sent it.
    name: Vec<u8>,
    known: Option<Box<Known>>,
    /// Calls to wait before it is worked out, and for how many the next time.
    wait: u32,
    penalty: u32,
}

/// A call that has been worked out.
pub(super) struct Known {
    place: usize,
    version: TdsVersion,
    heads: Vec<ParameterHead>,
    /// Heads of OUTPUT values, by the place of the argument.
    pub(super) returns: Vec<Option<ReturnHead>>,
    pub(super) call: KnownCall,
}

impl Calls {
    /// Moves out what is known of a call. [`Calls::put_back`] returns it.
    #[inline]
    pub(super) fn take(
        &mut self,
        name: &[u8],
        database: &str,
        version: TdsVersion,
    ) -> Option<Box<Known>> {
        let place = self.places.get_mut(place_of(name, database))?;
        if place.name != name {
            return None;
        }
        place.known.take_if(|known| known.version == version)
    }

    /// Returns what was moved out, for a call that has run.
    #[inline]
    pub(super) fn put_back(&mut self, known: Box<Known>) {
        #[cfg(test)]
        KNOWN_CALLS.fetch_add(1, sos::sync::Ordering::Relaxed);
        self.places[known.place].penalty = 0;
        self.keep(known);
    }

    /// Returns what was moved out, for a call that takes the general path this time.
    #[inline]
    pub(super) fn keep(&mut self, known: Box<Known>) {
        let place = known.place;
        self.places[place].known = Some(known);
    }

    /// Counts a call that takes the general path; returns whether to work it out after it has run.
    pub(super) fn wants(&mut self, name: &[u8], database: &str) -> bool {
        if name.len() > NAME_BYTES_MAX {
            return false;
        }
        if self.places.is_empty() {
            self.places.resize_with(PLACES, Place::default);
        }
        let place = &mut self.places[place_of(name, database)];
        if place.wait > 0 {
            place.wait -= 1;
            return false;
        }
        if place.name != name {
            let name = name.to_vec();
            *place = Place { name, ..Place::default() };
            return false;
        }
        place.wait = place.penalty;
        place.penalty = (place.penalty * 2 + 1).min(PENALTY_MAX);
        true
    }

    /// Works out a call that has just run. `reader` is before its parameters.
    pub(super) fn learn(
        &mut self,
        (name, text): (&[u8], &str),
        (session, version): (&Session, TdsVersion),
        mut reader: RpcReader<'_>,
        parameters: &[RpcParameter],
    ) {
        let place = place_of(name, &session.state().identity.database);
        if parameters.len() > PARAMETERS_MAX || self.places[place].name != name {
            return;
        }
        let mut heads = Vec::with_capacity(parameters.len());
        for _ in parameters {
            let (Some(head), Ok(Some(_))) = (reader.next_head(), reader.next_parameter()) else {
                return;
            };
            heads.push(head);
        }
        let Some(call) = session.learn(text, parameters) else { return };
        let mut returns = Vec::new();
        for output in call.outputs() {
            let ordinal = usize::from(output.ordinal);
            returns.resize_with(ordinal + 1, || None);
            let head = &heads[ordinal];
            let returned = Returned {
                ordinal: output.ordinal,
                name: head.name(),
                column_type: output.column.column_type,
                numeric: head.numeric() || output.column.traits.numeric,
            };
            returns[ordinal] = Some(ReturnHead::new(&returned, version));
        }
        let known = Known { place, version, heads, returns, call };
        self.places[place].known = Some(Box::new(known));
    }
}

impl Known {
    /// Reads the parameters into the variables of the call. Returns false if they are not those of
    /// the known call: then the reader is somewhere among them.
    ///
    /// # Errors
    /// If a value is malformed.
    #[inline]
    pub(super) fn read(
        &self,
        reader: &mut RpcReader<'_>,
        entered: &mut Entered,
    ) -> Result<bool, ProtocolError> {
        for (argument, head) in self.heads.iter().enumerate() {
            let Some(value) = reader.next_value(head)? else { return Ok(false) };
            if !entered.put(&self.call, argument, value) {
                return Ok(false);
            }
        }
        reader.ends_call()
    }
}

/// Returns the place of a name. Names differ in their ends, databases mostly in their lengths.
fn place_of(name: &[u8], database: &str) -> usize {
    const SPREAD: usize = 0x9E37_79B9;
    let end = name.len().saturating_sub(16);
    let mixed = name[end..]
        .iter()
        .step_by(2)
        .fold(name.len() + (database.len() << 7), |hash, byte| hash * 31 + usize::from(*byte));
    (mixed.wrapping_mul(SPREAD) >> 20) & (PLACES - 1)
}
