-- A queue in a table: some put, as many take what is oldest.
drop table if exists dbo.stress_queue
go
create table dbo.stress_queue
(
    id bigint identity primary key,
    payload varbinary(500) not null
)
