-- The five transactions as functions in PL/pgSQL, with the steps of ../transact/procedures.sql. A call is a transaction.
drop table tpcc_number
go
vacuum analyze
go
-- An item that does not exist fails the call, which undoes all of it.
create function tpcc_new_order(p_w_id int, p_d_id int, p_c_id int, p_lines text, out r_o_id int, out r_entry_d timestamp,
    out r_last varchar, out r_credit varchar, out r_discount numeric, out r_w_tax numeric, out r_d_tax numeric, out r_total numeric)
language plpgsql as $$
declare
    v_count int := length(p_lines) / 13;
    v_local int := 1;
    v_item int;
    v_supply int;
    v_quantity int;
    v_price numeric(5, 2);
    v_district char(24);
begin
    r_total := 0;
    r_entry_d := localtimestamp;
    for v_line in 1 .. v_count loop
        if substring(p_lines, v_line * 13 - 6, 5)::int <> p_w_id then v_local := 0; end if;
    end loop;
    select w_tax, c_discount, c_last, c_credit into r_w_tax, r_discount, r_last, r_credit
    from tpcc_warehouse join tpcc_customer on c_w_id = w_id
    where w_id = p_w_id and c_d_id = p_d_id and c_id = p_c_id;
    update tpcc_district set d_next_o_id = d_next_o_id + 1 where d_w_id = p_w_id and d_id = p_d_id
    returning d_next_o_id - 1, d_tax into r_o_id, r_d_tax;
    if r_o_id is null then raise exception 'There is no warehouse %', p_w_id; end if;
    insert into tpcc_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (p_w_id, p_d_id, r_o_id, p_c_id, r_entry_d, null, v_count, v_local);
    insert into tpcc_new_orders (no_w_id, no_d_id, no_o_id) values (p_w_id, p_d_id, r_o_id);
    for v_line in 1 .. v_count loop
        v_item := substring(p_lines, v_line * 13 - 12, 6)::int;
        v_supply := substring(p_lines, v_line * 13 - 6, 5)::int;
        v_quantity := substring(p_lines, v_line * 13 - 1, 2)::int;
        v_price := null;
        select i_price into v_price from tpcc_item where i_id = v_item;
        if v_price is null then raise exception 'Item number is not valid'; end if;
        update tpcc_stock
        set s_quantity = case when s_quantity >= v_quantity + 10 then s_quantity - v_quantity
                else s_quantity - v_quantity + 91 end,
            s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when v_supply = p_w_id then 0 else 1 end
        where s_w_id = v_supply and s_i_id = v_item
        returning case p_d_id when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
            when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
            else s_dist_10 end into v_district;
        insert into tpcc_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
            ol_amount, ol_dist_info)
        values (p_w_id, p_d_id, r_o_id, v_line, v_item, v_supply, null, v_quantity, v_quantity * v_price, v_district);
        r_total := r_total + v_quantity * v_price;
    end loop;
    r_total := (r_total * (1 - r_discount) * (1 + r_w_tax + r_d_tax))::numeric(12, 2);
end $$
go
create function tpcc_payment(p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_c_id int, p_last text, p_cents int,
    out r_c_id int, out r_balance numeric, out r_credit varchar)
language plpgsql as $$
declare
    v_amount numeric(6, 2) := p_cents * 0.01;
    v_c_id int := p_c_id;
    v_w_name varchar(10);
    v_d_name varchar(10);
    v_count int;
    v_balance numeric(12, 2);
    v_credit char(2);
