//! CREATE and ALTER FUNCTION: scalar, inline table-valued and multi-statement functions.

use std::sync::Arc;

use tsql::ast::{self, FunctionBody, RoutineOption, StatementKind, TargetKind, TransactionAction};
use types::value::ColumnType;
use types::{DataType, Msg, Result};

use super::module::{NotNull, bind_table_body, check_columns, execute_as, parameters, present};
use super::{Target, change_database, module_target};
use ::binder::query::Given;
use ::binder::types::DefaultLength;
use ::catalog::{ModuleDef, Object, Routine, Unqualified};
use ::compile::refuse;
use ::executor::Cx;
use ::plan::expr::{Expr, ExprKind};

pub(crate) fn create(
    create: &ast::CreateFunction,
    statement: &ast::Statement,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let to = module_target(&create.name, create.mode, "CREATE/ALTER FUNCTION", cx)?;
    let null_on_null = check_options(create)?;
    let routine = routine(create, &to, null_on_null, cx)?;
    check_body(create, &routine, &to, cx)?;
    let type_code = match &create.body {
        FunctionBody::Scalar { .. } => "FN",
        FunctionBody::Inline { .. } => "IF",
        FunctionBody::Multi { .. } => "TF",
        FunctionBody::External { .. } => return refuse("EXTERNAL NAME functions"),
    };
    let execute_as = execute_as(&create.options, &to, cx)?;
    let options = cx.session.options.of_module();
    let instance = Arc::clone(&cx.session.instance);
    let text = cx.source.clone();
    change_database(cx.session, &to.database, |database| {
        let found = present(database, &to, create.mode, |object| match object {
            Object::Function(function) if same_kind(function.type_code, type_code) => {
                Some(function.created.clone())
            }
            _ => None,
        })?;
        let schema_id = database.schema(&to.schema).map_or(1, |s| s.id);
        database.put(Object::Function(Arc::new(ModuleDef {
            id: found.id.unwrap_or_else(|| instance.catalog.next_object_id()),
            database_id: database.id,
            schema: to.schema.clone(),
            schema_id,
            name: to.name.clone(),
            text,
            ast: statement.clone(),
            parent_id: 0,
            type_code,
            created: found.created,
            routine: Some(routine),
            disabled: false,
            order: Vec::new(),
            shape: None,
            execute_as,
            options,
        })));
        Ok(())
    })
}

/// Returns false if ALTER FUNCTION would turn a scalar function into a table-valued one, or the
/// reverse.
fn same_kind(before: &str, after: &str) -> bool {
    (before == "FN") == (after == "FN")
}

/// Checks the options; returns true for RETURNS NULL ON NULL INPUT.
fn check_options(create: &ast::CreateFunction) -> Result<bool> {
    let mut null_on_null = false;
    for option in &create.options {
        match option {
            RoutineOption::ReturnsNullOnNullInput => null_on_null = true,
            // SCHEMABINDING: names are resolved at each use anyway. INLINE: whether a body is
            // inlined into its caller changes the time only.
            RoutineOption::CalledOnNullInput
            | RoutineOption::SchemaBinding
            | RoutineOption::Encryption
            | RoutineOption::Inline(_)
            | RoutineOption::ExecuteAs(_) => {}
            RoutineOption::NativeCompilation => return refuse("natively compiled functions"),
            RoutineOption::Recompile => return refuse("RECOMPILE in a function"),
        }
    }
    Ok(null_on_null)
}

fn routine(
    create: &ast::CreateFunction,
    to: &Target,
    null_on_null: bool,
    cx: &Cx<'_>,
) -> Result<Routine> {
    let context = compile::binding::bare_context(cx.session, &to.database);
    let binder = context.binder();
    let not_null = match create.body {
        FunctionBody::Inline { .. } => NotNull::Unsupported,
        _ => NotNull::Refused,
    };
    if create.parameters.iter().any(|p| p.data_type == ast::ParameterType::Cursor) {
        return refuse("cursor parameters of functions");
    }
    let parameters = parameters(&create.parameters, not_null, &binder, cx)?;
    let (mut returns, mut table) = (None, None);
    match &create.body {
        FunctionBody::Scalar { returns: name, .. } => {
            let ty = binder.resolve_type(name, DefaultLength::Declaration)?;
            if matches!(
                ty.data_type,
                DataType::Text | DataType::NText | DataType::Image | DataType::RowVersion
            ) {
                return Err(Msg::NotSupported("old large types as a function's value").into());
            }
            returns = Some(ColumnType { nullable: true, ..ty });
        }
        FunctionBody::Multi { variable, elements, .. } => {
            table = Some(::compile::function::returned_table(
                cx.session,
                variable,
                elements,
                &to.database,
                &cx.source,
            )?);
        }
        FunctionBody::Inline { .. } | FunctionBody::External { .. } => {}
    }
    Ok(Routine { parameters, returns, table, null_on_null })
}

