//! FROM: tables, views, derived tables, table functions and joins, each a source of named columns.

use std::sync::Arc;

use smol_str::SmolStr;
use tsql::ast::{
    self, Ident, JoinKind as AstJoin, ObjectName, QueryExpression, TableAlias, TableHint,
    TableHintKind, TableHintWord, TableRef, TableRefKind, With,
};
use types::value::ColumnType;
use types::{Error, Msg, Result};

use super::hints::{check_readable, hinted, scan_hints, versions_of};
use super::order::require_no_order;
use super::{bind_query, bulk, check_option, cte, function, pivot, sample, temporal};
use crate::context::{check_local, require_entry};
use crate::dml::is_nested;
use crate::expr::{bind_condition, bind_expr, common_type, convert_to, set_clause};
use crate::hint::check_table_hints;
use crate::names::NameSet;
use crate::require::Guarded;
use crate::{Binder, Clause, Source, SourceColumn, ViewSource};
use catalog::name::Name;
use catalog::security::Owner;
use catalog::{DBO_SCHEMA, ModuleDef, ModuleSchema, Object, TableDef, Unqualified};
use optimizer::inner_join;
use plan::depth;
use plan::expr::{Expr, ExprKind, Register};
use plan::query::{
    Access, Join, JoinKind, JoinMethod, Node, OutputColumn, Path, Query, Scan, ScanHints,
    TableSource, ValuesScan, ViewScan,
};
use plan::sink::Traits;
use plan::view::SystemView;
use plan::walk::{self, Registers};

/// The state of error 5313 for a synonym of an object that is neither table nor view.
const WRONG_KIND: u8 = 224;

/// Stack for a join and a filter above it.
const LEVEL_BYTES: usize = 2 * depth::NODE_BYTES;

/// Binds the comma-separated sources of FROM.
pub fn bind_from(binder: &mut Binder<'_>, from: &[TableRef]) -> Result<Node> {
    if from.len() > 1 && from.iter().any(is_nested) {
        return Err(Msg::NestedInJoin.into());
    }
    let mut node = Node::OneRow;
    for (i, table) in from.iter().enumerate() {
        let next = bind_table_ref(binder, table, Lateral::No)?;
        if i > 0 {
            binder.grow(LEVEL_BYTES)?;
        }
        if i > depth::JOINS_MAX {
            return Err(Msg::NoPlan.into());
        }
        node = if i == 0 { next } else { inner_join(node, next) };
    }
    Ok(node)
}

/// Whether a source may read the columns of sources before it: the right side of APPLY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateral {
    /// It may: right side of APPLY.
    Yes,
    /// It may not: any other source.
    No,
}

/// Binds one source, and adds its columns to the innermost level.
pub fn bind_table_ref(binder: &mut Binder<'_>, table: &TableRef, lateral: Lateral) -> Result<Node> {
    binder.part(depth::NODE_BYTES, |binder| bind_source(binder, table, lateral))
}

fn bind_source(binder: &mut Binder<'_>, table: &TableRef, lateral: Lateral) -> Result<Node> {
    match &table.kind {
        TableRefKind::Table(source) => bind_table(binder, source),
        TableRefKind::Variable { variable, alias, hints } => {
            let (slot, definition) = binder
                .table_variable(&variable.name)
                .ok_or(Msg::MustDeclareTable(&variable.name))?;
            let alias = alias.as_deref().unwrap_or(&variable.name);
            let name = SourceName { alias, schema: None };
            let table = TableSource::Variable(slot, definition);
            add_table_source(binder, table, name, scan_hints(hints))
        }
        TableRefKind::Function(function) => function::bind(binder, function, lateral),
        TableRefKind::Bulk(source) => bulk::bind(binder, source),
        TableRefKind::Derived { query, alias } => {
            let alias = alias.as_ref().ok_or(Msg::SyntaxNear(")"))?;
            bind_derived(binder, query, alias, lateral)
        }
        TableRefKind::Values { rows, alias } => {
            let alias = alias.as_ref().ok_or(Msg::SyntaxNear(")"))?;
            bind_values(binder, rows, alias, lateral)
        }
        TableRefKind::Joined { first, joins } => {
            if is_nested(first) || joins.iter().any(|join| is_nested(&join.right)) {
                return Err(Msg::NestedInJoin.into());
            }
            if joins.len() > depth::JOINS_MAX {
                return Err(Msg::NoPlan.into());
            }
            let mut left = bind_table_ref(binder, first, lateral)?;
            for join in joins {
                binder.grow(LEVEL_BYTES)?;
                left = bind_join(binder, left, join, lateral)?;
            }
            Ok(left)
        }
        TableRefKind::Method { call, alias } => {
            function::bind_nodes_source(binder, call, alias.as_ref(), lateral)
        }
        TableRefKind::Pivot(pivot) => pivot::bind_pivot(binder, pivot),
        TableRefKind::Unpivot(unpivot) => pivot::bind_unpivot(binder, unpivot),
        TableRefKind::Dml { .. } => bind_nested_rows(binder),
    }
}

