//! One type of the spec: how tiberius binds its values, reads them and how they are spelled.

use serde_json::Value;
use tiberius::numeric::Numeric;
use tiberius::time::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
use tiberius::{ColumnData, IntoSql, Query, Uuid};

use crate::{Cn, Outcome, batch, equal, number};

/// Days from 0001-01-01 to 1900-01-01.
const DAYS_TO_1900: i64 = 693_595;

pub struct Kind {
    name: String,
    base: String,
    scale: u8,
    cases: Vec<Value>,
}

/// Hands a value to tiberius as it is.
struct Raw(ColumnData<'static>);

impl IntoSql<'static> for Raw {
    fn into_sql(self) -> ColumnData<'static> {
        self.0
    }
}

impl Kind {
    pub fn new(kind: &Value) -> Self {
        let text = |name: &str| kind[name].as_str().expect("the harness sends it").to_owned();
        let sizes = kind["sizes"].as_array().expect("a list");
        let last = sizes.last().and_then(Value::as_str).and_then(|s| s.parse().ok());
        let base = text("base");
        let scale = if base.ends_with("money") { 4 } else { last.unwrap_or(0) };
        Self { name: text("name"), base, scale, cases: kind["cases"].as_array().expect("a list").clone() }
    }

    /// Sends every case as a parameter, reads it back, and lets the server compare it with the literal.
    pub async fn check(&self, cn: &mut Cn) -> Outcome {
        batch(cn, &format!("create table #t (id int not null primary key, v {} null)", self.name)).await?;
        for (n, case) in (0..).zip(&self.cases) {
            let outcome = self.one_case(cn, n, case).await;
            outcome.map_err(|e| format!("case {}: {e}", case["case"]))?;
        }
        Ok(())
    }

    async fn one_case(&self, cn: &mut Cn, n: i32, case: &Value) -> Outcome {
        let text = whole(case);
        let mut insert = Query::new("insert into #t (id, v) values (@P1, @P2)");
        insert.bind(n);
        insert.bind(Raw(self.native(text.as_deref())));
        insert.execute(cn).await.map_err(|e| format!("insert: {e}"))?;
        let mut select = Query::new("select v from #t where id = @P1");
        select.bind(n);
        let stream = select.query(cn).await.map_err(|e| format!("select: {e}"))?;
        let row = stream.into_row().await.map_err(|e| format!("select: {e}"))?.ok_or("no row")?;
        let got = self.spell(row.into_iter().next().expect("one column"));
        let mut want = text.filter(|_| case["times"].is_number()).or(case["expect"].as_str().map(str::to_owned));
        if self.base == "real" {
            want = want.map(|w| w.parse::<f32>().expect("a number").to_string());
        } else if self.base == "float" {
            want = want.map(|w| w.parse::<f64>().expect("a number").to_string());
        }
        equal(got, want, "column")?;
        let rule = case["where"].as_str().expect("the harness sends it");
        let sql = format!("select count(*) from #t where id = {n} and {rule}");
        equal(number(cn, &sql).await?, 1, &format!("rows where {}", rule.chars().take(80).collect::<String>()))
    }

    fn native(&self, text: Option<&str>) -> ColumnData<'static> {
        match self.base.as_str() {
            "bit" => ColumnData::Bit(text.map(|t| t == "1")),
            "tinyint" => ColumnData::U8(text.map(parsed)),
            "smallint" => ColumnData::I16(text.map(parsed)),
            "int" => ColumnData::I32(text.map(parsed)),
            "bigint" => ColumnData::I64(text.map(parsed)),
            "real" => ColumnData::F32(text.map(parsed)),
            "float" => ColumnData::F64(text.map(parsed)),
            "decimal" | "money" | "smallmoney" => {
                let plain = text.map(|t| parsed::<i128>(&t.replace('.', "")));
                ColumnData::Numeric(plain.map(|v| Numeric::new_with_scale(v, self.scale)))
            }
            "date" => ColumnData::Date(text.map(date)),
            "time" => ColumnData::Time(text.map(|t| time(t, 7))),
            "datetime2" => ColumnData::DateTime2(text.map(|t| datetime2(t, 7))),
            "datetime" => ColumnData::DateTime(text.map(datetime)),
            "smalldatetime" => ColumnData::SmallDateTime(text.map(smalldatetime)),
            "datetimeoffset" => ColumnData::DateTimeOffset(text.map(datetimeoffset)),
            "binary" | "varbinary" => ColumnData::Binary(text.map(|t| unhex(t).into())),
            "uniqueidentifier" => ColumnData::Guid(text.map(|t| Uuid::parse_str(t).expect("a guid"))),
            _ => ColumnData::String(text.map(|t| t.to_owned().into())),
        }
    }

    fn spell(&self, value: ColumnData<'static>) -> Option<String> {
        Some(match value {
            ColumnData::Bit(v) => if v? { "1" } else { "0" }.to_owned(),
            ColumnData::U8(v) => v?.to_string(),
            ColumnData::I16(v) => v?.to_string(),
            ColumnData::I32(v) => v?.to_string(),
            ColumnData::I64(v) => v?.to_string(),
            ColumnData::F32(v) => v?.to_string(),
            // The driver hands money over as a float.
            ColumnData::F64(v) if self.base.ends_with("money") => format!("{:.4}", v?),
            ColumnData::F64(v) => v?.to_string(),
            ColumnData::Numeric(v) => decimal(v?),
            ColumnData::Date(v) => day(i64::from(v?.days())),
            ColumnData::Time(v) => clock(v?),
            ColumnData::DateTime2(v) => stamp(v?),
            ColumnData::DateTime(v) => old_datetime(v?),
            ColumnData::SmallDateTime(v) => {
                let v = v?;
                let minutes = v.seconds_fragments();
                format!("{} {:02}:{:02}:00", day(i64::from(v.days()) + DAYS_TO_1900), minutes / 60, minutes % 60)
            }
            ColumnData::DateTimeOffset(v) => offset_stamp(v?),
            ColumnData::Binary(v) => v?.iter().map(|b| format!("{b:02X}")).collect(),
            ColumnData::Guid(v) => v?.to_string().to_uppercase(),
            ColumnData::String(v) => v?.into_owned(),
            ColumnData::Xml(v) => v?.to_string(),
        })
    }
}

