//! Strings and bytes: views into pages, or indices over one base for the whole chunk.
//!
//! ```text
//! dictionary pages   Dictionary(indices, base)     base: views into the dictionary page, made once
//! PLAIN pages        Flat(views)                   views into the pages themselves
//! both in a window   Flat(views)                   buffers: pages, and the dictionary page
//! ```
//!
//! Long strings are never copied; a vector keeps the pages alive that it points into. Decimals
//! with more digits than any decimal type are bytes as well: they become their text when a page
//! or dictionary is decoded.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, BufferMut, DictionaryVector, FlatValues, FlatVector, MemoryPool, Result,
    StringValues, StringView, Type, Vector, VectorRef,
};

use super::current_page::{CurrentPage, PageValues, no_dictionary, no_page};
use super::leaf::ValueReader;
use super::scalar::storage_of;
use super::spread::{LastWindow, clear_nulls, spread};
use crate::encoding::delta_byte_array::DeltaLengthByteArray;
use crate::encoding::dictionary::DictionaryIndices;
use crate::encoding::plain::{
    ViewPlace, appended, each_byte_array, fixed_bytes, read_fixed_views, read_views,
    skip_byte_arrays, view_of,
};
use crate::encoding::recoded::Recoded;
use crate::page::DictionaryPage;
use crate::schema::Leaf;
use crate::thrift::structs::{Encoding, PhysicalType};

/// Reads byte arrays and fixed length byte arrays into string vectors.
pub(crate) struct BytesValues {
    ty: Type,
    format: Format,
    dictionary: Option<Base>,
    page: CurrentPage,
    /// The place of the current page among the window's buffers, once a view points there.
    page_buffer: Option<u32>,
    window: Window,
    last_indices: LastWindow<u32>,
    last_views: LastWindow<StringView>,
    pool: MemoryPool,
}

/// How a value is stored, and what becomes of it.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// The width of fixed length values.
    width: Option<usize>,
    /// The scale of numbers that become text.
    decimal_scale: Option<u32>,
}

/// The chunk's distinct strings.
struct Base {
    vector: VectorRef,
    views: Buffer<StringView>,
    buffers: Vec<Buffer<u8>>,
}

/// The values of the rows read so far.
enum Window {
    Empty,
    Indices(BufferMut<u32>),
    Views { views: BufferMut<StringView>, buffers: Vec<Buffer<u8>> },
}

impl BytesValues {
    /// A reader of `leaf`'s values as VARCHAR or VARBINARY; with a scale the bytes are numbers.
    pub(crate) fn new(
        leaf: &Leaf,
        ty: Type,
        decimal_scale: Option<u32>,
        pool: &MemoryPool,
    ) -> Self {
        let is_fixed = leaf.physical == PhysicalType::FixedLenByteArray;
        BytesValues {
            ty,
            format: Format { width: is_fixed.then_some(leaf.type_length), decimal_scale },
            dictionary: None,
            page: CurrentPage::new(storage_of(leaf)),
            page_buffer: None,
            window: Window::Empty,
            last_indices: LastWindow::new(),
            last_views: LastWindow::new(),
            pool: pool.clone(),
        }
    }

    fn read_page(&mut self, n: usize) -> Result<()> {
        let window = match self.page.open()? {
            PageValues::Indices(indices) => {
                let base = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
                if let Window::Empty = self.window {
                    self.window = Window::Indices(self.last_indices.take(&self.pool));
                }
                return match &mut self.window {
                    Window::Empty => Err(no_page()),
                    Window::Indices(window) => indices.read(base.views.len(), appended(window, n)?),
                    Window::Views { views, buffers } => {
                        // Rare: a writer went back to the dictionary in the middle of a window.
                        let first_buffer = base.add_buffers(buffers);
                        append_picked(indices, base, n, first_buffer, views, &self.pool)
                    }
                };
            }
            _ => {
                let last = &mut self.last_views;
                self.window.as_views(self.dictionary.as_ref(), || last.take(&self.pool))?
            }
        };
        let (views, buffers) = window;
        let is_text = self.format.decimal_scale.is_some();
        let mut place = |bytes: &Buffer<u8>, buffers: &mut Vec<Buffer<u8>>| {
            *self.page_buffer.get_or_insert_with(|| {
                buffers.push(bytes.clone());
                (buffers.len() - 1) as u32
            })
        };
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                let buffer = if is_text { 0 } else { place(bytes, buffers) };
                *at += self.format.read(bytes, *at, n, buffer, views, buffers)?;
            }
            PageValues::Recoded(recoded) => match recoded.as_mut() {
                Recoded::Lengths(lengths) if !is_text => {
                    let buffer = place(lengths.bytes(), buffers);
                    read_placed(lengths, n, buffer, views)?;
                }
                recoded => {
                    let mut plain = BufferMut::new_in(&self.pool);
                    recoded.read(n, &mut plain)?;
                    let plain = plain.freeze();
                    let buffer = buffers.len() as u32;
                    if !is_text {
                        buffers.push(plain.clone());
                    }
                    self.format.read(&plain, 0, n, buffer, views, buffers)?;
                }
            },
            _ => return Err(no_page()),
        }
        Ok(())
    }
}

