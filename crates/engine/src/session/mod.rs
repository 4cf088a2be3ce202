//! `Session`: one connection, and the verbs that a client can ask for.
//!
//! The server feeds requests ([`Session::batch`], [`Session::rpc`], [`Session::transaction`],
//! [`Session::bulk_load`]) and resets ([`Session::reset`]); results leave through a
//! [`ResultSink`](crate::sink::ResultSink). What a session keeps is in the crate `session`.

mod login;
mod manage;
mod pump;
mod rpc;

pub use ::session::*;

pub use login::Admission;
pub use pump::Session;
