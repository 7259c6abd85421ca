//! Column chunks written by hand, for the tests of pages and columns.

use crate::created_by::PageQuirks;
use crate::encoding::bit_pack::pack;
use crate::encoding::recoded::Storage;
use crate::levels::level_width;
use crate::thrift::structs::{Codec, PhysicalType};

use super::{ChunkParams, PageOptions};

pub(crate) const PLAIN: u8 = 0;
pub(crate) const RLE: u8 = 3;
pub(crate) const RLE_DICTIONARY: u8 = 8;

/// A number in the header of a page that is written with another value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangedField {
    /// The page, dictionary and index pages included.
    pub(crate) page: usize,
    /// The field of the struct of its type; any beyond the last stands for the page's type.
    pub(crate) field: usize,
    pub(crate) value: u32,
}

/// Writes the pages of one chunk.
pub(crate) struct ChunkWriter {
    pub(crate) bytes: Vec<u8>,
    pub(crate) num_values: u64,
    codec: Codec,
    max_def: u8,
    max_rep: u8,
    pub(crate) num_rows: u64,
    /// The fields of the headers so far, as they should be.
    pub(crate) fields: Vec<Vec<u32>>,
    pub(crate) changed: Option<ChangedField>,
    /// How values are stored; the entries of booleans' dictionaries are not compared with bytes.
    pub(crate) storage: Storage,
    /// Pages are written with this as checksum, if any.
    pub(crate) checksum: Option<u32>,
}

impl ChunkWriter {
    pub(crate) fn new(codec: Codec, max_def: u8, max_rep: u8) -> Self {
        let storage = Storage { physical: PhysicalType::Boolean, type_length: 0 };
        let (num_values, num_rows, checksum) = (0, 0, None);
        let bytes = Vec::new();
        let (fields, changed) = (Vec::new(), None);
        ChunkWriter {
            bytes,
            num_values,
            codec,
            max_def,
            max_rep,
            num_rows,
            fields,
            changed,
            storage,
            checksum,
        }
    }

    pub(crate) fn params(&self) -> ChunkParams {
        ChunkParams {
            offset: 4,
            codec: self.codec,
            declared_bytes: self.bytes.len() as u64,
            storage: self.storage,
            num_rows: self.num_rows,
            num_values: self.num_values,
            max_def: self.max_def,
            max_rep: self.max_rep,
            quirks: PageQuirks::default(),
            options: PageOptions::default(),
            decryptor: None,
            counters: Default::default(),
        }
    }

    fn compressed(&self, body: &[u8]) -> Vec<u8> {
        match self.codec {
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(body).unwrap(),
            _ => body.to_vec(),
        }
    }

    /// Header fields 1 to 3; `fields` is the struct numbered `id`.
    pub(crate) fn page(
        &mut self,
        page_type: u8,
        id: u8,
        fields: &[u32],
        body: &[u8],
        uncompressed: usize,
    ) {
        let (mut page_type, mut written) = (page_type, fields.to_vec());
        if let Some(changed) = self.changed.filter(|changed| changed.page == self.fields.len()) {
            match written.get_mut(changed.field) {
                Some(field) => *field = changed.value,
                None => page_type = u8::try_from(changed.value).unwrap_or(63).min(63),
            }
        }
        self.fields.push(fields.to_vec());
        let out = &mut self.bytes;
        out.extend([0x15, page_type << 1]);
        for size in [uncompressed, body.len()] {
            out.push(0x15);
            zigzag(out, size as u32);
        }
        let mut last_id = 3;
        if let Some(checksum) = self.checksum {
            let signed = checksum.cast_signed();
            out.push(0x15);
            uleb(out, (signed << 1 ^ signed >> 31).cast_unsigned());
            last_id = 4;
        }
        out.push((id - last_id) << 4 | 0x0c);
        for field in &written {
            out.push(0x15);
            zigzag(out, *field);
        }
        out.extend([0, 0]);
        out.extend(body);
    }

    pub(crate) fn dictionary(&mut self, num_values: usize, values: &[u8]) -> &mut Self {
        let body = self.compressed(values);
        self.page(2, 7, &[num_values as u32, 0], &body, values.len());
        self
    }

    pub(crate) fn index(&mut self) -> &mut Self {
        self.page(1, 6, &[], b"whatever", 8);
        self
    }

    pub(crate) fn v1(&mut self, levels: &[(u8, u8)], encoding: u8, values: &[u8]) -> &mut Self {
        let mut body = Vec::new();
        for (max, section) in [(self.max_rep, rep_of(levels)), (self.max_def, def_of(levels))] {
            if max > 0 {
                let section = hybrid(&section, level_width(max));
                body.extend((section.len() as u32).to_le_bytes());
                body.extend(section);
            }
        }
        body.extend(values);
        let stored = self.compressed(&body);
        let fields = [levels.len() as u32, encoding.into(), RLE.into(), RLE.into()];
        self.page(0, 5, &fields, &stored, body.len());
        self.num_rows += rep_of(levels).iter().filter(|rep| **rep == 0).count() as u64;
        self.num_values += levels.len() as u64;
        self
    }

    pub(crate) fn v2(&mut self, levels: &[(u8, u8)], encoding: u8, values: &[u8]) -> &mut Self {
        let section = |max, levels: Vec<u8>| match max {
            0 => Vec::new(),
            max => hybrid(&levels, level_width(max)),
        };
        let rep = section(self.max_rep, rep_of(levels));
        let def = section(self.max_def, def_of(levels));
        let rows = levels.iter().filter(|(rep, _)| *rep == 0).count() as u32;
        let nulls = levels.iter().filter(|(_, def)| *def < self.max_def).count() as u32;
        let stored = [&rep[..], &def, &self.compressed(values)].concat();
        let fields =
            [levels.len() as u32, nulls, rows, encoding.into(), def.len() as u32, rep.len() as u32];
        self.page(3, 8, &fields, &stored, rep.len() + def.len() + values.len());
        self.num_rows += u64::from(rows);
        self.num_values += levels.len() as u64;
        self
    }
}

/// `n` pairs of levels of a flat column that is never null.
pub(crate) fn required(n: usize) -> Vec<(u8, u8)> {
    vec![(0, 0); n]
}

fn rep_of(levels: &[(u8, u8)]) -> Vec<u8> {
    levels.iter().map(|(rep, _)| *rep).collect()
}

fn def_of(levels: &[(u8, u8)]) -> Vec<u8> {
    levels.iter().map(|(_, def)| *def).collect()
}

/// One bit-packed run, as far as values fill groups.
fn hybrid(values: &[u8], width: u8) -> Vec<u8> {
    let mut values: Vec<u32> = values.iter().map(|v| u32::from(*v)).collect();
    let groups = values.len().div_ceil(8);
    values.resize(groups * 8, 0);
    let mut bytes = Vec::new();
    uleb(&mut bytes, (groups << 1 | 1) as u32);
    bytes.extend(pack(&values, width));
    bytes
}

/// A section of dictionary indices.
pub(crate) fn indices(values: &[u8], width: u8) -> Vec<u8> {
    let mut bytes = vec![width];
    bytes.extend(hybrid(values, width));
    bytes
}

pub(crate) fn byte_arrays(values: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend(*value);
    }
    bytes
}

pub(crate) fn int32s(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

fn zigzag(out: &mut Vec<u8>, value: u32) {
    uleb(out, value << 1);
}

fn uleb(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
