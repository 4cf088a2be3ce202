//! Prints control of flow, EXECUTE, transactions, cursors, SET.

use super::{List, Listed, Parens, Print, Some_, on_off, put, quote, when};
use tsql::ast::*;

impl Print for Vec<Statement> {
    fn print(&self, out: &mut String) {
        for statement in self {
            put!(out, statement, ";\n");
        }
    }
}

impl Print for Statement {
    #[expect(clippy::too_many_lines, reason = "one line for each kind of statement")]
    fn print(&self, out: &mut String) {
        use StatementKind as S;
        match &self.kind {
            S::Select(it) => put!(out, it),
            S::Insert(it) => put!(out, it),
            S::Update(it) => put!(out, it),
            S::Delete(it) => put!(out, it),
            S::Merge(it) => put!(out, it, ";"),
            S::Truncate(it) => put!(out, it),
            S::InsertBulk(it) => put!(out, it),
            S::BulkInsert(it) => put!(out, it),
            S::ReadText(it) => put!(out, it),
            S::Declare(list) => put!(out, "DECLARE", List(list)),
            S::SetVariable(it) => put!(out, it),
            S::SetOption(it) => put!(out, it),
            S::Block(body) => put!(out, "BEGIN", body, "END"),
            S::AtomicBlock(it) => put!(out, it),
            S::If(it) => put!(out, it),
            S::While(it) => put!(out, "WHILE", it.condition, it.body),
            S::Break => put!(out, "BREAK"),
            S::Continue => put!(out, "CONTINUE"),
            S::Return(value) => put!(out, "RETURN", value),
            S::Label(name) => put!(out, name, ":"),
            S::Goto(name) => put!(out, "GOTO", name),
            S::WaitFor(WaitFor::Delay(time)) => put!(out, "WAITFOR DELAY", time),
            S::WaitFor(WaitFor::Time(time)) => put!(out, "WAITFOR TIME", time),
            S::TryCatch(it) => {
                put!(out, "BEGIN TRY", it.body, "END TRY BEGIN CATCH", it.catch, "END CATCH")
            }
            S::Throw(None) => put!(out, "THROW"),
            S::Throw(Some(it)) => put!(out, "THROW", it.number, ",", it.message, ",", it.state),
            S::RaisError(it) => put!(out, it),
            S::Print(value) => put!(out, "PRINT", value),
            S::Execute(it) => put!(out, it),
            S::ExecuteString(it) => put!(out, it),
            S::ExecuteAs(it) => put!(out, it),
            S::Revert(cookie) => put!(out, "REVERT", super::With("WITH COOKIE =", cookie)),
            S::Transaction(it) => put!(out, it),
            S::DeclareCursor(it) => put!(out, "DECLARE", it),
            S::OpenCursor(cursor) => put!(out, "OPEN", cursor),
            S::Fetch(it) => put!(out, it),
            S::CloseCursor(cursor) => put!(out, "CLOSE", cursor),
            S::DeallocateCursor(cursor) => put!(out, "DEALLOCATE", cursor),
            S::Use(name) => put!(out, "USE", name),
            S::Dbcc(it) => put!(out, it),
            S::Kill(it) => put!(out, "KILL", it.target, when(it.status_only, "WITH STATUSONLY")),
            S::Checkpoint(seconds) => put!(out, "CHECKPOINT", seconds),
            S::Shutdown { no_wait } => {
                put!(out, "SHUTDOWN", no_wait.then_some("WITH NOWAIT"))
            }
            S::Reconfigure { with_override } => {
                put!(out, "RECONFIGURE", when(*with_override, "WITH OVERRIDE"))
            }
            S::Backup(it) => {
                let what = if it.is_log { "LOG" } else { "DATABASE" };
                put!(out, "BACKUP", what, it.database, "TO");
                backup_rest(&it.disks, &it.options, out);
            }
            S::Restore(it) => {
                let what = match it.kind {
                    RestoreKind::Database => "DATABASE",
                    RestoreKind::Log => "LOG",
                    RestoreKind::HeaderOnly => "HEADERONLY",
                    RestoreKind::FileListOnly => "FILELISTONLY",
                    RestoreKind::LabelOnly => "LABELONLY",
                    RestoreKind::VerifyOnly => "VERIFYONLY",
                };
                put!(out, "RESTORE", what, it.database, when(!it.disks.is_empty(), "FROM"));
                backup_rest(&it.disks, &it.options, out);
            }
            S::Unsupported(it) => put!(out, it.name),
            definition => super::definition::print(definition, out),
        }
    }
}

