//! What a login without permissions can learn: every system view, table function and procedure, the metadata functions
//! and DBCC are asked by it, and the answers are searched for names, texts and values of objects that it has no
//! permission on.
//!
//! Each hidden name, text and value contains a word like `m_..._zq`. An answer may contain the
//! words of the question, since messages repeat names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::instance::Instance;
use engine::session::Session;

use crate::client::{Answer, batch, describe, instance, login, sets};
use crate::security::login_as;

/// Statements of sa that make the hidden objects.
const SETUP: &str = "
CREATE DATABASE vault
CREATE LOGIN poor WITH PASSWORD = 'Secret-1'
CREATE LOGIN m_login_zq WITH PASSWORD = 'Secret-1'
USE vault
ALTER DATABASE vault SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL)
CREATE USER poor
CREATE USER m_user_zq FOR LOGIN m_login_zq
CREATE ROLE m_role_zq
CREATE TABLE m_table_zq (id int IDENTITY CONSTRAINT m_pk_zq PRIMARY KEY, m_column_zq nvarchar(60) NOT NULL \
    CONSTRAINT m_default_zq DEFAULT N'm_defaulttext_zq', n int, m_computed_zq AS m_column_zq + N'm_computedtext_zq', \
    CONSTRAINT m_check_zq CHECK (m_column_zq <> N'm_checktext_zq'))
INSERT m_table_zq (m_column_zq, n) VALUES (N'm_row_zq', 1), (N'm_second_zq', 2), (N'm_third_zq', 3)
CREATE INDEX m_index_zq ON m_table_zq (m_column_zq) WHERE m_column_zq <> N'm_filter_zq'
CREATE UNIQUE INDEX m_unique_zq ON m_table_zq (m_column_zq)
CREATE STATISTICS m_statistics_zq ON m_table_zq (m_column_zq) WITH FULLSCAN
CREATE TABLE m_columnstore_zq (v nvarchar(60), INDEX m_cci_zq CLUSTERED COLUMNSTORE)
INSERT m_columnstore_zq VALUES (N'm_columnar_zq')
CREATE TABLE m_temporal_zq (id int PRIMARY KEY, v nvarchar(50), f datetime2 GENERATED ALWAYS AS ROW START NOT NULL, \
    t datetime2 GENERATED ALWAYS AS ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (f, t)) \
    WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.m_history_zq))
INSERT m_temporal_zq (id, v) VALUES (1, N'm_now_zq')
UPDATE m_temporal_zq SET v = N'm_then_zq'
CREATE TABLE m_child_zq (a int CONSTRAINT m_fk_zq REFERENCES m_table_zq (id))
CREATE VIEW m_view_zq AS SELECT m_column_zq, N'm_viewtext_zq' AS m_viewcolumn_zq FROM m_table_zq
CREATE PROCEDURE m_procedure_zq @m_parameter_zq nvarchar(40) = N'm_parameterdefault_zq' AS \
    SELECT N'm_proceduretext_zq', * FROM m_table_zq WHERE m_column_zq = @m_parameter_zq
CREATE FUNCTION m_function_zq (@m_argument_zq int) RETURNS nvarchar(40) AS BEGIN RETURN N'm_functiontext_zq' END
CREATE FUNCTION m_inline_zq (@x int) RETURNS TABLE AS RETURN SELECT N'm_inlinetext_zq' AS m_inlinecolumn_zq
CREATE TRIGGER m_trigger_zq ON m_table_zq AFTER UPDATE AS PRINT N'm_triggertext_zq'
CREATE TRIGGER m_ddltrigger_zq ON DATABASE FOR DROP_TABLE AS PRINT N'm_ddltext_zq'
CREATE SEQUENCE m_sequence_zq
CREATE SYNONYM m_synonym_zq FOR m_table_zq
CREATE TYPE m_alias_zq FROM nvarchar(30)
CREATE TYPE m_tabletype_zq AS TABLE (m_typecolumn_zq int DEFAULT 7 CHECK (m_typecolumn_zq > 0))
EXEC sp_addextendedproperty N'm_property_zq', N'm_propertyvalue_zq', 'SCHEMA', 'dbo', 'TABLE', 'm_table_zq'
EXEC sp_addextendedproperty N'm_typeproperty_zq', N'm_typevalue_zq', 'SCHEMA', 'dbo', 'TYPE', 'm_alias_zq'
CREATE EVENT SESSION m_events_zq ON SERVER ADD EVENT sqlserver.sql_batch_completed (ACTION (sqlserver.sql_text)) \
    ADD TARGET package0.ring_buffer
