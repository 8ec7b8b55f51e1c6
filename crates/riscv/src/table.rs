//! The instruction table. Each instruction is one row; the rows make the [`Op`] enum, the decoder, the
//! disassembler, the reference interpreter, the block handlers and the tests, so that they cannot diverge.
//!
//! A group is a `Class`. Its section says who does its instructions for the block engine: they are `folded` when a
//! block is built, done `in_blocks`, `called` from there as a function (each instruction that the loop over blocks does
//! itself slows down all others: sixty more cost a fifth), or `stepped` by the reference interpreter.
//!
//! A row is `Op "mnemonic" Width Extension Format bits`, then if the group has them the bytes of its access, the
//! function that does it, and its value as a closure: one pattern matches all. `a` and `b` are the values of the source
//! registers (or the immediate), sign-extended to 64 bits on RV32; what the expression yields goes to the destination
//! register. Where RV32 gives another result than RV64 on such values, it has a row of its own.

/// Hands the whole table to the macro named `$then`: three sections, then the rows of the fourth, to which those of vectors are added.
macro_rules! instruction_table {
    ($then:ident) => {
        $crate::table::vectors::with_vectors! { $then {
folded {
Upper {
    Lui "lui" Any I U 0x0000_0037 |_pc, imm| imm;
    Auipc "auipc" Rv64 I U 0x0000_0017 |pc, imm| pc.wrapping_add(imm);
    Auipc32 "auipc" Rv32 I U 0x0000_0017 |pc, imm| sext32(pc.wrapping_add(imm));
}
Jump {
    Jal "jal" Any I J 0x0000_006f;
}
Nop {
    Fence "fence" Any I Fence 0x0000_000f;
    Lpad "lpad" Any Zicfilp Label 0x0000_0017;
}
}
in_blocks {
AluImm {
    Addi "addi" Rv64 I I 0x0000_0013 |a, b| a.wrapping_add(b);
    Slti "slti" Any I I 0x0000_2013 |a, b| u64::from((a as i64) < b as i64);
    Sltiu "sltiu" Any I I 0x0000_3013 |a, b| u64::from(a < b);
    Xori "xori" Any I I 0x0000_4013 |a, b| a ^ b;
    Ori "ori" Any I I 0x0000_6013 |a, b| a | b;
    Andi "andi" Any I I 0x0000_7013 |a, b| a & b;
    Slli "slli" Rv64 I Shift64 0x0000_1013 |a, b| a << (b & 63);
    Srli "srli" Rv64 I Shift64 0x0000_5013 |a, b| a >> (b & 63);
    Srai "srai" Rv64 I Shift64 0x4000_5013 |a, b| ((a as i64) >> (b & 63)) as u64;
    Addiw "addiw" Rv64 I I 0x0000_001b |a, b| sext32(a.wrapping_add(b));
    Slliw "slliw" Rv64 I Shift32 0x0000_101b |a, b| sext32(a << (b & 31));
    Srliw "srliw" Rv64 I Shift32 0x0000_501b |a, b| sext32(u64::from(a as u32 >> (b & 31)));
    Sraiw "sraiw" Rv64 I Shift32 0x4000_501b |a, b| (a as i32 >> (b & 31)) as u64;
    Addi32 "addi" Rv32 I I 0x0000_0013 |a, b| sext32(a.wrapping_add(b));
    Slli32 "slli" Rv32 I Shift32 0x0000_1013 |a, b| sext32(a << (b & 31));
    Srli32 "srli" Rv32 I Shift32 0x0000_5013 |a, b| sext32(u64::from(a as u32 >> (b & 31)));
    Srai32 "srai" Rv32 I Shift32 0x4000_5013 |a, b| (a as i32 >> (b & 31)) as u64;
}
AluReg {
    Add "add" Rv64 I R 0x0000_0033 |a, b| a.wrapping_add(b);
    Sub "sub" Rv64 I R 0x4000_0033 |a, b| a.wrapping_sub(b);
    Sll "sll" Rv64 I R 0x0000_1033 |a, b| a << (b & 63);
    Slt "slt" Any I R 0x0000_2033 |a, b| u64::from((a as i64) < b as i64);
    Sltu "sltu" Any I R 0x0000_3033 |a, b| u64::from(a < b);
    Xor "xor" Any I R 0x0000_4033 |a, b| a ^ b;
    Srl "srl" Rv64 I R 0x0000_5033 |a, b| a >> (b & 63);
    Sra "sra" Rv64 I R 0x4000_5033 |a, b| ((a as i64) >> (b & 63)) as u64;
    Or "or" Any I R 0x0000_6033 |a, b| a | b;
    And "and" Any I R 0x0000_7033 |a, b| a & b;
    Addw "addw" Rv64 I R 0x0000_003b |a, b| sext32(a.wrapping_add(b));
    Subw "subw" Rv64 I R 0x4000_003b |a, b| sext32(a.wrapping_sub(b));
    Sllw "sllw" Rv64 I R 0x0000_103b |a, b| sext32(a << (b & 31));
    Srlw "srlw" Rv64 I R 0x0000_503b |a, b| sext32(u64::from(a as u32 >> (b & 31)));
    Sraw "sraw" Rv64 I R 0x4000_503b |a, b| (a as i32 >> (b & 31)) as u64;
    Add32 "add" Rv32 I R 0x0000_0033 |a, b| sext32(a.wrapping_add(b));
    Sub32 "sub" Rv32 I R 0x4000_0033 |a, b| sext32(a.wrapping_sub(b));
    Sll32 "sll" Rv32 I R 0x0000_1033 |a, b| sext32(a << (b & 31));
    Srl32 "srl" Rv32 I R 0x0000_5033 |a, b| sext32(u64::from(a as u32 >> (b & 31)));
    Sra32 "sra" Rv32 I R 0x4000_5033 |a, b| (a as i32 >> (b & 31)) as u64;
    Mul "mul" Rv64 M R 0x0200_0033 |a, b| a.wrapping_mul(b);
    Mulh "mulh" Rv64 M R 0x0200_1033 |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
    Mulhsu "mulhsu" Rv64 M R 0x0200_2033 |a, b| ((i128::from(a as i64) * i128::from(b)) >> 64) as u64;
    Mulhu "mulhu" Rv64 M R 0x0200_3033 |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    Div "div" Rv64 M R 0x0200_4033 |a, b| div(a as i64, b as i64) as u64;
    Divu "divu" Rv64 M R 0x0200_5033 |a, b| a.checked_div(b).unwrap_or(u64::MAX);
    Rem "rem" Rv64 M R 0x0200_6033 |a, b| rem(a as i64, b as i64) as u64;
    Remu "remu" Rv64 M R 0x0200_7033 |a, b| a.checked_rem(b).unwrap_or(a);
    Mulw "mulw" Rv64 M R 0x0200_003b |a, b| sext32(a.wrapping_mul(b));
    Divw "divw" Rv64 M R 0x0200_403b |a, b| div32(a as i32, b as i32);
    Divuw "divuw" Rv64 M R 0x0200_503b |a, b| divu32(a as u32, b as u32);
    Remw "remw" Rv64 M R 0x0200_603b |a, b| rem32(a as i32, b as i32);
    Remuw "remuw" Rv64 M R 0x0200_703b |a, b| remu32(a as u32, b as u32);
    Mul32 "mul" Rv32 M R 0x0200_0033 |a, b| sext32(a.wrapping_mul(b));
    Mulh32 "mulh" Rv32 M R 0x0200_1033 |a, b| ((a as i64).wrapping_mul(b as i64) >> 32) as u64;
    Mulhsu32 "mulhsu" Rv32 M R 0x0200_2033 |a, b| ((a as i64).wrapping_mul(i64::from(b as u32)) >> 32) as u64;
    Mulhu32 "mulhu" Rv32 M R 0x0200_3033 |a, b| sext32((u64::from(a as u32) * u64::from(b as u32)) >> 32);
    Div32 "div" Rv32 M R 0x0200_4033 |a, b| div32(a as i32, b as i32);
    Divu32 "divu" Rv32 M R 0x0200_5033 |a, b| divu32(a as u32, b as u32);
    Rem32 "rem" Rv32 M R 0x0200_6033 |a, b| rem32(a as i32, b as i32);
    Remu32 "remu" Rv32 M R 0x0200_7033 |a, b| remu32(a as u32, b as u32);
}
Load {
    Lb "lb" Any I Load 0x0000_0003 1 |v| v as i8 as u64;
    Lh "lh" Any I Load 0x0000_1003 2 |v| v as i16 as u64;
    Lw "lw" Any I Load 0x0000_2003 4 |v| v as i32 as u64;
    Ld "ld" Rv64 I Load 0x0000_3003 8 |v| v;
    Lbu "lbu" Any I Load 0x0000_4003 1 |v| v;
    Lhu "lhu" Any I Load 0x0000_5003 2 |v| v;
    Lwu "lwu" Rv64 I Load 0x0000_6003 4 |v| v;
}
Store {
    Sb "sb" Any I Store 0x0000_0023 1;
    Sh "sh" Any I Store 0x0000_1023 2;
    Sw "sw" Any I Store 0x0000_2023 4;
    Sd "sd" Rv64 I Store 0x0000_3023 8;
}
FpLoad {
    Flw "flw" Any F FLoad 0x0000_2007 4 |v| v | NAN_BOX;
    Fld "fld" Any D FLoad 0x0000_3007 8 |v| v;
}
FpStore {
    Fsw "fsw" Any F FStore 0x0000_2027 4;
    Fsd "fsd" Any D FStore 0x0000_3027 8;
}
Branch {
    Beq "beq" Any I B 0x0000_0063 |a, b| a == b;
    Bne "bne" Any I B 0x0000_1063 |a, b| a != b;
    Blt "blt" Any I B 0x0000_4063 |a, b| (a as i64) < b as i64;
    Bge "bge" Any I B 0x0000_5063 |a, b| (a as i64) >= b as i64;
    Bltu "bltu" Any I B 0x0000_6063 |a, b| a < b;
    Bgeu "bgeu" Any I B 0x0000_7063 |a, b| a >= b;
}
JumpReg {
    Jalr "jalr" Any I Jalr 0x0000_0067;
}
FpFp {
    FmaddS "fmadd.s" Any F FR4 0x0000_0043 |e, a, b, c| e.fma::<F32>(a, b, c, false, false);
    FmsubS "fmsub.s" Any F FR4 0x0000_0047 |e, a, b, c| e.fma::<F32>(a, b, c, false, true);
    FnmsubS "fnmsub.s" Any F FR4 0x0000_004b |e, a, b, c| e.fma::<F32>(a, b, c, true, false);
    FnmaddS "fnmadd.s" Any F FR4 0x0000_004f |e, a, b, c| e.fma::<F32>(a, b, c, true, true);
    FaddS "fadd.s" Any F FR 0x0000_0053 |e, a, b, _c| e.add::<F32>(a, b);
    FsubS "fsub.s" Any F FR 0x0800_0053 |e, a, b, _c| e.sub::<F32>(a, b);
    FmulS "fmul.s" Any F FR 0x1000_0053 |e, a, b, _c| e.mul::<F32>(a, b);
    FdivS "fdiv.s" Any F FR 0x1800_0053 |e, a, b, _c| e.div::<F32>(a, b);
    FsqrtS "fsqrt.s" Any F F1 0x5800_0053 |e, a, _b, _c| e.sqrt::<F32>(a);
    FsgnjS "fsgnj.s" Any F FRn 0x2000_0053 |_e, a, b, _c| sign_inject::<F32>(a, b, |_s, t| t);
    FsgnjnS "fsgnjn.s" Any F FRn 0x2000_1053 |_e, a, b, _c| sign_inject::<F32>(a, b, |_s, t| !t);
    FsgnjxS "fsgnjx.s" Any F FRn 0x2000_2053 |_e, a, b, _c| sign_inject::<F32>(a, b, |s, t| s ^ t);
    FminS "fmin.s" Any F FRn 0x2800_0053 |e, a, b, _c| e.min_max::<F32>(a, b, false);
    FmaxS "fmax.s" Any F FRn 0x2800_1053 |e, a, b, _c| e.min_max::<F32>(a, b, true);
    FmaddD "fmadd.d" Any D FR4 0x0200_0043 |e, a, b, c| e.fma::<F64>(a, b, c, false, false);
    FmsubD "fmsub.d" Any D FR4 0x0200_0047 |e, a, b, c| e.fma::<F64>(a, b, c, false, true);
    FnmsubD "fnmsub.d" Any D FR4 0x0200_004b |e, a, b, c| e.fma::<F64>(a, b, c, true, false);
    FnmaddD "fnmadd.d" Any D FR4 0x0200_004f |e, a, b, c| e.fma::<F64>(a, b, c, true, true);
    FaddD "fadd.d" Any D FR 0x0200_0053 |e, a, b, _c| e.add::<F64>(a, b);
    FsubD "fsub.d" Any D FR 0x0a00_0053 |e, a, b, _c| e.sub::<F64>(a, b);
    FmulD "fmul.d" Any D FR 0x1200_0053 |e, a, b, _c| e.mul::<F64>(a, b);
    FdivD "fdiv.d" Any D FR 0x1a00_0053 |e, a, b, _c| e.div::<F64>(a, b);
    FsqrtD "fsqrt.d" Any D F1 0x5a00_0053 |e, a, _b, _c| e.sqrt::<F64>(a);
    FsgnjD "fsgnj.d" Any D FRn 0x2200_0053 |_e, a, b, _c| sign_inject::<F64>(a, b, |_s, t| t);
    FsgnjnD "fsgnjn.d" Any D FRn 0x2200_1053 |_e, a, b, _c| sign_inject::<F64>(a, b, |_s, t| !t);
    FsgnjxD "fsgnjx.d" Any D FRn 0x2200_2053 |_e, a, b, _c| sign_inject::<F64>(a, b, |s, t| s ^ t);
    FminD "fmin.d" Any D FRn 0x2a00_0053 |e, a, b, _c| e.min_max::<F64>(a, b, false);
    FmaxD "fmax.d" Any D FRn 0x2a00_1053 |e, a, b, _c| e.min_max::<F64>(a, b, true);
    FcvtSD "fcvt.s.d" Any D F1 0x4010_0053 |e, a, _b, _c| e.convert::<F64, F32>(a);
    FcvtDS "fcvt.d.s" Any D F1 0x4200_0053 |e, a, _b, _c| e.convert::<F32, F64>(a);
}
FpInt {
    FcvtWS "fcvt.w.s" Any F F2x 0xc000_0053 |e, a, _b| e.float_to_int::<F32>(a, 32, true);
    FcvtWuS "fcvt.wu.s" Any F F2x 0xc010_0053 |e, a, _b| e.float_to_int::<F32>(a, 32, false);
    FcvtLS "fcvt.l.s" Rv64 F F2x 0xc020_0053 |e, a, _b| e.float_to_int::<F32>(a, 64, true);
    FcvtLuS "fcvt.lu.s" Rv64 F F2x 0xc030_0053 |e, a, _b| e.float_to_int::<F32>(a, 64, false);
    FmvXW "fmv.x.w" Any F F2xn 0xe000_0053 |_e, a, _b| sext32(a);
    FclassS "fclass.s" Any F F2xn 0xe000_1053 |_e, a, _b| classify::<F32>(a);
    FleS "fle.s" Any F FCmp 0xa000_0053 |e, a, b| e.compare::<F32>(a, b, Compare::Le);
    FltS "flt.s" Any F FCmp 0xa000_1053 |e, a, b| e.compare::<F32>(a, b, Compare::Lt);
    FeqS "feq.s" Any F FCmp 0xa000_2053 |e, a, b| e.compare::<F32>(a, b, Compare::Eq);
    FcvtWD "fcvt.w.d" Any D F2x 0xc200_0053 |e, a, _b| e.float_to_int::<F64>(a, 32, true);
    FcvtWuD "fcvt.wu.d" Any D F2x 0xc210_0053 |e, a, _b| e.float_to_int::<F64>(a, 32, false);
    FcvtLD "fcvt.l.d" Rv64 D F2x 0xc220_0053 |e, a, _b| e.float_to_int::<F64>(a, 64, true);
    FcvtLuD "fcvt.lu.d" Rv64 D F2x 0xc230_0053 |e, a, _b| e.float_to_int::<F64>(a, 64, false);
    FmvXD "fmv.x.d" Rv64 D F2xn 0xe200_0053 |_e, a, _b| a;
    FclassD "fclass.d" Any D F2xn 0xe200_1053 |_e, a, _b| classify::<F64>(a);
    FleD "fle.d" Any D FCmp 0xa200_0053 |e, a, b| e.compare::<F64>(a, b, Compare::Le);
    FltD "flt.d" Any D FCmp 0xa200_1053 |e, a, b| e.compare::<F64>(a, b, Compare::Lt);
    FeqD "feq.d" Any D FCmp 0xa200_2053 |e, a, b| e.compare::<F64>(a, b, Compare::Eq);
}
IntFp {
    FcvtSW "fcvt.s.w" Any F X2f 0xd000_0053 |e, a| e.int_to_float::<F32>(sext32(a), true);
    FcvtSWu "fcvt.s.wu" Any F X2f 0xd010_0053 |e, a| e.int_to_float::<F32>(u64::from(a as u32), false);
    FcvtSL "fcvt.s.l" Rv64 F X2f 0xd020_0053 |e, a| e.int_to_float::<F32>(a, true);
    FcvtSLu "fcvt.s.lu" Rv64 F X2f 0xd030_0053 |e, a| e.int_to_float::<F32>(a, false);
    FmvWX "fmv.w.x" Any F X2fn 0xf000_0053 |_e, a| a | NAN_BOX;
    FcvtDW "fcvt.d.w" Any D X2f 0xd200_0053 |e, a| e.int_to_float::<F64>(sext32(a), true);
    FcvtDWu "fcvt.d.wu" Any D X2f 0xd210_0053 |e, a| e.int_to_float::<F64>(u64::from(a as u32), false);
    FcvtDL "fcvt.d.l" Rv64 D X2f 0xd220_0053 |e, a| e.int_to_float::<F64>(a, true);
    FcvtDLu "fcvt.d.lu" Rv64 D X2f 0xd230_0053 |e, a| e.int_to_float::<F64>(a, false);
    FmvDX "fmv.d.x" Rv64 D X2fn 0xf200_0053 |_e, a| a;
}
}
called {
AluImm {
    Clz "clz" Rv64 Zbb R1 0x6000_1013 |a, _b| u64::from(a.leading_zeros());
    Ctz "ctz" Rv64 Zbb R1 0x6010_1013 |a, _b| u64::from(a.trailing_zeros());
    Cpop "cpop" Rv64 Zbb R1 0x6020_1013 |a, _b| u64::from(a.count_ones());
    Clzw "clzw" Rv64 Zbb R1 0x6000_101b |a, _b| u64::from((a as u32).leading_zeros());
    Ctzw "ctzw" Rv64 Zbb R1 0x6010_101b |a, _b| u64::from((a as u32).trailing_zeros());
    Cpopw "cpopw" Rv64 Zbb R1 0x6020_101b |a, _b| u64::from((a as u32).count_ones());
    SextB "sext.b" Any Zbb R1 0x6040_1013 |a, _b| a as i8 as u64;
    SextH "sext.h" Any Zbb R1 0x6050_1013 |a, _b| a as i16 as u64;
    ZextH "zext.h" Rv64 Zbb R1 0x0800_403b |a, _b| u64::from(a as u16);
    OrcB "orc.b" Rv64 Zbb R1 0x2870_5013 |a, _b| or_combine(a);
    Rev8 "rev8" Rv64 Zbb R1 0x6b80_5013 |a, _b| a.swap_bytes();
    Rori "rori" Rv64 Zbb Shift64 0x6000_5013 |a, b| a.rotate_right(b as u32 & 63);
    Roriw "roriw" Rv64 Zbb Shift32 0x6000_501b |a, b| (a as i32).rotate_right(b as u32 & 31) as u64;
    SlliUw "slli.uw" Rv64 Zba Shift64 0x0800_101b |a, b| u64::from(a as u32) << (b & 63);
    Bclri "bclri" Rv64 Zbs Shift64 0x4800_1013 |a, b| a & !(1 << (b & 63));
    Bexti "bexti" Rv64 Zbs Shift64 0x4800_5013 |a, b| a >> (b & 63) & 1;
    Binvi "binvi" Rv64 Zbs Shift64 0x6800_1013 |a, b| a ^ 1 << (b & 63);
    Bseti "bseti" Rv64 Zbs Shift64 0x2800_1013 |a, b| a | 1 << (b & 63);
    Clz32 "clz" Rv32 Zbb R1 0x6000_1013 |a, _b| u64::from((a as u32).leading_zeros());
    Ctz32 "ctz" Rv32 Zbb R1 0x6010_1013 |a, _b| u64::from((a as u32).trailing_zeros());
    Cpop32 "cpop" Rv32 Zbb R1 0x6020_1013 |a, _b| u64::from((a as u32).count_ones());
    ZextH32 "zext.h" Rv32 Zbb R1 0x0800_4033 |a, _b| u64::from(a as u16);
    OrcB32 "orc.b" Rv32 Zbb R1 0x2870_5013 |a, _b| sext32(or_combine(a));
    Rev832 "rev8" Rv32 Zbb R1 0x6980_5013 |a, _b| (a as i32).swap_bytes() as u64;
    Rori32 "rori" Rv32 Zbb Shift32 0x6000_5013 |a, b| (a as i32).rotate_right(b as u32 & 31) as u64;
    Bclri32 "bclri" Rv32 Zbs Shift32 0x4800_1013 |a, b| sext32(a & !(1 << (b & 31)));
    Bexti32 "bexti" Rv32 Zbs Shift32 0x4800_5013 |a, b| a >> (b & 31) & 1;
    Binvi32 "binvi" Rv32 Zbs Shift32 0x6800_1013 |a, b| sext32(a ^ 1 << (b & 31));
    Bseti32 "bseti" Rv32 Zbs Shift32 0x2800_1013 |a, b| sext32(a | 1 << (b & 31));
    Brev8 "brev8" Rv64 Zbkb R1 0x6870_5013 |a, _b| reverse_bytes_bits(a);
    Brev832 "brev8" Rv32 Zbkb R1 0x6870_5013 |a, _b| sext32(reverse_bytes_bits(a));
    Zip "zip" Rv32 Zbkb R1 0x08f0_1013 |a, _b| sext32(interleave(a as u32).into());
    Unzip "unzip" Rv32 Zbkb R1 0x08f0_5013 |a, _b| sext32(deinterleave(a as u32).into());
    MopR0 "mop.r.0" Any Zimop R1 0x81c0_4073 |_a, _b| 0;
    MopR1 "mop.r.1" Any Zimop R1 0x81d0_4073 |_a, _b| 0;
    MopR2 "mop.r.2" Any Zimop R1 0x81e0_4073 |_a, _b| 0;
    MopR3 "mop.r.3" Any Zimop R1 0x81f0_4073 |_a, _b| 0;
    MopR4 "mop.r.4" Any Zimop R1 0x85c0_4073 |_a, _b| 0;
    MopR5 "mop.r.5" Any Zimop R1 0x85d0_4073 |_a, _b| 0;
    MopR6 "mop.r.6" Any Zimop R1 0x85e0_4073 |_a, _b| 0;
    MopR7 "mop.r.7" Any Zimop R1 0x85f0_4073 |_a, _b| 0;
    MopR8 "mop.r.8" Any Zimop R1 0x89c0_4073 |_a, _b| 0;
    MopR9 "mop.r.9" Any Zimop R1 0x89d0_4073 |_a, _b| 0;
    MopR10 "mop.r.10" Any Zimop R1 0x89e0_4073 |_a, _b| 0;
    MopR11 "mop.r.11" Any Zimop R1 0x89f0_4073 |_a, _b| 0;
    MopR12 "mop.r.12" Any Zimop R1 0x8dc0_4073 |_a, _b| 0;
    MopR13 "mop.r.13" Any Zimop R1 0x8dd0_4073 |_a, _b| 0;
    MopR14 "mop.r.14" Any Zimop R1 0x8de0_4073 |_a, _b| 0;
    MopR15 "mop.r.15" Any Zimop R1 0x8df0_4073 |_a, _b| 0;
    MopR16 "mop.r.16" Any Zimop R1 0xc1c0_4073 |_a, _b| 0;
    MopR17 "mop.r.17" Any Zimop R1 0xc1d0_4073 |_a, _b| 0;
    MopR18 "mop.r.18" Any Zimop R1 0xc1e0_4073 |_a, _b| 0;
    MopR19 "mop.r.19" Any Zimop R1 0xc1f0_4073 |_a, _b| 0;
    MopR20 "mop.r.20" Any Zimop R1 0xc5c0_4073 |_a, _b| 0;
    MopR21 "mop.r.21" Any Zimop R1 0xc5d0_4073 |_a, _b| 0;
    MopR22 "mop.r.22" Any Zimop R1 0xc5e0_4073 |_a, _b| 0;
    MopR23 "mop.r.23" Any Zimop R1 0xc5f0_4073 |_a, _b| 0;
    MopR24 "mop.r.24" Any Zimop R1 0xc9c0_4073 |_a, _b| 0;
    MopR25 "mop.r.25" Any Zimop R1 0xc9d0_4073 |_a, _b| 0;
    MopR26 "mop.r.26" Any Zimop R1 0xc9e0_4073 |_a, _b| 0;
    MopR27 "mop.r.27" Any Zimop R1 0xc9f0_4073 |_a, _b| 0;
    MopR28 "mop.r.28" Any Zimop R1 0xcdc0_4073 |_a, _b| 0;
    MopR29 "mop.r.29" Any Zimop R1 0xcdd0_4073 |_a, _b| 0;
    MopR30 "mop.r.30" Any Zimop R1 0xcde0_4073 |_a, _b| 0;
    MopR31 "mop.r.31" Any Zimop R1 0xcdf0_4073 |_a, _b| 0;
}
AluReg {
    AddUw "add.uw" Rv64 Zba R 0x0800_003b |a, b| u64::from(a as u32).wrapping_add(b);
    Sh1add "sh1add" Rv64 Zba R 0x2000_2033 |a, b| (a << 1).wrapping_add(b);
    Sh1addUw "sh1add.uw" Rv64 Zba R 0x2000_203b |a, b| (u64::from(a as u32) << 1).wrapping_add(b);
    Sh1add32 "sh1add" Rv32 Zba R 0x2000_2033 |a, b| sext32((a << 1).wrapping_add(b));
    Sh2add "sh2add" Rv64 Zba R 0x2000_4033 |a, b| (a << 2).wrapping_add(b);
    Sh2addUw "sh2add.uw" Rv64 Zba R 0x2000_403b |a, b| (u64::from(a as u32) << 2).wrapping_add(b);
    Sh2add32 "sh2add" Rv32 Zba R 0x2000_4033 |a, b| sext32((a << 2).wrapping_add(b));
    Sh3add "sh3add" Rv64 Zba R 0x2000_6033 |a, b| (a << 3).wrapping_add(b);
    Sh3addUw "sh3add.uw" Rv64 Zba R 0x2000_603b |a, b| (u64::from(a as u32) << 3).wrapping_add(b);
    Sh3add32 "sh3add" Rv32 Zba R 0x2000_6033 |a, b| sext32((a << 3).wrapping_add(b));
    Andn "andn" Any Zbb R 0x4000_7033 |a, b| a & !b;
    Orn "orn" Any Zbb R 0x4000_6033 |a, b| a | !b;
    Xnor "xnor" Any Zbb R 0x4000_4033 |a, b| !(a ^ b);
    Max "max" Any Zbb R 0x0a00_6033 |a, b| (a as i64).max(b as i64) as u64;
    Maxu "maxu" Any Zbb R 0x0a00_7033 |a, b| a.max(b);
    Min "min" Any Zbb R 0x0a00_4033 |a, b| (a as i64).min(b as i64) as u64;
    Minu "minu" Any Zbb R 0x0a00_5033 |a, b| a.min(b);
    Rol "rol" Rv64 Zbb R 0x6000_1033 |a, b| a.rotate_left(b as u32 & 63);
    Ror "ror" Rv64 Zbb R 0x6000_5033 |a, b| a.rotate_right(b as u32 & 63);
    Rolw "rolw" Rv64 Zbb R 0x6000_103b |a, b| (a as i32).rotate_left(b as u32 & 31) as u64;
    Rorw "rorw" Rv64 Zbb R 0x6000_503b |a, b| (a as i32).rotate_right(b as u32 & 31) as u64;
    Bclr "bclr" Rv64 Zbs R 0x4800_1033 |a, b| a & !(1 << (b & 63));
    Bext "bext" Rv64 Zbs R 0x4800_5033 |a, b| a >> (b & 63) & 1;
    Binv "binv" Rv64 Zbs R 0x6800_1033 |a, b| a ^ 1 << (b & 63);
    Bset "bset" Rv64 Zbs R 0x2800_1033 |a, b| a | 1 << (b & 63);
    Rol32 "rol" Rv32 Zbb R 0x6000_1033 |a, b| (a as i32).rotate_left(b as u32 & 31) as u64;
    Ror32 "ror" Rv32 Zbb R 0x6000_5033 |a, b| (a as i32).rotate_right(b as u32 & 31) as u64;
    Bclr32 "bclr" Rv32 Zbs R 0x4800_1033 |a, b| sext32(a & !(1 << (b & 31)));
    Bext32 "bext" Rv32 Zbs R 0x4800_5033 |a, b| a >> (b & 31) & 1;
    Binv32 "binv" Rv32 Zbs R 0x6800_1033 |a, b| sext32(a ^ 1 << (b & 31));
    Bset32 "bset" Rv32 Zbs R 0x2800_1033 |a, b| sext32(a | 1 << (b & 31));
    CzeroEqz "czero.eqz" Any Zicond R 0x0e00_5033 |a, b| if b == 0 { 0 } else { a };
    CzeroNez "czero.nez" Any Zicond R 0x0e00_7033 |a, b| if b == 0 { a } else { 0 };
    Clmul "clmul" Rv64 Zbc R 0x0a00_1033 |a, b| carryless(a, b) as u64;
    Clmulr "clmulr" Rv64 Zbc R 0x0a00_2033 |a, b| (carryless(a, b) >> 63) as u64;
    Clmulh "clmulh" Rv64 Zbc R 0x0a00_3033 |a, b| (carryless(a, b) >> 64) as u64;
    Clmul32 "clmul" Rv32 Zbc R 0x0a00_1033 |a, b| sext32(carryless(a as u32, b as u32) as u64);
    Clmulr32 "clmulr" Rv32 Zbc R 0x0a00_2033 |a, b| sext32((carryless(a as u32, b as u32) >> 31) as u64);
    Clmulh32 "clmulh" Rv32 Zbc R 0x0a00_3033 |a, b| sext32((carryless(a as u32, b as u32) >> 32) as u64);
    Pack "pack" Rv64 Zbkb R 0x0800_4033 |a, b| u64::from(a as u32) | b << 32;
    Pack32 "pack" Rv32 Zbkb R 0x0800_4033 |a, b| sext32(a & 0xffff | b << 16);
    Packh "packh" Any Zbkb R 0x0800_7033 |a, b| a & 0xff | (b & 0xff) << 8;
    Packw "packw" Rv64 Zbkb R 0x0800_403b |a, b| sext32(a & 0xffff | b << 16);
    Xperm4 "xperm4" Rv64 Zbkx R 0x2800_2033 |a, b| look_up::<4>(a, b);
    Xperm8 "xperm8" Rv64 Zbkx R 0x2800_4033 |a, b| look_up::<8>(a, b);
    Xperm432 "xperm4" Rv32 Zbkx R 0x2800_2033 |a, b| sext32(look_up::<4>(a as u32 as u64, b));
    Xperm832 "xperm8" Rv32 Zbkx R 0x2800_4033 |a, b| sext32(look_up::<8>(a as u32 as u64, b));
    MopRr0 "mop.rr.0" Any Zimop R 0x8200_4073 |_a, _b| 0;
    MopRr1 "mop.rr.1" Any Zimop R 0x8600_4073 |_a, _b| 0;
    MopRr2 "mop.rr.2" Any Zimop R 0x8a00_4073 |_a, _b| 0;
    MopRr3 "mop.rr.3" Any Zimop R 0x8e00_4073 |_a, _b| 0;
    MopRr4 "mop.rr.4" Any Zimop R 0xc200_4073 |_a, _b| 0;
    MopRr5 "mop.rr.5" Any Zimop R 0xc600_4073 |_a, _b| 0;
    MopRr6 "mop.rr.6" Any Zimop R 0xca00_4073 |_a, _b| 0;
    MopRr7 "mop.rr.7" Any Zimop R 0xce00_4073 |_a, _b| 0;
}
}
} {
FpLoad {
    Flh "flh" Any Zfhmin FLoad 0x0000_1007 2 |v| v | NAN_BOX_HALF;
}
FpStore {
    Fsh "fsh" Any Zfhmin FStore 0x0000_1027 2;
}
FpFp {
    FmaddH "fmadd.h" Any Zfh FR4 0x0400_0043 |e, a, b, c| e.fma::<F16>(a, b, c, false, false);
    FmsubH "fmsub.h" Any Zfh FR4 0x0400_0047 |e, a, b, c| e.fma::<F16>(a, b, c, false, true);
    FnmsubH "fnmsub.h" Any Zfh FR4 0x0400_004b |e, a, b, c| e.fma::<F16>(a, b, c, true, false);
    FnmaddH "fnmadd.h" Any Zfh FR4 0x0400_004f |e, a, b, c| e.fma::<F16>(a, b, c, true, true);
    FaddH "fadd.h" Any Zfh FR 0x0400_0053 |e, a, b, _c| e.add::<F16>(a, b);
    FsubH "fsub.h" Any Zfh FR 0x0c00_0053 |e, a, b, _c| e.sub::<F16>(a, b);
    FmulH "fmul.h" Any Zfh FR 0x1400_0053 |e, a, b, _c| e.mul::<F16>(a, b);
    FdivH "fdiv.h" Any Zfh FR 0x1c00_0053 |e, a, b, _c| e.div::<F16>(a, b);
    FsqrtH "fsqrt.h" Any Zfh F1 0x5c00_0053 |e, a, _b, _c| e.sqrt::<F16>(a);
    FsgnjH "fsgnj.h" Any Zfh FRn 0x2400_0053 |_e, a, b, _c| sign_inject::<F16>(a, b, |_s, t| t);
    FsgnjnH "fsgnjn.h" Any Zfh FRn 0x2400_1053 |_e, a, b, _c| sign_inject::<F16>(a, b, |_s, t| !t);
    FsgnjxH "fsgnjx.h" Any Zfh FRn 0x2400_2053 |_e, a, b, _c| sign_inject::<F16>(a, b, |s, t| s ^ t);
    FminH "fmin.h" Any Zfh FRn 0x2c00_0053 |e, a, b, _c| e.min_max::<F16>(a, b, false);
    FmaxH "fmax.h" Any Zfh FRn 0x2c00_1053 |e, a, b, _c| e.min_max::<F16>(a, b, true);
    FcvtSH "fcvt.s.h" Any Zfhmin F1 0x4020_0053 |e, a, _b, _c| e.convert::<F16, F32>(a);
    FcvtHS "fcvt.h.s" Any Zfhmin F1 0x4400_0053 |e, a, _b, _c| e.convert::<F32, F16>(a);
    FcvtDH "fcvt.d.h" Any ZfhminD F1 0x4220_0053 |e, a, _b, _c| e.convert::<F16, F64>(a);
    FcvtHD "fcvt.h.d" Any ZfhminD F1 0x4410_0053 |e, a, _b, _c| e.convert::<F64, F16>(a);
    FminmS "fminm.s" Any Zfa FRn 0x2800_2053 |e, a, b, _c| e.min_max_nan::<F32>(a, b, false);
    FmaxmS "fmaxm.s" Any Zfa FRn 0x2800_3053 |e, a, b, _c| e.min_max_nan::<F32>(a, b, true);
    FroundS "fround.s" Any Zfa F1 0x4040_0053 |e, a, _b, _c| e.round_to_integral::<F32>(a, false);
    FroundnxS "froundnx.s" Any Zfa F1 0x4050_0053 |e, a, _b, _c| e.round_to_integral::<F32>(a, true);
    FminmD "fminm.d" Any ZfaD FRn 0x2a00_2053 |e, a, b, _c| e.min_max_nan::<F64>(a, b, false);
    FmaxmD "fmaxm.d" Any ZfaD FRn 0x2a00_3053 |e, a, b, _c| e.min_max_nan::<F64>(a, b, true);
    FroundD "fround.d" Any ZfaD F1 0x4240_0053 |e, a, _b, _c| e.round_to_integral::<F64>(a, false);
    FroundnxD "froundnx.d" Any ZfaD F1 0x4250_0053 |e, a, _b, _c| e.round_to_integral::<F64>(a, true);
    FminmH "fminm.h" Any ZfaZfh FRn 0x2c00_2053 |e, a, b, _c| e.min_max_nan::<F16>(a, b, false);
    FmaxmH "fmaxm.h" Any ZfaZfh FRn 0x2c00_3053 |e, a, b, _c| e.min_max_nan::<F16>(a, b, true);
    FroundH "fround.h" Any ZfaZfh F1 0x4440_0053 |e, a, _b, _c| e.round_to_integral::<F16>(a, false);
    FroundnxH "froundnx.h" Any ZfaZfh F1 0x4450_0053 |e, a, _b, _c| e.round_to_integral::<F16>(a, true);
}
FpInt {
    FcvtWH "fcvt.w.h" Any Zfh F2x 0xc400_0053 |e, a, _b| e.float_to_int::<F16>(a, 32, true);
    FcvtWuH "fcvt.wu.h" Any Zfh F2x 0xc410_0053 |e, a, _b| e.float_to_int::<F16>(a, 32, false);
    FcvtLH "fcvt.l.h" Rv64 Zfh F2x 0xc420_0053 |e, a, _b| e.float_to_int::<F16>(a, 64, true);
    FcvtLuH "fcvt.lu.h" Rv64 Zfh F2x 0xc430_0053 |e, a, _b| e.float_to_int::<F16>(a, 64, false);
    FmvXH "fmv.x.h" Any Zfhmin F2xn 0xe400_0053 |_e, a, _b| a as i16 as u64;
    FclassH "fclass.h" Any Zfh F2xn 0xe400_1053 |_e, a, _b| classify::<F16>(a);
    FleH "fle.h" Any Zfh FCmp 0xa400_0053 |e, a, b| e.compare::<F16>(a, b, Compare::Le);
    FltH "flt.h" Any Zfh FCmp 0xa400_1053 |e, a, b| e.compare::<F16>(a, b, Compare::Lt);
    FeqH "feq.h" Any Zfh FCmp 0xa400_2053 |e, a, b| e.compare::<F16>(a, b, Compare::Eq);
    FleqS "fleq.s" Any Zfa FCmp 0xa000_4053 |e, a, b| e.compare_quietly::<F32>(a, b, Compare::Le);
    FltqS "fltq.s" Any Zfa FCmp 0xa000_5053 |e, a, b| e.compare_quietly::<F32>(a, b, Compare::Lt);
    FleqD "fleq.d" Any ZfaD FCmp 0xa200_4053 |e, a, b| e.compare_quietly::<F64>(a, b, Compare::Le);
    FltqD "fltq.d" Any ZfaD FCmp 0xa200_5053 |e, a, b| e.compare_quietly::<F64>(a, b, Compare::Lt);
    FleqH "fleq.h" Any ZfaZfh FCmp 0xa400_4053 |e, a, b| e.compare_quietly::<F16>(a, b, Compare::Le);
    FltqH "fltq.h" Any ZfaZfh FCmp 0xa400_5053 |e, a, b| e.compare_quietly::<F16>(a, b, Compare::Lt);
    FcvtmodWD "fcvtmod.w.d" Any ZfaD F2xz 0xc280_1053 |e, a, _b| e.float_to_int_modulo(a);
    FmvhXD "fmvh.x.d" Rv32 ZfaD F2xn 0xe210_0053 |_e, a, _b| sext32(a >> 32);
}
IntFp {
    FcvtHW "fcvt.h.w" Any Zfh X2f 0xd400_0053 |e, a| e.int_to_float::<F16>(sext32(a), true);
    FcvtHWu "fcvt.h.wu" Any Zfh X2f 0xd410_0053 |e, a| e.int_to_float::<F16>(u64::from(a as u32), false);
    FcvtHL "fcvt.h.l" Rv64 Zfh X2f 0xd420_0053 |e, a| e.int_to_float::<F16>(a, true);
    FcvtHLu "fcvt.h.lu" Rv64 Zfh X2f 0xd430_0053 |e, a| e.int_to_float::<F16>(a, false);
    FmvHX "fmv.h.x" Any Zfhmin X2fn 0xf400_0053 |_e, a| a | NAN_BOX_HALF;
}
Amo {
    AmoswapW "amoswap.w" Any A Amo 0x0800_202f 4 |_old, b| b;
    AmoaddW "amoadd.w" Any A Amo 0x0000_202f 4 |old, b| old.wrapping_add(b);
    AmoxorW "amoxor.w" Any A Amo 0x2000_202f 4 |old, b| old ^ b;
    AmoandW "amoand.w" Any A Amo 0x6000_202f 4 |old, b| old & b;
    AmoorW "amoor.w" Any A Amo 0x4000_202f 4 |old, b| old | b;
    AmominW "amomin.w" Any A Amo 0x8000_202f 4 |old, b| (old as i32).min(b as i32) as u64;
    AmomaxW "amomax.w" Any A Amo 0xa000_202f 4 |old, b| (old as i32).max(b as i32) as u64;
    AmominuW "amominu.w" Any A Amo 0xc000_202f 4 |old, b| u64::from((old as u32).min(b as u32));
    AmomaxuW "amomaxu.w" Any A Amo 0xe000_202f 4 |old, b| u64::from((old as u32).max(b as u32));
    AmoswapD "amoswap.d" Rv64 A Amo 0x0800_302f 8 |_old, b| b;
    AmoaddD "amoadd.d" Rv64 A Amo 0x0000_302f 8 |old, b| old.wrapping_add(b);
    AmoxorD "amoxor.d" Rv64 A Amo 0x2000_302f 8 |old, b| old ^ b;
    AmoandD "amoand.d" Rv64 A Amo 0x6000_302f 8 |old, b| old & b;
    AmoorD "amoor.d" Rv64 A Amo 0x4000_302f 8 |old, b| old | b;
    AmominD "amomin.d" Rv64 A Amo 0x8000_302f 8 |old, b| (old as i64).min(b as i64) as u64;
    AmomaxD "amomax.d" Rv64 A Amo 0xa000_302f 8 |old, b| (old as i64).max(b as i64) as u64;
    AmominuD "amominu.d" Rv64 A Amo 0xc000_302f 8 |old, b| old.min(b);
    AmomaxuD "amomaxu.d" Rv64 A Amo 0xe000_302f 8 |old, b| old.max(b);
    AmoswapB "amoswap.b" Any Zabha Amo 0x0800_002f 1 |_old, b| b;
    AmoaddB "amoadd.b" Any Zabha Amo 0x0000_002f 1 |old, b| old.wrapping_add(b);
    AmoxorB "amoxor.b" Any Zabha Amo 0x2000_002f 1 |old, b| old ^ b;
    AmoandB "amoand.b" Any Zabha Amo 0x6000_002f 1 |old, b| old & b;
    AmoorB "amoor.b" Any Zabha Amo 0x4000_002f 1 |old, b| old | b;
    AmominB "amomin.b" Any Zabha Amo 0x8000_002f 1 |old, b| (old as i8).min(b as i8) as u64;
    AmomaxB "amomax.b" Any Zabha Amo 0xa000_002f 1 |old, b| (old as i8).max(b as i8) as u64;
    AmominuB "amominu.b" Any Zabha Amo 0xc000_002f 1 |old, b| u64::from((old as u8).min(b as u8));
    AmomaxuB "amomaxu.b" Any Zabha Amo 0xe000_002f 1 |old, b| u64::from((old as u8).max(b as u8));
    AmoswapH "amoswap.h" Any Zabha Amo 0x0800_102f 2 |_old, b| b;
    AmoaddH "amoadd.h" Any Zabha Amo 0x0000_102f 2 |old, b| old.wrapping_add(b);
    AmoxorH "amoxor.h" Any Zabha Amo 0x2000_102f 2 |old, b| old ^ b;
    AmoandH "amoand.h" Any Zabha Amo 0x6000_102f 2 |old, b| old & b;
    AmoorH "amoor.h" Any Zabha Amo 0x4000_102f 2 |old, b| old | b;
    AmominH "amomin.h" Any Zabha Amo 0x8000_102f 2 |old, b| (old as i16).min(b as i16) as u64;
    AmomaxH "amomax.h" Any Zabha Amo 0xa000_102f 2 |old, b| (old as i16).max(b as i16) as u64;
    AmominuH "amominu.h" Any Zabha Amo 0xc000_102f 2 |old, b| u64::from((old as u16).min(b as u16));
    AmomaxuH "amomaxu.h" Any Zabha Amo 0xe000_102f 2 |old, b| u64::from((old as u16).max(b as u16));
    AmocasW "amocas.w" Any Zacas Amo 0x2800_202f compare_and_swap;
    AmocasD "amocas.d" Rv64 Zacas Amo 0x2800_302f compare_and_swap;
    AmocasD32 "amocas.d" Rv32 Zacas Amo 0x2800_302f compare_and_swap_pair;
    AmocasQ "amocas.q" Rv64 Zacas Amo 0x2800_402f compare_and_swap_pair;
    AmocasB "amocas.b" Any ZabhaZacas Amo 0x2800_002f compare_and_swap;
    AmocasH "amocas.h" Any ZabhaZacas Amo 0x2800_102f compare_and_swap;
}
LoadReserved {
    LrW "lr.w" Any A Lr 0x1000_202f 4;
    LrD "lr.d" Rv64 A Lr 0x1000_302f 8;
}
StoreConditional {
    ScW "sc.w" Any A Amo 0x1800_202f 4;
    ScD "sc.d" Rv64 A Amo 0x1800_302f 8;
}
Csr {
    Csrrw "csrrw" Any Zicsr Csr 0x0000_1073 |_old, b| b;
    Csrrs "csrrs" Any Zicsr Csr 0x0000_2073 |old, b| old | b;
    Csrrc "csrrc" Any Zicsr Csr 0x0000_3073 |old, b| old & !b;
    Csrrwi "csrrwi" Any Zicsr CsrImm 0x0000_5073 |_old, b| b;
    Csrrsi "csrrsi" Any Zicsr CsrImm 0x0000_6073 |old, b| old | b;
    Csrrci "csrrci" Any Zicsr CsrImm 0x0000_7073 |old, b| old & !b;
}
System {
    Ecall "ecall" Any I Plain 0x0000_0073 system_ecall;
    Ebreak "ebreak" Any I Plain 0x0010_0073 system_ebreak;
    FenceI "fence.i" Any Zifencei FenceI 0x0000_100f system_fence_i;
    Sret "sret" Any Priv Plain 0x1020_0073 system_sret;
    Mret "mret" Any Priv Plain 0x3020_0073 system_mret;
    Wfi "wfi" Any Priv Plain 0x1050_0073 system_wfi;
    SfenceVma "sfence.vma" Any Priv Sfence 0x1200_0073 system_sfence_vma;
    SinvalVma "sinval.vma" Any Svinval Sfence 0x1600_0073 system_sfence_vma;
    SfenceWInval "sfence.w.inval" Any Svinval Plain 0x1800_0073 system_sfence_inval;
    SfenceInvalIr "sfence.inval.ir" Any Svinval Plain 0x1810_0073 system_sfence_inval;
    CboInval "cbo.inval" Any Zicbom Cbo 0x0000_200f system_cbo_inval;
    CboClean "cbo.clean" Any Zicbom Cbo 0x0010_200f system_cbo_clean;
    CboFlush "cbo.flush" Any Zicbom Cbo 0x0020_200f system_cbo_clean;
    FliS "fli.s" Any Zfa Fli 0xf010_0053 system_load_constant;
    FliD "fli.d" Any ZfaD Fli 0xf210_0053 system_load_constant;
    FliH "fli.h" Any ZfaZfhmin Fli 0xf410_0053 system_load_constant;
    FmvpDX "fmvp.d.x" Rv32 ZfaD X2p 0xb200_0053 system_move_pair;
    SsamoswapW "ssamoswap.w" Any Zicfiss Amo 0x4800_202f system_shadow_swap;
    SsamoswapD "ssamoswap.d" Rv64 Zicfiss Amo 0x4800_302f system_shadow_swap;
    Sspush "sspush" Any Zicfiss Link2 0xce10_4073 system_shadow_push;
    Sspopchk "sspopchk" Any Zicfiss Link1 0xcdc0_c073 system_shadow_pop;
    Ssrdp "ssrdp" Any Zicfiss D1 0xcdc0_4073 system_shadow_pointer;
    CmPush "cm.push" Rv64 Zcmp Registers 0xb802 system_push_registers;
    CmPop "cm.pop" Rv64 Zcmp Registers 0xba02 system_pop_registers;
    CmPopretz "cm.popretz" Rv64 Zcmp Registers 0xbc02 system_pop_registers;
    CmPopret "cm.popret" Rv64 Zcmp Registers 0xbe02 system_pop_registers;
    CmPush32 "cm.push" Rv32 Zcmp Registers 0xb802 system_push_registers;
    CmPop32 "cm.pop" Rv32 Zcmp Registers 0xba02 system_pop_registers;
    CmPopretz32 "cm.popretz" Rv32 Zcmp Registers 0xbc02 system_pop_registers;
    CmPopret32 "cm.popret" Rv32 Zcmp Registers 0xbe02 system_pop_registers;
    CmMva01s "cm.mva01s" Any Zcmp MoveFrom 0xac62 system_move_saved;
    CmMvsa01 "cm.mvsa01" Any Zcmp MoveTo 0xac22 system_move_saved;
    WrsNto "wrs.nto" Any Zawrs Plain 0x00d0_0073 system_wait_for_reservation;
    WrsSto "wrs.sto" Any Zawrs Plain 0x01d0_0073 system_wait_for_reservation;
    CboZero "cbo.zero" Any Zicboz Cbo 0x0040_200f system_cbo_zero;
    TollMvfrom "toll.mvfrom" Any XTollBank BankFrom 0x0000_000b system_bank_from;
    TollMvto "toll.mvto" Any XTollBank BankTo 0x0000_100b system_bank_to;
}
} }
    };
}
pub(crate) use instruction_table;

pub(crate) mod vectors;
