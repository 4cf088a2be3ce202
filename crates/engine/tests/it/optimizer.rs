//! An optimized plan returns the same rows as the plan as written: over generated queries on tables
//! with NULLs and duplicates, and over the rewrites that are easiest to get wrong.
//!
//! One engine optimizes; the other one runs the binder's tree: loops over whole tables.

use engine::opt::Level;
use engine::session::Session;

use crate::client::{Answer, batch, instance_with, is_whole, login};
use crate::dice::Dice;

/// Two sessions, on an engine with and one without the optimizer.
struct Pair {
    optimized: Session,
    written: Session,
}

impl Pair {
    fn new(setup: &[&str]) -> Self {
        let engine = |level: Level| login(&instance_with(|config| config.optimizer = level));
        let mut pair = Self { optimized: engine(Level::Full), written: engine(Level::None) };
        for text in setup {
            for session in [&mut pair.optimized, &mut pair.written] {
                let answer = batch(session, text);
                assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
            }
        }
        pair
    }

    /// Runs a statement on both.
    fn run(&mut self, text: &str) {
        for session in [&mut self.optimized, &mut self.written] {
            let answer = batch(session, text);
            assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
        }
    }

    /// Runs a query on both and compares the multisets of rows; returns the number of rows.
    fn compare(&mut self, text: &str) -> usize {
        let (got, wanted) = (batch(&mut self.optimized, text), batch(&mut self.written, text));
        assert_eq!(numbers(&got), numbers(&wanted), "errors of {text}");
        let (got, wanted) = (sorted(&got), sorted(&wanted));
        assert_eq!(got, wanted, "rows of {text}");
        got.len()
    }
}

fn numbers(answer: &Answer) -> Vec<i32> {
    answer.errors.iter().map(|e| e.number).collect()
}

fn sorted(answer: &Answer) -> Vec<Vec<String>> {
    let mut rows = answer.sets.concat();
    rows.sort();
    rows
}

const TABLES: &[&str] = &[
    "CREATE TABLE a (id int NOT NULL PRIMARY KEY, x int NULL, y int NOT NULL, s varchar(10) NULL)",
    "CREATE TABLE b (id int NOT NULL PRIMARY KEY, a_id int NULL, x int NULL, s varchar(10) NULL)",
    "CREATE INDEX ix_b ON b (a_id)",
    "CREATE TABLE c (k int NULL, x int NULL, z int NOT NULL)",
    "CREATE TABLE e (k int NULL, x int NULL)",
    "INSERT a SELECT value, CASE WHEN value % 5 = 0 THEN NULL ELSE value % 7 END, value % 4, \
     CASE WHEN value % 6 = 0 THEN NULL ELSE CHAR(65 + value % 5) END \
     FROM GENERATE_SERIES(1, 40)",
    "INSERT b SELECT value, CASE WHEN value % 4 = 0 THEN NULL ELSE value % 30 END, \
     CASE WHEN value % 9 = 0 THEN NULL ELSE value % 6 END, \
     CASE WHEN value % 7 = 0 THEN NULL ELSE CHAR(97 + value % 6) END \
     FROM GENERATE_SERIES(1, 60)",
    "INSERT c SELECT CASE WHEN value % 3 = 0 THEN NULL ELSE value % 8 END, value % 5, value % 3 \
     FROM GENERATE_SERIES(1, 30)",
];

/// Returns a condition over the columns of table aliases.
fn condition(dice: &mut Dice, columns: &[&str], depth: u32) -> String {
    let column = dice.pick(columns).to_owned();
    let other = dice.pick(columns).to_owned();
    let op = dice.pick(&["=", "<>", "<", ">=", "=", "="]);
    let n = dice.roll(8);
    match dice.roll(if depth == 0 { 7 } else { 16 }) {
        0 => format!("{column} {op} {n}"),
        1 => format!("{column} {op} {other}"),
        2 => format!("{column} IS NULL"),
        3 => format!("{column} IS NOT NULL"),
        4 => format!("{column} IN ({n}, {}, 3)", n + 2),
        5 => format!("{column} BETWEEN {n} AND {}", n + 3),
        6 => format!("NOT ({column} {op} {n})"),
        7 => {
            let (l, r) = (condition(dice, columns, depth - 1), condition(dice, columns, depth - 1));
            let shared = condition(dice, columns, 0);
            format!("(({shared} AND {l}) OR ({shared} AND {r}))")
        }
        8 => format!("({} OR {column} = {n})", condition(dice, columns, depth - 1)),
        _ => subquery(dice, columns, depth),
    }
}

