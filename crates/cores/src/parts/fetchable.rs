//! Code that a core may fetch without executing it: behind traps and returns, and on wrong paths, where it stalls, misses and
//! predicts as other instructions do.

use std::sync::Arc;

use tollgate_riscv::Code;
use tollgate_riscv::Map;
use tollgate_riscv::{Class, Insn, Op};

/// The instructions that a page has room for.
const HALVES: usize = 2048;
/// No page has this number.
const NONE: u64 = u64::MAX;

/// The instructions that a fetch may reach, by physical address: the code that was loaded, and in its place what was
/// executed.
#[derive(Clone, Debug)]
pub(crate) struct FetchableCode {
    code: Option<Code>,
    /// The pages that were looked at; copies of a core share them.
    pages: Vec<Arc<Page>>,
    numbers: Map<u64, usize>,
    /// The last page, and where it is.
    latest: (u64, usize),
}

/// A page of instructions.
#[derive(Clone, Debug)]
struct Page {
    insns: Box<[Option<Insn>]>,
    /// A bit for each: whether it is a branch or a jump, and whether it has four bytes.
    jumps: [u64; HALVES / 64],
    long: [u64; HALVES / 64],
    /// Whether one of them is a floating-point division or square root.
    divides: bool,
}

fn place(pa: u64) -> (usize, usize, u64) {
    let at = (pa & 0xfff) as usize / 2;
    (at, at / 64, 1 << (at % 64))
}

impl Page {
    fn new(number: u64, code: Option<&Code>) -> Self {
        let mut page = Page {
            insns: vec![None; HALVES].into(),
            jumps: [0; HALVES / 64],
            long: [0; HALVES / 64],
            divides: false,
        };
        for pa in (number << 12..).step_by(2).take(HALVES).filter(|_| code.is_some()) {
            let (_, word, bit) = place(pa);
            match code.and_then(|code| code.find(pa)) {
                Some(insn) => page.set(pa, &insn),
                None if code.is_some_and(|code| code.is_long(pa)) => page.long[word] |= bit,
                None => {}
            }
        }
        page
    }

    fn set(&mut self, pa: u64, insn: &Insn) {
        let (at, word, bit) = place(pa);
        let jumps = matches!(insn.row().class, Class::Branch | Class::Jump | Class::JumpReg);
        for (bits, set) in [(&mut self.jumps, jumps), (&mut self.long, insn.len == 4)] {
            bits[word] = bits[word] & !bit | if set { bit } else { 0 };
        }
        self.divides |= matches!(insn.op, Op::FdivS | Op::FdivD | Op::FsqrtS | Op::FsqrtD);
        self.insns[at] = Some(*insn);
    }
}

impl FetchableCode {
    /// Without any code.
    pub(crate) fn new() -> Self {
        FetchableCode { code: None, pages: Vec::new(), numbers: Map::default(), latest: (NONE, 0) }
    }

    /// This code was loaded, and nothing of it is executed yet.
    pub(crate) fn load(&mut self, code: &Code) {
        *self = Self { code: Some(code.clone()), ..Self::new() };
    }

    /// Where the page of an address is.
    #[inline(always)]
    fn page(&mut self, pa: u64) -> usize {
        let number = pa >> 12;
        if self.latest.0 != number {
            self.latest = (number, self.look_up(number));
        }
        self.latest.1
    }

    #[inline(never)]
    fn look_up(&mut self, number: u64) -> usize {
        let (pages, code) = (&mut self.pages, self.code.as_ref());
        *self.numbers.entry(number).or_insert_with(|| {
            pages.push(Arc::new(Page::new(number, code)));
            pages.len() - 1
        })
    }

    /// An instruction is executed, which may not be what was loaded.
    pub(crate) fn note(&mut self, pa: u64, insn: &Insn) {
        let page = self.page(pa);
        if self.pages[page].insns[place(pa).0].as_ref() != Some(insn) {
            Arc::make_mut(&mut self.pages[page]).set(pa, insn);
        }
    }

    /// The instruction at an address, if it is known.
    pub(crate) fn find(&mut self, pa: u64) -> Option<Insn> {
        let page = self.page(pa);
        self.pages[page].insns[place(pa).0]
    }

    /// Whether there is a floating-point division or square root in the page of an address.
    pub(crate) fn divides(&mut self, pa: u64) -> bool {
        let page = self.page(pa);
        self.pages[page].divides
    }

    /// The branch or jump at an address, if there is one.
    #[inline(always)]
    pub(crate) fn jump(&mut self, pa: u64) -> Option<Insn> {
        let page = self.page(pa);
        let page = &self.pages[page];
        let (at, word, bit) = place(pa);
        if page.jumps[word] & bit == 0 { None } else { page.insns[at] }
    }

    /// Whether a branch or a jump is at an address, and the bytes of what is there.
    #[inline(always)]
    pub(crate) fn jumps_and_len(&mut self, pa: u64) -> (bool, u64) {
        let page = self.page(pa);
        let page = &self.pages[page];
        let (_, word, bit) = place(pa);
        (page.jumps[word] & bit != 0, if page.long[word] & bit == 0 { 2 } else { 4 })
    }

    /// The bytes of what is at an address.
    #[inline(always)]
    pub(crate) fn len(&mut self, pa: u64) -> u64 {
        let page = self.page(pa);
        let (_, word, bit) = place(pa);
        if self.pages[page].long[word] & bit == 0 { 2 } else { 4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_riscv::Operands;

    const BASE: u64 = 0x8000_0000;

    #[test]
    fn what_is_executed_takes_the_place_of_what_was_loaded() {
        let words = |op, rd, imm| Insn::encode(op, Operands { rd, imm, ..Operands::default() }).to_le_bytes();
        // addi, jal, and a compressed return.
        let bytes = [&words(Op::Addi, 5, 1)[..], &words(Op::Jal, 1, 16), &[0x82, 0x80]].concat();
        let isa = "rv64gc".parse().unwrap();
        let mut code = FetchableCode::new();
        assert_eq!(code.find(BASE), None);
        code.load(&Code::new(isa, vec![(BASE, bytes)]));
        assert_eq!(code.find(BASE).unwrap().op, Op::Addi);
        assert_eq!((code.jump(BASE), code.len(BASE)), (None, 4));
        assert_eq!((code.jump(BASE + 4).unwrap().op, code.len(BASE + 4)), (Op::Jal, 4));
        assert_eq!((code.jump(BASE + 8).unwrap().op, code.len(BASE + 8)), (Op::Jalr, 2));
        assert_eq!((code.find(BASE + 10), code.find(BASE + 0x1000)), (None, None));
        // Another instruction takes the place, and a copy that was made before does not see it.
        let mut copy = code.clone();
        let (jump, nop) = (code.find(BASE + 4).unwrap(), code.find(BASE).unwrap());
        code.note(BASE + 4, &jump);
        assert_eq!(code.find(BASE + 4), Some(jump));
        code.note(BASE + 4, &nop);
        assert_eq!((code.jump(BASE + 4), code.find(BASE + 4)), (None, Some(nop)));
        assert_eq!(copy.jump(BASE + 4), Some(jump));
        code.note(BASE + 0x1000, &jump);
        assert_eq!(code.jump(BASE + 0x1000), Some(jump));
    }
}
