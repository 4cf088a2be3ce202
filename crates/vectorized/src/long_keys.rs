//! Requests the memory of the keys of long values, batch by batch: what makes a key cannot fail.

use plan::long::{self, LONG_BYTES};
use types::Result;
use types::batch::{Data, Selection, Vector};

/// Requests the memory of the longest key among the selected rows.
///
/// # Errors
/// 701 if the memory limit leaves no room for it.
pub(super) fn ask_for_keys(vectors: &[&Vector], rows: &Selection) -> Result<()> {
    for vector in vectors {
        if let Data::Bytes(bytes) = vector.data()
            && bytes.total() >= LONG_BYTES
        {
            let longest = rows.iter().map(|row| bytes.get(row).len()).max();
            long::ask_for_key(longest.unwrap_or(0))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use types::value::ColumnType;
    use types::{DataType, Length, Value};

    use super::*;

    #[test]
    fn rows_that_are_not_selected_need_no_memory() {
        let ty = ColumnType::nullable(DataType::VarChar(Length::Max));
        let mut vector = Vector::with_capacity_for(&ty);
        vector.push(&Value::VarChar(vec![b'a'; 2 * LONG_BYTES].into()));
        vector.push(&Value::VarChar(b"a".as_slice().into()));
        let mut none = Selection::default();
        none.clear();
        assert!(ask_for_keys(&[&vector], &none).is_ok());
        assert!(ask_for_keys(&[&vector], &Selection::all(2)).is_ok(), "there is no limit here");
    }
}