impl Print for BackupName {
    fn print(&self, out: &mut String) {
        match self {
            Self::Name(name) => put!(out, name),
            Self::Variable(variable) => put!(out, variable),
        }
    }
}

fn backup_rest(disks: &[Expr], options: &[BackupOption], out: &mut String) {
    for (n, disk) in disks.iter().enumerate() {
        put!(out, if n > 0 { "," } else { "" }, "DISK =", disk);
    }
    for (n, BackupOption { name, value, to }) in options.iter().enumerate() {
        put!(out, if n > 0 { "," } else { "WITH" }, name.to_string());
        let sign = if to.is_some() { "" } else { "=" };
        put!(out, super::With(sign, value), super::With("TO", to));
    }
}

impl Print for Declaration {
    fn print(&self, out: &mut String) {
        let Declaration { variable, kind, span: _ } = self;
        match kind {
            DeclarationKind::Scalar { data_type, not_null, value } => {
                put!(
                    out,
                    variable,
                    data_type,
                    not_null.then_some("NOT NULL"),
                    super::With("=", value)
                )
            }
            DeclarationKind::Table(elements) => put!(out, variable, "TABLE", Parens(elements)),
            DeclarationKind::Cursor => put!(out, variable, "CURSOR"),
        }
    }
}

impl Print for SetVariable {
    fn print(&self, out: &mut String) {
        put!(out, "SET", self.variable);
        match &self.value {
            SetVariableValue::Expr(op, value) => put!(out, op, value),
            SetVariableValue::Cursor(cursor) => put!(out, "=", cursor),
            SetVariableValue::Method(name, arguments) => put!(out, ".", name, Parens(arguments)),
        }
    }
}

/// Splits `ReadCommitted` into `READ COMMITTED` or `READ_COMMITTED`.
fn words(name: &impl std::fmt::Debug, between: char) -> String {
    let mut words = String::new();
    for c in format!("{name:?}").chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(between);
        }
        words.push(c.to_ascii_uppercase());
    }
    words
}

/// Prints options whose SQL name has its underscores at other places than the variant its capitals.
fn switch(option: SwitchOption) -> String {
    match option {
        SwitchOption::ArithAbort => "ARITHABORT".to_owned(),
        SwitchOption::ArithIgnore => "ARITHIGNORE".to_owned(),
        SwitchOption::FmtOnly => "FMTONLY".to_owned(),
        SwitchOption::ForcePlan => "FORCEPLAN".to_owned(),
        SwitchOption::NoBrowseTable => "NO_BROWSETABLE".to_owned(),
        SwitchOption::NoCount => "NOCOUNT".to_owned(),
        SwitchOption::NoExec => "NOEXEC".to_owned(),
        SwitchOption::NumericRoundAbort => "NUMERIC_ROUNDABORT".to_owned(),
        SwitchOption::ParseOnly => "PARSEONLY".to_owned(),
        other => words(&other, '_'),
    }
}

