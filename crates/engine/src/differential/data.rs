//! Test data: rows of every type with NULLs, extremes and duplicates, and batches and selections of
//! them.

use types::batch::{Batch, Selection, Vector};
use types::value::ColumnType;
use types::{Bytes, Collation, DataType, Decimal, Length, Value};

use crate::plan::expr::Register;
use crate::plan::walk::Registers;
use ::executor::Cx;

/// A pseudo-random generator with the same sequence in every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap() % limit
    }

    /// Returns one of the elements.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A column: its name, type and values.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) ty: ColumnType,
    rows: Vec<Value>,
}

/// Columns of every type, two of each.
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Table {
    pub(super) fn new(rows: usize) -> Self {
        let mut random = Random::new();
        let mut columns = Vec::new();
        for (name, ty, pool) in types() {
            for copy in ["a", "b"] {
                let values = (0..rows).map(|_| match random.below(6) {
                    0 => Value::Null,
                    _ => random.pick(&pool).clone(),
                });
                let name = format!("{copy}_{name}");
                columns.push(Column { name, ty, rows: values.collect() });
            }
        }
        Self { columns, rows }
    }

    /// Makes columns of the most common types, two of each, without NULLs, for measurements.
    pub(super) fn plain(rows: usize) -> Self {
        let mut random = Random::new();
        let mut columns = Vec::new();
        for (name, data_type, make) in plain_types() {
            for copy in ["p", "q"] {
                let values = (0..rows).map(|_| make(i32::try_from(random.below(1_000)).unwrap()));
                let (name, ty) = (format!("{copy}_{name}"), of(data_type, ""));
                columns.push(Column { name, ty, rows: values.collect() });
            }
        }
        Self { columns, rows }
    }

    /// Returns the registers of the columns.
    pub(super) fn layout(&self) -> Vec<Register> {
        (0..).take(self.columns.len()).map(Register).collect()
    }

    /// Loads the read columns of a row into the registers.
    pub(super) fn load(&self, row: usize, reads: &Registers, cx: &mut Cx<'_>) {
        for (register, column) in (0..).map(Register).zip(&self.columns) {
            if reads.contains(register) {
                cx.registers[register.index()] = column.rows[row].clone();
            }
        }
    }

    /// Makes a batch: most columns in the plain form of their type, some as plain `Value`s.
    pub(super) fn batch(&self, random: &mut Random) -> Batch {
        self.batch_in(|column| match random.below(5) {
            // A form that can hold none of the values.
            0 => Vector::of_type(&DataType::UniqueIdentifier),
            _ => Vector::with_capacity_for(&column.ty),
        })
    }

    /// Makes a batch of columns in the plain form of their types.
    pub(super) fn plain_batch(&self) -> Batch {
        self.batch_in(|column| Vector::with_capacity_for(&column.ty))
    }

    fn batch_in(&self, mut make: impl FnMut(&Column) -> Vector) -> Batch {
        let columns = self.columns.iter().map(|column| {
            let mut vector = make(column);
            column.rows.iter().for_each(|value| vector.push(value));
            vector
        });
        let mut batch = Batch::new(columns.collect());
        batch.set_rows(self.rows);
        batch
    }
}

/// Selects all rows, half of them, few, or none.
pub(super) fn selection(rows: usize, random: &mut Random) -> Selection {
    let one_in = match random.below(8) {
        0..3 => return Selection::all(rows),
        3..6 => 2,
        6 => 12,
        _ => 1_000,
    };
    let mut selection = Selection::default();
    selection.clear();
    (0..rows).filter(|_| random.below(one_in) == 0).for_each(|row| selection.push(row));
    selection
}

