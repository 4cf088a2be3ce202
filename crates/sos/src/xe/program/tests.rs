//! Tests of predicates: what they cost and what they find, against a plain evaluation.

use proptest::prelude::*;

use super::*;
use crate::xe::field::Field;
use crate::xe::map::{EVENT_OPCODE, Map};
use crate::xe::package::PACKAGE0;
use crate::xe::spec::PredicateInput;

static SMALL: &Map = &EVENT_OPCODE;
static EVENT: Event = Event::new(
    &PACKAGE0,
    "tested",
    "A test",
    &[
        Field::new("unsigned", FieldType::UInt64, "0"),
        Field::new("signed", FieldType::Int32, "1"),
        Field::new("text", FieldType::UnicodeString, "2"),
        Field::new("flag", FieldType::Boolean, "3"),
        Field::new("map", FieldType::Map(SMALL), "4"),
        Field::new("float", FieldType::Float64, "5"),
    ],
);

struct NoSources;

impl Sources for NoSources {
    fn machine(&self, _fact: Fact) -> Value<'static> {
        Value::Null
    }
    fn caller(&self, _number: u16, _give: &mut dyn FnMut(Value<'_>)) {}
}

const OPERATIONS: [Operation; 7] = [
    Operation::Equal,
    Operation::NotEqual,
    Operation::Greater,
    Operation::GreaterEqual,
    Operation::Less,
    Operation::LessEqual,
    Operation::DividesBy,
];

/// Few distinct values, so that comparisons often find equal ones.
fn operand(field: usize) -> BoxedStrategy<OwnedValue> {
    match field {
        0 => (0_u64..4).prop_map(OwnedValue::UInt).boxed(),
        1 => (-2_i64..3).prop_map(OwnedValue::Int).boxed(),
        2 => prop_oneof!["[abAB]{0,2}"].prop_map(OwnedValue::Text).boxed(),
        3 => any::<bool>().prop_map(OwnedValue::Bool).boxed(),
        4 => (0_u32..2).prop_map(OwnedValue::Map).boxed(),
        _ => (-2_i32..3).prop_map(|n| OwnedValue::Float(f64::from(n) / 2.0)).boxed(),
    }
}

fn leaf() -> impl Strategy<Value = Predicate> {
    (0_usize..6, 0_usize..7).prop_flat_map(|(field, operation)| {
        operand(field).prop_map(move |value| {
            let of = EVENT.fields[field].field_type;
            let asked = Comparator::of(OPERATIONS[operation], of);
            let comparator = asked.or_else(|| Comparator::of(Operation::Equal, of));
            let comparator = comparator.expect("every type here has equality");
            let input = PredicateInput::Field(field);
            Predicate::Compare(Comparison { input, comparator, value })
        })
    })
}

fn tree() -> impl Strategy<Value = Predicate> {
    leaf().prop_recursive(6, 40, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| Predicate::And(Box::new(a), Box::new(b))),
            pair.prop_map(|(a, b)| Predicate::Or(Box::new(a), Box::new(b))),
            inner.prop_map(|a| Predicate::Not(Box::new(a))),
        ]
    })
}

fn fields() -> impl Strategy<Value = Vec<OwnedValue>> {
    let field = |at| prop_oneof![9 => operand(at), 1 => Just(OwnedValue::Null)];
    (field(0), field(1), field(2), field(3), field(4), field(5))
        .prop_map(|(a, b, c, d, e, f)| vec![a, b, c, d, e, f])
}

/// The result of a predicate, evaluated on its tree.
fn means(predicate: &Predicate, fields: &[OwnedValue]) -> bool {
    match predicate {
        Predicate::And(a, b) => means(a, fields) & means(b, fields),
        Predicate::Or(a, b) => means(a, fields) | means(b, fields),
        Predicate::Not(a) => !means(a, fields),
        Predicate::Compare(leaf) => {
            let PredicateInput::Field(at) = leaf.input else { return false };
            let order = match (&fields[at], &leaf.value) {
                (OwnedValue::UInt(a), OwnedValue::UInt(b)) => {
                    if leaf.comparator.operation == Operation::DividesBy {
                        return *b != 0 && a % b == 0;
                    }
                    a.cmp(b)
                }
                (OwnedValue::Map(a), OwnedValue::Map(b)) => {
                    if leaf.comparator.operation == Operation::DividesBy {
                        return *b != 0 && a % b == 0;
                    }
                    a.cmp(b)
                }
                (OwnedValue::Int(a), OwnedValue::Int(b)) => a.cmp(b),
                (OwnedValue::Bool(a), OwnedValue::Bool(b)) => a.cmp(b),
                (OwnedValue::Float(a), OwnedValue::Float(b)) => a.total_cmp(b),
                (OwnedValue::Text(a), OwnedValue::Text(b)) => {
                    a.to_lowercase().cmp(&b.to_lowercase())
                }
                _ => return false,
            };
            match leaf.comparator.operation {
                Operation::Equal => order.is_eq(),
                Operation::NotEqual => order.is_ne(),
                Operation::Greater => order.is_gt(),
                Operation::GreaterEqual => order.is_ge(),
                Operation::Less => order.is_lt(),
                Operation::LessEqual => order.is_le(),
                other => panic!("{other:?} is not generated for this type"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn compiled_predicate_means_what_its_tree_means(
        predicate in tree(),
        rows in proptest::collection::vec(fields(), 1..8),
    ) {
        let program = Program::compile(&EVENT, &predicate).expect("it is well typed");
        for row in &rows {
            let values: Vec<Value<'_>> = row.iter().map(OwnedValue::as_value).collect();
            prop_assert_eq!(program.accepts(&values, &NoSources), means(&predicate, row));
        }
    }

    #[test]
    fn extremes_are_those_seen_so_far(values in proptest::collection::vec(-20_i64..20, 0..40)) {
        for (name, is_max, or_equal) in [
            ("greater_than_max_int64", true, false),
            ("greater_than_equal_max_int64", true, true),
            ("less_than_min_int64", false, false),
            ("less_than_equal_min_int64", false, true),
        ] {
            let comparator = Comparator::named(name).expect("it is there");
            let input = PredicateInput::Field(1);
            let leaf = Comparison { input, comparator, value: OwnedValue::Int(0) };
            let program = Program::compile(&EVENT, &Predicate::Compare(leaf));
            let program = program.expect("it is well typed");
            let mut extreme = 0;
            for &value in &values {
                let beyond = if is_max { value > extreme } else { value < extreme };
                let expected = beyond || (or_equal && value == extreme);
                let row = [Value::Null, Value::Int(value)];
                prop_assert_eq!(program.accepts(&row, &NoSources), expected, "{}", name);
                if beyond {
                    extreme = value;
                }
            }
        }
    }
}

#[test]
fn a_missing_value_holds_in_no_comparison() {
    let comparator = Comparator::of(Operation::NotEqual, FieldType::UInt64).expect("is there");
    let input = PredicateInput::Field(0);
    let leaf = Comparison { input, comparator, value: OwnedValue::Int(1) };
    let program = Program::compile(&EVENT, &Predicate::Compare(leaf)).expect("it is typed");
    assert!(!program.accepts(&[Value::Null], &NoSources));
}
