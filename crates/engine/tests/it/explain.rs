//! SHOWPLAN and STATISTICS: parts of the answers that scripts cannot express.

use crate::client::{instance, login, run};
use engine::session::Session;

/// The column by which tools recognise a plan.
const XML_COLUMN: &str = "Microsoft SQL Server 2005 XML Showplan";

fn session() -> Session {
    let mut session = login(&instance());
    for text in [
        "CREATE TABLE dbo.o (id int NOT NULL CONSTRAINT pk_o PRIMARY KEY, c int NOT NULL, n nvarchar(20))",
        "CREATE TABLE dbo.c (id int NOT NULL CONSTRAINT pk_c PRIMARY KEY, name nvarchar(20))",
        "INSERT dbo.c VALUES (1, N'a'), (2, N'b')",
        "INSERT dbo.o VALUES (1, 1, N'x'), (2, 1, N'y'), (3, 2, N'<z>')",
        "CREATE PROCEDURE dbo.p @id int AS IF @id > 1 SELECT n FROM dbo.o WHERE id = @id \
         ELSE UPDATE dbo.o SET n = N'q' WHERE id = @id",
    ] {
        run(&mut session, text);
    }
    session
}

/// Returns the elements of a document in order, with their attributes; panics if it is not
/// well-formed.
fn elements(xml: &str) -> Vec<(String, String)> {
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        assert!(rest[..start].trim().is_empty(), "text between elements: {}", &rest[..start]);
        let end = rest[start..].find('>').unwrap() + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (body, empty) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        let (name, attributes) = body.split_once(' ').unwrap_or((body, ""));
        assert_eq!(attributes.matches('"').count() % 2, 0, "{tag}");
        assert!(!attributes.contains('<'), "{tag}");
        found.push((name.to_owned(), attributes.to_owned()));
        if !empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.is_empty());
    found
}

fn attribute<'a>(attributes: &'a str, name: &str) -> &'a str {
    let start = attributes.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
    attributes[start..].split('"').next().unwrap()
}

fn physical(xml: &str) -> Vec<String> {
    let elements = elements(xml);
    let operators = elements.iter().filter(|(name, _)| name == "RelOp");
    operators.map(|(_, attributes)| attribute(attributes, "PhysicalOp").to_owned()).collect()
}

#[test]
fn showplan_xml_is_one_document_of_the_batch_and_runs_nothing() {
    let mut session = session();
    run(&mut session, "SET SHOWPLAN_XML ON");
    let answer = run(
        &mut session,
        "SELECT c.name, COUNT(*) FROM dbo.o JOIN dbo.c ON c.id = o.c WHERE o.n <> N'<&\">' GROUP BY c.name \
         ORDER BY 2 DESC; DELETE dbo.o WHERE id = 1",
    );
    assert_eq!(answer.sets.len(), 1);
    assert_eq!(answer.columns[0][0].name, XML_COLUMN);
    let xml = &answer.sets[0][0][0];
    let elements = elements(xml);
    assert_eq!(elements[0].0, "ShowPlanXML");
    assert_eq!(
        attribute(&elements[0].1, "xmlns"),
        "http://schemas.microsoft.com/sqlserver/2004/07/showplan"
    );
    let kinds: Vec<&str> = elements
        .iter()
        .filter(|(name, _)| name == "StmtSimple")
        .map(|(_, attributes)| attribute(attributes, "StatementType"))
        .collect();
    assert_eq!(kinds, ["SELECT", "DELETE"]);
    let operators = physical(xml);
    for operator in ["Sort", "Hash Match", "Table Delete", "Index Seek"] {
        assert!(operators.iter().any(|o| o == operator), "{operator} in {operators:?}");
    }
    run(&mut session, "SET SHOWPLAN_XML OFF");
    assert_eq!(run(&mut session, "SELECT COUNT(*) FROM dbo.o").sets[0][0][0], "3");
}

#[test]
fn showplan_goes_into_procedures_and_both_branches() {
    let mut session = session();
    run(&mut session, "SET SHOWPLAN_XML ON");
    let answer = run(&mut session, "EXEC dbo.p 1");
    let elements = elements(&answer.sets[0][0][0]);
    let named = |wanted: &str| elements.iter().filter(|(name, _)| name == wanted).count();
    assert_eq!(
        (named("StoredProc"), named("StmtCond"), named("Then"), named("Else")),
        (1, 1, 1, 1)
    );
    assert_eq!(physical(&answer.sets[0][0][0]), ["Index Seek", "Table Update", "Index Seek"]);
}

