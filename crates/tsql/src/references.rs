//! The objects that a module names: tables, views, functions, procedures, sequences and types, as
//! `sys.sql_expression_dependencies` lists them.
//!
//! Names of common table expressions, of aliases and of temporary tables are no references, nor are
//! `inserted` and `deleted` in a trigger. A text in EXECUTE ('..') is not looked into.

use crate::ast::{
    Call, Callee, ColumnRef, Condition, ConditionKind, CreateTrigger, Cte, DeclarationKind,
    Execute, Expr, ExprKind, FrameBound, FunctionBody, GroupingItem, Ident, Insert, InsertSource,
    MergeAction, Method, ObjectName, OrderBy, Output, Over, Parameter, ParameterType, QueryBody,
    QueryExpression, QuerySpec, RoutineBody, SelectItem, SelectItemKind, SetItem, SetItemKind,
    SetVariableValue, Statement, StatementKind, TableElement, TableRef, TableRefKind, Target,
    TargetKind, Top, TypeName, WaitFor, With,
};

/// How a module uses what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A table, view or synonym that is read.
    Read,
    /// A table or view whose rows are changed.
    Change,
    /// A procedure that is called.
    Call,
    /// A function that is called.
    Function,
    /// A sequence that NEXT VALUE FOR reads.
    Sequence,
    /// A type of a variable, a parameter, a column or a conversion.
    Type,
}

/// A name in a module, and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a> {
    /// The name as written.
    pub name: &'a ObjectName,
    /// How it is used.
    pub used: Use,
}

/// Returns the references of a statement in the order of the text; an object that is named twice is
/// there twice.
pub fn references(statement: &Statement) -> Vec<Reference<'_>> {
    let mut walk = Walk::default();
    walk.statement(statement);
    walk.found
}

/// Returns the references of the body of a procedure.
pub fn references_of_procedure(create: &crate::ast::CreateProcedure) -> Vec<Reference<'_>> {
    let mut walk = Walk::default();
    walk.parameters(&create.parameters);
    walk.body(&create.body);
    walk.found
}

/// Returns the columns that a value reads, such as that of a computed column.
pub fn columns_of_value(value: &Expr) -> Vec<&ColumnRef> {
    let mut walk = Walk::default();
    walk.expr(value);
    walk.columns
}

/// Returns the columns that a condition reads, such as that of a check constraint.
pub fn columns_of_condition(condition: &Condition) -> Vec<&ColumnRef> {
    let mut walk = Walk::default();
    walk.condition(condition);
    walk.columns
}

/// Returns the tables, views and common table expressions that a query reads, in its subqueries too.
pub fn tables_read(query: &QueryBody) -> Vec<&ObjectName> {
    let mut walk = Walk::default();
    walk.query_body(query);
    let read = walk.found.into_iter().filter(|reference| reference.used == Use::Read);
    read.map(|reference| reference.name).collect()
}

/// The state of a walk over a module.
#[derive(Default)]
struct Walk<'a> {
    found: Vec<Reference<'a>>,
    /// Names that stand for no object: common table expressions, aliases of targets, `inserted`.
    hidden: Vec<&'a str>,
    columns: Vec<&'a ColumnRef>,
}

impl<'a> Walk<'a> {
    fn note(&mut self, name: &'a ObjectName, used: Use) {
        let object = name.object.as_str();
        let is_hidden = name.is_simple() && self.hidden.iter().any(|h| name.object.is(h));
        if !is_hidden && !object.starts_with('#') {
            self.found.push(Reference { name, used });
        }
    }

