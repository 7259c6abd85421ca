//! Files that appear when all of them are written, or not at all.
//!
//! ```text
//! COPY .. TO 'out/t.csv'          out/.t.csv.<process>-<n>.tmp             --rename--> out/t.csv
//! COPY .. TO 'out/t' partitioned  out/.t.<process>-<n>.tmp/k=v/data_0.csv  --rename--> out/t
//! ```
//!
//! Names that begin with a dot are no data to whoever lists a table. What is in the way is refused,
//! or replaced at the end when the statement says OVERWRITE; a folder only if nothing else is in it than
//! COPY writes. Devices and pipes are never replaced; where there is a link, what it stands for is.
//!
//! Files are open while something is appended only, so that any number of partitions can be written
//! at once; when a file has ended it is synced, so that what is renamed is on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use vector::sync::Mutex;
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::{Error, Result, ResultExt};

/// Bytes that wait before a file is opened for them.
const BUFFER_BYTES: usize = 64 << 10;

/// Tells stagings of one process apart.
static STAGINGS: AtomicU64 = AtomicU64::new(0);

/// What a statement writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// One file.
    File,
    /// A folder of things whose names begin so.
    Folder(String),
}

/// The place where everything is written first; removed when dropped before it is published.
#[derive(Debug)]
pub(super) struct Staging {
    target: PathBuf,
    staged: PathBuf,
    shape: Shape,
    overwrite: bool,
    /// Held while files are begun and while all of them are moved or removed.
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Writing,
    Published,
    Abandoned,
}

impl Staging {
    /// Prepares for `target`. `InvalidInput` when something is in the way that must not be
    /// replaced; `NotFound` without the folder around it.
    pub(super) fn new(target: &str, shape: Shape, overwrite: bool) -> Result<Self> {
        let target = PathBuf::from(target.trim_end_matches('/'));
        // A link stays, and what it stands for is written.
        let target = fs::canonicalize(&target).unwrap_or(target);
        let Some(name) = target.file_name() else {
            return Err(Error::invalid_input("COPY needs the path of a file or folder")
                .with("path", target.display()));
        };
        let number = STAGINGS.fetch_add(1, Ordering::Relaxed);
        let staged = format!(".{}.{}-{number}.tmp", name.to_string_lossy(), std::process::id());
        let staging = Staging {
            staged: target.with_file_name(staged),
            target,
            shape,
            overwrite,
            state: Mutex::new(State::Writing),
        };
        staging.check_target()?;
        if !staging.is_file() {
            fs::create_dir(&staging.staged)
                .map_err(|e| Error::from_io(e, "cannot create a folder"))
                .in_named("path", staging.staged.to_string_lossy())?;
        }
        Ok(staging)
    }

    /// True when there is one file.
    pub(super) fn is_file(&self) -> bool {
        self.shape == Shape::File
    }

    /// Begins a file: the only one, or the one at `relative` in the folder.
    pub(super) fn file(&self, relative: &str) -> Result<StagedFile> {
        let state = self.state.lock();
        if *state != State::Writing {
            return Err(Error::cancelled("COPY was given up"));
        }
        let path = match self.shape {
            Shape::File => self.staged.clone(),
            Shape::Folder(_) => self.staged.join(relative),
        };
        let cannot = |e| Error::from_io(e, "cannot create a file");
        if let (Shape::Folder(_), Some(folder)) = (&self.shape, path.parent()) {
            fs::create_dir_all(folder).map_err(cannot).in_named("path", path.to_string_lossy())?;
        }
        File::create_new(&path).map_err(cannot).in_named("path", self.target.to_string_lossy())?;
        Ok(StagedFile { path, buffer: Vec::new() })
    }

