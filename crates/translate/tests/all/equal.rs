//! Translated code against the reference interpreter.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::rc::Rc;

use crate::common::{
    self,
    random::{self, BASE, Mode},
};
use crate::common::{Asm, Rng};
use tollgate_riscv::tier::{Exit, Region, Registers, Translation, Translator};
use tollgate_riscv::{
    Class, Config, Format, INSTRUCTIONS, Insn, Isa, Machine, MachineKind, Op, Operands, Row, Stop,
};
use tollgate_translate::Translations;

/// Numbers of control and status registers.
const FFLAGS: i64 = 0x001;
const FRM: i64 = 0x002;
pub(crate) const MSTATUS: i64 = 0x300;

/// What is translated of each width.
pub(crate) const ISAS: [&str; 2] = ["rv64gc_zba_zbb_zbs_zbkb_zicond", "rv32gc_zba_zbb_zbs_zbkb_zicond"];

/// Each width, with a load and a store of a register and the bytes of one.
pub(crate) const WORDS: [(&str, Op, Op, i64); 2] =
    [(ISAS[0], Op::Ld, Op::Sd, 8), (ISAS[1], Op::Lw, Op::Sw, 4)];

/// What was translated and ran.
#[derive(Default)]
pub(crate) struct Seen {
    regions: Vec<HashSet<Op>>,
    /// Where regions begin.
    entries: Vec<u64>,
    /// Where those begin that were begun and are not finished, and what is in them.
    begun: VecDeque<(u64, HashSet<Op>)>,
    ran: HashSet<Op>,
    pub(crate) retired: u64,
    /// How often the engine entered translated code.
    pub(crate) entered: u64,
    cleared: usize,
    /// How many regions there is room for, if that is less than the translator has.
    room: Option<usize>,
}

impl Seen {
    /// What became of the next region that was begun.
    fn know(&mut self, translation: Translation) {
        let (entry, ops) = self.begun.pop_front().unwrap();
        if let Some(number) = translation.number() {
            assert_eq!(self.regions.len(), usize::from(number));
            self.regions.push(ops);
            self.entries.push(entry);
        }
    }
}

/// Counts on the way to the translator.
pub(crate) struct Counted(pub(crate) Translations, pub(crate) Rc<RefCell<Seen>>);

impl Translator for Counted {
    fn translate(&mut self, region: Region) -> Translation {
        let ops = region.insns().map(|insn| insn.insn.op).collect();
        self.1.borrow_mut().begun.push_back((region.entry, ops));
        let translation = self.0.translate(region);
        if translation != Translation::Later {
            self.1.borrow_mut().know(translation);
        }
        translation
    }

    fn finished(&mut self) -> Option<Translation> {
        let translation = self.0.finished()?;
        self.1.borrow_mut().know(translation);
        Some(translation)
    }

    fn run(&mut self, number: u16, registers: Registers<'_>) -> Option<Exit> {
        let before = registers.retired;
        let exit = self.0.run(number, registers)?;
        let mut seen = self.1.borrow_mut();
        seen.retired += exit.retired - before;
        seen.entered += 1;
        let ops = seen.regions[usize::from(number)].clone();
        seen.ran.extend(ops);
        Some(exit)
    }

    fn is_full(&self) -> bool {
        let seen = self.1.borrow();
        self.0.is_full() || seen.room.is_some_and(|room| seen.regions.len() >= room)
    }

    fn clear(&mut self) {
        let mut seen = self.1.borrow_mut();
        seen.cleared += 1;
        seen.regions.clear();
        seen.begun.clear();
        self.0.clear();
    }
}

fn config(isa: Isa) -> Config {
    Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, misaligned: true, ..Config::default() }
}

pub(crate) fn machine(isa: Isa, image: &[u8]) -> Machine {
    let mut machine = Machine::new(config(isa)).unwrap();
    machine.write_memory(BASE, image).unwrap();
    machine
}

/// A machine that samples its blocks this often.
fn translating(isa: Isa, image: &[u8], every: u64) -> (Machine, Rc<RefCell<Seen>>) {
    translating_by(Translations::new().unwrap(), isa, image, every)
}

