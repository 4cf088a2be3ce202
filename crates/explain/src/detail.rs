//! Details of single operators as plans show them: scans, groups, sorts, limits.

use std::fmt::Write as _;

use types::value::ColumnType;
use types::{Bytes, DataType, Value};

use crate::op::{Builder, Op, Part, inherit};
use crate::scalar::{Column, bracketed};
use crate::xml::attribute;
use ::catalog::{ColumnIndexDef, IndexKind, TableDef};
use ::executor::query;
use ::plan::expr::{Expr, ExprKind, Register};
use ::plan::query::{
    Access, Aggregate, AggregateCall, Limit, Node, Point, Query, Scan, Sort, SortKey, Spool,
    TableSource, ValuesScan, ViewScan, Window, WindowFunction,
};
use ::plan::statement::table_of;

/// The order in which a scan reads an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
    /// The order of the rows in memory, which is unspecified.
    None,
}

/// Most rows of a VALUES list that are written out.
const VALUES_SHOWN: usize = 100;

impl Builder<'_> {
    pub(crate) fn scan(&mut self, scan: &Scan) -> Op {
        let table = table_of(&scan.table);
        let [database, schema, name] = self.names.table(table);
        for (ordinal, register) in &scan.columns {
            let column = Column {
                database: database.clone(),
                schema: schema.clone(),
                table: name.clone(),
                name: table.columns[usize::from(*ordinal)].name.clone(),
            };
            self.names.define(*register, column);
        }
        let columns = query::column_index(scan);
        let mut op = match (&scan.access, clustered_of(table)) {
            (Access::Full, _) if columns.is_some() => self.column_index(scan, columns),
            (Access::Full, Some(index)) if matches!(scan.table, TableSource::Table(_)) => {
                self.index(scan, index, &[], Sought::Range([None, None]), Direction::None)
            }
            (Access::Full, _) => {
                let mut op = Op::new("Table Scan", "Table Scan", "TableScan");
                op.argue(&format!("OBJECT:({})", bracketed(&[&database, &schema, &name])));
                op.attributes = format!(" Ordered=\"0\" Storage=\"{}\"", storage(table));
                self.defined_columns(&mut op, scan);
                self.object(&mut op, table, None);
                op
            }
            (Access::Seek { index, key }, _) => {
                self.index(scan, *index, key, Sought::Range([None, None]), Direction::Forward)
            }
            (Access::Range { index, prefix, lower, upper, backward }, _) => {
                let direction = if *backward { Direction::Backward } else { Direction::Forward };
                let bounds = Sought::Range([lower.as_ref(), upper.as_ref()]);
                self.index(scan, *index, prefix, bounds, direction)
            }
            (Access::Points { index, prefix, points }, _) => {
                self.index(scan, *index, prefix, Sought::Points(points), Direction::Forward)
            }
        };
        op.table_rows = Some(rows_of(table));
        op.output = scan.columns.iter().map(|c| self.names.of(c.1)).collect();
        if let Some(residual) = &scan.residual {
            self.predicate(&mut op, "WHERE", "Predicate", residual, Part::Before);
        }
        op.argument.push_str(op.tail);
        op
    }

    /// A scan of the nonclustered columnstore index, which has all columns that it needs.
    fn column_index(&mut self, scan: &Scan, index: Option<&ColumnIndexDef>) -> Op {
        let table = table_of(&scan.table);
        let [database, schema, name] = self.names.table(table);
        let index = index.map_or("", |index| index.name.as_str());
        let mut op = Op::new("Columnstore Index Scan", "Index Scan", "IndexScan");
        op.argue(&format!("OBJECT:({})", bracketed(&[&database, &schema, &name, index])));
        op.attributes =
            r#" Ordered="0" ForcedIndex="0" NoExpandHint="0" Storage="ColumnStore""#.to_owned();
        self.defined_columns(&mut op, scan);
        op.before.push_str("<Object");
        let names = [
            ("Database", database.as_str()),
            ("Schema", &schema),
            ("Table", &name),
            ("Index", index),
        ];
        for (key, value) in names.into_iter().filter(|(_, value)| !value.is_empty()) {
            attribute(key, &bracketed(&[value]), &mut op.before);
        }
        attribute("IndexKind", "NonClustered", &mut op.before);
        attribute("Storage", "ColumnStore", &mut op.before);
        op.before.push_str("/>");
        op
    }

    fn index(
        &mut self,
        scan: &Scan,
        index: u16,
        prefix: &[Expr],
        sought: Sought<'_>,
        direction: Direction,
    ) -> Op {
        let table = table_of(&scan.table);
        let definition = &table.indexes[usize::from(index)];
        let seeks = !prefix.is_empty() || sought.is_any();
        let physical = if seeks { "Index Seek" } else { "Index Scan" };
        let mut op = Op::new(physical, physical, "IndexScan");
        let [database, schema, name] = self.names.table(table);
        let object = bracketed(&[&database, &schema, &name, &definition.name]);
        op.argue(&format!("OBJECT:({object})"));
        let ordered = definition.kind == IndexKind::Range && direction != Direction::None;
        let scanned = if direction == Direction::Backward { "BACKWARD" } else { "FORWARD" };
        op.attributes = format!(
            " Ordered=\"{}\" ScanDirection=\"{scanned}\" ForcedIndex=\"0\" NoExpandHint=\"0\" Storage=\"{}\"",
            u8::from(ordered),
            storage(table)
        );
        self.defined_columns(&mut op, scan);
        self.object(&mut op, table, Some(usize::from(index)));
        let column = |place: usize| {
            let ordinal = definition.keys.get(place).map_or(0, |k| usize::from(k.0));
            let (database, schema) = (database.clone(), schema.clone());
            Column {
                database,
                schema,
                table: name.clone(),
                name: table.columns[ordinal].name.clone(),
            }
        };
        let keys: Vec<Column> =
            (0..=prefix.len().min(definition.keys.len() - 1)).map(column).collect();
        if seeks {
            let descends = definition.keys.get(prefix.len()).is_some_and(|key| key.1);
            op.before.push_str("<SeekPredicates>");
            let text = match sought {
                Sought::Range(bounds) => self.seek(&mut op, (&keys, descends), prefix, bounds),
                Sought::Points(points) => {
                    let each = points.iter().map(|point| self.point(&mut op, &keys, prefix, point));
                    each.collect::<Vec<_>>().join(" OR ")
                }
            };
            op.before.push_str("</SeekPredicates>");
            op.argue(&format!("SEEK:({text})"));
        }
        if ordered {
            op.tail = match direction {
                Direction::Backward => " ORDERED BACKWARD",
                Direction::Forward | Direction::None => " ORDERED FORWARD",
            };
        }
        op
    }

    fn seek(
        &mut self,
        op: &mut Op,
        (keys, descends): (&[Column], bool),
        prefix: &[Expr],
        bounds: [Option<&(Expr, bool)>; 2],
    ) -> String {
        let mut parts = Vec::new();
        op.before.push_str("<SeekPredicateNew><SeekKeys>");
        if !prefix.is_empty() {
            let pairs: Vec<(&Column, &Expr)> = keys.iter().zip(prefix).collect();
            for (column, expr) in &pairs {
                parts.push(format!("{}={}", column.text(), self.names.text(expr)));
            }
            self.range(op, "Prefix", "EQ", &pairs);
        }
        let mut signs = [(">", "GT", ">=", "GE"), ("<", "LT", "<=", "LE")];
        if descends {
            // The first rows have the greatest values.
            signs.reverse();
        }
        let elements = ["StartRange", "EndRange"].into_iter().zip(signs);
        for (bound, (element, (open, open_name, closed, closed_name))) in
            bounds.into_iter().zip(elements)
        {
            let (Some((expr, inclusive)), Some(column)) = (bound, keys.get(prefix.len())) else {
                continue;
            };
            let (sign, name) = if *inclusive { (closed, closed_name) } else { (open, open_name) };
            parts.push(format!("{} {sign} {}", column.text(), self.names.text(expr)));
            self.range(op, element, name, &[(column, expr)]);
        }
        op.before.push_str("</SeekKeys></SeekPredicateNew>");
        parts.join(" AND ")
    }

    /// Writes one of several seeks; returns its text.
    fn point(&mut self, op: &mut Op, keys: &[Column], prefix: &[Expr], point: &Point) -> String {
        match point {
            Point::Equal(expr) => {
                let all: Vec<Expr> = prefix.iter().chain([expr]).cloned().collect();
                self.seek(op, (keys, false), &all, [None, None])
            }
            Point::Null => {
                let ty = ColumnType::nullable(DataType::Int);
                let null = Expr { kind: ExprKind::Constant(Value::Null), ty };
                let all: Vec<Expr> = prefix.iter().cloned().chain([null]).collect();
                self.seek(op, (keys, false), &all, [None, None])
            }
            Point::Starts(start) => {
                let (from, to) = ((start.clone(), true), (above(start), false));
                self.seek(op, (keys, false), prefix, [Some(&from), Some(&to)])
            }
        }
    }

    fn range(&mut self, op: &mut Op, element: &str, scan_type: &str, pairs: &[(&Column, &Expr)]) {
        let _ = write!(op.before, "<{element} ScanType=\"{scan_type}\"><RangeColumns>");
        pairs.iter().for_each(|(column, _)| column.xml(&mut op.before));
        op.before.push_str("</RangeColumns><RangeExpressions>");
        pairs.iter().for_each(|(_, expr)| self.scalar(op, expr, Part::Before));
        let _ = write!(op.before, "</RangeExpressions></{element}>");
    }

    fn defined_columns(&mut self, op: &mut Op, scan: &Scan) {
        let columns: Vec<Column> = scan.columns.iter().map(|c| self.names.of(c.1)).collect();
        op.defined = columns.iter().map(Column::text).collect::<Vec<_>>().join(", ");
        op.before.push_str("<DefinedValues>");
        for column in &columns {
            op.before.push_str("<DefinedValue>");
            column.xml(&mut op.before);
            op.before.push_str("</DefinedValue>");
        }
        op.before.push_str("</DefinedValues>");
    }

    /// Writes the `Object` of a table or of one of its indexes.
    pub(crate) fn object(&self, op: &mut Op, table: &TableDef, index: Option<usize>) {
        let [database, schema, name] = self.names.table(table);
        op.before.push_str("<Object");
        for (key, value) in [("Database", &database), ("Schema", &schema), ("Table", &name)] {
            if !value.is_empty() {
                attribute(key, &bracketed(&[value]), &mut op.before);
            }
        }
        let kind = match index.map(|i| &table.indexes[i]) {
            None => "Heap",
            Some(index) => {
                attribute("Index", &bracketed(&[&index.name]), &mut op.before);
                match index.kind {
                    IndexKind::Hash => "NonClusteredHash",
                    IndexKind::Range if index.clustered => "Clustered",
                    IndexKind::Range => "NonClustered",
                }
            }
        };
        attribute("IndexKind", kind, &mut op.before);
        attribute("Storage", storage(table), &mut op.before);
        op.before.push_str("/>");
    }

    pub(crate) fn view(&mut self, view: &ViewScan) -> Op {
        let columns = view.view.columns();
        for (ordinal, register) in &view.columns {
            let column = Column {
                database: view.database.clone(),
                schema: view.view.schema().to_owned(),
                table: view.view.name().to_owned(),
                name: columns[usize::from(*ordinal)].0.to_owned(),
            };
            self.names.define(*register, column);
        }
        let registers: Vec<Register> = view.columns.iter().map(|c| c.1).collect();
        let name = bracketed(&[view.view.schema(), view.view.name()]);
        self.function(&name, &view.arguments, &registers)
    }

    pub(crate) fn function(
        &mut self,
        name: &str,
        arguments: &[Expr],
        registers: &[Register],
    ) -> Op {
        let kind = "Table-valued function";
        let mut op = Op::new(kind, kind, "TableValuedFunction");
        op.argue(&format!("OBJECT:({name})"));
        op.output = self.columns(registers);
        op.before.push_str("<DefinedValues/><Object");
        attribute("Table", name, &mut op.before);
        op.before.push_str("/>");
        if !arguments.is_empty() {
            let list: Vec<&Expr> = arguments.iter().collect();
            let text = self.list(&list);
            op.argue(&format!("PARAMETERS:({text})"));
            op.before.push_str("<ParameterList>");
            arguments.iter().for_each(|e| self.scalar(&mut op, e, Part::Before));
            op.before.push_str("</ParameterList>");
        }
        op
    }

    pub(crate) fn values(&mut self, values: &ValuesScan) -> Op {
        for register in &values.registers {
            let column = self.names.fresh("Union");
            self.names.define(*register, column);
        }
        let mut op = Op::new("Constant Scan", "Constant Scan", "ConstantScan");
        op.output = self.columns(&values.registers);
        op.before.push_str("<Values>");
        let mut rows = Vec::new();
        for row in values.rows.iter().take(VALUES_SHOWN) {
            rows.push(format!("({})", self.list(&row.iter().collect::<Vec<_>>())));
            op.before.push_str("<Row>");
            row.iter().for_each(|e| self.scalar(&mut op, e, Part::Before));
            op.before.push_str("</Row>");
        }
        op.before.push_str("</Values>");
        op.argue(&format!("VALUES:({})", rows.join(",")));
        op
    }

    pub(crate) fn aggregate(&mut self, aggregate: &Aggregate, executions: f64) -> Op {
        let input = self.node(&aggregate.input, executions);
        let is_scalar = aggregate.keys.is_empty();
        let mut op = if is_scalar {
            Op::new("Stream Aggregate", "Aggregate", "StreamAggregate")
        } else {
            Op::new("Hash Match", "Aggregate", "Hash")
        };
        let keys: Vec<&Expr> = aggregate.keys.iter().map(|k| &k.0).collect();
        let columns: Vec<Column> = keys.iter().map(|key| self.key_column(key)).collect();
        if !is_scalar {
            op.argue(&format!("HASH:({})", self.list(&keys)));
        }
        op.before.push_str("<DefinedValues>");
        let mut defined = Vec::new();
        for call in &aggregate.aggregates {
            let column = self.names.of(call.register);
            op.before.push_str("<DefinedValue>");
            column.xml(&mut op.before);
            let text = self.aggregate_call(&mut op, call);
            op.before.push_str("</DefinedValue>");
            defined.push(format!("{}={text}", column.text()));
            op.output.push(column);
        }
        op.before.push_str("</DefinedValues>");
        if !is_scalar {
            self.key_columns(&mut op, "HashKeysBuild", &keys);
        }
        op.defined = defined.join(", ");
        if !defined.is_empty() {
            let text = format!("DEFINE:({})", op.defined);
            op.argue(&text);
        }
        for ((_, register), column) in aggregate.keys.iter().zip(columns) {
            self.names.define(*register, column.clone());
            op.output.push(column);
        }
        op.inputs.push(input);
        op
    }

    fn aggregate_call(&mut self, op: &mut Op, call: &AggregateCall) -> String {
        let list = self.list(&call.arguments.iter().collect::<Vec<_>>());
        let (shown, name) = match (call.function.name, call.arguments.is_empty()) {
            (_, true) => ("Count(*)".to_owned(), "countstar"),
            (name, false) => {
                let distinct = if call.distinct { "DISTINCT " } else { "" };
                (format!("{name}({distinct}{list})"), name)
            }
        };
        op.before.push_str("<ScalarOperator");
        attribute("ScalarString", &shown, &mut op.before);
        let _ = write!(op.before, "><Aggregate Distinct=\"{}\"", u8::from(call.distinct));
        attribute("AggType", name, &mut op.before);
        op.before.push('>');
        call.arguments.iter().for_each(|e| self.scalar(op, e, Part::Before));
        op.before.push_str("</Aggregate></ScalarOperator>");
        shown
    }

    pub(crate) fn window(&mut self, window: &Window, executions: f64) -> Op {
        let input = self.node(&window.input, executions);
        if window.streams {
            return self.numbers(window, input);
        }
        let mut op = Op::new("Window Aggregate", "Window Aggregate", "WindowAggregate");
        op.output = input.output.clone();
        op.inputs.push(input);
        let mut defined = Vec::new();
        op.before.push_str("<DefinedValues>");
        for call in &window.calls {
            let column = self.names.of(call.register);
            let name = match call.function {
                WindowFunction::Aggregate(function) => function.name.to_owned(),
                other => format!("{other:?}"),
            };
            let arguments = self.list(&call.arguments.iter().collect::<Vec<_>>());
            let partition = self.list(&call.partition.iter().collect::<Vec<_>>());
            let order = self.order(&call.order);
            let mut over = Vec::new();
            if !partition.is_empty() {
                over.push(format!("PARTITION BY:({partition})"));
            }
            if !order.is_empty() {
                over.push(format!("ORDER BY:({order})"));
            }
            defined.push(format!("{}={name}({arguments}) OVER({})", column.text(), over.join(" ")));
            op.before.push_str("<DefinedValue>");
            column.xml(&mut op.before);
            op.before.push_str("</DefinedValue>");
            op.output.push(column);
        }
        op.before.push_str("</DefinedValues>");
        op.defined = defined.join(", ");
        let text = format!("DEFINE:({})", op.defined);
        op.argue(&text);
        op
    }

    /// An index spool: a table that is read once, then looked up by key.
    pub(crate) fn spool(&mut self, spool: &Spool) -> Op {
        let input = self.node(&spool.input, 1.0);
        let mut op = Op::new("Index Spool", "Eager Spool", "Spool");
        op.output = input.output.clone();
        op.inputs.push(input);
        let texts: Vec<String> = spool
            .keys
            .iter()
            .map(|(outer, own)| format!("{}={}", self.names.text(own), self.names.text(outer)))
            .collect();
        op.argue(&format!("SEEK:({})", texts.join(" AND ")));
        if let Some(rest) = &spool.rest {
            let text = self.names.text(rest);
            op.argue(&format!("WHERE:({text})"));
        }
        op
    }

    /// Numbers rows that are sorted already: Segment marks the start of a partition, Sequence
    /// Project counts.
    fn numbers(&mut self, window: &Window, input: Op) -> Op {
        let mut segment = Op::new("Segment", "Segment", "Segment");
        segment.output = input.output.clone();
        inherit(&mut segment, &input);
        segment.before.push_str("<GroupBy>");
        for expr in window.calls.iter().flat_map(|call| &call.partition) {
            self.key_column(expr).xml(&mut segment.before);
        }
        segment.before.push_str("</GroupBy>");
        segment.inputs.push(input);
        let mut op = Op::new("Sequence Project", "Compute Scalar", "SequenceProject");
        op.output = segment.output.clone();
        op.inputs.push(segment);
        let mut defined = Vec::new();
        op.before.push_str("<DefinedValues>");
        for call in &window.calls {
            let column = self.names.of(call.register);
            let name = match call.function {
                WindowFunction::Rank => "rank",
                WindowFunction::DenseRank => "dense_rank",
                _ => "row_number",
            };
            defined.push(format!("{}={name}", column.text()));
            op.before.push_str("<DefinedValue>");
            column.xml(&mut op.before);
            op.before.push_str("</DefinedValue>");
            op.output.push(column);
        }
        op.before.push_str("</DefinedValues>");
        op.defined = defined.join(", ");
        let text = format!("DEFINE:({})", op.defined);
        op.argue(&text);
        op
    }

    pub(crate) fn sort(&mut self, sort: &Sort, executions: f64) -> Op {
        let input = self.node(&sort.input, executions);
        let mut op = match &sort.limit {
            None => Op::new("Sort", "Sort", "Sort"),
            Some(limit) => {
                let mut op = Op::new("Sort", "TopN Sort", "TopSort");
                let rows = match &limit.kind {
                    ExprKind::Constant(types::Value::BigInt(n)) => n.to_string(),
                    _ => "0".to_owned(),
                };
                let _ = write!(op.attributes, " Rows=\"{rows}\"");
                let text = self.names.text(limit);
                op.argue(&format!("TOP {}", text.trim_matches(['(', ')'])));
                op
            }
        };
        op.attributes.push_str(" Distinct=\"0\"");
        let order = self.order(&sort.keys);
        op.argue(&format!("ORDER BY:({order})"));
        op.before.push_str("<OrderBy>");
        for key in &sort.keys {
            let _ =
                write!(op.before, "<OrderByColumn Ascending=\"{}\">", u8::from(!key.descending));
            self.key_column(&key.expr).xml(&mut op.before);
            op.before.push_str("</OrderByColumn>");
        }
        op.before.push_str("</OrderBy>");
        op.output = input.output.clone();
        op.inputs.push(input);
        op
    }

    pub(crate) fn distinct(&mut self, input: &Node, keys: &[Expr], executions: f64) -> Op {
        let input = self.node(input, executions);
        let mut op = Op::new("Hash Match", "Flow Distinct", "Hash");
        let keys: Vec<&Expr> = keys.iter().collect();
        op.argue(&format!("HASH:({})", self.list(&keys)));
        self.key_columns(&mut op, "HashKeysBuild", &keys);
        op.output = input.output.clone();
        op.inputs.push(input);
        op
    }

    pub(crate) fn limit(&mut self, limit: &Limit, executions: f64) -> Op {
        let input = self.node(&limit.input, executions);
        let mut op = Op::new("Top", "Top", "Top");
        op.attributes = format!(
            " RowCount=\"0\" IsPercent=\"{}\" WithTies=\"{}\"",
            u8::from(limit.percent),
            u8::from(limit.ties.is_some())
        );
        if let Some(offset) = &limit.offset {
            self.predicate(&mut op, "OFFSET EXPRESSION", "OffsetExpression", offset, Part::Before);
        }
        if let Some(count) = &limit.count {
            self.predicate(&mut op, "TOP EXPRESSION", "TopExpression", count, Part::Before);
        }
        if limit.percent {
            op.argument.push_str(" PERCENT");
        }
        if limit.ties.is_some() {
            op.argument.push_str(" WITH TIES");
        }
        op.output = input.output.clone();
        op.inputs.push(input);
        op
    }

    /// Adds an expression to an operator: `WORD:(text)` in its argument, and an XML element.
    pub(crate) fn predicate(
        &mut self,
        op: &mut Op,
        word: &str,
        element: &str,
        expr: &Expr,
        part: Part,
    ) {
        let text = self.names.text(expr);
        op.argue(&format!("{word}:({text})"));
        let side = |op: &mut Op, text: &str| match part {
            Part::Before => op.before.push_str(text),
            Part::After => op.after.push_str(text),
        };
        side(op, &format!("<{element}>"));
        self.scalar(op, expr, part);
        side(op, &format!("</{element}>"));
    }

    /// Writes an expression, and adds the operators of its subqueries.
    pub(crate) fn scalar(&mut self, op: &mut Op, expr: &Expr, part: Part) {
        for query in subqueries(expr) {
            let subplan = self.query(query, op.rows.max(1.0));
            op.subplans.push(subplan);
        }
        let out = match part {
            Part::Before => &mut op.before,
            Part::After => &mut op.after,
        };
        self.names.xml(expr, out);
    }

    /// Adds computed columns to an operator.
    pub(crate) fn define(&mut self, op: &mut Op, defined: &[(Column, &Expr)]) {
        let texts: Vec<String> = defined
            .iter()
            .map(|(column, expr)| format!("{}={}", column.text(), self.names.text(expr)))
            .collect();
        op.defined = texts.join(", ");
        let text = format!("DEFINE:({})", op.defined);
        op.argue(&text);
        op.before.push_str("<DefinedValues>");
        for (column, expr) in defined {
            op.before.push_str("<DefinedValue>");
            column.xml(&mut op.before);
            self.scalar(op, expr, Part::Before);
            op.before.push_str("</DefinedValue>");
        }
        op.before.push_str("</DefinedValues>");
    }

    /// Writes keys as columns, in an element of this name.
    pub(crate) fn key_columns(&mut self, op: &mut Op, element: &str, keys: &[&Expr]) {
        let _ = write!(op.before, "<{element}>");
        for key in keys {
            self.key_column(key).xml(&mut op.before);
        }
        let _ = write!(op.before, "</{element}>");
    }

    /// Returns the column of a key; for an expression, a column with its text as name.
    fn key_column(&mut self, key: &Expr) -> Column {
        match key.kind {
            ExprKind::Column(register) => self.names.of(register),
            _ => Column { name: self.names.text(key), ..Column::default() },
        }
    }

    /// Returns the texts of expressions, separated by commas.
    pub(crate) fn list(&mut self, exprs: &[&Expr]) -> String {
        exprs.iter().map(|e| self.names.text(e)).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn columns(&mut self, registers: &[Register]) -> Vec<Column> {
        registers.iter().map(|r| self.names.of(*r)).collect()
    }

    fn order(&mut self, keys: &[SortKey]) -> String {
        let word = |key: &SortKey| if key.descending { "DESC" } else { "ASC" };
        let texts = keys.iter().map(|k| format!("{} {}", self.names.text(&k.expr), word(k)));
        texts.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the number of rows in a table, as storage counts them.
#[expect(clippy::cast_precision_loss, reason = "a count for people")]
fn rows_of(table: &TableDef) -> f64 {
    table.rows.data.row_count() as f64
}

/// Returns the clustered index of an ordinary table; plans show a scan of the rows under its name.
pub(crate) fn clustered_of(table: &TableDef) -> Option<u16> {
    let place = table.indexes.iter().position(|i| i.clustered && i.kind == IndexKind::Range)?;
    u16::try_from(place).ok().filter(|_| !table.memory_optimized)
}

fn storage(table: &TableDef) -> &'static str {
    if table.memory_optimized { "MemoryOptimized" } else { "RowStore" }
}

/// Returns the subqueries of an expression, in the order of its XML, without those inside a
/// subquery.
fn subqueries(expr: &Expr) -> Vec<&Query> {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Variable(_)
        | ExprKind::Column(_)
        | ExprKind::NextValue(_) => Vec::new(),
        ExprKind::Negate(x)
        | ExprKind::BitNot(x)
        | ExprKind::Not(x)
        | ExprKind::IsNull(x)
        | ExprKind::Collate(x)
        | ExprKind::Once(_, x) => subqueries(x),
        ExprKind::Let(_, pair) => subqueries(&pair.1),
        ExprKind::Arithmetic(_, pair) | ExprKind::Compare(_, _, pair) => {
            [subqueries(&pair.0), subqueries(&pair.1)].concat()
        }
        ExprKind::And(list) | ExprKind::Or(list) | ExprKind::Call(_, list) => {
            list.iter().flat_map(subqueries).collect()
        }
        ExprKind::InList(_, x, list) => {
            std::iter::once(&**x).chain(list.iter()).flat_map(subqueries).collect()
        }
        ExprKind::Like(_, like) => [subqueries(&like.text), subqueries(&like.pattern)].concat(),
        ExprKind::Case(branches, otherwise) => branches
            .iter()
            .flat_map(|(condition, result)| [condition, result])
            .chain(otherwise.as_deref())
            .flat_map(subqueries)
            .collect(),
        ExprKind::Convert(conversion) => subqueries(&conversion.operand),
        ExprKind::CallUser(call) => call.arguments.iter().flat_map(subqueries).collect(),
        ExprKind::ScalarSubquery(query) | ExprKind::Exists(query) => vec![query],
        ExprKind::Quantified(q) => {
            let mut found = subqueries(&q.operand);
            found.push(&q.query);
            found
        }
    }
}

/// What a seek looks for behind the columns of its prefix.
#[derive(Clone, Copy)]
enum Sought<'p> {
    /// A range of the next column.
    Range([Option<&'p (Expr, bool)>; 2]),
    /// Several values of the next column.
    Points(&'p [Point]),
}

impl Sought<'_> {
    fn is_any(self) -> bool {
        match self {
            Self::Range(bounds) => bounds.iter().any(Option::is_some),
            Self::Points(_) => true,
        }
    }
}

/// Returns the text behind all that start like a constant of ASCII characters: the last character
/// becomes the next one.
fn above(start: &Expr) -> Expr {
    let next = |bytes: &[u8], unit: usize| {
        let mut bytes = bytes.to_vec();
        if let Some(at) = bytes.len().checked_sub(unit) {
            bytes[at] = bytes[at].saturating_add(1);
        }
        Bytes::from(bytes)
    };
    let value = match start.as_constant() {
        Some(Value::VarChar(bytes)) => Value::VarChar(next(bytes, 1)),
        Some(Value::NVarChar(bytes)) => Value::NVarChar(next(bytes, 2)),
        _ => Value::Null,
    };
    Expr { kind: ExprKind::Constant(value), ty: start.ty }
}
