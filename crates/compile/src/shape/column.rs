//! The columns of a new table in order, and which column options the other options and the type of
//! a column permit.

use tsql::ast::{self, ColumnKind, ColumnOption, ConstraintKind, KeyKind, Literal, TableElement};
use types::value::ColumnType;
use types::{DataType, Error, Length, Msg, Result};

use super::Shaper;
use ::catalog::ColumnDef;

/// Returns true if the column has no type or option that excludes SPARSE.
pub(super) fn may_be_sparse(column: &ColumnDef) -> bool {
    let no_type = matches!(
        column.ty.data_type,
        DataType::Text | DataType::NText | DataType::Image | DataType::RowVersion
    );
    let is_plain = column.computed.is_none() && column.default.is_none() && !column.row_guid;
    is_plain && !no_type && column.user_type.is_none()
}

/// Returns true if ANSI_PADDING OFF trims trailing blanks or zeros of values stored in a column of
/// this type. A fixed-length column that is NOT NULL is padded even then.
pub(super) fn may_be_trimmed(ty: &ColumnType) -> bool {
    match ty.data_type {
        DataType::Char(_) | DataType::Binary(_) => ty.nullable,
        DataType::VarChar(Length::Limited(_)) | DataType::VarBinary(Length::Limited(_)) => true,
        _ => false,
    }
}

impl Shaper<'_, '_> {
    /// Adds the columns of a new table. A computed column may name columns that are written after
    /// it.
    pub(super) fn all_columns(&mut self, elements: &[TableElement]) -> Result<()> {
        let columns = elements.iter().filter_map(|element| match element {
            TableElement::Column(column) => Some(&**column),
            _ => None,
        });
        let is_computed = |c: &ast::ColumnDefinition| matches!(c.kind, ColumnKind::Computed { .. });
        let (computed, typed): (Vec<_>, Vec<_>) =
            columns.enumerate().partition(|(_, column)| is_computed(column));
        let mut places = Vec::with_capacity(typed.len() + computed.len());
        for (place, column) in typed.into_iter().chain(computed) {
            self.column(column)?;
            self.check_width()?;
            places.push(place);
        }
        for ordinal in &mut self.said_null {
            *ordinal = u16::try_from(places[usize::from(*ordinal)]).unwrap_or(*ordinal);
        }
        let defined = std::mem::take(&mut self.columns);
        let mut placed: Vec<_> = places.into_iter().zip(defined).collect();
        placed.sort_by_key(|(place, _)| *place);
        self.columns = placed.into_iter().map(|(_, column)| column).collect();
        Ok(())
    }
}

/// Returns seed and increment of IDENTITY.
///
/// # Errors
/// 2749 for a column that is no whole number, 2789 for values that are none.
pub(super) fn identity(
    column: &ColumnDef,
    bounds: Option<&(Literal, Literal)>,
) -> Result<(i64, i64)> {
    let whole = matches!(
        column.ty.data_type,
        DataType::TinyInt
            | DataType::SmallInt
            | DataType::Int
            | DataType::BigInt
            | DataType::Decimal { scale: 0, .. }
    );
    if !whole {
        return Err(Msg::IdentityType(&column.name).into());
    }
    let number = |literal: &Literal| match literal {
        Literal::Int(n) => Some(i64::from(*n)),
        Literal::Decimal(digits) => digits.parse().ok(),
        _ => None,
    };
    match bounds {
        None => Ok((1, 1)),
        Some((seed, increment)) => match (number(seed), number(increment)) {
            (Some(seed), Some(increment)) if increment != 0 => Ok((seed, increment)),
            _ => Err(Error::custom(
                2789,
                16,
                1,
                format!("Identity column '{}' contains invalid SEED or INCREMENT.", column.name),
            )),
        },
    }
}

/// Returns error 8135 for a key or an index of a table that lists no columns.
pub(super) fn check_listed(columns: &[ast::IndexColumn], table: &str) -> Result<()> {
    if columns.is_empty() { Err(Msg::ConstraintNoColumns(table).into()) } else { Ok(()) }
}

