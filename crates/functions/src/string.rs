//! String functions. Strings are stored in their wire encoding. Positions and lengths count
//! characters: of the code page, or UTF-16 units, of which a collation with `_SC` joins pairs.

#![expect(clippy::ptr_arg, reason = "binders share a signature, and some add arguments")]

use types::text::{self, LetterCase, Width};
use types::value::ColumnType;
use types::{Bytes, Collation, DataType, Error, Length, Mode, Msg, Result, Value};

use crate::{Call, Collating, Evaluate, Function, pieces};
use plan::convert::convert_to;
use plan::expr::Expr;
use plan::function::Context;
use plan::long::{self, LongPace};
use sos::sched::Pace;

type Bind = fn(&mut Vec<Expr>) -> Result<ColumnType>;
type Eval = fn(&mut Context<'_>, &Call<'_>, &[Value]) -> Result<Value>;

pub(crate) static FUNCTIONS: &[Function] = &[
    strict("LEN", (1, 1), bind_length, eval_len),
    strict("DATALENGTH", (1, 1), bind_data_length, eval_data_length),
    strict("LOWER", (1, 1), bind_text, |_, c, v| {
        Ok(pieces::fold(&v[0], LetterCase::Lower, c.ty.collation))
    }),
    strict("UPPER", (1, 1), bind_text, |_, c, v| {
        Ok(pieces::fold(&v[0], LetterCase::Upper, c.ty.collation))
    }),
    strict("LEFT", (2, 2), bind_text_and_int, eval_left),
    strict("RIGHT", (2, 2), bind_text_and_int, eval_right),
    strict("SUBSTRING", (3, 3), bind_substring, eval_substring),
    strict("CHARINDEX", (2, 3), bind_charindex, eval_charindex).collating(Collating::Compare),
    strict("PATINDEX", (2, 2), bind_patindex, eval_patindex).collating(Collating::Compare),
    strict("REPLACE", (3, 3), bind_replace, eval_replace).collating(Collating::Compare),
    strict("REVERSE", (1, 1), bind_text, eval_reverse),
    strict("REPLICATE", (2, 2), bind_replicate, eval_replicate),
    strict("SPACE", (1, 1), bind_space, eval_space),
    strict("STUFF", (4, 4), bind_stuff, eval_stuff),
    strict("ASCII", (1, 1), bind_ascii, eval_ascii),
    strict("CHAR", (1, 1), bind_char, eval_char),
    strict("NCHAR", (1, 1), bind_nchar, eval_nchar),
    strict("UNICODE", (1, 1), bind_unicode, eval_unicode),
    strict("QUOTENAME", (1, 2), bind_quotename, eval_quotename),
    full("CONCAT", (2, 254), bind_concat, eval_concat),
    full("CONCAT_WS", (3, 254), bind_concat, eval_concat_ws),
];

const fn strict(name: &'static str, arity: (u8, u8), bind: Bind, eval: Eval) -> Function {
    Function {
        name,
        arity,
        bind,
        eval: Evaluate::Strict(eval),
        deterministic: true,
        collation: Collating::Combine,
    }
}

const fn full(name: &'static str, arity: (u8, u8), bind: Bind, eval: Eval) -> Function {
    Function {
        name,
        arity,
        bind,
        eval: Evaluate::Full(eval),
        deterministic: true,
        collation: Collating::Combine,
    }
}

fn of(data_type: DataType) -> ColumnType {
    ColumnType { data_type, collation: Collation::default(), nullable: true }
}

/// Returns the string type that an argument of any type is converted to.
fn as_text(ty: &ColumnType) -> ColumnType {
    let data_type = match ty.data_type {
        t if t.is_string() => t,
        DataType::SqlVariant => DataType::NVarChar(Length::Limited(4000)),
        _ => DataType::VarChar(Length::Limited(8000)),
    };
    ColumnType { data_type, nullable: true, ..*ty }
}

