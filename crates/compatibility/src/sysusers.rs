//! `sysusers`: users and roles of a database.

use std::sync::Arc;

use types::Value;

use ::catalog::name::Name;
use ::catalog::{Principal, PrincipalKind};
use metadata::column::{
    Column, DATETIME, INT, SMALLINT, SYSNAME, binary, col, int, opt, or_null, rows, shape, small,
    text, unknown, vb, vc,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("uid", SMALLINT, |r| small(r.principal.id)),
    opt("status", SMALLINT, |_| small(0)),
    col("name", SYSNAME, |r| text(&r.principal.name)),
    opt("sid", vb(85), |r| or_null(r.sid.as_deref(), binary)),
    unknown("roles", vb(2048)),
    col("createdate", DATETIME, |r| r.created.clone()),
    col("updatedate", DATETIME, |r| r.created.clone()),
    opt("altuid", SMALLINT, |r| if r.is_role() { small(1) } else { Value::Null }),
    unknown("password", vb(256)),
    opt("gid", SMALLINT, |r| small(if r.is_role() { r.principal.id } else { 0 })),
    unknown("environ", vc(255)),
    opt("hasdbaccess", INT, |r| int(i32::from(r.has_access()))),
    opt("islogin", INT, |r| int(i32::from(!r.is_role()))),
    opt("isntname", INT, |_| int(0)),
    opt("isntgroup", INT, |_| int(0)),
    opt("isntuser", INT, |_| int(0)),
    opt("issqluser", INT, |r| int(i32::from(!r.is_role()))),
    opt("isaliased", INT, |_| int(0)),
    opt("issqlrole", INT, |r| int(i32::from(r.is_role()))),
    opt("isapprole", INT, |_| int(0)),
];

pub(crate) static VIEW: SystemView =
    SystemView { schema: "", name: "sysusers", columns: || shape(COLUMNS), rows: read, arity: 0 };

struct Row {
    principal: Arc<Principal>,
    created: Value,
    sid: Option<Vec<u8>>,
}

impl Row {
    fn is_role(&self) -> bool {
        self.principal.kind == PrincipalKind::DatabaseRole
    }

    /// Returns `hasdbaccess`. A user with a login has access; guest only if enabled;
    /// INFORMATION_SCHEMA and sys never.
    fn has_access(&self) -> bool {
        !self.is_role() && self.sid.is_some()
    }
}

fn read(scope: &Scope<'_>) -> Rows {
    let logins = &scope.session.catalog.logins;
    let row = |principal: &Arc<Principal>| {
        let login = principal.login.as_ref().and_then(|login| logins.get(&Name::new(login)));
        Row {
            principal: Arc::clone(principal),
            created: scope.database.created.clone(),
            sid: login.map(|login| login.sid.clone()),
        }
    };
    let mut items: Vec<Row> = scope.database.principals.values().map(row).collect();
    items.sort_by_key(|row| row.principal.id);
    rows(COLUMNS, items)
}
