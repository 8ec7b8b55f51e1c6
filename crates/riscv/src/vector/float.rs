//! Floating-point arithmetic (31.13). Elements of 16 bits need Zvfh, but for two conversions Zvfhmin.

use super::{Lane, Legal, Unit, mask, require};
use crate::fp::{Compare, F16, F32, F64, Float, Rounding, classify, sign_inject};
use crate::isa::Extension;

impl Unit<'_> {
    /// The size of elements that are floating-point numbers.
    fn float(&self) -> Option<u32> {
        self.fpu()?;
        let half = self.kind.sew == 1 && self.isa.has(Extension::Zvfh);
        (half || self.kind.sew >= 2).then_some(self.kind.sew)
    }
}

/// Does the same for each format, by the size of its elements; other sizes are illegal.
macro_rules! by_format {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = F16;
                $body
            }
            2 => {
                type $T = F32;
                $body
            }
            3 => {
                type $T = F64;
                $body
            }
            _ => None,
        }
    };
}

/// The same for a format and the one twice as wide, by the size of the narrow one.
macro_rules! by_formats {
    ($size:expr, $N:ident $W:ident => $body:expr) => {
        match $size {
            1 => {
                type $N = F16;
                type $W = F32;
                $body
            }
            2 => {
                type $N = F32;
                type $W = F64;
                $body
            }
            _ => None,
        }
    };
}

/// Elements of the same width: `e` rounds and has the flags; `a`, `b` and `d` are the second and the first source and the old value
/// of the destination, as floating-point registers hold them.
macro_rules! same {
    ($each:ident: $($name:ident $T:ident |$e:ident, $a:ident, $b:ident, $d:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            let size = u.float()?;
            u.same_width()?;
            by_format!(size, $T => u.$each::<{ $T::BYTES }, { $T::BYTES }, { $T::BYTES }>(u.lane($T::BYTES), &mut |l: &mut Lane, a: u64, b: u64, d: u64| {
                let ($e, $a, $b, $d) = (&mut l.fpu, $T::boxed(a), $T::boxed(b), $T::boxed(d));
                $value
            }))
        })*
    };
}

same! { each:
    fadd T |e, a, b, _d| e.add::<T>(a, b);
    fsub T |e, a, b, _d| e.sub::<T>(a, b);
    fmul T |e, a, b, _d| e.mul::<T>(a, b);
    fmacc T |e, a, b, d| e.fma::<T>(b, a, d, false, false);
    fnmacc T |e, a, b, d| e.fma::<T>(b, a, d, true, true);
    fmsac T |e, a, b, d| e.fma::<T>(b, a, d, false, true);
    fnmsac T |e, a, b, d| e.fma::<T>(b, a, d, true, false);
    fmadd T |e, a, b, d| e.fma::<T>(b, d, a, false, false);
    fmin T |e, a, b, _d| e.min_max::<T>(a, b, false);
    fmax T |e, a, b, _d| e.min_max::<T>(a, b, true);
    fsgnj T |_e, a, b, _d| sign_inject::<T>(a, b, |_, t| t);
    fsgnjn T |_e, a, b, _d| sign_inject::<T>(a, b, |_, t| !t);
    fsgnjx T |_e, a, b, _d| sign_inject::<T>(a, b, |s, t| s ^ t);
}

same! { each_rare:
    frsub T |e, a, b, _d| e.sub::<T>(b, a);
    fdiv T |e, a, b, _d| e.div::<T>(a, b);
    frdiv T |e, a, b, _d| e.div::<T>(b, a);
    fnmadd T |e, a, b, d| e.fma::<T>(b, d, a, true, true);
    fmsub T |e, a, b, d| e.fma::<T>(b, d, a, false, true);
    fnmsub T |e, a, b, d| e.fma::<T>(b, d, a, true, false);
    fsqrt T |e, a, _b, _d| e.sqrt::<T>(a);
    frec7 T |e, a, _b, _d| e.reciprocal::<T>(a);
    frsqrt7 T |e, a, _b, _d| e.reciprocal_root::<T>(a);
    fclass T |_e, a, _b, _d| classify::<T>(a);
}

/// Comparisons, which yield a mask.
macro_rules! compare {
    ($($name:ident $T:ident |$e:ident, $a:ident, $b:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            let size = u.float()?;
            u.to_mask()?;
            by_format!(size, $T => u.bits::<{ $T::BYTES }>(false, u.lane($T::BYTES), |l, a, b, _| {
                let ($e, $a, $b) = (&mut l.fpu, $T::boxed(a), $T::boxed(b));
                $value != 0
            }))
        })*
    };
}

