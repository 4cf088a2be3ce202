//! Prints expressions and conditions.

use super::{List, Parens, Print, With, put, quote, when};
use tsql::ast::*;

/// A value in parentheses, unless it has them already.
pub(crate) struct Value<'a>(pub(crate) &'a Expr);

impl Print for Value<'_> {
    fn print(&self, out: &mut String) {
        match self.0.kind {
            ExprKind::Subquery(_) => put!(out, self.0),
            _ => put!(out, "(", self.0, ")"),
        }
    }
}

/// An operand; an expression with operators gets parentheses.
struct Operand<'a>(&'a Expr);

impl Print for Operand<'_> {
    fn print(&self, out: &mut String) {
        match self.0.kind {
            ExprKind::Arithmetic { .. } | ExprKind::Unary { .. } => put!(out, Value(self.0)),
            _ => put!(out, self.0),
        }
    }
}

impl Print for Expr {
    fn print(&self, out: &mut String) {
        match &self.kind {
            ExprKind::Literal(literal) => put!(out, literal),
            ExprKind::Column(column) => put!(out, column),
            ExprKind::Variable(variable) => put!(out, variable),
            ExprKind::Unary { op, operand } => {
                let op = match op {
                    UnaryOp::Minus => "-",
                    UnaryOp::Plus => "+",
                    UnaryOp::BitNot => "~",
                };
                put!(out, op, Operand(operand));
            }
            ExprKind::Arithmetic { first, rest } => {
                put!(out, Operand(first));
                for (op, operand) in rest {
                    put!(out, arithmetic(*op), Operand(operand));
                }
            }
            ExprKind::SearchedCase { branches, otherwise } => {
                put!(out, "CASE");
                for (when, then) in branches {
                    put!(out, "WHEN", when, "THEN", then);
                }
                put!(out, With("ELSE", otherwise), "END");
            }
            ExprKind::SimpleCase { input, branches, otherwise } => {
                put!(out, "CASE", input);
                for (when, then) in branches {
                    put!(out, "WHEN", when, "THEN", then);
                }
                put!(out, With("ELSE", otherwise), "END");
            }
            ExprKind::Iif(iif) => {
                let Iif { condition, then, otherwise } = &**iif;
                put!(out, "IIF (", condition, ",", then, ",", otherwise, ")");
            }
            ExprKind::Convert(convert) => put!(out, convert),
            ExprKind::Call(call) => put!(out, call),
            ExprKind::Niladic(niladic) => put!(out, self::niladic(*niladic)),
            ExprKind::Method(method) => {
                put!(out, Value(&method.target), ".", method.name, Parens(&method.arguments));
            }
            ExprKind::StaticMethod(method) => {
                let StaticMethod { type_name, name, arguments } = &**method;
                put!(out, type_name, "::", name);
                if let Some(arguments) = arguments {
                    put!(out, Parens(arguments));
                }
            }
            ExprKind::Subquery(query) => put!(out, "(", query, ")"),
            ExprKind::Collate { operand, collation } => {
                put!(out, Value(operand), "COLLATE", collation)
            }
            ExprKind::AtTimeZone { operand, zone } => {
                put!(out, Value(operand), "AT TIME ZONE", Value(zone))
            }
            ExprKind::NextValue { sequence, over } => put!(out, "NEXT VALUE FOR", sequence, over),
            ExprKind::Star => put!(out, "*"),
            ExprKind::Default => put!(out, "DEFAULT"),
        }
    }
}

