//! Directives: data, sections, symbols, conditions and options.

use super::error::{Fault, fault, meant, quoted};
use super::expr::{Place, escape};
use super::input::{MAX_DEPTH, MAX_MEMORY};
use super::nesting::{Condition, Frame};
use super::section::{Fill, FixupKind, Point, PointKind, Section};
use super::state::{Assembler, Value, lower_case};
use super::statement::{is_name, name_length, operands};
use crate::isa::Extension;

const NAMES: &[&str] = &[
    ".text",
    ".data",
    ".bss",
    ".rodata",
    ".section",
    ".pushsection",
    ".popsection",
    ".previous",
    ".byte",
    ".half",
    ".word",
    ".dword",
    ".quad",
    ".long",
    ".short",
    ".2byte",
    ".4byte",
    ".8byte",
    ".float",
    ".double",
    ".ascii",
    ".asciz",
    ".string",
    ".space",
    ".skip",
    ".zero",
    ".fill",
    ".align",
    ".p2align",
    ".balign",
    ".globl",
    ".global",
    ".local",
    ".weak",
    ".equ",
    ".set",
    ".equiv",
    ".eqv",
    ".comm",
    ".lcomm",
    ".macro",
    ".endm",
    ".rept",
    ".endr",
    ".irp",
    ".irpc",
    ".exitm",
    ".altmacro",
    ".noaltmacro",
    ".purgem",
    ".if",
    ".ifdef",
    ".ifndef",
    ".else",
    ".elseif",
    ".endif",
    ".option",
    ".include",
    ".insn",
    ".error",
    ".org",
    ".end",
];

/// What describes a program but does not change it.
const IGNORED: &[&str] = &[
    ".type",
    ".size",
    ".file",
    ".ident",
    ".loc",
    ".attribute",
    ".hidden",
    ".protected",
    ".internal",
    ".addrsig",
    ".extern",
    ".version",
    ".symver",
    ".list",
    ".nolist",
    ".eject",
    ".sbttl",
    ".cfi_startproc",
    ".cfi_endproc",
    ".cfi_def_cfa",
    ".cfi_def_cfa_offset",
    ".cfi_def_cfa_register",
    ".cfi_offset",
    ".cfi_restore",
    ".cfi_sections",
    ".cfi_remember_state",
    ".cfi_restore_state",
    ".title",
    ".print",
    ".warning",
    ".variant_cc",
];

/// The number; GNU `as` has a NaN of its own, and may have `0f` or `0d` in front.
fn float<T: std::str::FromStr + std::ops::Neg<Output = T>>(text: &str, nan: T) -> Option<T> {
    let text = text.strip_prefix("0f").or_else(|| text.strip_prefix("0d")).unwrap_or(text);
    match text.to_ascii_lowercase().as_str() {
        "nan" | "+nan" => Some(nan),
        "-nan" => Some(-nan),
        _ => text.parse().ok(),
    }
}

