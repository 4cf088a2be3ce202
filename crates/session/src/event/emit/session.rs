//! Start and end of sessions: login, logout, existing_connection.

use std::sync::Arc;

use sos::xe::{self, Event, Value};

use super::{io_values, us};
use crate::event::context::{fire, fire_at};
use crate::event::list::{EXISTING_CONNECTION, LOGIN, LOGOUT};
use crate::instance::SessionCard;
use crate::{Options, SessionState};

/// Fires login; `cached` for a pooled connection that was reset.
pub fn login(session: &SessionState, cached: bool) {
    if !xe::enabled(&LOGIN) {
        return;
    }
    let database =
        session.catalog.database(&session.identity.database).map_or(0, |database| database.id);
    let text = options_text(&session.options);
    let values = [
        Value::Bool(cached),
        Value::Bool(false),
        Value::Bool(false),
        Value::UInt(u64::from(database.cast_unsigned())),
        Value::UInt(u64::from(session.connection.client.packet_size)),
        Value::Bytes(&options_bits(&session.options)),
        Value::Text(&text),
        Value::Text(&session.identity.database),
    ];
    fire(session, &LOGIN, &values);
}

/// Fires logout; `cached` for a connection that returns to its pool.
pub fn logout(session: &SessionState, since: u64, cached: bool) {
    if !xe::enabled(&LOGOUT) {
        return;
    }
    let none = Value::UInt(0);
    let [reads, writes] = io_values(session.accounting.meter.live().io());
    let cpu = plan::stats::Spend::from(session.accounting.books.spent()).worker();
    let values = [
        Value::Bool(cached),
        Value::Bool(false),
        Value::Bool(false),
        Value::UInt(us(sos::clock::now_ticks().saturating_sub(since))),
        Value::UInt(us(cpu)),
        none,
        none,
        reads,
        writes,
    ];
    fire(session, &LOGOUT, &values);
}

/// Fires existing_connection to a starting event session, given by its address, for one connection.
pub fn existing(session: &SessionState, started: usize, card: &Arc<SessionCard>) {
    let facts = card.facts();
    let database = session.catalog.database(&facts.database).map_or(0, |database| database.id);
    let text = options_text(&facts.options);
    let values = [
        Value::Bool(false),
        Value::UInt(u64::from(database.cast_unsigned())),
        Value::UInt(u64::from(facts.client.packet_size)),
        Value::UInt(u64::from(card.id.cast_unsigned())),
        Value::Bytes(&options_bits(&facts.options)),
        Value::Text(&text),
        Value::Text(&facts.database),
    ];
    fire_at(session, started, &EXISTING_CONNECTION, &values);
}

/// Returns whether an event is existing_connection.
pub fn wants_existing(event: &'static Event) -> bool {
    *event == EXISTING_CONNECTION
}

/// Returns the login's options as SET statements.
fn options_text(options: &Options) -> String {
    let switch = |on: bool| if on { "on" } else { "off" };
    format!(
        "-- network protocol: TCP/IP\nset quoted_identifier {}\nset arithabort {}\nset numeric_roundabort off\nset ansi_warnings {}\nset ansi_padding {}\nset ansi_nulls {}\nset concat_null_yields_null {}\nset cursor_close_on_commit off\nset implicit_transactions {}\nset language {}\nset dateformat {}\nset datefirst {}\nset transaction isolation level read committed\n",
        switch(options.quoted_identifier),
        switch(options.arith_abort),
        switch(options.ansi_warnings),
        switch(options.ansi_padding),
        switch(options.ansi_nulls),
        switch(options.concat_null_yields_null),
        switch(options.implicit_transactions),
        options.language.name(),
        date_format(options.date_format),
        options.date_first,
    )
}

/// Returns the same options as bits, numbered like `@@OPTIONS`.
fn options_bits(options: &Options) -> [u8; 4] {
    options.bits().to_le_bytes()
}

fn date_format(format: types::convert::DateFormat) -> &'static str {
    format.name()
}
