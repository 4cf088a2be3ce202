//! Simple parameterization: replaces constants of a statement by parameters where that does not
//! change its result or plan.
//!
//! A statement is safe if its plan is the same for all values: it reads one row by a whole unique
//! key, or is a row of VALUES. Constants that are compared with a column, or become a column's
//! value directly, are parameters; any other one (in the select list, in arithmetic, with `<>`,
//! LIKE, BETWEEN) affects types or plans and stays. Statements that SQL Server leaves alone are
//! left alone here, which `tsql::Tokens::shape` has checked: joins, subqueries, TOP, DISTINCT,
//! GROUP BY, UNION, IN, OR, OPTION, table hints, CTEs.
//! docs/decisions/0090-simple-parameterization.md.

use tsql::Template;
use tsql::ast::{
    AssignOp, Batch, ColumnRef, CompareOp, Condition, ConditionKind, Expr, ExprKind, InsertSource,
    Literal, ObjectName, QueryBody, SelectStatement, SetItemKind, StatementKind, TableRefKind,
    Target, TargetKind,
};
use types::value::ColumnType;
use types::{Collation, DataType, Length, Result, Value};

use crate::expr::literal_constant;
use crate::program::Parameters;
use catalog::{Catalog, Object, TableDef, Unqualified};
use plan::program::{Program, VariableDef};

/// Longest string that becomes a parameter, in characters.
const TEXT_MAX: u16 = 4_000;

/// The parameters of a template.
pub struct Declared {
    /// Parameters as variables of its program.
    pub parameters: Parameters,
    /// Their declaration as SQL Server shows it: `@1 int,@2 varchar(8000)`.
    pub declared: String,
}

/// Returns the template of a batch, if it is one safe statement.
pub fn template(
    catalog: &Catalog,
    (database, unqualified): (&str, Unqualified<'_>),
    batch: &Batch,
    text: &str,
) -> Option<(Template, Declared)> {
    let [statement] = batch.statements.as_slice() else { return None };
    let mut found = Found::default();
    let target = found.statement(&statement.kind)?;
    let table = table_of(catalog, (database, unqualified), target)?;
    if !found.is_insert && !has_key(table, &found.equal) {
        return None;
    }
    let is_plain = |data_type: &DataType| !matches!(data_type, DataType::SqlVariant);
    if table.indexes.iter().any(|index| index.filter.is_some())
        || !table.columns.iter().all(|column| is_plain(&column.ty.data_type))
    {
        return None;
    }
    found.parameters.sort_by_key(|(span, _)| span.start);
    let collation = catalog.database(database).map_or_else(Collation::default, |d| d.collation);
    let mut made = Declared { parameters: Parameters::default(), declared: String::new() };
    for (number, (_, literal)) in (1..).zip(&found.parameters) {
        let constant = literal_constant(literal, collation).ok()?;
        let ty = parameter_type(&constant.ty)?;
        let name = format!("@{number}");
        let comma = if number == 1 { "" } else { "," };
        let shown = match ty.data_type {
            DataType::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
            other => other.to_string(),
        };
        made.declared.push_str(&format!("{comma}{name} {shown}"));
        let ty = ColumnType { nullable: true, ..ty };
        made.parameters.variables.push(VariableDef { name, ty, cursor: false, at: 0 });
    }
    let places: Vec<_> = found.parameters.iter().map(|(span, _)| *span).collect();
    Some((Template::new(text, &places)?, made))
}

/// Returns the values of a program's parameters, in the memory of the given vector; `None` if a
/// constant has another type than its parameter.
///
/// # Errors
/// Errors of the constants.
pub fn values(
    literals: Vec<Literal>,
    program: &Program,
    collation: Collation,
    mut values: Vec<Value>,
) -> Result<Option<Vec<Value>>> {
    values.clear();
    for (literal, variable) in literals.iter().zip(&program.variables) {
        let constant = literal_constant(literal, collation)?;
        let fits = parameter_type(&constant.ty).is_some_and(|ty| ty == variable.ty);
        match constant.kind {
            plan::expr::ExprKind::Constant(value) if fits => values.push(value),
            _ => return Ok(None),
        }
    }
    Ok((values.len() == program.variables.len()).then_some(values))
}

/// Returns the parameter type for a constant's type: SQL Server's, except that integers of all
/// sizes have the same.
fn parameter_type(constant: &ColumnType) -> Option<ColumnType> {
    let data_type = match constant.data_type {
        kept @ (DataType::Int | DataType::Decimal { .. } | DataType::Float | DataType::Money) => {
            kept
        }
        DataType::VarChar(Length::Limited(..=TEXT_MAX)) => {
            DataType::VarChar(Length::Limited(8_000))
        }
        DataType::NVarChar(Length::Limited(..=TEXT_MAX)) => {
            DataType::NVarChar(Length::Limited(4_000))
        }
        DataType::VarBinary(Length::Limited(_)) => DataType::VarBinary(Length::Limited(8_000)),
        _ => return None,
    };
    let collation = if data_type.is_string() { constant.collation } else { Collation::default() };
    Some(ColumnType { data_type, collation, nullable: true })
}

/// Returns the table that a name refers to, unless it is temporary or behind a view or synonym.
fn table_of<'c>(
    catalog: &'c Catalog,
    (database, unqualified): (&str, Unqualified<'_>),
    name: &ObjectName,
) -> Option<&'c TableDef> {
    if name.server.is_some() || name.is_temporary() {
        return None;
    }
    let database = catalog.database(name.database.as_deref().unwrap_or(database))?;
    let first = unqualified.schema_in(database);
    let schema = database.schema_of_object(name.schema.as_deref(), first, &name.object);
    match database.object(schema, &name.object)? {
        Object::Table(table) => Some(table),
        _ => None,
    }
}

