//! Where the fetch may go on wrong paths: whether it changes anything there.

use super::beyond::Beyond;
use super::predict::misread;
use tollgate_riscv::{Class, Insn};

/// The most jumps that the fetch goes through before it is redirected.
pub(super) const MOST_JUMPS: u32 = 8;

/// Code that the fetch may come to on a wrong path.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// An address of each line.
    pub(super) lines: Vec<u64>,
    /// The virtual addresses at which a known jump, by its last half, would be misread.
    pub(super) misread: Vec<u64>,
    /// How many words are fetched at least before there is a call, which leaves a mark in the return stack, or an indirect jump, if
    /// there is one.
    pub(super) marks: Option<u8>,
    /// In which state it was seen last whether coming there changes nothing else, and what was seen.
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
    /// A bit for each jump that is not the run's last instruction: whether what is fetched behind it may leave a mark.
    pub(super) marks_inside: u32,
    /// Whether the last instruction is an indirect jump, which may have been predicted to go anywhere.
    pub(super) indirect: bool,
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

    /// Adds the way from an address on, so many bytes at most; it is `entered` by a jump, or in sequence. Yields how many words are
    /// fetched at least before there is an indirect jump or a call, if a call leaves a mark there.
    pub(super) fn walk_all(
        &mut self,
        ahead: &mut Beyond,
        start: u64,
        far: u64,
        entered: bool,
        calls: bool,
    ) -> Option<u8> {
        let (mut start, mut far) = (start, far);
        let mut words = u64::from(entered || start & 2 == 0);
        for _ in 0..=MOST_JUMPS {
            self.at.push((start, far));
            let (places, jump) = walk(ahead, start, far, self.offset);
            self.reach.misread.extend(places);
            let (pa, insn) = jump?;
            let end = pa.wrapping_add(u64::from(insn.len) - 1);
            words += (end >> 2) - (start >> 2);
            if insn.row().class == Class::JumpReg || calls && insn.rd != 0 {
                return u8::try_from(words).ok();
            }
            far = far.saturating_sub(pa.wrapping_sub(start));
            start = pa.wrapping_add_signed(insn.imm);
            words += 1;
        }
        None
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

#[cfg(test)]
mod tests {
    use super::Ways;
    use crate::beyond::Beyond;
    use tollgate_riscv::Code;
    use tollgate_riscv::Operands;
    use tollgate_riscv::{Insn, Op};

    const BASE: u64 = 0x8000_0000;

    #[test]
    fn the_words_before_a_call_or_return_are_counted() {
        let word = |op, rd, imm| Insn::encode(op, Operands { rd, imm, ..Operands::default() });
        let words = [word(Op::Addi, 5, 1), word(Op::Jal, 0, 8), word(Op::Addi, 5, 1), word(Op::Addi, 5, 1)];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        // In 10, of two bytes: c.nop and c.jr ra; then a call.
        bytes.extend([1, 0, 0x82, 0x80]);
        bytes.extend(word(Op::Jal, 1, 8).to_le_bytes());
        let mut beyond = Beyond::new();
        beyond.load(&Code::new("rv64gc".parse().unwrap(), vec![(BASE, bytes)]));
        let mut count = |start, far, entered, calls| {
            Ways::default().walk_all(&mut beyond, BASE + start, far, entered, calls)
        };
        // 0, 4, c, 10.
        assert_eq!(count(0, 28, false, true), Some(4));
        assert_eq!(count(0, 4, false, true), None);
        // The second half of a word is there, unless a jump enters it.
        assert_eq!([false, true].map(|entered| count(0x12, 28, entered, true)), [Some(0), Some(1)]);
        assert_eq!(count(0x14, 28, true, true), Some(1));
        // Where calls leave no mark, the way goes on.
        assert_eq!(count(0x14, 28, true, false), None);
    }
}