/// Returns the variable-length form of a string type, which most functions return.
fn variable(ty: &ColumnType) -> ColumnType {
    let data_type = match ty.data_type {
        DataType::Char(n) => DataType::VarChar(Length::Limited(n)),
        DataType::NChar(n) => DataType::NVarChar(Length::Limited(n)),
        DataType::Text => DataType::VarChar(Length::Max),
        DataType::NText | DataType::Xml => DataType::NVarChar(Length::Max),
        DataType::Image => DataType::VarBinary(Length::Max),
        DataType::Binary(n) => DataType::VarBinary(Length::Limited(n)),
        other => other,
    };
    ColumnType { data_type, nullable: true, ..*ty }
}

fn convert_argument(arguments: &mut [Expr], place: usize, to: &ColumnType) -> Result<()> {
    if let Some(argument) = arguments.get_mut(place) {
        let taken = std::mem::replace(argument, Expr::constant(Value::Null, DataType::Int));
        *argument = convert_to(taken, to, Mode::Implicit)?;
    }
    Ok(())
}

/// Converts an argument to a string.
fn text_argument(arguments: &mut [Expr], place: usize) -> Result<ColumnType> {
    let ty = as_text(&arguments[place].ty);
    convert_argument(arguments, place, &ty)?;
    Ok(ty)
}

fn int_argument(arguments: &mut [Expr], place: usize) -> Result<()> {
    convert_argument(arguments, place, &of(DataType::BigInt))
}

fn bind_text(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    Ok(variable(&text_argument(arguments, 0)?))
}

fn bind_text_and_int(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    int_argument(arguments, 1)?;
    Ok(variable(&text_argument(arguments, 0)?))
}

fn bind_length(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let large = arguments[0].ty.data_type.is_large();
    if !arguments[0].ty.data_type.bytes_max().is_some_and(|_| is_binary(&arguments[0])) {
        text_argument(arguments, 0)?;
    }
    Ok(of(if large { DataType::BigInt } else { DataType::Int }))
}

fn is_binary(expr: &Expr) -> bool {
    matches!(expr.ty.data_type, DataType::Binary(_) | DataType::VarBinary(_) | DataType::Image)
}

fn whole(n: usize, ty: &ColumnType) -> Value {
    let n = i64::try_from(n).unwrap_or(i64::MAX);
    match ty.data_type {
        DataType::BigInt => Value::BigInt(n),
        _ => Value::Int(i32::try_from(n).unwrap_or(i32::MAX)),
    }
}

fn eval_len(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    if let Value::VarBinary(bytes) = &values[0] {
        return Ok(whole(bytes.len(), call.ty));
    }
    let length = pieces::len(&values[0], call.arguments[0].ty.collation);
    Ok(length.map_or(Value::Null, |n| whole(n, call.ty)))
}

fn bind_data_length(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    // `bigint` for the types with (max) alone: a bulk copy of DacFx reads the length as the type that it should have.
    let is_old = matches!(
        arguments[0].ty.data_type,
        DataType::Text | DataType::NText | DataType::Image | DataType::Xml
    );
    let large = arguments[0].ty.data_type.is_large() && !is_old;
    Ok(of(if large { DataType::BigInt } else { DataType::Int }))
}

fn eval_data_length(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let bytes = match &values[0] {
        Value::VarChar(b) | Value::NVarChar(b) | Value::VarBinary(b) => b.len(),
        Value::Variant(inner) => match &inner.0 {
            Value::VarChar(b) | Value::NVarChar(b) | Value::VarBinary(b) => b.len(),
            _ => inner.1.data_type.bytes_max().map_or(0, usize::from),
        },
        _ => call.arguments[0].ty.data_type.bytes_max().map_or(0, usize::from),
    };
    Ok(whole(bytes, call.ty))
}

/// Returns the bytes per character unit.
fn unit(value: &Value) -> usize {
    if matches!(value, Value::NVarChar(_)) { 2 } else { 1 }
}

