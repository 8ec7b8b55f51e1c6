//! Zfa, Zfh, Zacas, Zabha, Zimop and Zawrs, with values that follow from the specification, on both engines.

use tollgate_riscv::asm::{Options, Sources, assemble};
use tollgate_riscv::{Config, Isa, Machine};

const BASE: u64 = 0x8000_0000;
/// Where the programs' data is; `a5` has it.
const DATA: u64 = BASE + 0x1000;
const MCAUSE: u16 = 0x342;
const FFLAGS: u16 = 1;
const NV: u64 = 16;
const OF: u64 = 4;
const UF: u64 = 2;
const NX: u64 = 1;

/// The machine behind a program on each engine, which must agree. The program begins in M-mode with FS on and `a5` at [`DATA`];
/// traps end in a loop.
fn run(isa: &str, text: &str, data: &[u8]) -> Machine {
    let isa: Isa = isa.parse().unwrap();
    let text = format!(
        "la t0, end\ncsrw mtvec, t0\nli t0, 0x6000\ncsrs mstatus, t0\nli a5, {DATA:#x}\n{text}\n.align 2\nend: j end\n"
    );
    let image = assemble(&Sources::new("a.s", &text), &Options { isa, ..Options::default() })
        .unwrap_or_else(|all| panic!("{text}: {}", all[0]));
    let [fast, slow] = [false, true].map(|reference| {
        let mut machine = Machine::new(Config { isa, ram_bytes: 1 << 16, ..Config::default() }).unwrap();
        machine.write_memory(BASE, &image.program.segments[0].data).unwrap();
        machine.write_memory(DATA, data).unwrap();
        if reference {
            machine.run_reference(1000, &mut ());
        } else {
            machine.run(1000, &mut ());
        }
        machine
    });
    let memory = |m: &Machine| m.read_memory(BASE, 1 << 16).unwrap().to_vec();
    assert!(
        (0..32).all(|r| fast.x(r) == slow.x(r) && fast.f(r) == slow.f(r)),
        "registers differ after {text}"
    );
    assert!(memory(&fast) == memory(&slow) && fast.csr(FFLAGS) == slow.csr(FFLAGS), "{text}");
    fast
}

/// `a0` behind an instruction whose operands are floating-point registers with these bits, and the flags that it raises.
fn of_floats(isa: &str, text: &str, operands: [u64; 3]) -> (u64, u64) {
    let [a, b, c] = operands;
    let load = format!(
        "li t1, {a:#x}\nfmv.d.x fa1, t1\nli t1, {b:#x}\nfmv.d.x fa2, t1\nli t1, {c:#x}\nfmv.d.x fa3, t1"
    );
    let machine = run(isa, &format!("{load}\n{text}"), &[]);
    assert_eq!(machine.csr(MCAUSE), Some(0), "{text}");
    (machine.x(10), machine.csr(FFLAGS).unwrap())
}

const SINGLE: u64 = 0xffff_ffff_0000_0000;
const HALF: u64 = 0xffff_ffff_ffff_0000;

fn single(value: f32) -> u64 {
    SINGLE | u64::from(value.to_bits())
}

