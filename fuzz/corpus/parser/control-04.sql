dbo.p 1, 2
