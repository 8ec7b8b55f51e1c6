//! A user's own trap entry as a [`Design`]: it takes the place of a bundled kernel's entry, so that the same program crosses it
//! and the same counters bill it.
//!
//! The file defines `trap_entry`, which ends in `mret` or `sret`; with `mret` the kernel is one of M-mode, otherwise one of
//! S-mode. Before the first call the harness writes its address to `mtvec` or `stvec`, and a stack's end to `mscratch` or
//! `sscratch`; a file that defines `kernel_enter` prepares itself there and enters the program at `user_start`.

mod check;
pub(crate) mod phases;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use tollgate_record::text::{nearest, suggestion};
use tollgate_riscv::asm::{Image, Options, Sources, assemble};
use tollgate_riscv::{Elf, Isa, LoadError, Segment, Symbol, Xlen};

use crate::call::Crossing;
use crate::deflated::inflated;
use crate::design::{Design, GC};
use crate::error::LabError;
use crate::source::{self, Executable, Library, Recipe, SourceError};

pub use check::CheckError;
pub use phases::UnknownPhase;

use check::PROGRAM;

/// A kernel to start from.
pub const TEMPLATE: &str = include_str!("own/template.s");

/// The labels at which a trap comes in: of a user's file, and of the bundled kernels.
const ENTRIES: [&str; 2] = ["trap_entry", "trap_vector"];
/// Where a kernel that prepares itself does so.
const ENTER: &str = "kernel_enter";
/// What a file can use of the bundled kernel around it.
const SERVICES: [&str; 7] = [
    "call_table",
    "kernel_stack_top",
    "soft_interrupt",
    "sys_unimplemented",
    "unexpected_trap",
    "user_start",
    "user_partner",
];
/// The header of the bundled kernels.
const HEADER: (&str, &str) = ("asm.h", include_str!("../guests/riscv/include/asm.h"));
/// Where a source is placed. Its place in a line of a cache is that of the bundled entries, and in a cache of 4 KiB it takes no
/// line of the bundled handlers.
const PLACE: u64 = 0x8001_0534;
/// Where an ELF file may be: behind the bundled kernel, before the program.
const FREE: Range<u64> = 0x8001_0000..0x8020_0000;

const MRET: u32 = 0x3020_0073;
const SRET: u32 = 0x1020_0073;

