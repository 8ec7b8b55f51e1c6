//! A run of instructions that the fast path knows.

use super::access::{Overlaps, Place};
use super::lines::Lines;
use super::lines_ahead::Beside;
use super::operands::Dependence;
use super::predict::Turn;
use super::step::physical;
use super::timed::Model;
use super::ways::Ways;
use tollgate_riscv::Class;
use tollgate_riscv::{Pass, Several};

/// Two bits for each prediction in a block.
const MOST_PREDICTIONS: usize = 32;
/// No store waits any more behind so many instructions that do not load: of two stores, the first can be written a cycle behind EX
/// of the second at the latest, or two cycles if one of them also reads, and the second in the cycle behind that.
const MOST_FREE: u16 = 4;
/// No mode's number.
const NEVER: u8 = u8::MAX - 1;

/// A run of instructions.
pub(super) struct Block {
    pub(super) lines: Lines,
    /// How many instructions.
    pub(super) len: u16,
    /// Those that access memory, in order; and how many load and store.
    pub(super) memory: Vec<Place>,
    pub(super) loads: u16,
    pub(super) stores: u16,
    /// The loads that may be replayed because of a store, with a jump so near behind that the front end comes there before; those
    /// of them for which the store is in the run; and whether such a load comes before a jump inside the run.
    pub(super) marks: Overlaps,
    pub(super) own_marks: Overlaps,
    pub(super) marks_inside: bool,
    /// Where the front end may miss the next line during one of these.
    pub(super) beside: Vec<Beside>,
    /// Those whose operands are reported, in order, and what those change; none in a core without such operations.
    pub(super) operated: Vec<(u8, Option<Dependence>)>,
    /// Those that may jump: which, and where they went, unless that is an indirect jump.
    pub(super) jumps: Vec<(u8, Turn, u64)>,
    /// Whether all of them [settle](Turn::settles).
    pub(super) settles: bool,
    /// Where the fetch may go behind them.
    pub(super) ways: Ways,
    /// The privilege mode's number.
    pub(super) phase: u8,
    /// The same if the block may be looked up.
    pub(super) memoized: u8,
    /// Whose instructions they are.
    pub(super) owner: Option<u32>,
    /// Whether it was executed before.
    pub(super) known: bool,
}

impl Block {
    /// What a run consists of: its mode, where it goes and its instructions. From the same, all that is known of a block
    /// follows.
    pub(super) fn content(several: &Several, pass: &Pass, content: &mut Vec<u64>) {
        let insns = several.insns(pass);
        content.clear();
        if let Some(last) = insns.last() {
            let goes = match last.insn.row().class {
                Class::JumpReg => 0,
                _ => several.next_pc(pass, pass.end() - 1),
            };
            let mode = (several.privilege as u64) << 1 | u64::from(pass.taken());
            content.extend([mode, goes, last.pc, u64::from(last.page)]);
        }
        // All are in one page.
        content.extend(insns.iter().map(|op| (op.pc & 0xfff) << 32 | u64::from(op.word)));
    }

    /// The next jump inside from an instruction on behind which the fetch may leave a mark.
    pub(super) fn next_change(&self, start: u8) -> Option<u8> {
        let jumps = self.jumps.get(..self.ways.inside).unwrap_or_default().iter().zip(0..);
        let mut changes =
            jumps.filter(|&(_, jump)| self.ways.marks_inside.checked_shr(jump).unwrap_or(1) & 1 != 0);
        changes.find(|((at, ..), _)| *at >= start).map(|((at, ..), _)| *at)
    }

    /// The next jump from an instruction on, or load that may leave a mark with these overlaps.
    pub(super) fn part_end(&self, start: u8, overlaps: &Overlaps) -> Option<u8> {
        let marks = |place: &&Place| !place.store && self.marks.of(place) & overlaps.of(place) != 0;
        let loads = self.memory.iter().filter(marks);
        let ends = self.jumps.iter().map(|jump| jump.0).chain(loads.map(|place| place.at));
        ends.filter(|&at| at >= start).min()
    }

