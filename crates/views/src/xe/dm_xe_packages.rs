//! `sys.dm_xe_packages`: the packages, which are namespaces of events and other objects.

use sos::xe::Package;

use super::guid;
use crate::{Rows, Scope, SystemView};
use ::session::event::registry;
use metadata::column::{ADDRESS, Column, GUID, INT, col, nv, opt, rows, shape, text, unknown};

const COLUMNS: &[Column<&'static Package>] = &[
    col("name", nv(256), |r| text(r.name)),
    col("guid", GUID, |r| guid(r)),
    col("description", nv(3072), |r| text(r.description)),
    unknown("capabilities", INT),
    unknown("capabilities_desc", nv(256)),
    opt("module_guid", nv(60), |r| text(r.guid)),
    unknown("module_address", ADDRESS),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "dm_xe_packages",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, registry::packages())
}
