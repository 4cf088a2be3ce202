//! Adds a source to the level: its name must not be another source's.

use std::sync::Arc;

use smol_str::SmolStr;
use types::{Msg, Result};

use super::from::SourceName;
use crate::{Binder, Source, SourceColumn};
use catalog::TableDef;
use catalog::name::Name;

/// Adds a source behind those of the level.
///
/// # Errors
/// 1011 for an alias that is there, 1012 for an alias that is a table's name, 1013 for a table that is there.
pub(crate) fn add_source(
    binder: &mut Binder<'_>,
    name: SourceName<'_>,
    columns: Vec<SourceColumn>,
    table: Option<Arc<TableDef>>,
) -> Result<()> {
    let source = Source {
        alias: name.alias.into(),
        schema: name.schema.map(SmolStr::new),
        columns,
        table,
        ..Source::default()
    };
    let clash = binder.level.sources.iter().find(|s| {
        let schemas = match (&s.schema, &source.schema) {
            (Some(a), Some(b)) => Name::same(a, b),
            (None, None) => true,
            _ => false,
        };
        schemas && Name::same(&s.alias, &source.alias)
    });
    let correlated = binder.level.sources.iter().any(|s| {
        s.schema.is_some() != source.schema.is_some() && Name::same(&s.alias, &source.alias)
    });
    if correlated {
        return Err(Msg::CorrelationIsTable(&source.alias, &source.alias).into());
    }
    if clash.is_some() {
        return Err(if source.schema.is_some() {
            Msg::SameExposedNames(&source.alias, &source.alias).into()
        } else {
            Msg::CorrelationTwice(&source.alias).into()
        });
    }
    binder.level.sources.push(source);
    Ok(())
}
