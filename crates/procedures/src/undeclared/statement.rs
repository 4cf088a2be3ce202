//! Finds undeclared parameters in the bound statements of a batch.
//!
//! The batch is bound with each parameter declared as a string. Where a string is not allowed, it
//! is bound again with each parameter as a NULL without a type. It is bound twice at most, whatever
//! the number of parameters.

use types::value::ColumnType;
use types::{DataType, Length, Msg};

use super::Suggested;
use super::deduce::{Deduced, Target};
use crate::called::system_procedure;
use crate::executesql::parse_parameters;
use ::plan::expr::{Expr, ExprKind, Slot};
use ::plan::program::{ArgumentValue, ExecuteStep, ExecuteTarget, Leaf, Program, Step, StepKind};
use ::plan::query::{Node, Query};
use ::plan::statement::{
    Assignment, Bound, Insert, InsertSource, InsertValue, MergeAction, SetRow, table_of,
};
use ::plan::walk;
use ::session::SessionState;
use interpreter::{Stop, find_parameter, not_found, resolve_procedure};

/// The temporary types of undeclared parameters, until their own are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StandIn {
    /// Strings of type `varchar(8000)`.
    Text,
    /// NULLs that take the type of the other operand.
    Null,
}

/// Returns the types of the parameters `wanted` of a batch.
///
/// # Errors
/// Those of the batch, and 11502 to 11507 for a parameter whose type cannot be deduced.
pub(super) fn deduce(
    batch: &str,
    declared: &str,
    wanted: &[String],
    session: &SessionState,
) -> Result<Vec<Suggested>, Stop> {
    let attempt = |stand_in| attempt(batch, declared, (wanted, stand_in), session);
    let deduced = match attempt(StandIn::Text) {
        Ok(deduced) => deduced,
        // The error with strings is the one that the client gets.
        Err(failed) if wanted.is_empty() => return Err(failed),
        Err(failed) => attempt(StandIn::Null).map_err(|_| failed)?,
    };
    deduced.finish(wanted)
}

fn attempt(
    batch: &str,
    declared: &str,
    (wanted, stand_in): (&[String], StandIn),
    session: &SessionState,
) -> Result<Deduced, Stop> {
    let mut all: Vec<String> = wanted.iter().map(|name| format!("{name} varchar(8000)")).collect();
    if !declared.trim().is_empty() {
        all.insert(0, declared.to_owned());
    }
    let parameters = parse_parameters(&all.join(", "), session)?;
    let program = ::compile::parse_and_compile(session, batch, parameters)?;
    let nulls = match stand_in {
        StandIn::Text => Vec::new(),
        StandIn::Null => {
            (0..).zip(wanted).map(|(place, name)| (name.clone(), untyped(place))).collect()
        }
    };
    let mut found = Found { program: &program, nulls, deduced: Deduced::new(wanted, &program) };
    found.steps(&program.body, session)?;
    Ok(found.deduced)
}

/// Makes a parameter without a type. After it gets its type it is nullable.
fn untyped(place: u32) -> Expr {
    let ty = ColumnType { nullable: false, ..ColumnType::nullable(DataType::Int) };
    Expr::new(ExprKind::Variable(Slot::undeclared(place)), ty)
}

/// The types found so far, with the batch that they are found in.
struct Found<'p> {
    program: &'p Program,
    /// The expressions that parameters without a type are bound to.
    nulls: Vec<(String, Expr)>,
    deduced: Deduced,
}

