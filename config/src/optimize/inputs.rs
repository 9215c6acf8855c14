//! Files of a job.

use std::path::{Path, PathBuf};

/// The folder that paths are taken from, and what a job reads: nothing of that may be written.
pub(super) struct Inputs<'a> {
    pub(super) folder: &'a Path,
    pub(super) files: Vec<PathBuf>,
}

impl Inputs<'_> {
    /// Returns the path of a file that is read.
    pub(super) fn path(&mut self, path: String) -> PathBuf {
        let path = self.folder.join(path);
        self.files.push(path.clone());
        path
    }
}

/// Returns true if two paths name one file, through links and `..` too, as far as their folders
/// exist.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| {
        path.canonicalize().or_else(|_| {
            let folder =
                path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folder.canonicalize().map(|folder| folder.join(path.file_name().unwrap_or_default()))
        })
    };
    a == b || matches!((real(a), real(b)), (Ok(a), Ok(b)) if a == b)
}
