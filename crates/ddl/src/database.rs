//! CREATE DATABASE and ALTER DATABASE.
//!
//! A database is only an entry in the catalog. Files and filegroups are kept as declared, for
//! `sys.database_files`; nothing is stored in them.

use std::sync::Arc;

use tsql::ast::{self, AlterDatabaseAction, NamedOption, OptionValue};
use types::{Error, Msg, Result};

use crate::database_option::set;
use crate::{change_database, query_store, user_access};
use ::catalog::name::Name;
use ::catalog::scoped::{OtherValue, SCOPED};
use ::catalog::{
    Database, DatabaseFile, DatabaseOptions, FileSize, PartitionScheme, default_files,
};
use ::compile::refuse;
use ::compile::table::created;
use ::executor::Cx;

pub(crate) fn create(create: &ast::CreateDatabase, cx: &mut Cx<'_>) -> Result<()> {
    if let Some(special) = &create.special {
        return refuse(&format!("CREATE DATABASE .. {special}"));
    }
    let collation = match &create.collation {
        None => types::Collation::default(),
        Some(name) => types::Collation::of_database(name)?,
    };
    let mut files = Vec::new();
    for group in &create.filegroups {
        add_files(&mut files, &group.files, group, false)?;
    }
    for file in &create.log {
        files.push(file_of(file, "", false, true)?);
    }
    let mut options = DatabaseOptions::default();
    if let Some(model) = cx.session.catalog.database("model") {
        options.recovery.clone_from(&model.options.recovery);
    }
    for option in &create.options {
        set_at_creation(&mut options, option)?;
    }
    if let Some(containment) = &create.containment
        && !containment.eq_ignore_ascii_case("NONE")
    {
        return refuse("contained databases");
    }
    // The login that creates a database owns it.
    let owner = cx.session.identity.login.clone();
    cx.session.change_catalog(|catalog| {
        if catalog.database(&create.name).is_some() {
            return Err(Error::custom(
                1801,
                16,
                3,
                format!(
                    "Database '{}' already exists. Choose a different database name.",
                    create.name
                ),
            ));
        }
        let id = catalog.next_database_id();
        let mut database = Database::new(id, &create.name, collation, created());
        database.options = options;
        if let Some(dbo) = database.principals.get_mut(&Name::new("dbo")) {
            Arc::make_mut(dbo).login = Some(owner);
        }
        if !files.is_empty() {
            database.files = files;
        }
        catalog.databases.insert(Name::new(&create.name), Arc::new(database));
        Ok(())
    })
}

/// Sets an option of CREATE DATABASE .. WITH: those of ALTER DATABASE, and those that a database has
/// from its beginning.
fn set_at_creation(options: &mut DatabaseOptions, option: &NamedOption) -> Result<()> {
    let said = word(&option.value);
    match option.name.as_ref() {
        // What Management Studio writes for every database.
        "CATALOG_COLLATION" if said.eq_ignore_ascii_case("DATABASE_DEFAULT") => Ok(()),
        "LEDGER" if option.value == OptionValue::Off => Ok(()),
        name @ ("CATALOG_COLLATION"
        | "DEFAULT_FULLTEXT_LANGUAGE"
        | "DEFAULT_LANGUAGE"
        | "LEDGER"
        | "NESTED_TRIGGERS"
        | "PERSISTENT_LOG_BUFFER"
        | "TRANSFORM_NOISE_WORDS"
        | "TWO_DIGIT_YEAR_CUTOFF") => refuse(&format!("{name} of CREATE DATABASE")),
        _ => set(options, option),
    }
}

fn add_files(
    files: &mut Vec<DatabaseFile>,
    specs: &[ast::FileSpec],
    group: &ast::FileGroup,
    log: bool,
) -> Result<()> {
    check_default(group)?;
    let name = group.name.as_deref().unwrap_or("PRIMARY");
    let memory_optimized = is_memory_optimized(group);
    if group.contains.is_some() && !memory_optimized {
        return refuse("FILESTREAM filegroups");
    }
    for spec in specs {
        files.push(file_of(spec, name, memory_optimized, log)?);
    }
    Ok(())
}

/// Refuses DEFAULT of a filegroup: tables that name no filegroup would belong to it, and the
/// catalog does not record that. A memory-optimized filegroup is accepted: there is at most one,
/// which is the default of its kind.
fn check_default(group: &ast::FileGroup) -> Result<()> {
    match group.default && !is_memory_optimized(group) {
        true => refuse("DEFAULT of a filegroup"),
        false => Ok(()),
    }
}

fn is_memory_optimized(group: &ast::FileGroup) -> bool {
    group.contains.as_deref().is_some_and(|what| what.eq_ignore_ascii_case("MEMORY_OPTIMIZED_DATA"))
}