    /// What there is to know about a run, in a core whose operations may be `dependent` on their operands.
    pub(super) fn new(model: &mut Model, dependent: bool, several: &Several, pass: &Pass) -> Self {
        let insns = several.insns(pass);
        let (mut lines, mut memory, mut jumps) = (Vec::new(), Vec::new(), Vec::new());
        let (mut operated, mut stores, mut beside) = (Vec::new(), 0, Vec::new());
        let mut ways = Ways::default();
        // How many instructions since the last store have left the data array to that: there may be one directly before the run.
        let (mut marks, mut own_marks, mut first_mark, mut free) =
            (Overlaps::NONE, Overlaps::NONE, u8::MAX, 0);
        let shift = model.memory.l1i.as_ref().map(|c| c.geometry().line_shift());
        for (op, place) in insns.iter().zip(pass.start()..) {
            let i = (place - pass.start()) as u8;
            let pa = physical(op);
            for byte in [pa, pa + u64::from(op.insn.len) - 1] {
                if let Some(shift) = shift
                    && lines.last() != Some(&(byte >> shift))
                {
                    lines.push(byte >> shift);
                }
            }
            free += 1;
            if let Some((size, store)) = op.insn.op.access() {
                beside.extend(model.beside(i, several.outside(op.pc), pa, op.insn.len));
                let place = Place { at: i, size, store, load: (memory.len() as u16 - stores) as u8 };
                memory.push(place);
                stores += u16::from(store);
                if store {
                    free = 0;
                } else {
                    if free < MOST_FREE && model.turns_behind(pa, &op.insn) {
                        marks.add(&place, 3);
                        own_marks.add(&place, if stores > 0 { 3 } else { 0 });
                        first_mark = first_mark.min(i);
                    }
                    free -= 1;
                }
            } else if op.insn.op.by_operands() {
                if dependent {
                    operated.push((i, Dependence::of(&op.insn, &model.core)));
                }
            } else if let Some(turn) = model.predict.turn(several.outside(op.pc), &op.insn) {
                model.find_wrong_ways(pa, &op.insn, &mut ways);
                if model.runs_on {
                    let at = (several.outside(op.pc), pa);
                    let inside = (place + 1 < pass.end()).then_some(jumps.len());
                    model.find_ways(at, &op.insn, inside.is_none() && pass.taken(), inside, &mut ways);
                }
                jumps.push((i, turn, several.next_pc(pass, place)));
            }
        }
        if let Some(last) = insns.last() {
            model.find_end(physical(last) + u64::from(last.insn.len), &mut ways);
        }
        model.found_ways(&jumps, insns.len(), &mut ways);
        let last_inside = jumps.get(..ways.inside).and_then(<[_]>::last).map(|jump| jump.0);
        let ahead = beside.iter().map(|beside: &Beside| model.memory.instruction_line(beside.next));
        // Blocks do not go from page to page.
        let page = insns.first().map_or(0, |first| several.outside(first.pc));
        let loads = memory.len() as u16 - stores;
        let fits = jumps.len() <= MOST_PREDICTIONS && (loads <= Overlaps::MOST || !model.memory.compares());
        Block {
            lines: Lines::new(lines, page).with_ahead(ahead),
            len: insns.len() as u16,
            loads,
            stores,
            memory,
            marks,
            own_marks,
            marks_inside: last_inside.is_some_and(|last| first_mark < last),
            beside,
            operated,
            memoized: match model.board.is_none() && fits {
                true => several.privilege as u8,
                false => NEVER,
            },
            settles: jumps.iter().all(|(_, turn, _)| turn.settles()),
            jumps,
            ways,
            phase: several.privilege as u8,
            owner: model.owner,
            known: false,
        }
    }
}
