//! The framing that Hadoop uses around blocks of LZ4 and LZO.
//!
//! ```text
//! frame   uncompressed size (u32, big-endian) | block | block ...   until that size is reached
//! block   compressed size (u32, big-endian)   | bytes
//! page    frame | frame ...
//! ```
//!
//! An empty frame needs no block; some writers put one into the only frame of an empty page.

/// Decodes the framing of a whole page: `decode_block` receives the bytes of a block and the
/// remaining output of its frame, and returns the number of bytes that it wrote.
///
/// Returns `None` unless frames and blocks fill `input` and `output` exactly.
pub(super) fn decode_frames(
    input: &[u8],
    output: &mut [u8],
    mut decode_block: impl FnMut(&[u8], &mut [u8]) -> Option<usize>,
) -> Option<()> {
    let (mut input, mut output) = (input, output);
    while !input.is_empty() {
        let frame_bytes = take_size(&mut input)?;
        let (mut frame, rest) = output.split_at_mut_checked(frame_bytes)?;
        output = rest;
        if frame.is_empty() && output.is_empty() && ends_in_empty_block(input, &mut decode_block) {
            return Some(());
        }
        while !frame.is_empty() {
            let block_bytes = take_size(&mut input)?;
            let (block, behind) = input.split_at_checked(block_bytes)?;
            input = behind;
            let filled = decode_block(block, frame)?;
            frame = frame.get_mut(filled..)?;
        }
    }
    output.is_empty().then_some(())
}

fn ends_in_empty_block(
    mut input: &[u8],
    decode_block: &mut impl FnMut(&[u8], &mut [u8]) -> Option<usize>,
) -> bool {
    take_size(&mut input) == Some(input.len()) && decode_block(input, &mut []) == Some(0)
}

fn take_size(input: &mut &[u8]) -> Option<usize> {
    let (size, rest) = input.split_first_chunk()?;
    *input = rest;
    usize::try_from(u32::from_be_bytes(*size)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes blocks that hold uncompressed bytes.
    fn stored(block: &[u8], room: &mut [u8]) -> Option<usize> {
        room.get_mut(..block.len())?.copy_from_slice(block);
        Some(block.len())
    }

    fn decode(input: &[u8], len: usize) -> Option<Vec<u8>> {
        let mut output = vec![0; len];
        decode_frames(input, &mut output, stored).map(|()| output)
    }

    #[test]
    fn frames_of_several_blocks_follow_each_other_and_sizes_must_add_up() {
        let size = |n: u32| n.to_be_bytes().to_vec();
        let page = [
            [size(5), size(2), b"ab".to_vec(), size(3), b"cde".to_vec()].concat(),
            size(0),
            [size(1), size(1), b"f".to_vec()].concat(),
        ]
        .concat();
        assert_eq!(decode(&page, 6).unwrap(), b"abcdef");
        assert_eq!(decode(&page, 5), None);
        assert_eq!(decode(&page, 7), None);
        for len in 1..page.len() {
            assert_eq!(decode(&page[..len], 6), None, "{len}");
        }
        assert_eq!(decode(&[], 0).unwrap(), b"");
    }

    #[test]
    fn an_empty_page_may_have_an_empty_block() {
        let empty = |block: &[u8]| block.is_empty().then_some(0);
        let decode = |input: &[u8], len: usize| {
            decode_frames(input, &mut vec![0; len], |block, _| empty(block))
        };
        assert_eq!(decode(&[0; 4], 0), Some(()));
        assert_eq!(decode(&[0; 8], 0), Some(()));
        assert_eq!(decode(&[0; 8], 1), None);
        assert_eq!(decode(&[0, 0, 0, 0, 0, 0, 0, 1, 9], 0), None);
        assert_eq!(decode(&[0, 0, 0, 0, 0, 0, 0, 2, 9], 0), None);
    }
}
