//! Compares the vector kernels with the row executor: the same expression over the same rows must
//! give the same values, or the same error.
//!
//! Expressions are written as T-SQL over a table with columns of every type and go through the
//! binder, so that they are bound as in queries. `texts.rs` generates them: every function of the
//! registry, every operator over every pair of types, every conversion, and random combinations.
//! `data.rs` makes the rows: NULLs, extremes, duplicates. A text that does not bind is skipped;
//! each function must bind at least once.

mod bench;
mod data;
mod mutant;
mod texts;

use std::sync::Arc;

use sos::sched::{Machine, MachineConfig};
use storage::{Store, StoreOptions};
use tsql::QuotedIdentifier;
use tsql::ast::{QueryBody, SelectItemKind, StatementKind};
use types::batch::{Batch, Selection};
use types::date::Moment;
use types::{Error, Value};

use crate::bind::expr::bind_expr;
use crate::bind::{Level, Source, SourceColumn};
use crate::plan::expr::{Expr, ExprKind, Register};
use crate::plan::walk;
use crate::session::{ClientInfo, LoginRequest, Session};
use crate::sink::{FirstError, Traits};
use ::executor::eval::{eval, truth};
use ::executor::{Cx, Frame};
use ::session::instance::{Config, LockMode};
use ::vectorized::kernel::Kernel;
use data::{Random, Table};

/// The result of evaluating an expression over the selected rows: their values, or the first error.
type Outcome = Result<Vec<Value>, Error>;

/// An engine with a session in which expressions are bound and run.
struct Lab {
    session: Session,
    table: Table,
    /// The table as batches, in several combinations of vector forms.
    batches: Arc<[Batch]>,
}

impl Lab {
    fn new(table: Table) -> Self {
        let config = MachineConfig { schedulers: 1, ..MachineConfig::default() };
        let machine = Arc::new(Machine::start(&config).unwrap());
        let config = Config {
            sa_password: "secret".to_owned(),
            server_name: "test".to_owned(),
            memory_max: 1 << 30,
            query_memory_max: 1 << 30,
            lock_mode: LockMode::default(),
            optimizer: crate::opt::Level::Full,
        };
        let instance = crate::start(config, machine, Store::new(StoreOptions::default()));
        let request = LoginRequest {
            user: "sa".to_owned(),
            password: "secret".to_owned(),
            new_password: None,
            database: String::new(),
            language: String::new(),
            client: ClientInfo::default(),
        };
        let session = Session::login(&instance, request).map_err(|e| format!("{e:?}")).unwrap();
        let mut random = Random::new();
        let batches = (0..6).map(|_| table.batch(&mut random)).collect();
        Self { session, table, batches }
    }

    /// Binds an expression over the table's columns; `None` if it does not bind. Also returns the
    /// number of registers that it needs.
    fn bind(&self, text: &str) -> Option<(Expr, u32)> {
        let state = self.session.state();
        let batch = tsql::parse(&format!("SELECT {text}"), QuotedIdentifier::On).ok()?;
        let statement = batch.statements.into_iter().next()?;
        let StatementKind::Select(select) = statement.kind else { return None };
        let QueryBody::Select(spec) = select.query.body else { return None };
        let item = spec.items.into_iter().next()?;
        let SelectItemKind::Expr { expr, .. } = item.kind else { return None };
        let context = compile::binding::bare_context(state, "master");
        let mut binder = context.binder();
        let columns = self.table.columns.iter().zip(0..).map(|(column, number)| SourceColumn {
            name: column.name.clone().into(),
            ty: column.ty,
            register: Register(number),
            used: true,
            traits: Traits::default(),
        });
        let columns: Vec<SourceColumn> = columns.collect();
        binder.registers = u32::try_from(columns.len()).unwrap();
        let source =
            Source { alias: "t".into(), schema: None, columns, table: None, ..Source::default() };
        let bound = binder.within(Level::of(source), |binder| bind_expr(binder, &expr)).ok()?;
        Some((bound, binder.registers))
    }

