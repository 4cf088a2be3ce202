//! The families of collations: a language, its code page and the versions that it comes in.
//!
//! SQL Server's list has 5,508 names. Each is a family of this table, a version of it, and a suffix;
//! `mod.rs` reads and writes the suffix. Names, locale identifiers and code pages are those of
//! `sys.fn_helpcollations` and COLLATIONPROPERTY of SQL Server 2022.

use super::CodePage;
use super::tailoring::Alphabet;

/// What a family's names end in.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A SQL collation: these suffixes and no other, each with its sort id.
    Sql(&'static [(&'static str, u8)]),
    /// A Windows collation, in these versions (0: none, 1: `_90`, 2: `_100`, 3: `_140`).
    Windows(&'static [u8]),
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Family {
    /// The name without version and suffix.
    pub(super) name: &'static str,
    /// The Windows locale identifier (LCID).
    pub(super) lcid: u32,
    /// The encoding of `varchar` where the suffix has no `UTF8`.
    pub(super) code_page: CodePage,
    /// The letters of the language.
    pub(super) alphabet: Alphabet,
    /// The versions or suffixes that there are.
    pub(super) kind: Kind,
}

/// A family in one version.
#[derive(Clone, Copy)]
pub(super) struct Base {
    /// The row of [`FAMILIES`].
    pub(super) family: Family,
    /// 0: none, 1: `_90`, 2: `_100`, 3: `_140`; 0 for a SQL collation.
    pub(super) version: u8,
}

impl Base {
    /// Returns the end of the name that is due to the version.
    pub(super) const fn version_name(&self) -> &'static str {
        ["", "_90", "_100", "_140"][self.version as usize]
    }

    /// Returns whether this is a SQL collation, in which `varchar` has another order than `nvarchar`.
    pub(super) const fn is_sql(&self) -> bool {
        matches!(self.family.kind, Kind::Sql(_))
    }
}

const fn sql(
    name: &'static str,
    (lcid, code_page): (u32, CodePage),
    alphabet: Alphabet,
    suffixes: &'static [(&'static str, u8)],
) -> Family {
    Family { name, lcid, code_page, alphabet, kind: Kind::Sql(suffixes) }
}

const fn windows(
    name: &'static str,
    (lcid, code_page): (u32, CodePage),
    alphabet: Alphabet,
    versions: &'static [u8],
) -> Family {
    Family { name, lcid, code_page, alphabet, kind: Kind::Windows(versions) }
}

/// The families in each version. A stored `sql_variant` has the index of its base, so a new base is
/// added at the end.
pub(super) static BASES: [Base; BASE_COUNT] = bases();

const BASE_COUNT: usize = base_count();

const fn versions(family: &Family) -> &'static [u8] {
    match family.kind {
        Kind::Sql(_) => &[0],
        Kind::Windows(versions) => versions,
    }
}

const fn base_count() -> usize {
    let (mut count, mut at) = (0, 0);
    while at < FAMILIES.len() {
        count += versions(&FAMILIES[at]).len();
        at += 1;
    }
    assert!(count <= 224, "a stored base has a number below 224");
    count
}

const fn bases() -> [Base; BASE_COUNT] {
    let mut bases = [Base { family: FAMILIES[0], version: 0 }; BASE_COUNT];
    let (mut count, mut at) = (0, 0);
    while at < FAMILIES.len() {
        let versions = versions(&FAMILIES[at]);
        let mut which = 0;
        while which < versions.len() {
            bases[count] = Base { family: FAMILIES[at], version: versions[which] };
            count += 1;
            which += 1;
        }
        at += 1;
    }
    bases
}

use Alphabet::{
    Albanian, AzeriLatin, Breton, Croatian, Czech, Danish, Estonian, HanJapanese, HanPinyin,
    HanStroke, Hungarian, Icelandic, Latvian, Lithuanian, Maltese, PhoneBook, Polish, Romanian,
    Root, SamiNorway, SamiSweden, Slovak, Slovenian, Spanish, SpanishTraditional, Swedish, Thai,
    Turkish, Turkmen, UpperSorbian, Vietnamese, Welsh,
};
use CodePage::{
    Cp437, Cp850, Cp874, Cp932, Cp936, Cp949, Cp950, Cp1250, Cp1251, Cp1252, Cp1253, Cp1254,
    Cp1255, Cp1256, Cp1257, Cp1258, Unicode,
};

/// The versions of a family that is there from the start and was revised in 2008.
const OLD_AND_100: &[u8] = &[0, 2];
const OLD: &[u8] = &[0];
const OLD_AND_90: &[u8] = &[0, 1];
const ONLY_90: &[u8] = &[1];
const FROM_90: &[u8] = &[1, 2];
const FROM_100: &[u8] = &[2];
const FROM_100_AND_140: &[u8] = &[2, 3];

