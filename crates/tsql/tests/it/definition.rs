//! Tests definitions as SQL Server shows them. The expected texts are those on which scripts of SQL
//! Server's own tools and its documentation agree, AdventureWorks' constraints among them.

use crate::support::{check_of, column_of};

#[test]
fn names_stand_in_brackets_and_numbers_in_parentheses() {
    assert_eq!(check_of("price > 0"), "([price]>(0))");
    assert_eq!(check_of("[Bonus] >= 0.00"), "([Bonus]>=(0.00))");
    assert_eq!(check_of("a != b AND (c IS NOT NULL)"), "([a]<>[b] AND [c] IS NOT NULL)");
    assert_eq!(column_of("price * 2"), "([price]*(2))");
    assert_eq!(column_of("(0)"), "((0))");
    assert_eq!(column_of("-1"), "((-1))");
    assert_eq!(column_of("0e0"), "((0.0000000000000000e+000))");
    assert_eq!(column_of("1.5e-3"), "((1.5000000000000000e-003))");
    assert_eq!(column_of("N'it''s'"), "(N'it''s')");
    assert_eq!(check_of("[$a b] > 0"), "([$a b]>(0))");
    assert_eq!(check_of("$Partition.f(a) = 1"), "($Partition.[f]([a])=(1))");
}

#[test]
fn functions_are_in_lower_case_and_some_have_other_names() {
    assert_eq!(column_of("GETDATE()"), "(getdate())");
    assert_eq!(column_of("SysUtcDateTime()"), "(sysutcdatetime())");
    assert_eq!(column_of("CURRENT_TIMESTAMP"), "(getdate())");
    assert_eq!(column_of("SYSTEM_USER"), "(suser_sname())");
    assert_eq!(column_of("CAST(1 AS bit)"), "(CONVERT([bit],(1)))");
    assert_eq!(column_of("CONVERT(decimal(18, 2), a * b)"), "(CONVERT([decimal](18,2),[a]*[b]))");
    assert_eq!(
        column_of("TRY_CAST(JSON_VALUE(a, '$.b') AS float)"),
        "(TRY_CAST(json_value([a],'$.b') AS [float]))"
    );
    assert_eq!(column_of("DATEDIFF(dd, a, b)"), "(datediff(day,[a],[b]))");
    assert_eq!(
        column_of("YEAR(a) * 10 + DATEPART(qq, a)"),
        "(datepart(year,[a])*(10)+datepart(quarter,[a]))"
    );
    assert_eq!(column_of("dbo.f(a)"), "([dbo].[f]([a]))");
    assert_eq!(column_of("NEXT VALUE FOR dbo.s"), "(NEXT VALUE FOR [dbo].[s])");
}

#[test]
fn a_chain_of_one_level_gets_parentheses_from_the_left() {
    assert_eq!(
        column_of("ISNULL(UnitPrice * (1.0 - Discount) * OrderQty, 0.0)"),
        "(isnull(([UnitPrice]*((1.0)-[Discount]))*[OrderQty],(0.0)))"
    );
    assert_eq!(
        column_of("ISNULL(SubTotal + TaxAmt + Freight, 0)"),
        "(isnull(([SubTotal]+[TaxAmt])+[Freight],(0)))"
    );
    assert_eq!(column_of("a + ' ' + b"), "(([a]+' ')+[b])");
    assert_eq!(column_of("(a & ~1) / 2 & 3"), "(([a]&~(1))/(2)&(3))");
    assert_eq!(column_of("(a - b) / NULLIF(a, 0) * 100"), "((([a]-[b])/nullif([a],(0)))*(100))");
    assert_eq!(check_of("total = subtotal - discount"), "([total]=([subtotal]-[discount]))");
    assert_eq!(check_of("a ^ b = 1"), "(([a]^[b])=(1))");
    assert_eq!(column_of("a - -b"), "([a]-(-[b]))");
}

#[test]
fn between_and_in_become_comparisons() {
    assert_eq!(check_of("p BETWEEN 0 AND 2"), "([p]>=(0) AND [p]<=(2))");
    assert_eq!(
        check_of("b BETWEEN '1930-01-01' AND DATEADD(YEAR, -18, GETDATE())"),
        "([b]>='1930-01-01' AND [b]<=dateadd(year,(-18),getdate()))"
    );
    assert_eq!(check_of("UPPER(g) IN ('M', 'F')"), "(upper([g])='F' OR upper([g])='M')");
    assert_eq!(
        check_of("UPPER(c) IN ('L', 'M') OR c IS NULL"),
        "(upper([c])='M' OR upper([c])='L' OR [c] IS NULL)"
    );
    assert_eq!(
        check_of("t IS NULL OR UPPER(t) IN ('SC', 'VC')"),
        "([t] IS NULL OR (upper([t])='VC' OR upper([t])='SC'))"
    );
    assert_eq!(check_of("a NOT IN (33, 34)"), "(NOT ([a]=(34) OR [a]=(33)))");
}

#[test]
fn conditions_have_the_parentheses_that_they_need() {
    assert_eq!(
        check_of("(a IS NULL AND b = 0 AND c = 1.00) OR (a IS NOT NULL AND b >= 1)"),
        "([a] IS NULL AND [b]=(0) AND [c]=(1.00) OR [a] IS NOT NULL AND [b]>=(1))"
    );
    assert_eq!(
        check_of("(a IS NULL OR a >= 0) AND (b IS NULL OR b >= 0)"),
        "(([a] IS NULL OR [a]>=(0)) AND ([b] IS NULL OR [b]>=(0)))"
    );
    assert_eq!(check_of("s LIKE '[A-Za-z]' OR s = 'N/A'"), "([s] like '[A-Za-z]' OR [s]='N/A')");
    assert_eq!(check_of("n NOT LIKE '%[^0-9]%'"), "(NOT [n] like '%[^0-9]%')");
    assert_eq!(check_of("NOT (a = 1 AND b = 1)"), "(NOT ([a]=(1) AND [b]=(1)))");
    assert_eq!(
        column_of("CASE WHEN a = 1 THEN 0 ELSE 1 END"),
        "(case when [a]=(1) then (0) else (1) end)"
    );
    assert_eq!(
        column_of("IIF(a IS NOT NULL, 1, 0)"),
        "(case when [a] IS NOT NULL then (1) else (0) end)"
    );
    assert_eq!(
        column_of("a AT TIME ZONE 'UTC' AT TIME ZONE 'Pacific Standard Time'"),
        "((([a] AT TIME ZONE 'UTC') AT TIME ZONE 'Pacific Standard Time'))"
    );
}