/// A name, a type, and a function from a number below 1,000 to a value.
type PlainType = (&'static str, DataType, fn(i32) -> Value);

fn plain_types() -> [PlainType; 6] {
    let text = |n| Value::varchar(&format!("abc {n} xyz"), Collation::default());
    [
        ("int", DataType::Int, Value::Int),
        ("big", DataType::BigInt, |n| Value::BigInt(i64::from(n) + 1)),
        ("d15", DataType::Decimal { precision: 15, scale: 2 }, |n| {
            Value::Decimal(Decimal::new(i128::from(n), 15, 2))
        }),
        ("float", DataType::Float, |n| Value::Float(f64::from(n) / 8.0)),
        ("date", DataType::Date, |n| Value::Date(730_000 + n)),
        ("v", DataType::VarChar(Length::Limited(40)), text),
    ]
}

/// A name, a type, and values of it.
type TypeOf = (&'static str, ColumnType, Vec<Value>);

fn of(data_type: DataType, name: &str) -> ColumnType {
    let collation = Collation::by_name(name).unwrap_or_default();
    ColumnType { data_type, collation, nullable: true }
}

/// Returns every type with its extremes and some values between them.
fn types() -> Vec<TypeOf> {
    let mut types = numbers();
    types.extend(moments());
    types.extend(strings());
    types.extend(others());
    types
}

fn numbers() -> Vec<TypeOf> {
    let decimal = |p: u8, s: u8, digits: &[i128]| {
        let values = digits.iter().map(|d| Value::Decimal(Decimal::new(*d, p, s)));
        (of(DataType::Decimal { precision: p, scale: s }, ""), values.collect::<Vec<_>>())
    };
    let nines = |count: u32| 10_i128.pow(count) - 1;
    let (d9, v9) = decimal(9, 2, &[0, 1, -1, 50, 150, -250, nines(9), -nines(9), 100]);
    let (d15, v15) = decimal(15, 2, &[0, 1, -1, 200, 9_999, 12_345_678, nines(15), -nines(15)]);
    let (d18, v18) = decimal(18, 4, &[0, 1, -1, 10_000, nines(18), -nines(18), 25_000]);
    let (d38, v38) = decimal(38, 10, &[0, 1, -1, 10_i128.pow(10), nines(38), -nines(38), 7]);
    let plain = |data_type| of(data_type, "");
    let ints = |values: &[i32]| values.iter().map(|v| Value::Int(*v)).collect::<Vec<_>>();
    let bigs = |values: &[i64]| values.iter().map(|v| Value::BigInt(*v)).collect::<Vec<_>>();
    let money = |values: &[i64]| values.iter().map(|v| Value::Money(*v)).collect::<Vec<_>>();
    let floats = |values: &[f64]| values.iter().map(|v| Value::Float(*v)).collect::<Vec<_>>();
    let small = |values: &[i16]| values.iter().map(|v| Value::SmallInt(*v)).collect::<Vec<_>>();
    vec![
        ("bit", plain(DataType::Bit), vec![Value::Bit(false), Value::Bit(true)]),
        ("tiny", plain(DataType::TinyInt), [0, 1, 2, 200, 255].map(Value::TinyInt).to_vec()),
        ("small", plain(DataType::SmallInt), small(&[0, 1, -1, 3, i16::MAX, i16::MIN])),
        ("int", plain(DataType::Int), ints(&[0, 1, -1, 2, 7, 100, i32::MAX, i32::MIN])),
        ("int2", plain(DataType::Int), ints(&[1, 2, 3, 4, 5, -3])),
        ("big", plain(DataType::BigInt), bigs(&[0, 1, -1, 5, 1 << 40, i64::MAX, i64::MIN])),
        ("d9", d9, v9),
        ("d15", d15, v15),
        ("d18", d18, v18),
        ("d38", d38, v38),
        ("money", plain(DataType::Money), money(&[0, 1, -1, 12_345, 50_000, i64::MAX, i64::MIN])),
        ("smoney", plain(DataType::SmallMoney), money(&[0, 5_000, -15_000, 2_147_483_647])),
        (
            "real",
            plain(DataType::Real),
            [0.0, -0.0, 1.5, -2.25, f32::MAX, f32::MIN_POSITIVE].map(Value::Real).to_vec(),
        ),
        (
            "float",
            plain(DataType::Float),
            floats(&[0.0, -0.0, 1.0, -1.5, 2.5, 1e15, f64::MAX, f64::MIN_POSITIVE, 0.1]),
        ),
    ]
}

fn moments() -> Vec<TypeOf> {
    let plain = |data_type| of(data_type, "");
    let stamp = |days, ticks| Value::DateTime { days, ticks };
    let small = |days, minutes| Value::SmallDateTime { days, minutes };
    let stamp2 = |days, ticks| Value::DateTime2 { days, ticks };
    let offset = |days, ticks, offset| Value::DateTimeOffset { days, ticks, offset };
    vec![
        (
            "date",
            plain(DataType::Date),
            [0, 693_594, 693_595, 730_178, 738_944, 3_652_058].map(Value::Date).to_vec(),
        ),
        ("time", plain(DataType::Time(7)), [0, 1, 863_999_999_999].map(Value::Time).to_vec()),
        ("time0", plain(DataType::Time(0)), [0, 432_000_000_000].map(Value::Time).to_vec()),
        (
            "stamp",
            plain(DataType::DateTime),
            vec![
                stamp(-53_690, 0),
                stamp(0, 1),
                stamp(45_349, 12_345_678),
                stamp(2_958_463, 25_919_999),
            ],
        ),
        (
            "sstamp",
            plain(DataType::SmallDateTime),
            vec![small(0, 0), small(45_349, 720), small(65_535, 1_439)],
        ),
        (
            "stamp2",
            plain(DataType::DateTime2(7)),
            vec![stamp2(0, 0), stamp2(738_944, 123_456_789), stamp2(3_652_058, 863_999_999_999)],
        ),
        (
            "stamp3",
            plain(DataType::DateTime2(3)),
            vec![stamp2(693_595, 10_000), stamp2(738_944, 863_999_990_000)],
        ),
        (
            "zoned",
            plain(DataType::DateTimeOffset(7)),
            vec![
                offset(738_944, 123_456_789, 0),
                offset(738_944, 123_456_789, 840),
                offset(1, 0, -840),
                offset(3_652_057, 0, 330),
            ],
        ),
    ]
}

fn strings() -> Vec<TypeOf> {
    const TEXTS: [&str; 18] = [
        "",
        " ",
        "a",
        "A",
        "b",
        "ab",
        "Ab  ",
        "a%b",
        "a_b",
        "[x]",
        "12",
        "-3.5",
        "1e3",
        "2024-02-29",
        "straße",
        "Éa",
        "abcabc abcabcabcabcabcabc abc",
        "true",
    ];
    let limited = |n| DataType::VarChar(Length::Limited(n));
    let wide = |n| DataType::NVarChar(Length::Limited(n));
    let narrow_of = |name: &str| {
        let collation = of(DataType::Int, name).collation;
        TEXTS.map(|text| Value::varchar(text, collation)).to_vec()
    };
    let mut wides = TEXTS.map(Value::nvarchar).to_vec();
    wides.push(Value::nvarchar("ЖЁ\u{1F600}x"));
    wides.push(Value::NVarChar(Bytes::copy_from(&[0x41, 0, 0x00, 0xD8])));
    let padded = |text: &str| Value::varchar(&format!("{text:<4}"), Collation::default());
    let mut types = vec![
        ("char", of(DataType::Char(4), ""), ["", "ab", "AB", "1", "zz z"].map(padded).to_vec()),
        ("max", of(DataType::VarChar(Length::Max), ""), narrow_of("")),
        (
            "text",
            of(DataType::Text, ""),
            ["", "ab", "12"].map(|t| Value::varchar(t, Collation::default())).to_vec(),
        ),
        ("nmax", of(DataType::NVarChar(Length::Max), ""), wides.clone()),
        (
            "nchar",
            of(DataType::NChar(3), ""),
            ["   ", "ab ", "7  ", "ÄÖ "].map(Value::nvarchar).to_vec(),
        ),
    ];
    let collations = [
        ("v", ""),
        ("v_bin", "Latin1_General_BIN2"),
        ("v_win", "Latin1_General_CI_AS"),
        ("v_cs", "SQL_Latin1_General_CP1_CS_AS"),
        ("v_ai", "Latin1_General_100_CI_AI"),
        ("v_utf8", "Latin1_General_100_CI_AS_SC_UTF8"),
    ];
    for (name, collation) in collations {
        types.push((name, of(limited(40), collation), narrow_of(collation)));
    }
    let collations =
        [("n", ""), ("n_bin", "Latin1_General_100_BIN2"), ("n_sc", "Latin1_General_100_CI_AS_SC")];
    for (name, collation) in collations {
        types.push((name, of(wide(40), collation), wides.clone()));
    }
    types
}

fn others() -> Vec<TypeOf> {
    let plain = |data_type| of(data_type, "");
    let bytes = |bytes: &[u8]| Value::VarBinary(Bytes::copy_from(bytes));
    let limited = DataType::VarBinary(Length::Limited(30));
    let variant = |value: Value| {
        let ty = of(value.data_type(), "");
        Value::Variant(Box::new((value, ty)))
    };
    vec![
        (
            "binary",
            plain(limited),
            vec![bytes(&[]), bytes(&[0]), bytes(&[1, 0]), bytes(&[0xFF; 25]), bytes(&[0, 0, 0, 7])],
        ),
        ("bin4", plain(DataType::Binary(4)), vec![bytes(&[0; 4]), bytes(&[1, 2, 3, 4])]),
        (
            "guid",
            plain(DataType::UniqueIdentifier),
            vec![Value::UniqueIdentifier([0; 16]), Value::UniqueIdentifier([7; 16])],
        ),
        (
            "xml",
            plain(DataType::Xml),
            ["<a>1</a>", "<a>x</a><b c=\"2\"/>", ""].map(Value::nvarchar).to_vec(),
        ),
        (
            "variant",
            plain(DataType::SqlVariant),
            vec![
                variant(Value::Int(5)),
                variant(Value::Float(5.0)),
                variant(Value::nvarchar("5")),
                variant(Value::Bit(true)),
            ],
        ),
    ]
}
