//! TRUNCATE TABLE, which is bound when it runs, as definitions are.

use types::Result;

use ::binder::dml::bind_truncate;
use ::executor::Cx;
use ::executor::dml::run_truncate;

/// Binds and runs TRUNCATE TABLE.
///
/// # Errors
/// 4701 for an unknown table, 4712 for a table that foreign keys refer to.
pub(crate) fn truncate(truncate: &tsql::ast::Truncate, cx: &mut Cx<'_>) -> Result<()> {
    let table = {
        let database = std::sync::Arc::clone(&cx.session.identity.database);
        let context = metadata::binding::bare_context(cx.session, &database);
        bind_truncate(&mut context.binder(), truncate)?
    };
    run_truncate(&table, cx)?;
    Ok(())
}
