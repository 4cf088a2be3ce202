//! ADD TARGET: resolves the target's name and its parameters.

use sos::xe::{Parameter, ParameterType, Target, TargetSpec};
use tsql::ast::{EventName, Literal, TargetDefinition};
use types::{Msg, Result};

use super::{full, package_and_name, text_of, written};
use ::catalog::EventTargetDef;
use ::session::event::registry;

/// Finds a target by package and name.
///
/// # Errors
/// 25623 if there is none.
pub(super) fn find(name: &EventName) -> Result<&'static Target> {
    let (package, target) = package_and_name("target", name)?;
    let found = registry::target(package, target);
    found.ok_or_else(|| Msg::EventNameInvalid("target", &written(name)).into())
}

/// Makes the definition of a target; its id is assigned by the session's definition.
///
/// # Errors
/// 25623 for an unknown name, and 25629, 25650, 25651 and 25642 for its parameters.
pub(super) fn resolve(definition: &TargetDefinition) -> Result<EventTargetDef> {
    let target = find(&definition.name)?;
    let full = full(target.package.name, target.name);
    let mut parameters: Vec<(String, String)> = Vec::new();
    for (name, value) in &definition.settings {
        let Some(parameter) = target.parameter(name) else {
            return Err(Msg::EventAttribute("target", &full, name).into());
        };
        if parameters.iter().any(|(other, _)| other == parameter.name) {
            return Err(Msg::EventAttributeTwice("target", &full, name).into());
        }
        if !fits(parameter, value) {
            let expected = type_name(parameter);
            return Err(Msg::EventAttributeType("target", &full, name, expected).into());
        }
        parameters.push((parameter.name.to_owned(), text_of(value)));
    }
    let is_missing = |parameter: &&Parameter| {
        parameter.is_mandatory && parameters.iter().all(|(name, _)| name != parameter.name)
    };
    if target.parameters.iter().any(|parameter| is_missing(&parameter)) {
        return Err(Msg::EventMandatory("target", &full).into());
    }
    Ok(EventTargetDef { id: 0, spec: TargetSpec { target, parameters } })
}

fn fits(parameter: &Parameter, value: &Literal) -> bool {
    match (parameter.parameter_type, value) {
        (ParameterType::UInt64, Literal::Int(number)) => *number >= 0,
        (ParameterType::UInt64, Literal::Decimal(digits)) => !digits.contains('.'),
        (ParameterType::Boolean, Literal::Int(number)) => matches!(number, 0 | 1),
        (ParameterType::Text, Literal::String(_) | Literal::NString(_)) => true,
        (ParameterType::UInt64 | ParameterType::Boolean | ParameterType::Text, _) => false,
    }
}

fn type_name(parameter: &Parameter) -> &'static str {
    match parameter.parameter_type {
        ParameterType::UInt64 => "uint64",
        ParameterType::Boolean => "boolean",
        ParameterType::Text => "unicode_string_ptr",
    }
}
