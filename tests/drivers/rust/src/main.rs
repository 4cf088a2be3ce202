//! Runs the checks of spec.toml through tiberius, reading its work as JSON on standard input and
//! printing one JSON line per check.

mod kind;

use std::io::Read;
use std::time::{Duration, Instant};

use kind::Kind;
use serde_json::{Value, json};
use tiberius::{AuthMethod, Client, ColumnData, Command, Config, EncryptionLevel, Query, Row, TokenRow};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

pub type Cn = Client<Compat<TcpStream>>;
/// A check's outcome; the text says what did not hold.
pub type Outcome<T = ()> = Result<T, String>;

const CANCEL_MAX: Duration = Duration::from_secs(1);
/// A check that hangs must not take the others with it.
const CHECK_MAX: Duration = Duration::from_secs(30);

struct Work(Value);

impl Work {
    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().expect("the harness sends it")
    }

    fn sql(&self, name: &str) -> &str {
        self.0["sql"][name].as_str().expect("the harness sends it")
    }

    async fn open(&self) -> Outcome<Cn> {
        self.open_with(self.text("password"), None, None).await.map_err(|e| e.to_string())
    }

    async fn open_with(
        &self,
        password: &str,
        database: Option<&str>,
        encryption: Option<EncryptionLevel>,
    ) -> Result<Cn, tiberius::error::Error> {
        let mut config = Config::new();
        config.host(self.text("host"));
        config.port(self.0["port"].as_u64().and_then(|p| u16::try_from(p).ok()).expect("a port"));
        config.authentication(AuthMethod::sql_server(self.text("user"), password));
        if let Some(name) = database {
            config.database(name);
        }
        match encryption {
            // Strict checks the certificate itself: ours is its own authority.
            Some(level) => {
                config.encryption(level);
                config.trust_cert_ca(self.text("cert"));
            }
            None => config.trust_cert(),
        }
        let tcp = TcpStream::connect(config.get_addr()).await?;
        tcp.set_nodelay(true)?;
        Client::connect(config, tcp.compat_write()).await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).expect("work on standard input");
    let work = Work(serde_json::from_str(&input).expect("work is JSON"));
    for check in work.0["checks"].as_array().expect("a list of checks") {
        let name = check.as_str().expect("a check has a name");
        let limited = tokio::time::timeout(CHECK_MAX, run(&work, name)).await;
        let outcome = limited.unwrap_or_else(|_| Err(format!("it took more than {CHECK_MAX:?}")));
        let detail = outcome.err().unwrap_or_default();
        let detail: String = detail.chars().take(600).collect();
        println!("{}", answer(name, &detail));
    }
}

/// The harness knows an answer by its first key, so the order matters.
fn answer(name: &str, detail: &str) -> String {
    format!("{{\"check\": {}, \"ok\": {}, \"detail\": {}}}", json!(name), detail.is_empty(), json!(detail))
}

async fn run(work: &Work, check: &str) -> Outcome {
    match check {
        "connect-strict" => return strict(work).await,
        "wrong-password" => return refused(work, 18456, "not it", None).await,
        "unknown-database" => return refused(work, 4060, work.text("password"), Some("no_such_database")).await,
        "commit" => return transaction(work, true, 2).await,
        "rollback" => return transaction(work, false, 0).await,
        _ => {}
    }
    let mut cn = work.open().await?;
    match check {
        "connect" => connect(&mut cn).await,
        "procedure" => procedure(work, &mut cn).await,
        "two-results" => two_results(work, &mut cn).await,
        "error-divide" => failing(&mut cn, work.sql(check), (8134, 3), "", None).await,
        "error-duplicate" => {
            batch(&mut cn, "create table #d (k int not null primary key)").await?;
            batch(&mut cn, "insert into #d values (1)").await?;
            failing(&mut cn, "insert into #d values (1)", (2627, 1), "", None).await
        }
        "error-object" => failing(&mut cn, work.sql(check), (208, 1), "no_such_table", None).await,
        "error-syntax" => failing(&mut cn, work.sql(check), (102, 2), "')'", None).await,
        "error-raise" => failing(&mut cn, work.sql(check), (50000, 1), "bad luck 13", Some(3)).await,
        "cancel-wait" | "cancel-loop" => cancelled(&mut cn, work.sql(check)).await,
        "thousand" => thousand(&mut cn).await,
        "bulk" => bulk(work, &mut cn).await,
        _ => {
            let kinds = work.0["types"].as_array().expect("a list of types");
            let found = kinds.iter().find(|k| check.strip_prefix("type-") == k["name"].as_str());
            let found = found.ok_or_else(|| format!("this program has no check {check}"))?;
            Kind::new(found).check(&mut cn).await
        }
    }
}

