//! The messages of system-versioned temporal tables, part of the registry of `messages/mod.rs`.

/// Passes the messages of temporal tables to the next macro, in front of the messages it was given.
macro_rules! with_temporal_messages {
    ($($others:tt)*) => {
        with_partition_messages! {
            GeneratedType(column: &'a str) = 13501, 16, "Temporal generated always column '{column}' has invalid data type.";
            RowStartTwice = 13502, 16, "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW START' column.";
            RowEndTwice = 13503, 16, "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW END' column.";
            RowStartMissing = 13504, 16, "Temporal 'GENERATED ALWAYS AS ROW START' column definition missing.";
            RowEndMissing = 13505, 16, "Temporal 'GENERATED ALWAYS AS ROW END' column definition missing.";
            PeriodStartName = 13506, 16, "System-versioned table SYSTEM_TIME period definition start column name not matching 'GENERATED ALWAYS AS ROW START' column name.";
            PeriodEndName = 13507, 16, "System-versioned table SYSTEM_TIME period definition end column name not matching 'GENERATED ALWAYS AS ROW END' column name.";
            PeriodTwice = 13508, 16, "System-versioned table cannot have more than one SYSTEM_TIME period definition.";
            GeneratedWithoutPeriod = 13509, 16, "Cannot create generated always column when SYSTEM_TIME period is not defined.";
            VersioningWithoutPeriod = 13510, 16, "Cannot set SYSTEM_VERSIONING to ON when SYSTEM_TIME period is not defined.";
            NotAHistoryTable(name: &'a str) = 13511, 16, "Specified object '{name}' cannot be used as history table.";
            PeriodPrecision = 13513, 16, "SYSTEM_TIME period columns cannot have different datatype precision.";
            HistoryInUse(table: &'a str) = 13514, 16, "History table '{table}' is already in use.";
            HistoryUnique(table: &'a str) = 13515, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' has custom unique keys defined. Consider dropping all unique keys and trying again.";
            HistoryForeignKeys(table: &'a str) = 13516, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' has foreign keys defined. Consider dropping all foreign keys and trying again.";
            HistoryConstraints(table: &'a str) = 13517, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' has table or column constraints defined. Consider dropping all table and column constraints and trying again.";
            HistoryIdentity(table: &'a str) = 13518, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' has IDENTITY column specification. Consider dropping all IDENTITY column specifications and trying again.";
            HistoryComputed(table: &'a str) = 13519, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' has computed column specification. Consider dropping all computed column specifications and trying again.";
            HistoryColumnCount(table: &'a str, columns: i64, history: &'a str, history_columns: i64) = 13523, 16, "Setting SYSTEM_VERSIONING to ON failed because table '{table}' has {columns} columns and table '{history}' has {history_columns} columns.";
            HistoryColumnName(found: &'a str, ordinal: i64, history: &'a str, column: &'a str, table: &'a str) = 13524, 16, "Setting SYSTEM_VERSIONING to ON failed because column '{found}' at ordinal {ordinal} in history table '{history}' has a different name than the column '{column}' at the same ordinal in table '{table}'.";
            HistoryColumnType(column: &'a str, found: &'a str, history: &'a str, wanted: &'a str, table: &'a str) = 13525, 16, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' has data type {found} in history table '{history}' which is different from corresponding column type {wanted} in table '{table}'.";
            HistoryCollation(column: &'a str, table: &'a str, history: &'a str) = 13526, 16, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' does not have the same collation in tables '{table}' and '{history}'.";
            HistoryPeriodNullable(column: &'a str, history: &'a str, table: &'a str) = 13530, 16, "Setting SYSTEM_VERSIONING to ON failed because system column '{column}' in history table '{history}' corresponds to a period column in table '{table}' and cannot be nullable.";
            HistoryNullability(column: &'a str, table: &'a str, history: &'a str) = 13531, 16, "Setting SYSTEM_VERSIONING to ON failed because column '{column}' does not have the same nullability attribute in tables '{table}' and '{history}'.";
            TransactionTooEarly(table: &'a str) = 13535, 16, "Data modification failed on system-versioned table '{table}' because transaction time was earlier than period start time for affected records.";
            InsertGenerated(table: &'a str) = 13536, 16, "Cannot insert an explicit value into a GENERATED ALWAYS column in table '{table}'. Use INSERT with a column list to exclude the GENERATED ALWAYS column, or insert a DEFAULT into GENERATED ALWAYS column.";
            UpdateGenerated(table: &'a str) = 13537, 16, "Cannot update GENERATED ALWAYS columns in table '{table}'.";
            HistoryTwoPartName(table: &'a str) = 13539, 15, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' is not specified in two-part name format.";
            HistoryEndBeforeStart(table: &'a str) = 13541, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' contains invalid records with end of period set before start.";
            PeriodStartInFuture(table: &'a str) = 13542, 16, "ADD PERIOD FOR SYSTEM_TIME on table '{table}' failed because there are open records with start of period set to a value in the future.";
            HistoryEndInFuture(table: &'a str) = 13543, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' contains invalid records with end of period set to a value in the future.";
            NotSystemVersioned(table: &'a str) = 13544, 16, "Temporal FOR SYSTEM_TIME clause can only be used with system-versioned tables. '{table}' is not a system-versioned table.";
            TruncateVersioned(table: &'a str) = 13545, 16, "Truncate failed on table '{table}' because it is not a supported operation on system-versioned tables.";
            AlterHistoryColumn(column: &'a str, table: &'a str) = 13548, 16, "Cannot alter column '{column}' on table '{table}' because it is not a supported operation on system-versioned temporal tables.";
            AddHistoryColumn(table: &'a str) = 13550, 16, "Add column operation failed on table '{table}' because it is not a supported operation on system-versioned temporal tables.";
            DropHistoryColumn(table: &'a str) = 13551, 16, "Drop column operation failed on table '{table}' because it is not a supported operation on system-versioned temporal tables.";
            DropVersioned(table: &'a str) = 13552, 16, "Drop table operation failed on table '{table}' because it is not a supported operation on system-versioned temporal tables.";
            VersionedPrimaryKey(table: &'a str) = 13553, 16, "System versioned temporal table '{table}' must have primary key defined.";
            HistoryPrimaryKey(table: &'a str) = 13558, 16, "Cannot add PRIMARY KEY constraint to a temporal history table '{table}'.";
            InsertHistory(table: &'a str) = 13559, 16, "Cannot insert rows in a temporal history table '{table}'.";
            DeleteHistory(table: &'a str) = 13560, 16, "Cannot delete rows from a temporal history table '{table}'.";
            UpdateHistory(table: &'a str) = 13561, 16, "Cannot update rows in a temporal history table '{table}'.";
            MergeHistory(table: &'a str) = 13562, 16, "Cannot perform MERGE operation on temporal history table '{table}'.";
            HistoryCheck(table: &'a str) = 13564, 16, "Adding CHECK constraint to a temporal history table '{table}' is not allowed.";
            TemporalInUse(table: &'a str) = 13566, 16, "Temporal table '{table}' is already in use.";
            HistoryInTempdb(table: &'a str) = 13567, 15, "Temporal history table '{table}' cannot be created in a 'tempdb' database.";
            VersionedInTempdb(table: &'a str) = 13568, 16, "System-versioned temporal table '{table}' cannot be created in a 'tempdb' database.";
            TriggerOnVersioned(table: &'a str) = 13569, 16, "Cannot create a trigger on a system-versioned temporal table '{table}'.";
            PeriodOfVariable = 13572, 16, "Creating table variables containing PERIOD is not allowed.";
            HistoryOverlaps(table: &'a str) = 13573, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' contains overlapping records.";
            HistoryHasPeriod(table: &'a str) = 13574, 16, "Setting SYSTEM_VERSIONING to ON failed because temporal history table '{table}' contains SYSTEM_TIME period.";
            PeriodEndNotMax(table: &'a str) = 13575, 16, "ADD PERIOD FOR SYSTEM_TIME failed because table '{table}' contains records where end of period is not equal to MAX datetime.";
            HistoryRowGuid(table: &'a str) = 13580, 16, "Setting SYSTEM_VERSIONING to ON failed because history table '{table}' has ROWGUID column specification. Consider dropping all ROWGUID column specifications and trying again.";
            PeriodNullable(column: &'a str) = 13587, 16, "Period column '{column}' in a system-versioned temporal table cannot be nullable.";
            SystemTimeTwice(table: &'a str) = 13590, 16, "Temporal FOR SYSTEM_TIME clause can only be set once per temporal table. '{table}' has more than one temporal FOR SYSTEM_TIME clause.";
            VersioningNotOn(table: &'a str) = 13591, 16, "SYSTEM_VERSIONING is not turned ON for table '{table}'.";
            HistoryNotTheOne(history: &'a str, table: &'a str) = 13595, 16, "Temporal history table name '{history}' is not correct for current table '{table}'.";
            VersioningAlreadyOn(table: &'a str) = 13596, 16, "SYSTEM_VERSIONING is already turned ON for table '{table}'.";
            PeriodExists(table: &'a str) = 13597, 16, "Temporal SYSTEM_TIME period is already defined on table '{table}'.";
            AlterPeriodColumn(column: &'a str) = 13599, 16, "Period column '{column}' in a system-versioned temporal table cannot be altered.";
            AddIdentityVersioned(table: &'a str) = 13704, 16, "System-versioned table schema modification failed because history table '{table}' has IDENTITY column specification. Consider dropping all IDENTITY column specifications and trying again.";
            AddComputedVersioned = 13724, 16, "System-versioned table schema modification failed because adding computed column while system-versioning is ON is not supported.";
            OtherHistory(table: &'a str) = 13757, 16, "Temporal table '{table}' already has history table defined. Consider dropping system_versioning first if you want to use different history table.";
            $($others)*
        }
    };
}
