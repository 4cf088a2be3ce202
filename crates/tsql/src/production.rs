//! The productions of the grammar that a client can make long or deep, with texts that do so.
//!
//! A list production repeats an item, a nested one contains itself. The compiler and the executor
//! must take any length of both: an answer or an error within seconds. Tests grow every production
//! of this table and send it to a server; a test of this crate requires that each function of the
//! parser with a loop, a list or parentheses is here.
//!
//! The texts read `t (a int, b int, c varchar(50), x xml)`, which has one row, and change `u`,
//! which has the same columns. `w (a int, b int)` is a columnstore of some hundred rows. `{n}` is
//! replaced by the number of the item.

/// How a production grows: by repeating or by nesting.
#[derive(Clone, Copy, Debug)]
pub enum Growth {
    /// `head item separator item .. tail`
    List {
        /// The text that is repeated.
        item: &'static str,
        /// The text between two items.
        separator: &'static str,
    },
    /// `head open open .. core .. close close tail`
    Nest {
        /// The text that opens a level.
        open: &'static str,
        /// The text at the innermost level.
        core: &'static str,
        /// The text that closes a level.
        close: &'static str,
    },
}

/// A production, with one way to grow it.
#[derive(Clone, Copy, Debug)]
pub struct Production {
    /// The functions of the parser that the text goes through, as `file::function`; empty if other
    /// productions cover them.
    pub parsers: &'static [&'static str],
    /// The text before the first item.
    pub head: &'static str,
    /// The part that grows.
    pub growth: Growth,
    /// The text behind the last item.
    pub tail: &'static str,
}

impl Production {
    /// Returns the production's text with `count` items or levels.
    #[must_use]
    pub fn grown(&self, count: usize) -> String {
        let mut text = self.head.to_owned();
        let numbered = |part: &str, number: usize| part.replace("{n}", &number.to_string());
        match self.growth {
            Growth::List { item, separator } => {
                for number in 0..count {
                    if number > 0 {
                        text.push_str(&numbered(separator, number));
                    }
                    text.push_str(&numbered(item, number));
                }
            }
            Growth::Nest { open, core, close } => {
                (0..count).for_each(|number| text.push_str(&numbered(open, number)));
                text.push_str(core);
                (0..count).rev().for_each(|number| text.push_str(&numbered(close, number)));
            }
        }
        text.push_str(self.tail);
        text
    }
}

const fn list(
    parsers: &'static [&'static str],
    head: &'static str,
    item: &'static str,
    separator: &'static str,
    tail: &'static str,
) -> Production {
    Production { parsers, head, growth: Growth::List { item, separator }, tail }
}

const fn nest(
    parsers: &'static [&'static str],
    head: &'static str,
    [open, core, close]: [&'static str; 3],
    tail: &'static str,
) -> Production {
    Production { parsers, head, growth: Growth::Nest { open, core, close }, tail }
}

/// Returns all productions, those of queries first.
pub fn productions() -> impl Iterator<Item = &'static Production> {
    [QUERIES, VALUES, CHANGES, CONTROL, DEFINITIONS, OPTIONS].into_iter().flatten()
}

/// Functions of the parser with a loop or parentheses that no client can make long or deep: each
/// part may appear once or a few times.
pub const BOUNDED: &[&str] = &[
    "call::cast",
    "call::convert",
    "control::try_catch",
    "database::database_suffix",
    "ddl::create_sequence",
    "dml::mutator",
    "event_session::comparator",
    "event_session::event_name",
    "event_session::predicate_source",
    "execute::execute_options",
    "from::system_time",
    "from::table_sample",
    "literal::long_string_of",
    "name::object_name",
    "name::type_name",
    "odbc::odbc_convert",
    "odbc::odbc_pair",
    "option::move_to",
    "partition::alter_partition_function",
    "query::for_clause",
    "query::optional_paren_string",
    "routine::create_procedure",
    "routine::function_options",
    "routine::parameter",
    "statement::delayed_durability",
    "table::identity",
    "table::masked",
    "table::storage",
];

