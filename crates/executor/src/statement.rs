//! Runs one bound statement: in the session's transaction, in its own transaction, which is
//! restarted after conflicts, or, for a point statement, directly on the row.

use storage::{Error as StorageError, Scope, Transaction, TransactionOptions};
use types::{Msg, Result, Value};

use crate::eval::{eval, truth};
use crate::query::{Flow, encode_seek_key, load, run_output};
use crate::{Cx, StatementResult, arithmetic, dml, fault, trigger};
use catalog::TableDef;
use plan::query::{Access, Node, Query, Scan};
use plan::sink::Command;
use plan::statement::{Bound, Course, Scalar, Select, SelectAssign, table_of};
use plan::walk;
use session::IsolationLevel;
use session::instance::SessionCounter;

/// Rows collected between two checks for memory.
const ROWS_PER_MEMORY_CHECK: usize = 64;

/// Runs a bound data statement.
///
/// # Errors
/// The errors of the statement. [`Cx::interrupted`] is set if the client cancelled it or has
/// disconnected.
pub fn run_bound(bound: &Bound, cx: &mut Cx<'_>) -> Result<StatementResult> {
    cx.now = None;
    cx.null_eliminated = false;
    cx.fault = None;
    cx.fires = false;
    cx.kept.clear();
    begin_time(cx);
    cx.parallel.assigns = matches!(bound, Bound::SelectAssign(_));
    let done = match bound {
        Bound::Select(select) => run_select(select, cx),
        Bound::SelectAssign(select) => run_assign(select, cx),
        Bound::SelectInto(into) => cx.host.select_into(into, cx),
        Bound::Insert(insert) => dml::run_insert(insert, cx),
        Bound::Update(update) => dml::run_update(update, cx),
        Bound::Delete(delete) => dml::run_delete(delete, cx),
        Bound::Instead(instead) => dml::run_instead(instead, cx),
        Bound::Merge(merge) => dml::run_merge(merge, cx),
        Bound::Truncate(table) => dml::run_truncate(table, cx),
        Bound::Scalar(scalar) => {
            run_scalar(scalar, cx)?;
            Ok(StatementResult { command: Command::NONE, rows: 0 })
        }
    };
    let done = match bound.outer() {
        Some(_) => done.map(|done| StatementResult { command: Command::INSERT, ..done }),
        None => done,
    };
    if cx.null_eliminated && cx.session.options.ansi_warnings {
        let warning = types::Error::from(Msg::NullEliminated).at_line(cx.session.request.line);
        let sent = cx.sink.message(&warning);
        fault::sent(cx, sent)?;
    }
    arithmetic::report(cx)?;
    done
}

/// Resets the transaction time for a statement outside a transaction: it gets its own.
pub(crate) fn begin_time(cx: &mut Cx<'_>) {
    if cx.transaction.is_none() && cx.session.transaction.count == 0 {
        cx.session.transaction.time = None;
        cx.session.transaction.renewals = 0;
    }
}

/// Evaluates a bound expression: SET, IF, WHILE, arguments. Begins a transaction if it reads
/// tables.
///
/// # Errors
/// The errors of the expression.
pub fn run_scalar(scalar: &Scalar, cx: &mut Cx<'_>) -> Result<Value> {
    cx.now = None;
    cx.kept.clear();
    prepare(cx, scalar.registers);
    let value = eval(&scalar.expr, cx);
    arithmetic::report(cx)?;
    value
}

/// Makes room for a statement's registers. Values of earlier statements are not cleared: every
/// register is filled before it is read.
#[inline]
pub fn prepare(cx: &mut Cx<'_>, registers: u32) {
    let registers = registers as usize;
    if cx.registers.len() < registers {
        cx.registers.resize(registers, Value::Null);
    }
}

/// Counts the transaction of a point statement, in the session's own cache line.
pub(crate) fn count_point(cx: &Cx<'_>) {
    cx.session.accounting.database_counters.transactions.add(1);
}

/// Counts the write or the failure of a point statement.
pub(crate) fn count_point_end(cx: &Cx<'_>, rows: Option<u64>) {
    match rows {
        Some(0) => {}
        Some(_) => cx.session.accounting.database_counters.writes.add(1),
        None => cx.session.accounting.counters.count(SessionCounter::Aborts),
    }
}

