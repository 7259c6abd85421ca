//! Lines: where they end, which of them belong to a split, and which are rows.
//!
//! ```text
//! bytes    a,1\n b,2\n c,3\r\n d,4
//! split    |-- 0 --|--- 1 ---|
//! lines of 0: a,1  b,2          a line belongs to the split in which it starts,
//! lines of 1: c,3               and is read to its end wherever that is
//! ```
//!
//! LF, CR and CR LF end a line. Lines of one window stand side by side in one buffer, which is
//! moved up when the next window is read.

use std::ops::Range;

use dwio::input::BufferedInput;
use memchr::memchr2;
use vector::{BufferMut, Error, MemoryPool, Result};

use super::bytes::{ByteSource, Codec};
use super::dialect::Dialect;

/// Bytes that are added to the buffer at once.
const FILL_BYTES: usize = 256 << 10;

/// A window ends behind the line with which it has this many bytes.
const WINDOW_BYTES: usize = 4 << 20;

/// A mark that some editors put before UTF-8; it belongs to no value.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file to take lines from.
#[derive(Debug, Clone, Copy)]
pub struct TextFile<'a> {
    /// Its bytes.
    pub input: &'a BufferedInput,
    /// How it is packed.
    pub codec: Codec,
    /// How it is written.
    pub dialect: &'a Dialect,
    /// Pays for lines.
    pub pool: &'a MemoryPool,
}

/// The lines of a split that are rows.
pub struct LineReader {
    source: Option<ByteSource>,
    buffer: BufferMut<u8>,
    /// The first byte of the buffer that no line was made of yet.
    at: usize,
    /// Where in the unpacked file the buffer starts.
    buffer_offset: u64,
    /// Lines from here on belong to other splits.
    end: u64,
    max_line_bytes: usize,
    /// Lines since the start of the file, or since that of the split.
    num_lines: u64,
    starts_at_file: bool,
}

impl LineReader {
    /// The lines of `file` that start in `range` and are not of the header.
    pub fn new(file: TextFile<'_>, range: Range<u64>) -> Result<Self> {
        let header_lines = file.dialect.header_lines;
        if range.start == 0 {
            let end = if file.codec == Codec::Plain { range.end } else { u64::MAX };
            let mut lines = Self::at(file, 0, end)?;
            lines.skip_lines(header_lines)?;
            return Ok(lines);
        }
        if file.codec != Codec::Plain {
            return Self::at(file, 0, 0);
        }
        // From the byte before: when a line ends with it, the next one is the first of the range.
        let mut lines = Self::at(file, range.start - 1, range.end)?;
        lines.skip_lines(1)?;
        if header_lines > 0 {
            let mut header = Self::at(file, 0, u64::MAX)?;
            header.skip_lines(header_lines)?;
            if header.offset() > lines.offset() {
                lines = Self::at(file, header.offset(), range.end)?;
            }
        }
        lines.num_lines = 0;
        lines.starts_at_file = false;
        Ok(lines)
    }

    /// The number of rows before the first one of a split that starts at `start`.
    pub fn rows_before(file: TextFile<'_>, start: u64) -> Result<u64> {
        if start == 0 || file.codec != Codec::Plain {
            return Ok(0);
        }
        let mut lines = Self::new(file, 0..start)?;
        let header = lines.num_lines;
        lines.skip_lines(u64::MAX)?;
        Ok(lines.num_lines - header)
    }

    fn at(file: TextFile<'_>, offset: u64, end: u64) -> Result<Self> {
        let mut lines = LineReader {
            source: Some(ByteSource::new(file.input.reopened_for_values(), file.codec, offset)?),
            buffer: BufferMut::new_in(file.pool),
            at: 0,
            buffer_offset: offset,
            end,
            max_line_bytes: file.dialect.max_line_bytes,
            num_lines: 0,
            starts_at_file: offset == 0,
        };
        if offset == 0 && end > 0 {
            while lines.buffer.len() < BYTE_ORDER_MARK.len() && lines.source.is_some() {
                lines.fill()?;
            }
            if lines.buffer.starts_with(BYTE_ORDER_MARK) {
                lines.at = BYTE_ORDER_MARK.len();
            }
        }
        Ok(lines)
    }

    /// Gives the next lines as ranges of [`LineReader::bytes`]: at most `max_lines`, none at the
    /// end. Ranges that were given before mean nothing after.
    pub fn window(&mut self, max_lines: usize, lines: &mut Vec<Range<usize>>) -> Result<()> {
        lines.clear();
        self.move_up();
        while lines.len() < max_lines && self.at < WINDOW_BYTES {
            match self.next_line()? {
                Some(line) => lines.push(line),
                None => break,
            }
        }
        Ok(())
    }