#[test]
fn zfa_is_the_specifications() {
    let isa = "rv64gc_zfa_zfh";
    let double = f64::to_bits;
    let (nan, signaling) = (0x7ff8_0000_0000_0000, 0x7ff0_0000_0000_0001);
    for (text, operands, value, flags) in [
        // Table 50.
        ("fli.s fa0, 0.3125\nfmv.x.d a0, fa0", [0; 3], single(0.3125), 0),
        ("fli.d fa0, min\nfmv.x.d a0, fa0", [0; 3], double(f64::MIN_POSITIVE), 0),
        ("fli.d fa0, 256.0\nfmv.x.d a0, fa0", [0; 3], double(256.0), 0),
        ("fli.h fa0, -1.0\nfmv.x.d a0, fa0", [0; 3], HALF | 0xbc00, 0),
        // A NaN wins, and -0 is less than +0.
        ("fminm.d fa0, fa1, fa2\nfmv.x.d a0, fa0", [double(1.0), nan, 0], nan, 0),
        ("fmaxm.d fa0, fa1, fa2\nfmv.x.d a0, fa0", [double(-0.0), double(0.0), 0], double(0.0), 0),
        ("fminm.s fa0, fa1, fa2\nfmv.x.d a0, fa0", [single(2.0), single(-3.0), 0], single(-3.0), 0),
        (
            "fmaxm.s fa0, fa1, fa2\nfmv.x.d a0, fa0",
            [single(2.0), SINGLE | 0x7f80_0001, 0],
            SINGLE | 0x7fc0_0000,
            NV,
        ),
        // By mode; only the second one says that it was inexact.
        ("fround.d fa0, fa1, rne\nfmv.x.d a0, fa0", [double(2.5), 0, 0], double(2.0), 0),
        ("fround.d fa0, fa1, rmm\nfmv.x.d a0, fa0", [double(2.5), 0, 0], double(3.0), 0),
        ("froundnx.d fa0, fa1, rup\nfmv.x.d a0, fa0", [double(-0.5), 0, 0], double(-0.0), NX),
        ("froundnx.s fa0, fa1, rdn\nfmv.x.d a0, fa0", [single(-1.25), 0, 0], single(-2.0), NX),
        ("froundnx.s fa0, fa1, rdn\nfmv.x.d a0, fa0", [single(7.0), 0, 0], single(7.0), 0),
        // Modulo 2^32, and the flags of a conversion that saturates.
        ("fcvtmod.w.d a0, fa1, rtz", [double(4294967298.5), 0, 0], 2, NV),
        ("fcvtmod.w.d a0, fa1, rtz", [double(-3.75), 0, 0], 3_u64.wrapping_neg(), NX),
        // Quiet, but for signaling NaNs.
        ("fleq.d a0, fa1, fa2", [double(1.0), double(1.0), 0], 1, 0),
        ("fltq.d a0, fa1, fa2", [double(1.0), double(1.0), 0], 0, 0),
        ("fleq.d a0, fa1, fa2", [double(1.0), nan, 0], 0, 0),
        ("fltq.d a0, fa1, fa2", [signaling, double(1.0), 0], 0, NV),
    ] {
        assert_eq!(of_floats(isa, text, operands), (value, flags), "{text} {operands:x?}");
    }
    // A double in two registers of 32 bits.
    let machine =
        run("rv32gc_zfa", "li t1, 3\nli t2, 0x40080000\nfmvp.d.x fa0, t1, t2\nfmvh.x.d a0, fa0", &[]);
    assert_eq!((machine.f(10), machine.x(10)), (0x4008_0000_0000_0003, 0x4008_0000));
}

