//! What a cursor's query allows, and the statements that read its rows again.
//!
//! The query of a cursor that looks at its tables after OPEN, or changes them, returns hidden
//! columns behind its own:
//!
//! ```text
//! SELECT name, n FROM t WHERE n > 1 ORDER BY name
//!     SELECT name, n, [t].[id] AS [$hidden0], [t].[name] AS [$hidden1] FROM t ..       OPEN
//!     SELECT .. FROM t WHERE [t].[id] = @$cursor0                                      one row
//!     SELECT TOP (@$cursor) .. WHERE n > 1 AND ([t].[name] > @$cursor1 OR ..) ORDER BY the next
//! ```
//!
//! Conditions are written as text and parsed: they are short, and a reader sees what they say.

use std::fmt::Write as _;
use std::sync::Arc;

use tsql::ast::{
    self, Condition, ConditionKind, ExprKind, Ident, Literal, ObjectName, QueryBody, QuerySpec,
    Quoting, SelectItem, SelectItemKind, SelectStatement, Statement, StatementKind, TableHint,
    TableHintKind, TableHintWord, TableRef, TableRefKind,
};
use types::{DataType, Msg, Result};

use ::binder::Binder;
use ::binder::query::{Resolved, resolve_table};
use ::catalog::name::Name;
use ::catalog::{IndexDef, IndexKind, TableDef};
use ::session::cursor::{ColumnOrigin, CursorPlan, HiddenColumn, KeyTable};

/// Name of the variable that has the number of rows of a fetch.
pub const COUNT: &str = "@$cursor";

/// What a cursor's query allows.
pub struct Allowed {
    /// The query with its hidden columns.
    pub query: Statement,
    /// The hidden columns, in order.
    pub hidden: Vec<HiddenColumn>,
    /// The tables of FROM.
    pub tables: Vec<KeyTable>,
    /// Where the query's own columns come from; empty if one could not be followed.
    pub origins: Vec<ColumnOrigin>,
    /// Whether a row can be read again by its keys: FROM has nothing but tables, each with a key
    /// whose columns are NOT NULL.
    pub keyed: bool,
    /// Whether every table has a unique index.
    pub unique: bool,
    /// The order in which a dynamic cursor reads: hidden columns, and whether descending. Empty if
    /// no index has it.
    pub order: Vec<(usize, bool)>,
    /// Whether the query has ORDER BY.
    pub sorted: bool,
}

/// Which columns a cursor needs besides the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// No columns besides the keys.
    None,
    /// Those by which a change to a row is noticed.
    Values,
}

/// A table of FROM.
pub(crate) struct FromTable {
    pub(crate) called: ObjectName,
    pub(crate) name: ObjectName,
    pub(crate) definition: Arc<TableDef>,
    unlocked: bool,
}

/// Looks at a cursor's query. `None` if its rows are not rows of tables: GROUP BY, UNION and the
/// like, no FROM, no table in it.
pub fn allowed(query: &Statement, checks: Checks, binder: &mut Binder<'_>) -> Option<Allowed> {
    let mut query = query.clone();
    let StatementKind::Select(select) = &mut query.kind else { return None };
    let SelectStatement { with, query: expression, .. } = &mut **select;
    if expression.for_clause.is_some() {
        return None;
    }
    let is_limited = expression.offset.is_some();
    let QueryBody::Select(spec) = &mut expression.body else { return None };
    if spec.distinct || spec.group_by.is_some() || spec.having.is_some() || spec.into.is_some() {
        return None;
    }
    let mut found = Found { with: with.as_ref(), tables: Vec::new(), plain: true };
    spec.from.iter().for_each(|source| found.source(source, binder));
    let Found { tables: from, plain, .. } = found;
    if from.is_empty() {
        return None;
    }
    let origins = origins(&spec.items, &from, plain).unwrap_or_default();
    let mut hidden = Hidden::default();
    let tables: Vec<KeyTable> =
        from.iter().map(|table| key_table(table, checks, &mut hidden)).collect();
    let has_key = |table: &FromTable| {
        key_index(&table.definition).is_some_and(|index| not_null(&table.definition, index))
    };
    let keyed = plain && from.iter().all(has_key);
    let order = match from.as_slice() {
        [table] if keyed && spec.top.is_none() && !is_limited => {
            order_of(table, &expression.order_by, &spec.items, &mut hidden)
        }
        _ => Vec::new(),
    };
    let sorted = !expression.order_by.is_empty();
    for (place, (column, table)) in hidden.columns.iter().zip(&hidden.of).enumerate() {
        spec.items.push(hidden_item(&from[*table].called, &column.name, place, spec.span));
    }
    let unique = tables.iter().all(|table| table.unique);
    Some(Allowed { query, hidden: hidden.columns, tables, origins, keyed, unique, order, sorted })
}

