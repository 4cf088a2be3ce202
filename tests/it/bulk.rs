//! INSERT BULK and the message that brings its rows ([MS-TDS] 2.2.6.1), in the forms that drivers send.

use tds::client::{BulkBuilder, Token};
use tds::{Column, ColumnFlags};
use types::data_type::Length;
use types::{DataType, Value};

use crate::client::{Client, Tokens, column_type, error_numbers, rows};
use crate::server::ServerProcess;

const INT: DataType = DataType::Int;

struct Loader {
    client: Client,
    server: ServerProcess,
}

impl Loader {
    /// A server, a session, and a table made by the batch.
    fn new(batch: &str) -> Self {
        let server = ServerProcess::start(&[]);
        let client = Client::log_in(server.address);
        let mut loader = Self { client, server };
        loader.run(batch);
        loader
    }

    fn run(&mut self, batch: &str) -> Vec<Vec<Value>> {
        let tokens = self.client.batch(batch);
        assert_eq!(error_numbers(&tokens), [0; 0], "{batch}: {tokens:?}");
        rows(&tokens)
    }

    /// The first column of a query, as text.
    fn texts(&mut self, query: &str) -> Vec<String> {
        let text = |row: Vec<Value>| match &row[0] {
            Value::Int(number) => number.to_string(),
            other => other.as_text(types::Collation::default()).unwrap_or("NULL".to_owned()),
        };
        self.run(query).into_iter().map(text).collect()
    }

    /// Announces a load; returns the numbers of all messages.
    fn announce(&mut self, list: &str) -> Vec<i32> {
        messages(&self.client.batch(&format!("INSERT BULK t {list}")))
    }

    /// Sends rows of these types.
    fn send(&mut self, types: &[DataType], rows: &[Vec<Value>]) -> Vec<i32> {
        let column = |data_type: &DataType| Column {
            name: "c",
            column_type: column_type(*data_type),
            flags: ColumnFlags::default(),
            table: "t",
            numeric: false,
        };
        let columns: Vec<Column<'_>> = types.iter().map(column).collect();
        let mut load = BulkBuilder::new(self.client.settings, &columns);
        rows.iter().for_each(|row| load.row(row));
        self.client.send(&load.finish());
        messages(&self.client.response())
    }

    /// Announces and sends a load; returns the numbers of what was answered to the rows.
    fn load(&mut self, list: &str, types: &[DataType], rows: &[Vec<Value>]) -> Vec<i32> {
        assert_eq!(self.announce(list), [0; 0], "{list}");
        self.send(types, rows)
    }
}

fn messages(tokens: &Tokens) -> Vec<i32> {
    let number = |token: &Token| match token {
        Token::Message(message) => Some(message.number),
        _ => None,
    };
    tokens.iter().filter_map(number).collect()
}

fn ints(values: &[i32]) -> Vec<Vec<Value>> {
    values.iter().map(|value| vec![Value::Int(*value)]).collect()
}

fn varchar(text: &str) -> Value {
    Value::varchar(text, types::Collation::default())
}

/// A value of a fixed length may come shorter; it is stored as INSERT stores it.
#[test]
fn fixed_lengths_are_padded_and_checked() {
    let mut loader = Loader::new(
        "CREATE TABLE t (c char(4), n nchar(4), b binary(4), v varbinary(4), w varchar(4))",
    );
    let list = "(c char(4), n nchar(4), b binary(4), v varbinary(4), w varchar(4))";
    let limited = Length::Limited(4);
    let types = [
        DataType::Char(4),
        DataType::NChar(4),
        DataType::Binary(4),
        DataType::VarBinary(limited),
        DataType::VarChar(limited),
    ];
    let bytes = |bytes: &[u8]| Value::VarBinary(types::Bytes::copy_from(bytes));
    let row = vec![varchar("ab"), Value::nvarchar("cd"), bytes(&[1]), bytes(&[2]), varchar("ef")];
    assert_eq!(loader.load(list, &types, &[row]), [0; 0]);
    let shown = loader.texts(
        "SELECT CONCAT('[', c, ']', n, ']', w, ']', CONVERT(varchar(20), b, 1), CONVERT(varchar(20), v, 1)) FROM t",
    );
    assert_eq!(shown, ["[ab  ]cd  ]ef]0x010000000x02"]);
    // Longer than the table's column: 2628 for text and 8152 or 2628 for bytes, and nothing of the load stays.
    let long = DataType::VarChar(Length::Limited(9));
    let rows = [vec![varchar("fits")], vec![varchar("not so")]];
    assert_eq!(loader.load("(c varchar(9))", &[long], &rows), [2628, 3621]);
    assert_eq!(loader.texts("SELECT COUNT(*) FROM t"), ["1"]);
}

