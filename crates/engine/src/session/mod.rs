//! `Session`: one connection, and the operations that a client can request.
//!
//! The server calls [`Session::batch`], [`Session::rpc`], [`Session::transaction`],
//! [`Session::bulk_load`] and [`Session::reset`]; results go out through a
//! [`ResultSink`](crate::sink::ResultSink). The crate `session` has the session's state.

mod login;
mod manage;
mod pump;
mod rpc;

pub use ::session::*;

pub use login::Admission;
pub use pump::Session;
pub use rpc::Entered;
