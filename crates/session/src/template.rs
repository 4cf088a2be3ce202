//! What one session ran lately by templates: texts that differ in constants only run one program. How they are found
//! and made is `compile/template.rs`.

use std::sync::Arc;

use tsql::Template;
use types::Value;

use crate::ProgramKey;
use plan::program::Program;

/// Places in a session's caches; a power of two.
const PLACES: usize = 16;

/// A template with its program.
#[derive(Clone, Debug)]
pub struct Kind {
    /// What texts have in common.
    pub template: Arc<Template>,
    /// What they run.
    pub program: Arc<Program>,
}

/// A template as one session has it.
pub struct Kept {
    /// The template and its program.
    pub kind: Kind,
    /// The key of the text that ran last.
    pub last: ProgramKey,
}

/// A text that was sent twice running, with the values that it has.
pub struct Known {
    /// The text.
    pub text: Box<str>,
    /// The program of its kind.
    pub program: Arc<Program>,
    /// Its constants.
    pub values: Box<[Value]>,
}

/// What one session ran lately by templates. Places are allocated with the first.
#[derive(Default)]
pub struct TemplateCache {
    /// Templates, by the hash of what texts have in common.
    pub kinds: Vec<Option<(ProgramKey, Kept)>>,
    /// Texts, by their hash.
    pub texts: Vec<Option<(ProgramKey, Known)>>,
}

impl TemplateCache {
    /// Forgets programs that were made against another catalog.
    pub fn let_go(&mut self, catalog_version: u64) {
        for kind in &mut self.kinds {
            kind.take_if(|(_, kept)| kept.kind.program.catalog_version != catalog_version);
        }
        for text in &mut self.texts {
            text.take_if(|(_, known)| known.program.catalog_version != catalog_version);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A program that is to run with values for its parameters, and where it goes back to.
pub struct Call {
    /// The program.
    pub program: Arc<Program>,
    /// Values of its parameters.
    pub values: Vec<Value>,
    /// Where it goes back to.
    pub back: Back,
}

/// Where a program goes that has run.
pub enum Back {
    /// To the text that it is known by.
    Text(ProgramKey, Box<str>, Box<[Value]>),
    /// To its kind, with the key of the text that ran.
    Kind(ProgramKey, Arc<Template>, ProgramKey),
}

/// What a text runs.
pub enum Chosen {
    /// A program of its own.
    Own(Arc<Program>),
    /// The one of its kind.
    Kind(Call),
}

fn place(key: ProgramKey) -> usize {
    let ProgramKey::Text(hash) = key else { return 0 };
    // The mask keeps it below PLACES.
    usize::try_from(hash & (PLACES as u64 - 1)).unwrap_or(0)
}

/// Moves out what is in the place of a key, if it is of that key.
pub fn take<T>(places: &mut [Option<(ProgramKey, T)>], key: ProgramKey) -> Option<T> {
    let slot = places.get_mut(place(key))?;
    if !slot.as_ref().is_some_and(|(found, _)| *found == key) {
        return None;
    }
    slot.take().map(|(_, value)| value)
}

/// Puts something into the place of a key.
pub fn put<T>(places: &mut Vec<Option<(ProgramKey, T)>>, key: ProgramKey, value: T) {
    if places.is_empty() {
        places.resize_with(PLACES, || None);
    }
    places[place(key)] = Some((key, value));
}
