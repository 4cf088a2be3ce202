//! `Events`: the event sessions of an instance that run, and the one way to start, change and stop them.

use std::sync::Arc;

use sos::ledger::Accounts;
use sos::lock::{LatchClass, RwLatch, WriteLatchGuard};
use sos::sched::Machine;
use sos::xe::{Hub, SessionReport, SessionSpec, TargetData};
use types::{Msg, Result};

use super::{context, emit, error};
use crate::SessionState;
use catalog::EventSessionDef;

/// The event sessions of an instance that run.
pub struct Events {
    accounts: Arc<Accounts>,
    hub: Arc<Hub>,
    /// What each was started with, as the probes count it. Held by whoever starts, changes or stops one.
    running: RwLatch<Vec<SessionSpec>>,
}

impl Events {
    /// Makes those of an instance: none runs.
    pub fn new(machine: &Machine) -> Self {
        let accounts = Arc::clone(machine.accounts());
        let hub = Arc::clone(accounts.events());
        Self { accounts, hub, running: RwLatch::new(LatchClass::Other, Vec::new()) }
    }

    /// Keeps others from changing sessions.
    pub fn change(&self) -> Changing<'_> {
        Changing { accounts: &self.accounts, hub: &self.hub, running: self.running.write() }
    }

    /// Returns what the sessions that run have come to.
    pub fn reports(&self) -> Vec<SessionReport> {
        self.hub.sessions()
    }

    /// Returns what a target of a session holds, by its place in the definition; none if it does not run.
    pub fn target_data(&self, name: &str, target: usize) -> Option<TargetData> {
        self.hub.target_data(name, target).ok()
    }

    /// Starts the sessions that are to run from the start of the server on.
    ///
    /// # Errors
    /// What keeps one from it, with its name.
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

/// The right to start, change and stop sessions.
pub struct Changing<'e> {
    accounts: &'e Arc<Accounts>,
    hub: &'e Arc<Hub>,
    running: WriteLatchGuard<'e, Vec<SessionSpec>>,
}

impl Changing<'_> {
    /// Returns whether a session runs.
    pub fn is_running(&self, name: &str) -> bool {
        self.running.iter().any(|spec| spec.name == name)
    }

    /// Starts a session that does not run, and tells it of the connections that are there.
    ///
    /// # Errors
    /// What keeps it from running.
    pub fn start(&mut self, session: &EventSessionDef, by: &SessionState) -> Result<()> {
        let started = self.start_quietly(session)?;
        if session.events.iter().any(|event| emit::session::wants_existing(event.spec.event)) {
            for card in by.instance.sessions.cards() {
                emit::session::existing(by, started, &card);
            }
        }
        Ok(())
    }

    /// Starts a session and returns its address.
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

    /// Gives a session that runs another definition; targets that stay keep what they hold.
    ///
    /// # Errors
    /// What keeps it from that: then it runs as before.
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

    /// Stops a session, if it runs. What its targets in memory hold is gone.
    pub fn stop_if_running(&mut self, name: &str) {
        if let Some(place) = self.running.iter().position(|spec| spec.name == name) {
            let spec = self.running.swap_remove(place);
            context::count(&spec, -1);
            // It is there as long as it is among those that run.
            let _ = self.hub.stop(name);
        }
    }
}
