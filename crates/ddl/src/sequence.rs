//! CREATE SEQUENCE and ALTER SEQUENCE.

use std::sync::Arc;

use tsql::ast::{self, CreateMode, SequenceOption};
use types::value::ColumnType;
use types::{Collation, DataType, Error, Mode, Msg, Result, Value};

use super::{Target, change_database, module_target};
use ::binder::types::DefaultLength;
use ::catalog::{Counter, Object, SequenceCache, SequenceDef};
use ::executor::Cx;

/// Options of the statement; `None` for those that are omitted.
#[derive(Default)]
struct Options {
    data_type: Option<DataType>,
    start: Option<i64>,
    restart: Option<Option<i64>>,
    increment: Option<i64>,
    minimum: Option<Option<i64>>,
    maximum: Option<Option<i64>>,
    cycle: Option<bool>,
    cache: Option<SequenceCache>,
}

pub(crate) fn create(create: &ast::CreateSequence, cx: &mut Cx<'_>) -> Result<()> {
    let options = options(create, cx)?;
    let statement = match create.mode {
        CreateMode::Alter => "ALTER SEQUENCE",
        CreateMode::Create | CreateMode::CreateOrAlter => "CREATE SEQUENCE",
    };
    let to = module_target(&create.name, create.mode, statement, cx)?;
    let name = create.name.to_string();
    if create.mode == CreateMode::Alter && (options.start.is_some() || options.data_type.is_some())
    {
        let what = if options.start.is_some() { "START WITH" } else { "AS" };
        return Err(Msg::InvalidOptionUsage(what, "ALTER SEQUENCE").into());
    }
    let instance = Arc::clone(&cx.session.instance);
    change_database(cx.session, &to.database, |database| {
        let found = database.object(&to.schema, &to.name);
        let durable = database.id != ::catalog::table::TEMPDB;
        let count = |start| instance.catalog.new_sequence_counter(start, durable);
        let sequence = match (create.mode, found) {
            (CreateMode::Alter, Some(Object::Sequence(before))) => {
                altered(before, &options, &name, count)?
            }
            (CreateMode::Alter, _) => return Err(Msg::InvalidObject(&name).into()),
            (_, Some(_)) => return Err(Msg::ObjectExists(&to.name).into()),
            (_, None) => {
                let id = instance.catalog.next_object_id();
                new(id, &to, &options, &name, count)?
            }
        };
        database.put(Object::Sequence(Arc::new(sequence)));
        Ok(())
    })
}

/// Returns the least and the greatest value of a sequence's type.
fn range(data_type: &DataType) -> Option<(i64, i64)> {
    Some(match data_type {
        DataType::TinyInt => (0, i64::from(u8::MAX)),
        DataType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DataType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DataType::BigInt => (i64::MIN, i64::MAX),
        DataType::Decimal { precision, scale: 0 } => {
            let most = 10_i64.checked_pow(u32::from(*precision)).map_or(i64::MAX, |n| n - 1);
            (-most, most)
        }
        _ => return None,
    })
}

fn new(
    id: i32,
    to: &Target,
    options: &Options,
    name: &str,
    count: impl Fn(i64) -> Arc<Counter>,
) -> Result<SequenceDef> {
    let data_type = options.data_type.unwrap_or(DataType::BigInt);
    let Some((least, most)) = range(&data_type) else {
        return Err(Msg::SequenceType(name).into());
    };
    let increment = options.increment.unwrap_or(1);
    let minimum = options.minimum.flatten().unwrap_or(least);
    let maximum = options.maximum.flatten().unwrap_or(most);
    let start = options.start.unwrap_or(if increment < 0 { maximum } else { minimum });
    let sequence = SequenceDef {
        id,
        schema: to.schema.clone(),
        name: to.name.clone(),
        data_type,
        start,
        increment,
        minimum,
        maximum,
        cycle: options.cycle.unwrap_or(false),
        cache: options.cache.unwrap_or_default(),
        counter: count(start),
    };
    checked(sequence, name)
}

