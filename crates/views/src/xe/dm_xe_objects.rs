//! `sys.dm_xe_objects`: events, actions, targets, predicate sources, comparators, maps and types.

use sos::xe::{FIELD_TYPES, FieldType, PACKAGE0, Package};
use types::Value;

use super::guid;
use crate::{Rows, Scope, SystemView};
use ::session::event::registry;
use metadata::column::{Column, GUID, INT, col, int, nv, opt, or_null, rows, shape, text};

/// `capabilities` of a target that runs on the thread that fires the event.
const SYNCHRONOUS: i32 = 0x1000;

/// An event, action, target, predicate source or comparator, map or type.
struct Row {
    name: &'static str,
    object_type: &'static str,
    package: &'static Package,
    description: &'static str,
    synchronous: bool,
    of_type: Option<FieldType>,
    size: Option<u32>,
}

const COLUMNS: &[Column<Row>] = &[
    col("name", nv(60), |r| text(r.name)),
    col("object_type", nv(60), |r| text(r.object_type)),
    col("package_guid", GUID, |r| guid(r.package)),
    col("description", nv(256), |r| text(r.description.trim_start())),
    opt("capabilities", INT, |r| if r.synchronous { int(SYNCHRONOUS) } else { Value::Null }),
    opt("capabilities_desc", nv(256), |r| {
        if r.synchronous { text("synchronous") } else { Value::Null }
    }),
    opt("type_name", nv(60), |r| or_null(r.of_type, |t| text(t.name()))),
    opt("type_package_guid", GUID, |r| or_null(r.of_type, |t| guid(t.package()))),
    opt("type_size", INT, |r| or_null(r.size, int)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_objects",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

impl Row {
    fn new(
        object_type: &'static str,
        (package, name): (&'static Package, &'static str),
        description: &'static str,
    ) -> Self {
        Self {
            name,
            object_type,
            package,
            description,
            synchronous: false,
            of_type: None,
            size: None,
        }
    }

    fn typed(self, of_type: FieldType) -> Self {
        Self { of_type: Some(of_type), size: Some(of_type.size()), ..self }
    }
}

fn read(_: &Scope<'_>) -> Rows {
    let events = registry::events().map(|e| Row::new("event", (e.package, e.name), e.description));
    let actions = registry::actions()
        .map(|a| Row::new("action", (a.package, a.name), a.description).typed(a.field_type));
    let sources = registry::predicate_sources()
        .map(|s| Row::new("pred_source", (s.package, s.name), s.description).typed(s.field_type));
    let comparators = registry::comparators()
        .map(|(package, c)| Row::new("pred_compare", (package, c.name), "Compares two values"));
    let targets = registry::targets().map(|t| Row {
        synchronous: t.is_synchronous(),
        ..Row::new("target", (t.package, t.name), t.description)
    });
    let maps = registry::maps().map(|m| Row::new("map", (m.package, m.name), m.description));
    let types = FIELD_TYPES.iter().map(|t| {
        let size = Some(t.size());
        Row { size, ..Row::new("type", (&PACKAGE0, t.name()), "A type of values") }
    });
    let all = events.chain(actions).chain(sources).chain(comparators).chain(targets);
    rows(COLUMNS, all.chain(maps).chain(types))
}