#[rustfmt::skip]
const QUERIES: &[Production] = &[
    list(&["query::set_chain"], "", "SELECT a FROM t", " UNION ALL ", ""),
    list(&[], "", "SELECT a, c FROM t WHERE b = {n}", " UNION ", ""),
    list(&[], "", "SELECT a FROM t", " EXCEPT ", ""),
    list(&[], "", "SELECT a FROM t", " INTERSECT ", ""),
    list(&[], "", "SELECT a FROM t UNION ALL SELECT b FROM t", " EXCEPT ", ""),
    list(&[], "", "SELECT c FROM t UNION SELECT c + '{n}' FROM t", " UNION ALL ", ""),
    list(&[], "INSERT u (a) ", "SELECT a FROM t", " UNION ALL ", ""),
    list(&["from::table_refs"], "SELECT 1 FROM ", "t AS t{n}", ", ", ""),
    list(&["from::joins_of", "from::join"], "SELECT 1 FROM t AS s ", "JOIN t AS t{n} ON t{n}.a = s.a", " ", ""),
    list(&[], "SELECT COUNT(*) FROM t AS s ", "LEFT JOIN t AS t{n} ON t{n}.a = s.a", " ", ""),
    list(&[], "SELECT COUNT(*) FROM t AS s ", "CROSS JOIN t AS t{n}", " ", " WHERE s.a < 0"),
    list(&[], "SELECT COUNT(*) FROM t AS s ", "FULL JOIN t AS t{n} ON t{n}.a = s.a", " ", ""),
    list(&[], "SELECT 1 FROM t AS s ", "CROSS APPLY (SELECT s.a + {n} AS v) AS t{n}", " ", ""),
    list(&[], "SELECT 1 FROM t AS s ", "OUTER APPLY (SELECT TOP (1) b FROM t WHERE t.a = s.a) AS t{n}", " ", ""),
    nest(&["from::joins_before_on"], "SELECT 1 FROM ", ["t AS t{n} JOIN ", "t AS s", " ON 1 = 1"], ""),
    nest(&["from::paren_source"], "SELECT 1 FROM ", ["(", "t JOIN t AS s ON 1 = 1", ")"], ""),
    nest(&["expr::paren_query"], "SELECT 1 FROM ", ["(SELECT a FROM ", "t", ") AS t{n}"], ""),
    nest(&["from::odbc_join"], "SELECT 1 FROM ", ["{oj ", "t LEFT JOIN t AS s ON 1 = 1", "}"], ""),
    list(&["from::table_primary", "from::pivot"], "SELECT 1 FROM (SELECT a, b, c FROM t) AS s ", "PIVOT (MAX(a) FOR b IN ([{n}])) AS p{n}", " ", ""),
    list(&[], "SELECT 1 FROM (SELECT a, b, c FROM t) AS s PIVOT (MAX(a) FOR b IN (", "[{n}]", ", ", ")) AS p"),
    list(&["from::unpivot"], "SELECT 1 FROM t UNPIVOT (v FOR n IN (", "a", ", ", ")) AS p"),
    list(&["from::values_rows"], "SELECT * FROM (VALUES ", "({n}, 'x', NULL)", ", ", ") AS v (a, b, c)"),
    list(&["from::function_source"], "SELECT 1 FROM OPENJSON(N'[]') WITH (", "c{n} int", ", ", ") AS j"),
    list(&["from::bulk_source"], "SELECT 1 FROM OPENROWSET(BULK 'x', FORMAT = 'PARQUET', ", "O{n} = {n}", ", ", ") AS j"),
    list(&["from::table_alias"], "SELECT 1 FROM (SELECT 1 AS z) AS v (", "c{n}", ", ", ")"),
    list(&["query::with"], "WITH c AS (SELECT a FROM t), ", "c{n} AS (SELECT a FROM t)", ", ", " SELECT 1 FROM c"),
    list(&[], "WITH c AS (SELECT a FROM t), c0 AS (SELECT a FROM c), ", "d{n} AS (SELECT x.a FROM c AS x JOIN c AS y ON x.a = y.a), c{n}x AS (SELECT a FROM d{n})", ", ", " SELECT 1 FROM c0"),
    list(&["query::cte"], "WITH c (", "c{n}", ", ", ") AS (SELECT a FROM t) SELECT 1 FROM c"),
    nest(&["query::query_expression"], "", ["(", "SELECT a FROM t", ")"], ""),
    list(&["query::order_by"], "SELECT a FROM t ORDER BY ", "a + {n}", ", ", ""),
    list(&["select::query_spec"], "SELECT ", "a + {n} AS c{n}", ", ", " FROM t"),
    list(&[], "SELECT ", "(SELECT MAX(b) FROM t WHERE t.a = s.a) AS c{n}", ", ", " FROM t AS s"),
    list(&[], "SELECT ", "SUM(a + {n})", ", ", " FROM t GROUP BY b"),
    list(&[], "SELECT ", "COUNT(DISTINCT a + {n})", ", ", " FROM t"),
    list(&[], "SELECT ", "ROW_NUMBER() OVER (PARTITION BY a + {n} ORDER BY b)", ", ", " FROM t"),
    list(&["select::at_qualified_star", "select::qualified_star"], "SELECT ", "t.*", ", ", " FROM t"),
    list(&["select::group_by"], "SELECT 1 FROM t GROUP BY ", "a + {n}", ", ", ""),
    list(&["select::grouping_item", "select::grouping_set"], "SELECT 1 FROM t GROUP BY GROUPING SETS (", "(a, b)", ", ", ")"),
    list(&[], "SELECT 1 FROM t GROUP BY ROLLUP (", "a + {n}", ", ", ")"),
    list(&[], "SELECT 1 FROM t GROUP BY CUBE (", "a + {n}", ", ", ")"),
    list(&["select::windows"], "SELECT 1 FROM t WINDOW ", "w{n} AS (ORDER BY a)", ", ", ""),
    list(&["hint::hint_list"], "SELECT 1 FROM t WITH (", "NOLOCK", ", ", ")"),
    list(&["hint::index_hint"], "SELECT 1 FROM t WITH (INDEX (", "i{n}", ", ", "))"),
    list(&["hint::force_seek"], "SELECT 1 FROM t WITH (FORCESEEK (i (", "a", ", ", ")))"),
    list(&["hint::options"], "SELECT 1 FROM t OPTION (", "RECOMPILE", ", ", ")"),
    list(&["hint::query_hint"], "SELECT 1 FROM t OPTION (USE HINT (", "'h{n}'", ", ", "))"),
    list(&["hint::optimize_for"], "DECLARE @a int; SELECT 1 FROM t OPTION (OPTIMIZE FOR (", "@a = {n}", ", ", "))"),
    list(&["hint::table_query_hint"], "SELECT 1 FROM t OPTION (TABLE HINT (t, ", "NOLOCK", ", ", "))"),
    list(&["hint::word_hint"], "SELECT 1 FROM t OPTION (", "w{n}", " ", ")"),
];

