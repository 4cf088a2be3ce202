//! sp_sequence_get_range: reserves a range of sequence values.

use types::value::ColumnType;
use types::{DataType, Msg, Value};

use crate::procedure::{SystemProcedure, int_type, text, whole};
use ::binder::expr::find_object;
use ::binder::require::require_sequence;
use ::catalog::Object;
use ::catalog::name::Name;
use ::executor::Cx;
use interpreter::{Argument, Stop};
use tsql::parse_object_name;

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "sp_sequence_get_range", id: 0, run: get_range }];

/// `sp_sequence_get_range @sequence_name, @range_size, @range_first_value OUTPUT [,
/// @range_last_value OUTPUT [, @range_cycle_count OUTPUT [, @sequence_increment OUTPUT [,
/// @sequence_min_value OUTPUT [, @sequence_max_value OUTPUT]]]]]`.
///
/// # Errors
/// 201 without a name or a size, 15021 for a size below 1, 208 for an unknown sequence, 229 without
/// UPDATE on it, 11732 for more values than are left.
fn get_range(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    const NAME: &str = "sp_sequence_get_range";
    let missing = |parameter| Msg::ParameterNotSupplied(NAME, parameter);
    let name = text(arguments, 0, "@sequence_name", cx)?;
    let name = name.ok_or_else(|| missing("@sequence_name"))?;
    let size = whole(arguments, 1, "@range_size").ok_or_else(|| missing("@range_size"))?;
    let parsed = parse_object_name(&name)?;
    let found = {
        let context = compile::binding::checked_context(cx.session, &cx.session.identity.database);
        let binder = context.binder();
        let found = find_object(&binder, &parsed).cloned();
        if let Some(Object::Sequence(sequence)) = &found {
            let place = parsed.database.as_deref().unwrap_or(&cx.session.identity.database);
            require_sequence(&binder, place, sequence)?;
        }
        found
    };
    let Some(Object::Sequence(sequence)) = found else {
        return Err(Msg::InvalidObject(&name).into());
    };
    if size < 1 {
        return Err(Msg::ParameterValue("@range_size").into());
    }
    let (first, last, cycles) = sequence.take_range(size)?;
    let outputs = [
        (2, "@range_first_value", sequence.variant(first)),
        (3, "@range_last_value", sequence.variant(last)),
        (4, "@range_cycle_count", Value::Int(cycles)),
        (5, "@sequence_increment", sequence.variant(sequence.increment)),
        (6, "@sequence_min_value", sequence.variant(sequence.minimum)),
        (7, "@sequence_max_value", sequence.variant(sequence.maximum)),
    ];
    for (position, name, value) in outputs {
        give(arguments, position, name, value);
    }
    Ok(0)
}

/// Sets an OUTPUT argument, if the caller has passed it.
fn give(arguments: &mut [Argument], position: usize, name: &str, value: Value) {
    let named = arguments.iter().position(|a| Name::same(&a.name, name));
    let unnamed = || arguments.get(position).is_some_and(|a| a.name.is_empty()).then_some(position);
    let place = named.or_else(unnamed);
    let Some(argument) = place.and_then(|at| arguments.get_mut(at)).filter(|a| a.output) else {
        return;
    };
    argument.ty = match value {
        Value::Int(_) => int_type(),
        _ => ColumnType::nullable(DataType::SqlVariant),
    };
    argument.value = value;
}