/// Notes the table whose rows a statement changes: it says whether its commit waits for the log.
#[inline]
pub(crate) fn note_target(table: &TableDef, cx: &mut Cx<'_>) {
    let has_own = cx.transaction.is_none() && cx.session.transaction.count == 0;
    cx.session.note_target(table, has_own);
}

/// Returns true if a point statement may run directly on the row: no transaction is open.
fn is_alone(cx: &Cx<'_>) -> bool {
    // A profile needs operators to count.
    cx.transaction.is_none() && cx.session.transaction.count == 0 && cx.profile.is_none()
}

/// Returns true if a point statement may change a row of the table in place. A statement outside a
/// transaction reads a memory-optimized table READ COMMITTED, whatever the level of the session or
/// of an atomic block (`read_mode`).
pub(crate) fn is_free(table: &TableDef, cx: &Cx<'_>) -> bool {
    is_alone(cx) && (cx.session.isolation != IsolationLevel::Snapshot || table.memory_optimized)
}

/// Returns true if a point statement may read the newest committed row without a transaction.
fn may_look(root: &Node, cx: &Cx<'_>) -> bool {
    let is_optimized =
        || matches!(root, Node::Scan(scan) if table_of(&scan.table).memory_optimized);
    is_alone(cx) && (cx.session.isolation == IsolationLevel::ReadCommitted || is_optimized())
}

/// Returns the options of a storage transaction, from the session's settings.
pub fn options(cx: &Cx<'_>) -> TransactionOptions {
    // The effects of triggers can't be repeated after a conflict.
    let explicit = cx.session.transaction.count > 0 || cx.fires;
    let scope = if explicit { Scope::Explicit } else { Scope::Statement };
    let lock_timeout_ms = u32::try_from(cx.session.options.lock_timeout_ms).ok();
    let cancel = Some(std::sync::Arc::clone(&cx.session.connection.cancel));
    let session = cx.session.tag();
    TransactionOptions { scope, lock_timeout_ms, cancel, session, is_lazy: cx.session.is_lazy() }
}