/// Applies ALTER SEQUENCE. Without RESTART the current value is kept.
fn altered(
    before: &SequenceDef,
    options: &Options,
    name: &str,
    count: impl Fn(i64) -> Arc<Counter>,
) -> Result<SequenceDef> {
    let (least, most) = range(&before.data_type).unwrap_or((i64::MIN, i64::MAX));
    let bound = |new: Option<Option<i64>>, old, none| match new {
        None => old,
        Some(bound) => bound.unwrap_or(none),
    };
    let restart = options.restart.map(|with| with.unwrap_or(before.start));
    let counter = match restart {
        Some(start) => count(start),
        None => Arc::clone(&before.counter),
    };
    let sequence = SequenceDef {
        id: before.id,
        schema: before.schema.clone(),
        name: before.name.clone(),
        data_type: before.data_type,
        start: restart.unwrap_or(before.start),
        increment: options.increment.unwrap_or(before.increment),
        minimum: bound(options.minimum, before.minimum, least),
        maximum: bound(options.maximum, before.maximum, most),
        cycle: options.cycle.unwrap_or(before.cycle),
        cache: options.cache.unwrap_or(before.cache),
        counter,
    };
    checked(sequence, name)
}

fn checked(sequence: SequenceDef, name: &str) -> Result<SequenceDef> {
    if sequence.increment == 0 {
        return Err(Msg::SequenceIncrement(name).into());
    }
    if sequence.minimum >= sequence.maximum {
        return Err(Msg::SequenceBounds(name).into());
    }
    let next = sequence.counter.peek();
    if !(sequence.minimum..=sequence.maximum).contains(&next) {
        return Err(Msg::SequenceStart(name).into());
    }
    Ok(sequence)
}

fn options(create: &ast::CreateSequence, cx: &Cx<'_>) -> Result<Options> {
    let mut options = Options::default();
    for option in &create.options {
        match option {
            SequenceOption::Type(name) => {
                let context =
                    compile::binding::bare_context(cx.session, &cx.session.identity.database);
                let ty = context.binder().resolve_type(name, DefaultLength::Declaration)?;
                options.data_type = Some(ty.data_type);
            }
            SequenceOption::Start(expr) => options.start = Some(number(expr, cx)?),
            SequenceOption::Restart(with) => {
                options.restart = Some(with.as_ref().map(|e| number(e, cx)).transpose()?);
            }
            SequenceOption::Increment(expr) => options.increment = Some(number(expr, cx)?),
            SequenceOption::Min(bound) => {
                options.minimum = Some(bound.as_ref().map(|e| number(e, cx)).transpose()?);
            }
            SequenceOption::Max(bound) => {
                options.maximum = Some(bound.as_ref().map(|e| number(e, cx)).transpose()?);
            }
            SequenceOption::Cycle(cycle) => options.cycle = Some(*cycle),
            SequenceOption::Cache(size) => {
                let size = size.as_ref().map(|e| number(e, cx)).transpose()?;
                let size = size.map(|n| i32::try_from(n).unwrap_or(i32::MAX));
                options.cache = Some(size.map_or(SequenceCache::Default, SequenceCache::Numbers));
            }
            SequenceOption::NoCache => options.cache = Some(SequenceCache::Off),
        }
    }
    Ok(options)
}

/// Evaluates a constant, which may have a minus sign.
fn number(expr: &ast::Expr, cx: &Cx<'_>) -> Result<i64> {
    let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
    let bound = ::binder::expr::bind_expr(&mut context.binder(), expr)?;
    let not_a_number = || Error::from(Msg::SyntaxNear(expr.span.text(&cx.source)));
    let value = bound.as_constant().ok_or_else(not_a_number)?;
    let to =
        ColumnType { data_type: DataType::BigInt, collation: Collation::default(), nullable: true };
    match types::convert(value, &bound.ty, &to, 0, Mode::Implicit, &cx.convert_options())? {
        Value::BigInt(n) => Ok(n),
        _ => Err(not_a_number()),
    }
}
