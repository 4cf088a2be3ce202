//! `sys.sp_diagnose @seconds, @format`: what is wrong with this server, for those who have only a
//! query window. It asks the same questions as `clearway diagnose`, of itself, and judges by the
//! same rules: crate `verdict`.
//!
//! | `@format`       | results                                                                      |
//! |-----------------|------------------------------------------------------------------------------|
//! | 'table', NULL   | the sentence; the bar; the findings; causes ruled out; warnings; statements  |
//! | 'json', 'html', | one row with the whole report                                                |
//! | 'text'          |                                                                              |

mod inquiry;

use std::time::Duration;

use types::value::ColumnType;
use types::{DataType, Error, Length, Msg, Value};
use verdict::report;
use verdict::{Outcome, Verdict, judge};

use crate::procedure::{SystemProcedure, text, whole};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use interpreter::{Argument, Stop, done};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_diagnose", id: 0, run: diagnose }];

const SECONDS: i64 = 10;
const SECONDS_MAX: i64 = 600;
/// The number of the error for a wrong argument.
const WRONG_ARGUMENT: i32 = 15_600;
/// The number of the error where the system has no thread: SQL Server's for that.
const NO_THREAD: i32 = 17_189;

fn diagnose(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    if !cx.session.identity.rights.views_server_state() {
        return Err(Msg::ServerPermissionDenied("VIEW SERVER STATE").into());
    }
    if arguments.len() > 2 {
        return Err(Msg::TooManyArguments("sp_diagnose").into());
    }
    let seconds = whole(arguments, 0, "@seconds").unwrap_or(SECONDS);
    let format = text(arguments, 1, "@format", cx)?.unwrap_or_else(|| "table".to_owned());
    let is_known = matches!(format.as_str(), "table" | "json" | "html" | "text");
    if !(1..=SECONDS_MAX).contains(&seconds) || !is_known {
        let text = format!(
            "sp_diagnose: @seconds is 1 to {SECONDS_MAX}, and @format 'table', 'json', 'html' or \
             'text'."
        );
        return Err(Error::custom(WRONG_ARGUMENT, 15, 1, text).into());
    }
    let length = Duration::from_secs(seconds.unsigned_abs());
    let recording = inquiry::record(length, cx)?;
    let verdict = judge(&recording);
    match format.as_str() {
        "json" => whole_report(&report::json(&verdict), cx),
        "html" => whole_report(&report::html(&verdict), cx),
        "text" => whole_report(&report::text(&verdict), cx),
        _ => tables(&verdict, cx),
    }?;
    Ok(0)
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
    let ruled_out = verdict.ruled_out.iter().map(|(cause, share)| {
        let finding = cause.entry().finding.to_owned();
        vec![cause.name().to_owned(), format!("{:.1}", share * 100.0), finding]
    });
    table(&["ruled_out", "percent_of_work", "finding"], &ruled_out.collect::<Vec<_>>(), cx)?;
    let warnings: Vec<_> = verdict.warnings.iter().map(|warning| vec![warning.clone()]).collect();
    table(&["warning"], &warnings, cx)?;
    let statements: Vec<_> =
        report::statements(verdict).into_iter().map(|line| line.to_vec()).collect();
    table(&report::STATEMENT_HEADS, &statements, cx)
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
