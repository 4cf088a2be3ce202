//! The frame of a running batch or module: its variables, table variables and LOCAL cursors. Table variables go with
//! it, however it ends.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use storage::Store;
use types::Value;

use crate::cursor::{Cursor, Cursors};
use crate::state::SessionState;
use crate::stop::Stop;
use catalog::security::Owner;
use catalog::{DBO, TableRows};
use plan::program::Program;

/// A batch's or procedure's variables.
#[derive(Default)]
pub struct Frame {
    /// Values of the scalar variables, by slot.
    pub variables: Vec<Value>,
    /// Table variables by slot; their definitions are in the program.
    pub tables: FrameTables,
    /// Object id of the procedure that runs; 0 in a batch.
    pub procedure_id: i32,
    /// Last identity value inserted in this scope: SCOPE_IDENTITY().
    pub scope_identity: Option<Value>,
    /// The value of COLUMNS_UPDATED(), in a trigger.
    pub updated: Option<Vec<u8>>,
    /// The value of RETURN, in a function.
    pub result: Value,
    /// Cursors declared LOCAL, dropped with the frame.
    pub cursors: Vec<Cursor>,
    /// Cursor variables that refer to a cursor with another name: the variable, and the cursor's
    /// number.
    pub cursor_references: Vec<(String, i32)>,
    /// Number of WHILE loops around the running statement.
    pub loops: u32,
}

impl Frame {
    /// Makes the frame of a program: variables NULL, table variables empty.
    ///
    /// # Errors
    /// 701 if there is no memory for a table variable.
    pub fn for_program(session: &SessionState, program: &Program) -> Result<Self, Stop> {
        Self::with_buffer(session, program, Vec::new())
    }

    /// As [`Frame::for_program`], with memory for the variables, in which all values are NULL.
    ///
    /// # Errors
    /// 701 if there is no memory for a table variable.
    pub fn with_buffer(
        session: &SessionState,
        program: &Program,
        mut variables: Vec<Value>,
    ) -> Result<Self, Stop> {
        debug_assert!(variables.iter().all(Value::is_null), "cleared when they were given back");
        variables.resize_with(program.variables.len(), || Value::Null);
        let mut tables = FrameTables::default();
        if !program.table_variables.is_empty() {
            let instance = &session.instance;
            check_types(session, program)?;
            tables = FrameTables::new(&instance.store);
            for table in &program.table_variables {
                tables.push(table.definition.instantiate(&instance.store, &instance.catalog)?);
            }
        }
        Ok(Self { variables, tables, ..Self::default() })
    }

    /// Returns the cursor that a cursor variable refers to by a name other than the cursor's.
    pub fn referred<'c>(&'c self, variable: &str, held: &'c Cursors) -> Option<&'c Cursor> {
        let mut references = self.cursor_references.iter();
        let id = references.find(|(known, _)| known.eq_ignore_ascii_case(variable))?.1;
        self.cursors.iter().chain(&held.global).chain(&held.api).find(|cursor| cursor.id == id)
    }

    /// Makes the table variables empty again, parameters aside.
    ///
    /// # Errors
    /// 701 if there is no memory for them.
    pub fn renew_tables(&mut self, session: &SessionState, program: &Program) -> types::Result<()> {
        let instance = &session.instance;
        let declared = self.tables.iter_mut().zip(&program.table_variables);
        for (table, definition) in declared.skip(program.table_parameters) {
            let empty = definition.definition.instantiate(&instance.store, &instance.catalog)?;
            instance.store.drop_table(table.data.id());
            *table = empty;
        }
        Ok(())
    }
}

/// Checks EXECUTE on the table types of which a program declares variables. A module needs none on a type of the same
/// owner, and a parameter has the table of its caller.
///
/// # Errors
/// 229 if it is missing.
fn check_types(session: &SessionState, program: &Program) -> types::Result<()> {
    let rights = &session.identity.rights;
    if rights.is_all() {
        return Ok(());
    }
    let Some(database) = session.catalog.database(&program.database) else { return Ok(()) };
    let declared = program.table_variables.iter().skip(program.table_parameters);
    for of in declared.filter_map(|table| table.user_type.as_ref()) {
        let schema = database.schema(&of.schema).map_or(DBO, |schema| schema.id);
        let owner = Owner::of(&session.catalog, database.id, (0, schema));
        let is_chained =
            program.owner.is_some_and(|module| module.reaches(&session.catalog, owner));
        // A type with its own owner is outside of each chain.
        if !is_chained || of.owner.is_some() {
            rights.check_type(database, of, "EXECUTE")?;
        }
    }
    Ok(())
}

/// Table variables by slot. Those that no other frame has are dropped from the store with the frame, in a panic as
/// well.
#[derive(Default)]
pub struct FrameTables {
    tables: Vec<Arc<TableRows>>,
    /// Where they are; none where they are a leader's, which its helpers do no more than read.
    store: Option<Arc<Store>>,
}

impl FrameTables {
    /// Makes the tables of a frame that are in a store.
    pub fn new(store: &Arc<Store>) -> Self {
        Self { tables: Vec::new(), store: Some(Arc::clone(store)) }
    }

    /// Makes the tables of a helper's frame: the leader's.
    pub fn lent(tables: Vec<Arc<TableRows>>) -> Self {
        Self { tables, store: None }
    }

    /// Puts another table into a slot; the one before is dropped.
    pub fn replace(&mut self, slot: usize, table: Arc<TableRows>) {
        let before = std::mem::replace(&mut self.tables[slot], table);
        self.drop_table(before);
    }

    /// Drops the tables, except those that a caller's frame holds too.
    pub fn release(&mut self) {
        for table in std::mem::take(&mut self.tables) {
            self.drop_table(table);
        }
    }

    fn drop_table(&self, table: Arc<TableRows>) {
        if let (Some(store), Some(rows)) = (&self.store, Arc::into_inner(table)) {
            store.drop_table(rows.data.id());
        }
    }
}

impl Drop for FrameTables {
    fn drop(&mut self) {
        self.release();
    }
}

impl Deref for FrameTables {
    type Target = Vec<Arc<TableRows>>;
    fn deref(&self) -> &Self::Target {
        &self.tables
    }
}

impl DerefMut for FrameTables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.tables
    }
}
