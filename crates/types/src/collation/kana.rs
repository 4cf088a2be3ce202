//! Kana: the two syllabaries of Japanese, each in a full and a half width.
//!
//! A collation that ignores kana type, width and case finds all forms of a syllable equal: か, カ and
//! ｶ, and つ and っ. The voicing mark (が) counts as an accent does.

/// The mark of a voiced syllable, が.
pub(super) const VOICED: u8 = 0x74;
/// The mark of a half-voiced syllable, ぱ.
pub(super) const HALF_VOICED: u8 = 0x75;

/// A syllable, as its base form and how it is written.
pub(super) struct Kana {
    /// The hiragana of full size without a mark.
    pub(super) base: u32,
    /// [`VOICED`], [`HALF_VOICED`], or 0.
    pub(super) mark: u8,
    /// Whether it is written small, as っ is.
    pub(super) is_small: bool,
    /// Whether it is katakana.
    pub(super) is_katakana: bool,
    /// Whether it has half the width.
    pub(super) is_narrow: bool,
}

/// The hiragana of half-width katakana, from U+FF66; the sign for a long vowel is among them.
const NARROW: [char; 56] = [
    'を', 'ぁ', 'ぃ', 'ぅ', 'ぇ', 'ぉ', 'ゃ', 'ゅ', 'ょ', 'っ', 'ー', 'あ', 'い', 'う', 'え', 'お',
    'か', 'き', 'く', 'け', 'こ', 'さ', 'し', 'す', 'せ', 'そ', 'た', 'ち', 'つ', 'て', 'と', 'な',
    'に', 'ぬ', 'ね', 'の', 'は', 'ひ', 'ふ', 'へ', 'ほ', 'ま', 'み', 'む', 'め', 'も', 'や', 'ゆ',
    'よ', 'ら', 'り', 'る', 'れ', 'ろ', 'わ', 'ん',
];

/// Returns the syllable of a character; `None` for other characters.
pub(super) fn find(code: u32) -> Option<Kana> {
    let (hiragana, is_katakana, is_narrow) = match code {
        0x3041..=0x3096 => (code, false, false),
        0x30A1..=0x30F6 => (code - 0x60, true, false),
        0xFF66..=0xFF9D => {
            let place = usize::try_from(code - 0xFF66).ok()?;
            (u32::from(NARROW[place]), true, true)
        }
        _ => return None,
    };
    let (base, mark, is_small) = plain(hiragana);
    Some(Kana { base, mark, is_small, is_katakana, is_narrow })
}

/// Returns the syllable of full size without a mark, its mark, and whether it is small.
fn plain(hiragana: u32) -> (u32, u8, bool) {
    match hiragana {
        // Small あ い う え お, つ, や ゆ よ, わ: each is before its full form.
        0x3041 | 0x3043 | 0x3045 | 0x3047 | 0x3049 | 0x3063 | 0x3083 | 0x3085 | 0x3087 | 0x308E => {
            (hiragana + 1, 0, true)
        }
        0x3095 => (0x304B, 0, true),
        0x3096 => (0x3051, 0, true),
        // か to ち and つ to と: the voiced form follows.
        0x304B..=0x3062 if hiragana.is_multiple_of(2) => (hiragana - 1, VOICED, false),
        0x3064..=0x3069 if !hiragana.is_multiple_of(2) => (hiragana - 1, VOICED, false),
        // は to ほ: three forms each.
        0x306F..=0x307D => match (hiragana - 0x306F) % 3 {
            0 => (hiragana, 0, false),
            1 => (hiragana - 1, VOICED, false),
            _ => (hiragana - 2, HALF_VOICED, false),
        },
        0x3094 => (0x3046, VOICED, false),
        _ => (hiragana, 0, false),
    }
}
