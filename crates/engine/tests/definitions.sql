EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'max degree of parallelism', 3; RECONFIGURE
GO
CREATE LOGIN clerk WITH PASSWORD = 'Some-word-1', CHECK_POLICY = ON, DEFAULT_DATABASE = master;
GO
ALTER SERVER ROLE dbcreator ADD MEMBER clerk; GRANT VIEW SERVER STATE TO clerk; ALTER LOGIN sa DISABLE;
GO
EXEC sp_addmessage 50010, 16, N'The order %d is unknown.';
GO
CREATE EVENT SESSION watch ON SERVER ADD EVENT sqlserver.sql_batch_completed (SET collect_batch_text = (0) ACTION (sqlserver.session_id, package0.callstack) WHERE ([duration] > (1000) AND (sqlserver.database_name = N'x' OR NOT [row_count] = (2)))), ADD EVENT sqlos.wait_completed (WHERE ([wait_type] = N'LCK_M_S')) ADD TARGET package0.ring_buffer (SET max_memory = (512)) WITH (MAX_MEMORY = 2048 KB, TRACK_CAUSALITY = ON);
GO
CREATE TRIGGER on_login ON ALL SERVER FOR CREATE_LOGIN AS PRINT 'a login';
GO
CREATE DATABASE shop COLLATE Latin1_General_100_CS_AS;
GO
ALTER DATABASE shop SET RECOVERY SIMPLE; ALTER DATABASE shop SET ANSI_NULL_DEFAULT ON
GO
USE shop; ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2;
GO
USE shop; EXEC('CREATE SCHEMA sales'); CREATE USER clerk FOR LOGIN clerk WITH DEFAULT_SCHEMA = sales; CREATE ROLE readers; ALTER ROLE readers ADD MEMBER clerk;
GO
USE shop; CREATE TYPE dbo.code FROM varchar(12) NOT NULL; CREATE TYPE dbo.lines AS TABLE (line int NOT NULL PRIMARY KEY, amount decimal(9, 2) DEFAULT (1.5), CHECK (amount > 0));
GO
USE shop; CREATE SEQUENCE sales.numbers AS int START WITH 10 INCREMENT BY 5 MINVALUE 10 MAXVALUE 100 CYCLE CACHE 3;
GO
USE shop; CREATE TABLE sales.customers (
    id int IDENTITY(100, 10) NOT FOR REPLICATION CONSTRAINT customers_key PRIMARY KEY,
    name nvarchar(40) COLLATE Latin1_General_CI_AS NOT NULL,
    code dbo.code,
    born date NULL, letter nchar(3) SPARSE NULL, tag uniqueidentifier ROWGUIDCOL DEFAULT NEWSEQUENTIALID(),
    number int DEFAULT (NEXT VALUE FOR sales.numbers),
    v rowversion, x xml NULL, any_value sql_variant NULL,
    full_name AS (CASE WHEN born BETWEEN '1900-01-01' AND '2000-01-01' THEN UPPER(name) ELSE name + N'''s' END) PERSISTED,
    twice AS number * 2,
    CONSTRAINT name_length CHECK (LEN(name) IN (1, 2, 3) OR name LIKE '[A-Z]%' AND NOT (number + 1) * 2 = 7),
    INDEX by_name NONCLUSTERED (name DESC) INCLUDE (born) WHERE born IS NOT NULL AND number IN (1, 2) WITH (FILLFACTOR = 80, IGNORE_DUP_KEY = OFF));
GO
USE shop; CREATE UNIQUE INDEX by_code ON sales.customers (code) WHERE code > 'a'; CREATE STATISTICS of_born ON sales.customers (born, name) WITH NORECOMPUTE;
GO
USE shop; SET QUOTED_IDENTIFIER OFF; CREATE TABLE sales.quoted (a varchar(20) DEFAULT "text", CHECK (a <> "it's"));
GO
USE shop; SET QUOTED_IDENTIFIER ON; CREATE TABLE sales.orders (id bigint PRIMARY KEY, customer int NOT NULL CONSTRAINT of_customer REFERENCES sales.customers (id) ON DELETE CASCADE, parent bigint REFERENCES sales.orders, amount money); ALTER TABLE sales.orders NOCHECK CONSTRAINT of_customer;
GO
USE shop; CREATE TABLE sales.hot (id int NOT NULL PRIMARY KEY NONCLUSTERED HASH WITH (BUCKET_COUNT = 2000), n int INDEX by_n) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_ONLY);
GO
USE shop; CREATE TABLE sales.facts (id int, n int, INDEX c CLUSTERED COLUMNSTORE); CREATE TABLE sales.wide (id int PRIMARY KEY, n int); CREATE NONCLUSTERED COLUMNSTORE INDEX cols ON sales.wide (n);
GO
USE shop; CREATE TABLE sales.prices (id int PRIMARY KEY, price money, a datetime2(3) GENERATED ALWAYS AS ROW START HIDDEN NOT NULL, b datetime2(3) GENERATED ALWAYS AS ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (a, b)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = sales.old_prices));
GO
CREATE VIEW sales.names WITH SCHEMABINDING AS SELECT id, name FROM sales.customers
GO
CREATE TRIGGER sales.instead ON sales.names INSTEAD OF INSERT AS PRINT 'no'
GO
CREATE TRIGGER sales.after_order ON sales.orders AFTER INSERT, UPDATE AS SET NOCOUNT ON; SELECT COUNT(*) FROM inserted;
GO
DISABLE TRIGGER sales.after_order ON sales.orders
GO
-- A comment before the text.
CREATE OR ALTER PROCEDURE sales.add_lines @lines dbo.lines READONLY, @note nvarchar(20) = N'none', @sum money OUTPUT WITH EXECUTE AS OWNER AS
BEGIN
    SELECT @sum = SUM(amount) FROM @lines;
    SELECT @note AS [a "note"];
END
GO
CREATE FUNCTION sales.half (@n decimal(9, 2)) RETURNS decimal(9, 2) WITH RETURNS NULL ON NULL INPUT AS BEGIN RETURN @n / 2 END
GO
CREATE FUNCTION sales.of_customer (@id int) RETURNS TABLE AS RETURN SELECT id, amount FROM sales.orders WHERE customer = @id
GO
CREATE FUNCTION sales.series (@n int) RETURNS @t TABLE (n int PRIMARY KEY, note varchar(9) DEFAULT ('no' + 'ne'), CHECK (n BETWEEN 0 AND 1000)) AS BEGIN INSERT @t (n) VALUES (@n); RETURN END
GO
CREATE TRIGGER on_table ON DATABASE FOR CREATE_TABLE AS PRINT 'a table'
GO
CREATE SYNONYM sales.clients FOR shop.sales.customers
GO
EXEC sys.sp_addextendedproperty N'MS_Description', N'All customers', N'SCHEMA', N'sales', N'TABLE', N'customers', N'COLUMN', N'name'
GO
GRANT SELECT, UPDATE ON sales.customers (name, born) TO readers WITH GRANT OPTION; DENY EXECUTE ON SCHEMA::sales TO clerk; GRANT CREATE TABLE TO clerk
GO
ALTER AUTHORIZATION ON sales.wide TO clerk
GO
CREATE EXTERNAL DATA SOURCE lake WITH (LOCATION = 'file:///lake'); CREATE EXTERNAL FILE FORMAT small WITH (FORMAT_TYPE = PARQUET, DATA_COMPRESSION = 'org.apache.hadoop.io.compress.SnappyCodec')
GO
USE msdb; CREATE TABLE dbo.jobs (id int)
