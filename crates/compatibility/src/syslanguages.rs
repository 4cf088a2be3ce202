//! `syslanguages`: the languages that a session can use.

use types::{Language, Value};

use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, TINYINT, col, int, nc, nv, opt, rows, shape, small, text,
};
use metadata::{Rows, Scope, SystemView};

const COLUMNS: &[Column<Language>] = &[
    col("langid", SMALLINT, |l| small(i16::from(l.id()))),
    col("dateformat", nc(3), |l| text(l.date_format().name())),
    col("datefirst", TINYINT, |l| Value::TinyInt(l.date_first())),
    opt("upgrade", INT, |_| int(0)),
    col("name", SYSNAME, |l| text(l.name())),
    col("alias", SYSNAME, |l| text(l.alias())),
    opt("months", nv(372), |l| text(l.months())),
    opt("shortmonths", nv(132), |l| text(l.months_short())),
    opt("days", nv(217), |l| text(l.days())),
    col("lcid", INT, |l| int(i32::from(l.lcid()))),
    col("msglangid", SMALLINT, |l| {
        small(i16::try_from(l.message_lcid()).expect("the LCIDs of languages are small"))
    }),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "syslanguages",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, Language::all())
}
