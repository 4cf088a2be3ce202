//! The encoding of objects: tables, and modules, whose trees are parsed from their texts.

use std::sync::Arc;

use catalog::{
    Counter, ExecuteAs, ModuleDef, ModuleOptions, Object, ParameterDef, ProcedureDef, Routine,
    SequenceCache, SequenceDef, SynonymDef, TableDef, TriggerOrder, TriggerPlace,
};
use tsql::ast::{CreateProcedure, Ident, ObjectName, Quoting, Span, Statement, StatementKind};

use crate::code::{Code, Cx, Fields, Result, choice, fault, known, put_field, record};
use crate::table::{Role, Use, get_table, put_table};
use crate::text::parse_batch;

record! { TriggerOrder { 1 event, 2 place } }
choice! { TriggerPlace { First = 0, None = 1, Last = 2 } }
record! { ExecuteAs { 1 principal, 2 user } }
record! { ModuleOptions { 1 quoted_identifier, 2 ansi_nulls } }
record! { ParameterDef {
    1 name, 2 ty, 3 table_type, 4 default, 5 output, 6 default_function, 7 cursor
} }
record! { Routine { 1 parameters, 2 returns, 3 table, 4 null_on_null } }
record! { SynonymDef { 1 id, 2 schema, 3 name, 4 target } }
record! { ObjectName { 1 object, 2 schema, 3 database, 4 server, 5 span } }
choice! { Quoting { None = 0, Brackets = 1, Quotes = 2 } }

/// The values of `ModuleDef::type_code`.
const TYPE_CODES: [&str; 5] = ["V", "FN", "IF", "TF", "TR"];

/// A place in a text that is not kept: it is the same for all.
impl Code for Span {
    fn put(&self, _: &mut Vec<u8>) {}

    fn get(_: &[u8], _: &mut Cx<'_>) -> Result<Self> {
        fault("a place without a text")
    }

    fn is_usual(&self) -> bool {
        true
    }

    fn usual() -> Option<Self> {
        Some(Self::default())
    }
}

impl Code for Ident {
    fn put(&self, out: &mut Vec<u8>) {
        self.quoting.put(out);
        out.extend_from_slice(self.as_str().as_bytes());
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let Some((quoting, text)) = bytes.split_at_checked(1) else { return fault("no name") };
        let (quoting, text) = (Quoting::get(quoting, cx)?, String::get(text, cx)?);
        Ok(Self::new(text, quoting, Span::default()))
    }
}

/// The only tables without an entry are shapes: of a function's result, of the view that a trigger is
/// on, and of a table type.
impl Code for TableDef {
    fn put(&self, out: &mut Vec<u8>) {
        put_table(self, Use::Shape, out);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        get_table(bytes, Use::Shape, cx).map(|(table, _)| table)
    }
}

/// Finds the statement that defines a module in the text of its batch.
fn defining<T>(
    text: &str,
    options: ModuleOptions,
    take: impl Fn(Statement) -> Option<T>,
) -> Result<T> {
    let statements = parse_batch(text, options.quoted_identifier)?;
    match statements.into_iter().find_map(take) {
        Some(found) => Ok(found),
        None => fault("the text does not define such a module"),
    }
}

impl Code for ProcedureDef {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            id,
            database_id,
            // Only temporary procedures have another one, and nothing keeps those.
            names_in: _,
            schema,
            schema_id,
            name,
            text,
            ast: _,
            parameters,
            native,
            created,
            modified,
            options,
            execute_as,
        } = self;
        put_field(out, 1, id);
        put_field(out, 2, database_id);
        put_field(out, 3, schema);
        put_field(out, 4, schema_id);
        put_field(out, 5, name);
        put_field(out, 6, text);
        put_field(out, 7, parameters);
        put_field(out, 8, native);
        put_field(out, 9, created);
        put_field(out, 10, modified);
        put_field(out, 11, options);
        put_field(out, 12, execute_as);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let (id, database_id) = (fields.take(1, cx)?, fields.take(2, cx)?);
        let (schema, schema_id) = (fields.take(3, cx)?, fields.take(4, cx)?);
        let (name, text) = (fields.take(5, cx)?, fields.take::<String>(6, cx)?);
        let (parameters, native) = (fields.take(7, cx)?, fields.take(8, cx)?);
        let (created, modified) = (fields.take(9, cx)?, fields.take(10, cx)?);
        let (options, execute_as) = (fields.take(11, cx)?, fields.take(12, cx)?);
        fields.end()?;
        let ast: CreateProcedure = defining(&text, options, |statement| match statement.kind {
            StatementKind::CreateProcedure(create) => Some(*create),
            _ => None,
        })?;
        Ok(Self {
            id,
            database_id,
            names_in: database_id,
            schema,
            schema_id,
            name,
            text,
            ast,
            parameters,
            native,
            created,
            modified,
            options,
            execute_as,
        })
    }
}

