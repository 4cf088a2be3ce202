//! `Dialect`: the statements that create TPC-C's tables, rows and procedures on a kind of server.
//!
//! The rows are made by arithmetic on numbers, the same in each dialect, so that all servers have
//! the same rows: `race` compares them.

/// How much data there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses, each of 10 districts.
    pub warehouses: u32,
    /// Items, and rows of stock of each warehouse.
    pub items: u32,
    /// Customers of each district, each of whom begins with one order.
    pub customers: u32,
}

impl Scale {
    /// Returns the specification's numbers of rows (clause 4.3.3) for this number of warehouses.
    pub const fn full(warehouses: u32) -> Self {
        Self { warehouses, items: 100_000, customers: 3_000 }
    }

    /// Returns the last order of a district that was delivered before the load: seven tenths are.
    pub const fn delivered(self) -> u32 {
        self.customers / 10 * 7
    }

    /// Returns how many rows the table of numbers needs: as many as items, or as customers of a
    /// warehouse, or as lines of an order.
    fn numbers(self) -> u32 {
        self.items.max(self.customers * 10).max(15)
    }
}

/// The SQL of a kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// T-SQL that any server understands, without Clearway's extensions.
    Transact,
    /// PostgreSQL's SQL, with functions in PL/pgSQL.
    Postgres {
        /// Whether changes of the tables are written to the log.
        is_logged: bool,
    },
    /// MariaDB's SQL, with tables of InnoDB and stored procedures.
    MariaDb,
}

impl Dialect {
    /// Returns the statements, or batches of them, that create everything.
    pub fn setup(self, scale: Scale) -> Vec<String> {
        let (tables, warehouse, procedures) = self.scripts();
        let mut script = batches(&filled(self, tables, scale));
        for number in 1..=scale.warehouses {
            let rows = filled(self, warehouse, scale);
            script.extend(batches(&rows.replace("{w}", &number.to_string())));
        }
        script.extend(batches(&filled(self, procedures, scale)));
        script
    }

    const fn scripts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Transact => (
                include_str!("transact/tables.sql"),
                include_str!("transact/warehouse.sql"),
                include_str!("transact/procedures.sql"),
            ),
            Self::Postgres { .. } => (
                include_str!("postgres/tables.sql"),
                include_str!("postgres/warehouse.sql"),
                include_str!("postgres/procedures.sql"),
            ),
            Self::MariaDb => (
                include_str!("mariadb/tables.sql"),
                include_str!("mariadb/warehouse.sql"),
                include_str!("mariadb/procedures.sql"),
            ),
        }
    }
}

/// Puts the numbers of rows into a script.
fn filled(dialect: Dialect, script: &str, scale: Scale) -> String {
    let table = match dialect {
        Dialect::Postgres { is_logged: false } => "unlogged table",
        Dialect::Postgres { is_logged: true } | Dialect::Transact | Dialect::MariaDb => "table",
    };
    let values = [
        ("{items}", scale.items),
        ("{customers}", scale.customers),
        ("{all_customers}", scale.customers * 10),
        ("{delivered}", scale.delivered()),
        ("{next_order}", scale.customers + 1),
        ("{numbers}", scale.numbers()),
    ];
    let script = script.replace("{table}", table);
    values.iter().fold(script, |text, (name, value)| text.replace(name, &value.to_string()))
}

/// Splits a script of this crate at its lines `go`.
fn batches(script: &str) -> Vec<String> {
    let mut batches = vec![String::new()];
    for line in script.lines() {
        match (line == "go", batches.last_mut()) {
            (false, Some(batch)) => {
                batch.push_str(line);
                batch.push('\n');
            }
            _ => batches.push(String::new()),
        }
    }
    batches.retain(|batch| !batch.trim().is_empty());
    batches
}
