//! Statements over many rows: windows, aggregates, recursion, changes, triggers and foreign keys.

#![expect(clippy::too_many_lines, reason = "lists of cases")]

use super::Case;

/// A table `t` of `n` rows: a key, a value in ten groups, and a value that repeats.
fn filled(n: usize) -> Vec<String> {
    vec![
        "CREATE TABLE t (id int PRIMARY KEY, g int, v int)".to_owned(),
        format!("INSERT t SELECT value, value % 10, value % 1000 FROM GENERATE_SERIES(1, {n})"),
    ]
}

fn over(name: &'static str, first: usize, query: &'static str) -> Case {
    Case::new(name, first, move |_| query.to_owned()).after(filled)
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = windows();
    all.extend(queries());
    all.extend(recursion());
    all.extend(changes());
    all.extend(cascades());
    all
}

fn windows() -> Vec<Case> {
    // Frames of half the rows, `@n`.
    let wide = |name, of: &'static str| {
        Case::new(name, 500, move |n| {
            let of = of.replace("@n", &(n / 2).to_string());
            format!("SELECT MAX(x) FROM (SELECT {of} AS x FROM t) q")
        })
        .after(filled)
    };
    let window = |name, of: &'static str| {
        Case::new(name, 2_000, move |_| format!("SELECT MAX(x) FROM (SELECT {of} AS x FROM t) q"))
            .after(filled)
    };
    vec![
        window("window: running SUM", "SUM(v) OVER (ORDER BY id)"),
        window(
            "window: SUM, wide ROWS",
            "SUM(v) OVER (ORDER BY id ROWS BETWEEN 100000 PRECEDING AND CURRENT ROW)",
        ),
        window(
            "window: SUM, sliding ROWS",
            "SUM(v) OVER (ORDER BY id ROWS BETWEEN 1000 PRECEDING AND 1000 FOLLOWING)",
        ),
        window(
            "window: SUM, ROWS that follow",
            "SUM(v) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
        ),
        wide(
            "window: SUM of floats, wide ROWS",
            "SUM(CAST(v AS float)) OVER (ORDER BY id ROWS BETWEEN @n PRECEDING AND 1 PRECEDING)",
        ).at_most(2.2, "rows times frame: the order of additions counts"),
        window(
            "window: MIN, wide ROWS",
            "MIN(v) OVER (ORDER BY id ROWS BETWEEN 100000 PRECEDING AND 1 FOLLOWING)",
        ),
        window(
            "window: MAX, sliding ROWS of falling values",
            "MAX(-id) OVER (ORDER BY id ROWS BETWEEN 100000 PRECEDING AND 1 FOLLOWING)",
        ),
        window(
            "window: MIN, ROWS that follow",
            "MIN(v) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
        ),
        wide(
            "window: COUNT, AVG, STDEV, wide ROWS",
            "STDEV(v) OVER (ORDER BY id ROWS BETWEEN @n PRECEDING AND CURRENT ROW) + AVG(v) OVER (ORDER BY id ROWS BETWEEN @n PRECEDING AND 1 FOLLOWING)",
        ).at_most(2.2, "rows times frame: the order of additions counts"),
        window(
            "window: texts, wide ROWS",
            "MAX(CAST(v AS varchar(9))) OVER (ORDER BY id ROWS BETWEEN 100000 PRECEDING AND 1 FOLLOWING)",
        ),
        window("window: RANGE with equal keys", "SUM(v) OVER (ORDER BY g)"),
        window("window: whole partition", "SUM(v) OVER (PARTITION BY g)"),
        window(
            "window: FIRST_VALUE, LAST_VALUE",
            "LAST_VALUE(v) OVER (ORDER BY id ROWS BETWEEN 100000 PRECEDING AND 100000 FOLLOWING)",
        ),
        window(
            "window: LAST_VALUE IGNORE NULLS",
            "LAST_VALUE(NULLIF(v, v)) IGNORE NULLS OVER (ORDER BY id)",
        ),
        window(
            "window: LAG far back, IGNORE NULLS",
            "LAG(NULLIF(v, v), 3) IGNORE NULLS OVER (ORDER BY id)",
        ),
        window("window: LEAD", "LEAD(v, 1000) OVER (ORDER BY id)"),
        window(
            "window: NTILE, ranks",
            "NTILE(100) OVER (ORDER BY v) + RANK() OVER (ORDER BY v) + DENSE_RANK() OVER (ORDER BY g)",
        ),
        window(
            "window: CUME_DIST, PERCENT_RANK",
            "CUME_DIST() OVER (ORDER BY g) + PERCENT_RANK() OVER (ORDER BY g)",
        ),
        window(
            "window: PERCENTILE_CONT",
            "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY v) OVER (PARTITION BY g)",
        ),
        window(
            "window: PERCENTILE_DISC, one partition",
            "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY v) OVER ()",
        ),
        window("window: as many partitions as rows", "SUM(v) OVER (PARTITION BY id)"),
        wide(
            "window: CHECKSUM_AGG, wide ROWS",
            "CHECKSUM_AGG(v) OVER (ORDER BY id ROWS BETWEEN @n PRECEDING AND 1 FOLLOWING)",
        ),
    ]
}

