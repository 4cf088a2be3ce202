//! Records: what was written is read, and anything else is an error with its offset.

use log::{Columns, Nesting, Problem, Record, Records, Row, Transaction};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::drive;

#[derive(Clone, Debug)]
enum OwnedRow {
    Id(u64),
    Key(Vec<u8>),
}

#[derive(Clone, Debug)]
enum Change {
    Insert(u32, OwnedRow, Vec<(u32, Option<Vec<u8>>)>),
    Update(u32, OwnedRow, Vec<(u32, Option<Vec<u8>>)>),
    Delete(u32, OwnedRow),
    Definition(u32, Vec<u8>),
}

impl OwnedRow {
    fn row(&self) -> Row<'_> {
        match self {
            Self::Id(id) => Row::Id(*id),
            Self::Key(image) => Row::Key(image),
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let bytes = || vec(any::<u8>(), 0..200);
    let row = prop_oneof![any::<u64>().prop_map(OwnedRow::Id), bytes().prop_map(OwnedRow::Key)];
    let ordinal = prop_oneof![0_u32..20, any::<u32>()];
    let columns = btree_map(ordinal, option::of(bytes()), 0..8);
    let place = (any::<u32>(), row);
    let full = (place.clone(), columns.prop_map(|map| map.into_iter().collect::<Vec<_>>()));
    prop_oneof![
        full.clone().prop_map(|((table, row), columns)| Change::Insert(table, row, columns)),
        full.prop_map(|((table, row), columns)| Change::Update(table, row, columns)),
        place.prop_map(|(table, row)| Change::Delete(table, row)),
        (any::<u32>(), bytes()).prop_map(|(kind, bytes)| Change::Definition(kind, bytes)),
    ]
}

fn write(transactions: &[(u64, u64, Vec<Change>)]) -> Vec<u8> {
    let mut buffer = Vec::new();
    for (timestamp, utc_100ns, changes) in transactions {
        let mut transaction = Transaction::begin(&mut buffer, *timestamp, *utc_100ns);
        for change in changes {
            match change {
                Change::Insert(table, row, columns) => {
                    transaction.insert(*table, row.row(), borrowed(columns));
                }
                Change::Update(table, row, columns) => {
                    transaction.update(*table, row.row(), borrowed(columns));
                }
                Change::Delete(table, row) => transaction.delete(*table, row.row()),
                Change::Definition(kind, bytes) => transaction.definition(*kind, bytes),
            }
        }
        transaction.end();
    }
    buffer
}

fn borrowed(
    columns: &[(u32, Option<Vec<u8>>)],
) -> impl Iterator<Item = (u32, Option<&[u8]>)> + Clone {
    columns.iter().map(|(ordinal, value)| (*ordinal, value.as_deref()))
}

fn is_same(change: &Change, record: &Record<'_>) -> bool {
    let same =
        |columns: &[(u32, Option<Vec<u8>>)], read: &Columns<'_>| borrowed(columns).eq(read.clone());
    match (change, record) {
        (Change::Insert(t, r, c), Record::Insert { table, row, columns })
        | (Change::Update(t, r, c), Record::Update { table, row, columns }) => {
            t == table && r.row() == *row && same(c, columns)
        }
        (Change::Delete(t, r), Record::Delete { table, row }) => t == table && r.row() == *row,
        (Change::Definition(k, b), Record::Definition { kind, bytes }) => k == kind && b == bytes,
        _ => false,
    }
}

fn transactions() -> impl Strategy<Value = Vec<(u64, u64, Vec<Change>)>> {
    vec((any::<u64>(), any::<u64>(), vec(change(), 0..6)), 0..5)
}

#[test]
fn a_record_has_any_length_and_any_number_of_columns() {
    let image = vec![7; 20_000];
    for bytes in [0, 1, 115, 116, 117, 118, 119, 120, 16_360, 16_370, 16_374, 16_380, 20_000] {
        for count in [1_u32, 127, 128, 300] {
            let column = |n| (n, (n > 0).then(|| image[..bytes / 100].to_vec()));
            let last = (1_000, Some(image[..bytes].to_vec()));
            let columns: Vec<_> = (0..count).map(column).chain([last]).collect();
            let mut buffer = vec![9];
            let mut transaction = Transaction::begin(&mut buffer, 1, 2);
            transaction.insert(3, Row::Id(4), borrowed(&columns));
            transaction.update_of(3, Row::Id(4), |_| {});
            transaction.update_of(5, Row::Id(6), |written| {
                borrowed(&columns).for_each(|(n, value)| written.push(n, value));
            });
            transaction.end();
            let records: Result<Vec<_>, _> =
                Records::new(&buffer[1..], Nesting::default()).collect();
            let records = records.expect("records in their shortest form");
            let [
                _,
                Record::Insert { columns: inserted, .. },
                Record::Update { columns: updated, .. },
                _,
            ] = &records[..]
            else {
                panic!("an update that finds nothing has no record: {records:?}")
            };
            assert!(inserted.clone().eq(borrowed(&columns)), "{bytes} bytes, {count} columns");
            assert!(updated.clone().eq(borrowed(&columns)), "{bytes} bytes, {count} columns");
        }
    }
}

proptest! {
    #[test]
    fn records_come_back(transactions in transactions()) {
        let payload = write(&transactions);
        let mut records = Records::new(&payload, Nesting::default());
        for (timestamp, utc_100ns, changes) in &transactions {
            let begin = Record::Begin { timestamp: *timestamp, utc_100ns: *utc_100ns };
            prop_assert_eq!(records.next(), Some(Ok(begin)));
            for change in changes {
                let record = records.next().unwrap().unwrap();
                prop_assert!(is_same(change, &record), "{:?} is {:?}", change, record);
            }
            prop_assert_eq!(records.next(), Some(Ok(Record::End)));
        }
        prop_assert_eq!(records.next(), None);
        prop_assert!(records.nesting().is_outside());
        drive::bytes(&payload);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..400)) {
        drive::bytes(&bytes);
    }

