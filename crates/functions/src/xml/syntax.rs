//! The syntax tree of XQuery as the methods of `xml` accept it.

use types::xml::QName;

/// A parsed argument of a method.
#[derive(Debug)]
pub struct Query {
    /// A value, or a change.
    pub body: Body,
    /// Values that it takes from SQL, in the order of [`Expr::External`]'s numbers.
    pub externals: Vec<External>,
}

/// The body of a method's argument.
#[derive(Debug)]
pub enum Body {
    /// An expression with a value.
    Value(Expr),
    /// A statement of `modify()`, which changes the instance.
    Change(Change),
}

/// A reference to SQL: `sql:variable("@v")` or `sql:column("c")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum External {
    /// Name of a variable, including the `@`.
    Variable(String),
    /// Name of a column, with its qualifier.
    Column(String),
}

/// A statement of `modify()`.
#[derive(Debug)]
pub enum Change {
    /// `insert what into|before|after where`
    Insert {
        /// Nodes to be inserted.
        what: Expr,
        /// Node next to which, or into which, they are inserted.
        target: Expr,
        /// Position relative to the target.
        place: Place,
    },
    /// `delete target`: removes these nodes.
    Delete(Expr),
    /// `replace value of which with what`
    Replace {
        /// Node whose value is replaced.
        target: Expr,
        /// The new value of the node.
        value: Expr,
    },
}

/// The position at which `insert` adds nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `as first into`: before the other children.
    First,
    /// `into`, `as last into`: after the other children.
    Last,
    /// `before`: preceding sibling of the target.
    Before,
    /// `after`: following sibling of the target.
    After,
}

/// An expression of XQuery.
#[derive(Debug)]
pub enum Expr {
    /// `a, b`; empty for `()`.
    Sequence(Vec<Expr>),
    /// An integer literal within 64 bits.
    Integer(i64),
    /// Any other numeric literal.
    Double(f64),
    /// A string literal, without quotes.
    Text(String),
    /// `$name`, a variable in scope.
    Variable(String),
    /// A value passed from SQL, by number.
    External(usize),
    /// `.`, the context item.
    Context,
    /// `for .. let .. where .. order by .. return ..`
    Flwor(Vec<Clause>, Box<Expr>),
    /// `if (a) then b else c`
    If(Box<(Expr, Expr, Expr)>),
    /// `some|every $v in a satisfies b`; true for `every`.
    Quantified(bool, Vec<(String, Expr)>, Box<Expr>),
    /// `a or b` of effective boolean values.
    Or(Box<(Expr, Expr)>),
    /// `a and b` of effective boolean values.
    And(Box<(Expr, Expr)>),
    /// `a = b` and the other comparisons.
    Compare(Comparison, Box<(Expr, Expr)>),
    /// `a + b` and the other arithmetic operators.
    Arithmetic(Operator, Box<(Expr, Expr)>),
    /// `-a` of a number.
    Negate(Box<Expr>),
    /// `a | b`, in document order.
    Union(Box<(Expr, Expr)>),
    /// Steps from a starting point.
    Path(Start, Vec<Step>),
    /// `primary[predicate]`, for each predicate in order.
    Filter(Box<Expr>, Vec<Expr>),
    /// A function of the library, by its place in `super::library::FUNCTIONS`.
    Call(&'static super::library::Function, Vec<Expr>),
    /// Direct constructor `<a b="c">..</a>` of an element.
    Element(Box<Constructor>),
    /// Computed constructor `attribute name {value}`.
    Attribute(QName, Box<Expr>),
    /// Computed constructor `text {value}`, or literal text.
    TextNode(Box<Expr>),
    /// Direct constructor `<!-- text -->` of a comment.
    Comment(String),
    /// Direct constructor `<?target text?>` of a processing instruction.
    Instruction(String, String),
}

/// A clause of FLWOR.
#[derive(Debug)]
pub enum Clause {
    /// `for $v in e`
    For(String, Expr),
    /// `let $v := e`
    Let(String, Expr),
    /// `where e`: keeps tuples for which it is true.
    Where(Expr),
    /// `order by e [descending], ..`
    OrderBy(Vec<(Expr, bool)>),
}

/// A comparison operator; general, value or node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=` or `eq`; any pair is equal.
    Equal,
    /// `!=` or `ne`; any pair differs.
    NotEqual,
    /// `<` or `lt`, by any pair.
    Less,
    /// `<=` or `le`, by any pair.
    LessOrEqual,
    /// `>` or `gt`, by any pair.
    Greater,
    /// `>=` or `ge`, by any pair.
    GreaterOrEqual,
    /// `is`: both are the same node.
    Is,
    /// `<<`: left comes first in document order.
    Precedes,
    /// `>>`: left comes later in document order.
    Follows,
}

/// An arithmetic operator on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`, the sum of both.
    Add,
    /// `-`, the difference of both.
    Subtract,
    /// `*`, the product of both.
    Multiply,
    /// `div`, the quotient as `xs:double`.
    Divide,
    /// `mod`, the remainder of a division.
    Modulo,
}

/// The starting point of a path.
#[derive(Debug)]
pub enum Start {
    /// `/`: the document node.
    Root,
    /// The context item, `.`.
    Context,
    /// The nodes that an expression returns.
    Nodes(Box<Expr>),
}

/// A step of a path.
#[derive(Debug)]
pub enum Step {
    /// `axis::test[predicate]`, with any number of predicates.
    Axis(Axis, Test, Vec<Expr>),
    /// An expression that is evaluated for each node.
    Each(Expr),
}

/// The axis of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// `child`: the default axis.
    Child,
    /// `descendant`: children, their children and so on.
    Descendant,
    /// `descendant-or-self`: as used by `//`.
    DescendantOrSelf,
    /// `self`: the node itself, written `.`.
    Own,
    /// `parent`: the enclosing node, written `..`.
    Parent,
    /// `attribute`: attributes of an element, written `@`.
    Attribute,
}

/// The node test of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// A name; `None` for `*`.
    Name {
        /// Local name; `None` for `*`.
        local: Option<String>,
        /// URI of the namespace; `None` for any.
        uri: Option<String>,
    },
    /// `node()`: a node of any kind.
    Node,
    /// `text()`: a text node.
    Text,
    /// `comment()`: a comment node.
    Comment,
    /// `processing-instruction(name)`, with or without a name.
    Instruction(Option<String>),
}

/// A direct constructor of an element.
#[derive(Debug)]
pub struct Constructor {
    /// Name of the element.
    pub name: QName,
    /// Namespaces that it declares: prefix and URI.
    pub namespaces: Vec<(String, String)>,
    /// Attributes; each value is a list of parts.
    pub attributes: Vec<(QName, Vec<Expr>)>,
    /// Content; literal text is an [`Expr::TextNode`].
    pub content: Vec<Expr>,
}
