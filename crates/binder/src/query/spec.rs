//! Binds one SELECT, clause by clause in logical order.

use std::collections::HashSet;

use smol_str::SmolStr;
use tsql::ast::{self, Literal, QuerySpec, SelectItem, SelectItemKind};
use types::value::ColumnType;
use types::{DataType, Error, Mode, Msg, Result, Value};

use super::group::{self, Grouping};
use crate::expr::{
    apply_next_values, assign, bind_condition, bind_expr, compute_next_values, convert_to, operate,
    share_next_values,
};
use crate::expr::{check_not_null, find_variable, names_source};
use crate::names::NameLists;
use crate::{Binder, Clause, Level, Source};
use catalog::name::Name;
use catalog::options::Meaning;
use plan::expr::{Expr, ExprKind, Register, Slot};
use plan::query::{Aggregate, Limit, Node, OutputColumn, Query, Sort, SortKey, Window};
use plan::same::SameIndex;
use plan::sink::Traits;
use plan::walk;

/// One bound item of a select list.
pub struct Item {
    /// Name and value of the column.
    pub column: OutputColumn,
    /// The variable that it assigns, in `SELECT @v = ..`.
    pub assign: Option<Slot>,
}

impl Item {
    fn name(&self) -> &str {
        &self.column.name
    }
}

/// Maximum number of columns of a result: "Maximum capacity specifications for SQL Server".
const SELECT_ITEMS_MAX: usize = 4_096;

/// A bound SELECT before its output is used.
pub struct Parts {
    /// Operators that produce the rows.
    pub root: Node,
    /// Items of the select list.
    pub items: Vec<Item>,
}

/// Binds a SELECT that returns rows.
pub(crate) fn bind_select(
    binder: &mut Binder<'_>,
    spec: &QuerySpec,
    order_by: &[ast::OrderBy],
    offset: Option<&ast::Offset>,
) -> Result<Query> {
    if spec.into.is_some() {
        return Err(Msg::SyntaxNearKeyword("INTO").into());
    }
    let parts = bind_spec_parts(binder, spec, order_by, offset)?;
    if parts.items.iter().any(|i| i.assign.is_some()) {
        return Err(Msg::AssignAndRetrieve.into());
    }
    Ok(Query { root: parts.root, output: parts.items.into_iter().map(|i| i.column).collect() })
}

/// Binds a SELECT that returns rows, and returns the source of each bare column.
pub(crate) fn bind_owned(
    binder: &mut Binder<'_>,
    spec: &QuerySpec,
    order_by: &[ast::OrderBy],
    offset: Option<&ast::Offset>,
) -> Result<(Query, Vec<Option<String>>)> {
    if spec.into.is_some() {
        return Err(Msg::ForXmlNotAllowed("SELECT INTO").into());
    }
    binder.within(Level::default(), |binder| {
        let parts = bind_in_level(binder, spec, order_by, offset)?;
        if parts.items.iter().any(|i| i.assign.is_some()) {
            return Err(Msg::ForXmlNotAllowed("ASSIGNMENT").into());
        }
        let owner = |item: &Item| {
            let ExprKind::Column(register) = item.column.expr.kind else { return None };
            let owns = |s: &&crate::Source| s.columns.iter().any(|c| c.register == register);
            binder.level.sources.iter().find(owns).map(|s| s.alias.to_string())
        };
        let owners = parts.items.iter().map(owner).collect();
        let output = parts.items.into_iter().map(|i| i.column).collect();
        Ok((Query { root: parts.root, output }, owners))
    })
}

/// Binds a SELECT in a new level.
pub fn bind_spec_parts(
    binder: &mut Binder<'_>,
    spec: &QuerySpec,
    order_by: &[ast::OrderBy],
    offset: Option<&ast::Offset>,
) -> Result<Parts> {
    binder.within(Level::default(), |binder| bind_in_level(binder, spec, order_by, offset))
}

