//! Binds a whole program before its first statement runs.
//!
//! An error in any statement keeps the program from running, even if the statement is in a branch
//! that would not be executed. Some errors can't be decided yet and are left to the statement's
//! execution:
//!
//! ```text
//!  a table, view or table function is missing      a statement before may create it
//!  a temporary table that the program creates      one of that name is a different table
//!  a statement after a USE that may not run        the database is unknown
//!  WHERE CURRENT OF                                the cursor's table is unknown
//!  a missing function of the database, after EXEC  the called code may create it
//! ```
//!
//! Plans stay in their leaves, so that nothing is bound twice. The exceptions are leaves whose
//! plans are never kept, and cursors.

use std::collections::{HashMap, HashSet};

use sos::ledger::{self, Label};
use sos::memory::{MemoryClerk, with_clerk};
use tsql::ast::{self, QueryBody, SelectStatement, StatementKind, SwitchOption};
use types::{Error, Msg};

use crate::hinted;
use crate::leaf::{all_unfound, bind_as};
use crate::positioned;
use ::binder::dml::check_target;
use ::catalog::name::Name;
use ::plan::program::{
    ArgumentValue, CursorStep, ExecuteStep, InsertExecuteStep, InsertedCall, Leaf, LeafAst,
    Program, Step, StepKind, TextCall,
};
use ::session::class::ErrorClass;
use ::session::{Options, SessionState};

/// Error 4121, a function of the database is missing. EXEC earlier in the program may create it.
const FUNCTION_MISSING: i32 = 4121;

/// Checks the body of a module that is being created: it may name what its creator has no permission on.
///
/// # Errors
/// All errors that are known before execution, as [`Error::all`] combines them.
pub fn check_module(session: &SessionState, mut program: Program, name: &str) -> types::Result<()> {
    program.is_checked_only = true;
    // Cancelled: no errors are reported, and the request ends at its next statement.
    let errors = check(session, &program, Plans::OfModule).unwrap_or_default();
    Error::all(errors).map_or(Ok(()), |error| Err(error.in_procedure(name)))
}

/// What the check does with the plans.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Plans {
    /// The plans stay in their leaves.
    Kept,
    /// The plans are dropped: the leaves will be bound under other conditions.
    Dropped,
    /// The program will not run: a module is being created.
    OfModule,
}

/// A part of a program still to be checked, in the order of the text.
enum Part<'p> {
    /// Statements, and whether control certainly reaches them.
    Steps(&'p [Step], bool),
    /// One statement, and whether control certainly reaches it.
    Step(&'p Step, bool),
    /// A leaf to be bound, its line, and the position where its statement begins.
    Leaf(&'p Leaf, u32, u32),
    /// The target of an INSERT .. EXEC, and the statement.
    Target(&'p InsertExecuteStep, &'p Step),
}

/// State of one pass over a program.
struct Pass<'s> {
    session: &'s SessionState,
    program: &'s Program,
    plans: Plans,
    /// The database that names are looked up in; `None` after a USE that may not run.
    database: Option<&'s str>,
    /// Folded names of the temporary tables that the program creates.
    made: HashSet<String>,
    /// Whether an earlier statement calls a module (EXEC).
    called: bool,
    /// Folded names of the variables and where each is declared; filled at first use.
    declared: Option<HashMap<String, u32>>,
    errors: Vec<Error>,
}

/// Binds all leaves of a program. Returns the errors, or `None` if the request was cancelled.
pub fn check(session: &SessionState, program: &Program, plans: Plans) -> Option<Vec<Error>> {
    let _label = ledger::labelled(Label::Bind);
    let database =
        if program.switches_database { &session.identity.database } else { &program.database };
    let mut pass = Pass {
        session,
        program,
        plans,
        database: Some(database),
        made: temporary_tables(&program.body),
        called: false,
        declared: None,
        errors: Vec::new(),
    };
    let mut parts = vec![Part::Steps(&program.body, true)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Steps(steps, certain) => {
                parts.extend(steps.iter().rev().map(|step| Part::Step(step, certain)));
            }
            Part::Step(step, certain) => {
                let first = parts.len();
                take_apart(step, certain, &mut parts);
                parts[first..].reverse();
                pass.note(step, certain);
            }
            Part::Leaf(leaf, line, at) => {
                sos::sched::yield_if_quantum_due();
                if session.connection.cancel.is_set() {
                    return None;
                }
                with_clerk(MemoryClerk::SqlPlans, || pass.leaf(leaf, line, at));
            }
            Part::Target(insert, step) => pass.target(insert, step),
        }
    }
    // What was bound last may have ended for a cancellation.
    (!session.connection.cancel.is_set()).then_some(pass.errors)
}

