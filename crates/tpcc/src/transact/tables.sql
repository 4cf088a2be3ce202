-- The nine tables of TPC-C (specification 5.11, clause 1.3), and the rows that belong to no warehouse.
drop procedure if exists dbo.tpcc_new_order, dbo.tpcc_payment, dbo.tpcc_order_status, dbo.tpcc_delivery, dbo.tpcc_stock_level
drop table if exists dbo.tpcc_order_line, dbo.tpcc_new_orders, dbo.tpcc_orders, dbo.tpcc_history, dbo.tpcc_customer,
    dbo.tpcc_district, dbo.tpcc_stock, dbo.tpcc_item, dbo.tpcc_warehouse, dbo.tpcc_number
go
create table dbo.tpcc_warehouse
(
    w_id int not null primary key,
    w_name varchar(10) not null, w_street_1 varchar(20) not null, w_street_2 varchar(20) not null,
    w_city varchar(20) not null, w_state char(2) not null, w_zip char(9) not null,
    w_tax decimal(4, 4) not null, w_ytd decimal(12, 2) not null
)
create table dbo.tpcc_district
(
    d_w_id int not null, d_id int not null,
    d_name varchar(10) not null, d_street_1 varchar(20) not null, d_street_2 varchar(20) not null,
    d_city varchar(20) not null, d_state char(2) not null, d_zip char(9) not null,
    d_tax decimal(4, 4) not null, d_ytd decimal(12, 2) not null, d_next_o_id int not null,
    primary key (d_w_id, d_id)
)
create table dbo.tpcc_customer
(
    c_w_id int not null, c_d_id int not null, c_id int not null,
    c_first varchar(16) not null, c_middle char(2) not null, c_last varchar(16) not null,
    c_street_1 varchar(20) not null, c_street_2 varchar(20) not null, c_city varchar(20) not null,
    c_state char(2) not null, c_zip char(9) not null, c_phone char(16) not null, c_since datetime not null,
    c_credit char(2) not null, c_credit_lim decimal(12, 2) not null, c_discount decimal(4, 4) not null,
    c_balance decimal(12, 2) not null, c_ytd_payment decimal(12, 2) not null,
    c_payment_cnt int not null, c_delivery_cnt int not null, c_data varchar(500) not null,
    primary key (c_w_id, c_d_id, c_id)
)
create table dbo.tpcc_history
(
    h_c_id int not null, h_c_d_id int not null, h_c_w_id int not null, h_d_id int not null, h_w_id int not null,
    h_date datetime not null, h_amount decimal(6, 2) not null, h_data varchar(24) not null
)
create table dbo.tpcc_new_orders
(
    no_w_id int not null, no_d_id int not null, no_o_id int not null,
    primary key (no_w_id, no_d_id, no_o_id)
)
create table dbo.tpcc_orders
(
    o_w_id int not null, o_d_id int not null, o_id int not null, o_c_id int not null, o_entry_d datetime not null,
    o_carrier_id int null, o_ol_cnt int not null, o_all_local int not null,
    primary key (o_w_id, o_d_id, o_id)
)
create table dbo.tpcc_order_line
(
    ol_w_id int not null, ol_d_id int not null, ol_o_id int not null, ol_number int not null, ol_i_id int not null,
    ol_supply_w_id int not null, ol_delivery_d datetime null, ol_quantity int not null,
    ol_amount decimal(6, 2) not null, ol_dist_info char(24) not null,
    primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)
)
create table dbo.tpcc_item
(
    i_id int not null primary key, i_im_id int not null, i_name varchar(24) not null,
    i_price decimal(5, 2) not null, i_data varchar(50) not null
)
create table dbo.tpcc_stock
(
    s_w_id int not null, s_i_id int not null, s_quantity int not null,
    s_dist_01 char(24) not null, s_dist_02 char(24) not null, s_dist_03 char(24) not null, s_dist_04 char(24) not null,
    s_dist_05 char(24) not null, s_dist_06 char(24) not null, s_dist_07 char(24) not null, s_dist_08 char(24) not null,
    s_dist_09 char(24) not null, s_dist_10 char(24) not null,
    s_ytd int not null, s_order_cnt int not null, s_remote_cnt int not null, s_data varchar(50) not null,
    primary key (s_w_id, s_i_id)
)
go
create index tpcc_customer_by_name on dbo.tpcc_customer (c_w_id, c_d_id, c_last, c_first)
create index tpcc_orders_by_customer on dbo.tpcc_orders (o_w_id, o_d_id, o_c_id, o_id)
go
-- Numbers, and one that looks drawn for each of them: the rows below are the same wherever they are made.
create table dbo.tpcc_number (n int not null primary key, drawn bigint not null)
go
with digits (n) as (select n from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) d (n)),
numbers (n) as
(
    select a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 1
    from digits a cross join digits b cross join digits c cross join digits d cross join digits e
)
insert dbo.tpcc_number (n, drawn)
select n, (cast(n as bigint) * 48271 % 2147483647) * (n % 1009 + 7) % 2147483647 from numbers where n <= {numbers}
go
insert dbo.tpcc_item (i_id, i_im_id, i_name, i_price, i_data)
select n, 1 + drawn % 10000, concat('item', replicate('n', drawn % 11), n), 1 + drawn % 9900 * 0.01,
    case when drawn % 10 = 0 then concat(replicate('d', drawn % 29), 'ORIGINAL', replicate('e', 13))
        else replicate('d', 26 + drawn % 25) end
from dbo.tpcc_number where n <= {items}
go
