//! Parses statements on roles, users, logins and permissions.

use types::Result;

use super::Parser;
use crate::ast::{
    AlterAuthorization, Ident, LoginOption, Permission, PermissionAction, PrincipalAction,
    PrincipalKind, PrincipalStatement, Securable, StatementKind, UserSource,
};
use crate::keyword::Keyword as Kw;
use crate::lexer::TokenKind;
use crate::permission::{is_permission, starts_permission};

impl Parser<'_> {
    fn principal_kind(&mut self) -> PrincipalKind {
        match self.advance().keyword {
            Kw::Server => {
                self.advance();
                PrincipalKind::ServerRole
            }
            Kw::Application => {
                self.advance();
                PrincipalKind::ApplicationRole
            }
            Kw::User => PrincipalKind::User,
            Kw::Login => PrincipalKind::Login,
            _ => PrincipalKind::Role,
        }
    }

    /// Parses CREATE ROLE, USER and LOGIN, starting behind CREATE.
    pub(super) fn create_principal(&mut self) -> Result<StatementKind> {
        let kind = self.principal_kind();
        let name = self.principal_name()?;
        let action = match kind {
            PrincipalKind::Role | PrincipalKind::ServerRole => {
                let owner = if self.eat(Kw::Authorization) { Some(self.ident()?) } else { None };
                PrincipalAction::CreateRole { owner }
            }
            PrincipalKind::ApplicationRole => {
                self.expect(Kw::With)?;
                PrincipalAction::Alter(self.once_list(Self::named_option)?)
            }
            PrincipalKind::User => self.create_user()?,
            PrincipalKind::Login => self.create_login()?,
        };
        let statement = PrincipalStatement { kind, name, action };
        Ok(StatementKind::Principal(Box::new(statement)))
    }

    /// Parses a principal's name; `public` is accepted although it is a reserved word.
    fn principal_name(&mut self) -> Result<Ident> {
        match self.keyword() {
            Kw::Public => self.any_word(),
            _ => self.ident(),
        }
    }

    fn create_user(&mut self) -> Result<PrincipalAction> {
        let source = if self.eat_all(&[Kw::Without, Kw::Login]) {
            UserSource::WithoutLogin
        } else if self.eat(Kw::For) || self.eat(Kw::From) {
            if self.eat(Kw::Login) {
                UserSource::Login(self.ident()?)
            } else {
                UserSource::Other(self.origin()?)
            }
        } else {
            UserSource::Same
        };
        let options =
            if self.eat(Kw::With) { self.once_list(Self::named_option)? } else { Vec::new() };
        Ok(PrincipalAction::CreateUser { source, options })
    }

    /// Parses WINDOWS, EXTERNAL PROVIDER, CERTIFICATE c, ASYMMETRIC KEY k.
    fn origin(&mut self) -> Result<Box<str>> {
        const ORIGINS: [(&[&str], bool); 4] = [
            (&["WINDOWS"], false),
            (&["EXTERNAL", "PROVIDER"], false),
            (&["CERTIFICATE"], true),
            (&["ASYMMETRIC", "KEY"], true),
        ];
        let at = |(words, _): &&(&[&str], bool)| {
            words.iter().enumerate().all(|(ahead, word)| self.is_word(self.token_at(ahead), word))
        };
        let Some((words, named)) = ORIGINS.iter().find(at) else { return Err(self.unexpected()) };
        self.position += words.len();
        let name = if *named { Some(self.ident()?) } else { None };
        let origin = words.join(" ");
        Ok(match name {
            Some(name) => format!("{origin} {}", name.to_ascii_uppercase()).into(),
            None => origin.into(),
        })
    }

    fn create_login(&mut self) -> Result<PrincipalAction> {
        if self.eat(Kw::From) {
            let from = Some(self.origin()?);
            let options =
                if self.eat(Kw::With) { self.once_list(Self::login_option)? } else { Vec::new() };
            return Ok(PrincipalAction::CreateLogin { from, options });
        }
        self.expect(Kw::With)?;
        let options = self.once_list(Self::login_option)?;
        Ok(PrincipalAction::CreateLogin { from: None, options })
    }

    fn login_option(&mut self) -> Result<LoginOption> {
        if self.at_all(&[Kw::No, Kw::Credential]) {
            return Err(self.not_supported("ALTER LOGIN .. WITH NO CREDENTIAL", self.start()));
        }
        if !self.at_all(&[Kw::Password]) {
            return Ok(LoginOption::Other(self.named_option()?));
        }
        self.advance();
        self.expect_kind(TokenKind::Equal)?;
        if self.kind() == TokenKind::Word {
            return Err(self.unexpected());
        }
        let password = self.primary()?;
        let (mut hashed, mut must_change, mut unlock) = (false, false, false);
        let mut old_password = None;
        loop {
            match self.keyword() {
                Kw::Hashed => hashed = true,
                Kw::MustChange => must_change = true,
                Kw::Unlock => unlock = true,
                Kw::OldPassword => {
                    self.advance();
                    self.expect_kind(TokenKind::Equal)?;
                    old_password = Some(self.primary()?);
                    continue;
                }
                _ => break,
            }
            self.advance();
        }
        Ok(LoginOption::Password { password, hashed, must_change, unlock, old_password })
    }

    /// Parses ALTER ROLE, USER and LOGIN, starting behind ALTER.
    pub(super) fn alter_principal(&mut self) -> Result<StatementKind> {
        let kind = self.principal_kind();
        let name = self.principal_name()?;
        let action = match (self.keyword(), self.keyword_at(1)) {
            (Kw::Add, Kw::Member) => {
                self.position += 2;
                PrincipalAction::AddMember(self.principal_name()?)
            }
            (Kw::Drop, Kw::Member) => {
                self.position += 2;
                PrincipalAction::DropMember(self.principal_name()?)
            }
            (Kw::Add | Kw::Drop, Kw::Credential) if kind == PrincipalKind::Login => {
                let verb = if self.at(Kw::Add) { "ADD" } else { "DROP" };
                self.advance();
                return self.unsupported_as(format!("ALTER LOGIN .. {verb} CREDENTIAL").into());
            }
            (Kw::Enable, _) => {
                self.advance();
                PrincipalAction::Enable
            }
            (Kw::Disable, _) => {
                self.advance();
                PrincipalAction::Disable
            }
            (Kw::With, _) if kind == PrincipalKind::Login => {
                self.advance();
                PrincipalAction::AlterLogin(self.once_list(Self::login_option)?)
            }
            _ => {
                self.expect(Kw::With)?;
                PrincipalAction::Alter(self.once_list(Self::named_option)?)
            }
        };
        let statement = PrincipalStatement { kind, name, action };
        Ok(StatementKind::Principal(Box::new(statement)))
    }

    /// Parses GRANT, DENY and REVOKE.
    #[inline(never)]
    pub(super) fn permission(&mut self) -> Result<StatementKind> {
        let action = match self.advance().keyword {
            Kw::Grant => PermissionAction::Grant,
            Kw::Deny => PermissionAction::Deny,
            _ => PermissionAction::Revoke,
        };
        let mut grant_option =
            action == PermissionAction::Revoke && self.eat_all(&[Kw::Grant, Kw::Option, Kw::For]);
        let permissions = self.comma_list(Self::permission_name)?;
        let securable = if self.eat(Kw::On) { Some(self.securable()?) } else { None };
        if !self.eat(Kw::To) {
            self.expect(Kw::From)?;
        }
        let principals = self.comma_list(Self::principal_name)?;
        let grants = action == PermissionAction::Grant;
        grant_option |= grants && self.eat_all(&[Kw::With, Kw::Grant, Kw::Option]);
        let cascade = !grants && self.eat(Kw::Cascade);
        let grantor = if self.eat(Kw::As) { Some(self.principal_name()?) } else { None };
        Ok(StatementKind::Permission(Box::new(Permission {
            action,
            permissions,
            securable,
            principals,
            grant_option,
            cascade,
            grantor,
        })))
    }

    /// Parses `VIEW SERVER STATE`, `SELECT (a, b)`, `ALL PRIVILEGES`. The error names the first word that
    /// no permission goes on with.
    fn permission_name(&mut self) -> Result<(Box<str>, Vec<Ident>)> {
        let mut name = String::new();
        while self.at_kind(TokenKind::Word) && !matches!(self.keyword(), Kw::On | Kw::To | Kw::From)
        {
            let at = self.position;
            let word = match self.keyword() {
                Kw::Exec => "EXECUTE".to_owned(),
                Kw::Proc => "PROCEDURE".to_owned(),
                _ => self.text_of(self.tokens[at]).to_ascii_uppercase(),
            };
            self.any_word()?;
            if name == "ALL" && word == "PRIVILEGES" {
                continue;
            }
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&word);
            if !starts_permission(&name) {
                self.position = at;
                return Err(self.unexpected());
            }
        }
        if !is_permission(&name) {
            return Err(self.unexpected());
        }
        Ok((name.into(), self.optional_paren_list(Self::ident)?))
    }

    fn securable(&mut self) -> Result<Securable> {
        let start = self.start();
        let class = self.securable_class()?;
        let name = self.object_name()?;
        let columns = self.optional_paren_list(Self::ident)?;
        Ok(Securable { class, name, columns, span: self.span_from(start) })
    }

    /// Parses `CLASS ::` if it follows.
    pub(super) fn securable_class(&mut self) -> Result<Option<Box<str>>> {
        let words = (0..4).take_while(|&ahead| self.kind_at(ahead) == TokenKind::Word).count();
        if self.kind_at(words) != TokenKind::DoubleColon || words == 0 {
            return Ok(None);
        }
        let mut class = String::new();
        for word in 0..words {
            if word > 0 {
                class.push(' ');
            }
            class.push_str(&self.any_word()?.to_ascii_uppercase());
        }
        self.advance();
        Ok(Some(class.into()))
    }

    /// Parses ALTER AUTHORIZATION, starting behind ALTER.
    pub(super) fn alter_authorization(&mut self) -> Result<StatementKind> {
        self.expect_all(&[Kw::Authorization, Kw::On])?;
        let securable = self.securable()?;
        self.expect(Kw::To)?;
        let owner = if self.eat_all(&[Kw::Schema, Kw::Owner]) { None } else { Some(self.ident()?) };
        let alter = AlterAuthorization { securable, owner };
        Ok(StatementKind::AlterAuthorization(Box::new(alter)))
    }
}
