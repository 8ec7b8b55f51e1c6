//! The ops of decoded blocks.

use crate::alu::sext32;
use crate::fp::Rounding;
use crate::insn::{Insn, Op};
use crate::table::instruction_table;

/// One op of a block: 16 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MicroOp {
    pub(crate) code: Code,
    /// The destination; 32 is `x0`.
    pub(crate) rd: u8,
    pub(crate) rs1: u8,
    /// For an indirect jump this and the next hold the immediate.
    pub(crate) rs2: u8,
    pub(crate) rs3: u8,
    pub(crate) rounding: Rounding,
    /// The instruction: its place in the arena's `meta`.
    pub(crate) place: u16,
    /// The immediate; the target of a branch; the whole value of a constant; the return address of an indirect
    /// jump.
    pub(crate) imm: u64,
}

const _: () = assert!(size_of::<MicroOp>() == 16);

impl MicroOp {
    pub(crate) const NOTHING: MicroOp = MicroOp {
        code: Code::Fetch,
        rd: 0,
        rs1: 0,
        rs2: 0,
        rs3: 0,
        rounding: Rounding::NearestEven,
        place: 0,
        imm: 0,
    };

    /// The immediate of an indirect jump.
    #[inline(always)]
    pub(crate) fn offset(&self) -> u64 {
        i16::from_le_bytes([self.rs2, self.rs3]) as u64
    }
}

macro_rules! define {
    (
        upper { $($u:ident $um:literal $uw:ident $ue:ident $uf:ident $ub:literal |$upc:ident, $ui:ident| $ux:expr;)* }
        alu_imm { $($ai:ident $aim:literal $aiw:ident $aie:ident $aif:ident $aib:literal |$aia:ident, $aibb:ident| $aix:expr;)* }
        alu_reg { $($ar:ident $arm:literal $arw:ident $are:ident $arf:ident $arb:literal |$ara:ident, $arbb:ident| $arx:expr;)* }
        load { $($l:ident $lm:literal $lw:ident $le:ident $lf:ident $lb:literal $ls:literal |$lv:ident| $lx:expr;)* }
        store { $($s:ident $sm:literal $sw:ident $se:ident $sf:ident $sb:literal $ss:literal;)* }
        fp_load { $($fl:ident $flm:literal $flw:ident $fle:ident $flf:ident $flb:literal $fls:literal |$flv:ident| $flx:expr;)* }
        fp_store { $($fs:ident $fsm:literal $fsw:ident $fse:ident $fsf:ident $fsb:literal $fss:literal;)* }
        branch { $($b:ident $bm:literal $bw:ident $be:ident $bf:ident $bb:literal |$ba:ident, $bbb:ident| $bx:expr;)* }
        jump { $($j:ident $jm:literal $jw:ident $je:ident $jf:ident $jb:literal;)* }
        jump_reg { $($jr:ident $jrm:literal $jrw:ident $jre:ident $jrf:ident $jrb:literal;)* }
        nop { $($n:ident $nm:literal $nw:ident $ne:ident $nf:ident $nb:literal;)* }
        amo { $($a:tt)* }
        load_reserved { $($lr:tt)* }
        store_conditional { $($sc:tt)* }
        fp_fp { $($ff:ident $ffm:literal $ffw:ident $ffe:ident $fff:ident $ffb:literal |$ffen:ident, $ffa:ident, $ffbb:ident, $ffc:ident| $ffx:expr;)* }
        fp_int { $($fi:ident $fim:literal $fiw:ident $fie:ident $fif:ident $fib:literal |$fien:ident, $fia:ident, $fibb:ident| $fix:expr;)* }
        int_fp { $($if_:ident $ifm:literal $ifw:ident $ife:ident $iff:ident $ifb:literal |$ifen:ident, $ifa:ident| $ifx:expr;)* }
        csr { $($c:tt)* }
        system { $($y:tt)* }
    ) => {
        /// What an op does: a row of the table, or one of the engine's own.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub(crate) enum Code {
            $($ai,)* $($ar,)* $($l,)* $($s,)* $($fl,)* $($fs,)* $($b,)* $($jr,)* $($ff,)* $($fi,)* $($if_,)*
            /// A value that is known when the block is built.
            Constant,
            /// To the left, then to the right without sign, by bits 0 to 5 and 8 to 13 of the immediate.
            Shifts,
            /// Retires, and nothing else.
            Nop,
            /// On to another block in the page; no instruction.
            Goto,
            /// On to another page; no instruction. It is never linked: the next page may be mapped elsewhere by then.
            Away,
            /// For the reference interpreter.
            Step,
            /// For the reference interpreter, fetch and all.
            Fetch,
        }

        impl Code {
            /// The code of an instruction; `Step` for one that blocks do not do.
            pub(crate) fn of(op: Op) -> Self {
                match op {
                    $(Op::$ai => Code::$ai,)* $(Op::$ar => Code::$ar,)* $(Op::$l => Code::$l,)*
                    $(Op::$s => Code::$s,)* $(Op::$fl => Code::$fl,)* $(Op::$fs => Code::$fs,)*
                    $(Op::$b => Code::$b,)* $(Op::$jr => Code::$jr,)* $(Op::$ff => Code::$ff,)*
                    $(Op::$fi => Code::$fi,)* $(Op::$if_ => Code::$if_,)*
                    _ => Code::Step,
                }
            }
        }

        /// The value of `lui` or `auipc` at an address.
        pub(crate) fn upper(insn: &Insn, at: u64) -> u64 {
            match insn.op {
                $(Op::$u => { let ($upc, $ui) = (at, insn.imm as u64); $ux })*
                _ => 0,
            }
        }

        /// What a register-immediate instruction makes of a value.
        pub(crate) fn alu_imm(op: Op, value: u64, imm: u64) -> u64 {
            match op {
                $(Op::$ai => { let ($aia, $aibb) = (value, imm); $aix })*
                _ => 0,
            }
        }
    };
}
instruction_table!(define);
