//! SOUNDEX and DIFFERENCE: codes for the sound of English names.

use types::value::ColumnType;
use types::{DataType, Length, Result, Value};

use crate::entry::{convert, of, pure};
use crate::{Call, Collating, Function};
use plan::expr::Expr;
use plan::function::Context;

pub(crate) static FUNCTIONS: &[Function] = &[
    pure("SOUNDEX", (1, 1), bind_soundex, eval_soundex),
    pure("DIFFERENCE", (2, 2), bind_difference, eval_difference).collating(Collating::Compare),
];

fn bind_soundex(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    to_text(arguments)?;
    Ok(of(DataType::VarChar(Length::Limited(4))))
}

fn bind_difference(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    to_text(arguments)?;
    Ok(of(DataType::Int))
}

fn to_text(arguments: &mut [Expr]) -> Result<()> {
    for place in 0..arguments.len() {
        if !arguments[place].ty.data_type.is_string() {
            convert(arguments, place, DataType::VarChar(Length::Limited(8_000)))?;
        }
    }
    Ok(())
}

/// Returns the digit of a consonant: letters that sound alike have the same.
fn digit(letter: char) -> Option<char> {
    match letter {
        'B' | 'F' | 'P' | 'V' => Some('1'),
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => Some('2'),
        'D' | 'T' => Some('3'),
        'L' => Some('4'),
        'M' | 'N' => Some('5'),
        'R' => Some('6'),
        _ => None,
    }
}

/// Returns the first letter and up to three digits. Adjacent letters with the same digit count
/// once, also across H and W but not across a vowel. The first character that is no letter ends the
/// word.
fn soundex(text: &str) -> String {
    let mut letters = text.chars().map(|c| c.to_ascii_uppercase());
    let Some(first) = letters.next().filter(char::is_ascii_uppercase) else {
        return "0000".to_owned();
    };
    let mut code = first.to_string();
    let mut last = digit(first);
    for letter in letters.take_while(char::is_ascii_uppercase) {
        if matches!(letter, 'H' | 'W') {
            continue;
        }
        let own = digit(letter);
        if let Some(digit) = own.filter(|_| own != last) {
            code.push(digit);
        }
        last = own;
        if code.len() == 4 {
            break;
        }
    }
    format!("{code:0<4}")
}

fn code_of(call: &Call<'_>, values: &[Value], place: usize) -> Result<String> {
    let collation = call.arguments[place].ty.collation;
    let text = plan::long::text(&values[place], collation)?;
    Ok(soundex(&text.unwrap_or_default()))
}

fn eval_soundex(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(Value::varchar(&code_of(call, values, 0)?, call.ty.collation))
}

/// Returns the number of positions at which the two codes agree: 4 sounds alike, 0 does not.
fn eval_difference(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (left, right) = (code_of(call, values, 0)?, code_of(call, values, 1)?);
    let same = left.bytes().zip(right.bytes()).filter(|(l, r)| l == r).count();
    Ok(Value::Int(i32::try_from(same).unwrap_or(0)))
}