fn file_of(
    spec: &ast::FileSpec,
    filegroup: &str,
    memory_optimized: bool,
    log: bool,
) -> Result<DatabaseFile> {
    let mut file = DatabaseFile {
        filegroup: filegroup.to_owned(),
        name: String::new(),
        path: String::new(),
        memory_optimized,
        log,
        size: FileSize::default(),
    };
    for option in &spec.options {
        match option.name.as_ref() {
            "NAME" => file.name = word(&option.value),
            "FILENAME" => file.path = word(&option.value),
            "SIZE" => file.size.size = pages(option)?,
            "MAXSIZE" if word(&option.value).eq_ignore_ascii_case("UNLIMITED") => {}
            "MAXSIZE" => file.size.max = pages(option)?,
            "FILEGROWTH" => {
                (file.size.growth, file.size.is_percent) = match &option.value {
                    OptionValue::Quantity(percent, unit) if **unit == *"%" => {
                        (i32::try_from(*percent).map_err(|_| wrong(option))?, true)
                    }
                    _ => (pages(option)?, false),
                };
            }
            other => return refuse(&format!("the file option {other}")),
        }
    }
    Ok(file)
}

/// Parses a size, in MB unless it has a unit, and converts it to pages of 8 KB.
///
/// # Errors
/// 102 if it is not a size.
fn pages(option: &ast::NamedOption) -> Result<i32> {
    let (count, unit_kb) = match &option.value {
        OptionValue::Literal(ast::Literal::Int(count)) => (u64::try_from(*count).ok(), 1 << 10),
        OptionValue::Quantity(count, unit) => {
            let unit_kb = match &**unit {
                "KB" => 1,
                "MB" => 1 << 10,
                "GB" => 1 << 20,
                "TB" => 1 << 30,
                _ => return Err(wrong(option)),
            };
            (Some(*count), unit_kb)
        }
        _ => return Err(wrong(option)),
    };
    let pages = count.and_then(|count| count.checked_mul(unit_kb)).map(|kb| kb.div_ceil(8));
    pages.and_then(|pages| i32::try_from(pages).ok()).ok_or_else(|| wrong(option))
}

fn wrong(option: &ast::NamedOption) -> Error {
    Msg::SyntaxNear(&option.written).into()
}

pub(crate) fn word(value: &OptionValue) -> String {
    match value {
        OptionValue::Literal(ast::Literal::String(text) | ast::Literal::NString(text)) => {
            text.to_string()
        }
        OptionValue::Literal(ast::Literal::Int(n)) => n.to_string(),
        OptionValue::Name(name) => name.to_string(),
        OptionValue::On => "ON".to_owned(),
        OptionValue::Off => "OFF".to_owned(),
        OptionValue::Quantity(n, unit) => format!("{n} {unit}"),
        OptionValue::None
        | OptionValue::Literal(_)
        | OptionValue::Place(..)
        | OptionValue::List(_)
        | OptionValue::OnList(_) => String::new(),
    }
}

pub(crate) fn alter(alter: &ast::AlterDatabase, cx: &mut Cx<'_>) -> Result<()> {
    let current = Arc::clone(&cx.session.identity.database);
    let name = alter.name.as_deref().unwrap_or(&current);
    let missing = || {
        Error::custom(
            5011,
            14,
            5,
            format!(
                "User does not have permission to alter database '{name}', the database does not exist, or the database is not in a state that allows access checks."
            ),
        )
    };
    if let AlterDatabaseAction::Rename(new) = &alter.action {
        return rename(name, new, cx);
    }
    if let AlterDatabaseAction::ScopedConfiguration { option, clear: true, .. } = &alter.action {
        return clear_scoped(option, cx);
    }
    // What was counted until now is recorded by the options of now.
    if let AlterDatabaseAction::Set { .. } = &alter.action
        && cx.session.instance.query_store.is_on()
    {
        cx.session.instance.change_query_stores();
    }
    let or_missing = |error: Error| if error.number == 911 { missing() } else { error };
    if let AlterDatabaseAction::Set { options, termination } = &alter.action
        && let Some(access) = user_access::of_options(options)
    {
        user_access::change(name, access, termination.as_deref(), cx).map_err(or_missing)?;
    }
    change_database(cx.session, name, |database| change(database, &alter.action))
        .map_err(or_missing)?;
    query_store::apply(name, &alter.action, cx);
    end_log_chain(name, cx)
}

/// Ends the chain of log backups of a database that is in the SIMPLE recovery model now.
fn end_log_chain(name: &str, cx: &Cx<'_>) -> Result<()> {
    let cell = &cx.session.instance.catalog;
    let catalog = cell.load();
    let simple = catalog.database(name).filter(|it| it.options.recovery == "SIMPLE");
    let Some(database) = simple.filter(|it| catalog.backups.of_database(it).is_some()) else {
        return Ok(());
    };
    cell.change_aside(|catalog| {
        Arc::make_mut(&mut catalog.backups).end_log_chain(database);
        Ok(())
    })
}

