//! Tests decimals against arithmetic on digit strings of any length.

use proptest::prelude::*;

use super::*;

/// A 256-bit oracle: schoolbook arithmetic on decimal digits, least significant first.
mod oracle {
    pub(super) fn digits(mut n: u128) -> Vec<u8> {
        let mut out = Vec::new();
        while n > 0 {
            out.push(u8::try_from(n % 10).unwrap());
            n /= 10;
        }
        out
    }

    pub(super) fn multiply(a: &[u8], b: &[u8]) -> Vec<u8> {
        let mut out = vec![0_u32; a.len() + b.len() + 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                out[i + j] += u32::from(*x) * u32::from(*y);
            }
        }
        for i in 0..out.len() - 1 {
            out[i + 1] += out[i] / 10;
            out[i] %= 10;
        }
        trim(out.into_iter().map(|d| u8::try_from(d).unwrap()).collect())
    }

    pub(super) fn trim(mut digits: Vec<u8>) -> Vec<u8> {
        while digits.last() == Some(&0) {
            digits.pop();
        }
        digits
    }

    /// Drops `count` digits, rounding half up.
    pub(super) fn drop_digits(digits: &[u8], count: usize) -> Vec<u8> {
        let up = count > 0 && digits.get(count - 1).is_some_and(|d| *d >= 5);
        let mut rest = digits.get(count..).unwrap_or(&[]).to_vec();
        let mut carry = u8::from(up);
        for d in &mut rest {
            *d += carry;
            carry = *d / 10;
            *d %= 10;
        }
        if carry > 0 {
            rest.push(carry);
        }
        trim(rest)
    }
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    (any::<i128>(), 1_u8..=38, 0_u8..=38, 0_u8..38).prop_map(|(m, precision, scale, drop)| {
        let mantissa = m % POWERS[usize::from(precision)] / POWERS[usize::from(drop)];
        Decimal::new(mantissa, precision, scale.min(precision))
    })
}

proptest! {
    #[test]
    fn product_is_that_of_the_digits(a in any_decimal(), b in any_decimal(), keep in 0_u8..=38) {
        let full = a.scale + b.scale;
        let scale = keep.min(full);
        let all = oracle::multiply(
            &oracle::digits(a.mantissa().unsigned_abs()),
            &oracle::digits(b.mantissa().unsigned_abs()),
        );
        let expected = oracle::drop_digits(&all, usize::from(full - scale));
        match a.multiply(&b, 38, scale) {
            Ok(product) => {
                prop_assert_eq!(oracle::digits(product.mantissa().unsigned_abs()), expected);
                let negative = (a.mantissa() < 0) != (b.mantissa() < 0);
                prop_assert!(product.mantissa() == 0 || (product.mantissa() < 0) == negative);
            }
            Err(_) => prop_assert!(expected.len() > 38),
        }
    }

    #[test]
    fn quotient_times_divisor_is_below_the_dividend(a in any_decimal(), b in any_decimal()) {
        prop_assume!(b.mantissa() != 0);
        let scale = (a.scale + 1).min(38);
        if let Ok(quotient) = a.divide(&b, 38, scale) {
            // |q| * |b| <= |a| * 10^k < (|q| + 1) * |b|, in digits.
            let shift = i32::from(scale) + i32::from(b.scale) - i32::from(a.scale);
            let power = oracle::multiply(&[1], &{
                let mut p = vec![0; usize::try_from(shift).unwrap()];
                p.push(1);
                p
            });
            let dividend = oracle::multiply(&oracle::digits(a.mantissa().unsigned_abs()), &power);
            let q = quotient.mantissa().unsigned_abs();
            let divisor = oracle::digits(b.mantissa().unsigned_abs());
            let number = |digits: Vec<u8>| {
                (digits.len(), digits.into_iter().rev().collect::<Vec<u8>>())
            };
            let low = number(oracle::multiply(&oracle::digits(q), &divisor));
            let high = number(oracle::multiply(&oracle::digits(q + 1), &divisor));
            let dividend = number(dividend);
            prop_assert!(low <= dividend && dividend < high);
        }
    }

    #[test]
    fn text_comes_back(d in any_decimal()) {
        let read = Decimal::parse(&d.to_string()).unwrap().unwrap();
        prop_assert_eq!((read.mantissa(), read.scale), (d.mantissa(), d.scale));
    }

    #[test]
    fn order_is_that_of_the_difference(a in any_decimal(), b in any_decimal()) {
        if let Ok(difference) = a.subtract(&b, 38, a.scale.max(b.scale)) {
            prop_assert_eq!(a.order(&b), difference.mantissa().cmp(&0));
        }
        prop_assert_eq!(a.order(&a.without_trailing_zeros()), Ordering::Equal);
    }

    #[test]
    fn float_is_the_one_nearest_to_the_text(digits in any::<i64>(), shift in 0..60_u32, scale in 0..38_u8) {
        let decimal = Decimal::new(i128::from(digits >> shift), 38, scale);
        let text: f64 = decimal.to_string().parse().unwrap();
        prop_assert_eq!(decimal.to_f64().to_bits(), text.to_bits());
    }
}

#[test]
fn text_that_is_no_number_is_refused() {
    for text in ["", "-", ".", "1.2.3", "1e3", "0x1", "1,000", "abc"] {
        assert_eq!(Decimal::parse(text), None, "{text}");
    }
    assert_eq!(Decimal::parse(&"9".repeat(39)), Some(Err(TooManyDigits)));
    assert_eq!(Decimal::parse(" -1.50 ").unwrap().unwrap().to_string(), "-1.50");
    assert_eq!(Decimal::parse(".5").unwrap().unwrap().to_string(), "0.5");
}

#[test]
fn floats_convert_by_their_seventeen_digits() {
    let text = |v, scale| Decimal::from_f64(v, 38, scale).unwrap().to_string();
    assert_eq!(text(0.1, 2), "0.10");
    assert_eq!(text(-2.675, 2), "-2.67");
    assert_eq!(text(123_456.789, 3), "123456.789");
    assert_eq!(text(1e-30, 4), "0.0000");
    assert_eq!(Decimal::from_f64(1e38, 38, 0), None);
    assert_eq!(Decimal::from_f64(f64::NAN, 38, 0), None);
}