/// mssql-jdbc and tedious send dates and times as text where the source of a copy has text.
#[test]
fn dates_and_times_come_as_text() {
    let mut loader =
        Loader::new("CREATE TABLE t (d date, s datetime2(3), z datetimeoffset(0), y datetime)");
    let text = DataType::VarChar(Length::Limited(40));
    let row = [
        "2024-02-29",
        "2024-02-29 12:34:56.789",
        "2024-02-29 12:34:56 +02:00",
        "2024-02-29T01:02:03",
    ];
    let row = row.map(varchar).to_vec();
    let list = "(d varchar(40), s varchar(40), z varchar(40), y varchar(40))";
    assert_eq!(loader.load(list, &[text; 4], &[row]), [0; 0]);
    let same = "SELECT COUNT(*) FROM t WHERE d = '20240229' AND s = '2024-02-29 12:34:56.789' \
                AND z = '2024-02-29 12:34:56 +02:00' AND y = '2024-02-29T01:02:03'";
    assert_eq!(loader.texts(same), ["1"]);
    let wrong = loader.load("(d varchar(40))", &[text], &[vec![varchar("not a day")]]);
    assert_eq!(wrong, [241]);
}

/// The table's name is one part in a load's COLMETADATA, and the values have text pointers.
#[test]
fn large_values_of_the_old_types_are_loaded() {
    let mut loader = Loader::new("CREATE TABLE t (t text, n ntext, i image)");
    let types = [DataType::Text, DataType::NText, DataType::Image];
    let long = "x".repeat(20_000);
    let row = |text: &str| {
        vec![
            varchar(text),
            Value::nvarchar(text),
            Value::VarBinary(text.as_bytes().to_vec().into()),
        ]
    };
    let rows = [row("a"), row(&long), vec![Value::Null, Value::Null, Value::Null]];
    assert_eq!(loader.load("(t text, n ntext, i image)", &types, &rows), [0; 0]);
    let lengths = "SELECT CONCAT(DATALENGTH(t), ' ', DATALENGTH(n), ' ', DATALENGTH(i)) FROM t";
    assert_eq!(loader.texts(lengths), ["1 2 1", "20000 40000 20000", "  "]);
}

/// Without KEEP_NULLS a NULL is the column's default (SqlBulkCopyOptions.KeepNulls).
#[test]
fn nulls_are_defaults_unless_they_are_kept() {
    let mut loader = Loader::new("CREATE TABLE t (n int NULL DEFAULT 7, m int NULL)");
    let row = [vec![Value::Null, Value::Null], vec![Value::Int(1), Value::Int(2)]];
    assert_eq!(loader.load("(n int, m int)", &[INT, INT], &row), [0; 0]);
    assert_eq!(loader.load("(n int, m int) WITH (KEEP_NULLS)", &[INT, INT], &row[..1]), [0; 0]);
    assert_eq!(loader.load("(m int)", &[INT], &ints(&[3])), [0; 0]);
    let shown = loader.texts("SELECT CONCAT(n, ',', m) FROM t");
    assert_eq!(shown, ["7,", "1,2", ",", "7,3"]);
}

/// The rule and its reasons: docs/decisions/0210.
#[test]
fn identity_values_are_kept_where_the_list_names_the_column() {
    let mut loader = Loader::new("CREATE TABLE t (id int IDENTITY(1, 1) PRIMARY KEY, n int)");
    let two = |a: i32, b: i32| vec![vec![Value::Int(a), Value::Int(b)]];
    assert_eq!(loader.load("(n int)", &[INT], &ints(&[10])), [0; 0]);
    assert_eq!(loader.load("(id int, n int)", &[INT, INT], &two(50, 20)), [0; 0]);
    let with = "(id int, n int) WITH (KEEP_IDENTITY)";
    assert_eq!(loader.load(with, &[INT, INT], &two(60, 30)), [0; 0]);
    assert_eq!(loader.load("(n int) WITH (KEEP_IDENTITY)", &[INT], &ints(&[40])), [0; 0]);
    let shown = loader.texts("SELECT CONCAT(id, ' ', n) FROM t ORDER BY id");
    assert_eq!(shown, ["1 10", "50 20", "60 30", "61 40"]);
    // IDENTITY_INSERT is as it was.
    assert_eq!(error_numbers(&loader.client.batch("INSERT t (id, n) VALUES (70, 1)")), [544]);
}

