//! Prints CREATE, ALTER, DROP and GRANT.

use super::{List, Listed, Parens, Print, Some_, nullability, on_off, put, quote, when};
use tsql::ast::*;

/// Prints a statement that defines an object.
pub(crate) fn print(kind: &StatementKind, out: &mut String) {
    use StatementKind as S;
    match kind {
        S::CreateDatabase(it) => create_database(it, out),
        S::AlterDatabase(it) => alter_database(it, out),
        S::CreateSchema(it) => {
            let CreateSchema { name, owner, elements } = &**it;
            put!(out, "CREATE SCHEMA", name, super::With("AUTHORIZATION", owner), elements);
        }
        S::AlterSchema(it) => {
            let AlterSchema { schema, class, object } = &**it;
            put!(
                out,
                "ALTER SCHEMA",
                schema,
                "TRANSFER",
                class,
                when(class.is_some(), "::"),
                object
            );
        }
        S::CreateTable(it) => {
            let CreateTable { name, elements, storage, options, as_kind } = &**it;
            put!(
                out,
                "CREATE TABLE",
                name,
                Some_("", elements),
                super::With("AS", as_kind),
                storage
            );
            put!(out, Some_("WITH", options));
        }
        S::AlterTable(it) => alter_table(it, out),
        S::CreateIndex(it) => {
            put!(out, "CREATE", when(it.index.unique, "UNIQUE"), it.index.structure, "INDEX");
            put!(out, it.index.name, "ON", it.table);
            index_rest(&it.index, out);
        }
        S::AlterIndex(it) => {
            let AlterIndex { index, table, action, partition, options } = &**it;
            put!(out, "ALTER INDEX", when(index.is_none(), "ALL"), index, "ON", table);
            put!(out, format!("{action:?}").to_uppercase(), partition);
            put!(out, Some_(when(*action != AlterIndexAction::Set, "WITH"), options));
        }
        other => routine(other, out),
    }
}

/// Prints views, procedures, functions, triggers.
fn routine(kind: &StatementKind, out: &mut String) {
    use StatementKind as S;
    match kind {
        S::CreateView(it) => {
            let CreateView {
                mode,
                name,
                columns,
                options,
                with,
                query,
                check_option,
                definition: _,
            } = &**it;
            put!(
                out,
                mode,
                "VIEW",
                name,
                Some_("", columns),
                Listed("WITH", options),
                "AS",
                with,
                query
            );
            put!(out, when(*check_option, "WITH CHECK OPTION"));
        }
        S::CreateProcedure(it) => {
            let CreateProcedure {
                mode,
                name,
                number,
                parameters,
                options,
                for_replication,
                body,
                definition: _,
            } = &**it;
            put!(out, mode, "PROCEDURE", name, number.map(|number| format!("; {number}")));
            put!(out, List(parameters), Listed("WITH", options));
            put!(out, when(*for_replication, "FOR REPLICATION"), "AS", body);
        }
        S::CreateFunction(it) => create_function(it, out),
        S::CreateTrigger(it) => {
            let CreateTrigger {
                mode,
                name,
                target,
                options,
                timing,
                events,
                events_written: _,
                append,
                not_for_replication,
                body,
                definition: _,
            } = &**it;
            put!(out, mode, "TRIGGER", name, "ON", target, Listed("WITH", options));
            put!(
                out,
                if *timing == TriggerTiming::After { "AFTER" } else { "INSTEAD OF" },
                List(events)
            );
            put!(out, when(*append, "WITH APPEND"));
            put!(out, when(*not_for_replication, "NOT FOR REPLICATION"), "AS", body);
        }
        other => small(other, out),
    }
}

