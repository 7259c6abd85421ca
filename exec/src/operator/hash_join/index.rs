//! From keys to build rows: three forms of one index, chosen by what the keys are.
//!
//! ```text
//! keys that pack into a number, close to each other      Direct    heads[code]
//! keys that pack into a number                           Packed    open addressing by code
//! all others                                             Hashed    hash of the columns, compared
//!
//! each gives the first row with the key; `next` leads to the other ones, ascending
//! ```
//!
//! A batch is looked up as a whole: the codes or hashes of all rows first, then the candidates
//! one by one, so that the loads of different rows overlap. Nothing is allocated for a row.

use hashbrown::HashTable;
use vector::stop::{ROWS_PER_LOOK, check_stop};
use vector::{DecodedVector, Error, Result, RowComparator, VectorRef, hash_into};

use super::packing::{Codes, Packing};
use crate::operator::reservation::Reservation;

/// Stands for "no row".
pub(super) const NONE: u32 = u32::MAX;

/// Places of a direct index for each build row, at most,
const DIRECT_PLACES_PER_ROW: u128 = 16;
/// and this many in any case.
const MIN_DIRECT_PLACES: u128 = 1 << 12;
/// Bytes of a row's code, with its row number, or of its hash, while an index is made.
const CODE_BYTES: usize = size_of::<u64>() + size_of::<u32>();
/// Entries that a hash table has room for at least, once it has one.
const MIN_ENTRIES: usize = 16;
/// 2^64 by the golden ratio: the high bits of the product depend on all bits of the code.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Finds build rows by their keys.
#[derive(Debug)]
pub(super) struct Index {
    form: Form,
    /// The next row with the same key, for each row; empty when all keys differ.
    next: Vec<u32>,
    num_keys: usize,
}

#[derive(Debug)]
enum Form {
    Direct { packing: Packing, heads: Vec<u32> },
    Packed { packing: Packing, slots: Vec<Slot>, shift: u32 },
    Hashed { table: HashTable<Entry>, keys: Vec<VectorRef> },
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    code: u64,
    head: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    head: u32,
}

/// Memory that look-ups use again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    codes: Codes,
    hashes: Vec<u64>,
}

impl Index {
    /// Indexes the rows of flat key columns; rows with a null key are left out. What it takes is
    /// reserved in `memory` before it is allocated, and so is what is needed only meanwhile.
    pub(super) fn new(
        keys: &[VectorRef],
        num_rows: usize,
        memory: &mut Reservation,
    ) -> Result<Self> {
        if num_rows >= NONE as usize {
            return Err(
                Error::limit("too many rows on the build side of a join").with("rows", num_rows)
            );
        }
        let decoded: Vec<DecodedVector> =
            keys.iter().map(DecodedVector::new).collect::<Result<_>>()?;
        let before = memory.size();
        // The chains, and the code or hash of each row.
        memory.grow((num_rows * (size_of::<u32>() + CODE_BYTES)) as u64)?;
        let mut chains = Chains { next: vec![NONE; num_rows], num_keys: 0, repeats: false };
        let form = match Packing::of(&decoded) {
            Some(packing) => {
                let mut codes = Codes::default();
                packing.pack(&decoded, num_rows, &mut codes);
                let places = packing.num_codes();
                let limit =
                    (codes.rows.len() as u128 * DIRECT_PLACES_PER_ROW).max(MIN_DIRECT_PLACES);
                if places <= limit {
                    memory.grow(places as u64 * size_of::<u32>() as u64)?;
                    let heads = direct(&codes, places as usize, &mut chains)?;
                    Form::Direct { packing, heads }
                } else {
                    memory.grow((num_slots(codes.rows.len()) * size_of::<Slot>()) as u64)?;
                    let (slots, shift) = packed(&codes, &mut chains)?;
                    Form::Packed { packing, slots, shift }
                }
            }
            None => Form::Hashed {
                table: hashed(keys, &decoded, num_rows, (&mut chains, memory))?,
                keys: keys.to_vec(),
            },
        };
        let next = if chains.repeats { chains.next } else { Vec::new() };
        let index = Index { form, next, num_keys: chains.num_keys };
        memory.resize(before + index.bytes() as u64);
        memory.commit().map(|()| index)
    }

    /// True when no two rows have the same key.
    pub(super) fn is_unique(&self) -> bool {
        self.next.is_empty()
    }

    /// The number of different keys.
    pub(super) fn num_keys(&self) -> usize {
        self.num_keys
    }

    /// The next row with the same key, or [`NONE`].
    #[inline]
    pub(super) fn next(&self, row: u32) -> u32 {
        self.next.get(row as usize).copied().unwrap_or(NONE)
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let form = match &self.form {
            Form::Direct { heads, .. } => heads.capacity() * 4,
            Form::Packed { slots, .. } => slots.capacity() * size_of::<Slot>(),
            Form::Hashed { table, .. } => table.capacity() * (size_of::<Entry>() + 1),
        };
        form + self.next.capacity() * 4
    }

