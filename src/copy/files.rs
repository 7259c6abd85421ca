//! Output files that appear when all of them are written, or not at all.
//!
//! ```text
//! COPY .. TO 'out/t.csv'          out/.t.csv.<random>.ocior.tmp             --rename--> out/t.csv
//! COPY .. TO 'out/t' partitioned  out/.t.<random>.ocior.tmp/k=v/data_0.csv  --rename--> out/t
//! ```
//!
//! `src/staging.rs` defines the temporary names. An existing target is an error, unless the
//! statement says OVERWRITE; then it is replaced at the end. A folder is replaced only if it
//! contains nothing but output of COPY. Devices and pipes are never replaced. A link is kept, and
//! its target is replaced.
//!
//! A file is open only while bytes are appended, so that any number of partitions can be written at
//! the same time. A finished file is synced before the rename.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use vector::{Error, Result, ResultExt};

use super::writer::FILE_NAME;
use crate::staging::{Staged, folder_of};

/// Number of bytes that are buffered before the file is opened to append them.
const BUFFER_BYTES: usize = 64 << 10;

/// Kind of output of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One file.
    File,
    /// A folder of files or of Hive partitions.
    Folder,
}

/// Temporary location of the output; removed if it is dropped before it is published.
#[derive(Debug)]
pub(super) struct Staging {
    target: PathBuf,
    staged: Staged,
    shape: Shape,
    overwrite: bool,
}

impl Staging {
    /// Prepares for writing `target`. Returns `InvalidInput` if something exists there that must
    /// not be replaced, and `NotFound` if the parent folder does not exist.
    pub(super) fn new(target: &str, shape: Shape, overwrite: bool) -> Result<Self> {
        let target = PathBuf::from(target.trim_end_matches('/'));
        // A link is kept, and its target is written.
        let target = fs::canonicalize(&target).unwrap_or(target);
        if target.file_name().is_none() {
            return Err(Error::invalid_input("COPY needs the path of a file or folder")
                .with("path", target.display()));
        }
        check_target(&target, shape, overwrite)?;
        let staged = match shape {
            Shape::File => Staged::file(&target)?,
            Shape::Folder => Staged::folder(&target)?,
        };
        Ok(Staging { target, staged, shape, overwrite })
    }

    /// Returns true if the output is one file.
    pub(super) fn is_file(&self) -> bool {
        self.shape == Shape::File
    }

    /// Creates a file: the only one, or the one at `relative` in the folder.
    pub(super) fn file(&self, relative: &str) -> Result<StagedFile> {
        let path = self.staged.add(|staged| {
            if self.is_file() {
                return Ok(staged.to_path_buf());
            }
            let path = staged.join(relative);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| File::create_new(&path))
                .map_err(|e| Error::from_io(e, "cannot create a file"))
                .in_named("path", self.target.join(relative).to_string_lossy())?;
            Ok(path)
        })?;
        Ok(StagedFile { path, buffer: Vec::new() })
    }

    /// Moves the output to its place. On success the output is on disk under its name.
    pub(super) fn publish(&self) -> Result<()> {
        self.staged.publish(|staged| {
            // The target may have been created while the rows were written.
            check_target(&self.target, self.shape, self.overwrite)?;
            if !self.is_file() {
                sync_folders(staged)?;
            }
            self.place(staged).or_else(|error| match error.kind() {
                ErrorKind::AlreadyExists => Err(exists(&self.target)),
                _ => Err(Error::from_io(error, "cannot rename what was written"))
                    .in_named("path", self.target.to_string_lossy()),
            })
        })?;
        sync(folder_of(&self.target)).map(drop)
    }

    /// Removes the output unless it was published. No file can be created afterwards.
    pub(super) fn abandon(&self) {
        self.staged.abandon();
    }

    fn place(&self, staged: &Path) -> io::Result<()> {
        let to = self.target.as_path();
        if !self.overwrite {
            // Another writer may create the target between the check and the rename.
            return match rename_with(staged, to, RenameFlags::NOREPLACE) {
                Some(Err(error))
                    if error.kind() == ErrorKind::AlreadyExists && is_empty_folder(to) =>
                {
                    fs::rename(staged, to)
                }
                Some(moved) => moved,
                None => fs::rename(staged, to),
            };
        }
        // A rename replaces a file but not a folder.
        if self.is_file() || !to.exists() {
            return fs::rename(staged, to);
        }
        match rename_with(staged, to, RenameFlags::EXCHANGE) {
            Some(exchanged) => {
                exchanged?;
                // The replaced folder now has the temporary name. If removing it fails, the next
                // COPY into the parent folder removes it.
                let _ = fs::remove_dir_all(staged);
                Ok(())
            }
            None => replace_folder(staged, to),
        }
    }
}