fn translating_by(
    translations: Translations,
    isa: Isa,
    image: &[u8],
    every: u64,
) -> (Machine, Rc<RefCell<Seen>>) {
    let mut machine = machine(isa, image);
    let seen = Rc::default();
    machine.set_translator(0, Box::new(Counted(translations, Rc::clone(&seen))), every);
    (machine, seen)
}

/// Everything that software could see.
fn state(machine: &Machine) -> impl PartialEq + use<> {
    (
        machine.pc(),
        (0..32).map(|register| (machine.x(register), machine.f(register))).collect::<Vec<_>>(),
        (0..4096).map(|number| machine.csr(number)).collect::<Vec<_>>(),
        machine.instret(),
        machine.read_memory(BASE, 1 << 20).unwrap().to_vec(),
    )
}

/// Runs both in pieces of random length, each of which must end in the same state.
pub(crate) fn compare(
    isa: &str,
    image: &[u8],
    rng: &mut Rng,
    longest: u64,
    what: &str,
) -> (Stop, Rc<RefCell<Seen>>) {
    let (isa, what) = (isa.parse().unwrap(), format!("{what}, {isa}"));
    let mut reference = machine(isa, image);
    let (mut fast, seen) = translating(isa, image, 1 + rng.below(300));
    for _ in 0..2_000 {
        let budget = 1 + rng.below(longest);
        let stop = reference.run_reference(budget, &mut ());
        assert_eq!(fast.run(budget, &mut ()), stop, "{what}");
        let retired = reference.instret();
        assert_eq!((fast.pc(), fast.instret()), (reference.pc(), retired), "{what}");
        for register in 0..32 {
            let (value, expected) = (fast.x(register), reference.x(register));
            assert_eq!(value, expected, "x{register}, {what}, after {retired} instructions");
            let (value, expected) = (fast.f(register), reference.f(register));
            assert_eq!(value, expected, "f{register}, {what}, after {retired} instructions");
        }
        assert_eq!(
            fast.csr(FFLAGS as u16),
            reference.csr(FFLAGS as u16),
            "flags, {what}, after {retired} instructions"
        );
        if stop != Stop::Budget {
            assert!(state(&fast) == state(&reference), "{what}, end");
            return (stop, seen);
        }
    }
    panic!("no end, {what}");
}

#[test]
fn random_programs_with_traps_end_in_the_same_state() {
    for seed in common::seeds(6) {
        for (isa, mode) in [
            (ISAS[0], Mode::Machine),
            (ISAS[0], Mode::Sv39),
            (ISAS[0], Mode::Sv48),
            (ISAS[1], Mode::Machine),
            (ISAS[1], Mode::Sv32),
        ] {
            let mut rng = Rng(seed);
            let image = random::program(&mut rng, isa.parse().unwrap(), mode, 400);
            let (stop, _) = compare(isa, &image, &mut rng, 5_000, &format!("seed {seed:#x}, {mode:?}"));
            assert_eq!(stop, Stop::Exit { code: 0 });
        }
    }
}

/// The classes of what is translated, but jumps.
const STRAIGHT: [Class; 14] = [
    Class::Upper,
    Class::AluImm,
    Class::AluReg,
    Class::Load,
    Class::Store,
    Class::Branch,
    Class::FpLoad,
    Class::FpStore,
    Class::FpFp,
    Class::FpInt,
    Class::IntFp,
    Class::Amo,
    Class::LoadReserved,
    Class::StoreConditional,
];

/// All rows of these classes.
fn straight_rows(isa: &str) -> Vec<&'static Row> {
    let isa: Isa = isa.parse().unwrap();
    INSTRUCTIONS.iter().filter(|row| row.in_isa(&isa) && STRAIGHT.contains(&row.class)).collect()
}

/// How many operations on floating-point values are in the code of an image, and how many instructions.
fn float_operations(isa: &str, image: &[u8]) -> [u64; 2] {
    let decoder = tollgate_riscv::Decoder::new(isa.parse().unwrap());
    let words =
        image[..DATA as usize].chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    let is_operation = |insn: &Insn| matches!(insn.row().class, Class::FpFp | Class::FpInt | Class::IntFp);
    let insns: Vec<Insn> = words.filter_map(|word| decoder.decode(word)).collect();
    let operations = insns.iter().filter(|insn| is_operation(insn)).count();
    [operations, insns.len()].map(|count| count as u64)
}

/// Where the data of a random loop begins.
const DATA: i64 = 0x1_0000;

