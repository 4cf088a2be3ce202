-- A database with an object of each kind that SQL Server Management Objects script and DacFx packages, for test_sqltools.py.
-- Left out: rows of a temporal table, which SMO scripts with its period.
IF DB_ID('kinds') IS NOT NULL DROP DATABASE kinds
GO
IF SUSER_ID('kinds_login') IS NOT NULL DROP LOGIN kinds_login
GO
CREATE DATABASE kinds
GO
ALTER DATABASE kinds SET READ_COMMITTED_SNAPSHOT ON
GO
USE kinds
GO
CREATE LOGIN kinds_login WITH PASSWORD = 'Str0ng-pass!x', CHECK_POLICY = OFF
GO
CREATE USER kinds_user FOR LOGIN kinds_login
GO
CREATE USER no_login WITHOUT LOGIN
GO
CREATE ROLE readers AUTHORIZATION dbo
GO
ALTER ROLE readers ADD MEMBER kinds_user
GO
ALTER ROLE db_datareader ADD MEMBER readers
GO
CREATE SCHEMA sales AUTHORIZATION dbo
GO
CREATE TYPE sales.phone FROM varchar(20) NOT NULL
GO
CREATE TYPE dbo.money4 FROM decimal(12,4) NULL
GO
CREATE TYPE sales.lines AS TABLE (
  id int IDENTITY(1, 1) NOT NULL PRIMARY KEY CLUSTERED,
  phone sales.phone NOT NULL,
  amount dbo.money4 NULL DEFAULT (0) CHECK (amount >= 0),
  twice AS (amount * 2),
  note nvarchar(50) COLLATE Latin1_General_BIN2 NULL,
  UNIQUE NONCLUSTERED (phone, amount DESC),
  INDEX ix_note NONCLUSTERED (note)
)
GO
CREATE TYPE dbo.pairs AS TABLE (a int NOT NULL, b int NOT NULL, PRIMARY KEY NONCLUSTERED (a, b))
GO
CREATE PROCEDURE sales.add_lines @lines sales.lines READONLY AS SELECT COUNT(*) AS n FROM @lines
GO
CREATE SEQUENCE sales.numbers AS bigint START WITH 100 INCREMENT BY 5 MINVALUE 100 MAXVALUE 100000 CYCLE CACHE 20
GO
CREATE SEQUENCE dbo.plain_sequence AS int
GO
CREATE PARTITION FUNCTION pf_year (date) AS RANGE RIGHT FOR VALUES ('2024-01-01', '2025-01-01')
GO
CREATE PARTITION SCHEME ps_year AS PARTITION pf_year ALL TO ([PRIMARY])
GO
CREATE TABLE sales.customers (
  id int IDENTITY(10, 2) NOT NULL,
  code char(8) NOT NULL CONSTRAINT uq_code UNIQUE,
  name nvarchar(100) NOT NULL,
  phone sales.phone,
  balance dbo.money4 NULL CONSTRAINT df_balance DEFAULT (0),
  born date NULL,
  score AS (balance * 2) PERSISTED,
  label AS (code + ' ' + name),
  guid uniqueidentifier ROWGUIDCOL NOT NULL DEFAULT NEWSEQUENTIALID(),
  number bigint NOT NULL CONSTRAINT df_number DEFAULT (NEXT VALUE FOR sales.numbers),
  note varchar(max) COLLATE Latin1_General_BIN2 NULL,
  stamp rowversion,
  CONSTRAINT pk_customers PRIMARY KEY CLUSTERED (id),
  CONSTRAINT ck_born CHECK (born > '1900-01-01')
)
GO
CREATE UNIQUE NONCLUSTERED INDEX ix_name ON sales.customers (name DESC, id) INCLUDE (born) WHERE (born IS NOT NULL) WITH (FILLFACTOR = 80, PAD_INDEX = ON)
GO
CREATE STATISTICS st_born ON sales.customers (born, name)
GO
CREATE TABLE sales.orders (
  id bigint NOT NULL,
  placed date NOT NULL,
  customer int NOT NULL,
  total money NOT NULL,
  CONSTRAINT pk_orders PRIMARY KEY CLUSTERED (placed, id),
  CONSTRAINT fk_customer FOREIGN KEY (customer) REFERENCES sales.customers (id) ON DELETE CASCADE ON UPDATE NO ACTION
) ON ps_year (placed)
GO
CREATE NONCLUSTERED INDEX ix_orders_customer ON sales.orders (customer) ON ps_year (placed)
GO
CREATE TABLE dbo.nodes (id int NOT NULL PRIMARY KEY, parent int NULL, CONSTRAINT fk_parent FOREIGN KEY (parent) REFERENCES dbo.nodes (id))
GO
ALTER TABLE dbo.nodes NOCHECK CONSTRAINT fk_parent
GO
CREATE TABLE dbo.history_of (id int NOT NULL PRIMARY KEY CLUSTERED, v nvarchar(20) NULL,
  valid_from datetime2(7) GENERATED ALWAYS AS ROW START NOT NULL, valid_to datetime2(7) GENERATED ALWAYS AS ROW END NOT NULL,
  PERIOD FOR SYSTEM_TIME (valid_from, valid_to)) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.history_of_history))
