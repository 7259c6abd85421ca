//! Sources of encryption keys.

use std::collections::HashMap;

use vector::Result;

use super::cipher::Key;

/// Provides the keys of encrypted files.
///
/// A file may contain metadata about each key (such as its name in a key service); writer and
/// provider agree on its meaning. `None` means that there is no such key: the parts of the file
/// that require it cannot be read, and all others can.
pub trait KeyProvider: Send + Sync + std::fmt::Debug {
    /// Returns the key of the footer, and of all columns that have no key of their own.
    ///
    /// # Errors
    ///
    /// Returns errors of obtaining the key.
    fn footer_key(&self, key_metadata: Option<&[u8]>) -> Result<Option<Key>>;

    /// Returns the key of the column at `path`, its names joined by dots.
    ///
    /// # Errors
    ///
    /// Returns errors of obtaining the key.
    fn column_key(&self, path: &str, key_metadata: Option<&[u8]>) -> Result<Option<Key>>;

    /// Returns the prefix of the additional authenticated data, for files that do not contain it.
    fn aad_prefix(&self) -> Option<&[u8]> {
        None
    }
}

/// Keys that are known in advance, by the paths of their columns.
#[derive(Debug, Clone, Default)]
pub struct FixedKeys {
    /// The key of the footer.
    pub footer: Option<Key>,
    /// The keys of columns, by path.
    pub columns: HashMap<String, Key>,
    /// The prefix of the additional authenticated data.
    pub aad_prefix: Option<Vec<u8>>,
}

impl KeyProvider for FixedKeys {
    fn footer_key(&self, _: Option<&[u8]>) -> Result<Option<Key>> {
        Ok(self.footer.clone())
    }

    fn column_key(&self, path: &str, _: Option<&[u8]>) -> Result<Option<Key>> {
        Ok(self.columns.get(path).cloned())
    }

    fn aad_prefix(&self) -> Option<&[u8]> {
        self.aad_prefix.as_deref()
    }
}
