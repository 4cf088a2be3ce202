-- The five transactions: clauses 2.4 to 2.8. Each is one procedure and one database transaction.
drop table dbo.tpcc_number
go
-- @lines has 13 digits for each line: item 6, supplying warehouse 5, quantity 2.
create procedure dbo.tpcc_new_order @w_id int, @d_id int, @c_id int, @lines nvarchar(200)
as
begin
    set nocount on
    set xact_abort on
    declare @count int = len(@lines) / 13, @line int = 1, @local int = 1, @now datetime = getdate(), @o_id int,
        @w_tax decimal(4, 4), @d_tax decimal(4, 4), @discount decimal(4, 4), @last varchar(16), @credit char(2),
        @item int, @supply int, @quantity int, @price decimal(5, 2), @total decimal(12, 2) = 0, @stock int, @district char(24)
    while @line <= @count
    begin
        if cast(substring(@lines, @line * 13 - 6, 5) as int) <> @w_id set @local = 0
        set @line = @line + 1
    end
    begin transaction
    select @w_tax = w_tax, @discount = c_discount, @last = c_last, @credit = c_credit
    from dbo.tpcc_warehouse join dbo.tpcc_customer on c_w_id = w_id
    where w_id = @w_id and c_d_id = @d_id and c_id = @c_id
    update dbo.tpcc_district set @o_id = d_next_o_id, d_next_o_id = d_next_o_id + 1, @d_tax = d_tax
    where d_w_id = @w_id and d_id = @d_id
    if @o_id is null
    begin
        rollback transaction
        raiserror('There is no warehouse %d: --setup --warehouses makes them.', 16, 1, @w_id)
        return 2
    end
    insert dbo.tpcc_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    values (@w_id, @d_id, @o_id, @c_id, @now, null, @count, @local)
    insert dbo.tpcc_new_orders (no_w_id, no_d_id, no_o_id) values (@w_id, @d_id, @o_id)
    set @line = 1
    while @line <= @count
    begin
        set @item = cast(substring(@lines, @line * 13 - 12, 6) as int)
        set @supply = cast(substring(@lines, @line * 13 - 6, 5) as int)
        set @quantity = cast(substring(@lines, @line * 13 - 1, 2) as int)
        set @price = null
        select @price = i_price from dbo.tpcc_item where i_id = @item
        if @price is null
        begin
            -- One of a hundred orders asks for an item that nobody has, so that work is undone: clause 2.4.1.4.
            rollback transaction
            select 'Item number is not valid' as message, @last as c_last, @credit as c_credit, @o_id as o_id
            return 1
        end
        update dbo.tpcc_stock
        set @stock = s_quantity = case when s_quantity >= @quantity + 10 then s_quantity - @quantity
                else s_quantity - @quantity + 91 end,
            s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + case when @supply = @w_id then 0 else 1 end,
            @district = case @d_id when 1 then s_dist_01 when 2 then s_dist_02 when 3 then s_dist_03 when 4 then s_dist_04
                when 5 then s_dist_05 when 6 then s_dist_06 when 7 then s_dist_07 when 8 then s_dist_08 when 9 then s_dist_09
                else s_dist_10 end
        where s_w_id = @supply and s_i_id = @item
        insert dbo.tpcc_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
            ol_amount, ol_dist_info)
        values (@w_id, @d_id, @o_id, @line, @item, @supply, null, @quantity, @quantity * @price, @district)
        set @total = @total + @quantity * @price
        set @line = @line + 1
    end
    commit transaction
    select @o_id as o_id, @now as o_entry_d, @last as c_last, @credit as c_credit, @discount as c_discount, @w_tax as w_tax,
        @d_tax as d_tax, cast(@total * (1 - @discount) * (1 + @w_tax + @d_tax) as decimal(12, 2)) as total
    return 0
