//! The result of a look-up that serves several accesses.

use cranelift_codegen::ir::Value;
use tollgate_riscv::Insn;

/// The most bytes from the first to the last byte of accesses that one look-up finds. Most accesses by one register are nearer, and
/// those that are in two pages, which are the interpreter's, are rare.
pub(crate) const MOST_SPAN: i64 = 64;

/// Bytes that a register points to, all of which are in one page that is in the table, and in RAM.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The register; while it is not written.
    pub(crate) base: u8,
    /// From which offset on, and up to which.
    pub(crate) from: i64,
    pub(crate) to: i64,
    /// Where accesses must be aligned: the offset of one that is, and its bytes.
    pub(crate) alignment: Option<(i64, i64)>,
    /// The host's address of `from`.
    pub(crate) host: Value,
    /// The addend that makes an address an index of RAM.
    pub(crate) addend: Value,
}

impl Found {
    /// Whether an access is in it.
    pub(crate) fn contains(&self, insn: &Insn, bytes: i64) -> bool {
        self.base == insn.rs1
            && self.from <= insn.imm
            && insn.imm + bytes <= self.to
            && self.is_aligned(insn.imm, bytes)
    }

    /// Whether another access is aligned, too, because that one is.
    fn is_aligned(&self, offset: i64, bytes: i64) -> bool {
        self.alignment.is_none_or(|(at, most)| bytes <= most && (offset - at) % bytes == 0)
    }
}