/// A loop of so many rounds over random instructions on random and extreme values. Data is at x8, elsewhere in each round.
fn random_loop(isa: &str, rng: &mut Rng, rounds: i32) -> Vec<u8> {
    const EXTREME: [u64; 7] = [0, 1, u64::MAX, 1 << 63, !(1 << 63), 0x8000_0000, 0xffff_ffff_8000_0000];
    // Infinities, NaNs, the limits of normal numbers, in both precisions.
    const FLOATS: [f64; 8] =
        [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, f64::MAX, 1.0, -0.5, 1.0 / 3.0];
    const SIGNALING: u64 = 0x7ff0_0000_0000_0001;
    const REGISTERS: [u8; 18] = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];
    let rows = straight_rows(isa);
    // (The operations without a width in their names have the same encoding on both.)
    let (load, upper_bits) = if isa.starts_with("rv64") { (Op::Ld, 48) } else { (Op::Lw, 16) };
    let mut asm = Asm::default();
    asm.op(Op::Auipc, 8, 0, 0, DATA);
    // FS is Dirty; rounding is as random instructions and `frm` say.
    asm.li(9, 0x6000).op(Op::Csrrs, 0, 9, 0, MSTATUS);
    let frm = rng.below(9).saturating_sub(4);
    asm.op(Op::Csrrwi, 0, frm as u8, 0, FRM);
    for register in 0..32 {
        asm.op(Op::Fld, register, 8, 0, i64::from(register) * 8);
    }
    for register in REGISTERS {
        asm.op(load, register, 8, 0, i64::from(register) * 8);
    }
    asm.li(9, rounds).op(Op::Add, 28, 8, 0, 0);
    let top = asm.0.len() as i64;
    // 64 KiB of data, again and again.
    asm.op(Op::Addi, 29, 29, 0, 24);
    asm.op(Op::Slli, 30, 29, 0, upper_bits).op(Op::Srli, 30, 30, 0, upper_bits);
    asm.op(Op::Add, 8, 28, 30, 0);
    if rng.below(2) == 0 {
        // Without it, inexact is soon raised for ever.
        asm.op(Op::Csrrwi, 0, 0, 0, FFLAGS);
    }
    for _ in 0..150 {
        let row = rng.pick(&rows);
        if matches!(row.class, Class::FpFp | Class::FpInt | Class::IntFp) {
            let is_x = |wanted| row.class == wanted;
            let [f1, f2, f3, fd] = [0; 4].map(|_| rng.below(32) as u8);
            let rd = if is_x(Class::FpInt) { rng.pick(&REGISTERS) } else { fd };
            let rs1 = if is_x(Class::IntFp) { rng.pick(&REGISTERS) } else { f1 };
            let rm = if rng.below(3) == 0 { rng.below(5) as u8 } else { 7 };
            let operands = Operands { rd, rs1, rs2: f2, rs3: f3, rm, ..Default::default() };
            asm.word(Insn::encode(row.op, operands));
            continue;
        }
        let [rd, rs1, rs2] = [0; 3].map(|_| rng.pick(&REGISTERS));
        let rd = if rng.below(16) == 0 { 0 } else { rd };
        let imm = rng.below(4096) as i64 - 2048;
        match row.class {
            Class::Upper => asm.op(row.op, rd, 0, 0, (rng.below(1 << 20) as i64) << 44 >> 32),
            Class::AluImm if row.mnemonic.starts_with(['a', 'o', 'x']) || row.mnemonic.starts_with("slt") => {
                asm.op(row.op, rd, rs1, 0, imm)
            }
            Class::AluImm => {
                asm.op(row.op, rd, rs1, 0, imm & if row.format == Format::Shift32 { 31 } else { 63 })
            }
            // Aligned or not, in this page and across its end.
            Class::Load | Class::Store | Class::FpLoad | Class::FpStore => {
                asm.op(row.op, rd, 8, rs2, (imm & 2040) + (rng.below(8) / 7) as i64)
            }
            // (What is reserved is this or what was in an earlier round.)
            Class::Amo | Class::StoreConditional => asm.op(row.op, rd, 8, rs2, 0),
            Class::LoadReserved => asm.op(row.op, rd, 8, 0, 0),
            _ if row.format == Format::R1 => asm.op(row.op, rd, rs1, 0, 0),
            // Over one instruction.
            Class::Branch => asm.op(row.op, 0, rs1, rs2, 8),
            _ => asm.op(row.op, rd, rs1, rs2, 0),
        };
    }
    asm.op(Op::Addi, 0, 0, 0, 0);
    asm.op(Op::Addi, 9, 9, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 9, 0, top - at);
    finish(&mut asm);
    asm.0.resize(DATA as usize, 0);
    for _ in 0..(0x1_1000 / 8) {
        let float = rng.pick(&FLOATS);
        let value = match rng.below(8) {
            0 | 1 => rng.pick(&EXTREME),
            2 => float.to_bits(),
            3 => 0xffff_ffff_0000_0000 | u64::from((float as f32).to_bits()),
            4 => 0xffff_ffff_0000_0000 | rng.next() >> 32,
            5 => SIGNALING,
            _ => rng.next(),
        };
        asm.0.extend(value.to_le_bytes());
    }
    asm.0
}

