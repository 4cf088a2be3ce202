SELECT * FROM t CROSS APPLY (SELECT COUNT_BIG(*) FROM u WHERE u.i = t.i) ca (cnt) OUTER APPLY dbo.f(t.i, 2) AS g(a, b)
