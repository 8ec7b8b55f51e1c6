//! What the assembler makes: a program for the machine, its lines, and an ELF file of it.

use crate::elf::Elf;
use crate::isa::Xlen;

/// A linked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What is loaded.
    pub program: Elf,
    /// The names of its sources.
    pub files: Vec<String>,
    /// Where each statement is, sorted by address.
    pub lines: Vec<LineEntry>,
    /// The sections in the order of their addresses.
    pub sections: Vec<OutputSection>,
    pub(super) rvc: bool,
}

/// The first address of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEntry {
    /// The address.
    pub address: u64,
    /// The index of the file in [`Image::files`].
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
}

/// A part of the program: what the sources put into sections of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSection {
    /// Its name, as `.text`.
    pub name: String,
    /// The address.
    pub address: u64,
    /// Bytes in memory.
    pub size: u64,
    /// Whether it contains instructions.
    pub exec: bool,
    /// Whether the program may write to it.
    pub write: bool,
    /// The alignment.
    pub align: u64,
}

impl Image {
    /// The file and line of the statement at an address.
    pub fn line(&self, address: u64) -> Option<(&str, u32)> {
        let in_program = |s: &crate::elf::Segment| address.wrapping_sub(s.address) < s.memory_size;
        if !self.program.segments.iter().any(in_program) {
            return None;
        }
        let next = self.lines.partition_point(|entry| entry.address <= address);
        let entry = self.lines.get(next.checked_sub(1)?)?;
        Some((self.files[entry.file as usize].as_str(), entry.line))
    }

