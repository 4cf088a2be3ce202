//! Parses SET, DBCC, KILL, CHECKPOINT, SHUTDOWN and RECONFIGURE.

use types::{Msg, Result};

use super::Parser;
use super::select::assign_op;
use crate::ast::{
    AssignOp, Dbcc, DeadlockPriority, ExprKind, Kill, SetOption, SetVariable, SetVariableValue,
    StatementKind, StatisticsOption, SwitchOption, ValueOption,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses a statement that starts with SET.
    #[inline(never)]
    pub(super) fn set(&mut self) -> Result<StatementKind> {
        self.expect(Kw::Set)?;
        if self.at_variable() {
            return Ok(StatementKind::SetVariable(Box::new(self.set_variable()?)));
        }
        Ok(StatementKind::SetOption(Box::new(self.set_option()?)))
    }

    fn set_variable(&mut self) -> Result<SetVariable> {
        let variable = self.variable()?;
        if self.eat_kind(TokenKind::Dot) {
            let method = self.ident()?;
            let arguments = self.arguments()?;
            return Ok(SetVariable {
                variable,
                value: SetVariableValue::Method(method, arguments),
            });
        }
        let Some(op) = assign_op(self.kind()) else { return Err(self.unexpected()) };
        self.advance();
        let value = if op == AssignOp::Assign && self.at(Kw::Cursor) {
            let start = self.start();
            SetVariableValue::Cursor(Box::new(self.cursor_definition(None, Vec::new(), start)?))
        } else {
            SetVariableValue::Expr(op, self.expr()?)
        };
        Ok(SetVariable { variable, value })
    }

    fn set_option(&mut self) -> Result<SetOption> {
        match self.keyword() {
            Kw::Transaction | Kw::Tran => {
                self.advance();
                self.expect_all(&[Kw::Isolation, Kw::Level])?;
                Ok(SetOption::Isolation(self.isolation_level()?))
            }
            Kw::IdentityInsert => {
                self.advance();
                let table = self.local_name()?;
                Ok(SetOption::IdentityInsert { table, on: self.on_off()? })
            }
            Kw::Statistics => {
                self.advance();
                let options = self.comma_list(Self::statistics_option)?;
                Ok(SetOption::Statistics { options, on: self.on_off()? })
            }
            Kw::Offsets => {
                self.advance();
                let keywords =
                    self.comma_list(|parser| Ok(parser.any_word()?.to_ascii_uppercase().into()))?;
                Ok(SetOption::Offsets { keywords, on: self.on_off()? })
            }
            Kw::DeadlockPriority => {
                self.advance();
                Ok(SetOption::DeadlockPriority(self.deadlock_priority()?))
            }
            Kw::FipsFlagger => {
                self.advance();
                let level = if self.eat(Kw::Off) { None } else { Some(self.string()?) };
                Ok(SetOption::FipsFlagger(level))
            }
            Kw::Errlvl => {
                self.advance();
                Ok(SetOption::ErrorLevel(self.integer_or_variable()?))
            }
            word => match value_option(word) {
                Some(option) => {
                    self.advance();
                    Ok(SetOption::Value(option, self.set_value(option)?))
                }
                None => self.set_switches(),
            },
        }
    }

    /// Parses `a, b ON`: options that are on or off.
    fn set_switches(&mut self) -> Result<SetOption> {
        let options = self.comma_list(|parser| {
            let token = parser.token();
            if let Some(option) = switch_option(token.keyword) {
                parser.advance();
                return Ok(option);
            }
            if !parser.at_ident() {
                return Err(parser.unexpected());
            }
            Err(parser
                .error_at(Msg::NotRecognized(&parser.shown(token), "SET option"), token.start))
        })?;
        Ok(SetOption::Switch { options, on: self.on_off()? })
    }

    /// Parses an option's value, which is no expression: a variable, a constant or a word.
    fn set_value(&mut self, option: ValueOption) -> Result<crate::ast::Expr> {
        match option {
            ValueOption::RowCount if self.at_kind(TokenKind::Minus) => Err(self.unexpected()),
            ValueOption::RowCount | ValueOption::TextSize => self.integer_or_variable(),
            _ if self.at_ident() => self.word_or_expr(),
            _ => self.constant_or_variable(),
        }
    }

    fn statistics_option(&mut self) -> Result<StatisticsOption> {
        let option = match self.keyword() {
            Kw::Io => StatisticsOption::Io,
            Kw::Time => StatisticsOption::Time,
            Kw::Profile => StatisticsOption::Profile,
            Kw::Xml => StatisticsOption::Xml,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(option)
    }

    fn deadlock_priority(&mut self) -> Result<DeadlockPriority> {
        let priority = match self.keyword() {
            Kw::Low => DeadlockPriority::Low,
            Kw::Normal => DeadlockPriority::Normal,
            Kw::High => DeadlockPriority::High,
            _ => return Ok(DeadlockPriority::Value(self.constant_or_variable()?)),
        };
        self.advance();
        Ok(priority)
    }

    /// Parses DBCC, KILL, CHECKPOINT, SHUTDOWN and RECONFIGURE.
    #[inline(never)]
    pub(super) fn administration(&mut self) -> Result<StatementKind> {
        match self.advance().keyword {
            Kw::Dbcc => Ok(StatementKind::Dbcc(Box::new(self.dbcc()?))),
            Kw::Kill => self.kill(),
            Kw::Checkpoint => {
                let follows = self.at_literal() || self.at_variable();
                Ok(StatementKind::Checkpoint(if follows { Some(self.primary()?) } else { None }))
            }
            Kw::Shutdown => {
                let no_wait = self.eat_all(&[Kw::With, Kw::Nowait]);
                Ok(StatementKind::Shutdown { no_wait })
            }
            _ => {
                let with_override = self.eat_all(&[Kw::With, Kw::Override]);
                Ok(StatementKind::Reconfigure { with_override })
            }
        }
    }

    fn dbcc(&mut self) -> Result<Dbcc> {
        let command = self.any_word()?;
        let mut arguments = Vec::new();
        if self.at_kind(TokenKind::LeftParen) {
            arguments = self.parens(|parser| {
                if parser.at_kind(TokenKind::RightParen) {
                    return Ok(Vec::new());
                }
                parser.comma_list(Self::dbcc_argument)
            })?;
        }
        let options =
            if self.eat(Kw::With) { self.comma_list(Self::dbcc_option)? } else { Vec::new() };
        Ok(Dbcc { command, arguments, options })
    }

    /// Parses an argument of DBCC: names of several parts and reserved words are values too.
    fn dbcc_argument(&mut self) -> Result<crate::ast::Expr> {
        let start = self.start();
        let reserved = self.at_kind(TokenKind::Word) && self.keyword().is_reserved();
        if reserved && !self.at(Kw::Null) {
            return self.word_or_expr();
        }
        if !self.at_ident() {
            return self.expr();
        }
        let kind = ExprKind::Column(Box::new(self.column_ref()?));
        Ok(crate::ast::Expr { kind, span: self.span_from(start) })
    }

    fn dbcc_option(&mut self) -> Result<(Box<str>, Option<crate::ast::Expr>)> {
        let name = self.any_word()?.to_ascii_uppercase().into();
        let value = if self.eat_kind(TokenKind::Equal) { Some(self.expr()?) } else { None };
        Ok((name, value))
    }

    fn kill(&mut self) -> Result<StatementKind> {
        if self.at_all(&[Kw::Query, Kw::Notification]) || self.at_all(&[Kw::Stats, Kw::Job]) {
            return self.unsupported_here(self.tokens[self.position - 1].start);
        }
        let target = match self.is_string(self.token()) {
            true => self.string_or_variable()?,
            false if self.at_variable() => return Err(self.unexpected()),
            false => self.integer_or_variable()?,
        };
        let status_only = self.eat_all(&[Kw::With, Kw::Statusonly]);
        Ok(StatementKind::Kill(Box::new(Kill { target, status_only })))
    }
}

fn value_option(word: Kw) -> Option<ValueOption> {
    Some(match word {
        Kw::ContextInfo => ValueOption::ContextInfo,
        Kw::Datefirst => ValueOption::DateFirst,
        Kw::Dateformat => ValueOption::DateFormat,
        Kw::Language => ValueOption::Language,
        Kw::LockTimeout => ValueOption::LockTimeout,
        Kw::QueryGovernorCostLimit => ValueOption::QueryGovernorCostLimit,
        Kw::Rowcount => ValueOption::RowCount,
        Kw::Textsize => ValueOption::TextSize,
        _ => return None,
    })
}

fn switch_option(word: Kw) -> Option<SwitchOption> {
    Some(match word {
        Kw::AnsiDefaults => SwitchOption::AnsiDefaults,
        Kw::AnsiNulls => SwitchOption::AnsiNulls,
        Kw::AnsiNullDfltOff => SwitchOption::AnsiNullDfltOff,
        Kw::AnsiNullDfltOn => SwitchOption::AnsiNullDfltOn,
        Kw::AnsiPadding => SwitchOption::AnsiPadding,
        Kw::AnsiWarnings => SwitchOption::AnsiWarnings,
        Kw::Arithabort => SwitchOption::ArithAbort,
        Kw::Arithignore => SwitchOption::ArithIgnore,
        Kw::ConcatNullYieldsNull => SwitchOption::ConcatNullYieldsNull,
        Kw::CursorCloseOnCommit => SwitchOption::CursorCloseOnCommit,
        Kw::DisableDefCnstChk => SwitchOption::DisableDefCnstChk,
        Kw::Fmtonly => SwitchOption::FmtOnly,
        Kw::Forceplan => SwitchOption::ForcePlan,
        Kw::ImplicitTransactions => SwitchOption::ImplicitTransactions,
        Kw::NoBrowsetable => SwitchOption::NoBrowseTable,
        Kw::Nocount => SwitchOption::NoCount,
        Kw::Noexec => SwitchOption::NoExec,
        Kw::NumericRoundabort => SwitchOption::NumericRoundAbort,
        Kw::Parseonly => SwitchOption::ParseOnly,
        Kw::QuotedIdentifier => SwitchOption::QuotedIdentifier,
        Kw::RemoteProcTransactions => SwitchOption::RemoteProcTransactions,
        Kw::ShowplanAll => SwitchOption::ShowplanAll,
        Kw::ShowplanText => SwitchOption::ShowplanText,
        Kw::ShowplanXml => SwitchOption::ShowplanXml,
        Kw::XactAbort => SwitchOption::XactAbort,
        _ => return None,
    })
}