#[rustfmt::skip]
const VALUES: &[Production] = &[
    list(&["expr::chain", "expr::additive_rest", "expr::multiplicative_rest"], "SELECT ", "a", " + ", " FROM t"),
    list(&[], "SELECT MAX(", "b", " * a + ", ") FROM t"),
    list(&[], "SELECT ", "c", " + ", " FROM t"),
    list(&[], "SELECT ", "CAST(a AS varchar(9)) + c", " + ", " FROM t"),
    list(&[], "SELECT ", "1", " + ", " FROM t"),
    list(&[], "DECLARE @v int = 1; SET @v = ", "@v", " - ", ""),
    list(&[], "DECLARE @v varchar(max) = ''; SELECT @v = ", "c", " + ", " FROM t"),
    list(&[], "SELECT a", " + a - b + a", "", " FROM t GROUP BY a, b"),
    nest(&["expr::factor"], "SELECT ", ["- ", "a", ""], " FROM t"),
    nest(&["expr::paren_expr"], "SELECT ", ["(", "a", " + b)"], " FROM t"),
    list(&["expr::postfix"], "SELECT SYSDATETIMEOFFSET() ", "AT TIME ZONE 'UTC'", " ", " FROM t"),
    nest(&["expr::at_paren_query"], "SELECT ", ["(", "SELECT 1", ")"], ""),
    nest(&["expr::word_expr"], "SELECT ", ["CASE WHEN a = {n} THEN 1 ELSE ", "0", " END"], " FROM t"),
    list(&["expr::case_branches"], "SELECT CASE ", "WHEN a = {n} THEN b + {n}", " ", " END FROM t"),
    list(&[], "SELECT CASE a + b ", "WHEN b + {n} THEN c", " ", " END FROM t"),
    list(&["call::arguments"], "SELECT CONCAT(", "c", ", ", ") FROM t"),
    list(&["call::call_arguments"], "SELECT COALESCE(", "a", ", ", ") FROM t"),
    list(&[], "SELECT COALESCE(", "a + {n}", ", ", ") FROM t"),
    list(&[], "SELECT COALESCE(", "(SELECT MAX(a) FROM t)", ", ", ")"),
    list(&[], "SELECT GREATEST(", "a + {n}", ", ", ") FROM t"),
    list(&[], "SELECT CHOOSE(a, ", "b + {n}", ", ", ") FROM t"),
    nest(&["call::call_by_name"], "SELECT ", ["IIF(a = {n}, 1, ", "0", ")"], " FROM t"),
    nest(&[], "SELECT ", ["ISNULL(a + {n}, ", "b", ")"], " FROM t"),
    nest(&[], "SELECT ", ["ABS(", "a", ")"], " FROM t"),
    nest(&[], "SELECT ", ["CAST(", "a", " AS bigint)"], " FROM t"),
    nest(&["call::call_with_suffixes"], "SELECT ", ["{fn ABS(", "a", ")}"], " FROM t"),
    nest(&[], "SELECT ", ["{fn UCASE(", "c", ")}"], " FROM t"),
    nest(&[], "SELECT ", ["{fn MOD(", "a", ", 7)}"], " FROM t"),
    list(&["call::call_suffixes"], "SELECT STRING_AGG(c, ',') WITHIN GROUP (ORDER BY ", "a + {n}", ", ", ") FROM t"),
    list(&["call::json_arguments"], "SELECT JSON_ARRAY(", "a", ", ", ") FROM t"),
    list(&["call::over", "call::window"], "SELECT SUM(a) OVER (PARTITION BY ", "a + {n}", ", ", ") FROM t"),
    list(&["condition::logic_chain"], "SELECT 1 FROM t WHERE ", "a = {n}", " AND ", ""),
    list(&[], "SELECT 1 FROM t WHERE ", "a = {n} AND b = {n}", " OR ", ""),
    list(&[], "SELECT 1 FROM t WHERE ", "a + b <> {n}", " AND ", ""),
    list(&[], "SELECT 1 FROM t WHERE ", "c LIKE '%{n}%'", " OR ", ""),
    list(&[], "SELECT 1 FROM t AS s WHERE ", "EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND t.b = {n})", " AND ", ""),
    list(&[], "SELECT 1 FROM t AS s WHERE ", "EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND t.b = {n})", " OR ", ""),
    list(&[], "SELECT 1 FROM t AS s WHERE ", "NOT EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND t.b = {n})", " AND ", ""),
    list(&[], "SELECT 1 FROM t AS s WHERE ", "s.a IN (SELECT a FROM t WHERE b = {n})", " AND ", ""),
    list(&[], "SELECT 1 FROM t AS s WHERE ", "s.a > (SELECT AVG(b) FROM t WHERE t.b = s.b)", " AND ", ""),
    nest(&["condition::not_either"], "SELECT 1 FROM t WHERE ", ["NOT ", "a = 1", ""], ""),
    nest(&["condition::comparison"], "SELECT 1 FROM t WHERE ", ["(", "a = 1", " OR b = {n})"], ""),
    nest(&[], "SELECT 1 FROM t WHERE ", ["a = (SELECT MAX(a) FROM t WHERE ", "a = 1", ")"], ""),
    nest(&[], "SELECT 1 FROM t WHERE ", ["a IN (SELECT a FROM t WHERE ", "a = 1", ")"], ""),
    nest(&[], "SELECT 1 FROM t AS t WHERE ", ["b = (SELECT MAX(s.b) FROM t AS s WHERE s.a = t.a AND ", "1 = 1", ")"], ""),
    nest(&["condition::predicate"], "SELECT 1 FROM t WHERE ", ["EXISTS (SELECT 1 FROM t WHERE ", "a = 1", ")"], ""),
    list(&["condition::in_test"], "SELECT 1 FROM t WHERE a IN (", "{n}", ", ", ")"),
    list(&[], "SELECT 1 FROM t WHERE a NOT IN (", "b + {n}", ", ", ")"),
    nest(&["expr::subquery_expr"], "SELECT ", ["(SELECT ", "a", " + MAX(a) FROM t)"], " FROM t"),
];

