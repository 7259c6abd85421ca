//! Modular encryption of a file in parts, with one key: AES-GCM, as the specification defines it.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, KeyInit};

use crate::support::thrift::Tree;

/// The key of the footer and of all columns.
pub(crate) const KEY: [u8; 16] = *b"sixteen bytes of";

/// Number of bytes of the nonce after a signed footer.
const NONCE_BYTES: usize = 12;

/// Encryption of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    None,
    /// All columns, with a signed plaintext footer.
    PlaintextFooter,
    /// All columns and the footer.
    EncryptedFooter,
}

/// The kinds of modules by their number in the additional authenticated data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Module {
    Footer = 0,
    DataPage = 2,
    DictionaryPage = 3,
    DataPageHeader = 4,
    DictionaryPageHeader = 5,
    ColumnIndex = 6,
    OffsetIndex = 7,
    BloomFilterHeader = 8,
    BloomFilterBits = 9,
}

/// Encrypts the modules of one file.
#[derive(Debug)]
pub(crate) struct Sealer {
    encryption: Encryption,
    num_sealed: u64,
    /// Unique id of the file in the additional authenticated data.
    pub(crate) file_unique: Vec<u8>,
    /// True when page headers have the checksum of the page.
    pub(crate) has_checksums: bool,
}

impl Sealer {
    pub(crate) fn new(encryption: Encryption) -> Self {
        Sealer { encryption, num_sealed: 0, file_unique: Vec::new(), has_checksums: false }
    }

    /// Returns the module as stored in the file: unchanged, or length, nonce, encrypted bytes and
    /// tag. `ordinals` are those of row group, column and data page, as far as the kind has them.
    pub(crate) fn module(&mut self, kind: Module, ordinals: &[usize], bytes: &[u8]) -> Vec<u8> {
        if self.encryption == Encryption::None {
            return bytes.to_vec();
        }
        let (nonce, sealed, tag) = self.seal(kind, ordinals, bytes);
        let len = (nonce.len() + sealed.len() + tag.len()) as u32;
        [&len.to_le_bytes()[..], &nonce, &sealed, &tag].concat()
    }

    /// Returns the footer with its signature, and the magic at both ends of the file.
    pub(crate) fn footer(&mut self, mut footer: Tree) -> (Vec<u8>, &'static [u8; 4]) {
        match self.encryption {
            Encryption::None => (footer.bytes(), b"PAR1"),
            Encryption::PlaintextFooter => {
                footer.put(8, self.algorithm());
                let mut bytes = footer.bytes();
                let (nonce, _, tag) = self.seal(Module::Footer, &[], &bytes);
                bytes.extend(nonce);
                bytes.extend(tag);
                (bytes, b"PAR1")
            }
            Encryption::EncryptedFooter => {
                let mut bytes = Tree::Struct(vec![(1, self.algorithm())]).bytes();
                bytes.extend(self.module(Module::Footer, &[], &footer.bytes()));
                (bytes, b"PARE")
            }
        }
    }

    /// `EncryptionAlgorithm { AES_GCM_V1 { aad_file_unique } }`
    fn algorithm(&self) -> Tree {
        let gcm = Tree::Struct(vec![(2, Tree::Binary(self.file_unique.clone()))]);
        Tree::Struct(vec![(1, gcm)])
    }

    fn seal(
        &mut self,
        kind: Module,
        ordinals: &[usize],
        bytes: &[u8],
    ) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        self.num_sealed += 1;
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&self.num_sealed.to_le_bytes());
        let mut aad = [&self.file_unique[..], &[kind as u8]].concat();
        aad.extend(ordinals.iter().flat_map(|ordinal| (*ordinal as u16).to_le_bytes()));
        let mut sealed = bytes.to_vec();
        let cipher = Aes128Gcm::new(&KEY.into());
        let tag = cipher.encrypt_inout_detached(&nonce.into(), &aad, sealed.as_mut_slice().into());
        (nonce.to_vec(), sealed, tag.unwrap().to_vec())
    }
}

/// `ColumnCryptoMetaData { ENCRYPTION_WITH_FOOTER_KEY {} }`
pub(crate) fn with_footer_key() -> Tree {
    Tree::Struct(vec![(1, Tree::Struct(Vec::new()))])
}
