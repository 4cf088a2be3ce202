//! The words of T-SQL: which of them are keywords, and which keywords are reserved, so that they
//! cannot be names without quotes.

/// Declares [`Keyword`]: reserved words first, then words that are keywords in their context only.
macro_rules! keywords {
    (reserved { $($reserved:ident = $reserved_text:literal,)+ } contextual { $($word:ident = $text:literal,)+ }) => {
        /// A word that the grammar knows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub(crate) enum Keyword {
            /// A word that is no keyword.
            None,
            $($reserved,)+
            $($word,)+
        }

        /// All keywords with their text; the index is the keyword's number.
        const KEYWORDS: &[(Keyword, &str)] =
            &[(Keyword::None, ""), $((Keyword::$reserved, $reserved_text),)+ $((Keyword::$word, $text),)+];

        /// How many of them are reserved.
        const RESERVED_COUNT: usize = [$($reserved_text),+].len();
    };
}

keywords! {
    reserved {
        Add = "ADD",
        All = "ALL",
        Alter = "ALTER",
        And = "AND",
        Any = "ANY",
        As = "AS",
        Asc = "ASC",
        Authorization = "AUTHORIZATION",
        Backup = "BACKUP",
        Begin = "BEGIN",
        Between = "BETWEEN",
        Break = "BREAK",
        Browse = "BROWSE",
        Bulk = "BULK",
        By = "BY",
        Cascade = "CASCADE",
        Case = "CASE",
        Check = "CHECK",
        Checkpoint = "CHECKPOINT",
        Close = "CLOSE",
        Clustered = "CLUSTERED",
        Coalesce = "COALESCE",
        Collate = "COLLATE",
        Column = "COLUMN",
        Commit = "COMMIT",
        Compute = "COMPUTE",
        Constraint = "CONSTRAINT",
        Contains = "CONTAINS",
        Containstable = "CONTAINSTABLE",
        Continue = "CONTINUE",
        Convert = "CONVERT",
        Create = "CREATE",
        Cross = "CROSS",
        Current = "CURRENT",
        CurrentDate = "CURRENT_DATE",
        CurrentTime = "CURRENT_TIME",
        CurrentTimestamp = "CURRENT_TIMESTAMP",
        CurrentUser = "CURRENT_USER",
        Cursor = "CURSOR",
        Database = "DATABASE",
        Dbcc = "DBCC",
        Deallocate = "DEALLOCATE",
        Declare = "DECLARE",
        Default = "DEFAULT",
        Delete = "DELETE",
        Deny = "DENY",
        Desc = "DESC",
        Disk = "DISK",
        Distinct = "DISTINCT",
        Distributed = "DISTRIBUTED",
        Double = "DOUBLE",
        Drop = "DROP",
        Dump = "DUMP",
        Else = "ELSE",
        End = "END",
        Errlvl = "ERRLVL",
        Escape = "ESCAPE",
        Except = "EXCEPT",
        Exec = "EXEC",
        Execute = "EXECUTE",
        Exists = "EXISTS",
        Exit = "EXIT",
        External = "EXTERNAL",
        Fetch = "FETCH",
        File = "FILE",
        Fillfactor = "FILLFACTOR",
        For = "FOR",
        Foreign = "FOREIGN",
        Freetext = "FREETEXT",
        Freetexttable = "FREETEXTTABLE",
        From = "FROM",
        Full = "FULL",
        Function = "FUNCTION",
        Goto = "GOTO",
        Grant = "GRANT",
        Group = "GROUP",
        Having = "HAVING",
        Holdlock = "HOLDLOCK",
        Identity = "IDENTITY",
        IdentityCol = "IDENTITYCOL",
        IdentityInsert = "IDENTITY_INSERT",
        If = "IF",
        In = "IN",
        Index = "INDEX",
        Inner = "INNER",
        Insert = "INSERT",
        Intersect = "INTERSECT",
        Into = "INTO",
        Is = "IS",
        Join = "JOIN",
        Key = "KEY",
        Kill = "KILL",
        Left = "LEFT",
        Like = "LIKE",
        Lineno = "LINENO",
        Load = "LOAD",
        Merge = "MERGE",
        National = "NATIONAL",
        Nocheck = "NOCHECK",
        Nonclustered = "NONCLUSTERED",
        Not = "NOT",
        Null = "NULL",
        Nullif = "NULLIF",
        Of = "OF",
        Off = "OFF",
        Offsets = "OFFSETS",
        On = "ON",
        Open = "OPEN",
        Opendatasource = "OPENDATASOURCE",
        Openquery = "OPENQUERY",
        Openrowset = "OPENROWSET",
        Openxml = "OPENXML",
        Option = "OPTION",
        Or = "OR",
        Order = "ORDER",
        Outer = "OUTER",
        Over = "OVER",
        Percent = "PERCENT",
        Pivot = "PIVOT",
        Plan = "PLAN",
        Primary = "PRIMARY",
        Print = "PRINT",
        Proc = "PROC",
        Procedure = "PROCEDURE",
        Public = "PUBLIC",
        Raiserror = "RAISERROR",
        Read = "READ",
        Readtext = "READTEXT",
        Reconfigure = "RECONFIGURE",
        References = "REFERENCES",
        Replication = "REPLICATION",
        Restore = "RESTORE",
        Restrict = "RESTRICT",
        Return = "RETURN",
        Revert = "REVERT",
        Revoke = "REVOKE",
        Right = "RIGHT",
        Rollback = "ROLLBACK",
        Rowcount = "ROWCOUNT",
        RowGuidCol = "ROWGUIDCOL",
        Rule = "RULE",
        Save = "SAVE",
        Schema = "SCHEMA",
        Securityaudit = "SECURITYAUDIT",
        Select = "SELECT",
        Semantickeyphrasetable = "SEMANTICKEYPHRASETABLE",
        Semanticsimilaritydetailstable = "SEMANTICSIMILARITYDETAILSTABLE",
        Semanticsimilaritytable = "SEMANTICSIMILARITYTABLE",
        SessionUser = "SESSION_USER",
        Set = "SET",
        Setuser = "SETUSER",
        Shutdown = "SHUTDOWN",
        Some = "SOME",
        Statistics = "STATISTICS",
        SystemUser = "SYSTEM_USER",
        Table = "TABLE",
        Tablesample = "TABLESAMPLE",
        Textsize = "TEXTSIZE",
        Then = "THEN",
        To = "TO",
        Top = "TOP",
        Tran = "TRAN",
        Transaction = "TRANSACTION",
        Trigger = "TRIGGER",
        Truncate = "TRUNCATE",
        TryConvert = "TRY_CONVERT",
        Tsequal = "TSEQUAL",
        Union = "UNION",
        Unique = "UNIQUE",
        Unpivot = "UNPIVOT",
        Update = "UPDATE",
        Updatetext = "UPDATETEXT",
        Use = "USE",
        User = "USER",
        Values = "VALUES",
        Varying = "VARYING",
        View = "VIEW",
        Waitfor = "WAITFOR",
        When = "WHEN",
        Where = "WHERE",
        While = "WHILE",
        With = "WITH",
        Writetext = "WRITETEXT",
    }
    contextual {
        Abort = "ABORT",
        Absent = "ABSENT",
        Absolute = "ABSOLUTE",
        Action = "ACTION",
        After = "AFTER",
        AllSparseColumns = "ALL_SPARSE_COLUMNS",
        Always = "ALWAYS",
        AnsiDefaults = "ANSI_DEFAULTS",
        AnsiNullDfltOff = "ANSI_NULL_DFLT_OFF",
        AnsiNullDfltOn = "ANSI_NULL_DFLT_ON",
        AnsiNulls = "ANSI_NULLS",
        AnsiPadding = "ANSI_PADDING",
        AnsiWarnings = "ANSI_WARNINGS",
        Append = "APPEND",
        Application = "APPLICATION",
        Apply = "APPLY",
        Arithabort = "ARITHABORT",
        Arithignore = "ARITHIGNORE",
        At = "AT",
        Atomic = "ATOMIC",
        Audit = "AUDIT",
        Auto = "AUTO",
        Base64 = "BASE64",
        Binary = "BINARY",
        Both = "BOTH",
        Cache = "CACHE",
        Call = "CALL",
        Called = "CALLED",
        Caller = "CALLER",
        Cast = "CAST",
        Catch = "CATCH",
        Char = "CHAR",
        Character = "CHARACTER",
        Clear = "CLEAR",
        ColumnSet = "COLUMN_SET",
        Columnstore = "COLUMNSTORE",
        Committed = "COMMITTED",
        ConcatNullYieldsNull = "CONCAT_NULL_YIELDS_NULL",
        Configuration = "CONFIGURATION",
        Connection = "CONNECTION",
        Contained = "CONTAINED",
        Containment = "CONTAINMENT",
        Content = "CONTENT",
        ContextInfo = "CONTEXT_INFO",
        Conversation = "CONVERSATION",
        Cookie = "COOKIE",
        Counter = "COUNTER",
        Credential = "CREDENTIAL",
        Cube = "CUBE",
        CursorCloseOnCommit = "CURSOR_CLOSE_ON_COMMIT",
        Cycle = "CYCLE",
        Data = "DATA",
        DataSource = "DATA_SOURCE",
        Datefirst = "DATEFIRST",
        Dateformat = "DATEFORMAT",
        DeadlockPriority = "DEADLOCK_PRIORITY",
        Delay = "DELAY",
        DelayedDurability = "DELAYED_DURABILITY",
        Dialog = "DIALOG",
        Disable = "DISABLE",
        DisableDefCnstChk = "DISABLE_DEF_CNST_CHK",
        Document = "DOCUMENT",
        Dynamic = "DYNAMIC",
        Elements = "ELEMENTS",
        Enable = "ENABLE",
        Encryption = "ENCRYPTION",
        Enforced = "ENFORCED",
        Event = "EVENT",
        Explicit = "EXPLICIT",
        FastForward = "FAST_FORWARD",
        Filegroup = "FILEGROUP",
        Filestream = "FILESTREAM",
        FilestreamOn = "FILESTREAM_ON",
        FipsFlagger = "FIPS_FLAGGER",
        First = "FIRST",
        Fmtonly = "FMTONLY",
        Fn = "FN",
        Following = "FOLLOWING",
        Forceplan = "FORCEPLAN",
        Forcescan = "FORCESCAN",
        Forceseek = "FORCESEEK",
        Format = "FORMAT",
        ForwardOnly = "FORWARD_ONLY",
        Generated = "GENERATED",
        Get = "GET",
        Global = "GLOBAL",
        Grouping = "GROUPING",
        Hash = "HASH",
        Hashed = "HASHED",
        Hidden = "HIDDEN",
        High = "HIGH",
        Hint = "HINT",
        Ignore = "IGNORE",
        IgnoreConstraints = "IGNORE_CONSTRAINTS",
        IgnoreTriggers = "IGNORE_TRIGGERS",
        Iif = "IIF",
        Immediate = "IMMEDIATE",
        ImplicitTransactions = "IMPLICIT_TRANSACTIONS",
        Include = "INCLUDE",
        IncludeNullValues = "INCLUDE_NULL_VALUES",
        Increment = "INCREMENT",
        Inline = "INLINE",
        Input = "INPUT",
        Insensitive = "INSENSITIVE",
        Instead = "INSTEAD",
        Io = "IO",
        Isolation = "ISOLATION",
        Job = "JOB",
        Json = "JSON",
        JsonArray = "JSON_ARRAY",
        JsonArrayagg = "JSON_ARRAYAGG",
        JsonObject = "JSON_OBJECT",
        JsonObjectagg = "JSON_OBJECTAGG",
        Keepdefaults = "KEEPDEFAULTS",
        Keepidentity = "KEEPIDENTITY",
        Keyset = "KEYSET",
        Language = "LANGUAGE",
        Last = "LAST",
        Leading = "LEADING",
        Level = "LEVEL",
        Local = "LOCAL",
        LockTimeout = "LOCK_TIMEOUT",
        Log = "LOG",
        Login = "LOGIN",
        Loop = "LOOP",
        Low = "LOW",
        Mark = "MARK",
        Masked = "MASKED",
        Master = "MASTER",
        Matched = "MATCHED",
        Max = "MAX",
        Maxvalue = "MAXVALUE",
        Member = "MEMBER",
        Minvalue = "MINVALUE",
        Modify = "MODIFY",
        Move = "MOVE",
        MustChange = "MUST_CHANGE",
        Name = "NAME",
        NativeCompilation = "NATIVE_COMPILATION",
        Next = "NEXT",
        No = "NO",
        NoBrowsetable = "NO_BROWSETABLE",
        NoWait = "NO_WAIT",
        Nocount = "NOCOUNT",
        Noexec = "NOEXEC",
        Noexpand = "NOEXPAND",
        Nolock = "NOLOCK",
        None_ = "NONE",
        Normal = "NORMAL",
        Notification = "NOTIFICATION",
        Nowait = "NOWAIT",
        Nulls = "NULLS",
        NumericRoundabort = "NUMERIC_ROUNDABORT",
        Offset = "OFFSET",
        Oj = "OJ",
        OldPassword = "OLD_PASSWORD",
        Only = "ONLY",
        Optimistic = "OPTIMISTIC",
        Optimize = "OPTIMIZE",
        Out = "OUT",
        Output = "OUTPUT",
        Override = "OVERRIDE",
        Owner = "OWNER",
        Paglock = "PAGLOCK",
        Parse = "PARSE",
        Parseonly = "PARSEONLY",
        Partition = "PARTITION",
        Partitions = "PARTITIONS",
        Password = "PASSWORD",
        Path = "PATH",
        Pause = "PAUSE",
        Period = "PERIOD",
        Persisted = "PERSISTED",
        Preceding = "PRECEDING",
        // Reserved by the documentation's list, yet SQL Server accepts `SELECT precision FROM
        // sys.columns`.
        Precision = "PRECISION",
        Prior = "PRIOR",
        Profile = "PROFILE",
        Query = "QUERY",
        QueryGovernorCostLimit = "QUERY_GOVERNOR_COST_LIMIT",
        QuotedIdentifier = "QUOTED_IDENTIFIER",
        Range = "RANGE",
        Raw = "RAW",
        ReadOnly = "READ_ONLY",
        Readcommitted = "READCOMMITTED",
        Readcommittedlock = "READCOMMITTEDLOCK",
        Readonly = "READONLY",
        Readpast = "READPAST",
        Readuncommitted = "READUNCOMMITTED",
        Rebuild = "REBUILD",
        Receive = "RECEIVE",
        Recompile = "RECOMPILE",
        Relative = "RELATIVE",
        Remote = "REMOTE",
        RemoteProcTransactions = "REMOTE_PROC_TRANSACTIONS",
        Remove = "REMOVE",
        Reorganize = "REORGANIZE",
        Repeatable = "REPEATABLE",
        Repeatableread = "REPEATABLEREAD",
        Respect = "RESPECT",
        Restart = "RESTART",
        Result = "RESULT",
        Resume = "RESUME",
        Returns = "RETURNS",
        Role = "ROLE",
        Rollup = "ROLLUP",
        Root = "ROOT",
        Row = "ROW",
        Rowlock = "ROWLOCK",
        Rows = "ROWS",
        Sample = "SAMPLE",
        Schemabinding = "SCHEMABINDING",
        Scheme = "SCHEME",
        Scoped = "SCOPED",
        Scroll = "SCROLL",
        ScrollLocks = "SCROLL_LOCKS",
        Secondary = "SECONDARY",
        Seconds = "SECONDS",
        Self_ = "SELF",
        Send = "SEND",
        Sensitivity = "SENSITIVITY",
        Sequence = "SEQUENCE",
        Serializable = "SERIALIZABLE",
        Server = "SERVER",
        Session = "SESSION",
        Seterror = "SETERROR",
        Sets = "SETS",
        ShowplanAll = "SHOWPLAN_ALL",
        ShowplanText = "SHOWPLAN_TEXT",
        ShowplanXml = "SHOWPLAN_XML",
        Signature = "SIGNATURE",
        Snapshot = "SNAPSHOT",
        Source = "SOURCE",
        Sparse = "SPARSE",
        SpatialWindowMaxCells = "SPATIAL_WINDOW_MAX_CELLS",
        Split = "SPLIT",
        Start = "START",
        State = "STATE",
        Static = "STATIC",
        Stats = "STATS",
        Statusonly = "STATUSONLY",
        Stop = "STOP",
        Switch = "SWITCH",
        Symmetric = "SYMMETRIC",
        Synonym = "SYNONYM",
        System = "SYSTEM",
        SystemTime = "SYSTEM_TIME",
        Tablock = "TABLOCK",
        Tablockx = "TABLOCKX",
        Target = "TARGET",
        Text = "TEXT",
        TextimageOn = "TEXTIMAGE_ON",
        Throw = "THROW",
        Ties = "TIES",
        Time = "TIME",
        Trailing = "TRAILING",
        Transfer = "TRANSFER",
        Trim = "TRIM",
        Try = "TRY",
        TryCast = "TRY_CAST",
        TryParse = "TRY_PARSE",
        Type = "TYPE",
        TypeWarning = "TYPE_WARNING",
        Unbounded = "UNBOUNDED",
        Uncommitted = "UNCOMMITTED",
        Undefined = "UNDEFINED",
        Unknown = "UNKNOWN",
        Unlock = "UNLOCK",
        Updlock = "UPDLOCK",
        Used = "USED",
        Using = "USING",
        Value = "VALUE",
        Window = "WINDOW",
        Within = "WITHIN",
        Without = "WITHOUT",
        WithoutArrayWrapper = "WITHOUT_ARRAY_WRAPPER",
        Work = "WORK",
        XactAbort = "XACT_ABORT",
        Xlock = "XLOCK",
        Xml = "XML",
        Xmldata = "XMLDATA",
        Xmlnamespaces = "XMLNAMESPACES",
        Xmlschema = "XMLSCHEMA",
        Xsinil = "XSINIL",
        Zone = "ZONE",
    }
}

