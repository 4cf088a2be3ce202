//! Records a profile: reads the sampler's views at two moments, and names the stacks between them.

use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use sos::clock;
use types::Value;

use super::client::{Client, number, text};
use super::{Frame, Kind, Profile, Stack};
use crate::Result;
use crate::link::Target;

/// Most stacks that one query names.
const STACKS_ASKED: usize = 200;

/// The sums at one moment: stack, label and third attribute to samples and weight.
type Sums = HashMap<(u64, String, String), (u64, u64)>;

/// What to record, and how long.
#[derive(Clone, Debug)]
pub struct Window {
    /// What the profile measures.
    pub kind: Kind,
    /// How long to record; `None` takes everything since the server's start.
    pub duration: Option<Duration>,
    /// How long to wait for an answer.
    pub patience: Duration,
}

/// Records what a server's sampler sees. `wait` waits for the duration, and may return early.
///
/// # Errors
/// If the server cannot be reached, refuses, or has no active sampler.
pub fn record(target: &Target, window: &Window, wait: impl FnOnce(Duration)) -> Result<Profile> {
    let mut client = Client::log_in(target, window.patience)?;
    let period = period(&mut client, window.kind)?;
    let begin = clock::monotonic_ns();
    let before = match window.duration {
        Some(duration) => {
            let before = sums(&mut client, window.kind)?;
            wait(duration);
            before
        }
        None => Sums::new(),
    };
    let mut after = sums(&mut client, window.kind)?;
    let duration_ns = clock::monotonic_ns() - begin;
    after.retain(|key, sum| {
        let (samples, weight) = before.get(key).copied().unwrap_or_default();
        *sum = (sum.0.saturating_sub(samples), sum.1.saturating_sub(weight));
        sum.0 > 0
    });
    let mut ids: Vec<u64> = after.keys().map(|(id, _, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    let names = names(&mut client, &ids)?;
    let mut stacks: Vec<Stack> =
        after.into_iter().map(|(key, sum)| stack(window.kind, &names, key, sum, period)).collect();
    stacks.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.labels.cmp(&b.labels)));
    Ok(Profile { kind: window.kind, duration_ns, period, stacks })
}

/// Returns the weight of one sample if all weigh the same, else 1.
fn period(client: &mut Client, kind: Kind) -> Result<u64> {
    let rows = client.rows("SELECT sampling_rate_hz FROM sys.dm_os_sampler")?;
    match rows.first().and_then(|row| number(row.first())) {
        None | Some(0) => {
            let how = "EXEC sp_configure 'sampling rate (Hz)', 97; RECONFIGURE";
            Err(format!("the server's sampler is off: {how} (an advanced option)"))
        }
        Some(hz) if kind == Kind::Cpu => Ok(1_000_000_000 / hz),
        Some(_) => Ok(1),
    }
}

fn sums(client: &mut Client, kind: Kind) -> Result<Sums> {
    let (third, weight, view) = match kind {
        Kind::Cpu => ("state", "sample_count", "dm_os_cpu_samples"),
        Kind::Wait => ("wait_type", "wait_ns", "dm_os_wait_samples"),
        Kind::Allocation => ("type", "allocated_bytes", "dm_os_allocation_samples"),
    };
    let question = format!(
        "SELECT stack_id, label, {third}, SUM(sample_count), SUM({weight}) FROM sys.{view} \
         GROUP BY stack_id, label, {third}"
    );
    let row = |row: Vec<Value>| {
        let id = number(row.first())?;
        let sum = (number(row.get(3))?, number(row.get(4))?);
        Some(((id, text(row.get(1)), text(row.get(2))), sum))
    };
    let rows = client.rows(&question)?.into_iter().map(row).collect::<Option<Sums>>();
    rows.ok_or_else(|| format!("sys.{view} does not have the expected columns"))
}

/// Returns the functions of stacks, innermost first.
fn names(client: &mut Client, ids: &[u64]) -> Result<HashMap<u64, Vec<Rc<Frame>>>> {
    let mut found: HashMap<u64, Vec<Rc<Frame>>> = HashMap::new();
    for ids in ids.chunks(STACKS_ASKED) {
        let mut values = String::new();
        for (i, id) in ids.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(values, "{comma}({id})");
        }
        let question = format!(
            "SELECT v.id, f.level, f.address, f.module, f.function_name, f.[offset], f.file_name, \
             f.line_number, f.is_inlined FROM (VALUES {values}) v(id) \
             CROSS APPLY sys.fn_stack_frames(v.id) f ORDER BY v.id, f.level"
        );
        for row in client.rows(&question)? {
            let Some(id) = number(row.first()) else { continue };
            found.entry(id).or_default().push(Rc::new(frame(&row)));
        }
    }
    Ok(found)
}

fn frame(row: &[Value]) -> Frame {
    let module = text(row.get(3));
    let name = match text(row.get(4)) {
        unknown if unknown.is_empty() => {
            format!("{module}+0x{:x}", number(row.get(5)).unwrap_or(0))
        }
        name => name,
    };
    Frame {
        address: number(row.get(2)).unwrap_or(0),
        module,
        name,
        file: Some(text(row.get(6))).filter(|file| !file.is_empty()),
        line: number(row.get(7)).and_then(|line| u32::try_from(line).ok()),
        is_inlined: number(row.get(8)) == Some(1),
    }
}

fn stack(
    kind: Kind,
    names: &HashMap<u64, Vec<Rc<Frame>>>,
    (id, label, third): (u64, String, String),
    (samples, weight): (u64, u64),
    period: u64,
) -> Stack {
    let plain =
        |name: String| Rc::new(Frame { module: "[sampler]".to_owned(), name, ..Frame::default() });
    let mut frames = Vec::new();
    // The wait type, or the memory's clerk, is the innermost entry.
    if kind != Kind::Cpu {
        frames.push(plain(format!("[{third}]")));
    }
    match names.get(&id) {
        Some(known) => frames.extend(known.iter().cloned()),
        None => frames.push(plain("[no stack]".to_owned())),
    }
    let third_name = match kind {
        Kind::Cpu => "state",
        Kind::Wait => "wait_type",
        Kind::Allocation => "clerk",
    };
    let weight = if kind == Kind::Cpu { weight * period } else { weight };
    Stack { frames, labels: vec![("label", label), (third_name, third)], samples, weight }
}
