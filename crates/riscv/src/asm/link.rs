//! Linking: sections get addresses as in `ld`'s own script, names and expressions get values.

use std::collections::{BTreeMap, HashMap};

use super::error::{AsmError, Fault, Pos, UNDEFINED, meant, quoted};
use super::expr::{Expr, Place};
use super::image::{Image, LineEntry, OutputSection};
use super::section::{Fill, Fixup, FixupKind, PointKind, Section, nops, padding};
use super::state::{Assembler, Value};
use crate::compressed;
use crate::elf::{Elf, Segment, Symbol};
use crate::format::Format;
use crate::isa::{Isa, Xlen};

const PAGE: u64 = 4096;
/// Names that stand for other names.
const MAX_CHAIN: u32 = 200;

/// The address or number of each symbol.
#[derive(Clone, Copy)]
enum Resolved {
    Unknown,
    /// Being resolved, at this depth: a name that refers to itself.
    Busy,
    Known(Option<i64>),
}

impl Assembler<'_> {
    /// Places everything and makes the image.
    pub(super) fn link(mut self) -> Result<Image, Vec<AsmError>> {
        // What follows would repeat errors in other words.
        if !self.errors.is_empty() || !self.preprocessor.faults.is_empty() {
            self.undefined();
            return Err(self.take_errors());
        }
        self.join_globals();
        self.relax();
        let segments = self.place();
        let mut resolved = vec![Resolved::Unknown; self.symbols.len()];
        self.resolve_all(&mut resolved);
        let mut contents = Vec::new();
        for index in 0..self.sections.len() {
            contents.push(self.contents(index, &resolved));
        }
        self.apply(&mut contents, &resolved);
        if !self.errors.is_empty() {
            return Err(self.take_errors());
        }
        let segments: Vec<Segment> = segments
            .iter()
            .map(|(address, indices, executable)| {
                let mut data: Vec<u8> = Vec::new();
                let mut end = *address;
                for index in indices {
                    let section = &self.sections[*index];
                    if !section.zero {
                        data.resize((section.base - address) as usize, 0);
                        data.append(&mut contents[*index]);
                    }
                    end = section.base + section.size();
                }
                Segment { address: *address, data, memory_size: end - address, executable: *executable }
            })
            .filter(|segment| segment.memory_size > 0)
            .collect();
        let symbols = self.symbol_table(&resolved);
        let start = symbols.iter().find(|s| s.name == "_start").map(|s| s.address);
        let xlen = self.options.isa.xlen();
        let entry = start.or_else(|| segments.first().map(|s| s.address)).unwrap_or(self.options.text);
        let lines = self.lines();
        let files = self.preprocessor.files.iter().map(|f| (*f).to_owned()).collect();
        let program = Elf { entry, xlen, segments, symbols };
        Ok(Image { program, files, lines, sections: self.outputs, rvc: self.modes.rvc })
    }

    /// Reports the names that nothing defines, for a program that has other errors as well.
    fn undefined(&mut self) {
        if self.errors.len() >= super::MAX_ERRORS / 2 || self.statements > super::MAX_STATEMENTS {
            return;
        }
        self.join_globals();
        // Whatever their values are.
        self.provide(&Marks::default());
        let mut resolved = vec![Resolved::Unknown; self.symbols.len()];
        self.resolve_all(&mut resolved);
    }

    /// Names that a unit uses and another one exports.
    fn join_globals(&mut self) {
        let mut globals: HashMap<String, u32> = HashMap::new();
        let mut twice = Vec::new();
        for (index, symbol) in self.symbols.iter().enumerate() {
            if !symbol.global || matches!(symbol.value, Value::Undefined) {
                continue;
            }
            match globals.get(&symbol.name) {
                Some(first) => {
                    let old = &self.symbols[*first as usize];
                    match (old.weak, symbol.weak) {
                        (_, true) => {}
                        (true, false) => drop(globals.insert(symbol.name.clone(), index as u32)),
                        (false, false) => twice.push((index, old.at)),
                    }
                }
                None => drop(globals.insert(symbol.name.clone(), index as u32)),
            }
        }
        for (index, old) in twice {
            let name = self.symbols[index].name.clone();
            let file = self.preprocessor.files[old.file as usize];
            let message = format!("{} is already defined at {file}:{}", quoted(&name), old.line);
            self.report(self.symbols[index].at, Fault { token: name, message });
        }
        for symbol in &mut self.symbols {
            if matches!(symbol.value, Value::Undefined) {
                match globals.get(&symbol.name) {
                    Some(found) => symbol.value = Value::Equal(Expr::Symbol(*found)),
                    None if symbol.weak => symbol.value = Value::Equal(Expr::Number(0)),
                    None => {}
                }
            }
        }
    }

    fn relax(&mut self) {
        for index in 0..self.sections.len() {
            let mut section = std::mem::take(&mut self.sections[index]);
            let target = |expr: &Expr| match self.relative(expr, &mut 2000)? {
                (Some(place), offset) if place.section as usize == index => {
                    Some(Place { offset: offset as u64, ..place })
                }
                _ => None,
            };
            let targets: Vec<_> = section
                .points
                .iter()
                .map(|point| match &point.kind {
                    PointKind::Branch { target: expr, .. } => target(expr),
                    PointKind::Align { .. } => None,
                })
                .collect();
            section.relax(&targets);
            self.sections[index] = section;
        }
    }

    /// Gives the sections addresses; returns the segments: address, sections, whether they hold code.
    fn place(&mut self) -> Vec<(u64, Vec<usize>, bool)> {
        // Output sections in order: those of the same rank, and of the same name where it is not one of the usual ones.
        let mut outputs: BTreeMap<(u8, usize), Vec<usize>> = BTreeMap::new();
        let mut others: HashMap<&str, usize> = HashMap::new();
        for (index, section) in self.sections.iter().enumerate().filter(|(_, s)| !s.dropped) {
            let (rank, usual) = rank(section);
            let count = others.len() + 1;
            let order = if usual { 0 } else { *others.entry(&section.name).or_insert(count) };
            outputs.entry((rank, order)).or_default().push(index);
        }
        let (code, data): (Vec<_>, Vec<_>) = outputs.into_iter().partition(|((rank, _), _)| *rank < WRITABLE);
        let mut marks = Marks::default();
        let (code_end, code) = self.place_outputs(self.options.text, 0, &code, &mut marks);
        // The data begins on another page at the same offset in it, or where that saves a page, at the beginning.
        let page = code_end.next_multiple_of(PAGE);
        let start = page + (code_end & (PAGE - 1));
        let placed = self.outputs.len();
        let (mut end, mut members) = self.place_outputs(start, WRITABLE, &data, &mut marks);
        let (first, last) = (start.wrapping_neg() & (PAGE - 1), end.next_multiple_of(8) & (PAGE - 1));
        if first != 0 && last != 0 && start / PAGE != end.next_multiple_of(8) / PAGE && first + last <= PAGE {
            self.outputs.truncate(placed);
            (end, members) = self.place_outputs(page, WRITABLE, &data, &mut marks);
        }
        marks.end = end.next_multiple_of(8);
        self.provide(&marks);
        let top = if self.options.isa.xlen() == Xlen::Rv32 { 1 << 32 } else { u64::MAX };
        if end > top {
            let message = format!("the program ends at {end:#x}, behind the address space");
            self.report_plain(Pos { file: 0, line: 1 }, Fault { token: String::new(), message });
        }
        let starts = |members: &[usize], start| members.first().map_or(start, |i| self.sections[*i].base);
        vec![(starts(&code, self.options.text), code, true), (starts(&members, start), members, false)]
    }

    /// Places output sections, of the rank `next` or higher, from this address on; returns the end, and the sections that are not empty.
    fn place_outputs(
        &mut self,
        start: u64,
        mut next: u8,
        outputs: &[((u8, usize), Vec<usize>)],
        marks: &mut Marks,
    ) -> (u64, Vec<usize>) {
        let mut address = start;
        let mut members = Vec::new();
        for ((rank, _), indices) in outputs {
            let before = address;
            // The script keeps .data even where it is empty.
            if *rank == WRITABLE || indices.iter().any(|i| self.sections[*i].size() > 0) {
                let align = indices.iter().map(|i| self.sections[*i].align).max().unwrap_or(1);
                address = address.next_multiple_of(align);
            }
            while next <= *rank {
                // The script's names are inside of their section, but `_etext` and `__bss_start` before it.
                let inside = next == *rank && !matches!(next, BEHIND_CODE | ZERO);
                marks.begin[usize::from(next)] = if inside { address } else { before };
                next += 1;
            }
            let first = members.len();
            for index in indices {
                let section = &mut self.sections[*index];
                section.base = address.next_multiple_of(section.align);
                let too_small = section.cut();
                if section.size() > 0 {
                    members.push(*index);
                    address = section.base.saturating_add(section.size());
                }
                for (at, to) in too_small {
                    let message = format!("the code before this alignment to {to} bytes has an odd size");
                    self.report_plain(at, Fault { token: String::new(), message });
                }
            }
            if let Some(begin) = members.get(first) {
                let Section { base, write, exec, .. } = self.sections[*begin];
                let name = output_name(&self.sections[*begin]);
                let align = indices.iter().map(|i| self.sections[*i].align).max().unwrap_or(1);
                let size = address.wrapping_sub(base);
                self.outputs.push(OutputSection { name, address: base, size, exec, write, align });
            }
        }
        marks.begin[usize::from(next)..].fill(address);
        (address, members)
    }

    /// Defines the names that `ld`'s script defines, where a program uses them.
    fn provide(&mut self, marks: &Marks) {
        let begin = |rank: u8| marks.begin[usize::from(rank)];
        let pointer = (begin(WRITABLE) + 0x800).max(marks.end.wrapping_sub(0x800)).min(begin(SMALL) + 0x800);
        for symbol in self.symbols.iter_mut().filter(|s| matches!(s.value, Value::Undefined)) {
            let value = match symbol.name.as_str() {
                "__global_pointer$" => pointer,
                "etext" | "_etext" | "__etext" => begin(BEHIND_CODE),
                "edata" | "_edata" | "__bss_start" => begin(ZERO),
                "end" | "_end" | "__BSS_END__" => marks.end,
                "__DATA_BEGIN__" => begin(WRITABLE),
                "__SDATA_BEGIN__" => begin(SMALL),
                _ => continue,
            };
            symbol.value = Value::Equal(Expr::Number(value as i64));
        }
    }

    fn resolve_all(&mut self, resolved: &mut [Resolved]) {
        let mut undefined = Vec::new();
        let mut circular = Vec::new();
        for index in 0..resolved.len() {
            if matches!(self.symbols[index].value, Value::Undefined) {
                resolved[index] = Resolved::Known(None);
                undefined.push(index);
            } else if self.resolve(index as u32, resolved, 0).is_none() {
                circular.push(index);
            }
        }
        let defined = |a: &Assembler<'_>| -> Vec<String> {
            let known = a.symbols.iter().filter(|s| !matches!(s.value, Value::Undefined));
            known.map(|s| s.name.clone()).filter(|n| !n.is_empty()).take(10_000).collect()
        };
        let names = if undefined.is_empty() { Vec::new() } else { defined(self) };
        for index in undefined.into_iter().take(super::MAX_ERRORS) {
            let (name, at) = (self.symbols[index].name.clone(), self.symbols[index].at);
            // Its line was reported already.
            if self.errors.iter().any(|(reported, ..)| *reported == at) {
                continue;
            }
            let message = match name.strip_suffix('f').filter(|n| n.parse::<u64>().is_ok()) {
                Some(number) => format!("there is no label `{number}:` behind this line"),
                None => {
                    format!("{} {UNDEFINED}{}", quoted(&name), meant(&name, names.iter().map(String::as_str)))
                }
            };
            self.report_plain(at, Fault { token: name, message });
        }
        for index in circular.into_iter().take(super::MAX_ERRORS) {
            // What depends on an undefined name is not an error of its own.
            if let Value::Equal(expr) = &self.symbols[index].value
                && !self.depends_on_undefined(expr, 0)
            {
                let (name, at) = (self.symbols[index].name.clone(), self.symbols[index].at);
                let message =
                    format!("{} has no value: it refers to itself, or divides by zero", quoted(&name));
                self.report_plain(at, Fault { token: name, message });
            }
        }
    }

    fn report_plain(&mut self, at: Pos, wrong: Fault) {
        self.errors.push((at, wrong, Vec::new()));
    }

    fn depends_on_undefined(&self, expr: &Expr, depth: u32) -> bool {
        match expr {
            Expr::Number(_) | Expr::Place(_) => false,
            Expr::Symbol(symbol) => match &self.symbols[*symbol as usize].value {
                Value::Undefined => true,
                // A long chain was reported where it is defined.
                Value::Equal(expr) => depth < 8 && self.depends_on_undefined(expr, depth + 1),
                Value::Label(_) => false,
            },
            Expr::Unary(_, term) => self.depends_on_undefined(term, depth),
            Expr::Binary(_, terms) => {
                self.depends_on_undefined(&terms.0, depth) || self.depends_on_undefined(&terms.1, depth)
            }
        }
    }

    fn resolve(&self, symbol: u32, resolved: &mut [Resolved], depth: u32) -> Option<i64> {
        let index = symbol as usize;
        match resolved[index] {
            Resolved::Known(value) => return value,
            Resolved::Busy => return None,
            Resolved::Unknown if depth > MAX_CHAIN => return None,
            Resolved::Unknown => resolved[index] = Resolved::Busy,
        }
        let value = match &self.symbols[index].value {
            Value::Undefined => None,
            Value::Label(place) => Some(self.address(*place)),
            Value::Equal(expr) => self.value(expr, resolved, depth + 1),
        };
        resolved[index] = Resolved::Known(value);
        value
    }

    fn address(&self, place: Place) -> i64 {
        let section = &self.sections[place.section as usize];
        section.base.wrapping_add(section.offset_of(place.point, place.offset)) as i64
    }

    fn value(&self, expr: &Expr, resolved: &mut [Resolved], depth: u32) -> Option<i64> {
        Some(match expr {
            Expr::Number(value) => *value,
            Expr::Place(place) => self.address(*place),
            Expr::Symbol(symbol) => self.resolve(*symbol, resolved, depth)?,
            Expr::Unary(operator, term) => operator.apply_unary(self.value(term, resolved, depth)?),
            Expr::Binary(operator, terms) => {
                let a = self.value(&terms.0, resolved, depth)?;
                operator.apply(a, self.value(&terms.1, resolved, depth)?)?
            }
        })
    }

    /// The value of an expression when all symbols are resolved.
    fn final_value(&self, expr: &Expr, resolved: &[Resolved]) -> Option<i64> {
        Some(match expr {
            Expr::Number(value) => *value,
            Expr::Place(place) => self.address(*place),
            Expr::Symbol(symbol) => match resolved[*symbol as usize] {
                Resolved::Known(value) => value?,
                _ => return None,
            },
            Expr::Unary(operator, term) => operator.apply_unary(self.final_value(term, resolved)?),
            Expr::Binary(operator, terms) => {
                let a = self.final_value(&terms.0, resolved)?;
                operator.apply(a, self.final_value(&terms.1, resolved)?)?
            }
        })
    }

    /// The bytes of a section, with its padding and its branches.
    fn contents(&mut self, index: usize, resolved: &[Resolved]) -> Vec<u8> {
        let section = &self.sections[index];
        if section.zero || section.dropped {
            return Vec::new();
        }
        let mut out = Vec::with_capacity(section.size() as usize);
        let mut done = 0;
        let mut wrong = Vec::new();
        for point in &section.points {
            out.extend_from_slice(&section.data[done..point.offset as usize]);
            done = point.offset as usize;
            match &point.kind {
                PointKind::Align { fill: Fill::Nops, cut, .. } => nops(point.size, *cut, &mut out),
                PointKind::Align { fill: Fill::Bytes(value, width), .. } => {
                    padding(*value, *width, point.size, &mut out);
                }
                PointKind::Branch { word, target, .. } => {
                    let here = section.base.wrapping_add(out.len() as u64) as i64;
                    let Some(to) = self.final_value(target, resolved) else {
                        out.resize(out.len() + point.size as usize, 0);
                        continue;
                    };
                    if let Err(message) =
                        branch(*word, point.size, to.wrapping_sub(here), self.options.isa.xlen(), &mut out)
                    {
                        wrong.push((point.at, message));
                    }
                }
            }
        }
        out.extend_from_slice(&section.data[done..]);
        for (at, message) in wrong {
            self.report_plain(at, Fault { token: String::new(), message });
        }
        out
    }

    /// Puts the values of expressions into the words and data that need them.
    fn apply(&mut self, contents: &mut [Vec<u8>], resolved: &[Resolved]) {
        let mut wrong = Vec::new();
        // What an `auipc` adds up to, for the lower part that names it.
        let mut upper: HashMap<u64, i64> = HashMap::new();
        let fixups = |a: &Self, index: usize| !a.sections[index].dropped && !a.sections[index].zero;
        for index in (0..contents.len()).filter(|i| fixups(self, *i)) {
            for fixup in self.sections[index].fixups.iter().filter(|f| f.kind == FixupKind::PcrelHi) {
                let here = self.address(fixup.place);
                if let Some(value) = self.final_value(&fixup.expr, resolved) {
                    upper.insert(here as u64, value.wrapping_sub(here));
                }
            }
        }
        for index in (0..contents.len()).filter(|i| fixups(self, *i)) {
            let section = &self.sections[index];
            for fixup in &section.fixups {
                let Some(value) = self.final_value(&fixup.expr, resolved) else { continue };
                let at = section.offset_of(fixup.place.point, fixup.place.offset) as usize;
                let place = &mut contents[index][at..];
                let value = match fixup.kind {
                    FixupKind::PcrelHi => value.wrapping_sub(self.address(fixup.place)),
                    _ => value,
                };
                if let Err(message) = patch(fixup, value, &upper, self.options.isa.xlen(), place) {
                    wrong.push((fixup.at, message));
                }
            }
        }
        for (at, message) in wrong.into_iter().take(super::MAX_ERRORS) {
            self.report_plain(at, Fault { token: String::new(), message });
        }
    }

    fn symbol_table(&self, resolved: &[Resolved]) -> Vec<Symbol> {
        let mut out: Vec<Symbol> = Vec::new();
        for (symbol, resolved) in self.symbols.iter().zip(resolved) {
            let (Value::Label(place), Resolved::Known(Some(address))) = (&symbol.value, resolved) else {
                continue;
            };
            let hidden = symbol.name.is_empty() || symbol.name.starts_with(".L");
            let numeric = symbol.name.starts_with(|c: char| c.is_ascii_digit());
            if hidden || numeric || self.sections[place.section as usize].dropped {
                continue;
            }
            out.push(Symbol { name: symbol.name.clone(), address: *address as u64, size: 0 });
        }
        out.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        out
    }

    fn lines(&self) -> Vec<LineEntry> {
        let mut out = Vec::new();
        for section in self.sections.iter().filter(|s| !s.dropped) {
            for mark in &section.marks {
                let address = section.base + section.offset_of(mark.point, mark.offset);
                out.push(LineEntry { address, file: mark.at.file, line: mark.at.line });
            }
        }
        out.sort_by_key(|entry| entry.address);
        out
    }
}