/// The hidden columns, each with the index of its table.
#[derive(Default)]
struct Hidden {
    columns: Vec<HiddenColumn>,
    of: Vec<usize>,
    tables: usize,
}

impl Hidden {
    /// Returns the place of a table's column, which is added if it is not there.
    fn place(&mut self, table: usize, definition: &TableDef, ordinal: usize) -> usize {
        let column = &definition.columns[ordinal];
        let known = self.columns.iter().zip(&self.of);
        let known = known.into_iter().position(|(c, of)| *of == table && c.name == column.name);
        known.unwrap_or_else(|| {
            self.columns.push(HiddenColumn { name: column.name.clone(), ty: column.ty });
            self.of.push(table);
            self.columns.len() - 1
        })
    }
}

pub(crate) fn hidden_item(
    table: &ObjectName,
    column: &str,
    place: usize,
    span: ast::Span,
) -> SelectItem {
    let bracketed = |text: &str| Ident::new(text, Quoting::Brackets, span);
    let column = ast::ColumnRef { column: bracketed(column), table: Some(table.clone()) };
    let expr = ast::Expr { kind: ExprKind::Column(Box::new(column)), span };
    let alias = Some(bracketed(&format!("$hidden{place}")));
    SelectItem { kind: SelectItemKind::Expr { expr, alias }, span }
}

/// Collects the tables of FROM.
pub(crate) struct Found<'q> {
    pub(crate) with: Option<&'q ast::With>,
    pub(crate) tables: Vec<FromTable>,
    /// Whether FROM has nothing but tables.
    pub(crate) plain: bool,
}

impl Found<'_> {
    pub(crate) fn source(&mut self, source: &TableRef, binder: &mut Binder<'_>) {
        match &source.kind {
            TableRefKind::Table(table) => {
                let is_plain = table.system_time.is_none() && table.sample.is_none();
                let definition = if is_plain { self.definition(&table.name, binder) } else { None };
                let Some(definition) = definition else {
                    self.plain = false;
                    return;
                };
                let unlocked = table.hints.iter().any(|hint| {
                    let read_uncommitted = [TableHintWord::NoLock, TableHintWord::ReadUncommitted];
                    matches!(&hint.kind, TableHintKind::Word(word) if read_uncommitted.contains(word))
                });
                let called = match &table.alias {
                    Some(alias) => simple(alias, table.name.span),
                    None => table.name.clone(),
                };
                let name = table.name.clone();
                self.tables.push(FromTable { called, name, definition, unlocked });
            }
            TableRefKind::Joined { first, joins } => {
                self.source(first, binder);
                joins.iter().for_each(|join| self.source(&join.right, binder));
            }
            TableRefKind::Variable { .. }
            | TableRefKind::Function(_)
            | TableRefKind::Bulk(_)
            | TableRefKind::Method { .. }
            | TableRefKind::Derived { .. }
            | TableRefKind::Values { .. }
            | TableRefKind::Pivot(_)
            | TableRefKind::Unpivot(_)
            | TableRefKind::Dml { .. } => self.plain = false,
        }
    }

    /// Returns the table of a name; `None` for a view, a common table expression and `inserted`.
    fn definition(&self, name: &ObjectName, binder: &mut Binder<'_>) -> Option<Arc<TableDef>> {
        if let Some(simple) = name.as_simple() {
            let ctes = self.with.map(|with| with.ctes.as_slice()).unwrap_or_default();
            let is_cte = ctes.iter().any(|cte| Name::same(&cte.name, simple));
            let images = binder.table_variables;
            if is_cte || images.iter().any(|image| Name::same(&image.name, simple)) {
                return None;
            }
        }
        match resolve_table(binder, name).ok()? {
            Resolved::Table(table) => Some(table),
            Resolved::View(..) | Resolved::System(..) => None,
        }
    }
}

