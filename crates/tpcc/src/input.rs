//! `Terminal`: draws what its user enters for a transaction, as the arguments of a procedure call.

use crate::{Scale, Transaction};

/// Districts of a warehouse.
const DISTRICTS: i64 = 10;
/// The number of an item that does not exist.
const NO_ITEM: i64 = 999_999;
/// The constants of NURand (clause 2.1.6). Names were loaded with 100; the difference between the
/// two is one that the clause allows.
const C_LAST: i64 = 181;
const C_ID: i64 = 521;
const C_ITEM: i64 = 4_093;
/// Last names that customers have: clause 4.3.2.3.
const NAMES_MAX: i64 = 1_000;
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// Most characters of a parameter for the lines of an order, and for a last name.
const LINES_CHARACTERS: u16 = 200;
const NAME_CHARACTERS: u16 = 16;

/// The order in which the lines of an order are entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// As they are drawn.
    Drawn,
    /// By supplying warehouse and item, so that two orders never wait for each other's rows.
    Sorted,
}

/// A call of a transaction's procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The transaction that is called.
    pub transaction: Transaction,
    /// The arguments, in the order of the procedure's parameters.
    pub arguments: Vec<Argument>,
    /// Whether it is an order of an item that does not exist, which is rolled back: clause 2.4.1.4.
    pub rolls_back: bool,
    /// The amount of a payment in cents, 0 for the other transactions.
    pub cents: i64,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The parameter's name in T-SQL, without `@`.
    pub name: &'static str,
    /// The value, or NULL.
    pub value: Value,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer of 4 bytes, or NULL.
    Number(Option<i32>),
    /// A text, or NULL, and the most characters that the parameter takes.
    Text(Option<String>, u16),
}

/// A terminal, which keeps its warehouse and its district.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// How much data there is.
    pub scale: Scale,
    /// Its number, from 0.
    pub number: usize,
    /// The order of an order's lines.
    pub lines: Lines,
}

/// Draws a number between two, both included.
pub type Draw<'a> = &'a mut dyn FnMut(i64, i64) -> i64;

impl Terminal {
    /// Returns the next input for a transaction.
    pub fn input(&self, transaction: Transaction, draw: Draw<'_>) -> Call {
        let number = i64::try_from(self.number).unwrap_or(0);
        let warehouses = i64::from(self.scale.warehouses);
        let home = 1 + number % warehouses;
        let call = Call { transaction, arguments: Vec::new(), rolls_back: false, cents: 0 };
        let call = call.number("w_id", home);
        match transaction {
            Transaction::NewOrder => self.new_order(call, home, draw),
            Transaction::Payment => self.payment(call, home, draw),
            Transaction::OrderStatus => {
                let district = draw(1, DISTRICTS);
                self.customer(call.number("d_id", district), draw)
            }
            Transaction::Delivery => call.number("carrier", draw(1, 10)),
            Transaction::StockLevel => call
                .number("d_id", 1 + number / warehouses % DISTRICTS)
                .number("threshold", draw(10, 20)),
        }
    }

    fn new_order(&self, call: Call, home: i64, draw: Draw<'_>) -> Call {
        let call = call.number("d_id", draw(1, DISTRICTS));
        let call = call.number("c_id", self.customer_number(draw));
        let count = draw(5, 15);
        // Clause 2.4.1.4: the last item of one in a hundred does not exist.
        let rolls_back = draw(1, 100) == 1;
        let mut lines: Vec<(i64, i64, i64)> = (0..count)
            .map(|_| {
                let item = nurand(draw, 8_191, C_ITEM, (1, i64::from(self.scale.items)));
                let supply = if draw(1, 100) == 1 { self.other(home, draw) } else { home };
                (supply, item, draw(1, 10))
            })
            .collect();
        if self.lines == Lines::Sorted {
            lines.sort_unstable();
        }
        if let Some(last) = lines.last_mut().filter(|_| rolls_back) {
            last.1 = NO_ITEM;
        }
        let digits =
            |(supply, item, quantity): &(_, _, _)| format!("{item:06}{supply:05}{quantity:02}");
        let text = lines.iter().map(digits).collect::<String>();
        Call { rolls_back, ..call.text("lines", Some(text), LINES_CHARACTERS) }
    }

    fn payment(&self, call: Call, home: i64, draw: Draw<'_>) -> Call {
        let district = draw(1, DISTRICTS);
        // Clause 2.5.1.2: 15 per cent of the customers are of another warehouse.
        let (of_warehouse, of_district) = match draw(1, 100) <= 85 {
            true => (home, district),
            false => (self.other(home, draw), draw(1, DISTRICTS)),
        };
        let call = call.number("d_id", district);
        let call = call.number("c_w_id", of_warehouse).number("c_d_id", of_district);
        let cents = draw(100, 500_000);
        Call { cents, ..self.customer(call, draw).number("cents", cents) }
    }

    /// Adds a customer: 60 per cent by last name, the others by number.
    fn customer(&self, call: Call, draw: Draw<'_>) -> Call {
        if draw(1, 100) <= 60 {
            let names = i64::from(self.scale.customers).min(NAMES_MAX);
            let name = last_name(nurand(draw, 255, C_LAST, (0, names - 1)));
            return call.absent("c_id").text("last", Some(name), NAME_CHARACTERS);
        }
        let number = self.customer_number(draw);
        call.number("c_id", number).text("last", None, NAME_CHARACTERS)
    }

    fn customer_number(&self, draw: Draw<'_>) -> i64 {
        nurand(draw, 1_023, C_ID, (1, i64::from(self.scale.customers)))
    }

    /// Returns another warehouse than this, if there is one.
    pub(crate) fn other(&self, home: i64, draw: Draw<'_>) -> i64 {
        let warehouses = i64::from(self.scale.warehouses);
        if warehouses == 1 {
            return home;
        }
        let drawn = draw(1, warehouses - 1);
        if drawn < home { drawn } else { drawn + 1 }
    }
}

impl Call {
    fn number(self, name: &'static str, number: i64) -> Self {
        self.with(name, Value::Number(i32::try_from(number).ok()))
    }

    fn absent(self, name: &'static str) -> Self {
        self.with(name, Value::Number(None))
    }

    fn text(self, name: &'static str, text: Option<String>, characters: u16) -> Self {
        self.with(name, Value::Text(text, characters))
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        self.arguments.push(Argument { name, value });
        self
    }
}

/// Clause 4.3.2.3: a syllable for each of three digits.
pub(crate) fn last_name(number: i64) -> String {
    let syllable = |digit: i64| SYLLABLES[usize::try_from(digit % 10).unwrap_or(0)];
    [number / 100, number / 10, number].map(syllable).concat()
}

/// Clause 2.1.6: NURand, a skewed distribution of numbers.
pub(crate) fn nurand(draw: Draw<'_>, a: i64, c: i64, (from, to): (i64, i64)) -> i64 {
    let mixed = draw(0, a) | draw(from, to);
    (mixed + c) % (to - from + 1) + from
}