/// Checks that a column may have a DEFAULT.
///
/// # Errors
/// 1752 for a computed column, 1754 for one with IDENTITY, 1755 for `rowversion`.
pub(super) fn check_defaulted(column: &ColumnDef, table: &str) -> Result<()> {
    if column.computed.is_some() {
        return Err(Msg::InvalidForDefault(&column.name, table).into());
    }
    if column.identity.is_some() {
        return Err(Msg::DefaultOnIdentity(table, &column.name).into());
    }
    if column.ty.data_type == DataType::RowVersion {
        return Err(Msg::DefaultOnTimestamp(table, &column.name).into());
    }
    Ok(())
}

/// Checks that no option of a column excludes another.
///
/// # Errors
/// 8148 or 8150 for an option that is there twice, 8183 for a constraint of a computed column.
pub(super) fn check_options(
    column: &ColumnDef,
    options: &[ColumnOption],
    table: &str,
) -> Result<()> {
    if column.computed.is_some() && !options.iter().all(|option| may_be_computed(option, column)) {
        return Err(Msg::ComputedConstraint.into());
    }
    let count = |is: fn(&ColumnOption) -> bool| options.iter().filter(|option| is(option)).count();
    if count(|option| matches!(option, ColumnOption::Null | ColumnOption::NotNull)) > 1 {
        return Err(Msg::MultipleNulls(&column.name, table).into());
    }
    let counts = [
        ("IDENTITY", count(|option| matches!(option, ColumnOption::Identity(_)))),
        ("ROWGUIDCOL", count(|option| *option == ColumnOption::RowGuidCol)),
        ("DEFAULT", count(is_default)),
    ];
    if let Some((kind, _)) = counts.into_iter().find(|(_, count)| *count > 1) {
        return Err(Msg::MultipleConstraints(kind, &column.name, table).into());
    }
    check_together(column, options, table)
}

/// Checks options that exclude each other.
///
/// # Errors
/// 8147 for IDENTITY of a column that is NULL, 1754 and 1755 for a DEFAULT of IDENTITY and `rowversion`, 8151
/// for two keys.
fn check_together(column: &ColumnDef, options: &[ColumnOption], table: &str) -> Result<()> {
    let has_key = |wanted: KeyKind| {
        options.iter().any(|option| match option {
            ColumnOption::Constraint(constraint) => {
                matches!(&constraint.kind, ConstraintKind::Key { kind, .. } if *kind == wanted)
            }
            _ => false,
        })
    };
    let is_identity = options.iter().any(|option| matches!(option, ColumnOption::Identity(_)));
    if is_identity && options.contains(&ColumnOption::Null) {
        return Err(Msg::IdentityNullable(&column.name, table).into());
    }
    if options.iter().any(is_default) {
        if is_identity {
            return Err(Msg::DefaultOnIdentity(table, &column.name).into());
        }
        check_defaulted(column, table)?;
    }
    if has_key(KeyKind::Primary) && has_key(KeyKind::Unique) {
        return Err(Msg::PrimaryKeyAndUnique(&column.name, table).into());
    }
    Ok(())
}

fn is_default(option: &ColumnOption) -> bool {
    match option {
        ColumnOption::Constraint(constraint) => {
            matches!(constraint.kind, ConstraintKind::Default { .. })
        }
        _ => false,
    }
}

/// Returns whether a computed column may have an option: a key may, and constraints if its values
/// are stored.
fn may_be_computed(option: &ColumnOption, column: &ColumnDef) -> bool {
    match option {
        ColumnOption::Null => false,
        ColumnOption::NotNull => column.persisted,
        ColumnOption::Constraint(constraint) => match constraint.kind {
            ConstraintKind::Default { .. } => false,
            ConstraintKind::Check { .. } | ConstraintKind::ForeignKey { .. } => column.persisted,
            ConstraintKind::Key { .. } | ConstraintKind::Connection(_) => true,
        },
        _ => true,
    }
}

impl Shaper<'_, '_> {
    /// Checks REFERENCES on the type of a column.
    ///
    /// # Errors
    /// 229 if it is missing.
    pub(super) fn check_type(&self, of: Option<&(String, String)>) -> Result<()> {
        let (Some(rights), Some((schema, name))) = (self.rights, of) else { return Ok(()) };
        let Some(database) = self.binder.catalog.database(self.binder.database) else {
            return Ok(());
        };
        let found = database.user_type(schema, name);
        found.map_or(Ok(()), |of| rights.check_type(database, of, "REFERENCES"))
    }
}