fn raw(value: &Value) -> &[u8] {
    match value {
        Value::VarChar(b) | Value::NVarChar(b) | Value::VarBinary(b) => b,
        _ => &[],
    }
}

fn int(values: &[Value], place: usize) -> i64 {
    match values.get(place) {
        Some(Value::BigInt(n)) => *n,
        Some(Value::Int(n)) => i64::from(*n),
        _ => 0,
    }
}

/// Returns the width of the characters of an argument.
fn width(call: &Call<'_>, values: &[Value], place: usize) -> Width {
    Width::of(&values[place], call.arguments[place].ty.collation)
}

/// Returns characters `from..to` of a string or binary value, clamped to its bounds.
fn slice(value: &Value, width: Width, from: i64, to: i64) -> Value {
    let bytes = raw(value);
    let at = |n: i64| pieces::offset(width, bytes, usize::try_from(n.max(0)).unwrap_or(usize::MAX));
    let from = at(from);
    let to = at(to).max(from);
    value.with_bytes(pieces::copied(&bytes[from..to]))
}

fn count(value: &Value, width: Width) -> i64 {
    i64::try_from(pieces::count(width, raw(value))).unwrap_or(i64::MAX)
}

fn eval_left(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    match int(values, 1) {
        n if n < 0 => Err(Msg::InvalidLengthLeft.into()),
        n => Ok(slice(&values[0], width(call, values, 0), 0, n)),
    }
}

fn eval_right(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let n = int(values, 1);
    if n < 0 {
        return Err(Msg::InvalidLength("RIGHT").into());
    }
    let width = width(call, values, 0);
    let all = count(&values[0], width);
    Ok(slice(&values[0], width, all.saturating_sub(n), all))
}

fn bind_substring(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    int_argument(arguments, 1)?;
    int_argument(arguments, 2)?;
    if is_binary(&arguments[0]) {
        return Ok(variable(&arguments[0].ty));
    }
    Ok(variable(&text_argument(arguments, 0)?))
}

fn eval_substring(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (start, length) = (int(values, 1), int(values, 2));
    if length < 0 {
        return Err(Msg::InvalidLengthLeft.into());
    }
    // Position 1 is the first character; positions before it count towards the length.
    let from = start.saturating_sub(1);
    Ok(slice(&values[0], width(call, values, 0), from, from.saturating_add(length)))
}

/// Converts two string arguments to one encoding.
fn same_encoding(arguments: &mut [Expr], places: &[usize]) -> Result<ColumnType> {
    let mut wide = false;
    let mut large = false;
    for place in places {
        let ty = text_argument(arguments, *place)?;
        wide |= ty.data_type.is_unicode();
        large |= ty.data_type.is_large();
    }
    let data_type = match (wide, large) {
        (true, true) => DataType::NVarChar(Length::Max),
        (true, false) => DataType::NVarChar(Length::Limited(4000)),
        (false, true) => DataType::VarChar(Length::Max),
        (false, false) => DataType::VarChar(Length::Limited(8000)),
    };
    let collation = arguments[places[0]].ty.collation;
    let ty = ColumnType { data_type, collation, nullable: true };
    for place in places {
        convert_argument(arguments, *place, &ty)?;
    }
    Ok(ty)
}

fn bind_charindex(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    if arguments.len() == 3 {
        int_argument(arguments, 2)?;
    }
    let large = arguments[1].ty.data_type.is_large();
    let collation = arguments[1].ty.collation;
    same_encoding(arguments, &[1, 0])?;
    let data_type = if large { DataType::BigInt } else { DataType::Int };
    Ok(ColumnType { data_type, collation, nullable: true })
}

