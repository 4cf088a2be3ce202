//! How the holder fetches events from the poller and takes them off, one round at a time.

use super::connections::{Core, Token};
use super::{Interrupt, Ready};
use crate::clock;
use crate::sync::Arc;
use crate::sys::{Event, Events, Poller, Timeout};

/// Turns a poller event into reasons to run the task.
fn reasons(event: Event) -> Ready {
    if event.hangup { Ready::READABLE.and(Ready::HANGUP) } else { Ready::READABLE }
}

impl Core {
    pub(super) fn next_ready(&mut self) -> Option<(Token, Ready)> {
        for event in &mut self.events {
            let token = Token(event.token);
            if token != Token::KICK {
                return Some((token, reasons(event)));
            }
        }
        // A task that asked to run again during this round waits for the next: the poller is first.
        if self.urgent_due > 0 {
            self.urgent_due -= 1;
            return self.next_urgent();
        }
        if self.again_due == 0 {
            return None;
        }
        self.again_due -= 1;
        let next = self.again.pop_front();
        self.leaves_queue(next)
    }

    /// Queues a task to run after the events. A task that is running gets its reasons when it has ended:
    /// whether it is urgent is asked then.
    pub(super) fn queue(&mut self, token: Token, reasons: Ready) {
        let Some(slot) = self.slot(token) else { return };
        slot.is_queued = true;
        match slot.is_urgent() {
            true => self.urgent.push_back((token, reasons)),
            false => self.again.push_back((token, reasons)),
        }
    }

    fn leaves_queue(&mut self, next: Option<(Token, Ready)>) -> Option<(Token, Ready)> {
        if let Some(slot) = next.and_then(|(token, _)| self.slot(token)) {
            slot.is_queued = false;
        }
        next
    }

    /// Makes the tasks that are queued now due in the round that begins.
    pub(super) fn make_due(&mut self) {
        (self.again_due, self.urgent_due) = (self.again.len(), self.urgent.len());
    }

    /// Asks the poller for events and begins a new round; returns how many there are.
    pub(super) fn fetch(&mut self, poller: &Poller, timeout: Timeout) -> usize {
        // The poller is edge-triggered: an event that is thrown away is lost.
        debug_assert!(!self.events.has_next(), "a round ends with its last event");
        poller.wait(&mut self.events, timeout);
        self.make_due();
        self.events.len()
    }

    /// Takes the first queued task that is urgent.
    pub(super) fn next_urgent(&mut self) -> Option<(Token, Ready)> {
        let next = self.urgent.pop_front();
        self.leaves_queue(next)
    }

    /// Fetches events and queues the tasks they are for; returns how to reach those that are
    /// running, and how many others wait.
    pub(super) fn take_stock(&mut self, poller: &Poller) -> (Vec<Arc<dyn Interrupt>>, usize) {
        if self.next_deadline().is_some() {
            self.fire_timers(clock::monotonic_ns());
        }
        let interrupts = self.look_around(poller);
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in events.by_ref() {
            let token = Token(event.token);
            // A queued task reads all that has arrived.
            if self.slot(token).is_some_and(|slot| !slot.is_queued) {
                self.queue(token, reasons(event));
            }
        }
        self.events = events;
        (interrupts, self.again.len() + self.urgent.len())
    }

    /// Fetches events if there are none left, and takes out those of tasks that are running.
    pub(super) fn look_around(&mut self, poller: &Poller) -> Vec<Arc<dyn Interrupt>> {
        let mut interrupts = Vec::new();
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        if !events.has_next() {
            poller.wait(&mut events, Timeout::None);
        }
        events.retain(|event| {
            let Some(slot) = self.slot(Token(event.token)) else { return false };
            if slot.resting.is_some() {
                return true;
            }
            slot.pending = slot.pending.and(reasons(event));
            interrupts.extend(slot.interrupt.clone());
            false
        });
        self.events = events;
        interrupts
    }
}
