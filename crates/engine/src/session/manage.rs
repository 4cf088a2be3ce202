//! Requests without T-SQL: transaction manager requests and bulk loads.

use types::{Msg, Value};

use crate::host::HOST;
use crate::session::deferred::Deferred;
use crate::session::{BeginNext, Session, TransactionRequest};
use crate::sink::{ColumnInfo, Command, DoneKind, ResultSink, Sent};
use ::executor::{Cx, Frame};
use ::session::event::emit::{self, request};
use interpreter::{Stop, transactions};

impl Session {
    /// Runs a transaction manager request and sends its final DONE.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink returns it.
    pub fn transaction(
        &mut self,
        request: TransactionRequest<'_>,
        sink: &mut dyn ResultSink,
    ) -> Sent {
        self.served(|session| {
            session.begin_request(false);
            let watched = emit::transaction::starting(&session.state, &request);
            let mut sink = Deferred::new(sink);
            let outcome = session.run_transaction(&request, &mut sink);
            emit::transaction::completed(&session.state, watched, &outcome);
            session.end_request(outcome, &mut sink)?;
            sink.finish(DoneKind::Done)
        })
    }

    fn run_transaction(
        &mut self,
        request: &TransactionRequest<'_>,
        sink: &mut Deferred<'_>,
    ) -> Result<(), Stop> {
        let next = match request {
            TransactionRequest::Begin(isolation, name) => {
                Some(BeginNext { isolation: *isolation, name })
            }
            TransactionRequest::Commit(next) => {
                transactions::commit(&mut self.state, sink)?;
                next.clone()
            }
            TransactionRequest::Rollback(name, next) => {
                transactions::rollback(&mut self.state, sink, name)?;
                next.clone()
            }
            TransactionRequest::Save(name) => {
                transactions::save(&mut self.state, name)?;
                None
            }
        };
        if next.is_some() {
            self.state.keep_transaction();
        }
        if let Some(next) = next {
            if let Some(isolation) = next.isolation {
                self.state.isolation = isolation;
            }
            transactions::begin(&mut self.state, sink, next.name)?;
        }
        Ok(())
    }

    /// Loads the rows that a preceding INSERT BULK statement announced.
    ///
    /// # Errors
    /// [`crate::sink::Disconnected`] if the sink returns it.
    pub fn bulk_load(
        &mut self,
        columns: &[ColumnInfo],
        rows: &mut dyn Iterator<Item = types::Result<Vec<Value>>>,
        sink: &mut dyn ResultSink,
    ) -> Sent {
        self.served(|session| {
            let announced = session.announced.take();
            let pending = session.state.held.pending_bulk.take();
            session.begin_request(false);
            let watched = request::batch_resumed(&session.state, announced);
            let mut sink = Deferred::new(sink);
            let outcome = session.run_bulk(pending, (columns, rows), &mut sink);
            request::bulk_completed(&session.state, watched, &outcome);
            session.end_request(outcome, &mut sink)?;
            sink.finish(DoneKind::Done)
        })
    }

    fn run_bulk(
        &mut self,
        pending: Option<tsql::ast::InsertBulk>,
        (columns, rows): (&[ColumnInfo], &mut dyn Iterator<Item = types::Result<Vec<Value>>>),
        sink: &mut Deferred<'_>,
    ) -> Result<(), Stop> {
        let Some(announced) = pending else {
            return Err(Msg::NotSupported("bulk load data without INSERT BULK").into());
        };
        let mut frame = Frame::default();
        let mut cx = Cx::new(HOST, &mut self.state, &mut frame, sink);
        let result = match interpreter::insert_bulk::bulk_insert(&announced, columns, rows, &mut cx)
        {
            Ok(result) => result,
            Err(error) => return Err(interpreter::load_failed(error, &mut cx)),
        };
        cx.session.last.row_count = result.rows;
        interpreter::ended(&mut cx, Command::BULK_INSERT, Some(result.rows))?;
        Ok(())
    }
}
