//! PWDENCRYPT and PWDCOMPARE: password hashes as in `sys.sql_logins`.

use types::value::ColumnType;
use types::{Bytes, DataType, Length, Result, Value};

use crate::entry::{convert, flag, lookup, of, pure, text};
use crate::{Call, Function};
use catalog::password;
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    lookup("PWDENCRYPT", (1, 1), bind_encrypt, encrypt),
    pure("PWDCOMPARE", (2, 3), bind_compare, compare),
];

const PASSWORD: DataType = DataType::NVarChar(Length::Limited(128));
const HASH: DataType = DataType::VarBinary(Length::Limited(128));

fn bind_encrypt(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 0, PASSWORD)?;
    Ok(of(HASH))
}

fn bind_compare(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    convert(arguments, 0, PASSWORD)?;
    convert(arguments, 1, HASH)?;
    // The third argument marks a hash from before SQL Server 2000; Clearway has none.
    if arguments.len() > 2 {
        convert(arguments, 2, DataType::Int)?;
    }
    Ok(of(DataType::Int))
}

fn encrypt(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let clear = text(call, values, 0)?.unwrap_or_default();
    Ok(Value::VarBinary(Bytes::from(password::hash(&clear))))
}

fn compare(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let clear = text(call, values, 0)?.unwrap_or_default();
    let hash = values[1].string_bytes().unwrap_or_default();
    Ok(flag(password::matches(hash, &clear)))
}