    /// The first build row for each row of the keys, or [`NONE`].
    pub(super) fn find(
        &self,
        keys: &[VectorRef],
        num_rows: usize,
        scratch: &mut Scratch,
        heads: &mut Vec<u32>,
    ) -> Result<()> {
        heads.clear();
        heads.resize(num_rows, NONE);
        let decoded: Vec<DecodedVector> =
            keys.iter().map(DecodedVector::new).collect::<Result<_>>()?;
        let codes = &mut scratch.codes;
        match &self.form {
            Form::Direct { packing, heads: places } => {
                packing.pack(&decoded, num_rows, codes);
                for (row, code) in codes.rows.iter().zip(&codes.codes) {
                    heads[*row as usize] = places.get(*code as usize).copied().unwrap_or(NONE);
                }
            }
            Form::Packed { packing, slots, shift } => {
                packing.pack(&decoded, num_rows, codes);
                for (row, code) in codes.rows.iter().zip(&codes.codes) {
                    heads[*row as usize] = slots[find_slot(slots, *shift, *code)].head;
                }
            }
            Form::Hashed { table, keys: built } => {
                let hashes = &mut scratch.hashes;
                hashes.clear();
                hashes.resize(num_rows, 0);
                for column in &decoded {
                    hash_into(column, hashes)?;
                }
                let same = RowComparator::new(keys, built)?;
                for row in 0..num_rows {
                    if decoded.iter().any(|column| column.is_null(row)) {
                        continue;
                    }
                    let hash = hashes[row];
                    let found = table.find(hash, |entry| {
                        entry.hash == short(hash)
                            && same.compare_all(row, entry.head as usize).is_eq()
                    });
                    heads[row] = found.map_or(NONE, |entry| entry.head);
                }
            }
        }
        Ok(())
    }
}

/// Rows with the same key, put together from the last row to the first.
struct Chains {
    next: Vec<u32>,
    num_keys: usize,
    repeats: bool,
}

impl Chains {
    /// Puts `row` before the rows that begin with `head`, which is now `row`.
    fn put(&mut self, head: &mut u32, row: u32) {
        if *head == NONE {
            self.num_keys += 1;
        } else {
            self.repeats = true;
            self.next[row as usize] = *head;
        }
        *head = row;
    }
}

/// The rows with a code and their codes, from the last one on, with a look at the stop flag before each
/// chunk.
fn from_the_last(codes: &Codes) -> impl Iterator<Item = Result<(&[u32], &[u64])>> {
    let chunks = codes.rows.rchunks(ROWS_PER_LOOK).zip(codes.codes.rchunks(ROWS_PER_LOOK));
    chunks.map(|chunk| check_stop().map(|()| chunk))
}

/// Slots for a number of rows: at most half of them are taken.
fn num_slots(num_rows: usize) -> usize {
    (num_rows * 2).next_power_of_two().max(2)
}

fn direct(codes: &Codes, num_places: usize, chains: &mut Chains) -> Result<Vec<u32>> {
    let mut heads = vec![NONE; num_places];
    for chunk in from_the_last(codes) {
        let (rows, codes) = chunk?;
        for (row, code) in rows.iter().zip(codes).rev() {
            if let Some(head) = heads.get_mut(*code as usize) {
                chains.put(head, *row);
            }
        }
    }
    Ok(heads)
}

fn packed(codes: &Codes, chains: &mut Chains) -> Result<(Vec<Slot>, u32)> {
    let num_slots = num_slots(codes.rows.len());
    let shift = 64 - num_slots.trailing_zeros();
    let mut slots = vec![Slot { code: 0, head: NONE }; num_slots];
    for chunk in from_the_last(codes) {
        let (rows, codes) = chunk?;
        for (row, code) in rows.iter().zip(codes).rev() {
            let at = find_slot(&slots, shift, *code);
            let slot = &mut slots[at];
            slot.code = *code;
            chains.put(&mut slot.head, *row);
        }
    }
    Ok((slots, shift))
}

/// The slot of a code, or the free one where it would be.
#[inline]
fn find_slot(slots: &[Slot], shift: u32, code: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = (code.wrapping_mul(SPREAD) >> shift) as usize & mask;
    while slots[at].head != NONE && slots[at].code != code {
        at = (at + 1) & mask;
    }
    at
}

/// Bits of a hash that the table does not look at itself.
fn short(hash: u64) -> u32 {
    (hash >> 16) as u32
}

fn hashed(
    keys: &[VectorRef],
    decoded: &[DecodedVector],
    num_rows: usize,
    (chains, memory): (&mut Chains, &mut Reservation),
) -> Result<HashTable<Entry>> {
    let mut hashes = vec![0; num_rows];
    for column in decoded {
        hash_into(column, &mut hashes)?;
    }
    let same = RowComparator::new(keys, keys)?;
    let mut table: HashTable<Entry> = HashTable::new();
    for row in (0..num_rows).rev() {
        if row % ROWS_PER_LOOK == 0 {
            check_stop()?;
        }
        if decoded.iter().any(|column| column.is_null(row)) {
            continue;
        }
        let hash = hashes[row];
        let equal = |entry: &Entry| {
            entry.hash == short(hash) && same.compare_all(row, entry.head as usize).is_eq()
        };
        match table.find_mut(hash, equal) {
            Some(entry) => chains.put(&mut entry.head, row as u32),
            None => {
                if table.len() == table.capacity() {
                    // The entries move, and for a moment both tables are there.
                    let more = table.capacity().max(MIN_ENTRIES);
                    memory.grow((2 * more * 2 * (size_of::<Entry>() + 1)) as u64)?;
                    table.reserve(more, |other| hashes[other.head as usize]);
                }
                let mut head = NONE;
                chains.put(&mut head, row as u32);
                let entry = Entry { hash: short(hash), head };
                table.insert_unique(hash, entry, |other| hashes[other.head as usize]);
            }
        }
    }
    Ok(table)
}