/// Adds the columns of a nested statement, whose rows come from outside this tree.
fn bind_nested_rows(binder: &mut Binder<'_>) -> Result<Node> {
    let rows = binder.nested.take().ok_or(Msg::NestedNotInsert)?;
    add_source(binder, SourceName { alias: &rows.alias, schema: None }, rows.columns, None)?;
    Ok(Node::OneRow)
}

fn bind_join(
    binder: &mut Binder<'_>,
    left: Node,
    join: &ast::Join,
    lateral: Lateral,
) -> Result<Node> {
    let applied = match join.kind {
        AstJoin::CrossApply | AstJoin::OuterApply => Lateral::Yes,
        AstJoin::Inner | AstJoin::Left | AstJoin::Right | AstJoin::Full | AstJoin::Cross => lateral,
    };
    let right = bind_table_ref(binder, &join.right, applied)?;
    let clause = set_clause(binder, Clause::On);
    let on = join.on.as_ref().map(|c| bind_condition(binder, c)).transpose();
    set_clause(binder, clause);
    let on = on?;
    let (kind, left, right) = match join.kind {
        AstJoin::Inner | AstJoin::Cross | AstJoin::CrossApply => (JoinKind::Inner, left, right),
        AstJoin::Left | AstJoin::OuterApply => (JoinKind::Left, left, right),
        AstJoin::Right => (JoinKind::Left, right, left),
        AstJoin::Full => (JoinKind::Full, left, right),
    };
    if kind != JoinKind::Inner {
        make_nullable(binder, &right);
    }
    if kind == JoinKind::Full {
        make_nullable(binder, &left);
    }
    let (left_live, right_live) = (walk::live(&left), walk::live(&right));
    let method = match kind {
        // Only a hash join finds right rows without a match.
        JoinKind::Full => JoinMethod::Hash(Vec::new()),
        _ => JoinMethod::Loop,
    };
    if let Some(hint) = join.hint {
        // A join hint also fixes the order of all joins.
        binder.hints.force_order = true;
        binder.hints.method = match hint {
            ast::JoinHint::Loop => Some(optimizer::Method::Loop),
            ast::JoinHint::Hash | ast::JoinHint::Merge => Some(optimizer::Method::Hash),
            ast::JoinHint::Remote => binder.hints.method,
        };
    }
    let any_order = false;
    let join = Join { kind, method, left, right, on, left_live, right_live, any_order };
    Ok(Node::Join(Box::new(join)))
}

/// Marks the columns of an outer join's optional side as nullable.
fn make_nullable(binder: &mut Binder<'_>, node: &Node) {
    let registers = walk::fills(node).0;
    for column in binder.level.sources.iter_mut().flat_map(|s| &mut s.columns) {
        if registers.contains(column.register) {
            column.ty.nullable = true;
        }
    }
}

fn bind_table(binder: &mut Binder<'_>, source: &ast::TableSource) -> Result<Node> {
    let mut node = match &source.system_time {
        Some(clause) => temporal::bind(binder, source, clause)?,
        None => bind_named_source(binder, &source.name, source.alias.as_deref(), &source.hints)?,
    };
    if let Some(clause) = &source.sample {
        let Node::Scan(scan) = &mut node else { return Err(Msg::SampleNotTable.into()) };
        if binder.level.last().table.is_none() {
            return Err(Msg::SampleNotTable.into());
        }
        scan.hints.sample = Some(sample::bind(binder, clause, &source.name.object)?);
    }
    Ok(node)
}

