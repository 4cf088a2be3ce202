//! Tests comparison, sort keys and LIKE: documented answers, and laws on generated strings.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use proptest::prelude::*;

use super::*;
use crate::{Value, text};

fn named(name: &str) -> Collation {
    Collation::by_name(name).unwrap()
}

fn compare(collation: &str, left: &str, right: &str) -> Ordering {
    named(collation).compare_nvarchar(&text::to_utf16(left), &text::to_utf16(right))
}

fn compare_varchar(collation: &str, left: &str, right: &str) -> Ordering {
    let c = named(collation);
    c.compare_varchar(&text::to_code_page(left, c), &text::to_code_page(right, c))
}

#[test]
fn characters_behind_a_ligature_are_compared_once_each() {
    let collation = Collation::by_name("Latin1_General_100_CI_AS").unwrap();
    for count in [254, 255, 256, 257, 600] {
        let plain = "a".repeat(count);
        let utf16 = |text: String| crate::text::to_utf16(&text);
        let (one, two) = (utf16(format!("\u{df}{plain}")), utf16(format!("ss{plain}")));
        assert_eq!(collation.compare_nvarchar(&one, &two), Ordering::Equal, "{count}");
        let (mut a, mut b) = (Vec::new(), Vec::new());
        collation.sort_key_nvarchar(&one, &mut a);
        collation.sort_key_nvarchar(&two, &mut b);
        assert_eq!(a, b, "{count}");
    }
}

#[test]
fn sensitivities_decide_what_is_equal() {
    for (collation, case, accent) in [
        ("SQL_Latin1_General_CP1_CI_AS", Equal, Less),
        ("SQL_Latin1_General_CP1_CS_AS", Less, Less),
        ("SQL_Latin1_General_CP1_CI_AI", Equal, Equal),
        ("Latin1_General_100_CS_AI", Less, Equal),
        ("Latin1_General_BIN2", Greater, Less),
    ] {
        assert_eq!(compare(collation, "abc", "ABC"), case, "{collation}");
        assert_eq!(compare_varchar(collation, "abc", "ABC"), case, "{collation}");
        assert_eq!(compare(collation, "resume", "résumé"), accent, "{collation}");
        assert_eq!(compare_varchar(collation, "resume", "résumé"), accent, "{collation}");
        assert_eq!(compare(collation, "abc   ", "abc"), Equal, "{collation}");
        assert_eq!(compare_varchar(collation, "", "  "), Equal, "{collation}");
    }
}

#[test]
fn linguistic_order_puts_letters_before_marks_before_case() {
    for collation in ["Latin1_General_CS_AS", "Latin1_General_100_CS_AS"] {
        for pair in ["a", "A", "á", "Á", "b", "B", "z", "Z"].windows(2) {
            assert_eq!(compare(collation, pair[0], pair[1]), Less, "{pair:?}");
        }
        assert_eq!(compare(collation, "aB", "Ab"), Less);
        assert_eq!(compare(collation, "cote", "côte"), Less);
        assert_eq!(compare(collation, "côte", "cotf"), Less);
        assert_eq!(compare(collation, "_", "1"), Less);
        assert_eq!(compare(collation, "9", "a"), Less);
        assert_eq!(compare(collation, "€", "0"), Less);
    }
}

#[test]
fn equivalent_spellings_are_equal_in_windows_order() {
    assert_eq!(compare("Latin1_General_CI_AS", "e\u{301}", "é"), Equal);
    assert_eq!(compare("Latin1_General_CI_AS", "straße", "strasse"), Equal);
    assert_eq!(compare("Latin1_General_CI_AS", "Æ", "ae"), Equal);
    assert_ne!(compare_varchar("SQL_Latin1_General_CP1_CI_AS", "ß", "ss"), Equal);
    assert_eq!(compare("Latin1_General_CI_AS", "ＡＢ", "ab"), Equal);
    assert_ne!(compare("Latin1_General_CI_AS_WS", "ＡＢ", "ab"), Equal);
    assert_eq!(compare("Latin1_General_CI_AS", "カ", "か"), Equal);
    assert_ne!(compare("Latin1_General_CI_AS_KS", "カ", "か"), Equal);
    assert_eq!(compare("Latin1_General_CI_AS", "ПРИВЕТ", "привет"), Equal);
}

