//! Masks (31.15) and permutations (31.16).

use super::{Legal, Source, Unit, aligned, apart, require, sign_extended};

/// Operations on the bits of masks, which are not masked themselves.
macro_rules! logical {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {
        $(pub(crate) fn $name(u: &mut Unit<'_>) -> Legal {
            for i in 0..u.vl() {
                let ($a, $b) = (u.v.bit(u.rs2, i), u.v.bit(u.rs1, i));
                u.v.set_bit(u.rd, i, $value);
            }
            Some(())
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
    mxnor |a, b| a == b;
}

/// `vcpop.m`: how many active elements of a mask are set.
pub(crate) fn count_mask(u: &mut Unit<'_>) -> Legal {
    u.result = Some((0..u.vl()).filter(|&i| u.is_active(i) && u.v.bit(u.rs2, i)).count() as u64);
    Some(())
}

/// The first active element of a mask that is set.
fn first_set(u: &Unit<'_>) -> Option<usize> {
    (0..u.vl()).find(|&i| u.is_active(i) && u.v.bit(u.rs2, i))
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
    moved(u, |_, i| Some(i as u64))
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

/// Gives each active element a value; `None` leaves it as it is.
fn moved(u: &mut Unit<'_>, mut value: impl FnMut(&Unit<'_>, usize) -> Option<u64>) -> Legal {
    for i in 0..u.vl() {
        if u.is_active(i)
            && let Some(value) = value(u, i)
        {
            u.v.set(u.rd, u.kind.sew, i, value);
        }
    }
    Some(())
}

impl Unit<'_> {
    /// An element of the second source by an index that can be too large: then it is 0.
    fn indexed(&self, index: u64) -> u64 {
        if index < self.vlmax() { self.v.get(self.rs2, self.kind.sew, index as usize) } else { 0 }
    }
}

pub(crate) fn slideup(u: &mut Unit<'_>) -> Legal {
    slides(u, true)?;
    let by = u.scalar;
    moved(u, |u, i| (i as u64).checked_sub(by).map(|from| u.indexed(from)))
}

pub(crate) fn slidedown(u: &mut Unit<'_>) -> Legal {
    slides(u, false)?;
    let by = u.scalar;
    moved(u, |u, i| Some(u.indexed(by.saturating_add(i as u64))))
}

/// Up by one, with a scalar as the first element.
pub(super) fn slide_in_first(u: &mut Unit<'_>, scalar: u64) -> Legal {
    slides(u, true)?;
    moved(u, |u, i| Some(i.checked_sub(1).map_or(scalar, |from| u.v.get(u.rs2, u.kind.sew, from))))
}

/// Down by one, with a scalar as the last element.
pub(super) fn slide_in_last(u: &mut Unit<'_>, scalar: u64) -> Legal {
    slides(u, false)?;
    let last = u.vl().wrapping_sub(1);
    moved(u, |u, i| Some(if i == last { scalar } else { u.v.get(u.rs2, u.kind.sew, i + 1) }))
}

pub(crate) fn slide1up(u: &mut Unit<'_>) -> Legal {
    slide_in_first(u, u.scalar)
}

pub(crate) fn slide1down(u: &mut Unit<'_>) -> Legal {
    slide_in_last(u, u.scalar)
}

pub(crate) fn rgather(u: &mut Unit<'_>) -> Legal {
    u.same_width()?;
    require(u.rd != u.rs2)?;
    if u.source == Source::Vector {
        require(u.rd != u.rs1)?;
        return moved(u, |u, i| Some(u.indexed(u.v.get(u.rs1, u.kind.sew, i))));
    }
    let value = u.indexed(u.scalar);
    moved(u, |_, _| Some(value))
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
    moved(u, |u, i| Some(u.indexed(u.v.get(u.rs1, 1, i))))
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
