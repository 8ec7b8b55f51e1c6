//! stub
use crate::insn::Insn; use crate::machine::Machine; use crate::observer::Observer;
pub(crate) const LONGEST_BLOCK: u64 = u64::MAX - 1;
pub(crate) struct Engine;
impl Engine { pub(crate) fn new() -> Self { Engine } pub(crate) fn flush_blocks(&mut self) {} pub(crate) fn flush_translations(&mut self) {} pub(crate) fn satp_written(&mut self, _a: u64, _b: u64) {} }
impl Machine { pub(crate) fn run_blocks<O: Observer>(&mut self, _h: u64, _o: &mut O) -> Option<(Insn, u32)> { None } }
