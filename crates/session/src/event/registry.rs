//! The names that event sessions can use: everything of the machine layer and the engine, by
//! package.

use sos::xe::{
    ACTIONS, Action, COMPARATORS, Comparator, Event, MAPS, Map, PACKAGES, PREDICATE_SOURCES,
    Package, PredicateSource, TARGETS, Target, events::SQLOS_EVENTS,
};

use super::{action, list, map};

/// GUIDs of SQL Server's modules with packages; generated scripts contain them.
const MODULES: [&str; 3] = [
    "CE79811F-1A80-40E1-8F5D-7445A3F375E7",
    "03FDA7D0-91BA-45F8-9875-8B6DD0B8E9F2",
    "5B2DA06D-898A-43C8-9309-39BBBE93EBBD",
];

/// Returns whether a GUID identifies a module with packages, or a package.
pub fn is_module(guid: &str) -> bool {
    let packages = packages().map(|package| package.guid);
    MODULES.into_iter().chain(packages).any(|known| known.eq_ignore_ascii_case(guid))
}

/// Returns all packages, in order.
pub fn packages() -> impl Iterator<Item = &'static Package> {
    PACKAGES.iter().copied()
}

/// Returns all events of all packages.
pub fn events() -> impl Iterator<Item = &'static Event> {
    SQLOS_EVENTS.iter().chain(&list::EVENTS).copied()
}

/// Returns all actions of all packages.
pub fn actions() -> impl Iterator<Item = &'static Action> {
    ACTIONS.iter().copied().chain(action::ACTIONS)
}

/// Returns all predicate sources of all packages.
pub fn predicate_sources() -> impl Iterator<Item = &'static PredicateSource> {
    PREDICATE_SOURCES.iter().copied().chain(action::sources())
}

/// Returns all maps of all packages.
pub fn maps() -> impl Iterator<Item = &'static Map> {
    MAPS.iter().chain(map::MAPS).copied()
}

/// Returns all targets, under each of their names.
pub fn targets() -> impl Iterator<Item = &'static Target> {
    TARGETS.iter()
}

/// Returns all comparators with their package: those of SQL's collations belong to the engine.
pub fn comparators() -> impl Iterator<Item = (&'static Package, &'static Comparator)> {
    let package = |comparator: &Comparator| match comparator.name.contains("_sql_") {
        true => &sos::xe::SQLSERVER,
        false => &sos::xe::PACKAGE0,
    };
    COMPARATORS.iter().map(move |comparator| (package(comparator), comparator))
}

/// How the definitions of event sessions are read after a restart.
pub const NAMES: definitions::EventNames =
    definitions::EventNames { event, action, source: predicate_source, target };

fn is(package: &Package, asked: &str) -> bool {
    package.name.eq_ignore_ascii_case(asked)
}

/// Finds an event by package and name.
pub fn event(package: &str, name: &str) -> Option<&'static Event> {
    events().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))
}

/// Finds an action by package and name.
pub fn action(package: &str, name: &str) -> Option<&'static Action> {
    actions().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))
}

/// Finds a predicate source by package and name.
pub fn predicate_source(package: &str, name: &str) -> Option<&'static PredicateSource> {
    predicate_sources().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))
}

/// Finds a target; an old name is an alias of the new one.
pub fn target(package: &str, name: &str) -> Option<&'static Target> {
    let found =
        targets().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))?;
    targets().find(|it| it.kind == found.kind)
}

/// Finds a comparator by package and name.
pub fn comparator(package: &str, name: &str) -> Option<&'static Comparator> {
    let is_it =
        |(of, it): &(&Package, &Comparator)| is(of, package) && it.name.eq_ignore_ascii_case(name);
    comparators().find(is_it).map(|(_, comparator)| comparator)
}