    #[test]
    fn changed_payloads_are_decoded_or_refused(at in 0_usize..1000, mask in 1_u8..=255) {
        let mut payload = drive::sample();
        let at = at % payload.len();
        payload[at] ^= mask;
        drive::bytes(&payload);
    }
}

#[test]
fn payload_may_be_cut_between_records_only() {
    let payload = drive::sample();
    let mut ends = vec![0];
    let mut records = Records::new(&payload, Nesting::default());
    while records.next().transpose().unwrap().is_some() {
        ends.push(records.offset());
    }
    for cut in 0..=payload.len() {
        let mut records = Records::new(&payload[..cut], Nesting::default());
        let error = records.by_ref().find_map(Result::err);
        assert_eq!(error.is_none(), ends.contains(&cut), "cut at {cut}");
        assert!(error.is_none_or(|error| error.offset <= cut && error.problem == Problem::Cut));
        if ends.contains(&cut) {
            let rest: Vec<_> = Records::new(&payload[cut..], records.nesting()).collect();
            assert!(rest.iter().all(Result::is_ok), "a transaction goes on in the next batch");
        }
    }
}

#[test]
fn transaction_that_is_dropped_leaves_no_bytes() {
    let mut buffer = drive::sample();
    let before = buffer.clone();
    let mut transaction = Transaction::begin(&mut buffer, 1, 1);
    transaction.delete(1, Row::Id(1));
    drop(transaction);
    assert_eq!(buffer, before);
}

#[test]
fn malformed_records_are_refused_by_name() {
    let begin = [&[1, 16][..], &[0; 16]].concat();
    let after_begin = |bytes: &[u8]| [&begin[..], bytes].concat();
    let cases = [
        (vec![0, 0], 0, Problem::RecordKind(0)),
        (vec![7, 0], 0, Problem::RecordKind(7)),
        (vec![4, 3, 1, 0, 1], 0, Problem::Nesting),
        (after_begin(&begin), 18, Problem::Nesting),
        (after_begin(&[6, 1, 1]), 18, Problem::ChangeCount),
        (after_begin(&[4, 4, 1, 0, 1, 9]), 23, Problem::RecordLength),
        (after_begin(&[4, 3, 1, 2, 1]), 21, Problem::Field("kind of row")),
        (after_begin(&[3, 8, 1, 0, 1, 2, 5, 0, 0, 0]), 26, Problem::Ordinals),
        (after_begin(&[3, 4, 1, 0, 1, 2]), 24, Problem::Cut),
        // A column whose image would be 2^63 bytes.
        (
            after_begin(&[3, 15, 1, 0, 1, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
            35,
            Problem::Cut,
        ),
    ];
    for (bytes, offset, problem) in cases {
        let error = Records::new(&bytes, Nesting::default()).find_map(Result::err);
        let error = error.unwrap_or_else(|| panic!("{bytes:?} is accepted"));
        assert_eq!((error.offset, error.problem), (offset, problem), "{bytes:?}");
    }
}
