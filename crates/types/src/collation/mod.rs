//! Collations: how strings compare, sort and are encoded on the wire.
//!
//! A collation is sixteen bits: a base of the registry below (language, version, code page) and the
//! sensitivities that its name's suffix spells out. `collation/weights.rs` turns characters into
//! weights, `order.rs` compares and makes sort keys, `like/mod.rs` matches, `code_page.rs` decodes.
//!
//! Two simplifications against SQL Server, both of order and not of equality: a string sorts before
//! any longer one that starts with it (SQL Server puts those that continue with a control character
//! first), and `-` and `'` are ordinary characters in Windows collations.

mod code_page;
mod decompose;
mod like;
mod order;
mod weights;

pub use code_page::CodePage;
pub use like::LikePattern;

/// A collation: its base (language, version, code page) and its sensitivities. Copy, two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(pub(crate) u16);

/// The default collation as its five bytes on the wire.
const DEFAULT_WIRE: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x34];

const CASE_SENSITIVE: u16 = 1;
const ACCENT_INSENSITIVE: u16 = 1 << 1;
const KANA_SENSITIVE: u16 = 1 << 2;
const WIDTH_SENSITIVE: u16 = 1 << 3;
const BINARY: u16 = 1 << 4;
const BINARY2: u16 = 1 << 5;
const SUPPLEMENTARY: u16 = 1 << 6;
const UTF8: u16 = 1 << 7;
const VARIATION_SENSITIVE: u16 = 1 << 8;
const BASE_SHIFT: u32 = 9;

/// The kind of a base, which decides the suffixes it takes.
enum Family {
    /// A SQL collation: these suffixes and no other, each with its sort id.
    Sql(&'static [(&'static str, u8)]),
    /// A Windows collation of a version (0: none, 1: `_90`, 2: `_100`, 3: `_140`).
    Windows(u8),
}

struct Base {
    name: &'static str,
    lcid: u32,
    code_page: CodePage,
    family: Family,
}

const fn sql(
    name: &'static str,
    code_page: CodePage,
    suffixes: &'static [(&'static str, u8)],
) -> Base {
    Base { name, lcid: 1033, code_page, family: Family::Sql(suffixes) }
}

const fn windows(name: &'static str, lcid: u32, code_page: CodePage, version: u8) -> Base {
    Base { name, lcid, code_page, family: Family::Windows(version) }
}

/// The registry. The first base without a suffix bit is the server's default.
const BASES: &[Base] = &[
    sql("SQL_Latin1_General_CP1", CodePage::Cp1252, &[("CI_AS", 52), ("CS_AS", 51), ("CI_AI", 54)]),
    sql("SQL_Latin1_General_Pref_CP1", CodePage::Cp1252, &[("CI_AS", 53)]),
    sql(
        "SQL_Latin1_General_CP437",
        CodePage::Cp437,
        &[("CI_AS", 32), ("CS_AS", 31), ("CI_AI", 34), ("BIN", 30), ("BIN2", 30)],
    ),
    sql(
        "SQL_Latin1_General_CP850",
        CodePage::Cp850,
        &[("CI_AS", 42), ("CS_AS", 41), ("CI_AI", 44), ("BIN", 40), ("BIN2", 40)],
    ),
    sql("SQL_Latin1_General_CP1250", CodePage::Cp1250, &[("CI_AS", 82), ("CS_AS", 81)]),
    sql("SQL_Latin1_General_CP1251", CodePage::Cp1251, &[("CI_AS", 106), ("CS_AS", 105)]),
    sql(
        "SQL_Latin1_General_CP1253",
        CodePage::Cp1253,
        &[("CI_AS", 114), ("CS_AS", 113), ("CI_AI", 124)],
    ),
    sql("SQL_Latin1_General_CP1255", CodePage::Cp1255, &[("CI_AS", 138), ("CS_AS", 137)]),
    sql("SQL_Latin1_General_CP1256", CodePage::Cp1256, &[("CI_AS", 146), ("CS_AS", 145)]),
    sql("SQL_Latin1_General_CP1257", CodePage::Cp1257, &[("CI_AS", 154), ("CS_AS", 153)]),
    windows("Latin1_General", 1033, CodePage::Cp1252, 0),
    windows("Latin1_General_100", 1033, CodePage::Cp1252, 2),
    windows("Cyrillic_General", 1049, CodePage::Cp1251, 0),
    windows("Cyrillic_General_100", 1049, CodePage::Cp1251, 2),
    windows("Greek", 1032, CodePage::Cp1253, 0),
    windows("Greek_100", 1032, CodePage::Cp1253, 2),
];