/// Prints types, sequences, statistics, DROP.
fn small(kind: &StatementKind, out: &mut String) {
    use StatementKind as S;
    match kind {
        S::EnableTrigger(it) => {
            let EnableTrigger { enable, names, target } = &**it;
            put!(out, if *enable { "ENABLE TRIGGER" } else { "DISABLE TRIGGER" });
            put!(out, when(names.is_empty(), "ALL"), List(names), "ON", target);
        }
        S::CreateType(it) => {
            put!(out, "CREATE TYPE", it.name);
            match &it.kind {
                TypeKind::Alias { base, nullable } => {
                    put!(out, "FROM", base, nullability(nullable))
                }
                TypeKind::Table { elements, options } => {
                    put!(out, "AS TABLE", Parens(elements), Some_("WITH", options))
                }
                TypeKind::External(name) => put!(out, "EXTERNAL NAME", name),
            }
        }
        S::CreateSequence(it) => {
            put!(out, it.mode, "SEQUENCE", it.name);
            it.options.iter().for_each(|option| put!(out, option));
        }
        S::CreateExternal(it) => {
            let CreateExternal { kind, name, options } = &**it;
            let kind = match kind {
                ExternalKind::DataSource => "DATA SOURCE",
                ExternalKind::FileFormat => "FILE FORMAT",
            };
            put!(out, "CREATE EXTERNAL", kind, name, Some_("WITH", options));
        }
        S::CreateExternalTable(it) => {
            let CreateExternalTable { name, columns, options, query } = &**it;
            put!(out, "CREATE EXTERNAL TABLE", name, Some_("", columns), Some_("WITH", options));
            put!(out, super::With("AS", query));
        }
        S::Partition(it) => partition(it, out),
        S::CreateSynonym(it) => put!(out, "CREATE SYNONYM", it.name, "FOR", it.target),
        S::CreateStatistics(it) => {
            let CreateStatistics { name, table, columns, filter, options } = &**it;
            put!(out, "CREATE STATISTICS", name, "ON", table, Parens(columns));
            put!(out, super::With("WHERE", filter), Listed("WITH", options));
        }
        S::UpdateStatistics(it) => {
            let UpdateStatistics { table, names, options } = &**it;
            put!(out, "UPDATE STATISTICS", table, Some_("", names), Listed("WITH", options));
        }
        S::Drop(it) => {
            let Drop { kind, if_exists, names, trigger_target } = &**it;
            let kind = match kind {
                DropKind::ServerRole => "SERVER ROLE".to_owned(),
                DropKind::ExternalTable => "EXTERNAL TABLE".to_owned(),
                DropKind::ExternalDataSource => "EXTERNAL DATA SOURCE".to_owned(),
                DropKind::PartitionFunction => "PARTITION FUNCTION".to_owned(),
                DropKind::PartitionScheme => "PARTITION SCHEME".to_owned(),
                DropKind::ExternalFileFormat => "EXTERNAL FILE FORMAT".to_owned(),
                kind => format!("{kind:?}").to_uppercase(),
            };
            put!(out, "DROP", kind, when(*if_exists, "IF EXISTS"), List(names));
            put!(out, super::With("ON", trigger_target));
        }
        S::DropIndex(it) => {
            put!(out, "DROP INDEX", when(it.if_exists, "IF EXISTS"));
            for (index, (name, table, options)) in it.indexes.iter().enumerate() {
                put!(out, when(index > 0, ","), name, "ON", table, Some_("WITH", options));
            }
        }
        other => super::security::print(other, out),
    }
}

fn partition(it: &PartitionStatement, out: &mut String) {
    use PartitionStatement as P;
    match it {
        P::CreateFunction { name, parameters, right, values } => {
            put!(out, "CREATE PARTITION FUNCTION", name, "(");
            for (place, (of, collation)) in parameters.iter().enumerate() {
                put!(out, when(place > 0, ","), of, super::With("COLLATE", collation));
            }
            put!(out, ") AS RANGE", if *right { "RIGHT" } else { "LEFT" });
            put!(out, "FOR VALUES (", List(values), ")");
        }
        P::AlterFunction { name, split, value } => {
            put!(out, "ALTER PARTITION FUNCTION", name, "()");
            put!(out, if *split { "SPLIT" } else { "MERGE" });
            if let Some(value) = value {
                put!(out, "RANGE (", value, ")");
            }
        }
        P::CreateScheme { name, function, all, filegroups } => {
            put!(out, "CREATE PARTITION SCHEME", name, "AS PARTITION", function);
            put!(out, when(*all, "ALL"), "TO", Parens(filegroups));
        }
        P::AlterScheme { name, next } => {
            put!(out, "ALTER PARTITION SCHEME", name, "NEXT USED", next);
        }
    }
}

impl Print for PartitionChoice {
    fn print(&self, out: &mut String) {
        match self {
            Self::Unsaid => {}
            Self::All => put!(out, "PARTITION = ALL"),
            Self::One(number) => put!(out, "PARTITION =", number),
        }
    }
}

