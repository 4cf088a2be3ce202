-- Procedures, functions, triggers, views.
CREATE PROCEDURE dbo.GetItem
    @id tSessionId,
    @item varbinary(7000) OUTPUT,
    @locked bit OUT,
    @default int = 5, @negative int = -1, @word varchar(10) = abc, @null AS int = NULL,
    @tvp dbo.tt READONLY, @@ver int OUTPUT
AS
    DECLARE @now datetime
    SET @now = GETUTCDATE()
    UPDATE Sessions SET Expires = DATEADD(n, Timeout, @now), @locked = Locked, @item = CASE @locked WHEN 0 THEN Item ELSE NULL END WHERE SessionId = @id
    IF @item IS NOT NULL SELECT @item
    RETURN 0