/// Appends views of values that stand in the page as they are.
fn read_placed(
    lengths: &mut DeltaLengthByteArray,
    n: usize,
    buffer: u32,
    views: &mut BufferMut<StringView>,
) -> Result<()> {
    lengths.check_left(n)?;
    let bytes = lengths.bytes().clone();
    let mut slots = appended(views, n)?.iter_mut();
    lengths.each(n, |start, end| {
        if let Some(slot) = slots.next() {
            let from = bytes.get(start..).unwrap_or(&[]);
            *slot = view_of(from, end - start, ViewPlace { buffer, offset: 0 }.moved(start));
        }
    })
}

impl ValueReader for BytesValues {
    fn start_chunk(&mut self, carries_prefixes: bool) {
        self.dictionary = None;
        self.page.start_chunk(carries_prefixes);
        self.page_buffer = None;
        self.window = Window::Empty;
    }

    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()> {
        let DictionaryPage { num_values, values, .. } = page;
        let mut views = BufferMut::new_in(&self.pool);
        let mut buffers = Vec::new();
        if self.format.decimal_scale.is_none() {
            buffers.push(values.clone());
        }
        self.format.read(&values, 0, num_values, 0, &mut views, &mut buffers)?;
        let views = views.freeze();
        let strings = StringValues::new(views.clone(), buffers.clone());
        let vector = FlatVector::new(self.ty.clone(), FlatValues::String(strings), None)?;
        self.dictionary = Some(Base { vector: Arc::new(Vector::Flat(vector)), views, buffers });
        Ok(())
    }

    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>) {
        self.page.start(encoding, values);
        self.page_buffer = None;
    }

    fn end_page(&mut self) {
        self.page.end();
        self.page_buffer = None;
    }

    fn read(&mut self, n: usize) -> Result<()> {
        self.read_page(n)
    }

    fn skip(&mut self, n: usize) -> Result<()> {
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                let rest = bytes.get(*at..).unwrap_or(&[]);
                *at += match self.format.width {
                    Some(width) => fixed_bytes(rest, n, width)?,
                    None => skip_byte_arrays(rest, n)?,
                };
                Ok(())
            }
            PageValues::Indices(indices) => indices.skip(n),
            PageValues::Recoded(recoded) => recoded.skip(n),
            _ => Err(no_page()),
        }
    }

    fn finish(&mut self, num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef> {
        self.page_buffer = None;
        match std::mem::replace(&mut self.window, Window::Empty) {
            Window::Empty => Ok(Vector::nulls(self.ty.clone(), num_slots).into()),
            Window::Indices(mut indices) => {
                let base = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
                if let Some(validity) = &validity {
                    spread(&mut indices, validity)?;
                }
                let indices = self.last_indices.hand_out(indices);
                let base = Arc::clone(&base.vector);
                let vector = DictionaryVector::over_with_validity(base, indices, validity);
                Ok(Vector::Dictionary(vector).into())
            }
            Window::Views { mut views, buffers } => {
                if let Some(validity) = &validity {
                    spread(&mut views, validity)?;
                    // Memory is used again: a stale view points nowhere.
                    clear_nulls(&mut views, validity);
                }
                let views = self.last_views.hand_out(views);
                let values = FlatValues::String(StringValues::new(views, buffers));
                Ok(Vector::Flat(FlatVector::new(self.ty.clone(), values, validity)?).into())
            }
        }
    }
}

impl Window {
    /// The window as views; what is indices so far is looked up.
    fn as_views(
        &mut self,
        base: Option<&Base>,
        memory: impl FnOnce() -> BufferMut<StringView>,
    ) -> Result<(&mut BufferMut<StringView>, &mut Vec<Buffer<u8>>)> {
        match self {
            Window::Views { .. } => {}
            Window::Empty => *self = Window::Views { views: memory(), buffers: Vec::new() },
            Window::Indices(indices) => {
                let base = base.ok_or_else(no_dictionary)?;
                let mut views = memory();
                pick(base, indices, 0, appended(&mut views, indices.len())?);
                *self = Window::Views { views, buffers: base.buffers.clone() };
            }
        }
        match self {
            Window::Views { views, buffers } => Ok((views, buffers)),
            Window::Empty | Window::Indices(_) => Err(no_page()),
        }
    }
}

impl Base {
    /// Makes the dictionary's buffers part of a window's; gives the place of the first one.
    fn add_buffers(&self, buffers: &mut Vec<Buffer<u8>>) -> u32 {
        let first = buffers.len() as u32;
        buffers.extend(self.buffers.iter().cloned());
        first
    }
}

fn append_picked(
    indices: &mut DictionaryIndices,
    base: &Base,
    n: usize,
    first_buffer: u32,
    views: &mut BufferMut<StringView>,
    pool: &MemoryPool,
) -> Result<()> {
    let mut picked = BufferMut::<u32>::with_capacity_in(n, pool)?;
    picked.resize_unspecified(n);
    indices.read(base.views.len(), &mut picked)?;
    pick(base, &picked, first_buffer, appended(views, n)?);
    Ok(())
}

