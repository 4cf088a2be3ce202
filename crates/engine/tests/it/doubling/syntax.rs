//! Long texts of SQL: chains, lists and nesting.

#![expect(clippy::too_many_lines, reason = "lists of cases")]

use super::{Case, list};

/// The views of a chain of which the last is refused: they nest too deeply.
const VIEWS_MAX: usize = 512;

const TABLE: &str = "CREATE TABLE t (id int PRIMARY KEY, v int, w int); INSERT t VALUES (1, 2, 3)";

fn with_table(case: Case) -> Case {
    case.after(|_| vec![TABLE.to_owned()])
}

/// A table `c` with `n` columns.
pub(super) fn wide_table(n: usize) -> String {
    format!("CREATE TABLE c (id int PRIMARY KEY, {})", list(n, ", ", |at| format!("c{at} int")))
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = chains();
    all.extend(nesting());
    all.extend(columns());
    all.extend(statements());
    all
}

fn chains() -> Vec<Case> {
    let chain = |name, head: &'static str, piece: fn(usize) -> String, separator: &'static str| {
        with_table(Case::new(name, 500, move |n| head.to_owned() + &list(n, separator, piece)))
    };
    vec![
        with_table(Case::new("IN list", 500, |n| {
            format!("SELECT * FROM t WHERE v IN ({})", list(n, ", ", |at| at.to_string()))
        })),
        with_table(Case::new("IN list of a key", 500, |n| {
            format!("SELECT * FROM t WHERE id IN ({})", list(n, ", ", |at| at.to_string()))
        })),
        with_table(Case::new("IN list of texts", 500, |n| {
            format!(
                "SELECT * FROM t WHERE CAST(v AS nvarchar(9)) IN ({})",
                list(n, ", ", |at| format!("N'x{at}'"))
            )
        })),
        with_table(Case::new("NOT IN list", 500, |n| {
            format!("SELECT * FROM t WHERE v NOT IN ({})", list(n, ", ", |at| at.to_string()))
        })),
        chain("OR chain", "SELECT * FROM t WHERE ", |at| format!("v = {at}"), " OR "),
        chain(
            "OR chain of two columns",
            "SELECT * FROM t WHERE ",
            |at| format!("v = {at} AND w = {at}"),
            " OR ",
        ),
        chain("OR chain of keys", "SELECT * FROM t WHERE ", |at| format!("id = {at}"), " OR "),
        chain("AND chain", "SELECT * FROM t WHERE ", |at| format!("v <> {at}"), " AND "),
        chain("AND chain of keys", "SELECT * FROM t WHERE ", |at| format!("id > {at}"), " AND "),
        chain("+ chain of numbers", "DECLARE @v int = 1; SELECT @v + ", |at| at.to_string(), " + "),
        chain("+ chain of texts", "SELECT 'x' + ", |at| format!("'{at}'"), " + "),
        chain("+ chain of columns", "SELECT 1 + ", |_| "1".to_owned(), " + "),
        chain("UNION ALL chain", "", |at| format!("SELECT {at}"), " UNION ALL "),
        chain("UNION chain", "", |at| format!("SELECT {at}"), " UNION "),
        chain("EXCEPT chain", "SELECT -1 EXCEPT ", |at| format!("SELECT {at}"), " EXCEPT "),
        chain("UNION ALL of tables", "", |at| format!("SELECT {at} FROM t"), " UNION ALL ")
            .at_most(1.8, "a batch has an end"),
        with_table(Case::new("VALUES list in FROM", 500, |n| {
            format!("SELECT MAX(a) FROM (VALUES {}) x(a)", list(n, ", ", |at| format!("({at})")))
        })),
        with_table(Case::new("INSERT VALUES", 500, |n| {
            format!("INSERT t VALUES {}", list(n, ", ", |at| format!("({}, 1, 2)", at + 10)))
        })),
        with_table(Case::new("CASE with many WHEN", 500, |n| {
            format!(
                "SELECT CASE v {} END FROM t",
                list(n, " ", |at| format!("WHEN {at} THEN {at}"))
            )
        })),
        with_table(Case::new("searched CASE", 500, |n| {
            format!(
                "SELECT CASE {} END FROM t",
                list(n, " ", |at| format!("WHEN v = {at} THEN w + {at}"))
            )
        })),
        with_table(Case::new("COALESCE", 100, |n| {
            format!("SELECT COALESCE({}) FROM t", list(n, ", ", |_| "NULLIF(v, 2)".to_owned()))
        })),
        with_table(Case::new("CHOOSE", 100, |n| {
            format!("SELECT CHOOSE(v, {}) FROM t", list(n, ", ", |at| at.to_string()))
        })),
        Case::new("literal", 100_000, |n| format!("SELECT LEN('{}')", "x".repeat(n))),
        Case::new("literal of quotes", 50_000, |n| format!("SELECT LEN('{}')", "''".repeat(n))),
        Case::new("comment", 100_000, |n| format!("/*{}*/ SELECT 1", "* ".repeat(n))),
        Case::new("nested comments", 10_000, |n| {
            format!("{}{} SELECT 1", "/*".repeat(n), "*/".repeat(n))
        }),
        Case::new("blank lines", 100_000, |n| "\r\n".repeat(n) + "SELECT 1"),
    ]
}

