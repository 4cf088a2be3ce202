//! `clearway serve --console`: the console in the browser, served by the server itself.
//!
//! An HTTP/1.1 listener with threads outside the schedulers, so that it answers while all schedulers are busy.
//! A browser logs in with SQL credentials; its queries run in engine sessions with the login's own
//! rights. The page is in the binary and draws what SQL returns: `sys.console_panels` lists its
//! charts. Beside it is `/metrics` for scrapers.
//!
//! ```text
//!   socket ─► Stream (TLS) ─► Request ─► guard ─► route ─┬─► page     files of the page
//!                                                        ├─► visitor  login, logout, sessions
//!                                                        ├─► sql      a text in, JSON out
//!                                                        └─► metrics  OpenMetrics
//! ```
#![forbid(unsafe_code)]

mod base64;
mod connection;
mod entry;
mod guard;
mod json;
mod listener;
mod metrics;
mod page;
mod panels;
mod request;
mod response;
mod route;
mod rows;
pub mod settings;
mod sql;
mod stream;
#[cfg(test)]
mod tests;
mod visitor;

use std::io;
use std::net::SocketAddr;

use engine::instance::Instance;
use rustls::ServerConfig;
use sos::park::Cancel;
use sos::sched::Machine;
use sos::sync::{Arc, AtomicUsize, Ordering};
use sos::sys::Listener;

use entry::Failures;
pub use page::page_bytes;
use settings::Settings;
use visitor::Visitors;

/// Most connections at a time; each has a thread.
const CONNECTIONS_MAX: usize = if cfg!(test) { 12 } else { 128 };

/// A console whose address is taken, but that does not answer yet.
pub struct Bound {
    listener: Listener,
    address: SocketAddr,
    settings: Settings,
}

/// What all connections of a console share.
pub(crate) struct Console {
    pub(crate) machine: Arc<Machine>,
    pub(crate) instance: Arc<Instance>,
    pub(crate) settings: Settings,
    /// The address on which it listens.
    pub(crate) address: SocketAddr,
    /// TLS for every connection; `None` on loopback.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) visitors: Visitors,
    pub(crate) failures: Failures,
    connections: AtomicUsize,
}

impl Bound {
    /// Listens on the address; connections wait until [`Self::start`].
    ///
    /// # Errors
    /// One sentence that says why it cannot.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let wanted = settings.address;
        let listener = Listener::bind(wanted).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("{wanted} is in use; choose another address with --console")
            }
            // A foreign type: any other system error.
            _ => format!("the console cannot listen on {wanted}: {error}"),
        })?;
        let address = listener.local_address().map_err(|error| format!("the console: {error}"))?;
        Ok(Self { listener, address, settings })
    }

    /// Whether TLS is needed: the address can be reached from other machines.
    pub fn needs_tls(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// Returns the address of the page.
    pub fn url(&self) -> String {
        let scheme = if self.needs_tls() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// Begins to answer, on threads that end with the machine. `tls` is the configuration for
    /// HTTPS, needed where [`Self::needs_tls`] says so.
    ///
    /// # Errors
    /// One sentence that says why it cannot.
    pub fn start(
        self,
        machine: &Arc<Machine>,
        instance: &Arc<Instance>,
        tls: Option<Arc<ServerConfig>>,
    ) -> Result<(), String> {
        if self.needs_tls() && tls.is_none() {
            return Err(format!("the console needs TLS on {}", self.address));
        }
        let console = Arc::new(Console {
            machine: Arc::clone(machine),
            instance: Arc::clone(instance),
            settings: self.settings,
            address: self.address,
            tls,
            visitors: Visitors::default(),
            failures: Failures::default(),
            connections: AtomicUsize::new(0),
        });
        panels::make_table(&console);
        let listener = self.listener;
        machine
            .spawn("console listener", move || listener::run(&console, &listener))
            .map_err(|error| format!("the console cannot be started: {error}"))
    }
}

impl Console {
    /// The flag that is set when the server begins to stop.
    pub(crate) fn stopping(&self) -> &Cancel {
        self.machine.stopping()
    }

    /// Returns `https` or `http`.
    pub(crate) const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Takes a place for a connection; `None` if all are taken.
    pub(crate) fn take_place(self: &Arc<Self>) -> Option<Place> {
        // Relaxed: a count, which orders nothing.
        if self.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            self.connections.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Place(Arc::clone(self)))
    }

    /// Returns the number of connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// A connection's place in the count, released when dropped.
pub(crate) struct Place(Arc<Console>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
