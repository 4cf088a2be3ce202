//! JSON_ARRAYAGG and JSON_OBJECTAGG: the values of a group as one JSON text.
//!
//! Arguments: the treatment of NULL (0 skips it, 1 writes it), the property name for an object, the
//! value, and whether the value is JSON already. The grammar adds the first, the binder the last.

use types::value::ColumnType;
use types::{Collation, DataType, Length, Mode, Msg, Result, Value};

use super::{form_of, push_string, push_value};
use crate::entry::whole;
use crate::{Accumulator, AggregateFunction};
use plan::convert::convert_to;
use plan::document::Form;
use plan::expr::Expr;
use plan::long::{self, Growing};

pub(crate) static AGGREGATES: &[AggregateFunction] = &[
    AggregateFunction { name: "JSON_ARRAYAGG", bind: bind_array, start: start_array },
    AggregateFunction { name: "JSON_OBJECTAGG", bind: bind_object, start: start_object },
];

fn int(n: i32) -> Expr {
    Expr::constant(Value::Int(n), DataType::Int)
}

/// Appends whether the value is JSON already, as the last argument.
fn add_form(arguments: &mut Vec<Expr>) -> ColumnType {
    let json = arguments.last().is_some_and(|value| form_of(value) == Form::Json);
    arguments.push(int(i32::from(json)));
    ColumnType {
        data_type: DataType::NVarChar(Length::Max),
        collation: Collation::default(),
        nullable: true,
    }
}

fn bind_array(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    match arguments.len() {
        // With OVER the grammar adds nothing, which means ABSENT ON NULL.
        1 => arguments.insert(0, int(0)),
        2 => {}
        _ => return Err(Msg::FunctionArguments("json_arrayagg", 1).into()),
    }
    Ok(add_form(arguments))
}

fn bind_object(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    match arguments.len() {
        2 => arguments.insert(0, int(1)),
        3 => {}
        _ => return Err(Msg::FunctionArguments("json_objectagg", 2).into()),
    }
    let text = ColumnType::nullable(DataType::NVarChar(Length::Max));
    let name = arguments.remove(1);
    arguments.insert(1, convert_to(name, &text, Mode::Implicit)?);
    Ok(add_form(arguments))
}

fn start_array(_: &ColumnType, types: &[ColumnType]) -> Box<dyn Accumulator> {
    Box::new(Builder::new(false, types.get(1).copied()))
}

fn start_object(_: &ColumnType, types: &[ColumnType]) -> Box<dyn Accumulator> {
    Box::new(Builder::new(true, types.get(2).copied()))
}

/// The text built so far; empty before the first row.
struct Builder {
    out: String,
    /// Builds an object instead of an array.
    named: bool,
    ty: Option<ColumnType>,
    memory: Growing,
}

impl Builder {
    fn new(named: bool, ty: Option<ColumnType>) -> Self {
        Self { out: String::new(), named, ty, memory: Growing::default() }
    }
}

impl Accumulator for Builder {
    fn add(&mut self, arguments: &[Value]) -> Result<()> {
        let place = 1 + usize::from(self.named);
        let before = self.out.len();
        let (Some(value), Some(ty)) = (arguments.get(place), self.ty) else { return Ok(()) };
        if self.out.is_empty() {
            self.out.push(if self.named { '{' } else { '[' });
        }
        if value.is_null() && whole(arguments, 0) != Some(1) {
            return Ok(());
        }
        if self.out.len() > 1 {
            self.out.push(',');
        }
        if self.named {
            let name = arguments.get(1).map(|name| long::text(name, Collation::default()));
            let name = name.transpose()?.flatten();
            push_string(&name.ok_or(Msg::InvalidParameter(1, "json_objectagg"))?, &mut self.out);
            self.out.push(':');
        }
        let form = if whole(arguments, place + 1) == Some(1) { Form::Json } else { Form::Text };
        push_value(value, &ty, form, &mut self.out)?;
        // It grows by doubling, and is moved then.
        self.memory.take(2 * (self.out.len() - before))
    }

    fn saw_null(&self) -> bool {
        false
    }

    fn finish(&mut self) -> Result<Value> {
        if self.out.is_empty() {
            return Ok(Value::Null);
        }
        self.out.push(if self.named { '}' } else { ']' });
        // Characters double in width, and are copied once.
        long::ask(4 * self.out.len())?;
        let text = long::nvarchar(&self.out);
        // A window goes on with more rows.
        self.out.pop();
        Ok(text)
    }
}
