//! Tests of the `clearway` binary as a process: what it says, what it answers, and that it lives on.

mod agents;
mod bad_folder;
mod bad_text;
mod books;
mod bulk;
mod client;
mod command_line;
mod data_folder;
mod diagnose;
mod durable;
mod encryption;
mod environments;
mod events;
mod experiments;
#[cfg(debug_assertions)]
mod faults;
mod full_disk;
mod growth;
mod hostile;
mod kill;
mod lab;
mod limits;
mod login_failures;
mod mars;
mod memory;
mod memory_limit;
mod one_cpu;
mod parameters;
mod race;
mod requests;
mod server;
mod sql;
mod stress;
mod top;
mod tpcc;
mod unix_socket;