/// Finds `needle` at or after character `from`.
fn find(haystack: &Value, needle: &Value, from: i64, collation: Collation) -> Result<Option<i64>> {
    let Ok(from) = usize::try_from(from) else { return Ok(None) };
    let width = Width::of(haystack, collation);
    let needed = pieces::count(width, raw(needle));
    let found = if raw(haystack).len() <= WINDOW_CHARACTERS || needed == 0 {
        Search::new(haystack, needle, collation)?.finder(from).next()
    } else {
        find_in_windows(haystack, (needle, needed), from, collation)?
    };
    Ok(found.and_then(|at| i64::try_from(at).ok()))
}

/// Characters of the first window in which a long string is searched.
const WINDOW_CHARACTERS: usize = 256;

/// Characters of the largest window.
const WINDOW_CHARACTERS_MAX: usize = 1 << 20;

/// Finds a needle and its number of characters in windows of the haystack, each twice as long as the
/// one before. To prepare the whole haystack would take as long for the first of its matches as for
/// the last: a loop over the separators of a list would take the square of its length.
fn find_in_windows(
    haystack: &Value,
    (needle, needed): (&Value, usize),
    mut from: usize,
    collation: Collation,
) -> Result<Option<usize>> {
    let width = Width::of(haystack, collation);
    let bytes = raw(haystack);
    let mut place = pieces::offset(width, bytes, from);
    let mut window = WINDOW_CHARACTERS.max(2 * needed);
    loop {
        let start = before_pair(haystack, place);
        let skipped = usize::from(start < place);
        let end = match start + pieces::offset(width, &bytes[start..], window + skipped) {
            end if end < bytes.len() => before_pair(haystack, end),
            end => end,
        };
        let part = haystack.with_bytes(pieces::copied(&bytes[start..end]));
        if let Some(at) = Search::new(&part, needle, collation)?.finder(skipped).next() {
            return Ok(Some(from + at - skipped));
        }
        if end == bytes.len() {
            return Ok(None);
        }
        // The last characters of the window may begin a match.
        let seen = pieces::count(width, &bytes[place..end]) + 1 - needed;
        place += pieces::offset(width, &bytes[place..], seen);
        from += seen;
        window = (2 * window).min(WINDOW_CHARACTERS_MAX.max(2 * needed));
    }
}

/// Returns a place in a string, or the one before it if it is within a pair of surrogates.
fn before_pair(value: &Value, place: usize) -> usize {
    let is_within = match value {
        Value::NVarChar(units) if place >= 2 => {
            units.get(place + 1).is_some_and(|high| (0xDC..=0xDF).contains(high))
        }
        _ => false,
    };
    if is_within { place - 2 } else { place }
}

/// Two strings in a form in which equality is equality in the collation.
enum Search {
    /// As bytes or UTF-16 units, each a character; in upper case if case does not count.
    Units { haystack: Value, needle: Value },
    /// As weights of characters.
    Weights { haystack: Vec<u64>, needle: Vec<u64> },
}

impl Search {
    fn new(haystack: &Value, needle: &Value, collation: Collation) -> Result<Self> {
        let is_fixed = matches!(Width::of(haystack, collation), Width::Fixed(_));
        if is_fixed && collation.is_binary() {
            return Ok(Self::Units { haystack: haystack.clone(), needle: needle.clone() });
        }
        let is_plain = !collation.has_dotless_i() && is_ascii(haystack) && is_ascii(needle);
        if !is_plain {
            let haystack = pieces::weights(haystack, collation)?;
            let needle = pieces::weights(needle, collation)?;
            return Ok(Self::Weights { haystack, needle });
        }
        let [haystack, needle] = [haystack, needle].map(|v| match collation.is_case_sensitive() {
            true => v.clone(),
            false => pieces::fold(v, LetterCase::Upper, collation),
        });
        Ok(Self::Units { haystack, needle })
    }

    /// Returns the positions of the needle from a character on, without overlaps.
    fn finder(&self, from: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Weights { haystack, needle } => Box::new(Finder::new(haystack, needle, from)),
            Self::Units { haystack, needle } if unit(haystack) == 2 => {
                let [haystack, needle] = [haystack, needle].map(|v| raw(v).as_chunks::<2>().0);
                Box::new(Finder::new(haystack, needle, from))
            }
            Self::Units { haystack, needle } => {
                Box::new(Finder::new(raw(haystack), raw(needle), from))
            }
        }
    }
}