impl Print for ExternalColumn {
    fn print(&self, out: &mut String) {
        let ExternalColumn { name, data_type, collation, nullable } = self;
        put!(out, name, data_type, super::With("COLLATE", collation), nullability(nullable));
    }
}

fn create_database(it: &CreateDatabase, out: &mut String) {
    let CreateDatabase { name, containment, filegroups, log, collation, options, special } = it;
    put!(out, "CREATE DATABASE", name, super::With("CONTAINMENT =", containment));
    for (index, group) in filegroups.iter().enumerate() {
        let FileGroup { name, contains: _, default: _, files } = group;
        put!(out, if index == 0 { "ON" } else { "," });
        if name.is_some() {
            filegroup(group, out);
        }
        put!(out, List(files));
    }
    put!(out, Listed("LOG ON", log), super::With("COLLATE", collation), special);
    put!(out, Listed("WITH", options));
}

fn filegroup(group: &FileGroup, out: &mut String) {
    let FileGroup { name, contains, default, files: _ } = group;
    put!(out, "FILEGROUP", name, super::With("CONTAINS", contains), when(*default, "DEFAULT"));
}

impl Print for FileSpec {
    fn print(&self, out: &mut String) {
        put!(out, Parens(&self.options));
    }
}

fn alter_database(it: &AlterDatabase, out: &mut String) {
    use AlterDatabaseAction as A;
    put!(out, "ALTER DATABASE");
    if !matches!(it.action, A::ScopedConfiguration { .. }) {
        put!(out, when(it.name.is_none(), "CURRENT"), it.name);
    }
    match &it.action {
        A::Set { options, termination } => {
            put!(out, "SET", List(options), super::With("WITH", termination))
        }
        A::Collate(collation) => put!(out, "COLLATE", collation),
        A::Rename(name) => put!(out, "MODIFY NAME =", name),
        A::AddFileGroup(group) => {
            put!(out, "ADD");
            filegroup(group, out);
        }
        A::RemoveFileGroup(name) => put!(out, "REMOVE FILEGROUP", name),
        A::ModifyFileGroup(name, options) => put!(out, "MODIFY FILEGROUP", name, List(options)),
        A::AddFile { files, filegroup, log } => {
            put!(out, "ADD", when(*log, "LOG"), "FILE", List(files));
            put!(out, super::With("TO FILEGROUP", filegroup));
        }
        A::RemoveFile(name) => put!(out, "REMOVE FILE", name),
        A::ModifyFile(file) => put!(out, "MODIFY FILE", file),
        A::ScopedConfiguration { option, clear, for_secondary } => {
            put!(out, "SCOPED CONFIGURATION", when(*for_secondary, "FOR SECONDARY"));
            put!(out, if *clear { "CLEAR" } else { "SET" }, option);
        }
    }
}

impl Print for NamedOption {
    fn print(&self, out: &mut String) {
        let NamedOption { name, written: _, value, span: _ } = self;
        put!(out, name);
        let equal = when(!matches!(value, OptionValue::None | OptionValue::List(_)), "=");
        put!(out, equal, value);
    }
}

impl Print for OptionValue {
    fn print(&self, out: &mut String) {
        match self {
            OptionValue::None => {}
            OptionValue::On => put!(out, "ON"),
            OptionValue::Off => put!(out, "OFF"),
            OptionValue::Literal(literal) => put!(out, literal),
            OptionValue::Quantity(number, unit) => put!(out, number.to_string(), unit),
            OptionValue::Name(name) => put!(out, name),
            OptionValue::Place(place, columns) => put!(out, place, Some_("", columns)),
            OptionValue::List(options) => put!(out, Parens(options)),
            OptionValue::OnList(options) => put!(out, "ON", Parens(options)),
        }
    }
}

impl Print for IndexOption {
    fn print(&self, out: &mut String) {
        let IndexOption { name, written: _, value, on_partitions, span: _ } = self;
        let has_equal =
            !matches!(value, OptionValue::None | OptionValue::List(_) | OptionValue::Place(..));
        let equal = has_equal && **name != *"SAMPLE";
        put!(out, name, when(equal, "="), value);
        let ranges: Vec<_> =
            on_partitions.iter().map(|(from, to)| format!("{from} TO {to}")).collect();
        put!(out, Some_("ON PARTITIONS", &ranges));
    }
}

