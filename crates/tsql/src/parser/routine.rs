//! Parses CREATE and ALTER of procedures, functions and triggers.

use types::Result;

use super::Parser;
use crate::ast::{
    CreateFunction, CreateMode, CreateProcedure, CreateTrigger, EnableTrigger, Expr, ExprKind,
    FunctionBody, Literal, Parameter, ParameterType, RoutineBody, RoutineOption, Statement,
    StatementKind, TriggerTarget, TriggerTiming, UnaryOp,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn create_procedure(
        &mut self,
        mode: CreateMode,
        start: u32,
    ) -> Result<StatementKind> {
        self.must_be_first(start, "CREATE/ALTER PROCEDURE")?;
        self.advance();
        let name = self.local_name()?;
        let number = self.procedure_number()?;
        let parameters = self.procedure_parameters()?;
        let options =
            if self.eat(Kw::With) { self.once_list(Self::routine_option)? } else { Vec::new() };
        let for_replication = self.eat_all(&[Kw::For, Kw::Replication]);
        self.expect(Kw::As)?;
        self.native = options.contains(&RoutineOption::NativeCompilation);
        let body = self.routine_body()?;
        let definition = self.span_from(start);
        Ok(StatementKind::CreateProcedure(Box::new(CreateProcedure {
            mode,
            name,
            number,
            parameters,
            options,
            for_replication,
            body,
            definition,
        })))
    }

    /// Parses parameters with or without parentheses.
    fn procedure_parameters(&mut self) -> Result<Vec<Parameter>> {
        if self.at_kind(TokenKind::LeftParen) {
            return self.parens(|parser| {
                if parser.at_kind(TokenKind::RightParen) {
                    return Ok(Vec::new());
                }
                parser.comma_list(Self::parameter)
            });
        }
        if self.at_variable() { self.comma_list(Self::parameter) } else { Ok(Vec::new()) }
    }

    fn parameter(&mut self) -> Result<Parameter> {
        let start = self.start();
        let variable = self.variable()?;
        self.eat(Kw::As);
        let data_type = if self.eat(Kw::Cursor) {
            self.eat(Kw::Varying);
            ParameterType::Cursor
        } else {
            ParameterType::Type(self.type_name()?)
        };
        let nullable = self.nullability();
        let default =
            if self.eat_kind(TokenKind::Equal) { Some(self.parameter_default()?) } else { None };
        let (mut output, mut readonly) = (false, false);
        loop {
            match self.keyword() {
                Kw::Output | Kw::Out if !output => output = true,
                Kw::Readonly if !readonly => readonly = true,
                _ => break,
            }
            self.advance();
        }
        let span = self.span_from(start);
        Ok(Parameter { variable, data_type, nullable, default, output, readonly, span })
    }

    /// Parses a constant with or without sign, or a word as a string.
    fn parameter_default(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Minus | TokenKind::Plus => {
                let op =
                    if self.at_kind(TokenKind::Minus) { UnaryOp::Minus } else { UnaryOp::Plus };
                self.advance();
                let value_start = self.start();
                let literal = ExprKind::Literal(self.literal()?);
                let operand = Expr { kind: literal, span: self.span_from(value_start) };
                ExprKind::Unary { op, operand: Box::new(operand) }
            }
            TokenKind::LeftParen => return self.parens(Self::parameter_default),
            TokenKind::Variable => ExprKind::Variable(self.variable()?),
            _ if self.at_literal() => ExprKind::Literal(self.literal()?),
            _ => ExprKind::Literal(Literal::String(self.ident()?.as_str().into())),
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    fn routine_option(&mut self) -> Result<RoutineOption> {
        let option = match self.keyword() {
            Kw::NativeCompilation => RoutineOption::NativeCompilation,
            Kw::Schemabinding => RoutineOption::SchemaBinding,
            Kw::Encryption => RoutineOption::Encryption,
            Kw::Recompile => RoutineOption::Recompile,
            Kw::Exec | Kw::Execute => {
                self.advance();
                self.expect(Kw::As)?;
                return Ok(RoutineOption::ExecuteAs(self.execute_as_who()?));
            }
            Kw::Returns => {
                self.advance();
                self.expect_all(&[Kw::Null, Kw::On, Kw::Null, Kw::Input])?;
                return Ok(RoutineOption::ReturnsNullOnNullInput);
            }
            Kw::Called => {
                self.advance();
                self.expect_all(&[Kw::On, Kw::Null, Kw::Input])?;
                return Ok(RoutineOption::CalledOnNullInput);
            }
            Kw::Inline => {
                self.advance();
                self.expect_kind(TokenKind::Equal)?;
                return Ok(RoutineOption::Inline(self.on_off()?));
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(option)
    }

    /// Parses everything to the end of the batch. A body may be empty.
    fn routine_body(&mut self) -> Result<RoutineBody> {
        if self.eat_all(&[Kw::External, Kw::Name]) {
            return Ok(RoutineBody::External(self.object_name()?));
        }
        // A SET QUOTED_IDENTIFIER inside a body changes nothing while the body is parsed.
        let quotes = self.quotes;
        let statements = self.statements_to_end()?;
        self.quotes = quotes;
        Ok(RoutineBody::Statements(statements))
    }

    pub(super) fn create_function(
        &mut self,
        mode: CreateMode,
        start: u32,
    ) -> Result<StatementKind> {
        self.must_be_first(start, "CREATE FUNCTION")?;
        self.advance();
        let name = self.local_name()?;
        let parameters = self.parens(|parser| {
            if parser.at_kind(TokenKind::RightParen) {
                return Ok(Vec::new());
            }
            parser.comma_list(Self::parameter)
        })?;
        self.expect(Kw::Returns)?;
        let (options, body) = self.function_body()?;
        let definition = self.span_from(start);
        self.must_be_last()?;
        let function = CreateFunction { mode, name, parameters, options, body, definition };
        Ok(StatementKind::CreateFunction(Box::new(function)))
    }

    fn function_body(&mut self) -> Result<(Vec<RoutineOption>, FunctionBody)> {
        if self.at_variable() {
            let variable = self.variable()?;
            self.expect(Kw::Table)?;
            let elements = self.table_elements()?;
            let options = self.function_options()?;
            let body = self.function_block()?;
            return Ok((options, FunctionBody::Multi { variable, elements, body }));
        }
        if self.at(Kw::Table) {
            return self.table_function_body();
        }
        let returns = self.type_name()?;
        let options = self.function_options()?;
        if self.eat_all(&[Kw::External, Kw::Name]) {
            let method = self.object_name()?;
            let (returns, columns) = (Some(returns), Vec::new());
            return Ok((options, FunctionBody::External { returns, columns, method }));
        }
        let body = self.function_block()?;
        Ok((options, FunctionBody::Scalar { returns, body }))
    }

    fn table_function_body(&mut self) -> Result<(Vec<RoutineOption>, FunctionBody)> {
        self.expect(Kw::Table)?;
        let columns = self.optional_paren_list(Self::column_definition)?;
        let options = self.function_options()?;
        if !columns.is_empty() && self.eat(Kw::Order) {
            self.paren_list(Self::index_column)?;
            self.eat(Kw::As);
        }
        if self.eat_all(&[Kw::External, Kw::Name]) {
            let method = self.object_name()?;
            return Ok((options, FunctionBody::External { returns: None, columns, method }));
        }
        if !columns.is_empty() {
            return Err(self.unexpected());
        }
        // A natively compiled inline function has no BEGIN ATOMIC: it is a RETURN as well.
        self.expect(Kw::Return)?;
        let parenthesis = self.at_kind(TokenKind::LeftParen) && !self.at_paren_query();
        if parenthesis {
            let (with, query) = self.parens(|parser| {
                let with = if parser.at(Kw::With) { Some(parser.with()?) } else { None };
                Ok((with, parser.query_expression()?))
            })?;
            return Ok((options, FunctionBody::Inline { with, query }));
        }
        let with = if self.at(Kw::With) { Some(self.with()?) } else { None };
        let query = self.query_expression()?;
        self.eat_kind(TokenKind::Semicolon);
        Ok((options, FunctionBody::Inline { with, query }))
    }

    /// Parses WITH and AS, starting behind RETURNS.
    fn function_options(&mut self) -> Result<Vec<RoutineOption>> {
        let options =
            if self.eat(Kw::With) { self.once_list(Self::routine_option)? } else { Vec::new() };
        self.eat(Kw::As);
        Ok(options)
    }

    fn function_block(&mut self) -> Result<Statement> {
        if self.at(Kw::Begin) { self.statement() } else { Err(self.unexpected()) }
    }

    pub(super) fn create_trigger(&mut self, mode: CreateMode, start: u32) -> Result<StatementKind> {
        self.must_be_first(start, "CREATE TRIGGER")?;
        self.advance();
        let name = self.local_name()?;
        self.expect(Kw::On)?;
        let target = self.trigger_target()?;
        let options =
            if self.eat(Kw::With) { self.once_list(Self::routine_option)? } else { Vec::new() };
        let timing = if self.eat_all(&[Kw::Instead, Kw::Of]) {
            TriggerTiming::InsteadOf
        } else {
            if !self.eat(Kw::After) {
                self.expect(Kw::For)?;
            }
            TriggerTiming::After
        };
        let written: Vec<Box<str>> =
            self.comma_list(|parser| Ok(parser.any_word()?.as_str().into()))?;
        let events = written.iter().map(|event| event.to_ascii_uppercase().into()).collect();
        let append = self.eat_all(&[Kw::With, Kw::Append]);
        let not_for_replication = self.eat_all(&[Kw::Not, Kw::For, Kw::Replication]);
        self.expect(Kw::As)?;
        let body = self.routine_body()?;
        let definition = self.span_from(start);
        Ok(StatementKind::CreateTrigger(Box::new(CreateTrigger {
            mode,
            name,
            target,
            options,
            timing,
            events,
            events_written: written,
            append,
            not_for_replication,
            body,
            definition,
        })))
    }

    fn trigger_target(&mut self) -> Result<TriggerTarget> {
        if matches!(self.keyword(), Kw::Database | Kw::All) {
            return self.ddl_trigger_target();
        }
        Ok(TriggerTarget::Table(self.local_name()?))
    }

    pub(super) fn enable_trigger(&mut self) -> Result<StatementKind> {
        let enable = self.at(Kw::Enable);
        self.position += 2;
        let names = if self.eat(Kw::All) { Vec::new() } else { self.comma_list(Self::local_name)? };
        self.expect(Kw::On)?;
        let target = self.trigger_target()?;
        let trigger = EnableTrigger { enable, names, target };
        Ok(StatementKind::EnableTrigger(Box::new(trigger)))
    }
}
