//! Leads a region: starts helpers, runs the leader's part, and collects the helpers' results.

use std::sync::Arc;

use sos::ledger::{self, Label, SessionBooks};
use sos::lock::{SpinClass, SpinLock};
use sos::sched::{Bell, Crew};
use storage::Reader;
use types::{Error, Msg, Result, Value};

use super::Tables;
use super::regions::{Piece, definition_of};
use catalog::TableRows;
use executor::Host;
use executor::Profile;
use executor::eval::{Kept, eval};
use executor::fault::Interruption;
use executor::grant::STEP_BYTES;
use executor::parallel::{Region, Share};
use executor::query::{Flow, Rows, column_view, read_mode, table_data};
use executor::{Cx, Frame, FrameTables};
use plan::expr::{Expr, ExprKind};
use plan::sink::{ColumnInfo, Done, EnvChange, ResultShape, ResultSink, Sent};
use plan::stats::{Io, Spend};
use plan::walk;
use session::live_profile::LiveProfile;
use session::{SessionState, session_number};

/// The part of a region's work that a helper does.
pub(crate) trait Help<'p>: Sync {
    /// The result of a helper.
    type Out: Send;

    /// Does the work: takes parts of the driving scan until there are none.
    ///
    /// # Errors
    /// The errors of evaluating expressions.
    fn help<'h>(&self, cx: &mut Cx<'_>, rows: &mut Rows<'h>, desk: &Desk<'_>) -> Result<Self::Out>
    where
        'p: 'h;
}

/// A helper's access to the other workers.
pub(crate) struct Desk<'d> {
    pub(super) bell: &'d Bell,
    pub(super) share: &'d Arc<Share>,
    /// The hash tables that the leader has built.
    pub(crate) tables: &'d Tables,
}

/// Leads a region: `lead` does the leader's part, helpers do theirs. `pieces` are the expressions
/// and scans of the region. Returns the helpers' results; `None`, and nothing is done, if the
/// region should run without helpers.
///
/// # Errors
/// The error of the first worker that failed.
pub(crate) fn lead<'p, H: Help<'p>>(
    region: Region,
    (pieces, tables): (&[Piece<'p>], Tables),
    help: &H,
    cx: &mut Cx<'_>,
    rows: &mut Rows<'p>,
    lead: &mut dyn FnMut(&mut Cx<'_>, &mut Rows<'p>, &Crew<'_>, &Share) -> Result<Flow>,
) -> Result<Option<(Flow, Vec<H::Out>)>> {
    let machine = Arc::clone(&cx.session.instance.machine);
    let count = (region.degree - 1).min(machine.idle_schedulers());
    if count == 0 || !prepare(pieces, cx, rows)? {
        return Ok(None);
    }
    // From here on the query has memory, so helpers never wait for a first grant.
    let mut charge = cx.session.accounting.grant.charge(0);
    if let Err(error) = charge.add(usize::try_from(STEP_BYTES).unwrap_or(0)) {
        // Without memory for helpers, the leader can still run alone.
        return if cx.session.connection.cancel.is_set() { Err(error) } else { Ok(None) };
    }
    let share = Arc::new(Share::new(region.driver));
    let errand = Errand::of(cx);
    let transaction = rows.transaction;
    let seats: Vec<_> = (0..count)
        .map(|_| SpinLock::new(SpinClass::ServerOther, Some(Seat::new(cx, transaction.reader()))))
        .collect();
    let returns: Vec<SpinLock<Option<Return<H::Out>>>> =
        (0..count).map(|_| SpinLock::new(SpinClass::ServerOther, None)).collect();
    let work = |number: usize, bell: &Bell| {
        let Some(seat) = seats[number].lock().take() else { return };
        let mut stops = Stops { share: &share, bell, is_armed: true };
        let returned =
            seat.work(number, &errand, help, &Desk { bell, share: &share, tables: &tables });
        stops.is_armed = returned.done.is_err();
        *returns[number].lock() = Some(returned);
    };
    cx.session.accounting.meter.begin_parallel(count + 1);
    if let Some(profile) = &mut cx.profile {
        profile.note_degree(count + 1);
    }
    let led = machine.crew(count, &work, |crew| {
        let bell = crew.bell();
        let mut stops = Stops { share: &share, bell: &bell, is_armed: true };
        let before = cx.parallel.share.replace(Arc::clone(&share));
        let led = lead(cx, rows, crew, &share);
        cx.parallel.share = before;
        stops.is_armed = !matches!(led, Ok(Flow::More));
        led
    });
    let returns = returns.iter().filter_map(|returned| returned.lock().take()).collect();
    collect(led, returns, cx).map(Some)
}

/// Stops the other workers when dropped: after an error, a panic, or when enough rows were seen.
struct Stops<'s> {
    share: &'s Share,
    bell: &'s Bell,
    is_armed: bool,
}

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            self.share.stop();
            self.bell.notify();
        }
    }
}

