//! `syscomments`: the texts of modules and constraints, in rows of at most 4,000 characters.

use types::Value;

use ::catalog::Object;
use metadata::column::{
    BIT, Column, INT, SMALLINT, binary, bit, col, int, nv, opt, rows, shape, small, text, vb,
};
use metadata::objects::{modules, tables_and_types};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Piece>] = &[
    col("id", INT, |r| int(r.id)),
    col("number", SMALLINT, |r| small(r.number)),
    col("colid", SMALLINT, |r| small(r.place)),
    col("status", SMALLINT, |_| small(0)),
    opt("ctext", vb(8000), |r| {
        let bytes =
            |text: &String| binary(Value::nvarchar(text).string_bytes().unwrap_or_default());
        r.text.as_ref().map_or(Value::Null, bytes)
    }),
    opt("texttype", SMALLINT, |_| small(2)),
    opt("language", SMALLINT, |_| small(0)),
    opt("encrypted", BIT, |r| bit(r.text.is_none())),
    opt("compressed", BIT, |_| bit(false)),
    opt("text", nv(4000), |r| r.text.as_deref().map_or(Value::Null, text)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "syscomments",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

struct Piece {
    id: i32,
    /// `number`: 1 for procedures, 0 for other objects.
    number: i32,
    place: i32,
    /// `None` for a module WITH ENCRYPTION.
    text: Option<String>,
}

/// UTF-16 units per row.
const PIECE_LENGTH: usize = 4_000;

fn read(scope: &Scope<'_>) -> Rows {
    let is_procedure = |id: i32| {
        scope.database.objects.values().any(|o| o.id() == id && matches!(o, Object::Procedure(_)))
    };
    let mut pieces = Vec::new();
    for module in modules(scope.database) {
        let number = i32::from(is_procedure(module.id));
        match &module.text {
            Some(text) => push(&mut pieces, module.id, number, text),
            None if scope.database.is_encrypted(module.id) => {
                pieces.push(Piece { id: module.id, number, place: 1, text: None });
            }
            None => {}
        }
    }
    let withheld = &scope.database.withheld;
    let tables = tables_and_types(scope.session, scope.database);
    for table in tables.iter().filter(|table| !withheld.contains(&table.id)) {
        for check in &table.checks {
            push(&mut pieces, check.id, 0, &check.text.text);
        }
        for default in table.columns.iter().filter_map(|c| c.default.as_ref()) {
            push(&mut pieces, default.id, 0, &default.text.text);
        }
    }
    rows(COLUMNS, pieces)
}

fn push(pieces: &mut Vec<Piece>, id: i32, number: i32, text: &str) {
    let (mut piece, mut units) = (String::new(), 0);
    let mut place = 1;
    for character in text.chars() {
        if units + character.len_utf16() > PIECE_LENGTH {
            let text = Some(std::mem::take(&mut piece));
            pieces.push(Piece { id, number, place, text });
            place += 1;
            units = 0;
        }
        units += character.len_utf16();
        piece.push(character);
    }
    pieces.push(Piece { id, number, place, text: Some(piece) });
}
