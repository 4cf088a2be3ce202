//! Compiles a parsed batch: its variables and its control flow. Statements stay unbound.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tsql::ast::{self, StatementKind};
use types::value::ColumnType;
use types::{DataType, Length, Msg, Result};

use crate::statement::shape_of;
use crate::types::{DefaultLength, system_type};
use crate::{Binder, atomic};
use catalog::ModuleSchema;
use catalog::name::Name;
use plan::expr::Slot;
use plan::program::{
    ArgumentStep, ArgumentValue, Branch, CursorStep, DeclaredParameter, ExecuteStep, ExecuteTarget,
    InsertExecuteStep, InsertedCall, Leaf, LeafAst, Program, RaisErrorStep, Step, StepKind,
    TableVariableDef, TextCall, VariableDef, VariableNames, VariablePlace,
};
use plan::sink::{ColumnInfo, ResultShape, Traits};
use plan::stats::StatementPlace;

/// Creates the empty definition of a table variable; implemented by the catalog's DDL.
pub type MakeTable<'a> = dyn Fn(&Binder<'_>, &ast::Variable, &[ast::TableElement]) -> Result<Arc<catalog::TableDef>>
    + 'a;

/// Variables that exist before the batch's own: parameters of a procedure or of sp_executesql.
#[derive(Debug, Default)]
pub struct Parameters {
    /// Scalar parameters, in order.
    pub variables: Vec<VariableDef>,
    /// Table-valued parameters, in order.
    pub tables: Vec<TableVariableDef>,
    /// OUTPUT and defaults of the scalar parameters: see [`Program::declared`].
    pub declared: Vec<DeclaredParameter>,
    /// Kind of the program.
    pub body: Body,
    /// Whether PARSEONLY is on where the text begins.
    pub parse_only: bool,
    /// Schema of the module, for a module's body.
    pub schema: Option<ModuleSchema>,
}

/// The kind of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Body {
    /// A batch or dynamic SQL: RETURN has no value.
    #[default]
    Batch,
    /// The body of a procedure.
    Procedure,
    /// The body of a function, with its return type if it is scalar.
    Function(Option<ColumnType>),
}

/// Compiles statements to a program.
///
/// # Errors
/// All mistakes, collected as in [`types::Error::all`]: 134 for a variable declared twice, 137 for
/// one that is not declared, 2715 for an unknown type, 133 and 132 for labels, 135 and 136 for
/// BREAK and CONTINUE outside a loop. Where PARSEONLY is on, no type and no server is looked up.
pub fn compile(
    statements: Vec<ast::Statement>,
    source: Arc<str>,
    parameters: Parameters,
    binder: &mut Binder<'_>,
    make_table: &MakeTable<'_>,
) -> Result<Program> {
    let declared = parameters.declared.into_boxed_slice();
    let count = parameters.variables.len();
    let table_count = parameters.tables.len();
    let scalars = parameters.variables.iter().map(|v| &v.name).enumerate();
    let tables = parameters.tables.iter().map(|t| &t.name).enumerate();
    let names = scalars
        .map(|(place, name)| (Name::folded(name), VariablePlace::Scalar(place)))
        .chain(tables.map(|(place, name)| (Name::folded(name), VariablePlace::Table(place))))
        .collect();
    let mut compiler = Compiler {
        binder,
        make_table,
        names,
        source: Arc::clone(&source),
        variables: parameters.variables,
        tables: parameters.tables,
        body: parameters.body,
        loops: 0,
        statements: 0,
        switches_database: false,
        alone: false,
        at: 0,
        errors: Vec::new(),
        parse_only: parameters.parse_only,
    };
    compiler.declare_all(&statements);
    compiler.parse_only = parameters.parse_only;
    let mut labels = HashSet::new();
    collect_labels(&statements, &mut labels)?;
    check_gotos(&statements, &labels)?;
    compiler.alone = statements.len() == 1 && compiler.body == Body::Batch;
    let body = compiler.steps(statements);
    let Compiler { names, variables, tables, statements, switches_database, errors, .. } = compiler;
    if let Some(error) = types::Error::all(errors) {
        return Err(error);
    }
    let mut labels = HashMap::default();
    place_labels(&body, &mut labels);
    Ok(Program {
        catalog_version: binder.catalog.version,
        database: binder.database.into(),
        switches_database,
        variables,
        table_variables: tables,
        names: (names.len() > FEW_NAMES).then(|| Box::new(names)),
        labels,
        parameters: count,
        table_parameters: table_count,
        declared,
        body,
        source,
        statements,
        books: None,
        is_checked_only: false,
        routine: None,
        compiled: std::sync::OnceLock::new(),
        owner: None,
        schema: parameters.schema,
    })
}

