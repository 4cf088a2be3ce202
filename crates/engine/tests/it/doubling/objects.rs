//! Many objects: definitions, and views over them.

#![expect(clippy::too_many_lines, reason = "lists of cases")]

use super::{Case, list};

fn tables(n: usize) -> Vec<String> {
    (0..n).map(|at| format!("CREATE TABLE t{at} (id int PRIMARY KEY, v int)")).collect()
}

fn each(n: usize, text: impl Fn(usize) -> String) -> Vec<String> {
    (0..n).map(text).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = definitions();
    all.extend(of_one_table());
    let copies = |case: Case| case.at_most(2.4, "each definition copies the list of objects");
    all = all.into_iter().map(copies).collect();
    all.extend(views());
    all
}

fn definitions() -> Vec<Case> {
    vec![
        Case::many("CREATE TABLE, many", 100, tables),
        Case::many("DROP TABLE, many", 100, |n| each(n, |at| format!("DROP TABLE t{at}")))
            .after(tables),
        Case::new("CREATE TABLE, many in a transaction", 100, |n| {
            format!("BEGIN TRAN; {}; COMMIT", tables(n).join("; "))
        }),
        Case::many("INSERT into each table", 100, |n| {
            each(n, |at| format!("INSERT t{at} VALUES (1, 2)"))
        })
        .after(tables),
        Case::many("CREATE VIEW, many", 100, |n| {
            each(n, |at| format!("CREATE VIEW v{at} AS SELECT * FROM t0"))
        })
        .after(|_| tables(1)),
        Case::many("CREATE PROCEDURE, many", 100, |n| {
            each(n, |at| format!("CREATE PROCEDURE p{at} AS SELECT {at}"))
        }),
        Case::many("EXEC of each procedure", 100, |n| each(n, |at| format!("EXEC p{at}")))
            .after(|n| each(n, |at| format!("CREATE PROCEDURE p{at} AS SELECT {at}"))),
        Case::many("CREATE SCHEMA, many", 100, |n| each(n, |at| format!("CREATE SCHEMA s{at}"))),
        Case::many("CREATE LOGIN and USER, many", 20, |n| {
            each(n, |at| {
                format!(
                    "CREATE LOGIN l{at} WITH PASSWORD = 'Secret-{at}'; CREATE USER u{at} FOR LOGIN l{at}"
                )
            })
        }),
        Case::many("CREATE USER, many", 100, |n| {
            each(n, |at| format!("CREATE USER u{at} WITHOUT LOGIN"))
        }),
        Case::many("CREATE ROLE and members", 50, |n| {
            each(n, |at| format!("CREATE ROLE r{at}; ALTER ROLE r{at} ADD MEMBER u"))
        })
        .after(|_| vec!["CREATE USER u WITHOUT LOGIN".to_owned()]),
        Case::many("chain of roles", 10, |n| {
            each(n, |at| {
                format!("CREATE ROLE r{at}; ALTER ROLE r{} ADD MEMBER r{at}", at.saturating_sub(1))
            })
            .into_iter()
            .skip(1)
            .collect()
        })
        .after(|_| vec!["CREATE ROLE r0".to_owned()]),
        Case::many("GRANT to many", 100, |n| each(n, |at| format!("GRANT SELECT ON t0 TO u{at}")))
            .after(|n| {
                let mut all = tables(1);
                all.extend(each(n, |at| format!("CREATE USER u{at} WITHOUT LOGIN")));
                all
            }),
        Case::many("GRANT on many", 100, |n| each(n, |at| format!("GRANT SELECT ON t{at} TO u")))
            .after(|n| {
                let mut all = tables(n);
                all.push("CREATE USER u WITHOUT LOGIN".to_owned());
                all
            }),
        Case::many("permission checks with many grants", 200, |n| {
            let mut all = vec!["EXECUTE AS USER = 'u'".to_owned()];
            all.extend(each(n, |at| format!("SELECT * FROM t{at}")));
            all.push("REVERT".to_owned());
            all
        })
        .after(|n| {
            let mut all = tables(n);
            all.push("CREATE USER u WITHOUT LOGIN".to_owned());
            all.extend(each(n, |at| format!("GRANT SELECT ON t{at} TO u")));
            all
        }),
        Case::many("CREATE SYNONYM, TYPE, SEQUENCE", 50, |n| {
            each(n, |at| {
                format!(
                    "CREATE SYNONYM y{at} FOR t0; CREATE TYPE ty{at} FROM int; CREATE SEQUENCE q{at}"
                )
            })
        }),
        Case::many("CREATE DATABASE, many", 5, |n| each(n, |at| format!("CREATE DATABASE e{at}"))),
        Case::many("extended properties", 50, |n| {
            each(n, |at| {
                format!("EXEC sp_addextendedproperty 'x{at}', 'y', 'SCHEMA', 'dbo', 'TABLE', 't0'")
            })
        })
        .after(|_| tables(1)),
        Case::many("sp_rename of each", 50, |n| {
            each(n, |at| format!("EXEC sp_rename 't{at}', 'u{at}'"))
        })
        .after(tables),
    ]
}

