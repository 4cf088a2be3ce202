//! `DBCC SHOW_STATISTICS (table, name) [WITH STAT_HEADER, DENSITY_VECTOR, HISTOGRAM, NO_INFOMSGS]`:
//! shows the distribution of values in an index or in statistics.
//!
//! No histogram is stored: the values of all rows are counted when the command runs. Plans use
//! smaller samples (crate `optimizer`).

use std::fmt::Write as _;

use tsql::ast;
use types::{Msg, Value};

use super::executesql::{prepare, run_prepared};
use super::sqlperf::word;
use ::catalog::TableDef;
use ::catalog::name::Name;
use ::catalog::security::has_on_column;
use ::executor::Cx;
use interpreter::Stop;

/// Most steps of a histogram after the first, which is the least value alone.
const STEPS_MAX: u32 = 199;

/// The columns whose values are shown.
struct Subject {
    name: String,
    table: String,
    columns: Vec<String>,
    filter: Option<String>,
}

/// The result sets that WITH asks for; all of them without WITH.
struct Wanted {
    header: bool,
    densities: bool,
    histogram: bool,
}

/// Shows the statistics.
///
/// # Errors
/// 2501 for an unknown table, 2767 for unknown statistics; 40517 for STATS_STREAM.
pub(crate) fn run(dbcc: &ast::Dbcc, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let [table, name] = dbcc.arguments.as_slice() else {
        return Err(Msg::DbccParameterCount.into());
    };
    let table = super::check::find_table(word(table).ok_or(Msg::DbccParameter(1))?, cx)?;
    let name = word(name).ok_or(Msg::DbccParameter(2))?;
    let wanted = wanted(dbcc)?;
    let subject = subject(&table.with_disabled(), name, cx).ok_or(Msg::StatisticsNotFound(name))?;
    check_reads(&table, &subject, cx)?;
    let text = text(&subject, &wanted);
    let entry = prepare(&Value::nvarchar(&text), &Value::Null, cx.session)?;
    run_prepared(entry, &mut [], cx)?;
    Ok(())
}

/// Checks that the session may read the columns, because their values are shown.
fn check_reads(table: &TableDef, subject: &Subject, cx: &Cx<'_>) -> Result<(), Stop> {
    let database = cx.session.catalog.database_by_id(table.database_id);
    let Some(database) = database.filter(|_| !table.name.starts_with('#')) else { return Ok(()) };
    let ids = (table.id, table.schema_id);
    let reads = |name: &String| {
        let place = table.columns.iter().position(|column| Name::same(&column.name, name));
        let id = place.and_then(|place| i32::try_from(place + 1).ok()).unwrap_or(0);
        has_on_column(&cx.session.identity.rights, database, ids, id, "SELECT")
    };
    match subject.columns.iter().all(reads) {
        true => Ok(()),
        false => {
            let login = &cx.session.identity.login;
            Err(Msg::DbccObjectDenied(login, "SHOW_STATISTICS", &table.name).into())
        }
    }
}

