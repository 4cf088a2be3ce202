//! Tests conversions: documented answers and messages, and laws on generated values.

use proptest::prelude::*;

use super::*;
use crate::{Bytes, Collation, Decimal, Length};

const DEFAULT: ConvertOptions = ConvertOptions {
    date_format: DateFormat::Mdy,
    language: crate::Language::us_english(),
    ansi_warnings: AnsiWarnings::On,
    round_abort: false,
    pause: Pause(None),
};

fn varchar(n: u16) -> DataType {
    DataType::VarChar(Length::Limited(n))
}

fn nvarchar(n: u16) -> DataType {
    DataType::NVarChar(Length::Limited(n))
}

fn varbinary(n: u16) -> DataType {
    DataType::VarBinary(Length::Limited(n))
}

fn decimal(precision: u8, scale: u8) -> DataType {
    DataType::Decimal { precision, scale }
}

fn run(value: &Value, from: DataType, to: DataType, style: i32, mode: Mode) -> Result<Value> {
    let (from, to) = (ColumnType::nullable(from), ColumnType::nullable(to));
    convert(value, &from, &to, style, mode, &DEFAULT)
}

/// Converts a literal with CAST.
fn cast(value: &Value, to: DataType) -> Result<Value> {
    run(value, value.data_type(), to, 0, Mode::Explicit)
}

fn string(text: &str) -> Value {
    Value::varchar(text, Collation::default())
}

/// Converts with CAST, then shows the result as a string.
fn text_of(value: &Value, to: DataType) -> String {
    cast(value, to).unwrap().as_text(Collation::default()).unwrap()
}

fn number(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).unwrap().unwrap())
}

fn error(value: &Value, to: DataType) -> (i32, String) {
    let error = cast(value, to).unwrap_err();
    (error.number, error.message.clone())
}

#[test]
fn strings_convert_to_numbers() {
    for (text, to, expected) in [
        ("12", DataType::Int, Value::Int(12)),
        ("  -12 ", DataType::Int, Value::Int(-12)),
        ("", DataType::Int, Value::Int(0)),
        ("-9223372036854775808", DataType::BigInt, Value::BigInt(i64::MIN)),
        ("true", DataType::Bit, Value::Bit(true)),
        ("2", DataType::Bit, Value::Bit(true)),
        ("1.005", decimal(5, 2), Value::Decimal(Decimal::new(101, 5, 2))),
        ("$1,234.56789", DataType::Money, Value::Money(12_345_679)),
        ("-$5", DataType::Money, Value::Money(-50_000)),
        ("1e3", DataType::Float, Value::Float(1_000.0)),
        ("0.1", DataType::Real, Value::Real(0.1)),
    ] {
        assert_eq!(cast(&string(text), to), Ok(expected.clone()), "{text}");
        assert_eq!(cast(&Value::nvarchar(text), to), Ok(expected), "{text}");
    }
}

/// Checks number and text of the error of a CAST.
fn fails(value: &Value, to: DataType, number: i32, message: &str) {
    assert_eq!(error(value, to), (number, message.to_owned()), "{value:?} to {to}");
}

#[test]
fn bad_strings_have_the_words_of_sql_server() {
    let failed = |text: &str, to, number, message: &str| fails(&string(text), to, number, message);
    let int = "Conversion failed when converting the varchar value 'abc' to data type int.";
    failed("abc", DataType::Int, 245, int);
    let unicode = "Conversion failed when converting the nvarchar value '1.5' to data type int.";
    fails(&Value::nvarchar("1.5"), DataType::Int, 245, unicode);
    failed("abc", DataType::BigInt, 8114, "Error converting data type varchar to bigint.");
    failed("abc", decimal(5, 2), 8114, "Error converting data type varchar to numeric.");
    failed("x", DataType::Float, 8114, "Error converting data type varchar to float.");
    let tiny = "The conversion of the varchar value '300' overflowed an INT1 column. \
                Use a larger integer column.";
    failed("300", DataType::TinyInt, 244, tiny);
    let large = "The conversion of the varchar value '3000000000' overflowed an int column.";
    failed("3000000000", DataType::Int, 248, large);
    let money = "Cannot convert a char value to money. The char value has incorrect syntax.";
    failed("x", DataType::Money, 235, money);
    let date = "Conversion failed when converting date and/or time from character string.";
    failed("x", DataType::DateTime, 241, date);
    failed("2020-13-01", DataType::Date, 241, date);
    let range = "The conversion of a varchar data type to a datetime data type resulted in an \
                 out-of-range value.";
    failed("2020-13-01", DataType::DateTime, 242, range);
    let small = "Conversion failed when converting character string to smalldatetime data type.";
    failed("x", DataType::SmallDateTime, 295, small);
    let guid = "Conversion failed when converting from a character string to uniqueidentifier.";
    failed("x", DataType::UniqueIdentifier, 8169, guid);
}