#[test]
fn each_instruction_does_in_a_translation_what_the_interpreter_does() {
    for isa in ISAS {
        each_instruction_of(isa);
    }
}

fn each_instruction_of(isa: &str) {
    let mut ran: HashSet<Op> = HashSet::new();
    let (mut retired, mut floats, mut tried) = (0, 0, 0);
    // (Translating takes longer than 10,000 rounds.)
    let (rounds, longest) = if common::fuzz_seconds().is_some() { (30_000, 100_000) } else { (60, 5_000) };
    for seed in common::seeds(20) {
        let mut rng = Rng(seed);
        let image = random_loop(isa, &mut rng, rounds);
        let (stop, seen) = compare(isa, &image, &mut rng, longest, &format!("seed {seed:#x}"));
        assert_eq!(stop, Stop::Exit { code: 0 });
        ran.extend(seen.borrow().ran.iter());
        retired += seen.borrow().retired;
        let [operations, all] = float_operations(isa, &image);
        floats += seen.borrow().retired * operations / all;
        tried += 1;
    }
    assert!(retired > tried * 500, "only {retired} instructions of {tried} programs were in translated code");
    if common::fuzz_seconds().is_some() {
        // As many programs as there was time for, which can be too few to have every instruction. (What `println!` writes is kept
        // from whoever runs a test that passes.)
        let line = format!(
            "{isa}: {retired} instructions of {tried} programs, about {floats} of them floating-point operations, did in translations what the \
             interpreter does\n"
        );
        io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    }
    let rows = straight_rows(isa);
    let missing: Vec<_> = rows.iter().filter(|row| !ran.contains(&row.op)).map(|row| row.mnemonic).collect();
    assert!(missing.is_empty(), "never in translated code of {isa}: {missing:?}");
}

#[test]
fn the_inexact_flag_is_raised_by_the_first_inexact_operation() {
    // 1,000 rounds, each of which clears the flags, does one operation and adds the flags to a0. By hand: each operation on 1 and
    // 1 is exact, each on 1/3 and 10.7 is rounded, which raises bit 0 and no other (unprivileged specification, F extension).
    let ops = [
        [Op::FaddD, Op::FsubD, Op::FmulD, Op::FdivD, Op::FsqrtD, Op::FmaddD, Op::FnmsubD],
        [Op::FaddS, Op::FsubS, Op::FmulS, Op::FdivS, Op::FsqrtS, Op::FmaddS, Op::FnmsubS],
    ];
    for (place, op) in ops.into_iter().enumerate().flat_map(|(place, ops)| ops.map(|op| (place, op))) {
        for ([a, b], expected) in [([1.0_f64, 1.0], 0), ([1.0 / 3.0, 10.7], 1_000)] {
            let mut asm = Asm::default();
            asm.op(Op::Auipc, 8, 0, 0, 0x1000).li(9, 0x6000).op(Op::Csrrs, 0, 9, 0, MSTATUS).li(11, 1_000);
            asm.op(Op::Fld, 1, 8, 0, 0).op(Op::Fld, 2, 8, 0, 8);
            let top = asm.0.len() as i64;
            asm.op(Op::Csrrwi, 0, 0, 0, FFLAGS);
            let rs2 = if matches!(op, Op::FsqrtD | Op::FsqrtS) { 0 } else { 2 };
            asm.word(Insn::encode(op, Operands { rd: 3, rs1: 1, rs2, rs3: 2, rm: 0, ..Default::default() }));
            asm.op(Op::Csrrs, 12, 0, 0, FFLAGS).op(Op::Add, 10, 10, 12, 0).op(Op::Addi, 11, 11, 0, -1);
            let at = asm.0.len() as i64;
            asm.op(Op::Bne, 0, 11, 0, top - at);
            finish(&mut asm);
            asm.0.resize(0x1000, 0);
            for value in [a, b] {
                let single = 0xffff_ffff_0000_0000 | u64::from((value as f32).to_bits());
                asm.0.extend([value.to_bits(), single][place].to_le_bytes());
            }
            for isa in ISAS {
                let (mut fast, seen) = translating(isa.parse().unwrap(), &asm.0, 1);
                assert_eq!(fast.run(100_000, &mut ()), Stop::Exit { code: 0 });
                assert_eq!(fast.x(10), expected, "{op:?} of {a} and {b}, {isa}");
                assert!(seen.borrow().ran.contains(&op), "{op:?}, {isa}");
            }
        }
    }
}