    /// Calls `run` with a context that has these registers.
    fn with_cx<R>(&mut self, registers: u32, run: impl FnOnce(&mut Cx<'_>, &Table) -> R) -> R {
        let mut frame = Frame::default();
        let mut sink = FirstError::default();
        let mut cx = Cx::new(crate::host::HOST, self.session.state_mut(), &mut frame, &mut sink);
        cx.reserve(registers);
        // One statement reads the clock once; all evaluations here belong to one statement.
        cx.now = Some(Moment { days: 738_944, ticks: 432_001_234_567, offset: 0 });
        run(&mut cx, &self.table)
    }

    /// Evaluates row by row, with the row executor.
    fn by_row(&mut self, (expr, registers): (&Expr, u32), rows: &Selection) -> Outcome {
        self.with_cx(registers, |cx, table| {
            let reads = walk::reads(expr);
            rows.iter()
                .map(|row| {
                    table.load(row, &reads, cx);
                    eval(expr, cx)
                })
                .collect()
        })
    }

    /// Evaluates with kernels, a batch at a time.
    fn by_batch(
        &mut self,
        (expr, registers): (&Expr, u32),
        batch: &Batch,
        rows: &Selection,
    ) -> Outcome {
        self.with_cx(registers, |cx, table| {
            let layout = table.layout();
            let mut kernel = Kernel::new(expr, &layout);
            let mut outcome = Ok(Vec::new());
            // Twice, because the second evaluation finds the values of the first in the vectors.
            for _ in 0..2 {
                outcome = kernel
                    .evaluate(batch, rows, cx)
                    .map(|vector| rows.iter().map(|row| vector.get(row)).collect());
            }
            outcome
        })
    }

    /// Selects rows with the row executor, as WHERE does.
    fn select_by_row(&mut self, (expr, registers): (&Expr, u32), rows: &Selection) -> Outcome {
        self.with_cx(registers, |cx, table| {
            let (mut kept, reads) = (Vec::new(), walk::reads(expr));
            for row in rows.iter() {
                table.load(row, &reads, cx);
                if truth(expr, cx)?.is_true() {
                    kept.push(Value::BigInt(i64::try_from(row).unwrap()));
                }
            }
            Ok(kept)
        })
    }

    /// Selects rows with kernels.
    fn select_by_batch(
        &mut self,
        (expr, registers): (&Expr, u32),
        batch: &Batch,
        rows: &Selection,
    ) -> Outcome {
        self.with_cx(registers, |cx, table| {
            let layout = table.layout();
            let mut kernel = Kernel::new(expr, &layout);
            let mut kept = Selection::default();
            kernel.select(batch, rows, cx, &mut kept)?;
            Ok(kept.iter().map(|row| Value::BigInt(i64::try_from(row).unwrap())).collect())
        })
    }

    /// Compares both evaluations of an expression, over some selections and forms of the columns.
    fn check(&mut self, text: &str, random: &mut Random) -> Checked {
        let Some((expr, registers)) = self.bind(text) else { return Checked::DoesNotBind };
        let bound = (&expr, registers);
        for _ in 0..2 {
            let rows = data::selection(self.table.rows, random);
            let batches = Arc::clone(&self.batches);
            let batch = random.pick(&batches);
            let wanted = self.by_row(bound, &rows);
            if !is_same(&wanted, &self.by_row(bound, &rows)) {
                return Checked::Restless;
            }
            let found = self.by_batch(bound, batch, &rows);
            if let Some(difference) = difference(&wanted, &found, &rows) {
                return Checked::Differs(format!("{text}: {difference}"));
            }
            for condition in conditions(&expr) {
                let wanted = self.select_by_row((condition, registers), &rows);
                let found = self.select_by_batch((condition, registers), batch, &rows);
                if let Some(difference) = difference(&wanted, &found, &rows) {
                    return Checked::Differs(format!("WHERE of {text}: {difference}"));
                }
            }
        }
        Checked::Same
    }
}

/// The result of a comparison.
#[derive(Debug, PartialEq, Eq)]
enum Checked {
    Same,
    DoesNotBind,
    /// Two evaluations row by row differ.
    Restless,
    Differs(String),
}

/// Returns the WHEN conditions of a CASE.
fn conditions(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Case(branches, _) => branches.iter().map(|(condition, _)| condition).collect(),
        _ => Vec::new(),
    }
}

