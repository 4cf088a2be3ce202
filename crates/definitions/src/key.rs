//! `Key`: the name of an entry.
//!
//! ```text
//!   kind: 1 byte    database: 2 bytes, of the kinds that belong to one    id or name
//! ```
//!
//! Numbers are big-endian with the sign bit turned, so that keys sort by them. An object is named by
//! its id, which a new name does not change.

use std::fmt;

use catalog::name::Name;
use catalog::{CounterKey, MessageKey, PropertyClass, Securable};
use storage::TableId;

use crate::code::{Result, fault};

/// The name of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Says that all entries of the catalog were written, not only changes since the start.
    Complete,
    Settings,
    Login(i32),
    /// Permissions of the server that a login has, by its `principal_id`.
    ServerPermissions(i32),
    Message(MessageKey),
    EventSession(i32),
    ServerTrigger(i32),
    Counter(CounterKey),
    /// A backup of msdb's tables, by its `backup_set_id`.
    Backup(i32),
    /// A restore, by its `restore_history_id`.
    Restore(i32),
    /// What is known of a database, by its id, for its next backup.
    BackupState(i16),
    /// An entry of a database.
    Of(i16, Part),
}

/// The part of a database that an entry has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Attributes,
    Options,
    Files,
    Schema(i32),
    Principal(i32),
    /// Permissions that a principal has.
    Permissions(i32),
    Type(i32),
    Object(i32),
    Trigger(i32),
    /// The folded name of a property.
    Property(Securable, String),
    DataSource(i32),
    FileFormat(i32),
    Owner(i32),
    PartitionFunction(i32),
    PartitionScheme(i32),
}

/// Turns the sign bit, so that the bytes sort as the numbers do.
fn put_i32(out: &mut Vec<u8>, number: i32) {
    out.extend_from_slice(&(number ^ i32::MIN).to_be_bytes());
}

fn put_i16(out: &mut Vec<u8>, number: i16) {
    out.extend_from_slice(&(number ^ i16::MIN).to_be_bytes());
}

impl Key {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut with = |kind: u8, id: i32| {
            out.push(kind);
            put_i32(&mut out, id);
        };
        match self {
            Self::Complete => out.push(0),
            Self::Settings => out.push(1),
            Self::Login(id) => with(2, *id),
            Self::ServerPermissions(id) => with(3, *id),
            Self::Message((number, language)) => {
                with(4, *number);
                put_i16(&mut out, *language);
            }
            Self::EventSession(id) => with(5, *id),
            Self::ServerTrigger(id) => with(6, *id),
            Self::Counter(counter) => match counter {
                CounterKey::ObjectId => out.extend([7, 0]),
                CounterKey::StorageId => out.extend([7, 1]),
                CounterKey::RowVersion => out.extend([7, 2]),
                CounterKey::SequentialId => out.extend([7, 3]),
                CounterKey::Identity(table) => {
                    out.extend([7, 4]);
                    out.extend_from_slice(&table.0.to_be_bytes());
                }
                CounterKey::Sequence(number) => {
                    out.extend([7, 5]);
                    put_i32(&mut out, *number);
                }
            },
            Self::Backup(id) => with(8, *id),
            Self::Restore(id) => with(9, *id),
            Self::BackupState(database) => {
                out.push(10);
                put_i16(&mut out, *database);
            }
            Self::Of(database, part) => part.put(*database, &mut out),
        }
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut rest = Rest(bytes);
        let key = match rest.byte()? {
            0 => Self::Complete,
            1 => Self::Settings,
            2 => Self::Login(rest.i32()?),
            3 => Self::ServerPermissions(rest.i32()?),
            4 => Self::Message((rest.i32()?, rest.i16()?)),
            5 => Self::EventSession(rest.i32()?),
            6 => Self::ServerTrigger(rest.i32()?),
            7 => Self::Counter(match rest.byte()? {
                0 => CounterKey::ObjectId,
                1 => CounterKey::StorageId,
                2 => CounterKey::RowVersion,
                3 => CounterKey::SequentialId,
                4 => CounterKey::Identity(TableId(u32::from_be_bytes(rest.take()?))),
                5 => CounterKey::Sequence(rest.i32()?),
                other => return fault(format!("the counter {other}")),
            }),
            8 => Self::Backup(rest.i32()?),
            9 => Self::Restore(rest.i32()?),
            10 => Self::BackupState(rest.i16()?),
            kind => Self::Of(rest.i16()?, Part::get(kind, &mut rest)?),
        };
        if rest.0.is_empty() { Ok(key) } else { fault("a key that is too long") }
    }

    /// Returns whether a start makes what the entry describes: what is in tempdb.
    pub(crate) fn is_of_start(&self) -> bool {
        match self {
            Self::Of(database, part) => {
                *database == catalog::table::TEMPDB
                    && !matches!(part, Part::Attributes | Part::Options | Part::Files)
            }
            _ => false,
        }
    }
}

