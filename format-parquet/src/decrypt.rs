//! Modular encryption: decrypts footers, page headers, pages and indexes, each a separate module.
//!
//! ```text
//! FileDecryptor    keys, algorithm, file's additional data      footer: decrypt, or check its
//!   |                                                           signature
//!   +- ChunkDecryptor   one column's key in one row group       metadata, headers, bodies, indexes
//!
//! additional data  prefix | file's unique part | kind | row group | column | page
//! ```
//!
//! The additional data binds a module to its position: a module that was moved cannot be decrypted.
//! A wrong or missing key can be corrected by the user, so it is `InvalidInput`.

mod cipher;
mod keys;

use vector::sync::Arc;
use vector::{BufferMut, Error, Result};

use crate::thrift::structs::{ColumnCrypto, EncryptionAlgorithm};
use cipher::{Cipher, Module, NONCE_BYTES, TAG_BYTES};

pub use cipher::Key;
pub use keys::{FixedKeys, KeyProvider};

/// Number of bytes of the nonce and tag that follow a signed footer.
pub const SIGNATURE_BYTES: usize = NONCE_BYTES + TAG_BYTES;

/// The kinds of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleKind {
    /// The footer.
    Footer,
    /// The metadata of a column chunk.
    ColumnMetaData,
    /// The body of a data page, with the page's ordinal.
    DataPage(usize),
    /// The body of the dictionary page.
    DictionaryPage,
    /// The header of a data page, with the page's ordinal.
    DataPageHeader(usize),
    /// The header of the dictionary page.
    DictionaryPageHeader,
    /// A column index.
    ColumnIndex,
    /// An offset index.
    OffsetIndex,
    /// The header of a bloom filter.
    BloomFilterHeader,
    /// The bits of a bloom filter.
    BloomFilterBits,
}

impl ModuleKind {
    fn number(self) -> u8 {
        match self {
            ModuleKind::Footer => 0,
            ModuleKind::ColumnMetaData => 1,
            ModuleKind::DataPage(_) => 2,
            ModuleKind::DictionaryPage => 3,
            ModuleKind::DataPageHeader(_) => 4,
            ModuleKind::DictionaryPageHeader => 5,
            ModuleKind::ColumnIndex => 6,
            ModuleKind::OffsetIndex => 7,
            ModuleKind::BloomFilterHeader => 8,
            ModuleKind::BloomFilterBits => 9,
        }
    }

    fn page(self) -> Option<usize> {
        match self {
            ModuleKind::DataPage(page) | ModuleKind::DataPageHeader(page) => Some(page),
            _ => None,
        }
    }

    fn is_page_body(self) -> bool {
        matches!(self, ModuleKind::DataPage(_) | ModuleKind::DictionaryPage)
    }
}

/// Decrypts the modules of one file.
#[derive(Debug, Clone)]
pub struct FileDecryptor {
    is_ctr: bool,
    /// The prefix and the file's unique part of the additional data.
    aad: Arc<[u8]>,
    footer: Option<Arc<Cipher>>,
    keys: Arc<dyn KeyProvider>,
}

impl FileDecryptor {
    /// Creates the decryptor of a file that is encrypted with `algorithm`; `key_metadata` describes
    /// its footer key.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the prefix of the additional data is missing or differs from the file's;
    /// also the errors of `keys`.
    pub fn new(
        algorithm: &EncryptionAlgorithm,
        key_metadata: Option<&[u8]>,
        keys: Arc<dyn KeyProvider>,
    ) -> Result<Self> {
        let footer = keys.footer_key(key_metadata)?.map(Cipher::new).transpose()?;
        let aad = [aad_prefix(algorithm, keys.aad_prefix())?, own_aad(algorithm)].concat();
        Ok(FileDecryptor {
            is_ctr: algorithm.is_ctr,
            aad: aad.into(),
            footer: footer.map(Arc::new),
            keys,
        })
    }

    /// Decrypts a footer.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the key is missing or wrong, `Corrupt` when the module is truncated.
    pub fn decrypt_footer(&self, module: &[u8]) -> Result<Vec<u8>> {
        let cipher = self.footer.as_ref().ok_or_else(|| {
            Error::invalid_input("the file is encrypted and its key is not given")
        })?;
        let module = Module::at_start_of(module)?;
        let mut out = vec![0; Cipher::gcm_bytes(module.sealed)?];
        cipher.open_gcm(module, &self.file_aad(ModuleKind::Footer), &mut out)?;
        Ok(out)
    }