/// The words of suffixes, in the order in which a name has them, with the bit of each.
const WORDS: &[(&str, u16)] = &[
    ("BIN", BINARY),
    ("BIN2", BINARY2),
    ("CI", 0),
    ("CS", CASE_SENSITIVE),
    ("AI", ACCENT_INSENSITIVE),
    ("AS", 0),
    ("KS", KANA_SENSITIVE),
    ("WS", WIDTH_SENSITIVE),
    ("VSS", VARIATION_SENSITIVE),
    ("SC", SUPPLEMENTARY),
    ("UTF8", UTF8),
];

impl Default for Collation {
    /// Returns the server's default, `SQL_Latin1_General_CP1_CI_AS`.
    fn default() -> Self {
        Self(0)
    }
}

impl Collation {
    /// `Latin1_General_100_BIN2`, the collation of names, hashes and internal keys.
    pub const LATIN1_GENERAL_100_BIN2: Self = Self((11 << BASE_SHIFT) | BINARY2);

    /// Looks a collation up by name, in any case; `None` if there is none of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        BASES.iter().zip(0u16..).find_map(|(base, index)| {
            let (head, tail) = name.split_at_checked(base.name.len())?;
            let suffix = tail.strip_prefix('_')?;
            if !head.eq_ignore_ascii_case(base.name) {
                return None;
            }
            Some(Self((index << BASE_SHIFT) | suffix_bits(suffix, &base.family)?))
        })
    }

    /// Returns every known collation, in the order of the registry: what `fn_helpcollations` lists.
    pub fn all() -> impl Iterator<Item = Self> {
        let all_bits = 0..(1 << BASE_SHIFT);
        BASES.iter().zip(0u16..).flat_map(move |(base, index)| {
            all_bits
                .clone()
                .filter(|bits| suffix_bits(&suffix_name(*bits), &base.family) == Some(*bits))
                .map(move |bits| Self((index << BASE_SHIFT) | bits))
        })
    }

    /// Returns the collation's name.
    pub fn name(self) -> String {
        format!("{}_{}", self.base().name, suffix_name(self.bits()))
    }

    /// Returns the five bytes of the wire: LCID, flags, version, sort id. `[MS-TDS] 2.2.5.1.2`
    pub fn to_wire(self) -> [u8; 5] {
        let (version, sort_id) = match self.base().family {
            Family::Windows(version) => (version, 0),
            Family::Sql(_) => (0, self.sort_id()),
        };
        let flag = |set: bool, bit: u32| u32::from(set) << bit;
        let ignores = !self.is_binary();
        let info = self.base().lcid
            | flag(ignores && !self.has(CASE_SENSITIVE), 20)
            | flag(ignores && self.has(ACCENT_INSENSITIVE), 21)
            | flag(ignores && !self.has(KANA_SENSITIVE), 22)
            | flag(ignores && !self.has(WIDTH_SENSITIVE), 23)
            | flag(self.has(BINARY), 24)
            | flag(self.has(BINARY2), 25)
            | flag(self.has(UTF8), 26)
            | u32::from(version) << 28;
        let [a, b, c, d] = info.to_le_bytes();
        [a, b, c, d, sort_id]
    }

    /// Returns the collation of five bytes of the wire; the default for unknown bytes.
    ///
    /// The wire has no bits for `_SC` and `_VSS`; such a collation comes back without them.
    pub fn from_wire(wire: [u8; 5]) -> Self {
        let [a, b, c, d, sort_id] = wire;
        let info = u32::from_le_bytes([a, b, c, d]);
        // Nearly every string parameter has the default collation, and finding a suffix by name
        // costs allocations.
        if wire == DEFAULT_WIRE {
            return Self::default();
        }
        let bits = wire_bits(info);
        let lcid = info & 0xF_FFFF;
        let found = BASES.iter().zip(0u16..).find_map(|(base, index)| match base.family {
            Family::Sql(suffixes) => {
                let (suffix, _) = suffixes.iter().find(|(suffix, id)| {
                    *id == sort_id && (bits & BINARY2 != 0) == (*suffix == "BIN2")
                })?;
                Some((index << BASE_SHIFT) | suffix_bits(suffix, &base.family)?)
            }
            Family::Windows(version) => {
                (sort_id == 0 && lcid == base.lcid && u32::from(version) == info >> 28)
                    .then_some((index << BASE_SHIFT) | bits)
            }
        });
        found.map(Self).unwrap_or_default()
    }

    /// Returns the Windows locale identifier (LCID).
    pub fn lcid(self) -> u32 {
        self.base().lcid
    }

    /// Returns the version as COLLATIONPROPERTY has it: 0, 1 (`_90`), 2 (`_100`), 3 (`_140`).
    pub fn version(self) -> u8 {
        match self.base().family {
            Family::Windows(version) => version,
            Family::Sql(_) => 0,
        }
    }

    /// Returns the sort id of a SQL collation, 0 for a Windows collation.
    pub fn sort_id(self) -> u8 {
        let name = suffix_name(self.bits());
        match self.base().family {
            Family::Windows(_) => 0,
            Family::Sql(suffixes) => {
                suffixes.iter().find(|(suffix, _)| *suffix == name).map_or(0, |(_, id)| *id)
            }
        }
    }

    /// Returns the ComparisonStyle of COLLATIONPROPERTY: the NLS flags of the ignored differences.
    pub fn comparison_style(self) -> u32 {
        if self.is_binary() {
            return 0;
        }
        u32::from(!self.has(CASE_SENSITIVE))
            | u32::from(self.has(ACCENT_INSENSITIVE)) << 1
            | u32::from(!self.has(KANA_SENSITIVE)) << 16
            | u32::from(!self.has(WIDTH_SENSITIVE)) << 17
    }

    /// Returns the encoding of `char` and `varchar`.
    pub fn code_page(self) -> CodePage {
        if self.has(UTF8) { CodePage::Utf8 } else { self.base().code_page }
    }

    /// Returns whether this is a `_BIN` or `_BIN2` collation.
    pub const fn is_binary(self) -> bool {
        self.0 & (BINARY | BINARY2) != 0
    }

    /// Returns whether upper and lower case differ.
    pub const fn is_case_sensitive(self) -> bool {
        self.is_binary() || self.0 & CASE_SENSITIVE != 0
    }

    /// Returns whether string functions count supplementary characters as one (`_SC`).
    pub const fn is_supplementary_aware(self) -> bool {
        self.0 & (SUPPLEMENTARY | UTF8) != 0
    }

    const fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    const fn bits(self) -> u16 {
        self.0 & ((1 << BASE_SHIFT) - 1)
    }

    fn base(self) -> &'static Base {
        &BASES[usize::from(self.0 >> BASE_SHIFT)]
    }
}