fn bind_in_level(
    binder: &mut Binder<'_>,
    spec: &QuerySpec,
    order_by: &[ast::OrderBy],
    offset: Option<&ast::Offset>,
) -> Result<Parts> {
    binder.level.named.clone_from(&spec.windows);
    binder.level.is_spec = true;
    let from = super::bind_from(binder, &spec.from)?;
    binder.level.clause = Clause::Plain;
    let filter = spec.filter.as_ref().map(|c| bind_condition(binder, c)).transpose()?;
    let mut root = match filter {
        Some(filter) => Node::Filter(Box::new((from, filter))),
        None => from,
    };
    let mut grouping = group::bind_group_by(binder, spec.group_by.as_ref())?;
    binder.level.clause = Clause::Output;
    let mut items = bind_items(binder, &spec.items)?;
    binder.level.clause = Clause::Having;
    let mut having = spec.having.as_ref().map(|c| bind_condition(binder, c)).transpose()?;
    binder.level.clause = Clause::Output;
    let mut order = bind_order(binder, spec, order_by, &mut items)?;
    root = apply_grouping(binder, root, &mut grouping, &mut items, &mut having, &mut order)?;
    root = apply_windows(binder, root);
    root = apply_next_values(binder, root);
    if binder.takes_values {
        let mut values: Vec<&mut Expr> = items.iter_mut().map(|i| &mut i.column.expr).collect();
        let shared = share_next_values(binder, &mut values);
        compute_next_values(&mut root, shared);
    }
    let computed = std::mem::take(&mut order.computed);
    if !computed.is_empty() {
        root = Node::Compute(Box::new((root, computed)));
    }
    if spec.distinct {
        let keys = items.iter().map(|i| i.column.expr.clone()).collect::<Vec<_>>();
        check_distinct(&keys)?;
        root = Node::Distinct(Box::new((root, keys)));
    }
    root = apply_order(binder, root, order.keys, spec.top.as_ref(), offset)?;
    Ok(Parts { root, items })
}

fn check_distinct(keys: &[Expr]) -> Result<()> {
    for key in keys {
        if matches!(
            key.ty.data_type,
            DataType::Text | DataType::NText | DataType::Image | DataType::Xml
        ) {
            return Err(Msg::NotDistinctable(key.ty.data_type.name()).into());
        }
    }
    Ok(())
}

fn bind_items(binder: &mut Binder<'_>, items: &[SelectItem]) -> Result<Vec<Item>> {
    let mut bound = Vec::with_capacity(items.len());
    for item in items {
        match &item.kind {
            SelectItemKind::Expr { expr, alias } => {
                let name = match (alias, &expr.kind) {
                    (Some(alias), _) => alias.as_str().into(),
                    (None, ast::ExprKind::Column(column)) => column.column.as_str().into(),
                    _ => SmolStr::default(),
                };
                let value = bind_expr(binder, expr)?;
                let traits = traits_of(binder, expr, &value);
                let column = OutputColumn { name, expr: value, traits };
                bound.push(Item { column, assign: None });
            }
            SelectItemKind::Star => expand_star(binder, None, &mut bound)?,
            SelectItemKind::QualifiedStar(name) => expand_star(binder, Some(name), &mut bound)?,
            SelectItemKind::Assign { variable, op, value } => {
                let (slot, ty) = find_variable(binder, &variable.name)
                    .ok_or(Msg::MustDeclareScalar(&variable.name))?;
                let value = bind_expr(binder, value)?;
                let target = Expr::new(ExprKind::Variable(slot), ty);
                let expr = compound(*op, target, value, binder.meaning)?;
                let expr = assign(expr, &ty, Mode::Implicit)?;
                let expr = check_not_null(expr, &variable.name, &ty)?;
                let column =
                    OutputColumn { name: SmolStr::default(), expr, traits: Traits::default() };
                bound.push(Item { column, assign: Some(slot) });
            }
        }
    }
    if bound.len() > SELECT_ITEMS_MAX {
        return Err(Msg::TooManySelectItems(4_096).into());
    }
    Ok(bound)
}