// ---- queries ---------------------------------------------------------------------------------

pub async fn batch(cn: &mut Cn, sql: &str) -> Outcome<Vec<Vec<Row>>> {
    let stream = cn.simple_query(sql).await.map_err(|e| e.to_string())?;
    stream.into_results().await.map_err(|e| e.to_string())
}

pub async fn number(cn: &mut Cn, sql: &str) -> Outcome<i32> {
    let sets = batch(cn, sql).await?;
    let row = sets.first().and_then(|rows| rows.first()).ok_or("no row")?;
    row.try_get::<i32, _>(0).map_err(|e| e.to_string())?.ok_or_else(|| "NULL".to_owned())
}

pub fn equal<T: PartialEq + std::fmt::Debug>(got: T, want: T, what: &str) -> Outcome {
    if got == want {
        return Ok(());
    }
    let cut = |v: &T| format!("{v:?}").chars().take(160).collect::<String>();
    Err(format!("{what}: got {}, expected {}", cut(&got), cut(&want)))
}

// ---- the checks ------------------------------------------------------------------------------

async fn connect(cn: &mut Cn) -> Outcome {
    equal(number(cn, "select 1").await?, 1, "select 1")?;
    let sets = batch(cn, "select @@version").await?;
    let version: &str = sets[0][0].get(0).unwrap_or_default();
    equal(version.starts_with("Microsoft SQL Server"), true, "@@version")
}

async fn strict(work: &Work) -> Outcome {
    let opened = work.open_with(work.text("password"), None, Some(EncryptionLevel::Strict)).await;
    let mut cn = opened.map_err(|e| e.to_string())?;
    equal(number(&mut cn, "select 8").await?, 8, "select")
}

async fn refused(work: &Work, code: u32, password: &str, database: Option<&str>) -> Outcome {
    match work.open_with(password, database, None).await {
        Ok(_) => Err("the login was accepted".to_owned()),
        Err(raised) => {
            let first = raised.code().unwrap_or(0);
            equal(first, code, &format!("error of {raised}"))
        }
    }
}

async fn procedure(work: &Work, cn: &mut Cn) -> Outcome {
    batch(cn, work.sql("procedure-create")).await?;
    let name = format!("p_{}", work.text("mark"));
    let mut command = Command::new(name);
    command.bind_param("@a", 21);
    command.bind_out_param("@b", "in");
    command.bind_out_param("@c", 0);
    let stream = command.exec(cn).await.map_err(|e| e.to_string())?;
    let result = stream.into_command_result().await.map_err(|e| e.to_string())?;
    let b = result.try_return_value::<&str>("@b").map_err(|e| e.to_string())?;
    let c = result.try_return_value::<i32>("@c").map_err(|e| e.to_string())?;
    equal((b, c, result.return_code()), (Some("in!"), Some(42), 7), "outputs, status")?;
    batch(cn, work.sql("procedure-drop")).await.map(drop)
}

async fn two_results(work: &Work, cn: &mut Cn) -> Outcome {
    let sets = batch(cn, work.sql("two-results")).await?;
    equal(sets.len(), 2, "result sets")?;
    let names = |row: &Row| row.columns().iter().map(|c| c.name().to_owned()).collect::<Vec<_>>().join(" ");
    equal((names(&sets[0][0]), sets[0][0].get::<i32, _>(0)), ("a".to_owned(), Some(1)), "first")?;
    let second = &sets[1][0];
    equal((names(second), second.get::<&str, _>(0), second.get::<i32, _>(1)), ("b c".to_owned(), Some("two"), Some(3)), "second")
}

async fn transaction(work: &Work, commit: bool, count: i32) -> Outcome {
    let table = format!("tx_{}", work.text("mark"));
    let (mut cn, mut other) = (work.open().await?, work.open().await?);
    batch(&mut other, &format!("create table {table} (k int not null primary key)")).await?;
    cn.begin_transaction().await.map_err(|e| e.to_string())?;
    batch(&mut cn, &format!("insert into {table} values (1)")).await?;
    batch(&mut cn, &format!("insert into {table} values (2)")).await?;
    equal(number(&mut cn, "select @@trancount").await?, 1, "@@trancount inside")?;
    let ended = if commit { cn.commit_transaction().await } else { cn.rollback_transaction().await };
    ended.map_err(|e| e.to_string())?;
    let seen = number(&mut other, &format!("select count(*) from {table}")).await?;
    batch(&mut other, &format!("drop table {table}")).await?;
    equal(seen, count, "rows after")
}

