//! sp_describe_undeclared_parameters: suggests types for the undeclared parameters of a batch,
//! which drivers ask for before they send values.
//!
//! The batch is bound with each parameter declared as a string: the type that the binder converts
//! it to, or compares it with, is the suggested one. Where a string is not allowed, the batch is
//! bound again with each parameter as a NULL without a type. It is bound twice at most, whatever
//! the number of parameters.

use std::collections::{BTreeMap, BTreeSet};

use types::comparison::CompareOp;
use types::value::ColumnType;
use types::{DataType, Length, Mode, Msg, Value};

use super::describe::{wire_length, wire_type};
use crate::executesql::{parse_parameters, text_argument};
use crate::{SystemProcedure, argument};
use ::binder::{bind_statement, shape_of};
use ::catalog::ParameterDef;
use ::executor::Cx;
use ::plan::expr::{Expr, ExprKind, Slot};
use ::plan::program::{
    ArgumentValue, ExecuteStep, ExecuteTarget, LeafAst, Program, Step, StepKind,
};
use ::plan::query::Node;
use ::plan::sink::{ColumnInfo, Command, Traits};
use ::plan::statement::{
    Assignment, Bound, Insert, InsertSource, InsertValue, MergeAction, SetRow, table_of,
};
use ::plan::walk;
use ::session::SessionState;
use interpreter::{Argument, Stop, done, find_parameter, resolve_procedure};

const NAME: &str = "sp_describe_undeclared_parameters";

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: NAME, id: 0, run: describe }];

/// The temporary types of undeclared parameters, until their own are known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StandIn {
    /// Strings of type `varchar(8000)`.
    Text,
    /// NULLs that take the type of the other operand.
    Null,
}

/// `sp_describe_undeclared_parameters @tsql [, @params]`.
fn describe(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    let statement = text_argument(argument(arguments, 0, "@tsql"), NAME, "@tsql")?;
    let collation = cx.session.collation();
    let declared = argument(arguments, 1, "@params").and_then(|a| a.value.as_text(collation));
    let declared = declared.unwrap_or_default();
    let text = statement.as_text(collation).unwrap_or_default();
    let known: BTreeSet<String> =
        variables(&declared).iter().map(|(n, _)| n.to_lowercase()).collect();
    let mut wanted: Vec<String> = Vec::new();
    let mut seen = BTreeMap::new();
    for name in used(&text) {
        let key = name.to_lowercase();
        if known.contains(&key) {
            continue;
        }
        if let Some(first) = seen.insert(key, wanted.len()) {
            return Err(Msg::UndeclaredTwice(&wanted[first]).into());
        }
        wanted.push(name);
    }
    let types = deduce(&text, &declared, &wanted, cx.session)?;
    let shape = shape_of(columns());
    cx.sink.columns(&shape)?;
    for ((ordinal, name), suggested) in (1..).zip(&wanted).zip(&types) {
        cx.sink.row(&row(ordinal, name, suggested, cx.session))?;
    }
    done(cx, Command::SELECT, u64::try_from(wanted.len()).ok(), false)?;
    Ok(0)
}

/// Returns the variables that a text uses, in order, without the parameter names of a call, such as
/// `@a` in `EXEC p @a = @x`.
fn used(text: &str) -> Vec<String> {
    let names = variables(text);
    let word = text.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    if !["exec", "execute"].iter().any(|verb| word.eq_ignore_ascii_case(verb)) {
        return names.into_iter().map(|(name, _)| name).collect();
    }
    let start = text.len() - text.trim_start().len() + word.len();
    // The variable of `EXEC @status = p` is used too.
    let is_status = |end: usize, name: &str| text[start..end].trim_start().len() == name.len();
    let is_named = |end: usize| text[end..].trim_start().starts_with('=');
    let names = names.into_iter().filter(|(name, end)| !is_named(*end) || is_status(*end, name));
    names.map(|(name, _)| name).collect()
}

/// Returns the variables in a text and the end of each name, in order. Skips strings, comments and
/// bracketed names, and functions such as @@ROWCOUNT.
fn variables(text: &str) -> Vec<(String, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = match bytes[at] {
            b'\'' => after(rest, 1, "'"),
            b'"' => after(rest, 1, "\""),
            b'[' => after(rest, 1, "]"),
            b'-' if rest.starts_with("--") => after(rest, 2, "\n"),
            b'/' if rest.starts_with("/*") => after(rest, 2, "*/"),
            b'@' => {
                let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '@');
                let end = rest[1..].find(|c| !is_name(c)).map_or(rest.len(), |end| end + 1);
                if !rest.starts_with("@@") {
                    found.push((rest[..end].to_owned(), at + end));
                }
                end
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += skipped;
    }
    found
}