/// Binds `target op= value`: returns the value that is assigned.
pub fn compound(op: ast::AssignOp, target: Expr, value: Expr, meaning: Meaning) -> Result<Expr> {
    let op = match op {
        ast::AssignOp::Assign => return Ok(value),
        ast::AssignOp::Add => ast::ArithmeticOp::Add,
        ast::AssignOp::Subtract => ast::ArithmeticOp::Subtract,
        ast::AssignOp::Multiply => ast::ArithmeticOp::Multiply,
        ast::AssignOp::Divide => ast::ArithmeticOp::Divide,
        ast::AssignOp::Modulo => ast::ArithmeticOp::Modulo,
        ast::AssignOp::BitAnd => ast::ArithmeticOp::BitAnd,
        ast::AssignOp::BitXor => ast::ArithmeticOp::BitXor,
        ast::AssignOp::BitOr => ast::ArithmeticOp::BitOr,
        ast::AssignOp::Concatenate => ast::ArithmeticOp::Concatenate,
    };
    operate(op, target, value, meaning)
}

/// Returns the properties of a result column besides its type. A bare column has those of its
/// table; an expression is `numeric` if it is a number literal or converted to `numeric` by that
/// name, or is computed from one.
pub fn traits_of(binder: &Binder<'_>, written: &ast::Expr, bound: &Expr) -> Traits {
    if let ExprKind::Column(register) = bound.kind {
        let mut columns = binder.level.sources.iter().flat_map(|s| &s.columns);
        if let Some(column) = columns.find(|c| c.register == register) {
            // A hidden column that is named explicitly is shown.
            return Traits { hidden: false, ..column.traits };
        }
    }
    if bound.is_null_literal() {
        return Traits::of_null();
    }
    let is_decimal = matches!(bound.ty.data_type, DataType::Decimal { .. });
    Traits { numeric: is_decimal && is_numeric(binder, written), ..Traits::default() }
}

fn is_numeric(binder: &Binder<'_>, written: &ast::Expr) -> bool {
    use ast::ExprKind as E;
    match &written.kind {
        E::Literal(literal) => matches!(literal, Literal::Decimal(_)),
        E::Convert(conversion) => conversion.target.name.object.is("numeric"),
        E::SearchedCase { branches, otherwise } => {
            let results = branches.iter().map(|(_, result)| result);
            results.chain(otherwise.as_deref()).any(|e| is_numeric(binder, e))
        }
        E::SimpleCase { branches, otherwise, .. } => {
            let results = branches.iter().map(|(_, result)| result);
            results.chain(otherwise.as_deref()).any(|e| is_numeric(binder, e))
        }
        E::Iif(iif) => is_numeric(binder, &iif.then) || is_numeric(binder, &iif.otherwise),
        // "SCOPE_IDENTITY (Transact-SQL)" and related functions return numeric(38, 0).
        E::Call(call) => {
            ["SCOPE_IDENTITY", "IDENT_CURRENT", "IDENT_SEED", "IDENT_INCR"]
                .iter()
                .any(|name| call.name.object.is(name))
                || call.arguments.iter().any(|argument| is_numeric(binder, argument))
        }
        E::Variable(variable) => variable.name.eq_ignore_ascii_case("@@IDENTITY"),
        E::Unary { operand, .. } => is_numeric(binder, operand),
        E::Arithmetic { first, rest } => {
            is_numeric(binder, first) || rest.iter().any(|(_, e)| is_numeric(binder, e))
        }
        E::Column(column) => {
            let names = |source: &&Source| {
                column.table.as_ref().is_none_or(|table| names_source(table, source))
            };
            let sources = binder.level.sources.iter().filter(names);
            let mut columns = sources.flat_map(|s| &s.columns);
            columns.any(|c| c.traits.numeric && Name::same(&c.name, &column.column))
        }
        _ => false,
    }
}

