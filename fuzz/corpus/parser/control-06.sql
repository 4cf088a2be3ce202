EXEC p EXEC dbo.p 1, 'x', @v, @w OUTPUT, DEFAULT, NULL, -1, +2.5, 0x01, N'y', @a = 1, @b = @c OUT, @d = word, @e = DEFAULT
EXECUTE @rc = p;2 @a EXEC @proc 1 EXEC p WITH RECOMPILE EXEC p 1 WITH RESULT SETS ((a int, b nvarchar(10) NOT NULL), (c int)) EXEC p WITH RESULT SETS NONE EXEC p WITH RESULT SETS UNDEFINED
EXEC ('SELECT ' + @a + N' FROM t') EXECUTE (@sql) AS USER = 'u' EXEC ('q ?', 1, @b OUTPUT) AT srv EXEC (@sql) AS LOGIN = 'l'
EXEC p
SELECT 1
{call sp_reset_connection()}
{call dbo.p(1, N'x', @a)}
EXECUTE AS USER = 'u' EXEC AS CALLER EXECUTE AS LOGIN = 'l' WITH NO REVERT EXECUTE AS USER = 'u' WITH COOKIE INTO @c REVERT REVERT WITH COOKIE = @c