/// Variables of a program that are found without a map.
const FEW_NAMES: usize = 16;

/// A step, or the statement itself if it is not of the kind that was tried.
type Tried = std::result::Result<StepKind, StatementKind>;

struct Compiler<'a, 'b> {
    binder: &'a mut Binder<'b>,
    make_table: &'a MakeTable<'a>,
    /// Variables and table variables by folded name.
    names: VariableNames,
    source: Arc<str>,
    variables: Vec<VariableDef>,
    tables: Vec<TableVariableDef>,
    body: Body,
    /// Number of WHILE loops around the statement.
    loops: u32,
    /// Number of statements so far.
    statements: u32,
    /// Whether the program has a USE.
    switches_database: bool,
    /// Whether the batch has one statement.
    alone: bool,
    /// Byte offset of the statement; what is declared after it is not declared yet.
    at: u32,
    /// Mistakes found so far.
    errors: Vec<types::Error>,
    /// Whether the statement is only parsed. SET PARSEONLY takes effect where it is written.
    parse_only: bool,
}

impl Compiler<'_, '_> {
    /// Declares all variables. T-SQL declares at compile time, even in a branch that never runs.
    fn declare_all(&mut self, statements: &[ast::Statement]) {
        for statement in statements {
            self.parse_only = sets_parse_only(&statement.kind).unwrap_or(self.parse_only);
            if let StatementKind::Declare(declarations) = &statement.kind {
                self.at = statement.span.start;
                for declaration in declarations {
                    if let Err(error) = self.declare(declaration) {
                        self.errors.push(error.at_line(statement.line));
                    }
                }
            }
            for child in children(&statement.kind) {
                self.declare_all(child);
            }
        }
    }

    fn declare(&mut self, declaration: &ast::Declaration) -> Result<()> {
        let name = &declaration.variable.name;
        let folded = Name::folded(name);
        if self.names.contains_key(&folded) {
            return Err(Msg::DuplicateVariable(name).into());
        }
        let name = name.to_string();
        let (scalars, tables) = (self.variables.len(), self.tables.len());
        match &declaration.kind {
            ast::DeclarationKind::Scalar { data_type, .. } if self.parse_only => {
                let ty = self.parsed_type(data_type)?;
                self.variables.push(VariableDef { name, ty, cursor: false, at: self.at });
            }
            // A place of the name is all that is asked for: no statement that uses it is bound.
            ast::DeclarationKind::Table(_) if self.parse_only => {
                let ty = text_type(self.binder);
                self.variables.push(VariableDef { name, ty, cursor: false, at: self.at });
            }
            ast::DeclarationKind::Scalar { data_type, not_null, value } => {
                if let Some(user_type) = self.binder.find_table_type(&data_type.name) {
                    let Some(table) = &user_type.table else {
                        return Err(Msg::CannotFindType(1, &data_type.name.to_string()).into());
                    };
                    let definition =
                        (self.make_table)(self.binder, &declaration.variable, &table.elements)?;
                    let user_type = Some(user_type);
                    self.tables.push(TableVariableDef {
                        name,
                        definition,
                        user_type,
                        image_of: None,
                        at: self.at,
                        ordinal: 0,
                    });
                    self.names.insert(folded, VariablePlace::Table(tables));
                    return Ok(());
                }
                let ty = self.binder.resolve_type(data_type, DefaultLength::Declaration)?;
                if matches!(ty.data_type, DataType::Text | DataType::NText | DataType::Image) {
                    return Err(Msg::TextLocalVariable.into());
                }
                // A variable without value would be NULL.
                if *not_null && value.is_none() {
                    return Err(Msg::NullForNotNull(&name).into());
                }
                let ty = ColumnType { nullable: !not_null, ..ty };
                self.variables.push(VariableDef { name, ty, cursor: false, at: self.at });
            }
            ast::DeclarationKind::Table(elements) => {
                let definition = (self.make_table)(self.binder, &declaration.variable, elements)?;
                self.tables.push(TableVariableDef {
                    name,
                    definition,
                    user_type: None,
                    image_of: None,
                    at: self.at,
                    ordinal: 0,
                });
            }
            ast::DeclarationKind::Cursor => {
                let ty = text_type(self.binder);
                self.variables.push(VariableDef { name, ty, cursor: true, at: self.at });
            }
        }
        let is_table = self.tables.len() > tables;
        let place =
            if is_table { VariablePlace::Table(tables) } else { VariablePlace::Scalar(scalars) };
        self.names.insert(folded, place);
        Ok(())
    }

