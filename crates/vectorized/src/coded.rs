//! Conditions on one string column whose segment has a dictionary: each entry is tested once.
//!
//! ```text
//!  rows of a block ─► codes ─► answer by code ─► selection
//!                                ▲ unknown: the strings of these codes, as a batch, through the kernel
//! ```
//! No string is decoded for rows that fail, and none is compared or searched twice.

use types::Result;
use types::batch::{Batch, DictionaryId, Selection, Vector};
use types::value::ColumnType;

use super::kernel::Kernel;
use executor::Cx;
use executor::columnstore::Block;

/// What a condition has answered for the entries of a dictionary.
pub(super) struct Answers {
    /// Position of the column in the batch, and its ordinal in the table.
    place: usize,
    ordinal: usize,
    dictionary: DictionaryId,
    /// The answer for each code.
    known: Vec<Answer>,
    codes: Vec<u32>,
    /// The codes that are asked for, and their strings as a batch.
    asked: Vec<u32>,
    strings: Batch,
    kept: Selection,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Unknown,
    Asked,
    False,
    True,
}

impl Answers {
    /// Makes the answers of a condition on the column at a place of batches with `width` columns.
    /// `None` if the column does not hold strings.
    pub(super) fn new(place: usize, width: usize, ordinal: usize, ty: &ColumnType) -> Option<Self> {
        let mut columns: Vec<Vector> = (0..width).map(|_| Vector::empty()).collect();
        columns[place] = Vector::with_capacity_for(ty);
        columns[place].byte_rows()?;
        Some(Self {
            place,
            ordinal,
            dictionary: DictionaryId::default(),
            known: Vec::new(),
            codes: Vec::new(),
            asked: Vec::new(),
            strings: Batch::new(columns),
            kept: Selection::default(),
        })
    }

    /// Selects the rows of a block for which the condition, which cannot fail, is true. Returns
    /// `false` if its rows have to be tested one by one.
    ///
    /// # Errors
    /// Those that end the statement.
    pub(super) fn select(
        &mut self,
        condition: &mut Kernel<'_>,
        block: &Block<'_>,
        rows: &Selection,
        cx: &mut Cx<'_>,
        out: &mut Selection,
    ) -> Result<bool> {
        let Some(dictionary) = block.dictionary(self.ordinal) else { return Ok(false) };
        if block.nulls(self.ordinal) > 0 {
            return Ok(false);
        }
        if self.dictionary != dictionary.id() {
            self.dictionary = dictionary.id();
            self.known.clear();
            self.known.resize(self.dictionary.entries, Answer::Unknown);
        }
        block.codes(&dictionary, rows, &mut self.codes);
        let Self { place, known, codes, asked, strings, kept, .. } = self;
        asked.clear();
        rows.for_each(|row| {
            let answer = &mut known[codes[row] as usize];
            if *answer == Answer::Unknown {
                *answer = Answer::Asked;
                asked.push(codes[row]);
            }
        });
        if !asked.is_empty() {
            fill(strings, *place, asked.iter().map(|code| dictionary.get(*code)));
            let answered = condition.select(strings, &strings.selection, cx, kept);
            // The answers are not known: the statement ends, or the rows are read again.
            answered.inspect_err(|_| self.dictionary = DictionaryId::default())?;
            asked.iter().for_each(|code| known[*code as usize] = Answer::False);
            kept.for_each(|nth| known[asked[nth] as usize] = Answer::True);
        }
        out.filter(rows, |row| known[codes[row] as usize] == Answer::True);
        Ok(true)
    }
}

/// Makes a batch of strings in the column at `place`.
fn fill<'a>(batch: &mut Batch, place: usize, strings: impl Iterator<Item = &'a [u8]>) {
    batch.clear();
    let column = batch.columns[place].byte_rows_mut().expect("new has asked for the form");
    strings.for_each(|string| column.push(string));
    let rows = column.len();
    for (_, other) in batch.columns.iter_mut().enumerate().filter(|(at, _)| *at != place) {
        other.set_constant(types::Value::Null, rows);
    }
    batch.set_rows(rows);
}