impl<'s> Pass<'s> {
    /// Records what a statement changes for the statements after it.
    fn note(&mut self, step: &'s Step, certain: bool) {
        match &step.kind {
            StepKind::Other(statement) => match &statement.kind {
                StatementKind::Use(name) => {
                    let found = self.session.catalog.database(name).filter(|_| certain);
                    self.database = found.map(|database| database.name.as_str());
                }
                StatementKind::SetOption(option)
                    if self.plans == Plans::Kept
                        && changes_meaning(option, &self.session.options) =>
                {
                    self.plans = Plans::Dropped;
                }
                _ => {}
            },
            StepKind::Execute(_) | StepKind::ExecuteString(_) | StepKind::InsertExecute(_) => {
                self.called = true;
            }
            _ => {}
        }
    }

    fn leaf(&mut self, leaf: &Leaf, line: u32, at: u32) {
        let Some(database) = self.database else { return };
        let cursors_row = match &leaf.ast {
            LeafAst::Statement(statement) => positioned::cursor_of(statement).is_some(),
            _ => false,
        };
        if leaf.plan.get().is_some() || cursors_row {
            return;
        }
        let failed = {
            let place = (database, at);
            let context =
                crate::binding::context_ahead(self.session, self.program, place, &self.made);
            let hinted = hinted::bind(self.session, &context, leaf, self.program);
            let (bound, binder) = match hinted {
                Some((bound, binder)) => (Ok(bound), binder),
                None => {
                    let mut binder = context.binder();
                    (bind_as(&mut binder, leaf, self.program), binder)
                }
            };
            match bound {
                Ok(bound) => {
                    let meaning = self.session.options.meaning();
                    let shared = !binder.session_bound && !binder.unchained.get();
                    let kept = self.plans == Plans::Kept && shared;
                    if kept && *leaf.meaning.get_or_init(|| meaning) == meaning {
                        leaf.keep(bound);
                    }
                    return;
                }
                Err(error) if self.is_mistake(&error) => {
                    all_unfound(&mut context.binder(), leaf, self.program, error)
                }
                Err(error) => Err(error),
            }
        };
        match failed {
            Ok(error) => self.errors.push(error.at_line(line)),
            Err(_) => self.undeclared(leaf, line, at),
        }
    }

    /// Reports undeclared variables of a statement whose binding is left to execution.
    fn undeclared(&mut self, leaf: &Leaf, line: u32, at: u32) {
        let LeafAst::Statement(statement) = &leaf.ast else { return };
        let span = statement.span.start as usize..statement.span.end as usize;
        let program = self.program;
        let declared = self.declared.get_or_insert_with(|| {
            let scalars = program.variables.iter().map(|v| (Name::folded(&v.name), v.at));
            let tables = program.table_variables.iter().map(|t| (Name::folded(&t.name), t.at));
            scalars.chain(tables).collect()
        });
        for (name, is_table) in tsql::variables_in(program.source.get(span).unwrap_or_default()) {
            if declared.get(&Name::folded(name)).is_some_and(|declared| *declared <= at) {
                continue;
            }
            let error: Error = match is_table {
                true => Msg::MustDeclareTable(name).into(),
                false => Msg::MustDeclareScalar(name).into(),
            };
            self.errors.push(error.at_line(line));
        }
    }

    fn target(&mut self, insert: &InsertExecuteStep, step: &Step) {
        let Some(database) = self.database else { return };
        let place = (database, step.span.start);
        let context = crate::binding::context_ahead(self.session, self.program, place, &self.made);
        let checked = check_target(&mut context.binder(), &insert.target, &insert.columns);
        let mistake = checked.err().filter(|error| self.is_mistake(error));
        self.errors.extend(mistake.map(|error| error.at_line(step.line)));
    }

    fn is_mistake(&self, error: &Error) -> bool {
        // A module looks a function up when it is called, as it does with tables.
        let may_come = self.called || !self.program.is_text();
        ErrorClass::is_of_compilation(error) && !(may_come && error.number == FUNCTION_MISSING)
    }
}