/// Returns a condition with a subquery, correlated or not.
fn subquery(dice: &mut Dice, columns: &[&str], depth: u32) -> String {
    let outside = dice.pick(columns).to_owned();
    let (table, own): (&str, &[&str]) = match dice.roll(4) {
        0 => ("a", &["q.x", "q.y", "q.id"]),
        1 => ("b", &["q.x", "q.a_id", "q.id"]),
        2 => ("c", &["q.x", "q.k", "q.z"]),
        _ => ("e", &["q.x", "q.k"]),
    };
    let own_column = dice.pick(own).to_owned();
    let inner = if depth > 1 && dice.roll(3) == 0 {
        condition(dice, own, depth - 1)
    } else {
        condition(dice, own, 0)
    };
    let correlation = match dice.roll(4) {
        0 => String::new(),
        1 => format!(" AND {} < {outside}", dice.pick(own)),
        _ => format!(" AND {} = {outside}", dice.pick(own)),
    };
    let filter = format!("WHERE {inner}{correlation}");
    let column = dice.pick(columns).to_owned();
    let negated = dice.pick(&["", "NOT "]);
    match dice.roll(8) {
        0 | 1 => format!("{negated}EXISTS (SELECT * FROM {table} q {filter})"),
        2 | 3 => format!("{column} {negated}IN (SELECT {own_column} FROM {table} q {filter})"),
        4 => {
            let op = dice.pick(&["=", "<>", "<", ">="]);
            let quantifier = dice.pick(&["ANY", "ALL"]);
            format!(
                "{negated}({column} {op} {quantifier} (SELECT {own_column} FROM {table} q {filter}))"
            )
        }
        _ => {
            let aggregate =
                dice.pick(&["COUNT(*)", "SUM(q.x)", "MAX(q.x)", "COUNT(q.x)", "MIN(q.x) + 1"]);
            let op = dice.pick(&["=", "<>", "<", ">="]);
            format!("{column} {op} (SELECT {aggregate} FROM {table} q {filter})")
        }
    }
}

/// Returns a query over one to three tables.
fn query(dice: &mut Dice) -> String {
    let kinds = ["JOIN", "LEFT JOIN", "JOIN", "FULL JOIN", "RIGHT JOIN"];
    let mut columns = vec!["a.id", "a.x", "a.y"];
    let mut from = "a".to_owned();
    if dice.roll(3) > 0 {
        let on_columns = ["a.id", "a.x", "b.a_id", "b.x"];
        let on = match dice.roll(3) {
            0 => condition(dice, &on_columns, 1),
            _ => format!("b.a_id = a.id AND {}", condition(dice, &on_columns, 0)),
        };
        from = format!("{from} {} b ON {on}", dice.pick(&kinds));
        columns.extend(["b.id", "b.x", "b.a_id"]);
        if dice.roll(2) == 0 {
            let on = match dice.roll(3) {
                0 => condition(dice, &["c.k", "c.x", "b.x", "a.y"], 1),
                1 => "c.k = b.x".to_owned(),
                _ => "c.x = a.y AND c.k = b.x".to_owned(),
            };
            from = format!("{from} {} c ON {on}", dice.pick(&kinds));
            columns.extend(["c.k", "c.z"]);
        }
    }
    let filter = condition(dice, &columns, 2);
    let more = if dice.roll(2) == 0 {
        format!(" AND {}", condition(dice, &columns, 2))
    } else {
        String::new()
    };
    let filter = format!("WHERE {filter}{more}");
    let list = columns.join(", ");
    match dice.roll(6) {
        0 => format!("SELECT DISTINCT a.y, a.x FROM {from} {filter}"),
        1 => format!(
            "SELECT a.y, COUNT(*), SUM(a.x) FROM {from} {filter} GROUP BY a.y HAVING a.y < 3"
        ),
        2 => format!("SELECT COUNT(*), MAX(a.x) FROM {from} {filter}"),
        3 => {
            let column = dice.pick(&columns).to_owned();
            let aggregate = dice.pick(&["COUNT(*)", "SUM(q.z)", "COUNT(q.x) + 1", "MAX(q.z)"]);
            let value = format!("(SELECT {aggregate} FROM c q WHERE q.k = {column} AND q.z > 0)");
            format!("SELECT {list}, {value} FROM {from} {filter}")
        }
        4 => {
            let outside = condition(dice, &["d.y", "d.n", "d.x"], 1);
            format!(
                "SELECT * FROM (SELECT a.y, a.x, COUNT(*) AS n FROM {from} {filter} \
                 GROUP BY a.y, a.x) AS d WHERE {outside}"
            )
        }
        _ => format!("SELECT {list} FROM {from} {filter}"),
    }
}

