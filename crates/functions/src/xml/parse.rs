//! The XQuery parser: prolog, expressions, paths, and the statements of `modify()`.
//!
//! Syntax that `syntax.rs` has no node for is error 2209 at that word. Direct constructors are in
//! `construct.rs`.

use types::xml::XML_URI;
use types::{Error, Msg, Result};

use super::syntax::{
    Axis, Body, Change, Clause, Comparison, Expr, External, Operator, Place, Query, Start, Step,
    Test,
};
use super::word::{is_name_part, is_name_start, unescape};
use super::{check, library};

/// Maximum nesting of expressions.
const DEPTH_MAX: u32 = 100;
/// Maximum of chained operators and clauses in an expression: their depth fits the stack's reserve.
const LINKS_MAX: u32 = 2_000;

/// Parses the argument of a method.
///
/// # Errors
/// 2209 and other syntax errors.
pub fn parse(text: &str, method: &str) -> Result<Query> {
    let known = [
        ("xml", XML_URI),
        ("xs", "http://www.w3.org/2001/XMLSchema"),
        ("xsi", "http://www.w3.org/2001/XMLSchema-instance"),
        ("xdt", "http://www.w3.org/2004/07/xpath-datatypes"),
        ("fn", "http://www.w3.org/2004/07/xpath-functions"),
        ("sql", "urn:schemas-microsoft-com:xml-sql"),
    ];
    let known = known.map(|(prefix, uri)| (prefix.to_owned(), uri.to_owned()));
    let mut parser = Parser {
        text,
        at: 0,
        method,
        namespaces: known.into(),
        externals: Vec::new(),
        depth: 0,
        links: 0,
    };
    parser.prolog()?;
    let body = if method == "modify" {
        Body::Change(parser.change()?)
    } else {
        Body::Value(parser.expr()?)
    };
    parser.space();
    if parser.at < text.len() {
        return Err(Msg::XQueryEndExpected(method, parser.near()).into());
    }
    let query = Query { body, externals: parser.externals };
    check::check(&query, method)?;
    Ok(query)
}

pub(crate) struct Parser<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    method: &'t str,
    /// Prefixes with their URIs, innermost last.
    pub(crate) namespaces: Vec<(String, String)>,
    externals: Vec<External>,
    depth: u32,
    /// Number of links in all chains so far.
    links: u32,
}

