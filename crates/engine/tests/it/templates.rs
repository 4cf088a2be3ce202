//! A statement gives the same rows, types, errors and changes whether or not its constants are
//! parameters: over generated statements with constants of all types on tables with keys and
//! columns of all types.
//!
//! One engine parameterizes every statement that it can, the other none: there an empty statement
//! precedes each.

use engine::session::Session;

use crate::client::{Answer, batch, instance, login};
use crate::dice::Dice;

/// Columns of every table, besides its key.
const COLUMNS: &[(&str, &str)] = &[
    ("c_tiny", "tinyint NULL"),
    ("c_int", "int NOT NULL DEFAULT 7"),
    ("c_big", "bigint NULL"),
    ("c_bit", "bit NULL"),
    ("c_dec", "decimal(9, 2) NULL CHECK (c_dec < 99999)"),
    ("c_money", "smallmoney NULL"),
    ("c_float", "float NULL"),
    ("c_vc", "varchar(6) NULL"),
    ("c_nvc", "nvarchar(6) NOT NULL DEFAULT N'ü'"),
    ("c_ch", "char(6) NULL"),
    ("c_bin", "varbinary(4) NULL"),
    ("c_date", "date NULL"),
    ("c_dt", "datetime NULL"),
    ("c_dt2", "datetime2(2) NULL"),
    ("c_guid", "uniqueidentifier NULL"),
];

/// Types of the key columns.
const KEYS: &[(&str, &str)] = &[
    ("t_int", "int"),
    ("t_tiny", "tinyint"),
    ("t_dec", "decimal(9, 2)"),
    ("t_vc", "varchar(10)"),
    ("t_nvc", "nvarchar(10)"),
    ("t_ch", "char(10)"),
    ("t_date", "date"),
    ("t_bin", "varbinary(8)"),
];

const CONSTANTS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "12",
    "255",
    "256",
    "2147483647",
    "2147483648",
    "-3",
    "1.0",
    "1.50",
    "12.345",
    "99999.99",
    "1e0",
    "2.5e10",
    "$1",
    "$12.3456",
    "''",
    "'1'",
    "'12'",
    "'abc'",
    "'ABC  '",
    "'abcdefg'",
    "N'1'",
    "N'abc'",
    "N'äöü'",
    "N'abcdefg'",
    "'2024-01-02'",
    "'2024-13-45'",
    "'20240102 10:11:12.345'",
    "'0E984725-C51C-4BF4-9960-E1C80E27ABA0'",
    "0x",
    "0x01",
    "0x3132",
    "0x0102030405",
    "NULL",
    "(2)",
];

const OPERATORS: &[&str] = &["=", "=", "<", "<=", ">", ">=", "<>"];

/// Two sessions, on engines with the same content.
struct Pair {
    with: Session,
    without: Session,
}

impl Pair {
    fn new() -> Self {
        let parameterized = instance();
        parameterized.parameterize_at_once();
        let mut pair = Self { with: login(&parameterized), without: login(&instance()) };
        let columns: Vec<String> =
            COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        for (table, ty) in KEYS {
            let columns = columns.join(", ");
            pair.compare(&format!("CREATE TABLE {table} (k {ty} NOT NULL PRIMARY KEY, {columns})"));
        }
        pair
    }

    fn compare(&mut self, text: &str) -> Answer {
        let with = batch(&mut self.with, text);
        let without = batch(&mut self.without, &format!(";{text}"));
        assert_eq!(with.trace, without.trace, "{text}");
        let types = |answer: &Answer| format!("{:?}", answer.columns);
        assert_eq!(types(&with), types(&without), "{text}");
        with
    }
}

impl Dice {
    fn column(&mut self) -> &'static str {
        self.pick(COLUMNS).0
    }

    fn constant(&mut self) -> &'static str {
        self.pick(CONSTANTS)
    }

    fn filter(&mut self) -> String {
        let mut filter = format!("k = {}", self.constant());
        if self.roll(3) == 0 {
            let operator = self.pick(OPERATORS);
            filter += &format!(" AND {} {operator} {}", self.column(), self.constant());
        }
        if self.roll(6) == 0 {
            filter += &format!(" AND {} < {}", self.constant(), self.column());
        }
        if self.roll(6) == 0 {
            filter += &format!(
                " AND {} BETWEEN {} AND {}",
                self.column(),
                self.constant(),
                self.constant()
            );
        }
        filter
    }

    fn statement(&mut self) -> String {
        let table = self.pick(KEYS).0;
        match self.roll(6) {
            0 => format!("SELECT * FROM {table} WHERE {}", self.filter()),
            1 => {
                let (column, constant, filter) = (self.column(), self.constant(), self.filter());
                format!("SELECT {column}, {constant} AS x, k FROM {table} WHERE {filter}")
            }
            2 => {
                let (column, constant, filter) = (self.column(), self.constant(), self.filter());
                format!("UPDATE {table} SET {column} = {constant} WHERE {filter}")
            }
            3 => {
                let (column, constant, filter) = (self.column(), self.constant(), self.filter());
                format!(
                    "UPDATE {table} SET c_int = {}, {column} = {column} + {constant} WHERE {filter}",
                    self.constant()
                )
            }
            4 if self.roll(4) == 0 => format!("DELETE {table} WHERE {}", self.filter()),
            _ => {
                let (column, constant) = (self.column(), self.constant());
                format!("INSERT {table} (k, {column}) VALUES ({}, {constant})", self.constant())
            }
        }
    }
}

