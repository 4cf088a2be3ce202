//! The alphabets of languages: letters that a language sorts elsewhere than under their base letter.
//!
//! A rule such as `z<å<ä=æ<ö=ø` says that å, ä and ö are separate letters behind z, and that æ
//! differs from ä as an accent does. Several letters in a rule are one (`h<ch`). The rules are those
//! of the languages' dictionaries, as Unicode's locale data (CLDR) has them; where Windows sorts a
//! language in several ways, the common one.
//!
//! A rule becomes numbers when its collation is first used.

use std::sync::OnceLock;

use super::CodePage;
use super::decompose;
use super::double_byte::DoubleByte;
use super::weights::{PLAIN, to_lower};

/// Which alphabet a family of collations has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// The alphabet without own letters.
    Root,
    Albanian,
    AzeriLatin,
    Breton,
    Croatian,
    Czech,
    Danish,
    Estonian,
    /// Chinese characters in the order of code page 936, which has the frequent ones by Pinyin.
    HanPinyin,
    /// Chinese characters in the order of code page 950: by the number of strokes.
    HanStroke,
    /// Chinese characters in the order of code page 932, which has the frequent ones by reading.
    HanJapanese,
    Hungarian,
    Icelandic,
    Latvian,
    Lithuanian,
    Maltese,
    PhoneBook,
    Polish,
    Romanian,
    SamiNorway,
    SamiSweden,
    Slovak,
    Slovenian,
    Spanish,
    SpanishTraditional,
    Swedish,
    Thai,
    Turkish,
    Turkmen,
    UpperSorbian,
    Vietnamese,
    Welsh,
}

const ALPHABETS: usize = Alphabet::Welsh as usize + 1;

impl Alphabet {
    /// Returns the rules; letters in lower case.
    const fn rules(self) -> &'static str {
        match self {
            Self::Root | Self::PhoneBook | Self::Thai => "",
            Self::HanPinyin | Self::HanStroke | Self::HanJapanese => "",
            Self::Albanian => "c<ç d<dh e<ë g<gj l<ll n<nj r<rr s<sh t<th x<xh z<zh",
            Self::AzeriLatin => "c<ç e<ə g<ğ h<x<ı k<q o<ö s<ş u<ü",
            Self::Breton => "c<ch",
            Self::Croatian => "c<č<ć d<dž<đ l<lj n<nj s<š z<ž",
            Self::Czech => "c<č h<ch r<ř s<š z<ž",
            Self::Danish => "y=ü z<æ=ä<ø=ö=ő<å=aa",
            Self::Estonian => "s<š<z<ž w<õ<ä<ö<ü",
            Self::Hungarian => "c<cs d<dz<dzs g<gy l<ly n<ny o<ö=ő s<sz t<ty u<ü=ű z<zs",
            Self::Icelandic => "a<á d<ð e<é i<í o<ó u<ú y<ý z<þ<æ=ä<ö=ø<å",
            Self::Latvian => "c<č g<ģ i<y k<ķ l<ļ n<ņ r<ŗ s<š z<ž",
            Self::Lithuanian => "c<č i<y s<š z<ž",
            Self::Maltese => "b<ċ f<ġ g<għ h<ħ y<ż",
            Self::Polish => "a<ą c<ć e<ę l<ł n<ń o<ó s<ś z<ź<ż",
            Self::Romanian => "a<ă<â i<î s<ş=ș t<ţ=ț",
            Self::SamiNorway => "a<á c<č d<đ n<ŋ s<š t<ŧ z<ž<æ=ä<ø=ö<å",
            Self::SamiSweden => "a<á c<č d<đ n<ŋ s<š t<ŧ z<ž<å<ä=æ<ö=ø",
            Self::Slovak => "a<ä c<č h<ch o<ô r<ř s<š z<ž",
            Self::Slovenian => "c<č<ć d<đ s<š z<ž",
            Self::Spanish => "n<ñ",
            Self::SpanishTraditional => "c<ch l<ll n<ñ",
            Self::Swedish => "y=ü z<å<ä=æ<ö=ø",
            Self::Turkish => "c<ç g<ğ h<ı o<ö s<ş u<ü",
            Self::Turkmen => "c<ç e<ä j<ž n<ň o<ö s<ş u<ü y<ý",
            Self::UpperSorbian => "c<č<ć d<dź e<ě h<ch k<ł r<ř s<š z<ž<ź",
            Self::Vietnamese => "a<ă<â d<đ e<ê o<ô<ơ u<ư",
            Self::Welsh => "c<ch d<dd f<ff g<ng l<ll p<ph r<rh t<th",
        }
    }

    /// Returns whether I without a dot is the upper case of ı, and İ that of i.
    pub(super) const fn has_dotless_i(self) -> bool {
        matches!(self, Self::Turkish | Self::AzeriLatin)
    }

    /// Returns what the alphabet changes; `None` for the root.
    pub(super) fn tailoring(self) -> Option<&'static Tailoring> {
        static TAILORINGS: [OnceLock<Tailoring>; ALPHABETS] =
            [const { OnceLock::new() }; ALPHABETS];
        if self == Self::Root {
            return None;
        }
        Some(TAILORINGS[self as usize].get_or_init(|| Tailoring::new(self)))
    }
}

/// A letter of an alphabet.
#[derive(Clone, Copy)]
pub(super) struct Letter {
    pub(super) primary: u32,
    pub(super) secondary: u8,
}

