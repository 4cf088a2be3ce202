//! How fast a start brings back session rows: from the log alone, and from a checkpoint.

use std::path::Path;

use load::process::Place;
use load::{Result, ServerProcess};

use super::Bed;
use super::figure::Figure;
use crate::pairs::float;
use crate::setup::{ask_number, connect, run_batches};
use crate::work::{ITEM_BYTES, ROWS};
use crate::{say, session};

/// What is asked for, per core.
const ROWS_PER_S: f64 = 1e6;
const GB_PER_S: f64 = 0.5;
/// The amount of rows that is to be back in a time.
const LARGE_GB: f64 = 10.0;
const LARGE_MAX_S: f64 = 15.0;
/// Rows of one INSERT.
const CHUNK: u64 = 20_000;
/// Rows that are recovered from the log: their log is shorter than what makes a checkpoint due.
const LOG_ROWS_MAX: u64 = 250_000;

/// The bytes of the log that were flushed since the start.
const LOG_BYTES: &str = "SELECT cntr_value FROM sys.dm_os_performance_counters
    WHERE counter_name = 'Log Bytes Flushed/sec' AND instance_name = '_Total'";
const CHECKPOINT_BYTES: &str = "SELECT bytes_serialized FROM sys.dm_db_xtp_checkpoint_stats";

/// Measures a start from the log, and one from a checkpoint.
pub(super) fn measure(bed: &Bed<'_>) -> Result<Vec<Figure>> {
    let mut figures = from(bed, "the log", bed.rows.min(LOG_ROWS_MAX), LOG_BYTES)?;
    figures.extend(from(bed, "a checkpoint", bed.rows, CHECKPOINT_BYTES)?);
    Ok(figures)
}

/// Loads rows, kills the server, and measures the next start.
fn from(bed: &Bed<'_>, source: &str, rows: u64, bytes_of: &str) -> Result<Vec<Figure>> {
    say(&format!("recovery from {source}: {rows} rows"));
    let name = "recovery";
    let server = bed.start(name, &[], Place::Anywhere)?;
    session::prepare(bed.plan, &server)?;
    load_rows(&server, rows)?;
    let mut client = connect(&server, "")?;
    if bytes_of == CHECKPOINT_BYTES {
        run_batches(&mut client, ["CHECKPOINT"])?;
    }
    let bytes = u64::try_from(ask_number(&mut client, bytes_of)?).unwrap_or(0);
    drop(client);
    // Dropping it kills it.
    drop(server);
    let server = bed.start(name, &[], Place::Anywhere)?;
    // The clock of the process has the time of threads that have ended, which the recovery's have.
    let cpu_ns = sos::sys::process_clock_ns(server.id()).map_err(|error| error.to_string())?;
    let (wall_s, cpu_s) = (float(server.ready_ns()) / 1e9, float(cpu_ns) / 1e9);
    let all_rows = rows + u64::try_from(ROWS).unwrap_or(0);
    let found = ask_number(
        &mut connect(&server, session::DATABASE)?,
        "SELECT COUNT_BIG(*) FROM dbo.Session",
    )?;
    if u64::try_from(found).ok() != Some(all_rows) {
        return Err(format!("{all_rows} rows were loaded and {found} recovered"));
    }
    drop(server);
    bed.remove(name)?;
    Ok(figures(source, all_rows, bytes, (wall_s, cpu_s)))
}

fn figures(source: &str, rows: u64, bytes: u64, (wall_s, cpu_s): (f64, f64)) -> Vec<Figure> {
    let gb = float(bytes) / 1e9;
    let note = format!(
        "{rows} rows with items of {ITEM_BYTES} bytes, {gb:.2} GB, in {wall_s:.2} s with {cpu_s:.2} s of CPU, the start included"
    );
    let mut figures = vec![
        Figure::at_least(
            &format!("rows/s per core, recovery from {source}"),
            ROWS_PER_S,
            "rows/s",
            float(rows) / cpu_s,
        )
        .noting(&note),
        Figure::at_least(
            &format!("GB/s per core, recovery from {source}"),
            GB_PER_S,
            "GB/s",
            gb / cpu_s,
        ),
    ];
    if source == "a checkpoint" {
        let what = "10 GB of session rows, at the rate of the above";
        figures.push(
            Figure::at_most(what, LARGE_MAX_S, "s", LARGE_GB * wall_s / gb)
                .noting("in proportion, not measured at that size"),
        );
    }
    figures
}

/// Inserts session rows, a chunk in each statement.
pub(super) fn load_rows(server: &ServerProcess, rows: u64) -> Result<()> {
    let mut client = connect(server, session::DATABASE)?;
    let mut first = 0;
    while first < rows {
        let last = rows.min(first + CHUNK) - 1;
        let text = format!(
            "DECLARE @utc datetime = GETUTCDATE();
             INSERT dbo.Session (Id, Expires, LockedAt, LockedAtLocal, Cookie, Minutes, Held, Large)
             SELECT CONCAT(N'loaded000000000', RIGHT(CONCAT(N'000000000', value), 9), N'0f5d6c2a'),
                 DATEADD(minute, 20, @utc), @utc, @utc, 1, 20, 0,
                 CAST(REPLICATE(CAST('x' AS varchar(max)), {ITEM_BYTES}) AS varbinary(max))
             FROM GENERATE_SERIES({first}, {last})"
        );
        run_batches(&mut client, [text.as_str()])?;
        first = last + 1;
    }
    Ok(())
}

/// Returns the bytes of the files in a folder and below it.
pub(super) fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => folder_bytes(&entry.path()),
        Ok(facts) => facts.len(),
        // It has just been removed.
        Err(_) => 0,
    });
    bytes.sum()
}