/// Where the output sections of each rank begin, and the end of all.
#[derive(Default)]
struct Marks {
    begin: [u64; 16],
    end: u64,
}

const BEHIND_CODE: u8 = 3;
const WRITABLE: u8 = 6;
const SMALL: u8 = 8;
const ZERO: u8 = 10;

/// The sections that `ld`'s own script names, and their positions in it.
const USUAL: [(&str, u8); 9] = [
    (".init", 0),
    (".text", 1),
    (".fini", 2),
    (".rodata", 4),
    (".data", 6),
    (".srodata", 8),
    (".sdata", 9),
    (".sbss", 10),
    (".bss", 11),
];

fn usual(section: &Section) -> Option<&'static (&'static str, u8)> {
    let begins = |prefix: &str| {
        section.name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    USUAL.iter().find(|(prefix, _)| begins(prefix))
}

/// The name of the section of the program that a source's section is put into.
fn output_name(section: &Section) -> String {
    usual(section).map_or(section.name.as_str(), |(name, _)| name).to_owned()
}

/// The position of a section in `ld`'s own script, and whether the script names it.
fn rank(section: &Section) -> (u8, bool) {
    match usual(section) {
        Some((_, rank)) => (*rank, true),
        None if section.exec => (3, false),
        None if !section.write => (5, false),
        None if section.zero => (12, false),
        None => (7, false),
    }
}

/// Writes a branch or jump of this size.
fn branch(word: u32, size: u64, distance: i64, xlen: Xlen, out: &mut Vec<u8>) -> Result<(), String> {
    let jump = word & 0x7f == 0x6f;
    let with = |format: Format, word: u32, distance: i64| {
        let operands = crate::format::Operands { imm: distance, ..format.extract(word) };
        word & format.mask() | format.insert(&operands)
    };
    let plain = |word: u32, distance: i64| {
        with(if word & 0x7f == 0x6f { Format::J } else { Format::B }, word, distance)
    };
    const JAL: u32 = 0x6f;
    // The condition's lowest bit inverts it.
    let around = word ^ 0x1000;
    let (range, rest) = match size {
        2 if jump => (1 << 12, 0),
        2 => (1 << 9, 0),
        4 if !jump => (1 << 13, 0),
        4 => (1 << 21, 0),
        size => (1 << 21, size as i64 - 4),
    };
    let reach = distance.wrapping_sub(rest);
    if distance & 1 != 0 {
        out.resize(out.len() + size as usize, 0);
        return Err(format!("the target is {distance} bytes away: not a multiple of 2"));
    }
    if !(-range / 2..range / 2).contains(&reach) {
        out.resize(out.len() + size as usize, 0);
        return Err(format!("the target is {distance} bytes away, this jump reaches {} bytes", range / 2));
    }
    let short = |word: u32| compressed::compress(word, &Isa::everything(xlen)).unwrap_or(0).to_le_bytes();
    match size {
        2 => out.extend(short(plain(word, distance))),
        4 => out.extend(plain(word, distance).to_le_bytes()),
        _ => {
            match size {
                6 => out.extend(short(plain(around, 6))),
                _ => out.extend(plain(around, 8).to_le_bytes()),
            }
            out.extend(plain(JAL, reach).to_le_bytes());
        }
    }
    Ok(())
}

fn patch(
    fixup: &Fixup,
    value: i64,
    upper: &HashMap<u64, i64>,
    xlen: Xlen,
    place: &mut [u8],
) -> Result<(), String> {
    use FixupKind::*;
    let value = match fixup.kind {
        Data(size) => {
            let bits = 8 * u32::from(size);
            if bits < 64 && xlen == Xlen::Rv64 && !(-(1i64 << (bits - 1))..1 << bits).contains(&value) {
                return Err(format!("{value:#x} does not fit {size} bytes"));
            }
            place[..usize::from(size)].copy_from_slice(&value.to_le_bytes()[..usize::from(size)]);
            return Ok(());
        }
        PcrelHi | Hi | Lo | LoStore => value,
        PcrelLo | PcrelLoStore => match upper.get(&(value as u64)) {
            Some(value) => *value,
            None => return Err(format!("there is no `%pcrel_hi` at {value:#x}")),
        },
    };
    let word = u32::from_le_bytes([place[0], place[1], place[2], place[3]]);
    let low = (value as i32) << 20 >> 20;
    let word = match fixup.kind {
        PcrelLo | Lo => word & 0x000f_ffff | (low as u32) << 20,
        PcrelLoStore | LoStore => word & 0x01ff_f07f | (low as u32 & 0xfe0) << 20 | (low as u32 & 0x1f) << 7,
        _ => {
            let rounded = value.wrapping_add(0x800);
            if xlen == Xlen::Rv64 && i32::try_from(rounded).is_err() {
                return Err(format!("{value:#x} is out of reach: 32 signed bits"));
            }
            word & 0xfff | rounded as u32 & 0xffff_f000
        }
    };
    place[..4].copy_from_slice(&word.to_le_bytes());
    Ok(())
}
