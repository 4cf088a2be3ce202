//! Expressions as plans show them: as text, and as `ScalarOperator` elements.
//!
//! The text has SQL Server's form: columns with their full names in brackets, constants in
//! parentheses, implicit conversions as `CONVERT_IMPLICIT`. The XML has a mark ([`SUBPLAN`]) for a
//! subquery; its operators are inserted there when the document is written.

use std::collections::HashMap;
use std::fmt::Write as _;

use types::type_rules::BinaryOp;
use types::value::ColumnType;
use types::{Collation, ConvertOptions, DataType, Length, Mode, Value};

use crate::xml::{attribute, escape};
use ::catalog::{Catalog, TableDef};
use ::plan::expr::{CompareOp, Conversion, Expr, ExprKind, Quantifier, Register, Slot};
use ::plan::program::VariableDef;

/// Marks the place in an expression's XML for the operators of a subquery.
pub const SUBPLAN: char = '\u{1}';
/// The number of the first expression without a name: `Expr1001`.
const EXPRESSION_FIRST: u32 = 1_001;

/// Nesting depth of an expression up to which levels have XML elements; deeper ones are text only.
/// The `xml` type allows 128 levels in all.
const XML_DEPTH_MAX: u32 = 64;

/// A column as plans name it; `table` is empty for an expression.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// The table's database, without brackets.
    pub database: String,
    /// The table's schema, without brackets.
    pub schema: String,
    /// The table's name, without brackets.
    pub table: String,
    /// The column's name, or that of the expression (`Expr1001`).
    pub name: String,
}

impl Column {
    /// Returns the full name, in brackets.
    pub fn text(&self) -> String {
        if self.table.is_empty() {
            return bracketed(&[&self.name]);
        }
        bracketed(&[&self.database, &self.schema, &self.table, &self.name])
    }

    /// Writes a `ColumnReference` element.
    pub fn xml(&self, out: &mut String) {
        out.push_str("<ColumnReference");
        for (name, value) in
            [("Database", &self.database), ("Schema", &self.schema), ("Table", &self.table)]
        {
            if !value.is_empty() {
                attribute(name, &bracketed(&[value]), out);
            }
        }
        attribute("Column", &self.name, out);
        out.push_str("/>");
    }
}

/// Joins the parts of a name that are not empty, each in brackets.
pub fn bracketed(parts: &[&str]) -> String {
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.map(|part| format!("[{}]", part.replace(']', "]]"))).collect::<Vec<_>>().join(".")
}

/// Names of registers and variables in a plan.
pub struct Names<'p> {
    catalog: &'p Catalog,
    variables: &'p [VariableDef],
    known: HashMap<Register, Column>,
    next: u32,
    /// Number of open `ScalarOperator` elements.
    depth: u32,
}

impl<'p> Names<'p> {
    /// Makes the names of a plan; no register has a name yet.
    pub fn new(catalog: &'p Catalog, variables: &'p [VariableDef]) -> Self {
        Self { catalog, variables, known: HashMap::new(), next: EXPRESSION_FIRST, depth: 0 }
    }

    /// Sets the column that a register holds.
    pub fn define(&mut self, register: Register, column: Column) {
        self.known.insert(register, column);
    }

    /// Returns the column that a register holds; a numbered expression if none was set.
    pub fn of(&mut self, register: Register) -> Column {
        if let Some(column) = self.known.get(&register) {
            return column.clone();
        }
        let column = self.fresh("Expr");
        self.known.insert(register, column.clone());
        column
    }

    /// Makes a numbered name for an expression.
    pub fn fresh(&mut self, word: &str) -> Column {
        let name = format!("{word}{}", self.next);
        self.next += 1;
        Column { name, ..Column::default() }
    }

    /// Returns database, schema and name of a table; a table variable or `inserted` has only a
    /// name.
    pub fn table(&self, table: &TableDef) -> [String; 3] {
        let database = self.catalog.database_by_id(table.database_id);
        let database = database.map_or_else(String::new, |d| d.name.clone());
        if table.name.starts_with('@') {
            return [String::new(), String::new(), table.name.clone()];
        }
        [database, table.schema.clone(), table.name.clone()]
    }

    fn variable(&self, slot: Slot) -> String {
        let name = self.variables.get(slot.0 as usize).map_or("@", |v| v.name.as_str());
        bracketed(&[name])
    }

