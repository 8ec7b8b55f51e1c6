//! The core-local interrupt controller: what its draft specification says (Smclic, 0.9-draft of 2022-09-27), on both engines.

use tollgate_riscv::asm::{Options, Sources, assemble};
use tollgate_riscv::{Cause, Config, ConfigError, Machine, MachineKind, Observer, Trap};

const MTVT: u16 = 0x307;
const MCAUSE: u16 = 0x342;
const MNXTI: u16 = 0x345;
const MINTSTATUS: u16 = 0x346;
/// Of `mcause`: an interrupt, the address of the handler is still to be read, the previous mode was M, and MPIE.
const INTERRUPT: u64 = 1 << 31;
const INHV: u64 = 1 << 30;
const FROM_MACHINE: u64 = 3 << 28;
const MPIE: u64 = 1 << 27;

#[derive(Default, Debug, PartialEq, Clone)]
struct Traps(Vec<Trap>);

impl Observer for Traps {
    const TRAP: bool = true;
    fn trap(&mut self, trap: &Trap) {
        self.0.push(*trap);
    }
}

/// A source is enabled, has a level, and is vectored by hardware or not. Handlers are in a table at 0x80001000, and `entry` is at
/// 0x80000800.
const MACROS: &str = "
        .macro SOURCE number, level, vectored
        li      t0, 0x4001000 + 4 * \\number
        li      t1, \\level << 24 | \\vectored << 16 | 1 << 8
        sw      t1, 0(t0)
        .endm
        .macro RAISE
        li      t0, 0x2000000
        li      t1, 1
        sw      t1, 0(t0)
        .endm
        .macro DROP
        li      t0, 0x2000000
        sw      zero, 0(t0)
        .endm
        .macro TIMER
        li      t0, 0x2004000
        sw      zero, 4(t0)
        sw      zero, 0(t0)
        .endm
        .macro NOTIMER
        li      t0, 0x2004000
        li      t1, -1
        sw      t1, 0(t0)
        .endm
";

/// Where handlers are.
const BEGIN: &str = "
_start: li      t0, 0x80000800
        csrw    0x305, t0
        li      t0, 0x80001000
        csrw    0x307, t0
";

/// Runs a program of that many steps on both engines. Behind it, `entry` is code at 0x80000800 and `table` words at
/// 0x80001000.
fn run(isa: &str, program: &str, entry: &str, table: &[(u64, u32)], steps: u64) -> (Machine, Vec<Trap>) {
    let images = [(BEGIN, program, "last: j last", 0x8000_0000), ("_start:", entry, "", 0x8000_0800)].map(
        |(begin, text, end, at)| {
            let source = format!("{MACROS}{begin}{text}\n{end}\n");
            let options = Options { isa: isa.parse().unwrap(), text: at, ..Options::default() };
            assemble(&Sources::new("clic.s", &source), &options).unwrap()
        },
    );
    let machine = || {
        let config = Config { isa: isa.parse().unwrap(), ram_bytes: 1 << 20, ..Config::default() };
        let mut machine = Machine::new(config).unwrap();
        for segment in images.iter().flat_map(|image| &image.program.segments) {
            machine.write_memory(segment.address, &segment.data).unwrap();
        }
        for (number, word) in table {
            machine.write_memory(0x8000_1000 + 4 * number, &word.to_le_bytes()).unwrap();
        }
        machine
    };
    let (mut fast, mut reference) = (machine(), machine());
    let (mut a, mut b) = (Traps::default(), Traps::default());
    assert_eq!(fast.run(steps, &mut a), reference.run_reference(steps, &mut b));
    assert_eq!((&a, fast.pc(), fast.instret()), (&b, reference.pc(), reference.instret()));
    (fast, a.0)
}

const ISA: &str = "rv32imc_zicsr_smclic";
const STAY: &str = "stay: j stay";

