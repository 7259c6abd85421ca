//! The table of a join's build side: its rows as one batch, the index of their keys, and match
//! marks.
//!
//! ```text
//! parts of all builders --concat--> rows, flat     row numbers are dictionary indices into them
//!                                   index          keys to rows
//!                                   marks          rows with a partner, if the join needs them
//! ```

use vector::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use vector::{Bitmap, DecodedVector, MemoryPool, Result, RowVector, VectorRef, bits, concat_into};

use super::index::Index;
use super::layout::Layout;
use crate::operator::loading::{bytes_when_loaded, unpaid_bytes};
use crate::operator::reservation::Reservation;
use crate::plan::JoinType;

/// Approximate number of bytes that an index takes for each row: two slots at most, and a link.
const INDEX_BYTES_OF_ROW: usize = 32;

/// The rows that one builder collected.
#[derive(Debug)]
pub(super) struct BuildPart {
    /// Batches of the kept columns.
    pub(super) batches: Vec<RowVector>,
    /// Reserves the bytes of the batches that no other pool accounts for. It is passed on with the
    /// batches to the driver that builds the table.
    pub(super) memory: Reservation,
}

/// The table that all probe drivers share.
#[derive(Debug)]
pub(super) struct JoinTable {
    /// The build rows as one flat batch of the kept columns.
    pub(super) rows: RowVector,
    /// Finds the first row of each key.
    pub(super) index: Index,
    /// Rows with a null key, ascending. They have no partner, but in null-aware joins they make the
    /// result of a row without a partner unknown.
    pub(super) null_rows: Vec<u32>,
    /// One bit for each row: 1 when the row has a partner. Empty for join types that return no
    /// build rows at the end.
    marks: Vec<AtomicU64>,
    /// True when a probe driver of a null-aware join has had rows.
    probe_rows: AtomicBool,
    /// True when a probe driver of a null-aware join has had a row with a null key.
    probe_nulls: AtomicBool,
    /// Number of published filters that are not counted in statistics yet.
    pub(super) num_filters: AtomicUsize,
    /// Keys for which an exact filter was published: exactly the values of the table's keys pass
    /// it.
    pub(super) exact_keys: Vec<usize>,
    /// Reserves the bytes of the index and of rows that no other pool accounts for.
    _memory: Reservation,
}

impl JoinTable {
    /// Builds the table from the parts of all builders. The memory is reserved in `pool`.
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

    /// Returns the approximate number of bytes that building a table of `parts` reserves.
    pub(super) fn bytes_to_build(parts: &[BuildPart]) -> u64 {
        let batches = parts.iter().flat_map(|part| &part.batches);
        let bytes = |batch: &RowVector| {
            bytes_when_loaded(batch).saturating_add((batch.len() * INDEX_BYTES_OF_ROW) as u64)
        };
        batches.fold(0, |sum: u64, batch| sum.saturating_add(bytes(batch)))
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true when the table has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of bytes of the rows and the index.
    pub(super) fn bytes(&self) -> u64 {
        let rows = self.rows.children().iter().map(|column| column.retained_bytes());
        (rows.sum::<usize>() + self.index.bytes()) as u64
    }

    /// Marks a row as having a partner; does nothing for join types without marks.
    #[inline]
    pub(super) fn mark(&self, row: u32) {
        let Some(word) = self.marks.get(row as usize / 64) else { return };
        let bit = 1 << (row % 64);
        // The marks are read after `probe_done` has returned true for the last driver; the lock of
        // the bridge orders all marks before that read, so relaxed operations suffice. The load
        // avoids a write for rows that are marked already, which is the usual case.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Returns the rows that have a partner. It is complete when all probe drivers are done.
    pub(super) fn marked(&self) -> Bitmap {
        let words: vector::Buffer<u64> =
            self.marks.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        Bitmap::new(words, self.len())
    }

    /// Records that the probe side has rows, and whether one of them has a null key.
    pub(super) fn saw_probe(&self, has_null: bool) {
        self.probe_rows.store(true, Ordering::Relaxed);
        if has_null {
            self.probe_nulls.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true when the probe side had rows.
    pub(super) fn has_probe_rows(&self) -> bool {
        self.probe_rows.load(Ordering::Relaxed)
    }

    /// Returns true when the probe side had a row with a null key.
    pub(super) fn has_probe_nulls(&self) -> bool {
        self.probe_nulls.load(Ordering::Relaxed)
    }
}