/// Checks the body for errors at CREATE; names are resolved where the function is used.
fn check_body(
    create: &ast::CreateFunction,
    routine: &Routine,
    to: &Target,
    cx: &Cx<'_>,
) -> Result<()> {
    let body = match &create.body {
        FunctionBody::Scalar { body, .. } | FunctionBody::Multi { body, .. } => body,
        FunctionBody::Inline { with, query } => {
            let context = compile::binding::bare_context(cx.session, &to.database);
            let mut binder = context.binder();
            binder.unqualified = Unqualified::Module(to.module_schema(cx));
            let null = |ty: ColumnType| Expr::new(ExprKind::Constant(types::Value::Null), ty);
            let given: Vec<Given> =
                routine.parameters.iter().map(|p| (p.name.clone(), null(p.ty))).collect();
            let bound = bind_table_body(&mut binder, with.as_ref(), query, given);
            return bound
                .and_then(|output| check_columns(&to.name, &[], &output))
                .map_err(|error| error.in_procedure(&to.name));
        }
        FunctionBody::External { .. } => return Ok(()),
    };
    check_statement(body).map_err(|error| error.at_line(body.line))?;
    if !ends_with_return(body) {
        return Err(Msg::FunctionMustReturn.into());
    }
    let program = ::compile::function::compile_function(
        cx.session,
        create,
        routine,
        (&cx.source, to.module_schema(cx)),
        &to.database,
    )?;
    ::compile::check::check_module(cx.session, program, &to.name)
}

fn ends_with_return(statement: &ast::Statement) -> bool {
    match &statement.kind {
        StatementKind::Return(_) => true,
        StatementKind::Block(body) => body.last().is_some_and(ends_with_return),
        _ => false,
    }
}

/// Refuses statements that would change anything outside the function.
fn check_statement(statement: &ast::Statement) -> Result<()> {
    let side_effect = |what: &str| Err(Msg::SideEffectInFunction(what).into());
    let own = |target: &ast::Target| matches!(target.kind, TargetKind::Variable(_));
    match &statement.kind {
        StatementKind::Insert(insert) if !own(&insert.target) => side_effect("INSERT"),
        StatementKind::Update(update) if !own(&update.target) => side_effect("UPDATE"),
        StatementKind::Delete(delete) if !own(&delete.target) => side_effect("DELETE"),
        StatementKind::Merge(merge) if !own(&merge.target) => side_effect("MERGE"),
        StatementKind::Truncate(_) => side_effect("TRUNCATE TABLE"),
        StatementKind::CreateExternalTable(_) => side_effect("CREATE EXTERNAL TABLE"),
        StatementKind::Print(_) => side_effect("PRINT"),
        StatementKind::RaisError(_) => side_effect("RAISERROR"),
        StatementKind::Throw(_) => side_effect("THROW"),
        StatementKind::TryCatch { .. } => side_effect("BEGIN TRY"),
        StatementKind::WaitFor { .. } => side_effect("WAITFOR"),
        StatementKind::SetOption(_) => side_effect("SET OPTION ON"),
        StatementKind::ExecuteString(_) => side_effect("EXECUTE STRING"),
        StatementKind::Transaction(transaction) => side_effect(match transaction.action {
            TransactionAction::Begin { .. } => "BEGIN TRANSACTION",
            TransactionAction::Commit { .. } => "COMMIT TRANSACTION",
            TransactionAction::Rollback => "ROLLBACK TRANSACTION",
            TransactionAction::Save => "SAVE TRANSACTION",
        }),
        StatementKind::Select(select) if returns_rows(select) => Err(Msg::SelectInFunction.into()),
        _ => ::binder::program::children(&statement.kind)
            .into_iter()
            .flatten()
            .try_for_each(|child| check_statement(child).map_err(|e| e.at_line(child.line))),
    }
}

fn returns_rows(select: &ast::SelectStatement) -> bool {
    let ast::QueryBody::Select(spec) = &select.query.body else { return true };
    !spec.items.iter().any(|item| matches!(item.kind, ast::SelectItemKind::Assign { .. }))
}