#[test]
fn overflows_have_the_words_of_sql_server() {
    let tiny = "Arithmetic overflow error for data type tinyint, value = 1000.";
    fails(&Value::Int(1_000), DataType::TinyInt, 220, tiny);
    let int = "Arithmetic overflow error converting expression to data type int.";
    fails(&Value::BigInt(3_000_000_000), DataType::Int, 8115, int);
    let numeric = "Arithmetic overflow error converting int to data type numeric.";
    fails(&Value::Int(12_345), decimal(4, 0), 8115, numeric);
    let float = "Arithmetic overflow error for type int, value = 3000000000.000000.";
    fails(&Value::Float(3e9), DataType::Int, 232, float);
    let bigint = "Arithmetic overflow error converting expression to data type varchar.";
    fails(&Value::BigInt(12_345), varchar(2), 8115, bigint);
    let decimal = "Arithmetic overflow error converting numeric to data type varchar.";
    fails(&number("123.45"), varchar(3), 8115, decimal);
}

#[test]
fn pairs_that_do_not_convert_are_told_apart() {
    let never = "Explicit conversion from data type date to int is not allowed.";
    fails(&Value::Date(0), DataType::Int, 529, never);
    let implicit = |from, to| check(&from, &to, Mode::Implicit).unwrap_err();
    assert_eq!(implicit(DataType::DateTime, DataType::Int).number, 257);
    assert_eq!(implicit(varchar(5), varbinary(5)).number, 257);
    let clash = "Operand type clash: int is incompatible with date";
    assert_eq!(implicit(DataType::Int, DataType::Date).message, clash);
    assert_eq!(implicit(DataType::UniqueIdentifier, DataType::Int).number, 206);
}

#[test]
fn numbers_convert_to_numbers() {
    for (value, to, expected) in [
        (number("2.9"), DataType::Int, Value::Int(2)),
        (Value::Float(-2.9), DataType::Int, Value::Int(-2)),
        (Value::Money(26_000), DataType::Int, Value::Int(3)),
        (number("0.5"), DataType::Bit, Value::Bit(true)),
        (Value::Int(5), DataType::Bit, Value::Bit(true)),
        (number("10.6496"), decimal(5, 2), Value::Decimal(Decimal::new(1_065, 5, 2))),
        (number("10.3496847"), DataType::Money, Value::Money(103_497)),
        (Value::Float(1.0), decimal(3, 1), Value::Decimal(Decimal::new(10, 3, 1))),
        (Value::Int(3), DataType::Money, Value::Money(30_000)),
    ] {
        assert_eq!(cast(&value, to), Ok(expected), "{value:?} to {to}");
    }
}

