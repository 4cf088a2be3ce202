//! Memory for long values. Space for a result of megabytes is requested before the result is built,
//! because growing a `Vec` cannot be refused.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::stop::cancelled;
use sos::memory;
use sos::park::Cancel;
use sos::sched::{check_quantum_soon, yield_if_quantum_due};

use types::compare::{Truth, order_watched};
use types::comparison::{self, CompareOp};
use types::convert::{Lent, Pause, Watched};
use types::key::{self, Direction, KeyPart};
use types::text::PIECE_BYTES;
use types::{Bytes, Collation, DataType, Error, Msg, Result, Value};

/// Values of this size and more are requested; the memory limit's reserve covers shorter ones.
pub const LONG_BYTES: usize = 1 << 20;

/// Requests this many more bytes.
///
/// # Errors
/// 701 if they would exceed the memory limit.
pub fn ask(bytes: usize) -> Result<()> {
    if bytes < LONG_BYTES {
        return Ok(());
    }
    memory::wait_for_room(bytes, None).map_err(|_| Error::from(Msg::OutOfMemory))
}

/// Memory that an operation takes while it runs, as a multiple of its operands' bytes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Strings are concatenated, and the result is copied.
    Joined = 2,
    /// A function builds a growing vector, and a copy.
    Called = 4,
    /// Characters double in width, in a growing vector, and are copied.
    Converted = 6,
}

/// Requests the memory of an operation whose result has this type. What returns a short one works on its operands in
/// place, or asks when it decodes one: see [`text`].
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn ask_for_result<'v>(
    takes: Takes,
    of: &DataType,
    operands: impl Iterator<Item = &'v Value>,
) -> Result<()> {
    if !of.is_large() {
        return Ok(());
    }
    let bytes: usize = operands.filter_map(Value::string_bytes).map(<[u8]>::len).sum();
    ask(bytes.saturating_mul(takes as usize))
}

/// Appends to a text that grows. Requests memory for the vector when it must grow, and for the
/// final copy.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn append(text: &mut Vec<u8>, more: &[u8]) -> Result<()> {
    let after = text.len() + more.len();
    if after > text.capacity() && after >= LONG_BYTES {
        ask(after.saturating_mul(3))?;
        move_to_larger(text, more.len());
    }
    text.extend_from_slice(more);
    Ok(())
}

/// Moves a text to a place of twice its room, or of more if more bytes are coming. Other requests run in between.
#[cold]
fn move_to_larger(text: &mut Vec<u8>, more: usize) {
    let mut larger = Vec::with_capacity((text.len() + more).max(2 * text.capacity()));
    for piece in text.chunks(PIECE_BYTES) {
        larger.extend_from_slice(piece);
        pause();
    }
    *text = larger;
}

/// Makes room in a text for this number of further bytes. A text of megabytes is moved piece by piece.
#[inline]
pub fn reserve(text: &mut String, more: usize) {
    if text.capacity() - text.len() < more && text.len() >= LONG_BYTES {
        move_text(text, more);
    }
}

#[cold]
fn move_text(text: &mut String, more: usize) {
    let mut larger = String::with_capacity((text.len() + more).max(2 * text.capacity()));
    for piece in types::text::str_pieces(text) {
        larger.push_str(piece);
        pause();
    }
    *text = larger;
}

/// A list whose items are freed piece by piece: other requests run in between. A million items that own memory take a
/// hundred milliseconds.
#[derive(Debug)]
pub struct FreedInPieces<T>(pub Vec<T>);

impl<T> Default for FreedInPieces<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Drop for FreedInPieces<T> {
    fn drop(&mut self) {
        /// Items that are freed between two checks for the quantum.
        const MANY: usize = 64;
        while self.0.len() > MANY && !std::thread::panicking() {
            self.0.truncate(self.0.len() - MANY);
            yield_if_quantum_due();
        }
    }
}

impl<T> std::ops::Deref for FreedInPieces<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> std::ops::DerefMut for FreedInPieces<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

/// Appends to a list that grows. Requests the memory of a list that must be moved to a larger place.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn push<T>(list: &mut Vec<T>, item: T) -> Result<()> {
    if list.len() == list.capacity() {
        ask(list.capacity().saturating_mul(2 * size_of::<T>()))?;
    }
    list.push(item);
    Ok(())
}

