//! FOREIGN KEY constraints: resolves the referenced table and columns, and checks that the
//! reference is allowed.

use std::sync::Arc;

use tsql::ast::{self, ConstraintKind};
use types::value::ColumnType;
use types::{Error, Msg, Result};

use super::Shaper;
use ::catalog::name::Name;
use ::catalog::security;
use ::catalog::{
    ColumnDef, DBO_SCHEMA, ForeignKeyDef, IndexConstraint, IndexDef, ReferenceAction, TableDef,
};

/// A foreign key being defined, as far as it is known.
struct New<'k> {
    name: &'k str,
    columns: Vec<u16>,
    /// Referenced table; `None` for the table being defined.
    target: Option<Arc<TableDef>>,
    referenced: Vec<u16>,
    on_delete: ReferenceAction,
    on_update: ReferenceAction,
}

/// Returns the names of the foreign keys among the elements of a temporary table, which ignores
/// them; the table's name for a key without one.
pub fn skipped<'a>(
    elements: &'a [ast::TableElement],
    table: &'a str,
) -> impl Iterator<Item = &'a str> {
    let of_columns = elements.iter().flat_map(|element| match element {
        ast::TableElement::Column(column) => column.options.as_slice(),
        _ => &[],
    });
    let of_columns = of_columns.filter_map(|option| match option {
        ast::ColumnOption::Constraint(constraint) => Some(&**constraint),
        _ => None,
    });
    let of_table = elements.iter().filter_map(|element| match element {
        ast::TableElement::Constraint(constraint) => Some(&**constraint),
        _ => None,
    });
    let keys =
        of_columns.chain(of_table).filter(|c| matches!(c.kind, ConstraintKind::ForeignKey { .. }));
    let is_temporary = table.starts_with('#');
    keys.filter(move |_| is_temporary).map(move |c| c.name.as_deref().unwrap_or(table))
}

impl Shaper<'_, '_> {
    /// Adds a foreign key. `own` is the column whose definition contains it, if any.
    ///
    /// # Errors
    /// 1753 to 1785 and 8139 for an invalid definition; 229 and 230 without the permission
    /// REFERENCES.
    pub fn foreign_key(
        &mut self,
        constraint: &ast::Constraint,
        own: Option<&[ast::Ident; 1]>,
    ) -> Result<()> {
        let ConstraintKind::ForeignKey {
            columns,
            table,
            referenced,
            on_delete,
            on_update,
            not_for_replication,
        } = &constraint.kind
        else {
            return Ok(());
        };
        // Ignored; `skipped` returns its name for the message.
        if self.place.name.starts_with('#') {
            return Ok(());
        }
        let id = self.cell.next_object_id();
        let column = own.map_or("", |own| own[0].as_str());
        let (name, system_named) = self.constraint_name(constraint, "FK", column, id);
        if own.is_none() && columns.is_empty() {
            return Err(Msg::ConstraintNoColumns(self.place.name).into());
        }
        let columns: Vec<&ast::Ident> = match own {
            Some(own) if columns.is_empty() => own.iter().collect(),
            _ => columns.iter().collect(),
        };
        let columns = columns.into_iter().map(|c| self.referencing(c, &name));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let target = self.referenced_table(table, &name)?;
        let referenced = self.referenced_columns(target.as_deref(), referenced, &name)?;
        if columns.len() != referenced.len() {
            return Err(Msg::ForeignKeyColumnCount(self.place.name).into());
        }
        let [on_delete, on_update] = [action(*on_delete), action(*on_update)];
        let new = New { name: &name, columns, target, referenced, on_delete, on_update };
        self.check_rights(&new)?;
        self.check_types(&new)?;
        self.check_actions(&new)?;
        self.check_paths(&new)?;
        let New { columns, target, referenced: referenced_columns, .. } = new;
        let referenced = target.map_or(self.place.id, |target| target.id);
        self.foreign_keys.push(ForeignKeyDef {
            id,
            name,
            columns,
            referenced,
            referenced_columns,
            on_delete,
            on_update,
            enabled: true,
            trusted: true,
            system_named,
            not_for_replication: *not_for_replication,
        });
        Ok(())
    }

    fn referencing(&self, column: &ast::Ident, key: &str) -> Result<u16> {
        let invalid = || Msg::ForeignKeyReferencingColumn(key, column, self.place.name);
        self.ordinal(column).map_err(|_| invalid().into())
    }

