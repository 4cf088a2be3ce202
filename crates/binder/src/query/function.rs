//! Table-valued functions in FROM: library functions, system functions, and OPENJSON's WITH clause.

use std::cmp::Ordering;
use std::sync::Arc;

use tsql::ast::{self, StatementKind, TypeName};
use types::value::ColumnType;
use types::{DataType, Family, Length, Mode, Msg, Result, Value};

use super::from::{
    Lateral, SourceName, add_query_source, add_source, beside, bind_system_view, bind_with,
};
use crate::expr::{
    bind_arguments, bind_expr, bind_nodes, convert_to, find_function, share_collation,
};
use crate::types::DefaultLength;
use crate::{Binder, SourceColumn};
use catalog::security::Owner;
use catalog::{ModuleDef, ModuleSchema, Unqualified};
use functions::TableFunction;
use functions::json::{Path, Wanted, default_path};
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{FunctionScan, Node, Query, UserFunctionScan};
use plan::sink::Traits;
use plan::view::SystemView;

/// Binds a function in FROM.
pub(crate) fn bind(
    binder: &mut Binder<'_>,
    source: &ast::FunctionSource,
    lateral: Lateral,
) -> Result<Node> {
    let name = &source.call.name;
    refuse_remote(&source.call)?;
    if let Some(module) = name
        .schema
        .as_ref()
        .is_none_or(|schema| !schema.is("sys"))
        .then(|| find_function(binder, name))
        .transpose()?
        .flatten()
        .filter(|module| module.type_code != "FN")
    {
        crate::require::require_routine(binder, name, &module, "SELECT")?;
        return bind_user(binder, source, &module, lateral);
    }
    let schema = name.schema.as_deref().unwrap_or_default();
    let of_system = system_function(binder, schema, &name.object);
    let is_system = of_system.is_some() || {
        let database = name.database.as_deref().unwrap_or(binder.database);
        binder.library.known_but_missing(database, schema, &name.object).is_some()
    };
    let arguments = beside(binder, lateral, |binder| {
        let arguments = source.call.arguments.iter().map(|argument| match argument.kind {
            // The default of every system function's parameter is NULL.
            ast::ExprKind::Default if is_system => {
                Ok(Expr::constant(Value::Null, DataType::NVarChar(Length::Max)))
            }
            _ => bind_expr(binder, argument),
        });
        arguments.collect::<Result<Vec<Expr>>>()
    })?;
    let alias = source.alias.as_ref();
    let source_name = SourceName { alias: alias.map_or(&name.object, |a| &a.name), schema: None };
    if source.schema_of.is_some() || name.as_simple().is_some_and(|n| n.is("openxml")) {
        return bind_open_xml(binder, source, arguments, source_name);
    }
    if !source.schema.is_empty() {
        if name.as_simple().is_some_and(|n| n.is("openjson")) {
            return bind_open_json(binder, source, arguments, source_name);
        }
        return Err(Msg::NotSupported(&format!("WITH of {}", name.object)).into());
    }
    if let Some(view) = of_system {
        let database = name.database.as_deref().unwrap_or(binder.database).to_owned();
        match arguments.len().cmp(&usize::from(view.arity())) {
            Ordering::Less => return Err(Msg::TooFewArguments(view.name()).into()),
            Ordering::Greater => return Err(Msg::TooManyArguments(view.name()).into()),
            Ordering::Equal => {}
        }
        return bind_system_view(binder, view, &database, arguments, source_name);
    }
    // System functions may be qualified by `sys`; library functions may not.
    let of_system = schema.eq_ignore_ascii_case("sys") && name.object.starts_with("fn_");
    let simple = name.as_simple().or(of_system.then_some(&name.object));
    let found = simple.and_then(|n| functions::find_table(&n.to_ascii_uppercase()));
    let Some(function) = found else {
        let database = name.database.as_deref().unwrap_or(binder.database);
        return Err(match binder.library.known_but_missing(database, schema, &name.object) {
            Some(known) => Msg::NotSupported(&known).into(),
            None => Msg::InvalidObject(&name.to_string()).into(),
        });
    };
    let (node, mut columns) = scan(binder, function, arguments)?;
    for (column, name) in columns.iter_mut().zip(alias.map(|a| &a.columns[..]).unwrap_or_default())
    {
        column.name = name.to_string().into();
    }
    add_source(binder, source_name, columns, None)?;
    Ok(node)
}