/// Returns where a piece that ends with `end` is over.
fn after(rest: &str, start: usize, end: &str) -> usize {
    rest[start..].find(end).map_or(rest.len(), |place| start + place + end.len())
}

fn deduce(
    statement: &str,
    declared: &str,
    wanted: &[String],
    session: &SessionState,
) -> Result<Vec<Suggested>, Stop> {
    let attempt = |stand_in| attempt(statement, declared, (wanted, stand_in), session);
    let found = match attempt(StandIn::Text) {
        Ok(found) => found,
        // The error with strings is the one that the client gets.
        Err(failed) if wanted.is_empty() => return Err(failed),
        Err(failed) => attempt(StandIn::Null).map_err(|_| failed)?,
    };
    let types = wanted.iter().map(|name| {
        let ty = found.get(&name.to_lowercase()).cloned();
        ty.ok_or_else(|| Msg::UndeclaredNotDeduced(name).into())
    });
    types.collect()
}

fn attempt(
    statement: &str,
    declared: &str,
    (wanted, stand_in): (&[String], StandIn),
    session: &SessionState,
) -> Result<BTreeMap<String, Suggested>, Stop> {
    let mut all: Vec<String> = wanted.iter().map(|name| format!("{name} varchar(8000)")).collect();
    if !declared.trim().is_empty() {
        all.insert(0, declared.to_owned());
    }
    let parameters = parse_parameters(&all.join(", "), session)?;
    let program = ::compile::parse_and_compile(session, statement, parameters)?;
    let nulls = match stand_in {
        StandIn::Text => Vec::new(),
        StandIn::Null => {
            (0..).zip(wanted).map(|(place, name)| (name.clone(), untyped(place))).collect()
        }
    };
    let mut found =
        Found { program: &program, wanted, nulls, types: BTreeMap::new(), untyped: None };
    found.steps(&program.body, session)?;
    if let Some([one, other]) = &found.untyped {
        return Err(Msg::UndeclaredPair(one, other).into());
    }
    Ok(found.types)
}

/// Makes a parameter without a type. After it gets its type it is nullable.
fn untyped(place: u32) -> Expr {
    let ty = ColumnType { nullable: false, ..ColumnType::nullable(DataType::Int) };
    Expr::new(ExprKind::Variable(Slot::undeclared(place)), ty)
}

/// The types found so far, by name in lower case.
struct Found<'p> {
    program: &'p Program,
    /// The names of the undeclared parameters.
    wanted: &'p [String],
    /// The expressions that parameters without a type are bound to.
    nulls: Vec<(String, Expr)>,
    types: BTreeMap<String, Suggested>,
    /// The first two parameters that are operands of one expression.
    untyped: Option<[String; 2]>,
}

/// The suggested type of a parameter.
#[derive(Clone)]
struct Suggested {
    /// Its type; unused for a table-valued parameter.
    ty: ColumnType,
    /// The parameter of the called procedure, if it is an argument of a call.
    formal: Option<ParameterDef>,
    /// Whether it is passed as OUTPUT.
    output: bool,
}