/// Looks up indices that are known to be inside of the base.
fn pick(base: &Base, indices: &[u32], first_buffer: u32, out: &mut [StringView]) {
    for (slot, index) in out.iter_mut().zip(indices) {
        let view = base.views.get(*index as usize).copied().unwrap_or_default();
        *slot = view.rebase(first_buffer);
    }
}

impl Format {
    /// Appends views of `n` values of `bytes` from `at` on; gives how many bytes they take. The
    /// bytes are buffer number `buffer`; a buffer of texts is added where values become text.
    fn read(
        &self,
        bytes: &Buffer<u8>,
        at: usize,
        n: usize,
        buffer: u32,
        views: &mut BufferMut<StringView>,
        buffers: &mut Vec<Buffer<u8>>,
    ) -> Result<usize> {
        let rest = bytes.get(at..).unwrap_or(&[]);
        if let Some(scale) = self.decimal_scale {
            return self.read_texts(rest, n, scale, views, buffers);
        }
        let place = ViewPlace { buffer, offset: at as u32 };
        match self.width {
            Some(width) => read_fixed_views(rest, n, width, place, views),
            None => read_views(rest, n, place, views),
        }
    }

    fn read_texts(
        &self,
        rest: &[u8],
        n: usize,
        scale: u32,
        views: &mut BufferMut<StringView>,
        buffers: &mut Vec<Buffer<u8>>,
    ) -> Result<usize> {
        let buffer = buffers.len() as u32;
        let mut texts = BufferMut::<u8>::new();
        let mut push = |value: &[u8]| {
            let text = decimal_text(value, scale);
            views.push(StringView::new(text.as_bytes(), buffer, texts.len() as u32));
            texts.extend_from_slice(text.as_bytes());
        };
        let taken = match self.width {
            Some(0) => {
                (0..n).for_each(|_| push(&[]));
                0
            }
            Some(width) => {
                let taken = fixed_bytes(rest, n, width)?;
                rest.chunks_exact(width).take(n).for_each(push);
                taken
            }
            None => each_byte_array(rest, n, push)?,
        };
        buffers.push(texts.freeze());
        Ok(taken)
    }
}

/// A big-endian two's complement number of any length as decimal text, with all of the scale.
fn decimal_text(bytes: &[u8], scale: u32) -> String {
    const BILLION: u64 = 1_000_000_000;
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    // The magnitude in 32-bit words, most significant first.
    let mut words: Vec<u32> = Vec::with_capacity(bytes.len() / 4 + 1);
    for word in bytes.rchunks(4) {
        let fill = if negative { 0xff } else { 0 };
        let mut raw = [fill; 4];
        for (to, from) in raw.iter_mut().rev().zip(word.iter().rev()) {
            *to = *from;
        }
        words.push(u32::from_be_bytes(raw));
    }
    if negative {
        let mut carry = true;
        for word in &mut words {
            (*word, carry) = (!*word).overflowing_add(u32::from(carry));
        }
        if carry {
            words.push(1);
        }
    }
    words.reverse();
    // Nine digits a round, the lowest first.
    let mut digits = String::new();
    let mut rounds: Vec<u32> = Vec::new();
    while words.iter().any(|word| *word != 0) {
        let mut rest = 0u64;
        for word in &mut words {
            let value = rest << 32 | u64::from(*word);
            *word = (value / BILLION) as u32;
            rest = value % BILLION;
        }
        rounds.push(rest as u32);
        let zeros = words.iter().take_while(|word| **word == 0).count();
        words.drain(..zeros);
    }
    for (i, round) in rounds.iter().rev().enumerate() {
        digits += &if i == 0 { round.to_string() } else { format!("{round:09}") };
    }
    let scale = scale as usize;
    if digits.len() <= scale {
        digits.insert_str(0, &"0".repeat(scale + 1 - digits.len()));
    }
    if scale > 0 {
        digits.insert(digits.len() - scale, '.');
    }
    if negative {
        digits.insert(0, '-');
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_become_their_digits() {
        assert_eq!(decimal_text(&[], 0), "0");
        assert_eq!(decimal_text(&[], 2), "0.00");
        assert_eq!(decimal_text(&[0xfb], 2), "-0.05");
        assert_eq!(decimal_text(&[0x80], 0), "-128");
        assert_eq!(decimal_text(&[0x00, 0xff], 1), "25.5");
        assert_eq!(decimal_text(&1_000_000_000i64.to_be_bytes(), 9), "1.000000000");
        for value in [i128::MAX, i128::MIN, -1, 1, 1 << 96, 10i128.pow(27)] {
            assert_eq!(decimal_text(&value.to_be_bytes(), 0), value.to_string());
        }
        let mut wide = vec![0u8; 17];
        wide[0] = 1;
        assert_eq!(decimal_text(&wide, 0), "340282366920938463463374607431768211456");
        wide[0] = 0xff;
        assert_eq!(decimal_text(&wide, 3), "-340282366920938463463374607431768211.456");
    }
}
