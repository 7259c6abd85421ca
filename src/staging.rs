//! Staged files and folders: they are written under a temporary name and renamed when they are
//! complete.
//!
//! ```text
//! out/t.csv      written as  out/.t.csv.<32 random digits>.ocior.tmp       --rename-->  out/t.csv
//! out/t          written as  out/.t.<32 random digits>.ocior.tmp/k=v/..    --rename-->  out/t
//! ```
//!
//! Readers of the folder ignore names that begin with a dot. A staged file or folder is locked
//! (`flock`) while its process writes it. The kernel releases the locks of a process that ends in
//! any way, so a staged file whose lock is free has no writer, and the next writer into the same
//! folder removes it. Names are random, since process ids repeat between machines and containers
//! that share a folder.
//!
//! If the file system does not support locks, staged files of other processes are never removed.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use vector::sync::{Arc, LazyLock, Mutex, Weak};
use vector::{Error, Result, ResultExt};

/// Suffix of names of staged files.
const ENDING: &str = ".ocior.tmp";
/// Number of random hexadecimal digits in a name.
const NUM_DIGITS: usize = 32;
/// Maximum number of bytes of the target's name in the name of its staged file, which limits its
/// length.
const MAX_NAME_BYTES: usize = 100;
/// Maximum number of names that are tried.
const MAX_ATTEMPTS: usize = 16;

/// All staged files of this process, for a process that must end at once.
static LIVE: LazyLock<Mutex<Vec<Weak<Inner>>>> = LazyLock::new(Mutex::default);

/// A staged file or folder; removed if it is dropped before it is published.
#[derive(Debug)]
pub(crate) struct Staged(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    is_folder: bool,
    /// Locked while files are created in the folder and while it is moved or removed.
    state: Mutex<State>,
    /// Holds the file lock; `None` if the file system does not support locks.
    _lock: Option<File>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Writing,
    Published,
    Abandoned,
}

impl Staged {
    /// Creates an empty file next to `target`, and removes staged files of ended writers there.
    /// Returns `NotFound` if the parent folder does not exist.
    pub(crate) fn file(target: &Path) -> Result<Self> {
        Self::new(target, false)
    }

    /// Creates an empty folder next to `target`; see [`Staged::file`].
    pub(crate) fn folder(target: &Path) -> Result<Self> {
        Self::new(target, true)
    }

    fn new(target: &Path, is_folder: bool) -> Result<Self> {
        remove_abandoned(folder_of(target));
        let sentence = if is_folder { "cannot create a folder" } else { "cannot create a file" };
        let (path, lock) = create(target, is_folder)
            .map_err(|e| Error::from_io(e, sentence))
            .in_named("path", target.to_string_lossy())?;
        let state = Mutex::new(State::Writing);
        let inner = Arc::new(Inner { path, is_folder, state, _lock: lock });
        let mut live = LIVE.lock();
        live.retain(|known| known.strong_count() > 0);
        live.push(Arc::downgrade(&inner));
        Ok(Staged(inner))
    }

    /// Path while it is being written.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Calls `make`, which adds to the staged file or folder. Returns `Cancelled` after it was
    /// abandoned, so that nothing is created after the removal.
    pub(crate) fn add<T>(&self, make: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
        let state = self.0.state.lock();
        match *state {
            State::Writing => make(&self.0.path),
            State::Published | State::Abandoned => {
                Err(Error::cancelled("what was being written was given up"))
            }
        }
    }

    /// Calls `place`, which moves the staged file or folder from the given path to its target. If
    /// `place` fails, the staged file or folder is still to be removed.
    pub(crate) fn publish(&self, place: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let mut state = self.0.state.lock();
        if *state != State::Writing {
            return Err(Error::cancelled("what was being written was given up"));
        }
        place(&self.0.path)?;
        *state = State::Published;
        Ok(())
    }

    /// Removes the staged file or folder unless it was published. Writers on other threads that are
    /// still using it fail.
    pub(crate) fn abandon(&self) {
        self.0.abandon();
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Inner {
    /// Removes the staged file or folder; returns false if it was published.
    fn abandon(&self) -> bool {
        let mut state = self.state.lock();
        if *state == State::Writing {
            *state = State::Abandoned;
            // A failure to remove is ignored; a later writer tries again.
            let _ = remove(&self.path, self.is_folder);
        }
        *state == State::Abandoned
    }
}

/// Removes all staged files of this process, for a process that ends without dropping them. Returns
/// false if some of them have been published.
pub(crate) fn abandon_all() -> bool {
    let live: Vec<Arc<Inner>> = LIVE.lock().iter().filter_map(Weak::upgrade).collect();
    // Continues after a failure, so that each one is tried.
    let failed = live.iter().filter(|staged| !staged.abandon()).count();
    failed == 0
}

/// Removes staged files of ended processes in `folder`. Those that are still being written are
/// locked and stay; all other files stay too.
fn remove_abandoned(folder: &Path) {
    // If the folder cannot be listed, it may still be possible to write into it.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_staging_name) {
            continue;
        }
        let is_folder = match entry.file_type() {
            Ok(ty) if ty.is_dir() => true,
            Ok(ty) if ty.is_file() => false,
            _ => continue,
        };
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            // The lock is held during removal, so a writer that has just created the file retries
            // with another name.
            let _ = remove(&path, is_folder);
        }
    }
}

