//! A control group with a CPU quota, as a container has one. Needs the rights to make it.

use std::fs;
use std::path::{Path, PathBuf};

const PERIOD_US: f64 = 100_000.0;

/// A group that is removed when dropped: after the process in it has ended.
pub(crate) struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Makes a group and puts a process into it.
    ///
    /// # Errors
    /// Why there can be none here.
    pub(crate) fn limit(process: u32, cpus: f64) -> Result<Self, String> {
        let name = format!("clearway-faults-{}", std::process::id());
        let quota = format!("{:.0}", cpus * PERIOD_US);
        // Version 1 has a folder for each controller; version 2 has one hierarchy.
        let first = Path::new("/sys/fs/cgroup/cpu");
        let (folder, file, quota) = match first.join("cpu.cfs_quota_us").exists() {
            true => (first.join(name), "cpu.cfs_quota_us", quota),
            false => {
                let limit = format!("{quota} {PERIOD_US:.0}");
                (Path::new("/sys/fs/cgroup").join(name), "cpu.max", limit)
            }
        };
        let failed = |error| format!("a control group cannot be made here: {error}");
        fs::create_dir_all(&folder).map_err(failed)?;
        let group = Self(folder);
        fs::write(group.0.join(file), quota).map_err(failed)?;
        fs::write(group.0.join("cgroup.procs"), process.to_string()).map_err(failed)?;
        Ok(group)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // If it fails an empty group stays.
        let _ = fs::remove_dir(&self.0);
    }
}
