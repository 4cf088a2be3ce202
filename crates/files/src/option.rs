//! The options of BULK INSERT: parsing, defaults, and decoding of fields.

use std::borrow::Cow;

use tsql::ast::{self, BulkOption, ExprKind, Literal};
use types::collation::CodePage;
use types::value::ColumnType;
use types::{DataType, Error, Msg, Result};

use crate::fields::Shape;

/// The character encoding of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// CODEPAGE: this code page.
    Page(CodePage),
    /// CODEPAGE = 'RAW': the code page of the column's collation.
    Raw,
    /// UTF-16: DATAFILETYPE = 'widechar'.
    Wide,
}

/// The options of a statement, with defaults for those not given.
#[derive(Clone, Debug)]
pub struct Options {
    /// FIELDTERMINATOR, ROWTERMINATOR and FIELDQUOTE.
    pub shape: Shape,
    /// FIRSTROW: the number of the first row that is read, from 1.
    pub first_row: u64,
    /// LASTROW: the number of the last row that is read.
    pub last_row: Option<u64>,
    /// MAXERRORS: rows that may be skipped because a value does not convert.
    pub max_errors: u64,
    /// BATCHSIZE: rows per transaction; all of them if it is not given.
    pub batch_size: Option<usize>,
    /// KEEPNULLS: an empty field is NULL and not its column's default.
    pub keep_nulls: bool,
    /// KEEPIDENTITY: the file has the values of the identity column.
    pub keep_identity: bool,
    /// CHECK_CONSTRAINTS: CHECK and FOREIGN KEY are enforced.
    pub check_constraints: bool,
    /// FIRE_TRIGGERS: INSERT triggers run.
    pub fire_triggers: bool,
    /// TABLOCK: the table is locked for the load.
    pub table_lock: bool,
    encoding: Encoding,
}

/// The default of MAXERRORS.
const MAX_ERRORS_DEFAULT: u64 = 10;

/// Parses the options of a statement.
///
/// # Errors
/// 40517 for options that need another file; 102 for an invalid value.
pub fn parse(given: &[BulkOption], statement: &'static str) -> Result<Options> {
    let is_csv = given.iter().any(|option| match option {
        BulkOption::Value(name, value) => {
            &**name == "FORMAT" && text(value).is_some_and(|v| v.eq_ignore_ascii_case("CSV"))
        }
        BulkOption::Word(_) | BulkOption::Order(_) => false,
    });
    let mut options = if is_csv { Options::csv() } else { Options::plain() };
    for option in given {
        match option {
            BulkOption::Word(word) => options.word(word)?,
            BulkOption::Value(name, value) => options.value(name, value, statement)?,
            // A hint about the order of the file, which is not used.
            BulkOption::Order(_) => {}
        }
    }
    Ok(options)
}

fn text(value: &ast::Expr) -> Option<&str> {
    match &value.kind {
        ExprKind::Literal(Literal::String(text) | Literal::NString(text)) => Some(text),
        ExprKind::Column(column) => Some(&column.column),
        _ => None,
    }
}

fn number(name: &str, value: &ast::Expr) -> Result<u64> {
    let wrong = || Error::from(Msg::SyntaxNear(name));
    match &value.kind {
        ExprKind::Literal(Literal::Int(number)) => u64::try_from(*number).map_err(|_| wrong()),
        ExprKind::Literal(Literal::Decimal(text)) => text.parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// Parses a terminator: `\t`, `\n`, `\r`, `\0`, `\\`, `0x0a`, or the characters themselves.
fn terminator(text: &str) -> Vec<u8> {
    if let Some(bytes) = text.strip_prefix("0x").and_then(hex) {
        return bytes;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let escaped = match character {
            '\\' => characters.as_str().chars().next(),
            _ => None,
        };
        let byte = match escaped {
            Some('t') => b'\t',
            Some('n') => b'\n',
            Some('r') => b'\r',
            Some('0') => 0,
            Some('\\') => b'\\',
            _ => {
                let mut buffer = [0; 4];
                bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                continue;
            }
        };
        characters.next();
        bytes.push(byte);
    }
    bytes
}

/// Parses hexadecimal digits; `None` for other characters.
pub fn hex(digits: &str) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    let byte = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16).ok();
    (0..digits.len()).step_by(2).map(byte).collect()
}

impl Options {
    /// The defaults of a text file: tabs between fields, lines as rows.
    pub fn plain() -> Self {
        let shape =
            Shape { field: b"\t".to_vec(), row: b"\n".to_vec(), drops_return: true, quote: None };
        Self {
            shape,
            first_row: 1,
            last_row: None,
            max_errors: MAX_ERRORS_DEFAULT,
            batch_size: None,
            keep_nulls: false,
            keep_identity: false,
            check_constraints: false,
            fire_triggers: false,
            table_lock: false,
            encoding: Encoding::Page(CodePage::Cp437),
        }
    }

