//! Cultures: how each writes numbers, money and dates. They are those of .NET, whose format strings
//! FORMAT takes. A session's language has a culture; not each of these is here.

use types::convert::DateFormat;

/// The formats of one culture.
#[derive(Debug)]
pub(crate) struct Culture {
    /// Name as in .NET, such as `en-US`.
    pub(crate) name: &'static str,
    /// Decimal separator, such as a point.
    pub(crate) point: &'static str,
    /// Separator between groups of three digits.
    pub(crate) group: &'static str,
    /// Currency symbol, such as `$`.
    pub(crate) currency: &'static str,
    /// Decimals of an amount of money.
    pub(crate) currency_decimals: usize,
    /// Patterns for money that is not negative, and negative: `n` is the number, `$` the symbol.
    pub(crate) currency_patterns: [&'static str; 2],
    /// Patterns for a percentage that is not negative, and negative.
    pub(crate) percent_patterns: [&'static str; 2],
    /// Standard date patterns: `d`, `D`, `t`, `T`, `M`, `Y`.
    pub(crate) dates: [&'static str; 6],
    /// Replacement of `/` in a date pattern.
    pub(crate) date_separator: &'static str,
    /// Designators for times before and after noon.
    pub(crate) noon: [&'static str; 2],
    /// Names of the months, January first.
    pub(crate) months: [&'static str; 12],
    /// Abbreviated names of the months.
    pub(crate) months_short: [&'static str; 12],
    /// Names of the days, Monday first.
    pub(crate) days: [&'static str; 7],
    /// Abbreviated names of the days.
    pub(crate) days_short: [&'static str; 7],
    /// Order of day, month and year in numeric dates.
    pub(crate) order: DateFormat,
}

/// Finds a culture by name, ignoring case.
pub(crate) fn find(name: &str) -> Option<&'static Culture> {
    CULTURES.iter().find(|culture| culture.name.eq_ignore_ascii_case(name))
}

/// Returns the culture of us_english.
pub(crate) fn default() -> &'static Culture {
    &CULTURES[0]
}

const ENGLISH_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ENGLISH_MONTHS_SHORT: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const ENGLISH_DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const ENGLISH_DAYS_SHORT: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const CHINESE_MONTHS: [&str; 12] = [
    "一月",
    "二月",
    "三月",
    "四月",
    "五月",
    "六月",
    "七月",
    "八月",
    "九月",
    "十月",
    "十一月",
    "十二月",
];
const NUMBERED_MONTHS: [&str; 12] =
    ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"];

static CULTURES: &[Culture] = &[
    Culture {
        name: "en-US",
        point: ".",
        group: ",",
        currency: "$",
        currency_decimals: 2,
        currency_patterns: ["$n", "($n)"],
        percent_patterns: ["n%", "-n%"],
        dates: ["M/d/yyyy", "dddd, MMMM d, yyyy", "h:mm tt", "h:mm:ss tt", "MMMM d", "MMMM yyyy"],
        date_separator: "/",
        noon: ["AM", "PM"],
        months: ENGLISH_MONTHS,
        months_short: ENGLISH_MONTHS_SHORT,
        days: ENGLISH_DAYS,
        days_short: ENGLISH_DAYS_SHORT,
        order: DateFormat::Mdy,
    },
    Culture {
        name: "en-GB",
        point: ".",
        group: ",",
        currency: "£",
        currency_decimals: 2,
        currency_patterns: ["$n", "-$n"],
        percent_patterns: ["n%", "-n%"],
        dates: ["dd/MM/yyyy", "dd MMMM yyyy", "HH:mm", "HH:mm:ss", "d MMMM", "MMMM yyyy"],
        date_separator: "/",
        noon: ["AM", "PM"],
        months: ENGLISH_MONTHS,
        months_short: ENGLISH_MONTHS_SHORT,
        days: ENGLISH_DAYS,
        days_short: ENGLISH_DAYS_SHORT,
        order: DateFormat::Dmy,
    },
    Culture {
        name: "de-DE",
        point: ",",
        group: ".",
        currency: "€",
        currency_decimals: 2,
        currency_patterns: ["n $", "-n $"],
        percent_patterns: ["n %", "-n %"],
        dates: ["dd.MM.yyyy", "dddd, d. MMMM yyyy", "HH:mm", "HH:mm:ss", "d. MMMM", "MMMM yyyy"],
        date_separator: ".",
        noon: ["", ""],
        months: [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        months_short: [
            "Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez",
        ],
        days: ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        days_short: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
        order: DateFormat::Dmy,
    },
    Culture {
        name: "fr-FR",
        point: ",",
        group: "\u{a0}",
        currency: "€",
        currency_decimals: 2,
        currency_patterns: ["n $", "-n $"],
        percent_patterns: ["n %", "-n %"],
        dates: ["dd/MM/yyyy", "dddd d MMMM yyyy", "HH:mm", "HH:mm:ss", "d MMMM", "MMMM yyyy"],
        date_separator: "/",
        noon: ["", ""],
        months: [
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        months_short: [
            "janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.",
            "nov.", "déc.",
        ],
        days: ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        days_short: ["lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."],
        order: DateFormat::Dmy,
    },
    Culture {
        name: "es-ES",
        point: ",",
        group: ".",
        currency: "€",
        currency_decimals: 2,
        currency_patterns: ["n $", "-n $"],
        percent_patterns: ["n %", "-n %"],
        dates: [
            "dd/MM/yyyy",
            "dddd, d' de 'MMMM' de 'yyyy",
            "H:mm",
            "H:mm:ss",
            "d' de 'MMMM",
            "MMMM' de 'yyyy",
        ],
        date_separator: "/",
        noon: ["", ""],
        months: [
            "enero",
            "febrero",
            "marzo",
            "abril",
            "mayo",
            "junio",
            "julio",
            "agosto",
            "septiembre",
            "octubre",
            "noviembre",
            "diciembre",
        ],
        months_short: [
            "ene.", "feb.", "mar.", "abr.", "may.", "jun.", "jul.", "ago.", "sep.", "oct.", "nov.",
            "dic.",
        ],
        days: ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"],
        days_short: ["lu.", "ma.", "mi.", "ju.", "vi.", "sá.", "do."],
        order: DateFormat::Dmy,
    },
    Culture {
        name: "nl-NL",
        point: ",",
        group: ".",
        currency: "€",
        currency_decimals: 2,
        currency_patterns: ["$ n", "$ -n"],
        percent_patterns: ["n%", "-n%"],
        dates: ["d-M-yyyy", "dddd d MMMM yyyy", "HH:mm", "HH:mm:ss", "d MMMM", "MMMM yyyy"],
        date_separator: "-",
        noon: ["", ""],
        months: [
            "januari",
            "februari",
            "maart",
            "april",
            "mei",
            "juni",
            "juli",
            "augustus",
            "september",
            "oktober",
            "november",
            "december",
        ],
        months_short: [
            "jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec",
        ],
        days: ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"],
        days_short: ["ma", "di", "wo", "do", "vr", "za", "zo"],
        order: DateFormat::Dmy,
    },
    Culture {
        name: "pt-BR",
        point: ",",
        group: ".",
        currency: "R$",
        currency_decimals: 2,
        currency_patterns: ["$ n", "-$ n"],
        percent_patterns: ["n%", "-n%"],
        dates: [
            "dd/MM/yyyy",
            "dddd, d' de 'MMMM' de 'yyyy",
            "HH:mm",
            "HH:mm:ss",
            "d' de 'MMMM",
            "MMMM' de 'yyyy",
        ],
        date_separator: "/",
        noon: ["", ""],
        months: [
            "janeiro",
            "fevereiro",
            "março",
            "abril",
            "maio",
            "junho",
            "julho",
            "agosto",
            "setembro",
            "outubro",
            "novembro",
            "dezembro",
        ],
        months_short: [
            "jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez",
        ],
        days: [
            "segunda-feira",
            "terça-feira",
            "quarta-feira",
            "quinta-feira",
            "sexta-feira",
            "sábado",
            "domingo",
        ],
        days_short: ["seg", "ter", "qua", "qui", "sex", "sáb", "dom"],
        order: DateFormat::Dmy,
    },
    Culture {
        name: "ja-JP",
        point: ".",
        group: ",",
        currency: "¥",
        currency_decimals: 0,
        currency_patterns: ["$n", "-$n"],
        percent_patterns: ["n%", "-n%"],
        dates: [
            "yyyy/MM/dd",
            "yyyy'年'M'月'd'日'",
            "H:mm",
            "H:mm:ss",
            "M'月'd'日'",
            "yyyy'年'M'月'",
        ],
        date_separator: "/",
        noon: ["午前", "午後"],
        months: NUMBERED_MONTHS,
        months_short: NUMBERED_MONTHS,
        days: ["月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日", "日曜日"],
        days_short: ["月", "火", "水", "木", "金", "土", "日"],
        order: DateFormat::Ymd,
    },
    Culture {
        name: "zh-CN",
        point: ".",
        group: ",",
        currency: "¥",
        currency_decimals: 2,
        currency_patterns: ["$n", "$-n"],
        percent_patterns: ["n%", "-n%"],
        dates: ["yyyy/M/d", "yyyy'年'M'月'd'日'", "H:mm", "H:mm:ss", "M'月'd'日'", "yyyy'年'M'月'"],
        date_separator: "/",
        noon: ["上午", "下午"],
        months: CHINESE_MONTHS,
        months_short: NUMBERED_MONTHS,
        days: ["星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"],
        days_short: ["周一", "周二", "周三", "周四", "周五", "周六", "周日"],
        order: DateFormat::Ymd,
    },
];
