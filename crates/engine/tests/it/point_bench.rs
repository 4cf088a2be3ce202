//! A benchmark of point statements in a procedure: run by hand, with `--ignored --nocapture`.

use sos::sys::cpu_times;

use crate::client::{batch, instance, login};

const ROUNDS: u64 = 200_000;

#[test]
#[ignore = "measures; run by hand in release"]
fn point_statements_by_hash_key() {
    let instance = instance();
    let mut session = login(&instance);
    let setup = [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id nvarchar(88) COLLATE Latin1_General_100_BIN2 NOT NULL, locked bit NOT NULL, \
         cookie int NOT NULL, expires datetime NOT NULL, item varbinary(7000), \
         PRIMARY KEY NONCLUSTERED HASH (id) WITH (BUCKET_COUNT = 1024), INDEX e (expires)) \
         WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY)",
        "INSERT t VALUES (N'abcdefghijklmnopqrstuvwx12345678', 0, 1, GETUTCDATE(), 0x010203)",
    ];
    for sql in setup {
        let answer = batch(&mut session, sql);
        assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    }
    let loops = [
        ("empty loop", "SET @x = @x"),
        ("point select", "SELECT @x = cookie FROM t WHERE id = @id"),
        ("point update", "UPDATE t SET locked = 1, @x = cookie = cookie + 1 WHERE id = @id"),
        ("point update of nothing", "UPDATE t SET locked = 1 WHERE id = @no"),
    ];
    for (name, statement) in loops {
        let sql = format!(
            "SET NOCOUNT ON; DECLARE @i int = 0, @x int, @no nvarchar(88) = N'no', \
             @id nvarchar(88) = N'abcdefghijklmnopqrstuvwx12345678'; \
             WHILE @i < {ROUNDS} BEGIN {statement}; SET @i += 1 END"
        );
        let before = cpu_times().user_ns;
        let answer = batch(&mut session, &sql);
        let ns = (cpu_times().user_ns - before) / ROUNDS;
        assert!(answer.errors.is_empty(), "{:?}", answer.errors);
        println!("{name}: {ns} ns of CPU a round");
    }
}