begin
    update tpcc_warehouse set w_ytd = w_ytd + v_amount where w_id = p_w_id returning w_name into v_w_name;
    update tpcc_district set d_ytd = d_ytd + v_amount where d_w_id = p_w_id and d_id = p_d_id returning d_name into v_d_name;
    if v_c_id is null then
        select count(*) into v_count from tpcc_customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_last;
        select c_id into v_c_id from tpcc_customer where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_last = p_last
        order by c_first offset (v_count + 1) / 2 - 1 limit 1;
    end if;
    update tpcc_customer
    set c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount, c_payment_cnt = c_payment_cnt + 1,
        c_data = case when c_credit = 'BC'
            then left(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ', p_d_id, ' ', p_w_id, ' ', v_amount, ' ', c_data), 500)
            else c_data end
    where c_w_id = p_c_w_id and c_d_id = p_c_d_id and c_id = v_c_id
    returning c_balance, c_credit into v_balance, v_credit;
    insert into tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (v_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, localtimestamp, v_amount, concat(v_w_name, '    ', v_d_name));
    r_c_id := v_c_id;
    r_balance := v_balance;
    r_credit := v_credit;
end $$
go
-- The lines of the order, each with the five columns about the order in front.
create function tpcc_order_status(p_w_id int, p_d_id int, p_c_id int, p_last text)
returns table (r_c_id int, r_balance numeric, r_o_id int, r_entry_d timestamp, r_carrier_id int, r_i_id int, r_supply_w_id int,
    r_quantity int, r_amount numeric, r_delivery_d timestamp)
language plpgsql as $$
declare
    v_c_id int := p_c_id;
    v_count int;
    v_o_id int;
    v_balance numeric(12, 2);
    v_entry timestamp;
    v_carrier int;
begin
    if v_c_id is null then
        select count(*) into v_count from tpcc_customer where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_last;
        select c_id into v_c_id from tpcc_customer where c_w_id = p_w_id and c_d_id = p_d_id and c_last = p_last
        order by c_first offset (v_count + 1) / 2 - 1 limit 1;
    end if;
    select c_balance into v_balance from tpcc_customer where c_w_id = p_w_id and c_d_id = p_d_id and c_id = v_c_id;
    select o_id, o_entry_d, o_carrier_id into v_o_id, v_entry, v_carrier
    from tpcc_orders where o_w_id = p_w_id and o_d_id = p_d_id and o_c_id = v_c_id
    order by o_id desc limit 1;
    return query select v_c_id, v_balance, v_o_id, v_entry, v_carrier, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    from tpcc_order_line where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id = v_o_id;
end $$
go
create function tpcc_delivery(p_w_id int, p_carrier int, out delivered int)
language plpgsql as $$
declare
    v_o_id int;
    v_c_id int;
    v_sum numeric(12, 2);
    v_now timestamp := localtimestamp;
begin
    delivered := 0;
    for v_d_id in 1 .. 10 loop
        -- A row that another session has deleted since is skipped: the next one is the oldest then.
        v_o_id := null;
        select no_o_id into v_o_id from tpcc_new_orders where no_w_id = p_w_id and no_d_id = v_d_id
        order by no_o_id limit 1 for update;
        if v_o_id is not null then
            delete from tpcc_new_orders where no_w_id = p_w_id and no_d_id = v_d_id and no_o_id = v_o_id;
            update tpcc_orders set o_carrier_id = p_carrier where o_w_id = p_w_id and o_d_id = v_d_id and o_id = v_o_id
            returning o_c_id into v_c_id;
            update tpcc_order_line set ol_delivery_d = v_now where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
            select sum(ol_amount) into v_sum from tpcc_order_line
            where ol_w_id = p_w_id and ol_d_id = v_d_id and ol_o_id = v_o_id;
            update tpcc_customer set c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
            where c_w_id = p_w_id and c_d_id = v_d_id and c_id = v_c_id;
            delivered := delivered + 1;
        end if;
    end loop;
end $$
go
create function tpcc_stock_level(p_w_id int, p_d_id int, p_threshold int, out low_stock bigint)
language plpgsql as $$
declare
    v_next int;
begin
    select d_next_o_id into v_next from tpcc_district where d_w_id = p_w_id and d_id = p_d_id;
    select count(distinct s_i_id) into low_stock
    from tpcc_order_line join tpcc_stock on s_w_id = ol_w_id and s_i_id = ol_i_id
    where ol_w_id = p_w_id and ol_d_id = p_d_id and ol_o_id >= v_next - 20 and ol_o_id < v_next
        and s_quantity < p_threshold;
end $$