/// Returns whether the columns compared for equality contain a unique key.
fn has_key(table: &TableDef, equal: &[&ColumnRef]) -> bool {
    let columns: Vec<usize> = equal.iter().filter_map(|c| table.column(&c.column)).collect();
    table.indexes.iter().any(|index| {
        index.is_key() && index.keys.iter().all(|&(key, _)| columns.contains(&usize::from(key)))
    })
}

/// What a statement contains.
#[derive(Default)]
struct Found<'a> {
    parameters: Vec<(tsql::ast::Span, &'a Literal)>,
    /// Columns that are compared with a constant by `=`.
    equal: Vec<&'a ColumnRef>,
    is_insert: bool,
}

impl<'a> Found<'a> {
    /// Collects the parameters of a statement; returns its table.
    fn statement(&mut self, statement: &'a StatementKind) -> Option<&'a ObjectName> {
        match statement {
            StatementKind::Select(select) => self.select(select),
            StatementKind::Update(update) => {
                let plain = update.output.is_empty() && update.from.is_empty();
                for item in &update.set {
                    match &item.kind {
                        SetItemKind::Column { op: AssignOp::Assign, value, .. } => self.add(value),
                        SetItemKind::Column { .. } => {}
                        _ => return None,
                    }
                }
                self.filter(update.filter.as_ref()?);
                if plain { table_name(&update.target) } else { None }
            }
            StatementKind::Delete(delete) => {
                let plain = delete.output.is_empty() && delete.from.is_empty();
                self.filter(delete.filter.as_ref()?);
                if plain { table_name(&delete.target) } else { None }
            }
            StatementKind::Insert(insert) => {
                self.is_insert = true;
                let InsertSource::Values(rows) = &insert.source else { return None };
                // Columns of several rows would have a common type.
                let [row] = rows.as_slice() else { return None };
                row.iter().for_each(|value| self.add(value));
                if insert.output.is_empty() { table_name(&insert.target) } else { None }
            }
            _ => None,
        }
    }

    fn select(&mut self, select: &'a SelectStatement) -> Option<&'a ObjectName> {
        let QueryBody::Select(spec) = &select.query.body else { return None };
        let [source] = spec.from.as_slice() else { return None };
        let TableRefKind::Table(table) = &source.kind else { return None };
        let plain = table.hints.is_empty()
            && table.system_time.is_none()
            && table.sample.is_none()
            && spec.windows.is_empty();
        self.filter(spec.filter.as_ref()?);
        plain.then_some(&table.name)
    }

    /// Collects the constants that columns are compared with.
    fn filter(&mut self, filter: &'a Condition) {
        match &filter.kind {
            ConditionKind::And(all) => all.iter().for_each(|condition| self.filter(condition)),
            ConditionKind::Compare { op, left, right } if *op != CompareOp::NotEqual => {
                let sides = match (&left.kind, &right.kind) {
                    (ExprKind::Column(column), ExprKind::Literal(_)) => Some((column, right)),
                    (ExprKind::Literal(_), ExprKind::Column(column)) => Some((column, left)),
                    _ => None,
                };
                let Some((column, constant)) = sides else { return };
                self.add(constant);
                if *op == CompareOp::Equal {
                    self.equal.push(column);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, value: &'a Expr) {
        if let ExprKind::Literal(literal) = &value.kind
            && !matches!(literal, Literal::Null | Literal::Odbc(..))
        {
            self.parameters.push((value.span, literal));
        }
    }
}

fn table_name(target: &Target) -> Option<&ObjectName> {
    match &target.kind {
        TargetKind::Name(name) if target.hints.is_empty() => Some(name),
        _ => None,
    }
}
