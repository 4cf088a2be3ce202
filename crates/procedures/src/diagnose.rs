//! `sys.sp_diagnose @seconds, @format`: what is wrong with this server, for those who have only a
//! query window. It asks the same questions as `clearway diagnose`, of itself, and judges by the
//! same rules: crate `verdict`.
//!
//! | `@format`       | results                                                                      |
//! |-----------------|------------------------------------------------------------------------------|
//! | 'table', NULL   | the sentence; the bar; the findings; causes ruled out; warnings               |
//! | 'json', 'html', | one row with the whole report                                                |
//! | 'text'          |                                                                              |

use std::sync::Arc;
use std::time::Duration;

use sos::clock;
use sos::park::{self, Wake};
use sos::wait::WaitType;
use types::value::ColumnType;
use types::{DataType, Error, Length, Msg, Value};
use verdict::question::SERVER;
use verdict::recording::{Reading, Recording, Server, Subject};
use verdict::report;
use verdict::row::Row;
use verdict::{Outcome, Verdict, judge};

use crate::executesql::{prepare, run_prepared};
use crate::procedure::{SystemProcedure, text, whole};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use interpreter::capture::{Capture, CapturedSet};
use interpreter::{Argument, Stop, done};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_diagnose", id: 0, run: diagnose }];

const SECONDS: i64 = 10;
const SECONDS_MAX: i64 = 600;
/// Sub-windows in a recording: enough for a confidence interval.
const WINDOWS: u32 = 10;
/// The number of the error for a wrong argument.
const WRONG_ARGUMENT: i32 = 15_600;

fn diagnose(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if !cx.session.identity.rights.views_server_state() {
        return Err(Msg::ServerPermissionDenied("VIEW SERVER STATE").into());
    }
    if arguments.len() > 2 {
        return Err(Msg::TooManyArguments("sp_diagnose").into());
    }
    let seconds = whole(arguments, 0, "@seconds").unwrap_or(SECONDS);
    let format = text(arguments, 1, "@format", cx).unwrap_or_else(|| "table".to_owned());
    let is_known = matches!(format.as_str(), "table" | "json" | "html" | "text");
    if !(1..=SECONDS_MAX).contains(&seconds) || !is_known {
        let text = format!(
            "sp_diagnose: @seconds is 1 to {SECONDS_MAX}, and @format 'table', 'json', 'html' or \
             'text'."
        );
        return Err(Error::custom(WRONG_ARGUMENT, 15, 1, text).into());
    }
    let length = Duration::from_secs(seconds.unsigned_abs());
    let recording = record(length, cx)?;
    let verdict = judge(&recording);
    match format.as_str() {
        "json" => whole_report(&report::json(&verdict), cx),
        "html" => whole_report(&report::html(&verdict), cx),
        "text" => whole_report(&report::text(&verdict), cx),
        _ => tables(&verdict, cx),
    }?;
    Ok(0)
}

/// Reads at the edges of sub-windows.
fn record(length: Duration, cx: &mut Cx<'_>) -> Result<Recording, Stop> {
    let name = rows_of("SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ServerName'))", cx)?;
    let version = rows_of(SERVER, cx)?;
    let cell = |rows: &[Vec<Row>]| {
        rows.first()
            .and_then(|rows| rows.first())
            .map_or(String::new(), |row| row.text(0).to_owned())
    };
    let version = cell(&version);
    let mut recording = Recording {
        server: Server {
            name: cell(&name),
            version: version.lines().nth(1).unwrap_or(&version).trim().to_owned(),
            is_clearway: true,
        },
        ..Recording::default()
    };
    recording.readings.push(read(true, cx)?);
    for window in 1..=WINDOWS {
        let cancel = Arc::clone(&cx.session.connection.cancel);
        if park::sleep(length / WINDOWS, WaitType::WaitFor, Some(&cancel)) == Wake::Cancelled {
            return Err(Stop::Cancelled);
        }
        recording.readings.push(read(window == WINDOWS, cx)?);
    }
    for place in verdict::window::dearest(&recording) {
        let results = rows_of(&verdict::question::plan(&place.0, place.1, place.2), cx)?;
        recording.take_plan(place, &results);
    }
    Ok(recording)
}

