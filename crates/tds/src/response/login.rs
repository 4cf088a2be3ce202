//! LOGINACK and FEATUREEXTACK, after a successful login ([MS-TDS] 2.2.7.14, 2.2.7.11).

use super::columns::put_b_varchar;
use super::{ResponseWriter, token};
use crate::login7::feature;
use crate::sink::Sink;

/// The interface in LOGINACK: T-SQL.
const INTERFACE_TSQL: u8 = 1;

impl ResponseWriter {
    /// Writes LOGINACK with the TDS version in use, and the server program's name and version
    /// (major, minor, build high, build low).
    pub fn login_ack(&mut self, program: &str, program_version: [u8; 4]) {
        let mut content = vec![INTERFACE_TSQL];
        content.extend_from_slice(&self.settings().version.code().to_be_bytes());
        put_b_varchar(&mut content, program, 255);
        content.extend_from_slice(&program_version);
        let length = u16::try_from(content.len()).expect("a program's name is short");
        self.put(&[token::LOGIN_ACK]);
        self.put(&length.to_le_bytes());
        self.put(&content);
    }

    /// Writes FEATUREEXTACK for UTF-8, the only feature extension that is acknowledged. Not written
    /// if the client did not ask for it: tedious before 12 ends a login that has an empty one.
    pub fn feature_ext_ack(&mut self) {
        self.put(&[token::FEATURE_EXT_ACK]);
        self.put(&[feature::UTF8_SUPPORT, 1, 0, 0, 0, 1]);
        self.put(&[feature::TERMINATOR]);
    }
}
