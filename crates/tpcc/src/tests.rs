//! Tests of the inputs and of the scripts.

use super::*;
use crate::input::{last_name, nurand};

/// Draws with xorshift64* (Vigna, 2016).
fn random(seed: u64) -> impl FnMut(i64, i64) -> i64 {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |from, to| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let bits = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        from + i64::try_from(bits).expect("31 bits") % (to - from + 1)
    }
}

fn terminal(warehouses: u32, lines: Lines) -> Terminal {
    Terminal { scale: Scale::full(warehouses), number: 4, lines }
}

fn lines_of(call: &Call) -> Vec<String> {
    let Some(Argument { value: Value::Text(Some(text), 200), .. }) = call.arguments.last() else {
        panic!("no lines: {call:?}");
    };
    assert!(text.len().is_multiple_of(13), "{text}");
    (0..text.len() / 13).map(|line| text[line * 13..][..13].to_owned()).collect()
}

#[test]
fn names_are_made_of_syllables() {
    assert_eq!(last_name(371), "PRICALLYOUGHT");
    assert_eq!(last_name(40), "BARPRESBAR");
}

#[test]
fn one_of_a_hundred_orders_asks_for_an_item_that_does_not_exist() {
    let mut draw = random(5);
    let all = 20_000;
    let calls = (0..all).map(|_| terminal(3, Lines::Drawn).input(Transaction::NewOrder, &mut draw));
    let undone = calls.filter(|call| {
        let has_it = lines_of(call).last().is_some_and(|line| line.starts_with("999999"));
        assert_eq!(has_it, call.rolls_back);
        has_it
    });
    // Five standard deviations of a binomial of 20,000 and a hundredth.
    let undone = undone.count();
    assert!(undone.abs_diff(200) < 71, "{undone} of {all}");
}

#[test]
fn sorted_lines_are_in_the_order_of_their_stock() {
    let mut draw = random(6);
    for _ in 0..500 {
        let call = terminal(3, Lines::Sorted).input(Transaction::NewOrder, &mut draw);
        let mut lines = lines_of(&call);
        assert!((5..=15).contains(&lines.len()));
        // The item that does not exist stays last, whatever its warehouse.
        if call.rolls_back {
            lines.pop();
        }
        let stock = |line: &String| (line[6..11].to_owned(), line[..6].to_owned());
        assert!(lines.is_sorted_by_key(stock), "{lines:?}");
    }
}

#[test]
fn numbers_are_within_bounds_and_uneven() {
    let mut draw = random(9);
    let mut counts = vec![0_u32; 3_001];
    for _ in 0..300_000 {
        let drawn = nurand(&mut draw, 1_023, 521, (1, 3_000));
        counts[usize::try_from(drawn).expect("above 0")] += 1;
    }
    assert_eq!(counts[0], 0);
    let most = counts.iter().max().copied().unwrap_or(0);
    assert!(most > 300, "evenly it would be 100 each: {most}");
}

#[test]
fn another_warehouse_is_never_the_own_one() {
    let mut draw = random(1);
    for home in 1..=4 {
        for _ in 0..200 {
            let other = terminal(4, Lines::Drawn).other(home, &mut draw);
            assert!(other != home && (1..=4).contains(&other), "{other} of {home}");
        }
    }
    assert_eq!(terminal(1, Lines::Drawn).other(1, &mut draw), 1);
}

#[test]
fn scripts_have_all_warehouses_and_no_placeholder() {
    let dialects = [
        Dialect::Transact,
        Dialect::Postgres { is_logged: true },
        Dialect::Postgres { is_logged: false },
        Dialect::MariaDb,
    ];
    for dialect in dialects {
        let script = dialect.setup(Scale::full(2));
        for text in ["'house1'", "'house2'"] {
            assert!(script.iter().any(|batch| batch.contains(text)), "{dialect:?}: {text}");
        }
        for batch in script {
            assert!(!batch.contains('{') && !batch.contains('}'), "{dialect:?}: {batch}");
        }
        for transaction in Transaction::ALL {
            let name = transaction.procedure();
            let made = dialect.setup(Scale::full(1)).iter().any(|it| it.contains(name));
            assert!(made, "{dialect:?}: {name}");
        }
    }
}
