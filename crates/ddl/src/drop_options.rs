//! The options of DROP INDEX and of ALTER TABLE DROP CONSTRAINT: `WITH (ONLINE = ON, MAXDOP = 1,
//! MOVE TO fg)`. Readers never wait for an index, so only MOVE TO has an effect: the heap that the
//! clustered index leaves behind is partitioned by the scheme that it names.

use tsql::ast::{IndexOption, Literal, OptionValue, Storage};
use types::{Msg, Result};

use ::catalog::{PartitionedOn, TableDef};
use ::compile::refuse;
use ::compile::shape::partition;
use ::executor::Cx;

/// The options of one dropped index or constraint.
pub(crate) struct DropOptions<'a>(&'a [IndexOption]);

impl<'a> DropOptions<'a> {
    /// Checks the options' names and values; `statement` has them: `DROP INDEX` or `ALTER TABLE`.
    ///
    /// # Errors
    /// 155 for an unknown option, 102 for a value of the wrong kind, 40517 for FILESTREAM_ON.
    pub(crate) fn new(options: &'a [IndexOption], statement: &str) -> Result<Self> {
        for IndexOption { name, written, value, .. } in options {
            match (name.as_ref(), value) {
                ("ONLINE", OptionValue::On | OptionValue::Off | OptionValue::OnList(_))
                | ("MAXDOP", OptionValue::Literal(Literal::Int(_)))
                | ("MOVE TO", OptionValue::Place(..))
                | ("DATA_COMPRESSION", OptionValue::Name(_)) => {}
                ("FILESTREAM_ON", _) => return refuse(&format!("FILESTREAM_ON of {statement}")),
                ("ONLINE" | "MAXDOP" | "MOVE TO" | "DATA_COMPRESSION", _) => {
                    return Err(Msg::SyntaxNear(written).into());
                }
                _ => return Err(Msg::UnrecognizedOption(written, statement).into()),
            }
        }
        Ok(Self(options))
    }

    /// Returns whether the index is to be dropped online.
    pub(crate) fn is_online(&self) -> bool {
        let is_on = |value: &OptionValue| matches!(value, OptionValue::On | OptionValue::OnList(_));
        self.0.iter().any(|option| *option.name == *"ONLINE" && is_on(&option.value))
    }

    /// Checks the options of a nonclustered index, which has none but ONLINE = OFF.
    ///
    /// # Errors
    /// 3745 for ONLINE = ON, 3748 for another option.
    pub(crate) fn check_nonclustered(&self, index: &str) -> Result<()> {
        if self.is_online() {
            return Err(Msg::NotClusteredOnline.into());
        }
        match self.0.iter().all(|option| *option.name == *"ONLINE") {
            true => Ok(()),
            false => Err(Msg::NotClusteredOptions(index).into()),
        }
    }

    /// Returns where the rows of a table are when its clustered index, which is on `on`, is gone:
    /// as MOVE TO says, else where the index was.
    ///
    /// # Errors
    /// As [`partition::resolve`].
    pub(crate) fn place(
        &self,
        table: &TableDef,
        on: Option<&PartitionedOn>,
        cx: &Cx<'_>,
    ) -> Result<Option<PartitionedOn>> {
        let place = self.0.iter().find_map(|option| match &option.value {
            OptionValue::Place(name, columns) => Some((name.clone(), columns.clone())),
            _ => None,
        });
        let Some(place) = place else { return Ok(on.cloned()) };
        let storage = Storage { on: Some(place), textimage_on: None, filestream_on: None };
        let columns = (table.columns.as_slice(), table.name.as_str());
        let said = partition::resolve(&cx.session.catalog, table.database_id, columns, &storage)?;
        Ok(said.or(None))
    }
}
