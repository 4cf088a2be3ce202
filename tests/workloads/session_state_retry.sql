-- The second variant of session_state.sql, run after it: callers that see no conflict, because each
-- procedure retries inside the server. A conflict dooms the transaction; anything else is passed on.
use [WebSessions]
go
create procedure [dbo].[SessionRead_Retry]
    @Id SessionKey,
    @Held bit output,
    @Age int output,
    @Cookie int output,
    @Todo int output
as
    declare @item as ItemBody, @utc as datetime
    set @utc = getutcdate()
    declare @left int = 10;

    while (@left > 0)
    begin
        begin try
            begin transaction;
                update Session
                set Expires = dateadd(n, Minutes, @utc),
                    @Held = Held,
                    @Age = datediff(second, LockedAt, @utc),
                    @Cookie = Cookie,
                    @item = case @Held when 0 then Large else null end,
                    Flags = case when (Flags & 1) <> 0 then (Flags & ~1) else Flags end,
                    @Todo = case when (Flags & 1) <> 0 then 1 else 0 end
                where Id = @Id
                if @item is not null begin
                    select @item
                end
            commit transaction;
            set @left = 0; -- leaves the loop
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1
                    rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else
            begin
                print 'An error that no retry mends.';
                throw;
            end
        end catch
    end
    return 0
go
create procedure [dbo].[SessionLock_Retry]
    @Id nvarchar(88),
    @Held bit output,
    @Age int output,
    @Cookie int output,
    @Todo int output
as
begin
    declare @left int = 10;
    while (@left > 0)
    begin
        begin try
            begin transaction;
                exec dbo.SessionLock
                    @Id,
                    @Held = @Held output,
                    @Age = @Age output,
                    @Cookie = @Cookie output,
                    @Todo = @Todo output
            commit transaction;
            set @left = 0;
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1
                    rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else
            begin
                print 'An error that no retry mends.';
                throw;
            end
        end catch
    end
end;
go
create procedure [dbo].[SessionCreate_Retry]
    @Id nvarchar(88),
    @Minutes int,
    @Item image -- LargeItem
as
    declare @left int = 10;
    while (@left > 0)
    begin
        begin try
            begin transaction;
                insert Session (Id, Large, Minutes, Expires, Held, LockedAt, LockedAtLocal, Cookie)
                values (@Id, @Item, @Minutes, dateadd(n, @Minutes, getutcdate()), 0, getutcdate(), getdate(), 1)
            commit transaction;
            set @left = 0;
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1 rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else
            begin
                if xact_state() <> 0 rollback transaction;
                throw;
            end
        end catch
    end
    return 0
go
create procedure [dbo].[SessionStart_Retry] @Id nvarchar(88), @Minutes int, @Item varbinary(max)
as
    declare @left int = 10;
    while (@left > 0)
    begin
        begin try
            begin transaction;
                exec dbo.SessionStart @Id, @Minutes, @Item
            commit transaction;
            set @left = 0;
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1 rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else
            begin
                if xact_state() <> 0 rollback transaction;
                throw;
            end
        end catch
    end
    return 0
go
create procedure [dbo].[SessionSave_Retry] @Id nvarchar(88), @Cookie int, @Minutes int, @Item varbinary(max)
as
    declare @left int = 10;
    while (@left > 0)
    begin
        begin try
            begin transaction;
                exec dbo.SessionSave @Id, @Cookie, @Minutes, @Item
            commit transaction;
            set @left = 0;
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1 rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else throw;
        end catch
    end
    return 0
go
create procedure [dbo].[SessionRelease_Retry] @Id nvarchar(88), @Cookie int
as
    declare @left int = 10;
    while (@left > 0)
    begin
        begin try
            begin transaction;
                update Session
                set Expires = dateadd(n, Minutes, getutcdate()), Held = 0
                where Id = @Id and Cookie = @Cookie
            commit transaction;
            set @left = 0;
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1 rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else throw;
        end catch
    end
    return 0
go
create procedure [dbo].[SessionTouch_Retry] @Id nvarchar(88)
as
    declare @left int = 10;
    while (@left > 0)
    begin
        begin try
            begin transaction;
                update Session set Expires = dateadd(n, Minutes, getutcdate()) where Id = @Id
            commit transaction;
            set @left = 0;
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1 rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else throw;
        end catch
    end
    return 0
go
create procedure [dbo].[SessionRemove_Retry] @Id nvarchar(88), @Cookie int
as
    declare @left int = 10;
    while (@left > 0)
    begin
        begin try
            begin transaction;
                delete Session where Id = @Id and Cookie = @Cookie
            commit transaction;
            set @left = 0;
        end try
        begin catch
            set @left -= 1;
            if (@left > 0 and error_number() in (41302, 41305, 41325, 41301, 41839, 1205))
            begin
                if xact_state() = -1 rollback transaction;
                waitfor delay '00:00:00.001';
            end
            else throw;
        end catch
    end
    return 0
go
