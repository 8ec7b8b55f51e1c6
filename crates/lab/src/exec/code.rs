//! Whose code a page of memory is.
//!
//! The physical address of an instruction identifies it: a page of code is a page of a file, wherever it is mapped and in however many
//! address spaces. So programs that load libraries, start others or are linked to run anywhere need no list of mappings, and the
//! kernel's data structures need not be known.

use std::collections::HashMap;
use std::sync::Arc;

use object::elf::{self, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object as _, ObjectSymbol, SymbolKind};

use super::inlined::Inlined;
use crate::symbols::Marks;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// Bytes by which pages are found before they are compared as a whole.
const HEAD: usize = 32;

/// A part of a file that is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_bytes: u64,
    pub(super) memory_bytes: u64,
    pub(super) executable: bool,
}

/// A program or a library, as far as it is needed to start it and to name its code.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    pub(super) loads: Vec<Load>,
    /// Functions: address, bytes, name; sorted by address.
    functions: Vec<(u64, u64, String)>,
    inlined: Arc<Inlined>,
    pub(super) entry: u64,
    /// Linked to be loaded anywhere.
    pub(super) movable: bool,
    /// The program that loads it.
    pub(super) interpreter: Option<String>,
    /// Libraries that it names.
    pub(super) needed: Vec<String>,
    /// Where it says that they are; `$ORIGIN` is not replaced.
    pub(super) search: Vec<String>,
    /// Where its program headers are in memory, and how many there are.
    pub(super) headers: (u64, u64),
}

/// Why a file is not a program for this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ObjectError {
    #[error(
        "not an ELF file: give a linked program for riscv64, built for instance by riscv64-linux-gnu-gcc"
    )]
    NotElf,
    #[error(
        "a program for {0}, and the machine is a riscv64: build it with riscv64-linux-gnu-gcc (apt-get install gcc-riscv64-linux-gnu)"
    )]
    Machine(String),
    #[error("not a program that can be started (e_type {0}): link it first")]
    NotLinked(u16),
    #[error("damaged ELF file: {0}")]
    Damaged(String),
}

/// The name of a machine, for people.
fn machine(number: u16) -> String {
    match elf::Machine(number) {
        elf::EM_X86_64 => "x86-64".into(),
        elf::EM_AARCH64 => "aarch64".into(),
        elf::EM_386 => "i386".into(),
        elf::EM_ARM => "32-bit Arm".into(),
        elf::EM_RISCV => "32-bit RISC-V".into(),
        other => format!("another machine (e_machine {})", other.0),
    }
}

/// Tags of the dynamic section (the ELF specification, 2-11).
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

