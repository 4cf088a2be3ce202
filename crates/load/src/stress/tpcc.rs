//! TPC-C's five transactions as requests: procedure calls with the inputs that the crate `tpcc`
//! draws. The work itself is in procedures there.

use ::tpcc::{Argument, Dialect, Lines, Scale, Terminal, Transaction};
use tds::Reset;
use tds::client::{self, ClientSettings, RpcBuilder};
use types::{ColumnType, DataType, Length, Value};

use super::random::Random;

/// The remark on every rate of New-Orders.
pub(super) const NOT_AUDITED: &str = "(derived from TPC-C, without its keying and think times: not an audited TPC-C result, and not \
     comparable to one)";
/// The most warehouses: the data has five digits for one.
pub const WAREHOUSES_MAX: u32 = 99_999;
/// How often a request is repeated after a deadlock or a version conflict, unless the user says
/// otherwise.
pub(super) const RETRIES: u32 = 20;

/// The requests of one transaction.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    pub(super) transaction: Transaction,
    pub(super) warehouses: u32,
    pub(super) reset: Reset,
}

impl Requests {
    /// Returns the next input of a connection's terminal.
    pub(super) fn request(&self, connection: usize, random: &mut Random) -> Vec<u8> {
        let scale = Scale::full(self.warehouses);
        let terminal = Terminal { scale, number: connection, lines: Lines::Drawn };
        let call = terminal.input(self.transaction, &mut |from, to| random.between(from, to));
        let mut packets = tpcc_call(self.transaction.procedure(), &call.arguments);
        client::set_reset(&mut packets, self.reset);
        packets
    }
}

/// Encodes a call of a procedure of the schema `dbo`.
pub fn tpcc_call(procedure: &str, arguments: &[Argument]) -> Vec<u8> {
    let call = RpcBuilder::new(ClientSettings::default()).call(&format!("dbo.{procedure}"));
    let add = |call: RpcBuilder, argument: &Argument| {
        let (data_type, value) = match &argument.value {
            ::tpcc::Value::Number(number) => {
                (DataType::Int, number.map_or(Value::Null, Value::Int))
            }
            ::tpcc::Value::Text(text, characters) => (
                DataType::NVarChar(Length::Limited(*characters)),
                text.as_deref().map_or(Value::Null, Value::nvarchar),
            ),
        };
        call.input(&format!("@{}", argument.name), ColumnType::nullable(data_type), &value)
    };
    arguments.iter().fold(call, add).finish()
}

/// Returns the batches that create the procedures and the tables, with this many warehouses.
pub(super) fn setup(warehouses: u32) -> Vec<String> {
    Dialect::Transact.setup(Scale::full(warehouses))
}