#[test]
fn an_interrupt_is_taken_only_above_the_threshold_and_stacks_its_level() {
    let program = |threshold: u32| {
        format!("li t0, {threshold}\ncsrw 0x347, t0\nSOURCE 3, 0x40, 0\nRAISE\ncsrsi mstatus, 8")
    };
    let (machine, traps) = run(ISA, &program(0x40), STAY, &[], 200);
    assert_eq!((traps.len(), machine.csr(MINTSTATUS)), (0, Some(0)));
    let (machine, traps) = run(ISA, &program(0x3f), STAY, &[], 200);
    let [trap] = traps[..] else { panic!("{traps:?}") };
    assert_eq!((trap.cause, trap.handler, trap.by_table), (Cause::MachineSoftware, 0x8000_0800, false));
    assert_eq!(machine.csr(MINTSTATUS), Some(0x40 << 24));
    // The level before was 0. MPP and MPIE are those of mstatus.
    assert_eq!(machine.csr(MCAUSE), Some(INTERRUPT | FROM_MACHINE | MPIE | 3));
}

#[test]
fn a_handler_is_interrupted_by_a_higher_level_only_and_mret_restores_the_level() {
    // The handler opens interrupts; the second one finds the first's level in mcause, and returns to it.
    let entry = "
        csrr    s0, 0x342
        srli    s1, s0, 16
        andi    s1, s1, 0xff
        bnez    s1, second
        csrr    s3, mepc
        SOURCE  7, {}, 0
        TIMER
        csrsi   mstatus, 8
        nop
        csrr    s4, 0x346
stay:   j       stay
second: csrr    s5, 0x346
        NOTIMER
        mret";
    for (level, count) in [("0x40", 1), ("0x41", 2)] {
        let entry = entry.replace("{}", level);
        let (machine, traps) = run(ISA, "SOURCE 3, 0x40, 0\nRAISE\ncsrsi mstatus, 8", &entry, &[], 200);
        assert_eq!(traps.len(), count, "{level}");
        // Behind the return, or without an interrupt, the handler's own.
        assert_eq!(machine.x(20), 0x4000_0000, "{level}");
        if count == 2 {
            assert_eq!((machine.x(9), machine.x(21)), (0x40, 0x4100_0000));
        }
    }
}

#[test]
fn of_two_sources_the_higher_level_comes_first_and_of_one_level_the_higher_number() {
    for (levels, first) in [
        ([0x40, 0x40], Cause::MachineTimer),
        ([0x41, 0x40], Cause::MachineSoftware),
        ([0xff, 0xfe], Cause::MachineSoftware),
    ] {
        let [software, timer] = levels;
        let program =
            format!("SOURCE 3, {software}, 0\nSOURCE 7, {timer}, 0\nRAISE\nTIMER\ncsrsi mstatus, 8");
        let (_, traps) = run(ISA, &program, STAY, &[], 200);
        assert_eq!(traps.iter().map(|trap| trap.cause).collect::<Vec<_>>(), [first], "{levels:?}");
    }
}

#[test]
fn the_table_has_the_handler_of_a_vectored_source() {
    let program = "SOURCE 3, 1, 1\nRAISE\ncsrsi mstatus, 8";
    // Bit 0 of an address does not count.
    let (machine, traps) = run(ISA, program, "nop\nnop\nstay: j stay", &[(3, 0x8000_0805)], 200);
    let [trap] = traps[..] else { panic!("{traps:?}") };
    assert_eq!((trap.handler, trap.by_table), (0x8000_0804, true));
    assert_eq!(machine.csr(MCAUSE), Some(INTERRUPT | FROM_MACHINE | MPIE | 3));
}

