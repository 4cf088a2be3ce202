//! Profiles: what a server's sampler saw between two moments, asked for by SQL alone, and written in
//! the forms that people and tools read.
//!
//! ```text
//!   views at t0 ─┐
//!                ├─ difference ─► stacks ─► names (sys.fn_stack_frames) ─► Profile ─► svg, folded,
//!   views at t1 ─┘                                                                    pprof, speedscope
//! ```

mod client;
mod folded;
mod pprof;
mod record;
mod speedscope;
mod svg;
mod tree;

use std::rc::Rc;

pub use folded::{folded, parse_folded};
pub use pprof::pprof;
pub use record::{Window, record};
pub use speedscope::speedscope;
pub use svg::flame_graph;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Time on a CPU.
    Cpu,
    /// Time in waits.
    Wait,
    /// Bytes taken.
    Allocation,
}

impl Kind {
    /// What the weights count.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cpu | Self::Wait => "nanoseconds",
            Self::Allocation => "bytes",
        }
    }

    /// What the profile is of.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::Wait => "waits",
            Self::Allocation => "allocations",
        }
    }
}

/// A function on a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The address that it is at; 0 for what is no code.
    pub address: u64,
    /// The binary or library.
    pub module: String,
    /// Its name, or the module and an offset.
    pub name: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u32>,
    /// Whether it was inlined into the next one outwards.
    pub is_inlined: bool,
}

/// A stack and what it weighs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Its functions, innermost first.
    pub frames: Vec<Rc<Frame>>,
    /// Facts about its samples, by name.
    pub labels: Vec<(&'static str, String)>,
    /// How many samples.
    pub samples: u64,
    /// What they stand for.
    pub weight: u64,
}

/// What was seen between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What of.
    pub kind: Kind,
    /// How long.
    pub duration_ns: u64,
    /// One sample's weight, where all weigh the same.
    pub period: u64,
    /// The stacks.
    pub stacks: Vec<Stack>,
}

impl Profile {
    /// The weights of all stacks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.weight).sum()
    }

    /// The part of the samples of which every function has a name, a file and a line, those of libraries
    /// and of Rust's own, which come compiled, left out; none without samples.
    #[must_use]
    pub fn resolved(&self) -> Option<f64> {
        let is_known = |frame: &Rc<Frame>| {
            let is_library = frame.module.contains(".so") || frame.module.starts_with('[');
            let path = frame.name.trim_start_matches(['<', '&']);
            let rusts = ["std::", "core::", "alloc::", "__rust"];
            let is_rusts = rusts.iter().any(|known| path.starts_with(known));
            is_library || is_rusts || frame.file.is_some() && frame.line.is_some()
        };
        let whole = self.stacks.iter().filter(|stack| stack.frames.iter().all(is_known));
        let (whole, all) = (whole.map(|s| s.samples).sum::<u64>(), self.samples());
        (all > 0).then(|| whole as f64 / all as f64)
    }

    /// How many samples there are.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }
}
