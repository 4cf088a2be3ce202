//! Tests of the `clearway` binary as a process: what it says, what it answers, and that it lives on.

mod client;
mod command_line;
mod encryption;
mod hostile;
mod limits;
mod requests;
mod server;
