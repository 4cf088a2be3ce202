//! The options of INSERT BULK .. WITH.

use tsql::ast::{self, BulkOption, ExprKind, Literal};
use types::{Msg, Result};

/// The options of WITH, parsed.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    /// KEEP_NULLS: a NULL stays NULL and does not become the column's default.
    pub keep_nulls: bool,
    /// CHECK_CONSTRAINTS: rows are checked against CHECK and FOREIGN KEY constraints.
    pub check_constraints: bool,
    /// FIRE_TRIGGERS: INSERT triggers fire for the rows.
    pub fire_triggers: bool,
    /// TABLOCK: the table is locked for the load.
    pub table_lock: bool,
    /// ORDER: the columns that the rows are sorted by.
    pub order: Vec<ast::IndexColumn>,
}

impl Options {
    /// Parses the options of a statement.
    ///
    /// # Errors
    /// 102 for an invalid value, 40517 for an unknown option.
    pub(super) fn of(announced: &ast::InsertBulk) -> Result<Self> {
        let mut options = Self::default();
        for option in &announced.options {
            match option {
                BulkOption::Word(word) => options.word(word)?,
                BulkOption::Order(columns) => options.order.clone_from(columns),
                // Hints about the sizes of sorts and logs, which do not exist here.
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
            // An identity column that the list names keeps the sent values in any case.
            "KEEP_IDENTITY" | "KEEPIDENTITY" => {}
            // No column is encrypted, so the option has no effect.
            "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS" => {}
            _ => return Err(unknown(word)),
        }
        Ok(())
    }
}

fn unknown(option: &str) -> types::Error {
    Msg::NotSupported(&format!("{option} of INSERT BULK")).into()
}
