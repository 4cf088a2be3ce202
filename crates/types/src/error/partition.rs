//! The messages of partition functions and schemes, partitioned tables and SWITCH, part of the
//! registry of `messages/mod.rs`.

/// Passes the messages of partitioning to the next macro, in front of the messages it was given.
macro_rules! with_partition_messages {
    ($($others:tt)*) => {
        messages! {
            PartitionColumnUnique(column: &'a str, index: &'a str) = 1908, 16, "Column '{column}' is partitioning column of the index '{index}'. Partition columns for a unique index must be a subset of the index key.";
            PartitionColumnSparse(column: &'a str, table: &'a str) = 1978, 16, "Column '{column}' in table '{table}' is of a type that is invalid for use as a key column in an index or statistics.";
            PartitionColumnMissing(column: &'a str) = 1911, 16, "Column name '{column}' does not exist in the target table, index or view.";
            TextImagePartitioned = 1707, 16, "Cannot specify TEXTIMAGE_ON filegroup for a partitioned table.";
            PartitionIndexNotFound(number: i64, index: &'a str, table: &'a str) = 2586, 16, "Cannot find partition number {number} for index \"{index}\", table \"{table}\".";
            PartitionColumnCount(function: &'a str) = 2726, 16, "Partition function '{function}' uses 1 columns which does not match with the number of partition columns used to partition the table or index.";
            PartitionColumnTwice(column: &'a str) = 2703, 16, "Cannot use duplicate column names in the partition columns list. Column name '{column}' appears more than once.";
            TruncateUnaligned(index: &'a str, table: &'a str, function: &'a str) = 3756, 16, "TRUNCATE TABLE statement failed. Index '{index}' is not partitioned, but table '{table}' uses partition function '{function}'. Index and table must use an equivalent partition function.";
            TruncateOtherColumn(table: &'a str, index: &'a str) = 4716, 16, "TRUNCATE TABLE statement failed. The column set used to partition the table '{table}' is different from the column set used to partition index '{index}'";
            SwitchIgnored(number: i64, table: &'a str) = 4903, 10, "Warning: The specified partition {number} for the table '{table}' was ignored in ALTER TABLE SWITCH statement because the table is not partitioned.";
            SwitchPartitionNotEmpty(number: i64, table: &'a str) = 4904, 16, "ALTER TABLE SWITCH statement failed. The specified partition {number} of target table '{table}' must be empty.";
            SwitchNotEmpty(table: &'a str) = 4905, 16, "ALTER TABLE SWITCH statement failed. The target table '{table}' must be empty.";
            SwitchIndexColumn(table: &'a str, index: &'a str) = 4912, 16, "'ALTER TABLE SWITCH' statement failed. The columns set used to partition the table '{table}' is different from the column set used to partition index '{index}'.";
            SwitchIndexBounds(table: &'a str, index: &'a str) = 4908, 16, "'ALTER TABLE SWITCH' statement failed. The range boundary values used to partition the table '{table}' are different from the range boundary values used for index '{index}'.";
            SwitchNeedsNumber(table: &'a str) = 4911, 16, "Cannot specify a partitioned table without partition number in ALTER TABLE SWITCH statement. The table '{table}' is partitioned.";
            SwitchClustered(with: &'a str, index: &'a str, without: &'a str) = 4913, 16, "ALTER TABLE SWITCH statement failed. The table '{with}' has clustered index '{index}' while the table '{without}' does not have clustered index.";
            SwitchColumnName(column: &'a str, ordinal: i64, source: &'a str, other: &'a str, target: &'a str) = 4942, 16, "ALTER TABLE SWITCH statement failed because column '{column}' at ordinal {ordinal} in table '{source}' has a different name than the column '{other}' at the same ordinal in table '{target}'.";
            SwitchColumnCount(source: &'a str, columns: i64, target: &'a str, others: i64) = 4943, 16, "ALTER TABLE SWITCH statement failed because table '{source}' has {columns} columns and table '{target}' has {others} columns.";
            SwitchColumnType(column: &'a str, of: &'a str, source: &'a str, other: &'a str, target: &'a str) = 4944, 16, "ALTER TABLE SWITCH statement failed because column '{column}' has data type {of} in source table '{source}' which is different from its type {other} in target table '{target}'.";
            SwitchCollation(column: &'a str, source: &'a str, target: &'a str) = 4945, 16, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same collation in tables '{source}' and '{target}'.";
            SwitchPersisted(column: &'a str, source: &'a str, target: &'a str) = 4946, 16, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same persistent attribute in tables '{source}' and '{target}'.";
            SwitchIndex(source: &'a str, index: &'a str, target: &'a str) = 4947, 16, "ALTER TABLE SWITCH statement failed. There is no identical index in source table '{source}' for the index '{index}' in target table '{target}' .";
            SwitchDatabase(source: &'a str, database: &'a str, target: &'a str, other: &'a str) = 4948, 16, "ALTER TABLE SWITCH statement failed. The source table '{source}' is in database '{database}' while the target table '{target}' is in database '{other}'.";
            SwitchNotTable(name: &'a str) = 4949, 16, "ALTER TABLE SWITCH statement failed because the object '{name}' is not a user defined table.";
            SwitchNoPartition(number: i64, table: &'a str) = 4950, 16, "ALTER TABLE SWITCH statement failed because partition number {number} does not exist in table '{table}'.";
            SwitchTrims(column: &'a str, source: &'a str, target: &'a str) = 4952, 16, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same ANSI trimming semantics in tables '{source}' and '{target}'.";
            SwitchOtherColumn(source: &'a str, target: &'a str) = 4953, 16, "ALTER TABLE SWITCH statement failed. The columns set used to partition the table '{source}' is different from the column set used to partition the table '{target}'.";
            SwitchSame(source: &'a str, target: &'a str) = 4955, 16, "ALTER TABLE SWITCH statement failed. The source table '{source}' and target table '{target}' are same.";
            PartitionNumberType(statement: &'a str, kind: &'a str, name: &'a str) = 4957, 16, "'{statement}' statement failed because the expression identifying partition number for the {kind} '{name}' is not of integer type.";
            SwitchRowGuid(column: &'a str, source: &'a str, target: &'a str) = 4958, 16, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same ROWGUIDCOL property in tables '{source}' and '{target}'.";
            SwitchCheckDisabled(check: &'a str, source: &'a str, other: &'a str, target: &'a str) = 4960, 16, "ALTER TABLE SWITCH statement failed. Check constraint '{check}' in source table '{source}' is NOCHECK constraint but the matching check constraint '{other}' in target table '{target}' is CHECK.";
            SwitchComputed(column: &'a str, source: &'a str, target: &'a str) = 4965, 16, "ALTER TABLE SWITCH statement failed. Column '{column}' in table '{source}' is computed column but the same column in '{target}' is not computed.";
            SwitchFormula(column: &'a str, of: &'a str, source: &'a str, target: &'a str, other: &'a str) = 4966, 16, "ALTER TABLE SWITCH statement failed. Computed column '{column}' defined as '{of}' in table '{source}' is different from the same column in table '{target}' defined as '{other}'.";
            SwitchReferenced(source: &'a str, constraint: &'a str) = 4967, 16, "ALTER TABLE SWITCH statement failed. SWITCH is not allowed because source table '{source}' contains primary key for constraint '{constraint}'.";
            SwitchForeignKey(target: &'a str, constraint: &'a str, source: &'a str) = 4968, 16, "ALTER TABLE SWITCH statement failed. Target table '{target}' has foreign key for constraint '{constraint}' but source table '{source}' does not have corresponding key.";
            SwitchForeignKeyDisabled(constraint: &'a str, source: &'a str, other: &'a str, target: &'a str) = 4969, 16, "ALTER TABLE SWITCH statement failed. Foreign key constraint '{constraint}' is disabled in source table '{source}' and the corresponding constraint '{other}' is enabled in target table '{target}'. The source table constraint must be enabled.";
            SwitchTableCheck(target: &'a str, constraint: &'a str, source: &'a str) = 4970, 16, "ALTER TABLE SWITCH statement failed. Target table '{target}' has a table level check constraint '{constraint}' but the source table '{source}' does not have a corresponding constraint.";
            SwitchColumnCheck(target: &'a str, constraint: &'a str, source: &'a str) = 4971, 16, "ALTER TABLE SWITCH statement failed. Target table '{target}' has a column level check constraint '{constraint}' but the source table '{source}' does not have a corresponding constraint.";
            SwitchAllowsMore(source: &'a str, target: &'a str) = 4972, 16, "ALTER TABLE SWITCH statement failed. Check constraints or partition function of source table '{source}' allows values that are not allowed by check constraints or partition function on target table '{target}'.";
            SwitchRange(number: i64, source: &'a str, other: i64, target: &'a str) = 4973, 16, "ALTER TABLE SWITCH statement failed. Range defined by partition {number} in table '{source}' is not a subset of range defined by partition {other} in table '{target}'.";
            SwitchForeignKeyUntrusted(constraint: &'a str, source: &'a str, other: &'a str, target: &'a str) = 4974, 16, "ALTER TABLE SWITCH statement failed. Foreign key constraint '{constraint}' is NOCHECK in source table '{source}' and the corresponding constraint '{other}' is CHECK in target table '{target}'. The source table constraint must be in CHECK.";
            SwitchUnchecked(source: &'a str, number: i64, target: &'a str) = 4982, 16, "ALTER TABLE SWITCH statement failed. Check constraints of source table '{source}' allow values that are not allowed by range defined by partition {number} on target table '{target}'.";
            SwitchNullability(column: &'a str, source: &'a str, target: &'a str) = 4985, 16, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same nullability attribute in tables '{source}' and '{target}'.";
            DataspaceDenied = 6004, 14, "User does not have permission to perform this action.";
            PartitionNoTypes = 7702, 16, "Empty Partition function type-parameter-list is not allowed when defining a partition function.";
            PartitionSeveralTypes = 7703, 16, "Can not create RANGE partition function with multiple parameter types.";
            PartitionType(of: &'a str) = 7704, 16, "The type '{of}' is not valid for this operation.";
            PartitionConversion(ordinal: i64) = 7705, 16, "Could not implicitly convert range values type specified at ordinal {ordinal} to partition function parameter type.";
            PartitionFunctionUsed(function: &'a str) = 7706, 16, "Partition function '{function}' is being used by one or more partition schemes.";
            TooFewFilegroups(function: &'a str, scheme: &'a str) = 7707, 16, "The associated partition function '{function}' generates more partitions than there are file groups mentioned in the scheme '{scheme}'.";
            PartitionDuplicates(first: i64, second: i64) = 7708, 16, "Duplicate range boundary values are not allowed in partition function boundary values list. Partition boundary values at ordinal {first} and {second} are equal.";
            PartitionUnsorted(function: &'a str) = 7709, 10, "Warning: Range value list for partition function '{function}' is not sorted by value. Mapping of partitions to filegroups during CREATE PARTITION SCHEME will use the sorted boundary values if the function '{function}' is referenced in CREATE PARTITION SCHEME.";
            NoNextUsed(scheme: &'a str) = 7710, 16, "Warning: The partition scheme '{scheme}' does not have any next used filegroup. Partition scheme has not been changed.";
            CompressionTwice = 7711, 16, "The DATA_COMPRESSION option was specified more than once for the table, or for at least one of its partitions if the table is partitioned.";
            PartitionsTwice = 7711, 16, "The PARTITIONS option was specified more than once for the table, or for at least one of its partitions if the table is partitioned.";
            NextUsed(scheme: &'a str, filegroup: &'a str) = 7712, 10, "Partition scheme '{scheme}' has been created successfully. '{filegroup}' is marked as the next used filegroup in partition scheme '{scheme}'.";
            FilegroupsIgnored(count: i64) = 7713, 10, "{count} filegroups specified after the next used filegroup are ignored.";
            RangeValueMissing = 7714, 16, "Partition range value is missing.";
            RangeValueNotFound = 7715, 16, "The specified partition range value could not be found.";
            ZeroPartitions = 7716, 16, "Can not create or alter a partition function to have zero partitions.";
            PartitionSchemeUsed(scheme: &'a str) = 7717, 16, "The partition scheme \"{scheme}\" is currently being used to partition one or more tables.";
            TooManyPartitions(max: i64) = 7719, 16, "CREATE/ALTER partition function failed as only a maximum of {max} partitions can be created.";
            PartitionTruncation(ordinal: i64) = 7720, 16, "Data truncated when converting range values to the partition function parameter type. The range value at ordinal {ordinal} requires data truncation.";
            PartitionValueExists(ordinal: i64) = 7721, 16, "Duplicate range boundary values are not allowed in partition function boundary values list. The boundary value being added is already present at ordinal {ordinal} of the boundary value list.";
            PartitionNumberRange(number: i64, kind: &'a str, name: &'a str, max: i64) = 7722, 16, "Invalid partition number {number} specified for {kind} '{name}', partition number can range from 1 to {max}.";
            AllNeedsOneFilegroup = 7723, 16, "Only a single filegroup can be specified while creating partition scheme using option ALL to specify all the filegroups.";
            PartitionColumnNotPersisted(column: &'a str, table: &'a str) = 7724, 16, "Computed column cannot be used as a partition key if it is not persisted. Partition key column '{column}' in table '{table}' is not persisted.";
            PartitionColumnType(column: &'a str, of: &'a str, function: &'a str, parameter: &'a str) = 7726, 16, "Partition column '{column}' has data type {of} which is different from the partition function '{function}' parameter data type {parameter}.";
            PartitionColumnCollation(column: &'a str, function: &'a str) = 7727, 16, "Collation of partition column '{column}' does not match collation of corresponding parameter in partition function '{function}'.";
            PartitionRange(from: i64, to: i64) = 7728, 16, "Invalid partition range: {from} TO {to}. Lower bound must not be greater than upper bound.";
            NotPartitioned(verb: &'a str, kind: &'a str, name: &'a str) = 7729, 16, "Cannot specify partition number in the {verb} {kind} statement as the {kind} '{name}' is not partitioned.";
            PartitionMissing(verb: &'a str, number: i64, kind: &'a str, name: &'a str) = 7730, 16, "Alter {verb} statement failed because partition number {number} does not exist in {kind} '{name}'.";
            IndexUnaligned(statement: &'a str, kind: &'a str, name: &'a str, index: &'a str) = 7733, 16, "'{statement}' statement failed. The {kind} '{name}' is partitioned while index '{index}' is not partitioned.";
            RebuildNeedsAll = 10737, 15, "In an ALTER TABLE REBUILD or ALTER INDEX REBUILD statement, when a partition is specified in a DATA_COMPRESSION clause, PARTITION=ALL must be specified. The PARTITION=ALL clause is used to reinforce that all partitions of the table or index will be rebuilt, even if only a subset is specified in the DATA_COMPRESSION clause.";
            SwitchCompression = 11406, 16, "ALTER TABLE SWITCH statement failed. Source and target partitions have different values for the DATA_COMPRESSION option.";
            SwitchSparse(column: &'a str, source: &'a str, target: &'a str) = 11412, 16, "ALTER TABLE SWITCH statement failed because column '{column}' does not have the same sparse storage attribute in tables '{source}' and '{target}'.";
            SwitchVersionedSource(table: &'a str) = 13546, 16, "Switching out partition failed on table '{table}' because it is not a supported operation on system-versioned tables. Consider setting SYSTEM_VERSIONING to OFF and trying again.";
            SwitchVersionedTarget(table: &'a str) = 13577, 16, "ALTER TABLE SWITCH statement failed on table '{table}' because target table has SYSTEM_TIME PERIOD while source table does not have it.";
            $($others)*
        }
    };
}
