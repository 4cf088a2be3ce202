//! The context that actions and predicate sources read: what the thread currently works for.
//!
//! A request that may be asked about publishes its context here before it runs. Reading takes no
//! lock and does not allocate, since the event may be that of an allocation. Nothing is published
//! while no event session needs it: their needs are counted when they start and stop.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::sync::Arc;

use sos::sync::{AtomicU32, Ordering};
use sos::xe::{ActionSource, Event, Reader, SessionSpec, TargetSpec, Value};

use super::action::Known;
use super::list;
use crate::SessionState;

/// Maximum number of frames kept of a stack of statements.
const FRAMES_MAX: usize = 32;
/// Maximum length of a stack's text in bytes: it is built on the thread's stack.
const STACK_TEXT_MAX: usize = 6 * 1024;

/// Number of event sessions that need request facts in events of the machine layer.
static ASKED_ANYWHERE: AtomicU32 = AtomicU32::new(0);
/// Number of event sessions that need request facts, by event of the engine.
static ASKED: [AtomicU32; list::COUNT] = [const { AtomicU32::new(0) }; list::COUNT];
/// Number of event sessions that need the running statement, or collect statement events.
static STATEMENTS: AtomicU32 = AtomicU32::new(0);

/// Numbers of event sessions that collect RPCs as received, and their OUTPUT parameters.
static DATA_STREAMS: AtomicU32 = AtomicU32::new(0);
static OUTPUT_PARAMETERS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
    /// Id of the session that an engine event is being fired for; 0 for none.
    static FIRING: Cell<i16> = const { Cell::new(0) };
}

/// The published facts of a request.
struct Context {
    session: i16,
    text: String,
    database_id: i16,
    database: Arc<str>,
    program: String,
    host: String,
    process: u32,
    login: String,
    original_login: Arc<str>,
    server: String,
    transaction: i64,
    context_info: Vec<u8>,
    trace: Option<Arc<str>>,
    /// Running statements, each called by the one before.
    frames: Vec<Frame>,
}

/// A statement that is running.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// `sql_handle` of its program.
    pub sql_handle: [u8; plan::stats::Handle::BYTES],
    /// `plan_handle` of its program.
    pub plan_handle: [u8; plan::stats::Handle::BYTES],
    /// Line of the statement.
    pub line: u32,
    /// Offset of its first byte in the UTF-16 text.
    pub start: i32,
    /// Offset of its last byte; -1 for the end of the text.
    pub end: i32,
    /// Hash of its text; 0 if it is no query.
    pub query_hash: u64,
    /// Hash of its plan; 0 if it has none yet.
    pub plan_hash: u64,
}

/// Returns whether an event session needs each statement: one load.
#[inline]
pub fn follows_statements() -> bool {
    // Relaxed: a missed statement ran while the event session was starting.
    STATEMENTS.load(Ordering::Relaxed) != 0
}

/// Returns whether an event session collects `data_stream` of rpc_starting or rpc_completed, the
/// RPC as received: one load.
#[inline]
pub fn wants_data_stream() -> bool {
    // Relaxed: as in `follows_statements`.
    DATA_STREAMS.load(Ordering::Relaxed) != 0
}

/// Returns whether an event session collects `output_parameters` of rpc_completed: one load.
#[inline]
pub fn wants_output_parameters() -> bool {
    // Relaxed: as in `follows_statements`.
    OUTPUT_PARAMETERS.load(Ordering::Relaxed) != 0
}

/// Returns whether an event session needs request facts in events of the machine layer: one load.
#[inline]
pub fn is_asked_anywhere() -> bool {
    // Relaxed: as in `follows_statements`.
    ASKED_ANYWHERE.load(Ordering::Relaxed) != 0
}

/// Returns whether an event session needs request facts in an engine event.
fn is_asked(event: &'static Event) -> bool {
    let place = list::EVENTS.iter().position(|other| *other == event);
    // Relaxed: as in `follows_statements`.
    place.is_some_and(|place| ASKED[place].load(Ordering::Relaxed) != 0)
}

