//! A store as bytes, for a file that a restart reads.
//!
//! ```text
//!   magic, version │ when the database was created │ ids │ texts, contexts, queries, .. │ CRC-32C
//! ```
//!
//! Numbers are little-endian; a text is its length and its bytes; a list is its length and its
//! entries. A file of version 1 is read, too; one of another version, or a damaged one, is not.

use std::sync::Arc;

use plan::stats::{Deviation, Parameterization};

use crate::database::DatabaseStore;
use crate::measure::Measure;
use crate::store::{
    Compiled, Ending, Hint, Ids, Instant, Interval, Plan, Query, Runtime, Store, Wait,
};

const MAGIC: &[u8; 8] = b"CLEARWQS";
const VERSION: u32 = 2;
/// The version before, which has no logical reads and writes.
const WITHOUT_IO: u32 = 1;

impl DatabaseStore {
    /// Returns the store as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Out(Vec::new());
        out.0.extend_from_slice(MAGIC);
        out.0.extend_from_slice(&VERSION.to_le_bytes());
        out.i64(self.created);
        self.store.write(&mut out);
        let crc = crc32c::crc32c(&out.0);
        out.0.extend_from_slice(&crc.to_le_bytes());
        out.0
    }

    /// Reads a store and when its database was created.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<(Store, Instant), &'static str> {
        let (body, crc) = bytes.split_last_chunk::<4>().ok_or("it is too short")?;
        if !body.starts_with(MAGIC) {
            return Err("it is not of a Query Store");
        }
        if crc32c::crc32c(body).to_le_bytes() != *crc {
            return Err("its checksum is wrong");
        }
        let mut input = In { rest: &body[MAGIC.len()..], version: 0 };
        input.version = u32::from_le_bytes(input.array().ok_or("it is too short")?);
        if !matches!(input.version, VERSION | WITHOUT_IO) {
            return Err("another version has written it");
        }
        let read = |input: &mut In<'_>| Some((input.i64()?, Store::read(input)?));
        let (created, store) = read(&mut input).ok_or("an entry is not readable")?;
        Ok((store, created))
    }
}

struct Out(Vec<u8>);

impl Out {
    fn i64(&mut self, n: i64) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }

    fn u64(&mut self, n: u64) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }

    fn float(&mut self, n: f64) {
        self.u64(n.to_bits());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u64(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.0.push(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, write: impl Fn(T, &mut Self)) {
        self.u64(u64::try_from(items.len()).unwrap_or(u64::MAX));
        items.for_each(|item| write(item, self));
    }
}

/// What is left to read, and the version of the file.
struct In<'b> {
    rest: &'b [u8],
    version: u32,
}

impl<'b> In<'b> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.i64().and_then(|n| n.try_into().ok())
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn float(&mut self) -> Option<f64> {
        self.u64().map(f64::from_bits)
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.u64()?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn optional(&mut self) -> Option<Option<&'b str>> {
        match self.u8()? {
            0 => Some(None),
            _ => self.text().map(Some),
        }
    }

    fn list(&mut self, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        for _ in 0..self.u64()? {
            read(self)?;
        }
        Some(())
    }
}

impl Store {
    fn write(&self, out: &mut Out) {
        let ids = self.ids;
        for id in [
            ids.text,
            ids.context,
            ids.query,
            ids.plan,
            ids.interval,
            ids.runtime,
            ids.wait,
            ids.hint,
        ] {
            out.i64(id);
        }
        out.list(self.texts.iter(), |(id, text), out| {
            out.i64(*id);
            out.text(text);
        });
        out.list(self.contexts.iter(), |(id, options), out| {
            out.i64(*id);
            out.0.extend_from_slice(options);
        });
        out.list(self.queries.iter(), |(id, query), out| {
            out.i64(*id);
            write_query(query, out);
        });
        out.list(self.plans.iter(), |(id, plan), out| {
            out.i64(*id);
            write_plan(plan, out);
        });
        out.list(self.intervals.iter(), |(id, interval), out| {
            [*id, interval.start, interval.end].into_iter().for_each(|n| out.i64(n));
        });
        out.list(self.runtime.iter(), |((plan, interval, ending), runtime), out| {
            out.i64(*plan);
            out.i64(*interval);
            out.0.push(*ending as u8);
            write_runtime(runtime, out);
        });
        out.list(self.hints.iter(), |(query, hint), out| {
            out.i64(*query);
            out.i64(hint.id);
            out.text(&hint.text);
            out.optional(hint.comment.as_deref());
            out.u64(hint.failures);
            out.i64(i64::from(hint.reason));
        });
    }

