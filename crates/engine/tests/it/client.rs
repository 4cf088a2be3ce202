//! The tests' client: an engine in the test's process, sessions on it, a sink that records what a
//! request answers, and temporary files.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use engine::instance::{Config, Instance, LockMode};
use engine::session::{ClientInfo, LoginRequest, Session};
use engine::sink::{
    BrowseColumn, ColumnInfo, Done, DoneKind, EnvChange, ResultShape, ResultSink, Sent,
};
use sos::lock::{SpinClass, SpinLock};
use sos::park::Cancel;
use sos::sched::{Machine, MachineConfig};
use storage::{Store, StoreOptions};
use tds::TdsVersion;
use tds::wire_type::{Place, WireType};
use types::value::ColumnType;
use types::{Collation, ConvertOptions, DataType, Error, Length, Mode, Value};

/// Returns an engine with default settings.
pub(crate) fn instance() -> Arc<Instance> {
    instance_in(LockMode::default())
}

/// Returns an engine with the given lock mode.
pub(crate) fn instance_in(lock_mode: LockMode) -> Arc<Instance> {
    instance_with(|config| config.lock_mode = lock_mode)
}

/// Returns an engine with changed settings.
pub(crate) fn instance_with(change: impl FnOnce(&mut Config)) -> Arc<Instance> {
    instance_on(1, change)
}

/// Returns an engine with this many schedulers.
pub(crate) fn instance_on(schedulers: usize, change: impl FnOnce(&mut Config)) -> Arc<Instance> {
    instance_over(Store::new(StoreOptions::default()), schedulers, change)
}

/// Engines of this process with their machines. The threads of a machine run until it is stopped,
/// also when the engine is gone: without a stop, hundreds of idle machines would take time from the
/// tests.
static RUNNING: SpinLock<Vec<(Weak<Instance>, Machine)>> =
    SpinLock::new(SpinClass::ServerOther, Vec::new());

/// Stops the machines of engines that no test uses any more.
fn stop_unused() {
    let is_unused = |engine: &mut (Weak<Instance>, Machine)| engine.0.strong_count() == 0;
    let unused: Vec<_> = RUNNING.lock().extract_if(.., is_unused).collect();
    for (_, machine) in unused {
        machine.stop(Duration::from_secs(10));
    }
}

/// Returns an engine with this many schedulers over a store.
pub(crate) fn instance_over(
    store: Arc<Store>,
    schedulers: usize,
    change: impl FnOnce(&mut Config),
) -> Arc<Instance> {
    stop_unused();
    let config = MachineConfig { schedulers, ..MachineConfig::default() };
    let machine = Machine::start(&config).unwrap();
    let mut config = Config {
        sa_password: "Secret-1".to_owned(),
        server_name: "test".to_owned(),
        memory_max: 1 << 30,
        query_memory_max: 0,
        lock_mode: LockMode::default(),
        optimizer: engine::opt::Level::Full,
    };
    change(&mut config);
    let instance = engine::start(config, Arc::new(machine.clone()), store);
    RUNNING.lock().push((Arc::downgrade(&instance), machine));
    instance
}

/// Logs in as `sa`.
pub(crate) fn login(instance: &Arc<Instance>) -> Session {
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "Secret-1".to_owned(),
        new_password: None,
        database: String::new(),
        language: String::new(),
        client: ClientInfo { odbc: true, ..ClientInfo::default() },
    };
    Session::login(instance, request).map_err(|e| format!("{e:?}")).unwrap()
}

/// The answer of a request.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Result sets: rows of values as text.
    pub(crate) sets: Vec<Vec<Vec<String>>>,
    /// Columns of the result sets.
    pub(crate) columns: Vec<Vec<ColumnInfo>>,
    /// Values of the last row.
    pub(crate) last_row: Vec<Value>,
    /// Errors, in order of arrival.
    pub(crate) errors: Vec<Error>,
    /// Informational messages, in order of arrival.
    pub(crate) messages: Vec<Error>,
    /// Row counts of the statements that had one.
    pub(crate) counts: Vec<u64>,
    /// All tokens, one per line, in the order of the wire.
    pub(crate) trace: Vec<String>,
    /// The `done`s, to check that only the last one says that nothing follows.
    pub(crate) dones: Vec<Done>,
    /// Is cancelled with each row that arrives, as by an attention of the client.
    pub(crate) cancelled_by_row: Option<Arc<Cancel>>,
}

