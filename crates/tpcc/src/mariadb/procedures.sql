-- The five transactions as stored procedures, with the steps of ../transact/procedures.sql. An UPDATE of MariaDB returns
-- nothing, so a row that is changed and read is read first, FOR UPDATE.
drop table tpcc_number
go
analyze table tpcc_warehouse, tpcc_district, tpcc_customer, tpcc_history, tpcc_new_orders, tpcc_orders, tpcc_order_line, tpcc_item,
    tpcc_stock
go
create procedure tpcc_new_order(p_w_id int, p_d_id int, p_c_id int, p_lines varchar(200))
whole: begin
    declare v_count int default char_length(p_lines) div 13;
    declare v_line int default 1;
    declare v_local int default 1;
    declare v_now datetime default now();
    declare v_o_id, v_item, v_supply, v_quantity, v_stock int;
    declare v_w_tax, v_d_tax, v_discount decimal(4, 4);
    declare v_last varchar(16);
    declare v_credit char(2);
    declare v_price decimal(5, 2);
    declare v_total decimal(12, 2) default 0;
    declare v_district char(24);
    declare exit handler for sqlexception begin rollback; resignal; end;
    while v_line <= v_count do
        if cast(substring(p_lines, v_line * 13 - 6, 5) as signed) <> p_w_id then set v_local = 0; end if;
        set v_line = v_line + 1;
    end while;
    start transaction;
    select w_tax, c_discount, c_last, c_credit into v_w_tax, v_discount, v_last, v_credit
    from tpcc_warehouse join tpcc_customer on c_w_id = w_id
    where w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
    select d_next_o_id, d_tax into v_o_id, v_d_tax from tpcc_district where d_w_id = p_w_id and d_id = p_d_id for update;
    if v_o_id is null then signal sqlstate '45000' set message_text = 'There is no such warehouse'; end if;
    update tpcc_district set d_next_o_id = v_o_id + 1 where d_w_id = p_w_id and d_id = p_d_id;
    insert into tpcc_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (p_w_id, p_d_id, v_o_id, p_c_id, v_now, null, v_count, v_local);
    insert into tpcc_new_orders (no_w_id, no_d_id, no_o_id) values (p_w_id, p_d_id, v_o_id);
    set v_line = 1;
    while v_line <= v_count do
        set v_item = cast(substring(p_lines, v_line * 13 - 12, 6) as signed);
        set v_supply = cast(substring(p_lines, v_line * 13 - 6, 5) as signed);
        set v_quantity = cast(substring(p_lines, v_line * 13 - 1, 2) as signed);
        set v_price = null;
        select i_price into v_price from tpcc_item where i_id = v_item;
        if v_price is null then
            rollback;
            select 'Item number is not valid' as message, v_last as c_last, v_credit as c_credit, v_o_id as o_id;
            leave whole;
        end if;
        select s_quantity,
            case p_d_id when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
                when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
                else s_dist_10 end
        into v_stock, v_district
        from tpcc_stock where s_w_id = v_supply and s_i_id = v_item for update;
        update tpcc_stock
        set s_quantity = case when v_stock >= v_quantity + 10 then v_stock - v_quantity else v_stock - v_quantity + 91 end,
            s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when v_supply = p_w_id then 0 else 1 end
        where s_w_id = v_supply and s_i_id = v_item;
        insert into tpcc_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
            ol_amount, ol_dist_info)
        values (p_w_id, p_d_id, v_o_id, v_line, v_item, v_supply, null, v_quantity, v_quantity * v_price, v_district);
        set v_total = v_total + v_quantity * v_price;
        set v_line = v_line + 1;
    end while;
    commit;
    select v_o_id as o_id, v_now as o_entry_d, v_last as c_last, v_credit as c_credit, v_discount as c_discount, v_w_tax as w_tax,
        v_d_tax as d_tax, cast(v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax) as decimal(12, 2)) as total;