fn simple(object: &Ident, span: ast::Span) -> ObjectName {
    ObjectName { object: object.clone(), schema: None, database: None, server: None, span }
}

/// Returns the index whose columns identify rows: one without nullable columns if possible, and a
/// range index, which a dynamic cursor can follow.
pub(crate) fn key_index(table: &TableDef) -> Option<&IndexDef> {
    let keys = || table.indexes.iter().filter(|index| index.is_key());
    let best = |range: bool| {
        let mut keys = keys();
        keys.find(|i| not_null(table, i) && (i.kind == IndexKind::Range || !range))
    };
    best(true).or_else(|| best(false)).or_else(|| keys().next())
}

fn not_null(table: &TableDef, index: &IndexDef) -> bool {
    index.keys.iter().all(|(ordinal, _)| !table.columns[usize::from(*ordinal)].ty.nullable)
}

fn key_table(table: &FromTable, checks: Checks, hidden: &mut Hidden) -> KeyTable {
    let definition = &table.definition;
    let of = hidden.tables;
    hidden.tables += 1;
    let key = key_index(definition);
    let comparable = |ordinal: &usize| is_comparable(&definition.columns[*ordinal].ty.data_type);
    let all = || (0..definition.columns.len()).filter(comparable);
    let ordinals: Vec<usize> = match key {
        Some(index) => index.keys.iter().map(|(ordinal, _)| usize::from(*ordinal)).collect(),
        None => all().collect(),
    };
    let mut places = |ordinals: Vec<usize>| -> Vec<usize> {
        ordinals.into_iter().map(|ordinal| hidden.place(of, definition, ordinal)).collect()
    };
    let key_places = places(ordinals);
    let is_version = |column: &::catalog::ColumnDef| column.ty.data_type == DataType::RowVersion;
    let version = definition.columns.iter().position(is_version);
    let checked = match (checks, version) {
        (Checks::None, _) => Vec::new(),
        (Checks::Values, Some(version)) => vec![version],
        (Checks::Values, None) => {
            all().filter(|ordinal| definition.columns[*ordinal].computed.is_none()).collect()
        }
    };
    KeyTable {
        id: definition.id,
        database_id: definition.database_id,
        called: table.called.clone(),
        name: table.name.clone(),
        key: key_places,
        unique: key.is_some(),
        checks: places(checked),
        row_version: version.is_some(),
        unlocked: table.unlocked,
    }
}

fn is_comparable(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Text | DataType::NText | DataType::Image | DataType::Xml)
}

/// Follows the columns of a select list to their tables. `None` if a `*` covers a source that is
/// not a table.
pub(crate) fn origins(
    items: &[SelectItem],
    from: &[FromTable],
    plain: bool,
) -> Option<Vec<ColumnOrigin>> {
    let expression = || ColumnOrigin { table: 0, name: String::new(), column_id: -1, key: false };
    let origin = |table: usize, ordinal: usize| {
        let definition = &from[table].definition;
        let is_it = |(key, _): &(u16, bool)| usize::from(*key) == ordinal;
        let key = key_index(definition).is_some_and(|index| index.keys.iter().any(is_it));
        let column = &definition.columns[ordinal];
        ColumnOrigin {
            table: table + 1,
            name: column.name.clone(),
            column_id: i32::try_from(ordinal).unwrap_or(0) + 1,
            key,
        }
    };
    let all = |table: usize| {
        let columns = from[table].definition.columns.iter().enumerate();
        columns.filter(|(_, c)| !c.hidden).map(move |(ordinal, _)| ordinal)
    };
    let mut found = Vec::new();
    for item in items {
        match &item.kind {
            SelectItemKind::Expr { expr, .. } => {
                let place = match &expr.kind {
                    ExprKind::Column(column) => place_of(column, from),
                    _ => None,
                };
                found.push(place.map_or_else(expression, |(t, o)| origin(t, o)));
            }
            SelectItemKind::Star if plain => {
                (0..from.len()).for_each(|t| found.extend(all(t).map(|o| origin(t, o))));
            }
            SelectItemKind::QualifiedStar(name) => {
                let table = from.iter().position(|table| same_name(&table.called, name))?;
                found.extend(all(table).map(|o| origin(table, o)));
            }
            SelectItemKind::Star | SelectItemKind::Assign { .. } => return None,
        }
    }
    Some(found)
}

