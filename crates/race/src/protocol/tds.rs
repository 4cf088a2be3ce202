//! Clearway, or any other TDS server: procedures called by name, without encryption.

use std::borrow::Cow;

use load::answer::message_bytes;
use load::{Answer, Login};
use tds::client::{self, ClientSettings, RpcBuilder, Token};
use tds::packet::HEADER_BYTES;
use tds::prelogin::Encryption;
use tds::{Cursor, Login7, Prelogin, TdsVersion};
use types::{Bytes, ColumnType, DataType, Length, Value};

use super::{Protocol, shown};
use crate::Result;
use crate::book::COOKIE_FIRST;
use crate::keeping::Keeping;
use crate::work::{
    Ask, COUNTERS, ITEM_BYTES, KEY_DIGITS, KEY_END, KEY_START, KEYS, MINUTES, Reply,
    SESSION_LETTER, item, key_text,
};

/// The packet size asked for, the one of .NET's client.
const PACKET_BYTES: u32 = 8_000;
const APPLICATION: &str = "clearway race";

/// Removes everything that a race has created.
const DROP: &str = "drop procedure if exists dbo.race_get, dbo.race_set, dbo.race_lock, dbo.race_release, dbo.race_add; \
                    drop table if exists dbo.race_item, dbo.race_session, dbo.race_counter";

/// Makes the database of a race with durable writes the current one.
const ENTER: &str = "use race";

/// The procedures; each is a separate batch.
const PROCEDURES: [&str; 5] = [
    "create procedure dbo.race_get @id nvarchar(88) as
begin
    set nocount on
    select item from dbo.race_item where id = @id
end",
    "create procedure dbo.race_set @id nvarchar(88), @item varbinary(max) as
begin
    set nocount on
    update dbo.race_item set item = @item where id = @id
    return @@rowcount
end",
    "create procedure dbo.race_lock @id nvarchar(88), @cookie int output as
begin
    set nocount on
    declare @now datetime = getutcdate(), @item varbinary(max)
    update dbo.race_session
    set held = 1, locked_at = @now, expires = dateadd(minute, minutes, @now),
        @cookie = cookie = cookie + 1, @item = item
    where id = @id and held = 0
    if @@rowcount > 0 select @item as item
end",
    "create procedure dbo.race_release @id nvarchar(88), @cookie int as
begin
    set nocount on
    update dbo.race_session
    set held = 0, expires = dateadd(minute, minutes, getutcdate())
    where id = @id and cookie = @cookie and held = 1
    return @@rowcount
end",
    "create procedure dbo.race_add @id int, @n bigint output as
begin
    set nocount on
    update dbo.race_counter set @n = n = n + 1 where id = @id
end",
];

/// A connection to a server that speaks TDS.
pub(crate) struct Tds {
    login: Login,
    keeping: Keeping,
}

impl Tds {
    pub(crate) fn new(login: Login) -> Self {
        Self { login, keeping: Keeping::Memory }
    }

    /// As [`Self::new`], for a server that keeps its tables in this way.
    pub(crate) fn keeping(self, keeping: Keeping) -> Self {
        Self { keeping, ..self }
    }
}

impl Protocol for Tds {
    fn opening(&self) -> Vec<Vec<u8>> {
        let options =
            Prelogin { encryption: Some(Encryption::NotSupported), ..Prelogin::default() };
        let login = client::login(&Login7 {
            version_code: TdsVersion::V7_4.code(),
            packet_size: PACKET_BYTES,
            user: self.login.user.clone(),
            password: self.login.password.clone(),
            database: self.login.database.clone(),
            application: APPLICATION.to_owned(),
            ..Login7::default()
        });
        vec![client::prelogin(&options), login]
    }

