//! The statements of cached programs with their place in the text and their counts, for the views.

use std::sync::Arc;

use tsql::Utf16Offsets;
use tsql::ast::Span;

use super::books::{ENCRYPTED_TEXT, ProgramBooks};
use super::cell::Totals;
use super::handle::Fingerprint;
use super::shape;
use super::{StatementPlace, Statistics};
use crate::program::{CursorStep, Leaf, LeafAst, Program, Step, StepKind};
use crate::statement::Bound;

/// A statement of a cached program.
#[derive(Clone)]
pub struct StatementRow {
    /// Books of its program.
    pub books: Arc<ProgramBooks>,
    /// Offset of its first byte in the UTF-16 text: `statement_start_offset`.
    pub start: i32,
    /// Offset of its last character there, or -1 for the text's end: `statement_end_offset`.
    pub end: i32,
    /// Byte range in the text that was compiled.
    span: Span,
    /// Hash of its text without constants and blanks.
    pub query_hash: [u8; 8],
    /// Hash of its plan, once it has a shared one.
    pub plan_hash: Option<[u8; 8]>,
    /// Whether it reads or changes rows, and so counts as a query.
    pub is_query: bool,
    /// Counts of all workers.
    pub totals: Totals,
}

impl StatementRow {
    /// Returns the place of the statement's text in the text that was compiled, in bytes.
    pub fn span(&self) -> (u32, u32) {
        (self.span.start, self.span.end)
    }

    /// Returns the line on which it begins, in the text that was compiled; the first is 1.
    pub fn line(&self) -> usize {
        let before = self.books.source.get(..self.span.start as usize).unwrap_or_default();
        before.bytes().filter(|byte| *byte == b'\n').count() + 1
    }

    /// Returns the statement's text, or that of encrypted modules.
    pub fn text(&self) -> &str {
        if self.books.is_encrypted() {
            return ENCRYPTED_TEXT;
        }
        let place = self.span.start as usize..self.span.end as usize;
        self.books.source.get(place).unwrap_or_default()
    }
}

/// Returns the statements of all cached programs.
pub fn statements(statistics: &Statistics) -> Vec<StatementRow> {
    let mut rows = Vec::new();
    for books in statistics.programs() {
        let Some(program) = books.program() else { continue };
        let mut offsets = Offsets::new(&books);
        for found in places(&program) {
            sos::sched::yield_if_quantum_due();
            let id = books.ids.id(found.place.0);
            rows.push(found.row(&mut offsets, statistics.fold(id)));
        }
    }
    rows
}

/// Returns a program's statements with their ids, while it is cached.
pub fn statements_of(
    statistics: &Statistics,
    books: &Arc<ProgramBooks>,
) -> Vec<(u32, StatementRow)> {
    let Some(program) = books.program() else { return Vec::new() };
    let mut offsets = Offsets::new(books);
    let row = |found: Found<'_>| {
        let id = books.ids.id(found.place.0);
        (id, found.row(&mut offsets, statistics.fold(id)))
    };
    places(&program).into_iter().map(row).collect()
}

/// Returns the cached statement that counts under an id.
pub fn statement_of(statistics: &Statistics, id: u32) -> Option<StatementRow> {
    let books = statistics.programs().into_iter().find(|books| books.ids.place(id).is_some())?;
    let place = books.ids.place(id)?;
    let program = books.program()?;
    let found = places(&program).into_iter().find(|found| found.place.0 == place)?;
    Some(found.row(&mut Offsets::new(&books), statistics.fold(id)))
}

/// The offsets of a program's statements in the whole text in UTF-16, in bytes.
pub(super) struct Offsets<'b> {
    books: &'b Arc<ProgramBooks>,
    /// Bytes of what is in front of the text that was compiled.
    prefix: usize,
    of_text: Utf16Offsets<'b>,
}

impl<'b> Offsets<'b> {
    pub(super) fn new(books: &'b Arc<ProgramBooks>) -> Self {
        let units: usize = books.prefix().chars().map(char::len_utf16).sum();
        Self { books, prefix: 2 * units, of_text: Utf16Offsets::new(&books.source) }
    }

    fn at(&mut self, offset: u32) -> usize {
        self.prefix + self.of_text.at(offset) as usize
    }
}

/// A statement's place in the statistics and in the text.
pub(super) struct Found<'p> {
    pub(super) place: StatementPlace,
    span: Span,
    pub(super) leaf: Option<&'p Leaf>,
    /// Whether its syntax makes it a query; a plan, once there is one, decides.
    is_data: bool,
}

