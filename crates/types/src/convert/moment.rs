//! Converts to date and time types.

use super::{Context, DateFormat};
use crate::date::{self, DATETIME_TICKS_PER_DAY, Moment, ParseError};
use crate::{DataType, Error, Msg, Result, Value};

/// Bytes of a text, without the blanks around it, that may be a date or time.
const TEXT_BYTES_MAX: usize = 8_000;

impl Context<'_> {
    /// Converts to a date or time type.
    pub(super) fn to_moment(self, value: &Value) -> Result<Value> {
        let moment = match value {
            Value::VarChar(_) | Value::NVarChar(_) => {
                let text = self.source_text(value)?;
                // No date is nearly as long; the words of a text of megabytes would take many times its memory.
                if text.trim().len() > TEXT_BYTES_MAX {
                    return Err(self.bad_text(ParseError::Syntax));
                }
                date::parse(&text, &self.to.data_type, self.order(), self.options.language)
                    .map_err(|e| self.bad_text(e))?
            }
            Value::VarBinary(bytes) => {
                self.moment_of_bytes(bytes).ok_or_else(|| Error::from(Msg::DateTimeFromBinary))?
            }
            _ => match Moment::from_value(value) {
                Some(moment) => self.with_offset_dropped(moment),
                None => self.moment_of_number(value)?,
            },
        };
        moment.try_to_value(&self.to.data_type).ok_or_else(|| self.out_of_range())
    }

    /// Only `datetimeoffset` keeps the offset; the others keep the local time.
    fn with_offset_dropped(self, moment: Moment) -> Moment {
        match self.to.data_type {
            DataType::DateTimeOffset(_) => moment,
            _ => Moment { offset: 0, ..moment },
        }
    }

    /// Reads a number as days since 1900.
    fn moment_of_number(self, value: &Value) -> Result<Moment> {
        let float = crate::ColumnType::nullable(DataType::Float);
        let context = Context { to: &float, ..self };
        let Value::Float(days) = context.to_float(value)? else { return Err(self.clash()) };
        let overflow = || Error::from(Msg::ArithmeticOverflow(self.target_name()));
        if days.abs() > 4e6 {
            return Err(overflow());
        }
        #[expect(clippy::cast_precision_loss, reason = "26 million is exact")]
        let per_day = DATETIME_TICKS_PER_DAY as f64;
        #[expect(clippy::cast_possible_truncation, reason = "4e6 days are within 64 bits")]
        let ticks = (days * per_day).round() as i64;
        let day =
            i32::try_from(ticks.div_euclid(DATETIME_TICKS_PER_DAY)).map_err(|_| overflow())?;
        let ticks =
            u32::try_from(ticks.rem_euclid(DATETIME_TICKS_PER_DAY)).map_err(|_| overflow())?;
        let moment = Moment::from_value(&Value::DateTime { days: day, ticks });
        moment.filter(|m| m.try_to_value(&self.to.data_type).is_some()).ok_or_else(overflow)
    }

    /// Returns the order of day, month and year that the style gives, else the session's.
    fn order(self) -> DateFormat {
        match self.style {
            1 | 10 | 22 | 101 | 110 => DateFormat::Mdy,
            3 | 4 | 5 | 103 | 104 | 105 | 131 => DateFormat::Dmy,
            2 | 11 | 12 | 20 | 21 | 23 | 25 | 102 | 111 | 112 | 120 | 121 | 126 | 127 => {
                DateFormat::Ymd
            }
            _ => self.options.date_format,
        }
    }

    /// Makes the message for a text that is no date. For the older types, a date that does not
    /// exist and a text without the form of a date have different messages.
    fn bad_text(self, error: ParseError) -> Error {
        match (&self.to.data_type, error) {
            (DataType::DateTime | DataType::SmallDateTime, ParseError::Range) => {
                self.out_of_range()
            }
            (DataType::SmallDateTime, ParseError::Syntax) => Msg::SmallDateTimeFromString.into(),
            _ => Msg::DateFromString.into(),
        }
    }

    fn out_of_range(self) -> Error {
        Msg::DateOutOfRange(self.source_name(), self.target_name()).into()
    }
}
