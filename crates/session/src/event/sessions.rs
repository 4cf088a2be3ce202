//! `Events`: the running event sessions of an instance, and the only way to start, change and stop
//! them.

use std::sync::Arc;

use sos::ledger::Accounts;
use sos::lock::{LatchClass, RwLatch, WriteLatchGuard};
use sos::sched::Machine;
use sos::xe::{Hub, SessionReport, SessionSpec, TargetData};
use types::{Msg, Result};

use super::{context, emit, error};
use crate::SessionState;
use catalog::EventSessionDef;

/// The running event sessions of an instance.
pub struct Events {
    accounts: Arc<Accounts>,
    hub: Arc<Hub>,
    /// The specification that each was started with, for the counts of needs. Locked by every
    /// change.
    running: RwLatch<Vec<SessionSpec>>,
}

impl Events {
    /// Returns the event sessions of a new instance: none runs.
    pub fn new(machine: &Machine) -> Self {
        let accounts = Arc::clone(machine.accounts());
        let hub = Arc::clone(accounts.events());
        Self { accounts, hub, running: RwLatch::new(LatchClass::Other, Vec::new()) }
    }

    /// Locks the event sessions against other changes.
    pub fn change(&self) -> Changing<'_> {
        Changing { accounts: &self.accounts, hub: &self.hub, running: self.running.write() }
    }

    /// Returns statistics of the running event sessions.
    pub fn reports(&self) -> Vec<SessionReport> {
        self.hub.sessions()
    }

    /// Returns the content of a target, by its index in the definition; `None` if the event session
    /// does not run.
    pub fn target_data(&self, name: &str, target: usize) -> Option<TargetData> {
        self.hub.target_data(name, target).ok()
    }

    /// Starts the event sessions with STARTUP_STATE = ON.
    ///
    /// # Errors
    /// The reason why one cannot start, with its name.
    pub fn start_all<'d>(
        &self,
        defined: impl Iterator<Item = &'d Arc<EventSessionDef>>,
    ) -> std::result::Result<(), String> {
        let mut changing = self.change();
        for session in defined.filter(|session| session.options.startup_state) {
            let started = changing.start_quietly(session);
            started
                .map_err(|error| format!("event session {}: {}", session.name, error.message))?;
        }
        Ok(())
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut changing = self.change();
        let names: Vec<String> = changing.running.iter().map(|spec| spec.name.clone()).collect();
        names.iter().for_each(|name| changing.stop_if_running(name));
        drop(changing);
        self.hub.stop_all();
    }
}

/// The exclusive right to start, change and stop event sessions.
pub struct Changing<'e> {
    accounts: &'e Arc<Accounts>,
    hub: &'e Arc<Hub>,
    running: WriteLatchGuard<'e, Vec<SessionSpec>>,
}

impl Changing<'_> {
    /// Returns whether an event session runs.
    pub fn is_running(&self, name: &str) -> bool {
        self.running.iter().any(|spec| spec.name == name)
    }

    /// Starts a stopped event session, and fires existing_connection for each open connection.
    ///
    /// # Errors
    /// The reason why it cannot start.
    pub fn start(&mut self, session: &EventSessionDef, by: &SessionState) -> Result<()> {
        let started = self.start_quietly(session)?;
        if session.events.iter().any(|event| emit::session::wants_existing(event.spec.event)) {
            for card in by.instance.sessions.cards() {
                emit::session::existing(by, started, &card);
            }
        }
        Ok(())
    }

    /// Starts an event session without existing_connection, and returns its address.
    fn start_quietly(&mut self, session: &EventSessionDef) -> Result<usize> {
        if session.events.is_empty() {
            return Err(Msg::EventSessionNotStarted(&session.name).into());
        }
        let spec = session.spec();
        let started = Hub::start(self.accounts, spec.clone());
        let started = started.map_err(|error| error::of(&error))?;
        context::count(&spec, 1);
        self.running.push(spec);
        Ok(started)
    }

    /// Applies a new definition to a running event session; targets that remain keep their content.
    ///
    /// # Errors
    /// The reason why it cannot; then it runs unchanged.
    pub fn alter(&mut self, session: &EventSessionDef) -> Result<()> {
        let spec = session.spec();
        self.hub.alter(spec.clone()).map_err(|error| error::of(&error))?;
        context::count(&spec, 1);
        if let Some(before) = self.running.iter_mut().find(|other| other.name == spec.name) {
            context::count(before, -1);
            *before = spec;
        }
        Ok(())
    }

    /// Stops an event session if it runs. The content of its in-memory targets is lost.
    pub fn stop_if_running(&mut self, name: &str) {
        if let Some(place) = self.running.iter().position(|spec| spec.name == name) {
            let spec = self.running.swap_remove(place);
            context::count(&spec, -1);
            // It is registered as long as it is listed as running.
            let _ = self.hub.stop(name);
        }
    }
}