fn of_one_table() -> Vec<Case> {
    let table = |_: usize| tables(1);
    vec![
        Case::many("CREATE INDEX, many", 20, |n| {
            each(n, |at| format!("CREATE INDEX i{at} ON t0 (v)"))
        })
        .after(table),
        Case::new("INSERT into a table with many indexes", 20, |n| {
            format!("INSERT t0 SELECT value, value FROM GENERATE_SERIES(1, 200); SELECT {n}")
        })
        .after(|n| {
            let mut all = tables(1);
            all.extend(each(n, |at| format!("CREATE INDEX i{at} ON t0 (v)")));
            all
        }),
        Case::many("ALTER TABLE ADD, many columns", 20, |n| {
            each(n, |at| format!("ALTER TABLE t0 ADD c{at} int"))
        })
        .after(table),
        Case::many("ADD CONSTRAINT, many checks", 20, |n| {
            each(n, |at| format!("ALTER TABLE t0 ADD CONSTRAINT k{at} CHECK (v > {at})"))
        })
        .after(table),
        Case::new("INSERT with many checks", 20, |n| format!("INSERT t0 VALUES (1, {})", n + 1))
            .after(|n| {
                vec![format!(
                    "CREATE TABLE t0 (id int PRIMARY KEY, v int, {})",
                    list(n, ", ", |at| format!("CHECK (v > {at})"))
                )]
            }),
        Case::many("foreign keys to one table", 20, |n| {
            each(n, |at| format!("CREATE TABLE f{at} (id int PRIMARY KEY REFERENCES t0 (id))"))
        })
        .after(table),
        Case::new("DELETE of a parent of many tables", 20, |_| "DELETE t0".to_owned()).after(|n| {
            let mut all = tables(1);
            all.push("INSERT t0 VALUES (1, 1)".to_owned());
            all.extend(each(n, |at| {
                format!("CREATE TABLE f{at} (id int PRIMARY KEY REFERENCES t0 (id))")
            }));
            all
        }),
        Case::many("CREATE TRIGGER, many", 20, |n| {
            each(n, |at| format!("CREATE TRIGGER r{at} ON t0 AFTER INSERT AS SET NOCOUNT ON"))
        })
        .after(table),
        Case::new("INSERT with many triggers", 20, |_| "INSERT t0 VALUES (1, 1)".to_owned()).after(
            |n| {
                let mut all = tables(1);
                all.extend(each(n, |at| {
                    format!("CREATE TRIGGER r{at} ON t0 AFTER INSERT AS SET NOCOUNT ON")
                }));
                all
            },
        ),
        Case::new("CREATE STATISTICS, many", 20, |n| {
            list(n, "; ", |at| format!("CREATE STATISTICS s{at} ON t0 (v)"))
        })
        .after(table),
        Case::new("partition function with many boundaries", 100, |n| {
            format!(
                "CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES ({}); \
                 CREATE PARTITION SCHEME s AS PARTITION f ALL TO ([PRIMARY]); \
                 CREATE TABLE p (id int PRIMARY KEY) ON s (id); \
                 INSERT p SELECT value FROM GENERATE_SERIES(1, 1000)",
                list(n, ", ", |at| at.to_string())
            )
        }),
    ]
}

