//! IEEE 754 arithmetic on integers: exact results, rounded once, with all five flags.
//!
//! A number is taken apart into sign, exponent and a 128-bit significand whose top bit is set; every operation
//! computes the exact result (or one with a sticky lowest bit, which rounds the same) and hands it to
//! [`round`]. Tininess is detected after rounding, as RISC-V requires.

use super::format::{DZ, Float, Fpu, NV, NX, OF, Rounding, UF};

/// A finite, non-zero number: `sig / 2^127 * 2^exp`, with the top bit of `sig` set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) sign: bool,
    pub(super) exp: i32,
    pub(super) sig: u128,
}

/// The value of a bit pattern.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Zero(bool),
    Finite(Number),
    Infinite(bool),
    Nan { signaling: bool },
}

/// Takes a bit pattern apart.
pub(super) fn unpack<T: Float>(bits: u64) -> Value {
    let sign = bits >> (T::EXP_BITS + T::SIG_BITS) & 1 != 0;
    let exp = (bits >> T::SIG_BITS) as i32 & T::EXP_MAX;
    let sig = bits & ((1 << T::SIG_BITS) - 1);
    match (exp, sig) {
        (0, 0) => Value::Zero(sign),
        (e, 0) if e == T::EXP_MAX => Value::Infinite(sign),
        (e, s) if e == T::EXP_MAX => Value::Nan { signaling: s >> (T::SIG_BITS - 1) == 0 },
        (0, s) => Value::Finite(normalize(sign, 1 - T::BIAS, u128::from(s) << (127 - T::SIG_BITS))),
        (e, s) => Value::Finite(Number {
            sign,
            exp: e - T::BIAS,
            sig: u128::from(s | 1 << T::SIG_BITS) << (127 - T::SIG_BITS),
        }),
    }
}

/// Shifts the top bit of a non-zero significand into place.
fn normalize(sign: bool, exp: i32, sig: u128) -> Number {
    let shift = sig.leading_zeros();
    Number { sign, exp: exp - shift as i32, sig: sig << shift }
}

/// Shifts right and keeps in the lowest bit whether anything was lost.
fn shift_right_jam(sig: u128, by: u32) -> u128 {
    match by {
        0 => sig,
        1..=127 => sig >> by | u128::from(sig << (128 - by) != 0),
        _ => u128::from(sig != 0),
    }
}

/// Whether cutting `rest` off (`half` is half a unit of the last place) rounds away from zero.
fn rounds_up(rounding: Rounding, sign: bool, odd: bool, rest: u128, half: u128) -> bool {
    match rounding {
        Rounding::NearestEven => rest > half || rest == half && odd,
        Rounding::NearestMaxMagnitude => rest >= half,
        Rounding::TowardZero => false,
        Rounding::Down => sign && rest != 0,
        Rounding::Up => !sign && rest != 0,
    }
}

/// Rounds to the format and packs, raising overflow, underflow and inexact.
pub(super) fn round<T: Float>(fpu: &mut Fpu, n: Number) -> u64 {
    let sign_bit = u64::from(n.sign) << (T::EXP_BITS + T::SIG_BITS);
    let cut = 127 - T::SIG_BITS;
    let half = 1u128 << (cut - 1);
    let least = 1 - T::BIAS;
    let round_at = |sig: u128| -> (u64, bool) {
        let kept = (sig >> cut) as u64;
        let rest = sig & ((1 << cut) - 1);
        (kept + u64::from(rounds_up(fpu.rounding, n.sign, kept & 1 != 0, rest, half)), rest != 0)
    };
    if n.exp < least {
        // Subnormal: the significand loses its place before it is rounded.
        let (kept, inexact) = round_at(shift_right_jam(n.sig, (least - n.exp) as u32));
        if inexact {
            fpu.flags |= NX;
            // Tiny unless rounding with an unbounded exponent would have reached the least normal number.
            let (unbounded, _) = round_at(n.sig);
            if !(n.exp == least - 1 && unbounded >> (T::SIG_BITS + 1) != 0) {
                fpu.flags |= UF;
            }
        }
        // A carry into the exponent field makes the least normal number, as it should.
        return sign_bit | kept;
    }
    let (mut kept, inexact) = round_at(n.sig);
    let mut exp = n.exp;
    if kept >> (T::SIG_BITS + 1) != 0 {
        kept >>= 1;
        exp += 1;
    }
    if exp > T::BIAS {
        fpu.flags |= OF | NX;
        let to_infinity = match fpu.rounding {
            Rounding::NearestEven | Rounding::NearestMaxMagnitude => true,
            Rounding::TowardZero => false,
            Rounding::Down => n.sign,
            Rounding::Up => !n.sign,
        };
        return sign_bit | if to_infinity { T::INFINITY } else { T::INFINITY - 1 };
    }
    if inexact {
        fpu.flags |= NX;
    }
    sign_bit | ((exp + T::BIAS) as u64) << T::SIG_BITS | kept & ((1 << T::SIG_BITS) - 1)
}

fn zero<T: Float>(sign: bool) -> u64 {
    u64::from(sign) << (T::EXP_BITS + T::SIG_BITS)
}

