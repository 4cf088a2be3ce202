//! Tests deep and long input: error 191 or a tree, and no stack overflow in parsing or dropping it.

use crate::support::{batch, error};

const MANY: usize = 10_000;

#[test]
fn deep_nesting_is_191() {
    let deep = [
        format!("SELECT {}1{}", "(".repeat(MANY), ")".repeat(MANY)),
        format!("SELECT 1 WHERE {}1 = 1{}", "(".repeat(MANY), ")".repeat(MANY)),
        format!("SELECT {}", "(".repeat(MANY)),
        format!("SELECT {}1{}", "(SELECT ".repeat(MANY), ")".repeat(MANY)),
        format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(MANY), ") x".repeat(MANY)),
        format!("SELECT * FROM {}t{}", "(".repeat(MANY), ")".repeat(MANY)),
        format!(
            "SELECT 1 WHERE {}1 = 1{}",
            "EXISTS (SELECT 1 WHERE ".repeat(MANY),
            ")".repeat(MANY)
        ),
        format!("SELECT 1 WHERE {} 1 = 1", "NOT ".repeat(MANY)),
        format!("SELECT {}1", "- ".repeat(MANY)),
        format!("SELECT {}1", "~".repeat(MANY)),
        format!("SELECT {}1{}", "f(".repeat(MANY), ")".repeat(MANY)),
        format!("SELECT {}1{}", "CASE WHEN 1 = 1 THEN ".repeat(MANY), " END".repeat(MANY)),
        format!("SELECT {}1{}", "CAST(".repeat(MANY), " AS int)".repeat(MANY)),
        format!("{}SELECT 1{}", "BEGIN ".repeat(MANY), " END".repeat(MANY)),
        format!("{}SELECT 1", "IF 1 = 1 ".repeat(MANY)),
        format!("{}SELECT 1", "WHILE 1 = 1 ".repeat(MANY)),
        format!("SELECT @a{}", ".f()".repeat(MANY)),
        format!("SELECT a{}", " AT TIME ZONE 'x'".repeat(MANY)),
        format!("SELECT * FROM t {} {}", "JOIN t ".repeat(MANY), "ON 1 = 1 ".repeat(MANY)),
        format!("SELECT 1 FROM t GROUP BY {}a{}", "ROLLUP (".repeat(MANY), ")".repeat(MANY)),
        format!("SELECT 1 UNION {}SELECT 1{}", "(".repeat(MANY), ")".repeat(MANY)),
    ];
    for text in deep {
        let (number, ..) = error(&text);
        assert!(number == 191, "{number}: {}", &text[..80]);
    }
}

#[test]
fn long_chains_parse_and_drop() {
    let long = [
        format!("SELECT 1 WHERE 1 = 1{}", " AND 1 = 1".repeat(MANY)),
        format!("SELECT 1 WHERE 1 = 1{}", " OR 1 = 1".repeat(MANY)),
        format!("SELECT 'a'{}", " + 'a'".repeat(MANY)),
        format!("SELECT 1{}", " * 1".repeat(MANY)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(MANY)),
        format!("SELECT 1{}", ", 1".repeat(65_536)),
        format!("SELECT * FROM t{}", " CROSS JOIN t".repeat(MANY)),
        format!("SELECT * FROM t{}", " JOIN t ON 1 = 1".repeat(MANY)),
        format!("IF 1 = 1 SELECT 1{}", " ELSE IF 1 = 1 SELECT 1".repeat(MANY)),
        format!("SELECT CASE{} END", " WHEN 1 = 1 THEN 1".repeat(MANY)),
        format!("SELECT 1 WHERE a IN (1{})", ", 1".repeat(MANY)),
        "SELECT 1 ".repeat(MANY),
        ";".repeat(MANY),
        format!("/*{}{}*/", "/*".repeat(MANY), "*/".repeat(MANY)),
    ];
    for text in long {
        batch(&text);
    }
}

#[test]
fn nesting_of_real_programs_parses() {
    let depth = 20;
    batch(&format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth)));
    batch(&format!("SELECT {}1{}", "(SELECT ".repeat(depth), ")".repeat(depth)));
    batch(&format!("{}SELECT 1{}", "IF 1 = 1 BEGIN ".repeat(depth), " END".repeat(depth)));
}

#[test]
fn quadratic_input_ends_soon() {
    let half = "((SELECT 1) + ".repeat(50);
    let text = format!("SELECT {half}1{}", ")".repeat(50));
    batch(&text);
    let text = format!("SELECT {}", "((SELECT 1) + 1), ".repeat(20_000)) + "1";
    batch(&text);
}