impl Print for SetOption {
    fn print(&self, out: &mut String) {
        put!(out, "SET");
        match self {
            SetOption::Switch { options, on } => {
                let options: Vec<_> = options.iter().map(|option| switch(*option)).collect();
                put!(out, List(&options), on_off(*on));
            }
            SetOption::Statistics { options, on } => {
                let options: Vec<_> = options.iter().map(|option| words(option, '_')).collect();
                put!(out, "STATISTICS", List(&options), on_off(*on));
            }
            SetOption::Offsets { keywords, on } => {
                put!(out, "OFFSETS", List(keywords), on_off(*on));
            }
            SetOption::Value(option, value) => {
                let option = match option {
                    ValueOption::DateFirst => "DATEFIRST".to_owned(),
                    ValueOption::DateFormat => "DATEFORMAT".to_owned(),
                    ValueOption::RowCount => "ROWCOUNT".to_owned(),
                    ValueOption::TextSize => "TEXTSIZE".to_owned(),
                    other => words(other, '_'),
                };
                put!(out, option, value);
            }
            SetOption::DeadlockPriority(priority) => {
                put!(out, "DEADLOCK_PRIORITY");
                match priority {
                    DeadlockPriority::Low => put!(out, "LOW"),
                    DeadlockPriority::Normal => put!(out, "NORMAL"),
                    DeadlockPriority::High => put!(out, "HIGH"),
                    DeadlockPriority::Value(value) => put!(out, value),
                }
            }
            SetOption::Isolation(level) => {
                put!(out, "TRANSACTION ISOLATION LEVEL", words(level, ' '))
            }
            SetOption::IdentityInsert { table, on } => {
                put!(out, "IDENTITY_INSERT", table, on_off(*on))
            }
            SetOption::FipsFlagger(level) => {
                let level = level.as_deref().map_or("OFF".to_owned(), quote);
                put!(out, "FIPS_FLAGGER", level);
            }
            SetOption::ErrorLevel(level) => put!(out, "ERRLVL", level),
        }
    }
}

impl Print for AtomicBlock {
    fn print(&self, out: &mut String) {
        put!(out, "BEGIN ATOMIC WITH", Parens(&self.options), self.body, "END");
    }
}

impl Print for AtomicOption {
    fn print(&self, out: &mut String) {
        match self {
            AtomicOption::Isolation(level) => {
                put!(out, "TRANSACTION ISOLATION LEVEL =", words(level, ' '))
            }
            AtomicOption::Language(language) => put!(out, "LANGUAGE =", quote(language)),
            AtomicOption::DateFirst(day) => put!(out, "DATEFIRST =", day.to_string()),
            AtomicOption::DateFormat(format) => put!(out, "DATEFORMAT =", format),
            AtomicOption::DelayedDurability(on) => put!(out, "DELAYED_DURABILITY =", on_off(*on)),
        }
    }
}

impl Print for If {
    fn print(&self, out: &mut String) {
        for (index, branch) in self.branches.iter().enumerate() {
            let IfBranch { condition, then, line: _, span: _ } = branch;
            put!(out, when(index > 0, "ELSE"), "IF", condition, then, ";");
        }
        put!(out, super::With("ELSE", &self.otherwise));
    }
}

impl Print for RaisError {
    fn print(&self, out: &mut String) {
        let RaisError { message, severity, state, arguments, options } = self;
        put!(out, "RAISERROR (", message, ",", severity, ",", state, Listed(",", arguments), ")");
        let options: Vec<_> =
            options.iter().map(|option| format!("{option:?}").to_uppercase()).collect();
        put!(out, Listed("WITH", &options));
    }
}

impl Print for Execute {
    fn print(&self, out: &mut String) {
        let Execute { return_status, procedure, number, arguments, options } = self;
        put!(out, "EXEC", return_status, when(return_status.is_some(), "="));
        match procedure {
            Callee::Name(name) => put!(out, name),
            Callee::Variable(variable) => put!(out, variable),
        }
        put!(out, number.map(|number| format!("; {number}")), List(arguments));
        put!(out, Listed("WITH", options));
    }
}

impl Print for Argument {
    fn print(&self, out: &mut String) {
        let Argument { name, value, output, span: _ } = self;
        put!(out, name, when(name.is_some(), "="), value, when(*output, "OUTPUT"));
    }
}

impl Print for ExecuteOption {
    fn print(&self, out: &mut String) {
        match self {
            ExecuteOption::Recompile => put!(out, "RECOMPILE"),
            ExecuteOption::ResultSetsUndefined => put!(out, "RESULT SETS UNDEFINED"),
            ExecuteOption::ResultSetsNone => put!(out, "RESULT SETS NONE"),
            ExecuteOption::ResultSets(sets) => {
                for (index, columns) in sets.iter().enumerate() {
                    put!(out, if index == 0 { "RESULT SETS (" } else { "," }, Parens(columns));
                }
                put!(out, ")");
            }
        }
    }
}

