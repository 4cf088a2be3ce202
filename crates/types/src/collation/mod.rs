//! Collations: how strings compare, sort and are encoded on the wire.
//!
//! A collation is sixteen bits: a base (`family.rs`: language, version, code page) and the
//! sensitivities that its name's suffix spells out. `weights.rs` turns characters into weights,
//! `tailoring.rs` has the alphabets of languages, `order.rs` compares and makes sort keys,
//! `like/mod.rs` matches, `code_page.rs` and `double_byte.rs` decode.
//!
//! One simplification against SQL Server, of order and not of equality: a string sorts before any
//! longer one that starts with it (SQL Server puts those that continue with a control character
//! first).

mod code_page;
mod decompose;
mod double_byte;
mod family;
mod kana;
mod like;
mod long_order;
mod order;
mod tailoring;
mod weights;

pub use code_page::CodePage;
pub use like::{LikePattern, PATTERN_BYTES_MAX, check_pattern};

use crate::{DataType, Msg, Result};
use family::{BASES, Base, Kind};

/// A collation: its base (language, version, code page) and its sensitivities. Copy, two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(u16);

/// The default collation as its five bytes on the wire.
const DEFAULT_WIRE: [u8; 5] = [0x09, 0x04, 0xD0, 0x00, 0x34];

const CASE_SENSITIVE: u16 = 1;
const ACCENT_INSENSITIVE: u16 = 1 << 1;
const KANA_SENSITIVE: u16 = 1 << 2;
const WIDTH_SENSITIVE: u16 = 1 << 3;
/// `_BIN`, or `_BIN2` with [`CASE_SENSITIVE`].
const BINARY: u16 = 1 << 4;
const BINARY2: u16 = BINARY | CASE_SENSITIVE;
/// `_SC`. The collations of version 140 have it without saying so.
const SUPPLEMENTARY: u16 = 1 << 5;
const UTF8: u16 = 1 << 6;
const VARIATION_SENSITIVE: u16 = 1 << 7;
const BASE_SHIFT: u32 = 8;

/// The first number of a stored collation. Smaller ones are of the first format; see
/// [`Collation::from_stored`].
const STORED_FIRST: u16 = 1 << 13;

