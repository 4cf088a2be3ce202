//! fn_helpcollations: the list of collations.

use types::collation::Collation;
use types::{DataType, Length, Msg, Value};

use crate::entry::of;
use crate::{Collating, TableFunction, made};

pub(crate) static FUNCTIONS: &[TableFunction] = &[TableFunction {
    name: "FN_HELPCOLLATIONS",
    collation: Collating::Apart,
    bind: |arguments| {
        if !arguments.is_empty() {
            return Err(Msg::TooManyArguments("fn_helpcollations").into());
        }
        let text = |length| of(DataType::NVarChar(Length::Limited(length)));
        Ok(vec![("name".to_owned(), text(128)), ("description".to_owned(), text(1_000))])
    },
    rows: |_, _| {
        let mut all: Vec<Collation> = Collation::all().collect();
        all.sort_by_cached_key(|collation| collation.name());
        let row = |collation: &Collation| {
            vec![Value::nvarchar(&collation.name()), Value::nvarchar(&describe(*collation))]
        };
        Ok(made(all.iter().map(row).collect()))
    },
}];

/// Describes a collation in words, as SQL Server does.
fn describe(collation: Collation) -> String {
    let name = collation.name();
    let words: Vec<&str> = name.split('_').collect();
    let has = |word: &str| words.contains(&word);
    let mut text = collation.language().replace('_', "-");
    if has("BIN2") {
        text.push_str(", binary code point comparison sort");
    } else if has("BIN") {
        text.push_str(", binary sort");
    } else {
        let sensitive = |on: bool| if on { "sensitive" } else { "insensitive" };
        text.push_str(&format!(
            ", case-{}, accent-{}, kanatype-{}, width-{}",
            sensitive(has("CS")),
            sensitive(has("AS")),
            sensitive(has("KS")),
            sensitive(has("WS")),
        ));
    }
    if has("SC") || collation.version() == 3 && !collation.is_binary() {
        text.push_str(", supplementary characters");
    }
    if collation.version() == 3 && !collation.is_binary() {
        let sensitive = if has("VSS") { "sensitive" } else { "insensitive" };
        text.push_str(&format!(", variation selector {sensitive}"));
    }
    if has("UTF8") {
        text.push_str(", UTF8");
    }
    match collation.sort_id() {
        0 => text,
        sort_id => format!(
            "{text} for Unicode Data, SQL Server Sort Order {sort_id} on Code Page {} for non-Unicode Data",
            collation.code_page().number()
        ),
    }
}
