//! Function calls: library functions, date functions with their date part, aggregates, window
//! functions, and `@@` names.

use tsql::ast;
use types::value::ColumnType;
use types::{DataType, Length, Mode, Msg, Result, Value};

use crate::expr::convert::{Strength, common_collation, strength};
use crate::expr::{bind_expr, case, not_supported, user, window};
use crate::{Binder, Clause, Level};
use catalog::Database;
use catalog::name::Name;
use functions::{AggregateFunction, Function};
use plan::convert::{convert, convert_to};
use plan::expr::{Expr, ExprKind};
use plan::function::Collating;
use plan::query::{AggregateCall, SortKey};

pub(crate) fn bind(binder: &mut Binder<'_>, call: &ast::Call) -> Result<Expr> {
    if is_partition(&call.name) {
        return bind_partition(binder, call);
    }
    if !call.within_group.is_empty() && !takes_within_group(&call.name) {
        return Err(Msg::NoWithinGroup(&call.name.object.to_lowercase()).into());
    }
    let Some(name) = call.name.as_simple() else { return bind_user(binder, call) };
    let name = name.to_ascii_uppercase();
    if let Some(over) = &call.over {
        return window::bind(binder, &name, call, over);
    }
    if call.nulls.is_some() {
        return not_supported("IGNORE NULLS and RESPECT NULLS without OVER");
    }
    if let Some(aggregate) = functions::find_aggregate(&name) {
        return bind_aggregate(binder, aggregate, call);
    }
    match name.as_str() {
        "COALESCE" => return case::bind_coalesce(binder, &call.arguments),
        "NULLIF" => {
            return match call.arguments.as_slice() {
                [left, right] => case::bind_null_if(binder, left, right),
                _ => Err(Msg::FunctionArguments("nullif", 2).into()),
            };
        }
        _ => {}
    }
    if window::find(&name).is_some() {
        return Err(Msg::MustHaveOver(&name.to_ascii_lowercase()).into());
    }
    let function = binder.library.scalar(&name).filter(|_| {
        // Names that only stand behind a schema, or only in the binder.
        !name.starts_with(functions::hex::PREFIX) && name != PARTITION
    });
    let Some(function) = function else {
        if functions::is_known(&name) {
            return not_supported(&name);
        }
        return Err(Msg::NotRecognized(&call.name.object, "built-in function name").into());
    };
    bind_function(binder, function, call)
}