impl Print for Literal {
    fn print(&self, out: &mut String) {
        match self {
            Literal::Null => put!(out, "NULL"),
            Literal::Int(value) => put!(out, value.to_string()),
            Literal::Decimal(digits) => put!(out, digits),
            Literal::Float(value) => put!(out, format!("{value:e}")),
            Literal::Money(value) => {
                let (sign, value) = (when(*value < 0, "-"), value.unsigned_abs());
                put!(out, format!("${sign}{}.{:04}", value / 10_000, value % 10_000));
            }
            Literal::String(text) => put!(out, quote(text)),
            Literal::NString(text) => put!(out, format!("N{}", quote(text))),
            Literal::Binary(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                put!(out, format!("0x{digits}"));
            }
            Literal::Odbc(kind, text) => {
                let kind = match kind {
                    OdbcKind::Date => "{d",
                    OdbcKind::Time => "{t",
                    OdbcKind::Timestamp => "{ts",
                    OdbcKind::Guid => "{guid",
                };
                put!(out, kind, quote(text), "}");
            }
        }
    }
}

impl Print for ColumnRef {
    fn print(&self, out: &mut String) {
        let ColumnRef { column, table } = self;
        if let Some(table) = table {
            put!(out, table, ".");
        }
        // `IDENTITYCOL` and `ROWGUIDCOL` are keywords, and in brackets they would be names.
        match table.is_none() && (column.is("IDENTITYCOL") || column.is("ROWGUIDCOL")) {
            true => put!(out, column.as_str()),
            false => put!(out, column),
        }
    }
}

fn arithmetic(op: ArithmeticOp) -> &'static str {
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

fn niladic(niladic: Niladic) -> &'static str {
    match niladic {
        Niladic::CurrentTimestamp => "CURRENT_TIMESTAMP",
        Niladic::CurrentDate => "CURRENT_DATE",
        Niladic::CurrentUser => "CURRENT_USER",
        Niladic::SessionUser => "SESSION_USER",
        Niladic::SystemUser => "SYSTEM_USER",
        Niladic::User => "USER",
    }
}

impl Print for Convert {
    fn print(&self, out: &mut String) {
        let Convert { form, on_failure, operand, target, style } = self;
        if *on_failure == OnFailure::Null {
            out.push_str("TRY_");
        }
        match form {
            ConvertForm::Cast => put!(out, "CAST (", operand, "AS", target, ")"),
            ConvertForm::Parse => {
                put!(out, "PARSE (", operand, "AS", target, With("USING", style), ")")
            }
            ConvertForm::Convert => {
                put!(out, "CONVERT (", target, ",", operand, With(",", style), ")")
            }
        }
    }
}

impl Print for Call {
    fn print(&self, out: &mut String) {
        let Call { name, distinct, arguments, within_group, nulls, over, special } = self;
        if *special == CallSpecial::OdbcFunction {
            return put!(out, "{fn", name.object.as_str(), Parens(arguments), "}");
        }
        // Functions with special syntax are recognised by a name of one part only.
        match name.as_simple() {
            Some(name) if name.quoting == Quoting::None => put!(out, name.as_str()),
            _ => put!(out, name),
        }
        put!(out, "(", when(*distinct, "DISTINCT"));
        match (special, arguments.as_slice()) {
            (CallSpecial::TrimLeading, [x, y]) => put!(out, "LEADING", x, "FROM", y),
            (CallSpecial::TrimTrailing, [x, y]) => put!(out, "TRAILING", x, "FROM", y),
            (CallSpecial::TrimBoth, [x, y]) => put!(out, "BOTH", x, "FROM", y),
            _ if name.object.is("JSON_OBJECT") => {
                for (index, pair) in arguments.chunks(2).enumerate() {
                    put!(out, when(index > 0, ","), pair[0], ":", pair[1]);
                }
            }
            _ => put!(out, List(arguments)),
        }
        put!(out, when(*special == CallSpecial::JsonNullOnNull, "NULL ON NULL"));
        put!(out, when(*special == CallSpecial::JsonAbsentOnNull, "ABSENT ON NULL"), ")");
        if !within_group.is_empty() {
            put!(out, "WITHIN GROUP ( ORDER BY", List(within_group), ")");
        }
        match nulls {
            Some(NullTreatment::Ignore) => put!(out, "IGNORE NULLS"),
            Some(NullTreatment::Respect) => put!(out, "RESPECT NULLS"),
            None => {}
        }
        put!(out, over);
    }
}

