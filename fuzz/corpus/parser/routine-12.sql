CREATE FUNCTION x (@a int) RETURNS TABLE (a int, b nvarchar(10)) AS EXTERNAL NAME a.b.c