/// Returns whether a string has no character beyond ASCII.
fn is_ascii(value: &Value) -> bool {
    match value {
        Value::NVarChar(units) => {
            units.as_chunks::<2>().0.iter().fold(0, |all, [low, high]| all | high | low & 0x80) == 0
        }
        other => raw(other).is_ascii(),
    }
}

/// Finds a string in another in time linear in the sum of their lengths, not in the product (Knuth,
/// Morris, Pratt 1977). Finds nothing more once the statement is cancelled.
struct Finder<'a, T> {
    haystack: &'a [T],
    needle: &'a [T],
    /// For each length of a match: the longest proper prefix of the needle that is also its suffix.
    borders: Vec<usize>,
    at: usize,
    pace: LongPace,
}

impl<'a, T: PartialEq> Finder<'a, T> {
    fn new(haystack: &'a [T], needle: &'a [T], from: usize) -> Self {
        let (mut matched, mut pace) = (0, LongPace::new());
        // A string that is longer than what is left has no match, and needs no table.
        let has_room = needle.len() <= haystack.len().saturating_sub(from);
        let needle = if has_room { needle } else { &[] };
        let mut borders = vec![0; needle.len()];
        for at in 1..needle.len() {
            if !pace.goes_on() {
                return Self { haystack: &[], needle: &[], borders: Vec::new(), at: 0, pace };
            }
            while matched > 0 && needle[at] != needle[matched] {
                matched = borders[matched - 1];
            }
            matched += usize::from(needle[at] == needle[matched]);
            borders[at] = matched;
        }
        Self { haystack, needle, borders, at: from, pace }
    }
}

impl<T: PartialEq> Iterator for Finder<'_, T> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let mut matched = 0;
        let rest = self.haystack.get(self.at..).filter(|_| !self.needle.is_empty())?;
        for one in rest {
            if !self.pace.goes_on() {
                return None;
            }
            self.at += 1;
            while matched > 0 && *one != self.needle[matched] {
                matched = self.borders[matched - 1];
            }
            matched += usize::from(*one == self.needle[matched]);
            if matched == self.needle.len() {
                return Some(self.at - matched);
            }
        }
        None
    }
}

fn eval_charindex(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    types::collation::check_pattern(&values[0])?;
    let from = if values.len() == 3 { int(values, 2).saturating_sub(1).max(0) } else { 0 };
    let found = find(&values[1], &values[0], from, call.ty.collation)?;
    let position = found.map_or(0, |at| at + 1);
    Ok(whole(usize::try_from(position).unwrap_or(0), call.ty))
}

fn bind_patindex(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let ty = same_encoding(arguments, &[1, 0])?;
    let data_type = if ty.data_type.is_large() { DataType::BigInt } else { DataType::Int };
    Ok(ColumnType { data_type, ..ty })
}

/// Returns the first position at which the pattern without its leading `%` matches.
fn eval_patindex(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let pattern = types::collation::LikePattern::new(&values[0], None, call.ty.collation)?;
    let Some(pattern) = pattern.map(|p| p.pausing(pieces::PAUSE)) else { return Ok(Value::Null) };
    let position = pattern.find(&values[1]).map_or(0, |before| before + 1);
    Ok(whole(position, call.ty))
}

fn bind_replace(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    same_encoding(arguments, &[0, 1, 2])
}