/// Word sort: hyphens and apostrophes count only if all else is equal, so that "coop" and "co-op"
/// sort next to each other. From the documentation of Windows' CompareString, SORT_STRINGSORT;
/// `varchar` in a SQL collation has the order of its code page, in which they are symbols.
#[test]
fn windows_collations_sort_by_words() {
    for collation in
        ["Latin1_General_CI_AS", "Latin1_General_100_CS_AS", "Latin1_General_100_CI_AS_SC_UTF8"]
    {
        let words = [
            "bill", "billet", "bills", "bill's", "can't", "cant's", "con", "coop", "co-op",
            "coop-", "copy", "we're", "weres",
        ];
        for pair in words.windows(2) {
            assert_eq!(compare(collation, pair[0], pair[1]), Less, "{collation} {pair:?}");
            assert_eq!(compare_varchar(collation, pair[0], pair[1]), Less, "{collation} {pair:?}");
        }
        assert_eq!(compare(collation, "a-b", "a-b "), Equal);
        assert_eq!(compare(collation, "a-b", "ab"), Greater);
        assert_eq!(compare(collation, "a'b", "a-b"), Less);
        assert_eq!(compare(collation, "-", ""), Greater);
        assert_eq!(compare(collation, "-a", "b"), Less);
    }
    // Case is compared before word marks: a hyphen weighs less.
    assert_eq!(compare("Latin1_General_CS_AS", "co-op", "COOP"), Less);
    assert_eq!(compare("Latin1_General_CI_AS", "co-op", "COOP"), Greater);
    assert_eq!(compare("SQL_Latin1_General_CP1_CI_AS", "co-op", "con"), Greater);
    assert_eq!(compare_varchar("SQL_Latin1_General_CP1_CI_AS", "co-op", "con"), Less);
}

