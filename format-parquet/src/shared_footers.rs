//! Footers that are shared between concurrent readers of the same file.
//!
//! A file that is divided into splits is opened for each of them, and before that for the columns
//! of the table. Parsing the footer of a wide table takes longer than reading some columns, so it
//! is parsed once and shared as long as it is in use:
//!
//! ```text
//! (path, version) -> slot --weak--> footer <--strong-- plan, readers of splits
//! ```
//!
//! A footer without users is released, so there is no memory to limit. A thread that requests a
//! footer while another one reads it waits; when reading fails, the next thread tries again.

use std::collections::HashMap;

use dwio::fs::FileVersion;
use vector::Result;
use vector::sync::{Arc, Mutex, Weak};

use crate::footer::Footer;

/// Minimum number of slots at which unused slots are searched for.
const MIN_SLOTS: usize = 64;

/// The footers in use; clones refer to the same footers.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedFooters(Arc<Mutex<Slots>>);

type Slot = Arc<Mutex<Weak<Footer>>>;

#[derive(Debug, Default)]
struct Slots {
    by_file: HashMap<(String, FileVersion), Slot>,
    /// Number of slots that remained after the last search for unused ones.
    num_used: usize,
}

impl SharedFooters {
    /// Returns the footer of a file: the shared one if it is in use, otherwise the result of
    /// `read`.
    ///
    /// # Errors
    ///
    /// Returns the errors of `read`.
    pub(crate) fn footer(
        &self,
        path: &str,
        version: FileVersion,
        read: impl FnOnce() -> Result<Footer>,
    ) -> Result<Arc<Footer>> {
        let slot = self.0.lock().slot(path, version);
        let mut known = slot.lock();
        if let Some(footer) = known.upgrade() {
            return Ok(footer);
        }
        let footer = Arc::new(read()?);
        *known = Arc::downgrade(&footer);
        Ok(footer)
    }
}

impl Slots {
    fn slot(&mut self, path: &str, version: FileVersion) -> Slot {
        // Searching on every call would take time proportional to the number of files for each
        // file.
        if self.by_file.len() >= MIN_SLOTS.max(2 * self.num_used) {
            self.by_file.retain(|_, slot| {
                let is_waited_for = Arc::strong_count(slot) > 1;
                is_waited_for || slot.lock().strong_count() > 0
            });
            self.num_used = self.by_file.len();
        }
        Arc::clone(self.by_file.entry((path.to_string(), version)).or_default())
    }
}

#[cfg(test)]
mod tests {
    use dwio::fs::{FileSystem, MemoryFiles};
    use dwio::input::BufferedInput;
    use vector::{Error, MemoryPool};

    use super::*;
    use crate::footer::read_footer;

    const V: FileVersion = FileVersion([1; 4]);
    const LATER: FileVersion = FileVersion([2; 4]);

    fn footer() -> Footer {
        let files = MemoryFiles::new();
        files.put("f", SMALLEST.to_vec());
        let input = BufferedInput::new(files.open("f").unwrap(), MemoryPool::unlimited());
        read_footer(&input, None).unwrap()
    }

    /// A file without columns and rows: version 1, a root without children, 0 rows, no row groups.
    const SMALLEST: &[u8] = &[
        b'P', b'A', b'R', b'1', 0x15, 2, 0x19, 0x1c, 0x48, 1, b'r', 0x15, 0, 0, 0x16, 0, 0x19,
        0x0c, 0, 15, 0, 0, 0, b'P', b'A', b'R', b'1',
    ];

    #[test]
    fn a_footer_is_read_once_while_somebody_holds_it() {
        let footers = SharedFooters::default();
        let never = || panic!("it is known");
        let first = footers.footer("a", V, || Ok(footer())).unwrap();
        assert!(Arc::ptr_eq(&first, &footers.footer("a", V, never).unwrap()));
        let others = [("b", V), ("a", LATER)];
        for (path, version) in others {
            let other = footers.footer(path, version, || Ok(footer())).unwrap();
            assert!(!Arc::ptr_eq(&first, &other));
        }
        drop(first);
        let mut is_read = false;
        footers
            .footer("a", V, || {
                is_read = true;
                Ok(footer())
            })
            .unwrap();
        assert!(is_read, "nobody held it");
    }

    #[test]
    fn a_failed_look_is_repeated() {
        let footers = SharedFooters::default();
        assert!(footers.footer("a", V, || Err(Error::io("broken"))).is_err());
        assert!(footers.footer("a", V, || Ok(footer())).is_ok());
    }

    #[test]
    fn slots_of_files_that_nobody_holds_go() {
        let footers = SharedFooters::default();
        let kept = footers.footer("kept", V, || Ok(footer())).unwrap();
        for number in 0..10 * MIN_SLOTS {
            footers.footer(&number.to_string(), V, || Ok(footer())).unwrap();
        }
        assert!(footers.0.lock().by_file.len() <= MIN_SLOTS);
        assert!(Arc::ptr_eq(&kept, &footers.footer("kept", V, || Ok(footer())).unwrap()));
    }
}
