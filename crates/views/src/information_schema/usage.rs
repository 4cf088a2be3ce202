//! The tables and columns that constraints use: rows shared by several views.

use ::catalog::TableDef;
use metadata::Scope;
use metadata::objects::tables;

/// A constraint and one table column that it uses.
pub(crate) struct Usage {
    pub(crate) catalog: String,
    /// Schema of the table.
    pub(crate) schema: String,
    pub(crate) table: String,
    pub(crate) column: String,
    pub(crate) constraint: String,
}

/// Returns the columns that keys, foreign keys and CHECK constraints use.
pub(crate) fn usages(scope: &Scope<'_>) -> Vec<Usage> {
    let mut found = Vec::new();
    for table in tables(scope.session, scope.database) {
        let mut add = |constraint: &str, ordinal: u16| {
            found.push(usage(&scope.database.name, &table, constraint, ordinal));
        };
        for index in table.indexes.iter().filter(|index| index.constraint.is_some()) {
            index.keys.iter().for_each(|(ordinal, _)| add(&index.name, *ordinal));
        }
        for key in &table.foreign_keys {
            key.columns.iter().for_each(|ordinal| add(&key.name, *ordinal));
        }
        for check in &table.checks {
            let describer = scope.session.instance.describer;
            let read = describer.columns_read(scope.session, &table, &check.text.tree);
            read.into_iter().for_each(|ordinal| add(&check.name, ordinal));
        }
    }
    found
}

fn usage(catalog: &str, table: &TableDef, constraint: &str, ordinal: u16) -> Usage {
    Usage {
        catalog: catalog.to_owned(),
        schema: table.schema.clone(),
        table: table.name.clone(),
        column: table.columns[usize::from(ordinal)].name.clone(),
        constraint: constraint.to_owned(),
    }
}
