//! The `clearway` binary: reads the command line and runs one verb.
fn main() {}