impl std::fmt::Display for Collation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// Reads the flags of the wire into suffix bits.
const fn wire_bits(info: u32) -> u16 {
    if info & (1 << 25) != 0 {
        return BINARY2 | if info & (1 << 26) != 0 { UTF8 } else { 0 };
    }
    if info & (1 << 24) != 0 {
        return BINARY;
    }
    let mut bits = 0;
    if info & (1 << 20) == 0 {
        bits |= CASE_SENSITIVE;
    }
    if info & (1 << 21) != 0 {
        bits |= ACCENT_INSENSITIVE;
    }
    if info & (1 << 22) == 0 {
        bits |= KANA_SENSITIVE;
    }
    if info & (1 << 23) == 0 {
        bits |= WIDTH_SENSITIVE;
    }
    if info & (1 << 26) != 0 {
        bits |= UTF8 | SUPPLEMENTARY;
    }
    bits
}

/// Writes the suffix for `bits`.
fn suffix_name(bits: u16) -> String {
    let has = |bit: u16| bits & bit != 0;
    let mut words = match (has(BINARY), has(BINARY2)) {
        (true, _) => vec!["BIN"],
        (_, true) => vec!["BIN2"],
        _ => vec![
            if has(CASE_SENSITIVE) { "CS" } else { "CI" },
            if has(ACCENT_INSENSITIVE) { "AI" } else { "AS" },
        ],
    };
    let rest = [
        (KANA_SENSITIVE, "KS"),
        (WIDTH_SENSITIVE, "WS"),
        (VARIATION_SENSITIVE, "VSS"),
        (SUPPLEMENTARY, "SC"),
        (UTF8, "UTF8"),
    ];
    words.extend(rest.iter().filter(|(bit, _)| has(*bit)).map(|(_, word)| *word));
    words.join("_")
}