#[test]
fn optimized_plans_give_the_rows_of_plans_as_written() {
    let mut pair = Pair::new(TABLES);
    let cases = std::env::var("CASES").ok().and_then(|n| n.parse().ok());
    let cases = cases.unwrap_or(if is_whole() { 3_000 } else { 150 });
    let seed = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0x5eed);
    let mut dice = Dice(seed);
    let mut with_rows = 0;
    for _ in 0..cases {
        let text = query(&mut dice);
        with_rows += usize::from(pair.compare(&text) > 0);
    }
    assert!(with_rows > cases / 3, "{with_rows} of {cases} queries give rows");
}

#[test]
fn windows_that_stream_number_rows_as_those_that_sort() {
    let mut pair = Pair::new(TABLES);
    pair.run(
        "CREATE TABLE w (p int NOT NULL, q int NOT NULL, v int NULL, PRIMARY KEY (p, q DESC))",
    );
    pair.run("CREATE INDEX ix_w ON w (v)");
    pair.run(
        "INSERT w SELECT value % 7, value / 7, NULLIF(value % 5, 2) FROM GENERATE_SERIES(1, 90)",
    );
    for list in [
        "ROW_NUMBER() OVER (ORDER BY p, q DESC)",
        "ROW_NUMBER() OVER (PARTITION BY p ORDER BY q DESC), RANK() OVER (PARTITION BY p ORDER BY q DESC)",
        "ROW_NUMBER() OVER (PARTITION BY p ORDER BY q)",
        "RANK() OVER (ORDER BY p), DENSE_RANK() OVER (ORDER BY p)",
        "RANK() OVER (ORDER BY v), DENSE_RANK() OVER (ORDER BY v)",
        "RANK() OVER (ORDER BY v DESC)",
        "RANK() OVER (ORDER BY (SELECT NULL)), DENSE_RANK() OVER (PARTITION BY p ORDER BY (SELECT 0))",
        "ROW_NUMBER() OVER (ORDER BY p, q DESC), ROW_NUMBER() OVER (ORDER BY q, p)",
        "DENSE_RANK() OVER (PARTITION BY v ORDER BY p, q)",
        "SUM(v) OVER (ORDER BY (SELECT NULL)), COUNT(*) OVER (PARTITION BY (SELECT NULL))",
    ] {
        assert_eq!(pair.compare(&format!("SELECT p, q, v, {list} FROM w")), 90);
        let numbered = format!("SELECT * FROM (SELECT p, q, v, {list}) AS d (p, q, v, n)");
        if !list.contains("), ") {
            let numbered = numbered.replace(") AS d", " FROM w) AS d");
            pair.compare(&format!("{numbered} WHERE n < 4 AND p > 2"));
            pair.compare(&format!("{numbered} WHERE v = 3"));
            pair.compare(&format!("SELECT TOP 9 n FROM ({numbered}) AS e ORDER BY n"));
        }
    }
    pair.compare("SELECT x.p, x.n FROM (SELECT p, q, ROW_NUMBER() OVER (ORDER BY p, q DESC) AS n FROM w) x ORDER BY x.n OFFSET 5 ROWS FETCH NEXT 9 ROWS ONLY");
    // This product would take more than a lifetime to compute.
    let text = "SELECT TOP (3) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM GENERATE_SERIES(1, 1000000) \
                CROSS JOIN w AS x CROSS JOIN w AS y CROSS JOIN w AS z CROSS JOIN w AS u CROSS JOIN w AS v";
    assert_eq!(sorted(&batch(&mut pair.optimized, text)), [["1"], ["2"], ["3"]]);
    for session in [&mut pair.optimized, &mut pair.written] {
        let doubles = "WITH d AS (SELECT p, ROW_NUMBER() OVER (PARTITION BY p ORDER BY q DESC) AS n FROM w) \
                       DELETE d WHERE n > 1";
        assert!(batch(session, doubles).errors.is_empty());
    }
    assert_eq!(pair.compare("SELECT p, q, v FROM w"), 7);
}

