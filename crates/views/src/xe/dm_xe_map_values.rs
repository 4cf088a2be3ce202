//! `sys.dm_xe_map_values`: the values of maps, with their names.

use sos::xe::Map;

use super::guid;
use crate::{Rows, Scope, SystemView};
use ::session::event::registry;
use metadata::column::{Column, GUID, INT, col, int, nv, rows, shape, text};

const COLUMNS: &[Column<(&'static Map, u32, &'static str)>] = &[
    col("name", nv(256), |(map, ..)| text(map.name)),
    col("object_package_guid", GUID, |(map, ..)| guid(map.package)),
    col("map_key", INT, |(_, key, _)| int(*key)),
    col("map_value", nv(3072), |(.., value)| text(value)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_map_values",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    let values =
        registry::maps().flat_map(|map| map.values().map(move |(key, value)| (map, key, value)));
    rows(COLUMNS, values)
}