    /// The defaults of FORMAT = 'CSV'.
    pub fn csv() -> Self {
        let mut options = Self::plain();
        options.shape.field = b",".to_vec();
        options.shape.quote = Some(b'"');
        options
    }

    /// The defaults of a UTF-16 text file.
    #[cfg(test)]
    pub fn wide() -> Self {
        Self { encoding: Encoding::Wide, ..Self::plain() }
    }

    fn word(&mut self, word: &str) -> Result<()> {
        match word {
            "KEEPNULLS" => self.keep_nulls = true,
            "KEEPIDENTITY" => self.keep_identity = true,
            "CHECK_CONSTRAINTS" => self.check_constraints = true,
            "FIRE_TRIGGERS" => self.fire_triggers = true,
            "TABLOCK" => self.table_lock = true,
            _ => return Err(Msg::SyntaxNear(word).into()),
        }
        Ok(())
    }

    fn value(&mut self, name: &str, value: &ast::Expr, statement: &str) -> Result<()> {
        let said = || text(value).ok_or_else(|| Error::from(Msg::SyntaxNear(name)));
        match name {
            "FIELDTERMINATOR" => self.shape.field = terminator(said()?),
            "ROWTERMINATOR" => {
                self.shape.row = terminator(said()?);
                // `\n` means a line end as the file has it, with or without a carriage return;
                // other terminators are exact.
                self.shape.drops_return = said()? == "\\n";
            }
            "FIRSTROW" => self.first_row = number(name, value)?.max(1),
            "LASTROW" => self.last_row = Some(number(name, value)?).filter(|last| *last > 0),
            "MAXERRORS" => self.max_errors = number(name, value)?,
            "BATCHSIZE" => {
                let size = usize::try_from(number(name, value)?).unwrap_or(usize::MAX);
                self.batch_size = Some(size).filter(|size| *size > 0);
            }
            "CODEPAGE" => self.encoding = encoding(said()?)?,
            "DATAFILETYPE" => match said()?.to_ascii_lowercase().as_str() {
                "char" => {}
                "widechar" => self.encoding = Encoding::Wide,
                other => {
                    return Err(Msg::NotSupported(&format!("DATAFILETYPE = '{other}'")).into());
                }
            },
            "FORMAT" if said()?.eq_ignore_ascii_case("CSV") => {}
            "FIELDQUOTE" => match said()?.as_bytes() {
                [quote] => self.shape.quote = Some(*quote),
                _ => return Err(Msg::SyntaxNear(name).into()),
            },
            // Hints about sizes, which are not used.
            "ROWS_PER_BATCH" | "KILOBYTES_PER_BATCH" => drop(number(name, value)?),
            other => {
                return Err(Msg::NotSupported(&format!("{other} of {statement}")).into());
            }
        }
        Ok(())
    }

    /// Returns whether the text is UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.encoding == Encoding::Page(CodePage::Utf8)
    }

    /// Returns whether the text is UTF-16.
    pub fn is_wide(&self) -> bool {
        self.encoding == Encoding::Wide
    }

    /// Decodes a field for a column.
    ///
    /// # Errors
    /// For bytes that are invalid in the encoding.
    pub fn decode<'t>(&self, bytes: &'t [u8], to: &ColumnType) -> Result<Cow<'t, str>> {
        // ASCII is the same in all supported code pages.
        if let Some(ascii) = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii()) {
            return Ok(Cow::Borrowed(ascii));
        }
        let page = match self.encoding {
            Encoding::Page(page) => page,
            Encoding::Wide => CodePage::Utf8,
            Encoding::Raw if matches!(to.data_type, DataType::Char(_) | DataType::VarChar(_)) => {
                to.collation.code_page()
            }
            Encoding::Raw => CodePage::Cp1252,
        };
        if page == CodePage::Utf8 && std::str::from_utf8(bytes).is_err() {
            return Err(Msg::InternalError.into());
        }
        Ok(Cow::Owned(page.decode(bytes)))
    }
}

fn encoding(name: &str) -> Result<Encoding> {
    Ok(match name.to_ascii_uppercase().as_str() {
        "RAW" => Encoding::Raw,
        "ACP" => Encoding::Page(CodePage::Cp1252),
        "OEM" => Encoding::Page(CodePage::Cp437),
        other => match other.parse().ok().and_then(CodePage::by_number) {
            Some(page) => Encoding::Page(page),
            None => return Err(Msg::NotSupported(&format!("CODEPAGE = '{other}'")).into()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::terminator;

    #[test]
    fn terminators_are_escapes_bytes_or_themselves() {
        assert_eq!(terminator("\\t"), b"\t");
        assert_eq!(terminator("0x0d0a"), b"\r\n");
        assert_eq!(terminator("|"), b"|");
        assert_eq!(terminator("\\\\x"), b"\\x");
        assert_eq!(terminator("0x"), b"0x");
    }
}
