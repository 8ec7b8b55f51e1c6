//! Sections, and the parts of them whose size depends on addresses: alignments and branches.
//!
//! Sizes are determined as GNU `as` and `ld` do it. `as` relaxes branches with each alignment of code at its largest size, in
//! passes over the section that use the addresses of the previous pass for what comes later; `ld` then cuts the alignments.

use super::error::Pos;
use super::expr::{Expr, Place};

/// A part whose size varies.
#[derive(Debug)]
pub(super) struct Point {
    /// Fixed bytes of the section before it.
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) kind: PointKind,
    pub(super) at: Pos,
}

#[derive(Debug)]
pub(super) enum PointKind {
    /// Padding to a multiple of `to`, unless it needs more than `max` bytes. What the linker cuts has no maximum.
    Align { to: u64, fill: Fill, max: u64, cut: Option<u64> },
    /// A jump or branch: its word, whether it may have 16 bits, whether it is a jump.
    Branch { word: u32, short: bool, jump: bool, target: Expr },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Instructions that do nothing.
    Nops,
    /// A pattern of this many bytes.
    Bytes(u64, u8),
}

/// What a fixed word or datum still needs.
#[derive(Debug)]
pub(super) struct Fixup {
    pub(super) place: Place,
    pub(super) kind: FixupKind,
    pub(super) expr: Expr,
    pub(super) at: Pos,
}

/// Which bits, and whether they belong to a load's or a store's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FixupKind {
    /// Little-endian data of so many bytes.
    Data(u8),
    Hi,
    Lo,
    LoStore,
    PcrelHi,
    /// The expression is the address of the instruction with the upper part.
    PcrelLo,
    PcrelLoStore,
}

/// A statement's place, for the table of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) point: u32,
    pub(super) offset: u64,
    pub(super) at: Pos,
}

#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) write: bool,
    pub(super) exec: bool,
    /// Zero at the start, so without contents.
    pub(super) zero: bool,
    /// Not part of the program: debug information, notes.
    pub(super) dropped: bool,
    pub(super) align: u64,
    pub(super) data: Vec<u8>,
    /// Fixed bytes; those of `data` if the section has contents.
    pub(super) length: u64,
    pub(super) points: Vec<Point>,
    /// Bytes of all points before each one, and at the end of all.
    pub(super) shifts: Vec<u64>,
    pub(super) fixups: Vec<Fixup>,
    pub(super) marks: Vec<Mark>,
    /// The address, when it is linked.
    pub(super) base: u64,
}

/// Reach of a 16-bit branch and jump and of a branch, in bytes.
const SHORT_BRANCH: i64 = 1 << 9;
const SHORT_JUMP: i64 = 1 << 12;
const BRANCH: i64 = 1 << 13;
/// Passes until branches only grow, and until all have their largest size.
const MAX_PASSES: usize = 300;

impl Section {
    pub(super) fn here(&self, section: u32) -> Place {
        Place { section, point: self.points.len() as u32, offset: self.length }
    }

    pub(super) fn offset_of(&self, point: u32, offset: u64) -> u64 {
        offset + self.shifts.get(point as usize).copied().unwrap_or(0)
    }

    pub(super) fn size(&self) -> u64 {
        self.length + self.shifts.last().copied().unwrap_or(0)
    }

