-- Counters that everybody adds to: few rows, many writers.
drop table if exists dbo.stress_counter
go
create table dbo.stress_counter (id int not null primary key, n bigint not null)
go
insert dbo.stress_counter (id, n)
select n, 0
from (select top (16) row_number() over (order by (select null)) - 1 from sys.all_columns) numbers (n)