#[rustfmt::skip]
const CHANGES: &[Production] = &[
    list(&[], "SELECT SUM(", "a", " + ", ") FROM w WHERE a < 10"),
    list(&[], "SELECT SUM(CASE ", "WHEN a = {n} THEN b + {n}", " ", " END) FROM w"),
    list(&[], "SELECT COUNT(*) FROM w WHERE ", "a + b = {n}", " OR ", ""),
    list(&[], "SELECT COUNT(*) FROM w WHERE a IN (", "{n}", ", ", ")"),
    list(&[], "SELECT COUNT(*) FROM (", "SELECT a FROM w WHERE a = {n}", " UNION ALL ", ") AS q"),
    list(&[], "SELECT COUNT(*) FROM w AS s ", "JOIN w AS w{n} ON w{n}.a = s.a", " ", ""),
    list(&[], "SELECT ", "SUM(a + {n})", ", ", " FROM w"),
    list(&[], "SELECT COUNT(*) FROM w GROUP BY ", "a + {n}", ", ", ""),
    list(&["dml::insert"], "INSERT u (", "a", ", ", ") VALUES (1)"),
    list(&[], "INSERT u (a, b, c) VALUES ", "({n}, {n}, 'x{n}')", ", ", ""),
    list(&[], "INSERT u (a) VALUES ", "((SELECT MAX(a) FROM t))", ", ", ""),
    list(&["dml::output"], "UPDATE u SET a = 1 OUTPUT ", "inserted.a + {n}", ", ", ""),
    list(&["dml::update"], "UPDATE u SET ", "a = {n}", ", ", ""),
    list(&[], "UPDATE u SET a = ", "b", " + ", ""),
    list(&[], "DELETE u WHERE a = ", "b", " + ", ""),
    list(&["dml::at_column_assignment"], "UPDATE u SET ", "u", ".", " = 1"),
    list(&["dml::truncate"], "TRUNCATE TABLE u WITH (PARTITIONS (", "{n}", ", ", "))"),
    list(&["dml::insert_bulk"], "INSERT BULK u (", "c{n} int", ", ", ")"),
    list(&["dml::bulk_options", "option::once_list"], "BULK INSERT u FROM 'x' WITH (", "O{n}", ", ", ")"),
    list(&["dml::bulk_option"], "BULK INSERT u FROM 'x' WITH (ORDER (", "a", ", ", "))"),
    list(&["merge::merge"], "MERGE u AS t USING t AS s ON t.a = s.a ", "WHEN NOT MATCHED AND s.b = {n} THEN INSERT (a) VALUES (1)", " ", ";"),
    list(&["merge::merge_action"], "MERGE u AS t USING t AS s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (", "s.a", ", ", ");"),
    list(&[], "MERGE u AS t USING t AS s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (", "a", ", ", ") VALUES (1);"),
];

