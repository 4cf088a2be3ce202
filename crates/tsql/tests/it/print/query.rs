//! Prints queries and their sources.

use super::expr::{Value, Window};
use super::{List, Listed, Parens, Print, Some_, put, quote, when};
use tsql::ast::*;

impl Print for SelectStatement {
    fn print(&self, out: &mut String) {
        let SelectStatement { with, query, options } = self;
        put!(out, with, query, Some_("OPTION", options));
    }
}

impl Print for With {
    fn print(&self, out: &mut String) {
        let With { xml_namespaces, ctes, span: _ } = self;
        put!(out, "WITH");
        if !xml_namespaces.is_empty() {
            put!(out, "XMLNAMESPACES (");
            for (index, (uri, prefix)) in xml_namespaces.iter().enumerate() {
                put!(out, when(index > 0, ","), when(prefix.is_none(), "DEFAULT"), quote(uri));
                put!(out, super::With("AS", prefix));
            }
            put!(out, ")", when(!ctes.is_empty(), ","));
        }
        put!(out, List(ctes));
    }
}

impl Print for Cte {
    fn print(&self, out: &mut String) {
        let Cte { name, columns, query } = self;
        put!(out, name, Some_("", columns), "AS (", query, ")");
    }
}

impl Print for QueryExpression {
    fn print(&self, out: &mut String) {
        let QueryExpression { body, order_by, offset, for_clause, span: _ } = self;
        put!(out, body, Listed("ORDER BY", order_by), offset, for_clause);
    }
}

impl Print for Offset {
    fn print(&self, out: &mut String) {
        put!(out, "OFFSET", self.offset, "ROWS");
        if let Some(fetch) = &self.fetch {
            put!(out, "FETCH NEXT", fetch, "ROWS ONLY");
        }
    }
}

impl Print for QueryBody {
    fn print(&self, out: &mut String) {
        match self {
            QueryBody::Select(spec) => put!(out, spec),
            QueryBody::Parenthesized(query) => put!(out, "(", query, ")"),
            QueryBody::SetOperation { first, rest } => {
                put!(out, first);
                for (op, body) in rest {
                    let op = match op {
                        SetOp::Union => "UNION",
                        SetOp::UnionAll => "UNION ALL",
                        SetOp::Except => "EXCEPT",
                        SetOp::Intersect => "INTERSECT",
                    };
                    put!(out, op, body);
                }
            }
        }
    }
}

impl Print for QuerySpec {
    fn print(&self, out: &mut String) {
        let QuerySpec {
            distinct,
            top,
            items,
            into,
            from,
            filter,
            group_by,
            having,
            windows,
            span: _,
        } = self;
        put!(out, "SELECT", when(*distinct, "DISTINCT"), top, List(items));
        if let Some(Into { table, filegroup }) = into {
            put!(out, "INTO", table, super::With("ON", filegroup));
        }
        put!(out, Listed("FROM", from), super::With("WHERE", filter), group_by);
        put!(out, super::With("HAVING", having));
        for (index, (name, window)) in windows.iter().enumerate() {
            put!(out, if index == 0 { "WINDOW" } else { "," }, name, "AS (", Window(window), ")");
        }
    }
}

impl Print for Top {
    fn print(&self, out: &mut String) {
        let Top { count, percent, with_ties } = self;
        put!(out, "TOP", Value(count), when(*percent, "PERCENT"), when(*with_ties, "WITH TIES"));
    }
}

impl Print for SelectItem {
    fn print(&self, out: &mut String) {
        match &self.kind {
            SelectItemKind::Expr { expr, alias } => put!(out, expr, super::With("AS", alias)),
            SelectItemKind::Star => put!(out, "*"),
            SelectItemKind::QualifiedStar(name) => put!(out, name, ". *"),
            SelectItemKind::Assign { variable, op, value } => put!(out, variable, op, value),
        }
    }
}

impl Print for OrderBy {
    fn print(&self, out: &mut String) {
        put!(out, self.expr, when(self.descending, "DESC"));
    }
}

impl Print for GroupBy {
    fn print(&self, out: &mut String) {
        let GroupBy { all, items, suffix } = self;
        put!(out, "GROUP BY", when(*all, "ALL"), List(items));
        match suffix {
            Some(GroupingSuffix::Rollup) => put!(out, "WITH ROLLUP"),
            Some(GroupingSuffix::Cube) => put!(out, "WITH CUBE"),
            None => {}
        }
    }
}

impl Print for GroupingItem {
    fn print(&self, out: &mut String) {
        match self {
            GroupingItem::Expr(expr) => put!(out, expr),
            GroupingItem::Set(set) => put!(out, Parens(set)),
            GroupingItem::Rollup(items) => put!(out, "ROLLUP", Parens(items)),
            GroupingItem::Cube(items) => put!(out, "CUBE", Parens(items)),
            GroupingItem::GroupingSets(items) => put!(out, "GROUPING SETS", Parens(items)),
        }
    }
}

