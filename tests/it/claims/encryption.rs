//! Modular encryption of a file in parts, with one key: AES-GCM, as the specification has it.

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, KeyInit};

use crate::support::thrift::Tree;

/// The key of the footer and of all columns.
pub(super) const KEY: [u8; 16] = *b"sixteen bytes of";

const FILE_UNIQUE: &[u8] = b"one file";

/// Bytes of nonce and tag behind a footer that is signed.
const NONCE_BYTES: usize = 12;

/// How a file is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    None,
    /// All columns, under a footer that is signed.
    PlaintextFooter,
    /// All columns and the footer.
    EncryptedFooter,
}

/// The kinds of modules by their number in the additional data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Module {
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
pub(super) struct Sealer {
    encryption: Encryption,
    num_sealed: u64,
}

impl Sealer {
    pub(super) fn new(encryption: Encryption) -> Self {
        Sealer { encryption, num_sealed: 0 }
    }

    /// The module as it stands in the file: as it is, or length, nonce, encrypted bytes and tag.
    /// `ordinals` are those of row group, column and data page, as far as the kind has them.
    pub(super) fn module(&mut self, kind: Module, ordinals: &[usize], bytes: &[u8]) -> Vec<u8> {
        if self.encryption == Encryption::None {
            return bytes.to_vec();
        }
        let (nonce, sealed, tag) = self.seal(kind, ordinals, bytes);
        let len = (nonce.len() + sealed.len() + tag.len()) as u32;
        [&len.to_le_bytes()[..], &nonce, &sealed, &tag].concat()
    }

    /// The footer, what follows it and the magic at both ends of the file.
    pub(super) fn footer(&mut self, mut footer: Tree) -> (Vec<u8>, &'static [u8; 4]) {
        match self.encryption {
            Encryption::None => (footer.bytes(), b"PAR1"),
            Encryption::PlaintextFooter => {
                footer.put(8, algorithm());
                let mut bytes = footer.bytes();
                let (nonce, _, tag) = self.seal(Module::Footer, &[], &bytes);
                bytes.extend(nonce);
                bytes.extend(tag);
                (bytes, b"PAR1")
            }
            Encryption::EncryptedFooter => {
                let mut bytes = Tree::Struct(vec![(1, algorithm())]).bytes();
                bytes.extend(self.module(Module::Footer, &[], &footer.bytes()));
                (bytes, b"PARE")
            }
        }
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
        let mut aad = [FILE_UNIQUE, &[kind as u8]].concat();
        aad.extend(ordinals.iter().flat_map(|ordinal| (*ordinal as u16).to_le_bytes()));
        let mut sealed = bytes.to_vec();
        let cipher = Aes128Gcm::new(&KEY.into());
        let tag = cipher.encrypt_inout_detached(&nonce.into(), &aad, sealed.as_mut_slice().into());
        (nonce.to_vec(), sealed, tag.unwrap().to_vec())
    }
}

/// `EncryptionAlgorithm { AES_GCM_V1 { aad_file_unique } }`
fn algorithm() -> Tree {
    let gcm = Tree::Struct(vec![(2, Tree::Binary(FILE_UNIQUE.to_vec()))]);
    Tree::Struct(vec![(1, gcm)])
}

/// `ColumnCryptoMetaData { ENCRYPTION_WITH_FOOTER_KEY {} }`
pub(super) fn with_footer_key() -> Tree {
    Tree::Struct(vec![(1, Tree::Struct(Vec::new()))])
}