impl Object {
    /// Reads a program or a library.
    ///
    /// # Errors
    /// What it is instead.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ObjectError> {
        if !bytes.starts_with(b"\x7fELF") || bytes.len() < 20 {
            return Err(ObjectError::NotElf);
        }
        let damaged = |error: object::read::Error| ObjectError::Damaged(error.to_string());
        let number = u16::from_le_bytes([bytes[18], bytes[19]]);
        if bytes[4..6] != [2, 1] || number != elf::EM_RISCV.0 {
            return Err(ObjectError::Machine(machine(number)));
        }
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(damaged)?;
        let (header, endian): (&FileHeader64<Endianness>, _) = (file.elf_header(), file.endian());
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC && kind != elf::ET_DYN {
            return Err(ObjectError::NotLinked(kind.0));
        }
        let mut object =
            Self { entry: header.e_entry(endian), movable: kind == elf::ET_DYN, ..Self::default() };
        let mut dynamic = None;
        for part in file.elf_program_headers() {
            let (offset, file_bytes) = part.file_range(endian);
            match part.p_type(endian) {
                elf::PT_LOAD => {
                    let (address, memory_bytes) = (part.p_vaddr(endian), part.p_memsz(endian));
                    let past = offset.checked_add(file_bytes);
                    if past.is_none_or(|past| past > bytes.len() as u64)
                        || file_bytes > memory_bytes
                        || address.checked_add(memory_bytes).is_none()
                    {
                        return Err(ObjectError::Damaged("a segment ends behind the file".into()));
                    }
                    object.loads.push(Load {
                        offset,
                        address,
                        file_bytes,
                        memory_bytes,
                        executable: part.p_flags(endian).0 & elf::PF_X.0 != 0,
                    });
                }
                elf::PT_INTERP => {
                    let text = part.data(endian, bytes).unwrap_or_default();
                    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
                    object.interpreter = Some(String::from_utf8_lossy(text).into_owned());
                }
                elf::PT_DYNAMIC => dynamic = part.data(endian, bytes).ok(),
                _ => {}
            }
        }
        let count = u64::from(header.e_phnum(endian));
        object.headers = (object.address_of(header.e_phoff(endian)).unwrap_or(0), count);
        object.read_dynamic(dynamic.unwrap_or_default(), bytes);
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let named: Vec<(SymbolKind, (u64, u64, String))> = symbols
            .filter(|symbol| symbol.is_definition() && object.is_code(symbol.address()))
            .filter_map(|symbol| {
                Some((symbol.kind(), (symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
            })
            // Marks of instruction sets and of the compiler are not functions.
            .filter(|(_, (.., name))| !name.is_empty() && !name.starts_with(['.', '$']))
            .collect();
        let of =
            |kind: fn(SymbolKind) -> bool| named.iter().filter(move |it| kind(it.0)).map(|it| it.1.clone());
        object.functions = of(|kind| kind == SymbolKind::Text).collect();
        object.functions.sort();
        // Assembly names functions without saying that they are.
        let within = |at: u64| {
            let before = object.functions.partition_point(|function| function.0 <= at).checked_sub(1);
            before.is_some_and(|n| at < object.functions[n].0.saturating_add(object.functions[n].1.max(1)))
        };
        let labels: Vec<_> = of(|kind| matches!(kind, SymbolKind::Unknown | SymbolKind::Label))
            .filter(|label| !within(label.0))
            .collect();
        object.functions.extend(labels);
        // Of several names for one place the largest holds, then the first one by name.
        object.functions.sort_by(|a, b| (a.0, b.1, &a.2).cmp(&(b.0, a.1, &b.2)));
        object.functions.dedup_by_key(|function| function.0);
        object.inlined = Arc::new(Inlined::read(&file));
        Ok(object)
    }

    fn read_dynamic(&mut self, entries: &[u8], file: &[u8]) {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let entries: Vec<(u64, u64)> =
            entries.chunks_exact(16).map(|entry| (word(&entry[..8]), word(&entry[8..]))).collect();
        let table = entries.iter().find(|(tag, _)| *tag == DT_STRTAB).map(|entry| entry.1);
        let Some(table) = table.and_then(|at| self.offset_of(at)) else { return };
        let text = |at: u64| {
            let from = usize::try_from(table.checked_add(at)?).ok()?;
            let bytes = file.get(from..)?.split(|&byte| byte == 0).next()?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        for (tag, value) in entries {
            match tag {
                DT_NEEDED => self.needed.extend(text(value)),
                DT_RPATH | DT_RUNPATH => {
                    self.search
                        .extend(text(value).iter().flat_map(|list| list.split(':')).map(str::to_owned));
                }
                _ => {}
            }
        }
    }

    /// Where in the file the byte at an address is.
    pub(super) fn offset_of(&self, address: u64) -> Option<u64> {
        let load = self
            .loads
            .iter()
            .find(|load| load.address <= address && address - load.address < load.file_bytes)?;
        Some(address - load.address + load.offset)
    }

    fn is_code(&self, address: u64) -> bool {
        let contains = |load: &Load| load.address <= address && address - load.address < load.memory_bytes;
        self.loads.iter().any(|load| load.executable && contains(load))
    }

    /// The address of a byte of the file.
    fn address_of(&self, offset: u64) -> Option<u64> {
        let load =
            self.loads.iter().find(|load| load.offset <= offset && offset - load.offset < load.file_bytes)?;
        Some(offset - load.offset + load.address)
    }

    /// The address of an instruction at a place in the file: parts are mapped in whole pages.
    fn code_address(&self, offset: u64) -> Option<u64> {
        let load = self.loads.iter().filter(|load| load.executable).find(|load| {
            let (first, last) = (load.offset & !(PAGE - 1), load.offset + load.file_bytes);
            (first..last.next_multiple_of(PAGE)).contains(&offset)
        })?;
        Some(offset.wrapping_sub(load.offset).wrapping_add(load.address))
    }

    /// The pages of the file that contain code: where each begins.
    fn code_pages(&self) -> impl Iterator<Item = u64> {
        self.loads.iter().filter(|load| load.executable && load.file_bytes > 0).flat_map(|load| {
            (load.offset & !(PAGE - 1)..load.offset + load.file_bytes).step_by(PAGE as usize)
        })
    }
}

/// What is known of the place of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// By its name in [`Code::names`].
    pub(super) function: u32,
    /// The number of its file; none for the kernel and for what is in no file.
    pub(super) file: Option<u32>,
    /// It is the first instruction of a program that a loader starts, or of a static one.
    pub(super) entry: bool,
}

struct File {
    marks: Marks<u32>,
    object: Object,
    /// A loader of programs.
    loader: bool,
}

/// A page of a file: the file's number, where in it the page begins, and its bytes.
type Page<'a> = (u32, u64, &'a [u8]);

/// A name of code.
struct Name {
    text: String,
    /// Of an inlined call: the function or the other call that contains it, and the name without its place.
    inlined: Option<(u32, String)>,
}

/// The code of a kernel and of files.
pub(super) struct Code {
    names: Vec<Name>,
    index: HashMap<String, u32>,
    kernel: Marks<u32>,
    files: Vec<File>,
    /// Physical pages: the file, and where in it the page begins.
    pages: HashMap<u64, (u32, u64)>,
    /// Pages of the kernel's image, which contains the code that it maps into programs.
    image: std::ops::Range<u64>,
}

/// Code of user mode that is in no file.
const UNKNOWN: &str = "(code in no file)";
const VDSO: &str = "(vdso)";
const NO_SYMBOL: &str = "(no symbol)";

impl Code {
    /// The functions of a kernel at their addresses, and the physical addresses of its image.
    pub(super) fn new(kernel: Vec<(String, u64)>, image: std::ops::Range<u64>) -> Self {
        let none = Marks::new(0, []);
        let mut code = Self {
            names: Vec::new(),
            index: HashMap::new(),
            kernel: none,
            files: Vec::new(),
            pages: HashMap::new(),
            image: image.start >> 12..image.end >> 12,
        };
        let nameless = code.intern(&format!("kernel:{NO_SYMBOL}"));
        let mut marks: Vec<(u64, u32)> = Vec::new();
        for (name, address) in kernel {
            // Of several names for one place the first one holds.
            if marks.last().is_none_or(|last| last.0 != address) {
                let name = code.intern(&format!("kernel:{name}"));
                marks.push((address, name));
            }
        }
        code.kernel = Marks::new(nameless, marks);
        code
    }

    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let number = self.names.len() as u32;
        self.names.push(Name { text: name.to_owned(), inlined: None });
        self.index.insert(name.to_owned(), number);
        number
    }

