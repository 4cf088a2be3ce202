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
mod tests {
    use super::*;

    /// The files of a made-up machine.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("cgroup-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "24 22 0:21 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
                      31 24 0:27 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n\
                      32 24 0:28 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";

    #[test]
    fn container_of_version_2_sees_its_limit_at_the_top() {
        let tree = Tree::new(
            "top",
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/memory.max", "268435456\n"),
            ],
        );
        assert_eq!(limit_under(&tree.0), Some(256 << 20));
    }

    #[test]
    fn smallest_limit_of_the_groups_above_counts() {
        let tree = Tree::new(
            "above",
            &[
                ("proc/self/cgroup", "0::/system.slice/a b/web\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/system.slice/memory.max", "1000000\n"),
                ("sys/fs/cgroup/system.slice/a b/memory.max", "3000000\n"),
                ("sys/fs/cgroup/system.slice/a b/web/memory.max", "max\n"),
                // The limit of a group that the process is not in.
                ("sys/fs/cgroup/system.slice/other/memory.max", "5\n"),
            ],
        );
        assert_eq!(limit_under(&tree.0), Some(1_000_000));
    }

    #[test]
    fn container_of_version_1_has_its_group_mounted() {
        let tree = Tree::new(
            "one",
            &[
                ("proc/self/cgroup", "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n0::/\n"),
                ("proc/self/mountinfo", V1),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n"),
            ],
        );
        assert_eq!(limit_under(&tree.0), Some(128 << 20));
    }

    #[test]
    fn group_of_version_1_below_the_one_that_is_mounted_is_found() {
        let tree = Tree::new(
            "below",
            &[
                ("proc/self/cgroup", "4:memory:/docker/ab/inner\n"),
                ("proc/self/mountinfo", V1),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "7000000\n"),
            ],
        );
        assert_eq!(limit_under(&tree.0), Some(7_000_000));
    }

    #[test]
    fn quota_of_either_version_is_in_cpus() {
        let tree = Tree::new(
            "quota2",
            &[
                ("proc/self/cgroup", "0::/web\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/web/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/web/cpu.stat", "usage_usec 5\nnr_throttled 7\nthrottled_usec 90\n"),
                ("sys/fs/cgroup/cpu.max", "max 100000\n"),
            ],
        );
        let found = CpuLimit { cpus: Some(1.5), throttled_periods: 7, throttled_us: 90 };
        assert_eq!(cpu_limit_under(&tree.0), Some(found));
        let tree = Tree::new(
            "quota1",
            &[
                ("proc/self/cgroup", "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n"),
                ("proc/self/mountinfo", V1),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 0\nthrottled_time 0\n"),
            ],
        );
        let found = CpuLimit { cpus: None, throttled_periods: 0, throttled_us: 0 };
        assert_eq!(cpu_limit_under(&tree.0), Some(found));
    }

    #[test]
    fn no_limit_is_none() {
        let files = [
            ("proc/self/cgroup", "0::/../outside\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/memory.max", "5\n"),
        ];
        let tree = Tree::new("none", &files);
        assert_eq!(limit_under(&tree.0), None);
        assert_eq!(limit_under(&tree.0.join("proc")), None, "nothing is mounted");
    }

    #[test]
    fn lines_of_other_controllers_are_passed_over() {
        assert_eq!(Group::of_line("3:cpuset:/x"), None);
        assert_eq!(Group::of_line("0::/a:b").map(|group| group.path), Some("/a:b"));
        assert_eq!(Group::of_line("nonsense"), None);
    }
}
