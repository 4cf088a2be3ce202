//! The library: finds built-in scalar functions, system views and system procedures by name, for
//! the binder.

pub(crate) use functions::Function;

use crate::catalog::name::Name;
use crate::plan::view::Library;
use metadata::SystemView;

/// Iterates over all scalar functions.
fn scalars() -> impl Iterator<Item = &'static Function> {
    functions::SCALARS.iter().chain(metadata::function::OF_SESSION).flat_map(|list| list.iter())
}

/// Finds a scalar function by its upper-case name (`@@` names included).
pub fn find(name: &str) -> Option<&'static Function> {
    scalars().find(|f| f.name == name)
}

/// The built-in functions and views, as the binder finds them.
pub(crate) const LIBRARY: &dyn Library = &Built;

struct Built;

impl Library for Built {
    fn scalar(&self, name: &str) -> Option<&'static Function> {
        find(name)
    }

    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn plan::view::SystemView> {
        let found = match schema == views::msdb::SCHEMA {
            true => views::msdb::find(name),
            false => find_view(schema, name),
        };
        found.map(|view| view as &dyn plan::view::SystemView)
    }

    fn views(&self) -> Box<dyn Iterator<Item = (i32, &'static dyn plan::view::SystemView)>> {
        Box::new(views().map(|(id, view)| (id, view as &dyn plan::view::SystemView)))
    }

    fn msdb_views(&self) -> Box<dyn Iterator<Item = (i32, &'static dyn plan::view::SystemView)>> {
        let views = views::msdb::all().map(|view| view as &dyn plan::view::SystemView);
        Box::new((MSDB_VIEW_ID..).zip(views))
    }

    fn procedure(&self, id: u16) -> Option<&'static str> {
        ::procedures::find_by_id(id).ok().map(|procedure| procedure.name)
    }

    fn procedures(&self) -> Box<dyn Iterator<Item = (i32, &'static str)>> {
        Box::new((SYSTEM_PROCEDURE_ID..).zip(::procedures::names()))
    }

    fn known_but_missing(&self, database: &str, schema: &str, name: &str) -> Option<String> {
        views::known_but_missing(database, schema, name)
    }
}

/// Iterates over the names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let aggregates = functions::AGGREGATES.iter().flat_map(|list| list.iter()).map(|f| f.name);
    let tables = functions::TABLES.iter().flat_map(|list| list.iter()).map(|f| f.name);
    scalars().map(|f| f.name).chain(aggregates).chain(tables)
}

/// Returns every scalar function, for tests that cover all of them.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    scalars()
}

/// Finds a system view by schema and name. Compatibility views (`sysobjects`) need no schema, and
/// are found under `dbo` too.
fn find_view(schema: &str, name: &str) -> Option<&'static SystemView> {
    let found = |v: &&SystemView| {
        Name::same(v.name, name)
            && (Name::same(v.schema, schema)
                || (v.schema.is_empty()
                    && (Name::same(schema, "sys") || Name::same(schema, "dbo"))))
    };
    registered().find(found)
}

fn registered() -> impl Iterator<Item = &'static SystemView> {
    views::VIEWS.iter().flat_map(|list| list.iter()).chain(procedures::VIEWS).copied()
}

/// Iterates over all system views with their object ids, which are below those of temporary tables.
pub(crate) fn views() -> impl Iterator<Item = (i32, &'static SystemView)> {
    (SYSTEM_VIEW_ID..).zip(registered())
}

/// Object id of the first system view; the others count up from it.
const SYSTEM_VIEW_ID: i32 = -1_000_000_000;

/// Object id of the first table of msdb; the others count up from it.
const MSDB_VIEW_ID: i32 = -1_050_000_000;

/// Object id of the first system procedure; the others count up from it.
const SYSTEM_PROCEDURE_ID: i32 = -1_100_000_000;

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
