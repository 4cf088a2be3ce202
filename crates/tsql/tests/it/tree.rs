//! Tests the trees of particular constructs.

use crate::support::{batch, select, statement};
use tsql::ast::*;

#[test]
fn update_tells_variable_column_and_both() {
    let StatementKind::Update(update) = statement(
        "UPDATE t SET @locked = Locked, Locked = 1, @c = Cookie = Cookie + 1 WHERE a = 1",
    )
    .kind
    else {
        panic!("no UPDATE")
    };
    assert!(matches!(update.set[0].kind, SetItemKind::Variable { .. }));
    assert!(matches!(update.set[1].kind, SetItemKind::Column { .. }));
    assert!(matches!(update.set[2].kind, SetItemKind::VariableAndColumn { .. }));
}

#[test]
fn select_tells_assignment_from_alias() {
    let spec = select("SELECT @a = Locked, b = c FROM t");
    assert!(matches!(spec.items[0].kind, SelectItemKind::Assign { .. }));
    assert!(
        matches!(&spec.items[1].kind, SelectItemKind::Expr { alias: Some(alias), .. } if alias.is("B"))
    );
}

#[test]
fn name_parts_may_be_left_out() {
    let spec = select("SELECT * FROM master..spt_values");
    let TableRefKind::Table(table) = &spec.from[0].kind else { panic!("no table") };
    assert_eq!(table.name.to_string(), "master..spt_values");
    assert!(table.name.schema.is_none());
    assert_eq!(table.name.database.as_deref(), Some("master"));
}

#[test]
fn every_procedure_option_is_kept() {
    let text = "CREATE PROCEDURE p @a int = -1, @b nvarchar(88) OUTPUT WITH NATIVE_COMPILATION, SCHEMABINDING, \
        EXECUTE AS OWNER AS BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english') \
        SELECT 1 END";
    let StatementKind::CreateProcedure(procedure) = statement(text).kind else {
        panic!("no procedure")
    };
    assert_eq!(procedure.options.len(), 3);
    assert!(procedure.parameters[1].output && !procedure.parameters[0].output);
    assert_eq!(procedure.definition.text(text), text);
    let RoutineBody::Statements(body) = &procedure.body else { panic!("no body") };
    let StatementKind::AtomicBlock(block) = &body[0].kind else { panic!("no atomic block") };
    assert_eq!(block.options[0], AtomicOption::Isolation(IsolationLevel::Snapshot));
    assert_eq!(block.body.len(), 1);
}

#[test]
fn table_options_are_precise() {
    let text = "CREATE TABLE t (a int NOT NULL, PRIMARY KEY NONCLUSTERED HASH (a) WITH (BUCKET_COUNT = 33554432)) \
        WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)";
    let StatementKind::CreateTable(table) = statement(text).kind else { panic!("no table") };
    assert_eq!(
        table.options,
        [TableOption::MemoryOptimized(true), TableOption::Durability(Durability::SchemaOnly)]
    );
    let TableElement::Constraint(key) = &table.elements[1] else { panic!("no constraint") };
    let ConstraintKind::Key { structure, options, .. } = &key.kind else { panic!("no key") };
    assert_eq!(*structure, Some(IndexStructure::Hash));
    assert_eq!(&*options[0].name, "BUCKET_COUNT");
    assert_eq!(options[0].value, OptionValue::Literal(Literal::Int(33_554_432)));
}

#[test]
fn literals_have_their_values() {
    let spec = select("SELECT 0xABC, $1,000.25, $-2.00005, 2147483648, 'it''s', N'a\\\nb', 1e, $");
    let values = spec.items.into_iter().map(|item| match item.kind {
        SelectItemKind::Expr { expr: Expr { kind: ExprKind::Literal(literal), .. }, .. } => literal,
        other => panic!("{other:?}"),
    });
    let expected = [
        Literal::Binary([0x0A, 0xBC].into()),
        Literal::Money(10_002_500),
        Literal::Money(-20_001),
        Literal::Decimal("2147483648".into()),
        Literal::String("it's".into()),
        Literal::NString("ab".into()),
        Literal::Float(1.0),
        Literal::Money(0),
    ];
    assert_eq!(values.collect::<Vec<_>>(), expected);
}

#[test]
fn joins_before_on_nest_to_the_right() {
    let spec = select("SELECT * FROM a JOIN b JOIN c ON b.i = c.i ON a.i = b.i");
    let TableRefKind::Joined { joins, .. } = &spec.from[0].kind else { panic!("no join") };
    assert_eq!(joins.len(), 1);
    assert!(matches!(&joins[0].right.kind, TableRefKind::Joined { joins, .. } if joins.len() == 1));
}

#[test]
fn double_at_name_is_a_variable() {
    let StatementKind::CreateProcedure(procedure) =
        statement("CREATE PROCEDURE p @@ver int OUTPUT AS SELECT @@ver = 7").kind
    else {
        panic!("no procedure")
    };
    assert_eq!(&*procedure.parameters[0].variable.name, "@@ver");
}

#[test]
fn odbc_call_is_a_call() {
    assert_eq!(batch("{call sp_reset_connection()}"), batch("EXEC sp_reset_connection"));
}

#[test]
fn event_predicate_binds_and_tighter_than_or() {
    let text = "CREATE EVENT SESSION s ON SERVER ADD EVENT p.e (WHERE a = 1 OR b = 2 AND c = 3)";
    let StatementKind::CreateEventSession(session) = statement(text).kind else {
        panic!("no session")
    };
    let Some(EventPredicate::Or(list)) = &session.events[0].predicate else { panic!("no OR") };
    assert!(matches!(&list[1], EventPredicate::And(list) if list.len() == 2));
}
