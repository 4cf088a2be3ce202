"""Differences that are meant, each with a name and its reason; and what a server is asked with.

ScriptDom 15 knows the grammar up to SQL Server 2019 and nothing of names and types, so it accepts some texts that
every server refuses, and refuses what later versions have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from oracle import Verdict

# What most texts of the repository read.
TABLES = [
    "CREATE TABLE dbo.t (a int NOT NULL CONSTRAINT pk_t PRIMARY KEY, b int, c varchar(50), s varchar(100), tx text, x xml)",
    "CREATE TABLE dbo.u (a int, b int, c varchar(50), x xml)",
    "CREATE TABLE dbo.w (a int, b int)",
]
# Run before each text: `texts.txt` makes this table.
FRESH = "DROP TABLE IF EXISTS dbo.made"
# Errors of what does not exist, exists already, or has other columns: they say nothing about the grammar.
NAMES = frozenset(
    [109, 110, 120, 137, 207, 208, 209, 213, 206, 241, 245, 257, 515, 544, 547, 911, 916, 1088, 1750, 1767, 1769, 1776]
    + [1801, 1834, 1911, 1913, 1934, 2627, 2706, 2714, 2715, 2812, 3701, 3705, 3728, 3902, 3903, 3908, 4104, 4121, 4701]
    + [4902, 4917, 4922, 4924, 4947, 5011, 5074, 8101, 8134, 15007, 15009, 15023, 15025, 15032, 15048, 15138, 15151]
    + [15165, 15247, 15404, 15517, 16916, 16917, 25631, 33161]
)
DANGEROUS = re.compile(
    r"\b(SHUTDOWN|WAITFOR|BACKUP|RESTORE|KILL|BULK|OPENROWSET|sa|EXTERNAL|WHILE|GOTO|PARSEONLY|NOEXEC|FMTONLY|SHOWPLAN_\w+)\b", re.IGNORECASE
)


def is_dangerous(text: str) -> bool:
    """Tells whether a text may stop the server, wait, write files, or change how the next one is read."""
    return DANGEROUS.search(text) is not None


def is_of_names(number: int | None) -> bool:
    return number in NAMES


@dataclass(frozen=True)
class Difference:
    """A text and what the two sides say of it; `number` is the server's error, 0 if it was not asked or had none."""

    text: str
    ours: Verdict
    theirs: Verdict
    number: int = 0

    def with_number(self, number: int) -> Difference:
        return replace(self, number=number)

    def described(self) -> str:
        ours = "accepted" if self.ours.accepted else f"{self.ours.number} {self.ours.message}"
        theirs = "accepted" if self.theirs.accepted else f"{self.theirs.number} {self.theirs.message}"
        return f"--- ours: {ours}{f', server {self.number}' if self.number else ''}; theirs: {theirs}\n{self.text}"


# (name, reason): the reason is what a reader needs to decide whether a new difference belongs to it.
REASONS = {
    "newer": "syntax of SQL Server 2022 and 2025; of 2019 what ScriptDom 15 never learned",
    "refused by name": "error 40517, or the number of a limit that the grammar does not know",
    "object first": "what ALTER and CREATE INDEX say of an option depends on the object, and that is not there",
    "names first": "the binder decides once the tables are known; a missing table is looked up when control gets there",
    "more than ScriptDom": "SQL Server's scripts and samples have it; ScriptDom does not (each has a pattern with its source)",
    "unknown": "nobody here knows what SQL Server says; accepted, since that breaks no script",
    "external": "files and their options: named in the binder or the reader of the file",
    "event sessions": "spellings that scripts of SQL Server Management Studio have; options are checked with the session",
    "permissions": "ScriptDom accepts any words as a permission; SQL Server and we know the list",
    "calls": "the first word of a batch may be a procedure, the next an argument: ScriptDom looks further ahead",
    "labels": "SQL Server checks labels with the batch; ScriptDom cuts `label:` in its lexer",
    "quotes": "ScriptDom reads all of a text with one setting of QUOTED_IDENTIFIER",
    "dangerous": "not sent to a server, which refuses more than the parser",
    "ScriptDom accepts more": "SQL Server refuses it as we do (each has a pattern)",
    "unsupported inside": "40517 for a part of it, in the binder",
}

