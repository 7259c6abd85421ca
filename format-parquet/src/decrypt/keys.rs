//! Where keys come from.

use std::collections::HashMap;

use vector::Result;

use super::cipher::Key;

/// Gives the keys of encrypted files.
///
/// A file may say something about each key (its name at a key service, say); what that means is
/// between whoever wrote the file and the provider. `None` means that there is no such key: then
/// what needs it cannot be read, and all else can.
pub trait KeyProvider: Send + Sync + std::fmt::Debug {
    /// The key of the footer, and of all columns that have none of their own.
    fn footer_key(&self, key_metadata: Option<&[u8]>) -> Result<Option<Key>>;

    /// The key of the column at `path`, its names joined by dots.
    fn column_key(&self, path: &str, key_metadata: Option<&[u8]>) -> Result<Option<Key>>;

    /// The prefix of additional authenticated data, for files that do not tell it.
    fn aad_prefix(&self) -> Option<&[u8]> {
        None
    }
}

/// Keys that are known in advance, by the paths of their columns.
#[derive(Debug, Clone, Default)]
pub struct FixedKeys {
    /// The key of the footer.
    pub footer: Option<Key>,
    /// Keys of columns by path.
    pub columns: HashMap<String, Key>,
    /// The prefix of additional authenticated data.
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