fn expand_star(
    binder: &mut Binder<'_>,
    qualifier: Option<&ast::ObjectName>,
    bound: &mut Vec<Item>,
) -> Result<()> {
    if binder.level.sources.is_empty() {
        return Err(Msg::MustSpecifyTable.into());
    }
    let (mut found, xml) = (false, &binder.xml);
    for source in &mut binder.level.sources {
        if qualifier.is_some_and(|q| !names_source(q, source)) {
            continue;
        }
        found = true;
        source.check_reads()?;
        for column in source.columns.iter_mut().filter(|column| !column.traits.hidden) {
            column.used = true;
            xml.check_star(column.register, &column.name)?;
            let expr = column.expr();
            let column = OutputColumn { name: column.name.clone(), expr, traits: column.traits };
            bound.push(Item { column, assign: None });
        }
    }
    match qualifier {
        Some(name) if !found => Err(Msg::ColumnPrefixMismatch(&name.to_string()).into()),
        _ => Ok(()),
    }
}

/// A bound ORDER BY: keys, and output columns that are computed before the sort.
struct Order {
    keys: Vec<SortKey>,
    computed: Vec<(Register, Expr)>,
}

fn bind_order(
    binder: &mut Binder<'_>,
    spec: &QuerySpec,
    order_by: &[ast::OrderBy],
    items: &mut [Item],
) -> Result<Order> {
    let mut order = Order { keys: Vec::with_capacity(order_by.len()), computed: Vec::new() };
    let index = match spec.distinct {
        true => SameIndex::of(items.iter().map(|item| &item.column.expr)),
        false => SameIndex::default(),
    };
    let names = NameLists::new(items.iter().map(Item::name), order_by.len());
    let mut named = HashSet::new();
    for (position, key) in (1_i64..).zip(order_by) {
        let expr = match output_of(&key.expr, items, &names, position)? {
            Some(place) => {
                let expr = &mut items[place].column.expr;
                if !spec.distinct
                    && !matches!(expr.kind, ExprKind::Column(_) | ExprKind::Constant(_))
                {
                    // Evaluated once per row, before the sort, since output and key are the same
                    // value.
                    let register = binder.new_register();
                    let ty = expr.ty;
                    let computed =
                        std::mem::replace(expr, Expr::new(ExprKind::Column(register), ty));
                    order.computed.push((register, computed));
                }
                expr.clone()
            }
            None => {
                let expr = bind_expr(binder, &key.expr)?;
                let at = |place: usize| &items[place].column.expr;
                if spec.distinct && index.find(&expr, at).is_none() {
                    return Err(Msg::OrderByNotInDistinct.into());
                }
                expr
            }
        };
        check_sortable(&expr)?;
        if let ast::ExprKind::Column(column) = &key.expr.kind
            && let ExprKind::Column(register) = expr.kind
            && order_by.len() > 1
            && !named.insert((register, Name::folded(&column.column)))
        {
            return Err(Msg::OrderByDuplicate.into());
        }
        order.keys.push(SortKey { expr, descending: key.descending });
    }
    Ok(order)
}

/// Refuses types that cannot be sorted.
pub(crate) fn check_sortable(expr: &Expr) -> Result<()> {
    match expr.ty.data_type {
        DataType::Text | DataType::NText | DataType::Image => Err(Msg::TextNotComparable.into()),
        DataType::Xml => Err(Msg::XmlNotComparable.into()),
        _ => Ok(()),
    }
}

/// Finds the output column of an ORDER BY item, by its position or name.
fn output_of(
    expr: &ast::Expr,
    items: &[Item],
    names: &NameLists,
    position: i64,
) -> Result<Option<usize>> {
    match &expr.kind {
        ast::ExprKind::Literal(Literal::Int(n)) => match usize::try_from(*n) {
            Ok(n) if (1..=items.len()).contains(&n) => Ok(Some(n - 1)),
            _ => Err(Msg::OrderByPosition(i64::from(*n)).into()),
        },
        ast::ExprKind::Literal(_) => Err(Msg::ConstantInOrderBy(position).into()),
        ast::ExprKind::Column(column) if column.table.is_none() => {
            let found = names.find(items.iter().map(Item::name), &column.column);
            let [place, others @ ..] = &*found else { return Ok(None) };
            let expr = |place: usize| &items[place].column.expr;
            if others.iter().any(|other| !walk::same(expr(*place), expr(*other))) {
                return Err(Msg::AmbiguousColumn(&column.column).into());
            }
            Ok(Some(*place))
        }
        _ => Ok(None),
    }
}