fn views() -> Vec<Case> {
    let view = |name, query: &'static str| {
        Case::new(name, 100, move |_| query.to_owned()).after(|n| {
            let mut all = tables(n);
            all.extend(each(n, |at| format!("CREATE VIEW v{at} AS SELECT id FROM t{at}")));
            all
        })
    };
    vec![
        view("sys.objects", "SELECT COUNT(*), MAX(name) FROM sys.objects"),
        view("sys.columns joined with sys.tables", "SELECT COUNT(*) FROM sys.columns c JOIN sys.tables t ON t.object_id = c.object_id"),
        view("sys.indexes, sys.index_columns, sys.columns", "SELECT COUNT(*) FROM sys.indexes i JOIN sys.index_columns x ON x.object_id = i.object_id AND x.index_id = i.index_id JOIN sys.columns c ON c.object_id = x.object_id AND c.column_id = x.column_id"),
        view("INFORMATION_SCHEMA.COLUMNS", "SELECT COUNT(*), MAX(COLUMN_NAME) FROM INFORMATION_SCHEMA.COLUMNS"),
        view("INFORMATION_SCHEMA keys", "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS t JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE k ON k.CONSTRAINT_NAME = t.CONSTRAINT_NAME"),
        view("OBJECT_ID, OBJECT_NAME of all", "SELECT COUNT(OBJECT_ID(name)), COUNT(OBJECT_NAME(object_id)) FROM sys.objects"),
        view("COL_NAME, COLUMNPROPERTY of all", "SELECT COUNT(COL_NAME(object_id, column_id)), SUM(COLUMNPROPERTY(object_id, name, 'AllowsNull')) FROM sys.columns"),
        view("OBJECT_DEFINITION of all", "SELECT SUM(LEN(OBJECT_DEFINITION(object_id))) FROM sys.objects"),
        view("sys.sql_modules", "SELECT MAX(definition) FROM sys.sql_modules"),
        Case::new("dependencies of a procedure that names many", 100, |_| {
            "SELECT COUNT(*) FROM sys.sql_expression_dependencies".to_owned()
        })
        .after(|n| {
            let named = list(n, "; ", |at| format!("SELECT * FROM dbo.x{at}"));
            vec![format!("CREATE PROCEDURE p AS {named}")]
        }),
        view("OBJECT_ID of names that are not there", "SELECT COUNT(*), COUNT(OBJECT_ID('dbo.none_' + name)) FROM sys.objects").at_most(2.2, "each compares the names of all constraints"),
        view("sys.sql_expression_dependencies", "SELECT COUNT(*) FROM sys.sql_expression_dependencies"),
        view("sys.dm_sql_referenced_entities of all", "SELECT COUNT(*) FROM sys.views v CROSS APPLY sys.dm_sql_referenced_entities('dbo.' + v.name, 'OBJECT') r"),
        view("sys.dm_sql_referencing_entities of one", "SELECT COUNT(*) FROM sys.dm_sql_referencing_entities('dbo.t1', 'OBJECT')"),
        view("sp_depends, sp_help of one", "EXEC sp_help 't1'; EXEC sp_helptext 'v1'"),
        view("sp_tables, sp_columns", "EXEC sp_tables; EXEC sp_columns '%'"),
        view("sp_MSforeachtable", "EXEC sp_MSforeachtable 'SELECT 1'"),
        view("sys.partitions, sys.allocation_units", "SELECT COUNT(*) FROM sys.partitions p JOIN sys.allocation_units a ON a.container_id = p.partition_id"),
        view("sys.dm_db_partition_stats", "SELECT SUM(row_count) FROM sys.dm_db_partition_stats"),
        view("sys.dm_db_index_usage_stats", "SELECT COUNT(*) FROM sys.dm_db_index_usage_stats"),
        view("sys.stats, sys.stats_columns", "SELECT COUNT(*) FROM sys.stats s JOIN sys.stats_columns c ON c.object_id = s.object_id AND c.stats_id = s.stats_id"),
        view("sys.database_permissions", "SELECT COUNT(*) FROM sys.database_permissions"),
        view("fn_my_permissions, HAS_PERMS_BY_NAME of all", "SELECT SUM(HAS_PERMS_BY_NAME('dbo.' + name, 'OBJECT', 'SELECT')) FROM sys.objects WHERE schema_id = 1"),
        Case::new("plan views over many plans", 100, |_| {
            "SELECT COUNT(*) FROM sys.dm_exec_cached_plans p CROSS APPLY sys.dm_exec_sql_text(p.plan_handle) t; \
             SELECT COUNT(*) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t"
                .to_owned()
        })
        .after(|n| each(n, |at| format!("SELECT 1 AS a{at}"))),
        Case::new("query plans of many plans", 50, |_| {
            "SELECT COUNT(*) FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_query_plan(q.plan_handle) p".to_owned()
        })
        .after(|n| each(n, |at| format!("SELECT 1 AS a{at}"))),
        Case::new("sys.triggers, sys.check_constraints of many", 50, |_| {
            "SELECT COUNT(*) FROM sys.triggers; SELECT COUNT(*) FROM sys.check_constraints; \
             SELECT COUNT(*) FROM sys.foreign_keys f JOIN sys.foreign_key_columns c ON c.constraint_object_id = f.object_id"
                .to_owned()
        })
        .after(|n| {
            let mut all = tables(1);
            all.extend(each(n, |at| {
                format!("CREATE TABLE f{at} (id int PRIMARY KEY REFERENCES t0 (id), v int CHECK (v > 0))")
            }));
            all.extend(each(n, |at| format!("CREATE TRIGGER r{at} ON f{at} AFTER INSERT AS SET NOCOUNT ON")));
            all
        }),
        Case::new("sys.server_principals, sys.database_principals", 50, |_| {
            "SELECT COUNT(*), SUM(IS_MEMBER(name)) FROM sys.database_principals; \
             SELECT COUNT(*) FROM sys.database_role_members"
                .to_owned()
        })
        .after(|n| {
            each(n, |at| format!("CREATE USER u{at} WITHOUT LOGIN; ALTER ROLE db_datareader ADD MEMBER u{at}"))
        }),
    ]
}
