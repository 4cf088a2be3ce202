//! The session's cache of templates: texts that differ only in constants run one program. The
//! crate `compile` finds and creates templates (`template.rs`).

use std::sync::Arc;

use tsql::Template;
use types::Value;

use super::ProgramKey;
use plan::program::Program;

/// Number of slots in each of a session's caches; a power of two.
const PLACES: usize = 16;

/// A template with its program.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The common part of the texts.
    pub template: Arc<Template>,
    /// Program that such texts run.
    pub program: Arc<Program>,
}

/// A template in the session's cache.
pub struct Kept {
    /// The template and its program.
    pub kind: Kind,
    /// Key of the text that ran last.
    pub last: ProgramKey,
}

/// A text that was sent twice in a row, with its constants.
pub struct Known {
    /// Text as it was sent.
    pub text: Box<str>,
    /// Program of its template.
    pub program: Arc<Program>,
    /// Values of its constants.
    pub values: Box<[Value]>,
}

/// The templates and texts that a session ran recently. Slots are allocated with the first one.
#[derive(Default)]
pub struct TemplateCache {
    /// Templates, by the hash of the common part.
    pub kinds: Vec<Option<(ProgramKey, Kept)>>,
    /// Known texts, by their hash.
    pub texts: Vec<Option<(ProgramKey, Known)>>,
}

impl TemplateCache {
    /// Drops programs that were compiled against another catalog version.
    pub fn let_go(&mut self, catalog_version: u64) {
        for kind in &mut self.kinds {
            kind.take_if(|(_, kept)| kept.kind.program.catalog_version != catalog_version);
        }
        for text in &mut self.texts {
            text.take_if(|(_, known)| known.program.catalog_version != catalog_version);
        }
    }

    /// Drops all templates and texts.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A program to run with these parameter values, and its cache slot.
pub struct Call {
    /// Program to be run.
    pub program: Arc<Program>,
    /// Values of the program's parameters.
    pub values: Vec<Value>,
    /// Slot that it is put back to.
    pub back: Back,
}

/// The slot of a program that has run.
pub enum Back {
    /// That of its text.
    Text(ProgramKey, Box<str>, Box<[Value]>),
    /// That of its template, with the key of the text that ran.
    Kind(ProgramKey, Arc<Template>, ProgramKey),
}

/// The program chosen for a text.
pub enum Chosen {
    /// One compiled for this text alone.
    Own(Arc<Program>),
    /// That of its template.
    Kind(Call),
}

fn place(key: ProgramKey) -> usize {
    let ProgramKey::Text(hash) = key else { return 0 };
    // The mask keeps it below `PLACES`.
    usize::try_from(hash & (PLACES as u64 - 1)).unwrap_or(0)
}

/// Removes and returns the entry of a key's slot, if it has that key.
pub fn take<T>(places: &mut [Option<(ProgramKey, T)>], key: ProgramKey) -> Option<T> {
    let slot = places.get_mut(place(key))?;
    if !slot.as_ref().is_some_and(|(found, _)| *found == key) {
        return None;
    }
    slot.take().map(|(_, value)| value)
}

/// Stores an entry in a key's slot.
pub fn put<T>(places: &mut Vec<Option<(ProgramKey, T)>>, key: ProgramKey, value: T) {
    if places.is_empty() {
        places.resize_with(PLACES, || None);
    }
    places[place(key)] = Some((key, value));
}
