//! The system views by name and number: those of the crate `views`, and those that show plans and descriptions of
//! statements, which are made by layers above it.

mod dm_exec_describe_first_result_set;
mod dm_exec_query_plan;
mod dm_exec_text_query_plan;

use metadata::SystemView;

use crate::catalog::name::Name;

/// Views that are made of plans and descriptions.
static OWN: &[&SystemView] = &[
    &dm_exec_describe_first_result_set::VIEW,
    &dm_exec_query_plan::VIEW,
    &dm_exec_text_query_plan::VIEW,
];

/// Finds a system view by schema and name. Compatibility views (`sysobjects`) need no schema, and may
/// be asked for under `dbo` as well.
pub fn find(schema: &str, name: &str) -> Option<&'static SystemView> {
    let found = |v: &&SystemView| {
        Name::same(v.name, name)
            && (Name::same(v.schema, schema)
                || (v.schema.is_empty()
                    && (Name::same(schema, "sys") || Name::same(schema, "dbo"))))
    };
    registered().find(found)
}

fn registered() -> impl Iterator<Item = &'static SystemView> {
    views::VIEWS.iter().flat_map(|list| list.iter()).chain(OWN).copied()
}

/// Iterates over all system views with their object ids, which lie below those of temporary tables.
pub(crate) fn all() -> impl Iterator<Item = (i32, &'static SystemView)> {
    (SYSTEM_VIEW_ID..).zip(registered())
}

/// Object id of the first system view.
const SYSTEM_VIEW_ID: i32 = -1_000_000_000;