/// The words of suffixes, in the order in which a name has them, with the bits of each.
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
    pub const LATIN1_GENERAL_100_BIN2: Self = Self((2 << BASE_SHIFT) | BINARY2);

    /// Looks a collation up by name, in any case; `None` if there is none of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        BASES.iter().zip(0u16..).find_map(|(base, index)| {
            let tail = strip_prefix(name, base.family.name)?;
            let suffix = strip_prefix(tail, base.version_name())?.strip_prefix('_')?;
            Some(Self((index << BASE_SHIFT) | suffix_bits(suffix, base)?))
        })
    }

    /// Looks up the collation of a COLLATE clause for values of a type.
    ///
    /// # Errors
    /// 448 for an unknown name, 459 for a collation that strings of a code page can't have.
    pub fn of_clause(name: &str, data_type: &DataType) -> Result<Self> {
        let collation = Self::by_name(name).ok_or(Msg::InvalidCollation(name))?;
        let is_bytes = data_type.is_string() && !data_type.is_unicode();
        if is_bytes && collation.is_unicode_only() {
            return Err(Msg::UnicodeOnlyCollation(name).into());
        }
        Ok(collation)
    }

    /// Looks up the collation of a database.
    ///
    /// # Errors
    /// 448 for an unknown name, 453 for a collation that is for Unicode types only.
    pub fn of_database(name: &str) -> Result<Self> {
        let collation = Self::by_name(name).ok_or(Msg::InvalidCollation(name))?;
        match collation.is_unicode_only() {
            true => Err(Msg::UnicodeOnlyOfDatabase(name).into()),
            false => Ok(collation),
        }
    }

    /// Returns every collation, in the order of the table of families: what `fn_helpcollations`
    /// lists.
    pub fn all() -> impl Iterator<Item = Self> {
        BASES.iter().zip(0u16..).flat_map(move |(base, index)| {
            (0..1 << BASE_SHIFT)
                .filter(|bits| is_suffix(*bits, base))
                .map(move |bits| Self((index << BASE_SHIFT) | bits))
        })
    }

    /// Returns the number of this collation in a stored value.
    pub(crate) const fn to_stored(self) -> u16 {
        if self.0 == 0 { 0 } else { STORED_FIRST + self.0 }
    }

    /// Returns the collation of a stored number. Numbers below [`STORED_FIRST`] are of the format
    /// that had sixteen bases of nine bits each.
    pub(crate) fn from_stored(stored: u16) -> Self {
        const FIRST_BASES: [&str; 16] = [
            "SQL_Latin1_General_CP1",
            "SQL_Latin1_General_Pref_CP1",
            "SQL_Latin1_General_CP437",
            "SQL_Latin1_General_CP850",
            "SQL_Latin1_General_CP1250",
            "SQL_Latin1_General_CP1251",
            "SQL_Latin1_General_CP1253",
            "SQL_Latin1_General_CP1255",
            "SQL_Latin1_General_CP1256",
            "SQL_Latin1_General_CP1257",
            "Latin1_General",
            "Latin1_General_100",
            "Cyrillic_General",
            "Cyrillic_General_100",
            "Greek",
            "Greek_100",
        ];
        if let Some(number) = stored.checked_sub(STORED_FIRST) {
            let known = usize::from(number >> BASE_SHIFT) < BASES.len();
            return if known { Self(number) } else { Self::default() };
        }
        let has = |bit: u32| stored & 1 << bit != 0;
        let bits = match (has(4), has(5)) {
            (true, _) => BINARY,
            (_, true) => BINARY2,
            _ => stored & (CASE_SENSITIVE | ACCENT_INSENSITIVE | KANA_SENSITIVE | WIDTH_SENSITIVE),
        };
        let bits = bits | if has(6) { SUPPLEMENTARY } else { 0 } | if has(7) { UTF8 } else { 0 };
        let name = FIRST_BASES[usize::from(stored >> 9)];
        Self::by_name(&format!("{name}_{}", suffix_name(bits, 0))).unwrap_or_default()
    }

    /// Returns the collation's name.
    pub fn name(self) -> String {
        let base = self.base();
        let suffix = suffix_name(self.bits(), base.version);
        format!("{}{}_{suffix}", base.family.name, base.version_name())
    }

    /// Returns the five bytes of the wire: LCID, flags, version, sort id. `[MS-TDS] 2.2.5.1.2`
    pub fn to_wire(self) -> [u8; 5] {
        let (version, sort_id) = (self.version(), self.sort_id());
        let flag = |set: bool, bit: u32| u32::from(set) << bit;
        let ignores = !self.is_binary();
        let info = self.lcid()
            | flag(ignores && !self.has(CASE_SENSITIVE), 20)
            | flag(ignores && self.has(ACCENT_INSENSITIVE), 21)
            | flag(ignores && !self.has(KANA_SENSITIVE), 22)
            | flag(ignores && !self.has(WIDTH_SENSITIVE), 23)
            | flag(self.is_binary() && !self.is_code_point(), 24)
            | flag(self.is_code_point(), 25)
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
        let version = info >> 28;
        let found = BASES.iter().zip(0u16..).find_map(|(base, index)| match base.family.kind {
            Kind::Sql(suffixes) => {
                let (suffix, _) = suffixes.iter().find(|(suffix, id)| {
                    *id == sort_id && (bits & BINARY2 == BINARY2) == (*suffix == "BIN2")
                })?;
                Some((index << BASE_SHIFT) | suffix_bits(suffix, base)?)
            }
            Kind::Windows(_) => {
                let is_it =
                    sort_id == 0 && lcid == base.family.lcid && u32::from(base.version) == version;
                let bits = if version == 3 { with_supplementary(bits) } else { bits };
                (is_it && is_suffix(bits, base)).then_some((index << BASE_SHIFT) | bits)
            }
        });
        found.map(Self).unwrap_or_default()
    }

    /// Returns the name of the Windows language whose order `nvarchar` has, with its version:
    /// `Latin1_General_100`.
    pub fn language(self) -> String {
        let own = self.base();
        let windows = BASES
            .iter()
            .find(|base| own.is_sql() && !base.is_sql() && base.family.lcid == own.family.lcid);
        let base = windows.unwrap_or(own);
        format!("{}{}", base.family.name, base.version_name())
    }

    /// Returns the Windows locale identifier (LCID).
    pub fn lcid(self) -> u32 {
        self.base().family.lcid
    }

    /// Returns the version as COLLATIONPROPERTY has it: 0, 1 (`_90`), 2 (`_100`), 3 (`_140`).
    pub fn version(self) -> u8 {
        self.base().version
    }

    /// Returns the sort id of a SQL collation, 0 for a Windows collation.
    pub fn sort_id(self) -> u8 {
        match self.base().family.kind {
            Kind::Windows(_) => 0,
            Kind::Sql(suffixes) => {
                let name = suffix_name(self.bits(), 0);
                suffixes.iter().find(|(suffix, _)| *suffix == name).map_or(0, |(_, id)| *id)
            }
        }
    }

    /// Returns bytes by whose order strings of different collations compare within `sql_variant`: LCID, version,
    /// comparison flags, sort id ("sql_variant", Remarks), and those of the wire, which differ for any two collations.
    pub(crate) fn rank(self) -> [u8; 15] {
        let mut rank = [0; 15];
        rank[..4].copy_from_slice(&self.lcid().to_be_bytes());
        rank[4] = self.version();
        rank[5..9].copy_from_slice(&self.comparison_style().to_be_bytes());
        rank[9] = self.sort_id();
        rank[10..].copy_from_slice(&self.to_wire());
        rank
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
        if self.has(UTF8) { CodePage::Utf8 } else { self.base().family.code_page }
    }

    /// Returns whether this is a `_BIN` or `_BIN2` collation.
    pub const fn is_binary(self) -> bool {
        self.0 & BINARY != 0
    }

    /// Returns whether this is a `_BIN2` collation.
    pub const fn is_code_point(self) -> bool {
        self.0 & BINARY2 == BINARY2
    }

    /// Returns whether `char` and `varchar` can't have this collation, since its language has no
    /// code page.
    pub fn is_unicode_only(self) -> bool {
        self.code_page() == CodePage::Unicode
    }

    /// Returns whether upper and lower case differ.
    pub const fn is_case_sensitive(self) -> bool {
        self.0 & (BINARY | CASE_SENSITIVE) != 0
    }

    /// Returns whether string functions count supplementary characters as one (`_SC`).
    pub const fn is_supplementary_aware(self) -> bool {
        self.0 & (SUPPLEMENTARY | UTF8) != 0
    }

    /// Returns whether I is the upper case of ı, and İ that of i, as in Turkish.
    pub fn has_dotless_i(self) -> bool {
        self.base().family.alphabet.has_dotless_i()
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

/// Cuts a prefix off, in any case.
fn strip_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (head, tail) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(tail)
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

/// Adds what a linguistic collation of version 140 has without saying so.
const fn with_supplementary(bits: u16) -> u16 {
    if bits & BINARY == 0 { bits | SUPPLEMENTARY } else { bits }
}

/// Writes the suffix for `bits`.
fn suffix_name(bits: u16, version: u8) -> String {
    let has = |bit: u16| bits & bit != 0;
    let mut words = match (has(BINARY), has(CASE_SENSITIVE)) {
        (true, false) => vec!["BIN"],
        (true, true) => vec!["BIN2"],
        (false, case) => {
            vec![if case { "CS" } else { "CI" }, if has(ACCENT_INSENSITIVE) { "AI" } else { "AS" }]
        }
    };
    let rest = [
        (KANA_SENSITIVE, "KS"),
        (WIDTH_SENSITIVE, "WS"),
        (VARIATION_SENSITIVE, "VSS"),
        (if version == 3 { 0 } else { SUPPLEMENTARY }, "SC"),
        (UTF8, "UTF8"),
    ];
    words.extend(rest.iter().filter(|(bit, _)| has(*bit)).map(|(_, word)| *word));
    words.join("_")
}

/// Reads a suffix; `None` if the base does not have it.
fn suffix_bits(suffix: &str, base: &Base) -> Option<u16> {
    let mut bits = 0;
    for word in suffix.split('_') {
        let (_, bit) = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word))?;
        bits |= bit;
    }
    let bits = if base.version == 3 { with_supplementary(bits) } else { bits };
    // Writing the bits out again checks the order of the words and that none is missing.
    let is_same = suffix_name(bits, base.version).eq_ignore_ascii_case(suffix);
    (is_same && is_suffix(bits, base)).then_some(bits)
}