/// Writes the exit code in `a0` to the test finisher.
pub(crate) fn finish(asm: &mut Asm) {
    asm.op(Op::Lui, 5, 0, 0, 0x10_0000);
    asm.li(6, 0x5555);
    asm.op(Op::Sw, 0, 5, 6, 0);
}

#[test]
fn code_that_changes_is_translated_anew_after_fence_i() {
    // 1,000 x (1 + 2 + ... + 20), by hand.
    let image = code_that_changes_by(1);
    for isa in ISAS {
        let (_, seen) = compare(isa, &image, &mut Rng(1), 9_000, "self-modifying");
        let seen = seen.borrow();
        assert!(seen.regions.len() >= 20 && seen.retired > 30_000, "{} {}", seen.regions.len(), seen.retired);
        let (mut fast, _) = translating(isa.parse().unwrap(), &image, 1);
        assert_eq!(fast.run(1_000_000, &mut ()), Stop::Exit { code: 0 });
        assert_eq!(fast.x(10), 210_000);
    }
}

#[test]
fn code_that_stays_is_translated_once() {
    // The same with twenty `fence.i`, or stores to code, that change nothing: 1,000 x 20 x 1.
    let image = code_that_changes_by(0);
    for (isa, coherent_code) in ISAS.into_iter().flat_map(|isa| [(isa, false), (isa, true)]) {
        let mut fast = Machine::new(Config { coherent_code, ..config(isa.parse().unwrap()) }).unwrap();
        fast.write_memory(BASE, &image).unwrap();
        let seen: Rc<RefCell<Seen>> = Rc::default();
        fast.set_translator(0, Box::new(Counted(Translations::new().unwrap(), Rc::clone(&seen))), 1);
        assert_eq!(fast.run(1_000_000, &mut ()), Stop::Exit { code: 0 });
        let seen = seen.borrow();
        let places: HashSet<u64> = seen.entries.iter().copied().collect();
        assert_eq!(seen.entries.len(), places.len(), "{:x?}, coherent: {coherent_code}, {isa}", seen.entries);
        assert_eq!((fast.x(10), seen.cleared), (20_000, 0));
        assert!(seen.retired > 50_000, "{}", seen.retired);
    }
}

#[test]
fn translations_without_room_are_dropped_for_new_ones() {
    let (mut cleared, mut retired) = (0, 0);
    for seed in 11..19 {
        let isa = ISAS[seed as usize % 2];
        let image = random_loop(isa, &mut Rng(seed), 200);
        let isa: Isa = isa.parse().unwrap();
        let mut reference = machine(isa, &image);
        reference.run_reference(1_000_000, &mut ());
        let (mut fast, seen) = translating(isa, &image, 10);
        seen.borrow_mut().room = Some(2);
        fast.run(1_000_000, &mut ());
        assert!(state(&fast) == state(&reference), "{} and {}", fast.instret(), reference.instret());
        let seen = seen.borrow();
        (cleared, retired) = (cleared + seen.cleared, retired + seen.retired);
    }
    assert!(cleared > 5 && retired > 500, "{cleared} times, {retired}");
}

