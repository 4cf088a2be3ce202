//! The first result set of a program, along all of its paths, found by binding its statements
//! without running them.
//!
//! A path is a way through IF, WHILE, TRY and GOTO, and into the procedures that are called. Where
//! several paths return a result, their columns must agree: the documentation of
//! sp_describe_first_result_set says in what they may differ.
//!
//! Each procedure is compiled and looked at once, no matter how many paths call it, so the work grows
//! with the length of the programs and not with the number of paths.

use std::collections::HashMap;
use std::sync::Arc;

use tsql::ast::Span;
use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use ::binder::shape_of;
use ::plan::depth;
use ::plan::expr::Expr;
use ::plan::program::{
    ArgumentValue, CursorStep, ExecuteStep, ExecuteTarget, Leaf, Program, RaisErrorStep, Step,
    StepKind, TextCall,
};
use ::plan::sink::{ColumnInfo, ResultShape};
use ::plan::statement::{Bound, Browse};
use ::session::SessionState;
use interpreter::{Stop, check_call, procedure_missing, resolve_procedure};

use crate::called::system_procedure;

/// The least severity of a RAISERROR that ends a path.
const SEVERITY_OF_ERRORS: i64 = 11;
/// Number of the error of an unknown object.
const OBJECT_NOT_FOUND: i32 = 208;

/// Finds the first result set; `None` if no path returns one.
///
/// # Errors
/// The errors of names and types; 11509 to 11512 if two paths return different columns, 11513 and
/// others if only running the program would tell the columns.
pub(crate) fn find(
    program: &Program,
    session: &SessionState,
    browsing: Browsing,
) -> Result<Option<FirstResult>, Stop> {
    let (calls, known) = (Vec::new(), HashMap::new());
    let mut search = Search { session, browsing, calls, known, failed: None };
    let scope = Scope { program, procedure: None };
    let paths = search.steps(&program.body, scope)?;
    match (paths.found, search.failed) {
        (Some(found), _) => Ok(Some(FirstResult { shape: found.shape, browse: found.browse })),
        (None, Some(failed)) => Err(failed),
        (None, None) => Ok(None),
    }
}

/// Whether the tables of a result's columns are asked for, as the argument browse_information_mode
/// says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Browsing {
    /// 0: no tables and no keys.
    No,
    /// 1: those of the query with FOR BROWSE.
    Browse,
    /// 2: those of a cursor over the query.
    Cursor,
}

impl Browsing {
    /// Returns the mode of a number.
    ///
    /// # Errors
    /// 11552 for another number.
    pub(crate) fn of(mode: Option<i64>) -> types::Result<Self> {
        match mode {
            None | Some(0) => Ok(Self::No),
            Some(1) => Ok(Self::Browse),
            Some(2) => Ok(Self::Cursor),
            Some(_) => Err(Msg::BrowseInformationMode.into()),
        }
    }
}

/// A result set and, if it was asked for, where its columns come from.
pub(crate) struct FirstResult {
    /// The columns of the result set.
    pub(crate) shape: Arc<ResultShape>,
    /// Their tables; `None` for the result of two paths too.
    pub(crate) browse: Option<Browse>,
}

/// The program that a step belongs to.
#[derive(Clone, Copy)]
struct Scope<'p> {
    program: &'p Program,
    /// Name of the procedure; `None` in the batch itself.
    procedure: Option<&'p str>,
}

impl Scope<'_> {
    fn text(&self, span: Span) -> String {
        let range = span.start as usize..span.end as usize;
        self.program.source.get(range).unwrap_or_default().trim().to_owned()
    }

    /// Returns one of two errors: for a statement of the batch, or of a procedure.
    fn error(
        &self,
        span: Span,
        of_batch: impl FnOnce(&str) -> Stop,
        of_procedure: impl FnOnce(&str, &str) -> Stop,
    ) -> Stop {
        let text = self.text(span);
        match self.procedure {
            None => of_batch(&text),
            Some(name) => of_procedure(&text, name),
        }
    }
}

/// What the paths through some steps do.
#[derive(Default)]
struct Paths {
    /// The result that those paths return which return one.
    found: Option<Found>,
    /// Whether a path goes on behind the steps without having returned a result.
    open: bool,
    /// Labels that paths without a result jump to.
    jumps: Vec<String>,
}

impl Paths {
    fn open() -> Self {
        Self { open: true, ..Self::default() }
    }

