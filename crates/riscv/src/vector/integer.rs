//! Integer and fixed-point arithmetic (31.11 and 31.12), and Zvbb.
//!
//! In a closure `a` and `b` are the elements of the second and the first source, and `d` is the old value, all
//! zero-extended; of the result the lowest bits count.

use super::elements::{by_width, by_widths};
use super::{Lane, Legal, Unit, aligned, apart, apart_or_top, require, sign_extended};

/// Elements of the same width, by a loop of `Unit`.
macro_rules! same {
    ($each:ident: $($name:ident |$l:ident, $a:ident, $b:ident, $d:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            u.same_width()?;
            by_width!(u.kind.sew, S => u.$each::<S, S, S>(u.lane(S), &mut |$l: &mut Lane, $a: u64, $b: u64, $d: u64| $value))
        })*
    };
}

same! { each:
    add |_l, a, b, _d| a.wrapping_add(b);
    sub |_l, a, b, _d| a.wrapping_sub(b);
    rsub |_l, a, b, _d| b.wrapping_sub(a);
    and |_l, a, b, _d| a & b;
    or |_l, a, b, _d| a | b;
    xor |_l, a, b, _d| a ^ b;
    minu |_l, a, b, _d| a.min(b);
    min |l, a, b, _d| if l.signed(a) < l.signed(b) { a } else { b };
    maxu |_l, a, b, _d| a.max(b);
    max |l, a, b, _d| if l.signed(a) < l.signed(b) { b } else { a };
    sll |l, a, b, _d| a << l.shift(b);
    srl |l, a, b, _d| a >> l.shift(b);
    sra |l, a, b, _d| (l.signed(a) >> l.shift(b)) as u64;
    mul |_l, a, b, _d| a.wrapping_mul(b);
    macc |_l, a, b, d| a.wrapping_mul(b).wrapping_add(d);
    nmsac |_l, a, b, d| d.wrapping_sub(a.wrapping_mul(b));
    madd |_l, a, b, d| d.wrapping_mul(b).wrapping_add(a);
    nmsub |_l, a, b, d| a.wrapping_sub(d.wrapping_mul(b));
    andn |_l, a, b, _d| a & !b;
}

same! { each_rare:
    mulhu |l, a, b, _d| ((u128::from(a) * u128::from(b)) >> l.width) as u64;
    mulh |l, a, b, _d| ((i128::from(l.signed(a)) * i128::from(l.signed(b))) >> l.width) as u64;
    mulhsu |l, a, b, _d| ((i128::from(l.signed(a)) * i128::from(b)) >> l.width) as u64;
    divu |_l, a, b, _d| a.checked_div(b).unwrap_or(u64::MAX);
    div |l, a, b, _d| if b == 0 { u64::MAX } else { l.signed(a).wrapping_div(l.signed(b)) as u64 };
    remu |_l, a, b, _d| a.checked_rem(b).unwrap_or(a);
    rem |l, a, b, _d| if b == 0 { a } else { l.signed(a).wrapping_rem(l.signed(b)) as u64 };
    saddu |l, a, b, _d| l.saturate_unsigned(i128::from(a) + i128::from(b));
    ssubu |l, a, b, _d| l.saturate_unsigned(i128::from(a) - i128::from(b));
    sadd |l, a, b, _d| l.saturate(i128::from(l.signed(a)) + i128::from(l.signed(b)));
    ssub |l, a, b, _d| l.saturate(i128::from(l.signed(a)) - i128::from(l.signed(b)));
    aaddu |l, a, b, _d| l.rounded(i128::from(a) + i128::from(b), 1) as u64;
    asubu |l, a, b, _d| l.rounded(i128::from(a) - i128::from(b), 1) as u64;
    aadd |l, a, b, _d| l.rounded(i128::from(l.signed(a)) + i128::from(l.signed(b)), 1) as u64;
    asub |l, a, b, _d| l.rounded(i128::from(l.signed(a)) - i128::from(l.signed(b)), 1) as u64;
    smul |l, a, b, _d| {
        let product = i128::from(l.signed(a)) * i128::from(l.signed(b));
        l.saturate(l.rounded(product, l.width - 1))
    };
    ssrl |l, a, b, _d| l.rounded(a.into(), l.shift(b)) as u64;
    ssra |l, a, b, _d| l.rounded(l.signed(a).into(), l.shift(b)) as u64;
    rol |l, a, b, _d| l.rotated_left(a, b);
    ror |l, a, b, _d| l.rotated_left(a, b.wrapping_neg());
    brev |l, a, _b, _d| a.reverse_bits() >> (64 - l.width);
    brev8 |_l, a, _b, _d| a.reverse_bits().swap_bytes();
    rev8 |l, a, _b, _d| a.swap_bytes() >> (64 - l.width);
    clz |l, a, _b, _d| u64::from(a.leading_zeros() + l.width - 64);
    ctz |l, a, _b, _d| u64::from(a.trailing_zeros().min(l.width));
    cpop |_l, a, _b, _d| u64::from(a.count_ones());
}

