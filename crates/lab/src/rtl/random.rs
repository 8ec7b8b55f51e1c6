//! Programs without a purpose, made of the instruction table by seed. Nothing was written or chosen after looking at what they
//! cost: no key of a preset may come from them.

use tollgate_riscv::{Class, Extension, Format, INSTRUCTIONS, Insn, Op, Operands, Row};

use super::program::{Part, Program, RAM, Shape};
use super::subject::Subject;

/// Programs of each core.
const COUNT: u64 = 20;
/// Instructions of a loop's body, and its passes.
const BODY: usize = 200;
const PASSES: i64 = 40;
/// From the program's start to its data.
const DATA: i64 = 0x10000;

/// The data's address, and what counts the passes.
const BASE: u8 = 8;
const COUNTER: u8 = 9;
/// Registers that are computed with.
const OTHERS: [u8; 14] = [1, 5, 6, 7, 10, 11, 12, 13, 14, 15, 28, 29, 30, 31];

/// Those that a core can run.
pub(super) fn programs(subject: &Subject) -> Vec<Program> {
    (1..=COUNT).map(|seed| program(subject, seed)).collect()
}

/// Numbers by seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        let at = self.below(of.len() as u64);
        of[at as usize]
    }
}

fn program(subject: &Subject, seed: u64) -> Program {
    let isa = subject.isa();
    let mut dice = Dice(seed);
    let float = isa.has(Extension::D);
    // No divider for floating point, which not all cores have.
    let slow = |row: &Row| row.mnemonic.starts_with("fdiv") || row.mnemonic.starts_with("fsqrt");
    let rows: Vec<&Row> = INSTRUCTIONS.iter().filter(|row| row.in_isa(&isa) && !slow(row)).collect();
    let of = |class: Class| rows.iter().copied().filter(|row| row.class == class).collect::<Vec<_>>();
    // How often each kind comes, in a hundred.
    let kinds: Vec<(u64, Vec<&Row>)> = [
        (24, Class::AluImm),
        (26, Class::AluReg),
        (3, Class::Upper),
        (14, Class::Load),
        (10, Class::Store),
        (12, Class::Branch),
        (3, Class::Jump),
        (1, Class::Amo),
        (3, Class::FpFp),
        (2, Class::FpLoad),
        (2, Class::FpStore),
    ]
    .map(|(weight, class)| (weight, of(class)))
    .into_iter()
    .filter(|(_, rows)| !rows.is_empty())
    .collect();
    let all: u64 = kinds.iter().map(|kind| kind.0).sum();

    let mut words = setup(&mut dice, float);
    let head = words.len();
    for at in 0..BODY {
        let mut left = dice.below(all);
        let kind = kinds.iter().find(|kind| match left.checked_sub(kind.0) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        let row = kind.map_or(&INSTRUCTIONS[Op::Addi as usize], |kind| dice.one(&kind.1));
        words.push(instruction(row, &mut dice, BODY - at));
    }
    words.push(encode(Op::Addi, COUNTER, COUNTER, 0, -1));
    words.push(encode(Op::Beq, 0, COUNTER, 0, 8));
    let back = (head as i64 - words.len() as i64) * 4;
    words.push(encode(Op::Jal, 0, 0, 0, back));
    let end = RAM + 4 * words.len() as u64;
    words.push(encode(Op::Jal, 0, 0, 0, 0));
    Program {
        part: Part::Random,
        name: format!("seed-{seed:02}"),
        latency: subject.latency,
        entry: RAM,
        end,
        times: 1,
        memory: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        shape: Shape::Whole { begin: RAM },
    }
}

fn encode(op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> u32 {
    Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Operands::default() })
}

/// Numbers in all registers.
fn setup(dice: &mut Dice, float: bool) -> Vec<u32> {
    // auipc s0 with the distance, less nothing: it is the first instruction.
    let mut words = vec![encode(Op::Auipc, BASE, 0, 0, DATA), encode(Op::Addi, COUNTER, 0, 0, PASSES)];
    for register in OTHERS {
        // Small numbers, and such of 32 bits.
        if dice.below(2) == 0 {
            words.push(encode(Op::Lui, register, 0, 0, (dice.next() as i32 & !0xfff).into()));
        } else {
            words.push(encode(Op::Addi, register, 0, 0, 0));
        }
        words.push(encode(Op::Addi, register, register, 0, dice.below(4096) as i64 - 2048));
    }
    if float {
        // mstatus.FS; then numbers from small integers.
        words.push(encode(Op::Lui, 5, 0, 0, 0x2000));
        words.push(encode(Op::Csrrs, 0, 5, 0, 0x300));
        for register in 0..32 {
            words.push(encode(Op::Addi, 5, 0, 0, dice.below(100) as i64 + 1));
            words.push(encode(Op::FcvtDL, register, 5, 0, 0));
        }
    }
    words
}

/// An instruction with operands; jumps go forward, at most to the end of the body, which is so many instructions away.
fn instruction(row: &Row, dice: &mut Dice, left: usize) -> u32 {
    let register = |dice: &mut Dice| dice.one(&OTHERS);
    let distance = |dice: &mut Dice, most: u64| 4 * (1 + dice.below(most.min(left as u64))) as i64;
    let mut operands = Operands {
        rd: register(dice),
        rs1: register(dice),
        rs2: register(dice),
        rs3: register(dice),
        ..Operands::default()
    };
    operands.imm = match row.format {
        Format::I => dice.below(4096) as i64 - 2048,
        Format::Shift32 => dice.below(32) as i64,
        Format::Shift64 => dice.below(64) as i64,
        Format::U => (dice.next() as i32 & !0xfff).into(),
        Format::B => distance(dice, 8),
        Format::J => distance(dice, 4),
        // Aligned to the widest access, in the first KiB or in all of 2 KiB.
        _ if matches!(row.class, Class::Load | Class::Store | Class::FpLoad | Class::FpStore) => {
            let words = if dice.below(2) == 0 { 4 } else { 256 };
            8 * dice.below(words) as i64
        }
        _ => 0,
    };
    if matches!(row.class, Class::Load | Class::Store | Class::FpLoad | Class::FpStore | Class::Amo) {
        operands.rs1 = BASE;
    }
    Insn::encode(row.op, operands)
}