#[test]
fn numbers_convert_to_text() {
    for (value, to, expected) in [
        (Value::Int(-5), varchar(10), "-5"),
        (Value::Int(12_345), varchar(2), "*"),
        (Value::Bit(true), nvarchar(5), "1"),
        (number("-0.50"), varchar(10), "-0.50"),
        (Value::Money(12_345_678), varchar(20), "1234.57"),
        (Value::Float(1_234_567.0), varchar(20), "1.23457e+006"),
        (Value::Float(123_456.7), varchar(20), "123457"),
        (Value::Float(0.1), varchar(20), "0.1"),
        (Value::Float(0.000_01), varchar(20), "1e-005"),
        (Value::Float(100_000.0), varchar(20), "100000"),
        (Value::Int(7), DataType::Char(3), "7  "),
        (Value::Int(7), DataType::NChar(3), "7  "),
    ] {
        assert_eq!(text_of(&value, to), expected, "{value:?} to {to}");
    }
    let styled = |value: Value, style| {
        let text = run(&value, value.data_type(), varchar(40), style, Mode::Explicit).unwrap();
        text.as_text(Collation::default()).unwrap()
    };
    assert_eq!(styled(Value::Money(12_345_678_900), 1), "1,234,567.89");
    assert_eq!(styled(Value::Money(12_345_678), 2), "1234.5678");
    assert_eq!(styled(Value::Float(1_234_567.0), 1), "1.2345670e+006");
    assert_eq!(styled(Value::Float(1_234_567.0), 2), "1.234567000000000e+006");
    assert_eq!(styled(Value::Float(0.1), 3), "1.0000000000000001e-001");
}

#[test]
fn strings_are_cut_and_padded() {
    assert_eq!(text_of(&string("abcdef"), varchar(3)), "abc");
    assert_eq!(text_of(&string("ab"), DataType::Char(4)), "ab  ");
    assert_eq!(text_of(&Value::nvarchar("ab"), DataType::NChar(4)), "ab  ");
    assert_eq!(text_of(&Value::nvarchar("naïve €"), varchar(10)), "naïve €");
    assert_eq!(text_of(&Value::nvarchar("漢"), varchar(10)), "?");
    let assign = |text, to| run(&string(text), varchar(20), to, 0, Mode::Assignment);
    assert_eq!(assign("abcdef", varchar(3)).unwrap_err().number, 8152);
    assert_eq!(assign("abc   ", varchar(3)), Ok(string("abc")));
    let off = ConvertOptions { ansi_warnings: AnsiWarnings::Off, ..DEFAULT };
    let (from, to) = (ColumnType::nullable(varchar(20)), ColumnType::nullable(varchar(3)));
    let cut = convert(&string("abcdef"), &from, &to, 0, Mode::Assignment, &off);
    assert_eq!(cut, Ok(string("abc")));
    let utf8 = Collation::by_name("Latin1_General_100_CI_AS_SC_UTF8").unwrap();
    let to = ColumnType { collation: utf8, ..ColumnType::nullable(varchar(4)) };
    let cut = convert(&string("aéé"), &from, &to, 0, Mode::Explicit, &DEFAULT).unwrap();
    assert_eq!(cut, Value::VarChar(Bytes::copy_from("aé".as_bytes())), "no half a character");
}

#[test]
fn binary_converts_both_ways() {
    let binary = |bytes: &[u8]| Value::VarBinary(Bytes::copy_from(bytes));
    for (value, to, expected) in [
        (Value::Int(1), varbinary(8), binary(&[0, 0, 0, 1])),
        (Value::Int(258), DataType::Binary(2), binary(&[1, 2])),
        (Value::Int(0x0102_0304), DataType::Binary(2), binary(&[3, 4])),
        (Value::Int(1), DataType::Binary(6), binary(&[0, 0, 0, 0, 0, 1])),
        (string("ab"), DataType::Binary(4), binary(b"ab\0\0")),
        (binary(&[0xFF, 0xFF, 0, 0]), DataType::Int, Value::Int(-65_536)),
        (binary(&[1, 0, 0]), DataType::Int, Value::Int(0x1_0000)),
        (binary(&[9, 0, 0, 0, 1]), DataType::Int, Value::Int(1)),
        (binary(&[0xFF]), DataType::SmallInt, Value::SmallInt(255)),
        (binary(&[0xFF]), DataType::TinyInt, Value::TinyInt(255)),
        (binary(&[]), DataType::Int, Value::Int(0)),
        (binary(b"ab"), varchar(5), string("ab")),
        (binary(b"a\0b\0"), nvarchar(5), Value::nvarchar("ab")),
        (number("123.45"), varbinary(20), binary(&[5, 2, 0, 1, 0x39, 0x30, 0, 0])),
        (binary(&[5, 2, 0, 1, 0x39, 0x30, 0, 0]), decimal(5, 2), number("123.45")),
    ] {
        assert_eq!(cast(&value, to), Ok(expected), "{value:?} to {to}");
    }
    let hex = |text, style| run(&string(text), varchar(20), varbinary(10), style, Mode::Explicit);
    assert_eq!(hex("0x0aFf", 1), Ok(binary(&[0x0A, 0xFF])));
    assert_eq!(hex("0aFf", 2), Ok(binary(&[0x0A, 0xFF])));
    assert_eq!(hex("0x0", 1).unwrap_err().number, 8114);
    let text =
        |style| run(&binary(&[0x0A, 0xFF]), varbinary(2), varchar(20), style, Mode::Explicit);
    assert_eq!(text(1), Ok(string("0x0AFF")));
    assert_eq!(text(2), Ok(string("0AFF")));
}

