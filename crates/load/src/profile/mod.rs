//! Profiles: what a server's sampler recorded between two moments, read by SQL alone, and written
//! in the formats of profiling tools.
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

/// What a profile measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Time on a CPU.
    Cpu,
    /// Time spent in waits.
    Wait,
    /// Bytes of memory allocated.
    Allocation,
}

impl Kind {
    /// Returns the unit of the weights.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cpu | Self::Wait => "nanoseconds",
            Self::Allocation => "bytes",
        }
    }

    /// Returns the title of a profile of this kind.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::Wait => "waits",
            Self::Allocation => "allocations",
        }
    }
}

/// A function in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its address; 0 for an entry that is not code.
    pub address: u64,
    /// Name of the binary or library.
    pub module: String,
    /// The function's name, or the module and an offset.
    pub name: String,
    /// Its source file; `None` if unknown.
    pub file: Option<String>,
    /// Line in the source file; `None` if unknown.
    pub line: Option<u32>,
    /// Whether it was inlined into the next function outwards.
    pub is_inlined: bool,
}

/// A stack and its weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Its functions, innermost first.
    pub frames: Vec<Rc<Frame>>,
    /// Attributes of its samples, by name.
    pub labels: Vec<(&'static str, String)>,
    /// Number of samples of this stack.
    pub samples: u64,
    /// The sum of its samples' weights, in the kind's unit.
    pub weight: u64,
}

/// The stacks sampled between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What the weights measure.
    pub kind: Kind,
    /// Length of the recording in nanoseconds.
    pub duration_ns: u64,
    /// The weight of one sample, if all weigh the same.
    pub period: u64,
    /// Every stack that was sampled.
    pub stacks: Vec<Stack>,
}

impl Profile {
    /// Returns the sum of all weights.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.weight).sum()
    }

    /// Returns the share of samples in which every function has a name, a file and a line.
    /// Functions of libraries and of Rust's precompiled standard library are not counted. `None`
    /// without samples.
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

    /// Returns the number of samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.samples).sum()
    }
}
