//! The index of a join table: finds build rows by key, in one of three modes that depend on the
//! keys.
//!
//! ```text
//! normalized keys (64-bit codes), dense     Direct    heads[code]
//! normalized keys                           Packed    open addressing by code
//! all others                                Hashed    hash of the columns, then comparison
//!
//! each mode returns the first row with a key; `next` returns the following ones, ascending
//! ```
//!
//! A batch is looked up as a whole: the codes or hashes of all rows are computed first and the
//! candidates are examined one by one afterwards, so that the memory loads of different rows
//! overlap. A look-up does not allocate memory for individual rows.

use hashbrown::HashTable;
use vector::stop::{ROWS_PER_LOOK, check_stop};
use vector::{DecodedVector, Error, Result, RowComparator, VectorRef, hash_into};

use super::packing::{Codes, Packing};
use crate::operator::reservation::Reservation;

/// The row number that means "no row".
pub(super) const NONE: u32 = u32::MAX;

/// Maximum number of entries of the array of direct mode, for each build row.
const DIRECT_PLACES_PER_ROW: u128 = 16;
/// Number of entries that the array of direct mode may have regardless of the number of rows.
const MIN_DIRECT_PLACES: u128 = 1 << 12;
/// Number of bytes per row that building an index takes temporarily: a code with its row number, or
/// a hash.
const CODE_BYTES: usize = size_of::<u64>() + size_of::<u32>();
/// Minimum capacity of a hash table that is not empty, in entries.
const MIN_ENTRIES: usize = 16;
/// 2^64 divided by the golden ratio: the high bits of its product with a code depend on all bits of
/// the code.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Finds build rows by their keys.
#[derive(Debug)]
pub(super) struct Index {
    form: Form,
    /// The next row with the same key for each row, or [`NONE`]. Empty when all keys are different.
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

/// Buffers that look-ups reuse.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    codes: Codes,
    hashes: Vec<u64>,
}

impl Index {
    /// Indexes the rows of flat key columns; rows with a null key are omitted. All memory,
    /// including temporary memory, is reserved in `memory` before it is allocated.
    ///
    /// # Errors
    ///
    /// `Limit` when there are too many rows, and the error of the pool when a reservation fails.
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
        // The chains, and the code or the hash of each row.
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

    /// Returns true when all keys are different.
    pub(super) fn is_unique(&self) -> bool {
        self.next.is_empty()
    }

    /// Returns the number of different keys.
    pub(super) fn num_keys(&self) -> usize {
        self.num_keys
    }

    /// Returns the next row with the same key, or [`NONE`].
    #[inline]
    pub(super) fn next(&self, row: u32) -> u32 {
        self.next.get(row as usize).copied().unwrap_or(NONE)
    }

    /// Returns the number of bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let form = match &self.form {
            Form::Direct { heads, .. } => heads.capacity() * 4,
            Form::Packed { slots, .. } => slots.capacity() * size_of::<Slot>(),
            Form::Hashed { table, .. } => table.capacity() * (size_of::<Entry>() + 1),
        };
        form + self.next.capacity() * 4
    }

    /// Sets `heads` to the first build row with the key of each of the rows, or [`NONE`]. Null keys
    /// have no build row.
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

/// Links rows with the same key into chains, from the last row to the first.
struct Chains {
    next: Vec<u32>,
    num_keys: usize,
    repeats: bool,
}

impl Chains {
    /// Prepends `row` to the chain that starts at `head`.
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

/// Iterates over the rows that have a code, with their codes, in chunks from the last to the first.
/// The stop flag is checked before each chunk.
fn from_the_last(codes: &Codes) -> impl Iterator<Item = Result<(&[u32], &[u64])>> {
    let chunks = codes.rows.rchunks(ROWS_PER_LOOK).zip(codes.codes.rchunks(ROWS_PER_LOOK));
    chunks.map(|chunk| check_stop().map(|()| chunk))
}

/// Returns the number of slots for `num_rows` rows: at most half of the slots are occupied.
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

/// Returns the slot of a code, or the free slot where it would be inserted.
#[inline]
fn find_slot(slots: &[Slot], shift: u32, code: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = (code.wrapping_mul(SPREAD) >> shift) as usize & mask;
    while slots[at].head != NONE && slots[at].code != code {
        at = (at + 1) & mask;
    }
    at
}

/// Returns the bits of a hash that are stored in an entry; the hash table itself does not compare
/// them.
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
                    // The old and the new table exist at the same time while the entries move.
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
