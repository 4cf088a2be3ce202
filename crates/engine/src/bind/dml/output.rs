//! OUTPUT: expressions over `deleted` and `inserted`, for the client or into a table.

use std::sync::Arc;

use tsql::ast::{Output, SelectItemKind};
use types::value::ColumnType;
use types::{Msg, Result};

use super::insert;
use crate::bind::expr::{bind_expr, names_source};
use crate::bind::{Binder, Source, SourceColumn, new_shape};
use crate::catalog::TableDef;
use crate::plan::expr::{Expr, ExprKind, Register};
use crate::plan::query::OutputColumn;
use crate::plan::statement::{OutputClause, OutputTarget};

/// Where the columns of a pseudo table are.
pub(super) struct Pseudo<'r> {
    /// `inserted` or `deleted`.
    pub name: &'static str,
    /// The changed table.
    pub table: &'r Arc<TableDef>,
    /// Register of a column.
    pub register: &'r dyn Fn(usize) -> Register,
    /// Whether there may be no such row (MERGE).
    pub optional: bool,
}

/// Binds the OUTPUT clauses of a statement with these pseudo tables in scope. `extra` is `$action`.
pub(super) fn bind(
    binder: &mut Binder<'_>,
    outputs: &[Output],
    pseudo: &[Pseudo<'_>],
    extra: Option<(&str, Register, ColumnType)>,
) -> Result<Vec<OutputClause>> {
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources: Vec<Source> = pseudo.iter().map(source).collect();
    if let Some((name, register, ty)) = extra {
        let column = SourceColumn {
            name: name.to_owned().into(),
            ty,
            register,
            used: false,
            identity: false,
        };
        sources.push(Source {
            alias: String::new(),
            schema: None,
            columns: vec![column],
            table: None,
            view: None,
            guard: None,
        });
    }
    let count = sources.len();
    if let Some(level) = binder.levels.last_mut() {
        // Unqualified names are refused (the pseudo tables make them ambiguous); FROM can be named.
        level.sources.extend(sources);
    }
    let bound = outputs.iter().map(|o| bind_one(binder, o)).collect();
    if let Some(level) = binder.levels.last_mut() {
        let rest = level.sources.len() - count;
        level.sources.truncate(rest);
    }
    bound
}

fn source(pseudo: &Pseudo<'_>) -> Source {
    let columns = pseudo.table.columns.iter().enumerate().map(|(i, c)| SourceColumn {
        name: c.name.clone().into(),
        ty: ColumnType { nullable: c.ty.nullable || pseudo.optional, ..c.ty },
        register: (pseudo.register)(i),
        used: false,
        identity: false,
    });
    Source {
        alias: pseudo.name.to_owned(),
        schema: None,
        columns: columns.collect(),
        table: None,
        view: None,
        guard: None,
    }
}

fn bind_one(binder: &mut Binder<'_>, output: &Output) -> Result<OutputClause> {
    let mut columns = Vec::with_capacity(output.items.len());
    for item in &output.items {
        match &item.kind {
            SelectItemKind::Expr { expr, alias } => {
                let name = match (alias, &expr.kind) {
                    (Some(alias), _) => alias.to_string(),
                    (None, tsql::ast::ExprKind::Column(column)) => column.column.to_string(),
                    _ => String::new(),
                };
                let expr = bind_expr(binder, expr)?;
                columns.push(OutputColumn { name, expr, identity: false });
            }
            SelectItemKind::QualifiedStar(name) => {
                let level = binder.levels.last();
                let sources = level.map(|l| &l.sources[..]).unwrap_or_default();
                let source = sources.iter().rev().find(|s| names_source(name, s));
                let Some(source) = source else {
                    return Err(Msg::ColumnPrefixMismatch(&name.to_string()).into());
                };
                source.check_reads()?;
                columns.extend(source.columns.iter().map(|c| OutputColumn {
                    name: c.name.to_string(),
                    expr: Expr::new(ExprKind::Column(c.register), c.ty),
                    identity: false,
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
            OutputTarget::Table(Box::new(insert::bind_rows_into(binder, target, names, &types)?))
        }
    };
    Ok(OutputClause { columns, target })
}