impl Found<'_> {
    fn steps(&mut self, steps: &[Step], session: &SessionState) -> Result<(), Stop> {
        for step in steps {
            match &step.kind {
                StepKind::Data(leaf) => {
                    let LeafAst::Statement(statement) = &leaf.ast else { continue };
                    let context = compile::binding::context_of(session, self.program);
                    let mut binder = context.binder();
                    binder.optimization = ::optimizer::Level::None;
                    binder.given.clone_from(&self.nulls);
                    let bound = bind_statement(&mut binder, statement)?;
                    self.statement(&bound);
                }
                StepKind::Block(body)
                | StepKind::Atomic { body, .. }
                | StepKind::TryCatch(body, _) => self.steps(body, session)?,
                StepKind::Execute(call) => self.call(call, session)?,
                StepKind::ExecuteString(_) => {
                    return Err(Msg::NotSupported("describing a batch with EXECUTE").into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes the types of arguments from the parameters of the called procedure.
    fn call(&mut self, call: &ExecuteStep, session: &SessionState) -> Result<(), Stop> {
        let ExecuteTarget::Name(name) = &call.procedure else {
            return Err(Msg::NotSupported("describing a call by a variable").into());
        };
        let Some(procedure) = resolve_procedure(session, name) else {
            return match crate::find(name) {
                Some(_) => Err(Msg::NotSupported("describing a call of this procedure").into()),
                None => Err(crate::missing(name)),
            };
        };
        for (position, argument) in call.arguments.iter().enumerate() {
            let named = argument.name.as_deref().unwrap_or_default();
            let place = find_parameter(&procedure, position, named)?;
            let ArgumentValue::Variable(slot) = argument.value else { continue };
            let formal = procedure.parameters[place].clone();
            let name = self.program.variables[slot.0 as usize].name.to_lowercase();
            let (ty, output) = (formal.ty, argument.output);
            let suggested = Suggested { ty, formal: Some(formal), output };
            self.types.entry(name).or_insert(suggested);
        }
        if let Some(slot) = call.return_status {
            let name = self.program.variables[slot.0 as usize].name.to_lowercase();
            let ty = ColumnType::nullable(DataType::Int);
            self.types.entry(name).or_insert(Suggested { ty, formal: None, output: true });
        }
        Ok(())
    }

    fn note(&mut self, slot: Slot, ty: &ColumnType) {
        let name = match slot.undeclared_place() {
            Some(place) => &self.nulls[place].0,
            None => &self.program.variables[slot.0 as usize].name,
        };
        let ty = ColumnType { nullable: true, ..*ty };
        let suggested = Suggested { ty, formal: None, output: false };
        self.types.entry(name.to_lowercase()).or_insert(suggested);
    }

    fn statement(&mut self, bound: &Bound) {
        match bound {
            Bound::Select(select) => {
                walk::visit_query(&select.query, &mut |e| self.expr(e));
            }
            Bound::SelectAssign(select) => {
                walk::visit_node(&select.root, &mut |e| self.expr(e));
                select.assignments.iter().for_each(|(_, e)| walk::visit(e, &mut |e| self.expr(e)));
            }
            Bound::SelectInto(into) => walk::visit_query(&into.query, &mut |e| self.expr(e)),
            Bound::Insert(insert) => self.insert(insert),
            Bound::Update(update) => {
                self.set(&update.set, table_of(&update.target));
                walk::visit_node(&update.root, &mut |e| self.expr(e));
                update.top.iter().for_each(|e| walk::visit(e, &mut |e| self.expr(e)));
            }
            Bound::Delete(delete) => {
                walk::visit_node(&delete.root, &mut |e| self.expr(e));
                delete.top.iter().for_each(|e| walk::visit(e, &mut |e| self.expr(e)));
            }
            Bound::Instead(instead) => walk::visit_node(&instead.root, &mut |e| self.expr(e)),
            Bound::Merge(merge) => {
                walk::visit_node(&merge.root, &mut |e| self.expr(e));
                let table = table_of(&merge.target);
                for clause in &merge.clauses {
                    clause.condition.iter().for_each(|e| walk::visit(e, &mut |e| self.expr(e)));
                    match &clause.action {
                        MergeAction::Update(set) => self.set(set, table),
                        MergeAction::Insert(insert) => self.values(&insert.columns, table),
                        MergeAction::Delete => {}
                    }
                }
            }
            Bound::Scalar(scalar) => walk::visit(&scalar.expr, &mut |e| self.expr(e)),
            Bound::Truncate(_) => {}
        }
    }

    fn insert(&mut self, insert: &Insert) {
        self.values(&insert.columns, table_of(&insert.target));
        if let InsertSource::Query(query) = &insert.source {
            self.rows(&query.root, insert);
            walk::visit_query(query, &mut |e| self.expr(e));
        }
    }

    /// Takes types from several rows of VALUES: each value goes to the column of its register.
    fn rows(&mut self, root: &Node, insert: &Insert) {
        let Node::Values(scan) = root else { return };
        for (value, column) in insert.columns.iter().zip(&table_of(&insert.target).columns) {
            let InsertValue::Source(Expr { kind: ExprKind::Column(from), .. }) = value else {
                continue;
            };
            let Some(place) = scan.registers.iter().position(|to| to == from) else { continue };
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
                Assignment::Variable(_, value) => walk::visit(value, &mut |e| self.expr(e)),
                Assignment::Write(_, parts) => {
                    for part in [&parts.0, &parts.1, &parts.2] {
                        walk::visit(part, &mut |e| self.expr(e));
                    }
                }
            }
        }
    }

    /// Takes the type of a value from the column that it is assigned to.
    fn assigned(&mut self, value: &Expr, ty: &ColumnType) {
        if let ExprKind::Variable(slot) = value.kind {
            self.note(slot, ty);
        }
        walk::visit(value, &mut |e| self.expr(e));
    }

    /// Searches an expression for parameters, and takes types from their neighbours.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Convert(conversion) => {
                if let ExprKind::Variable(slot) = conversion.operand.kind {
                    self.note(slot, &expr.ty);
                }
            }
            ExprKind::Compare(op, _, pair) => {
                let exact = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
                let deduction = if exact { Deduction::Simple } else { Deduction::General };
                self.pair(&pair.0, &pair.1, deduction);
            }
            ExprKind::Arithmetic(_, pair) => self.pair(&pair.0, &pair.1, Deduction::General),
            ExprKind::InList(_, operand, list) => {
                for item in list {
                    self.pair(item, operand, Deduction::Simple);
                }
            }
            ExprKind::Like(_, like) => self.like(&like.pattern, &like.text),
            ExprKind::Variable(slot) if slot.is_undeclared() && expr.ty.nullable => {
                self.note(*slot, &expr.ty);
            }
            _ => {}
        }
    }

    /// Takes the type of a parameter from the other operand. Two parameters say nothing of each
    /// other.
    fn pair(&mut self, one: &Expr, other: &Expr, deduction: Deduction) {
        if let (Some(left), Some(right)) = (self.undeclared(one), self.undeclared(other)) {
            let names = [left, right].map(|slot| self.name(slot).to_owned());
            self.untyped.get_or_insert(names);
            return;
        }
        self.beside(one, other, deduction);
        self.beside(other, one, deduction);
    }

    /// Returns the slot of an expression that is an undeclared parameter, perhaps converted.
    fn undeclared(&self, expr: &Expr) -> Option<Slot> {
        let ExprKind::Variable(slot) = unconverted(expr).kind else { return None };
        let name = self.name(slot).to_lowercase();
        self.wanted.iter().any(|wanted| wanted.to_lowercase() == name).then_some(slot)
    }

    fn name(&self, slot: Slot) -> &str {
        match slot.undeclared_place() {
            Some(place) => &self.nulls[place].0,
            None => &self.program.variables[slot.0 as usize].name,
        }
    }

    fn beside(&mut self, variable: &Expr, other: &Expr, deduction: Deduction) {
        let ExprKind::Variable(slot) = unconverted(variable).kind else { return };
        // The binder has converted the other operand to the stand-in's type.
        let other = unconverted(other);
        let is_declared = match other.kind {
            ExprKind::Variable(slot) => !slot.is_undeclared(),
            _ => true,
        };
        if is_declared && self.undeclared(other).is_none() {
            let ty = match deduction {
                Deduction::Simple => other.ty,
                Deduction::General => general(other.ty),
            };
            self.note(slot, &ty);
        }
    }

    /// Takes the type of a LIKE pattern from the text: the same kind, with the greatest length.
    fn like(&mut self, pattern: &Expr, text: &Expr) {
        let pattern = match &pattern.kind {
            ExprKind::Convert(conversion) => &conversion.operand,
            _ => pattern,
        };
        let ExprKind::Variable(slot) = pattern.kind else { return };
        let data_type = match text.ty.data_type {
            DataType::NChar(_) | DataType::NVarChar(_) | DataType::NText => {
                DataType::NVarChar(Length::Limited(4_000))
            }
            _ => DataType::VarChar(Length::Limited(8_000)),
        };
        self.note(slot, &ColumnType { data_type, ..text.ty });
    }
}