NEWER = re.compile(
    r"\|\||<<|>>|\bWINDOW\b|\bOVER\s*\(?\s*[a-z_]\w*(?<!partition)(?<!order)(?<!rows)(?<!range)\b|(IGNORE|RESPECT)\s+NULLS|\bDISTINCT\s+FROM\b"
    r"|JSON_(OBJECT|ARRAY)|CURRENT_DATE|LEDGER|XML_COMPRESSION|ACCELERATED_DATABASE_RECOVERY|QUERY_CAPTURE_(POLICY|MODE\s*=\s*CUSTOM)|WAIT_STATS_CAPTURE_MODE"
    r"|OPTIMIZE_FOR_SEQUENTIAL_KEY|DATA_(DELETION|RETENTION)|AUTO_DROP|PERSIST_SAMPLE_PERCENT|TRIM\s*\(|WAIT_AT_LOW_PRIORITY|OPTIMIZED_LOCKING|MANUAL_CUTOVER"
    r"|PERSISTENT_LOG_BUFFER|SUSPEND_FOR_SNAPSHOT_BACKUP|ENCRYPTION\s+SUSPEND|\(FORCED\)|NOT\s+ENFORCED|COLUMNSTORE\b.*\bORDER\b|DROP\s+\w+(\s+\w+)?\s+IF\s+EXISTS"
    r"|ON\s+(CREDENTIAL|EXTERNAL)\b|RESAMPLE\s+ON\s+PARTITIONS|STATISTICS\b.*MAXDOP|INDEX\s+\w+.*\bINCLUDE\b|DISABLE\s+(EXTERNALPUSHDOWN|SCALEOUTEXECUTION)|OPTION\s*\(\s*LABEL\b"
    r"|OBJECT_ID\s*=|REBUILD\s+NONCLUSTERED|DATE_BUCKET|\bUNMASK\b",
    re.IGNORECASE | re.DOTALL,
)
MORE = re.compile(
    # Scripts of applications, in crates/engine/tests/scripts/surface.test.
    r"OPTION\s*\(.*\)\s*FOR\s+(XML|JSON)|\(INDEX\s*=\s*\d+\s+\w+\)|DEFAULT\s+\S+\s+WITH\s+VALUES|ATOMIC\b.*DATEFORMAT|AS\s*$|\bUPDATE\s*\(\w+\)\s*,\s*\w+\s+ON"
    r"|DISABLE_DEF_CNST_CHK|FOR\s+SYSTEM_TIME\s+AS\s+OF\s+\d|DEFAULT_LANGUAGE\s*=\s*\d|DECLARE\s+@\w+\s+TABLE\b|\{\s*call\b|GRANT\b.*\bON\s+SCHEMA|UNLOCK",
    re.IGNORECASE | re.DOTALL,
)
UNKNOWN = re.compile(
    # Words that ScriptDom takes for another statement's, hints before it knows them, result sets, names of types.
    r"\bSTOPLIST\b|\b(NOLOCK|SNAPSHOT|[A-Z]+LOCKX?|READUNCOMMITTED|SERIALIZABLE)\b|RESULT\s+SETS|\w\s*\.\s*\.\s*\w|FILESTREAM|\bCHECK\b.*\bCHECK\b|\bREADTEXT\b"
    r"|\)\s*(AS\s+)?\w*\s*(\(\w+\)\s*)?WITH\s*\(\s*NOLOCK|@\w+\s+WITH\s*\(|=\s*\(\(?[^()]*\)\)?\s+AS\b|\$PARTITION|NEXT\s+VALUE\b(?!\s+FOR)|PERCENTILE_\w+.*OVER\s*\(\s*ORDER",
    re.IGNORECASE | re.DOTALL,
)
ACCEPTS_MORE = re.compile(
    # Cursor options that exclude each other, lists without a column, a variable or a value as a procedure, five names.
    r"\bCURSOR\b|\(\s*\)|^\s*@|INSERT\b.*\(\s*'|\w+\.\w*\.\w+\.\w+\.\w+|BUCKET_COUNT|WHEN\s+(NOT\s+)?MATCHED|\d[eE]\d{3}|\$\d{15}|DECLARE\b.*NOT\s+NULL|\bTRIGGER\b|PARTITIONS|TRUNCATE\b.*WITH\s*\(|\)\s*\(|\.\s*WRITE\s*\(|\w+\s+\w+\s*\(\s*\w+\s*\)|DECLARE\s+@\w+\s+\w+\s+NULL|DROP\s+PERIOD|\.nodes\s*\(",
    re.IGNORECASE | re.DOTALL,
)
PERMISSION = re.compile(r"\b(GRANT|DENY|REVOKE)\b", re.IGNORECASE)
EXTERNAL = re.compile(r"\b(EXTERNAL|BULK|OPENROWSET|CODEPAGE)\b", re.IGNORECASE)
FIRST_WORDS = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|CREATE|ALTER|DROP|DECLARE|SET|EXEC|EXECUTE|BEGIN|IF|WHILE|GRANT|DENY|REVOKE|BACKUP|RESTORE|TRUNCATE|PRINT"
    r"|RAISERROR|THROW|USE|KILL|DBCC|WAITFOR|RETURN|COMMIT|ROLLBACK|SAVE|OPEN|CLOSE|FETCH|DEALLOCATE|REVERT|GOTO|\(|\{|;|--|/\*)",
    re.IGNORECASE,
)
# What ScriptDom checks in the parser and SQL Server with the names: lengths of types, nested changes, orders, frames,
# DISTINCT, MERGE, periods.
OF_NAMES = frozenset([46008, 46009, 46041, 46047, 46071, 46075, 46076, 46077, 46078, 46079, 46083, 46086, 46099, 46103])


