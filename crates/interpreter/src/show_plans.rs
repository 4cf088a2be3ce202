//! Sends the plans of a program without running it (SHOWPLAN), and makes those of
//! `sys.dm_exec_query_plan`.

use tsql::ast::StatementKind;
use types::{DataType, Length, Value};

use crate::{NEST_LEVEL_MAX, Runner, Stop, done, resolve_procedure};
use ::binder::program::sets_plans;
use ::binder::shape_of;
use ::executor::Cx;
use ::explain::rows::{self, Detail, column};
use ::explain::statement::{Body, Shown, World};
use ::explain::{Explain, XML_COLUMN, document};
use ::plan::program::{
    CursorStep, ExecuteStep, ExecuteTarget, InsertedCall, Leaf, Program, Step, StepKind,
};
use ::plan::sink::{ColumnInfo, Command};
use ::vectorized::Degree;

/// Visits the steps of programs and binds them.
struct Collector<'r> {
    runner: &'r Runner<'r>,
    next: u32,
    /// Procedures being visited, to stop at recursion.
    calls: Vec<i32>,
}

impl Runner<'_> {
    /// Sends the plans of the program instead of running it.
    pub fn show_plans(&self, cx: &mut Cx<'_>) -> Result<i32, Stop> {
        check_permission(cx)?;
        let mut collector = Collector { runner: self, next: 1, calls: Vec::new() };
        let statements = collector.steps(&self.program.body, cx)?;
        let explain = cx.session.options.explain;
        if explain.has(Explain::PLAN_XML) {
            send_document(&statements, cx)?;
        } else if explain.has(Explain::PLAN_ALL) {
            let rows = rows::rows(&statements, Detail::Estimates);
            send(rows::columns(Detail::Estimates), &rows, cx)?;
        } else {
            for statement in &statements {
                send_lines(&[statement.text.as_str()], cx)?;
                let lines = rows::lines(statement);
                if !lines.is_empty() {
                    send_lines(&lines.iter().map(String::as_str).collect::<Vec<_>>(), cx)?;
                }
            }
        }
        Ok(0)
    }
}

/// Checks the permission SHOWPLAN in the database.
pub(crate) fn check_permission(cx: &Cx<'_>) -> Result<(), Stop> {
    match cx.session.catalog.database(&cx.session.identity.database) {
        Some(database) => Ok(cx.session.identity.rights.check_database(database, "SHOWPLAN")?),
        None => Ok(()),
    }
}

/// Returns true if a program is a single `SET SHOWPLAN_..`, the only statement that is executed
/// while plans are shown.
pub(crate) fn is_switch(program: &Program) -> bool {
    matches!(program.body.as_slice(), [Step { kind: StepKind::Other(statement), .. }]
        if sets_plans(&statement.kind))
}

/// Sends the XML document of statements.
pub(crate) fn send_document(statements: &[Shown], cx: &mut Cx<'_>) -> Result<(), Stop> {
    let text = document(statements);
    let columns = vec![column(XML_COLUMN, DataType::NVarChar(Length::Max))];
    send(columns, &[vec![Value::nvarchar(&text)]], cx)
}

fn send_lines(lines: &[&str], cx: &mut Cx<'_>) -> Result<(), Stop> {
    let rows: Vec<Vec<Value>> = lines.iter().map(|line| vec![Value::nvarchar(line)]).collect();
    send(vec![column("StmtText", DataType::NVarChar(Length::Max))], &rows, cx)
}

/// Sends a result set of these columns and rows.
pub(crate) fn send(
    columns: Vec<ColumnInfo>,
    rows: &[Vec<Value>],
    cx: &mut Cx<'_>,
) -> Result<(), Stop> {
    cx.sink.columns(&shape_of(columns))?;
    for row in rows {
        cx.sink.row(row)?;
    }
    Ok(done(cx, Command::SELECT, u64::try_from(rows.len()).ok(), false)?)
}