/// CHECK_CONSTRAINTS off: constraints are not looked at, and are not trusted from then on (sys.check_constraints).
#[test]
fn constraints_hold_where_that_is_said_and_are_else_distrusted() {
    let mut loader = Loader::new(
        "CREATE TABLE p (id int PRIMARY KEY); \
         CREATE TABLE t (n int CONSTRAINT ck CHECK (n > 0), r int CONSTRAINT fk REFERENCES p)",
    );
    let trust = "SELECT CONCAT(name, is_not_trusted, is_disabled) FROM sys.check_constraints \
                 UNION ALL SELECT CONCAT(name, is_not_trusted, is_disabled) FROM sys.foreign_keys";
    let checked = "(n int, r int) WITH (CHECK_CONSTRAINTS)";
    let row = |n: i32, r: Value| vec![vec![Value::Int(n), r]];
    assert_eq!(loader.load(checked, &[INT, INT], &row(1, Value::Null)), [0; 0]);
    assert_eq!(loader.texts(trust), ["ck00", "fk00"]);
    assert_eq!(loader.load(checked, &[INT, INT], &row(-1, Value::Null)), [547, 3621]);
    assert_eq!(loader.load(checked, &[INT, INT], &row(1, Value::Int(9))), [547, 3621]);
    assert_eq!(loader.load("(n int, r int)", &[INT, INT], &row(-1, Value::Int(9))), [0; 0]);
    assert_eq!(loader.texts(trust), ["ck10", "fk10"]);
    assert_eq!(error_numbers(&loader.client.batch("INSERT t VALUES (-1, NULL)")), [547]);
    loader.run("ALTER TABLE t WITH NOCHECK CHECK CONSTRAINT ck");
    assert_eq!(loader.texts(trust), ["ck10", "fk10"]);
    loader.run("DELETE t WHERE n < 0; ALTER TABLE t WITH CHECK CHECK CONSTRAINT ALL");
    assert_eq!(loader.texts(trust), ["ck00", "fk00"]);
    loader.run("ALTER TABLE t WITH NOCHECK ADD CONSTRAINT late CHECK (n < 0)");
    assert_eq!(
        loader.texts(
            "SELECT CAST(is_not_trusted AS int) FROM sys.check_constraints WHERE name = 'late'"
        ),
        ["1"]
    );
}

#[test]
fn triggers_fire_once_for_a_load_where_that_is_said() {
    let mut loader = Loader::new("CREATE TABLE t (n int); CREATE TABLE seen (n int)");
    loader.run("CREATE TRIGGER g ON t AFTER INSERT AS INSERT seen SELECT COUNT(*) FROM inserted");
    let many: Vec<i32> = (1..=3_000).collect();
    assert_eq!(loader.load("(n int)", &[INT], &ints(&many)), [0; 0]);
    assert_eq!(loader.load("(n int) WITH (FIRE_TRIGGERS)", &[INT], &ints(&many)), [0; 0]);
    assert_eq!(loader.texts("SELECT n FROM seen"), ["3000"]);
}

/// All rows of a message or none; in the client's transaction, all since the load began.
#[test]
fn a_load_that_fails_leaves_nothing() {
    let mut loader = Loader::new("CREATE TABLE t (n int PRIMARY KEY)");
    let mut many: Vec<i32> = (1..=5_000).collect();
    many.push(7);
    assert_eq!(loader.load("(n int)", &[INT], &ints(&many)), [2627, 3621]);
    assert_eq!(loader.texts("SELECT COUNT(*) FROM t"), ["0"]);
    loader.run("BEGIN TRANSACTION; INSERT t VALUES (-1)");
    assert_eq!(loader.load("(n int)", &[INT], &ints(&many)), [2627, 3621]);
    assert_eq!(loader.texts("SELECT CONCAT(COUNT(*), ' ', @@TRANCOUNT) FROM t"), ["1 1"]);
    loader.run("ROLLBACK");
}