fn eval_replace(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let collation = call.ty.collation;
    let width = Width::of(&values[0], collation);
    let (text, given) = (raw(&values[0]), raw(&values[2]));
    let step = pieces::count(width, raw(&values[1]));
    let most = call.ty.data_type.bytes_max().map_or(STRING_BYTES_MAX, usize::from);
    let search = Search::new(&values[0], &values[1], collation)?;
    let mut out = Vec::new();
    // The text behind the last match, and the number of characters before it.
    let (mut rest, mut before) = (text, 0);
    let mut pace = LongPace::new();
    for found in search.finder(0) {
        if !pace.goes_on() {
            break;
        }
        let at = pieces::offset(width, rest, found - before);
        long::append(&mut out, &rest[..at])?;
        long::append(&mut out, given)?;
        rest = &rest[at + pieces::offset(width, &rest[at..], step)..];
        before = found + step;
        if out.len() > most {
            break;
        }
    }
    long::append(&mut out, rest)?;
    if call.ty.data_type.is_large() && out.len() > most {
        return Err(Error::from(Msg::OutOfMemory));
    }
    bounded(&values[0], out, call.ty)
}

/// Returns the result of a function that may lengthen its argument.
///
/// # Errors
/// 8152 if it does not fit the limited type.
fn bounded(like: &Value, bytes: Vec<u8>, ty: &ColumnType) -> Result<Value> {
    if ty.data_type.bytes_max().is_some_and(|most| bytes.len() > usize::from(most)) {
        return Err(Error::from(Msg::StringTruncated));
    }
    Ok(like.with_bytes(taken(bytes)))
}

/// Returns bytes as a value's. Other requests run while long ones are copied.
fn taken(bytes: Vec<u8>) -> Bytes {
    if bytes.len() < long::LONG_BYTES { bytes.into() } else { long::join(&[&bytes]) }
}

fn eval_reverse(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let bytes = raw(&values[0]);
    // Filled from its end on.
    let mut reversed = vec![0; bytes.len()];
    let mut rest = reversed.as_mut_slice();
    let mut pace = Pace::new();
    for character in width(call, values, 0).split(bytes) {
        pace.tick();
        let (before, place) = rest.split_at_mut(rest.len() - character.len());
        place.copy_from_slice(character);
        rest = before;
    }
    Ok(values[0].with_bytes(taken(reversed)))
}

fn bind_replicate(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    int_argument(arguments, 1)?;
    let ty = text_argument(arguments, 0)?;
    let data_type = match ty.data_type {
        DataType::VarChar(Length::Max) | DataType::Text => DataType::VarChar(Length::Max),
        DataType::NVarChar(Length::Max) | DataType::NText => DataType::NVarChar(Length::Max),
        t if t.is_unicode() => DataType::NVarChar(Length::Limited(4000)),
        _ => DataType::VarChar(Length::Limited(8000)),
    };
    Ok(ColumnType { data_type, ..ty })
}

/// Longest result of REPLACE and REPLICATE with a MAX type: the limit of the type, in bytes.
const STRING_BYTES_MAX: usize = 1 << 31;

fn eval_replicate(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let Ok(times) = usize::try_from(int(values, 1)) else { return Ok(Value::Null) };
    let piece = raw(&values[0]);
    // A limited type truncates the result, as documented.
    let most = call.ty.data_type.bytes_max().map_or(STRING_BYTES_MAX, usize::from);
    let whole_times = if piece.is_empty() { 0 } else { times.min(most / piece.len()) };
    if whole_times < times && call.ty.data_type.is_large() && !piece.is_empty() {
        return Err(Error::from(Msg::OutOfMemory));
    }
    if call.ty.data_type.is_large() {
        long::ask(piece.len().saturating_mul(whole_times))?;
        return Ok(values[0].with_bytes(long::repeat(piece, whole_times)));
    }
    let mut out = piece.repeat(whole_times);
    if whole_times < times && !piece.is_empty() {
        out.extend_from_slice(&piece[..(most - out.len()).min(piece.len())]);
    }
    Ok(values[0].with_bytes(out.into()))
}

fn bind_space(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    int_argument(arguments, 0)?;
    Ok(of(DataType::VarChar(Length::Limited(8000))))
}