impl Lane {
    /// By how much an operation on one element shifts.
    #[inline(always)]
    fn shift(&self, by: u64) -> u32 {
        by as u32 & (self.width - 1)
    }

    fn rotated_left(&self, value: u64, by: u64) -> u64 {
        match self.shift(by) {
            0 => value,
            by => value << by | value >> (self.width - by),
        }
    }

    /// A value shifted to the right and rounded as `vxrm` says (31.3.8).
    fn rounded(&self, value: i128, by: u32) -> i128 {
        let unit = 1_i128 << by;
        let (half, lost, odd) = (unit >> 1, value & (unit - 1), value & unit != 0);
        let up = match self.rounding {
            0 => half != 0 && lost >= half,
            1 => half != 0 && (lost > half || lost == half && odd),
            2 => false,
            _ => lost != 0 && !odd,
        };
        (value >> by) + i128::from(up)
    }

    fn clamp(&mut self, value: i128, least: i128, most: i128) -> u64 {
        let clamped = value.clamp(least, most);
        self.saturated |= clamped != value;
        clamped as u64
    }

    /// The nearest value that a signed element can have.
    fn saturate(&mut self, value: i128) -> u64 {
        let most = (1 << (self.width - 1)) - 1;
        self.clamp(value, -most - 1, most)
    }

    fn saturate_unsigned(&mut self, value: i128) -> u64 {
        self.clamp(value, 0, (1 << self.width) - 1)
    }
}

/// A third operand from the mask: a selector or a carry. Without a mask, the selector is true.
macro_rules! with_mask {
    ($($name:ident |$a:ident, $b:ident, $bit:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            u.same_width()?;
            by_width!(u.kind.sew, S => u.each_with_mask::<S>(|$a, $b, $bit| $value))
        })*
    };
}

with_mask! {
    merge |a, b, bit| if bit { b } else { a };
    adc |a, b, bit| a.wrapping_add(b).wrapping_add(bit.into());
    sbc |a, b, bit| a.wrapping_sub(b).wrapping_sub(bit.into());
}

/// Comparisons, which yield a mask.
macro_rules! compare {
    ($($name:ident |$l:ident, $a:ident, $b:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            u.to_mask()?;
            by_width!(u.kind.sew, S => u.bits::<S>(false, u.lane(S), |$l, $a, $b, _| $value))
        })*
    };
}

compare! {
    mseq |_l, a, b| a == b;
    msne |_l, a, b| a != b;
    msltu |_l, a, b| a < b;
    mslt |l, a, b| l.signed(a) < l.signed(b);
    msleu |_l, a, b| a <= b;
    msle |l, a, b| l.signed(a) <= l.signed(b);
    msgtu |_l, a, b| a > b;
    msgt |l, a, b| l.signed(a) > l.signed(b);
}

pub(crate) fn madc(u: &mut Unit<'_>) -> Legal {
    u.to_mask()?;
    by_width!(u.kind.sew, S => u.bits::<S>(true, u.lane(S), |l, a, b, carry| {
        (u128::from(a) + u128::from(b) + u128::from(carry)) >> l.width != 0
    }))
}

pub(crate) fn msbc(u: &mut Unit<'_>) -> Legal {
    u.to_mask()?;
    by_width!(u.kind.sew, S => u.bits::<S>(true, u.lane(S), |_, a, b, borrow| {
        u128::from(a) < u128::from(b) + u128::from(borrow)
    }))
}

/// A destination twice as wide. The elements of the second and the first source are extended: `s` as signed, `u` as unsigned
/// numbers; `w` is a second source that is as wide already.
macro_rules! widen {
    ($($name:ident $second:ident $first:ident |$a:ident, $b:ident, $d:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            u.widening(widen!(is_wide $second))?;
            by_widths!(u.kind.sew, S W => u.each::<W, { widen!(size $second S W) }, S>(u.lane(S), |_l, a, b, $d| {
                let ($a, $b) = (widen!($second _l a), widen!($first _l b));
                $value
            }))
        })*
    };
    (size w $S:ident $W:ident) => { $W };
    (size $other:ident $S:ident $W:ident) => { $S };
    (is_wide w) => { true };
    (is_wide $other:ident) => { false };
    (s $l:ident $x:ident) => { $l.signed($x) as u64 };
    ($other:ident $l:ident $x:ident) => { $x };
}

