//! Reader of strings and bytes: produces views into pages, or indices over one base for the whole
//! chunk.
//!
//! ```text
//! dictionary pages   Dictionary(indices, base)     base: views into the dictionary page
//! PLAIN pages        Flat(views)                   views into the pages themselves
//! both in a window   Flat(views)                   buffers: pages, and the dictionary page
//! ```
//!
//! Long strings are not copied; a vector keeps the pages alive that it points into. A filter reads
//! the strings in the page, and views are built only of those that pass; with a dictionary it is
//! evaluated once for each entry. Decimals with more digits than any decimal type are bytes as
//! well: they are converted to text when a page or dictionary is decoded.

use dwio::filter::{BytesVisitor, Filter};
use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, BufferMut, DictionaryVector, Error, FlatValues, FlatVector, MemoryPool, Result,
    SelectivityVector, StringValues, StringView, Type, Vector, VectorRef, bits,
};

use super::current_page::{CurrentPage, PageEnd, PageValues, no_dictionary, no_page};
use super::decimal_text::decimal_text;
use super::leaf::ValueReader;
use super::scalar::storage_of;
use super::search::retain_matching;
use super::spans::Spans;
use super::spread::{LastWindow, clear_nulls, spread};
use super::string_buffers::{BufferUse, release};
use crate::created_by::PageQuirks;
use crate::encoding::byte_arrays::{
    BufferOffset, check_count, each_place, fixed_bytes, skip_byte_arrays, view_of,
};
use crate::encoding::dictionary::check_used;
use crate::encoding::dictionary_filter::CachedFilter;
use crate::encoding::plain::appended;
use crate::page::DictionaryPage;
use crate::schema::Leaf;
use crate::thrift::structs::{Encoding, PhysicalType};

/// Reads byte arrays and fixed-length byte arrays into string vectors.
pub(crate) struct BytesValues {
    ty: Type,
    format: Format,
    dictionary: Option<Base>,
    answers: CachedFilter,
    page: CurrentPage,
    /// Index of the current page among the window's buffers, once a view points into it.
    page_buffer: Option<u32>,
    window: Window,
    walked: BufferUse,
    last_indices: LastWindow<u32>,
    last_views: LastWindow<StringView>,
    pool: MemoryPool,
}

/// How a value is stored, and whether it is converted.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// Number of bytes of fixed-length values.
    width: Option<usize>,
    /// Scale of numbers that are converted to text.
    decimal_scale: Option<u32>,
}

impl Format {
    /// Returns the minimum number of bytes of a value.
    fn min_bytes(self) -> usize {
        self.width.unwrap_or(size_of::<u32>())
    }
}

/// The distinct strings of the chunk.
struct Base {
    vector: VectorRef,
    views: Buffer<StringView>,
    buffers: Vec<Buffer<u8>>,
}

/// The values of the rows of the current window.
enum Window {
    Empty,
    Indices(BufferMut<u32>),
    Views { views: BufferMut<StringView>, buffers: Vec<Buffer<u8>> },
}