    /// Finds the referenced table; `None` for the table being defined.
    fn referenced_table(&self, name: &ast::ObjectName, key: &str) -> Result<Option<Arc<TableDef>>> {
        let database = self.binder.catalog.database(self.binder.database);
        // The table that is being made is in no catalog yet: where it is in the schema that is searched
        // first, it is found before another one of dbo.
        let first = database.map(|database| self.binder.unqualified.schema_in(database));
        let is_first = first.is_some_and(|first| Name::same(first, &self.place.schema.1));
        let schema = match (&name.schema, database) {
            (None, _) if is_first => self.place.schema.1.as_str(),
            (_, Some(database)) => self.binder.schema_of(database, name),
            (schema, None) => schema.as_deref().unwrap_or(DBO_SCHEMA),
        };
        if Name::same(&name.object, self.place.name) && Name::same(schema, &self.place.schema.1) {
            return Ok(None);
        }
        if name.is_temporary() {
            return Err(Msg::ForeignKeyToTemporary(key).into());
        }
        let schema = database.map(|database| self.binder.schema_of(database, name));
        let found = schema.and_then(|schema| {
            self.binder.catalog.find_table(self.binder.database, schema, &name.object)
        });
        let invalid = || Error::from(Msg::ForeignKeyInvalidTable(key, &name.to_string()));
        found.cloned().map(Some).ok_or_else(invalid)
    }

    /// Returns the referenced columns: those named, or the primary key's.
    fn referenced_columns(
        &self,
        target: Option<&TableDef>,
        names: &[ast::Ident],
        key: &str,
    ) -> Result<Vec<u16>> {
        let (columns, indexes, table) = match target {
            Some(target) => (&target.columns, &target.indexes, target.qualified_name()),
            None => {
                let own = format!("{}.{}", self.place.schema.1, self.place.name);
                (&self.columns, &self.indexes, own)
            }
        };
        if names.is_empty() {
            let primary =
                indexes.iter().find(|i| i.constraint == Some(IndexConstraint::PrimaryKey));
            let primary = primary.map(|i| i.keys.iter().map(|(o, _)| *o).collect());
            return primary.ok_or_else(|| Msg::ForeignKeyNoPrimaryKey(key, &table).into());
        }
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let place = columns.iter().position(|column| Name::same(&column.name, name));
            let place = place.and_then(|place| u16::try_from(place).ok());
            let invalid = || Error::from(Msg::ForeignKeyReferencedColumn(key, name, &table));
            wanted.push(place.ok_or_else(invalid)?);
        }
        let is_key = |index: &IndexDef| {
            index.is_key()
                && index.keys.len() == wanted.len()
                && index.keys.iter().all(|(o, _)| wanted.contains(o))
        };
        // In the table being defined, the referenced key may come later in the text.
        if target.is_none() || indexes.iter().any(is_key) {
            return Ok(wanted);
        }
        Err(Msg::ForeignKeyNoCandidate(&table, key).into())
    }

    /// Checks the permission REFERENCES on the referenced table or its columns.
    fn check_rights(&self, new: &New<'_>) -> Result<()> {
        let (Some(rights), Some(table)) = (self.rights, &new.target) else { return Ok(()) };
        match self.binder.catalog.database_by_id(table.database_id) {
            Some(database) => security::check_references(rights, database, table, &new.referenced),
            None => Ok(()),
        }
    }

    /// Checks that referencing and referenced columns have the same type, length and collation.
    fn check_types(&self, new: &New<'_>) -> Result<()> {
        let (columns, table) = match &new.target {
            Some(target) => (&target.columns, target.name.as_str()),
            None => (&self.columns, self.place.name),
        };
        for (own, other) in new.columns.iter().zip(&new.referenced) {
            let (own, other) = (&self.columns[usize::from(*own)], &columns[usize::from(*other)]);
            let Some(difference) = difference(&own.ty, &other.ty) else { continue };
            let named = |table: &str, column: &ColumnDef| format!("{table}.{}", column.name);
            let (referenced, referencing) = (named(table, other), named(self.place.name, own));
            return Err(match difference {
                Difference::Type => Msg::ForeignKeyType(&referenced, &referencing, new.name).into(),
                Difference::Length => {
                    Msg::ForeignKeyLength(&referenced, &referencing, new.name).into()
                }
                Difference::Collation => {
                    Msg::ForeignKeyCollation(&referenced, &referencing, new.name).into()
                }
            });
        }
        Ok(())
    }

    /// Checks that the columns accept what the action stores: NULL or the default.
    fn check_actions(&self, new: &New<'_>) -> Result<()> {
        let actions = [new.on_delete, new.on_update];
        let mut columns = new.columns.iter().map(|column| &self.columns[usize::from(*column)]);
        let Some(column) = columns.find(|column| !column.ty.nullable) else { return Ok(()) };
        if actions.contains(&ReferenceAction::SetNull) {
            return Err(Msg::ForeignKeySetNull(new.name).into());
        }
        let lacks =
            column.default.is_none() || columns.any(|c| !c.ty.nullable && c.default.is_none());
        if actions.contains(&ReferenceAction::SetDefault) && lacks {
            return Err(Msg::ForeignKeySetDefault(new.name).into());
        }
        Ok(())
    }

    /// Checks that a cascading DELETE or UPDATE reaches every table by one path only. As in SQL
    /// Server, tables count, not columns or rows.
    fn check_paths(&self, new: &New<'_>) -> Result<()> {
        let target = new.target.as_ref().map_or(self.place.id, |target| target.id);
        let on_delete: fn(&ForeignKeyDef) -> ReferenceAction = |key| key.on_delete;
        let on_update: fn(&ForeignKeyDef) -> ReferenceAction = |key| key.on_update;
        for (action, of) in [(new.on_delete, on_delete), (new.on_update, on_update)] {
            if action == ReferenceAction::NoAction {
                continue;
            }
            let mut paths = self.paths(of);
            paths.push(Path { from: target, to: self.place.id, action });
            if starts_of(target, &paths).into_iter().any(|start| !is_tree(start, &paths)) {
                return Err(Msg::CascadeCycle(new.name, self.place.name).into());
            }
        }
        Ok(())
    }

    /// Returns the cascading foreign keys of the database, without the new one.
    fn paths(&self, action: fn(&ForeignKeyDef) -> ReferenceAction) -> Vec<Path> {
        let path = |to: i32, key: &ForeignKeyDef| {
            let path = Path { from: key.referenced, to, action: action(key) };
            (path.action != ReferenceAction::NoAction).then_some(path)
        };
        let own = self.foreign_keys.iter().filter_map(|key| path(self.place.id, key));
        let mut paths: Vec<Path> = own.collect();
        if let Some(database) = self.binder.catalog.database(self.binder.database) {
            for table in database.tables().filter(|table| table.id != self.place.id) {
                paths.extend(table.foreign_keys.iter().filter_map(|key| path(table.id, key)));
            }
        }
        paths
    }
}

