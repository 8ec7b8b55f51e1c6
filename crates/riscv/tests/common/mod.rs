//! Shared by the tests: a minimal ELF writer, an assembler's few helpers and a seeded random generator.
#![allow(dead_code)]

pub(crate) mod random;
pub(crate) mod vectors;

use tollgate_riscv::{Insn, Op, Operands};

/// A static executable with one segment at `base`, loaded and entered there.
pub(crate) fn elf(rv64: bool, base: u64, code: &[u8]) -> Vec<u8> {
    let mut out = vec![0x7f, b'E', b'L', b'F', if rv64 { 2 } else { 1 }, 1, 1];
    out.resize(16, 0);
    let header = if rv64 { 64 + 56 } else { 52 + 32 };
    let word = |out: &mut Vec<u8>, v: u64| {
        if rv64 {
            out.extend(v.to_le_bytes());
        } else {
            out.extend((v as u32).to_le_bytes());
        }
    };
    out.extend(2u16.to_le_bytes());
    out.extend(243u16.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    word(&mut out, base);
    word(&mut out, if rv64 { 64 } else { 52 });
    word(&mut out, 0);
    // Flags: double-float ABI and compressed code on RV64, soft-float on RV32; no loader here checks them.
    out.extend(if rv64 { 5u32 } else { 1 }.to_le_bytes());
    for half in if rv64 { [64u16, 56, 1, 64, 0, 0] } else { [52, 32, 1, 40, 0, 0] } {
        out.extend(half.to_le_bytes());
    }
    out.extend(1u32.to_le_bytes());
    if rv64 {
        out.extend(7u32.to_le_bytes());
    }
    let size = header as u64 + code.len() as u64;
    // At a page's start, the code alone is the segment. Otherwise the whole file is, and the code comes
    // directly after the headers, as loaders that map files expect.
    let skip = if base.is_multiple_of(4096) { header as u64 } else { 0 };
    let address = base + skip - header as u64;
    for v in [skip, address, address, size - skip, size - skip] {
        word(&mut out, v);
    }
    if !rv64 {
        out.extend(7u32.to_le_bytes());
    }
    word(&mut out, 4);
    assert_eq!(out.len(), header);
    out.extend(code);
    out
}

/// Where code goes that is to begin at a round address: behind the ELF headers.
pub(crate) fn base(rv64: bool, page: u64) -> u64 {
    page + if rv64 { 120 } else { 84 }
}

/// Collects instruction words.
#[derive(Default, Clone)]
pub(crate) struct Asm(pub(crate) Vec<u8>);

impl Asm {
    pub(crate) fn word(&mut self, w: u32) -> &mut Self {
        self.0.extend(w.to_le_bytes());
        self
    }

    pub(crate) fn half(&mut self, h: u16) -> &mut Self {
        self.0.extend(h.to_le_bytes());
        self
    }

    pub(crate) fn op(&mut self, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> &mut Self {
        self.word(Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Default::default() }))
    }

    /// Loads a 32-bit constant, sign-extended.
    pub(crate) fn li(&mut self, rd: u8, value: i32) -> &mut Self {
        let low = value << 20 >> 20;
        let high = value.wrapping_sub(low);
        self.op(Op::Lui, rd, 0, 0, i64::from(high));
        // The same encoding on both widths; on RV64 the W form keeps the sign right at the edge.
        self.op(Op::Addi, rd, rd, 0, i64::from(low))
    }

    pub(crate) fn csrw(&mut self, csr: i64, rs1: u8) -> &mut Self {
        self.op(Op::Csrrw, 0, rs1, 0, csr)
    }

    pub(crate) fn csrr(&mut self, rd: u8, csr: i64) -> &mut Self {
        self.op(Op::Csrrs, rd, 0, 0, csr)
    }

    pub(crate) fn here(&self) -> u64 {
        self.0.len() as u64
    }
}

/// SplitMix64.
#[derive(Clone)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// A value with interesting bit patterns as likely as any.
    pub(crate) fn value(&mut self) -> u64 {
        let r = self.next();
        match self.below(8) {
            0 => [0, 1, u64::MAX, 1 << 63, i64::MAX as u64, 0x8000_0000, 0x7fff_ffff, 0xffff_ffff]
                [(r & 7) as usize],
            1 => r & 0xff,
            2 => r as i32 as u64,
            3 => f64::from(r as i32).to_bits(),
            4 => u64::from((r as i16 as f32 / 8.0).to_bits()) | 0xffff_ffff_0000_0000,
            5 => (r & 0x800f_ffff_ffff_ffff) | (1023 - 8 + (r >> 52 & 15)) << 52,
            6 => (r & 0x807f_ffff) | (127 - 8 + (r >> 33 & 15)) << 23 | 0xffff_ffff_0000_0000,
            _ => r,
        }
    }
}

/// Seeds, for as long as `cargo xtask fuzz` gives, or a few.
pub(crate) fn seeds(few: u64) -> impl Iterator<Item = u64> {
    let now = std::time::Instant::now;
    let end = fuzz_seconds().map(|seconds| now() + std::time::Duration::from_secs(seconds));
    let first = if end.is_some() { u64::from(std::process::id()) << 32 } else { 1 };
    (first..).take_while(move |seed| end.map_or(*seed <= few, |end| now() < end))
}

/// Seconds for a test without a natural end: from TOLLGATE_FUZZ_SECONDS. Without it, `None`: the test does a
/// fixed amount of work.
pub(crate) fn fuzz_seconds() -> Option<u64> {
    std::env::var("TOLLGATE_FUZZ_SECONDS").ok()?.parse().ok()
}