#[test]
fn spools_find_the_rows_that_scans_do() {
    let mut pair = Pair::new(TABLES);
    for text in [
        "SELECT a.id, t.z FROM a CROSS APPLY (SELECT TOP 1 z FROM c WHERE c.k = a.x ORDER BY z, x) t",
        "SELECT a.id, t.id FROM a OUTER APPLY (SELECT TOP 2 id FROM b WHERE b.x = a.y AND b.id > a.id ORDER BY id) t",
        "SELECT a.id, t.id FROM a OUTER APPLY (SELECT TOP 1 id FROM b WHERE b.s = a.s AND b.x IS NOT NULL ORDER BY id DESC) t",
        "SELECT a.id, (SELECT TOP 1 z FROM c WHERE c.k = a.x ORDER BY z DESC) FROM a",
        "SELECT a.id, (SELECT TOP 1 z FROM c WHERE c.k = a.x AND c.x = a.y ORDER BY z DESC) FROM a",
        "SELECT a.id FROM a WHERE a.y = (SELECT TOP 1 z FROM c WHERE c.k = a.x ORDER BY z)",
        "SELECT a.id, CASE WHEN EXISTS (SELECT * FROM c WHERE c.k = a.x AND c.z < a.y) THEN 1 ELSE 0 END FROM a",
        "SELECT a.id, CASE WHEN a.y IN (SELECT z FROM c WHERE c.k = a.x) THEN 1 ELSE 0 END FROM a",
        "SELECT a.id, t.n FROM a CROSS APPLY (SELECT COUNT(*) FROM c WHERE c.k = a.x HAVING COUNT(*) > 1) t (n)",
        "SELECT a.id, t.id, u.z FROM a CROSS APPLY (SELECT TOP 3 id, x FROM b WHERE b.x = a.x ORDER BY id) t \
         CROSS APPLY (SELECT TOP 1 z FROM c WHERE c.k = t.x ORDER BY z) u",
        "SELECT a.id, t.k FROM a CROSS APPLY (SELECT TOP 1 k FROM e WHERE e.k = a.x) t",
        "SELECT a.id, 10 / t.z FROM a CROSS APPLY (SELECT TOP 1 z FROM c WHERE c.k = a.x ORDER BY z DESC) t",
        "SELECT a.id, b.id FROM a JOIN b ON b.x = a.y OPTION (LOOP JOIN)",
        "SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.y AND b.id < a.id OPTION (LOOP JOIN)",
    ] {
        assert!(pair.compare(text) > 0 || text.contains("FROM e "), "{text}");
    }
    for text in [
        "CREATE TABLE d (id int, z int)",
        "INSERT d SELECT a.id, (SELECT TOP 1 z FROM c WHERE c.k = a.x ORDER BY z DESC) FROM a",
        "INSERT d SELECT a.id, (SELECT SUM(z) FROM c WHERE c.k = a.x) FROM a",
        "INSERT d SELECT a.id, t.z FROM a CROSS APPLY (SELECT TOP 1 z FROM c WHERE c.k = a.x ORDER BY z) t",
        "UPDATE a SET y = ISNULL((SELECT TOP 1 z + 100 FROM c WHERE c.k = a.x ORDER BY z DESC), y)",
        "UPDATE a SET y = y + (SELECT COUNT(*) FROM a q WHERE q.y = a.y)",
        "DELETE c WHERE z < (SELECT TOP 1 y FROM a WHERE a.x = c.k ORDER BY y) AND k = 3",
        "DECLARE @n int = 0; SELECT @n = @n + (SELECT COUNT(*) FROM b WHERE b.x = a.y) FROM a; INSERT d VALUES (-1, @n)",
    ] {
        pair.run(text);
    }
    assert!(pair.compare("SELECT id, z FROM d") > 40 + 40 + 1);
    pair.compare("SELECT id, x, y FROM a");
    pair.compare("SELECT k, z, x FROM c");
}