/// Binds a table, view or CTE by its name.
pub fn bind_named_source(
    binder: &mut Binder<'_>,
    table: &ObjectName,
    alias: Option<&str>,
    hints: &[TableHint],
) -> Result<Node> {
    if let Some(name) = table.as_simple()
        && let Some(node) = cte::bind_reference(binder, name, alias)?
    {
        return Ok(node);
    }
    let name = SourceName { alias: alias.unwrap_or(&table.object), schema: None };
    // `inserted` and `deleted` of a trigger.
    if let Some(simple) = table.as_simple()
        && let Some((slot, definition)) = binder.table_variable(simple)
    {
        let table = TableSource::Variable(slot, definition);
        return add_table_source(binder, table, name, scan_hints(hints));
    }
    let resolved = resolve_table(binder, table)?;
    crate::require::require_named(binder, table, &resolved, "SELECT")?;
    let guarded = binder.rights.and_then(|_| Guarded::of(binder, table, &resolved));
    let node = bind_resolved(binder, resolved, name, alias.is_none(), hints)?;
    if let Some(guarded) = &guarded {
        guard_last(binder, guarded);
    }
    Ok(node)
}

/// Sets the column permissions of the source bound last.
fn guard_last(binder: &mut Binder<'_>, of: &Guarded) {
    let columns = binder.level.last().columns.len();
    let guard = crate::require::guard(binder, of.database_id, &of.securable(), columns);
    binder.level.last_mut().guard = guard;
}

/// Sets the permissions for the columns of a statement's target, which was bound without checks:
/// SELECT is needed where one is read, as on the right of an assignment.
pub fn guard_target(binder: &mut Binder<'_>, name: &ObjectName) {
    let is_cte = |simple: &Ident| binder.ctes.find(simple).is_some();
    let simple = name.as_simple();
    if binder.rights.is_none()
        || simple.is_some_and(|s| is_cte(s) || binder.table_variable(s).is_some())
    {
        return;
    }
    // An unresolved name has been reported already.
    if let Ok(resolved) = resolve_table(binder, name)
        && let Some(of) = Guarded::of(binder, name, &resolved)
    {
        let columns = binder.level.last().columns.len();
        let guard = crate::require::target_guard(binder, of.database_id, &of.securable(), columns);
        binder.level.last_mut().guard = guard;
    }
}

fn bind_resolved<'a>(
    binder: &mut Binder<'a>,
    resolved: Resolved<'a>,
    name: SourceName<'_>,
    is_bare: bool,
    hints: &[TableHint],
) -> Result<Node> {
    match resolved {
        Resolved::Table(table) => {
            check_readable(&table)?;
            let path = path_of(&table, hints)?;
            let schema = is_bare.then(|| table.schema.clone());
            let name = SourceName { schema: schema.as_deref(), ..name };
            if let Some(place) = &table.external {
                return bulk::bind_external(binder, &table, place, name);
            }
            binder.hints.paths |= path != Path::Any;
            let hints = ScanHints { path, ..scan_hints(hints) };
            if binder.system_time.is_some() && table.history_id().is_some() {
                return temporal::bind_versions(binder, &table, name, hints);
            }
            let source = TableSource::Table(Arc::clone(&table));
            add_table_source(binder, source, name, hints)
        }
        Resolved::System(view, database) => {
            let schema = is_bare.then_some(view.schema());
            bind_system_view(binder, view, database, Vec::new(), SourceName { schema, ..name })
        }
        Resolved::View(view, database) => {
            let schema = is_bare.then(|| view.schema.clone());
            bind_view(binder, &view, database, SourceName { schema: schema.as_deref(), ..name })
        }
    }
}

