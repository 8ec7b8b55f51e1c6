//! Control and status registers: what they hold, on both widths, and what else Spike decides where the specification leaves it open.

use crate::common::Asm;
use tollgate_riscv::{Config, Insn, Isa, Machine, MachineKind, Observer, Op, Operands};

const BASE: u64 = 0x8000_0000;
const HANDLER: u64 = BASE + 0x800;
const MSTATUS: i64 = 0x300;
const MEDELEG: u16 = 0x302;
const MTVEC: i64 = 0x305;
const MCOUNTINHIBIT: i64 = 0x320;
const MEPC: i64 = 0x341;
const MCAUSE: i64 = 0x342;
const MCYCLE: i64 = 0xb00;
const MINSTRET: i64 = 0xb02;

fn machine(isa: &str, kind: MachineKind, code: &Asm) -> Machine {
    let isa: Isa = isa.parse().unwrap();
    let mut machine =
        Machine::new(Config { isa, machine: kind, ram_bytes: 1 << 20, ..Config::default() }).unwrap();
    machine.write_memory(BASE, &code.0).unwrap();
    machine
}

/// Runs code on Spike's machine, on both engines, for so many steps.
fn run(isa: &str, code: &Asm, steps: u64) -> Machine {
    let [mut fast, mut reference] = [(); 2].map(|()| machine(isa, MachineKind::Spike, code));
    fast.run(steps, &mut ());
    reference.run_reference(steps, &mut ());
    assert!((0..32).all(|r| fast.x(r) == reference.x(r)));
    fast
}

/// The specification holds RV32's values in 32 bits; a comparison with zero sees bit 31 as the sign (unprivileged specification, 2.4
/// and 2.5).
#[test]
fn a_register_that_is_read_has_a_sign_on_both_widths() {
    for isa in ["rv32gc_sstc_svadu_zicbom_zicboz", "rv64gc_sstc_svadu_zicbom_zicboz", "rv32i_xtollstack"] {
        let with_sign = if isa.starts_with("rv32") { 1 << 31 } else { 1_u64 << 63 };
        let (mut existing, mut negative) = (0, 0);
        for number in 0..0x1000 {
            let mut code = Asm::default();
            code.op(Op::Csrrw, 5, 6, 0, number).op(Op::Csrrs, 5, 0, 0, number).op(Op::Slt, 7, 5, 0, 0);
            let mut machine = machine(isa, MachineKind::Spike, &code);
            machine.set_x(6, u64::MAX);
            machine.run_reference(3, &mut ());
            if machine.instret() < 3 {
                continue;
            }
            let value = machine.x(5);
            assert_eq!(machine.x(7) == 1, value & with_sign != 0, "{isa}, {number:#x}: {value:#x}");
            existing += 1;
            negative += u32::from(value & with_sign != 0);
        }
        assert!(existing > 100 && negative > 5, "{existing} {negative}");
    }
}

/// 3.1.12: a counter whose bit is set does not count. On Spike the instruction that sets the bit counts already as not counted, the
/// one that clears it as counted.
#[test]
fn counters_stand_still_while_they_are_inhibited() {
    for isa in ["rv32i", "rv64gc"] {
        let mut code = Asm::default();
        code.csrw(MCYCLE, 0).csrw(MINSTRET, 0).op(Op::Csrrwi, 0, 5, 0, MCOUNTINHIBIT);
        code.op(Op::Ori, 9, 0, 0, 100).op(Op::Ori, 9, 9, 0, 1).csrr(10, MCYCLE).csrr(11, MINSTRET);
        code.csrr(12, MCOUNTINHIBIT).op(Op::Csrrwi, 0, 7, 0, MINSTRET).csrr(13, MINSTRET);
        code.op(Op::Csrrwi, 0, 0, 0, MCOUNTINHIBIT).csrr(14, MCYCLE).csrr(15, MINSTRET);
        let machine = run(isa, &code, 13);
        // `mcycle` counts the write to `minstret`.
        assert_eq!([10, 11, 12, 13].map(|r| machine.x(r)), [1, 0, 5, 7], "{isa}");
        // Both count from the instruction on that lets them run.
        assert_eq!([14, 15].map(|r| machine.x(r)), [2, 9], "{isa}");
        // Bit 1 belongs to `time`, which has no bit here (3.1.12).
        let mut all = Asm::default();
        all.op(Op::Ori, 5, 0, 0, -1).csrw(MCOUNTINHIBIT, 5).csrr(6, MCOUNTINHIBIT);
        assert_eq!(run(isa, &all, 3).x(6), 0xffff_fffd, "{isa}");
    }
}

