//! Recorded answers: rows as a server sent them, one to a line, values separated by tabs.

use top::App;
use top::question::Topic;
use top::rows::Row;

/// The length of the recording in seconds.
const SECONDS: i64 = 40;

/// Splits a text into its rows.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    text.lines().filter(|line| !line.is_empty()).map(Row::from_record).collect()
}

/// Gives an app the answers of forty seconds.
pub(crate) fn feed(app: &mut App) {
    let version =
        "Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64) \\n\\tClearway 0.1.0 (in memory)";
    app.take(Topic::Server, &[rows(version)], 0);
    for second in 0..=SECONDS {
        app.take(Topic::Time, &[rows(&clock(second)), rows(&ledger(second))], 0);
        if second == SECONDS - 1 {
            app.take(Topic::Statements, &[rows(include_str!("../recorded/statements_1.tsv"))], 0);
        }
    }
    app.take(Topic::Statements, &[rows(include_str!("../recorded/statements_2.tsv"))], 0);
    app.take(Topic::Requests, &[rows(include_str!("../recorded/requests.tsv"))], 0);
    app.take(Topic::Locks, &[rows(include_str!("../recorded/locks.tsv"))], 0);
}

fn clock(second: i64) -> String {
    let ticks = 50_000 + 1_000 * second;
    let cpu = 900 * second;
    format!("{ticks}\t1000\t10:21:{second:02}\t{}\t2\t{cpu}\t50\t{}", 260_700 + second, 4 * second)
}

/// A load that grows, then waits for a row that is locked.
fn ledger(second: i64) -> String {
    let ms = |milliseconds: i64| milliseconds * 1_000_000;
    let busy = (0..=second).map(|s| 20 * s.min(30)).sum::<i64>();
    let waits = (0..=second).map(|s| 250 * (s - 20).max(0)).sum::<i64>();
    [
        ("user", "scan", busy, 40 * second),
        ("user", "row", busy / 2, 0),
        ("kernel", "recv", 120 * second, 900 * second),
        ("kernel", "send", 80 * second, 900 * second),
        ("spin", "XTP_TRANSACTION", second, second),
        ("observation", "observing", 3 * second, second),
        ("dark", "unlabelled", 2 * second, 0),
        ("runnable", "running", 150 * second, 0),
        ("signal", "LCK_M_X", waits / 20, second),
        ("wait", "LCK_M_X", waits, second),
        ("wait", "WAITFOR", 200 * second, 2 * second),
        ("idle", "SLEEP_TASK", 5_000 * second, 4 * second),
        ("idle", "idle", 1_000 * second, second),
    ]
    .map(|(category, name, time, entries)| format!("{category}\t{name}\t{}\t{entries}", ms(time)))
    .join("\n")
}