/// Finds the column of a reference: index of the table and ordinal in it.
fn place_of(column: &ast::ColumnRef, from: &[FromTable]) -> Option<(usize, usize)> {
    let ordinal = |table: &FromTable| {
        let mut columns = table.definition.columns.iter();
        columns.position(|c| Name::same(&c.name, &column.column))
    };
    let mut tables = from.iter().enumerate();
    tables.find_map(|(place, table)| match &column.table {
        Some(name) if !same_name(&table.called, name) => None,
        _ => ordinal(table).map(|ordinal| (place, ordinal)),
    })
}

/// Returns whether a reference names a source: by alias, or by a part of its name.
fn same_name(called: &ObjectName, name: &ObjectName) -> bool {
    let same = |a: &Option<Ident>, b: &Option<Ident>| match (a, b) {
        (Some(a), Some(b)) => Name::same(a, b),
        _ => true,
    };
    Name::same(&called.object, &name.object) && same(&called.schema, &name.schema)
}

/// Returns the order in which an index has the rows as ORDER BY asks; empty if no index does.
fn order_of(
    table: &FromTable,
    order_by: &[ast::OrderBy],
    items: &[SelectItem],
    hidden: &mut Hidden,
) -> Vec<(usize, bool)> {
    let definition = &*table.definition;
    let mut asked = Vec::with_capacity(order_by.len());
    for item in order_by {
        let Some(ordinal) = ordered_column(&item.expr, items, table) else { return Vec::new() };
        asked.push((u16::try_from(ordinal).unwrap_or(u16::MAX), item.descending));
    }
    let Some(key) = key_index(definition) else { return Vec::new() };
    let range = |index: &&IndexDef| index.kind == IndexKind::Range && index.filter.is_none();
    let candidates = std::iter::once(key).chain(definition.indexes.iter()).filter(range);
    let Some((index, backward)) = candidates.filter_map(|i| Some((i, runs(i, &asked)?))).next()
    else {
        return Vec::new();
    };
    let mut order: Vec<(u16, bool)> = index
        .keys
        .iter()
        .map(|(ordinal, descending)| (*ordinal, *descending != backward))
        .collect();
    if !(index.is_key() && not_null(definition, index)) {
        let rest = key.keys.iter().filter(|(k, _)| index.keys.iter().all(|(o, _)| o != k));
        order.extend(rest.map(|(ordinal, descending)| (*ordinal, *descending != backward)));
    }
    let place = |(ordinal, descending): (u16, bool)| {
        (hidden.place(0, definition, usize::from(ordinal)), descending)
    };
    order.into_iter().map(place).collect()
}

/// Returns whether an index has rows in this order when it is read backward; `None` if it does not
/// have it.
fn runs(index: &IndexDef, asked: &[(u16, bool)]) -> Option<bool> {
    if asked.len() > index.keys.len() {
        return None;
    }
    let pairs = || index.keys.iter().zip(asked);
    let same = |backward: bool| {
        pairs().all(|((key, down), (ordinal, wanted))| {
            key == ordinal && (*down != backward) == *wanted
        })
    };
    if same(false) { Some(false) } else { same(true).then_some(true) }
}

/// Returns the ordinal of the table's column that an item of ORDER BY is.
fn ordered_column(expr: &ast::Expr, items: &[SelectItem], table: &FromTable) -> Option<usize> {
    let of_item = |item: &SelectItem| match &item.kind {
        SelectItemKind::Expr { expr, .. } => match &expr.kind {
            ExprKind::Column(column) => place_of(column, std::slice::from_ref(table)),
            _ => None,
        },
        _ => None,
    };
    let place = match &expr.kind {
        ExprKind::Literal(Literal::Int(number)) => {
            let plain = |item: &SelectItem| matches!(item.kind, SelectItemKind::Expr { .. });
            let place = usize::try_from(*number).ok()?.checked_sub(1)?;
            items.iter().take(place + 1).all(plain).then(|| items.get(place))?.and_then(of_item)
        }
        ExprKind::Column(column) => {
            let aliased = items.iter().find(|item| match &item.kind {
                SelectItemKind::Expr { alias: Some(alias), .. } => {
                    column.table.is_none() && Name::same(alias, &column.column)
                }
                _ => false,
            });
            match aliased {
                Some(item) => of_item(item),
                None => place_of(column, std::slice::from_ref(table)),
            }
        }
        _ => None,
    };
    place.map(|(_, ordinal)| ordinal)
}