widen! {
    waddu u u |a, b, _d| a.wrapping_add(b);
    wadd s s |a, b, _d| a.wrapping_add(b);
    wsubu u u |a, b, _d| a.wrapping_sub(b);
    wsub s s |a, b, _d| a.wrapping_sub(b);
    waddu_w w u |a, b, _d| a.wrapping_add(b);
    wadd_w w s |a, b, _d| a.wrapping_add(b);
    wsubu_w w u |a, b, _d| a.wrapping_sub(b);
    wsub_w w s |a, b, _d| a.wrapping_sub(b);
    wmulu u u |a, b, _d| a.wrapping_mul(b);
    wmulsu s u |a, b, _d| a.wrapping_mul(b);
    wmul s s |a, b, _d| a.wrapping_mul(b);
    wmaccu u u |a, b, d| a.wrapping_mul(b).wrapping_add(d);
    wmacc s s |a, b, d| a.wrapping_mul(b).wrapping_add(d);
    wmaccsu u s |a, b, d| a.wrapping_mul(b).wrapping_add(d);
    wmaccus s u |a, b, d| a.wrapping_mul(b).wrapping_add(d);
}

pub(crate) fn wsll(u: &mut Unit<'_>) -> Legal {
    u.widening(false)?;
    by_widths!(u.kind.sew, S W => u.each::<W, S, S>(u.lane(S), |l, a, b, _| {
        a << (b & u64::from(2 * l.width - 1))
    }))
}

/// A second source twice as wide.
macro_rules! narrow {
    ($each:ident: $($name:ident |$l:ident, $a:ident, $by:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            u.narrowing()?;
            by_widths!(u.kind.sew, S W => u.$each::<S, W, S>(u.lane(S), &mut |$l: &mut Lane, $a: u64, b: u64, _: u64| {
                let $by = b as u32 & (2 * $l.width - 1);
                $value
            }))
        })*
    };
}

narrow! { each:
    nsrl |_l, a, by| a >> by;
    nsra |l, a, by| (sign_extended(a, 2 * l.width) >> by) as u64;
}

narrow! { each_rare:
    nclipu |l, a, by| l.saturate_unsigned(l.rounded(a.into(), by));
    nclip |l, a, by| l.saturate(l.rounded(sign_extended(a, 2 * l.width).into(), by));
}

/// `vzext` and `vsext` from a half, a quarter or an eighth of the width, which is encoded where others have a register (31.11.3).
fn extend(u: &mut Unit<'_>, signed: bool) -> Legal {
    let by = 4 - (u.rs1 as u32 >> 1);
    let sew = u.kind.sew.checked_sub(by)?;
    let group = u.kind.lmul - by as i32;
    require(group >= -3 && u.rd != u.rs2)?;
    u.keeps_mask()?;
    aligned(u.rd, u.kind.lmul)?;
    aligned(u.rs2, group)?;
    require(match group {
        ..0 => apart(u.rd, u.kind.lmul, u.rs2, group),
        _ => apart_or_top(u.rd, u.kind.lmul, u.rs2, group),
    })?;
    match (sew, by) {
        (0, 1) => extend_elements::<2, 1>(u, signed),
        (0, 2) => extend_elements::<4, 1>(u, signed),
        (0, _) => extend_elements::<8, 1>(u, signed),
        (1, 1) => extend_elements::<4, 2>(u, signed),
        (1, _) => extend_elements::<8, 2>(u, signed),
        _ => extend_elements::<8, 4>(u, signed),
    }
}

fn extend_elements<const D: usize, const A: usize>(u: &mut Unit<'_>, signed: bool) -> Legal {
    let value = |a| if signed { sign_extended(a, 8 * A as u32) as u64 } else { a };
    u.each::<D, A, 1>(u.lane(D), |_, a, _, _| value(a))
}

pub(crate) fn zext(u: &mut Unit<'_>) -> Legal {
    extend(u, false)
}

pub(crate) fn sext(u: &mut Unit<'_>) -> Legal {
    extend(u, true)
}

/// Reductions to the width of an element.
macro_rules! reduce {
    ($($name:ident |$l:ident, $sum:ident, $a:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            by_width!(u.kind.sew, S => u.reduce::<S, S>(u.lane(S), |$l, $sum, $a| $value, |_, sum| sum))
        })*
    };
}

reduce! {
    redsum |_l, sum, a| sum.wrapping_add(a);
    redand |_l, sum, a| sum & a;
    redor |_l, sum, a| sum | a;
    redxor |_l, sum, a| sum ^ a;
    redminu |_l, sum, a| sum.min(a);
    redmin |l, sum, a| if l.signed(a) < l.signed(sum) { a } else { sum };
    redmaxu |_l, sum, a| sum.max(a);
    redmax |l, sum, a| if l.signed(a) > l.signed(sum) { a } else { sum };
}

/// A sum twice as wide as the elements.
fn wide_sum(u: &mut Unit<'_>, signed: bool) -> Legal {
    by_widths!(u.kind.sew, S W => u.reduce::<W, S>(
        u.lane(S),
        |l, sum, a| sum.wrapping_add(if signed { l.signed(a) as u64 } else { a }),
        |_, sum| sum,
    ))
}

pub(crate) fn wredsumu(u: &mut Unit<'_>) -> Legal {
    wide_sum(u, false)
}

pub(crate) fn wredsum(u: &mut Unit<'_>) -> Legal {
    wide_sum(u, true)
}