/// Returns whether a function has a clause WITHIN GROUP, or an order that is kept as one.
fn takes_within_group(name: &ast::ObjectName) -> bool {
    const NAMES: [&str; 6] = [
        "APPROX_PERCENTILE_CONT",
        "APPROX_PERCENTILE_DISC",
        "JSON_ARRAYAGG",
        "PERCENTILE_CONT",
        "PERCENTILE_DISC",
        "STRING_AGG",
    ];
    let simple = name.as_simple();
    simple.is_some_and(|name| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

fn bind_function(
    binder: &mut Binder<'_>,
    function: &'static Function,
    call: &ast::Call,
) -> Result<Expr> {
    binder.level.asks_grouping |= matches!(function.name, "GROUPING" | "GROUPING_ID");
    let mut arguments = Vec::with_capacity(call.arguments.len() + 1);
    if let Some(special) = special_argument(function.name, call.special) {
        arguments.push(Expr::constant(Value::Int(special), DataType::Int));
    }
    for (position, argument) in call.arguments.iter().enumerate() {
        let is_star = matches!(argument.kind, ast::ExprKind::Star);
        if is_star && matches!(function.name, "CHECKSUM" | "BINARY_CHECKSUM") {
            arguments.extend(all_columns(binder, function.name)?);
            continue;
        }
        arguments.push(match position {
            0 if functions::takes_date_part(function.name) => date_part(function.name, argument)?,
            1 if function.name == "ISJSON" => json_kind(argument)?,
            _ => bind_expr(binder, argument)?,
        });
    }
    let (fewest, most) = function.arity;
    let count = call.arguments.len();
    if count < usize::from(fewest) || count > usize::from(most) {
        let name = function.name.to_ascii_lowercase();
        return Err(if fewest == most {
            Msg::FunctionArguments(&name, i64::from(fewest)).into()
        } else {
            Msg::FunctionArgumentRange(&name, i64::from(fewest), i64::from(most)).into()
        });
    }
    if let Some(name) = numeric_base_type(binder, function.name, call, &arguments) {
        return Ok(name);
    }
    share_collation(function.name, function.collation, &mut arguments)?;
    let ty = (function.bind)(&mut arguments)?;
    Ok(Expr::new(ExprKind::Call(function, arguments.into()), ty))
}

/// Gives all string arguments the collation of the one with precedence, if they are to share one.
///
/// # Errors
/// 468: see [`common_collation`]. Columns that differ are no error where nothing is compared.
pub(crate) fn share_collation(
    function: &str,
    collation: Collating,
    arguments: &mut [Expr],
) -> Result<()> {
    let is_comparing = match collation {
        Collating::Apart => return Ok(()),
        Collating::Combine => false,
        Collating::Compare => true,
    };
    let is_text = |argument: &&Expr| argument.ty.data_type.is_string();
    let mut texts = arguments.iter().filter(is_text);
    let Some(first) = texts.next() else { return Ok(()) };
    let (mut strongest, mut collation) = (first, first.ty.collation);
    for text in texts {
        let may_differ = !is_comparing && strength(strongest) == Strength::Implicit;
        if may_differ && strength(text) == Strength::Implicit {
            continue;
        }
        collation = common_collation(strongest, text, &function.to_ascii_lowercase())?;
        if strength(text) > strength(strongest) {
            strongest = text;
        }
    }
    let texts = arguments.iter_mut().filter(|argument| argument.ty.data_type.is_string());
    for text in texts.filter(|text| text.ty.collation != collation) {
        let ty = ColumnType { collation, ..text.ty };
        let own = std::mem::replace(text, Expr::constant(Value::Null, DataType::Int));
        *text = convert(own, ty, None, Mode::Implicit);
    }
    Ok(())
}

/// Returns the columns that `*` means as an argument of CHECKSUM and BINARY_CHECKSUM.
fn all_columns(binder: &mut Binder<'_>, function: &str) -> Result<Vec<Expr>> {
    if binder.level.sources.is_empty() {
        return Err(Msg::MustSpecifyTable.into());
    }
    let mut found = Vec::new();
    for source in &mut binder.level.sources {
        source.check_reads()?;
        for column in source.columns.iter_mut().filter(|column| !column.traits.hidden) {
            let expr = column.expr();
            // "BINARY_CHECKSUM ignores columns of noncomparable data types in its computation."
            let ignored = matches!(
                expr.ty.data_type,
                DataType::Text | DataType::NText | DataType::Image | DataType::Xml
            );
            if !ignored || function == "CHECKSUM" {
                column.used = true;
                found.push(expr);
            }
        }
    }
    Ok(found)
}

/// `SQL_VARIANT_PROPERTY(1.5, 'BaseType')` is `numeric`: a value does not record which of the two
/// names its type was written with.
fn numeric_base_type(
    binder: &Binder<'_>,
    function: &str,
    call: &ast::Call,
    arguments: &[Expr],
) -> Option<Expr> {
    let (written, [value, property]) = (call.arguments.first()?, arguments) else { return None };
    let is_base_type = || match &property.kind {
        ExprKind::Constant(said) => {
            let said = said.as_text(property.ty.collation);
            said.is_some_and(|said| said.eq_ignore_ascii_case("BaseType"))
        }
        _ => false,
    };
    if function != "SQL_VARIANT_PROPERTY"
        || !is_base_type()
        || !crate::query::traits_of(binder, written, value).numeric
    {
        return None;
    }
    let ty = ColumnType { data_type: DataType::NVarChar(Length::Limited(128)), ..value.ty };
    let name = Value::Variant(Box::new((Value::nvarchar("numeric"), ty)));
    Some(Expr::constant(name, DataType::SqlVariant))
}

/// Returns the extra first argument for a function with special grammar. TRIM's side: 0 both, 1
/// leading, 2 trailing; treatment of NULL in JSON_OBJECT and JSON_ARRAY: 0 skip it, 1 write it.
fn special_argument(function: &str, special: ast::CallSpecial) -> Option<i32> {
    match (special, function) {
        (ast::CallSpecial::TrimBoth, _) => Some(0),
        (ast::CallSpecial::TrimLeading, _) => Some(1),
        (ast::CallSpecial::TrimTrailing, _) => Some(2),
        (ast::CallSpecial::JsonNullOnNull, _) => Some(1),
        (ast::CallSpecial::JsonAbsentOnNull, _) => Some(0),
        (
            ast::CallSpecial::None | ast::CallSpecial::OdbcFunction,
            "JSON_OBJECT" | "JSON_OBJECTAGG",
        ) => Some(1),
        (
            ast::CallSpecial::None | ast::CallSpecial::OdbcFunction,
            "JSON_ARRAY" | "JSON_ARRAYAGG",
        ) => Some(0),
        (ast::CallSpecial::None | ast::CallSpecial::OdbcFunction, _) => None,
    }
}

/// Converts ISJSON's type, a bare word, to its index.
fn json_kind(argument: &ast::Expr) -> Result<Expr> {
    let word = match &argument.kind {
        ast::ExprKind::Column(column) => column.column.as_str(),
        _ => return Err(Msg::InvalidParameter(2, "isjson").into()),
    };
    let place = functions::json::KINDS.iter().position(|kind| kind.eq_ignore_ascii_case(word));
    let place = place.and_then(|place| i32::try_from(place).ok());
    let place =
        place.ok_or_else(|| types::Error::from(Msg::NotRecognized(word, "isjson option")))?;
    Ok(Expr::constant(Value::Int(place), DataType::Int))
}

/// Converts a date part, a bare word, to an integer constant: its index in `functions::date`.
fn date_part(function: &str, argument: &ast::Expr) -> Result<Expr> {
    let ast::ExprKind::Column(column) = &argument.kind else {
        return Err(Msg::InvalidParameter(1, &function.to_ascii_lowercase()).into());
    };
    let word = column.column.as_str();
    let place = functions::date::date_part_place(word).ok_or_else(|| {
        types::Error::from(Msg::UnrecognizedOption(word, &function.to_ascii_lowercase()))
    })?;
    Ok(Expr::constant(Value::Int(place), DataType::Int))
}

/// Binds `@@name`: a function without arguments.
///
/// # Errors
/// 137 for an unknown name, 40517 for a known one that is not there.
pub fn bind_global(binder: &Binder<'_>, name: &str) -> Result<Expr> {
    let upper = name.to_ascii_uppercase();
    let Some(function) = binder.library.scalar(&upper) else {
        if functions::is_known(&upper) {
            return not_supported(&upper);
        }
        return Err(Msg::MustDeclareScalar(name).into());
    };
    let ty = (function.bind)(&mut Vec::new())?;
    Ok(Expr::new(ExprKind::Call(function, Box::new([])), ty))
}

/// Binds `operand AT TIME ZONE zone`: a function of two arguments.
pub(crate) fn bind_at_zone(
    binder: &mut Binder<'_>,
    operand: &ast::Expr,
    zone: &ast::Expr,
) -> Result<Expr> {
    let mut arguments = vec![bind_expr(binder, operand)?, bind_expr(binder, zone)?];
    let function =
        functions::find(functions::zone::AT_TIME_ZONE).expect("the library has this function");
    let ty = (function.bind)(&mut arguments)?;
    Ok(Expr::new(ExprKind::Call(function, arguments.into()), ty))
}

pub(crate) fn bind_niladic(binder: &Binder<'_>, niladic: ast::Niladic) -> Result<Expr> {
    let name = match niladic {
        ast::Niladic::CurrentTimestamp => "GETDATE",
        ast::Niladic::CurrentDate => "CURRENT_DATE",
        ast::Niladic::CurrentUser | ast::Niladic::SessionUser | ast::Niladic::User => "USER_NAME",
        ast::Niladic::SystemUser => "SUSER_SNAME",
    };
    bind_global(binder, name)
}

fn bind_user(binder: &mut Binder<'_>, call: &ast::Call) -> Result<Expr> {
    let name = call.name.to_string();
    let of_schema = |name| call.name.schema.as_ref().is_some_and(|schema| schema.is(name));
    let of_database = |name| call.name.database.as_ref().is_some_and(|database| database.is(name));
    let system = of_schema("sys");
    let object = call.name.object.to_ascii_uppercase();
    let is_found = match object == functions::hex::OF_MSDB {
        true => of_database("msdb") && of_schema("dbo"),
        false if object.starts_with(functions::hex::PREFIX) => {
            system || of_database("master") && of_schema("dbo")
        }
        false => system,
    };
    if is_found && let Some(function) = binder.library.scalar(&object) {
        return bind_function(binder, function, call);
    }
    let prefix = call.name.schema.as_deref().unwrap_or_default();
    if let Some(bound) = user::bind_scalar(binder, call)? {
        return Ok(bound);
    }
    if system
        && let Some(known) =
            binder.library.known_but_missing(binder.database, "sys", &call.name.object)
    {
        return not_supported(&known);
    }
    Err(Msg::FunctionNotFound(prefix, &name).into())
}

fn bind_aggregate(
    binder: &mut Binder<'_>,
    function: &'static AggregateFunction,
    call: &ast::Call,
) -> Result<Expr> {
    // No query around this one can own the aggregate, so that its clause is known at once.
    if binder.outer.len() <= 1 {
        check_clause(binder.level.clause)?;
    }
    let (arguments, order, ty) = bind_aggregate_arguments(binder, function, call)?;
    let register = binder.new_register();
    let owner = owner_of(binder, &arguments);
    check_clause(owner.clause)?;
    let distinct = call.distinct;
    let bound = AggregateCall { function, arguments, distinct, order, filter: None, ty, register };
    owner.aggregates.push(bound);
    Ok(Expr::new(ExprKind::Column(register), ty))
}

/// Checks that aggregates are allowed in the current clause of the level that owns the aggregate.
fn check_clause(clause: Clause) -> Result<()> {
    match clause {
        Clause::Output | Clause::Having | Clause::Window => Ok(()),
        Clause::GroupBy => Err(Msg::AggregateInGroupBy.into()),
        Clause::Plain => Err(Msg::AggregateInWhere.into()),
        Clause::On => Err(Msg::AggregateInOn.into()),
        Clause::Set => Err(Msg::AggregateInSet.into()),
        Clause::Changed => Err(Msg::AggregateInOutput.into()),
        Clause::Definition | Clause::Constant => Err(Msg::AggregateInComputed.into()),
        Clause::Argument => Err(Msg::NestedAggregate.into()),
    }
}

/// Returns the level of the query that an aggregate belongs to: the innermost of those whose
/// columns it uses, or the innermost of all if it uses no columns.
fn owner_of<'b>(binder: &'b mut Binder<'_>, arguments: &[Expr]) -> &'b mut Level {
    // The number of levels between the owner and the innermost level.
    let mut owner: Option<usize> = None;
    for argument in arguments {
        plan::walk::visit(argument, &mut |e| {
            if let ExprKind::Column(register) = e.kind
                && let Some(place) = binder.levels().position(|level| level.has(register))
            {
                owner = Some(owner.map_or(place, |nearest| nearest.min(place)));
            }
        });
    }
    binder.level_mut(owner.unwrap_or(0))
}

/// Binds arguments of an aggregate: they see the rows before grouping, and contain no aggregates.
fn bind_aggregate_arguments(
    binder: &mut Binder<'_>,
    function: &'static AggregateFunction,
    call: &ast::Call,
) -> Result<(Vec<Expr>, Vec<SortKey>, ColumnType)> {
    let outer = set_clause(binder, Clause::Argument);
    let bound = (|| {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        if let Some(special) = special_argument(function.name, call.special) {
            arguments.push(Expr::constant(Value::Int(special), DataType::Int));
        }
        for argument in &call.arguments {
            if !matches!(argument.kind, ast::ExprKind::Star) {
                arguments.push(bind_expr(binder, argument)?);
            }
        }
        if arguments.iter().any(plan::walk::has_own_subquery) {
            return Err(Msg::NestedAggregate.into());
        }
        let mut ty = (function.bind)(&mut arguments)?;
        let mut order = bind_order(binder, &call.within_group)?;
        if let Some(as_float) = functions::takes_key(function.name) {
            let key = window::percentile_key(function.name, as_float, &mut order)?;
            ty = ColumnType { nullable: true, ..key.ty };
            arguments.push(key);
        }
        Ok((arguments, order, ty))
    })();
    set_clause(binder, outer);
    bound.map_err(
        |error: types::Error| {
            if error.number == 147 { Msg::NestedAggregate.into() } else { error }
        },
    )
}

pub(crate) fn set_clause(binder: &mut Binder<'_>, clause: Clause) -> Clause {
    std::mem::replace(&mut binder.level.clause, clause)
}

pub(crate) fn bind_order(binder: &mut Binder<'_>, order: &[ast::OrderBy]) -> Result<Vec<SortKey>> {
    order
        .iter()
        .map(|key| Ok(SortKey { expr: bind_expr(binder, &key.expr)?, descending: key.descending }))
        .collect()
}

/// The name in the place of a schema, and the library's name of the function.
const PARTITION: &str = "$PARTITION";
/// The state of error 208 for a database that does not exist.
const NO_DATABASE: u8 = 212;

/// Returns whether a call is `$PARTITION.f(x)` or `database.$PARTITION.f(x)`.
fn is_partition(name: &ast::ObjectName) -> bool {
    name.schema.as_ref().is_some_and(|schema| schema.is(PARTITION))
}

/// Binds `$PARTITION.function(value)`: the number of the partition that a value is in.
///
/// # Errors
/// 208 for an unknown function or database, 8144 for a second argument, and those of converting the
/// argument to the type of the function's parameter.
fn bind_partition(binder: &mut Binder<'_>, call: &ast::Call) -> Result<Expr> {
    let name = call.name.to_string();
    let missing = || types::Error::from(Msg::InvalidObject(&name));
    let catalog = binder.catalog;
    let named = call.name.database.as_deref().filter(|part| !part.is_empty());
    let database = catalog.database(named.unwrap_or(binder.database));
    let database: &Database = database.ok_or_else(|| missing().with_state(NO_DATABASE))?;
    let function = database.partition_functions.get(&Name::new(&call.name.object));
    let function = function.ok_or_else(missing)?;
    if call.over.is_some() || call.nulls.is_some() || call.distinct {
        return not_supported("a window or DISTINCT with $PARTITION");
    }
    let argument = match call.arguments.as_slice() {
        [argument] => argument,
        [] => return Err(Msg::SyntaxNear(")").into()),
        _ => return Err(Msg::TooManyArguments(&call.name.object).into()),
    };
    let value = convert_to(bind_expr(binder, argument)?, &function.ty, Mode::Implicit)?;
    partition_number(binder, (database.id, function.id), value)
}

/// Returns the expression for the partition number of a value of the parameter's type, by the ids
/// of the database and the function.
pub(crate) fn partition_number(
    binder: &Binder<'_>,
    (database, function): (i16, i32),
    value: Expr,
) -> Result<Expr> {
    let Some(computing) = binder.library.scalar(PARTITION) else {
        return Err(Msg::InternalError.into());
    };
    let mut arguments = vec![
        Expr::constant(Value::SmallInt(database), DataType::SmallInt),
        Expr::constant(Value::Int(function), DataType::Int),
        value,
    ];
    let ty = (computing.bind)(&mut arguments)?;
    Ok(Expr::new(ExprKind::Call(computing, arguments.into()), ty))
}