impl Keyword {
    /// Returns the keyword that `word` is, comparing without case, or [`Self::None`].
    pub(crate) fn of(word: &[u8]) -> Self {
        // No keyword has one letter, but many aliases do.
        if word.len() > LENGTH_MAX || word.len() < 2 {
            return Self::None;
        }
        let mut slot = hash(word) % TABLE_SIZE;
        loop {
            let entry = TABLE[slot];
            if entry == 0 {
                return Self::None;
            }
            let (keyword, text) = KEYWORDS[entry as usize];
            if is_same(text.as_bytes(), word) {
                return keyword;
            }
            slot = (slot + 1) % TABLE_SIZE;
        }
    }

    /// Returns whether the word is reserved: it cannot be a name without quotes.
    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        let number = self as usize;
        number != 0 && number <= RESERVED_COUNT
    }
}

/// Slots of the hash table: four for each keyword, so that most searches look at one slot.
const TABLE_SIZE: usize = 2048;

/// Length of the longest keyword, with some room.
const LENGTH_MAX: usize = 40;

/// Open addressing by [`hash`]; 0 is an empty slot.
static TABLE: [u16; TABLE_SIZE] = build_table();

#[expect(
    clippy::cast_possible_truncation,
    reason = "there are fewer than 65,536 keywords; const code"
)]
const fn build_table() -> [u16; TABLE_SIZE] {
    let mut table = [0; TABLE_SIZE];
    let mut index = 1;
    while index < KEYWORDS.len() {
        let mut slot = hash(KEYWORDS[index].1.as_bytes()) % TABLE_SIZE;
        while table[slot] != 0 {
            slot = (slot + 1) % TABLE_SIZE;
        }
        table[slot] = index as u16;
        index += 1;
    }
    table
}

