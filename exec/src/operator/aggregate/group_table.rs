//! The group table: maps keys to group numbers by a hash table, with a faster array mode for keys
//! with few distinct values.
//!
//! ```text
//! hash mode    hash of all key columns ---> hash table ---> group of each row ---> keys equal?
//! array mode   code of the row (dictionary indices, booleans) ---> slot ---> group
//!                                              first row of a code: hash mode
//! ```
//!
//! A batch uses array mode (`Shortcut`) when every key column is a small dictionary, a constant or
//! a boolean, and the number of combinations is at most a small multiple of the number of rows.
//! Then only the first row of each combination is hashed. The slots remain valid while the
//! dictionaries stay the same, which is usual for the batches of one row group.
//!
//! In hash mode, the groups of all rows are first looked up by 32 bits of their hashes, and their
//! keys are compared afterwards, column by column. A row whose key differs from that of its group
//! is looked up again individually, with key comparison.
//!
//! Groups are numbered consecutively from 0 in the order in which they are added.

use std::ops::Range;

use hashbrown::HashTable;
use vector::sync::Arc;
use vector::{
    Buffer, BufferMut, DecodedVector, Error, FlatValues, Mapping, Result, Type, Vector, VectorRef,
    current_pool, hash_into,
};

use super::key_column::KeyColumn;
use crate::operator::reservation::Reservation;

/// Maximum number of combinations in array mode, for each row of a batch.
const MAX_CODES_PER_ROW: usize = 4;
/// Number of combinations that array mode may have regardless of the number of rows.
const MIN_MAX_CODES: usize = 1 << 10;
/// Minimum capacity of a hash table that is not empty, in groups.
const MIN_GROUPS: usize = 16;
/// The slot value of a code whose group is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// The groups so far, with their keys.
#[derive(Debug)]
pub(in crate::operator) struct GroupTable {
    columns: Vec<KeyColumn>,
    table: HashTable<Entry>,
    /// Reserves the bytes of `table`; `None` if the group table was created outside of a pool
    /// scope.
    table_memory: Option<Reservation>,
    /// The hash of each group's keys.
    hashes: BufferMut<u64>,
    row_hashes: Vec<u64>,
    shortcut: Shortcut,
}

/// An entry of the hash table.
#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    group: u32,
}

/// The state of array mode: the group of each code, for the dictionaries of the last batch.
#[derive(Debug, Default)]
struct Shortcut {
    bases: Vec<VectorRef>,
    slots: Vec<u32>,
    codes: Vec<u32>,
}

impl GroupTable {
    /// Creates a table without groups, for keys of types `key_types`.
    pub(in crate::operator) fn new(key_types: &[Type]) -> Self {
        GroupTable {
            columns: key_types.iter().map(KeyColumn::new).collect(),
            table: HashTable::new(),
            table_memory: current_pool().map(|pool| Reservation::new(&pool)),
            hashes: BufferMut::new(),
            row_hashes: Vec::new(),
            shortcut: Shortcut::default(),
        }
    }

    /// Returns the number of groups.
    pub(in crate::operator) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Sets `ids` to the group of each row of a batch; new keys become new groups.
    ///
    /// # Errors
    ///
    /// `Internal` when the key columns differ in length, `Limit` when there are too many groups,
    /// and the error of the pool when a reservation fails.
    pub(in crate::operator) fn assign(
        &mut self,
        keys: &[VectorRef],
        num_rows: usize,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let decoded: Vec<DecodedVector> =
            keys.iter().map(DecodedVector::new).collect::<Result<_>>()?;
        if decoded.iter().any(|column| column.len() != num_rows) {
            return Err(Error::internal("key columns differ in length"));
        }
        match num_codes(&decoded, num_rows) {
            Some(num_codes) => self.assign_by_code(keys, &decoded, num_codes, ids),
            None => self.assign_by_hash(&decoded, num_rows, ids),
        }
    }

    fn assign_by_hash(
        &mut self,
        keys: &[DecodedVector],
        num_rows: usize,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        self.row_hashes.clear();
        self.row_hashes.resize(num_rows, 0);
        for column in keys {
            hash_into(column, &mut self.row_hashes)?;
        }
        ids.clear();
        ids.reserve(num_rows);
        for row in 0..num_rows {
            let hash = self.row_hashes[row];
            match self.table.find(hash, |entry| entry.hash == short(hash)) {
                Some(entry) => ids.push(entry.group),
                None => ids.push(self.add_group(hash, keys, row)?),
            }
        }
        let mut wrong = Vec::new();
        for (column, key) in self.columns.iter().zip(keys) {
            column.differing(key, ids, &mut wrong);
        }
        for row in wrong {
            let row = row as usize;
            let hash = self.row_hashes[row];
            let columns = &self.columns;
            let found = self.table.find(hash, |entry| {
                let mut keys = columns.iter().zip(keys);
                keys.all(|(column, key)| column.equals(entry.group as usize, key, row))
            });
            ids[row] = match found {
                Some(entry) => entry.group,
                None => self.add_group(hash, keys, row)?,
            };
        }
        Ok(())
    }

