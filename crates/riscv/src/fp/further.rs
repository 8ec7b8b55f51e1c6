//! Zfa: further floating-point operations (unprivileged specification, chapter 24).

use super::Compare;
use super::format::{F64, Float, Fpu, NV, NX, Rounding};
use super::soft::{self, Value, unpack};

/// The constants of `fli`, as the specification's table 50 orders and GNU `as` writes them.
pub(crate) const CONSTANTS: [&str; 32] = [
    "-1.0",
    "min",
    "1.52587890625e-05",
    "3.0517578125e-05",
    "0.00390625",
    "0.0078125",
    "0.0625",
    "0.125",
    "0.25",
    "0.3125",
    "0.375",
    "0.4375",
    "0.5",
    "0.625",
    "0.75",
    "0.875",
    "1.0",
    "1.25",
    "1.5",
    "1.75",
    "2.0",
    "2.5",
    "3.0",
    "4.0",
    "8.0",
    "16.0",
    "128.0",
    "256.0",
    "32768.0",
    "65536.0",
    "inf",
    "nan",
];

/// The register with a constant: the least positive normal number, infinity and the canonical NaN are those of the format.
pub(crate) fn constant<T: Float>(number: usize) -> u64 {
    let bits = match CONSTANTS.get(number).map(|text| text.parse::<f64>()) {
        Some(Ok(value)) if value.is_finite() => {
            let mut fpu = Fpu { rounding: Rounding::NearestEven, flags: 0 };
            soft::convert::<F64, T>(&mut fpu, value.to_bits())
        }
        Some(Ok(value)) if value.is_infinite() => T::INFINITY,
        Some(Ok(_)) => T::NAN,
        _ => 1 << T::SIG_BITS,
    };
    T::boxed(bits)
}

impl Fpu {
    /// `fminm` and `fmaxm`: a NaN wins over a number.
    pub(crate) fn min_max_nan<T: Float>(&mut self, a: u64, b: u64, max: bool) -> u64 {
        let is_nan = [a, b].map(|v| matches!(unpack::<T>(T::unbox(v)), Value::Nan { .. }));
        let result = self.min_max::<T>(a, b, max);
        if is_nan.contains(&true) { T::boxed(T::NAN) } else { result }
    }

    /// `fleq` and `fltq`: only a signaling NaN is invalid.
    pub(crate) fn compare_quietly<T: Float>(&mut self, a: u64, b: u64, compare: Compare) -> u64 {
        // Equality is quiet, and raises what these raise.
        let equal = self.compare::<T>(a, b, Compare::Eq);
        let mut flags = Fpu { flags: 0, ..*self };
        match compare {
            Compare::Eq => equal,
            compare => flags.compare::<T>(a, b, compare),
        }
    }

    /// `fround` and `froundnx`: the nearest integer in the same format; the latter says whether that was another number.
    pub(crate) fn round_to_integral<T: Float>(&mut self, a: u64, says_inexact: bool) -> u64 {
        let bits = T::unbox(a);
        let (sign, exp) = (bits & T::SIGN, (bits >> T::SIG_BITS) as i32 & T::EXP_MAX);
        if exp == T::EXP_MAX {
            let is_nan = bits & !T::SIGN > T::INFINITY;
            if matches!(unpack::<T>(bits), Value::Nan { signaling: true }) {
                self.flags |= NV;
            }
            return T::boxed(if is_nan { T::NAN } else { bits });
        }
        // Numbers this large are integers.
        if exp >= T::BIAS + T::SIG_BITS as i32 || bits == sign {
            return T::boxed(bits);
        }
        let mut flags = Fpu { flags: 0, ..*self };
        let whole = soft::to_int::<T>(&mut flags, bits, 64, true);
        if says_inexact {
            self.flags |= flags.flags & NX;
        }
        let magnitude = (whole as i64).unsigned_abs();
        // The sign of a zero is that of the number.
        T::boxed(soft::from_int::<T>(&mut flags, sign != 0, magnitude) | sign)
    }

