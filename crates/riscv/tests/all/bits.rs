//! Zba, Zbb, Zbc, Zbs, Zbkb, Zbkx and Zicond against the specification's words, written down bit by bit, on random values and both engines.

use crate::common::Rng;
use tollgate_riscv::{Class, Config, Extension, INSTRUCTIONS, Insn, Isa, Machine, Op, Operands, Row, Xlen};

const BASE: u64 = 0x8000_0000;

/// The bits of a value, the lowest first.
fn bits(value: u64, width: usize) -> Vec<bool> {
    (0..width).map(|i| value >> i & 1 == 1).collect()
}

fn value(bits: &[bool]) -> u64 {
    bits.iter().enumerate().fold(0, |v, (i, &bit)| if bit { v | 1 << i } else { v })
}

fn sign_extended(value: u64, from: usize) -> u64 {
    if value >> (from - 1) & 1 == 1 { value | u64::MAX.checked_shl(from as u32).unwrap_or(0) } else { value }
}

/// What the specification says that a row's instruction makes of two values, as a register shows it.
fn expected(mnemonic: &str, a: u64, b: u64, width: usize) -> u64 {
    let signed = |v: u64| sign_extended(v, width) as i64;
    // The W forms work on the lower 32 bits and sign-extend. (Immediate forms end in i, or iw.)
    let plain = mnemonic.replace("iw", "i");
    if width == 64
        && let Some(short) = plain.strip_suffix('w').or((plain != mnemonic).then_some(&plain))
        && !mnemonic.ends_with(".uw")
    {
        return sign_extended(expected(short, a & 0xffff_ffff, b, 32), 32);
    }
    let x = bits(a, width);
    let rotated = |by: usize| (0..width).map(|i| x[(i + by) % width]).collect::<Vec<_>>();
    let at = b as usize % width;
    let changed = |to: &dyn Fn(bool) -> bool| {
        let mut x = x.clone();
        x[at] = to(x[at]);
        value(&x)
    };
    let each = |to: &dyn Fn(bool, bool) -> bool| {
        value(&x.iter().zip(bits(b, width)).map(|(&p, q)| to(p, q)).collect::<Vec<_>>())
    };
    let bytes = || x.chunks(8).map(<[bool]>::to_vec);
    let y = bits(b, width);
    // Polynomials over bits: the coefficients from this one on.
    let product = |from: usize| {
        let terms = |k: usize| (0..width).filter(move |&i| i <= k && k - i < width);
        (from..from + width)
            .map(|k| terms(k).filter(|&i| x[i] && y[k - i]).count() % 2 == 1)
            .collect::<Vec<_>>()
    };
    let crossbar = |size: usize| {
        let fields: Vec<_> = x.chunks(size).collect();
        let found = y.chunks(size).map(|index| fields.get(value(index) as usize).copied());
        found.flat_map(|field| field.map_or(vec![false; size], <[bool]>::to_vec)).collect::<Vec<_>>()
    };
    let shifted = |by: u32, a: u64| (u128::from(a) << by).wrapping_add(u128::from(b)) as u64;
    let result = match mnemonic {
        "add.uw" => shifted(0, a & 0xffff_ffff),
        "sh1add" => shifted(1, a),
        "sh2add" => shifted(2, a),
        "sh3add" => shifted(3, a),
        "sh1add.uw" => shifted(1, a & 0xffff_ffff),
        "sh2add.uw" => shifted(2, a & 0xffff_ffff),
        "sh3add.uw" => shifted(3, a & 0xffff_ffff),
        "slli.uw" => (u128::from(a & 0xffff_ffff) << at) as u64,
        "andn" => each(&|p, q| p && !q),
        "orn" => each(&|p, q| p || !q),
        "xnor" => each(&|p, q| p == q),
        "clz" => x.iter().rev().take_while(|&&bit| !bit).count() as u64,
        "ctz" => x.iter().take_while(|&&bit| !bit).count() as u64,
        "cpop" => x.iter().filter(|&&bit| bit).count() as u64,
        "max" => {
            if signed(a) < signed(b) {
                b
            } else {
                a
            }
        }
        "min" => {
            if signed(a) < signed(b) {
                a
            } else {
                b
            }
        }
        "maxu" => {
            if a < b {
                b
            } else {
                a
            }
        }
        "minu" => {
            if a < b {
                a
            } else {
                b
            }
        }
        "sext.b" => sign_extended(a & 0xff, 8),
        "sext.h" => sign_extended(a & 0xffff, 16),
        "zext.h" => a & 0xffff,
        "rol" => value(&rotated(width - at)),
        "ror" | "rori" => value(&rotated(at)),
        "orc.b" => value(&bytes().flat_map(|byte| [byte.contains(&true); 8]).collect::<Vec<_>>()),
        "rev8" => value(&bytes().rev().flatten().collect::<Vec<_>>()),
        "bclr" | "bclri" => changed(&|_| false),
        "bset" | "bseti" => changed(&|_| true),
        "binv" | "binvi" => changed(&|bit| !bit),
        "bext" | "bexti" => u64::from(x[at]),
        "czero.eqz" if b == 0 => 0,
        "czero.nez" if b != 0 => 0,
        "czero.eqz" | "czero.nez" => a,
        "clmul" => value(&product(0)),
        "clmulr" => value(&product(width - 1)),
        "clmulh" => value(&product(width)),
        "pack" => value(&[&x[..width / 2], &y[..width / 2]].concat()),
        "packh" => value(&[&x[..8], &y[..8]].concat()),
        "brev8" => value(&bytes().flat_map(|byte| byte.into_iter().rev()).collect::<Vec<_>>()),
        "zip" => value(&(0..width).map(|i| x[i / 2 + i % 2 * width / 2]).collect::<Vec<_>>()),
        "unzip" => value(&(0..width).map(|i| x[i * 2 % width + i * 2 / width]).collect::<Vec<_>>()),
        "xperm4" => value(&crossbar(4)),
        "xperm8" => value(&crossbar(8)),
        other => panic!("{other} has no expectation"),
    };
    if width == 32 { result & 0xffff_ffff } else { result }
}

