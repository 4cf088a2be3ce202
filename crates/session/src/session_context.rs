//! `SessionContext`: the keys and values of `sp_set_session_context`, which `SESSION_CONTEXT()` reads.
//!
//! ASCII letters of keys compare without case. The documentation limits all of it to 1 MB: tens of
//! thousands of keys, so they are in a tree, and their size is counted as they change.

use std::collections::BTreeMap;

use types::Value;

/// Greatest size of all keys and values of a session, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// Bytes counted for a value that is not a string.
const SCALAR_BYTES: usize = 8;

/// The keys and values that a session has set.
#[derive(Default)]
pub struct SessionContext {
    /// By key in lower case.
    entries: BTreeMap<String, Entry>,
    /// Size of all keys and values.
    bytes: usize,
}

struct Entry {
    value: Value,
    is_read_only: bool,
}

/// The reason why a value was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The key was set as read-only before.
    ReadOnly,
    /// All keys and values together would have more than 1 MB.
    Full,
}

impl SessionContext {
    /// Returns the value of a key.
    pub fn get(&self, mut key: String) -> Option<&Value> {
        key.make_ascii_lowercase();
        self.entries.get(&key).map(|entry| &entry.value)
    }

    /// Sets the value of a key. NULL frees its memory.
    ///
    /// # Errors
    /// Why the value was not set.
    pub fn set(
        &mut self,
        mut key: String,
        value: Value,
        is_read_only: bool,
    ) -> Result<(), Refused> {
        key.make_ascii_lowercase();
        let before = match self.entries.get(&key) {
            Some(entry) if entry.is_read_only => return Err(Refused::ReadOnly),
            Some(entry) => size(&key, &entry.value),
            None => 0,
        };
        if value.is_null() && !is_read_only {
            self.entries.remove(&key);
            self.bytes -= before;
            return Ok(());
        }
        let bytes = self.bytes - before + size(&key, &value);
        if bytes > BYTES_MAX {
            return Err(Refused::Full);
        }
        self.bytes = bytes;
        self.entries.insert(key, Entry { value, is_read_only });
        Ok(())
    }
}

/// Returns the bytes that an entry counts: of its key in UTF-16, and of its value.
fn size(key: &str, value: &Value) -> usize {
    let value = match value {
        Value::Variant(inner) => inner.0.string_bytes().map_or(SCALAR_BYTES, <[u8]>::len),
        _ => SCALAR_BYTES,
    };
    key.len() * 2 + value
}

#[cfg(test)]
mod tests {
    use types::value::ColumnType;
    use types::{Collation, DataType, Length};

    use super::*;

    fn text(characters: usize) -> Value {
        let data_type = DataType::NVarChar(Length::Limited(4_000));
        let ty = ColumnType { data_type, collation: Collation::default(), nullable: true };
        Value::Variant(Box::new((Value::nvarchar(&"x".repeat(characters)), ty)))
    }

    #[test]
    fn a_value_that_is_replaced_or_null_gives_its_bytes_back() {
        let mut context = SessionContext::default();
        for _ in 0..1_000 {
            context.set("Key".to_owned(), text(4_000), false).unwrap();
        }
        assert_eq!(context.bytes, 3 * 2 + 8_000);
        assert_eq!(context.get("kEY".to_owned()), Some(&text(4_000)));
        context.set("KEY".to_owned(), Value::Null, false).unwrap();
        assert_eq!((context.bytes, context.get("key".to_owned())), (0, None));
    }

    #[test]
    fn a_full_context_and_read_only_keys_refuse_values() {
        let mut context = SessionContext::default();
        let set = |at: usize| context.set(format!("k{at:03}"), text(4_000), false);
        let refused = (0..1_000).map(set).position(|set| set == Err(Refused::Full));
        assert_eq!(refused, Some(BYTES_MAX / 8_008));
        context.set("k000".to_owned(), Value::Null, true).unwrap();
        assert_eq!(context.set("K000".to_owned(), text(1), false), Err(Refused::ReadOnly));
        assert_eq!(context.get("k000".to_owned()), Some(&Value::Null));
    }
}