fn queries() -> Vec<Case> {
    vec![
        over(
            "STRING_AGG WITHIN GROUP, in groups",
            1_000,
            "SELECT MAX(LEN(x)) FROM (SELECT STRING_AGG(CAST(v AS varchar(max)), ',') \
             WITHIN GROUP (ORDER BY v, id) AS x FROM t GROUP BY g) q",
        ),
        over(
            "JSON_ARRAYAGG in groups",
            1_000,
            "SELECT MAX(LEN(x)) FROM (SELECT JSON_ARRAYAGG(v) AS x FROM t GROUP BY g) q",
        ),
        Case::new("join of two GENERATE_SERIES", 2_000, |n| {
            format!(
                "SELECT COUNT(*) FROM GENERATE_SERIES(1, {n}) a \
                 JOIN GENERATE_SERIES(1, {n}) b ON b.value = a.value"
            )
        }),
        over("COUNT(DISTINCT)", 2_000, "SELECT COUNT(DISTINCT id), SUM(DISTINCT v) FROM t"),
        over(
            "COUNT(DISTINCT) in groups",
            2_000,
            "SELECT g, COUNT(DISTINCT id), COUNT(DISTINCT v) FROM t GROUP BY g",
        ),
        over("GROUP BY ROLLUP, CUBE", 1_000, "SELECT g, v, SUM(id) FROM t GROUP BY CUBE (g, v)"),
        over("GROUP BY each row", 2_000, "SELECT id, SUM(v) FROM t GROUP BY id"),
        over("ORDER BY", 2_000, "SELECT * FROM t ORDER BY v, g"),
        over("TOP WITH TIES", 2_000, "SELECT TOP (10) WITH TIES * FROM t ORDER BY g"),
        over(
            "OFFSET in the middle",
            2_000,
            "SELECT * FROM t ORDER BY id OFFSET 1000 ROWS FETCH NEXT 5 ROWS ONLY",
        ),
        over("join by key", 2_000, "SELECT COUNT(*) FROM t a JOIN t b ON a.id = b.id + 1"),
        over(
            "join by a value without an index",
            2_000,
            "SELECT COUNT(*) FROM t a JOIN (SELECT -id AS m FROM t) b ON a.id = -b.m",
        ),
        over(
            "left join, no match",
            2_000,
            "SELECT COUNT(*) FROM t a LEFT JOIN t b ON a.id = b.id + 10000000",
        ),
        over("full join", 1_000, "SELECT COUNT(*) FROM t a FULL JOIN t b ON a.id = b.id + 1"),
        over(
            "NOT IN with NULLs",
            1_000,
            "SELECT COUNT(*) FROM t WHERE id NOT IN (SELECT NULLIF(id, 7) + 5000000 FROM t)",
        ),
        over(
            "NOT EXISTS",
            1_000,
            "SELECT COUNT(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.v = a.id + 10000000)",
        ),
        over(
            "IN subquery",
            1_000,
            "SELECT COUNT(*) FROM t WHERE v IN (SELECT id FROM t WHERE g = 1)",
        ),
        over(
            "correlated aggregate",
            500,
            "SELECT SUM(x) FROM (SELECT (SELECT MAX(b.v) FROM t b WHERE b.id = a.id + 1) AS x FROM t a) q",
        ),
        over(
            "correlated count of a value",
            200,
            "SELECT SUM(x) FROM (SELECT (SELECT COUNT(*) FROM t b WHERE b.v = a.id) AS x FROM t a) q",
        ),
        over("ALL, ANY", 500, "SELECT COUNT(*) FROM t WHERE id >= ALL (SELECT v FROM t)")
            .at_most(2.3, "a nested loop"),
        over(
            "UNION, EXCEPT, INTERSECT",
            1_000,
            "SELECT id FROM t UNION SELECT v FROM t EXCEPT SELECT g FROM t INTERSECT SELECT id FROM t",
        ),
        over(
            "APPLY of TOP by key",
            500,
            "SELECT COUNT(*) FROM t a CROSS APPLY (SELECT TOP (1) id FROM t b WHERE b.id > a.id ORDER BY b.id) x",
        ),
        over("PIVOT", 1_000, "SELECT * FROM t PIVOT (SUM(v) FOR g IN ([1], [2], [3])) p"),
        over("TABLESAMPLE, NEWID order", 1_000, "SELECT TOP (5) * FROM t ORDER BY NEWID()"),
        over("SELECT INTO", 2_000, "SELECT * INTO u FROM t"),
        over("CREATE INDEX", 2_000, "CREATE INDEX i ON t (g, v)"),
        over(
            "CREATE COLUMNSTORE INDEX",
            2_000,
            "CREATE NONCLUSTERED COLUMNSTORE INDEX i ON t (g, v)",
        ),
        over("ALTER TABLE ADD with a default", 2_000, "ALTER TABLE t ADD x int NOT NULL DEFAULT 1"),
        over("ALTER TABLE ALTER COLUMN", 2_000, "ALTER TABLE t ALTER COLUMN v bigint"),
        over("UPDATE STATISTICS", 2_000, "UPDATE STATISTICS t"),
        over("DBCC CHECKTABLE", 2_000, "DBCC CHECKTABLE ('t')"),
        over("sp_spaceused", 2_000, "EXEC sp_spaceused 't'"),
    ]
}

