-- A distributed cache: a row per key, read and replaced by statements with parameters.
drop table if exists dbo.stress_cache
go
create table dbo.stress_cache
(
    id nvarchar(100) collate Latin1_General_100_BIN2 not null primary key,
    body varbinary(max) not null,
    gone_at datetime2 not null
)
go
insert dbo.stress_cache (id, body, gone_at)
select concat(N'stress', format(n, 'D9')),
    cast(replicate(cast('x' as varchar(max)), 500) as varbinary(max)), dateadd(year, 1, sysutcdatetime())
from (select top (1000) row_number() over (order by (select null)) - 1 from sys.all_columns) numbers (n)
