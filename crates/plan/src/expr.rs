//! Bound scalar expressions.
//!
//! Every column of every table that a statement reads, subqueries included, has its own
//! [`Register`] in one flat register file. A scan fills the registers of its columns; an expression
//! reads them. So a correlated subquery reads its outer row like any other register, and an
//! expression is evaluated without knowing which operator is below.

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
    /// The first slot of undeclared parameters.
    const UNDECLARED: u32 = 1 << 31;

    /// Returns the slot of an undeclared parameter: a NULL that takes the type of the other
    /// operand, as the literal does. Only statements that are described, not run, contain such
    /// slots.
    pub const fn undeclared(place: u32) -> Self {
        Self(Self::UNDECLARED | place)
    }

    /// Returns whether this is the slot of an undeclared parameter.
    pub const fn is_undeclared(self) -> bool {
        self.0 >= Self::UNDECLARED
    }

    /// Returns the 0-based number of an undeclared parameter; `None` for a declared variable.
    pub fn undeclared_place(self) -> Option<usize> {
        usize::try_from(self.0.checked_sub(Self::UNDECLARED)?).ok()
    }
}

/// A bound expression and the type of its result.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Operator or operand, with its children.
    pub kind: ExprKind,
    /// The type of the result, derived by the binder.
    pub ty: ColumnType,
}

/// The operator of an expression. Operands already have the type that the operator needs: the
/// binder has inserted [`ExprKind::Convert`] where T-SQL converts implicitly.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A literal or a folded constant.
    Constant(Value),
    /// A local variable or parameter.
    Variable(Slot),
    /// A column of a table in FROM, a grouping key, an aggregate's or a window function's result.
    Column(Register),
    /// `-x`; overflow is error 8115.
    Negate(Box<Expr>),
    /// `~x` of an integer type.
    BitNot(Box<Expr>),
    /// `+ - * / % & | ^`; both operands are converted to what the operator needs.
    Arithmetic(BinaryOp, Box<(Expr, Expr)>),
    /// `= <> < <= > >=`; both operands of one type; strings compare under `collation`.
    Compare(CompareOp, Collation, Box<(Expr, Expr)>),
    /// Conjunction of all operands; three-valued.
    And(Box<[Expr]>),
    /// Disjunction of all operands; three-valued.
    Or(Box<[Expr]>),
    /// `NOT x`; NULL stays NULL.
    Not(Box<Expr>),
    /// `x IS NULL`; never NULL itself.
    IsNull(Box<Expr>),
    /// `x IN (list)`; three-valued; operands of one type.
    InList(Collation, Box<Expr>, Box<[Expr]>),
    /// `x LIKE pattern [ESCAPE e]`
    Like(Collation, Box<LikeArguments>),
    /// Searched CASE: pairs of condition and result, then ELSE. The simple form is bound to the
    /// searched one over a [`ExprKind::Let`].
    Case(Box<[(Expr, Expr)]>, Option<Box<Expr>>),
    /// Evaluates the operand once in a statement and stores the value under this number: a subquery
    /// that reads no register of the surrounding query.
    Once(u32, Box<Expr>),
    /// Evaluates the first operand into the register, then the second, which may read it: an
    /// operand that is evaluated once.
    Let(Register, Box<(Expr, Expr)>),
    /// `CAST`, `CONVERT`, `TRY_..` and implicit conversions to `Expr::ty`.
    Convert(Box<Conversion>),
    /// `x COLLATE name`: the value is unchanged; the collation of `Expr::ty` is explicit.
    Collate(Box<Expr>),
    /// A scalar function of the library.
    Call(&'static Function, Box<[Expr]>),
    /// A user-defined scalar function.
    CallUser(Box<UserCall>),
    /// NEXT VALUE FOR: a new value at each evaluation.
    NextValue(Arc<SequenceDef>),
    /// `(SELECT ..)` as a value: error 512 if it gives more than one row.
    ScalarSubquery(Box<Query>),
    /// `EXISTS (SELECT ..)`; never NULL.
    Exists(Box<Query>),
    /// `x op ANY|ALL (SELECT ..)`; `IN (SELECT ..)` is `= ANY`.
    Quantified(Box<QuantifiedSubquery>),
}

/// Operands of a LIKE predicate.
#[derive(Clone, Debug)]
pub struct LikeArguments {
    /// Text to be matched.
    pub text: Expr,
    /// The pattern, with `%`, `_` and `[..]`.
    pub pattern: Expr,
    /// The escape character, if one is given.
    pub escape: Option<Expr>,
}

/// A conversion of `operand` to the type of the expression that holds it.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// Value to be converted.
    pub operand: Expr,
    /// The CONVERT style, an integer expression; `None` for 0.
    pub style: Option<Expr>,
    /// Implicit, CAST, CONVERT or a TRY_ form.
    pub mode: Mode,
}

/// A call of a user-defined scalar function.
#[derive(Clone, Debug)]
pub struct UserCall {
    /// Definition of the function.
    pub module: Arc<ModuleDef>,
    /// Arguments, converted to the parameters' types.
    pub arguments: Vec<Expr>,
}

/// `operand op ANY|ALL (query)`.
#[derive(Clone, Debug)]
pub struct QuantifiedSubquery {
    /// The left side; evaluated once per row.
    pub operand: Expr,
    /// Comparison of the operand with each row's value.
    pub op: CompareOp,
    /// ANY (SOME) or ALL.
    pub quantifier: Quantifier,
    /// Collation of the comparison.
    pub collation: Collation,
    /// One column, converted to the type of `operand`.
    pub query: Query,
    /// Number under which the query's values are stored for the statement, where it reads no
    /// register of the surrounding query.
    pub once: Option<u32>,
}

/// ANY (SOME) or ALL of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// True if the comparison holds for any row.
    Any,
    /// True if it holds for all rows.
    All,
}

impl Register {
    /// Returns the register with a number larger by `offset`.
    #[inline]
    #[must_use]
    pub fn plus(self, offset: usize) -> Self {
        Self(self.0 + u32::try_from(offset).unwrap_or(u32::MAX))
    }

    /// Returns its index in the register file.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Expr {
    /// Returns an expression of this type.
    pub fn new(kind: ExprKind, ty: ColumnType) -> Self {
        Self { kind, ty }
    }

    /// Returns a constant of `data_type` with the default collation.
    pub fn constant(value: Value, data_type: DataType) -> Self {
        let nullable = value.is_null();
        let ty = ColumnType { data_type, collation: types::Collation::default(), nullable };
        Self { kind: ExprKind::Constant(value), ty }
    }

    /// Returns whether this is the literal NULL, which takes the type of the other operand.
    pub fn is_null_literal(&self) -> bool {
        let is_null = match &self.kind {
            ExprKind::Constant(value) => value.is_null(),
            ExprKind::Variable(slot) => slot.is_undeclared(),
            _ => false,
        };
        is_null && self.ty.data_type == DataType::Int
    }

    /// Returns the value if this is a constant.
    pub fn as_constant(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Constant(value) => Some(value),
            _ => None,
        }
    }
}
