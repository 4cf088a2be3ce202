//! Completion of the word being typed: keywords, the tool's commands, and the catalog's names.

/// The query for the catalog's names, which runs on any server.
pub(crate) const QUERY: &str = "\
select top (5000) name from sys.schemas
union select top (5000) name from sys.databases
union select top (5000) name from sys.all_objects where is_ms_shipped = 0 or type = 'V' or name like 'sp[_]%'
union select top (5000) c.name from sys.columns c join sys.objects o on o.object_id = c.object_id where o.is_ms_shipped = 0";

const KEYWORDS: &str = "\
ADD ALL ALTER AND ANY AS ASC BACKUP BEGIN BETWEEN BREAK BY CASCADE CASE CAST CATCH CHECK CLOSE CLUSTERED COALESCE \
COLLATE COLUMN COLUMNSTORE COMMIT CONSTRAINT CONTINUE CONVERT COUNT CREATE CROSS CURRENT CURSOR DATABASE DATEADD \
DATEDIFF DATEPART DEALLOCATE DECLARE DEFAULT DELAY DELETE DENY DESC DISTINCT DROP ELSE END ESCAPE EXCEPT EXEC EXECUTE \
EXISTS FETCH FOR FOREIGN FROM FULL FUNCTION GETDATE GRANT GROUP HASHBYTES HAVING HOLDLOCK IDENTITY IF IN INDEX INNER \
INSERT INTERSECT INTO IS ISNULL JOIN KEY LEFT LIKE MAXDOP MERGE NEWID NOCOUNT NOCHECK NOLOCK NONCLUSTERED NOT NULL \
NULLIF OFF OFFSET ON OPEN OPTION OR ORDER OUTER OUTPUT OVER PARTITION PERCENT PIVOT PRIMARY PRINT PROCEDURE RAISERROR \
READPAST REFERENCES RETURN REVOKE RIGHT ROLLBACK ROW_NUMBER ROWCOUNT ROWLOCK ROWS SAVE SCHEMA SELECT SEQUENCE SET SOME \
STATISTICS SUM SYSUTCDATETIME TABLE TABLOCK THEN THROW TOP TRAN TRANSACTION TRIGGER TRUNCATE TRY UNION UNIQUE UNPIVOT \
UPDATE UPDLOCK USE USING VALUES VARCHAR NVARCHAR VARBINARY VIEW WAITFOR WHEN WHERE WHILE WITH XACT_ABORT GO";

const COMMANDS: &str = "\
:connect :error :exit :format :help :list :listvar :on :out :quit :r :reset :setvar :timing";

/// The words that can be completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    names: Vec<String>,
}

impl Words {
    /// Makes the list from a catalog's names.
    pub(crate) fn of_names(names: Vec<String>) -> Self {
        Self { names }
    }

    /// Returns where the word before `place` begins, and its completions.
    pub(crate) fn complete(&self, line: &str, place: usize) -> (usize, Vec<String>) {
        let before = &line[..place];
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$');
        let start = before
            .rfind(|c: char| !is_word(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        if let Some(command) = before.trim_start().strip_prefix(':')
            && !command.contains(char::is_whitespace)
        {
            let found = COMMANDS.split(' ').filter(|known| known[1..].starts_with(command));
            return (before.len() - command.len() - 1, found.map(str::to_owned).collect());
        }
        let word = before[start..].to_lowercase();
        if word.is_empty() {
            return (start, Vec::new());
        }
        let fits = |known: &str| known.to_lowercase().starts_with(&word);
        let mut found: Vec<String> =
            self.names.iter().filter(|name| fits(name)).map(|name| quoted(name)).collect();
        let is_lower = before[start..].chars().any(char::is_lowercase);
        let keywords = KEYWORDS.split(' ').filter(|known| fits(known));
        found.extend(
            keywords.map(|known| if is_lower { known.to_lowercase() } else { known.to_owned() }),
        );
        found.sort_unstable();
        found.dedup();
        (start, found)
    }
}

/// Returns a name in brackets, if it needs them.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '#' | '@' | '$'))
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("[{}]", name.replace(']', "]]")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keywords_complete_a_word() {
        let words = Words::of_names(vec!["Orders".to_owned(), "order lines".to_owned()]);
        let line = "select * from dbo.ord";
        assert_eq!(
            words.complete(line, line.len()),
            (18, vec!["Orders".to_owned(), "[order lines]".to_owned(), "order".to_owned()])
        );
        assert_eq!(words.complete("SEL", 3).1, ["SELECT"]);
        assert_eq!(words.complete("  :se", 5), (2, vec![":setvar".to_owned()]));
        assert_eq!(words.complete("select ", 7).1, Vec::<String>::new());
    }
}
