-- A store for web sessions: one memory-optimized table, natively compiled procedures around it, and
-- the interpreted ones that such stores carry: expiry, application keys, the server's version.
-- Run batch by batch; a line `go` ends a batch. session_state_retry.sql has the variant that retries
-- conflicts inside the server.
use [master]
go
declare @folder nvarchar(max) = cast(serverproperty('InstanceDefaultDataPath') as nvarchar(max));
declare @logs nvarchar(max) = cast(serverproperty('InstanceDefaultLogPath') as nvarchar(max));
declare @text nvarchar(max) = N'';

set @text = N'create database [WebSessions]
 containment = none
 on primary (name = N''WebSessions'', filename = N''' + @folder + 'WebSessions.mdf'', size = 4096KB, filegrowth = 4096KB),
 filegroup [WebSessions_xtp] contains memory_optimized_data default
  (name = N''WebSessions_xtp'', filename = N''' + @folder + 'WebSessions_xtp'', maxsize = unlimited)
 log on (name = N''WebSessions_log'', filename = N''' + @logs + 'WebSessions_log.ldf'', maxsize = 2048GB);
alter database [WebSessions] set compatibility_level = 130;
alter database [WebSessions] set memory_optimized_elevate_to_snapshot = on;'

execute (@text)
go
USE [websessions]
go
create role [SessionReader];
create role [SessionWriter];
create role [SessionJanitor];

create type [dbo].[SessionKey] from [nvarchar](88) not null;
create type [dbo].[AppPath] from [varchar](280) not null;
create type [dbo].[SmallItem] from [varbinary](7000) null;
create type [dbo].[LargeItem] from [image] null;
create type [dbo].[ItemBody] from [varbinary](max) null;
go
create table [dbo].[Session]
(
    [Id] [nvarchar](88) collate Latin1_General_100_BIN2 not null,
    [Made] [datetime] not null default (getutcdate()),
    [Expires] [datetime] not null,
    [LockedAt] [datetime] not null,
    [LockedAtLocal] [datetime] not null,
    [Cookie] [int] not null,
    [Minutes] [int] not null,
    [Held] [bit] not null,
    [Small] [varbinary](7000) null,
    [Large] [varbinary](max) null,
    [Flags] [int] not null default ((0)),
    index [ix_Expires] nonclustered ([Expires] asc),
    primary key nonclustered hash ([Id]) with (bucket_count = 33554432)
)
with (memory_optimized = on, durability = schema_only)
go
create table [dbo].[App](
    [Number] [int] not null,
    [Path] [char](280) not null,
    primary key clustered ([Number] asc) with (pad_index = off, statistics_norecompute = off,
        ignore_dup_key = off, allow_row_locks = on, allow_page_locks = on) on [primary],
) on [primary]
go
create nonclustered index [ix_Path] on [App] ([Path])
go

-- ---- the eight native procedures -------------------------------------------------------------

create procedure [dbo].[SessionStart] (
    @Id nvarchar(88),
    @Minutes int,
    @Item varbinary(max)
) with native_compilation, schemabinding, execute as owner as
begin atomic with (transaction isolation level = snapshot, language = N'us_english')
    -- An item that nobody has filled yet: the first reader is told so, once, by flag 1.
    declare @utc as datetime, @here as datetime
    set @utc = getutcdate()
    set @here = getdate()
    insert [dbo].[Session] (Id, Expires, LockedAt, LockedAtLocal, Cookie, Minutes, Held, Large, Flags)
    values (@Id, dateadd(n, @Minutes, @utc), @utc, @here, 1, @Minutes, 0, @Item, 1)
end
go
create procedure [dbo].[SessionCreate]
    @Id nvarchar(88),
    @Minutes int,
    @Item varbinary(max)
with native_compilation, schemabinding, execute as owner
as begin atomic with (transaction isolation level = snapshot, language = N'us_english')
    declare @utc datetime = getutcdate();
    insert into dbo.Session (Id, Expires, LockedAt, LockedAtLocal, Cookie, Minutes, Held, Large)
    values (@Id, dateadd(minute, @Minutes, @utc), @utc, getdate(), 1, @Minutes, 0, @Item);
    return 0
end
go
create procedure [dbo].[SessionRead] (
    @Id nvarchar(88),
    @Held bit output,
    @Age int output,
    @Cookie int output,
    @Todo int output
) with native_compilation, schemabinding as
begin atomic with (transaction isolation level = snapshot, language = N'us_english');
    declare @item as varbinary(max), @bytes as int
    declare @utc as datetime
    set @utc = getutcdate()

    update dbo.Session
    set Expires = dateadd(n, Minutes, @utc),
        @Held = Held,
        @Age = datediff(second, LockedAt, @utc),
        @Cookie = Cookie,
        @item = case @Held when 0 then Large else null end,
        @bytes = case @held when 0 then datalength(Large) else null end,
        Flags = case when (Flags & 1) <> 0 then (Flags & ~1) else Flags end,
        @Todo = case when (Flags & 1) <> 0 then 1 else 0 end
    where Id = @Id

    if @bytes is not null
        select @item
end
go
create procedure [dbo].[SessionLock]
    @Id nvarchar(88),
    @Held bit output,
    @Age int output,
    @Cookie int output,
    @Todo int output
with native_compilation, schemabinding, execute as owner
as begin atomic with (transaction isolation level = snapshot, language = N'us_english')
    declare @item varbinary(max)
    declare @utc datetime = getutcdate()
    declare @taken bit
    declare @flags int

    select @taken = Held, @flags = Flags from dbo.Session where ID = @id

    if @flags & 1 <> 0
    begin
        set @Todo = 1
        update dbo.Session set Flags = Flags & ~1 where Id = @Id
    end
    else
        set @Todo = 0

    if @taken = 1
        update dbo.Session
        set Expires = dateadd(n, Minutes, @utc),
            @Age = datediff(second, LockedAt, @utc),
            @Cookie = Cookie,
            @Held = 1
        where Id = @Id
    else
    begin
        update dbo.Session
        set Expires = dateadd(n, Minutes, @utc),
            LockedAt = @utc,
            LockedAtLocal = getdate(),
            @Age = 0,
            @Cookie = Cookie = Cookie + 1,
            @item = Large,
            @Held = 0,
            Held = 1
        where Id = @Id

        if @Item is not null
            select @Item
    end
end
go
create procedure [dbo].[SessionSave]
    @Id nvarchar(88),
    @Cookie int,
    @Minutes int,
    @Item varbinary(max)
with native_compilation, schemabinding, execute as owner
as begin atomic with (transaction isolation level = snapshot, language = N'us_english')
    update dbo.Session
    set Expires = dateadd(n, @Minutes, getutcdate()), Large = @Item, Small = null, Minutes = @Minutes, Held = 0
    where Id = @Id and Cookie = @Cookie
    return 0
end
go
create procedure [dbo].[SessionRelease]
    @Id nvarchar(88),
    @Cookie int
with native_compilation, schemabinding, execute as owner
as begin atomic with (transaction isolation level = snapshot, language = N'us_english')
    update dbo.Session set Expires = dateadd(n, Minutes, getutcdate()), Held = 0 where Id = @Id and Cookie = @Cookie
    return 0
end
go
create procedure [dbo].[SessionTouch]
    @Id nvarchar(88)
with native_compilation, schemabinding, execute as owner
as begin atomic with (transaction isolation level = snapshot, language = N'us_english')
    update dbo.Session set Expires = dateadd(n, Minutes, getutcdate()) where Id = @Id
    return 0
end
go
create procedure [dbo].[SessionRemove]
    @Id nvarchar(88),
    @Cookie int
with native_compilation, schemabinding, execute as owner
as begin atomic with (transaction isolation level = snapshot, language = N'us_english')
    delete dbo.Session where Id = @Id and Cookie = @Cookie
    return 0
end
go

-- ---- the interpreted ones --------------------------------------------------------------------

create procedure [dbo].[SessionExpire]
    @removed int = 0 output
as
    set nocount on
    set deadlock_priority low

    declare @utc datetime
    set @utc = getutcdate()
    set @removed = 0

    create table #old (Id nvarchar(88) not null primary key)

    insert #old (Id)
        select Id from Session with (snapshot) where Expires < @utc

    if @@rowcount <> 0
    begin
        declare OldOnes cursor local forward_only read_only for select Id from #old
        declare @Id nvarchar(88)
        open OldOnes
        fetch next from OldOnes into @Id
        while @@fetch_status = 0
        begin
            delete from Session where Id = @Id and Expires < @utc
            set @removed = @removed + @@rowcount
            fetch next from OldOnes into @Id
        end
        close OldOnes
        deallocate OldOnes
    end

    drop table #old
return 0
go
create procedure [dbo].[TextHash]
    @input AppPath,
    @hash int output
as
    /* A hash of 32 bits in two halves, since nothing here may overflow an int:
       for every byte, hash = (hash * 33) ^ byte. /* comments nest */ */
    declare @high int, @low int, @carry int, @at int, @end int
    select @high = 0, @low = 5381, @at = 1, @end = datalength(@input)

    while (@at <= @end)
    begin
        set @carry = (@low * 33) & 0x3F0000
        set @high = (@high * 33 + @carry / 0x10000) & 0xFFFF
        set @low = ((@low * 33) & 0xFFFF) ^ ascii(substring(@input, @at, 1))
        set @at += 1
    end

    if (@high & 0x8000 <> 0)
        set @high = 0xFFFF0000 | @high
    set @hash = @high * 0x10000 | @low
    return 0
go
create procedure [dbo].[ServerMajor]
    @@major int output
as
begin
    declare @text nchar(100), @dash int, @dot int
    select @@major = 7
    select @text = @@Version
    select @dash = charindex(N' - ', @text)
    if (not(@dash is null) and @dash > 0)
    begin
        select @dot = charindex(N'.', @text, @dash + 3)
        if (not(@dot is null) and @dot > @dash)
            select @@major = convert(int, substring(@text, @dash + 3, @dot - @dash - 3))
    end
end
go
create procedure [dbo].[AppNumber]
    @path varchar(280), -- AppPath
    @number int output
as
    set @path = lower(@path)
    set @number = null

    select @number = Number from App where Path = @path

    if @number is null begin
        begin tran

        select @number = Number from App with (tablockx) where Path = @path

        if @number is null
        begin
            exec TextHash @path, @number output

            insert App values (@number, @path)

            if @@error = 2627
            begin
                declare @other AppPath
                select @other = rtrim(Path) from App where Number = @number
                raiserror('the applications ''%s'' and ''%s'' have one number', 18, 1, @path, @other)
            end
        end
        commit
    end
return 0
go
create procedure [dbo].[MakeTables]
as
    -- Never works here, since the tables are there: it must compile all the same, and say 2714.
    create table Session (Id nvarchar(88) not null primary key nonclustered hash with (bucket_count = 1024))
    with (memory_optimized = on, durability = schema_only)
return 0
go