/// Finds a table function of the system, implemented as a view with arguments.
fn system_function(
    binder: &Binder<'_>,
    schema: &str,
    name: &str,
) -> Option<&'static dyn SystemView> {
    let library = binder.library;
    // Functions called fn_.. need no schema.
    let of_sys = || library.view("sys", name).filter(|v| v.name().starts_with("fn_"));
    let found = library.view(schema, name);
    found.or_else(|| schema.is_empty().then(of_sys).flatten()).filter(|v| v.arity() > 0)
}

/// Returns the scan of a library function.
fn scan(
    binder: &mut Binder<'_>,
    function: &'static TableFunction,
    mut arguments: Vec<Expr>,
) -> Result<(Node, Vec<SourceColumn>)> {
    share_collation(function.name, function.collation, &mut arguments)?;
    let shape = (function.bind)(&mut arguments)?;
    let first = binder.new_registers(shape.len());
    let columns = shape.into_iter().enumerate();
    let columns: Vec<SourceColumn> =
        columns.map(|(i, (name, ty))| source_column(name, ty, first.plus(i))).collect();
    let registers = columns.iter().map(|c| c.register).collect();
    Ok((Node::Function(Box::new(FunctionScan { function, arguments, registers })), columns))
}

pub(crate) fn source_column(name: String, ty: ColumnType, register: Register) -> SourceColumn {
    SourceColumn { name: name.into(), ty, register, used: false, traits: Traits::default() }
}

/// Binds `x.nodes('p') AS t(c)`.
pub(crate) fn bind_nodes_source(
    binder: &mut Binder<'_>,
    call: &ast::Method,
    alias: Option<&ast::TableAlias>,
    lateral: Lateral,
) -> Result<Node> {
    let Some(alias) = alias else { return Err(Msg::SyntaxNear(")").into()) };
    let [column] = alias.columns.as_slice() else { return Err(Msg::SyntaxNear(")").into()) };
    let (scan, register, ty) = beside(binder, lateral, |binder| bind_nodes(binder, call))?;
    let columns = vec![source_column(column.to_string(), ty, register)];
    add_source(binder, SourceName { alias: &alias.name, schema: None }, columns, None)?;
    Ok(scan)
}

/// A parameter of an inline function, and its argument.
pub type Given = (String, Expr);

/// Binds the query of an inline function: it sees its parameters and nothing of its caller.
///
/// # Errors
/// Errors of the query.
pub fn bind_inline(
    binder: &mut Binder<'_>,
    with: Option<&ast::With>,
    query: &ast::QueryExpression,
    given: Vec<Given>,
) -> Result<Query> {
    binder.unfold()?;
    let ctes = std::mem::take(&mut binder.ctes);
    let variables = std::mem::take(&mut binder.variables);
    let outer = std::mem::replace(&mut binder.given, given);
    let was_in_view = std::mem::replace(&mut binder.in_view, true);
    let bound = binder.apart(|binder| bind_with(binder, with, query));
    binder.in_view = was_in_view;
    binder.given = outer;
    binder.variables = variables;
    binder.ctes = ctes;
    bound
}

