//! What event sessions can name: everything of the machine layer and of the engine, by package and name.

use sos::xe::{
    ACTIONS, Action, COMPARATORS, Comparator, Event, MAPS, Map, PACKAGES, PREDICATE_SOURCES,
    Package, PredicateSource, TARGETS, Target, events::SQLOS_EVENTS,
};

use super::{action, list, map};

/// Modules of SQL Server that hold packages; scripts that it writes name them.
const MODULES: [&str; 3] = [
    "CE79811F-1A80-40E1-8F5D-7445A3F375E7",
    "03FDA7D0-91BA-45F8-9875-8B6DD0B8E9F2",
    "5B2DA06D-898A-43C8-9309-39BBBE93EBBD",
];

/// Returns whether a GUID is of a module that holds packages, or of a package.
pub fn is_module(guid: &str) -> bool {
    let packages = packages().map(|package| package.guid);
    MODULES.into_iter().chain(packages).any(|known| known.eq_ignore_ascii_case(guid))
}

/// The packages.
pub fn packages() -> impl Iterator<Item = &'static Package> {
    PACKAGES.iter().copied()
}

/// The events.
pub fn events() -> impl Iterator<Item = &'static Event> {
    SQLOS_EVENTS.iter().chain(&list::EVENTS).copied()
}

/// The actions.
pub fn actions() -> impl Iterator<Item = &'static Action> {
    ACTIONS.iter().copied().chain(action::ACTIONS)
}

/// The predicate sources.
pub fn predicate_sources() -> impl Iterator<Item = &'static PredicateSource> {
    PREDICATE_SOURCES.iter().copied().chain(action::sources())
}

/// The maps.
pub fn maps() -> impl Iterator<Item = &'static Map> {
    MAPS.iter().chain(map::MAPS).copied()
}

/// The targets, under all their names.
pub fn targets() -> impl Iterator<Item = &'static Target> {
    TARGETS.iter()
}

/// The comparators with the package that each belongs to: those of SQL's collations are the engine's.
pub fn comparators() -> impl Iterator<Item = (&'static Package, &'static Comparator)> {
    let package = |comparator: &Comparator| match comparator.name.contains("_sql_") {
        true => &sos::xe::SQLSERVER,
        false => &sos::xe::PACKAGE0,
    };
    COMPARATORS.iter().map(move |comparator| (package(comparator), comparator))
}

fn is(package: &Package, asked: &str) -> bool {
    package.name.eq_ignore_ascii_case(asked)
}

/// Finds an event.
pub fn event(package: &str, name: &str) -> Option<&'static Event> {
    events().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))
}

/// Finds an action.
pub fn action(package: &str, name: &str) -> Option<&'static Action> {
    actions().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))
}

/// Finds a predicate source.
pub fn predicate_source(package: &str, name: &str) -> Option<&'static PredicateSource> {
    predicate_sources().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))
}

/// Finds a target; an old name stands for the new one.
pub fn target(package: &str, name: &str) -> Option<&'static Target> {
    let found =
        targets().find(|it| is(it.package, package) && it.name.eq_ignore_ascii_case(name))?;
    targets().find(|it| it.kind == found.kind)
}

/// Finds a comparator.
pub fn comparator(package: &str, name: &str) -> Option<&'static Comparator> {
    let is_it =
        |(of, it): &(&Package, &Comparator)| is(of, package) && it.name.eq_ignore_ascii_case(name);
    comparators().find(is_it).map(|(_, comparator)| comparator)
}