#[rustfmt::skip]
const CONTROL: &[Production] = &[
    list(&["statement::statements_to_end"], "", "SELECT {n}", "; ", ""),
    list(&[], "", "PRINT 1", " ", ""),
    list(&[], "PRINT 1", ";", "", ""),
    list(&["statement::statements_to_keyword_end"], "BEGIN ", "PRINT 1", "; ", " END"),
    nest(&["statement::statement"], "", ["IF 1 = 1 ", "PRINT 1", ""], ""),
    nest(&[], "", ["BEGIN ", "PRINT 1", " END"], ""),
    nest(&[], "", ["WHILE 1 = 0 ", "PRINT 1", ""], ""),
    nest(&[], "", ["BEGIN TRY ", "PRINT 1", " END TRY BEGIN CATCH PRINT 1 END CATCH"], ""),
    list(&["control::if_statement"], "DECLARE @a int = 1; ", "IF @a = {n} PRINT 'x'", " ELSE ", ""),
    list(&["control::atomic_block"], "CREATE PROCEDURE p WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH (", "DATEFIRST = {n}", ", ", ") SELECT 1 END"),
    list(&["control::raise_error"], "RAISERROR ('x', 10, 1, ", "{n}", ", ", ")"),
    list(&["control::declare"], "DECLARE ", "@v{n} int = {n}", ", ", ""),
    list(&["cursor::fetch"], "FETCH NEXT FROM c INTO ", "@v", ", ", ""),
    list(&["cursor::declare_cursor"], "DECLARE c ", "SCROLL", " ", " CURSOR FOR SELECT 1"),
    list(&["cursor::cursor_definition"], "DECLARE c CURSOR ", "LOCAL", " ", " FOR SELECT 1"),
    list(&["cursor::cursor_access"], "DECLARE c CURSOR FOR SELECT a FROM t FOR UPDATE OF ", "a", ", ", ""),
    list(&["cursor::cursor_query"], "DECLARE c CURSOR FOR SELECT ", "a", " + ", " FROM t"),
    list(&["execute::call"], "EXEC sp_executesql N'SELECT 1', N'', ", "@v{n} = {n}", ", ", ""),
    list(&["execute::execute_string"], "EXEC (", "'SELECT 1 '", " + ", ")"),
    list(&["execute::execute_option"], "EXEC sp_who WITH RESULT SETS (", "(a int)", ", ", ")"),
    list(&["execute::odbc_call"], "{call sp_who(", "{n}", ", ", ")}"),
    list(&["set::set_option"], "SET ", "NOCOUNT", ", ", " ON"),
    list(&["set::set_switches"], "SET STATISTICS ", "IO", ", ", " OFF"),
    list(&["set::dbcc"], "DBCC TRACEON (", "{n}", ", ", ")"),
    list(&["unsupported::unsupported_here", "unsupported::unsupported_as"], "RESTORE DATABASE d WITH ", "STATS = {n}", ", ", ""),
    list(&["backup::backup_disks"], "RESTORE VERIFYONLY FROM ", "DISK = 'x'", ", ", ""),
    list(&["backup::backup_options"], "BACKUP DATABASE nosuch TO DISK = 'x' WITH ", "STATS = {n}", ", ", ""),
    list(&["statement::must_be_last"], "CREATE VIEW v AS SELECT 1 AS a", ";", "", ""),
];