/// What code without schedulers calls after a piece of a long value.
pub const PAUSE: Pause = Pause(Some(Lent { pause: pause_and_look, ask, join }));

/// Yields as [`pause`] does. Returns whether the result of the work that the thread is in is still wanted.
pub fn pause_and_look() -> bool {
    pause();
    !is_cancelled()
}

/// Yields if the quantum is over. For work of a piece, which takes longer than some rows do.
pub fn pause() {
    check_quantum_soon();
    yield_if_quantum_due();
}

/// Concatenates long parts. Other requests run between two pieces.
pub fn join(parts: &[&[u8]]) -> Bytes {
    Bytes::from_shared(shared(parts))
}

/// Repeats bytes. Other requests run while a long result is made.
pub fn repeat(piece: &[u8], times: usize) -> Bytes {
    let total = piece.len().saturating_mul(times);
    if total <= PIECE_BYTES {
        return piece.repeat(times).into();
    }
    // Copied in blocks of many short pieces.
    let block = match PIECE_BYTES / piece.len() {
        0 | 1 => Cow::Borrowed(piece),
        in_block => Cow::Owned(piece.repeat(in_block)),
    };
    let whole = std::iter::repeat_n(&*block, total / block.len());
    let blocks = whole.chain(std::iter::once(&block[..total % block.len()]));
    let pieces = blocks.flat_map(|block| block.chunks(PIECE_BYTES));
    Bytes::from_shared(memory::joined(total, pieces, pause))
}

/// Concatenates two long values of a type without a limit; `None` if they are something else.
pub fn join_values(left: &Value, right: &Value, result: &DataType) -> Option<Value> {
    if !result.is_large() {
        return None;
    }
    let parts = [left.string_bytes()?, right.string_bytes()?];
    let is_long = parts[0].len() + parts[1].len() >= LONG_BYTES;
    let is_copied = parts.iter().all(|part| !part.is_empty());
    (is_long && is_copied).then(|| left.with_bytes(join(&parts)))
}

/// Returns the text of a string value, `None` for any other. Requests the memory of a long one; other requests run
/// while it is decoded.
///
/// # Errors
/// As [`ask`].
pub fn text(value: &Value, collation: Collation) -> Result<Option<String>> {
    value.as_text_pausing(collation, PAUSE)
}

/// Makes an `nvarchar` value. Other requests run while a long one is encoded.
pub fn nvarchar(text: &str) -> Value {
    Value::NVarChar(types::text::to_utf16_pausing(text, PAUSE))
}

/// Makes a `varchar` value in the code page of `collation`. Other requests run while a long one is encoded.
pub fn varchar(text: &str, collation: Collation) -> Value {
    Value::VarChar(types::text::to_code_page_pausing(text, collation, PAUSE))
}