/// Binds a user's function: an inline one is expanded, a multi-statement one is called.
fn bind_user(
    binder: &mut Binder<'_>,
    source: &ast::FunctionSource,
    module: &Arc<ModuleDef>,
    lateral: Lateral,
) -> Result<Node> {
    let name = &source.call.name;
    let arguments = beside(binder, lateral, |binder| {
        bind_arguments(binder, module, name, &source.call.arguments)
    })?;
    let alias = source.alias.as_ref();
    let source_name = SourceName { alias: alias.map_or(&name.object, |a| &a.name), schema: None };
    let names: Vec<&str> =
        alias.map(|a| a.columns.iter().map(ast::Ident::as_str).collect()).unwrap_or_default();
    let (StatementKind::CreateFunction(create), Some(routine)) =
        (&module.ast.kind, &module.routine)
    else {
        return Err(Msg::InternalError.into());
    };
    if let ast::FunctionBody::Inline { with, query } = &create.body {
        let names_of = routine.parameters.iter().map(|p| p.name.clone());
        let (given, hoisted) = hoist(binder, names_of.zip(arguments).collect());
        let meaning = binder.meaning;
        binder.meaning = meaning.with_ansi_nulls(module.options.ansi_nulls);
        // Permissions within the function are those of its owner.
        let chain = binder.chain.replace(Owner::of_module(binder.catalog, module));
        let own = Unqualified::Module(ModuleSchema::from(&**module));
        let unqualified = std::mem::replace(&mut binder.unqualified, own);
        let query = bind_inline(binder, with.as_ref(), query, given);
        binder.unqualified = unqualified;
        binder.chain = chain;
        binder.meaning = meaning;
        let query = query?;
        let node = add_query_source(binder, query, source_name, &names)?;
        // A function's columns are typed: an untyped NULL is `int` there.
        binder.level.last_mut().columns.iter_mut().for_each(|c| c.traits.untyped = false);
        if hoisted.is_empty() {
            return Ok(node);
        }
        let values = Node::Compute(Box::new((Node::OneRow, hoisted)));
        return Ok(optimizer::inner_join(values, node));
    }
    let Some(definition) = &routine.table else { return Err(Msg::InternalError.into()) };
    let first = binder.new_registers(definition.columns.len());
    let columns = definition.columns.iter().enumerate().map(|(i, column)| {
        let name = names.get(i).map_or(column.name.as_str(), |name| name);
        source_column(name.to_owned(), column.ty, first.plus(i))
    });
    let columns: Vec<SourceColumn> = columns.collect();
    let registers = columns.iter().map(|c| c.register).collect();
    add_source(binder, source_name, columns, None)?;
    Ok(Node::UserFunction(Box::new(UserFunctionScan {
        module: Arc::clone(module),
        definition: Arc::clone(definition),
        arguments,
        registers,
    })))
}

/// Moves each computed argument to a register, so that it is computed once.
fn hoist(binder: &mut Binder<'_>, given: Vec<Given>) -> (Vec<Given>, Vec<(Register, Expr)>) {
    let mut hoisted = Vec::new();
    let read = given.into_iter().map(|(name, value)| {
        let cheap = matches!(
            value.kind,
            ExprKind::Constant(_) | ExprKind::Variable(_) | ExprKind::Column(_)
        );
        if cheap {
            return (name, value);
        }
        let register = binder.new_register();
        let ty = value.ty;
        hoisted.push((register, value));
        (name, Expr::new(ExprKind::Column(register), ty))
    });
    (read.collect(), hoisted)
}

/// Binds `OPENJSON(text [, path]) WITH (column type 'path' [AS JSON], ..)`: the function returns
/// each column as text, which is converted here.
fn bind_open_json(
    binder: &mut Binder<'_>,
    source: &ast::FunctionSource,
    mut arguments: Vec<Expr>,
    name: SourceName<'_>,
) -> Result<Node> {
    if arguments.is_empty() || arguments.len() > 2 {
        return Err(Msg::FunctionArgumentRange("openjson", 1, 2).into());
    }
    let text = |text: &str| {
        let data_type = DataType::NVarChar(Length::Max);
        Expr::constant(Value::nvarchar(text), data_type)
    };
    if arguments.len() == 1 {
        arguments.push(text("$"));
    }
    let mut types = Vec::with_capacity(source.schema.len());
    for column in &source.schema {
        let ty = column_type(binder, &column.data_type, column.collation.as_ref())?;
        let path = column.path.as_deref().map_or_else(|| default_path(&column.name), str::to_owned);
        Path::parse(&path)?;
        let wanted = match ty.data_type {
            DataType::NVarChar(Length::Max) if column.as_json => Wanted::Json,
            _ if column.as_json => {
                return Err(Msg::OpenJsonAsJson.into());
            }
            t if t.family() == Family::Binary => Wanted::Bytes,
            _ => Wanted::Scalar,
        };
        arguments.push(text(&path));
        arguments.push(Expr::constant(Value::Int(wanted.code()), DataType::Int));
        types.push(ty);
    }
    let function = functions::find_table("OPENJSON WITH").expect("the library has this function");
    let (node, raw) = scan(binder, function, arguments)?;
    let mut computed = Vec::with_capacity(types.len());
    let mut columns = Vec::with_capacity(types.len());
    for ((raw, ty), column) in raw.into_iter().zip(types).zip(&source.schema) {
        let value = Expr::new(ExprKind::Column(raw.register), raw.ty);
        let register = binder.new_register();
        computed.push((register, convert_to(value, &ty, Mode::Explicit)?));
        columns.push(source_column(column.name.to_string(), ty, register));
    }
    add_source(binder, name, columns, None)?;
    Ok(Node::Compute(Box::new((node, computed))))
}