impl Print for Over {
    fn print(&self, out: &mut String) {
        put!(out, "OVER (", Window(self), ")");
    }
}

/// The contents of a window's parentheses.
pub(crate) struct Window<'a>(pub(crate) &'a Over);

impl Print for Window<'_> {
    fn print(&self, out: &mut String) {
        let Over { base, partition_by, order_by, frame, span: _ } = self.0;
        put!(out, base, super::Listed("PARTITION BY", partition_by));
        put!(out, super::Listed("ORDER BY", order_by));
        let Some(Frame { unit, start, end }) = frame else { return };
        put!(out, if *unit == FrameUnit::Rows { "ROWS" } else { "RANGE" });
        put!(out, "BETWEEN", start, "AND", end);
    }
}

impl Print for FrameBound {
    fn print(&self, out: &mut String) {
        match self {
            FrameBound::UnboundedPreceding => put!(out, "UNBOUNDED PRECEDING"),
            FrameBound::Preceding(count) => put!(out, count, "PRECEDING"),
            FrameBound::CurrentRow => put!(out, "CURRENT ROW"),
            FrameBound::Following(count) => put!(out, count, "FOLLOWING"),
            FrameBound::UnboundedFollowing => put!(out, "UNBOUNDED FOLLOWING"),
        }
    }
}

/// An operand of AND, OR and NOT.
struct Part<'a>(&'a Condition);

impl Print for Part<'_> {
    fn print(&self, out: &mut String) {
        match self.0.kind {
            ConditionKind::And(_) | ConditionKind::Or(_) | ConditionKind::Not(_) => {
                put!(out, "(", self.0, ")")
            }
            _ => put!(out, self.0),
        }
    }
}

fn chain(out: &mut String, list: &[Condition], word: &'static str) {
    for (index, it) in list.iter().enumerate() {
        put!(out, when(index > 0, word), Part(it));
    }
}

pub(crate) fn compare(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "<>",
        CompareOp::Less => "<",
        CompareOp::LessOrEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterOrEqual => ">=",
    }
}

impl Print for Condition {
    fn print(&self, out: &mut String) {
        let not = |negated: &bool| when(*negated, "NOT");
        match &self.kind {
            ConditionKind::And(list) => chain(out, list, "AND"),
            ConditionKind::Or(list) => chain(out, list, "OR"),
            ConditionKind::Not(it) => put!(out, "NOT", Part(it)),
            ConditionKind::Compare { op, left, right } => put!(out, left, compare(*op), right),
            ConditionKind::CompareQuantified { op, left, quantifier, query } => {
                let all = *quantifier == Quantifier::All;
                put!(out, left, compare(*op), if all { "ALL (" } else { "ANY (" }, query, ")");
            }
            ConditionKind::Between { negated, operand, low, high } => {
                put!(out, operand, not(negated), "BETWEEN", low, "AND", high)
            }
            ConditionKind::Like { negated, operand, pattern, escape } => {
                put!(out, operand, not(negated), "LIKE", pattern, With("ESCAPE", escape))
            }
            ConditionKind::InList { negated, operand, list } => {
                put!(out, operand, not(negated), "IN", Parens(list))
            }
            ConditionKind::InQuery { negated, operand, query } => {
                put!(out, operand, not(negated), "IN (", query, ")")
            }
            ConditionKind::IsNull { negated, operand } => {
                put!(out, operand, "IS", not(negated), "NULL")
            }
            ConditionKind::IsDistinct { negated, left, right } => {
                put!(out, left, "IS", not(negated), "DISTINCT FROM", right)
            }
            ConditionKind::Exists(query) => put!(out, "EXISTS (", query, ")"),
            ConditionKind::ColumnUpdated(column) => put!(out, "UPDATE (", column, ")"),
            ConditionKind::CurrentOf(cursor) => put!(out, "CURRENT OF", cursor),
            ConditionKind::FullText(call) => put!(out, call),
        }
    }
}
