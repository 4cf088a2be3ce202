//! FOR JSON: writes rows as JSON.

use types::Result;

use super::{Row, Writer};
use plan::document::text::{push_string, push_value};
use plan::document::{JsonFormat, JsonMember};

/// The JSON text being written.
pub(super) struct JsonWriter<'f> {
    format: &'f JsonFormat,
    out: String,
    /// For each level, whether its open object has a property, and (`started`) whether its array has
    /// an object.
    filled: Vec<bool>,
    started: Vec<bool>,
}

impl<'f> JsonWriter<'f> {
    pub(super) fn new(format: &'f JsonFormat) -> Self {
        let levels = format.levels.len();
        // What surrounds the rows is written first: a text of megabytes is not copied again for it.
        let mut out = String::new();
        if let Some(root) = &format.root {
            out.push('{');
            push_string(root, &mut out);
            out.push(':');
        }
        if !format.without_wrapper {
            out.push('[');
        }
        Self { format, out, filled: vec![false; levels], started: vec![false; levels] }
    }
}

impl Writer for JsonWriter<'_> {
    fn columns(&self, level: usize) -> &[usize] {
        &self.format.levels[level].columns
    }

    fn levels(&self) -> usize {
        self.format.levels.len()
    }

    fn open(&mut self, level: usize, row: &Row<'_>) -> Result<()> {
        let own = &self.format.levels[level];
        if self.started[level] {
            self.out.push(',');
        } else if let Some(above) = level.checked_sub(1) {
            if self.filled[above] {
                self.out.push(',');
            }
            push_string(&own.name, &mut self.out);
            self.out.push_str(":[");
            self.filled[above] = true;
        }
        self.started[level] = true;
        self.out.push('{');
        let start = self.out.len();
        members(&own.members, row, self.format, &mut self.out)?;
        self.filled[level] = self.out.len() > start;
        Ok(())
    }

    fn close(&mut self, level: usize) {
        if let Some(started) = self.started.get_mut(level + 1)
            && std::mem::take(started)
        {
            self.out.push(']');
        }
        self.out.push('}');
    }

    fn written(&self) -> usize {
        self.out.len()
    }

    fn finish(mut self: Box<Self>) -> String {
        if !self.format.without_wrapper {
            self.out.push(']');
        }
        if self.format.root.is_some() {
            self.out.push('}');
        }
        self.out
    }
}

/// Writes properties. An object of NULLs only is omitted, as a NULL is.
fn members(
    members_of: &[JsonMember],
    row: &Row<'_>,
    format: &JsonFormat,
    out: &mut String,
) -> Result<()> {
    let mut any = false;
    for member in members_of {
        let start = out.len();
        if any {
            out.push(',');
        }
        match member {
            JsonMember::Value(name, column, form) => {
                let value = &row.values[*column];
                if value.is_null() && !format.include_nulls {
                    out.truncate(start);
                    continue;
                }
                push_string(name, out);
                out.push(':');
                push_value(value, &row.output[*column].expr.ty, *form, out)?;
            }
            JsonMember::Object(name, inner) => {
                push_string(name, out);
                out.push_str(":{");
                let before = out.len();
                members(inner, row, format, out)?;
                if out.len() == before {
                    out.truncate(start);
                    continue;
                }
                out.push('}');
            }
        }
        any = true;
    }
    Ok(())
}
