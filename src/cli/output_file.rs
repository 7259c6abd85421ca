//! The file of `-o`: it appears when the command has succeeded, and is left alone otherwise.
//!
//! ```text
//! -o out.csv           .out.csv.<random>.ocior.tmp   --rename, at the end-->  out.csv
//! -o link.csv          the same, beside the file that the link stands for
//! -o /dev/null         written to as it is: devices and pipes are not replaced
//! ```
//!
//! So a command may write over the file that it reads, and one that fails keeps what was there.

use std::fs;
use std::path::{Path, PathBuf};

use vector::sync::OnceLock;
use vector::{Error, Result, ResultExt};

use crate::staging::Staged;

/// Output that is written beside its place first; removed when dropped before it is published.
#[derive(Debug)]
pub(super) struct OutputFile {
    target: PathBuf,
    /// Made when something is written.
    staged: OnceLock<Staged>,
}

impl OutputFile {
    /// For the path of `-o`; `None` where it has to be written to directly.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let target = match fs::metadata(path) {
            Ok(found) if found.is_file() => fs::canonicalize(path).ok()?,
            Ok(_) => return None,
            // A link to nothing stands for the file that writing makes.
            Err(_) if path.is_symlink() => return None,
            Err(_) => path.to_path_buf(),
        };
        target.file_name()?;
        Some(OutputFile { target, staged: OnceLock::new() })
    }

    /// Where to write.
    pub(super) fn staged(&self) -> Result<&Path> {
        if let Some(staged) = self.staged.get() {
            return Ok(staged.path());
        }
        let staged = Staged::file(&self.target)?;
        Ok(self.staged.get_or_init(|| staged).path())
    }

    /// Puts what was written in its place; nothing happens when nothing was.
    pub(super) fn publish(&self) -> Result<()> {
        let Some(staged) = self.staged.get() else { return Ok(()) };
        staged.publish(|staged| {
            let moved = || {
                if let Ok(replaced) = fs::metadata(&self.target) {
                    fs::set_permissions(staged, replaced.permissions())?;
                }
                fs::rename(staged, &self.target)
            };
            moved()
                .map_err(|e| Error::from_io(e, "cannot put the output file in its place"))
                .in_named("file", self.target.to_string_lossy())
        })
    }
}
