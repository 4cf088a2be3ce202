//! The system's own objects as rows of `sys.all_objects`: its views and procedures, and the tables of msdb.

use crate::objects::ObjectRow;
use ::catalog::Database;
use ::catalog::name::Name;
use ::plan::view::SystemView;
use ::session::SessionState;

/// Returns the system views and procedures as objects; their creation time is the start of the instance.
pub fn system_objects(session: &SessionState) -> Vec<ObjectRow> {
    system_objects_that(session, |_, _| true).collect()
}

/// Returns the system views and procedures of which the id and name pass a test.
pub(crate) fn system_objects_that(
    session: &SessionState,
    is_it: impl Fn(i32, &str) -> bool + Copy,
) -> impl Iterator<Item = ObjectRow> {
    let started = &session.instance.started;
    let row = move |(id, view): (i32, &dyn SystemView)| system_row(session, id, view);
    let procedure = move |(id, name): (i32, &'static str)| ObjectRow {
        name: name.to_owned(),
        id,
        schema: "sys".to_owned(),
        schema_id: 4,
        owner: None,
        parent_id: 0,
        code: if name.starts_with("xp_") { "X" } else { "P" },
        created: started.clone(),
        modified: started.clone(),
        system: true,
        check_option: false,
        view_metadata: false,
    };
    let library = session.instance.library;
    let views = library.views().filter(move |(id, view)| is_it(*id, view.name())).map(row);
    let procedures = library.procedures().filter(move |(id, name)| is_it(*id, name));
    views.chain(procedures.map(procedure))
}

pub(crate) fn system_row(session: &SessionState, id: i32, view: &dyn SystemView) -> ObjectRow {
    let started = &session.instance.started;
    let schema = schema_of(view);
    let schema_id = match schema {
        "dbo" => 1,
        "sys" => 4,
        _ => 3,
    };
    ObjectRow {
        name: view.name().to_owned(),
        id,
        schema: schema.to_owned(),
        schema_id,
        owner: None,
        parent_id: 0,
        code: if view.arity() == 0 { "V" } else { "TF" },
        created: started.clone(),
        modified: started.clone(),
        system: true,
        check_option: false,
        view_metadata: false,
    }
}

/// Returns the name of a system view's schema.
pub(crate) fn schema_of(view: &dyn SystemView) -> &'static str {
    match view.schema() {
        "" => "sys",
        plan::view::MSDB => "dbo",
        schema => schema,
    }
}

/// Returns the system's tables and views of msdb, which belong to its schema dbo; none for other
/// databases.
pub(crate) fn msdb_views(
    session: &SessionState,
    database: &Database,
) -> impl Iterator<Item = (i32, &'static dyn SystemView)> {
    let is_msdb = Name::same(&database.name, "msdb");
    is_msdb.then(|| session.instance.library.msdb_views()).into_iter().flatten()
}