impl<'a> Assembler<'a> {
    pub(super) fn directive(&mut self, name: &str, rest: &str) -> Result<(), Fault> {
        match name {
            ".text" | ".data" | ".bss" => self.enter_section(name, None),
            ".rodata" => self.enter_section(name, None),
            ".section" => self.section_directive(rest),
            ".pushsection" => {
                if self.section_stack.len() >= MAX_DEPTH {
                    return fault(name, format!("more than {MAX_DEPTH} sections are pushed"));
                }
                self.section_stack.push((self.section, self.previous_section));
                self.section_directive(rest)
            }
            ".popsection" => match self.section_stack.pop() {
                Some((section, previous)) => {
                    (self.section, self.previous_section) = (section, previous);
                    Ok(())
                }
                None => fault(name, "`.popsection` without `.pushsection`"),
            },
            ".previous" => {
                std::mem::swap(&mut self.section, &mut self.previous_section);
                Ok(())
            }
            ".byte" => self.data(rest, 1),
            ".half" | ".short" | ".2byte" => self.data(rest, 2),
            ".word" | ".long" | ".int" | ".4byte" => self.data(rest, 4),
            ".dword" | ".quad" | ".8byte" => self.data(rest, 8),
            ".float" | ".single" => self
                .floats(rest, |text| Some(float(text, f32::from_bits(0x7fff_ffff))?.to_le_bytes().to_vec())),
            ".double" => self.floats(rest, |text| {
                Some(float(text, f64::from_bits(u64::MAX >> 1))?.to_le_bytes().to_vec())
            }),
            ".ascii" => self.strings(rest, false),
            ".asciz" | ".string" => self.strings(rest, true),
            ".space" | ".skip" | ".zero" => self.space(name, rest),
            ".fill" => self.fill_directive(rest),
            ".org" => self.org(rest),
            ".align" | ".p2align" => self.align(name, rest, true),
            ".balign" => self.align(name, rest, false),
            ".globl" | ".global" | ".weak" | ".local" => self.binding(name, rest),
            ".equ" | ".set" | ".equiv" | ".eqv" => {
                // RARS writes `.eqv NAME VALUE`.
                let parts = rest.split_once(',').or_else(|| rest.split_once([' ', '\t']));
                let Some((symbol, value)) = parts.filter(|_| name == ".eqv" || rest.contains(',')) else {
                    return fault(name, format!("`{name}` takes a name and a value"));
                };
                self.assign(symbol.trim(), value, name != ".equiv")
            }
            ".comm" | ".lcomm" => self.common(name, rest),
            ".macro" => self.define_macro(rest),
            ".rept" => self.repeat(rest),
            ".irp" | ".irpc" => self.repeat_with(name, rest),
            ".exitm" => self.leave_macro(),
            ".altmacro" | ".noaltmacro" => {
                self.alternate = name == ".altmacro";
                Ok(())
            }
            ".endm" | ".endmacro" | ".endr" => fault(name, format!("`{name}` without its beginning")),
            ".purgem" => match self.macros.remove(&*lower_case(rest.trim())) {
                Some(_) => Ok(()),
                None => fault(rest, format!("there is no macro {}", quoted(rest))),
            },
            ".else" | ".elseif" | ".endif" => self.condition_part(name, rest),
            ".option" => self.option(rest),
            ".include" => {
                let file = rest.trim().trim_matches('"');
                let lines = self.preprocessor.include(self.at.file, file)?;
                let frame = Frame::new(lines, Some((".include".to_owned(), self.at)));
                self.enter_frame(".include", frame)
            }
            ".insn" => self.insn(rest),
            ".error" | ".err" => match rest.trim().trim_matches('"') {
                "" => fault(name, format!("`{name}` in the source")),
                message => fault(name, message),
            },
            ".end" => {
                self.frames.clear();
                Ok(())
            }
            _ if name.starts_with(".if") => self.condition(name, rest),
            _ if IGNORED.contains(&name) || name.starts_with(".cfi_") => Ok(()),
            _ => {
                let names = NAMES.iter().chain(IGNORED).copied();
                let names = names.chain(self.macros.keys().map(String::as_str));
                let message = format!("unknown directive {}{}", quoted(name), meant(name, names));
                fault(name, message)
            }
        }
    }

    /// The section of this unit with this name.
    pub(super) fn section_named(&mut self, name: &str, flags: Option<(&str, bool)>) -> u32 {
        if let Some(section) = self.unit_sections.get(name) {
            return *section;
        }
        let begins = |prefixes: &[&str]| {
            prefixes.iter().any(|p| name.strip_prefix(p).is_some_and(|r| r.is_empty() || r.starts_with('.')))
        };
        let usual = if begins(&[".text", ".init", ".fini"]) {
            "ax"
        } else if begins(&[".data", ".sdata", ".bss", ".sbss", ".init_array", ".fini_array", ".tohost"]) {
            "aw"
        } else if begins(&[".rodata", ".srodata"]) {
            "a"
        } else {
            ""
        };
        let (flags, zero) = flags.unwrap_or((usual, false));
        let flags = if flags.is_empty() { usual } else { flags };
        let exec = flags.contains('x');
        self.sections.push(Section {
            name: name.to_owned(),
            write: flags.contains('w'),
            exec,
            zero: zero || begins(&[".bss", ".sbss"]),
            dropped: !flags.contains('a'),
            align: 1,
            ..Section::default()
        });
        let section = self.sections.len() as u32 - 1;
        self.unit_sections.insert(name.to_owned(), section);
        section
    }

