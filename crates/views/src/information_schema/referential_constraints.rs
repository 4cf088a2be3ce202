//! `INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS`: foreign keys and the keys that they reference.

use ::catalog::ReferenceAction;
use metadata::column::{Column, SYSNAME, ascii, col, opt, rows, shape, text, text_or_null, vc};
use metadata::objects::referenced_key;
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    opt("CONSTRAINT_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("CONSTRAINT_SCHEMA", SYSNAME, |r| text(&r.schema)),
    col("CONSTRAINT_NAME", SYSNAME, |r| text(&r.constraint)),
    opt("UNIQUE_CONSTRAINT_CATALOG", SYSNAME, |r| text(&r.catalog)),
    opt("UNIQUE_CONSTRAINT_SCHEMA", SYSNAME, |r| text_or_null(&r.key_schema)),
    opt("UNIQUE_CONSTRAINT_NAME", SYSNAME, |r| text_or_null(&r.key)),
    opt("MATCH_OPTION", vc(7), |_| ascii("SIMPLE")),
    opt("UPDATE_RULE", vc(11), |r| ascii(rule(r.on_update))),
    opt("DELETE_RULE", vc(11), |r| ascii(rule(r.on_delete))),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "REFERENTIAL_CONSTRAINTS",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    rows(COLUMNS, items(scope))
}

struct Row {
    catalog: String,
    schema: String,
    constraint: String,
    key_schema: String,
    key: String,
    on_update: ReferenceAction,
    on_delete: ReferenceAction,
}

fn rule(action: ReferenceAction) -> &'static str {
    match action {
        ReferenceAction::NoAction => "NO ACTION",
        ReferenceAction::Cascade => "CASCADE",
        ReferenceAction::SetNull => "SET NULL",
        ReferenceAction::SetDefault => "SET DEFAULT",
    }
}

fn items(scope: &Scope<'_>) -> Vec<Row> {
    let mut found = Vec::new();
    for table in scope.database.tables() {
        for foreign in &table.foreign_keys {
            let target = scope.database.table_by_id(foreign.referenced);
            let key = target.and_then(|t| referenced_key(t, foreign));
            found.push(Row {
                catalog: scope.database.name.clone(),
                schema: table.schema.clone(),
                constraint: foreign.name.clone(),
                key_schema: target.map(|t| t.schema.clone()).unwrap_or_default(),
                key: key.map(|k| k.name.clone()).unwrap_or_default(),
                on_update: foreign.on_update,
                on_delete: foreign.on_delete,
            });
        }
    }
    found
}