/// From the alphabets of the languages, as their dictionaries and CLDR have them.
#[test]
fn languages_sort_by_their_alphabets() {
    for (collation, letters) in [
        ("Finnish_Swedish_CI_AS", &["o", "ö", "z", "å", "ä", "ö"][2..]),
        ("Danish_Norwegian_CI_AS", &["ab", "z", "æ", "ø", "å", "åb"]),
        ("Modern_Spanish_CI_AS", &["n", "nz", "ñ", "ñb", "o"]),
        ("Traditional_Spanish_CI_AS", &["cz", "ch", "d", "lz", "ll", "m"]),
        ("Modern_Spanish_100_CI_AS", &["ch", "cz", "d"]),
        ("Czech_CI_AS", &["c", "č", "d", "hz", "ch", "i", "r", "ř", "s", "š", "z", "ž"]),
        ("Polish_100_CI_AS_SC", &["a", "ą", "b", "l", "ł", "m", "z", "ź", "ż"]),
        ("Hungarian_CI_AS", &["cz", "cs", "d", "oz", "ö", "p"]),
        ("Turkish_CI_AS", &["c", "ç", "h", "ı", "i", "j"]),
        ("Estonian_CI_AS", &["s", "š", "z", "ž", "t", "w", "õ", "ä", "ö", "ü", "x"]),
        ("Icelandic_CI_AS", &["a", "á", "b", "d", "ð", "e", "z", "þ", "æ", "ö"]),
        ("Croatian_CI_AS", &["c", "č", "ć", "d", "dž", "đ", "e", "l", "lj", "m"]),
        ("Vietnamese_CI_AS", &["a", "ă", "â", "b", "d", "đ", "e"]),
        ("Ukrainian_CI_AS", &["г", "ґ", "д", "е", "є", "ж", "и", "і", "ї", "к"]),
        ("Cyrillic_General_CI_AS", &["е", "ё", "ж", "и", "й", "к", "я"]),
        ("Latin1_General_CI_AS", &["a", "ä", "b", "n", "ñ", "o", "ö", "z"]),
        // By Pinyin, by strokes, by reading.
        ("Chinese_PRC_CI_AS", &["阿", "北", "中"]),
        ("Chinese_Taiwan_Stroke_CI_AS", &["一", "二", "中", "國"]),
        ("Japanese_CI_AS", &["亜", "愛", "日", "本"]),
        ("Korean_Wansung_CI_AS", &["가", "나", "다"]),
        ("Thai_CI_AS", &["กา", "เกา", "ขา"]),
    ] {
        for pair in letters.windows(2) {
            assert_eq!(compare(collation, pair[0], pair[1]), Less, "{collation} {pair:?}");
            let upper = pair[0].to_uppercase();
            assert_eq!(compare(collation, &upper, pair[1]), Less, "{collation} {upper} {pair:?}");
        }
    }
    assert_eq!(compare("German_PhoneBook_CI_AS", "Müller", "mueller"), Greater);
    assert_eq!(compare("German_PhoneBook_CI_AI", "Müller", "mueller"), Equal);
    assert_eq!(compare("German_PhoneBook_CI_AS", "Muf", "Müller"), Greater);
    assert_eq!(compare("Latin1_General_CI_AS", "Muf", "Müller"), Less);
    assert_eq!(compare("Danish_Norwegian_CI_AI", "Aarhus", "Århus"), Equal);
    assert_eq!(compare("Danish_Norwegian_CS_AS", "aa", "AA"), Less);
    assert_eq!(compare("Czech_CS_AS", "ch", "CH"), Less);
    assert_eq!(compare("Czech_CI_AS", "chata", "CHATA"), Equal);
    // A letter is the same in one character and in two.
    assert_eq!(compare("Modern_Spanish_CI_AS", "n\u{303}", "ñ"), Equal);
    assert_eq!(compare("Finnish_Swedish_CS_AS", "A\u{30A}", "Å"), Equal);
    // The letters of a language count in all collations of it, whatever the sensitivity.
    assert_eq!(compare("Modern_Spanish_CI_AI", "n", "ñ"), Less);
    assert_eq!(compare("Latin1_General_CI_AI", "n", "ñ"), Equal);
}

/// From the documentation of case-insensitive Turkish collations: i and I are different letters.
#[test]
fn turkish_has_two_letters_i() {
    assert_ne!(compare("Turkish_CI_AS", "i", "I"), Equal);
    assert_eq!(compare("Turkish_CI_AS", "ı", "I"), Equal);
    assert_eq!(compare("Turkish_CI_AS", "i", "İ"), Equal);
    assert_ne!(compare_varchar("Turkish_CI_AS", "TITLE", "title"), Equal);
    assert_eq!(compare("Turkish_CI_AS", "KAPI", "kapı"), Equal);
    assert_eq!(compare("Latin1_General_CI_AS", "i", "I"), Equal);
}

#[test]
fn kana_and_width_count_where_the_name_says_so() {
    for (left, right, collation, expected) in [
        ("カ", "か", "Japanese_CI_AS", Equal),
        ("カ", "か", "Japanese_CI_AS_KS", Greater),
        ("ｶ", "カ", "Japanese_CI_AS", Equal),
        ("ｶ", "カ", "Japanese_CI_AS_WS", Greater),
        ("ｶﾞ", "ガ", "Japanese_CI_AS", Equal),
        ("が", "か", "Japanese_CI_AS", Greater),
        ("が", "か", "Japanese_CI_AI", Equal),
        ("ぱ", "ば", "Japanese_CI_AS", Greater),
        ("っ", "つ", "Japanese_CI_AS", Equal),
        ("っ", "つ", "Japanese_CS_AS", Greater),
        ("Ａ", "a", "Japanese_CI_AS", Equal),
        ("Ａ", "A", "Japanese_CI_AS_WS", Greater),
        ("葛\u{E0100}", "葛", "Japanese_XJIS_140_CI_AS", Equal),
        ("葛\u{E0100}", "葛", "Japanese_XJIS_140_CI_AS_VSS", Greater),
    ] {
        assert_eq!(compare(collation, left, right), expected, "{left} {right} {collation}");
    }
    assert_eq!(compare_varchar("Japanese_CI_AS", "日本ｶﾞ", "日本ガ"), Equal);
}