    /// The name of a function: `kernel:NAME`, `LIBRARY:NAME`, or that of the program's function; of an inlined call with its
    /// place in the source.
    pub(super) fn name(&self, function: u32) -> &str {
        &self.names[function as usize].text
    }

    /// The name of a function; of all inlined calls of one function the same.
    pub(super) fn function(&self, function: u32) -> &str {
        let name = &self.names[function as usize];
        name.inlined.as_ref().map_or(&name.text, |(_, function)| function)
    }

    /// Of an inlined call, the function or the other call that contains it.
    pub(super) fn outer(&self, function: u32) -> Option<u32> {
        self.names[function as usize].inlined.as_ref().map(|(outer, _)| *outer)
    }

    /// The number of a name that is not a function.
    pub(super) fn pseudo(&mut self, name: &str) -> u32 {
        self.intern(name)
    }

    /// A kernel's function by its name.
    pub(super) fn kernel_function(&self, name: &str) -> Option<u32> {
        self.index.get(&format!("kernel:{name}")).copied()
    }

    /// Adds a file whose functions are called as they are, or with `prefix:` in front; yields its number.
    pub(super) fn add(&mut self, object: &Object, prefix: Option<&str>, loader: bool) -> u32 {
        let named = |name: &str| prefix.map_or_else(|| name.to_owned(), |prefix| format!("{prefix}:{name}"));
        let none = self.intern(&named(NO_SYMBOL));
        let mut marks = Vec::new();
        for (at, (address, size, name)) in object.functions.iter().enumerate() {
            let name = self.intern(&named(name));
            marks.push((*address, name));
            let next = object.functions.get(at + 1).map_or(u64::MAX, |next| next.0);
            if *size > 0 && address.saturating_add(*size) < next {
                marks.push((address + size, none));
            }
        }
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        let marks = object.inlined.nested(marks, |outer, call| {
            *numbers.entry((outer, call)).or_insert_with(|| {
                let call = &object.inlined.calls[call as usize];
                let function = named(&call.function);
                let place = if call.site.is_empty() { String::new() } else { format!(" at {}", call.site) };
                let text = format!("{function} (inlined{place})");
                self.names.push(Name { text, inlined: Some((outer, format!("{function} (inlined)"))) });
                self.names.len() as u32 - 1
            })
        });
        self.files.push(File { marks: Marks::new(none, marks), object: object.clone(), loader });
        self.files.len() as u32 - 1
    }