#[test]
fn when_translations_are_made_in_the_background_changes_nothing() {
    let mut rng = Rng(12);
    let (mut retired, mut cleared, mut programs) = (0, 0, 0);
    // How far the other thread has come is not in our hands; that it comes at all is.
    while retired < 20_000 || cleared < 2 {
        programs += 1;
        assert!(programs < 1_000, "{retired} instructions in translations, dropped {cleared} times");
        let isa = ISAS[programs / 2 % 2];
        let image = random_loop(isa, &mut rng, 2_000);
        let isa: Isa = isa.parse().unwrap();
        let mut reference = machine(isa, &image);
        let translations = Translations::in_background().unwrap();
        let (mut fast, seen) = translating_by(translations, isa, &image, 1 + rng.below(20));
        seen.borrow_mut().room = [None, Some(2)][programs % 2];
        for _ in 0..4 {
            let budget = 1 + rng.below(150_000);
            assert_eq!(fast.run(budget, &mut ()), reference.run_reference(budget, &mut ()));
            assert!(state(&fast) == state(&reference), "program {programs}");
        }
        retired += seen.borrow().retired;
        cleared += seen.borrow().cleared;
    }
}

#[test]
fn misaligned_accesses_to_pages_without_others_are_done_in_translations() {
    // Linux measures them so when it starts.
    for (isa, load, store, _) in WORDS {
        let mut asm = Asm::default();
        asm.op(Op::Auipc, 8, 0, 0, DATA).op(Op::Auipc, 12, 0, 0, DATA + 0x1000).li(9, 10_000);
        let top = asm.0.len() as i64;
        asm.op(store, 0, 8, 9, 1).op(load, 10, 8, 0, 1).op(Op::Lh, 11, 12, 0, 3).op(Op::Addi, 9, 9, 0, -1);
        let at = asm.0.len() as i64;
        asm.op(Op::Bne, 0, 9, 0, top - at);
        finish(&mut asm);
        let (stop, seen) = compare(isa, &asm.0, &mut Rng(13), 60_000, "misaligned");
        assert_eq!(stop, Stop::Exit { code: 0 });
        assert!(seen.borrow().retired > 45_000, "{} of 50,000", seen.borrow().retired);
    }
}

#[test]
fn no_budget_is_exceeded_behind_a_translation_of_the_largest_size() {
    // A loop that is longer than a region, so that a block follows one whose every instruction has retired.
    let mut asm = Asm::default();
    asm.li(9, 100_000);
    let top = asm.0.len() as i64;
    for _ in 0..tollgate_riscv::tier::LARGEST_REGION + 40 {
        asm.op(Op::Addi, 10, 10, 0, 1);
    }
    asm.op(Op::Addi, 9, 9, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 9, 0, top - at);
    finish(&mut asm);
    for isa in ISAS {
        let (mut fast, seen) = translating(isa.parse().unwrap(), &asm.0, 1);
        let mut due = 0;
        for budget in (500..1_800).chain([50_000]) {
            assert_eq!(fast.run(budget, &mut ()), Stop::Budget);
            due += budget;
            assert_eq!(fast.instret(), due, "a budget of {budget}, {isa}");
        }
        assert!(seen.borrow().retired > due / 4, "{} of {due}", seen.borrow().retired);
    }
}

/// Twenty times: a loop of 1,000 rounds that adds a constant, 1 at first, to a0; then `step` is added to the constant in its
/// instruction.
fn code_that_changes_by(step: i64) -> Vec<u8> {
    let mut asm = Asm::default();
    asm.li(10, 0).li(11, 20);
    let outer = asm.0.len() as i64;
    asm.li(12, 1000);
    let inner = asm.0.len() as i64;
    asm.op(Op::Addi, 10, 10, 0, 1);
    asm.op(Op::Addi, 12, 12, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 12, 0, inner - at);
    asm.op(Op::Auipc, 13, 0, 0, 0);
    let here = asm.0.len() as i64 - 4;
    asm.op(Op::Lw, 14, 13, 0, inner - here);
    asm.op(Op::Lui, 15, 0, 0, step << 20);
    asm.op(Op::Add, 14, 14, 15, 0);
    asm.op(Op::Sw, 0, 13, 14, inner - here);
    asm.op(Op::FenceI, 0, 0, 0, 0);
    asm.op(Op::Addi, 11, 11, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 11, 0, outer - at);
    finish(&mut asm);
    asm.0
}
