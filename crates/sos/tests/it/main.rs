//! Tests of the machine layer through its public interface.
#![cfg(not(any(loom, shuttle)))]

mod clock;
mod crew;
mod disk;
mod epoch;
mod events;
mod ledger;
mod locks;
mod machine;
mod memory;
mod monitor;
mod park;
mod parts;
mod sampler;
mod sends;
mod stack;
