//! The key of a row that a session waits for, which views show to readers that may see all data.

use ::session::awaited::LockedRow;

use crate::format;
use crate::view::Scope;

/// Returns ` of `, the table's name and the row's key; empty for readers that may not see all data.
pub(crate) fn key_suffix(scope: &Scope<'_>, row: &LockedRow) -> String {
    // A key is data: who may look at the server may not look at all tables.
    let rights = &scope.session.identity.rights;
    if !rights.has_of_server(&scope.session.catalog, "CONTROL SERVER") {
        return String::new();
    }
    format!(" of {}", key_of(scope, row))
}

/// Names a row by its table and the values of its first unique index, or of its first index.
fn key_of(scope: &Scope<'_>, locked: &LockedRow) -> String {
    let (table, row) = (&locked.table, locked.row);
    let name = format!("{}.{}", table.schema, table.name);
    let unique = table.indexes.iter().find(|index| index.unique);
    let Some(index) = unique.or_else(|| table.indexes.first()) else { return name };
    let values = table.rows.data.show_row(row, |image| {
        let view = table.layout.view(image.bytes, image.blobs);
        let value = |(ordinal, _): &(u16, bool)| {
            let text = format::shown(&view.get(usize::from(*ordinal)), usize::MAX, scope.session);
            let column = &table.columns[usize::from(*ordinal)].name;
            format!("{column} = {}", text.as_deref().unwrap_or("NULL"))
        };
        index.keys.iter().map(value).collect::<Vec<_>>().join(", ")
    });
    values.map_or(name.clone(), |values| format!("{name} ({values})"))
}