ALTER EVENT SESSION m_events_zq ON SERVER STATE = START
EXEC m_procedure_zq N'm_value_zq'
SELECT m_column_zq, N'm_adhoc_zq' FROM m_table_zq WHERE n = 2
EXEC sp_executesql N'SELECT N''m_dynamic_zq'' FROM m_table_zq WHERE m_column_zq = @p', N'@p nvarchar(40)', N'm_sent_zq'
GRANT EXECUTE ON m_function_zq TO m_role_zq
ALTER ROLE m_role_zq ADD MEMBER m_user_zq
EXEC sp_set_session_context N'm_key_zq', N'm_context_zq'
SELECT N'm_local_zq' AS a INTO #m_temporary_zq
BEGIN TRANSACTION m_transaction_zq; UPDATE m_table_zq SET n = 5 WHERE m_column_zq = N'm_row_zq'";

/// Metadata functions of an object whose id is `{i}`.
const FUNCTIONS: &str = "OBJECT_NAME({i})|OBJECT_NAME({i}, DB_ID())|OBJECT_DEFINITION({i})|COL_NAME({i}, 1)|\
    COL_NAME({i}, 2)|INDEX_COL('vault.dbo.m_table_zq', 1, 1)|INDEX_COL('m_table_zq', 2, 1)|\
    OBJECTPROPERTYEX({i}, 'BaseType')|TYPE_NAME(257)|TYPE_NAME(258)|SUSER_SNAME(SUSER_SID('m_login_zq'))|\
    SESSION_CONTEXT(N'm_key_zq')|TYPE_ID('m_alias_zq')|OBJECT_ID('m_table_zq')|COL_LENGTH('m_table_zq', 'm_column_zq')|\
    COLUMNPROPERTY({i}, 'm_column_zq', 'ColumnId')|IDENT_CURRENT('m_table_zq')|STATS_DATE({i}, 1)|\
    OBJECTPROPERTY({i}, 'IsTable')|OBJECT_SCHEMA_NAME({i})|DATABASE_PRINCIPAL_ID('m_user_zq')";

/// Arguments of DBCC, with the command.
const DBCC: &str = "SHOW_STATISTICS ('m_table_zq', 'm_statistics_zq')|SHOW_STATISTICS ('m_table_zq', 'm_pk_zq')|\
    OPENTRAN|OPENTRAN ('vault')|CHECKTABLE ('m_table_zq')|CHECKDB|CHECKIDENT ('m_table_zq', NORESEED)|\
    CHECKCONSTRAINTS|CHECKCONSTRAINTS ('m_table_zq')|USEROPTIONS|SQLPERF (LOGSPACE)|PROCCACHE|MEMORYSTATUS|\
    INPUTBUFFER (51)|OUTPUTBUFFER (51)|UPDATEUSAGE (0)|SHOWCONTIG|SHOWCONTIG ('m_table_zq')";