    fn ended() -> Self {
        Self::default()
    }

    /// Adds the paths of an alternative.
    fn or(mut self, other: Self) -> Result<Self, Stop> {
        self.found = merge(self.found, other.found)?;
        self.open |= other.open;
        self.jumps.extend(other.jumps);
        Ok(self)
    }
}

/// A result set and the statement that returns it.
#[derive(Clone)]
struct Found {
    shape: Arc<ResultShape>,
    browse: Option<Browse>,
    statement: String,
    procedure: Option<String>,
}

/// A procedure: the ids of its database and of itself.
type ProcedureKey = (i16, i32);

struct Search<'s> {
    session: &'s SessionState,
    browsing: Browsing,
    /// The procedures that are being described.
    calls: Vec<ProcedureKey>,
    /// What the procedures return that were described. An error is not kept: it ends the search.
    known: HashMap<ProcedureKey, Option<Found>>,
    /// The first error of a path: it counts if no path returns a result.
    failed: Option<Stop>,
}

impl Search<'_> {
    fn steps(&mut self, steps: &[Step], scope: Scope<'_>) -> Result<Paths, Stop> {
        depth::descend()?;
        let mut all = Paths::open();
        for step in steps {
            if let StepKind::Label(name) = &step.kind {
                let here = |jump: &String| jump.eq_ignore_ascii_case(name);
                all.open |= all.jumps.iter().any(here);
                all.jumps.retain(|jump| !here(jump));
            }
            if !all.open {
                continue;
            }
            all.open = false;
            all = all.or(self.step(step, scope)?)?;
        }
        Ok(all)
    }

    fn step(&mut self, step: &Step, scope: Scope<'_>) -> Result<Paths, Stop> {
        if self.session.connection.cancel.is_set() {
            return Err(Stop::Cancelled);
        }
        sos::sched::yield_if_quantum_due();
        match &step.kind {
            StepKind::Data(leaf) => Ok(self.statement(leaf, step.span, scope)),
            StepKind::Block(body) | StepKind::Atomic { body, .. } => self.steps(body, scope),
            StepKind::If(branches, otherwise) => {
                let mut all = self.steps(otherwise, scope)?;
                for branch in branches {
                    // The order decides which statement an error names first.
                    all = self.steps(&branch.then, scope)?.or(all)?;
                }
                Ok(all)
            }
            StepKind::While(_, body) => {
                let mut paths = self.steps(body, scope)?;
                paths.open = true;
                Ok(paths)
            }
            // An error may come before the block's first result.
            StepKind::TryCatch(body, catch) => {
                self.steps(body, scope)?.or(self.steps(catch, scope)?)
            }
            StepKind::Goto(label) => Ok(Paths { jumps: vec![label.clone()], ..Paths::ended() }),
            StepKind::Return(_) | StepKind::Throw(_) | StepKind::Break | StepKind::Continue => {
                Ok(Paths::ended())
            }
            StepKind::RaisError(raise) if self.is_error(raise, scope) => Ok(Paths::ended()),
            StepKind::Execute(call) => self.call(call, step.span, scope),
            StepKind::ExecuteString(call) => self.text_call(call, step.span, scope),
            StepKind::Cursor(CursorStep::Fetch(_, into)) if into.is_empty() => Err(scope.error(
                step.span,
                |text| Msg::MetadataUnsupported(text).into(),
                |text, name| Msg::MetadataUnsupportedIn(text, name).into(),
            )),
            _ => Ok(Paths::open()),
        }
    }

    /// Binds a statement. An error ends its path.
    fn statement(&mut self, leaf: &Leaf, span: Span, scope: Scope<'_>) -> Paths {
        let context = compile::binding::context_of(self.session, scope.program);
        let mut binder = context.binder();
        if self.browsing != Browsing::No {
            binder.meaning = binder.meaning.with_browsing();
        }
        let bound = match ::compile::leaf::bind_as(&mut binder, leaf, scope.program) {
            Ok(bound) => bound,
            Err(error) => {
                let is_temporary =
                    error.number == OBJECT_NOT_FOUND && error.message.contains("name '#");
                let stop = match is_temporary {
                    true => scope.error(
                        span,
                        |text| Msg::MetadataTempTable(text).into(),
                        |text, name| Msg::MetadataTempTableIn(text, name).into(),
                    ),
                    false => error.into(),
                };
                self.failed.get_or_insert(stop);
                return Paths::ended();
            }
        };
        match shape_returned(&bound) {
            Some((shape, browse)) => found(shape, browse, span, scope),
            None => Paths::open(),
        }
    }

    fn is_error(&self, raise: &RaisErrorStep, scope: Scope<'_>) -> bool {
        let severity = self.constant(&raise.severity, scope).and_then(|value| value.as_whole());
        severity.is_some_and(|severity| severity >= SEVERITY_OF_ERRORS)
    }

    /// Returns the value of an expression that is a constant.
    fn constant(&self, leaf: &Leaf, scope: Scope<'_>) -> Option<Value> {
        let context = compile::binding::context_of(self.session, scope.program);
        let bound = ::compile::leaf::bind_as(&mut context.binder(), leaf, scope.program).ok()?;
        let Bound::Scalar(scalar) = bound else { return None };
        constant_of(&scalar.expr).cloned()
    }

    /// Describes a call of a procedure.
    fn call(&mut self, call: &ExecuteStep, span: Span, scope: Scope<'_>) -> Result<Paths, Stop> {
        if let Some(sets) = &call.result_sets {
            return Ok(declared(sets, span, scope));
        }
        let ExecuteTarget::Name(name) = &call.procedure else {
            return Err(dynamic(span, scope));
        };
        let Some(procedure) = resolve_procedure(self.session, name, scope.program.schema) else {
            return self.system_call(call, name, span, scope);
        };
        check_call(self.session, name, &procedure, (scope.program.owner, scope.program.schema))?;
        let key = (procedure.database_id, procedure.id);
        if let Some(found) = self.known.get(&key) {
            return Ok(Paths { found: found.clone(), ..Paths::open() });
        }
        if self.calls.contains(&key) {
            return Err(scope.error(
                span,
                |text| Msg::MetadataRecursion(text).into(),
                |text, name| Msg::MetadataRecursionIn(text, name).into(),
            ));
        }
        let program = ::compile::program_of(self.session, &procedure)?;
        self.calls.push(key);
        let inner = Scope { program: &program, procedure: Some(&procedure.name) };
        let paths = self.steps(&program.body, inner);
        self.calls.pop();
        let found = paths?.found;
        self.known.insert(key, found.clone());
        // RETURN leaves the procedure, not the caller.
        Ok(Paths { found, ..Paths::open() })
    }

    /// Describes a call of a system procedure: sp_executesql with a constant text.
    fn system_call(
        &mut self,
        call: &ExecuteStep,
        name: &tsql::ast::ObjectName,
        span: Span,
        scope: Scope<'_>,
    ) -> Result<Paths, Stop> {
        let Some(procedure) = system_procedure(self.session, name) else {
            return Err(procedure_missing(self.session, name, scope.program.schema));
        };
        if procedure == "sp_executesql" {
            let mut texts = call.arguments.iter().map(|argument| match &argument.value {
                ArgumentValue::Value(leaf) => self.constant(leaf, scope),
                _ => None,
            });
            let Some(Some(text)) = texts.next() else { return Err(dynamic(span, scope)) };
            let declared = texts.next().flatten().unwrap_or(Value::Null);
            drop(texts);
            return self.text(&[text], &declared);
        }
        if procedure.starts_with("xp_") {
            return Err(scope.error(
                span,
                |text| Msg::MetadataExtended(text).into(),
                |text, name| Msg::MetadataExtendedIn(text, name).into(),
            ));
        }
        Err(Msg::NotSupported(&format!("describing a call of {procedure}")).into())
    }

    /// Describes EXEC (..): its text must be a constant.
    fn text_call(&mut self, call: &TextCall, span: Span, scope: Scope<'_>) -> Result<Paths, Stop> {
        if let Some(sets) = &call.result_sets {
            return Ok(declared(sets, span, scope));
        }
        let parts = call.parts.iter().map(|part| self.constant(part, scope));
        match parts.collect::<Option<Vec<Value>>>() {
            Some(parts) => self.text(&parts, &Value::Null),
            None => Err(dynamic(span, scope)),
        }
    }

    fn text(&mut self, parts: &[Value], declared: &Value) -> Result<Paths, Stop> {
        let collation = self.session.collation();
        let text: String = parts.iter().filter_map(|part| part.as_text(collation)).collect();
        let declared = declared.as_text(collation).unwrap_or_default();
        let parameters = crate::executesql::parse_parameters(&declared, self.session)?;
        let program = ::compile::parse_and_compile(self.session, &text, parameters)?;
        let inner = Scope { program: &program, procedure: None };
        let paths = self.steps(&program.body, inner)?;
        Ok(Paths { open: true, jumps: Vec::new(), ..paths })
    }
}

