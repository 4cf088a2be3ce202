//! LOGIN7: the client's login, with user, database and options ([MS-TDS] 2.2.6.4).
//!
//! A fixed part of 94 bytes (86 in 7.1) has an offset and a length for each text in the rest.
//! Offsets are not trusted: each is checked against the bytes that have arrived.

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::utf16;
use crate::version::TdsVersion;

/// The longest text of the login, in UTF-16 units; the specification allows 128 for most.
const TEXT_UNITS_MAX: u16 = 260;
/// The most feature extensions a login may list.
const FEATURES_MAX: usize = 64;
/// Offset of the first text's entry in the fixed part.
const TEXTS_OFFSET: usize = 36;

/// The fields of a LOGIN7 message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login7 {
    /// The version that the client asks for, as sent; [`TdsVersion::negotiate`] gives the version
    /// to use.
    pub version_code: u32,
    /// The packet size asked for in bytes; 0 leaves it to the server.
    pub packet_size: u32,
    /// The version of the client program.
    pub client_version: u32,
    /// The client's process id.
    pub client_pid: u32,
    /// OptionFlags1, 2, TypeFlags and OptionFlags3.
    pub flags: LoginFlags,
    /// The client's time zone, in minutes west of UTC.
    pub time_zone: i32,
    /// The client's locale (LCID).
    pub lcid: u32,
    /// Name of the client machine.
    pub host: String,
    /// The login's name; empty for integrated security.
    pub user: String,
    /// The password, decoded to clear text.
    pub password: String,
    /// Name of the client application.
    pub application: String,
    /// The server's name as the client knows it.
    pub server: String,
    /// Name of the client library.
    pub library: String,
    /// The requested language; empty for the default.
    pub language: String,
    /// The requested database; empty for the login's default.
    pub database: String,
    /// The client's network address.
    pub client_id: [u8; 6],
    /// A database file to attach: not supported by the engine, empty in practice.
    pub attach_file: String,
    /// The new password; empty unless the login changes it.
    pub new_password: String,
    /// SSPI data for integrated security.
    pub sspi: Vec<u8>,
    /// Feature extensions in the order sent.
    pub features: Vec<Feature>,
}

/// The four flag bytes of LOGIN7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginFlags {
    /// OptionFlags1: byte order, fUseDB, fDatabase, fSetLang.
    pub option1: u8,
    /// OptionFlags2: fLanguage, fODBC, fUserType, fIntSecurity.
    pub option2: u8,
    /// TypeFlags: fSQLType, fOLEDB, fReadOnlyIntent.
    pub types: u8,
    /// OptionFlags3: fChangePassword, fUserInstance, fExtension.
    pub option3: u8,
}

impl LoginFlags {
    /// Returns whether failing to open the database shall fail the login (fDatabase).
    pub const fn database_is_required(self) -> bool {
        self.option1 & 0x40 != 0
    }

    /// Returns whether the client is ODBC, and wants ANSI settings (fODBC).
    pub const fn is_odbc(self) -> bool {
        self.option2 & 0x02 != 0
    }

    /// Returns whether integrated security is asked for (fIntSecurity).
    pub const fn is_integrated(self) -> bool {
        self.option2 & 0x80 != 0
    }

    /// Returns whether the client only reads (fReadOnlyIntent).
    pub const fn is_read_only(self) -> bool {
        self.types & 0x20 != 0
    }

    /// Returns whether the login changes its password (fChangePassword).
    pub const fn changes_password(self) -> bool {
        self.option3 & 0x01 != 0
    }

    /// Returns whether feature extensions follow (fExtension).
    pub const fn has_features(self) -> bool {
        self.option3 & 0x10 != 0
    }
}

/// A feature extension: its id and data ([MS-TDS] 2.2.6.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The feature, one of [`feature`]'s constants.
    pub id: u8,
    /// The extension's data, as sent.
    pub data: Vec<u8>,
}

/// Ids of feature extensions.
pub mod feature {
    /// Session recovery after a lost connection.
    pub const SESSION_RECOVERY: u8 = 0x01;
    /// Federated authentication with a token.
    pub const FEDERATED_AUTH: u8 = 0x02;
    /// Always Encrypted: encryption in the client.
    pub const COLUMN_ENCRYPTION: u8 = 0x04;
    /// Global transactions across databases.
    pub const GLOBAL_TRANSACTIONS: u8 = 0x05;
    /// Support of UTF-8 collations.
    pub const UTF8_SUPPORT: u8 = 0x0A;
    /// The end of the list.
    pub const TERMINATOR: u8 = 0xFF;
}

impl Login7 {
    /// Reads the payload of a LOGIN7 message.
    pub fn parse(body: Cursor<'_>) -> Result<Self> {
        let whole = clip(body)?;
        let mut fixed = whole.clone();
        fixed.skip(4)?;
        let mut login = Self {
            version_code: fixed.u32()?,
            packet_size: fixed.u32()?,
            client_version: fixed.u32()?,
            client_pid: fixed.u32()?,
            ..Self::default()
        };
        TdsVersion::negotiate(login.version_code)?;
        fixed.skip(4)?; // The connection id, which neither clients nor servers use.
        let [option1, option2, types, option3] = fixed.array()?;
        login.flags = LoginFlags { option1, option2, types, option3 };
        login.time_zone = fixed.i32()?;
        login.lcid = fixed.u32()?;
        login.read_texts(&whole, fixed)?;
        Ok(login)
    }