impl BytesValues {
    /// Creates a reader of `leaf`'s values as VARCHAR or VARBINARY; with a scale, the bytes are
    /// numbers that are converted to text.
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
            answers: CachedFilter::default(),
            page: CurrentPage::new(storage_of(leaf)),
            page_buffer: None,
            window: Window::Empty,
            walked: BufferUse::default(),
            last_indices: LastWindow::new(),
            last_views: LastWindow::new(),
            pool: pool.clone(),
        }
    }

    /// Appends the selected ones of the next `n` values of a page of indices.
    fn append_indices(&mut self, n: usize, wanted: &[u64]) -> Result<()> {
        let base = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
        let PageValues::Indices(indices) = self.page.open()? else { return Err(no_page()) };
        if let Window::Empty = self.window {
            self.window = Window::Indices(self.last_indices.take(&self.pool));
        }
        match &mut self.window {
            Window::Empty => Err(no_page()),
            Window::Indices(window) => indices.read_selected(base.views.len(), n, wanted, window),
            Window::Views { views, buffers } => {
                // Rare: a writer returned to the dictionary in the middle of a window.
                let mut picked = BufferMut::new_in(&self.pool);
                indices.read_selected(base.views.len(), n, wanted, &mut picked)?;
                let first_buffer = base.add_buffers(buffers)?;
                pick(base, &picked, first_buffer, appended(views, picked.len())?);
                Ok(())
            }
        }
    }

    /// Appends those of the next `n` values, which are not indices, that are selected and for which
    /// `keep`, called with the number and the bytes of the value, returns true.
    fn append_bytes(
        &mut self,
        n: usize,
        wanted: &[u64],
        mut keep: impl FnMut(usize, &[u8]) -> bool,
    ) -> Result<usize> {
        let last = &mut self.last_views;
        let (views, buffers) =
            self.window.as_views(self.dictionary.as_ref(), || last.take(&self.pool))?;
        let spans = Spans::open(self.page.open()?, self.format.width, n, &self.pool)?;
        let bytes = spans.bytes().clone();
        let before = views.len();
        let max = bits::count_ones(wanted, n);
        if let Some(scale) = self.format.decimal_scale {
            let mut texts = Texts::new(scale, buffers.len())?;
            spans.each(wanted, |i, start, end| {
                let value = bytes.get(start..end).unwrap_or(&[]);
                if keep(i, value) {
                    texts.push(value, views);
                }
            })?;
            buffers.push(texts.finish()?);
            return Ok(max);
        }
        let is_in_page = spans.is_in_page();
        let buffer = match self.page_buffer {
            Some(buffer) if is_in_page => buffer,
            _ => {
                buffers.push(bytes.clone());
                buffer_number(buffers.len() - 1)?
            }
        };
        let place = BufferOffset::start_of(buffer, &bytes)?;
        self.page_buffer = is_in_page.then_some(buffer);
        let mut slots = appended(views, max)?.iter_mut();
        spans.each(wanted, |i, start, end| {
            if keep(i, bytes.get(start..end).unwrap_or(&[]))
                && let Some(slot) = slots.next()
            {
                *slot = view_of(&bytes, start, end, place);
            }
        })?;
        let unused = slots.len();
        views.truncate(before + max - unused);
        self.walked.add(n, max - unused);
        Ok(if is_in_page { max - unused } else { n })
    }

    fn has_indices(&mut self) -> Result<bool> {
        Ok(matches!(self.page.open()?, PageValues::Indices(_)))
    }
}

/// Clears the bits of strings that fail.
struct Retain<'a> {
    spans: Spans<'a>,
    wanted: &'a mut [u64],
}

impl BytesVisitor for Retain<'_> {
    type Output = Result<()>;

    fn visit(self, test: impl Fn(&[u8]) -> bool) -> Result<()> {
        let bytes = self.spans.bytes().clone();
        let mut failed = vec![0; self.wanted.len()];
        self.spans.each(self.wanted, |i, start, end| {
            if !test(bytes.get(start..end).unwrap_or(&[])) {
                bits::set(&mut failed, i);
            }
        })?;
        bits::and_not_assign(self.wanted, &failed);
        Ok(())
    }
}

/// Appends strings that pass and clears the bits of those that fail.
struct AppendPassing<'a> {
    reader: &'a mut BytesValues,
    n: usize,
    wanted: &'a mut [u64],
}

impl BytesVisitor for AppendPassing<'_> {
    type Output = Result<usize>;

    fn visit(self, test: impl Fn(&[u8]) -> bool) -> Result<usize> {
        let mut failed = vec![0; self.wanted.len()];
        let decoded = self.reader.append_bytes(self.n, self.wanted, |i, value| {
            let passes = test(value);
            if !passes {
                bits::set(&mut failed, i);
            }
            passes
        })?;
        bits::and_not_assign(self.wanted, &failed);
        Ok(decoded)
    }
}