    /// Determines the sizes as `as` does. `targets` has the place of each branch's target if it is in this section.
    pub(super) fn relax(&mut self, targets: &[Option<Place>]) {
        let count = self.points.len();
        self.shifts = vec![0; count + 1];
        let mut shift = 0;
        for (k, target) in targets.iter().enumerate() {
            self.shifts[k] = shift;
            // The addresses of what comes later are not known yet: they count from zero.
            let target = target.map(|t| match t.point as usize > k {
                true => t.offset.wrapping_sub(self.points[t.point as usize - 1].offset),
                false => self.shifts[t.point as usize].wrapping_add(t.offset),
            });
            self.points[k].size = self.points[k].measure(shift, target);
            shift += self.points[k].size;
        }
        self.shifts[count] = shift;
        for pass in 0.. {
            let (mut changed, mut stretch) = (false, 0u64);
            for (k, target) in targets.iter().enumerate() {
                self.shifts[k] = self.shifts[k].wrapping_add(stretch);
                let target = target.map(|t| self.shifts[t.point as usize].wrapping_add(t.offset));
                let point = &mut self.points[k];
                let is_branch = matches!(point.kind, PointKind::Branch { .. });
                let size = match is_branch && pass >= MAX_PASSES {
                    true => point.measure(self.shifts[k], None),
                    false => point.measure(self.shifts[k], target),
                };
                changed |= size != point.size;
                stretch = stretch.wrapping_add(size).wrapping_sub(point.size);
                point.size = size;
            }
            self.shifts[count] = self.shifts[count].wrapping_add(stretch);
            if !changed {
                return;
            }
        }
    }

    /// Cuts the alignments as `ld` does, now that the section has an address. Returns those that are too small.
    pub(super) fn cut(&mut self) -> Vec<(Pos, u64)> {
        let (mut shift, mut wrong) = (0, Vec::new());
        for (k, point) in self.points.iter_mut().enumerate() {
            self.shifts[k] = shift;
            if let PointKind::Align { to, cut: Some(largest), .. } = point.kind {
                let address = self.base.wrapping_add(point.offset + shift);
                point.size = address.wrapping_neg() & (to - 1);
                if point.size > largest {
                    wrong.push((point.at, to));
                }
            }
            shift += point.size;
        }
        if let Some(last) = self.shifts.last_mut() {
            *last = shift;
        }
        wrong
    }
}

impl Point {
    /// The size where `shift` bytes of points come before, and for a branch the target is at this offset.
    fn measure(&self, shift: u64, target: Option<u64>) -> u64 {
        let offset = self.offset.wrapping_add(shift);
        match self.kind {
            PointKind::Align { cut: Some(largest), .. } => largest,
            PointKind::Align { to, max, .. } => {
                let size = offset.wrapping_neg() & (to - 1);
                if max != 0 && size > max { 0 } else { size }
            }
            PointKind::Branch { short, jump, .. } => {
                let distance = target.map(|target| target.wrapping_sub(offset) as i64);
                let within = |range: i64| distance.is_some_and(|d| (-range / 2..range / 2).contains(&d));
                if short && within(if jump { SHORT_JUMP } else { SHORT_BRANCH }) {
                    2
                } else if jump || within(BRANCH) {
                    4
                } else if short && distance.is_some() {
                    6
                } else {
                    8
                }
            }
        }
    }
}

/// The padding of an alignment of code. The assembler writes `largest` bytes, the short instruction first; the linker, if
/// it keeps fewer of them, writes its own over them, the short one last, and of odd sizes a part of it.
pub(super) fn nops(size: u64, largest: Option<u64>, out: &mut Vec<u8>) {
    const NOP: [u8; 4] = [0x13, 0, 0, 0];
    const SHORT_NOP: [u8; 2] = [1, 0];
    let start = out.len();
    let written = largest.unwrap_or(size);
    out.extend((0..written % 2).map(|_| 0));
    out.extend(SHORT_NOP.iter().filter(|_| written % 4 >= 2));
    (0..written / 4).for_each(|_| out.extend(NOP));
    if size == written {
        return;
    }
    out.resize(start + written.max(size + 2) as usize, 0);
    let mut at = start;
    for _ in 0..size / 4 {
        out[at..at + 4].copy_from_slice(&NOP);
        at += 4;
    }
    if !size.is_multiple_of(4) {
        out[at..at + 2].copy_from_slice(&SHORT_NOP);
    }
    out.truncate(start + size as usize);
}

/// Bytes of one value; `size` need not be a multiple of its width.
pub(super) fn padding(value: u64, width: u8, size: u64, out: &mut Vec<u8>) {
    let width = u64::from(width);
    out.extend((0..size % width).map(|_| 0));
    (0..size / width).for_each(|_| out.extend(&value.to_le_bytes()[..width as usize]));
}
