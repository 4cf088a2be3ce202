//! Arithmetic, parsing and printing of `decimal` and `money`.