impl Found<'_> {
    pub(super) fn row(&self, offsets: &mut Offsets<'_>, totals: Totals) -> StatementRow {
        let bound = self.leaf.and_then(|leaf| leaf.plan.get());
        let books = offsets.books;
        let source = &books.source;
        let text = source.get(self.span.start as usize..self.span.end as usize).unwrap_or_default();
        let rest = source.get(self.span.end as usize..).unwrap_or_default();
        // From the start alone: of what follows, mostly the next statement, one character is looked at.
        let is_last = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';').is_empty();
        let (start, end) = (offsets.at(self.span.start), offsets.at(self.span.end));
        let mut query_hash = Fingerprint::default();
        query_hash.bytes(&tsql::normalized(text));
        StatementRow {
            books: Arc::clone(books),
            start: i32::try_from(start).unwrap_or(i32::MAX),
            end: if is_last {
                -1
            } else {
                i32::try_from(end.saturating_sub(2)).unwrap_or(i32::MAX)
            },
            span: self.span,
            query_hash: query_hash.finish(),
            plan_hash: bound.map(|bound| shape::plan_hash(bound)),
            is_query: bound.map_or(self.is_data, |bound| shape::is_query(bound)),
            totals,
        }
    }
}

/// Returns `query_hash` and `query_plan_hash` of a statement.
pub fn hashes(text: &str, bound: &Bound) -> ([u8; 8], [u8; 8]) {
    let mut query_hash = Fingerprint::default();
    query_hash.bytes(&tsql::normalized(text));
    (query_hash.finish(), shape::plan_hash(bound))
}

/// Returns the leaves of a program's statements, with their places in the text.
pub fn planned(program: &Program) -> Vec<(Span, &Leaf)> {
    places(program).into_iter().filter_map(|found| Some((found.span, found.leaf?))).collect()
}

/// Finds the statements of a program.
pub(super) fn places(program: &Program) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    find(&program.body, &mut found);
    found
}

fn find<'p>(steps: &'p [Step], found: &mut Vec<Found<'p>>) {
    for step in steps {
        let mut add = |leaf: Option<&'p Leaf>, is_data: bool| {
            found.push(Found { place: step.place, span: step.span, leaf, is_data });
        };
        match &step.kind {
            StepKind::Block(body) | StepKind::Atomic { body, .. } => find(body, found),
            StepKind::TryCatch(body, catch) => {
                find(body, found);
                find(catch, found);
            }
            StepKind::If(branches, otherwise) => {
                let mut start = Some(step.span.start);
                for branch in branches {
                    // ELSE IF has no place for its IF, so it begins at its condition.
                    found.push(condition(branch.place, start.take(), &branch.condition));
                    find(&branch.then, found);
                }
                find(otherwise, found);
            }
            StepKind::While(leaf, body) => {
                found.push(condition(step.place, Some(step.span.start), leaf));
                find(body, found);
            }
            StepKind::Data(leaf) => add(Some(leaf), true),
            StepKind::Assign(_, leaf)
            | StepKind::Return(Some(leaf))
            | StepKind::ReturnValue(leaf)
            | StepKind::Print(leaf)
            | StepKind::WaitFor(_, leaf)
            | StepKind::SetValue(_, leaf) => add(Some(leaf), false),
            StepKind::Cursor(CursorStep::Declare(_, _, leaf)) => add(Some(leaf), true),
            StepKind::Cursor(CursorStep::Fetch(..)) | StepKind::InsertExecute(_) => {
                add(None, true);
            }
            StepKind::Cursor(
                CursorStep::Open(_)
                | CursorStep::Close(_)
                | CursorStep::Deallocate(_)
                | CursorStep::Refer(..),
            )
            | StepKind::RaisError(_)
            | StepKind::Throw(_)
            | StepKind::Execute(_)
            | StepKind::ExecuteString(_)
            | StepKind::Other(_) => add(None, false),
            StepKind::Break
            | StepKind::Continue
            | StepKind::Goto(_)
            | StepKind::Label(_)
            | StepKind::Return(None)
            | StepKind::Declare => {}
        }
    }
}

/// Returns the condition of IF or WHILE, from the keyword on if its place is known.
fn condition<'p>(place: StatementPlace, start: Option<u32>, leaf: &'p Leaf) -> Found<'p> {
    let span = match &leaf.ast {
        LeafAst::Condition(condition) => condition.span,
        LeafAst::Value(value)
        | LeafAst::Typed(value, _)
        | LeafAst::Returned(value, _)
        | LeafAst::Assignment(_, _, value) => value.span,
        LeafAst::Statement(statement) => statement.span,
    };
    let span = Span { start: start.unwrap_or(span.start), ..span };
    Found { place, span, leaf: Some(leaf), is_data: false }
}
