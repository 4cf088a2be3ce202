//! Tests of the TDS codec through its public interface: requests from messages, packets from
//! results.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bulk;
mod corpus;
mod drive;
mod encryption;
mod independent;
mod login;
mod messages;
mod requests;
mod responses;
mod smp;
mod support;
mod truncation;
mod values;
