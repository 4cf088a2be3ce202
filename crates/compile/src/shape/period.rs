//! PERIOD FOR SYSTEM_TIME and the generated columns (ROW START, ROW END) of temporal tables.

use tsql::ast::Ident;
use types::{DataType, Msg, Result};

use super::Shaper;
use ::catalog::name::Name;
use ::catalog::{ColumnDef, Generated, Period};

/// Checks a column on its own. Returns true if the column is NOT NULL because it is generated.
///
/// # Errors
/// 13501 if the type is not `datetime2`, 13587 if it is declared NULL, 102 for HIDDEN of a column
/// that is not generated.
pub(super) fn check_column(column: &ColumnDef, null: bool) -> Result<bool> {
    match column.generated {
        None if column.hidden => Err(Msg::SyntaxNear("HIDDEN").into()),
        None => Ok(false),
        Some(_) if !is_moment(column) => Err(Msg::GeneratedType(&column.name).into()),
        Some(_) if null => Err(Msg::PeriodNullable(&column.name).into()),
        Some(_) => Ok(true),
    }
}

fn is_moment(column: &ColumnDef) -> bool {
    matches!(column.ty.data_type, DataType::DateTime2(_)) && column.computed.is_none()
}

impl Shaper<'_, '_> {
    /// Adds PERIOD FOR SYSTEM_TIME. Existing columns become generated columns.
    ///
    /// # Errors
    /// 13508 for a second period; 13501 and 13504 to 13507 for columns that can't be its ends,
    /// 13513 for ends of different precision, 13587 for a nullable column.
    pub fn add_period(&mut self, start: &Ident, end: &Ident) -> Result<()> {
        if self.period.is_some() {
            return Err(Msg::PeriodTwice.into());
        }
        let start = self.end_of_period(start, Generated::RowStart)?;
        let end = self.end_of_period(end, Generated::RowEnd)?;
        let type_of = |ordinal: u16| self.columns[usize::from(ordinal)].ty.data_type;
        if type_of(start) != type_of(end) {
            return Err(Msg::PeriodPrecision.into());
        }
        self.period = Some(Period { start, end });
        Ok(())
    }

    fn end_of_period(&mut self, name: &Ident, which: Generated) -> Result<u16> {
        let place = self.columns.iter().position(|c| Name::same(&c.name, name));
        if place.is_none() && self.adopted > 0 {
            return Err(Msg::AlterColumnNotFound(
                "ADD PERIOD FOR SYSTEM_TIME",
                name,
                self.place.name,
            )
            .into());
        }
        if let Some(place) = place.filter(|place| *place < self.adopted) {
            let column = &mut self.columns[place];
            if !is_moment(column) {
                return Err(Msg::GeneratedType(&column.name).into());
            }
            if column.ty.nullable {
                return Err(Msg::PeriodNullable(&column.name).into());
            }
            column.generated = Some(which);
        }
        let declared = self.columns.iter().any(|c| c.generated == Some(which));
        let named = place.filter(|place| self.columns[*place].generated == Some(which));
        let ordinal = named.and_then(|place| u16::try_from(place).ok());
        ordinal.ok_or_else(|| {
            match (which, declared) {
                (Generated::RowStart, false) => Msg::RowStartMissing,
                (Generated::RowStart, true) => Msg::PeriodStartName,
                (Generated::RowEnd, false) => Msg::RowEndMissing,
                (Generated::RowEnd, true) => Msg::PeriodEndName,
            }
            .into()
        })
    }

    /// Checks the generated columns of the whole table together.
    ///
    /// # Errors
    /// 13502 and 13503 for a second ROW START or ROW END, 13509 without a period.
    pub fn check_generated(&self) -> Result<()> {
        let count = |which| self.columns.iter().filter(|c| c.generated == Some(which)).count();
        let (starts, ends) = (count(Generated::RowStart), count(Generated::RowEnd));
        if starts > 1 {
            return Err(Msg::RowStartTwice.into());
        }
        if ends > 1 {
            return Err(Msg::RowEndTwice.into());
        }
        match self.period {
            None if starts + ends > 0 => Err(Msg::GeneratedWithoutPeriod.into()),
            None | Some(_) => Ok(()),
        }
    }
}
