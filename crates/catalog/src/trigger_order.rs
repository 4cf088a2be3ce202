//! The order of triggers: which one sp_settriggerorder has made the first or the last for an event.
//!
//! A trigger has a place per event. The others fire between the first and the last, in the order in
//! which they were created. ALTER TRIGGER makes a new definition, which has no place.

use crate::ModuleDef;

/// The place of a trigger among those that fire for the same event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TriggerPlace {
    /// `is_first`: before all others.
    First,
    /// No place: between the first and the last.
    None,
    /// `is_last`: after all others.
    Last,
}

impl TriggerPlace {
    /// Returns the place that `@order` of sp_settriggerorder names, in any case.
    pub fn find(order: &str) -> Option<Self> {
        [("FIRST", Self::First), ("NONE", Self::None), ("LAST", Self::Last)]
            .into_iter()
            .find_map(|(name, place)| order.eq_ignore_ascii_case(name).then_some(place))
    }
}

/// The first or last place that a trigger has for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerOrder {
    /// Name of the event in upper case: `INSERT`, `CREATE_TABLE`.
    pub event: String,
    /// Whether it is the first or the last for the event.
    pub place: TriggerPlace,
}

impl ModuleDef {
    /// Returns the place of the trigger for an event.
    pub fn place_for(&self, event: &str) -> TriggerPlace {
        let found = self.order.iter().find(|order| order.event == event);
        found.map_or(TriggerPlace::None, |order| order.place)
    }

    /// Sets the place of the trigger for an event.
    pub fn set_place(&mut self, event: &str, place: TriggerPlace) {
        self.order.retain(|order| order.event != event);
        if place != TriggerPlace::None {
            self.order.push(TriggerOrder { event: event.to_owned(), place });
        }
    }
}