    /// `fcvtmod.w.d`: towards zero, then the lower 32 bits, as JavaScript converts; flags as those of `fcvt.w.d`.
    pub(crate) fn float_to_int_modulo(&mut self, a: u64) -> u64 {
        let mut towards_zero = Fpu { rounding: Rounding::TowardZero, flags: 0 };
        soft::to_int::<F64>(&mut towards_zero, a, 32, true);
        self.flags |= towards_zero.flags;
        let Value::Finite(n) = unpack::<F64>(a) else { return 0 };
        // sig / 2^127 * 2^exp, whose bits from 2^32 on do not matter.
        let magnitude = match n.exp {
            exp if exp < 0 => 0,
            exp @ 0..=127 => n.sig >> (127 - exp),
            exp => n.sig.checked_shl((exp - 127) as u32).unwrap_or(0),
        } as u32;
        let value = if n.sign { magnitude.wrapping_neg() } else { magnitude };
        value as i32 as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::{F16, F32};
    use super::*;

    fn fpu() -> Fpu {
        Fpu { rounding: Rounding::NearestEven, flags: 0 }
    }

    #[test]
    fn constants_are_those_of_the_host() {
        for (number, text) in CONSTANTS.iter().enumerate() {
            let (double, single) = match *text {
                "min" => (f64::MIN_POSITIVE, f32::MIN_POSITIVE),
                "nan" => (f64::from_bits(F64::NAN), f32::from_bits(F32::NAN as u32)),
                text => (text.parse().unwrap(), text.parse().unwrap()),
            };
            assert_eq!(constant::<F64>(number), double.to_bits(), "{text}");
            assert_eq!(F32::unbox(constant::<F32>(number)), u64::from(single.to_bits()), "{text}");
        }
        // 2^-16 is subnormal in half precision, 2^16 too large (table 50).
        assert_eq!([2, 29, 30].map(|n| constant::<F16>(n) & 0xffff), [0x0100, 0x7c00, 0x7c00]);
    }

    #[test]
    fn numbers_are_rounded_to_integers_as_the_host_rounds_them() {
        for value in
            [0.0, -0.0, 0.4, -0.5, 0.5, 1.5, 2.5, -2.5, 3.7, 1e15, -1e300, f64::INFINITY, 4503599627370495.5]
        {
            let mut fpu = fpu();
            let rounded = fpu.round_to_integral::<F64>(f64::to_bits(value), true);
            assert_eq!(rounded, value.round_ties_even().to_bits(), "{value}");
            assert_eq!(fpu.flags & NX != 0, value.is_finite() && value.fract() != 0.0, "{value}");
        }
    }

    #[test]
    fn conversion_modulo_is_javascripts() {
        // ToInt32 of ECMA-262, 7.1.6.
        for (value, expected) in [
            (0.0, 0),
            (-1.9, -1),
            (4294967296.0, 0),
            (4294967297.0, 1),
            (2147483648.0, i32::MIN),
            (-2147483649.0, i32::MAX),
            (1e20, 1661992960),
            (f64::NAN, 0),
            (f64::INFINITY, 0),
            (1e300, 0),
        ] {
            assert_eq!(fpu().float_to_int_modulo(f64::to_bits(value)) as i32, expected, "{value}");
        }
    }

    #[test]
    fn a_nan_wins_over_a_number_and_quiet_comparisons_raise_nothing() {
        let (one, nan) = (1.0_f64.to_bits(), F64::NAN);
        assert_eq!(fpu().min_max_nan::<F64>(one, nan, true), nan);
        assert_eq!(fpu().min_max_nan::<F64>(one, 2.0_f64.to_bits(), true), 2.0_f64.to_bits());
        let mut quiet = fpu();
        assert_eq!((quiet.compare_quietly::<F64>(one, nan, Compare::Le), quiet.flags), (0, 0));
        assert_eq!(quiet.compare_quietly::<F64>(one, one, Compare::Le), 1);
        assert_eq!(quiet.compare_quietly::<F64>(nan ^ 3 << 51 | 1, one, Compare::Lt), 0);
    }
}
