//! No option and no hint is accepted silently: each one that the parser knows is in a table here,
//! with the script that proves its effect, the reason why it has none, or the name by which error
//! 40517 refuses it.

use compile::shape::index_option::INDEX_OPTIONS;
use engine::bind::hint::{Effect, Operand, QUERY_HINTS, USE_HINTS};
use tsql::QuotedIdentifier;
use tsql::ast::{SetOption, StatementKind};

use crate::client::{Answer, batch, instance, login};
use crate::option_rows::Does;
use crate::script::scripts;

use Does::{Locks, OnRefused, Refused, Shown};

/// `SET name ON`: the options of the page "SET statements" and the pages below it.
pub(crate) const SWITCHES: &[(&str, Does)] = &[
    ("ANSI_DEFAULTS", Shown("SET ANSI_DEFAULTS ON")),
    ("ANSI_NULLS", Shown("SET ANSI_NULLS OFF\nSELECT id FROM t WHERE n = NULL")),
    ("ANSI_NULL_DFLT_OFF", Shown("SET ANSI_NULL_DFLT_OFF ON\nCREATE TABLE")),
    ("ANSI_NULL_DFLT_ON", Shown("SET ANSI_NULL_DFLT_ON ON\nCREATE TABLE")),
    ("ANSI_PADDING", Shown("SET ANSI_PADDING OFF\nCREATE TABLE")),
    ("ANSI_WARNINGS", Shown("SET ANSI_WARNINGS OFF\nSET ARITHABORT OFF\nSELECT 1 / 0")),
    ("ARITHABORT", Shown("SET ARITHABORT ON\nBEGIN TRAN")),
    ("ARITHIGNORE", Shown("SET ARITHIGNORE ON\n")),
    ("CONCAT_NULL_YIELDS_NULL", Shown("SET CONCAT_NULL_YIELDS_NULL OFF\n")),
    ("CURSOR_CLOSE_ON_COMMIT", Shown("SET CURSOR_CLOSE_ON_COMMIT ON\n")),
    ("DISABLE_DEF_CNST_CHK", OnRefused),
    ("FMTONLY", Shown("SET FMTONLY ON\n")),
    ("FORCEPLAN", OnRefused),
    ("IMPLICIT_TRANSACTIONS", Shown("SET IMPLICIT_TRANSACTIONS ON\n")),
    ("NOCOUNT", Shown("SET NOCOUNT ON\n")),
    ("NOEXEC", Shown("SET NOEXEC ON\n")),
    ("NO_BROWSETABLE", Shown("SET NO_BROWSETABLE ON\n")),
    ("NUMERIC_ROUNDABORT", Shown("SET NUMERIC_ROUNDABORT ON\nDECLARE")),
    ("PARSEONLY", Shown("SET PARSEONLY ON\n")),
    ("QUOTED_IDENTIFIER", Shown("SET QUOTED_IDENTIFIER OFF\n")),
    ("REMOTE_PROC_TRANSACTIONS", OnRefused),
    ("SHOWPLAN_ALL", Shown("SET SHOWPLAN_ALL ON\n")),
    ("SHOWPLAN_TEXT", Shown("SET SHOWPLAN_TEXT ON\n")),
    ("SHOWPLAN_XML", Shown("SET SHOWPLAN_XML ON\n")),
    ("XACT_ABORT", Shown("SET XACT_ABORT ON\n")),
];

/// `SET name value`, with its test.
pub(crate) const VALUES: &[(&str, &str, Does)] = &[
    ("CONTEXT_INFO", "0x01", Shown("SET CONTEXT_INFO 0x")),
    ("DATEFIRST", "3", Shown("SET DATEFIRST 3\n")),
    ("DATEFORMAT", "dmy", Shown("SET DATEFORMAT dmy\n")),
    ("DEADLOCK_PRIORITY", "LOW", Shown("SET DEADLOCK_PRIORITY ")),
    ("ERRLVL", "1", Refused),
    ("FIPS_FLAGGER", "'FULL'", Refused),
    ("LANGUAGE", "us_english", Shown("SET LANGUAGE us_english\n")),
    ("LOCK_TIMEOUT", "100", Shown("SET LOCK_TIMEOUT ")),
    ("OFFSETS", "SELECT ON", Refused),
    ("QUERY_GOVERNOR_COST_LIMIT", "100", Refused),
    ("ROWCOUNT", "1", Shown("SET ROWCOUNT ")),
    ("TEXTSIZE", "3", Shown("SET TEXTSIZE 3\n")),
];

