//! Call sites: which places of a program cross its boundaries, with their callers.

use crate::count::{Kind, Tally};
use crate::images::{Images, Mapped};
use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::rc::Rc;
use tollgate_record::family::Frame;

/// Where a crossing came from, as it was found in the program's registers and on its stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) pid: libc::pid_t,
    pub(crate) image: u32,
    /// The instruction that crossed, and the return addresses that frame pointers lead to.
    pub(crate) frames: Vec<u64>,
    /// The word on top of the stack, or zero. In a function without a frame it is the return address that the frame pointers
    /// do not lead to.
    pub(crate) top: u64,
}

/// A place with what it crossed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Site {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) tally: Tally,
    frames: Vec<Address>,
}

/// An address in a file, or one that no file was mapped at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    file: Option<Rc<Mapped>>,
    offset: u64,
}

/// The call sites of a run.
#[derive(Clone, Debug, Default)]
pub struct Sites(pub(crate) Vec<Site>);

impl Sites {
    /// The same place in several processes, and stacks that differ only where they are not known, are one site.
    pub(crate) fn of(places: impl Iterator<Item = (Place, Kind, String, Tally)>, images: &Images) -> Self {
        let mut sites: BTreeMap<(Kind, String, Vec<Address>), Tally> = BTreeMap::new();
        let mut calls = CallCheck::default();
        for (place, kind, name, tally) in places {
            let frames = addresses(&place, images, &mut calls);
            sites.entry((kind, name, frames)).or_default().add(&tally);
        }
        let site = |((kind, name, frames), tally)| Site { kind, name, tally, frames };
        Self(sites.into_iter().map(site).collect())
    }
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.kernel_error_ns += other.kernel_error_ns;
        self.kernel_ns = match (self.kernel_ns, other.kernel_ns) {
            (Some(ns), Some(more)) => Some(ns + more),
            (ns, more) => ns.or(more),
        };
    }
}

/// The addresses of a stack, as far as they lead through code.
fn addresses(place: &Place, images: &Images, calls: &mut CallCheck) -> Vec<Address> {
    let find = |address: u64| {
        let (file, offset) = images.find(place.pid, place.image, address)?;
        Some(Address { file: Some(file), offset })
    };
    let mut frames = Vec::new();
    let Some(&first) = place.frames.first() else { return frames };
    frames.push(find(first).unwrap_or(Address { file: None, offset: first }));
    // A return address is behind the call, possibly in another function.
    let caller = |address: u64| find(address.wrapping_sub(1));
    if let Some(top) = caller(place.top).filter(|top| calls.ends_at(top))
        && place.frames.get(1) != Some(&place.top)
    {
        frames.push(top);
    }
    // If a program uses the frame pointer for something else, it does not lead to code.
    frames.extend(place.frames[1..].iter().map_while(|address| caller(*address)));
    frames
}

/// Finds out whether a call ends at an address, by the bytes in the file.
#[derive(Default)]
struct CallCheck(BTreeMap<Address, bool>);

impl CallCheck {
    /// `last` is the last byte of what may be a call.
    fn ends_at(&mut self, last: &Address) -> bool {
        let is_call = |last: &Address| {
            let mut code = [0; 7];
            // The path may lead to something else by now: opening a pipe would wait for its writer.
            let file = File::options()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&last.file.as_ref()?.path)
                .ok()?;
            file.read_exact_at(&mut code, last.offset.checked_sub(6)?).ok()?;
            Some(is_call(code))
        };
        *self.0.entry(last.clone()).or_insert_with(|| is_call(last).unwrap_or(false))
    }
}

/// Whether code ends with a call of x86-64: relative, or through a register or memory. guests/bpf/toll.c looks for the same.
fn is_call(code: [u8; 7]) -> bool {
    let [_, six, five, _, three, two, one] = code;
    five == 0xe8
        || (six == 0xff && (five == 0x15 || five & 0xf8 == 0x90))
        || (two == 0xff && [0xd0, 0x10].contains(&(one & 0xf8)))
        || (three == 0xff && two & 0xf8 == 0x50)
}

