//! `Package`: the namespace of events, actions, sources, maps, targets and types.

/// A package, as `sys.dm_xe_packages` shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// The name, such as `package0` or `sqlos`.
    pub name: &'static str,
    /// The package's GUID, in the usual text form.
    pub guid: &'static str,
    /// A description for `sys.dm_xe_packages`.
    pub description: &'static str,
}

/// Targets, types, comparators, and actions that do not depend on a server.
pub static PACKAGE0: Package = Package {
    name: "package0",
    guid: "60AA9FBF-673B-4553-B7ED-71DCA7F5E972",
    description: "Default package. Contains all standard types, maps, compare operators, actions and targets",
};

/// Events and actions of this crate.
pub static SQLOS: Package = Package {
    name: "sqlos",
    guid: "BD97CC63-3F38-4922-AA93-607BD12E78B2",
    description: "Extended events for SQL Operating System",
};

/// Events and actions of the server. Latches are here too, as in SQL Server.
pub static SQLSERVER: Package = Package {
    name: "sqlserver",
    guid: "655FD93F-3364-40D5-B2BA-330F7FFB6491",
    description: "Extended events for Microsoft SQL Server",
};

/// All packages, in the order of the views.
pub static PACKAGES: &[&Package] = &[&PACKAGE0, &SQLOS, &SQLSERVER];