impl Code for ModuleDef {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            id,
            database_id,
            schema,
            schema_id,
            name,
            text,
            ast,
            parent_id,
            type_code,
            created,
            routine,
            disabled,
            shape,
            execute_as,
            options,
            order,
        } = self;
        put_field(out, 1, id);
        put_field(out, 2, database_id);
        put_field(out, 3, schema);
        put_field(out, 4, schema_id);
        put_field(out, 5, name);
        put_field(out, 6, text);
        put_field(out, 7, parent_id);
        put_field(out, 8, &(*type_code).to_owned());
        put_field(out, 9, created);
        put_field(out, 10, routine);
        put_field(out, 11, disabled);
        put_field(out, 12, shape);
        put_field(out, 13, execute_as);
        put_field(out, 14, options);
        // sp_rename changes a view's columns and not its text.
        if let StatementKind::CreateView(view) = &ast.kind {
            put_field(out, 15, &view.columns);
        }
        put_field(out, 16, order);
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let (id, database_id) = (fields.take(1, cx)?, fields.take(2, cx)?);
        let (schema, schema_id) = (fields.take(3, cx)?, fields.take(4, cx)?);
        let (name, text) = (fields.take(5, cx)?, fields.take::<String>(6, cx)?);
        let (parent_id, type_code) = (fields.take(7, cx)?, fields.take::<String>(8, cx)?);
        let (created, routine) = (fields.take(9, cx)?, fields.take(10, cx)?);
        let (disabled, shape) = (fields.take(11, cx)?, fields.take(12, cx)?);
        let (execute_as, options) = (fields.take(13, cx)?, fields.take(14, cx)?);
        let columns: Vec<Ident> = fields.take(15, cx)?;
        let order = fields.take(16, cx)?;
        fields.end()?;
        let type_code = known(TYPE_CODES, &type_code)?;
        let mut ast = defining(&text, options, |statement| {
            let is_it = match statement.kind {
                StatementKind::CreateView(_) => type_code == "V",
                StatementKind::CreateTrigger(_) => type_code == "TR",
                StatementKind::CreateFunction(_) => matches!(type_code, "FN" | "IF" | "TF"),
                _ => false,
            };
            is_it.then_some(statement)
        })?;
        if let StatementKind::CreateView(view) = &mut ast.kind {
            view.columns = columns;
        }
        Ok(Self {
            id,
            database_id,
            schema,
            schema_id,
            name,
            text,
            ast,
            parent_id,
            type_code,
            created,
            routine,
            disabled,
            shape,
            execute_as,
            options,
            order,
        })
    }
}

impl Code for SequenceCache {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Default => {}
            Self::Numbers(count) => count.put(out),
            Self::Off => out.push(0),
        }
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        match bytes {
            [] => Ok(Self::Default),
            [0] => Ok(Self::Off),
            _ => i32::get(bytes, cx).map(Self::Numbers),
        }
    }
}

/// The position of the counter has another entry.
impl Code for SequenceDef {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            id,
            schema,
            name,
            data_type,
            start,
            increment,
            minimum,
            maximum,
            cycle,
            cache,
            counter,
        } = self;
        put_field(out, 1, id);
        put_field(out, 2, schema);
        put_field(out, 3, name);
        put_field(out, 4, data_type);
        put_field(out, 5, start);
        put_field(out, 6, increment);
        put_field(out, 7, minimum);
        put_field(out, 8, maximum);
        put_field(out, 9, cycle);
        put_field(out, 10, cache);
        put_field(out, 11, &counter.number());
    }

    fn get(bytes: &[u8], cx: &mut Cx<'_>) -> Result<Self> {
        let mut fields = Fields::of(bytes);
        let (id, schema, name) = (fields.take(1, cx)?, fields.take(2, cx)?, fields.take(3, cx)?);
        let (data_type, start) = (fields.take(4, cx)?, fields.take(5, cx)?);
        let (increment, minimum) = (fields.take::<i64>(6, cx)?, fields.take::<i64>(7, cx)?);
        let (maximum, cycle) = (fields.take::<i64>(8, cx)?, fields.take(9, cx)?);
        let (cache, number) = (fields.take(10, cx)?, fields.take(11, cx)?);
        fields.end()?;
        if increment == 0 || minimum >= maximum {
            return fault("a sequence without values");
        }
        let counter = Arc::new(Counter::new(number, start, cx.counter_log));
        Ok(Self {
            id,
            schema,
            name,
            data_type,
            start,
            increment,
            minimum,
            maximum,
            cycle,
            cache,
            counter,
        })
    }
}

/// The first byte of an object that is a table.
pub(crate) const TABLE: u8 = 1;

/// Appends an object: the number of its kind, and its record.
pub(crate) fn put_object(object: &Object, out: &mut Vec<u8>) {
    match object {
        Object::Table(table) => {
            out.push(TABLE);
            put_table(table, Use::Object, out);
        }
        Object::Procedure(procedure) => {
            out.push(2);
            procedure.put(out);
        }
        Object::View(module) => {
            out.push(3);
            module.put(out);
        }
        Object::Function(module) => {
            out.push(4);
            module.put(out);
        }
        Object::Trigger(module) => {
            out.push(5);
            module.put(out);
        }
        Object::Synonym(synonym) => {
            out.push(6);
            synonym.put(out);
        }
        Object::Sequence(sequence) => {
            out.push(7);
            sequence.put(out);
        }
    }
}

/// An object that was read. The history table of a table is not linked yet.
pub(crate) enum ReadObject {
    Table(Box<TableDef>, Role),
    Other(Object),
}

/// Reads an object and makes its storage.
pub(crate) fn get_object(bytes: &[u8], cx: &mut Cx<'_>) -> Result<ReadObject> {
    let Some((&kind, rest)) = bytes.split_first() else { return fault("no object") };
    let other = match kind {
        1 => {
            let (table, role) = get_table(rest, Use::Object, cx)?;
            return Ok(ReadObject::Table(Box::new(table), role));
        }
        2 => Object::Procedure(Code::get(rest, cx)?),
        3 => Object::View(Code::get(rest, cx)?),
        4 => Object::Function(Code::get(rest, cx)?),
        5 => Object::Trigger(Code::get(rest, cx)?),
        6 => Object::Synonym(Code::get(rest, cx)?),
        7 => Object::Sequence(Code::get(rest, cx)?),
        _ => return fault(format!("the kind of object {kind}")),
    };
    Ok(ReadObject::Other(other))
}