GO
CREATE TABLE dbo.facts (k int NOT NULL, d date NOT NULL, v float NULL, INDEX cci CLUSTERED COLUMNSTORE)
GO
CREATE TABLE dbo.mixed (k int NOT NULL PRIMARY KEY, a int, b int)
GO
CREATE NONCLUSTERED COLUMNSTORE INDEX ncci ON dbo.mixed (a, b)
GO
CREATE TABLE dbo.heap (a int NULL, s int SPARSE NULL, x xml NULL, v sql_variant NULL) WITH (DATA_COMPRESSION = PAGE)
GO
CREATE TABLE dbo.types (
 c1 bigint, c2 binary(5), c3 bit, c4 char(3), c5 date, c6 datetime, c7 datetime2(3), c8 datetimeoffset(4), c9 decimal(20,5), c10 float, c11 image, c12 int, c13 money,
 c14 nchar(4), c15 ntext, c16 numeric(9,2), c17 nvarchar(50), c18 nvarchar(max), c19 real, c20 smalldatetime, c21 smallint, c22 smallmoney, c23 sql_variant, c24 text,
 c25 time(2), c26 tinyint, c27 uniqueidentifier, c28 varbinary(10), c29 varbinary(max), c30 varchar(7), c31 varchar(max), c32 xml, c33 sysname, c34 float(24))
GO
INSERT dbo.types VALUES (1, 0x01, 1, 'abc', '2024-01-02', '2024-01-02T03:04:05.123', '2024-01-02T03:04:05.123', '2024-01-02T03:04:05.1234+02:00', 12.34567, 1.5e10, 0x0102, -5, 12.34,
 N'äöü', N'long', 1.25, N'it''s', N'max', 1.5, '2024-01-02T03:04', 3, 1.5, CAST(5 AS bigint), 'text', '10:11:12.34', 255, '6F9619FF-8B86-D011-B42D-00C04FC964FF', 0xFF, 0x00FF, 'v', 'vm', '<a b="1">x</a>', N'sys', 2.5)