    /// The bytes that lines are ranges of.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Says in which line an error happened: the one with `num_after` lines of its window behind
    /// it.
    pub fn in_line(&self, error: Error, line: &Range<usize>, num_after: usize) -> Error {
        let error = error.with("offset", self.buffer_offset.saturating_add(line.start as u64));
        match self.starts_at_file {
            true => error.in_place("line", self.num_lines.saturating_sub(num_after as u64)),
            // Nobody has counted the lines before the split.
            false => error,
        }
    }

    fn offset(&self) -> u64 {
        self.buffer_offset.saturating_add(self.at as u64)
    }

    fn skip_lines(&mut self, num_lines: u64) -> Result<()> {
        for _ in 0..num_lines {
            if !self.skip_line()? {
                break;
            }
            if self.at >= WINDOW_BYTES {
                self.move_up();
            }
        }
        Ok(())
    }

    /// Passes over a line of any length; false at the end. Nothing of it is kept.
    fn skip_line(&mut self) -> Result<bool> {
        if self.is_at_end() {
            return Ok(false);
        }
        let starts_at = self.offset();
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            if let Some(found) = memchr2(b'\n', b'\r', rest) {
                return self.give(self.at + found).map(|_| true);
            }
            self.at = self.buffer.len();
            if self.source.is_none() {
                // The last line may have no end.
                let is_line = self.offset() > starts_at;
                self.num_lines += u64::from(is_line);
                return Ok(is_line);
            }
            self.move_up();
            self.fill()?;
        }
    }

    /// True when the next line, if there is one, is of another split.
    fn is_at_end(&self) -> bool {
        // The first line starts with the file, mark or not.
        let is_first = self.starts_at_file && self.num_lines == 0;
        (if is_first { 0 } else { self.offset() }) >= self.end
    }

    fn next_line(&mut self) -> Result<Option<Range<usize>>> {
        if self.is_at_end() {
            return Ok(None);
        }
        let mut searched = self.at;
        loop {
            let rest = self.buffer.get(searched..).unwrap_or_default();
            if let Some(found) = memchr2(b'\n', b'\r', rest) {
                return self.give(searched + found).map(Some);
            }
            searched = self.buffer.len();
            if self.source.is_none() {
                // The last line may have no end.
                return if searched > self.at { self.give(searched).map(Some) } else { Ok(None) };
            }
            self.check_len(searched)?;
            self.fill()?;
        }
    }

    /// The line up to `stop`, with what ends it left out.
    fn give(&mut self, stop: usize) -> Result<Range<usize>> {
        self.check_len(stop)?;
        let line = self.at..stop;
        let is_cr = self.buffer.get(stop) == Some(&b'\r');
        while is_cr && stop + 1 == self.buffer.len() && self.source.is_some() {
            self.fill()?;
        }
        let is_cr_lf = is_cr && self.buffer.get(stop + 1) == Some(&b'\n');
        self.at = (stop + if is_cr_lf { 2 } else { 1 }).min(self.buffer.len());
        self.num_lines += 1;
        Ok(line)
    }

    fn check_len(&self, stop: usize) -> Result<()> {
        if stop - self.at <= self.max_line_bytes {
            return Ok(());
        }
        let error = Error::limit("a line is longer than allowed")
            .with("max", self.max_line_bytes)
            .with("offset", self.offset())
            .hint("the setting text.max-line-bytes allows longer ones");
        Err(match self.starts_at_file {
            true => error.in_place("line", self.num_lines + 1),
            false => error,
        })
    }

    /// Adds bytes to the buffer, or lets go of the source at its end.
    fn fill(&mut self) -> Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let len = self.buffer.len();
        self.buffer.try_grow(FILL_BYTES)?;
        self.buffer.resize_unspecified(len + FILL_BYTES);
        let read = source.read(self.buffer.get_mut(len..).unwrap_or_default());
        self.buffer.truncate(len + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            self.source = None;
        }
        Ok(())
    }

    /// Moves what is left of the buffer to its front.
    fn move_up(&mut self) {
        let len = self.buffer.len();
        self.buffer.copy_within(self.at..len, 0);
        self.buffer.truncate(len - self.at);
        self.buffer_offset = self.offset();
        self.at = 0;
    }
}
