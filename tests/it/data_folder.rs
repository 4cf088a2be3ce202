//! `Data`: a folder for one test, which is the `--data` of the servers that the test starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::server::{ServerProcess, command};

/// A folder that is removed when the test ends.
pub(crate) struct Data(PathBuf);

impl Data {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("clearway-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("the path is UTF-8")
    }

    /// Returns the path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn start(&self) -> ServerProcess {
        self.start_with(&[])
    }

    pub(crate) fn start_with(&self, more: &[&str]) -> ServerProcess {
        ServerProcess::start(&[&["--data", self.path()], more].concat())
    }

    /// Returns the lines of `clearway log`.
    pub(crate) fn log(&self) -> Vec<String> {
        let out = command(&["log", self.path()]).output().expect("the binary runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("JSON is UTF-8").lines().map(str::to_owned).collect()
    }

    /// Returns all files and their bytes. The text of the lock is the process that had it last, so
    /// that file does not count.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        read_files(&self.0, &mut files);
        files.remove(&self.file("lock"));
        files
    }

    /// Makes the folder what [`Self::files`] has returned.
    pub(crate) fn put_back(&self, files: &BTreeMap<PathBuf, Vec<u8>>) {
        let now = self.files();
        for path in now.keys().filter(|path| !files.contains_key(*path)) {
            std::fs::remove_file(path).expect("the file is ours");
        }
        for (path, bytes) in files {
            if now.get(path) != Some(bytes) {
                std::fs::write(path, bytes).expect("the file is ours");
            }
        }
    }
}

fn read_files(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder is there").path();
        if path.is_dir() {
            read_files(&path, files);
        } else {
            let bytes = std::fs::read(&path).expect("the file is readable");
            files.insert(path, bytes);
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // The folder of temporary files is emptied by others if this fails.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
