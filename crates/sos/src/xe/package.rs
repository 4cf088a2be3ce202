//! `Package`: the namespace of events, actions, sources, maps, targets and types.

/// A package, as `sys.dm_xe_packages` shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its identity, in the usual text form.
    pub guid: &'static str,
    /// What it is.
    pub description: &'static str,
}

/// Targets, types, comparators, and actions that know nothing of a server.
pub static PACKAGE0: Package = Package {
    name: "package0",
    guid: "60AA9FBF-673B-4553-B7ED-71DCA7F5E972",
    description: "Default package. Contains all standard types, maps, compare operators, actions and targets",
};

/// Events and actions of the machine layer.
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

/// The packages that this layer knows of.
pub static PACKAGES: &[&Package] = &[&PACKAGE0, &SQLOS, &SQLSERVER];