impl Part {
    fn put(&self, database: i16, out: &mut Vec<u8>) {
        let mut with = |kind: u8, id: Option<i32>| {
            out.push(kind);
            put_i16(out, database);
            if let Some(id) = id {
                put_i32(out, id);
            }
        };
        match self {
            Self::Attributes => with(16, None),
            Self::Options => with(17, None),
            Self::Files => with(18, None),
            Self::Schema(id) => with(19, Some(*id)),
            Self::Principal(id) => with(20, Some(*id)),
            Self::Permissions(id) => with(21, Some(*id)),
            Self::Type(id) => with(22, Some(*id)),
            Self::Object(id) => with(23, Some(*id)),
            Self::Trigger(id) => with(24, Some(*id)),
            Self::Property(of, name) => {
                with(25, None);
                out.push(of.class as u8);
                put_i32(out, of.major_id);
                put_i32(out, of.minor_id);
                out.extend_from_slice(name.as_bytes());
            }
            Self::DataSource(id) => with(26, Some(*id)),
            Self::FileFormat(id) => with(27, Some(*id)),
            Self::Owner(id) => with(28, Some(*id)),
            Self::PartitionFunction(id) => with(29, Some(*id)),
            Self::PartitionScheme(id) => with(30, Some(*id)),
        }
    }

    fn get(kind: u8, rest: &mut Rest<'_>) -> Result<Self> {
        Ok(match kind {
            16 => Self::Attributes,
            17 => Self::Options,
            18 => Self::Files,
            19 => Self::Schema(rest.i32()?),
            20 => Self::Principal(rest.i32()?),
            21 => Self::Permissions(rest.i32()?),
            22 => Self::Type(rest.i32()?),
            23 => Self::Object(rest.i32()?),
            24 => Self::Trigger(rest.i32()?),
            25 => {
                let class = class_of(rest.byte()?)?;
                let of = Securable { class, major_id: rest.i32()?, minor_id: rest.i32()? };
                let name = String::from_utf8(std::mem::take(&mut rest.0).to_vec());
                match name {
                    Ok(name) => Self::Property(of, name),
                    Err(_) => return fault("a name that is not UTF-8"),
                }
            }
            26 => Self::DataSource(rest.i32()?),
            27 => Self::FileFormat(rest.i32()?),
            28 => Self::Owner(rest.i32()?),
            29 => Self::PartitionFunction(rest.i32()?),
            30 => Self::PartitionScheme(rest.i32()?),
            other => return fault(format!("the kind of entry {other}")),
        })
    }

    /// Returns the key's part for a property.
    pub(crate) fn of_property((of, name): &(Securable, Name)) -> Self {
        Self::Property(*of, Name::folded(name.as_str()))
    }
}

fn class_of(number: u8) -> Result<PropertyClass> {
    Ok(match number {
        0 => PropertyClass::Database,
        1 => PropertyClass::ObjectOrColumn,
        2 => PropertyClass::Parameter,
        3 => PropertyClass::Schema,
        4 => PropertyClass::DatabasePrincipal,
        6 => PropertyClass::Type,
        7 => PropertyClass::Index,
        other => return fault(format!("the class of properties {other}")),
    })
}

