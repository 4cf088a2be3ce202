//! Writes expressions as the catalog shows them: the text that SQL Server keeps for a constraint, a
//! default, a computed column or the filter of an index.
//!
//! The source's blanks, letter case and needless parentheses are gone: names are in brackets,
//! functions in lower case, numbers in parentheses; CAST has become CONVERT, IN a chain of OR,
//! BETWEEN two comparisons. What cannot be part of such a definition (a subquery, a window) is
//! shown as written.

use std::fmt::Write;

use types::date::DatePart;

use crate::ast::{
    ArithmeticOp, Call, CallSpecial, ColumnRef, CompareOp, Condition, ConditionKind, Convert,
    ConvertForm, Expr, ExprKind, Literal, Niladic, ObjectName, OnFailure, TypeArguments, TypeName,
    UnaryOp,
};

/// Functions whose first argument is a date part.
const OF_PARTS: [&str; 7] =
    ["dateadd", "datediff", "datediff_big", "datename", "datepart", "datetrunc", "date_bucket"];
/// Functions that SQL Server keeps as a call of DATEPART.
const PARTS: [&str; 3] = ["year", "month", "day"];
/// Words of the language that stand where a name does and take no brackets.
const PSEUDO_NAMES: [&str; 4] = ["$action", "$identity", "$partition", "$rowguid"];

/// How IN with a list of values is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// As comparisons, the last item first: `[a]=(2) OR [a]=(1)`.
    Comparisons,
    /// As IN, as in the filter of an index: `[a] IN ((1), (2))`.
    In,
}

/// Returns the definition of a default or a computed column: `(getdate())`, `([price]*(2))`.
pub fn definition_of_value(expr: &Expr, source: &str) -> String {
    let mut shown = Definition { source, lists: Lists::Comparisons, out: "(".to_owned() };
    shown.value(expr, Level::Whole);
    shown.out + ")"
}

/// Returns the definition of a CHECK constraint or an index's filter: `([price]>(0))`.
pub fn definition_of_condition(condition: &Condition, source: &str, lists: Lists) -> String {
    let mut shown = Definition { source, lists, out: "(".to_owned() };
    shown.condition(condition, Level::Whole);
    shown.out + ")"
}

/// How tightly an operator binds. An operand whose operator is looser needs parentheses, and so
/// does one of the same level, except in a chain of AND or OR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Whole,
    Or,
    And,
    Comparison,
    Additive,
    Multiplicative,
    Unary,
}

struct Definition<'a> {
    source: &'a str,
    lists: Lists,
    out: String,
}