    fn all(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Select(select) => self.with(select.with.as_ref(), |walk| {
                walk.query(&select.query);
            }),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => self.with(update.with.as_ref(), |walk| {
                walk.top(update.top.as_ref());
                walk.changed(&update.target, &update.from);
                walk.set(&update.set);
                walk.output(&update.output);
                walk.sources(&update.from);
                walk.filter(update.filter.as_ref());
            }),
            StatementKind::Delete(delete) => self.with(delete.with.as_ref(), |walk| {
                walk.top(delete.top.as_ref());
                walk.changed(&delete.target, &delete.from);
                walk.output(&delete.output);
                walk.sources(&delete.from);
                walk.filter(delete.filter.as_ref());
            }),
            StatementKind::Merge(merge) => self.with(merge.with.as_ref(), |walk| walk.merge(merge)),
            StatementKind::Truncate(truncate) => self.note(&truncate.table, Use::Change),
            StatementKind::BulkInsert(bulk) => self.note(&bulk.table, Use::Change),
            StatementKind::InsertBulk(bulk) => self.note(&bulk.table, Use::Change),
            StatementKind::Execute(execute) => self.execute(execute),
            StatementKind::ExecuteString(execute) => {
                execute.arguments.iter().for_each(|argument| self.expr(&argument.value));
            }
            StatementKind::DeclareCursor(cursor) => self.statement(&cursor.query),
            _ => self.control(statement),
        }
    }

    /// Walks variables, control of flow and modules; any other statement names nothing that is a
    /// dependency.
    fn control(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Declare(declarations) => {
                for declaration in declarations {
                    match &declaration.kind {
                        DeclarationKind::Scalar { data_type, value, .. } => {
                            self.data_type(data_type);
                            value.iter().for_each(|value| self.expr(value));
                        }
                        DeclarationKind::Table(elements) => self.elements(elements),
                        DeclarationKind::Cursor => {}
                    }
                }
            }
            StatementKind::SetVariable(set) => match &set.value {
                SetVariableValue::Expr(_, value) => self.expr(value),
                SetVariableValue::Cursor(cursor) => self.statement(&cursor.query),
                SetVariableValue::Method(_, arguments) => self.exprs(arguments),
            },
            StatementKind::Block(body) => self.all(body),
            StatementKind::AtomicBlock(block) => self.all(&block.body),
            StatementKind::If(branches) => {
                for branch in &branches.branches {
                    self.condition(&branch.condition);
                    self.statement(&branch.then);
                }
                branches.otherwise.iter().for_each(|otherwise| self.statement(otherwise));
            }
            StatementKind::While(repeated) => {
                self.condition(&repeated.condition);
                self.statement(&repeated.body);
            }
            StatementKind::TryCatch(attempt) => {
                self.all(&attempt.body);
                self.all(&attempt.catch);
            }
            StatementKind::Return(Some(value)) => self.expr(value),
            StatementKind::Print(value) => self.expr(value),
            StatementKind::WaitFor(WaitFor::Delay(value) | WaitFor::Time(value)) => {
                self.expr(value);
            }
            StatementKind::RaisError(raise) => {
                self.expr(&raise.message);
                self.exprs(&raise.arguments);
            }
            StatementKind::CreateTable(create) => self.elements(&create.elements),
            StatementKind::CreateView(view) => {
                self.with(view.with.as_ref(), |walk| walk.query(&view.query));
            }
            StatementKind::CreateProcedure(create) => {
                self.parameters(&create.parameters);
                self.body(&create.body);
            }
            StatementKind::CreateFunction(create) => {
                self.parameters(&create.parameters);
                self.function(&create.body);
            }
            StatementKind::CreateTrigger(create) => self.trigger(create),
            _ => {}
        }
    }

    fn trigger(&mut self, create: &'a CreateTrigger) {
        self.hidden.extend(["inserted", "deleted"]);
        self.body(&create.body);
    }

    fn body(&mut self, body: &'a RoutineBody) {
        match body {
            RoutineBody::Statements(statements) => self.all(statements),
            RoutineBody::External(_) => {}
        }
    }

    fn function(&mut self, body: &'a FunctionBody) {
        match body {
            FunctionBody::Scalar { returns, body } => {
                self.data_type(returns);
                self.statement(body);
            }
            FunctionBody::Inline { with, query } => {
                self.with(with.as_ref(), |walk| walk.query(query));
            }
            FunctionBody::Multi { elements, body, .. } => {
                self.elements(elements);
                self.statement(body);
            }
            FunctionBody::External { .. } => {}
        }
    }

    fn parameters(&mut self, parameters: &'a [Parameter]) {
        for parameter in parameters {
            if let ParameterType::Type(data_type) = &parameter.data_type {
                self.data_type(data_type);
            }
        }
    }

    /// Notes a type that may be a user's: one with a schema, or without arguments.
    fn data_type(&mut self, data_type: &'a TypeName) {
        self.note(&data_type.name, Use::Type);
    }

    fn elements(&mut self, elements: &'a [TableElement]) {
        for element in elements {
            if let TableElement::Column(column) = element {
                match &column.kind {
                    crate::ast::ColumnKind::Typed(data_type) => self.data_type(data_type),
                    crate::ast::ColumnKind::Computed { expr, .. } => self.expr(expr),
                    crate::ast::ColumnKind::ColumnSet => {}
                }
            }
        }
    }

    fn execute(&mut self, execute: &'a Execute) {
        if let Callee::Name(name) = &execute.procedure {
            self.note(name, Use::Call);
        }
        execute.arguments.iter().for_each(|argument| self.expr(&argument.value));
    }

    /// Walks a WITH clause and what it belongs to, where its names hide objects.
    fn with(&mut self, with: Option<&'a With>, inner: impl FnOnce(&mut Self)) {
        let before = self.hidden.len();
        for Cte { name, query, .. } in with.into_iter().flat_map(|with| &with.ctes) {
            self.hidden.push(name.as_str());
            self.query(query);
        }
        inner(self);
        self.hidden.truncate(before);
    }

    fn insert(&mut self, insert: &'a Insert) {
        self.with(insert.with.as_ref(), |walk| {
            walk.top(insert.top.as_ref());
            walk.target(&insert.target);
            walk.output(&insert.output);
            match &insert.source {
                InsertSource::Values(rows) => rows.iter().for_each(|row| walk.exprs(row)),
                InsertSource::Query(query) => walk.query(query),
                InsertSource::Execute(execute) => walk.execute(execute),
                InsertSource::ExecuteString(_) | InsertSource::DefaultValues => {}
            }
        });
    }

    fn merge(&mut self, merge: &'a crate::ast::Merge) {
        self.top(merge.top.as_ref());
        self.target(&merge.target);
        self.source(&merge.source);
        self.condition(&merge.on);
        for clause in &merge.clauses {
            self.filter(clause.condition.as_ref());
            match &clause.action {
                MergeAction::Update(set) => self.set(set),
                MergeAction::Delete => {}
                MergeAction::Insert { values, .. } => {
                    values.iter().for_each(|values| self.exprs(values));
                }
            }
        }
        self.output(&merge.output);
    }

    fn target(&mut self, target: &'a Target) {
        match &target.kind {
            TargetKind::Name(name) => self.note(name, Use::Change),
            TargetKind::Variable(_) => {}
            TargetKind::Function(call) => self.call(call),
        }
    }

    /// Notes the target of UPDATE and DELETE, which may be an alias of FROM.
    fn changed(&mut self, target: &'a Target, from: &'a [TableRef]) {
        let TargetKind::Name(name) = &target.kind else { return self.target(target) };
        let aliased = name.as_simple().and_then(|alias| aliased(alias, from));
        self.note(aliased.unwrap_or(name), Use::Change);
    }

    fn output(&mut self, output: &'a [Output]) {
        for clause in output {
            self.items(&clause.items);
            if let Some((target, _)) = &clause.into {
                self.target(target);
            }
        }
    }

    fn set(&mut self, items: &'a [SetItem]) {
        for item in items {
            match &item.kind {
                SetItemKind::Column { value, .. }
                | SetItemKind::Variable { value, .. }
                | SetItemKind::VariableAndColumn { value, .. } => self.expr(value),
                SetItemKind::Write { value, offset, length, .. } => {
                    [value, offset, length].into_iter().for_each(|value| self.expr(value));
                }
                SetItemKind::Mutate { arguments, .. } => self.exprs(arguments),
            }
        }
    }

    fn top(&mut self, top: Option<&'a Top>) {
        top.into_iter().for_each(|top| self.expr(&top.count));
    }

    fn filter(&mut self, filter: Option<&'a Condition>) {
        filter.into_iter().for_each(|filter| self.condition(filter));
    }

    fn query(&mut self, query: &'a QueryExpression) {
        self.query_body(&query.body);
        self.order_by(&query.order_by);
        if let Some(offset) = &query.offset {
            self.expr(&offset.offset);
            offset.fetch.iter().for_each(|fetch| self.expr(fetch));
        }
    }

    fn query_body(&mut self, body: &'a QueryBody) {
        match body {
            QueryBody::Select(spec) => self.spec(spec),
            QueryBody::Parenthesized(query) => self.query(query),
            QueryBody::SetOperation { first, rest } => {
                self.query_body(first);
                rest.iter().for_each(|(_, operand)| self.query_body(operand));
            }
        }
    }

    fn spec(&mut self, spec: &'a QuerySpec) {
        self.top(spec.top.as_ref());
        self.items(&spec.items);
        self.sources(&spec.from);
        self.filter(spec.filter.as_ref());
        spec.group_by.iter().for_each(|group| self.grouping(&group.items));
        self.filter(spec.having.as_ref());
        spec.windows.iter().for_each(|(_, over)| self.over(over));
    }

    fn grouping(&mut self, items: &'a [GroupingItem]) {
        for item in items {
            match item {
                GroupingItem::Expr(expr) => self.expr(expr),
                GroupingItem::Set(exprs) => self.exprs(exprs),
                GroupingItem::Rollup(items)
                | GroupingItem::Cube(items)
                | GroupingItem::GroupingSets(items) => self.grouping(items),
            }
        }
    }

    fn items(&mut self, items: &'a [SelectItem]) {
        for item in items {
            match &item.kind {
                SelectItemKind::Expr { expr, .. } => self.expr(expr),
                SelectItemKind::Assign { value, .. } => self.expr(value),
                SelectItemKind::Star | SelectItemKind::QualifiedStar(_) => {}
            }
        }
    }

    fn order_by(&mut self, order: &'a [OrderBy]) {
        order.iter().for_each(|item| self.expr(&item.expr));
    }

    fn sources(&mut self, sources: &'a [TableRef]) {
        sources.iter().for_each(|source| self.source(source));
    }

    fn source(&mut self, source: &'a TableRef) {
        match &source.kind {
            TableRefKind::Table(table) => self.note(&table.name, Use::Read),
            TableRefKind::Variable { .. } | TableRefKind::Bulk(_) => {}
            TableRefKind::Function(function) => self.call(&function.call),
            TableRefKind::Method { call, .. } => self.method(call),
            TableRefKind::Derived { query, .. } => self.query(query),
            TableRefKind::Values { rows, .. } => rows.iter().for_each(|row| self.exprs(row)),
            TableRefKind::Joined { first, joins } => {
                self.source(first);
                for join in joins {
                    self.source(&join.right);
                    self.filter(join.on.as_ref());
                }
            }
            TableRefKind::Pivot(pivot) => {
                self.source(&pivot.source);
                self.call(&pivot.aggregate);
            }
            TableRefKind::Unpivot(unpivot) => self.source(&unpivot.source),
            TableRefKind::Dml { statement, .. } => self.statement(statement),
        }
    }

    /// Walks a call. A function of a user is named with its schema; one without is built in.
    fn call(&mut self, call: &'a Call) {
        if !call.name.is_simple() {
            self.note(&call.name, Use::Function);
        }
        self.exprs(&call.arguments);
        self.order_by(&call.within_group);
        call.over.iter().for_each(|over| self.over(over));
    }

    fn method(&mut self, method: &'a Method) {
        self.expr(&method.target);
        self.exprs(&method.arguments);
    }

    fn over(&mut self, over: &'a Over) {
        self.exprs(&over.partition_by);
        self.order_by(&over.order_by);
        for bound in over.frame.iter().flat_map(|frame| [&frame.start, &frame.end]) {
            match bound {
                FrameBound::Preceding(count) | FrameBound::Following(count) => self.expr(count),
                FrameBound::UnboundedPreceding
                | FrameBound::CurrentRow
                | FrameBound::UnboundedFollowing => {}
            }
        }
    }

    fn exprs(&mut self, exprs: &'a [Expr]) {
        exprs.iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Column(column) => self.columns.push(column),
            ExprKind::Literal(_)
            | ExprKind::Variable(_)
            | ExprKind::Niladic(_)
            | ExprKind::Star
            | ExprKind::Default => {}
            ExprKind::Unary { operand, .. } | ExprKind::Collate { operand, .. } => {
                self.expr(operand);
            }
            ExprKind::Arithmetic { first, rest } => {
                self.expr(first);
                rest.iter().for_each(|(_, operand)| self.expr(operand));
            }
            ExprKind::SearchedCase { branches, otherwise } => {
                for (when, then) in branches {
                    self.condition(when);
                    self.expr(then);
                }
                otherwise.iter().for_each(|otherwise| self.expr(otherwise));
            }
            ExprKind::SimpleCase { input, branches, otherwise } => {
                self.expr(input);
                for (when, then) in branches {
                    self.expr(when);
                    self.expr(then);
                }
                otherwise.iter().for_each(|otherwise| self.expr(otherwise));
            }
            ExprKind::Iif(iif) => {
                self.condition(&iif.condition);
                self.expr(&iif.then);
                self.expr(&iif.otherwise);
            }
            ExprKind::Convert(convert) => {
                self.expr(&convert.operand);
                self.data_type(&convert.target);
                convert.style.iter().for_each(|style| self.expr(style));
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Method(method) => self.method(method),
            ExprKind::StaticMethod(method) => {
                method.arguments.iter().for_each(|arguments| self.exprs(arguments));
            }
            ExprKind::Subquery(query) => self.query(query),
            ExprKind::AtTimeZone { operand, zone } => {
                self.expr(operand);
                self.expr(zone);
            }
            ExprKind::NextValue { sequence, over } => {
                self.note(sequence, Use::Sequence);
                over.iter().for_each(|over| self.over(over));
            }
        }
    }

    fn condition(&mut self, condition: &'a Condition) {
        match &condition.kind {
            ConditionKind::And(operands) | ConditionKind::Or(operands) => {
                operands.iter().for_each(|operand| self.condition(operand));
            }
            ConditionKind::Not(operand) => self.condition(operand),
            ConditionKind::Compare { left, right, .. }
            | ConditionKind::IsDistinct { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ConditionKind::CompareQuantified { left, query, .. } => {
                self.expr(left);
                self.query(query);
            }
            ConditionKind::Between { operand, low, high, .. } => {
                [operand, low, high].into_iter().for_each(|value| self.expr(value));
            }
            ConditionKind::Like { operand, pattern, escape, .. } => {
                self.expr(operand);
                self.expr(pattern);
                escape.iter().for_each(|escape| self.expr(escape));
            }
            ConditionKind::InList { operand, list, .. } => {
                self.expr(operand);
                self.exprs(list);
            }
            ConditionKind::InQuery { operand, query, .. } => {
                self.expr(operand);
                self.query(query);
            }
            ConditionKind::IsNull { operand, .. } => self.expr(operand),
            ConditionKind::Exists(query) => self.query(query),
            ConditionKind::FullText(call) => self.call(call),
            ConditionKind::ColumnUpdated(_) | ConditionKind::CurrentOf(_) => {}
        }
    }
}

/// Returns the table that an alias refers to.
fn aliased<'a>(alias: &Ident, from: &'a [TableRef]) -> Option<&'a ObjectName> {
    from.iter().find_map(|source| match &source.kind {
        TableRefKind::Table(table) => {
            let is_it = table.alias.as_ref().is_some_and(|name| name.is(alias.as_str()));
            is_it.then_some(&table.name)
        }
        TableRefKind::Joined { first, joins } => aliased(alias, std::slice::from_ref(first))
            .or_else(|| {
                joins.iter().find_map(|join| aliased(alias, std::slice::from_ref(&join.right)))
            }),
        _ => None,
    })
}
