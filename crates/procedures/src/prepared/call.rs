//! The call that sp_prepexecrpc prepares: `{call p(?, ?)}`, ODBC's canonical form, or only the
//! name, as Microsoft's ODBC driver sends it; then all arguments are bound.
//!
//! The call is stored as the text `EXEC p @P1, @P2 OUTPUT` with the types of the first arguments,
//! so that sp_execute converts later ones. The call has no nesting level: the return status is that
//! of the procedure.

use types::{DataType, Length, Msg, Value};

use super::{Prepared, PreparedKind};
use crate::called::system_procedure;
use crate::executesql::{bind_values, make_tables, prepare, return_values};
use ::catalog::ProcedureDef;
use ::executor::{Cx, Frame};
use ::plan::program::{Program, StepKind};
use ::session::SessionState;
use interpreter::{
    Argument, Runner, Stop, TableArgument, find_parameter, procedure_missing, resolve_procedure,
};
use tsql::parse_procedure_name;

/// Makes the text of a call and the declarations of its arguments.
///
/// # Errors
/// 203 if it is not a call, 2812 for an unknown procedure.
pub(super) fn prepared(
    text: &str,
    values: &[Argument],
    session: &SessionState,
) -> Result<Prepared, Stop> {
    let bare = || Canonical { name: text.trim(), arguments: vec!["?"; values.len()] };
    let call = Canonical::parse(text).unwrap_or_else(bare);
    let name = parse_procedure_name(call.name)?;
    let procedure = resolve_procedure(session, &name, None);
    if procedure.is_none() && system_procedure(session, &name).is_none() {
        return Err(procedure_missing(session, &name, None));
    }
    let mut declared = Vec::with_capacity(values.len());
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for (place, argument) in call.arguments.iter().enumerate() {
        match *argument {
            "?" => {
                let number = declared.len() + 1;
                let Some(value) = values.get(number - 1) else {
                    return Err(Msg::MustDeclareScalar(&format!("@P{number}")).into());
                };
                let output = if value.output { " OUTPUT" } else { "" };
                let ty = declaration(value, place, procedure.as_deref())?;
                let named = match value.name.as_str() {
                    "" => String::new(),
                    name => format!("@{} = ", name.trim_start_matches('@')),
                };
                arguments.push(match value.default && !ty.ends_with(READONLY) {
                    true => format!("{named}DEFAULT"),
                    false => format!("{named}@P{number}{output}"),
                });
                declared.push(format!("@P{number} {ty}{output}"));
            }
            word if word.is_empty() || word.eq_ignore_ascii_case("default") => {
                arguments.push("DEFAULT".to_owned());
            }
            constant => arguments.push(constant.to_owned()),
        }
    }
    let statement = format!("EXEC {} {}", call.name, arguments.join(", "));
    let declared = match declared.is_empty() {
        true => Value::Null,
        false => Value::nvarchar(&declared.join(", ")),
    };
    Ok(Prepared { statement: Value::nvarchar(&statement), declared, kind: PreparedKind::Call })
}

/// Returns the declaration of an argument's type.
fn declaration(
    value: &Argument,
    place: usize,
    procedure: Option<&ProcedureDef>,
) -> Result<String, Stop> {
    let parameter =
        procedure.map(|p| find_parameter(p, place, &value.name).map(|at| &p.parameters[at]));
    let of = parameter.transpose()?.and_then(|parameter| parameter.table_type.as_ref());
    let Some(table) = &value.table else {
        if let (true, Some(of)) = (value.default, of) {
            return Ok(quoted(&of.schema, &of.name));
        }
        return Ok(match value.ty.data_type {
            DataType::Text => DataType::VarChar(Length::Max),
            DataType::NText => DataType::NVarChar(Length::Max),
            DataType::Image => DataType::VarBinary(Length::Max),
            other => other,
        }
        .to_string());
    };
    // Checked against the parameter's type when the table is made.
    match (of, table) {
        (Some(of), _) => Ok(quoted(&of.schema, &of.name)),
        (None, TableArgument::Sent(sent)) if !sent.type_name.1.is_empty() => {
            let (schema, name) = &sent.type_name;
            Ok(quoted(schema, name))
        }
        (None, _) => Err(Msg::NotSupported("a table for what is no table-valued parameter").into()),
    }
}

/// The end of a table-valued parameter's declaration.
const READONLY: &str = " READONLY";