impl Print for ExecuteString {
    fn print(&self, out: &mut String) {
        let ExecuteString { text, arguments, run_as, at, options } = self;
        put!(out, "EXEC (");
        for (index, part) in text.iter().enumerate() {
            put!(out, when(index > 0, "+"), part);
        }
        put!(out, Listed(",", arguments), ")", super::With("AS", run_as), super::With("AT", at));
        put!(out, Listed("WITH", options));
    }
}

impl Print for ExecuteAs {
    fn print(&self, out: &mut String) {
        let ExecuteAs { who, no_revert, cookie } = self;
        put!(out, "EXECUTE AS", who, when(*no_revert, "WITH NO REVERT"));
        put!(out, super::With("WITH COOKIE INTO", cookie));
    }
}

impl Print for ExecuteAsWho {
    fn print(&self, out: &mut String) {
        match self {
            ExecuteAsWho::Caller => put!(out, "CALLER"),
            ExecuteAsWho::SelfUser => put!(out, "SELF"),
            ExecuteAsWho::Owner => put!(out, "OWNER"),
            ExecuteAsWho::User(name) => put!(out, "USER =", name),
            ExecuteAsWho::Login(name) => put!(out, "LOGIN =", name),
        }
    }
}

impl Print for Transaction {
    fn print(&self, out: &mut String) {
        let Transaction { action, name } = self;
        match action {
            TransactionAction::Begin { distributed, mark: _ } => {
                put!(out, "BEGIN", when(*distributed, "DISTRIBUTED"))
            }
            TransactionAction::Commit { .. } => put!(out, "COMMIT"),
            TransactionAction::Rollback => put!(out, "ROLLBACK"),
            TransactionAction::Save => put!(out, "SAVE"),
        }
        put!(out, "TRANSACTION");
        match name {
            Some(TransactionName::Name(name)) => put!(out, name),
            Some(TransactionName::Variable(variable)) => put!(out, variable),
            None => {}
        }
        match action {
            TransactionAction::Begin { mark: Some(mark), .. } => {
                put!(out, "WITH MARK", mark.as_deref().map(quote))
            }
            TransactionAction::Commit { delayed_durability: Some(on) } => {
                put!(out, "WITH ( DELAYED_DURABILITY =", on_off(*on), ")")
            }
            _ => {}
        }
    }
}

impl Print for DeclareCursor {
    fn print(&self, out: &mut String) {
        let DeclareCursor { name, options, query, access, span: _ } = self;
        let old = |option: &CursorOption| {
            matches!(option, CursorOption::Insensitive | CursorOption::Scroll)
        };
        let split = options.iter().take_while(|option| name.is_some() && old(option)).count();
        put!(out, name);
        for (index, option) in options.iter().enumerate() {
            put!(out, when(index == split, "CURSOR"), words(option, '_'));
        }
        put!(out, when(options.len() == split, "CURSOR"), "FOR", query);
        match access {
            Some(CursorAccess::ReadOnly) => put!(out, "FOR READ ONLY"),
            Some(CursorAccess::Update(columns)) => put!(out, "FOR UPDATE", Listed("OF", columns)),
            None => {}
        }
    }
}

impl Print for Fetch {
    fn print(&self, out: &mut String) {
        let Fetch { direction, cursor, into } = self;
        put!(out, "FETCH");
        match direction {
            FetchDirection::Next => put!(out, "NEXT"),
            FetchDirection::Prior => put!(out, "PRIOR"),
            FetchDirection::First => put!(out, "FIRST"),
            FetchDirection::Last => put!(out, "LAST"),
            FetchDirection::Absolute(row) => put!(out, "ABSOLUTE", row),
            FetchDirection::Relative(row) => put!(out, "RELATIVE", row),
        }
        put!(out, "FROM", cursor, Listed("INTO", into));
    }
}

impl Print for Dbcc {
    fn print(&self, out: &mut String) {
        let Dbcc { command, arguments, options } = self;
        put!(out, "DBCC", command, Some_("", arguments));
        for (index, (name, value)) in options.iter().enumerate() {
            put!(out, if index == 0 { "WITH" } else { "," }, name, super::With("=", value));
        }
    }
}
