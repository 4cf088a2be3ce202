//! CREATE EXTERNAL TABLE .. AS SELECT: writes the rows of a query to a Parquet file, and defines a
//! table over it.
//!
//! ```text
//! rows ─► Writer ─► ._<name>.tmp ─► rename ─► <name>_0.parquet ─► the catalog
//!          any failure: the file is removed, and the folder if the statement created it
//! ```

use parquet_io::{Fault, Sink, Writer};
use sos::sched::{Unblocked, blocking};
use sos::sys::{self, NewFile};
use sos::wait::WaitType;
use types::value::ColumnType;
use types::{Error, Msg, Result};

use ::ddl;
use ::executor::query::{Flow, Output, run_batches};
use ::executor::statement::{in_transaction, prepare, row_limit};
use ::executor::{Cx, StatementResult, fault};
use ::plan::sink::Command;
use ::plan::statement::{Export, SelectInto};

/// Rows between two checks of memory and cancellation.
const ROWS_PER_LOOK: u64 = 256;

/// Runs the statement; a failure leaves neither file nor table.
pub(crate) fn run(into: &SelectInto, export: &Export, cx: &mut Cx<'_>) -> Result<StatementResult> {
    if cx.session.transaction.count > 0 {
        return Err(Msg::NotInTransaction("CREATE EXTERNAL TABLE AS SELECT").into());
    }
    if cx.session.catalog.settings.polybase_export.in_use == 0 {
        return Err(Msg::ExportDisabled.into());
    }
    ddl::check_name_free(&into.target, cx)?;
    let folder = Folder::take(&export.place.path)?;
    let columns: Vec<(String, ColumnType)> =
        into.columns.iter().map(|(name, ty, _)| (name.clone(), *ty)).collect();
    let name = format!("{:016X}", u64::from_le_bytes(sys::random_bytes()));
    prepare(cx, into.registers);
    let (file, rows) = write(into, export, (&columns, &name), cx)?;
    let own = format!("{name}_0.parquet");
    let path = format!("{}/{own}", folder.path);
    waiting(|| file.keep(&own)).map_err(|error| not_written(&path, &error))?;
    if let Err(error) = ddl::external::publish(&into.target, &columns, export.place.clone(), cx) {
        // If the file can't be removed either, that error is reported instead.
        return Err(match sys::remove_file(&path) {
            Ok(()) => error,
            Err(left) => not_written(&path, &left),
        });
    }
    folder.keep();
    Ok(StatementResult { command: Command::SELECT_INTO, rows })
}

/// Writes the rows of the query to a file with a temporary name.
fn write(
    into: &SelectInto,
    export: &Export,
    (columns, name): (&[(String, ColumnType)], &str),
    cx: &mut Cx<'_>,
) -> Result<(NewFile, u64)> {
    let path = &export.place.path;
    let failed = |error: parquet_io::Error| of_writer(path, &error);
    let limit = row_limit(cx);
    in_transaction(cx, &mut |cx| {
        // Starts from the beginning if the transaction is restarted.
        let file = waiting(|| NewFile::begin(path, &format!("._{name}.tmp")));
        let file = file.map_err(|error| not_written(path, &error))?;
        let writer = Writer::new(ToFile(file), columns, export.compression);
        let mut writer = writer.map_err(failed)?;
        run_batches(&into.query, cx, &mut |cx, output| {
            let looked = writer.rows() / ROWS_PER_LOOK;
            match output {
                Output::Row(values) => writer.push(values).map_err(failed)?,
                Output::Batch(batch, places) => {
                    let left = usize::try_from(limit - writer.rows()).unwrap_or(usize::MAX);
                    writer.push_batch(batch, places, left).map_err(failed)?;
                }
            }
            if writer.rows() / ROWS_PER_LOOK > looked {
                fault::check_cancel(cx)?;
                ::executor::long::wait_for_room(0, cx)?;
            }
            Ok(if writer.rows() == limit { Flow::Enough } else { Flow::More })
        })?;
        let rows = writer.rows();
        let ToFile(file) = writer.finish().map_err(failed)?;
        Ok((file, rows))
    })
}

/// A file, as the Parquet writer needs it.
struct ToFile(NewFile);

impl Sink for ToFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        waiting(|| self.0.write(bytes))
    }
}

/// Runs blocking file I/O, while the scheduler runs other tasks.
fn waiting<T>(write: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let mut done = Err(std::io::ErrorKind::Interrupted.into());
    blocking(WaitType::IoCompletion, || {
        done = write();
        Unblocked::Now
    });
    done
}

fn of_writer(path: &str, error: &parquet_io::Error) -> Error {
    match &error.fault {
        Fault::Io(of_system) => not_written(path, of_system),
        Fault::Damaged(_) | Fault::NotSupported(_) | Fault::Value(_) => {
            Msg::ExternalFile(&error.to_string(), path).into()
        }
    }
}

fn not_written(path: &str, error: &std::io::Error) -> Error {
    Msg::ExternalFile(&format!("it can't be written: {error}"), path).into()
}

/// The folder of an export, which must be empty; removed after a failure if it was created for the
/// export.
struct Folder {
    path: String,
    made: bool,
}

impl Folder {
    fn take(path: &str) -> Result<Self> {
        let made = waiting(|| sys::make_folder(path)).map_err(|error| not_written(path, &error))?;
        let folder = Self { path: path.to_owned(), made };
        let names = waiting(|| sys::folder_names(path));
        let names = names.map_err(|error| not_written(path, &error))?;
        if !names.is_empty() {
            return Err(Msg::ExternalLocationTaken(path).into());
        }
        Ok(folder)
    }

    fn keep(mut self) {
        self.made = false;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.made {
            // The statement fails with another error already.
            drop(sys::remove_folder(&self.path));
        }
    }
}
