//! Encodes requests: batches, procedure calls, transactions, attention.

use types::{ColumnType, Value};

use crate::message::Reset;
use crate::packet::{HEADER_BYTES, PACKET_SIZE_DEFAULT, PacketHeader, PacketType, Status};
use crate::prelogin::Prelogin;
use crate::response::columns::put_b_varchar;
use crate::rpc::{ProcedureId, RpcOptions, TVP_TYPE};
use crate::transaction::{Begin, TransactionAction};
use crate::tvp::{END, FLAG_DEFAULT, ROW};
use crate::utf16;
use crate::version::TdsVersion;
use crate::wire_type::{Place, WireType};

/// The bytes of the request headers from 7.2 on: the transaction descriptor alone.
const HEADERS_BYTES: u32 = 22;
const TRANSACTION_DESCRIPTOR_BYTES: u32 = 18;

/// The settings that a client has negotiated with its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// The TDS version in use.
    pub version: TdsVersion,
    /// The packet size in bytes, with header.
    pub packet_size: u16,
    /// The transaction that the connection is in; 0 for none.
    pub transaction: u64,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self { version: TdsVersion::V7_4, packet_size: PACKET_SIZE_DEFAULT, transaction: 0 }
    }
}

/// Returns the packet that opens a connection.
pub fn prelogin(options: &Prelogin) -> Vec<u8> {
    let mut target = Vec::new();
    let payload = options.to_client_payload();
    put_packets(&mut target, PacketType::Prelogin, &payload, PACKET_SIZE_DEFAULT);
    target
}

/// Returns the packets of a batch of SQL text.
pub fn batch(text: &str, settings: ClientSettings) -> Vec<u8> {
    let mut payload = Vec::with_capacity(22 + text.len() * 2);
    put_headers(&mut payload, settings);
    payload.extend_from_slice(&utf16::from_str(text));
    let mut target = Vec::with_capacity(payload.len() + HEADER_BYTES);
    put_packets(&mut target, PacketType::SqlBatch, &payload, settings.packet_size);
    target
}

/// Returns the packet that cancels the running request.
pub fn attention() -> [u8; HEADER_BYTES] {
    let (kind, status) = (PacketType::Attention, Status::END_OF_MESSAGE);
    PacketHeader { kind, status, length: 8, spid: 0, id: 1 }.to_bytes()
}

/// Sets the reset that an encoded request asks for.
pub const fn set_reset(packets: &mut [u8], reset: Reset) {
    let bits = match reset {
        Reset::No => 0,
        Reset::Session => Status::RESET_CONNECTION.0,
        Reset::KeepTransaction => Status::RESET_KEEP_TRANSACTION.0,
    };
    let both = Status::RESET_CONNECTION.0 | Status::RESET_KEEP_TRANSACTION.0;
    packets[1] = packets[1] & !both | bits;
}

/// Returns the packet of a transaction manager request.
pub fn transaction(action: &TransactionAction<'_>, settings: ClientSettings) -> Vec<u8> {
    let mut payload = Vec::new();
    put_headers(&mut payload, settings);
    match action {
        TransactionAction::GetDtcAddress => payload.extend_from_slice(&[0, 0, 0, 0]),
        TransactionAction::Propagate(buffer) => {
            payload.extend_from_slice(&[1, 0]);
            let length = u16::try_from(buffer.len()).expect("a transaction's cookie is short");
            payload.extend_from_slice(&length.to_le_bytes());
            payload.extend_from_slice(buffer);
        }
        TransactionAction::Begin(begin) => {
            payload.extend_from_slice(&[5, 0]);
            put_begin(&mut payload, begin);
        }
        TransactionAction::Promote => payload.extend_from_slice(&[6, 0]),
        TransactionAction::Commit { name, then } => put_end(&mut payload, 7, name, then.as_ref()),
        TransactionAction::Rollback { name, then } => {
            put_end(&mut payload, 8, name, then.as_ref());
        }
        TransactionAction::Save(name) => {
            payload.extend_from_slice(&[9, 0]);
            put_name(&mut payload, name);
        }
    }
    let mut target = Vec::new();
    put_packets(&mut target, PacketType::Transaction, &payload, settings.packet_size);
    target
}

fn put_begin(payload: &mut Vec<u8>, begin: &Begin<'_>) {
    payload.push(begin.isolation.code());
    put_name(payload, &begin.name);
}

fn put_end(payload: &mut Vec<u8>, code: u8, name: &[u8], then: Option<&Begin<'_>>) {
    payload.extend_from_slice(&[code, 0]);
    put_name(payload, name);
    payload.push(u8::from(then.is_some()));
    if let Some(begin) = then {
        put_begin(payload, begin);
    }
}

fn put_name(payload: &mut Vec<u8>, name: &[u8]) {
    payload.push(u8::try_from(name.len()).expect("a transaction's name has 32 units"));
    payload.extend_from_slice(name);
}

fn put_headers(payload: &mut Vec<u8>, settings: ClientSettings) {
    if !settings.version.has_wide_fields() {
        return;
    }
    payload.extend_from_slice(&HEADERS_BYTES.to_le_bytes());
    payload.extend_from_slice(&TRANSACTION_DESCRIPTOR_BYTES.to_le_bytes());
    payload.extend_from_slice(&[2, 0]);
    payload.extend_from_slice(&settings.transaction.to_le_bytes());
    payload.extend_from_slice(&1_u32.to_le_bytes());
}

