//! The floating-point formats, rounding modes and flags.

/// Inexact.
pub(crate) const NX: u8 = 1;
/// Underflow.
pub(crate) const UF: u8 = 2;
/// Overflow.
pub(crate) const OF: u8 = 4;
/// Divide by zero.
pub(crate) const DZ: u8 = 8;
/// Invalid operation.
pub(crate) const NV: u8 = 16;

/// The upper half of a register that holds a single-precision value.
pub(crate) const NAN_BOX: u64 = 0xffff_ffff_0000_0000;

/// The upper part of a register that holds a half-precision value.
pub(crate) const NAN_BOX_HALF: u64 = 0xffff_ffff_ffff_0000;

/// How results are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    NearestEven,
    /// Towards zero.
    TowardZero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// To nearest, ties away from zero.
    NearestMaxMagnitude,
}

impl Rounding {
    /// From the encoding in an instruction or in `frm`; `None` for reserved ones.
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Rounding::NearestEven,
            1 => Rounding::TowardZero,
            2 => Rounding::Down,
            3 => Rounding::Up,
            4 => Rounding::NearestMaxMagnitude,
            _ => return None,
        })
    }
}

/// Host versions of the operations on bit patterns; `None` where they prove nothing.
pub(crate) trait Host {
    fn add(fpu: &Fpu, a: u64, b: u64) -> Option<u64>;
    fn mul(fpu: &Fpu, a: u64, b: u64) -> Option<u64>;
    fn div(fpu: &Fpu, a: u64, b: u64) -> Option<u64>;
    fn sqrt(fpu: &Fpu, a: u64) -> Option<u64>;
    fn fma(fpu: &Fpu, a: u64, b: u64, c: u64) -> Option<u64>;
}

/// A floating-point format.
pub(crate) trait Float: Host {
    const SIG_BITS: u32;
    const EXP_BITS: u32;
    const BYTES: usize = (1 + Self::EXP_BITS + Self::SIG_BITS) as usize / 8;
    const EXP_MAX: i32 = (1 << Self::EXP_BITS) - 1;
    const BIAS: i32 = Self::EXP_MAX >> 1;
    const INFINITY: u64 = (Self::EXP_MAX as u64) << Self::SIG_BITS;
    const SIGN: u64 = 1 << (Self::EXP_BITS + Self::SIG_BITS);
    /// The canonical NaN.
    const NAN: u64 = Self::INFINITY | 1 << (Self::SIG_BITS - 1);
    /// The value in a register; one that is not NaN-boxed counts as the canonical NaN.
    fn unbox(register: u64) -> u64;
    /// The register with a value.
    fn boxed(value: u64) -> u64;
}

/// Half precision.
pub(crate) enum F16 {}
/// Single precision.
pub(crate) enum F32 {}
/// Double precision.
pub(crate) enum F64 {}

/// Hosts have no arithmetic of this format that Rust would reach.
impl Host for F16 {
    fn add(_: &Fpu, _: u64, _: u64) -> Option<u64> {
        None
    }
    fn mul(_: &Fpu, _: u64, _: u64) -> Option<u64> {
        None
    }
    fn div(_: &Fpu, _: u64, _: u64) -> Option<u64> {
        None
    }
    fn sqrt(_: &Fpu, _: u64) -> Option<u64> {
        None
    }
    fn fma(_: &Fpu, _: u64, _: u64, _: u64) -> Option<u64> {
        None
    }
}

impl Float for F16 {
    const SIG_BITS: u32 = 10;
    const EXP_BITS: u32 = 5;

    fn unbox(register: u64) -> u64 {
        if register >= NAN_BOX_HALF { register & 0xffff } else { Self::NAN }
    }

    fn boxed(value: u64) -> u64 {
        value | NAN_BOX_HALF
    }
}

impl Float for F32 {
    const SIG_BITS: u32 = 23;
    const EXP_BITS: u32 = 8;

    #[inline(always)]
    fn unbox(register: u64) -> u64 {
        if register >= NAN_BOX { register & 0xffff_ffff } else { Self::NAN }
    }

    #[inline(always)]
    fn boxed(value: u64) -> u64 {
        value | NAN_BOX
    }
}

impl Float for F64 {
    const SIG_BITS: u32 = 52;
    const EXP_BITS: u32 = 11;

    #[inline(always)]
    fn unbox(register: u64) -> u64 {
        register
    }

    #[inline(always)]
    fn boxed(value: u64) -> u64 {
        value
    }
}

/// One operation's rounding mode, and the flags that operations raise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fpu {
    pub(crate) rounding: Rounding,
    /// Flags so far; operations only add to them.
    pub(crate) flags: u8,
}

impl Fpu {
    /// Rounds to the nearest number.
    pub(crate) const NEAREST: Self = Self { rounding: Rounding::NearestEven, flags: 0 };

    /// Rounds as `frm` says; `None` if that is reserved.
    pub(crate) fn dynamic(frm: u8) -> Option<Self> {
        Rounding::from_bits(frm).map(|rounding| Self { rounding, flags: 0 })
    }
}