/// Functions at which a program or a thread begins: a stack that reaches one is complete.
const BEGINNINGS: [&str; 5] = ["main", "_start", "__libc_start_main", "start_thread", "clone"];

/// Finds the names of addresses in files.
pub(crate) struct Names(Symbolizer);

impl Names {
    pub(crate) fn new() -> Self {
        Self(Symbolizer::new())
    }

    /// The frames of a site, with a frame for each function that was compiled into another, and whether they are all.
    pub(crate) fn frames(&self, site: &Site) -> (Vec<Frame>, bool) {
        let frames: Vec<Frame> = site.frames.iter().flat_map(|address| self.named(address)).collect();
        let complete = frames
            .iter()
            .any(|frame| frame.function.as_deref().is_some_and(|function| BEGINNINGS.contains(&function)));
        (frames, complete)
    }

    fn named(&self, address: &Address) -> Vec<Frame> {
        let file = address.file.as_ref().map_or("", |file| &file.path);
        let frame = |function: Option<&str>, code: Option<&CodeInfo<'_>>| Frame {
            function: function.map(str::to_owned),
            file: file.to_owned(),
            offset: address.offset,
            source: code.map(|code| {
                let file = code.file.to_string_lossy();
                code.line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}"))
            }),
        };
        let unknown = || vec![frame(None, None)];
        if address.file.as_ref().is_none_or(|file| !is_unchanged(file)) {
            return unknown();
        }
        let source = Source::Elf(Elf::new(file));
        let Ok(Symbolized::Sym(symbol)) = self.0.symbolize_single(&source, Input::FileOffset(address.offset))
        else {
            return unknown();
        };
        let inlined = symbol.inlined.iter().rev().map(|it| frame(Some(&it.name), it.code_info.as_ref()));
        inlined.chain([frame(Some(&symbol.name), symbol.code_info.as_deref())]).collect()
    }
}

/// Whether a file is still the one that was mapped.
fn is_unchanged(file: &Mapped) -> bool {
    let found = fs::metadata(Path::new(&file.path)).ok().filter(fs::Metadata::is_file);
    found.and_then(|it| it.modified().ok()).is_some_and(|modified| modified <= file.since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_pipe_in_place_of_the_mapped_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("library.so");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let path = fifo.to_str().unwrap().to_owned();
        let file = Rc::new(Mapped { path: path.clone(), since: SystemTime::now() });
        let frame = Address { file: Some(file), offset: 4096 };
        assert!(!CallCheck::default().ends_at(&frame));
        let site =
            Site { kind: Kind::Call, name: "read".into(), tally: Tally::default(), frames: vec![frame] };
        let (frames, complete) = Names::new().frames(&site);
        assert_eq!((frames[0].file.as_str(), &frames[0].function, complete), (path.as_str(), &None, false));
    }

    #[test]
    fn calls_of_every_form_are_calls() {
        // As GNU as encodes them; zeroes stand for what is before.
        for code in [
            [0, 0, 0xe8, 1, 2, 3, 4],       // call f
            [0, 0xff, 0x15, 1, 2, 3, 4],    // call *f@GOTPCREL(%rip)
            [0, 0xff, 0x90, 1, 2, 3, 4],    // call *0x4030201(%rax)
            [0, 0, 0, 0, 0, 0xff, 0xd0],    // call *%rax
            [0, 0, 0, 0, 0x41, 0xff, 0xd4], // call *%r12
            [0, 0, 0, 0, 0, 0xff, 0x10],    // call *(%rax)
            [0, 0, 0, 0, 0xff, 0x50, 8],    // call *8(%rax)
        ] {
            assert!(is_call(code), "{code:x?}");
        }
        for code in [
            [0, 0, 0xe9, 1, 2, 3, 4],    // jmp f
            [0, 0, 0, 0, 0, 0xff, 0xe0], // jmp *%rax
            [0x90; 7],                   // nop
        ] {
            assert!(!is_call(code), "{code:x?}");
        }
    }
}
