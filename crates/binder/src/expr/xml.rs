//! Binds the methods of `xml`. Their queries are parsed here once, for their errors and for the SQL
//! values that they use.

use tsql::ast::{self, Ident};
use types::value::ColumnType;
use types::{DataType, Error, Length, Mode, Msg, Result, Value};

use super::name::{find_column, find_variable};
use super::{bind_expr, convert_to};
use crate::Binder;
use crate::types::DefaultLength;
use functions::xml;
use functions::xml::syntax::External;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{FunctionScan, Node};

/// The names that the methods of `xml` can refer to.
#[derive(Default)]
pub struct XmlScope {
    /// WITH XMLNAMESPACES: prefix (empty for the default) and URI.
    pub namespaces: Vec<(String, String)>,
    /// Columns of `nodes()`: registers of the instance and of the node's number.
    nodes: Vec<(Register, Register)>,
}

impl XmlScope {
    /// Adds the declarations of a WITH XMLNAMESPACES.
    pub fn declare(&mut self, declared: &[(Box<str>, Option<Ident>)]) {
        for (uri, prefix) in declared {
            let prefix = prefix.as_ref().map(Ident::to_string).unwrap_or_default();
            self.namespaces.push((prefix, uri.to_string()));
        }
    }

    /// Returns the register of the node's number, for a column of `nodes()`.
    pub(crate) fn node_of(&self, column: Register) -> Option<Register> {
        self.nodes.iter().find(|(instance, _)| *instance == column).map(|(_, node)| *node)
    }

    /// Returns an error for a column of `nodes()` that `*` would include.
    pub fn check_star(&self, column: Register, name: &str) -> Result<()> {
        match self.node_of(column) {
            Some(_) => Err(Msg::NodesColumn(name).into()),
            None => Ok(()),
        }
    }

    /// Returns the declarations as attributes, the last one first.
    pub fn declarations(&self) -> String {
        let mut text = String::new();
        for (prefix, uri) in self.namespaces.iter().rev() {
            let colon = if prefix.is_empty() { "" } else { ":" };
            text.push_str(&format!(" xmlns{colon}{prefix}=\""));
            types::xml::escape_attribute(uri, &mut text);
            text.push('"');
        }
        text
    }

    /// Returns the declarations as a query's prolog.
    fn prolog(&self) -> String {
        let mut prolog = String::new();
        for (prefix, uri) in &self.namespaces {
            let uri = uri.replace('"', "\"\"");
            prolog.push_str(&match prefix.is_empty() {
                true => format!("declare default element namespace \"{uri}\";"),
                false => format!("declare namespace {prefix}=\"{uri}\";"),
            });
        }
        prolog
    }
}

/// Internal name of `modify` where it is allowed; no text can contain it.
const MUTATOR: &str = "modify()";

/// Marks a method call as allowed to modify: `SET @x.modify(..)`.
pub fn mutator(name: &Ident) -> Ident {
    let text = if name.as_str() == "modify" { MUTATOR } else { name.as_str() };
    Ident::new(format!("set {text}"), name.quoting, name.span)
}

/// Binds `target.method(arguments)` as an expression.
pub(crate) fn bind_method(binder: &mut Binder<'_>, method: &ast::Method) -> Result<Expr> {
    crate::dml::check_options(binder, "SELECT")?;
    let target = bind_target(binder, &method.target)?;
    let name = method.name.as_str();
    if let Some(mutator) = name.strip_prefix("set ") {
        let ast::ExprKind::Variable(variable) = &method.target.kind else {
            return Err(Msg::XmlMutator(mutator).into());
        };
        let mutator = mutator.trim_end_matches("()");
        return modify(binder, target.instance, &variable.name, mutator, &method.arguments);
    }
    let arguments = method.arguments.as_slice();
    match name {
        "value" => {
            let [_, ty] = arguments else { return Err(Msg::FunctionArguments("value", 2).into()) };
            let ty = value_type(binder, &literal(ty, 2, "value")?)?;
            call(binder, xml::VALUE, target, &arguments[..1], ty)
        }
        "query" => {
            let ty = ColumnType::nullable(DataType::Xml);
            call(binder, xml::QUERY, target, arguments, ty)
        }
        "exist" => {
            let ty = ColumnType::nullable(DataType::Bit);
            call(binder, xml::EXIST, target, arguments, ty)
        }
        "modify" => Err(Msg::XmlMutator("modify").into()),
        _ => super::not_supported(&format!("the method .{name}() of a value")),
    }
}

/// Binds `SET column.modify(..)` of UPDATE.
pub fn bind_modify(
    binder: &mut Binder<'_>,
    instance: Expr,
    column: &str,
    method: &Ident,
    arguments: &[ast::Expr],
) -> Result<Expr> {
    modify(binder, instance, column, method.as_str(), arguments)
}

fn modify(
    binder: &mut Binder<'_>,
    instance: Expr,
    name: &str,
    method: &str,
    arguments: &[ast::Expr],
) -> Result<Expr> {
    check_type(&instance)?;
    if method != "modify" {
        return Err(Msg::XmlNotMutator(method).into());
    }
    let ty = ColumnType { nullable: true, ..instance.ty };
    let node = Expr::constant(Value::Int(0), DataType::Int);
    call(binder, xml::MODIFY, Target { instance, node, name }, arguments, ty)
}

/// What a method is called on.
struct Target<'n> {
    instance: Expr,
    /// Number of the context node in the instance: 0 for its root.
    node: Expr,
    /// Name of the variable or column that `modify` changes; empty for other methods.
    name: &'n str,
}

