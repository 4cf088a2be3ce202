//! The documented XML of targets (`target_data`) and of events (`event_data`).

use std::fmt::Write;

use sos::xe::{
    CounterData, EventRecord, FileData, HistogramData, OwnedValue, PairData, RecordField, RingData,
    TargetData, guid_text,
};

use super::DAY_TICKS;

/// Returns the content of a target as XML.
pub fn target(data: &TargetData) -> String {
    let mut xml = String::new();
    // Writing to a string cannot fail.
    let _ = match data {
        TargetData::Histogram(data) => histogram(data, &mut xml),
        TargetData::Counter(data) => counter(data, &mut xml),
        TargetData::Ring(data) => ring(data, &mut xml),
        TargetData::File(data) => file(data, &mut xml),
        TargetData::Pairs(data) => pairs(data, &mut xml),
    };
    xml
}

/// Returns an event as XML.
pub fn event(record: &EventRecord) -> String {
    let mut xml = String::new();
    let _ = put_event(record, &mut xml);
    xml
}

fn histogram(data: &HistogramData, xml: &mut String) -> std::fmt::Result {
    let HistogramData { truncated, buckets, .. } = data;
    write!(xml, "<HistogramTarget truncated=\"{truncated}\" buckets=\"{buckets}\">")?;
    for slot in &data.slots {
        write!(xml, "<Slot count=\"{}\"", slot.events)?;
        if slot.weight != slot.events {
            write!(xml, " weight=\"{}\"", slot.weight)?;
        }
        if let (Some(map), OwnedValue::Map(key)) = (data.map, &slot.value)
            && let Some(text) = map.text_of(*key)
        {
            write!(xml, " text=\"{}\"", escaped(text))?;
        }
        write!(xml, "><value>{}</value></Slot>", escaped(&text_of(&slot.value)))?;
    }
    xml.write_str("</HistogramTarget>")
}

fn counter(data: &CounterData, xml: &mut String) -> std::fmt::Result {
    xml.write_str("<CounterTarget truncated=\"0\"><Packages>")?;
    let mut packages: Vec<&str> = Vec::new();
    for (event, _) in &data.events {
        if !packages.contains(&event.package.name) {
            packages.push(event.package.name);
        }
    }
    for package in packages {
        write!(xml, "<Package name=\"{package}\">")?;
        for (event, count) in data.events.iter().filter(|(e, _)| e.package.name == package) {
            write!(xml, "<Event name=\"{}\" count=\"{count}\"/>", event.name)?;
        }
        xml.write_str("</Package>")?;
    }
    xml.write_str("</Packages></CounterTarget>")
}

fn ring(data: &RingData, xml: &mut String) -> std::fmt::Result {
    write!(
        xml,
        "<RingBufferTarget truncated=\"{}\" processingTime=\"{}\" totalEventsProcessed=\"{}\" \
         eventCount=\"{}\" droppedCount=\"{}\" memoryUsed=\"{}\">",
        data.truncated,
        data.processing_ns / 1_000_000,
        data.processed,
        data.events.len(),
        data.dropped,
        data.memory_bytes
    )?;
    data.events.iter().try_for_each(|record| put_event(record, xml))?;
    xml.write_str("</RingBufferTarget>")
}

fn file(data: &FileData, xml: &mut String) -> std::fmt::Result {
    write!(
        xml,
        "<EventFileTarget truncated=\"0\"><Buffers logged=\"{}\" dropped=\"{}\"/><File name=\"{}\"/>",
        data.events,
        data.lost,
        escaped(&data.path)
    )?;
    if let Some(error) = &data.error {
        write!(xml, "<Error>{}</Error>", escaped(error))?;
    }
    xml.write_str("</EventFileTarget>")
}

fn pairs(data: &PairData, xml: &mut String) -> std::fmt::Result {
    write!(
        xml,
        "<PairingTarget truncated=\"{}\" matchedCount=\"{}\" memoryPressureDroppedCount=\"{}\" \
         orphanCount=\"{}\">",
        data.truncated,
        data.matched,
        data.memory_pressure_dropped,
        data.orphans.len()
    )?;
    data.orphans.iter().try_for_each(|record| put_event(record, xml))?;
    xml.write_str("</PairingTarget>")
}