    fn enter_section(&mut self, name: &str, flags: Option<(&str, bool)>) -> Result<(), Fault> {
        // Each section costs memory, however short it is.
        if self.sections.len() >= 10_000 {
            return fault(name, "more than 10000 sections");
        }
        let section = self.section_named(name, flags);
        self.previous_section = std::mem::replace(&mut self.section, section);
        Ok(())
    }

    fn section_directive(&mut self, rest: &str) -> Result<(), Fault> {
        let ops = operands(rest);
        let Some(name) = ops.first().filter(|name| !name.is_empty()) else {
            return fault(rest, "`.section` takes a name");
        };
        let name = name.trim_matches('"');
        let flags = ops.get(1).and_then(|f| f.strip_prefix('"')).and_then(|f| f.strip_suffix('"'));
        let zero = ops.get(2).is_some_and(|kind| kind.ends_with("nobits"));
        self.enter_section(name, flags.map(|flags| (flags, zero)))
    }

    fn data(&mut self, rest: &str, size: u8) -> Result<(), Fault> {
        self.mark();
        for op in operands(rest) {
            let expr = self.expression(op)?;
            match self.known(&expr) {
                Some(value) => {
                    let bits = 8 * u32::from(size);
                    if bits < 64 && !(-(1i64 << (bits - 1))..1 << bits).contains(&value) {
                        return fault(op, format!("{value:#x} does not fit {size} bytes"));
                    }
                    self.emit(&value.to_le_bytes()[..usize::from(size)])?;
                }
                None => {
                    self.fixup(FixupKind::Data(size), expr);
                    self.emit(&[0; 8][..usize::from(size)])?;
                }
            }
        }
        Ok(())
    }

    fn floats(&mut self, rest: &str, bytes: impl Fn(&str) -> Option<Vec<u8>>) -> Result<(), Fault> {
        self.mark();
        for op in operands(rest) {
            match bytes(op) {
                Some(bytes) => self.emit(&bytes)?,
                None => return fault(op, format!("{} is not a number", quoted(op))),
            }
        }
        Ok(())
    }

    fn strings(&mut self, rest: &str, zero: bool) -> Result<(), Fault> {
        self.mark();
        for op in operands(rest) {
            let text = op.strip_prefix('"').and_then(|t| t.strip_suffix('"')).filter(|_| op.len() > 1);
            let Some(text) = text else {
                return fault(op, format!("{} is not a string", quoted(op)));
            };
            let text = text.as_bytes();
            let (mut out, mut at) = (Vec::with_capacity(text.len() + 1), 0);
            while at < text.len() {
                if text[at] != b'\\' {
                    out.push(text[at]);
                    at += 1;
                    continue;
                }
                let Some((byte, length)) = escape(&text[at..]) else {
                    return fault(op, "unknown escape sequence");
                };
                out.push(byte);
                at += length;
            }
            if zero {
                out.push(0);
            }
            self.emit(&out)?;
        }
        Ok(())
    }

    /// Bytes of one value.
    fn pad(&mut self, count: u64, value: u64, width: u8) -> Result<(), Fault> {
        let section = self.grow(count.saturating_mul(u64::from(width)))?;
        if section.zero && value == 0 || count == 0 {
            return Ok(());
        }
        if section.zero {
            return fault("", format!("{} holds only zeros", quoted(&section.name)));
        }
        super::section::padding(value, width, count * u64::from(width), &mut section.data);
        Ok(())
    }

    fn count(&mut self, op: &str) -> Result<u64, Fault> {
        match self.number(op)? {
            count if count < 0 => fault(op, format!("a size cannot be negative: {count}")),
            count if count as u64 > MAX_MEMORY => fault(op, format!("{count} bytes are too many")),
            count => Ok(count as u64),
        }
    }

    fn space(&mut self, name: &str, rest: &str) -> Result<(), Fault> {
        self.mark();
        match operands(rest)[..] {
            [count] => {
                let count = self.count(count)?;
                self.pad(count, 0, 1)
            }
            [count, value] => {
                let (count, value) = (self.count(count)?, self.number(value)?);
                self.pad(count, value as u64 & 0xff, 1)
            }
            _ => fault(name, format!("`{name}` takes a size, and perhaps a value")),
        }
    }

