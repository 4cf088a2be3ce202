//! Procedures that process each table, database or module: sp_MSforeachtable, sp_MSforeachdb,
//! sp_updatestats, sp_refreshview, sp_refreshsqlmodule.

use std::sync::Arc;

use types::Msg;

use super::help::object_to_alter;
use super::{TextProcedure, run};
use crate::procedure::{SystemProcedure, text};
use ::catalog::Object;
use ::ddl::rename::refresh_view as refresh_columns;
use ::executor::Cx;
use compile::binding::bind_view;
use interpreter::{Argument, Stop};

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure { name: "sp_msforeachdb", id: 0, run: |a, cx| run(&EACH_DATABASE, a, cx) },
    SystemProcedure { name: "sp_msforeachtable", id: 0, run: |a, cx| run(&EACH_TABLE, a, cx) },
    SystemProcedure { name: "sp_refreshsqlmodule", id: 0, run: refresh_module },
    SystemProcedure { name: "sp_refreshview", id: 0, run: refresh_view },
    SystemProcedure { name: "sp_updatestats", id: 0, run: update_statistics },
];

/// sp_refreshview. A view's columns are bound at each use, so only names that sp_rename gave are
/// reset; reports an error if the view's query no longer binds.
fn refresh_view(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    refresh("@viewname", &["V"], arguments, cx)
}

fn refresh_module(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    refresh("@name", &["V", "P", "FN", "IF", "TF", "TR"], arguments, cx)
}

/// sp_updatestats, for owners of the database.
fn update_statistics(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    match cx.session.catalog.database(&cx.session.identity.database) {
        Some(database) if !cx.session.identity.rights.owns(database) => {
            Err(Msg::NoPermissionForAction.into())
        }
        _ => run(&UPDATE_STATISTICS, arguments, cx),
    }
}

fn refresh(
    parameter: &str,
    kinds: &[&str],
    arguments: &mut [Argument],
    cx: &mut Cx<'_>,
) -> Result<i32, Stop> {
    let name = text(arguments, 0, parameter, cx)?.unwrap_or_default();
    let found = object_to_alter(&name, cx)?;
    if !kinds.contains(&found.code) || found.system {
        return Err(Msg::ObjectOrPermission(&name).into());
    };
    let database = cx.session.catalog.database(&cx.session.identity.database);
    let view = database.and_then(|d| d.object(&found.schema, &found.name)).and_then(|o| match o {
        Object::View(view) => Some(Arc::clone(view)),
        _ => None,
    });
    if view.is_some() {
        bind_view(cx.session, &cx.session.identity.database, &found.schema, &found.name)?;
    }
    let mark = cx.session.mark_definitions();
    // Invalidates the plans that use the module.
    let changed = match view {
        Some(view) => refresh_columns(&view, cx),
        None => cx.session.change_catalog(|_| Ok(())),
    };
    cx.session.end_definition(&mark, changed.is_err());
    changed?;
    cx.session.refresh_catalog();
    Ok(0)
}

/// The loop over the cursor that the preceding text has declared, with up to three commands per
/// name.
macro_rules! each {
    ($cursor:literal) => {
        concat!(
            "
IF @precommand IS NOT NULL EXEC (@precommand)
EXEC (@cursor)
OPEN GLOBAL ",
            $cursor,
            "
FETCH NEXT FROM GLOBAL ",
            $cursor,
            " INTO @each
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @run = REPLACE(@command1, @mark, @each)
    EXEC (@run)
    IF @command2 IS NOT NULL
    BEGIN
        SET @run = REPLACE(@command2, @mark, @each)
        EXEC (@run)
    END
    IF @command3 IS NOT NULL
    BEGIN
        SET @run = REPLACE(@command3, @mark, @each)
        EXEC (@run)
    END
    FETCH NEXT FROM GLOBAL ",
            $cursor,
            " INTO @each
END
CLOSE GLOBAL ",
            $cursor,
            "
DEALLOCATE GLOBAL ",
            $cursor,
            "
IF @postcommand IS NOT NULL EXEC (@postcommand)"
        )
    };
}

static EACH_TABLE: TextProcedure = TextProcedure {
    name: "sp_MSforeachtable",
    parameters: &[
        ("@command1", "nvarchar(2000)"),
        ("@replacechar", "nchar(1)"),
        ("@command2", "nvarchar(2000)"),
        ("@command3", "nvarchar(2000)"),
        ("@whereand", "nvarchar(2000)"),
        ("@precommand", "nvarchar(2000)"),
        ("@postcommand", "nvarchar(2000)"),
    ],
    text: concat!(
        "
DECLARE @each nvarchar(517), @run nvarchar(max), @mark nchar(1) = ISNULL(@replacechar, N'?')
DECLARE @cursor nvarchar(max) = N'DECLARE hCForEachTable CURSOR GLOBAL FOR
    SELECT QUOTENAME(SCHEMA_NAME(syso.schema_id)) + N''.'' + QUOTENAME(o.name)
    FROM dbo.sysobjects AS o JOIN sys.all_objects AS syso ON syso.object_id = o.id
    WHERE o.xtype = ''U'' ' + ISNULL(@whereand, N'') + N' ORDER BY o.id'",
        each!("hCForEachTable")
    ),
};

static EACH_DATABASE: TextProcedure = TextProcedure {
    name: "sp_MSforeachdb",
    parameters: &[
        ("@command1", "nvarchar(2000)"),
        ("@replacechar", "nchar(1)"),
        ("@command2", "nvarchar(2000)"),
        ("@command3", "nvarchar(2000)"),
        ("@precommand", "nvarchar(2000)"),
        ("@postcommand", "nvarchar(2000)"),
    ],
    text: concat!(
        "
DECLARE @each nvarchar(517), @run nvarchar(max), @mark nchar(1) = ISNULL(@replacechar, N'?')
DECLARE @cursor nvarchar(max) = N'DECLARE hCForEachDatabase CURSOR GLOBAL FOR
    SELECT name FROM master.sys.databases WHERE HAS_DBACCESS(name) = 1 ORDER BY database_id'",
        each!("hCForEachDatabase")
    ),
};

static UPDATE_STATISTICS: TextProcedure = TextProcedure {
    name: "sp_updatestats",
    parameters: &[("@resample", "char(8)")],
    text: "
DECLARE @each nvarchar(517), @run nvarchar(max)
DECLARE each_table CURSOR LOCAL FOR
    SELECT QUOTENAME(SCHEMA_NAME(t.schema_id)) + N'.' + QUOTENAME(t.name) FROM sys.tables AS t ORDER BY t.object_id
OPEN each_table
FETCH NEXT FROM each_table INTO @each
WHILE @@FETCH_STATUS = 0
BEGIN
    PRINT 'Updating ' + @each
    SET @run = N'UPDATE STATISTICS ' + @each
    EXEC (@run)
    FETCH NEXT FROM each_table INTO @each
END
PRINT 'Statistics for all tables have been updated.'",
};