    /// Returns the type of a variable where no type is looked up. One that the system does not have
    /// is taken for a text.
    fn parsed_type(&self, written: &ast::TypeName) -> Result<ColumnType> {
        let open = text_type(self.binder);
        let data_type = system_type(written, DefaultLength::Declaration)?;
        Ok(ColumnType { data_type: data_type.unwrap_or(open.data_type), ..open })
    }

    /// Compiles statements. Those with mistakes are omitted, since the program will not run.
    fn steps(&mut self, statements: Vec<ast::Statement>) -> Vec<Step> {
        let mut steps = Vec::with_capacity(statements.len());
        for statement in statements {
            sos::sched::yield_if_quantum_due();
            let line = statement.line;
            self.at = statement.span.start;
            self.parse_only = sets_parse_only(&statement.kind).unwrap_or(self.parse_only);
            let begin = steps.len();
            if let Err(error) = self.statement(statement, &mut steps) {
                self.errors.push(error.at_line(line));
            }
            if self.parse_only {
                drop_parsed(&mut steps, begin);
            }
        }
        steps
    }

    fn one(&mut self, statement: ast::Statement) -> Vec<Step> {
        match statement.kind {
            StatementKind::Block(body) => self.steps(body),
            _ => self.steps(vec![statement]),
        }
    }

    fn statement(&mut self, statement: ast::Statement, steps: &mut Vec<Step>) -> Result<()> {
        let (line, span) = (statement.line, statement.span);
        let place = self.place();
        if let StatementKind::Declare(declarations) = statement.kind {
            for declaration in declarations {
                let place = self.place();
                steps.push(Step { line, span, place, kind: self.initialise(declaration)? });
            }
            return Ok(());
        }
        let kind = match statement.kind {
            kind @ (StatementKind::Select(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_)) => data(ast::Statement { kind, span, line }),
            StatementKind::CreateExternalTable(create) if create.query.is_some() => {
                data(ast::Statement {
                    kind: StatementKind::CreateExternalTable(create),
                    span,
                    line,
                })
            }
            StatementKind::Insert(insert) if calls(&insert.source) => {
                StepKind::InsertExecute(self.insert_execute(*insert)?)
            }
            kind @ StatementKind::Insert(_) => data(ast::Statement { kind, span, line }),
            kind if sets_plans(&kind) && !self.alone => {
                return Err(Msg::ShowplanAlone.into());
            }
            StatementKind::Use(_) if self.body != Body::Batch => {
                let place = "a procedure, function or trigger";
                return Err(Msg::NotAllowedIn("a USE database statement", place).into());
            }
            kind @ (StatementKind::Use(_)
            | StatementKind::ExecuteAs(_)
            | StatementKind::Revert(_)) => {
                // Within a module, permissions are not checked again.
                self.switches_database |= self.body == Body::Batch;
                StepKind::Other(Box::new(ast::Statement { kind, span, line }))
            }
            StatementKind::SetOption(option) => match *option {
                ast::SetOption::Value(option, value) => {
                    StepKind::SetValue(option, Leaf::new(LeafAst::Value(value)))
                }
                option => {
                    let kind = StatementKind::SetOption(Box::new(option));
                    StepKind::Other(Box::new(ast::Statement { kind, span, line }))
                }
            },
            kind => match self.control(kind)? {
                Ok(step) => step,
                Err(kind) => StepKind::Other(Box::new(ast::Statement { kind, span, line })),
            },
        };
        steps.push(Step { line, span, place, kind });
        Ok(())
    }