    fn fill_directive(&mut self, rest: &str) -> Result<(), Fault> {
        self.mark();
        let ops = operands(rest);
        let (Some(count), true) = (ops.first(), ops.len() <= 3) else {
            return fault(".fill", "`.fill` takes a count, perhaps a size, and perhaps a value");
        };
        let count = self.count(count)?;
        let size = ops.get(1).map_or(Ok(1), |op| self.count(op))?.min(8) as u8;
        let value = ops.get(2).map_or(Ok(0), |op| self.number(op))?;
        match size {
            0 => Ok(()),
            // A number has four bytes here, as in GNU `as`.
            size => self.pad(count, value as u64 & 0xffff_ffff, size),
        }
    }

    fn org(&mut self, rest: &str) -> Result<(), Fault> {
        self.mark();
        match operands(rest)[..] {
            [to] => self.advance_to(to, 0),
            [to, value] => {
                let value = self.number(value)?;
                self.advance_to(to, value as u64 & 0xff)
            }
            _ => fault(".org", "`.org` takes an offset, and perhaps a value"),
        }
    }

    /// `.org` and `. =`: fills the section up to an offset, or up to a place behind a label.
    pub(super) fn advance_to(&mut self, to: &str, value: u64) -> Result<(), Fault> {
        let expr = self.expression(to)?;
        let here = self.here();
        let count = match self.relative(&expr, &mut 2000) {
            Some((None, offset)) if here.point == 0 => offset.checked_sub(here.offset as i64),
            Some((Some(base), offset)) if base == (Place { offset: 0, ..here }) => {
                offset.checked_sub(here.offset as i64)
            }
            _ => return fault(to, "the distance to this place depends on branches or alignments"),
        };
        match count {
            Some(count) if count >= 0 => {
                let count = self.count(&count.to_string())?;
                self.pad(count, value, 1)
            }
            _ => fault(to, "this place is behind what is assembled: the section cannot go back"),
        }
    }

    fn align(&mut self, name: &str, rest: &str, power: bool) -> Result<(), Fault> {
        let ops = operands(rest);
        if ops.is_empty() || ops.len() > 3 {
            return fault(
                name,
                format!("`{name}` takes an alignment, perhaps a value, and perhaps a largest size"),
            );
        }
        let value = self.number(ops[0])?;
        let to = match power {
            true if (0..=31).contains(&value) => 1u64 << value,
            true => return fault(ops[0], format!("`{name}` takes an exponent of 0 to 31, not {value}")),
            false if value == 0 => 1,
            false if value > 0 && value <= 1 << 31 && value.count_ones() == 1 => value as u64,
            false => return fault(ops[0], format!("an alignment is a power of two, not {value}")),
        };
        let fill = match ops.get(1) {
            Some(op) if !op.is_empty() => Some(self.number(op)? as u64 & 0xff),
            _ => None,
        };
        let max = ops.get(2).map_or(Ok(0), |op| self.count(op))?;
        let (at, modes) = (self.at, self.modes);
        let section = &mut self.sections[self.section as usize];
        section.align = section.align.max(to);
        if to == 1 {
            return Ok(());
        }
        let nops = section.exec && fill.is_none();
        let smallest = if modes.rvc { 2 } else { 4 };
        if nops && to <= smallest {
            return Ok(());
        }
        let cut = (nops && modes.relax).then(|| to - smallest);
        // Without relaxation GNU `as` pads code with zeros.
        let fill = if cut.is_some() { Fill::Nops } else { Fill::Bytes(fill.unwrap_or(0), 1) };
        let kind = PointKind::Align { to, fill, max, cut };
        self.image_bytes += if section.zero { 0 } else { to };
        section.points.push(Point { offset: section.length, size: 0, kind, at });
        // The limit counts the largest padding.
        self.grow(0).map(|_| ())
    }

