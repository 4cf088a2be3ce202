//! The clock that statements, catalog and instance read.

/// Returns the present moment, UTC.
pub fn clock() -> types::date::Moment {
    let (days, ticks) = sos::clock::utc_days_and_ticks();
    // Both are far inside the range: a day has 864e9 ticks, the calendar 3.65 million days.
    types::date::Moment {
        days: i32::try_from(days).unwrap_or(types::date::DAYS_MAX),
        ticks: i64::try_from(ticks).unwrap_or(0),
        offset: 0,
    }
}