#[test]
fn statements_do_the_same_with_parameters_for_their_constants() {
    let mut pair = Pair::new();
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    let (mut rows, mut errors) = (0, 0);
    for turn in 1..=6_000 {
        let answer = pair.compare(&dice.statement());
        rows += answer.sets.concat().len();
        errors += answer.errors.len();
        if turn % 1_000 == 0 {
            for (table, _) in KEYS {
                pair.compare(&format!("SELECT * FROM {table} ORDER BY k"));
            }
        }
    }
    assert!(rows > 100 && errors > 100, "{rows} rows, {errors} errors");
    let prepared = "SELECT COUNT(*) FROM sys.dm_exec_cached_plans WHERE objtype = 'Prepared'";
    let count = |session: &mut Session| -> usize {
        batch(session, prepared).sets[0][0][0].parse().unwrap()
    };
    assert!(count(&mut pair.with) > 100, "most statements had parameters");
    assert_eq!(count(&mut pair.without), 0);
}

#[test]
fn second_text_of_a_kind_makes_a_prepared_plan_that_others_share() {
    let mut session = login(&instance());
    batch(&mut session, "CREATE TABLE shop (id int NOT NULL PRIMARY KEY, name varchar(20))");
    let plans = "SELECT p.objtype, p.usecounts, t.text FROM sys.dm_exec_cached_plans p \
                 CROSS APPLY sys.dm_exec_sql_text(p.plan_handle) t WHERE t.text LIKE '%shop WHERE id =%' \
                 AND t.text NOT LIKE '%dm_exec%' ORDER BY p.objtype";
    for id in 1..=5 {
        let text = format!("SELECT name FROM shop WHERE id = {id} AND name <> 'x'");
        assert!(batch(&mut session, &text).errors.is_empty());
    }
    let shown = batch(&mut session, plans).sets.concat();
    let prepared = "(@1 int)SELECT name FROM shop WHERE id = @1 AND name <> 'x'";
    let adhoc = "SELECT name FROM shop WHERE id = 1 AND name <> 'x'";
    assert_eq!(shown, [["Adhoc", "1", adhoc], ["Prepared", "4", prepared]]);
}

#[test]
fn what_hangs_on_a_constant_has_no_parameter() {
    let instance = instance();
    instance.parameterize_at_once();
    let mut session = login(&instance);
    for text in [
        "CREATE TABLE bare (id int NOT NULL, n int)",
        "CREATE TABLE part (id int NOT NULL PRIMARY KEY, n int)",
        "CREATE INDEX few ON part (n) WHERE n = 3",
        "CREATE TABLE whole (id int NOT NULL PRIMARY KEY, n int)",
        "CREATE VIEW seen AS SELECT id, n FROM whole",
        "CREATE TABLE loose (id int NOT NULL PRIMARY KEY, v sql_variant)",
    ] {
        assert!(batch(&mut session, text).errors.is_empty(), "{text}");
    }
    for text in [
        "SELECT n FROM bare WHERE id = 1",
        "SELECT n FROM part WHERE id = 1",
        "SELECT n FROM seen WHERE id = 1",
        "SELECT 1 FROM whole WHERE n = 1",
        "SELECT n FROM whole WHERE id >= 1",
        "SELECT n FROM whole WITH (NOLOCK) WHERE id = 1",
        "SELECT n FROM whole WHERE id = 1 OR n = 2",
        "SELECT TOP 1 n FROM whole WHERE id = 1",
        "INSERT loose VALUES (1, 'x')",
        "INSERT whole VALUES (1, 2), (3, 4)",
        "SET SHOWPLAN_TEXT ON",
        "SELECT n FROM whole WHERE id = 1",
        "SET SHOWPLAN_TEXT OFF",
    ] {
        assert!(batch(&mut session, text).errors.is_empty(), "{text}");
    }
    let prepared = "SELECT t.text FROM sys.dm_exec_cached_plans p \
                    CROSS APPLY sys.dm_exec_sql_text(p.plan_handle) t WHERE p.objtype = 'Prepared'";
    assert_eq!(batch(&mut session, prepared).sets.concat(), [[""; 1]; 0]);
}

#[test]
fn a_text_that_is_sent_twice_running_has_its_own_values() {
    let instance = instance();
    instance.parameterize_at_once();
    let mut session = login(&instance);
    batch(&mut session, "CREATE TABLE pair (id int NOT NULL PRIMARY KEY, name varchar(20))");
    batch(&mut session, "INSERT pair VALUES (1, 'one'), (2, 'two')");
    for id in [1, 1, 1, 2, 2, 1, 2, 2, 1] {
        let answer = batch(&mut session, &format!("SELECT name FROM pair WHERE id = {id}"));
        assert_eq!(answer.sets.concat(), [[["one", "two"][id - 1]]]);
    }
    // Another definition needs another plan, for all of them.
    batch(&mut session, "ALTER TABLE pair ADD more int NULL");
    for id in [1, 2, 2] {
        let answer = batch(&mut session, &format!("SELECT * FROM pair WHERE id = {id}"));
        assert_eq!(answer.sets.concat()[0].len(), 3);
    }
}
