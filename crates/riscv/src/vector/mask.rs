//! Masks (31.15) and permutations (31.16).

use super::elements::by_width;
use super::{Legal, Source, Unit, aligned, apart, require, sign_extended};
use crate::vector_state::Vector;

/// Operations on the bits of masks, which are not masked themselves.
macro_rules! logical {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            u.each_word(|$a, $b| $value)
        })*
    };
}

logical! {
    mandn |a, b| a & !b;
    mand |a, b| a & b;
    mor |a, b| a | b;
    mxor |a, b| a ^ b;
    morn |a, b| a | !b;
    mnand |a, b| !(a & b);
    mnor |a, b| !(a | b);
    mxnor |a, b| !(a ^ b);
}

impl Unit<'_> {
    /// A word of a mask, as far as it is not in the tail.
    fn word(&self, register: usize, word: usize) -> u64 {
        self.v.element::<8>(register, word) & self.body(word)
    }

    /// The bits of a word of a mask that are not in the tail.
    fn body(&self, word: usize) -> u64 {
        u64::MAX >> (64 - (self.vl() - 64 * word).min(64))
    }

    /// Computes the words of a mask from those of the second and the first source.
    #[inline(always)]
    fn each_word(&mut self, operation: impl Fn(u64, u64) -> u64) -> Legal {
        for word in 0..self.vl().div_ceil(64) {
            let value = operation(self.word(self.rs2, word), self.word(self.rs1, word));
            let (body, old) = (self.body(word), self.v.element::<8>(self.rd, word));
            self.v.set_element::<8>(self.rd, word, old & !body | value & body);
        }
        Some(())
    }

    /// The active elements of the second source, a mask, that are set.
    fn set_words(&self) -> impl Iterator<Item = u64> {
        (0..self.vl().div_ceil(64)).map(|word| {
            let active = if self.masked { self.word(0, word) } else { u64::MAX };
            self.word(self.rs2, word) & active
        })
    }
}

/// `vcpop.m`: how many active elements of a mask are set.
pub(crate) fn count_mask(u: &mut Unit<'_>) -> Legal {
    u.result = Some(u.set_words().map(|word| u64::from(word.count_ones())).sum());
    Some(())
}

/// The first active element of a mask that is set.
fn first_set(u: &Unit<'_>) -> Option<usize> {
    let mut words = u.set_words().enumerate();
    words.find(|(_, word)| *word != 0).map(|(n, word)| 64 * n + word.trailing_zeros() as usize)
}

/// `vfirst.m`: its index, or -1.
pub(crate) fn first(u: &mut Unit<'_>) -> Legal {
    u.result = Some(first_set(u).map_or(u64::MAX, |i| i as u64));
    Some(())
}

/// Sets the active elements before, at or up to the first one that is set.
fn set_by_first(u: &mut Unit<'_>, value: fn(usize, usize) -> bool) -> Legal {
    u.keeps_mask()?;
    require(u.rd != u.rs2)?;
    let first = first_set(u).unwrap_or(usize::MAX);
    for i in 0..u.vl() {
        if u.is_active(i) {
            u.v.set_bit(u.rd, i, value(i, first));
        }
    }
    Some(())
}

pub(crate) fn set_before(u: &mut Unit<'_>) -> Legal {
    set_by_first(u, |i, first| i < first)
}

pub(crate) fn set_including(u: &mut Unit<'_>) -> Legal {
    set_by_first(u, |i, first| i <= first)
}

pub(crate) fn set_only(u: &mut Unit<'_>) -> Legal {
    set_by_first(u, |i, first| i == first)
}

/// `viota.m`: how many elements of a mask before this one are set and active.
pub(crate) fn iota(u: &mut Unit<'_>) -> Legal {
    u.keeps_mask()?;
    aligned(u.rd, u.kind.lmul)?;
    require(apart(u.rd, u.kind.lmul, u.rs2, 0))?;
    let mut count = 0;
    for i in 0..u.vl() {
        if u.is_active(i) {
            u.v.set(u.rd, u.kind.sew, i, count);
            count += u64::from(u.v.bit(u.rs2, i));
        }
    }
    Some(())
}

/// `vid.v`: each element becomes its index.
pub(crate) fn id(u: &mut Unit<'_>) -> Legal {
    u.keeps_mask()?;
    aligned(u.rd, u.kind.lmul)?;
    by_width!(u.kind.sew, S => u.moved::<S>(|_, i| Some(i as u64)))
}

/// `vmv.x.s`.
pub(crate) fn move_to_integer(u: &mut Unit<'_>) -> Legal {
    let value = u.v.get(u.rs2, u.kind.sew, 0);
    u.result = Some(sign_extended(value, 8 << u.kind.sew) as u64);
    Some(())
}

/// `vmv.s.x`.
pub(crate) fn move_from_integer(u: &mut Unit<'_>) -> Legal {
    if u.vl() > 0 {
        u.v.set(u.rd, u.kind.sew, 0, u.scalar);
    }
    Some(())
}

