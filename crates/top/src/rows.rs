//! Rows of answers: `verdict` has the type, `load` takes them out of an answer's tokens.

pub use load::rows::results;
pub use verdict::row::Row;