/// Other words after SET, with the tests of their effect.
const OTHERS: &[&str] = &["IDENTITY_INSERT", "STATISTICS", "TRAN", "TRANSACTION"];

/// Table hints of one word.
pub(crate) const TABLE_HINTS: &[(&str, Does)] = &[
    ("FORCESCAN", Shown("WITH (FORCESCAN)")),
    ("FORCESEEK", Shown("WITH (FORCESEEK)")),
    ("HOLDLOCK", Locks),
    ("IGNORE_CONSTRAINTS", Refused),
    ("IGNORE_TRIGGERS", Refused),
    ("KEEPDEFAULTS", Refused),
    ("KEEPIDENTITY", Refused),
    ("NOEXPAND", Refused),
    ("NOLOCK", Locks),
    ("NOWAIT", Locks),
    ("PAGLOCK", Locks),
    ("READCOMMITTED", Locks),
    ("READCOMMITTEDLOCK", Locks),
    ("READPAST", Locks),
    ("READUNCOMMITTED", Locks),
    ("REPEATABLEREAD", Locks),
    ("ROWLOCK", Locks),
    ("SERIALIZABLE", Locks),
    ("SNAPSHOT", Locks),
    ("TABLOCK", Locks),
    ("TABLOCKX", Locks),
    ("UPDLOCK", Locks),
    ("XLOCK", Locks),
];

fn statement_of(text: &str) -> Option<StatementKind> {
    let batch = tsql::parse(text, QuotedIdentifier::On).ok()?;
    batch.statements.into_iter().next().map(|statement| statement.kind)
}

fn is_shown(text: &str) -> bool {
    scripts().iter().any(|path| std::fs::read_to_string(path).unwrap().contains(text))
}

/// Checks that a text fails with 40517 and that the message contains the name.
fn check_refused(text: &str, name: &str) {
    let mut session = login(&instance());
    let answer: Answer = batch(&mut session, text);
    let error = answer.errors.first().unwrap_or_else(|| panic!("no error: {text}"));
    assert_eq!(error.number, 40517, "{text}: {}", error.message);
    assert!(error.message.contains(name), "{text}: {}", error.message);
}

fn check(name: &str, does: Does, on: &str) {
    match does {
        Shown(text) => assert!(is_shown(text), "{name}: no script has {text:?}"),
        OnRefused => {
            check_refused(on, name);
            let off = on.replace(" ON", " OFF");
            let answer = batch(&mut login(&instance()), &off);
            assert!(answer.errors.is_empty(), "{off}");
        }
        Refused => check_refused(on, name),
        Does::RefusedIn(text) => check_refused(text, name),
        Does::Fails(..) | Does::Nothing(_) | Locks => {}
    }
}

#[test]
fn each_set_option_acts_or_is_refused() {
    for word in tsql::words() {
        if let Some(StatementKind::SetOption(option)) = statement_of(&format!("SET {word} ON"))
            && matches!(*option, SetOption::Switch { .. })
        {
            assert!(SWITCHES.iter().any(|s| s.0 == word), "SET {word} ON is in no table");
        }
        let known = VALUES.iter().any(|v| v.0 == word)
            || SWITCHES.iter().any(|s| s.0 == word)
            || OTHERS.contains(&word);
        let taken = ["1", "ON", "OFF", "0x01", "LOW"].iter().any(|value| {
            let kind = statement_of(&format!("SET {word} {value}"));
            matches!(kind, Some(StatementKind::SetOption(_)))
        });
        assert!(known || !taken, "SET {word} is in no table");
    }
    for (name, does) in SWITCHES {
        check(name, *does, &format!("SET {name} ON"));
    }
    for (name, value, does) in VALUES {
        check(name, *does, &format!("SET {name} {value}"));
    }
}