    fn add_group(&mut self, hash: u64, keys: &[DecodedVector], row: usize) -> Result<u32> {
        // The largest number is reserved for codes without a group.
        let group = u32::try_from(self.hashes.len()).ok().filter(|group| *group < UNKNOWN);
        let group = group.ok_or_else(|| Error::limit("too many groups in an aggregation"))?;
        if self.table.len() == self.table.capacity() {
            self.grow_table()?;
        }
        for (column, key) in self.columns.iter_mut().zip(keys) {
            column.push(key, row)?;
        }
        self.hashes.push(hash);
        let hashes = &self.hashes;
        let entry = Entry { hash: short(hash), group };
        self.table.insert_unique(hash, entry, |other| hashes[other.group as usize]);
        Ok(group)
    }

    /// Doubles the capacity of the table. The new memory is reserved in addition to that of the
    /// existing groups, because both exist while the groups move.
    fn grow_table(&mut self) -> Result<()> {
        let capacity = self.table.capacity();
        let more = capacity.max(MIN_GROUPS);
        let bytes = table_bytes((capacity + more).next_power_of_two());
        if let Some(memory) = &mut self.table_memory {
            memory.grow(bytes as u64)?;
        }
        self.hashes.try_reserve(more)?;
        self.columns.iter_mut().try_for_each(|column| column.reserve(more))?;
        let hashes = &self.hashes;
        self.table.reserve(more, |other| hashes[other.group as usize]);
        if let Some(memory) = &mut self.table_memory {
            memory.resize(table_bytes(self.table.capacity()) as u64);
            memory.commit()?;
        }
        Ok(())
    }

    fn assign_by_code(
        &mut self,
        keys: &[VectorRef],
        decoded: &[DecodedVector],
        num_codes: usize,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let mut shortcut = std::mem::take(&mut self.shortcut);
        shortcut.prepare(decoded, num_codes);
        if !shortcut.groups_of_rows(ids) {
            // The first row of each code without a group gets its group in hash mode.
            let mut first_rows: Vec<u32> = Vec::new();
            for (row, code) in shortcut.codes.iter().enumerate() {
                let slot = &mut shortcut.slots[*code as usize];
                if *slot == UNKNOWN {
                    *slot = 0;
                    first_rows.push(row as u32);
                }
            }
            let rows = Buffer::from_slice(&first_rows);
            let firsts = keys.iter().map(|key| DecodedVector::new(&Vector::wrap(key, &rows)));
            let firsts: Vec<DecodedVector> = firsts.collect::<Result<_>>()?;
            self.assign_by_hash(&firsts, first_rows.len(), ids)?;
            for (row, group) in first_rows.iter().zip(&*ids) {
                shortcut.slots[shortcut.codes[*row as usize] as usize] = *group;
            }
            shortcut.groups_of_rows(ids);
        }
        self.shortcut = shortcut;
        Ok(())
    }

    /// Returns the keys of some groups, one column per key.
    pub(super) fn keys(&self, groups: Range<usize>) -> Result<Vec<VectorRef>> {
        self.columns.iter().map(|column| column.output(groups.clone())).collect()
    }

    /// Returns the number of bytes of the larger memory to which the table and its keys would move
    /// if `num_rows` rows were all new groups; 0 when the capacity suffices.
    pub(in crate::operator) fn bytes_to_grow(&self, num_rows: usize) -> u64 {
        let strings = self.columns.iter().map(|column| column.bytes_to_grow(self.len(), num_rows));
        let mut bytes: usize = strings.sum();
        if self.table.len() + num_rows > self.table.capacity() {
            let capacity = 2 * self.table.capacity().max(MIN_GROUPS);
            let keys: usize = self.columns.iter().map(KeyColumn::fixed_bytes).sum();
            bytes += table_bytes(capacity) + 2 * (keys + self.len() * size_of::<u64>());
        }
        bytes as u64
    }

