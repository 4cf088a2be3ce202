//! SET statements: changes the options of the session.

use tsql::ast::{self, SetOption, StatisticsOption, SwitchOption, ValueOption};
use types::convert::DateFormat;
use types::{Bytes, Language, Msg, Value};

use crate::{Runner, Stop};
use ::executor::Cx;
use ::explain::Explain;
use ::plan::program::{Leaf, LeafAst};
use ::plan::sink::EnvChange;
use ::session::IsolationLevel;
use metadata::format::text_of;

/// Greatest length of CONTEXT_INFO, in bytes.
const CONTEXT_INFO_MAX: usize = 128;

impl Runner<'_> {
    pub(crate) fn set_option(&self, option: &SetOption, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if !is_of_procedures(option) {
            cx.session.request.save_options(&cx.session.options);
        }
        self.apply(option, cx)?;
        show(option, cx);
        Ok(())
    }

    fn apply(&self, option: &SetOption, cx: &mut Cx<'_>) -> Result<(), Stop> {
        match option {
            SetOption::Switch { options, on } => {
                for option in options {
                    switch(*option, *on, cx)?;
                }
                Ok(())
            }
            SetOption::Statistics { options, on } => {
                for option in options {
                    statistics(*option, *on, cx);
                }
                Ok(())
            }
            SetOption::Isolation(level) => {
                cx.session.isolation = isolation(*level);
                Ok(())
            }
            SetOption::DeadlockPriority(priority) => self.deadlock_priority(priority, cx),
            SetOption::IdentityInsert { table, on } => {
                crate::insert_bulk::set_identity_insert(table, *on, cx)?;
                Ok(())
            }
            SetOption::Offsets { on: false, .. } | SetOption::FipsFlagger(None) => Ok(()),
            SetOption::Offsets { .. } => Err(Msg::NotSupported("SET OFFSETS").into()),
            SetOption::FipsFlagger(Some(_)) => Err(Msg::NotSupported("SET FIPS_FLAGGER").into()),
            SetOption::ErrorLevel(_) => Err(Msg::NotSupported("SET ERRLVL").into()),
            SetOption::Value(option, value) => {
                self.set_value(*option, &Leaf::new(LeafAst::Value(value.clone())), cx)
            }
        }
    }

    fn deadlock_priority(
        &self,
        priority: &ast::DeadlockPriority,
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        cx.session.options.deadlock_priority = match priority {
            ast::DeadlockPriority::Low => -5,
            ast::DeadlockPriority::Normal => 0,
            ast::DeadlockPriority::High => 5,
            ast::DeadlockPriority::Value(value) => {
                let leaf = Leaf::new(LeafAst::Value(value.clone()));
                let level = self.int(&leaf, cx)?.and_then(|n| i8::try_from(n).ok());
                level
                    .filter(|n| (-10..=10).contains(n))
                    .ok_or(Msg::SyntaxNear("DEADLOCK_PRIORITY"))?
            }
        };
        Ok(())
    }

    pub(crate) fn set_value(
        &self,
        option: ValueOption,
        leaf: &Leaf,
        cx: &mut Cx<'_>,
    ) -> Result<(), Stop> {
        cx.session.request.save_options(&cx.session.options);
        let value = match word(leaf) {
            Some(word) => Value::nvarchar(word),
            None => self.value(leaf, cx)?,
        };
        let text = text_of(&value, cx.session)?.unwrap_or_default();
        match option {
            ValueOption::ContextInfo => return set_context_info(&value, cx),
            ValueOption::DateFirst => {
                let day = whole(&value).unwrap_or(0);
                let first = u8::try_from(day).ok().filter(|d| (1..=7).contains(d));
                cx.session.options.date_first = first.ok_or(Msg::SetDateFirst(day))?;
            }
            ValueOption::DateFormat => {
                let format = DateFormat::from_name(&text);
                cx.session.options.date_format = format.ok_or(Msg::SetDateFormat(&text))?;
            }
            ValueOption::Language => return set_language(&text, cx),
            ValueOption::LockTimeout => {
                let timeout = whole(&value).and_then(|n| i32::try_from(n).ok());
                cx.session.options.lock_timeout_ms = timeout.unwrap_or(-1).max(-1);
            }
            ValueOption::RowCount => {
                let rows = whole(&value).and_then(|n| u64::try_from(n).ok());
                cx.session.options.row_count = rows.ok_or(Msg::SetRowCount)?;
            }
            ValueOption::TextSize => {
                let size = whole(&value).and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
                // 0 is the default, -1 is no limit.
                cx.session.options.text_size = match size {
                    0 => 4096,
                    n => n.max(-1),
                };
            }
            ValueOption::QueryGovernorCostLimit => {
                if whole(&value) != Some(0) {
                    return Err(Msg::NotSupported("SET QUERY_GOVERNOR_COST_LIMIT").into());
                }
            }
        }
        Ok(())
    }
}

/// Returns true for options that procedures often set (NOCOUNT, XACT_ABORT, isolation level); each
/// call saves them anyway.
fn is_of_procedures(option: &SetOption) -> bool {
    match option {
        SetOption::Switch { options, .. } => options
            .iter()
            .all(|option| matches!(option, SwitchOption::NoCount | SwitchOption::XactAbort)),
        SetOption::Isolation(_) | SetOption::IdentityInsert { .. } => true,
        _ => false,
    }
}

/// Publishes the options for other sessions. Options set in a procedure are restored at its end and
/// are visible to the session only.
fn show(option: &SetOption, cx: &Cx<'_>) {
    let is_shown = match option {
        SetOption::Isolation(_) => true,
        SetOption::IdentityInsert { .. } => false,
        option => !is_of_procedures(option),
    };
    if is_shown && cx.session.request.nest_level == 0 {
        cx.session.instance.sessions.publish(cx.session);
    }
}

