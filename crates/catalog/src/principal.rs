//! Principals: logins of the server, users and roles of a database, and the permissions granted to
//! them.

use crate::PasswordPolicy;

/// `principal_id` of the login sa.
pub const SA_PRINCIPAL: i32 = 1;
/// `principal_id` of the user dbo, in every database.
pub const DBO: i32 = 1;

/// Names of the fixed server roles, `public` first.
pub const SERVER_ROLES: [&str; 9] = [
    "public",
    "sysadmin",
    "securityadmin",
    "serveradmin",
    "setupadmin",
    "processadmin",
    "diskadmin",
    "dbcreator",
    "bulkadmin",
];

/// A login of the server.
#[derive(Clone, Debug)]
pub struct Login {
    /// Name of the login.
    pub name: String,
    /// Salted SHA2-512 of the password: 4 bytes of salt and the hash over UTF-16LE password and
    /// salt.
    pub password_hash: Vec<u8>,
    /// Security identifier of the login.
    pub sid: Vec<u8>,
    /// Principal id; 1 is `sa`.
    pub principal_id: i32,
    /// Database of a new session.
    pub default_database: String,
    /// Language of a new session.
    pub default_language: types::Language,
    /// Whether it is a member of sysadmin and so has every permission.
    pub sysadmin: bool,
    /// Fixed server roles that it is a member of, except sysadmin.
    pub roles: Vec<&'static str>,
    /// Whether it may not log in: ALTER LOGIN .. DISABLE.
    pub disabled: bool,
    /// Rules for its password.
    pub policy: PasswordPolicy,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// Time of the last ALTER LOGIN, as `datetime`.
    pub modified: types::Value,
}

/// A database user or role.
#[derive(Clone, Debug)]
pub struct Principal {
    /// `principal_id`, unique in the database.
    pub id: i32,
    /// Name in the spelling of CREATE.
    pub name: String,
    /// User, role or fixed role.
    pub kind: PrincipalKind,
    /// Name of a user's login; `None` for a user without one.
    pub login: Option<String>,
    /// Principal ids of the roles that this is a member of.
    pub member_of: Vec<i32>,
    /// Default schema of a user.
    pub default_schema: String,
    /// Principal id of a role's owner.
    pub owner: i32,
}

impl Principal {
    /// Returns the sub-authorities after `S-1-9-3` in the SID of a user without a login.
    fn own_sid_parts(&self, database: i16) -> [u32; 4] {
        [u32::from(database.unsigned_abs()), self.id.unsigned_abs(), 0, 0]
    }

    /// Returns the SID of a user without a login, as SUSER_SNAME() shows it.
    pub fn own_sid_text(&self, database: i16) -> String {
        let [a, b, c, d] = self.own_sid_parts(database);
        format!("S-1-9-3-{a}-{b}-{c}-{d}")
    }

    /// Returns the SID of a user without a login, as bytes.
    pub fn own_sid(&self, database: i16) -> Vec<u8> {
        let mut sid = vec![1, 5, 0, 0, 0, 0, 0, 9];
        let parts = std::iter::once(3).chain(self.own_sid_parts(database));
        sid.extend(parts.flat_map(u32::to_le_bytes));
        sid
    }
}

/// The kind of a database principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum PrincipalKind {
    SqlUser,
    DatabaseRole,
}

/// What a permission applies to, as `sys.database_permissions.class` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Class {
    /// The whole database (0) or server (100).
    #[default]
    Whole,
    /// An object or column (1).
    Object,
    /// A schema with its objects (3).
    Schema,
    /// A user or role of a database (4), or a login (101).
    Principal,
    /// An alias or table type (6).
    Type,
}

/// A GRANT or DENY that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The class of item that it applies to.
    pub class: Class,
    /// Id of the object, schema or principal; 0 for the whole.
    pub object_id: i32,
    /// Id of the column that it applies to; 0 for the whole object.
    pub column_id: i32,
    /// Principal id of the grantee.
    pub principal_id: i32,
    /// Name of the permission, such as `SELECT` or `EXECUTE`.
    pub permission: String,
    /// GRANT (true) or DENY (false).
    pub granted: bool,
    /// WITH GRANT OPTION: the grantee may grant it.
    pub with_option: bool,
    /// Principal id of the grantor.
    pub grantor: i32,
}