def name_of(difference: Difference) -> str | None:
    """Returns the name of the exception that a difference belongs to, if there is one."""
    refused = not difference.ours.accepted
    return of_refused(difference) if refused else of_accepted(difference)


def of_refused(difference: Difference) -> str | None:
    text, number = difference.text, difference.ours.number
    if number not in (102, 156):
        return "refused by name"
    if PERMISSION.search(text):
        return "permissions"
    if not FIRST_WORDS.match(text):
        return "calls"
    return "ScriptDom accepts more" if ACCEPTS_MORE.search(text) else None


def of_accepted(difference: Difference) -> str | None:
    text, number, theirs = difference.text, difference.number, difference.theirs.number
    rules = [
        ("newer", NEWER.search(text)),
        ("event sessions", re.search(r"EVENT\s+SESSION", text, re.IGNORECASE)),
        ("object first", re.search(r"ALTER\s+DATABASE", text, re.IGNORECASE) or number in (911, 1088, 2714, 3701, 4902, 4922, 5011, 15151)),
        ("names first", theirs in OF_NAMES or number == 208 and "WITHIN GROUP" in text.upper()),
        ("external", EXTERNAL.search(text)),
        ("quotes", re.search(r"QUOTED_IDENTIFIER|ANSI_DEFAULTS", text, re.IGNORECASE)),
        ("more than ScriptDom", MORE.search(text)),
        ("unknown", UNKNOWN.search(text)),
        ("labels", re.search(r"\b\w+\s*:(?!:)", text)),
        ("calls", not FIRST_WORDS.match(text)),
        ("permissions", PERMISSION.search(text)),
        ("dangerous", is_dangerous(text)),
    ]
    return next((name for name, matches in rules if matches), None)
