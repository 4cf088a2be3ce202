//! Makes the keys of a batch's rows. What makes a key cannot fail, so the memory of the keys of long
//! values is requested before, and a cancellation is looked for afterwards.

use executor::Cx;
use executor::long::until_cancelled;
use plan::long;
use types::batch::{Data, Selection, Vector};
use types::text::PIECE_BYTES;
use types::{Result, Value};

/// Makes keys of the selected rows by `make`. Where they are long, it may end early once the
/// statement is cancelled, with keys that are not used.
///
/// # Errors
/// 701 if the memory limit leaves no room for the longest of them; an error that stops the
/// statement.
pub(super) fn with_keys<R>(
    vectors: &[&Vector],
    rows: &Selection,
    cx: &Cx<'_>,
    make: impl FnOnce() -> R,
) -> Result<R> {
    match ask_for_keys(vectors, rows)? {
        Size::Short => Ok(make()),
        Size::Long => until_cancelled(&cx.session.connection.cancel, || Ok(make())),
    }
}

/// Whether keys take long to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Short,
    Long,
}

fn ask_for_keys(vectors: &[&Vector], rows: &Selection) -> Result<Size> {
    let mut size = Size::Short;
    for vector in vectors {
        let longest = longest(vector, rows);
        if longest > PIECE_BYTES {
            long::ask_for_key(longest)?;
            size = Size::Long;
        }
    }
    Ok(size)
}

/// Returns the bytes of the longest string among the selected rows; 0 if none can be long.
fn longest(vector: &Vector, rows: &Selection) -> usize {
    let bytes_of = |value: &Value| value.string_bytes().map_or(0, <[u8]>::len);
    match vector.data() {
        Data::Bytes(bytes) if bytes.total() > PIECE_BYTES => {
            rows.iter().map(|row| bytes.get(row).len()).max().unwrap_or(0)
        }
        // Types without a limit are among these.
        Data::Values(values) => rows.iter().map(|row| bytes_of(&values[row])).max().unwrap_or(0),
        Data::Constant(value, _) => bytes_of(value),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use plan::long::LONG_BYTES;
    use types::value::ColumnType;
    use types::{DataType, Length};

    use super::*;

    #[test]
    fn rows_that_are_not_selected_need_no_memory() {
        let ty = ColumnType::nullable(DataType::VarChar(Length::Max));
        let mut vector = Vector::with_capacity_for(&ty);
        vector.push(&Value::VarChar(vec![b'a'; 2 * LONG_BYTES].into()));
        vector.push(&Value::VarChar(b"a".as_slice().into()));
        let mut none = Selection::default();
        none.clear();
        assert_eq!(ask_for_keys(&[&vector], &none), Ok(Size::Short));
        let all = ask_for_keys(&[&vector], &Selection::all(2));
        assert_eq!(all, Ok(Size::Long), "there is no limit here");
        let mut few = Vector::with_capacity_for(&ty);
        few.push(&Value::VarChar(b"a".as_slice().into()));
        assert_eq!(ask_for_keys(&[&few], &Selection::all(1)), Ok(Size::Short));
    }
}