GO
INSERT dbo.types (c33) VALUES (N'nulls')
GO
INSERT sales.customers (code, name, phone, balance, born) VALUES ('C1', N'Anna', '123', 10, '1980-01-01'), ('C2', N'Bert', '456', NULL, NULL)
GO
INSERT sales.orders VALUES (1, '2023-05-05', 10, 5), (2, '2024-06-06', 12, 6), (3, '2025-07-07', 10, 7)
GO
INSERT dbo.facts VALUES (1, '2024-01-01', 1.5), (2, '2024-01-02', NULL)
GO
CREATE VIEW sales.big_customers WITH SCHEMABINDING AS SELECT id, name, balance FROM sales.customers WHERE balance > 5
GO
CREATE VIEW sales.counted WITH SCHEMABINDING AS SELECT customer, COUNT_BIG(*) AS n FROM sales.orders GROUP BY customer
GO
CREATE FUNCTION dbo.twice (@a int, @b int = 5) RETURNS int WITH SCHEMABINDING AS BEGIN RETURN @a * 2 + @b END
GO
CREATE FUNCTION sales.orders_of (@customer int) RETURNS TABLE AS RETURN SELECT id, total FROM sales.orders WHERE customer = @customer
GO
CREATE FUNCTION dbo.listed (@n int) RETURNS @t TABLE (i int NOT NULL PRIMARY KEY, t nvarchar(20) DEFAULT N'x') AS BEGIN INSERT @t (i) VALUES (@n); RETURN END
GO
CREATE PROCEDURE sales.place @customer int, @total money = 1.5, @id bigint OUTPUT WITH EXECUTE AS OWNER AS
BEGIN SET NOCOUNT ON; SET @id = (SELECT COUNT(*) FROM sales.orders) END
GO
CREATE PROCEDURE dbo.hidden AS SELECT 1 AS a
GO
CREATE TRIGGER sales.after_order ON sales.orders AFTER INSERT, UPDATE AS BEGIN SET NOCOUNT ON; IF UPDATE(total) PRINT 'total' END
GO
CREATE TRIGGER sales.instead_of ON sales.big_customers INSTEAD OF DELETE AS SELECT 1 AS a
GO
DISABLE TRIGGER sales.after_order ON sales.orders
GO
CREATE TRIGGER on_tables ON DATABASE FOR CREATE_TABLE, DROP_TABLE AS PRINT 'table'
GO
CREATE SYNONYM dbo.cust FOR sales.customers
GO
GRANT SELECT ON sales.customers TO readers
GO
GRANT UPDATE ON sales.customers (name, phone) TO kinds_user WITH GRANT OPTION
GO
DENY DELETE ON SCHEMA::sales TO readers
GO
GRANT VIEW DEFINITION TO kinds_user
GO
EXEC sys.sp_addextendedproperty N'MS_Description', N'a database'
GO
EXEC sys.sp_addextendedproperty N'MS_Description', N'the customers', N'SCHEMA', N'sales', N'TABLE', N'customers'
GO
EXEC sys.sp_addextendedproperty N'MS_Description', N'its name', N'SCHEMA', N'sales', N'TABLE', N'customers', N'COLUMN', N'name'
GO
EXEC sys.sp_addextendedproperty N'about', N'places', N'SCHEMA', N'sales', N'PROCEDURE', N'place'
GO
EXEC sys.sp_addextendedproperty N'about', N'parameter', N'SCHEMA', N'sales', N'PROCEDURE', N'place', N'PARAMETER', N'@total'
GO
EXEC sys.sp_addextendedproperty N'about', N'index', N'SCHEMA', N'sales', N'TABLE', N'customers', N'INDEX', N'ix_name'
GO
EXEC sys.sp_addextendedproperty N'about', N'constraint', N'SCHEMA', N'sales', N'TABLE', N'customers', N'CONSTRAINT', N'ck_born'
GO
EXEC sys.sp_addextendedproperty N'about', N'user', N'USER', N'kinds_user'
GO
EXEC sys.sp_addextendedproperty N'about', N'type', N'SCHEMA', N'sales', N'TYPE', N'phone'
GO
CREATE TABLE dbo.mem (id int NOT NULL PRIMARY KEY NONCLUSTERED HASH WITH (BUCKET_COUNT = 1024), v nvarchar(20) NULL, INDEX ix_v NONCLUSTERED (v)) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = SCHEMA_AND_DATA)
GO