fn wanted(dbcc: &ast::Dbcc) -> Result<Wanted, Stop> {
    let mut wanted = Wanted { header: false, densities: false, histogram: false };
    for (option, _) in &dbcc.options {
        match option.as_ref() {
            "STAT_HEADER" => wanted.header = true,
            "DENSITY_VECTOR" => wanted.densities = true,
            "HISTOGRAM" => wanted.histogram = true,
            // NO_INFOMSGS has no effect on result sets.
            _ => {}
        }
    }
    if !wanted.header && !wanted.densities && !wanted.histogram {
        return Ok(Wanted { header: true, densities: true, histogram: true });
    }
    Ok(wanted)
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Finds an index, statistics, or statistics whose first column has the name. An index that is
/// neither unique nor clustered has the clustered index's columns after its own.
fn subject(table: &TableDef, name: &str, cx: &Cx<'_>) -> Option<Subject> {
    let by_column = || {
        let ordinal = u16::try_from(table.column(name)?).ok()?;
        let index = table.indexes.iter().find(|i| i.keys.first().is_some_and(|k| k.0 == ordinal));
        let index = index.map(|index| index.name.as_str());
        let begins = |columns: &[u16]| columns.first() == Some(&ordinal);
        let own = table.statistics.iter().find(|s| begins(&s.columns));
        index.or(own.map(|own| own.name.as_str()))
    };
    let is_it = |other: &str| Name::same(other, name);
    let named = table.index(name).is_some() || table.statistics.iter().any(|s| is_it(&s.name));
    let name = if named { name } else { by_column()? };
    let (name, mut columns, filter) = match table.index(name).map(|place| &table.indexes[place]) {
        Some(index) => {
            let keys: Vec<u16> = index.keys.iter().map(|(column, _)| *column).collect();
            let filter = index.filter.as_ref().map(|filter| filter.text.clone());
            let clustered = table.indexes.iter().find(|other| other.clustered);
            let behind = clustered.filter(|_| !index.clustered && !index.unique);
            let behind = behind.into_iter().flat_map(|i| i.keys.iter().map(|(column, _)| *column));
            (index.name.clone(), [keys, behind.collect()].concat(), filter)
        }
        None => {
            let own = table.statistics.iter().find(|s| Name::same(&s.name, name))?;
            (own.name.clone(), own.columns.clone(), None)
        }
    };
    let mut seen = Vec::new();
    columns.retain(|column| {
        !seen.contains(column) && {
            seen.push(*column);
            true
        }
    });
    let database = cx.session.catalog.database_by_id(table.database_id)?;
    let of = [database.name.as_str(), &table.schema, &table.name].map(quoted).join(".");
    let of = if table.name.starts_with('#') { quoted(&table.name) } else { of };
    let columns = columns.iter().map(|c| table.columns[usize::from(*c)].name.clone());
    Some(Subject { name, table: of, columns: columns.collect(), filter })
}

/// Returns the statements that count and return the values.
fn text(subject: &Subject, wanted: &Wanted) -> String {
    let Subject { name, table, columns, filter } = subject;
    let key = quoted(columns.first().map_or("", String::as_str));
    let filtered = filter.as_ref().map(|filter| format!(" WHERE {filter}")).unwrap_or_default();
    let literal = |text: &str| format!("N'{}'", text.replace('\'', "''"));
    let mut out = format!(
        "SET NOCOUNT ON
SELECT x.k, x.n, ROW_NUMBER() OVER (ORDER BY x.k) AS r, CASE WHEN COUNT(*) OVER () <= {STEPS_MAX} THEN ROW_NUMBER() OVER (ORDER BY x.k) WHEN ROW_NUMBER() OVER (ORDER BY x.k) = 1 THEN 0 ELSE 1 + (SUM(x.n) OVER (ORDER BY x.k ROWS UNBOUNDED PRECEDING) - 1) * {STEPS_MAX} / SUM(x.n) OVER () END AS s INTO #values FROM (SELECT {key} AS k, COUNT_BIG(*) AS n FROM {table}{filtered} GROUP BY {key}) AS x
SELECT v.k, v.n AS equal_rows, g.n - v.n AS range_rows, g.d AS distinct_rows, v.r INTO #steps FROM (SELECT s, MAX(r) AS r, SUM(n) AS n, COUNT_BIG(*) - 1 AS d FROM #values GROUP BY s) AS g JOIN #values AS v ON v.r = g.r
"
    );
    if wanted.header {
        let lengths = lengths(columns);
        let expression = filter.as_ref().map_or("NULL".to_owned(), |filter| literal(filter));
        let _ = writeln!(
            out,
            "SELECT CAST({} AS nvarchar(128)) AS Name, CONVERT(nvarchar(20), GETDATE(), 100) AS Updated, (SELECT ISNULL(SUM(n), 0) FROM #values) AS [Rows], (SELECT ISNULL(SUM(n), 0) FROM #values) AS [Rows Sampled], (SELECT CAST(COUNT(*) AS smallint) FROM #steps) AS Steps, (SELECT CAST(ISNULL(1.0 / NULLIF(SUM(distinct_rows), 0), 0) AS real) FROM #steps) AS Density, (SELECT CAST(ISNULL(AVG(CAST({lengths} AS float)), 0) AS real) FROM {table}{filtered}) AS [Average key length], CAST('NO' AS char(3)) AS [String Index], CAST({expression} AS nvarchar(max)) AS [Filter Expression], (SELECT COUNT_BIG(*) FROM {table}) AS [Unfiltered Rows], CAST(0 AS float) AS [Persisted Sample Percent]",
            literal(name)
        );
    }
    if wanted.densities {
        let each = (1..=columns.len()).map(|count| {
            let some = &columns[..count];
            let list: Vec<String> = some.iter().map(|column| quoted(column)).collect();
            let list = list.join(", ");
            format!(
                "SELECT (SELECT CAST(1.0 / NULLIF(COUNT_BIG(*), 0) AS real) FROM (SELECT DISTINCT {list} FROM {table}{filtered}) AS x) AS [All density], (SELECT CAST(AVG(CAST({} AS float)) AS real) FROM {table}{filtered}) AS [Average Length], CAST({} AS nvarchar(max)) AS [Columns]",
                lengths(some),
                literal(&some.join(", "))
            )
        });
        let _ = writeln!(out, "{}", each.collect::<Vec<_>>().join(" UNION ALL "));
    }
    if wanted.histogram {
        out.push_str(
            "SELECT k AS RANGE_HI_KEY, CAST(range_rows AS real) AS RANGE_ROWS, CAST(equal_rows AS real) AS EQ_ROWS, distinct_rows AS DISTINCT_RANGE_ROWS, CAST(CASE distinct_rows WHEN 0 THEN 1 ELSE range_rows * 1.0 / distinct_rows END AS real) AS AVG_RANGE_ROWS FROM #steps ORDER BY r",
        );
    }
    out
}

/// Returns the expression for the total bytes of columns.
fn lengths(columns: &[String]) -> String {
    let of = |column: &String| format!("ISNULL(DATALENGTH({}), 0)", quoted(column));
    columns.iter().map(of).collect::<Vec<_>>().join(" + ")
}
