//! The limits on memory and CPU that control groups give this process, as in a container.
//!
//! ```text
//!   /proc/self/cgroup      which group it is in      0::/app/web          (v2)   4:memory:/app/web       (v1)
//!   /proc/self/mountinfo   where groups are files    /sys/fs/cgroup              /sys/fs/cgroup/memory
//!   the group's folder, and each above it            memory.max                  memory.limit_in_bytes
//! ```
//! The smallest of all limits applies (cgroups(7); Control Group v2 and memory controller v1 of the
//! kernel's documentation).

use std::fs;
use std::path::{Path, PathBuf};

use super::{SysCause, call};

/// The bytes that the groups of this process allow all processes in them; `None` without a limit.
pub(super) fn limit_bytes() -> Option<u64> {
    limit_under(Path::new("/"))
}

/// As [`limit_bytes`], with the machine's files below the folder `root`.
fn limit_under(root: &Path) -> Option<u64> {
    let groups = read(&root.join("proc/self/cgroup"))?;
    let mounts = read(&root.join("proc/self/mountinfo"))?;
    let limits = groups.lines().filter_map(Group::of_line);
    limits.filter_map(|group| group.limit_bytes(root, &mounts)).min()
}

/// What control groups allow of the CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CpuLimit {
    /// The quota in CPUs; `None` without one.
    pub(super) cpus: Option<f64>,
    /// Number of periods in which the quota stopped the group.
    pub(super) throttled_periods: u64,
    /// Microseconds for which it was stopped, summed over CPUs.
    pub(super) throttled_us: u64,
}

/// Returns the CPU quota of this process's groups; `None` where there are no such groups.
pub(super) fn cpu_limit() -> Option<CpuLimit> {
    cpu_limit_under(Path::new("/"))
}

fn cpu_limit_under(root: &Path) -> Option<CpuLimit> {
    let groups = read(&root.join("proc/self/cgroup"))?;
    let mounts = read(&root.join("proc/self/mountinfo"))?;
    let groups = groups.lines().filter_map(|line| Group::with_controller(line, "cpu"));
    groups.filter_map(|group| group.cpu(root, &mounts)).next()
}

/// A group that this process is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group<'t> {
    version: Version,
    /// The controller whose files are looked for, by its name in version 1.
    controller: &'static str,
    path: &'t str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl<'t> Group<'t> {
    /// The group of a line of `/proc/self/cgroup`, if it can limit memory.
    fn of_line(line: &'t str) -> Option<Self> {
        Self::with_controller(line, "memory")
    }

    /// The group of a line of `/proc/self/cgroup`, if it has this controller.
    fn with_controller(line: &'t str, controller: &'static str) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let version = match controllers {
            "" if number == "0" => Version::Two,
            _ if controllers.split(',').any(|name| name == controller) => Version::One,
            _ => return None,
        };
        Some(Self { version, controller, path })
    }

    fn limit_bytes(self, root: &Path, mounts: &str) -> Option<u64> {
        let file = match self.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        // "max" is not a number and means no limit; version 1 has a number larger than any machine.
        let folders = self.folders(root, mounts)?;
        folders.iter().filter_map(|folder| read(&folder.join(file))?.trim().parse().ok()).min()
    }

    /// The group's folder and those above it, as far as the process sees them.
    fn folders(self, root: &Path, mounts: &str) -> Option<Vec<PathBuf>> {
        let (shown, place) = mounts.lines().find_map(|line| self.mounted_by(line))?;
        let top = root.join(place.trim_start_matches('/'));
        // If the path is not below the mounted one, the process sees its own group at the top.
        let below = Path::new(self.path).strip_prefix(shown).unwrap_or(Path::new(""));
        let inside = !below.components().any(|part| part.as_os_str() == "..");
        let own = if inside { top.join(below) } else { top.clone() };
        let folders = own.ancestors().take_while(|folder| folder.starts_with(&top));
        Some(folders.map(Path::to_path_buf).collect())
    }

    /// The least CPU quota of the group and those above it, and how often it stopped the group.
    fn cpu(self, root: &Path, mounts: &str) -> Option<CpuLimit> {
        let folders = self.folders(root, mounts)?;
        let quotas = folders.iter().filter_map(|folder| match self.version {
            Version::One => {
                let quota = read(&folder.join("cpu.cfs_quota_us"))?.trim().parse::<f64>().ok()?;
                let period = read(&folder.join("cpu.cfs_period_us"))?.trim().parse::<f64>().ok()?;
                (quota > 0.0 && period > 0.0).then(|| quota / period)
            }
            Version::Two => {
                let text = read(&folder.join("cpu.max"))?;
                let (quota, period) = text.trim().split_once(' ')?;
                let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
                (period > 0.0).then(|| quota / period)
            }
        });
        let cpus = quotas.reduce(f64::min);
        let stat = folders.iter().find_map(|folder| read(&folder.join("cpu.stat")));
        let of = |name: &str| {
            let line = stat.as_deref()?.lines().find(|line| line.starts_with(name))?;
            line.split_once(' ')?.1.trim().parse::<u64>().ok()
        };
        let throttled_us = match self.version {
            Version::One => of("throttled_time ").map(|ns| ns / 1_000),
            Version::Two => of("throttled_usec "),
        };
        let throttled_periods = of("nr_throttled ").unwrap_or(0);
        Some(CpuLimit { cpus, throttled_periods, throttled_us: throttled_us.unwrap_or(0) })
    }

    /// The mount point and the group of a line of `/proc/self/mountinfo`, if it belongs to this
    /// group's hierarchy.
    fn mounted_by(self, line: &str) -> Option<(PathBuf, String)> {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let is_ours = match (self.version, kind.next()?) {
            (Version::Two, "cgroup2") => true,
            (Version::One, "cgroup") => {
                kind.nth(1)?.split(',').any(|option| option == self.controller)
            }
            _ => false,
        };
        let mut fields = place.split(' ').skip(3);
        let (shown, place) = (fields.next()?, fields.next()?);
        is_ours.then(|| (PathBuf::from(plain(shown)), plain(place)))
    }
}

/// A path of mountinfo without its escapes: `\040` is a space.
fn plain(path: &str) -> String {
    let octal = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    octal.iter().fold(path.to_owned(), |path, (escaped, plain)| path.replace(escaped, plain))
}

fn read(path: &Path) -> Option<String> {
    call(SysCause::Books, || fs::read_to_string(path)).ok()
}

#[cfg(test)]
mod tests;
