//! What the kernel reports about the machine and this process's memory: CPUs and sockets, memory,
//! swap, the distribution, and what is at a path. Read again for each view.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, getrlimit};

use super::{SysCause, call};

/// The CPUs of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The number of logical CPUs that are online.
    pub cpus: usize,
    /// The number of sockets; `None` if the kernel does not report it.
    pub sockets: Option<usize>,
    /// The number of physical cores; `None` if the kernel does not report it.
    pub cores: Option<usize>,
    /// The number of memory (NUMA) nodes; `None` if the kernel does not report it.
    pub nodes: Option<usize>,
}

/// Reads the CPUs from `/sys/devices/system`.
#[must_use]
pub fn topology() -> Topology {
    let cpus = read("/sys/devices/system/cpu/online").map(|text| numbers(&text));
    let nodes = read("/sys/devices/system/node/online").map(|text| numbers(&text).len());
    let Some(cpus) = cpus else {
        let cpus = super::allowed_cpus().len();
        return Topology { cpus, nodes, ..Topology::default() };
    };
    let fact = |cpu: &usize, name: &str| -> Option<u32> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        read(&path)?.trim().parse().ok()
    };
    let place = |cpu| Some((fact(cpu, "physical_package_id")?, fact(cpu, "core_id")?));
    let mut cores: Option<Vec<(u32, u32)>> = cpus.iter().map(place).collect();
    if let Some(cores) = &mut cores {
        cores.sort_unstable();
        cores.dedup();
    }
    let sockets = cores.as_ref().map(|cores| {
        let mut sockets: Vec<u32> = cores.iter().map(|(socket, _)| *socket).collect();
        sockets.dedup();
        sockets.len()
    });
    Topology { cpus: cpus.len(), sockets, cores: cores.map(|cores| cores.len()), nodes }
}

/// Whether the machine is virtual; `None` if the CPU does not report it.
#[must_use]
pub fn is_virtual() -> Option<bool> {
    #[cfg(target_arch = "x86_64")]
    {
        // Leaf 1, ECX bit 31: reserved for hypervisors, always 0 on bare metal.
        Some(std::arch::x86_64::__cpuid(1).ecx & (1 << 31) != 0)
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// CPU time of all CPUs together since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineCpu {
    /// The total time, including time that a hypervisor took.
    pub total_ticks: u64,
    /// The idle time, including waits for disks.
    pub idle_ticks: u64,
}

/// Reads the CPU time of the machine from `/proc/stat`; `None` if the kernel does not report it.
#[must_use]
pub fn machine_cpu() -> Option<MachineCpu> {
    machine_cpu_of(&read("/proc/stat")?)
}

fn machine_cpu_of(text: &str) -> Option<MachineCpu> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Option<Vec<u64>> = line.split_whitespace().map(|f| f.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal. The guest times that follow are
    // included in user.
    let fields = fields?;
    let idle_ticks = fields.get(3)? + fields.get(4)?;
    Some(MachineCpu { total_ticks: fields.iter().take(8).sum(), idle_ticks })
}

/// Memory of the machine, from `/proc/meminfo`, in KB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineMemory {
    /// All memory of the machine.
    pub total_kb: u64,
    /// Memory that programs can get without swapping.
    pub available_kb: u64,
    /// The size of the swap space.
    pub swap_total_kb: u64,
    /// Swap space that is free.
    pub swap_free_kb: u64,
    /// Memory for cached files and buffers.
    pub cached_kb: u64,
    /// Memory of kernel objects, which are never swapped.
    pub kernel_kb: u64,
}

/// Reads the memory of the machine; `None` if the kernel does not report it.
#[must_use]
pub fn machine_memory() -> Option<MachineMemory> {
    let text = read("/proc/meminfo")?;
    let of = |name| kilobytes(&text, name);
    Some(MachineMemory {
        total_kb: of("MemTotal:")?,
        available_kb: of("MemAvailable:")?,
        swap_total_kb: of("SwapTotal:")?,
        swap_free_kb: of("SwapFree:")?,
        cached_kb: of("Cached:")? + of("Buffers:")?,
        kernel_kb: of("Slab:")? + of("KernelStack:")? + of("PageTables:")?,
    })
}

/// Memory of this process, from `/proc/self/status`, in KB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Address space in use, resident or not.
    pub reserved_kb: u64,
    /// Memory that is resident, of files or not.
    pub resident_kb: u64,
    /// Memory that is swapped out.
    pub swapped_kb: u64,
    /// Memory that is locked.
    pub locked_kb: u64,
    /// Resident memory of files: the binary and its libraries.
    pub file_kb: u64,
    /// Resident memory that does not belong to a file.
    pub anonymous_kb: u64,
    /// Memory in huge pages of the reserved pool (hugetlb).
    pub huge_kb: u64,
}