    /// Returns the version to use with this client.
    pub fn version(&self) -> Result<TdsVersion> {
        TdsVersion::negotiate(self.version_code)
    }

    /// Returns an error if the client asks for an authentication that is not supported.
    pub fn unsupported_authentication(&self) -> Option<ProtocolError> {
        if self.flags.is_integrated() || !self.sspi.is_empty() {
            return Some(ProtocolError::Unsupported("integrated (SSPI) authentication"));
        }
        self.has_feature(feature::FEDERATED_AUTH)
            .then_some(ProtocolError::Unsupported("federated authentication"))
    }

    /// Returns whether the login lists a feature extension.
    pub fn has_feature(&self, id: u8) -> bool {
        self.features.iter().any(|feature| feature.id == id)
    }

    fn read_texts(&mut self, whole: &Cursor<'_>, mut fixed: Cursor<'_>) -> Result<()> {
        self.host = text(whole, &mut fixed)?;
        self.user = text(whole, &mut fixed)?;
        self.password = password(whole, &mut fixed)?;
        self.application = text(whole, &mut fixed)?;
        self.server = text(whole, &mut fixed)?;
        let (extension, extension_bytes) = (fixed.u16()?, fixed.u16()?);
        self.library = text(whole, &mut fixed)?;
        self.language = text(whole, &mut fixed)?;
        self.database = text(whole, &mut fixed)?;
        self.client_id = fixed.array()?;
        let (sspi, sspi_bytes) = (fixed.u16()?, fixed.u16()?);
        self.attach_file = text(whole, &mut fixed)?;
        let mut sspi_length = usize::from(sspi_bytes);
        // The fixed part of 7.1 ends here.
        if self.version()?.has_wide_fields() {
            self.new_password = password(whole, &mut fixed)?;
            let long = fixed.u32()?;
            if sspi_bytes == u16::MAX && long > 0 {
                sspi_length = usize::try_from(long).map_err(|_| ProtocolError::Truncated)?;
            }
        }
        self.sspi = at(whole, sspi, sspi_length)?.into_owned();
        if self.flags.has_features() && extension_bytes >= 4 {
            let mut pointer = whole.clone();
            pointer.skip(usize::from(extension))?;
            let offset = pointer.u32()?;
            self.features = features(whole, offset)?;
        }
        Ok(())
    }
}

/// Returns a cursor over as many bytes as the login's length field gives.
fn clip(mut body: Cursor<'_>) -> Result<Cursor<'_>> {
    let length = body.clone().u32()?;
    let length = usize::try_from(length).map_err(|_| ProtocolError::Truncated)?;
    if length > body.remaining() {
        return Err(ProtocolError::Truncated);
    }
    if length < TEXTS_OFFSET {
        return Err(ProtocolError::Login("it is shorter than its fixed part"));
    }
    body.truncate(length);
    Ok(body)
}

fn at<'a>(whole: &Cursor<'a>, offset: u16, bytes: usize) -> Result<std::borrow::Cow<'a, [u8]>> {
    if bytes == 0 {
        return Ok(std::borrow::Cow::Borrowed(&[]));
    }
    let mut data = whole.clone();
    data.skip(usize::from(offset))?;
    data.bytes(bytes)
}

fn units(fixed: &mut Cursor<'_>) -> Result<(u16, usize)> {
    let (offset, units) = (fixed.u16()?, fixed.u16()?);
    if units > TEXT_UNITS_MAX {
        return Err(ProtocolError::Login("a text of it is too long"));
    }
    Ok((offset, usize::from(units) * 2))
}

fn text(whole: &Cursor<'_>, fixed: &mut Cursor<'_>) -> Result<String> {
    let (offset, bytes) = units(fixed)?;
    Ok(utf16::to_string(&at(whole, offset, bytes)?))
}

/// Reads a password: each byte has its nibbles swapped, then XOR 0xA5 (2.2.6.4).
fn password(whole: &Cursor<'_>, fixed: &mut Cursor<'_>) -> Result<String> {
    let (offset, bytes) = units(fixed)?;
    let mut hidden = at(whole, offset, bytes)?.into_owned();
    for byte in &mut hidden {
        *byte = (*byte ^ 0xA5).rotate_left(4);
    }
    Ok(utf16::to_string(&hidden))
}

fn features(whole: &Cursor<'_>, offset: u32) -> Result<Vec<Feature>> {
    let mut data = whole.clone();
    data.skip(usize::try_from(offset).map_err(|_| ProtocolError::Truncated)?)?;
    let mut features = Vec::new();
    loop {
        let id = data.u8()?;
        if id == feature::TERMINATOR {
            return Ok(features);
        }
        if features.len() == FEATURES_MAX {
            return Err(ProtocolError::Login("it has too many feature extensions"));
        }
        let length = usize::try_from(data.u32()?).map_err(|_| ProtocolError::Truncated)?;
        features.push(Feature { id, data: data.bytes(length)?.into_owned() });
    }
}
