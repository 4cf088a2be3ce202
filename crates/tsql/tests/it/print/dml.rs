//! Prints statements that change data.

use super::query::Rows;
use super::{List, Listed, Parens, Print, Some_, nullability, put, quote, when};
use tsql::ast::*;

impl Print for Target {
    fn print(&self, out: &mut String) {
        let Target { kind, hints, span: _ } = self;
        match kind {
            TargetKind::Name(name) => put!(out, name),
            TargetKind::Variable(variable) => put!(out, variable),
            TargetKind::Function(call) => put!(out, call),
        }
        put!(out, Some_("WITH", hints));
    }
}

impl Print for Insert {
    fn print(&self, out: &mut String) {
        let Insert { with, top, target, columns, output, source, options } = self;
        put!(out, with, "INSERT", top, "INTO", target, Some_("", columns));
        outputs(out, output);
        match source {
            InsertSource::Values(rows) => put!(out, Rows(rows)),
            InsertSource::Query(query) => put!(out, query),
            InsertSource::Execute(execute) => put!(out, execute),
            InsertSource::ExecuteString(execute) => put!(out, execute),
            InsertSource::DefaultValues => put!(out, "DEFAULT VALUES"),
        }
        put!(out, Some_("OPTION", options));
    }
}

fn outputs(out: &mut String, clauses: &[Output]) {
    for Output { items, into, span: _ } in clauses {
        put!(out, "OUTPUT", List(items));
        if let Some((target, columns)) = into {
            put!(out, "INTO", target, Some_("", columns));
        }
    }
}

impl Print for Update {
    fn print(&self, out: &mut String) {
        let Update { with, top, target, set, output, from, filter, options } = self;
        put!(out, with, "UPDATE", top, target, "SET", List(set));
        outputs(out, output);
        put!(out, Listed("FROM", from), super::With("WHERE", filter), Some_("OPTION", options));
    }
}

impl Print for AssignOp {
    fn print(&self, out: &mut String) {
        let op = match self {
            AssignOp::Assign => "=",
            AssignOp::Add => "+=",
            AssignOp::Subtract => "-=",
            AssignOp::Multiply => "*=",
            AssignOp::Divide => "/=",
            AssignOp::Modulo => "%=",
            AssignOp::BitAnd => "&=",
            AssignOp::BitXor => "^=",
            AssignOp::BitOr => "|=",
            AssignOp::Concatenate => "||=",
        };
        put!(out, op);
    }
}

impl Print for SetItem {
    fn print(&self, out: &mut String) {
        match &self.kind {
            SetItemKind::Column { column, op, value } => put!(out, column, op, value),
            SetItemKind::Variable { variable, op, value } => put!(out, variable, op, value),
            SetItemKind::VariableAndColumn { variable, column, op, value } => {
                put!(out, variable, "=", column, op, value)
            }
            SetItemKind::Write { column, value, offset, length } => {
                put!(out, column, ". WRITE (", value, ",", offset, ",", length, ")")
            }
            SetItemKind::Mutate { column, method, arguments } => {
                put!(out, column, ".", method, Parens(arguments))
            }
        }
    }
}

impl Print for Delete {
    fn print(&self, out: &mut String) {
        let Delete { with, top, target, output, from, filter, options } = self;
        put!(out, with, "DELETE", top, "FROM", target);
        outputs(out, output);
        put!(out, Listed("FROM", from), super::With("WHERE", filter), Some_("OPTION", options));
    }
}

impl Print for Merge {
    fn print(&self, out: &mut String) {
        let Merge { with, top, target, alias, source, on, clauses, output, options } = self;
        put!(out, with, "MERGE", top, "INTO", target, super::With("AS", alias));
        put!(out, "USING", source, "ON", on);
        for clause in clauses {
            put!(out, clause);
        }
        outputs(out, output);
        put!(out, Some_("OPTION", options));
    }
}

impl Print for MergeClause {
    fn print(&self, out: &mut String) {
        let MergeClause { kind, condition, action, span: _ } = self;
        let kind = match kind {
            MergeKind::Matched => "WHEN MATCHED",
            MergeKind::NotMatchedByTarget => "WHEN NOT MATCHED BY TARGET",
            MergeKind::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
        };
        put!(out, kind, super::With("AND", condition), "THEN");
        match action {
            MergeAction::Update(set) => put!(out, "UPDATE SET", List(set)),
            MergeAction::Delete => put!(out, "DELETE"),
            MergeAction::Insert { columns, values } => {
                put!(out, "INSERT", Some_("", columns));
                match values {
                    Some(values) => put!(out, "VALUES", Parens(values)),
                    None => put!(out, "DEFAULT VALUES"),
                }
            }
        }
    }
}

impl Print for Truncate {
    fn print(&self, out: &mut String) {
        let Truncate { table, partitions } = self;
        put!(out, "TRUNCATE TABLE", table);
        for (index, (from, to)) in partitions.iter().enumerate() {
            put!(out, if index == 0 { "WITH ( PARTITIONS (" } else { "," }, from);
            put!(out, super::With("TO", to));
        }
        put!(out, when(!partitions.is_empty(), ") )"));
    }
}

impl Print for InsertBulk {
    fn print(&self, out: &mut String) {
        let InsertBulk { table, columns, options } = self;
        put!(out, "INSERT BULK", table, Some_("", columns), Some_("WITH", options));
    }
}

impl Print for BulkColumn {
    fn print(&self, out: &mut String) {
        let BulkColumn { name, data_type, collation, nullable } = self;
        put!(out, name, data_type, super::With("COLLATE", collation), nullability(nullable));
    }
}

impl Print for BulkInsert {
    fn print(&self, out: &mut String) {
        let BulkInsert { table, file, options } = self;
        put!(out, "BULK INSERT", table, "FROM", quote(file), Some_("WITH", options));
    }
}

impl Print for BulkOption {
    fn print(&self, out: &mut String) {
        match self {
            BulkOption::Word(word) => put!(out, word),
            BulkOption::Value(name, value) => put!(out, name, "=", value),
            BulkOption::Order(columns) => put!(out, "ORDER", Parens(columns)),
        }
    }
}

impl Print for ReadText {
    fn print(&self, out: &mut String) {
        let ReadText { column, pointer, offset, size, holdlock } = self;
        put!(out, "READTEXT", column, pointer, offset, size, when(*holdlock, "HOLDLOCK"));
    }
}