#[test]
fn guids_convert_both_ways() {
    // The documentation's example, and the byte order of the wire.
    let text = "0E984725-C51C-4BF4-9960-E1C80E27ABA0";
    let guid = cast(&string(text), DataType::UniqueIdentifier).unwrap();
    let Value::UniqueIdentifier(bytes) = guid else { panic!() };
    assert_eq!(bytes[..8], [0x25, 0x47, 0x98, 0x0E, 0x1C, 0xC5, 0xF4, 0x4B]);
    assert_eq!(text_of(&guid, varchar(36)), text);
    let long = string(&format!("{text}wrong"));
    assert_eq!(cast(&long, DataType::UniqueIdentifier), Ok(guid.clone()));
    let braced = string(&format!("{{{}}}", text.to_lowercase()));
    assert_eq!(cast(&braced, DataType::UniqueIdentifier), Ok(guid.clone()));
    assert_eq!(error(&guid, varchar(10)).0, 8170);
}

#[test]
fn dates_convert() {
    let datetime = cast(&string("2007-05-08 12:35:29.123"), DataType::DateTime).unwrap();
    assert_eq!(text_of(&datetime, varchar(30)), "May  8 2007 12:35PM");
    assert_eq!(text_of(&datetime, varchar(6)), "May  8");
    let date = cast(&datetime, DataType::Date).unwrap();
    assert_eq!(text_of(&date, varchar(30)), "2007-05-08");
    let time = cast(&datetime, DataType::Time(3)).unwrap();
    let to_text = run(&time, DataType::Time(3), varchar(30), 0, Mode::Explicit);
    assert_eq!(to_text, Ok(string("12:35:29.123")));
    assert_eq!(
        cast(&Value::Int(1), DataType::DateTime),
        cast(&string("1900-01-02"), DataType::DateTime)
    );
    assert_eq!(cast(&datetime, DataType::Int), Ok(Value::Int(39_209)), "past noon goes up");
    assert_eq!(cast(&Value::BigInt(1 << 40), DataType::DateTime).unwrap_err().number, 8115);
    let dmy = run(&string("08/05/2007"), varchar(10), DataType::Date, 103, Mode::Explicit);
    assert_eq!(dmy, Ok(date));
    let offset = string("2007-05-08 12:35 +02:00");
    let local = cast(&offset, DataType::DateTime2(0)).unwrap();
    assert_eq!(local, cast(&string("2007-05-08 12:35"), DataType::DateTime2(0)).unwrap());
    let stored = cast(&datetime, varbinary(8)).unwrap();
    assert_eq!(cast(&stored, DataType::DateTime), Ok(datetime));
}