/// Numbers converted to text, stored contiguously in one buffer.
struct Texts {
    scale: u32,
    buffer: u32,
    bytes: BufferMut<u8>,
    is_too_long: bool,
    /// Number of bytes of a number that is longer than any precision, if there is one.
    long_number: Option<usize>,
}

impl Texts {
    /// Creates a builder of text that becomes the buffer with index `buffer`.
    fn new(scale: u32, buffer: usize) -> Result<Self> {
        let buffer = buffer_number(buffer)?;
        Ok(Texts { scale, buffer, bytes: BufferMut::new(), is_too_long: false, long_number: None })
    }

    fn push(&mut self, value: &[u8], views: &mut BufferMut<StringView>) {
        let text = decimal_text(value, self.scale).unwrap_or_else(|| {
            self.long_number = Some(value.len());
            String::new()
        });
        match u32::try_from(self.bytes.len()) {
            Ok(offset) => views.push(StringView::new(text.as_bytes(), self.buffer, offset)),
            Err(_) => self.is_too_long = true,
        }
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn finish(self) -> Result<Buffer<u8>> {
        if let Some(bytes) = self.long_number {
            return Err(
                Error::corrupt("a decimal is longer than any precision").with("bytes", bytes)
            );
        }
        if self.is_too_long {
            return Err(Error::limit("the values of a page add up to too many bytes"));
        }
        Ok(self.bytes.freeze())
    }
}

fn buffer_number(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| Error::limit("a batch has too many buffers of strings"))
}