/// Does long work that ends once the client cancels the statement.
///
/// # Errors
/// An error that stops the statement if `cancel` was set while the work was done.
pub fn watched<R>(cancel: &Cancel, work: impl FnOnce(&Watched<'_>) -> R) -> Result<R> {
    let go_on = || {
        pause();
        !cancel.is_set()
    };
    let watched = Watched::new(&go_on);
    let result = work(&watched);
    if watched.is_over() { Err(cancelled()) } else { Ok(result) }
}

/// Copies parts into one shared sequence. Other requests run while a long one is copied.
pub fn shared(parts: &[&[u8]]) -> Arc<[u8]> {
    let total: usize = parts.iter().map(|part| part.len()).sum();
    if total <= PIECE_BYTES {
        return parts.concat().into();
    }
    let pieces = parts.iter().flat_map(|part| part.chunks(PIECE_BYTES));
    memory::joined(total, pieces, pause)
}

/// Returns whether an operation over a value takes long enough to be paused.
#[inline]
pub fn is_long(value: &Value) -> bool {
    matches!(value, Value::VarChar(b) | Value::NVarChar(b) | Value::VarBinary(b) if b.len() > PIECE_BYTES)
}

/// Compares two values of one type as [`comparison::compare`] does. Other requests run while long ones are compared.
///
/// # Errors
/// An error that stops the statement if `cancel` is set while long values are compared.
#[inline]
pub fn compare(
    op: CompareOp,
    left: &Value,
    right: &Value,
    collation: Collation,
    cancel: &Cancel,
) -> Result<Truth> {
    match (left, right) {
        // The most frequent types, for which nothing else is looked at.
        (Value::Int(_), Value::Int(_)) | (Value::BigInt(_), Value::BigInt(_)) => {}
        _ if is_long(left) || is_long(right) => {
            return compare_long(op, left, right, collation, cancel);
        }
        _ => {}
    }
    Ok(comparison::compare(op, left, right, collation))
}

#[cold]
fn compare_long(
    op: CompareOp,
    left: &Value,
    right: &Value,
    collation: Collation,
    cancel: &Cancel,
) -> Result<Truth> {
    if left.is_null() || right.is_null() {
        return Ok(Truth::Unknown);
    }
    let order = watched(cancel, |watched| order_watched(left, right, collation, watched))?;
    Ok(comparison::matches(op, order).into())
}

/// Orders two values of one type as [`types::compare::order`] does. Other requests run while long ones are compared.
#[inline]
pub fn order(left: &Value, right: &Value, collation: Collation) -> Ordering {
    if is_long(left) || is_long(right) {
        return paused(|watched| order_watched(left, right, collation, watched));
    }
    types::compare::order(left, right, collation)
}

/// Appends the key form of a value as [`key::encode_value`] does. The memory of a long one's is requested, and other
/// requests run while it is made.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn encode_value(value: &Value, part: KeyPart, out: &mut Vec<u8>) -> Result<()> {
    if is_long(value) {
        return encode_long(value, part, out);
    }
    key::encode_value(value, part, out);
    Ok(())
}

#[cold]
fn encode_long(value: &Value, part: KeyPart, out: &mut Vec<u8>) -> Result<()> {
    ask_for_key(value.string_bytes().map_or(0, <[u8]>::len))?;
    encode_value_asked(value, part, out);
    Ok(())
}

/// Requests the memory of the key of a value with this number of bytes.
///
/// # Errors
/// As [`ask`].
pub fn ask_for_key(bytes: usize) -> Result<()> {
    /// Bytes of a key, while it grows, for each byte of its value: the key of a text has its weights, of several levels.
    const TIMES: usize = 8;
    ask(TIMES * bytes)
}

/// As [`encode_value`], where the caller has requested the memory for all values of a batch.
#[inline]
pub fn encode_value_asked(value: &Value, part: KeyPart, out: &mut Vec<u8>) {
    if is_long(value) {
        return paused(|watched| key::encode_value_watched(value, part, out, watched));
    }
    key::encode_value(value, part, out);
}

/// As [`group_key`], where the caller has requested the memory for all values of a batch.
#[inline]
pub fn group_key_asked(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    if is_long(value) {
        let part = KeyPart { collation, direction: Direction::Ascending };
        return encode_value_asked(value, part, out);
    }
    types::compare::group_key(value, collation, out);
}

/// Appends the form by which a value is grouped, as [`types::compare::group_key`] does; of a long one as
/// [`encode_value`] does.
///
/// # Errors
/// As [`ask`].
#[inline]
pub fn group_key(value: &Value, collation: Collation, out: &mut Vec<u8>) -> Result<()> {
    if is_long(value) {
        return encode_long(value, KeyPart { collation, direction: Direction::Ascending }, out);
    }
    types::compare::group_key(value, collation, out);
    Ok(())
}

/// Does long work that pauses, and ends once [`is_cancelled`].
#[cold]
fn paused<R>(work: impl FnOnce(&Watched<'_>) -> R) -> R {
    work(&Watched::new(&pause_and_look))
}

thread_local! {
    /// The cancellation of the function over long values that the thread is in.
    static CANCEL: RefCell<Option<Arc<Cancel>>> = const { RefCell::new(None) };
}

/// Does long work whose result is not used once `cancel` is set: the caller looks after it. Loops in it may then end
/// early, with any result.
#[cold]
pub fn cancellable<R>(cancel: &Arc<Cancel>, work: impl FnOnce() -> R) -> R {
    struct Restore(Option<Arc<Cancel>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CANCEL.set(self.0.take());
        }
    }
    let _restore = Restore(CANCEL.replace(Some(Arc::clone(cancel))));
    work()
}

/// Returns whether the result of the long work that the thread is in is no longer wanted.
pub fn is_cancelled() -> bool {
    CANCEL.with_borrow(|cancel| cancel.as_ref().is_some_and(|cancel| cancel.is_set()))
}