impl Definition<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Writes an operand, in parentheses if the operator around it binds as tightly or tighter.
    fn within(&mut self, own: Level, around: Level, write: impl FnOnce(&mut Self)) {
        if own > around {
            return write(self);
        }
        self.put("(");
        write(self);
        self.put(")");
    }

    fn value(&mut self, expr: &Expr, around: Level) {
        match &expr.kind {
            ExprKind::Literal(value) => self.literal(value),
            ExprKind::Column(column) => self.column(column),
            ExprKind::Variable(variable) => self.put(&variable.name.to_ascii_lowercase()),
            ExprKind::Unary { op, operand } => self.unary(*op, operand, around),
            ExprKind::Arithmetic { first, rest } => self.arithmetic(first, rest, around),
            ExprKind::SearchedCase { branches, otherwise } => {
                self.put("case");
                for (when, then) in branches {
                    self.branch(|shown| shown.condition(when, Level::Whole), then);
                }
                self.end_of_case(otherwise.as_deref());
            }
            ExprKind::SimpleCase { input, branches, otherwise } => {
                self.put("case ");
                self.value(input, Level::Whole);
                for (when, then) in branches {
                    self.branch(|shown| shown.value(when, Level::Whole), then);
                }
                self.end_of_case(otherwise.as_deref());
            }
            ExprKind::Iif(iif) => {
                self.put("case");
                self.branch(|shown| shown.condition(&iif.condition, Level::Whole), &iif.then);
                self.end_of_case(Some(&iif.otherwise));
            }
            ExprKind::Convert(convert) => self.convert(convert),
            ExprKind::Call(call) => self.call(call, expr),
            ExprKind::Niladic(niladic) => self.put(function_of(*niladic)),
            ExprKind::Collate { operand, collation } => {
                self.value(operand, Level::Unary);
                self.put(" collate ");
                self.put(collation);
            }
            ExprKind::AtTimeZone { operand, zone } => {
                self.put("(");
                self.value(operand, Level::Unary);
                self.put(" AT TIME ZONE ");
                self.value(zone, Level::Unary);
                self.put(")");
            }
            ExprKind::NextValue { sequence, over: None } => {
                self.put("NEXT VALUE FOR ");
                self.name(sequence);
            }
            ExprKind::Star => self.put("*"),
            ExprKind::NextValue { over: Some(_), .. }
            | ExprKind::Method(_)
            | ExprKind::StaticMethod(_)
            | ExprKind::Subquery(_)
            | ExprKind::Default => self.put(expr.span.text(self.source)),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::String(text) => self.quoted("'", text),
            Literal::NString(text) => self.quoted("N'", text),
            // SQL Server keeps ODBC escapes as plain strings.
            Literal::Odbc(_, text) => self.quoted("'", text),
            number => {
                let text = number_text(number);
                self.put("(");
                self.put(&text);
                self.put(")");
            }
        }
    }

    fn quoted(&mut self, open: &str, text: &str) {
        self.put(open);
        self.put(&text.replace('\'', "''"));
        self.put("'");
    }

    fn column(&mut self, column: &ColumnRef) {
        if let Some(table) = &column.table {
            self.name(table);
            self.put(".");
        }
        self.bracketed(&column.column);
    }

    fn name(&mut self, name: &ObjectName) {
        let qualifiers = [&name.server, &name.database, &name.schema];
        for part in qualifiers.into_iter().skip_while(|part| part.is_none()) {
            if let Some(part) = part {
                self.bracketed(part);
            }
            self.put(".");
        }
        self.bracketed(&name.object);
    }

    fn bracketed(&mut self, name: &str) {
        if PSEUDO_NAMES.iter().any(|word| word.eq_ignore_ascii_case(name)) {
            return self.put(name);
        }
        self.put("[");
        self.put(&name.replace(']', "]]"));
        self.put("]");
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr, around: Level) {
        let sign = match op {
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
        };
        // A minus sign in front of a number is part of the constant.
        if let (UnaryOp::Minus, ExprKind::Literal(number)) = (op, &operand.kind)
            && is_number(number)
        {
            let text = number_text(number);
            self.put("(-");
            self.put(&text);
            return self.put(")");
        }
        // Two signs side by side would begin a comment.
        let own = if op == UnaryOp::Minus { Level::Comparison } else { Level::Unary };
        self.within(own, around, |shown| {
            shown.put(sign);
            shown.value(operand, Level::Multiplicative);
        });
    }

    /// Writes a chain of operators, which apply from the left: `(([a]+[b])-[c])`.
    fn arithmetic(&mut self, first: &Expr, rest: &[(ArithmeticOp, Expr)], around: Level) {
        let Some(((op, last), before)) = rest.split_last() else {
            return self.value(first, around);
        };
        let own = level_of(*op);
        self.within(own, around, |shown| {
            shown.arithmetic(first, before, own);
            shown.put(sign_of(*op));
            shown.value(last, own);
        });
    }

    fn branch(&mut self, when: impl FnOnce(&mut Self), then: &Expr) {
        self.put(" when ");
        when(self);
        self.put(" then ");
        self.value(then, Level::Whole);
    }

    fn end_of_case(&mut self, otherwise: Option<&Expr>) {
        if let Some(otherwise) = otherwise {
            self.put(" else ");
            self.value(otherwise, Level::Whole);
        }
        self.put(" end");
    }

    fn convert(&mut self, convert: &Convert) {
        let word = match (convert.form, convert.on_failure) {
            (ConvertForm::Parse, OnFailure::Error) => return self.cast("PARSE", convert),
            (ConvertForm::Parse, OnFailure::Null) => return self.cast("TRY_PARSE", convert),
            (ConvertForm::Cast, OnFailure::Null) => return self.cast("TRY_CAST", convert),
            (ConvertForm::Convert, OnFailure::Null) => "TRY_CONVERT(",
            (ConvertForm::Cast | ConvertForm::Convert, OnFailure::Error) => "CONVERT(",
        };
        self.put(word);
        self.type_name(&convert.target);
        self.put(",");
        self.value(&convert.operand, Level::Whole);
        if let Some(style) = &convert.style {
            self.put(",");
            self.value(style, Level::Whole);
        }
        self.put(")");
    }

    fn cast(&mut self, word: &str, convert: &Convert) {
        self.put(word);
        self.put("(");
        self.value(&convert.operand, Level::Whole);
        self.put(" AS ");
        self.type_name(&convert.target);
        if let Some(culture) = &convert.style {
            self.put(" USING ");
            self.value(culture, Level::Whole);
        }
        self.put(")");
    }

    fn type_name(&mut self, name: &TypeName) {
        if name.name.is_simple() {
            let written = name.name.object.to_ascii_lowercase();
            self.bracketed(match written.as_str() {
                "integer" => "int",
                "dec" => "decimal",
                "character" => "char",
                "rowversion" => "timestamp",
                other => other,
            });
        } else {
            self.name(&name.name);
        }
        // Writing to a String cannot fail.
        let _ = match &name.arguments {
            TypeArguments::None => Ok(()),
            TypeArguments::One(n) => write!(self.out, "({n})"),
            TypeArguments::Two(n, m) => write!(self.out, "({n},{m})"),
            TypeArguments::Max => write!(self.out, "(max)"),
            TypeArguments::XmlSchema(collection) => write!(self.out, "({collection})"),
        };
    }

    fn call(&mut self, call: &Call, expr: &Expr) {
        let plain = call.over.is_none()
            && call.within_group.is_empty()
            && call.nulls.is_none()
            && !call.distinct
            && matches!(call.special, CallSpecial::None | CallSpecial::OdbcFunction);
        if !plain {
            return self.put(expr.span.text(self.source));
        }
        let name = call.name.object.to_ascii_lowercase();
        if !call.name.is_simple() {
            self.name(&call.name);
            return self.arguments(&call.arguments, None);
        }
        if PARTS.contains(&name.as_str()) && call.arguments.len() == 1 {
            self.put("datepart");
            return self.arguments(&call.arguments, Some(&name));
        }
        self.put(if name == "now" { "getdate" } else { &name });
        match call.arguments.split_first() {
            Some((part, others)) if OF_PARTS.contains(&name.as_str()) => {
                let written = part.span.text(self.source).to_ascii_lowercase();
                let known = DatePart::by_name(&written).map(DatePart::name);
                self.arguments(others, Some(known.unwrap_or(&written)));
            }
            _ => self.arguments(&call.arguments, None),
        }
    }

    fn arguments(&mut self, list: &[Expr], first: Option<&str>) {
        self.put("(");
        self.put(first.unwrap_or_default());
        for (n, argument) in list.iter().enumerate() {
            if n > 0 || first.is_some() {
                self.put(",");
            }
            self.value(argument, Level::Whole);
        }
        self.put(")");
    }

    fn condition(&mut self, condition: &Condition, around: Level) {
        match &condition.kind {
            ConditionKind::And(all) => self.chain(all, Level::And, around),
            ConditionKind::Or(all) => self.chain(all, Level::Or, around),
            ConditionKind::Not(inner) => self.negation(|shown| {
                shown.condition(inner, Level::And);
            }),
            ConditionKind::Compare { op, left, right } => self.comparison(left, symbol(*op), right),
            ConditionKind::Between { negated, operand, low, high } => {
                let both = |shown: &mut Self, around| {
                    shown.within(Level::And, around, |shown| {
                        shown.comparison(operand, ">=", low);
                        shown.put(" AND ");
                        shown.comparison(operand, "<=", high);
                    });
                };
                match negated {
                    true => self.negation(|shown| both(shown, Level::And)),
                    false => both(self, around),
                }
            }
            ConditionKind::Like { negated, operand, pattern, escape } => {
                if *negated {
                    self.put("NOT ");
                }
                self.comparison(operand, " like ", pattern);
                if let Some(escape) = escape {
                    self.put(" escape ");
                    self.value(escape, Level::Comparison);
                }
            }
            ConditionKind::InList { negated, operand, list } => match negated {
                true => self.negation(|shown| shown.list(operand, list, Level::And)),
                false => self.list(operand, list, around),
            },
            ConditionKind::IsNull { negated, operand } => {
                self.value(operand, Level::Additive);
                self.put(if *negated { " IS NOT NULL" } else { " IS NULL" });
            }
            ConditionKind::IsDistinct { negated, left, right } => {
                let word = if *negated { " IS NOT DISTINCT FROM " } else { " IS DISTINCT FROM " };
                self.comparison(left, word, right);
            }
            ConditionKind::CompareQuantified { .. }
            | ConditionKind::InQuery { .. }
            | ConditionKind::Exists(_)
            | ConditionKind::ColumnUpdated(_)
            | ConditionKind::CurrentOf(_)
            | ConditionKind::FullText(_) => self.put(condition.span.text(self.source)),
        }
    }

    fn negation(&mut self, write: impl FnOnce(&mut Self)) {
        self.put("NOT ");
        write(self);
    }

    fn comparison(&mut self, left: &Expr, sign: &str, right: &Expr) {
        // Operands of a comparison: sums get parentheses, products do not.
        self.value(left, Level::Additive);
        self.put(sign);
        self.value(right, Level::Additive);
    }

    /// Writes a chain of AND or OR. Its first operand may be a chain of the same kind without
    /// parentheses, the others may not.
    fn chain(&mut self, all: &[Condition], own: Level, around: Level) {
        let word = if own == Level::And { " AND " } else { " OR " };
        self.within(own, around, |shown| {
            for (n, one) in all.iter().enumerate() {
                if n > 0 {
                    shown.put(word);
                }
                let looser = if own == Level::And { Level::Or } else { Level::Whole };
                shown.condition(one, if n == 0 { looser } else { own });
            }
        });
    }

    /// Writes IN with a list as comparisons, the last one first, as SQL Server builds them.
    fn list(&mut self, operand: &Expr, list: &[Expr], around: Level) {
        if self.lists == Lists::In {
            self.value(operand, Level::Additive);
            self.put(" IN (");
            for (n, item) in list.iter().enumerate() {
                self.put(if n > 0 { ", " } else { "" });
                self.value(item, Level::Whole);
            }
            return self.put(")");
        }
        let own = if list.len() > 1 { Level::Or } else { Level::Comparison };
        self.within(own, around, |shown| {
            for (n, item) in list.iter().rev().enumerate() {
                shown.put(if n > 0 { " OR " } else { "" });
                shown.comparison(operand, "=", item);
            }
        });
    }
}

