//! Prints statements on principals, permissions and event sessions.

use super::{List, Listed, Print, Some_, put, when};
use tsql::ast::*;

/// Prints statements on principals, permissions and event sessions.
pub(crate) fn print(kind: &StatementKind, out: &mut String) {
    use StatementKind as S;
    match kind {
        S::Principal(it) => principal(it, out),
        S::Permission(it) => permission(it, out),
        S::AlterAuthorization(it) => {
            put!(out, "ALTER AUTHORIZATION ON", it.securable, "TO");
            put!(out, when(it.owner.is_none(), "SCHEMA OWNER"), it.owner);
        }
        S::CreateEventSession(it) => {
            let CreateEventSession { name, scope, events, targets, options } = &**it;
            put!(out, "CREATE EVENT SESSION", name, scope);
            events.iter().for_each(|event| put!(out, "ADD EVENT", event));
            targets.iter().for_each(|target| put!(out, "ADD TARGET", target));
            put!(out, Some_("WITH", options));
        }
        S::AlterEventSession(it) => {
            let AlterEventSession { name, scope, actions, options } = &**it;
            put!(out, "ALTER EVENT SESSION", name, scope);
            actions.iter().for_each(|action| put!(out, action));
            put!(out, Some_("WITH", options));
        }
        S::DropEventSession(it) => {
            put!(out, "DROP EVENT SESSION", when(it.if_exists, "IF EXISTS"), it.name, it.scope)
        }
        other => panic!("printed elsewhere: {other:?}"),
    }
}

fn principal(it: &PrincipalStatement, out: &mut String) {
    use PrincipalAction as A;
    let kind = match it.kind {
        PrincipalKind::Role => "ROLE",
        PrincipalKind::ServerRole => "SERVER ROLE",
        PrincipalKind::ApplicationRole => "APPLICATION ROLE",
        PrincipalKind::User => "USER",
        PrincipalKind::Login => "LOGIN",
    };
    let create =
        matches!(it.action, A::CreateRole { .. } | A::CreateUser { .. } | A::CreateLogin { .. })
            || it.kind == PrincipalKind::ApplicationRole;
    put!(out, if create { "CREATE" } else { "ALTER" }, kind, it.name);
    match &it.action {
        A::CreateRole { owner } => put!(out, super::With("AUTHORIZATION", owner)),
        A::CreateUser { source, options } => {
            match source {
                UserSource::Same => {}
                UserSource::Login(login) => put!(out, "FOR LOGIN", login),
                UserSource::WithoutLogin => put!(out, "WITHOUT LOGIN"),
                UserSource::Other(words) => put!(out, "FROM", words),
            }
            put!(out, Listed("WITH", options));
        }
        A::CreateLogin { from, options } => {
            put!(out, super::With("FROM", from), Listed("WITH", options))
        }
        A::AddMember(member) => put!(out, "ADD MEMBER", member),
        A::DropMember(member) => put!(out, "DROP MEMBER", member),
        A::Alter(options) => put!(out, Listed("WITH", options)),
        A::AlterLogin(options) => put!(out, Listed("WITH", options)),
        A::Enable => put!(out, "ENABLE"),
        A::Disable => put!(out, "DISABLE"),
    }
}

impl Print for LoginOption {
    fn print(&self, out: &mut String) {
        match self {
            LoginOption::Password { password, hashed, must_change, unlock, old_password } => {
                put!(out, "PASSWORD =", password, when(*hashed, "HASHED"));
                put!(out, when(*must_change, "MUST_CHANGE"), when(*unlock, "UNLOCK"));
                put!(out, super::With("OLD_PASSWORD =", old_password));
            }
            LoginOption::Other(option) => put!(out, option),
        }
    }
}

fn permission(it: &Permission, out: &mut String) {
    let Permission { action, permissions, securable, principals, grant_option, cascade, grantor } =
        it;
    let revoke = *action == PermissionAction::Revoke;
    put!(
        out,
        format!("{action:?}").to_uppercase(),
        when(revoke && *grant_option, "GRANT OPTION FOR")
    );
    for (index, (name, columns)) in permissions.iter().enumerate() {
        put!(out, when(index > 0, ","), name, Some_("", columns));
    }
    put!(out, super::With("ON", securable), "TO", List(principals));
    put!(out, when(!revoke && *grant_option, "WITH GRANT OPTION"), when(*cascade, "CASCADE"));
    put!(out, super::With("AS", grantor));
}

impl Print for Securable {
    fn print(&self, out: &mut String) {
        let Securable { class, name, columns, span: _ } = self;
        put!(out, class, when(class.is_some(), "::"), name, Some_("", columns));
    }
}

impl Print for EventScope {
    fn print(&self, out: &mut String) {
        put!(out, if *self == EventScope::Server { "ON SERVER" } else { "ON DATABASE" });
    }
}

impl Print for EventName {
    fn print(&self, out: &mut String) {
        let EventName { module, package, name, span: _ } = self;
        put!(out, module, when(module.is_some(), "."), package, when(package.is_some(), "."), name);
    }
}

fn settings(settings: &[(Ident, Literal)], out: &mut String) {
    for (index, (name, value)) in settings.iter().enumerate() {
        put!(out, if index == 0 { "SET" } else { "," }, name, "=", value);
    }
}

impl Print for EventDefinition {
    fn print(&self, out: &mut String) {
        let EventDefinition { name, settings, actions, predicate } = self;
        put!(out, name, "(");
        self::settings(settings, out);
        put!(out, Some_("ACTION", actions), super::With("WHERE", predicate), ")");
    }
}

impl Print for TargetDefinition {
    fn print(&self, out: &mut String) {
        put!(out, self.name, when(!self.settings.is_empty(), "("));
        settings(&self.settings, out);
        put!(out, when(!self.settings.is_empty(), ")"));
    }
}

impl Print for AlterEventAction {
    fn print(&self, out: &mut String) {
        match self {
            AlterEventAction::AddEvent(event) => put!(out, "ADD EVENT", event),
            AlterEventAction::DropEvent(name) => put!(out, "DROP EVENT", name),
            AlterEventAction::AddTarget(target) => put!(out, "ADD TARGET", target),
            AlterEventAction::DropTarget(name) => put!(out, "DROP TARGET", name),
            AlterEventAction::Start => put!(out, "STATE = START"),
            AlterEventAction::Stop => put!(out, "STATE = STOP"),
        }
    }
}

impl Print for EventPredicate {
    fn print(&self, out: &mut String) {
        let chain = |list: &[EventPredicate], word: &'static str, out: &mut String| {
            for (index, it) in list.iter().enumerate() {
                put!(out, when(index > 0, word), "(", it, ")");
            }
        };
        match self {
            EventPredicate::And(list) => chain(list, "AND", out),
            EventPredicate::Or(list) => chain(list, "OR", out),
            EventPredicate::Not(it) => put!(out, "NOT (", it, ")"),
            EventPredicate::Compare { source, op, value } => {
                put!(out, source, super::expr::compare(*op), value)
            }
            EventPredicate::Like { source, pattern } => put!(out, source, "LIKE", pattern),
            EventPredicate::Comparator { comparator, source, value } => {
                put!(out, comparator, "(", source, ",", value, ")")
            }
        }
    }
}