    /// Returns the text of an expression, in SQL Server's form.
    pub fn text(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Constant(value) => literal(value, &expr.ty),
            ExprKind::Variable(slot) => self.variable(*slot),
            ExprKind::Column(register) => self.of(*register).text(),
            ExprKind::Negate(x) => format!("-{}", self.operand(x)),
            ExprKind::BitNot(x) => format!("~{}", self.operand(x)),
            ExprKind::Not(x) => format!("NOT {}", self.operand(x)),
            ExprKind::IsNull(x) => format!("{} IS NULL", self.operand(x)),
            ExprKind::Collate(x) | ExprKind::Once(_, x) => self.text(x),
            ExprKind::Arithmetic(..) => self.chain(expr),
            ExprKind::Compare(op, _, pair) => {
                format!("{}{}{}", self.operand(&pair.0), relation(*op).0, self.operand(&pair.1))
            }
            ExprKind::And(list) => self.joined(list, " AND "),
            ExprKind::Or(list) => self.joined(list, " OR "),
            ExprKind::InList(_, x, list) => {
                let x = self.operand(x);
                let equal = list.iter().map(|e| format!("{x}={}", self.operand(e)));
                equal.collect::<Vec<_>>().join(" OR ")
            }
            ExprKind::Like(_, like) => {
                let escape = like.escape.as_ref().map(|e| format!(" escape {}", self.operand(e)));
                let (text, pattern) = (self.operand(&like.text), self.operand(&like.pattern));
                format!("{text} like {pattern}{}", escape.unwrap_or_default())
            }
            ExprKind::Case(branches, otherwise) => self.case(branches, otherwise.as_deref()),
            ExprKind::Let(register, pair) => {
                let name = self.text(&pair.0);
                // The register shows as the value that it holds.
                self.define(*register, Column { name, ..Column::default() });
                self.text(&pair.1)
            }
            ExprKind::Convert(conversion) => {
                let style = conversion.style.as_ref().map_or("0".to_owned(), |s| self.text(s));
                let operand = self.text(&conversion.operand);
                format!(
                    "{}({},{operand},{style})",
                    convert_name(conversion.mode),
                    expr.ty.data_type
                )
            }
            ExprKind::Call(function, list) => {
                let list = list.iter().map(|e| self.text(e)).collect::<Vec<_>>().join(",");
                format!("{}({list})", function.name.to_ascii_lowercase())
            }
            ExprKind::CallUser(call) => {
                let list = call.arguments.iter().map(|e| self.text(e)).collect::<Vec<_>>();
                let name = bracketed(&[&call.module.schema, &call.module.name]);
                format!("{name}({})", list.join(","))
            }
            ExprKind::NextValue(sequence) => {
                format!("NEXT VALUE FOR {}", bracketed(&[&sequence.name]))
            }
            ExprKind::ScalarSubquery(_) => "(subquery)".to_owned(),
            ExprKind::Exists(_) => "EXISTS(subquery)".to_owned(),
            ExprKind::Quantified(q) => {
                let operand = self.operand(&q.operand);
                format!("{operand}{}{}(subquery)", relation(q.op).0, quantifier(q.quantifier))
            }
        }
    }

    /// Returns the text of `((a + b) + c) + d`, in time linear in the length of the chain.
    fn chain(&mut self, expr: &Expr) -> String {
        let (mut first, mut rest) = (expr, Vec::new());
        while let ExprKind::Arithmetic(op, pair) = &first.kind {
            rest.push((sign(*op).0, &pair.1));
            first = &pair.0;
        }
        let mut out = "(".repeat(rest.len().saturating_sub(1));
        out.push_str(&self.operand(first));
        while let Some((sign, right)) = rest.pop() {
            out.push_str(sign);
            out.push_str(&self.operand(right));
            if !rest.is_empty() {
                out.push(')');
            }
        }
        out
    }

    /// As [`Names::text`], in parentheses where precedence requires them.
    fn operand(&mut self, expr: &Expr) -> String {
        let text = self.text(expr);
        match &expr.kind {
            ExprKind::Arithmetic(..)
            | ExprKind::Compare(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::InList(..)
            | ExprKind::Like(..)
            | ExprKind::IsNull(_)
            | ExprKind::Not(_)
            | ExprKind::Quantified(_) => format!("({text})"),
            _ => text,
        }
    }

    fn joined(&mut self, list: &[Expr], word: &str) -> String {
        let part = |names: &mut Self, e: &Expr| match e.kind {
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::InList(..) => names.operand(e),
            _ => names.text(e),
        };
        list.iter().map(|e| part(self, e)).collect::<Vec<_>>().join(word)
    }

    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> String {
        let mut out = String::from("CASE");
        for (condition, result) in branches {
            let (condition, result) = (self.text(condition), self.text(result));
            // Writing to a String can't fail.
            let _ = write!(out, " WHEN {condition} THEN {result}");
        }
        if let Some(otherwise) = otherwise {
            let _ = write!(out, " ELSE {}", self.text(otherwise));
        }
        out + " END"
    }

    /// Writes a `ScalarOperator` element.
    pub fn xml(&mut self, expr: &Expr, out: &mut String) {
        let text = self.text(expr);
        out.push_str("<ScalarOperator");
        attribute("ScalarString", &text, out);
        out.push('>');
        // Each level repeats the text of all levels below it.
        if self.depth < XML_DEPTH_MAX {
            self.depth += 1;
            self.xml_body(expr, &text, out);
            self.depth -= 1;
        }
        out.push_str("</ScalarOperator>");
    }

    fn xml_body(&mut self, expr: &Expr, text: &str, out: &mut String) {
        match &expr.kind {
            ExprKind::Constant(_) => element("Const", &[("ConstValue", text)], out),
            ExprKind::Variable(slot) => {
                let name = self.variable(*slot);
                let column =
                    Column { name: name.trim_matches(['[', ']']).to_owned(), ..Column::default() };
                self.identifier(&column, out);
            }
            ExprKind::Column(register) => {
                let column = self.of(*register);
                self.identifier(&column, out);
            }
            ExprKind::Negate(_)
            | ExprKind::BitNot(_)
            | ExprKind::Arithmetic(..)
            | ExprKind::Not(_)
            | ExprKind::IsNull(_)
            | ExprKind::And(_)
            | ExprKind::Or(_) => self.xml_operation(expr, out),
            ExprKind::Compare(op, _, pair) => {
                out.push_str("<Compare");
                attribute("CompareOp", relation(*op).1, out);
                out.push('>');
                self.xml(&pair.0, out);
                self.xml(&pair.1, out);
                out.push_str("</Compare>");
            }
            ExprKind::Convert(conversion) => self.xml_convert(conversion, &expr.ty, out),
            ExprKind::Collate(x) => self.intrinsic("collate", &[x], out),
            // Evaluated once per statement, which the plan does not show.
            ExprKind::Once(_, x) => self.xml_body(x, text, out),
            ExprKind::InList(_, x, list) => {
                let all: Vec<&Expr> = std::iter::once(&**x).chain(list.iter()).collect();
                self.intrinsic("in", &all, out);
            }
            ExprKind::Like(_, like) => self.intrinsic("like", &[&like.text, &like.pattern], out),
            ExprKind::Call(function, list) => {
                let name = function.name.to_ascii_lowercase();
                self.intrinsic(&name, &list.iter().collect::<Vec<_>>(), out);
            }
            ExprKind::NextValue(_) => self.intrinsic("next value for", &[], out),
            ExprKind::CallUser(call) => {
                out.push_str("<UserDefinedFunction");
                attribute(
                    "FunctionName",
                    &bracketed(&[&call.module.schema, &call.module.name]),
                    out,
                );
                out.push('>');
                call.arguments.iter().for_each(|e| self.xml(e, out));
                out.push_str("</UserDefinedFunction>");
            }
            ExprKind::Case(branches, otherwise) => {
                self.xml_case(branches, otherwise.as_deref(), out)
            }
            ExprKind::Let(_, pair) => self.xml_body(&pair.1, text, out),
            ExprKind::ScalarSubquery(_) => subquery("ASSIGN", out),
            ExprKind::Exists(_) => subquery("EXISTS", out),
            ExprKind::Quantified(q) => {
                out.push_str("<Subquery");
                attribute("Operation", quantifier(q.quantifier), out);
                out.push('>');
                self.xml(&q.operand, out);
                out.push(SUBPLAN);
                out.push_str("</Subquery>");
            }
        }
    }

    fn xml_convert(&mut self, conversion: &Conversion, ty: &ColumnType, out: &mut String) {
        let implicit = conversion.mode == Mode::Implicit || conversion.mode == Mode::Assignment;
        out.push_str("<Convert");
        attribute("DataType", &base_name(&ty.data_type), out);
        attribute("Style", "0", out);
        attribute("Implicit", if implicit { "1" } else { "0" }, out);
        out.push('>');
        self.xml(&conversion.operand, out);
        out.push_str("</Convert>");
    }

    fn xml_operation(&mut self, expr: &Expr, out: &mut String) {
        match &expr.kind {
            ExprKind::Negate(x) => self.wrap("Arithmetic", "MINUS", &[x], out),
            ExprKind::BitNot(x) => self.wrap("Arithmetic", "BIT_NOT", &[x], out),
            ExprKind::Arithmetic(op, pair) => {
                self.wrap("Arithmetic", sign(*op).1, &[&pair.0, &pair.1], out);
            }
            ExprKind::Not(x) => self.wrap("Logical", "NOT", &[x], out),
            ExprKind::IsNull(x) => self.wrap("Logical", "IS NULL", &[x], out),
            ExprKind::And(list) => {
                self.wrap("Logical", "AND", &list.iter().collect::<Vec<_>>(), out)
            }
            ExprKind::Or(list) => self.wrap("Logical", "OR", &list.iter().collect::<Vec<_>>(), out),
            _ => {}
        }
    }

    fn identifier(&self, column: &Column, out: &mut String) {
        out.push_str("<Identifier>");
        column.xml(out);
        out.push_str("</Identifier>");
    }

    fn wrap(&mut self, name: &str, operation: &str, operands: &[&Expr], out: &mut String) {
        let _ = write!(out, "<{name}");
        attribute("Operation", operation, out);
        out.push('>');
        operands.iter().for_each(|e| self.xml(e, out));
        let _ = write!(out, "</{name}>");
    }

    fn intrinsic(&mut self, name: &str, operands: &[&Expr], out: &mut String) {
        out.push_str("<Intrinsic");
        attribute("FunctionName", name, out);
        out.push('>');
        operands.iter().for_each(|e| self.xml(e, out));
        out.push_str("</Intrinsic>");
    }

    fn xml_case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>, out: &mut String) {
        let Some(((condition, result), rest)) = branches.split_first() else {
            if let Some(otherwise) = otherwise {
                self.xml(otherwise, out);
            }
            return;
        };
        out.push_str("<IF><Condition>");
        self.xml(condition, out);
        out.push_str("</Condition><Then>");
        self.xml(result, out);
        out.push_str("</Then><Else>");
        match (rest, otherwise) {
            ([], None) => {
                out.push_str("<ScalarOperator><Const ConstValue=\"NULL\"/></ScalarOperator>")
            }
            ([], Some(otherwise)) => self.xml(otherwise, out),
            _ => {
                out.push_str("<ScalarOperator>");
                self.xml_case(rest, otherwise, out);
                out.push_str("</ScalarOperator>");
            }
        }
        out.push_str("</Else></IF>");
    }
}

