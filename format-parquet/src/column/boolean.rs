//! Readers of booleans, which are bits in pages and in vectors, and of columns without values.

use dwio::filter::Filter;
use vector::sync::Arc;
use vector::{
    Bitmap, BitmapMut, Buffer, Error, FlatValues, FlatVector, Result, Type, Vector, VectorRef, bits,
};

use super::current_page::{CurrentPage, PageEnd, PageValues, no_page};
use super::leaf::ValueReader;
use super::spread::spread_bits;
use crate::created_by::PageQuirks;
use crate::encoding::bit_pack::append_bits;
use crate::encoding::recoded::Storage;
use crate::page::DictionaryPage;
use crate::thrift::structs::Encoding;

/// A reader of booleans: bits in pages and in vectors.
pub(super) struct BooleanValues {
    page: CurrentPage,
    window: BitmapMut,
    /// The values of a piece of a page of which not all are selected.
    piece: BitmapMut,
}

impl BooleanValues {
    /// Creates a reader of booleans of this storage.
    pub(super) fn new(storage: Storage) -> Self {
        BooleanValues {
            page: CurrentPage::new(storage),
            window: BitmapMut::new(),
            piece: BitmapMut::new(),
        }
    }

    /// Decodes the next `n` values into `out`.
    fn decode(page: &mut CurrentPage, n: usize, out: &mut BitmapMut) -> Result<()> {
        match page.open()? {
            PageValues::Plain { bytes, at } => {
                if bytes.len().saturating_mul(8).saturating_sub(*at) < n {
                    return Err(Error::corrupt("the page is too short for its values")
                        .with("values", n)
                        .with("bytes", bytes.len()));
                }
                append_bits(bytes, *at, n, out);
                *at += n;
                Ok(())
            }
            PageValues::BooleanRuns(runs) => runs.read_bits(n, out).map(drop),
            _ => Err(no_page()),
        }
    }

    fn decode_piece(&mut self, n: usize) -> Result<()> {
        self.piece.clear();
        Self::decode(&mut self.page, n, &mut self.piece)
    }

    /// Appends the selected values of the piece to the window.
    fn append_piece(&mut self, wanted: &[u64]) {
        let mut picked = Vec::new();
        bits::compress(self.piece.words(), wanted, &mut picked);
        let num_wanted = bits::count_ones(wanted, self.piece.len());
        self.window.extend_from_words(&picked, 0, num_wanted);
    }

    fn filter_piece(&self, filter: &Filter, wanted: &mut [u64]) -> Result<()> {
        let passes = [filter.test_bool(false)?, filter.test_bool(true)?];
        for (values, wanted) in self.piece.words().iter().zip(wanted) {
            *wanted &= match passes {
                [false, false] => 0,
                [false, true] => *values,
                [true, false] => !values,
                [true, true] => u64::MAX,
            };
        }
        Ok(())
    }
}

impl ValueReader for BooleanValues {
    fn start_chunk(&mut self, quirks: PageQuirks) {
        self.page.start_chunk(quirks);
        self.window = BitmapMut::new();
    }

    fn set_dictionary(&mut self, _: DictionaryPage) -> Result<()> {
        Err(Error::corrupt("a dictionary of booleans"))
    }

    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>) {
        self.page.start(encoding, values);
    }

    fn check_end(&mut self, end: PageEnd) -> Result<()> {
        self.page.check_end(end)
    }

    fn end_page(&mut self) {
        self.page.end();
    }

    fn read(&mut self, n: usize) -> Result<()> {
        Self::decode(&mut self.page, n, &mut self.window)
    }

    fn read_selected(&mut self, n: usize, wanted: &[u64]) -> Result<usize> {
        self.decode_piece(n)?;
        self.append_piece(wanted);
        Ok(bits::count_ones(wanted, n))
    }

    fn filters(&self) -> bool {
        true
    }

    fn filter(&mut self, filter: &Arc<Filter>, n: usize, wanted: &mut [u64]) -> Result<usize> {
        self.decode_piece(n)?;
        self.filter_piece(filter, wanted).map(|()| 0)
    }

    fn filter_and_read(
        &mut self,
        filter: &Arc<Filter>,
        n: usize,
        wanted: &mut [u64],
    ) -> Result<usize> {
        self.filter(filter, n, wanted)?;
        self.append_piece(wanted);
        Ok(bits::count_ones(wanted, n))
    }

    fn skip(&mut self, n: usize) -> Result<()> {
        match self.page.open()? {
            PageValues::Plain { at, .. } => {
                *at += n;
                Ok(())
            }
            PageValues::BooleanRuns(runs) => runs.read_bits(n, &mut BitmapMut::new()).map(drop),
            _ => Err(no_page()),
        }
    }

    fn finish(&mut self, _num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef> {
        let mut values = std::mem::take(&mut self.window).freeze();
        if let Some(validity) = &validity {
            values = spread_bits(&values, validity)?;
        }
        let values = FlatValues::Boolean(values);
        Ok(Vector::Flat(FlatVector::new(Type::Boolean, values, validity)?).into())
    }
}

/// A reader of no values: for columns that are null in every row, and where only levels are read.
struct NoValues {
    ty: Type,
}

impl ValueReader for NoValues {
    fn start_chunk(&mut self, _: PageQuirks) {}
    fn set_dictionary(&mut self, _: DictionaryPage) -> Result<()> {
        Ok(())
    }
    fn start_page(&mut self, _: Encoding, _: Buffer<u8>) {}
    fn check_end(&mut self, _: PageEnd) -> Result<()> {
        Ok(())
    }
    fn end_page(&mut self) {}
    fn read(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
    fn read_selected(&mut self, _: usize, _: &[u64]) -> Result<usize> {
        Ok(0)
    }
    fn skip(&mut self, _: usize) -> Result<()> {
        Ok(())
    }
    fn finish(&mut self, num_slots: usize, _: Option<Bitmap>) -> Result<VectorRef> {
        Ok(Vector::nulls(self.ty.clone(), num_slots).into())
    }
}

/// Creates a reader that decodes no values and returns nulls.
pub(crate) fn no_values(ty: Type) -> Box<dyn ValueReader> {
    Box::new(NoValues { ty })
}