#[test]
fn each_table_hint_acts_or_is_refused() {
    for word in tsql::words() {
        let text = format!("SELECT * FROM t WITH ({word})");
        let known = TABLE_HINTS.iter().any(|hint| hint.0 == word);
        assert!(known || statement_of(&text).is_none(), "{text} is in no table");
    }
    for (name, does) in TABLE_HINTS {
        check(name, *does, &format!("CREATE TABLE t (a int); SELECT * FROM t WITH ({name})"));
        if *does == Refused {
            let text = format!("CREATE TABLE t (a int); INSERT t WITH ({name}) SELECT 1");
            check_refused(&text, name);
        }
    }
    let text = "CREATE TABLE t (a int); SELECT * FROM t WITH (SPATIAL_WINDOW_MAX_CELLS = 1)";
    check_refused(text, "SPATIAL_WINDOW_MAX_CELLS");
}

#[test]
fn each_query_hint_acts_or_is_advice_or_is_refused() {
    let instance = instance();
    let mut session = login(&instance);
    let mut number = |text: &str| batch(&mut session, text).errors.first().map(|e| e.number);
    for (name, operand, effect) in QUERY_HINTS {
        let hint = match operand {
            Operand::None => (*name).to_owned(),
            Operand::Number if name.ends_with("PERCENT") => format!("{name} = 1"),
            Operand::Number => format!("{name} 1"),
            Operand::Text if *name == "LABEL" => format!("{name} = 'x'"),
            Operand::Text => format!("{name} 'x'"),
        };
        let text = format!("SELECT 1 AS a OPTION ({hint})");
        match effect {
            Effect::Acts | Effect::Advice => assert_eq!(number(&text), None, "{text}"),
            Effect::Refused => check_refused(&text, name),
        }
    }
    for name in USE_HINTS {
        assert_eq!(number(&format!("SELECT 1 AS a OPTION (USE HINT ('{name}'))")), None);
    }
    assert_eq!(number("SELECT 1 AS a OPTION (USE HINT ('NO_SUCH_HINT'))"), Some(10715));
    assert_eq!(number("SELECT 1 AS a OPTION (NO_SUCH_HINT)"), Some(102));
    assert_eq!(number("SELECT 1 AS a OPTION (NO_SUCH_HINT 5)"), Some(102));
    assert_eq!(number("UPDATE t SET a = 1 OPTION (LOOP UNION)"), Some(102));
    check_refused("SELECT 1 AS a OPTION (TABLE HINT (t, NOLOCK))", "TABLE HINT");
}

/// Options of row indexes, with the script that shows their effect; ignored advice has none.
pub(crate) const INDEXES: &[(&str, &str, &str)] = &[
    ("ALLOW_PAGE_LOCKS", "OFF", "ALLOW_PAGE_LOCKS = OFF"),
    ("ALLOW_ROW_LOCKS", "OFF", "ALLOW_ROW_LOCKS = OFF"),
    ("BUCKET_COUNT", "64", "BUCKET_COUNT = "),
    ("COMPRESSION_DELAY", "5", ""),
    ("DATA_COMPRESSION", "PAGE", "DATA_COMPRESSION = PAGE"),
    ("DROP_EXISTING", "OFF", "DROP_EXISTING = ON"),
    ("FILLFACTOR", "80", "FILLFACTOR = 80"),
    ("IGNORE_DUP_KEY", "OFF", "IGNORE_DUP_KEY = ON"),
    ("LOB_COMPACTION", "ON", ""),
    ("MAXDOP", "2", ""),
    ("MAX_DURATION", "5", ""),
    ("ONLINE", "ON", ""),
    ("OPTIMIZE_FOR_SEQUENTIAL_KEY", "ON", "OPTIMIZE_FOR_SEQUENTIAL_KEY = ON"),
    ("PAD_INDEX", "ON", "PAD_INDEX = ON"),
    ("RESUMABLE", "OFF", ""),
    ("SORT_IN_TEMPDB", "ON", ""),
    ("STATISTICS_INCREMENTAL", "ON", ""),
    ("STATISTICS_NORECOMPUTE", "ON", "STATISTICS_NORECOMPUTE = ON"),
    ("XML_COMPRESSION", "ON", ""),
];