    /// Returns the next statement's place in the statistics.
    fn place(&mut self) -> StatementPlace {
        self.statements += 1;
        StatementPlace(self.statements)
    }

    /// Compiles a control flow statement; returns any other statement unchanged.
    fn control(&mut self, kind: StatementKind) -> Result<Tried> {
        Ok(Ok(match kind {
            StatementKind::Block(body) => StepKind::Block(self.steps(body)),
            StatementKind::AtomicBlock(block) => {
                let settings = atomic::settings_of(&block.options)?;
                let commits_alone = atomic::commits_alone(&block.body, &self.source);
                StepKind::Atomic { settings, body: self.steps(block.body), commits_alone }
            }
            StatementKind::If(branches) => self.if_step(*branches),
            StatementKind::While(while_) => self.while_step(*while_),
            StatementKind::Break if self.loops == 0 => return Err(Msg::BreakOutsideWhile.into()),
            StatementKind::Break => StepKind::Break,
            StatementKind::Continue if self.loops == 0 => {
                return Err(Msg::ContinueOutsideWhile.into());
            }
            StatementKind::Continue => StepKind::Continue,
            StatementKind::Goto(label) => StepKind::Goto(label.to_ascii_lowercase()),
            StatementKind::Label(label) => StepKind::Label(label.to_ascii_lowercase()),
            StatementKind::TryCatch(try_catch) => {
                StepKind::TryCatch(self.steps(try_catch.body), self.steps(try_catch.catch))
            }
            StatementKind::Return(Some(_))
                if matches!(self.body, Body::Batch | Body::Function(None)) =>
            {
                return Err(Msg::ReturnValueNotAllowed.into());
            }
            StatementKind::Return(value) if matches!(self.body, Body::Function(Some(_))) => {
                let (Some(value), Body::Function(Some(ty))) = (value, self.body) else {
                    return Err(Msg::FunctionMustReturn.into());
                };
                StepKind::ReturnValue(Leaf::new(LeafAst::Returned(value, ty)))
            }
            StatementKind::Return(value) => {
                StepKind::Return(value.map(|value| self.typed(value, DataType::Int)))
            }
            kind => return self.action(kind),
        }))
    }

