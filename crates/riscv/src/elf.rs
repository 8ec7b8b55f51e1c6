//! Programs: a statically linked RISC-V ELF, read without trusting it.

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, FileKind};

use crate::isa::Xlen;

/// A part of a program that is copied to memory: `data`, then zeros up to `memory_size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it goes, as a physical address.
    pub address: u64,
    /// The bytes in the file.
    pub data: Vec<u8>,
    /// How much memory it occupies; at least `data.len()`.
    pub memory_size: u64,
    /// Whether it may contain instructions.
    pub executable: bool,
}

/// A named function, object or label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: u64,
    /// Its size in bytes; 0 when the program does not declare it.
    pub size: u64,
}

/// A program that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// Where execution starts.
    pub entry: u64,
    /// The register width it was built for.
    pub xlen: Xlen,
    /// The segments to load.
    pub segments: Vec<Segment>,
    /// Symbols, sorted by address, then name.
    pub symbols: Vec<Symbol>,
}

/// Why a program was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum LoadError {
    #[error("the file is empty")]
    Empty,
    #[error("not an ELF file")]
    NotElf,
    #[error("an ELF file for another machine (e_machine {0}), not for RISC-V (243)")]
    WrongMachine(u16),
    #[error("a big-endian ELF file; RISC-V programs here are little-endian")]
    BigEndian,
    #[error("the program is for {found}, the machine is {expected}: choose the ISA that fits the program")]
    WrongWidth { found: Xlen, expected: Xlen },
    #[error("not an executable (e_type {0}): link it first")]
    NotExecutable(u16),
    #[error("position-independent or dynamically linked: link it with -static and without -pie")]
    NotStatic,
    #[error("damaged ELF file: {0}")]
    Damaged(String),
    #[error("no loadable segment")]
    NoSegments,
    #[error(
        "the segment at {address:#x}, {size:#x} bytes long, is outside RAM ({ram_base:#x} to {ram_end:#x}): \
         link the program to run there, or give the machine more memory"
    )]
    OutsideRam { address: u64, size: u64, ram_base: u64, ram_end: u64 },
    #[error("segments at {0:#x} and {1:#x} overlap")]
    Overlap(u64, u64),
    #[error("the entry point {0:#x} is in no loaded segment")]
    Entry(u64),
    #[error(
        "the entry point {entry:#x} is not a multiple of {alignment}, so no instruction can be there: link the program again, or \
         repair e_entry of its header"
    )]
    Misaligned { entry: u64, alignment: u64 },
    #[error("too many {0}")]
    TooMany(&'static str),
}

/// A real static program has a handful; a hostile one could request unlimited memory.
const MAX_SEGMENTS: usize = 1024;
const MAX_SYMBOLS: usize = 4 << 20;

impl Elf {
    /// Reads a program.
    ///
    /// ```
    /// use tollgate_riscv::{Elf, LoadError};
    /// assert_eq!(Elf::parse(b""), Err(LoadError::Empty));
    /// assert_eq!(Elf::parse(b"#!/bin/sh\nexit 0\n#................................"), Err(LoadError::NotElf));
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Self, LoadError> {
        Self::parse_kind(bytes, false)
    }

    /// Reads firmware, which may be position-independent if it needs no interpreter: it relocates itself.
    pub fn parse_firmware(bytes: &[u8]) -> Result<Self, LoadError> {
        Self::parse_kind(bytes, true)
    }

    /// Moves the program up in memory.
    pub(crate) fn move_by(&mut self, offset: u64) {
        self.entry = self.entry.wrapping_add(offset);
        self.segments.iter_mut().for_each(|s| s.address = s.address.wrapping_add(offset));
        self.symbols.iter_mut().for_each(|s| s.address = s.address.wrapping_add(offset));
    }

    fn parse_kind(bytes: &[u8], movable: bool) -> Result<Self, LoadError> {
        if bytes.is_empty() {
            return Err(LoadError::Empty);
        }
        match FileKind::parse(bytes) {
            Ok(FileKind::Elf32) => parse::<elf::FileHeader32<Endianness>>(bytes, Xlen::Rv32, movable),
            Ok(FileKind::Elf64) => parse::<elf::FileHeader64<Endianness>>(bytes, Xlen::Rv64, movable),
            _ if bytes.starts_with(b"\x7fELF") => Err(LoadError::Damaged("truncated header".into())),
            _ => Err(LoadError::NotElf),
        }
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|s| s.name == name).map(|s| s.address)
    }
}

