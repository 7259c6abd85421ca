//! The output file of `-o`. It appears when the command succeeds, and an existing file is unchanged
//! otherwise.
//!
//! ```text
//! -o out.csv           .out.csv.<random>.ocior.tmp   --rename, at the end-->  out.csv
//! -o link.csv          the same, next to the target of the link
//! -o /dev/null         written directly: devices and pipes are not replaced
//! ```
//!
//! Therefore a command may overwrite the file that it reads, and a failed command keeps the old
//! file.

use std::fs;
use std::path::{Path, PathBuf};

use vector::sync::OnceLock;
use vector::{Error, Result, ResultExt};

use crate::staging::Staged;

/// Output that is first written to a temporary file; removed if it is dropped before it is
/// published.
#[derive(Debug)]
pub(super) struct OutputFile {
    target: PathBuf,
    /// The temporary file, created at the first write.
    staged: OnceLock<Staged>,
}

impl OutputFile {
    /// Returns the output file for the path of `-o`; `None` if the path must be written to
    /// directly.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let target = match fs::metadata(path) {
            Ok(found) if found.is_file() => fs::canonicalize(path).ok()?,
            Ok(_) => return None,
            // Writing to a dangling link creates its target.
            Err(_) if path.is_symlink() => return None,
            Err(_) => path.to_path_buf(),
        };
        target.file_name()?;
        Some(OutputFile { target, staged: OnceLock::new() })
    }

    /// Returns the path to write to.
    pub(super) fn staged(&self) -> Result<&Path> {
        if let Some(staged) = self.staged.get() {
            return Ok(staged.path());
        }
        let staged = Staged::file(&self.target)?;
        Ok(self.staged.get_or_init(|| staged).path())
    }

    /// Moves the written file to its place. Does nothing if no file was written.
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
