//! Mutations of a small valid file.

use format_parquet::thrift::parse_page_header;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

use crate::support::random::Random;

/// Number of bytes after the footer: its length and the magic.
const TAIL: usize = 8;

/// Extreme values that counts, offsets and lengths are set to.
const EXTREMES: [u64; 14] = [
    0,
    1,
    0x7f,
    0xffff,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fff0,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64 - 7,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX,
];

/// A valid file, and the positions of its pages.
pub(super) struct Seed {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// Start and end of each page, including the header.
    pages: Vec<(usize, usize)>,
    /// Starts of the column chunks: the header of the dictionary page, if there is one.
    chunks: Vec<usize>,
    footer: usize,
}

impl Seed {
    pub(super) fn new(name: String, bytes: Vec<u8>) -> Self {
        let copy = bytes::Bytes::from(bytes.clone());
        let reader = SerializedFileReader::new(copy).unwrap();
        let (mut pages, mut chunks) = (Vec::new(), Vec::new());
        for column in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
            let (start, len) = column.byte_range();
            let (mut at, end) = (start as usize, (start + len) as usize);
            chunks.push(at);
            while at < end {
                let (header, header_bytes) = parse_page_header(&bytes[at..end]).unwrap();
                let next = at + header_bytes + header.compressed_bytes;
                pages.push((at, next));
                at = next;
            }
        }
        let at = bytes.len() - TAIL;
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        Seed { name, pages, chunks, footer: at - length as usize, bytes }
    }

    /// Returns the first `len` bytes of the file.
    pub(super) fn cut(&self, len: usize) -> Vec<u8> {
        self.bytes[..len].to_vec()
    }

    /// Returns the file with one mutation, sometimes with two or three, and a description of them.
    pub(super) fn broken(&self, random: &mut Random) -> (Vec<u8>, String) {
        let mut file = self.bytes.clone();
        let mut done = Vec::new();
        loop {
            done.push(self.break_once(&mut file, random));
            if done.len() == 3 || !random.once_in(5) {
                return (file, done.join(", "));
            }
        }
    }

    /// Returns a position to mutate: anywhere, in the footer, or within and directly after a page
    /// header.
    fn place(&self, len: usize, random: &mut Random) -> usize {
        let len = len.max(1) as u64;
        let at = match random.below(8) {
            0 | 1 => random.below(len) as usize,
            2 | 3 => self.footer + random.below((self.bytes.len() - self.footer) as u64) as usize,
            4 => pick(&self.chunks, random) + random.below(24) as usize,
            5 => pick(&self.pages, random).0 + random.below(24) as usize,
            _ => {
                let (start, end) = pick(&self.pages, random);
                start + random.below((end - start) as u64) as usize
            }
        };
        at.min(len as usize - 1)
    }

    fn break_once(&self, file: &mut Vec<u8>, random: &mut Random) -> String {
        let at = self.place(file.len(), random);
        let len = file.len();
        if len < 16 {
            file.push(random.next() as u8);
            return format!("a byte put behind {len} left");
        }
        match random.below(12) {
            0..=2 => {
                let bit = random.below(8);
                file[at] ^= 1 << bit;
                format!("bit {bit} of byte {at} flipped")
            }
            3 => {
                let byte = *pick(&[0, 0x7f, 0x80, 0xff, random.next() as u8], random);
                file[at] = byte;
                format!("byte {at} set to {byte:#x}")
            }
            4 => {
                let count = 1 + random.below(64) as usize;
                let to = (at + count).min(len);
                let from = random.below((len - (to - at)) as u64) as usize;
                let moved = file[from..from + (to - at)].to_vec();
                let other = file[at..to].to_vec();
                file[at..to].copy_from_slice(&moved);
                file[from..from + other.len()].copy_from_slice(&other);
                format!("{} bytes at {at} and {from} swapped", to - at)
            }
            5 => self.move_pages(file, random),
            6 => {
                let value = *pick(&EXTREMES, random) as u32;
                let at = at.min(len - 4);
                file[at..at + 4].copy_from_slice(&value.to_le_bytes());
                format!("4 bytes at {at} set to {value:#x}")
            }
            7 => {
                let value = *pick(&EXTREMES, random);
                let at = at.min(len - 8);
                file[at..at + 8].copy_from_slice(&value.to_le_bytes());
                format!("8 bytes at {at} set to {value:#x}")
            }
            8 | 9 => {
                let value = *pick(&EXTREMES, random);
                let end = (at..len).find(|i| file[*i] < 0x80).map_or(len, |last| last + 1);
                self.replace(file, at..end.min(at + 10), &varint(value));
                format!("the varint at {at} set to {value:#x}")
            }
            10 => {
                let end = (at + random.below(32) as usize).min(len);
                let with: Vec<u8> = (0..random.below(8)).map(|_| random.next() as u8).collect();
                self.replace(file, at..end, &with);
                format!("bytes {at} to {end} replaced by {}", with.len())
            }
            _ => {
                // The footer is kept, and a piece of the bytes before it is removed.
                let from = random.below(self.footer.min(len - TAIL) as u64) as usize;
                let to = self.footer.min(len - TAIL);
                file.drain(from..to);
                format!("bytes {from} to {to} left out")
            }
        }
    }

    /// Exchanges two pages, or writes one over another.
    fn move_pages(&self, file: &mut Vec<u8>, random: &mut Random) -> String {
        let mut two = [*pick(&self.pages, random), *pick(&self.pages, random)];
        two.sort_unstable();
        let [a, b] = two;
        if b.1 > file.len() || a.1 > b.0 {
            file.swap(4, 5);
            return "bytes 4 and 5 swapped".to_string();
        }
        if random.once_in(2) {
            let [first, between, second] =
                [a.0..a.1, a.1..b.0, b.0..b.1].map(|range| file[range].to_vec());
            file.splice(a.0..b.1, [second, between, first].concat());
            format!("pages at {} and {} swapped", a.0, b.0)
        } else {
            let count = (a.1 - a.0).min(b.1 - b.0);
            file.copy_within(a.0..a.0 + count, b.0);
            format!("the page at {} written over that at {}", a.0, b.0)
        }
    }

    /// Replaces bytes by more or fewer bytes. Within the footer its length is corrected, so that a
    /// reader continues to the contents.
    fn replace(&self, file: &mut Vec<u8>, range: std::ops::Range<usize>, with: &[u8]) {
        let is_in_footer = range.start >= self.footer && range.end + TAIL <= file.len();
        file.splice(range, with.iter().copied());
        if is_in_footer {
            let at = file.len() - TAIL;
            let length = (at - self.footer) as u32;
            file[at..at + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
}

fn pick<'a, T>(from: &'a [T], random: &mut Random) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
