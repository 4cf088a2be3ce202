//! The languages of SET LANGUAGE and of logins: the names of months and days, the order of dates,
//! and the first day of the week.
//!
//! The rows are those of `sys.syslanguages` of SQL Server. A language is its `langid` in one byte.
//! Messages are English in every language, but for 5703, which reports a change of language.

use crate::convert::DateFormat;

/// A language by its `langid`. The default is us_english.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Language(u8);

/// What a language decides.
struct Row {
    name: &'static str,
    alias: &'static str,
    date_format: DateFormat,
    date_first: u8,
    lcid: u16,
    message_lcid: u16,
    culture: &'static str,
    months: &'static str,
    months_short: &'static str,
    days: &'static str,
    month_names: [&'static str; 12],
    month_names_short: [&'static str; 12],
    day_names: [&'static str; 7],
    /// Message 5703 in this language, with `%` for the language's name.
    changed: &'static str,
}

impl Language {
    /// Returns us_english, the default.
    pub const fn us_english() -> Self {
        Self(0)
    }

    /// Looks a language up by name or alias, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        let is_named = |known: &str| {
            known.eq_ignore_ascii_case(name)
                || (!name.is_ascii() && known.to_lowercase() == name.to_lowercase())
        };
        Self::all().find(|l| is_named(l.row().name) || is_named(l.row().alias))
    }

    /// Returns the language of a `langid`.
    pub fn by_id(id: i32) -> Option<Self> {
        u8::try_from(id).ok().filter(|id| usize::from(*id) < LANGUAGES.len()).map(Self)
    }

    /// Returns the language of a Windows locale identifier.
    pub fn by_lcid(lcid: i32) -> Option<Self> {
        Self::all().find(|l| i32::from(l.lcid()) == lcid)
    }

    /// Returns every language, in the order of `langid`.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).zip(LANGUAGES).map(|(id, _)| Self(id))
    }

    /// Returns `langid`, which is @@LANGID.
    pub const fn id(self) -> u8 {
        self.0
    }

    /// Returns the official name, such as `Français`; it is @@LANGUAGE.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the English name, such as `French`.
    pub fn alias(self) -> &'static str {
        self.row().alias
    }

    /// Returns the order of day, month and year in numeric dates.
    pub fn date_format(self) -> DateFormat {
        self.row().date_format
    }

    /// Returns the first day of the week; 1 is Monday.
    pub fn date_first(self) -> u8 {
        self.row().date_first
    }

    /// Returns the Windows locale identifier (LCID).
    pub fn lcid(self) -> u16 {
        self.row().lcid
    }

    /// Returns the LCID of the language's messages, `msglangid`.
    pub fn message_lcid(self) -> u16 {
        self.row().message_lcid
    }

    /// Returns the name of the culture that FORMAT takes if it is called without one.
    pub fn culture(self) -> &'static str {
        self.row().culture
    }

    /// Returns the column `months`: the names with commas between them.
    pub fn months(self) -> &'static str {
        self.row().months
    }

    /// Returns the column `shortmonths`: the abbreviations with commas between them.
    pub fn months_short(self) -> &'static str {
        self.row().months_short
    }

    /// Returns the column `days`: the names with commas between them, Monday first.
    pub fn days(self) -> &'static str {
        self.row().days
    }

    /// Returns the names of the months, January first.
    pub fn month_names(self) -> &'static [&'static str; 12] {
        &self.row().month_names
    }

    /// Returns the abbreviations of the months, January first.
    pub fn month_names_short(self) -> &'static [&'static str; 12] {
        &self.row().month_names_short
    }

    /// Returns the names of the days, Monday first.
    pub fn day_names(self) -> &'static [&'static str; 7] {
        &self.row().day_names
    }

    /// Returns the text of message 5703: in the language itself where SQL Server has it, else in
    /// English.
    pub fn changed(self) -> String {
        self.row().changed.replace('%', self.name())
    }

    fn row(self) -> &'static Row {
        &LANGUAGES[usize::from(self.0)]
    }
}

