//! CREATE and ALTER of procedures, views, synonyms, alias and table types, and schemas.

use std::collections::HashSet;
use std::sync::Arc;

use tsql::ast::{
    self, CreateMode, ExecuteAsWho, RoutineBody, RoutineOption, StatementKind, TypeKind,
};
use types::value::ColumnType;
use types::{Error, Msg, Result, Value};

use crate::{Target, change_database, local_target, module_target};
use ::binder::Binder;
use ::binder::parameter::default_of;
use ::binder::query::{Given, bind_inline, require_no_order};
use ::binder::types::DefaultLength;
use ::catalog::name::Name;
use ::catalog::{
    DBO_SCHEMA, Database, ExecuteAs, ModuleDef, Object, ParameterDef, ProcedureDef, Schema,
    SynonymDef, Unqualified, UserType,
};
use ::compile::refuse;
use ::compile::table::created;
use ::executor::Cx;
use ::plan::program::ParameterDefault;
use ::plan::query::OutputColumn;

/// Lowest `user_type_id` of types that users create.
const USER_TYPE_FIRST: i32 = 257;
const SCHEMA_FIRST: i32 = 5;
/// `principal_id` of dbo, which owns objects without another owner.
const DBO: i32 = 1;
/// Most parameters that a procedure may have.
const PARAMETERS_MAX: usize = 2100;

/// The existing object with the name that CREATE or ALTER gives.
pub(crate) struct Present {
    pub id: Option<i32>,
    pub created: Value,
}

/// Checks that the name is free for CREATE, and names an object of the right kind for ALTER.
pub(crate) fn present(
    database: &Database,
    to: &Target,
    mode: CreateMode,
    is_kind: impl Fn(&Object) -> Option<Value>,
) -> Result<Present> {
    let found = database.object(&to.schema, &to.name);
    match (found, mode) {
        (None, CreateMode::Alter) => Err(Error::from(Msg::InvalidObject(&to.name)).with_state(6)),
        (None, _) => Ok(Present { id: None, created: created() }),
        (Some(_), CreateMode::Create) => Err(Msg::ObjectExists(&to.name).into()),
        (Some(object), CreateMode::Alter | CreateMode::CreateOrAlter) => match is_kind(object) {
            Some(created) => Ok(Present { id: Some(object.id()), created }),
            None => Err(Error::custom(
                2010,
                16,
                1,
                format!(
                    "Cannot perform alter on '{}' because it is an incompatible object type.",
                    to.name
                ),
            )),
        },
    }
}

pub(crate) fn create_procedure(create: &ast::CreateProcedure, cx: &mut Cx<'_>) -> Result<()> {
    if create.number.is_some_and(|n| n != 1) {
        return refuse("numbered procedures");
    }
    if create.for_replication {
        return refuse("FOR REPLICATION procedures");
    }
    if create.name.is_temporary() {
        return create_temporary_procedure(create, cx);
    }
    let to = module_target(&create.name, create.mode, "CREATE/ALTER PROCEDURE", cx)?;
    define_procedure(create, &to, cx)
}

/// Creates `#p` or `##p` in tempdb. A local one belongs to one session, whose id makes its name
/// unique.
fn create_temporary_procedure(create: &ast::CreateProcedure, cx: &mut Cx<'_>) -> Result<()> {
    let name = cx.session.temporary_module_name(&create.name.object);
    let to = Target { database: "tempdb".to_owned(), schema: "dbo".to_owned(), name };
    define_procedure(create, &to, cx)?;
    // Both kinds are dropped when the session that created them ends.
    cx.session.refresh_catalog();
    let made = cx.session.catalog.find_procedure("tempdb", "dbo", &to.name).map(|p| p.id);
    if let Some(id) = made {
        cx.session.temp.add_global(id);
    }
    Ok(())
}