fn dynamic(span: Span, scope: Scope<'_>) -> Stop {
    scope.error(
        span,
        |text| Msg::MetadataDynamic(text).into(),
        |text, name| Msg::MetadataDynamicIn(text, name).into(),
    )
}

/// Returns the paths of a call WITH RESULT SETS; NONE returns no result.
fn declared(sets: &[Arc<ResultShape>], span: Span, scope: Scope<'_>) -> Paths {
    match sets.first() {
        Some(shape) => found(Arc::clone(shape), None, span, scope),
        None => Paths::open(),
    }
}

fn found(shape: Arc<ResultShape>, browse: Option<Browse>, span: Span, scope: Scope<'_>) -> Paths {
    let procedure = scope.procedure.map(str::to_owned);
    let found = Found { shape, browse, statement: scope.text(span), procedure };
    Paths { found: Some(found), ..Paths::ended() }
}

/// Returns the columns that a statement returns to the client, and their tables.
fn shape_returned(bound: &Bound) -> Option<(Arc<ResultShape>, Option<Browse>)> {
    match bound {
        Bound::Select(select) => {
            Some((Arc::clone(&select.shape), select.browse.as_deref().cloned()))
        }
        bound => bound.client_shape().map(|shape| (Arc::clone(shape), None)),
    }
}