/// How a type is deduced: the page of the procedure describes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deduction {
    /// The type of the other side.
    Simple,
    /// One of the types that are considered for `<`, `+` and the like: the greatest of its family.
    General,
}

fn unconverted(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Convert(conversion) if conversion.mode == Mode::Implicit => &conversion.operand,
        _ => expr,
    }
}

/// Returns the type that general deduction considers for an operand beside one of this type.
fn general(ty: ColumnType) -> ColumnType {
    let data_type = match ty.data_type {
        DataType::Char(_) | DataType::VarChar(Length::Limited(_)) => {
            DataType::VarChar(Length::Limited(8_000))
        }
        DataType::NChar(_) | DataType::NVarChar(Length::Limited(_)) => {
            DataType::NVarChar(Length::Limited(4_000))
        }
        DataType::Text => DataType::VarChar(Length::Max),
        DataType::NText => DataType::NVarChar(Length::Max),
        DataType::Binary(_) | DataType::VarBinary(Length::Limited(_)) | DataType::RowVersion => {
            DataType::VarBinary(Length::Limited(8_000))
        }
        DataType::Image => DataType::VarBinary(Length::Max),
        DataType::Decimal { .. } => DataType::Decimal { precision: 38, scale: 19 },
        DataType::Time(_) => DataType::Time(7),
        DataType::DateTime2(_) => DataType::DateTime2(7),
        DataType::DateTimeOffset(_) => DataType::DateTimeOffset(7),
        other => other,
    };
    ColumnType { data_type, ..ty }
}