/// Runs `work` in the session's transaction, or in a transaction of the statement, which is
/// repeated after a conflict. Inside the session's transaction, a failed statement is undone.
pub fn in_transaction<T>(
    cx: &mut Cx<'_>,
    work: &mut dyn FnMut(&mut Cx<'_>) -> Result<T>,
) -> Result<T> {
    if cx.transaction.is_some() {
        return work(cx);
    }
    cx.picking = dml::Picking::repeatable();
    let active = cx.session.transaction.active.take();
    let mut transaction = match active {
        Some(mut transaction) => {
            transaction.next_statement();
            // The session may have changed them since the transaction began.
            let options = &cx.session.options;
            transaction.set_lock_timeout(u32::try_from(options.lock_timeout_ms).ok());
            transaction.set_deadlock_priority(options.deadlock_priority);
            transaction.set_plan(cx.session.catalog.version);
            transaction
        }
        None => {
            cx.session.accounting.database_counters.transactions.add(1);
            cx.session.instance.store.begin(options(cx))
        }
    };
    if cx.session.transaction.count > 0 {
        return in_explicit(transaction, cx, work);
    }
    cx.scratch.variables.clone_from(&cx.frame.variables);
    loop {
        let (left, done) = run_whole(transaction, cx, work);
        let Some(left) = left else { return done };
        transaction = left;
        let restart = match done {
            Ok(done) => match commit(transaction, cx) {
                Ok(()) => return Ok(done),
                Err(StorageError::Restart) => {
                    transaction = cx.session.instance.store.begin(options(cx));
                    true
                }
                Err(error) => return Err(fault::raise(cx, error)),
            },
            Err(_)
                if cx.picking.begins_again(cx.fault.as_ref())
                    || cx.fault == Some(StorageError::Restart) =>
            {
                transaction.restart().map_err(|e| fault::raise(cx, e))?;
                true
            }
            Err(error) => {
                transaction.rollback();
                cx.session.accounting.counters.count(SessionCounter::Aborts);
                return Err(error);
            }
        };
        debug_assert!(restart, "only a restart goes round");
        begin_again(cx)?;
    }
}

/// Runs `work` in the session's transaction, as [`in_transaction`].
fn in_explicit<T>(
    mut transaction: Transaction,
    cx: &mut Cx<'_>,
    work: &mut dyn FnMut(&mut Cx<'_>) -> Result<T>,
) -> Result<T> {
    let savepoint = transaction.savepoint();
    let done = loop {
        let (left, done) = run_whole(transaction, cx, work);
        let Some(left) = left else { return done };
        transaction = left;
        if !cx.picking.begins_again(cx.fault.as_ref()) {
            if done.is_err() && !transaction.is_doomed() {
                transaction.rollback_to(savepoint);
            }
            break done;
        }
        // What a lost round has claimed is not kept: others, which it waits for in the next
        // round, may wait for it.
        transaction.withdraw_to(savepoint);
        transaction.next_statement();
        // A cancelled statement leaves the transaction to the session.
        if let Err(cancelled) = begin_again(cx) {
            break Err(cancelled);
        }
    };
    cx.picking = dml::Picking::default();
    transaction.rest();
    cx.session.transaction.doomed |= transaction.is_doomed();
    cx.session.transaction.active = Some(transaction);
    done
}

/// Makes the statement's state what it was before it began.
fn begin_again(cx: &mut Cx<'_>) -> Result<()> {
    cx.fault = None;
    cx.session.transaction.time = None;
    fault::check_cancel(cx)?;
    cx.frame.variables.clone_from(&cx.scratch.variables);
    Ok(())
}

/// Runs `work`, then the checks that need all changed rows, then the triggers. A trigger may end
/// the transaction.
fn run_whole<T>(
    mut transaction: Transaction,
    cx: &mut Cx<'_>,
    work: &mut dyn FnMut(&mut Cx<'_>) -> Result<T>,
) -> (Option<Transaction>, Result<T>) {
    let mut done = lend(cx, &transaction, work);
    let waiting = std::mem::take(&mut cx.waiting);
    if done.is_ok() && !waiting.is_empty() {
        done = follow(waiting, &mut transaction, cx).and(done);
    }
    let late = std::mem::take(&mut cx.late);
    if done.is_ok() && !late.is_empty() {
        transaction.next_statement();
        let checked = lend(cx, &transaction, &mut |cx| dml::check_late(&late, cx));
        done = checked.and(done);
    }
    let mut left = Some(transaction);
    if done.is_ok()
        && !cx.pending.is_empty()
        && let Some(transaction) = left.take()
    {
        let fired;
        (left, fired) = trigger::fire(cx, transaction);
        done = fired.and(done);
    }
    cx.pending.clear();
    (left, done)
}

/// Follows the foreign keys that refer to changed keys: actions, then checks, which see them.
fn follow(
    waiting: Vec<dml::Waiting>,
    transaction: &mut Transaction,
    cx: &mut Cx<'_>,
) -> Result<()> {
    transaction.next_statement();
    let mut waiting = Some(waiting);
    let checks = lend(cx, transaction, &mut |cx| {
        dml::follow_actions(waiting.take().unwrap_or_default(), cx)
    })?;
    if checks.is_empty() {
        return Ok(());
    }
    transaction.next_statement();
    lend(cx, transaction, &mut |cx| dml::check_all(&checks, cx))
}

/// Commits the transaction of a single statement.
fn commit(mut transaction: Transaction, cx: &Cx<'_>) -> storage::Result<()> {
    // Known by now: triggers may have changed another database.
    transaction.set_lazy(cx.session.is_lazy());
    let wrote = transaction.has_written();
    match transaction.commit() {
        Ok(()) => cx.session.accounting.database_counters.writes.add(u64::from(wrote)),
        // Repeated as another transaction, which is counted then.
        Err(StorageError::Restart) => return Err(StorageError::Restart),
        Err(error) => {
            cx.session.accounting.counters.count_failed_commit(&error);
            return Err(error);
        }
    }
    Ok(())
}

/// Runs `work` with a context that has the transaction.
fn lend<T>(
    cx: &mut Cx<'_>,
    transaction: &Transaction,
    work: &mut dyn FnMut(&mut Cx<'_>) -> Result<T>,
) -> Result<T> {
    let mut inner = Cx {
        host: cx.host,
        session: &mut *cx.session,
        frame: &mut *cx.frame,
        sink: &mut *cx.sink,
        registers: std::mem::take(&mut cx.registers),
        now: cx.now,
        transaction: Some(transaction),
        fault: None,
        interrupted: None,
        null_eliminated: cx.null_eliminated,
        made_null: cx.made_null,
        scratch: std::mem::take(&mut cx.scratch),
        statement_text: String::new(),
        source: std::mem::take(&mut cx.source),
        profile: cx.profile.take(),
        work_tables: std::mem::take(&mut cx.work_tables),
        kept: Vec::new(),
        parallel: cx.parallel.clone(),
        fires: cx.fires,
        pending: std::mem::take(&mut cx.pending),
        cascaded: Vec::new(),
        late: std::mem::take(&mut cx.late),
        waiting: Vec::new(),
        picking: cx.picking,
    };
    let done = work(&mut inner);
    let Cx {
        registers,
        now,
        fault,
        interrupted,
        null_eliminated,
        made_null,
        scratch,
        source,
        profile,
        work_tables,
        pending,
        cascaded,
        late,
        waiting,
        picking,
        ..
    } = inner;
    cx.pending = trigger::in_order(cascaded, pending);
    cx.late = late;
    cx.waiting = waiting;
    cx.registers = registers;
    cx.now = now;
    cx.fault = fault;
    cx.interrupted = interrupted;
    cx.null_eliminated = null_eliminated;
    cx.made_null = made_null;
    cx.scratch = scratch;
    cx.source = source;
    cx.profile = profile;
    cx.work_tables = work_tables;
    cx.picking = picking;
    done
}

fn run_select(select: &Select, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, select.registers);
    let sent = cx.sink.columns(&select.shape);
    fault::sent(cx, sent)?;
    if let Some(browse) = &select.browse {
        let sent = cx.sink.browse(&browse.tables, &browse.columns);
        fault::sent(cx, sent)?;
    }
    let mut rows = 0;
    let limit = row_limit(cx);
    if select.course == Course::Point && may_look(&select.query.root, cx) {
        count_point(cx);
        if read_point(&select.query.root, cx)? {
            send_row(&select.query, cx)?;
            rows = 1;
        }
        return Ok(StatementResult { command: Command::SELECT, rows });
    }
    if cx.session.is_transaction_shared() && cx.transaction.is_none() {
        let rows = select_in_shared(select, cx)?;
        return Ok(StatementResult { command: Command::SELECT, rows });
    }
    let work = &mut |cx: &mut Cx<'_>| {
        run_output(&select.query, cx, &mut |cx, values| {
            send(&select.query, values, cx)?;
            rows += 1;
            Ok(if rows == limit { Flow::Enough } else { Flow::More })
        })
    };
    if matches!(select.query.root, Node::OneRow) && !has_subquery(&select.query) {
        work(cx)?;
    } else {
        in_transaction(cx, work)?;
    }
    Ok(StatementResult { command: Command::SELECT, rows })
}

fn has_subquery(query: &Query) -> bool {
    query.output.iter().any(|c| walk::has_subquery(&c.expr))
}

/// Returns the limit of SET ROWCOUNT.
pub fn row_limit(cx: &Cx<'_>) -> u64 {
    match cx.session.options.row_count {
        0 => u64::MAX,
        n => n,
    }
}

/// Evaluates a query's output columns and sends the row.
fn send_row(query: &Query, cx: &mut Cx<'_>) -> Result<()> {
    let mut output = std::mem::take(&mut cx.scratch.output);
    output.clear();
    for column in &query.output {
        output.push(eval(&column.expr, cx)?);
    }
    let sent = send(query, &mut output, cx);
    cx.scratch.output = output;
    sent
}

/// Sends a row of a query's result.
fn send(query: &Query, values: &mut [Value], cx: &mut Cx<'_>) -> Result<()> {
    if cx.session.options.text_size != i32::MAX {
        cut_large(query, values, cx.session.options.text_size);
    }
    pass_row(values, cx)
}

/// Passes a row to the client. If the client of a MARS session has to read first, the other
/// sessions of its connection run during the wait.
///
/// # Errors
/// 3980 if one of them has ended the transaction that the statement runs in.
fn pass_row(values: &[Value], cx: &mut Cx<'_>) -> Result<()> {
    let sent = cx.sink.row(values);
    fault::sent(cx, sent)?;
    // Inside a storage transaction that others need, and in the middle of a change, the client is
    // waited for.
    let may_yield = cx.session.request.trigger_level == 0
        && (cx.transaction.is_none() || !cx.session.is_transaction_shared());
    if cx.session.mars.is_none() || !may_yield || !cx.sink.is_full() {
        return Ok(());
    }
    let sent = cx.session.yield_turn(|| cx.sink.drain())?;
    fault::sent(cx, sent)
}

/// Collects the rows of a query that runs in the transaction of a MARS connection, and sends them
/// when it is over: other sessions use the transaction while the client reads.
fn select_in_shared(select: &Select, cx: &mut Cx<'_>) -> Result<u64> {
    let limit = row_limit(cx);
    let mut rows: Vec<Vec<Value>> = Vec::new();
    in_transaction(cx, &mut |cx: &mut Cx<'_>| {
        rows.clear();
        run_output(&select.query, cx, &mut |_, values| {
            if rows.len().is_multiple_of(ROWS_PER_MEMORY_CHECK) && sos::memory::check().is_err() {
                return Err(Msg::OutOfMemory.into());
            }
            rows.push(values.to_vec());
            let count = u64::try_from(rows.len()).unwrap_or(u64::MAX);
            Ok(if count == limit { Flow::Enough } else { Flow::More })
        })
    })?;
    let count = rows.len();
    for mut row in rows {
        send(&select.query, &mut row, cx)?;
    }
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}

/// SET TEXTSIZE: cuts large values to `bytes_max` bytes, in whole characters.
fn cut_large(query: &Query, output: &mut [Value], bytes_max: i32) {
    let most = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    for (column, value) in query.output.iter().zip(output) {
        let Some(bytes) = value.string_bytes() else { continue };
        if column.expr.ty.data_type.is_large() && bytes.len() > most {
            let whole = if column.expr.ty.data_type.is_unicode() { most & !1 } else { most };
            *value = value.with_bytes(types::Bytes::copy_from(&bytes[..whole]));
        }
    }
}

fn run_assign(select: &SelectAssign, cx: &mut Cx<'_>) -> Result<StatementResult> {
    prepare(cx, select.registers);
    let mut rows = 0;
    if select.course == Course::Point && may_look(&select.root, cx) {
        count_point(cx);
        if read_point(&select.root, cx)? {
            assign(select, cx)?;
            rows = 1;
        }
        return Ok(StatementResult { command: Command::SELECT, rows });
    }
    let limit = row_limit(cx);
    let work = &mut |cx: &mut Cx<'_>| {
        rows = 0;
        run_root(&select.root, cx, &mut |cx| {
            assign(select, cx)?;
            rows += 1;
            Ok(if rows == limit { Flow::Enough } else { Flow::More })
        })
    };
    if matches!(select.root, Node::OneRow)
        && !select.assignments.iter().any(|a| walk::has_subquery(&a.1))
    {
        work(cx)?;
    } else {
        in_transaction(cx, work)?;
    }
    Ok(StatementResult { command: Command::SELECT, rows })
}

