//! Floating point: what F and D compute, with exact rounding and flags.
//!
//! The host's arithmetic is used where it is proved to give the same bits and flags (see [`fast`]), integer
//! arithmetic ([`soft`]) everywhere else.

mod estimate;
mod fast;
mod format;
mod further;
mod soft;

pub(crate) use format::{F16, F32, F64, Float, Fpu, NAN_BOX, NAN_BOX_HALF, Rounding};
pub(crate) use further::{CONSTANTS, constant};

use format::NV;
use soft::{Value, unpack};

/// Which way a comparison goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Lt,
    Le,
}

impl Fpu {
    /// Registers in, register out. Where the host's result has the same bits and raises nothing new, it is
    /// taken.
    #[inline(always)]
    fn two<T: Float>(
        &mut self,
        a: u64,
        b: u64,
        host: fn(&Fpu, u64, u64) -> Option<u64>,
        soft: fn(&mut Fpu, u64, u64) -> u64,
    ) -> u64 {
        let (a, b) = (T::unbox(a), T::unbox(b));
        T::boxed(match host(self, a, b) {
            Some(r) => r,
            None => soft(self, a, b),
        })
    }

    #[inline(always)]
    pub(crate) fn add<T: Float>(&mut self, a: u64, b: u64) -> u64 {
        self.two::<T>(a, b, T::add, soft::add::<T>)
    }

    #[inline(always)]
    pub(crate) fn sub<T: Float>(&mut self, a: u64, b: u64) -> u64 {
        // Subtraction is addition of the negated operand, except that a NaN keeps its kind.
        self.two::<T>(a, b, |f, a, b| T::add(f, a, b ^ T::SIGN), |f, a, b| soft::add::<T>(f, a, b ^ T::SIGN))
    }

    #[inline(always)]
    pub(crate) fn mul<T: Float>(&mut self, a: u64, b: u64) -> u64 {
        self.two::<T>(a, b, T::mul, soft::mul::<T>)
    }

    #[inline(always)]
    pub(crate) fn div<T: Float>(&mut self, a: u64, b: u64) -> u64 {
        self.two::<T>(a, b, T::div, soft::div::<T>)
    }

    #[inline(always)]
    pub(crate) fn sqrt<T: Float>(&mut self, a: u64) -> u64 {
        self.two::<T>(a, T::boxed(0), |f, a, _| T::sqrt(f, a), |f, a, _| soft::sqrt::<T>(f, a))
    }

    /// `±(a * b) ± c`, as the four fused instructions compute it.
    #[inline(always)]
    pub(crate) fn fma<T: Float>(&mut self, a: u64, b: u64, c: u64, negate: bool, subtract: bool) -> u64 {
        let flip = |on: bool| if on { T::SIGN } else { 0 };
        let (a, b, c) = (T::unbox(a) ^ flip(negate), T::unbox(b), T::unbox(c) ^ flip(subtract));
        T::boxed(match T::fma(self, a, b, c) {
            Some(r) => r,
            None => soft::fma::<T>(self, a, b, c),
        })
    }

    pub(crate) fn convert<S: Float, T: Float>(&mut self, a: u64) -> u64 {
        T::boxed(soft::convert::<S, T>(self, S::unbox(a)))
    }

    pub(crate) fn float_to_int<T: Float>(&mut self, a: u64, width: u32, signed: bool) -> u64 {
        soft::to_int::<T>(self, T::unbox(a), width, signed)
    }

    pub(crate) fn int_to_float<T: Float>(&mut self, a: u64, signed: bool) -> u64 {
        let negative = signed && (a as i64) < 0;
        let magnitude = if negative { a.wrapping_neg() } else { a };
        T::boxed(soft::from_int::<T>(self, negative, magnitude))
    }

    /// `fmin` and `fmax`: a number wins over a NaN, and -0 is less than +0.
    pub(crate) fn min_max<T: Float>(&mut self, a: u64, b: u64, max: bool) -> u64 {
        let (a, b) = (T::unbox(a), T::unbox(b));
        let (x, y) = (unpack::<T>(a), unpack::<T>(b));
        if [x, y].iter().any(|v| matches!(v, Value::Nan { signaling: true })) {
            self.flags |= NV;
        }
        T::boxed(match (x, y) {
            (Value::Nan { .. }, Value::Nan { .. }) => T::NAN,
            (Value::Nan { .. }, _) => b,
            (_, Value::Nan { .. }) => a,
            _ if (order::<T>(a) < order::<T>(b)) != max => a,
            _ => b,
        })
    }

    /// `feq` is quiet, `flt` and `fle` are not.
    pub(crate) fn compare<T: Float>(&mut self, a: u64, b: u64, compare: Compare) -> u64 {
        let (a, b) = (T::unbox(a), T::unbox(b));
        let nan = |v: u64| v & !T::SIGN > T::INFINITY;
        if nan(a) || nan(b) {
            let signaling = |v| matches!(unpack::<T>(v), Value::Nan { signaling: true });
            if compare != Compare::Eq || signaling(a) || signaling(b) {
                self.flags |= NV;
            }
            return 0;
        }
        let zeros = (a | b) & !T::SIGN == 0;
        u64::from(match compare {
            Compare::Eq => zeros || a == b,
            Compare::Lt => !zeros && order::<T>(a) < order::<T>(b),
            Compare::Le => zeros || order::<T>(a) <= order::<T>(b),
        })
    }
}

/// A number that orders as the floating-point value does, with -0 under +0.
fn order<T: Float>(v: u64) -> i64 {
    if v & T::SIGN != 0 { !((v ^ T::SIGN) as i64) } else { v as i64 }
}

/// `fsgnj` and its kin: the sign is a function of both signs.
pub(crate) fn sign_inject<T: Float>(a: u64, b: u64, sign: fn(bool, bool) -> bool) -> u64 {
    let (a, b) = (T::unbox(a), T::unbox(b));
    let s = sign(a & T::SIGN != 0, b & T::SIGN != 0);
    T::boxed(a & !T::SIGN | if s { T::SIGN } else { 0 })
}

/// `fclass`: one bit of ten.
pub(crate) fn classify<T: Float>(a: u64) -> u64 {
    let a = T::unbox(a);
    let subnormal = a & T::INFINITY == 0;
    1 << match unpack::<T>(a) {
        Value::Infinite(true) => 0,
        Value::Finite(n) if n.sign => 1 + u32::from(subnormal),
        Value::Zero(true) => 3,
        Value::Zero(false) => 4,
        Value::Finite(_) => 6 - u32::from(subnormal),
        Value::Infinite(false) => 7,
        Value::Nan { signaling: true } => 8,
        Value::Nan { signaling: false } => 9,
    }
}

#[cfg(test)]
mod tests;
