//! The syntax tree of the XQuery that the methods of `xml` take.

use types::xml::QName;

/// A parsed argument of a method.
#[derive(Debug)]
pub struct Query {
    /// What it does.
    pub body: Body,
    /// What it takes from SQL, in the order of [`Expr::External`]'s numbers.
    pub externals: Vec<External>,
}

/// What an argument does.
#[derive(Debug)]
pub enum Body {
    /// It has a value.
    Value(Expr),
    /// It changes the instance: `modify()`.
    Change(Change),
}

/// `sql:variable("@v")` or `sql:column("c")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum External {
    /// A variable's name with its `@`.
    Variable(String),
    /// A column's name with what qualifies it.
    Column(String),
}

/// The data manipulation language of `modify()`.
#[derive(Debug)]
pub enum Change {
    /// `insert what into|before|after where`
    Insert {
        /// What is put in.
        what: Expr,
        /// Beside or within which node.
        target: Expr,
        /// Where there.
        place: Place,
    },
    /// `delete which`
    Delete(Expr),
    /// `replace value of which with what`
    Replace {
        /// Whose value.
        target: Expr,
        /// The new one.
        value: Expr,
    },
}

/// Where `insert` puts nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `as first into`
    First,
    /// `into`, `as last into`
    Last,
    /// `before`
    Before,
    /// `after`
    After,
}

/// An expression.
#[derive(Debug)]
pub enum Expr {
    /// `a, b`; empty for `()`.
    Sequence(Vec<Expr>),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Double(f64),
    /// A string.
    Text(String),
    /// `$name`
    Variable(String),
    /// A value of SQL.
    External(usize),
    /// `.`
    Context,
    /// `for .. let .. where .. order by .. return ..`
    Flwor(Vec<Clause>, Box<Expr>),
    /// `if (a) then b else c`
    If(Box<(Expr, Expr, Expr)>),
    /// `some|every $v in a satisfies b`; true for `every`.
    Quantified(bool, Vec<(String, Expr)>, Box<Expr>),
    /// `a or b`
    Or(Box<(Expr, Expr)>),
    /// `a and b`
    And(Box<(Expr, Expr)>),
    /// `a = b` and its kin.
    Compare(Comparison, Box<(Expr, Expr)>),
    /// `a + b` and its kin.
    Arithmetic(Operator, Box<(Expr, Expr)>),
    /// `-a`
    Negate(Box<Expr>),
    /// `a | b`
    Union(Box<(Expr, Expr)>),
    /// Steps from a start.
    Path(Start, Vec<Step>),
    /// `primary[predicate]`
    Filter(Box<Expr>, Vec<Expr>),
    /// A function of the library, by its place in `super::library::FUNCTIONS`.
    Call(&'static super::library::Function, Vec<Expr>),
    /// `<a b="c">..</a>`
    Element(Box<Constructor>),
    /// `attribute name {value}`
    Attribute(QName, Box<Expr>),
    /// `text {value}`
    TextNode(Box<Expr>),
    /// `<!-- text -->`
    Comment(String),
    /// `<?target text?>`
    Instruction(String, String),
}

/// A clause of FLWOR.
#[derive(Debug)]
pub enum Clause {
    /// `for $v in e`
    For(String, Expr),
    /// `let $v := e`
    Let(String, Expr),
    /// `where e`
    Where(Expr),
    /// `order by e [descending], ..`
    OrderBy(Vec<(Expr, bool)>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`, `eq`
    Equal,
    /// `!=`, `ne`
    NotEqual,
    /// `<`, `lt`
    Less,
    /// `<=`, `le`
    LessOrEqual,
    /// `>`, `gt`
    Greater,
    /// `>=`, `ge`
    GreaterOrEqual,
    /// `is`
    Is,
    /// `<<`
    Precedes,
    /// `>>`
    Follows,
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `div`
    Divide,
    /// `mod`
    Modulo,
}

/// Where a path starts.
#[derive(Debug)]
pub enum Start {
    /// `/`
    Root,
    /// The context item.
    Context,
    /// The nodes of an expression.
    Nodes(Box<Expr>),
}

/// A step of a path.
#[derive(Debug)]
pub enum Step {
    /// `axis::test[predicate]`
    Axis(Axis, Test, Vec<Expr>),
    /// An expression for each node.
    Each(Expr),
}

/// Which way a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// `child`
    Child,
    /// `descendant`
    Descendant,
    /// `descendant-or-self`
    DescendantOrSelf,
    /// `self`
    Own,
    /// `parent`
    Parent,
    /// `attribute`
    Attribute,
}

/// Which nodes a step takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// A name; `None` for `*`.
    Name {
        /// The local part.
        local: Option<String>,
        /// The name space.
        uri: Option<String>,
    },
    /// `node()`
    Node,
    /// `text()`
    Text,
    /// `comment()`
    Comment,
    /// `processing-instruction(name)`
    Instruction(Option<String>),
}

/// A constructor of an element.
#[derive(Debug)]
pub struct Constructor {
    /// Its name.
    pub name: QName,
    /// Name spaces that it declares: prefix and URI.
    pub namespaces: Vec<(String, String)>,
    /// Its attributes, each the parts of its value.
    pub attributes: Vec<(QName, Vec<Expr>)>,
    /// What is in it; literal text comes as [`Expr::TextNode`].
    pub content: Vec<Expr>,
}