    /// Checks the signature of a footer that is not encrypted; without the key nothing is checked.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the signature does not match.
    pub fn verify_footer(&self, footer: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> Result<()> {
        let Some(cipher) = &self.footer else { return Ok(()) };
        let (nonce, tag) = signature.split_first_chunk::<NONCE_BYTES>().unzip();
        let (Some(nonce), Some(tag)) = (nonce, tag) else {
            return Err(Error::internal("a signature of another length"));
        };
        let aad = self.file_aad(ModuleKind::Footer);
        let found = cipher.seal_gcm(nonce, &aad, &mut footer.to_vec())?;
        if found.as_slice() != tag {
            return Err(Error::invalid_input(
                "the footer's signature does not match: a wrong key, or changed bytes",
            ));
        }
        Ok(())
    }

    /// Returns the decryptor of a column chunk; `None` when there is no key for it.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the row group or column exceeds the range of ordinals; also the errors of
    /// the key provider.
    pub fn chunk(
        &self,
        crypto: &ColumnCrypto,
        row_group: usize,
        column: usize,
    ) -> Result<Option<ChunkDecryptor>> {
        let cipher = match crypto {
            ColumnCrypto::FooterKey => self.footer.clone(),
            ColumnCrypto::ColumnKey { path, key_metadata } => {
                let key = self.keys.column_key(&path.join("."), key_metadata.as_deref())?;
                key.map(Cipher::new).transpose()?.map(Arc::new)
            }
        };
        let (row_group, column) = (ordinal(row_group, "row groups")?, ordinal(column, "columns")?);
        Ok(cipher.map(|cipher| ChunkDecryptor {
            cipher,
            is_ctr: self.is_ctr,
            aad: Arc::clone(&self.aad),
            row_group,
            column,
        }))
    }

    fn file_aad(&self, kind: ModuleKind) -> Vec<u8> {
        [&self.aad[..], &[kind.number()]].concat()
    }
}

/// Decrypts the modules of one column chunk.
#[derive(Debug, Clone)]
pub struct ChunkDecryptor {
    cipher: Arc<Cipher>,
    is_ctr: bool,
    aad: Arc<[u8]>,
    row_group: [u8; 2],
    column: [u8; 2],
}

impl ChunkDecryptor {
    /// Decrypts the module at the start of `bytes` and returns it with the number of bytes it took.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the module is truncated, `InvalidInput` when the key is wrong or the bytes
    /// were changed.
    pub fn decrypt(&self, kind: ModuleKind, bytes: &[u8]) -> Result<(Vec<u8>, usize)> {
        let module = Module::at_start_of(bytes)?;
        let mut out = vec![0; self.plain_bytes(kind, module)?];
        self.open(kind, module, &mut out)?;
        Ok((out, module.bytes))
    }

    /// Decrypts the body of a page, which is all of `bytes`, into `out`.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the module has another size, `InvalidInput` when the key is wrong or the
    /// bytes were changed, `Limit` when memory is not granted.
    pub fn decrypt_page(
        &self,
        kind: ModuleKind,
        bytes: &[u8],
        out: &mut BufferMut<u8>,
    ) -> Result<()> {
        let module = Module::at_start_of(bytes)?;
        if module.bytes != bytes.len() {
            return Err(Error::corrupt("an encrypted page has another size than its header says")
                .with("expected", bytes.len())
                .with("found", module.bytes));
        }
        let len = self.plain_bytes(kind, module)?;
        out.clear();
        out.try_reserve(len)?;
        out.resize_unspecified(len);
        self.open(kind, module, out)
    }

    fn plain_bytes(&self, kind: ModuleKind, module: Module<'_>) -> Result<usize> {
        if self.is_ctr && kind.is_page_body() {
            return Ok(module.sealed.len());
        }
        Cipher::gcm_bytes(module.sealed)
    }

    fn open(&self, kind: ModuleKind, module: Module<'_>, out: &mut [u8]) -> Result<()> {
        if self.is_ctr && kind.is_page_body() {
            return self.cipher.open_ctr(module, out);
        }
        let mut aad = [&self.aad[..], &[kind.number()], &self.row_group, &self.column].concat();
        if let Some(page) = kind.page() {
            aad.extend(ordinal(page, "pages")?);
        }
        self.cipher.open_gcm(module, &aad, out)
    }
}

/// Returns the prefix of the additional data, which may have to be supplied by the caller.
fn aad_prefix<'a>(algorithm: &'a EncryptionAlgorithm, given: Option<&'a [u8]>) -> Result<&'a [u8]> {
    match (algorithm.aad_prefix.as_deref(), given) {
        (Some(stored), Some(given)) if stored != given => {
            Err(Error::invalid_input("the file has another AAD prefix than the one that is given"))
        }
        (Some(stored), _) => Ok(stored),
        (None, Some(given)) if algorithm.supply_aad_prefix => Ok(given),
        (None, None) if algorithm.supply_aad_prefix => {
            Err(Error::invalid_input("the file needs an AAD prefix and none is given"))
        }
        // The prefix applies to all files of a table; this file was written without it.
        (None, _) => Ok(&[]),
    }
}

fn own_aad(algorithm: &EncryptionAlgorithm) -> &[u8] {
    algorithm.aad_file_unique.as_deref().unwrap_or(&[])
}

/// SPEC (encryption): ordinals are signed 16-bit integers, so larger files cannot be encrypted.
fn ordinal(number: usize, what: &'static str) -> Result<[u8; 2]> {
    i16::try_from(number).map(i16::to_le_bytes).map_err(|_| {
        Error::corrupt("an encrypted file has more parts than encryption can number")
            .with("parts", what)
            .with("number", number)
    })
}

#[cfg(test)]
pub(crate) mod tests;