end
go
-- The customer by number, or without one by last name: the one in the middle of those by first name.
create procedure dbo.tpcc_payment @w_id int, @d_id int, @c_w_id int, @c_d_id int, @c_id int, @last nvarchar(16), @cents int
as
begin
    set nocount on
    set xact_abort on
    declare @amount decimal(6, 2) = @cents * 0.01, @name varchar(16) = @last, @w_name varchar(10), @d_name varchar(10),
        @count int, @balance decimal(12, 2), @credit char(2)
    begin transaction
    update dbo.tpcc_warehouse set w_ytd = w_ytd + @amount, @w_name = w_name where w_id = @w_id
    update dbo.tpcc_district set d_ytd = d_ytd + @amount, @d_name = d_name where d_w_id = @w_id and d_id = @d_id
    if @c_id is null
    begin
        select @count = count(*) from dbo.tpcc_customer where c_w_id = @c_w_id and c_d_id = @c_d_id and c_last = @name
        select @c_id = c_id
        from
        (
            select c_id, row_number() over (order by c_first) as place
            from dbo.tpcc_customer where c_w_id = @c_w_id and c_d_id = @c_d_id and c_last = @name
        ) named
        where place = (@count + 1) / 2
    end
    update dbo.tpcc_customer
    set @balance = c_balance = c_balance - @amount, c_ytd_payment = c_ytd_payment + @amount, c_payment_cnt = c_payment_cnt + 1,
        @credit = c_credit,
        c_data = case when c_credit = 'BC'
            then left(concat(c_id, ' ', c_d_id, ' ', c_w_id, ' ', @d_id, ' ', @w_id, ' ', @amount, ' ', c_data), 500)
            else c_data end
    where c_w_id = @c_w_id and c_d_id = @c_d_id and c_id = @c_id
    insert dbo.tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    values (@c_id, @c_d_id, @c_w_id, @d_id, @w_id, getdate(), @amount, concat(@w_name, '    ', @d_name))
    commit transaction
    select @c_id as c_id, @balance as c_balance, @credit as c_credit
end
go
create procedure dbo.tpcc_order_status @w_id int, @d_id int, @c_id int, @last nvarchar(16)
as
begin
    set nocount on
    set xact_abort on
    declare @name varchar(16) = @last, @count int, @o_id int, @balance decimal(12, 2), @entry datetime, @carrier int
    begin transaction
    if @c_id is null
    begin
        select @count = count(*) from dbo.tpcc_customer where c_w_id = @w_id and c_d_id = @d_id and c_last = @name
        select @c_id = c_id
        from
        (
            select c_id, row_number() over (order by c_first) as place
            from dbo.tpcc_customer where c_w_id = @w_id and c_d_id = @d_id and c_last = @name
        ) named
        where place = (@count + 1) / 2
    end
    select @balance = c_balance from dbo.tpcc_customer where c_w_id = @w_id and c_d_id = @d_id and c_id = @c_id
    select top (1) @o_id = o_id, @entry = o_entry_d, @carrier = o_carrier_id
    from dbo.tpcc_orders where o_w_id = @w_id and o_d_id = @d_id and o_c_id = @c_id
    order by o_id desc
    select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    from dbo.tpcc_order_line where ol_w_id = @w_id and ol_d_id = @d_id and ol_o_id = @o_id
    commit transaction
    select @c_id as c_id, @balance as c_balance, @o_id as o_id, @entry as o_entry_d, @carrier as o_carrier_id
end
go
create procedure dbo.tpcc_delivery @w_id int, @carrier int
as
begin
    set nocount on
    set xact_abort on
    declare @d_id int = 1, @o_id int, @c_id int, @sum decimal(12, 2), @now datetime = getdate(), @delivered int = 0, @taken int
    begin transaction
    while @d_id <= 10
    begin
        set @taken = 0
        while @taken = 0
        begin
            set @o_id = null
            select top (1) @o_id = no_o_id from dbo.tpcc_new_orders with (updlock)
            where no_w_id = @w_id and no_d_id = @d_id
            order by no_o_id
            if @o_id is null break
            -- Somebody else may have taken it since: then the next one is the oldest.
            delete dbo.tpcc_new_orders where no_w_id = @w_id and no_d_id = @d_id and no_o_id = @o_id
            set @taken = @@rowcount
        end
        if @o_id is not null
        begin
            update dbo.tpcc_orders set o_carrier_id = @carrier, @c_id = o_c_id
            where o_w_id = @w_id and o_d_id = @d_id and o_id = @o_id
            update dbo.tpcc_order_line set ol_delivery_d = @now where ol_w_id = @w_id and ol_d_id = @d_id and ol_o_id = @o_id
            select @sum = sum(ol_amount) from dbo.tpcc_order_line
            where ol_w_id = @w_id and ol_d_id = @d_id and ol_o_id = @o_id
            update dbo.tpcc_customer set c_balance = c_balance + @sum, c_delivery_cnt = c_delivery_cnt + 1
            where c_w_id = @w_id and c_d_id = @d_id and c_id = @c_id
            set @delivered = @delivered + 1
        end
        set @d_id = @d_id + 1
    end
    commit transaction
    select @delivered as delivered
end
go
create procedure dbo.tpcc_stock_level @w_id int, @d_id int, @threshold int
as
begin
    set nocount on
    declare @next int
    select @next = d_next_o_id from dbo.tpcc_district where d_w_id = @w_id and d_id = @d_id
    select count(distinct s_i_id) as low_stock
    from dbo.tpcc_order_line join dbo.tpcc_stock on s_w_id = ol_w_id and s_i_id = ol_i_id
    where ol_w_id = @w_id and ol_d_id = @d_id and ol_o_id >= @next - 20 and ol_o_id < @next
        and s_quantity < @threshold
end