/// Returns the word of `SET DATEFORMAT ymd`, which is parsed as a column name.
fn word(leaf: &Leaf) -> Option<&str> {
    match &leaf.ast {
        LeafAst::Value(ast::Expr { kind: ast::ExprKind::Column(column), .. })
            if column.table.is_none() =>
        {
            Some(column.column.as_str())
        }
        _ => None,
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::TinyInt(n) => Some(i64::from(*n)),
        Value::SmallInt(n) => Some(i64::from(*n)),
        Value::Int(n) => Some(i64::from(*n)),
        Value::BigInt(n) => Some(*n),
        _ => None,
    }
}

pub(crate) fn isolation(level: ast::IsolationLevel) -> IsolationLevel {
    match level {
        ast::IsolationLevel::ReadUncommitted => IsolationLevel::ReadUncommitted,
        ast::IsolationLevel::ReadCommitted => IsolationLevel::ReadCommitted,
        ast::IsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
        ast::IsolationLevel::Snapshot => IsolationLevel::Snapshot,
        ast::IsolationLevel::Serializable => IsolationLevel::Serializable,
    }
}

fn set_language(text: &str, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let language = Language::by_name(text).ok_or(Msg::SetLanguage(text))?;
    let options = &mut cx.session.options;
    let old = std::mem::replace(&mut options.language, language);
    // DATEFORMAT and DATEFIRST follow the language.
    options.date_format = language.date_format();
    options.date_first = language.date_first();
    cx.sink.env_change(&EnvChange::Language { new: language.name(), old: old.name() })?;
    let text = language.changed();
    cx.sink.message(&types::Error::custom(5703, 0, 1, &text).at_line(cx.session.request.line))?;
    Ok(())
}

fn set_context_info(value: &Value, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let bytes = match value {
        Value::VarBinary(bytes) => bytes.as_slice(),
        Value::Null => return Err(Msg::SyntaxNear("NULL").into()),
        _ => return Err(Msg::OperandClash("value", "varbinary(128)").into()),
    };
    // Padded with zeros to 128 bytes, as documented.
    let mut padded = [0; CONTEXT_INFO_MAX];
    let length = bytes.len().min(CONTEXT_INFO_MAX);
    padded[..length].copy_from_slice(&bytes[..length]);
    cx.session.held.context_info = Bytes::copy_from(&padded);
    Ok(())
}

fn statistics(option: StatisticsOption, on: bool, cx: &mut Cx<'_>) {
    let option = match option {
        StatisticsOption::Io => Explain::IO,
        StatisticsOption::Time => Explain::TIME,
        StatisticsOption::Profile => Explain::PROFILE,
        StatisticsOption::Xml => Explain::XML,
    };
    cx.session.options.explain.set(option, on);
}

fn switch(option: SwitchOption, on: bool, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let options = &mut cx.session.options;
    match option {
        SwitchOption::AnsiDefaults => {
            options.quoted_identifier = on;
            options.ansi_nulls = on;
            options.ansi_null_default = on;
            options.ansi_null_default_off &= !on;
            options.ansi_padding = on;
            options.ansi_warnings = on;
            options.cursor_close_on_commit = on;
            options.implicit_transactions = on;
        }
        SwitchOption::AnsiNulls => options.ansi_nulls = on,
        // At most one of the two is ON.
        SwitchOption::AnsiNullDfltOn => {
            options.ansi_null_default = on;
            options.ansi_null_default_off &= !on;
        }
        SwitchOption::AnsiNullDfltOff => {
            options.ansi_null_default_off = on;
            options.ansi_null_default &= !on;
        }
        SwitchOption::AnsiPadding => options.ansi_padding = on,
        SwitchOption::AnsiWarnings => options.ansi_warnings = on,
        SwitchOption::ArithAbort => options.arith_abort = on,
        SwitchOption::ArithIgnore => options.arith_ignore = on,
        SwitchOption::ConcatNullYieldsNull => options.concat_null_yields_null = on,
        SwitchOption::CursorCloseOnCommit => options.cursor_close_on_commit = on,
        SwitchOption::FmtOnly => options.format_only = on,
        SwitchOption::ImplicitTransactions => options.implicit_transactions = on,
        SwitchOption::NoBrowseTable => options.no_browse_table = on,
        SwitchOption::NoCount => options.no_count = on,
        SwitchOption::NoExec => options.no_exec = on,
        SwitchOption::NumericRoundAbort => options.numeric_round_abort = on,
        SwitchOption::ParseOnly => options.parse_only = on,
        SwitchOption::QuotedIdentifier => options.quoted_identifier = on,
        SwitchOption::XactAbort => options.xact_abort = on,
        // Options about plans, or about features that do not exist here: OFF is accepted.
        SwitchOption::DisableDefCnstChk
        | SwitchOption::ForcePlan
        | SwitchOption::RemoteProcTransactions
            if !on => {}
        SwitchOption::DisableDefCnstChk => return not_on("DISABLE_DEF_CNST_CHK"),
        SwitchOption::ForcePlan => return not_on("FORCEPLAN"),
        SwitchOption::RemoteProcTransactions => return not_on("REMOTE_PROC_TRANSACTIONS"),
        SwitchOption::ShowplanAll => options.explain.set(Explain::PLAN_ALL, on),
        SwitchOption::ShowplanText => options.explain.set(Explain::PLAN_TEXT, on),
        SwitchOption::ShowplanXml => options.explain.set(Explain::PLAN_XML, on),
    }
    Ok(())
}

fn not_on(option: &str) -> Result<(), Stop> {
    Err(Msg::NotSupported(&format!("SET {option} ON")).into())
}