fn constant_of(expr: &Expr) -> Option<&Value> {
    expr.as_constant().filter(|value| !value.is_null())
}

/// Returns the result that two paths have in common.
///
/// # Errors
/// 11509 to 11512 if their columns do not agree.
fn merge(one: Option<Found>, other: Option<Found>) -> Result<Option<Found>, Stop> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return Ok(one.or(other)),
    };
    let (left, right) = (&one.shape.columns, &other.shape.columns);
    if left.len() != right.len() {
        return Err(differ(&one, &other));
    }
    let columns = left.iter().zip(right).map(|(left, right)| common(left, right));
    match columns.collect::<Option<Vec<ColumnInfo>>>() {
        Some(columns) => Ok(Some(Found { shape: shape_of(columns), browse: None, ..one })),
        None => Err(differ(&one, &other)),
    }
}

/// Returns what two columns have in common: names may differ, as may whether NULL is allowed and
/// the length of a type of variable length.
fn common(one: &ColumnInfo, other: &ColumnInfo) -> Option<ColumnInfo> {
    let (left, right) = (one.column_type, other.column_type);
    let longer = |a: Length, b: Length| match (a, b) {
        (Length::Limited(a), Length::Limited(b)) => Length::Limited(a.max(b)),
        _ => Length::Max,
    };
    let data_type = match (left.data_type, right.data_type) {
        (a, b) if a == b => a,
        (DataType::VarChar(a), DataType::VarChar(b)) => DataType::VarChar(longer(a, b)),
        (DataType::NVarChar(a), DataType::NVarChar(b)) => DataType::NVarChar(longer(a, b)),
        (DataType::VarBinary(a), DataType::VarBinary(b)) => DataType::VarBinary(longer(a, b)),
        _ => return None,
    };
    let nullable = left.nullable || right.nullable;
    let same_name = one.name.eq_ignore_ascii_case(&other.name);
    Some(ColumnInfo {
        name: if same_name { one.name.clone() } else { Default::default() },
        column_type: ColumnType { data_type, nullable, ..left },
        ..one.clone()
    })
}

fn differ(one: &Found, other: &Found) -> Stop {
    let (a, b) = (one.statement.as_str(), other.statement.as_str());
    match (one.procedure.as_deref(), other.procedure.as_deref()) {
        (None, None) => Msg::MetadataDiffers(a, b).into(),
        (None, Some(other)) => Msg::MetadataDiffersFromCalled(a, b, other).into(),
        (Some(one), None) => Msg::MetadataCalledDiffers(a, one, b).into(),
        (Some(one), Some(other)) => Msg::MetadataBothCalledDiffer(a, one, b, other).into(),
    }
}