/// Why a file is not a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum OwnError {
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("{0}")]
    Elf(#[from] LoadError),
    #[error("it is for RV32, and the program around it is for RV64")]
    Narrow,
    #[error(
        "there is no label trap_entry{}: it is where the trap comes in; tollgate riscv trap --kernel template prints a file to start \
         from",
        suggestion(.0.as_deref())
    )]
    NoEntry(Option<String>),
    #[error(
        "trap_entry is at {0:#x}, and the two lowest bits of mtvec are its mode: write .balign 4 before the label"
    )]
    Misaligned(u64),
    #[error("there is no mret and no sret, so no trap can return")]
    NoReturn,
    #[error(
        "it is at {0:#x}, and its place is from {start:#x} to {end:#x}: link it there (-nostdlib -Wl,-Ttext={start:#x})",
        start = FREE.start,
        end = FREE.end
    )]
    Place(u64),
    #[error("{0}")]
    Phase(#[from] UnknownPhase),
    #[error("{0}")]
    Check(#[from] CheckError),
    #[error("{0}")]
    Lab(#[from] LabError),
}

/// A user's kernel.
#[derive(Clone, Debug)]
pub struct Own {
    name: String,
    about: String,
    /// The bundled kernel's file with the user's entry in it.
    file: Vec<u8>,
    /// The user's part, and where it comes from.
    program: Elf,
    source: Executable,
}

/// The mode of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Machine,
    Supervisor,
}

impl Mode {
    /// The bundled kernel whose entry is replaced.
    fn base(self) -> Result<Elf, OwnError> {
        let name = if self == Self::Machine { "full-m" } else { "full" };
        let design = Design::find(name).ok_or_else(|| LabError::Image(format!("there is no {name}")))?;
        let file = inflated(design.image).map_err(|e| LabError::Image(e.to_string()))?;
        Ok(Elf::parse(&file)?)
    }

    /// The letter of its registers' names.
    fn letter(self) -> char {
        if self == Self::Machine { 'm' } else { 's' }
    }

    /// By the instruction with which the code returns.
    fn of(elf: &Elf) -> Option<Self> {
        let has = |word: u32| {
            let code = elf.segments.iter().filter(|segment| segment.executable);
            code.flat_map(|it| it.data.windows(4).step_by(2)).any(|bytes| bytes == word.to_le_bytes())
        };
        if has(MRET) { Some(Self::Machine) } else { has(SRET).then_some(Self::Supervisor) }
    }
}

impl Own {
    /// Loads a kernel from a source in assembly or C, or from an ELF file. A source can include `asm.h` of the bundled kernels
    /// and use their services.
    ///
    /// # Errors
    /// A source with errors, or what is not a kernel.
    pub fn load(path: &Path) -> Result<Self, OwnError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::of(name, &|recipe| source::load(path, recipe))
    }

    /// The same of files in memory, each a name and its text; the first is the kernel, the others are what it includes.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn assemble(files: &[(&str, &str)]) -> Result<Self, OwnError> {
        let name = files.first().map(|(name, _)| (*name).to_owned()).unwrap_or_default();
        Self::of(name, &|recipe| source::assemble(files, recipe))
    }

    fn of(name: String, load: &Load<'_>) -> Result<Self, OwnError> {
        // The mode decides where the services are, and shows in the code.
        let mut built = build(load, Mode::Supervisor)?;
        let mut program = Elf::parse(&built.elf)?;
        if Mode::of(&program) == Some(Mode::Machine) {
            built = build(load, Mode::Machine)?;
            program = Elf::parse(&built.elf)?;
        }
        Self::new(name, program, built)
    }

    /// The lines of the kernel's source.
    pub fn source(&self) -> &Executable {
        &self.source
    }

    fn new(name: String, mut program: Elf, source: Executable) -> Result<Self, OwnError> {
        cut_headers(&mut program);
        let elf = &program;
        if elf.xlen != Xlen::Rv64 {
            return Err(OwnError::Narrow);
        }
        let Some(entry) = ENTRIES.iter().find_map(|name| elf.symbol(name)) else {
            let names = elf.symbols.iter().map(|symbol| symbol.name.as_str());
            return Err(OwnError::NoEntry(nearest(ENTRIES[0], names).map(str::to_owned)));
        };
        if entry & 3 != 0 {
            return Err(OwnError::Misaligned(entry));
        }
        let mode = Mode::of(elf).ok_or(OwnError::NoReturn)?;
        let outside =
            |it: &&Segment| it.address < FREE.start || it.address.saturating_add(it.memory_size) > FREE.end;
        if let Some(segment) = elf.segments.iter().find(outside) {
            return Err(OwnError::Place(segment.address));
        }
        let file = merge(mode, elf, entry)?;
        let about = format!("{}-mode, your own", mode.letter().to_ascii_uppercase());
        Ok(Self { name, about, file, program, source })
    }

    /// What can be measured.
    pub fn design(&self) -> Design<'_> {
        let Self { name, about, file, .. } = self;
        Design { name, image: file, isa: GC, crossing: None, dirty_fp: false, about, own: true }
    }

    /// Makes a few calls and checks that the kernel returns from them as it must. Yields the registers that it does not
    /// preserve, of those that a function need not preserve either.
    ///
    /// # Errors
    /// How it is broken.
    pub fn check(&mut self, crossing: Crossing) -> Result<Vec<&'static str>, OwnError> {
        let lost = check::check(&self.design(), crossing, &|pc| self.place(pc))?;
        if !lost.is_empty() {
            self.about = format!("{}-mode, loses {}", &self.about[..1], lost.join(" "));
        }
        Ok(lost)
    }

    /// An address as a person finds it: the line of a source, else the nearest label before it.
    fn place(&self, pc: u64) -> String {
        if let Some(place) = self.source.line(pc) {
            return format!("{}:{}", place.file, place.line);
        }
        let known = |it: &&Symbol| it.address <= pc && !it.name.starts_with('$');
        let inside = self.program.segments.iter().any(|it| pc.wrapping_sub(it.address) < it.memory_size);
        match self.program.symbols.iter().rev().find(known).filter(|_| inside) {
            Some(symbol) if symbol.address == pc => format!("{pc:#x} ({})", symbol.name),
            Some(symbol) => format!("{pc:#x} ({}+{:#x})", symbol.name, pc - symbol.address),
            None => format!("{pc:#x}"),
        }
    }
}

/// Makes a program by a recipe.
type Load<'a> = dyn Fn(&Recipe<'_>) -> Result<Executable, SourceError> + 'a;

/// A kernel's program at its place, beside the bundled kernel of a mode.
fn build(load: &Load<'_>, mode: Mode) -> Result<Executable, OwnError> {
    let base = mode.base()?;
    let services = SERVICES.iter().filter_map(|name| Some((name, base.symbol(name)?)));
    let services: String =
        services.map(|(name, address)| format!(".weak {name}\n.set {name}, {address:#x}\n")).collect();
    let recipe = Recipe {
        base: PLACE,
        entries: &ENTRIES,
        headers: &[HEADER],
        units: &[("services.s", &services)],
        library: Library::None,
        ..Recipe::new(GC, Isa::default())
    };
    Ok(load(&recipe)?)
}