fn define_procedure(create: &ast::CreateProcedure, to: &Target, cx: &mut Cx<'_>) -> Result<()> {
    let native = check_options(create)?;
    let parameters = {
        let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
        parameters(&create.parameters, NotNull::allowed_if(native), &context.binder(), cx)?
    };
    if native {
        check_native(create)?;
    }
    let source = (&*cx.source, to.module_schema(cx));
    ::compile::check_body(cx.session, create, &parameters, source)?;
    let execute_as = execute_as(&create.options, to, cx)?;
    let options = cx.session.options.of_module();
    let instance = Arc::clone(&cx.session.instance);
    // The whole batch, with the text before CREATE: line numbers and offsets count from there.
    let text = cx.source.to_string();
    let current = cx.session.catalog.database(&cx.session.identity.database).map(|d| d.id);
    change_database(cx.session, &to.database, |database| {
        let found = present(database, to, create.mode, |object| match object {
            Object::Procedure(procedure) => Some(procedure.created.clone()),
            _ => None,
        })?;
        let schema_id = database.schema(&to.schema).map_or(1, |s| s.id);
        database.put(Object::Procedure(Arc::new(ProcedureDef {
            id: found.id.unwrap_or_else(|| instance.catalog.next_object_id()),
            database_id: database.id,
            names_in: current.unwrap_or(database.id),
            schema: to.schema.clone(),
            schema_id,
            name: to.name.clone(),
            text,
            ast: create.clone(),
            parameters,
            native,
            created: found.created,
            modified: created(),
            options,
            execute_as,
        })));
        Ok(())
    })
}

/// Resolves the principal of a module's EXECUTE AS clause; `None` without a clause and for CALLER.
///
/// # Errors
/// 15151 for a user, or an owner, that does not exist or may not be impersonated.
pub(crate) fn execute_as(
    options: &[RoutineOption],
    to: &Target,
    cx: &Cx<'_>,
) -> Result<Option<ExecuteAs>> {
    let clause = options.iter().find_map(|option| match option {
        RoutineOption::ExecuteAs(who) => Some(who),
        _ => None,
    });
    match clause {
        None | Some(ExecuteAsWho::Caller) => Ok(None),
        Some(ExecuteAsWho::Owner) => {
            let missing = || Msg::PrincipalNotFound("find", "user", "dbo");
            let database = cx.session.catalog.database(&to.database).ok_or_else(missing)?;
            let owner = database.schema(&to.schema).map_or(DBO, |schema| schema.owner);
            let found = database.principals.values().find(|p| p.id == owner);
            let owner = found.ok_or_else(missing)?;
            // Permission to create modules in a schema does not include acting as the schema's
            // owner.
            if !cx.session.identity.rights.may_be_user(database, owner) {
                return Err(Msg::PrincipalNotFound("find", "user", &owner.name).into());
            }
            Ok(Some(ExecuteAs { principal: ExecuteAs::OWNER, user: owner.id }))
        }
        Some(ExecuteAsWho::SelfUser) => {
            let user = metadata::function::principal::own_id(cx);
            Ok(Some(ExecuteAs { principal: user, user }))
        }
        Some(ExecuteAsWho::Login(_)) => refuse("EXECUTE AS LOGIN in a module"),
        Some(ExecuteAsWho::User(name)) => {
            let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
            let bound = ::binder::expr::bind_expr(&mut context.binder(), name)?;
            let name = bound.as_constant().and_then(|v| v.as_text(cx.session.collation()));
            let name = name.ok_or(Msg::SyntaxNear("EXECUTE"))?;
            let missing = || Msg::PrincipalNotFound("find", "user", &name);
            let database = cx.session.catalog.database(&to.database).ok_or_else(missing)?;
            let user = database.user(&name).ok_or_else(missing)?;
            match cx.session.identity.rights.may_be_user(database, user) {
                true => Ok(Some(ExecuteAs { principal: user.id, user: user.id })),
                false => Err(missing().into()),
            }
        }
    }
}

/// Checks the options; returns true for NATIVE_COMPILATION.
fn check_options(create: &ast::CreateProcedure) -> Result<bool> {
    let mut native = false;
    for option in &create.options {
        match option {
            RoutineOption::NativeCompilation => native = true,
            // RECOMPILE: no plan is kept that could become unsuitable. SCHEMABINDING: names are
            // checked when the procedure runs.
            RoutineOption::SchemaBinding
            | RoutineOption::Recompile
            | RoutineOption::Encryption
            | RoutineOption::ExecuteAs(_) => {}
            RoutineOption::ReturnsNullOnNullInput => {
                return refuse("RETURNS NULL ON NULL INPUT of a procedure");
            }
            RoutineOption::CalledOnNullInput => {
                return refuse("CALLED ON NULL INPUT of a procedure");
            }
            RoutineOption::Inline(_) => return refuse("INLINE of a procedure"),
        }
    }
    Ok(native)
}