    /// Returns the number of bytes of the keys of all groups.
    pub(in crate::operator) fn key_bytes(&self) -> usize {
        self.columns.iter().map(KeyColumn::key_bytes).sum()
    }

    /// Returns the number of bytes of memory in use that are not reserved by the table itself or
    /// its buffers.
    pub(in crate::operator) fn bytes(&self) -> usize {
        let table = match &self.table_memory {
            Some(_) => 0,
            None => table_bytes(self.table.capacity()),
        };
        self.columns.iter().map(KeyColumn::bytes).sum::<usize>()
            + table
            + self.hashes.unpaid_bytes()
            + self.row_hashes.capacity() * 8
            + (self.shortcut.slots.capacity() + self.shortcut.codes.capacity()) * 4
    }
}

/// Returns the number of bytes of a hash table with a capacity of `capacity` groups, of whose slots
/// an eighth stays free.
fn table_bytes(capacity: usize) -> usize {
    (capacity + capacity / 7) * (size_of::<Entry>() + 1)
}

/// Returns the bits of a hash that are stored in an entry; the hash table itself does not compare
/// them.
fn short(hash: u64) -> u32 {
    (hash >> 16) as u32
}

impl Shortcut {
    /// Computes the codes of the rows, and resets the slots unless the dictionaries are the same.
    fn prepare(&mut self, keys: &[DecodedVector], num_codes: usize) {
        let same = self.slots.len() == num_codes
            && self.bases.len() == keys.len()
            && self.bases.iter().zip(keys).all(|(base, key)| Arc::ptr_eq(base, key.base()));
        if !same {
            self.bases = keys.iter().map(|key| Arc::clone(key.base())).collect();
            self.slots.clear();
            self.slots.resize(num_codes, UNKNOWN);
        }
        self.codes.clear();
        self.codes.resize(keys.first().map_or(0, DecodedVector::len), 0);
        let mut unit = 1;
        for key in keys {
            add_codes(key, unit, &mut self.codes);
            unit *= radix(key).unwrap_or(1) as u32;
        }
    }

    /// Sets `ids` to the group of each row. Returns false when the code of a row has no group yet.
    fn groups_of_rows(&self, ids: &mut Vec<u32>) -> bool {
        ids.clear();
        ids.extend(self.codes.iter().map(|code| self.slots[*code as usize]));
        // The numbers of groups are less than UNKNOWN.
        ids.iter().fold(0, |max, id| max.max(*id)) != UNKNOWN
    }
}

/// Returns the number of codes of a column, including one for null; `None` when the column cannot
/// be coded.
fn radix(key: &DecodedVector) -> Option<usize> {
    let entries = match (key.mapping(), key.flat_values()) {
        (Mapping::Constant, _) => 1,
        (Mapping::Indices(_), _) => key.base().len(),
        (Mapping::Identity, Some(FlatValues::Boolean(_))) => 2,
        (Mapping::Identity, _) => return None,
    };
    Some(entries + 1)
}

/// Returns the number of combinations of all columns, or `None` when array mode is not applicable.
fn num_codes(keys: &[DecodedVector], num_rows: usize) -> Option<usize> {
    let limit = (num_rows * MAX_CODES_PER_ROW).max(MIN_MAX_CODES);
    keys.iter().try_fold(1usize, |product, key| {
        product.checked_mul(radix(key)?).filter(|product| *product <= limit)
    })
}

/// Adds `unit` times the code of each row of `key` to `codes`; null has the last code.
fn add_codes(key: &DecodedVector, unit: u32, codes: &mut [u32]) {
    let null = key.base().len().min(u32::MAX as usize) as u32;
    match (key.mapping(), key.flat_values(), key.validity()) {
        (Mapping::Indices(indices), _, None) => {
            for (code, index) in codes.iter_mut().zip(indices.iter()) {
                *code += unit * index;
            }
        }
        (Mapping::Indices(indices), _, Some(validity)) => {
            for (row, code) in codes.iter_mut().enumerate() {
                *code += unit * if validity.get(row) { indices[row] } else { null };
            }
        }
        (Mapping::Identity, Some(FlatValues::Boolean(values)), validity) => {
            for (row, code) in codes.iter_mut().enumerate() {
                let valid = validity.is_none_or(|v| v.get(row));
                *code += unit * if valid { u32::from(values.get(row)) } else { 2 };
            }
        }
        (_, _, Some(validity)) => {
            for (row, code) in codes.iter_mut().enumerate() {
                *code += unit * u32::from(!validity.get(row));
            }
        }
        (_, _, None) => {}
    }
}
