//! TPC-C's five transactions (specification 5.11) as requests: a terminal's input, drawn as the
//! specification says. The work itself is in procedures, in procedures.sql.
//!
//! Keying times, think times and the screens are left out, so that a few connections are a full
//! load: a rate measured here is no TPC-C result, and none is audited.

use tds::Reset;
use tds::client::{self, ClientSettings, RpcBuilder};
use types::{ColumnType, DataType, Length, Value};

use super::input::batches;
use super::random::Random;

/// The remark on every rate of New-Orders.
pub(super) const NOT_AUDITED: &str = "(derived from TPC-C, without its keying and think times: not an audited TPC-C result, and not \
     comparable to one)";
/// The most warehouses: the data has five digits for one.
pub const WAREHOUSES_MAX: u32 = 99_999;
/// How often a request is repeated after a deadlock or a version conflict, unless the user says
/// otherwise.
pub(super) const RETRIES: u32 = 20;
const DISTRICTS: i64 = 10;
const CUSTOMERS: i64 = 3_000;
const ITEMS: i64 = 100_000;
/// The number of an item that does not exist.
const NO_ITEM: i64 = 999_999;
/// The constants of NURand (clause 2.1.6). Names were loaded with 100; the difference between the
/// two is one that the clause allows.
const C_LAST: i64 = 181;
const C_ID: i64 = 521;
const C_ITEM: i64 = 4_093;
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// One of the five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transaction {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Transaction {
    pub(super) const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Returns its name in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Returns its percentage of the mix: clause 5.2.3.
    pub(super) const fn weight(self) -> u32 {
        match self {
            Self::NewOrder => 45,
            Self::Payment => 43,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 4,
        }
    }
}

/// The requests of one transaction.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    pub(super) transaction: Transaction,
    pub(super) warehouses: u32,
    pub(super) reset: Reset,
}

impl Requests {
    /// Returns the next input of a connection's terminal. A terminal keeps its warehouse and its
    /// district.
    pub(super) fn request(&self, connection: usize, random: &mut Random) -> Vec<u8> {
        let connection = i64::try_from(connection).unwrap_or(0);
        let warehouses = i64::from(self.warehouses);
        let home = 1 + connection % warehouses;
        let request = match self.transaction {
            Transaction::NewOrder => self.new_order(home, random),
            Transaction::Payment => self.payment(home, random),
            Transaction::OrderStatus => {
                let district = random.between(1, DISTRICTS);
                let call = self.call("dbo.tpcc_order_status", home).number("@d_id", district);
                customer(call, random)
            }
            Transaction::Delivery => {
                self.call("dbo.tpcc_delivery", home).number("@carrier", random.between(1, 10))
            }
            Transaction::StockLevel => self
                .call("dbo.tpcc_stock_level", home)
                .number("@d_id", 1 + connection / warehouses % DISTRICTS)
                .number("@threshold", random.between(10, 20)),
        };
        let mut packets = request.0.finish();
        client::set_reset(&mut packets, self.reset);
        packets
    }

    fn new_order(&self, home: i64, random: &mut Random) -> Call {
        let call = self.call("dbo.tpcc_new_order", home);
        let call = call.number("@d_id", random.between(1, DISTRICTS));
        let call = call.number("@c_id", nurand(random, 1_023, C_ID, 1, CUSTOMERS));
        let count = random.between(5, 15);
        // Clause 2.4.1.4: the last item of one in a hundred does not exist.
        let rolls_back = random.below(100) == 0;
        let lines = (1..=count).map(|line| {
            let item = match rolls_back && line == count {
                true => NO_ITEM,
                false => nurand(random, 8_191, C_ITEM, 1, ITEMS),
            };
            let supply = if random.below(100) == 0 { self.other(home, random) } else { home };
            format!("{item:06}{supply:05}{:02}", random.between(1, 10))
        });
        call.text("@lines", 200, Some(&lines.collect::<String>()))
    }

    fn payment(&self, home: i64, random: &mut Random) -> Call {
        let district = random.between(1, DISTRICTS);
        // Clause 2.5.1.2: 15 per cent of the customers are of another warehouse.
        let (of_warehouse, of_district) = match random.below(100) < 85 {
            true => (home, district),
            false => (self.other(home, random), random.between(1, DISTRICTS)),
        };
        let call = self.call("dbo.tpcc_payment", home).number("@d_id", district);
        let call = call.number("@c_w_id", of_warehouse).number("@c_d_id", of_district);
        customer(call, random).number("@cents", random.between(100, 500_000))
    }

    /// Returns another warehouse than this, if there is one.
    fn other(&self, home: i64, random: &mut Random) -> i64 {
        let warehouses = i64::from(self.warehouses);
        if warehouses == 1 {
            return home;
        }
        let drawn = random.between(1, warehouses - 1);
        if drawn < home { drawn } else { drawn + 1 }
    }

    fn call(&self, procedure: &str, home: i64) -> Call {
        Call(RpcBuilder::new(ClientSettings::default()).call(procedure)).number("@w_id", home)
    }
}

/// A call being built.
struct Call(RpcBuilder);

impl Call {
    fn number(self, name: &str, number: i64) -> Self {
        let value = i32::try_from(number).map_or(Value::Null, Value::Int);
        self.input(name, DataType::Int, &value)
    }

    fn text(self, name: &str, units: u16, text: Option<&str>) -> Self {
        let value = text.map_or(Value::Null, Value::nvarchar);
        self.input(name, DataType::NVarChar(Length::Limited(units)), &value)
    }

    fn input(self, name: &str, data_type: DataType, value: &Value) -> Self {
        Self(self.0.input(name, ColumnType::nullable(data_type), value))
    }
}

/// Adds a customer: 60 per cent by last name, the others by number.
fn customer(call: Call, random: &mut Random) -> Call {
    if random.below(100) < 60 {
        let name = last_name(nurand(random, 255, C_LAST, 0, 999));
        let call = call.input("@c_id", DataType::Int, &Value::Null);
        return call.text("@last", 16, Some(&name));
    }
    call.number("@c_id", nurand(random, 1_023, C_ID, 1, CUSTOMERS)).text("@last", 16, None)
}

/// Clause 4.3.2.3: a syllable for each of three digits.
fn last_name(number: i64) -> String {
    let syllable = |digit: i64| SYLLABLES[usize::try_from(digit % 10).unwrap_or(0)];
    [number / 100, number / 10, number].map(syllable).concat()
}

/// Clause 2.1.6: NURand, a skewed distribution of numbers.
fn nurand(random: &mut Random, a: i64, c: i64, from: i64, to: i64) -> i64 {
    let mixed = random.between(0, a) | random.between(from, to);
    (mixed + c) % (to - from + 1) + from
}

/// Returns the batches that create the procedures and the tables, with this many warehouses.
pub(super) fn setup(warehouses: u32) -> Vec<String> {
    let rows = include_str!("warehouse.sql");
    let mut script = batches(include_str!("tables.sql"));
    for warehouse in 1..=warehouses {
        script.extend(batches(&rows.replace("{w}", &warehouse.to_string())));
    }
    script.extend(batches(include_str!("procedures.sql")));
    script
}

#[cfg(test)]
mod tests;
