//! What the fuzz target `log_bytes` does with arbitrary bytes; plain tests call it as well.

use log::{
    BATCH_HEADER_BYTES, BLOCK_BYTES, Batch, BatchBuffer, Change, Head, Heads, Nesting, Record,
    Records, Row, SegmentHeader, Transaction,
};

/// Decodes bytes as a payload, as a batch and as a segment header. What is valid as a payload must
/// be the same bytes after it was encoded again: each record has one form.
pub(crate) fn bytes(data: &[u8]) {
    changes(data);
    let records: Result<Vec<_>, _> = Records::new(data, Nesting::default()).collect();
    match records {
        Ok(records) => {
            heads(data, &records);
            let mut copy = Vec::new();
            if encode(&records, &mut copy) {
                assert_eq!(copy, data);
            }
        }
        Err(error) => assert!(error.offset <= data.len(), "{error}"),
    }
    if let Ok(batch) = Batch::decode(data) {
        let mut buffer = BatchBuffer::default();
        buffer.push(batch.payload);
        assert_eq!(buffer.seal(&batch.header), (&data[..batch.byte_count], batch.crc));
        assert_eq!(batch.byte_count % BLOCK_BYTES, 0);
        assert!(batch.payload.len() + BATCH_HEADER_BYTES <= batch.byte_count);
    }
    if let Some(block) = data.first_chunk::<BLOCK_BYTES>()
        && let Ok(header) = SegmentHeader::decode(block)
    {
        assert_eq!(header.encode(), *block);
    }
}

/// Reads changes once: the columns are those of the record, and what is wrong is found as there.
fn changes(data: &[u8]) {
    let heads = Heads::new(data, Nesting::default()).map_while(Result::ok);
    for (offset, _) in heads.filter(|(_, head)| matches!(head, Head::Change { .. })) {
        let checked = Record::at(data, offset).map(|record| match record {
            Record::Insert { columns, .. } | Record::Update { columns, .. } => {
                Some(columns.collect::<Vec<_>>())
            }
            _ => None,
        });
        let once = Change::at(data, offset).and_then(|change| match change {
            Change::Whole(mut columns) | Change::Part(mut columns) => {
                let read = columns.by_ref().collect();
                columns.end().map(|()| Some(read))
            }
            Change::Gone => Ok(None),
        });
        assert_eq!(once, checked);
    }
}

/// Reads a valid payload by the heads of its records.
fn heads(data: &[u8], records: &[Record<'_>]) {
    let mut heads = Heads::new(data, Nesting::default());
    for record in records {
        let (offset, head) = heads.next().expect("a head per record").expect("a valid head");
        assert_eq!(Record::at(data, offset).as_ref(), Ok(record));
        let expected = match record.clone() {
            Record::Begin { timestamp, utc_100ns } => Head::Begin { timestamp, utc_100ns },
            Record::Insert { table, row, .. } | Record::Delete { table, row } => {
                Head::Change { table, row, is_whole: true }
            }
            Record::Update { table, row, .. } => Head::Change { table, row, is_whole: false },
            Record::Definition { kind, bytes } => Head::Definition { kind, bytes },
            Record::End => Head::End,
        };
        assert_eq!(head, expected);
    }
    assert_eq!(heads.next(), None);
}

/// Writes records again; returns false if a transaction is open at the end, which the writer takes
/// back.
pub(crate) fn encode(records: &[Record<'_>], buffer: &mut Vec<u8>) -> bool {
    let mut rest = records.iter();
    while let Some(first) = rest.next() {
        let Record::Begin { timestamp, utc_100ns } = first else { panic!("no begin: {first:?}") };
        let mut transaction = Transaction::begin(buffer, *timestamp, *utc_100ns);
        loop {
            match rest.next() {
                None => return false,
                Some(Record::End) => break,
                Some(record) => change(&mut transaction, record),
            }
        }
        transaction.end();
    }
    true
}

fn change(transaction: &mut Transaction<'_>, record: &Record<'_>) {
    match record.clone() {
        Record::Insert { table, row, columns } => transaction.insert(table, row, columns),
        Record::Update { table, row, columns } => transaction.update(table, row, columns),
        Record::Delete { table, row } => transaction.delete(table, row),
        Record::Definition { kind, bytes } => transaction.definition(kind, bytes),
        Record::Begin { .. } | Record::End => panic!("{record:?} inside a transaction"),
    }
}

/// Makes the payload of two transactions with a record of each kind.
pub(crate) fn sample() -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut first = Transaction::begin(&mut buffer, 7, 70);
    first.definition(3, b"CREATE TABLE");
    let row = [(0, Some(&b"alice"[..])), (1, None), (2, Some(&[][..]))];
    first.insert(1, Row::Key(b"alice"), row.into_iter());
    first.end();
    let mut second = Transaction::begin(&mut buffer, u64::MAX, u64::MAX);
    second.update(u32::MAX, Row::Id(300), [(u32::MAX, Some(&[9; 200][..]))].into_iter());
    second.delete(1, Row::Key(b"alice"));
    second.end();
    buffer
}
