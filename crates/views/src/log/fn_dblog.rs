//! `sys.fn_dblog(@start, @end)`: the records of the log, between two LSNs. An LSN is segment, batch
//! and record.
//!
//! The log is that of all databases: shown are the transactions that have changed the current one.
//! A table that is dropped cannot be told apart by database, so its records are shown everywhere.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use durable::{Change, Position};
use plan::long::Growing;
use storage::TableId;
use types::date::{Civil, civil_of};
use types::{Error, Value};

use metadata::column::{
    BIGINT, Column, INT, SMALLINT, big, col, list, nv, opt, shape, small, text, unknown, vb,
};
use metadata::{RowSet, Rows, Scope, SystemView};

const COLUMNS: &[Column<Row>] = &[
    col("Current LSN", nv(23), |r| text(&lsn(r.at))),
    col("Operation", nv(31), |r| text(r.operation)),
    col("Context", nv(31), |r| text(r.context)),
    col("Transaction ID", nv(14), |r| text(&transaction_id(r.begin))),
    unknown("Log Record Length", SMALLINT),
    unknown("Previous LSN", nv(23)),
    opt("AllocUnitId", BIGINT, |r| r.table.map_or(Value::Null, |table| big(table.0))),
    opt("AllocUnitName", nv(387), |r| r.name.as_deref().map_or(Value::Null, text)),
    unknown("Page ID", nv(14)),
    unknown("Slot ID", INT),
    opt("PartitionId", BIGINT, |r| r.table.map_or(Value::Null, |table| big(table.0))),
    unknown("SPID", INT),
    opt("Begin Time", nv(24), |r| r.time("LOP_BEGIN_XACT")),
    opt("Transaction Name", nv(33), |r| match r.operation {
        "LOP_BEGIN_XACT" => text("user_transaction"),
        _ => Value::Null,
    }),
    unknown("Transaction SID", vb(85)),
    opt("End Time", nv(24), |r| r.time("LOP_COMMIT_XACT")),
    unknown("Lock Information", nv(256)),
    col("Number of Columns", SMALLINT, |r| small(r.columns)),
    opt("Description", nv(256), |r| r.description()),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "fn_dblog",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 2,
};

struct Row {
    at: Position,
    operation: &'static str,
    context: &'static str,
    /// Where its transaction begins.
    begin: Position,
    table: Option<TableId>,
    name: Option<Arc<str>>,
    utc_100ns: u64,
    columns: usize,
    subject: Subject,
}

/// What a record changes. A group of records may have a hundred thousand: their texts are made when they
/// are shown.
enum Subject {
    Transaction,
    Row { part: u8, id: u64 },
    Definition(String),
}

impl Row {
    /// Returns the commit time, for one kind of record only.
    fn time(&self, of: &str) -> Value {
        if self.operation == of { text(&time(self.utc_100ns)) } else { Value::Null }
    }

    fn description(&self) -> Value {
        match &self.subject {
            Subject::Transaction => Value::Null,
            Subject::Row { part: 0, id } => text(&format!("row {id}")),
            Subject::Row { part, id } => text(&format!("row {id} of internal table {part}")),
            Subject::Definition(change) => text(change),
        }
    }
}

fn lsn(at: Position) -> String {
    format!("{:08x}:{:08x}:{:04x}", at.segment, at.batch, at.record)
}

/// Returns the name of a transaction: batch and record of its begin, as far as 48 bits hold them.
fn transaction_id(begin: Position) -> String {
    let id = (begin.batch << 20 | begin.record & 0xf_ffff) & 0xffff_ffff_ffff;
    format!("{:04x}:{:08x}", id >> 32, id & 0xffff_ffff)
}

/// Returns a time as fn_dblog writes it: `2026/11/28 14:05:00:123`.
fn time(utc_100ns: u64) -> String {
    const DAY: u64 = 864_000_000_000;
    let days = i32::try_from(utc_100ns / DAY).unwrap_or(i32::MAX);
    let Civil { year, month, day } = civil_of(days);
    let ms = utc_100ns % DAY / 10_000;
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, ms) = (ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}:{ms:03}")
}

/// The table of a database, or of another one.
enum Owner {
    Here(Arc<str>),
    Elsewhere,
}

fn read(scope: &Scope<'_>) -> Rows {
    let start = bound(scope, 0)?.unwrap_or(Position { segment: 0, batch: 0, record: 0 });
    let all = Position { segment: u64::MAX, batch: u64::MAX, record: u64::MAX };
    let end = bound(scope, 1)?.unwrap_or(all);
    let Some(database) = scope.session.instance.durable() else { return Ok(RowSet::default()) };
    let owners = owners(scope);
    let mut found = Found {
        owners,
        here: scope.database.id,
        unknown: "Unknown Alloc Unit".into(),
        rows: VecDeque::new(),
        memory: Growing::default(),
        begin: None,
    };
    let mut walk = database.reading().walk();
    // The log may be larger than the memory.
    Ok(RowSet::Batches(Box::new(move || {
        if found.rows.is_empty() {
            let mut refused = None;
            found.memory = Growing::default();
            let read = walk.batch(&mut |at, change| {
                if (start..=end).contains(&at) || matches!(change, Change::Begin { .. }) {
                    found.take(at, change);
                    let taken = found.memory.take(PLACES * size_of::<Row>());
                    if let Err(error) = taken {
                        refused = Some(error);
                        return Err("no memory".to_owned());
                    }
                }
                Ok(())
            });
            let is_more = read.map_err(|why| {
                let text = format!("The log cannot be read: {why}.");
                refused.unwrap_or_else(|| Error::custom(9003, 20, 1, text))
            })?;
            if !is_more {
                return Ok(None);
            }
            found.rows.retain(|row| (start..=end).contains(&row.at));
        }
        // Perhaps none, so that the reader of the view sees an attention.
        let next = found.rows.drain(..found.rows.len().min(ROWS_PER_BATCH));
        list(COLUMNS, next).map(Some)
    })))
}

