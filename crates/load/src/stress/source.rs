//! `Source`: the description of a load's requests as the user gave it, so that another process can
//! build the same requests.

use super::file::FileWork;
use super::input::batches;
use super::work::Work;
use super::workloads::Workload;

/// The description of the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Scripts by name, each the text of a file or of an argument.
    Scripts(Vec<(String, String)>),
    /// A workload that the tool contains.
    Known(Workload),
    /// The text of a workload file.
    File(String),
}

/// The requests made from a source.
#[derive(Debug)]
pub struct Prepared {
    /// The requests to send.
    pub work: Work,
    /// Batches to send before the run, on one connection.
    pub setup: Vec<String>,
    /// Batches to send after the run.
    pub teardown: Vec<String>,
    /// Number of inputs, each of which gets its own connections.
    pub inputs: usize,
}

impl Source {
    /// Makes the requests.
    ///
    /// # Errors
    /// What is wrong with the source, in one line.
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

    /// Returns how often a request is repeated after an error that allows it, unless the user says
    /// otherwise.
    pub fn retries(&self) -> u32 {
        match self {
            Self::Known(workload) => workload.retries(),
            Self::Scripts(_) | Self::File(_) => 0,
        }
    }
}
