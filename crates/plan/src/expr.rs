//! Bound scalar expressions.
//!
//! All columns of all tables that a statement touches, subqueries included, have registers of their
//! own in one flat file ([`Register`]); a scan fills the registers of its columns, an expression
//! reads them. So a correlated subquery needs no special access to its outer row, and an expression
//! is evaluated without knowing which operator is below.

use std::sync::Arc;

pub use types::comparison::CompareOp;
use types::convert::Mode;
use types::type_rules::BinaryOp;
use types::value::ColumnType;
use types::{Collation, DataType, Value};

use crate::function::Function;
use crate::query::Query;
use catalog::{ModuleDef, SequenceDef};

/// Index into the register file of the running statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

/// Index into the variables of the running batch or procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

impl Slot {
    /// The first slot of parameters that nobody has declared.
    const UNDECLARED: u32 = 1 << 31;

    /// Makes the slot of an undeclared parameter: a NULL that takes the type of what it stands beside, as
    /// the literal does. It is in statements that are described, not run.
    pub const fn undeclared(place: u32) -> Self {
        Self(Self::UNDECLARED | place)
    }

    /// Tells whether it is an undeclared parameter's.
    pub const fn is_undeclared(self) -> bool {
        self.0 >= Self::UNDECLARED
    }

    /// Returns the place of an undeclared parameter among those.
    pub fn undeclared_place(self) -> Option<usize> {
        usize::try_from(self.0.checked_sub(Self::UNDECLARED)?).ok()
    }
}

/// A bound expression and the type of its result.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The type of the result, derived by the binder.
    pub ty: ColumnType,
}

/// What an expression computes. Operands already have the type that the operator wants: the binder
/// has put [`ExprKind::Convert`] where T-SQL converts implicitly.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A literal or a folded constant.
    Constant(Value),
    /// A local variable or parameter.
    Variable(Slot),
    /// A column of a table in FROM, a grouping key, an aggregate's or a window function's result.
    Column(Register),
    /// `-x`
    Negate(Box<Expr>),
    /// `~x`
    BitNot(Box<Expr>),
    /// `+ - * / % & | ^`; both operands converted as the operator wants.
    Arithmetic(BinaryOp, Box<(Expr, Expr)>),
    /// `= <> < <= > >=`; both operands of one type; strings compare under `collation`.
    Compare(CompareOp, Collation, Box<(Expr, Expr)>),
    /// All of them; three-valued.
    And(Box<[Expr]>),
    /// Any of them; three-valued.
    Or(Box<[Expr]>),
    /// `NOT x`
    Not(Box<Expr>),
    /// `x IS NULL`
    IsNull(Box<Expr>),
    /// `x IN (list)`; three-valued; operands of one type.
    InList(Collation, Box<Expr>, Box<[Expr]>),
    /// `x LIKE pattern [ESCAPE e]`
    Like(Collation, Box<LikeArguments>),
    /// Searched CASE: pairs of condition and result, then ELSE. The simple form is bound to the
    /// searched one over a [`ExprKind::Let`].
    Case(Box<[(Expr, Expr)]>, Option<Box<Expr>>),
    /// Evaluates the operand once in a statement and keeps the value, by this number: a subquery that
    /// reads nothing of the rows around it.
    Once(u32, Box<Expr>),
    /// Evaluates the first into the register, then the second: an operand evaluated once.
    Let(Register, Box<(Expr, Expr)>),
    /// `CAST`, `CONVERT`, `TRY_..` and implicit conversions to `Expr::ty`.
    Convert(Box<Conversion>),
    /// `x COLLATE name`: the value as it is; the collation of `Expr::ty` is explicit.
    Collate(Box<Expr>),
    /// A scalar function of the library.
    Call(&'static Function, Box<[Expr]>),
    /// A user-defined scalar function.
    CallUser(Box<UserCall>),
    /// NEXT VALUE FOR: another one at each evaluation.
    NextValue(Arc<SequenceDef>),
    /// `(SELECT ..)` as a value: error 512 if it gives more than one row.
    ScalarSubquery(Box<Query>),
    /// `EXISTS (SELECT ..)`
    Exists(Box<Query>),
    /// `x op ANY|ALL (SELECT ..)`; `IN (SELECT ..)` is `= ANY`.
    Quantified(Box<QuantifiedSubquery>),
}

/// Operands of LIKE.
#[derive(Clone, Debug)]
pub struct LikeArguments {
    /// The text that is searched.
    pub text: Expr,
    /// The pattern.
    pub pattern: Expr,
    /// The escape character, if one is given.
    pub escape: Option<Expr>,
}

/// A conversion of `operand` to the type of the expression that holds it.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// What is converted.
    pub operand: Expr,
    /// The CONVERT style, an integer expression; `None` for 0.
    pub style: Option<Expr>,
    /// Who asked.
    pub mode: Mode,
}

/// A call of a user-defined scalar function.
#[derive(Clone, Debug)]
pub struct UserCall {
    /// The function.
    pub module: Arc<ModuleDef>,
    /// Arguments, converted to the parameters' types.
    pub arguments: Vec<Expr>,
}

/// `operand op ANY|ALL (query)`.
#[derive(Clone, Debug)]
pub struct QuantifiedSubquery {
    /// The left side.
    pub operand: Expr,
    /// The comparison.
    pub op: CompareOp,
    /// ANY (SOME) or ALL.
    pub quantifier: Quantifier,
    /// Collation of the comparison.
    pub collation: Collation,
    /// One column, converted to the type of `operand`.
    pub query: Query,
    /// Number by which the values of the query are kept for the statement, where it reads nothing of
    /// the rows around it.
    pub once: Option<u32>,
}

/// ANY or ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// True if the comparison holds for any row.
    Any,
    /// True if it holds for all rows.
    All,
}

impl Register {
    /// Returns the register `offset` behind this one.
    #[inline]
    #[must_use]
    pub fn plus(self, offset: usize) -> Self {
        Self(self.0 + u32::try_from(offset).unwrap_or(u32::MAX))
    }

    /// Returns its place in the register file.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Expr {
    /// Makes an expression.
    pub fn new(kind: ExprKind, ty: ColumnType) -> Self {
        Self { kind, ty }
    }

    /// Makes a constant of `data_type`.
    pub fn constant(value: Value, data_type: DataType) -> Self {
        let nullable = value.is_null();
        let ty = ColumnType { data_type, collation: types::Collation::default(), nullable };
        Self { kind: ExprKind::Constant(value), ty }
    }

    /// Tells whether this is the literal NULL, which takes the type of what it stands beside.
    pub fn is_null_literal(&self) -> bool {
        let is_null = match &self.kind {
            ExprKind::Constant(value) => value.is_null(),
            ExprKind::Variable(slot) => slot.is_undeclared(),
            _ => false,
        };
        is_null && self.ty.data_type == DataType::Int
    }

    /// Returns the value of a constant.
    pub fn as_constant(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Constant(value) => Some(value),
            _ => None,
        }
    }
}
