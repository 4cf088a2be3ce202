//! Parses function calls: arguments, the few functions with special syntax, and windows.

use types::{Msg, Result};

use super::Parser;
use super::expr::column_of;
use crate::ast::{
    Call, CallSpecial, Convert, ConvertForm, Expr, ExprKind, Frame, FrameBound, FrameUnit, Iif,
    Method, NullTreatment, ObjectName, OnFailure, Over, Quoting, StaticMethod,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

/// The methods of `xml`; their names are case-sensitive.
const XML_METHODS: [&str; 5] = ["value", "query", "exist", "nodes", "modify"];

impl Parser<'_> {
    /// Parses the call of `name`, whose left parenthesis is next.
    pub(super) fn call_by_name(&mut self, name: ObjectName) -> Result<ExprKind> {
        if name.schema.is_some() && XML_METHODS.contains(&name.object.as_str()) {
            return self.column_method(name).map(|method| ExprKind::Method(Box::new(method)));
        }
        let keyword = match name.as_simple() {
            Some(ident) if ident.quoting == Quoting::None => Kw::of(ident.as_bytes()),
            _ => Kw::None,
        };
        match keyword {
            Kw::Cast => self.cast(ConvertForm::Cast, OnFailure::Error),
            Kw::TryCast => self.cast(ConvertForm::Cast, OnFailure::Null),
            Kw::Parse => self.cast(ConvertForm::Parse, OnFailure::Error),
            Kw::TryParse => self.cast(ConvertForm::Parse, OnFailure::Null),
            Kw::Convert => self.convert(OnFailure::Error),
            Kw::TryConvert => self.convert(OnFailure::Null),
            Kw::Iif => self.parens(Self::iif),
            _ => Ok(ExprKind::Call(Box::new(self.call_with_suffixes(name, keyword)?))),
        }
    }

    #[inline(never)]
    fn call_with_suffixes(&mut self, name: ObjectName, keyword: Kw) -> Result<Call> {
        let mut call = Call {
            name,
            distinct: false,
            arguments: Vec::new(),
            within_group: Vec::new(),
            nulls: None,
            over: None,
            special: CallSpecial::None,
        };
        self.parens(|parser| match keyword {
            Kw::Trim => parser.trim_arguments(&mut call),
            Kw::JsonObject => parser.json_arguments(&mut call, Self::json_pair),
            Kw::JsonArray | Kw::JsonArrayagg => parser.json_arguments(&mut call, Self::json_item),
            Kw::JsonObjectagg => parser.json_arguments(&mut call, Self::json_pair),
            _ => parser.call_arguments(&mut call),
        })?;
        self.call_suffixes(&mut call)?;
        Ok(call)
    }

    /// Parses a plain call, as FROM and the aggregate of PIVOT have it.
    pub(super) fn plain_call(&mut self) -> Result<Call> {
        // The arguments of OPENROWSET(BULK ..) are no expressions, so it cannot become a call.
        let is_bulk = self.kind_at(1) == TokenKind::LeftParen && self.keyword_at(2) == Kw::Bulk;
        let name = match self.keyword() {
            Kw::Openrowset if is_bulk => {
                let what = Msg::NotSupported("OPENROWSET of a file (BULK) as a target");
                return Err(self.error_at(what, self.start()));
            }
            // `'provider', 'server'; 'user'; 'password', object`: no other list has semicolons.
            Kw::Openrowset if self.kind_at(5) == TokenKind::Semicolon => {
                return Err(self.not_supported("OPENROWSET of a provider", self.start()));
            }
            Kw::Openquery | Kw::Openrowset | Kw::Openxml | Kw::Opendatasource => {
                ObjectName::simple(self.any_word()?)
            }
            _ => self.object_name()?,
        };
        self.call_with_suffixes(name, Kw::None)
    }

    fn call_suffixes(&mut self, call: &mut Call) -> Result<()> {
        if self.at_all(&[Kw::Within, Kw::Group]) {
            self.position += 2;
            if self.is_word(self.token_at(1), "GRAPH") {
                return Err(self.not_supported("WITHIN GROUP (GRAPH PATH)", self.start()));
            }
            call.within_group = self.parens(Self::order_by)?;
        }
        if let Some(nulls) = self.null_treatment()? {
            call.nulls = Some(nulls);
        }
        if self.at(Kw::Over) {
            call.over = Some(self.over()?);
        }
        Ok(())
    }

    fn null_treatment(&mut self) -> Result<Option<NullTreatment>> {
        let nulls = match self.keyword() {
            Kw::Ignore => NullTreatment::Ignore,
            Kw::Respect => NullTreatment::Respect,
            _ => return Ok(None),
        };
        if self.keyword_at(1) != Kw::Nulls {
            return Ok(None);
        }
        self.position += 2;
        Ok(Some(nulls))
    }

    fn call_arguments(&mut self, call: &mut Call) -> Result<()> {
        // `(text USE MODEL name)`
        if call.name.object.is("ai_generate_embeddings") {
            return Err(self.not_supported("AI_GENERATE_EMBEDDINGS", call.name.span.start));
        }
        call.distinct = self.eat(Kw::Distinct);
        let counted = call.distinct || self.eat(Kw::All);
        if self.at_kind(TokenKind::RightParen) && !counted {
            return Ok(());
        }
        // `*` is a call's only argument; `CONTAINS(*, 'text')` searches all columns.
        if self.at_kind(TokenKind::Star) && !counted {
            call.arguments.push(self.star());
            let searches = call.name.object.is("contains") || call.name.object.is("freetext");
            while searches && self.eat_kind(TokenKind::Comma) {
                call.arguments.push(self.expr()?);
            }
            return Ok(());
        }
        call.arguments = self.comma_list(Self::expr_or_default)?;
        // `LAST_VALUE(x IGNORE NULLS)` is the older syntax.
        call.nulls = self.null_treatment()?;
        if call.name.object.is("json_query") && self.at(Kw::With) {
            return Err(self.not_supported("WITH ARRAY WRAPPER", self.start()));
        }
        self.refuse_returning()
    }

    /// Refuses `RETURNING type` of a JSON function.
    fn refuse_returning(&self) -> Result<()> {
        match self.is_word(self.token(), "RETURNING") {
            true => Err(self.not_supported("RETURNING of a JSON function", self.start())),
            false => Ok(()),
        }
    }

    fn star(&mut self) -> Expr {
        let start = self.start();
        self.advance();
        Expr { kind: ExprKind::Star, span: self.span_from(start) }
    }

    /// Parses `( expr, .. )`, perhaps empty.
    pub(super) fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.parens(|parser| {
            if parser.at_kind(TokenKind::RightParen) {
                return Ok(Vec::new());
            }
            parser.comma_list(Self::expr_or_default)
        })
    }

    fn trim_arguments(&mut self, call: &mut Call) -> Result<()> {
        let special = match self.keyword() {
            Kw::Leading => CallSpecial::TrimLeading,
            Kw::Trailing => CallSpecial::TrimTrailing,
            Kw::Both => CallSpecial::TrimBoth,
            _ => CallSpecial::None,
        };
        // `TRIM(both)` trims a column of that name.
        if special != CallSpecial::None && self.kind_at(1) != TokenKind::RightParen {
            self.advance();
            call.special = special;
        }
        call.arguments.push(self.expr()?);
        if self.eat(Kw::From) {
            call.arguments.push(self.expr()?);
            if call.special == CallSpecial::None {
                call.special = CallSpecial::TrimBoth;
            }
            return Ok(());
        }
        if call.special == CallSpecial::None { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Parses the arguments of JSON_OBJECT and JSON_ARRAY.
    fn json_arguments(
        &mut self,
        call: &mut Call,
        item: fn(&mut Self, &mut Vec<Expr>) -> Result<()>,
    ) -> Result<()> {
        let at_end = matches!(self.kind(), TokenKind::RightParen);
        if !at_end && !self.at_json_null_clause() {
            item(self, &mut call.arguments)?;
            while self.eat_kind(TokenKind::Comma) {
                item(self, &mut call.arguments)?;
            }
        }
        // JSON_ARRAYAGG(x ORDER BY y)
        if call.name.object.is("json_arrayagg") && self.at(Kw::Order) {
            call.within_group = self.order_by()?;
        }
        if !self.at_json_null_clause() {
            return self.refuse_returning();
        }
        call.special = if self.at(Kw::Null) {
            CallSpecial::JsonNullOnNull
        } else {
            CallSpecial::JsonAbsentOnNull
        };
        self.position += 3;
        self.refuse_returning()
    }

    fn at_json_null_clause(&self) -> bool {
        matches!(self.keyword(), Kw::Null | Kw::Absent)
            && self.keyword_at(1) == Kw::On
            && self.keyword_at(2) == Kw::Null
    }

    fn json_pair(&mut self, arguments: &mut Vec<Expr>) -> Result<()> {
        arguments.push(self.expr()?);
        self.expect_kind(TokenKind::Colon)?;
        arguments.push(self.expr()?);
        Ok(())
    }

    fn json_item(&mut self, arguments: &mut Vec<Expr>) -> Result<()> {
        arguments.push(self.expr()?);
        Ok(())
    }

    /// Parses `(x AS type)` or `(x AS type USING culture)`.
    #[inline(never)]
    fn cast(&mut self, form: ConvertForm, on_failure: OnFailure) -> Result<ExprKind> {
        self.parens(|parser| {
            let operand = parser.expr()?;
            parser.expect(Kw::As)?;
            let target = parser.type_name()?;
            let style = if form == ConvertForm::Parse && parser.eat(Kw::Using) {
                Some(parser.expr()?)
            } else {
                None
            };
            Ok(ExprKind::Convert(Box::new(Convert { form, on_failure, operand, target, style })))
        })
    }

    /// Parses `(type, x [, style])`.
    #[inline(never)]
    fn convert(&mut self, on_failure: OnFailure) -> Result<ExprKind> {
        self.parens(|parser| {
            let target = parser.type_name()?;
            parser.expect_kind(TokenKind::Comma)?;
            let operand = parser.expr()?;
            let style = if parser.eat_kind(TokenKind::Comma) { Some(parser.expr()?) } else { None };
            let form = ConvertForm::Convert;
            Ok(ExprKind::Convert(Box::new(Convert { form, on_failure, operand, target, style })))
        })
    }

    #[inline(never)]
    fn iif(&mut self) -> Result<ExprKind> {
        let condition = self.condition()?;
        self.expect_kind(TokenKind::Comma)?;
        let then = self.expr()?;
        self.expect_kind(TokenKind::Comma)?;
        let otherwise = self.expr()?;
        Ok(ExprKind::Iif(Box::new(Iif { condition, then, otherwise })))
    }

    /// Parses the arguments of the method whose name is the last part of `name`.
    #[inline(never)]
    pub(super) fn column_method(&mut self, name: ObjectName) -> Result<Method> {
        let method = column_of(name);
        let Some(target) = method.table else { return Err(self.unexpected()) };
        let span = target.span;
        let target = Expr { kind: ExprKind::Column(Box::new(column_of(target))), span };
        Ok(Method { target, name: method.column, arguments: self.arguments()? })
    }

    #[inline(never)]
    pub(super) fn static_method(&mut self, type_name: ObjectName) -> Result<ExprKind> {
        self.expect_kind(TokenKind::DoubleColon)?;
        let name = self.any_word()?;
        let arguments =
            if self.at_kind(TokenKind::LeftParen) { Some(self.arguments()?) } else { None };
        Ok(ExprKind::StaticMethod(Box::new(StaticMethod { type_name, name, arguments })))
    }

    /// Parses `OVER (..)` or `OVER name`.
    #[inline(never)]
    pub(super) fn over(&mut self) -> Result<Over> {
        let start = self.start();
        self.expect(Kw::Over)?;
        if self.at_ident() {
            let base = Some(self.ident()?);
            let span = self.span_from(start);
            return Ok(Over {
                base,
                partition_by: Vec::new(),
                order_by: Vec::new(),
                frame: None,
                span,
            });
        }
        let mut over = self.parens(Self::window)?;
        over.span = self.span_from(start);
        Ok(over)
    }

    /// Parses the contents of a window's parentheses.
    pub(super) fn window(&mut self) -> Result<Over> {
        let start = self.start();
        let at_word = matches!(self.keyword(), Kw::Partition | Kw::Rows | Kw::Range);
        let base = if self.at_ident() && !at_word { Some(self.ident()?) } else { None };
        let partition_by = if self.at(Kw::Partition) {
            self.advance();
            self.expect(Kw::By)?;
            self.comma_list(Self::expr)?
        } else {
            Vec::new()
        };
        let order_by = if self.at(Kw::Order) { self.order_by()? } else { Vec::new() };
        let frame = match self.keyword() {
            Kw::Rows => Some(self.frame(FrameUnit::Rows)?),
            Kw::Range => Some(self.frame(FrameUnit::Range)?),
            _ => None,
        };
        Ok(Over { base, partition_by, order_by, frame, span: self.span_from(start) })
    }

    fn frame(&mut self, unit: FrameUnit) -> Result<Frame> {
        self.advance();
        if !self.eat(Kw::Between) {
            return Ok(Frame { unit, start: self.frame_bound()?, end: FrameBound::CurrentRow });
        }
        let start = self.frame_bound()?;
        self.expect(Kw::And)?;
        Ok(Frame { unit, start, end: self.frame_bound()? })
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat_all(&[Kw::Current, Kw::Row]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat_all(&[Kw::Unbounded, Kw::Preceding]) {
            return Ok(FrameBound::UnboundedPreceding);
        }
        if self.eat_all(&[Kw::Unbounded, Kw::Following]) {
            return Ok(FrameBound::UnboundedFollowing);
        }
        let count = Box::new(self.expr()?);
        if self.eat(Kw::Preceding) {
            return Ok(FrameBound::Preceding(count));
        }
        self.expect(Kw::Following)?;
        Ok(FrameBound::Following(count))
    }
}