compare! {
    mfeq T |e, a, b| e.compare::<T>(a, b, Compare::Eq);
    mfne T |e, a, b| e.compare::<T>(a, b, Compare::Eq) ^ 1;
    mflt T |e, a, b| e.compare::<T>(a, b, Compare::Lt);
    mfle T |e, a, b| e.compare::<T>(a, b, Compare::Le);
    mfgt T |e, a, b| e.compare::<T>(b, a, Compare::Lt);
    mfge T |e, a, b| e.compare::<T>(b, a, Compare::Le);
}

/// A destination twice as wide. The sources are converted first, but the second one with `w`, which is as wide already.
macro_rules! widen {
    ($($name:ident $second:ident $W:ident |$e:ident, $a:ident, $b:ident, $d:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            let size = u.float()?;
            u.widening(widen!(is_wide $second))?;
            by_formats!(size, N $W => u.each::<{ $W::BYTES }, { widen!(bytes $second N $W) }, { N::BYTES }>(u.lane(N::BYTES), |l, a, b, d| {
                let $e = &mut l.fpu;
                let $a = widen!($second $e N $W a);
                let ($b, $d) = ($e.convert::<N, $W>(N::boxed(b)), $W::boxed(d));
                $value
            }))
        })*
    };
    (is_wide w) => { true };
    (is_wide n) => { false };
    (bytes w $N:ident $W:ident) => { $W::BYTES };
    (bytes n $N:ident $W:ident) => { $N::BYTES };
    (w $e:ident $N:ident $W:ident $a:ident) => { $W::boxed($a) };
    (n $e:ident $N:ident $W:ident $a:ident) => { $e.convert::<$N, $W>($N::boxed($a)) };
}

widen! {
    fwadd n W |e, a, b, _d| e.add::<W>(a, b);
    fwsub n W |e, a, b, _d| e.sub::<W>(a, b);
    fwadd_w w W |e, a, b, _d| e.add::<W>(a, b);
    fwsub_w w W |e, a, b, _d| e.sub::<W>(a, b);
    fwmul n W |e, a, b, _d| e.mul::<W>(a, b);
    fwmacc n W |e, a, b, d| e.fma::<W>(a, b, d, false, false);
    fwnmacc n W |e, a, b, d| e.fma::<W>(a, b, d, true, true);
    fwmsac n W |e, a, b, d| e.fma::<W>(a, b, d, false, true);
    fwnmsac n W |e, a, b, d| e.fma::<W>(a, b, d, true, false);
}

/// Conversions between integers and floating point of one width, which `$e.$method::<T>(element)` does.
macro_rules! convert {
    ($($name:ident |$l:ident, $T:ident, $a:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            let size = u.float()?;
            u.same_width()?;
            by_format!(size, $T => u.each_rare::<{ $T::BYTES }, { $T::BYTES }, { $T::BYTES }>(u.lane($T::BYTES), &mut |$l: &mut Lane, $a, _, _| $value))
        })*
    };
}

convert! {
    fcvt_xu_f |l, T, a| l.fpu.float_to_int::<T>(T::boxed(a), l.width, false);
    fcvt_x_f |l, T, a| l.fpu.float_to_int::<T>(T::boxed(a), l.width, true);
    fcvt_rtz_xu_f |l, T, a| l.fpu.towards_zero().float_to_int::<T>(T::boxed(a), l.width, false);
    fcvt_rtz_x_f |l, T, a| l.fpu.towards_zero().float_to_int::<T>(T::boxed(a), l.width, true);
    fcvt_f_xu |l, T, a| l.fpu.int_to_float::<T>(a, false);
    fcvt_f_x |l, T, a| l.fpu.int_to_float::<T>(l.signed(a) as u64, true);
}

impl crate::fp::Fpu {
    /// Rounds towards zero from here on: so do all elements of an instruction.
    fn towards_zero(&mut self) -> &mut Self {
        self.rounding = Rounding::TowardZero;
        self
    }
}

/// The format of numbers of this size may be used in conversions to another width.
fn has(u: &Unit<'_>, size: u32, half: Extension) -> Legal {
    u.fpu()?;
    require(size > 1 || u.isa.has(half))
}

