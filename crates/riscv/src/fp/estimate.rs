//! Estimates with seven bits, of reciprocals and of reciprocal square roots (unprivileged specification, 31.13.8 and 31.13.9).

use super::format::{DZ, Float, Fpu, NV, NX, OF, Rounding};
use super::soft::{Value, unpack};

/// The fraction of a reciprocal square root by the lowest bit of the exponent and the upper six bits of the fraction (table 45).
const ROOTS: [u8; 128] = [
    52, 51, 50, 48, 47, 46, 44, 43, 42, 41, 40, 39, 38, 36, 35, 34, 33, 32, 31, 30, 30, 29, 28, 27, 26, 25,
    24, 23, 23, 22, 21, 20, 19, 19, 18, 17, 16, 16, 15, 14, 14, 13, 12, 12, 11, 10, 10, 9, 9, 8, 7, 7, 6, 6,
    5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 127, 125, 123, 121, 119, 118, 116, 114, 113, 111, 109, 108, 106, 105, 103,
    102, 100, 99, 97, 96, 95, 93, 92, 91, 90, 88, 87, 86, 85, 84, 83, 82, 80, 79, 78, 77, 76, 75, 74, 73, 72,
    71, 70, 70, 69, 68, 67, 66, 65, 64, 63, 63, 62, 61, 60, 59, 59, 58, 57, 56, 56, 55, 54, 53,
];

/// The fraction of a reciprocal by the upper seven bits of the fraction (table 46).
const RECIPROCALS: [u8; 128] = [
    127, 125, 123, 121, 119, 117, 116, 114, 112, 110, 109, 107, 105, 104, 102, 100, 99, 97, 96, 94, 93, 91,
    90, 88, 87, 85, 84, 83, 81, 80, 79, 77, 76, 75, 74, 72, 71, 70, 69, 68, 66, 65, 64, 63, 62, 61, 60, 59,
    58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 40, 39, 38, 37, 36, 35, 35,
    34, 33, 32, 31, 31, 30, 29, 28, 28, 27, 26, 25, 25, 24, 23, 23, 22, 21, 21, 20, 19, 19, 18, 17, 17, 16,
    15, 15, 14, 14, 13, 12, 12, 11, 11, 10, 9, 9, 8, 8, 7, 7, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0,
];

/// The biased exponent, which is below 1 for a subnormal number, and the fraction of a number with its top bit removed.
fn parts<T: Float>(bits: u64) -> (i32, u64) {
    let fraction = (1 << T::SIG_BITS) - 1;
    match (bits >> T::SIG_BITS) as i32 & T::EXP_MAX {
        0 => {
            let shift = (bits & fraction).leading_zeros() - (63 - T::SIG_BITS);
            (1 - shift as i32, bits << shift & fraction)
        }
        exponent => (exponent, bits & fraction),
    }
}

impl Fpu {
    /// What both yield for a number of which there is no estimate.
    fn no_estimate<T: Float>(&mut self, value: Value) -> u64 {
        match value {
            Value::Zero(negative) => {
                self.flags |= DZ;
                T::INFINITY | if negative { T::SIGN } else { 0 }
            }
            Value::Infinite(negative) => {
                if negative {
                    T::SIGN
                } else {
                    0
                }
            }
            Value::Nan { signaling } => {
                self.flags |= if signaling { NV } else { 0 };
                T::NAN
            }
            Value::Finite(_) => T::NAN,
        }
    }

    /// `vfrec7`.
    pub(crate) fn reciprocal<T: Float>(&mut self, a: u64) -> u64 {
        let bits = T::unbox(a);
        let value = unpack::<T>(bits);
        let Value::Finite(number) = value else { return T::boxed(self.no_estimate::<T>(value)) };
        let sign = bits & T::SIGN;
        let (exponent, fraction) = parts::<T>(bits);
        if exponent < -1 {
            // The reciprocal is too large.
            self.flags |= OF | NX;
            let to_infinity = match self.rounding {
                Rounding::TowardZero => false,
                Rounding::Down => number.sign,
                Rounding::Up => !number.sign,
                _ => true,
            };
            return T::boxed(sign | if to_infinity { T::INFINITY } else { T::INFINITY - 1 });
        }
        let fraction = u64::from(RECIPROCALS[(fraction >> (T::SIG_BITS - 7)) as usize]) << (T::SIG_BITS - 7);
        let exponent = 2 * T::BIAS - 1 - exponent;
        T::boxed(
            sign | match exponent {
                1.. => (exponent as u64) << T::SIG_BITS | fraction,
                // A subnormal number.
                _ => (fraction >> 1 | 1 << (T::SIG_BITS - 1)) >> -exponent,
            },
        )
    }

    /// `vfrsqrt7`.
    pub(crate) fn reciprocal_root<T: Float>(&mut self, a: u64) -> u64 {
        let bits = T::unbox(a);
        let value = unpack::<T>(bits);
        let negative = match value {
            Value::Finite(number) => number.sign,
            Value::Infinite(negative) => negative,
            _ => false,
        };
        if negative {
            self.flags |= NV;
            return T::boxed(T::NAN);
        }
        if !matches!(value, Value::Finite(_)) {
            return T::boxed(self.no_estimate::<T>(value));
        }
        let (exponent, fraction) = parts::<T>(bits);
        let index = (exponent as u64 & 1) << 6 | fraction >> (T::SIG_BITS - 6);
        let fraction = u64::from(ROOTS[index as usize]) << (T::SIG_BITS - 7);
        T::boxed(((3 * T::BIAS - 1 - exponent) as u64 / 2) << T::SIG_BITS | fraction)
    }

    /// A conversion to a narrower format that rounds to odd: towards zero, and then the lowest bit says whether that was
    /// exact.
    pub(crate) fn convert_to_odd<S: Float, T: Float>(&mut self, a: u64) -> u64 {
        let mut exact = Fpu { rounding: Rounding::TowardZero, flags: 0 };
        let value = exact.convert::<S, T>(a);
        self.flags |= exact.flags;
        value | u64::from(exact.flags & NX)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{F16, F64};
    use super::*;

    #[test]
    fn estimates_are_as_close_as_the_specification_says() {
        // To within 1/128 of the value (31.13.8 and 31.13.9), over all numbers of half precision whose reciprocal is normal.
        let mut fpu = Fpu::NEAREST;
        let double = |half: u64| {
            let mut fpu = Fpu::NEAREST;
            f64::from_bits(fpu.convert::<F16, F64>(F16::boxed(half)))
        };
        for half in 1..0x7800 {
            let value = double(half);
            if half >= 0x200 {
                let reciprocal = double(fpu.reciprocal::<F16>(F16::boxed(half)) & 0xffff);
                assert!(
                    (reciprocal * value - 1.0).abs() < 1.0 / 128.0 || half > 0x7400,
                    "{half:#x} {reciprocal}"
                );
            }
            let root = double(fpu.reciprocal_root::<F16>(F16::boxed(half)) & 0xffff);
            assert!((root * value.sqrt() - 1.0).abs() < 1.0 / 128.0, "{half:#x} {root}");
        }
        assert_eq!(fpu.flags, 0);
    }
}