fn damaged(e: object::read::Error) -> LoadError {
    LoadError::Damaged(e.to_string())
}

fn parse<H: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    xlen: Xlen,
    movable: bool,
) -> Result<Elf, LoadError> {
    let header = H::parse(bytes).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    if endian != Endianness::Little {
        return Err(LoadError::BigEndian);
    }
    if header.e_machine(endian) != elf::EM_RISCV {
        return Err(LoadError::WrongMachine(header.e_machine(endian).0));
    }
    match header.e_type(endian) {
        elf::ET_EXEC => {}
        elf::ET_DYN if movable => {}
        elf::ET_DYN => return Err(LoadError::NotStatic),
        other => return Err(LoadError::NotExecutable(other.0)),
    }
    let headers = header.program_headers(endian, bytes).map_err(damaged)?;
    if headers.len() > MAX_SEGMENTS {
        return Err(LoadError::TooMany("segments"));
    }
    let mut segments: Vec<Segment> = Vec::new();
    let mut total = 0usize;
    for p in headers {
        match p.p_type(endian) {
            elf::PT_INTERP => return Err(LoadError::NotStatic),
            elf::PT_LOAD => {}
            _ => continue,
        }
        let memory_size: u64 = p.p_memsz(endian).into();
        if memory_size == 0 {
            continue;
        }
        let address: u64 = p.p_paddr(endian).into();
        let data = p
            .data(endian, bytes)
            .map_err(|()| LoadError::Damaged(format!("the segment at {address:#x} ends behind the file")))?;
        if data.len() as u64 > memory_size {
            return Err(LoadError::Damaged(format!(
                "the segment at {address:#x} is longer in the file than in memory"
            )));
        }
        // Segments that share file bytes could otherwise multiply a small file into a lot of memory.
        total = total.saturating_add(data.len());
        if total > bytes.len().saturating_mul(2) {
            return Err(LoadError::Damaged("the segments together are far longer than the file".into()));
        }
        if address.checked_add(memory_size).is_none() {
            return Err(LoadError::Damaged(format!(
                "the segment at {address:#x} wraps around the address space"
            )));
        }
        let executable = p.p_flags(endian).contains(elf::PF_X);
        segments.push(Segment { address, data: data.to_vec(), memory_size, executable });
    }
    if segments.is_empty() {
        return Err(LoadError::NoSegments);
    }
    segments.sort_by_key(|s| s.address);
    for pair in segments.windows(2) {
        if pair[0].address + pair[0].memory_size > pair[1].address {
            return Err(LoadError::Overlap(pair[0].address, pair[1].address));
        }
    }
    let entry: u64 = header.e_entry(endian).into();
    Ok(Elf { entry, xlen, segments, symbols: symbols(header, endian, bytes)? })
}

fn allocated<S: SectionHeader<Endian = Endianness>>(section: &S, endian: Endianness) -> bool {
    section.sh_flags(endian).contains(elf::SHF_ALLOC)
}

/// The symbol table; a program without one is fine.
fn symbols<H: FileHeader<Endian = Endianness>>(
    header: &H,
    endian: Endianness,
    bytes: &[u8],
) -> Result<Vec<Symbol>, LoadError> {
    let sections = header.sections(endian, bytes).map_err(damaged)?;
    let table = sections.symbols(endian, bytes, elf::SHT_SYMTAB).map_err(damaged)?;
    if table.len() > MAX_SYMBOLS {
        return Err(LoadError::TooMany("symbols"));
    }
    let mut out = Vec::new();
    for symbol in table.iter() {
        let kind = symbol.st_type();
        if !matches!(kind, elf::STT_FUNC | elf::STT_OBJECT | elf::STT_NOTYPE) || symbol.is_undefined(endian) {
            continue;
        }
        // Symbols of sections that are not loaded (debug information) do not name an address.
        if let Ok(Some(index)) = table.symbol_section(endian, symbol, object::SymbolIndex(0))
            && let Ok(section) = sections.section(index)
            && !allocated(section, endian)
        {
            continue;
        }
        let Ok(name) = symbol.name(endian, table.strings()) else { continue };
        let name = String::from_utf8_lossy(name);
        // Mapping symbols ($x, $d) and the linker's local labels would hide the functions.
        if name.is_empty() || name.starts_with('$') || name.starts_with(".L") {
            continue;
        }
        out.push(Symbol {
            name: name.into_owned(),
            address: symbol.st_value(endian).into(),
            size: symbol.st_size(endian).into(),
        });
    }
    out.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    Ok(out)
}