#[rustfmt::skip]
const DEFINITIONS: &[Production] = &[
    list(&["table::table_elements"], "CREATE TABLE #u (", "c{n} int", ", ", ")"),
    list(&["table::table_element"], "CREATE TABLE #u (a int, ", "INDEX i{n} (a)", ", ", ")"),
    list(&["table::column_definition"], "CREATE TABLE #u (a int ", "NULL", " ", ")"),
    list(&["table::key", "index::index_rest"], "CREATE TABLE #u (a int, PRIMARY KEY (", "a", ", ", "))"),
    list(&["table::foreign_key"], "CREATE TABLE #u (a int, FOREIGN KEY (", "a", ", ", ") REFERENCES t (a))"),
    list(&["table::check"], "CREATE TABLE #u (a int, CHECK (", "a <> {n}", " AND ", "))"),
    list(&[], "CREATE TABLE #u (a int, ", "CHECK (a <> {n})", ", ", ")"),
    list(&[], "CREATE TABLE #u (a int, b AS ", "a", " + ", "); INSERT #u (a) VALUES (1); SELECT b FROM #u"),
    list(&[], "CREATE TABLE #u (a int DEFAULT ", "1", " + ", ")"),
    list(&["table::connection"], "CREATE TABLE #u (CONNECTION (", "t TO t", ", ", ")) AS EDGE"),
    list(&[], "CREATE TABLE #u (a int) ON ps (", "a", ", ", ")"),
    list(&["alter_table::switch"], "ALTER TABLE t SWITCH TO u WITH (", "WAIT_AT_LOW_PRIORITY (MAX_DURATION = {n} MINUTES, ABORT_AFTER_WAIT = NONE)", ", ", ")"),
    list(&["partition::create_partition_function"], "CREATE PARTITION FUNCTION f (", "int", ", ", ") AS RANGE FOR VALUES (1)"),
    list(&["partition::boundary_values"], "CREATE PARTITION FUNCTION f (int) AS RANGE RIGHT FOR VALUES (", "{n}", ", ", ")"),
    list(&["partition::create_partition_scheme"], "CREATE PARTITION SCHEME s AS PARTITION f TO (", "[PRIMARY]", ", ", ")"),
    list(&["table::table_options"], "CREATE TABLE #u (a int) WITH (", "DATA_COMPRESSION = NONE", ", ", ")"),
    list(&["alter_table::alter_table_action", "alter_table::alter_add"], "ALTER TABLE u ADD ", "c{n} int", ", ", ""),
    list(&["alter_table::alter_drop"], "ALTER TABLE u DROP COLUMN ", "z{n}", ", ", ""),
    list(&["alter_table::all_or_names"], "ALTER TABLE u NOCHECK CONSTRAINT ", "z{n}", ", ", ""),
    list(&["index::alter_index"], "ALTER INDEX i ON u SET (", "ALLOW_ROW_LOCKS = ON", ", ", ")"),
    list(&["index::drop_index"], "DROP INDEX ", "i{n} ON u", ", ", ""),
    list(&["option::move_to"], "DROP INDEX i ON u WITH (MOVE TO s (", "c{n}", ", ", "))"),
    list(&["index::create_statistics"], "CREATE STATISTICS s ON u (", "a", ", ", ")"),
    list(&["index::update_statistics", "index::statistics_options"], "UPDATE STATISTICS u (", "s{n}", ", ", ") WITH FULLSCAN"),
    list(&[], "CREATE INDEX i ON u (a) WHERE ", "a <> {n}", " AND ", ""),
    list(&["option::index_options"], "CREATE INDEX i ON u (a) WITH (", "FILLFACTOR = 90", ", ", ")"),
    list(&["option::index_option"], "CREATE INDEX i ON u (a) WITH (DATA_COMPRESSION = NONE ON PARTITIONS (", "{n}", ", ", "))"),
    list(&["ddl::create_schema"], "CREATE SCHEMA z ", "GRANT SELECT ON t TO public", " ", ""),
    list(&["ddl::create_view"], "CREATE VIEW v (", "c{n}", ", ", ") AS SELECT a FROM t"),
    list(&[], "CREATE VIEW v2 AS SELECT ", "a", " + ", " AS z FROM t"),
    list(&[], "CREATE VIEW v3 AS ", "SELECT a FROM t", " UNION ALL ", ""),
    list(&["ddl::drop_names"], "DROP TABLE IF EXISTS ", "z{n}", ", ", ""),
    list(&["routine::procedure_parameters"], "CREATE PROCEDURE p2 ", "@v{n} int", ", ", " AS SELECT 1"),
    nest(&["routine::parameter_default"], "CREATE PROCEDURE p7 @v int = ", ["(", "1", ")"], " AS SELECT 1"),
    list(&[], "CREATE PROCEDURE p4 AS SELECT ", "a", " + ", " FROM t"),
    list(&[], "CREATE PROCEDURE p5 AS ", "SELECT a FROM t", " UNION ALL ", ""),
    nest(&[], "CREATE PROCEDURE p6 AS ", ["BEGIN ", "PRINT 1", " END"], ""),
    list(&["routine::create_function"], "CREATE FUNCTION f1 (", "@v{n} int", ", ", ") RETURNS int AS BEGIN RETURN 1 END"),
    list(&[], "CREATE FUNCTION f2 (@a int) RETURNS int AS BEGIN RETURN ", "@a", " + ", " END"),
    list(&["routine::table_function_body"], "CREATE FUNCTION f3 () RETURNS TABLE AS RETURN (", "SELECT a FROM t", " UNION ALL ", ")"),
    list(&["routine::create_trigger"], "CREATE TRIGGER g ON u AFTER ", "INSERT", ", ", " AS PRINT 1"),
    list(&["routine::enable_trigger"], "DISABLE TRIGGER ", "g{n}", ", ", " ON u"),
    list(&["event_session::create_event_session", "event_session::add_event"], "CREATE EVENT SESSION e1 ON SERVER ", "ADD EVENT sqlserver.rpc_completed", ", ", ""),
    list(&["event_session::add_target"], "CREATE EVENT SESSION e2 ON SERVER ADD EVENT sqlserver.rpc_completed ADD TARGET package0.ring_buffer (SET ", "max_memory = {n}", ", ", ")"),
    list(&["event_session::session_options"], "CREATE EVENT SESSION e3 ON SERVER ADD EVENT sqlserver.rpc_completed WITH (", "MAX_MEMORY = {n} KB", ", ", ")"),
    list(&["event_session::event_chain"], "CREATE EVENT SESSION e4 ON SERVER ADD EVENT sqlserver.rpc_completed (WHERE ", "duration > {n}", " AND ", ")"),
    nest(&["event_session::event_factor"], "CREATE EVENT SESSION e5 ON SERVER ADD EVENT sqlserver.rpc_completed (WHERE ", ["(", "duration > 1", ")"], ")"),
    nest(&["event_session::event_value"], "CREATE EVENT SESSION e6 ON SERVER ADD EVENT sqlserver.rpc_completed (WHERE duration > ", ["(", "1", ")"], ")"),
    list(&["event_session::alter_event_session"], "ALTER EVENT SESSION e1 ON SERVER ", "DROP EVENT sqlserver.rpc_completed", ", ", ""),
];

