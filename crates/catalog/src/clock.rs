//! The clock that statements, the catalog and the instance read.

/// Returns the current time, UTC.
pub fn clock() -> types::date::Moment {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    // Both fit: a day has 864e9 ticks, the calendar 3.65 million days.
    types::date::Moment {
        days: i32::try_from(days).unwrap_or(types::date::DAYS_MAX),
        ticks: i64::try_from(ticks).unwrap_or(0),
        offset: 0,
    }
}
