UPDATE t SET a = 1, b += 2, t.c = DEFAULT WHERE d = 3
UPDATE t SET @v = a, @w = b = b + 1, @x -= 2, @y = c += 1, c *= 2, d /= 3, e %= 4, f &= 5, g ^= 6, h |= 7
UPDATE TOP (10) t WITH (ROWLOCK) SET a = b.x OUTPUT deleted.a, inserted.a FROM t INNER JOIN b ON b.i = t.i WHERE b.y = 1 OPTION (RECOMPILE)
UPDATE t SET doc.WRITE('x', 0, NULL), x.modify('delete /a') WHERE CURRENT OF c
UPDATE t SET a = 1 WHERE CURRENT OF GLOBAL c UPDATE @t SET a = 1 UPDATE t (ROWLOCK) SET a = 1
UPDATE Cache SET a = 1 WHERE Id = @Id IF (@@ROWCOUNT = 0) BEGIN INSERT INTO Cache (Id) VALUES (@Id); END
WITH c AS (SELECT a FROM t) UPDATE c SET a = 1