fn recursion() -> Vec<Case> {
    vec![
        Case::new("recursive CTE, a chain", 500, |n| {
            format!(
                "WITH c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c WHERE x < {n}) \
                 SELECT MAX(x) FROM c OPTION (MAXRECURSION 0)"
            )
        }),
        Case::new("recursive CTE, wide levels", 500, |n| {
            format!(
                "WITH c AS (SELECT value AS x, 0 AS l FROM GENERATE_SERIES(1, {n}) UNION ALL \
                 SELECT x, l + 1 FROM c WHERE l < 5) SELECT COUNT(*) FROM c"
            )
        }),
        Case::new("recursive CTE, joined by key", 50, |_| {
            "WITH c AS (SELECT id, g FROM t WHERE id = 1 UNION ALL SELECT t.id, t.g FROM c JOIN t ON t.id = c.id + 1) \
             SELECT COUNT(*) FROM c OPTION (MAXRECURSION 0)"
                .to_owned()
        })
        .after(filled),
        Case::new("recursive CTE, a growing text", 200, |n| {
            format!(
                "WITH c AS (SELECT 1 AS x, CAST('a' AS varchar(8000)) AS s UNION ALL \
                 SELECT x + 1, CAST(LEFT(s + 'a', 50) AS varchar(8000)) FROM c WHERE x < {n}) \
                 SELECT MAX(s) FROM c OPTION (MAXRECURSION 0)"
            )
        }),
        Case::new("recursive CTE, joined without an index", 100, |_| {
            "WITH c AS (SELECT id, g FROM t WHERE id = 1 UNION ALL SELECT t.id, t.g FROM c JOIN t ON t.id - 1 = c.id) \
             SELECT COUNT(*) FROM c OPTION (MAXRECURSION 0)"
                .to_owned()
        })
        .after(filled)
        .at_most(2.1, "each level scans the table, as in SQL Server"),
    ]
}