fn rows(isa: Isa) -> impl Iterator<Item = &'static Row> {
    use Extension::{Zba, Zbb, Zbc, Zbkb, Zbkx, Zbs, Zicond};
    let wanted = [Zba, Zbb, Zbc, Zbs, Zbkb, Zbkx, Zicond];
    INSTRUCTIONS.iter().filter(move |row| row.in_isa(&isa) && wanted.contains(&row.extension))
}

/// `a0` after the instructions, which are followed by a loop.
fn run(machine: &mut Machine, code: &[u32], reference: bool) -> u64 {
    let all: Vec<u8> = code.iter().chain(&[0x0000_006f]).flat_map(|word| word.to_le_bytes()).collect();
    machine.write_memory(BASE, &all).unwrap();
    machine.set_pc(BASE);
    if reference {
        machine.run_reference(10, &mut ())
    } else {
        machine.run(1000, &mut ())
    };
    machine.x(10)
}

#[test]
fn bit_manipulation_is_the_specifications() {
    let mut rng = Rng(1);
    // So many instructions are in the specification's list for each width.
    for (text, width, count) in [
        ("rv64ib_zicond_zbc_zbkb_zbkx", 64, 40 + 2 + 3 + 4 + 2),
        ("rv32ib_zicond_zbc_zbkb_zbkx", 32, 29 + 2 + 3 + 5 + 2),
    ] {
        let isa: Isa = text.parse().unwrap();
        let mut machine = Machine::new(Config { isa, ram_bytes: 4096, ..Config::default() }).unwrap();
        let mut rows_seen = 0;
        for row in rows(isa) {
            rows_seen += 1;
            for round in 0..60 {
                let cut = |v: u64| if width == 32 { v & 0xffff_ffff } else { v };
                let (a, mut b) = (cut(rng.value()), cut(rng.value()));
                let imm = rng.below(if row.mnemonic.ends_with('w') && row.mnemonic != "slli.uw" {
                    32
                } else {
                    width
                });
                let immediate = row.class == Class::AluImm;
                if immediate {
                    b = imm;
                }
                let want = expected(row.mnemonic, a, b, width as usize);
                let word = Insn::encode(
                    row.op,
                    Operands { rd: 10, rs1: 11, rs2: 12, imm: imm as i64, ..Default::default() },
                );
                for reference in [true, false] {
                    machine.set_x(11, a);
                    machine.set_x(12, b);
                    let found = run(&mut machine, &[word], reference);
                    assert_eq!(
                        found, want,
                        "{} {a:#x} {b:#x} on {text}, reference: {reference}",
                        row.mnemonic
                    );
                }
                // On a constant, which the fast engine folds.
                if immediate && round < 10 {
                    let constant = rng.next() as u32 & !0xfff;
                    let lui = Insn::encode(
                        Op::Lui,
                        Operands { rd: 10, imm: i64::from(constant as i32), ..Default::default() },
                    );
                    let word = Insn::encode(
                        row.op,
                        Operands { rd: 10, rs1: 10, imm: imm as i64, ..Default::default() },
                    );
                    let want =
                        expected(row.mnemonic, cut(i64::from(constant as i32) as u64), imm, width as usize);
                    assert_eq!(
                        run(&mut machine, &[lui, word], false),
                        want,
                        "{} of {constant:#x}",
                        row.mnemonic
                    );
                }
            }
        }
        assert_eq!(rows_seen, count, "rows of {text}");
    }
}

/// Words as the specification's tables of encodings spell them (bit-manipulation 1.0.0, appendix A; GNU as agrees).
#[test]
fn encodings_are_the_specifications() {
    let cases: [(u32, &str); 14] = [
        (0x08c5_853b, "add.uw a0,a1,a2"),
        (0x20c5_e533, "sh3add a0,a1,a2"),
        (0x0855_951b, "slli.uw a0,a1,0x5"),
        (0x40c5_f533, "andn a0,a1,a2"),
        (0x6005_9513, "clz a0,a1"),
        (0x6025_951b, "cpopw a0,a1"),
        (0x0ac5_f533, "maxu a0,a1,a2"),
        (0x6045_9513, "sext.b a0,a1"),
        (0x0805_c53b, "zext.h a0,a1"),
        (0x60c5_d53b, "rorw a0,a1,a2"),
        (0x2875_d513, "orc.b a0,a1"),
        (0x6b85_d513, "rev8 a0,a1"),
        (0x4855_d513, "bexti a0,a1,0x5"),
        (0x28c5_9533, "bset a0,a1,a2"),
    ];
    for (word, text) in cases {
        assert_eq!(tollgate_riscv::disassemble(word, Isa::everything(Xlen::Rv64)), text);
        assert!(tollgate_riscv::disassemble(word, Isa::default()).starts_with(".4byte"), "{text}");
    }
    assert_eq!(tollgate_riscv::disassemble(0x6985_d513, Isa::everything(Xlen::Rv32)), "rev8 a0,a1");
    assert_eq!(tollgate_riscv::disassemble(0x0805_c533, Isa::everything(Xlen::Rv32)), "zext.h a0,a1");
}