/// Statements that name what is hidden: their messages may tell nothing else.
const STATEMENTS: &str = "SELECT * FROM m_table_zq|SELECT 1 WHERE EXISTS (SELECT * FROM m_table_zq WHERE 1 / 0 = 1)|\
    SELECT CAST(m_column_zq AS int) FROM m_table_zq|INSERT m_table_zq (n) VALUES (1)|UPDATE m_table_zq SET n = 1|\
    DELETE m_table_zq|TRUNCATE TABLE m_table_zq|SELECT * FROM m_view_zq|EXEC m_procedure_zq|SELECT dbo.m_function_zq(1)|\
    SELECT * FROM m_inline_zq(1)|SELECT NEXT VALUE FOR m_sequence_zq|SELECT * FROM m_synonym_zq|\
    SELECT * INTO #copy FROM m_table_zq|SET SHOWPLAN_XML ON|SELECT * FROM m_table_zq|SET SHOWPLAN_XML OFF|\
    SET FMTONLY ON; SELECT * FROM m_table_zq; SET FMTONLY OFF|SET NOEXEC ON; SELECT * FROM m_table_zq|SET NOEXEC OFF|\
    DECLARE @t dbo.m_tabletype_zq; SELECT * FROM @t|DECLARE c CURSOR FOR SELECT m_column_zq FROM m_table_zq; OPEN c|\
    SELECT * FROM tempdb..#m_temporary_zq|EXEC sp_describe_first_result_set N'SELECT * FROM m_table_zq'|\
    EXEC sp_describe_undeclared_parameters N'SELECT * FROM m_table_zq WHERE m_column_zq = @p'|\
    CREATE TABLE own (a int REFERENCES m_table_zq (id))|SET IDENTITY_INSERT m_table_zq ON|\
    SELECT * FROM m_temporal_zq FOR SYSTEM_TIME ALL|EXECUTE AS USER = 'dbo'|GRANT SELECT ON m_table_zq TO poor|\
    SELECT * FROM sys.dm_exec_describe_first_result_set(N'SELECT * FROM m_table_zq', NULL, 0)|\
    SELECT * FROM sys.dm_exec_describe_first_result_set_for_object(OBJECT_ID('m_procedure_zq'), 0)";

/// Lists of arguments for each procedure.
const ARGUMENTS: &str = "|N'm_table_zq'|N'dbo.m_table_zq'|N'm_procedure_zq'|N'm_view_zq'|N'%'|N'dbo'|N'm_user_zq'|\
    N'm_role_zq'|N'm_alias_zq'|N'm_login_zq'|N'vault'|N'SELECT * FROM m_table_zq'|N'm_table_zq', N'm_statistics_zq'|\
    N'm_tabletype_zq'|NULL|1|51|N'%', N'%'|NULL, N'dbo', NULL|NULL, N'%', N'%', N'%'";

/// Procedures that end the session's transaction, wait, or change how the session is asked.
const LEFT_OUT: [&str; 2] = ["sp_reset_connection", "sp_getapplock"];

/// Returns the hidden words of a text.
fn words(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let parts = text.split(|c: char| !is_of_name(c)).map(str::to_lowercase);
    parts.filter(|part| part.starts_with("m_") && part.ends_with("_zq")).collect()
}

/// Returns all of an answer as text.
fn shown(answer: &Answer) -> String {
    let columns = answer.columns.iter().flatten().map(|column| column.name.to_string());
    let values = answer.sets.iter().flatten().flatten().cloned();
    let messages = answer.errors.iter().chain(&answer.messages).map(describe);
    columns.chain(values).chain(messages).collect::<Vec<_>>().join("\n")
}

/// A session that asks, and the hidden words of its answers by question.
struct Asker {
    session: Session,
    found: BTreeMap<String, BTreeSet<String>>,
    asked: usize,
}

impl Asker {
    fn ask(&mut self, label: &str, text: &str) {
        self.asked += 1;
        let answer = batch(&mut self.session, text);
        let said = words(text);
        let mut learned = words(&shown(&answer));
        learned.retain(|word| !said.contains(word));
        if !learned.is_empty() {
            self.found.entry(label.to_owned()).or_default().append(&mut learned);
        }
    }

