SELECT * FROM a JOIN b JOIN c ON b.i = c.i ON a.i = b.i
SELECT * FROM (a JOIN b ON a.i = b.i) JOIN c ON c.i = a.i
SELECT * FROM a JOIN (b CROSS JOIN c) ON a.i = b.i
SELECT * FROM a LEFT JOIN b INNER JOIN c ON b.i = c.i CROSS JOIN d ON a.i = b.i