fn infinity<T: Float>(sign: bool) -> u64 {
    zero::<T>(sign) | T::INFINITY
}

/// The canonical NaN for an operation without a result.
fn invalid<T: Float>(fpu: &mut Fpu) -> u64 {
    fpu.flags |= NV;
    T::NAN
}

/// The NaN that comes out when one went in; a signaling one is an invalid operation.
fn propagate<T: Float>(fpu: &mut Fpu, values: &[Value]) -> u64 {
    if values.iter().any(|v| matches!(v, Value::Nan { signaling: true })) {
        fpu.flags |= NV;
    }
    T::NAN
}

/// The exact sum (with a sticky bit), or `None` for an exact zero.
fn sum(a: Number, b: Number) -> Option<Number> {
    let (big, small) = if (a.exp, a.sig) >= (b.exp, b.sig) { (a, b) } else { (b, a) };
    let by = (big.exp - small.exp) as u32;
    // One bit of room for the carry. A bit of either significand can only be lost to the sticky bit when the
    // exponents differ by two or more, and then cancellation takes one bit at most.
    let (x, y) = (big.sig >> 1, shift_right_jam(small.sig, by.saturating_add(1)));
    let sig = if big.sign == small.sign { x + y } else { x - y };
    (sig != 0).then(|| normalize(big.sign, big.exp + 1, sig))
}

/// The sign of an exact zero that a sum yields.
fn zero_sum<T: Float>(fpu: &Fpu, a: bool, b: bool) -> u64 {
    zero::<T>(if a == b { a } else { fpu.rounding == Rounding::Down })
}

pub(super) fn add<T: Float>(fpu: &mut Fpu, a: u64, b: u64) -> u64 {
    let (x, y) = (unpack::<T>(a), unpack::<T>(b));
    match (x, y) {
        (Value::Nan { .. }, _) | (_, Value::Nan { .. }) => propagate::<T>(fpu, &[x, y]),
        (Value::Infinite(s), Value::Infinite(t)) if s != t => invalid::<T>(fpu),
        (Value::Infinite(s), _) | (_, Value::Infinite(s)) => infinity::<T>(s),
        (Value::Zero(s), Value::Zero(t)) => zero_sum::<T>(fpu, s, t),
        (Value::Zero(_), Value::Finite(_)) => b,
        (Value::Finite(_), Value::Zero(_)) => a,
        (Value::Finite(m), Value::Finite(n)) => match sum(m, n) {
            Some(s) => round::<T>(fpu, s),
            None => zero_sum::<T>(fpu, m.sign, n.sign),
        },
    }
}

/// The exact product: two significands of at most 53 bits give at most 106.
fn product(a: Number, b: Number) -> Number {
    let sig = (a.sig >> 64) * (b.sig >> 64);
    normalize(a.sign != b.sign, a.exp + b.exp + 1, sig)
}

pub(super) fn mul<T: Float>(fpu: &mut Fpu, a: u64, b: u64) -> u64 {
    let (x, y) = (unpack::<T>(a), unpack::<T>(b));
    match (x, y) {
        (Value::Nan { .. }, _) | (_, Value::Nan { .. }) => propagate::<T>(fpu, &[x, y]),
        (Value::Infinite(_), Value::Zero(_)) | (Value::Zero(_), Value::Infinite(_)) => invalid::<T>(fpu),
        (Value::Finite(m), Value::Finite(n)) => round::<T>(fpu, product(m, n)),
        _ => {
            let sign = (a ^ b) >> (T::EXP_BITS + T::SIG_BITS) & 1 != 0;
            let infinite = matches!(x, Value::Infinite(_)) || matches!(y, Value::Infinite(_));
            if infinite { infinity::<T>(sign) } else { zero::<T>(sign) }
        }
    }
}

pub(super) fn div<T: Float>(fpu: &mut Fpu, a: u64, b: u64) -> u64 {
    let (x, y) = (unpack::<T>(a), unpack::<T>(b));
    let sign = (a ^ b) >> (T::EXP_BITS + T::SIG_BITS) & 1 != 0;
    match (x, y) {
        (Value::Nan { .. }, _) | (_, Value::Nan { .. }) => propagate::<T>(fpu, &[x, y]),
        (Value::Infinite(_), Value::Infinite(_)) | (Value::Zero(_), Value::Zero(_)) => invalid::<T>(fpu),
        (Value::Infinite(_), _) => infinity::<T>(sign),
        (_, Value::Infinite(_)) | (Value::Zero(_), _) => zero::<T>(sign),
        (Value::Finite(_), Value::Zero(_)) => {
            fpu.flags |= DZ;
            infinity::<T>(sign)
        }
        (Value::Finite(m), Value::Finite(n)) => {
            // The quotient has at least 64 bits, more than any format keeps, and the remainder is the sticky bit.
            let (numerator, denominator) = (m.sig >> 1, n.sig >> 64);
            let quotient = (numerator / denominator) << 1 | u128::from(numerator % denominator != 0);
            // numerator / denominator = (m / n) * 2^63, and once more by two for the sticky bit.
            round::<T>(fpu, normalize(sign, m.exp - n.exp + 63, quotient))
        }
    }
}

