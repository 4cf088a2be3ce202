//! The dynamic management views have the documented columns, with the documented types, in the
//! documented order: `tests/golden/views.txt` against what a SELECT announces and
//! `sys.all_columns`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use engine::session::Session;

use crate::client::{batch, instance, login};

const GOLDEN: &str = include_str!("../golden/views.txt");

/// Name and type of a column.
type Column = (String, String);

/// A view as declared in the golden file.
#[derive(Debug, Default)]
struct Expected {
    /// Arguments, if it is a function.
    arguments: usize,
    /// Whether Clearway has it.
    absent: bool,
    /// Columns in documented order.
    columns: Vec<Column>,
}

#[test]
fn management_views_have_the_documented_columns() {
    let instance = instance();
    let mut session = login(&instance);
    let listed = listed(&mut session);
    let mut failures = String::new();
    let golden = golden();
    for (name, expected) in &golden {
        let problem = match (expected.absent, listed.get(name)) {
            (true, None) => continue,
            (true, Some(_)) => "is there: take away its `absent`".to_owned(),
            (false, None) => "is not there".to_owned(),
            (false, Some(columns)) => match difference(&expected.columns, columns) {
                Some(difference) => format!("in sys.all_columns, {difference}"),
                None => match difference(
                    &expected.columns,
                    &announced(&mut session, name, expected.arguments),
                ) {
                    Some(difference) => format!("as SELECT announces it, {difference}"),
                    None => continue,
                },
            },
        };
        writeln!(failures, "sys.{name} {problem}").unwrap();
    }
    let dynamic = |name: &&String| name.starts_with("dm_") || name.starts_with("fn_");
    for name in listed.keys().filter(dynamic).filter(|name| !golden.contains_key(*name)) {
        writeln!(failures, "sys.{name} is not in tests/golden/views.txt").unwrap();
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Reads the golden file.
fn golden() -> BTreeMap<String, Expected> {
    let mut views = BTreeMap::new();
    let mut current: Option<&mut Expected> = None;
    for line in GOLDEN.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(column) = line.strip_prefix("    ") {
            let (name, ty) = column.trim_start_matches("+ ").rsplit_once(' ').unwrap();
            current.as_mut().unwrap().columns.push((name.to_owned(), ty.to_owned()));
            continue;
        }
        let (head, absent) = match line.strip_suffix(" absent") {
            Some(head) => (head, true),
            None => (line, false),
        };
        let (name, arguments) = match head.split_once('(') {
            Some((name, count)) => (name, count.trim_end_matches(')').parse().unwrap()),
            None => (head, 0),
        };
        let expected = Expected { arguments, absent, columns: Vec::new() };
        current = Some(views.entry(name.to_owned()).or_insert(expected));
    }
    assert!(views.len() > 50, "the golden file is read");
    views
}

/// Reads the columns of all system views from `sys.all_columns`, with types as in a declaration.
fn listed(session: &mut Session) -> BTreeMap<String, Vec<Column>> {
    let answer = batch(
        session,
        "SELECT o.name, c.name,
             TYPE_NAME(c.system_type_id) + CASE
                 WHEN TYPE_NAME(c.system_type_id) NOT IN ('nvarchar', 'nchar', 'varchar', 'char',
                     'varbinary', 'binary', 'datetime2', 'datetimeoffset', 'decimal') THEN ''
                 WHEN TYPE_NAME(c.system_type_id) LIKE 'datetime%' THEN CONCAT('(', c.scale, ')')
                 WHEN TYPE_NAME(c.system_type_id) = 'decimal'
                     THEN CONCAT('(', c.precision, ',', c.scale, ')')
                 WHEN c.max_length = -1 THEN '(max)'
                 WHEN TYPE_NAME(c.system_type_id) LIKE 'n%' THEN CONCAT('(', c.max_length / 2, ')')
                 ELSE CONCAT('(', c.max_length, ')') END
         FROM sys.all_columns c JOIN sys.all_objects o ON o.object_id = c.object_id
         WHERE SCHEMA_NAME(o.schema_id) = 'sys' ORDER BY o.name, c.column_id",
    );
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    let mut views: BTreeMap<String, Vec<Column>> = BTreeMap::new();
    for row in &answer.sets[0] {
        let [view, name, ty] = row.as_slice() else { panic!("three columns") };
        views.entry(view.clone()).or_default().push((name.clone(), ty.clone()));
    }
    views
}

/// Returns the columns of a view as a client receives them.
fn announced(session: &mut Session, name: &str, arguments: usize) -> Vec<Column> {
    let call = match arguments {
        0 => String::new(),
        count => format!("({})", vec!["NULL"; count].join(", ")),
    };
    let answer = batch(session, &format!("SELECT TOP (0) * FROM sys.{name}{call}"));
    assert!(answer.errors.is_empty(), "{name}: {:?}", answer.errors);
    let column =
        |c: &engine::sink::ColumnInfo| (c.name.to_string(), c.column_type.data_type.to_string());
    answer.columns[0].iter().map(column).collect()
}

/// Describes the first difference between two lists of columns.
fn difference(expected: &[Column], found: &[Column]) -> Option<String> {
    let show = |column: Option<&Column>| match column {
        Some((name, ty)) => format!("{name} {ty}"),
        None => "nothing".to_owned(),
    };
    let longest = expected.len().max(found.len());
    let at = (0..longest).find(|&i| expected.get(i) != found.get(i))?;
    let (expected, found) = (show(expected.get(at)), show(found.get(at)));
    Some(format!("column {} is {found} and should be {expected}", at + 1))
}
