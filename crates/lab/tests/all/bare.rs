//! Bare programs: their devices, how they end, and the reports of those that do not.

use crate::common::{elf, elf32, insn, job, run};
use tollgate_lab::program::{self, Ending, Job, Watch};
use tollgate_riscv::Op;

/// A bare program that ends with what is in `a0`.
fn ends_with(code: &[u32]) -> Vec<u32> {
    [code, &[insn(Op::Addi, 17, 0, 0, 93), insn(Op::Ecall, 0, 0, 0, 0)]].concat()
}

/// Spike has a 16550 at 0x10000000, whose registers are a byte wide, at source 1 of its PLIC (riscv/platform.h).
#[test]
fn spikes_machine_has_its_serial_port() {
    let uart = insn(Op::Lui, 5, 0, 0, 0x1000_0000);
    let print = [uart, insn(Op::Addi, 6, 0, 0, 65), insn(Op::Sb, 0, 5, 6, 0), insn(Op::Lbu, 10, 5, 0, 13)];
    let (outcome, console, _) = run(&job(elf(&ends_with(&print), &[])), Watch::Nothing).expect("runs");
    // The eight registers repeat: 13 is the line status, of an empty transmitter.
    assert_eq!((outcome.ending, console.as_str()), (Ending::Exited(0x60), "A"));
    let wide = elf(&ends_with(&[uart, insn(Op::Lw, 10, 5, 0, 0)]), &[]);
    let told = run(&job(wide), Watch::Nothing).expect("runs").0.verdict();
    assert!(told.contains("load access fault") && told.contains("0x10000000"), "{told}");
    // Priority 1 of source 1, enabled for machine mode; the empty transmitter interrupts, and is claimed.
    let claim = [
        insn(Op::Lui, 7, 0, 0, 0xc00_0000),
        insn(Op::Addi, 6, 0, 0, 1),
        insn(Op::Sw, 0, 7, 6, 4),
        insn(Op::Lui, 8, 0, 0, 0xc00_2000),
        insn(Op::Addi, 6, 0, 0, 2),
        insn(Op::Sw, 0, 8, 6, 0),
        uart,
        insn(Op::Sb, 0, 5, 6, 1),
        insn(Op::Lui, 8, 0, 0, 0xc20_0000),
        insn(Op::Lw, 10, 8, 0, 4),
    ];
    let outcome = run(&job(elf(&ends_with(&claim), &[])), Watch::Nothing).expect("runs").0;
    assert_eq!(outcome.ending, Ending::Exited(1));
}

/// What can never end is found within some thousand instructions; what may end is not touched.
#[test]
fn an_endless_loop_that_nothing_can_leave_is_found() {
    let told = |code: &[u32]| {
        let job = Job { max_instructions: 3_000_000, ..job(elf(code, &[])) };
        run(&job, Watch::Nothing).expect("runs").0.verdict()
    };
    let jump = |back: i64| insn(Op::Jal, 0, 0, 0, back);
    let handler = [insn(Op::Auipc, 5, 0, 0, 0), insn(Op::Addi, 5, 5, 0, 24), insn(Op::Csrrw, 0, 5, 0, 0x305)];
    let timer = [
        insn(Op::Lui, 6, 0, 0, 0x200_4000),
        insn(Op::Lui, 7, 0, 0, 0x10_0000),
        insn(Op::Sd, 0, 6, 7, 0),
        insn(Op::Addi, 5, 0, 0, 128),
        insn(Op::Csrrs, 0, 5, 0, 0x304),
    ];
    let on = insn(Op::Csrrsi, 0, 8, 0, 0x300);
    let endless: [(&[u32], &str); 5] = [
        (&[jump(0)], "0x80000000 jumps to itself, and no interrupt can come; the ELF has no symbol tohost"),
        // A store of the same value in each turn, as of a program whose symbol tohost was stripped.
        (
            &[insn(Op::Auipc, 5, 0, 0, 0), insn(Op::Addi, 6, 0, 0, 11), insn(Op::Sd, 0, 5, 6, 256), jump(-4)],
            "repeats the 2 instructions from 0x80000008 with t0 = 0x80000000, t1 = 0xb for ever",
        ),
        // Interrupts are enabled, and none can come.
        (&[on, jump(0)], "jumps to itself"),
        // The handler returns to the instruction that trapped.
        (
            &[&handler[..], &[0, 0, 0, insn(Op::Mret, 0, 0, 0, 0)]].concat(),
            "illegal instruction at 0x8000000c (tval 0x0), and the handler at 0x80000018 returns to the same trap for ever",
        ),
        // A timer that is set, and masked.
        (&[&timer[..], &[jump(0)]].concat(), "jumps to itself"),
    ];
    for (code, expected) in endless {
        let verdict = told(code);
        assert!(verdict.contains(expected), "{verdict}");
    }
    let ends: [&[u32]; 4] = [
        // It counts.
        &[insn(Op::Addi, 5, 5, 0, 1), jump(-4)],
        // It looks at the time, as if it waited for it.
        &[insn(Op::Csrrs, 5, 0, 0, 0xb00), jump(-4)],
        // A timer is going to interrupt it, into the void: that is a loop of traps.
        &[&timer[..], &[on, jump(0)]].concat(),
        // It writes to memory, something else each time.
        &[insn(Op::Auipc, 5, 0, 0, 0), insn(Op::Sd, 0, 5, 6, 256), insn(Op::Addi, 6, 6, 0, 1), jump(-8)],
    ];
    for code in ends {
        let verdict = told(code);
        assert!(!verdict.contains("for ever") && !verdict.contains("itself"), "{verdict}");
    }
}