/// Writes an empty element.
fn element(name: &str, attributes: &[(&str, &str)], out: &mut String) {
    let _ = write!(out, "<{name}");
    attributes.iter().for_each(|(name, value)| attribute(name, value, out));
    out.push_str("/>");
}

fn subquery(operation: &str, out: &mut String) {
    let _ = write!(out, "<Subquery Operation=\"{}\">{SUBPLAN}</Subquery>", escape(operation));
}

fn quantifier(quantifier: Quantifier) -> &'static str {
    match quantifier {
        Quantifier::Any => "ANY",
        Quantifier::All => "ALL",
    }
}

fn convert_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Implicit | Mode::Assignment => "CONVERT_IMPLICIT",
        Mode::Explicit => "CONVERT",
        Mode::Try => "TRY_CONVERT",
    }
}

/// Returns the type's name without its length: `nvarchar` of `nvarchar(10)`.
fn base_name(data_type: &DataType) -> String {
    let text = data_type.to_string();
    text.split('(').next().unwrap_or_default().to_owned()
}

/// Returns an operator's sign, and its name in the XML.
fn sign(op: BinaryOp) -> (&'static str, &'static str) {
    match op {
        BinaryOp::Add => ("+", "ADD"),
        BinaryOp::Subtract => ("-", "SUB"),
        BinaryOp::Multiply => ("*", "MULT"),
        BinaryOp::Divide => ("/", "DIV"),
        BinaryOp::Modulo => ("%", "MOD"),
        BinaryOp::BitAnd => ("&", "BIT_AND"),
        BinaryOp::BitOr => ("|", "BIT_OR"),
        BinaryOp::BitXor => ("^", "BIT_XOR"),
    }
}

