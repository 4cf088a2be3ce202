//! The registry of messages: one line per message with its number, its severity and its text.
//!
//! Numbers, severities and wording are SQL Server's (`sys.messages`). Add lines where the number
//! belongs; the variant's name and documentation derive from the line.

use std::fmt;

/// Declares [`Msg`]: per message a variant with its arguments, number, severity and text.
macro_rules! messages {
    ($($name:ident $(($($arg:ident: $type:ty),+))? = $number:literal, $severity:literal, $text:literal;)+) => {
        /// A message of the registry with its arguments; turn it into an [`crate::Error`] with `.into()`.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Msg<'a> {
            $(
                #[doc = concat!("Message ", $number, ", severity ", $severity, ": `", $text, "`")]
                $name $(($($type),+))?,
            )+
            #[doc(hidden)]
            _Lifetime(std::marker::PhantomData<&'a ()>, std::convert::Infallible),
        }

        impl Msg<'_> {
            /// Returns the number and the severity.
            pub const fn number_and_severity(&self) -> (i32, u8) {
                match self {
                    $(messages!(@pattern $name $(($($arg),+))?) => ($number, $severity),)+
                    Self::_Lifetime(_, never) => match *never {},
                }
            }

            /// The number and severity of every message, in the order of the registry.
            pub const ALL: &'static [(i32, u8)] = &[$(($number, $severity)),+];
        }

        impl fmt::Display for Msg<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $(($($arg),+))? => write!(f, $text),)+
                    Self::_Lifetime(_, never) => match *never {},
                }
            }
        }
    };
    (@pattern $name:ident) => { Self::$name };
    (@pattern $name:ident ($($arg:ident),+)) => { Self::$name(..) };
}