    /// Compiles a statement about variables, messages, procedures or cursors.
    fn action(&mut self, kind: StatementKind) -> Result<Tried> {
        Ok(Ok(match kind {
            StatementKind::SetVariable(set) => self.set_variable(*set)?,
            StatementKind::Print(value) => {
                let text = text_type(self.binder);
                StepKind::Print(Leaf::new(LeafAst::Typed(*value, text)))
            }
            StatementKind::RaisError(raise) => self.raise(*raise),
            StatementKind::Throw(throw) => StepKind::Throw(throw.map(|throw| {
                let text = text_type(self.binder).data_type;
                Box::new([
                    self.typed(throw.number, DataType::Int),
                    self.typed(throw.message, text),
                    self.typed(throw.state, DataType::Int),
                ])
            })),
            StatementKind::WaitFor(ast::WaitFor::Delay(e)) => {
                StepKind::WaitFor(false, Leaf::new(LeafAst::Value(*e)))
            }
            StatementKind::WaitFor(ast::WaitFor::Time(e)) => {
                StepKind::WaitFor(true, Leaf::new(LeafAst::Value(*e)))
            }
            StatementKind::Execute(execute) => StepKind::Execute(self.execute(*execute)?),
            StatementKind::ExecuteString(execute) => {
                StepKind::ExecuteString(self.text_call(*execute)?)
            }
            StatementKind::DeclareCursor(cursor) => self.declare_cursor(None, *cursor),
            StatementKind::OpenCursor(cursor) => StepKind::Cursor(CursorStep::Open(cursor)),
            StatementKind::Fetch(fetch) => {
                let into =
                    fetch.into.iter().map(|v| self.slot(&v.name)).collect::<Result<Vec<_>>>()?;
                StepKind::Cursor(CursorStep::Fetch(fetch, into))
            }
            StatementKind::CloseCursor(cursor) => StepKind::Cursor(CursorStep::Close(cursor)),
            StatementKind::DeallocateCursor(cursor) => {
                StepKind::Cursor(CursorStep::Deallocate(cursor))
            }
            kind => return Ok(Err(kind)),
        }))
    }

    fn initialise(&mut self, declaration: ast::Declaration) -> Result<StepKind> {
        match declaration.kind {
            ast::DeclarationKind::Scalar { value: Some(value), .. } => {
                let slot = self.slot(&declaration.variable.name)?;
                let ast = LeafAst::Assignment(slot, ast::AssignOp::Assign, value);
                Ok(StepKind::Assign(slot, Leaf::new(ast)))
            }
            ast::DeclarationKind::Scalar { value: None, .. }
            | ast::DeclarationKind::Table(_)
            | ast::DeclarationKind::Cursor => Ok(StepKind::Declare),
        }
    }

    fn if_step(&mut self, branches: ast::If) -> StepKind {
        let mut compiled = Vec::with_capacity(branches.branches.len());
        for branch in branches.branches {
            let condition = Leaf::new(LeafAst::Condition(branch.condition));
            let place = self.place();
            let then = self.one(branch.then);
            compiled.push(Branch { line: branch.line, place, condition, then });
        }
        let otherwise = match branches.otherwise {
            Some(statement) => self.one(statement),
            None => Vec::new(),
        };
        StepKind::If(compiled, otherwise)
    }

    fn while_step(&mut self, while_: ast::While) -> StepKind {
        self.loops += 1;
        let body = self.one(while_.body);
        self.loops -= 1;
        StepKind::While(Leaf::new(LeafAst::Condition(while_.condition)), body)
    }

    fn set_variable(&mut self, set: ast::SetVariable) -> Result<StepKind> {
        match set.value {
            ast::SetVariableValue::Expr(op, value) => {
                let slot = self.slot(&set.variable.name)?;
                if self.variables[slot.0 as usize].cursor && op == ast::AssignOp::Assign {
                    return refer(slot, value);
                }
                let ast = LeafAst::Assignment(slot, op, value);
                Ok(StepKind::Assign(slot, Leaf::new(ast)))
            }
            ast::SetVariableValue::Cursor(cursor) => {
                let slot = self.slot(&set.variable.name)?;
                Ok(self.declare_cursor(Some(slot), *cursor))
            }
            ast::SetVariableValue::Method(name, arguments) => {
                let slot = self.slot(&set.variable.name)?;
                let span = set.variable.span;
                let target = ast::Expr { kind: ast::ExprKind::Variable(set.variable), span };
                let name = crate::expr::mutator(&name);
                let method = ast::Method { target, name, arguments };
                let value = ast::Expr { kind: ast::ExprKind::Method(Box::new(method)), span };
                let ast = LeafAst::Assignment(slot, ast::AssignOp::Assign, value);
                Ok(StepKind::Assign(slot, Leaf::new(ast)))
            }
        }
    }