/// Fires an engine event; actions read the session's facts.
#[cold]
pub fn fire(session: &SessionState, event: &'static Event, values: &[Value<'_>]) {
    fire_by(session, event, String::new, || sos::xe::fire(event, values));
}

/// Like [`fire`], where `text` is what the client has sent.
#[cold]
pub fn fire_of(session: &SessionState, text: &str, event: &'static Event, values: &[Value<'_>]) {
    fire_by(session, event, || text.to_owned(), || sos::xe::fire(event, values));
}

/// Like [`fire`], to one event session only, by its address.
#[cold]
pub fn fire_at(session: &SessionState, at: usize, event: &'static Event, values: &[Value<'_>]) {
    fire_by(session, event, String::new, || sos::xe::fire_at(at, event, values));
}

fn fire_by(
    session: &SessionState,
    event: &'static Event,
    text: impl FnOnce() -> String,
    fire: impl FnOnce(),
) {
    let filled = is_asked(event) && enter(session, text);
    FIRING.set(session.connection.id);
    sos::xe::supplied_by(&SOURCE, fire);
    FIRING.set(0);
    if filled {
        leave();
    }
}

/// Publishes the context of a session's request, unless one is published; returns whether it did.
fn enter(session: &SessionState, text: impl FnOnce() -> String) -> bool {
    let is_there = CURRENT.with(|current| current.borrow().is_some());
    if is_there {
        return false;
    }
    let mut context = Context::of(session);
    context.text = text();
    if context.text.is_empty() {
        context.text = last_text(session);
    }
    CURRENT.set(Some(context));
    true
}

/// Returns the text of the program that the request began with.
fn last_text(session: &SessionState) -> String {
    let serial = session.accounting.meter.live().request_program();
    let books = session.instance.statistics.by_serial(serial);
    books.map(|books| books.text()).unwrap_or_default()
}

fn leave() {
    CURRENT.set(None);
}

/// Notes that a request begins, and publishes its context if needed; [`end`] must follow.
#[inline]
pub fn begin(session: &SessionState, text: impl FnOnce() -> String) -> bool {
    is_asked_anywhere() && enter(session, text)
}

/// Notes that a request has ended, and withdraws what [`begin`] has published.
pub fn end(begun: bool) {
    if begun {
        leave();
    }
}

/// Notes that a statement begins at a nesting level; deeper statements have ended.
pub fn enter_statement(session: &SessionState, frame: Frame) {
    let level = usize::try_from(session.request.nest_level).unwrap_or(FRAMES_MAX);
    CURRENT.with(|current| {
        if let Some(context) = current.borrow_mut().as_mut() {
            context.frames.truncate(level.min(FRAMES_MAX));
            context.frames.push(frame);
            context.database = Arc::clone(&session.identity.database);
            context.transaction = transaction_of(session);
        }
    });
}