    /// A static executable with these segments, sections and symbols.
    pub fn elf(&self) -> Vec<u8> {
        const PAGE: u64 = 4096;
        let program = &self.program;
        let wide = program.xlen == Xlen::Rv64;
        let (header, entry, row, symbol) = if wide { (64, 56, 64, 24) } else { (52, 32, 40, 16) };
        let mut out = Writer { bytes: Vec::new(), wide };
        // The segments, at offsets that equal their addresses in a page.
        let mut offset = header + entry * program.segments.len() as u64;
        let offsets: Vec<u64> = program
            .segments
            .iter()
            .map(|segment| {
                let start = offset + (segment.address.wrapping_sub(offset) & (PAGE - 1));
                offset = start + segment.data.len() as u64;
                start
            })
            .collect();
        let symbols_at = offset.next_multiple_of(8);
        let names = Names::new(program.symbols.iter().map(|symbol| symbol.name.as_str()));
        let titles = self.sections.iter().map(|section| section.name.as_str());
        let titles = Names::new(titles.chain([".symtab", ".strtab", ".shstrtab"]));
        let symbols_size = symbol * (program.symbols.len() as u64 + 1);
        let names_at = symbols_at + symbols_size;
        let titles_at = names_at + names.bytes.len() as u64;
        let sections_at = (titles_at + titles.bytes.len() as u64).next_multiple_of(8);

        let count = self.sections.len() as u16;
        out.bytes.extend([0x7f, b'E', b'L', b'F', if wide { 2 } else { 1 }, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.halves(&[2, 243]);
        out.word(1);
        out.address(program.entry);
        out.address(header);
        out.address(sections_at);
        out.word(u32::from(self.rvc));
        let segments = program.segments.len() as u16;
        out.halves(&[header as u16, entry as u16, segments, row as u16, count + 4, count + 3]);
        for (segment, offset) in program.segments.iter().zip(&offsets) {
            let flags = if segment.executable { 5 } else { 6 };
            out.word(1);
            if wide {
                out.word(flags);
            }
            out.address(*offset);
            out.address(segment.address);
            out.address(segment.address);
            out.address(segment.data.len() as u64);
            out.address(segment.memory_size);
            if !wide {
                out.word(flags);
            }
            out.address(PAGE);
        }
        for (segment, offset) in program.segments.iter().zip(&offsets) {
            out.bytes.resize(*offset as usize, 0);
            out.bytes.extend(&segment.data);
        }
        out.bytes.resize((symbols_at + symbol) as usize, 0);
        for (symbol, name) in program.symbols.iter().zip(&names.offsets) {
            // Global and without a type; a place that no section contains is absolute.
            let section = self.section_of(symbol.address).map_or(0xfff1, |index| index as u16 + 1);
            out.word(*name);
            if wide {
                out.bytes.extend([0x10, 0]);
                out.halves(&[section]);
            }
            out.address(symbol.address);
            out.address(symbol.size);
            if !wide {
                out.bytes.extend([0x10, 0]);
                out.halves(&[section]);
            }
        }
        out.bytes.extend(&names.bytes);
        out.bytes.extend(&titles.bytes);
        out.bytes.resize((sections_at + row) as usize, 0);
        for (section, name) in self.sections.iter().zip(&titles.offsets) {
            let place = program.segments.iter().zip(&offsets).find_map(|(segment, offset)| {
                let inside = section.address.checked_sub(segment.address)?;
                let has_bytes = inside + section.size <= segment.data.len() as u64;
                (inside < segment.memory_size)
                    .then_some((offset + inside.min(segment.data.len() as u64), has_bytes))
            });
            let (offset, has_bytes) = place.unwrap_or((sections_at, false));
            let flags = 2 | u64::from(section.write) | if section.exec { 4 } else { 0 };
            let (address, size) = (section.address, section.size);
            out.section(SectionRow {
                name: *name,
                kind: if has_bytes { 1 } else { 8 },
                flags,
                address,
                offset,
                size,
                align: section.align.max(1),
                ..SectionRow::default()
            });
        }
        let tail = &titles.offsets[self.sections.len()..];
        let plain = SectionRow { kind: 3, align: 1, ..SectionRow::default() };
        out.section(SectionRow {
            name: tail[0],
            kind: 2,
            offset: symbols_at,
            size: symbols_size,
            link: u32::from(count) + 2,
            info: 1,
            align: 8,
            entry: symbol,
            ..SectionRow::default()
        });
        out.section(SectionRow { name: tail[1], offset: names_at, size: names.bytes.len() as u64, ..plain });
        out.section(SectionRow {
            name: tail[2],
            offset: titles_at,
            size: titles.bytes.len() as u64,
            ..plain
        });
        out.bytes
    }

    /// The section that an address is in, or at whose end it is.
    fn section_of(&self, address: u64) -> Option<usize> {
        let inside = |s: &OutputSection| address.wrapping_sub(s.address) < s.size;
        let at_end = |s: &OutputSection| address.wrapping_sub(s.address) == s.size;
        self.sections.iter().position(inside).or_else(|| self.sections.iter().position(at_end))
    }
}

/// Names behind each other, and where each begins.
struct Names {
    bytes: Vec<u8>,
    offsets: Vec<u32>,
}

impl Names {
    fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut bytes = vec![0];
        let offsets = names
            .map(|name| {
                let at = bytes.len() as u32;
                bytes.extend(name.bytes());
                bytes.push(0);
                at
            })
            .collect();
        Self { bytes, offsets }
    }
}

/// A row of the table of sections.
#[derive(Clone, Copy, Default)]
struct SectionRow {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
}

struct Writer {
    bytes: Vec<u8>,
    wide: bool,
}

impl Writer {
    fn halves(&mut self, values: &[u16]) {
        values.iter().for_each(|v| self.bytes.extend(v.to_le_bytes()));
    }

    fn word(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn section(&mut self, row: SectionRow) {
        self.word(row.name);
        self.word(row.kind);
        self.address(row.flags);
        self.address(row.address);
        self.address(row.offset);
        self.address(row.size);
        self.word(row.link);
        self.word(row.info);
        self.address(row.align);
        self.address(row.entry);
    }

    /// As wide as the file's class.
    fn address(&mut self, value: u64) {
        match self.wide {
            true => self.bytes.extend(value.to_le_bytes()),
            false => self.word(value as u32),
        }
    }
}