#[test]
fn try_gives_null_but_not_for_what_never_converts() {
    let attempt = |value: Value, to| run(&value, value.data_type(), to, 0, Mode::Try);
    assert_eq!(attempt(string("x"), DataType::Int), Ok(Value::Null));
    assert_eq!(attempt(Value::Int(300), DataType::TinyInt), Ok(Value::Null));
    assert_eq!(attempt(Value::Date(1), DataType::Int).unwrap_err().number, 529);
    assert_eq!(
        run(&Value::Null, DataType::Int, DataType::Date, 0, Mode::Explicit),
        Ok(Value::Null)
    );
}

#[test]
fn variants_keep_their_type() {
    let variant = cast(&Value::Int(5), DataType::SqlVariant).unwrap();
    assert_eq!(run(&variant, DataType::SqlVariant, varchar(5), 0, Mode::Explicit), Ok(string("5")));
    let implicit = run(&variant, DataType::SqlVariant, DataType::Int, 0, Mode::Implicit);
    assert_eq!(implicit.unwrap_err().number, 257);
    let clash = check(&DataType::VarChar(Length::Max), &DataType::SqlVariant, Mode::Implicit);
    let message = "Operand type clash: varchar(max) is incompatible with sql_variant";
    assert_eq!(clash.unwrap_err().message, message);
}

fn all_types() -> Vec<DataType> {
    vec![
        DataType::Bit,
        DataType::TinyInt,
        DataType::SmallInt,
        DataType::Int,
        DataType::BigInt,
        decimal(18, 4),
        decimal(38, 38),
        DataType::Money,
        DataType::SmallMoney,
        DataType::Real,
        DataType::Float,
        DataType::Date,
        DataType::Time(3),
        DataType::DateTime,
        DataType::SmallDateTime,
        DataType::DateTime2(7),
        DataType::DateTimeOffset(2),
        DataType::Char(5),
        varchar(40),
        DataType::VarChar(Length::Max),
        DataType::NChar(5),
        nvarchar(40),
        DataType::Text,
        DataType::NText,
        DataType::Binary(8),
        varbinary(20),
        DataType::Image,
        DataType::UniqueIdentifier,
        DataType::RowVersion,
        DataType::SqlVariant,
        DataType::Xml,
    ]
}

proptest! {
    #[test]
    fn no_pair_of_types_panics_and_results_are_of_the_target(
        text in "[0-9.eE+/: aAxX$,-]{0,20}", bytes in proptest::collection::vec(any::<u8>(), 0..20),
        style in 0..130,
    ) {
        let seeds = [string(&text), Value::VarBinary(Bytes::from(bytes))];
        for seed in seeds {
            for middle in all_types() {
                let Ok(value) = run(&seed, seed.data_type(), middle, 0, Mode::Explicit) else { continue };
                for to in all_types() {
                    let Ok(result) = run(&value, middle, to, style, Mode::Explicit) else { continue };
                    if let (Some(limit), Some(bytes)) = (to.bytes_max(), result.string_bytes()) {
                        prop_assert!(bytes.len() <= usize::from(limit), "{} to {}", middle, to);
                        let fixed = to.is_fixed_string() || to == DataType::RowVersion;
                        prop_assert!(!fixed || bytes.len() == usize::from(limit));
                    }
                    // A value of the target type converts to that type unchanged.
                    prop_assert_eq!(run(&result, to, to, 0, Mode::Implicit), Ok(result.clone()));
                    // The row codec accepts the results of conversion.
                    let layout = crate::row::RowLayout::new(&[ColumnType::nullable(to)]);
                    let mut row = crate::row::RowBuffer::default();
                    layout.encode(std::slice::from_ref(&result), &mut row);
                    let read = layout.view(&row.bytes, &row.blobs).get(0);
                    prop_assert_eq!(read, result);
                }
            }
        }
    }

    #[test]
    fn numbers_come_back_through_text_and_binary(n in any::<i64>()) {
        let small = Value::Int((n >> 32) as i32);
        for (value, of) in [(Value::BigInt(n), DataType::BigInt), (small, DataType::Int)] {
            for middle in [varchar(30), nvarchar(30), varbinary(8), decimal(38, 2)] {
                let there = run(&value, of, middle, 0, Mode::Explicit).unwrap();
                prop_assert_eq!(run(&there, middle, of, 0, Mode::Explicit), Ok(value.clone()));
            }
        }
    }

    #[test]
    fn floats_come_back_through_style_3(v in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
        let text = run(&Value::Float(v), DataType::Float, varchar(30), 3, Mode::Explicit).unwrap();
        prop_assert_eq!(cast(&text, DataType::Float), Ok(Value::Float(v)));
    }
}