fn transaction_of(session: &SessionState) -> i64 {
    let number = session.locks.owner().transaction().map_or(0, |transaction| transaction.number);
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Context {
    fn of(session: &SessionState) -> Self {
        let database = session.catalog.database(&session.identity.database);
        Self {
            session: session.connection.id,
            text: String::new(),
            database_id: database.map_or(0, |database| database.id),
            database: Arc::clone(&session.identity.database),
            program: session.connection.client.program_name.clone(),
            host: session.connection.client.host_name.clone(),
            process: session.connection.client.process_id,
            login: session.identity.login.clone(),
            original_login: Arc::clone(&session.connection.original_login),
            server: session.instance.config.server_name.clone(),
            transaction: transaction_of(session),
            context_info: session.held.context_info.as_slice().to_vec(),
            trace: session.accounting.trace.get(),
            frames: Vec::new(),
        }
    }

    fn give(&self, fact: Known, give: &mut dyn FnMut(Value<'_>)) {
        match fact {
            Known::SessionId => give(Value::UInt(u64::from(self.session.cast_unsigned()))),
            Known::RequestId => give(Value::UInt(0)),
            Known::SqlText => give(Value::Text(&self.text)),
            Known::TsqlStack => self.give_frames(&mut self.frames.iter().rev(), give),
            Known::TsqlFrame => self.give_frames(&mut self.frames.iter().rev().take(1), give),
            Known::PlanHandle => {
                let handle = self.frames.last().map(|frame| &frame.plan_handle);
                give(handle.map_or(Value::Null, |handle| Value::Bytes(handle)));
            }
            Known::QueryHash => give(Value::UInt(self.frames.last().map_or(0, |f| f.query_hash))),
            Known::QueryPlanHash => {
                give(Value::UInt(self.frames.last().map_or(0, |f| f.plan_hash)));
            }
            Known::QueryHashSigned => {
                give(Value::Int(self.frames.last().map_or(0, |f| f.query_hash.cast_signed())));
            }
            Known::QueryPlanHashSigned => {
                give(Value::Int(self.frames.last().map_or(0, |f| f.plan_hash.cast_signed())));
            }
            Known::DatabaseId => give(Value::UInt(u64::from(self.database_id.cast_unsigned()))),
            Known::DatabaseName => give(Value::Text(&self.database)),
            Known::ClientAppName => give(Value::Text(&self.program)),
            Known::ClientHostname => give(Value::Text(&self.host)),
            Known::ClientPid => give(Value::UInt(u64::from(self.process))),
            // All logins are SQL Server logins, none Windows logins.
            Known::NtUsername | Known::SessionNtUsername => give(Value::Text("")),
            Known::Username | Known::ServerPrincipalName => give(Value::Text(&self.login)),
            Known::SessionServerPrincipalName => give(Value::Text(&self.original_login)),
            Known::IsSystem => give(Value::Bool(false)),
            Known::TransactionId => give(Value::Int(self.transaction)),
            Known::ServerInstanceName => give(Value::Text(&self.server)),
            Known::ContextInfo => give(Value::Bytes(&self.context_info)),
            Known::Traceparent => give(Value::Text(self.trace.as_deref().unwrap_or_default())),
        }
    }

    /// Builds `<frames><frame level='1' handle='0x..' line='1' offsetStart='0'
    /// offsetEnd='-1'/></frames>`.
    fn give_frames(
        &self,
        frames: &mut dyn Iterator<Item = &Frame>,
        give: &mut dyn FnMut(Value<'_>),
    ) {
        let mut text = Buffer::default();
        text.put("<frames>");
        for (level, frame) in (1..).zip(frames) {
            if text.left() < FRAME_TEXT_MAX {
                break;
            }
            // It fits: the room was checked just before.
            let _ = write!(text, "<frame level='{level}' handle='0x");
            for byte in frame.sql_handle {
                let _ = write!(text, "{byte:02X}");
            }
            let Frame { line, start, end, .. } = frame;
            let _ = write!(text, "' line='{line}' offsetStart='{start}' offsetEnd='{end}'/>");
        }
        text.put("</frames>");
        give(Value::Text(text.text()));
    }
}

/// Maximum length of a frame's text and the closing tag, in bytes.
const FRAME_TEXT_MAX: usize = 192;

/// A text buffer of fixed size on the stack.
struct Buffer {
    bytes: [u8; STACK_TEXT_MAX],
    used: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: [0; STACK_TEXT_MAX], used: 0 }
    }
}

impl Buffer {
    fn left(&self) -> usize {
        STACK_TEXT_MAX - self.used
    }

    fn put(&mut self, text: &str) {
        let end = self.used + text.len();
        if let Some(room) = self.bytes.get_mut(self.used..end) {
            room.copy_from_slice(text.as_bytes());
            self.used = end;
        }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.used]).unwrap_or_default()
    }
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.put(text);
        Ok(())
    }
}

/// Reads facts for the actions of the package `sqlserver`.
#[derive(Debug)]
struct Source;

/// The only instance of [`Source`].
static SOURCE: Source = Source;