fn changes() -> Vec<Case> {
    vec![
        over("UPDATE of all rows", 2_000, "UPDATE t SET v = v + 1"),
        over("UPDATE of keys", 1_000, "UPDATE t SET id = id + 1"),
        over("DELETE of all rows", 2_000, "DELETE t"),
        over("INSERT SELECT", 2_000, "INSERT t SELECT -id, g, v FROM t"),
        over("MERGE, all match", 1_000, "MERGE t USING (SELECT id, v FROM t) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v + 1;"),
        over("MERGE, none match", 1_000, "MERGE t USING (SELECT id + 10000000 AS id, v FROM t) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1, s.v);"),
        over("MERGE, by source", 1_000, "MERGE t USING (SELECT id FROM t WHERE g < 5) s ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN UPDATE SET v = 0 OUTPUT $action, inserted.id, deleted.v;"),
        over("UPDATE FROM a join", 1_000, "UPDATE a SET v = b.v + 1 FROM t a JOIN t b ON a.id = b.id"),
        over("DELETE with OUTPUT", 1_000, "DELETE t OUTPUT deleted.*"),
        over("TRUNCATE TABLE", 2_000, "TRUNCATE TABLE t"),
        over("one key found among many equal", 1_000, "CREATE INDEX i ON t (g); UPDATE t SET g = 3 WHERE g = 2; DELETE t WHERE g = 3"),
        Case::new("rows with one key in an index", 1_000, |n| {
            format!("INSERT t SELECT value, 7, 7 FROM GENERATE_SERIES(1, {n}); UPDATE t SET v = 8; DELETE t")
        })
        .after(|_| vec!["CREATE TABLE t (id int PRIMARY KEY, g int, v int, INDEX i (g), INDEX j (v))".to_owned()]),
        Case::new("rows with one key in a hash index", 500, |n| {
            format!("INSERT t SELECT value, 7 FROM GENERATE_SERIES(1, {n}); DELETE t")
        })
        .after(|_| {
            vec![
                "CREATE TABLE t (id int PRIMARY KEY NONCLUSTERED, g int, INDEX i HASH (g) WITH (BUCKET_COUNT = 1024)) \
                 WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)"
                    .to_owned(),
            ]
        }).at_most(2.2, "each insert reads the chain of the key"),
        Case::new("hash index with few buckets", 500, |n| {
            format!("INSERT t SELECT value FROM GENERATE_SERIES(1, {n}); DELETE t")
        })
        .after(|_| {
            vec![
                "CREATE TABLE t (id int PRIMARY KEY NONCLUSTERED HASH WITH (BUCKET_COUNT = 2)) \
                 WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)"
                    .to_owned(),
            ]
        }).at_most(2.2, "each insert reads the chain of its bucket"),
        Case::new("trigger with large inserted", 1_000, |n| {
            format!("INSERT t SELECT value, 1, 1 FROM GENERATE_SERIES(1, {n})")
        })
        .after(|_| with_trigger("INSERT", "SELECT COUNT(*) FROM inserted i JOIN inserted j ON i.id = j.id")),
        Case::new("trigger with large inserted and deleted", 1_000, |_| {
            "UPDATE t SET v = v + 1".to_owned()
        })
        .after(|n| {
            let mut all = with_trigger(
                "UPDATE",
                "INSERT l SELECT i.id FROM inserted i JOIN deleted d ON i.id = d.id WHERE i.v <> d.v",
            );
            all.push(format!("INSERT t SELECT value, 1, 1 FROM GENERATE_SERIES(1, {n})"));
            all
        }),
        Case::new("trigger INSTEAD OF", 1_000, |n| {
            format!("INSERT t SELECT value, 1, 1 FROM GENERATE_SERIES(1, {n})")
        })
        .after(|_| {
            vec![
                "CREATE TABLE t (id int PRIMARY KEY, g int, v int)".to_owned(),
                "CREATE TRIGGER r ON t INSTEAD OF INSERT AS INSERT t SELECT id, g, v FROM inserted".to_owned(),
            ]
        }),
        Case::new("system-versioned rows", 500, |_| "UPDATE t SET v = v + 1".to_owned()).after(|n| {
            vec![
                "CREATE TABLE t (id int PRIMARY KEY, v int, f datetime2 GENERATED ALWAYS AS ROW START, \
                 u datetime2 GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (f, u)) \
                 WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h))"
                    .to_owned(),
                format!("INSERT t (id, v) SELECT value, 1 FROM GENERATE_SERIES(1, {n})"),
            ]
        }),
        Case::new("columnstore: INSERT, UPDATE, DELETE", 1_000, |n| {
            format!("INSERT t SELECT value, value FROM GENERATE_SERIES(1, {n}); UPDATE t SET v = 1; DELETE t WHERE id % 2 = 0")
        })
        .after(|_| vec!["CREATE TABLE t (id int, v int, INDEX c CLUSTERED COLUMNSTORE)".to_owned()]),
    ]
}