/// Cuts a payload into packets and appends them.
pub(crate) fn put_packets(
    target: &mut Vec<u8>,
    kind: PacketType,
    payload: &[u8],
    packet_size: u16,
) {
    let mut rest = payload;
    let mut id = 0_u8;
    loop {
        let (now, later) = rest.split_at(rest.len().min(usize::from(packet_size) - HEADER_BYTES));
        id = id.wrapping_add(1);
        let status = if later.is_empty() { Status::END_OF_MESSAGE } else { Status::NORMAL };
        let length = u16::try_from(now.len() + HEADER_BYTES).expect("a packet has its size");
        let header = PacketHeader { kind, status, length, spid: 0, id };
        target.extend_from_slice(&header.to_bytes());
        target.extend_from_slice(now);
        rest = later;
        if rest.is_empty() {
            return;
        }
    }
}

/// Builds a message of one or more procedure calls.
#[derive(Clone, Debug)]
pub struct RpcBuilder {
    settings: ClientSettings,
    payload: Vec<u8>,
    has_call: bool,
}

impl RpcBuilder {
    /// Begins a message without calls.
    pub fn new(settings: ClientSettings) -> Self {
        let mut payload = Vec::with_capacity(128);
        put_headers(&mut payload, settings);
        Self { settings, payload, has_call: false }
    }

    /// Begins a call of a procedure by its name.
    #[must_use]
    pub fn call(mut self, name: &str) -> Self {
        self.separate();
        let name = utf16::from_str(name);
        let units = u16::try_from(name.len() / 2).expect("a procedure's name is short");
        self.payload.extend_from_slice(&units.to_le_bytes());
        self.payload.extend_from_slice(&name);
        self.with_options()
    }

    /// Begins a call of a well-known procedure.
    #[must_use]
    pub fn call_id(mut self, id: ProcedureId) -> Self {
        self.separate();
        self.payload.extend_from_slice(&u16::MAX.to_le_bytes());
        self.payload.extend_from_slice(&id.code().to_le_bytes());
        self.with_options()
    }

    fn with_options(mut self) -> Self {
        self.payload.extend_from_slice(&RpcOptions::default().0.to_le_bytes());
        self
    }

    fn separate(&mut self) {
        if self.has_call {
            let is_wide = self.settings.version.has_wide_fields();
            self.payload.push(if is_wide { 0xFF } else { 0x80 });
        }
        self.has_call = true;
    }

    /// Adds an input parameter; an empty name makes it positional.
    #[must_use]
    pub fn input(self, name: &str, column_type: ColumnType, value: &Value) -> Self {
        self.parameter(name, 0, column_type, value)
    }

    /// Adds an OUTPUT parameter.
    #[must_use]
    pub fn output(self, name: &str, column_type: ColumnType, value: &Value) -> Self {
        self.parameter(name, 1, column_type, value)
    }

    /// Adds a parameter that takes the procedure's default.
    #[must_use]
    pub fn default_value(self, name: &str, column_type: ColumnType) -> Self {
        self.parameter(name, 2, column_type, &Value::Null)
    }

    /// Adds a table-valued parameter ([MS-TDS] 2.2.5.5.5): schema and name of its type, which may
    /// be empty; its columns, each with a flag for taking its default; its rows, without the
    /// defaulted columns.
    #[must_use]
    pub fn table(
        mut self,
        name: &str,
        (schema, type_name): (&str, &str),
        columns: &[(ColumnType, bool)],
        rows: &[Vec<Value>],
    ) -> Self {
        put_b_varchar(&mut self.payload, name, 128);
        self.payload.extend_from_slice(&[0, TVP_TYPE, 0]);
        put_b_varchar(&mut self.payload, schema, 128);
        put_b_varchar(&mut self.payload, type_name, 128);
        let count = u16::try_from(columns.len()).expect("a table type has at most 1,024 columns");
        self.payload.extend_from_slice(&count.to_le_bytes());
        let wires = columns
            .iter()
            .map(|(ty, default)| (WireType::for_output(*ty, self.settings.version), *default));
        let wires: Vec<(WireType, bool)> = wires.collect();
        for (wire, default) in &wires {
            let flags = if *default { FLAG_DEFAULT } else { 0 };
            self.payload.extend_from_slice(&[0; 4]);
            self.payload.extend_from_slice(&flags.to_le_bytes());
            wire.encode(&mut self.payload);
            self.payload.push(0);
        }
        self.payload.push(END);
        for row in rows {
            self.payload.push(ROW);
            let sent = wires.iter().filter(|(_, default)| !default);
            for ((wire, _), value) in sent.zip(row) {
                wire.encode_value(&mut self.payload, value, Place::Parameter);
            }
        }
        self.payload.push(END);
        self
    }

    fn parameter(mut self, name: &str, status: u8, column_type: ColumnType, value: &Value) -> Self {
        let wire = WireType::for_output(column_type, self.settings.version);
        put_b_varchar(&mut self.payload, name, 128);
        self.payload.push(status);
        wire.encode(&mut self.payload);
        wire.encode_value(&mut self.payload, value, Place::Parameter);
        self
    }

    /// Returns the packets of the message.
    pub fn finish(self) -> Vec<u8> {
        let mut target = Vec::with_capacity(self.payload.len() + HEADER_BYTES);
        put_packets(&mut target, PacketType::Rpc, &self.payload, self.settings.packet_size);
        target
    }
}