#[test]
fn zfh_is_half_precision() {
    let isa = "rv64gc_zfh";
    // 0x3c00 is 1, 0x6800 is 2048, behind which every second integer is a number, and 0x7bff is the largest number, 65504.
    for (text, [a, b, c], value, flags) in [
        ("fadd.h fa0, fa1, fa2", [0x3c00, 0x4000, 0], 0x4200, 0),
        ("fadd.h fa0, fa1, fa2, rne", [0x6800, 0x3c00, 0], 0x6800, NX),
        ("fadd.h fa0, fa1, fa2, rup", [0x6800, 0x3c00, 0], 0x6801, NX),
        ("fsub.h fa0, fa1, fa2", [0x3c00, 0x4000, 0], 0xbc00, 0),
        ("fmul.h fa0, fa1, fa2", [0x7bff, 0x4000, 0], 0x7c00, OF | NX),
        ("fmul.h fa0, fa1, fa2, rtz", [0x7bff, 0x4000, 0], 0x7bff, OF | NX),
        // Half of the least subnormal number is a tie, and goes to the even zero.
        ("fmul.h fa0, fa1, fa2", [0x0001, 0x3800, 0], 0, UF | NX),
        ("fdiv.h fa0, fa1, fa2", [0x3c00, 0x4200, 0], 0x3555, NX),
        ("fdiv.h fa0, fa1, fa2", [0x3c00, 0, 0], 0x7c00, 8),
        ("fsqrt.h fa0, fa1", [0x4400, 0, 0], 0x4000, 0),
        ("fsqrt.h fa0, fa1", [0xbc00, 0, 0], 0x7e00, NV),
        ("fmadd.h fa0, fa1, fa2, fa3", [0x4000, 0x4200, 0x3c00], 0x4700, 0),
        ("fnmsub.h fa0, fa1, fa2, fa3", [0x4000, 0x4200, 0x3c00], 0xc500, 0),
        ("fsgnjx.h fa0, fa1, fa2", [0xbc00, 0x8000, 0], 0x3c00, 0),
        ("fmin.h fa0, fa1, fa2", [0x3c00, 0x7e00, 0], 0x3c00, 0),
        ("fmax.h fa0, fa1, fa2", [0x8000, 0x0000, 0], 0x0000, 0),
        // 65520 is nearer to 2^16 than to 65504, or as near, and there is no 2^16.
        ("li t1, 65520\nfcvt.h.w fa0, t1", [0; 3], 0x7c00, OF | NX),
        ("li t1, -3\nfcvt.h.l fa0, t1", [0; 3], 0xc200, 0),
    ] {
        let operands = [a, b, c].map(|bits| HALF | bits);
        let found = of_floats(isa, &format!("{text}\nfmv.x.d a0, fa0"), operands);
        assert_eq!(found, (HALF | value, flags), "{text} {operands:x?}");
    }
    for (text, operands, value, flags) in [
        ("fcvt.s.h fa0, fa1\nfmv.x.d a0, fa0", [HALF | 1, 0, 0], single(2_f32.powi(-24)), 0),
        ("fcvt.d.h fa0, fa1\nfmv.x.d a0, fa0", [HALF | 0x7bff, 0, 0], 65504_f64.to_bits(), 0),
        ("fcvt.h.s fa0, fa1\nfmv.x.d a0, fa0", [single(1.0 / 3.0), 0, 0], HALF | 0x3555, NX),
        ("fcvt.h.d fa0, fa1\nfmv.x.d a0, fa0", [1e6_f64.to_bits(), 0, 0], HALF | 0x7c00, OF | NX),
        ("fcvt.w.h a0, fa1, rtz", [HALF | 0xbe00, 0, 0], 1_u64.wrapping_neg(), NX),
        ("fcvt.lu.h a0, fa1, rtz", [HALF | 0xbc00, 0, 0], 0, NV),
        ("fle.h a0, fa1, fa2", [HALF | 0x3c00, HALF | 0x3c00, 0], 1, 0),
        ("flt.h a0, fa1, fa2", [HALF | 0xbc00, HALF | 0x3c00, 0], 1, 0),
        ("feq.h a0, fa1, fa2", [HALF | 0x8000, HALF, 0], 1, 0),
        // A positive subnormal number is bit 5; what is not NaN-boxed is the canonical NaN, bit 9.
        ("fclass.h a0, fa1", [HALF | 1, 0, 0], 1 << 5, 0),
        ("fclass.h a0, fa1", [0x3c00, 0, 0], 1 << 9, 0),
        ("fmv.x.h a0, fa1", [HALF | 0x8001, 0, 0], 0xffff_ffff_ffff_8001, 0),
    ] {
        assert_eq!(of_floats(isa, text, operands), (value, flags), "{text} {operands:x?}");
    }
    let machine = run(isa, "flh fa0, 2(a5)\nfsh fa0, 4(a5)", &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(machine.f(10), HALF | 0x0403);
    assert_eq!(machine.read_memory(DATA, 8).unwrap(), [1, 2, 3, 4, 3, 4, 7, 8]);
}

fn word(machine: &Machine, offset: u64) -> u64 {
    u64::from_le_bytes(machine.read_memory(DATA + offset, 8).unwrap().try_into().unwrap())
}

#[test]
fn zacas_swaps_what_is_equal() {
    let isa = "rv64gc_zacas_zabha";
    let data: Vec<u8> = [0x8000_0001_8000_0002_u64, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
    let of_pair = "li a2, 5\nli a3, 6\namocas.q a0, a2, (a5)";
    for (text, old, memory) in [
        // Of `rd` only as many bits are compared as there are in memory, and what was there is sign-extended.
        (
            "li a0, 0x180000002\nli a1, 9\namocas.w a0, a1, (a5)",
            0xffff_ffff_8000_0002,
            [0x8000_0001_0000_0009, 7],
        ),
        ("li a0, 1\nli a1, 9\namocas.w a0, a1, (a5)", 0xffff_ffff_8000_0002, [0x8000_0001_8000_0002, 7]),
        ("li a0, 7\nli a1, -1\naddi a5, a5, 8\namocas.d a0, a1, (a5)", 7, [0x8000_0001_8000_0002, u64::MAX]),
        ("li a0, 8\nli a1, -1\naddi a5, a5, 8\namocas.d a0, a1, (a5)", 7, [0x8000_0001_8000_0002, 7]),
        (&format!("ld a0, 0(a5)\nli a1, 7\n{of_pair}"), 0x8000_0001_8000_0002, [5, 6]),
        // One half differs.
        (&format!("ld a0, 0(a5)\nli a1, 8\n{of_pair}"), 0x8000_0001_8000_0002, [0x8000_0001_8000_0002, 7]),
        ("li a0, 2\nli a1, 0xff\namocas.b a0, a1, (a5)", 2, [0x8000_0001_8000_00ff, 7]),
        (
            "li a0, 0x8000\nli a1, 0x1234\naddi a5, a5, 6\namocas.h a0, a1, (a5)",
            0xffff_ffff_ffff_8000,
            [0x1234_0001_8000_0002, 7],
        ),
    ] {
        let machine = run(isa, text, &data);
        assert_eq!(machine.csr(MCAUSE), Some(0), "{text}");
        assert_eq!((machine.x(10), [0, 8].map(|at| word(&machine, at))), (old, memory), "{text}");
        if text.contains("amocas.q") {
            assert_eq!(machine.x(11), 7, "{text}");
        }
    }
    // The pair begins with an even register; the encoding with an odd one is reserved.
    let odd = run(isa, ".word 0x28c7c5af", &data);
    assert_eq!(odd.csr(MCAUSE), Some(2));
    let pair = run(
        "rv32imac_zicsr_zacas",
        "lw a0, 0(a5)\nlw a1, 4(a5)\nli a2, 5\nli a3, 6\namocas.d a0, a2, (a5)",
        &data,
    );
    assert_eq!((pair.x(10), pair.x(11), word(&pair, 0)), (0x8000_0002, 0x8000_0001, 6 << 32 | 5));
}

#[test]
fn zabha_changes_bytes_and_halves_alone() {
    let data = 0x1122_8044_ff66_7788_u64.to_le_bytes();
    for (text, old, memory) in [
        ("li a1, 0x101\naddi a5, a5, 3\namoadd.b a0, a1, (a5)", u64::MAX, 0x1122_8044_0066_7788),
        ("li a1, 0x18001\namoswap.h a0, a1, (a5)", 0x7788, 0x1122_8044_ff66_8001),
        ("li a1, 1\naddi a5, a5, 4\namomin.h a0, a1, (a5)", 0xffff_ffff_ffff_8044, data_of(&data)),
        ("li a1, 1\naddi a5, a5, 4\namominu.h a0, a1, (a5)", 0xffff_ffff_ffff_8044, 0x1122_0001_ff66_7788),
        ("li a1, 0x7f\namomax.b a0, a1, (a5)", 0xffff_ffff_ffff_ff88, 0x1122_8044_ff66_777f),
        ("li a1, 0x7f\namomaxu.b a0, a1, (a5)", 0xffff_ffff_ffff_ff88, data_of(&data)),
        ("li a1, 0xf0\namoand.b a0, a1, (a5)", 0xffff_ffff_ffff_ff88, 0x1122_8044_ff66_7780),
        ("li a1, 0x0f0f\naddi a5, a5, 6\namoxor.h a0, a1, (a5)", 0x1122, 0x1e2d_8044_ff66_7788),
        ("li a1, 1\namoor.b a0, a1, (a5)", 0xffff_ffff_ffff_ff88, 0x1122_8044_ff66_7789),
    ] {
        let machine = run("rv64gc_zabha", text, &data);
        assert_eq!((machine.x(10), word(&machine, 0)), (old, memory), "{text}");
    }
    // A half must be aligned: a store's misaligned address, not a load's.
    let misaligned = run("rv64gc_zabha", "addi a5, a5, 1\namoadd.h a0, a1, (a5)", &data);
    assert_eq!(misaligned.csr(MCAUSE), Some(6));
}

fn data_of(bytes: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*bytes)
}

#[test]
fn may_be_operations_write_zero() {
    // mop.r.0, .13 and .31 and mop.rr.0 and .7, of `a1` (and `a2`) to `a0`: encodings by the specification's figures.
    for instruction in [0x81c5_c573_u32, 0x8dd5_c573, 0xcdf5_c573, 0x82c5_c573, 0xcec5_c573] {
        let text = format!("li a0, 5\nli a1, 6\nli a2, 7\n.word {instruction:#x}\nli a3, 1");
        let with = run("rv64gc_zimop", &text, &[]);
        assert_eq!((with.csr(MCAUSE), with.x(10), with.x(13)), (Some(0), 0, 1), "{instruction:#x}");
        let without = run("rv64gc", &text, &[]);
        assert_eq!((without.csr(MCAUSE), without.x(10)), (Some(2), 5), "{instruction:#x}");
    }
    // c.mop.1, .5 and .15 write nothing.
    for half in [0x6081, 0x6281, 0x6781] {
        let text = format!("li ra, 3\nli t0, 4\nli a5, 5\n.half {half:#x}\nli a3, 1");
        let with = run("rv64gc_zimop_zcmop", &text, &[]);
        assert_eq!((with.x(1), with.x(15), with.x(13)), (3, 5, 1), "{half:#x}");
        assert_eq!(run("rv64gc", &text, &[]).csr(MCAUSE), Some(2), "{half:#x}");
    }
}

#[test]
fn a_wait_for_a_reservation_ends_or_traps_as_tw_says() {
    const TW: u64 = 1 << 21;
    // From M-mode with MPP U to the instruction.
    let below = |status: u64, instruction: &str| {
        format!(
            "li t0, {status:#x}\ncsrs mstatus, t0\nla t0, user\ncsrw mepc, t0\nli t0, -1\ncsrw pmpaddr0, t0\nli t0, 0x1f\ncsrw pmpcfg0, t0\nmret\nuser: {instruction}\nli a0, 1\necall"
        )
    };
    let isa = "rv64gc_zawrs";
    for (instruction, status, cause) in
        [("wrs.nto", 0, 8), ("wrs.sto", 0, 8), ("wrs.nto", TW, 2), ("wrs.sto", TW, 8)]
    {
        let machine = run(isa, &below(status, instruction), &[]);
        let retired = u64::from(cause == 8);
        assert_eq!((machine.csr(MCAUSE), machine.x(10)), (Some(cause), retired), "{instruction} {status:#x}");
        // In M-mode TW does not matter.
        let text = format!("li t0, {status:#x}\ncsrs mstatus, t0\nlr.w t1, (a5)\n{instruction}\nli a0, 1");
        assert_eq!(run(isa, &text, &[]).x(10), 1, "{instruction}");
    }
    assert_eq!(run("rv64gc", ".word 0x00d00073", &[]).csr(MCAUSE), Some(2));
}