/// Places in the growing list of records for each of them.
const PLACES: usize = 2;

/// Rows that are made at once.
const ROWS_PER_BATCH: usize = 256;

/// Returns the tables of all databases, by the numbers that records have.
fn owners(scope: &Scope<'_>) -> HashMap<TableId, Owner> {
    let mut owners = HashMap::new();
    for database in scope.session.catalog.databases.values() {
        for table in database.tables() {
            let owner = if database.id == scope.database.id {
                let clustered = table.indexes.first().filter(|index| index.clustered);
                let index = clustered.map(|index| format!(".{}", index.name));
                let index = index.unwrap_or_default();
                Owner::Here(format!("{}.{}{index}", table.schema, table.name).into())
            } else {
                Owner::Elsewhere
            };
            owners.insert(table.rows.data.id(), owner);
        }
    }
    owners
}

/// Parses an argument: `0x` and hexadecimal numbers, or decimal ones, as SQL Server has it.
fn bound(scope: &Scope<'_>, place: usize) -> types::Result<Option<Position>> {
    let Some(given) = scope.arguments.get(place).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let wrong = || {
        let what = "Either start LSN or end LSN specified in OpenRowset(DBLog, ...) is invalid.";
        Error::custom(9005, 16, 1, what)
    };
    let given = given.as_text(scope.session.collation()).ok_or_else(wrong)?;
    let (digits, radix) = match given.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (given.as_str(), 10),
    };
    let mut parts = digits.split(':').map(|part| u64::from_str_radix(part, radix).ok());
    let mut part = || parts.next().flatten().ok_or_else(wrong);
    let at = Position { segment: part()?, batch: part()?, record: part()? };
    if parts.next().is_some() { Err(wrong()) } else { Ok(Some(at)) }
}

/// The rows so far, and the transaction that is being read.
struct Found {
    owners: HashMap<TableId, Owner>,
    here: i16,
    unknown: Arc<str>,
    rows: VecDeque<Row>,
    /// That of the rows of the batch that is being read.
    memory: Growing,
    begin: Option<Begin>,
}

#[derive(Clone, Copy)]
struct Begin {
    at: Position,
    utc_100ns: u64,
    /// Whether its first row is shown: it has changed this database.
    is_shown: bool,
}

impl Found {
    fn take(&mut self, at: Position, change: &Change<'_>) {
        match change {
            Change::Begin { utc_100ns, .. } => {
                self.begin = Some(Begin { at, utc_100ns: *utc_100ns, is_shown: false });
            }
            Change::End => {
                if self.begin.is_some_and(|begin| begin.is_shown) {
                    self.put(at, "LOP_COMMIT_XACT", "LCX_NULL");
                }
                self.begin = None;
            }
            Change::Insert { table, part, row, columns } => {
                let count = columns.clone().count();
                self.row((at, "LOP_INSERT_ROWS"), (*table, *part, *row), count);
            }
            Change::Update { table, part, row, columns } => {
                let count = columns.clone().count();
                self.row((at, "LOP_MODIFY_ROW"), (*table, *part, *row), count);
            }
            Change::Delete { table, part, row } => {
                self.row((at, "LOP_DELETE_ROWS"), (*table, *part, *row), 0);
            }
            Change::Define(entry) => {
                let database = definitions::database_of_key(&entry.key);
                if database.is_none_or(|database| database == self.here) {
                    let verb = if entry.value.is_some() { "define" } else { "remove" };
                    let words = definitions::key_in_words(&entry.key);
                    self.show_begin();
                    // SQL Server has rows of its system tables instead.
                    let row = self.put(at, "LOP_CLEARWAY_DEFINITION", "LCX_NULL");
                    row.subject = Subject::Definition(format!("{verb} {words}"));
                }
            }
        }
    }

    fn row(
        &mut self,
        (at, operation): (Position, &'static str),
        (table, part, id): (TableId, u8, u64),
        columns: usize,
    ) {
        let name = match self.owners.get(&table) {
            Some(Owner::Elsewhere) => return,
            Some(Owner::Here(name)) => Arc::clone(name),
            None => Arc::clone(&self.unknown),
        };
        self.show_begin();
        let context = if name.matches('.').count() > 1 { "LCX_CLUSTERED" } else { "LCX_HEAP" };
        let row = self.put(at, operation, context);
        row.table = Some(table);
        row.name = Some(name);
        row.columns = columns;
        row.subject = Subject::Row { part, id };
    }

    /// Shows the beginning of the transaction, once.
    fn show_begin(&mut self) {
        let Some(begin) = self.begin.as_mut().filter(|begin| !begin.is_shown) else { return };
        begin.is_shown = true;
        let at = begin.at;
        self.put(at, "LOP_BEGIN_XACT", "LCX_NULL");
    }

    fn put(&mut self, at: Position, operation: &'static str, context: &'static str) -> &mut Row {
        let begin = self.begin.unwrap_or(Begin { at, utc_100ns: 0, is_shown: true });
        self.rows.push_back(Row {
            at,
            operation,
            context,
            begin: begin.at,
            table: None,
            name: None,
            utc_100ns: begin.utc_100ns,
            columns: 0,
            subject: Subject::Transaction,
        });
        self.rows.back_mut().expect("a row was just put there")
    }
}
