//! WITH ENCRYPTION: modules whose definition no user sees. It is stored as that of any other module, since the
//! server has to read it; only what shows texts and plans leaves it out.

use tsql::ast::{RoutineOption, StatementKind};

use super::{Database, ModuleDef, Object, ProcedureDef};

impl ProcedureDef {
    /// Returns whether it was created WITH ENCRYPTION.
    pub fn is_encrypted(&self) -> bool {
        self.ast.options.contains(&RoutineOption::Encryption)
    }
}

impl ModuleDef {
    /// Returns whether it was created WITH ENCRYPTION.
    pub fn is_encrypted(&self) -> bool {
        match &self.ast.kind {
            StatementKind::CreateView(view) => {
                view.options.iter().any(|option| **option == *"ENCRYPTION")
            }
            StatementKind::CreateFunction(function) => {
                function.options.contains(&RoutineOption::Encryption)
            }
            StatementKind::CreateTrigger(trigger) => {
                trigger.options.contains(&RoutineOption::Encryption)
            }
            _ => false,
        }
    }
}

impl Object {
    /// Returns whether it is a module WITH ENCRYPTION.
    pub fn is_encrypted(&self) -> bool {
        match self {
            Self::Procedure(procedure) => procedure.is_encrypted(),
            Self::View(module) | Self::Function(module) | Self::Trigger(module) => {
                module.is_encrypted()
            }
            Self::Table(_) | Self::Synonym(_) | Self::Sequence(_) => false,
        }
    }
}

impl Database {
    /// Returns whether an id is that of a module WITH ENCRYPTION.
    pub fn is_encrypted(&self, id: i32) -> bool {
        self.object_by_id(id).is_some_and(Object::is_encrypted)
            || self.triggers.values().any(|trigger| trigger.id == id && trigger.is_encrypted())
    }
}