    fn read(input: &mut In<'_>) -> Option<Self> {
        let mut store = Self::default();
        store.ids = Ids {
            text: input.i64()?,
            context: input.i64()?,
            query: input.i64()?,
            plan: input.i64()?,
            interval: input.i64()?,
            runtime: input.i64()?,
            wait: input.i64()?,
            hint: input.i64()?,
        };
        input.list(|input| {
            let id = input.i64()?;
            store.insert_text(id, input.text()?.into());
            Some(())
        })?;
        input.list(|input| {
            let id = input.i64()?;
            store.contexts.insert(id, input.array()?);
            Some(())
        })?;
        input.list(|input| {
            let id = input.i64()?;
            store.insert_query(id, read_query(input)?);
            Some(())
        })?;
        input.list(|input| {
            let id = input.i64()?;
            store.insert_plan(id, read_plan(input)?);
            Some(())
        })?;
        input.list(|input| {
            let id = input.i64()?;
            let interval = Interval { start: input.i64()?, end: input.i64()? };
            store.intervals.insert(id, interval);
            Some(())
        })?;
        input.list(|input| {
            let (plan, interval, ending) = (input.i64()?, input.i64()?, input.u8()?);
            let ending = Ending::ALL.into_iter().find(|known| *known as u8 == ending)?;
            store.insert_runtime((plan, interval, ending), read_runtime(input)?);
            Some(())
        })?;
        input.list(|input| {
            let query = input.i64()?;
            let hint = Hint {
                id: input.i64()?,
                text: input.text()?.into(),
                comment: input.optional()?.map(str::to_owned),
                failures: input.u64()?,
                reason: input.i32()?,
            };
            store.hints.insert(query, hint);
            Some(())
        })?;
        Some(store)
    }
}

fn write_query(query: &Query, out: &mut Out) {
    out.i64(query.text);
    out.i64(query.context);
    out.i64(i64::from(query.object_id));
    out.0.push(query.parameterization as u8);
    out.0.extend_from_slice(&query.hash);
    out.bytes(&query.batch);
    out.i64(i64::from(query.offsets.0));
    out.i64(i64::from(query.offsets.1));
    write_compiled(&query.compiled, out);
    out.i64(query.last_execution);
}

fn read_query(input: &mut In<'_>) -> Option<Query> {
    Some(Query {
        text: input.i64()?,
        context: input.i64()?,
        object_id: input.i32()?,
        parameterization: match input.u8()? {
            0 => Parameterization::None,
            1 => Parameterization::User,
            2 => Parameterization::Simple,
            _ => return None,
        },
        hash: input.array()?,
        batch: input.bytes()?.to_vec(),
        offsets: (input.i32()?, input.i32()?),
        compiled: read_compiled(input)?,
        last_execution: input.i64()?,
    })
}

fn write_plan(plan: &Plan, out: &mut Out) {
    out.i64(plan.query);
    out.0.extend_from_slice(&plan.hash);
    out.optional(plan.document.as_deref());
    out.text(&plan.version);
    out.0.extend([plan.level, u8::from(plan.is_parallel), u8::from(plan.is_native)]);
    write_compiled(&plan.compiled, out);
    out.i64(plan.last_execution);
}

fn read_plan(input: &mut In<'_>) -> Option<Plan> {
    Some(Plan {
        query: input.i64()?,
        hash: input.array()?,
        document: input.optional()?.map(Arc::from),
        version: input.text()?.into(),
        level: input.u8()?,
        is_parallel: input.u8()? != 0,
        is_native: input.u8()? != 0,
        compiled: read_compiled(input)?,
        last_execution: input.i64()?,
    })
}

fn write_compiled(compiled: &Compiled, out: &mut Out) {
    out.u64(compiled.count);
    out.i64(compiled.first);
    out.i64(compiled.last);
    out.u64(compiled.ns);
    out.u64(compiled.last_ns);
}

fn read_compiled(input: &mut In<'_>) -> Option<Compiled> {
    Some(Compiled {
        count: input.u64()?,
        first: input.i64()?,
        last: input.i64()?,
        ns: input.u64()?,
        last_ns: input.u64()?,
    })
}

fn write_runtime(runtime: &Runtime, out: &mut Out) {
    out.i64(runtime.id);
    out.i64(runtime.first);
    out.i64(runtime.last);
    out.u64(runtime.executions);
    let Runtime { duration, cpu, degree, rows, reads, writes, .. } = runtime;
    for measure in [duration, cpu, degree, rows, reads, writes] {
        write_measure(measure, out);
    }
    out.list(runtime.waits.iter(), |(category, wait), out| {
        out.0.push(*category);
        out.i64(wait.id);
        out.u64(wait.executions);
        write_measure(&wait.time, out);
    });
}

