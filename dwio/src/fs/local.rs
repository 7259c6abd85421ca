//! Local files, read with `pread` or through memory mappings.
//!
//! A mapping avoids the copy, but if a mapped file shrinks, an access to a lost page ends the
//! process with SIGBUS. Only files that cannot shrink are mapped ([`super::unshrinkable`]). All
//! others are read with `pread` even if mappings are requested, so that a truncation is an error
//! with the name of the file.

use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::{Duration, SystemTime};

use memmap2::Mmap;
use vector::sync::Arc;
use vector::{Buffer, Error, Result, ResultExt};

use super::unshrinkable::cannot_shrink;
use super::{FileEntry, FileSystem, FileVersion, ReadFile};

/// Age below which a file has no version: with the coarsest file system clocks, another change
/// within this time may leave the time of modification unchanged.
const COARSEST_CLOCK: Duration = Duration::from_secs(2);

/// How local files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalAccess {
    /// `pread` into buffers.
    #[default]
    Pread,
    /// A mapping of the whole file if the kernel guarantees that its length stays the same: a
    /// sealed memory file, a file under fs-verity, or a file of a read-only file system type.
    /// `pread` for all other files.
    Map,
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalFiles {
    access: LocalAccess,
}

impl LocalFiles {
    /// Returns the local file system with the given access method.
    pub fn new(access: LocalAccess) -> Self {
        LocalFiles { access }
    }
}

#[derive(Debug)]
struct LocalFile {
    path: String,
    file: File,
    len: u64,
    version: Option<FileVersion>,
    map: Option<Buffer<u8>>,
}

impl ReadFile for LocalFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn version(&self) -> Option<FileVersion> {
        self.version
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.file
            .read_exact_at(out, offset)
            .map_err(|e| {
                Error::from_io(e, "cannot read").with("offset", offset).with("bytes", out.len())
            })
            .in_named("file", &self.path)
    }

    fn mapped(&self, offset: u64, len: usize) -> Option<Buffer<u8>> {
        let map = self.map.as_ref()?;
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(len).filter(|end| *end <= map.len())?;
        Some(map.slice(start..end))
    }
}

impl FileSystem for LocalFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        let file = File::open(path)
            .map_err(|e| Error::from_io(e, "cannot open the file"))
            .in_named("file", path)?;
        let metadata = file
            .metadata()
            .map_err(|e| Error::from_io(e, "cannot read the file's length"))
            .in_named("file", path)?;
        if metadata.is_dir() {
            return Err(Error::invalid_input("this is a directory, not a file"))
                .in_named("file", path);
        }
        let map = match self.access {
            LocalAccess::Map if metadata.len() > 0 && cannot_shrink(&file) => {
                Some(map_file(&file, path)?)
            }
            _ => None,
        };
        let (len, version) = (metadata.len(), version_of(&metadata, SystemTime::now()));
        Ok(Arc::new(LocalFile { path: path.to_string(), len, version, file, map }))
    }

    fn is_local(&self) -> bool {
        true
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        let metadata = std::fs::metadata(path)
            .map_err(|e| Error::from_io(e, "no such file or directory"))
            .in_named("path", path)?;
        Ok(entry(path.to_string(), &metadata))
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        let read = std::fs::read_dir(path)
            .map_err(|e| Error::from_io(e, "cannot list the directory"))
            .in_named("path", path)?;
        let mut entries = Vec::new();
        for item in read {
            let item = item.map_err(|e| Error::from_io(e, "cannot list the directory"))?;
            let name = item.path();
            let name = name.to_str().ok_or_else(|| {
                Error::unsupported("a file name is not UTF-8").with("name", name.display())
            })?;
            // `metadata` follows symbolic links, so a link to a directory is listed as a directory.
            let metadata = match std::fs::metadata(name) {
                Err(error) if is_nothing(&item, &error) => continue,
                metadata => metadata
                    .map_err(|e| Error::from_io(e, "cannot inspect a directory entry"))
                    .in_named("path", name)?,
            };
            entries.push(entry(name.to_string(), &metadata));
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }
}

/// Returns true for an entry without a file: it was removed after the directory was read, or it is
/// a symbolic link to a missing file or to itself. Such an entry is not listed; opening it by name
/// is an error.
fn is_nothing(entry: &DirEntry, error: &io::Error) -> bool {
    let is_link = || entry.file_type().is_ok_and(|ty| ty.is_symlink());
    error.kind() == io::ErrorKind::NotFound
        || (is_link() && error.kind() != io::ErrorKind::PermissionDenied)
}

/// Returns the version of a file as seen at `now`; `None` if the next change might have the same
/// version.
fn version_of(metadata: &Metadata, now: SystemTime) -> Option<FileVersion> {
    let age = now.duration_since(metadata.modified().ok()?).ok()?;
    let since_1970 = |seconds: i64, nanos: i64| {
        (i128::from(seconds) * 1_000_000_000 + i128::from(nanos)).cast_unsigned()
    };
    let parts = [
        u128::from(metadata.dev()) << 64 | u128::from(metadata.ino()),
        u128::from(metadata.len()),
        since_1970(metadata.mtime(), metadata.mtime_nsec()),
        // Unlike the time of modification, the time of the status change cannot be set by programs.
        since_1970(metadata.ctime(), metadata.ctime_nsec()),
    ];
    (age > COARSEST_CLOCK).then_some(FileVersion(parts))
}