/// What Spike's own registers do: `medeleg_csr_t`, `mstatus_csr_t` and `envcfg_csr_t` of its csrs.cc.
#[test]
fn fields_that_accept_some_values_choose_like_spike() {
    let written = |isa: &str, csr: i64, value: i32| {
        let mut code = Asm::default();
        code.li(5, value).csrw(csr, 5).csrr(6, csr);
        run(isa, &code, 4).x(6)
    };
    assert_eq!(written("rv64gc", MEDELEG.into(), -1), 0x8_b3fe);
    // Without 16-bit instructions a jump can be misaligned.
    assert_eq!(written("rv64imafd", MEDELEG.into(), -1), 0x8_b3ff);
    // MPP: the hypervisor's encoding becomes U.
    assert_eq!(written("rv64gc", MSTATUS, 0x1000) >> 11 & 3, 0);
    assert_eq!(written("rv64gc", MSTATUS, 0x0800) >> 11 & 3, 1);
    // FS is there with S-mode.
    assert_eq!(written("rv32imac", MSTATUS, 0x2000) >> 13 & 3, 1);
    // CBIE's reserved value becomes 0.
    assert_eq!(written("rv64gc_zicbom", 0x30a, 0x20) >> 4 & 3, 0);
}

/// Causes of the exceptions of `code`, each of an instruction that is skipped.
fn causes(isa: &str, kind: MachineKind, code: &Asm) -> Vec<u64> {
    let mut image = Asm::default();
    image.op(Op::Auipc, 31, 0, 0, 0).op(Op::Addi, 31, 31, 0, 0x7f0);
    image.op(Op::Addi, 31, 31, 0, 0x10).csrw(MTVEC, 31);
    image.0.extend(&code.0);
    image.op(Op::Jal, 0, 0, 0, 0);
    image.0.resize(0x800, 0);
    image.csrr(30, MEPC).op(Op::Addi, 30, 30, 0, 4).csrw(MEPC, 30).csrr(30, MCAUSE).op(Op::Mret, 0, 0, 0, 0);
    /// The causes, as the handler reads them.
    #[derive(Default)]
    struct Causes(Vec<u64>);
    impl Observer for Causes {
        const TRAP: bool = true;
        fn trap(&mut self, trap: &tollgate_riscv::Trap) {
            assert_eq!(trap.handler, HANDLER);
            self.0.push(trap.cause.code());
        }
    }
    let mut seen = Causes::default();
    machine(isa, kind, &image).run(200, &mut seen);
    seen.0
}

fn atomic(code: &mut Asm, op: Op, rs1: u8) {
    code.word(Insn::encode(op, Operands { rd: 7, rs1, ..Default::default() }));
}