end
go
create procedure tpcc_payment(p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_c_id int, p_last varchar(16), p_cents int)
begin
    declare v_amount decimal(6, 2) default p_cents * 0.01;
    declare v_c_id int default p_c_id;
    declare v_w_name, v_d_name varchar(10);
    declare v_count int;
    declare v_balance decimal(12, 2);
    declare v_credit char(2);
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    update tpcc_warehouse set w_ytd = w_ytd + v_amount where w_id = p_w_id;
    select w_name into v_w_name from tpcc_warehouse where w_id = p_w_id;
    update tpcc_district set d_ytd = d_ytd + v_amount where d_w_id = p_w_id and d_id = p_d_id;
    select d_name into v_d_name from tpcc_district where d_w_id = p_w_id and d_id = p_d_id;
    if v_c_id is null then
        select count(*) into v_count from tpcc_customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_last;
        set v_count = (v_count + 1) div 2 - 1;
        select c_id into v_c_id from tpcc_customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_last
        order by c_first limit v_count, 1;
    end if;
    update tpcc_customer
    set c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount, c_payment_cnt = c_payment_cnt + 1,
        c_data = case when c_credit = 'BC'
            then left(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ', p_d_id, ' ', p_w_id, ' ', v_amount, ' ', c_data), 500)
            else c_data end
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
    select c_balance, c_credit into v_balance, v_credit
    from tpcc_customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id;
    insert into tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (v_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, now(), v_amount, concat(v_w_name, '    ', v_d_name));
    commit;
    select v_c_id as c_id, v_balance as c_balance, v_credit as c_credit;
end
go
create procedure tpcc_order_status(p_w_id int, p_d_id int, p_c_id int, p_last varchar(16))
begin
    declare v_c_id int default p_c_id;
    declare v_count, v_o_id, v_carrier int;
    declare v_balance decimal(12, 2);
    declare v_entry datetime;
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    if v_c_id is null then
        select count(*) into v_count from tpcc_customer where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_last;
        set v_count = (v_count + 1) div 2 - 1;
        select c_id into v_c_id from tpcc_customer where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_last
        order by c_first limit v_count, 1;
    end if;
    select c_balance into v_balance from tpcc_customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = v_c_id;
    select o_id, o_entry_d, o_carrier_id into v_o_id, v_entry, v_carrier
    from tpcc_orders where o_w_id = p_w_id and o_d_id = p_d_id and o_c_id = v_c_id
    order by o_id desc limit 1;
    select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    from tpcc_order_line where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id = v_o_id;
    commit;
    select v_c_id as c_id, v_balance as c_balance, v_o_id as o_id, v_entry as o_entry_d, v_carrier as o_carrier_id;
end
go
create procedure tpcc_delivery(p_w_id int, p_carrier int)
begin
    declare v_d_id int default 1;
    declare v_delivered int default 0;
    declare v_o_id, v_c_id int;
    declare v_sum decimal(12, 2);
    declare v_now datetime default now();
    declare exit handler for sqlexception begin rollback; resignal; end;
    start transaction;
    while v_d_id <= 10 do
        set v_o_id = null;
        select no_o_id into v_o_id from tpcc_new_orders where no_w_id = p_w_id and no_d_id = v_d_id
        order by no_o_id limit 1 for update;
        if v_o_id is not null then
            delete from tpcc_new_orders where no_w_id = p_w_id and no_d_id = v_d_id and no_o_id = v_o_id;
            select o_c_id into v_c_id from tpcc_orders where o_w_id = p_w_id and o_d_id = v_d_id and o_id = v_o_id for update;
            update tpcc_orders set o_carrier_id = p_carrier where o_w_id = p_w_id and o_d_id = v_d_id and o_id = v_o_id;
            update tpcc_order_line set ol_delivery_d = v_now where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
            select sum(ol_amount) into v_sum from tpcc_order_line
            where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
            update tpcc_customer set c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
            where c_w_id = p_w_id and c_d_id = v_d_id and c_id = v_c_id;
            set v_delivered = v_delivered + 1;
        end if;
        set v_d_id = v_d_id + 1;
    end while;
    commit;
    select v_delivered as delivered;
end
go
create procedure tpcc_stock_level(p_w_id int, p_d_id int, p_threshold int)
begin
    declare v_next int;
    select d_next_o_id into v_next from tpcc_district where d_w_id = p_w_id and d_id = p_d_id;
    select count(distinct s_i_id) as low_stock
    from tpcc_order_line join tpcc_stock on s_w_id = ol_w_id and s_i_id = ol_i_id
    where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id >= v_next - 20 and ol_o_id < v_next
        and s_quantity < p_threshold;
end
