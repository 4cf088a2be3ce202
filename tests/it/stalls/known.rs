//! Cases that are known to be past a bound, by name. These lists must shrink: a case that is not in them fails past the
//! bound, and one that is in them fails once each of its tries is well within it.

use super::cases::Case;

/// What goes on after it was cancelled.
pub(super) const GOES_ON: &[&str] = &["JSON_ARRAY(@b)"];

/// What takes more memory than the limit and the margin, by eight clients.
pub(super) const TAKES_MORE: &[&str] = &[
    "LTRIM(@b, 'b')",
    "SELECT COUNT(*) FROM STRING_SPLIT(@s, ';')",
    "DECLARE @p nvarchar(max) = N'SELECT 1 AS n' + REPLICATE(CONVERT(nvarchar(max), N' UNION ALL SELECT 1'), 10000); \
     SET @p = N'SELECT COUNT(*) FROM (' + @p + N') AS t'; EXEC sp_executesql @p",
    "SELECT 1 WHERE 1 IN (1 [100000 times ,1] )",
    "SELECT COUNT(*) FROM dbo.big WHERE n = 1 [50000 times  OR n = 2] ",
    "SELECT COUNT(*) FROM dbo.big WHERE n > 1 [50000 times  AND n <> 2] ",
    "SELECT COALESCE(@i [50000 times ,1] )",
    "DECLARE @t TABLE (a int, b varchar(9)); INSERT @t SELECT 1, 'a' [10000 times  UNION ALL SELECT 1, 'a'] ",
    " [4000 times SELECT @i = m.id FROM dbo.many AS m WHERE m.id = @i;] SELECT @i = COUNT(*) FROM sys.dm_exec_query_stats;",
];

/// What a run found that is not as the list says.
pub(super) struct Findings {
    known: &'static [&'static str],
    unknown: Vec<String>,
    mended: Vec<String>,
    left: usize,
}

impl Findings {
    /// Starts with one of the lists.
    pub(super) fn new(known: &'static [&'static str]) -> Self {
        Self { known, unknown: Vec::new(), mended: Vec::new(), left: 0 }
    }

    /// Returns whether a case is in the list.
    pub(super) fn knows(&self, case: &Case) -> bool {
        self.known.contains(&case.name.as_str())
    }

    /// Notes whether a case is past the bound, or well within it each time.
    pub(super) fn note(&mut self, case: &Case, is_past: bool, is_well_within: bool, what: &str) {
        match (self.knows(case), is_past, is_well_within) {
            (false, true, _) => self.unknown.push(format!("{what}: {}", case.name)),
            (true, false, true) => self.mended.push(case.name.clone()),
            (true, ..) => self.left += 1,
            (false, false, _) => {}
        }
    }

    /// Fails where the list is wrong; says how many cases are left.
    pub(super) fn check(&self, bound: &str) {
        eprintln!("{} known cases are left past {bound}", self.left);
        let (unknown, mended) = (self.unknown.join("\n"), self.mended.join("\n"));
        assert!(self.unknown.is_empty(), "past {bound}:\n{unknown}");
        assert!(self.mended.is_empty(), "within {bound}: take them out of the list:\n{mended}");
    }
}
