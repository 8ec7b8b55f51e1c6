//! Loops over the elements of registers.
//!
//! An instruction takes its elements out of the registers a chunk at a time, computes, and puts the destination's chunk back as a
//! whole. All sizes are constants of the loop, so that the compiler can use the host's vectors. The registers of an instruction
//! overlap only where no element is written before another one is read from the same place (31.5.2): by chunks it is the same.

use super::{Lane, Legal, Source, Unit, aligned, apart, require};
use crate::fp::{F16, F32, Float};
use crate::vector_state::{Kind, Vector};

/// Elements that are done at a time.
const CHUNK: usize = 16;
/// All of them are active.
const ALL: u64 = (1 << CHUNK) - 1;

/// A chunk of elements of `S` bytes.
type Chunk<const S: usize> = [[u8; S]; CHUNK];

#[inline(always)]
fn number<const S: usize>(element: [u8; S]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..S].copy_from_slice(&element);
    u64::from_le_bytes(bytes)
}

#[inline(always)]
fn element<const S: usize>(number: u64) -> [u8; S] {
    let mut element = [0; S];
    element.copy_from_slice(&number.to_le_bytes()[..S]);
    element
}

/// Does the same for each width of elements, which are of `$S` bytes.
macro_rules! by_width {
    ($sew:expr, $S:ident => $body:expr) => {
        match $sew {
            0 => {
                const $S: usize = 1;
                $body
            }
            1 => {
                const $S: usize = 2;
                $body
            }
            2 => {
                const $S: usize = 4;
                $body
            }
            _ => {
                const $S: usize = 8;
                $body
            }
        }
    };
}
pub(super) use by_width;

/// The same with the size of elements twice as wide; the widest have none.
macro_rules! by_widths {
    ($sew:expr, $S:ident $W:ident => $body:expr) => {
        match $sew {
            0 => {
                const $S: usize = 1;
                const $W: usize = 2;
                $body
            }
            1 => {
                const $S: usize = 2;
                const $W: usize = 4;
                $body
            }
            2 => {
                const $S: usize = 4;
                const $W: usize = 8;
                $body
            }
            _ => None,
        }
    };
}
pub(super) use by_widths;

impl Vector {
    /// The elements of a group from one of them on, as many as fit; behind the last register they are zero.
    #[inline(always)]
    fn chunk<const S: usize>(&self, register: usize, start: usize) -> Chunk<S> {
        let from = register * self.vlenb / S + start;
        match self.regs.as_chunks().0.get(from..).and_then(<[_]>::first_chunk) {
            Some(chunk) => *chunk,
            None => self.last_chunk(from),
        }
    }

    #[cold]
    fn last_chunk<const S: usize>(&self, from: usize) -> Chunk<S> {
        let mut chunk = [[0; S]; CHUNK];
        let rest = self.regs.as_chunks().0.get(from..).unwrap_or_default();
        chunk[..rest.len()].copy_from_slice(rest);
        chunk
    }

    /// The inverse.
    #[inline(always)]
    fn set_chunk<const S: usize>(&mut self, register: usize, start: usize, chunk: &Chunk<S>) {
        let from = register * self.vlenb / S + start;
        match self.regs.as_chunks_mut().0.get_mut(from..).and_then(<[_]>::first_chunk_mut) {
            Some(place) => *place = *chunk,
            None => self.set_last_chunk(from, chunk),
        }
    }

    #[cold]
    fn set_last_chunk<const S: usize>(&mut self, from: usize, chunk: &Chunk<S>) {
        let rest = self.regs.as_chunks_mut().0.get_mut(from..).unwrap_or_default();
        rest.copy_from_slice(&chunk[..rest.len()]);
    }

    /// The bits of a mask for the chunk that begins with an element.
    #[inline(always)]
    fn mask_chunk(&self, register: usize, start: usize) -> u64 {
        let at = register * self.vlenb + start / 8;
        u64::from(u16::from_le_bytes([self.regs[at], self.regs[at + 1]]))
    }
}