/// A loop of traps below the limit is reported as what it is, not as a program that needs more instructions.
#[test]
fn traps_use_up_a_limit_and_are_named() {
    let code = [insn(Op::Addi, 10, 0, 0, 0), insn(Op::Ebreak, 0, 0, 0, 0)];
    for max_instructions in [10, 1_000_000] {
        let job = Job { max_instructions, ..job(elf(&code, &[])) };
        let told = run(&job, Watch::Nothing).expect("runs").0.verdict();
        assert!(
            told.contains("breakpoint at 0x80000004") && told.contains("no trap handler is set (mtvec is 0)"),
            "{told}"
        );
    }
    let job = Job { max_instructions: 2, ..job(elf(&code, &[])) };
    let told = run(&job, Watch::Nothing).expect("runs").0.verdict();
    assert!(told.contains("has not ended after 1 instructions and 1 traps and waits"), "{told}");
}

/// Calls as "RISC-V Semihosting" lays them out; RV64 has a block of two words for SYS_EXIT, RV32 the reason alone.
#[test]
fn semihosting_calls_print_and_end_a_program() {
    let call = [insn(Op::Slli, 0, 0, 0, 0x1f), insn(Op::Ebreak, 0, 0, 0, 0), insn(Op::Srai, 0, 0, 0, 7)];
    let make = |number: i64, at: i64| {
        [
            &[insn(Op::Auipc, 11, 0, 0, 0), insn(Op::Addi, 11, 11, 0, at), insn(Op::Addi, 10, 0, 0, number)],
            &call[..],
        ]
        .concat()
    };
    let run = |words: &[u32], bits: &str, semihosting| {
        let program = if bits == "rv32gc" { elf32(words) } else { elf(words, &[]) };
        let job = Job { semihosting, isa: bits.parse().expect("an ISA"), ..job(program) };
        let (outcome, console, _) = run(&job, Watch::Nothing).expect("runs");
        (outcome.verdict(), outcome.ending, console)
    };
    // Six words a call; the data come behind.
    let data = [0x0065_6f6a_u32, 0, 0x2_0026, 0, 77, 0];
    let code = [&make(4, 72)[..], &make(3, 48), &make(0x18, 32), &data].concat();
    let (_, ending, console) = run(&code, "rv64gc", true);
    assert_eq!((ending, console.as_str()), (Ending::Exited(77), "joej"));
    let told = run(&code, "rv64gc", false).0;
    assert!(told.contains("is a semihosting call, SYS_WRITE0 (0x04): --semihosting answers it"), "{told}");
    // The reason itself in a1, as RV32 has it: a normal end, and another.
    for bits in ["rv64gc", "rv32gc"] {
        for (reason, status) in [(0x26, 0), (0x23, 1)] {
            let exit = [
                insn(Op::Lui, 11, 0, 0, 0x2_0000),
                insn(Op::Addi, 11, 11, 0, reason),
                insn(Op::Addi, 10, 0, 0, 0x18),
            ];
            let ending = run(&[&exit[..], &call].concat(), bits, true).1;
            assert_eq!(ending, Ending::Exited(status), "{bits} {reason:#x}");
        }
    }
    let told = run(&make(6, 0), "rv64gc", true).0;
    assert!(told.contains("makes the semihosting call SYS_READ (0x06), and only SYS_WRITE0"), "{told}");
}

/// Polls the line status until a byte is there, and ends with it; or waits for its interrupt.
#[test]
fn a_program_reads_its_input_from_the_serial_port() {
    let uart = insn(Op::Lui, 5, 0, 0, 0x1000_0000);
    let receive = insn(Op::Lbu, 10, 5, 0, 0);
    let polls =
        [uart, insn(Op::Lbu, 6, 5, 0, 5), insn(Op::Andi, 6, 6, 0, 1), insn(Op::Beq, 0, 6, 0, -8), receive];
    let waits = [
        uart,
        insn(Op::Addi, 6, 0, 0, 1),
        insn(Op::Sb, 0, 5, 6, 1),
        insn(Op::Lui, 7, 0, 0, 0xc00_0000),
        insn(Op::Sw, 0, 7, 6, 4),
        insn(Op::Lui, 8, 0, 0, 0xc00_2000),
        insn(Op::Addi, 6, 0, 0, 2),
        insn(Op::Sw, 0, 8, 6, 0),
        // The external interrupt is enabled, and masked: it ends the wait.
        insn(Op::Lui, 6, 0, 0, 0x1000),
        insn(Op::Addi, 6, 6, 0, -2048),
        insn(Op::Csrrs, 0, 6, 0, 0x304),
        insn(Op::Wfi, 0, 0, 0, 0),
        receive,
    ];
    let run = |code: &[u32], text: &str| {
        let job = Job { max_instructions: 3_000_000, ..job(elf(&ends_with(code), &[])) };
        let mut input = text.as_bytes();
        let sink = (&mut Vec::new(), &mut Vec::new());
        program::run(&job, Watch::Nothing, &mut input, sink.0, sink.1, &|| false).expect("runs").ending
    };
    for code in [&polls[..], &waits] {
        assert_eq!(run(code, "x"), Ending::Exited(i32::from(b'x')));
    }
    assert_eq!(run(&polls, ""), Ending::Budget);
    assert!(matches!(run(&waits, ""), Ending::Stuck(why) if why.contains("waits for an interrupt")));
}
