//! Prints trees for the tests: the printed text parses to the same tree.
//!
//! Every node is destructured without `..`, so a field that the parser fills and the printer omits
//! does not compile. Tokens are separated by blanks; names are always in brackets.

mod definition;
mod dml;
mod expr;
mod query;
mod security;
mod statement;

use tsql::ast::*;

/// Returns a batch as text.
pub(crate) fn print(batch: &Batch) -> String {
    let mut out = String::new();
    batch.statements.print(&mut out);
    out
}

pub(crate) trait Print {
    fn print(&self, out: &mut String);
}

/// Prints its arguments one after the other.
macro_rules! put {
    ($out:expr, $($part:expr),* $(,)?) => {{ $( crate::print::Print::print(&$part, $out); )* }};
}
pub(crate) use put;

impl Print for &str {
    fn print(&self, out: &mut String) {
        if !self.is_empty() {
            out.push_str(self);
            out.push(' ');
        }
    }
}

impl Print for String {
    fn print(&self, out: &mut String) {
        self.as_str().print(out);
    }
}

/// Words in upper case.
impl Print for Box<str> {
    fn print(&self, out: &mut String) {
        (&**self).print(out);
    }
}

impl<T: Print> Print for &T {
    fn print(&self, out: &mut String) {
        (**self).print(out);
    }
}

impl<T: Print> Print for Box<T> {
    fn print(&self, out: &mut String) {
        (**self).print(out);
    }
}

impl<T: Print> Print for Option<T> {
    fn print(&self, out: &mut String) {
        if let Some(it) = self {
            it.print(out);
        }
    }
}

/// A word in front of an optional node.
pub(crate) struct With<'a, T>(pub(crate) &'static str, pub(crate) &'a Option<T>);

impl<T: Print> Print for With<'_, T> {
    fn print(&self, out: &mut String) {
        if let Some(it) = self.1 {
            put!(out, self.0, it);
        }
    }
}

/// `a, b`: items separated by commas.
pub(crate) struct List<'a, T>(pub(crate) &'a [T]);

impl<T: Print> Print for List<'_, T> {
    fn print(&self, out: &mut String) {
        for (index, it) in self.0.iter().enumerate() {
            put!(out, when(index > 0, ","), it);
        }
    }
}

/// `(a, b)`: items in parentheses.
pub(crate) struct Parens<'a, T>(pub(crate) &'a [T]);

impl<T: Print> Print for Parens<'_, T> {
    fn print(&self, out: &mut String) {
        put!(out, "(", List(self.0), ")");
    }
}

/// A word and `(a, b)`, or nothing.
pub(crate) struct Some_<'a, T>(pub(crate) &'static str, pub(crate) &'a [T]);

impl<T: Print> Print for Some_<'_, T> {
    fn print(&self, out: &mut String) {
        if !self.1.is_empty() {
            put!(out, self.0, Parens(self.1));
        }
    }
}

/// A word and `a, b`, or nothing.
pub(crate) struct Listed<'a, T>(pub(crate) &'static str, pub(crate) &'a [T]);

impl<T: Print> Print for Listed<'_, T> {
    fn print(&self, out: &mut String) {
        if !self.1.is_empty() {
            put!(out, self.0, List(self.1));
        }
    }
}

pub(crate) fn when(condition: bool, word: &'static str) -> &'static str {
    if condition { word } else { "" }
}

/// Returns a string constant.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// NULL, NOT NULL or nothing.
pub(crate) fn nullability(nullable: &Option<bool>) -> &'static str {
    nullable.map_or("", |nullable| if nullable { "NULL" } else { "NOT NULL" })
}

pub(crate) fn on_off(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}

impl Print for Ident {
    fn print(&self, out: &mut String) {
        put!(out, format!("[{}]", self.as_str().replace(']', "]]")));
    }
}

impl Print for ObjectName {
    fn print(&self, out: &mut String) {
        let ObjectName { object, schema, database, server, span: _ } = self;
        let parts = [server, database, schema];
        for part in parts.into_iter().skip_while(|part| part.is_none()) {
            put!(out, part, ".");
        }
        put!(out, object);
    }
}

impl Print for Variable {
    fn print(&self, out: &mut String) {
        put!(out, self.name);
    }
}

impl Print for TypeName {
    fn print(&self, out: &mut String) {
        let TypeName { name, arguments, span: _ } = self;
        put!(out, name);
        match arguments {
            TypeArguments::None => {}
            TypeArguments::One(a) => put!(out, format!("({a})")),
            TypeArguments::Two(a, b) => put!(out, format!("({a}, {b})")),
            TypeArguments::Max => put!(out, "(MAX)"),
            TypeArguments::XmlSchema(name) => put!(out, "(", name, ")"),
        }
    }
}

impl Print for CursorRef {
    fn print(&self, out: &mut String) {
        put!(out, when(self.global, "GLOBAL"));
        match &self.name {
            CursorName::Name(name) => put!(out, name),
            CursorName::Variable(variable) => put!(out, variable),
        }
    }
}
