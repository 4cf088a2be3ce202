//! The options of INSERT BULK.

use tsql::ast::{self, BulkOption, ExprKind, Literal};
use types::{Msg, Result};

/// What WITH says.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    /// KEEP_NULLS: a NULL is not the column's default.
    pub keep_nulls: bool,
    /// CHECK_CONSTRAINTS: those of CHECK and FOREIGN KEY hold for the rows.
    pub check_constraints: bool,
    /// FIRE_TRIGGERS
    pub fire_triggers: bool,
    /// TABLOCK
    pub table_lock: bool,
    /// ORDER: how the rows are sorted.
    pub order: Vec<ast::IndexColumn>,
}

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    /// 102 for a value that means nothing, 40517 for an option that is not known.
    pub(super) fn of(announced: &ast::InsertBulk) -> Result<Self> {
        let mut options = Self::default();
        for option in &announced.options {
            match option {
                BulkOption::Word(word) => options.word(word)?,
                BulkOption::Order(columns) => options.order.clone_from(columns),
                // Hints for the sizes of sorts and logs, of which there are none.
                BulkOption::Value(name, value)
                    if matches!(&**name, "ROWS_PER_BATCH" | "KILOBYTES_PER_BATCH") =>
                {
                    let is_number = matches!(
                        &value.kind,
                        ExprKind::Literal(Literal::Int(_) | Literal::Decimal(_))
                    );
                    if !is_number {
                        return Err(Msg::SyntaxNear(name).into());
                    }
                }
                BulkOption::Value(name, _) => return Err(unknown(name)),
            }
        }
        Ok(options)
    }

    fn word(&mut self, word: &str) -> Result<()> {
        match word {
            "KEEP_NULLS" | "KEEPNULLS" => self.keep_nulls = true,
            "CHECK_CONSTRAINTS" => self.check_constraints = true,
            "FIRE_TRIGGERS" => self.fire_triggers = true,
            "TABLOCK" => self.table_lock = true,
            // An identity column that the list names keeps the values that come anyhow.
            "KEEP_IDENTITY" | "KEEPIDENTITY" => {}
            // No column is encrypted.
            "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS" => {}
            _ => return Err(unknown(word)),
        }
        Ok(())
    }
}

fn unknown(option: &str) -> types::Error {
    Msg::NotSupported(&format!("{option} of INSERT BULK")).into()
}
