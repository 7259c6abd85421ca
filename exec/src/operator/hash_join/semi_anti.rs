//! The results of semi and anti joins.
//!
//! Whether a probe row has a partner is yes, no or, in a null-aware join, unknown: the key of the
//! row is null and the table has a row that could be its partner, or the table has a row with a
//! null key that could be its partner.
//!
//! | join | yes | no | unknown |
//! |---|---|---|---|
//! | left semi filter | returned | | |
//! | anti | | returned | |
//! | left semi project | true | false | null |

use vector::stop::check_stop;
use vector::sync::Arc;
use vector::{Bitmap, FlatVector, Result, SelectivityVector, Vector, VectorRef};

use super::pairs::Pairs;
use super::probe::{HashProbe, Probing};
use super::table::JoinTable;

/// The results for the rows of one batch, one flag per row.
#[derive(Debug)]
pub(super) struct SemiAntiResults {
    /// True for rows with a partner.
    pub(super) yes: Vec<bool>,
    /// True for rows of which it is unknown whether they have a partner. Empty when there are none.
    pub(super) unknown: Vec<bool>,
}

impl SemiAntiResults {
    fn is_unknown(&self, row: usize) -> bool {
        self.unknown.get(row).is_some_and(|unknown| *unknown)
    }

    /// Returns the rows with a partner.
    pub(super) fn with_partner(&self) -> SelectivityVector {
        SelectivityVector::from_bitmap(&self.yes.iter().copied().collect::<Bitmap>())
    }

    /// Returns the rows without a partner, except those for which it is unknown.
    pub(super) fn without_partner(&self) -> SelectivityVector {
        let no = self.yes.iter().enumerate();
        let no: Bitmap = no.map(|(row, yes)| !yes && !self.is_unknown(row)).collect();
        SelectivityVector::from_bitmap(&no)
    }

    /// Returns the results as a BOOLEAN column, null where unknown.
    pub(super) fn column(&self) -> Result<VectorRef> {
        boolean_column(self.yes.len(), |row| (self.yes[row], self.is_unknown(row)))
    }
}

/// Returns a BOOLEAN column of results. For each row, `answer` returns whether it has a partner and
/// whether that is unknown; the value is null when it is unknown and the row has no known partner.
pub(super) fn boolean_column(
    num_rows: usize,
    answer: impl Fn(usize) -> (bool, bool),
) -> Result<VectorRef> {
    let yes: Bitmap = (0..num_rows).map(|row| answer(row).0).collect();
    let known = |(yes, unknown): (bool, bool)| yes || !unknown;
    let validity: Bitmap = (0..num_rows).map(|row| known(answer(row))).collect();
    let validity = (!validity.all_ones()).then_some(validity);
    Ok(Arc::new(Vector::Flat(FlatVector::boolean(yes, validity)?)))
}

impl HashProbe {
    /// Computes the results for a batch of which all pairs have been enumerated.
    pub(super) fn answers(
        &mut self,
        probing: &Probing,
        table: &JoinTable,
    ) -> Result<SemiAntiResults> {
        let yes = match &probing.hits {
            Some(hits) => hits.clone(),
            None => probing.heads.iter().map(|h| *h != super::index::NONE).collect::<Vec<_>>(),
        };
        let mut answers = SemiAntiResults { yes, unknown: Vec::new() };
        let Some(key_validity) = &probing.key_validity else { return Ok(answers) };
        let all: Vec<u32> = match self.has_filter() {
            true => (0..table.len() as u32).collect(),
            false => Vec::new(),
        };
        let num_rows = probing.batch.len();
        answers.unknown.resize(num_rows, false);
        let mut pairs = Pairs::default();
        for row in (0..num_rows).filter(|row| !answers.yes[*row]) {
            let null_key = !key_validity.get(row);
            if !self.has_filter() {
                let partners = if null_key { table.len() } else { table.null_rows.len() };
                answers.unknown[row] = partners > 0;
                continue;
            }
            // A row that could be the partner must also pass the filter.
            let partners = if null_key { &all } else { &table.null_rows };
            // This loop pairs each row of the batch with each row of the table, so it checks the
            // stop flag.
            for chunk in partners.chunks(self.max_rows()) {
                check_stop()?;
                pairs.clear();
                chunk.iter().for_each(|partner| pairs.push(row as u32, *partner));
                self.filter_pairs(&probing.batch, table, &mut pairs)?;
                if !pairs.is_empty() {
                    answers.unknown[row] = true;
                    break;
                }
            }
        }
        Ok(answers)
    }
}
