//! Instruction formats: which bits are fixed, where the operands are, how they are written.

mod operand;
pub(crate) mod registers;
pub(crate) mod vectors;

pub(crate) use operand::Slot;
pub use operand::{Operands, RegClass};
pub use vectors::VectorFormat;

/// How an instruction is encoded and written. The names follow the specification's formats, split where the
/// operands differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `op rd, rs1, rs2`
    R,
    /// `op rd, rs1, imm`
    I,
    /// `op rd, rs1, shamt`, six bits
    Shift64,
    /// `op rd, rs1, shamt`, five bits
    Shift32,
    /// `op rd, imm` of 20 upper bits
    U,
    /// `op rd, target`
    J,
    /// `op rd, offset(rs1)`, a jump
    Jalr,
    /// `op rd, offset(rs1)`
    Load,
    /// `op rs2, offset(rs1)`
    Store,
    /// `op fd, offset(rs1)`
    FLoad,
    /// `op fs2, offset(rs1)`
    FStore,
    /// `op rs1, rs2, target`
    B,
    /// `fence pred, succ`
    Fence,
    /// `fence.i`
    FenceI,
    /// no operands
    Plain,
    /// `sfence.vma rs1, rs2`
    Sfence,
    /// `op rd, csr, rs1`
    Csr,
    /// `op rd, csr, imm`
    CsrImm,
    /// `op rd, rs2, (rs1)`
    Amo,
    /// `op rd, (rs1)`
    Lr,
    /// `op fd, fs1, fs2, fs3, rm`
    FR4,
    /// `op fd, fs1, fs2, rm`
    FR,
    /// `op fd, fs1, fs2`
    FRn,
    /// `op fd, fs1, rm`
    F1,
    /// `op xd, fs1, fs2`
    FCmp,
    /// `op xd, fs1, rm`
    F2x,
    /// `op xd, fs1`
    F2xn,
    /// `op fd, xs1, rm`
    X2f,
    /// `op fd, xs1`
    X2fn,
    /// `op xd, fs1, rtz`
    F2xz,
    /// `op fd, constant`
    Fli,
    /// `op fd, xs1, xs2`
    X2p,
    /// `op rd, rs1`
    R1,
    /// `op (rs1)`, a cache block
    Cbo,
    /// `op rd, rs1` with `rs1` in the other bank
    BankFrom,
    /// `op rd, rs1` with `rd` in the other bank
    BankTo,
    /// `op imm` of 20 upper bits
    Label,
    /// `op rs2` with `ra` or `t0`
    Link2,
    /// `op rs1` with `ra` or `t0`
    Link1,
    /// `op rd`
    D1,
    /// `op {registers}, adjustment`, in 16 bits: `rd` and `rs1` are `sp`, `rs3` encodes the list
    Registers,
    /// `op s, s`, in 16 bits
    MoveFrom,
    /// `op s, s`, in 16 bits: `rs1` and `rs2` are `a0` and `a1`, `rd` and `rs3` the destinations
    MoveTo,
    /// Those of vectors
    Vector(&'static VectorFormat),
}

impl Format {
    /// The bits that distinguish the instruction from others.
    pub const fn mask(self) -> u32 {
        use Format::*;
        match self {
            R | FRn | FCmp | X2p => 0xfe00_707f,
            I | Jalr | Load | Store | FLoad | FStore | B | Fence | FenceI | Csr | CsrImm => 0x0000_707f,
            Shift64 => 0xfc00_707f,
            Shift32 => 0xfe00_707f,
            U | J => 0x0000_007f,
            Plain => 0xffff_ffff,
            Sfence => 0xfe00_7fff,
            Amo => 0xf800_707f,
            Lr => 0xf9f0_707f,
            FR4 => 0x0600_007f,
            FR => 0xfe00_007f,
            F1 | F2x | X2f => 0xfff0_007f,
            F2xn | F2xz | Fli | X2fn | R1 | BankFrom | BankTo => 0xfff0_707f,
            Cbo => 0xfff0_7fff,
            Label => 0x0000_0fff,
            // Both registers, but for the bit in which they differ.
            Link2 => !(4 << 20),
            Link1 => !(4 << 15),
            D1 => 0xffff_f07f,
            Registers => 0xff03,
            MoveFrom | MoveTo => 0xfc63,
            Vector(format) => format.mask,
        }
    }

