//! Where the fetch may go on wrong paths: whether it changes anything there.

use super::beyond::Beyond;
use super::predict::misread;
use crate::insn::{Class, Insn};

/// Code that the fetch may come to on a wrong path.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// An address of each line.
    pub(super) lines: Vec<u64>,
    /// The virtual addresses at which a known jump, by its last half, would be misread.
    pub(super) misread: Vec<u64>,
    /// In which state it was seen last whether coming there changes nothing, and what was seen.
    pub(super) seen: Option<u64>,
    pub(super) settled: bool,
}

/// Where the fetch may go behind the jumps of a run of instructions that are mispredicted.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// From these physical addresses on, so many bytes to the last instruction.
    pub(super) at: Vec<(u64, u64)>,
    /// Whether some of them is not known.
    pub(super) unknown: bool,
    pub(super) reach: Reach,
    /// Also where the next return goes.
    pub(super) returns: bool,
    /// From virtual to physical addresses.
    pub(super) offset: u64,
    /// The addresses of the last halves of the run's own jumps, without its last one: they become known inside the run.
    pub(super) own: Vec<u64>,
    /// How many jumps of the run are not its last instruction, so that the fetch may run on in between.
    pub(super) inside: usize,
}

/// Where returns go, each by its address.
#[derive(Clone, Debug, Default)]
pub(super) struct Landings(Vec<Option<Landing>>);

#[derive(Clone, Debug)]
struct Landing {
    pc: u64,
    offset: u64,
    reach: Reach,
}

impl Landings {
    /// Places, a power of two.
    const PLACES: usize = 1 << 10;

    /// What the fetch may come to behind a return to an address, with the offset to its physical address.
    pub(super) fn find(&mut self, pc: u64, offset: u64, make: impl FnOnce() -> Reach) -> Option<&mut Reach> {
        if self.0.is_empty() {
            self.0.resize(Self::PLACES, None);
        }
        let place = self.0.get_mut((pc >> 1) as usize % Self::PLACES)?;
        if place.as_ref().is_none_or(|landing| (landing.pc, landing.offset) != (pc, offset)) {
            *place = Some(Landing { pc, offset, reach: make() });
        }
        place.as_mut().map(|landing| &mut landing.reach)
    }
}

impl Ways {
    /// Adds so many instructions.
    pub(super) fn add(&mut self, beyond: &mut Beyond, start: u64, insns: u32) {
        let (mut pa, mut last) = (start, start);
        for _ in 0..insns {
            last = pa;
            match beyond.find(pa) {
                Some(insn) => pa += u64::from(insn.len),
                None => self.unknown = true,
            }
        }
        self.at.push((start, last - start));
    }

    /// Adds the way from an address on, and yields the first jump there that is not a branch.
    pub(super) fn walk(&mut self, ahead: &mut Beyond, start: u64, far: u64) -> Option<(u64, Insn)> {
        self.at.push((start, far));
        let (places, jump) = walk(ahead, start, far, self.offset);
        self.reach.misread.extend(places);
        jump
    }
}

/// The virtual addresses from an address on at which a known jump, by its last half, would be misread, and the first jump there
/// that is not a branch: what is behind that is not fetched on a wrong path.
pub(super) fn walk(ahead: &mut Beyond, start: u64, far: u64, offset: u64) -> (Vec<u64>, Option<(u64, Insn)>) {
    let (mut pa, mut places) = (start, Vec::new());
    while let Some(insn) = ahead.find(pa).filter(|_| pa.wrapping_sub(start) < far + 4) {
        let (word, partial, long) = word_behind(ahead, pa);
        let halves = [word, word | 2].into_iter().zip(misread(partial, long));
        places.extend(halves.filter(|(_, wrong)| *wrong).map(|(half, _)| half.wrapping_sub(offset)));
        if matches!(insn.row().class, Class::Jump | Class::JumpReg) {
            return (places, Some((pa, insn)));
        }
        pa = pa.wrapping_add(u64::from(insn.len));
    }
    (places, None)
}

/// The word that the fetch of an instruction in sequence looks up, whether the instruction begins in the word before, and which
/// halves of that look like the beginning of four bytes.
pub(super) fn word_behind(ahead: &mut Beyond, pa: u64) -> (u64, bool, [bool; 2]) {
    let word = pa.wrapping_add(2) & !3;
    (word, pa & 2 != 0, [4, 2].map(|back| word.wrapping_sub(back)).map(|pa| ahead.len(pa) == 4))
}