#[test]
fn binary2_orders_utf16_units() {
    assert_eq!(compare("Latin1_General_BIN2", "\u{FFFD}", "\u{1F600}"), Greater);
    assert_eq!(compare("Latin1_General_BIN2", "Z", "a"), Less);
    assert_eq!(compare("Latin1_General_BIN2", "\u{100}", "\u{FF}"), Greater);
}

#[test]
fn code_page_1252_comes_back() {
    let collation = Collation::default();
    let all: Vec<u8> = (0..=255).collect();
    let text = text::from_code_page(&all, collation);
    assert_eq!(&*text::to_code_page(&text, collation), all.as_slice());
    assert_eq!(&*text::to_code_page("€ŁĀ漢", collation), b"\x80LA?");
}

fn like(value: &str, pattern: &str, escape: Option<&str>, collation: &str) -> bool {
    let escape = escape.map(Value::nvarchar);
    let collation = named(collation);
    let pattern = LikePattern::new(&Value::nvarchar(pattern), escape.as_ref(), collation);
    pattern.unwrap().unwrap().matches(&Value::nvarchar(value)).unwrap()
}

#[test]
fn like_follows_the_documentation() {
    const CI: &str = "SQL_Latin1_General_CP1_CI_AS";
    const CS: &str = "Latin1_General_CS_AS";
    for (value, pattern, escape, collation, expected) in [
        ("Cheryl", "c%", None, CI, true),
        ("Cheryl", "c%", None, CS, false),
        ("sean", "_ean", None, CI, true),
        ("ean", "_ean", None, CI, false),
        ("Carsen", "[CK]ars[eo]n", None, CI, true),
        ("Karsin", "[CK]ars[eo]n", None, CI, false),
        ("mcevan", "m[^c]%", None, CI, false),
        ("mdevan", "m[^c]%", None, CI, true),
        ("5%", "5[%]", None, CI, true),
        ("50", "5[%]", None, CI, false),
        ("n_", "[_]n", None, CI, false),
        ("_n", "[_]n", None, CI, true),
        ("-", "[a-c-]", None, CI, true),
        ("b", "[a-cdf]", None, CI, true),
        ("e", "[a-cdf]", None, CI, false),
        ("[", "[[]", None, CI, true),
        ("]", "]", None, CI, true),
        ("50%", "%30!%%", Some("!"), CI, false),
        ("x30%y", "%30!%%", Some("!"), CI, true),
        ("abc", "abc!", Some("!"), CI, false),
        ("abcabcd", "%abcd", None, CI, true),
        ("aab", "a%b%", None, CI, true),
        ("", "%", None, CI, true),
        ("", "", None, CI, true),
        ("a", "", None, CI, false),
        ("abc ", "abc", None, CI, false),
        ("a", "[b", None, CI, false),
    ] {
        assert_eq!(like(value, pattern, escape, collation), expected, "{value} LIKE {pattern}");
    }
    let default = Collation::default();
    let pattern = LikePattern::new(&Value::varchar("abc", default), None, default);
    let padded = Value::varchar("abc  ", default);
    assert_eq!(pattern.unwrap().unwrap().matches(&padded), Some(true), "varchar is padded");
    let long = LikePattern::new(&Value::nvarchar("a"), Some(&Value::nvarchar("ab")), default);
    assert_eq!(long.unwrap_err().number, 506);
}