/// Checks that a native procedure is schema-bound and is one atomic block.
fn check_native(create: &ast::CreateProcedure) -> Result<()> {
    let bound = create.options.iter().any(|o| matches!(o, RoutineOption::SchemaBinding));
    if !bound {
        return Err(Error::custom(
            10785,
            16,
            1,
            "The operation 'WITH NATIVE_COMPILATION' requires the option 'SCHEMABINDING' to be specified.",
        ));
    }
    match &create.body {
        RoutineBody::Statements(body) if matches!(body.as_slice(), [one] if matches!(one.kind, StatementKind::AtomicBlock(_))) => {
            Ok(())
        }
        _ => Err(Msg::NativeBodyNotAtomic.into()),
    }
}

/// Whether parameters may be declared NOT NULL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotNull {
    /// In natively compiled modules.
    Allowed,
    /// In other modules: error 11555.
    Refused,
    /// In inline functions, where SQL Server has them and this engine does not: error 40517.
    Unsupported,
}

impl NotNull {
    fn allowed_if(native: bool) -> Self {
        if native { Self::Allowed } else { Self::Refused }
    }

    fn check(self, parameter: &str) -> Result<()> {
        match self {
            Self::Allowed => Ok(()),
            Self::Refused => Err(Msg::NotNullNeedsNative(parameter).into()),
            Self::Unsupported => refuse("NOT NULL parameters of inline functions"),
        }
    }
}

/// Resolves the parameters of a procedure or function.
pub(crate) fn parameters(
    parameters: &[ast::Parameter],
    may_be_not_null: NotNull,
    binder: &Binder<'_>,
    cx: &Cx<'_>,
) -> Result<Vec<ParameterDef>> {
    check_count(parameters.len())?;
    let mut defined: Vec<ParameterDef> = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        let name = parameter.variable.name.to_string();
        if defined.iter().any(|p| Name::same(&p.name, &name)) {
            return Err(Msg::DuplicateVariable(&name).into());
        }
        let ast::ParameterType::Type(type_name) = &parameter.data_type else {
            defined.push(cursor_parameter(name, parameter)?);
            continue;
        };
        if let Some(table_type) = binder.find_table_type(&type_name.name) {
            if !parameter.readonly {
                return Err(Msg::TableParameterReadOnly(&name).into());
            }
            let ty = cx.session.text_type();
            let table_type = Some(table_type);
            defined.push(ParameterDef {
                name,
                ty,
                table_type,
                default: None,
                default_function: None,
                output: false,
                cursor: false,
            });
            continue;
        }
        if parameter.readonly {
            return Err(Msg::ReadOnlyNotTable(&name).into());
        }
        let ty = binder.resolve_type(type_name, DefaultLength::Declaration)?;
        let not_null = parameter.nullable == Some(false);
        if not_null {
            may_be_not_null.check(&name)?;
        }
        let ty = ColumnType { nullable: !not_null, ..ty };
        let (default, default_function) = match &parameter.default {
            Some(default) => match default_value(default, &ty, cx)? {
                ParameterDefault::Value(value) => (Some(value), None),
                ParameterDefault::Function(name) => (Some(Value::Null), Some(name)),
            },
            None => (None, None),
        };
        let output = parameter.output;
        let table_type = None;
        let cursor = false;
        defined.push(ParameterDef {
            name,
            ty,
            table_type,
            default,
            default_function,
            output,
            cursor,
        });
    }
    Ok(defined)
}

fn check_count(count: usize) -> Result<()> {
    if count > PARAMETERS_MAX {
        return Err(Error::custom(
            180,
            15,
            1,
            format!(
                "There are too many parameters in this CREATE PROCEDURE statement. The maximum number is {PARAMETERS_MAX}."
            ),
        ));
    }
    Ok(())
}

/// Resolves a parameter `CURSOR VARYING OUTPUT`.
fn cursor_parameter(name: String, parameter: &ast::Parameter) -> Result<ParameterDef> {
    if !parameter.output {
        return refuse("a cursor parameter without OUTPUT");
    }
    Ok(ParameterDef {
        name,
        ty: ColumnType::nullable(types::DataType::Int),
        table_type: None,
        default: None,
        default_function: None,
        output: true,
        cursor: true,
    })
}

/// Evaluates a parameter's default.
fn default_value(expr: &ast::Expr, ty: &ColumnType, cx: &Cx<'_>) -> Result<ParameterDefault> {
    let context = compile::binding::bare_context(cx.session, &cx.session.identity.database);
    let default = (expr, &*cx.source);
    default_of(&mut context.binder(), default, ty, &cx.session.convert_options())
}