fn named(out: &mut String, word: &'static str, name: &Option<Box<str>>) {
    put!(out, word);
    if let Some(name) = name {
        put!(out, "(", quote(name), ")");
    }
}

impl Print for ForClause {
    fn print(&self, out: &mut String) {
        match &self.mode {
            ForMode::XmlRaw(name) => named(out, "FOR XML RAW", name),
            ForMode::XmlPath(name) => named(out, "FOR XML PATH", name),
            ForMode::XmlAuto => put!(out, "FOR XML AUTO"),
            ForMode::XmlExplicit => put!(out, "FOR XML EXPLICIT"),
            ForMode::JsonAuto => put!(out, "FOR JSON AUTO"),
            ForMode::JsonPath => put!(out, "FOR JSON PATH"),
            ForMode::Browse => put!(out, "FOR BROWSE"),
        }
        for directive in &self.directives {
            put!(out, ",");
            match directive {
                ForDirective::Root(name) => named(out, "ROOT", name),
                ForDirective::Type => put!(out, "TYPE"),
                ForDirective::Elements => put!(out, "ELEMENTS"),
                ForDirective::ElementsXsinil => put!(out, "ELEMENTS XSINIL"),
                ForDirective::BinaryBase64 => put!(out, "BINARY BASE64"),
                ForDirective::XmlData => put!(out, "XMLDATA"),
                ForDirective::XmlSchema(name) => named(out, "XMLSCHEMA", name),
                ForDirective::IncludeNullValues => put!(out, "INCLUDE_NULL_VALUES"),
                ForDirective::WithoutArrayWrapper => put!(out, "WITHOUT_ARRAY_WRAPPER"),
            }
        }
    }
}

/// A source inside a chain of joins.
struct Side<'a>(&'a TableRef);

impl Print for Side<'_> {
    fn print(&self, out: &mut String) {
        match self.0.kind {
            TableRefKind::Joined { .. } => put!(out, "(", self.0, ")"),
            _ => put!(out, self.0),
        }
    }
}

impl Print for TableRef {
    fn print(&self, out: &mut String) {
        match &self.kind {
            TableRefKind::Table(table) => put!(out, table),
            TableRefKind::Variable { variable, alias, hints } => {
                put!(out, variable, super::With("AS", alias), Some_("WITH", hints))
            }
            TableRefKind::Function(function) => put!(out, function),
            TableRefKind::Bulk(source) => put!(out, source),
            TableRefKind::Method { call, alias } => {
                put!(out, call.target, ".", call.name, Parens(&call.arguments), alias)
            }
            TableRefKind::Derived { query, alias } => put!(out, "(", query, ")", alias),
            TableRefKind::Values { rows, alias } => put!(out, "(", Rows(rows), ")", alias),
            TableRefKind::Joined { first, joins } => {
                put!(out, Side(first));
                for join in joins {
                    put!(out, join);
                }
            }
            TableRefKind::Pivot(pivot) => {
                let Pivot { source, aggregate, column, values, alias } = &**pivot;
                put!(out, Side(source), "PIVOT (", aggregate, "FOR", column);
                put!(out, "IN", Parens(values), ")", alias);
            }
            TableRefKind::Unpivot(unpivot) => {
                let Unpivot { source, value, name, columns, alias } = &**unpivot;
                put!(out, Side(source), "UNPIVOT (", value, "FOR", name);
                put!(out, "IN", Parens(columns), ")", alias);
            }
            TableRefKind::Dml { statement, alias } => put!(out, "(", statement, ")", alias),
        }
    }
}

/// `VALUES (..), (..)`: rows of values.
pub(crate) struct Rows<'a>(pub(crate) &'a [Vec<Expr>]);

impl Print for Rows<'_> {
    fn print(&self, out: &mut String) {
        for (index, row) in self.0.iter().enumerate() {
            put!(out, if index == 0 { "VALUES" } else { "," }, Parens(row));
        }
    }
}

impl Print for TableAlias {
    fn print(&self, out: &mut String) {
        put!(out, "AS", self.name, Some_("", &self.columns));
    }
}

impl Print for TableSource {
    fn print(&self, out: &mut String) {
        let TableSource { name, alias, hints, system_time, sample } = self;
        put!(out, name, system_time, super::With("AS", alias), sample, Some_("WITH", hints));
    }
}

impl Print for SystemTime {
    fn print(&self, out: &mut String) {
        put!(out, "FOR SYSTEM_TIME");
        match self {
            SystemTime::AsOf(at) => put!(out, "AS OF", at),
            SystemTime::FromTo(from, to) => put!(out, "FROM", from, "TO", to),
            SystemTime::Between(from, to) => put!(out, "BETWEEN", from, "AND", to),
            SystemTime::ContainedIn(from, to) => put!(out, "CONTAINED IN (", from, ",", to, ")"),
            SystemTime::All => put!(out, "ALL"),
        }
    }
}

