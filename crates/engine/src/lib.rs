//! The relational engine: what a client may ask of a session ([`session`]), both executors ([`exec`]), definitions,
//! system procedures ([`proc`]) and system views ([`view`]).
//!
//! It knows no wire format: requests come in as values, results leave through
//! [`sink::ResultSink`]. The life of a statement: parse (`tsql`), bind ([`bind`]), run ([`exec`]). Catalog, binder, plans
//! and the state of sessions are crates of their own, which are re-exported here.
#![forbid(unsafe_code)]

pub use ::binder as bind;
pub use ::catalog;
pub mod exec;
pub use ::explain;
pub mod func;
pub use ::optimizer as opt;
pub use ::plan;
pub use ::session::{event, instance};
pub mod proc;
pub mod security;
pub mod session;
pub use ::plan::sink;
pub use ::plan::stats;
pub mod view;

pub use exec::move_tuples;

use std::sync::Arc;

use instance::{Built, Config, Instance};

/// Starts an engine with all that is built in.
pub fn start(
    config: Config,
    machine: Arc<sos::sched::Machine>,
    store: Arc<storage::Store>,
) -> Arc<Instance> {
    let event_session = exec::ddl::event_session::system_health::definition();
    let built = Built { library: func::LIBRARY, event_session };
    Instance::new(config, built, machine, store)
}
