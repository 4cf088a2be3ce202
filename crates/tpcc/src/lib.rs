//! TPC-C's workload (specification 5.11) without a protocol: the five transactions, what a terminal
//! enters for each, and the tables, rows and procedures in the SQL of three servers.
//!
//! ```text
//!   Terminal ─► Call (a procedure and its arguments) ─► stress or race encode it
//!   Dialect::setup ─► the statements that create tables, rows and procedures
//! ```
//!
//! Keying times, think times and the screens are left out, so that a few connections are a full
//! load: a rate measured with it is no TPC-C result, and none is audited.
#![forbid(unsafe_code)]

mod input;
mod setup;

pub use input::{Argument, Call, Draw, Lines, Terminal, Value};
pub use setup::{Dialect, Scale};

/// One of the five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Enters an order of 5 to 15 lines: clause 2.4.
    NewOrder,
    /// Takes a customer's payment: clause 2.5.
    Payment,
    /// Reads a customer's last order: clause 2.6.
    OrderStatus,
    /// Delivers the oldest order of each district: clause 2.7.
    Delivery,
    /// Counts the items of recent orders that are low in stock: clause 2.8.
    StockLevel,
}

impl Transaction {
    /// Every transaction, in the order of the specification.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Returns its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Returns its percentage of the mix: clause 5.2.3.
    pub const fn weight(self) -> u32 {
        match self {
            Self::NewOrder => 45,
            Self::Payment => 43,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 4,
        }
    }

    /// Returns the name of its procedure.
    pub const fn procedure(self) -> &'static str {
        match self {
            Self::NewOrder => "tpcc_new_order",
            Self::Payment => "tpcc_payment",
            Self::OrderStatus => "tpcc_order_status",
            Self::Delivery => "tpcc_delivery",
            Self::StockLevel => "tpcc_stock_level",
        }
    }
}

#[cfg(test)]
mod tests;