impl Collector<'_> {
    fn steps(&mut self, steps: &[Step], cx: &mut Cx<'_>) -> Result<Vec<Shown>, Stop> {
        let mut shown = Vec::new();
        for step in steps {
            self.step(step, &mut shown, cx).map_err(|stop| self.runner.at_line(stop, step.line))?;
        }
        Ok(shown)
    }

    fn step(&mut self, step: &Step, shown: &mut Vec<Shown>, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let text = step.span.text(&self.runner.program.source);
        match &step.kind {
            StepKind::Block(body) | StepKind::Atomic { body, .. } => {
                shown.extend(self.steps(body, cx)?);
            }
            StepKind::TryCatch(body, catch) => {
                shown.extend(self.steps(body, cx)?);
                shown.extend(self.steps(catch, cx)?);
            }
            StepKind::If(branches, otherwise) => {
                let mut otherwise = self.steps(otherwise, cx)?;
                for branch in branches.iter().rev() {
                    let then = self.steps(&branch.then, cx)?;
                    otherwise =
                        vec![self.condition(text, &branch.condition, then, otherwise, cx)?];
                }
                shown.extend(otherwise);
            }
            StepKind::While(condition, body) => {
                let then = self.steps(body, cx)?;
                shown.push(self.condition(text, condition, then, Vec::new(), cx)?);
            }
            StepKind::Data(leaf)
            | StepKind::Assign(_, leaf)
            | StepKind::Return(Some(leaf))
            | StepKind::ReturnValue(leaf)
            | StepKind::Cursor(CursorStep::Declare(_, _, leaf)) => {
                let id = self.id();
                shown.push(self.leaf(id, text, leaf, cx)?);
            }
            StepKind::Execute(call) => shown.push(self.call(text, call, cx)?),
            StepKind::InsertExecute(insert) => {
                if let InsertedCall::Procedure(call) = &insert.source {
                    shown.push(self.call(text, call, cx)?);
                } else {
                    shown.push(Shown::new(self.id(), text, "INSERT EXEC", Body::Nothing));
                }
            }
            StepKind::Other(statement) => {
                let kind = kind_of(&statement.kind);
                shown.push(Shown::new(self.id(), text, kind, Body::Nothing));
            }
            StepKind::Print(_) => shown.push(Shown::new(self.id(), text, "PRINT", Body::Nothing)),
            StepKind::ExecuteString(_) => {
                shown.push(Shown::new(self.id(), text, "EXECUTE STRING", Body::Nothing));
            }
            StepKind::RaisError(_) | StepKind::Throw(_) => {
                shown.push(Shown::new(self.id(), text, "RAISERROR", Body::Nothing));
            }
            StepKind::WaitFor(..) => {
                shown.push(Shown::new(self.id(), text, "WAITFOR", Body::Nothing));
            }
            StepKind::SetValue(..) => {
                shown.push(Shown::new(self.id(), text, "SET STATEMENT", Body::Nothing));
            }
            StepKind::Cursor(_)
            | StepKind::Break
            | StepKind::Continue
            | StepKind::Goto(_)
            | StepKind::Label(_)
            | StepKind::Return(None)
            | StepKind::Declare => {}
        }
        Ok(())
    }

    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn leaf(&self, id: u32, text: &str, leaf: &Leaf, cx: &mut Cx<'_>) -> Result<Shown, Stop> {
        let variables = &self.runner.program.variables;
        self.runner.with_plan(leaf, cx, |bound, cx| {
            let catalog = &cx.session.catalog;
            let degree = Degree::of_session(cx.session, leaf.run_hints().degree);
            let world = World { catalog, variables, profile: None, changed: 0, degree };
            Ok(Shown::of_bound(id, text, bound, &world))
        })
    }

    fn condition(
        &mut self,
        text: &str,
        condition: &Leaf,
        then: Vec<Shown>,
        otherwise: Vec<Shown>,
        cx: &mut Cx<'_>,
    ) -> Result<Shown, Stop> {
        let id = self.id();
        let head = text.lines().next().unwrap_or_default();
        let shown = self.leaf(id, head, condition, cx)?;
        let plan = match shown.body {
            Body::Plan(plan) => Some(plan),
            Body::Nothing | Body::Call(_) | Body::Condition { .. } => None,
        };
        Ok(Shown { kind: "COND", body: Body::Condition { plan, then, otherwise }, ..shown })
    }

    /// Shows a call, with the statements of the called procedure.
    fn call(&mut self, text: &str, call: &ExecuteStep, cx: &mut Cx<'_>) -> Result<Shown, Stop> {
        let shown = Shown::new(self.id(), text, "EXECUTE PROC", Body::Nothing);
        let ExecuteTarget::Name(name) = &call.procedure else { return Ok(shown) };
        let Some(procedure) = resolve_procedure(cx.session, name, self.runner.program.schema)
        else {
            return Ok(shown);
        };
        let too_deep = self.calls.len() >= NEST_LEVEL_MAX as usize;
        if too_deep || self.calls.contains(&procedure.id) || procedure.is_encrypted() {
            return Ok(shown);
        }
        let program = ::compile::take_program_of(cx.session, &procedure)?;
        let runner = Runner { program: &program, procedure: &procedure.name };
        self.calls.push(procedure.id);
        let mut inner =
            Collector { runner: &runner, next: self.next, calls: std::mem::take(&mut self.calls) };
        let statements = inner.steps(&program.body, cx);
        (self.next, self.calls) = (inner.next, inner.calls);
        self.calls.pop();
        let callee = ::explain::scalar::bracketed(&[&procedure.schema, &procedure.name]);
        Ok(Shown { body: Body::Call(statements?), callee, ..shown })
    }
}

/// Returns `StatementType` of a statement that is run from its syntax tree.
fn kind_of(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::SetOption(_) => "SET ON/OFF",
        StatementKind::Transaction(_) => "TRANSACTION",
        StatementKind::Use(_) => "USE DATABASE",
        StatementKind::Dbcc(_) => "DBCC",
        StatementKind::Kill(_) => "KILL",
        _ => "DDL",
    }
}