/// `vmv1r.v` to `vmv8r.v`.
pub(crate) fn move_whole(u: &mut Unit<'_>) -> Legal {
    let (count, vlenb) = (u.rs1 + 1, u.v.vlenb);
    require((u.rd | u.rs2) & (count - 1) == 0)?;
    u.v.regs.copy_within(u.rs2 * vlenb..(u.rs2 + count) * vlenb, u.rd * vlenb);
    Some(())
}

fn slides(u: &Unit<'_>, up: bool) -> Legal {
    u.keeps_mask()?;
    aligned(u.rs2, u.kind.lmul)?;
    aligned(u.rd, u.kind.lmul)?;
    require(!up || u.rd != u.rs2)
}

/// An element of the second source by an index that can be too large: then it is 0.
#[inline(always)]
fn indexed<const S: usize>(v: &Vector, register: usize, index: u64, vlmax: u64) -> u64 {
    if index < vlmax { v.element::<S>(register, index as usize) } else { 0 }
}

pub(crate) fn slideup(u: &mut Unit<'_>) -> Legal {
    slides(u, true)?;
    let (by, from) = (u.scalar, u.rs2);
    by_width!(u.kind.sew, S => u.moved::<S>(|v, i| {
        (i as u64).checked_sub(by).map(|index| v.element::<S>(from, index as usize))
    }))
}

pub(crate) fn slidedown(u: &mut Unit<'_>) -> Legal {
    slides(u, false)?;
    let (by, from, vlmax) = (u.scalar, u.rs2, u.vlmax());
    by_width!(u.kind.sew, S => u.moved::<S>(|v, i| {
        Some(indexed::<S>(v, from, by.saturating_add(i as u64), vlmax))
    }))
}

/// Up by one, with a scalar as the first element.
pub(super) fn slide_in_first(u: &mut Unit<'_>, scalar: u64) -> Legal {
    slides(u, true)?;
    let from = u.rs2;
    by_width!(u.kind.sew, S => u.moved::<S>(|v, i| {
        Some(i.checked_sub(1).map_or(scalar, |index| v.element::<S>(from, index)))
    }))
}

/// Down by one, with a scalar as the last element.
pub(super) fn slide_in_last(u: &mut Unit<'_>, scalar: u64) -> Legal {
    slides(u, false)?;
    let (from, last) = (u.rs2, u.vl().wrapping_sub(1));
    by_width!(u.kind.sew, S => u.moved::<S>(|v, i| {
        Some(if i == last { scalar } else { v.element::<S>(from, i + 1) })
    }))
}

pub(crate) fn slide1up(u: &mut Unit<'_>) -> Legal {
    slide_in_first(u, u.scalar)
}

pub(crate) fn slide1down(u: &mut Unit<'_>) -> Legal {
    slide_in_last(u, u.scalar)
}

/// Gathers by indices of `I` bytes.
#[inline(always)]
fn gather<const S: usize, const I: usize>(u: &mut Unit<'_>) -> Legal {
    let (from, indices, vlmax) = (u.rs2, u.rs1, u.vlmax());
    u.moved::<S>(|v, i| Some(indexed::<S>(v, from, v.element::<I>(indices, i), vlmax)))
}

pub(crate) fn rgather(u: &mut Unit<'_>) -> Legal {
    u.same_width()?;
    require(u.rd != u.rs2)?;
    if u.source == Source::Vector {
        require(u.rd != u.rs1)?;
        return by_width!(u.kind.sew, S => gather::<S, S>(u));
    }
    let (index, from, vlmax) = (u.scalar, u.rs2, u.vlmax());
    by_width!(u.kind.sew, S => {
        let value = indexed::<S>(u.v, from, index, vlmax);
        u.moved::<S>(|_, _| Some(value))
    })
}

/// `vrgatherei16.vv`: the indices have 16 bits.
pub(crate) fn rgatherei16(u: &mut Unit<'_>) -> Legal {
    let group = u.kind.lmul + 1 - u.kind.sew as i32;
    require((-3..=3).contains(&group))?;
    u.keeps_mask()?;
    aligned(u.rd, u.kind.lmul)?;
    aligned(u.rs2, u.kind.lmul)?;
    aligned(u.rs1, group)?;
    require(u.rd != u.rs2 && apart(u.rd, u.kind.lmul, u.rs1, group))?;
    by_width!(u.kind.sew, S => gather::<S, 2>(u))
}

pub(crate) fn compress(u: &mut Unit<'_>) -> Legal {
    aligned(u.rd, u.kind.lmul)?;
    aligned(u.rs2, u.kind.lmul)?;
    require(u.rd != u.rs2 && apart(u.rd, u.kind.lmul, u.rs1, 0))?;
    let mut next = 0;
    for i in 0..u.vl() {
        if u.v.bit(u.rs1, i) {
            u.v.set(u.rd, u.kind.sew, next, u.v.get(u.rs2, u.kind.sew, i));
            next += 1;
        }
    }
    Some(())
}
