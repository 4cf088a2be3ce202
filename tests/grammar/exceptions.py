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


def name_of(difference: Difference) -> str | None:
    if difference.ours.number == 40517:
        return "refused by name"
    return None
