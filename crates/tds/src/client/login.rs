//! Encodes LOGIN7 ([MS-TDS] 2.2.6.4).

use crate::client::request::put_packets;
use crate::login7::{Feature, Login7, feature};
use crate::packet::{PACKET_SIZE_DEFAULT, PacketType};
use crate::utf16;
use crate::version::TdsVersion;

/// The length of the fixed part, before 7.2 and from 7.2 on.
const FIXED_BYTES_OLD: usize = 86;
const FIXED_BYTES: usize = 94;

/// Returns the packets of a login. Sets the flag for feature extensions if there are any.
pub fn login(login: &Login7) -> Vec<u8> {
    let mut target = Vec::new();
    put_packets(&mut target, PacketType::Login7, &payload(login), PACKET_SIZE_DEFAULT);
    target
}

/// The variable part: offsets and lengths, and the bytes that they refer to.
struct Texts {
    table: Vec<u8>,
    data: Vec<u8>,
    offset: usize,
}

impl Texts {
    fn add(&mut self, bytes: &[u8], unit: usize) {
        let at = u16::try_from(self.offset + self.data.len()).expect("a login is short");
        let count = u16::try_from(bytes.len() / unit).expect("a login is short");
        self.table.extend_from_slice(&at.to_le_bytes());
        self.table.extend_from_slice(&count.to_le_bytes());
        self.data.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.add(&utf16::from_str(text), 2);
    }
}

fn payload(login: &Login7) -> Vec<u8> {
    let is_old = login.version().is_ok_and(|version| version == TdsVersion::V7_1);
    let offset = if is_old { FIXED_BYTES_OLD } else { FIXED_BYTES };
    let mut texts = Texts { table: Vec::new(), data: Vec::new(), offset };
    texts.text(&login.host);
    texts.text(&login.user);
    texts.add(&hide_password(&login.password), 2);
    texts.text(&login.application);
    texts.text(&login.server);
    // The extension is a pointer to the features, which come last; it is filled in below.
    let extension_at = texts.data.len();
    texts.add(if login.features.is_empty() { &[] } else { &[0; 4] }, 1);
    texts.text(&login.library);
    texts.text(&login.language);
    texts.text(&login.database);
    texts.table.extend_from_slice(&login.client_id);
    texts.add(&login.sspi, 1);
    texts.text(&login.attach_file);
    if !is_old {
        texts.add(&hide_password(&login.new_password), 2);
        texts.table.extend_from_slice(&[0; 4]);
    }
    if !login.features.is_empty() {
        let at = u32::try_from(offset + texts.data.len()).expect("a login is short");
        texts.data[extension_at..extension_at + 4].copy_from_slice(&at.to_le_bytes());
        put_features(&mut texts.data, &login.features);
    }
    assemble(login, &texts)
}

fn assemble(login: &Login7, texts: &Texts) -> Vec<u8> {
    let length = u32::try_from(texts.offset + texts.data.len()).expect("a login is short");
    let option3 = login.flags.option3 | if login.features.is_empty() { 0 } else { 0x10 };
    let mut payload = Vec::with_capacity(texts.offset + texts.data.len());
    for number in [
        length,
        login.version_code,
        login.packet_size,
        login.client_version,
        login.client_pid,
        0, // The connection id.
    ] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
    payload.extend_from_slice(&[
        login.flags.option1,
        login.flags.option2,
        login.flags.types,
        option3,
    ]);
    payload.extend_from_slice(&login.time_zone.to_le_bytes());
    payload.extend_from_slice(&login.lcid.to_le_bytes());
    payload.extend_from_slice(&texts.table);
    payload.extend_from_slice(&texts.data);
    payload
}

fn put_features(data: &mut Vec<u8>, features: &[Feature]) {
    for feature in features {
        let length = u32::try_from(feature.data.len()).expect("a feature's data is short");
        data.push(feature.id);
        data.extend_from_slice(&length.to_le_bytes());
        data.extend_from_slice(&feature.data);
    }
    data.push(feature::TERMINATOR);
}

/// Obfuscates a password: swaps the nibbles of each byte, then XOR 0xA5.
fn hide_password(clear: &str) -> Vec<u8> {
    let mut bytes = utf16::from_str(clear);
    for byte in &mut bytes {
        *byte = byte.rotate_left(4) ^ 0xA5;
    }
    bytes
}