/// Makes the statements that read the rows of a keyed query again.
///
/// # Errors
/// An error of the parser, which would be ours.
pub fn statements(allowed: &Allowed) -> Result<Vec<(CursorPlan, Statement)>> {
    let mut made = vec![(CursorPlan::ByKey, by_key(allowed)?)];
    if allowed.order.is_empty() {
        return Ok(made);
    }
    let backward: Vec<(usize, bool)> =
        allowed.order.iter().map(|(place, descending)| (*place, !descending)).collect();
    for (plan, order, from) in [
        (CursorPlan::First, &allowed.order, false),
        (CursorPlan::After, &allowed.order, true),
        (CursorPlan::Last, &backward, false),
        (CursorPlan::Before, &backward, true),
    ] {
        made.push((plan, stretch(allowed, order, from)?));
    }
    Ok(made)
}

/// Returns the variable of a hidden column.
pub fn variable(place: usize) -> String {
    format!("{COUNT}{place}")
}

/// Asks for update locks on the rows of the tables.
pub fn lock_rows(statement: &mut Statement) {
    if let Some((spec, _)) = parts(statement) {
        spec.from.iter_mut().for_each(lock_source);
    }
}

fn lock_source(source: &mut TableRef) {
    match &mut source.kind {
        TableRefKind::Table(table) => {
            let kind = TableHintKind::Word(TableHintWord::UpdLock);
            table.hints.push(TableHint { kind, span: table.name.span });
        }
        TableRefKind::Joined { first, joins } => {
            lock_source(first);
            joins.iter_mut().for_each(|join| lock_source(&mut join.right));
        }
        _ => {}
    }
}

fn parts(statement: &mut Statement) -> Option<(&mut QuerySpec, &mut Vec<ast::OrderBy>)> {
    let StatementKind::Select(select) = &mut statement.kind else { return None };
    let expression = &mut select.query;
    let QueryBody::Select(spec) = &mut expression.body else { return None };
    Some((spec, &mut expression.order_by))
}

/// Parses a SELECT that only one part is taken from.
fn parsed(text: &str) -> Result<Statement> {
    let batch = tsql::parse(text, tsql::QuotedIdentifier::On)?;
    batch.statements.into_iter().next().ok_or_else(|| Msg::InternalError.into())
}

fn condition(text: &str) -> Result<Condition> {
    let mut statement = parsed(&format!("SELECT 1 WHERE {text}"))?;
    let filter = parts(&mut statement).and_then(|(spec, _)| spec.filter.take());
    filter.ok_or_else(|| Msg::InternalError.into())
}

/// Returns the text of a column: `[t].[c]`.
fn column_text(allowed: &Allowed, table: &KeyTable, place: usize) -> String {
    format!("{}.{}", name_text(&table.called), bracketed(&allowed.hidden[place].name))
}

