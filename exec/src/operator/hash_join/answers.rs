//! What semi and anti joins answer, with nulls in mind.
//!
//! Whether a probe row has a partner is yes, no, or, when the join is null aware, unknown: its
//! key is null and there is a row that could be the partner, or the key of such a row is null.
//!
//! | join | yes | no | unknown |
//! |---|---|---|---|
//! | left semi filter | given | | |
//! | anti | | given | |
//! | left semi project | true | false | null |

use vector::stop::check_stop;
use vector::sync::Arc;
use vector::{Bitmap, FlatVector, Result, SelectivityVector, Vector, VectorRef};

use super::pairs::Pairs;
use super::probe::{HashProbe, Probing};
use super::table::JoinTable;

/// The answers for the rows of one batch, one flag a row.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) yes: Vec<bool>,
    /// Empty when nothing is unknown.
    pub(super) unknown: Vec<bool>,
}

impl Answers {
    fn is_unknown(&self, row: usize) -> bool {
        self.unknown.get(row).is_some_and(|unknown| *unknown)
    }

    /// Rows with a partner.
    pub(super) fn with_partner(&self) -> SelectivityVector {
        SelectivityVector::from_bitmap(&self.yes.iter().copied().collect::<Bitmap>())
    }

    /// Rows that certainly have none.
    pub(super) fn without_partner(&self) -> SelectivityVector {
        let no = self.yes.iter().enumerate();
        let no: Bitmap = no.map(|(row, yes)| !yes && !self.is_unknown(row)).collect();
        SelectivityVector::from_bitmap(&no)
    }

    /// The answers as a column.
    pub(super) fn column(&self) -> Result<VectorRef> {
        boolean_column(self.yes.len(), |row| (self.yes[row], self.is_unknown(row)))
    }
}

/// A column of answers: yes or no, and whether it is unknown unless it is yes.
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
    /// The answers for a batch of which all pairs were looked at.
    pub(super) fn answers(&mut self, probing: &Probing, table: &JoinTable) -> Result<Answers> {
        let yes = match &probing.hits {
            Some(hits) => hits.clone(),
            None => probing.heads.iter().map(|h| *h != super::index::NONE).collect::<Vec<_>>(),
        };
        let mut answers = Answers { yes, unknown: Vec::new() };
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
            // Each row that could be the partner has to pass the filter too.
            let partners = if null_key { &all } else { &table.null_rows };
            // All rows of the table for each row of the batch: the longest loop of a join.
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