/// Sends a value to nowhere, to an old and a new client: the encoder fails on a value of another type
/// than was announced. Checks its length too, for which a client has made room.
fn check_sendable(column: &ColumnInfo, value: &Value) {
    let column_type = &column.column_type;
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let wire = WireType::for_output(*column_type, version);
        wire.encode_value(&mut Vec::new(), value, Place::Row);
    }
    let bytes = match value {
        Value::VarChar(bytes) | Value::NVarChar(bytes) | Value::VarBinary(bytes) => bytes.len(),
        _ => return,
    };
    let room = match column_type.data_type {
        DataType::Char(n) | DataType::Binary(n) => usize::from(n),
        DataType::VarChar(Length::Limited(n)) | DataType::VarBinary(Length::Limited(n)) => {
            usize::from(n)
        }
        DataType::NChar(n) | DataType::NVarChar(Length::Limited(n)) => 2 * usize::from(n),
        _ => return,
    };
    assert!(bytes <= room, "{} is {}, and got {bytes} bytes", column.name, column_type.data_type);
}

impl ResultSink for Answer {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        self.sets.push(Vec::new());
        self.columns.push(shape.columns.clone());
        let names: Vec<&str> = shape.columns.iter().map(|c| c.name.as_str()).collect();
        self.trace.push(format!("columns {}", names.join(" | ")).trim_end().to_owned());
        Ok(())
    }

    fn browse(&mut self, tables: &[Vec<String>], columns: &[BrowseColumn]) -> Sent {
        let tables: Vec<String> = tables.iter().map(|parts| parts.join(".")).collect();
        let source = |column: &BrowseColumn| {
            let key = if column.is_key { " key" } else { "" };
            let name = column.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
            let is_added = column.is_hidden && column.table != 0;
            let hidden = if is_added { " hidden" } else { "" };
            format!("{}{name}{key}{hidden}", column.table)
        };
        let columns: Vec<String> = columns.iter().map(source).collect();
        self.trace.push(format!("browse {}: {}", tables.join(", "), columns.join(" | ")));
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Sent {
        let columns = self.columns.last().unwrap();
        assert_eq!(values.len(), columns.len(), "a row is as wide as its columns");
        for (value, column) in values.iter().zip(columns) {
            // The server sends it without a length.
            let may_be_null = column.column_type.nullable;
            assert!(may_be_null || !value.is_null(), "NULL in {}, which is NOT NULL", column.name);
            check_sendable(column, value);
        }
        let row = values.iter().zip(columns).map(|(v, c)| show(v, &c.column_type));
        let row: Vec<String> = row.collect();
        self.trace.push(format!("row {}", row.join(" | ")).trim_end().to_owned());
        self.sets.last_mut().unwrap().push(row);
        if let Some(cancel) = &self.cancelled_by_row {
            cancel.set();
        }
        self.last_row = values.to_vec();
        Ok(())
    }

    fn done(&mut self, done: Done) -> Sent {
        self.counts.extend(done.rows);
        let kind = match done.kind {
            DoneKind::Done => "done",
            DoneKind::InProcedure => "inproc",
            DoneKind::Procedure => "proc",
        };
        let error = if done.error { " error" } else { "" };
        let rows = done.rows.map(|rows| format!(" {rows}")).unwrap_or_default();
        self.trace.push(format!("{kind}{error}{rows}"));
        self.dones.push(done);
        Ok(())
    }

    fn message(&mut self, message: &Error) -> Sent {
        self.trace.push(describe(message));
        if message.severity > 10 {
            self.errors.push(message.clone());
        } else {
            self.messages.push(message.clone());
        }
        Ok(())
    }

    fn return_status(&mut self, status: i32) -> Sent {
        self.trace.push(format!("status {status}"));
        Ok(())
    }

    fn return_value(&mut self, ordinal: u16, column: &ColumnInfo, value: &Value) -> Sent {
        check_sendable(column, value);
        let value = show(value, &column.column_type);
        let (name, ty) = (&column.name, column.column_type.data_type);
        self.trace.push(format!("output {ordinal} {name} {ty} = {value}"));
        Ok(())
    }

    fn env_change(&mut self, change: &EnvChange<'_>) -> Sent {
        self.trace.push(match change {
            EnvChange::Database { new, old } => format!("env database {old} -> {new}"),
            EnvChange::Language { new, old } => format!("env language {old} -> {new}"),
            EnvChange::BeginTransaction(_) => "env begin".to_owned(),
            EnvChange::CommitTransaction(_) => "env commit".to_owned(),
            EnvChange::RollbackTransaction(_) => "env rollback".to_owned(),
        });
        Ok(())
    }

    fn flush(&mut self) -> Sent {
        self.trace.push("flush".to_owned());
        Ok(())
    }
}