fn nesting() -> Vec<Case> {
    let nested = |name, open: &'static str, inner: &'static str, close: &'static str| {
        with_table(Case::new(name, 4, move |n| {
            format!("SELECT {}{inner}{} FROM t", open.repeat(n), close.repeat(n))
        }))
    };
    vec![
        nested("nested parentheses", "(", "v", ")"),
        nested("nested CASE", "CASE WHEN v = 1 THEN ", "v", " ELSE w END"),
        nested("nested IIF", "IIF(v = 1, ", "v", ", w)"),
        nested("nested COALESCE", "COALESCE(", "v", ", NULLIF(v, 2))"),
        nested("nested ISNULL", "ISNULL(", "v", ", 0)"),
        nested("nested NULLIF", "NULLIF(", "v", ", 7)"),
        nested("nested scalar subqueries", "(SELECT MAX(v) + ", "1", " FROM t)"),
        with_table(Case::new("nested derived tables", 4, |n| {
            format!(
                "SELECT * FROM {}t{}",
                "(SELECT id, v + 1 AS v FROM ".repeat(n),
                ") x".repeat(n)
            )
        })),
        with_table(Case::new("nested derived tables, used twice", 4, |n| {
            format!(
                "SELECT v FROM {}t{}",
                "(SELECT id, v + v AS v FROM ".repeat(n),
                ") x".repeat(n)
            )
        })),
        with_table(Case::new("nested IN", 4, |n| {
            format!(
                "SELECT * FROM t WHERE id IN {}(SELECT id FROM t){}",
                "(SELECT id FROM t WHERE id IN ".repeat(n),
                ")".repeat(n)
            )
        })),
        with_table(Case::new("chain of CTEs", 20, |n| {
            let ctes = list(n, ", ", |at| format!("c{} AS (SELECT v + 1 AS v FROM c{at})", at + 1));
            format!("WITH c0 AS (SELECT v FROM t), {ctes} SELECT * FROM c{n}")
        })),
        with_table(Case::new("CTEs that are not used together", 50, |n| {
            let ctes = list(n, ", ", |at| format!("c{at} AS (SELECT v FROM t)"));
            format!("WITH {ctes} {}", list(n, " UNION ALL ", |at| format!("SELECT v FROM c{at}")))
        })),
        Case::new("chain of views", 4, |n| match n {
            ..VIEWS_MAX => format!("SELECT * FROM v{n}"),
            // A view is bound when it is made, so the chain ends there.
            _ => format!("CREATE VIEW v{VIEWS_MAX} AS SELECT * FROM v{}", VIEWS_MAX - 1),
        })
        .after(|n| {
            let mut all = vec![TABLE.to_owned(), "CREATE VIEW v0 AS SELECT * FROM t".to_owned()];
            let chain = 1..=n.min(VIEWS_MAX - 1);
            all.extend(chain.map(|at| format!("CREATE VIEW v{at} AS SELECT * FROM v{}", at - 1)));
            all
        }),
        with_table(Case::new("nested BEGIN", 10, |n| {
            format!("{}SELECT 1{}", "BEGIN ".repeat(n), " END".repeat(n))
        })),
        with_table(Case::new("nested TRY", 4, |n| {
            format!(
                "{}SELECT 1{}",
                "BEGIN TRY ".repeat(n),
                " END TRY BEGIN CATCH SELECT 2 END CATCH".repeat(n)
            )
        })),
        with_table(Case::new("ELSE IF chain", 200, |n| {
            format!(
                "DECLARE @v int = -1; {} SELECT 1",
                list(n, " ", |at| format!("IF @v = {at} SELECT {at} ELSE"))
            )
        })),
    ]
}

