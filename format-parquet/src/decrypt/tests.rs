//! Modules encrypted here with the same primitives; files of other writers are read end to end.

use super::*;
use vector::ErrorKind;

const NONCE: [u8; NONCE_BYTES] = *b"twelve bytes";

pub(crate) fn algorithm(is_ctr: bool) -> EncryptionAlgorithm {
    EncryptionAlgorithm {
        is_ctr,
        aad_prefix: Some(b"prefix".to_vec()),
        aad_file_unique: Some(b"unique".to_vec()),
        supply_aad_prefix: false,
    }
}

pub(crate) fn keys(footer: &[u8], columns: &[(&str, &[u8])]) -> Arc<dyn KeyProvider> {
    let key = |bytes: &[u8]| Key::new(bytes).unwrap();
    Arc::new(FixedKeys {
        footer: Some(key(footer)),
        columns: columns.iter().map(|(path, bytes)| (path.to_string(), key(bytes))).collect(),
        aad_prefix: None,
    })
}

fn framed(sealed: &[u8]) -> Vec<u8> {
    let len = (NONCE_BYTES + sealed.len()) as u32;
    [&len.to_le_bytes()[..], &NONCE, sealed].concat()
}

pub(crate) fn seal(key: &[u8], aad: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut bytes = plain.to_vec();
    let tag = Cipher::new(Key::new(key).unwrap()).unwrap().seal_gcm(&NONCE, aad, &mut bytes);
    framed(&[bytes, tag.unwrap().to_vec()].concat())
}

fn column_key(path: &str) -> ColumnCrypto {
    let path = path.split('.').map(str::to_string).collect();
    ColumnCrypto::ColumnKey { path, key_metadata: None }
}

