//! Tests dates and times: documented answers, and laws over the whole calendar.

use proptest::prelude::*;

use super::*;
use crate::Language;
use crate::convert::DateFormat;

const DATETIME2: DataType = DataType::DateTime2(7);

/// Converts a text to `datetime2(7)`.
fn at(text: &str) -> Value {
    parse(text, &DATETIME2, DateFormat::Mdy, Language::default())
        .unwrap()
        .try_to_value(&DATETIME2)
        .unwrap()
}

fn as_type(text: &str, of: DataType) -> Value {
    parse(text, &of, DateFormat::Mdy, Language::default()).unwrap().try_to_value(&of).unwrap()
}

fn shown(value: &Value, of: DataType, style: i32) -> String {
    format(value, &of, style, Language::default()).unwrap()
}

fn read(text: &str, of: DataType, order: DateFormat) -> Result<String, ParseError> {
    parse(text, &of, order, Language::default())
        .map(|m| shown(&m.try_to_value(&DATETIME2).unwrap(), DATETIME2, 121))
}

#[test]
fn days_count_from_year_one() {
    assert_eq!(days_of(1, 1, 1), Some(0));
    assert_eq!(days_of(1900, 1, 1), Some(DAYS_1900));
    assert_eq!(days_of(1970, 1, 1), Some(719_162));
    assert_eq!(days_of(9999, 12, 31), Some(DAYS_MAX));
    assert_eq!(days_of(1753, 1, 1), Some(DAYS_1900 + DATETIME_DAYS_MIN));
    assert_eq!(days_of(2023, 2, 29), None);
    assert_eq!(days_of(2000, 2, 29), Some(730_178));
    assert_eq!(days_of(2020, 13, 1), None);
}