fn put_event(record: &EventRecord, xml: &mut String) -> std::fmt::Result {
    let timestamp = timestamp(record.timestamp_100ns);
    write!(
        xml,
        "<event name=\"{}\" package=\"{}\" timestamp=\"{timestamp}\">",
        escaped(&record.name),
        escaped(&record.package)
    )?;
    for field in &record.fields {
        write!(xml, "<data name=\"{}\">", escaped(&field.name))?;
        put_value(field, xml)?;
        xml.write_str("</data>")?;
    }
    for action in &record.actions {
        let (name, package) = (escaped(&action.name), escaped(&action.package));
        write!(xml, "<action name=\"{name}\" package=\"{package}\">")?;
        put_value(action, xml)?;
        xml.write_str("</action>")?;
    }
    xml.write_str("</event>")
}

fn put_value(field: &RecordField, xml: &mut String) -> std::fmt::Result {
    let (name, package) = (escaped(&field.type_name), escaped(&field.type_package));
    write!(xml, "<type name=\"{name}\" package=\"{package}\"/>")?;
    match &field.value {
        OwnedValue::Null => xml.write_str("<value/>")?,
        OwnedValue::Text(text) if &*field.type_name == "xml" => {
            write!(xml, "<value>{}</value>", allowed(text))?;
        }
        OwnedValue::UInt(address) if &*field.type_name == "ptr" => {
            write!(xml, "<value>0x{address:016x}</value>")?;
        }
        OwnedValue::UInt(ticks) if &*field.type_name == "filetime" => {
            write!(xml, "<value>{}</value>", timestamp(*ticks))?;
        }
        other => write!(xml, "<value>{}</value>", escaped(&text_of(other)))?,
    }
    match &field.text {
        Some(text) => write!(xml, "<text>{}</text>", escaped(text)),
        None => Ok(()),
    }
}

/// Returns the text of a value, as it appears in `value` elements.
pub fn text_of(value: &OwnedValue) -> String {
    match value {
        OwnedValue::Null => String::new(),
        OwnedValue::Bool(value) => value.to_string(),
        OwnedValue::Int(value) => value.to_string(),
        OwnedValue::UInt(value) => value.to_string(),
        OwnedValue::Float(value) => value.to_string(),
        OwnedValue::Text(text) => text.clone(),
        OwnedValue::Bytes(bytes) => hex(bytes),
        OwnedValue::Guid(guid) => guid_text(guid),
        OwnedValue::Map(key) => key.to_string(),
        OwnedValue::Stack(id) => stack(*id),
        OwnedValue::Activity(guid, sequence) => format!("{}-{sequence}", guid_text(guid)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns a call stack, innermost frame first, one per line.
fn stack(id: u32) -> String {
    sos::xe::stack_text(id)
}

/// Formats a time in 100 ns since 0001-01-01 as `2024-01-31T23:59:59.123Z`.
pub fn timestamp(ticks: u64) -> String {
    let days = i32::try_from(ticks / DAY_TICKS).unwrap_or(types::date::DAYS_MAX);
    let types::date::Civil { year, month, day } = types::date::civil_of(days);
    let ms = ticks % DAY_TICKS / 10_000;
    let (seconds, ms) = (ms / 1_000, ms % 1_000);
    let (minutes, second) = (seconds / 60, seconds % 60);
    let (hour, minute) = (minutes / 60, minutes % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Replaces characters that XML does not allow.
fn allowed(text: &str) -> String {
    text.chars().map(|c| if is_allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// [XML 1.0] 2.2, production 2.
fn is_allowed(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Escapes a text for use as content or attribute.
pub fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\r' => xml.push_str("&#xd;"),
            other if is_allowed(other) => xml.push(other),
            _ => xml.push(char::REPLACEMENT_CHARACTER),
        }
    }
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(timestamp(0), "0001-01-01T00:00:00.000Z");
        assert_eq!(timestamp(DAY_TICKS * 365 + 36_001_234_567), "0002-01-01T01:00:00.123Z");
    }

    #[test]
    fn what_xml_cannot_have_is_replaced() {
        assert_eq!(escaped("a<\"&\u{1}>"), "a&lt;&quot;&amp;\u{fffd}&gt;");
    }
}