#[test]
fn footers_decrypt_with_keys_of_every_length_and_only_with_the_right_one() {
    for len in [16, 24, 32] {
        let key = vec![7; len];
        let module = seal(&key, b"prefixunique\0", b"the footer");
        let open = |key: &[u8]| {
            FileDecryptor::new(&algorithm(false), None, keys(key, &[]))
                .and_then(|file| file.decrypt_footer(&module))
        };
        assert_eq!(open(&key).unwrap(), b"the footer");
        let error = open(&vec![8; len]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid input: cannot decrypt: a wrong key, or changed bytes"
        );
    }
    assert_eq!(Key::new(&[0; 17]).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(format!("{:?}", Key::new(&[0; 16]).unwrap()), "Key(128 bits)");
}

#[test]
fn a_signature_fits_its_footer_and_no_other() {
    let key = [5; 16];
    let module = seal(&key, b"prefixunique\0", b"plain footer");
    let tag = &module[module.len() - TAG_BYTES..];
    let signature: [u8; SIGNATURE_BYTES] = [&NONCE[..], tag].concat().try_into().unwrap();
    let file = FileDecryptor::new(&algorithm(false), None, keys(&key, &[])).unwrap();
    file.verify_footer(b"plain footer", &signature).unwrap();
    let error = file.verify_footer(b"other footer", &signature).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let none = Arc::new(FixedKeys::default());
    let file = FileDecryptor::new(&algorithm(false), None, none).unwrap();
    file.verify_footer(b"other footer", &signature).unwrap();
}

#[test]
fn modules_decrypt_at_their_own_place_only() {
    let (footer, own) = ([1; 16], [2; 32]);
    let file =
        FileDecryptor::new(&algorithm(false), None, keys(&footer, &[("a.b", &own)])).unwrap();
    let place = b"prefixunique\x04\x02\x00\x03\x00\x09\x00";
    let module = seal(&own, place, b"page header");
    let chunk = file.chunk(&column_key("a.b"), 2, 3).unwrap().unwrap();
    let (plain, taken) = chunk.decrypt(ModuleKind::DataPageHeader(9), &module).unwrap();
    assert_eq!((&plain[..], taken), (&b"page header"[..], module.len()));
    let with_more = [module.clone(), b"more".to_vec()].concat();
    assert!(chunk.decrypt(ModuleKind::DataPageHeader(9), &with_more).is_ok());
    for kind in [
        ModuleKind::DataPageHeader(8),
        ModuleKind::DataPage(9),
        ModuleKind::DictionaryPageHeader,
        ModuleKind::ColumnIndex,
    ] {
        assert!(chunk.decrypt(kind, &module).is_err(), "{kind:?}");
    }
    for (row_group, column) in [(1, 3), (2, 4)] {
        let chunk = file.chunk(&column_key("a.b"), row_group, column).unwrap().unwrap();
        assert!(chunk.decrypt(ModuleKind::DataPageHeader(9), &module).is_err());
    }
    assert!(file.chunk(&column_key("a.c"), 2, 3).unwrap().is_none());
    let by_footer_key = file.chunk(&ColumnCrypto::FooterKey, 2, 3).unwrap().unwrap();
    assert!(by_footer_key.decrypt(ModuleKind::DataPageHeader(9), &module).is_err());
    assert!(file.chunk(&column_key("a.b"), 40_000, 0).is_err());
}

#[test]
fn page_bodies_in_counter_mode_have_no_tag_and_all_else_has() {
    let key = [3; 16];
    let file = FileDecryptor::new(&algorithm(true), None, keys(&key, &[])).unwrap();
    let chunk = file.chunk(&ColumnCrypto::FooterKey, 0, 0).unwrap().unwrap();
    // The key stream of counter mode starts where that of GCM does: one block after the tag's.
    let plain = b"a page of more than sixteen bytes";
    let mut body = [0; 33];
    let cipher = Cipher::new(Key::new(&key).unwrap()).unwrap();
    let module = framed(plain);
    cipher.open_ctr(Module::at_start_of(&module).unwrap(), &mut body).unwrap();
    let mut out = BufferMut::new();
    chunk.decrypt_page(ModuleKind::DataPage(0), &framed(&body), &mut out).unwrap();
    assert_eq!(out.as_slice(), plain);
    let header = seal(&key, b"prefixunique\x05\0\0\0\0", b"header");
    assert_eq!(chunk.decrypt(ModuleKind::DictionaryPageHeader, &header).unwrap().0, b"header");
    let error = chunk
        .decrypt_page(ModuleKind::DataPage(0), &[framed(&body), vec![0]].concat(), &mut out)
        .unwrap_err();
    assert_eq!(error.message(), "an encrypted page has another size than its header says");
}

#[test]
fn a_prefix_that_the_file_does_not_tell_must_be_given_and_must_agree() {
    let with = |stored: Option<&[u8]>, supply, given: Option<&[u8]>| {
        let algorithm = EncryptionAlgorithm {
            is_ctr: false,
            aad_prefix: stored.map(<[u8]>::to_vec),
            aad_file_unique: None,
            supply_aad_prefix: supply,
        };
        let keys = FixedKeys { aad_prefix: given.map(<[u8]>::to_vec), ..Default::default() };
        FileDecryptor::new(&algorithm, None, Arc::new(keys)).map(|file| file.aad.to_vec())
    };
    assert_eq!(with(None, true, Some(b"p")).unwrap(), b"p");
    assert_eq!(with(Some(b"p"), false, None).unwrap(), b"p");
    assert_eq!(with(Some(b"p"), false, Some(b"p")).unwrap(), b"p");
    assert_eq!(with(None, false, Some(b"p")).unwrap(), b"");
    assert_eq!(with(None, true, None).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(with(Some(b"p"), false, Some(b"q")).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn no_cut_and_no_changed_byte_gives_anything() {
    let key = [1; 16];
    let module = seal(&key, b"prefixunique\0", b"the footer");
    let file = FileDecryptor::new(&algorithm(false), None, keys(&key, &[])).unwrap();
    for len in 0..module.len() {
        assert!(file.decrypt_footer(&module[..len]).is_err());
    }
    for at in 0..module.len() {
        for flip in [1, 0x80, 0xff] {
            let mut module = module.clone();
            module[at] ^= flip;
            assert!(file.decrypt_footer(&module).is_err());
        }
    }
}