impl Found<'_> {
    fn steps(&mut self, steps: &[Step], session: &SessionState) -> Result<(), Stop> {
        for step in steps {
            match &step.kind {
                StepKind::Data(leaf) | StepKind::Print(leaf) => self.leaf(leaf, session)?,
                StepKind::Return(Some(leaf)) | StepKind::WaitFor(_, leaf) => {
                    self.leaf(leaf, session)?;
                }
                StepKind::Assign(slot, leaf) => {
                    let ty = self.program.variables[slot.0 as usize].ty;
                    let bound = self.bind(leaf, session)?;
                    match &bound {
                        Bound::Scalar(scalar) => self.assigned(&scalar.expr, &ty),
                        other => self.statement(other),
                    }
                    self.changed(*slot, &ty);
                }
                StepKind::If(branches, otherwise) => {
                    for branch in branches {
                        self.leaf(&branch.condition, session)?;
                        self.steps(&branch.then, session)?;
                    }
                    self.steps(otherwise, session)?;
                }
                StepKind::While(condition, body) => {
                    self.leaf(condition, session)?;
                    self.steps(body, session)?;
                }
                StepKind::Block(body) | StepKind::Atomic { body, .. } => {
                    self.steps(body, session)?;
                }
                StepKind::TryCatch(body, catch) => {
                    self.steps(body, session)?;
                    self.steps(catch, session)?;
                }
                StepKind::Execute(call) => self.call(call, session)?,
                StepKind::ExecuteString(_) => {
                    return Err(Msg::NotSupported("describing a batch with EXECUTE").into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf, session: &SessionState) -> Result<(), Stop> {
        let bound = self.bind(leaf, session)?;
        self.statement(&bound);
        Ok(())
    }

    fn bind(&mut self, leaf: &Leaf, session: &SessionState) -> Result<Bound, Stop> {
        self.deduced.next_statement();
        let context = compile::binding::context_of(session, self.program);
        let mut binder = context.binder();
        binder.optimization = ::optimizer::Level::None;
        binder.given.clone_from(&self.nulls);
        Ok(::compile::leaf::bind_as(&mut binder, leaf, self.program)?)
    }

    /// Notes that a statement assigns a value to a variable, which may be an undeclared parameter.
    fn changed(&mut self, slot: Slot, ty: &ColumnType) {
        if self.deduced.is_wanted(slot) {
            self.deduced.note(slot, Suggested { ty: *ty, formal: None, output: true });
        }
    }

    /// Takes the types of arguments from the parameters of the called procedure.
    fn call(&mut self, call: &ExecuteStep, session: &SessionState) -> Result<(), Stop> {
        let ExecuteTarget::Name(name) = &call.procedure else {
            return Err(Msg::NotSupported("describing a call by a variable").into());
        };
        let Some(procedure) = resolve_procedure(session, name, None) else {
            return match system_procedure(session, name) {
                Some(_) => Err(Msg::NotSupported("describing a call of this procedure").into()),
                None => Err(not_found(&name.to_string())),
            };
        };
        for (position, argument) in call.arguments.iter().enumerate() {
            let named = argument.name.as_deref().unwrap_or_default();
            let place = find_parameter(&procedure, position, named)?;
            let ArgumentValue::Variable(slot) = argument.value else { continue };
            let formal = procedure.parameters[place].clone();
            let (ty, output) = (formal.ty, argument.output);
            self.deduced.note(slot, Suggested { ty, formal: Some(formal), output });
        }
        if let Some(slot) = call.return_status {
            let ty = ColumnType::nullable(DataType::Int);
            self.deduced.note(slot, Suggested { ty, formal: None, output: true });
        }
        Ok(())
    }

    fn statement(&mut self, bound: &Bound) {
        match bound {
            Bound::Select(select) => self.query(&select.query),
            Bound::SelectAssign(select) => {
                self.node(&select.root);
                for (slot, value) in &select.assignments {
                    let ty = self.program.variables[slot.0 as usize].ty;
                    self.assigned(value, &ty);
                    self.changed(*slot, &ty);
                }
            }
            Bound::SelectInto(into) => self.query(&into.query),
            Bound::Insert(insert) => self.insert(insert),
            Bound::Update(update) => {
                self.set(&update.set, table_of(&update.target));
                self.node(&update.root);
                update.top.iter().for_each(|e| self.any(e));
            }
            Bound::Delete(delete) => {
                self.node(&delete.root);
                delete.top.iter().for_each(|e| self.any(e));
            }
            Bound::Instead(instead) => self.node(&instead.root),
            Bound::Merge(merge) => {
                self.node(&merge.root);
                let table = table_of(&merge.target);
                for clause in &merge.clauses {
                    clause.condition.iter().for_each(|e| self.any(e));
                    match &clause.action {
                        MergeAction::Update(set) => self.set(set, table),
                        MergeAction::Insert(insert) => self.values(&insert.columns, table),
                        MergeAction::Delete => {}
                    }
                }
            }
            Bound::Scalar(scalar) => self.any(&scalar.expr),
            Bound::Truncate(_) => {}
        }
        for output in bound.output() {
            output.columns.iter().for_each(|column| self.any(&column.expr));
        }
    }

    fn query(&mut self, query: &Query) {
        self.functions(&query.root);
        walk::visit_query(query, &mut |e| self.deduced.whole(e));
    }

    fn node(&mut self, node: &Node) {
        self.functions(node);
        walk::visit_node(node, &mut |e| self.deduced.whole(e));
    }

    /// Takes the types of arguments of table-valued functions in FROM.
    fn functions(&mut self, root: &Node) {
        /// Functions whose arguments are text.
        const OF_TEXT: [&str; 2] = ["OPENJSON", "STRING_SPLIT"];
        let text = ColumnType::nullable(DataType::NVarChar(Length::Limited(4_000)));
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            match node {
                Node::UserFunction(call) => {
                    self.deduced.arguments(&call.arguments, &call.module);
                }
                Node::Function(call) if OF_TEXT.contains(&call.function.name) => {
                    for argument in &call.arguments {
                        self.deduced.value(argument, &Target::of(text));
                    }
                }
                _ => {}
            }
            ::plan::children::inputs(node, &mut |input| nodes.push(input));
        }
    }

    fn any(&mut self, expr: &Expr) {
        walk::visit(expr, &mut |e| self.deduced.whole(e));
    }

    /// Takes the type of a value from the column or variable that it is assigned to.
    fn assigned(&mut self, value: &Expr, ty: &ColumnType) {
        self.deduced.value(value, &Target::of(*ty));
        self.any(value);
    }

    fn insert(&mut self, insert: &Insert) {
        self.values(&insert.columns, table_of(&insert.target));
        if let InsertSource::Query(query) = &insert.source {
            self.rows(&query.root, insert);
            self.query(query);
        }
    }

    /// Takes types from several rows of VALUES: each value goes to the column of its register.
    fn rows(&mut self, root: &Node, insert: &Insert) {
        let Node::Values(scan) = root else { return };
        for (value, column) in insert.columns.iter().zip(&table_of(&insert.target).columns) {
            let InsertValue::Source(value) = value else { continue };
            let ExprKind::Column(from) = super::deduce::unconverted(value).kind else { continue };
            let Some(place) = scan.registers.iter().position(|to| *to == from) else { continue };
            for row in &scan.rows {
                self.assigned(&row[place], &column.ty);
            }
        }
    }

    fn values(&mut self, values: &[InsertValue], table: &::catalog::TableDef) {
        for (value, column) in values.iter().zip(&table.columns) {
            if let InsertValue::Source(value) = value {
                self.assigned(value, &column.ty);
            }
        }
    }

    fn set(&mut self, set: &SetRow, table: &::catalog::TableDef) {
        for assignment in &set.assignments {
            match assignment {
                Assignment::Column(ordinal, value)
                | Assignment::VariableAndColumn(_, ordinal, value, _) => {
                    self.assigned(value, &table.columns[usize::from(*ordinal)].ty);
                }
                Assignment::Variable(slot, value) => {
                    let ty = self.program.variables[slot.0 as usize].ty;
                    self.assigned(value, &ty);
                    self.changed(*slot, &ty);
                }
                Assignment::Write(_, parts) => {
                    for part in [&parts.0, &parts.1, &parts.2] {
                        self.any(part);
                    }
                }
            }
        }
    }
}