    fn views(&mut self, sa: &mut Session) {
        for database in ["vault", "master", "msdb", "tempdb"] {
            let list = format!(
                "SELECT s.name, v.name FROM {database}.sys.all_views AS v \
                 JOIN {database}.sys.schemas AS s ON s.schema_id = v.schema_id WHERE v.is_ms_shipped = 1"
            );
            self.ask("USE", &format!("USE {database}"));
            for view in &sets(sa, &list)[0] {
                let name = format!("{database}.{}.{}", view[0], view[1]);
                self.ask(&name, &format!("SELECT * FROM {name}"));
            }
        }
        self.ask("USE", "USE vault");
    }

    /// Each table function with each id, handle and session in each place.
    fn table_functions(&mut self, sa: &mut Session, keys: &[String]) {
        let list = "SELECT f.name, COUNT(p.name) FROM sys.all_objects AS f \
             LEFT JOIN sys.all_parameters AS p ON p.object_id = f.object_id AND p.name <> '' \
             WHERE f.type IN ('IF', 'TF', 'FT') AND f.is_ms_shipped = 1 GROUP BY f.name";
        for function in &sets(sa, list)[0] {
            let count: usize = function[1].parse().unwrap();
            for at in 0..count {
                for key in keys {
                    let rest = |n: usize| match n {
                        n if n == at => key.as_str(),
                        // Most have the database before the object.
                        0 => "DB_ID()",
                        _ => "NULL",
                    };
                    let arguments: Vec<&str> = (0..count).map(rest).collect();
                    let name = &function[0];
                    let text = format!("SELECT * FROM sys.{name}({})", arguments.join(", "));
                    self.ask(&format!("function {name}"), &text);
                }
            }
        }
    }

    fn procedures(&mut self, sa: &mut Session) {
        let list = "SELECT DISTINCT name FROM sys.all_objects WHERE type IN ('P', 'X', 'PC') AND is_ms_shipped = 1";
        let names = sets(sa, list).remove(0);
        assert!(names.len() > 80, "there are procedures");
        for name in names.iter().map(|row| &row[0]).filter(|n| !LEFT_OUT.contains(&n.as_str())) {
            for arguments in ARGUMENTS.split('|') {
                self.ask(&format!("procedure {name}"), &format!("EXEC {name} {arguments}"));
            }
        }
    }
}

/// Returns ids, handles and sessions as literals. A login without permissions may guess them.
fn keys(sa: &mut Session) -> Vec<String> {
    let list = "SELECT CAST(object_id AS nvarchar(200)) FROM vault.sys.objects WHERE is_ms_shipped = 0 OR type = 'TT' \
         UNION ALL SELECT DISTINCT CONVERT(nvarchar(200), sql_handle, 1) FROM sys.dm_exec_query_stats \
         UNION ALL SELECT DISTINCT CONVERT(nvarchar(200), plan_handle, 1) FROM sys.dm_exec_query_stats \
         UNION ALL SELECT CAST(session_id AS nvarchar(200)) FROM sys.dm_exec_sessions WHERE session_id > 50 \
         UNION ALL SELECT N'NULL' UNION ALL SELECT N'N''m_table_zq'''";
    sets(sa, list).remove(0).into_iter().flatten().collect()
}

fn vault() -> (Arc<Instance>, Session, Asker) {
    let instance = instance();
    let mut sa = login(&instance);
    for line in SETUP.trim().lines() {
        let answer = batch(&mut sa, line);
        assert!(answer.errors.is_empty(), "{line}: {}", shown(&answer));
    }
    let mut session = login_as(&instance, "poor");
    assert!(batch(&mut session, "USE vault").errors.is_empty());
    (instance, sa, Asker { session, found: BTreeMap::new(), asked: 0 })
}