/// The suffixes of a SQL collation with and without case.
macro_rules! cases {
    ($insensitive:literal, $sensitive:literal) => {
        &[("CI_AS", $insensitive), ("CS_AS", $sensitive)]
    };
}

/// The table. The first two rows are the server's default and the collation of internal names.
#[rustfmt::skip]
static FAMILIES: &[Family] = &[
    sql("SQL_Latin1_General_CP1", (0x0409, Cp1252), Root, &[("CI_AI", 54), ("CI_AS", 52), ("CS_AS", 51)]),
    windows("Latin1_General", (0x0409, Cp1252), Root, OLD_AND_100),
    sql("SQL_1xCompat_CP850", (0x0409, Cp850), Root, &[("CI_AS", 49)]),
    sql("SQL_AltDiction_CP850", (0x0409, Cp850), Root, &[("CI_AI", 57), ("CI_AS", 61), ("CS_AS", 55)]),
    sql("SQL_AltDiction_Pref_CP850", (0x0409, Cp850), Root, &[("CI_AS", 56)]),
    sql("SQL_AltDiction2_CP1253", (0x0409, Cp1253), Root, &[("CS_AS", 122)]),
    sql("SQL_Croatian_CP1250", (0x041a, Cp1250), Croatian, cases!(92, 91)),
    sql("SQL_Czech_CP1250", (0x0405, Cp1250), Czech, cases!(84, 83)),
    sql("SQL_Danish_Pref_CP1", (0x0406, Cp1252), Danish, &[("CI_AS", 183)]),
    sql("SQL_EBCDIC037_CP1", (0x0409, Cp1252), Root, &[("CS_AS", 210)]),
    sql("SQL_EBCDIC1141_CP1", (0x10407, Cp1252), PhoneBook, &[("CS_AS", 219)]),
    sql("SQL_EBCDIC273_CP1", (0x10407, Cp1252), PhoneBook, &[("CS_AS", 211)]),
    sql("SQL_EBCDIC277_2_CP1", (0x0406, Cp1252), Danish, &[("CS_AS", 218)]),
    sql("SQL_EBCDIC277_CP1", (0x0406, Cp1252), Danish, &[("CS_AS", 212)]),
    sql("SQL_EBCDIC278_CP1", (0x040b, Cp1252), Swedish, &[("CS_AS", 213)]),
    sql("SQL_EBCDIC280_CP1", (0x0409, Cp1252), Root, &[("CS_AS", 214)]),
    sql("SQL_EBCDIC284_CP1", (0x0c0a, Cp1252), Spanish, &[("CS_AS", 215)]),
    sql("SQL_EBCDIC285_CP1", (0x0409, Cp1252), Root, &[("CS_AS", 216)]),
    sql("SQL_EBCDIC297_CP1", (0x040c, Cp1252), Root, &[("CS_AS", 217)]),
    sql("SQL_Estonian_CP1257", (0x0425, Cp1257), Estonian, cases!(156, 155)),
    sql("SQL_Hungarian_CP1250", (0x040e, Cp1250), Hungarian, cases!(86, 85)),
    sql("SQL_Icelandic_Pref_CP1", (0x040f, Cp1252), Icelandic, &[("CI_AS", 186)]),
    sql("SQL_Latin1_General_CP1250", (0x0409, Cp1250), Root, cases!(82, 81)),
    sql("SQL_Latin1_General_CP1251", (0x0409, Cp1251), Root, cases!(106, 105)),
    sql("SQL_Latin1_General_CP1253", (0x0409, Cp1253), Root, &[("CI_AI", 124), ("CI_AS", 114), ("CS_AS", 113)]),
    sql("SQL_Latin1_General_CP1254", (0x041f, Cp1254), Turkish, cases!(130, 129)),
    sql("SQL_Latin1_General_CP1255", (0x0409, Cp1255), Root, cases!(138, 137)),
    sql("SQL_Latin1_General_CP1256", (0x0409, Cp1256), Root, cases!(146, 145)),
    sql("SQL_Latin1_General_CP1257", (0x0409, Cp1257), Root, cases!(154, 153)),
    sql("SQL_Latin1_General_CP437", (0x0409, Cp437), Root, &[("BIN", 30), ("BIN2", 30), ("CI_AI", 34), ("CI_AS", 32), ("CS_AS", 31)]),
    sql("SQL_Latin1_General_CP850", (0x0409, Cp850), Root, &[("BIN", 40), ("BIN2", 40), ("CI_AI", 44), ("CI_AS", 42), ("CS_AS", 41)]),
    sql("SQL_Latin1_General_Pref_CP1", (0x0409, Cp1252), Root, &[("CI_AS", 53)]),
    sql("SQL_Latin1_General_Pref_CP437", (0x0409, Cp437), Root, &[("CI_AS", 33)]),
    sql("SQL_Latin1_General_Pref_CP850", (0x0409, Cp850), Root, &[("CI_AS", 43)]),
    sql("SQL_Latvian_CP1257", (0x0426, Cp1257), Latvian, cases!(158, 157)),
    sql("SQL_Lithuanian_CP1257", (0x0427, Cp1257), Lithuanian, cases!(160, 159)),
    sql("SQL_MixDiction_CP1253", (0x0409, Cp1253), Root, &[("CS_AS", 120)]),
    sql("SQL_Polish_CP1250", (0x0415, Cp1250), Polish, cases!(88, 87)),
    sql("SQL_Romanian_CP1250", (0x0418, Cp1250), Romanian, cases!(90, 89)),
    sql("SQL_Scandinavian_CP850", (0x040b, Cp850), Swedish, cases!(60, 59)),
    sql("SQL_Scandinavian_Pref_CP850", (0x040b, Cp850), Swedish, &[("CI_AS", 58)]),
    sql("SQL_Slovak_CP1250", (0x041b, Cp1250), Slovak, cases!(94, 93)),
    sql("SQL_Slovenian_CP1250", (0x0424, Cp1250), Slovenian, cases!(96, 95)),
    sql("SQL_SwedishPhone_Pref_CP1", (0x040b, Cp1252), Swedish, &[("CI_AS", 184)]),
    sql("SQL_SwedishStd_Pref_CP1", (0x040b, Cp1252), Swedish, &[("CI_AS", 185)]),
    sql("SQL_Ukrainian_CP1251", (0x0422, Cp1251), Root, cases!(108, 107)),
    windows("Albanian", (0x041c, Cp1250), Albanian, OLD_AND_100),
    windows("Arabic", (0x0401, Cp1256), Root, OLD_AND_100),
    windows("Assamese", (0x044d, Unicode), Root, FROM_100),
    windows("Azeri_Cyrillic", (0x082c, Cp1251), Root, FROM_100),
    windows("Azeri_Latin", (0x042c, Cp1254), AzeriLatin, FROM_100),
    windows("Bashkir", (0x046d, Cp1251), Root, FROM_100),
    windows("Bengali", (0x0445, Unicode), Root, FROM_100),
    windows("Bosnian_Cyrillic", (0x201a, Cp1251), Root, FROM_100),
    windows("Bosnian_Latin", (0x141a, Cp1250), Croatian, FROM_100),
    windows("Breton", (0x047e, Cp1252), Breton, FROM_100),
    windows("Chinese_Hong_Kong_Stroke", (0x0c04, Cp950), HanStroke, ONLY_90),
    windows("Chinese_PRC", (0x0804, Cp936), HanPinyin, OLD_AND_90),
    windows("Chinese_PRC_Stroke", (0x20804, Cp936), Root, OLD_AND_90),
    windows("Chinese_Simplified_Pinyin", (0x0804, Cp936), HanPinyin, FROM_100),
    windows("Chinese_Simplified_Stroke_Order", (0x20804, Cp936), Root, FROM_100),
    windows("Chinese_Taiwan_Bopomofo", (0x30404, Cp950), Root, OLD_AND_90),
    windows("Chinese_Taiwan_Stroke", (0x0404, Cp950), HanStroke, OLD_AND_90),
    windows("Chinese_Traditional_Bopomofo", (0x30404, Cp950), Root, FROM_100),
    windows("Chinese_Traditional_Pinyin", (0x1404, Cp950), Root, FROM_100),
    windows("Chinese_Traditional_Stroke_Count", (0x0404, Cp950), HanStroke, FROM_100),
    windows("Chinese_Traditional_Stroke_Order", (0x21404, Cp950), Root, FROM_100),
    windows("Corsican", (0x0483, Cp1252), Root, FROM_100),
    windows("Croatian", (0x041a, Cp1250), Croatian, OLD_AND_100),
    windows("Cyrillic_General", (0x0419, Cp1251), Root, OLD_AND_100),
    windows("Czech", (0x0405, Cp1250), Czech, OLD_AND_100),
    windows("Danish_Greenlandic", (0x0406, Cp1252), Danish, FROM_100),
    windows("Danish_Norwegian", (0x0406, Cp1252), Danish, OLD),
    windows("Dari", (0x048c, Cp1256), Root, FROM_100),
    windows("Divehi", (0x0465, Unicode), Root, FROM_90),
    windows("Estonian", (0x0425, Cp1257), Estonian, OLD_AND_100),
    windows("Finnish_Swedish", (0x040b, Cp1252), Swedish, OLD_AND_100),
    windows("French", (0x040c, Cp1252), Root, OLD_AND_100),
    windows("Frisian", (0x0462, Cp1252), Root, FROM_100),
    windows("Georgian_Modern_Sort", (0x10437, Cp1252), Root, OLD_AND_100),
    windows("German_PhoneBook", (0x10407, Cp1252), PhoneBook, OLD_AND_100),
    windows("Greek", (0x0408, Cp1253), Root, OLD_AND_100),
    windows("Hebrew", (0x040d, Cp1255), Root, OLD_AND_100),
    windows("Hungarian", (0x040e, Cp1250), Hungarian, OLD_AND_100),
    windows("Hungarian_Technical", (0x1040e, Cp1250), Hungarian, OLD_AND_100),
    windows("Icelandic", (0x040f, Cp1252), Icelandic, OLD_AND_100),
    windows("Indic_General", (0x0439, Unicode), Root, FROM_90),
    windows("Japanese", (0x0411, Cp932), HanJapanese, OLD_AND_90),
    windows("Japanese_Bushu_Kakusu", (0x40411, Cp932), Root, FROM_100_AND_140),
    windows("Japanese_Unicode", (0x10411, Cp932), Root, OLD),
    windows("Japanese_XJIS", (0x0411, Cp932), HanJapanese, FROM_100_AND_140),
    windows("Kazakh", (0x043f, Cp1251), Root, FROM_90),
    windows("Khmer", (0x0453, Unicode), Root, FROM_100),
    windows("Korean", (0x0412, Cp949), Root, FROM_90),
    windows("Korean_Wansung", (0x0412, Cp949), Root, OLD),
    windows("Lao", (0x0454, Unicode), Root, FROM_100),
    windows("Latvian", (0x0426, Cp1257), Latvian, OLD_AND_100),
    windows("Lithuanian", (0x0427, Cp1257), Lithuanian, OLD_AND_100),
    windows("Macedonian_FYROM", (0x042f, Cp1251), Root, FROM_90),
    windows("Maltese", (0x043a, Unicode), Maltese, FROM_100),
    windows("Maori", (0x0481, Unicode), Root, FROM_100),
    windows("Mapudungan", (0x047a, Cp1252), Root, FROM_100),
    windows("Modern_Spanish", (0x0c0a, Cp1252), Spanish, OLD_AND_100),
    windows("Mohawk", (0x047c, Cp1252), Root, FROM_100),
    windows("Nepali", (0x0461, Unicode), Root, FROM_100),
    windows("Norwegian", (0x0414, Cp1252), Danish, FROM_100),
    windows("Pashto", (0x0463, Unicode), Root, FROM_100),
    windows("Persian", (0x0429, Cp1256), Root, FROM_100),
    windows("Polish", (0x0415, Cp1250), Polish, OLD_AND_100),
    windows("Romanian", (0x0418, Cp1250), Romanian, OLD_AND_100),
    windows("Romansh", (0x0417, Cp1252), Root, FROM_100),
    windows("Sami_Norway", (0x043b, Cp1252), SamiNorway, FROM_100),
    windows("Sami_Sweden_Finland", (0x083b, Cp1252), SamiSweden, FROM_100),
    windows("Serbian_Cyrillic", (0x0c1a, Cp1251), Root, FROM_100),
    windows("Serbian_Latin", (0x081a, Cp1250), Croatian, FROM_100),
    windows("Slovak", (0x041b, Cp1250), Slovak, OLD_AND_100),
    windows("Slovenian", (0x0424, Cp1250), Slovenian, OLD_AND_100),
    windows("Syriac", (0x045a, Unicode), Root, FROM_90),
    windows("Tamazight", (0x085f, Cp1252), Root, FROM_100),
    windows("Tatar", (0x0444, Cp1251), Root, FROM_90),
    windows("Thai", (0x041e, Cp874), Thai, OLD_AND_100),
    windows("Tibetan", (0x0451, Unicode), Root, FROM_100),
    windows("Traditional_Spanish", (0x040a, Cp1252), SpanishTraditional, OLD_AND_100),
    windows("Turkish", (0x041f, Cp1254), Turkish, OLD_AND_100),
    windows("Turkmen", (0x0442, Cp1250), Turkmen, FROM_100),
    windows("Uighur", (0x0480, Cp1256), Root, FROM_100),
    windows("Ukrainian", (0x0422, Cp1251), Root, OLD_AND_100),
    windows("Upper_Sorbian", (0x042e, Cp1252), UpperSorbian, FROM_100),
    windows("Urdu", (0x0420, Cp1256), Root, FROM_100),
    windows("Uzbek_Latin", (0x0443, Cp1254), Root, FROM_90),
    windows("Vietnamese", (0x042a, Cp1258), Vietnamese, OLD_AND_100),
    windows("Welsh", (0x0452, Cp1252), Welsh, FROM_100),
    windows("Yakut", (0x0485, Cp1251), Root, FROM_100),
];