#[test]
fn every_documented_form_is_read() {
    for (text, expected) in [
        ("2020-01-31", "2020-01-31 00:00:00.0000000"),
        ("20200131", "2020-01-31 00:00:00.0000000"),
        ("200131", "2020-01-31 00:00:00.0000000"),
        ("2020", "2020-01-01 00:00:00.0000000"),
        ("1/31/2020", "2020-01-31 00:00:00.0000000"),
        ("01-31-20", "2020-01-31 00:00:00.0000000"),
        ("1.31.50", "1950-01-31 00:00:00.0000000"),
        ("Jan 31 2020", "2020-01-31 00:00:00.0000000"),
        ("31 january 2020", "2020-01-31 00:00:00.0000000"),
        ("January 31, 2020", "2020-01-31 00:00:00.0000000"),
        ("2020 Jan 31", "2020-01-31 00:00:00.0000000"),
        ("31-Jan-20", "2020-01-31 00:00:00.0000000"),
        ("Jan 2020", "2020-01-01 00:00:00.0000000"),
        ("Jan  1 2020 1:02PM", "2020-01-01 13:02:00.0000000"),
        ("2020-01-31T23:59:59.1234567", "2020-01-31 23:59:59.1234567"),
        ("2020-01-31T23:59:59Z", "2020-01-31 23:59:59.0000000"),
        ("2020-01-31 10:20:30.5 +05:30", "2020-01-31 10:20:30.5000000"),
        ("20200131 10:20", "2020-01-31 10:20:00.0000000"),
        ("12 AM", "1900-01-01 00:00:00.0000000"),
        ("12:30PM", "1900-01-01 12:30:00.0000000"),
        ("10:20:30:123", "1900-01-01 10:20:30.1230000"),
        ("{ts '2020-01-31 10:20:30'}", "2020-01-31 10:20:30.0000000"),
        ("{d '2020-01-31'}", "2020-01-31 00:00:00.0000000"),
        ("", "1900-01-01 00:00:00.0000000"),
    ] {
        assert_eq!(read(text, DATETIME2, DateFormat::Mdy).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn date_format_orders_ambiguous_dates() {
    let day = |text, of, order| read(text, of, order).map(|t| t[..10].to_owned());
    let ok = |text: &str| Ok(text.to_owned());
    assert_eq!(day("02/03/2020", DATETIME2, DateFormat::Mdy), ok("2020-02-03"));
    assert_eq!(day("02/03/2020", DATETIME2, DateFormat::Dmy), ok("2020-03-02"));
    assert_eq!(day("20/02/03", DATETIME2, DateFormat::Ymd), ok("2020-02-03"));
    // `datetime` follows DATEFORMAT if the year comes first, `datetime2` does not.
    assert_eq!(day("2020-02-03", DataType::DateTime, DateFormat::Dmy), ok("2020-03-02"));
    assert_eq!(day("2020-02-03", DATETIME2, DateFormat::Dmy), ok("2020-02-03"));
    assert_eq!(day("2020-02-03T00:00:00", DataType::DateTime, DateFormat::Dmy), ok("2020-02-03"));
    assert_eq!(day("20200203", DataType::DateTime, DateFormat::Dmy), ok("2020-02-03"));
}

#[test]
fn what_is_no_date_is_refused() {
    use ParseError::{Range, Syntax};
    for (text, error) in [
        ("hello", Syntax),
        ("2020-01", Syntax),
        ("1/2/3/4", Syntax),
        ("2020-13-01", Range),
        ("2020-02-30", Range),
        ("25:00", Range),
        ("10:60", Range),
        ("2020-01-01 10:00 10:00", Syntax),
        ("2020-01-31T10:00:00+15:00", Syntax),
        ("-2020-01-01", Syntax),
        ("2020-01-01-", Syntax),
        ("١", Syntax),
    ] {
        assert_eq!(read(text, DATETIME2, DateFormat::Mdy), Err(error), "{text}");
    }
    let old = |text| read(text, DataType::DateTime, DateFormat::Mdy);
    assert_eq!(old("2020-01-01 00:00:00.1234"), Err(Syntax));
    assert_eq!(old("2020-01-01 00:00:00 +01:00"), Err(Syntax));
}

#[test]
fn datetime_rounds_to_three_hundredths_of_a_second() {
    // Cases of the documentation's table.
    for (text, expected) in [
        ("1998-01-01 23:59:59.999", "1998-01-02 00:00:00.000"),
        ("1998-01-01 23:59:59.995", "1998-01-01 23:59:59.997"),
        ("1998-01-01 23:59:59.996", "1998-01-01 23:59:59.997"),
        ("1998-01-01 23:59:59.998", "1998-01-01 23:59:59.997"),
        ("1998-01-01 23:59:59.992", "1998-01-01 23:59:59.993"),
        ("1998-01-01 23:59:59.994", "1998-01-01 23:59:59.993"),
        ("1998-01-01 23:59:59.990", "1998-01-01 23:59:59.990"),
        ("1998-01-01 23:59:59.991", "1998-01-01 23:59:59.990"),
    ] {
        let value = as_type(text, DataType::DateTime);
        assert_eq!(shown(&value, DataType::DateTime, 121), expected, "{text}");
    }
    let small = |text| shown(&as_type(text, DataType::SmallDateTime), DataType::SmallDateTime, 120);
    assert_eq!(small("2007-05-08 12:35:29.998"), "2007-05-08 12:35:00");
    assert_eq!(small("2007-05-08 12:35:29.999"), "2007-05-08 12:36:00");
    let range = |text, of: DataType| {
        parse(text, &of, DateFormat::Mdy, Language::default()).unwrap().try_to_value(&of)
    };
    assert_eq!(range("1752-12-31", DataType::DateTime), None);
    assert_eq!(range("9999-12-31 23:59:59.999", DataType::DateTime), None);
    assert_eq!(range("2079-06-07", DataType::SmallDateTime), None);
    assert_eq!(range("1899-12-31", DataType::SmallDateTime), None);
}

#[test]
fn scales_round_half_up_and_carry() {
    let value = as_type("12:15:04.1237", DataType::Time(2));
    assert_eq!(shown(&value, DataType::Time(2), 0), "12:15:04.12");
    let value = as_type("2020-12-31 23:59:59.96", DataType::DateTime2(1));
    assert_eq!(shown(&value, DataType::DateTime2(1), 0), "2021-01-01 00:00:00.0");
    let value = as_type("9999-12-31 23:59:59.9999999", DataType::DateTime2(0));
    assert_eq!(shown(&value, DataType::DateTime2(0), 0), "9999-12-31 23:59:59");
}

#[test]
fn styles_follow_the_documentation() {
    let datetime = as_type("2006-01-02 15:04:05.123", DataType::DateTime);
    for (style, expected) in [
        (0, "Jan  2 2006  3:04PM"),
        (100, "Jan  2 2006  3:04PM"),
        (1, "01/02/06"),
        (101, "01/02/2006"),
        (2, "06.01.02"),
        (102, "2006.01.02"),
        (3, "02/01/06"),
        (103, "02/01/2006"),
        (104, "02.01.2006"),
        (105, "02-01-2006"),
        (6, "02 Jan 06"),
        (106, "02 Jan 2006"),
        (107, "Jan 02, 2006"),
        (8, "15:04:05"),
        (108, "15:04:05"),
        (9, "Jan  2 2006  3:04:05:123PM"),
        (110, "01-02-2006"),
        (111, "2006/01/02"),
        (12, "060102"),
        (112, "20060102"),
        (13, "02 Jan 2006 15:04:05:123"),
        (114, "15:04:05:123"),
        (20, "2006-01-02 15:04:05"),
        (121, "2006-01-02 15:04:05.123"),
        (22, "01/02/06  3:04:05 PM"),
        (23, "2006-01-02"),
        (126, "2006-01-02T15:04:05.123"),
        (127, "2006-01-02T15:04:05.123"),
        (131, " 2/12/1426  3:04:05:123PM"),
    ] {
        assert_eq!(shown(&datetime, DataType::DateTime, style), expected, "style {style}");
    }
    let whole = as_type("2006-01-02 15:04:05", DataType::DateTime);
    assert_eq!(shown(&whole, DataType::DateTime, 126), "2006-01-02T15:04:05");
    assert_eq!(
        format(&whole, &DataType::DateTime, 99, Language::default()).unwrap_err().number,
        281
    );
}

#[test]
fn newer_types_show_their_own_parts() {
    let date = as_type("2006-01-02", DataType::Date);
    assert_eq!(shown(&date, DataType::Date, 0), "2006-01-02");
    assert_eq!(shown(&date, DataType::Date, 100), "Jan  2 2006");
    assert_eq!(shown(&date, DataType::Date, 126), "2006-01-02");
    assert_eq!(format(&date, &DataType::Date, 108, Language::default()).unwrap_err().number, 9809);
    let time = as_type("15:04:05.5", DataType::Time(3));
    assert_eq!(shown(&time, DataType::Time(3), 0), "15:04:05.500");
    let offset = DataType::DateTimeOffset(3);
    let value = as_type("2006-01-02 15:04:05.5 -07:30", offset);
    assert_eq!(shown(&value, offset, 0), "2006-01-02 15:04:05.500 -07:30");
    assert_eq!(shown(&value, offset, 126), "2006-01-02T15:04:05.500-07:30");
    assert_eq!(shown(&value, offset, 127), "2006-01-02T22:34:05.500Z");
}

#[test]
fn date_add_keeps_to_the_month_and_the_range() {
    let add = |part, number, text| date_add(part, number, &at(text), &DATETIME2);
    assert_eq!(add(DatePart::Month, 1, "2006-08-31"), Ok(at("2006-09-30")));
    assert_eq!(add(DatePart::Month, -2, "2024-04-30"), Ok(at("2024-02-29")));
    assert_eq!(add(DatePart::Year, 1, "2024-02-29"), Ok(at("2025-02-28")));
    assert_eq!(add(DatePart::Quarter, 4, "2007-01-01"), Ok(at("2008-01-01")));
    assert_eq!(add(DatePart::Week, -1, "2007-01-01"), Ok(at("2006-12-25")));
    assert_eq!(add(DatePart::Second, 86_400, "2007-01-01 13:10:10"), Ok(at("2007-01-02 13:10:10")));
    assert_eq!(add(DatePart::Nanosecond, 150, "2007-01-01"), Ok(at("2007-01-01 00:00:00.0000002")));
    assert_eq!(add(DatePart::Year, 10_000, "2007-01-01").unwrap_err().number, 517);
    assert_eq!(add(DatePart::Day, i64::MAX, "2007-01-01").unwrap_err().number, 517);
    assert_eq!(add(DatePart::TzOffset, 1, "2007-01-01").unwrap_err().number, 9806);
    let time = as_type("23:30", DataType::Time(0));
    let later = date_add(DatePart::Hour, 1, &time, &DataType::Time(0));
    assert_eq!(later, Ok(as_type("00:30", DataType::Time(0))));
    let year = date_add(DatePart::Year, 1, &time, &DataType::Time(0));
    assert_eq!(year.unwrap_err().number, 9810);
}

#[test]
fn date_diff_counts_boundaries() {
    // The documentation's example: these two are one boundary of every part apart.
    let (start, end) = (at("2005-12-31 23:59:59.9999999"), at("2006-01-01 00:00:00.0000000"));
    for part in [
        DatePart::Year,
        DatePart::Quarter,
        DatePart::Month,
        DatePart::DayOfYear,
        DatePart::Day,
        DatePart::Hour,
        DatePart::Minute,
        DatePart::Second,
        DatePart::Millisecond,
        DatePart::Microsecond,
        DatePart::Week,
    ] {
        assert_eq!(date_diff(part, &start, &end), Ok(1), "{part:?}");
        assert_eq!(date_diff(part, &end, &start), Ok(-1), "{part:?}");
    }
    assert_eq!(date_diff(DatePart::Nanosecond, &start, &end), Ok(100));
    assert_eq!(date_diff(DatePart::Day, &at("2007-05-07 09:53"), &at("2007-05-08 09:00")), Ok(1));
    let far = date_diff(DatePart::Nanosecond, &at("0001-01-01"), &at("9999-12-31"));
    assert_eq!(far.unwrap_err().number, 535);
}

#[test]
fn date_part_follows_the_documentation() {
    let value = at("2007-10-30 12:15:32.1234567");
    for (part, expected) in [
        (DatePart::Year, 2007),
        (DatePart::Quarter, 4),
        (DatePart::Month, 10),
        (DatePart::DayOfYear, 303),
        (DatePart::Day, 30),
        (DatePart::Week, 44),
        (DatePart::Weekday, 3),
        (DatePart::Hour, 12),
        (DatePart::Minute, 15),
        (DatePart::Second, 32),
        (DatePart::Millisecond, 123),
        (DatePart::Microsecond, 123_456),
        (DatePart::Nanosecond, 123_456_700),
        (DatePart::TzOffset, 0),
        (DatePart::IsoWeek, 44),
    ] {
        assert_eq!(date_part(part, &value, &DATETIME2, 7), Ok(Some(expected)), "{part:?}");
    }
    let name = |part, text| {
        date_name(part, &at(text), &DATETIME2, 7, Language::default()).unwrap().unwrap()
    };
    assert_eq!(name(DatePart::Month, "2007-10-30"), "October");
    assert_eq!(name(DatePart::Weekday, "2007-10-30"), "Tuesday");
    // 2008-12-31 is in week 1 by ISO, in week 53 in us_english.
    assert_eq!(date_part(DatePart::IsoWeek, &at("2008-12-31"), &DATETIME2, 7), Ok(Some(1)));
    assert_eq!(date_part(DatePart::Week, &at("2008-12-31"), &DATETIME2, 7), Ok(Some(53)));
    for (first_day, expected) in [(1, 1), (7, 2), (3, 6)] {
        // 2007-04-30 was a Monday.
        let day = date_part(DatePart::Weekday, &at("2007-04-30"), &DATETIME2, first_day);
        assert_eq!(day, Ok(Some(expected)), "DATEFIRST {first_day}");
    }
    assert_eq!(DatePart::by_name("ISOWK"), Some(DatePart::IsoWeek));
}

#[test]
fn constructors_check_their_parts() {
    assert_eq!(from_date_parts(2010, 12, 31), Ok(Value::Date(734_136)));
    assert_eq!(from_date_parts(2010, 2, 29).unwrap_err().number, 289);
    let built = from_date_time_parts([2010, 12, 31], [23, 59, 59, 5], 0, &DataType::DateTime2(1));
    assert_eq!(built, Ok(at("2010-12-31 23:59:59.5")));
    assert_eq!(from_time_parts([23, 59, 59, 10], 1).unwrap_err().number, 289);
    assert_eq!(from_time_parts([24, 0, 0, 0], 0).unwrap_err().number, 289);
    assert_eq!(end_of_month(&at("2024-01-31"), 1), Ok(as_type("2024-02-29", DataType::Date)));
    let offset = DataType::DateTimeOffset(0);
    let value = as_type("1998-09-20 07:45:50 -05:00", offset);
    let switched = switch_offset(&value, -8 * 60).unwrap();
    assert_eq!(shown(&switched, offset, 0), "1998-09-20 04:45:50 -08:00");
    assert_eq!(switch_offset(&value, 841).unwrap_err().number, 9812);
    assert_eq!(parse_offset("-08:00"), Some(-480));
}

#[test]
fn datetimes_add_as_days() {
    let value = |text| as_type(text, DataType::DateTime);
    let half_day = value("1900-01-01 12:00");
    let sum = arithmetic(BinaryOp::Add, &value("2020-01-01 18:00"), &half_day, &DataType::DateTime);
    assert_eq!(sum, Ok(value("2020-01-02 06:00")));
    let early =
        arithmetic(BinaryOp::Subtract, &value("1900-01-01"), &half_day, &DataType::DateTime);
    assert_eq!(early, Ok(value("1899-12-31 12:00")));
    let far = value("9999-12-31");
    assert_eq!(
        arithmetic(BinaryOp::Add, &far, &far, &DataType::DateTime).unwrap_err().number,
        8115
    );
}

proptest! {
    #[test]
    fn calendar_comes_back(days in 0..=DAYS_MAX) {
        let civil = civil_of(days);
        let found = days_of(civil.year, i32::from(civil.month), i32::from(civil.day));
        prop_assert_eq!(found, Some(days));
        if days > 0 {
            prop_assert!(civil_of(days - 1) < civil);
        }
    }

    #[test]
    fn text_comes_back(days in 0..=DAYS_MAX, ticks in 0..TICKS_PER_DAY, scale in 0_u8..=7) {
        let of = DataType::DateTime2(scale);
        let value = Moment { days, ticks, offset: 0 }.try_to_value(&of).unwrap();
        for style in [121, 126] {
            let text = shown(&value, of, style);
            let read = parse(&text, &of, DateFormat::Mdy, Language::default()).unwrap();
            prop_assert_eq!(read.try_to_value(&of).unwrap(), value.clone());
        }
    }

    #[test]
    fn datetime_comes_back_through_ticks(
        days in DATETIME_DAYS_MIN..=DATETIME_DAYS_MAX, ticks in 0_u32..25_920_000,
    ) {
        let value = Value::DateTime { days, ticks };
        let moment = Moment::from_value(&value).unwrap();
        prop_assert_eq!(moment.try_to_value(&DataType::DateTime), Some(value.clone()));
        let text = shown(&value, DataType::DateTime, 121);
        let read = parse(&text, &DataType::DateTime, DateFormat::Mdy, Language::default()).unwrap();
        prop_assert_eq!(read.try_to_value(&DataType::DateTime), Some(value));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}", dmy in "[0-9/:. TZ+-]{0,24}") {
        for text in [text, dmy] {
            for of in [DataType::DateTime, DATETIME2] {
                let _ = parse(&text, &of, DateFormat::Dmy, Language::default());
            }
        }
    }

    #[test]
    fn diff_undoes_add(days in 500_000..800_000, n in -100_000_i64..100_000) {
        let value = Value::DateTime2 { days, ticks: 0 };
        for part in [DatePart::Day, DatePart::Hour, DatePart::Second, DatePart::Microsecond] {
            let moved = date_add(part, n, &value, &DATETIME2).unwrap();
            prop_assert_eq!(date_diff(part, &value, &moved), Ok(n));
        }
    }
}