/// Paces a loop over the units of a long value, as `sos::sched::Pace` does, and ends it once its result
/// is no longer wanted.
#[derive(Debug)]
pub struct LongPace(u32);

impl LongPace {
    const TICKS: u32 = 256;

    /// Begins to count: the first look is due after 256 steps.
    #[must_use]
    pub const fn new() -> Self {
        Self(Self::TICKS)
    }

    /// Counts a step of the loop, and yields every so often. Returns whether the loop goes on.
    #[inline]
    pub fn goes_on(&mut self) -> bool {
        self.0 -= 1;
        self.0 > 0 || self.look()
    }

    #[cold]
    fn look(&mut self) -> bool {
        self.0 = Self::TICKS;
        yield_if_quantum_due();
        !is_cancelled()
    }
}

impl Default for LongPace {
    fn default() -> Self {
        Self::new()
    }
}

/// The memory of a structure of many small pieces, such as a tree: requested piece by piece, a megabyte at
/// a time, before it is taken.
#[derive(Debug, Default)]
pub struct Growing {
    taken: usize,
    granted: usize,
}

impl Growing {
    /// Takes this many more bytes. A megabyte without a request is covered by the memory limit's reserve.
    ///
    /// # Errors
    /// As [`ask`].
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.taken = self.taken.saturating_add(bytes);
        if self.taken > self.granted + LONG_BYTES { self.request() } else { Ok(()) }
    }

    #[cold]
    fn request(&mut self) -> Result<()> {
        if is_cancelled() {
            return Err(cancelled());
        }
        ask((self.taken - self.granted).max(LONG_BYTES))?;
        self.granted = self.taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use types::collation::LikePattern;
    use types::value::ColumnType;
    use types::{ConvertOptions, Mode};

    use super::*;

    #[test]
    fn a_comparison_of_long_values_ends_when_it_is_cancelled() {
        let long = Value::nvarchar(&"a\u{e9}".repeat(LONG_BYTES));
        let longer = Value::nvarchar(&"a\u{e9}".repeat(LONG_BYTES + 1));
        let cancel = Cancel::new();
        let less = |cancel| compare(CompareOp::Less, &long, &longer, Collation::default(), cancel);
        assert_eq!(less(&cancel).unwrap(), Truth::True);
        cancel.set();
        assert_eq!(less(&cancel).unwrap_err().number, crate::stop::INTERNAL);
    }

    #[test]
    fn pieces_of_any_length_are_repeated() {
        let long: Vec<u8> = (0..=255).cycle().take(PIECE_BYTES + 3).collect();
        for piece in [&b""[..], b"a", b"abc", &long[..PIECE_BYTES / 2 + 1], &long] {
            for times in [0, 1, 2, 3, 70_001] {
                if piece.len() * times <= 8 * LONG_BYTES {
                    let expected = piece.repeat(times);
                    assert!(repeat(piece, times)[..] == expected, "{} x {times}", piece.len());
                }
            }
        }
    }

    #[test]
    fn long_values_are_joined_and_recoded_as_short_ones_are() {
        let latin = Collation::default();
        let utf8 = Collation::by_name("Latin1_General_100_CI_AS_SC_UTF8").unwrap();
        let long = "a\u{e9}b\u{10400},".repeat(LONG_BYTES / 8);
        for (value, collation) in [
            (Value::nvarchar(&long), latin),
            (Value::varchar(&long, latin), latin),
            (Value::varchar(&long, utf8), utf8),
        ] {
            let whole = value.as_text(collation);
            assert!(text(&value, collation).unwrap() == whole, "{}", collation.name());
            let ty = DataType::VarChar(types::Length::Max);
            let bytes = value.string_bytes().unwrap();
            let joined = join_values(&value, &value, &ty).expect("they are long");
            assert!(joined == value.with_bytes([bytes, bytes].concat().into()));
            assert_eq!(join_values(&value, &Value::Null, &ty), None);
            assert!(join_values(&value, &value.with_bytes(Bytes::new()), &ty).is_none());
        }
        assert!(nvarchar(&long) == Value::nvarchar(&long));
    }

    #[test]
    fn the_key_of_a_long_value_ends_early_where_its_function_is_cancelled() {
        let long = Value::nvarchar(&"a\u{e9}".repeat(LONG_BYTES));
        let part = KeyPart { collation: Collation::default(), direction: Direction::Ascending };
        let key = || {
            let mut key = Vec::new();
            encode_value(&long, part, &mut key).unwrap();
            key.len()
        };
        let whole = key();
        let cancel = Arc::new(Cancel::new());
        assert_eq!(cancellable(&cancel, key), whole);
        cancel.set();
        assert!(cancellable(&cancel, key) < whole / 8);
        let refused = cancellable(&cancel, || Growing::default().take(2 * LONG_BYTES));
        assert_eq!(refused.unwrap_err().number, crate::stop::INTERNAL);
        assert_eq!(key(), whole, "behind the function nothing is cancelled");
    }

    #[test]
    fn texts_conversions_and_like_end_early_where_they_are_cancelled() {
        let latin = Collation::default();
        let text = format!("{}zz", "a\u{e9}".repeat(LONG_BYTES));
        let (wide, narrow) = (nvarchar(&text), varchar(&text, latin));
        let length = |value: &Value| value.string_bytes().map_or(0, <[u8]>::len);
        let cancel = Arc::new(Cancel::new());
        let try_all = || {
            let decoded = [&wide, &narrow].map(|v| super::text(v, latin).unwrap().unwrap().len());
            let encoded = [nvarchar(&text), varchar(&text, latin)].map(|v| length(&v));
            let like = ["%zz", "%[x-z]_", &format!("%{}zz", "a\u{e9}".repeat(64))].map(|pattern| {
                let pattern = LikePattern::new(&Value::nvarchar(pattern), None, latin);
                let pattern = pattern.unwrap().unwrap().pausing(PAUSE);
                (pattern.matches(&wide), pattern.find(&wide).is_some())
            });
            let to = ColumnType::nullable(DataType::Xml);
            let from = ColumnType::nullable(DataType::NVarChar(types::Length::Max));
            let options = ConvertOptions { pause: PAUSE, ..ConvertOptions::default() };
            let xml = types::convert(&wide, &from, &to, 0, Mode::Explicit, &options);
            (decoded, encoded, like, xml.is_ok())
        };
        let (decoded, encoded, like, is_xml) = cancellable(&cancel, try_all);
        assert!(decoded == [text.len(); 2] && is_xml);
        assert!(like.iter().all(|found| *found == (Some(true), true)), "{like:?}");
        let keys = || {
            let part = KeyPart { collation: latin, direction: Direction::Ascending };
            let (mut key, mut form) = (Vec::new(), Vec::new());
            encode_value_asked(&wide, part, &mut key);
            group_key_asked(&narrow, latin, &mut form);
            [key.len(), form.len()]
        };
        let whole_keys = cancellable(&cancel, keys);
        cancel.set();
        let early_keys = cancellable(&cancel, keys);
        assert!(early_keys.iter().zip(whole_keys).all(|(early, whole)| *early < whole / 8));
        let early = cancellable(&cancel, try_all);
        assert!(early.0.iter().zip(decoded).all(|(early, whole)| *early < whole / 8));
        assert!(early.1.iter().zip(encoded).all(|(early, whole)| *early < whole / 8));
        assert!(early.2.iter().all(|found| *found == (Some(false), false)), "{:?}", early.2);
        assert!(!early.3, "a document that was parsed in part is none");
        assert!(try_all() == (decoded, encoded, like, is_xml), "elsewhere nothing is cancelled");
    }

    #[test]
    fn texts_and_lists_are_the_same_in_a_larger_place() {
        let piece = "a\u{e9}\u{20ac}".repeat(LONG_BYTES / 32);
        let (mut text, mut bytes, mut plain) = (String::new(), Vec::new(), String::new());
        for _ in 0..64 {
            reserve(&mut text, piece.len());
            text.push_str(&piece);
            append(&mut bytes, piece.as_bytes()).unwrap();
            plain.push_str(&piece);
        }
        assert!(text == plain && bytes == plain.as_bytes());
        assert!(*shared(&[plain.as_bytes(), b"x"]) == *[plain.as_bytes(), b"x"].concat());
        let item = Arc::new(());
        drop(FreedInPieces(vec![Arc::clone(&item); 1_000]));
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