/// Reads the memory of this process; `None` if the kernel does not report it.
#[must_use]
pub fn process_memory() -> Option<ProcessMemory> {
    let text = read("/proc/self/status")?;
    let of = |name| kilobytes(&text, name);
    Some(ProcessMemory {
        reserved_kb: of("VmSize:")?,
        resident_kb: of("VmRSS:")?,
        swapped_kb: of("VmSwap:")?,
        locked_kb: of("VmLck:")?,
        // Kernels before 4.5 have no such line.
        file_kb: of("RssFile:").unwrap_or(0),
        anonymous_kb: of("RssAnon:").unwrap_or(0),
        // A kernel without huge pages has no such line, and the process has none.
        huge_kb: of("HugetlbPages:").unwrap_or(0),
    })
}

/// The KB of address space that this process may use; `None` for unknown processor architectures.
#[must_use]
pub fn address_space_kb() -> Option<u64> {
    // x86-64 Linux: the lower half of 48 bits less a page. A CPU may support more, but only for
    // programs that ask for it by address, which nothing here does.
    let layout_kb = cfg!(target_arch = "x86_64").then_some(((1_u64 << 47) - 4096) / 1024)?;
    let limit = call(SysCause::Process, || getrlimit(Resource::As)).current;
    Some(limit.map_or(layout_kb, |bytes| (bytes / 1024).min(layout_kb)))
}

/// Name and version of the distribution, from `/etc/os-release`.
#[must_use]
pub fn distribution() -> Option<(String, Option<String>)> {
    let text = read("/etc/os-release")?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(|value| value.trim_matches(['"', '\'']).to_owned())
    };
    Some((of("NAME")?, of("VERSION_ID")))
}

fn read(path: &str) -> Option<String> {
    call(SysCause::Books, || fs::read_to_string(path)).ok()
}

/// Finds `name  123 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Reads a list such as `0-3,8`.
fn numbers(text: &str) -> Vec<usize> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// A file or folder.
#[derive(Clone, Debug)]
pub struct PathFacts {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Whether the path is a symbolic link; the other facts are those of what it leads to.
    pub is_link: bool,
    /// Whether it may not be written.
    pub is_read_only: bool,
    /// Length of a file in bytes.
    pub bytes: u64,
    /// Seconds since 1970 of its creation, last access and last change, as far as they are known.
    pub seconds: [Option<u64>; 3],
}

/// Returns what is at a path; `None` if nothing is, or it may not be seen.
#[must_use]
pub fn path_facts(path: &str) -> Option<PathFacts> {
    let found = call(SysCause::FileRead, || fs::metadata(path)).ok()?;
    let is_link = call(SysCause::FileRead, || fs::symlink_metadata(path))
        .is_ok_and(|found| found.is_symlink());
    Some(PathFacts::new(&found, is_link))
}

impl PathFacts {
    /// Makes the facts of a path from its metadata.
    pub(super) fn new(found: &fs::Metadata, is_link: bool) -> Self {
        let seconds = |time: std::io::Result<SystemTime>| {
            Some(time.ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
        };
        Self {
            is_folder: found.is_dir(),
            is_link,
            is_read_only: found.permissions().readonly(),
            bytes: if found.is_dir() { 0 } else { found.len() },
            seconds: [
                seconds(found.created()),
                seconds(found.accessed()),
                seconds(found.modified()),
            ],
        }
    }
}

/// Returns the bytes that are free for this process on the file system of a path.
#[must_use]
pub fn free_bytes(path: &str) -> Option<u64> {
    let found = call(SysCause::FileRead, || rustix::fs::statvfs(path)).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(numbers("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(numbers("0\n"), [0]);
        assert_eq!(numbers("\n"), [0_usize; 0]);
    }

    #[test]
    fn cpu_time_is_read_from_the_first_line() {
        let text = "cpu  10 2 8 70 5 1 3 1 4 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        let expected = MachineCpu { total_ticks: 100, idle_ticks: 75 };
        assert_eq!(machine_cpu_of(text), Some(expected));
        assert_eq!(machine_cpu_of("intr 5\n"), None);
    }

    #[test]
    fn lines_in_kilobytes_are_found() {
        let text = "MemTotal:       24684092 kB\nMemFree:  12 kB\nHugePages_Total:       0\n";
        assert_eq!(kilobytes(text, "MemFree:"), Some(12));
        assert_eq!(kilobytes(text, "HugePages_Total:"), None);
    }

    #[test]
    fn this_machine_has_what_it_must_have() {
        let topology = topology();
        assert!(topology.cpus >= super::super::allowed_cpus().len().min(1));
        if let (Some(sockets), Some(cores)) = (topology.sockets, topology.cores) {
            assert!(sockets >= 1 && cores >= sockets && topology.cpus >= cores);
        }
        if let (Some(machine), Some(process)) = (machine_memory(), process_memory()) {
            assert!(machine.available_kb <= machine.total_kb);
            assert!(process.resident_kb <= process.reserved_kb);
            assert!(process.resident_kb < machine.total_kb + machine.swap_total_kb);
        }
    }
}