/// Reads a suffix; `None` if no base of this family has it.
fn suffix_bits(suffix: &str, family: &Family) -> Option<u16> {
    let mut bits = 0;
    for word in suffix.split('_') {
        let (_, bit) = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word))?;
        bits |= bit;
    }
    // Writing the bits out again checks the order of the words and that none is missing.
    if !suffix_name(bits).eq_ignore_ascii_case(suffix) {
        return None;
    }
    let has = |bit: u16| bits & bit != 0;
    let known = match family {
        Family::Sql(suffixes) => suffixes.iter().any(|(s, _)| s.eq_ignore_ascii_case(suffix)),
        Family::Windows(version) => {
            let plain = *version >= 2 || !has(SUPPLEMENTARY | UTF8);
            let variation = *version >= 3 || !has(VARIATION_SENSITIVE);
            let utf8 = !has(UTF8) || has(SUPPLEMENTARY | BINARY2);
            let binary = !has(BINARY | BINARY2) || bits & !(BINARY | BINARY2 | UTF8) == 0;
            plain && variation && utf8 && binary && !(has(BINARY) && has(UTF8))
        }
    };
    known.then_some(bits)
}

#[cfg(test)]
mod order_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_is_what_drivers_know() {
        let collation = Collation::default();
        assert_eq!(collation.name(), "SQL_Latin1_General_CP1_CI_AS");
        assert_eq!(collation.to_wire(), [0x09, 0x04, 0xD0, 0x00, 0x34]);
        assert_eq!(collation.to_wire(), DEFAULT_WIRE);
        assert_eq!(Collation::from_wire(DEFAULT_WIRE), collation);
        assert_eq!(Collation::from_wire([0; 5]), collation);
        assert_eq!(collation.comparison_style(), 196_609);
    }

    #[test]
    fn names_and_wire_forms_come_back() {
        let mut count = 0;
        for collation in Collation::all() {
            count += 1;
            assert_eq!(Collation::by_name(&collation.name()), Some(collation), "{collation}");
            assert_eq!(Collation::by_name(&collation.name().to_lowercase()), Some(collation));
            if collation.0 & (SUPPLEMENTARY | VARIATION_SENSITIVE) == 0 {
                assert_eq!(Collation::from_wire(collation.to_wire()), collation, "{collation}");
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn known_names_are_found_and_others_not() {
        for name in [
            "SQL_Latin1_General_CP1_CS_AS",
            "SQL_Latin1_General_CP1_CI_AI",
            "Latin1_General_CI_AS",
            "Latin1_General_BIN",
            "Latin1_General_BIN2",
            "Latin1_General_100_BIN2",
            "Latin1_General_100_CI_AI_KS_WS",
            "Latin1_General_100_CI_AS_SC",
            "Latin1_General_100_CI_AS_SC_UTF8",
            "Latin1_General_100_BIN2_UTF8",
        ] {
            assert_eq!(Collation::by_name(name).map(Collation::name).as_deref(), Some(name));
        }
        for name in ["Latin1_General_AS_CI", "Latin1_General", "x", "SQL_Latin1_General_CP1_BIN2"] {
            assert_eq!(Collation::by_name(name), None, "{name}");
        }
        let bin2 = Collation::by_name("Latin1_General_100_BIN2");
        assert_eq!(bin2, Some(Collation::LATIN1_GENERAL_100_BIN2));
    }
}