#[test]
fn showplan_all_has_the_documented_columns_and_links_rows_to_their_parents() {
    let mut session = session();
    run(&mut session, "SET SHOWPLAN_ALL ON");
    let answer = run(&mut session, "SELECT TOP 1 n FROM dbo.o ORDER BY n");
    let names: Vec<&str> = answer.columns[0].iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "StmtText",
            "StmtId",
            "NodeId",
            "Parent",
            "PhysicalOp",
            "LogicalOp",
            "Argument",
            "DefinedValues",
            "EstimateRows",
            "EstimateIO",
            "EstimateCPU",
            "AvgRowSize",
            "TotalSubtreeCost",
            "OutputList",
            "Warnings",
            "Type",
            "Parallel",
            "EstimateExecutions"
        ]
    );
    let links: Vec<[&str; 4]> =
        answer.sets[0].iter().map(|r| [&r[2], &r[3], &r[4], &r[15]].map(String::as_str)).collect();
    assert_eq!(
        links,
        [
            ["1", "0", "NULL", "SELECT"],
            ["2", "1", "Top", "PLAN_ROW"],
            ["3", "2", "Sort", "PLAN_ROW"],
            ["4", "3", "Index Scan", "PLAN_ROW"]
        ]
    );
}

#[test]
fn statistics_xml_follows_the_rows_with_actual_counts() {
    let mut session = session();
    run(&mut session, "SET STATISTICS XML ON");
    let answer = run(&mut session, "SELECT n FROM dbo.o WHERE c = 1");
    assert_eq!(answer.sets.len(), 2);
    assert_eq!(answer.sets[0].len(), 2);
    assert_eq!(answer.columns[1][0].name, XML_COLUMN);
    let elements = elements(&answer.sets[1][0][0]);
    let counters = elements.iter().find(|(name, _)| name == "RunTimeCountersPerThread").unwrap();
    let count = |name| attribute(&counters.1, name);
    assert_eq!(
        (count("ActualRows"), count("ActualRowsRead"), count("ActualExecutions")),
        ("2", "3", "1")
    );
}

#[test]
fn statistics_profile_counts_rows_and_executions() {
    let mut session = session();
    run(&mut session, "SET STATISTICS PROFILE ON");
    let answer = run(
        &mut session,
        "SELECT o.n, c.name FROM dbo.o JOIN dbo.c ON c.id = o.c OPTION (LOOP JOIN)",
    );
    assert_eq!(answer.columns[1][0].name, "Rows");
    assert_eq!(answer.columns[1][1].name, "Executes");
    let total: &[String] = &answer.sets[1][0];
    assert_eq!((total[0].as_str(), total[1].as_str()), ("3", "1"));
    assert_eq!(total[17], "SELECT");
    // Either each order looks up its customer, or customers are read once into a hash table.
    let below: Vec<[&str; 3]> = answer.sets[1][1..]
        .iter()
        .filter(|r| r[6] == "Index Seek" || r[6] == "Index Scan")
        .map(|r| [&r[0], &r[1], &r[6]].map(String::as_str))
        .collect();
    assert!(below.contains(&["3", "1", "Index Scan"]), "{below:?}");
    assert!(below.contains(&["3", "3", "Index Seek"]), "{below:?}");
}

#[test]
fn statistics_time_says_it_in_the_words_that_tools_read() {
    let mut session = session();
    run(&mut session, "SET STATISTICS TIME ON");
    let answer = run(&mut session, "SELECT n FROM dbo.o");
    let told: Vec<(i32, &str)> =
        answer.messages.iter().map(|m| (m.number, m.message.as_str())).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].0, 3613);
    assert!(told[0].1.starts_with("SQL Server parse and compile time: \n   CPU time = "));
    assert_eq!(told[1].0, 3612);
    assert!(told[1].1.starts_with("\n SQL Server Execution Times:\n   CPU time = "));
    assert!(told[1].1.contains(" ms,  elapsed time = ") && told[1].1.ends_with(" ms."));
}

#[test]
fn plans_of_the_cache_are_documents_too() {
    let mut session = session();
    run(&mut session, "SELECT n FROM dbo.o WHERE id = 3");
    let answer = run(
        &mut session,
        "SELECT p.query_plan, t.query_plan FROM sys.dm_exec_query_stats s \
         CROSS APPLY sys.dm_exec_query_plan(s.plan_handle) p \
         CROSS APPLY sys.dm_exec_text_query_plan(s.plan_handle, s.statement_start_offset, s.statement_end_offset) t \
         CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) x WHERE x.text = N'SELECT n FROM dbo.o WHERE id = 3'",
    );
    assert_eq!(answer.sets[0].len(), 1);
    for plan in &answer.sets[0][0] {
        assert_eq!(physical(plan), ["Index Seek"]);
    }
}
