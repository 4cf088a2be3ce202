//! Limits and pressure of control groups, read from texts as the kernel writes them.

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