/// Formats a message as `msg 2627 14 1 line 3 proc p: text`.
pub(crate) fn describe(message: &Error) -> String {
    let procedure = if message.procedure.is_empty() {
        String::new()
    } else {
        format!(" proc {}", message.procedure)
    };
    let (number, severity, state) = (message.number, message.severity, message.state);
    let (line, text) = (message.line, &message.message);
    format!("msg {number} {severity} {state} line {line}{procedure}: {text}").trim_end().to_owned()
}

/// Formats a value as its conversion to text; binary in hexadecimal.
fn show(value: &Value, ty: &ColumnType) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bit(bit) => u8::from(*bit).to_string(),
        Value::VarBinary(bytes) => {
            bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
        }
        _ => {
            let target = ColumnType {
                data_type: DataType::NVarChar(Length::Max),
                collation: Collation::default(),
                nullable: true,
            };
            let options = ConvertOptions::default();
            let style = if matches!(value, Value::DateTime { .. }) { 121 } else { 0 };
            let text = types::convert(value, ty, &target, style, Mode::Explicit, &options);
            text.map_or_else(
                |e| format!("<{e}>"),
                |v| v.as_text(target.collation).unwrap_or_default(),
            )
        }
    }
}

/// Runs a batch, and returns its answer.
pub(crate) fn batch(session: &mut Session, text: &str) -> Answer {
    let mut answer = Answer::default();
    session.batch(text, &mut answer).unwrap();
    answer
}

/// Runs a batch that must give no error, and returns its answer.
pub(crate) fn run(session: &mut Session, text: &str) -> Answer {
    let answer = batch(session, text);
    let errors: Vec<String> = answer.errors.iter().map(describe).collect();
    assert!(errors.is_empty(), "{text}\n{}", errors.join("\n"));
    answer
}

/// Runs a batch that must give no error, and returns its result sets.
pub(crate) fn sets(session: &mut Session, text: &str) -> Vec<Vec<Vec<String>>> {
    run(session, text).sets
}

/// Runs a batch, and returns the numbers of its errors.
pub(crate) fn errors(session: &mut Session, text: &str) -> Vec<i32> {
    batch(session, text).errors.iter().map(|error| error.number).collect()
}

/// Runs a batch on a thread of the machine, like a worker, and returns the session.
pub(crate) fn spawn(
    instance: &Instance,
    mut session: Session,
    text: &str,
) -> Receiver<(Session, Answer)> {
    let (sender, receiver) = channel();
    let text = text.to_owned();
    let work = move || {
        let answer = batch(&mut session, &text);
        let _ = sender.send((session, answer));
    };
    instance.machine.spawn("client", work).unwrap();
    receiver
}

/// Returns whether tests that try everything do: `make whole`. Otherwise they take a sample.
pub(crate) fn is_whole() -> bool {
    std::env::var_os("CLEARWAY_WHOLE").is_some()
}

/// A file that is deleted when the test ends.
pub(crate) struct File(pub(crate) std::path::PathBuf);

impl File {
    /// Writes a file; its path ends with the name and is unique.
    pub(crate) fn new(name: &str, content: &[u8]) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("clearway-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("the folder for temporary files takes one");
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