impl Print for TableSample {
    fn print(&self, out: &mut String) {
        let TableSample { count, rows, seed } = self;
        put!(out, "TABLESAMPLE (", count, if *rows { "ROWS" } else { "PERCENT" }, ")");
        if let Some(seed) = seed {
            put!(out, "REPEATABLE (", seed, ")");
        }
    }
}

impl Print for FunctionSource {
    fn print(&self, out: &mut String) {
        let FunctionSource { call, alias, schema, schema_of, hints } = self;
        put!(out, call, Some_("WITH", schema), super::With("WITH", schema_of));
        put!(out, alias, Some_("WITH", hints));
    }
}

impl Print for BulkSource {
    fn print(&self, out: &mut String) {
        let BulkSource { file, options, schema, alias } = self;
        put!(out, "OPENROWSET ( BULK", quote(file));
        options.iter().for_each(|option| put!(out, ",", option));
        put!(out, ")", Some_("WITH", schema), alias);
    }
}

impl Print for SchemaColumn {
    fn print(&self, out: &mut String) {
        let SchemaColumn { name, data_type, collation, path, as_json } = self;
        put!(out, name, data_type, super::With("COLLATE", collation));
        put!(out, path.as_deref().map(quote), when(*as_json, "AS JSON"));
    }
}

impl Print for Join {
    fn print(&self, out: &mut String) {
        let Join { kind, hint, right, on, span: _ } = self;
        let (word, last) = match kind {
            JoinKind::Inner => ("INNER", "JOIN"),
            JoinKind::Left => ("LEFT", "JOIN"),
            JoinKind::Right => ("RIGHT", "JOIN"),
            JoinKind::Full => ("FULL", "JOIN"),
            JoinKind::Cross => ("CROSS", "JOIN"),
            JoinKind::CrossApply => ("CROSS", "APPLY"),
            JoinKind::OuterApply => ("OUTER", "APPLY"),
        };
        let hint = hint.map_or("", |hint| match hint {
            JoinHint::Loop => "LOOP",
            JoinHint::Hash => "HASH",
            JoinHint::Merge => "MERGE",
            JoinHint::Remote => "REMOTE",
        });
        put!(out, word, hint, last, Side(right), super::With("ON", on));
    }
}

impl Print for TableHint {
    fn print(&self, out: &mut String) {
        match &self.kind {
            TableHintKind::Word(TableHintWord::IgnoreConstraints) => {
                put!(out, "IGNORE_CONSTRAINTS")
            }
            TableHintKind::Word(TableHintWord::IgnoreTriggers) => put!(out, "IGNORE_TRIGGERS"),
            TableHintKind::Word(word) => put!(out, format!("{word:?}").to_uppercase()),
            TableHintKind::Index(indexes) => put!(out, "INDEX", Parens(indexes)),
            TableHintKind::ForceSeek(None) => put!(out, "FORCESEEK"),
            TableHintKind::ForceSeek(Some((index, columns))) => {
                put!(out, "FORCESEEK (", index, Some_("", columns), ")")
            }
            TableHintKind::SpatialWindowMaxCells(cells) => {
                put!(out, format!("SPATIAL_WINDOW_MAX_CELLS = {cells}"))
            }
        }
    }
}

impl Print for IndexRef {
    fn print(&self, out: &mut String) {
        match self {
            IndexRef::Name(name) => put!(out, name),
            IndexRef::Number(number) => put!(out, number.to_string()),
        }
    }
}

impl Print for QueryHint {
    fn print(&self, out: &mut String) {
        match &self.kind {
            QueryHintKind::Plain(name) => put!(out, name),
            QueryHintKind::Number(name, number) => put!(out, name, number.to_string()),
            QueryHintKind::Text(name, text) if &**name == "USE PLAN" => {
                put!(out, name, quote(text))
            }
            QueryHintKind::Text(name, text) => put!(out, name, "=", quote(text)),
            QueryHintKind::OptimizeFor(variables) => {
                for (index, (variable, value)) in variables.iter().enumerate() {
                    put!(out, if index == 0 { "OPTIMIZE FOR (" } else { "," }, variable);
                    put!(out, when(value.is_none(), "UNKNOWN"), super::With("=", value));
                }
                put!(out, ")");
            }
            QueryHintKind::OptimizeForUnknown => put!(out, "OPTIMIZE FOR UNKNOWN"),
            QueryHintKind::UseHint(names) => {
                let names: Vec<_> = names.iter().map(|name| quote(name)).collect();
                put!(out, "USE HINT", Parens(&names));
            }
            QueryHintKind::TableHint(table, hints) => {
                put!(out, "TABLE HINT (", table, Listed(",", hints), ")")
            }
        }
    }
}
