//! Memory grants: a query that buffers more rows than its limit gets 701, and other queries are not
//! affected.

use crate::client::{batch, instance_with, login};

/// A sort of more rows than the limit of the instance below.
const LARGE: &str = "SELECT MAX(n) FROM (SELECT TOP 1000000 value AS n, \
                     ROW_NUMBER() OVER (ORDER BY value DESC) AS r \
                     FROM GENERATE_SERIES(1, 100000)) t";

#[test]
fn a_query_over_its_grant_gets_701_and_others_go_on() {
    let instance = instance_with(|config| config.query_memory_max = 1 << 20);
    let mut session = login(&instance);
    let mut other = login(&instance);
    for text in [
        LARGE.to_owned(),
        "SELECT COUNT(*) FROM (SELECT DISTINCT value FROM GENERATE_SERIES(1, 100000)) t".into(),
        "SELECT value, COUNT(*) FROM GENERATE_SERIES(1, 100000) GROUP BY value".into(),
        "SELECT value FROM GENERATE_SERIES(1, 100000) ORDER BY value DESC".into(),
        "SELECT COUNT(*) FROM (SELECT value FROM GENERATE_SERIES(1, 100000) \
         EXCEPT SELECT value FROM GENERATE_SERIES(1, 90000)) t"
            .into(),
    ] {
        let answer = batch(&mut session, &text);
        let numbers: Vec<i32> = answer.errors.iter().map(|e| e.number).collect();
        assert_eq!(numbers, [701], "{text}");
        let answer =
            batch(&mut other, "SELECT value FROM GENERATE_SERIES(1, 3) ORDER BY value DESC");
        assert_eq!(answer.sets[0], [["3"], ["2"], ["1"]]);
    }
    // The memory of the failed query was released.
    let answer = batch(&mut session, "SELECT COUNT(*) FROM sys.dm_exec_query_memory_grants");
    assert!(answer.errors.is_empty());
}
