SELECT * FROM s PIVOT (SUM(x) FOR y IN ([a], [b])) AS p
SELECT * FROM (SELECT 1 AS a) s PIVOT (MAX(s.x) FOR s.y IN (a, b)) p JOIN q ON 1 = 1
SELECT * FROM s UNPIVOT (v FOR n IN (a, b)) u
