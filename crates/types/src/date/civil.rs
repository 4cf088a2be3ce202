//! The proleptic Gregorian calendar: days since 0001-01-01 to year, month and day, and back.
//!
//! Howard Hinnant's method: years that begin in March put the leap day last, so that both
//! directions are a few divisions ("chrono-Compatible Low-Level Date Algorithms").

/// A date of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    /// The year, 1 to 9999.
    pub year: i32,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, 1 to 31.
    pub day: u8,
}

/// The days from 0000-03-01 to 0001-01-01.
const SHIFT: i32 = 306;

/// Returns the date of a day number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "months and days")]
pub fn civil_of(days: i32) -> Civil {
    let shifted = days + SHIFT;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i32::from(month <= 2);
    Civil { year, month: month as u8, day: day as u8 }
}

/// Returns the day number of a date; `None` if there is no such date in the years 1 to 9999.
pub fn days_of(year: i32, month: i32, day: i32) -> Option<i32> {
    if !(1..=9999).contains(&year) || day < 1 || day > days_in_month(year, month)? {
        return None;
    }
    let year = year - i32::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - SHIFT)
}

/// Returns the number of days in a month; `None` if there is no such month.
pub const fn days_in_month(year: i32, month: i32) -> Option<i32> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    Some(match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    })
}

/// Returns the day of the week: 0 is Monday, 6 Sunday.
pub const fn weekday(days: i32) -> i32 {
    // 0001-01-01 was a Monday.
    days.rem_euclid(7)
}
