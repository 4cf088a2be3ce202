//! Tests of the simulated disk, through the trait that the log uses.

mod crashes;
mod faults;
mod power;
mod program;
mod same;
