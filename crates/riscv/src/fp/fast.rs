//! The host's floating point, for the common case.
//!
//! Rust's `+ - * /`, `sqrt` and `mul_add` are IEEE 754 operations rounded to nearest, ties to even. Their result
//! has the right bits when that is the rounding mode and no NaN comes out. Which flags a machine would have
//! raised is known without asking the host when
//!
//! * the operands are finite and the result is finite and at least twice the least normal number: then
//!   invalid, divide by zero, overflow and underflow are excluded, and only inexact is in question; and
//! * inexact is already raised (flags are sticky), which it soon is in any real computation; or, for sums, the
//!   error term that the two-sum algorithm computes exactly is zero.
//!
//! Everything else returns `None` and is done in integers.

use super::format::{F32, F64, Fpu, Host, NX, Rounding};

/// Whether a result excludes every flag but inexact.
macro_rules! in_range {
    ($float:ty, $value:expr) => {{
        let magnitude = $value.abs();
        (2.0 * <$float>::MIN_POSITIVE..=<$float>::MAX).contains(&magnitude)
    }};
}

macro_rules! host {
    ($format:ty, $float:ty, $bits:ty) => {
        impl Host for $format {
            #[inline(always)]
            fn add(fpu: &Fpu, a: u64, b: u64) -> Option<u64> {
                if fpu.rounding != Rounding::NearestEven {
                    return None;
                }
                let (x, y) = (<$float>::from_bits(a as $bits), <$float>::from_bits(b as $bits));
                let sum = x + y;
                // Finite operands are implied: an infinite or NaN operand makes an infinite or NaN sum.
                if !in_range!($float, sum) {
                    return None;
                }
                if fpu.flags & NX == 0 {
                    let z = sum - x;
                    let error = (x - (sum - z)) + (y - z);
                    if error != 0.0 {
                        return None;
                    }
                }
                Some(u64::from(sum.to_bits()))
            }

            #[inline(always)]
            fn mul(fpu: &Fpu, a: u64, b: u64) -> Option<u64> {
                let product = <$float>::from_bits(a as $bits) * <$float>::from_bits(b as $bits);
                (fpu.ready() && in_range!($float, product)).then_some(u64::from(product.to_bits()))
            }

            #[inline(always)]
            fn div(fpu: &Fpu, a: u64, b: u64) -> Option<u64> {
                // A finite non-zero quotient implies a finite dividend and a non-zero divisor, and the divisor
                // is not infinite since the quotient would be zero.
                let quotient = <$float>::from_bits(a as $bits) / <$float>::from_bits(b as $bits);
                (fpu.ready() && in_range!($float, quotient)).then_some(u64::from(quotient.to_bits()))
            }

            #[inline(always)]
            fn sqrt(fpu: &Fpu, a: u64) -> Option<u64> {
                let root = <$float>::from_bits(a as $bits).sqrt();
                (fpu.ready() && in_range!($float, root)).then_some(u64::from(root.to_bits()))
            }

            #[inline(always)]
            fn fma(fpu: &Fpu, a: u64, b: u64, c: u64) -> Option<u64> {
                let float = |v: u64| <$float>::from_bits(v as $bits);
                if !fpu.ready() {
                    return None;
                }
                let result = float(a).mul_add(float(b), float(c));
                in_range!($float, result).then_some(u64::from(result.to_bits()))
            }
        }
    };
}

impl Fpu {
    /// Whether a host result in range raises nothing new.
    #[inline(always)]
    fn ready(&self) -> bool {
        self.rounding == Rounding::NearestEven && self.flags & NX != 0
    }
}

host!(F32, f32, u32);
host!(F64, f64, u64);