/// Evaluates the expressions that are evaluated once per statement, and fixes the snapshots.
/// `false` if one fails with an error that only a row that needs it may report.
fn prepare<'p>(pieces: &[Piece<'p>], cx: &mut Cx<'_>, rows: &Rows<'p>) -> Result<bool> {
    cx.now();
    for piece in pieces {
        match piece {
            Piece::Expr(expr) => {
                let mut found = Vec::new();
                find_once(expr, &mut found);
                for once in found {
                    if let Err(error) = eval(once, cx) {
                        if cx.fault.is_some() || cx.interrupted.is_some() {
                            return Err(error);
                        }
                        return Ok(false);
                    }
                }
            }
            Piece::Scan(scan) => {
                let read = read_mode(definition_of(scan), scan.hints, cx)?;
                rows.transaction.fix_snapshot(table_data(scan, rows), read.isolation);
                // Taken before the helpers' readers exist, which use it.
                column_view(scan, cx, rows)?;
            }
        }
    }
    Ok(true)
}

fn find_once<'e>(expr: &'e Expr, found: &mut Vec<&'e Expr>) {
    match expr.kind {
        ExprKind::Once(..) => found.push(expr),
        _ => walk::operands(expr, &mut |operand| find_once(operand, found)),
    }
}

/// State of the leader's statement that all helpers need.
struct Errand {
    statement: u64,
    activity: Option<sos::xe::Activity>,
    is_profiled: bool,
    /// What other sessions see of the statement's operators.
    shown: Option<Arc<LiveProfile>>,
}

impl Errand {
    fn of(cx: &Cx<'_>) -> Self {
        Self {
            statement: cx.session.accounting.meter.statement_number(),
            activity: sos::xe::present_activity(),
            is_profiled: cx.profile.is_some(),
            shown: cx.profile.as_ref().and_then(|profile| profile.live().cloned()),
        }
    }

    /// Returns an empty profile for the helper of this number, if the statement has one.
    fn profile(&self, part: u32) -> Option<Box<Profile>> {
        let shown = self.shown.as_ref().map(|live| Profile::shown(Arc::clone(live), part));
        self.is_profiled.then(|| Box::new(shown.unwrap_or_default()))
    }
}

/// The input of a helper.
struct Seat<'t> {
    host: &'static dyn Host,
    session: SessionState,
    reader: Reader<'t>,
    variables: Vec<Value>,
    tables: Vec<Arc<TableRows>>,
    procedure_id: i32,
    registers: Vec<Value>,
    kept: Vec<Option<Kept>>,
    now: Option<types::date::Moment>,
}

/// The output of a helper.
struct Return<T> {
    done: Result<T>,
    fault: Option<storage::Error>,
    interrupted: Option<Interruption>,
    null_eliminated: bool,
    profile: Option<Box<Profile>>,
    messages: Vec<Error>,
    books: Arc<SessionBooks>,
    spent: Spend,
    io: Io,
}

impl<'t> Seat<'t> {
    fn new(cx: &Cx<'_>, reader: Reader<'t>) -> Self {
        Self {
            host: cx.host,
            session: cx.session.helper(),
            reader,
            variables: cx.frame.variables.clone(),
            tables: cx.frame.tables.clone(),
            procedure_id: cx.frame.procedure_id,
            registers: cx.registers.clone(),
            kept: cx.kept.clone(),
            now: cx.now,
        }
    }