fn columns() -> Vec<Case> {
    vec![
        with_table(Case::new("many columns in SELECT", 250, |n| {
            format!("SELECT {} FROM t", list(n, ", ", |at| format!("v + {at} AS a{at}")))
        })),
        with_table(Case::new("many columns of a derived table", 250, |n| {
            format!(
                "SELECT {} FROM (SELECT {} FROM t) x",
                list(n, ", ", |at| format!("a{at}")),
                list(n, ", ", |at| format!("v + {at} AS a{at}"))
            )
        }))
        .at_most(2.1, "4,096 items: each looks for its register in the source"),
        with_table(Case::new("many columns of a CTE", 250, |n| {
            let names = list(n, ", ", |at| format!("a{at}"));
            let values = list(n, ", ", |at| format!("v + {at}"));
            format!("WITH x ({names}) AS (SELECT {values} FROM t) SELECT {names} FROM x")
        }))
        .at_most(2.1, "4,096 items: each looks for its register in the source"),
        Case::new("many columns of VALUES", 250, |n| {
            let names = list(n, ", ", |at| format!("a{at}"));
            let values = list(n, ", ", |at| at.to_string());
            format!("SELECT {names} FROM (VALUES ({values})) x ({names})")
        })
        .at_most(2.1, "4,096 items: each looks for its register in the source"),
        with_table(Case::new("aggregates of many columns of a derived table", 250, |n| {
            let values = list(n, ", ", |at| format!("v + {at} AS a{at}"));
            let sums = list(n, ", ", |at| format!("SUM(a{at})"));
            format!("SELECT {sums} FROM (SELECT {values} FROM t) x")
        }))
        .at_most(2.1, "4,096 items: each looks for its register in the source"),
        with_table(Case::new("ORDER BY many names", 250, |n| {
            let values = list(n, ", ", |at| format!("v + {at} AS a{at}"));
            let names = list(n, ", ", |at| format!("a{at}"));
            format!("SELECT {values} FROM t ORDER BY {names}")
        })),
        with_table(Case::new("ORDER BY many names of a UNION", 250, |n| {
            let values = list(n, ", ", |at| format!("v + {at} AS a{at}"));
            let names = list(n, ", ", |at| format!("a{at}"));
            format!("SELECT {values} FROM t UNION ALL SELECT {values} FROM t ORDER BY {names}")
        })),
        with_table(Case::new("MERGE with a source of many columns", 250, |n| {
            let values = list(n, ", ", |at| format!("v + {at} AS a{at}"));
            let sum = list(n, " + ", |at| format!("a{at}"));
            format!(
                "MERGE t USING (SELECT id, {values} FROM t) s ON s.id = t.id \
                 WHEN MATCHED THEN UPDATE SET v = {sum};"
            )
        })),
        with_table(Case::new("chain of APPLY", 4, |n| {
            let chain =
                list(n, " ", |at| format!("CROSS APPLY (SELECT x{at}.y + 1 AS y) x{}", at + 1));
            format!(
                "SELECT COUNT(*) FROM t CROSS APPLY (SELECT t.v AS y) x0 {chain} WHERE x{n}.y > 0"
            )
        }))
        .at_most(2.5, "more than 300 are refused"),
        Case::new("GRANT on many columns", 60, |n| {
            format!("GRANT SELECT ON c ({}) TO u", list(n, ", ", |at| format!("c{at}")))
        })
        .after(|n| vec![wide_table(n), "CREATE USER u WITHOUT LOGIN".to_owned()]),
        Case::new("CREATE TABLE with many columns", 60, wide_table),
        Case::new("SELECT * of many columns", 60, |_| "SELECT * FROM c".to_owned())
            .after(|n| vec![wide_table(n)]),
        Case::new("UPDATE of many columns", 60, |n| {
            format!("UPDATE c SET {}", list(n, ", ", |at| format!("c{at} = {at}")))
        })
        .after(|n| vec![wide_table(n), "INSERT c (id) VALUES (1)".to_owned()]),
        Case::new("INSERT of many columns", 60, |n| {
            format!(
                "INSERT c (id, {}) VALUES (1, {})",
                list(n, ", ", |at| format!("c{at}")),
                list(n, ", ", |at| at.to_string())
            )
        })
        .after(|n| vec![wide_table(n)]),
        with_table(Case::new("GROUP BY many", 50, |n| {
            format!("SELECT COUNT(*) FROM t GROUP BY {}", list(n, ", ", |at| format!("v + {at}")))
        })),
        with_table(Case::new("GROUP BY many, selected", 50, |n| {
            let keys = list(n, ", ", |at| format!("v + {at}"));
            format!("SELECT {keys} FROM t GROUP BY {keys}")
        })),
        with_table(Case::new("many aggregates", 50, |n| {
            format!("SELECT {} FROM t", list(n, ", ", |at| format!("SUM(v + {at})")))
        })),
        with_table(Case::new("many window functions", 20, |n| {
            format!(
                "SELECT {} FROM t",
                list(n, ", ", |at| format!("SUM(v + {at}) OVER (ORDER BY w + {at})"))
            )
        })),
        with_table(Case::new("ORDER BY many", 50, |n| {
            format!("SELECT * FROM t ORDER BY {}", list(n, ", ", |at| format!("v + {at}")))
        })),
        with_table(Case::new("GROUPING SETS", 50, |n| {
            format!(
                "SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ({})",
                list(n, ", ", |at| if at % 2 == 0 {
                    "(v)".to_owned()
                } else {
                    "(v, w)".to_owned()
                })
            )
        })),
        with_table(Case::new("joins", 4, |n| {
            format!(
                "SELECT 1 FROM t a {}",
                list(n, " ", |at| format!("JOIN t x{at} ON x{at}.id = a.id"))
            )
        }))
        .at_most(2.5, "more than 300 are refused"),
        with_table(Case::new("outer joins", 4, |n| {
            format!(
                "SELECT 1 FROM t a {}",
                list(n, " ", |at| format!("LEFT JOIN t x{at} ON x{at}.id = a.v"))
            )
        }))
        .at_most(2.5, "more than 300 are refused"),
        with_table(Case::new("EXISTS, many", 10, |n| {
            format!(
                "SELECT 1 FROM t WHERE {}",
                list(n, " AND ", |at| format!(
                    "EXISTS (SELECT 1 FROM t x WHERE x.id = t.id + {at})"
                ))
            )
        })),
        with_table(Case::new("scalar subqueries, many", 10, |n| {
            format!(
                "SELECT {} FROM t",
                list(n, ", ", |at| format!("(SELECT MAX(x.v) FROM t x WHERE x.id = t.id + {at})"))
            )
        })),
        with_table(Case::new("PIVOT of many values", 20, |n| {
            format!(
                "SELECT * FROM (SELECT v, w FROM t) s PIVOT (SUM(w) FOR v IN ({})) p",
                list(n, ", ", |at| format!("[{at}]"))
            )
        })),
        Case::new("UNPIVOT of many columns", 20, |n| {
            format!(
                "SELECT * FROM c UNPIVOT (x FOR n IN ({})) p",
                list(n, ", ", |at| format!("c{at}"))
            )
        })
        .after(|n| vec![wide_table(n), "INSERT c (id) VALUES (1)".to_owned()]),
    ]
}