/// A cascading foreign key: what it does to rows of `to` when rows of `from` are deleted (or
/// updated).
struct Path {
    from: i32,
    to: i32,
    action: ReferenceAction,
}

/// Only CASCADE changes the child as the parent was changed, and so continues to its children.
fn goes_on(path: &Path) -> bool {
    path.action == ReferenceAction::Cascade
}

/// Returns the tables from which a change can cascade to a table, itself first.
fn starts_of(table: i32, paths: &[Path]) -> Vec<i32> {
    let mut starts = vec![table];
    let mut next = 0;
    while let Some(to) = starts.get(next).copied() {
        next += 1;
        for path in paths.iter().filter(|path| path.to == to && goes_on(path)) {
            if !starts.contains(&path.from) {
                starts.push(path.from);
            }
        }
    }
    starts
}

/// Returns true if a change of a table reaches no table by two paths.
fn is_tree(start: i32, paths: &[Path]) -> bool {
    let mut seen = vec![start];
    let mut open = vec![start];
    while let Some(from) = open.pop() {
        for path in paths.iter().filter(|path| path.from == from) {
            if seen.contains(&path.to) {
                return false;
            }
            seen.push(path.to);
            if goes_on(path) {
                open.push(path.to);
            }
        }
    }
    true
}

/// How a referencing column differs from the referenced one.
enum Difference {
    Type,
    Length,
    Collation,
}

fn difference(own: &ColumnType, other: &ColumnType) -> Option<Difference> {
    let (a, b) = (own.data_type, other.data_type);
    if std::mem::discriminant(&a) != std::mem::discriminant(&b) {
        Some(Difference::Type)
    } else if a != b {
        Some(Difference::Length)
    } else if a.is_string() && own.collation != other.collation {
        Some(Difference::Collation)
    } else {
        None
    }
}

fn action(action: Option<ast::ReferentialAction>) -> ReferenceAction {
    match action {
        None | Some(ast::ReferentialAction::NoAction) => ReferenceAction::NoAction,
        Some(ast::ReferentialAction::Cascade) => ReferenceAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferenceAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferenceAction::SetDefault,
    }
}