/// Returns the columns of the description, as documented.
fn columns() -> Vec<ColumnInfo> {
    let sysname = DataType::NVarChar(Length::Limited(128));
    let columns = [
        ("parameter_ordinal", DataType::Int),
        ("name", sysname),
        ("suggested_system_type_id", DataType::Int),
        ("suggested_system_type_name", DataType::NVarChar(Length::Limited(256))),
        ("suggested_max_length", DataType::SmallInt),
        ("suggested_precision", DataType::TinyInt),
        ("suggested_scale", DataType::TinyInt),
        ("suggested_user_type_id", DataType::Int),
        ("suggested_user_type_database", sysname),
        ("suggested_user_type_schema", sysname),
        ("suggested_user_type_name", sysname),
        ("suggested_assembly_qualified_type_name", DataType::NVarChar(Length::Limited(4_000))),
        ("suggested_xml_collection_id", DataType::Int),
        ("suggested_xml_collection_database", sysname),
        ("suggested_xml_collection_schema", sysname),
        ("suggested_xml_collection_name", sysname),
        ("suggested_is_xml_document", DataType::Bit),
        ("suggested_is_case_sensitive", DataType::Bit),
        ("suggested_is_fixed_length_clr_type", DataType::Bit),
        ("suggested_is_input", DataType::Bit),
        ("suggested_is_output", DataType::Bit),
        ("formal_parameter_name", sysname),
        ("suggested_tds_type_id", DataType::Int),
        ("suggested_tds_length", DataType::Int),
    ];
    let column = |(name, data_type): (&str, DataType)| ColumnInfo {
        name: name.into(),
        column_type: ColumnType::nullable(data_type),
        traits: Traits::default(),
        updatable: false,
    };
    columns.into_iter().map(column).collect()
}

/// `system_type_id` of a table type, which is its token in TDS ([MS-TDS] 2.2.5.4.3).
const TABLE_TYPE: i32 = 0xF3;

fn row(ordinal: i32, name: &str, suggested: &Suggested, session: &SessionState) -> Vec<Value> {
    let Suggested { ty, formal, output } = suggested;
    let mut row = of_type(ordinal, name, ty);
    row[20] = Value::Bit(*output);
    let Some(formal) = formal else { return row };
    row[21] = Value::nvarchar(&formal.name);
    let Some(table) = &formal.table_type else { return row };
    row[2] = Value::Int(TABLE_TYPE);
    row[3] = Value::Null;
    row[4] = Value::SmallInt(-1);
    row[5] = Value::TinyInt(0);
    row[6] = Value::TinyInt(0);
    row[7] = Value::Int(table.id);
    row[8] = Value::nvarchar(&session.identity.database);
    row[9] = Value::nvarchar(&table.schema);
    row[10] = Value::nvarchar(&table.name);
    row[22] = Value::Int(TABLE_TYPE);
    row[23] = Value::Int(-1);
    row
}

fn of_type(ordinal: i32, name: &str, ty: &ColumnType) -> Vec<Value> {
    let data_type = &ty.data_type;
    let is_string = data_type.is_string() && *data_type != DataType::Xml;
    let mut row = vec![
        Value::Int(ordinal),
        Value::nvarchar(name),
        Value::Int(i32::from(data_type.system_type_id())),
        Value::nvarchar(&data_type.to_string()),
        Value::SmallInt(data_type.max_length()),
        Value::TinyInt(data_type.precision()),
        Value::TinyInt(data_type.scale()),
    ];
    row.extend(std::iter::repeat_n(Value::Null, 9));
    row.push(Value::Bit(false));
    row.push(Value::Bit(is_string && ty.collation.is_case_sensitive()));
    row.push(Value::Bit(false));
    row.push(Value::Bit(true));
    row.push(Value::Bit(false));
    row.push(Value::Null);
    row.push(Value::Int(i32::from(wire_type(data_type))));
    row.push(Value::Int(wire_length(data_type)));
    row
}
