//! What is printed, and what is written to `target/census.json` for the model of serial resources.

use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use census::{Counts, Row};

use crate::{Class, Counted};

/// Accesses per request below which a row is left out of the printed table.
const PRINTED_FROM: f64 = 0.002;

/// Prints the table and writes the file.
#[expect(clippy::print_stdout, reason = "the table is what `make census` is for")]
pub(crate) fn write(counted: &[Counted]) {
    println!("{}", Table(counted));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    fs::create_dir_all(&folder).expect("a target folder");
    fs::write(folder.join("census.json"), json(counted)).expect("a place for census.json");
}

struct Table<'a>(&'a [Counted]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for counted in self.0 {
            writeln!(f, "\n== {}: per request of {}", counted.name, counted.requests)?;
            writeln!(f, "  stores     rmw   loads  class       owner")?;
            for row in &counted.report.rows {
                self.line(f, counted, row)?;
            }
        }
        Ok(())
    }
}

impl Table<'_> {
    fn line(&self, f: &mut fmt::Formatter<'_>, counted: &Counted, row: &Row) -> fmt::Result {
        for (class, counts) in classes(counted, row) {
            let (stores, rmw, loads) = counted.per_request(&counts);
            if stores + rmw < PRINTED_FROM && (loads < PRINTED_FROM || class != Class::Shared) {
                continue;
            }
            let class = class.name();
            writeln!(
                f,
                "{stores:8.4}{rmw:8.4}{loads:8.4}  {class:<11} {} ({})",
                row.owner, row.place
            )?;
            if std::env::var_os("CENSUS_VIA").is_some() {
                writeln!(f, "        via {}", row.via.join(" < "))?;
                writeln!(f, "        against {}", row.against)?;
            }
        }
        Ok(())
    }
}

/// One row's counts by class; the first one is what scaling depends on.
fn classes(counted: &Counted, row: &Row) -> [(Class, Counts); 4] {
    [
        (counted.class_of(row), row.shared),
        (Class::Pair, row.pairs),
        (Class::Background, row.background),
        (Class::ByBackground, row.by_background),
    ]
}

fn json(counted: &[Counted]) -> String {
    let mut text = String::from("[");
    for (index, one) in counted.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ =
            write!(text, "{comma}\n {{\"workload\":{:?},\"requests\":{},", one.name, one.requests);
        text.push_str("\"per_request\":[");
        let mut comma = "";
        for row in &one.report.rows {
            for (class, counts) in classes(one, row) {
                if counts == Counts::default() {
                    continue;
                }
                let (stores, rmw, loads) = one.per_request(&counts);
                let _ = write!(
                    text,
                    "{comma}\n  {{\"owner\":{:?},\"place\":{:?},\"class\":{:?},\
                     \"stores\":{stores:.6},\"rmw\":{rmw:.6},\"loads\":{loads:.6}}}",
                    row.owner,
                    row.place,
                    class.name(),
                );
                comma = ",";
            }
        }
        text.push_str("]}");
    }
    text.push_str("\n]\n");
    text
}