fn apply_grouping(
    binder: &mut Binder<'_>,
    input: Node,
    grouping: &mut Option<Grouping>,
    items: &mut [Item],
    having: &mut Option<Expr>,
    order: &mut Order,
) -> Result<Node> {
    if grouping.is_none() && binder.level.asks_grouping {
        return Err(Msg::GroupingWithoutGroupBy.into());
    }
    let aggregates = std::mem::take(&mut binder.level.aggregates);
    if grouping.is_none() && aggregates.is_empty() && having.is_none() {
        return Ok(input);
    }
    let mut windows = std::mem::take(&mut binder.level.windows);
    let scalar = grouping.is_none();
    let grouping = grouping.take().unwrap_or_default();
    let mask = binder.new_register();
    let scope = group::Scope::new(binder, &input, &grouping, &aggregates, mask);
    for item in items.iter_mut() {
        scope.apply(&mut item.column.expr, group::Place::SelectList)?;
    }
    for (_, expr) in &mut order.computed {
        scope.apply(expr, group::Place::SelectList)?;
    }
    for key in &mut order.keys {
        scope.apply(&mut key.expr, group::Place::OrderBy)?;
    }
    if let Some(having) = having.as_mut() {
        scope.apply(having, group::Place::Having)?;
    }
    for call in &mut windows {
        for expr in call.arguments.iter_mut().chain(&mut call.partition) {
            scope.apply(expr, group::Place::SelectList)?;
        }
        for key in &mut call.order {
            scope.apply(&mut key.expr, group::Place::SelectList)?;
        }
    }
    let grouping_id = scope.grouping_id();
    let Grouping { keys, sets, .. } = grouping;
    let node =
        Node::Aggregate(Box::new(Aggregate { input, keys, sets, scalar, aggregates, grouping_id }));
    binder.level.windows = windows;
    Ok(match having.take() {
        Some(having) => Node::Filter(Box::new((node, having))),
        None => node,
    })
}

fn apply_windows(binder: &mut Binder<'_>, input: Node) -> Node {
    let calls = std::mem::take(&mut binder.level.windows);
    if calls.is_empty() {
        return input;
    }
    let live = walk::live(&input);
    Node::Window(Box::new(Window { input, live, calls, streams: false }))
}

fn apply_order(
    binder: &mut Binder<'_>,
    input: Node,
    keys: Vec<SortKey>,
    top: Option<&ast::Top>,
    offset: Option<&ast::Offset>,
) -> Result<Node> {
    let top = top.map(|t| top_of(binder, t)).transpose()?;
    if top.is_some() && offset.is_some() {
        return Err(Msg::TopWithOffset.into());
    }
    let ties = match &top {
        Some(top) if top.ties && keys.is_empty() => return Err(Msg::TiesNeedOrderBy.into()),
        Some(top) if top.ties => Some(keys.clone()),
        _ => None,
    };
    let offset = match offset {
        Some(offset) => {
            let fetch = offset.fetch.as_ref();
            let skip = row_count(binder, &offset.offset, Count::Offset)?;
            Some((skip, fetch.map(|f| row_count(binder, f, Count::Fetch)).transpose()?))
        }
        None => None,
    };
    let root = if keys.is_empty() {
        input
    } else {
        let limit = match (&top, &offset) {
            (Some(top), None) if !top.percent && !top.ties => Some(top.count.clone()),
            _ => None,
        };
        sorted(input, keys, limit)
    };
    Ok(match (top, offset) {
        (Some(Top { count, percent, .. }), _) => Node::Limit(Box::new(Limit {
            input: root,
            offset: None,
            count: Some(count),
            percent,
            ties,
        })),
        (None, Some((skip, count))) => Node::Limit(Box::new(Limit {
            input: root,
            offset: Some(skip),
            count,
            percent: false,
            ties: None,
        })),
        (None, None) => root,
    })
}

