//! AES in the two modes of the format, with one key.
//!
//! ```text
//! module, GCM    length (u32) | nonce (12) | bytes | tag (16)
//! module, CTR    length (u32) | nonce (12) | bytes
//! ```
//!
//! The length counts all bytes after itself. GCM authenticates the bytes and their position in the
//! file; CTR authenticates nothing, and is used only for page bodies.

use aes::cipher::consts::U12;
use aes::cipher::{KeyIvInit, StreamCipher};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::AeadInOut;
use aes_gcm::{AesGcm, KeyInit};
use ctr::Ctr32BE;
use vector::{Error, Result};

/// Number of bytes of the length prefix of a module.
pub(super) const LENGTH_BYTES: usize = 4;
/// Number of bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 12;
/// Number of bytes of a tag.
pub(super) const TAG_BYTES: usize = 16;

/// A key of 128, 192 or 256 bits. Its debug output does not contain the key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    /// Creates a key from these bytes.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the length is not 16, 24 or 32.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        if matches!(bytes.len(), 16 | 24 | 32) {
            return Ok(Key(bytes.to_vec()));
        }
        Err(Error::invalid_input("a key has neither 16 nor 24 nor 32 bytes")
            .with("bytes", bytes.len()))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({} bits)", 8 * self.0.len())
    }
}

/// A key with the state that encryption and decryption need.
pub(super) struct Cipher {
    key: Key,
    gcm: Gcm,
}

enum Gcm {
    Aes128(Box<AesGcm<Aes128, U12>>),
    Aes192(Box<AesGcm<Aes192, U12>>),
    Aes256(Box<AesGcm<Aes256, U12>>),
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cipher({:?})", self.key)
    }
}

/// The parts of a module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Module<'a> {
    pub nonce: &'a [u8; NONCE_BYTES],
    /// The encrypted bytes, including the tag if there is one.
    pub sealed: &'a [u8],
    /// Number of bytes of the whole module, including the length.
    pub bytes: usize,
}

impl<'a> Module<'a> {
    /// Parses the module at the start of `bytes`.
    pub(super) fn at_start_of(bytes: &'a [u8]) -> Result<Self> {
        let parts = bytes.split_first_chunk::<LENGTH_BYTES>().and_then(|(length, rest)| {
            let len = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let (nonce, sealed) = rest.get(..len)?.split_first_chunk::<NONCE_BYTES>()?;
            Some(Module { nonce, sealed, bytes: LENGTH_BYTES + len })
        });
        parts.ok_or_else(|| {
            Error::corrupt("an encrypted module does not fit into its bytes")
                .with("bytes", bytes.len())
        })
    }
}

impl Cipher {
    pub(super) fn new(key: Key) -> Result<Self> {
        let bad = |_| Error::internal("a key of a length that was checked");
        let gcm = match key.0.len() {
            16 => Gcm::Aes128(Box::new(AesGcm::new_from_slice(&key.0).map_err(bad)?)),
            24 => Gcm::Aes192(Box::new(AesGcm::new_from_slice(&key.0).map_err(bad)?)),
            _ => Gcm::Aes256(Box::new(AesGcm::new_from_slice(&key.0).map_err(bad)?)),
        };
        Ok(Cipher { key, gcm })
    }

    /// Returns the number of decrypted bytes of a GCM module of `sealed` bytes.
    pub(super) fn gcm_bytes(sealed: &[u8]) -> Result<usize> {
        sealed.len().checked_sub(TAG_BYTES).ok_or_else(|| {
            Error::corrupt("an encrypted module is too short for its tag")
                .with("bytes", sealed.len())
        })
    }

    /// Decrypts a GCM module into `out`, which must have exactly as many bytes as its content.
    pub(super) fn open_gcm(&self, module: Module<'_>, aad: &[u8], out: &mut [u8]) -> Result<()> {
        let Some((bytes, tag)) = module.sealed.split_last_chunk::<TAG_BYTES>() else {
            return Self::gcm_bytes(module.sealed).map(drop);
        };
        if bytes.len() != out.len() {
            return Err(Error::internal("room for a module of another size"));
        }
        out.copy_from_slice(bytes);
        let (nonce, tag) = (module.nonce.into(), tag.into());
        let opened = match &self.gcm {
            Gcm::Aes128(gcm) => gcm.decrypt_inout_detached(nonce, aad, out.into(), tag),
            Gcm::Aes192(gcm) => gcm.decrypt_inout_detached(nonce, aad, out.into(), tag),
            Gcm::Aes256(gcm) => gcm.decrypt_inout_detached(nonce, aad, out.into(), tag),
        };
        opened.map_err(|_| Error::invalid_input("cannot decrypt: a wrong key, or changed bytes"))
    }

    /// Decrypts a CTR module into `out`, which must have exactly as many bytes.
    pub(super) fn open_ctr(&self, module: Module<'_>, out: &mut [u8]) -> Result<()> {
        if module.sealed.len() != out.len() {
            return Err(Error::internal("room for a module of another size"));
        }
        out.copy_from_slice(module.sealed);
        let mut counter = [0; 16];
        for (to, from) in counter.iter_mut().zip(module.nonce.iter().chain(&[0, 0, 0, 1])) {
            *to = *from;
        }
        let bad = |_| Error::internal("a key of a length that was checked");
        let key = &self.key.0;
        match key.len() {
            16 => {
                Ctr32BE::<Aes128>::new_from_slices(key, &counter).map_err(bad)?.apply_keystream(out)
            }
            24 => {
                Ctr32BE::<Aes192>::new_from_slices(key, &counter).map_err(bad)?.apply_keystream(out)
            }
            _ => {
                Ctr32BE::<Aes256>::new_from_slices(key, &counter).map_err(bad)?.apply_keystream(out)
            }
        }
        Ok(())
    }

    /// Encrypts `bytes` in place and returns the tag, with which a signature is checked.
    pub(super) fn seal_gcm(
        &self,
        nonce: &[u8; NONCE_BYTES],
        aad: &[u8],
        bytes: &mut [u8],
    ) -> Result<[u8; TAG_BYTES]> {
        let nonce = nonce.into();
        let sealed = match &self.gcm {
            Gcm::Aes128(gcm) => gcm.encrypt_inout_detached(nonce, aad, bytes.into()),
            Gcm::Aes192(gcm) => gcm.encrypt_inout_detached(nonce, aad, bytes.into()),
            Gcm::Aes256(gcm) => gcm.encrypt_inout_detached(nonce, aad, bytes.into()),
        };
        sealed.map(Into::into).map_err(|_| Error::limit("too many bytes to check a signature"))
    }
}