fn read_runtime(input: &mut In<'_>) -> Option<Runtime> {
    let mut runtime = Runtime {
        id: input.i64()?,
        first: input.i64()?,
        last: input.i64()?,
        executions: input.u64()?,
        duration: read_measure(input)?,
        cpu: read_measure(input)?,
        degree: read_measure(input)?,
        rows: read_measure(input)?,
        ..Runtime::default()
    };
    if input.version != WITHOUT_IO {
        (runtime.reads, runtime.writes) = (read_measure(input)?, read_measure(input)?);
    }
    input.list(|input| {
        let category = input.u8()?;
        let wait = Wait { id: input.i64()?, executions: input.u64()?, time: read_measure(input)? };
        runtime.waits.insert(category, wait);
        Some(())
    })?;
    Some(runtime)
}

fn write_measure(measure: &Measure, out: &mut Out) {
    out.float(measure.total);
    out.float(measure.last);
    out.0.push(u8::from(measure.extremes.is_some()));
    let (least, most) = measure.extremes.unwrap_or_default();
    let Deviation { count, sum, squares } = measure.spread;
    [least, most, count, sum, squares].into_iter().for_each(|n| out.float(n));
}

fn read_measure(input: &mut In<'_>) -> Option<Measure> {
    let (total, last, has_extremes) = (input.float()?, input.float()?, input.u8()? != 0);
    let extremes = (input.float()?, input.float()?);
    Some(Measure {
        total,
        last,
        extremes: has_extremes.then_some(extremes),
        spread: Deviation { count: input.float()?, sum: input.float()?, squares: input.float()? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> DatabaseStore {
        let mut store = Store::default();
        store.insert_text(1, "SELECT 1".into());
        store.contexts.insert(1, [1, 2]);
        let compiled = Compiled { count: 2, first: 5, last: 6, ns: 7, last_ns: 8 };
        store.insert_query(
            3,
            Query {
                text: 1,
                context: 1,
                object_id: 77,
                parameterization: Parameterization::Simple,
                hash: [3; 8],
                batch: vec![1, 2, 3],
                offsets: (4, -1),
                compiled,
                last_execution: 99,
            },
        );
        let plan = Plan {
            query: 3,
            hash: [4; 8],
            document: Some("<plan/>".into()),
            version: "16.0.1".into(),
            level: 160,
            is_parallel: true,
            is_native: false,
            compiled,
            last_execution: 98,
        };
        store.insert_plan(5, plan);
        store.intervals.insert(2, Interval { start: 10, end: 20 });
        let measure = Measure {
            total: 1.5,
            last: 0.5,
            extremes: Some((0.5, 1.0)),
            spread: Deviation { count: 2.0, sum: 1.5, squares: 1.25 },
        };
        let mut runtime = Runtime {
            id: 9,
            executions: 2,
            duration: measure,
            reads: measure,
            writes: measure,
            ..Runtime::default()
        };
        runtime.waits.insert(3, Wait { id: 1, executions: 1, time: measure });
        store.insert_runtime((5, 2, Ending::Exception), runtime);
        store.set_hint(3, "OPTION(MAXDOP 1)", Some("why".to_owned()));
        DatabaseStore::new(store, 1234)
    }

    #[test]
    fn a_store_is_read_as_it_was_written() {
        let written = filled();
        let (read, created) = DatabaseStore::from_bytes(&written.to_bytes()).expect("readable");
        assert_eq!(created, 1234);
        assert_eq!(read, written.store);
        assert_eq!(read.bytes(), written.store.bytes());
    }

    /// Returns a store's bytes as the version before has written them.
    fn without_io(stored: &DatabaseStore) -> Vec<u8> {
        let with_one = |reads: &Measure| {
            let mut out = Out(Vec::new());
            write_measure(reads, &mut out);
            write_measure(reads, &mut out);
            out.0
        };
        let mut bytes = stored.to_bytes();
        let runtime = stored.store.runtime.values().next().expect("there is one");
        let io = with_one(&runtime.reads);
        let at = bytes.windows(io.len()).rposition(|part| part == io).expect("it is written");
        bytes.drain(at..at + io.len());
        bytes[MAGIC.len()..][..4].copy_from_slice(&WITHOUT_IO.to_le_bytes());
        bytes.truncate(bytes.len() - 4);
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn a_store_of_the_version_before_is_read_without_reads_and_writes() {
        let written = filled();
        let bytes = without_io(&written);
        let (read, _) = DatabaseStore::from_bytes(&bytes).expect("readable");
        let mut wanted = written.store.clone();
        for runtime in wanted.runtime.values_mut() {
            (runtime.reads, runtime.writes) = (Measure::default(), Measure::default());
        }
        assert_eq!(read, wanted);
        assert_eq!(read.runtime.values().next().map(|r| r.duration.total), Some(1.5));
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let bytes = filled().to_bytes();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(DatabaseStore::from_bytes(&damaged).is_err(), "byte {at}");
            assert!(DatabaseStore::from_bytes(&bytes[..at]).is_err(), "length {at}");
        }
    }
}
