//! Measures the CPU time per value of the main kernels, in ns, beside a bare loop. Run by hand, in
//! release: `cargo test --release -p engine --lib differential::bench -- --ignored --nocapture`.

use std::hint::black_box;

use types::batch::{BATCH_ROWS, Batch, Data, Selection};

use super::data::Table;
use super::{Kernel, Lab};

/// Number of batches per measurement.
const ROUNDS: u64 = 2_000;

/// The measured expressions, with their labels.
const TEXTS: [(&str, &str); 22] = [
    ("int + int", "p_int + q_int"),
    ("int * constant", "p_int * 3"),
    ("bigint / bigint", "p_big / q_big"),
    ("decimal(15,2) * decimal(15,2)", "p_d15 * q_d15"),
    ("price * (1 - discount)", "p_d15 * (1 - q_d15)"),
    ("price * (1 - discount) * (1 + tax)", "p_d15 * (1 - q_d15) * (1 + p_d15)"),
    ("float * float", "p_float * q_float"),
    ("int < constant", "CASE WHEN p_int < 500 THEN 1 END"),
    ("date <= constant", "CASE WHEN p_date <= '2001-06-01' THEN 1 END"),
    ("decimal between", "CASE WHEN p_d15 BETWEEN 2.00 AND 5.00 THEN 1 END"),
    ("varchar = constant, CI", "CASE WHEN p_v = 'abc 500 xyz' THEN 1 END"),
    ("varchar < varchar, CI", "CASE WHEN p_v < q_v THEN 1 END"),
    ("IN of 4 strings", "CASE WHEN p_v IN ('abc 1 xyz', 'b', 'c', 'd') THEN 1 END"),
    ("IN of 8 strings", "CASE WHEN p_v IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h') THEN 1 END"),
    ("LIKE 'x%'", "CASE WHEN p_v LIKE 'abc 5%' THEN 1 END"),
    ("LIKE '%x%y%'", "CASE WHEN p_v LIKE '%5%yz%' THEN 1 END"),
    ("three conditions", "CASE WHEN p_int < 500 AND q_int > 100 AND p_d15 < 7.5 THEN 1 END"),
    ("CASE of a condition", "CASE WHEN p_int < 500 THEN p_int ELSE q_int END"),
    ("YEAR(date)", "YEAR(p_date)"),
    ("SUBSTRING", "SUBSTRING(p_v, 1, 2)"),
    ("HASHBYTES SHA2_256", "HASHBYTES('SHA2_256', p_v)"),
    ("ROUND(decimal), by its row implementation", "ROUND(p_d15, 1)"),
];

#[test]
#[ignore = "measures; run by hand in release"]
fn nanoseconds_per_value() {
    let mut lab = Lab::new(Table::plain(BATCH_ROWS));
    let batch = lab.table.plain_batch();
    bare(&batch);
    for (name, text) in TEXTS {
        let (expr, registers) = lab.bind(text).unwrap();
        let condition = super::conditions(&expr).into_iter().next().cloned();
        let rows = Selection::all(BATCH_ROWS);
        lab.with_cx(registers, |cx, table| {
            let layout = table.layout();
            let (is_condition, expr) = match condition {
                Some(condition) if !text.contains("ELSE") => (true, condition),
                _ => (false, expr),
            };
            let mut kernel = Kernel::new(&expr, &layout);
            let mut kept = Selection::default();
            let ns = measure(|| {
                if is_condition {
                    kernel.select(&batch, &rows, cx, &mut kept).unwrap();
                    black_box(&kept);
                } else {
                    black_box(kernel.evaluate(&batch, &rows, cx).unwrap());
                }
            });
            println!("{ns:>8.2} ns  {name}");
            let by_row = measure_rows(&expr, table, cx);
            println!("{by_row:>8.2} ns    by row");
        });
    }
}

/// Returns the CPU time per row, in ns.
fn measure(mut run: impl FnMut()) -> f64 {
    run();
    let start = sos::sys::cpu_times().user_ns;
    (0..ROUNDS).for_each(|_| run());
    per_row(sos::sys::cpu_times().user_ns - start, ROUNDS)
}

#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn per_row(ns: u64, rounds: u64) -> f64 {
    ns as f64 / (rounds as f64 * BATCH_ROWS as f64)
}

/// As [`measure`], for the row executor, including the time to fill the registers.
fn measure_rows(expr: &crate::plan::expr::Expr, table: &Table, cx: &mut ::executor::Cx<'_>) -> f64 {
    const ROW_ROUNDS: u64 = 100;
    let reads = crate::plan::walk::reads(expr);
    let start = sos::sys::cpu_times().user_ns;
    for _ in 0..ROW_ROUNDS {
        for row in 0..BATCH_ROWS {
            table.load(row, &reads, cx);
            drop(black_box(::executor::eval::eval(expr, cx)));
        }
    }
    per_row(sos::sys::cpu_times().user_ns - start, ROW_ROUNDS)
}

/// The baseline: adds and compares 32-bit numbers in a plain loop.
fn bare(batch: &Batch) {
    let columns = batch.columns.iter().filter_map(|column| match column.data() {
        Data::Int(rows) => Some(rows),
        _ => None,
    });
    let ints: Vec<&Vec<i32>> = columns.take(2).collect();
    let mut sums = vec![0; BATCH_ROWS];
    let ns = measure(|| {
        let pairs = black_box(ints[0]).iter().zip(ints[1]);
        sums.iter_mut().zip(pairs).for_each(|(sum, (a, b))| *sum = a.wrapping_add(*b));
        black_box(&sums);
    });
    println!("{ns:>8.2} ns  bare loop: int + int");
    let mut kept = vec![0_usize; BATCH_ROWS];
    let ns = measure(|| {
        let mut len = 0;
        for (row, value) in black_box(ints[0]).iter().enumerate() {
            kept[len] = row;
            len += usize::from(*value < 500);
        }
        black_box(&kept);
    });
    println!("{ns:>8.2} ns  bare loop: numbers of rows whose int < constant");
}