/// 13.2 and 13.4 of the unprivileged specification: a misaligned atomic raises address-misaligned, or an access fault if it should
/// not be emulated. Spike does the latter where it does other misaligned accesses (mmu.h, `store_slow_path` and `load_slow_path`),
/// QEMU never does. `sc` without a reservation needs what a store needs.
#[test]
fn atomics_that_cannot_be_done_trap_with_spikes_causes() {
    let mut code = Asm::default();
    // A misaligned address of RAM in x8, one without memory in x9, the CLINT in x10.
    code.op(Op::Addi, 8, 31, 0, 2).op(Op::Lui, 9, 0, 0, 0x6000_0000).op(Op::Lui, 10, 0, 0, 0x200_0000);
    for (op, address) in [
        (Op::LrW, 8),
        (Op::ScW, 8),
        (Op::AmoaddW, 8),
        (Op::LrW, 9),
        (Op::ScW, 9),
        (Op::LrW, 10),
        (Op::ScW, 10),
    ] {
        atomic(&mut code, op, address);
    }
    let spike = MachineKind::Spike;
    for isa in ["rv64gc", "rv32gc"] {
        assert_eq!(causes(isa, spike, &code), [4, 6, 6, 5, 7, 5, 7], "{isa}");
        assert_eq!(causes(&format!("{isa}_zicclsm"), spike, &code), [5, 7, 7, 5, 7, 5, 7], "{isa}");
        assert_eq!(
            causes(&format!("{isa}_zicclsm"), MachineKind::Virt, &code),
            [4, 6, 6, 5, 7, 5, 7],
            "{isa}"
        );
    }
}

/// Spike's read-only memory is as long as its device tree, in whole pages (sim.cc, `set_rom`); QEMU's has 0xf000 bytes.
#[test]
fn nothing_is_behind_the_device_tree_of_spikes_machine() {
    let mut code = Asm::default();
    for address in [0, 0x1000, 0x2000, 0xf000, 0x1_0000] {
        code.op(Op::Lui, 8, 0, 0, address).op(Op::Lw, 7, 8, 0, 0);
    }
    assert_eq!(causes("rv64gc", MachineKind::Spike, &code), [5, 5, 5, 5]);
    assert_eq!(causes("rv64gc", MachineKind::Virt, &code), [5, 5]);
}

/// Which of these make FS Dirty. They change neither a register of F nor a flag, but the last one, which is inexact.
#[test]
fn only_what_changes_floating_point_state_makes_it_dirty() {
    for isa in ["rv64gc", "rv32gc"] {
        let ops = [Op::FeqD, Op::FltS, Op::FcvtWS, Op::FmvXW, Op::FclassD, Op::FclassS];
        let mut code = Asm::default();
        code.li(5, 0x6000).op(Op::Csrrs, 0, 5, 0, MSTATUS).op(Op::FcvtDW, 1, 0, 0, 0).op(
            Op::FcvtSW,
            2,
            0,
            0,
            0,
        );
        code.li(6, 0x2000).op(Op::Addi, 8, 0, 0, 0);
        let mut test = |word: u32| {
            code.op(Op::Csrrc, 0, 5, 0, MSTATUS).op(Op::Csrrs, 0, 6, 0, MSTATUS).word(word).csrr(9, MSTATUS);
            let shift = if isa == "rv64gc" { (Op::Srli, Op::Slli) } else { (Op::Srli32, Op::Slli32) };
            code.op(shift.0, 9, 9, 0, 14).op(Op::Andi, 9, 9, 0, 1).op(shift.1, 8, 8, 0, 1).op(
                Op::Or,
                8,
                8,
                9,
                0,
            );
        };
        for op in ops {
            let rs = if op.row().mnemonic.ends_with(".d") { 1 } else { 2 };
            test(Insn::encode(op, Operands { rd: 7, rs1: rs, rs2: rs, ..Default::default() }));
        }
        // fcvt.d.w f3, x6 writes a register, fcvt.w.s of 0.5 (fmv.w.x makes it) raises a flag.
        test(Insn::encode(Op::FcvtDW, Operands { rd: 3, rs1: 6, ..Default::default() }));
        code.li(10, 0x3f00_0000);
        code.op(Op::FmvWX, 4, 10, 0, 0);
        let mut test = |word: u32| {
            code.op(Op::Csrrc, 0, 5, 0, MSTATUS).op(Op::Csrrs, 0, 6, 0, MSTATUS).word(word).csrr(9, MSTATUS);
        };
        test(Insn::encode(Op::FcvtWS, Operands { rd: 7, rs1: 4, ..Default::default() }));
        let machine = run(isa, &code, (code.0.len() / 4) as u64);
        assert_eq!(machine.x(8), 0b000_0001, "{isa}");
        assert_eq!(machine.x(9) >> 13 & 3, 3, "{isa}");
    }
}
