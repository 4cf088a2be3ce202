//! `Source`: what is to be sent as it was written, so that another process can make the same of it.

use super::file::FileWork;
use super::input::batches;
use super::work::Work;
use super::workloads::Workload;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Scripts by their names, each the text of a file or of an argument.
    Scripts(Vec<(String, String)>),
    /// A workload that comes with the tool.
    Known(Workload),
    /// The text of a workload file.
    File(String),
}

/// What is made of it.
#[derive(Debug)]
pub struct Prepared {
    /// What is sent.
    pub work: Work,
    /// Batches to send before, on one connection.
    pub setup: Vec<String>,
    /// Batches to send afterwards.
    pub teardown: Vec<String>,
    /// Inputs, each of which gets its own connections.
    pub inputs: usize,
}

impl Source {
    /// Makes requests of it.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn prepare(&self) -> Result<Prepared, String> {
        match self {
            Self::Known(workload) => Ok(Prepared {
                work: workload.work()?,
                setup: workload.setup(),
                teardown: Vec::new(),
                inputs: 1,
            }),
            Self::File(text) => {
                let FileWork { setup, work, teardown } = FileWork::parse(text)?;
                Ok(Prepared { work, setup, teardown, inputs: 1 })
            }
            Self::Scripts(scripts) => {
                let mut of_scripts = Vec::new();
                for (name, text) in scripts {
                    let found = batches(text);
                    if found.is_empty() {
                        return Err(format!("{name} has nothing to send"));
                    }
                    of_scripts.push(found);
                }
                Ok(Prepared {
                    work: Work::of_scripts(&of_scripts)?,
                    setup: Vec::new(),
                    teardown: Vec::new(),
                    inputs: of_scripts.len(),
                })
            }
        }
    }

    /// How often a request is sent again after an error that says to, where nobody has said.
    pub fn retries(&self) -> u32 {
        match self {
            Self::Known(workload) => workload.retries(),
            Self::Scripts(_) | Self::File(_) => 0,
        }
    }
}