#[test]
fn like_with_many_percent_signs_ends() {
    let text = "a".repeat(5_000);
    assert!(!like(&text, "%a%a%a%a%a%a%a%a%b", None, "Latin1_General_CI_AS"));
}

/// Returns all collations, made once.
fn all() -> &'static [Collation] {
    static ALL: std::sync::OnceLock<Vec<Collation>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| Collation::all().collect())
}

/// Texts of letters that languages treat in different ways: digraphs, marks before and after, kana
/// of each kind, Thai vowels, I with and without a dot.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ aAbB0_\u{301}\u{308}éÉßæÆoøs-z€ŁłЖжカか漢\u{1F600}\u{1}]{0,6}",
        "[cChHdDzZsSnNjJlLaAåäöüñİıiI\u{30A}\u{303}\u{302}âấ'-]{0,6}",
        "[カかがｶﾞッっつーぱ中国字漢เกา่ЙйїИи\u{FE00}\u{E0100}]{0,6}",
    ]
}

proptest! {
    #[test]
    fn keys_order_as_values(a in texts(), b in texts(), which in any::<prop::sample::Index>()) {
        let all = all();
        let collation = all[which.index(all.len())];
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let (wide_a, wide_b) = (text::to_utf16(&a), text::to_utf16(&b));
        collation.sort_key_nvarchar(&wide_a, &mut x);
        collation.sort_key_nvarchar(&wide_b, &mut y);
        prop_assert_eq!(x.cmp(&y), collation.compare_nvarchar(&wide_a, &wide_b), "{}", collation);
        prop_assert!(x == y || !x.starts_with(&y) && !y.starts_with(&x));

        let (mut x, mut y) = (Vec::new(), Vec::new());
        let (a, b) = (text::to_code_page(&a, collation), text::to_code_page(&b, collation));
        collation.sort_key_varchar(&a, &mut x);
        collation.sort_key_varchar(&b, &mut y);
        prop_assert_eq!(x.cmp(&y), collation.compare_varchar(&a, &b), "{}", collation);
    }

    /// The short way of ASCII strings, with word marks and without, gives what the long way gives.
    #[test]
    fn ascii_has_the_general_order(
        a in "[aAbBzI0 _.'－-]{0,8}", b in "[aAbBzI0 _.'－-]{0,8}", which in any::<prop::sample::Index>(),
    ) {
        let all = all();
        let collation = all[which.index(all.len())];
        prop_assume!(!collation.is_binary());
        let [a, b] = [&a, &b].map(|text| text::to_utf16(text.trim_end()));
        let encoding = weights::Encoding::Utf16;
        let order = collation.compare_general(&a, &b, encoding);
        prop_assert_eq!(collation.compare_nvarchar(&a, &b), order, "{}", collation);
        let (mut key, mut general) = (Vec::new(), Vec::new());
        collation.sort_key_nvarchar(&a, &mut key);
        collation.push_general_key(&a, encoding, &mut general);
        prop_assert_eq!(key, general, "{}", collation);
    }

    #[test]
    fn equality_is_that_of_the_order(a in texts(), b in texts(), which in any::<prop::sample::Index>()) {
        let all = all();
        let collation = all[which.index(all.len())];
        let (wide_a, wide_b) = (text::to_utf16(&a), text::to_utf16(&b));
        let equal = collation.compare_nvarchar(&wide_a, &wide_b).is_eq();
        prop_assert_eq!(collation.equals_nvarchar(&wide_a, &wide_b), equal, "{}", collation);
        let (a, b) = (text::to_code_page(&a, collation), text::to_code_page(&b, collation));
        let equal = collation.compare_varchar(&a, &b).is_eq();
        prop_assert_eq!(collation.equals_varchar(&a, &b), equal, "{}", collation);
    }

    /// LIKE, CHARINDEX, REPLACE and TRANSLATE compare character by character.
    #[test]
    fn characters_are_equal_in_like_as_in_comparison(
        a in "[aAbéÉæÆßoöÖøåÅñz'－ŁłЖжйиカかがｶっつぱ中ıİiI-]",
        b in "[aAbéÉæÆßoöÖøåÅñz'－ŁłЖжйиカかがｶっつぱ中ıİiI-]",
        which in any::<prop::sample::Index>(),
    ) {
        let all = all();
        let collation = all[which.index(all.len())];
        let [x, y] = [&a, &b].map(|text| collation.character_weights(&Value::nvarchar(text)));
        let order = collation.compare_nvarchar(&text::to_utf16(&a), &text::to_utf16(&b));
        prop_assert_eq!(x == y, order.is_eq(), "{} {} {}", a, b, collation);
    }

    #[test]
    fn prefix_keys_start_the_keys(a in texts(), b in texts(), which in any::<prop::sample::Index>()) {
        let all = all();
        let collation = all[which.index(all.len())];
        prop_assume!(!collation.is_binary() || collation.is_code_point());
        let mut key = Vec::new();
        let mut prefix = Vec::new();
        collation.sort_key_nvarchar(&text::to_utf16(&format!("{a}{b}")), &mut key);
        collation.prefix_key_nvarchar(&text::to_utf16(a.trim_end()), &mut prefix);
        prop_assert!(key.starts_with(&prefix));
    }

    #[test]
    fn a_literal_is_like_itself(a in "[ -~]{0,8}") {
        let escaped: String = a.chars().flat_map(|c| ['!', c]).collect();
        prop_assert!(like(&a, &escaped, Some("!"), "Latin1_General_CI_AS"));
    }

    #[test]
    fn binary_keys_of_long_texts_order_as_their_units(
        start in "[a-z0-9]{0,12}", a in "[ aZ~\u{0}-\u{2}\u{7F}\u{80}é中-]{0,30}", b in "[ aZ~\u{0}-\u{2}é-]{0,30}",
    ) {
        let collation = named("Latin1_General_100_BIN2");
        let texts = [format!("{start}{a}"), format!("{start}{b}")].map(|text| text::to_utf16(&text));
        let keys = texts.each_ref().map(|text| {
            let mut key = vec![1];
            collation.sort_key_nvarchar(text, &mut key);
            key
        });
        prop_assert_eq!(keys[0].cmp(&keys[1]), collation.compare_nvarchar(&texts[0], &texts[1]));
        prop_assert!(keys[0] == keys[1] || !keys[0].starts_with(&keys[1]));
    }

    #[test]
    fn no_pattern_makes_like_panic(
        value in "[ab%_\\[\\]^!é -]{0,12}", pattern in "[ab%_\\[\\]^!é -]{0,12}", wide in any::<bool>(),
    ) {
        let collation = Collation::default();
        let make = |t: &str| if wide { Value::nvarchar(t) } else { Value::varchar(t, collation) };
        let escape = make("!");
        let like = LikePattern::new(&make(&pattern), Some(&escape), collation).unwrap().unwrap();
        prop_assert!(like.matches(&make(&value)).is_some());
        let all = LikePattern::new(&make("%"), None, collation).unwrap().unwrap();
        prop_assert_eq!(all.matches(&make(&value)), Some(true));
    }

    #[test]
    fn prepared_pattern_matches_the_same(
        value in "[abAß%_é \u{301}Ж-]{0,12}", pattern in "[abA%_\\[\\]^!éß -]{0,12}",
        which in any::<prop::sample::Index>(), wide in any::<bool>(),
    ) {
        let all = all();
        let collation = all[which.index(all.len())];
        let make = |t: &str| if wide { Value::nvarchar(t) } else { Value::varchar(t, collation) };
        let like = LikePattern::new(&make(&pattern), Some(&make("!")), collation).unwrap().unwrap();
        let value = make(&value);
        let (kind, bytes) = crate::batch::ByteKind::of(&value).unwrap();
        let wanted = like.matches(&value).unwrap();
        let found = like.prepared().matches_bytes(kind, bytes, &mut Vec::new());
        prop_assert_eq!(found, wanted, "{}", collation);
    }
}