/// Conversions to elements twice as wide; the format is that of the floating-point side.
macro_rules! convert_widening {
    ($($name:ident $from:tt |$l:ident, $T:ident, $a:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            let wide = u.widening(false)?.sew;
            let size = if $from { u.kind.sew } else { wide };
            has(u, size, Extension::Zvfh)?;
            convert_widening!($from u size $T |$l, $a| $value)
        })*
    };
    (true $u:ident $size:ident $T:ident |$l:ident, $a:ident| $value:expr) => {
        by_formats!($size, $T W => $u.each_rare::<{ W::BYTES }, { $T::BYTES }, { $T::BYTES }>(
            $u.lane($T::BYTES),
            &mut |$l: &mut Lane, $a, _, _| $value,
        ))
    };
    (false $u:ident $size:ident $T:ident |$l:ident, $a:ident| $value:expr) => {
        by_format!($size, $T => $u.each_rare::<{ $T::BYTES }, { $T::BYTES / 2 }, { $T::BYTES / 2 }>(
            $u.lane($T::BYTES / 2),
            &mut |$l: &mut Lane, $a, _, _| $value,
        ))
    };
}

convert_widening! {
    fwcvt_xu_f true |l, T, a| l.fpu.float_to_int::<T>(T::boxed(a), 2 * l.width, false);
    fwcvt_x_f true |l, T, a| l.fpu.float_to_int::<T>(T::boxed(a), 2 * l.width, true);
    fwcvt_rtz_xu_f true |l, T, a| l.fpu.towards_zero().float_to_int::<T>(T::boxed(a), 2 * l.width, false);
    fwcvt_rtz_x_f true |l, T, a| l.fpu.towards_zero().float_to_int::<T>(T::boxed(a), 2 * l.width, true);
    fwcvt_f_xu false |l, T, a| l.fpu.int_to_float::<T>(a, false);
    fwcvt_f_x false |l, T, a| l.fpu.int_to_float::<T>(l.signed(a) as u64, true);
}

pub(crate) fn fwcvt_f_f(u: &mut Unit<'_>) -> Legal {
    u.widening(false)?;
    has(u, u.kind.sew, Extension::Zvfhmin)?;
    by_formats!(u.kind.sew, N W => u.each_rare::<{ W::BYTES }, { N::BYTES }, { N::BYTES }>(
        u.lane(N::BYTES),
        &mut |l: &mut Lane, a, _, _| l.fpu.convert::<N, W>(N::boxed(a)),
    ))
}

/// Conversions from elements twice as wide.
macro_rules! convert_narrowing {
    ($($name:ident $from:tt |$l:ident, $T:ident, $a:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            let wide = u.narrowing()?.sew;
            let size = if $from { wide } else { u.kind.sew };
            has(u, size, Extension::Zvfh)?;
            convert_narrowing!($from u size $T |$l, $a| $value)
        })*
    };
    (true $u:ident $size:ident $T:ident |$l:ident, $a:ident| $value:expr) => {
        by_format!($size, $T => $u.each_rare::<{ $T::BYTES / 2 }, { $T::BYTES }, { $T::BYTES / 2 }>(
            $u.lane($T::BYTES / 2),
            &mut |$l: &mut Lane, $a, _, _| $value,
        ))
    };
    (false $u:ident $size:ident $T:ident |$l:ident, $a:ident| $value:expr) => {
        by_formats!($size, $T W => $u.each_rare::<{ $T::BYTES }, { W::BYTES }, { $T::BYTES }>(
            $u.lane($T::BYTES),
            &mut |$l: &mut Lane, $a, _, _| $value,
        ))
    };
}

convert_narrowing! {
    fncvt_xu_f true |l, T, a| l.fpu.float_to_int::<T>(T::boxed(a), l.width, false);
    fncvt_x_f true |l, T, a| l.fpu.float_to_int::<T>(T::boxed(a), l.width, true);
    fncvt_rtz_xu_f true |l, T, a| l.fpu.towards_zero().float_to_int::<T>(T::boxed(a), l.width, false);
    fncvt_rtz_x_f true |l, T, a| l.fpu.towards_zero().float_to_int::<T>(T::boxed(a), l.width, true);
    fncvt_f_xu false |l, T, a| l.fpu.int_to_float::<T>(a, false);
    fncvt_f_x false |l, T, a| l.fpu.int_to_float::<T>(super::sign_extended(a, 2 * l.width) as u64, true);
}