/// The bytes of a key that are not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.0.split_first_chunk() {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(*taken)
            }
            None => fault("a key that is too short"),
        }
    }

    fn byte(&mut self) -> Result<u8> {
        self.take().map(|[byte]| byte)
    }

    fn i16(&mut self) -> Result<i16> {
        self.take().map(|bytes| i16::from_be_bytes(bytes) ^ i16::MIN)
    }

    fn i32(&mut self) -> Result<i32> {
        self.take().map(|bytes| i32::from_be_bytes(bytes) ^ i32::MIN)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("mark of a complete catalog"),
            Self::Settings => f.write_str("settings"),
            Self::Login(id) => write!(f, "login {id}"),
            Self::ServerPermissions(id) => write!(f, "permissions of login {id}"),
            Self::Message((number, language)) => write!(f, "message {number}, language {language}"),
            Self::EventSession(id) => write!(f, "event session {id}"),
            Self::ServerTrigger(id) => write!(f, "server trigger {id}"),
            Self::Counter(counter) => write!(f, "counter {counter:?}"),
            Self::Backup(id) => write!(f, "backup {id}"),
            Self::Restore(id) => write!(f, "restore {id}"),
            Self::BackupState(database) => write!(f, "backups of database {database}"),
            Self::Of(database, part) => write!(f, "database {database}, {part}"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attributes => f.write_str("attributes"),
            Self::Options => f.write_str("options"),
            Self::Files => f.write_str("files"),
            Self::Schema(id) => write!(f, "schema {id}"),
            Self::Principal(id) => write!(f, "principal {id}"),
            Self::Permissions(id) => write!(f, "permissions of principal {id}"),
            Self::Type(id) => write!(f, "type {id}"),
            Self::Object(id) => write!(f, "object {id}"),
            Self::Trigger(id) => write!(f, "trigger {id}"),
            Self::Property(of, name) => {
                write!(f, "property {name} of {}.{}", of.major_id, of.minor_id)
            }
            Self::DataSource(id) => write!(f, "data source {id}"),
            Self::FileFormat(id) => write!(f, "file format {id}"),
            Self::Owner(id) => write!(f, "owner of {id}"),
            Self::PartitionFunction(id) => write!(f, "partition function {id}"),
            Self::PartitionScheme(id) => write!(f, "partition scheme {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_and_sorts_by_its_numbers() {
        let of = Securable { class: PropertyClass::Index, major_id: 7, minor_id: -1 };
        let keys = [
            Key::Complete,
            Key::Settings,
            Key::Login(-1),
            Key::Login(1),
            Key::Login(300),
            Key::ServerPermissions(1),
            Key::Message((50_001, 1033)),
            Key::EventSession(65_536),
            Key::ServerTrigger(9),
            Key::Counter(CounterKey::ObjectId),
            Key::Counter(CounterKey::SequentialId),
            Key::Counter(CounterKey::Identity(TableId(300))),
            Key::Counter(CounterKey::Sequence(-5)),
            Key::Backup(7),
            Key::Restore(1),
            Key::BackupState(5),
            Key::Of(5, Part::Attributes),
            Key::Of(256, Part::Attributes),
            Key::Of(5, Part::Object(i32::MIN)),
            Key::Of(5, Part::Object(0)),
            Key::Of(5, Part::Property(of, "MS_DESCRIPTION".to_owned())),
            Key::Of(5, Part::Owner(3)),
            Key::Of(5, Part::PartitionFunction(65_536)),
            Key::Of(5, Part::PartitionScheme(65_601)),
        ];
        for pair in keys.windows(2) {
            assert!(pair[0].to_bytes() < pair[1].to_bytes(), "{} {}", pair[0], pair[1]);
        }
        for key in &keys {
            let bytes = key.to_bytes();
            assert_eq!(Key::from_bytes(&bytes), Ok(key.clone()));
            for length in 0..bytes.len() {
                // A cut key is an error or another key, and never a panic.
                let _ = Key::from_bytes(&bytes[..length]);
            }
        }
    }
}
