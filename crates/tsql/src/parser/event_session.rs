//! Parses CREATE, ALTER and DROP EVENT SESSION.

use types::Result;

use super::Parser;
use crate::ast::{
    AlterEventAction, AlterEventSession, CreateEventSession, EventDefinition, EventName,
    EventPredicate, EventScope, Ident, Literal, NamedOption, StatementKind, TargetDefinition,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Parses CREATE EVENT SESSION, starting behind CREATE.
    pub(super) fn create_event_session(&mut self) -> Result<StatementKind> {
        self.expect_all(&[Kw::Event, Kw::Session])?;
        let name = self.ident()?;
        let scope = self.event_scope()?;
        let (mut events, mut targets) = (Vec::new(), Vec::new());
        while self.at(Kw::Add) {
            if self.keyword_at(1) == Kw::Event {
                events.push(self.add_event()?);
            } else {
                targets.push(self.add_target()?);
            }
            // The grammar has commas between events; scripts in use have one before targets too.
            if self.eat_kind(TokenKind::Comma) && !self.at(Kw::Add) {
                return Err(self.unexpected());
            }
        }
        let options = self.session_options()?;
        let session = CreateEventSession { name, scope, events, targets, options };
        Ok(StatementKind::CreateEventSession(Box::new(session)))
    }

    /// Parses ON SERVER or ON DATABASE.
    pub(super) fn event_scope(&mut self) -> Result<EventScope> {
        self.expect(Kw::On)?;
        if self.eat(Kw::Database) {
            return Ok(EventScope::Database);
        }
        self.expect(Kw::Server)?;
        Ok(EventScope::Server)
    }

    /// Parses `WITH (NAME = value, ..)`; commas may be left out.
    fn session_options(&mut self) -> Result<Vec<NamedOption>> {
        if !self.eat(Kw::With) {
            return Ok(Vec::new());
        }
        self.parens(|parser| {
            let mut options = vec![parser.named_option()?];
            loop {
                let comma = parser.eat_kind(TokenKind::Comma);
                if !comma && parser.at_kind(TokenKind::RightParen) {
                    return Ok(options);
                }
                options.push(parser.named_option()?);
            }
        })
    }

    fn event_name(&mut self) -> Result<EventName> {
        let start = self.start();
        let mut parts = vec![self.any_word()?];
        while parts.len() < 3 && self.eat_kind(TokenKind::Dot) {
            parts.push(self.any_word()?);
        }
        let Some(name) = parts.pop() else { return Err(self.unexpected()) };
        let package = parts.pop();
        let module = parts.pop();
        Ok(EventName { module, package, name, span: self.span_from(start) })
    }

    fn add_event(&mut self) -> Result<EventDefinition> {
        self.expect_all(&[Kw::Add, Kw::Event])?;
        let name = self.event_name()?;
        let mut event =
            EventDefinition { name, settings: Vec::new(), actions: Vec::new(), predicate: None };
        if !self.at_kind(TokenKind::LeftParen) {
            return Ok(event);
        }
        self.parens(|parser| {
            if parser.eat(Kw::Set) {
                event.settings = parser.comma_list(Self::setting)?;
            }
            if parser.eat(Kw::Action) {
                event.actions = parser.paren_list(Self::event_name)?;
            }
            if parser.eat(Kw::Where) {
                event.predicate = Some(parser.event_predicate()?);
            }
            Ok(())
        })?;
        Ok(event)
    }

    fn add_target(&mut self) -> Result<TargetDefinition> {
        self.expect_all(&[Kw::Add, Kw::Target])?;
        let name = self.event_name()?;
        let mut settings = Vec::new();
        if self.at_kind(TokenKind::LeftParen) {
            settings = self.parens(|parser| {
                parser.expect(Kw::Set)?;
                parser.comma_list(Self::setting)
            })?;
        }
        Ok(TargetDefinition { name, settings })
    }

    fn setting(&mut self) -> Result<(Ident, Literal)> {
        let name = self.any_word()?;
        self.expect_kind(TokenKind::Equal)?;
        Ok((name, self.event_value()?))
    }

    /// Parses a number or string, perhaps in parentheses.
    fn event_value(&mut self) -> Result<Literal> {
        if self.at_kind(TokenKind::LeftParen) {
            return self.parens(Self::event_value);
        }
        self.signed_literal()
    }

    fn event_predicate(&mut self) -> Result<EventPredicate> {
        self.event_chain(Kw::Or, Self::event_and, EventPredicate::Or)
    }

    fn event_and(&mut self) -> Result<EventPredicate> {
        self.event_chain(Kw::And, Self::event_factor, EventPredicate::And)
    }

    fn event_chain(
        &mut self,
        operator: Kw,
        operand: fn(&mut Self) -> Result<EventPredicate>,
        join: fn(Vec<EventPredicate>) -> EventPredicate,
    ) -> Result<EventPredicate> {
        let first = operand(self)?;
        if !self.at(operator) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.eat(operator) {
            operands.push(operand(self)?);
        }
        Ok(join(operands))
    }

    fn event_factor(&mut self) -> Result<EventPredicate> {
        if self.eat(Kw::Not) {
            return Ok(EventPredicate::Not(Box::new(self.nested(Self::event_factor)?)));
        }
        // `([mode] = 4)` is a predicate in parentheses, `(sqlserver.x) = 4` a source in
        // parentheses.
        if self.at_kind(TokenKind::LeftParen) && !self.at_paren_source() {
            return self.parens(Self::event_predicate);
        }
        let source = self.predicate_source()?;
        if self.at_kind(TokenKind::LeftParen) {
            return self.comparator(source);
        }
        let negated = self.at_all(&[Kw::Not, Kw::Like]) && self.eat(Kw::Not);
        if self.eat(Kw::Like) {
            let like = EventPredicate::Like { source, pattern: self.event_value()? };
            return Ok(if negated { EventPredicate::Not(Box::new(like)) } else { like });
        }
        let Some(op) = self.compare_op() else { return Err(self.unexpected()) };
        Ok(EventPredicate::Compare { source, op, value: self.event_value()? })
    }

    /// Returns whether the parentheses hold a name only.
    fn at_paren_source(&self) -> bool {
        let close = self.token().matching();
        let inside = self.tokens.get(self.position + 1..close).unwrap_or_default();
        !inside.is_empty()
            && inside.iter().all(|token| {
                token.kind == TokenKind::Dot
                    || token.kind == TokenKind::Word
                    || self.is_ident(*token)
            })
    }

    fn predicate_source(&mut self) -> Result<EventName> {
        if self.at_kind(TokenKind::LeftParen) {
            self.parens(Self::event_name)
        } else {
            self.event_name()
        }
    }

    fn comparator(&mut self, comparator: EventName) -> Result<EventPredicate> {
        self.parens(|parser| {
            let source = parser.predicate_source()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(EventPredicate::Comparator { comparator, source, value: parser.event_value()? })
        })
    }

    /// Parses ALTER EVENT SESSION, starting behind ALTER.
    pub(super) fn alter_event_session(&mut self) -> Result<StatementKind> {
        self.expect_all(&[Kw::Event, Kw::Session])?;
        let name = self.ident()?;
        let scope = self.event_scope()?;
        let mut actions = Vec::new();
        while let Some(action) = self.alter_event_action()? {
            actions.push(action);
            let comma = self.eat_kind(TokenKind::Comma);
            if comma && !matches!(self.keyword(), Kw::Add | Kw::Drop) {
                return Err(self.unexpected());
            }
        }
        let options = self.session_options()?;
        if actions.is_empty() && options.is_empty() {
            return Err(self.unexpected());
        }
        let session = AlterEventSession { name, scope, actions, options };
        Ok(StatementKind::AlterEventSession(Box::new(session)))
    }

    fn alter_event_action(&mut self) -> Result<Option<AlterEventAction>> {
        let action = match (self.keyword(), self.keyword_at(1)) {
            (Kw::Add, Kw::Event) => AlterEventAction::AddEvent(Box::new(self.add_event()?)),
            (Kw::Add, _) => AlterEventAction::AddTarget(self.add_target()?),
            (Kw::Drop, Kw::Event) if self.keyword_at(2) != Kw::Session => {
                self.position += 2;
                AlterEventAction::DropEvent(self.event_name()?)
            }
            (Kw::Drop, Kw::Target) => {
                self.position += 2;
                AlterEventAction::DropTarget(self.event_name()?)
            }
            (Kw::State, _) => {
                self.advance();
                self.expect_kind(TokenKind::Equal)?;
                if self.eat(Kw::Start) {
                    return Ok(Some(AlterEventAction::Start));
                }
                self.expect(Kw::Stop)?;
                AlterEventAction::Stop
            }
            _ => return Ok(None),
        };
        Ok(Some(action))
    }
}