messages! {
    SyntaxNear(token: &'a str) = 102, 15, "Incorrect syntax near '{token}'.";
    IdentifierTooLong(kind: &'a str, start: &'a str, max: i64) = 103, 15, "The {kind} that starts with '{start}' is too long. Maximum length is {max}.";
    OrderByNotInSetList = 104, 15, "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator.";
    UnclosedQuote(text: &'a str) = 105, 15, "Unclosed quotation mark after the character string '{text}'.";
    ColumnPrefixMismatch(prefix: &'a str) = 107, 15, "The column prefix '{prefix}' does not match with a table name or alias name used in the query.";
    OrderByPosition(position: i64) = 108, 15, "The ORDER BY position number {position} is out of range of the number of items in the select list.";
    InsertMoreColumns = 109, 15, "There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.";
    InsertFewerColumns = 110, 15, "There are fewer columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement.";
    MustBeFirstInBatch(statement: &'a str) = 111, 15, "'{statement}' must be the first statement in a query batch.";
    VariablesNotAllowed(statement: &'a str) = 112, 15, "Variables are not allowed in the {statement} statement.";
    MissingEndComment = 113, 15, "Missing end comment mark '*/'.";
    SubqueryOneColumn = 116, 16, "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.";
    TooManyPrefixes(kind: &'a str, name: &'a str, max: i64) = 117, 15, "The {kind} name '{name}' contains more than the maximum number of prefixes. The maximum is {max}.";
    MustNameParameters(number: i64) = 119, 15, "Must pass parameter number {number} and subsequent parameters as '@name = value'. After the form '@name = value' has been used, all subsequent parameters must be passed in the form '@name = value'.";
    InsertSelectFewer = 120, 15, "The select list for the INSERT statement contains fewer items than the insert list. The number of SELECT values must match the number of INSERT columns.";
    InsertSelectMore = 121, 15, "The select list for the INSERT statement contains more items than the insert list. The number of SELECT values must match the number of INSERT columns.";
    TopNegative = 127, 15, "A TOP N or FETCH rowcount value may not be negative.";
    NameNotPermitted(name: &'a str) = 128, 15, "The name \"{name}\" is not permitted in this context. Valid expressions are constants, constant expressions, and (in some contexts) variables. Column names are not permitted.";
    NestedAggregate = 130, 16, "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
    SizeExceedsMaximum(size: i64, kind: &'a str, name: &'a str, max: i64) = 131, 15, "The size ({size}) given to the {kind} '{name}' exceeds the maximum allowed for any data type ({max}).";
    DuplicateLabel(label: &'a str) = 132, 15, "The label '{label}' has already been declared. Label names must be unique within a query batch or stored procedure.";
    UndeclaredLabel(label: &'a str) = 133, 15, "A GOTO statement references the label '{label}' but the label has not been declared.";
    DuplicateVariable(name: &'a str) = 134, 15, "The variable name '{name}' has already been declared. Variable names must be unique within a query batch or stored procedure.";
    BreakOutsideWhile = 135, 15, "Cannot use a BREAK statement outside the scope of a WHILE statement.";
    ContinueOutsideWhile = 136, 15, "Cannot use a CONTINUE statement outside the scope of a WHILE statement.";
    MustDeclareScalar(name: &'a str) = 137, 15, "Must declare the scalar variable \"{name}\".";
    AssignAndRetrieve = 141, 15, "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations.";
    ConstraintSyntax(kind: &'a str) = 142, 15, "Incorrect syntax for definition of the '{kind}' constraint.";
    AggregateInGroupBy = 144, 15, "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause.";
    OrderByNotInDistinct = 145, 15, "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.";
    AggregateInWhere = 147, 15, "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a HAVING clause or a select list, and the column being aggregated is an outer reference.";
    WaitForSyntax(text: &'a str) = 148, 15, "Incorrect time syntax in time string '{text}' used with WAITFOR.";
    InvalidOptionUsage(option: &'a str, statement: &'a str) = 153, 15, "Invalid usage of the option {option} in the {statement} statement.";
    NotAllowedIn(what: &'a str, place: &'a str) = 154, 15, "{what} is not allowed in {place}.";
    UnrecognizedOption(name: &'a str, kind: &'a str) = 155, 15, "'{name}' is not a recognized {kind} option.";
    SyntaxNearKeyword(keyword: &'a str) = 156, 15, "Incorrect syntax near the keyword '{keyword}'.";
    AggregateInSet = 157, 15, "An aggregate may not appear in the set list of an UPDATE statement.";
    AggregateInOutput = 158, 15, "An aggregate may not appear in the OUTPUT clause.";
    DropIndexNeedsTable = 159, 15, "Must specify the table name and index name for the DROP INDEX statement.";
    GroupByOuterOnly = 164, 15, "Each GROUP BY expression must contain at least one column that is not an outer reference.";
    DatabasePrefixNotAllowed(statement: &'a str) = 166, 15, "'{statement}' does not allow specifying the database name as a prefix to the object name.";
    FloatLiteralOutOfRange(text: &'a str, size: i64) = 168, 15, "The floating point value '{text}' is out of the range of computer representation ({size} bytes).";
    OrderByDuplicate = 169, 15, "A column has been specified more than once in the order by list. Columns in the order by list must be unique.";
    ColumnNeedsType(column: &'a str) = 173, 15, "The definition for column '{column}' must include a data type.";
    FunctionArguments(name: &'a str, count: i64) = 174, 15, "The {name} function requires {count} argument(s).";
    ReturnValueNotAllowed = 178, 15, "A RETURN statement with a return value cannot be used in this context.";
    OutputOfConstant = 179, 15, "Cannot use the OUTPUT option when passing a constant to a stored procedure.";
    ScaleOutOfRange(scale: i64, kind: &'a str, name: &'a str, min: i64, max: i64) = 183, 15, "The scale ({scale}) for {kind} '{name}' must be within the range {min} to {max}.";
    FunctionArgumentRange(name: &'a str, min: i64, max: i64) = 189, 15, "The {name} function requires {min} to {max} arguments.";
    NestedTooDeeply = 191, 15, "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.";
    ScaleAbovePrecision = 192, 16, "The scale must be less than or equal to the precision.";
    NameTooLong(start: &'a str, max: i64) = 193, 15, "The object or column name starting with '{start}' is too long. The maximum length is {max} characters.";
    NotRecognized(name: &'a str, kind: &'a str) = 195, 15, "'{name}' is not a recognized {kind}.";
    ParameterNotSupplied(procedure: &'a str, parameter: &'a str) = 201, 16, "Procedure or function '{procedure}' expects parameter '{parameter}', which was not supplied.";
    InvalidIdentifier(name: &'a str) = 203, 16, "The name '{name}' is not a valid identifier.";
    SetColumnCount = 205, 16, "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists.";
    OperandClash(left: &'a str, right: &'a str) = 206, 16, "Operand type clash: {left} is incompatible with {right}";
    InvalidColumn(name: &'a str) = 207, 16, "Invalid column name '{name}'.";
    InvalidObject(name: &'a str) = 208, 16, "Invalid object name '{name}'.";
    AmbiguousColumn(name: &'a str) = 209, 16, "Ambiguous column name '{name}'.";
    DateTimeFromBinary = 210, 16, "Conversion failed when converting datetime from binary/varbinary string.";
    InsertColumnCount = 213, 16, "Column name or number of supplied values does not match table definition.";
    ProcedureExpectsParameter(parameter: &'a str, of: &'a str) = 214, 16, "Procedure expects parameter '{parameter}' of type '{of}'.";
    NotAFunction(name: &'a str) = 215, 16, "Parameters supplied for object '{name}' which is not a function. If the parameters are intended as a table hint, a WITH keyword is required.";
    FunctionNeedsParameters(name: &'a str) = 216, 16, "Parameters were not supplied for the function '{name}'.";
    NestingLevel(limit: i64) = 217, 16, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit {limit}).";
    TypeNotFound(name: &'a str) = 218, 16, "Could not find the type '{name}'. Either it does not exist or you do not have the necessary permission.";
    TypeExists(name: &'a str) = 219, 16, "The type '{name}' already exists, or you do not have permission to create it.";
    ArithmeticOverflowValue(to: &'a str, value: &'a str) = 220, 16, "Arithmetic overflow error for data type {to}, value = {value}.";
    InvalidBaseType(name: &'a str) = 222, 16, "The base type \"{name}\" is not a valid base type for the alias data type.";
    NotInTransaction(statement: &'a str) = 226, 16, "{statement} statement not allowed within multi-statement transaction.";
    NotAFunctionOrField(name: &'a str) = 227, 15, "\"{name}\" is not a valid function, property, or field.";
    PermissionDenied(permission: &'a str, object: &'a str, database: &'a str, schema: &'a str) = 229, 14, "The {permission} permission was denied on the object '{object}', database '{database}', schema '{schema}'.";
    ArithmeticOverflowType(to: &'a str, value: &'a str) = 232, 16, "Arithmetic overflow error for type {to}, value = {value}.";
    ColumnCannotBeNull(column: &'a str, table: &'a str) = 233, 16, "The column '{column}' in table '{table}' cannot be null.";
    MoneyResultSpace(to: &'a str) = 234, 16, "There is insufficient result space to convert a money value to {to}.";
    MoneySyntax = 235, 16, "Cannot convert a char value to money. The char value has incorrect syntax.";
    MoneyFromCharOverflow = 236, 16, "The conversion from char data type to money resulted in a money overflow error.";
    MoneyResultSpaceFrom(from: &'a str, value: &'a str, to: &'a str) = 238, 16, "There is insufficient result space to convert the {from} value (= {value}) to the {to} data type.";
    DuplicateCte(name: &'a str) = 239, 16, "Duplicate common table expression name '{name}' was specified.";
    RecursiveTypes(column: &'a str, query: &'a str) = 240, 16, "Types don't match between the anchor and the recursive part in column \"{column}\" of recursive query \"{query}\".";
    DateFromString = 241, 16, "Conversion failed when converting date and/or time from character string.";
    DateOutOfRange(from: &'a str, to: &'a str) = 242, 16, "The conversion of a {from} data type to a {to} data type resulted in an out-of-range value.";
    TypeNotDefined(name: &'a str) = 243, 16, "Type {name} is not a defined system type.";
    StringOverflowsColumn(from: &'a str, value: &'a str, to: &'a str) = 244, 16, "The conversion of the {from} value '{value}' overflowed an {to} column. Use a larger integer column.";
    ConversionFailed(from: &'a str, value: &'a str, to: &'a str) = 245, 16, "Conversion failed when converting the {from} value '{value}' to data type {to}.";
    NoAnchorMember(query: &'a str) = 246, 16, "No anchor member was specified for recursive query \"{query}\".";
    StringOverflowsInt(from: &'a str, value: &'a str) = 248, 16, "The conversion of the {from} value '{value}' overflowed an int column.";
    NotComparable(of: &'a str, clause: &'a str) = 249, 16, "The type \"{of}\" is not comparable. It cannot be used in the {clause} clause.";
    RecursiveWithoutUnion(query: &'a str) = 252, 16, "Recursive common table expression '{query}' does not contain a top-level UNION ALL operator.";
    MultipleRecursiveReferences(query: &'a str) = 253, 16, "Recursive member of a common table expression '{query}' has multiple recursive references.";
    InvalidForFunction(of: &'a str, function: &'a str) = 256, 16, "The data type {of} is invalid for the {function} function. Allowed types are: char/varchar, nchar/nvarchar, and binary/varbinary.";
    ImplicitNotAllowed(from: &'a str, to: &'a str) = 257, 16, "Implicit conversion from data type {from} to {to} is not allowed. Use the CONVERT function to run this query.";
    CannotCallMethods(of: &'a str) = 258, 15, "Cannot call methods on {of}.";
    SystemCatalogUpdate = 259, 16, "Ad hoc updates to system catalogs are not allowed.";
    ImplicitNotAllowedColumn(from: &'a str, to: &'a str, table: &'a str, column: &'a str) = 260, 16, "Disallowed implicit conversion from data type {from} to data type {to}, table '{table}', column '{column}'. Use the CONVERT function to run this query.";
    DatabasePermissionDenied(permission: &'a str, database: &'a str) = 262, 14, "{permission} permission denied in database '{database}'.";
    MustSpecifyTable = 263, 16, "Must specify table to select from.";
    ColumnSpecifiedTwice(column: &'a str) = 264, 16, "The column name '{column}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.";
    PivotColumnConflict(column: &'a str, operator: &'a str, argument: &'a str) = 265, 16, "The column name \"{column}\" specified in the {operator} operator conflicts with the existing column name in the {argument} argument.";
    TransactionCountMismatch(before: i64, after: i64) = 266, 16, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = {before}, current count = {after}.";
    ObjectCannotBeFound(name: &'a str) = 267, 16, "Object '{name}' cannot be found.";
    NotUpdatable(name: &'a str) = 270, 16, "Object '{name}' cannot be modified.";
    ColumnCannotBeModified(column: &'a str) = 271, 16, "The column \"{column}\" cannot be modified because it is either a computed column or is the result of a UNION operator.";
    CannotUpdateTimestamp = 272, 16, "Cannot update a timestamp column.";
    CannotInsertTimestamp = 273, 16, "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column.";
    InvalidStyle(style: i64, from: &'a str) = 281, 16, "{style} is not a valid style number when converting from {from} to a character string.";
    NullReturnStatus(procedure: &'a str) = 282, 10, "The '{procedure}' procedure attempted to return a status of NULL, which is not allowed. A status of 0 will be returned instead.";
    CannotConstruct(of: &'a str) = 289, 16, "Cannot construct data type {of}, some of the arguments have values which are not valid.";
    SmallMoneySyntax = 293, 16, "Cannot convert char value to smallmoney. The char value has incorrect syntax.";
    SmallMoneyFromCharOverflow = 294, 16, "The conversion from char data type to smallmoney data type resulted in a smallmoney overflow error.";
    SmallDateTimeFromString = 295, 16, "Conversion failed when converting character string to smalldatetime data type.";
    SmallDateTimeOverflow = 298, 16, "The conversion from datetime data type to smalldatetime data type resulted in a smalldatetime overflow error.";
    XmlNotComparable = 305, 16, "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
    TextNotComparable = 306, 16, "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or LIKE operator.";
    HintedIndexMissing(index: &'a str, table: &'a str) = 308, 16, "Index '{index}' on table '{table}' (specified in the FROM clause) does not exist.";
    MaxRecursionTooLarge(value: i64, max: i64) = 310, 15, "The value {value} specified for the MAXRECURSION option exceeds the allowed maximum of {max}.";
    TooFewArguments(name: &'a str) = 313, 16, "An insufficient number of arguments were supplied for the procedure or function {name}.";
    WithNeedsSemicolon = 319, 15, "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, an xmlnamespaces clause or a change tracking context clause, the previous statement must be terminated with a semicolon.";
    UnrecognizedTableHint(name: &'a str) = 321, 15, "\"{name}\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.";
    OutputWithTriggers(table: &'a str) = 334, 16, "The target table '{table}' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.";
    CteNeedsSemicolon(token: &'a str) = 336, 15, "Incorrect syntax near '{token}'. If this is intended to be a common table expression, you need to explicitly terminate the previous statement with a semi-colon.";
    DefaultForIdentity = 339, 16, "DEFAULT or NULL are not allowed as explicit identity values.";
    UnknownObjectType(name: &'a str) = 343, 15, "Unknown object type '{name}' used in a CREATE, DROP, or ALTER statement.";
    ReadOnlyNotTable(parameter: &'a str) = 346, 15, "The parameter \"{parameter}\" can not be declared READONLY since it is not a table-valued parameter.";
    NoParameterNamed(procedure: &'a str, parameter: &'a str) = 349, 16, "The procedure \"{procedure}\" has no parameter named \"{parameter}\".";
    TableParameterReadOnly(parameter: &'a str) = 352, 15, "The table-valued parameter \"{parameter}\" must be declared with the READONLY option.";
    IncompatibleTypes(left: &'a str, right: &'a str, operator: &'a str) = 402, 16, "The data types {left} and {right} are incompatible in the {operator} operator.";
    InvalidOperator(operator: &'a str, of: &'a str) = 403, 16, "Invalid operator for data type. Operator equals {operator}, type equals {of}.";
    ConstantInOrderBy(position: i64) = 408, 16, "A constant expression was encountered in the ORDER BY list, position {position}.";
    NotDistinctable(of: &'a str) = 421, 16, "The {of} data type cannot be selected as DISTINCT because it is not comparable.";
    SideEffectInFunction(operator: &'a str) = 443, 16, "Invalid use of a side-effecting operator '{operator}' within a function.";
    SelectInFunction = 444, 16, "Select statements included within a function cannot return data to a client.";
    CollationConflictFor(operation: &'a str) = 446, 16, "Cannot resolve collation conflict for {operation} operation.";
    InvalidForCollate(of: &'a str) = 447, 16, "Expression type {of} is invalid for COLLATE clause.";
    InvalidCollation(name: &'a str) = 448, 16, "Invalid collation '{name}'.";
    CollateClauseConflict(left: &'a str, right: &'a str) = 449, 16, "Collation conflict caused by collate clauses with different collation '{left}' and '{right}'.";
    CollationConflictColumn(left: &'a str, right: &'a str, operator: &'a str, statement: &'a str, column: i64) = 451, 16, "Cannot resolve collation conflict between \"{left}\" and \"{right}\" in {operator} operator occurring in {statement} statement column {column}.";
    FunctionMustReturn = 455, 16, "The last statement included within a function must be a return statement.";
    RecursiveDistinct(query: &'a str) = 460, 16, "DISTINCT operator is not allowed in the recursive part of a recursive common table expression '{query}'.";
    RecursiveTop(query: &'a str) = 461, 16, "The TOP or OFFSET operator is not allowed in the recursive part of a recursive common table expression '{query}'.";
    RecursiveOuterJoin(query: &'a str) = 462, 16, "Outer join is not allowed in the recursive part of a recursive common table expression '{query}'.";
    RecursiveAggregate(query: &'a str) = 467, 16, "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a recursive common table expression '{query}'.";
    CollationConflict(left: &'a str, right: &'a str, operation: &'a str) = 468, 16, "Cannot resolve the collation conflict between \"{left}\" and \"{right}\" in the {operation} operation.";
    InvalidEscape(escape: &'a str, predicate: &'a str) = 506, 16, "The invalid escape character \"{escape}\" was specified in a {predicate} predicate.";
    SetRowCount = 507, 16, "Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer.";
    RowTooLarge(size: i64, max: i64) = 511, 16, "Cannot create a row of size {size} which is greater than the allowable maximum row size of {max}.";
    SubqueryMoreThanOne = 512, 16, "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.";
    CannotInsertNull(column: &'a str, table: &'a str, statement: &'a str) = 515, 16, "Cannot insert the value NULL into column '{column}', table '{table}'; column does not allow nulls. {statement} fails.";
    DateAddOverflow(of: &'a str) = 517, 16, "Adding a value to a '{of}' column caused an overflow.";
    ExplicitNotAllowed(from: &'a str, to: &'a str) = 529, 16, "Explicit conversion from data type {from} to {to} is not allowed.";
    MaxRecursion(limit: i64) = 530, 16, "The statement terminated. The maximum recursion {limit} has been exhausted before statement completion.";
    DateDiffOverflow(function: &'a str) = 535, 16, "The {function} function resulted in an overflow. The number of dateparts separating two date/time instances is too large. Try to use {function} with a less precise datepart.";
    InvalidLength(function: &'a str) = 536, 16, "Invalid length parameter passed to the {function} function.";
    InvalidLengthLeft = 537, 16, "Invalid length parameter passed to the LEFT or SUBSTRING function.";
    IdentityInsertOff(table: &'a str) = 544, 16, "Cannot insert explicit value for identity column in table '{table}' when IDENTITY_INSERT is set to OFF.";
    IdentityValueMissing(table: &'a str) = 545, 16, "Explicit value must be specified for identity column in table '{table}' either when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column.";
    ConstraintConflict(statement: &'a str, kind: &'a str, constraint: &'a str, database: &'a str, table: &'a str, column: &'a str) = 547, 16, "The {statement} statement conflicted with the {kind} constraint \"{constraint}\". The conflict occurred in database \"{database}\", table \"{table}\"{column}.";
    CheckOption = 550, 16, "The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the CHECK OPTION constraint.";
    InsertExecSchema = 556, 16, "INSERT EXEC failed because the stored procedure altered the schema of the target table.";
    OnlyFunctionsInFunction = 557, 16, "Only functions and some extended stored procedures can be executed from within a function.";
    CompileStackOverflow = 565, 18, "A stack overflow occurred in the server while compiling the query. Please simplify the query.";
    NotInUserTransaction(statement: &'a str) = 574, 16, "{statement} statement cannot be used inside a user transaction.";
    SessionKilled = 596, 21, "Cannot continue the execution because the session is in the kill state.";
    SaveWithoutTransaction = 628, 16, "Cannot issue SAVE TRANSACTION when there is no active transaction.";
    OutOfMemory = 701, 17, "There is insufficient system memory in resource pool 'default' to run this query.";
    DatabaseNotFound(name: &'a str) = 911, 16, "Database '{name}' does not exist. Make sure that the name is entered correctly.";
    DatabaseIdNotFound(id: i64) = 913, 16, "Could not find database ID {id}. The database may not be activated yet or may be in transition. Reissue the query once the database is available. If you do not think this error is due to a database that is transitioning its state and this error continues to occur, contact your primary support provider.";
    NoDatabaseAccess(login: &'a str, database: &'a str) = 916, 14, "The server principal \"{login}\" is not able to access the database \"{database}\" under the current security context.";
    DatabaseSingleUser(name: &'a str) = 924, 14, "Database '{name}' is already open and can only have one user at a time.";
    DatabaseOffline(name: &'a str) = 942, 14, "Database '{name}' cannot be opened because it is offline.";
    LengthInvalid(line: i64, length: i64) = 1001, 16, "Line {line}: Length or precision specification {length} is invalid.";
    ScaleInvalid(line: i64, scale: i64) = 1002, 15, "Line {line}: Specified scale {scale} is invalid.";
    NumericRange(kind: &'a str, text: &'a str) = 1007, 15, "The {kind} '{text}' is out of the range for numeric representation (maximum precision 38).";
    CorrelationTwice(name: &'a str) = 1011, 16, "The correlation name '{name}' is specified multiple times in a FROM clause.";
    CorrelationIsTable(name: &'a str, table: &'a str) = 1012, 16, "The correlation name '{name}' has the same exposed name as table '{table}'.";
    SameExposedNames(left: &'a str, right: &'a str) = 1013, 16, "The objects \"{left}\" and \"{right}\" in the FROM clause have the same exposed names. Use correlation names to distinguish them.";
    TopInvalid = 1014, 15, "A TOP or FETCH clause contains an invalid value.";
    AggregateInOn = 1015, 15, "An aggregate cannot appear in an ON clause unless it is in a subquery contained in a HAVING clause or select list, and the column being aggregated is an outer reference.";
    OldHintSyntax(token: &'a str) = 1018, 15, "Incorrect syntax near '{token}'. If this is intended as a part of a table hint, A WITH keyword and parenthesis are now required. See SQL Server Books Online for proper syntax.";
    InvalidParameter(number: i64, statement: &'a str) = 1023, 15, "Invalid parameter {number} specified for {statement}.";
    PercentRange = 1031, 15, "Percent values must be between 0 and 100.";
    UpdatePrefix(prefix: &'a str, table: &'a str) = 1032, 16, "Cannot use the column prefix '{prefix}'. This must match the object in the UPDATE clause '{table}'.";
    OrderByInView = 1033, 15, "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified.";
    SyntaxExpected(token: &'a str, expected: &'a str) = 1035, 15, "Incorrect syntax near '{token}', expected '{expected}'.";
    NameMissing = 1038, 15, "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change the alias to a valid name.";
    OptionTwice(option: &'a str) = 1039, 15, "Option '{option}' is specified more than once.";
    ConflictingHints(kind: &'a str) = 1042, 15, "Conflicting {kind} optimizer hints specified.";
    SubqueryNotAllowed = 1046, 15, "Subqueries are not allowed in this context. Only scalar expressions are allowed.";
    ConflictingLockHints = 1047, 15, "Conflicting locking hints specified.";
    ConflictingCursorOptions(left: &'a str, right: &'a str) = 1048, 15, "Conflicting cursor options {left} and {right}.";
    InvalidName(name: &'a str) = 1055, 15, "'{name}' is an invalid name because it contains a NULL character or an invalid unicode character.";
    TooManySelectItems(max: i64) = 1056, 15, "The number of elements in the select list exceeds the maximum allowed number of {max} elements.";
    TopMustBeInteger = 1060, 15, "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.";
    TiesNeedOrderBy = 1062, 15, "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.";
    NoLockTarget = 1065, 15, "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or MERGE statements.";
    IntegerOutOfRange(text: &'a str) = 1080, 15, "The integer value {text} is out of range.";
    MustDeclareTable(name: &'a str) = 1087, 15, "Must declare the table variable \"{name}\".";
    ObjectNotFound(name: &'a str) = 1088, 16, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    DeadlockVictim(session: i32) = 1205, 13, "Transaction (Process ID {session}) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.";
    LockTimeout = 1222, 16, "Lock request time out period exceeded.";
    CreateUniqueDuplicate(object: &'a str, index: &'a str, key: &'a str) = 1505, 16, "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '{object}' and the index name '{index}'. The duplicate key value is {key}.";
    TooManyColumns(column: &'a str, table: &'a str, max: i64) = 1702, 16, "CREATE TABLE failed because column '{column}' in table '{table}' exceeds the maximum of {max} columns.";
    ConstraintNotCreated = 1750, 16, "Could not create constraint or index. See previous errors.";
    InvalidForDefault(column: &'a str, table: &'a str) = 1752, 16, "Column '{column}' in table '{table}' is invalid for creating a default constraint.";
    DefaultOnIdentity(table: &'a str, column: &'a str) = 1754, 16, "Defaults cannot be created on columns with an IDENTITY attribute. Table '{table}', column '{column}'.";
    DefaultOnTimestamp(table: &'a str, column: &'a str) = 1755, 16, "Defaults cannot be created on columns of data type timestamp. Table '{table}', column '{column}'.";
    ComputedInComputed(column: &'a str, table: &'a str) = 1759, 16, "Computed column '{column}' in table '{table}' is not allowed to be used in another computed-column definition.";
    ForeignKeyInvalidTable(key: &'a str, table: &'a str) = 1767, 16, "Foreign key '{key}' references invalid table '{table}'.";
    ForeignKeyReferencingColumn(key: &'a str, column: &'a str, table: &'a str) = 1769, 16, "Foreign key '{key}' references invalid column '{column}' in referencing table '{table}'.";
    ForeignKeyReferencedColumn(key: &'a str, column: &'a str, table: &'a str) = 1770, 16, "Foreign key '{key}' references invalid column '{column}' in referenced table '{table}'.";
    ForeignKeyNoPrimaryKey(key: &'a str, object: &'a str) = 1773, 16, "Foreign key '{key}' has implicit reference to object '{object}' which does not have a primary key defined on it.";
    ForeignKeyNoCandidate(table: &'a str, key: &'a str) = 1776, 16, "There are no primary or candidate keys in the referenced table '{table}' that match the referencing column list in the foreign key '{key}'.";
    ForeignKeyType(referenced: &'a str, referencing: &'a str, key: &'a str) = 1778, 16, "Column '{referenced}' is not the same data type as referencing column '{referencing}' in foreign key '{key}'.";
    PrimaryKeyExists(table: &'a str) = 1779, 16, "Table '{table}' already has a primary key defined on it.";
    DefaultExists = 1781, 16, "Column already has a DEFAULT bound to it.";
    CascadeCycle(key: &'a str, table: &'a str) = 1785, 16, "Introducing FOREIGN KEY constraint '{key}' on table '{table}' may cause cycles or multiple cascade paths. Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or modify other FOREIGN KEY constraints.";
    DatabaseExists(name: &'a str) = 1801, 16, "Database '{name}' already exists. Choose a different database name.";
    ClusteredExists(kind: &'a str, table: &'a str, index: &'a str) = 1902, 16, "Cannot create more than one clustered index on {kind} '{table}'. Drop the existing clustered index '{index}' before creating another.";
    NotATableOrView(name: &'a str) = 1906, 11, "Cannot create an index on '{name}', because this object is not a user table or view.";
    IndexColumnTwice(kind: &'a str, column: &'a str) = 1909, 16, "Cannot use duplicate column names in {kind}. Column name '{column}' listed more than once.";
    IndexColumnNotFound(column: &'a str) = 1911, 16, "Column name '{column}' does not exist in the target table or view.";
    IndexExists(index: &'a str, kind: &'a str, table: &'a str) = 1913, 16, "The operation failed because an index or statistics with name '{index}' already exists on {kind} '{table}'.";
    InvalidKeyColumn(column: &'a str, table: &'a str) = 1919, 16, "Column '{column}' in table '{table}' is of a type that is invalid for use as a key column in an index.";
    IndexKeyTooLong(size: i64, index: &'a str, max: i64, kind: &'a str) = 1946, 16, "Operation failed. The index entry of length {size} bytes for the index '{index}' exceeds the maximum length of {max} bytes for {kind} indexes.";
    MissingDependency(module: &'a str, object: &'a str) = 2007, 10, "The module '{module}' depends on the missing object '{object}'. The module will still be created; however, it cannot run successfully until the object exists.";
    AlterIncompatible(name: &'a str) = 2010, 16, "Cannot perform alter on '{name}' because it is an incompatible object type.";
    InsteadOfExists(verb: &'a str, trigger: &'a str, kind: &'a str, object: &'a str, action: &'a str) = 2111, 16, "Cannot {verb} trigger '{trigger}' on {kind} '{object}' because an INSTEAD OF {action} trigger already exists on this object.";
    DbccObjectNotFound(name: &'a str) = 2501, 16, "Cannot find a table or object with the name \"{name}\". Check the system catalog.";
    DbccSyntax = 2526, 16, "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.";
    DbccCompleted = 2528, 10, "DBCC execution completed. If DBCC printed error messages, contact your system administrator.";
    DbccParameter(number: i64) = 2560, 16, "Parameter {number} is incorrect for this DBCC statement.";
    DuplicateKey(object: &'a str, index: &'a str, key: &'a str) = 2601, 14, "Cannot insert duplicate key row in object '{object}' with unique index '{index}'. The duplicate key value is ({key}).";
    UniqueViolation(kind: &'a str, constraint: &'a str, object: &'a str, key: &'a str) = 2627, 14, "Violation of {kind} constraint '{constraint}'. Cannot insert duplicate key in object '{object}'. The duplicate key value is ({key}).";
    Truncation(table: &'a str, column: &'a str, value: &'a str) = 2628, 16, "String or binary data would be truncated in table '{table}', column '{column}'. Truncated value: '{value}'.";
    DuplicateColumn(column: &'a str, table: &'a str) = 2705, 16, "Column names in each table must be unique. Column name '{column}' in table '{table}' is specified more than once.";
    TableDoesNotExist(table: &'a str) = 2706, 11, "Table '{table}' does not exist.";
    ObjectExists(name: &'a str) = 2714, 16, "There is already an object named '{name}' in the database.";
    CannotFindType(number: i64, name: &'a str) = 2715, 16, "Column, parameter, or variable #{number}: Cannot find data type {name}.";
    CannotSpecifyWidth(number: i64, name: &'a str) = 2716, 16, "Column, parameter, or variable #{number}: Cannot specify a column width on data type {name}.";
    SizeExceeds(size: i64, kind: &'a str, name: &'a str, max: i64) = 2717, 15, "The size ({size}) given to the {kind} '{name}' exceeds the maximum allowed ({max}).";
    InvalidVariableType(name: &'a str) = 2724, 10, "Parameter or variable '{name}' has an invalid data type.";
    IndexNotFound(index: &'a str) = 2727, 11, "Cannot find index '{index}'.";
    RaiseErrorNumber(number: i64, min: i64, max: i64) = 2732, 16, "Error number {number} is invalid. The number must be from {min} through {max} and it cannot be 50000.";
    TextLocalVariable = 2739, 16, "The text, ntext, and image data types are invalid for local variables.";
    SetLanguage(name: &'a str) = 2740, 16, "SET LANGUAGE failed because '{name}' is not an official language name or a language alias on this SQL Server.";
    SetDateFormat(name: &'a str) = 2741, 16, "SET DATEFORMAT date order '{name}' is invalid.";
    SetDateFirst(day: i64) = 2742, 16, "SET DATEFIRST {day} is out of range.";
    MultipleIdentity(table: &'a str) = 2744, 16, "Multiple identity columns specified for table '{table}'. Only one identity column per table is allowed.";
    ProcessTerminated(session: i64, number: i64, severity: i64) = 2745, 16, "Process ID {session} has raised user error {number}, severity {severity}. SQL Server is terminating this process.";
    TooManySubstitutions(max: i64) = 2747, 16, "Too many substitution parameters for RAISERROR. Cannot exceed {max} substitution parameters.";
    SubstitutionType(of: &'a str, number: i64) = 2748, 16, "Cannot specify {of} data type (parameter {number}) as a substitution parameter.";
    IdentityType(column: &'a str) = 2749, 16, "Identity column '{column}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable.";
    PrecisionTooLarge(number: i64, precision: i64, max: i64) = 2750, 16, "Column or parameter #{number}: Specified column precision {precision} is greater than the maximum precision of {max}.";
    ScaleTooLarge(number: i64, scale: i64, precision: i64) = 2751, 16, "Column or parameter #{number}: Specified column scale {scale} is greater than the specified precision of {precision}.";
    SeverityNeedsLog(max: i64) = 2754, 16, "Error severity levels greater than {max} can only be specified by members of the sysadmin role, using the WITH LOG option.";
    InvalidState(state: i64, min: i64, max: i64) = 2756, 16, "Invalid value {state} for state. Valid range is from {min} to {max}.";
    SchemaNotFound(name: &'a str) = 2760, 16, "The specified schema name \"{name}\" either does not exist or you do not have permission to use it.";
    TempTableInFunction = 2772, 16, "Cannot access temporary tables from within a function.";
    SubstitutionMismatch(number: i64) = 2786, 16, "The data type of substitution parameter {number} does not match the expected type of the format specification.";
    InvalidFormat(text: &'a str) = 2787, 16, "Invalid format specification: '{text}'.";
    WrongObjectKind(wanted: &'a str, name: &'a str, found: &'a str) = 2809, 18, "The request for {wanted} '{name}' failed because '{name}' is a {found} object.";
    ProcedureNotFound(name: &'a str) = 2812, 16, "Could not find stored procedure '{name}'.";
    DuplicateIgnored = 3604, 10, "Duplicate key was ignored.";
    OverflowOccurred = 3606, 10, "Arithmetic overflow occurred.";
    DivisionByZeroOccurred = 3607, 10, "Division by zero occurred.";
    TransactionEndedInTrigger = 3609, 16, "The transaction ended in the trigger. The batch has been aborted.";
    ErrorInTrigger = 3616, 16, "An error was raised during trigger execution. The batch has been aborted and the user transaction, if any, has been rolled back.";
    StatementTerminated = 3621, 10, "The statement has been terminated.";
    InternalError = 3624, 20, "A system assertion check has failed. The session has been ended; the server log has the details.";
    CannotDoDoesNotExist(verb: &'a str, kind: &'a str, name: &'a str) = 3701, 11, "Cannot {verb} the {kind} '{name}', because it does not exist or you do not have permission.";
    DatabaseInUse(name: &'a str) = 3702, 16, "Cannot drop database \"{name}\" because it is currently in use.";
    WrongDrop(wanted: &'a str, name: &'a str, found: &'a str, right: &'a str) = 3705, 16, "Cannot use DROP {wanted} with '{name}' because '{name}' is a {found}. Use {right}.";
    SystemObject(verb: &'a str, kind: &'a str, name: &'a str) = 3708, 16, "Cannot {verb} the {kind} '{name}' because it is a system {kind}.";
    IndexIsConstraint(index: &'a str, kind: &'a str) = 3723, 16, "An explicit DROP INDEX is not allowed on index '{index}'. It is being used for {kind} constraint enforcement.";
    ConstraintReferenced(constraint: &'a str, table: &'a str, key: &'a str) = 3725, 16, "The constraint '{constraint}' is being referenced by table '{table}', foreign key constraint '{key}'.";
    ReferencedByForeignKey(name: &'a str) = 3726, 16, "Could not drop object '{name}' because it is referenced by a FOREIGN KEY constraint.";
    CannotDropConstraint = 3727, 16, "Could not drop constraint. See previous errors.";
    NotAConstraint(name: &'a str) = 3728, 16, "'{name}' is not a constraint.";
    ReferencedByObject(verb: &'a str, name: &'a str, object: &'a str) = 3729, 16, "Cannot {verb} '{name}' because it is being referenced by object '{object}'.";
    TypeReferenced(name: &'a str, object: &'a str) = 3732, 16, "Cannot drop type '{name}' because it is being referenced by object '{object}'. There may be other objects that reference this type.";
    CommitWithoutBegin = 3902, 16, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    RollbackWithoutBegin = 3903, 16, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    DatabaseReadOnly(name: &'a str) = 3906, 16, "Failed to update database \"{name}\" because the database is read-only.";
    RollbackInInsertExec = 3915, 16, "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.";
    CommitInInsertExec = 3916, 16, "Cannot use the COMMIT statement within an INSERT-EXEC statement unless BEGIN TRANSACTION is used first.";
    TransactionDoomed = 3930, 16, "The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.";
    TransactionDoomedSavepoint = 3931, 16, "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll back the entire transaction.";
    SnapshotConflict(table: &'a str, database: &'a str) = 3960, 16, "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '{table}' directly or indirectly in database '{database}' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.";
    TransactionNotResumed(descriptor: &'a str) = 3971, 16, "The server failed to resume the transaction. Desc:{descriptor}.";
    NewTransactionNotAllowed = 3988, 16, "New transaction is not allowed because there are other threads running in the session.";
    TransactionDescriptorRequired = 3989, 16, "New request is not allowed to start because it should come with valid transaction descriptor.";
    UncommittableAtEnd = 3998, 16, "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back.";
    StreamEnded = 4002, 16, "The incoming tabular data stream (TDS) protocol stream is incorrect. The stream ended unexpectedly.";
    StreamReadError(input: i64, output: i64) = 4014, 20, "A fatal error occurred while reading the input stream from the network. The session will be terminated (input error: {input}, output error: {output}).";
    CannotOpenDatabase(name: &'a str) = 4060, 11, "Cannot open database \"{name}\" requested by the login. The login failed.";
    CannotOpenUsingDefault(name: &'a str, default: &'a str) = 4063, 11, "Cannot open database \"{name}\" that was requested by the login. Using the user default database \"{default}\" instead.";
    CannotOpenDefault = 4064, 11, "Cannot open user default database. Login failed.";
    MultiPartNotBound(name: &'a str) = 4104, 16, "The multi-part identifier \"{name}\" could not be bound.";
    WindowNotAllowed = 4108, 15, "Windowed functions can only appear in the SELECT or ORDER BY clauses.";
    WindowNested = 4109, 15, "Windowed functions cannot be used in the context of another windowed function or aggregate.";
    WindowNeedsOrderBy(name: &'a str) = 4112, 15, "The function '{name}' must have an OVER clause with ORDER BY.";
    NotWindowFunction(name: &'a str) = 4113, 16, "The function '{name}' is not a valid windowing function, and cannot be used with the OVER clause.";
    WindowArguments(name: &'a str, count: i64) = 4114, 16, "The function '{name}' takes exactly {count} argument(s).";
    ColumnInTop(column: &'a str) = 4115, 15, "The reference to column \"{column}\" is not allowed in an argument to a TOP, OFFSET, or FETCH clause. Only references to columns at an outer scope or standalone expressions and subqueries are allowed here.";
    NTilePositive = 4116, 16, "The function 'ntile' takes only a positive int or bigint expression as its input.";
    FunctionNotFound(column: &'a str, function: &'a str) = 4121, 16, "Cannot find either column \"{column}\" or the user-defined function or aggregate \"{function}\", or the name is ambiguous.";
    CoalesceNull = 4127, 16, "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.";
    NonBoolean(token: &'a str) = 4145, 15, "An expression of non-boolean type specified in a context where a condition is expected, near '{token}'.";
    NullIfNull = 4151, 16, "The type of the first argument to NULLIF cannot be the NULL constant because the type of the first argument has to be known.";
    ViewMultipleTables(name: &'a str) = 4405, 16, "View or function '{name}' is not updatable because the modification affects multiple base tables.";
    ViewDerivedField(name: &'a str) = 4406, 16, "Update or insert of view or function '{name}' failed because it contains a derived or constant field.";
    ViewBindingErrors(name: &'a str) = 4413, 16, "Could not use view or function '{name}' because of binding errors.";
    ViewColumnTwice(column: &'a str, view: &'a str) = 4506, 16, "Column names in each view or function must be unique. Column name '{column}' in view or function '{view}' is specified more than once.";
    ViewColumnUnnamed(number: i64) = 4511, 16, "Create View or Function failed because no column name was specified for column {number}.";
    SchemaBindName(kind: &'a str, object: &'a str, name: &'a str) = 4512, 16, "Cannot schema bind {kind} '{object}' because name '{name}' is invalid for schema binding. Names must be in two-part format and an object cannot reference itself.";
    TruncateNotFound(name: &'a str) = 4701, 16, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    TruncateNotTable(name: &'a str) = 4708, 16, "Could not truncate object '{name}' because it is not a table.";
    TruncateReferenced(table: &'a str) = 4712, 16, "Cannot truncate table '{table}' because it is being referenced by a FOREIGN KEY constraint.";
    BulkColumnLength(column: i64) = 4815, 16, "Received an invalid column length from the bcp client for colid {column}.";
    BulkColumnType(column: i64) = 4816, 16, "Invalid column type from bcp client for colid {column}.";
    BulkFileMissing(file: &'a str) = 4860, 16, "Cannot bulk load. The file \"{file}\" does not exist or you don't have file access rights.";
    BulkTruncation(row: i64, number: i64, column: &'a str) = 4863, 16, "Bulk load data conversion error (truncation) for row {row}, column {number} ({column}).";
    BulkConversion(row: i64, number: i64, column: &'a str) = 4864, 16, "Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row {row}, column {number} ({column}).";
    AddColumnNotNull(column: &'a str, table: &'a str) = 4901, 16, "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified, or the column being added is an identity or timestamp column, or alternatively if none of the previous conditions are satisfied the table must be empty to allow addition of this column. Column '{column}' cannot be added to non-empty table '{table}' because it does not satisfy these conditions.";
    AlterTableNotFound(name: &'a str) = 4902, 16, "Cannot find the object \"{name}\" because it does not exist or you do not have permissions.";
    ObjectsAccess(statement: &'a str, name: &'a str, kind: &'a str) = 4922, 16, "{statement} {name} failed because one or more objects access this {kind}.";
    OnlyDataColumn(column: &'a str, table: &'a str) = 4923, 16, "ALTER TABLE DROP COLUMN failed because '{column}' is the only data column in table '{table}'. A table must have at least one data column.";
    AlterColumnNotFound(statement: &'a str, column: &'a str, table: &'a str) = 4924, 16, "{statement} failed because column '{column}' does not exist in table '{table}'.";
    CannotAlterColumn(column: &'a str, reason: &'a str) = 4928, 16, "Cannot alter column '{column}' because it is '{reason}'.";
    AlterDatabaseDenied(name: &'a str) = 5011, 14, "User does not have permission to alter database '{name}', the database does not exist, or the database is not in a state that allows access checks.";
    CannotSetOption(option: &'a str, database: &'a str) = 5058, 16, "Option '{option}' cannot be set in database '{database}'.";
    AlterDatabaseFailed = 5069, 16, "ALTER DATABASE statement failed.";
    ObjectDependsOn(kind: &'a str, name: &'a str, of: &'a str) = 5074, 16, "The {kind} '{name}' is dependent on {of}.";
    ChangedDatabase(name: &'a str) = 5701, 10, "Changed database context to '{name}'.";
    ChangedLanguage(name: &'a str) = 5703, 10, "Changed language setting to {name}.";
    ShutdownInProgress = 6005, 10, "SHUTDOWN is in progress.";
    NotAValidSession(id: &'a str) = 6101, 16, "Session ID {id} is not valid.";
    CannotKillSelf = 6104, 16, "Cannot use KILL to kill your own process.";
    NotAnActiveSession(id: i64) = 6106, 16, "Process ID {id} is not an active process ID.";
    OnlyUserProcesses = 6107, 16, "Only user processes can be killed.";
    CannotRollBack(name: &'a str) = 6401, 16, "Cannot roll back {name}. No transaction or savepoint of that name was found.";
    ForXmlNotAllowed(statement: &'a str) = 6819, 16, "The FOR XML clause is not allowed in a {statement} statement.";
    TextPointerType = 7122, 16, "Invalid text, ntext, or image pointer type. Must be binary(16).";
    TextPointerValue(value: &'a str) = 7123, 16, "Invalid text, ntext, or image pointer value {value}.";
    ReadTextRange(length: i64) = 7124, 16, "The offset and length specified in the READTEXT statement is greater than the actual data length of {length}.";
    NullTextPointer(function: &'a str) = 7133, 16, "NULL textptr (text, ntext, or image pointer) passed to {function} function.";
    LinkedServerNotFound(name: &'a str) = 7202, 11, "Could not find server '{name}' in sys.servers. Verify that the correct server name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers.";
    IdentityNeedsColumnList(table: &'a str) = 8101, 16, "An explicit value for the identity column in table '{table}' can only be specified when a column list is used and IDENTITY_INSERT is ON.";
    CannotUpdateIdentity(column: &'a str) = 8102, 16, "Cannot update identity column '{column}'.";
    NoIdentityProperty(table: &'a str) = 8106, 16, "Table '{table}' does not have the identity property. Cannot perform SET operation.";
    IdentityInsertAlreadyOn(on: &'a str, table: &'a str) = 8107, 16, "IDENTITY_INSERT is already ON for table '{on}'. Cannot perform SET operation for table '{table}'.";
    MultiplePrimaryKeys(table: &'a str) = 8110, 16, "Cannot add multiple PRIMARY KEY constraints to table '{table}'.";
    PrimaryKeyNullable(table: &'a str) = 8111, 16, "Cannot define PRIMARY KEY constraint on nullable column in table '{table}'.";
    MultipleClustered(table: &'a str) = 8112, 16, "Cannot add more than one clustered index for constraints on table '{table}'.";
    ConversionError(from: &'a str, to: &'a str) = 8114, 16, "Error converting data type {from} to {to}.";
    ArithmeticOverflow(to: &'a str) = 8115, 16, "Arithmetic overflow error converting expression to data type {to}.";
    ArithmeticOverflowConverting(from: &'a str, to: &'a str) = 8115, 16, "Arithmetic overflow error converting {from} to data type {to}.";
    InvalidArgumentType(of: &'a str, number: i64, function: &'a str) = 8116, 16, "Argument data type {of} is invalid for argument {number} of {function} function.";
    InvalidOperandType(of: &'a str, operator: &'a str) = 8117, 16, "Operand data type {of} is invalid for {operator} operator.";
    NoGroupBy(column: &'a str) = 8118, 16, "Column '{column}' is invalid in the select list because it is not contained in an aggregate function and there is no GROUP BY clause.";
    NotInGroupBy(column: &'a str) = 8120, 16, "Column '{column}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.";
    NotInGroupByHaving(column: &'a str) = 8121, 16, "Column '{column}' is invalid in the HAVING clause because it is not contained in either an aggregate function or the GROUP BY clause.";
    NoGroupByOrderBy(column: &'a str) = 8126, 16, "Column \"{column}\" is invalid in the ORDER BY clause because it is not contained in an aggregate function and there is no GROUP BY clause.";
    NotInGroupByOrderBy(column: &'a str) = 8127, 16, "Column \"{column}\" is invalid in the ORDER BY clause because it is not contained in either an aggregate function or the GROUP BY clause.";
    CaseAllNull = 8133, 16, "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.";
    DivideByZero = 8134, 16, "Divide by zero error encountered.";
    ForeignKeyColumnCount(table: &'a str) = 8139, 16, "Number of referencing columns in foreign key differs from number of referenced columns, table '{table}'.";
    ConstraintOtherColumn(kind: &'a str, column: &'a str, table: &'a str) = 8141, 16, "Column {kind} constraint for column '{column}' references another column, table '{table}'.";
    ParameterTwice(name: &'a str) = 8143, 16, "Parameter '{name}' was supplied multiple times.";
    TooManyArguments(procedure: &'a str) = 8144, 16, "Procedure or function {procedure} has too many arguments specified.";
    NotAParameter(parameter: &'a str, procedure: &'a str) = 8145, 16, "{parameter} is not a parameter for procedure {procedure}.";
    NoParameters(procedure: &'a str) = 8146, 16, "Procedure {procedure} has no parameters and arguments were supplied.";
    IdentityNullable(column: &'a str, table: &'a str) = 8147, 16, "Could not create IDENTITY attribute on nullable column '{column}', table '{table}'.";
    MultipleConstraints(kind: &'a str, column: &'a str, table: &'a str) = 8148, 16, "More than one column {kind} constraint specified for column '{column}', table '{table}'.";
    PrimaryKeyAndUnique(column: &'a str, table: &'a str) = 8151, 16, "Both a PRIMARY KEY and UNIQUE constraint have been defined for column '{column}', table '{table}'. Only one is allowed.";
    StringTruncated = 8152, 16, "String or binary data would be truncated.";
    NullEliminated = 8153, 10, "Warning: Null value is eliminated by an aggregate or other SET operation.";
    AmbiguousTable(name: &'a str) = 8154, 15, "The table '{name}' is ambiguous.";
    NoColumnName(number: i64, of: &'a str) = 8155, 16, "No column name was specified for column {number} of '{of}'.";
    ColumnTwice(column: &'a str, of: &'a str) = 8156, 16, "The column '{column}' was specified multiple times for '{of}'.";
    MoreColumnsThanList(name: &'a str) = 8158, 16, "'{name}' has more columns than were specified in the column list.";
    FewerColumnsThanList(name: &'a str) = 8159, 16, "'{name}' has fewer columns than were specified in the column list.";
    GroupingWithoutGroupBy = 8160, 15, "A GROUPING or GROUPING_ID function can only be specified when there is a GROUP BY clause.";
    GroupingArgument(number: i64, function: &'a str) = 8161, 16, "Argument {number} of the {function} function does not match any of the expressions in the GROUP BY clause.";
    NotOutputParameter(name: &'a str) = 8162, 16, "The formal parameter \"{name}\" was not declared as an OUTPUT parameter, but the actual parameter passed in requested output.";
    InsertExecNested = 8164, 16, "An INSERT EXEC statement cannot be nested.";
    UnpivotType(column: &'a str) = 8167, 16, "The type of column \"{column}\" conflicts with the type of other columns specified in the UNPIVOT list.";
    GuidFromString = 8169, 16, "Conversion failed when converting from a character string to uniqueidentifier.";
    GuidResultSpace = 8170, 16, "Insufficient result space to convert uniqueidentifier value to char.";
    ParameterizedNotSupplied(query: &'a str, parameter: &'a str) = 8178, 16, "The parameterized query '{query}' expects the parameter '{parameter}', which was not supplied.";
    PreparedNotFound(handle: i64) = 8179, 16, "Could not find prepared statement with handle {handle}.";
    CannotPrepare = 8180, 16, "Statement(s) could not be prepared.";
    NoPermissionToRun(statement: &'a str) = 8189, 14, "You do not have permission to run '{statement}'.";
    InvalidForOperation(name: &'a str) = 8197, 16, "The object '{name}' does not exist or is invalid for this operation.";
    NoPlanForHints = 8622, 16, "Query processor could not produce a query plan because of the hints defined in this query. Resubmit the query without specifying any hints and without using SET FORCEPLAN.";
    NoPlan = 8623, 16, "The query processor ran out of internal resources and could not produce a query plan. This is a rare event and only expected for extremely complex queries or queries that reference a very large number of tables or partitions. Please simplify the query. If you believe you have received this message in error, contact Customer Support Services for more information.";
    ExpressionLimit = 8632, 17, "Internal error: An expression services limit has been reached. Please look for potentially complex expressions in your query, and try to simplify them.";
    GrantTimeout(pool: &'a str, id: i64) = 8645, 17, "A timeout occurred while waiting for memory resources to execute the query in resource pool '{pool}' ({id}). Rerun the query.";
    MergeRowTwice = 8672, 16, "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to ensure a target row matches at most one source row, or use the GROUP BY clause to group the source rows.";
    InvalidData(of: &'a str) = 9803, 16, "Invalid data for type \"{of}\".";
    DatePartNotSupported(part: &'a str, function: &'a str) = 9806, 16, "The datepart {part} is not supported by date function {function}.";
    DateStyleMismatch(style: i64) = 9807, 16, "The input character string does not follow style {style}, either change the input character string or use a different style.";
    DateStyleNotSupported(style: i64, from: &'a str, to: &'a str) = 9809, 16, "The style {style} is not supported for conversions from {from} to {to}.";
    DatePartNotSupportedType(part: &'a str, function: &'a str, of: &'a str) = 9810, 16, "The datepart {part} is not supported by date function {function} for data type {of}.";
    InvalidTimeZone(function: &'a str) = 9812, 16, "The timezone provided to builtin function {function} is invalid.";
    TimeZoneOverflow(function: &'a str) = 9813, 16, "The timezone provided to builtin function {function} would cause the datetimeoffset to overflow the range of valid date range in either UTC or local time.";
    StringAggLimit = 9829, 16, "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.";
    TableParameterModified(name: &'a str) = 10700, 16, "The table-valued parameter \"{name}\" is READONLY and cannot be modified.";
    ThrowOutsideCatch = 10704, 15, "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement inside a CATCH block, or add error parameters to the THROW statement.";
    ValuesColumnCount = 10709, 16, "The number of columns for each row in a table value constructor must be the same.";
    MergeActionNotMatched(action: &'a str) = 10710, 15, "An action of type '{action}' is not allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement.";
    MergeActionMatched(action: &'a str) = 10711, 15, "An action of type '{action}' is not allowed in the 'WHEN MATCHED' clause of a MERGE statement.";
    MergeNeedsSemicolon = 10713, 15, "A MERGE statement must be terminated by a semi-colon (;).";
    MergeActionTwice(action: &'a str, clause: &'a str) = 10714, 15, "An action of type '{action}' cannot appear more than once in a '{clause}' clause of a MERGE statement.";
    TooManyRowValues = 10738, 15, "The number of row value expressions in the INSERT statement exceeds the maximum allowed number of 1000 row values.";
    TopWithOffset = 10741, 15, "A TOP can not be used in the same query or sub-query as a OFFSET.";
    OffsetNegative = 10742, 15, "The offset specified in a OFFSET clause may not be negative.";
    OffsetMustBeInteger = 10743, 15, "The number of rows provided for a OFFSET clause must be an integer.";
    FetchPositive = 10744, 15, "The number of rows provided for a FETCH clause must be greater then zero.";
    NoWindowFrame(name: &'a str) = 10752, 15, "The function '{name}' may not have a window frame.";
    MustHaveOver(name: &'a str) = 10753, 15, "The function '{name}' must have an OVER clause.";
    FrameNeedsOrderBy = 10756, 15, "Window frame with ROWS or RANGE must have an ORDER BY clause.";
    NoOrderByInOver(name: &'a str) = 10757, 15, "The function '{name}' may not have ORDER BY in OVER clause.";
    NativeBodyNotAtomic = 10783, 15, "The body of a natively compiled module must be an ATOMIC block.";
    AtomicNeedsOption(option: &'a str) = 10784, 15, "The WITH clause of BEGIN ATOMIC statement must specify a value for the option '{option}'.";
    NotSupportedWith(kind: &'a str, name: &'a str, with: &'a str) = 10794, 16, "The {kind} '{name}' is not supported with {with}.";
    MetadataTempTable(statement: &'a str) = 11526, 16, "The metadata could not be determined because statement '{statement}' uses a temp table.";
    MetadataUndetermined(statement: &'a str) = 11509, 16, "The metadata could not be determined because the statement '{statement}' could not be described.";
    ResultSetColumns(wanted: i64, set: i64, sent: i64) = 11537, 16, "EXECUTE statement failed because its WITH RESULT SETS clause specified {wanted} column(s) for result set number {set}, but the statement sent {sent} column(s) at run time.";
    SequenceType(name: &'a str) = 11702, 16, "The sequence object '{name}' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, or any user-defined data type that is based on one of the above integer data types.";
    SequenceStart(name: &'a str) = 11703, 16, "The start value for sequence object '{name}' must be between the minimum and maximum value of the sequence object.";
    SequenceIncrement(name: &'a str) = 11700, 16, "The increment for sequence object '{name}' cannot be zero.";
    SequenceBounds(name: &'a str) = 11705, 16, "The minimum value for sequence object '{name}' must be less than its maximum value.";
    SequenceExhausted(name: &'a str) = 11728, 16, "The sequence object '{name}' has reached its minimum or maximum value. Restart the sequence object to allow new values to be generated.";
    NativeNullableKey(with: &'a str) = 12301, 16, "Nullable columns in the index key are not supported with {with}.";
    NativeUpdateKey(with: &'a str) = 12302, 16, "Updating columns that are part of the PRIMARY KEY constraint is not supported with {with}.";
    NativeCursors(with: &'a str) = 12306, 16, "Cursors are not supported with {with}.";
    NativeDefaults(with: &'a str) = 12307, 16, "Default values for parameters in {with} must be constants.";
    NativeClustered(with: &'a str) = 12317, 16, "Clustered indexes, which are the default for primary keys, are not supported with {with}. Specify a NONCLUSTERED index instead.";
    NativeDdlInTransaction = 12331, 16, "DDL statements ALTER, DROP and CREATE inside user transactions are not supported with memory optimized tables.";
    JsonColumnConflict(name: &'a str) = 13601, 16, "Property '{name}' cannot be generated in JSON output due to a conflict with another column name or alias. Use different names and aliases for each column in SELECT list.";
    JsonPath(character: char, position: i64) = 13607, 16, "JSON path is not properly formatted. Unexpected character '{character}' is found at position {position}.";
    JsonPropertyNotFound = 13608, 16, "Property cannot be found on the specified JSON path.";
    JsonText(character: char, position: i64) = 13609, 16, "JSON text is not properly formatted. Unexpected character '{character}' is found at position {position}.";
    JsonScalarNotFound = 13623, 16, "Scalar value cannot be found in the specified JSON path.";
    JsonObjectNotFound = 13624, 16, "Object or array cannot be found in the specified JSON path.";
    JsonTruncated = 13625, 16, "String value in the specified JSON path would be truncated.";
    InvalidLogin(name: &'a str) = 15007, 16, "'{name}' is not a valid login or you do not have permission.";
    ObjectInvalidIn(object: &'a str, database: &'a str) = 15009, 16, "The object '{object}' does not exist in database '{database}' or is invalid for this operation.";
    PrincipalExists(name: &'a str) = 15023, 16, "User, group, or role '{name}' already exists in the current database.";
    LoginExists(name: &'a str) = 15025, 16, "The server principal '{name}' already exists.";
    ConfigurationNotFound(name: &'a str) = 15123, 16, "The configuration option '{name}' does not exist, or it may be an advanced option.";
    ConfigurationValue(value: i64, name: &'a str) = 15129, 16, "'{value}' is not a valid value for configuration option '{name}'.";
    PrincipalNotFound(verb: &'a str, kind: &'a str, name: &'a str) = 15151, 16, "Cannot {verb} the {kind} '{name}', because it does not exist or you do not have permission.";
    NoItemByName(name: &'a str, database: &'a str, kind: &'a str) = 15225, 11, "No item by the name of '{name}' could be found in the current database '{database}', given that @itemtype was input as '{kind}'.";
    NoPermissionForAction = 15247, 16, "User does not have permission to perform this action.";
    NewNameInUse(name: &'a str, kind: &'a str) = 15335, 11, "Error: The new name '{name}' is already in use as a {kind} name and would cause a duplicate that is not permitted.";
    ConfigurationChanged(name: &'a str, before: i64, after: i64) = 15457, 0, "Configuration option '{name}' changed from {before} to {after}. Run the RECONFIGURE statement to install.";
    CannotExecuteAs(name: &'a str) = 15517, 16, "Cannot execute as the database principal because the principal \"{name}\" does not exist, this type of principal cannot be impersonated, or you do not have permission.";
    InvalidProcedureOption(procedure: &'a str) = 15600, 15, "An invalid parameter or option was specified for procedure '{procedure}'.";
    CursorParameterInvalid(procedure: &'a str, parameter: &'a str) = 16902, 16, "{procedure}: The value of the parameter {parameter} is invalid.";
    CursorParameterCount(procedure: &'a str) = 16903, 16, "The \"{procedure}\" procedure was called with an incorrect number of parameters.";
    CursorAlreadyOpen = 16905, 16, "The cursor is already open.";
    CursorHandle(procedure: &'a str, handle: &'a str) = 16909, 16, "{procedure}: The cursor identifier value provided ({handle}) is not valid.";
    CursorForwardOnly(procedure: &'a str, kind: &'a str) = 16911, 16, "{procedure}: The fetch type {kind} cannot be used with forward only cursors.";
    CursorExists(name: &'a str) = 16915, 16, "A cursor with the name '{name}' already exists.";
    CursorNotFound(name: &'a str) = 16916, 16, "A cursor with the name '{name}' does not exist.";
    CursorNotOpen = 16917, 16, "Cursor is not open.";
    CursorFetchType(from: &'a str, to: &'a str) = 16922, 16, "Cursor Fetch: Implicit conversion from data type {from} to {to} is not allowed.";
    CursorVariableCount = 16924, 16, "Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.";
    CursorReadOnly = 16929, 16, "The cursor is READ ONLY.";
    CursorRowNotInBuffer = 16930, 16, "The requested row is not in the fetch buffer.";
    CursorNoRows = 16931, 16, "There are no rows in the current fetch buffer.";
    NotACursorVariable(name: &'a str) = 16948, 16, "The variable '{name}' is not a cursor variable, but it is used in a place where a cursor variable is expected.";
    IsACursorVariable(name: &'a str) = 16949, 16, "The variable '{name}' is a cursor variable, but it is used in a place where a cursor variable is not valid.";
    CursorNotAllocated(name: &'a str) = 16950, 16, "The variable '{name}' does not currently have a cursor allocated to it.";
    TooManyConnections(max: i64) = 17809, 20, "Could not connect because the maximum number of '{max}' user connections has already been reached. The system administrator can use sp_configure to increase the maximum value. The connection has been closed.";
    PreloginInvalid = 17828, 20, "The prelogin packet used to open the connection is structurally invalid; the connection has been closed. Please contact the vendor of the client library.";
    LoginPacketInvalid = 17832, 20, "The login packet used to open the connection is structurally invalid; the connection has been closed. Please contact the vendor of the client library.";
    EncryptionRequired = 17835, 20, "Encryption is required to connect to this server but the client library does not support encryption; the connection has been closed. Please upgrade your client library.";
    PacketLengthMismatch = 17836, 20, "Length specified in network packet payload did not match number of bytes read; the connection has been closed. Please contact the vendor of the client library.";
    ResetAfterImpersonation = 18059, 20, "The connection has been dropped because the principal that opened it subsequently assumed a new security context, and then tried to reset the connection under its impersonated security context. This scenario is not supported. See \"Impersonation Overview\" in Books Online.";
    UntrustedDomain = 18452, 14, "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication.";
    LoginFailed(user: &'a str) = 18456, 14, "Login failed for user '{user}'.";
    LoginLockedOut(user: &'a str) = 18486, 14, "Login failed for user '{user}' because the account is currently locked out. The system administrator can unlock it.";
    EventNameInvalid(kind: &'a str, name: &'a str) = 25623, 16, "The {kind} name, \"{name}\", is invalid, or the object could not be found";
    EventAttribute(kind: &'a str, name: &'a str, attribute: &'a str) = 25629, 16, "For {kind}, \"{name}\", the customizable attribute, \"{attribute}\", does not exist.";
    EventPredicateType(kind: &'a str, name: &'a str) = 25630, 16, "The predicate expression bound to {kind}, \"{name}\", has mismatching types.";
    EventSessionExists(kind: &'a str, name: &'a str) = 25631, 16, "The {kind}, \"{name}\", already exists. Choose a unique name for the event session.";
    EventOptionValue(option: &'a str) = 25703, 16, "The event session option, \"{option}\", has an invalid value. Correct the value and re-issue the statement.";
    EventSessionStopped = 25704, 16, "The event session has already been stopped.";
    EventSessionStarted = 25705, 16, "The event session has already been started.";
    EventObjectNotFound(kind: &'a str, name: &'a str) = 25706, 16, "The {kind}, \"{name}\", could not be found.";
    EventOptionRunning(option: &'a str) = 25707, 16, "Event session option \"{option}\" cannot be changed while the session is running. Stop the event session before changing this session option.";
    NotSupported(construct: &'a str) = 40517, 16, "Clearway does not support {construct} yet.";
    CommitDependencyFailure = 41301, 16, "A previous transaction that the current transaction took a dependency on has aborted, and the current transaction can no longer commit.";
    UpdateConflict = 41302, 16, "The current transaction attempted to update a record that has been updated since this transaction started. The transaction was aborted.";
    RepeatableReadFailure = 41305, 16, "The current transaction failed to commit due to a repeatable read validation failure.";
    CrossDatabase = 41317, 16, "A user transaction that accesses memory optimized tables or natively compiled modules cannot access more than one user database or databases model and msdb, and it cannot write to master.";
    DurableNeedsPrimaryKey(table: &'a str) = 41321, 16, "The memory optimized table '{table}' with DURABILITY=SCHEMA_AND_DATA must have a primary key.";
    SerializableFailure = 41325, 16, "The current transaction failed to commit due to a serializable validation failure.";
    SystemDatabase = 41326, 16, "Memory optimized tables cannot be created in system databases.";
    MemoryOptimizedNeedsIndex(table: &'a str) = 41327, 16, "The memory optimized table '{table}' must have at least one index or a primary key.";
    SessionSnapshot = 41332, 16, "Memory optimized tables and natively compiled modules cannot be accessed or created when the session TRANSACTION ISOLATION LEVEL is set to SNAPSHOT.";
    MustAccessUnderSnapshot = 41333, 16, "The following transactions must access memory optimized tables and natively compiled modules under snapshot isolation: RepeatableRead transactions, Serializable transactions, and transactions that access tables that are not memory optimized in RepeatableRead or Serializable isolation.";
    ReadCommittedExplicit = 41368, 16, "Accessing memory optimized tables using the READ COMMITTED isolation level is supported only for autocommit transactions. It is not supported for explicit or implicit transactions. Provide a supported isolation level for the memory optimized table using a table hint, such as WITH (SNAPSHOT).";
    PoolOutOfMemory(pool: &'a str) = 41805, 16, "There is insufficient memory in the resource pool '{pool}' to run this operation on memory-optimized tables.";
    CommitDependencyLimit = 41839, 16, "Transaction exceeded the maximum number of commit dependencies and the last statement was aborted. Retry the statement.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn a_message_carries_its_number_severity_and_words() {
        let error = Error::from(Msg::Truncation("t", "c", "v")).at_line(3).at_line(9);
        assert_eq!((error.number, error.severity, error.state, error.line), (2628, 16, 1, 3));
        let text = "String or binary data would be truncated in table 't', column 'c'. Truncated value: 'v'.";
        assert_eq!(error.message, text);
    }

    #[test]
    fn numbers_and_severities_are_possible_ones() {
        for (number, severity) in Msg::ALL {
            assert!((100..50_000).contains(number), "{number}");
            assert!(*severity <= 25, "{number}");
        }
    }
}
