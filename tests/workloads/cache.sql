-- A distributed cache in one table: an installation and seven statements, each sent by itself with
-- parameters through sp_executesql. A line `-- name:` opens a statement.

-- name: install-table
create table [dbo].[CacheEntry](Id nvarchar(449) collate SQL_Latin1_General_CP1_CS_AS not null, Body varbinary(MAX) not null, GoneAt datetimeoffset not null, SlideSeconds bigint null,LastAt datetimeoffset null, primary key (Id))

-- name: install-index
create nonclustered index ix_GoneAt on [dbo].[CacheEntry](GoneAt)

-- name: look
select TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.TABLES where TABLE_SCHEMA = 'dbo' and TABLE_NAME = 'CacheEntry'

-- name: get
update [dbo].[CacheEntry] set GoneAt = (case when datediff(second, @Now, LastAt) <= SlideSeconds then LastAt else dateadd(second, SlideSeconds, @Now) end) where Id = @Id and @Now <= GoneAt and SlideSeconds is not null and (LastAt is null or LastAt <> GoneAt) ;select Body from [dbo].[CacheEntry] where Id = @Id and @Now <= GoneAt;

-- name: slide
update [dbo].[CacheEntry] set GoneAt = (case when datediff(second, @Now, LastAt) <= SlideSeconds then LastAt else dateadd(second, SlideSeconds, @Now) end) where Id = @Id and @Now <= GoneAt and SlideSeconds is not null and (LastAt is null or LastAt <> GoneAt) ;

-- name: set
declare @GoneAt datetimeoffset; set @GoneAt = (case when (@Slide is NULl) then @Last else dateadd(second, convert(bigint, @Slide), @Now) end);update [dbo].[CacheEntry] set Body = @Body, GoneAt = @GoneAt,SlideSeconds = @Slide, LastAt = @Last where Id = @Id if (@@rowcount = 0) begin insert into [dbo].[CacheEntry] (Id, Body, GoneAt, SlideSeconds, LastAt) values (@Id, @Body, @GoneAt, @Slide, @Last); end

-- name: drop
delete from [dbo].[CacheEntry] where Id = @Id

-- name: sweep
delete from [dbo].[CacheEntry] where @Now > GoneAt

-- name: count
select count(*) from [dbo].[CacheEntry]