#[test]
fn not_in_gives_nothing_where_the_list_has_a_null() {
    let mut pair = Pair::new(TABLES);
    // c.k has NULLs, c.z has none; a.x has NULLs, a.y none.
    assert_eq!(pair.compare("SELECT id FROM a WHERE y NOT IN (SELECT k FROM c)"), 0);
    assert!(pair.compare("SELECT id FROM a WHERE y NOT IN (SELECT z FROM c)") > 0);
    assert!(pair.compare("SELECT id FROM a WHERE x NOT IN (SELECT z FROM c)") > 0);
    // Over an empty set: every row, including NULLs.
    assert_eq!(pair.compare("SELECT id FROM a WHERE x NOT IN (SELECT k FROM e)"), 40);
    assert_eq!(pair.compare("SELECT id FROM a WHERE x <> ALL (SELECT k FROM e)"), 40);
    assert_eq!(pair.compare("SELECT id FROM a WHERE x = ANY (SELECT k FROM e)"), 0);
    pair.compare("SELECT id FROM a WHERE x NOT IN (SELECT k FROM c WHERE c.z = a.y)");
    pair.compare("SELECT id FROM a WHERE x > ALL (SELECT k FROM c WHERE c.z = a.y)");
    pair.compare("SELECT id FROM a WHERE NOT (x > ANY (SELECT k FROM c WHERE c.z = a.y))");
}

#[test]
fn aggregates_over_no_rows_stay_what_they_are() {
    let mut pair = Pair::new(TABLES);
    pair.compare("SELECT id, (SELECT COUNT(*) FROM c WHERE c.k = a.x) FROM a");
    pair.compare("SELECT id, (SELECT COUNT(*) + SUM(c.z) FROM c WHERE c.k = a.x) FROM a");
    pair.compare("SELECT id, (SELECT ISNULL(SUM(c.z), -1) FROM c WHERE c.k = a.x) FROM a");
    pair.compare("SELECT id FROM a WHERE 0 = (SELECT COUNT(*) FROM c WHERE c.k = a.x)");
    pair.compare("SELECT id FROM a WHERE (SELECT MAX(c.z) FROM c WHERE c.k = a.x) IS NULL");
    // A scalar aggregate returns a row for any input.
    assert_eq!(
        pair.compare("SELECT id FROM a WHERE EXISTS (SELECT MAX(k) FROM e WHERE e.k = a.x)"),
        40
    );
    assert_eq!(
        pair.compare("SELECT id FROM a WHERE EXISTS (SELECT k FROM e WHERE e.k = a.x GROUP BY k)"),
        0
    );
}

#[test]
fn a_semi_join_gives_no_row_twice() {
    let mut pair = Pair::new(TABLES);
    // Every value of c.z occurs ten times.
    assert_eq!(pair.compare("SELECT id FROM a WHERE y IN (SELECT z FROM c)"), 30);
    assert_eq!(pair.compare("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM c WHERE c.z = a.y)"), 30);
    assert_eq!(
        pair.compare("SELECT id FROM a WHERE id IN (SELECT TOP 3 id FROM b ORDER BY id)"),
        3
    );
}