/// Returns true if two outcomes are bit for bit the same; `Debug` distinguishes -0.0 from 0.0.
fn is_same(wanted: &Outcome, found: &Outcome) -> bool {
    wanted == found && format!("{wanted:?}") == format!("{found:?}")
}

/// Describes the first difference between two outcomes.
fn difference(wanted: &Outcome, found: &Outcome, rows: &Selection) -> Option<String> {
    if is_same(wanted, found) {
        return None;
    }
    if let (Ok(wanted), Ok(found)) = (wanted, found) {
        for ((row, wanted), found) in rows.iter().zip(wanted).zip(found) {
            if format!("{wanted:?}") != format!("{found:?}") {
                return Some(format!("row {row} is {wanted:?}, by kernel {found:?}"));
            }
        }
    }
    Some(format!("{wanted:?}, by kernel {found:?}"))
}

/// Compares all texts; panics if one differs. Returns how many were bound.
fn check_all(lab: &mut Lab, texts: impl IntoIterator<Item = String>) -> usize {
    let mut random = Random::new();
    let mut count = 0;
    let mut bad = Vec::new();
    for text in texts {
        match lab.check(&text, &mut random) {
            Checked::Same => count += 1,
            Checked::DoesNotBind => {}
            Checked::Restless => bad.push(format!("{text}: two evaluations differ")),
            Checked::Differs(difference) => bad.push(difference),
        }
    }
    bad.truncate(40);
    assert!(bad.is_empty(), "{} and perhaps more:\n{}", bad.len(), bad.join("\n"));
    count
}

#[test]
fn operators_are_the_same_both_ways() {
    let mut lab = Lab::new(Table::new(40));
    let count = check_all(&mut lab, texts::operators());
    assert!(count > 3_000, "{count}");
}

#[test]
fn conditions_are_the_same_both_ways() {
    let mut lab = Lab::new(Table::new(40));
    let count = check_all(&mut lab, texts::conditions());
    assert!(count > 2_000, "{count}");
}

#[test]
fn conversions_are_the_same_both_ways() {
    let mut lab = Lab::new(Table::new(40));
    let count = check_all(&mut lab, texts::conversions());
    assert!(count > 1_500, "{count}");
}

#[test]
fn nests_are_the_same_both_ways() {
    let mut lab = Lab::new(Table::new(70));
    let count = check_all(&mut lab, texts::nests(6_000));
    assert!(count > 1_500, "{count}");
}

/// Returns true for functions whose value differs at each call.
fn is_restless(name: &str) -> bool {
    crate::plan::function::is_volatile(name) || matches!(name, "TEXTPTR" | "@@CPU_BUSY" | "@@IDLE")
}

/// Functions that can't be bound in an expression over a table.
const ELSEWHERE: [&str; 8] = [
    // It needs a partition function.
    "$PARTITION",
    // It is called by its name in msdb.
    "FN_SYSPOLICY_IS_AUTOMATION_ENABLED",
    "NEWSEQUENTIALID",
    "COLUMNS_UPDATED",
    "UPDATE COLUMN",
    "XML.MODIFY()",
    "ANSI TRIM",
    "NOT NULL",
];

#[test]
fn every_function_of_the_registry_is_the_same_both_ways() {
    let mut lab = Lab::new(Table::new(25));
    let mut random = Random::new();
    let mut bad = Vec::new();
    for function in crate::library::all() {
        let mut bound = 0;
        for text in texts::calls(function, &mut random) {
            // A panic would hide the results of the other functions.
            let check = || lab.check(&text, &mut random);
            let Ok(checked) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)) else {
                bad.push(format!("{text}: panics"));
                continue;
            };
            match checked {
                Checked::Same => bound += 1,
                Checked::DoesNotBind => {}
                // With one random byte per row, two evaluations are sometimes equal.
                Checked::Restless | Checked::Differs(_) if is_restless(function.name) => bound += 1,
                Checked::Restless => bad.push(format!("{text}: two evaluations differ")),
                Checked::Differs(difference) => bad.push(difference),
            }
        }
        if bound == 0 && !ELSEWHERE.contains(&function.name) {
            bad.push(format!("{}: no call of it binds", function.name));
        }
    }
    bad.truncate(60);
    assert!(bad.is_empty(), "{} and perhaps more:\n{}", bad.len(), bad.join("\n"));
}