#[test]
fn a_table_that_cannot_be_fetched_is_an_access_fault_of_its_entry_and_mret_reads_it_again() {
    // The handler of the fault moves mepc to the table that is there, with the bit still set in mcause.
    let entry = "
        csrr    t2, 0x342
        andi    t3, t2, 0x7ff
        li      t4, 1
        bne     t3, t4, stay
        mv      s0, t2
        li      t0, 0x8000100c
        csrw    mepc, t0
        mret
stay:   j       stay";
    let program = "li t0, 0x40000000\ncsrw 0x307, t0\nSOURCE 3, 1, 1\nRAISE\ncsrsi mstatus, 8";
    let (machine, traps) = run(ISA, program, entry, &[(3, 0x8000_0900)], 200);
    let [interrupt, fault, ..] = traps[..] else { panic!("{traps:?}") };
    assert_eq!((interrupt.handler, interrupt.by_table), (0x4000_000c, true));
    assert_eq!(
        (fault.cause, fault.epc, fault.handler),
        (Cause::InstructionAccessFault, 0x4000_000c, 0x8000_0800)
    );
    assert_eq!(machine.x(8) & (INTERRUPT | INHV | 0x7ff), INHV | 1);
    // The address that the table has; memory there is zero, which is an illegal instruction.
    assert_eq!(traps[2].epc, 0x8000_0900);
}

#[test]
fn mnxti_takes_over_what_is_next_and_is_zero_when_nothing_is() {
    // The handler of the timer, whose level is higher, takes over nothing; that of the software interrupt at level 0x20 finds the timer
    // at 0x40, then nothing.
    let entry = "
        csrrsi  s0, 0x345, 0
        csrr    s1, 0x346
        TIMER
        csrrsi  s2, 0x345, 8
        csrr    s3, 0x346
        csrr    s4, 0x342
        csrr    s5, mstatus
        NOTIMER
        DROP
        csrrsi  s6, 0x345, 8
        csrr    s7, 0x346
stay:   j       stay";
    let program = "SOURCE 3, 0x20, 0\nSOURCE 7, 0x40, 0\nRAISE\ncsrsi mstatus, 8";
    let (machine, traps) = run(ISA, program, entry, &[], 300);
    assert_eq!(traps.len(), 1, "the timer is taken over, not taken");
    // The software interrupt itself is still pending: a read without effects shows its entry.
    assert_eq!((machine.x(8), machine.x(9)), (0x8000_100c, 0x2000_0000));
    assert_eq!((machine.x(18), machine.x(19)), (0x8000_101c, 0x4000_0000));
    assert_eq!(machine.x(20) & (INTERRUPT | 0x7ff), INTERRUPT | 7);
    assert_eq!(machine.x(21) & 8, 8, "interrupts are open");
    // The level stays where nothing was found.
    assert_eq!((machine.x(22), machine.x(23)), (0, 0x4000_0000));
}

#[test]
fn mnxti_does_not_find_sources_that_are_vectored_or_below_the_interrupted_level() {
    for (vectored, level, found) in [(0, 0x40, 0x8000_101c), (1, 0x40, 0), (0, 0x10, 0)] {
        let program = format!(
            "li t0, 0x20 << 16\ncsrw 0x342, t0\nSOURCE 7, {level}, {vectored}\nTIMER\ncsrr s0, 0x345"
        );
        let (machine, _) = run(ISA, &program, STAY, &[], 200);
        assert_eq!((machine.x(8), machine.csr(MNXTI)), (found, Some(found)), "{vectored} {level}");
    }
}

#[test]
fn the_stack_pointer_is_exchanged_where_the_level_changes_between_zero_and_others() {
    let exchange = |cause: u32| {
        format!(
            "li t0, {cause}\ncsrw 0x342, t0\nli t0, 77\ncsrw mscratch, t0\nli a0, 5\n\
             csrrw a0, 0x349, a0\ncsrr a1, mscratch"
        )
    };
    // The hart's level is 0: exchanged with an interrupted level other than 0.
    let (machine, _) = run(ISA, &exchange(0), STAY, &[], 100);
    assert_eq!((machine.x(10), machine.x(11)), (5, 77));
    let (machine, _) = run(ISA, &exchange(1 << 16), STAY, &[], 100);
    assert_eq!((machine.x(10), machine.x(11)), (77, 5));
    // By mode: MPP, which mcause shows, is user or machine.
    let by_mode = |cause: u32| exchange(cause).replace("0x349", "0x348");
    let (machine, _) = run(ISA, &by_mode(0), STAY, &[], 100);
    assert_eq!((machine.x(10), machine.x(11)), (77, 5));
    let (machine, _) = run(ISA, &by_mode(3 << 28), STAY, &[], 100);
    assert_eq!((machine.x(10), machine.x(11)), (5, 77));
    // With any other instruction they are illegal.
    for instruction in ["csrrs a0, 0x348, a0", "csrr a0, 0x349", "csrrw zero, 0x349, a0"] {
        let (_, traps) = run(ISA, instruction, STAY, &[], 100);
        assert_eq!(traps[0].cause, Cause::IllegalInstruction, "{instruction}");
    }
}

