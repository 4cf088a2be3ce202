//! `TokenReader`: the tokens of a response, decoded ([MS-TDS] 2.2.7).

use types::{Collation, ColumnType, Error, Value};

use crate::cursor::Cursor;
use crate::error::{ProtocolError, Result};
use crate::login7::{Feature, feature};
use crate::response::{ColumnFlags, Done, DoneKind, DoneStatus, token};
use crate::utf16;
use crate::version::TdsVersion;
use crate::wire_type::{Place, Sender, WireType, decode_column};

/// The column count of COLMETADATA that means no metadata.
const NO_METADATA: u16 = 0xFFFF;
/// Tokens of other servers that are skipped here, with a length of two bytes.
const SKIPPED_SHORT: [u8; 3] = [0xA4, 0xA5, 0xED];
/// Skipped tokens with a length of four bytes: session state, federated authentication.
const SKIPPED_LONG: [u8; 2] = [0xE4, 0xEE];

/// A token of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// COLMETADATA: the columns of a new result; empty if there is no metadata.
    Columns(Vec<ResultColumn>),
    /// ROW or NBCROW: one value per column.
    Row(Vec<Value>),
    /// ORDER: the 1-based columns of the result's order.
    Order(Vec<u16>),
    /// RETURNSTATUS: the procedure's return value.
    ReturnStatus(i32),
    /// RETURNVALUE: an OUTPUT parameter's value.
    ReturnValue {
        /// The 0-based place of the parameter.
        ordinal: u16,
        /// The parameter's name, with its `@`.
        name: String,
        /// The type of the value.
        column_type: ColumnType,
        /// The value after the call.
        value: Value,
    },
    /// ERROR or INFO: a message of the server.
    Message(Error),
    /// ENVCHANGE: a change in the session's environment.
    EnvChange(EnvChanged),
    /// LOGINACK: the TDS version in use, and the server's name and version.
    LoginAck {
        /// The version, as its code.
        version_code: u32,
        /// Name of the server program.
        program: String,
        /// Major, minor, build high, build low.
        program_version: [u8; 4],
    },
    /// FEATUREEXTACK: the acknowledged feature extensions.
    FeatureExtAck(Vec<Feature>),
    /// DONE, DONEPROC or DONEINPROC.
    Done(Done),
}

/// A column of a received result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// The column's name, may be empty.
    pub name: String,
    /// The column's type and nullability.
    pub column_type: ColumnType,
    /// The column's flags in COLMETADATA.
    pub flags: ColumnFlags,
    wire: WireType,
}

/// A received ENVCHANGE: the new value, if a client uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvChanged {
    /// 1: the current database.
    Database(String),
    /// 2: the session's language.
    Language(String),
    /// 4: the packet size, in bytes.
    PacketSize(u16),
    /// 7: the server's collation.
    Collation(Collation),
    /// 8: the descriptor of the new transaction.
    BeginTransaction(u64),
    /// 9, 10 or 17: the descriptor of the ended transaction.
    EndTransaction(u64),
    /// 18: the session has been reset.
    ResetDone,
    /// Any other, by its number.
    Other(u8),
}

/// Decodes the tokens of a response in order.
#[derive(Clone, Debug)]
pub struct TokenReader<'a> {
    body: Cursor<'a>,
    version: TdsVersion,
    columns: Vec<WireType>,
}

impl<'a> TokenReader<'a> {
    /// Returns a reader over the payload of a response.
    pub const fn new(body: Cursor<'a>, version: TdsVersion) -> Self {
        Self { body, version, columns: Vec::new() }
    }

    /// Returns a reader over the rest of a response, in the middle of a result with these columns.
    pub(super) const fn resume(
        body: Cursor<'a>,
        version: TdsVersion,
        columns: Vec<WireType>,
    ) -> Self {
        Self { body, version, columns }
    }

    /// Returns the number of bytes left, and the columns of the current result.
    pub(super) fn into_rest(self) -> (usize, Vec<WireType>) {
        (self.body.remaining(), self.columns)
    }

    /// Reads the next token; `None` at the end.
    pub fn next_token(&mut self) -> Result<Option<Token>> {
        while !self.body.is_empty() {
            let code = self.body.u8()?;
            if SKIPPED_SHORT.contains(&code) {
                let length = self.body.u16()?;
                self.body.skip(usize::from(length))?;
            } else if SKIPPED_LONG.contains(&code) {
                let length = self.body.u32()?;
                self.body.skip(length_of(length)?)?;
            } else {
                return self.read(code).map(Some);
            }
        }
        Ok(None)
    }

    /// Reads all remaining tokens.
    pub fn all(mut self) -> Result<Vec<Token>> {
        let mut tokens = Vec::new();
        while let Some(token) = self.next_token()? {
            tokens.push(token);
        }
        Ok(tokens)
    }

    fn read(&mut self, code: u8) -> Result<Token> {
        match code {
            token::COLUMN_METADATA => self.read_columns().map(Token::Columns),
            token::ROW => self.read_row(&[]).map(Token::Row),
            token::NULL_BITMAP_ROW => {
                let bitmap = self.body.bytes(self.columns.len().div_ceil(8))?;
                self.read_row(&bitmap).map(Token::Row)
            }
            token::ORDER => {
                let count = self.body.u16()? / 2;
                (0..count).map(|_| self.body.u16()).collect::<Result<_>>().map(Token::Order)
            }
            token::RETURN_STATUS => self.body.i32().map(Token::ReturnStatus),
            token::RETURN_VALUE => self.read_return_value(),
            token::ERROR | token::INFO => self.read_message().map(Token::Message),
            token::ENV_CHANGE => self.read_env_change().map(Token::EnvChange),
            token::LOGIN_ACK => self.read_login_ack(),
            token::FEATURE_EXT_ACK => self.read_features().map(Token::FeatureExtAck),
            token::DONE => self.read_done(DoneKind::Done),
            token::DONE_PROC => self.read_done(DoneKind::Proc),
            token::DONE_IN_PROC => self.read_done(DoneKind::InProc),
            unknown => Err(ProtocolError::UnknownToken(unknown)),
        }
    }