/// Returns true for `.<name>.<32 hexadecimal digits>.ocior.tmp`.
fn is_staging_name(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.strip_suffix(ENDING));
    let digits = parts.and_then(|parts| parts.rsplit_once('.')).map(|(_, digits)| digits);
    digits.is_some_and(|digits| {
        digits.len() == NUM_DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Creates a file or folder with a unique name, and locks it.
fn create(target: &Path, is_folder: bool) -> io::Result<(PathBuf, Option<File>)> {
    for _ in 0..MAX_ATTEMPTS {
        let path = target.with_file_name(random_name(target));
        let made = match is_folder {
            true => DirBuilder::new().create(&path),
            false => File::create_new(&path).map(drop),
        };
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let file = match File::open(&path) {
            // Another writer has removed it as abandoned before it was locked.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            file => file?,
        };
        match file.try_lock() {
            Ok(()) if is_at(&file, &path) => return Ok((path, Some(file))),
            Ok(()) | Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(_)) => return Ok((path, None)),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "no name is free"))
}

/// Returns true if the open file is the one at the path.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| a.dev() == b.dev() && a.ino() == b.ino();
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(found)) => same(open, found),
        _ => false,
    }
}

fn random_name(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    // The standard hasher is seeded from the system's random number source.
    let random = || RandomState::new().build_hasher().finish();
    format!(".{}.{:016x}{:016x}{ENDING}", &name[..end], random(), random())
}

/// Returns the folder that contains a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => Path::new("/"),
    }
}

fn remove(path: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is unique to one test; removed when dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let path = std::env::temp_dir().join(random_name(Path::new("ocior-staging")));
            fs::create_dir(&path).unwrap();
            Scratch(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn names_are_random_and_known_again() {
        for target in ["t.csv", "a/b/ü", &"x".repeat(250), &"ä".repeat(127)] {
            let (a, b) = (random_name(Path::new(target)), random_name(Path::new(target)));
            assert_ne!(a, b);
            assert!(is_staging_name(&a) && a.len() < 255, "{a}");
        }
        let digits = "0123456789abcdef".repeat(2);
        assert!(is_staging_name(&format!(".t.{digits}.ocior.tmp")));
        for other in [
            format!("t.{digits}.ocior.tmp"),
            format!(".t.{digits}.tmp"),
            format!(".t.{}.ocior.tmp", &digits[1..]),
            format!(".t.{}.ocior.tmp", digits.to_uppercase()),
            format!(".{digits}.ocior.tmp"),
            ".t.csv.123-0.tmp".to_string(),
        ] {
            assert!(!is_staging_name(&other), "{other}");
        }
    }

    #[test]
    fn what_is_given_up_is_removed_and_takes_nothing_more() {
        let folder = Scratch::new();
        for is_folder in [false, true] {
            let staged = Staged::new(&folder.0.join("t"), is_folder).unwrap();
            assert!(staged.path().exists());
            staged.add(|_| Ok(())).unwrap();
            staged.abandon();
            assert!(staged.add(|_| Ok(())).is_err());
            assert!(staged.publish(|_| Ok(())).is_err());
            assert_eq!(folder.names(), [""; 0]);
        }
        drop(Staged::file(&folder.0.join("t")).unwrap());
        assert_eq!(folder.names(), [""; 0]);
        assert!(Staged::file(&folder.0.join("none/t")).is_err());
    }

    #[test]
    fn only_what_nobody_locks_is_removed_for_others() {
        let folder = Scratch::new();
        let target = folder.0.join("t");
        let (held, held_folder) =
            (Staged::file(&target).unwrap(), Staged::folder(&target).unwrap());
        // Entries of a killed process: the same kind of names, without a lock.
        let left = folder.0.join(random_name(&target));
        fs::write(&left, "rows").unwrap();
        let left_folder = folder.0.join(random_name(&target));
        fs::create_dir_all(left_folder.join("k=1")).unwrap();
        fs::write(left_folder.join("k=1/data"), "rows").unwrap();
        let others = [".t.csv.123-0.tmp", ".hidden", "t", "ocior.tmp"];
        others.iter().for_each(|name| fs::write(folder.0.join(name), "").unwrap());
        std::os::unix::fs::symlink("t", folder.0.join(random_name(&target))).unwrap();
        let staged = Staged::file(&target).unwrap();
        assert!(!left.exists() && !left_folder.exists());
        for kept in [held.path(), held_folder.path(), staged.path()] {
            assert!(kept.exists(), "{}", kept.display());
        }
        // Three entries are staged, four are unrelated, and one is a link.
        assert_eq!(folder.names().len(), 3 + others.len() + 1, "{:?}", folder.names());
    }

    #[test]
    fn what_is_published_stays() {
        let folder = Scratch::new();
        let target = folder.0.join("t");
        let staged = Staged::file(&target).unwrap();
        staged
            .publish(|from| fs::rename(from, &target).map_err(|e| Error::from_io(e, "x")))
            .unwrap();
        drop(staged);
        assert_eq!(folder.names(), ["t"]);
    }
}