    fn declare_cursor(&self, variable: Option<Slot>, mut cursor: ast::DeclareCursor) -> StepKind {
        let empty = ast::Statement {
            kind: StatementKind::Block(Vec::new()),
            span: cursor.query.span,
            line: cursor.query.line,
        };
        let query = std::mem::replace(&mut *cursor.query, empty);
        let leaf = Leaf::new(LeafAst::Statement(query));
        StepKind::Cursor(CursorStep::Declare(variable, Box::new(cursor), leaf))
    }

    fn raise(&self, raise: ast::RaisError) -> StepKind {
        StepKind::RaisError(Box::new(RaisErrorStep {
            message: Leaf::new(LeafAst::Value(raise.message)),
            severity: self.typed(raise.severity, DataType::Int),
            state: self.typed(raise.state, DataType::Int),
            arguments: raise.arguments.into_iter().map(|a| Leaf::new(LeafAst::Value(a))).collect(),
            options: raise.options,
        }))
    }

    fn execute(&self, execute: ast::Execute) -> Result<Box<ExecuteStep>> {
        let result_sets = self.result_sets(&execute.options)?;
        let procedure = match execute.procedure {
            ast::Callee::Name(name) => ExecuteTarget::Name(name),
            ast::Callee::Variable(variable) => ExecuteTarget::Variable(self.slot(&variable.name)?),
        };
        let return_status =
            execute.return_status.map(|variable| self.slot(&variable.name)).transpose()?;
        let arguments =
            execute.arguments.into_iter().map(|a| self.argument(a)).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(ExecuteStep { procedure, return_status, arguments, result_sets }))
    }

    /// Returns the shapes that WITH RESULT SETS describes.
    fn result_sets(&self, options: &[ast::ExecuteOption]) -> Result<Option<Vec<Arc<ResultShape>>>> {
        let mut described = None;
        let options = if self.parse_only { &[] } else { options };
        for option in options {
            described = match option {
                ast::ExecuteOption::Recompile => continue,
                ast::ExecuteOption::ResultSetsUndefined => None,
                ast::ExecuteOption::ResultSetsNone => Some(Vec::new()),
                ast::ExecuteOption::ResultSets(sets) => {
                    let shape = |columns: &Vec<ast::ColumnDefinition>| -> Result<_> {
                        let columns = columns.iter().map(|column| self.described_column(column));
                        Ok(shape_of(columns.collect::<Result<_>>()?))
                    };
                    Some(sets.iter().map(shape).collect::<Result<_>>()?)
                }
            };
        }
        Ok(described)
    }

    fn described_column(&self, column: &ast::ColumnDefinition) -> Result<ColumnInfo> {
        let ast::ColumnKind::Typed(written) = &column.kind else {
            return Err(Msg::SyntaxNear(&column.name).into());
        };
        let mut column_type = self.binder.resolve_type(written, DefaultLength::Declaration)?;
        for option in &column.options {
            match option {
                ast::ColumnOption::Null => column_type.nullable = true,
                ast::ColumnOption::NotNull => column_type.nullable = false,
                ast::ColumnOption::Collate(name) => {
                    column_type.collation =
                        types::Collation::of_clause(name, &column_type.data_type)?;
                }
                _ => return Err(Msg::SyntaxNear(&column.name).into()),
            }
        }
        let name = column.name.as_str().into();
        Ok(ColumnInfo { name, column_type, traits: Traits::default(), updatable: false })
    }

    fn insert_execute(&self, insert: ast::Insert) -> Result<Box<InsertExecuteStep>> {
        if insert.top.is_some() || !insert.output.is_empty() || insert.with.is_some() {
            return crate::expr::not_supported("TOP, OUTPUT and WITH in INSERT .. EXEC");
        }
        let source = match insert.source {
            ast::InsertSource::Execute(execute) => InsertedCall::Procedure(self.execute(*execute)?),
            ast::InsertSource::ExecuteString(execute) => {
                InsertedCall::Text(self.text_call(*execute)?)
            }
            ast::InsertSource::Values(_)
            | ast::InsertSource::Query(_)
            | ast::InsertSource::DefaultValues => return Err(Msg::InternalError.into()),
        };
        let (target, columns) = (insert.target, insert.columns);
        Ok(Box::new(InsertExecuteStep { target, columns, source }))
    }

    fn argument(&self, argument: ast::Argument) -> Result<ArgumentStep> {
        let value = match argument.value.kind {
            ast::ExprKind::Default => ArgumentValue::Default,
            ast::ExprKind::Variable(ref variable) => match self.slot(&variable.name) {
                Ok(slot) => ArgumentValue::Variable(slot),
                Err(error) => match self.table_place(&variable.name) {
                    Some(place) => ArgumentValue::Table(place),
                    None if variable.is_global() => {
                        ArgumentValue::Value(Leaf::new(LeafAst::Value(argument.value)))
                    }
                    None => return Err(error),
                },
            },
            _ => ArgumentValue::Value(Leaf::new(LeafAst::Value(argument.value))),
        };
        if argument.output && !matches!(value, ArgumentValue::Variable(_)) {
            return Err(Msg::OutputOfConstant.into());
        }
        let name = argument.name.map(|name| name.name.to_string());
        Ok(ArgumentStep { name, value, output: argument.output })
    }

    fn text_call(&self, execute: ast::ExecuteString) -> Result<TextCall> {
        if let Some(server) = execute.at.as_ref().filter(|_| !self.parse_only) {
            return Err(Msg::LinkedServerNotFound(server).into());
        }
        if !execute.arguments.is_empty() {
            return crate::expr::not_supported("EXECUTE (..) with arguments and no AT");
        }
        let result_sets = self.result_sets(&execute.options)?;
        let text = text_type(self.binder);
        let parts = execute.text.into_iter().map(|e| Leaf::new(LeafAst::Typed(e, text)));
        Ok(TextCall { parts: parts.collect(), run_as: execute.run_as, result_sets })
    }

    fn typed(&self, value: ast::Expr, data_type: DataType) -> Leaf {
        let ty = ColumnType { data_type, ..text_type(self.binder) };
        Leaf::new(LeafAst::Typed(value, ty))
    }

    fn slot(&self, name: &str) -> Result<Slot> {
        let place = match self.names.get(&Name::folded(name)) {
            Some(VariablePlace::Scalar(place)) if self.variables[*place].at <= self.at => {
                u32::try_from(*place).ok()
            }
            Some(VariablePlace::Scalar(_) | VariablePlace::Table(_)) | None => None,
        };
        place.map(Slot).ok_or_else(|| Msg::MustDeclareScalar(name).into())
    }

    fn table_place(&self, name: &str) -> Option<usize> {
        match self.names.get(&Name::folded(name)) {
            Some(VariablePlace::Table(place)) if self.tables[*place].at <= self.at => Some(*place),
            Some(VariablePlace::Scalar(_) | VariablePlace::Table(_)) | None => None,
        }
    }
}