    fn work<'p, H: Help<'p>>(
        mut self,
        number: usize,
        errand: &Errand,
        help: &H,
        desk: &Desk<'_>,
    ) -> Return<H::Out>
    where
        'p: 't,
    {
        let books = Arc::clone(&self.session.accounting.books);
        let part = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let tag = session_number(self.session.connection.id);
        let (mut returned, spent) = ledger::request(Some(&books), || {
            let before = Spend::from(ledger::spent());
            let _helping = sos::sched::help_for(tag, part, before.worker());
            ledger::set_statement(errand.statement);
            ledger::label(Label::Execute);
            errand.activity.into_iter().for_each(sos::xe::goes_on_with);
            let returned = self.evaluate(errand.profile(part), help, desk);
            ledger::set_statement(0);
            let after = Spend::from(ledger::spent());
            (returned, after - before)
        });
        returned.books = books;
        returned.spent = spent;
        returned.io = self.session.accounting.meter.io();
        returned
    }

    fn evaluate<'p, H: Help<'p>>(
        &mut self,
        profile: Option<Box<Profile>>,
        help: &H,
        desk: &Desk<'_>,
    ) -> Return<H::Out>
    where
        'p: 't,
    {
        let mut frame = Frame {
            variables: std::mem::take(&mut self.variables),
            tables: FrameTables::lent(std::mem::take(&mut self.tables)),
            procedure_id: self.procedure_id,
            ..Frame::default()
        };
        let tables = frame.tables.clone();
        let mut heard = Heard::default();
        let mut cx = Cx::new(self.host, &mut self.session, &mut frame, &mut heard);
        cx.registers = std::mem::take(&mut self.registers);
        cx.kept = std::mem::take(&mut self.kept);
        cx.now = self.now;
        cx.profile = profile;
        cx.parallel.is_helper = true;
        cx.parallel.share = Some(Arc::clone(desk.share));
        let current = smallvec::SmallVec::new();
        let mut rows = Rows { transaction: &self.reader, tables: &tables, current };
        let done = help.help(&mut cx, &mut rows, desk);
        Return {
            done,
            fault: cx.fault.take(),
            interrupted: cx.interrupted.take(),
            null_eliminated: cx.null_eliminated,
            profile: cx.profile.take(),
            messages: heard.0,
            books: Arc::default(),
            spent: Spend::default(),
            io: Io::default(),
        }
    }
}

/// Merges the helpers' output into the leader's context.
fn collect<T>(
    mut led: Result<Flow>,
    returns: Vec<Return<T>>,
    cx: &mut Cx<'_>,
) -> Result<(Flow, Vec<T>)> {
    let mut outs = Vec::with_capacity(returns.len());
    for returned in returns {
        cx.session.accounting.books.absorb(&returned.books);
        cx.session.accounting.meter.helped(&returned.spent);
        cx.session.accounting.meter.add_io(returned.io);
        cx.null_eliminated |= returned.null_eliminated;
        if let (Some(profile), Some(theirs)) = (&mut cx.profile, &returned.profile) {
            profile.absorb(theirs);
        }
        for message in &returned.messages {
            executor::fault::sent_message(cx, message)?;
        }
        match returned.done {
            Ok(out) => outs.push(out),
            Err(error) if led.is_ok() => {
                cx.fault = returned.fault;
                cx.interrupted = returned.interrupted;
                led = Err(error);
            }
            Err(_) => {}
        }
    }
    Ok((led?, outs))
}

/// Collects the messages of expressions, the only output that a helper may send.
#[derive(Default)]
struct Heard(Vec<Error>);

impl Heard {
    /// A helper sends no results: this is an internal error.
    fn unexpected(&mut self) -> Sent {
        self.0.push(Msg::InternalError.into());
        Err(plan::sink::Disconnected)
    }
}

impl ResultSink for Heard {
    fn columns(&mut self, _: &ResultShape) -> Sent {
        self.unexpected()
    }

    fn row(&mut self, _: &[Value]) -> Sent {
        self.unexpected()
    }

    fn done(&mut self, _: Done) -> Sent {
        self.unexpected()
    }

    fn message(&mut self, message: &Error) -> Sent {
        self.0.push(message.clone());
        Ok(())
    }

    fn return_status(&mut self, _: i32) -> Sent {
        self.unexpected()
    }

    fn return_value(&mut self, _: u16, _: &ColumnInfo, _: &Value) -> Sent {
        self.unexpected()
    }

    fn env_change(&mut self, _: &EnvChange<'_>) -> Sent {
        self.unexpected()
    }

    fn flush(&mut self) -> Sent {
        self.unexpected()
    }
}
