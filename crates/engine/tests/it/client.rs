//! An engine in the test's process, sessions on it, and a sink that keeps what a batch answers.

use std::sync::Arc;

use engine::instance::{Config, Instance};
use engine::session::{ClientInfo, LoginRequest, Session};
use engine::sink::{ColumnInfo, Done, EnvChange, ResultShape, ResultSink, Sent};
use sos::sched::{Machine, MachineConfig};
use storage::{Store, StoreOptions};
use types::value::ColumnType;
use types::{Collation, ConvertOptions, DataType, Error, Length, Mode, Value};

/// Makes an engine.
pub(crate) fn instance() -> Arc<Instance> {
    let config = MachineConfig { schedulers: 1, ..MachineConfig::default() };
    let machine = Arc::new(Machine::start(&config).unwrap());
    let config = Config {
        sa_password: "secret".to_owned(),
        server_name: "test".to_owned(),
        memory_max: 1 << 30,
    };
    Instance::new(config, machine, Store::new(StoreOptions::default()))
}

/// Logs in as `sa`.
pub(crate) fn login(instance: &Arc<Instance>) -> Session {
    let request = LoginRequest {
        user: "sa".to_owned(),
        password: "secret".to_owned(),
        database: String::new(),
        language: String::new(),
        client: ClientInfo { odbc: true, ..ClientInfo::default() },
    };
    Session::login(instance, request).map_err(|e| format!("{e:?}")).unwrap()
}

/// What a batch answered.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Result sets: rows of values as text.
    pub(crate) sets: Vec<Vec<Vec<String>>>,
    /// Columns of the result sets.
    pub(crate) columns: Vec<Vec<ColumnInfo>>,
    /// Errors.
    pub(crate) errors: Vec<Error>,
    /// Informational messages.
    pub(crate) messages: Vec<Error>,
    /// Row counts of the statements that had one.
    pub(crate) counts: Vec<u64>,
}

impl ResultSink for Answer {
    fn columns(&mut self, shape: &ResultShape) -> Sent {
        self.sets.push(Vec::new());
        self.columns.push(shape.columns.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Sent {
        let columns = self.columns.last().unwrap();
        assert_eq!(values.len(), columns.len(), "a row is as wide as its columns");
        let row = values.iter().zip(columns).map(|(v, c)| show(v, &c.column_type));
        let row = row.collect();
        self.sets.last_mut().unwrap().push(row);
        Ok(())
    }

    fn done(&mut self, done: Done) -> Sent {
        self.counts.extend(done.rows);
        Ok(())
    }

    fn message(&mut self, message: &Error) -> Sent {
        if message.severity > 10 {
            self.errors.push(message.clone());
        } else {
            self.messages.push(message.clone());
        }
        Ok(())
    }

    fn return_status(&mut self, _: i32) -> Sent {
        Ok(())
    }

    fn return_value(&mut self, _: u16, _: &ColumnInfo, _: &Value) -> Sent {
        Ok(())
    }

    fn env_change(&mut self, _: &EnvChange<'_>) -> Sent {
        Ok(())
    }

    fn flush(&mut self) -> Sent {
        Ok(())
    }
}

/// Shows a value: as its conversion to text, binary in hexadecimal.
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

/// Runs a batch.
pub(crate) fn batch(session: &mut Session, text: &str) -> Answer {
    let mut answer = Answer::default();
    session.batch(text, &mut answer).unwrap();
    answer
}
