//! Tests result types against the documentation's tables and examples.

use super::*;

fn decimal(precision: u8, scale: u8) -> DataType {
    DataType::Decimal { precision, scale }
}

fn result_of(op: BinaryOp, left: DataType, right: DataType) -> DataType {
    binary(op, &left, &right).unwrap().result
}

#[test]
fn decimal_results_follow_the_table() {
    use BinaryOp::{Add, Divide, Modulo, Multiply};
    for (op, left, right, expected) in [
        (Add, (10, 2), (10, 2), (11, 2)),
        (Add, (38, 10), (38, 10), (38, 10)),
        (Add, (38, 20), (38, 4), (38, 4)),
        (Multiply, (10, 2), (10, 2), (21, 4)),
        (Multiply, (38, 20), (38, 20), (38, 6)),
        (Multiply, (30, 20), (30, 20), (38, 17)),
        (Multiply, (38, 2), (38, 2), (38, 4)),
        (Divide, (2, 1), (1, 0), (7, 6)),
        (Divide, (10, 2), (10, 2), (23, 13)),
        (Divide, (38, 10), (38, 10), (38, 6)),
        (Modulo, (10, 2), (5, 3), (5, 3)),
    ] {
        let (l, r) = (decimal(left.0, left.1), decimal(right.0, right.1));
        assert_eq!(result_of(op, l, r), decimal(expected.0, expected.1), "{l} {op:?} {r}");
    }
    assert_eq!(result_of(Divide, DataType::Int, decimal(2, 1)), decimal(17, 6));
}

#[test]
fn the_operand_of_higher_precedence_gives_the_type() {
    use BinaryOp::{Add, BitAnd, BitOr, Multiply, Subtract};
    let binary4 = DataType::VarBinary(Length::Limited(4));
    for (op, left, right, expected) in [
        (Add, DataType::TinyInt, DataType::Int, DataType::Int),
        (Add, DataType::Int, DataType::BigInt, DataType::BigInt),
        (Add, DataType::Int, DataType::VarChar(Length::Max), DataType::Int),
        (Multiply, DataType::Int, binary4, DataType::Int),
        (BitOr, binary4, DataType::Int, DataType::Int),
        (BitAnd, DataType::Bit, DataType::Bit, DataType::Bit),
        (Add, DataType::Money, DataType::Int, DataType::Money),
        (Add, DataType::Real, decimal(10, 2), DataType::Real),
        (Subtract, DataType::DateTime, DataType::DateTime, DataType::DateTime),
        (Add, DataType::DateTime, DataType::Int, DataType::DateTime),
    ] {
        assert_eq!(result_of(op, left, right), expected, "{left} {op:?} {right}");
    }
}

#[test]
fn concatenation_adds_lengths_up_to_the_limit() {
    let varchar = |n| DataType::VarChar(Length::Limited(n));
    let nvarchar = |n| DataType::NVarChar(Length::Limited(n));
    let add = |l, r| result_of(BinaryOp::Add, l, r);
    assert_eq!(add(varchar(10), varchar(20)), varchar(30));
    assert_eq!(add(varchar(5_000), varchar(5_000)), varchar(8_000));
    assert_eq!(add(varchar(10), nvarchar(20)), nvarchar(30));
    assert_eq!(add(nvarchar(3_000), nvarchar(3_000)), nvarchar(4_000));
    assert_eq!(add(varchar(1), DataType::NVarChar(Length::Max)), DataType::NVarChar(Length::Max));
}

#[test]
fn what_does_not_go_together_is_an_error() {
    use BinaryOp::{Add, BitAnd, Modulo, Subtract};
    let varchar = DataType::VarChar(Length::Limited(5));
    for (op, left, right, number) in [
        (Add, DataType::Bit, DataType::Bit, 8117),
        (Subtract, varchar, varchar, 8117),
        (Modulo, DataType::Float, DataType::Int, 402),
        (BitAnd, DataType::Float, DataType::Int, 402),
        (Add, DataType::Date, DataType::Int, 206),
        (Subtract, DataType::Date, DataType::Date, 8117),
        (Add, DataType::UniqueIdentifier, DataType::UniqueIdentifier, 8117),
    ] {
        assert_eq!(binary(op, &left, &right).unwrap_err().number, number, "{left} {op:?} {right}");
    }
    assert_eq!(unary(UnaryOp::Negate, &varchar).unwrap_err().number, 8117);
    assert_eq!(unary(UnaryOp::Negate, &DataType::TinyInt).unwrap(), DataType::SmallInt);
}

#[test]
fn common_type_is_long_enough_for_both() {
    let varchar = |n| DataType::VarChar(Length::Limited(n));
    for (left, right, expected) in [
        (DataType::Char(280), varchar(280), varchar(280)),
        (varchar(5), DataType::NChar(10), DataType::NVarChar(Length::Limited(10))),
        (decimal(10, 2), decimal(5, 4), decimal(12, 4)),
        (DataType::Int, decimal(5, 4), decimal(14, 4)),
        (DataType::Int, varchar(5), DataType::Int),
        (DataType::DateTime, varchar(5), DataType::DateTime),
        (DataType::DateTime, DataType::DateTime2(0), DataType::DateTime2(3)),
        (DataType::UniqueIdentifier, varchar(5), DataType::UniqueIdentifier),
        (varchar(8_000), DataType::NChar(1), DataType::NVarChar(Length::Max)),
    ] {
        assert_eq!(common(&left, &right).unwrap(), expected, "{left}, {right}");
        assert_eq!(common(&right, &left).unwrap(), expected, "{right}, {left}");
    }
    assert_eq!(common(&DataType::Date, &DataType::Int).unwrap_err().number, 206);
}
