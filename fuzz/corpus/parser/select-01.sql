SELECT a, b AS c, d e, f = g + 1, 'x' = h, t.*, dbo.t.*, db..t.*, [odd name] AS [other name], "quoted" "alias", i 'text alias' FROM t