const _: () = assert!(CHUNK == 16, "the bits of a mask for a chunk are two bytes");

impl Unit<'_> {
    /// The elements of the chunk from `start` on that are not in the tail.
    #[inline(always)]
    fn count(&self, start: usize) -> usize {
        (self.vl() - start).min(CHUNK)
    }

    /// Those of them that are not masked off, as bits.
    #[inline(always)]
    fn active(&self, start: usize) -> u64 {
        let mask = if self.masked { self.v.mask_chunk(0, start) } else { ALL };
        mask & ((1 << self.count(start)) - 1)
    }

    /// The first source as an element, if it is not a vector.
    #[inline(always)]
    fn splat<const S: usize>(&self) -> Option<[u8; S]> {
        match self.source {
            Source::Vector => None,
            Source::Float => Some(element(match S {
                2 => F16::unbox(self.scalar),
                4 => F32::unbox(self.scalar),
                _ => self.scalar,
            })),
            _ => Some(element(self.scalar)),
        }
    }

    #[inline(always)]
    fn first_source<const S: usize>(&self, splat: Option<[u8; S]>, start: usize) -> Chunk<S> {
        match splat {
            Some(element) => [element; CHUNK],
            None => self.v.chunk(self.rs1, start),
        }
    }

    /// Computes each active element from those of the second and the first source, and its old value. The sizes are those of the
    /// destination, the second and the first source; the lane has that of SEW.
    #[inline(always)]
    pub(super) fn each<const D: usize, const A: usize, const B: usize>(
        &mut self,
        mut lane: Lane,
        mut operation: impl FnMut(&mut Lane, u64, u64, u64) -> u64,
    ) -> Legal {
        let splat = self.splat::<B>();
        for start in (0..self.vl()).step_by(CHUNK) {
            let second = self.v.chunk::<A>(self.rs2, start);
            let first = self.first_source(splat, start);
            let mut result = self.v.chunk::<D>(self.rd, start);
            let (count, active) = (self.count(start), self.active(start));
            let mut one = |i: usize| {
                let value = operation(&mut lane, number(second[i]), number(first[i]), number(result[i]));
                result[i] = element(value);
            };
            if active == (1 << count) - 1 {
                (0..count).for_each(one);
            } else {
                (0..count).filter(|i| active >> i & 1 != 0).for_each(&mut one);
            }
            self.v.set_chunk(self.rd, start, &result);
        }
        self.finish(&lane)
    }

    /// The same, for operations that programs rarely have: they share one loop for each size, as a loop for each operation would
    /// take 6 kB of the program.
    #[inline(never)]
    pub(super) fn each_rare<const D: usize, const A: usize, const B: usize>(
        &mut self,
        lane: Lane,
        operation: &mut dyn FnMut(&mut Lane, u64, u64, u64) -> u64,
    ) -> Legal {
        self.each::<D, A, B>(lane, operation)
    }

    /// The same for elements that are not masked but have a bit of the mask as a third operand.
    #[inline(always)]
    pub(super) fn each_with_mask<const S: usize>(
        &mut self,
        operation: impl Fn(u64, u64, bool) -> u64,
    ) -> Legal {
        let splat = self.splat::<S>();
        for start in (0..self.vl()).step_by(CHUNK) {
            let second = self.v.chunk::<S>(self.rs2, start);
            let first = self.first_source(splat, start);
            let mut result = self.v.chunk::<S>(self.rd, start);
            let active = self.active(start);
            for i in 0..self.count(start) {
                result[i] = element(operation(number(second[i]), number(first[i]), active >> i & 1 != 0));
            }
            self.v.set_chunk(self.rd, start, &result);
        }
        Some(())
    }

    /// The registers of an instruction whose destination is a mask.
    pub(super) fn to_mask(&self) -> Legal {
        let Kind { lmul, .. } = self.kind;
        let vectors = [Some(self.rs2), (self.source == Source::Vector).then_some(self.rs1)];
        for register in vectors.into_iter().flatten() {
            require(self.rd == register || apart(self.rd, 0, register, lmul))?;
            aligned(register, lmul)?;
        }
        Some(())
    }

    /// A bit for each active element; the last operand of `operation` is the element's bit of the mask, by which a `carry` is not
    /// masked.
    #[inline(always)]
    pub(super) fn bits<const S: usize>(
        &mut self,
        carry: bool,
        mut lane: Lane,
        mut operation: impl FnMut(&mut Lane, u64, u64, bool) -> bool,
    ) -> Legal {
        let splat = self.splat::<S>();
        for start in (0..self.vl()).step_by(CHUNK) {
            let second = self.v.chunk::<S>(self.rs2, start);
            let first = self.first_source(splat, start);
            let (count, mut active) = (self.count(start), self.active(start));
            let mask = if self.masked { active } else { 0 };
            let all = (1 << count) - 1;
            if carry {
                active = all;
            }
            let mut one = |i: usize| {
                u64::from(operation(&mut lane, number(second[i]), number(first[i]), mask >> i & 1 != 0)) << i
            };
            let set = if active == all {
                (0..count).fold(0, |set, i| set | one(i))
            } else {
                (0..count).filter(|i| active >> i & 1 != 0).fold(0, |set, i| set | one(i))
            };
            let bits = self.v.mask_chunk(self.rd, start) & !active | set;
            let at = self.rd * self.v.vlenb + start / 8;
            self.v.regs[at..at + 2].copy_from_slice(&(bits as u16).to_le_bytes());
        }
        self.finish(&lane)
    }

    /// Reduces the active elements, beginning with the first element of the first source (31.14). The sizes are those of the result
    /// and of the elements.
    #[inline(always)]
    pub(super) fn reduce<const R: usize, const S: usize>(
        &mut self,
        mut lane: Lane,
        mut operation: impl FnMut(&mut Lane, u64, u64) -> u64,
        none: impl FnOnce(&mut Lane, u64) -> u64,
    ) -> Legal {
        aligned(self.rs2, self.kind.lmul)?;
        let (mut sum, mut empty) = (self.v.element::<R>(self.rs1, 0), true);
        for start in (0..self.vl()).step_by(CHUNK) {
            let elements = self.v.chunk::<S>(self.rs2, start);
            let active = self.active(start);
            for i in (0..self.count(start)).filter(|i| active >> i & 1 != 0) {
                sum = operation(&mut lane, sum, number(elements[i]));
            }
            empty &= active == 0;
        }
        if self.vl() > 0 {
            let sum = if empty { none(&mut lane, sum) } else { sum };
            self.v.set_element::<R>(self.rd, 0, sum);
        }
        self.finish(&lane)
    }

    /// Gives each active element a value by its index; `None` leaves it as it is. All values of a chunk are found before one is
    /// written.
    #[inline(always)]
    pub(super) fn moved<const S: usize>(
        &mut self,
        mut value: impl FnMut(&Vector, usize) -> Option<u64>,
    ) -> Legal {
        for start in (0..self.vl()).step_by(CHUNK) {
            let mut result = self.v.chunk::<S>(self.rd, start);
            let active = self.active(start);
            for i in (0..self.count(start)).filter(|i| active >> i & 1 != 0) {
                if let Some(value) = value(self.v, start + i) {
                    result[i] = element(value);
                }
            }
            self.v.set_chunk(self.rd, start, &result);
        }
        Some(())
    }
}

impl Vector {
    /// An element of the group that begins at a register.
    #[inline(always)]
    pub(super) fn element<const S: usize>(&self, register: usize, index: usize) -> u64 {
        self.regs.as_chunks().0.get(register * self.vlenb / S + index).map_or(0, |bytes| number::<S>(*bytes))
    }

    #[inline(always)]
    pub(super) fn set_element<const S: usize>(&mut self, register: usize, index: usize, value: u64) {
        if let Some(bytes) = self.regs.as_chunks_mut().0.get_mut(register * self.vlenb / S + index) {
            *bytes = element::<S>(value);
        }
    }
}