fn eval_space(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    match usize::try_from(int(values, 0)) {
        Ok(n) => Ok(Value::VarChar(vec![b' '; n.min(8000)].into())),
        Err(_) => Ok(Value::Null),
    }
}

fn bind_stuff(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    int_argument(arguments, 1)?;
    int_argument(arguments, 2)?;
    same_encoding(arguments, &[0, 3])
}

fn eval_stuff(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let (start, length) = (int(values, 1), int(values, 2));
    let width = width(call, values, 0);
    let all = count(&values[0], width);
    if start < 1 || start > all || length < 0 {
        return Ok(Value::Null);
    }
    let bytes = raw(&values[0]);
    let at = |n: i64| pieces::offset(width, bytes, usize::try_from(n).unwrap_or(usize::MAX));
    let (from, to) = (at(start - 1), at(length.saturating_add(start - 1)));
    joined(&values[0], &[&bytes[..from], raw(&values[3]), &bytes[to..]], call.ty)
}

fn bind_ascii(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let collation = arguments[0].ty.collation;
    let data_type = DataType::VarChar(Length::Max);
    convert_argument(arguments, 0, &ColumnType { data_type, collation, nullable: true })?;
    Ok(of(DataType::Int))
}

fn eval_ascii(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    Ok(raw(&values[0]).first().map_or(Value::Null, |b| Value::Int(i32::from(*b))))
}

fn bind_char(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    int_argument(arguments, 0)?;
    Ok(of(DataType::Char(1)))
}

fn eval_char(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let byte = u8::try_from(int(values, 0));
    Ok(byte.map_or(Value::Null, |b| Value::VarChar(Bytes::copy_from(&[b]))))
}

fn bind_nchar(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    int_argument(arguments, 0)?;
    Ok(of(DataType::NChar(1)))
}

fn eval_nchar(_: &mut Context<'_>, _: &Call<'_>, values: &[Value]) -> Result<Value> {
    let unit = u16::try_from(int(values, 0));
    Ok(unit.map_or(Value::Null, |u| Value::NVarChar(Bytes::copy_from(&u.to_le_bytes()))))
}

fn bind_unicode(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let collation = arguments[0].ty.collation;
    let data_type = DataType::NVarChar(Length::Max);
    convert_argument(arguments, 0, &ColumnType { data_type, collation, nullable: true })?;
    Ok(of(DataType::Int))
}

fn eval_unicode(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let bytes = raw(&values[0]);
    let Some(unit) = text::utf16_units(bytes).next() else { return Ok(Value::Null) };
    let first = width(call, values, 0).first(bytes);
    // A pair of surrogates is one character with `_SC`.
    let pair = text::try_from_utf16(&bytes[..first]).and_then(|text| text.chars().next());
    let code = match pair {
        Some(c) if first == 4 => i32::try_from(u32::from(c)).unwrap_or(0),
        _ => i32::from(unit),
    };
    Ok(Value::Int(code))
}

fn bind_quotename(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    for place in 0..arguments.len() {
        let collation = arguments[place].ty.collation;
        let data_type = DataType::NVarChar(Length::Limited(4000));
        convert_argument(arguments, place, &ColumnType { data_type, collation, nullable: true })?;
    }
    let collation = arguments[0].ty.collation;
    let data_type = DataType::NVarChar(Length::Limited(258));
    Ok(ColumnType { data_type, collation, nullable: true })
}

/// Longest name that QUOTENAME accepts, in characters.
const NAME_LENGTH_MAX: usize = 128;

fn eval_quotename(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let name = values[0].as_text(call.ty.collation).unwrap_or_default();
    let quote = match values.get(1) {
        Some(quote) => quote.as_text(call.ty.collation).and_then(|q| q.chars().next()),
        None => Some('['),
    };
    if name.chars().count() > NAME_LENGTH_MAX {
        return Ok(Value::Null);
    }
    let (open, close) = match quote {
        Some('[' | ']') => ('[', ']'),
        Some('\'') => ('\'', '\''),
        Some('"') => ('"', '"'),
        Some('(' | ')') => ('(', ')'),
        Some('<' | '>') => ('<', '>'),
        Some('{' | '}') => ('{', '}'),
        Some('`') => ('`', '`'),
        _ => return Ok(Value::Null),
    };
    let inner = name.replace(close, &format!("{close}{close}"));
    Ok(Value::nvarchar(&format!("{open}{inner}{close}")))
}