/// Compares a keyword with a word, without case. A letter differs from its other case in one bit;
/// no other byte that a name may have differs from a digit or `_` in that bit alone.
#[inline]
fn is_same(keyword: &[u8], word: &[u8]) -> bool {
    keyword.len() == word.len() && keyword.iter().zip(word).all(|(a, b)| (a ^ b) & 0xDF == 0)
}

/// Hashes the length and a few letters, without case. Keywords with the same hash are found by
/// comparing their text.
const fn hash(word: &[u8]) -> usize {
    let length = word.len();
    if length == 0 {
        return 0;
    }
    let first = letter(word, 0) | letter(word, length / 4) << 8;
    let middle = letter(word, length / 2) << 16 | letter(word, length - length.div_ceil(4)) << 24;
    let last = letter(word, length - 1) << 32 | length << 40;
    let mixed = (first | middle | last).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed >> 53
}

const fn letter(word: &[u8], place: usize) -> usize {
    (word[place] & 0xDF) as usize
}

/// Returns the words that the grammar knows, in upper case.
pub fn words() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().skip(1).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for &(keyword, text) in &KEYWORDS[1..] {
            assert!(text.len() <= LENGTH_MAX, "{text}");
            assert_eq!(Keyword::of(text.as_bytes()), keyword, "{text}");
            assert_eq!(Keyword::of(text.to_lowercase().as_bytes()), keyword, "{text}");
        }
    }

    #[test]
    fn reserved_words_are_told_from_others() {
        assert!(Keyword::of(b"select").is_reserved());
        assert!(Keyword::of(b"View").is_reserved());
        assert!(!Keyword::of(b"throw").is_reserved());
        assert!(!Keyword::of(b"sessionid").is_reserved());
    }
}