/// Renames atomically with respect to other renames; `None` if the file system does not support it.
fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> Option<io::Result<()>> {
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, flags) {
        Ok(()) => Some(Ok(())),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => None,
        Err(error) => Some(Err(error.into())),
    }
}

/// Replaces a folder in two steps.
fn replace_folder(staged: &Path, to: &Path) -> io::Result<()> {
    let replaced = staged.with_extension("old");
    fs::rename(to, &replaced)?;
    fs::rename(staged, to).inspect_err(|_| {
        // Restores the old folder. Its error is ignored, since the first error is returned.
        let _ = fs::rename(&replaced, to);
    })?;
    fs::remove_dir_all(&replaced)
}

fn exists(target: &Path) -> Error {
    Error::invalid_input("what COPY would write exists already")
        .with("path", target.display())
        .hint("COPY .. (.., OVERWRITE) replaces it")
}

fn check_target(target: &Path, shape: Shape, overwrite: bool) -> Result<()> {
    let Ok(found) = fs::metadata(target) else { return Ok(()) };
    let refuse = |sentence: &'static str, hint: &str| {
        Err(Error::invalid_input(sentence).with("path", target.display()).hint(hint))
    };
    if !found.is_dir() && !found.is_file() {
        return refuse(
            "what COPY would write exists as neither a file nor a folder",
            "devices and pipes are written to with --output",
        );
    }
    match (shape, found.is_dir()) {
        (Shape::File, true) => refuse(
            "a folder is where COPY would write a file",
            "with PARTITION_BY (columns) a folder is written",
        ),
        (Shape::Folder, false) => refuse(
            "a file is where COPY would write a folder",
            "without PARTITION_BY and PER_THREAD_OUTPUT one file is written",
        ),
        (Shape::Folder, true) if is_empty_folder(target) => Ok(()),
        _ if !overwrite => Err(exists(target)),
        (Shape::Folder, true) => match first_stranger(target)? {
            Some(stranger) => Err(Error::invalid_input(
                "a folder with other things than COPY writes is not overwritten",
            )
            .with("path", target.display())
            .with("found", stranger.display())),
            None => Ok(()),
        },
        (Shape::File, false) => Ok(()),
    }
}

fn is_empty_folder(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns an entry of the folder that COPY does not write. COPY writes partitions of any keys with
/// data files in them, and data files with its own prefix. `_SUCCESS` and similar files belong to
/// data.
fn first_stranger(target: &Path) -> Result<Option<PathBuf>> {
    let mut rest = vec![target.to_path_buf()];
    while let Some(folder) = rest.pop() {
        let listed = fs::read_dir(&folder)
            .and_then(|entries| entries.collect::<io::Result<Vec<_>>>())
            .map_err(|e| Error::from_io(e, "cannot list the folder"))
            .in_named("path", folder.to_string_lossy())?;
        for entry in listed {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is = |test: fn(&fs::FileType) -> bool| entry.file_type().is_ok_and(|ty| test(&ty));
            if is(fs::FileType::is_dir) && name.contains('=') {
                rest.push(entry.path());
                continue;
            }
            let is_data = name.starts_with('_')
                || name.starts_with(FILE_NAME)
                || (folder != target && has_data_ending(&name));
            if !(is(fs::FileType::is_file) && is_data) {
                return Ok(Some(entry.path()));
            }
        }
    }
    Ok(None)
}

fn has_data_ending(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    matches!(ending, Some("parquet" | "csv" | "jsonl" | "ndjson"))
}

/// Waits until a written file is on disk, and returns its length.
pub(super) fn sync_file(path: &Path) -> Result<u64> {
    sync(path)?
        .metadata()
        .map(|metadata| metadata.len())
        .map_err(|e| Error::from_io(e, "cannot look at what was written"))
        .in_named("path", path.to_string_lossy())
}

fn sync(path: &Path) -> Result<File> {
    let file = File::open(path).and_then(|file| file.sync_all().map(|()| file));
    file.map_err(|e| Error::from_io(e, "cannot write to the disk"))
        .in_named("path", path.to_string_lossy())
}

/// Waits until the entries of a folder and of the folders below it are on disk.
fn sync_folders(folder: &Path) -> Result<()> {
    let mut rest = vec![folder.to_path_buf()];
    while let Some(folder) = rest.pop() {
        let entries = fs::read_dir(&folder)
            .map_err(|e| Error::from_io(e, "cannot list the folder"))
            .in_named("path", folder.to_string_lossy())?;
        let entries = entries.flatten().filter(|e| e.file_type().is_ok_and(|ty| ty.is_dir()));
        rest.extend(entries.map(|entry| entry.path()));
        sync(&folder)?;
    }
    Ok(())
}

/// A file that is appended to. Buffered bytes are lost unless flushed.
#[derive(Debug)]
pub(super) struct StagedFile {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl StagedFile {
    /// Current path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            OpenOptions::new().append(true).open(&self.path)?.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}
