//! Functions that tell of the session and the server it is on, and with those of `functions` the library that names in
//! statements are looked up in.
#![expect(
    clippy::ptr_arg,
    reason = "one signature for all functions: some change the number of arguments"
)]

mod activity;
pub(crate) mod app_lock;
mod caught;
mod cursor;
mod files;
mod message;
mod metadata;
mod permission;
mod pointer;
pub(crate) mod principal;
mod property;
mod server;
mod session;
pub(crate) mod system;

pub(crate) use functions::{Call, Evaluate, Function, entry, xml, zones_now};
pub(crate) use server::PRODUCT_VERSION;

use crate::plan::view::{Library, SystemView};

/// Functions about the session, one list per file.
static OF_SESSION: &[&[Function]] = &[
    activity::FUNCTIONS,
    app_lock::FUNCTIONS,
    caught::FUNCTIONS,
    cursor::FUNCTIONS,
    files::FUNCTIONS,
    message::FUNCTIONS,
    metadata::FUNCTIONS,
    permission::FUNCTIONS,
    pointer::FUNCTIONS,
    principal::FUNCTIONS,
    property::FUNCTIONS,
    server::FUNCTIONS,
    system::FUNCTIONS,
];

/// All scalar functions.
fn scalars() -> impl Iterator<Item = &'static Function> {
    functions::SCALARS.iter().chain(OF_SESSION).flat_map(|list| list.iter())
}

/// Finds a scalar function by its upper-case name (`@@` names included).
pub fn find(name: &str) -> Option<&'static Function> {
    scalars().find(|f| f.name == name)
}

/// Functions and views as the binder finds them.
pub(crate) const LIBRARY: &dyn Library = &Built;

struct Built;

impl Library for Built {
    fn scalar(&self, name: &str) -> Option<&'static Function> {
        find(name)
    }

    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn SystemView> {
        crate::view::find(schema, name).map(|view| view as &dyn SystemView)
    }

    fn procedure(&self, id: u16) -> Option<&'static str> {
        crate::proc::find_by_id(id).ok().map(|procedure| procedure.name)
    }

    fn known_but_missing(&self, database: &str, schema: &str, name: &str) -> Option<String> {
        crate::view::known_but_missing(database, schema, name)
    }
}

/// Iterates over the names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let aggregates = functions::AGGREGATES.iter().flat_map(|list| list.iter()).map(|f| f.name);
    let tables = functions::TABLES.iter().flat_map(|list| list.iter()).map(|f| f.name);
    scalars().map(|f| f.name).chain(aggregates).chain(tables)
}

/// Returns every scalar function: what holds for all of them is tested over it.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    scalars()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_known_to_be_missing_is_sorted_and_not_in_the_library() {
        assert!(functions::KNOWN_BUT_MISSING.is_sorted());
        for name in functions::KNOWN_BUT_MISSING {
            let known = super::find(name).is_some() || functions::find_aggregate(name).is_some();
            assert!(!known, "{name} is supported");
        }
    }
}
