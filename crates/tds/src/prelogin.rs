//! PRELOGIN: version, encryption and options that both sides agree on before the login ([MS-TDS]
//! 2.2.6.5).
//!
//! The message is a table of options, each an id with the offset and length of its data, then a
//! terminator, then the data.

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};

/// The most options a PRELOGIN may list; the specification knows 9.
const OPTIONS_MAX: usize = 32;
const TERMINATOR: u8 = 0xFF;
const OPTION_BYTES: usize = 5;

/// Values of the ENCRYPTION option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// ENCRYPT_OFF: available, but for the login only.
    Off,
    /// ENCRYPT_ON: everything is to be encrypted.
    On,
    /// ENCRYPT_NOT_SUP: encryption is not available.
    NotSupported,
    /// ENCRYPT_REQ: everything must be encrypted.
    Required,
}

impl Encryption {
    /// Reads the option's byte; the client-certificate bit (0x80) is not supported.
    const fn parse(code: u8) -> Result<Self> {
        match code {
            0 => Ok(Self::Off),
            1 => Ok(Self::On),
            2 => Ok(Self::NotSupported),
            // Inside strict TLS some clients repeat the strict value here (4); they are encrypted
            // already.
            3 | 4 => Ok(Self::Required),
            _ => Err(ProtocolError::Prelogin("the encryption option is unknown")),
        }
    }

    /// Returns the option's byte.
    pub const fn code(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::On => 1,
            Self::NotSupported => 2,
            Self::Required => 3,
        }
    }
}

/// The options of a PRELOGIN, in either direction. An absent option is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prelogin {
    /// VERSION: major, minor, build (big-endian) and sub-build of the sender.
    pub version: [u8; 6],
    /// ENCRYPTION: the sender's capability or wish.
    pub encryption: Option<Encryption>,
    /// INSTOPT from a client: the instance name asked for, without its terminator.
    pub instance: Option<Vec<u8>>,
    /// THREADID of the client.
    pub thread_id: Option<u32>,
    /// MARS: multiple active result sets.
    pub mars: Option<bool>,
    /// TRACEID: connection id, activity id and its sequence number.
    pub trace_id: Option<[u8; 36]>,
    /// FEDAUTHREQUIRED: whether federated authentication is required.
    pub federated_auth_required: Option<bool>,
    /// NONCEOPT: a random number for federated authentication.
    pub nonce: Option<[u8; 32]>,
}

impl Prelogin {
    /// Reads the payload of a PRELOGIN message of either side.
    pub fn parse(body: Cursor<'_>) -> Result<Self> {
        let mut table = body.clone();
        let mut prelogin = Self::default();
        let mut has_version = false;
        for _ in 0..OPTIONS_MAX {
            let id = table.u8()?;
            if id == TERMINATOR {
                let missing = ProtocolError::Prelogin("the version option is missing");
                return if has_version { Ok(prelogin) } else { Err(missing) };
            }
            let (offset, length) = (table.u16_be()?, table.u16_be()?);
            let mut data = body.clone();
            data.skip(usize::from(offset))?;
            prelogin.set(id, usize::from(length), data)?;
            has_version |= id == 0;
        }
        Err(ProtocolError::Prelogin("it has too many options"))
    }

    fn set(&mut self, id: u8, length: usize, mut data: Cursor<'_>) -> Result<()> {
        match (id, length) {
            (0, 6) => self.version = data.array()?,
            (1, 1) => self.encryption = Some(Encryption::parse(data.u8()?)?),
            (2, _) => {
                let mut name = data.bytes(length)?.into_owned();
                name.truncate(name.iter().position(|&byte| byte == 0).unwrap_or(name.len()));
                self.instance = Some(name);
            }
            // Servers send the option empty.
            (3, 0) => {}
            (3, 4) => self.thread_id = Some(data.u32_be()?),
            (4, 1) => self.mars = Some(data.u8()? == 1),
            (5, 36) => self.trace_id = Some(data.array()?),
            (5, 0) => {}
            (6, 1) => self.federated_auth_required = Some(data.u8()? == 1),
            (7, 32) => self.nonce = Some(data.array()?),
            (0..=7, _) => return Err(ProtocolError::Prelogin("an option has a wrong length")),
            // Options of later versions are skipped, as the specification says.
            (8..=0xFF, _) => data.skip(length)?,
        }
        Ok(())
    }

    /// Returns the payload with which a server of `version` answers this client. MARS is
    /// granted if the client asks for it.
    /// A client that asks whether federated authentication is required is answered yes: drivers
    /// expect it, and it commits the client to nothing.
    pub fn answer(&self, version: [u8; 6], encryption: Encryption) -> Vec<u8> {
        let answer = Self {
            version,
            encryption: Some(encryption),
            mars: self.mars,
            federated_auth_required: self.federated_auth_required.filter(|&required| required),
            ..Self::default()
        };
        answer.to_server_payload()
    }

    /// Returns the payload of a server's answer: the options that every client accepts, an INSTOPT
    /// that confirms the instance, and an empty THREADID.
    pub fn to_server_payload(&self) -> Vec<u8> {
        let mut options = Options::default();
        options.add(0, &self.version);
        options.add(1, &[self.encryption.unwrap_or(Encryption::NotSupported).code()]);
        options.add(2, &[0]);
        options.add(3, &[]);
        options.add(4, &[u8::from(self.mars == Some(true))]);
        if let Some(required) = self.federated_auth_required {
            options.add(6, &[u8::from(required)]);
        }
        if let Some(nonce) = self.nonce {
            options.add(7, &nonce);
        }
        options.finish()
    }

    /// Returns the payload of a client's PRELOGIN.
    pub fn to_client_payload(&self) -> Vec<u8> {
        let mut options = Options::default();
        options.add(0, &self.version);
        if let Some(encryption) = self.encryption {
            options.add(1, &[encryption.code()]);
        }
        let mut instance = self.instance.clone().unwrap_or_default();
        instance.push(0);
        options.add(2, &instance);
        if let Some(thread_id) = self.thread_id {
            options.add(3, &thread_id.to_be_bytes());
        }
        options.add(4, &[u8::from(self.mars == Some(true))]);
        if let Some(trace_id) = &self.trace_id {
            options.add(5, trace_id);
        }
        if let Some(required) = self.federated_auth_required {
            options.add(6, &[u8::from(required)]);
        }
        if let Some(nonce) = &self.nonce {
            options.add(7, nonce);
        }
        options.finish()
    }
}

/// Options of a PRELOGIN being encoded.
#[derive(Default)]
struct Options {
    entries: Vec<(u8, u16)>,
    data: Vec<u8>,
}

impl Options {
    fn add(&mut self, id: u8, data: &[u8]) {
        let length = u16::try_from(data.len()).expect("a PRELOGIN option is short");
        self.entries.push((id, length));
        self.data.extend_from_slice(data);
    }

    fn finish(self) -> Vec<u8> {
        let table_bytes = self.entries.len() * OPTION_BYTES + 1;
        let mut offset = u16::try_from(table_bytes).expect("a PRELOGIN has few options");
        let mut payload = Vec::with_capacity(table_bytes + self.data.len());
        for (id, length) in self.entries {
            payload.push(id);
            payload.extend_from_slice(&offset.to_be_bytes());
            payload.extend_from_slice(&length.to_be_bytes());
            offset += length;
        }
        payload.push(TERMINATOR);
        payload.extend_from_slice(&self.data);
        payload
    }
}
