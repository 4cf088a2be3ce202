//! `syslanguages`: the languages that a session can use; only us_english.

use types::Value;

use crate::{Rows, Scope, SystemView};
use metadata::column::{
    Column, INT, SMALLINT, SYSNAME, TINYINT, col, int, nc, nv, opt, rows, shape, small, text,
};

const COLUMNS: &[Column<()>] = &[
    col("langid", SMALLINT, |()| small(0)),
    col("dateformat", nc(3), |()| text("mdy")),
    col("datefirst", TINYINT, |()| Value::TinyInt(7)),
    opt("upgrade", INT, |()| int(0)),
    col("name", SYSNAME, |()| text("us_english")),
    col("alias", SYSNAME, |()| text("English")),
    opt("months", nv(372), |()| {
        text(
            "January,February,March,April,May,June,July,August,September,October,November,December",
        )
    }),
    opt("shortmonths", nv(132), |()| text("Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec")),
    opt("days", nv(217), |()| text("Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday")),
    col("lcid", INT, |()| int(1_033)),
    col("msglangid", SMALLINT, |()| small(1_033)),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "",
    name: "syslanguages",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(_: &Scope<'_>) -> Rows {
    rows(COLUMNS, [()])
}