/// Binds the query of a view or an inline function; returns its columns.
///
/// # Errors
/// 1033 for an ORDER BY that says nothing, and those of binding.
pub(crate) fn bind_table_body(
    binder: &mut Binder<'_>,
    with: Option<&ast::With>,
    query: &ast::QueryExpression,
    given: Vec<Given>,
) -> Result<Vec<OutputColumn>> {
    require_no_order(query)?;
    Ok(bind_inline(binder, with, query, given)?.output)
}

/// Checks the names of the columns of a view or an inline function: those in the list, or those of
/// the query.
///
/// # Errors
/// 8158, 8159 for a list of another length; 4511 for a column without a name, 4506 for two of one
/// name.
pub(crate) fn check_columns(
    view: &str,
    list: &[ast::Ident],
    output: &[OutputColumn],
) -> Result<()> {
    if !list.is_empty() && list.len() != output.len() {
        return Err(if list.len() < output.len() {
            Msg::MoreColumnsThanList(view).into()
        } else {
            Msg::FewerColumnsThanList(view).into()
        });
    }
    let mut names = HashSet::with_capacity(output.len());
    for (place, column) in output.iter().enumerate() {
        let name = list.get(place).map_or(column.name.as_str(), ast::Ident::as_str);
        if name.is_empty() {
            let number = i64::try_from(place + 1).unwrap_or(i64::MAX);
            return Err(Msg::ViewColumnUnnamed(number).into());
        }
        if !names.insert(Name::folded(name)) {
            return Err(Msg::ViewColumnTwice(name, view).into());
        }
    }
    Ok(())
}

pub(crate) fn create_view(
    create: &ast::CreateView,
    statement: &ast::Statement,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if create.name.is_temporary() {
        return Err(Error::custom(
            4103,
            15,
            1,
            format!("\"{}\": Temporary views are not allowed.", create.name),
        ));
    }
    for option in &create.options {
        match option.as_ref() {
            // SCHEMABINDING is checked by `references`. VIEW_METADATA only shows in the catalog:
            // browse metadata names no tables behind a view.
            "SCHEMABINDING" | "VIEW_METADATA" | "ENCRYPTION" => {}
            other => return Err(Msg::SyntaxNear(other).into()),
        }
    }
    let to = module_target(&create.name, create.mode, "CREATE/ALTER VIEW", cx)?;
    let instance = Arc::clone(&cx.session.instance);
    // The whole batch, with the text before CREATE: line numbers and offsets count from there.
    let options = cx.session.options.of_module();
    let text = cx.source.to_string();
    // Bound to report errors at CREATE; the plan is made by the statements that use the view.
    {
        let context = compile::binding::bare_context(cx.session, &to.database);
        let mut binder = context.binder();
        binder.unqualified = Unqualified::Module(to.module_schema(cx));
        let bound = bind_table_body(&mut binder, create.with.as_ref(), &create.query, Vec::new());
        bound
            .and_then(|output| check_columns(&to.name, &create.columns, &output))
            .map_err(|error| error.in_procedure(&to.name))?;
    }
    change_database(cx.session, &to.database, |database| {
        let found = present(database, &to, create.mode, |object| match object {
            Object::View(view) => Some(view.created.clone()),
            _ => None,
        })?;
        let schema_id = database.schema(&to.schema).map_or(1, |s| s.id);
        database.put(Object::View(Arc::new(ModuleDef {
            id: found.id.unwrap_or_else(|| instance.catalog.next_object_id()),
            database_id: database.id,
            schema: to.schema.clone(),
            schema_id,
            name: to.name.clone(),
            text,
            ast: statement.clone(),
            parent_id: 0,
            type_code: "V",
            created: found.created,
            routine: None,
            disabled: false,
            order: Vec::new(),
            shape: None,
            execute_as: None,
            options,
        })));
        Ok(())
    })?;
    cx.session.refresh_catalog();
    let database = cx.session.catalog.database(&to.database);
    let Some(Object::View(view)) = database.and_then(|d| d.object(&to.schema, &to.name)) else {
        return Ok(());
    };
    let view = Arc::clone(view);
    super::trigger::refresh_shapes(&view, cx)
}

pub(crate) fn create_synonym(create: &ast::CreateSynonym, cx: &mut Cx<'_>) -> Result<()> {
    let to = local_target(&create.name, "CREATE SYNONYM", cx)?;
    let instance = Arc::clone(&cx.session.instance);
    let target = synonym_target(&create.target, cx);
    change_database(cx.session, &to.database, |database| {
        present(database, &to, CreateMode::Create, |_| None)?;
        database.put(Object::Synonym(Arc::new(SynonymDef {
            id: instance.catalog.next_object_id(),
            schema: to.schema.clone(),
            name: to.name.clone(),
            target,
        })));
        Ok(())
    })
}