/// Returns a comparison's sign, and its name in the XML.
pub fn relation(op: CompareOp) -> (&'static str, &'static str) {
    match op {
        CompareOp::Equal => ("=", "EQ"),
        CompareOp::NotEqual => ("<>", "NE"),
        CompareOp::Less => ("<", "LT"),
        CompareOp::LessOrEqual => ("<=", "LE"),
        CompareOp::Greater => (">", "GT"),
        CompareOp::GreaterOrEqual => (">=", "GE"),
    }
}

/// Formats a constant: numbers in parentheses, other values in quotes.
fn literal(value: &Value, ty: &ColumnType) -> String {
    let text_type = DataType::NVarChar(Length::Max);
    let to = ColumnType { data_type: text_type, collation: Collation::default(), nullable: true };
    let options = ConvertOptions::default();
    let shown = || types::convert(value, ty, &to, 0, Mode::Explicit, &options).ok();
    let text = || shown().and_then(|v| v.as_text(to.collation)).unwrap_or_else(|| "?".to_owned());
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bit(_)
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_)
        | Value::Decimal(_)
        | Value::Real(_)
        | Value::Float(_) => format!("({})", text()),
        Value::Money(_) => format!("(${})", text()),
        Value::VarBinary(bytes) => {
            bytes.iter().fold(String::from("0x"), |hex, byte| hex + &format!("{byte:02X}"))
        }
        Value::NVarChar(_) => format!("N'{}'", text().replace('\'', "''")),
        _ => format!("'{}'", text().replace('\'', "''")),
    }
}