/// Returns the access path that the hints request.
fn path_of(table: &TableDef, hints: &[TableHint]) -> Result<Path> {
    check_table_hints(hints)?;
    let mut path = Path::Any;
    let mut seeks = false;
    for hint in hints {
        let index = match &hint.kind {
            // Of several indexes the first is used; the rows are the same.
            TableHintKind::Index(indexes) => indexes.first(),
            TableHintKind::ForceSeek(index) => {
                seeks = true;
                index.as_ref().map(|(index, _)| index)
            }
            TableHintKind::Word(TableHintWord::ForceScan) => {
                path = Path::Scan;
                continue;
            }
            TableHintKind::Word(_) | TableHintKind::SpatialWindowMaxCells(_) => continue,
        };
        if let TableHintKind::Index(indexes) = &hint.kind {
            indexes.iter().try_for_each(|index| hinted(table, index).map(drop))?;
        }
        if let Some(index) = index {
            path = hinted(table, index)?.map_or(Path::Scan, Path::Index);
        }
    }
    Ok(match path {
        Path::Any if seeks => Path::Seek(None),
        Path::Index(index) if seeks => Path::Seek(Some(index)),
        path => path,
    })
}

/// The object that a name in FROM refers to.
pub enum Resolved<'a> {
    /// A table, temporary ones included.
    Table(Arc<TableDef>),
    /// A system view, and the database that it is read in.
    System(&'static dyn SystemView, &'a str),
    /// A view, and its database.
    View(Arc<ModuleDef>, &'a str),
}

/// Resolves the name of a table or view: temporary tables, the catalog, system views.
///
/// # Errors
/// 208 if there is none, or no database of that name; 5313 and 470 for a synonym whose target is
/// missing, of another kind or a synonym; 7202 for another server.
pub fn resolve_table<'a>(binder: &mut Binder<'a>, name: &ObjectName) -> Result<Resolved<'a>> {
    // Global temporary tables are in tempdb, whatever database the name has.
    let is_global = name.object.starts_with("##");
    check_local(binder, name)?;
    if name.is_temporary() && !is_global {
        binder.session_bound = true;
        let table = (binder.temp_tables)(&name.object);
        return table
            .map(Resolved::Table)
            .ok_or_else(|| Msg::InvalidObject(&name.to_string()).into());
    }
    let catalog = binder.catalog;
    let mut synonym: Option<&ObjectName> = None;
    loop {
        let (target, by_synonym) = (synonym.unwrap_or(name), synonym.is_some());
        let database = target.database.as_deref().unwrap_or(binder.database);
        let database = if is_global { "tempdb" } else { database };
        let Some(database) = catalog.database(database) else {
            return Err(missing(name, by_synonym));
        };
        if database.options.restoring.is_some() {
            return Err(Msg::DatabaseRestoring(&database.name).into());
        }
        require_entry(binder, database)?;
        let schema = match is_global || by_synonym && target.schema.is_none() {
            true => DBO_SCHEMA,
            false => binder.schema_of(database, target),
        };
        match database.object(schema, &target.object) {
            Some(Object::Table(table)) => return Ok(Resolved::Table(Arc::clone(table))),
            Some(Object::View(view)) => {
                return Ok(Resolved::View(Arc::clone(view), database.name.as_str()));
            }
            Some(Object::Synonym(_)) if by_synonym => {
                return Err(Msg::SynonymChain(&name.to_string(), &target.to_string()).into());
            }
            Some(Object::Synonym(found)) => {
                check_local(binder, &found.target)?;
                synonym = Some(&found.target);
            }
            Some(
                Object::Procedure(_)
                | Object::Function(_)
                | Object::Trigger(_)
                | Object::Sequence(_),
            ) => {
                let state = if by_synonym { WRONG_KIND } else { 1 };
                return Err(missing(name, by_synonym).with_state(state));
            }
            None => {
                let schema = target.schema.as_deref().unwrap_or_default();
                // The tables of msdb belong to its schema dbo only.
                let is_dbo = schema.is_empty() || Name::same(schema, "dbo");
                let of_msdb = (is_dbo && Name::same(&database.name, "msdb"))
                    .then(|| binder.library.view(plan::view::MSDB, &target.object))
                    .flatten();
                let view = of_msdb.or_else(|| binder.library.view(schema, &target.object));
                if let Some(view) = view {
                    return Ok(Resolved::System(view, database.name.as_str()));
                }
                let known =
                    binder.library.known_but_missing(&database.name, schema, &target.object);
                let error = known.map(|known| Msg::NotSupported(&known).into());
                return Err(error.unwrap_or_else(|| missing(name, by_synonym)));
            }
        }
    }
}

