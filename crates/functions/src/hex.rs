//! Functions that are found only by a name with a schema: those that show bytes in hexadecimal, which scripts that
//! copy logins call as `sys.fn_varbintohexstr` or `master.dbo.fn_varbintohexstr`, and one of msdb.

use types::{DataType, Length, Result, Value};

use crate::entry::{convert, of, whole};
use crate::{Call, Collating, Evaluate, Function};
use plan::expr::Expr;
use plan::function::Context;

/// Prefix of the names of such functions.
pub const PREFIX: &str = "FN_";

/// The function of msdb: whether policies are evaluated. It is found as `msdb.dbo.fn_syspolicy_is_automation_enabled`.
pub const OF_MSDB: &str = "FN_SYSPOLICY_IS_AUTOMATION_ENABLED";

pub(crate) static FUNCTIONS: &[Function] = &[
    Function {
        name: "FN_VARBINTOHEXSTR",
        arity: (1, 1),
        bind: bind_whole,
        eval: Evaluate::Strict(|_, _, values| Ok(hexadecimal(bytes(&values[0]), true))),
        deterministic: true,
        collation: Collating::Apart,
    },
    Function {
        name: "FN_VARBINTOHEXSUBSTRING",
        arity: (4, 4),
        bind: bind_part,
        eval: Evaluate::Strict(part),
        deterministic: true,
        collation: Collating::Apart,
    },
    Function {
        name: OF_MSDB,
        arity: (0, 0),
        bind: |_| Ok(of(DataType::Bit)),
        // There are no policies.
        eval: Evaluate::Strict(|_, _, _| Ok(Value::Bit(false))),
        deterministic: true,
        collation: Collating::Apart,
    },
];

fn bind_whole(arguments: &mut Vec<Expr>) -> Result<types::ColumnType> {
    convert(arguments, 0, DataType::VarBinary(Length::Max))?;
    Ok(of(DataType::NVarChar(Length::Max)))
}

/// `fn_varbintohexsubstring(@fsetprefix bit, @pbinin varbinary(max), @startoffset int, @cbytesin
/// int)`
fn bind_part(arguments: &mut Vec<Expr>) -> Result<types::ColumnType> {
    convert(arguments, 0, DataType::Bit)?;
    convert(arguments, 1, DataType::VarBinary(Length::Max))?;
    convert(arguments, 2, DataType::Int)?;
    convert(arguments, 3, DataType::Int)?;
    Ok(of(DataType::NVarChar(Length::Max)))
}

fn bytes(value: &Value) -> &[u8] {
    value.string_bytes().unwrap_or_default()
}

/// Returns part of a binary value from a 1-based offset; a length of 0 means all. NULL if the
/// offset is outside the value.
fn part(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let all = bytes(&values[1]);
    let place = |at| whole(values, at).and_then(|n| usize::try_from(n).ok());
    let (Some(start), Some(count)) = (place(2), place(3)) else { return Ok(Value::Null) };
    let Some(rest) = start.checked_sub(1).and_then(|start| all.get(start..)) else {
        return Ok(Value::Null);
    };
    let count = if count == 0 { rest.len() } else { count.min(rest.len()) };
    Ok(hexadecimal(&rest[..count], values[0] == Value::Bit(true)))
}

fn hexadecimal(bytes: &[u8], has_prefix: bool) -> Value {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    text.push_str(if has_prefix { "0x" } else { "" });
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    Value::nvarchar(&text)
}
