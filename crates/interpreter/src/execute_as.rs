//! EXECUTE AS, REVERT and EXECUTE ('..') AS: change the principal that the session runs as.

use tsql::ast::{self, ExecuteAsWho};
use types::{Error, Msg, Value};

use crate::{Runner, Stop};
use ::executor::Cx;
use ::plan::program::{Leaf, LeafAst};
use ::session::context::{End, SecurityToken};
use metadata::format::text_of;

impl Runner<'_> {
    /// Runs EXECUTE AS USER, LOGIN and CALLER.
    pub fn execute_as(&self, statement: &ast::ExecuteAs, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let marked = statement.no_revert || statement.cookie.is_some();
        if marked && !self.program.is_text() {
            return Err(Msg::ExecuteAsOption.into());
        }
        let who = self.who(&statement.who, cx)?;
        let mut end = if statement.no_revert { End::Session } else { End::Revert };
        if let Some(variable) = &statement.cookie {
            end = End::by_cookie();
            if let End::Cookie(cookie) = &end {
                let value = Value::VarBinary(types::Bytes::copy_from(cookie));
                *self.variable(variable, cx)? = value;
            }
        }
        cx.session.identity.push_context(who, end);
        Ok(())
    }

    /// Resolves the principal of EXECUTE AS.
    pub fn who(&self, who: &ExecuteAsWho, cx: &mut Cx<'_>) -> Result<SecurityToken, Stop> {
        cx.session.refresh_catalog();
        match who {
            ExecuteAsWho::Caller => Ok(cx.session.identity.caller()),
            ExecuteAsWho::User(name) => {
                let name = self.name_of(name, cx)?;
                Ok(cx.session.user_to_be(&name)?)
            }
            ExecuteAsWho::Login(name) => {
                let name = self.name_of(name, cx)?;
                Ok(cx.session.login_to_be(&name)?)
            }
            ExecuteAsWho::SelfUser => Err(Error::from(Msg::SyntaxNear("SELF")).into()),
            ExecuteAsWho::Owner => Err(Error::from(Msg::SyntaxNear("OWNER")).into()),
        }
    }

    fn name_of(&self, name: &ast::Expr, cx: &mut Cx<'_>) -> Result<String, Stop> {
        let value = self.value(&Leaf::new(LeafAst::Value(name.clone())), cx)?;
        Ok(text_of(&value, cx.session)?.unwrap_or_default())
    }

    /// Runs REVERT, with its cookie if one is given.
    pub fn revert(&self, cookie: Option<&ast::Variable>, cx: &mut Cx<'_>) -> Result<(), Stop> {
        let given = match cookie {
            None => None,
            Some(variable) => match self.variable(variable, cx)? {
                Value::VarBinary(bytes) => Some(bytes.clone()),
                Value::Null => Some(types::Bytes::new()),
                _ => return Err(Error::from(Msg::RevertCookieType).with_state(2).into()),
            },
        };
        Ok(cx.session.identity.revert(given.as_deref())?)
    }

    fn variable<'c>(
        &self,
        variable: &ast::Variable,
        cx: &'c mut Cx<'_>,
    ) -> Result<&'c mut Value, Stop> {
        let is_it =
            |v: &::plan::program::VariableDef| ::catalog::name::Name::same(&v.name, &variable.name);
        let place = self.program.variables.iter().position(is_it);
        match place {
            Some(place) => Ok(&mut cx.frame.variables[place]),
            None => Err(Msg::MustDeclareScalar(&variable.name).into()),
        }
    }
}