impl Print for TableOption {
    fn print(&self, out: &mut String) {
        match self {
            TableOption::MemoryOptimized(on) => put!(out, "MEMORY_OPTIMIZED =", on_off(*on)),
            TableOption::Durability(Durability::SchemaOnly) => {
                put!(out, "DURABILITY = SCHEMA_ONLY")
            }
            TableOption::Durability(Durability::SchemaAndData) => {
                put!(out, "DURABILITY = SCHEMA_AND_DATA")
            }
            TableOption::Other(option) => put!(out, option),
            TableOption::OnPartitions(option) => put!(out, option),
        }
    }
}

impl Print for Storage {
    fn print(&self, out: &mut String) {
        let Storage { on, textimage_on, filestream_on } = self;
        if let Some((name, columns)) = on {
            put!(out, "ON", name);
            put!(out, Some_("", columns));
        }
        put!(out, super::With("TEXTIMAGE_ON", textimage_on));
        put!(out, super::With("FILESTREAM_ON", filestream_on));
    }
}

impl Print for TableElement {
    fn print(&self, out: &mut String) {
        match self {
            TableElement::Column(column) => put!(out, column),
            TableElement::Constraint(constraint) => put!(out, constraint),
            TableElement::Index(index) => put!(out, index),
            TableElement::Period(from, to) => {
                put!(out, "PERIOD FOR SYSTEM_TIME (", from, ",", to, ")")
            }
        }
    }
}

impl Print for ColumnDefinition {
    fn print(&self, out: &mut String) {
        let ColumnDefinition { name, kind, options, span: _ } = self;
        put!(out, name);
        match kind {
            ColumnKind::Typed(data_type) => put!(out, data_type),
            ColumnKind::Computed { expr, persisted } => {
                put!(out, "AS", super::expr::Value(expr), when(*persisted, "PERSISTED"))
            }
            ColumnKind::ColumnSet => put!(out, "xml COLUMN_SET FOR ALL_SPARSE_COLUMNS"),
        }
        options.iter().for_each(|option| put!(out, option));
    }
}

impl Print for ColumnOption {
    fn print(&self, out: &mut String) {
        match self {
            ColumnOption::Collate(collation) => put!(out, "COLLATE", collation),
            ColumnOption::Null => put!(out, "NULL"),
            ColumnOption::NotNull => put!(out, "NOT NULL"),
            ColumnOption::Identity(None) => put!(out, "IDENTITY"),
            ColumnOption::Identity(Some((seed, step))) => {
                put!(out, "IDENTITY (", seed, ",", step, ")")
            }
            ColumnOption::NotForReplication => put!(out, "NOT FOR REPLICATION"),
            ColumnOption::RowGuidCol => put!(out, "ROWGUIDCOL"),
            ColumnOption::Sparse => put!(out, "SPARSE"),
            ColumnOption::FileStream => put!(out, "FILESTREAM"),
            ColumnOption::Hidden => put!(out, "HIDDEN"),
            ColumnOption::GeneratedRowStart => put!(out, "GENERATED ALWAYS AS ROW START"),
            ColumnOption::GeneratedRowEnd => put!(out, "GENERATED ALWAYS AS ROW END"),
            ColumnOption::Masked(function) => {
                put!(out, "MASKED WITH ( FUNCTION =", quote(function), ")")
            }
            ColumnOption::Constraint(constraint) => put!(out, constraint),
            ColumnOption::Index(index) => put!(out, index),
        }
    }
}

fn action(word: &'static str, action: Option<ReferentialAction>, out: &mut String) {
    let Some(action) = action else { return };
    let action = match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    };
    put!(out, word, action);
}