    fn opened(&mut self, step: usize, answer: &[u8]) -> Result<()> {
        if step == 0 {
            let payload = answer.get(HEADER_BYTES..).unwrap_or_default();
            let options = Prelogin::parse(Cursor::new(payload));
            let options = options.map_err(|error| format!("wrong answer: {error}"))?;
            return match options.encryption {
                Some(Encryption::On | Encryption::Required) => {
                    Err("the server wants encryption, and a race is in plain text".to_owned())
                }
                Some(Encryption::Off | Encryption::NotSupported) | None => Ok(()),
            };
        }
        let answer = Answer::decode(answer)?.check()?;
        let is_in = |token: &Token| matches!(token, Token::LoginAck { .. });
        match answer.tokens.iter().any(is_in) {
            true => Ok(()),
            false => Err("the login was not acknowledged".to_owned()),
        }
    }

    fn setup(&self) -> Vec<Vec<u8>> {
        let tables = "create table dbo.race_item (id nvarchar(88) collate Latin1_General_100_BIN2 not null primary key, \
             item varbinary(max) not null); \
             create table dbo.race_session (id nvarchar(88) collate Latin1_General_100_BIN2 not null primary key, \
             expires datetime not null, locked_at datetime not null, cookie int not null, minutes int not null, \
             held bit not null, item varbinary(max) not null); \
             create table dbo.race_counter (id int not null primary key, n bigint not null)";
        let rows = format!(
            "with digits (n) as (select n from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) d (n)) \
             insert dbo.race_item (id, item) \
             select concat(N'{KEY_START}', right(concat('{}', n), {KEY_DIGITS}), N'{KEY_END}'), 0x \
             from (select a.n + 10 * b.n + 100 * c.n + 1000 * d.n as n \
             from digits a cross join digits b cross join digits c cross join digits d) numbers where n < {KEYS}",
            "0".repeat(KEY_DIGITS)
        );
        let sessions = format!(
            "insert dbo.race_session (id, expires, locked_at, cookie, minutes, held, item) \
             select id, getutcdate(), getutcdate(), {COOKIE_FIRST}, {MINUTES}, 0, \
             cast(replicate(cast('{SESSION_LETTER}' as varchar(max)), {ITEM_BYTES}) as varbinary(max)) \
             from dbo.race_item"
        );
        let counters: Vec<_> = (0..COUNTERS).map(|counter| format!("({counter}, 0)")).collect();
        let counters = format!("insert dbo.race_counter (id, n) values {}", counters.join(", "));
        let texts = [DROP, tables, &rows, &sessions, &counters];
        let database = match self.keeping {
            Keeping::Memory => &[][..],
            Keeping::Durable => &["create database race", ENTER],
            Keeping::Delayed => &[
                "create database race",
                "alter database race set delayed_durability = forced",
                ENTER,
            ],
        };
        let database = database.iter().copied();
        database.chain(texts).chain(PROCEDURES).map(batch).collect()
    }

    fn preparing(&self) -> Vec<Vec<u8>> {
        match self.keeping {
            Keeping::Memory => Vec::new(),
            Keeping::Delayed | Keeping::Durable => vec![batch(ENTER)],
        }
    }

    fn teardown(&self) -> Vec<Vec<u8>> {
        vec![batch(DROP)]
    }

    fn done(&self, answer: &[u8]) -> Result<()> {
        Answer::decode(answer)?.check().map(drop)
    }

    fn put(&self, ask: Ask, out: &mut Vec<u8>) {
        let call = |procedure| RpcBuilder::new(ClientSettings::default()).call(procedure);
        let id = |key| Value::nvarchar(&key_text(key));
        let request =
            match ask {
                Ask::Get { key } => call("dbo.race_get").input("@id", id_type(), &id(key)),
                Ask::Set { key, version } => {
                    let item = Value::VarBinary(Bytes::from(item(key, version).to_vec()));
                    call("dbo.race_set").input("@id", id_type(), &id(key)).input(
                        "@item",
                        item_type(),
                        &item,
                    )
                }
                Ask::Lock { key } => call("dbo.race_lock")
                    .input("@id", id_type(), &id(key))
                    .output("@cookie", int(), &Value::Null),
                Ask::Release { key, cookie } => call("dbo.race_release")
                    .input("@id", id_type(), &id(key))
                    .input("@cookie", int(), &Value::Int(cookie)),
                Ask::Add { counter } => {
                    let counter = Value::Int(i32::try_from(counter).unwrap_or(i32::MAX));
                    let bigint = ColumnType::nullable(DataType::BigInt);
                    call("dbo.race_add").input("@id", int(), &counter).output(
                        "@n",
                        bigint,
                        &Value::Null,
                    )
                }
            };
        out.extend_from_slice(&request.finish());
    }