impl ValueReader for BytesValues {
    fn start_chunk(&mut self, quirks: PageQuirks) {
        self.dictionary = None;
        self.answers.clear();
        self.page.start_chunk(quirks);
        self.page_buffer = None;
        self.window = Window::Empty;
        self.walked = BufferUse::default();
    }

    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()> {
        let DictionaryPage { num_values, values, .. } = page;
        let width = self.format.width;
        let mut views = BufferMut::new_in(&self.pool);
        let (taken, buffer) = match self.format.decimal_scale {
            Some(scale) => {
                let mut texts = Texts::new(scale, 0)?;
                let taken = each_place(&values, num_values, width, |start, end| {
                    texts.push(values.get(start..end).unwrap_or(&[]), &mut views);
                })?;
                (taken, texts.finish()?)
            }
            None => {
                let place = BufferOffset::start_of(0, &values)?;
                check_count(&values, num_values, self.format.min_bytes())?;
                let mut slots = appended(&mut views, num_values)?.iter_mut();
                let taken = each_place(&values, num_values, width, |start, end| {
                    if let Some(slot) = slots.next() {
                        *slot = view_of(&values, start, end, place);
                    }
                })?;
                (taken, values.clone())
            }
        };
        check_used(taken, num_values, &values)?;
        let buffers = vec![buffer];
        let views = views.freeze();
        let strings = StringValues::new(views.clone(), buffers.clone());
        let vector = FlatVector::new(self.ty.clone(), FlatValues::String(strings), None)?;
        self.answers.clear();
        self.dictionary = Some(Base { vector: Arc::new(Vector::Flat(vector)), views, buffers });
        Ok(())
    }

    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>) {
        self.page.start(encoding, values);
        self.page_buffer = None;
    }

    fn check_end(&mut self, end: PageEnd) -> Result<()> {
        self.page.check_end(end)
    }

    fn end_page(&mut self) {
        self.page.end();
        self.page_buffer = None;
    }

    fn read(&mut self, n: usize) -> Result<()> {
        self.read_selected(n, SelectivityVector::all(n).words()).map(drop)
    }

    fn read_selected(&mut self, n: usize, wanted: &[u64]) -> Result<usize> {
        if self.has_indices()? {
            self.append_indices(n, wanted)?;
            return Ok(bits::count_ones(wanted, n));
        }
        self.append_bytes(n, wanted, |_, _| true)
    }

    fn filters(&self) -> bool {
        // Numbers would have to be compared as the text that they are converted to.
        self.format.decimal_scale.is_none()
    }

    fn filter(&mut self, filter: &Arc<Filter>, n: usize, wanted: &mut [u64]) -> Result<usize> {
        if let PageValues::Indices(indices) = self.page.open()? {
            let base = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
            let asked = (filter, || base.passing(filter));
            return self.answers.filter(indices, asked, n, wanted).map(|()| 0);
        }
        let spans = Spans::open(self.page.open()?, self.format.width, n, &self.pool)?;
        let decoded = if spans.is_in_page() { 0 } else { n };
        if let Some((search, passes)) = filter.search() {
            retain_matching(spans, search, passes, wanted)?;
            return Ok(decoded);
        }
        filter.visit_bytes(Retain { spans, wanted })??;
        Ok(decoded)
    }

    fn filter_and_read(
        &mut self,
        filter: &Arc<Filter>,
        n: usize,
        wanted: &mut [u64],
    ) -> Result<usize> {
        if let PageValues::Indices(indices) = self.page.open()? {
            let base = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
            if let Window::Empty = self.window {
                self.window = Window::Indices(self.last_indices.take(&self.pool));
            }
            let answers = self.answers.of(filter, || base.passing(filter))?;
            if let Window::Indices(window) = &mut self.window {
                let before = window.len();
                indices.filter_and_read(answers, n, wanted, window)?;
                return Ok(window.len() - before);
            }
            indices.clone().filter(answers, n, wanted)?;
            return self.read_selected(n, wanted);
        }
        if let (PageValues::Plain { at, .. }, Some(_)) = (self.page.open()?, filter.search()) {
            // Walking twice is cheaper than matching strings one by one.
            let start = *at;
            self.filter(filter, n, wanted)?;
            if let PageValues::Plain { at, .. } = self.page.open()? {
                *at = start;
            }
            return self.read_selected(n, wanted);
        }
        filter.visit_bytes(AppendPassing { reader: self, n, wanted })?
    }

    fn dictionary_may_match(&mut self, filter: &Arc<Filter>) -> Result<bool> {
        let Some(base) = &self.dictionary else { return Ok(true) };
        Ok(!self.answers.of(filter, || base.passing(filter))?.is_none())
    }

    fn skip(&mut self, n: usize) -> Result<()> {
        self.walked.add(n, 0);
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
        let walked = std::mem::take(&mut self.walked);
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
            Window::Views { mut views, mut buffers } => {
                release(&mut views, &mut buffers, walked, &self.pool)?;
                if let Some(validity) = &validity {
                    spread(&mut views, validity)?;
                    // Memory is reused, so a stale view could point to released bytes.
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
    /// Converts the window to views; indices that it holds are looked up.
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
    /// Appends the dictionary's buffers to those of a window and returns the index of the first
    /// one.
    fn add_buffers(&self, buffers: &mut Vec<Buffer<u8>>) -> Result<u32> {
        let first = buffer_number(buffers.len())?;
        buffers.extend(self.buffers.iter().cloned());
        Ok(first)
    }

    /// Returns a bitmap of the strings that pass a filter.
    fn passing(&self, filter: &Filter) -> Result<Bitmap> {
        match self.vector.as_ref() {
            Vector::Flat(flat) => filter.passing(flat.values(), None),
            _ => Err(Error::internal("a dictionary of strings is not flat")),
        }
    }
}

/// Looks up indices that are checked to be inside of the base.
fn pick(base: &Base, indices: &[u32], first_buffer: u32, out: &mut [StringView]) {
    for (slot, index) in out.iter_mut().zip(indices) {
        let view = base.views.get(*index as usize).copied().unwrap_or_default();
        *slot = view.rebase(first_buffer);
    }
}