impl Print for Constraint {
    fn print(&self, out: &mut String) {
        let Constraint { name, kind, span: _ } = self;
        put!(out, super::With("CONSTRAINT", name));
        match kind {
            ConstraintKind::Key { kind, structure, columns, options, storage, not_enforced } => {
                put!(
                    out,
                    if *kind == KeyKind::Primary { "PRIMARY KEY" } else { "UNIQUE" },
                    structure
                );
                put!(out, Some_("", columns), Some_("WITH", options), storage);
                put!(out, when(*not_enforced, "NOT ENFORCED"));
            }
            ConstraintKind::ForeignKey {
                columns,
                table,
                referenced,
                on_delete,
                on_update,
                not_for_replication,
            } => {
                put!(
                    out,
                    Some_("FOREIGN KEY", columns),
                    "REFERENCES",
                    table,
                    Some_("", referenced)
                );
                action("ON DELETE", *on_delete, out);
                action("ON UPDATE", *on_update, out);
                put!(out, when(*not_for_replication, "NOT FOR REPLICATION"));
            }
            ConstraintKind::Check { condition, not_for_replication } => {
                put!(
                    out,
                    "CHECK",
                    when(*not_for_replication, "NOT FOR REPLICATION"),
                    "(",
                    condition,
                    ")"
                )
            }
            ConstraintKind::Default { value, column, with_values } => {
                put!(out, "DEFAULT", super::expr::Value(value), super::With("FOR", column));
                put!(out, when(*with_values, "WITH VALUES"));
            }
            ConstraintKind::Connection(pairs) => {
                for (index, (from, to)) in pairs.iter().enumerate() {
                    put!(out, if index == 0 { "CONNECTION (" } else { "," }, from, "TO", to);
                }
                put!(out, ")");
            }
        }
    }
}

impl Print for IndexStructure {
    fn print(&self, out: &mut String) {
        let structure = match self {
            IndexStructure::Clustered => "CLUSTERED",
            IndexStructure::Nonclustered => "NONCLUSTERED",
            IndexStructure::Hash => "HASH",
            IndexStructure::ClusteredColumnstore => "CLUSTERED COLUMNSTORE",
            IndexStructure::NonclusteredColumnstore => "NONCLUSTERED COLUMNSTORE",
        };
        put!(out, structure);
    }
}

impl Print for IndexColumn {
    fn print(&self, out: &mut String) {
        put!(out, self.name, when(self.descending, "DESC"));
    }
}

impl Print for InlineIndex {
    fn print(&self, out: &mut String) {
        put!(out, "INDEX", self.name, when(self.unique, "UNIQUE"), self.structure);
        index_rest(self, out);
    }
}

fn index_rest(index: &InlineIndex, out: &mut String) {
    let InlineIndex {
        name: _,
        unique: _,
        structure: _,
        columns,
        include,
        order,
        filter,
        options,
        storage,
        span: _,
    } = index;
    put!(out, Some_("", columns), Some_("INCLUDE", include), Some_("ORDER", order));
    put!(out, super::With("WHERE", filter), Some_("WITH", options), storage);
}

fn alter_table(it: &AlterTable, out: &mut String) {
    use AlterTableAction as A;
    let check = |check: &Option<bool>| {
        check.map_or("", |check| if check { "WITH CHECK" } else { "WITH NOCHECK" })
    };
    put!(out, "ALTER TABLE", it.name);
    match &it.action {
        A::Add { check: validate, elements } => put!(out, check(validate), "ADD", List(elements)),
        A::AlterColumn(column) => put!(out, "ALTER COLUMN", column),
        A::AlterColumnProperty { column, add, property } => {
            put!(out, "ALTER COLUMN", column, if *add { "ADD" } else { "DROP" }, property)
        }
        A::Drop(elements) => {
            put!(out, "DROP");
            for (index, element) in elements.iter().enumerate() {
                let DropElement { kind, if_exists, name, options } = element;
                let kind = match kind {
                    DropElementKind::Constraint => "CONSTRAINT",
                    DropElementKind::Column => "COLUMN",
                    DropElementKind::Index => "INDEX",
                    DropElementKind::Period => "PERIOD FOR",
                };
                put!(out, when(index > 0, ","), kind, when(*if_exists, "IF EXISTS"), name);
                put!(out, Some_("WITH", options));
            }
        }
        A::CheckConstraint { validate, enable, names } => {
            put!(out, check(validate), if *enable { "CHECK" } else { "NOCHECK" }, "CONSTRAINT");
            put!(out, when(names.is_empty(), "ALL"), List(names));
        }
        A::Trigger { enable, names } => {
            put!(out, if *enable { "ENABLE" } else { "DISABLE" }, "TRIGGER");
            put!(out, when(names.is_empty(), "ALL"), List(names));
        }
        A::AlterIndex { index, options } => {
            put!(out, "ALTER INDEX", index, "REBUILD", Some_("WITH", options))
        }
        A::Rebuild { partition, options } => {
            put!(out, "REBUILD", partition, Some_("WITH", options))
        }
        A::Set(options) => put!(out, "SET", Parens(options)),
        A::Switch { source_partition, target, target_partition, options } => {
            put!(out, "SWITCH", super::With("PARTITION", source_partition), "TO", target);
            put!(out, super::With("PARTITION", target_partition), Some_("WITH", options));
        }
    }
}