fn level_of(op: ArithmeticOp) -> Level {
    match op {
        ArithmeticOp::Multiply | ArithmeticOp::Divide | ArithmeticOp::Modulo => {
            Level::Multiplicative
        }
        ArithmeticOp::Add
        | ArithmeticOp::Subtract
        | ArithmeticOp::BitAnd
        | ArithmeticOp::BitXor
        | ArithmeticOp::BitOr
        | ArithmeticOp::Concatenate => Level::Additive,
    }
}

fn sign_of(op: ArithmeticOp) -> &'static str {
    match op {
        ArithmeticOp::Multiply => "*",
        ArithmeticOp::Divide => "/",
        ArithmeticOp::Modulo => "%",
        ArithmeticOp::Add => "+",
        ArithmeticOp::Subtract => "-",
        ArithmeticOp::BitAnd => "&",
        ArithmeticOp::BitXor => "^",
        ArithmeticOp::BitOr => "|",
        ArithmeticOp::Concatenate => "||",
    }
}

fn symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "<>",
        CompareOp::Less => "<",
        CompareOp::LessOrEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterOrEqual => ">=",
    }
}

/// Returns the function that SQL Server keeps in place of one without parentheses.
fn function_of(niladic: Niladic) -> &'static str {
    match niladic {
        Niladic::CurrentTimestamp => "getdate()",
        Niladic::CurrentDate => "current_date",
        Niladic::CurrentUser | Niladic::SessionUser | Niladic::User => "user_name()",
        Niladic::SystemUser => "suser_sname()",
    }
}

fn is_number(literal: &Literal) -> bool {
    matches!(literal, Literal::Int(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_))
}

/// Returns a number's text, or `""` for a literal that is no number.
fn number_text(literal: &Literal) -> String {
    match literal {
        Literal::Int(value) => value.to_string(),
        Literal::Decimal(text) => match text.strip_prefix('.') {
            Some(fraction) => format!("0.{fraction}"),
            None => text.trim_end_matches('.').to_owned(),
        },
        Literal::Float(value) => float_text(*value),
        Literal::Money(value) => format!("${}.{:04}", value / 10_000, value % 10_000),
        Literal::Binary(bytes) => bytes.iter().fold(String::from("0x"), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02X}");
            hex
        }),
        Literal::Null | Literal::String(_) | Literal::NString(_) | Literal::Odbc(..) => {
            String::new()
        }
    }
}

/// Writes a float as SQL Server keeps it, with 16 digits behind the point and three of exponent:
/// `1.5000000000000000e+000`.
fn float_text(value: f64) -> String {
    let text = format!("{value:.16e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>3}")
}
