//! What a session and a transaction keep: savepoints, locks, cursors, handles, temporary tables.

#![expect(clippy::too_many_lines, reason = "lists of cases")]

use super::{Case, list};

/// A batch of one loop with `n` rounds.
fn rounds(n: usize, body: &str) -> String {
    format!("SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < {n} BEGIN {body}; SET @i += 1 END")
}

fn filled(n: usize) -> Vec<String> {
    vec![
        "CREATE TABLE t (id int PRIMARY KEY, v int, w int)".to_owned(),
        format!("INSERT t SELECT value, value, 0 FROM GENERATE_SERIES(0, {})", n - 1),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = transactions();
    all.extend(kept());
    all.extend(calls());
    all
}

fn transactions() -> Vec<Case> {
    vec![
        Case::new("savepoints", 500, |n| {
            format!("BEGIN TRAN; {}; COMMIT", rounds(n, "SAVE TRAN s; UPDATE t SET v = @i WHERE id = @i"))
        })
        .after(filled),
        Case::new("savepoints, each rolled back", 500, |n| {
            format!(
                "BEGIN TRAN; {}; COMMIT",
                rounds(n, "UPDATE t SET v = @i WHERE id = @i; SAVE TRAN s; UPDATE t SET w = @i WHERE id = @i; ROLLBACK TRAN s")
            )
        })
        .after(filled),
        Case::new("rows changed in one transaction", 500, |n| {
            format!("BEGIN TRAN; {}; COMMIT", rounds(n, "UPDATE t SET v = -1 WHERE id = @i"))
        })
        .after(filled),
        Case::new("rows changed in one transaction, rolled back", 500, |n| {
            format!("BEGIN TRAN; {}; ROLLBACK", rounds(n, "UPDATE t SET v = -1 WHERE id = @i"))
        })
        .after(filled),
        Case::new("one row changed often in a transaction", 500, |n| {
            format!("BEGIN TRAN; {}; COMMIT", rounds(n, "UPDATE t SET v = @i WHERE id = 1"))
        })
        .after(filled),
        Case::new("one row changed often, each alone", 500, |n| {
            rounds(n, "UPDATE t SET v = @i WHERE id = 1")
        })
        .after(filled),
        Case::new("one key inserted and deleted often", 500, |n| {
            format!("BEGIN TRAN; {}; COMMIT", rounds(n, "INSERT t VALUES (-1, 1, 1); DELETE t WHERE id = -1"))
        })
        .after(filled).at_most(2.3, "dead rows of the key stay until the transaction ends"),
        Case::new("inserts in a SNAPSHOT transaction", 500, |n| {
            format!(
                "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; {}; COMMIT",
                rounds(n, "INSERT t VALUES (-1 - @i, 1, 1)")
            )
        })
        .after(filled),
        Case::new("reads in a SERIALIZABLE transaction", 500, |n| {
            format!(
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; DECLARE @v int; {}; COMMIT",
                rounds(n, "SELECT @v = v FROM t WHERE id = @i")
            )
        })
        .after(filled),
        Case::new("ranges in a SERIALIZABLE transaction", 500, |n| {
            format!(
                "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; DECLARE @v int; {}; COMMIT",
                rounds(n, "SELECT @v = COUNT(*) FROM t WHERE id BETWEEN @i AND @i + 2; UPDATE t SET v = 1 WHERE id = @i")
            )
        })
        .after(filled).at_most(2.2, "each write is compared with the ranges held"),
        Case::new("locks of a REPEATABLE READ scan", 2_000, |_| {
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; SELECT SUM(v) FROM t; COMMIT".to_owned()
        })
        .after(filled),
        Case::new("application locks", 500, |n| {
            format!(
                "BEGIN TRAN; DECLARE @r nvarchar(20); {}; COMMIT",
                rounds(n, "SET @r = CONCAT('r', @i); EXEC sp_getapplock @r, 'Exclusive'")
            )
        }),
        Case::new("nested BEGIN TRAN", 500, |n| rounds(n, "BEGIN TRAN") + "; ROLLBACK"),
        Case::new("sys.dm_tran_locks of many locks", 500, |_| {
            "SELECT COUNT(*) FROM sys.dm_tran_locks; COMMIT".to_owned()
        })
        .after(|n| {
            vec![format!(
                "BEGIN TRAN; DECLARE @r nvarchar(20); {}",
                rounds(n, "SET @r = CONCAT('r', @i); EXEC sp_getapplock @r, 'Exclusive'")
            )]
        }),
    ]
}

fn kept() -> Vec<Case> {
    vec![
        Case::many("temporary tables", 100, |n| {
            (0..n).map(|at| format!("CREATE TABLE #t{at} (a int)")).collect()
        }).at_most(2.5, "those of one session"),
        Case::many("temporary tables, used", 100, |n| {
            (0..n).map(|at| format!("INSERT #t{at} VALUES (1)")).collect()
        })
        .after(|n| (0..n).map(|at| format!("CREATE TABLE #t{at} (a int)")).collect()).at_most(2.5, "those of one session"),
        Case::many("temporary tables, dropped", 100, |n| {
            (0..n).map(|at| format!("DROP TABLE #t{at}")).collect()
        })
        .after(|n| (0..n).map(|at| format!("CREATE TABLE #t{at} (a int)")).collect()).at_most(2.5, "those of one session"),
        Case::new("one temporary table made often", 200, |n| {
            rounds(n, "CREATE TABLE #u (a int PRIMARY KEY); INSERT #u VALUES (1); DROP TABLE #u")
        }),
        Case::new("table variable in each round", 200, |n| {
            rounds(n, "EXEC p")
        })
        .after(|_| vec!["CREATE PROCEDURE p AS DECLARE @t TABLE (a int); INSERT @t VALUES (1)".to_owned()]),
        Case::many("cursors, open", 50, |n| {
            (0..n)
                .map(|at| format!("DECLARE c{at} CURSOR GLOBAL FOR SELECT id FROM t; OPEN c{at}; FETCH c{at}"))
                .collect()
        })
        .after(|_| filled(10)),
        Case::new("one cursor, fetched to its end", 500, |n| {
            format!(
                "DECLARE @v int; DECLARE c CURSOR STATIC FOR SELECT id FROM t; OPEN c; {}; CLOSE c",
                rounds(n, "FETCH NEXT FROM c INTO @v")
            )
        })
        .after(filled),
        Case::new("keyset cursor, fetched to its end", 500, |n| {
            format!(
                "DECLARE @v int; DECLARE c CURSOR KEYSET FOR SELECT id FROM t; OPEN c; {}; CLOSE c",
                rounds(n, "FETCH NEXT FROM c INTO @v")
            )
        })
        .after(filled),
        Case::new("dynamic cursor, fetched to its end", 500, |n| {
            format!(
                "DECLARE @v int; DECLARE c CURSOR DYNAMIC FOR SELECT id FROM t; OPEN c; {}; CLOSE c",
                rounds(n, "FETCH NEXT FROM c INTO @v; UPDATE t SET v = 7 WHERE CURRENT OF c")
            )
        })
        .after(filled),
        Case::new("dynamic cursor, ordered by no index", 200, |n| {
            format!(
                "DECLARE @v int; DECLARE c CURSOR DYNAMIC FOR SELECT id FROM t WHERE w = 0; OPEN c; {}; CLOSE c",
                rounds(n, "FETCH NEXT FROM c INTO @v")
            )
        })
        .after(filled),
        Case::new("scroll cursor, fetched by place", 500, |n| {
            format!(
                "DECLARE @v int; DECLARE c CURSOR SCROLL STATIC FOR SELECT id FROM t; OPEN c; {}; CLOSE c",
                rounds(n, "FETCH ABSOLUTE @i FROM c INTO @v")
            )
        })
        .after(filled),
        Case::new("fast forward cursor", 500, |n| {
            format!(
                "DECLARE @v int; DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT id FROM t; OPEN c; {}; CLOSE c",
                rounds(n, "FETCH NEXT FROM c INTO @v")
            )
        })
        .after(filled),
        Case::many("prepared handles", 100, |n| {
            (0..n)
                .map(|at| format!("DECLARE @h int; EXEC sp_prepare @h OUTPUT, N'@p int', N'SELECT @p + {at}'; EXEC sp_execute @h, 1"))
                .collect()
        }),
        Case::new("session context", 500, |n| {
            format!(
                "DECLARE @k nvarchar(20), @v sql_variant; {}",
                rounds(n, "SET @k = CONCAT('k', @i); EXEC sp_set_session_context @k, @i; SET @v = SESSION_CONTEXT(@k)")
            )
        }),
        Case::new("prepared XML documents", 200, |n| {
            format!("DECLARE @h int; {}", rounds(n, "EXEC sp_xml_preparedocument @h OUTPUT, N'<r/>'"))
        }),
        Case::new("messages of a batch", 500, |n| rounds(n, "PRINT @i")),
        Case::new("errors of a batch", 500, |n| {
            rounds(n, "BEGIN TRY SELECT 1 / 0 END TRY BEGIN CATCH SET @i = @i END CATCH")
        }),
    ]
}

fn calls() -> Vec<Case> {
    vec![
        Case::new("calls of a procedure", 500, |n| rounds(n, "EXEC p @i"))
            .after(|_| vec!["CREATE PROCEDURE p @i int AS RETURN @i".to_owned()]),
        Case::new("nested calls", 4, |n| format!("EXEC p {n}")).after(|_| {
            vec!["CREATE PROCEDURE p @i int AS IF @i > 0 BEGIN SET @i -= 1; EXEC p @i END".to_owned()]
        }),
        Case::new("EXEC of texts that differ", 200, |n| {
            "DECLARE @q nvarchar(99); ".to_owned()
                + &rounds(n, "SET @q = CONCAT(N'DECLARE @x int = 1; SET @x = ', @i, N' + ', @i); EXEC (@q)")
        }),
        Case::new("EXEC of plans that differ", 100, |n| {
            "DECLARE @q nvarchar(99); ".to_owned()
                + &rounds(n, "SET @q = CONCAT(N'DECLARE @x', @i, N' int = 1'); EXEC (@q)")
        }),
        Case::new("sp_executesql of one text", 500, |n| {
            rounds(n, "EXEC sp_executesql N'DECLARE @x int = @p', N'@p int', @i")
        }),
        Case::new("scalar function for each row", 500, |_| "SELECT SUM(dbo.f(v)) FROM t".to_owned())
            .after(|n| {
                let mut all = filled(n);
                all.push("CREATE FUNCTION dbo.f (@v int) RETURNS int AS BEGIN RETURN @v + 1 END".to_owned());
                all
            }),
        Case::new("table function for each row", 200, |_| {
            "SELECT COUNT(*) FROM t CROSS APPLY dbo.f(v)".to_owned()
        })
        .after(|n| {
            let mut all = filled(n);
            all.push(
                "CREATE FUNCTION dbo.f (@v int) RETURNS @r TABLE (a int) AS BEGIN INSERT @r VALUES (@v); RETURN END"
                    .to_owned(),
            );
            all
        }),
        Case::new("table-valued parameter", 1_000, |n| {
            format!("DECLARE @t dbo.ty; INSERT @t SELECT value FROM GENERATE_SERIES(1, {n}); EXEC p @t")
        })
        .after(|_| {
            vec![
                "CREATE TYPE dbo.ty AS TABLE (a int)".to_owned(),
                "CREATE PROCEDURE p @t dbo.ty READONLY AS SELECT SUM(a) FROM @t".to_owned(),
            ]
        }),
        Case::new("sequence values", 500, |n| {
            "DECLARE @v int; ".to_owned() + &rounds(n, "SET @v = NEXT VALUE FOR s")
        })
        .after(|_| vec!["CREATE SEQUENCE s AS int".to_owned()]),
        Case::new("events with many predicates", 20, |n| {
            format!(
                "CREATE EVENT SESSION e ON SERVER ADD EVENT sqlserver.sql_batch_completed (WHERE {}) \
                 ADD TARGET package0.ring_buffer; ALTER EVENT SESSION e ON SERVER STATE = START; \
                 ALTER EVENT SESSION e ON SERVER STATE = STOP; DROP EVENT SESSION e ON SERVER",
                list(n, " AND ", |at| format!("duration > {at}"))
            )
        }),
    ]
}
