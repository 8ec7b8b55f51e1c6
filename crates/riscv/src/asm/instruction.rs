//! Instructions: from a mnemonic and its operands to words, by the rows of the table.

mod operand;

use operand::{constant, kinds_in_words, register_list, slot_name, vector_register};

use super::error::{Fault, fault, meant, quoted};
use super::expr::Expr;
use super::pseudo::{COMPARISONS, EXTENSIONS};
use super::section::{FixupKind, Point, PointKind};
use super::state::Assembler;
use super::statement::{name_length, operands};
use crate::compressed::{self, Shape};
use crate::disasm::{F_NAMES, ORDERS, ROUNDING, X_NAMES, list_text};
use crate::format::{Format, Operands, RegClass, Slot, registers, vectors as vector};
use crate::insn::{Class, Insn, Op, Row};
use crate::isa::Extension;

const RA: u8 = 1;
const T1: u8 = 6;

/// Where an operand that is not known yet goes.
enum Pending {
    Nothing,
    Fixup(FixupKind, Expr),
    Branch(Expr),
}

impl Assembler<'_> {
    pub(super) fn instruction(&mut self, name: &str, rest: &str) -> Result<(), Fault> {
        let section = &mut self.sections[self.section as usize];
        if section.exec {
            section.align = section.align.max(if self.modes.rvc { 2 } else { 4 });
        }
        self.mark();
        let ops = operands(rest);
        self.encode(name, &ops, false)
    }

    /// `jumps` permits the 16-bit forms of jumps.
    fn encode(&mut self, name: &str, ops: &[&str], jumps: bool) -> Result<(), Fault> {
        let row = self.mnemonics.rows.get(name).copied();
        let in_isa = row.filter(|row| row.in_isa(&self.mnemonics.isa));
        if let Some(forms) = self.mnemonics.pseudo.get(name) {
            let mut kinds = [0; 4];
            for (kind, op) in kinds.iter_mut().zip(ops) {
                *kind = self.mnemonics.kind(op);
            }
            let kinds = kinds.get(..ops.len()).unwrap_or(&[]);
            if let Some(form) = forms.iter().find(|form| form.1.as_bytes() == kinds)
                && (ops.len() <= 4)
            {
                return self.expand(form.2, ops);
            }
            if row.is_none() {
                let takes: Vec<_> = forms.iter().map(|form| kinds_in_words(form.1)).collect();
                return fault(name, format!("`{name}` takes {}", takes.join(" or ")));
            }
        }
        if let Some(row) = in_isa {
            return self.row(row, name, ops, 0, jumps);
        }
        if self.special(name, ops)? || self.comparison(name, ops)? {
            return Ok(());
        }
        if let Some(shape) = self.mnemonics.short.get(name).copied() {
            return self.short(shape, ops);
        }
        if let Some((plain, fields)) = vector::plain_name(name)
            && let Some(row) = self.mnemonics.rows.get(plain.as_str()).copied()
            && matches!(row.format, Format::Vector(format) if format.has_fields())
            && row.in_isa(&self.mnemonics.isa)
        {
            return self.row(row, name, ops, fields << 4, false);
        }
        for (bits, order) in ORDERS.iter().enumerate().skip(1).rev() {
            if let Some(row) =
                name.strip_suffix(order).and_then(|base| self.mnemonics.rows.get(base).copied())
                && matches!(row.format, Format::Amo | Format::Lr)
                && row.in_isa(&self.mnemonics.isa)
            {
                return self.row(row, name, ops, bits as i64, false);
            }
        }
        if let Some(row) = row {
            let isa = self.mnemonics.isa;
            let needs = match isa.has(row.extension) {
                true => "the other register width".to_owned(),
                false => format!("the extension {:?}", row.extension),
            };
            return fault(name, format!("`{name}` needs {needs}: the ISA is {isa}"));
        }
        let known = self.mnemonics.rows.keys().chain(self.mnemonics.pseudo.keys()).copied();
        let known = known.chain(SPECIAL.iter().copied()).chain(self.mnemonics.short.keys().copied());
        let known = known.chain(self.macros.keys().map(String::as_str));
        let message = format!("unknown instruction {}{}", quoted(name), meant(name, known));
        fault(name, message)
    }

    /// A comparison of a vector with a number. Returns whether it was one.
    fn comparison(&mut self, name: &str, ops: &[&str]) -> Result<bool, Fault> {
        let found = COMPARISONS.iter().find(|(comparison, ..)| *comparison == name);
        let (Some(&(_, below, zero)), &[vd, vs2, number, ref masked @ ..]) = (found, ops) else {
            return Ok(false);
        };
        let value = self.number(number)?;
        let (name, last) = match zero {
            Some(zero) if value == 0 => (zero, vs2.to_owned()),
            _ => (below, value.wrapping_sub(1).to_string()),
        };
        let ops = [&[vd, vs2, last.as_str()][..], masked].concat();
        self.encode(name, &ops, false).map(|()| true)
    }

    /// What a pseudo-instruction stands for.
    fn expand(&mut self, text: &'static str, ops: &[&str]) -> Result<(), Fault> {
        let (jumps, text) = match text.strip_prefix('!') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        if name == ".insn" {
            return self.directive(name, rest);
        }
        let mut parts = [""; 4];
        let mut count = 0;
        let mut address = String::new();
        for part in rest.split(',').filter(|p| !p.is_empty()) {
            parts[count] = match part.strip_prefix('$').and_then(|p| p.parse().ok()) {
                Some(index) => ops.get::<usize>(index).copied().unwrap_or_default(),
                None if part == "0($0)" || part == "0($1)" => {
                    address = format!("0({})", ops[usize::from(part == "0($1)")]);
                    ""
                }
                None => part,
            };
            count += 1;
        }
        if !address.is_empty() {
            parts[1] = &address;
        }
        self.encode(name, &parts[..count], jumps)
    }

    /// What is not one row: `li`, `la`, `call` and the like. Returns whether it was one.
    fn special(&mut self, name: &str, ops: &[&str]) -> Result<bool, Fault> {
        match (name, ops) {
            ("li", [rd, value]) => {
                let rd = self.x(rd)?;
                let written = self.number(value)?;
                let value = self.in_width(written);
                match (-2048..2048).contains(&value) {
                    // GNU `as` has no 16-bit form for a number like 0xffffffff either.
                    true if rd == 0 || written != value => {
                        self.word(Insn::encode(Op::Addi, Operands { rd, imm: value, ..Operands::default() }))?
                    }
                    true => self.op(Op::Addi, rd, 0, 0, value)?,
                    false => self.load_constant(rd, value)?,
                }
            }
            // From or to zero, it has no 16-bit form.
            ("mv" | "move", [rd, rs]) => {
                let (rd, rs1) = (self.x(rd)?, self.x(rs)?);
                let word = Insn::encode(Op::Addi, Operands { rd, rs1, ..Operands::default() });
                match rd == 0 || rs1 == 0 {
                    true => self.word(word)?,
                    false => self.compressible(word)?,
                }
            }
            ("la" | "lla" | "la.pcrel", [rd, target]) => {
                let rd = self.x(rd)?;
                let target = self.expression(target)?;
                match self.known(&target) {
                    Some(value) => {
                        let value = self.in_width(value);
                        self.load_constant(rd, value)?;
                    }
                    None => self.pair(target, rd, Op::Addi, rd, FixupKind::PcrelLo)?,
                }
            }
            ("call", [target]) => self.far_jump(RA, RA, target)?,
            ("call", [rd, target]) => {
                let rd = self.x(rd)?;
                self.far_jump(rd, rd, target)?;
            }
            ("tail", [target]) => self.far_jump(T1, 0, target)?,
            ("jump", [target, temporary]) => {
                let temporary = self.x(temporary)?;
                self.far_jump(temporary, 0, target)?;
            }
            ("unimp", []) if self.modes.rvc => self.emit(&[0, 0])?,
            ("unimp", []) => self.emit(&0xc000_1073u32.to_le_bytes())?,
            _ => {
                let Some((_, bits, shift)) = EXTENSIONS.iter().find(|(n, ..)| *n == name) else {
                    return match SPECIAL.contains(&name) {
                        true => fault(name, format!("wrong operands for `{name}`")),
                        false => Ok(false),
                    };
                };
                let [rd, rs] = ops else {
                    return fault(name, format!("`{name}` takes two registers"));
                };
                let (rd, rs) = (self.x(rd)?, self.x(rs)?);
                let rv64 = self.options.isa.is_rv64();
                if name == "zext.w" && self.options.isa.has(Extension::Zba) {
                    self.op(Op::AddUw, rd, rs, 0, 0)?;
                } else {
                    let by = i64::from(if rv64 { 64 } else { 32 } - bits);
                    let (left, right) = match (rv64, *shift) {
                        (true, "srai") => (Op::Slli, Op::Srai),
                        (true, _) => (Op::Slli, Op::Srli),
                        (false, "srai") => (Op::Slli32, Op::Srai32),
                        (false, _) => (Op::Slli32, Op::Srli32),
                    };
                    self.op(left, rd, rs, 0, by)?;
                    self.op(right, rd, rd, 0, by)?;
                }
            }
        }
        Ok(true)
    }

    /// The value as a register holds it: on RV32 a number of 32 bits is signed.
    fn in_width(&self, value: i64) -> i64 {
        if !self.options.isa.is_rv64() && u32::try_from(value).is_ok() {
            return i64::from(value as u32 as i32);
        }
        value
    }

    /// Any constant, with the instructions that GNU `as` chooses.
    fn load_constant(&mut self, rd: u8, value: i64) -> Result<(), Fault> {
        let lower = value << 52 >> 52;
        let upper = value.wrapping_sub(lower);
        if i32::try_from(value).is_err() {
            if !self.options.isa.is_rv64() {
                return fault("", format!("{value:#x} does not fit 32 bits"));
            }
            let shift = upper.trailing_zeros();
            self.load_constant(rd, upper >> shift)?;
            self.op(Op::Slli, rd, rd, 0, shift.into())?;
            if lower != 0 {
                self.op(Op::Addi, rd, rd, 0, lower)?;
            }
            return Ok(());
        }
        if upper != 0 {
            self.op(Op::Lui, rd, 0, 0, upper)?;
        }
        // For the register zero GNU `as` writes the second instruction in any case.
        if lower != 0 || upper == 0 || rd == 0 {
            let op = if self.options.isa.is_rv64() { Op::Addiw } else { Op::Addi };
            self.op(op, rd, if upper != 0 { rd } else { 0 }, 0, lower)?;
        }
        Ok(())
    }

    fn far_jump(&mut self, through: u8, link: u8, target: &str) -> Result<(), Fault> {
        let target = self.expression(target)?;
        self.pair(target, through, Op::Jalr, link, FixupKind::PcrelLo)
    }

    /// `auipc` and what adds the lower part: the target relative to the first of them. `register` is the destination, or what is
    /// stored.
    fn pair(&mut self, target: Expr, through: u8, op: Op, register: u8, low: FixupKind) -> Result<(), Fault> {
        let first = Expr::Place(self.here());
        self.fixup(FixupKind::PcrelHi, target);
        self.word(Insn::encode(Op::Auipc, Operands { rd: through, ..Default::default() }))?;
        self.fixup(low, first);
        let operands = Operands { rd: register, rs1: through, rs2: register, ..Default::default() };
        self.word(Insn::encode(op, operands))
    }

    fn op(&mut self, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64) -> Result<(), Fault> {
        self.compressible(Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Default::default() }))
    }

    fn compressible(&mut self, word: u32) -> Result<(), Fault> {
        match self.compressed(word) {
            Some(half) => self.emit(&half.to_le_bytes()),
            None => self.word(word),
        }
    }

    fn compressed(&self, word: u32) -> Option<u16> {
        if !self.modes.rvc {
            return None;
        }
        compressed::compress(word, &self.options.isa)
    }

    fn word(&mut self, word: u32) -> Result<(), Fault> {
        match word & 3 {
            3 => self.emit(&word.to_le_bytes()),
            _ => self.emit(&(word as u16).to_le_bytes()),
        }
    }

    pub(super) fn x(&self, operand: &str) -> Result<u8, Fault> {
        self.register(operand, RegClass::X)
    }

    fn register(&self, operand: &str, class: RegClass) -> Result<u8, Fault> {
        let float = class == RegClass::F;
        match self.mnemonics.registers.get(operand) {
            Some((found, r)) if (*found == RegClass::F) == float => Ok(*r),
            _ => {
                let kind = if float { "a floating-point register" } else { "an integer register" };
                let names = if float { &F_NAMES } else { &X_NAMES };
                let message =
                    format!("{} is not {kind}{}", quoted(operand), meant(operand, names.iter().copied()));
                fault(operand, message)
            }
        }
    }

    fn row(
        &mut self,
        row: &'static Row,
        name: &str,
        ops: &[&str],
        order: i64,
        jumps: bool,
    ) -> Result<(), Fault> {
        let syntax = row.format.syntax();
        let memory_row = syntax.last() == Some(&Slot::Memory) && row.format != Format::Jalr;
        // A load or store of a name: its address is made first.
        if memory_row
            && let [register, target, temporary @ ..] = ops
            && temporary.len() <= 1
            && self.mnemonics.kind(target) == b'i'
        {
            return self.by_name(row, register, target, temporary);
        }
        // (Without `v0.t`, a vector instruction is not masked: its lowest bit is 1.)
        let imm = order | i64::from(matches!(row.format, Format::Vector(_)));
        let mut operands = Operands { rm: row.usual_rounding(), imm, ..Operands::default() };
        let pending = self.fill(row, name, syntax, ops, &mut operands)?;
        if let Format::Link1 | Format::Link2 = row.format
            && !matches!(operands.rs1 | operands.rs2, 1 | 5)
        {
            return fault(name, format!("`{name}` takes `ra` or `t0`"));
        }
        self.finish(row, operands, pending, jumps, None)
    }

    fn by_name(
        &mut self,
        row: &'static Row,
        register: &str,
        target: &str,
        temporary: &[&str],
    ) -> Result<(), Fault> {
        let store = matches!(row.format, Format::Store | Format::FStore);
        let class = if store { row.format.rs2() } else { row.format.rd() };
        let value = self.register(register, class)?;
        let through = match temporary {
            [temporary] => self.x(temporary)?,
            _ if row.format == Format::Load => value,
            _ => {
                return fault(
                    target,
                    format!("`{}` of a name needs a register for its address", row.mnemonic),
                );
            }
        };
        let target = self.expression(target)?;
        let low = if store { FixupKind::PcrelLoStore } else { FixupKind::PcrelLo };
        self.pair(target, through, row.op, value, low)
    }

    /// An explicit 16-bit instruction.
    fn short(&mut self, shape: &'static Shape, ops: &[&str]) -> Result<(), Fault> {
        let name = shape.row.mnemonic;
        if !self.options.isa.has(Extension::C) {
            return fault(name, format!("`{name}` needs the extension C: the ISA is {}", self.options.isa));
        }
        let row = shape.op.row();
        // What is not written is as the row has it.
        let mut operands = row.format.extract(shape.full);
        let pending = self.fill(row, name, &shape.slots, ops, &mut operands)?;
        if shape.tied {
            operands.rs1 = operands.rd;
        }
        self.finish(row, operands, pending, true, Some(shape))
    }

    /// Emits an instruction, or what stands for it until addresses are known.
    fn finish(
        &mut self,
        row: &'static Row,
        operands: Operands,
        pending: Pending,
        jumps: bool,
        shape: Option<&Shape>,
    ) -> Result<(), Fault> {
        let word = Insn::encode(row.op, operands);
        match pending {
            Pending::Nothing => {
                if let Some(shape) = shape {
                    return match shape.invert(word, &self.options.isa) {
                        Some(half) => self.emit(&half.to_le_bytes()),
                        None => {
                            let name = shape.row.mnemonic;
                            fault(name, format!("`{name}` has no encoding for these operands"))
                        }
                    };
                }
                match row.class != Class::JumpReg || jumps {
                    true => self.compressible(word),
                    false => self.word(word),
                }
            }
            Pending::Fixup(kind, expr) => {
                if let Some(shape) = shape {
                    let name = shape.row.mnemonic;
                    return fault(name, format!("`{name}` cannot hold an address"));
                }
                self.fixup(kind, expr);
                self.word(word)
            }
            Pending::Branch(target) => {
                let jump = row.class == Class::Jump;
                // GNU `as` never makes c.jal of jal.
                let short = match shape {
                    Some(shape) => shape.invert(word, &self.options.isa).is_some(),
                    None => (!jump || jumps && operands.rd == 0) && self.compressed(word).is_some(),
                };
                let at = self.at;
                let section = &mut self.sections[self.section as usize];
                if section.zero {
                    return fault("", format!("{} holds only zeros", quoted(&section.name)));
                }
                let kind = PointKind::Branch { word, short, jump, target };
                section.points.push(Point { offset: section.length, size: 4, kind, at });
                Ok(())
            }
        }
    }

    /// Reads the operands in these slots.
    fn fill(
        &mut self,
        row: &Row,
        name: &str,
        slots: &[Slot],
        ops: &[&str],
        o: &mut Operands,
    ) -> Result<Pending, Fault> {
        let least = slots.iter().filter(|s| !matches!(s, Slot::Rounding | Slot::Masked)).count();
        // A type is all the operands behind the length.
        if let ([Slot::Rd, length, Slot::Vtype], [rd, value, vtype @ ..]) = (slots, ops)
            && !vtype.is_empty()
        {
            self.fill(row, name, &[Slot::Rd, *length], &[rd, value], o)?;
            let bits = match (vector::vtype_bits(vtype), vtype) {
                (Some(bits), _) => bits,
                (None, [number]) => {
                    self.within(number, 0, if *length == Slot::Uimm { 1023 } else { 2047 }, "a vector type")?
                }
                _ => {
                    return fault(
                        vtype[0],
                        format!("{} is not a vector type like `e32,m1,ta,ma`", quoted(&vtype.join(","))),
                    );
                }
            };
            (o.rs2, o.imm) = (bits as u8 & 31, bits >> 5);
            return Ok(Pending::Nothing);
        }
        // jalr rd, rs1, offset
        if let ([Slot::Rd, Slot::Memory], [rd, rs1, offset], Format::Jalr) = (slots, ops, row.format) {
            let address = format!("{offset}({rs1})");
            return self.fill(row, name, slots, &[rd, &address], o);
        }
        if ops.len() < least || ops.len() > slots.len() {
            let expected: Vec<_> = slots.iter().map(|slot| slot_name(*slot)).collect();
            let expected =
                if expected.is_empty() { String::new() } else { format!(" ({})", expected.join(", ")) };
            return fault(name, format!("`{name}` takes {least} operands{expected}, found {}", ops.len()));
        }
        let mut pending = Pending::Nothing;
        for (slot, op) in slots.iter().zip(ops) {
            match slot {
                Slot::Rd => o.rd = self.register(op, row.format.rd())?,
                Slot::Rs1 => o.rs1 = self.register(op, row.format.rs1())?,
                Slot::Rs2 => o.rs2 = self.register(op, row.format.rs2())?,
                Slot::Rs3 => o.rs3 = self.register(op, row.format.rs3())?,
                Slot::Imm => pending = self.immediate(row, op, o)?,
                Slot::Shamt => {
                    let bits = if row.format == Format::Shift64 { 63 } else { 31 };
                    o.imm = self.within(op, 0, bits, "a shift")?;
                }
                Slot::Upper => match self.modified(op)? {
                    Some(("hi", expr)) => pending = Pending::Fixup(FixupKind::Hi, expr),
                    Some(("pcrel_hi", expr)) => pending = Pending::Fixup(FixupKind::PcrelHi, expr),
                    Some((other, _)) => return fault(op, format!("`%{other}` does not belong here")),
                    None => o.imm = self.within(op, 0, 0xf_ffff, "the upper 20 bits")? << 12,
                },
                Slot::Target => {
                    o.imm = 0;
                    pending = Pending::Branch(self.target(op)?);
                }
                Slot::Memory => {
                    let Some((offset, rs1)) = self.mnemonics.memory(op) else {
                        return fault(op, format!("{} is not an address like `8(sp)`", quoted(op)));
                    };
                    o.rs1 = rs1;
                    o.imm = 0;
                    if !offset.is_empty() {
                        pending = self.immediate(row, offset, o)?;
                    }
                }
                Slot::Address => match self.mnemonics.memory(op) {
                    Some(("" | "0", rs1)) => o.rs1 = rs1,
                    _ => return fault(op, format!("{} is not an address like `(a0)`", quoted(op))),
                },
                Slot::Pred => o.imm = self.accesses(op)? << 4,
                Slot::Succ => o.imm |= self.accesses(op)?,
                Slot::Csr => o.imm = self.csr(op)?,
                Slot::Zimm => o.rs1 = self.within(op, 0, 31, "this operand")? as u8,
                Slot::Registers => o.rs3 = register_list(op)?,
                Slot::Adjustment => o.imm = self.adjustment(row, op, o.rs3)?,
                Slot::SavedD => o.rd = self.saved(op)?,
                Slot::Saved1 => o.rs1 = self.saved(op)?,
                Slot::Saved2 => o.rs2 = self.saved(op)?,
                Slot::Saved3 => {
                    o.rs3 = self.saved(op)?;
                    if o.rs3 == o.rd {
                        return fault(op, format!("`{name}` needs two registers, not {} twice", quoted(op)));
                    }
                }
                Slot::Constant => o.rs1 = constant(op)?,
                Slot::Vd => o.rd = vector_register(op)?,
                Slot::Vs1 => o.rs1 = vector_register(op)?,
                Slot::Vs2 => o.rs2 = vector_register(op)?,
                Slot::Masked if *op == "v0.t" => o.imm &= !1,
                Slot::V0 if *op == "v0" => {}
                Slot::Masked => return fault(op, format!("the mask is `v0.t`, not {}", quoted(op))),
                Slot::V0 => return fault(op, format!("the third operand is `v0`, not {}", quoted(op))),
                Slot::Simm => o.rs1 = self.within(op, -16, 15, "this operand")? as u8 & 31,
                Slot::Uimm => o.rs1 = self.within(op, 0, 31, "this operand")? as u8,
                Slot::Uimm6 => {
                    let value = self.within(op, 0, 63, "this operand")?;
                    o.rs1 = value as u8 & 31;
                    o.imm |= value >> 4 & 2;
                }
                Slot::Vtype => return fault(op, "a vector type is like `e32,m1,ta,ma`"),
                Slot::Rounding => match ROUNDING.iter().position(|r| r == op) {
                    Some(rm) => o.rm = rm as u8,
                    None => {
                        let message = format!(
                            "{} is not a rounding mode{}",
                            quoted(op),
                            meant(op, ROUNDING.iter().copied())
                        );
                        return fault(op, message);
                    }
                },
            }
        }
        Ok(pending)
    }

    /// One of the saved registers that three bits can name.
    fn saved(&self, op: &str) -> Result<u8, Fault> {
        match self.x(op)? {
            r @ (8 | 9 | 18..=23) => Ok(r),
            _ => fault(op, format!("{} is not one of `s0` to `s7`", quoted(op))),
        }
    }

    /// By how much `sp` changes beyond the room of the registers.
    fn adjustment(&mut self, row: &Row, op: &str, list: u8) -> Result<i64, Fault> {
        let room = registers::room(list, row.width.word());
        let sign = if matches!(row.op, Op::CmPush | Op::CmPush32) { -1 } else { 1 };
        let value = self.number(op)?;
        let more = value.saturating_mul(sign).saturating_sub(room);
        match more {
            0 | 16 | 32 | 48 => Ok(more),
            _ => {
                let all = [0, 16, 32, 48].map(|more| (sign * (room + more)).to_string()).join(", ");
                fault(op, format!("with {} the adjustment is one of {all}, not {value}", list_text(list)))
            }
        }
    }

    /// The 12 bits of an immediate or offset.
    fn immediate(&mut self, row: &Row, op: &str, o: &mut Operands) -> Result<Pending, Fault> {
        let store = matches!(row.format, Format::Store | Format::FStore);
        let (plain, relative) = match store {
            true => (FixupKind::LoStore, FixupKind::PcrelLoStore),
            false => (FixupKind::Lo, FixupKind::PcrelLo),
        };
        match self.modified(op)? {
            Some(("lo", expr)) => Ok(Pending::Fixup(plain, expr)),
            Some(("pcrel_lo", expr)) => Ok(Pending::Fixup(relative, expr)),
            Some((other, _)) => fault(op, format!("`%{other}` does not belong here")),
            None => {
                o.imm = self.within(op, -2048, 2047, "an immediate")?;
                Ok(Pending::Nothing)
            }
        }
    }

    /// The name and the operand of `%name(operand)`.
    fn modified(&mut self, op: &str) -> Result<Option<(&'static str, Expr)>, Fault> {
        let Some(rest) = op.strip_prefix('%') else { return Ok(None) };
        let Some((name, inside)) = rest.split_once('(').and_then(|(n, i)| Some((n, i.strip_suffix(')')?)))
        else {
            return fault(op, format!("{} is not of the form `%hi(name)`", quoted(op)));
        };
        const MODIFIERS: [&str; 4] = ["hi", "lo", "pcrel_hi", "pcrel_lo"];
        let Some(found) = MODIFIERS.into_iter().find(|modifier| modifier.eq_ignore_ascii_case(name)) else {
            let message = format!("unknown modifier {}{}", quoted(name), meant(name, MODIFIERS.into_iter()));
            return fault(name, message);
        };
        Ok(Some((found, self.expression(inside)?)))
    }

    fn within(&mut self, op: &str, least: i64, most: i64, what: &str) -> Result<i64, Fault> {
        let value = self.number(op)?;
        let value = if least < 0 { self.in_width(value) } else { value };
        match (least..=most).contains(&value) {
            true => Ok(value),
            false => fault(op, format!("{what} is {least} to {most}, not {value}")),
        }
    }

    /// The target of a jump; the disassembler writes it as `pc+8`.
    fn target(&mut self, op: &str) -> Result<Expr, Fault> {
        match op.strip_prefix("pc") {
            Some(distance) if distance.starts_with(['+', '-']) => self.expression(&format!(".{distance}")),
            _ => self.expression(op),
        }
    }

    fn accesses(&mut self, op: &str) -> Result<i64, Fault> {
        const KINDS: [(char, i64); 4] = [('i', 8), ('o', 4), ('r', 2), ('w', 1)];
        // The word of the disassembler for the empty set.
        if op == "unknown" || op == "0" {
            return Ok(0);
        }
        let mut bits = 0;
        for c in op.chars() {
            match KINDS.iter().find(|(kind, _)| *kind == c) {
                Some((_, bit)) if bits & bit == 0 => bits |= bit,
                _ => return fault(op, format!("{} is not a set of `i`, `o`, `r` and `w`", quoted(op))),
            }
        }
        Ok(bits)
    }

    fn csr(&mut self, op: &str) -> Result<i64, Fault> {
        if let Some(number) = self.mnemonics.csrs.get(op) {
            return Ok(i64::from(*number));
        }
        if name_length(op) == op.len() && !self.names.contains_key(op) {
            let names = self.mnemonics.csrs.keys().map(String::as_str);
            return fault(op, format!("unknown CSR {}{}", quoted(op), meant(op, names)));
        }
        match self.number(op)? {
            value @ 0..4096 => Ok(value),
            value => fault(op, format!("the number of a CSR is 0 to 4095, not {value}")),
        }
    }
}

const SPECIAL: [&str; 10] = ["li", "mv", "move", "la", "lla", "call", "tail", "jump", "unimp", "la.pcrel"];