/// What a pause of these tests has seen.
mod seen {
    use std::cell::Cell;

    use crate::convert::{Lent, Pause};
    use crate::{Bytes, Error, Msg, Result};

    thread_local! {
        static PAUSES: Cell<usize> = const { Cell::new(0) };
        static ASKED: Cell<usize> = const { Cell::new(0) };
        static ROOM: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    fn pause() -> bool {
        PAUSES.set(PAUSES.get() + 1);
        true
    }

    fn ask(bytes: usize) -> Result<()> {
        ASKED.set(ASKED.get() + bytes);
        if bytes <= ROOM.get() { Ok(()) } else { Err(Error::from(Msg::OutOfMemory)) }
    }

    fn join(parts: &[&[u8]]) -> Bytes {
        Bytes::from(parts.concat())
    }

    /// Pauses that are counted, with so much memory.
    pub(super) fn with_room(room: usize) -> Pause {
        PAUSES.set(0);
        ASKED.set(0);
        ROOM.set(room);
        Pause(Some(Lent { pause, ask, join }))
    }

    /// Returns the pauses, and the bytes that were asked for.
    pub(super) fn so_far() -> (usize, usize) {
        (PAUSES.get(), ASKED.get())
    }
}

/// Converts with so much memory; returns too how many pauses there were, and what was asked for.
fn seen(
    value: &Value,
    to: DataType,
    (style, mode, room): (i32, Mode, usize),
) -> (Result<Value>, usize, usize) {
    let options = ConvertOptions { pause: seen::with_room(room), ..DEFAULT };
    let (from, to) = (ColumnType::nullable(value.data_type()), ColumnType::nullable(to));
    let result = convert(value, &from, &to, style, mode, &options);
    let (pauses, asked) = seen::so_far();
    (result, pauses, asked)
}

const ALL: (i32, Mode, usize) = (0, Mode::Explicit, usize::MAX);
const MAX: DataType = DataType::VarChar(Length::Max);
const NMAX: DataType = DataType::NVarChar(Length::Max);
const MANY: usize = 1 << 20;

#[test]
fn a_long_text_is_converted_with_pauses_in_each_direction() {
    let digits = string(&"0123".repeat(MANY / 4));
    let wide = Value::nvarchar(&"aÄ1".repeat(MANY / 4));
    let bytes = Value::VarBinary(vec![0xA1; MANY].into());
    let max = DataType::VarBinary(Length::Max);
    for (value, to, style) in [
        (&digits, NMAX, 0),
        (&wide, MAX, 0),
        (&bytes, MAX, 2),
        (&bytes, NMAX, 1),
        (&digits, max, 2),
        (&cast(&digits, NMAX).unwrap(), max, 2),
        (&digits, DataType::Money, 0),
    ] {
        let (_, pauses, _) = seen(value, to, (style, Mode::Explicit, usize::MAX));
        assert!(pauses >= 8, "{to:?}: {pauses}");
    }
}

#[test]
fn hex_digits_of_a_long_value_come_back() {
    let bytes = Value::VarBinary((0..=255).cycle().take(MANY + 3).collect::<Vec<u8>>().into());
    let max = DataType::VarBinary(Length::Max);
    for to in [MAX, NMAX] {
        for style in [1, 2] {
            let text = seen(&bytes, to, (style, Mode::Explicit, usize::MAX)).0.unwrap();
            let back = seen(&text, max, (style, Mode::Explicit, usize::MAX)).0.unwrap();
            assert!(back == bytes, "{to:?} {style}");
        }
    }
    for (text, style) in [("0x1", 1), ("0", 2), ("0xzz", 1), ("12", 1), ("", 1), ("1Ł", 2)] {
        let failed = run(&Value::nvarchar(text), NMAX, max, style, Mode::Explicit).unwrap_err();
        assert_eq!(failed.number, 8_114, "{text} {style}");
    }
}

#[test]
fn what_is_cut_is_not_converted() {
    let bytes = Value::VarBinary(vec![0xA1; MANY].into());
    let wide = Value::nvarchar(&"aÄ".repeat(MANY));
    for (value, to, style, wanted) in [
        (&bytes, varchar(7), 1, "0xA1A1A"),
        (&bytes, nvarchar(8), 2, "A1A1A1A1"),
        (&wide, varchar(3), 0, "aÄa"),
    ] {
        let (result, pauses, _) = seen(value, to, (style, Mode::Explicit, usize::MAX));
        assert_eq!(result.unwrap().as_text(Collation::default()).unwrap(), wanted);
        assert!(pauses <= 2, "{wanted}: {pauses}");
    }
    // An assignment looks at the rest: blanks may be cut.
    let blanks = string(&format!("ab{}", " ".repeat(MANY)));
    assert_eq!(run(&blanks, MAX, nvarchar(2), 0, Mode::Assignment).unwrap(), Value::nvarchar("ab"));
    let longer = string(&format!("ab{}x", " ".repeat(MANY)));
    assert_eq!(run(&longer, MAX, nvarchar(2), 0, Mode::Assignment).unwrap_err().number, 8_152);
}

#[test]
fn a_long_text_asks_before_it_is_decoded_and_a_refusal_is_no_null() {
    let long = string(&"1".repeat(MANY));
    for to in [DataType::Float, DataType::Money, DataType::Date, DataType::Xml, decimal(9, 2)] {
        let (_, _, asked) = seen(&long, to, ALL);
        assert!(asked >= MANY, "{to:?}: {asked}");
        for mode in [Mode::Explicit, Mode::Try] {
            let refused = seen(&long, to, (0, mode, MANY)).0;
            assert_eq!(refused.unwrap_err().number, 701, "{to:?} {mode:?}");
        }
        assert_eq!(seen(&string("x"), to, ALL).2, 0, "a short text asks for nothing");
    }
}

#[test]
fn money_has_any_number_of_digits() {
    let money = |text: &str| cast(&string(text), DataType::Money);
    for (text, units) in [
        ("", 0),
        (".", 0),
        ("$", 0),
        ("-$1,234.56785", -12_345_679),
        ("$-5", -50_000),
        ("000,000,001.00004999", 10_000),
        ("1.00005", 10_001),
    ] {
        assert_eq!(money(text).unwrap(), Value::Money(units), "{text}");
    }
    let long = format!("{}7.{}", "0,".repeat(MANY), "3".repeat(MANY));
    assert_eq!(money(&long).unwrap(), Value::Money(73_333));
    let overflows = "9".repeat(60);
    assert_eq!(money(&overflows).unwrap_err().number, 236);
    for wrong in ["1..2", "1-", "1 2", "a", &format!("{overflows}a")] {
        assert_eq!(money(wrong).unwrap_err().number, 235, "{wrong}");
    }
}

#[test]
fn the_beginning_of_a_text_is_that_of_the_whole() {
    let utf8 = Collation::by_name("Latin1_General_100_CI_AS_SC_UTF8").unwrap();
    let text = "a😀Äb\u{20AC}".repeat(50);
    for (value, collation) in
        [(Value::nvarchar(&text), utf8), (Value::varchar(&text, utf8), utf8), (string("aÄ"), utf8)]
    {
        for chars in [0, 1, 2, 7, 249, 250, 9_000] {
            let whole = value.as_text(collation).unwrap();
            let wanted: String = whole.chars().take(chars).collect();
            assert_eq!(value.as_text_up_to(chars, collation).unwrap(), wanted, "{chars}");
        }
    }
    assert_eq!(Value::Int(1).as_text_up_to(5, utf8), None);
}