fn name_text(name: &ObjectName) -> String {
    let qualifiers = [&name.server, &name.database, &name.schema];
    let mut text = String::new();
    for part in qualifiers.into_iter().skip_while(|part| part.is_none()) {
        let part = part.as_deref().map(bracketed).unwrap_or_default();
        let _ = write!(text, "{part}.");
    }
    text + &bracketed(&name.object)
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn on_key(allowed: &Allowed, table: &KeyTable) -> String {
    let tests = table
        .key
        .iter()
        .map(|place| format!("{} = {}", column_text(allowed, table, *place), variable(*place)));
    tests.collect::<Vec<_>>().join(" AND ")
}

/// The statement that reads one row by its keys: the tables without their conditions, since a row
/// stays in a keyset whatever becomes of its values.
fn by_key(allowed: &Allowed) -> Result<Statement> {
    let mut statement = allowed.query.clone();
    let Some((spec, order_by)) = parts(&mut statement) else {
        return Err(Msg::InternalError.into());
    };
    order_by.clear();
    spec.top = None;
    if let [table] = allowed.tables.as_slice() {
        spec.filter = Some(condition(&on_key(allowed, table))?);
    } else {
        spec.filter = None;
        rejoin(spec, allowed)?;
    }
    if let StatementKind::Select(select) = &mut statement.kind {
        select.query.offset = None;
    }
    Ok(statement)
}

/// Replaces FROM by outer joins to one row, so that a table without a row gives NULLs, as it may
/// have done in the query.
fn rejoin(spec: &mut QuerySpec, allowed: &Allowed) -> Result<()> {
    let mut text = "SELECT 1 FROM (VALUES (1)) AS [$one]([$one])".to_owned();
    for table in &allowed.tables {
        let on = on_key(allowed, table);
        let _ = write!(text, " LEFT JOIN {} ON {on}", name_text(&table.called));
    }
    let mut sources = Vec::new();
    let from = std::mem::take(&mut spec.from);
    from.into_iter().for_each(|source| flatten(source, &mut sources));
    let mut frame = parsed(&text)?;
    let Some((made, _)) = parts(&mut frame) else { return Err(Msg::InternalError.into()) };
    for source in &mut made.from {
        if let TableRefKind::Joined { joins, .. } = &mut source.kind {
            joins.iter_mut().zip(sources.drain(..)).for_each(|(join, right)| join.right = right);
        }
    }
    spec.from = std::mem::take(&mut made.from);
    let stars = |item: SelectItem| match item.kind {
        SelectItemKind::Star => {
            let all = allowed.tables.iter().map(|table| SelectItem {
                kind: SelectItemKind::QualifiedStar(table.called.clone()),
                span: item.span,
            });
            all.collect::<Vec<_>>()
        }
        _ => vec![item],
    };
    spec.items = std::mem::take(&mut spec.items).into_iter().flat_map(stars).collect();
    Ok(())
}

fn flatten(source: TableRef, sources: &mut Vec<TableRef>) {
    match source.kind {
        TableRefKind::Joined { first, joins } => {
            flatten(*first, sources);
            joins.into_iter().for_each(|join| flatten(join.right, sources));
        }
        _ => sources.push(source),
    }
}

/// The statement that reads rows in an order, from its start or behind the row of the variables.
fn stretch(allowed: &Allowed, order: &[(usize, bool)], behind: bool) -> Result<Statement> {
    let mut statement = allowed.query.clone();
    let Some((spec, order_by)) = parts(&mut statement) else {
        return Err(Msg::InternalError.into());
    };
    let [table] = allowed.tables.as_slice() else { return Err(Msg::InternalError.into()) };
    let by = order.iter().map(|(place, descending)| {
        let direction = if *descending { " DESC" } else { "" };
        format!("{}{direction}", column_text(allowed, table, *place))
    });
    let by = by.collect::<Vec<_>>().join(", ");
    let mut frame = parsed(&format!("SELECT TOP ({COUNT}) 1 AS [$one] ORDER BY {by}"))?;
    if let Some((made, made_order)) = parts(&mut frame) {
        spec.top = made.top.take();
        *order_by = std::mem::take(made_order);
    }
    if behind {
        let condition = condition(&behind_text(allowed, table, order))?;
        spec.filter = Some(match spec.filter.take() {
            Some(own) => {
                Condition { span: own.span, kind: ConditionKind::And(vec![own, condition]) }
            }
            None => condition,
        });
    }
    Ok(statement)
}

/// Returns the condition of rows behind that of the variables. The first column has a test of its
/// own, by which an index is sought.
fn behind_text(allowed: &Allowed, table: &KeyTable, order: &[(usize, bool)]) -> String {
    let mut text = String::new();
    for (place, descending) in order.iter().rev() {
        let column = column_text(allowed, table, *place);
        let value = variable(*place);
        let nullable = allowed.hidden[*place].ty.nullable;
        let (strict, from) = match (descending, nullable) {
            (false, false) => (format!("{column} > {value}"), format!("{column} >= {value}")),
            (true, false) => (format!("{column} < {value}"), format!("{column} <= {value}")),
            // NULL is the lowest value.
            (false, true) => (
                format!("({column} > {value} OR ({value} IS NULL AND {column} IS NOT NULL))"),
                format!("({column} >= {value} OR {value} IS NULL)"),
            ),
            (true, true) => (
                format!("({column} < {value} OR ({column} IS NULL AND {value} IS NOT NULL))"),
                format!("({column} <= {value} OR {column} IS NULL)"),
            ),
        };
        text = match text.is_empty() {
            true => strict,
            false => format!("({from} AND ({strict} OR ({text})))"),
        };
    }
    text
}