/// What an alphabet changes.
pub(super) struct Tailoring {
    alphabet: Alphabet,
    /// Single characters in lower case, sorted.
    letters: Vec<(u32, Letter)>,
    /// A base letter and its mark, for letters that are written as two characters, or that have
    /// more marks.
    marked: Vec<(u32, u8, Letter)>,
    /// Letters of several characters in lower case, the longest first.
    contractions: Vec<(Vec<u32>, Letter)>,
    han: Option<&'static DoubleByte>,
    /// Whether ASCII alone may need more than a look at each character.
    pub(super) is_special: bool,
}

/// The secondary weight of a letter that a rule has behind `=`.
const VARIANT: u8 = PLAIN + 0x74;

impl Tailoring {
    fn new(alphabet: Alphabet) -> Self {
        let han = match alphabet {
            Alphabet::HanPinyin => CodePage::Cp936.double_byte(),
            Alphabet::HanStroke => CodePage::Cp950.double_byte(),
            Alphabet::HanJapanese => CodePage::Cp932.double_byte(),
            _ => None,
        };
        let is_special = alphabet.has_dotless_i() || alphabet == Alphabet::Thai;
        let mut made = Self {
            alphabet,
            letters: Vec::new(),
            marked: Vec::new(),
            contractions: Vec::new(),
            han,
            is_special,
        };
        alphabet.rules().split_whitespace().for_each(|rule| made.add_rule(rule));
        made.letters.sort_by_key(|(code, _)| *code);
        made.contractions.sort_by_key(|(codes, _)| std::cmp::Reverse(codes.len()));
        made
    }

    fn add_rule(&mut self, rule: &str) {
        for (place, group) in (1..).zip(rule.split('<')) {
            let place: u32 = place;
            for (variant, letter) in (0..).zip(group.split('=')) {
                let variant: u8 = variant;
                // The first of a rule is the letter that the others follow.
                if place == 1 && variant == 0 {
                    continue;
                }
                let after = rule.bytes().next().map_or(0, u32::from);
                let base = (after - u32::from(b'a') + u32::from(super::weights::LEAD_LETTER)) << 24;
                let primary = if place == 1 { base } else { base | 0x00FF_0000 | (place + 2) << 8 };
                let secondary = if variant == 0 { PLAIN } else { VARIANT + variant };
                self.add(letter, Letter { primary, secondary });
            }
        }
    }

    fn add(&mut self, text: &str, letter: Letter) {
        let codes: Vec<u32> = text.chars().map(u32::from).collect();
        if codes[0] < 0x80 {
            self.is_special = true;
        }
        let [code] = codes[..] else {
            self.contractions.push((codes, letter));
            return;
        };
        self.letters.push((code, letter));
        let decomposed = u16::try_from(code).ok().and_then(decompose::find);
        if let Some((base, [mark, 0, 0])) = decomposed {
            self.marked.push((u32::from(base), mark, letter));
        }
    }

    /// Returns the letter of one character in lower case.
    pub(super) fn letter(&self, lower: u32) -> Option<Letter> {
        let found = self.letters.binary_search_by_key(&lower, |(code, _)| *code).ok();
        found.map(|at| self.letters[at].1)
    }

    /// Returns the letter of a base letter in lower case with a mark; a mark is its distance from
    /// U+0300 plus one.
    pub(super) fn marked(&self, lower: u32, mark: u8) -> Option<Letter> {
        let found = self.marked.iter().find(|(base, m, _)| (*base, *m) == (lower, mark));
        found.map(|(_, _, letter)| *letter)
    }

    /// Returns the letter that the start of a text makes, the number of characters of it behind the
    /// first, and a bit for each that is in upper case. `first` is in lower case.
    pub(super) fn contraction(
        &self,
        first: u32,
        rest: impl Iterator<Item = u32> + Clone,
    ) -> Option<(Letter, usize, u8)> {
        let candidates = self.contractions.iter().filter(|(codes, _)| codes[0] == first);
        for (codes, letter) in candidates {
            let (mut behind, mut upper, mut is_it) = (rest.clone(), 0, true);
            for (place, wanted) in (1..).zip(&codes[1..]) {
                let Some(code) = behind.next() else {
                    is_it = false;
                    break;
                };
                is_it &= to_lower(code) == *wanted;
                upper |= u8::from(to_lower(code) != code) << place;
            }
            if is_it {
                return Some((*letter, codes.len() - 1, upper));
            }
        }
        None
    }

    /// Returns the two letters that a character compares as.
    pub(super) fn expansion(&self, lower: u32) -> Option<(u32, u32)> {
        if self.alphabet != Alphabet::PhoneBook {
            return None;
        }
        let (first, second) = match char::from_u32(lower)? {
            'ä' => ('a', 'e'),
            'ö' => ('o', 'e'),
            'ü' => ('u', 'e'),
            _ => return None,
        };
        Some((u32::from(first), u32::from(second)))
    }

    /// Returns the primary weight of a Chinese character, in the order of a code page; those that
    /// the page lacks follow.
    pub(super) fn han(&self, code: u32) -> Option<u32> {
        let page = self.han?;
        let unit = u16::try_from(code).ok().filter(|unit| (0x4E00..0xA000).contains(unit))?;
        Some(match page.code(unit) {
            0 => super::weights::other_letter(0x12_0000 + code, 0),
            number => super::weights::other_letter(0x11_0000 + u32::from(number), 0),
        })
    }

    /// Returns whether two characters are a Thai vowel that is written before its consonant, and
    /// that consonant: they sort in the order in which they are spoken.
    pub(super) fn is_swapped(&self, first: u32, second: u32) -> bool {
        self.alphabet == Alphabet::Thai
            && matches!(first, 0x0E40..=0x0E44)
            && matches!(second, 0x0E01..=0x0E2E)
    }

    /// Returns whether I and İ are cased as in Turkish.
    pub(super) fn has_dotless_i(&self) -> bool {
        self.alphabet.has_dotless_i()
    }
}