/// Splits a statement into its parts, in the order of the text.
fn take_apart<'p>(step: &'p Step, certain: bool, parts: &mut Vec<Part<'p>>) {
    let at = step.span.start;
    let mut add = |leaf: &'p Leaf| parts.push(Part::Leaf(leaf, step.line, at));
    match &step.kind {
        StepKind::Assign(_, leaf)
        | StepKind::Return(Some(leaf))
        | StepKind::ReturnValue(leaf)
        | StepKind::Data(leaf)
        | StepKind::Print(leaf)
        | StepKind::WaitFor(_, leaf)
        | StepKind::Cursor(CursorStep::Declare(_, _, leaf)) => add(leaf),
        StepKind::SetValue(_, leaf) if is_word(leaf) => {}
        StepKind::SetValue(_, leaf) => add(leaf),
        StepKind::RaisError(raise) => {
            [&raise.message, &raise.severity, &raise.state].into_iter().for_each(&mut add);
            raise.arguments.iter().for_each(add);
        }
        StepKind::Throw(Some(operands)) => operands.iter().for_each(add),
        StepKind::Execute(call) => arguments(call).for_each(add),
        StepKind::ExecuteString(call) => texts(call).for_each(add),
        StepKind::InsertExecute(insert) => {
            match &insert.source {
                InsertedCall::Procedure(call) => arguments(call).for_each(add),
                InsertedCall::Text(call) => texts(call).for_each(add),
            }
            parts.push(Part::Target(insert, step));
        }
        StepKind::Block(body) | StepKind::Atomic { body, .. } => {
            parts.push(Part::Steps(body, certain));
        }
        StepKind::If(branches, otherwise) => {
            for branch in branches {
                parts.push(Part::Leaf(&branch.condition, branch.line, at));
                parts.push(Part::Steps(&branch.then, false));
            }
            parts.push(Part::Steps(otherwise, false));
        }
        StepKind::While(condition, body) => {
            add(condition);
            parts.push(Part::Steps(body, false));
        }
        StepKind::TryCatch(body, catch) => {
            parts.push(Part::Steps(body, false));
            parts.push(Part::Steps(catch, false));
        }
        StepKind::Break
        | StepKind::Continue
        | StepKind::Goto(_)
        | StepKind::Label(_)
        | StepKind::Return(None)
        | StepKind::Declare
        | StepKind::Throw(None)
        | StepKind::Cursor(_)
        | StepKind::Other(_) => {}
    }
}

/// Returns true if a SET changes an option that plans depend on.
fn changes_meaning(option: &ast::SetOption, options: &Options) -> bool {
    let ast::SetOption::Switch { options: named, on } = option else { return false };
    named.iter().any(|named| match named {
        SwitchOption::AnsiDefaults => true,
        SwitchOption::AnsiNulls => options.ansi_nulls != *on,
        SwitchOption::AnsiPadding => options.ansi_padding != *on,
        SwitchOption::AnsiWarnings => options.ansi_warnings != *on,
        SwitchOption::ArithAbort => options.arith_abort != *on,
        SwitchOption::ConcatNullYieldsNull => options.concat_null_yields_null != *on,
        SwitchOption::NumericRoundAbort => options.numeric_round_abort != *on,
        SwitchOption::QuotedIdentifier => options.quoted_identifier != *on,
        _ => false,
    })
}

/// Returns true if the value of an option is a word: `SET LANGUAGE us_english`.
fn is_word(leaf: &Leaf) -> bool {
    matches!(&leaf.ast, LeafAst::Value(ast::Expr { kind: ast::ExprKind::Column(_), .. }))
}

fn arguments(call: &ExecuteStep) -> impl Iterator<Item = &Leaf> {
    call.arguments.iter().filter_map(|argument| match &argument.value {
        ArgumentValue::Value(leaf) => Some(leaf),
        ArgumentValue::Variable(_) | ArgumentValue::Table(_) | ArgumentValue::Default => None,
    })
}

fn texts(call: &TextCall) -> impl Iterator<Item = &Leaf> {
    call.parts.iter()
}

/// Returns the folded names of the temporary tables that a program creates.
fn temporary_tables(body: &[Step]) -> HashSet<String> {
    let mut made = HashSet::new();
    let mut parts = vec![Part::Steps(body, true)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Steps(steps, _) => {
                parts.extend(steps.iter().map(|step| Part::Step(step, true)));
            }
            Part::Step(step, _) => {
                if let StepKind::Other(statement) = &step.kind
                    && let StatementKind::CreateTable(create) = &statement.kind
                    && create.name.is_temporary()
                {
                    made.insert(Name::folded(&create.name.object));
                }
                take_apart(step, true, &mut parts);
            }
            Part::Leaf(leaf, ..) => made.extend(selected_into(leaf)),
            Part::Target(..) => {}
        }
    }
    made
}

/// Returns the folded name of the temporary table that a SELECT .. INTO creates.
fn selected_into(leaf: &Leaf) -> Option<String> {
    let LeafAst::Statement(ast::Statement { kind: StatementKind::Select(select), .. }) = &leaf.ast
    else {
        return None;
    };
    let into = into_of(select)?;
    into.table.is_temporary().then(|| Name::folded(&into.table.object))
}

fn into_of(select: &SelectStatement) -> Option<&ast::Into> {
    let mut body = &select.query.body;
    loop {
        match body {
            QueryBody::Select(spec) => return spec.into.as_ref(),
            QueryBody::SetOperation { first, .. } => body = first,
            QueryBody::Parenthesized(_) => return None,
        }
    }
}