/// Refuses rowset functions of linked servers and of full-text search, which Clearway lacks.
fn refuse_remote(call: &ast::Call) -> Result<()> {
    let Some(name) = call.name.as_simple() else { return Ok(()) };
    let what = match name.to_ascii_uppercase().as_str() {
        "OPENQUERY" => match call.arguments.first().map(|a| &a.kind) {
            Some(ast::ExprKind::Column(server)) => {
                return Err(Msg::LinkedServerNotFound(&server.column).into());
            }
            _ => "OPENQUERY",
        },
        "OPENROWSET" => "OPENROWSET of a provider",
        "OPENDATASOURCE" => "OPENDATASOURCE",
        "CONTAINSTABLE" => "CONTAINSTABLE",
        "FREETEXTTABLE" => "FREETEXTTABLE",
        _ => return Ok(()),
    };
    Err(Msg::NotSupported(what).into())
}

/// Binds OPENXML with the columns of WITH, those of a table, or as edge table.
fn bind_open_xml(
    binder: &mut Binder<'_>,
    source: &ast::FunctionSource,
    mut arguments: Vec<Expr>,
    name: SourceName<'_>,
) -> Result<Node> {
    let columns = open_xml_columns(binder, source)?;
    let function = if columns.is_empty() { "OPENXML" } else { functions::xml::open::WITH };
    let function = functions::find_table(function).expect("the library has this function");
    if columns.is_empty() {
        let (node, columns) = scan(binder, function, arguments)?;
        add_source(binder, name, columns, None)?;
        return Ok(node);
    }
    if arguments.len() == 2 {
        arguments.push(Expr::constant(Value::Int(0), DataType::Int));
    }
    let text = |text: &str| Expr::constant(Value::nvarchar(text), DataType::NVarChar(Length::Max));
    for (name, ty, path) in &columns {
        let is_xml = i32::from(ty.data_type == DataType::Xml);
        arguments.push(text(name));
        arguments.push(text(path));
        arguments.push(Expr::constant(Value::Int(is_xml), DataType::Int));
    }
    let (node, raw) = scan(binder, function, arguments)?;
    let mut computed = Vec::with_capacity(columns.len());
    let mut shown = Vec::with_capacity(columns.len());
    for (raw, (name, ty, _)) in raw.into_iter().zip(columns) {
        let value = Expr::new(ExprKind::Column(raw.register), raw.ty);
        let register = binder.new_register();
        computed.push((register, convert_to(value, &ty, Mode::Explicit)?));
        shown.push(source_column(name, ty, register));
    }
    add_source(binder, name, shown, None)?;
    Ok(Node::Compute(Box::new((node, computed))))
}

/// Returns the names, types and patterns of OPENXML's columns; `None` for the edge table.
fn open_xml_columns(
    binder: &mut Binder<'_>,
    source: &ast::FunctionSource,
) -> Result<Vec<(String, ColumnType, String)>> {
    if let Some(of) = &source.schema_of {
        let crate::query::Resolved::Table(table) = crate::query::resolve_table(binder, of)? else {
            return Err(Msg::InvalidObject(&of.to_string()).into());
        };
        let columns = table.columns.iter().filter(|c| c.computed.is_none());
        let nullable = |ty: ColumnType| ColumnType { nullable: true, ..ty };
        return Ok(columns.map(|c| (c.name.clone(), nullable(c.ty), String::new())).collect());
    }
    let column = |column: &ast::SchemaColumn| {
        let ty = column_type(binder, &column.data_type, column.collation.as_ref())?;
        let path = column.path.as_deref().unwrap_or_default().to_owned();
        Ok((column.name.to_string(), ty, path))
    };
    source.schema.iter().map(column).collect()
}

/// Resolves the type of a column, with its declared collation.
pub fn column_type(
    binder: &Binder<'_>,
    name: &TypeName,
    collation: Option<&ast::Ident>,
) -> Result<ColumnType> {
    let ty = binder.resolve_type(name, DefaultLength::Declaration)?;
    let collation = match collation {
        Some(name) => types::Collation::of_clause(name, &ty.data_type)?,
        None => ty.collation,
    };
    Ok(ColumnType { collation, nullable: true, ..ty })
}