/// Returns whether a base has a suffix. SQL Server documents: `_SC` for versions 90 and 100, `_VSS`
/// for 140, `_UTF8` with supplementary characters, and one collation with `_BIN2_UTF8`.
fn is_suffix(bits: u16, base: &Base) -> bool {
    let has = |bit: u16| bits & bit != 0;
    let version = match base.family.kind {
        Kind::Sql(suffixes) => {
            let is_plain = bits & !(CASE_SENSITIVE | ACCENT_INSENSITIVE) == 0;
            return (is_plain || has(BINARY) && bits & !BINARY2 == 0)
                && suffixes.iter().any(|(suffix, _)| *suffix == suffix_name(bits, 0));
        }
        Kind::Windows(_) => base.version,
    };
    if has(BINARY) {
        let is_one = base.family.name == "Latin1_General" && version == 2;
        return bits & !(BINARY2 | UTF8) == 0 && (!has(UTF8) || bits == BINARY2 | UTF8 && is_one);
    }
    let supplementary = match version {
        0 => !has(SUPPLEMENTARY),
        3 => has(SUPPLEMENTARY),
        _ => true,
    };
    supplementary
        && (version == 3 || !has(VARIATION_SENSITIVE))
        && (!has(UTF8) || has(SUPPLEMENTARY))
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
            assert_eq!(Collation::from_stored(collation.to_stored()), collation, "{collation}");
            if collation.bits() & (SUPPLEMENTARY | VARIATION_SENSITIVE) == 0 {
                assert_eq!(Collation::from_wire(collation.to_wire()), collation, "{collation}");
            }
        }
        // `SELECT COUNT(*) FROM sys.fn_helpcollations()` of SQL Server 2019 and 2022.
        assert_eq!(count, 5_508);
        let of_sql = Collation::all().filter(|c| c.name().starts_with("SQL_")).count();
        assert_eq!(of_sql, 77);
    }

    /// Numbers of the first format, in which rows of an earlier version have their collation.
    #[test]
    fn stored_numbers_of_the_first_format_are_read() {
        for (stored, name) in [
            (0, "SQL_Latin1_General_CP1_CI_AS"),
            (1, "SQL_Latin1_General_CP1_CS_AS"),
            (2 << 9 | 1 << 5, "SQL_Latin1_General_CP437_BIN2"),
            (10 << 9 | 1 | 1 << 2 | 1 << 3, "Latin1_General_CS_AS_KS_WS"),
            (11 << 9 | 1 << 5, "Latin1_General_100_BIN2"),
            (11 << 9 | 1 << 6 | 1 << 7, "Latin1_General_100_CI_AS_SC_UTF8"),
            (15 << 9 | 1 << 1, "Greek_100_CI_AI"),
            (15 << 9 | 1 << 4, "Greek_100_BIN"),
            (u16::MAX, "SQL_Latin1_General_CP1_CI_AS"),
        ] {
            assert_eq!(Collation::from_stored(stored).name(), name, "{stored}");
        }
    }

    /// Facts of the table of locales in SQL Server's documentation, and of `[MS-TDS]`.
    #[test]
    fn properties_are_those_of_sql_server() {
        for (name, page, lcid, version, sort_id) in [
            ("SQL_Latin1_General_CP1_CI_AS", 1252, 1033, 0, 52),
            ("SQL_Latin1_General_CP1254_CI_AS", 1254, 1055, 0, 130),
            ("SQL_Scandinavian_Pref_CP850_CI_AS", 850, 1035, 0, 58),
            ("SQL_MixDiction_CP1253_CS_AS", 1253, 1033, 0, 120),
            ("SQL_EBCDIC284_CP1_CS_AS", 1252, 3082, 0, 215),
            ("Albanian_CI_AS", 1250, 1052, 0, 0),
            ("Arabic_100_CI_AS", 1256, 1025, 2, 0),
            ("Chinese_Hong_Kong_Stroke_90_CI_AS", 950, 3076, 1, 0),
            ("Chinese_Traditional_Pinyin_100_CI_AS", 950, 5124, 2, 0),
            ("German_PhoneBook_CI_AS", 1252, 66_567, 0, 0),
            ("Hebrew_BIN2", 1255, 1037, 0, 0),
            ("Japanese_Unicode_CI_AS", 932, 66_577, 0, 0),
            ("Korean_90_CI_AS_SC", 949, 1042, 1, 0),
            ("Lithuanian_CI_AS", 1257, 1063, 0, 0),
            ("Modern_Spanish_CI_AS", 1252, 3082, 0, 0),
            ("Thai_100_CI_AS_SC_UTF8", 65_001, 1054, 2, 0),
            ("Ukrainian_CI_AS", 1251, 1058, 0, 0),
            ("Vietnamese_CI_AS", 1258, 1066, 0, 0),
        ] {
            let collation = Collation::by_name(name).unwrap_or_else(|| panic!("{name}"));
            let found = (collation.code_page().number(), collation.lcid(), collation.version());
            assert_eq!((found, collation.sort_id()), ((page, lcid, version), sort_id), "{name}");
        }
        let unicode_only = Collation::all().filter(|c| c.is_unicode_only());
        let mut languages: Vec<&str> = unicode_only.map(|c| c.base().family.name).collect();
        languages.dedup();
        assert_eq!(
            languages,
            [
                "Assamese",
                "Bengali",
                "Divehi",
                "Indic_General",
                "Khmer",
                "Lao",
                "Maltese",
                "Maori",
                "Nepali",
                "Pashto",
                "Syriac",
                "Tibetan"
            ]
        );
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
