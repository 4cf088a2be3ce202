-- The rows of warehouse {w}: clause 4.3.3. The scripts of the other servers make the same rows.
insert dbo.tpcc_warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd)
values ({w}, 'house{w}', 'first street', 'second street', 'city', 'st', '123411111', {w} * 7 % 2001 * 0.0001, 300000)
insert dbo.tpcc_district (d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id)
select {w}, n, concat('dist', n), 'first street', 'second street', 'city', 'st', '123411111',
    (drawn + {w}) % 2001 * 0.0001, 30000, {next_order}
from dbo.tpcc_number where n <= 10
go
insert dbo.tpcc_stock (s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
    s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data)
select {w}, n, 10 + (drawn + {w}) % 91, replicate('1', 24), replicate('2', 24), replicate('3', 24), replicate('4', 24),
    replicate('5', 24), replicate('6', 24), replicate('7', 24), replicate('8', 24), replicate('9', 24), replicate('0', 24), 0, 0, 0,
    case when (drawn + {w}) % 10 = 0 then concat(replicate('d', drawn % 29), 'ORIGINAL', replicate('e', 13))
        else replicate('d', 26 + drawn % 25) end
from dbo.tpcc_number where n <= {items}
go
-- The first thousand of a district have the thousand last names, the others those that NURand(255, 0, 999) makes of C = 100.
insert dbo.tpcc_customer (c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
    c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data)
select {w}, d, c, concat('first', drawn % 1000000), 'OE',
    concat(rtrim(substring('BAR  OUGHTABLE PRI  PRES ESE  ANTI CALLYATIONEING ', name / 100 * 5 + 1, 5)),
        rtrim(substring('BAR  OUGHTABLE PRI  PRES ESE  ANTI CALLYATIONEING ', name / 10 % 10 * 5 + 1, 5)),
        rtrim(substring('BAR  OUGHTABLE PRI  PRES ESE  ANTI CALLYATIONEING ', name % 10 * 5 + 1, 5))),
    'first street', 'second street', 'city', 'st', '123411111', '0123456789012345', getdate(),
    case when drawn % 10 = 0 then 'BC' else 'GC' end, 50000, drawn % 5001 * 0.0001, -10, 10, 1, 0,
    replicate('c', 300 + drawn % 201)
from
(
    select 1 + (n - 1) / {customers} as d, 1 + (n - 1) % {customers} as c, drawn,
        case when (n - 1) % {customers} < 1000 then (n - 1) % {customers}
            else cast((drawn % 256 | drawn / 256 % 1000) + 100 as int) % 1000 end as name
    from dbo.tpcc_number where n <= {all_customers}
) customers
go
insert dbo.tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
select 1 + (n - 1) % {customers}, 1 + (n - 1) / {customers}, {w}, 1 + (n - 1) / {customers}, {w}, getdate(), 10, 'house{w}    district'
from dbo.tpcc_number where n <= {all_customers}
go
-- Each customer has one order, in an order of its own; the last 900 of a district are not delivered yet.
insert dbo.tpcc_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
select {w}, 1 + (n - 1) / {customers}, 1 + (n - 1) % {customers}, 1 + ((n - 1) % {customers} * 1871 + {w} * 7) % {customers}, getdate(),
    case when (n - 1) % {customers} < {delivered} then 1 + drawn % 10 end, 5 + drawn % 11, 1
from dbo.tpcc_number where n <= {all_customers}
insert dbo.tpcc_new_orders (no_w_id, no_d_id, no_o_id)
select o_w_id, o_d_id, o_id from dbo.tpcc_orders where o_w_id = {w} and o_id > {delivered}
go
insert dbo.tpcc_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount,
    ol_dist_info)
select o_w_id, o_d_id, o_id, n, 1 + (o_id * 7919 + o_d_id * 104729 + n * 1299709) % {items}, o_w_id,
    case when o_id <= {delivered} then o_entry_d end, 5, case when o_id <= {delivered} then 0 else (drawn * o_id % 999999 + 1) * 0.01 end,
    replicate('i', 24)
from dbo.tpcc_orders join dbo.tpcc_number on n <= o_ol_cnt
where o_w_id = {w} and n <= 15
go