#[test]
fn each_index_option_acts_or_is_advice_or_is_refused() {
    for (name, effect) in INDEX_OPTIONS {
        let row = INDEXES.iter().find(|row| row.0 == *name);
        let (_, value, shown) = row.unwrap_or_else(|| panic!("{name} is in no table"));
        let text = match *name {
            // An option of hash indexes, which only memory-optimized tables have.
            "BUCKET_COUNT" => format!(
                "CREATE TABLE t (a int NOT NULL, INDEX i HASH (a) WITH ({name} = {value})) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)"
            ),
            _ => {
                format!("CREATE TABLE t (a int); CREATE INDEX i ON t (a) WITH ({name} = {value})")
            }
        };
        if *effect == Effect::Refused {
            check_refused(&text, name);
            continue;
        }
        let answer = batch(&mut login(&instance()), &text);
        assert!(answer.errors.is_empty(), "{text}: {:?}", answer.errors);
        assert_eq!(shown.is_empty(), *effect == Effect::Advice, "{name}");
        assert!(is_shown(shown), "{name}: no script has {shown:?}");
    }
    // An accepted word is in the registry.
    for word in tsql::words() {
        let text = format!("CREATE TABLE t (a int); CREATE INDEX i ON t (a) WITH ({word} = ON)");
        let is_known = INDEX_OPTIONS.iter().any(|option| option.0 == word);
        let is_taken = || batch(&mut login(&instance()), &text).errors.is_empty();
        assert!(is_known || statement_of(&text).is_none() || !is_taken(), "{text}");
    }
}

/// Options of procedures, functions, views, triggers and cursors: each with a text that uses it,
/// and its effect.
const MODULES: &[(&str, &str, Does)] = &[
    ("procedure ENCRYPTION", "", Shown("CREATE PROCEDURE hidden WITH ENCRYPTION")),
    ("procedure EXECUTE AS", "", Shown("WITH EXECUTE AS ")),
    ("procedure RECOMPILE", "", Shown("WITH RECOMPILE")),
    ("procedure NATIVE_COMPILATION", "", Shown("WITH NATIVE_COMPILATION, SCHEMABINDING")),
    ("procedure REPLICATION", "CREATE PROCEDURE p FOR REPLICATION AS SELECT 1", Refused),
    ("view ENCRYPTION", "", Shown("CREATE VIEW hidden_view WITH ENCRYPTION")),
    ("view SCHEMABINDING", "", Shown("CREATE VIEW bound_view WITH SCHEMABINDING")),
    ("function SCHEMABINDING", "", Shown("RETURNS int WITH SCHEMABINDING")),
    ("function RETURNS NULL", "", Shown("RETURNS NULL ON NULL INPUT")),
    ("function ENCRYPTION", "", Shown("RETURNS int WITH ENCRYPTION")),
];

#[test]
fn each_module_option_acts_or_is_refused() {
    for (name, text, does) in MODULES {
        match does {
            Refused => check_refused(text, name.split(' ').next_back().unwrap()),
            _ => check(name, *does, text),
        }
    }
}

/// Words in no list of options: an unknown option is an error that names it.
#[test]
fn unknown_options_of_definitions_are_errors() {
    let mut session = login(&instance());
    let setup = "CREATE DATABASE d; CREATE TABLE t (a int NOT NULL)";
    assert!(batch(&mut session, setup).errors.is_empty());
    for text in [
        "CREATE INDEX i ON t (a) WITH (NO_SUCH_OPTION = ON)",
        "ALTER INDEX ALL ON t REBUILD WITH (NO_SUCH_OPTION = ON)",
        "ALTER DATABASE d SET NO_SUCH_OPTION ON",
        "CREATE TABLE u (a int) WITH (NO_SUCH_OPTION = ON)",
        "CREATE STATISTICS s ON t (a) WITH NO_SUCH_OPTION",
        "UPDATE STATISTICS t WITH NO_SUCH_OPTION",
        "CREATE PROCEDURE p WITH NO_SUCH_OPTION AS SELECT 1",
        "CREATE VIEW v WITH NO_SUCH_OPTION AS SELECT 1 AS a",
        "SET NO_SUCH_OPTION ON",
    ] {
        let answer = batch(&mut session, text);
        assert!(!answer.errors.is_empty(), "taken: {text}");
    }
}
