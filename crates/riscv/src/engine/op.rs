//! The ops of decoded blocks.

use crate::alu::{carryless, deinterleave, interleave, look_up, or_combine, reverse_bytes_bits, sext32};
use crate::fp::Rounding;
use crate::insn::Op;
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

/// The value of a row of a class, which is a function of two; 0 for a row of another class.
macro_rules! value {
    (Upper $row:tt) => { value!(AluImm $row) };
    (AluImm ($left:ident $right:ident |$a:ident, $b:ident| $x:expr)) => {{
        let ($a, $b) = ($left, $right);
        $x
    }};
    ($class:ident $row:tt) => { 0 };
}

/// The code of a row that is `called`.
macro_rules! by_class {
    (AluImm) => {
        Code::CalledImm
    };
    (AluReg) => {
        Code::Called
    };
}

macro_rules! define {
    (
        folded { $($folded:ident { $($fop:ident $fm:literal $fw:ident $fe:ident $ff:ident $fb:literal $(|$($farg:ident),+| $fx:expr)?;)* })* }
        in_blocks { $($class:ident { $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)* })* }
        called { $($cclass:ident { $($cop:ident $cm:literal $cw:ident $ce:ident $cf:ident $cb:literal |$($carg:ident),+| $cx:expr;)* })* }
        stepped { $($stepped:tt)* }
    ) => {
        /// The code of an op: a row of the table, or one of the engine's own.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub(crate) enum Code {
            $($($op,)*)*
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
            /// A function of two registers, for which `meta` has the instruction.
            Called,
            /// The same of a register and the immediate.
            CalledImm,
            /// An instruction with vectors, which `meta` has.
            Vector,
            /// For the reference interpreter.
            Step,
            /// For the reference interpreter, fetch and all.
            Fetch,
        }

        impl Code {
            /// The code of an instruction; `Step` for one that blocks do not do.
            pub(crate) fn of(op: Op) -> Self {
                match op {
                    $($(Op::$op => Code::$op,)*)*
                    $($(Op::$cop => by_class!($cclass),)*)*
                    _ => Code::Step,
                }
            }
        }

        /// The result of an instruction with two constant operands when a block is built: `lui` or `auipc` of its address
        /// and immediate, a register-immediate instruction of the register and its immediate.
        pub(crate) fn fold(op: Op, left: u64, right: u64) -> u64 {
            match op {
                $($(Op::$fop => value!($folded (left right $(|$($farg),+| $fx)?)),)*)*
                $($(Op::$op => value!($class (left right $(|$($arg),+| $x)?)),)*)*
                _ => called(op, left, right),
            }
        }

        /// The result of an instruction that is `called`, from two registers, or from a register and its immediate.
        #[inline(never)]
        pub(crate) fn called(op: Op, left: u64, right: u64) -> u64 {
            match op {
                $($(Op::$cop => {
                    let ($($carg),+) = (left, right);
                    $cx
                })*)*
                _ => 0,
            }
        }
    };
}
instruction_table!(define);
