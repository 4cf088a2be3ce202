-- A session store as web servers keep one: a row per session, read and written by procedures.
drop procedure if exists dbo.stress_session_read, dbo.stress_session_write
drop table if exists dbo.stress_session
go
create table dbo.stress_session
(
    id nvarchar(88) collate Latin1_General_100_BIN2 not null primary key,
    expires datetime not null,
    locked_at datetime not null,
    cookie int not null,
    minutes int not null,
    held bit not null,
    item varbinary(max) null
)
go
create procedure dbo.stress_session_read
    @id nvarchar(88), @held bit output, @age int output, @cookie int output
as
begin
    set nocount on
    declare @now datetime = getutcdate(), @item varbinary(max)
    update dbo.stress_session
    set expires = dateadd(minute, minutes, @now), @held = held, @cookie = cookie,
        @age = datediff(second, locked_at, @now), @item = case held when 0 then item end
    where id = @id
    select @item as item
end
go
create procedure dbo.stress_session_write
    @id nvarchar(88), @cookie int, @minutes int, @item varbinary(max)
as
begin
    set nocount on
    update dbo.stress_session
    set expires = dateadd(minute, @minutes, getutcdate()), item = @item, held = 0
    where id = @id and cookie = @cookie
end
go
insert dbo.stress_session (id, expires, locked_at, cookie, minutes, held, item)
select concat(N'stress', format(n, 'D9')), dateadd(minute, 20, getutcdate()), getutcdate(), 1, 20, 0,
    cast(replicate(cast('x' as varchar(max)), 500) as varbinary(max))
from (select top (1000) row_number() over (order by (select null)) - 1 from sys.all_columns) numbers (n)