fn statements() -> Vec<Case> {
    vec![
        Case::new("many variables in one DECLARE", 500, |n| {
            format!("DECLARE {}", list(n, ", ", |at| format!("@v{at} int = {at}")))
        }),
        Case::new("many variables, all read", 500, |n| {
            let declared = list(n, "; ", |at| format!("DECLARE @v{at} int = {at}"));
            declared + "; " + &list(n, "; ", |at| format!("SET @v{at} = @v{} + 1", n - 1 - at))
        }),
        Case::new("many statements", 500, |n| list(n, "; ", |at| format!("PRINT {at}"))),
        with_table(Case::new("many INSERTs in a batch", 200, |n| {
            list(n, "; ", |at| format!("INSERT t VALUES ({}, 1, 2)", at + 10))
        })),
        with_table(Case::new("many SELECTs in a batch", 200, |n| {
            list(n, "; ", |at| format!("SELECT * FROM t WHERE v = {at}"))
        })),
        Case::new("many labels and GOTOs", 200, |n| {
            list(n, " ", |at| format!("GOTO l{at}; l{at}: "))
        }),
        Case::new("many table variables", 100, |n| {
            list(n, "; ", |at| format!("DECLARE @t{at} TABLE (a int); INSERT @t{at} VALUES (1)"))
        })
        .at_most(2.2, "those of one batch"),
        Case::new("sp_executesql with many parameters", 100, |n| {
            format!(
                "EXEC sp_executesql N'SELECT {}', N'{}', {}",
                list(n, " + ", |at| format!("@p{at}")),
                list(n, ", ", |at| format!("@p{at} int")),
                list(n, ", ", |at| format!("@p{at} = {at}"))
            )
        }),
        Case::new("procedure with many parameters", 100, |n| {
            format!("EXEC p {}", list(n, ", ", |at| format!("@p{} = {at}", n - 1 - at)))
        })
        .after(|n| {
            let parameters = list(n, ", ", |at| format!("@p{at} int = 0"));
            vec![format!("CREATE PROCEDURE p {parameters} AS SELECT @p0")]
        })
        .at_most(2.1, "2,100 parameters, whose names are compared one by one"),
        Case::many("many batches", 200, |n| (0..n).map(|at| format!("SELECT {at}")).collect()),
        Case::many("many batches of different shape", 100, |n| {
            (0..n).map(|at| format!("SELECT 1 AS a{at}")).collect()
        }),
        with_table(Case::many("many plans of one table", 100, |n| {
            (0..n).map(|at| format!("SELECT v AS a{at} FROM t WHERE id = 1")).collect()
        })),
    ]
}