impl<'t> Parser<'t> {
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Returns the word that an error names.
    fn near(&self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !is_name_part(c)).filter(|end| *end > 0);
        let first = rest.chars().next().map_or(0, char::len_utf8);
        match end {
            None if rest.starts_with(is_name_start) => rest,
            None => &rest[..first],
            Some(end) => &rest[..end],
        }
    }

    pub(crate) fn fail<T>(&self) -> Result<T> {
        let near = self.near();
        let near = if near.is_empty() { "<eof>" } else { near };
        Err(Error::from(Msg::XQuerySyntax(self.method, near)))
    }

    /// Skips white space and comments, `(: :)`.
    pub(crate) fn space(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with("(:") {
                return;
            }
            self.at = self.rest().find(":)").map_or(self.text.len(), |end| self.at + end + 2);
        }
    }

    /// Consumes a mark such as `(` or `//` if it is next.
    pub(crate) fn eat(&mut self, mark: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, mark: &str) -> Result<()> {
        if self.eat(mark) { Ok(()) } else { self.fail() }
    }

    fn at_word(&mut self, word: &str) -> bool {
        self.space();
        self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_name_part))
    }

    /// Consumes a keyword if it is next.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn eat_words(&mut self, words: &[&str]) -> bool {
        let before = self.at;
        let found = words.iter().all(|word| self.eat_word(word));
        if !found {
            self.at = before;
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.fail() }
    }

    /// Reads a name without a colon.
    pub(crate) fn word(&mut self) -> Result<&'t str> {
        self.space();
        let rest = self.rest();
        if !rest.starts_with(is_name_start) {
            return self.fail();
        }
        let end = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
        self.at += end;
        Ok(&rest[..end])
    }

    /// Reads `name` or `prefix:name`.
    pub(crate) fn name(&mut self) -> Result<(&'t str, &'t str)> {
        let first = self.word()?;
        let mut rest = self.rest().chars();
        if rest.next() == Some(':') && rest.next().is_some_and(is_name_start) {
            self.at += 1;
            return Ok((first, self.word()?));
        }
        Ok(("", first))
    }

    /// Returns the URI of a prefix; the empty prefix has none unless declared.
    pub(crate) fn uri(&self, prefix: &str) -> Result<String> {
        let found = self.namespaces.iter().rev().find(|(known, _)| known == prefix);
        match found {
            Some((_, uri)) => Ok(uri.clone()),
            None if prefix.is_empty() => Ok(String::new()),
            None => Err(Msg::XQueryNoNamespace(self.method, prefix).into()),
        }
    }

    pub(crate) fn string(&mut self) -> Result<String> {
        self.space();
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return self.fail();
        };
        self.at += 1;
        let mut value = String::new();
        loop {
            let Some(end) = self.rest().find(quote) else { return self.fail() };
            value.push_str(&self.rest()[..end]);
            self.at += end + 1;
            // A doubled quote is one quote.
            if !self.rest().starts_with(quote) {
                break;
            }
            self.at += 1;
            value.push(quote);
        }
        Ok(unescape(&value))
    }

    fn prolog(&mut self) -> Result<()> {
        while self.eat_word("declare") {
            if self.eat_words(&["default", "element", "namespace"]) {
                let uri = self.string()?;
                self.namespaces.push((String::new(), uri));
            } else {
                self.expect_word("namespace")?;
                let prefix = self.word()?.to_owned();
                self.expect("=")?;
                let uri = self.string()?;
                self.namespaces.push((prefix, uri));
            }
            self.expect(";")?;
        }
        Ok(())
    }

    fn change(&mut self) -> Result<Change> {
        if self.eat_word("delete") {
            return Ok(Change::Delete(self.expr()?));
        }
        if self.eat_words(&["replace", "value", "of"]) {
            let target = self.single()?;
            self.expect_word("with")?;
            return Ok(Change::Replace { target, value: self.expr()? });
        }
        if !self.eat_word("insert") {
            return Err(Msg::XmlNotDml.into());
        }
        let what = self.single()?;
        let place = if self.eat_words(&["as", "first", "into"]) {
            Place::First
        } else if self.eat_words(&["as", "last", "into"]) || self.eat_word("into") {
            Place::Last
        } else if self.eat_word("before") {
            Place::Before
        } else {
            self.expect_word("after")?;
            Place::After
        };
        Ok(Change::Insert { what, target: self.expr()?, place })
    }

    /// Parses a sequence: `a, b, ..`.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        let first = self.single()?;
        if !self.eat(",") {
            return Ok(first);
        }
        let mut all = vec![first, self.single()?];
        while self.eat(",") {
            all.push(self.single()?);
        }
        Ok(Expr::Sequence(all))
    }

    pub(crate) fn single(&mut self) -> Result<Expr> {
        self.nested(Self::single_inner)
    }

    /// Counts a link of a chain: each is a level of the tree, and evaluation and drop are
    /// recursive.
    fn link(&mut self) -> Result<()> {
        self.links += 1;
        if self.links > LINKS_MAX { Err(Msg::StackLimit.into()) } else { Ok(()) }
    }

    /// Parses one level deeper.
    pub(crate) fn nested(&mut self, parse: fn(&mut Self) -> Result<Expr>) -> Result<Expr> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Msg::NestedTooDeeply.into());
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn single_inner(&mut self) -> Result<Expr> {
        if (self.at_word("for") || self.at_word("let")) && self.variable_follows() {
            return self.flwor();
        }
        if (self.at_word("some") || self.at_word("every")) && self.variable_follows() {
            return self.quantified();
        }
        if self.at_word("if") && self.rest()[2..].trim_start().starts_with('(') {
            self.at += 2;
            self.expect("(")?;
            let condition = self.expr()?;
            self.expect(")")?;
            self.expect_word("then")?;
            let then = self.single()?;
            self.expect_word("else")?;
            return Ok(Expr::If(Box::new((condition, then, self.single()?))));
        }
        self.or()
    }

    /// Returns whether a `$` follows the word.
    fn variable_follows(&self) -> bool {
        self.rest().trim_start_matches(is_name_part).trim_start().starts_with('$')
    }

    fn variable(&mut self) -> Result<String> {
        self.expect("$")?;
        Ok(self.word()?.to_owned())
    }

    fn flwor(&mut self) -> Result<Expr> {
        let mut clauses = Vec::new();
        loop {
            if self.eat_word("for") {
                loop {
                    let name = self.variable()?;
                    self.expect_word("in")?;
                    self.link()?;
                    clauses.push(Clause::For(name, self.single()?));
                    if !self.eat(",") {
                        break;
                    }
                }
            } else if self.eat_word("let") {
                loop {
                    let name = self.variable()?;
                    self.expect(":=")?;
                    self.link()?;
                    clauses.push(Clause::Let(name, self.single()?));
                    if !self.eat(",") {
                        break;
                    }
                }
            } else {
                break;
            }
        }
        if self.eat_word("where") {
            clauses.push(Clause::Where(self.single()?));
        }
        if self.eat_words(&["order", "by"]) || self.eat_words(&["stable", "order", "by"]) {
            let mut keys = Vec::new();
            loop {
                let key = self.single()?;
                let descending = self.eat_word("descending");
                if !descending {
                    self.eat_word("ascending");
                }
                keys.push((key, descending));
                if !self.eat(",") {
                    break;
                }
            }
            clauses.push(Clause::OrderBy(keys));
        }
        self.expect_word("return")?;
        Ok(Expr::Flwor(clauses, Box::new(self.single()?)))
    }

    fn quantified(&mut self) -> Result<Expr> {
        let every = self.eat_word("every");
        if !every {
            self.expect_word("some")?;
        }
        let mut bindings = Vec::new();
        loop {
            let name = self.variable()?;
            self.expect_word("in")?;
            self.link()?;
            bindings.push((name, self.single()?));
            if !self.eat(",") {
                break;
            }
        }
        self.expect_word("satisfies")?;
        Ok(Expr::Quantified(every, bindings, Box::new(self.single()?)))
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        while self.eat_word("or") {
            self.link()?;
            left = Expr::Or(Box::new((left, self.and()?)));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.comparison()?;
        while self.eat_word("and") {
            self.link()?;
            left = Expr::And(Box::new((left, self.comparison()?)));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expr> {
        let left = self.additive()?;
        let Some(op) = self.comparison_operator() else { return Ok(left) };
        Ok(Expr::Compare(op, Box::new((left, self.additive()?))))
    }

    fn comparison_operator(&mut self) -> Option<Comparison> {
        use Comparison as C;
        // Longer operators come before their prefixes.
        let marks = [
            ("<<", C::Precedes),
            (">>", C::Follows),
            ("!=", C::NotEqual),
            ("<=", C::LessOrEqual),
            (">=", C::GreaterOrEqual),
            ("=", C::Equal),
            ("<", C::Less),
            (">", C::Greater),
        ];
        let words = [
            ("eq", C::Equal),
            ("ne", C::NotEqual),
            ("lt", C::Less),
            ("le", C::LessOrEqual),
            ("gt", C::Greater),
            ("ge", C::GreaterOrEqual),
            ("is", C::Is),
        ];
        let mark = marks.into_iter().find(|(mark, _)| self.eat(mark));
        mark.or_else(|| words.into_iter().find(|(word, _)| self.eat_word(word))).map(|(_, op)| op)
    }

    fn additive(&mut self) -> Result<Expr> {
        let mut left = self.multiplicative()?;
        loop {
            let op = if self.eat("+") {
                Operator::Add
            } else if self.eat("-") {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            self.link()?;
            left = Expr::Arithmetic(op, Box::new((left, self.multiplicative()?)));
        }
    }

    fn multiplicative(&mut self) -> Result<Expr> {
        let mut left = self.union()?;
        loop {
            let op = if self.eat("*") {
                Operator::Multiply
            } else if self.eat_word("div") {
                Operator::Divide
            } else if self.eat_word("mod") {
                Operator::Modulo
            } else {
                return Ok(left);
            };
            self.link()?;
            left = Expr::Arithmetic(op, Box::new((left, self.union()?)));
        }
    }

    fn union(&mut self) -> Result<Expr> {
        let mut left = self.unary()?;
        while self.eat("|") || self.eat_word("union") {
            self.link()?;
            left = Expr::Union(Box::new((left, self.unary()?)));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        let mut negative = false;
        loop {
            if self.eat("-") {
                negative = !negative;
            } else if !self.eat("+") {
                break;
            }
        }
        let operand = self.path()?;
        let cast = if self.eat_words(&["cast", "as"]) { Some(self.name()?) } else { None };
        let operand = match cast {
            None => operand,
            Some((prefix, name)) => {
                self.eat("?");
                let function = self.function(prefix, name, 1)?;
                Expr::Call(function, vec![operand])
            }
        };
        Ok(if negative { Expr::Negate(Box::new(operand)) } else { operand })
    }

    fn path(&mut self) -> Result<Expr> {
        self.space();
        let mut steps = Vec::new();
        let start = if self.eat("//") {
            steps.push(any_below());
            Start::Root
        } else if self.eat("/") {
            self.space();
            let more = self
                .rest()
                .starts_with(|c: char| is_name_start(c) || matches!(c, '@' | '*' | '.' | '('));
            if !more {
                return Ok(Expr::Path(Start::Root, steps));
            }
            Start::Root
        } else if self.primary_follows() {
            let primary = self.primary()?;
            let predicates = self.predicates()?;
            let primary = match predicates.is_empty() {
                true => primary,
                false => Expr::Filter(Box::new(primary), predicates),
            };
            if !self.at_slash() {
                return Ok(primary);
            }
            self.more_steps(&mut steps)?;
            return Ok(Expr::Path(Start::Nodes(Box::new(primary)), steps));
        } else {
            Start::Context
        };
        let first = self.step()?;
        steps.push(first);
        self.more_steps(&mut steps)?;
        Ok(Expr::Path(start, steps))
    }

    fn at_slash(&mut self) -> bool {
        self.space();
        self.rest().starts_with('/')
    }

    fn more_steps(&mut self, steps: &mut Vec<Step>) -> Result<()> {
        while self.at_slash() {
            if self.eat("//") {
                steps.push(any_below());
            } else {
                self.expect("/")?;
            }
            let step = self.step()?;
            steps.push(step);
        }
        Ok(())
    }

    /// Returns whether a primary expression follows rather than a step.
    fn primary_follows(&mut self) -> bool {
        self.space();
        let rest = self.rest();
        let mut characters = rest.chars();
        match characters.next() {
            Some('"' | '\'' | '$' | '(' | '<' | '0'..='9') => true,
            Some('.') => !rest.starts_with("..") && !rest[1..].starts_with(is_name_start),
            Some(c) if is_name_start(c) => self.call_or_constructor_follows(),
            _ => false,
        }
    }

    /// Returns whether a call or computed constructor follows rather than a step: a name followed
    /// by a parenthesis or brace.
    fn call_or_constructor_follows(&mut self) -> bool {
        let before = self.at;
        let name = self.name();
        self.space();
        let rest = self.rest();
        let braced = rest.starts_with('{') || rest.starts_with(is_name_start) && rest.contains('{');
        let call = match name {
            Ok(("", "text" | "node" | "comment" | "processing-instruction")) => {
                rest.starts_with('{')
            }
            Ok(("", "attribute" | "element")) => braced,
            Ok(_) => rest.starts_with('(') && !rest.starts_with("(:"),
            Err(_) => false,
        };
        self.at = before;
        call
    }

    fn step(&mut self) -> Result<Step> {
        self.space();
        if self.rest().starts_with('(')
            || self.rest().starts_with(is_name_start) && self.call_or_constructor_follows()
        {
            let primary = self.primary()?;
            let predicates = self.predicates()?;
            return Ok(Step::Each(match predicates.is_empty() {
                true => primary,
                false => Expr::Filter(Box::new(primary), predicates),
            }));
        }
        if self.eat("..") {
            return Ok(Step::Axis(Axis::Parent, Test::Node, self.predicates()?));
        }
        if self.eat(".") {
            return Ok(Step::Axis(Axis::Own, Test::Node, self.predicates()?));
        }
        let axis = self.axis();
        let test = self.test(axis)?;
        Ok(Step::Axis(axis, test, self.predicates()?))
    }

    fn axis(&mut self) -> Axis {
        if self.eat("@") {
            return Axis::Attribute;
        }
        let axes = [
            ("child::", Axis::Child),
            ("descendant::", Axis::Descendant),
            ("descendant-or-self::", Axis::DescendantOrSelf),
            ("self::", Axis::Own),
            ("parent::", Axis::Parent),
            ("attribute::", Axis::Attribute),
        ];
        axes.into_iter().find(|(name, _)| self.eat(name)).map_or(Axis::Child, |(_, axis)| axis)
    }

    fn test(&mut self, axis: Axis) -> Result<Test> {
        if self.eat("*") {
            if self.rest().starts_with(':') {
                self.at += 1;
                let local = Some(self.word()?.to_owned());
                return Ok(Test::Name { local, uri: None });
            }
            return Ok(Test::Name { local: None, uri: None });
        }
        let first = self.word()?;
        if self.rest().starts_with(":*") {
            self.at += 2;
            return Ok(Test::Name { local: None, uri: Some(self.uri(first)?) });
        }
        self.at -= first.len();
        let (prefix, local) = self.name()?;
        if prefix.is_empty() && self.rest().starts_with('(') {
            return self.kind_test(local);
        }
        // Attributes without a prefix have no namespace, whatever the default is.
        let uri = match (prefix, axis) {
            ("", Axis::Attribute) => String::new(),
            _ => self.uri(prefix)?,
        };
        Ok(Test::Name { local: Some(local.to_owned()), uri: Some(uri) })
    }

    fn kind_test(&mut self, kind: &str) -> Result<Test> {
        self.expect("(")?;
        let test = match kind {
            "node" => Test::Node,
            "text" => Test::Text,
            "comment" => Test::Comment,
            "processing-instruction" => {
                self.space();
                let named = self.rest().starts_with(['"', '\'']);
                Test::Instruction(if named { Some(self.string()?) } else { None })
            }
            _ => return self.fail(),
        };
        self.expect(")")?;
        Ok(test)
    }

    fn predicates(&mut self) -> Result<Vec<Expr>> {
        let mut predicates = Vec::new();
        while self.eat("[") {
            predicates.push(self.expr()?);
            self.expect("]")?;
        }
        Ok(predicates)
    }

    fn primary(&mut self) -> Result<Expr> {
        self.space();
        let rest = self.rest();
        match rest.chars().next() {
            Some('"' | '\'') => self.string().map(Expr::Text),
            Some('$') => self.variable().map(Expr::Variable),
            Some('<') => self.constructor(),
            Some('(') => {
                self.at += 1;
                if self.eat(")") {
                    return Ok(Expr::Sequence(Vec::new()));
                }
                let inner = self.expr()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            Some('.') if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            Some('.') => {
                self.at += 1;
                Ok(Expr::Context)
            }
            _ => self.call(),
        }
    }

    fn number(&mut self) -> Result<Expr> {
        let rest = self.rest();
        let mut end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let exponent = rest[end..].strip_prefix(['e', 'E']).map(|tail| {
            let sign = usize::from(tail.starts_with(['+', '-']));
            let digits = &tail[sign..];
            1 + sign + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())
        });
        end += exponent.unwrap_or(0);
        let digits = &rest[..end];
        let number = match digits.parse::<i64>() {
            Ok(n) => Expr::Integer(n),
            Err(_) => match digits.parse::<f64>() {
                Ok(n) => Expr::Double(n),
                Err(_) => return self.fail(),
            },
        };
        self.at += end;
        Ok(number)
    }

    fn function(
        &self,
        prefix: &str,
        name: &str,
        count: usize,
    ) -> Result<&'static library::Function> {
        let full = match prefix {
            "" | "fn" => name.to_owned(),
            _ => format!("{prefix}:{name}"),
        };
        let found = library::find(&full).filter(|f| (f.arity.0..=f.arity.1).contains(&count));
        match (found, prefix) {
            (Some(function), _) => Ok(function),
            (None, "" | "fn") => Err(Msg::XQueryNoFunction(self.method, name).into()),
            (None, _) => {
                let uri = self.uri(prefix)?;
                Err(Msg::XQueryNoPrefixedFunction(self.method, &uri, name).into())
            }
        }
    }

    fn call(&mut self) -> Result<Expr> {
        let (prefix, name) = self.name()?;
        match (prefix, name) {
            ("", "text" | "attribute" | "element") => return self.computed(name),
            ("sql", "variable" | "column") => return self.external(name),
            _ => {}
        }
        self.expect("(")?;
        let mut arguments = Vec::new();
        if !self.eat(")") {
            loop {
                arguments.push(self.single()?);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        let function = self.function(prefix, name, arguments.len())?;
        Ok(Expr::Call(function, arguments))
    }

    fn external(&mut self, kind: &str) -> Result<Expr> {
        self.expect("(")?;
        let name = self.string()?;
        self.expect(")")?;
        let external = match kind {
            "variable" => External::Variable(name),
            _ => External::Column(name),
        };
        let place = self.externals.iter().position(|known| *known == external);
        Ok(Expr::External(place.unwrap_or_else(|| {
            self.externals.push(external);
            self.externals.len() - 1
        })))
    }
}

/// Returns the step that `//` abbreviates.
fn any_below() -> Step {
    Step::Axis(Axis::DescendantOrSelf, Test::Node, Vec::new())
}