#[test]
fn outer_joins_keep_their_rows_unless_a_condition_rejects_them() {
    let mut pair = Pair::new(TABLES);
    let from = "FROM a LEFT JOIN b ON b.a_id = a.id";
    let all = pair.compare(&format!("SELECT a.id, b.id {from}"));
    let none = pair.compare(&format!("SELECT a.id {from} WHERE b.id IS NULL"));
    let some = pair.compare(&format!("SELECT a.id {from} WHERE b.id IS NOT NULL"));
    assert_eq!(all, none + some);
    assert!(none > 0);
    pair.compare(&format!("SELECT a.id {from} WHERE b.x = 3 OR b.id IS NULL"));
    pair.compare(&format!("SELECT a.id {from} WHERE ISNULL(b.x, 3) = 3"));
    pair.compare(&format!("SELECT a.id {from} WHERE b.x = 3 OR a.y = 1"));
    pair.compare("SELECT a.id FROM a FULL JOIN b ON b.a_id = a.id WHERE a.y = 1");
    pair.compare("SELECT a.id FROM a FULL JOIN b ON b.a_id = a.id WHERE a.y = b.x");
    pair.compare(
        "SELECT a.id, c.z FROM a LEFT JOIN b ON b.a_id = a.id JOIN c ON c.k = b.x WHERE c.z > 0",
    );
}

#[test]
fn what_varies_is_evaluated_as_often_as_written() {
    let mut pair = Pair::new(TABLES);
    let both = |pair: &mut Pair, text: &str, wanted: &str| {
        for session in [&mut pair.optimized, &mut pair.written] {
            let answer = batch(session, text);
            assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
            assert_eq!(answer.sets.last().unwrap()[0][0], wanted, "{text}");
        }
    };
    both(&mut pair, "SELECT COUNT(DISTINCT g) FROM (SELECT NEWID() AS g FROM a) AS d", "40");
    let joined = "SELECT COUNT(DISTINCT g) FROM (SELECT NEWID() AS g FROM a JOIN c ON c.z = a.y) d";
    both(&mut pair, joined, "300");
    for session in [&mut pair.optimized, &mut pair.written] {
        batch(session, "CREATE SEQUENCE q AS int START WITH 1");
        batch(session, "CREATE TABLE t (n int)");
        batch(session, "INSERT t SELECT NEXT VALUE FOR q FROM a WHERE y IN (SELECT z FROM c)");
    }
    both(&mut pair, "SELECT MAX(n) FROM t", "30");
}

#[test]
fn more_than_one_row_of_a_scalar_subquery_stays_an_error() {
    let mut pair = Pair::new(TABLES);
    for text in [
        "SELECT (SELECT z FROM c)",
        "SELECT id FROM a WHERE x = (SELECT z FROM c)",
        "SELECT id, (SELECT z FROM c WHERE c.k = a.x) FROM a",
    ] {
        let answer = batch(&mut pair.optimized, text);
        assert_eq!(numbers(&answer), [512], "{text}");
    }
    // It is not run if no row needs it.
    pair.compare("SELECT id FROM a WHERE id < 0 AND x = (SELECT z FROM c)");
}

#[test]
fn hints_change_no_rows() {
    let mut pair = Pair::new(TABLES);
    let text = "SELECT a.id, b.id, c.z FROM a JOIN b ON b.a_id = a.id JOIN c ON c.k = b.x";
    let rows = pair.compare(text);
    for hint in ["FORCE ORDER", "LOOP JOIN", "HASH JOIN", "MERGE JOIN", "FAST 3", "RECOMPILE"] {
        assert_eq!(pair.compare(&format!("{text} OPTION ({hint})")), rows);
    }
    assert!(pair.compare("SELECT a.id FROM a INNER HASH JOIN b ON b.a_id = a.id") > 0);
    assert!(pair.compare("SELECT a.id FROM a INNER LOOP JOIN b ON b.a_id = a.id") > 0);
}

#[test]
fn subqueries_see_variables_that_the_statement_assigns() {
    let mut pair = Pair::new(TABLES);
    pair.compare(
        "DECLARE @n int = 0; SELECT @n = (SELECT COUNT(*) FROM c WHERE z = 1) + @n FROM a; SELECT @n",
    );
    pair.compare("DECLARE @n int = 0; SELECT @n = (SELECT @n + 1) FROM a; SELECT @n");
    pair.compare(
        "DECLARE @i int = 0; WHILE (SELECT COUNT(*) FROM c WHERE z >= @i) > 0 SET @i += 1; SELECT @i",
    );
}