fn entry(path: String, metadata: &std::fs::Metadata) -> FileEntry {
    let is_directory = metadata.is_dir();
    let len = if is_directory { 0 } else { metadata.len() };
    FileEntry { path, is_directory, len, modified: metadata.modified().ok() }
}

#[allow(unsafe_code)]
fn map_file(file: &File, path: &str) -> Result<Buffer<u8>> {
    // SAFETY: the mapping is only read, and the caller has checked that the file cannot shrink.
    // Bytes that another process changes appear as other bytes, which all parsers handle, since
    // they expect hostile files.
    let map = unsafe { Mmap::map(file) }
        .map_err(|e| Error::from_io(e, "cannot map the file"))
        .in_named("file", path)?;
    Ok(Buffer::from_owner(map))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::time::Instant;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use vector::ErrorKind;

    use super::*;

    /// Creates a directory with an unused name, even if several machines or users share the
    /// temporary directory.
    fn scratch(name: &str) -> std::path::PathBuf {
        let process = std::process::id();
        (0..1_000)
            .map(|n| std::env::temp_dir().join(format!("ocior-fs-{process}-{name}-{n}")))
            .find(|dir| std::fs::create_dir(dir).is_ok())
            .unwrap()
    }

    #[test]
    fn a_file_is_mapped_only_when_it_cannot_shrink() {
        let bytes: Vec<u8> = (0..=255).collect();
        for (seals, is_mapped) in [
            (None, false),
            (Some(SealFlags::empty()), false),
            (Some(SealFlags::GROW | SealFlags::WRITE), false),
            (Some(SealFlags::SHRINK), true),
        ] {
            let memory = memfd_create("ocior", MemfdFlags::ALLOW_SEALING).unwrap();
            let mut memory = File::from(memory);
            std::io::Write::write_all(&mut memory, &bytes).unwrap();
            if let Some(seals) = seals {
                fcntl_add_seals(&memory, seals).unwrap();
            }
            let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
            for access in [LocalAccess::Pread, LocalAccess::Map] {
                let file = LocalFiles::new(access).open(&path).unwrap();
                let mut out = [0; 10];
                file.read_exact_at(100, &mut out).unwrap();
                assert_eq!(out[0], 100);
                let mapped = file.mapped(100, 10);
                let is_mapped = is_mapped && access == LocalAccess::Map;
                assert_eq!(mapped.is_some(), is_mapped, "{access:?} {seals:?}");
                assert!(mapped.is_none_or(|m| *m == out));
                assert!(file.mapped(250, 10).is_none());
                assert_eq!(file.read_exact_at(250, &mut out).unwrap_err().kind(), ErrorKind::Io);
            }
        }
    }

    #[test]
    fn a_file_that_changes_is_another_version_of_it() {
        let path = scratch("version").join("f");
        let version = || LocalFiles::default().open(path.to_str().unwrap()).unwrap().version();
        let change = |bytes: &[u8], at: SystemTime| {
            std::fs::write(&path, bytes).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        };
        let at = SystemTime::now() - Duration::from_secs(3_600);
        change(b"a", at);
        let first = version();
        assert!(first.is_some() && first == version());
        // The time of the status change advances in ticks, and no other part of the version
        // differs.
        let start = Instant::now();
        while version() == first {
            assert!(start.elapsed() < Duration::from_secs(60), "{first:?}");
            change(b"b", at);
        }
        let metadata = std::fs::metadata(&path).unwrap();
        let seen_after = |age: Duration| version_of(&metadata, at + age);
        assert_eq!(seen_after(COARSEST_CLOCK), None, "the next change might have the same time");
        assert!(seen_after(COARSEST_CLOCK + Duration::from_nanos(1)).is_some());
        assert_eq!(version_of(&metadata, at - Duration::from_secs(1)), None, "clocks differ");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn an_ordinary_file_that_shrank_is_an_error_with_its_name() {
        let dir = scratch("shrink");
        let path = dir.join("f");
        for access in [LocalAccess::Pread, LocalAccess::Map] {
            std::fs::write(&path, [7; 100_000]).unwrap();
            let file = LocalFiles::new(access).open(path.to_str().unwrap()).unwrap();
            assert!(file.mapped(50_000, 10).is_none());
            std::fs::File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
            let error = file.read_exact_at(50_000, &mut [0; 10]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn links_to_nothing_are_not_listed_and_other_links_are_what_they_stand_for() {
        use std::os::unix::fs::symlink;
        let dir = scratch("links");
        std::fs::create_dir(dir.join("d")).unwrap();
        std::fs::write(dir.join("f"), "bytes").unwrap();
        for (to, name) in [("none", "a"), ("b", "b"), ("f", "to_f"), ("d", "to_d"), ("a", "to_a")] {
            symlink(to, dir.join(name)).unwrap();
        }
        let files = LocalFiles::default();
        let listed = files.list(dir.to_str().unwrap()).unwrap();
        let named = |entry: &FileEntry| entry.path.rsplit('/').next().unwrap().to_string();
        let listed: Vec<_> = listed.iter().map(|e| (named(e), e.is_directory, e.len)).collect();
        let of = |name: &str, is_directory, len| (name.to_string(), is_directory, len);
        let expected =
            [of("d", true, 0), of("f", false, 5), of("to_d", true, 0), of("to_f", false, 5)];
        assert_eq!(listed, expected);
        let error = files.stat(dir.join("a").to_str().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn missing_files_and_directories_are_told_apart() {
        let files = LocalFiles::default();
        assert_eq!(files.open("/no/such/file").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(files.list("/no/such/dir").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(files.open("/").unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