/// Adds a sort above `input`, if there are keys.
pub(crate) fn sorted(input: Node, keys: Vec<SortKey>, limit: Option<Expr>) -> Node {
    if keys.is_empty() {
        return input;
    }
    let live = walk::live(&input);
    Node::Sort(Box::new(Sort { input, keys, limit, live }))
}

/// A bound TOP clause.
pub struct Top {
    /// Number of rows, or percentage.
    pub count: Expr,
    /// PERCENT: `count` is a percentage.
    pub percent: bool,
    /// WITH TIES: includes rows equal to the last.
    pub ties: bool,
}

/// Binds TOP; its argument cannot use columns.
pub fn top_of(binder: &mut Binder<'_>, top: &ast::Top) -> Result<Top> {
    let count = if top.percent {
        let expr = binder.without_sources(|binder| bind_expr(binder, &top.count))?;
        let ty = ColumnType { data_type: DataType::Float, ..expr.ty };
        convert_to(expr, &ty, Mode::Implicit)?
    } else {
        row_count(binder, &top.count, Count::Top)?
    };
    Ok(Top { count, percent: top.percent, ties: top.with_ties })
}

/// Which number of rows is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// The number of TOP, which may be 0.
    Top,
    /// The number of OFFSET, which may be 0.
    Offset,
    /// The number of FETCH, which is positive.
    Fetch,
}

/// Binds a row count of TOP, OFFSET or FETCH.
///
/// # Errors
/// 4115 for a column of FROM; 1060 and 10743 for a value that is no whole number; 127, 10742 and 10744 for
/// a constant that is too small.
pub(super) fn row_count(binder: &mut Binder<'_>, expr: &ast::Expr, of: Count) -> Result<Expr> {
    let expr = match binder.without_sources(|binder| bind_expr(binder, expr)) {
        Err(error) if error.number == 207 => return Err(column_of_from(binder, expr, error)),
        bound => bound?,
    };
    // A constant past the range of int is a decimal without digits behind the point.
    let is_whole = matches!(expr.ty.data_type, DataType::Decimal { scale: 0, .. });
    let is_big = is_whole && expr.as_constant().is_some();
    if !expr.ty.data_type.is_integer() && !is_big && !expr.is_null_literal() {
        return Err(match of {
            Count::Offset => Msg::OffsetMustBeInteger.into(),
            Count::Top | Count::Fetch => Msg::TopMustBeInteger.into(),
        });
    }
    if let Some(Value::Int(n)) = expr.as_constant() {
        match of {
            Count::Top | Count::Fetch if *n < 0 => return Err(Msg::TopNegative.into()),
            Count::Offset if *n < 0 => return Err(Msg::OffsetNegative.into()),
            Count::Fetch if *n == 0 => return Err(Msg::FetchPositive.into()),
            _ => {}
        }
    }
    let ty = ColumnType { data_type: DataType::BigInt, ..expr.ty };
    convert_to(expr, &ty, Mode::Implicit)
}

/// Returns error 4115 if `expr` names a column of FROM, else `unfound`.
fn column_of_from(binder: &mut Binder<'_>, expr: &ast::Expr, unfound: Error) -> Error {
    let Ok(bound) = bind_expr(binder, expr) else { return unfound };
    let read = walk::reads(&bound);
    let mut columns = binder.level.sources.iter().flat_map(|source| &source.columns);
    match columns.find(|column| read.contains(column.register)) {
        Some(column) => Msg::ColumnInTop(&column.name).into(),
        None => unfound,
    }
}
