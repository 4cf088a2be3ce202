//! Tests of the workload `tpcc`: its inputs and its transactions.

use super::*;

/// Returns the text of a request, in which a character is two bytes.
fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn contains(request: &[u8], text: &str) -> bool {
    let wanted = utf16(text);
    request.windows(wanted.len()).any(|part| part == wanted)
}

#[test]
fn names_are_made_of_syllables() {
    assert_eq!(last_name(371), "PRICALLYOUGHT");
    assert_eq!(last_name(40), "BARPRESBAR");
}

#[test]
fn one_of_a_hundred_orders_asks_for_what_nobody_has() {
    let requests = Requests { transaction: Transaction::NewOrder, warehouses: 3, reset: Reset::No };
    let mut random = Random::new(5);
    let all = 20_000;
    let undone = (0..all).filter(|_| contains(&requests.request(4, &mut random), "999999")).count();
    // Five standard deviations of a binomial of 20,000 and a hundredth.
    assert!(undone.abs_diff(200) < 71, "{undone} of {all}");
}

#[test]
fn numbers_are_within_bounds_and_uneven() {
    let mut random = Random::new(9);
    let mut counts = vec![0_u32; 3_001];
    for _ in 0..300_000 {
        let drawn = nurand(&mut random, 1_023, C_ID, 1, CUSTOMERS);
        counts[usize::try_from(drawn).expect("above 0")] += 1;
    }
    assert_eq!(counts[0], 0);
    let most = counts.iter().max().copied().unwrap_or(0);
    assert!(most > 300, "evenly it would be 100 each: {most}");
}

#[test]
fn another_warehouse_is_never_the_own_one() {
    let requests = Requests { transaction: Transaction::Payment, warehouses: 4, reset: Reset::No };
    let mut random = Random::new(1);
    for home in 1..=4 {
        for _ in 0..200 {
            let other = requests.other(home, &mut random);
            assert!(other != home && (1..=4).contains(&other), "{other} of {home}");
        }
    }
    let alone = Requests { warehouses: 1, ..requests };
    assert_eq!(alone.other(1, &mut random), 1);
}

#[test]
fn the_script_has_all_warehouses() {
    let script = setup(2);
    for text in ["-- The rows of warehouse 1:", "-- The rows of warehouse 2:"] {
        assert!(script.iter().any(|batch| batch.contains(text)), "{text}");
    }
    assert!(script.iter().all(|batch| !batch.contains("{w}")));
}