const fn row(
    (name, alias): (&'static str, &'static str),
    (date_format, date_first): (DateFormat, u8),
    (lcid, message_lcid, culture): (u16, u16, &'static str),
    [months, months_short, days]: [&'static str; 3],
    changed: &'static str,
) -> Row {
    Row {
        name,
        alias,
        date_format,
        date_first,
        lcid,
        message_lcid,
        culture,
        months,
        months_short,
        days,
        month_names: split(months),
        month_names_short: split(months_short),
        day_names: split(days),
        changed,
    }
}

/// Splits a list at its commas.
const fn split<const N: usize>(list: &'static str) -> [&'static str; N] {
    let mut parts = [""; N];
    let (mut rest, mut count) = (list, 0);
    loop {
        let mut at = 0;
        while at < rest.len() && rest.as_bytes()[at] != b',' {
            at += 1;
        }
        let (part, tail) = rest.split_at(at);
        parts[count] = part;
        count += 1;
        if tail.is_empty() {
            break;
        }
        rest = tail.split_at(1).1;
    }
    assert!(count == N, "a list has one name per month or day");
    parts
}

#[rustfmt::skip]
static LANGUAGES: &[Row] = &[
    row(
        ("us_english", "English"), (DateFormat::Mdy, 7), (1033, 1033, "en-US"), [
        "January,February,March,April,May,June,July,August,September,October,November,December",
        "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec",
        "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"],
        "Changed language setting to %.",
    ),
    row(
        ("Deutsch", "German"), (DateFormat::Dmy, 1), (1031, 1031, "de-DE"), [
        "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember",
        "Jan,Feb,Mär,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez",
        "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag"],
        "Die Spracheneinstellung wurde in % geändert.",
    ),
    row(
        ("Français", "French"), (DateFormat::Dmy, 1), (1036, 1036, "fr-FR"), [
        "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre",
        "janv,févr,mars,avr,mai,juin,juil,août,sept,oct,nov,déc",
        "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche"],
        "Le paramètre de langue est passé à %.",
    ),
    row(
        ("日本語", "Japanese"), (DateFormat::Ymd, 7), (1041, 1041, "ja-JP"), [
        "01,02,03,04,05,06,07,08,09,10,11,12",
        "01,02,03,04,05,06,07,08,09,10,11,12",
        "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日"],
        "言語設定が % に変更されました。",
    ),
    row(
        ("Dansk", "Danish"), (DateFormat::Dmy, 1), (1030, 1030, "da-DK"), [
        "januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag"],
        "Sprogindstillingen blev ændret til %.",
    ),
    row(
        ("Español", "Spanish"), (DateFormat::Dmy, 1), (3082, 3082, "es-ES"), [
        "Enero,Febrero,Marzo,Abril,Mayo,Junio,Julio,Agosto,Septiembre,Octubre,Noviembre,Diciembre",
        "Ene,Feb,Mar,Abr,May,Jun,Jul,Ago,Sep,Oct,Nov,Dic",
        "Lunes,Martes,Miércoles,Jueves,Viernes,Sábado,Domingo"],
        "Se cambió la configuración de idioma a %.",
    ),
    row(
        ("Italiano", "Italian"), (DateFormat::Dmy, 1), (1040, 1040, "it-IT"), [
        "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre",
        "gen,feb,mar,apr,mag,giu,lug,ago,set,ott,nov,dic",
        "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica"],
        "L'impostazione della lingua è stata sostituita con %.",
    ),
    row(
        ("Nederlands", "Dutch"), (DateFormat::Dmy, 1), (1043, 1043, "nl-NL"), [
        "januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december",
        "jan,feb,mrt,apr,mei,jun,jul,aug,sep,okt,nov,dec",
        "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag"],
        "De taalinstelling is gewijzigd in %.",
    ),
    row(
        ("Norsk", "Norwegian"), (DateFormat::Dmy, 1), (2068, 2068, "nn-NO"), [
        "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember",
        "jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des",
        "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag"],
        "Changed language setting to %.",
    ),
    row(
        ("Português", "Portuguese"), (DateFormat::Dmy, 7), (2070, 2070, "pt-PT"), [
        "janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro",
        "jan,fev,mar,abr,mai,jun,jul,ago,set,out,nov,dez",
        "segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado,domingo"],
        "A definição de idioma foi alterada para %.",
    ),
    row(
        ("Suomi", "Finnish"), (DateFormat::Dmy, 1), (1035, 1035, "fi-FI"), [
        "tammikuuta,helmikuuta,maaliskuuta,huhtikuuta,toukokuuta,kesäkuuta,heinäkuuta,elokuuta,syyskuuta,lokakuuta,marraskuuta,joulukuuta",
        "tammi,helmi,maalis,huhti,touko,kesä,heinä,elo,syys,loka,marras,joulu",
        "maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai"],
        "Kieliasetukseksi muutettiin %.",
    ),
    row(
        ("Svenska", "Swedish"), (DateFormat::Ymd, 1), (1053, 1053, "sv-SE"), [
        "januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        "måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag"],
        "Ändrade språkinställningen till %.",
    ),
    row(
        ("čeština", "Czech"), (DateFormat::Dmy, 1), (1029, 1029, "cs-CZ"), [
        "leden,únor,březen,duben,květen,červen,červenec,srpen,září,říjen,listopad,prosinec",
        "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII",
        "pondělí,úterý,středa,čtvrtek,pátek,sobota,neděle"],
        "Nastavení jazyka bylo změněno na %.",
    ),
    row(
        ("magyar", "Hungarian"), (DateFormat::Ymd, 1), (1038, 1038, "hu-HU"), [
        "január,február,március,április,május,június,július,augusztus,szeptember,október,november,december",
        "jan,febr,márc,ápr,máj,jún,júl,aug,szept,okt,nov,dec",
        "hétfő,kedd,szerda,csütörtök,péntek,szombat,vasárnap"],
        "Nyelvi beállítás átállítva a következőre: %.",
    ),
    row(
        ("polski", "Polish"), (DateFormat::Dmy, 1), (1045, 1045, "pl-PL"), [
        "styczeń,luty,marzec,kwiecień,maj,czerwiec,lipiec,sierpień,wrzesień,październik,listopad,grudzień",
        "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII",
        "poniedziałek,wtorek,środa,czwartek,piątek,sobota,niedziela"],
        "Zmieniono ustawienia języka na %.",
    ),
    row(
        ("română", "Romanian"), (DateFormat::Dmy, 1), (1048, 1048, "ro-RO"), [
        "ianuarie,februarie,martie,aprilie,mai,iunie,iulie,august,septembrie,octombrie,noiembrie,decembrie",
        "Ian,Feb,Mar,Apr,Mai,Iun,Iul,Aug,Sep,Oct,Nov,Dec",
        "luni,marţi,miercuri,joi,vineri,sîmbătă,duminică"],
        "Changed language setting to %.",
    ),
    row(
        ("hrvatski", "Croatian"), (DateFormat::Ymd, 1), (1050, 1050, "hr-HR"), [
        "siječanj,veljača,ožujak,travanj,svibanj,lipanj,srpanj,kolovoz,rujan,listopad,studeni,prosinac",
        "sij,vel,ožu,tra,svi,lip,srp,kol,ruj,lis,stu,pro",
        "ponedjeljak,utorak,srijeda,četvrtak,petak,subota,nedjelja"],
        "Changed language setting to %.",
    ),
    row(
        ("slovenčina", "Slovak"), (DateFormat::Dmy, 1), (1051, 1051, "sk-SK"), [
        "január,február,marec,apríl,máj,jún,júl,august,september,október,november,december",
        "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII",
        "pondelok,utorok,streda,štvrtok,piatok,sobota,nedeľa"],
        "Changed language setting to %.",
    ),
    row(
        ("slovenski", "Slovenian"), (DateFormat::Dmy, 1), (1060, 1060, "sl-SI"), [
        "januar,februar,marec,april,maj,junij,julij,avgust,september,oktober,november,december",
        "jan,feb,mar,apr,maj,jun,jul,avg,sept,okt,nov,dec",
        "ponedeljek,torek,sreda,četrtek,petek,sobota,nedelja"],
        "Changed language setting to %.",
    ),
    row(
        ("ελληνικά", "Greek"), (DateFormat::Dmy, 1), (1032, 1032, "el-GR"), [
        "Ιανουαρίου,Φεβρουαρίου,Μαρτίου,Απριλίου,Μα_ου,Ιουνίου,Ιουλίου,Αυγούστου,Σεπτεμβρίου,Οκτωβρίου,Νοεμβρίου,Δεκεμβρίου",
        "Ιαν,Φεβ,Μαρ,Απρ,Μαϊ,Ιουν,Ιουλ,Αυγ,Σεπ,Οκτ,Νοε,Δεκ",
        "Δευτέρα,Τρίτη,Τετάρτη,Πέμπτη,Παρασκευή,Σάββατο,Κυριακή"],
        "Η ρύθμιση γλώσσας άλλαξε σε %.",
    ),
    row(
        ("български", "Bulgarian"), (DateFormat::Dmy, 1), (1026, 1026, "bg-BG"), [
        "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        "понеделник,вторник,сряда,четвъртък,петък,събота,неделя"],
        "Changed language setting to %.",
    ),
    row(
        ("русский", "Russian"), (DateFormat::Dmy, 1), (1049, 1049, "ru-RU"), [
        "Январь,Февраль,Март,Апрель,Май,Июнь,Июль,Август,Сентябрь,Октябрь,Ноябрь,Декабрь",
        "янв,фев,мар,апр,май,июн,июл,авг,сен,окт,ноя,дек",
        "понедельник,вторник,среда,четверг,пятница,суббота,воскресенье"],
        "Язык изменен на %.",
    ),
    row(
        ("Türkçe", "Turkish"), (DateFormat::Dmy, 1), (1055, 1055, "tr-TR"), [
        "Ocak,Şubat,Mart,Nisan,Mayıs,Haziran,Temmuz,Ağustos,Eylül,Ekim,Kasım,Aralık",
        "Oca,Şub,Mar,Nis,May,Haz,Tem,Ağu,Eyl,Eki,Kas,Ara",
        "Pazartesi,Salı,Çarşamba,Perşembe,Cuma,Cumartesi,Pazar"],
        "Dil ayarı '%' olarak değiştirildi.",
    ),
    row(
        ("British", "British English"), (DateFormat::Dmy, 1), (2057, 1033, "en-GB"), [
        "January,February,March,April,May,June,July,August,September,October,November,December",
        "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec",
        "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"],
        "Changed language setting to %.",
    ),
    row(
        ("eesti", "Estonian"), (DateFormat::Dmy, 1), (1061, 1061, "et-EE"), [
        "jaanuar,veebruar,märts,aprill,mai,juuni,juuli,august,september,oktoober,november,detsember",
        "jaan,veebr,märts,apr,mai,juuni,juuli,aug,sept,okt,nov,dets",
        "esmaspäev,teisipäev,kolmapäev,neljapäev,reede,laupäev,pühapäev"],
        "Changed language setting to %.",
    ),
    row(
        ("latviešu", "Latvian"), (DateFormat::Ymd, 1), (1062, 1062, "lv-LV"), [
        "janvāris,februāris,marts,aprīlis,maijs,jūnijs,jūlijs,augusts,septembris,oktobris,novembris,decembris",
        "jan,feb,mar,apr,mai,jūn,jūl,aug,sep,okt,nov,dec",
        "pirmdiena,otrdiena,trešdiena,ceturtdiena,piektdiena,sestdiena,svētdiena"],
        "Changed language setting to %.",
    ),
    row(
        ("lietuvių", "Lithuanian"), (DateFormat::Ymd, 1), (1063, 1063, "lt-LT"), [
        "sausis,vasaris,kovas,balandis,gegužė,birželis,liepa,rugpjūtis,rugsėjis,spalis,lapkritis,gruodis",
        "sau,vas,kov,bal,geg,bir,lie,rgp,rgs,spl,lap,grd",
        "pirmadienis,antradienis,trečiadienis,ketvirtadienis,penktadienis,šeštadienis,sekmadienis"],
        "Changed language setting to %.",
    ),
    row(
        ("Português (Brasil)", "Brazilian"), (DateFormat::Dmy, 7), (1046, 1046, "pt-BR"), [
        "Janeiro,Fevereiro,Março,Abril,Maio,Junho,Julho,Agosto,Setembro,Outubro,Novembro,Dezembro",
        "Jan,Fev,Mar,Abr,Mai,Jun,Jul,Ago,Set,Out,Nov,Dez",
        "Segunda-Feira,Terça-Feira,Quarta-Feira,Quinta-Feira,Sexta-Feira,Sábado,Domingo"],
        "Definição do idioma alterada para %.",
    ),
    row(
        ("繁體中文", "Traditional Chinese"), (DateFormat::Ymd, 7), (1028, 1028, "zh-TW"), [
        "一月,二月,三月,四月,五月,六月,七月,八月,九月,十月,十一月,十二月",
        "01,02,03,04,05,06,07,08,09,10,11,12",
        "星期一,星期二,星期三,星期四,星期五,星期六,星期日"],
        "已將語言設定變更為 %。",
    ),
    row(
        ("한국어", "Korean"), (DateFormat::Ymd, 7), (1042, 1042, "ko-KR"), [
        "01,02,03,04,05,06,07,08,09,10,11,12",
        "01,02,03,04,05,06,07,08,09,10,11,12",
        "월요일,화요일,수요일,목요일,금요일,토요일,일요일"],
        "언어 설정이 %(으)로 변경되었습니다.",
    ),
    row(
        ("简体中文", "Simplified Chinese"), (DateFormat::Ymd, 7), (2052, 2052, "zh-CN"), [
        "01,02,03,04,05,06,07,08,09,10,11,12",
        "01,02,03,04,05,06,07,08,09,10,11,12",
        "星期一,星期二,星期三,星期四,星期五,星期六,星期日"],
        "已将语言设置更改为 %。",
    ),
    row(
        ("Arabic", "Arabic"), (DateFormat::Dmy, 1), (1025, 1025, "ar-SA"), [
        "Muharram,Safar,Rabie I,Rabie II,Jumada I,Jumada II,Rajab,Shaaban,Ramadan,Shawwal,Thou Alqadah,Thou Alhajja",
        "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec",
        "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"],
        "Changed language setting to %.",
    ),
    row(
        ("ไทย", "Thai"), (DateFormat::Dmy, 7), (1054, 1054, "th-TH"), [
        "มกราคม,กุมภาพันธ์,มีนาคม,เมษายน,พฤษภาคม,มิถุนายน,กรกฎาคม,สิงหาคม,กันยายน,ตุลาคม,พฤศจิกายน,ธันวาคม",
        "ม.ค.,ก.พ.,มี.ค.,เม.ย.,พ.ค.,มิ.ย.,ก.ค.,ส.ค.,ก.ย.,ต.ค.,พ.ย.,ธ.ค.",
        "จันทร์,อังคาร,พุธ,พฤหัสบดี,ศุกร์,เสาร์,อาทิตย์"],
        "Changed language setting to %.",
    ),
    row(
        ("norsk (bokmål)", "Bokmål"), (DateFormat::Dmy, 1), (1044, 1044, "nb-NO"), [
        "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember",
        "jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des",
        "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag"],
        "Endret språkinnstilling til %.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_found_by_name_and_by_alias() {
        for (name, id) in [
            ("us_english", 0),
            ("ENGLISH", 0),
            ("german", 1),
            ("français", 2),
            ("FRANÇAIS", 2),
            ("日本語", 3),
            ("British English", 23),
            ("norsk (bokmål)", 33),
        ] {
            assert_eq!(Language::by_name(name).map(Language::id), Some(id), "{name}");
        }
        // A name that has marks is found with its marks only.
        assert_eq!(Language::by_name("Francais"), None);
        assert_eq!(Language::by_name("Klingon"), None);
        assert_eq!(Language::by_id(34), None);
        assert_eq!(Language::by_id(-1), None);
        assert_eq!(Language::by_lcid(1036).map(Language::alias), Some("French"));
    }

    /// From SQL Server's documentation of `sys.syslanguages`: 34 languages, `langid` from 0.
    #[test]
    fn rows_are_those_of_sql_server() {
        assert_eq!(Language::all().count(), 34);
        let first_is_sunday: Vec<&str> =
            Language::all().filter(|l| l.date_first() == 7).map(Language::alias).collect();
        assert_eq!(
            first_is_sunday,
            [
                "English",
                "Japanese",
                "Portuguese",
                "Brazilian",
                "Traditional Chinese",
                "Korean",
                "Simplified Chinese",
                "Thai"
            ]
        );
        assert_eq!(Language::default().name(), "us_english");
        let german = Language::by_name("German").unwrap();
        assert_eq!(german.changed(), "Die Spracheneinstellung wurde in Deutsch geändert.");
        assert_eq!(german.month_names()[2], "März");
        assert_eq!(german.day_names()[6], "Sonntag");
        let british = Language::by_name("British").unwrap();
        assert_eq!(british.changed(), "Changed language setting to British.");
    }
}