/// Returns the error of a missing table or view, by the name as written; 5313 if it is a synonym.
#[cold]
fn missing(name: &ObjectName, by_synonym: bool) -> Error {
    match by_synonym {
        true => Msg::SynonymInvalid(&name.to_string()).into(),
        false => Msg::InvalidObject(&name.to_string()).into(),
    }
}

/// The names by which a source's columns can be qualified.
#[derive(Clone, Copy)]
pub struct SourceName<'n> {
    /// Alias, or the table's name.
    pub alias: &'n str,
    /// Schema, if no alias is given.
    pub schema: Option<&'n str>,
}

/// Adds a table to the innermost level, and returns its scan of all columns.
pub fn add_table_source(
    binder: &mut Binder<'_>,
    table: TableSource,
    name: SourceName<'_>,
    hints: ScanHints,
) -> Result<Node> {
    let definition = Arc::clone(plan::statement::table_of(&table));
    let hints = ScanHints { database: versions_of(binder, &table), ..hints };
    let first = binder.new_registers(definition.columns.len());
    let columns = (0_u16..).zip(&definition.columns).map(|(i, c)| SourceColumn {
        name: c.name.as_str().into(),
        ty: c.shown_type(),
        register: first.plus(usize::from(i)),
        used: false,
        traits: Traits::of(c),
    });
    let columns: Vec<SourceColumn> = columns.collect();
    let scanned = (0_u16..).zip(&columns).map(|(i, c)| (i, c.register)).collect();
    let computed = crate::dml::computed_at_read(binder, &definition, first)?;
    let mut scanned: Vec<(u16, Register)> = scanned;
    scanned.retain(|(_, register)| !computed.iter().any(|(at, _)| at == register));
    add_source(binder, name, columns, Some(definition))?;
    let row = binder.new_row();
    let scan = Node::Scan(Box::new(Scan {
        table,
        access: Access::Full,
        columns: scanned,
        row,
        predicate: None,
        residual: None,
        hints,
    }));
    Ok(if computed.is_empty() { scan } else { Node::Compute(Box::new((scan, computed))) })
}

pub(crate) fn add_source(
    binder: &mut Binder<'_>,
    name: SourceName<'_>,
    columns: Vec<SourceColumn>,
    table: Option<Arc<TableDef>>,
) -> Result<()> {
    let (alias, schema) = (name.alias.into(), name.schema.map(SmolStr::new));
    binder.level.add(Source { alias, schema, columns, table, ..Source::default() })
}

pub(crate) fn bind_system_view(
    binder: &mut Binder<'_>,
    view: &'static dyn SystemView,
    database: &str,
    arguments: Vec<Expr>,
    name: SourceName<'_>,
) -> Result<Node> {
    crate::require::require_view(binder, view, database)?;
    let shape = view.columns();
    let first = binder.new_registers(shape.len());
    let columns = shape.iter().enumerate().map(|(i, (name, ty))| SourceColumn {
        name: SmolStr::new_static(name),
        ty: *ty,
        register: first.plus(i),
        used: false,
        traits: Traits::default(),
    });
    let columns: Vec<SourceColumn> = columns.collect();
    let scanned = (0_u16..).zip(&columns).map(|(i, c)| (i, c.register)).collect();
    add_source(binder, name, columns, None)?;
    Ok(Node::View(Box::new(ViewScan {
        view,
        database: database.to_owned(),
        arguments,
        columns: scanned,
    })))
}

