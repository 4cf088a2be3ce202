//! `KnownCall`: a procedure call by its name whose parameters and conversions have been worked out, so
//! that the next call with the same name and types only moves values.
//!
//! It belongs to no session: all connections of a worker share it. A session may use it while what the
//! name means is the same for it: its own plan cache has the same procedure under the same key, and
//! the key's parts (database, rights, options) are those of the session now. An ALTER or DROP, a
//! permission that is taken away, a change of the database, of the principal or of SET options
//! therefore lead to the general path, as they do for the plan cache.

use std::sync::{Arc, Weak};

use types::{DataType, Length, Value};

use crate::plan_cache::{Entry, ProgramKey};
use crate::{RpcParameter, SessionState};
use catalog::{ParameterDef, ProcedureDef};
use plan::sink::{ColumnInfo, Traits};

/// A call that has been worked out.
pub struct KnownCall {
    key: ProgramKey,
    /// The name as sent.
    name: Arc<[u8]>,
    context: CallContext,
    /// Its parameters are those that this was made for. Weak: a dropped procedure is not kept.
    procedure: Weak<ProcedureDef>,
    /// The variable of each argument, and which values need no conversion.
    arguments: Vec<(usize, Fit)>,
    /// OUTPUT arguments, in order.
    outputs: Vec<KnownOutput>,
}

/// An OUTPUT argument of a known call.
pub struct KnownOutput {
    /// 0-based place among the arguments.
    pub ordinal: u16,
    /// Variable that has the value.
    pub variable: usize,
    /// Name and type, as they are returned.
    pub column: ColumnInfo,
}

/// What the meaning of a name depends on, apart from the catalog: the parts of
/// [`SessionState::text_key`].
#[derive(PartialEq, Eq)]
struct CallContext {
    mode: [u8; 2],
    rights: i32,
    database: Arc<str>,
}

/// Which values of an argument are passed as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// All: its type is that of the parameter.
    All,
    /// Those of at most this many bytes: another length of the same type.
    Bytes(usize),
}

impl CallContext {
    fn of(session: &SessionState) -> Self {
        let database = Arc::clone(&session.identity.database);
        Self { mode: mode(session), rights: session.identity.rights.key(), database }
    }

    fn is_of(&self, session: &SessionState) -> bool {
        self.mode == mode(session)
            && self.rights == session.identity.rights.key()
            && (Arc::ptr_eq(&self.database, &session.identity.database)
                || self.database == session.identity.database)
    }
}

fn mode(session: &SessionState) -> [u8; 2] {
    [u8::from(session.options.quoted_identifier), session.options.meaning().byte()]
}

impl KnownCall {
    /// Works out the call that the session has just made with these parameters. `place_of` returns
    /// the parameter of the procedure for an argument, given its position and name. `None` for a call
    /// that needs more than moving values: defaults, tables, cursors, conversions.
    pub fn learn(
        session: &SessionState,
        name: &str,
        parameters: &[RpcParameter],
        place_of: impl Fn(&ProcedureDef, usize, &str) -> Option<usize>,
    ) -> Option<Self> {
        let key = session.text_key(&[b"rpc", name.as_bytes()]);
        let entry = session.caches.programs.get(key)?;
        let procedure = entry.procedure.as_ref().filter(|_| &*entry.text == name.as_bytes())?;
        let program = &entry.program;
        // A temporary procedure is another one in each session.
        let is_plain = !procedure.name.starts_with('#')
            && program.table_parameters == 0
            && program.table_variables.is_empty()
            && procedure.parameters.len() == parameters.len();
        if !is_plain {
            return None;
        }
        let mut arguments: Vec<(usize, Fit)> = Vec::with_capacity(parameters.len());
        let mut outputs = Vec::new();
        for (position, sent) in parameters.iter().enumerate() {
            let place = place_of(procedure, position, &sent.name)?;
            let parameter = &procedure.parameters[place];
            if arguments.iter().any(|(known, _)| *known == place) {
                return None;
            }
            arguments.push((place, fit(sent, parameter)?));
            if sent.output {
                outputs.push(output(position, place, sent, parameter)?);
            }
        }
        Some(Self {
            key,
            name: Arc::clone(&entry.text),
            context: CallContext::of(session),
            procedure: Arc::downgrade(procedure),
            arguments,
            outputs,
        })
    }