fn with_trigger(event: &str, body: &str) -> Vec<String> {
    vec![
        "CREATE TABLE t (id int PRIMARY KEY, g int, v int)".to_owned(),
        "CREATE TABLE l (id int)".to_owned(),
        format!("CREATE TRIGGER r ON t AFTER {event} AS {body}"),
    ]
}

/// Parents `p`, and children `c` of them with an index or without.
fn family(n: usize, action: &str, index: &str) -> Vec<String> {
    vec![
        "CREATE TABLE p (id int PRIMARY KEY)".to_owned(),
        format!(
            "CREATE TABLE c (id int PRIMARY KEY, p int NULL REFERENCES p (id) {action} {index})"
        ),
        format!("INSERT p SELECT value FROM GENERATE_SERIES(1, {n})"),
        format!("INSERT c SELECT value, value FROM GENERATE_SERIES(1, {n})"),
    ]
}

fn cascades() -> Vec<Case> {
    vec![
        Case::new("foreign key: INSERT of children", 1_000, |n| {
            format!("INSERT c SELECT value + 10000000, value FROM GENERATE_SERIES(1, {n})")
        })
        .after(|n| family(n, "", "")),
        Case::new("foreign key: cascade with an index", 500, |_| "DELETE p".to_owned())
            .after(|n| family(n, "ON DELETE CASCADE", ", INDEX i (p)")),
        Case::new("foreign key: cascade without an index", 500, |_| "DELETE p".to_owned())
            .after(|n| family(n, "ON DELETE CASCADE", "")),
        Case::new("foreign key: SET NULL without an index", 500, |_| "DELETE p".to_owned())
            .after(|n| family(n, "ON DELETE SET NULL", "")),
        Case::new("foreign key: cascade of updates", 500, |_| {
            "UPDATE p SET id = id + 10000000".to_owned()
        })
        .after(|n| family(n, "ON UPDATE CASCADE", "")),
        Case::new("foreign key: check of a delete", 500, |_| "DELETE c; DELETE p".to_owned())
            .after(|n| family(n, "", "")),
        Case::new("foreign key: to its own table", 500, |_| "DELETE n".to_owned()).after(|n| {
            vec![
                "CREATE TABLE n (id int PRIMARY KEY, p int NULL REFERENCES n (id))".to_owned(),
                format!("INSERT n SELECT value, NULLIF(value - 1, 0) FROM GENERATE_SERIES(1, {n})"),
            ]
        }),
        Case::new("foreign key: added to rows", 500, |_| {
            "ALTER TABLE d ADD CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id)".to_owned()
        })
        .after(|n| {
            let mut all = family(n, "", "");
            all.push("SELECT id, p INTO d FROM c".to_owned());
            all
        }),
    ]
}
