//! Who may do something: logins of the server, users and roles of a database, and what is granted to them.

use crate::PasswordPolicy;

/// `principal_id` of the login sa.
pub const SA_PRINCIPAL: i32 = 1;
/// `principal_id` of the user dbo, in every database.
pub const DBO: i32 = 1;

/// A login.
#[derive(Clone, Debug)]
pub struct Login {
    /// Its name.
    pub name: String,
    /// Salted SHA2-512 of the password: 4 bytes of salt and the hash over UTF-16LE password and salt.
    pub password_hash: Vec<u8>,
    /// Security id.
    pub sid: Vec<u8>,
    /// Principal id; 1 is `sa`.
    pub principal_id: i32,
    /// Default database.
    pub default_database: String,
    /// Whether it may do everything.
    pub sysadmin: bool,
    /// The fixed server roles that it is a member of, sysadmin aside.
    pub roles: Vec<&'static str>,
    /// Whether it may not log in: ALTER LOGIN .. DISABLE.
    pub disabled: bool,
    /// What is asked of its password.
    pub policy: PasswordPolicy,
    /// Creation time, as `datetime`.
    pub created: types::Value,
    /// When it was changed last, as `datetime`.
    pub modified: types::Value,
}

/// A database user or role.
#[derive(Clone, Debug)]
pub struct Principal {
    /// `principal_id`
    pub id: i32,
    /// Its name as created.
    pub name: String,
    /// User or role.
    pub kind: PrincipalKind,
    /// Login of a user.
    pub login: Option<String>,
    /// Roles that this is a member of, by principal id.
    pub member_of: Vec<i32>,
    /// Default schema of a user.
    pub default_schema: String,
    /// Owner of a role.
    pub owner: i32,
}

impl Principal {
    /// The parts that a user without a login has in its SID, behind `S-1-9-3`.
    fn own_sid_parts(&self, database: i16) -> [u32; 4] {
        [u32::from(database.unsigned_abs()), self.id.unsigned_abs(), 0, 0]
    }

    /// The SID of a user without a login, as SUSER_SNAME() shows it.
    pub fn own_sid_text(&self, database: i16) -> String {
        let [a, b, c, d] = self.own_sid_parts(database);
        format!("S-1-9-3-{a}-{b}-{c}-{d}")
    }

    /// The SID of a user without a login.
    pub fn own_sid(&self, database: i16) -> Vec<u8> {
        let mut sid = vec![1, 5, 0, 0, 0, 0, 0, 9];
        let parts = std::iter::once(3).chain(self.own_sid_parts(database));
        sid.extend(parts.flat_map(u32::to_le_bytes));
        sid
    }
}

/// Kinds of database principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum PrincipalKind {
    SqlUser,
    DatabaseRole,
}

/// What a permission is about, as `sys.database_permissions.class` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Class {
    /// The database, or the server: 0 or 100.
    #[default]
    Whole,
    /// An object: 1.
    Object,
    /// A schema: 3.
    Schema,
    /// A user or role of a database, or a login: 4 or 101.
    Principal,
}

/// A GRANT or DENY in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// What it is about.
    pub class: Class,
    /// Id of the object or schema; 0 for the whole.
    pub object_id: i32,
    /// Id of the one column of the object that it is about; 0 for all of it.
    pub column_id: i32,
    /// Grantee.
    pub principal_id: i32,
    /// Such as `SELECT`, `EXECUTE`.
    pub permission: String,
    /// GRANT (true) or DENY (false).
    pub granted: bool,
    /// WITH GRANT OPTION.
    pub with_option: bool,
    /// Who granted or denied it.
    pub grantor: i32,
}
