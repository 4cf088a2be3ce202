SELECT * FROM STRING_SPLIT('a,b', ',') s
SELECT * FROM OPENJSON(@j, '$.x') WITH (a int '$.a', b nvarchar(max) AS JSON, c varchar(10) COLLATE Latin1_General_BIN2 '$.c') j
SELECT * FROM @t v WITH (NOLOCK) JOIN @x.nodes('/r/i') AS n(i) ON 1 = 1 CROSS APPLY n.i.nodes('x') AS m(c)
SELECT n.value('(@count)[1]', 'bigint'), x.y.query('./value').value('.', 'int'), @x.exist('/a') FROM q CROSS APPLY q.x.nodes('//Slot') AS s(n)
SELECT * FROM OPENQUERY(srv, 'SELECT 1') o
SELECT * FROM GENERATE_SERIES(1, 10)
SELECT * FROM sys.dm_exec_sql_text(@h) CROSS APPLY sys.fn_x(DEFAULT)