/// 4817 and 4818 are warnings about the hint, 4819 is what it says being untrue.
#[test]
fn order_is_checked_where_it_is_that_of_the_clustered_index() {
    let mut loader = Loader::new("CREATE TABLE t (n int PRIMARY KEY, m int)");
    let ordered =
        "(n int) WITH (ORDER (n ASC), TABLOCK, ROWS_PER_BATCH = 10, KILOBYTES_PER_BATCH = 4)";
    assert_eq!(loader.load(ordered, &[INT], &ints(&[1, 2, 3])), [0; 0]);
    assert_eq!(loader.load(ordered, &[INT], &ints(&[5, 4])), [4819]);
    assert_eq!(loader.load("(n int) WITH (ORDER (m))", &[INT], &ints(&[9, 8])), [0; 0]);
    assert_eq!(loader.announce("(n int) WITH (ORDER (nowhere))"), [4817]);
    assert_eq!(loader.send(&[INT], &ints(&[11, 10])), [0; 0]);
    assert_eq!(loader.announce("(n int) WITH (ORDER (n, n))"), [4818]);
    assert_eq!(loader.send(&[INT], &ints(&[12])), [0; 0]);
    assert_eq!(loader.texts("SELECT COUNT(*) FROM t"), ["8"]);
}

#[test]
fn a_wrong_list_is_told_by_the_statement() {
    let mut loader = Loader::new("CREATE TABLE t (n int, c AS n + 1, v rowversion)");
    for (list, number) in [
        ("(nowhere int)", 207),
        ("(n int, n int)", 264),
        ("(c int)", 271),
        ("(v timestamp)", 273),
        ("(n date)", 206),
        ("(n int) WITH (NO_SUCH_WORD)", 40517),
    ] {
        assert_eq!(loader.announce(list), [number], "{list}");
    }
    assert_eq!(messages(&loader.client.batch("INSERT BULK nowhere (n int)")), [208]);
    // What comes without an announcement is refused, and the session goes on.
    assert_eq!(loader.send(&[INT], &ints(&[1])), [40517]);
    assert_eq!(loader.announce("(n int)"), [0; 0]);
    loader.run("SELECT 1");
    assert_eq!(loader.send(&[INT], &ints(&[1])), [40517]);
    assert_eq!(loader.texts("SELECT COUNT(*) FROM t"), ["0"]);
}

/// Bytes that are no rows of the load: 4804, 4815 and 4816, and no end of the connection.
#[test]
fn wrong_bytes_end_the_load_and_nothing_else() {
    let mut loader = Loader::new("CREATE TABLE t (n int, s varchar(3))");
    let two = [vec![Value::Int(1), Value::Int(2)]];
    assert_eq!(loader.load("(n int)", &[INT, INT], &two), [4804]);
    let uuid = [vec![Value::UniqueIdentifier([1; 16])]];
    assert_eq!(loader.load("(n int)", &[DataType::UniqueIdentifier], &uuid), [4816]);
    // The value is longer than COLMETADATA says: the header of a packet, COLMETADATA, ROW.
    let mut stream =
        vec![0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0xA7, 3, 0, 9, 4, 0xD0, 0, 0x34, 1, b's', 0];
    stream.extend_from_slice(&[0xD1, 5, 0, b'a', b'b', b'c', b'd', b'e']);
    assert_eq!(loader.announce("(s varchar(3))"), [0; 0]);
    let sent = |loader: &mut Loader, stream: &[u8]| {
        let length = u16::try_from(stream.len() + 8).expect("a short stream").to_be_bytes();
        let mut packet = vec![7, 1, length[0], length[1], 0, 0, 1, 0];
        packet.extend_from_slice(stream);
        loader.client.send(&packet);
        messages(&loader.client.response())
    };
    assert_eq!(sent(&mut loader, &stream), [4815]);
    for end in 1..stream.len() {
        assert_eq!(loader.announce("(s varchar(3))"), [0; 0]);
        let numbers = sent(&mut loader, &stream[..end]);
        let is_told = matches!(numbers[..], [4804 | 4815 | 4816]) || numbers.is_empty();
        assert!(is_told, "{end}: {numbers:?}");
    }
    assert_eq!(loader.texts("SELECT COUNT(*) FROM t"), ["0"]);
}

/// TABLOCK keeps others out until the load's transaction ends.
#[test]
fn a_table_lock_is_held_to_the_end_of_the_transaction() {
    let mut loader = Loader::new("CREATE TABLE t (n int PRIMARY KEY)");
    let mut other = Client::log_in(loader.server.address);
    loader.run("BEGIN TRANSACTION");
    assert_eq!(loader.load("(n int) WITH (TABLOCK)", &[INT], &ints(&[1])), [0; 0]);
    let insert = "SET LOCK_TIMEOUT 50; INSERT t VALUES (2)";
    assert_eq!(error_numbers(&other.batch(insert)), [1222]);
    loader.run("COMMIT");
    assert_eq!(error_numbers(&other.batch(insert)), [0; 0]);
}
