//! The data of TPC-H: its tables as in the specification's clause 1.4, read from the generator's
//! files and sent as bulk loads.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use load::{Answer, Generator, Result};
use tds::client::{self, BulkBuilder, ClientSettings};
use tds::{Column, ColumnFlags};
use types::{Collation, ColumnType, DataType, Decimal, Length, Value};

/// Rows of one bulk load.
const BULK_ROWS: usize = 20_000;

/// The type of a field.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Int,
    /// `decimal(15, 2)`: an amount of money.
    Amount,
    Date,
    /// `char(n)`: a text of fixed length.
    Fixed(u16),
    /// `varchar(n)`: a text of variable length.
    Text(u16),
}

/// A table's name, and its columns in the order of the file.
struct Table {
    name: &'static str,
    columns: &'static [(&'static str, Kind)],
}

use Kind::{Amount, Date, Fixed, Int, Text};

const TABLES: [Table; 8] = [
    Table {
        name: "region",
        columns: &[("r_regionkey", Int), ("r_name", Fixed(25)), ("r_comment", Text(152))],
    },
    Table {
        name: "nation",
        columns: &[
            ("n_nationkey", Int),
            ("n_name", Fixed(25)),
            ("n_regionkey", Int),
            ("n_comment", Text(152)),
        ],
    },
    Table {
        name: "part",
        columns: &[
            ("p_partkey", Int),
            ("p_name", Text(55)),
            ("p_mfgr", Fixed(25)),
            ("p_brand", Fixed(10)),
            ("p_type", Text(25)),
            ("p_size", Int),
            ("p_container", Fixed(10)),
            ("p_retailprice", Amount),
            ("p_comment", Text(23)),
        ],
    },
    Table {
        name: "supplier",
        columns: &[
            ("s_suppkey", Int),
            ("s_name", Fixed(25)),
            ("s_address", Text(40)),
            ("s_nationkey", Int),
            ("s_phone", Fixed(15)),
            ("s_acctbal", Amount),
            ("s_comment", Text(101)),
        ],
    },
    Table {
        name: "partsupp",
        columns: &[
            ("ps_partkey", Int),
            ("ps_suppkey", Int),
            ("ps_availqty", Int),
            ("ps_supplycost", Amount),
            ("ps_comment", Text(199)),
        ],
    },
    Table {
        name: "customer",
        columns: &[
            ("c_custkey", Int),
            ("c_name", Text(25)),
            ("c_address", Text(40)),
            ("c_nationkey", Int),
            ("c_phone", Fixed(15)),
            ("c_acctbal", Amount),
            ("c_mktsegment", Fixed(10)),
            ("c_comment", Text(117)),
        ],
    },
    Table {
        name: "orders",
        columns: &[
            ("o_orderkey", Int),
            ("o_custkey", Int),
            ("o_orderstatus", Fixed(1)),
            ("o_totalprice", Amount),
            ("o_orderdate", Date),
            ("o_orderpriority", Fixed(15)),
            ("o_clerk", Fixed(15)),
            ("o_shippriority", Int),
            ("o_comment", Text(79)),
        ],
    },
    Table {
        name: "lineitem",
        columns: &[
            ("l_orderkey", Int),
            ("l_partkey", Int),
            ("l_suppkey", Int),
            ("l_linenumber", Int),
            ("l_quantity", Amount),
            ("l_extendedprice", Amount),
            ("l_discount", Amount),
            ("l_tax", Amount),
            ("l_returnflag", Fixed(1)),
            ("l_linestatus", Fixed(1)),
            ("l_shipdate", Date),
            ("l_commitdate", Date),
            ("l_receiptdate", Date),
            ("l_shipinstruct", Fixed(25)),
            ("l_shipmode", Fixed(10)),
            ("l_comment", Text(44)),
        ],
    },
];

/// Loads the files of a folder into the existing tables. Calls `loaded` with the name of each table
/// when it is complete, so that tables can be compressed one by one. Returns the number of rows.
pub(super) fn load(
    client: &mut Generator,
    folder: &Path,
    mut loaded: impl FnMut(&mut Generator, &str) -> Result<()>,
) -> Result<u64> {
    let mut rows = 0;
    for table in &TABLES {
        rows += table.load(client, folder)?;
        loaded(client, table.name)?;
    }
    Ok(rows)
}

