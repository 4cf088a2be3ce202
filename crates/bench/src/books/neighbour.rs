//! `Neighbours`: processes that compete with the server for every CPU.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use load::Result;
use sos::clock;

use crate::own_path;

/// A neighbour ends by itself after this time: a run that is killed must not leave one running.
const LIFE_MAX: Duration = Duration::from_mins(2);

/// Running neighbours, ended when dropped.
pub(crate) struct Neighbours(Vec<Child>);

impl Neighbours {
    /// Starts `count` neighbours, on CPUs of the kernel's choice.
    pub(crate) fn start(count: usize) -> Result<Self> {
        let mut neighbours = Self(Vec::new());
        for _ in 0..count {
            let mut command = Command::new(own_path()?);
            let spawned = command.arg("spin").stdin(Stdio::null()).spawn();
            neighbours.0.push(spawned.map_err(|error| format!("a neighbour: {error}"))?);
        }
        Ok(neighbours)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Keeps a CPU busy.
pub(crate) fn spin() {
    let end = clock::now_ticks() + clock::duration_to_ticks(LIFE_MAX);
    while clock::now_ticks() < end {
        std::hint::spin_loop();
    }
}
