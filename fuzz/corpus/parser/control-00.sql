-- Variables, control of flow, EXECUTE, transactions, cursors.
DECLARE @a int, @b AS nvarchar(88) = N'x', @c decimal(9, 2) = 1.5, @t TABLE (i int NOT NULL PRIMARY KEY, s varchar(10)), @u dbo.tt, @d CURSOR, @e datetime = GETDATE()
SET @a = 1 SET @a += 1 SET @a -= 1 SET @a *= 2 SET @a /= 2 SET @a %= 2 SET @a &= 1 SET @a |= 1 SET @a ^= 1 SET @x.modify('delete /a')
SET @d = CURSOR FORWARD_ONLY FOR SELECT 1