    /// Moves the procedure and its program out of the session's cache, if the call means for this
    /// session what it was worked out for. [`KnownCall::leave`] puts them back.
    #[inline]
    pub fn enter(&self, session: &mut SessionState) -> Option<Entry> {
        session.refresh_catalog();
        if !self.context.is_of(session) {
            return None;
        }
        let entry = session.caches.programs.take(self.key, session.catalog.version)?;
        let is_same = entry.procedure.as_ref().is_some_and(|procedure| {
            std::ptr::eq(Arc::as_ptr(procedure), self.procedure.as_ptr()) && entry.text == self.name
        });
        if !is_same {
            self.leave(session, entry);
            return None;
        }
        Some(entry)
    }

    /// Puts the procedure and its program back.
    #[inline]
    pub fn leave(&self, session: &mut SessionState, entry: Entry) {
        session.caches.programs.put(self.key, entry);
    }

    /// Stores the value of an argument in its variable. Returns false if the value needs a
    /// conversion.
    #[inline]
    pub fn put(&self, argument: usize, value: Value, variables: &mut [Value]) -> bool {
        let (variable, fit) = self.arguments[argument];
        if let Fit::Bytes(most) = fit
            && value.string_bytes().is_some_and(|bytes| bytes.len() > most)
        {
            return false;
        }
        variables[variable] = value;
        true
    }

    /// Returns the OUTPUT arguments, in order.
    pub fn outputs(&self) -> &[KnownOutput] {
        &self.outputs
    }
}

/// Returns which values of an argument are passed as they are, as `convert_argument` of the
/// interpreter does; `None` if none are.
fn fit(sent: &RpcParameter, parameter: &ParameterDef) -> Option<Fit> {
    let is_value = !sent.default && sent.table.is_none();
    let is_variable = parameter.table_type.is_none() && !parameter.cursor && parameter.ty.nullable;
    if !is_value || !is_variable || (sent.output && !parameter.output) {
        return None;
    }
    let bytes = |length: Length, unit: usize| match length {
        Length::Limited(count) => Fit::Bytes(usize::from(count) * unit),
        Length::Max => Fit::All,
    };
    match (sent.ty.data_type, parameter.ty.data_type) {
        // A shorter value is padded, and the old types are converted.
        (
            DataType::Char(_)
            | DataType::NChar(_)
            | DataType::Binary(_)
            | DataType::Text
            | DataType::NText
            | DataType::Image,
            _,
        ) => None,
        (from, to) if from == to => {
            let is_same = !from.is_string() || sent.ty.collation == parameter.ty.collation;
            // Text in UTF-16 is the same in each collation.
            (is_same || matches!(from, DataType::NVarChar(_))).then_some(Fit::All)
        }
        (DataType::NVarChar(_), DataType::NVarChar(length)) => Some(bytes(length, 2)),
        (DataType::VarBinary(_), DataType::VarBinary(length)) => Some(bytes(length, 1)),
        _ => None,
    }
}

/// Works out how an OUTPUT argument is returned, as `as_declared` of the interpreter does; `None` if
/// its value needs a conversion.
fn output(
    position: usize,
    variable: usize,
    sent: &RpcParameter,
    parameter: &ParameterDef,
) -> Option<KnownOutput> {
    if sent.ty.data_type != parameter.ty.data_type {
        return None;
    }
    let collation = parameter.ty.collation;
    let column_type = types::ColumnType { collation, nullable: true, ..sent.ty };
    let name = parameter.name.as_str().into();
    let column = ColumnInfo { name, column_type, traits: Traits::default(), updatable: false };
    Some(KnownOutput { ordinal: u16::try_from(position).ok()?, variable, column })
}
