//! The build side of a join: its rows as one batch, the index of their keys, and marks.
//!
//! ```text
//! parts of all builders --concat--> rows, flat     row numbers are dictionary indices into them
//!                                   index          keys to rows
//!                                   marks          rows that found a partner, where it matters
//! ```

use vector::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use vector::{Bitmap, DecodedVector, MemoryPool, Result, RowVector, VectorRef, bits, concat_into};

use super::index::Index;
use super::layout::Layout;
use crate::operator::loading::{bytes_when_loaded, unpaid_bytes};
use crate::operator::reservation::Reservation;
use crate::plan::JoinType;

/// What an index takes for a row, about: a slot that may be one of two, and a link.
const INDEX_BYTES_OF_ROW: usize = 32;

/// What one builder collected.
#[derive(Debug)]
pub(super) struct BuildPart {
    /// Batches of the kept columns.
    pub(super) batches: Vec<RowVector>,
    /// Pays for what of them no other pool pays for; goes with them to the driver that builds the table.
    pub(super) memory: Reservation,
}

/// The table that all probing drivers share.
#[derive(Debug)]
pub(super) struct JoinTable {
    pub(super) rows: RowVector,
    pub(super) index: Index,
    /// Rows with a null key: without partner, but a partner that could be for null aware joins.
    pub(super) null_rows: Vec<u32>,
    /// A bit for each row that found a partner; empty when nobody asks.
    marks: Vec<AtomicU64>,
    /// What the probing drivers saw, for null aware answers about build rows.
    probe_rows: AtomicBool,
    probe_nulls: AtomicBool,
    /// Filters that were published and not counted yet.
    pub(super) num_filters: AtomicUsize,
    /// Keys for which a filter was published that exactly the table's keys pass.
    pub(super) exact_keys: Vec<usize>,
    /// Pays for the index, and for rows that no pool pays for.
    _memory: Reservation,
}

impl JoinTable {
    /// Builds the table of all parts.
    pub(super) fn build(
        layout: &Layout,
        join_type: JoinType,
        parts: Vec<BuildPart>,
        pool: &MemoryPool,
    ) -> Result<Self> {
        let (batches, paid): (Vec<_>, Vec<_>) =
            parts.into_iter().map(|part| (part.batches, part.memory)).unzip();
        let rows = concat_into(&layout.kept_type, batches.into_iter().flatten().collect())?;
        drop(paid);
        let mut memory = Reservation::new(pool);
        memory.grow(unpaid_bytes(&rows))?;
        let key = |position: &usize| rows.child(*position).cloned();
        let keys: Vec<VectorRef> = layout.right_keys.iter().map(key).collect::<Result<_>>()?;
        let index = Index::new(&keys, rows.len(), &mut memory)?;
        let mut null_rows = Vec::new();
        for key in &keys {
            if let Some(validity) = DecodedVector::new(key)?.validity() {
                null_rows.extend(validity.not().ones().map(|row| row as u32));
            }
        }
        null_rows.sort_unstable();
        null_rows.dedup();
        let num_marks = match join_type.gives_right_at_end() {
            true => bits::words_for(rows.len()),
            false => 0,
        };
        Ok(JoinTable {
            rows,
            index,
            null_rows,
            marks: (0..num_marks).map(|_| AtomicU64::new(0)).collect(),
            probe_rows: AtomicBool::new(false),
            probe_nulls: AtomicBool::new(false),
            num_filters: AtomicUsize::new(0),
            exact_keys: Vec::new(),
            _memory: memory,
        })
    }

    /// What building a table of `parts` will reserve, about.
    pub(super) fn bytes_to_build(parts: &[BuildPart]) -> u64 {
        let batches = parts.iter().flat_map(|part| &part.batches);
        let bytes = |batch: &RowVector| {
            bytes_when_loaded(batch).saturating_add((batch.len() * INDEX_BYTES_OF_ROW) as u64)
        };
        batches.fold(0, |sum: u64, batch| sum.saturating_add(bytes(batch)))
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes that the table takes.
    pub(super) fn bytes(&self) -> u64 {
        let rows = self.rows.children().iter().map(|column| column.retained_bytes());
        (rows.sum::<usize>() + self.index.bytes()) as u64
    }

    /// Marks a row as having a partner.
    #[inline]
    pub(super) fn mark(&self, row: u32) {
        let Some(word) = self.marks.get(row as usize / 64) else { return };
        let bit = 1 << (row % 64);
        // Who reads the marks has been told by the bridge's lock that all drivers are done, so
        // the order of the marks themselves does not matter; most are there already.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The rows that have a partner, once all probing drivers are done.
    pub(super) fn marked(&self) -> Bitmap {
        let words: vector::Buffer<u64> =
            self.marks.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        Bitmap::new(words, self.len())
    }

    /// Remembers that the probe side has rows, and whether one has a null key.
    pub(super) fn saw_probe(&self, has_null: bool) {
        self.probe_rows.store(true, Ordering::Relaxed);
        if has_null {
            self.probe_nulls.store(true, Ordering::Relaxed);
        }
    }

    /// True when the probe side had rows.
    pub(super) fn has_probe_rows(&self) -> bool {
        self.probe_rows.load(Ordering::Relaxed)
    }

    /// True when the probe side had a null key.
    pub(super) fn has_probe_nulls(&self) -> bool {
        self.probe_nulls.load(Ordering::Relaxed)
    }
}