fn whole(case: &Value) -> Option<String> {
    match case["times"].as_u64().and_then(|t| usize::try_from(t).ok()) {
        Some(times) => case["repeat"].as_str().map(|r| r.repeat(times)),
        None => case["text"].as_str().map(str::to_owned),
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("the spec's values parse")
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|p| u8::from_str_radix(std::str::from_utf8(p).expect("hex"), 16).expect("hex")).collect()
}

// ---- dates: Howard Hinnant's civil calendar, counted from 0001-01-01 --------------------------

fn days_of(text: &str) -> i64 {
    let parts: Vec<i64> = text.split('-').map(parsed).collect();
    let (year, month, day) = (parts[0] - i64::from(parts[1] <= 2), parts[1], parts[2]);
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 306
}

fn day(days: i64) -> String {
    let shifted = days + 306;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted - era * 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Ticks of 100 ns since midnight.
fn ticks_of(text: &str) -> u64 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let parts: Vec<u64> = whole.split(':').map(parsed).collect();
    let fraction: u64 = parsed(&format!("{fraction:0<7}"));
    ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 10_000_000 + fraction
}

fn small<T: TryFrom<i64>>(value: i64) -> T {
    T::try_from(value).ok().expect("the spec's values fit")
}

fn date(text: &str) -> Date {
    Date::new(small(days_of(text)))
}

fn time(text: &str, scale: u8) -> Time {
    Time::new(ticks_of(text) / 10u64.pow(u32::from(7 - scale)), scale)
}

pub fn datetime2(text: &str, scale: u8) -> DateTime2 {
    let (day, clock) = text.split_once(' ').expect("a day and a time");
    DateTime2::new(date(day), time(clock, scale))
}

fn datetime(text: &str) -> DateTime {
    let (day, clock) = text.split_once(' ').expect("a day and a time");
    let thirds = (ticks_of(clock) * 300 + 5_000_000) / 10_000_000;
    DateTime::new(small(days_of(day) - DAYS_TO_1900), u32::try_from(thirds).expect("it fits"))
}

fn smalldatetime(text: &str) -> SmallDateTime {
    let (day, clock) = text.split_once(' ').expect("a day and a time");
    let minutes = ticks_of(clock) / 600_000_000;
    SmallDateTime::new(small(days_of(day) - DAYS_TO_1900), u16::try_from(minutes).expect("it fits"))
}

/// The wire has the instant in UTC and the offset beside it.
fn datetimeoffset(text: &str) -> DateTimeOffset {
    let (local, zone) = text.rsplit_once(' ').expect("an offset");
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let minutes: i64 = sign * (parsed::<i64>(&zone[1..3]) * 60 + parsed::<i64>(&zone[4..6]));
    let (day, clock) = local.split_once(' ').expect("a day and a time");
    let ticks_per_day = 864_000_000_000;
    let ticks = i64::try_from(ticks_of(clock)).expect("it fits") - minutes * 600_000_000;
    let days = days_of(day) + ticks.div_euclid(ticks_per_day);
    let of_day = u64::try_from(ticks.rem_euclid(ticks_per_day)).expect("positive");
    DateTimeOffset::new(DateTime2::new(Date::new(small(days)), Time::new(of_day, 7)), small(minutes))
}

fn decimal(value: Numeric) -> String {
    let scale = usize::from(value.scale());
    let digits = format!("{:0>width$}", value.value().unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let dot = if scale > 0 { "." } else { "" };
    format!("{}{whole}{dot}{fraction}", if value.value() < 0 { "-" } else { "" })
}

fn clock_of(ticks: u64) -> String {
    let seconds = ticks / 10_000_000;
    let fraction = format!("{:07}", ticks % 10_000_000);
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{:02}:{:02}:{:02}{dot}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn ticks(value: Time) -> u64 {
    value.increments() * 10u64.pow(u32::from(7 - value.scale()))
}

fn clock(value: Time) -> String {
    clock_of(ticks(value))
}

fn stamp(value: DateTime2) -> String {
    format!("{} {}", day(i64::from(value.date().days())), clock(value.time()))
}

fn old_datetime(value: DateTime) -> String {
    // 1/300 s, shown to the nearest millisecond.
    let ms = (u64::from(value.seconds_fragments()) * 10 + 1) / 3;
    format!("{} {}", day(i64::from(value.days()) + DAYS_TO_1900), clock_of(ms * 10_000))
}

fn offset_stamp(value: DateTimeOffset) -> String {
    let minutes = i64::from(value.offset());
    let ticks_per_day = 864_000_000_000;
    let utc = i64::try_from(ticks(value.datetime2().time())).expect("it fits");
    let local = utc + minutes * 600_000_000;
    let days = i64::from(value.datetime2().date().days()) + local.div_euclid(ticks_per_day);
    let of_day = u64::try_from(local.rem_euclid(ticks_per_day)).expect("positive");
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{} {} {sign}{:02}:{:02}", day(days), clock_of(of_day), minutes.abs() / 60, minutes.abs() % 60)
}
