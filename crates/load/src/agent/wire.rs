//! `Writer` and `Reader`: encode numbers, texts and histograms as bytes. Both sides are the same
//! version, so fields have no names.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::outcome::latencies;

const SHORT: &str = "a message ends too soon";

/// A message being written.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    /// Writes a number, seven bits to a byte, lowest bits first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }

    pub(super) fn size(&mut self, size: usize) {
        self.number(u64::try_from(size).unwrap_or(u64::MAX));
    }

    pub(super) fn float(&mut self, number: f64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.size(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub(super) fn maybe(&mut self, number: Option<u64>) {
        self.number(u64::from(number.is_some()));
        number.into_iter().for_each(|number| self.number(number));
    }

    pub(super) fn counts(&mut self, counts: &BTreeMap<i32, u64>) {
        self.size(counts.len());
        for (number, count) in counts {
            self.number(u64::from(number.cast_unsigned()));
            self.number(*count);
        }
    }

    /// Writes a histogram: for each bucket that is not empty the distance from the previous
    /// bucket's value, and the count.
    pub(super) fn histogram(&mut self, histogram: &Histogram<u64>) {
        let mut before = 0;
        let pairs: Vec<_> = histogram
            .iter_recorded()
            .map(|bucket| {
                let value = histogram.lowest_equivalent(bucket.value_iterated_to());
                (value, bucket.count_at_value())
            })
            .collect();
        self.size(pairs.len());
        for (value, count) in pairs {
            self.number(value - before);
            self.number(count);
            before = value;
        }
    }
}

/// A message being read.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
}

impl Reader<'_> {
    pub(super) fn byte(&mut self) -> Result<u8, String> {
        let (first, rest) = self.bytes.split_first().ok_or(SHORT)?;
        self.bytes = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number is too long".to_owned())
    }

    pub(super) fn size(&mut self) -> Result<usize, String> {
        usize::try_from(self.number()?).map_err(|_| "a size is too large".to_owned())
    }

    /// Reads a count of items, each of which takes at least a byte.
    pub(super) fn length(&mut self) -> Result<usize, String> {
        let length = self.size()?;
        if length > self.bytes.len() { Err(SHORT.to_owned()) } else { Ok(length) }
    }

    pub(super) fn float(&mut self) -> Result<f64, String> {
        let (number, rest) = self.bytes.split_first_chunk().ok_or(SHORT)?;
        self.bytes = rest;
        Ok(f64::from_le_bytes(*number))
    }

    pub(super) fn text(&mut self) -> Result<String, String> {
        let length = self.length()?;
        let (text, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        String::from_utf8(text.to_vec()).map_err(|_| "a text is not UTF-8".to_owned())
    }

    pub(super) fn maybe(&mut self) -> Result<Option<u64>, String> {
        if self.number()? == 0 { Ok(None) } else { self.number().map(Some) }
    }

    pub(super) fn counts(&mut self) -> Result<BTreeMap<i32, u64>, String> {
        let count = self.length()?;
        let pair = |reader: &mut Self| {
            let number = u32::try_from(reader.number()?).map_err(|_| "no error's number")?;
            Ok((number.cast_signed(), reader.number()?))
        };
        (0..count).map(|_| pair(self)).collect()
    }

    pub(super) fn histogram(&mut self) -> Result<Histogram<u64>, String> {
        let mut histogram = latencies();
        let mut value = 0_u64;
        for _ in 0..self.length()? {
            value = value.saturating_add(self.number()?);
            let count = self.number()?;
            histogram
                .record_n(value, count)
                .map_err(|error| format!("a histogram is malformed: {error}"))?;
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        let numbers = [0, 127, 128, 1_000_000, u64::MAX];
        numbers.iter().for_each(|number| writer.number(*number));
        writer.float(-1.5);
        writer.text("\u{e9}");
        writer.maybe(None);
        writer.maybe(Some(3));
        let counts = BTreeMap::from([(-1, 2), (1205, u64::MAX)]);
        writer.counts(&counts);
        let mut reader = Reader { bytes: &writer.bytes };
        for number in numbers {
            assert_eq!(reader.number(), Ok(number));
        }
        assert_eq!(reader.float(), Ok(-1.5));
        assert_eq!(reader.text().as_deref(), Ok("\u{e9}"));
        assert_eq!((reader.maybe(), reader.maybe()), (Ok(None), Ok(Some(3))));
        assert_eq!(reader.counts(), Ok(counts));
        assert!(reader.byte().is_err());
    }

    #[test]
    fn a_histogram_comes_as_it_went() {
        let mut histogram = latencies();
        let mut value = 1_u64;
        while value < 20_000_000_000_000 {
            histogram.saturating_record_n(value, value % 5 + 1);
            value = value * 103 / 100 + 1;
        }
        let mut writer = Writer::default();
        writer.histogram(&histogram);
        let read = Reader { bytes: &writer.bytes }.histogram().expect("it is whole");
        assert_eq!(read, histogram);
        assert_eq!(
            (read.len(), read.max(), read.min()),
            (histogram.len(), histogram.max(), histogram.min())
        );
        for cut in 0..writer.bytes.len() {
            assert!(Reader { bytes: &writer.bytes[..cut] }.histogram().is_err(), "cut at {cut}");
        }
    }
}
