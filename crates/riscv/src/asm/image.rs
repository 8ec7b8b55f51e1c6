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

    /// A static executable with these segments and symbols.
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
        let mut names = vec![0u8];
        let names_at = symbols_at + symbol * (program.symbols.len() as u64 + 1);
        let name_offsets: Vec<u32> = program
            .symbols
            .iter()
            .map(|symbol| {
                let at = names.len() as u32;
                names.extend(symbol.name.bytes());
                names.push(0);
                at
            })
            .collect();
        const TABLES: &[u8] = b"\0.symtab\0.strtab\0.shstrtab\0";
        let tables_at = names_at + names.len() as u64;
        let sections_at = (tables_at + TABLES.len() as u64).next_multiple_of(8);

        out.bytes.extend([0x7f, b'E', b'L', b'F', if wide { 2 } else { 1 }, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.halves(&[2, 243]);
        out.word(1);
        out.address(program.entry);
        out.address(header);
        out.address(sections_at);
        out.word(u32::from(self.rvc));
        out.halves(&[header as u16, entry as u16, program.segments.len() as u16, row as u16, 4, 3]);
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
        // Global and without a type, at an absolute place.
        for (symbol, name) in program.symbols.iter().zip(name_offsets) {
            out.word(name);
            if wide {
                out.bytes.extend([0x10, 0, 0xf1, 0xff]);
            }
            out.address(symbol.address);
            out.address(symbol.size);
            if !wide {
                out.bytes.extend([0x10, 0, 0xf1, 0xff]);
            }
        }
        out.bytes.extend(&names);
        out.bytes.extend(TABLES);
        out.bytes.resize((sections_at + row) as usize, 0);
        let size = symbol * (program.symbols.len() as u64 + 1);
        for (name, kind, offset, size, link, info, entry) in [
            (1, 2, symbols_at, size, 2, 1, symbol),
            (9, 3, names_at, names.len() as u64, 0, 0, 0),
            (17, 3, tables_at, TABLES.len() as u64, 0, 0, 0),
        ] {
            out.word(name);
            out.word(kind);
            out.address(0);
            out.address(0);
            out.address(offset);
            out.address(size);
            out.word(link);
            out.word(info);
            out.address(if kind == 2 { 8 } else { 1 });
            out.address(entry);
        }
        out.bytes
    }
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

    /// As wide as the file's class.
    fn address(&mut self, value: u64) {
        match self.wide {
            true => self.bytes.extend(value.to_le_bytes()),
            false => self.word(value as u32),
        }
    }
}