    /// The operands in the order in which they are written: for the disassembler and the assembler.
    pub(crate) const fn syntax(self) -> &'static [Slot] {
        use Format::*;
        use Slot::{
            Address, Constant, Imm, Memory, Pred, Rd, Rounding, Rs1, Rs2, Rs3, Shamt, Succ, Target, Upper,
            Zimm,
        };
        match self {
            R | FRn | FCmp | X2p => &[Rd, Rs1, Rs2],
            I => &[Rd, Rs1, Imm],
            Shift64 | Shift32 => &[Rd, Rs1, Shamt],
            U => &[Rd, Upper],
            J => &[Rd, Target],
            Jalr | Load | FLoad => &[Rd, Memory],
            Store | FStore => &[Rs2, Memory],
            B => &[Rs1, Rs2, Target],
            Fence => &[Pred, Succ],
            FenceI | Plain => &[],
            Sfence => &[Rs1, Rs2],
            Csr => &[Rd, Slot::Csr, Rs1],
            CsrImm => &[Rd, Slot::Csr, Zimm],
            Amo => &[Rd, Rs2, Address],
            Lr => &[Rd, Address],
            FR4 => &[Rd, Rs1, Rs2, Rs3, Rounding],
            FR => &[Rd, Rs1, Rs2, Rounding],
            F1 | F2x | F2xz | X2f => &[Rd, Rs1, Rounding],
            Fli => &[Rd, Constant],
            F2xn | X2fn | R1 | BankFrom | BankTo => &[Rd, Rs1],
            Cbo => &[Address],
            Label => &[Upper],
            Link2 => &[Rs2],
            Link1 => &[Rs1],
            D1 => &[Rd],
            Registers => &[Slot::Registers, Slot::Adjustment],
            MoveFrom => &[Slot::Saved1, Slot::Saved2],
            MoveTo => &[Slot::SavedD, Slot::Saved3],
            Vector(format) => format.slots,
        }
    }

    /// The class of the destination register.
    pub const fn rd(self) -> RegClass {
        use Format::*;
        match self {
            Store | FStore | B | Fence | FenceI | Plain | Sfence | Cbo | BankTo | Label | Link1 | Link2
            | MoveFrom => RegClass::None,
            FLoad | FR4 | FR | FRn | F1 | X2f | X2fn | X2p | Fli => RegClass::F,
            Vector(format) => format.rd,
            _ => RegClass::X,
        }
    }

    /// The class of the first source register.
    pub const fn rs1(self) -> RegClass {
        use Format::*;
        match self {
            U | J | Fence | FenceI | Plain | CsrImm | BankFrom | Fli | Label | Link2 | D1 => RegClass::None,
            FR4 | FR | FRn | F1 | FCmp | F2x | F2xn | F2xz => RegClass::F,
            Vector(format) => format.rs1,
            _ => RegClass::X,
        }
    }

    /// The class of the second source register.
    pub const fn rs2(self) -> RegClass {
        use Format::*;
        match self {
            R | Store | B | Sfence | Amo | X2p | Link2 | MoveFrom | MoveTo => RegClass::X,
            FStore | FR4 | FR | FRn | FCmp => RegClass::F,
            Vector(format) => format.rs2,
            _ => RegClass::None,
        }
    }

    /// The class of the third source register.
    pub const fn rs3(self) -> RegClass {
        match self {
            Format::FR4 => RegClass::F,
            _ => RegClass::None,
        }
    }

    /// Whether bits 14:12 are a rounding mode.
    pub const fn has_rounding(self) -> bool {
        matches!(self, Format::FR4 | Format::FR | Format::F1 | Format::F2x | Format::X2f)
    }

    /// The operands of Zcmp's instructions: `sp` and a list, or two saved registers and `a0` and `a1`.
    const fn extract_saved(self, w: u32) -> Operands {
        let (first, second) = (registers::saved(w >> 7), registers::saved(w >> 2));
        let none = Operands { rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, imm: 0 };
        match self {
            Format::Registers => {
                let imm = (w >> 2 & 3) as i64 * 16;
                Operands { rd: 2, rs1: 2, rs3: (w >> 4 & 15) as u8, imm, ..none }
            }
            Format::MoveTo => Operands { rd: first, rs3: second, rs1: 10, rs2: 11, ..none },
            _ => Operands { rs1: first, rs2: second, ..none },
        }
    }

    /// Takes the operands out of an instruction word.
    pub(crate) const fn extract(self, w: u32) -> Operands {
        use Format::*;
        if let Vector(format) = self {
            return format.extract(w);
        }
        if let Registers | MoveFrom | MoveTo = self {
            return self.extract_saved(w);
        }
        let s = w as i32;
        let imm = match self {
            I | Jalr | Load | FLoad => s >> 20,
            Shift64 => (w >> 20 & 0x3f) as i32,
            Shift32 => (w >> 20 & 0x1f) as i32,
            U | Label => (w & 0xffff_f000) as i32,
            J => {
                (s >> 31 << 20)
                    | (w & 0x000f_f000) as i32
                    | (w >> 9 & 0x800) as i32
                    | (w >> 20 & 0x7fe) as i32
            }
            Store | FStore => (s >> 25 << 5) | (w >> 7 & 0x1f) as i32,
            B => {
                (s >> 31 << 12) | (w << 4 & 0x800) as i32 | (w >> 20 & 0x7e0) as i32 | (w >> 7 & 0x1e) as i32
            }
            Csr | CsrImm | Fence => (w >> 20) as i32,
            // Acquire and release.
            Amo | Lr => (w >> 25 & 3) as i32,
            _ => 0,
        };
        Operands {
            rd: (w >> 7 & 0x1f) as u8,
            rs1: (w >> 15 & 0x1f) as u8,
            rs2: (w >> 20 & 0x1f) as u8,
            rs3: (w >> 27) as u8,
            rm: (w >> 12 & 7) as u8,
            imm: imm as i64,
        }
    }

    /// Puts operands into an instruction word; the inverse of `extract` for operands in range. Excess
    /// bits are cut off.
    pub(crate) const fn insert(self, o: &Operands) -> u32 {
        use Format::*;
        let i = o.imm as u32;
        let rd = (o.rd as u32 & 31) << 7;
        let rs1 = (o.rs1 as u32 & 31) << 15;
        let rs2 = (o.rs2 as u32 & 31) << 20;
        let rm = (o.rm as u32 & 7) << 12;
        match self {
            R | FRn | FCmp | X2p => rd | rs1 | rs2,
            Amo => rd | rs1 | rs2 | (i & 3) << 25,
            I | Jalr | Load | FLoad | Csr | CsrImm | Fence => rd | rs1 | i << 20,
            Shift64 => rd | rs1 | (i & 0x3f) << 20,
            Shift32 => rd | rs1 | (i & 0x1f) << 20,
            U => rd | i & 0xffff_f000,
            J => rd | (i & 0x10_0000) << 11 | i & 0xf_f000 | (i & 0x800) << 9 | (i & 0x7fe) << 20,
            Store | FStore => rs1 | rs2 | (i & 0xfe0) << 20 | (i & 0x1f) << 7,
            B => rs1 | rs2 | (i & 0x1000) << 19 | (i & 0x800) >> 4 | (i & 0x7e0) << 20 | (i & 0x1e) << 7,
            FenceI | Plain => 0,
            Label => i & 0xffff_f000,
            Link2 => rs2 & 4 << 20,
            Link1 => rs1 & 4 << 15,
            D1 => rd,
            Registers => (o.rs3 as u32 & 15) << 4 | (i >> 4 & 3) << 2,
            MoveTo => registers::bits(o.rd) << 7 | registers::bits(o.rs3) << 2,
            MoveFrom => registers::bits(o.rs1) << 7 | registers::bits(o.rs2) << 2,
            Sfence => rs1 | rs2,
            Cbo => rs1,
            Lr => rd | rs1 | (i & 3) << 25,
            F2xn | F2xz | Fli | X2fn | R1 | BankFrom | BankTo => rd | rs1,
            FR4 => rd | rs1 | rs2 | rm | (o.rs3 as u32) << 27,
            FR => rd | rs1 | rs2 | rm,
            F1 | F2x | X2f => rd | rs1 | rm,
            Vector(format) => format.insert(o),
        }
    }
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident $mask:literal [$($slot:ident)*] $rd:ident $rs1:ident $rs2:ident;)*) => {
        #[allow(non_upper_case_globals, reason = "they are used like the variants of `Format`")]
        impl Format {
            $($(#[$doc])* pub const $name: Self = Self::Vector(&VectorFormat {
                mask: $mask,
                slots: &[$(Slot::$slot),*],
                rd: RegClass::$rd,
                rs1: RegClass::$rs1,
                rs2: RegClass::$rs2,
                source: vectors::Source::of(&[$(Slot::$slot),*], RegClass::$rs1),
            });)*
        }
    };
}