/// Binds the query of a view, with no name of the statement in scope.
fn bind_view<'a>(
    binder: &mut Binder<'a>,
    view: &Arc<ModuleDef>,
    database: &'a str,
    name: SourceName<'_>,
) -> Result<Node> {
    binder.unfold()?;
    let ast::StatementKind::CreateView(definition) = &view.ast.kind else {
        return Err(Msg::InvalidObject(&view.name).into());
    };
    let ctes = std::mem::take(&mut binder.ctes);
    let variables = std::mem::take(&mut binder.variables);
    let given = std::mem::take(&mut binder.given);
    let outer = std::mem::replace(&mut binder.database, database);
    // Permissions within the view are those of its owner.
    let chain = binder.chain.replace(Owner::of_module(binder.catalog, view));
    let around = std::mem::take(&mut binder.view_checks);
    let unqualified = std::mem::replace(
        &mut binder.unqualified,
        Unqualified::Module(ModuleSchema::from(&**view)),
    );
    let was_in_view = std::mem::replace(&mut binder.in_view, true);
    let meaning = binder.meaning;
    binder.meaning = meaning.with_ansi_nulls(view.options.ansi_nulls);
    let bound =
        binder.apart(|binder| bind_with(binder, definition.with.as_ref(), &definition.query));
    binder.meaning = meaning;
    let mut checks = std::mem::replace(&mut binder.view_checks, around);
    binder.chain = chain;
    binder.unqualified = unqualified;
    binder.in_view = was_in_view;
    binder.database = outer;
    binder.variables = variables;
    binder.given = given;
    binder.ctes = ctes;
    let query = bound?;
    if definition.check_option {
        checks = check_option::predicates(&query.root);
    }
    binder.view_checks.extend(checks.iter().cloned());
    let joined = !checks.is_empty() && check_option::is_joined(&query.root);
    let columns: Vec<&str> = definition.columns.iter().map(Ident::as_str).collect();
    let node = add_query_source(binder, query, name, &columns)?;
    let source = binder.level.last_mut();
    // A view's columns are typed: an untyped NULL is `int` there.
    source.columns.iter_mut().for_each(|column| column.traits.untyped = false);
    source.view = Some(ViewSource { module: Arc::clone(view), checks, joined });
    Ok(node)
}

/// Binds a query with the CTEs before it.
pub(crate) fn bind_with(
    binder: &mut Binder<'_>,
    with: Option<&With>,
    query: &QueryExpression,
) -> Result<Query> {
    let before = binder.ctes.len();
    let names = std::mem::take(&mut binder.xml.namespaces);
    if let Some(with) = with {
        cte::declare(binder, with)?;
    }
    let bound = bind_query(binder, query);
    binder.ctes.truncate(before);
    binder.xml.namespaces = names;
    bound
}

fn bind_derived(
    binder: &mut Binder<'_>,
    query: &QueryExpression,
    alias: &TableAlias,
    lateral: Lateral,
) -> Result<Node> {
    require_no_order(query)?;
    let bound = beside(binder, lateral, |binder| bind_query(binder, query));
    let columns: Vec<&str> = alias.columns.iter().map(Ident::as_str).collect();
    add_query_source(binder, bound?, SourceName { alias: &alias.name, schema: None }, &columns)
}

