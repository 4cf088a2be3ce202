//! Roles, users, logins and permissions.

use super::{Expr, Ident, NamedOption, ObjectName, Span};

/// CREATE or ALTER of a role, user or login; DROP is [`super::Drop`].
#[derive(Clone, Debug, PartialEq)]
pub struct PrincipalStatement {
    /// The class of the principal.
    pub kind: PrincipalKind,
    /// Name of the principal.
    pub name: Ident,
    /// CREATE or a change, with its parts.
    pub action: PrincipalAction,
}

/// A class of principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum PrincipalKind {
    Role,
    ServerRole,
    ApplicationRole,
    User,
    Login,
}

/// What a statement does to a principal.
#[derive(Clone, Debug, PartialEq)]
pub enum PrincipalAction {
    /// `CREATE ROLE r [AUTHORIZATION o]`
    CreateRole {
        /// Owner behind AUTHORIZATION; `None` is the current user.
        owner: Option<Ident>,
    },
    /// `CREATE USER u [FOR LOGIN l | WITHOUT LOGIN | FROM ..] [WITH ..]`
    CreateUser {
        /// The login or other source that the user is made for.
        source: UserSource,
        /// The options of `WITH ..`, in order.
        options: Vec<NamedOption>,
    },
    /// `CREATE LOGIN l {WITH PASSWORD = .. | FROM WINDOWS ..}`
    CreateLogin {
        /// WINDOWS, EXTERNAL PROVIDER, CERTIFICATE c: in upper case.
        from: Option<Box<str>>,
        /// The options of `WITH ..`, in order.
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

/// The login or other source that CREATE USER names.
#[derive(Clone, Debug, PartialEq)]
pub enum UserSource {
    /// No source written: the login of the same name, or a contained user.
    Same,
    /// FOR LOGIN l, FROM LOGIN l
    Login(Ident),
    /// `WITHOUT LOGIN`: a user that cannot log in.
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
        /// `HASHED`: the password is a hash.
        hashed: bool,
        /// `MUST_CHANGE`: the first login must change it.
        must_change: bool,
        /// `UNLOCK`: unlocks a locked login.
        unlock: bool,
        /// `OLD_PASSWORD = 'p'`; `None` if left out.
        old_password: Option<Expr>,
    },
    /// DEFAULT_DATABASE, DEFAULT_LANGUAGE, CHECK_POLICY, SID, NAME, ..
    Other(NamedOption),
}

/// `GRANT | DENY | REVOKE permissions ON securable TO principals`
#[derive(Clone, Debug, PartialEq)]
pub struct Permission {
    /// Which of the three statements.
    pub action: PermissionAction,
    /// The permissions, in upper case with single blanks, each with its columns; `ALL` for ALL
    /// PRIVILEGES.
    pub permissions: Vec<(Box<str>, Vec<Ident>)>,
    /// The object behind ON; `None` is the database or server.
    pub securable: Option<Securable>,
    /// Names behind TO or FROM.
    pub principals: Vec<Ident>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR of REVOKE.
    pub grant_option: bool,
    /// Whether `CASCADE` was written.
    pub cascade: bool,
    /// Principal behind AS; `None` is the current one.
    pub grantor: Option<Ident>,
}

/// GRANT, DENY or REVOKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are SQL Server's words")]
pub enum PermissionAction {
    Grant,
    Deny,
    Revoke,
}

/// The object behind ON in a permission statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Securable {
    /// The class before `::` in upper case with single blanks, as SCHEMA or TYPE; `None` is OBJECT.
    pub class: Option<Box<str>>,
    /// Name of the securable.
    pub name: ObjectName,
    /// The listed columns; empty without a list.
    pub columns: Vec<Ident>,
    /// Source range, class included.
    pub span: Span,
}

/// `ALTER AUTHORIZATION ON [class ::] name TO {principal | SCHEMA OWNER}`
#[derive(Clone, Debug, PartialEq)]
pub struct AlterAuthorization {
    /// The securable that gets a new owner.
    pub securable: Securable,
    /// The new owner; `None` is SCHEMA OWNER.
    pub owner: Option<Ident>,
}