/// Runs code for a client's request; actions on this thread are answered from its context.
#[inline]
pub fn serve<R>(run: impl FnOnce() -> R) -> R {
    sos::xe::supplied_by(&SOURCE, run)
}

impl ActionSource for Source {
    fn read(&self, number: u16, give: &mut dyn FnMut(Value<'_>)) {
        let Some(fact) = Known::of(number) else { return give(Value::Null) };
        CURRENT.with(|current| {
            // The context is borrowed mutably if this event is an allocation made while it is being
            // changed.
            match current.try_borrow().ok().as_deref() {
                Some(Some(context)) => context.give(fact, give),
                Some(None) | None => give_without(fact, give),
            }
        });
    }
}

/// Returns a fact when no request has published a context: only the session is known.
fn give_without(fact: Known, give: &mut dyn FnMut(Value<'_>)) {
    let session = match FIRING.get() {
        0 => sos::sched::working_for(),
        firing => crate::session_number(firing),
    };
    match fact {
        Known::SessionId => give(Value::UInt(u64::from(session))),
        Known::IsSystem => give(Value::Bool(session == 0)),
        Known::RequestId if session != 0 => give(Value::UInt(0)),
        _ => give(Value::Null),
    }
}

/// Counts what an event session needs, when it starts (`by` 1) or stops (-1).
pub fn count(spec: &SessionSpec, by: i32) {
    let change = |cell: &AtomicU32| {
        // Relaxed: as in `follows_statements`.
        if by > 0 {
            cell.fetch_add(1, Ordering::Relaxed)
        } else {
            cell.fetch_sub(1, Ordering::Relaxed)
        }
    };
    let grouped: Vec<Known> = spec.targets.iter().flat_map(grouped_by).collect();
    let mut anywhere = false;
    let mut statements = false;
    for event in &spec.events {
        for (setting, cell) in [
            ("collect_data_stream", &DATA_STREAMS),
            ("collect_output_parameters", &OUTPUT_PARAMETERS),
        ] {
            let place = event.event.settings.iter().position(|other| other.name == setting);
            if place.is_some_and(|place| event.settings.contains(&(place, true))) {
                change(cell);
            }
        }
        let mut asked: Vec<Known> = event.actions.iter().filter_map(|a| known(a.reader)).collect();
        asked.extend(&grouped);
        if let Some(predicate) = &event.predicate {
            collect(predicate, &mut asked);
        }
        statements |=
            list::is_of_statements(event.event) || asked.iter().any(|f| f.is_of_statement());
        let dear = asked.iter().any(|fact| !fact.is_free());
        let place = list::EVENTS.iter().position(|other| *other == event.event);
        match place.filter(|_| !list::is_fired_deep(event.event)) {
            Some(place) if dear => {
                change(&ASKED[place]);
            }
            Some(_) => {}
            None => anywhere |= dear,
        }
    }
    // The statement stack must be followed from the start of a request, whatever thread fires.
    if anywhere || statements {
        change(&ASKED_ANYWHERE);
    }
    if statements {
        change(&STATEMENTS);
    }
}

/// Returns the fact that a histogram target groups by.
fn grouped_by(target: &TargetSpec) -> Option<Known> {
    let (_, source) = target.parameters.iter().find(|(name, _)| name == "source")?;
    let (package, name) = source.split_once('.')?;
    known(super::registry::action(package, name)?.reader)
}

fn known(reader: Reader) -> Option<Known> {
    match reader {
        Reader::Caller(number) => Known::of(number),
        Reader::Machine(_) => None,
    }
}

fn collect(predicate: &sos::xe::Predicate, asked: &mut Vec<Known>) {
    use sos::xe::{Predicate, PredicateInput};
    match predicate {
        Predicate::And(left, right) | Predicate::Or(left, right) => {
            collect(left, asked);
            collect(right, asked);
        }
        Predicate::Not(inner) => collect(inner, asked),
        Predicate::Compare(comparison) => match comparison.input {
            PredicateInput::Source(source) => asked.extend(known(source.reader)),
            PredicateInput::Field(_) => {}
        },
    }
}