/// Binds a part of a source. Outside APPLY, it must not see the sources before it.
pub(crate) fn beside<T>(
    binder: &mut Binder<'_>,
    lateral: Lateral,
    bind: impl FnOnce(&mut Binder<'_>) -> T,
) -> T {
    match lateral {
        Lateral::Yes => bind(binder),
        Lateral::No => binder.without_sources(bind),
    }
}

/// Adds the output of a query as a source; every column gets a name and a register.
pub(crate) fn add_query_source(
    binder: &mut Binder<'_>,
    query: Query,
    name: SourceName<'_>,
    names: &[&str],
) -> Result<Node> {
    if !names.is_empty() && names.len() != query.output.len() {
        return Err(if names.len() < query.output.len() {
            Msg::MoreColumnsThanList(name.alias).into()
        } else {
            Msg::FewerColumnsThanList(name.alias).into()
        });
    }
    let query = to_columns(binder, query);
    let mut columns: Vec<SourceColumn> = Vec::with_capacity(query.output.len());
    let mut seen = NameSet::default();
    for (i, column) in query.output.iter().enumerate() {
        let column_name = names.get(i).map_or(column.name.as_str(), |n| *n);
        if column_name.is_empty() {
            let number = i64::try_from(i + 1).unwrap_or(i64::MAX);
            return Err(Msg::NoColumnName(number, name.alias).into());
        }
        if !seen.insert(column_name) {
            return Err(Msg::ColumnTwice(column_name, name.alias).into());
        }
        columns.push(SourceColumn {
            name: column_name.into(),
            ty: column.expr.ty,
            register: column_register(column),
            used: false,
            traits: column.traits,
        });
    }
    add_source(binder, name, columns, None)?;
    Ok(query.root)
}

/// Gives an output column its own register unless it is a bare column of the query's own FROM. A
/// column of an outer query needs one, because under an outer join it is NULL where there is no
/// row, unlike the original. A column that is listed twice needs one, because a grouping set may
/// include one name of it and not the other.
pub(super) fn to_columns(binder: &mut Binder<'_>, query: Query) -> Query {
    let Query { root, mut output } = query;
    let own = walk::fills(&root).0;
    let mut computed = Vec::new();
    let mut named = Registers::default();
    for column in &mut output {
        if let ExprKind::Column(register) = column.expr.kind
            && own.contains(register)
            && !named.contains(register)
        {
            named.insert(register);
            continue;
        }
        let register = binder.new_register();
        let ty = column.expr.ty;
        let expr = std::mem::replace(&mut column.expr, Expr::new(ExprKind::Column(register), ty));
        computed.push((register, expr));
    }
    let root = if computed.is_empty() { root } else { Node::Compute(Box::new((root, computed))) };
    Query { root, output }
}

/// Returns the register of an output column to which [`to_columns`] gave one.
pub(super) fn column_register(column: &OutputColumn) -> Register {
    match column.expr.kind {
        ExprKind::Column(register) => register,
        _ => unreachable!("`to_columns` replaces every other expression by a column"),
    }
}

fn bind_values(
    binder: &mut Binder<'_>,
    rows: &[Vec<ast::Expr>],
    alias: &TableAlias,
    lateral: Lateral,
) -> Result<Node> {
    let bound = beside(binder, lateral, |binder| bind_rows(binder, rows));
    let (values, types, untyped) = bound?;
    if alias.columns.len() != types.len() {
        return Err(if alias.columns.len() < types.len() {
            Msg::MoreColumnsThanList(&alias.name).into()
        } else {
            Msg::FewerColumnsThanList(&alias.name).into()
        });
    }
    let columns = alias.columns.iter().zip(&types).zip(&values.registers);
    let columns = columns.zip(untyped).map(|(((name, ty), register), untyped)| SourceColumn {
        name: name.as_str().into(),
        ty: *ty,
        register: *register,
        used: false,
        traits: Traits { untyped, ..Traits::default() },
    });
    let columns = columns.collect();
    add_source(binder, SourceName { alias: &alias.name, schema: None }, columns, None)?;
    Ok(Node::Values(Box::new(values)))
}

/// Binds the rows of a table value constructor: each column has the common type of its values;
/// returns also whether a column contains only untyped NULLs.
pub(super) fn bind_rows(
    binder: &mut Binder<'_>,
    rows: &[Vec<ast::Expr>],
) -> Result<(ValuesScan, Vec<ColumnType>, Vec<bool>)> {
    let width = rows.first().map_or(0, Vec::len);
    let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != width {
            return Err(Msg::ValuesColumnCount.into());
        }
        bound.push(row.iter().map(|e| bind_expr(binder, e)).collect::<Result<_>>()?);
    }
    let mut types = Vec::with_capacity(width);
    let is_untyped = |i: usize| bound.iter().all(|row| row[i].is_null_literal());
    let untyped = (0..width).map(is_untyped).collect();
    for i in 0..width {
        let nullable = bound.iter().any(|row| row[i].ty.nullable);
        let common = common_type(bound.iter().map(|row| &row[i]))?;
        let common = common.unwrap_or_else(|| bound[0][i].ty);
        types.push(ColumnType { nullable, ..common });
    }
    let mut converted = Vec::with_capacity(bound.len());
    for row in bound {
        let row = row.into_iter().zip(&types);
        converted.push(
            row.map(|(e, ty)| convert_to(e, ty, types::Mode::Implicit)).collect::<Result<_>>()?,
        );
    }
    let first = binder.new_registers(width);
    let registers: Vec<Register> = (0..width).map(|i| first.plus(i)).collect();
    let values = ValuesScan { rows: converted, registers, target: None };
    Ok((values, types, untyped))
}