    fn binding(&mut self, name: &str, rest: &str) -> Result<(), Fault> {
        for op in operands(rest) {
            if name_length(op) != op.len() || op.is_empty() {
                return fault(op, format!("{} cannot be a name", quoted(op)));
            }
            let symbol = self.symbol(op) as usize;
            self.symbols[symbol].global |= name != ".local";
            self.symbols[symbol].weak |= name == ".weak";
        }
        Ok(())
    }

    /// `.comm NAME, SIZE, ALIGNMENT`
    fn common(&mut self, directive: &str, rest: &str) -> Result<(), Fault> {
        let ops = operands(rest);
        let [name, size, align @ ..] = &ops[..] else {
            return fault(directive, format!("`{directive}` takes a name and a size"));
        };
        let size = self.count(size)?;
        let align = align.first().map_or(Ok(1), |op| self.count(op))?.max(1);
        if !align.is_power_of_two() || align > 1 << 31 {
            return fault(directive, format!("an alignment is a power of two, not {align}"));
        }
        let symbol = self.symbol(name) as usize;
        if !matches!(self.symbols[symbol].value, Value::Undefined) {
            return fault(name, format!("{} is already defined", quoted(name)));
        }
        let section = self.section;
        self.section = self.section_named(".bss", None);
        let done = self.align(".balign", &align.to_string(), false);
        self.symbols[symbol].value = Value::Label(self.here());
        self.symbols[symbol].global |= directive == ".comm";
        let done = done.and_then(|()| self.pad(size, 0, 1));
        self.section = section;
        done
    }

    fn option(&mut self, rest: &str) -> Result<(), Fault> {
        match rest.trim() {
            "rvc" if self.options.isa.has(Extension::C) => self.modes.rvc = true,
            // The program is for a machine that has them.
            "rvc" => {
                return fault(
                    rest,
                    format!("`.option rvc` needs the extension C: the ISA is {}", self.options.isa),
                );
            }
            "norvc" => self.modes.rvc = false,
            "relax" => self.modes.relax = true,
            "norelax" => self.modes.relax = false,
            "push" if self.mode_stack.len() < MAX_DEPTH => self.mode_stack.push(self.modes),
            "push" => return fault(rest, format!("more than {MAX_DEPTH} options are pushed")),
            "pop" => match self.mode_stack.pop() {
                Some(modes) => self.modes = modes,
                None => return fault(rest, "`.option pop` without `.option push`"),
            },
            "pic" | "nopic" | "csr-check" | "no-csr-check" => {}
            option if option.starts_with("arch") => {}
            option => {
                const OPTIONS: [&str; 6] = ["rvc", "norvc", "relax", "norelax", "push", "pop"];
                let message =
                    format!("unknown option {}{}", quoted(option), meant(option, OPTIONS.into_iter()));
                return fault(option, message);
            }
        }
        Ok(())
    }

    /// `.insn VALUE`, `.insn LENGTH, VALUE`, and the formats `r` and `i`.
    fn insn(&mut self, rest: &str) -> Result<(), Fault> {
        self.mark();
        let rest = rest.trim();
        let length = rest.bytes().position(|b| !is_name(b)).unwrap_or(rest.len());
        let (format, ops) = (&rest[..length], operands(&rest[length..]));
        let mut field = |text: &str, bits: u32| {
            let value = self.number(text)?;
            match (0..1i64 << bits).contains(&value) {
                true => Ok(value as u32),
                false => fault(text, format!("{value} does not fit {bits} bits")),
            }
        };
        let word = match (format, &ops[..]) {
            ("i", [opcode, f3, rd, rs1, imm]) => {
                let word = field(opcode, 7)? | field(f3, 3)? << 12;
                let imm = self.number(imm)?;
                if !(-2048..2048).contains(&imm) {
                    return fault(rest, format!("an immediate is -2048 to 2047, not {imm}"));
                }
                word | u32::from(self.x(rd)?) << 7 | u32::from(self.x(rs1)?) << 15 | (imm as u32) << 20
            }
            ("r", [opcode, f3, f7, rd, rs1, rs2]) => {
                let word = field(opcode, 7)? | field(f3, 3)? << 12 | field(f7, 7)? << 25;
                let (rd, rs1, rs2) = (self.x(rd)?, self.x(rs1)?, self.x(rs2)?);
                word | u32::from(rd) << 7 | u32::from(rs1) << 15 | u32::from(rs2) << 20
            }
            _ => match operands(rest)[..] {
                [value] | [_, value] => match self.number(value)? {
                    half if half & 3 != 3 && (0..1 << 16).contains(&half) => {
                        return self.emit(&(half as u16).to_le_bytes());
                    }
                    word if word & 3 == 3 && (0..1 << 32).contains(&word) => word as u32,
                    other => {
                        return fault(value, format!("{other:#x} is not an instruction of 2 or 4 bytes"));
                    }
                },
                _ => return fault(rest, "`.insn` takes a number, or the operands of the formats `r` or `i`"),
            },
        };
        self.emit(&word.to_le_bytes())
    }