/// Returns the target of a synonym with the default schema of the user that creates it, unless that is
/// dbo: the synonym has the same target for everyone.
fn synonym_target(target: &ast::ObjectName, cx: &Cx<'_>) -> ast::ObjectName {
    let mut target = target.clone();
    let named = target.database.as_deref().unwrap_or(&cx.session.identity.database);
    let default = cx.session.catalog.database(named);
    let default = default.map(|database| cx.session.identity.rights.default_schema(database));
    if let Some(default) = default.filter(|default| *default != DBO_SCHEMA)
        && target.schema.is_none()
        && target.server.is_none()
    {
        target.schema = Some(ast::Ident::new(default, ast::Quoting::None, target.span));
    }
    target
}

pub(crate) fn create_type(
    create: &ast::CreateType,
    statement: &ast::Statement,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let to = local_target(&create.name, "CREATE TYPE", cx)?;
    let (base, table, shape) = match &create.kind {
        TypeKind::Alias { base, nullable } => {
            let context = compile::binding::bare_context(cx.session, &to.database);
            let binder = context.binder();
            let system = ::binder::types::system_type(base, DefaultLength::Declaration)?;
            if system.is_none() {
                return Err(Msg::InvalidBaseType(&base.name.to_string()).into());
            }
            let ty = binder.resolve_type(base, DefaultLength::Declaration)?;
            (Some(ColumnType { nullable: nullable.unwrap_or(true), ..ty }), None, None)
        }
        TypeKind::Table { elements, .. } => {
            let context = compile::binding::bare_context(cx.session, &to.database);
            let binder = context.binder();
            // Built as a variable is: its errors name the type.
            let checked = ::compile::table::variable(cx.session, &binder, &to.name, elements)?;
            cx.session.instance.store.drop_table(checked.rows.data.id());
            let Some(table) = UserType::table_of(create) else {
                return Err(Msg::InternalError.into());
            };
            let id = cx.session.catalog.database(&to.database).map_or(0, |database| database.id);
            let place = (id, to.name.as_str());
            let shape =
                ::compile::table::shape_of_type(cx.session, &binder, place, &table, &cx.source)?;
            (None, Some(table), Some(shape))
        }
        TypeKind::External(_) => return refuse("CLR types"),
    };
    let text = table.as_ref().map_or("", |_| statement.span.text(&cx.source)).to_owned();
    let quoted = cx.session.options.quoted_identifier;
    change_database(cx.session, &to.database, |database| {
        let key = (Name::new(&to.schema), Name::new(&to.name));
        if database.types.contains_key(&key) {
            return Err(Msg::TypeExists(&format!("{}.{}", to.schema, to.name)).into());
        }
        let highest = database.types.values().map(|t| t.id).max();
        let id = highest.map_or(USER_TYPE_FIRST, |id| id + 1);
        let (schema, name) = (to.schema.clone(), to.name.clone());
        let owner = None;
        let user_type = UserType { id, schema, name, owner, base, table, shape, text, quoted };
        database.types.insert(key, Arc::new(user_type));
        Ok(())
    })
}

pub(crate) fn create_schema(create: &ast::CreateSchema, cx: &mut Cx<'_>) -> Result<()> {
    if !create.elements.is_empty() {
        return refuse("definitions inside CREATE SCHEMA");
    }
    let Some(name) = create.name.as_ref().or(create.owner.as_ref()) else {
        return Err(Msg::SyntaxNearKeyword("SCHEMA").into());
    };
    let database = Arc::clone(&cx.session.identity.database);
    change_database(cx.session, &database, |database| {
        let key = Name::new(name);
        if database.schemas.contains_key(&key) {
            return Err(Msg::ObjectExists(name).into());
        }
        let owner = match &create.owner {
            None => 1,
            Some(owner) => match database.principals.get(&Name::new(owner)) {
                Some(principal) => principal.id,
                None => return Err(super::principal::no_principal(owner)),
            },
        };
        let highest = database.schemas.values().map(|s| s.id).filter(|id| *id < 16_384).max();
        let id = highest.map_or(SCHEMA_FIRST, |id| (id + 1).max(SCHEMA_FIRST));
        database.schemas.insert(key, Schema { id, name: name.to_string(), owner });
        Ok(())
    })
}