fn change(database: &mut Database, action: &AlterDatabaseAction) -> Result<()> {
    match action {
        // WITH is about sessions that a restricted access waits for; `user_access` has done that.
        AlterDatabaseAction::Set { options, .. } => {
            query_store::check(database, options)?;
            options.iter().try_for_each(|option| set(&mut database.options, option))
        }
        AlterDatabaseAction::Collate(name) => {
            database.collation = types::Collation::of_database(name)?;
            Ok(())
        }
        AlterDatabaseAction::AddFileGroup(group) => {
            check_default(group)?;
            // A filegroup without files is an entry without a path, which the views do not show.
            database.files.push(DatabaseFile {
                filegroup: group.name.as_deref().unwrap_or_default().to_owned(),
                name: String::new(),
                path: String::new(),
                memory_optimized: is_memory_optimized(group),
                log: false,
                size: FileSize::default(),
            });
            Ok(())
        }
        AlterDatabaseAction::AddFile { files, filegroup, log } => {
            let group = filegroup.as_deref().unwrap_or("PRIMARY");
            let memory_optimized = database
                .files
                .iter()
                .any(|f| Name::same(&f.filegroup, group) && f.memory_optimized);
            for spec in files {
                database.files.push(file_of(spec, group, memory_optimized, *log)?);
            }
            Ok(())
        }
        AlterDatabaseAction::RemoveFileGroup(name) => {
            let of_scheme = |scheme: &Arc<PartitionScheme>| {
                scheme.filegroups.iter().chain(&scheme.next).any(|group| Name::same(group, name))
            };
            if database.partition_schemes.values().any(of_scheme) {
                let text =
                    format!("The filegroup '{name}' cannot be removed because it is not empty.");
                return Err(Error::custom(5042, 16, 12, text));
            }
            database.files.retain(|f| !Name::same(&f.filegroup, name));
            Ok(())
        }
        AlterDatabaseAction::RemoveFile(name) => {
            database.files.retain(|f| !Name::same(&f.name, name));
            if database.files.is_empty() {
                database.files = default_files(&database.name);
            }
            Ok(())
        }
        AlterDatabaseAction::ModifyFileGroup(..) => refuse("ALTER DATABASE .. MODIFY FILEGROUP"),
        AlterDatabaseAction::ModifyFile(_) => refuse("ALTER DATABASE .. MODIFY FILE"),
        AlterDatabaseAction::ScopedConfiguration { option, for_secondary, .. } => {
            set_scoped(&mut database.options, option, *for_secondary)
        }
        AlterDatabaseAction::Rename(_) => refuse("ALTER DATABASE .. MODIFY NAME"),
    }
}

fn rename(old: &str, new: &str, cx: &mut Cx<'_>) -> Result<()> {
    cx.session.change_catalog(|catalog| {
        if catalog.database(new).is_some() {
            return Err(Error::custom(
                1801,
                16,
                3,
                format!("Database '{new}' already exists. Choose a different database name."),
            ));
        }
        let Some(found) = catalog.databases.remove(&Name::new(old)) else {
            return Err(Msg::DatabaseNotFound(old).into());
        };
        let renamed = Database { name: new.to_owned(), ..Database::clone(&found) };
        catalog.databases.insert(Name::new(new), Arc::new(renamed));
        Ok(())
    })
}

/// Runs ALTER DATABASE SCOPED CONFIGURATION SET. FOR SECONDARY is only stored, for the catalog
/// views: there are no secondary replicas.
fn set_scoped(
    options: &mut DatabaseOptions,
    option: &ast::NamedOption,
    for_secondary: bool,
) -> Result<()> {
    let name = option.name.as_ref();
    let Some(known) = SCOPED.iter().find(|configuration| configuration.name == name) else {
        return refuse(&format!("ALTER DATABASE SCOPED CONFIGURATION SET {name}"));
    };
    let value = match &option.value {
        OptionValue::On if known.is_switch => 1,
        OptionValue::Off if known.is_switch => 0,
        OptionValue::Literal(ast::Literal::Int(n)) if !known.is_switch => i64::from(*n),
        OptionValue::Name(value) if for_secondary && value.object.is("PRIMARY") => {
            options.scoped_secondary.remove(known.name);
            return Ok(());
        }
        other => return Err(Msg::SyntaxNear(&word(other)).into()),
    };
    if for_secondary {
        options.scoped_secondary.insert(known.name, value);
        return Ok(());
    }
    if value == known.default {
        options.scoped.remove(known.name);
        return Ok(());
    }
    if known.other == OtherValue::Refused {
        let said = word(&option.value);
        return refuse(&format!("ALTER DATABASE SCOPED CONFIGURATION SET {name} = {said}"));
    }
    options.scoped.insert(known.name, value);
    Ok(())
}

/// Runs ALTER DATABASE SCOPED CONFIGURATION CLEAR PROCEDURE_CACHE.
fn clear_scoped(option: &ast::NamedOption, cx: &mut Cx<'_>) -> Result<()> {
    if *option.name != *"PROCEDURE_CACHE" {
        return Err(Msg::SyntaxNear(&option.written).into());
    }
    ::session::plan_cache::free_programs(cx.session);
    Ok(())
}
