//! `xp_dirtree folder [, depth [, 1 for files]]`: the folders in a folder of the server, and its
//! files if they are asked for. Depth 0 is any.

use types::value::ColumnType;
use types::{DataType, Length, Msg, Value};

use crate::procedure::{SystemProcedure, argument, int_type, text, whole};
use ::binder::shape_of;
use ::executor::Cx;
use ::plan::sink::{ColumnInfo, Command, Traits};
use ::session::stop::INTERNAL;
use interpreter::{Argument, Stop, done};
use metadata::folder_walk::{Bounds, Found, Search, walk};

pub(crate) static PROCEDURES: &[SystemProcedure] =
    &[SystemProcedure { name: "xp_dirtree", id: 0, run }];

/// What is asked for.
struct Asked {
    folder: String,
    levels: Option<usize>,
    files: bool,
}

fn run(arguments: &mut [Argument], cx: &mut Cx<'_>) -> Result<i32, Stop> {
    crate::procedure::check_sysadmin(cx)?;
    let asked = asked(arguments, cx)?;
    let search = Search {
        asker: "xp_dirtree",
        folder: &asked.folder,
        pattern: "*",
        levels: asked.levels,
        bounds: Bounds::default(),
    };
    let cancel = &cx.session.connection.cancel;
    let found = walk(&search, &|| cancel.is_set()).map_err(|error| match error.number {
        INTERNAL => Stop::Cancelled,
        _ => Stop::from(error),
    })?;
    send(found, asked.files, cx)?;
    Ok(0)
}

fn asked(arguments: &[Argument], cx: &Cx<'_>) -> Result<Asked, Stop> {
    if arguments.len() > 3 {
        return Err(Msg::TooManyArguments("xp_dirtree").into());
    }
    let Some(folder) = text(arguments, 0, "@folder", cx)? else {
        return Err(Msg::ParameterNotSupplied("xp_dirtree", "@folder").into());
    };
    let number = |place: usize, name: &str| -> Result<i64, Stop> {
        let is_given = argument(arguments, place, name).is_some_and(|a| !a.value.is_null());
        match whole(arguments, place, name) {
            Some(number) if number >= 0 => Ok(number),
            None if !is_given => Ok(0),
            _ => Err(Msg::ParameterValue(name).into()),
        }
    };
    let depth = usize::try_from(number(1, "@depth")?).unwrap_or(usize::MAX);
    let levels = (depth > 0).then_some(depth);
    Ok(Asked { folder, levels, files: number(2, "@files")? != 0 })
}

fn send(found: Vec<Found>, files: bool, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let column = |name: &str, column_type| {
        let name = name.into();
        ColumnInfo { name, column_type, traits: Traits::default(), updatable: false }
    };
    let of_name = ColumnType {
        data_type: DataType::NVarChar(Length::Limited(512)),
        ..cx.session.text_type()
    };
    let mut columns = vec![column("subdirectory", of_name), column("depth", int_type())];
    if files {
        columns.push(column("file", int_type()));
    }
    cx.sink.columns(&shape_of(columns))?;
    let mut sent = 0;
    for Found { name, level, facts, .. } in found {
        if !files && !facts.is_folder {
            continue;
        }
        let depth = i32::try_from(level + 1).unwrap_or(i32::MAX);
        let mut row = vec![Value::nvarchar(&name), Value::Int(depth)];
        if files {
            row.push(Value::Int(i32::from(!facts.is_folder)));
        }
        cx.sink.row(&row)?;
        sent += 1;
    }
    Ok(done(cx, Command::SELECT, Some(sent), false)?)
}
