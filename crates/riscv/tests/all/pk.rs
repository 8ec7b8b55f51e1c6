//! The proxy kernel, when there is one: `TOLLGATE_PK` names a riscv-pk binary for RV64.
#![allow(clippy::print_stderr)]

use crate::common::{self, Asm};
use tollgate_riscv::{Config, Elf, Machine, MemoryFiles, Op, Stop};

/// `rdcycle; ecall; rdcycle; exit(difference)`.
fn program(call: i32) -> Vec<u8> {
    const CYCLE: i64 = 0xc00;
    let (a0, a7, s0, s1) = (10, 17, 8, 9);
    let mut asm = Asm::default();
    asm.op(Op::Addi, a7, 0, 0, i64::from(call));
    asm.csrr(s0, CYCLE);
    asm.op(Op::Ecall, 0, 0, 0, 0);
    asm.csrr(s1, CYCLE);
    asm.op(Op::Sub, a0, s1, s0, 0);
    asm.op(Op::Addi, a7, 0, 0, 93);
    asm.op(Op::Ecall, 0, 0, 0, 0);
    common::elf(true, common::base(true, 0x10000), &asm.0)
}

/// Cycles between the two readings, on one engine.
fn cycles(pk: &Elf, call: i32, reference: bool) -> Stop {
    let mut machine = Machine::new(Config::default()).unwrap();
    let mut files = MemoryFiles::new();
    files.insert("prog", program(call));
    machine.set_host(Box::new(files));
    machine.set_args(["pk", "prog"]);
    machine.load(pk).unwrap();
    let budget = 50_000_000;
    let stop = if reference { machine.run_reference(budget, &mut ()) } else { machine.run(budget, &mut ()) };
    eprint!("{}", String::from_utf8_lossy(machine.console()));
    stop
}

/// The figures are Spike's, for the same kernel source: 135 for getpid (172); 131 for settimeofday (170), which
/// the proxy kernel does not implement; 128 for 2000, which is not a system call.
#[test]
fn a_system_call_costs_what_it_costs_in_spike() {
    let Some(path) = std::env::var_os("TOLLGATE_PK") else {
        eprintln!("skipped: TOLLGATE_PK does not name a riscv-pk binary");
        return;
    };
    let pk = Elf::parse(&std::fs::read(path).unwrap()).unwrap();
    for reference in [true, false] {
        assert_eq!(cycles(&pk, 172, reference), Stop::Exit { code: 135 });
        assert_eq!(cycles(&pk, 170, reference), Stop::Exit { code: 131 });
        assert_eq!(cycles(&pk, 2000, reference), Stop::Exit { code: 128 });
    }
}