impl Print for CreateMode {
    fn print(&self, out: &mut String) {
        let mode = match self {
            CreateMode::Create => "CREATE",
            CreateMode::Alter => "ALTER",
            CreateMode::CreateOrAlter => "CREATE OR ALTER",
        };
        put!(out, mode);
    }
}

impl Print for Parameter {
    fn print(&self, out: &mut String) {
        let Parameter { variable, data_type, nullable, default, output, readonly, span: _ } = self;
        put!(out, variable);
        match data_type {
            ParameterType::Type(data_type) => put!(out, data_type),
            ParameterType::Cursor => put!(out, "CURSOR VARYING"),
        }
        put!(out, nullability(nullable), super::With("=", default));
        put!(out, when(*output, "OUTPUT"), when(*readonly, "READONLY"));
    }
}

impl Print for RoutineOption {
    fn print(&self, out: &mut String) {
        match self {
            RoutineOption::NativeCompilation => put!(out, "NATIVE_COMPILATION"),
            RoutineOption::SchemaBinding => put!(out, "SCHEMABINDING"),
            RoutineOption::Encryption => put!(out, "ENCRYPTION"),
            RoutineOption::Recompile => put!(out, "RECOMPILE"),
            RoutineOption::ExecuteAs(ExecuteAsWho::User(user)) => put!(out, "EXECUTE AS", user),
            RoutineOption::ExecuteAs(who) => put!(out, "EXECUTE AS", who),
            RoutineOption::ReturnsNullOnNullInput => put!(out, "RETURNS NULL ON NULL INPUT"),
            RoutineOption::CalledOnNullInput => put!(out, "CALLED ON NULL INPUT"),
            RoutineOption::Inline(on) => put!(out, "INLINE =", on_off(*on)),
        }
    }
}

impl Print for RoutineBody {
    fn print(&self, out: &mut String) {
        match self {
            RoutineBody::Statements(body) => put!(out, body),
            RoutineBody::External(name) => put!(out, "EXTERNAL NAME", name),
        }
    }
}

fn create_function(it: &CreateFunction, out: &mut String) {
    let CreateFunction { mode, name, parameters, options, body, definition: _ } = it;
    put!(out, mode, "FUNCTION", name, Parens(parameters), "RETURNS");
    match body {
        FunctionBody::Scalar { returns, body } => {
            put!(out, returns, Listed("WITH", options), "AS", body)
        }
        FunctionBody::Inline { with, query } => {
            // Without CTEs, parentheses would parse as a parenthesized query, another tree.
            put!(out, "TABLE", Listed("WITH", options), "AS RETURN", with, query);
        }
        FunctionBody::Multi { variable, elements, body } => {
            put!(out, variable, "TABLE", Parens(elements), Listed("WITH", options), "AS", body)
        }
        FunctionBody::External { returns, columns, method } => {
            put!(out, when(returns.is_none(), "TABLE"), returns, Some_("", columns));
            put!(out, Listed("WITH", options), "AS EXTERNAL NAME", method);
        }
    }
}

impl Print for TriggerTarget {
    fn print(&self, out: &mut String) {
        match self {
            TriggerTarget::Table(name) => put!(out, name),
            TriggerTarget::Database => put!(out, "DATABASE"),
            TriggerTarget::AllServer => put!(out, "ALL SERVER"),
        }
    }
}

impl Print for SequenceOption {
    fn print(&self, out: &mut String) {
        match self {
            SequenceOption::Type(data_type) => put!(out, "AS", data_type),
            SequenceOption::Start(value) => put!(out, "START WITH", value),
            SequenceOption::Restart(value) => put!(out, "RESTART", super::With("WITH", value)),
            SequenceOption::Increment(value) => put!(out, "INCREMENT BY", value),
            SequenceOption::Min(value) => put!(out, when(value.is_none(), "NO"), "MINVALUE", value),
            SequenceOption::Max(value) => put!(out, when(value.is_none(), "NO"), "MAXVALUE", value),
            SequenceOption::Cycle(cycle) => put!(out, when(!cycle, "NO"), "CYCLE"),
            SequenceOption::Cache(count) => put!(out, "CACHE", count),
            SequenceOption::NoCache => put!(out, "NO CACHE"),
        }
    }
}