fn read(is_end: bool, cx: &mut Cx<'_>) -> Result<Reading, Stop> {
    let mut reading = Reading::default();
    for subject in Subject::ALL {
        if is_end || subject.is_of_each_window() {
            let results = rows_of(subject.texts()[0], cx)?;
            reading.take(subject, &results, clock::monotonic_ns());
        }
    }
    Ok(reading)
}

/// Runs a question in this session, and returns its results.
fn rows_of(question: &str, cx: &mut Cx<'_>) -> Result<Vec<Vec<Row>>, Stop> {
    let entry = prepare(&Value::nvarchar(question), &Value::Null, cx.session)?;
    let mut captured = Capture::new(&mut *cx.sink);
    let mut inner = Cx::new(cx.host, cx.session, cx.frame, &mut captured);
    run_prepared(entry, &mut [], &mut inner)?;
    let text = |set: CapturedSet| set.rows.iter().map(|row| Row::from_values(row)).collect();
    Ok(captured.into_sets().into_iter().map(text).collect())
}

/// Sends the verdict as tables.
fn tables(verdict: &Verdict, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let outcome = match verdict.outcome {
        Outcome::Cause(cause) => cause.name(),
        Outcome::Healthy => "healthy",
        Outcome::Abstained => "abstained",
    };
    let verdict_row = vec![outcome.to_owned(), verdict.sentence.clone()];
    table(&["verdict", "sentence"], &[verdict_row], cx)?;
    let bar = verdict.window.bar().into_iter().map(|(group, tenths)| {
        vec![group.name().to_owned(), format!("{}.{}", tenths / 10, tenths % 10)]
    });
    table(&["part", "percent"], &bar.collect::<Vec<_>>(), cx)?;
    let findings = report::lines(verdict).into_iter().map(|line| {
        vec![
            line.priority.to_string(),
            line.group.to_owned(),
            line.finding,
            line.impact,
            line.evidence.to_owned(),
            line.advice.to_owned(),
            line.check.to_owned(),
        ]
    });
    let heads =
        ["Priority", "Group", "Finding", "Impact", "Evidence", "What to do", "How to check"];
    table(&heads, &findings.collect::<Vec<_>>(), cx)?;
    let ruled_out = verdict
        .ruled_out
        .iter()
        .map(|(cause, share)| vec![cause.name().to_owned(), format!("{:.1}", share * 100.0)]);
    table(&["ruled_out", "percent_of_work"], &ruled_out.collect::<Vec<_>>(), cx)?;
    let warnings: Vec<_> = verdict.warnings.iter().map(|warning| vec![warning.clone()]).collect();
    table(&["warning"], &warnings, cx)
}

fn whole_report(report: &str, cx: &mut Cx<'_>) -> Result<(), Stop> {
    table(&["report"], &[vec![report.to_owned()]], cx)
}

/// Sends a result whose columns are texts.
fn table(heads: &[&str], rows: &[Vec<String>], cx: &mut Cx<'_>) -> Result<(), Stop> {
    let column_type = ColumnType {
        nullable: false,
        collation: cx.session.collation(),
        ..ColumnType::nullable(DataType::NVarChar(Length::Max))
    };
    let column = |name: &&str| ColumnInfo {
        name: (*name).into(),
        column_type,
        traits: Traits::default(),
        updatable: false,
    };
    let shape = shape_of(heads.iter().map(column).collect());
    cx.sink.columns(&shape)?;
    for row in rows {
        let values: Vec<Value> = row.iter().map(|text| Value::nvarchar(text)).collect();
        cx.sink.row(&values)?;
    }
    Ok(done(cx, Command::SELECT, u64::try_from(rows.len()).ok(), false)?)
}
