//! Permissions that a database grants and denies on its objects, collected once as bit sets, so
//! that many objects can be checked.

use std::collections::BTreeMap;

use super::{
    Class, DB_DATA_READER, DB_DATA_WRITER, DB_DDL_ADMIN, DB_DENY_DATA_READER, DB_DENY_DATA_WRITER,
    DB_SECURITY_ADMIN,
};
use crate::{Database, Object, UserType};

/// A set of permissions.
pub type Bits = u16;

const SELECT: Bits = 1;
const INSERT: Bits = 2;
const UPDATE: Bits = 4;
const DELETE: Bits = 8;
const EXECUTE: Bits = 16;
const REFERENCES: Bits = 32;
const ALTER: Bits = 64;
const CONTROL: Bits = 128;
const VIEW: Bits = 256;
const TAKE: Bits = 512;
const TRACK: Bits = 1_024;

/// Permissions that each allow reading the text of a module.
pub const DEFINITION: Bits = ALTER | CONTROL | VIEW | TAKE;

/// Returns the bit of a permission name; 0 for a permission that does not apply to objects.
fn bits_of(permission: &str) -> Bits {
    match permission {
        "SELECT" => SELECT,
        "INSERT" => INSERT,
        "UPDATE" => UPDATE,
        "DELETE" => DELETE,
        "EXECUTE" => EXECUTE,
        "REFERENCES" => REFERENCES,
        "ALTER" | "ALTER ANY SCHEMA" => ALTER,
        "CONTROL" => Bits::MAX,
        "VIEW DEFINITION" => VIEW,
        "TAKE OWNERSHIP" => TAKE,
        "VIEW CHANGE TRACKING" => TRACK,
        _ => 0,
    }
}

/// Returns the permissions that apply to an object's kind.
fn possible(object: &Object) -> Bits {
    const DATA: Bits = SELECT | INSERT | UPDATE | DELETE | REFERENCES | TRACK;
    match object {
        Object::Table(_) | Object::View(_) => DATA | DEFINITION,
        Object::Procedure(_) => EXECUTE | DEFINITION,
        Object::Function(function) if function.type_code == "FN" => {
            EXECUTE | REFERENCES | DEFINITION
        }
        Object::Function(_) => DATA | DEFINITION,
        Object::Sequence(_) => UPDATE | REFERENCES | DEFINITION,
        // A synonym may refer to any kind of object.
        Object::Synonym(_) | Object::Trigger(_) => DATA | EXECUTE | DEFINITION,
    }
}

/// What is granted and denied on one item.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    granted: Bits,
    denied: Bits,
}

/// What is granted and denied to a set of principals.
#[derive(Debug, Default)]
pub struct Rules {
    whole: Said,
    schemas: BTreeMap<i32, Said>,
    objects: BTreeMap<i32, Said>,
    types: BTreeMap<i32, Said>,
    /// Whether there is any DENY.
    denies: bool,
}

impl Rules {
    /// Collects what a database grants and denies to principals, fixed roles included.
    pub fn of(database: &Database, ids: &[i32]) -> Self {
        let mut rules = Self { whole: of_roles(ids), ..Self::default() };
        rules.denies = rules.whole.denied != 0;
        for rule in database.permissions.iter().filter(|p| ids.contains(&p.principal_id)) {
            let said = match rule.class {
                Class::Whole => &mut rules.whole,
                Class::Schema => rules.schemas.entry(rule.object_id).or_default(),
                Class::Object => rules.objects.entry(rule.object_id).or_default(),
                Class::Type => rules.types.entry(rule.object_id).or_default(),
                Class::Principal => continue,
            };
            let bits = bits_of(&rule.permission);
            if rule.granted {
                said.granted |= bits;
            } else if rule.column_id == 0 {
                said.denied |= bits;
                rules.denies = true;
            }
        }
        rules
    }

    /// Returns the permissions held on an object of a schema; none if VIEW DEFINITION is denied.
    pub fn on(&self, schema: i32, object: &Object) -> Bits {
        self.held(schema, self.objects.get(&object.id())) & possible(object)
    }

    /// Returns the permissions held on an alias type or table type of a schema; none if VIEW DEFINITION is denied.
    pub fn on_type(&self, schema: i32, of: &UserType) -> Bits {
        self.held(schema, self.types.get(&of.id)) & (EXECUTE | REFERENCES | DEFINITION)
    }

    fn held(&self, schema: i32, own: Option<&Said>) -> Bits {
        let of_schema = self.schemas.get(&schema).copied().unwrap_or_default();
        let own = own.copied().unwrap_or_default();
        let granted = self.whole.granted | of_schema.granted | own.granted;
        let denied = self.whole.denied | of_schema.denied | own.denied;
        if denied & VIEW != 0 { 0 } else { granted & !denied }
    }

    /// Returns whether all definitions in the database are visible, leaving DENY on single items
    /// aside.
    pub fn defines_all(&self) -> bool {
        self.whole.granted & !self.whole.denied & (VIEW | CONTROL) != 0
    }

    /// Returns whether no item is hidden.
    pub fn sees_all(&self) -> bool {
        self.defines_all() && !self.denies
    }
}

/// Returns what fixed roles grant and deny.
fn of_roles(ids: &[i32]) -> Said {
    const GIVE: [(i32, Bits); 4] = [
        (DB_DATA_READER, SELECT),
        (DB_DATA_WRITER, INSERT | UPDATE | DELETE),
        (DB_DDL_ADMIN, ALTER | REFERENCES),
        (DB_SECURITY_ADMIN, VIEW),
    ];
    const TAKE_AWAY: [(i32, Bits); 2] =
        [(DB_DENY_DATA_READER, SELECT), (DB_DENY_DATA_WRITER, INSERT | UPDATE | DELETE)];
    let sum = |list: &[(i32, Bits)]| {
        list.iter().filter(|(role, _)| ids.contains(role)).fold(0, |sum, (_, bits)| sum | bits)
    };
    Said { granted: sum(&GIVE), denied: sum(&TAKE_AWAY) }
}