    fn read_columns(&mut self) -> Result<Vec<ResultColumn>> {
        let count = self.body.u16()?;
        self.columns.clear();
        let mut columns = Vec::new();
        if count == NO_METADATA {
            return Ok(columns);
        }
        for _ in 0..count {
            let (wire, flags) = decode_column(&mut self.body, self.version, Sender::Server)?;
            let name = utf16::to_string(&self.body.b_varchar()?);
            let (column_type, flags) = (wire.column_type, ColumnFlags(flags));
            columns.push(ResultColumn { name, column_type, flags, wire });
            self.columns.push(wire);
        }
        Ok(columns)
    }

    fn read_row(&mut self, nulls: &[u8]) -> Result<Vec<Value>> {
        let is_null =
            |index: usize| nulls.get(index / 8).is_some_and(|byte| byte & 1 << (index % 8) != 0);
        if self.columns.is_empty() {
            return Err(ProtocolError::UnknownToken(token::ROW));
        }
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(index, wire)| match is_null(index) {
                true => Ok(Value::Null),
                false => wire.decode_value(&mut self.body, Place::Row),
            })
            .collect()
    }

    fn read_return_value(&mut self) -> Result<Token> {
        let ordinal = self.body.u16()?;
        let name = utf16::to_string(&self.body.b_varchar()?);
        self.body.skip(1)?; // The status: OUTPUT parameter or function result.
        self.body.skip(if self.version.has_wide_fields() { 4 } else { 2 })?;
        let flags = self.body.u16()?;
        let mut wire = WireType::decode(&mut self.body)?;
        wire.column_type.nullable = flags & ColumnFlags::NULLABLE.0 != 0;
        let value = wire.decode_value(&mut self.body, Place::Parameter)?;
        Ok(Token::ReturnValue { ordinal, name, column_type: wire.column_type, value })
    }

    fn read_message(&mut self) -> Result<Error> {
        self.body.skip(2)?;
        let number = self.body.i32()?;
        let [state, severity] = self.body.array()?;
        let text = utf16::to_string(&self.body.us_varchar()?);
        self.body.b_varchar()?; // The server's name.
        let procedure = utf16::to_string(&self.body.b_varchar()?);
        let line = match self.version.has_wide_fields() {
            true => self.body.u32()?,
            false => u32::from(self.body.u16()?),
        };
        let error = Error::custom(number, severity, state, text);
        Ok(error.at_line(line).in_procedure(&procedure))
    }

    fn read_env_change(&mut self) -> Result<EnvChanged> {
        let length = usize::from(self.body.u16()?);
        let bytes = self.body.bytes(length)?;
        let mut content = Cursor::new(&bytes);
        let text = |content: &mut Cursor<'_>| Ok(utf16::to_string(&content.b_varchar()?));
        match content.u8()? {
            1 => text(&mut content).map(EnvChanged::Database),
            2 => text(&mut content).map(EnvChanged::Language),
            4 => {
                let size = text(&mut content)?.parse();
                size.map(EnvChanged::PacketSize)
                    .map_err(|_| ProtocolError::InvalidValue("packet size"))
            }
            7 => {
                let length = content.u8()?;
                if length != 5 {
                    return Err(ProtocolError::InvalidLength {
                        what: "collation",
                        length: length.into(),
                    });
                }
                Ok(EnvChanged::Collation(Collation::from_wire(content.array()?)))
            }
            8 => {
                content.skip(1)?;
                content.u64().map(EnvChanged::BeginTransaction)
            }
            9 | 10 | 17 => {
                content.skip(2)?;
                content.u64().map(EnvChanged::EndTransaction)
            }
            18 => Ok(EnvChanged::ResetDone),
            other => Ok(EnvChanged::Other(other)),
        }
    }

    fn read_login_ack(&mut self) -> Result<Token> {
        self.body.skip(3)?; // The length and the interface.
        let version_code = self.body.u32_be()?;
        let program = utf16::to_string(&self.body.b_varchar()?);
        Ok(Token::LoginAck { version_code, program, program_version: self.body.array()? })
    }

    fn read_features(&mut self) -> Result<Vec<Feature>> {
        let mut features = Vec::new();
        loop {
            let id = self.body.u8()?;
            if id == feature::TERMINATOR {
                return Ok(features);
            }
            let length = length_of(self.body.u32()?)?;
            features.push(Feature { id, data: self.body.bytes(length)?.into_owned() });
        }
    }

    fn read_done(&mut self, kind: DoneKind) -> Result<Token> {
        let status = DoneStatus(self.body.u16()?);
        let command = self.body.u16()?;
        let count = match self.version.has_wide_fields() {
            true => self.body.u64()?,
            false => u64::from(self.body.u32()?),
        };
        let row_count = status.has(DoneStatus::COUNT).then_some(count);
        // `row_count` has this bit's information.
        let status = DoneStatus(status.0 & !DoneStatus::COUNT.0);
        Ok(Token::Done(Done { kind, status, command, row_count }))
    }
}

fn length_of(length: u32) -> Result<usize> {
    usize::try_from(length).map_err(|_| ProtocolError::Truncated)
}