#[test]
fn a_login_without_permissions_learns_nothing_of_others() {
    let (_instance, mut sa, mut asker) = vault();
    let keys = keys(&mut sa);
    assert!(keys.len() > 20, "there are objects, texts and sessions: {keys:?}");
    asker.views(&mut sa);
    asker.table_functions(&mut sa, &keys);
    for key in keys.iter().filter(|key| key.parse::<i32>().is_ok()) {
        for function in FUNCTIONS.split('|') {
            asker.ask(function, &format!("SELECT {}", function.replace("{i}", key)));
        }
    }
    asker.procedures(&mut sa);
    for arguments in DBCC.split('|') {
        asker.ask(&format!("DBCC {arguments}"), &format!("DBCC {arguments}"));
    }
    for statement in STATEMENTS.split('|') {
        asker.ask(statement, statement);
    }
    assert!(asker.asked > 3_000, "{} questions", asker.asked);
    assert!(asker.found.is_empty(), "{:#?}", asker.found);
}

/// The same search finds each kind of word as sa: it is not blind.
#[test]
fn the_search_for_secrets_finds_them_where_they_may_be_seen() {
    let (instance, mut sa, mut asker) = vault();
    let mut hidden = words(SETUP);
    asker.session = std::mem::replace(&mut sa, login(&instance));
    asker.views(&mut sa);
    for found in asker.found.values() {
        hidden.retain(|word| !found.contains(word));
    }
    // No view has values of rows or parameters, or another session's context.
    let of_rows = [
        "m_columnar_zq",
        "m_context_zq",
        "m_key_zq",
        "m_local_zq",
        "m_now_zq",
        "m_then_zq",
        "m_row_zq",
        "m_second_zq",
        "m_third_zq",
        "m_sent_zq",
        "m_value_zq",
    ];
    hidden.retain(|word| !of_rows.contains(&word.as_str()));
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn types_are_seen_with_a_permission_on_them_and_schemas_by_all() {
    let (instance, mut sa, mut asker) = vault();
    let types = "SELECT name FROM sys.types WHERE is_user_defined = 1 ORDER BY name";
    let read = |session: &mut Session| sets(session, types)[0].concat();
    assert!(read(&mut asker.session).is_empty());
    let steps: [(&str, &[&str]); 8] = [
        ("GRANT REFERENCES ON TYPE::m_alias_zq TO poor", &["m_alias_zq"]),
        ("GRANT EXECUTE ON TYPE::m_tabletype_zq TO poor", &["m_alias_zq", "m_tabletype_zq"]),
        ("DENY VIEW DEFINITION ON TYPE::m_alias_zq TO poor", &["m_tabletype_zq"]),
        ("REVOKE EXECUTE ON TYPE::m_tabletype_zq TO poor", &[]),
        ("GRANT SELECT ON SCHEMA::dbo TO poor", &[]),
        ("GRANT EXECUTE ON SCHEMA::dbo TO poor", &["m_tabletype_zq"]),
        ("REVOKE EXECUTE ON SCHEMA::dbo TO poor", &[]),
        ("ALTER AUTHORIZATION ON TYPE::m_tabletype_zq TO poor", &["m_tabletype_zq"]),
    ];
    for (step, seen) in steps {
        // The session of SETUP has a transaction open.
        let answer = batch(&mut login_in_vault(&instance), step);
        assert!(answer.errors.is_empty(), "{step}: {}", shown(&answer));
        assert_eq!(read(&mut asker.session), seen, "{step}");
    }
    let created = batch(&mut login_in_vault(&instance), "CREATE SCHEMA wide");
    assert!(created.errors.is_empty(), "{}", shown(&created));
    let schema = "SELECT name FROM sys.schemas WHERE schema_id = SCHEMA_ID('wide')";
    assert_eq!(sets(&mut asker.session, schema)[0], [["wide"]]);
    assert!(batch(&mut sa, "ROLLBACK").errors.is_empty());
}

fn login_in_vault(instance: &Arc<Instance>) -> Session {
    let mut session = login(instance);
    assert!(batch(&mut session, "USE vault").errors.is_empty());
    session
}