/// The bundled kernel with a user's entry in place of its own.
fn merge(mode: Mode, own: &Elf, entry: u64) -> Result<Vec<u8>, OwnError> {
    let mut base = mode.base()?;
    let symbol = |name: &str| {
        base.symbol(name).ok_or_else(|| OwnError::Lab(LabError::Image(format!("it has no symbol {name}"))))
    };
    let replaced = symbol(ENTER)?..symbol("phase.handler.c")?;
    let mut image = stub(mode, &base, own, entry, replaced.start)?;
    let stub: Vec<u8> = image.program.segments.iter().flat_map(|segment| segment.data.clone()).collect();
    let marks = phases::marks(own, entry)?;

    let start = (replaced.start - base.segments[0].address) as usize;
    let length = (replaced.end - replaced.start) as usize;
    let place = base.segments[0].data.get_mut(start..start + length);
    let place = place.filter(|place| stub.len() <= place.len());
    let place = place.ok_or_else(|| LabError::Image("there is no room for the entry's set-up".into()))?;
    place.fill(0);
    place[..stub.len()].copy_from_slice(&stub);
    base.segments.extend(own.segments.iter().cloned());
    base.segments.sort_by_key(|segment| segment.address);

    base.symbols.retain(|it| !replaced.contains(&it.address));
    let label = |name: String, address| Symbol { name, address, size: 0 };
    let known: BTreeSet<_> = base.symbols.iter().map(|it| it.name.clone()).collect();
    let is_new = |it: &&Symbol| !known.contains(&it.name) && phases::label(&it.name).is_none();
    base.symbols.push(label("phase.boot.own".into(), replaced.start));
    base.symbols.extend(own.symbols.iter().filter(is_new).cloned());
    for (at, (address, phase)) in marks.into_iter().enumerate() {
        let word: &str = phase.into();
        base.symbols.push(label(format!("phase.{word}.own{at}"), address));
    }
    base.symbols.sort_by_key(|symbol| symbol.address);
    image.program = base;
    Ok(image.elf())
}

/// What runs in place of the bundled entry's set-up: leads traps to the user's entry, and enters the program.
fn stub(mode: Mode, base: &Elf, own: &Elf, entry: u64, place: u64) -> Result<Image, OwnError> {
    let x = mode.letter();
    let mut text = format!("la t0, {entry:#x}\ncsrw {x}tvec, t0\n");
    match own.symbol(ENTER) {
        Some(enter) => text += &format!("la t0, {enter:#x}\njr t0\n"),
        None => {
            let [stack, start] =
                ["kernel_stack_top", "user_start"].map(|name| base.symbol(name).unwrap_or_default());
            text += &format!("la t0, {stack:#x}\ncsrw {x}scratch, t0\nla t0, {start:#x}\ncsrw {x}epc, t0\n");
            text += &format!("li sp, {:#x}\n{x}ret\n", PROGRAM.start + (4 << 20));
        }
    }
    let options = Options { text: place, ..Options::default() };
    assemble(&Sources::new("set-up", &text), &options).map_err(|errors| SourceError::Assembly(errors).into())
}

/// The linker puts the headers of a file into the page before its code: the kernel does not contain them.
fn cut_headers(elf: &mut Elf) {
    for segment in &mut elf.segments {
        let before = FREE.start.saturating_sub(segment.address);
        if segment.data.starts_with(b"\x7fELF") && before <= segment.data.len() as u64 {
            segment.data.drain(..before as usize);
            segment.address += before;
            segment.memory_size -= before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Elf, FREE, Segment, Xlen, cut_headers};

    #[test]
    fn the_headers_of_a_linked_kernel_are_cut() {
        let mut data = b"\x7fELF".to_vec();
        data.resize(0x1000, 0);
        data.extend([0x73, 0, 0x20, 0x30]);
        let linked = |address| {
            let segment = Segment { address, memory_size: 0x1008, executable: true, data: data.clone() };
            Elf { entry: FREE.start, xlen: Xlen::Rv64, segments: vec![segment], symbols: Vec::new() }
        };
        let mut elf = linked(FREE.start - 0x1000);
        cut_headers(&mut elf);
        let segment = &elf.segments[0];
        assert_eq!((segment.address, segment.memory_size), (FREE.start, 8));
        assert_eq!(segment.data, [0x73, 0, 0x20, 0x30]);
        // A segment at another address keeps its headers.
        let mut far = linked(FREE.start - 0x2000);
        cut_headers(&mut far);
        assert_eq!(far, linked(FREE.start - 0x2000));
    }
}
