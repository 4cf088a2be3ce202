//! What must be true of the rows on each server, and the same on all: the specification's
//! consistency conditions 1 to 4 (clause 3.3.2), sums over all tables, and what was acknowledged.

use super::connection::Connection;
use super::terminals::Tally;
use crate::Result;
use crate::peer::Kind;

/// The conditions, as counts of rows that break them.
const CONDITIONS: [(u32, &str); 5] = [
    (
        1,
        "select count(*) from tpcc_warehouse where w_ytd <> (select sum(d_ytd) from tpcc_district where d_w_id = w_id)",
    ),
    (
        2,
        "select count(*) from tpcc_district where d_next_o_id - 1 <> \
         (select max(o_id) from tpcc_orders where o_w_id = d_w_id and o_d_id = d_id)",
    ),
    (
        2,
        "select count(*) from tpcc_district where d_next_o_id - 1 <> \
         (select max(no_o_id) from tpcc_new_orders where no_w_id = d_w_id and no_d_id = d_id)",
    ),
    (
        3,
        "select count(*) from (select max(no_o_id) - min(no_o_id) + 1 as span, count(*) as n from tpcc_new_orders \
         group by no_w_id, no_d_id) districts where span <> n",
    ),
    (
        4,
        "select count(*) from tpcc_district where \
         (select sum(o_ol_cnt) from tpcc_orders where o_w_id = d_w_id and o_d_id = d_id) <> \
         (select count(*) from tpcc_order_line where ol_w_id = d_w_id and ol_d_id = d_id)",
    ),
];

/// Sums that are the same on all servers whenever these have run the same calls, in whatever order.
const SUMS: [&str; 10] = [
    "select count(*), sum(w_tax), sum(w_ytd) from tpcc_warehouse",
    "select count(*), sum(d_tax), sum(d_ytd), sum(d_next_o_id) from tpcc_district",
    "select count(*), sum(c_discount), sum(c_ytd_payment), sum(c_payment_cnt), sum(c_delivery_cnt) from tpcc_customer",
    "select sum(cast(c_id as decimal(18))), sum({length}(c_first)), sum({length}(c_last)) from tpcc_customer",
    "select count(*), sum(h_amount), sum({length}(h_data)) from tpcc_history",
    "select count(*) from tpcc_new_orders",
    "select count(*), sum(o_ol_cnt), sum(o_all_local), sum(cast(o_c_id as decimal(18))) from tpcc_orders",
    "select count(*), sum(ol_quantity), sum(ol_amount), sum(cast(ol_i_id as decimal(18))), sum(ol_supply_w_id), \
     sum({length}(ol_dist_info)) from tpcc_order_line",
    "select count(*), sum(i_price), sum(cast(i_im_id as decimal(18))), sum({length}(i_data)) from tpcc_item",
    "select count(*), sum(s_ytd), sum(s_order_cnt), sum(s_remote_cnt), sum({length}(s_data)) from tpcc_stock",
];

/// Sums that depend on the order of the calls, so that they are compared before any.
const FIRST_SUMS: [&str; 3] = [
    "select sum(s_quantity) from tpcc_stock",
    "select sum(c_balance), sum({length}(c_data)) from tpcc_customer",
    "select count(*) from tpcc_customer where c_credit = 'BC'",
];

/// The numbers that calls change by an amount that their answers tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    orders: i64,
    new_orders: i64,
    history: i64,
    cents: i64,
}

/// When sums are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// When the rows are loaded, before any call.
    Loaded,
    /// After the same calls on all servers.
    Called,
}

/// Returns sums over all tables, each with the question in front.
pub(crate) fn sums(kind: Kind, connection: &mut Connection, when: When) -> Result<Vec<String>> {
    let first = if when == When::Loaded { &FIRST_SUMS[..] } else { &[] };
    let length = if kind == Kind::Clearway { "len" } else { "length" };
    let ask = |question: &&str| {
        let question = question.replace("{length}", length);
        let rows = connection.ask(&question)?;
        let row = rows.first().ok_or_else(|| format!("no answer to {question}"))?;
        let from = question.rsplit(" from ").next().unwrap_or_default();
        Ok(format!("{from}: {}", row.join(", ")))
    };
    SUMS.iter().chain(first).map(ask).collect()
}

/// Fails if a consistency condition does not hold.
pub(crate) fn conditions(connection: &mut Connection) -> Result<()> {
    for (number, question) in CONDITIONS {
        let rows = connection.ask(question)?;
        if rows != [["0"]] {
            return Err(format!("consistency condition {number} does not hold: {rows:?}"));
        }
    }
    Ok(())
}

impl Counts {
    pub(crate) fn read(connection: &mut Connection) -> Result<Self> {
        let mut number = |question: &str| {
            let rows = connection.ask(question)?;
            let cell = rows.first().and_then(|row| row.first());
            // Sums of money have two digits behind the point: they become cents.
            let digits = cell.map(|cell| cell.replace('.', "")).and_then(|it| it.parse().ok());
            digits.ok_or_else(|| format!("no number: {question}: {rows:?}"))
        };
        Ok(Self {
            orders: number("select count(*) from tpcc_orders")?,
            new_orders: number("select count(*) from tpcc_new_orders")?,
            history: number("select count(*) from tpcc_history")?,
            cents: number("select sum(w_ytd) from tpcc_warehouse")?,
        })
    }

    /// Returns the counts after these calls.
    pub(crate) fn after(self, tally: &Tally) -> Self {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let (orders, delivered) = (number(tally.orders), number(tally.delivered));
        Self {
            orders: self.orders + orders,
            new_orders: self.new_orders + orders - delivered,
            history: self.history + number(tally.payments),
            cents: self.cents + tally.cents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_grow_by_what_was_acknowledged() {
        let before = Counts { orders: 300, new_orders: 90, history: 300, cents: 30_000_000 };
        let tally =
            Tally { orders: 7, rolled_back: 1, payments: 5, cents: 1_234, delivered: 10, reads: 3 };
        let after = Counts { orders: 307, new_orders: 87, history: 305, cents: 30_001_234 };
        assert_eq!(before.after(&tally), after);
    }
}
