//! Division of a text file into lines: where they end, which of them belong to a split, and which
//! are rows.
//!
//! ```text
//! bytes    a,1\n b,2\n c,3\r\n d,4
//! split    |-- 0 --|--- 1 ---|
//! lines of 0: a,1  b,2          a line belongs to the split in which it starts,
//! lines of 1: c,3               and is read to its end even if that is in another split
//! ```
//!
//! LF, CR and CR LF end a line. The lines of one window are contiguous in one buffer. The unread
//! rest of the buffer is moved to its front before the next window is read.

use std::ops::Range;

use dwio::input::BufferedInput;
use memchr::memchr2;
use vector::{BufferMut, Error, MemoryPool, Result};

use crate::bytes::{ByteSource, Codec};
use crate::dialect::Dialect;

/// Number of bytes that are added to the buffer per read.
const FILL_BYTES: usize = 256 << 10;

/// A window ends after the line at which it reaches this number of bytes.
const WINDOW_BYTES: usize = 4 << 20;

/// Byte order mark that some editors write before UTF-8 text; it is not part of a value.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file whose lines are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextFile<'a> {
    /// Input of the file.
    pub input: &'a BufferedInput,
    /// Compression of the file.
    pub codec: Codec,
    /// Text encoding of the file.
    pub dialect: &'a Dialect,
    /// Pool to which the buffer of lines is charged.
    pub pool: &'a MemoryPool,
}

/// Reads those lines of a split that are rows.
pub(crate) struct LineReader {
    source: Option<ByteSource>,
    buffer: BufferMut<u8>,
    /// Index in the buffer of the first byte after the last line returned.
    at: usize,
    /// Offset in the uncompressed file at which the buffer starts.
    buffer_offset: u64,
    /// Offset at which the split ends; lines that start here or later belong to other splits.
    end: u64,
    max_line_bytes: usize,
    /// Number of lines since the start of the file or, if the split does not start there, of the
    /// split.
    num_lines: u64,
    starts_at_file: bool,
}

impl LineReader {
    /// Returns a reader of the lines of `file` that start in `range` and are not header lines.
    ///
    /// # Errors
    /// Errors of the file, `Corrupt` for broken compressed bytes, `Limit` if a skipped line is
    /// longer than allowed and its end is in the buffer.
    pub(crate) fn new(file: TextFile<'_>, range: Range<u64>) -> Result<Self> {
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
        // Starts one byte early: if that byte ends a line, the next line is the first of the range.
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

    /// Returns the number of rows before the first one of a split that starts at `start`.
    ///
    /// # Errors
    /// As [`LineReader::new`].
    pub(crate) fn rows_before(file: TextFile<'_>, start: u64) -> Result<u64> {
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

    /// Reads the next lines into `lines`, as ranges of [`LineReader::bytes`]: at most `max_lines`,
    /// none at the end. Invalidates the ranges of earlier calls.
    ///
    /// # Errors
    /// Errors of the file, `Corrupt` for broken compressed bytes, `Limit` for a line that is longer
    /// than allowed.
    pub(crate) fn window(&mut self, max_lines: usize, lines: &mut Vec<Range<usize>>) -> Result<()> {
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

    /// Returns the buffer that the ranges of lines refer to.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Adds the line number to an error. The line is the one that is followed by `num_after` other
    /// lines of its window.
    pub(crate) fn in_line(&self, error: Error, line: &Range<usize>, num_after: usize) -> Error {
        let error = error.with("offset", self.buffer_offset.saturating_add(line.start as u64));
        match self.starts_at_file {
            true => error.in_place("line", self.num_lines.saturating_sub(num_after as u64)),
            // The lines before the split are not counted, so the number is unknown.
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

    /// Skips a line of any length without keeping its bytes. Returns false at the end.
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
                // The last line of a file may have no line end.
                let is_line = self.offset() > starts_at;
                self.num_lines += u64::from(is_line);
                return Ok(is_line);
            }
            self.move_up();
            self.fill()?;
        }
    }

    /// Returns true if the next line, if any, belongs to another split.
    fn is_at_end(&self) -> bool {
        // The first line starts at offset 0, even after a byte order mark.
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
                // The last line of a file may have no line end.
                return if searched > self.at { self.give(searched).map(Some) } else { Ok(None) };
            }
            self.check_len(searched)?;
            self.fill()?;
        }
    }

    /// Consumes the line that ends at `stop` and returns its range, without the line end.
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

    /// Appends bytes to the buffer, or releases the source at its end.
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

    /// Moves the unread bytes of the buffer to its front.
    fn move_up(&mut self) {
        let len = self.buffer.len();
        self.buffer.copy_within(self.at..len, 0);
        self.buffer.truncate(len - self.at);
        self.buffer_offset = self.offset();
        self.at = 0;
    }
}
