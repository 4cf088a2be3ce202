//! OUTPUT: expressions over `deleted` and `inserted`, sent to the client or inserted into a table.

use std::sync::Arc;

use smol_str::SmolStr;
use tsql::ast::{Output, SelectItemKind};
use types::value::ColumnType;
use types::{Msg, Result};

use super::insert;
use crate::expr::{bind_expr, names_source, set_clause};
use crate::query::traits_of;
use crate::{Binder, Clause, Source, SourceColumn, ViewSource, new_shape};
use catalog::TableDef;
use catalog::security::{Guard, Securable};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::OutputColumn;
use plan::sink::Traits;
use plan::statement::{OutputClause, OutputTarget};

/// A pseudo table of OUTPUT, with the registers of its columns.
pub(crate) struct Pseudo<'r> {
    /// Name: `inserted` or `deleted`.
    pub name: &'static str,
    /// The table that is changed.
    pub table: &'r Arc<TableDef>,
    /// Returns the register of a column.
    pub register: &'r dyn Fn(usize) -> Register,
    /// Whether the row may be missing (MERGE).
    pub optional: bool,
    /// First register of the old row in the target's scan. It distinguishes a view's columns from
    /// those that the view does not show.
    pub old: Option<Register>,
}

/// Binds the OUTPUT clauses of a statement with these pseudo tables in scope. `extra` is `$action`.
///
/// # Errors
/// Errors of names; 229 and 230 for a column that may not be read.
pub(crate) fn bind(
    binder: &mut Binder<'_>,
    outputs: &[Output],
    pseudo: &[Pseudo<'_>],
    extra: Option<(&str, Register, ColumnType)>,
) -> Result<Vec<OutputClause>> {
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources: Vec<Source> = pseudo.iter().map(|p| source(binder, p)).collect();
    if let Some((name, register, ty)) = extra {
        let column = SourceColumn {
            name: name.into(),
            ty,
            register,
            used: false,
            traits: Traits::default(),
        };
        sources.push(Source {
            alias: SmolStr::default(),
            schema: None,
            columns: vec![column],
            ..Source::default()
        });
    }
    let count = sources.len();
    // The pseudo tables make unqualified names ambiguous; columns of FROM can be named.
    binder.level.sources.extend(sources);
    let clause = set_clause(binder, Clause::Changed);
    let bound = outputs.iter().map(|o| bind_one(binder, o)).collect();
    set_clause(binder, clause);
    let rest = binder.level.sources.len() - count;
    binder.level.sources.truncate(rest);
    bound
}

fn source(binder: &Binder<'_>, pseudo: &Pseudo<'_>) -> Source {
    let columns = pseudo.table.columns.iter().enumerate().map(|(i, c)| SourceColumn {
        name: c.name.clone().into(),
        ty: ColumnType { nullable: c.ty.nullable || pseudo.optional, ..c.shown_type() },
        register: (pseudo.register)(i),
        used: false,
        traits: Traits::of(c).derived(),
    });
    Source {
        alias: pseudo.name.into(),
        columns: columns.collect(),
        guard: guard(binder, pseudo),
        ..Source::default()
    }
}

/// Returns the guard for columns of the changed rows: that of the target, a view or a synonym if the
/// statement names one.
fn guard(binder: &Binder<'_>, pseudo: &Pseudo<'_>) -> Option<Arc<Guard>> {
    binder.rights?;
    let table = pseudo.table;
    // Temporary tables and table variables belong to the session.
    if table.id < 0 || table.name.starts_with('#') {
        return None;
    }
    let shows = |source: &Source, i: usize| {
        let old = pseudo.old?.plus(i);
        source.columns.iter().position(|column| column.register == old)
    };
    let columns = 0..table.columns.len();
    let through = binder.level.sources.iter().find_map(|source| {
        let shows_some = columns.clone().any(|i| shows(source, i).is_some());
        source.view.as_ref().filter(|_| shows_some).map(|view| (source, view))
    });
    let (database_id, object) = match (&through, &binder.synonym) {
        (_, Some(synonym)) => (synonym.database_id, synonym.securable()),
        (Some((_, ViewSource { module, .. })), None) => {
            let (schema, name) = (module.schema.as_str(), module.name.as_str());
            let (id, schema_id) = (module.id, module.schema_id);
            (module.database_id, Securable { id, schema_id, schema, name })
        }
        (None, None) => (table.database_id, Securable::table(table)),
    };
    match through {
        // A column that the view does not show can't be read through it.
        Some((source, _)) => {
            let places = columns.map(|i| shows(source, i));
            crate::require::output_guard(binder, database_id, &object, places)
        }
        None => crate::require::output_guard(binder, database_id, &object, columns.map(Some)),
    }
}

fn bind_one(binder: &mut Binder<'_>, output: &Output) -> Result<OutputClause> {
    let mut columns = Vec::with_capacity(output.items.len());
    for item in &output.items {
        match &item.kind {
            SelectItemKind::Expr { expr, alias } => {
                let name = match (alias, &expr.kind) {
                    (Some(alias), _) => alias.as_str().into(),
                    (None, tsql::ast::ExprKind::Column(column)) => column.column.as_str().into(),
                    _ => SmolStr::default(),
                };
                let bound = bind_expr(binder, expr)?;
                let traits = traits_of(binder, expr, &bound);
                columns.push(OutputColumn { name, expr: bound, traits });
            }
            SelectItemKind::QualifiedStar(name) => {
                let source = binder.level.sources.iter().rev().find(|s| names_source(name, s));
                let Some(source) = source else {
                    return Err(Msg::ColumnPrefixMismatch(&name.to_string()).into());
                };
                source.check_reads()?;
                let shown = source.columns.iter().filter(|c| !c.traits.hidden);
                columns.extend(shown.map(|c| OutputColumn {
                    name: c.name.clone(),
                    expr: Expr::new(ExprKind::Column(c.register), c.ty),
                    traits: c.traits,
                }));
            }
            SelectItemKind::Star => return Err(Msg::SyntaxNear("*").into()),
            SelectItemKind::Assign { .. } => return Err(Msg::SyntaxNear("=").into()),
        }
    }
    let target = match &output.into {
        None => OutputTarget::Client(new_shape(&columns)),
        Some((target, names)) => {
            let types: Vec<ColumnType> = columns.iter().map(|c| c.expr.ty).collect();
            let insert = insert::bind_rows_into(binder, target, names, &types, &[])?;
            OutputTarget::Table(Box::new(insert))
        }
    };
    Ok(OutputClause { columns, target })
}