pub(crate) fn fncvt_f_f(u: &mut Unit<'_>) -> Legal {
    u.narrowing()?;
    has(u, u.kind.sew, Extension::Zvfhmin)?;
    by_formats!(u.kind.sew, N W => u.each_rare::<{ N::BYTES }, { W::BYTES }, { N::BYTES }>(
        u.lane(N::BYTES),
        &mut |l: &mut Lane, a, _, _| l.fpu.convert::<W, N>(W::boxed(a)),
    ))
}

pub(crate) fn fncvt_rod_f_f(u: &mut Unit<'_>) -> Legal {
    u.narrowing()?;
    has(u, u.kind.sew, Extension::Zvfh)?;
    by_formats!(u.kind.sew, N W => u.each_rare::<{ N::BYTES }, { W::BYTES }, { N::BYTES }>(
        u.lane(N::BYTES),
        &mut |l: &mut Lane, a, _, _| l.fpu.convert_to_odd::<W, N>(W::boxed(a)),
    ))
}

/// Reductions. With no active element, an unordered sum makes a NaN the canonical one, and says if it is signaling (31.14.3
/// leaves the choice).
macro_rules! reduce {
    ($($name:ident $T:ident $canonical:literal |$e:ident, $sum:ident, $a:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            let size = u.float()?;
            by_format!(size, $T => u.reduce::<{ $T::BYTES }, { $T::BYTES }>(u.lane($T::BYTES), |l, sum, a| {
                let ($e, $sum, $a) = (&mut l.fpu, $T::boxed(sum), $T::boxed(a));
                bits::<$T>($value)
            }, |l, sum| if $canonical { canonical::<$T>(&mut l.fpu, sum) } else { sum }))
        })*
    };
}

reduce! {
    fredosum T false |e, sum, a| e.add::<T>(sum, a);
    fredusum T true |e, sum, a| e.add::<T>(sum, a);
    fredmin T false |e, sum, a| e.min_max::<T>(sum, a, false);
    fredmax T false |e, sum, a| e.min_max::<T>(sum, a, true);
}

/// The bits of a number without what a register has in front of them.
fn bits<T: Float>(register: u64) -> u64 {
    T::unbox(register)
}

/// A number as it is, or the canonical NaN.
fn canonical<T: Float>(fpu: &mut crate::fp::Fpu, bits: u64) -> u64 {
    if bits & !T::SIGN > T::INFINITY { T::unbox(fpu.convert::<T, T>(T::boxed(bits))) } else { bits }
}

/// Sums twice as wide as the elements.
fn wide_sum(u: &mut Unit<'_>, is_canonical: bool) -> Legal {
    let size = u.float()?;
    by_formats!(size, N W => u.reduce::<{ W::BYTES }, { N::BYTES }>(u.lane(N::BYTES), |l, sum, a| {
        let a = l.fpu.convert::<N, W>(N::boxed(a));
        bits::<W>(l.fpu.add::<W>(W::boxed(sum), a))
    }, |l, sum| if is_canonical { canonical::<W>(&mut l.fpu, sum) } else { sum }))
}

pub(crate) fn fwredosum(u: &mut Unit<'_>) -> Legal {
    wide_sum(u, false)
}

pub(crate) fn fwredusum(u: &mut Unit<'_>) -> Legal {
    wide_sum(u, true)
}

/// The scalar of an instruction with elements of a size.
fn scalar(u: &Unit<'_>, size: u32) -> Option<u64> {
    by_format!(size, T => Some(T::unbox(u.scalar)))
}

/// `vfmv.f.s`.
pub(crate) fn move_to_float(u: &mut Unit<'_>) -> Legal {
    let size = u.float()?;
    let value = u.v.get(u.rs2, size, 0);
    u.result = by_format!(size, T => Some(T::boxed(value)));
    Some(())
}

/// `vfmv.s.f`.
pub(crate) fn move_from_float(u: &mut Unit<'_>) -> Legal {
    u.scalar = scalar(u, u.float()?)?;
    mask::move_from_integer(u)
}

/// `vfmerge.vfm` and `vfmv.v.f`.
pub(crate) fn fmerge(u: &mut Unit<'_>) -> Legal {
    u.float()?;
    super::integer::merge(u)
}

pub(crate) fn fslide1up(u: &mut Unit<'_>) -> Legal {
    let scalar = scalar(u, u.float()?)?;
    mask::slide_in_first(u, scalar)
}

pub(crate) fn fslide1down(u: &mut Unit<'_>) -> Legal {
    let scalar = scalar(u, u.float()?)?;
    mask::slide_in_last(u, scalar)
}