async fn failing(cn: &mut Cn, sql: &str, want: (u32, u32), words: &str, state: Option<u8>) -> Outcome {
    let raised = match cn.simple_query(sql).await {
        Ok(stream) => stream.into_results().await.err(),
        Err(raised) => Some(raised),
    };
    let Some(tiberius::error::Error::Server(error)) = raised else {
        return Err(format!("no server error came: {raised:?}"));
    };
    equal((error.code(), error.line()), want, &format!("number and line of {error}"))?;
    equal(error.message().contains(words), true, &format!("message {:?}", error.message()))?;
    equal(error.state(), state.unwrap_or(error.state()), "state")?;
    equal(number(cn, "select 5").await?, 5, "after the error")
}

async fn cancelled(cn: &mut Cn, sql: &str) -> Outcome {
    let waited = tokio::time::timeout(Duration::from_millis(300), async {
        match cn.simple_query(sql).await {
            Ok(stream) => stream.into_results().await.err(),
            Err(raised) => Some(raised),
        }
    });
    if let Ok(ended) = waited.await {
        return Err(format!("the statement ended by itself: {ended:?}"));
    }
    let started = Instant::now();
    cn.cancel_query().await.map_err(|e| e.to_string())?;
    equal(started.elapsed() < CANCEL_MAX, true, &format!("answered after {:?}", started.elapsed()))?;
    equal(number(cn, "select 6").await?, 6, "after the cancel")
}

async fn thousand(cn: &mut Cn) -> Outcome {
    for n in 0..1000 {
        if n % 2 == 1 {
            equal(number(cn, &format!("select {n}")).await?, n, "statement")?;
            continue;
        }
        let mut query = Query::new("select cast(@P1 as int)");
        query.bind(n);
        let stream = query.query(cn).await.map_err(|e| e.to_string())?;
        let row = stream.into_row().await.map_err(|e| e.to_string())?.ok_or("no row")?;
        equal(row.get::<i32, _>(0), Some(n), "statement")?;
    }
    Ok(())
}

async fn bulk(work: &Work, cn: &mut Cn) -> Outcome {
    batch(cn, work.sql("bulk-create")).await?;
    let table = format!("bulk_{}", work.text("mark"));
    let outcome = bulk_rows(cn, &table).await;
    batch(cn, &format!("drop table {table}")).await?;
    outcome
}

async fn bulk_rows(cn: &mut Cn, table: &str) -> Outcome {
    let stamp = kind::datetime2("2024-02-29 12:34:56.123", 3);
    let name = |n: i32| (n % 7 != 0).then(|| format!("name {n} é"));
    let amount = |n: i32| tiberius::numeric::Numeric::new_with_scale(i128::from(n) * 2500, 4);
    let data = |n: i32| vec![u8::try_from(n % 256).expect("a byte"), 0, 255];
    let mut load = cn.bulk_insert(table).await.map_err(|e| e.to_string())?;
    for n in 1..=500 {
        let mut row = TokenRow::new();
        row.push(ColumnData::I32(Some(n)));
        row.push(ColumnData::String(name(n).map(Into::into)));
        row.push(ColumnData::Numeric(Some(amount(n))));
        row.push(ColumnData::DateTime2(Some(stamp)));
        row.push(ColumnData::Binary(Some(data(n).into())));
        load.send(row).await.map_err(|e| e.to_string())?;
    }
    load.finalize().await.map_err(|e| e.to_string())?;
    let sql = format!("select id, name, amount, stamp, data from {table} order by id");
    let rows = batch(cn, &sql).await?.remove(0);
    equal(rows.len(), 500, "rows")?;
    for (row, n) in rows.into_iter().zip(1..) {
        let got: Vec<ColumnData<'static>> = row.into_iter().collect();
        let want = vec![
            ColumnData::I32(Some(n)),
            ColumnData::String(name(n).map(Into::into)),
            ColumnData::Numeric(Some(amount(n))),
            ColumnData::DateTime2(Some(stamp)),
            ColumnData::Binary(Some(data(n).into())),
        ];
        equal(got, want, &format!("row {n}"))?;
    }
    Ok(())
}