pub(super) fn sqrt<T: Float>(fpu: &mut Fpu, a: u64) -> u64 {
    match unpack::<T>(a) {
        v @ Value::Nan { .. } => propagate::<T>(fpu, &[v]),
        Value::Zero(_) | Value::Infinite(false) => a,
        Value::Infinite(true) | Value::Finite(Number { sign: true, .. }) => invalid::<T>(fpu),
        Value::Finite(n) => {
            // An even exponent, so that it can be halved; the radicand keeps 126 or 127 bits, the root 63 or 64.
            let (radicand, exp) = if n.exp & 1 == 0 { (n.sig >> 1, n.exp) } else { (n.sig, n.exp - 1) };
            // value = radicand / 2^126 * 2^exp
            let root = radicand.isqrt();
            let sticky = u128::from(root * root != radicand);
            round::<T>(fpu, normalize(false, exp / 2 + 63, root << 1 | sticky))
        }
    }
}

/// `a * b + c`, rounded once.
pub(super) fn fma<T: Float>(fpu: &mut Fpu, a: u64, b: u64, c: u64) -> u64 {
    let (x, y, z) = (unpack::<T>(a), unpack::<T>(b), unpack::<T>(c));
    let sign = (a ^ b) >> (T::EXP_BITS + T::SIG_BITS) & 1 != 0;
    match (x, y, z) {
        // Infinity times zero is invalid even when the addend is a quiet NaN.
        (Value::Infinite(_), Value::Zero(_), _) | (Value::Zero(_), Value::Infinite(_), _) => {
            invalid::<T>(fpu)
        }
        (Value::Nan { .. }, _, _) | (_, Value::Nan { .. }, _) | (_, _, Value::Nan { .. }) => {
            propagate::<T>(fpu, &[x, y, z])
        }
        (Value::Infinite(_), _, Value::Infinite(s)) | (_, Value::Infinite(_), Value::Infinite(s))
            if s != sign =>
        {
            invalid::<T>(fpu)
        }
        (Value::Infinite(_), _, _) | (_, Value::Infinite(_), _) => infinity::<T>(sign),
        (_, _, Value::Infinite(s)) => infinity::<T>(s),
        (Value::Zero(_), _, Value::Zero(s)) | (_, Value::Zero(_), Value::Zero(s)) => {
            zero_sum::<T>(fpu, sign, s)
        }
        (Value::Zero(_), _, _) | (_, Value::Zero(_), _) => c,
        (Value::Finite(m), Value::Finite(n), Value::Zero(_)) => round::<T>(fpu, product(m, n)),
        (Value::Finite(m), Value::Finite(n), Value::Finite(o)) => match sum(product(m, n), o) {
            Some(s) => round::<T>(fpu, s),
            None => zero_sum::<T>(fpu, sign, o.sign),
        },
    }
}

pub(super) fn convert<S: Float, T: Float>(fpu: &mut Fpu, a: u64) -> u64 {
    match unpack::<S>(a) {
        v @ Value::Nan { .. } => propagate::<T>(fpu, &[v]),
        Value::Zero(s) => zero::<T>(s),
        Value::Infinite(s) => infinity::<T>(s),
        Value::Finite(n) => round::<T>(fpu, n),
    }
}

pub(super) fn from_int<T: Float>(fpu: &mut Fpu, sign: bool, magnitude: u64) -> u64 {
    if magnitude == 0 {
        return 0;
    }
    round::<T>(fpu, normalize(sign, 127, u128::from(magnitude)))
}

/// The integer of `width` bits, as RISC-V saturates it; sign-extended to 64 bits when `width` is 32.
pub(super) fn to_int<T: Float>(fpu: &mut Fpu, a: u64, width: u32, signed: bool) -> u64 {
    let (least, most): (i128, i128) =
        if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
    let extend = |v: i128| if width == 32 { v as i32 as u64 } else { v as u64 };
    let out_of_range = |fpu: &mut Fpu, negative: bool| {
        fpu.flags |= NV;
        extend(if negative { least } else { most })
    };
    match unpack::<T>(a) {
        Value::Nan { .. } => out_of_range(fpu, false),
        Value::Infinite(s) => out_of_range(fpu, s),
        Value::Zero(_) => 0,
        Value::Finite(n) if n.exp > 64 => out_of_range(fpu, n.sign),
        Value::Finite(n) => {
            // Two bits below the point, the lower one sticky, are enough to round.
            let fixed = shift_right_jam(n.sig, (125 - n.exp) as u32);
            let (whole, rest) = (fixed >> 2, fixed & 3);
            let up = rounds_up(fpu.rounding, n.sign, whole & 1 != 0, rest, 2);
            let magnitude = whole as i128 + i128::from(up);
            let value = if n.sign { -magnitude } else { magnitude };
            if value < least || value > most {
                return out_of_range(fpu, n.sign);
            }
            if rest != 0 {
                fpu.flags |= NX;
            }
            extend(value)
        }
    }
}
