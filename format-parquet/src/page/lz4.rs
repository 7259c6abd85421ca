//! LZ4: single blocks, and the three forms of pages that have the number of the older codec.
//!
//! The format originally specified only "LZ4", so Hadoop's writers put blocks into Hadoop's
//! framing, other writers wrote LZ4's own frames, others bare blocks. The form of a page is found
//! by trying; sizes have to be exact to the byte, so a wrong form is detected.

use std::io::Read;

use vector::{Error, Result};

use super::hadoop;

/// The first bytes of LZ4's own frames.
const FRAME_MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();

/// Decompresses one block, which must fill `output` exactly.
pub(super) fn decompress_raw(input: &[u8], output: &mut [u8]) -> Result<()> {
    // An empty page may be stored without a block.
    if input.is_empty() && output.is_empty() {
        return Ok(());
    }
    let expected = output.len();
    match lz4_flex::block::decompress_into(input, output) {
        Ok(found) if found == expected => Ok(()),
        Ok(found) => Err(Error::corrupt("an LZ4 page has another size than its header says")
            .with("expected", expected)
            .with("found", found)),
        Err(cause) => Err(Error::corrupt("an LZ4 page cannot be decompressed").caused_by(cause)),
    }
}

/// Decompresses a page of the older codec in any form.
pub(super) fn decompress_any(input: &[u8], output: &mut [u8]) -> Result<()> {
    let block = |input: &[u8], room: &mut [u8]| lz4_flex::block::decompress_into(input, room).ok();
    if hadoop::decode_frames(input, output, block).is_some() {
        return Ok(());
    }
    if input.starts_with(&FRAME_MAGIC) && decode_own_frame(input, output).is_some() {
        return Ok(());
    }
    decompress_raw(input, output)
}

fn decode_own_frame(input: &[u8], output: &mut [u8]) -> Option<()> {
    let mut decoder = lz4_flex::frame::FrameDecoder::new(input);
    decoder.read_exact(output).ok()?;
    (decoder.read(&mut [0]).ok()? == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "abcabcabcabcabc" and five last literals: a block according to the block format.
    const BLOCK: [u8; 13] =
        [0x38, b'a', b'b', b'c', 3, 0, 0x60, b'v', b'w', b'x', b'y', b'z', b'!'];
    const PLAIN: &[u8] = b"abcabcabcabcabcvwxyz!";

    fn any(input: &[u8]) -> Result<Vec<u8>> {
        let mut output = vec![0; PLAIN.len()];
        decompress_any(input, &mut output).map(|()| output)
    }

    fn hadoop() -> Vec<u8> {
        let size = |n: usize| (n as u32).to_be_bytes().to_vec();
        [size(PLAIN.len()), size(BLOCK.len()), BLOCK.to_vec()].concat()
    }

    fn own_frame() -> Vec<u8> {
        // Version 1, independent blocks, no sizes, no checksums; maximum block size 64 KiB.
        let head = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
        [&head[..], &(BLOCK.len() as u32).to_le_bytes(), &BLOCK, &[0; 4]].concat()
    }

    #[test]
    fn bare_blocks_hadoop_frames_and_own_frames_are_told_apart() {
        assert_eq!(any(&BLOCK).unwrap(), PLAIN);
        assert_eq!(any(&hadoop()).unwrap(), PLAIN);
        assert_eq!(any(&own_frame()).unwrap(), PLAIN);
        assert!(decompress_raw(&hadoop(), &mut [0; 21]).is_err());
    }

    #[test]
    fn a_page_of_no_bytes_may_be_framed() {
        decompress_any(&[0, 0, 0, 0, 0, 0, 0, 1, 0], &mut []).unwrap();
        decompress_any(&[0], &mut []).unwrap();
        decompress_any(&[], &mut []).unwrap();
        assert!(decompress_any(&[0, 0, 0, 0, 0, 0, 0, 1, 0], &mut [0]).is_err());
    }

    #[test]
    fn another_size_than_declared_is_corrupt() {
        for len in [0, 1, 20, 22, 100] {
            assert!(decompress_raw(&BLOCK, &mut vec![0; len]).is_err(), "{len}");
            assert!(decompress_any(&BLOCK, &mut vec![0; len]).is_err(), "{len}");
        }
        decompress_raw(&[], &mut []).unwrap();
        assert!(decompress_raw(&[], &mut [0]).is_err());
        let error = decompress_raw(&BLOCK, &mut [0; 22]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "corrupt: an LZ4 page has another size than its header says (expected=22 found=21)"
        );
    }

    #[test]
    fn no_cut_and_no_changed_byte_does_harm() {
        for page in [BLOCK.to_vec(), hadoop(), own_frame()] {
            for len in 0..page.len() {
                // Only the end mark of a frame may be missing.
                if let Ok(found) = any(&page[..len]) {
                    assert_eq!(found, PLAIN);
                }
            }
            for at in 0..page.len() {
                for flip in [1, 0x10, 0x80, 0xff] {
                    let mut page = page.clone();
                    page[at] ^= flip;
                    let _ = any(&page);
                }
            }
        }
    }
}