impl Table {
    fn load(&self, client: &mut Generator, folder: &Path) -> Result<u64> {
        let path = folder.join(format!("{}.tbl", self.name));
        let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut lines = BufReader::new(file).lines();
        let mut rows = 0;
        loop {
            let mut builder = BulkBuilder::new(ClientSettings::default(), &self.columns());
            let mut count = 0;
            for line in lines.by_ref().take(BULK_ROWS) {
                let line = line.map_err(|error| format!("{}: {error}", path.display()))?;
                let values = self.values(&line);
                builder.row(&values.ok_or_else(|| format!("{}: '{line}'", path.display()))?);
                count += 1;
            }
            if count == 0 {
                return Ok(rows);
            }
            rows += count;
            for request in
                [client::batch(&self.announcement(), ClientSettings::default()), builder.finish()]
            {
                Answer::decode(&client.ask(&request)?)?.check()?;
            }
        }
    }

    fn announcement(&self) -> String {
        let column = |&(name, kind): &(&str, Kind)| match kind {
            Int => format!("{name} int"),
            Amount => format!("{name} decimal(15, 2)"),
            Date => format!("{name} date"),
            Fixed(length) => format!("{name} char({length}) COLLATE Latin1_General_BIN2"),
            Text(length) => format!("{name} varchar({length}) COLLATE Latin1_General_BIN2"),
        };
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        format!("INSERT BULK {} ({})", self.name, columns.join(", "))
    }

    fn columns(&self) -> Vec<Column<'static>> {
        let column = |&(name, kind): &(&'static str, Kind)| Column {
            name,
            column_type: ColumnType::nullable(kind.data_type()),
            flags: ColumnFlags::default(),
            table: "",
            numeric: false,
        };
        self.columns.iter().map(column).collect()
    }

    /// Parses a line; each field ends with a bar.
    fn values(&self, line: &str) -> Option<Vec<Value>> {
        let mut fields = line.split('|');
        let values: Option<Vec<_>> =
            self.columns.iter().map(|(_, kind)| kind.value(fields.next()?)).collect();
        values.filter(|_| fields.next() == Some("") && fields.next().is_none())
    }
}

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Int => DataType::Int,
            Amount => DataType::Decimal { precision: 15, scale: 2 },
            Date => DataType::Date,
            Fixed(length) => DataType::Char(length),
            Text(length) => DataType::VarChar(Length::Limited(length)),
        }
    }

    fn value(self, field: &str) -> Option<Value> {
        match self {
            Int => field.parse().ok().map(Value::Int),
            Amount => {
                // Quantities are written as integers.
                let (whole, cents) = field.split_once('.').unwrap_or((field, ""));
                let digits: i128 = format!("{whole}{cents:0<2}").parse().ok()?;
                Decimal::checked(digits, 15, 2).map(Value::Decimal)
            }
            Date => {
                let mut parts = field.split('-').map(|part| part.parse::<i32>().ok());
                let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
                types::date::days_of(year, month, day).map(Value::Date)
            }
            Fixed(_) | Text(_) => Some(Value::varchar(field, Collation::default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_row() {
        let region = &TABLES[0];
        let name = Value::varchar("ASIA", Collation::default());
        let comment = Value::varchar("ges", Collation::default());
        assert_eq!(region.values("2|ASIA|ges|"), Some(vec![Value::Int(2), name, comment]));
        assert_eq!(region.values("2|ASIA|ges"), None);
        assert_eq!(region.values("2|ASIA|"), None);
    }

    #[test]
    fn amounts_and_dates_are_read() {
        let of = |mantissa| Decimal::checked(mantissa, 15, 2).map(Value::Decimal);
        assert_eq!(Amount.value("-711.56"), of(-71_156));
        assert_eq!(Amount.value("17.00"), of(1_700));
        assert_eq!(Amount.value("17"), of(1_700));
        assert_eq!(Date.value("1996-03-13"), types::date::days_of(1996, 3, 13).map(Value::Date));
    }
}