/// Returns the type `nvarchar(max)` in the database's collation.
fn text_type(binder: &Binder<'_>) -> ColumnType {
    ColumnType {
        data_type: DataType::NVarChar(Length::Max),
        collation: binder.database_collation(),
        nullable: true,
    }
}

fn data(statement: ast::Statement) -> StepKind {
    StepKind::Data(Leaf::new(LeafAst::Statement(statement)))
}

fn calls(source: &ast::InsertSource) -> bool {
    matches!(source, ast::InsertSource::Execute(_) | ast::InsertSource::ExecuteString(_))
}

/// Returns the statement lists inside a statement.
pub fn children(kind: &StatementKind) -> Vec<&[ast::Statement]> {
    use std::slice::from_ref;
    match kind {
        StatementKind::Block(body) => vec![body],
        StatementKind::AtomicBlock(block) => vec![&block.body],
        StatementKind::If(branches) => branches
            .branches
            .iter()
            .map(|b| from_ref(&b.then))
            .chain(branches.otherwise.as_ref().map(from_ref))
            .collect(),
        StatementKind::While(while_) => vec![from_ref(&while_.body)],
        StatementKind::TryCatch(try_catch) => vec![&try_catch.body, &try_catch.catch],
        _ => Vec::new(),
    }
}

fn collect_labels(statements: &[ast::Statement], labels: &mut HashSet<String>) -> Result<()> {
    for statement in statements {
        if let StatementKind::Label(label) = &statement.kind {
            let folded = label.to_ascii_lowercase();
            if !labels.insert(folded) {
                return Err(types::Error::from(Msg::DuplicateLabel(label)).at_line(statement.line));
            }
        }
        for child in children(&statement.kind) {
            collect_labels(child, labels)?;
        }
    }
    Ok(())
}