#[test]
fn registers_keep_what_they_can_hold() {
    let program = "
        li      t0, -1
        csrw    0x304, t0
        csrw    0x305, t0
        csrw    0x307, t0
        csrw    0x346, t0
        csrw    0x347, t0
        csrw    0x342, t0
        li      a0, 0x4001000 + 4 * 3
        sw      t0, 0(a0)
        lw      s0, 0(a0)
        lw      s1, 4(a0)
        lbu     s2, 3(a0)
        li      a0, 0x4000000
        lw      s3, 0(a0)";
    let (machine, _) = run(ISA, program, STAY, &[], 100);
    let csrs = [0x304, 0x305, MTVT, MINTSTATUS, 0x347].map(|number| machine.csr(number).unwrap());
    assert_eq!(csrs, [0, 0xffff_ff83, 0xffff_ff80, 0, 0xff]);
    assert_eq!(machine.csr(MCAUSE), Some(INTERRUPT | INHV | FROM_MACHINE | MPIE | 0xff << 16 | 0x7ff));
    // Not pending; machine mode, vectored; what is not there is zero; vectoring is there, and eight bits of level.
    assert_eq!((machine.x(8), machine.x(9), machine.x(18), machine.x(19)), (0xffc1_0100, 0, 0xff, 0x11));
}

#[test]
fn a_waiting_hart_wakes_at_a_level_above_its_own() {
    // Interrupts are masked: the wait ends, and nothing is taken.
    let program =
        |level: u32| format!("SOURCE 3, {level}, 0\nRAISE\nli t0, 0x20\ncsrw 0x347, t0\nwfi\nli s0, 1");
    let awake = |level| run(ISA, &program(level), STAY, &[], 100).0.x(8);
    assert_eq!([0x20, 0x21].map(awake), [0, 1]);
}

#[test]
fn without_it_its_registers_are_illegal_and_its_memory_is_not_there() {
    for (instruction, cause) in [
        ("csrr a0, 0x345", Cause::IllegalInstruction),
        ("csrr a0, 0x34a", Cause::IllegalInstruction),
        ("csrrw a0, 0x349, a0", Cause::IllegalInstruction),
        ("li t0, 0x4001000\nlw a0, 0(t0)", Cause::LoadAccessFault),
    ] {
        let (_, traps) = run("rv32imc_zicsr", instruction, STAY, &[], 60);
        // The first trap is that of mtvt.
        assert_eq!(traps[0].cause, Cause::IllegalInstruction);
        let skip = "csrr t2, mepc\naddi t2, t2, 4\ncsrw mepc, t2\nmret";
        let (_, traps) = run("rv32im_zicsr", instruction, skip, &[], 60);
        assert_eq!(traps[1].cause, cause, "{instruction}");
    }
}

#[test]
fn other_machines_do_not_have_it() {
    let config = Config { isa: ISA.parse().unwrap(), machine: MachineKind::Virt, ..Config::default() };
    let refused = Machine::new(config).err().unwrap();
    assert_eq!(refused, ConfigError::Clic(MachineKind::Virt, 1));
    assert!(refused.to_string().contains("smclic needs Spike's machine"));
}