#[rustfmt::skip]
const OPTIONS: &[Production] = &[
    list(&["database::create_database", "database::file_spec"], "CREATE DATABASE d1 ON (", "O{n} = n{n}", ", ", ")"),
    list(&["database::database_files"], "CREATE DATABASE d2 ON ", "(NAME = n{n})", ", ", ""),
    list(&["database::add_file"], "ALTER DATABASE d4 ADD FILE ", "(NAME = n{n})", ", ", ""),
    list(&["database::database_set", "database::query_store_suffix"], "ALTER DATABASE d5 SET ", "AUTO_CLOSE OFF", ", ", ""),
    list(&["external::external_options"], "CREATE EXTERNAL DATA SOURCE z WITH (", "LOCATION = 'x{n}'", ", ", ")"),
    list(&["external::create_external_table"], "CREATE EXTERNAL TABLE z (", "c{n} int", ", ", ") WITH (LOCATION = 'x')"),
    nest(&["option::named_option", "option::option_value", "option::on_value"], "CREATE EXTERNAL FILE FORMAT z WITH (FORMAT_OPTIONS ", ["(A = ", "(A = 1)", ")"], ")"),
    list(&["security::create_principal"], "CREATE APPLICATION ROLE r WITH ", "O{n} = 'x{n}'", ", ", ""),
    list(&["security::create_user"], "CREATE USER u WITHOUT LOGIN WITH ", "O{n} = dbo", ", ", ""),
    list(&["security::create_login"], "CREATE LOGIN l WITH PASSWORD = 'Secret-1', ", "O{n} = OFF", ", ", ""),
    list(&["security::login_option"], "CREATE LOGIN l WITH PASSWORD = 'Secret-1' ", "MUST_CHANGE", " ", ""),
    list(&["security::alter_principal"], "ALTER USER u WITH ", "O{n} = dbo", ", ", ""),
    list(&["security::permission", "security::permission_name"], "GRANT ", "SELECT", ", ", " ON t TO public"),
    list(&[], "GRANT SELECT ON t TO ", "u{n}", ", ", ""),
    list(&["security::securable"], "GRANT SELECT ON t (", "a", ", ", ") TO public"),
];