    fn answer_bytes(&self, received: &[u8]) -> Result<Option<usize>> {
        const RESPONSE: u8 = 4;
        match received.first() {
            None | Some(&RESPONSE) => Ok(message_bytes(received)),
            Some(_) => Err(format!("not TDS: {}", shown(received))),
        }
    }

    fn read<'a>(&self, ask: Ask, answer: &'a [u8]) -> Result<Reply<'a>> {
        let answer = Answer::decode(answer)?.check()?;
        let value = answer.rows().first().and_then(|row| match row {
            [Value::VarBinary(bytes)] => Some(Cow::Owned(bytes.to_vec())),
            _ => None,
        });
        let number = match (answer.output("@cookie"), answer.output("@n")) {
            (Some(Value::Int(cookie)), _) => Some(i64::from(*cookie)),
            (_, Some(Value::BigInt(sum))) => Some(*sum),
            _ => None,
        };
        let changed = match ask {
            Ask::Set { .. } | Ask::Release { .. } => {
                answer.return_status().and_then(|status| u64::try_from(status).ok())
            }
            Ask::Get { .. } | Ask::Lock { .. } | Ask::Add { .. } => None,
        };
        Ok(Reply { value, number, changed })
    }
}

pub(crate) fn batch(text: &str) -> Vec<u8> {
    client::batch(text, ClientSettings::default())
}

fn id_type() -> ColumnType {
    ColumnType::nullable(DataType::NVarChar(Length::Limited(88)))
}

fn item_type() -> ColumnType {
    ColumnType::nullable(DataType::VarBinary(Length::Max))
}

fn int() -> ColumnType {
    ColumnType::nullable(DataType::Int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::assert_ends;

    fn tds() -> Tds {
        let login =
            Login { user: "sa".to_owned(), password: String::new(), database: String::new() };
        Tds::new(login)
    }

    /// Returns a response of one packet: these tokens, and DONE.
    fn response(tokens: &[u8]) -> Vec<u8> {
        let done = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let length = u16::try_from(HEADER_BYTES + tokens.len() + done.len()).unwrap();
        let mut packet = vec![4, 1];
        packet.extend_from_slice(&length.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 1, 0]);
        [&packet[..], tokens, &done].concat()
    }

    #[test]
    fn answers_are_read() {
        let tds = tds();
        // RETURNSTATUS 1; RETURNVALUE @n bigint 41.
        let changed = response(&[0x79, 1, 0, 0, 0]);
        let mut sum = vec![0xac, 0, 0, 2];
        sum.extend_from_slice(&[b'@', 0, b'n', 0, 1, 0, 0, 0, 0, 1, 0, 0x26, 8, 8]);
        sum.extend_from_slice(&41_i64.to_le_bytes());
        let sum = response(&sum);
        for answer in [&changed, &sum] {
            assert_ends(&tds, answer);
        }
        let release = Ask::Release { key: 0, cookie: 2 };
        assert_eq!(tds.read(release, &changed), Ok(Reply::of_changed(1)));
        let add = Ask::Add { counter: 0 };
        assert_eq!(tds.read(add, &sum), Ok(Reply::of_number(Some(41))));
        assert!(tds.answer_bytes(b"HTTP/1.1 400").is_err());
    }

    #[test]
    fn a_request_is_one_call_in_one_packet() {
        let mut out = Vec::new();
        tds().put(Ask::Set { key: 3, version: 1 }, &mut out);
        assert_eq!((out[0], out[1]), (3, 1), "an RPC, and the end of its message");
        assert_eq!(usize::from(u16::from_be_bytes([out[2], out[3]])), out.len());
        assert!(out.windows(ITEM_BYTES).any(|part| part == item(3, 1)));
    }
}