/// Returns the name of a table type; it is looked up if it has no schema.
fn quoted(schema: &str, name: &str) -> String {
    let [schema, name] = [schema, name].map(|part| part.replace(']', "]]"));
    match schema.is_empty() {
        true => format!("[{name}]{READONLY}"),
        false => format!("[{schema}].[{name}]{READONLY}"),
    }
}

/// Runs the call with these arguments; returns the procedure's status.
///
/// # Errors
/// The errors of a call.
pub(super) fn run(
    prepared: &Prepared,
    values: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    // Parameter markers have no names.
    values.iter_mut().for_each(|value| value.name.clear());
    let (key, entry) = prepare(&prepared.statement, &prepared.declared, cx.session)?;
    make_tables(&entry.program, values, cx)?;
    let mut frame = Frame::for_program(cx.session, &entry.program)?;
    let outcome = bind_values(&entry.program, &mut frame, values, cx.session).and_then(|places| {
        let StepKind::Execute(call) = single(&entry.program)? else {
            return Err(Msg::SyntaxNear("call").into());
        };
        let status = {
            let mut inner = Cx::new(cx.host, cx.session, &mut frame, cx.sink);
            inner.lend_buffers(&mut cx.registers, &mut cx.scratch);
            let runner = Runner { program: &entry.program, procedure: "" };
            let status = runner.status_of(call, &mut inner);
            inner.return_buffers(&mut cx.registers, &mut cx.scratch);
            status?
        };
        return_values(&entry.program, (values, &places), &mut frame, cx.session)?;
        Ok(status)
    });
    frame.tables.release();
    cx.session.caches.programs.put(key, entry);
    outcome
}

/// Returns the single step of the program; constants in a call may have made several.
fn single(program: &Program) -> Result<&StepKind, Stop> {
    match program.body.as_slice() {
        [step] => Ok(&step.kind),
        _ => Err(Msg::SyntaxNear("call").into()),
    }
}

/// Splits a list at the commas outside strings.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            '\'' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The parts of a parsed call.
struct Canonical<'t> {
    name: &'t str,
    arguments: Vec<&'t str>,
}

impl<'t> Canonical<'t> {
    /// Parses `{[? =] call name[(argument, ..)]}`, with or without braces.
    fn parse(text: &'t str) -> Option<Self> {
        let text = text.trim();
        let text = match text.strip_prefix('{') {
            Some(inner) => inner.strip_suffix('}')?.trim(),
            None => text,
        };
        let text = match text.strip_prefix('?') {
            Some(rest) => rest.trim_start().strip_prefix('=')?.trim_start(),
            None => text,
        };
        let word = text.get(..4).filter(|word| word.eq_ignore_ascii_case("call"))?;
        let call = text[word.len()..].trim();
        let open = end_of_name(call);
        let (name, rest) = (call[..open].trim(), &call[open..]);
        if name.is_empty() {
            return None;
        }
        if rest.is_empty() {
            return Some(Self { name, arguments: Vec::new() });
        }
        let inner = rest.strip_prefix('(')?.strip_suffix(')')?;
        let arguments = match inner.trim() {
            "" => Vec::new(),
            inner => split(inner),
        };
        Some(Self { name, arguments })
    }
}

/// Returns the end of the name: the first parenthesis that is not quoted.
fn end_of_name(text: &str) -> usize {
    let mut close = None;
    for (at, character) in text.char_indices() {
        match (close, character) {
            (Some(end), character) if character == end => close = None,
            (Some(_), _) => {}
            (None, '[') => close = Some(']'),
            (None, '"') => close = Some('"'),
            (None, '(') => return at,
            (None, _) => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::Canonical;

    #[test]
    fn calls_are_taken_apart() {
        let parts = |text| Canonical::parse(text).map(|call| (call.name, call.arguments.join(";")));
        assert_eq!(parts("{call p(?, ?)}"), Some(("p", "?;?".to_owned())));
        assert_eq!(
            parts("{ ? = CALL [a(b].\"c\" ( ?,default , ) }"),
            Some(("[a(b].\"c\"", "?;default;".to_owned()))
        );
        assert_eq!(parts("call dbo.p"), Some(("dbo.p", String::new())));
        assert_eq!(parts("{call p(1, N'a,''b', ?)}"), Some(("p", "1;N'a,''b';?".to_owned())));
        assert_eq!(parts("{call p()}"), Some(("p", String::new())));
        for wrong in ["", "{call}", "{call p(?)", "call p(?", "exec p", "{? call p}"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
