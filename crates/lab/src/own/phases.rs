//! The phases of a user's kernel: by labels `phase_NAME`, or without any by what the instructions do.

use std::collections::BTreeMap;

use tollgate_record::text::{nearest, suggestion};
use tollgate_riscv::{Class, Decoder, Elf, Insn, Isa, Op, csr};

use crate::calls::Leave;
use crate::phase::Phase;

const SP: u8 = 2;

/// A label of a phase that does not exist.
#[derive(Debug, thiserror::Error)]
#[error(
    "no phase is called '{name}'{}: give phase_NAME one of stack, save, dispatch, handler, schedule, switch, space, restore, \
     return",
    suggestion(.nearest.as_deref())
)]
pub struct UnknownPhase {
    name: String,
    nearest: Option<String>,
}

/// The phase that a label names, if it is one of a phase: `phase_save`, `phase_save_2`, or `phase.save.2` of the bundled
/// kernels' macro.
pub(super) fn label(name: &str) -> Option<&str> {
    let name = name.strip_prefix("phase_").or_else(|| name.strip_prefix("phase."))?;
    name.split(['_', '.']).next()
}

/// The addresses at which phases begin, in order.
pub(crate) fn marks(elf: &Elf, entry: u64) -> Result<Vec<(u64, Phase)>, UnknownPhase> {
    let mut named = Vec::new();
    for symbol in &elf.symbols {
        let Some(name) = label(&symbol.name) else { continue };
        let phase = name.parse().map_err(|_| {
            let names = Phase::ALL.iter().map(|&phase| phase.into());
            UnknownPhase { name: name.to_owned(), nearest: nearest(name, names).map(str::to_owned) }
        })?;
        named.push((symbol.address, phase));
    }
    let code = code(elf, entry);
    // What follows the end of an entry is a function that it calls, unless a label says something else.
    let starts = elf.segments.iter().filter(|it| it.executable).map(|it| (it.address, Phase::Handler));
    let behind = code.windows(2).filter(|pair| matches!(pair[0].1.op, Op::Mret | Op::Sret));
    let mut marks: Vec<_> = starts.chain(behind.map(|pair| (pair[1].0, Phase::Handler))).collect();
    match named.is_empty() {
        false => marks.extend(named),
        true => marks.extend(inferred(&code)),
    }
    // Symbols at one address have no order.
    let marks: BTreeMap<u64, Phase> = marks.into_iter().collect();
    Ok(marks.into_iter().collect())
}

/// The instructions from an entry to the end of its segment. What is not one, is passed over.
fn code(elf: &Elf, entry: u64) -> Vec<(u64, Insn)> {
    let decoder = Decoder::new(Isa::default());
    let mut code = Vec::new();
    for segment in elf.segments.iter().filter(|it| entry.wrapping_sub(it.address) < it.memory_size) {
        let mut at = (entry - segment.address) as usize;
        while let Some(&[low, high]) = segment.data.get(at..at + 2) {
            let rest =
                segment.data.get(at + 2..at + 4).map_or(0, |it| u32::from(it[0]) | u32::from(it[1]) << 8);
            let word = u32::from(low) | u32::from(high) << 8 | rest << 16;
            let insn = decoder.decode(if word & 3 == 3 { word } else { word & 0xffff });
            if let Some(insn) = insn {
                code.push((segment.address + at as u64, insn));
            }
            at += if word & 3 == 3 { 4 } else { 2 };
        }
    }
    code
}

/// The phases of an entry without labels. Registers are saved from the first store on until the cause is read or something is
/// called; they are restored by the loads behind which nothing else follows but the return.
fn inferred(entry: &[(u64, Insn)]) -> Vec<(u64, Phase)> {
    let Some(end) = entry.iter().position(|it| matches!(it.1.op, Op::Mret | Op::Sret)) else {
        return Vec::new();
    };
    let body = &entry[..end];
    let first_store = body.iter().position(|it| is_store(&it.1)).unwrap_or(end);
    let decided = (first_store..end).find(|&at| decides(&body[at].1, body[at].0));
    let stored = || body.iter().rposition(|it| is_store(&it.1)).map_or(first_store, |at| at + 1);
    let saved = decided.unwrap_or_else(stored);
    // Backwards from the return: what only brings registers back.
    let work = body.iter().rposition(|it| !brings_back(&it.1)).map_or(0, |at| at + 1);
    let restore = (work..end).find(|&at| is_load(&body[at].1) || writes_csr(&body[at].1)).unwrap_or(end);
    let restore = restore.max(saved);
    let last_load = (restore..end).rev().find(|&at| is_load(&body[at].1)).map_or(restore, |at| at + 1);
    let at = |index: usize| entry[index].0;
    let mut marks = vec![(at(0), Phase::StackSwitch), (at(first_store), Phase::Save)];
    marks.push((at(saved), Phase::Dispatch));
    marks.push((at(restore), Phase::Restore));
    marks.push((at(last_load), Phase::StackSwitch));
    marks.push((at(end), Phase::Return));
    marks
}

fn is_store(insn: &Insn) -> bool {
    matches!(insn.row().class, Class::Store | Class::FpStore)
}

fn is_load(insn: &Insn) -> bool {
    matches!(insn.row().class, Class::Load | Class::FpLoad)
}

/// Whether the cause is read, something is called, or a way is chosen.
fn decides(insn: &Insn, pc: u64) -> bool {
    let cause = || csr::name(insn.imm as u16).is_some_and(|name| name.ends_with("cause"));
    match insn.row().class {
        Class::Csr => cause(),
        Class::Branch => true,
        Class::Jump | Class::JumpReg => !matches!(Leave::of(insn, pc), Leave::Return),
        _ => false,
    }
}

/// Whether it writes a register of control other than the program's stack pointer.
fn writes_csr(insn: &Insn) -> bool {
    insn.row().class == Class::Csr && insn.rd != SP
}

/// Whether a restore may have it: loads, moves to control registers, and changes of the stack pointer.
fn brings_back(insn: &Insn) -> bool {
    match insn.row().class {
        Class::Load | Class::FpLoad | Class::Csr => true,
        Class::AluImm => insn.rd == SP,
        _ => false,
    }
}
