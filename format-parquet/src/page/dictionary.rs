//! The dictionary page of a chunk: located while data pages are read, decompressed when it is
//! requested.

use vector::{Buffer, Error, Result, ResultExt};

use super::ahead::Packed;
use super::claims::{check_dictionary, check_header};
use super::stored::StoredPage;
use super::{DictionaryPage, PageCounters, PageReader};
use crate::decrypt::ModuleKind;
use crate::thrift::structs::{Codec, Encoding, PageKind};

impl PageReader {
    /// Returns the chunk's dictionary on the first call, if a dictionary page precedes the current
    /// page.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page is invalid, `Limit` when it is too large or memory is not granted,
    /// and errors of reading the file.
    pub fn take_dictionary(&mut self) -> Result<Option<DictionaryPage>> {
        self.find_dictionary().in_named("page", "dictionary")?;
        let Some((found, stored)) = self.dictionary.take() else { return Ok(None) };
        PageCounters::add(&self.chunk.counters.dictionaries, 1);
        let offset = self.file_offset(found.header_at);
        self.read_dictionary(&found, stored)
            .map(Some)
            .map_err(|e| e.in_named("page", "dictionary").in_place("offset", offset))
    }

    /// Locates the dictionary, where the locations of data pages are known: it precedes all of
    /// them.
    pub(super) fn find_dictionary(&mut self) -> Result<()> {
        let Some(first) = self.source.first_page_at().filter(|_| self.at == 0) else {
            return Ok(());
        };
        self.source.read(0..first)?;
        while self.at < first {
            let found = self.header(0, first)?;
            check_header(&found.header.kind, &self.chunk)
                .in_place("offset", self.file_offset(found.header_at))?;
            match found.header.kind {
                PageKind::Dictionary(_) if self.dictionary.is_none() => {
                    self.keep_dictionary(found)?;
                }
                PageKind::Index => {}
                _ => return Err(self.other_than_indexed(found.header_at)),
            }
        }
        Ok(())
    }

    pub(super) fn keep_dictionary(&mut self, found: StoredPage) -> Result<()> {
        let stored = self.source.read(found.body.clone())?;
        self.dictionary = Some((found, stored));
        Ok(())
    }

    fn read_dictionary(
        &mut self,
        found: &StoredPage,
        stored: Buffer<u8>,
    ) -> Result<DictionaryPage> {
        let PageKind::Dictionary(header) = &found.header.kind else {
            return Err(Error::internal("not a dictionary page"));
        };
        if !matches!(header.encoding, Encoding::Plain | Encoding::PlainDictionary) {
            return Err(
                Error::corrupt("a dictionary is not PLAIN").with("encoding", header.encoding)
            );
        }
        let stored = self.opened(found, stored, ModuleKind::DictionaryPage)?;
        // The dictionary is kept for the whole chunk, so it uses the memory of the previous
        // dictionary and not that of a page.
        let last = self.last_dictionary.take().and_then(|last| last.into_mut().ok());
        let spare = std::mem::replace(&mut self.spare, Vec::from_iter(last));
        let packed = Packed { stored, uncompressed: found.header.uncompressed_bytes };
        let values = self.body(packed, true, None);
        self.spare = spare;
        let values = values?;
        check_dictionary(header, values.len(), &self.chunk)?;
        if self.chunk.codec != Codec::Uncompressed {
            self.last_dictionary = Some(values.clone());
        }
        Ok(DictionaryPage { num_values: header.num_values, is_sorted: header.is_sorted, values })
    }
}
