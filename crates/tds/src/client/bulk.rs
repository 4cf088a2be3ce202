//! Encodes a bulk load: the message that follows the batch `INSERT BULK` ([MS-TDS] 2.2.6.1).

use types::Value;

use super::request::{ClientSettings, put_packets};
use crate::packet::{HEADER_BYTES, PacketType};
use crate::response::{Column, Columns, token};
use crate::wire_type::Place;

/// The fields of a DONE, all 0: status, command and count.
const DONE_FIELDS: [u8; 12] = [0; 12];

/// Builds the message of a bulk load.
#[derive(Clone, Debug)]
pub struct BulkBuilder {
    settings: ClientSettings,
    columns: Columns,
    payload: Vec<u8>,
}

impl BulkBuilder {
    /// Begins a load of these columns.
    pub fn new(settings: ClientSettings, columns: &[Column<'_>]) -> Self {
        let columns = Columns::of_load(columns, settings.version);
        let payload = columns.bytes().to_vec();
        Self { settings, columns, payload }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the number of values differs from the number of columns.
    pub fn row(&mut self, values: &[Value]) {
        let wires = self.columns.wire();
        assert_eq!(values.len(), wires.len(), "a row has a value for each column");
        self.payload.push(token::ROW);
        for (wire, value) in wires.iter().zip(values) {
            wire.encode_value(&mut self.payload, value, Place::Row);
        }
    }

    /// Returns the packets of the message.
    pub fn finish(mut self) -> Vec<u8> {
        self.payload.push(token::DONE);
        let fields = if self.settings.version.has_wide_fields() { 12 } else { 8 };
        self.payload.extend_from_slice(&DONE_FIELDS[..fields]);
        let mut target = Vec::with_capacity(self.payload.len() + HEADER_BYTES);
        let (kind, size) = (PacketType::BulkLoad, self.settings.packet_size);
        put_packets(&mut target, kind, &self.payload, size);
        target
    }
}