/// Collects the place of each label in its list of steps.
fn place_labels(steps: &[Step], places: &mut HashMap<String, usize, foldhash::fast::FixedState>) {
    for (place, step) in steps.iter().enumerate() {
        if let StepKind::Label(label) = &step.kind {
            places.insert(label.clone(), place);
        }
        step.kind.lists().into_iter().for_each(|list| place_labels(list, places));
    }
}

fn check_gotos(statements: &[ast::Statement], labels: &HashSet<String>) -> Result<()> {
    for statement in statements {
        if let StatementKind::Goto(label) = &statement.kind
            && !labels.contains(&label.to_ascii_lowercase())
        {
            return Err(types::Error::from(Msg::UndeclaredLabel(label)).at_line(statement.line));
        }
        for child in children(&statement.kind) {
            check_gotos(child, labels)?;
        }
    }
    Ok(())
}

/// Removes the steps from `begin` that are only parsed: all but settings, and the labels that a GOTO
/// before them may name.
fn drop_parsed(steps: &mut Vec<Step>, begin: usize) {
    let parsed = steps.split_off(begin);
    steps.extend(parsed.into_iter().filter(|step| match &step.kind {
        StepKind::Other(statement) => matches!(statement.kind, StatementKind::SetOption(_)),
        kind => matches!(kind, StepKind::Label(_)),
    }));
}

/// Returns what a statement sets PARSEONLY to.
fn sets_parse_only(kind: &StatementKind) -> Option<bool> {
    let StatementKind::SetOption(option) = kind else { return None };
    let ast::SetOption::Switch { options, on } = &**option else { return None };
    options.contains(&ast::SwitchOption::ParseOnly).then_some(*on)
}

/// Returns whether a statement switches SHOWPLAN, which must be alone in its batch.
pub fn sets_plans(kind: &StatementKind) -> bool {
    let StatementKind::SetOption(option) = kind else { return false };
    let ast::SetOption::Switch { options, .. } = &**option else { return false };
    options.iter().any(|option| {
        matches!(
            option,
            ast::SwitchOption::ShowplanAll
                | ast::SwitchOption::ShowplanText
                | ast::SwitchOption::ShowplanXml
        )
    })
}

/// Compiles `SET @c = cursor`, with the name of a cursor or another cursor variable.
fn refer(slot: Slot, value: ast::Expr) -> Result<StepKind> {
    let name = match value.kind {
        ast::ExprKind::Column(column) if column.table.is_none() => {
            ast::CursorName::Name(column.column)
        }
        ast::ExprKind::Variable(variable) => ast::CursorName::Variable(variable),
        _ => return Err(Msg::SyntaxNear("=").into()),
    };
    let cursor = ast::CursorRef { global: false, name };
    Ok(StepKind::Cursor(CursorStep::Refer(slot, cursor)))
}