fn run_root(
    root: &Node,
    cx: &mut Cx<'_>,
    receive: &mut dyn FnMut(&mut Cx<'_>) -> Result<Flow>,
) -> Result<()> {
    if matches!(root, Node::OneRow) {
        receive(cx)?;
        return Ok(());
    }
    crate::query::run_node(root, cx, receive)
}

fn assign(select: &SelectAssign, cx: &mut Cx<'_>) -> Result<()> {
    for (slot, expr) in &select.assignments {
        cx.frame.variables[slot.0 as usize] = eval(expr, cx)?;
    }
    Ok(())
}

/// Reads the row of a point statement into the registers; `false` if it does not exist.
fn read_point(root: &Node, cx: &mut Cx<'_>) -> Result<bool> {
    let Node::Scan(scan) = root else { return Ok(false) };
    let mut key = std::mem::take(&mut cx.scratch.key);
    let found = read_row(scan, cx, &mut key);
    cx.scratch.key = key;
    found
}

fn read_row(scan: &Scan, cx: &mut Cx<'_>, key: &mut Vec<u8>) -> Result<bool> {
    let Access::Seek { index, key: exprs } = &scan.access else { return Ok(false) };
    let table = table_of(&scan.table);
    let index = usize::from(*index);
    if !encode_seek_key(table, index, exprs, cx, key)? {
        return Ok(false);
    }
    let registers = &mut cx.registers;
    let id = table.indexes[index].storage_id();
    let shown = table.rows.data.read_point(id, key, |image| {
        load(&scan.columns, table, image, registers);
    });
    let shown = shown.map_err(|error| fault::raise(cx, error))?;
    cx.session.accounting.meter.read(u64::from(shown.is_some()));
    match (shown, &scan.residual) {
        (None, _) => Ok(false),
        (Some(()), None) => Ok(true),
        (Some(()), Some(residual)) => Ok(truth(residual, cx)?.is_true()),
    }
}
