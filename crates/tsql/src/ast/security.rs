//! Roles, users, logins and permissions.

use super::{Expr, Ident, NamedOption, ObjectName, Span};

/// A statement about a role, user or login; DROP is [`super::Drop`].
#[derive(Clone, Debug, PartialEq)]
pub struct PrincipalStatement {
    /// What kind of principal.
    pub kind: PrincipalKind,
    /// Its name; `None` is CURRENT, as in ALTER USER.
    pub name: Ident,
    /// What is done.
    pub action: PrincipalAction,
}

/// A kind of principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum PrincipalKind {
    Role,
    ServerRole,
    ApplicationRole,
    User,
    Login,
}

/// What is done to a principal.
#[derive(Clone, Debug, PartialEq)]
pub enum PrincipalAction {
    /// `CREATE ROLE r [AUTHORIZATION o]`
    CreateRole {
        /// Its owner.
        owner: Option<Ident>,
    },
    /// `CREATE USER u [FOR LOGIN l | WITHOUT LOGIN | FROM ..] [WITH ..]`
    CreateUser {
        /// Where it comes from.
        source: UserSource,
        /// WITH.
        options: Vec<NamedOption>,
    },
    /// `CREATE LOGIN l {WITH PASSWORD = .. | FROM WINDOWS ..}`
    CreateLogin {
        /// WINDOWS, EXTERNAL PROVIDER, CERTIFICATE c: in upper case.
        from: Option<Box<str>>,
        /// WITH.
        options: Vec<LoginOption>,
    },
    /// `ALTER ROLE r ADD MEMBER m`
    AddMember(Ident),
    /// `ALTER ROLE r DROP MEMBER m`
    DropMember(Ident),
    /// `ALTER ROLE r WITH NAME = n`, `ALTER USER u WITH ..`
    Alter(Vec<NamedOption>),
    /// `ALTER LOGIN l WITH ..`
    AlterLogin(Vec<LoginOption>),
    /// `ALTER LOGIN l ENABLE`
    Enable,
    /// `ALTER LOGIN l DISABLE`
    Disable,
}

/// Where a user comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum UserSource {
    /// The login of the same name, or a contained user.
    Same,
    /// FOR LOGIN l, FROM LOGIN l
    Login(Ident),
    /// WITHOUT LOGIN
    WithoutLogin,
    /// FROM EXTERNAL PROVIDER, FOR CERTIFICATE c, ..: in upper case
    Other(Box<str>),
}

/// An option of a login.
#[derive(Clone, Debug, PartialEq)]
pub enum LoginOption {
    /// `PASSWORD = 'p' [HASHED] [MUST_CHANGE] [UNLOCK]`, also `OLD_PASSWORD = 'p'` behind it.
    Password {
        /// The password or its hash.
        password: Expr,
        /// HASHED.
        hashed: bool,
        /// MUST_CHANGE.
        must_change: bool,
        /// UNLOCK.
        unlock: bool,
        /// OLD_PASSWORD.
        old_password: Option<Expr>,
    },
    /// DEFAULT_DATABASE, DEFAULT_LANGUAGE, CHECK_POLICY, SID, NAME, ..
    Other(NamedOption),
}

/// `GRANT | DENY | REVOKE permissions ON securable TO principals`
#[derive(Clone, Debug, PartialEq)]
pub struct Permission {
    /// What is done.
    pub action: PermissionAction,
    /// The permissions, in upper case with single blanks, each with its columns; `ALL` for ALL PRIVILEGES.
    pub permissions: Vec<(Box<str>, Vec<Ident>)>,
    /// ON.
    pub securable: Option<Securable>,
    /// TO or FROM.
    pub principals: Vec<Ident>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR of REVOKE.
    pub grant_option: bool,
    /// CASCADE.
    pub cascade: bool,
    /// AS.
    pub grantor: Option<Ident>,
}

/// What is done with permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum PermissionAction {
    Grant,
    Deny,
    Revoke,
}

/// What a permission is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Securable {
    /// OBJECT, SCHEMA, DATABASE, TYPE, ..: in upper case with single blanks; OBJECT if not said.
    pub class: Option<Box<str>>,
    /// Its name.
    pub name: ObjectName,
    /// Its columns, if given.
    pub columns: Vec<Ident>,
    /// Where.
    pub span: Span,
}

/// `ALTER AUTHORIZATION ON [class ::] name TO {principal | SCHEMA OWNER}`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterAuthorization {
    /// What gets a new owner.
    pub securable: Securable,
    /// The owner; SCHEMA OWNER if absent.
    pub owner: Option<Ident>,
}