    pub(super) fn is_active(&self) -> bool {
        self.conditions.last().is_none_or(|c| c.active)
    }

    /// A statement in a branch that is not used.
    pub(super) fn skipped(&mut self, word: &str, rest: &str) -> Result<(), Fault> {
        match word {
            ".else" | ".elseif" | ".endif" => self.condition_part(word, rest),
            _ if word.starts_with(".if") => self.open(false, false),
            _ => Ok(()),
        }
    }

    fn open(&mut self, outer: bool, value: bool) -> Result<(), Fault> {
        if self.conditions.len() >= MAX_DEPTH {
            return fault(".if", format!("more than {MAX_DEPTH} conditions inside each other"));
        }
        let at = self.at;
        self.conditions.push(Condition { outer, taken: value, active: value, ended: false, at });
        Ok(())
    }

    fn condition(&mut self, name: &str, rest: &str) -> Result<(), Fault> {
        let value = self.holds(name, rest);
        // An error opens it too, or its end would be another error.
        self.open(true, *value.as_ref().unwrap_or(&false))?;
        value.map(|_| ())
    }

    fn holds(&mut self, name: &str, rest: &str) -> Result<bool, Fault> {
        let rest = rest.trim();
        let pair = |equal: bool, texts: Option<(&str, &str)>| match texts {
            Some((a, b)) => Ok((a.trim() == b.trim()) == equal),
            None => fault(name, format!("`{name}` takes two texts")),
        };
        let strings = || match operands(rest)[..] {
            [a, b] => Some((a, b)),
            _ => None,
        };
        let defined = |symbol: &str| {
            let found = self.names.get(symbol).map(|s| &self.symbols[*s as usize].value);
            found.is_some_and(|value| !matches!(value, Value::Undefined))
        };
        Ok(match name {
            ".ifdef" => defined(rest),
            ".ifndef" | ".ifnotdef" => !defined(rest),
            ".ifb" => rest.is_empty(),
            ".ifnb" => !rest.is_empty(),
            // The first comma parts these two, whatever is around it.
            ".ifc" => pair(true, rest.split_once(','))?,
            ".ifnc" => pair(false, rest.split_once(','))?,
            ".ifeqs" => pair(true, strings())?,
            ".ifnes" => pair(false, strings())?,
            ".if" | ".ifne" => self.number(rest)? != 0,
            ".ifeq" => self.number(rest)? == 0,
            ".ifgt" => self.number(rest)? > 0,
            ".ifge" => self.number(rest)? >= 0,
            ".iflt" => self.number(rest)? < 0,
            ".ifle" => self.number(rest)? <= 0,
            _ => return fault(name, format!("unknown directive {}", quoted(name))),
        })
    }

    fn condition_part(&mut self, name: &str, rest: &str) -> Result<(), Fault> {
        if name == ".endif" {
            return match self.conditions.pop() {
                Some(_) => Ok(()),
                None => fault(name, "`.endif` without `.if`"),
            };
        }
        let wanted = self.conditions.last().is_some_and(|c| c.outer && !c.taken && !c.ended);
        let value = if name == ".elseif" && wanted { self.number(rest) } else { Ok(1) };
        let Some(last) = self.conditions.last_mut().filter(|c| !c.ended) else {
            return fault(name, format!("`{name}` without `.if`"));
        };
        last.active = wanted && *value.as_ref().unwrap_or(&0) != 0;
        last.taken |= last.active;
        last.ended = name == ".else";
        value.map(|_| ())
    }
}