    /// Finds the code of files in RAM, which begins at `base`. A file is in memory as its whole pages are, the last one with
    /// zeros behind its end.
    pub(super) fn find(&mut self, files: &[(u32, &[u8])], ram: &[u8], base: u64) {
        let mut wanted: HashMap<&[u8], Vec<Page<'_>>> = HashMap::new();
        for &(number, bytes) in files {
            let Some(file) = self.files.get(number as usize) else { continue };
            for offset in file.object.code_pages() {
                let from = offset as usize;
                let Some(page) = bytes.get(from..bytes.len().min(from + PAGE as usize)) else { continue };
                let Some(head) = page.get(..HEAD) else { continue };
                wanted.entry(head).or_default().push((number, offset, page));
            }
        }
        for (at, page) in ram.chunks_exact(PAGE as usize).enumerate() {
            let Some(found) = wanted.get(&page[..HEAD]) else { continue };
            let same =
                |of: &&Page<'_>| page.starts_with(of.2) && page[of.2.len()..].iter().all(|&byte| byte == 0);
            if let Some(&(file, offset, _)) = found.iter().find(same) {
                self.pages.insert((base >> 12) + at as u64, (file, offset));
            }
        }
    }

    /// Says where a page of a file is, for code that is loaded without a kernel.
    pub(super) fn place(&mut self, page: u64, file: u32, offset: u64) {
        self.pages.insert(page, (file, offset));
    }

    /// The kernel's function at an address.
    pub(super) fn kernel(&mut self, pc: u64) -> Place {
        Place { function: self.kernel.at(pc), file: None, entry: false }
    }

    /// What the instruction at an address of user mode, which is in a physical page, belongs to.
    pub(super) fn user(&mut self, pc: u64, page: u64) -> Place {
        let Some(&(number, offset)) = self.pages.get(&page) else {
            let name = if self.image.contains(&page) { VDSO } else { UNKNOWN };
            return Place { function: self.intern(name), file: None, entry: false };
        };
        let file = &mut self.files[number as usize];
        let address = file.object.code_address(offset + pc % PAGE).unwrap_or(0);
        let entry = address == file.object.entry && !file.loader;
        Place { function: file.marks.at(address), file: Some(number), entry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &[u8] = include_bytes!("../../guests/riscv/images/exec-init.elf");

    /// A page is found wherever it is, and one that differs in its last byte is not it.
    #[test]
    fn code_is_found_by_its_bytes() {
        let object = Object::parse(PROGRAM).unwrap();
        let mut code = Code::new(vec![("first".into(), 0x8000), ("second".into(), 0x9000)], 0..0);
        let file = code.add(&object, None, false);
        let offset = object.offset_of(object.entry).unwrap();
        let first = (offset & !(PAGE - 1)) as usize;
        let mut ram = vec![0; 16 << 12];
        let page = &PROGRAM[first..PROGRAM.len().min(first + PAGE as usize)];
        ram[5 << 12..][..page.len()].copy_from_slice(page);
        ram[7 << 12..][..page.len()].copy_from_slice(page);
        ram[(7 << 12) + page.len() - 1] ^= 1;
        code.find(&[(file, PROGRAM)], &ram, 0x8000_0000);
        let place = code.user(object.entry, 0x8_0005);
        assert_eq!((code.name(place.function), place.file, place.entry), ("user_start", Some(file), true));
        let other = code.user(object.entry, 0x8_0007);
        assert_eq!((code.name(other.function), other.file), (UNKNOWN, None));
        let kernel = code.kernel(0x8ffe);
        assert_eq!(code.name(kernel.function), "kernel:first");
        assert_eq!(code.kernel_function("second"), Some(code.kernel(0x9000).function));
    }

    #[test]
    fn other_files_are_told_what_they_are() {
        let error = |bytes: &[u8]| Object::parse(bytes).unwrap_err().to_string();
        assert!(error(b"#!/bin/sh").starts_with("not an ELF file"));
        let mut other = PROGRAM.to_vec();
        other[18] = 62;
        assert!(error(&other).starts_with("a program for x86-64"), "{}", error(&other));
        let mut other = PROGRAM.to_vec();
        other[16] = 1;
        assert!(error(&other).contains("link it first"), "{}", error(&other));
        assert!(error(&PROGRAM[..100]).starts_with("damaged"));
    }
}