formats! {
    /// `op vd, vs2, vs1, vm`
    Vv 0xfc00_707f [Vd Vs2 Vs1 Masked] None None None;
    /// `op vd, vs2, rs1, vm`
    Vx 0xfc00_707f [Vd Vs2 Rs1 Masked] None X None;
    /// `op vd, vs2, fs1, vm`
    Vf 0xfc00_707f [Vd Vs2 Rs1 Masked] None F None;
    /// `op vd, vs2, imm, vm`, signed
    Vi 0xfc00_707f [Vd Vs2 Simm Masked] None None None;
    /// `op vd, vs2, imm, vm`, unsigned
    Vu 0xfc00_707f [Vd Vs2 Uimm Masked] None None None;
    /// `op vd, vs2, imm, vm`, unsigned with six bits
    Vu6 0xf800_707f [Vd Vs2 Uimm6 Masked] None None None;
    /// `op vd, vs1, vs2, vm`
    MulVv 0xfc00_707f [Vd Vs1 Vs2 Masked] None None None;
    /// `op vd, rs1, vs2, vm`
    MulVx 0xfc00_707f [Vd Rs1 Vs2 Masked] None X None;
    /// `op vd, fs1, vs2, vm`
    MulVf 0xfc00_707f [Vd Rs1 Vs2 Masked] None F None;
    /// `op vd, vs2, vs1`
    Mm 0xfe00_707f [Vd Vs2 Vs1] None None None;
    /// `op vd, vs2, rs1`
    Mx 0xfe00_707f [Vd Vs2 Rs1] None X None;
    /// `op vd, vs2, imm`
    Mi 0xfe00_707f [Vd Vs2 Simm] None None None;
    /// `op vd, vs2, vs1, v0`
    Vvm 0xfe00_707f [Vd Vs2 Vs1 V0] None None None;
    /// `op vd, vs2, rs1, v0`
    Vxm 0xfe00_707f [Vd Vs2 Rs1 V0] None X None;
    /// `op vd, vs2, fs1, v0`
    Vfm 0xfe00_707f [Vd Vs2 Rs1 V0] None F None;
    /// `op vd, vs2, imm, v0`
    Vim 0xfe00_707f [Vd Vs2 Simm V0] None None None;
    /// `op vd, vs2, vm`
    V2 0xfc0f_f07f [Vd Vs2 Masked] None None None;
    /// `op rd, vs2, vm`
    X2 0xfc0f_f07f [Rd Vs2 Masked] X None None;
    /// `op vd, vs2`
    V2n 0xfe0f_f07f [Vd Vs2] None None None;
    /// `op rd, vs2`
    X2n 0xfe0f_f07f [Rd Vs2] X None None;
    /// `op fd, vs2`
    F2v 0xfe0f_f07f [Rd Vs2] F None None;
    /// `op vd, vm`
    Vd 0xfdff_f07f [Vd Masked] None None None;
    /// `op vd, vs1`
    V1n 0xfff0_707f [Vd Vs1] None None None;
    /// `op vd, rs1`
    X1n 0xfff0_707f [Vd Rs1] None X None;
    /// `op vd, fs1`
    F1v 0xfff0_707f [Vd Rs1] None F None;
    /// `op vd, imm`
    I1n 0xfff0_707f [Vd Simm] None None None;
    /// `op vd, (rs1), vm`, with a number of fields
    Unit 0x1df0_707f [Vd Address Masked] None X None;
    /// `op vd, (rs1), rs2, vm`
    Strided 0x1c00_707f [Vd Address Rs2 Masked] None X X;
    /// `op vd, (rs1), vs2, vm`
    Indexed 0x1c00_707f [Vd Address Vs2 Masked] None X None;
    /// `op vd, (rs1)`
    Whole 0xfff0_707f [Vd Address] None X None;
    /// `vsetvli rd, rs1, vtype`
    Setvli 0x8000_707f [Rd Rs1 Vtype] X X None;
    /// `vsetivli rd, imm, vtype`
    Setivli 0xc000_707f [Rd Uimm Vtype] X None None;
}