fn bind_target(binder: &mut Binder<'_>, target: &ast::Expr) -> Result<Target<'static>> {
    let instance = match &target.kind {
        ast::ExprKind::Column(column) => find_column(binder, column)?,
        _ => bind_expr(binder, target)?,
    };
    check_type(&instance)?;
    let node = match instance.kind {
        ExprKind::Column(register) => binder.xml.node_of(register),
        _ => None,
    };
    let ty = ColumnType::nullable(DataType::Int);
    let node = match node {
        Some(register) => Expr::new(ExprKind::Column(register), ty),
        None => Expr::constant(Value::Int(0), DataType::Int),
    };
    Ok(Target { instance, node, name: "" })
}

fn check_type(instance: &Expr) -> Result<()> {
    let of = instance.ty.data_type;
    if of == DataType::Xml { Ok(()) } else { Err(Msg::CannotCallMethods(of.name()).into()) }
}

/// Returns an argument that must be a literal, since methods are checked at bind time.
fn literal(argument: &ast::Expr, number: i64, method: &str) -> Result<String> {
    match &argument.kind {
        ast::ExprKind::Literal(ast::Literal::String(text) | ast::Literal::NString(text)) => {
            Ok(text.to_string())
        }
        _ => Err(Msg::XmlLiteralNeeded(number, method).into()),
    }
}

/// Parses the type in the second argument of `value()`.
fn value_type(binder: &Binder<'_>, text: &str) -> Result<ColumnType> {
    let parameters = crate::fragment::parse_parameters(&format!("@v {text}"))?;
    let [parameter] = parameters.as_slice() else { return Err(Msg::SyntaxNear(text).into()) };
    let ast::ParameterType::Type(name) = &parameter.data_type else {
        return Err(Msg::SyntaxNear(text).into());
    };
    let ty = binder.resolve_type(name, DefaultLength::Conversion)?;
    match ty.data_type {
        DataType::Xml
        | DataType::Image
        | DataType::Text
        | DataType::NText
        | DataType::SqlVariant
        | DataType::RowVersion => Err(Msg::XmlValueType(text).into()),
        _ => Ok(ColumnType { nullable: true, ..ty }),
    }
}

/// Returns the call of a method.
fn call(
    binder: &mut Binder<'_>,
    function: &'static str,
    target: Target<'_>,
    arguments: &[ast::Expr],
    ty: ColumnType,
) -> Result<Expr> {
    let arguments = method_arguments(binder, function, target, arguments)?;
    let function = functions::find(function).expect("the library has this function");
    Ok(Expr::new(ExprKind::Call(function, arguments.into()), ty))
}

fn method_arguments(
    binder: &mut Binder<'_>,
    function: &str,
    Target { instance, node, name }: Target<'_>,
    arguments: &[ast::Expr],
) -> Result<Vec<Expr>> {
    let method = function.trim_start_matches("XML.").trim_end_matches("()").to_ascii_lowercase();
    let [query] = arguments else { return Err(Msg::FunctionArguments(&method, 1).into()) };
    let text = binder.xml.prolog() + &literal(query, 1, &method)?;
    let query = xml::parse(&text, &method)?;
    let constant =
        |text: &str| Expr::constant(Value::nvarchar(text), DataType::NVarChar(Length::Max));
    let mut bound = vec![instance, node, constant(&text), constant(name)];
    for external in &query.externals {
        let value = bind_external(binder, external)?;
        let ty = xml::external_type(&value.ty);
        bound.push(convert_to(value, &ty, Mode::Implicit)?);
    }
    Ok(bound)
}

fn bind_external(binder: &mut Binder<'_>, external: &External) -> Result<Expr> {
    match external {
        External::Variable(name) => {
            let given = binder.given.iter().find(|(n, _)| catalog::name::Name::same(n, name));
            if let Some((_, value)) = given {
                return Ok(value.clone());
            }
            let found = find_variable(binder, name);
            let (slot, ty) = found.ok_or_else(|| Error::from(Msg::XQueryVariable(name)))?;
            Ok(Expr::new(ExprKind::Variable(slot), ty))
        }
        External::Column(name) => {
            let name = tsql::parse_object_name(name)?;
            let ast::ObjectName { object: column, schema, database, server, span } = name;
            let table = schema.map(|object| ast::ObjectName {
                object,
                schema: database,
                database: server,
                server: None,
                span,
            });
            super::name::bind_column(binder, &ast::ColumnRef { column, table })
        }
    }
}

/// Binds `x.nodes('p')` in FROM: returns its scan, and the register and type of its column.
pub fn bind_nodes(
    binder: &mut Binder<'_>,
    method: &ast::Method,
) -> Result<(Node, Register, ColumnType)> {
    let target = bind_target(binder, &method.target)?;
    if method.name.as_str() != "nodes" {
        return super::not_supported(&format!("the method .{}() in FROM", method.name));
    }
    let arguments = method_arguments(binder, xml::NODES, target, &method.arguments)?;
    let function = functions::find_table(xml::NODES).expect("the library has this function");
    let first = binder.new_registers(2);
    let registers = vec![first, first.plus(1)];
    binder.xml.nodes.push((first, first.plus(1)));
    let scan = FunctionScan { function, arguments, registers };
    let ty = ColumnType::nullable(DataType::Xml);
    Ok((Node::Function(Box::new(scan)), first, ty))
}