    /// Puts everything in its place, for good: what has a name afterwards is on the disk.
    pub(super) fn publish(&self) -> Result<()> {
        let mut state = self.state.lock();
        // It may have come while the rows were written.
        self.check_target()?;
        if !self.is_file() {
            sync_folders(&self.staged)?;
        }
        let replaced = self.staged.with_extension("old");
        let set_aside = !self.is_file() && self.target.exists();
        let moved = (|| {
            // A folder is not replaced by a rename, unlike a file.
            if set_aside {
                fs::rename(&self.target, &replaced)?;
            }
            fs::rename(&self.staged, &self.target).inspect_err(|_| {
                if set_aside {
                    // The old folder comes back; the error says what went wrong first.
                    let _ = fs::rename(&replaced, &self.target);
                }
            })
        })();
        moved
            .map_err(|e| Error::from_io(e, "cannot rename what was written"))
            .in_named("path", self.target.to_string_lossy())?;
        *state = State::Published;
        if set_aside {
            fs::remove_dir_all(&replaced)
                .map_err(|e| Error::from_io(e, "cannot remove what was replaced"))
                .in_named("path", replaced.to_string_lossy())?;
        }
        match self.target.parent() {
            Some(around) if around.as_os_str().is_empty() => sync(Path::new(".")).map(drop),
            Some(around) => sync(around).map(drop),
            None => Ok(()),
        }
    }

    /// Removes what was written, unless it was published; files cannot be begun any more.
    pub(super) fn abandon(&self) {
        let mut state = self.state.lock();
        if *state == State::Writing {
            *state = State::Abandoned;
            // Nothing can be done about what cannot be removed, and whoever failed says why.
            let _ = match self.shape {
                Shape::File => fs::remove_file(&self.staged),
                Shape::Folder(_) => fs::remove_dir_all(&self.staged),
            };
        }
    }

    fn check_target(&self) -> Result<()> {
        let Ok(found) = fs::metadata(&self.target) else { return Ok(()) };
        let refuse = |sentence: &'static str, hint: &str| {
            Err(Error::invalid_input(sentence).with("path", self.target.display()).hint(hint))
        };
        if !found.is_dir() && !found.is_file() {
            return refuse(
                "what COPY would write exists as neither a file nor a folder",
                "devices and pipes are written to with --output",
            );
        }
        match (&self.shape, found.is_dir()) {
            (Shape::File, true) => refuse(
                "a folder is where COPY would write a file",
                "with PARTITION_BY (columns) a folder is written",
            ),
            (Shape::Folder(_), false) => refuse(
                "a file is where COPY would write a folder",
                "without PARTITION_BY and PER_THREAD_OUTPUT one file is written",
            ),
            (Shape::Folder(_), true) if self.is_empty_folder() => Ok(()),
            _ if !self.overwrite => refuse(
                "what COPY would write exists already",
                "COPY .. (.., OVERWRITE) replaces it",
            ),
            (Shape::Folder(own), true) => match self.first_stranger(own)? {
                Some(stranger) => Err(Error::invalid_input(
                    "a folder with other things than COPY writes is not overwritten",
                )
                .with("path", self.target.display())
                .with("found", stranger)),
                None => Ok(()),
            },
            (Shape::File, false) => Ok(()),
        }
    }

    fn is_empty_folder(&self) -> bool {
        fs::read_dir(&self.target).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// The name of something in the folder that does not begin with `own`.
    fn first_stranger(&self, own: &str) -> Result<Option<String>> {
        let entries = fs::read_dir(&self.target)
            .map_err(|e| Error::from_io(e, "cannot list the folder"))
            .in_named("path", self.target.to_string_lossy())?;
        let names = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
        // `_SUCCESS` and the like come with data.
        let belongs = |name: &str| name.starts_with(own) || name.starts_with('_');
        Ok(names.into_iter().find(|name| !belongs(name)))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Waits until a file that was written is on the disk, and gives its length.
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

/// Waits until the names in a folder and in those below are on the disk.
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

/// A file that grows; what is buffered is lost unless flushed.
#[derive(Debug)]
pub(super) struct StagedFile {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl StagedFile {
    /// Where it is now.
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