/// The result is as long as the arguments together, as text, and never NULL.
fn bind_concat(arguments: &mut Vec<Expr>) -> Result<ColumnType> {
    let places: Vec<usize> = (0..arguments.len()).collect();
    let units = arguments.iter().map(|argument| u32::from(text_units(argument))).sum::<u32>();
    let ty = same_encoding(arguments, &places)?;
    let most = if ty.data_type.is_unicode() { 4_000 } else { 8_000 };
    let length = Length::Limited(u16::try_from(units.clamp(1, most)).unwrap_or(8_000));
    let data_type = match ty.data_type {
        DataType::NVarChar(Length::Limited(_)) => DataType::NVarChar(length),
        DataType::VarChar(Length::Limited(_)) => DataType::VarChar(length),
        large => large,
    };
    Ok(ColumnType { data_type, nullable: false, ..ty })
}

/// Returns the maximum number of characters of a value as text.
fn text_units(argument: &Expr) -> u16 {
    let data_type = argument.ty.data_type;
    match data_type {
        _ if argument.is_null_literal() => 1,
        DataType::Bit => 1,
        DataType::TinyInt => 3,
        DataType::SmallInt => 6,
        DataType::Int => 12,
        DataType::BigInt => 21,
        DataType::Decimal { precision, .. } => u16::from(precision) + 3,
        DataType::UniqueIdentifier => 36,
        _ => match data_type.length() {
            Some(Length::Limited(units)) => units,
            Some(Length::Max) => 8_000,
            // Money, floats, dates and times.
            None => 64,
        },
    }
}

/// NULL counts as an empty string.
fn eval_concat(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let parts: Vec<&[u8]> = values.iter().map(raw).collect();
    joined(&empty(call.ty), &parts, call.ty)
}

/// The first argument separates the others; NULLs are skipped.
fn eval_concat_ws(_: &mut Context<'_>, call: &Call<'_>, values: &[Value]) -> Result<Value> {
    let mut parts = Vec::with_capacity(values.len() * 2);
    for (place, value) in values[1..].iter().filter(|v| !v.is_null()).enumerate() {
        if place > 0 {
            parts.push(raw(&values[0]));
        }
        parts.push(raw(value));
    }
    joined(&empty(call.ty), &parts, call.ty)
}

/// Returns the parts as one value like another.
fn joined(like: &Value, parts: &[&[u8]], ty: &ColumnType) -> Result<Value> {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    if bytes < long::LONG_BYTES {
        return bounded(like, parts.concat(), ty);
    }
    if ty.data_type.bytes_max().is_some_and(|most| bytes > usize::from(most)) {
        return Err(Error::from(Msg::StringTruncated));
    }
    Ok(like.with_bytes(long::join(parts)))
}

fn empty(ty: &ColumnType) -> Value {
    if ty.data_type.is_unicode() {
        Value::NVarChar(Bytes::new())
    } else {
        Value::VarChar(Bytes::new())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_search_ends_early_where_it_is_cancelled() {
        let (text, cancel) = ("ab".repeat(4_096), Arc::new(sos::park::Cancel::new()));
        let find = |needle: &str| Finder::new(text.as_bytes(), needle.as_bytes(), 0).count();
        let both = || (find("b"), find(&text));
        assert_eq!(long::cancellable(&cancel, both), (4_096, 1));
        cancel.set();
        let (few, none) = long::cancellable(&cancel, both);
        assert!(few < 256 && none == 0, "{few} {none}");
    }
}
